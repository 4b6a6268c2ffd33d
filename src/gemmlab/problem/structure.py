"""What is known of A beforehand, and how many of its elements are then multiplied and stored."""

STRUCTURES = ("general", "triangular", "symmetric", "banded", "sparse_2_4")
SQUARE = ("triangular", "symmetric", "banded")


def triangle_elements(side: int) -> int:
    """Elements of a side x side matrix on and below its main diagonal."""
    return side * (side + 1) // 2


def band_elements(side: int, lower: int, upper: int) -> int:
    """Elements of a side x side matrix on the main diagonal, `lower` diagonals below and `upper` above it.

    The diagonal at distance d has side - d elements, and none from d = side on.
    """
    below, above = min(lower, side - 1), min(upper, side - 1)
    return side * (1 + below + above) - triangle_elements(below) - triangle_elements(above)


def worked_elements(structure: str, m: int, k: int, lower_band: int, upper_band: int) -> int:
    """Elements of A (m, k) that take part in products; each meets n elements of B.

    Triangular: half; banded: the band only; 2:4 sparse: two of every four; symmetric and general: all of them.
    """
    if structure == "triangular":
        return triangle_elements(m)
    if structure == "banded":
        return band_elements(m, lower_band, upper_band)
    if structure == "sparse_2_4":
        return m * k // 2
    return m * k


def stored_elements(structure: str, m: int, k: int, lower_band: int, upper_band: int) -> int:
    """Distinct elements of A (m, k) that have to be read: a symmetric A by half, else those that are multiplied."""
    if structure == "symmetric":
        return triangle_elements(m)
    return worked_elements(structure, m, k, lower_band, upper_band)


def metadata_bits(structure: str, m: int, k: int) -> int:
    """Bits that say where the kept elements stood: 2 for each one of a 2:4 sparse A (NVIDIA PTX ISA, mma.sp)."""
    return 2 * (m * k // 2) if structure == "sparse_2_4" else 0
