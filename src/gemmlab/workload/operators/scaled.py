"""Products of narrow formats with scale factors, of weights packed by integers, and of groups."""

from __future__ import annotations

from math import prod

import msgspec

from gemmlab.problem import BlockScale, Gemm
from gemmlab.units import ceil_div
from gemmlab.workload.operation import Tensor
from gemmlab.workload.operators.arguments import Arguments, sized
from gemmlab.workload.operators.matrix import Matrix, addition, matrix, multiply
from gemmlab.workload.operators.product import Product, Products, UnreadableError

NARROW = ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float4_e2m1fn")
PAIRS = "float4_e2m1fn_x2"  # torch's: two elements in each byte along k
#: elements of k under one scale where the scales' format says it: hardware orders them in memory its own way
BLOCKS = {"float8_e8m0fnu": 32, "float8_e4m3fn": 16}
#: torch's ScalingType by number: rows of A, or columns of B, and elements of k under one scale; 0 is all of k
RECIPES = {1: (1, 0), 2: (1, 16), 3: (1, 32), 4: (1, 128), 5: (128, 128)}


def scaled(given: Arguments) -> Products:
    """_scaled_mm of both versions: two matrices of narrow formats, each with its scales."""
    left, right = paired(given.tensor("self", "a"), 1), paired(given.tensor("mat2", "b"), 0)
    for name, tensor in (("self", left), ("mat2", right)):
        if len(tensor.shape) != 2:
            raise UnreadableError(f"`{name}` has shape {list(tensor.shape)}, not 2 dimensions")
    a, b = matrix(left, (0,), (1,)), matrix(right, (0,), (1,))
    added = addition(given.maybe("bias"), (a.rows, b.columns))
    found = multiply(given, a, b, added=added, rule=left.format)
    return with_scales(given, found, a, b)


def paired(tensor: Tensor, axis: int) -> Tensor:
    """A tensor of pairs of 4-bit elements as one of single elements along k."""
    if tensor.format != PAIRS or len(tensor.shape) < 2:
        return tensor
    axis += len(tensor.shape) - 2
    shape = tuple(size * (2 if index == axis else 1) for index, size in enumerate(tensor.shape))
    strides = tensor.strides
    if strides is not None:
        strides = tuple(stride if index == axis else 2 * stride for index, stride in enumerate(strides))
    return msgspec.structs.replace(tensor, shape=shape, strides=strides, format="float4_e2m1fn")


def with_scales(given: Arguments, found: Products, a: Matrix, b: Matrix) -> Products:
    """The products with the blocks that share a scale; one scale for a whole matrix is none."""
    k = a.columns
    one, two = block(given, "a", a.rows, k), block(given, "b", b.columns, k)
    if one is None and two is None:
        return found
    (block_m, k_a, name), (block_n, k_b, _) = one or (a.rows, k, ""), two or (b.columns, k, "")
    scale = BlockScale(name or "float32", min(k_a, k_b) or 1, block_m or 1, block_n or 1)
    return tuple(
        msgspec.structs.replace(each, problem=msgspec.structs.replace(each.problem, scale=scale)) for each in found
    )


def block(given: Arguments, side: str, lines: int, k: int) -> tuple[int, int, str] | None:
    """Rows of A, or columns of B, and elements of k that share a scale, and its format; None where all share one."""
    scale = given.value(f"scale_{side}")
    if isinstance(scale, list | tuple):
        scale = scale[0] if scale else None
    if not isinstance(scale, Tensor):
        return None
    scale = sized(scale, f"scale_{side}")
    recipe = given.wholes(f"recipe_{side}")
    if recipe:
        rows, along = RECIPES.get(recipe[0], (0, 0))
        return (rows, along or k, scale.format) if rows else None
    if scale.format in BLOCKS:
        return 1, BLOCKS[scale.format], scale.format
    if prod(scale.shape) <= 1:
        return None
    if len(scale.shape) != 2:
        return 1, k, scale.format
    down, across = scale.shape if side == "a" else scale.shape[::-1]
    return ceil_div(lines, down), ceil_div(k, across), scale.format


