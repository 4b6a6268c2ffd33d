"""What runs in Triton on a GPU: the rungs on tensor cores, and kernels of one's own."""

from gemmlab.run.contender import Contender

HERE = "gemmlab.run.backends.triton.program"

CONTENDERS = (
    Contender(
        name="tensor",
        backend="triton",
        source=f"{HERE}:program:tensor",
        idea="tl.dot on tiles: tensor cores multiply, tiles go in groups through the L2 cache",
        formats=("float16", "bfloat16"),
        unit_roundoff=2.0**-23,
        counted_by="tensor",
        settings={"tile": (128, 128, 64), "warps": 8, "stages": 3, "group_m": 8},
    ),
    Contender(
        name="persistent",
        backend="triton",
        source=f"{HERE}:program:persistent",
        idea="the copy engine fetches tiles, and a program goes through many without a pause",
        formats=("float16", "bfloat16"),
        unit_roundoff=2.0**-23,
        counted_by="warpgroup",
        settings={"tile": (128, 256, 64), "stages": 3, "cluster_m": 1, "persistent": True, "group_m": 8},
    ),
)

#: FUNC(a, b, c) in Python that launches Triton kernels on tensors
OWN = Contender(
    name="own",
    backend="triton",
    source=f"{HERE}:own:FILE.py:FUNC",
    idea="one's own kernel in Triton",
    formats=("float32", "tfloat32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"),
    unit_roundoff=2.0**-23,
)
