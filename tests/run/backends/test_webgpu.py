"""The WebGPU backend: what it refuses with which words, its clocks, and runs on an adapter where there is one."""

import logging
import math
import re
import subprocess
import sys
from types import SimpleNamespace

import pytest

from gemmlab import chips
from gemmlab.check import operands
from gemmlab.experiment import running
from gemmlab.kernels.ladder.webgpu import TEXTS, Text
from gemmlab.problem import Gemm
from gemmlab.record import GemmlabError
from gemmlab.run.backends.webgpu import adapters
from gemmlab.run.backends.webgpu.adapters import Adapter, adapter, chosen, described, in_order
from gemmlab.run.backends.webgpu.chip import SOFTWARE, chip_of
from gemmlab.run.backends.webgpu.clock import DWARFS, Clock
from gemmlab.run.backends.webgpu.needs import require_half, require_limits
from gemmlab.run.backends.webgpu.program import WORKGROUP, own, parameters, require_formats, rung_of, tile_of
from gemmlab.run.fault import OUT_OF_MEMORY, fault_of
from run.an_adapter import needs_adapter  # noqa: F401 - a fixture

BROWSERS_STEP = 65_536  # ns
#: WebGPU's own defaults
LIMITS = {
    "max-buffer-size": 256 << 20,
    "max-compute-invocations-per-workgroup": 256,
    "max-compute-workgroup-size-x": 256,
    "max-compute-workgroup-size-y": 256,
    "max-compute-workgroup-storage-size": 16384,
    "max-compute-workgroups-per-dimension": 65535,
    "max-storage-buffer-binding-size": 128 << 20,
}


def of(name, kind, backend="Vulkan"):
    """An adapter as wgpu has it."""
    return SimpleNamespace(info={"device": name, "adapter_type": kind, "backend_type": backend, "description": "1.2"})


def test_the_table_loads_no_wgpu():
    text = "import sys, gemmlab.run.backends.webgpu.contenders; assert not {'wgpu', 'numpy'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", text], check=True)


def test_gpus_come_before_software_and_opengl_only_alone():
    found = [of("gl", "DiscreteGPU", "OpenGL"), of("llvmpipe", "CPU"), of("small", "IntegratedGPU"), of("odd", "x")]
    found.append(of("big", "DiscreteGPU"))
    assert [each.info["device"] for each in in_order(found)] == ["big", "small", "odd", "llvmpipe"]
    assert in_order(found[:1]) == found[:1]


@pytest.mark.parametrize(
    ("name", "kind", "software"),
    [
        ("llvmpipe (LLVM 15.0.6, 256 bits)", "CPU", True),
        ("SwiftShader Device (Subzero)", "unknown", True),
        ("Microsoft Basic Render Driver", "IntegratedGPU", True),
        ("NVIDIA GeForce RTX 4090", "DiscreteGPU", False),
        ("Apple M2", "IntegratedGPU", False),
    ],
)
def test_software_is_known_by_its_kind_or_name(name, kind, software):
    assert described(of(name, kind).info).software is software


def test_no_adapter_says_what_to_install():
    with pytest.raises(GemmlabError, match="no adapter") as raised:
        chosen([], 0)
    assert "mesa-vulkan-drivers" in str(raised.value)
    with pytest.raises(GemmlabError, match="no adapter 2"):
        chosen(["a", "b"], 2)


