"""All that is predicted of one problem on one chip by one kernel, each figure worked out when it is first asked for."""

from __future__ import annotations

from functools import cached_property

from gemmlab.chips import Chip
from gemmlab.formats import bits_of
from gemmlab.kernels import Kernel
from gemmlab.model.constants import Constants, constants_of
from gemmlab.model.effects import ALL, Effects
from gemmlab.model.kernel_pairs import pairs_of_kernel
from gemmlab.model.machine import Machine, machine_for
from gemmlab.model.occupancy import Occupancy, occupancy
from gemmlab.model.pairs import Pairs, Values
from gemmlab.model.time import Times, times
from gemmlab.model.traffic import DramTraffic, dram_traffic, hbm_traffic
from gemmlab.model.waterfall import CAUSES, TPU_CAUSES, waterfall
from gemmlab.problem import Gemm
from gemmlab.record import Term

LOCAL_BYTES = 8  # a spilled register is written and read once in the main loop, 4 bytes each


class Outlook:
    """Everything predicted of one problem, chip and kernel; figures raise GemmlabError where the kernel cannot run.

    `constants` are the chip's own where left out. `traffic`, where given, is taken instead of a predicted one.
    """

    def __init__(
        self,
        problem: Gemm,
        chip: Chip,
        kernel: Kernel,
        constants: Constants | None = None,
        traffic: DramTraffic | None = None,
    ) -> None:
        self.problem, self.chip, self.kernel = problem, chip, kernel
        self.constants = constants or constants_of(chip)
        self.given_traffic = traffic

    @cached_property
    def held(self) -> Occupancy:
        """Programs on one SM, and what stops the next."""
        return occupancy(self.problem, self.chip, self.kernel)

    @cached_property
    def machine(self) -> Machine:
        """The chip in this format."""
        return machine_for(self.chip, self.problem, self.kernel)

    @cached_property
    def pairs(self) -> Pairs:
        """The members of the problem under the kernel, as arrays."""
        return pairs_of_kernel(self.problem, self.kernel, self.machine, self.held.programs)

    @cached_property
    def traffic(self) -> DramTraffic:
        """DRAM bytes, as given or as predicted."""
        if self.given_traffic is not None:
            return self.given_traffic
        if self.machine.systolic is not None:
            return hbm_traffic(self.problem, self.pairs)
        return dram_traffic(self.problem, self.chip, self.kernel, self.held, self.constants)

    def times(self, effects: Effects = ALL) -> Times:
        """Times under some effects, DRAM reads as simulated, or each operand once where re-reading is left out."""
        read = self.traffic.read if effects.traffic else min(self.problem.compulsory_read_bytes, self.traffic.read)
        reads = read * self.reads_shares
        return times(self.pairs, self.machine, self.constants, effects, dram_reads=reads, together=True)

    @cached_property
    def reads_shares(self) -> Values:
        """How the reads divide among members: by their bytes of A and B."""
        pairs = self.pairs
        bytes_ = pairs.batch * (pairs.m * pairs.k * pairs.a_bytes + pairs.k * pairs.n * pairs.b_bytes)
        shares: Values = bytes_ / bytes_.sum()
        return shares

    @cached_property
    def spill_factor(self) -> float:
        """How much longer the main loop takes with registers in local memory: their traffic beside the tile's own."""
        if not self.held.spilled:
            return 1.0
        kernel = self.kernel
        spilled = self.held.spilled * kernel.threads * LOCAL_BYTES
        step = (kernel.block_m + kernel.block_n) * max(1, kernel.block_k) * bits_of(self.problem.a_format) / 8
        return 1.0 + spilled / step

    def seconds(self, effects: Effects = ALL) -> float:
        """Predicted seconds under some effects."""
        found = float(self.times(effects).total[0])
        return found * self.spill_factor if effects.feeding else found

    def with_reads(self, read: float) -> Outlook:
        """The same with another number of DRAM bytes read."""
        return Outlook(self.problem, self.chip, self.kernel, self.constants, self.traffic._replace(read=read))

    @cached_property
    def floor(self) -> str:
        """What the time could not go below by the data sheet."""
        compute = self.problem.flop / self.machine.peak_flop_per_s
        if self.problem.compulsory_bytes / self.machine.dram_bytes_per_s > compute:
            return "each matrix once at the data sheet's bandwidth"
        return "arithmetic at the data sheet's peak"

    @cached_property
    def terms(self) -> tuple[Term, ...]:
        """The waterfall of causes."""
        return waterfall(self.seconds, self.floor, TPU_CAUSES if self.machine.systolic else CAUSES)

    @cached_property
    def time_s(self) -> float:
        """Predicted time."""
        return self.seconds()
