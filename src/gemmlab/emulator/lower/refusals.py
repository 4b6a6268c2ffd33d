"""What the dialect leaves out is refused at its line, with what to write instead."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from gemmlab.record import GemmlabError


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a refusal points: the file, the line and what stands there."""

    file: str
    line: int
    snippet: str


def shortened(text: str, most: int = 60) -> str:
    """A piece of source on one line, its end cut off where it is long."""
    text = " ".join(text.split())
    return text if len(text) <= most else text[: most - 3] + "..."


def snippet(node: ast.AST) -> str:
    """A node as Python writes it, short enough for a message."""
    return shortened(ast.unparse(node).splitlines()[0])


def refusal(spot: Spot, hint: str, why: str = "is not in the emulator's dialect") -> GemmlabError:
    """The error for something outside of the dialect, or wrong in it."""
    return GemmlabError(f"{spot.file}:{spot.line}: `{spot.snippet}` {why}", hint)


#: by kind of syntax node: what to write instead
SYNTAX = {
    ast.List: "lists are not on the GPU: use cuda.local.array(n, dtype) for a few private values",
    ast.Dict: "dictionaries are not on the GPU: pass an array and index it",
    ast.Set: "sets are not on the GPU: pass an array and index it",
    ast.ListComp: "write a for loop over a cuda.local.array",
    ast.SetComp: "write a for loop",
    ast.DictComp: "write a for loop",
    ast.GeneratorExp: "write a for loop",
    ast.Lambda: "write a function under @cuda.jit(device=True) and call it",
    ast.JoinedStr: "strings are not on the GPU: write numbers to an array and format them on the host",
    ast.NamedExpr: "assign on a line of its own before",
    ast.Starred: "write the items one by one",
    ast.Await: "kernels have no coroutines",
    ast.Yield: "kernels have no generators: write results to an array",
    ast.YieldFrom: "kernels have no generators: write results to an array",
    ast.Try: "kernels raise no exceptions: test with `if` before",
    ast.Raise: "kernels raise no exceptions: write an error code to an array",
    ast.Assert: "kernels raise no exceptions: write the test's result to an array and look at it on the host",
    ast.With: "kernels have no context managers: write the statements alone",
    ast.Import: "import at the top of the file",
    ast.ImportFrom: "import at the top of the file",
    ast.FunctionDef: "define it outside of the kernel, under @cuda.jit(device=True)",
    ast.AsyncFunctionDef: "kernels have no coroutines",
    ast.ClassDef: "classes are not on the GPU: pass scalars and arrays",
    ast.Global: "pass an array and write to its element",
    ast.Nonlocal: "pass an array and write to its element",
    ast.Delete: "leave it out: a variable needs no deleting",
    ast.Match: "write if and elif",
    ast.Slice: "index single elements in a loop",
}
