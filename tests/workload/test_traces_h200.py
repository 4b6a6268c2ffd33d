"""Traces that were recorded on an H200 (torch 2.13): each kernel is somewhere once, and nothing multiplies unseen."""

import gzip
import json
from collections import Counter
from pathlib import Path

import pytest

from gemmlab.record import GemmlabError
from gemmlab.workload.traces import read_trace
from gemmlab.workload.traces.kernel_names import multiplies

DATA = Path(__file__).parent / "data"
WITH_SHAPES = ("decoder", "decoder_compiled", "decoder_stack", "pictures", "pictures_last", "products", "graph")


def recorded(name):
    return DATA / f"h200_{name}.json.gz"


def events(name):
    return json.loads(gzip.decompress(recorded(name).read_bytes()))["traceEvents"]


def multiplications(workload):
    """How often each multiplication is made, by operator, phase and sizes."""
    return Counter(
        {
            (
                call.operator,
                call.phase,
                call.problem.m,
                call.problem.n,
                call.problem.k,
                call.problem.a_format,
            ): call.count
            for call in workload.calls
        }
    )


@pytest.mark.parametrize("name", WITH_SHAPES)
def test_all_time_of_the_device_is_somewhere_once(name):
    workload = read_trace(recorded(name))
    device = [e for e in events(name) if e.get("cat") in ("kernel", "gpu_memset", "gpu_memcpy")]
    parts = (*workload.calls, *workload.others, *workload.unread)
    assert sum(part.time_s for part in parts) == pytest.approx(sum(e["dur"] for e in device) / 1e6)
    assert workload.busy_s <= workload.span_s
    assert workload.busy_s <= sum(e["dur"] for e in device) / 1e6 * (1 + 1e-9)
    assert workload.chip == "NVIDIA H200"


@pytest.mark.parametrize("name", WITH_SHAPES)
def test_no_kernel_that_multiplies_is_among_the_others(name):
    workload = read_trace(recorded(name))
    assert not [kernel for other in workload.others for kernel in other.kernels if multiplies(kernel)]


@pytest.mark.parametrize("name", ["decoder", "decoder_compiled", "decoder_stack", "pictures", "pictures_last"])
def test_every_multiplication_has_its_kernel(name):
    workload = read_trace(recorded(name))
    assert not workload.unread
    assert all(call.time_s and call.kernels for call in workload.calls)
    assert {call.phase for call in workload.calls} == {"forward", "backward"}
    assert any(other.phase == "optimizer" and "adam" in other.name for other in workload.others)


def test_a_decoders_step():
    workload = read_trace(recorded("decoder"))
    assert workload.steps == 2
    forward = [call for call in workload.calls if call.phase == "forward" and not call.fused]
    sizes = [(call.problem.m, call.problem.n, call.problem.k, call.count) for call in forward]
    assert sizes == [
        (512, 768, 256, 2), (512, 256, 256, 2), (512, 1024, 256, 2), (512, 256, 1024, 2), (512, 1001, 256, 2),
    ]  # fmt: skip
    backward = sum(call.flop for call in workload.calls if call.phase == "backward" and not call.fused)
    assert backward == 2 * sum(call.flop for call in forward)
    assert {call.problem.a_format for call in workload.calls} == {"bfloat16"}
    assert {call.fused for call in workload.calls} == {"", "cuDNN attention"}
    assert any("launches, slowed by the profiler, bound the step" in note for note in workload.notes)


def test_compiled_it_multiplies_the_same():
    assert multiplications(read_trace(recorded("decoder_compiled"))) == multiplications(read_trace(recorded("decoder")))


def test_one_step_is_half_of_two():
    both, one = read_trace(recorded("decoder")), read_trace(recorded("decoder"), step=1)
    assert both.flop == 2 * one.flop
    assert multiplications(both) == multiplications(one) + multiplications(read_trace(recorded("decoder"), step=2))


def test_places_are_modules_and_a_gradients_those_of_its_forward():
    workload = read_trace(recorded("decoder_stack"))
    assert all(call.places for call in workload.calls)
    linear = {call.places for call in workload.calls if call.operator in ("aten::mm", "aten::addmm")}
    assert linear == {(f"Decoder_0.Block_0.Linear_{n}",) for n in range(4)} | {("Decoder_0.Linear_4",)}
    for place in linear:
        phases = Counter(call.phase for call in workload.calls if call.places == place)
        assert phases == {"forward": 1, "backward": 2}


def test_convolutions_in_both_orders_are_the_same_products():
    first, last = read_trace(recorded("pictures")), read_trace(recorded("pictures_last"))
    for step in ("forward", "dgrad", "wgrad"):
        products = [
            sorted(
                (c.problem.m, c.problem.n, c.problem.k, c.problem.batch) for c in w.calls if c.convolution_pass == step
            )
            for w in (first, last)
        ]
        assert products[0] == products[1]
        assert products[0]
    assert {call.convolution.order for call in first.calls if call.convolution} == {"nchw"}
    assert "nhwc" in {call.convolution.order for call in last.calls if call.convolution}


def test_every_kind_of_product_is_read_or_named():
    workload = read_trace(recorded("products"))
    told = {place for call in workload.calls for place in call.places}
    made = {
        e["name"] for e in events("products") if e.get("cat") == "user_annotation" and e["name"].startswith("product")
    }
    # the sizes of its groups are values of a tensor; outer runs as an elementwise product
    assert made - told <= {"product: grouped_mm", "product: outer"}
    assert {each.operator for each in workload.unread} <= {"aten::_grouped_mm"}


def test_a_graphs_kernels_are_its_launches():
    workload = read_trace(recorded("graph"))
    assert not workload.calls
    assert [each.operator for each in workload.unread] == ["cudaGraphLaunch"]
    assert [each.name for each in workload.others] == ["cudaGraphLaunch"]
    assert workload.steps == 2


def test_without_shapes_kernels_are_told_alone():
    with pytest.raises(GemmlabError) as caught:
        read_trace(recorded("decoder_no_shapes"))
    device = [e for e in events("decoder_no_shapes") if e.get("cat") in ("kernel", "gpu_memset", "gpu_memcpy")]
    assert f"its {len(device)} kernels" in caught.value.text
    assert "record_shapes=True" in caught.value.hint
