"""The tables of the ladder, from what benchmarks/{gpu_ladder,cpu_ladder,cpu_predictions,webgpu_counts}.py wrote."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from measured import result
from tables import table

from gemmlab.units import bytes_text

#: how a CPU's vectors are told, widest first
WIDTHS = {"amx_bf16": "AVX-512 and AMX", "avx512f": "AVX-512", "avx2": "AVX2"}
#: the files of readings on CPUs, and how their chips are told
CHIPS = {"cpu_ladder": "Xeon, AVX-512 and AMX", "cpu_ladder_avx2": "EPYC, AVX2", "cpu_readings_zen5": "EPYC, AVX-512"}
COUNTED = ("formula", "adapter", "emulated")  #: how loads are known, as benchmarks/webgpu_counts.py calls it


def where(found: dict[str, Any]) -> str:
    """The chip, the date and the versions."""
    told = found["rows"][0]["environment"]
    return f"Measured {found['date'][:10]} on one {told['device']}, driver {told['driver']}, torch {told['torch']}"


def rungs(format_: str) -> list[dict[str, Any]]:
    """The rows of a format's rungs in their own settings."""
    return [row for row in result("gpu_ladder")["rows"] if row["format"] == format_ and not row.get("variant")]


def ladder(format_: str) -> str:
    """Every rung beside its count, its prediction and the vendor's library, in turn with it."""
    found = result("gpu_ladder")
    rows = []
    for row in rungs(format_):
        if row["n"] < 4096:
            continue
        rate = 2 * row["n"] ** 3 / row["time_s"] / 1e12
        rows.append(
            [
                f"`{row['kernel']}`",
                f"{row['n']}, {row['layout']}",
                f"{row['counted']['global_load_bytes'] / 1e9:,.1f} GB",
                f"{row['predicted']['time_s'] * 1e6:,.0f} us",
                f"{row['time_s'] * 1e6:,.0f} us",
                f"{rate:.1f} TFLOP/s",
                f"{row['share']:.1%}",
                "right" if row["right"] else "wrong",
            ]
        )
    rows.sort(key=lambda cells: (cells[1], float(cells[6].rstrip("%"))))
    heads = ["kernel", "n, layout", "loads, counted", "predicted", "measured", "rate", "of the vendor's rate", "result"]
    return f"{where(found)}; each rung in turn with torch.matmul, results against float64.\n\n" + table(heads, rows)


def sizes() -> str:
    """The rate of every rung at every size, and the vendor's beside it."""
    found = result("gpu_ladder")
    lines = []
    for form in ("float32", "bfloat16"):
        rows = [row for row in rungs(form) if row["layout"] == "nn"]
        sides = sorted({row["n"] for row in rows})
        rates: dict[str, dict[int, float]] = {}
        for row in sorted(rows, key=lambda row: (row["n"], row["time_s"])):
            rates.setdefault(row["kernel"], {})[row["n"]] = 2 * row["n"] ** 3 / row["time_s"] / 1e12
            vendor = rates.setdefault("torch.matmul", {})
            vendor[row["n"]] = max(vendor.get(row["n"], 0.0), 2 * row["n"] ** 3 / row["vendor_time_s"] / 1e12)
        order = sorted(rates, key=lambda name: rates[name][sides[-1]] if name != "torch.matmul" else float("inf"))
        lines += [[f"`{name}`", form, *(f"{rates[name][side]:.3g}" for side in sides)] for name in order]
    right = sum(row["right"] for row in found["rows"])
    words = f"TFLOP/s, measured; {right} of {len(found['rows'])} results right"
    return f"{where(found)}; {words}.\n\n" + table(["kernel", "format", *map(str, sides)], lines)


def cpu() -> str:
    """The CPU's rungs beside the libraries, in turn with them."""
    lines = []
    for name in ("cpu_ladder", "cpu_ladder_avx2"):
        found = result(name)
        kind = next(words for flag, words in WIDTHS.items() if flag in found["flags"])
        for bar in found["bars"]:
            if bar.get("met") in (True, False) and "median_s" in bar:
                shares = bar["median_s"]
                by_side = ", ".join(f"{side}: {share:.2f}" for side, share in shares.items() if side.isdigit())
                what = [f"`{bar['rung']}`", f"{bar['form']}, {bar['threads']} core{'s' * (bar['threads'] > 1)}"]
                lines.append([*what, f"{found['chip'].strip()}, {kind}", bar["vendor"], by_side,
                              f"{shares['geometric_mean']:.2f}"])  # fmt: skip
    heads = ["rung", "format, cores", "chip", "beside", "rate over the library's, by n", "geometric mean"]
    return table(heads, lines)


def cpu_rungs() -> str:
    """Each rung of the CPU's ladder with count, prediction, time and share of the limit: the largest size of each."""
    found = result("cpu_predictions")
    chosen: dict[tuple[str, str, str], dict[str, Any]] = {}
    for row in found["rows"]:
        if not row["left_out"] and row["threads"] == 1:
            chosen[row["file"], row["rung"], row["format"]] = max(
                chosen.get((row["file"], row["rung"], row["format"]), row), row, key=lambda each: each["n"]
            )
    lines = [
        [
            CHIPS[row["file"]], f"`{row['rung']}`", row["format"], " x ".join(str(row[side]) for side in "mnk"),
            bytes_text(row["counted_load_bytes"]), bytes_text(row["counted_store_bytes"]),
            f"{row['predicted_s'] * 1e3:,.2f} ms", row["bound"], f"{row['measured_s'] * 1e3:,.2f} ms",
            f"{100 * row['limit_s'] / row['measured_s']:.0f}%",
        ]
        for row in chosen.values()
    ]  # fmt: skip
    heads = ["chip", "rung", "format", "m x n x k", "loads, counted", "stores, counted", "predicted", "bound"]
    heads += ["measured", "of limit"]
    return table(heads, lines) + "\n" + cpu_errors(found)


def cpu_errors(found: dict[str, Any]) -> str:
    """How far those predictions are from all readings, file by file."""
    lines = []
    for name, chip in CHIPS.items():
        figures = found[name]
        worst = figures["worst"]
        where_ = f"`{worst['rung']}`, {' x '.join(str(worst[side]) for side in 'mnk')}"
        lines.append([
            chip, f"{figures['within']} of {figures['rows']}", f"{figures['median_factor']:.2f}",
            f"{figures['worst_factor']:.2f}: {where_}", found["assumed"][name],
        ])  # fmt: skip
    heads = ["chip", "within a factor of 2", "median factor", "worst", "clock and memory"]
    return table(heads, lines)


def counted() -> str:
    """Loads by formula, on an adapter and in the emulator."""
    found = result("webgpu_counts")
    told = found["rows"][0]["environment"]
    rows = [
        [f"`{row['kernel']}`", " x ".join(map(str, row["sides"])), *(f"{row[how]:,}" for how in COUNTED)]
        for row in found["rows"]
        if row["right"]
    ]
    where = f"Counted {found['date']} on {told['device']}, {told['driver']}, wgpu {told['wgpu']}"
    heads = ["kernel", "m x n x k", "by formula", "on the adapter", "emulated"]
    return f"{where}; elements of A and B, every result right.\n\n" + table(heads, rows)


LADDER: dict[str, Callable[[], str]] = {
    "result gpu ladder float32": lambda: ladder("float32"),
    "result gpu ladder bfloat16": lambda: ladder("bfloat16"),
    "result gpu ladder sizes": sizes,
    "result cpu ladder": cpu,
    "result cpu rungs": cpu_rungs,
    "result webgpu counts": counted,
}
