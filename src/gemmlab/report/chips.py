"""Chips as text: many in a table, or one with every figure, where it comes from and what is doubted."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from gemmlab.chips import Chip, Entry, figures, standing
from gemmlab.report.canvas import Canvas, cells
from gemmlab.report.words import clean, plain
from gemmlab.units import capacity_text, si

HEADS = ("chip", "SMs", "float32", "16-bit", "8-bit", "DRAM", "knee", "known by")
WIDTHS = {"float32": ("float32",), "16-bit": ("float16", "bfloat16"), "8-bit": ("float8_e4m3fn", "float8_e5m2", "int8")}
MEANING = (
    "SMs are compute units, matrix units or cores. Peaks are dense, in TFLOP/s, DRAM in GB/s; all from data sheets. "
    "The knee is the 16-bit peak (else the 8-bit, else the float32 one) over DRAM bandwidth, in FLOP/byte. "
    "A chip is known by its data sheet alone, or its constants are calibrated, or those were validated on other runs. "
    "A 2:4 sparse peak is twice the dense one; taken for a dense knee, it doubles the knee wrongly."
)

#: how a figure is shown, by the end of its path; the first that fits
UNITS = (("bytes_per_s", "B/s"), ("flop_per_s", "FLOP/s"), ("_hz", "Hz"), ("_w", "W"), ("_j", "J"), ("_s", "s"))


def chip_table(chips: Sequence[Chip], *, width: int | None = None) -> str:
    """A table of chips, a line each; where that is too wide, two."""
    canvas = Canvas.of(sys.stdout, width, None, None)
    rows = [row(chip) for chip in chips]
    sizes = [max(cells(line[i]) for line in (HEADS, *rows)) for i in range(len(HEADS))]
    if sum(sizes) + 2 * (len(sizes) - 1) <= canvas.width:
        lines = [canvas.paint(columns(HEADS, sizes), "dim"), *(columns(line, sizes) for line in rows)]
    else:
        lines = [text for line in rows for text in stacked(line, canvas)]
    return "\n".join([*lines, "", *canvas.wrap(MEANING, style="datasheet")])


def row(chip: Chip) -> tuple[str, ...]:
    """A chip in HEADS."""
    peaks = {name: widest(chip, formats) for name, formats in WIDTHS.items()}
    peak = peaks["16-bit"] or peaks["8-bit"] or peaks["float32"]
    dram = chip.level("dram")
    bandwidth = float(dram.bandwidth_bytes_per_s) if dram else 0.0
    shown = [f"{value / 1e12:.4g}" if value else "-" for value in peaks.values()]
    knee = plain(peak / bandwidth) if peak and bandwidth else "-"
    return (chip.name, f"{chip.sm_count:.0f}", *shown, f"{bandwidth / 1e9:.4g}", knee, known_by(chip))


def known_by(chip: Chip) -> str:
    """What predictions rest on, in two words at most."""
    if chip.calibration is None:
        return "data sheet"
    return "validated" if chip.calibration.validated else "calibrated"


def widest(chip: Chip, formats: Iterable[str]) -> float:
    """The highest of the chip's peaks in these formats; 0 where it has none."""
    return max((chip.peak_flop_per_s(name) or 0.0 for name in formats), default=0.0)


def columns(line: Sequence[str], sizes: Sequence[int]) -> str:
    """One line: words to the left, numbers to the right."""
    parts = [
        text + " " * (size - cells(text)) if i in (0, len(sizes) - 1) else " " * (size - cells(text)) + text
        for i, (text, size) in enumerate(zip(line, sizes, strict=True))
    ]
    return "  ".join(parts).rstrip()


def stacked(line: Sequence[str], canvas: Canvas) -> list[str]:
    """One chip on several lines of a narrow terminal."""
    name, sms, single, half, byte, dram, knee, rests = line
    peaks = ", ".join(
        f"{head} {value}" for head, value in zip(WIDTHS, (single, half, byte), strict=True) if value != "-"
    )
    lines = canvas.wrap(f"{name}, {sms} SMs, {rests}", style="strong", hang=2)
    return lines + canvas.wrap(f"TFLOP/s: {peaks}; {dram} GB/s; knee {knee}", 2, hang=2)


def chip_text(chip: Chip, *, width: int | None = None) -> str:
    """Every figure of a chip with its source and whether it is sure; then what its file notes."""
    canvas = Canvas.of(sys.stdout, width, None, None)
    entries = figures(chip)
    sources = list(dict.fromkeys(entry.source for entry in entries if entry.source))
    lines = canvas.wrap(f"{clean(chip.name)}: {clean(chip.full_name)}", style="strong", hang=2)
    about = [chip.architecture, str(chip.year or ""), ", ".join(chip.features), standing(chip)]
    lines += [*canvas.wrap("; ".join(clean(text) for text in about if text), 2, hang=2), ""]
    for entry in entries:
        lines += figure_lines(entry, sources, canvas)
    for head, texts in (("Sources", numbered(sources)), ("Notes", [f"- {clean(note)}" for note in chip.notes])):
        if texts:
            lines += ["", canvas.paint(head, "strong")]
            lines += [line for text in texts for line in canvas.wrap(text, 2, hang=4)]
    return "\n".join(lines)


def numbered(sources: Sequence[str]) -> list[str]:
    """The sources as the figures refer to them."""
    return [f"[{index}] {clean(source)}" for index, source in enumerate(sources, 1)]


def figure_lines(entry: Entry, sources: Sequence[str], canvas: Canvas) -> list[str]:
    """One figure: its path, its value, the number of its source, and what is said against it."""
    place = f" [{sources.index(entry.source) + 1}]" if entry.source else ""
    value = f"{figure_value(entry)}{place:>5}{'' if entry.sure else ' unsure'}"
    lines = canvas.sides(f"  {entry.path}", f"{value:<{24}}" if canvas.width >= 80 else value)
    return [line.rstrip() for line in lines] + canvas.wrap(clean(entry.note), 6, "bound" if not entry.sure else "dim")


def figure_value(entry: Entry) -> str:
    """A figure in the unit that its path ends with."""
    last = entry.path.rsplit(".", 1)[-1]
    if entry.path.startswith("energy."):
        return si(entry.value, "J")
    if "bytes" in last and not last.endswith("_per_s"):
        return capacity_text(entry.value)
    for end, unit in UNITS:
        if last.endswith(end):
            return si(entry.value, unit, 4)
    return f"{entry.value:,.0f}" if entry.value == int(entry.value) and entry.value < 1e15 else plain(entry.value, 4)
