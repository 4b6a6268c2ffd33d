"""Which of the nested operators a multiplication counts at, and whose a kernel's or an operator's own time is."""

from __future__ import annotations

from gemmlab.record import GemmlabError
from gemmlab.workload import operators
from gemmlab.workload.elementwise import flop_of
from gemmlab.workload.moving import moved_bytes
from gemmlab.workload.operation import Operation, Settings
from gemmlab.workload.operators import Product, UnreadableError
from gemmlab.workload.traces.arguments import Signature, operation_of
from gemmlab.workload.traces.forest import Forest

#: what always calls other operators: where none of those multiplies, neither does it
DECOMPOSED = ("aten::einsum", "aten::tensordot")


class Readings:
    """What the operators of a trace multiply, each signature read once for each of the settings."""

    def __init__(self, signatures: list[Signature], settings: Settings) -> None:
        self.settings = settings
        self.signatures = signatures
        self.operations: dict[int, Operation] = {}
        self.read: dict[tuple[int, bool | None], tuple[Product, ...]] = {}
        self.whys: dict[int, str] = {}  #: of signatures that multiply without saying what
        self.flop: list[int | None] = []  #: of each that multiplies nothing, where anybody tells
        self.bytes: dict[int, int | None] = {}  #: of the same
        for number in range(len(signatures)):
            multiplies = self.products(number, None) or number in self.whys
            self.flop.append(None if multiplies else flop_of(self.operation(number)))

    def operation(self, signature: int) -> Operation:
        """The operation of a signature."""
        if signature not in self.operations:
            self.operations[signature] = operation_of(self.signatures[signature])
        return self.operations[signature]

    def moved(self, signature: int) -> int | None:
        """Bytes of one that multiplies nothing, where its inputs tell them."""
        if signature not in self.bytes:
            multiplies = self.read[signature, None] or signature in self.whys
            self.bytes[signature] = None if multiplies else moved_bytes(self.operation(signature))
        return self.bytes[signature]

    def products(self, signature: int, tf32: bool | None) -> tuple[Product, ...]:
        """Its multiplications, where kernels tell (`tf32`) by their arithmetic, else by the settings."""
        key = (signature, tf32)
        if key not in self.read:
            settings = self.settings if tf32 is None else Settings(matmul_tf32=tf32, convolution_tf32=tf32)
            try:
                self.read[key] = operators.products(self.operation(signature), settings) or ()
            except (UnreadableError, GemmlabError) as error:
                self.read[key] = ()
                self.whys[signature] = getattr(error, "text", "") or str(error)
        return self.read[key]


class Counting:
    """Where each multiplication counts: once, at the innermost operator that tells its sizes.

    An operator that multiplies without telling sizes is unread only if none above it and none within it tells them; of
    several such, one within the other, the innermost. Operators are positions in the forest.
    """

    def __init__(self, forest: Forest, signatures: list[int], readings: Readings) -> None:
        self.forest = forest
        parents = forest.parents
        reads = [bool(readings.read[signature, None]) for signature in signatures]
        hidden = [signature in readings.whys for signature in signatures]
        over_read = above(parents, reads)
        self.counted = [each and not over_read[place] for place, each in enumerate(reads)]
        own = [place if each else -1 for place, each in enumerate(self.counted)]
        self.counts_at = forest.inherited(own)  #: the operator that counts, at or above each; -1 where none does
        lost = [each and not over_read[place] and self.counts_at[place] < 0 for place, each in enumerate(hidden)]
        for place in set(parents) - {-1}:
            lost[place] &= readings.signatures[signatures[place]][0] not in DECOMPOSED
        over_lost = above(parents, lost)
        self.unread = [each and not over_lost[place] for place, each in enumerate(lost)]
        self.hidden = hidden
        reckons = [readings.flop[signature] is not None for signature in signatures]
        over_reckons = above(parents, reckons)
        #: which operators' other arithmetic counts: the innermost, as of a mean and the sum within it
        self.reckons = [each and not over_reckons[place] for place, each in enumerate(reckons)]

    def owner(self, operator: int, multiplies: bool) -> int:
        """The operator that a kernel or own time within `operator` belongs to: one that counts, or itself.

        What an operator inside a counted one does is that multiplication's where it multiplies too, without telling
        its sizes or by its kernels' names; else, as a copy, its own.
        """
        counts = self.counts_at[operator]
        return counts if counts >= 0 and (self.hidden[operator] or multiplies) else operator


def above(parents: list[int], marked: list[bool]) -> list[bool]:
    """Which positions have a marked one below them."""
    found = [False] * len(parents)
    for place, mark in enumerate(marked):
        parent = parents[place] if mark else -1
        while parent >= 0 and not found[parent]:
            found[parent] = True
            parent = parents[parent]
    return found
