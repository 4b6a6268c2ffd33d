"""What a trace of torch.profiler tells: whose a kernel is, what counts once, where and when in the program."""

import re

import pytest

from gemmlab.record import GemmlabError
from gemmlab.workload.traces import read_trace
from workload.kineto import H200, Kineto

MM = ([4, 8], [8, 16])
GEMM = "nvjet_sm90_tst_64x64_64x13_2x1_v_bz_TNT"
COPY = "void at::native::vectorized_elementwise_kernel<4, at::native::CopyFunctor>"


@pytest.fixture
def trace():
    return Kineto()


@pytest.fixture
def read(trace, tmp_path):
    return lambda **options: read_trace(trace.write(tmp_path / "trace.json"), **options)


def seconds(*microseconds):
    return pytest.approx(sum(microseconds) / 1e6)


def told(workload, word):
    return [note for note in workload.notes if word in note]


def test_a_kernel_is_its_launchers(trace, read):
    trace.op("aten::matmul", 0, 20, *MM)
    trace.op("aten::mm", 2, 10, *MM)
    trace.run(GEMM, 4, 100, 7)
    trace.run("Memset (Device)", 3, 90, 1)
    trace.run("void cublasLt::splitKreduce_kernel<32, 16>", 5, 108, 2)
    trace.run(COPY, 15, 120, 4)  # by aten::matmul itself
    workload = read()
    (call,) = workload.calls
    assert (call.operator, call.count, call.time_s) == ("aten::mm", 1, seconds(7, 1, 2))
    assert call.kernels == ("Memset (Device)", GEMM, "void cublasLt::splitKreduce_kernel<32, 16>")
    (other,) = workload.others
    assert (other.name, other.time_s, other.kernels) == ("aten::matmul", seconds(4), (COPY,))
    assert workload.span_s == seconds(34)
    assert workload.busy_s == seconds(1, 7, 2, 4)
    assert (workload.kind, workload.steps, workload.chip, workload.unread) == ("trace", 1, "NVIDIA H200", ())
    assert told(workload, "132 SMs")


def test_equal_calls_are_one_with_their_count(trace, read):
    for turn in range(5):
        trace.op("aten::mm", 10 * turn, 5, *MM)
        trace.run(GEMM, 10 * turn + 1, 100 + 10 * turn, 2)
    trace.op("aten::mm", 60, 5, [4, 8], [8, 17])
    trace.run(GEMM, 61, 200, 3)
    first, other = read().calls
    assert (first.count, first.time_s, first.problem.n) == (5, seconds(10), 16)
    assert (other.count, other.time_s, other.problem.n) == (1, seconds(3), 17)


def test_formats_and_strides_are_those_recorded(trace, read):
    trace.op("aten::mm", 0, 5, ("c10::BFloat16", [4, 8]), ("c10::BFloat16", [8, 16]))
    trace.events[-1]["args"]["Input Strides"] = [[8, 1], [1, 8]]
    trace.run(GEMM, 1, 10, 2)
    (call,) = read().calls
    assert call.problem.a_format == "bfloat16"
    assert [operand.strides for operand in call.operands] == [(8, 1), (1, 8)]


@pytest.mark.parametrize(
    ("recorded", "name"),
    [("float", "float32"), ("double", "float64"), ("c10::Half", "float16"), ("c10::BFloat16", "bfloat16")],
)
def test_types(trace, read, recorded, name):
    trace.op("aten::mm", 0, 5, (recorded, [4, 8]), (recorded, [8, 16]))
    trace.run(GEMM, 1, 10, 2)
    assert read().calls[0].problem.a_format == name


def test_clocks_apart_the_profilers_id_finds_the_inner_operator(trace, read):
    trace.op("aten::linear", 0, 30, *MM)
    inner = trace.op("aten::mm", 5, 10, *MM)
    trace.run(GEMM, 15.004, 100, 7, external=inner)  # a little after aten::mm by the runtime's clock
    (call,) = read().calls
    assert call.time_s == seconds(7)


def test_an_id_of_another_operator_is_not_believed(trace, read):
    """Before torch 2.3 the `External id` of launches and kernels was no operator's (pytorch/kineto issue 843)."""
    wrong = trace.op("aten::copy_", 0, 5, [4])
    trace.op("aten::mm", 10, 10, *MM)
    trace.run(GEMM, 12, 100, 7, external=wrong)
    (call,) = read().calls
    assert call.time_s == seconds(7)