def test_a_missing_package_names_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "wgpu", None)
    with pytest.raises(GemmlabError, match="wgpu is not installed") as raised:
        adapters.wgpu_module()
    assert 'pip install "gemmlab[webgpu]"' in str(raised.value)
    monkeypatch.setattr(adapters.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(GemmlabError, match="wgpu is not installed"):
        adapter(0)
    running.chip_of.cache_clear()
    with pytest.raises(GemmlabError, match="wgpu is not installed"):
        running.chip_of("webgpu")


@pytest.mark.parametrize(
    ("done", "words"),
    [
        (
            subprocess.CalledProcessError(-11, "x", b"", b"noise\nlibvulkan: no such symbol"),
            "libvulkan: no such symbol",
        ),
        (subprocess.TimeoutExpired("x", 60), "does not answer within 60 s"),
        (SimpleNamespace(stdout=b"[{"), "cannot list adapters"),
        (SimpleNamespace(stdout=b"[]"), "finds no adapter"),
    ],
    ids=["crash", "silence", "nonsense", "none"],
)
def test_a_driver_that_fails_where_it_is_asked_is_told(monkeypatch, done, words):
    def asked(*arguments, **options):
        if isinstance(done, Exception):
            raise done
        return done

    monkeypatch.setattr(adapters.importlib.util, "find_spec", lambda name: True)
    monkeypatch.setattr(adapters.subprocess, "run", asked)
    with pytest.raises(GemmlabError, match=words):
        adapter(0)


def test_an_adapter_that_a_file_describes_is_that_chip():
    made = Adapter(name="NVIDIA GeForce RTX 4090", backend="Vulkan", kind="DiscreteGPU", driver="580")
    assert chip_of(made) == chips.get("rtx-4090")


def test_an_unknown_gpu_has_a_name_and_no_figures(monkeypatch):
    monkeypatch.setattr("gemmlab.chips.nvidia.gpus", list)
    found = chip_of(Adapter(name="A New One", backend="Metal", kind="IntegratedGPU", driver=""))
    assert (found.name, found.full_name, found.kind, found.levels, found.peaks) == (
        "here-gpu",
        "A New One",
        "gpu",
        (),
        {},
    )


def test_a_software_adapter_is_no_chip_to_be_held_against():
    found = chip_of(Adapter(name="llvmpipe", backend="Vulkan", kind="CPU", driver="Mesa"))
    assert (found.name, found.full_name, found.peaks) == (SOFTWARE, "llvmpipe, a software adapter", {})
    assert running.limits_of(Gemm(64, 64, 64), found).least_s(from_dram=True) == 0


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"alpha": 2.0}, "alpha=2"),
        ({"batch": 2}, "no batch"),
        ({"a_format": "bfloat16"}, "does not multiply bfloat16"),
        ({"d_format": "float16", "c_format": "float16"}, "does not write float16 from float32"),
        ({"a_format": "float16", "accumulate": "float16"}, "does not sum in float16"),
        ({"structure": "lower_triangular"}, "lower_triangular"),
    ],
)
def test_what_the_kernels_do_not_multiply_is_refused(fields, words):
    with pytest.raises(GemmlabError, match=words):
        require_formats(Gemm(64, 64, 64, **fields))


@pytest.mark.parametrize(
    ("sides", "words"),
    [
        ((8192, 64, 8192), "A takes 256 MiB, and a kernel on it is given 128 MiB"),
        ((64, 8192, 8192), "B takes 256 MiB"),
        ((8192, 8192, 8), "C takes 256 MiB"),
        ((65535 * 16 + 1, 1, 1), "m=1048561 needs 65536 workgroups of 16 along y, and it starts 65535"),
        ((1, 65535 * 16 + 1, 1), "n=1048561 needs 65536 workgroups of 16 along x"),
    ],
    ids=str,
)
def test_what_an_adapter_is_too_small_for_is_refused_before_anything_is_allocated(sides, words):
    with pytest.raises(GemmlabError, match=words):
        require_limits(Gemm(*sides), TEXTS["tiled"], LIMITS, "it")


def test_what_fits_exactly_is_taken():
    require_limits(Gemm(65535 * 16, 1, 1), TEXTS["tiled"], LIMITS, "it")
    require_limits(Gemm(4096, 4096, 8192), TEXTS["naive"], LIMITS, "it")


@pytest.mark.parametrize(
    ("width", "limits", "words"),
    [
        (17, {}, "needs 289 invocations a workgroup, and it has 256"),
        (32, {"max-compute-invocations-per-workgroup": 1024, "max-compute-workgroup-size-y": 16}, "32 invocations al"),
        (16, {"max-compute-workgroup-storage-size": 1024}, "needs 2 KiB of workgroup memory, and it has 1 KiB"),
    ],
)
def test_a_workgroup_that_is_too_large_is_refused(width, limits, words):
    with pytest.raises(GemmlabError, match=words):
        require_limits(Gemm(8, 8, 8), TEXTS["tiled"].with_tile(width), {**LIMITS, **limits}, "it")


