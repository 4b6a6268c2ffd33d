"""What runs on the processor, from the bottom of the ladder to the libraries."""

from gemmlab.run.contender import Contender

FLOATS = ("float32", "float64")
LADDER = "gemmlab.run.backends.cpu.ladder"
VENDOR = "gemmlab.run.backends.cpu.vendor"

CONTENDERS = (
    Contender(
        name="naive",
        backend="cpu",
        source=f"{LADDER}:naive",
        idea="three loops, one dot product after another",
        formats=FLOATS,
        loops="naive",
        threads=1,
    ),
    Contender(
        name="ikj",
        backend="cpu",
        source=f"{LADDER}:ikj",
        idea="k before j: the innermost loop runs along rows, and the compiler makes vectors of it",
        formats=FLOATS,
        loops="ikj",
        threads=1,
    ),
    Contender(
        name="blocks",
        backend="cpu",
        source=f"{LADDER}:blocks",
        idea="tiles that stay in the cache, each product left to NumPy",
        formats=FLOATS,
        loops="blocks",
    ),
    Contender(
        name="packed",
        backend="cpu",
        source=f"{LADDER}:packed",
        idea="panels packed for each cache, around a tile of C that stays in registers",
        formats=FLOATS,
        loops="packed",
    ),
    Contender(
        name="amx",
        backend="cpu",
        source=f"{LADDER}:amx",
        idea="the CPU's matrix unit: four tiles of sums, each tile of A and B loaded once for two products",
        formats=("bfloat16",),
        loops="amx",
    ),
    Contender(
        name="numpy",
        backend="cpu",
        source=f"{VENDOR}:numpy_program",
        idea="the BLAS that NumPy was built with",
        formats=FLOATS,
        vendor=True,
    ),
    Contender(
        name="torch",
        backend="cpu",
        source=f"{VENDOR}:torch_program",
        idea="torch's own choice of MKL and oneDNN",
        formats=(*FLOATS, "bfloat16"),
        vendor=True,
    ),
)

OWN = Contender(
    name="own",
    backend="cpu",
    source="gemmlab.run.backends.cpu.own:program:FILE.py:FUNC",
    idea="one's own, called as FUNC(a, b, d)",
    formats=("float32", "float64", "float16", "bfloat16"),
)