def test_an_id_stands_in_where_no_operator_runs_on_the_thread(trace, read):
    trace.op("aten::mm", 10, 10, *MM)
    trace.run(GEMM, 12, 100, 7, thread=99, external=1)
    assert read().calls[0].time_s == seconds(7)


def test_an_id_stands_in_for_a_launch_that_is_lost(trace, read):
    ident = trace.op("aten::mm", 10, 10, *MM)
    trace.kernel(GEMM, 100, 7, 12345, **{"External id": ident})
    assert read().calls[0].time_s == seconds(7)


def test_an_id_that_two_operators_carry_names_none(trace, read):
    for _ in range(2):
        trace.op("aten::mm", 10, 10, *MM)
        trace.events[-1]["args"]["External id"] = 7
        trace.events[-1]["tid"] = len(trace.events)
    trace.kernel(GEMM, 100, 7, 12345, **{"External id": 7})
    workload = read()
    assert [(each.operator, each.time_s) for each in workload.unread] == [(GEMM, seconds(7))]
    assert told(workload, "launched by no operator")


def test_streams_that_overlap_are_busy_once(trace, read):
    trace.op("aten::mm", 0, 30, *MM)
    trace.kernel(GEMM, 100, 10, trace.launch(1), stream=7)
    trace.kernel(COPY, 105, 10, trace.launch(2), stream=8)
    trace.kernel(COPY, 130, 10, trace.launch(3), stream=8)
    workload = read()
    assert (workload.busy_s, workload.span_s) == (seconds(25), seconds(40))
    assert workload.calls[0].time_s == seconds(30)  # its kernels' own times, however they overlap


def test_waiting_for_launches_is_told(trace, read):
    trace.op("aten::mm", 0, 10, *MM)
    trace.run(GEMM, 1, 5, 10)
    trace.op("aten::add", 10, 80, [4])
    trace.run(COPY, 80, 85, 20)
    assert told(read(), "idles 70%")


