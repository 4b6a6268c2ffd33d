"""What runs through WebGPU: the two rungs in WGSL, the second also in narrower tiles, and files of one's own."""

from gemmlab.run.contender import Contender

HERE = "gemmlab.run.backends.webgpu.program"
FORMATS = ("float32", "float16")
#: WGSL gives either neighbour of a sum or product that float32 does not hold (WGSL, "Floating Point Accuracy")
UNIT = 2.0**-23

CONTENDERS = (
    Contender(
        name="naive",
        backend="webgpu",
        source=f"{HERE}:program:naive",
        idea="one invocation an output, both operands straight from storage",
        formats=FORMATS,
        unit_roundoff=UNIT,
        counted_by="naive",
    ),
    Contender(
        name="tiled_8",
        backend="webgpu",
        source=f"{HERE}:program:tiled:8",
        idea="the next one in tiles of 8: each element fetched twice as often",
        formats=FORMATS,
        unit_roundoff=UNIT,
        counted_by="tiled",
        settings={"tile": (8, 8, 8)},
    ),
    Contender(
        name="tiled",
        backend="webgpu",
        source=f"{HERE}:program:tiled",
        idea="tiles of 16 in the workgroup's memory: each element fetched once a workgroup",
        formats=FORMATS,
        unit_roundoff=UNIT,
        counted_by="tiled",
    ),
)

#: an entry point ENTRY of FILE.wgsl, which declares the operands as the guide says
OWN = Contender(
    name="own",
    backend="webgpu",
    source=f"{HERE}:own:FILE.wgsl:ENTRY",
    idea="one's own kernel in WGSL",
    formats=FORMATS,
    unit_roundoff=UNIT,
)
