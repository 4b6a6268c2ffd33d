"""What runs on an NVIDIA GPU without a framework: the ladder of float32 kernels, and kernels of one's own."""

from gemmlab.kernels.ladder import RUNGS
from gemmlab.kernels.ladder.cuda import TEXTS
from gemmlab.run.contender import Contender

HERE = "gemmlab.run.backends.cuda"


def contender(name: str) -> Contender:
    """A rung: in CUDA C++ where it has a text of its own, else the numba.cuda program that the emulator runs."""
    rung = RUNGS[name]
    made = "text" if name in TEXTS else "numba_program"
    return Contender(
        name=name,
        backend="cuda",
        source=f"{HERE}.{made}:program:{name}",
        idea=rung.idea,
        formats=("float32",),
        counted_by=rung.counted_by,
        settings=rung.settings,
    )


CONTENDERS = tuple(contender(name) for name in RUNGS)

#: FUNC(a, b, c) under numba's @cuda.jit, launched as `gemmlab emulate` does
OWN = Contender(
    name="own",
    backend="cuda",
    source=f"{HERE}.numba_program:own:FILE.py:FUNC",
    idea="one's own kernel in numba.cuda",
    formats=("float32",),
)
