"""What runs on the processor, from the bottom of the ladder to the vendor's library."""

from gemmlab.run.contender import Contender

CONTENDERS = (
    Contender(
        name="numpy",
        backend="cpu",
        source="gemmlab.run.backends.cpu.vendor:numpy_program",
        idea="the BLAS that NumPy was built with",
        formats=("float32", "float64"),
        vendor=True,
    ),
)
