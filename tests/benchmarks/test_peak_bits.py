"""The benchmark of bits without a GPU: what its cases cover and what it sees; kernels compiled ahead of their need."""

from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch")
BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def bits(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import peak_bits

    return peak_bits


def test_cases_cover_what_is_promised(bits):
    found = bits.cases()
    assert found == bits.cases()
    assert len(found) == 200
    assert {(of.a_format, of.b_format) for of in found} == {(a, b) for a, b, _ in bits.FORMATS}
    for pair in {(of.a_format, of.b_format) for of in found}:
        of_pair = [of for of in found if (of.a_format, of.b_format) == pair]
        assert {of.accuracy for of in of_pair} == {"vendor", "best", "fast"}
        assert {(of.a.turned, of.b.turned) for of in of_pair} == {(x, y) for x in (False, True) for y in (False, True)}
    assert any(of.k % 16 and of.m % 8 and of.n % 8 for of in found)


def test_all_around_an_operand_is_no_number(bits):
    numbers = torch.arange(12.0).view(3, 4).bfloat16()
    for turned in (False, True):
        found = bits.laid(torch, numbers, bits.Lying(turned, gap=3, offset=2), "cpu")
        assert torch.equal(found, numbers)
        memory = torch.as_strided(found, (found.untyped_storage().nbytes() // 2,), (1,), 0)
        assert int(memory.isnan().sum()) == len(memory) - 12


def planned(bits, of):
    """A, B, and D of the plan by the CPU, as the GPU should give it."""
    from gemmlab.peak.bits import reproduced
    from gemmlab.peak.choosing import plan_for
    from gemmlab.peak.request import Request

    a, b = bits.operands(torch, of, "cpu")
    fields = {name: getattr(of, name) for name in ("m", "n", "k", "a_format", "b_format", "d_format", "accuracy")}
    plan = plan_for(Request(**fields, deterministic=True))
    told = np.ascontiguousarray(reproduced(plan, bits.array(a), bits.array(b)))
    d = torch.from_numpy(told.view(np.uint8)).view(getattr(torch, of.d_format)).reshape(of.m, of.n)
    return a, b, d.clone(), plan


def test_one_wrong_bit_is_seen(bits, monkeypatch):
    of = next(of for of in bits.cases() if of.d_format == "bfloat16" and of.m > 16 and of.n > 16 and of.seed > 8)
    a, b, d, plan = planned(bits, of)
    monkeypatch.setattr(bits, "product", lambda *_: (a, b, d, plan))
    right = bits.compared(torch, of, "cpu")
    assert (right["wrong"], right["elements"]) == (0, of.m * of.n)
    d.view(torch.int16)[5, 7] ^= 1
    wrong = bits.compared(torch, of, "cpu")
    assert wrong["wrong"] == 1
    assert wrong["first"].startswith("[5, 7]")
    told = bits.summed([right, wrong, {"case": of._asdict(), "fault": "it broke"}], 1.0, torch)
    assert (told["shapes"], told["mismatched_shapes"], told["mismatched_elements"]) == (3, 2, 1)


def test_kernels_are_compiled_before_they_are_needed(monkeypatch, tmp_path):
    pytest.importorskip("cuda.bindings", reason="NVRTC is not installed: pip install cuda-bindings nvidia-cuda-nvrtc")
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    import precompile
    from gemmlab.kernels.nvrtc import kept
    from gemmlab.peak.choosing import plan_for
    from gemmlab.peak.request import Request

    form = {"a_format": "bfloat16", "b_format": "bfloat16", "d_format": "bfloat16", "deterministic": True}
    requests = [Request(m=64, n=8, k=64, **form), Request(m=64, n=8, k=64, **form | {"a_format": "int8"})]
    assert len(precompile.precompiled(requests, processes=1)) == 1
    (made,) = tmp_path.rglob("*.cubin")
    text, headers = plan_for(requests[0]).kernel.text()
    assert kept(text, headers=headers) == made.read_bytes()
    assert len(list(tmp_path.rglob("*.cubin"))) == 1
