"""One multiplication, said completely: D = epilogue(alpha * A @ B + beta * C), row-major."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from gemmlab.formats import bits_of, storage_bytes
from gemmlab.record import GemmlabError, ProblemSection, unknown_name
from gemmlab.units import ceil_div

LAYOUTS = ("nn", "nt", "tn", "tt")
STRUCTURES = ("general", "triangular", "symmetric", "banded", "sparse_2_4")
LARGEST_SIDE = 1 << 40  # past it byte counts leave what any machine addresses, and 64-bit counts are no longer safe

#: FLOP for each output element, and operand elements read as (fraction of m*n, fraction of n)
EPILOGUES: dict[str, tuple[int, int, int]] = {
    "bias": (1, 0, 1),
    "residual": (1, 1, 0),
    "relu": (1, 0, 0),
    "gelu": (8, 0, 0),
    "silu": (4, 0, 0),
}


class BlockScale(msgspec.Struct, frozen=True):
    """Scale factors stored beside A and B: one for each block of elements, along rows and along k."""

    format: str = "float8_e8m0fnu"
    block_k: int = 32  #: elements of k that share a scale
    block_m: int = 1  #: rows of A that share a scale
    block_n: int = 1  #: columns of B that share a scale

    @classmethod
    def parse(cls, text: str) -> BlockScale:
        """`float8_e8m0fnu/32`, or `float32/1x128x128` for blocks of m, n, k; raises GemmlabError."""
        name, _, block = text.partition("/")
        try:
            sides = [int(side) for side in block.split("x")] if block else [32]
            m, n, k = (1, 1, sides[0]) if len(sides) == 1 else (sides[0], sides[1], sides[2])
        except (ValueError, IndexError):
            raise GemmlabError(
                f"block scale `{text}` is not FORMAT/K or FORMAT/MxNxK", "for example float8_e8m0fnu/32"
            ) from None
        if min(m, n, k) < 1:
            raise GemmlabError(f"block scale `{text}` has a block without elements", "every side is at least 1")
        bits_of(name)
        return cls(format=name, block_k=k, block_m=m, block_n=n)

    def __str__(self) -> str:
        """The form that `parse` reads."""
        plain = self.block_m == self.block_n == 1
        return f"{self.format}/{self.block_k}" if plain else f"{self.format}/{self.block_m}x{self.block_n}x{self.block_k}"


class Gemm(msgspec.Struct, frozen=True):
    """One multiplication: A (m, k) times B (k, n), row-major, sizes in elements.

    A format, leading dimension or accumulator left out takes the default: B's format is A's, C's is A's (bfloat16 for
    float8, int32 for int8), D's is C's; rows are stored without gaps. Layout `t` says that an operand is stored transposed.
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
    batch: int = 1
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
        fill = msgspec.structs.force_setattr
        if self.groups:
            fill(self, "groups", tuple(tuple(int(side) for side in group) for group in self.groups))
        check_sides(self)
        for name in ("a_format", "b_format", "c_format", "d_format", "accumulate"):
            if getattr(self, name):
                bits_of(getattr(self, name))  # raises on a name that is unknown
        narrow = self.a_format.startswith(("float8", "float6", "float4"))
        fill(self, "b_format", self.b_format or self.a_format)
        default_c = "bfloat16" if narrow else "int32" if self.a_format in ("int8", "int4") else self.a_format
        fill(self, "c_format", self.c_format or ("float32" if default_c == "tfloat32" else default_c))
        fill(self, "d_format", self.d_format or self.c_format)
        whole = self.a_format.startswith("int")
        wide = "float64" if self.a_format == "float64" else "float32"
        fill(self, "accumulate", self.accumulate or ("int32" if whole else wide))
        check_choices(self)
        for operand, (rows, columns) in (("a", self.a_stored), ("b", self.b_stored), ("c", (self.m, self.n))):
            given = getattr(self, f"ld{operand}")
            if given < 0 or (0 < given < columns):
                raise GemmlabError(
                    f"ld{operand}={given} is shorter than the {columns} elements of a stored row of "
                    f"{operand.upper()} ({rows}x{columns}, layout `{self.layout}`)",
                    f"ld{operand} is at least {columns}, or leave it out",
                )
            fill(self, f"ld{operand}", given or columns)
        check_structure(self)

    @classmethod
    def grouped(cls, groups: Iterable[tuple[int, int, int]], a_format: str = "float32", **fields: Any) -> Gemm:
        """A grouped GEMM (mixture of experts): its m is the sum of the members', n and k the largest."""
        members = tuple(groups)
        if not members:
            raise GemmlabError("a grouped GEMM without members", "give at least one (m, n, k)")
        return cls(
            sum(m for m, _, _ in members),
            max(n for _, n, _ in members),
            max(k for _, _, k in members),
            a_format,
            groups=members,
            **fields,
        )

    @property
    def a_stored(self) -> tuple[int, int]:
        """Stored rows and columns of A."""
        return (self.k, self.m) if self.layout[0] == "t" else (self.m, self.k)

    @property
    def b_stored(self) -> tuple[int, int]:
        """Stored rows and columns of B."""
        return (self.n, self.k) if self.layout[1] == "t" else (self.k, self.n)

    @property
    def members(self) -> tuple[Gemm, ...]:
        """The independent multiplications of a grouped GEMM, each without groups; a plain problem is its only member."""
        if not self.groups:
            return (self,)
        return tuple(
            msgspec.structs.replace(self, m=m, n=n, k=k, groups=(), lda=0, ldb=0, ldc=0) for m, n, k in self.groups
        )

    @property
    def multiply_adds(self) -> int:
        """Multiply-adds that the result needs, structure used: m*n*k for a general A, all members and batch entries."""
        if self.groups:
            return sum(member.multiply_adds for member in self.members)
        return self.batch * self.n * self.a_worked_elements

    @property
    def flop(self) -> int:
        """Work: 2 FLOP a multiply-add."""
        return 2 * self.multiply_adds

    @property
    def a_worked_elements(self) -> int:
        """Elements of one batch entry's A that take part in products.

        Triangular: the lower triangle, m(m+1)/2; banded: the band only; 2:4 sparse: half; symmetric and general: all.
        """
        if self.structure == "triangular":
            return self.m * (self.m + 1) // 2
        if self.structure == "banded":
            return band_elements(self.m, self.lower_band, self.upper_band)
        if self.structure == "sparse_2_4":
            return self.m * self.k // 2
        return self.m * self.k

    @property
    def a_elements(self) -> int:
        """Distinct elements of one batch entry's A that must be read: a symmetric A is stored, and read, by half."""
        return self.m * (self.m + 1) // 2 if self.structure == "symmetric" else self.a_worked_elements

    @property
    def a_bytes(self) -> int:
        """Bytes of A, every batch entry and group, 2:4 metadata (2 bits a kept element) included."""
        if self.groups:
            return sum(member.a_bytes for member in self.members)
        metadata = ceil_div(self.a_elements * 2, 8) if self.structure == "sparse_2_4" else 0
        return self.batch * (storage_bytes(self.a_format, self.a_elements) + metadata)

    @property
    def b_bytes(self) -> int:
        """Bytes of B, every batch entry and group."""
        if self.groups:
            return sum(member.b_bytes for member in self.members)
        return self.batch * storage_bytes(self.b_format, self.k * self.n)

    @property
    def scale_bytes(self) -> int:
        """Bytes of the block scales of A and B."""
        if self.groups:
            return sum(member.scale_bytes for member in self.members)
        if self.scale is None:
            return 0
        along_k = ceil_div(self.k, self.scale.block_k)
        of_a = ceil_div(self.m, self.scale.block_m) * along_k
        of_b = ceil_div(self.n, self.scale.block_n) * along_k
        return self.batch * storage_bytes(self.scale.format, of_a + of_b)

    @property
    def c_read_bytes(self) -> int:
        """Bytes of C that are read: none unless beta is nonzero."""
        if self.groups:
            return sum(member.c_read_bytes for member in self.members)
        return self.batch * storage_bytes(self.c_format, self.m * self.n) if self.beta != 0 else 0

    @property
    def epilogue_read_bytes(self) -> int:
        """Bytes of the epilogue's own operands (bias: a row; residual: a matrix), in C's format."""
        if self.groups:
            return sum(member.epilogue_read_bytes for member in self.members)
        whole = sum(EPILOGUES[step][1] for step in self.epilogue_steps)
        row = sum(EPILOGUES[step][2] for step in self.epilogue_steps)
        return self.batch * storage_bytes(self.c_format, whole * self.m * self.n) + storage_bytes(
            self.c_format, row * self.n
        )

    @property
    def d_bytes(self) -> int:
        """Bytes of the result."""
        if self.groups:
            return sum(member.d_bytes for member in self.members)
        return self.batch * storage_bytes(self.d_format, self.m * self.n)

    @property
    def epilogue_flop(self) -> int:
        """Work of scaling and epilogue, beside the 2*m*n*k."""
        if self.groups:
            return sum(member.epilogue_flop for member in self.members)
        each = sum(EPILOGUES[step][0] for step in self.epilogue_steps)
        each += (self.alpha != 1) + 2 * (self.beta != 0)
        return self.batch * self.m * self.n * each

    @property
    def compulsory_read_bytes(self) -> int:
        """Bytes that any method reads at least: every operand once."""
        return self.a_bytes + self.b_bytes + self.scale_bytes + self.c_read_bytes + self.epilogue_read_bytes

    @property
    def compulsory_bytes(self) -> int:
        """The floor: every operand read once, the result written once."""
        return self.compulsory_read_bytes + self.d_bytes

    @property
    def epilogue_steps(self) -> tuple[str, ...]:
        """The epilogue's steps in order."""
        return tuple(self.epilogue.split("+")) if self.epilogue else ()

    def replace(self, **changes: Any) -> Gemm:
        """A copy with changes; leading dimensions that had no gap follow their sides, defaulted formats stay."""
        loose = {
            name: 0
            for name, (_, columns) in (("lda", self.a_stored), ("ldb", self.b_stored), ("ldc", (self.m, self.n)))
            if getattr(self, name) == columns and name not in changes
        }
        return msgspec.structs.replace(self, **{**loose, **changes})

    def section(self) -> ProblemSection:
        """The Record's `problem`."""
        named = {
            name: getattr(self, name) for name in ProblemSection.__struct_fields__ if name not in ("scale",)
        }
        return ProblemSection(**named, scale=str(self.scale) if self.scale else "")


