"""The model of the CPU's ladder: its caches against ones that are walked line by line, its times against readings."""

import importlib.util
import json
import random
from collections import OrderedDict
from pathlib import Path

import pytest

from gemmlab import chips
from gemmlab.chips.chip import Figure
from gemmlab.chips.machine import Machine
from gemmlab.count.cpu import count_cpu
from gemmlab.kernels.ladder.cpu.tiling import Tiling, amx_tiling, tiling
from gemmlab.model.cpu import phases_of, predict_cpu
from gemmlab.model.cpu_core import DESIGNS, LINE, PAGE, UNKNOWN, core_of, poisson_tail, ports_of, sets_used
from gemmlab.problem import Gemm
from gemmlab.record import GemmlabError

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
CHIP = chips.get("sapphire-rapids-56c")
XEON = Machine(
    model="described", vendor="GenuineIntel", cores=56, threads=112, memory_bytes=0, nominal_hz=0.0,
    flags=frozenset({"avx2", "fma", "avx512f", "amx_bf16", "amx_tile"}), l2_bytes=112 << 20, l3_bytes=105 << 20,
)  # fmt: skip
L1 = 48 << 10
SIZES = tiling(4, 1, XEON, L1)


def predicted(problem, rung, threads=1, sizes=None, chip=CHIP, **fields):
    sizes = sizes or (amx_tiling(XEON, L1) if rung == "amx" else tiling(4, threads, XEON, L1))
    counted = count_cpu(problem, rung, threads, sizes)
    return predict_cpu(problem, chip, rung, counted, threads=threads, machine=XEON, l1_bytes=L1, sizes=sizes, **fields)


