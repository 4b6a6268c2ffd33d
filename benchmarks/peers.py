"""Predicted times and DRAM loads beside those of NVIDIA's nvMatmulHeuristics and a data-sheet roofline, on an H200.

    python -m venv PEER && PEER/bin/pip install nvidia-matmul-heuristics
    python benchmarks/peers.py --peer-python PEER/bin/python [--readings vendor_library.json]

The peer is proprietary: compared with through its public interface, never depended on, and installed by whoever runs
this into an environment of its own. Measured: the vendor library's times of `results/vendor_library_h200.json`, to
whose shapes gemmlab's constants were not fitted (but `scalar_cycles` was chosen by the unaligned rows, and the model's
form in sight of all), and the DRAM counters of `results/dram_counters_h200.json`. `--readings` adds rows
{format, m, n, k, time_s} that gemmlab's constants were fitted to, labelled so. Errors are |predicted / measured - 1|.
"""

import argparse
import datetime
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

import gemmlab.chips
from fit_time import FORMATS, HERE, SHORTEST_S, errors, predictions, problem_of
from fit_traffic import READINGS as COUNTERS
from fit_traffic import held_out_of, predict
from gemmlab.model import GENERIC, constants_of, predict_many
from gemmlab.model.candidates import TILINGS, best_tiling
from gemmlab.model.road import roads

TARGETS = ("CUTLASS3", "GENERIC", "TRITON")
#: A and B, compute, C and D, as the peer's header spells them; float8 as A, B, C, compute, D
PRECISIONS = {"float16": "HSH", "bfloat16": "TST", "float8_e4m3fn": "QQTST", "tfloat32": "SFS", "float32": "SSS"}
#: combinations in which the peer answers with float32's rate; left out, in its favour
NOT_MEANT = {("TRITON", "float8_e4m3fn")}
ROUNDS, PAIRS = 5, 100_000
ABOUT = {
    "gemmlab calibrated": "constants fitted to library times of this H200, other shapes than these",
    "gemmlab data sheet": "the constants of every uncalibrated chip: not fitted to H200 times, though chosen by people "
    "who had seen some; size and rate of L2, which no data sheet gives, as read on the chip",
    **{
        f"nvMatmulHeuristics {target}": "built to rank kernel configurations for auto-tuning; its header says that "
        "its metrics are no exact measurements"
        for target in TARGETS
    },
    "roofline": "the larger of arithmetic at the dense peak and each matrix once, by the data sheet",
}


