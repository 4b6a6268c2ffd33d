"""The tables of `gemmlab.matmul` beside torch, from what benchmarks/peak*.py wrote; words where a file is missing."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from measured import FOLDER, result
from tables import table

Rows = list[dict[str, Any]]

#: what each of the other benchmarks' files is called, and the command that writes it
COMMANDS = {
    "peak": "python benchmarks/peak.py",
    "peak_accuracy": "python benchmarks/peak_accuracy.py",
    "peak_sustained": "python benchmarks/peak_sustained.py",
    "peak_host": "python benchmarks/peak_host.py",
    "peak_sanitizer": "python benchmarks/peak_sanitizer.py",
    "peak_tuning": "python benchmarks/peak_tuning.py",
    "peak_bits": "python benchmarks/peak_bits.py",
}
CONTENDERS = {"ours": "`gemmlab.matmul`", "torch": "torch", "cublaslt": "the best of cuBLASLt's list"}
HOLDS = {True: "yes", False: "no", None: "-"}


def shown(name: str, tell: Callable[[dict[str, Any]], str]) -> str:
    """A table of a file; where there is none, what measures it."""
    if not (FOLDER / f"{name}.json").exists():
        return f"Not measured yet: `{COMMANDS[name]}` on an H200 writes it.\n"
    return tell(result(name))


def where(found: dict[str, Any]) -> str:
    """The chip, the date and the versions."""
    return f"Measured {found['date']} on one {found['chip']}, torch {found['versions']['torch']}"


def mean(values: Iterable[float]) -> float | None:
    """The geometric mean; None of nothing."""
    logs = [math.log(value) for value in values]
    return math.exp(math.fsum(logs) / len(logs)) if logs else None


def times(ratio: float | None) -> str:
    """A ratio of times."""
    return "-" if ratio is None else f"{ratio:.2f}"


def us(seconds: float | None) -> str:
    """Microseconds with three digits."""
    if seconds is None:
        return "-"
    return f"{seconds * 1e6:,.0f} us" if seconds >= 1e-4 else f"{seconds * 1e6:.1f} us"


def best_of_list(row: dict[str, Any]) -> float | None:
    """Seconds of the best of cuBLASLt's list; None where it was not searched."""
    return row.get("contenders", {}).get("cublaslt", {}).get("s")


def over_best(rows: Rows) -> float | None:
    """How many times as long as ours the best of cuBLASLt's list takes, where it was searched."""
    return mean(best / row["ours_s"] for row in rows if (best := best_of_list(row)))


def groups(found: dict[str, Any]) -> str:
    """Every group beside its bars."""
    lines = []
    for each in found["groups"]:
        rows = found["rows"][each["group"]]
        bars = "-" if each["bar"] is None else f"{each['bar']:g}, {each['worst_bar']:g}"
        lines.append([
            each["group"], each["rows"], times(each["mean"]), times(each["worst"]), bars, HOLDS[each["holds"]],
            times(over_best(rows)),
        ])  # fmt: skip
    heads = ["group", "rows", "torch's time over ours", "slowest row", "bars", "holds", "cuBLASLt's best over ours"]
    copy = f"a copy reaches {found['copy_bytes_per_s'] / 1e12:.2f} TB/s"
    return f"{where(found)}; geometric means; {copy}.\n\n" + table(heads, lines)


def rows(found: dict[str, Any]) -> str:
    """Every row of every group."""
    lines = []
    for name, each in found["rows"].items():
        lines += [[name, *line(row)] for row in each]
    heads = ["group", "m x n x k", "format", "lie", "ours", "torch", "torch / ours", "cuBLASLt's best", "predicted"]
    return table([*heads, "rate, or of a copy's"], lines)


def line(row: dict[str, Any]) -> list[str]:
    """A row's cells."""
    sides = " x ".join(str(row[side]) for side in "mnk")
    about = [sides, row["format"], f"`{row['layout']}`"]
    if "fault" in row:
        return [*about, row["fault"], *["-"] * 5]
    several, _, _ = row["layout"].rpartition("*")  # of a batch
    rate = 2 * int(several or 1) * row["m"] * row["n"] * row["k"] / row["ours_s"] / 1e12
    reached = f"{100 * row['copy_share']:.0f}%" if row["m"] <= 128 else f"{rate:.3g} TFLOP/s"
    ours = us(row["ours_s"]) + ("" if row["right"] else ", wrong") + ("" if row["as_accurate"] else ", less accurate")
    return [
        *about, ours, us(row["torch_s"]), times(row["ratio"]), us(best_of_list(row)), us(row["predicted_s"]), reached,
    ]  # fmt: skip


def largest(found: Rows, name: str) -> str:
    """The largest error of some rows with two digits; what torch refuses has none."""
    values = [row[name] for row in found if row[name] is not None]
    return f"{max(values):.1e}" if values else "-"


def accuracy(found: dict[str, Any]) -> str:
    """Errors by format, accuracy and path: the largest over the shapes and kinds of numbers."""
    sorts: dict[tuple[str, str, str, str], Rows] = {}
    for row in found["rows"]:
        if "fault" not in row:
            sorts.setdefault((row["format"], row["result"], row["accuracy"], row["path"]), []).append(row)
    lines = [
        [
            form, out, accuracy_, path,
            *(largest(each, name) for name in ("norm", "torch_norm", "component", "torch_component")),
        ]
        for (form, out, accuracy_, path), each in sorts.items()
    ]  # fmt: skip
    heads = ["format", "result", "accuracy", "path", "by norm", "torch's", "by element", "torch's"]
    return f"{where(found)}; the largest of each.\n\n" + table(heads, lines)


