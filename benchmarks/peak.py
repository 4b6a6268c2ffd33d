"""`gemmlab.matmul` beside torch on an H200, group by group: times, ratios, and errors against float64.

    python benchmarks/peak.py [--groups "m = 1" float8 ...] [--merge] [--out benchmarks/results/peak.json]

Each contender is captured in a CUDA graph over rotating operands (more than three times the L2 in all) and replayed
in turn, A B C A B C; the figure is the median of the rounds, with pauses between them so that the power cap is not
what is measured. Operands are random normal numbers; results are poisoned with NaN before the last round and
checked after it: 256 rows spread over D against float64, every element against torch's. `torch` is torch.mm into a
given result, for float8 torch._scaled_mm in the mode that adds as ours does; `cublaslt` the best that a search of
its library's list finds, told and no bar. Which of our kernels runs is what `gemmlab.matmul` chooses as it is
installed: `tuned` where that is another than its model's; GEMMLAB_TUNED=0 in the environment leaves the model
alone. `--merge` keeps the groups that the file has and this run does not.
"""

from __future__ import annotations

import argparse
import datetime
import json
import sys
import time
from pathlib import Path
from typing import Any

import peak_cublaslt
from peak_ahead import compiled_ahead
from peak_files import kept
from peak_groups import AIMS, GROUPS, chosen, held
from peak_row import Row
from peak_timing import captured, in_turn, seconds_of

RESULT = Path(__file__).parent / "results" / "peak.json"
ALLOWED = 1.05  # an error over torch's
FLOOR = {"norm": 1e-7, "component": 1e-7}  # below it errors are rounding alone
COPY_BYTES = 1 << 31


