"""Which of a network's sources a word is, which flags go with it, and its workload."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from gemmlab.cli.options import KERNEL, PROBLEM, SETTING, SUITE
from gemmlab.record import GemmlabError

if TYPE_CHECKING:
    from gemmlab.workload import Workload

TRACES = (".json", ".json.gz", ".gz")
TABLES = (".csv", ".tsv", ".txt")
MODEL = re.compile(r".+\.py:[A-Za-z_][\w.]*|[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")
SOURCES = (
    "a profiler's trace.json or trace.json.gz, model.py:NAME or package.module:NAME with --inputs, a SCALE-Sim "
    "topology.csv, a CSV file of shapes, a suite, or M N K"
)

#: what each kind of source is called, and the flags that it takes beside --chip and those of the report
CALLED = {"trace": "a trace", "model": "a model", "topology": "a topology", "table": "a list of shapes"}
TAKES = {
    "trace": ("step",),
    "model": (
        *("inputs", "inference", "autocast", "matmul_precision", "channels_last", "compile"),
        *("optimizer", "dtype", "arguments", "config"),
    ),
    "topology": ("format",),
    "table": (*(flag.name for flag in PROBLEM.flags), *(flag.name for flag in SUITE.flags)),
}
FOR_ALL = ("chip", "top", "diff", "float8", "summary")
#: sections whose flags are of one multiplication, or of lists
NARROW = (SETTING, PROBLEM, SUITE, KERNEL)


def is_network(word: str) -> bool:
    """Whether a word means a trace, a model or a topology, and not a list of shapes."""
    return kind_of(word) != "table"


def kind_of(word: str) -> str:
    """A key of CALLED; what is none of the others is a list of shapes, or nothing that can be read."""
    lower = word.lower()
    if lower.endswith((".py", ".py:")) or (MODEL.fullmatch(word) and not os.path.isfile(word)):
        return "model"  # a file that names none is told so
    if lower.endswith(TRACES) or os.path.isdir(word):  # a folder, as tensorboard_trace_handler fills it
        return "trace"
    if not os.path.isfile(word):
        return "table"
    if lower.endswith(TABLES):
        from gemmlab.workload.topology import is_topology

        return "topology" if is_topology(word) else "table"
    from gemmlab.workload.traces import is_trace

    return "trace" if is_trace(word) else "table"


def read_workload(word: str, given: dict[str, Any]) -> Workload:
    """The workload that a word means; raises GemmlabError for what cannot be read, and for flags that do not fit."""
    kind = kind_of(word)
    check_flags(word, kind, given)
    return {"trace": trace, "model": model, "topology": topology, "table": table}[kind](word, given)


def check_flags(word: str, kind: str, given: dict[str, Any]) -> None:
    """Raise GemmlabError for a flag that a kind of source does not take."""
    fitting = (*TAKES[kind], *FOR_ALL)
    others = [flag.name for section in NARROW for flag in section.flags]
    for name in given:
        of_sources = name in others or any(name in takes for takes in TAKES.values())
        if of_sources and name not in fitting:
            typed = f"--{name.replace('_', '-')}"
            fits = [CALLED[each] for each, takes in TAKES.items() if name in takes]
            of = f"it goes with {' or '.join(fits)}" if fits else "it is of one multiplication"
            takes = ", ".join(f"--{each.replace('_', '-')}" for each in ("chip", *TAKES[kind][:8]))
            raise GemmlabError(
                f"{typed} does not go with `{word}`, {CALLED[kind]}", f"{of}; {CALLED[kind]} takes {takes}"
            )


def trace(word: str, given: dict[str, Any]) -> Workload:
    """A profiler's trace."""
    require_file(word)
    from gemmlab.workload.traces import read_trace

    return read_trace(word, **{name: given[name] for name in TAKES["trace"] if name in given})


def model(word: str, given: dict[str, Any]) -> Workload:
    """A PyTorch model, forward and backward without its weights."""
    if word.lower().rstrip(":").endswith(".py"):
        raise nameless(word.rstrip(":"))
    from gemmlab.cli.workload_model import model_workload

    return model_workload(word, given)


def nameless(path: str) -> GemmlabError:
    """The error for a file of Python that is given without a name, with the models in it; it is read, not run."""
    import ast

    require_file(path)
    try:
        with open(path, encoding="utf-8") as file:
            body = ast.parse(file.read()).body
    except (OSError, ValueError, SyntaxError) as error:
        return GemmlabError(f"`{path}` cannot be read as Python: {str(error).partition(chr(10))[0]}", "")
    kinds: dict[str, list[str]] = {
        each.name: [ast.unparse(base).rpartition(".")[2] for base in each.bases]
        for each in body
        if isinstance(each, ast.ClassDef)
    }
    models = [name for name, bases in kinds.items() if any("Module" in base or base in kinds for base in bases)]
    found = models or [each.name for each in body if isinstance(each, ast.FunctionDef)]
    if not found:
        return GemmlabError(f"`{path}` names no model, and none is seen in it", f"{path}:NAME")
    what = "models" if models else "functions"
    return GemmlabError(f"`{path}` names no model; {what} in it: {', '.join(found[:12])}", f"{path}:{found[-1]}")


def topology(word: str, given: dict[str, Any]) -> Workload:
    """A SCALE-Sim topology."""
    from gemmlab.workload.topology import read_topology

    return read_topology(word, given.get("format", "float32"))


def table(word: str, given: dict[str, Any]) -> Workload:
    """A list of shapes, or a suite."""
    from gemmlab.cli.shapes import shapes_of
    from gemmlab.workload.table import workload_of

    try:
        shapes = shapes_of([word], PROBLEM.of(given), SUITE.of(given))
    except GemmlabError as error:
        raise GemmlabError(error.text, f"{error.hint}; sources are {SOURCES}" if error.hint else SOURCES) from None
    return workload_of(shapes, word)


def require_file(word: str) -> None:
    """Raise GemmlabError where there is no such file or folder."""
    if not os.path.exists(word):
        raise GemmlabError(f"{word} does not exist", f"SOURCE is {SOURCES}")
