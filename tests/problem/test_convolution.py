"""Convolution against plain loops, and against numbers that are published."""

import itertools
import math

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gemmlab.problem import Convolution
from gemmlab.problem.convolution import PASSES
from gemmlab.problem.windows import Axis, united
from gemmlab.record import GemmlabError


def walk(c):
    """Every product of the forward pass with an element of the input, and the elements it touches."""
    products, inputs, weights, outputs = 0, set(), set(), set()
    group_channels, group_filters = c.channels // c.groups, c.filters // c.groups
    ends = plain_output(c)
    for at in itertools.product(*map(range, ends), *map(range, c.kernel)):
        window, tap = at[: len(ends)], at[len(ends) :]
        axes = zip(window, tap, c.stride, c.padding, c.dilation, strict=True)
        pixel = tuple(p * stride - padding + r * dilation for p, r, stride, padding, dilation in axes)
        if not all(0 <= x < length for x, length in zip(pixel, lengths(c), strict=True)):
            continue
        for image, filter_, channel in itertools.product(range(c.batch), range(c.filters), range(group_channels)):
            products += 1
            inputs.add((image, filter_ // group_filters * group_channels + channel, pixel))
            weights.add((filter_, channel, tap))
            outputs.add((image, filter_, window))
    return products, inputs, weights, outputs


def lengths(c):
    return (c.depth, c.height, c.width) if c.depth else (c.height, c.width)


def plain_output(c):
    """How many windows fit, by sliding one along each axis."""
    counts = []
    for length, taps, stride, padding, dilation in zip(
        lengths(c), c.kernel, c.stride, c.padding, c.dilation, strict=True
    ):
        reach = (taps - 1) * dilation + 1
        counts.append(sum(1 for start in range(0, length + 2 * padding - reach + 1, stride)))
    return tuple(counts)


@st.composite
def convolutions(draw):
    small, groups = st.integers(1, 3), draw(st.integers(1, 2))
    depth = draw(st.sampled_from([0, 0, 1, 4]))
    axes, most = 3 if depth else 2, 4 if depth else 7
    try:
        return Convolution(
            draw(small), groups * draw(st.integers(1, 2)), draw(st.integers(1, most)), draw(st.integers(1, most)),
            groups * draw(st.integers(1, 2)), kernel=tuple(draw(small) for _ in range(axes)),
            stride=tuple(draw(small) for _ in range(axes)), padding=tuple(draw(st.integers(0, 2)) for _ in range(axes)),
            dilation=tuple(draw(small) for _ in range(axes)), groups=groups,
            order=draw(st.sampled_from(["nhwc", "nchw"])), format="float16", depth=depth,
        )  # fmt: skip
    except GemmlabError as error:
        assume("does not fit" not in error.text)
        raise


@settings(max_examples=400, deadline=None)
@given(convolutions())
def test_equals_the_loops(c):
    products, inputs, weights, outputs = walk(c)
    assert c.output == plain_output(c)
    assert c.multiply_adds == products
    written = c.batch * c.filters * math.prod(c.output)
    everything = c.batch * c.channels * math.prod(lengths(c))
    all_weights = c.filters * c.channels // c.groups * math.prod(c.kernel)
    assert c.compulsory_bytes("forward") == 2 * (len(inputs) + len(weights) + written)
    assert c.compulsory_bytes("dgrad") == 2 * (len(outputs) + len(weights) + everything)
    assert c.compulsory_bytes("wgrad") == 2 * (len(inputs) + len(outputs) + all_weights)
    assert [c.written_bytes(step) for step in PASSES] == [2 * written, 2 * everything, 2 * all_weights]


@settings(deadline=None)
@given(convolutions())
def test_the_multiplication_has_a_row_for_each_window(c):
    windows = set(itertools.product(range(c.batch), *map(range, plain_output(c))))
    taps = set(itertools.product(range(c.channels // c.groups), *map(range, c.kernel)))
    forward, dgrad, wgrad = (c.gemm(step) for step in PASSES)
    assert (forward.m, forward.n, forward.k) == (len(windows), c.filters // c.groups, len(taps))
    assert (wgrad.m, wgrad.n, wgrad.k) == (len(taps), c.filters // c.groups, len(windows))
    assert (dgrad.m, dgrad.n) == (c.batch * math.prod(lengths(c)), c.channels // c.groups)
    assert dgrad.k == c.filters // c.groups * math.prod(c.kernel)
    assert forward.batch == dgrad.batch == wgrad.batch == c.groups
    assert c.im2col_bytes == 2 * len(windows) * len(taps) * c.groups == forward.a_bytes
    assert c.blow_up == c.im2col_bytes / c.input_bytes
    assert forward.flop == wgrad.flop >= c.flop
    assert c.unfolded_bytes == c.input_bytes + c.im2col_bytes + forward.compulsory_bytes


def test_nothing_is_multiplied_with_padding_where_there_is_none():
    c = Convolution(2, 8, 14, 14, 16, kernel=3)
    assert c.flop == c.gemm().flop


@given(st.lists(st.tuples(st.integers(-9, 9), st.integers(0, 9)), max_size=6))
def test_united_runs(runs):
    runs = [(first, first + length) for first, length in runs]
    assert united(runs) == len({x for first, last in runs for x in range(first, last + 1)})


def test_an_axis_of_any_length_is_quick():
    reach = Axis(size=1 << 40, kernel=3, stride=1, padding=1, dilation=1).reach()
    assert reach == (3 * (1 << 40) - 2, 1 << 40, 1 << 40, 3)


def test_a_strided_1x1_reads_a_quarter():
    c = Convolution(1, 64, 56, 56, 128, kernel=1, stride=2, format="float16")
    assert c.compulsory_bytes() == 2 * (64 * 28 * 28 + 64 * 128 + 128 * 28 * 28)


def test_the_first_layer_of_resnet50():
    # He et al. 2015, table 1: 7x7, 64 filters, stride 2 on 224x224: 118 million multiply-adds, padding included
    c = Convolution(1, 3, 224, 224, 64, kernel=7, stride=2, padding=3)
    assert c.output == (112, 112)
    assert c.gemm().multiply_adds == 118_013_952
    assert c.blow_up == pytest.approx(49 / 4)


def test_3x3_unfolds_nine_times():
    assert Convolution(32, 64, 56, 56, 64, padding=1).blow_up == 9


def test_layouts_say_what_runs_fastest():
    nhwc = Convolution(1, 4, 8, 8, 4)
    nchw = Convolution(1, 4, 8, 8, 4, order="nchw")
    steps = ("forward", "dgrad", "wgrad")
    assert [nhwc.gemm(step).layout for step in steps] == ["nt", "nn", "tn"]
    assert [nchw.gemm(step).layout for step in steps] == ["tt", "tn", "nt"]


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"kernel": 9}, "does not fit 8x8"),
        ({"kernel": 3, "dilation": 4}, "does not fit 8x8"),
        ({"groups": 3}, "channels=4 do not divide into groups=3"),
        ({"groups": 4, "filters": 6}, "filters=6 do not divide"),
        ({"stride": 0}, "stride=0 is too small"),
        ({"padding": -1}, "padding=-1 is too small"),
        ({"kernel": (1, 2, 3)}, "neither one number nor two"),
        ({"depth": 4, "kernel": (1, 2)}, "neither one number nor three"),
        ({"depth": 2}, "a 3x3x3 window, dilated 1x1x1, does not fit 2x8x8"),
        ({"depth": -1}, "depth=-1 is not a positive size"),
        ({"kernel": 1.5}, "kernel=1.5 is not a whole number"),
        ({"batch": 0}, "batch=0 is not a positive size"),
        ({"height": 1 << 62}, "past the largest side"),
        ({"order": "nhcw"}, "unknown order of tensors `nhcw`"),
        ({"format": "float61"}, "unknown format `float61`"),
    ],
)
def test_what_is_no_convolution(fields, text):
    with pytest.raises(GemmlabError) as error:
        Convolution(**{"batch": 1, "channels": 4, "height": 8, "width": 8, "filters": 4, **fields})
    assert text in error.value.text


def test_an_unknown_pass():
    c = Convolution(1, 4, 8, 8, 4)
    for call in (c.gemm, c.compulsory_bytes):
        with pytest.raises(GemmlabError, match="nearest: dgrad"):
            call("dgrads")
