"""The tables that docs/update.py makes from benchmarks/results/*.json and published rates: no such figure is typed."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tables import table

FOLDER = Path(__file__).resolve().parents[1] / "benchmarks" / "results"
PUBLISHED = FOLDER.parent / "published_rates.json"
TESTED = 0.15  # how near tests/model/test_silicon.py holds predicted rates to the published ones that it takes
SHORTEST_S = 20e-6
FORMATS = ("bfloat16", "float16", "float8_e4m3fn", "tfloat32", "float32")

#: what is said of the model, the file that a benchmark wrote, where in it, and what begins its figures' names
VALIDITY = (
    ("time, five folds, each held out by shape", "fit_time_h200", "held_out.model", ""),
    ("time, shapes left out of the fit", "fit_time_h200", "independent_readings.model", ""),
    (
        "the same by generic constants, partly read on an H200",
        "fit_time_h200",
        "independent_readings.data_sheet_only",
        "",
    ),
    ("the same by a fitted roofline", "fit_time_h200", "independent_readings.fitted_roofline", ""),
    ("time, kernels of named tiles, shapes left out of the fit", "fit_time_h200", "named_tiles.model", ""),
    ("time, what was fitted (in sample)", "fit_time_h200", "in_sample", ""),
    ("DRAM reads, shapes left out of the choice", "fit_traffic_h200", "held_out_half", "reads_"),
    ("DRAM traffic, the same", "fit_traffic_h200", "held_out_half", "traffic_"),
    ("DRAM reads, half that chose the constants (in sample)", "fit_traffic_h200", "fitted_half", "reads_"),
    ("DRAM reads, earlier readings that chose too (in sample)", "fit_traffic_h200", "further_readings", "reads_"),
)


def result(name: str, path: str = "") -> Any:
    """What a benchmark wrote, or the part of it at a path of keys joined by dots; None where there is none."""
    found = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    for key in filter(None, path.split(".")):
        found = found.get(key) if found else None
    return found


def percent(share: float) -> str:
    """A share as a percentage."""
    return f"{100 * share:.1f}%"


def spread(figures: dict[str, Any]) -> str:
    """Median error, the 90th percentile, and of how many rows."""
    if not figures.get("rows"):
        return "-"
    return f"{percent(figures['median_error'])} ({percent(figures['p90_error'])}), {figures['rows']}"


def validity() -> str:
    """How far predictions are from an H200's readings."""
    rows = []
    for what, name, path, prefix in VALIDITY:
        found = result(name, path)
        if found:
            ends = [percent(found[f"{prefix}{end}_error"]) for end in ("median", "p90")]
            rows.append([what, str(found["rows"]), *ends])
    return table(["predicted against measured on an H200", "rows", "median error", "90th percentile"], rows)


def band() -> str:
    """How often the band of DRAM traffic holds what was measured."""
    found = result("fit_traffic_h200", "held_out_half")
    return (
        f"Of the {found['rows']} rows left out of the choice of constants, the band holds the measured traffic in "
        f"{percent(found['band_covers'])}; high over low is {found['band_median_ratio']:.2f} in the median. The band's "
        "width was chosen with these rows in view, so this is in-sample.\n"
    )


def published() -> str:
    """Rates that others published of other chips, against those predicted by the data sheet."""
    from gemmlab import Gemm, explain

    rows = json.loads(PUBLISHED.read_text(encoding="utf-8"))["rows"]
    for row in rows:
        record = explain(Gemm(row["m"], row["n"], row["k"], row["format"]), row["chip"], advice=False)
        row["ratio"] = record.count.flop / record.prediction.time_s / 1e12 / row["tflop_per_s"]
    kinds = (("cubes that `power_slope` was chosen from", True), ("the rest of the RTX 4090's report", False))
    lines = []
    for what, chosen_from in kinds:
        off = sorted(abs(1 / row["ratio"] - 1) for row in rows if row["chosen_from"] == chosen_from)
        lines.append([what, str(len(off)), percent(statistics.median(off)), percent(off[-1])])
    outliers = "; ".join(
        f"{row['chip']} {row['m']} x {row['n']} x {row['k']} {row['ratio']:.2f}"
        for row in rows
        if abs(row["ratio"] - 1) > TESTED
    )
    heads = ["time predicted against published, float16 and bfloat16", "rows", "median error", "largest"]
    return table(heads, lines) + f"\nPredicted over published rate where they are further apart than 15%: {outliers}.\n"


