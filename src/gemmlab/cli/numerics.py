"""`gemmlab numerics WHAT ...`: six questions about a matrix unit, each in a module of its own."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

from gemmlab.cli.main import Verb
from gemmlab.record import GemmlabError, unknown_name

ABOUT = "What a matrix unit's accumulator does to the bits."
VERBS = {
    "units": Verb(
        "gemmlab.cli.numerics_units", "The units that are known: their rules, from which source, checked on what."
    ),
    "gemm": Verb(
        "gemmlab.cli.numerics_gemm",
        "Emulate a whole multiplication bit for bit: the error beside float64, one output term by term, a prediction.",
    ),
    "truncate": Verb(
        "gemmlab.cli.numerics_truncate",
        "Clear low bits of every output: how many can go unseen, and what accumulator width that implies.",
    ),
    "reveal": Verb(
        "gemmlab.cli.numerics_reveal", "Find a unit's rules from its answers alone, and confirm them on random vectors."
    ),
    "verify": Verb(
        "gemmlab.cli.numerics_verify", "Compare a unit with recorded dot products; the first that differs is explained."
    ),
    "sass": Verb(
        "gemmlab.cli.numerics_sass", "Which instruction a Triton kernel becomes on an architecture, without a GPU."
    ),
}


def help_text(about: str) -> str:
    """What `gemmlab numerics --help` prints."""
    from gemmlab.cli.help import inner_overview

    example = "gemmlab numerics gemm 64 64 4096 --unit hopper.wgmma.float8_e4m3fn --promote 128"
    return inner_overview("gemmlab numerics", about, ((name, told.about) for name, told in VERBS.items()), example)


def run(words: Sequence[str]) -> int:
    """Find the question and answer it; raises GemmlabError."""
    name, *rest = words or ["--help"]
    if name in ("--help", "-h"):
        print(help_text(ABOUT))
        return 0
    if name not in VERBS:
        if name.startswith("-"):
            raise GemmlabError(f"unknown flag `{name}`", f"gemmlab numerics {' | '.join(VERBS)}")
        raise unknown_name("part of numerics", name, VERBS)
    module = import_module(VERBS[name].module)
    if "--help" in rest or "-h" in rest:
        print(module.help_text(VERBS[name].about))
        return 0
    return int(module.run(rest))