def copy_rate(torch: Any) -> float:
    """Bytes a second, read and written, of a copy from the chip's memory to itself."""
    source, target = (torch.empty(COPY_BYTES, dtype=torch.uint8, device="cuda") for _ in range(2))
    source.fill_(1)
    taken = [seconds_of(torch, lambda: target.copy_(source)) for _ in range(7)]
    return 2 * COPY_BYTES / sorted(taken)[len(taken) // 2]


def told(torch: Any, given: tuple, options: argparse.Namespace, copy: float) -> dict[str, Any]:
    """One row of the results."""
    begun = time.monotonic()
    row = Row(torch, *given)
    plan, model = row.plan(), row.plan(tuned=False)
    best = searched(row) if options.cublaslt else {}
    replays = {name: captured(torch, row.calls(name)) for name in row.contenders}
    times = in_turn(torch, replays, options.rounds, options.pause, row.poison)
    errors, right = row.errors()
    ours, torchs = errors["ours"], errors["torch"]
    found = {name: {"s": each.seconds, "spread": each.spread} | errors[name]._asdict() for name, each in times.items()}
    return dict(zip(("m", "n", "k", "format", "layout"), given, strict=True)) | {
        "ours_s": times["ours"].seconds,
        "torch_s": times["torch"].seconds,
        "ratio": times["torch"].seconds / times["ours"].seconds,
        "right": right,
        "as_accurate": as_accurate(row.form, ours, torchs),
        "predicted_s": plan.predicted_s,
        "copy_share": row.bytes / times["ours"].seconds / copy,
        "contenders": found,
        **best,
        "sets": len(row.operands),
        "plan": plan_told(plan),
        "tuned": plan != model,
        "taken_s": time.monotonic() - begun,
    }


def searched(row: Row) -> dict[str, Any]:
    """What the search of cuBLASLt's list says of itself; a fault of it is no fault of the row."""
    try:
        found = peak_cublaslt.best(row)
    except (RuntimeError, OSError) as error:
        row.contenders.pop("cublaslt", None)
        row.results.pop("cublaslt", None)
        return {"cublaslt_fault": str(error)[:200]}
    return {"cublaslt": {"place": found.place, "tried": found.tried, "listed": found.listed}}


def as_accurate(form: str, ours: Any, torchs: Any) -> bool:
    """Whether ours is no further off than torch's: by norm, float32 by each element beside |A||B| too."""
    kinds = ("norm", "component") if form == "float32" else ("norm",)
    return all(getattr(ours, kind) <= max(ALLOWED * getattr(torchs, kind), FLOOR[kind]) for kind in kinds)


def plan_told(plan: Any) -> dict[str, Any]:
    """A plan as plain values."""
    import msgspec

    return msgspec.to_builtins(plan)


def line(row: dict[str, Any]) -> str:
    """A row as one reads it while it runs."""
    if "fault" in row:
        return row["fault"]
    kernel = {key: value for key, value in row["plan"]["kernel"].items() if type(value) is int}
    ours, torchs = row["contenders"]["ours"], row["contenders"]["torch"]
    lt = row["contenders"].get("cublaslt")
    words = [
        f"{row['ours_s'] * 1e6:.1f} us, torch {row['torch_s'] * 1e6:.1f}: {row['ratio']:.3f}",
        f"lt {lt['s'] * 1e6:.1f} (no. {row['cublaslt']['place']})" if lt else row.get("cublaslt_fault", ""),
        f"{'tuned, ' * row['tuned']}predicted {row['predicted_s'] * 1e6:.1f}, {100 * row['copy_share']:.0f}% of copy",
        "" if row["right"] else "WRONG",
        "" if row["as_accurate"] else "LESS ACCURATE",
        f"{ours['norm']:.2e} {torchs['norm']:.2e} {ours['component']:.1e} {torchs['component']:.1e}",
        f"+-{100 * max(ours['spread'], torchs['spread']):.1f}%, {row['taken_s']:.1f} s",
        " ".join(f"{key}={value}" for key, value in kernel.items()),
    ]
    return "; ".join(word for word in words if word)


def summed(name: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """A group's figures beside its bars."""
    bar, least, given = GROUPS[name]
    found = held(name, rows)
    return {
        "group": name, "rows": f"{sum('ratio' in row for row in rows)} of {len(given)}", "mean": found.mean, "bar": bar,
        "aim": AIMS.get(name), "worst": found.worst, "worst_bar": least, "holds": found.holds,
    }  # fmt: skip


def written(path: Path, found: dict[str, list[dict[str, Any]]], about: dict[str, Any]) -> None:
    """Write all groups in their order, with their sums."""
    rows = {name: found[name] for name in GROUPS if name in found}
    content = about | {"groups": [summed(name, each) for name, each in rows.items()], "rows": rows}
    kept(path, content)


def about(torch: Any, copy: float) -> dict[str, Any]:
    """What the figures are, when and where they were read."""
    return {
        "what": "measured: seconds of one multiplication, graph replay over rotating operands, medians",
        "date": datetime.date.today().isoformat(),
        "chip": torch.cuda.get_device_properties(0).name,
        "versions": {"torch": torch.__version__, "cuda": torch.version.cuda},
        "copy_bytes_per_s": copy,
    }


def main() -> int:
    """Measure the groups, print a line for each row and write what was found; 1 where a row has a fault."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=RESULT)
    parser.add_argument("--groups", nargs="*", default=[], help="prefixes of their names; all where none is given")
    parser.add_argument("--merge", action="store_true", help="keep the file's other groups")
    parser.add_argument("--rounds", type=int, default=0, help="as many as fit half a second where 0")
    parser.add_argument("--rows", type=int, default=None, help="of each group, for a quick look")
    parser.add_argument("--pause", type=float, default=0.01)
    parser.add_argument("--seconds", type=float, default=500, help="no row is begun after that")
    parser.add_argument("--no-cublaslt", dest="cublaslt", action="store_false", help="do not search its list")
    options = parser.parse_args()
    names = chosen(options.groups)
    import torch

    begun = time.monotonic()
    asked = [given for name in names for given in GROUPS[name][2][: options.rows]]
    count = compiled_ahead(torch, (dict(zip(("m", "n", "k", "form", "layout"), each, strict=True)) for each in asked))
    print(f"{count} kernels compiled in {time.monotonic() - begun:.1f} s", flush=True)
    copy = copy_rate(torch)
    found = json.loads(options.out.read_text())["rows"] if options.merge and options.out.exists() else {}
    late = False
    for name in names:
        found[name] = []
        for given in GROUPS[name][2][: options.rows]:
            late = time.monotonic() - begun > options.seconds
            if late:
                print(f"out of time before {given}", file=sys.stderr)
                break
            try:
                row = told(torch, given, options, copy)
            except Exception as error:
                fault = f"{type(error).__name__}: {error}"[:300]
                row = dict(zip(("m", "n", "k", "format", "layout"), given, strict=True)) | {"fault": fault}
            found[name].append(row)
            torch.cuda.empty_cache()
            print(name, *given, line(row), flush=True)
        print(json.dumps(summed(name, found[name])), flush=True)
        written(options.out, found, about(torch, copy))
    return int(late or any("fault" in row for name in names for row in found[name]))


if __name__ == "__main__":
    raise SystemExit(main())
