"""The predicted time as a sum of named causes, on problems, chips and kernels of every kind."""

import math
import random

import pytest

from gemmlab import Gemm, explain
from gemmlab.chips import names
from gemmlab.kernels import get
from gemmlab.model.effects import ALL, NOTHING, Effects
from gemmlab.model.waterfall import CAUSES, waterfall
from gemmlab.record import GemmlabError

STRUCTURES = ("general", "general", "triangular", "symmetric", "banded", "sparse_2_4", "groups")
FORMATS = ("float32", "float16", "bfloat16", "int8", "float8_e4m3fn")
FAMILIES = (None, None, "naive", "tiled", "register", "tensor", "warpgroup")


def random_problem(rng):
    m, n, k = (int(2 ** rng.uniform(0, 13)) for _ in "mnk")
    structure, name = rng.choice(STRUCTURES), rng.choice(FORMATS)
    if structure == "groups":
        return Gemm.grouped(
            [tuple(int(2 ** rng.uniform(0, 11)) for _ in "mnk") for _ in range(rng.randint(1, 6))], name
        )
    if structure == "general":
        return Gemm(
            m,
            n,
            k,
            name,
            batch=rng.choice((1, 1, 7, 100)),
            beta=rng.choice((0, 1)),
            layout=rng.choice(("nn", "nt", "tn")),
            epilogue=rng.choice(("", "residual", "bias")),
        )
    if structure == "sparse_2_4":
        return Gemm(m, n, 4 * k, name, structure=structure)
    bands = {"lower_band": rng.randint(0, m), "upper_band": rng.randint(0, 9)} if structure == "banded" else {}
    return Gemm(m, n, m, name, structure=structure, **bands)


def random_kernel(rng, problem):
    family = rng.choice(FAMILIES)
    if family is None:
        return None
    return get(
        family, problem=problem, split_k=rng.choice((1, 1, 3)), group_m=rng.choice((1, 8)), raster=rng.choice("mn")
    )


def test_terms_add_up_and_none_is_negative():
    rng, answered, causes = random.Random(5), 0, set()
    for _ in range(400):
        problem, chip = random_problem(rng), rng.choice(names())
        try:
            prediction = explain(problem, chip, random_kernel(rng, problem), advice=False).prediction
        except GemmlabError:  # a format that the chip has not, a tile that does not fit
            continue
        answered += 1
        assert math.fsum(term.time_s for term in prediction.terms) == pytest.approx(prediction.time_s, rel=1e-9)
        for term in prediction.terms:
            assert term.time_s >= 0, (term, chip, problem)
            assert math.isfinite(term.time_s)
            assert term.why
        assert len({term.cause for term in prediction.terms}) == len(prediction.terms)
        causes |= {term.cause for term in prediction.terms}
    assert answered > 250
    assert {cause.name for cause in CAUSES} <= causes


def test_the_floor_is_the_data_sheets_roofline():
    for problem, chip, peak, bandwidth in (
        (Gemm(8192, 8192, 8192, "float16"), "a100-pcie-80gb", 312e12, 1.935e12),
        (Gemm(1, 8192, 8192, "float16"), "a100-pcie-80gb", 312e12, 1.935e12),
        (Gemm(4096, 512, 4096, structure="symmetric"), "h200-sxm", 66.9e12, 4.8e12),
        (Gemm(4096, 512, 4096, structure="triangular"), "h200-sxm", 66.9e12, 4.8e12),
        (Gemm(64, 4096, 64, beta=1.0), "h200-sxm", 66.9e12, 4.8e12),
    ):
        first = explain(problem, chip, advice=False).prediction.terms[0]
        arithmetic, memory = problem.flop / peak, problem.compulsory_bytes / bandwidth
        assert first.time_s == pytest.approx(max(arithmetic, memory), rel=1e-3)
        assert first.cause.startswith("arithmetic" if arithmetic > memory else "each matrix once")


def test_every_effect_belongs_to_one_cause():
    listed = [cause.effect for cause in CAUSES]
    assert sorted(listed) == sorted(Effects._fields)
    assert not any(NOTHING)
    assert all(ALL)


def test_terms_are_differences_of_repeated_runs():
    """A stand-in for the model: each effect costs a power of two, and some cost nothing."""
    price = {name: 2.0**-i if i % 3 else 0.0 for i, name in enumerate(Effects._fields)}

    def time_with(effects):
        return 10.0 + sum(price[name] for name in Effects._fields if getattr(effects, name))

    terms = waterfall(time_with, "floor")
    assert (terms[0].cause, terms[0].time_s) == ("floor", 10.0)
    paid = {cause.name: price[cause.effect] for cause in CAUSES}
    assert {term.cause: term.time_s for term in terms[1:]} == {name: cost for name, cost in paid.items() if cost}


@pytest.mark.parametrize(
    ("problem", "chip", "kernel", "cause"),
    [
        (Gemm(4095, 4095, 4095, "float16"), "h200-sxm", "tensor", "alignment"),
        (Gemm(64, 64, 64, "float16"), "h200-sxm", "tensor", "launch"),
        (Gemm(64, 64, 65536, "float16"), "h200-sxm", "tensor", "idle in the last wave"),
        (Gemm(1025, 1025, 4096, batch=64), "h200-sxm", "register", "ragged tiles"),
        (Gemm(2048, 2048, 2048), "h200-sxm", "naive", "feeding the arithmetic"),
        (Gemm(8192, 8192, 8192, "float16"), "a100-pcie-80gb", None, "peak not held"),
        (Gemm(1, 16384, 16384, "float16"), "a100-pcie-80gb", None, "DRAM below data sheet"),
    ],
)
def test_causes_that_weigh_most(problem, chip, kernel, cause):
    terms = explain(problem, chip, kernel, advice=False).prediction.terms
    assert max(terms[1:], key=lambda term: term.time_s).cause == cause


def test_split_k_shows_its_second_pass():
    problem = Gemm(64, 64, 65536, "float16")
    kernel = get("tensor", problem=problem, tile="64x64x64", split_k=32)
    terms = {term.cause: term.time_s for term in explain(problem, "h200-sxm", kernel, advice=False).prediction.terms}
    assert terms["split-k reduction"] > 1e-6
