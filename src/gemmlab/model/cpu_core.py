"""One core of a CPU as the model of its ladder sees it: ports, latencies, caches, and what each level carries."""

from __future__ import annotations

from math import exp, gcd
from typing import NamedTuple

from gemmlab.chips import Chip
from gemmlab.chips.machine import Machine
from gemmlab.kernels.ladder.cpu.tiling import L1, L2, vector_bytes

LINE = 64  #: bytes of a cache line
PAGE = 4096  #: bytes; an L1's set is chosen by bits within a page, so its sets times a line are one page
FMA_PORTS = 2  #: at least; a chip's rate may tell of more
LOADS_PER_CLOCK, STORES_PER_CLOCK = 2, 1  #: of a port's width each: all cores below (vendors' optimisation manuals)
#: bytes a clock between L3 and a core's L2. Unsure. Both vendors draw 32; their L3 takes a line from L2 for each that
#: it gives, and whether both go at once is not told. Half was chosen in sight of `ikj` on a Zen 2 and of copies on a
#: Zen 5 core, which get as much
L3_BYTES_PER_CLOCK = 16.0
#: lines that one core has in flight to memory, and their latency in seconds. Unsure: 48 is L2's queue of Golden Cove,
#: 100 ns what loaded servers take; of other cores nobody publishes either
MEMORY_LINES, MEMORY_S = 48, 100e-9
#: lines that a walk's miss of L2 fetches: a neighbour too (Intel: spatial prefetcher; AMD: L2 up/down prefetcher, by
#: their manuals). Counted in sight of `naive` at powers of two on a Zen 2 and a Zen 5 core
PAIR = 2
LEVELS = ("l1", "l2", "l3", "dram")  #: outwards


class Design(NamedTuple):
    """What manuals say of a family of cores, and the system does not."""

    name: str
    vendor: str  #: as the system tells it
    needs: str  #: the flag that tells it apart, of those that hold the first
    port_bytes: int  #: of an FMA, load or store; 0: any
    add_clocks: float  #: latency of a scalar addition
    reorder: int  #: operations that wait their turn to retire
    l2_bytes_per_clock: float  #: from L2 to L1
    l2_ways: int
    overlaps: bool  #: whether transfers between caches hide behind L1's loads and stores and behind each other


#: Sources: Intel 64 and IA-32 Architectures Optimization Reference Manual (latencies, ports, queues, 48 of 64 bytes
#: a clock sustained from L2); AMD, Software Optimization Guide for family 17h, 19h and 1Ah. Whether transfers overlap:
#: Stengel et al. 2015 for Intel (execution-cache-memory model: they do not); of AMD's cores it is assumed, unsure.
#: Unsure too: L2's rate of Haswell to Skylake, and 3 clocks of Zen 5, where an addition that feeds the next may take 2.
DESIGNS = (
    Design("Golden Cove", "GenuineIntel", "amx_bf16", 0, 3, 512, 48, 16, False),
    Design("Skylake to Ice Lake server", "GenuineIntel", "avx512f", 0, 4, 224, 48, 16, False),
    Design("Haswell to Skylake", "GenuineIntel", "avx2", 0, 4, 192, 32, 8, False),
    Design("Zen 5", "AuthenticAMD", "avx512f", 64, 3, 448, 64, 16, True),
    Design("Zen 4", "AuthenticAMD", "avx512f", 32, 3, 320, 32, 8, True),
    Design("Zen 2 or 3", "AuthenticAMD", "avx2", 0, 3, 224, 32, 8, True),
)
#: bytes of the vectors of OpenBLAS's kernels, by the name that it says; of others the widest is assumed
LIBRARY = {"Haswell": 32, "Zen": 32, "SkylakeX": 64, "Cooperlake": 64, "SapphireRapids": 64}
UNKNOWN = Design("a core that no table has", "", "", 0, 4, 128, 32, 8, False)


