"""The causes that public threads found in the end, and the direction in which their shapes were mended."""

from typing import NamedTuple

import pytest

import gemmlab.chips
from gemmlab.experiment import explain
from gemmlab.kernels import get
from gemmlab.model.suited import on_chip
from gemmlab.problem import Gemm

TURING_WITHOUT_TENSOR_CORES = """
base = "t4"
name = "gtx-1650"
full_name = "a Turing card without tensor cores"
sm_count = 14
clock_hz = 1.665e9
notes = []

[[levels]]
name = "dram"
bandwidth_bytes_per_s = 128e9
capacity_bytes = 4e9
"""


class Thread(NamedTuple):
    """One public case: what was multiplied where, how, and what turned out to be wrong."""

    source: str
    problem: Gemm
    chip: str
    cause: str
    says: str  #: words that the advice for this cause contains
    gain: float  #: speed-up to predict at least
    tile: str = ""  #: of a kernel that was named
    settings: dict | None = None
    measured_s: float | None = None
    first: bool = True  #: whether it is the largest gain


THREADS = [
    *(
        Thread(
            f"pytorch 106469, i={i}",
            Gemm(i, 100, 100_000, "bfloat16", layout="tn"),
            "a100-sxm-80gb",
            "alignment",
            "pad m",
            1.5,
            first=False,
        )
        for i in (3, 5, 7, 9, 11, 13, 15)
    ),
    Thread(
        "pytorch 106469: huge k",
        Gemm(3, 100, 100_000, "bfloat16", layout="tn"),
        "a100-sxm-80gb",
        "split-k",
        "k is split",
        5,
    ),
    Thread(
        "pytorch PR 125650",
        Gemm(2, 13, 20_569_856, "bfloat16"),
        "a100-sxm-80gb",
        "alignment",
        "n from 13 to 16",
        2,
        first=False,
    ),
    Thread(
        "pytorch PR 125650: huge k", Gemm(2, 13, 20_569_856, "bfloat16"), "a100-sxm-80gb", "split-k", "k is split", 5
    ),
    Thread("pytorch 195716", Gemm(2, 4864, 896, "float16"), "GTX", "library", "library's fault", 5, measured_s=1.9e-3),
    Thread(
        "pytorch 23061", Gemm(80, 24, 40, "float16"), "v100-sxm2-16gb", "measurement", "warm-up", 2, measured_s=5e-3
    ),
    Thread(
        "pytorch 59177",
        Gemm(1000, 1000, 1000, "float16"),
        "v100-sxm2-16gb",
        "measurement",
        "first call",
        10,
        measured_s=20e-3,
    ),
    Thread("pytorch 23061: small", Gemm(80, 24, 40, "float16"), "v100-sxm2-16gb", "launch", "together", 2),
    Thread("pytorch 146508", Gemm(1024, 1024, 1024, "float16"), "epyc-9654-96c", "format", "multiply in float32", 20),
    Thread(
        "pytorch 16594",
        Gemm(4, 400_000, 4, "float32", ldb=400_001),
        "sapphire-rapids-56c",
        "contiguous",
        "copy",
        10,
        measured_s=40e-3,
    ),
    Thread(
        "pytorch 114911",
        Gemm(1, 4096, 4096, "float16"),
        "a100-sxm-80gb",
        "library",
        "another version",
        3,
        measured_s=208e-6,
    ),
    Thread(
        "cutlass 1921",
        Gemm(4096, 4096, 4096, "float16"),
        "h100-sxm",
        "cluster",
        "112 of 132",
        1.03,
        "128x128x64",
        {"cluster_m": 4, "cluster_n": 2, "tiles_from": "shared"},
        first=False,
    ),
    Thread("cutlass PR 3373, m=16", Gemm(16, 8192, 8192, "bfloat16"), "h100-sxm", "waves", "--tile", 1.4, "128x256x64"),
    Thread(
        "cutlass PR 3373, m=128", Gemm(128, 8192, 8192, "bfloat16"), "h100-sxm", "waves", "--tile", 1.4, "128x256x64"
    ),
    Thread(
        "cutlass PR 3373, large n",
        Gemm(4096, 128_256, 1024, "bfloat16"),
        "h100-sxm",
        "raster",
        "--group-m",
        1.2,
        "128x256x64",
        {"group_m": 1},
    ),
    Thread(
        "nvmath-python 21",
        Gemm(16, 4096, 4096, "bfloat16"),
        "h200-sxm",
        "library",
        "tuned for this shape",
        2,
        measured_s=55e-6,
    ),
    Thread("nanoPALM PR 6", Gemm(4096, 50_257, 768, "float16"), "rtx-3090", "alignment", "n from 50257 to 50304", 1.03),
    Thread(
        "nanoGPT's vocabulary",
        Gemm(4096, 50_257, 768, "bfloat16"),
        "a100-sxm-80gb",
        "alignment",
        "n from 50257 to 50304",
        1.25,
    ),
    Thread("jax 18388", Gemm(4096, 4096, 64, "bfloat16"), "tpu-v4", "padding", "padded to 128", 1.8),
    Thread("xla 2947", Gemm(4096, 1, 4096, "float32"), "tpu-v4", "padding", "n=1 is padded to 128", 32),
    Thread(
        "1793 on 108 SMs",
        Gemm(1793, 1793, 4096, "float16", ldb=1800, ldc=1800),
        "a100-pcie-80gb",
        "waves",
        "--tile",
        1.2,
        "256x128x32",
    ),
    Thread(
        "float8_experimental 145",
        Gemm(8193, 2501, 5008, "float8_e4m3fn"),
        "h100-sxm",
        "alignment",
        "n from 2501 to 2560",
        2,
    ),
    Thread(
        "a view with an odd stride", Gemm(4096, 4096, 4096, "bfloat16", lda=4097), "h200-sxm", "contiguous", "copy A", 2
    ),
    Thread(
        "a base one element off",
        Gemm(4096, 4096, 4096, "bfloat16", b_offset_bytes=2),
        "h200-sxm",
        "contiguous",
        "copy B",
        2,
    ),
    Thread(
        "float32 where tf32 would do", Gemm(4096, 4096, 4096, "float32"), "h200-sxm", "precision", "matmul_precision", 2
    ),
    Thread(
        "one thread an output",
        Gemm(1024, 1024, 1024, "float32"),
        "a100-pcie-80gb",
        "tile",
        "--kernel register",
        2,
        "naive",
    ),
    Thread("entries that share B", Gemm(16, 4096, 4096, "bfloat16", batch=32), "h200-sxm", "batch", "m=512", 2),
]

