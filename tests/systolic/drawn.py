"""Random arrays, multiplications and operands."""

import numpy as np
from hypothesis import strategies as st

from gemmlab import Gemm
from gemmlab.systolic import Array

RANGES = {"int8": (-128, 128), "uint8": (0, 256), "int16": (-200, 200)}


@st.composite
def arrays(draw, most=9, **fixed):
    """An array of up to `most` PEs a side with any of its options."""
    rows = draw(st.integers(1, most))
    fields = {
        "rows": rows,
        "cols": draw(st.integers(1, most)),
        "dataflow": draw(st.sampled_from(("ws", "is", "os"))),
        "weights": draw(st.sampled_from(("single", "double"))),
        "drain": draw(st.sampled_from(("side", "bottom", "shadow"))),
        "edges": draw(st.sampled_from(("exact", "full"))),
        "accumulators": draw(st.none() | st.integers(2 * rows, 40)),
    }
    return Array(**{**fields, **fixed})


@st.composite
def problems(draw, most=30, formats=("int8", "uint8", "int16")):
    """A multiplication of sides up to `most`."""
    m, n, k = (draw(st.integers(1, most)) for _ in range(3))
    return Gemm(m, n, k, draw(st.sampled_from(formats)), draw(st.sampled_from(formats)))


def operands(problem, seed=0):
    """Random integers of the problem's formats, small enough that int32 holds every sum."""
    rng = np.random.default_rng([seed, problem.m, problem.n, problem.k])
    sides = {"a": (problem.m, problem.k), "b": (problem.k, problem.n)}
    forms = {"a": problem.a_format, "b": problem.b_format}
    return tuple(rng.integers(*RANGES[forms[name]], sides[name]).astype(forms[name]) for name in ("a", "b"))


def exact(a, b):
    """The product in int64."""
    return np.asarray(a).astype(np.int64) @ np.asarray(b).astype(np.int64)
