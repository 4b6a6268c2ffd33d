"""The closed form: every count of a multiplication on an array at once, however large it is."""

from __future__ import annotations

from functools import reduce

from gemmlab.problem import Gemm
from gemmlab.record import SystolicSection
from gemmlab.systolic.arithmetic import arithmetic
from gemmlab.systolic.array import Array
from gemmlab.systolic.dataflow import sides
from gemmlab.systolic.figures import Tally, check, section, tally
from gemmlab.systolic.formula import formula
from gemmlab.systolic.plan import Plan, plans, traffic


def closed_form(problem: Gemm, array: Array) -> SystolicSection:
    """Cycles, accesses and traffic of the multiplication, were DRAM never to make the array wait.

    Groups and batch entries run one after another. DRAM's traffic is that of the way through SRAM with the fewest
    cycles, then bytes. Sources of the formulas: see `formula`. Raises GemmlabError for formats that no PE multiplies,
    for what is more than a multiplication, and where SRAM does not hold two pieces of each operand.
    """
    check(problem)
    whole = reduce(Tally.plus, (chosen(member, array)[0] for member in problem.members))
    return section(problem, array, "closed form", whole.times(problem.batch))


def chosen(problem: Gemm, array: Array) -> tuple[Tally, Plan]:
    """One multiplication, by the quickest of its ways through SRAM, and which that is."""
    told = arithmetic(problem, array)
    size = sides(problem, array.flow)
    best: tuple[Tally, Plan] | None = None
    ways = plans(problem, array)
    if array.sram_bytes is None:
        ways = ways[:1]  # more strips only add cycles, and nothing comes twice as it is
    for plan in ways:
        form = formula(size, array, told, plan.strips if array.moves_sums else 1, plan.outer)
        bits = traffic(problem, array, plan)
        strips = plan.strips if array.moves_sums else 1
        if best is None or (form.cycles, sum(bits)) < (best[0].cycles, best[0].dram_bits):
            best = tally(form, strips, problem.m * problem.n * problem.k, bits), plan
    assert best is not None
    return best
