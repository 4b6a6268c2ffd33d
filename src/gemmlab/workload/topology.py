"""SCALE-Sim's topology files: a network as a CSV of its layers, read as that program reads them.

A convolution takes one image without padding, and its outputs are rounded up where the stride does not divide:
ceil((ifmap - filter) / stride) + 1. A layer whose name holds `DP` is depth-wise: each channel by itself. In `M, N, K`
A is (M, K), B is (K, N). (scalesim/topology_utils.py of SCALE-Sim v2 and v3; `N:M` is the sparsity of the filters.)
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from gemmlab.problem import Convolution, Gemm
from gemmlab.problem.columns import number
from gemmlab.record import GemmlabError
from gemmlab.units import ceil_div
from gemmlab.workload.operation import Tensor
from gemmlab.workload.table import together
from gemmlab.workload.workload import Call, Workload

HEAD_BYTES = 4096  # a header is shorter, and a file that is none need not be read whole
SIZES = ("IFMAP height", "IFMAP width", "filter height", "filter width", "channels", "filters", "stride")
GEMM_SIZES = ("M", "N", "K")
DEPTHWISE = "DP"
DENSE = ("", "1:1")


class Layout(NamedTuple):
    """What the columns of a topology are."""

    convolutions: bool
    sizes: int  #: columns of sizes after the name


class Line(NamedTuple):
    """One layer of the file."""

    place: str  #: file and line, for errors
    cells: list[str]


def is_topology(path: str) -> bool:
    """Whether a file begins as SCALE-Sim's topologies do; False for one that cannot be read."""
    try:
        with open(path, encoding="utf-8-sig", errors="replace") as file:
            return layout_of(header_of(file.read(HEAD_BYTES).split("\n"))[1]) is not None
    except OSError:
        return False


def read_topology(path: str, format: str = "float32") -> Workload:
    """The multiplications of a topology, its layers as places; all operands in a format, which such a file has not.

    Raises GemmlabError with file and line for what SCALE-Sim could not run either.
    """
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise GemmlabError(f"cannot read {path}: {error.strerror}", "give the path of a topology") from None
    except UnicodeDecodeError as error:
        raise GemmlabError(f"{path} is not UTF-8 text: {error.reason}", "save it as UTF-8") from None
    lines = text.split("\n")
    number_of_head, head = header_of(lines)
    layout = layout_of(head)
    if layout is None:
        raise GemmlabError(
            f"{path} does not begin as a SCALE-Sim topology", "`Layer name, IFMAP Height, ...` or `Layer, M, N, K,`"
        )
    calls, notes = [], []
    for line in lines_of(path, lines, number_of_head):
        try:
            call, note = (convolution if layout.convolutions else multiplication)(line.cells, layout, format)
        except GemmlabError as error:
            raise GemmlabError(f"{line.place}: {error.text}", error.hint) from None
        calls.append(call)
        notes += note
    if not calls:
        raise GemmlabError(f"{path} has no layers", "one line for each layer after the header")
    return Workload(path, "topology", tuple(map(filtering, together(calls))), notes=tuple(dict.fromkeys(notes)))


def cells_of(line: str) -> list[str]:
    """The cells of a line, without what follows a `#` and without empty ones at its end."""
    cells = [cell.strip() for cell in line.partition("#")[0].strip().split(",")]
    while cells and not cells[-1]:
        cells.pop()
    return cells


def layout_of(header: list[str]) -> Layout | None:
    """What the columns are by their titles; None where it is no topology's header."""
    titles = [re.sub(r"[^a-z]", "", title.lower()) for title in header]
    if not titles or not titles[0].startswith("layer"):
        return None
    if titles[1:4] == ["m", "n", "k"]:
        return Layout(convolutions=False, sizes=3)
    if titles[1:3] == ["ifmapheight", "ifmapwidth"] and len(titles) >= 1 + len(SIZES):
        both = len(titles) > 8 and titles[8].startswith("stride")  # v3 writes `Stride height, Stride width`
        return Layout(convolutions=True, sizes=len(SIZES) + both)
    return None


def header_of(lines: list[str]) -> tuple[int, list[str]]:
    """The number of the first line that has any cells, from 1, and its cells."""
    return next(((index, cells) for index, line in enumerate(lines, 1) if (cells := cells_of(line))), (0, []))


