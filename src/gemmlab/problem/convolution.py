"""Convolution as a matrix multiplication: the sizes of its three passes, and the bytes that unfolding it would add."""

from __future__ import annotations

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
    """A two-dimensional convolution of N x C x H x W inputs with K filters of C/groups x R x S.

    A pair may be given as one number for both axes. The multiplication takes A (N*P*Q, C*R*S), each row the window of
    one output, as implicit-GEMM kernels gather it and im2col stores it (Chetlur et al., cuDNN, 2014).
    Raises GemmlabError for sizes that leave no output, and channels or filters that groups do not divide.
    """

    batch: int
    channels: int  #: C
    height: int  #: H
    width: int  #: W
    filters: int  #: K
    kernel: tuple[int, int] = (3, 3)  #: R, S
    stride: tuple[int, int] = (1, 1)
    padding: tuple[int, int] = (0, 0)  #: rows and columns of zeros on each side
    dilation: tuple[int, int] = (1, 1)
    groups: int = 1  #: channels and filters fall into this many convolutions of their own
    order: str = "nhwc"  #: `nhwc` or `nchw`
    format: str = "float32"

    def __post_init__(self) -> None:
        for name in ("batch", "channels", "height", "width", "filters", "groups"):
            side(name, getattr(self, name))
        for name in ("kernel", "stride", "padding", "dilation"):
            msgspec.structs.force_setattr(self, name, pair(name, getattr(self, name), least=int(name != "padding")))
        for name in ("channels", "filters"):
            if getattr(self, name) % self.groups:
                raise GemmlabError(f"{name}={getattr(self, name)} do not divide into groups={self.groups}")
        bits_of(self.format)
        if self.order not in LAYOUTS:
            raise unknown_name("order of tensors", str(self.order), LAYOUTS)
        if min(self.output) < 1:
            raise GemmlabError(
                f"a {self.kernel[0]}x{self.kernel[1]} window, dilated {self.dilation[0]}x{self.dilation[1]}, does not "
                f"fit {self.height}x{self.width} with padding {self.padding[0]}x{self.padding[1]}",
                "more padding, or a smaller kernel",
            )

    @property
    def axes(self) -> tuple[Axis, Axis]:
        """The sliding window along height and along width."""
        sizes = zip((self.height, self.width), self.kernel, self.stride, self.padding, self.dilation, strict=True)
        rows, columns = (Axis(*values) for values in sizes)
        return rows, columns

    @property
    def output(self) -> tuple[int, int]:
        """P, Q: rows and columns of the output."""
        rows, columns = self.axes
        return rows.outputs, columns.outputs

    def gemm(self, step: str = "forward") -> Gemm:
        """The multiplication of a pass; groups become its batch.

        forward: (N*P*Q, K, C*R*S); dgrad, the input's gradient: (N*H*W, C, K*R*S), which with a stride multiplies
        many zeros; wgrad, the filters' gradient: (C*R*S, K, N*P*Q). (NVIDIA, Convolutional Layers User's Guide.)
        The layout says which index of each operand runs fastest in the tensors; the result is row-major.
        Raises GemmlabError for another pass.
        """
        if step not in PASSES:
            raise unknown_name("pass of a convolution", step, PASSES)
        (p, q), (r, s) = self.output, self.kernel
        channels, filters = self.channels // self.groups, self.filters // self.groups
        m, n, k = {
            "forward": (self.batch * p * q, filters, channels * r * s),
            "dgrad": (self.batch * self.height * self.width, channels, filters * r * s),
            "wgrad": (channels * r * s, filters, self.batch * p * q),
        }[step]
        return Gemm(m, n, k, self.format, layout=LAYOUTS[self.order][step], batch=self.groups)

    @property
    def multiply_adds(self) -> int:
        """Multiply-adds with elements of the input, padding left out; the same in all three passes."""
        rows, columns = self.reach
        return self.batch * rows.pairs * columns.pairs * self.channels // self.groups * self.filters

    @property
    def flop(self) -> int:
        """Work that is no product with padding: 2 FLOP a multiply-add."""
        return 2 * self.multiply_adds

    @property
    def reach(self) -> tuple[Reach, Reach]:
        """What the windows touch along height and along width."""
        rows, columns = self.axes
        return rows.reach(), columns.reach()

    @property
    def im2col_bytes(self) -> int:
        """Bytes of the unfolded input: N*P*Q rows of C*R*S elements."""
        p, q = self.output
        return storage_bytes(self.format, self.batch * p * q * self.channels * self.kernel[0] * self.kernel[1])

    @property
    def input_bytes(self) -> int:
        """Bytes of the whole input."""
        return storage_bytes(self.format, self.batch * self.channels * self.height * self.width)

    @property
    def blow_up(self) -> float:
        """How many times larger the unfolded input is than the input: about R*S / stride^2."""
        return self.im2col_bytes / self.input_bytes

    def compulsory_bytes(self, step: str = "forward") -> int:
        """The floor of a pass on the tensors themselves: elements that matter read once, its result written once.

        Input that no window touches, filter taps that only ever meet padding and outputs whose window is all padding
        need not be read; a result is written whole. Raises GemmlabError for another pass.
        """
        if step not in PASSES:
            raise unknown_name("pass of a convolution", step, PASSES)
        rows, columns = self.reach
        p, q = self.output
        pixels, weights = self.batch * self.channels, self.filters * self.channels // self.groups
        images = self.batch * self.filters
        read = {
            "forward": (pixels * rows.inputs * columns.inputs, weights * rows.taps * columns.taps),
            "dgrad": (images * rows.outputs * columns.outputs, weights * rows.taps * columns.taps),
            "wgrad": (pixels * rows.inputs * columns.inputs, images * rows.outputs * columns.outputs),
        }[step]
        written = {
            "forward": images * p * q,
            "dgrad": pixels * self.height * self.width,
            "wgrad": weights * self.kernel[0] * self.kernel[1],
        }[step]
        return sum(storage_bytes(self.format, elements) for elements in (*read, written))

    @property
    def unfolded_bytes(self) -> int:
        """The floor of the forward pass through im2col: input read, matrix written, then the multiplication's own."""
        return self.input_bytes + self.im2col_bytes + self.gemm().compulsory_bytes


def pair(name: str, given: object, least: int) -> tuple[int, int]:
    """Both axes' values from one number or two; raises GemmlabError."""
    values = given if isinstance(given, list | tuple) else (given, given)
    if len(values) != 2:
        raise GemmlabError(f"{name}={given!r} is neither one number nor two", f"{name} of height, then of width")
    first, second = (whole(name, value) for value in values)
    if min(first, second) < least:
        raise GemmlabError(f"{name}={given!r} is too small", f"{name} is at least {least}")
    return first, second