def packed(given: Arguments, weight_format: str, tile: int = 0) -> Products:
    """A matrix times a weight of integers, stored (n, k); `tile` is the columns in a row of one packed for hardware."""
    left, right = given.tensor("self"), given.tensor("mat2")
    if len(left.shape) != 2 or len(right.shape) < 2:
        raise UnreadableError(f"operands of shapes {list(left.shape)} and {list(right.shape)}")
    stored = Tensor((right.shape[0] * (tile or 1), left.shape[1]), weight_format, offset_bytes=right.offset_bytes)
    if not tile and right.shape[1] != left.shape[1] // (2 if weight_format == "int4" else 1):
        raise UnreadableError(f"a weight of shape {list(right.shape)} does not meet {list(left.shape)}")
    return multiply(given, matrix(left, (0,), (1,)), matrix(stored, (0,), (1,)).transposed)


def grouped(given: Arguments) -> Products:
    """_grouped_mm and its scaled kin: as many products as groups, whose sizes are the values of `offs`.

    Raises UnreadableError, with what all groups are together, where these values are not told.
    """
    left, right = paired(given.tensor("self"), 1), paired(given.tensor("mat2"), 0)
    dims = (len(left.shape), len(right.shape))
    if not set(dims) <= {2, 3}:
        raise UnreadableError(f"operands of shapes {list(left.shape)} and {list(right.shape)}")
    a = matrix(left, (dims[0] - 2,), (dims[0] - 1,), range(dims[0] - 2))
    b = matrix(right, (dims[1] - 2,), (dims[1] - 1,), range(dims[1] - 2))
    if dims == (3, 3):
        if a.batch != b.batch:
            raise UnreadableError(f"`self` has {a.batch} matrices, `mat2` {b.batch}")
        return with_scales(given, multiply(given, a, b, rule=rule_of(left)), a, b)
    if a.columns != b.rows:
        raise UnreadableError(f"A is {a.rows}x{a.columns} and B {b.rows}x{b.columns}: their inner sides differ")
    ends = given.value("offs")
    side, name = {(2, 3): (a.rows, "rows"), (3, 2): (b.columns, "columns"), (2, 2): (a.columns, "elements of k")}[dims]
    if not isinstance(ends, list | tuple) or not ends or not all(type(end) is int for end in ends):
        groups = b.batch if dims[1] == 3 else a.batch if dims[0] == 3 else prod(getattr(ends, "shape", None) or (0,))
        raise UnreadableError(
            f"the sizes of its groups are the values of `offs`: {groups or 'some'} groups share {side} {name}, "
            f"together at most {a.rows}x{b.columns}x{a.columns}, {2 * a.rows * b.columns * a.columns} FLOP"
        )
    sizes = [end - start for start, end in zip((0, *ends), ends, strict=False)]
    if any(size < 0 for size in sizes) or sum(sizes) > side:
        raise UnreadableError(f"`offs` is {list(ends)!r:.80}: ends of groups grow, up to {side}")
    sides, cut = (a.rows, b.columns, a.columns), {(2, 3): 0, (3, 2): 1, (2, 2): 2}[dims]
    members = [(*sides[:cut], size, *sides[cut + 1 :]) for size in sizes]
    members = [member for member in members if all(member)]
    if not members:
        return ()
    result = given.result_format(rule_of(left))
    whole = Gemm.grouped(members, layout=a.letter + b.letter)
    strided = {
        name: side.leading
        for name, side in (("lda", a), ("ldb", b))
        if side.leading >= getattr(whole, name)  # members lie one after another, with the gaps that the tensor has
    }
    problem = Gemm.grouped(
        members, left.format, b_format=right.format, d_format=result, layout=a.letter + b.letter,
        a_offset_bytes=a.offset_bytes, b_offset_bytes=b.offset_bytes, **strided,
    )  # fmt: skip
    return with_scales(given, (Product(problem, (left, right)),), a, b)


def rule_of(tensor: Tensor) -> str:
    """The result's format where none is asked for: bfloat16 for the narrow ones, else the operands' own."""
    return "bfloat16" if tensor.format in NARROW else tensor.format
