"""The flags of `numerics`, by part and by what they are about."""

from __future__ import annotations

from gemmlab.cli.options import JSON, WIDTH
from gemmlab.cli.parse import Flag, Section
from gemmlab.cli.quantities import size
from gemmlab.problem.columns import number, real
from gemmlab.record import GemmlabError


def place(text: str) -> tuple[int, int]:
    """Row and column of an output from `3,5`; raises GemmlabError."""
    parts = text.split(",")
    if len(parts) != 2:
        raise GemmlabError(f"`{text}` is no output", "ROW,COLUMN, counted from 0: 3,5")
    row, column = (number(part) for part in parts)
    return row, column


def seed(text: str) -> int:
    """A seed of any of numpy's generators; raises GemmlabError."""
    found = number(text)
    if not 0 <= found < 1 << 32:
        raise GemmlabError(f"{found} is no seed", f"a whole number from 0 to {(1 << 32) - 1}")
    return found


def triple(text: str) -> tuple[int, int, int]:
    """Three sizes from `128x64x64`; raises GemmlabError."""
    parts = text.lower().split("x")
    if len(parts) != 3:
        raise GemmlabError(f"`{text}` is not M x N x K", "for example 128x128x64")
    m, n, k = (size(part) for part in parts)
    return m, n, k


UNIT = Flag("unit", "A unit that `gemmlab numerics units` lists, or one's own file.", "NAME|FILE.toml")
HTML = Flag("html", "Write a page that needs nothing else.", "FILE")

UNITS = (
    Section(
        "Flags",
        (
            Flag("toml", "Print the unit as a file that --unit takes: change what your own unit does otherwise."),
            Flag("json", "Print one Record a line, with the unit's fields under one more key."),
            WIDTH,
        ),
    ),
)

OPERANDS = Section(
    "Operands",
    (
        Flag("c", "Added to the product: beta times it after the sums, beta 1 unless named.", "FILE"),
        Flag(
            "a_format", "What A's numbers are; needed for raw bytes, which is what numpy.save keeps of float8.", "NAME"
        ),
        Flag("b_format", "The same of B; default A's where the unit takes it.", "NAME"),
        Flag("c_format", "The same of C.", "NAME"),
        Flag("a_scales", "Block scales of A, (m, blocks of k), for a unit that takes them.", "FILE"),
        Flag("b_scales", "Block scales of B, (blocks of k, n).", "FILE"),
        Flag("layout", "nn (default), nt, tn or tt: A's letter, then B's; t is stored transposed.", "LAYOUT"),
        Flag("round", "Round the numbers in the files to the unit's formats first; else others are refused."),
        Flag("content", "With M N K: normal (default), uniform in [0, 1), or ones.", "NAME"),
        Flag("seed", "With M N K: where random values start; default 0.", "N", seed),
    ),
)

SCHEDULE = Section(
    "The schedule",
    (
        UNIT,
        Flag(
            "promote", "Add the accumulator to a float32 sum outside the unit every K of k, and clear it.", "K", number
        ),
        Flag("split_k", "Programs that share k.", "N", size),
        Flag("block_k", "A program's share of k is a multiple of this; default one instruction.", "K", number),
        Flag(
            "reduce", "Format that the shares of split-k are stored in: float32 (default), float16, bfloat16.", "NAME"
        ),
        Flag("reduce_sum", "Format of the sum of the shares; default float32.", "NAME"),
        Flag("instruction_k", "Products of one instruction; default the unit's own.", "K", number),
        Flag("tfloat32", "How float32 becomes tfloat32: rz (default, what hardware does), rna or rne.", "NAME"),
        Flag("alpha", "Factor of A times B; default 1.", "X", real),
        Flag("beta", "Factor of C; default 0, or 1 with --c.", "X", real),
        Flag("d_format", "Format of the result D; default the accumulator's.", "NAME"),
        Flag(
            "in_accumulator", "C starts in the accumulator, as in one instruction D = A B + C, and nothing comes after."
        ),
        Flag("threads", "CPU threads; default all.", "N", size),
    ),
)

ASKED = Section(
    "What is asked beyond the error",
    (
        Flag(
            "trace",
            "Explain one output term by term: exponents, shifts, bits lost, sums, roundings.",
            "ROW,COLUMN",
            place,
        ),
        Flag("predict", "Also predict error, bias, and where the accumulator gets stuck, from a formula."),
        Flag("tolerance", "Also predict the longest promotion interval with at most that relative error.", "X", real),
        Flag("out", "Write D.", "FILE.npy"),
    ),
)

GEMM_OUTPUT = Section(
    "The report; without any of these, text",
    (
        JSON,
        Flag("plot", "Draw the trace as SVG: bits as cells, aligned by exponent.", "FILE.svg"),
        HTML,
        WIDTH,
    ),
)

