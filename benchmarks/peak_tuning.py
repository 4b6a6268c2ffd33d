"""How near the model's plan is to the best of those measured, shape by shape, and the store of tuned plans.

    python benchmarks/peak_tuning.py --seconds 400 [--groups "m = 1" float8 ...] [--again]

For each row of `peak_groups.py` plans are searched for as `gemmlab.tune` does: the store's and the model's various best
are compiled side by side, while others are timed; each result is held against float64; times are medians of CUDA graphs
replayed by turns, of the longest at the power limit. A plan that surely beats the model's first goes into the package's
store of the chip. The bar is that the model alone reaches 95 % of the tuned time, by the geometric mean. Both files are
written whole after each row; rows that are there are not measured again unless told, and one that ended the process is
left out too. The results keep the times of all plans, in columns, from which `peak_fit.py` fits the model's constants.
"""

from __future__ import annotations

import argparse
import datetime
import itertools
import json
import math
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import msgspec

from gemmlab.peak import store, tuning
from gemmlab.peak.candidates import variants, various
from gemmlab.peak.choosing import plan_for
from gemmlab.peak.planned import Plan
from gemmlab.peak.request import Request
from gemmlab.peak.trying import Bench, Compiler
from peak_groups import GROUPS, chosen
from peak_row import Row

RESULT = Path(__file__).parent / "results" / "peak_tuning.json"
BAR = 0.95
AHEAD = 12  # rows that are compiled for while one is timed
NAMES = ("m", "n", "k", "format", "layout")


def asked(torch: Any, given: tuple, device: str = "cuda") -> tuple[Request, tuple[Any, Any, Any]]:
    """The request of a row, and its operands and result: those of a batch's first where its matrices go one by one."""
    from gemmlab.peak.batches import at_once

    row = Row(torch, *given, device=device, sets=1)
    (a, b), d = row.operands[0], row.results["ours"][0]
    operands, request, _ = at_once(torch, (a, b, d), row.accuracy, False, plan_for)
    return request, operands


def described(torch: Any, given: tuple) -> Request:
    """The request alone, of tensors that have shapes and strides but no memory."""
    return asked(torch, given, "meta")[0]


def columns(found: tuning.Found) -> dict[str, Any]:
    """Every plan that was tried: by kind what all its kernels share, and the fields whose values stand in each row."""
    right = [each for each in found.tried if each.seconds]
    kernels: dict[str, list[dict[str, Any]]] = {}
    for each in right:
        kernels.setdefault(store.kind_of(each.plan.kernel), []).append(msgspec.structs.asdict(each.plan.kernel))
    shared = {
        kind: {name: value for name, value in of[0].items() if all(kernel[name] == value for kernel in of)}
        for kind, of in kernels.items()
    }
    fields = {kind: [name for name in of[0] if name not in shared[kind]] for kind, of in kernels.items()}
    return {
        "shared": shared,
        "fields": fields,
        "names": ["kind", "fields", "group_m", "predicted_s", "seconds", "rounds", "error"],
        "plans": [
            [
                kind := store.kind_of(each.plan.kernel),
                [getattr(each.plan.kernel, name) for name in fields[kind]],
                each.plan.group_m,
                short(each.plan.predicted_s),
                short(statistics.median(each.seconds)),
                len(each.seconds),
                short(each.error),
            ]
            for each in right
        ],
        "faults": [[msgspec.to_builtins(each.plan.kernel), each.fault] for each in found.tried if each.fault],
    }


def short(value: float) -> float | None:
    """Four digits of a number; None of what is none."""
    return float(f"{value:.4g}") if math.isfinite(value) else None


def told(found: tuning.Found, taken_s: float) -> dict[str, Any]:
    """One row of the results."""
    best = min(statistics.median(each.seconds) for each in found.tried if each.seconds)
    return {
        "model_s": found.model_s,
        "tuned_s": found.measured_s,
        "best_s": best,  #: of all that were timed, luck too
        "spread_s": found.spread_s,
        "model_share": found.measured_s / found.model_s if found.model_s else None,
        "better": found.better,
        "loaded": found.loaded,  #: model_s and tuned_s are at the power limit, all others after pauses
        "kernel": store.said_of(found.plan.kernel) | {"group_m": found.plan.group_m},
        "request": msgspec.to_builtins(found.request),
        "taken_s": taken_s,
        "tried": columns(found),
    }


