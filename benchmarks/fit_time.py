"""Fit the time model's constants to times of an H200, and say how well they predict shapes left out of the fit.

    python benchmarks/fit_time.py --readings vendor_library.json --out benchmarks/results/fit_time_h200.json

`--readings` is a file of rows {format, m, n, k, time_s} (A row-major, B transposed); the repository's own readings,
`results/vendor_library_h200.json`, are the independent check. Beside the library's rows, whose tile is the model's
choice, half of the kernels of known tiles in `results/dram_counters_h200.json` are fitted. Five folds are split by
shape, never by row, and leave out the launched kernels of their shapes too. What is left out shares no shape with
anything fitted, of either kind of reading; only constants are so tested, for the model's form was worked out in sight
of all these readings (docs/concepts/model.md). Beside the model stands a roofline with an efficiency for each format,
a bandwidth and a launch time fitted on the same folds. `data_sheet_only` is the model with its generic constants, of
which some were read on an H200 (model/constants.py says which): it is free of the fit, not of the chip. Errors are
relative, |predicted / measured - 1|, of rows of at least 20 us whose rows of A, B and D are multiples of 16 bytes.
"""

import argparse
import datetime
import json
from pathlib import Path

import msgspec
import numpy as np

import gemmlab.chips
from fit_traffic import READINGS, half_of, kernel_of
from gemmlab.model import Outlook
from gemmlab.model.candidates import best_tiling
from gemmlab.model.constants import GENERIC, Constants
from gemmlab.model.road import roads
from gemmlab.model.time import times
from gemmlab.model.traffic import DramTraffic
from gemmlab.problem import Gemm

HERE = Path(__file__).parent
FOLDS = 5
RESTED_S = 1.0  # between launches that a profiler replays one by one
SHORTEST_S = 20e-6
FORMATS = ("bfloat16", "float16", "float8_e4m3fn", "tfloat32", "float32")
# name, lowest, highest: bounds keep each constant where physics allows it
SCALARS = (
    ("dram_share", 0.8, 0.93), ("dram_per_sm_share", 1.0, 2.5), ("l2_share", 0.85, 1.3),
    ("tensor_fill_bytes", 0.0, 400.0),
    ("vector_fill_k", 0.0, 120.0), ("launch_s", 2e-6, 8e-6), ("reduce_s", 0.0, 6e-6), ("dirty_share", 0.0, 0.6),
    ("clock_gain", 0.2, 0.6), ("feed_norm", 2.0, 12.0), ("overlap_norm", 2.0, 12.0), ("step_cycles", 0.0, 200.0),
)  # fmt: skip


def problem_of(row: dict) -> Gemm:
    """The multiplication of one row."""
    return Gemm(row["m"], row["n"], row["k"], row["format"], layout="nt")


def usable(rows: list[dict]) -> list[dict]:
    """Rows that the bar is about."""
    return [
        r for r in rows if r["time_s"] and r["time_s"] >= SHORTEST_S and all(road.fast for road in roads(problem_of(r)))
    ]


def predictions(rows: list[dict], constants: Constants) -> np.ndarray:
    """Predicted seconds of the best kernel for each row."""
    chip = gemmlab.chips.load("h200-sxm")
    return np.array([best_tiling(problem_of(row), chip, constants).time_s for row in rows])


def errors(rows: list[dict], predicted: np.ndarray) -> np.ndarray:
    return np.abs(predicted / np.array([row["time_s"] for row in rows]) - 1)


def with_value(constants: Constants, name: str, value: float) -> Constants:
    table, _, key = name.partition(".")
    if key:
        return msgspec.structs.replace(constants, **{table: {**getattr(constants, table), key: value}})
    return msgspec.structs.replace(constants, **{name: value})


def value_of(constants: Constants, name: str) -> float:
    table, _, key = name.partition(".")
    return getattr(constants, table)[key] if key else getattr(constants, table)


