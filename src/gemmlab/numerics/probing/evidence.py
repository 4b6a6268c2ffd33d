"""What was revealed: a unit that can be computed, the answers it rests on, and what they leave open."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from gemmlab import formats
from gemmlab.numerics.behaviour import Unit
from gemmlab.numerics.probing.numbers import Numbers
from gemmlab.numerics.reference import Sum, dot
from gemmlab.record import GemmlabError


class Evidence(msgspec.Struct, frozen=True):
    """One probe, for people."""

    probe: str  #: what it is about
    given: str  #: the input, in words
    seen: str  #: what came out
    means: str  #: what follows


class Ambiguity(msgspec.Struct, frozen=True):
    """A field that these formats cannot show."""

    values: tuple[Any, ...]  #: some of the values that explain all answers, the chosen one first
    reason: str
    along: tuple[str, ...] = ()  #: fields that change with it, where it cannot change by itself


class Difference(msgspec.Struct, frozen=True):
    """A vector on which the unit and its emulation differ."""

    a: tuple[int, ...]  #: codes
    b: tuple[int, ...]  #: codes
    c: int  #: code of the addend
    seen: int  #: code that the unit gave
    computed: int  #: code that the emulation gave

    def trace(self, unit: Unit, a_format: str, b_format: str) -> list[Sum]:
        """Every fused sum of the emulation, in order."""
        sums: list[Sum] = []
        dot(unit, self.a, self.b, self.c, a_format, b_format, watch=sums.append)
        return sums


class Revealed(msgspec.Struct, frozen=True):
    """A matrix unit found out from its behaviour."""

    unit: Unit  #: the executable model, to be given wherever a unit is named
    a_format: str
    b_format: str
    evidence: tuple[Evidence, ...]
    ambiguous: dict[str, Ambiguity]  #: by field of `unit`
    tree: str  #: the order of addition of the first products, nested; `c` is the addend
    confirmed: int  #: vectors compared with the emulation, random and adversarial
    mismatches: int  #: of those, answers that differ
    difference: Difference | None  #: the first of them
    experiments: int  #: dot products asked for in all
    calls: int  #: of the unit
    hidden: bool  #: the unit took no C

    @property
    def explained(self) -> bool:
        """Whether the emulation gave every bit."""
        return self.mismatches == 0

    def table(self) -> str:
        """The fields, what they rest on, and what stays open, as text."""
        unit = self.unit
        agreed = f"{self.confirmed - self.mismatches:,} of {self.confirmed:,} random and adversarial vectors agree"
        lines = [] if self.explained else [f"Not confirmed: {agreed} with the nearest unit", ""]
        lines.append(f"{'field':18}{'revealed':22}also possible")
        for name, value in fields(unit).items():
            open_ = self.ambiguous.get(name)
            also = "" if open_ is None else f"{', '.join(map(shown, open_.values[1:6]))}: {open_.reason}"
            lines.append(f"{name:18}{shown(value):22}{also}".rstrip())
        lines += ["", f"order of addition   {self.tree}", ""]
        lines += [f"{each.probe}: {each.given} -> {each.seen}: {each.means}" for each in self.evidence]
        lines += ["", f"{agreed} with the emulation"]
        if self.difference is not None:
            lines.append(self.difference_text())
        return "\n".join(lines)

    def difference_text(self) -> str:
        """The first vector that differs, with every fused sum of its emulation."""
        found = self.difference
        assert found is not None
        name = self.unit.accumulate
        terms = [
            f"{formats.decode(a, self.a_format)!r} * {formats.decode(b, self.b_format)!r} at k={k}"
            for k, (a, b) in enumerate(zip(found.a, found.b, strict=True))
            if a and b
        ]
        lines = [
            f"first difference: C = {formats.decode(found.c, name)!r}; {'; '.join(terms)}",
            f"  the unit gave {formats.decode(found.seen, name)!r} ({found.seen:#x}), "
            f"the emulation {formats.decode(found.computed, name)!r} ({found.computed:#x})",
        ]
        for each in found.trace(self.unit, self.a_format, self.b_format):
            result = "-" if each.result is None else f"{formats.decode(each.result, name)!r}"
            where = f"k {each.ks[0]}..{each.ks[-1]}" if each.ks else each.what
            lines.append(f"  {where}: largest exponent {each.largest}, sum {each.total} -> {result}")
        return "\n".join(lines)


#: fields that say how a unit behaves, as opposed to what it is called and where that is known from
BEHAVIOUR = (
    "accumulate", "sum", "terms", "instruction_k", "order", "align_bits", "cut", "width", "rounding", "c", "c_rounding",
    "join_bits", "zero_exponent", "read_as", "subnormal_inputs", "zero_sign", "subnormal_outputs", "product_overflow",
    "saturate", "nan", "nan_code", "negative_zero",
)  # fmt: skip


def fields(unit: Unit) -> dict[str, Any]:
    """The fields that say how a unit of its kind behaves; those that mean nothing for it are left out."""
    found = {name: getattr(unit, name) for name in BEHAVIOUR}
    found["instruction_k"] = unit.k
    dropped = set()
    if unit.sum != "aligned":
        dropped |= {"align_bits", "cut"}
    if unit.c != "late" and unit.sum != "pairs":
        dropped.add("c_rounding")
    if unit.c != "floor":
        dropped.add("join_bits")
    if unit.sum == "integer":
        dropped |= {"terms", "order", "width", "rounding", "c", "c_rounding", "zero_exponent", "subnormal_inputs"}
        dropped |= {"read_as", "zero_sign", "subnormal_outputs", "product_overflow", "nan", "nan_code", "negative_zero"}
    else:
        dropped.add("saturate")
    return {name: value for name, value in found.items() if name not in dropped}


def shown(value: Any) -> str:
    """A field's value, for people."""
    return (
        hex(value)
        if isinstance(value, int) and not isinstance(value, bool) and value > 1 << 14
        else str(value) or "none"
    )


