"""Convolutions and fused attention move their own tensors, and take the times that an H200 was read with."""

import json
import statistics
from pathlib import Path

import pytest

from gemmlab import Gemm
from gemmlab.chips import load
from gemmlab.experiment.workload.attending import CAUSAL, makes_scores
from gemmlab.experiment.workload.convolving import conv_in
from gemmlab.experiment.workload.forecast import Forecaster
from gemmlab.experiment.workload.rest import share_of
from gemmlab.problem import Convolution
from gemmlab.problem.convolution import LAYOUTS
from gemmlab.workload import Call, Tensor

READ = Path(__file__).parents[3] / "benchmarks/results/networks_parts.json"
H200 = Forecaster(load("h200-sxm"))
CONV = Convolution(32, 64, 56, 56, 128, 3, 1, 1, format="bfloat16")


def readings(kind):
    return [row for row in json.loads(READ.read_text())["rows"] if row["kind"] == kind]


def convolution_call(conv, step="forward", format=None):
    windows, taps = conv.batch * conv.output[0] * conv.output[1], conv.kernel[0] * conv.kernel[1]
    channels, filters = conv.channels // conv.groups, conv.filters // conv.groups
    sides = {
        "forward": (windows, filters, channels * taps),
        "dgrad": (windows, channels, filters * taps),
        "wgrad": (channels * taps, filters, windows),
    }[step]
    problem = Gemm(*sides, format or conv.format, layout=LAYOUTS[conv.order][step], batch=conv.groups)
    return Call(problem, "aten::convolution", convolution=conv, convolution_pass=step)


@pytest.mark.parametrize("step", ["forward", "dgrad", "wgrad"])
def test_a_convolution_moves_its_own_tensors_not_its_windows(step):
    call = convolution_call(CONV, step)
    record = H200.forecast(call).record
    assert record.count.compulsory_bytes == CONV.compulsory_bytes(step)
    assert record.prediction.dram_bytes == CONV.compulsory_bytes(step)
    if step == "forward":
        assert record.prediction.dram_bytes < 0.3 * call.problem.compulsory_bytes


def test_the_causes_of_a_convolutions_time_add_up():
    for call in (convolution_call(CONV), convolution_call(conv_in(CONV, "nchw")), depthwise("nhwc"), depthwise("nchw")):
        forecast = H200.forecast(call)
        terms = forecast.record.prediction.terms
        assert sum(term.time_s for term in terms) == pytest.approx(forecast.time_s)
        assert forecast.time_s >= forecast.limit_s


def test_channels_first_costs_transposes_where_matrix_units_compute():
    last, first = H200.forecast(convolution_call(CONV)), H200.forecast(convolution_call(conv_in(CONV, "nchw")))
    assert first.time_s > 1.5 * last.time_s
    assert first.limit_s == last.limit_s
    pointwise = Convolution(32, 64, 56, 56, 128, 1, format="bfloat16")
    both = [H200.price(convolution_call(conv_in(pointwise, order))) for order in ("nhwc", "nchw")]
    assert both[0] == both[1]  # 56 * 56 pixels are whole 16 bytes: a batch of plain multiplications
    ordinary = [H200.price(convolution_call(conv_in(CONV, order), format="float32")) for order in ("nhwc", "nchw")]
    assert ordinary[0] == ordinary[1]


def depthwise(order):
    return convolution_call(Convolution(32, 96, 56, 56, 96, 3, 1, 1, 1, 96, order, "bfloat16"))


def test_a_depthwise_convolution_is_bound_by_memory_and_hardly_known():
    forecast = H200.forecast(depthwise("nhwc"))
    assert forecast.record.prediction.bound == "dram"
    assert forecast.confidence == "low"
    assert forecast.record.kernel.name == "naive"


