"""DRAM traffic of groups, against every member simulated by itself."""

import random

import pytest

from gemmlab import Gemm
from gemmlab.chips import load
from gemmlab.kernels import default_for
from gemmlab.model import traffic
from gemmlab.model.outlook import Outlook
from gemmlab.model.suited import suited


def experts(most, count=160):
    rng = random.Random(most)
    return Gemm.grouped([(rng.randint(1, most), 2048, 4096) for _ in range(count)], "bfloat16", layout="nt")


@pytest.mark.parametrize("most", [60, 600, 3000])
@pytest.mark.parametrize("name", ["h100-sxm", "l40s"])
def test_hundreds_of_experts_move_what_each_of_them_moves(name, most, monkeypatch):
    problem, chip = experts(most), load(name)
    kernel = suited(problem, chip, default_for(problem))
    together = Outlook(problem, chip, kernel).traffic
    assert len(traffic.distinct_members(problem)) <= traffic.MOST_ALIKE
    monkeypatch.setattr(traffic, "MOST_ALIKE", 1 << 30)
    assert len(traffic.distinct_members(problem)) > 40
    apart = Outlook(problem, chip, kernel).traffic
    assert together.read == pytest.approx(apart.read, rel=0.03)
    assert together.total == pytest.approx(apart.total, rel=0.03)
    assert together.low <= together.total <= together.high
    assert together.read >= problem.compulsory_read_bytes


def test_members_of_other_sides_stay_apart():
    problem = Gemm.grouped([(64, 8 * i, 512) for i in range(1, 40)], "float16")
    assert traffic.distinct_members(problem) == [(member, 1) for member in problem.members]


def test_merged_members_are_as_many_and_as_large():
    problem = experts(3000)
    merged = traffic.distinct_members(problem)
    assert sum(count for _, count in merged) == len(problem.members)
    rows = sum(member.m * count for member, count in merged)
    assert problem.m <= rows <= problem.m + len(problem.members)
