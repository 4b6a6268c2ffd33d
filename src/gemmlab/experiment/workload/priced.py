"""What a kernel that is no plain GEMM moves and takes."""

from __future__ import annotations

from typing import NamedTuple

from gemmlab.model.outlook import Outlook
from gemmlab.record import Term

FLOOR = "the larger of arithmetic and each tensor once, at the data sheet's rates"


class Priced(NamedTuple):
    """One multiplication in a kernel of its own."""

    outlook: Outlook  #: of the GEMM that stands for it, with its own DRAM bytes
    bytes: float  #: each of its tensors once
    time_s: float
    limit_s: float  #: the roofline's seconds
    bound: str
    terms: tuple[Term, ...]
    confidence: str


def limited(flop: float, peak_flop_per_s: float, moved_bytes: float, bytes_per_s: float) -> tuple[float, str]:
    """The roofline's seconds, and which of arithmetic and DRAM they are."""
    arithmetic, streaming = flop / peak_flop_per_s, moved_bytes / bytes_per_s
    return max(arithmetic, streaming), "dram" if streaming > arithmetic else "compute"
