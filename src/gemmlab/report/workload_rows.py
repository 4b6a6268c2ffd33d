"""One row of an answer in words: its formats, layout, rate, and the place in the program where it stands."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from gemmlab.experiment.workload.answer import Row
from gemmlab.record.workload import CallSection
from gemmlab.report.canvas import shorten
from gemmlab.report.words import amount, clean, percent
from gemmlab.units import significant
from gemmlab.workload import Call

LONGEST_PLACE = 120  #: characters of a place


class Placed(NamedTuple):
    """A row with its number and its `call`."""

    number: int
    row: Row
    section: CallSection

    @property
    def call_known(self) -> str:
        """How its time is known."""
        return self.section.known


#: an input with its shape and format, as a model's settings tell it
FED = re.compile(r"(?:[A-Za-z_]\w*=)?(?P<shape>\d+(?:x\d+)*):(?P<format>\w+)")
INSTANCE = re.compile(r"_\d+$")  #: which of its class a module is, as a trace counts them: `Block_3`
RUNS = 5  #: runs of row numbers that are written out


def off(errors: tuple[float, float]) -> str:
    """The lowest and the highest of errors: `-16% to +6%`."""
    return " to ".join(f"{100 * error:+.0f}%" for error in errors)


def listed(numbers: Sequence[int]) -> str:
    """`1 and 3`, `1, 3 and 4`."""
    return f"{', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"


def peak_share(placed: Placed) -> float | None:
    """What a multiplication takes at the peak of its format, over its time; None where no peak is known."""
    known, section = placed.row.record.prediction, placed.section
    if known is None or section.time_s <= 0 or not section.predicted_time_s:
        return None
    return known.compute_time_s * section.count / section.time_s


def fed(inputs: str) -> tuple[int, str] | None:
    """How many of what a step takes in: tokens of whole numbers by two axes, images, or samples; None where unknown."""
    words = inputs.split()
    first = next((word for word in words if word.startswith("input_ids=")), words[0] if words else "")
    found = FED.fullmatch(first)
    if not found:
        return None
    sides = [int(side) for side in found["shape"].split("x")]
    if "int" in found["format"]:
        return (sides[0] * sides[1], "tokens") if len(sides) == 2 else None
    return (sides[0], "images" if len(sides) == 4 else "samples") if len(sides) > 1 else None


def rounded(value: float) -> str:
    """A number of things a second: `259,000`, `12.3`."""
    digits = 3
    if value < 10**digits:
        return significant(value, digits)
    unit = 10 ** (len(str(int(value))) - digits)
    return f"{round(value / unit) * unit:,}"


def exact(share: float) -> str:
    """A share as a percentage with one decimal where that says more: `99.8%`."""
    return percent(share) if share >= 0.9995 or share < 0.0005 else f"{100 * share:.1f}%"


def kinds_of(kinds: object) -> str:
    """The one word where all are known in one way, else both; empty where there are none."""
    found = sorted({str(kind) for kind in kinds}) if hasattr(kinds, "__iter__") else []
    return " and ".join(found)


def grouped(groups: tuple[tuple[int, int, int], ...]) -> str:
    """A grouped multiplication by its sizes, short."""
    ms, ns, ks = (sorted(set(sides)) for sides in zip(*groups, strict=True))
    sides = [str(each[0]) if len(each) == 1 else f"{each[0]}-{each[-1]}" for each in (ms, ns, ks)]
    return f"{len(groups)} of {' x '.join(sides)}"


def shown_format(placed: Placed) -> str:
    """Its formats, and the accumulator where it is not the usual one."""
    p = placed.row.record.problem
    if p is None:
        return ""
    operands = p.a_format if p.a_format == p.b_format else f"{p.a_format} x {p.b_format}"
    head = operands if p.d_format == operands else f"{operands} -> {p.d_format}"
    usual = p.accumulate in ("float32", "int32", p.a_format)
    return clean(head if usual else f"{head}, {p.accumulate} accumulator")


def shown_layout(placed: Placed) -> str:
    """Its layout, the leading dimensions that hold gaps, the bases that are not aligned, its convolution."""
    p, call = placed.row.record.problem, placed.row.call
    if p is None:
        return ""
    said = [p.layout]
    gapless = call.problem.gapless
    said += [f"{name} {getattr(p, name)}" for name in ("lda", "ldb", "ldc") if name not in gapless and not p.groups]
    offsets = {"A": p.a_offset_bytes, "B": p.b_offset_bytes, "C": p.c_offset_bytes}
    said += [f"{name} {offset} B past its line" for name, offset in offsets.items() if offset]
    said += [f"A {p.structure}"] if p.structure != "general" else []
    if layer := call.convolution:
        kernel, stride, image = ("x".join(map(str, sides)) for sides in (layer.kernel, layer.stride, layer.size))
        form = f"{kernel} convolution of {layer.batch}x{layer.channels}x{image}"
        every = f" stride {stride}" if set(layer.stride) != {1} else ""
        parts = f" in {layer.groups} groups" if layer.groups > 1 else ""
        said.append(f"{call.convolution_pass or 'forward'} of a {form}{every}{parts}, {layer.order}")
    said += [f"in {call.fused}"] if call.fused else []
    said += ["half masked"] if call.causal else []
    return clean(", ".join(said))


def shown_rate(placed: Placed) -> str:
    """Its work a second, and the share of its format's peak."""
    if placed.section.time_s <= 0:
        return ""
    peak = peak_share(placed)
    share = f", {percent(peak)} of peak" if peak is not None else ""
    return amount(placed.row.flop_per_s, "FLOP/s") + share