class Launched:
    """Kernels of known tiles, launched alone with the DRAM reads that the counters saw."""

    def __init__(self, rows: list[dict]) -> None:
        self.measured = np.array([row["time_s"] for row in rows])
        self.looks = []
        for row in rows:
            problem, kernel = kernel_of(row)
            traffic = DramTraffic(row["dram_read_bytes"], row["dram_write_bytes"], 0.0, 0.0)
            self.looks.append(Outlook(problem, gemmlab.chips.load("h200-sxm"), kernel, GENERIC, traffic))

    def predictions(self, constants: Constants) -> np.ndarray:
        """Predicted seconds; a launch that waits its turn finds the chip at rest."""
        rested = msgspec.structs.replace(constants, rest_s=RESTED_S)
        found = [
            times(look.pairs, look.machine, rested, dram_reads=np.array([look.traffic.read])).total[0]
            for look in self.looks
        ]
        return np.array(found)


def launched_rows() -> tuple[list[dict], list[dict]]:
    """Rows of the DRAM counters that are compiled for whole vectors: the half to fit, and the other."""
    rows = json.loads(READINGS.read_text())["rows"]
    whole = [row for row in rows if all(row[side] % 16 == 0 for side in ("m", "n", "k"))]
    return [r for r in whole if half_of(r, rows) == 0], [r for r in whole if half_of(r, rows) == 1]


def shapes_of(rows: list[dict]) -> set[tuple[int, int, int]]:
    """The shapes that rows are of."""
    return {(row["m"], row["n"], row["k"]) for row in rows}


def without_shapes_of(rows: list[dict], *seen: list[dict]) -> list[dict]:
    """The rows whose shape none of the others has."""
    known = set().union(*map(shapes_of, seen))
    return [row for row in rows if (row["m"], row["n"], row["k"]) not in known]


def capped(predicted: np.ndarray, measured: np.ndarray) -> float:
    """Mean error with outliers capped: one odd kernel of the library must not bend the constants."""
    return float(np.minimum(np.abs(np.log(predicted / measured)), 0.25).mean())


def loss(rows: list[dict], launched: Launched, constants: Constants) -> float:
    """Library rows and launched kernels, half and half."""
    library = capped(predictions(rows, constants), np.array([row["time_s"] for row in rows]))
    return library + capped(launched.predictions(constants), launched.measured)


def fit(rows: list[dict], launched: Launched, start: Constants, rounds: int) -> Constants:
    """Coordinate search from the generic constants, steps halved each round."""
    constants = msgspec.structs.replace(start, sustained=dict.fromkeys(FORMATS, 0.7), burst=dict.fromkeys(FORMATS, 0.8))
    bounds = [*SCALARS, *((f"{table}.{name}", 0.45, 0.95) for table in ("sustained", "burst") for name in FORMATS)]
    best = loss(rows, launched, constants)
    for step in (0.25 * 0.6**r for r in range(rounds)):
        for name, low, high in bounds:
            here = value_of(constants, name)
            for factor in (1 + step, 1 / (1 + step)):
                trial = with_value(constants, name, float(np.clip(here * factor, low, high)))
                tried = loss(rows, launched, trial)
                if tried < best - 1e-7:
                    best, constants = tried, trial
    return constants


def folds_of(rows: list[dict]) -> np.ndarray:
    """Fold of each row: shapes in a fixed shuffled order, dealt to the folds in turn."""
    shapes = sorted(shapes_of(rows))
    order = np.random.default_rng(0).permutation(len(shapes))
    place = {shapes[index]: position % FOLDS for position, index in enumerate(order)}
    return np.array([place[row["m"], row["n"], row["k"]] for row in rows])