#: why a field does not show where no other values than these are possible: field, values, reason; the first that fits
REASONS = (
    ("rounding", {"rne", "rna"}, "no sum that these formats can make lies halfway between two results"),
    ("rounding", {"rne", "rna", "floor"}, "what these formats show of sums that do not fit is rounded alike by these"),
    ("rounding", {"rne", "rna", "rz"}, "what these formats show of sums that do not fit is rounded alike by these"),
    ("rounding", {"rz", "floor"}, "no negative sum that these formats can make has bits below those kept"),
    ("negative_zero", {"ieee", "rounded"}, "every -0 that comes out is one by both"),
    ("negative_zero", {"positive", "rounded"}, "no negative sum of these formats is rounded to zero"),
)


def reason(field: str, unit: Unit, numbers: Numbers, hidden: bool, open_: Sequence[Any] = ()) -> str:
    """Why a field does not show; `open_`: its values that explain all answers."""
    for name, values, why in REASONS:
        if name == field and open_ and values.issuperset(open_):
            return why
    span = numbers.said()
    instead = " and C is hidden" if hidden else ""
    return {
        "sum": f"{span}{instead}: too little to lose a bit in an aligned sum of that many",
        "align_bits": f"{span}{instead}: nothing lies below the bits kept, or rounding to {unit.width} bits hides it",
        "cut": "no term that these formats can make is cut where a rounded sum would show it",
        "width": "no sum of one instruction has more bits than these widths keep",
        "rounding": f"no sum that these formats can make has bits below the {unit.width} kept",
        "c_rounding": f"no sum with C that these formats can make has bits below the {unit.width} kept",
        "join_bits": f"{span}: no sum reaches below the bits kept",
        "terms": f"{span}{instead}: sums are exact, so that who is added with whom leaves no trace",
        "instruction_k": "C joins in the first sum and k ascends: where an instruction ends leaves no trace",
        "order": f"{span}{instead}: sums are exact, so that their order leaves no trace",
        "c": "adding C early or late gives the same bits here",
        "zero_exponent": "no operand, and no C, is so small that a zero's exponent would cut it",
        "read_as": "the formats make no sum that another exponent of a subnormal operand would cut",
        "subnormal_inputs": "the formats make no subnormal that shows",
        "subnormal_outputs": "no sum of these formats is subnormal",
        "zero_sign": "no zero's sign reaches the result",
        "product_overflow": "no product passes the accumulator's range by itself",
        "nan": "every NaN that was seen has one code",
        "nan_code": "these formats and this backend make no NaN",
        "negative_zero": "these formats and this backend make no -0 that could stay",
        "saturate": "no sum of these formats passes the range in one instruction",
    }.get(field, "no vector in these formats tells them apart")


class Found(NamedTuple):
    """Units that explain all answers, the chosen one first."""

    units: list[Unit]

    def nearest(self) -> dict[str, dict[str, list[str]]]:
        """By field and other value of it, as shown, the fields that change with it in the unit most like the first."""
        chosen = fields(self.units[0])
        found: dict[str, dict[str, list[str]]] = {}
        for unit in self.units[1:]:
            other = fields(unit)
            changed = [name for name, value in chosen.items() if other.get(name, value) != value]
            for name in changed:
                known = found.setdefault(name, {})
                along = [each for each in changed if each != name]
                if len(along) < len(known.setdefault(shown(other[name]), along)):
                    known[shown(other[name])] = along
        return found

    def singles(self) -> list[Unit]:
        """The first unit with one field changed, where the others have that change only beside more."""
        first, made = self.units[0], []
        for name, values in self.nearest().items():
            for unit in self.units[1:]:
                if values.get(shown(getattr(unit, name))):
                    try:
                        made.append(msgspec.structs.replace(first, **{name: getattr(unit, name)}))
                    except GemmlabError:  # one that contradicts the other fields
                        continue
        return list(dict.fromkeys(made))

    def ambiguous(self, numbers: Numbers, hidden: bool, ends: bool) -> dict[str, Ambiguity]:
        """The fields in which they differ; `ends`: where an instruction ends was seen from what fills it up."""
        unit, nearest = self.units[0], self.nearest()
        found: dict[str, Ambiguity] = {}
        for name, value in fields(unit).items():
            others = {shown(v): v for v in (fields(u).get(name, value) for u in self.units[1:]) if v != value}
            if others:
                joint = {seen: along for seen, along in nearest[name].items() if along}
                along = dict.fromkeys(each for changed in joint.values() for each in changed)
                single = [v for seen, v in others.items() if seen not in joint]
                why = [reason(name, unit, numbers, hidden, (value, *single))] if single else []
                # A value that is possible only beside others says nothing of what these formats cannot show.
                if joint:
                    which = f"{', '.join(joint)} " if single else ""
                    why.append(f"{which}only together with other {' and '.join(along)}, which gives the same bits")
                found[name] = Ambiguity((value, *others.values()), "; ".join(why), tuple(along))
        if unit.c == "early" and unit.order == "ascending" and not ends:
            found["instruction_k"] = Ambiguity((unit.k, 2 * unit.k), reason("instruction_k", unit, numbers, hidden))
        if unit.nan == "fixed":
            found["nan"] = Ambiguity(("fixed", "ieee"), reason("nan", unit, numbers, hidden))
        return found
