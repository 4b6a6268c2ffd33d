"""Honest results in several orders of summing, random problems, and the same things in exact fractions."""

import random
from fractions import Fraction

import numpy as np

from gemmlab.formats import dtype_of, float32_to_tfloat32, get
from gemmlab.problem import Gemm

FORMATS = (
    "float64", "float32", "tfloat32", "bfloat16", "float16", "float8_e5m2", "float8_e4m3", "float8_e3m4",
    "float8_e4m3fn", "float8_e5m2fnuz", "float8_e4m3fnuz", "float8_e4m3b11fnuz", "float6_e2m3fn", "float6_e3m2fn",
    "float4_e2m1fn", "int8", "int4", "uint8",
)  # fmt: skip
ORDERS = ("forward", "backward", "shuffled", "split", "pairwise", "library")


def unit(problem):
    return {"float64": 2.0**-53, "float32": 2.0**-24}.get(problem.accumulate, 0.0)


def write(problem, given, order="forward", seed=0):
    """Fill D with what an honest kernel leaves there, a format's own rounding at the end; return it as one array."""
    kind = dtype_of(problem.accumulate)
    for a, b, c, d in zip(*(part.matrices for part in given), strict=True):
        sums = ordered(read(a, problem.a_format, kind), read(b, problem.b_format, kind), order, seed)
        if problem.alpha != 1 or problem.beta != 0:
            whole = float(problem.alpha).is_integer() and float(problem.beta).is_integer()
            scalar = kind.type if kind.kind == "f" else np.int64 if whole else np.float32
            sums = scalar(problem.alpha) * sums.astype(scalar)
            if problem.beta != 0:
                sums = sums + scalar(problem.beta) * c.astype(scalar)
        if get(problem.d_format).kind == "int":
            sums = np.rint(sums)
        d[...] = sums.astype(d.dtype)
    return given.d.array


def read(part, name, kind):
    return (float32_to_tfloat32(np.ascontiguousarray(part)) if name == "tfloat32" else part).astype(kind)


def ordered(a, b, order, seed):
    k = a.shape[1]
    places = list(range(k))
    if order == "library":
        return a @ b
    if order == "pairwise":
        return pairwise([np.outer(a[:, j], b[j]) for j in places])
    if order == "split":
        return pairwise([along(a, b, places[start::3]) for start in range(min(3, k))])
    if order == "backward":
        places.reverse()
    if order == "shuffled":
        random.Random(seed).shuffle(places)
    return along(a, b, places)


def along(a, b, places):
    sums = np.zeros((a.shape[0], b.shape[1]), a.dtype)
    for j in places:
        sums += np.outer(a[:, j], b[j])
    return sums


def pairwise(parts):
    while len(parts) > 1:
        parts = [x + y for x, y in zip(parts[::2], parts[1::2], strict=False)] + parts[len(parts) & ~1 :]
    return parts[0]


def random_problem(seed):
    """Any format, layout, structure, gap, offset, batch or group, factor."""
    r = random.Random(seed)
    name = FORMATS[seed % len(FORMATS)]
    whole = get(name).kind == "int"
    m, n, k = r.randint(1, 40), r.randint(1, 40), r.choice([r.randint(1, 9), r.randint(10, 150)])
    structure = r.choice(["general"] * 4 + ["triangular", "symmetric", "banded", "sparse_2_4"])
    extra = {"lower_band": r.randint(0, 5), "upper_band": r.randint(0, 5)} if structure == "banded" else {}
    if structure == "sparse_2_4":
        k = 4 * r.randint(1, 20)
    elif structure != "general":
        k = m
    extra |= {
        "layout": r.choice(["nn", "nt", "tn", "tt"]),
        "structure": structure,
        "a_offset_bytes": 8 * r.randint(0, 3),
    }
    extra |= {"c_offset_bytes": 48 * r.randint(0, 2)}
    if name.startswith("float6_"):
        extra["a_offset_bytes"] = 3 * r.randint(0, 3)
    if whole:
        extra |= {"alpha": r.choice([1.0, 2.0]), "beta": r.choice([0.0, 1.0])}
        extra |= {"alpha": 1.0, "beta": 0.0} if name == "uint8" else {}
    else:
        extra |= {"alpha": r.choice([1.0, 1.0, 0.5, -1.3]), "beta": r.choice([0.0, 0.0, 1.0, 0.7])}
    if r.random() < 0.4 and not whole and name not in ("float64", "tfloat32"):
        extra["d_format"] = r.choice([name, "float32", "float16", "bfloat16"])
    if structure == "general" and r.random() < 0.2:
        return Gemm.grouped([(r.randint(1, 20), n, r.randint(1, 50)) for _ in range(3)], name, **extra)
    gaps = {"batch": r.choice([1, 1, 1, 3])}
    plain = Gemm(m, n, k, name, **extra)
    gaps |= {ld: getattr(plain, ld) + r.choice([0, 3]) for ld in ("lda", "ldb", "ldc")}
    return Gemm(m, n, k, name, **extra, **gaps)


def exact(problem, a, b, c):
    """alpha * A @ B + beta * C of one multiplication in fractions, and the same of all terms' magnitudes."""
    alpha, beta = Fraction(problem.alpha), Fraction(problem.beta)
    values, sizes = [], []
    for i in range(problem.m):
        for j in range(problem.n):
            terms = [meant(problem, a, i, x) * Fraction(float(b[x, j])) for x in range(problem.k)]
            addend = beta * Fraction(float(c[i, j])) if beta else Fraction(0)
            values.append(alpha * sum(terms) + addend)
            sizes.append((abs(alpha) * sum(map(abs, terms)), abs(addend)))
    return values, sizes


def meant(problem, a, i, j):
    """An element of A, as its structure has it."""
    zero = {
        "triangular": j > i,
        "banded": not -problem.upper_band <= i - j <= problem.lower_band,
    }.get(problem.structure, False)
    if zero:
        return Fraction(0)
    return Fraction(float(a[j, i] if problem.structure == "symmetric" and j > i else a[i, j]))
