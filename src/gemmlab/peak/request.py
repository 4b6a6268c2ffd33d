"""What is asked for: sides, formats, how each operand lies, and how right it must be. Nothing here knows torch."""

from __future__ import annotations

import msgspec

from gemmlab.record import GemmlabError, unknown_name

#: vendor: as torch's own default; best: the smallest error of all ways; fast: the quickest way of the format
ACCURACIES = ("vendor", "best", "fast")


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One multiplication D (m, n) = A (m, k) B (k, n), or a batch of them, as the planner sees it.

    Raises GemmlabError for an unknown accuracy.
    """

    m: int
    n: int
    k: int
    a_format: str  #: by its ml_dtypes name
    b_format: str
    d_format: str
    a_along_k: bool = True  #: A's rows in memory run along k; else along m
    b_along_k: bool = True  #: B's run along k; else along n
    a_on_road: bool = True  #: the copy engine can fetch from it: base and rows at multiples of 16 bytes
    b_on_road: bool = True
    d_on_road: bool = True  #: it can write it: rows end at such multiples too
    accuracy: str = "vendor"
    deterministic: bool = False  #: one order of sums, whatever m, n and the chip are
    sm_count: int = 132
    batch: int = 1  #: multiplications of these sides, by one launch
    a_shared: bool = False  #: all of a batch have one A
    b_shared: bool = False

    def __post_init__(self) -> None:
        if self.accuracy not in ACCURACIES:
            raise unknown_name("accuracy", str(self.accuracy), ACCURACIES)
        if min(self.m, self.n, self.k, self.batch) < 1:
            several = f"{self.batch} times " if self.batch != 1 else ""
            raise GemmlabError(f"{several}{self.m}x{self.n}x{self.k} has nothing to multiply")

    @property
    def rows(self) -> int:
        """Rows of all different A, along k."""
        return self.m * (1 if self.a_shared else self.batch)

    @property
    def columns(self) -> int:
        """Columns of all different B, along k."""
        return self.n * (1 if self.b_shared else self.batch)
