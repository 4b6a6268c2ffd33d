"""Records with random sizes, bands, causes and names."""

import msgspec
from hypothesis import strategies as st

from gemmlab.record import Advice, Measurement, Verdict, WorstElement
from report.records import chip, kernel, problem, record

SIDES = st.one_of(st.integers(1, 40), st.integers(1, 1 << 17), st.integers(1, 1 << 40))
NAMES = st.text(max_size=40)
TIMES = st.floats(1e-9, 1e3)


WORST = st.builds(
    WorstElement,
    index=st.lists(st.integers(0, 1 << 40), min_size=2, max_size=3).map(tuple),
    got=st.one_of(NAMES, st.floats().map(repr)),
    expected=st.floats().map(repr),
    error_over_bound=st.one_of(st.none(), st.floats(0, 1e300)),
)
COUNTS = st.integers(0, 1 << 60)
VERDICTS = st.builds(
    Verdict,
    ok=st.booleans(), wrong_elements=COUNTS, max_relative_error=st.floats(0, 1e300), bound=st.floats(0, 1),
    reference=NAMES, informative=st.booleans(), elements=COUNTS, unwritten_elements=COUNTS, range_elements=COUNTS,
    missed_faults=st.lists(NAMES, max_size=3).map(tuple), worst=st.one_of(st.none(), WORST),
)  # fmt: skip


@st.composite
def random_records(draw):
    p = problem(draw(SIDES), draw(SIDES), draw(SIDES), draw(st.sampled_from(["float16", "float32", "bfloat16"])))
    t = kernel(
        draw(st.sampled_from([1, 16, 128, 256])),
        draw(st.sampled_from([1, 16, 128, 256])),
        draw(st.sampled_from([1, 16, 64])),
        draw(NAMES),
        group_m=draw(st.sampled_from([1, 3, 8])),
        raster=draw(st.sampled_from(["n", "m"])),
        split_k=draw(st.sampled_from([1, 1, 4])),
    )
    c = chip(
        draw(NAMES),
        draw(st.integers(1, 500)),
        dram=draw(st.floats(1e9, 1e14)),
        l2=draw(st.floats(1e9, 1e15)),
        peak=draw(st.floats(1e9, 1e16)),
    )
    low, middle, high = sorted(draw(st.lists(st.floats(1, 1e20), min_size=3, max_size=3)))
    causes = draw(st.lists(st.tuples(NAMES, TIMES, NAMES), max_size=5))
    bound = draw(st.sampled_from(["compute", "dram", "l2", "shared", "latency", "memory-bound", "odd thing"]))
    advice = tuple(
        Advice(cause=a, change=b, predicted_speedup=gain, cost=b, confidence="low")
        for a, b, gain in draw(st.lists(st.tuples(NAMES, NAMES, st.floats(0.5, 100)), max_size=3))
    )
    measured = draw(st.one_of(st.none(), st.builds(Measurement, backend=NAMES, time_s=TIMES)))
    made = record(
        p, c, t, (low, middle, high), causes, bound, advice=advice, notes=tuple(draw(st.lists(NAMES, max_size=2))),
        measurement=measured, slots=draw(st.integers(1, 4)),
    )  # fmt: skip
    gone = draw(st.lists(st.sampled_from(["problem", "chip", "kernel", "count", "prediction", "advice"]), max_size=1))
    return msgspec.structs.replace(made, **dict.fromkeys(gone), verdict=draw(st.one_of(st.none(), VERDICTS)))
