"""How many matrix units `reveal` recovers from behaviour alone: all registered ones, and hypothetical ones at random.

python benchmarks/numerics_reveal.py            # writes benchmarks/results/numerics_reveal.json
"""

import argparse
import json
import platform
import time
from datetime import UTC, datetime
from pathlib import Path

import ml_dtypes
import numba
import numpy as np

import gemmlab
from gemmlab import numerics
from gemmlab.numerics.reveal.evidence import fields
from gemmlab.numerics.unit import Unit

FORMATS = ("float16", "bfloat16", "float8_e4m3fn", "float8_e5m2")
ROUNDINGS = ("rz", "rne", "floor")
DRAWN = 200
SEED = 2026
RESULT = Path(__file__).parent / "results" / "numerics_reveal.json"


def drawn(number: int) -> tuple[Unit, str]:
    """A hypothetical unit and the format it is asked in; width past float32's 23 bits takes float64."""
    rng = np.random.default_rng([SEED, number])
    width = int(rng.integers(8, 31))
    terms = int(rng.integers(1, 65))
    late = bool(rng.integers(2))
    name = str(rng.choice(FORMATS))
    wide = width > 23
    return Unit(
        name=f"drawn.{number}",
        a_formats=(name,),
        b_formats=(name,),
        accumulate="float64" if wide else "float32",
        terms=terms,
        instruction_k=terms * int(rng.integers(1, 4)) if late else terms,
        align_bits=int(rng.integers(8, 37)),
        cut=str(rng.choice(ROUNDINGS)),
        width=width,
        rounding=str(rng.choice(ROUNDINGS)),
        c="late" if late else "early",
        c_rounding=str(rng.choice(ROUNDINGS)) if late else "rne",
        nan_code=0x7FF8000000000000 if wide else 0x7FFFFFFF,
    ), name


def compared(unit: Unit, name: str | None, confirm: int) -> dict:
    """What reveal made of a unit: fields that are equal, open with a reason, or wrong."""
    started, used = time.perf_counter(), time.process_time()
    accumulate = unit.accumulate
    format_a = name or unit.a_formats[0]
    found = numerics.reveal(unit, format_a, confirm=confirm)
    truth, got = fields(unit), fields(found.unit)
    differing = [field for field in truth | got if truth.get(field) != got.get(field)]
    # Where sums may be exact as well, how they are aligned is open with that.
    covered = {"sum": ("align_bits", "cut", "terms")}
    opened = {*found.ambiguous, *(more for field in found.ambiguous for more in covered.get(field, ()))}
    wrong = {field: [str(truth.get(field)), str(got.get(field))] for field in differing if field not in opened}
    return {
        "unit": unit.name,
        "format": format_a,
        "accumulate": accumulate,
        "recovered": not wrong and found.mismatches == 0,
        "open": {
            field: found.ambiguous[field].reason if field in found.ambiguous else found.ambiguous["sum"].reason
            for field in differing
            if field not in wrong
        },
        "wrong": wrong,
        "vectors": found.confirmed,
        "mismatches": found.mismatches,
        "experiments": found.experiments,
        "cpu_s": round(time.process_time() - used, 2),
        "wall_s": round(time.perf_counter() - started, 2),
    }


def summary(rows: list[dict]) -> dict:
    """Counts over some units."""
    reasons: dict[str, int] = {}
    for row in rows:
        for field in row["open"]:
            reasons[field] = reasons.get(field, 0) + 1
    return {
        "units": len(rows),
        "recovered": sum(row["recovered"] for row in rows),
        "of which with open fields that differ": sum(row["recovered"] and bool(row["open"]) for row in rows),
        "open fields that differ": reasons,
        "vectors": sum(row["vectors"] for row in rows),
        "mismatches": sum(row["mismatches"] for row in rows),
        "cpu_s": round(sum(row["cpu_s"] for row in rows), 1),
        "median_cpu_s": float(np.median([row["cpu_s"] for row in rows])) if rows else 0.0,
    }


def main() -> None:
    """Reveal everything and write the record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--drawn", type=int, default=DRAWN)
    parser.add_argument("--confirm", type=int, default=100_000)
    parser.add_argument(
        "--only-drawn", action="store_true", help="leave the registered units' part of the record as it is"
    )
    parser.add_argument("--out", type=Path, default=RESULT)
    asked = parser.parse_args()
    before = json.loads(asked.out.read_text(encoding="utf-8")) if asked.only_drawn and asked.out.exists() else {}
    registered = before.get("registered_units", [])
    for name in () if asked.only_drawn else numerics.unit_names():
        unit = numerics.unit(name)
        if not unit.scaled:
            registered.append(compared(unit, None, asked.confirm))
            print(json.dumps(registered[-1]), flush=True)
    hypothetical = []
    for number in range(asked.drawn):
        hypothetical.append(compared(*drawn(number), asked.confirm))
        print(json.dumps(hypothetical[-1]), flush=True)
    record = {
        "made": "emulated units revealed from their answers; CPU seconds, one run",
        "date": datetime.now(UTC).date().isoformat(),
        "versions": {
            "gemmlab": gemmlab.__version__, "python": platform.python_version(), "numpy": np.__version__,
            "numba": numba.__version__, "ml_dtypes": ml_dtypes.__version__,
        },
        "machine": platform.machine(),
        "registered": summary(registered),
        "drawn": summary(hypothetical),
        "registered_units": registered,
        "drawn_units": hypothetical,
    }  # fmt: skip
    print(json.dumps({key: record[key] for key in ("registered", "drawn")}, indent=1))
    asked.out.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
