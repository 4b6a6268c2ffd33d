"""The flags of `explain`, by what they are about; a flag about the multiplication is named as the field of Gemm."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated, Any

from cyclopts import Group, Parameter

from gemmlab.cli.quantities import Members, Pair, Real, Scale, Whole

Text = Annotated[str | None, Parameter(metavar="NAME")]
File = Annotated[str | None, Parameter(metavar="FILE", allow_leading_hyphen=True)]  # - is standard output


def flattened(title: str, place: int) -> Parameter:
    """Flags of their own, in a section of the help."""
    return Parameter(name="*", group=Group(title, sort_key=place))


class Flags:
    """Base of all sets of flags."""

    def given(self, *left_out: str) -> dict[str, Any]:
        """The flags that were given, by field."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        return {
            name: value
            for name, value in values.items()
            if value is not None and value is not False and name not in left_out
        }


@flattened("The multiplication", 1)
@dataclass(frozen=True, kw_only=True)
class ProblemFlags(Flags):
    """What SOURCE leaves open; a CSV file's own columns win.

    Attributes
    ----------
    format
        Number format of A, from which the others follow: float32 (default), bfloat16, float16, tfloat32,
        float8_e4m3fn, int8, ...
    a_format
        Format of A alone.
    b_format
        Format of B; default A's.
    c_format
        Format of C; default A's, bfloat16 below 16 bits, int32 for integers, float32 for tfloat32.
    d_format
        Format of the result D; default C's.
    accumulate
        Format of the sums; default float32, int32 for integers.
    layout
        nn (default), nt, tn or tt: A's letter, then B's; t is stored transposed. torch's Linear is nt.
    lda
        Elements between two stored rows of A; default no gap.
    ldb
        The same of B.
    ldc
        The same of C and D.
    a_offset_bytes
        How far A's first element lies past an aligned address, in bytes; default 0.
    b_offset_bytes
        The same of B.
    c_offset_bytes
        The same of C and D.
    batch
        Multiplications of these sides, each with its own A, B and C; with a suite of a model, its sequences.
    groups
        A grouped multiplication (mixture of experts) instead of SOURCE: MxNxK of each member, joined by commas.
    alpha
        Factor of A times B; default 1.
    beta
        Factor of C; default 0, which never reads C.
    epilogue
        What happens to each output: bias, residual, relu, gelu, silu, joined by +.
    scale
        Block scales of narrow formats: float8_e8m0fnu/32 (a scale for 32 of k), or float32/1x128x128 (m, n, k).
    structure
        What is known of A: general (default), triangular, symmetric, banded, sparse_2_4.
    lower_band
        Diagonals below the main one, of a banded A.
    upper_band
        Diagonals above the main one, of a banded A.
    """

    format: Text = None
    a_format: Text = None
    b_format: Text = None
    c_format: Text = None
    d_format: Text = None
    accumulate: Text = None
    layout: Annotated[str | None, Parameter(metavar="LAYOUT")] = None
    lda: Whole = None
    ldb: Whole = None
    ldc: Whole = None
    a_offset_bytes: Whole = None
    b_offset_bytes: Whole = None
    c_offset_bytes: Whole = None
    batch: Whole = None
    groups: Members = None
    alpha: Real = None
    beta: Real = None
    epilogue: Text = None
    scale: Scale = None
    structure: Text = None
    lower_band: Whole = None
    upper_band: Whole = None


@flattened("A suite of shapes", 2)
@dataclass(frozen=True, kw_only=True)
class SuiteFlags(Flags):
    """Named lists of shapes; docs/reference/suites.md tells them all.

    Attributes
    ----------
    suite
        Explain every shape of a suite: deepgemm, stream-k, tritonbench-llama, vllm, waves, llama-3-8b, bert-large, ...
    sequence
        Models: new tokens of each sequence; default the model's usual length.
    context
        Models: tokens that each new one sees; default the sequence itself. --sequence 1 --context 4096 decodes.
    training
        Models: a training step, the gradients too.
    model
        vllm: the model whose weights are multiplied; default llama-3-8b.
    tokens
        vllm: rows of A; default several from 1 to 4096.
    tp
        vllm: GPUs that share the weights; default 1.
    count
        stream-k: how many shapes; default 200.
    seed
        stream-k: where the sample starts; default 0.
    multiple
        stream-k: round each side to a multiple of it; default 1.
    """

    suite: Text = None
    sequence: Whole = None
    context: Whole = None
    training: bool = False
    model: Text = None
    tokens: Whole = None
    tp: Whole = None
    count: Whole = None
    seed: Whole = None
    multiple: Whole = None


@flattened("The kernel", 3)
@dataclass(frozen=True, kw_only=True)
class KernelFlags(Flags):
    """How the multiplication is walked; what is left out follows from the kernel and the formats.

    Attributes
    ----------
    kernel
        naive, tiled, register, tensor or warpgroup; default tensor for formats of 16 bits or less, else register.
    tile
        What one program computes: 128x256x64, or 128x256 with the kernel's own step of k.
    stages
        Tiles of A and B in flight in shared memory.
    warps
        Warps of a program.
    registers
        Registers of a thread; default an estimate.
    shared_bytes
        Shared memory of a program; default what stages and tiles need.
    split_k
        Programs that share one tile of the result, each a part of k.
    raster
        Order of programs: n (row after row of tiles, the default) or m (column after column).
    group_m
        Rows of tiles that are walked together, as Triton's GROUP_M.
    cluster
        Programs of a cluster along m and n, which share their tiles: 2x1.
    persistent
        One wave of programs walks all tiles.
    """

    kernel: Text = None
    tile: Annotated[str | None, Parameter(metavar="MxNxK")] = None
    stages: Whole = None
    warps: Whole = None
    registers: Whole = None
    shared_bytes: Whole = None
    split_k: Whole = None
    raster: Annotated[str | None, Parameter(metavar="m|n")] = None
    group_m: Whole = None
    cluster: Pair = None
    persistent: bool = False


@flattened("The report", 4)
@dataclass(frozen=True, kw_only=True)
class OutputFlags(Flags):
    """Where the answer goes; without any of these, to the terminal as text.

    Attributes
    ----------
    json
        Print one Record a line as JSON, and nothing else.
    csv
        Write one line a multiplication; - is standard output.
    plot
        Write the pictures of one multiplication as SVG.
    html
        Write a self-contained page.
    width
        Columns of the text, 40 to 100; default the terminal's.
    no_advice
        Leave out what to change, which takes most of the time.
    """

    json: bool = False
    csv: File = None
    plot: File = None
    html: File = None
    width: Whole = None
    no_advice: bool = False