class TestCountingOnce:
    def test_a_chain_of_composites(self, trace, read):
        trace.op("aten::linear", 0, 30, [4, 8], [16, 8], [16])
        trace.op("aten::matmul", 1, 28, *MM)
        trace.op("aten::addmm", 2, 20, [16], *MM, "1", "1")
        trace.run(GEMM, 4, 100, 7)
        (call,) = read().calls
        assert (call.operator, call.count) == ("aten::addmm", 1)

    def test_the_inner_without_shapes_counts_at_the_outer(self, trace, read):
        trace.op("aten::linear", 0, 30, [4, 8], [16, 8], [16])
        trace.op("aten::addmm", 2, 20)
        trace.run(GEMM, 4, 100, 7)
        workload = read()
        assert [(call.operator, call.time_s) for call in workload.calls] == [("aten::linear", seconds(7))]
        assert not workload.unread

    def test_the_outer_without_shapes_is_not_unread(self, trace, read):
        trace.op("aten::linear", 0, 30)
        trace.op("aten::addmm", 2, 20, [16], *MM, "1", "1")
        trace.run(GEMM, 4, 100, 7)
        workload = read()
        assert [(call.operator, call.time_s) for call in workload.calls] == [("aten::addmm", seconds(7))]
        assert not workload.unread

    def test_without_shapes_the_innermost_is_unread(self, trace, read):
        trace.op("aten::add", 50, 1, [4])  # shapes are recorded
        trace.op("aten::linear", 0, 30)
        trace.op("aten::addmm", 2, 20)
        trace.run(GEMM, 4, 100, 7)
        (unread,) = read().unread
        assert (unread.operator, unread.count, unread.time_s) == ("aten::addmm", 1, seconds(7))
        assert unread.why

    @pytest.mark.parametrize("inputs", [([], []), (("", []), ("", []))])
    def test_empty_shapes_are_unread(self, trace, read, inputs):
        trace.op("aten::mm", 0, 30, *inputs)
        trace.run(GEMM, 4, 100, 7)
        workload = read()
        assert [each.operator for each in workload.unread] == ["aten::mm"]
        assert not workload.calls

    @pytest.mark.parametrize(
        "shape", [[-4, 8], [1 << 70, 8], ["4", 8], [4.0, 8], "4x8", None, [[4, 8]], [4], [4, 8, 2, 2]]
    )
    def test_shapes_that_are_none_are_unread(self, trace, read, shape):
        trace.op("aten::mm", 0, 30, *MM)
        trace.events[-1]["args"]["Input Dims"][0] = shape
        trace.run(GEMM, 4, 100, 7)
        workload = read()
        assert [(each.operator, each.time_s) for each in workload.unread] == [("aten::mm", seconds(7))]
        assert not workload.calls

    def test_a_multiplication_of_nothing_is_none(self, trace, read):
        trace.op("aten::mm", 0, 30, [0, 8], [8, 16])
        trace.run(COPY, 4, 100, 7)
        workload = read()
        assert not workload.calls
        assert not workload.unread

    def test_two_products_of_one_kernel_share_its_time_by_work(self, trace, read):
        sizes = [2, 4, 16, 8]
        half = ("c10::Half", sizes)
        trace.op("aten::_flash_attention_forward", 0, 30, half, half, half, "", "", "16", "16", "0.", "False", "False")
        trace.run("void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64>>", 4, 100, 8)
        workload = read()
        assert len(workload.calls) == 2
        assert sum(call.time_s for call in workload.calls) == seconds(8)
        assert told(workload, "divided by their work")

    def test_passes_of_a_convolution_are_told_by_their_kernels(self, trace, read):
        trace.op(
            "aten::convolution_backward", 0, 30, [2, 16, 8, 8], [2, 4, 8, 8], [16, 4, 3, 3], "[16]", "[1, 1]", "[1, 1]",
            "[1, 1]", "False", "[0, 0]", "1", "[True, True, True]",
        )  # fmt: skip
        trace.run("sm80_xmma_dgrad_implicit_gemm_f32f32_tf32f32_f32", 4, 100, 8)
        trace.run("sm80_xmma_wgrad_implicit_gemm_f32f32_tf32f32_f32", 5, 110, 3)
        workload = read()
        assert {call.convolution_pass: call.time_s for call in workload.calls} == {
            "dgrad": seconds(8), "wgrad": seconds(3),
        }  # fmt: skip
        assert not told(workload, "divided")

    def test_kernels_of_any_name_within_it_are_its_where_it_has_no_others(self, trace, read):
        trace.op("aten::linear", 0, 30, [4, 8], [16, 8], [16])
        trace.op("mylib::op", 2, 20)
        trace.run("kernel_0", 4, 100, 7)
        workload = read()
        assert [(call.operator, call.time_s, call.kernels) for call in workload.calls] == [
            ("aten::linear", seconds(7), ("kernel_0",))
        ]
        assert not workload.others

    def test_a_composite_without_shapes_is_not_unread_beside_what_it_calls(self, trace, read):
        trace.op("aten::add", 50, 1, [4])  # shapes are recorded
        trace.op("aten::linear", 0, 30)
        trace.op("mylib::op", 2, 20)
        trace.run(GEMM, 4, 100, 7)
        workload = read()
        assert [(each.operator, each.time_s) for each in workload.unread] == [("mylib::op", seconds(7))]

    def test_an_einsum_that_multiplies_no_matrices(self, tmp_path):
        trace = Kineto([])
        trace.op("aten::einsum", 0, 100, "", ("TensorList", [[4, 8]]), "")
        trace.op("aten::sum", 10, 80, [4, 8])
        workload = read_trace(trace.write(tmp_path / "trace.json"))
        assert not workload.unread
        assert {other.name for other in workload.others} == {"aten::einsum", "aten::sum"}

    def test_other_arithmetic_counts_at_the_innermost(self, trace, read):
        trace.op("aten::softmax", 0, 30, [4, 8], "1", "")
        trace.op("aten::_softmax", 5, 20, [4, 8], "1", "False")
        trace.run("softmax_warp_forward", 6, 50, 2)
        trace.run(COPY, 3, 60, 1)
        assert {other.name: other.flop for other in read().others} == {"aten::softmax": None, "aten::_softmax": 4 * 32}


