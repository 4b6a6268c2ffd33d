"""A kernel's source and the types of its arguments to its program."""

from __future__ import annotations

from gemmlab.emulator.lower import statements
from gemmlab.emulator.lower.arguments import arguments_of, parameters
from gemmlab.emulator.lower.draft import Draft, Frame
from gemmlab.emulator.lower.emission import Emission
from gemmlab.emulator.lower.flops import counted
from gemmlab.emulator.lower.inference import infer
from gemmlab.emulator.lower.inlining import assigned
from gemmlab.emulator.lower.names import ArrayRef
from gemmlab.emulator.lower.webs import webs
from gemmlab.emulator.program import Argument, Array, Extent, Param, Program, Return
from gemmlab.emulator.source import Source, load
from gemmlab.record import GemmlabError


def lower(source: Source, arguments: tuple[Argument, ...]) -> Program:
    """The program of a kernel for arguments of these types.

    Raises GemmlabError at the line of whatever the dialect has not, with what to write instead.
    """
    if tuple(argument.name for argument in arguments) != parameters(source):
        raise GemmlabError(f"`{source.name}` takes {', '.join(parameters(source))}", "give one argument for each")
    draft = Draft()
    frame = _frame(draft, source, arguments)
    statements.run(frame, source.tree.body)
    if frame.out and isinstance(frame.out[-1], Return):
        frame.out.pop()
    body = tuple(frame.out)
    found = webs(body)
    emission = Emission(draft, infer(draft, found))
    emission.plan()
    arrays = emission.arrays()
    typed = emission.body(body)
    names = {variable: name for (name, _), variable in emission.names.items()}
    sites = counted(typed, arrays, draft.sites, names)
    return Program(source.name, tuple(draft.files), arguments, arrays, emission.variables, typed, sites, draft.sources)


def _frame(draft: Draft, source: Source, arguments: tuple[Argument, ...]) -> Frame:
    """The kernel's own frame: arrays and numbers it is given by their names."""
    frame = Frame(draft, source, assigned=assigned(source.tree))
    draft.file(source.file)
    draft.running.append(source.function)
    for argument in arguments:
        if argument.ndim is not None:
            extents = tuple(Extent(argument.name, axis) for axis in range(argument.ndim))
            name = draft.unused(argument.name)
            draft.arrays[name] = Array(name, "global", argument.type, extents, frame.line(source.tree))
            frame.bound[argument.name] = ArrayRef(name)
        elif argument.name in frame.assigned:
            frame.assign(source.tree, argument.name, Param(argument.type, argument.name))
        else:
            frame.scalars[argument.name] = Param(argument.type, argument.name)
    return frame


def program_of(kernel: object, *values: object) -> Program:
    """The program of a kernel object for these very arguments."""
    source = load(kernel)
    return lower(source, arguments_of(source, values))
