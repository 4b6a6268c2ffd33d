"""Changes that are taken together, beside the same model with all of them taken."""

import msgspec
import pytest

from experiment.workload.networks import gpt2
from gemmlab import Gemm
from gemmlab.experiment.workload import answer_of
from gemmlab.experiment.workload.amdahl import kept_sizes, own_change
from gemmlab.experiment.workload.changes.layout import CHANNELS_LAST
from gemmlab.experiment.workload.changes.precision import MATMUL
from gemmlab.experiment.workload.look import Candidate
from gemmlab.workload import Call, Workload

CAST = 'with torch.autocast("cuda", dtype=torch.bfloat16):'


def images(torch):
    layers = []
    for channels in (64, 64, 128):
        wide = layers[-3].out_channels if layers else 64
        layers += [torch.nn.Conv2d(wide, channels, 3, padding=1, bias=False), torch.nn.BatchNorm2d(channels)]
        layers += [torch.nn.ReLU()]
    return torch.nn.Sequential(*layers)


@pytest.mark.parametrize("chip", ["h100-sxm", "h200-sxm"])
def test_an_order_and_a_format_save_together_what_they_are_predicted_to(chip):
    torch = pytest.importorskip("torch", reason="pip install torch")
    from gemmlab.workload.models import trace_model

    with torch.device("meta"):
        model, x = images(torch), torch.empty(64, 64, 112, 112)
    answer = answer_of(trace_model(model, (x,)), chip)
    assert set(answer.advised) >= {CHANNELS_LAST[2], CAST}
    order = torch.channels_last
    taken = answer_of(
        trace_model(model.to(memory_format=order), (x.to(memory_format=order),), autocast="bfloat16"), chip
    )
    left_s = (1 - answer.advised_gain) * answer.time_s
    assert left_s == pytest.approx(taken.time_s, rel=0.1)
    alone = max(change.gain_s for change in answer.changes)
    assert answer.advised_gain * answer.time_s > 1.2 * alone


def test_autocast_and_an_aligned_vocabulary_together():
    """Both as the program has them taken, casts left out: its gain is counted at the casts' cost."""
    before = gpt2(50257, 4, format="float32", fused="")
    answer = answer_of(before, "h100-sxm")
    assert CAST in answer.advised
    padded = next((line for line in answer.advised if line.startswith("vocab_size = ")), None)
    words = int(padded.split()[2]) if padded else 50257
    after = answer_of(gpt2(words, 4, format="bfloat16", fused=""), "h100-sxm")
    assert (1 - answer.advised_gain) * answer.time_s == pytest.approx(after.time_s, rel=0.25)


def test_settings_of_one_kind_exclude_each_other():
    calls = (Call(Gemm(4096, 4096, 4096)),)
    answer = answer_of(Workload("x", "table", calls), "h100-sxm")
    assert {CAST, MATMUL} <= {change.line for change in answer.changes}
    assert len(set(answer.advised) & {CAST, MATMUL}) == 1


def test_every_line_that_is_taken_is_listed():
    for workload in (gpt2(50257, 1), gpt2(50257, 1, format="float32", fused="")):
        slow = msgspec.structs.replace(workload, kind="table")
        answer = answer_of(slow, "h200-sxm")
        lines = [change.line for change in answer.changes]
        assert answer.advised
        assert set(answer.advised) <= set(lines)
        for change in answer.changes:
            assert answer.advised_gain * answer.time_s >= change.gain_s * (1 - 1e-9)


def candidate(line, *, shared=False):
    return Candidate("alignment", line, "none", "none", "high", then_s=1.0, limit_s=0.5, shared=shared)


def test_a_size_that_several_share_is_taken_by_all_or_by_none():
    """Where one gains and another loses, both count; each row has one change."""
    ff, own = candidate("ff", shared=True), candidate("own")
    gaining, losing = [(ff, 3.0), (own, 1.0)], [(ff, -2.0)]
    assert kept_sizes([gaining, losing, losing]) == set()
    assert kept_sizes([gaining, gaining, losing]) == {"ff"}
    assert own_change(gaining, {"ff"}) == (ff, 3.0)
    assert own_change(gaining, set()) == (own, 1.0)
    assert own_change(losing, {"ff"}) == (ff, -2.0)
    assert own_change(losing, set()) == own_change([], {"ff"}) == (None, 0.0)
    assert own_change([(ff, 1.0), (own, 2.0)], {"ff"}) == (own, 2.0)