class TestOperatorsThatNobodyDescribes:
    @pytest.mark.parametrize(
        "kernel",
        [
            "void cutlass::Kernel2<cutlass_80_wmma_tensorop_f16>", "ampere_bf16_s16816gemm_bf16_128x64", GEMM,
            "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n", "triton_mm", "triton_tem_fused_addmm_3", "_matmul_kernel",
            "Cijk_Ailk_Bljk_HHS_BH_MT128x128x32", "fused_moe_kernel", "flash_fwd_splitkv_kernel", "my_wgmma_kernel",
        ],
    )  # fmt: skip
    def test_kernels_that_multiply_by_name_are_unread(self, trace, read, kernel):
        trace.op("mylib::fused", 0, 30, *MM)
        trace.run(kernel, 4, 100, 7)
        trace.run(COPY, 5, 110, 2)
        workload = read()
        (unread,) = workload.unread
        assert (unread.operator, unread.count, unread.time_s) == ("mylib::fused", 1, seconds(7))
        assert kernel[:40] in unread.why
        assert [(other.name, other.time_s) for other in workload.others] == [("mylib::fused", seconds(2))]

    @pytest.mark.parametrize(
        "kernel",
        [
            COPY, "triton_poi_fused_add_relu_0", "triton_per_fused_native_layer_norm_2", "ncclDevKernel_sm90_x",
            "triton_poi_fused_addmm_relu_0", "triton_red_fused_mm_sum_1",
            "void at::native::reduce_kernel<512>", "Memcpy DtoD (Device -> Device)", "softmax_warp_forward",
            "void cudnn::engines_precompiled::nchwToNhwcKernel<__nv_bfloat16>", "vectorized_layer_norm_kernel",
        ],
    )  # fmt: skip
    def test_other_kernels_are_others(self, trace, read, kernel):
        trace.op("mylib::fused", 0, 30, *MM)
        trace.run(kernel, 4, 100, 7)
        workload = read()
        assert not workload.unread
        assert [(other.name, other.kernels) for other in workload.others] == [("mylib::fused", (kernel,))]

    def test_one_within_a_counted_operator_is_that_ones(self, trace, read):
        trace.op("aten::mm", 0, 30, *MM)
        trace.op("mylib::gemm", 2, 20, *MM)
        trace.run(GEMM, 4, 100, 7)
        workload = read()
        assert workload.calls[0].time_s == seconds(7)
        assert not workload.unread

    def test_a_compiled_graph(self, trace, read):
        trace.annotation("## Call CompiledFxGraph fabc ##", 0, 50)
        trace.op("CompiledFunction", 1, 48)
        trace.op("aten::mm", 2, 10, *MM)  # extern_kernels.mm
        trace.run(GEMM, 4, 100, 7)
        trace.op("triton_poi_fused_relu_0", 15, 5, [4, 16], kernel_backend="triton", num_warps=4, grid="grid(100,)")
        trace.run("triton_poi_fused_relu_0", 16, 110, 2, name="cuLaunchKernel")
        trace.op("triton_tem_fused_mm_1", 25, 5, *MM, kernel_backend="triton")
        trace.run("triton_tem_fused_mm_1", 26, 120, 3, name="cuLaunchKernel")
        workload = read()
        assert [(call.operator, call.time_s) for call in workload.calls] == [("aten::mm", seconds(7))]
        assert [(each.operator, each.time_s) for each in workload.unread] == [("triton_tem_fused_mm_1", seconds(3))]
        assert [(each.name, each.time_s) for each in workload.others] == [("triton_poi_fused_relu_0", seconds(2))]


class TestGraphs:
    def test_their_kernels_belong_to_the_launch_alone(self, trace, read):
        trace.op("aten::mm", 0, 50, *MM)
        trace.run(GEMM, 1, 80, 4)
        trace.op("graph::replay", 60, 30, [1])
        launch = trace.launch(62, name="cudaGraphLaunch")
        for turn, kernel in enumerate((GEMM, GEMM, COPY)):
            trace.kernel(kernel, 100 + 10 * turn, 5, launch, **{"graph node id": turn})
        workload = read()
        assert workload.calls[0].time_s == seconds(4)
        assert [(each.operator, each.count, each.time_s) for each in workload.unread] == [
            ("cudaGraphLaunch", 2, seconds(10))
        ]
        assert [(each.name, each.time_s) for each in workload.others] == [("cudaGraphLaunch", seconds(5))]
        assert told(workload, "3 kernels, 15.0 us, ran in CUDA graphs")

    def test_what_is_recorded_into_a_graph_did_not_run(self, trace, read):
        trace.launch(0, name="cudaStreamBeginCapture_v10000")
        trace.op("aten::mm", 10, 50, *MM)
        trace.launch(20)  # no kernel comes of it
        trace.launch(70, name="cudaStreamEndCapture")
        trace.op("aten::mm", 100, 50, *MM)
        trace.run(GEMM, 101, 180, 4)
        workload = read()
        assert [(call.count, call.time_s) for call in workload.calls] == [(1, seconds(4))]
        assert told(workload, "1 multiplications were recorded")


