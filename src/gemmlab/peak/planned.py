"""A plan: which kernel multiplies, what is prepared before it, and in which order its sums are made."""

from __future__ import annotations

import msgspec

from gemmlab.numerics.schedule import Schedule
from gemmlab.peak.engine import Engine
from gemmlab.peak.tf32x3 import Tf32x3
from gemmlab.peak.vector import Vector


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """How one request is answered."""

    kernel: Engine | Vector | Tf32x3
    group_m: int = 8  #: rows of tiles that are walked together
    repack_a: bool = False  #: A is copied to rows on the copy engine's road first
    repack_b: bool = False
    split: bool = False  #: float32 operands become two float16 each first
    unit: str = ""  #: of `gemmlab.numerics`, whose sums these are; empty where threads multiply
    schedule: Schedule | None = None  #: the order of the sums; None where they are threads' own
    predicted_s: float = 0.0  #: predicted time on the chip

    @property
    def batched(self) -> bool:
        """Whether it multiplies a batch at once; else there is such a plan for each of its matrices."""
        return not isinstance(self.kernel, Vector) and self.kernel.batched