class Peer:
    """The peer in its own Python, one process a question."""

    def __init__(self, python: str) -> None:
        self.python = python
        self.version = ""
        self.profiles: dict[str, bool] = {}

    def installed(self) -> bool:
        """Whether that Python has it."""
        try:
            found = subprocess.run([self.python, "-c", "import nvMatmulHeuristics"], capture_output=True, check=False)
        except OSError:
            return False
        return found.returncode == 0

    def ask(self, target: str, format_name: str, layout: str, **asked: list) -> dict:
        """One target and one format's answer."""
        request = {"target": target, "precision": PRECISIONS[format_name], "layout": layout, **asked}
        done = subprocess.run(
            [self.python, str(HERE / "peers_query.py")],
            input=json.dumps(request), capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            sys.exit(f"{target} {request['precision']}: status {done.returncode}\n{done.stderr[-2000:]}")
        answer: dict = json.loads(done.stdout.strip().splitlines()[-1])
        self.version = answer["version"]
        self.profiles[f"{target} {format_name}"] = answer["profile_loaded"]
        return answer

    def times(self, rows: list[dict], target: str) -> np.ndarray:
        """Seconds of its best-ranked configuration for each row; NaN where it is not meant for the format."""
        found = np.full(len(rows), np.nan)
        for name in FORMATS:
            places = [i for i, row in enumerate(rows) if row["format"] == name]
            if places and (target, name) not in NOT_MEANT:
                problems = [[rows[i]["m"], rows[i]["n"], rows[i]["k"]] for i in places]
                found[places] = np.array(self.ask(target, name, "nt", problems=problems)["time_s"], dtype=float)
        return found


def roofline(rows: list[dict]) -> np.ndarray:
    """Seconds by the data sheet alone."""
    chip = gemmlab.chips.load("h200-sxm")
    bandwidth = float(chip.level("dram").bandwidth_bytes_per_s)
    problems = [problem_of(row) for row in rows]
    return np.array([max(p.flop / chip.peak_flop_per_s(p.a_format), p.compulsory_bytes / bandwidth) for p in problems])


def all_times(rows: list[dict], peer: Peer) -> dict[str, np.ndarray]:
    """Seconds of each predictor."""
    chip = gemmlab.chips.load("h200-sxm")
    return {
        "gemmlab calibrated": predictions(rows, constants_of(chip)),
        "gemmlab data sheet": predictions(rows, GENERIC),
        **{f"nvMatmulHeuristics {target}": peer.times(rows, target) for target in TARGETS},
        "roofline": roofline(rows),
    }


def spread(off: np.ndarray) -> dict:
    """Rows, median and 90th percentile."""
    if not len(off):
        return {"rows": 0}
    return {
        "rows": len(off),
        "median_error": round(float(np.median(off)), 4),
        "p90_error": round(float(np.quantile(off, 0.9)), 4),
    }


def groups_of(rows: list[dict]) -> dict[str, np.ndarray]:
    """Which rows are compared together."""
    fast = np.array([all(road.fast for road in roads(problem_of(row))) for row in rows])
    long = np.array([row["time_s"] >= SHORTEST_S for row in rows])
    return {"aligned": fast & long, "unaligned": ~fast & long, "under_20_us": ~long}


def time_figures(rows: list[dict], predicted: np.ndarray) -> dict:
    """Errors of one predictor in each group, in all and by format.

    `level_set`, of aligned rows, multiplies the predictions of each format by the one factor that centres them on these
    very rows: what is left is how well the predictor tells shapes apart, with every predictor calibrated alike.
    """
    found: dict[str, dict] = {}
    formats = np.array([row["format"] for row in rows])
    for group, chosen in groups_of(rows).items():
        picked = chosen & np.isfinite(predicted)
        if not picked.any():
            continue
        here, seconds, names = [rows[i] for i in np.flatnonzero(picked)], predicted[picked], formats[picked]
        off = errors(here, seconds)
        ratio = seconds / np.array([row["time_s"] for row in here])
        middle = {name: float(np.median(ratio[names == name])) for name in FORMATS if (names == name).any()}
        found[group] = {
            **spread(off),
            "by_format": {name: spread(off[names == name]) for name in middle},
            "median_predicted_over_measured": {name: round(value, 3) for name, value in middle.items()},
        }
        if group == "aligned":
            level = errors(here, seconds / np.array([middle[name] for name in names]))
            found[group]["level_set"] = spread(level)
    return found


def traffic_figures(peer: Peer) -> dict:
    """DRAM loads against counters: all rows, and the half by shape that gemmlab's constants were not fitted to."""
    rows = json.loads(COUNTERS.read_text())["rows"]
    constants = constants_of(gemmlab.chips.load("h200-sxm"))
    columns = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    closed = predict_many(
        *(columns[name] for name in ("m", "n", "k", "block_m", "block_n")), chip="h200-sxm", format="float16",
        block_k=columns["block_k"], group_m=columns["group_m"],
    )  # fmt: skip
    found = {
        "gemmlab simulated": np.array([predict(row, constants).read for row in rows]),
        "gemmlab closed form": closed.dram_read_bytes,
        "each operand once": 2.0 * columns["k"] * (columns["m"] + columns["n"]),
    }
    for target in TARGETS:
        for order, loads in peer.ask(target, "float16", "nn", kernels=rows)["load_bytes"].items():
            found[f"nvMatmulHeuristics {target} {order}"] = np.array(loads, dtype=float)
    left_out = held_out_of(rows)
    held_out = np.array([row in left_out for row in rows])
    off = {name: np.abs(loads / columns["dram_read_bytes"] - 1) for name, loads in found.items()}
    return {
        name: {"held_out_half": spread(e[held_out & np.isfinite(e)]), "all": spread(e[np.isfinite(e)])}
        for name, e in off.items()
    }


def query_times(rows: list[dict], peer: Peer) -> dict:
    """Seconds of one query, the peer and gemmlab in turn; the peer's as it measures them in its own process."""
    chip = gemmlab.chips.load("h200-sxm")
    constants = constants_of(chip)
    here = [row for row in rows if row["format"] == "float16"]
    shapes = [[row["m"], row["n"], row["k"]] for row in here]
    random = np.random.default_rng(0)
    m, n, k = np.exp(random.uniform(np.log(64), np.log(16384), (3, PAIRS))).astype(int)
    block_m, block_n = random.choice([64, 128, 256], (2, PAIRS))
    spent: dict[str, list[float]] = {"peer": [], "best_tiling": [], "predict_many_pair": []}
    for _ in range(ROUNDS):
        spent["peer"].append(statistics.median(peer.ask("CUTLASS3", "float16", "nt", problems=shapes)["query_s"]))
        each = []
        for row in here:
            problem = problem_of(row)
            begin = time.perf_counter()
            best_tiling(problem, chip, constants)
            each.append(time.perf_counter() - begin)
        spent["best_tiling"].append(statistics.median(each))
        begin = time.perf_counter()
        predict_many(m, n, k, block_m, block_n, chip=chip)
        spent["predict_many_pair"].append((time.perf_counter() - begin) / PAIRS)
    median = {name: statistics.median(times) for name, times in spent.items()}
    return {
        "what": f"measured: the peer's query of 8 configurations for a shape it has not seen, CUTLASS3 float16; "
        f"gemmlab's best of {len(TILINGS)} tilings for a shape; one pair of {PAIRS} in one call",
        "rounds": ROUNDS,
        "shapes": len(shapes),
        "tilings": len(TILINGS),
        "pairs": PAIRS,
        "median_s": {name: float(f"{value:.3g}") for name, value in median.items()},
        "peer_over_best_tiling": round(median["peer"] / median["best_tiling"], 3),
        "peer_over_predict_many_pair": round(median["peer"] / median["predict_many_pair"], 1),
    }


def percent(figures: dict) -> str:
    """`4.3 (17.0)`: median and 90th percentile, %."""
    return f"{100 * figures['median_error']:.1f} ({100 * figures['p90_error']:.1f})" if figures.get("rows") else "-"


def show(result: dict) -> None:
    """The figures at 80 columns."""
    print("Times on an H200: median (90th percentile) error, %; level set: in sample")
    print(f"{'':28}{'aligned':>13}{'level set':>13}{'unaligned':>13}{'< 20 us':>13}")
    for name, found in result["times"].items():
        cells = [found["aligned"], found["aligned"]["level_set"], found["unaligned"], found["under_20_us"]]
        print(f"{name:28}" + "".join(f"{percent(cell):>13}" for cell in cells))
    for group in ("aligned", "unaligned"):
        print(f"\nMedian error by format, %, {group} rows of at least 20 us")
        print(f"{'':28}" + "".join(f"{name.partition('_')[0]:>10}" for name in FORMATS))
        for name, found in result["times"].items():
            by = found[group]["by_format"]
            cells = [f"{100 * by[each]['median_error']:.1f}" if each in by else "-" for each in FORMATS]
            print(f"{name:28}" + "".join(f"{cell:>10}" for cell in cells))
    print("\nDRAM loads of one float16 kernel: median (90th percentile) error, %")
    print(f"{'':40}{'left out of fit':>18}{'all rows':>18}")
    for name, found in result["dram_loads"].items():
        print(f"{name:40}{percent(found['held_out_half']):>18}{percent(found['all']):>18}")
    query = result["query"]
    print("\nOne query: " + ", ".join(f"{name} {1e6 * s:.3g} us" for name, s in query["median_s"].items()))


def main() -> None:
    """Compare in one run and write the result; skip where the peer is missing."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--peer-python", default=sys.executable, help="a Python that has nvidia-matmul-heuristics")
    parser.add_argument("--readings", help="further library times, which the constants were fitted to")
    parser.add_argument("--out", default=str(HERE / "results" / "peers.json"))
    options = parser.parse_args()
    peer = Peer(options.peer_python)
    if not peer.installed():
        print(f"skipped: `{peer.python}` has no nvidia-matmul-heuristics\n\n"
              "hint: install it into an environment of its own, and name its Python: --peer-python PATH",
              file=sys.stderr)  # fmt: skip
        return
    readings = json.loads((HERE / "results" / "vendor_library_h200.json").read_text())
    rows = [row for row in readings["rows"] if row["time_s"]]
    found = all_times(rows, peer)
    result = {
        "what": "errors |predicted / measured - 1|; predicted by those named, measured by torch matmul (times) and ncu "
        "(DRAM loads); `query` is measured",
        "chip": readings["chip"],
        "date": datetime.date.today().isoformat(),
        "machine": f"{platform.machine()}, {len(os.sched_getaffinity(0))} cores",
        "versions": {"nvidia-matmul-heuristics": "", "python": platform.python_version(), "numpy": np.__version__},
        "about": ABOUT,
        "times": {name: time_figures(rows, seconds) for name, seconds in found.items()},
        "dram_loads": traffic_figures(peer),
        "query": query_times(rows, peer),
    }
    if options.readings:
        seen = [row for row in json.loads(Path(options.readings).read_text())["rows"] if row["time_s"]]
        result["readings_that_the_calibration_saw"] = {
            name: time_figures(seen, seconds) for name, seconds in all_times(seen, peer).items()
        }
    result["versions"]["nvidia-matmul-heuristics"] = peer.version
    result["profile_loaded"] = dict(sorted(peer.profiles.items()))
    result["predicted_s"] = [
        {key: row[key] for key in ("format", "m", "n", "k", "time_s")}
        | {name: float(f"{seconds[i]:.4g}") for name, seconds in found.items() if np.isfinite(seconds[i])}
        for i, row in enumerate(rows)
    ]
    Path(options.out).write_text(json.dumps(result, indent=1) + "\n")
    show(result)


if __name__ == "__main__":
    main()