def shown_place(call: Call) -> str:
    """Where it stands in the program."""
    place = shorten(pattern(call.places), LONGEST_PLACE)
    return clean(" of ".join(filter(None, (call.phase, place or call.operator))))


def pattern(places: Sequence[str]) -> str:
    """Places as one: numbers of repeated layers as `*`, last parts that differ in braces, else the first and how many.

    `h.0.attn.q`, `h.0.attn.k`, `h.1.attn.q`, ... is `h.*.attn.{q,k}`.
    """
    if len(places) <= 1:
        return places[0] if places else ""
    starred = list(dict.fromkeys(starred_place(place) for place in places))
    if len(starred) == 1:
        return starred[0]
    if any("(" in place for place in starred):
        return f"{starred[0]} and {len(starred) - 1} more"
    heads = {place.rpartition(".")[0] for place in starred}
    tails = [place.rpartition(".")[2] for place in starred]
    if len(heads) == 1 and len(tails) <= 4 and all(heads):
        return f"{heads.pop()}.{{{','.join(tails)}}}"
    return f"{starred[0]} and {len(starred) - 1} more"


def starred_place(place: str) -> str:
    """A module's name without the numbers of repeated layers; a line of a stack as it is."""
    if "(" in place or "/" in place:
        return place
    return ".".join("*" if part.isdecimal() else INSTANCE.sub("_*", part) for part in place.split("."))


def part_of(call: Call) -> str:
    """The part of the program that it belongs to: the module around its own, or what all its places share."""
    if not call.places:
        return call.phase or call.operator or "multiplications"
    parts = list(dict.fromkeys(around(place) for place in call.places))
    if len(parts) == 1:
        return parts[0]
    shared: list[str] = []
    for level in zip(*(part.split(".") for part in parts), strict=False):
        if len(set(level)) > 1:
            break
        shared.append(level[0])
    return ".".join(shared) or "several parts"


def around(place: str) -> str:
    """The module that holds a module; the file of a line of a stack; what a layer's name begins with."""
    if found := re.match(r"(.*?)\(\d+\)", place):
        return found[1].rpartition("/")[2] or place
    head = starred_place(place).rpartition(".")[0]
    return head or re.sub(r"[_\-]?\d+\w*$", "", place) or place


def own_name(call: Call) -> str:
    """What a multiplication is called inside its part: the last of its place that is no number of a layer."""
    place = pattern(call.places)
    if call.fused and "attention" in call.fused:
        return "attention"
    last = next((part for part in reversed(place.split(".")) if part != "*" and not part.isdecimal()), "")
    return clean(place if "(" in place else last.removesuffix("_*")) or clean(call.operator)


def rows_text(rows: Sequence[int]) -> str:
    """Numbers of rows: `row 3`, `rows 1-4, 7`; the first runs of many, and how many more."""
    runs: list[list[int]] = []
    for number in sorted(rows):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    if not rows:
        return "the whole program"
    shown = ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs[:RUNS])
    if len(runs) > RUNS:
        shown += f" and {sum(map(len, runs[RUNS:]))} more"
    return f"{'row' if len(rows) == 1 else 'rows'} {shown}"
