"""The flags of `explain`, by what they are about; a flag about the multiplication is named as the field of Gemm."""

from __future__ import annotations

from gemmlab.cli.parse import Flag, Section
from gemmlab.cli.quantities import cluster, is_input, is_pair, members, pair, scale, seconds, size, width
from gemmlab.problem.columns import number, real

JSON = Flag("json", "Print one Record a line as JSON, and nothing else.")
WIDTH = Flag("width", "Columns of the text, 40 to 100; default the terminal's.", "N", width)

SETTING = Section(
    "Where",
    (
        Flag(
            "chip",
            "A chip that `gemmlab chips` lists, or one's own file; default h100-sxm, of a trace its own.",
            "NAME|FILE.toml",
        ),
        Flag("measured", "A time that you measured, 208us or 1.3ms, told beside the prediction.", "TIME", seconds),
    ),
)

PROBLEM = Section(
    "The multiplication; columns of a CSV file win",
    (
        Flag(
            "format",
            "Number format of A, from which the others follow: float32 (default), bfloat16, float16, tfloat32, "
            "float8_e4m3fn, int8, ...",
            "NAME",
        ),
        Flag("a_format", "Format of A alone.", "NAME"),
        Flag("b_format", "Format of B; default A's.", "NAME"),
        Flag(
            "c_format",
            "Format of C; default A's, bfloat16 for floats below 16 bits, int32 for integers, float32 for tfloat32.",
            "NAME",
        ),
        Flag("d_format", "Format of the result D; default C's.", "NAME"),
        Flag("accumulate", "Format of the sums; default float32, int32 for integers.", "NAME"),
        Flag(
            "layout",
            "nn (default), nt, tn or tt: A's letter, then B's; t is stored transposed. torch's Linear is nt.",
            "LAYOUT",
        ),
        Flag("lda", "Elements between two stored rows of A; default no gap.", "N", number),
        Flag("ldb", "The same of B.", "N", number),
        Flag("ldc", "The same of C and D.", "N", number),
        Flag("a_offset_bytes", "How far A's first element lies past an aligned address; default 0.", "BYTES", number),
        Flag("b_offset_bytes", "The same of B.", "BYTES", number),
        Flag("c_offset_bytes", "The same of C and D.", "BYTES", number),
        Flag(
            "batch",
            "Multiplications of these sides, each with its own A, B and C; with a suite of a model, its sequences.",
            "N",
            number,
        ),
        Flag(
            "groups",
            "A grouped multiplication (mixture of experts) instead of SOURCE: each member, joined by commas.",
            "MxNxK,...",
            members,
        ),
        Flag("alpha", "Factor of A times B; default 1.", "X", real),
        Flag("beta", "Factor of C; default 0, which never reads C.", "X", real),
        Flag("epilogue", "What happens to each output: bias, residual, relu, gelu, silu, joined by +.", "NAME"),
        Flag(
            "scale",
            "Block scales of narrow formats: float8_e8m0fnu/32 (one for 32 of k), or float32/1x128x128 (m, n, k).",
            "FORMAT/K",
            scale,
        ),
        Flag("structure", "What is known of A: general (default), triangular, symmetric, banded, sparse_2_4.", "NAME"),
        Flag("lower_band", "Diagonals below the main one, of a banded A.", "N", number),
        Flag("upper_band", "Diagonals above the main one, of a banded A.", "N", number),
    ),
)

SUITE = Section(
    "A suite of shapes",
    (
        Flag(
            "suite",
            "Explain every shape of a suite: deepgemm, stream-k, tritonbench-llama, vllm, waves, llama-3-8b, ...",
            "NAME",
        ),
        Flag("sequence", "Models: new tokens of each sequence; default the model's usual length.", "N", size),
        Flag(
            "context",
            "Models: tokens that each new one sees; default the sequence itself. --sequence 1 --context 4096 decodes.",
            "N",
            size,
        ),
        Flag("training", "Models: a training step, the gradients too."),
        Flag("model", "vllm: the model whose weights are multiplied; default llama-3-8b.", "NAME"),
        Flag("tokens", "vllm: rows of A; default several from 1 to 4096.", "N", number),
        Flag("tp", "vllm: GPUs that share the weights; default 1.", "N", number),
        Flag("count", "stream-k: how many shapes; default 200.", "N", number),
        Flag("seed", "stream-k: where the sample starts; default 0.", "N", number),
        Flag("multiple", "stream-k: round each side to a multiple of it; default 1.", "N", number),
    ),
)

