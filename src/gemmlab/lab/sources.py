"""The kernel that a request means: a rung of the ladder, one's own text, or either with barriers left out."""

from __future__ import annotations

import ast
import os
import tempfile
import tokenize
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from gemmlab.emulator.kernel_file import kernel_from, kernels_of, module_of
from gemmlab.emulator.source import load
from gemmlab.experiment import named_kernel
from gemmlab.experiment.named_kernels import Named
from gemmlab.lab.asked import Launched
from gemmlab.record import GemmlabError, unknown_name

BARRIER = "syncthreads"
OWN_FILE = "kernel.py"


@contextmanager
def chosen(asked: Launched, without: Collection[int] = ()) -> Iterator[tuple[Named, tuple[int, ...]]]:
    """The kernel that is asked for, its barriers numbered `without` left out, and the lines of all its barriers.

    Barriers count from 0 in the order of the source. Text lies in a file as long as the kernel is used. Raises
    GemmlabError.
    """
    with tempfile.TemporaryDirectory(prefix="gemmlab-lab-") as folder:
        try:
            if asked.source is not None:
                path = Path(folder, OWN_FILE)
                path.write_text(asked.source, encoding="utf-8")
                found = own(path, asked.kernel)
            else:
                found = of_ladder(asked.kernel)
            lines = barriers(found.kernel)
            yield left_out(found, without, Path(folder)) if without else found, lines
        except GemmlabError as error:
            raise without_folder(error, folder) from None


def of_ladder(name: str) -> Named:
    """A rung or a broken twin by its name; raises GemmlabError, for the name of a file too."""
    from gemmlab.kernels.ladder import BROKEN, RUNGS, SIZES

    known = [*RUNGS, *SIZES, *BROKEN]
    if not name:
        raise GemmlabError("no kernel is named", f"kernel: one of {', '.join(known)}; or source")
    if name not in known:
        raise unknown_name("kernel", name, known)
    return named_kernel(name)


def own(path: Path, name: str) -> Named:
    """The kernel of a file: the one of that name, or the only one there is; raises GemmlabError."""
    if name and not name.isidentifier():
        raise GemmlabError(f"`{name}` is no name of a function", "kernel: the function under @cuda.jit")
    if not name:
        found = list(kernels_of(module_of(path)))
        if len(found) != 1:
            what = f"has {len(found)} kernels: {', '.join(found)}" if found else "has no kernel under @cuda.jit"
            raise GemmlabError(f"the source {what}", "kernel: the name of one")
        name = found[0]
    return Named(name, kernel_from(f"{path}:{name}"))


def without_folder(error: GemmlabError, folder: str) -> GemmlabError:
    """The same error, files in that folder called as the page knows them, its remedy one that the page has."""
    hint = "" if folder in error.hint and "python" in error.hint else error.hint
    if "step_limit" in hint:  # which a program may raise, and no request of the page has
        hint = "a loop may never end; else a smaller m, n and k"
    return GemmlabError(*(text.replace(folder + os.sep, "") for text in (error.text, hint)))


def barriers(kernel: Any) -> tuple[int, ...]:
    """The lines, in their file, of the kernel's own barriers, in order."""
    return tuple(node.lineno for node in waits(load(kernel).tree))


def waits(tree: ast.AST) -> list[ast.Expr]:
    """Statements that wait for the block, in the order of the source."""
    found = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Call)
        and ast.unparse(node.value.func).rpartition(".")[2] == BARRIER
    ]
    return sorted(found, key=lambda node: node.lineno)


def left_out(named: Named, without: Collection[int], folder: Path) -> Named:
    """The kernel of the same file, `pass` where those barriers stand, so that all lines keep their numbers."""
    source = load(named.kernel)
    nodes = waits(source.tree)
    if over := sorted(number for number in set(without) if number >= len(nodes)):
        raise GemmlabError(f"{named.name} has no barrier {over[0]}", f"it has {len(nodes)}, counted from 0")
    with tokenize.open(source.file) as file:
        encoding, text = file.encoding, file.read()
    lines = [line.encode() for line in text.split("\n")]  # the tree counts bytes of UTF-8
    for number in sorted(set(without), reverse=True):  # the last first: places before it stay
        node = nodes[number]
        first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
        start, rest = lines[first][: node.col_offset], lines[last][node.end_col_offset :]
        lines[first : last + 1] = [start + b"pass" + rest, *[b""] * (last - first)]
    path = folder / Path(source.file).name
    path.write_bytes(b"\n".join(lines).decode().encode(encoding))
    return replace(named, kernel=kernel_from(f"{path}:{attribute_of(named)}"))


def attribute_of(named: Named) -> str:
    """What the kernel is called in its file."""
    from gemmlab.kernels.ladder import BROKEN, RUNGS, SIZES

    if named.rung is None:
        return named.name
    known = {name: each.source for table in (RUNGS, SIZES, BROKEN) for name, each in table.items()}
    return known[named.name].partition(":")[2]
