"""The predicted time as a waterfall of named causes."""

from gemmlab.record import Record
from gemmlab.report import story
from gemmlab.report.svg import Drawing, fit, text_lines, text_width
from gemmlab.report.words import amount

ROW = 34


def waterfall(record: Record, width: float = 560) -> Drawing | None:
    """The picture, or None where the record has no prediction."""
    prediction = record.prediction
    if prediction is None or not prediction.time_s > 0:
        return None
    steps = story.time_steps(prediction)
    total = story.total_shown(prediction)
    said = "Causes one after another; together they are the predicted time"
    lines = text_lines(said, 12, width - 32)
    top = 36 + 16 * len(lines)
    measured = record.measurement if record.measurement and record.measurement.time_s else None
    taken = measured.time_s or 0.0 if measured else 0.0
    rows = len(steps) + 1 + (measured is not None)
    words = "; ".join(f"{step.cause} {step.shown}" for step in steps)
    drawing = Drawing(width, top + ROW * rows + 10, f"Where {total} goes", f"Predicted: {words}; total {total}")
    drawing.text(16, 24, "Where the time goes", 14, bold=True)
    drawing.paragraph(16, 42, said, width - 32, color="quiet")
    reach = max(prediction.time_s, *(s.start_s + max(s.time_s, 0) for s in steps), taken)
    per_second = (width - 32) / reach
    for index, step in enumerate(steps):
        y = top + ROW * index
        row_text(drawing, y, step.cause, f"{step.shown}  {step.share}")
        left, right = sorted((step.start_s, step.start_s + step.time_s))
        x, wide = 16 + left * per_second, max((right - left) * per_second, 1.5)
        drawing.rect(min(x, width - 17.5), y + 17, wide, 9, "teal" if step.time_s < 0 else "ochre", rounded=1)
        end = min(16 + (step.start_s + step.time_s) * per_second, width - 16)
        drawing.line((end, y + 17, end, y + 17 + ROW), "grid", 1, "")
    y = top + ROW * len(steps)
    row_text(drawing, y, "total, predicted", total, bold=True)
    drawing.rect(16, y + 17, prediction.time_s * per_second, 9, "ink", rounded=1)
    if measured:
        row_text(drawing, y + ROW, f"measured, {measured.backend}", amount(taken, "s"), bold=True)
        drawing.rect(16, y + ROW + 17, taken * per_second, 9, "plum", rounded=1)
    return drawing


def row_text(drawing: Drawing, y: float, label: str, value: str, bold: bool = False) -> None:
    """A row's name and figure, at both ends."""
    right = drawing.width - 16
    drawing.text(right, y + 12, value, 12, anchor="end", bold=bold)
    room = right - 16 - text_width(value, 12, bold) - 12
    drawing.text(16, y + 12, fit(label, 12, room, bold), 12, bold=bold)
