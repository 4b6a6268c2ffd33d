"""The vendor's library, as PyTorch calls it on a GPU."""

from gemmlab.run.contender import Contender

HERE = "gemmlab.run.backends.torch.vendor"

CONTENDERS = (
    Contender(
        name="torch",
        backend="torch",
        source=f"{HERE}:matmul",
        idea="torch.matmul: the vendor's library, float32 without tfloat32",
        formats=("float32", "tfloat32", "float16", "bfloat16"),
        unit_roundoff=2.0**-23,
        vendor=True,
    ),
    Contender(
        name="torch_float8",
        backend="torch",
        source=f"{HERE}:scaled_mm",
        idea="torch._scaled_mm: the vendor's library for 8-bit floats, sums promoted to float32",
        formats=("float8_e4m3fn", "float8_e5m2"),
        unit_roundoff=2.0**-15,  # Hopper's 8-bit products meet in sums of 14 bits, promoted every few steps of k
        vendor=True,
    ),
)