def band_elements(side: int, lower: int, upper: int) -> int:
    """Elements of a side x side band matrix with that many diagonals below and above the main one."""
    below, above = min(lower, side - 1), min(upper, side - 1)
    return side * (1 + below + above) - below * (below + 1) // 2 - above * (above + 1) // 2


def check_sides(problem: Gemm) -> None:
    """Raise GemmlabError for sides that no machine can hold."""
    sides = {"m": problem.m, "n": problem.n, "k": problem.k, "batch": problem.batch}
    for index, group in enumerate(problem.groups):
        sides |= {f"groups[{index}].{letter}": side for letter, side in zip("mnk", group, strict=True)}
    for name, side in sides.items():
        if isinstance(side, bool) or not isinstance(side, int):
            raise GemmlabError(f"{name}={side!r} is not a whole number")
        if side < 1:
            raise GemmlabError(f"{name}={side} is not a positive size", "every side of a multiplication is at least 1")
        if side > LARGEST_SIDE:
            raise GemmlabError(f"{name}={side} is past the largest side, 2^40 = {LARGEST_SIDE}", "is a digit too many?")


def check_choices(problem: Gemm) -> None:
    """Raise GemmlabError for a layout, structure, epilogue or offset that does not exist."""
    if problem.layout not in LAYOUTS:
        raise GemmlabError(f"unknown layout `{problem.layout}`", f"one of {', '.join(LAYOUTS)}; t = stored transposed")
    if problem.structure not in STRUCTURES:
        raise unknown_name("structure", problem.structure, STRUCTURES)
    for step in problem.epilogue_steps:
        if step not in EPILOGUES:
            raise unknown_name("epilogue", step, EPILOGUES)
    for name in ("a_offset_bytes", "b_offset_bytes", "c_offset_bytes"):
        if not 0 <= getattr(problem, name) < 1 << 20:
            raise GemmlabError(f"{name}={getattr(problem, name)} is not an offset", "a number of bytes from 0 to 2^20")


def check_structure(problem: Gemm) -> None:
    """Raise GemmlabError where the sides do not fit the structure."""
    if problem.structure in ("triangular", "symmetric", "banded") and problem.m != problem.k:
        raise GemmlabError(
            f"a {problem.structure} A is square, but A is {problem.m}x{problem.k}", "m and k must be equal"
        )
    if problem.structure == "sparse_2_4" and problem.k % 4:
        raise GemmlabError(f"2:4 sparsity keeps two of every four along k, and k={problem.k} is no multiple of 4")
    if problem.structure == "banded" and min(problem.lower_band, problem.upper_band) < 0:
        raise GemmlabError("a band has a negative width", "lower_band and upper_band are at least 0")
    if problem.groups and (problem.structure != "general" or problem.batch != 1):
        raise GemmlabError("a grouped GEMM has neither a structure nor a batch", "give each member as a group")
