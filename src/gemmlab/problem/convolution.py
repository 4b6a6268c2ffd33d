"""Convolution as a matrix multiplication: the sizes of its three passes, and the bytes that unfolding it would add."""

from __future__ import annotations

from math import prod

import msgspec

from gemmlab.formats import bits_of, storage_bytes
from gemmlab.problem.checks import side, whole
from gemmlab.problem.gemm import Gemm
from gemmlab.problem.windows import Axis, Reach
from gemmlab.record import GemmlabError, unknown_name

#: layout letters of the multiplication, by the order of the tensors in memory: which index of an operand runs fastest
LAYOUTS = {
    "nhwc": {"forward": "nt", "dgrad": "nn", "wgrad": "tn"},
    "nchw": {"forward": "tt", "dgrad": "tn", "wgrad": "nt"},
}
PASSES = ("forward", "dgrad", "wgrad")


class Convolution(msgspec.Struct, frozen=True):
    """A convolution of N x C x H x W inputs with K filters of C/groups x R x S; with a depth, of N x C x D x H x W.

    A pair may be given as one number for both axes; with a depth it is three numbers, the depth's first. A signal of
    one dimension has height 1. The multiplication takes A (N*P*Q, C*R*S), each row the window of one output, as
    implicit-GEMM kernels gather it and im2col stores it (Chetlur et al., cuDNN, 2014).
    Raises GemmlabError for sizes that leave no output, and channels or filters that groups do not divide.
    """

    batch: int
    channels: int  #: C
    height: int  #: H
    width: int  #: W
    filters: int  #: K
    kernel: tuple[int, ...] = (3,)  #: R, S
    stride: tuple[int, ...] = (1,)
    padding: tuple[int, ...] = (0,)  #: rows and columns of zeros on each side
    dilation: tuple[int, ...] = (1,)
    groups: int = 1  #: channels and filters fall into this many convolutions of their own
    order: str = "nhwc"  #: `nhwc` or `nchw`
    format: str = "float32"
    depth: int = 0  #: D of a three-dimensional convolution; 0 for one of two dimensions

    def __post_init__(self) -> None:
        for name in ("batch", "channels", "height", "width", "filters", "groups"):
            side(name, getattr(self, name))
        if self.depth != 0:
            side("depth", self.depth)
        for name in ("kernel", "stride", "padding", "dilation"):
            values = per_axis(name, getattr(self, name), len(self.size), least=int(name != "padding"))
            msgspec.structs.force_setattr(self, name, values)
        for name in ("channels", "filters"):
            if getattr(self, name) % self.groups:
                raise GemmlabError(f"{name}={getattr(self, name)} do not divide into groups={self.groups}")
        bits_of(self.format)
        if self.order not in LAYOUTS:
            raise unknown_name("order of tensors", str(self.order), LAYOUTS)
        if min(self.output) < 1:
            raise GemmlabError(
                f"a {crossed(self.kernel)} window, dilated {crossed(self.dilation)}, does not "
                f"fit {crossed(self.size)} with padding {crossed(self.padding)}",
                "more padding, or a smaller kernel",
            )

    @property
    def size(self) -> tuple[int, ...]:
        """H, W; D, H, W with a depth."""
        return (self.depth, self.height, self.width) if self.depth else (self.height, self.width)

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The sliding window along depth, where there is one, height and width."""
        sizes = zip(self.size, self.kernel, self.stride, self.padding, self.dilation, strict=True)
        return tuple(Axis(*values) for values in sizes)

    @property
    def output(self) -> tuple[int, ...]:
        """P, Q: rows and columns of the output, after its slices where there is a depth."""
        return tuple(axis.outputs for axis in self.axes)

    def gemm(self, step: str = "forward") -> Gemm:
        """The multiplication of a pass; groups become its batch.

        forward: (N*P*Q, K, C*R*S); dgrad, the input's gradient: (N*H*W, C, K*R*S), which with a stride multiplies
        many zeros; wgrad, the filters' gradient: (C*R*S, K, N*P*Q). (NVIDIA, Convolutional Layers User's Guide.)
        The layout says which index of each operand runs fastest in the tensors; the result is row-major.
        Raises GemmlabError for another pass.
        """
        if step not in PASSES:
            raise unknown_name("pass of a convolution", step, PASSES)
        windows, taps = self.batch * prod(self.output), prod(self.kernel)
        channels, filters = self.channels // self.groups, self.filters // self.groups
        m, n, k = {
            "forward": (windows, filters, channels * taps),
            "dgrad": (self.batch * prod(self.size), channels, filters * taps),
            "wgrad": (channels * taps, filters, windows),
        }[step]
        return Gemm(m, n, k, self.format, layout=LAYOUTS[self.order][step], batch=self.groups)

    @property
    def multiply_adds(self) -> int:
        """Multiply-adds with elements of the input, padding left out; the same in all three passes."""
        pairs = prod(reach.pairs for reach in self.reach)
        return self.batch * pairs * self.channels // self.groups * self.filters

    @property
    def flop(self) -> int:
        """Work that is no product with padding: 2 FLOP a multiply-add."""
        return 2 * self.multiply_adds

    @property
    def reach(self) -> tuple[Reach, ...]:
        """What the windows touch along each axis."""
        return tuple(axis.reach() for axis in self.axes)

    @property
    def im2col_bytes(self) -> int:
        """Bytes of the unfolded input: N*P*Q rows of C*R*S elements."""
        windows = self.batch * prod(self.output)
        return storage_bytes(self.format, windows * self.channels * prod(self.kernel))

    @property
    def input_bytes(self) -> int:
        """Bytes of the whole input."""
        return storage_bytes(self.format, self.batch * self.channels * prod(self.size))

    @property
    def blow_up(self) -> float:
        """How many times larger the unfolded input is than the input: about R*S / stride^2."""
        return self.im2col_bytes / self.input_bytes

    def compulsory_bytes(self, step: str = "forward") -> int:
        """The floor of a pass on the tensors themselves: elements that matter read once, its result written once.

        Input that no window touches, filter taps that only ever meet padding and outputs whose window is all padding
        need not be read; a result is written whole. Raises GemmlabError for another pass.
        """
        written = self.written_bytes(step)
        pixels, weights = self.batch * self.channels, self.filters * self.channels // self.groups
        inputs, outputs, taps = (prod(each) for each in zip(*(reach[1:] for reach in self.reach), strict=True))
        touched = {"input": pixels * inputs, "output": self.batch * self.filters * outputs, "weight": weights * taps}
        read = {"forward": ("input", "weight"), "dgrad": ("output", "weight"), "wgrad": ("input", "output")}[step]
        return written + sum(storage_bytes(self.format, touched[tensor]) for tensor in read)

    def written_bytes(self, step: str = "forward") -> int:
        """Bytes of a pass's result; raises GemmlabError for another pass."""
        if step not in PASSES:
            raise unknown_name("pass of a convolution", step, PASSES)
        elements = {
            "forward": self.batch * self.filters * prod(self.output),
            "dgrad": self.batch * self.channels * prod(self.size),
            "wgrad": self.filters * self.channels // self.groups * prod(self.kernel),
        }[step]
        return storage_bytes(self.format, elements)

    @property
    def unfolded_bytes(self) -> int:
        """The floor of the forward pass through im2col: input read, matrix written, then the multiplication's own."""
        return self.input_bytes + self.im2col_bytes + self.gemm().compulsory_bytes


def per_axis(name: str, given: object, axes: int, least: int) -> tuple[int, ...]:
    """Every axis's value from one number or one for each; raises GemmlabError."""
    values = tuple(given) if isinstance(given, list | tuple) else (given,)
    if len(values) == 1:
        values *= axes
    if len(values) != axes:
        many, order = ("three", "depth, height, then width") if axes == 3 else ("two", "height, then of width")
        raise GemmlabError(f"{name}={given!r} is neither one number nor {many}", f"{name} of {order}")
    sizes = tuple(whole(name, value) for value in values)
    if min(sizes) < least:
        raise GemmlabError(f"{name}={given!r} is too small", f"{name} is at least {least}")
    return sizes


def crossed(sizes: tuple[int, ...]) -> str:
    """`3x3`."""
    return "x".join(str(size) for size in sizes)