def roofline_fit(train: list[dict], test: list[dict]) -> np.ndarray:
    """Seconds by max(flop / (e_format * peak), bytes / (e_dram * peak)) + launch, the constants fitted on `train`."""
    chip = gemmlab.chips.load("h200-sxm")
    bandwidth = float(chip.level("dram").bandwidth_bytes_per_s)

    def predict(rows: list[dict], share: dict[str, float], dram: float, launch: float) -> np.ndarray:
        compute = np.array([problem_of(r).flop / chip.peak_flop_per_s(r["format"]) / share[r["format"]] for r in rows])
        memory = np.array([problem_of(r).compulsory_bytes / bandwidth / dram for r in rows])
        return np.maximum(compute, memory) + launch

    def off(share: dict[str, float], dram: float, launch: float) -> float:
        seconds = np.array([row["time_s"] for row in train])
        return float(np.minimum(np.abs(np.log(predict(train, share, dram, launch) / seconds)), 0.25).mean())

    share, dram, launch = dict.fromkeys(FORMATS, 0.7), 0.85, 5e-6
    for _ in range(3):
        for name in FORMATS:
            share[name] = min(np.arange(0.4, 1.0, 0.01), key=lambda x: off(share | {name: x}, dram, launch))
        dram = min(np.arange(0.6, 1.0, 0.01), key=lambda x: off(share, x, launch))
        launch = min(np.arange(0, 12e-6, 0.5e-6), key=lambda x: off(share, dram, x))
    return predict(test, share, dram, launch)


def summary(rows: list[dict], predicted: np.ndarray) -> dict:
    """Median and 90th percentile, in all and by format."""
    off = errors(rows, predicted)
    names = np.array([row["format"] for row in rows])
    by_format = {name: round(float(np.median(off[names == name])), 4) for name in FORMATS if (names == name).any()}
    return {
        "rows": len(rows),
        "median_error": round(float(np.median(off)), 4),
        "p90_error": round(float(np.quantile(off, 0.9)), 4),
        "median_by_format": by_format,
    }


def of_tiles(launched: Launched, constants: Constants) -> dict:
    """Median and 90th percentile of kernels of known tiles."""
    off = np.abs(launched.predictions(constants) / launched.measured - 1)
    found = {"rows": len(off), "median_error": float(np.median(off)), "p90_error": float(np.quantile(off, 0.9))}
    return {name: round(value, 4) for name, value in found.items()}


def main() -> None:
    """Cross-validate, fit on everything, check on the independent readings, write the result."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--readings", required=True)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--out", default=str(HERE / "results" / "fit_time_h200.json"))
    options = parser.parse_args()
    rows = usable(json.loads(Path(options.readings).read_text())["rows"])
    fold = folds_of(rows)
    fitted, held_out = launched_rows()
    launched, left_out = Launched(fitted), Launched(without_shapes_of(held_out, rows))
    model, roofline = np.zeros(len(rows)), np.zeros(len(rows))
    for held in range(FOLDS):
        train = [row for row, f in zip(rows, fold, strict=True) if f != held]
        test = [row for row, f in zip(rows, fold, strict=True) if f == held]
        others = Launched(without_shapes_of(fitted, test))
        model[fold == held] = predictions(test, fit(train, others, GENERIC, options.rounds))
        roofline[fold == held] = roofline_fit(train, test)
    constants = fit(rows, launched, GENERIC, options.rounds)
    readings = json.loads((HERE / "results" / "vendor_library_h200.json").read_text())["rows"]
    independent = without_shapes_of(usable(readings), rows, fitted)
    result = {
        "chip": "NVIDIA H200",
        "date": datetime.date.today().isoformat(),
        "folds": FOLDS,
        "held_out": {"model": summary(rows, model), "fitted_roofline": summary(rows, roofline)},
        "in_sample": summary(rows, predictions(rows, constants)),
        "data_sheet_only": summary(rows, predictions(rows, GENERIC)),
        "named_tiles": {
            "what": "Triton kernels of known tiles, launched alone; shapes left out of both kinds of readings fitted",
            "model": of_tiles(left_out, constants),
            "data_sheet_only": of_tiles(left_out, GENERIC),
        },
        "independent_readings": {
            "model": summary(independent, predictions(independent, constants)),
            "data_sheet_only": summary(independent, predictions(independent, GENERIC)),
            "fitted_roofline": summary(independent, roofline_fit(rows, independent)),
        },
        "constants": msgspec.to_builtins(constants),
    }
    Path(options.out).write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))
    for row, seconds in zip(rows, model, strict=True):
        if abs(seconds / row["time_s"] - 1) > 0.15:
            shape = f"{row['format']} {row['m']}x{row['n']}x{row['k']}"
            print(f"{shape}: measured {row['time_s'] * 1e6:.1f} us, held out {seconds * 1e6:.1f}")


if __name__ == "__main__":
    main()