def summed(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """What the model alone reaches of the tuned time: geometric mean and the worst row."""
    shares = [row["model_share"] for row in rows if row.get("model_share")]
    mean = math.exp(math.fsum(map(math.log, shares)) / len(shares)) if shares else None
    return {"rows": len(shares), "mean": mean, "worst": min(shares, default=None), "bar": BAR,
            "holds": mean is not None and mean >= BAR}  # fmt: skip


def written(path: Path, rows: dict[str, list[dict[str, Any]]], device: store.Device, versions: dict[str, str]) -> None:
    """All groups in their order, with what the model reaches, whole or not at all."""
    held = {name: rows[name] for name in GROUPS if rows.get(name)}
    content = {
        "what": f"{store.WHAT}; model_share is the tuned plan's time over the model's",
        "date": datetime.date.today().isoformat(),
        "device": msgspec.to_builtins(device),
        "versions": versions,
        "all": summed([row for name in held for row in held[name]]),
        "groups": {name: summed(each) for name, each in held.items()},
        "rows": held,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps(content).replace('{"m": ', '\n{"m": ') + "\n")
    fresh.replace(path)


def line(found: dict[str, Any]) -> str:
    """A row as one reads it while it runs."""
    if "fault" in found:
        return found["fault"]
    kernel = " ".join(
        f"{key}={value}"
        for kind in found["kernel"].values()
        if isinstance(kind, dict)
        for key, value in kind.items()
        if type(value) is int
    )
    model = f"{found['model_s'] * 1e6:.1f}" if found["model_s"] else "fault"
    return (
        f"model {model} us, tuned {found['tuned_s'] * 1e6:.1f} +- {found['spread_s'] * 1e6:.1f}, best "
        f"{found['best_s'] * 1e6:.1f}, {len(found['tried']['plans'])} plans, {len(found['tried']['faults'])} faults, "
        f"{found['taken_s']:.1f} s; {kernel if found['better'] else 'the model stays'}"
    )


def begun_with(request: Request, most: int, held: dict[Request, Plan]) -> list[Plan]:
    """The plans of a row's first round: the one that the store holds, and so many of the model's."""
    return [*([held[request]] if request in held else []), *various(request, most)]


def measured(torch: Any, given: tuple, compiler: Compiler, most: int, held: dict[Request, Plan]) -> tuning.Found:
    """One row's search."""
    request, (a, b, d) = asked(torch, given)
    return tuning.search(request, Bench(torch, a, b, d, compiler).tried, begun_with(request, most, held))


def ahead(torch: Any, given: tuple, compiler: Compiler, most: int, held: dict[Request, Plan]) -> None:
    """Begin to compile what a row's search begins with."""
    request = described(torch, given)
    first = begun_with(request, most, held)
    compiler.begin([*first, *variants(request, first[0])])


def by_turns(groups: dict[str, list[tuple]]) -> list[tuple[str, tuple]]:
    """Rows of all groups, each group's spread over the whole, so that no group is left out where time runs out."""
    places = [(at / len(rows), name, given) for name, rows in groups.items() for at, given in enumerate(rows)]
    return [(name, given) for _, name, given in sorted(places, key=lambda place: place[0])]


def main() -> int:
    """Search row by row, print a line for each, write store and results; 1 where the bar is missed or a row failed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=RESULT)
    parser.add_argument("--store", type=Path, default=None, help="the package's file of the chip where none is given")
    parser.add_argument("--groups", nargs="*", default=[], help="prefixes of their names; all where none is given")
    parser.add_argument("--seconds", type=float, default=400, help="no row is begun after that")
    parser.add_argument("--first", type=int, default=10, help="plans of a row's first round")
    parser.add_argument("--rows", type=int, default=None, help="of each group, for a quick look")
    parser.add_argument("--sides", type=int, nargs=3, default=None, metavar=("M", "N", "K"), help="rows of these alone")
    parser.add_argument("--again", action="store_true", help="measure rows that are there already")
    options = parser.parse_args()
    import torch

    begun, compiler = time.monotonic(), Compiler()
    device, versions = store.device_of(torch, 0), tuning.versions_of(torch)
    path = options.store or store.SHIPPED / device.file
    rows = json.loads(options.out.read_text())["rows"] if options.out.exists() else {}
    held = {entry.request: plan for entry in store.read(path, device) if (plan := store.plan_of(entry))}
    wanted = [
        (name, given)
        for name, given in by_turns({name: GROUPS[name][2][: options.rows] for name in chosen(options.groups)})
        if options.again or not any(key(row) == given for row in rows.get(name, []))
        if options.sides in (None, list(given[:3]))
    ]
    for _, given in wanted[:AHEAD]:
        ahead(torch, given, compiler, options.first, held)
    for (name, given), after in itertools.zip_longest(wanted, wanted[AHEAD:]):
        if time.monotonic() - begun > options.seconds:
            print(f"out of time before {given}", file=sys.stderr)
            break
        if after:
            ahead(torch, after[1], compiler, options.first, held)
        start, head = time.monotonic(), dict(zip(NAMES, given, strict=True))
        others = [row for row in rows.get(name, []) if key(row) != given]
        rows[name] = [*others, head | {"fault": "it ended the process"}]
        written(options.out, rows, device, versions)
        try:
            found = measured(torch, given, compiler, options.first, held)
            row = told(found, time.monotonic() - start)
            store.keep(
                device, [tuning.entry_of(found, versions)] if found.better else [], path,
                without=[] if found.better else [found.request],
            )  # fmt: skip
        except Exception as error:
            row = {"fault": f"{type(error).__name__}: {error}"[:300]}
        rows[name] = [*others, head | row]
        written(options.out, rows, device, versions)
        torch.cuda.empty_cache()
        print(name, *given, line(row), flush=True)
    compiler.stop()
    whole = summed([row for each in rows.values() for row in each])
    print(json.dumps(whole | {"taken_s": time.monotonic() - begun}))
    return int(not whole["holds"] or any("fault" in row for each in rows.values() for row in each))


def key(row: dict[str, Any]) -> tuple:
    """What a row of the results is of."""
    return tuple(row[name] for name in NAMES)


if __name__ == "__main__":
    raise SystemExit(main())
