"""`gemmlab numerics truncate`: plateaus of known units and one's own, and what is refused."""

from pathlib import Path

import numpy as np
import pytest

from gemmlab.experiment import unit_backends
from gemmlab.experiment.unit_backends import Asked
from gemmlab.report.canvas import cells

SEVENTEEN = Path(__file__).parents[2] / "examples" / "units" / "seventeen.toml"


@pytest.mark.parametrize(
    ("unit", "plateau", "width"),
    [
        ("hopper.wgmma.float8_e4m3fn", 10, 22),
        ("ada.mma.float8_e5m2", 10, 22),
        ("ampere.mma.float16", 0, 32),
        ("hopper.mma.float8_e4m3fn", 0, 32),
        (SEVENTEEN, 6, 26),
    ],
)
@pytest.mark.parametrize("more", [(), ("--mode", "chained", "--block-k", "32")])
def test_plateaus(run, unit, plateau, width, more):
    done = run("numerics", "truncate", "--unit", unit, "--json", *more)
    assert done.status == 0
    (record,) = done.records
    told = record.numerics
    assert (told.plateau, told.width_bits, told.fraction_bits) == (plateau, width, 23 - plateau)
    assert [step.bits for step in told.sweep] == list(range(24))
    assert all((step.unchanged == 1) == (step.bits <= plateau) for step in told.sweep)
    assert told.kind == "emulated"


def test_the_report_says_what_it_cannot_show(run):
    done = run("numerics", "truncate", "--unit", SEVENTEEN, "--plot", "sweep.svg", "--html", "sweep.html")
    assert done.status == 0
    assert "6 low bits can be cleared unseen: the accumulator hands on 17 fraction bits" in done.out
    assert "not shown: alignment" in done.out
    assert all(cells(line) <= 80 for line in done.out.splitlines())
    assert "6 low bits" in Path("sweep.svg").read_text()
    assert "numerics.sweep" in Path("sweep.html").read_text()


def test_answers_that_float64_contradicts_are_no_answer(run, monkeypatch):
    def zeros(a, b, c=None):
        return np.zeros((a.shape[0], b.shape[1]), np.float32)

    monkeypatch.setitem(unit_backends.BACKENDS, "numpy", lambda settings: Asked(zeros, "float32"))
    done = run("numerics", "truncate", "--backend", "numpy", "--format", "float16")
    assert done.status == 1
    assert "No answer: with 0 bits cleared" in done.out
    told = run("numerics", "truncate", "--backend", "numpy", "--format", "float16", "--json").records[0].numerics
    assert (told.plateau, told.width_bits, told.kind) == (None, None, "measured")


def test_a_library_is_named_by_its_kernel(run, monkeypatch):
    class Library:
        kernel, opcode = "gemm_64x64", "unknown"

        def __call__(self, a, b):
            return np.matmul(a, b, dtype=np.float32)

    monkeypatch.setitem(unit_backends.BACKENDS, "numpy", lambda settings: Asked(Library(), "float32"))
    done = run("numerics", "truncate", "--backend", "numpy", "--format", "float16")
    assert done.status == 0
    assert "kernel gemm_64x64; its instruction is unknown" in " ".join(done.out.split())
    assert "measured" in done.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "there is no --unit and no --backend"),
        (("--unit", "ampere.mma.float16.float16"), "accumulates in float16"),
        (("--unit", "amx.tdp.int8"), "accumulates in int32"),
        (("--unit", "ampere.mma.float16", "--mode", "inside"), "unknown mode `inside`"),
        (("--unit", "ampere.mma.float16", "--action", "drop"), "unknown action `drop`"),
        (("--unit", "ampere.mma.float16", "--block-k", "0"), "0 is not a size"),
        (("--unit", "ampere.mma.float16", "--shape", "1", "2"), "--shape has no value"),
        (("--unit", "ampere.mma.float16", "--shape", "1000000", "1000000", "8"), "of memory are free"),
        (("--unit", "ampere.mma.float16", "--seed", "-1"), "--seed: -1 is no seed"),
        (("--backend", "torch", "--format", "float8_e4m3fn"), "torch.mm takes no float8_e4m3fn"),
        (("--backend", "scaled_mm", "--format", "float16"), "torch._scaled_mm takes no float16"),
    ],
)
def test_bad_input(run, words, said, tmp_path):
    done = run("numerics", "truncate", *words)
    assert (done.status, done.out) == (2, "")
    assert said in done.err
    assert not list(tmp_path.iterdir())
