"""Named suites against the lists as their sources write them."""

import math

import pytest

from gemmlab.problem import suite, suite_names
from gemmlab.problem.suites import describe
from gemmlab.problem.suites.sample import uniform
from gemmlab.record import GemmlabError


def sides(shapes):
    return [(each.problem.m, each.problem.n, each.problem.k) for each in shapes]


@pytest.mark.parametrize("name", suite_names())
def test_every_suite_has_shapes_a_source_and_parameters(name):
    found = describe(name)
    shapes = suite(name)
    assert shapes
    assert found.about
    assert found.source
    assert "format" in found.parameters
    assert all(each.count >= 1 for each in shapes)
    formats = {each.problem.a_format for each in suite(name, format="float32")}
    assert formats == {"float32"}


def test_deepgemm():
    nk = [(2112, 7168), (576, 7168), (24576, 1536), (32768, 512), (7168, 16384), (4096, 7168), (7168, 2048)]
    wide = [(256, 7168), (129280, 7168)]
    by_name = {}
    for each in suite("deepgemm"):
        by_name.setdefault(each.name, []).append(each.problem)
    forward = {(p.m, p.n, p.k) for p in by_name["forward"] + by_name["forward, float32 result"]}
    assert forward == {(m, n, k) for m in (1, 128, 4096) for n, k in nk + wide}
    assert {p.c_format for p in by_name["forward, float32 result"]} == {"float32"}
    assert {(p.m, p.n, p.k) for p in by_name["dgrad"]} == {(4096, k, n) for n, k in nk + wide}
    assert {(p.m, p.n, p.k) for p in by_name["wgrad"]} == {(n, 4096, k) for n, k in nk + wide}
    assert len(suite("deepgemm")) == 27 + 9 + 9 + 9


def test_deepgemm_grouped():
    assert [(len(s.problem.groups), s.problem.m) for s in suite("deepgemm-grouped")] == [(4, 32768)] * 4 + [
        (8, 32768)
    ] * 4


def test_tritonbench():
    assert sides(suite("tritonbench-square")) == [(x, x, x) for x in range(256, 4097, 128)]
    assert sides(suite("tritonbench-splitk")) == [(16 * i, 16 * i, 4096 * j) for i in range(1, 5) for j in range(1, 9)]
    assert sides(suite("tritonbench-builtin"))[:5] == [(8192, 8192, 1024 << i) for i in range(5)]
    assert (2_000_000, 768, 256) in sides(suite("tritonbench-builtin"))
    assert len(suite("tritonbench-builtin")) == 11
    llama = sides(suite("tritonbench-llama"))
    assert len(llama) == 17 * 12
    assert {m for m, _, _ in llama} == {2**i for i in range(17)}
    assert (65536, 16384, 6656) in llama
    large = sides(suite("tritonbench-nonsquare"))
    assert set(large) == {(m, x, x) for m in (4096, 8192, 12288) for x in (1024, 2048)} | {
        (x, n, x) for n in (4096, 8192, 12288) for x in (1024, 2048)
    }


def test_tileops():
    assert len(suite("tileops")) == 12
    assert sides(suite("tileops"))[0] == (1024, 1024, 1024)
    assert (96, 2112, 7168) in sides(suite("tileops"))
    scaled = [each.problem.scale_bytes for each in suite("tileops-float8") if each.name == "block of 128"]
    assert scaled[0] == 4 * (128 + 2112) * 56  # scales (128, 56) and (2112, 56), as the manifest's shape rule says