FINE = [
    Thread("pytorch PR 193638", Gemm(4095, 4096, 4096, "float16"), "a100-sxm-80gb", "none", "fine", 1),
    Thread("an even i", Gemm(4096, 4096, 4096, "bfloat16"), "a100-sxm-80gb", "none", "fine", 1),
    Thread("1792 on 108 SMs", Gemm(1792, 1792, 4096, "float16"), "a100-pcie-80gb", "none", "fine", 1, "256x128x32"),
    Thread("T4 beside the GTX", Gemm(2, 4864, 896, "float16"), "t4", "none", "fine", 1, measured_s=50e-6),
    Thread("a padded vocabulary", Gemm(4096, 50_304, 768, "bfloat16"), "h100-sxm", "none", "fine", 1),
    Thread("pad m", Gemm(8193, 2512, 5008, "float8_e4m3fn"), "h100-sxm", "none", "fine", 1),
]


@pytest.fixture(scope="module")
def chips(tmp_path_factory):
    path = tmp_path_factory.mktemp("chips") / "gtx-1650.toml"
    path.write_text(TURING_WITHOUT_TENSOR_CORES)
    return {"GTX": str(path)}


def advice_of(thread, chips):
    kernel = None
    if thread.tile == "naive":
        kernel = get("naive", problem=thread.problem)
    elif thread.tile:
        kernel = get("tensor", problem=thread.problem, tile=thread.tile, **(thread.settings or {}))
    chip = gemmlab.chips.load(chips.get(thread.chip, thread.chip))
    return explain(thread.problem, chip, kernel, measured_time_s=thread.measured_s).advice


@pytest.mark.parametrize("thread", THREADS, ids=lambda thread: thread.source)
def test_a_thread_and_its_cause(thread, chips):
    advice = advice_of(thread, chips)
    named = [a for a in advice if a.cause == thread.cause]
    assert named, [(a.cause, a.change) for a in advice]
    assert any(thread.says in a.change for a in named), [a.change for a in named]
    assert max(a.predicted_speedup for a in named) >= thread.gain
    if thread.first:
        assert advice[0].cause == thread.cause, [(a.cause, a.predicted_speedup) for a in advice]


