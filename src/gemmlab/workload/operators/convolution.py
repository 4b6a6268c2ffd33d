"""Convolutions as products of matrices: forward, transposed, and the gradients of input and filters.

The work is that of the outputs of the convolution, products with padding included and products with the zeros of a
stride left out, in all three passes: (N*P*Q, K, C*R*S), (N*P*Q, C, K*R*S) and (C*R*S, K, N*P*Q). A stride splits the
gradient of the input into phases of N*P*Q rows, whose depths are K*R*S together. A transposed convolution is the
gradient of the input of the convolution that it transposes.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

from gemmlab.problem import Convolution
from gemmlab.problem.convolution import LAYOUTS
from gemmlab.record import GemmlabError
from gemmlab.workload.operation import Tensor
from gemmlab.workload.operators.arguments import Arguments
from gemmlab.workload.operators.matrix import Added, Matrix, contiguous, multiply
from gemmlab.workload.operators.product import Products, UnreadableError


class Sizes(NamedTuple):
    """A convolution as its three passes see it."""

    batch: int
    channels: int  #: C
    filters: int  #: K
    groups: int
    taps: tuple[int, ...]  #: R, S
    outputs: tuple[int, ...]  #: P, Q
    order: str
    problem: Convolution | None

    def sides(self, step: str) -> tuple[int, int, int]:
        """The m, n, k of a pass."""
        windows, taps = self.batch * prod(self.outputs), prod(self.taps)
        channels, filters = self.channels // self.groups, self.filters // self.groups
        return {
            "forward": (windows, filters, channels * taps),
            "dgrad": (windows, channels, filters * taps),
            "wgrad": (channels * taps, filters, windows),
        }[step]


class Window(NamedTuple):
    """How the window slides along each axis; None for what is not told."""

    stride: tuple[int, ...] | None
    padding: tuple[int, ...] | str | None
    dilation: tuple[int, ...] | None

    def padded(self, size: tuple[int, ...], taps: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
        """Sizes and padding: `same` with an even window pads by one at one end first, as PyTorch does."""
        if self.padding is None or self.dilation is None:
            return None
        if not isinstance(self.padding, str):
            return size, self.padding
        around = [wide * (tap - 1) for wide, tap in zip(self.dilation, taps, strict=True)]
        if self.padding != "same":
            return size, (0,) * len(taps)
        return tuple(each + more % 2 for each, more in zip(size, around, strict=True)), tuple(x // 2 for x in around)


def convolution(given: Arguments, transposed: bool = False) -> Products:
    """A convolution, or a transposed one, of an input with a weight."""
    weight = given.tensor("weight", "W")
    image = batched(given.tensor("input", "self", "X"), weight)
    transposed = transposed or turned(given)
    result: tuple[int, ...] = given.outputs[0].shape if given.outputs else ()
    result = (1,) * (len(weight.shape) - len(result)) + result if len(result) >= len(weight.shape) - 1 else ()
    sizes = sizes_of(given, image, weight, result, transposed)
    bias = given.maybe("bias", "B")
    added = Added(bias, epilogue="bias") if bias is not None else Added()
    return one_pass(given, sizes, "dgrad" if transposed else "forward", image, weight, added)


def turned(given: Arguments) -> bool:
    """Whether an argument says that the convolution is transposed; raises UnreadableError where nobody tells."""
    if "transposed" in given.inputs and not isinstance(given.inputs["transposed"], bool):
        raise UnreadableError("whether the convolution is transposed is not told")
    return given.flag("transposed")


def backward(given: Arguments, transposed: bool = False) -> Products:
    """The gradients of a convolution's input and weight, as the mask asks."""
    gradient, image = given.tensor("grad_output"), given.tensor("input", "self")
    weight, mask = given.tensor("weight"), given.mask("output_mask", 2)
    transposed = transposed or turned(given)
    if not len(gradient.shape) == len(image.shape) == len(weight.shape) or len(weight.shape) not in (3, 4, 5):
        raise UnreadableError(f"a gradient of shape {list(gradient.shape)} and a weight of {list(weight.shape)}")
    sizes = sizes_of(given, image, weight, gradient.shape, transposed)
    found: Products = ()
    if mask[0]:
        found += one_pass(given, sizes, "forward" if transposed else "dgrad", gradient, weight)
    if mask[1]:
        windowed, windows = (gradient, image) if transposed else (image, gradient)
        found += one_pass(given, sizes, "wgrad", windowed, windows, index=1)
    return found