def walked_misses(lines, stride, sets, ways, colours, rng):
    """Share of the lines missed by the third of three walks through an LRU cache whose pages lie anywhere."""
    cache = [OrderedDict() for _ in range(sets)]
    page_of = {}
    missed = 0
    for walk in range(3):
        for index in range(lines):
            address = index * stride
            frame = page_of.setdefault(address // PAGE, rng.randrange(colours))
            line = (address // PAGE, address % PAGE // LINE)
            held = cache[(frame * PAGE // LINE + line[1]) % sets]
            if line in held:
                held.move_to_end(line)
                continue
            missed += walk == 2
            held[line] = True
            if len(held) > ways:
                held.popitem(last=False)
    return missed / lines


@pytest.mark.parametrize("stride", [64, 128, 192, 320, 1024, 2048, 3072, 4096, 8192])
@pytest.mark.parametrize("lines", [10, 24, 100, 512, 767, 1024])
def test_l1_keeps_what_a_walked_cache_keeps(lines, stride):
    """All of a walk is missed or none; an L1's sets are chosen within a page, so nothing is drawn."""
    missed = walked_misses(lines, stride, 64, 12, 1, random.Random(1))
    assert missed in (0, 1)
    core = core_of(CHIP, XEON, L1)
    assert core.leaves_l1(lines, stride) == (missed > 0)


@pytest.mark.parametrize(("lines", "stride"), [(300, 2048), (512, 2048), (700, 2048), (256, 4096), (400, 4096)])
def test_l2_loses_as_much_as_a_walked_cache_with_pages_anywhere(lines, stride):
    """1 MiB in 16 ways, as a Zen 5 core's."""
    rng = random.Random(2)
    runs = 30
    mean = sum(walked_misses(lines, stride, 1024, 16, 16, rng) for _ in range(runs)) / runs
    core = core_of(CHIP, XEON, L1)._replace(l2_bytes=1 << 20)
    assert core.design.l2_ways == 16
    assert core.leaves_l2(lines, stride) == pytest.approx(mean, abs=0.08)


def test_sets_that_a_stride_reaches():
    assert [sets_used(stride) for stride in (0, 64, 128, 2048, 4096, 6144, 2000)] == [64, 64, 32, 2, 1, 2, 64]


def test_a_poisson_tail():
    assert poisson_tail(2.0, 1) == pytest.approx(1 - 2.718281828459045**-2)
    assert poisson_tail(0.0, 3) == 0
    assert poisson_tail(1e6, 16) == 1
    assert poisson_tail(16.0, 16) == pytest.approx(0.533, abs=1e-3)


def test_a_long_dot_product_waits_for_its_chain():
    """Zen and Golden Cove add in 3 clocks; what the core sees ahead, 128 steps of 4 operations, hides behind it."""
    problem = Gemm(8, 8, 1 << 20, "float32", layout="nt")
    found = predicted(problem, "naive")
    chain = 3 * (1 - 128 / problem.k) * 8 * 8 * problem.k / float(CHIP.clock_hz)
    assert found.bound == "latency"
    assert found.time_s == pytest.approx(chain)


def test_short_dot_products_overlap():
    short, long = Gemm(512, 16, 64), Gemm(512, 16, 4096)
    a, b = (predicted(problem, "naive").time_s / problem.flop for problem in (short, long))
    assert a < 0.7 * b


def test_a_power_of_two_between_columns_costs_what_its_neighbours_do_not():
    """Rows of 1024 float32 are a page apart: a column's lines fall into one set of L1 and few of L2."""
    at, beside = (predicted(Gemm(n, n, n), "naive").time_s / n**3 for n in (1024, 1016))
    assert at > 1.5 * beside


def test_rows_of_b_come_from_whichever_cache_holds_them():
    for n, level in ((64, "l1"), (600, "l2"), (1500, "l3")):
        found = {each.name: each.bytes for each in predicted(Gemm(n, n, n), "ikj").levels}
        again = 4 * n**3
        assert (found["l2"] > again) == (level != "l1")
        assert (found["l3"] > again) == (level == "l3")


def test_packed_is_bound_by_its_products_and_near_their_time():
    found = predicted(Gemm(2048, 2048, 2048), "packed")
    assert found.bound == "compute"
    assert 1 < found.time_s / found.compute_time_s < 1.2


def test_terms_add_up_and_threads_share():
    for rung in ("naive", "ikj", "blocks", "packed", "amx"):
        form = "bfloat16" if rung == "amx" else "float32"
        problem = Gemm(700, 500, 300, form)
        found = predicted(problem, rung)
        assert sum(term.time_s for term in found.terms) == pytest.approx(found.time_s)
        assert [level.name for level in found.levels] == ["dram", "l3", "l2", "l1"]
        assert predicted(problem.replace(batch=3), rung).time_s == pytest.approx(3 * found.time_s)
    large = Gemm(2048, 2048, 2048)
    assert 3 < predicted(large, "packed").time_s / predicted(large, "packed", 4).time_s <= 4


def test_a_group_takes_as_long_as_its_members():
    members = [Gemm(300, 200, 100), Gemm(50, 60, 70)]
    group = Gemm.grouped([(each.m, each.n, each.k) for each in members])
    alone = sum(predicted(each, "packed", sizes=SIZES).time_s for each in members)
    assert predicted(group, "packed", sizes=SIZES).time_s == pytest.approx(alone)


def test_narrow_library_kernels_take_longer():
    problem = Gemm(512, 512, 512)
    assert predicted(problem, "blocks", library="Haswell").time_s > 1.3 * predicted(problem, "blocks").time_s


def test_a_core_that_no_table_has_is_said_to_be_guessed():
    machine = Machine(**{field: getattr(XEON, field) for field in XEON.__struct_fields__} | {"vendor": "0x48"})
    assert core_of(CHIP, machine).design == UNKNOWN
    counted = count_cpu(Gemm(64, 64, 64), "naive")
    found = predict_cpu(Gemm(64, 64, 64), CHIP, "naive", counted, machine=machine, l1_bytes=L1)
    assert any("guessed" in note for note in found.notes)
    assert len({(each.vendor, each.needs, each.port_bytes) for each in DESIGNS}) == len(DESIGNS)


def test_a_faster_clock_shortens_all_that_the_core_does():
    import msgspec

    quick = msgspec.structs.replace(CHIP, clock_hz=Figure(4e9))
    assert predicted(Gemm(64, 64, 2048), "naive", chip=quick).time_s < predicted(Gemm(64, 64, 2048), "naive").time_s


def test_unknown_rungs_are_refused():
    with pytest.raises(GemmlabError, match="amex"):
        predict_cpu(Gemm(4, 4, 4), CHIP, "amex", count_cpu(Gemm(4, 4, 4), "naive"))


def test_phases_that_overlap_take_the_longest_and_others_their_sum():
    core = core_of(CHIP, XEON, L1)
    problem = Gemm(512, 512, 512)
    for overlaps in (False, True):
        used = core._replace(design=core.design._replace(overlaps=overlaps))
        (each,) = phases_of(problem, "ikj", used, 1)
        memory = [each.parts[level] for level in ("l1", "l2", "l3", "dram")]
        assert each.time_s == max(each.parts["compute"], max(memory) if overlaps else sum(memory))


def benchmark():
    spec = importlib.util.spec_from_file_location("cpu_predictions", BENCHMARKS / "cpu_predictions.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_what_is_recorded_is_what_the_model_says():
    script = benchmark()
    told = json.loads((BENCHMARKS / "results" / "cpu_predictions.json").read_text())
    assert told == json.loads(json.dumps(script.told()))


#: what is predicted too short by more than twice. Of AMX no manual tells what a step takes beyond its products and
#: loads, and torch took as long; rows of 200 elements are short against the start and the end of their loop
MISSED = {
    ("cpu_ladder", "amx", 1024, 1024, 1024),
    ("cpu_ladder", "amx", 2048, 2048, 2048),
    ("cpu_readings_zen5", "ikj", 1500, 200, 700),
}


def test_readings_lie_within_twice_but_for_those_that_are_named():
    told = json.loads((BENCHMARKS / "results" / "cpu_predictions.json").read_text())
    found = [row for row in told["rows"] if not row["left_out"]]
    outside = [row for row in found if not 1 / 2 <= row["ratio"] <= 2]
    missed = {(row["file"], row["rung"], *(row[side] for side in "mnk")) for row in outside}
    assert missed == MISSED
    assert told["all"]["median_factor"] < 1.4
    assert told["all"]["rows"] == len(found) > 40


def test_only_wall_times_of_a_busy_machine_are_left_out():
    told = json.loads((BENCHMARKS / "results" / "cpu_predictions.json").read_text())
    left = [row for row in told["rows"] if row["left_out"]]
    assert {(row["file"], row["threads"]) for row in left} == {("cpu_ladder_avx2", 2)}


def test_sizes_given_are_the_sizes_used():
    small = Tiling(14, 32, 14, 64, 32, 16)
    assert (
        predicted(Gemm(512, 512, 512), "packed", sizes=small).time_s > predicted(Gemm(512, 512, 512), "packed").time_s
    )


def test_any_problem_has_a_time():
    """Ragged, tiny, long, gapped, in every layout: times are finite, positive, and no shorter than the peak allows."""
    rng = random.Random(5)
    for _ in range(400):
        rung = rng.choice(("naive", "ikj", "blocks", "packed", "amx"))
        form = "bfloat16" if rung == "amx" else rng.choice(("float32", "float64"))
        m, n, k = (rng.choice((1, 2, 31, 33, 500, 1023, 4096, 100_000)) for _ in range(3))
        problem = Gemm(m, n, k, form, layout=rng.choice(("nn", "nt", "tn", "tt")), batch=rng.choice((1, 3)))
        if rng.random() < 0.3:
            problem = problem.replace(lda=problem.lda + rng.randint(1, 64), ldb=problem.ldb + rng.randint(1, 64))
        threads = rng.choice((1, 2, 56)) if rung in ("blocks", "packed", "amx") else 1
        found = predicted(problem, rung, threads)
        assert found.compute_time_s * 0.999 <= found.time_s < float("inf"), (problem, rung, threads)
        assert found.dram_bytes >= problem.d_bytes
        assert all(level.bytes > 0 and level.time_s > 0 for level in found.levels)


def test_more_fma_units_than_two_are_used():
    import msgspec

    single = CHIP.peaks["float32"]
    known = ((64, 64, (64, 2)), (32, 64, (32, 2)), (32, 32, (32, 2)), (32, 16, (16, 4)), (8, 16, (16, 2)))
    for rate, width, expected in known:
        peaks = {"float32": msgspec.structs.replace(single, flop_per_clock_per_sm=Figure(rate))}
        assert ports_of(msgspec.structs.replace(CHIP, peaks=peaks), width) == expected
    assert ports_of(msgspec.structs.replace(CHIP, peaks={}), 32) == (32, 2)
