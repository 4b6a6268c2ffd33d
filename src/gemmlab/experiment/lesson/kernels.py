"""The kernels of a lesson: each counted by formula, and emulated until the emulator has the same counts."""

from __future__ import annotations

from dataclasses import dataclass

from gemmlab import chips, formats, kernels
from gemmlab.chips import Chip
from gemmlab.count import count
from gemmlab.experiment.emulating import Asked, emulate_gemm
from gemmlab.experiment.explaining import explain
from gemmlab.experiment.lesson.sizes import capped
from gemmlab.experiment.named_kernels import named_kernel
from gemmlab.kernels import Kernel
from gemmlab.kernels import section as kernel_section
from gemmlab.kernels.ladder import RUNGS, SIZES, Rung
from gemmlab.model.suited import on_chip
from gemmlab.problem import Gemm
from gemmlab.record import Count, GemmlabError, ProblemSection, Record, unknown_name

DEFAULT = ("naive", "tiled_8", "tiled")
HELD = ("float32", "float16")  #: formats that the programs are emulated in as they are
MOST_VALUES = 1 << 28  #: products up to which every thread computes; past them blocks are counted by class
MOST_ELEMENTS = 1 << 25  #: of all three matrices, for the same: they are drawn and checked in float64
MOST_K = 1 << 18  #: that one thread walks while blocks are counted by class
VALUED = 256  #: sides that values are computed at where the asked ones are too many
PLAIN = 1 << 16  #: sides past which a launch has more blocks than a grid may have


@dataclass(frozen=True, slots=True)
class Counted:
    """One kernel, known twice: by its formula, and by every access of its program."""

    name: str
    idea: str
    tile: tuple[int, int, int]  #: elements of m, n, k that a block takes at a time
    formula: Record  #: count, and prediction where the chip can run it
    emulated: Record  #: the accesses, at the asked size where that can be
    valued: Record | None  #: a run that computed values, checked; the same as `emulated` where that did
    due: int  #: loads that the formula gives for the size that was emulated

    @property
    def loads(self) -> int:
        """Elements of A and B that all threads ask global memory for, by formula."""
        record = self.formula
        return operand_loads(record.count, record.problem) if record.count and record.problem else 0

    @property
    def counted_here(self) -> int:
        """The same as the emulator met them, at the size that it ran."""
        return self.emulated.emulation.global_load.elements if self.emulated.emulation else 0

    @property
    def agrees(self) -> bool:
        """The emulator met as many loads as the formula gives."""
        return self.counted_here == self.due

    @property
    def whole(self) -> bool:
        """The asked size was emulated, not a smaller one."""
        p, q = self.formula.problem, self.emulated.problem
        return p is not None and q is not None and (p.m, p.n, p.k) == (q.m, q.n, q.k)


def check_names(names: tuple[str, ...]) -> None:
    """Raise GemmlabError for what is no rung with a formula."""
    known = {**RUNGS, **SIZES}
    for name in names:
        if ".py" in name:
            raise GemmlabError(
                f"kernel `{name}`: a lesson has the ladder's kernels, whose formulas are known",
                f"gemmlab emulate {name} --shape M N K --block 16x16 counts any other",
            )
        if name not in known:
            raise unknown_name("kernel", name, known)


def counted(problem: Gemm, chip: Chip, name: str, seed: int) -> Counted:
    """One kernel counted and emulated; raises GemmlabError where no size of it can be run."""
    rung = {**RUNGS, **SIZES}[name]
    kernel = kernels.get(rung.counted_by, problem=problem, **rung.settings)
    tile = (kernel.block_m, kernel.block_n, kernel.block_k)
    held = problem if problem.a_format in HELD else problem.in_format("float32")
    emulated = accesses(held, rung, tile, seed)
    valued = emulated
    if emulated.verdict is None:
        valued = launched(capped(held, VALUED, tile), name, seed, values=True, prove=False)
    there = Gemm.from_section(emulated.problem) if emulated.problem else held
    due = operand_loads(count(there, kernels.get(rung.counted_by, problem=there, **rung.settings)), there)
    return Counted(name, rung.idea, tile, formula(problem, chip, kernel), emulated, valued, due)


def operand_loads(counted: Count, problem: Gemm | ProblemSection) -> int:
    """Loads of A and B alone: the ladder's split-k joins its parts by atomics, where the formula reads them back."""
    return counted.global_load_elements - counted.workspace_bytes * 8 // formats.get(problem.accumulate).bits


def formula(problem: Gemm, chip: Chip, kernel: Kernel) -> Record:
    """Count and prediction of a kernel; the count alone where the chip cannot run it."""
    try:
        return explain(problem, chip, on_chip(kernel, problem, chip), advice=False)
    except GemmlabError:
        return Record(
            problem=problem.section(),
            chip=chips.section(chip),
            kernel=kernel_section(kernel, problem),
            count=count(problem, kernel),
        )


def accesses(problem: Gemm, rung: Rung, tile: tuple[int, int, int], seed: int) -> Record:
    """Every access: of every block where they are few, else by class; at a smaller size where neither can be."""
    elements = problem.m * problem.k + problem.k * problem.n + problem.m * problem.n
    few = problem.m * problem.n * problem.k <= MOST_VALUES and elements <= MOST_ELEMENTS
    if few and max(problem.m, problem.n) <= PLAIN:
        return launched(problem, rung.name, seed, values=True, prove=True)
    if problem.k <= MOST_K:
        try:
            return launched(problem, rung.name, seed, values=False, prove=True)
        except GemmlabError:  # more blocks than a grid may have, or more addresses than there are
            pass
    return launched(capped(problem, VALUED, tile), rung.name, seed, values=True, prove=True)


def launched(problem: Gemm, name: str, seed: int, *, values: bool, prove: bool) -> Record:
    """One launch."""
    asked = Asked(named_kernel(name), seed=seed, values=values, options={"prove": prove})
    return emulate_gemm(problem, asked)[0]