class TestOtherVendors:
    def test_rocm(self, tmp_path):
        trace = Kineto([{"id": 0, "name": "AMD Instinct MI300X", "computeMajor": 9, "numSms": 304}])
        trace.op("aten::mm", 0, 30, *MM)
        trace.run("Cijk_Ailk_Bljk_SB_MT64x64x16", 4, 100, 7, name="hipExtModuleLaunchKernel")
        trace.op(
            "aten::convolution",
            40,
            30,
            [1, 3, 8, 8],
            [4, 3, 3, 3],
            "",
            "[1, 1]",
            "[0, 0]",
            "[1, 1]",
            "False",
            "[0, 0]",
            "1",
        )
        trace.run("miopenSp3AsmConv_v30_3_1_gfx9", 44, 120, 5, name="hipLaunchKernel")
        workload = read_trace(trace.write(tmp_path / "trace.json"))
        assert workload.chip == "AMD Instinct MI300X"
        assert [call.time_s for call in workload.calls] == [seconds(7), seconds(5)]
        assert {call.problem.a_format for call in workload.calls} == {"float32"}  # no tfloat32 there

    def test_xpu(self, tmp_path):
        trace = Kineto([{"id": 0, "name": "Intel(R) Data Center GPU Max 1550"}])
        trace.op("aten::mm", 0, 30, *MM)
        trace.event("xpu_runtime", "urEnqueueKernelLaunch", 4, 1, correlation=5)
        trace.kernel("gemm_kernel", 100, 7, 5)
        assert read_trace(trace.write(tmp_path / "trace.json")).calls[0].time_s == seconds(7)

    def test_before_torch_1_12(self, tmp_path):
        """Categories in capitals, whole microseconds, ids as text, children before their parents."""
        trace = Kineto()
        for name, start, length, ident in (("aten::mm", 10, 8, 2), ("aten::matmul", 10, 8, 1)):
            trace.event(
                "Operator",
                name,
                start,
                length,
                **{"External id": str(ident), "Input Dims": list(MM), "Input type": ["float", "float"]},
            )
        trace.event("Runtime", "cudaLaunchKernel", 12, 1, correlation=3, **{"external id": "2"})
        trace.event("Kernel", GEMM, 100, 7, "stream 7", pid=0, correlation=3)
        (call,) = read_trace(trace.write(tmp_path / "trace.json")).calls
        assert (call.operator, call.time_s) == ("aten::mm", seconds(7))

    def test_a_trace_of_a_cpu_alone(self, tmp_path):
        trace = Kineto([])
        trace.op("aten::linear", 0, 100, [4, 8], [16, 8], [16])
        trace.op("aten::addmm", 10, 80, [16], *MM, "1", "1")
        trace.op("aten::copy_", 20, 30, [4, 16], [16], "False")
        workload = read_trace(trace.write(tmp_path / "trace.json"))
        assert [(call.operator, call.time_s) for call in workload.calls] == [("aten::addmm", seconds(50))]
        assert {other.name: other.time_s for other in workload.others} == {
            "aten::copy_": seconds(30), "aten::linear": seconds(20),
        }  # fmt: skip
        assert (workload.span_s, workload.busy_s, workload.chip) == (seconds(100), seconds(100), "CPU")

    def test_a_device_without_kernels_is_not_timed(self, trace, read):
        trace.op("aten::mm", 0, 100, *MM)
        workload = read()
        assert (workload.calls[0].time_s, workload.span_s, workload.busy_s) == (None, None, None)
        assert told(workload, "ProfilerActivity.CUDA")

    def test_a_multiplication_without_a_kernel_among_others_has_no_time(self, trace, read):
        for start in (0, 20):
            trace.op("aten::mm", start, 10, *MM)
        trace.run(GEMM, 1, 100, 7)
        workload = read()
        assert [(call.count, call.time_s) for call in workload.calls] == [(1, seconds(7)), (1, None)]
        assert told(workload, "1 multiplications ran no kernel")

    def test_shapes_and_types_before_torch_1_9(self, trace, read):
        told = {"Input dims": [*MM, []], "Input type": ["float", "float", "Int"]}
        trace.op("aten::mm", 0, 10, **told)
        trace.run(GEMM, 1, 100, 7)
        assert read().calls[0].problem.k == 8


