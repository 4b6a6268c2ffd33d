"""The fields of a multiplication: what is given, completed by defaults, and refused where it is impossible."""

from __future__ import annotations

import msgspec

from gemmlab.problem.block_scale import BlockScale
from gemmlab.problem.checks import check_choices, check_groups, check_structure, group, leading_dimension, side
from gemmlab.problem.defaults import formats_of
from gemmlab.problem.epilogue import steps

FORMAT_FIELDS = ("a_format", "b_format", "c_format", "d_format", "accumulate")

fill = msgspec.structs.force_setattr  # a frozen value may still be completed while it is made


class Statement(msgspec.Struct, frozen=True):
    """What is said of one multiplication D = epilogue(alpha * A @ B + beta * C), sizes in elements.

    A format, leading dimension or accumulator left out takes the default: B's format is A's, C's is A's (bfloat16 for
    floats below 16 bits, float32 for tfloat32, int32 for integers), D's is C's; rows are stored without gaps. Layout
    `t` says that an operand is stored transposed. Raises GemmlabError for what no machine can multiply.
    """

    m: int
    n: int
    k: int
    a_format: str = "float32"
    b_format: str = ""
    c_format: str = ""
    d_format: str = ""
    accumulate: str = ""
    layout: str = "nn"  #: first letter A, second B; `nt` is B stored (n, k), as torch's Linear
    lda: int = 0  #: elements between the starts of two stored rows of A
    ldb: int = 0
    ldc: int = 0  #: of C and D
    batch: int = 1  #: multiplications of these sides, each with its own A, B and C, stored one after another
    groups: tuple[tuple[int, int, int], ...] = ()  #: grouped GEMM: (m, n, k) of each member, stored one after another
    a_offset_bytes: int = 0  #: base address modulo the allocation's alignment (256 bytes)
    b_offset_bytes: int = 0
    c_offset_bytes: int = 0
    alpha: float = 1.0
    beta: float = 0.0  #: 0 never reads C
    epilogue: str = ""  #: `bias`, `residual`, `relu`, `gelu`, `silu`, joined by `+`
    scale: BlockScale | None = None
    structure: str = "general"  #: of A; all but sparse_2_4 need a square A
    lower_band: int = 0  #: banded: A[i, j] may be nonzero for -upper_band <= i - j <= lower_band
    upper_band: int = 0

    def __post_init__(self) -> None:
        for name in ("m", "n", "k", "batch"):
            fill(self, name, side(name, getattr(self, name)))
        given = (self.a_format, self.b_format, self.c_format, self.d_format, self.accumulate)
        for name, value in zip(FORMAT_FIELDS, formats_of(*given), strict=True):
            fill(self, name, value)
        check_choices(self)
        fill(self, "lda", leading_dimension(self, "lda", self.a_stored))
        fill(self, "ldb", leading_dimension(self, "ldb", self.b_stored))
        fill(self, "ldc", leading_dimension(self, "ldc", (self.m, self.n)))
        check_structure(self)
        if self.groups:
            fill(self, "groups", tuple(group(index, sides) for index, sides in enumerate(self.groups)))
            check_groups(self)

    @property
    def a_stored(self) -> tuple[int, int]:
        """Stored rows and columns of A."""
        return (self.k, self.m) if self.layout[0] == "t" else (self.m, self.k)

    @property
    def b_stored(self) -> tuple[int, int]:
        """Stored rows and columns of B."""
        return (self.n, self.k) if self.layout[1] == "t" else (self.k, self.n)

    @property
    def epilogue_steps(self) -> tuple[str, ...]:
        """The epilogue's steps in order."""
        return steps(self.epilogue)

    @property
    def gapless(self) -> tuple[str, ...]:
        """The leading dimensions, of lda ldb ldc, whose rows are stored without a gap."""
        stored = {"lda": self.a_stored[1], "ldb": self.b_stored[1], "ldc": self.n}
        return tuple(name for name, columns in stored.items() if getattr(self, name) == columns)