def same_work() -> str:
    """How much float16 and bfloat16 differ where a shape is the same."""
    times: dict[tuple[int, int, int], dict[str, float]] = {}
    for row in result("vendor_library_h200", "rows"):
        if row["time_s"] and row["time_s"] >= SHORTEST_S:
            times.setdefault((row["m"], row["n"], row["k"]), {})[row["format"]] = row["time_s"]
    off = [abs(each["float16"] / each["bfloat16"] - 1) for each in times.values() if {"float16", "bfloat16"} <= {*each}]
    return (
        "float16 and bfloat16 are the same work for the same units, and yet differ by "
        f"{percent(statistics.median(off))} in the median of {len(off)} measured shapes, because power depends on the "
        "data: a floor under any model of shapes alone.\n"
    )


def peer_times() -> str:
    """Every predictor's errors in time."""
    rows = [
        [name, spread(found["aligned"]), spread(found["aligned"]["level_set"]), *(spread(found[g]) for g in others)]
        for others in [("unaligned", "under_20_us")]
        for name, found in result("peers", "times").items()
    ]
    return table(["predicted by", "aligned", "aligned, level set", "unaligned", "under 20 µs"], rows)


def peer_formats() -> str:
    """Median errors by format, aligned then unaligned."""
    rows = []
    for name, found in result("peers", "times").items():
        cells = []
        for each in FORMATS:
            medians = [found[group]["by_format"].get(each) for group in ("aligned", "unaligned")]
            cells.append(" / ".join(percent(m["median_error"]) if m else "-" for m in medians))
        rows.append([name, *cells])
    counts = [
        " / ".join(str(found[group]["by_format"].get(each, {"rows": 0})["rows"]) for group in ("aligned", "unaligned"))
        for found in [result("peers", "times")["gemmlab calibrated"]]
        for each in FORMATS
    ]
    return table(["predicted by", *FORMATS], [["rows, aligned / unaligned", *counts], *rows])


def peer_loads() -> str:
    """Every predictor's errors in DRAM loads; of the peer's two launch orders the one nearer to the readings."""
    found = result("peers", "dram_loads")
    best: dict[str, tuple[float, str]] = {}
    for name, figures in found.items():
        words = name.split()
        family = " ".join(words[:2]) if words[0] == "nvMatmulHeuristics" else name
        best[family] = min(best.get(family, (float("inf"), "")), (figures["held_out_half"]["median_error"], name))
    rows = [
        [name.replace("_", "-"), spread(found[name]["held_out_half"]), spread(found[name]["all"])]
        for _, name in best.values()
    ]
    return table(["predicted by", "shapes left out of the choice", "all rows"], rows)


def peer_query() -> str:
    """How long an answer takes, as ratios of one run."""
    query = result("peers", "query")
    median = query["median_s"]
    return (
        f"Measured in one run ({result('peers', 'machine')}), the peer ranks its configurations for a new shape in "
        f"{1e6 * median['peer']:.0f} µs; gemmlab's best tiling takes {1 / query['peer_over_best_tiling']:.1f} times as "
        f"long over its {query['tilings']} candidates, and a query as long as "
        f"{query['peer_over_predict_many_pair']:.0f} of the {query['pairs']:,} pairs of one `predict_many`.\n"
    )


def peer_versions() -> str:
    """What was compared, and when."""
    found = result("peers")
    whole = [name for name, loaded in found["profile_loaded"].items() if loaded]
    return (
        f"nvidia-matmul-heuristics {found['versions']['nvidia-matmul-heuristics']}, its preset for the H200, "
        f"{found['date']}. It loads a whole profile of its own for {', '.join(whole)}; for the others it reports that "
        "some or all of it is missing.\n"
    )


RESULTS: dict[str, Callable[[], str]] = {
    "result validity": validity,
    "result band": band,
    "result same work": same_work,
    "result published": published,
    "result peers times": peer_times,
    "result peers formats": peer_formats,
    "result peers loads": peer_loads,
    "result peers query": peer_query,
    "result peers versions": peer_versions,
}