@pytest.mark.parametrize("thread", FINE, ids=lambda thread: thread.source)
def test_a_shape_that_is_fine(thread, chips):
    assert [a.cause for a in advice_of(thread, chips)] == ["none"]


def test_padding_never_names_a_side_that_is_no_stride():
    for layout, stride, other in (("nn", "k", "m"), ("tn", "m", "k")):
        odd = {stride: 4095, other: 4096, "n": 4096}
        advice = explain(Gemm(odd["m"], odd["n"], odd["k"], "bfloat16", layout=layout), "h200-sxm").advice
        pads = [a.change for a in advice if a.change.startswith("pad")]
        assert pads
        assert all(f"{stride} from" in text and f"{other} from" not in text for text in pads)


def test_a_padded_stride_is_no_multiple_of_2048_bytes():
    """intel/torch-xpu-ops 1129: whole lines, but not strides that share cache sets."""
    advice = explain(Gemm(4096, 4095, 4096, "bfloat16"), "h200-sxm").advice
    assert any("ldb 4095 -> 4160" in a.change for a in advice), [a.change for a in advice]


def test_advice_is_what_it_says_when_followed():
    problem = Gemm(4096, 50_257, 768, "bfloat16")
    before = explain(problem, "h200-sxm")
    padded = explain(problem.replace(n=50_304), "h200-sxm", advice=False)
    gain = before.prediction.time_s / padded.prediction.time_s
    said = max(a.predicted_speedup for a in before.advice if a.change.startswith("pad n"))
    assert said == pytest.approx(gain, rel=0.1)


def test_a_grouped_problem_pads_all_its_members():
    advice = explain(Gemm.grouped([(256, 2047, 4096)] * 8, "bfloat16"), "h200-sxm").advice
    assert any("n from 2047 to 2048" in a.change for a in advice)


@pytest.mark.parametrize(
    ("chip", "problem", "tile"),
    [
        ("h200-sxm", Gemm(3488, 3160, 6144, "bfloat16", layout="nt"), "64x64x32"),
        ("h100-sxm", Gemm(4648, 2048, 1088, "float16"), "128x32x64"),
        ("h100-sxm", Gemm(512, 3072, 16384, "bfloat16"), "64x96x64"),
        ("a100-sxm-80gb", Gemm(2048, 2048, 2048, "float16"), "64x64x32"),
    ],
)
def test_a_tile_is_named_with_all_that_its_gain_needs(chip, problem, tile):
    """The flags alone, given to the command, name the kernel that was priced: stages and clusters too."""
    on = gemmlab.chips.load(chip)
    before = explain(problem, on, on_chip(get("tensor", problem=problem, tile=tile), problem, on))
    said = next(a for a in before.advice if "--tile" in a.change)
    words = said.change.replace("--persistent", "").split()
    flags = {name[2:].replace("-", "_"): value for name, value in zip(words[::2], words[1::2], strict=True)}
    cluster_m, cluster_n = map(int, flags.pop("cluster", "1x1").split("x"))
    numbers = {name: int(value) for name, value in flags.items() if value.isdigit()}
    kernel = get(
        flags["kernel"],
        problem=problem,
        tile=flags["tile"],
        cluster_m=cluster_m,
        cluster_n=cluster_n,
        persistent="--persistent" in said.change,
        **numbers,
    )
    after = explain(problem, on, on_chip(kernel, problem, on), advice=False)
    assert said.predicted_speedup == pytest.approx(before.prediction.time_s / after.prediction.time_s, rel=0.05)


def test_nothing_is_fine_beside_a_change():
    """A chip without a unit for int8 that gains nothing by float16 says one thing, not two."""
    for problem, chip in ((Gemm(118, 911, 7, "int8", layout="nt"), "m2"), (Gemm(8, 8, 8, "tfloat32"), "t4")):
        causes = [a.cause for a in explain(problem, chip).advice]
        assert len(causes) == len(set(causes))
        assert "none" not in causes or causes == ["none"]


def test_launching_together_is_advised_where_it_gains():
    kernel = get("register", problem=(problem := Gemm(1, 18607, 1, "int8")), tile="2x64x165")
    for advice in explain(problem, "a100-pcie-80gb", kernel).advice:
        assert advice.cause == "none" or advice.predicted_speedup >= 1.03, advice
