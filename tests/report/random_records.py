"""Records with random sizes, bands, causes and names."""

import msgspec
from hypothesis import strategies as st

from gemmlab.record import Advice, Measurement
from report.records import chip, kernel, problem, record

SIDES = st.one_of(st.integers(1, 40), st.integers(1, 1 << 17), st.integers(1, 1 << 40))
NAMES = st.text(max_size=40)
TIMES = st.floats(1e-9, 1e3)


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
    return msgspec.structs.replace(made, **dict.fromkeys(gone))
