"""The picture of the ladder on a GPU: how fast each rung is at each size, from what benchmarks/gpu_ladder.py wrote."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from measured import result

from gemmlab.report.axis import LogAxis, span, tick_text
from gemmlab.report.svg import Drawing

WIDTH, HEIGHT = 860.0, 560.0
LEFT, TOP, BOTTOM, LABELS = 56.0, 66.0, 520.0, 190.0
LINE = 14.0  # least distance of labels
LEFT_OUT = ("padded", "split_k")  # side branches, not steps of the ladder
LOOKS = {"float32": ("plum", "circle"), "bfloat16": ("teal", "square")}
SAID = "TFLOP/s by side n of n x n x n, both on logarithmic scales; broken lines: torch.matmul, in turn with each rung"


def lines_of(rows: list[dict[str, Any]]) -> dict[tuple[str, str], dict[int, float]]:
    """TFLOP/s by side, of each rung by format and name, and of the vendor's library; its fastest turn where several."""
    found: dict[tuple[str, str], dict[int, float]] = {}
    for row in rows:
        if row.get("variant") or row["layout"] != "nn" or row["kernel"] in LEFT_OUT or "time_s" not in row:
            continue
        work = 2 * row["n"] ** 3 / 1e12
        found.setdefault((row["format"], row["kernel"]), {})[row["n"]] = work / row["time_s"]
        vendor = found.setdefault((row["format"], "torch.matmul"), {})
        vendor[row["n"]] = max(vendor.get(row["n"], 0.0), work / row["vendor_time_s"])
    return found


def apart(places: list[float]) -> list[float]:
    """Heights at least LINE apart and as near these as can be: sorted from the lowest up, each pushed past the last."""
    order = sorted(range(len(places)), key=lambda i: -places[i])
    found, last = [0.0] * len(places), BOTTOM + LINE
    for i in order:
        last = found[i] = min(places[i], last - LINE)
    return found


def ladder_picture() -> str:
    """The SVG."""
    told = result("gpu_ladder")
    lines = lines_of(told["rows"])
    rates = [rate for line in lines.values() for rate in line.values()]
    sides = sorted({side for line in lines.values() for side in line})
    x = LogAxis(sides[0], sides[-1], LEFT + 12, WIDTH - LABELS)
    y = LogAxis(*span(rates, 1.3, 1.3, 1), BOTTOM, TOP)
    ends = "; ".join(f"{name} {form} {line[sides[-1]]:.3g} TFLOP/s" for (form, name), line in lines.items())
    title = f"The ladder on one {told['rows'][0]['environment']['device']}, measured {told['date']}"
    drawing = Drawing(WIDTH, HEIGHT, title, f"At n = {sides[-1]}: {ends}")
    drawing.text(16, 24, title, 14, bold=True)
    drawing.paragraph(16, 42, SAID, WIDTH - 32, color="quiet")
    for side in sides:
        drawing.line((x.at(side), TOP, x.at(side), BOTTOM), "grid")
        drawing.text(x.at(side), BOTTOM + 18, str(side), 11, "quiet", anchor="middle")
    for value in y.ticks(24):
        drawing.line((LEFT, y.at(value), WIDTH - LABELS, y.at(value)), "grid")
        drawing.text(LEFT - 6, y.at(value) + 4, tick_text(value), 11, "quiet", anchor="end")
    labels = apart([y.at(line[max(line)]) for line in lines.values()])
    for ((form, name), line), label in zip(lines.items(), labels, strict=True):
        color, shape = LOOKS[form]
        library = name == "torch.matmul"
        points = [(x.at(side), y.at(line[side])) for side in sorted(line)]
        for (left, high), (right, low) in pairwise(points):
            drawing.line((left, high, right, low), color, 1.5, "4 3" if library else "")
        for place in points:
            if not library:
                drawing.marker(shape, *place, color)
        end = points[-1]
        drawing.line((end[0] + 6, end[1], end[0] + 18, label), "quiet", 0.5)
        drawing.text(end[0] + 22, label + 4, f"{name}, {form}", 11, color, bold=library)
    return drawing.svg("ladder")
