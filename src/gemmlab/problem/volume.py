"""What a multiplication costs any method at least: its work, and the bytes that it reads and writes once."""

from __future__ import annotations

from gemmlab.formats import storage_bytes
from gemmlab.problem.epilogue import cost
from gemmlab.problem.statement import Statement
from gemmlab.problem.structure import metadata_bits, stored_elements, worked_elements
from gemmlab.units import ceil_div


class Volume(Statement, frozen=True):
    """The counted properties of a multiplication: exact integers, every batch entry and group together."""

    @property
    def multiply_adds(self) -> int:
        """Multiply-adds that the result needs, structure used: m*n*k for a general A."""
        if self.groups:
            return sum(m * n * k for m, n, k in self.groups)
        return self.batch * self.n * self.a_worked_elements

    @property
    def flop(self) -> int:
        """Work: 2 FLOP a multiply-add."""
        return 2 * self.multiply_adds

    @property
    def epilogue_flop(self) -> int:
        """Work on the outputs beside the multiply-adds: 1 FLOP for alpha, 2 for beta, the epilogue by its table."""
        each = cost(self.epilogue).flop + (self.alpha != 1) + 2 * (self.beta != 0)
        return each * self.d_elements

    @property
    def a_worked_elements(self) -> int:
        """Elements of one batch entry's A that take part in products: half if triangular or 2:4, or the band."""
        return worked_elements(self.structure, self.m, self.k, self.lower_band, self.upper_band)

    @property
    def a_elements(self) -> int:
        """Distinct elements of one batch entry's A that must be read: a symmetric A is stored, and read, by half."""
        return stored_elements(self.structure, self.m, self.k, self.lower_band, self.upper_band)

    @property
    def d_elements(self) -> int:
        """Elements of the result, every batch entry and group."""
        if self.groups:
            return sum(m * n for m, n, _ in self.groups)
        return self.batch * self.m * self.n

    @property
    def a_bytes(self) -> int:
        """Bytes of A, 2:4 metadata (2 bits a kept element) included."""
        if self.groups:
            return sum(storage_bytes(self.a_format, m * k) for m, _, k in self.groups)
        metadata = ceil_div(metadata_bits(self.structure, self.m, self.k), 8)
        return self.batch * (storage_bytes(self.a_format, self.a_elements) + metadata)

    @property
    def b_bytes(self) -> int:
        """Bytes of B."""
        if self.groups:
            return sum(storage_bytes(self.b_format, k * n) for _, n, k in self.groups)
        return self.batch * storage_bytes(self.b_format, self.k * self.n)

    @property
    def scale_bytes(self) -> int:
        """Bytes of the block scales of A and B."""
        if self.scale is None:
            return 0
        members = self.groups or ((self.m, self.n, self.k),)
        return self.batch * sum(self.scale.bytes(m, n, k) for m, n, k in members)

    @property
    def c_read_bytes(self) -> int:
        """Bytes of C that are read: none unless beta is nonzero."""
        return self.outputs_bytes(self.c_format) if self.beta != 0 else 0

    @property
    def epilogue_read_bytes(self) -> int:
        """Bytes of the epilogue's own operands in C's format: a residual each output, a bias row each member."""
        needs = cost(self.epilogue)
        members = self.groups or ((self.m, self.n, self.k),)
        rows = sum(storage_bytes(self.c_format, n) for _, n, _ in members)
        return needs.matrices * self.outputs_bytes(self.c_format) + needs.rows * rows

    @property
    def d_bytes(self) -> int:
        """Bytes of the result."""
        return self.outputs_bytes(self.d_format)

    @property
    def compulsory_read_bytes(self) -> int:
        """Bytes that any method reads at least: every operand once."""
        return self.a_bytes + self.b_bytes + self.scale_bytes + self.c_read_bytes + self.epilogue_read_bytes

    @property
    def compulsory_bytes(self) -> int:
        """The floor: every operand read once, the result written once."""
        return self.compulsory_read_bytes + self.d_bytes

    def outputs_bytes(self, name: str) -> int:
        """Bytes of one m x n matrix for each batch entry and group in that format, each on whole bytes."""
        if self.groups:
            return sum(storage_bytes(name, m * n) for m, n, _ in self.groups)
        return self.batch * storage_bytes(name, self.m * self.n)