@pytest.mark.parametrize(
    ("order", "format"),
    [
        ("channels_last", "bfloat16"),
        ("channels_last", "tfloat32"),
        ("channels_first", "bfloat16"),
        ("channels_first", "tfloat32"),
        ("channels_first", "float32"),  # float32 has kernels for this order alone
    ],
)
@pytest.mark.parametrize("step", ["forward", "dgrad", "wgrad"])
def test_convolutions_take_what_an_h200_took(order, format, step):
    """The readings that the few constants were chosen from: the median is near, and most are."""
    rows = [
        row
        for row in readings("convolution")
        if (row["memory"], row["format"], row["what"]) == (order, format, step) and row["groups"] == 1
    ]
    assert rows
    ratios = []
    for row in rows:
        window, side = row["window"], row["side"]
        layout = "nhwc" if order == "channels_last" else "nchw"
        sizes = (row["images"], row["in"], side, side, row["out"], window, row["stride"], window // 2, 1, 1)
        call = convolution_call(Convolution(*sizes, layout, format), step)
        ratios.append(H200.forecast(call).time_s / row["time_s"])
    assert statistics.median(ratios) == pytest.approx(1, abs=0.2)


def products(row):
    length, width = row["s"], row["d"]
    scores, values = (length, length, width), (length, width, length)
    return (scores, values) if row["what"] == "forward" else (scores, scores, values, values, values)


@pytest.mark.parametrize("dropout", [0.0, 0.1])
@pytest.mark.parametrize("way", ["cudnn", "flash", "efficient"])
def test_attention_takes_what_an_h200_took(way, dropout):
    """From 128 to 8,192 tokens, causal or not: the readings that the shares of the peak were chosen from."""
    ratios = []
    for row in readings("attention"):
        if (row["way"], row["dropout"]) != (way, dropout):
            continue
        q = Tensor((row["batch"], row["heads"], row["s"], row["d"]), "bfloat16")
        kernels = tuple(name for name, _ in row["kernels"])
        time_s = 0.0
        for sides in products(row):
            problem = Gemm(*sides, "bfloat16", batch=row["batch"] * row["heads"])
            fused = f"{way} attention" + " with dropout" * (dropout > 0)
            about = {"fused": fused, "causal": row["causal"], "phase": row["what"], "kernels": kernels}
            time_s += H200.forecast(Call(problem, operands=(q, q), **about)).time_s
        ratios.append(time_s / row["time_s"])
    assert len(ratios) == (12 if dropout else 20)
    assert statistics.median(ratios) == pytest.approx(1, abs=0.15)
    assert sum(abs(ratio - 1) < 0.2 for ratio in ratios) >= 0.7 * len(ratios)


def test_scores_never_reach_dram():
    q = Tensor((8, 12, 1024, 64), "bfloat16")
    about = {"fused": "flash attention", "operands": (q, q)}
    scores = Gemm(1024, 1024, 64, "bfloat16", batch=96)
    values = Gemm(1024, 64, 1024, "bfloat16", batch=96)
    first, second = (H200.forecast(Call(problem, **about)) for problem in (scores, values))
    assert first.record.count.compulsory_bytes == scores.a_bytes + scores.b_bytes
    assert second.record.count.compulsory_bytes == values.b_bytes + values.d_bytes
    causal = H200.forecast(Call(scores, causal=True, **about))
    assert causal.record.prediction.terms[0].time_s == pytest.approx(first.limit_s * CAUSAL)
    assert causal.time_s < first.time_s


@pytest.mark.parametrize("length", [1, 64, 100, 4096])
def test_which_product_makes_the_scores(length):
    q, k = Tensor((2, 4, length, 80), "bfloat16"), Tensor((2, 4, 4096, 80), "bfloat16")
    assert makes_scores(Call(Gemm(length, 4096, 80, "bfloat16", batch=8), operands=(q, k)))
    assert not makes_scores(Call(Gemm(length, 80, 4096, "bfloat16", batch=8), operands=(q, k)))


def test_products_of_linear_layers_take_what_an_h200_took():
    """Kernels' own times in a stream, by the constants that whole launches were fitted with, but for the launch."""
    sides = {
        "forward": lambda t, i, o: Gemm(t, o, i, "bfloat16", layout="nt"),
        "dgrad": lambda t, i, o: Gemm(t, i, o, "bfloat16"),
        "wgrad": lambda t, i, o: Gemm(o, i, t, "bfloat16", layout="tn"),
    }
    ratios = [
        H200.forecast(Call(sides[row["what"]](row["tokens"], row["in"], row["out"]))).time_s / row["time_s"]
        for row in readings("linear")
        if row["what"] in sides and row["format"] == "bfloat16"
    ]
    assert len(ratios) > 60
    assert statistics.median(ratios) == pytest.approx(1, abs=0.12)


NAMES = {
    "add": "aten::add",
    "softmax": "aten::_softmax",
    "softmax backward": "aten::_softmax_backward_data",
    "layer norm float32": "aten::native_layer_norm",
    "gelu": "aten::gelu",
    "dropout": "aten::native_dropout",
}


@pytest.mark.parametrize("what", NAMES)
def test_the_rest_takes_what_an_h200_took(what):
    ratios = [
        H200.copying_s(row["bytes"], 1, share_of(NAMES[what])) / row["time_s"]
        for row in readings("other")
        if row["what"] == what and row["bytes"] > 3e7
    ]
    assert statistics.median(ratios) == pytest.approx(1, abs=0.25)
