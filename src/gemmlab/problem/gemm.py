"""One multiplication, said completely: D = epilogue(alpha * A @ B + beta * C), row-major."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from gemmlab.formats import storage_bytes
from gemmlab.problem.block_scale import BlockScale
from gemmlab.problem.checks import group
from gemmlab.problem.statement import FORMAT_FIELDS
from gemmlab.problem.volume import Volume
from gemmlab.record import GemmlabError, ProblemSection

ALIGNMENT = 256  # bytes: what CUDA's allocators promise of a base address


class Gemm(Volume, frozen=True):
    """One multiplication: A (m, k) times B (k, n), row-major, sizes in elements.

    Its fields are those of `Statement`, its counted properties (flop, compulsory_bytes, ...) those of `Volume`.
    Raises GemmlabError for what no machine can multiply.
    """

    @classmethod
    def grouped(cls, groups: Iterable[tuple[int, int, int]], a_format: str = "float32", **fields: Any) -> Gemm:
        """A grouped GEMM (mixture of experts): its m is the sum of the members', n and k the largest."""
        members = tuple(group(index, sides) for index, sides in enumerate(groups))
        if not members:
            raise GemmlabError("a grouped GEMM without members", "give at least one (m, n, k)")
        ms, ns, ks = zip(*members, strict=True)
        return cls(sum(ms), max(ns), max(ks), a_format, groups=members, **fields)

    @classmethod
    def from_section(cls, section: ProblemSection) -> Gemm:
        """The multiplication that a Record's `problem` describes: `section()` undone."""
        fields = {name: getattr(section, name) for name in section.__struct_fields__}
        return cls(**{**fields, "scale": BlockScale.parse(section.scale) if section.scale else None})

    @property
    def members(self) -> tuple[Gemm, ...]:
        """The independent multiplications of a grouped GEMM, each without groups; a plain problem is its only member.

        Members stand one after another, so each has its own base offset; a leading dimension with a gap holds for all.
        """
        if not self.groups:
            return (self,)
        offsets = {"a": self.a_offset_bytes, "b": self.b_offset_bytes, "c": self.c_offset_bytes}
        shared = dict.fromkeys(self.gapless, 0) | {"groups": ()}
        members = []
        for m, n, k in self.groups:
            named = {f"{operand}_offset_bytes": offset % ALIGNMENT for operand, offset in offsets.items()}
            member = msgspec.structs.replace(self, m=m, n=n, k=k, **shared, **named)
            members.append(member)
            offsets["a"] += storage_bytes(self.a_format, member.a_stored[0] * member.lda)
            offsets["b"] += storage_bytes(self.b_format, member.b_stored[0] * member.ldb)
            offsets["c"] += storage_bytes(self.d_format, m * member.ldc)
        return tuple(members)

    def replace(self, **changes: Any) -> Gemm:
        """A copy with changes; leading dimensions that had no gap follow their sides, formats stay as they are."""
        return msgspec.structs.replace(self, **{**dict.fromkeys(self.gapless, 0), **changes})

    def in_format(self, name: str) -> Gemm:
        """A copy whose A and B have that format, C, D and the accumulator what follows from it by default."""
        return self.replace(a_format=name, **dict.fromkeys(FORMAT_FIELDS[1:], ""))

    def section(self) -> ProblemSection:
        """The Record's `problem`."""
        fields = {name: getattr(self, name) for name in ProblemSection.__struct_fields__}
        return ProblemSection(**{**fields, "scale": str(self.scale) if self.scale else ""})
