"""The tables of the ladder on a GPU, from what benchmarks/gpu_ladder.py wrote."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from measured import result
from tables import table

COUNTED = ("formula", "adapter", "emulated")  #: how loads are known, as benchmarks/webgpu_counts.py calls it


def where(found: dict[str, Any]) -> str:
    """The chip, the date and the versions."""
    told = found["rows"][0]["environment"]
    return f"Measured {found['date'][:10]} on one {told['device']}, driver {told['driver']}, torch {told['torch']}"


def ladder(format_: str) -> str:
    """Every rung beside its count and the vendor's library, in turn with it."""
    found = result("gpu_ladder")
    rows = []
    for row in found["rows"]:
        if row["format"] != format_ or row.get("variant") or row["n"] < 4096:
            continue
        counted = row.get("counted") or {}
        rate = 2 * row["n"] ** 3 / row["time_s"] / 1e12
        rows.append(
            [
                f"`{row['kernel']}`",
                f"{row['n']}, {row['layout']}",
                f"{counted['global_load_bytes'] / 1e9:.1f} GB" if counted else "-",
                f"{row['time_s'] * 1e6:,.0f} us",
                f"{rate:.1f} TFLOP/s",
                f"{row['share']:.1%}",
                "right" if row["right"] else "wrong",
            ]
        )
    rows.sort(key=lambda cells: (cells[1], float(cells[5].rstrip("%"))))
    heads = ["kernel", "n, layout", "loads, counted", "time", "rate", "of the vendor's rate", "result"]
    return f"{where(found)}; each rung in turn with torch.matmul, results against float64.\n\n" + table(heads, rows)


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
    "result webgpu counts": counted,
    "result gpu ladder bfloat16": lambda: ladder("bfloat16"),
}