def test_ranks_that_were_merged_are_refused(trace, read):
    for rank in (100, 200):
        trace.event("cpu_op", "aten::mm", 0, 10, pid=rank, **{"Input Dims": list(MM), "Input type": ["float", "float"]})
        trace.event("cuda_runtime", "cudaLaunchKernel", 1, 1, pid=rank, correlation=7)
        trace.kernel(GEMM, 100 + rank, 5, 7)
    with pytest.raises(GemmlabError, match="several processes, 100 and 200"):
        read()


def test_ranks_that_can_be_told_apart_are_read_together(trace, read):
    for rank in (100, 200):
        trace.event("cpu_op", "aten::mm", 0, 10, pid=rank, **{"Input Dims": list(MM), "Input type": ["float", "float"]})
        trace.event("cuda_runtime", "cudaLaunchKernel", 1, 1, pid=rank, correlation=rank)
        trace.kernel(GEMM, 100 + rank, 5, rank)
    workload = read()
    assert (workload.calls[0].count, workload.calls[0].time_s) == (2, seconds(10))
    assert told(workload, "2 processes")


def test_a_drivers_call_within_the_runtimes_is_the_same_launch(trace, read):
    trace.op("aten::mm", 0, 10, *MM)
    correlation = trace.launch(1)
    trace.kernel(GEMM, 100, 7, correlation)
    trace.event("cuda_driver", "cuLaunchKernel", 1.2, 0.1, thread=9, correlation=correlation)
    assert read().calls[0].time_s == seconds(7)


class TestArithmetic:
    @pytest.mark.parametrize(
        ("kernel", "name"),
        [
            ("cutlass_80_tensorop_s1688gemm_128x128_16x5_nn_align4", "tfloat32"),
            ("sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize128x128", "tfloat32"),
            ("ampere_sgemm_128x64_tn", "float32"),
            ("sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize32x32x8", "float32"),
            ("some_gemm_that_says_nothing", "float32"),
        ],
    )
    def test_float32_is_what_its_kernels_name_says(self, trace, read, kernel, name):
        trace.op("aten::mm", 0, 10, *MM)
        trace.run(kernel, 1, 100, 7)
        workload = read()
        assert workload.calls[0].problem.a_format == name
        certain = "nothing" not in kernel
        assert bool(workload.settings) == certain
        assert not certain or name in workload.settings[0][1]

    def test_of_bfloat16_the_same_names_say_nothing(self, trace, read):
        trace.op("aten::mm", 0, 10, ("c10::BFloat16", [4, 8]), ("c10::BFloat16", [8, 16]))
        trace.run("cutlass_75_tensorop_s1688gemm_bf16_64x64_nt_align1", 1, 100, 7)
        workload = read()
        assert (workload.calls[0].problem.a_format, workload.settings) == ("bfloat16", ())


