"""The flags of `run`, by what they are about."""

from __future__ import annotations

from gemmlab.cli.options import JSON, PROBLEM, SUITE, WIDTH
from gemmlab.cli.parse import Flag, Section
from gemmlab.cli.quantities import seconds, sides, size
from gemmlab.problem.columns import number
from gemmlab.record import GemmlabError


def listed(text: str) -> tuple[str, ...]:
    """Names with commas between; raises GemmlabError where there is none between two."""
    found = tuple(name.strip() for name in text.split(","))
    if not all(found):
        raise GemmlabError(f"`{text}` lacks a name", "names with commas between")
    return found


def device(text: str) -> int:
    """The number of a GPU or an adapter; raises GemmlabError."""
    found = number(text)
    if found < 0:
        raise GemmlabError(f"{found} is no device", "they are counted from 0")
    return found


def device_list(text: str) -> tuple[int, ...]:
    """Numbers of GPUs with commas between; raises GemmlabError."""
    found = tuple(device(name) for name in listed(text))
    if len(set(found)) < len(found):
        raise GemmlabError(f"`{text}` names a GPU twice", "each once, as 0,1,2,3")
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
            "Kernels by name, as naive,numpy or cpu:naive, or one's own as FILE.py:FUNC or FILE.wgsl:ENTRY; default "
            "all that take the formats.",
            "NAME,...",
            listed,
        ),
        Flag(
            "block",
            "Threads of a block along x, y, z, of one's own kernel in numba.cuda; default 16x16.",
            "XxYxZ",
            sides,
        ),
        Flag("grid", "Blocks of its launch; default as many as cover n (x) and m (y).", "XxYxZ", sides),
        Flag("threads", "Threads of the CPU; default one for each core.", "N", size),
        Flag("device", "Which GPU, or which adapter of webgpu; default 0.", "N", device),
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
    (
        JSON,
        Flag("csv", "Write one line a Record; - is standard output.", "FILE"),
        Flag("plot", "Write a picture of the speeds as SVG.", "FILE.svg"),
        WIDTH,
    ),
)


SHAPES = Section(
    "A suite of shapes",
    (
        Flag("suite", "Every shape of a suite: deepgemm, stream-k, vllm, waves, llama-3-8b, ...", "NAME"),
        *(flag for flag in SUITE.flags if flag.name not in ("suite", "seed")),  # --seed is that of the operands here
    ),
)

KEEPING = Section(
    "Sweeps, which are kept: shapes by kernels by formats (--format float32,bfloat16)",
    (
        Flag("devices", "GPUs that work side by side.", "N,...", device_list),
        Flag("store", "Where it is kept; default gemmlab/runs.sqlite in the user's data folder.", "FILE"),
        Flag("fresh", "Begin again, where the same sweep would go on where it was stopped."),
    ),
)

TOLD = Section(
    "What is kept, told again; nothing is run",
    (
        Flag("runs", "List the runs of the store."),
        Flag("show", "Tell the Records of a run, by its id or its day.", "RUN"),
        Flag(
            "compare",
            "Two runs of one suite on one chip, row by row; each an id, a day (2026-11-30), or a store's file and its "
            "last run.",
            "A B",
            words=2,
        ),
        Flag("any_chip", "Compare runs on different chips too."),
    ),
)
TOLD_AGAIN = ("compare", "show", "runs")

RUN = (KERNELS, PROBLEM, SHAPES, TIMING, KEEPING, TOLD, OUTPUT)