def over_time(given: Arguments) -> Products:
    """conv_tbc: one dimension, with time, batch and channels in this order, and a weight stored (taps, in, out)."""
    image, weight = given.tensor("self"), given.tensor("weight")
    if len(image.shape) != 3 or len(weight.shape) != 3:
        raise UnreadableError(f"operands of shapes {list(image.shape)} and {list(weight.shape)}")
    given.inputs |= {"self": permuted(image, (1, 2, 0)), "weight": permuted(weight, (2, 1, 0))}
    given.inputs["padding"] = given.wholes("pad", default=(0,))
    given.outputs = tuple(permuted(each, (1, 2, 0)) for each in given.outputs if len(each.shape) == 3)
    return convolution(given)


def permuted(tensor: Tensor, axes: Sequence[int]) -> Tensor:
    """The same memory with its axes in another order."""
    strides = contiguous(tensor.shape) if tensor.strides is None else tensor.strides
    shape, steps = tuple(tensor.shape[axis] for axis in axes), tuple(strides[axis] for axis in axes)
    return Tensor(shape, tensor.format, steps, tensor.offset_bytes, tensor.parameter)


def batched(image: Tensor, weight: Tensor) -> Tensor:
    """The input with a batch axis; raises UnreadableError where it does not go with the weight."""
    dims = len(weight.shape)
    if dims in (3, 4, 5) and len(image.shape) == dims - 1:
        strides = None if image.strides is None else (prod(image.shape), *image.strides)
        return Tensor((1, *image.shape), image.format, strides, image.offset_bytes, image.parameter)
    if dims not in (3, 4, 5) or len(image.shape) != dims:
        raise UnreadableError(f"an input of shape {list(image.shape)} and a weight of {list(weight.shape)}")
    return image


def sizes_of(given: Arguments, image: Tensor, weight: Tensor, result: Sequence[int], transposed: bool) -> Sizes:
    """The convolution, or the one that is transposed; `result` is the result's shape where it is told.

    Raises UnreadableError where what is told does not say the sizes.
    """
    taps, spatial = tuple(weight.shape[2:]), tuple(image.shape[2:])
    groups = groups_of(given, image, weight, result, transposed)
    window = window_of(given, len(taps))
    if transposed:
        size = tuple(result[2:]) or unwound(given, spatial, taps, window)
        channels, outputs = weight.shape[1] * groups, spatial
    else:
        size, channels = spatial, image.shape[1]
        outputs = tuple(result[2:]) or slid(size, taps, window)
    last = channels_last(image) or channels_last(weight) or prod((*spatial, *taps)) == 1
    order = "nhwc" if last else "nchw"  # of one pixel both are the same, and no kernel transposes it
    found = Sizes(image.shape[0], channels, weight.shape[0], groups, taps, outputs, order, None)
    name = "tfloat32" if rounded(given) and image.format == "float32" else image.format
    return found._replace(problem=problem_of(found, size, window, name))


def groups_of(given: Arguments, image: Tensor, weight: Tensor, result: Sequence[int], transposed: bool) -> int:
    """Groups, which the shapes say where the arguments do not; raises UnreadableError where they do not agree."""
    told, inside = given.whole("groups"), weight.shape[1]
    whole = (result[1] if result else None) if transposed else image.shape[1]
    if whole is not None:
        groups = whole // inside if inside else 1
    elif told is None and "groups" in given.inputs:
        raise UnreadableError("the groups of the transposed convolution are not told")
    else:
        groups = told or 1
    agree = told in (None, groups) and groups > 0 and weight.shape[0] % groups == 0
    agree &= whole in (None, groups * inside) and (not transposed or weight.shape[0] == image.shape[1])
    if not agree:
        raise UnreadableError(
            f"{image.shape[1]} channels in groups={told or groups} do not go with a weight of {list(weight.shape)}"
        )
    return groups


def window_of(given: Arguments, axes: int) -> Window:
    """The window's stride, padding and dilation along each axis."""
    stride, dilation = (given.wholes(name, default=(1,)) for name in ("stride", "dilation"))
    padding = given.value("padding")
    if not isinstance(padding, str):
        padding = spread(given.wholes("padding", default=(0,)), axes)
    return Window(spread(stride, axes, least=1), padding, spread(dilation, axes, least=1))