def float32(found: dict[str, Any]) -> str:
    """float32 by kind of numbers, beside torch's float32: the largest over the shapes."""
    lines = []
    kinds = dict.fromkeys((row["numbers"], row["accuracy"]) for row in found["rows"] if "holds" in row)
    for numbers, accuracy_ in kinds:
        each = [row for row in found["rows"] if (row["numbers"], row["accuracy"]) == (numbers, accuracy_)]
        each = [row for row in each if "holds" in row]
        most = [largest(each, name) for name in ("norm", "torch_norm", "component", "torch_component")]
        held = f"{sum(row['holds'] for row in each)} of {len(each)}"
        lines.append([numbers, accuracy_, *most, held])
    heads = ["numbers", "accuracy", "by norm", "torch's", "by element", "torch's", "shapes no further off than torch"]
    return table(heads, lines)


def sustained(found: dict[str, Any]) -> str:
    """8192^3 without a pause."""
    lines = [
        [
            CONTENDERS[each["contender"]], us(each["first_s"]), us(each["sustained_s"]),
            f"{each['sustained_flop_per_s'] / 1e12:.0f} TFLOP/s", f"{each.get('clock_mhz', 0):.0f} MHz",
            f"{each.get('power_w', 0):.0f} W",
            ", ".join(f"{why} in {count} of {each['readings']}" for why, count in each.get("held_back_by", {}).items()),
        ]
        for each in found["turns"]
    ]  # fmt: skip
    heads = ["turn of", "first", "sustained", "rate", "SM clock", "power", "held back by"]
    ratios = ", ".join(f"{CONTENDERS[name]}'s {ratio:.3f}" for name, ratio in found["ratio"].items())
    return f"{where(found)}; times over ours: {ratios}.\n\n" + table(heads, lines)


def host(found: dict[str, Any]) -> str:
    """What a call costs the CPU."""
    lines = [
        [row["shape"], row["way"], us(row["ours_s"]), us(row["torch_s"]), HOLDS[row["holds"]]] for row in found["rows"]
    ]
    heads = ["multiplication", "call", "ours", "torch.mm", "no more than torch"]
    return f"{where(found)}, Python {found['versions']['python']}; of the CPU, a call.\n\n" + table(heads, lines)


def sanitizer(found: dict[str, Any]) -> str:
    """What compute-sanitizer found."""
    lines = [
        [
            f"`{each['tool']}`", "yes" if each["finished"] else "no", str(each.get("errors", "-")),
            str(each.get("warnings", "-")), str(len(each["wrong"])),
        ]
        for each in found["tools"]
    ]  # fmt: skip
    made = sum(case.get("plan") is not None for case in found["cases"])
    missed = f"; not run: {', '.join(found['files_missed'])}" if found["files_missed"] else ""
    files = f"{len(found['files'])} files of kernels{missed}"
    text = f"Checked {found['date']} on one {found['chip']}: {made} plans, {files}.\n\n"
    return text + table(["tool", "finished", "errors", "warnings", "wrong results"], lines)


def tuning(found: dict[str, Any]) -> str:
    """What the model alone reaches of the fastest plan that was measured, group by group."""
    sums = {"all of them": found["all"]} | found["groups"]
    lines = [
        [name, str(each["rows"]), f"{100 * each['mean']:.1f}%", f"{100 * each['worst']:.1f}%"]
        for name, each in sums.items()
        if each["mean"] is not None
    ]
    bar = f"the bar is {100 * found['all']['bar']:.0f}% of all: {HOLDS[found['all']['holds']]}"
    text = f"Measured {found['date']} on one {found['device']['name']}; geometric means; {bar}.\n\n"
    return text + table(["group", "rows", "the model's plan reaches", "slowest row"], lines)


def bits(found: dict[str, Any]) -> str:
    """How many deterministic products had a CPU's bits on the GPU."""
    right = found["shapes"] - found["mismatched_shapes"]
    text = f"{where(found)}: {right} of {found['shapes']} shapes had the CPU's bits, "
    text += f"{found['elements']:,} elements, {found['mismatched_elements']} of them different.\n\n"
    return text + table(["A x B", "shapes"], [[name, str(count)] for name, count in found["by_formats"].items()])


BESIDE_TORCH: dict[str, Callable[[], str]] = {
    "result peak groups": lambda: shown("peak", groups),
    "result peak rows": lambda: shown("peak", rows),
    "result peak accuracy": lambda: shown("peak_accuracy", accuracy),
    "result peak float32": lambda: shown("peak_accuracy", float32),
    "result peak sustained": lambda: shown("peak_sustained", sustained),
    "result peak host": lambda: shown("peak_host", host),
    "result peak sanitizer": lambda: shown("peak_sanitizer", sanitizer),
    "result peak tuning": lambda: shown("peak_tuning", tuning),
    "result peak bits": lambda: shown("peak_bits", bits),
}
