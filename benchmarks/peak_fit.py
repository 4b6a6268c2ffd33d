"""Fit the constants of the model that chooses gemmlab.matmul's plan to the times of all plans that were measured.

    python benchmarks/peak_fit.py [--readings benchmarks/results/peak_tuning.json] [--folds 4] [--hold CLOCK_HZ ...]

Least squares of the logarithm of predicted over measured time, every shape counting the same, and held near the present
constants, so that what the readings do not tell stays as it is. Folds are of whole shapes: a shape that is predicted
has not been fitted. Told before and after: errors, |predicted / measured - 1|, median and 90th of 100; and regret by
group, the time of the plan that would be chosen of those measured over that of the fastest.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from gemmlab.peak import predicting, store
from gemmlab.peak.request import Request

READINGS = Path(__file__).parent / "results" / "peak_tuning.json"
NEAR = 4.0  # natural logarithms that a constant moves at the cost of one shape predicted 2.7 times off
STEPS = 25
Floats = npt.NDArray[np.float64]
Constants = dict[tuple[str, Any], float]  # by name and, of a table, key


class Reading(NamedTuple):
    """One plan's measured time."""

    group: str
    request: Request
    kernel: Any
    seconds: float


def readings(path: Path) -> list[Reading]:
    """All engines of a results file of peak_tuning.py that can still be told."""
    found = []
    for group, rows in json.loads(path.read_text())["rows"].items():
        for row in rows:
            request = msgspec.convert(row["request"], Request) if "request" in row else None  # a fault
            tried = row.get("tried", {"plans": []})
            for kind, values, _, _, seconds, *_ in tried["plans"]:
                fields = dict(zip(tried["fields"][kind], values, strict=True))
                kernel = store.kernel_of({kind: tried["shared"][kind] | fields})
                if kind == "engine" and kernel is not None:
                    found.append(Reading(group, request, kernel, seconds))
    return found


def constants(held: Iterable[str] = ()) -> Constants:
    """The model's constants: all that are no whole numbers and positive."""
    found: Constants = {}
    for name, value in vars(predicting).items():
        if name.isupper() and name not in held:
            table = value if isinstance(value, dict) else {"": value}
            found |= {(name, key): each for key, each in table.items() if isinstance(each, float) and each > 0}
    return found


def put(values: Constants) -> None:
    """Give the model these constants."""
    for (name, key), value in values.items():
        if key == "":
            setattr(predicting, name, value)
        else:
            getattr(predicting, name)[key] = value


def logs(of: Sequence[Reading], values: Constants) -> Floats:
    """Logarithms of predicted over measured time."""
    put(values)
    return np.array([math.log(predicting.engine_seconds(each.request, each.kernel) / each.seconds) for each in of])


def weights(of: Sequence[Reading]) -> Floats:
    """Square roots of each reading's share: shapes count the same, their faster plans more than their slower ones."""
    best: dict[Request, float] = {}
    for each in of:
        best[each.request] = min(best.get(each.request, math.inf), each.seconds)
    shares = np.array([best[each.request] / each.seconds for each in of])
    sums: dict[Request, float] = {}
    for each, share in zip(of, shares, strict=True):
        sums[each.request] = sums.get(each.request, 0.0) + share
    return np.sqrt([share / sums[each.request] for each, share in zip(of, shares, strict=True)])


def fitted(of: Sequence[Reading], begin: Constants, near: float = NEAR) -> Constants:
    """Constants near those given that fit the readings best, by Levenberg and Marquardt's method over logarithms."""
    names, start = list(begin), np.log(list(begin.values()))
    root = weights(of)

    def values(at: Floats) -> Constants:
        return dict(zip(names, np.exp(at).tolist(), strict=True))

    def residuals(at: Floats) -> Floats:
        return np.concatenate([root * logs(of, values(at)), (at - start) / near])

    at, damping = start.copy(), 1e-2
    now = residuals(at)
    for _ in range(STEPS):
        slope = np.stack([(residuals(at + 1e-3 * each) - now) / 1e-3 for each in np.eye(len(at))], axis=1)
        square = slope.T @ slope
        step = np.linalg.solve(square + damping * np.diag(np.diag(square)), -slope.T @ now)
        new = residuals(at + step)
        if new @ new < now @ now:
            gain = 1 - (new @ new) / (now @ now)
            at, now, damping = at + step, new, damping / 3
            if gain < 1e-4:
                break
        else:
            damping *= 5
    put(begin)
    return values(at)


def crossed(of: Sequence[Reading], begin: Constants, folds: int) -> Floats:
    """Logarithms of predicted over measured where no shape is predicted that was fitted."""
    shapes = list(dict.fromkeys(each.request for each in of))
    fold = {shape: number % folds for number, shape in enumerate(shapes)}
    found = np.zeros(len(of))
    for number in range(folds):
        inside = [each for each in of if fold[each.request] != number]
        out = [at for at, each in enumerate(of) if fold[each.request] == number]
        found[out] = logs([of[at] for at in out], fitted(inside, begin))
    put(begin)
    return found


def regrets(of: Sequence[Reading], log: Floats) -> dict[str, tuple[float, float]]:
    """By group: geometric mean and worst of the chosen plan's time over the fastest's; `all` at the end."""
    shapes: dict[tuple[str, Request], list[tuple[float, float]]] = {}
    for each, off in zip(of, log, strict=True):
        shapes.setdefault((each.group, each.request), []).append((each.seconds * math.exp(off), each.seconds))
    found: dict[str, list[float]] = {}
    for (group, _), pairs in shapes.items():
        worth = math.log(min(pairs)[1] / min(seconds for _, seconds in pairs))
        found.setdefault(group, []).append(worth)
    found["all"] = [worth for each in found.values() for worth in each]
    return {group: (math.exp(sum(each) / len(each)), math.exp(max(each))) for group, each in found.items()}


def told(title: str, of: Sequence[Reading], log: Floats) -> None:
    """Print errors and regrets."""
    off = np.abs(np.exp(log) - 1)
    print(f"{title}: error {np.median(off):.1%}, 90th {np.percentile(off, 90):.1%}, {len(of)} readings")
    for group, (mean, worst) in regrets(of, log).items():
        print(f"  {group:34} regret {mean:.3f}, worst {worst:.3f}")


def main() -> None:
    """Fit, and print what is gained and the constants."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--readings", type=Path, default=READINGS)
    parser.add_argument("--folds", type=int, default=4)
    parser.add_argument("--hold", nargs="*", default=["CLOCK_HZ", "PORT_BYTES"], help="constants that stay")
    options = parser.parse_args()
    of, begin = readings(options.readings), constants(options.hold)
    report(of, begin, options.folds)


def report(of: Sequence[Reading], begin: Constants, folds: int) -> None:
    """Before, left out, and after; then the constants."""
    told("before", of, logs(of, begin))
    told("left out of the fit", of, crossed(of, begin, folds))
    after = fitted(of, begin)
    told("fitted to all", of, logs(of, after))
    put(begin)
    for (name, key), value in after.items():
        print(f"{name}{'' if key == '' else f'[{key}]'} {begin[name, key]:.5g} -> {value:.5g}")


if __name__ == "__main__":
    main()
