"""What `peak.py` multiplies, group by group, and the bars that each group is held to.

A row is m, n, k, the format and how A and B lie. `nt` says that A's rows in memory run along k (n) and B's along k too
(t: B is the view of a matrix (n, k)); `nt+1` that both begin one element past an aligned address, `nt/4097` that their
rows are 4097 elements apart. A format with `fast` behind it is asked for with accuracy="fast": float8 in one
accumulator, float32 as tfloat32. `96*nt` is a batch of 96 such multiplications.
"""

import math
from typing import NamedTuple

Shape = tuple[int, int, int]
Row = tuple[int, int, int, str, str]
Group = tuple[float | None, float | None, list[Row]]

#: of networks: m, n, k
OF_NETWORKS = (
    (4096, 7168, 2048),
    (4096, 2112, 7168),
    (4096, 576, 7168),
    (4096, 24576, 1536),
    (8192, 8192, 1024),
    (4096, 4224, 4096),
    (256, 8192, 8192),
)
CUBES = (512, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 16384)
EIGHT_CUBES = (512, 1024, 2048, 4096, 8192)
#: weights that a few rows are multiplied by: n, k
WEIGHTS = ((2112, 7168), (8192, 8192), (28672, 8192), (8192, 28672), (7168, 16384))
MORE_WEIGHTS = (*WEIGHTS, (576, 7168), (4096, 4096), (7168, 2048))
FEW = (8, 16, 32, 64)


def rows(shapes: list[Shape] | tuple[Shape, ...], form: str, layout: str = "nt") -> list[Row]:
    """Shapes of one format and layout."""
    return [(*shape, form, layout) for shape in shapes]


def batches(batch: int, shapes: list[Shape], form: str, layout: str = "nt") -> list[Row]:
    """Shapes of each of which a batch is multiplied."""
    return rows(shapes, form, f"{batch}*{layout}")


def cubes(sides: tuple[int, ...]) -> list[Shape]:
    """All three sides alike."""
    return [(side, side, side) for side in sides]


def weights(few: tuple[int, ...], sides: tuple[tuple[int, int], ...]) -> list[Shape]:
    """Each of a few rows by each of the weights."""
    return [(m, n, k) for m in few for n, k in sides]


#: name of a group, bars of the geometric mean and of each row (None: told without a bar), and its rows
GROUPS: dict[str, Group] = {
    "unaligned, sides >= 2047": (5.0, 3.5, [
        *rows([(4095, 4097, 4099), (4096, 50257, 768), (4096, 4096, 4095)], "bfloat16"),
        *rows([(8191, 8193, 8191), (2047, 2049, 2051)], "bfloat16"),
        (4096, 50257, 768, "bfloat16", "nn"),
        (4096, 4096, 4096, "bfloat16", "nt+1/4104"),
        (4096, 4096, 4096, "bfloat16", "nt/4097"),
        (4095, 4097, 4099, "float16", "nt"),
    ]),
    "unaligned, about 1000": (2.2, 1.5, [(1000, 1001, 1003, "bfloat16", "nt"), (999, 1001, 1003, "float16", "nn")]),
    "float32, sides >= 1000": (3.5, 2.5, [
        *rows(cubes((1024, 2048, 3072, 4096, 8192)), "float32"),
        *rows([(4095, 4097, 4099), (4096, 50257, 768), (4096, 2112, 7168)], "float32"),
        (4096, 7168, 2048, "float32", "nn"),
    ]),
    "float32, m <= 256, huge k, 512": (1.3, 1.0, rows(
        [(512, 512, 512), (256, 8192, 8192), (128, 8192, 8192), (16, 8192, 8192), (256, 256, 16384)], "float32")),
    "m = 1": (1.2, 1.0, [
        *rows(weights((1,), MORE_WEIGHTS), "bfloat16"), *rows(weights((1,), MORE_WEIGHTS), "float8_e4m3fn")]),
    "m = 8..64": (1.05, 0.95, [
        *rows(weights(FEW, WEIGHTS), "bfloat16"), *rows(weights(FEW, MORE_WEIGHTS), "float8_e4m3fn")]),
    "m = 128": (1.0, 0.93, rows(weights((128,), WEIGHTS), "bfloat16")),
    "huge k, few tiles": (1.03, 0.95, rows(
        [(256, 256, 65536), (512, 512, 16384), (128, 128, 65536), (64, 64, 32768), (32, 32, 65536)], "bfloat16")),
    "aligned": (1.02, 0.97, [
        *rows(cubes(CUBES), "bfloat16"), *rows(OF_NETWORKS, "bfloat16"),
        (4096, 4096, 4096, "float16", "nn"), (4096, 4096, 4096, "bfloat16", "tn")]),
    "float8 fast": (1.03, 0.95, rows([*cubes(EIGHT_CUBES), *OF_NETWORKS], "float8_e4m3fn fast")),
    "float8 two-level": (1.01, 0.95, rows([*cubes(EIGHT_CUBES), *OF_NETWORKS], "float8_e4m3fn")),
    "tfloat32": (None, None, rows([*cubes((1024, 2048, 4096, 8192)), (4096, 7168, 2048)], "float32 fast")),
    "batches": (None, None, [
        *batches(96, [(512, 512, 64)], "bfloat16"), *batches(96, [(512, 64, 512)], "bfloat16", "nn"),
        *batches(16, [(2048, 2048, 128)], "bfloat16"), *batches(256, [(1, 4096, 128)], "bfloat16"),
        *batches(256, [(1, 128, 4096)], "bfloat16", "nn"), *batches(8, [(128, 4096, 7168)], "bfloat16"),
        *batches(4, [(4096, 4096, 4096)], "bfloat16"), *batches(64, [(100, 101, 103)], "bfloat16"),
        *batches(1000, [(32, 32, 32)], "float32"), *batches(96, [(512, 512, 64)], "float32"),
        *batches(64, [(100, 101, 103)], "float32", "nn")]),
}  # fmt: skip

