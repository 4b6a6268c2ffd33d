"""What channels last and autocast do to what is no multiplication, beside readings on an H200."""

import json
import math
from pathlib import Path

import pytest

from gemmlab.experiment.workload import Rest, answer_of
from gemmlab.experiment.workload.beside import REACHED, Images, images_of, reached, saved_beside
from gemmlab.experiment.workload.changes.layout import CHANNELS_LAST as ORDERS
from gemmlab.problem import Convolution
from gemmlab.workload import Call, Other, Workload

PARTS = Path(__file__).parents[3] / "benchmarks" / "results" / "networks_parts.json"
CHANNELS_LAST = ORDERS[2]
AUTOCAST = 'with torch.autocast("cuda", dtype=torch.bfloat16):'
STREAMING = 0.826 * 4.8e12  # of an H200, as its chip file has it: dram_share of the data sheet's


def images(order, form="tfloat32"):
    convolution = Convolution(32, 64, 56, 56, 64, kernel=(3, 3), padding=(1, 1), order=order, format=form)
    problem = convolution.gemm("forward")
    call = Call(problem, "aten::cudnn_convolution", 4, ("body",), "forward", (), convolution, "forward", time_s=1e-3)
    normal = [
        Other("aten::cudnn_batch_norm", 4, "forward", 4e-3),
        Other("aten::cudnn_batch_norm_backward", 4, "backward", 6e-3),
    ]
    others = (*normal, Other("aten::relu", 4, "forward", 1e-3), Other("aten::_foreach_add_", 4, "optimizer", 1e-3))
    return Workload("step.json", "trace", (call,), others, chip="NVIDIA H200")


@pytest.mark.parametrize("kept", REACHED)
@pytest.mark.parametrize("backward", [False, True])
def test_shares_are_the_readings(kept, backward):
    memory = {"nchw": "channels_first", "nhwc": "channels_last"}[kept[0]]
    form = "float32" if kept[1] == 32 else "bfloat16"
    what = "images: batch norm" + " backward" * backward
    rows = [row for row in json.loads(PARTS.read_text())["rows"] if row["what"] == what]
    read = [
        row["bytes"] / row["time_s"] / STREAMING for row in rows if (row["memory"], row["format"]) == (memory, form)
    ]
    assert len(read) == 4
    assert REACHED[kept][backward] == pytest.approx(math.prod(read) ** 0.25, rel=0.05)


def test_channels_last_gains_beside_the_convolutions():
    answer = answer_of(images("nchw"))
    change = next(each for each in answer.changes if each.line == CHANNELS_LAST)
    row = next(each for each in answer.rows[0].record.call.changes if each.line == CHANNELS_LAST)
    assert change.gain_s - row.gain_s == pytest.approx(4e-3 * (1 - 0.37 / 0.50) + 6e-3 * (1 - 0.32 / 0.56))
    assert answer.advised_gain * answer.time_s >= change.gain_s


def test_channels_last_already_gains_nothing_there():
    answer = answer_of(images("nhwc"))
    assert CHANNELS_LAST not in {each.line for each in answer.changes}
    assert saved_beside(answer.workload, answer.rest, {CHANNELS_LAST}, autocast=False) == 0


def test_autocast_halves_bytes_and_slows_normalisations_of_images_channels_first():
    workload = images("nchw")
    rest = tuple(Rest(other, other.time_s, "measured") for other in workload.others)
    saved = saved_beside(workload, rest, {AUTOCAST, "model.half()"}, autocast=False)
    normal = 4e-3 * (1 - 0.5 * 0.37 / 0.10) + 6e-3 * (1 - 0.5 * 0.32 / 0.15)
    assert saved == pytest.approx(normal + 1e-3 / 2)
    assert saved < 0
    assert saved_beside(workload, rest, {AUTOCAST}, autocast=True) == 0


def test_channels_last_and_autocast_save_together_what_neither_saves_alone():
    workload = images("nchw")
    rest = tuple(Rest(other, other.time_s, "measured") for other in workload.others)
    saved = saved_beside(workload, rest, {AUTOCAST, CHANNELS_LAST}, autocast=False)
    normal = 4e-3 * (1 - 0.5 * 0.37 / 0.19) + 6e-3 * (1 - 0.5 * 0.32 / 0.35)
    assert saved == pytest.approx(normal + 1e-3 / 2)


def test_without_convolutions_nothing_is_known_of_images():
    assert images_of(Workload("step.json", "trace")) is None
    assert reached("aten::cudnn_batch_norm", None) is None
    assert reached("aten::native_layer_norm", Images("nchw", 32)) is None