def spread(values: tuple[int, ...] | None, axes: int, least: int = 0) -> tuple[int, ...] | None:
    """One value for each axis; None where they are not told, or are none."""
    if values is None or len(values) not in (1, axes) or min(values) < least:
        return None
    return values * axes if len(values) == 1 else values


def slid(size: tuple[int, ...], taps: tuple[int, ...], window: Window) -> tuple[int, ...]:
    """P, Q of a convolution; raises UnreadableError where the window is not told, or fits nowhere."""
    padded = window.padded(size, taps)
    if window.stride is None or window.dilation is None or padded is None:
        raise UnreadableError("neither its stride, padding and dilation nor its result's shape are told")
    outputs = tuple(
        (length + 2 * pad - wide * (tap - 1) - 1) // step + 1
        for length, pad, wide, tap, step in zip(*padded, window.dilation, taps, window.stride, strict=True)
    )
    if min(outputs) < 0:
        raise UnreadableError(f"a window of {list(taps)} does not fit {list(size)}")
    return outputs


def unwound(
    given: Arguments, spatial: tuple[int, ...], taps: tuple[int, ...], window: Window
) -> tuple[int, ...] | None:
    """Sizes of a transposed convolution's result; None where the window is not told."""
    extra = spread(given.wholes("output_padding", default=(0,)), len(taps))
    if window.stride is None or window.dilation is None or extra is None or not isinstance(window.padding, tuple):
        return None
    sizes = zip(spatial, window.stride, window.padding, window.dilation, taps, extra, strict=True)
    return tuple(
        (size - 1) * step - 2 * pad + wide * (tap - 1) + 1 + more for size, step, pad, wide, tap, more in sizes
    )


def problem_of(sizes: Sizes, size: tuple[int, ...] | None, window: Window, name: str) -> Convolution | None:
    """The convolution, one of one dimension with height 1; None where it is not told, or has no such form."""
    padded = None if size is None else window.padded(size, sizes.taps)
    if padded is None or window.stride is None or window.dilation is None:
        return None
    one, none = ((1,), (0,)) if len(sizes.taps) == 1 else ((), ())
    depth, height, width = padded[0] if len(sizes.taps) == 3 else (0, *one, *padded[0])
    try:
        problem = Convolution(
            sizes.batch, sizes.channels, height, width, sizes.filters, (*one, *sizes.taps), (*one, *window.stride),
            (*none, *padded[1]), (*one, *window.dilation), sizes.groups, sizes.order, name, depth,
        )  # fmt: skip
    except GemmlabError:
        return None
    return problem if problem.output == (*one, *sizes.outputs) else None


def channels_last(tensor: Tensor) -> bool:
    """Whether strides say that channels run fastest; a tensor of one channel or one pixel fits either order."""
    if tensor.strides is None or len(tensor.shape) < 3 or tensor.shape[1] == 1 or prod(tensor.shape[2:]) == 1:
        return False
    return tensor.strides[1] == 1


def rounded(given: Arguments) -> bool:
    """Whether float32 is multiplied as tfloat32: the operator's own argument, else the setting of cuDNN."""
    told = given.value("allow_tf32")
    return told if isinstance(told, bool) else given.settings.convolution_tf32


def one_pass(
    given: Arguments, sizes: Sizes, step: str, a: Tensor, b: Tensor, added: Added | None = None, index: int = 0
) -> Products:
    """One pass as a product with a batch entry for each group."""
    m, n, k = sizes.sides(step)
    first, second = tuple(LAYOUTS[sizes.order][step])
    return multiply(
        given, side(a, m, k, sizes.groups, first), side(b, k, n, sizes.groups, second), added=added,
        tf32=rounded(given), index=index, convolution=sizes.problem, convolution_pass=step,
    )  # fmt: skip


def side(tensor: Tensor, rows: int, columns: int, batch: int, letter: str) -> Matrix:
    """A tensor as the matrix that a kernel gathers from it."""
    return Matrix(rows, columns, batch, letter, columns if letter == "n" else rows, tensor.offset_bytes % 256, tensor)