@pytest.mark.parametrize("tp", [1, 2, 4, 8])
def test_vllm_weights_are_shared_by_gpus(tp):
    shapes = suite("vllm", model="llama-3-70b", tokens=16, tp=tp)
    assert sides(shapes) == [
        (16, 10240 // tp, 8192),
        (16, 8192, 8192 // tp),
        (16, 57344 // tp, 8192),
        (16, 8192, 28672 // tp),
    ]


def test_vllm_weights_are_the_ones_that_architectures_give():
    for model in ("llama-2-7b", "llama-2-13b", "llama-2-70b", "llama-3-8b", "llama-3-70b", "llama-3-405b"):
        derived = {(s.problem.n, s.problem.k) for s in suite(model, sequence=16) if s.problem.batch == 1}
        listed = {(s.problem.n, s.problem.k) for s in suite("vllm", model=model, tokens=16)}
        assert listed < derived


def test_splitmix64_gives_the_published_numbers():
    # the reference C code, seed 1234567, gives 6457827717110365317, 3203168211198807973, 9817491932198370423
    draws = uniform(1234567)
    expected = (6457827717110365317, 3203168211198807973, 9817491932198370423)
    assert [next(draws) for _ in range(3)] == [(value >> 11) / 2**53 for value in expected]


def test_stream_k_is_a_seeded_log_uniform_sample():
    shapes = sides(suite("stream-k", count=3000))
    assert sides(suite("stream-k", count=200)) == shapes[:200]
    assert shapes != sides(suite("stream-k", count=3000, seed=1))
    assert len(suite("stream-k")) == 200
    for axis in range(3):
        logs = sorted(math.log(shape[axis] / 128) / math.log(64) for shape in shapes)
        assert logs[0] >= 0
        assert logs[-1] <= 1
        furthest = max(abs(value - (i + 0.5) / len(logs)) for i, value in enumerate(logs))
        assert furthest < 1.95 / math.sqrt(len(logs))  # Kolmogorov-Smirnov at 0.1 %


@pytest.mark.parametrize("multiple", [8, 64, 100, 8192])
def test_stream_k_rounds_within_the_range(multiple):
    for shape in sides(suite("stream-k", count=100, multiple=multiple)):
        assert all(128 <= value <= 8192 and value % multiple == 0 for value in shape)


def test_waves_are_whole_or_one_tile_more():
    for each in suite("waves"):
        tiles = -(-each.problem.m // 128) * -(-each.problem.n // 128)
        if each.name.startswith("whole"):
            assert tiles % 132 == 0
        if each.name == "one tile more":
            assert tiles % 132 == 1
    tiles = [-(-x // 256) * -(-x // 128) for x in (1792, 1793)]
    assert tiles == [98, 120]
    assert sides(suite("waves"))[-2:] == [(1792, 1792, 4096), (1793, 1793, 4096)]


def test_alignment_probes_leave_the_fast_road_one_at_a_time():
    shapes = {each.name: [] for each in suite("alignment")}
    for each in suite("alignment"):
        shapes[each.name].append(each.problem)
    assert {p.ldb for p in shapes["n"]} == {4095, 4096, 4097, 4104, 4224}
    assert {p.lda for p in shapes["k"]} == {4095, 4096, 4097, 4104, 4224}
    assert {(p.lda, p.ldb, p.ldc) for p in shapes["m alone"]} == {(4096, 4096, 4096)}
    assert shapes["ldb 4097"][0].ldb == 4097
    assert shapes["B starts 2 bytes late"][0].b_offset_bytes == 2


@pytest.mark.parametrize(
    ("name", "parameters", "text", "hint"),
    [
        ("deepgem", {}, "unknown suite `deepgem`", "deepgemm"),
        ("gpt-2", {}, "unknown suite `gpt-2`", "gpt2"),
        ("gpt2", {"sequense": 5}, "unknown parameter of suite gpt2 `sequense`", "sequence"),
        ("gpt2", {"sequence": -1}, "sequence=-1", "at least 1"),
        ("gpt2", {"batch": 0}, "batch=0", "at least 1"),
        ("gpt2", {"format": "floaty16"}, "unknown format `floaty16`", "float16"),
        ("tileops", {"format": "floaty16"}, "unknown format", "float16"),
        ("vllm", {"model": "llama3-8b"}, "unknown model `llama3-8b`", "llama-3-8b"),
        ("vllm", {"tp": 3}, "tp=3 does not divide k=4096", "power of two"),
        ("vllm", {"tokens": 0}, "tokens=0", "at least 1"),
        ("stream-k", {"count": 0}, "count=0", "at least 1"),
        ("stream-k", {"multiple": 9000}, "multiple=9000 has no multiple in 128..8192", "smaller"),
        ("stream-k", {"seed": 0.5}, "seed=0.5", ""),
    ],
)
def test_suites_that_do_not_exist(name, parameters, text, hint):
    with pytest.raises(GemmlabError) as error:
        suite(name, **parameters)
    assert text in error.value.text
    assert hint in error.value.hint