class Core(NamedTuple):
    """One core, alone or beside others that do the same."""

    design: Design
    clock_hz: float
    port_bytes: int  #: of one FMA, load or store
    fma_ports: int
    vector_bytes: int  #: of the widest vector
    loop_bytes: int  #: of the vectors that LLVM makes of a plain loop
    blas_bytes: int  #: of those that NumPy's library multiplies with
    l1_bytes: int
    l2_bytes: int
    l3_bytes: int  #: that this core can fill; 0: there is none
    l3_bytes_per_s: float
    dram_bytes_per_s: float

    def seconds(self, level: str, size: float) -> float:
        """What `size` bytes from a level (not `l1`) to the one inside it take."""
        rates = {
            "l2": self.design.l2_bytes_per_clock * self.clock_hz,
            "l3": self.l3_bytes_per_s,
            "dram": self.dram_bytes_per_s,
        }
        return size / rates[level]

    def leaves_l1(self, lines: float, stride: int = 0, beside: float = 0.0) -> bool:
        """Whether lines that are walked again and again push each other out of L1, `beside` others."""
        ways, sets = max(1, self.l1_bytes // PAGE), PAGE // LINE
        used = sets_used(stride)
        return lines + beside * used / sets > used * ways

    def leaves_l2(self, lines: float, stride: int = 0, beside: float = 0.0) -> float:
        """Share of the lines that are pushed out of L2.

        Pages lie anywhere, so which set a line falls in is drawn; of those in a set that more share than it has ways,
        none is there when its turn comes again.
        """
        pages = max(1.0, self.l2_bytes / self.design.l2_ways / PAGE)  # that lie beside each other in a way
        used = sets_used(stride) * pages
        sets = PAGE // LINE * pages
        return poisson_tail((lines + beside * used / sets) / used, self.design.l2_ways)

    def leaves_l3(self, size: float) -> float:
        """1 where so many bytes do not fit L3, or there is none."""
        return float(size > self.l3_bytes)


def sets_used(stride: int) -> int:
    """Sets of L1, of 64, that lines so many bytes apart fall in; all where they are no whole lines apart."""
    sets = PAGE // LINE
    if stride <= 0 or stride % LINE:
        return sets
    return sets // gcd(sets, stride // LINE)


def poisson_tail(mean: float, least: int) -> float:
    """The probability that a Poisson variable of that mean is at least `least`."""
    if mean > 8 * least + 64:
        return 1.0
    term = total = exp(-mean)
    for count in range(1, least):
        term *= mean / count
        total += term
    return max(0.0, 1.0 - total)


def design_of(machine: Machine, port_bytes: int) -> Design:
    """The first design whose vendor, flag and width are the machine's."""
    for design in DESIGNS:
        told = design.vendor == machine.vendor and design.needs in machine.flags
        if told and design.port_bytes in (0, port_bytes):
            return design
    return UNKNOWN


def core_of(chip: Chip, machine: Machine, l1_bytes: int = 0, threads: int = 1, library: str = "") -> Core:
    """A core of the chip, of which `threads` work; the machine tells flags and caches, the chip clock and rates.

    `library` is what OpenBLAS calls the kernels that it chose, empty where nobody knows. A core alone gets as much of
    L3 and memory as it can ask for; several share what copies of all were measured to get.
    """
    width = vector_bytes(machine)
    port, ports = ports_of(chip, width)
    design = design_of(machine, port)
    clock = float(chip.clock_hz)
    last, dram = chip.level("l2"), chip.level("dram")
    l3_port = L3_BYTES_PER_CLOCK * clock
    alone = MEMORY_LINES * LINE / MEMORY_S
    return Core(
        design=design,
        clock_hz=clock,
        port_bytes=port,
        fma_ports=ports,
        vector_bytes=width,
        # LLVM holds 512-bit vectors of loops back where they lower the clock: all of Intel's cores before AVX10
        loop_bytes=32 if machine.vendor == "GenuineIntel" and width == 64 else width,
        blas_bytes=min(width, LIBRARY.get(library, width)),
        l1_bytes=l1_bytes or L1,
        l2_bytes=machine.l2_bytes // max(1, machine.cores) or L2,
        l3_bytes=machine.l3_bytes // threads,
        l3_bytes_per_s=min(l3_port, float(last.bandwidth_bytes_per_s) / threads) if last else l3_port,
        dram_bytes_per_s=min(alone, float(dram.bandwidth_bytes_per_s) / threads) if dram else alone,
    )


def ports_of(chip: Chip, width: int) -> tuple[int, int]:
    """Bytes of an FMA unit, and how many there are: two, as wide as the chip's rate of float32 tells, or more."""
    single = chip.peaks.get("float32")
    if single is None or single.unit != "vector":
        return width, FMA_PORTS
    all_bytes = round(4 * float(single.flop_per_clock_per_sm) / 2)
    port = min(width, max(16, all_bytes // FMA_PORTS))
    return port, max(FMA_PORTS, all_bytes // port)
