"""The flags of `emulate`, by what they are about."""

from __future__ import annotations

from gemmlab.cli.options import JSON, WIDTH
from gemmlab.cli.parse import Flag, Section
from gemmlab.cli.quantities import sides, size
from gemmlab.problem.columns import number, real

LAUNCH = Section(
    "The launch",
    (
        Flag(
            "block",
            "Threads of a block along x, y, z: 16x16, or 256; with --shape default 16x16. Threads along x run along n.",
            "XxYxZ",
            sides,
        ),
        Flag("grid", "Blocks along x, y, z; with --shape, as many as cover n (x) and m (y).", "XxYxZ", sides),
        Flag("dynamic_shared", "Bytes of dynamic shared memory.", "BYTES", number),
        Flag("chip", "The chip whose limits of threads and shared memory hold; default CUDA's own.", "NAME|FILE.toml"),
    ),
)

GEMM = Section(
    "A multiplication: the kernel's first array is A, its second B, the one it writes C",
    (
        Flag(
            "shape",
            "C is (M, N), A (M, K), B (K, N), and parameters m, n, k are these. The result is checked.",
            "M N K",
            size,
            words=3,
        ),
        Flag("format", "Number format of A, from which the others follow: float32 (default), float16, ...", "NAME"),
        Flag("a_format", "Format of A alone.", "NAME"),
        Flag("b_format", "Format of B; default A's.", "NAME"),
        Flag("c_format", "Format of C; default A's, int32 for integers.", "NAME"),
        Flag("layout", "nn (default), nt, tn or tt: A's letter, then B's; t is stored transposed.", "LAYOUT"),
        Flag("lda", "Elements between two stored rows of A; default no gap.", "N", number),
        Flag("ldb", "The same of B.", "N", number),
        Flag("ldc", "The same of C.", "N", number),
        Flag("alpha", "Factor of A times B, for a kernel with a parameter `alpha`; default 1.", "X", real),
        Flag("beta", "Factor of C, for a kernel with a parameter `beta`; default 0.", "X", real),
    ),
)

ARGUMENTS = Section(
    "Any kernel",
    (
        Flag(
            "arg",
            "One argument, in the kernel's order or as NAME=VALUE; again for each. A number: 1024, 0.5, true, "
            "float32:0.5. An array: float32[64,64], int32[1024]:iota; sizes may be products of m, n, k where there is "
            "a --shape. After the colon what it holds: normal (default of floats), integers (default of the rest), "
            "iota, zeros, ones, nan. Or an array from a file: x.npy.",
            "[NAME=]VALUE",
            many=True,
        ),
        Flag("outputs", "Arrays of which every element must be written; with --shape, C.", "NAME,NAME"),
        Flag("seed", "Where random values start; default 0.", "N", number),
    ),
)

RUNNING = Section(
    "The run",
    (
        Flag(
            "schedule",
            "Also run the threads in that order: serial, reverse, alternating, delayed-writer, exhaustive, "
            "random:seed=1,preemptions=3, witness:FILE.json; `worst` searches for the one that does most harm.",
            "NAME",
        ),
        Flag("witness", "Write the worst order that was found, to be run again by --schedule witness:FILE.", "FILE"),
        Flag("no_values", "Count accesses alone; needs no memory for arrays and no time for huge grids."),
        Flag("fill", "What shared and local memory hold at first: zero (default) or nan.", "NAME"),
        Flag(
            "step_limit",
            "Rounds of all loops in one block before a kernel counts as endless (reference: steps).",
            "N",
            size,
        ),
        Flag("engine", "compiled (default), or reference: the plain interpreter that it is compared with.", "NAME"),
        Flag(
            "merge",
            "Count shared loads of neighbours in a row as loads of up to 8 or 16 bytes, as a compiler merges them.",
            "BYTES",
            number,
        ),
        Flag("threads", "CPU threads; default all.", "N", size),
        Flag("all_shapes", "Try to prove it for all shapes, with z3: pip install 'gemmlab[proof]'."),
        Flag("no_proof", "Leave out what the run proves."),
    ),
)

OUTPUT = Section(
    "The report; without any of these, text",
    (
        JSON,
        Flag("html", "Write a page that needs nothing else.", "FILE"),
        Flag("trace", "Write who reads and writes what in the first block, step by step, as JSON.", "FILE.json"),
        WIDTH,
    ),
)

EMULATE = (LAUNCH, GEMM, ARGUMENTS, RUNNING, OUTPUT)

#: flags that the emulator takes as they stand, and its names for them
OPTIONS = {
    "dynamic_shared": "dynamic_shared",
    "schedule": "schedule",
    "fill": "fill",
    "step_limit": "step_limit",
    "threads": "threads",
    "engine": "engine",
    "merge": "merge",
    "all_shapes": "all_shapes",
}
