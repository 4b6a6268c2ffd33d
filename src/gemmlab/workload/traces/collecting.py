"""Sums of equal calls, operators and kernels: the parts of a Workload."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import msgspec

from gemmlab.workload.operators import Product
from gemmlab.workload.traces.counting import Readings
from gemmlab.workload.traces.kernel_names import convolution_pass, tf32
from gemmlab.workload.workload import Call, Other, Unread

Spent = list[tuple[str, int]]  # kernels of one operator by name, each with its nanoseconds


class Sum(msgspec.Struct):
    """What equal things come to."""

    count: int = 0
    time: int = 0  #: nanoseconds
    flop: int | None = None
    bytes: int | None = None
    kernels: dict[str, None] = msgspec.field(default_factory=dict)
    places: dict[str, None] = msgspec.field(default_factory=dict)

    def add(self, count: int, time: int, kernels: Iterable[str] = (), place: str = "") -> None:
        """More of the same."""
        self.count += count
        self.time += time
        self.kernels.update(dict.fromkeys(kernels))
        if place:
            self.places[place] = None

    @property
    def time_s(self) -> float:
        """Its time in seconds."""
        return self.time / 1e9


class Collected:
    """Calls, others and unread multiplications, growing operator by operator.

    `timed` says that the trace's times are those of the work; without, none is told.
    """

    def __init__(self, readings: Readings, timed: bool) -> None:
        self.readings = readings
        self.timed = timed
        self.calls: dict[tuple[int, bool | None, int, str, bool], Sum] = {}
        self.others: dict[tuple[str, str], Sum] = {}
        self.unread: dict[tuple[str, str], Sum] = {}
        self.arithmetic: Counter[tuple[str, bool]] = Counter()  #: multiplications of float32 by what kernels tell
        self.split = False  #: whether an operator's time had to be divided among its multiplications
        self.without_kernels = 0

    def call(self, signature: int, phase: str, place: str, spent: Spent | None) -> None:
        """One operator that multiplies, with its kernels; None where it ran none."""
        told = [each for each in (tf32(name) for name, _ in spent or ()) if each is not None]
        arithmetic = told[0] if told and all(each == told[0] for each in told) else None
        products = self.readings.products(signature, None)
        if arithmetic is not None:
            if any(product.problem.a_format in ("float32", "tfloat32") for product in products):
                kind = "convolutions" if products[0].convolution else "multiplications"
                self.arithmetic[kind, arithmetic] += 1
                products = self.readings.products(signature, arithmetic)
            else:
                arithmetic = None
        if spent is None:
            self.without_kernels += 1
        parts = self.divided(products, spent or [])
        for index, part in enumerate(parts):
            key = (signature, arithmetic, index, phase, spent is not None)
            self.calls.setdefault(key, Sum()).add(1, sum(time for _, time in part), names(part), place)

    def divided(self, products: tuple[Product, ...], spent: Spent) -> list[Spent]:
        """Each product's share of an operator's kernels: by the pass that kernels are named for, else by work."""
        if len(products) == 1:
            return [spent]
        passes = [product.convolution_pass for product in products]
        parts: list[Spent] = [[] for _ in products]
        work = [product.problem.flop for product in products]
        for name, time in spent:
            step = convolution_pass(name)
            if step in passes and len(set(passes)) == len(passes):
                parts[passes.index(step)].append((name, time))
                continue
            self.split = self.split or time > 0
            left = time
            for index, share in enumerate(work):
                mine = left if index == len(work) - 1 else time * share // sum(work)
                parts[index].append((name, mine))
                left -= mine
        return parts

    def other(
        self, name: str, phase: str, count: int, spent: Spent, flop: int | None = None, moved: int | None = None
    ) -> None:
        """An operator that multiplies nothing, or kernels that none explains."""
        entry = self.others.setdefault((name, phase), Sum())
        entry.add(count, sum(time for _, time in spent), names(spent))
        if flop is not None:
            entry.flop = (entry.flop or 0) + flop
        if moved is not None:
            entry.bytes = (entry.bytes or 0) + moved

    def hide(self, operator: str, why: str, count: int, spent: Spent) -> None:
        """A multiplication whose sizes nobody tells."""
        self.unread.setdefault((operator, why), Sum()).add(count, sum(time for _, time in spent))

    def all_calls(self) -> tuple[Call, ...]:
        """The calls, equal ones as one, in order of appearance."""
        found: dict[Call, Sum] = {}
        for (signature, arithmetic, index, phase, has_kernels), entry in self.calls.items():
            product = self.readings.products(signature, arithmetic)[index]
            bare = Call(
                problem=product.problem,
                operator=self.readings.signatures[signature][0],
                phase=phase,
                operands=product.operands,
                convolution=product.convolution,
                convolution_pass=product.convolution_pass,
                fused=product.fused,
                causal=product.causal,
                time_s=0.0 if self.timed and has_kernels else None,
            )
            whole = found.setdefault(bare, Sum())
            whole.add(entry.count, entry.time, entry.kernels)
            whole.places.update(entry.places)
        return tuple(
            msgspec.structs.replace(
                call,
                count=entry.count,
                places=tuple(entry.places),
                kernels=tuple(entry.kernels),
                time_s=None if call.time_s is None else entry.time_s,
            )
            for call, entry in found.items()
        )

    def all_others(self) -> tuple[Other, ...]:
        """The rest, the longest first."""
        ordered = sorted(self.others.items(), key=lambda item: -item[1].time)
        return tuple(
            Other(name, entry.count, phase, self.time_of(entry), entry.bytes, tuple(entry.kernels), entry.flop)
            for (name, phase), entry in ordered
        )

    def all_unread(self) -> tuple[Unread, ...]:
        """The multiplications without sizes, the longest first."""
        ordered = sorted(self.unread.items(), key=lambda item: -item[1].time)
        return tuple(Unread(name, why, entry.count, self.time_of(entry)) for (name, why), entry in ordered)

    def time_of(self, entry: Sum) -> float | None:
        """A sum's time, where the trace has times."""
        return entry.time_s if self.timed else None

    def settings(self) -> tuple[tuple[str, str], ...]:
        """What kernels' names tell of float32's arithmetic."""
        told = []
        for kind in ("multiplications", "convolutions"):
            yes, no = self.arithmetic[kind, True], self.arithmetic[kind, False]
            if yes or no:
                what = "tfloat32" if not no else "float32" if not yes else f"tfloat32 {yes:,} and float32 {no:,} times"
                told.append((f"float32 {kind}", f"{what}, by kernels' names"))
        return tuple(told)


def names(spent: Spent) -> list[str]:
    """The kernels' names."""
    return [name for name, _ in spent if name]