def lines_of(path: str, lines: list[str], head: int) -> Iterator[Line]:
    """Every line after the header that has any cells."""
    for index, line in enumerate(lines[head:], head + 1):
        cells = cells_of(line)
        if cells:
            yield Line(f"{path}, line {index}", cells)


def sizes_of(cells: list[str], names: tuple[str, ...], layout: Layout) -> tuple[list[int], list[str]]:
    """The sizes after the name, and the cells after those; raises GemmlabError for what is missing or no size."""
    given, rest = cells[1 : 1 + layout.sizes], cells[1 + layout.sizes :]
    if len(given) < layout.sizes:
        raise GemmlabError(f"{len(given)} sizes, but {layout.sizes} are needed", f"name, {', '.join(names)}")
    found = []
    for name, cell in zip([*names, *names[-1:]], given, strict=False):
        try:
            size = number(cell)
        except GemmlabError as error:
            raise GemmlabError(f"{name}: {error.text}", error.hint) from None
        if size < 1:
            raise GemmlabError(f"{name}={size} is not a size", "at least 1")
        found.append(size)
    return found, rest


def multiplication(cells: list[str], layout: Layout, format: str) -> tuple[Call, list[str]]:
    """A layer of `M, N, K`, then perhaps a ratio and how many of them there are."""
    (m, n, k), rest = sizes_of(cells, GEMM_SIZES, layout)
    ratio = next((cell for cell in rest if ":" in cell), "")
    counts = [cell for cell in rest if cell and ":" not in cell]
    batch = number(counts[0]) if counts else 1
    problem, notes = sparse(Gemm(m, n, k, format, batch=batch), ratio)
    return Call(problem, places=(cells[0],)), notes


def filtering(call: Call) -> Call:
    """The layer with its inputs (M, K) and its filters (K, N), by its name: N is what it gives, M is the data's."""
    problem = call.problem
    if call.convolution is not None or problem.batch > 1 or problem.structure != "general":
        return call
    name = "*" if len(call.places) > 1 else call.places[0]
    filters = Tensor((problem.k, problem.n), problem.b_format, parameter=f"{name}.weight")
    return msgspec.structs.replace(call, operands=(Tensor((problem.m, problem.k), problem.a_format), filters))


def convolution(cells: list[str], layout: Layout, format: str) -> tuple[Call, list[str]]:
    """A layer of a convolution of one image, then perhaps a ratio."""
    (height, width, r, s, channels, filters, *strides), rest = sizes_of(cells, SIZES, layout)
    notes = []
    for name, size, window in (("height", height, r), ("width", width, s)):
        if window > size:
            raise GemmlabError(f"a filter of {name} {window} does not fit an IFMAP of {size}", "the IFMAP, padded")
    covered = [
        ceil_div(size - window, stride) * stride + window
        for size, window, stride in zip((height, width), (r, s), (strides[0], strides[-1]), strict=True)
    ]
    if covered[0] > height or covered[1] > width:
        notes.append("outputs are rounded up as SCALE-Sim does, with zeros past the image's end")
    groups = channels if DEPTHWISE in cells[0] else 1
    layer = Convolution(
        batch=1, channels=channels, height=covered[0], width=covered[1], filters=filters * groups,
        kernel=(r, s), stride=(strides[0], strides[-1]), groups=groups, format=format,
    )  # fmt: skip
    problem, more = sparse(layer.gemm(), next((cell for cell in rest if ":" in cell), ""))
    same = problem.structure == "general"
    call = Call(problem, places=(cells[0],), convolution=layer if same else None, convolution_pass="forward" * same)
    return call, notes + more


def sparse(problem: Gemm, ratio: str) -> tuple[Gemm, list[str]]:
    """The multiplication with filters of a sparsity `N:M`; what no chip's 2:4 is stays dense, and that is said."""
    if re.sub(r"\s", "", ratio) in DENSE:
        return problem, []
    kept, _, block = (part.strip() for part in ratio.partition(":"))
    if not 0 < number(kept) <= number(block):
        raise GemmlabError(f"sparsity {ratio} is no ratio", "elements kept, then the block: 2:4")
    if (number(kept), number(block)) != (2, 4) or problem.k % 4 or problem.batch > 1:
        return problem, [f"sparsity {ratio} is read as dense: no unit gains from it"]
    turned = msgspec.structs.replace(
        problem, m=problem.n, n=problem.m, layout="nt", structure="sparse_2_4", lda=0, ldb=0, ldc=0
    )
    return turned, ["filters of sparsity 2:4 are A, as matrix units take them: D is transposed"]