GEMM = (OPERANDS, SCHEDULE, ASKED, GEMM_OUTPUT)

VERIFY = (
    Section(
        "Flags",
        (
            UNIT,
            Flag(
                "output",
                "Compare float32 or float16 outputs alone; default all that the file and the unit have.",
                "NAME",
            ),
            Flag("without_c", "Leave C out, as recordings of instructions that overwrite D do."),
            Flag("a_format", "The format of a; default the first of the unit's that holds every value.", "NAME"),
            Flag("b_format", "The same of b.", "NAME"),
        ),
    ),
    Section(
        "The report; without any of these, text",
        (JSON, Flag("plot", "Draw the first that differs.", "FILE.svg"), HTML, WIDTH),
    ),
)

BACKEND = Flag(
    "backend", "Ask a real one: amx, fma or numpy (this CPU); triton, ptx, torch or scaled_mm (an NVIDIA GPU).", "NAME"
)

REVEAL = (
    Section(
        "What is asked",
        (
            UNIT,
            BACKEND,
            Flag("format", "Number format of A and B; default the unit's first.", "NAME"),
            Flag("a_format", "Format of A alone.", "NAME"),
            Flag("b_format", "Format of B; default A's.", "NAME"),
            Flag("accumulate", "Format of the sums, where the backend has several.", "NAME"),
            Flag("instruction", "triton: wgmma, mma or tcgen05; default the architecture's own.", "NAME"),
            Flag("k", "Length of every dot product; default what each experiment needs.", "K", size),
            Flag("confirm", "Random vectors to compare at the end; default 100,000.", "N", size),
            Flag("seed", "Where random values start; default 0.", "N", seed),
        ),
    ),
    Section(
        "The report; without any of these, text",
        (
            JSON,
            Flag("save", "Write the unit that was found, to be named by --unit.", "FILE.toml"),
            Flag("plot", "Draw the first vector that differs.", "FILE.svg"),
            HTML,
            WIDTH,
        ),
    ),
)

SASS = (
    Section(
        "The kernel; without a FILE.py:KERNEL, gemmlab's own Triton GEMM",
        (
            Flag(
                "format", "Number format of A and B: float16, bfloat16, tfloat32, float8_e4m3fn (default), ...", "NAME"
            ),
            Flag("b_format", "Format of B; default A's.", "NAME"),
            Flag("accumulate", "Format of the sums: float32 (default), float16, int32.", "NAME"),
            Flag("arch", "sm_80, sm_86, sm_89, sm_90 (default), sm_100 or sm_120.", "NAME"),
            Flag("tile", "What one program computes; default 128x64x64.", "MxNxK", triple),
            Flag("unit", "Leave with status 1 unless it is this unit that the kernel runs on.", "NAME"),
            Flag("warps", "Warps of a program; default 4.", "N", size),
            Flag("stages", "Tiles in flight; default 3.", "N", size),
            Flag("imprecise", "Triton's max_num_imprecise_acc: k between promotions; default Triton's.", "K", number),
            Flag(
                "spelling", "chained (default): acc = dot(a, b, acc); added: acc += dot(a, b); summed; masked.", "NAME"
            ),
            Flag(
                "arg",
                "Of one's own kernel: a parameter's type (a=*float16, n=int32) or value (BLOCK=64).",
                "NAME=TYPE",
                many=True,
            ),
        ),
    ),
    Section("The report; without any of these, text", (JSON, WIDTH)),
)

TRUNCATE = (
    Section(
        "What is asked",
        (
            UNIT,
            BACKEND,
            Flag("format", "Number format of A and B; default the unit's first.", "NAME"),
            Flag("a_format", "Format of A alone.", "NAME"),
            Flag("b_format", "Format of B; default A's.", "NAME"),
            Flag("instruction", "triton: wgmma, mma or tcgen05; default the architecture's own.", "NAME"),
            Flag(
                "mode",
                "outside (default): every block of k starts from zero, is cleared and added in float32; or chained.",
                "NAME",
            ),
            Flag(
                "action",
                "mask (default) clears the low bits; round rounds to the others, as the published kernel does.",
                "NAME",
            ),
            Flag("block_k", "k of one block; default 128.", "K", size),
            Flag("shape", "Of the multiplication; default 64 64 512.", "M N K", size, words=3),
            Flag("seed", "Where random values start; default 0.", "N", seed),
        ),
    ),
    Section(
        "The report; without any of these, text",
        (JSON, Flag("plot", "Draw outputs unchanged by bits cleared.", "FILE.svg"), HTML, WIDTH),
    ),
)
