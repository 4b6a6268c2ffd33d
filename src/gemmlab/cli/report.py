"""`gemmlab report`: the whole story of one multiplication as one page."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gemmlab.cli.numerics_output import check_files
from gemmlab.cli.options import JSON, WIDTH
from gemmlab.cli.output import emit
from gemmlab.cli.parse import Flag, Section, parse
from gemmlab.cli.quantities import seconds
from gemmlab.cli.run_options import listed
from gemmlab.problem.columns import number
from gemmlab.record import GemmlabError

if TYPE_CHECKING:
    from gemmlab.experiment.lesson import Lesson, Settings
    from gemmlab.problem import Gemm

HELP = "gemmlab report --help"
SOURCE = ("SOURCE", "M N K: A is (M, K), B is (K, N).")
LONGEST_S = 600.0
LARGEST_SEED = 2**32 - 2  #: of numpy's generator, whose next seed fills arguments beside the operands

TOLD = Section(
    "What it is about",
    (
        Flag("chip", "The chip that is predicted for, by name or one's own file; default h100-sxm.", "NAME|FILE.toml"),
        Flag("format", "Number format of A and B, from which the others follow; default float32.", "NAME"),
        Flag(
            "kernel",
            "Rungs of the ladder that are counted and emulated; default naive,tiled_8,tiled: tiles of 8 and of 16.",
            "NAME,...",
            listed,
        ),
    ),
)
RUNNING = Section(
    "What is run",
    (
        Flag("budget", "How long kernels may be timed here past a small size; default 20s.", "TIME", seconds),
        Flag("no_run", "Time nothing."),
        Flag("seed", "Where random operands start; default 0.", "N", number),
    ),
)
OUTPUT = Section(
    "The report",
    (
        Flag("html", "Where the page is written; default gemmlab-MxNxK.html, none with --json.", "FILE"),
        Flag("plot", "Write its pictures as SVG.", "FILE.svg"),
        JSON,
        WIDTH,
    ),
)
REPORT = (TOLD, RUNNING, OUTPUT)


def help_text(about: str) -> str:
    """What `gemmlab report --help` prints."""
    from gemmlab.cli.help import of_verb

    return of_verb("gemmlab report M N K [FLAGS]", about, SOURCE, REPORT, "gemmlab report 1024 1024 1024")


def run(words: Sequence[str]) -> int:
    """Tell what the words say; 1 where a formula, a program and a result contradict each other; raises GemmlabError."""
    source, given = parse(words, REPORT, HELP)
    problem = problem_of(source, given)
    if "html" not in given and "json" not in given:
        given["html"] = f"gemmlab-{problem.m}x{problem.n}x{problem.k}.html"
    check_files(given, ("html", "plot"))
    settings = settings_of(given)
    from gemmlab import chips
    from gemmlab.cli.run import progress
    from gemmlab.experiment.lesson import teach

    chip = chips.load(given.get("chip", "h100-sxm"))
    with progress() as told:
        lesson = teach(problem, chip, settings, told)
    deliver(lesson, given, f"gemmlab report {shlex.join(words)}")
    return 0 if lesson.ok else 1


def problem_of(source: Sequence[str], given: dict[str, Any]) -> Gemm:
    """The multiplication; raises GemmlabError for several, or none."""
    from gemmlab.cli.shapes import shapes_of

    if len(source) == 1 and "x" not in source[0].lower():
        raise GemmlabError(f"`{source[0]}` is not one multiplication", "gemmlab report 1024 1024 1024")
    shapes = shapes_of(source, {"format": given["format"]} if "format" in given else {}, {})
    return shapes[0].problem


def settings_of(given: dict[str, Any]) -> Settings:
    """What the flags allow; raises GemmlabError."""
    seed, budget = given.get("seed", 0), given.get("budget", 20.0)
    if not 0 <= seed <= LARGEST_SEED:
        raise GemmlabError(f"--seed: {seed} is no seed", f"a whole number from 0 to {LARGEST_SEED}")
    if budget > LONGEST_S:
        raise GemmlabError(f"--budget: {budget:g} s is longer than a report is waited for", f"up to {LONGEST_S:g}s")
    if "no_run" in given and "budget" in given:
        raise GemmlabError("--budget is of timing, and --no-run times nothing", "leave one of them out")
    from gemmlab.experiment.lesson import Settings
    from gemmlab.experiment.lesson.kernels import DEFAULT, check_names

    names = tuple(dict.fromkeys(given.get("kernel", DEFAULT)))
    check_names(names)
    return Settings(kernels=names, seed=seed, budget_s=budget, run="no_run" not in given)


def deliver(lesson: Lesson, given: dict[str, Any], command: str) -> None:
    """Render everything, write the page, then print; raises GemmlabError where it cannot be written."""
    from gemmlab.report.lesson import lesson_html, lesson_svg, lesson_text

    files = {given["html"]: lesson_html(lesson, command)} if "html" in given else {}
    files |= {given["plot"]: lesson_svg(lesson)} if "plot" in given else {}
    if "json" in given:
        printed = "".join(record.to_json() + "\n" for record in lesson.records)
    else:
        printed = lesson_text(lesson, width=given.get("width")) + "\n"
    if files:
        from gemmlab.report import write_file

        for path, text in files.items():
            write_file(path, text)
            print(f"wrote {path}", file=sys.stderr)
    emit(printed, for_programs="json" in given)