class TestPhasesAndPlaces:
    def training(self, trace, modules=True):
        if modules:
            trace.frame("train.py(12): <module>", 0, 1000)
            trace.frame("nn.Module: Net_0", 0, 100)
            trace.frame("nn.Module: Linear_3", 5, 40)
            trace.frame("torch/nn/modules/linear.py(96): forward", 6, 38)
        trace.op("aten::linear", 10, 30, [4, 8], [16, 8], **{"Sequence number": 5, "Fwd thread id": 0})
        trace.op("aten::t", 11, 2, [16, 8], **{"Sequence number": 5, "Fwd thread id": 0})
        trace.op("aten::mm", 15, 20, *MM, **{"Sequence number": 6, "Fwd thread id": 0})
        trace.run(GEMM, 17, 20, 7)
        name = "autograd::engine::evaluate_function: MmBackward0"
        trace.op(name, 200, 100, thread=2, **{"Sequence number": 6, "Fwd thread id": 1})
        trace.op("MmBackward0", 202, 96, thread=2, **{"Sequence number": 6, "Fwd thread id": 1})
        trace.op("aten::mm", 210, 20, [4, 16], [16, 8], thread=2)
        trace.run(GEMM, 212, 220, 9, thread=2)
        trace.annotation("Optimizer.step#Adam.step", 400, 100)
        trace.op("aten::_fused_adam_", 410, 50, [16, 8])
        trace.run("void multi_tensor_apply_kernel", 412, 430, 3)

    def test_of_a_training_step(self, trace, read):
        self.training(trace)
        workload = read()
        forward, backward = workload.calls
        assert (forward.phase, backward.phase, workload.others[0].phase) == ("forward", "backward", "optimizer")
        assert forward.places == backward.places == ("Net_0.Linear_3",)

    def test_without_stacks_there_is_no_place(self, trace, read):
        self.training(trace, modules=False)
        assert [call.places for call in read().calls] == [(), ()]

    def test_a_number_that_two_threads_use_gives_no_place(self, trace, read):
        self.training(trace)
        trace.op("aten::mul", 12, 2, [4], thread=3, **{"Sequence number": 6, "Fwd thread id": 0})
        assert [call.places for call in read().calls] == [("Net_0.Linear_3",), ()]

    def test_an_operator_that_records_into_the_backward_alone_is_backward(self, trace, read):
        trace.op("AddmmBackward", 0, 20, [1], **{"Sequence number": 1, "Fwd thread id": 1})
        trace.op("aten::mm", 2, 10, *MM)
        trace.run(GEMM, 3, 20, 7)
        assert read().calls[0].phase == "backward"

    def test_an_asynchronous_annotation_hides_no_backward(self, trace, read):
        """What a hook begins within a backward node and ends long after does not take its operators out of it."""
        trace.op("autograd::engine::evaluate_function: MmBackward0", 0, 50, **{"Sequence number": 6})
        trace.annotation("nccl:all_reduce", 5, 300)
        trace.op("aten::mm", 10, 20, *MM)
        trace.run(GEMM, 12, 20, 7)
        assert read().calls[0].phase == "backward"

    def test_else_the_nearest_line_of_the_program(self, trace, read):
        for name in (
            "train.py(12): <module>",
            "model.py(42): forward",
            "torch/_tensor.py(3): __matmul__",
            "<built-in f>",
        ):
            trace.frame(name, 0, 100)
        trace.frame("contextlib.py(8): inner", 1, 90)
        trace.op("aten::mm", 10, 20, *MM)
        trace.run(GEMM, 12, 20, 7)
        assert read().calls[0].places == ("model.py(42): forward",)

    @pytest.mark.parametrize(
        ("key", "value", "place"),
        [
            ("Call stack", "torch/a.py(9): linear;model.py(5): forward;train.py(1): main", "model.py(5): forward"),
            ("Call stack", "torch/nn/functional.py(9): linear;<built-in method mm>", ""),
            ("Module Hierarchy", "TOP(Net)::forward.SELF(Linear)::forward", "TOP(Net)::forward.SELF(Linear)::forward"),
        ],
    )  # fmt: skip
    def test_else_what_the_operator_recorded(self, trace, read, key, value, place):
        trace.op("aten::mm", 10, 20, *MM, **{key: value})
        trace.run(GEMM, 12, 20, 7)
        assert read().calls[0].places == ((place,) if place else ())

    def test_else_the_users_own_annotation(self, trace, read):
        trace.annotation("ProfilerStep#1", 0, 100)
        trace.annotation("attention", 5, 50)
        trace.op("aten::mm", 10, 20, *MM)
        trace.run(GEMM, 12, 20, 7)
        assert read().calls[0].places == ("attention",)


