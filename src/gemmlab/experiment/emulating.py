"""A kernel run on the CPU and its result checked: the Record of one emulated launch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np

from gemmlab import emulator
from gemmlab.chips import load as chip_of
from gemmlab.chips import section as chip_section
from gemmlab.emulator import Emulation
from gemmlab.emulator.lower import program_of
from gemmlab.emulator.source import load as source_of
from gemmlab.experiment import gemm_arguments as operands
from gemmlab.experiment.arguments import Given, assigned, value
from gemmlab.experiment.gemm_checking import Judge, bit_for_bit, judge_of, matrix, within_rounding
from gemmlab.experiment.named_kernels import Named
from gemmlab.experiment.parameters import Parameter, parameters
from gemmlab.experiment.sums import sums_in
from gemmlab.formats import get
from gemmlab.problem import Gemm
from gemmlab.record import GemmlabError, Record, Verdict
from gemmlab.units import ceil_div

EXACT_LIMIT = 1 << 21  #: products up to which a second run, on integers, costs little
ONCE = ("schedule", "prove", "all_shapes", "trace")  #: options that a second run need not follow

Sides = tuple[int, ...]
Watch = Callable[[Gemm, operands.Filled, Any], None]


@dataclass(frozen=True, slots=True)
class Asked:
    """What is to be emulated, apart from the multiplication."""

    kernel: Named
    block: Sides | None = None
    grid: Sides | None = None
    given: tuple[Given, ...] = ()
    outputs: tuple[str, ...] = ()
    seed: int = 0
    chip: str | None = None
    values: bool = True
    options: Mapping[str, Any] = field(default_factory=dict)  #: of emulator.emulate

    @property
    def parameters(self) -> list[Parameter]:
        """The kernel's parameters; raises GemmlabError for what is no kernel."""
        return parameters(source_of(self.kernel.kernel).tree)


def emulate_kernel(asked: Asked) -> tuple[Record, Emulation]:
    """Emulate any kernel with the arguments that are given; raises GemmlabError for what cannot be run."""
    if asked.block is None or asked.grid is None:
        raise GemmlabError("a launch without --shape needs a grid and a block", "--grid 4 --block 256")
    names = [parameter.name for parameter in asked.parameters]
    by_name = assigned(asked.kernel.name, names, asked.given)
    random = np.random.RandomState(asked.seed)
    values = {name: value(given, {}, random, blank=not asked.values) for name, given in by_name.items()}
    check_outputs(asked, values)
    result = run(asked, asked.grid, asked.block, values, asked.outputs, None)
    return record(result, asked, None), result


def emulate_gemm(problem: Gemm, asked: Asked, watch: Watch | None = None) -> tuple[Record, Emulation]:
    """Emulate a kernel that multiplies, and check its result; raises GemmlabError for what cannot be run.

    The result is compared with float64 within what rounding explains; then, where that costs little and no fault was
    found, that of a second run, on integers, must be equal bit for bit. `watch` gets the multiplication, its operands
    and C, (m, n), of each order of threads that is tried.
    """
    operands.check_formats(problem)
    by_name = named_arguments(asked)
    parts = operands.roles(asked.kernel.name, asked.parameters, frozenset(by_name))
    operands.check_factors(asked.kernel.name, problem, parts)
    grid, block = launch(problem, asked)
    others = beside(asked, by_name, problem)
    if not asked.values:
        result = run(asked, grid, block, operands.blank(problem, parts) | others, (), None)
        return record(result, asked, problem), result
    filled = operands.filled(problem, parts, seed=asked.seed)
    check_outputs(asked, filled.values | others)
    problem = summed(problem, asked, filled.values | others)
    judge = watched(judge_of(problem, parts, filled), problem, parts, filled, watch)
    result = run(asked, grid, block, filled.values | others, asked.outputs or (parts.c,), judge)
    verdict = within_rounding(problem, filled)
    if verdict.ok and result.ok and problem.m * problem.n * problem.k <= EXACT_LIMIT:
        verdict = on_integers(problem, parts, asked, (grid, block), by_name, verdict)
    result = result.with_verdict(verdict)
    return record(result, asked, problem), result


def watched(judge: Judge, problem: Gemm, parts: operands.Roles, filled: operands.Filled, watch: Watch | None) -> Judge:
    """The judge, with somebody who sees what it judges."""

    def both(arrays: Mapping[str, Any]) -> tuple[int, float | None]:
        if watch is not None:
            watch(problem, filled, matrix(problem, arrays[parts.c]))
        return judge(arrays)

    return both


