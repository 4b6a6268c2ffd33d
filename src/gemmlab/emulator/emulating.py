"""Emulates one launch: source, program, launch, run, schedules, proof, result."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gemmlab.chips import Chip
from gemmlab.emulator import source
from gemmlab.emulator.counted import ENGINES, counted
from gemmlab.emulator.launch import Fill, Launch, Triple, launch_of, static_bytes
from gemmlab.emulator.lower import arguments_of, lower
from gemmlab.emulator.program import Array, Const, Program
from gemmlab.emulator.results import Emulation, Launched
from gemmlab.emulator.shown_files import shown_files
from gemmlab.emulator.timings import Judge, Timings
from gemmlab.emulator.verdicts import proven
from gemmlab.record import ArgumentSection, GemmlabError, unknown_name

if TYPE_CHECKING:
    from gemmlab.emulator.tracing import Trace

MERGES = (0, 8, 16)

Sides = int | Iterable[int]


def emulate(
    kernel: object,
    grid: Sides,
    block: Sides,
    *args: Any,
    outputs: Iterable[Any] = (),
    values: bool = True,
    dynamic_shared: int = 0,
    fill: Fill = "zero",
    schedule: str | None = None,
    search: bool = True,
    step_limit: int | None = None,
    threads: int | None = None,
    prove: bool = True,
    all_shapes: bool = False,
    trace: Triple | None = None,
    chip: str | Chip | None = None,
    judge: Judge | None = None,
    engine: str = "compiled",
    merge: int = 0,
) -> Emulation:
    """Run a numba.cuda kernel on the CPU, count every access exactly, and name every fault.

    `kernel` is what @cuda.jit made, or the plain function. `grid` and `block` are ints or up to three of them; `args`
    are numpy arrays, written in place, and numbers. `outputs` are arrays, or names of parameters, of which every
    element must be written. Without `values` blocks are counted by class where that is provably the same, and arrays
    are left alone. `dynamic_shared` is in bytes; `fill` is what shared and local memory hold at first, `zero` or `nan`.

    A race starts a bounded search for the order of threads that does most harm, unless `search` is off; `schedule`
    names one to run, or `worst` to search longer. `judge` says of the arrays, by parameter, how many elements are wrong
    and by how much; without it they are compared with those of the run in lockstep. `chip` bounds threads and shared
    memory. `engine` is `compiled`, or `reference`, the plain interpreter that the compiled one is held against; it
    searches no orders.

    Counts are those of the program as written; `merge`, 8 or 16, counts shared loads of neighbours in a row as loads of
    up to so many bytes, as a compiler merges them.

    `prove` says what the run proves beyond itself; `all_shapes` has z3 (the extra `proof`) try all shapes too.

    `trace` is a block of which the result's `trace` tells who reads and writes what, step by step.

    Raises GemmlabError for what is not in the dialect, what no GPU would launch, and a kernel that does not end.
    """
    read = source.load(kernel)
    program = lower(read, arguments_of(read, args))
    launch = launch_of(program, grid, block, args, dynamic_shared_bytes=dynamic_shared, fill=fill, chip=chip)
    check_engine(engine, values, merge)
    named = output_names(program, launch, outputs)
    if schedule is not None and not values:
        raise GemmlabError(f"schedule {schedule!r} needs values", "values=True")
    timings = Timings(program, launch, schedule, judge, step_limit) if values else None
    traced = trace_of(kernel, program, launch, trace, step_limit) if trace is not None else None
    outcome, blocks = counted(kernel, program, launch, values, threads, step_limit, named, engine, merge)
    tried = timings.tried(outcome, search=search and engine == "compiled") if timings else ()
    proof = proven(program, launch, outcome, ran=blocks.run, all_shapes=all_shapes) if prove else None
    return Emulation(
        launched=launched(program, launch, values),
        outcome=replace(outcome, notes=outcome.notes + merge_note(merge) + (timings.notes if timings else ())),
        blocks=blocks,
        schedules=tried,
        proof=proof,
        witness=timings.witness if timings else None,
        program=program,
        trace=traced,
    )


def merge_note(merge: int) -> tuple[str, ...]:
    """That counts are not those of the program as written, where they are not."""
    if not merge:
        return ()
    return (
        f"shared loads of neighbours in a row are counted as loads of up to {merge} bytes, as a compiler merges them",
    )


def trace_of(kernel: object, program: Program, launch: Launch, block: Triple, step_limit: int | None) -> Trace:
    """What the threads of one block read and write, before the launch changes its arrays."""
    from gemmlab.emulator.tracing import trace

    return trace(kernel, program, launch, block, step_limit)


def check_engine(engine: str, values: bool, merge: int) -> None:
    """Raise GemmlabError for an engine that is unknown, or cannot do what is asked."""
    if engine not in ENGINES:
        raise unknown_name("engine", engine, ENGINES)
    if engine == "reference" and not values:
        raise GemmlabError("the plain interpreter computes values", "values=True, or the compiled engine")
    if merge not in MERGES or (merge and engine == "reference"):
        raise GemmlabError(
            f"shared loads cannot be merged to {merge} bytes by the {engine} engine",
            "8 or 16 with the compiled engine, or 0 for the program as written",
        )


def output_names(program: Program, launch: Launch, outputs: Iterable[Any]) -> tuple[str, ...]:
    """Names of the parameters that outputs are, given as such or as the arrays themselves."""
    named = {argument.name: value for argument, value in zip(program.arguments, launch.args, strict=True)}
    arrays = [argument.name for argument in program.arguments if argument.ndim is not None]
    found = []
    for output in outputs:
        name = output if isinstance(output, str) else next((n for n in arrays if named[n] is output), None)
        if name not in arrays:
            what = f"`{output}`" if isinstance(output, str) else "an array that is no argument"
            raise GemmlabError(f"output {what} is no array of {program.name}", f"its arrays: {', '.join(arrays)}")
        found.append(name)
    return tuple(found)


def launched(program: Program, launch: Launch, values: bool) -> Launched:
    """The launch as a report tells it."""
    return Launched(
        kernel=program.name,
        file=program.files[0],
        grid=launch.grid,
        block=launch.block,
        arguments=tuple(
            ArgumentSection(
                name=each.name, type=each.type, shape=None if each.ndim is None else tuple(map(int, value.shape))
            )
            for each, value in zip(program.arguments, launch.args, strict=True)
        ),
        spaces={name: space_of(program, name) for name in program.arrays},
        types={name: array.type for name, array in program.arrays.items()},
        shapes={name: shape for name, array in program.arrays.items() if (shape := declared(array))},
        texts={(program.files[line.file], line.number): text for line, text in program.sources.items()},
        shared_bytes=static_bytes(program) + launch.dynamic_shared_bytes,
        values=values,
        shown=shown_files(program.files),
    )


def declared(array: Array) -> tuple[int, ...]:
    """The sides of a shared or local array that the program itself gives; empty where a launch does."""
    sides = [each.value for each in array.extents if isinstance(each, Const)]
    known = array.space in ("shared", "local") and len(sides) == len(array.extents)
    return tuple(map(int, sides)) if known else ()


def space_of(program: Program, name: str) -> str:
    """The memory that an array, or a view's array, lies in: global, shared or local."""
    array = program.arrays[name]
    if array.space == "view":
        return space_of(program, array.base)
    return "shared" if array.space == "dynamic" else array.space