class TestSteps:
    def steps(self, trace, lengths=(100, 100, 100)):
        start = 0
        for number, length in enumerate(lengths, 3):
            trace.annotation(f"ProfilerStep#{number}", start, length)
            trace.op("aten::mm", start + 10, 20, *MM)
            trace.run(GEMM, start + 12, start + 150, 5 + number)  # run after its step has ended on the CPU
            start += length
        return start

    def test_all_whole_ones_are_read(self, trace, read):
        self.steps(trace)
        workload = read()
        assert (workload.steps, workload.calls[0].count, workload.calls[0].time_s) == (3, 3, seconds(8, 9, 10))

    def test_one_alone(self, trace, read):
        self.steps(trace)
        workload = read(step=4)
        assert (workload.steps, workload.calls[0].count, workload.calls[0].time_s) == (1, 1, seconds(9))
        assert workload.span_s == seconds(9)
        with pytest.raises(GemmlabError, match="no step 9: its steps are 3, 4, 5"):
            read(step=9)

    def test_the_empty_one_that_the_profiler_leaves_is_none(self, trace, read):
        end = self.steps(trace)
        trace.annotation("ProfilerStep#6", end, 3)
        workload = read()
        assert workload.steps == 3
        assert told(workload, "ProfilerStep#6")

    def test_of_a_cpu_alone(self, tmp_path):
        trace = Kineto([])
        end = self.steps(trace)
        trace.op("aten::mm", end + 10, 33, *MM)
        trace.events = [event for event in trace.events if event.get("cat") in ("cpu_op", "user_annotation")]
        workload = read_trace(trace.write(tmp_path / "trace.json"))
        assert (workload.steps, workload.calls[0].count, workload.calls[0].time_s) == (3, 3, seconds(60))
        assert told(workload, "33.0 us of work lie outside")
        assert read_trace(tmp_path / "trace.json", step=5).span_s == seconds(20)

    def test_what_lies_outside_is_told_and_left_out(self, trace, read):
        end = self.steps(trace)
        trace.op("aten::mm", end + 10, 20, *MM)
        trace.run(GEMM, end + 12, end + 150, 33)
        workload = read()
        assert workload.calls[0].count == 3
        assert told(workload, "33.0 us of work lie outside")

    def test_a_warm_up_is_told(self, trace, read):
        self.steps(trace, (400, 100, 100, 100))
        assert told(read(), "ProfilerStep#3 lasts 4.0 times the median")

    def test_a_part_of_a_step_is_told(self, trace, read):
        end = self.steps(trace)
        trace.op("aten::mm", 40, 20, *MM)
        trace.op("aten::mm", 140, 20, *MM)
        workload = read()
        assert told(workload, "ProfilerStep#5 makes 1 multiplications, and most steps 2")
        trace.op("aten::mm", end - 50, 20, *MM)
        assert not told(read(), "makes")

    def test_without_marks_there_is_one(self, trace, read):
        trace.op("aten::mm", 10, 20, *MM)
        trace.run(GEMM, 12, 20, 7)
        assert read().steps == 1
        with pytest.raises(GemmlabError, match="marks no steps"):
            read(step=1)


def test_times_since_the_epoch_keep_their_nanoseconds(trace, tmp_path):
    """A float64 of 1.7e15 microseconds tells a quarter of one apart: what follows would lie in what went before."""
    base = 1_708_722_576_381_804
    trace.op("aten::mm", 0, 0.013, *MM)
    trace.op("aten::add", 0.013, 0.05, [4])
    trace.run(GEMM, 0.014, 20, 7)  # a nanosecond into aten::add
    for event in trace.events:
        event["ts"] = f"{base + int(event['ts'])}.{round(event['ts'] % 1 * 1000):03}"
    path = trace.write(tmp_path / "trace.json")
    path.write_text(re.sub(r'"ts": "([\d.]+)"', r'"ts": \1', path.read_text()))
    assert [(each.operator, each.time_s) for each in read_trace(path).unread] == [("aten::add", seconds(7))]


def test_several_devices_are_told(tmp_path):
    trace = Kineto([H200, {**H200, "id": 1}])
    trace.op("aten::mm", 0, 20, *MM)
    trace.kernel(GEMM, 100, 7, trace.launch(1))
    trace.kernel(GEMM, 104, 7, trace.launch(2), device=1)
    workload = read_trace(trace.write(tmp_path / "trace.json"))
    assert workload.busy_s == seconds(11)
    assert told(workload, "2 devices")
