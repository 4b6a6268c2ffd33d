"""The flags of `run`, by what they are about."""

from __future__ import annotations

from gemmlab.cli.options import JSON, PROBLEM, WIDTH
from gemmlab.cli.parse import Flag, Section
from gemmlab.cli.quantities import seconds, size
from gemmlab.problem.columns import number
from gemmlab.record import GemmlabError


def listed(text: str) -> tuple[str, ...]:
    """Names with commas between; raises GemmlabError where there is none between two."""
    found = tuple(name.strip() for name in text.split(","))
    if not all(found):
        raise GemmlabError(f"`{text}` lacks a name", "names with commas between")
    return found


KERNELS = Section(
    "What is run",
    (
        Flag(
            "backend",
            "cpu, cuda, triton, torch, webgpu, or several; default those of the GPU where there is one, else cpu.",
            "NAME,...",
            listed,
        ),
        Flag(
            "kernel",
            "Kernels by name, as naive,numpy or cpu:naive, or one's own as FILE.py:FUNC; default all that take the "
            "formats.",
            "NAME,...",
            listed,
        ),
        Flag("threads", "Threads of the CPU; default one for each core.", "N", size),
        Flag("device", "Which GPU; default 0.", "N", number),
    ),
)

TIMING = Section(
    "How it is timed",
    (
        Flag("rounds", "Samples of each kernel, taken in turn; default 9.", "N", size),
        Flag("sustained", "Also work without a pause as long as that, and time the steady end.", "TIME", seconds),
        Flag("timeout", "A kernel that needs longer for one step never ends; default 60s.", "TIME", seconds),
        Flag("seed", "Where the random operands start; default 0.", "N", number),
    ),
)

OUTPUT = Section(
    "The report; without any of these, text",
    (JSON, Flag("plot", "Write a picture of the speeds as SVG.", "FILE.svg"), WIDTH),
)

RUN = (KERNELS, PROBLEM, TIMING, OUTPUT)