KERNEL = Section(
    "The kernel; with none of these, the tiling predicted to be fastest",
    (
        Flag(
            "kernel",
            "naive, tiled, register, tensor or warpgroup; default tensor for formats of 16 bits or less and tfloat32, "
            "else register.",
            "NAME",
        ),
        Flag("tile", "What one program computes: 128x256x64, or 128x256 with the kernel's own step of k.", "MxNxK"),
        Flag("stages", "Tiles of A and B in flight in shared memory.", "N", number),
        Flag("warps", "Warps of a program.", "N", number),
        Flag("registers", "Registers of a thread; default an estimate.", "N", number),
        Flag("shared_bytes", "Shared memory of a program; default what stages and tiles need.", "BYTES", number),
        Flag("split_k", "Programs that share one tile of the result, each a part of k.", "N", number),
        Flag("raster", "Order of programs: n (row after row of tiles, the default) or m (column by column).", "m|n"),
        Flag("group_m", "Rows of tiles that are walked together, as Triton's GROUP_M.", "N", number),
        Flag("cluster", "Programs of a cluster along m and n, which share their tiles: 2x1.", "MxN", cluster),
        Flag("persistent", "One wave of programs walks all tiles."),
    ),
)

WORKLOAD = Section(
    "A whole network: a trace, a model, a topology",
    (
        Flag(
            "inputs",
            "Models: what forward takes, a tensor each, by place or name: 8x3x224x224, or x=8x1024:int64 "
            "mask=8x1024:bool=1. Else the file's own `inputs`.",
            "SHAPE:FORMAT ...",
            many=True,
            more=is_input,
        ),
        Flag("inference", "Models: forward alone, without gradients; else a training step."),
        Flag("autocast", "Models: what torch.autocast computes in, bfloat16 or float16.", "FORMAT"),
        Flag("matmul_precision", "Models: what float32 may be multiplied in: highest, high or medium.", "NAME"),
        Flag("channels_last", "Models: images and filters with their channels running fastest."),
        Flag("compile", "Models: as torch.compile runs it, elementwise operators fused."),
        Flag("optimizer", "Models: a step of this optimiser, too: adamw, adam, momentum, sgd.", "NAME"),
        Flag("dtype", "Models: what the weights are turned into.", "FORMAT"),
        Flag(
            "arguments",
            "Models: arguments of NAME, or of a transformers configuration.",
            "NAME=VALUE ...",
            pair,
            many=True,
            more=is_pair,
        ),
        Flag("config", "Models of transformers: their configuration.", "FILE.json"),
        Flag("float8", "Models, traces: advise formats of 8 bits, too, which change digits much."),
        Flag("step", "Traces: the step that is told, by its number; default all.", "N", number),
        Flag("top", "How many multiplications are told one by one; default 10, on a page 100.", "N", size),
        Flag(
            "summary",
            "Write what is of the whole network, times of a step, gains and changes, as one JSON object; - is standard "
            "output.",
            "FILE",
        ),
        Flag("diff", "Two traces, models or lists in place of SOURCE, and what changed between them.", "A B", words=2),
    ),
)

OUTPUT = Section(
    "The report; without any of these, text",
    (
        JSON,
        Flag("csv", "Write one line a multiplication; - is standard output.", "FILE"),
        Flag("plot", "Write the pictures of one multiplication, or a network's treemap, as SVG.", "FILE.svg"),
        Flag("html", "Write a page that needs nothing else.", "FILE"),
        WIDTH,
        Flag("no_advice", "One multiplication, or a list of them: leave out what to change."),
    ),
)

EXPLAIN = (SETTING, PROBLEM, SUITE, KERNEL, WORKLOAD, OUTPUT)