def test_float16_needs_what_a_driver_may_hide():
    require_half(Gemm(8, 8, 8, "float16"), frozenset({"shader-f16"}), "it")
    require_half(Gemm(8, 8, 8), frozenset(), "it")
    with pytest.raises(GemmlabError, match="it does not offer `shader-f16`"):
        require_half(Gemm(8, 8, 8, "float16"), frozenset(), "it")


@pytest.mark.parametrize("name", ["tiled:", "tiled:0", "tiled:33", "tiled:x", "tiled:-1"])
def test_a_width_that_is_none(name):
    with pytest.raises(GemmlabError, match="no width of a tile"):
        rung_of(name)


def test_a_rung_that_is_none():
    with pytest.raises(GemmlabError, match="unknown kernel `tild`"):
        rung_of("tild")


@pytest.mark.parametrize("option", ["tile", "tile=8", "tile=8x", "tile=0x8", "tile=8x8x8", "block=8x8", "tile=-1x8"])
def test_a_tile_that_is_none(option):
    with pytest.raises(GemmlabError, match="is no tile"):
        tile_of(option)


def test_a_file_that_is_none(tmp_path):
    with pytest.raises(GemmlabError, match="no file"):
        own(Gemm(8, 8, 8), f"{tmp_path / 'absent.wgsl'}:main")
    (tmp_path / "bytes.wgsl").write_bytes(b"\xff\xfe")
    with pytest.raises(GemmlabError, match="cannot be read as WGSL"):
        own(Gemm(8, 8, 8), f"{tmp_path / 'bytes.wgsl'}:main")


def test_a_kernel_is_told_where_each_matrix_lies():
    words = parameters(Gemm(3, 5, 7, layout="tn", ldb=9, c_offset_bytes=8)).tolist()
    assert words == [3, 5, 7, 0, 0, 1, 3, 0, 0, 9, 1, 0, 2, 5, 1, 0]


def test_a_clocks_step_is_what_all_its_stamps_share():
    clock = Clock(1e-9)
    stamps = [each * BROWSERS_STEP for each in (10, 11, 11, 14, 20, 21)]
    assert clock.span_s(stamps) == pytest.approx((1 + 3 + 1) * BROWSERS_STEP * 1e-9)
    assert clock.step == BROWSERS_STEP
    clock.span_s([3, 10])
    assert clock.step == 1


@pytest.mark.parametrize("period_s", [1e-9, 40e-9])
def test_work_is_repeated_until_it_dwarfs_the_clocks_step(period_s):
    clock = Clock(period_s)
    clock.step = BROWSERS_STEP
    step_s = BROWSERS_STEP * period_s
    assert clock.missing(DWARFS * step_s) == 1
    assert clock.missing(DWARFS * step_s / 10) == 10
    assert clock.missing(0.0) == DWARFS


def test_a_clock_that_the_wall_contradicts_twice_is_not_believed():
    clock = Clock(1e-9)
    assert clock.believed(0.5, 0.001) is None  # too short to tell
    assert clock.believed(0.019, 0.02) is True
    wrong_period = Clock(1e-9)
    assert wrong_period.believed(0.02 / 52, 0.02) is None
    assert wrong_period.believed(0.02 / 52, 0.02) is False


@pytest.fixture
def made(needs_adapter):  # noqa: F811 - the fixture that was imported
    """A small multiplication on the adapter."""
    from gemmlab.run.backends.webgpu.program import program

    found = program(Gemm(24, 20, 28), "naive")
    found.place(operands(found.problem, 0), 2)
    return found


def test_a_program_tells_what_its_time_rests_on(made):
    told = made.environment
    assert set(told) == {"device", "adapter", "api", "driver", "wgpu", "tile", "timed"}
    assert all(told.values())
    assert told["adapter"].startswith("software") is made.device.adapter.software