def run(
    asked: Asked, grid: Sides, block: Sides, values: Mapping[str, Any], outputs: Sequence[str], judge: Judge | None
) -> Emulation:
    """One run of the emulator, `values` by parameter."""
    arguments = in_order(asked, values)
    return emulator.emulate(
        asked.kernel.kernel,
        grid,
        block,
        *arguments,
        outputs=tuple(outputs) if asked.values else (),
        values=asked.values,
        chip=asked.chip,
        judge=judge,
        **asked.options,
    )


def in_order(asked: Asked, values: Mapping[str, Any]) -> list[Any]:
    """Arguments in the kernel's order."""
    return [values[parameter.name] for parameter in asked.parameters]


def on_integers(
    problem: Gemm,
    parts: operands.Roles,
    asked: Asked,
    sides: tuple[Sides, Sides],
    by_name: Mapping[str, Given],
    before: Verdict,
) -> Verdict:
    """The verdict of a second run, on integers, if it is wrong; else the one before, which says that there was one.

    Where no integers make every sum exact, the one before as it is.
    """
    try:
        filled = operands.filled(problem, parts, seed=asked.seed, exact=True)
    except GemmlabError:
        return before
    options = {name: each for name, each in asked.options.items() if name not in ONCE}
    again = Asked(asked.kernel, chip=asked.chip, options=options | {"prove": False})
    run(again, *sides, filled.values | beside(asked, by_name, problem), (), None)
    verdict = bit_for_bit(problem, filled)
    if not verdict.ok:
        return verdict
    return msgspec.structs.replace(
        before, reference=f"{before.reference}; a second run, on integers, equal bit for bit"
    )


def launch(problem: Gemm, asked: Asked) -> tuple[Sides, Sides]:
    """Grid and block: those given, else a rung's own, else as many blocks as cover n along x and m along y."""
    rung = asked.kernel.rung
    own = rung.launch(problem.m, problem.n) if rung and asked.block in (None, rung.block) else None
    block = asked.block or (own[1] if own else None)
    if block is None:
        raise GemmlabError("there is no --block", "--block 16x16: threads along x, which run along n, and along y")
    if asked.grid or own:
        return asked.grid or (own[0] if own else ()), block
    if len(block) == 1:
        return (ceil_div(problem.m * problem.n, block[0]),), block
    return (ceil_div(problem.n, block[0]), ceil_div(problem.m, block[1])), block


def named_arguments(asked: Asked) -> dict[str, Given]:
    """What is given beside the operands, which must be by name; raises GemmlabError."""
    for each in asked.given:
        if not each.name:
            raise GemmlabError(
                f"argument `{each.text}` has no name, and --shape fills the operands", f"NAME={each.text}"
            )
    wanted = [p.name for p in asked.parameters if any(p.name == each.name for each in asked.given)]
    return assigned(asked.kernel.name, wanted, asked.given, [p.name for p in asked.parameters])


def beside(asked: Asked, by_name: Mapping[str, Given], problem: Gemm) -> dict[str, Any]:
    """Arguments beside the operands; their sides may be products of m, n and k."""
    sizes = {"m": problem.m, "n": problem.n, "k": problem.k}
    random = np.random.RandomState(asked.seed + 1)
    return {name: value(given, sizes, random, blank=not asked.values) for name, given in by_name.items()}


def check_outputs(asked: Asked, values: Mapping[str, Any]) -> None:
    """Raise GemmlabError for an output that is no array of the kernel."""
    arrays = [name for name, each in values.items() if isinstance(each, np.ndarray)]
    for name in asked.outputs:
        if name not in arrays:
            raise GemmlabError(
                f"output `{name}` is no array of {asked.kernel.name}", f"its arrays: {', '.join(arrays) or 'none'}"
            )


def summed(problem: Gemm, asked: Asked, values: Mapping[str, Any]) -> Gemm:
    """The same multiplication with the accumulator that the kernel's program sums in."""
    found = sums_in(program_of(asked.kernel.kernel, *in_order(asked, values)))
    return problem.replace(accumulate=found) if found and get(problem.d_format).kind == "float" else problem


def record(result: Emulation, asked: Asked, problem: Gemm | None) -> Record:
    """The multiplication and the chip, where there are any, beside the emulation and its verdict."""
    own = result.to_record()
    return msgspec.structs.replace(
        own,
        emulation=msgspec.structs.replace(result.to_section(), kernel=asked.kernel.name),
        problem=problem.section() if problem else None,
        chip=chip_section(chip_of(asked.chip)) if asked.chip else None,
    )