#: what the groups are hoped to reach, where all goes well
AIMS = {
    "unaligned, sides >= 2047": 6.5,
    "unaligned, about 1000": 3.0,
    "float32, sides >= 1000": 4.3,
    "float32, m <= 256, huge k, 512": 2.0,
    "m = 1": 1.35,
    "m = 8..64": 1.12,
    "m = 128": 1.04,
    "huge k, few tiles": 1.2,
    "aligned": 1.05,
    "float8 fast": 1.06,
    "float8 two-level": 1.05,
}

#: one row reads its weights at least at this share of a copy's rate: from so many bytes on
SHARES_OF_COPY = ((100e6, 0.95), (29e6, 0.80))


class Found(NamedTuple):
    """A group's figures beside its bars."""

    mean: float | None  #: geometric mean of torch's time over ours
    worst: float | None
    holds: bool | None  #: None where there is no bar


def chosen(prefixes: list[str]) -> list[str]:
    """Groups whose names begin with one of these, in their own order; all where none is given."""
    unknown = [prefix for prefix in prefixes if not any(name.startswith(prefix) for name in GROUPS)]
    if unknown:
        raise SystemExit(f"no group begins with {unknown[0]!r}: {', '.join(GROUPS)}")
    return [name for name in GROUPS if not prefixes or any(name.startswith(prefix) for prefix in prefixes)]


def share_bar(row: dict) -> float:
    """The least share of a copy's rate for a row of the results; 0 where none is asked."""
    if row["m"] != 1:
        return 0.0
    bytes_ = row["n"] * row["k"] * (1 if row["format"].startswith("float8") else 2)
    return next((share for least, share in SHARES_OF_COPY if bytes_ >= least), 0.0)


def held(name: str, found: list[dict]) -> Found:
    """A group's results beside its bars: every row is there, right, as accurate as torch, and none is too slow."""
    bar, least, given = GROUPS[name]
    ratios = [row["ratio"] for row in found if "ratio" in row]
    if not ratios:
        return Found(None, None, None if bar is None else False)
    mean, worst = math.exp(math.fsum(map(math.log, ratios)) / len(ratios)), min(ratios)
    if bar is None or least is None:
        return Found(mean, worst, None)
    good = len(ratios) == len(given) and all(row["right"] and row["as_accurate"] for row in found)
    reading = all(row.get("copy_share", 1.0) >= share_bar(row) for row in found)
    return Found(mean, worst, good and reading and mean >= bar and worst >= least)