def test_rounded_timestamps_are_outlasted(made, monkeypatch):
    """A browser's clock: without repetition this multiplication would take no step at all, or one."""
    exact, device = made.elapsed([0] * 200), made.device
    resolved, seen = device.resolved, []

    def rounded(*arguments):
        seen.append([stamp // BROWSERS_STEP * BROWSERS_STEP for stamp in resolved(*arguments)])
        return seen[-1]

    monkeypatch.setattr(device, "resolved", rounded)
    device.clock = device.stamps()
    assert device.clock.step % BROWSERS_STEP == 0
    taken = made.elapsed([0])
    spans = [last - first for first, last in zip(seen[-1][::2], seen[-1][1::2], strict=True)]
    assert sum(spans) >= DWARFS * BROWSERS_STEP
    assert 0.1 < taken / (exact / 200) < 10  # other work on the machine may slow either


def test_timestamps_of_a_wrong_period_give_way_to_the_wall(made):
    if made.device.clock is None:
        pytest.skip("the adapter has no timestamps")
    made.device.clock.period_s *= 1000
    first = made.elapsed([0, 1] * 500)
    for _ in range(4):
        last = made.elapsed([0, 1] * 500)
    assert made.environment["timed"].startswith("wall clock")
    assert last < first / 100


def test_without_timestamps_the_wall_tells(made):
    made.device.clock = None
    assert made.environment["timed"].startswith("wall clock")
    assert 0 < made.elapsed([0, 1]) < math.inf


def test_long_work_goes_in_several_submissions(made, monkeypatch):
    sizes = []
    submitted = made.device.submitted
    monkeypatch.setattr(
        made.device, "submitted", lambda p, parts, c: (sizes.append([len(x) for x in parts]), submitted(p, parts, c))[1]
    )
    made.device.warm, made.device.once_s = True, 0.05
    made.device.once(made.pipeline, made.sets[:1] * 10)
    assert sizes == [[4, 4, 2]]
    monkeypatch.setattr("gemmlab.run.backends.webgpu.device.MOST_SUBMISSIONS", 2)
    made.device.once(made.pipeline, made.sets[:1] * 10)
    assert sizes[1:] == [[4, 4], [2]]


def test_a_lost_device_is_told(made):
    made.device.api.destroy()
    with pytest.raises(RuntimeError, match="device was lost") as raised:
        made.elapsed([0])
    assert "lost" in fault_of(raised.value).detail


def test_a_loss_that_is_only_logged_is_told(made):
    made.device.lost.handle(logging.makeLogRecord({"msg": "The WGPU device was lost (Unknown):\nhung", "levelno": 40}))
    with pytest.raises(RuntimeError, match=r"device was lost .*hung"):
        made.elapsed([0])


def test_too_little_memory_is_its_own_fault(made):
    error = made.device.wgpu.GPUOutOfMemoryError("Not enough memory left")
    assert fault_of(error).kind == OUT_OF_MEMORY


def test_text_that_does_not_compile_is_refused_with_the_compilers_words(made, tmp_path):
    file = tmp_path / "mine.wgsl"
    file.write_text("@compute @workgroup_size(1) fn main() { let x: u32 = 1.5; }")
    text = Text("main", str(file), (1, 1), entry="main", rung=False)
    with pytest.raises(GemmlabError, match="main does not compile"):
        made.device.pipeline(text, text.source("float32", "float32"))


def test_a_file_without_half_precision_takes_no_float16(tmp_path):
    (tmp_path / "mine.wgsl").write_text("@compute @workgroup_size(8, 8)\nfn mm() {}\n")
    with pytest.raises(GemmlabError, match=r"`mine\.wgsl` reads no f16"):
        own(Gemm(8, 8, 8, "float16"), f"{tmp_path / 'mine.wgsl'}:mm")


def test_a_workgroup_is_that_of_its_entry_point():
    text = "@compute @workgroup_size(8, 4)\nfn one() {}\n@compute @workgroup_size(64)\nfn other() {}\n"
    found = [re.search(WORKGROUP.format(entry=name), text) for name in ("one", "other")]
    assert [each.groups() for each in found] == [("8", "4"), ("64", None)]
