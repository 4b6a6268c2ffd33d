"""How many matrix units `reveal` recovers from behaviour alone: all registered ones, and hypothetical ones at random.

python benchmarks/numerics_reveal.py            # writes benchmarks/results/numerics_reveal.json, exits 1 if any fails

A unit is recovered where the one found gives, on vectors that reveal has never seen and that another generator draws,
the bits of the true one, and every field that differs was reported as open and, set to its true value in the unit
found (with the fields that were reported as open only together with it), changes none of those bits.
"""

import argparse
import importlib.metadata
import json
import os
import platform
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path

import ml_dtypes
import msgspec
import numba
import numpy as np

from gemmlab import numerics
from gemmlab.numerics.behaviour import Unit
from gemmlab.numerics.operands import Operand
from gemmlab.numerics.probing.computing import rows_computed, same
from gemmlab.numerics.probing.evidence import fields
from gemmlab.record import GemmlabError

sys.path.insert(0, str(Path(__file__).parent))
from numerics_vectors import vectors

FORMATS = ("float16", "bfloat16", "float8_e4m3fn", "float8_e5m2")
ROUNDINGS = ("rz", "rne", "floor")
DRAWN = 200
SEED = 2026
FRESH = 100_000  # vectors on which the unit found and the true one must give the same bits
#: fields that say something together alone: where sums may be exact as well, how they are aligned is open with that
GROUPS = {"sum": ("align_bits", "cut", "terms", "order", "instruction_k"), "c": ("c_rounding", "join_bits")}
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


def compared(unit: Unit, name: str | None, confirm: int, fresh: int = FRESH) -> dict:
    """What reveal made of a unit: fields that are equal, open with a reason, or wrong."""
    started, used = time.perf_counter(), time.process_time()
    format_a = name or unit.a_formats[0]
    found = numerics.reveal(unit, format_a, confirm=confirm)
    spent, passed = time.process_time() - used, time.perf_counter() - started
    truth, got = fields(unit), fields(found.unit)
    differing = [field for field in dict.fromkeys([*truth, *got]) if truth.get(field) != got.get(field)]
    reasons = {field: each.reason for field, each in found.ambiguous.items()}
    for field, more in GROUPS.items():
        if field in differing and field in reasons:
            reasons |= {each: reasons[field] for each in more if each not in reasons}
    wrong = {field: [str(truth.get(field)), str(got.get(field))] for field in differing if field not in reasons}
    rivals = {"the true unit": unit}
    for field in differing:
        along = found.ambiguous[field].along if field in found.ambiguous else ()
        single = alone(found.unit, unit, (field, *along))
        if single is not None:
            rivals[field] = single
    unequal = fresh_mismatches(unit, found.unit, rivals, (found.a_format, found.b_format), fresh)
    return {
        "unit": unit.name,
        "format": format_a,
        "accumulate": unit.accumulate,
        "recovered": not wrong and found.mismatches == 0 and not unequal,
        "open": {field: reasons[field] for field in differing if field in reasons},
        "wrong": wrong,
        "vectors": found.confirmed,
        "mismatches": found.mismatches,
        "fresh_vectors": fresh,
        "fresh_mismatches": unequal,
        "experiments": found.experiments,
        "cpu_s": round(spent, 2),
        "wall_s": round(passed, 2),
    }


def alone(found: Unit, true: Unit, names: tuple[str, ...]) -> Unit | None:
    """The unit found with the true value of a field and of those that are open only together with it.

    None where it says nothing without others, or contradicts.
    """
    try:
        if names[0] not in fields(true) or names[0] in ("sum", "c"):
            return None
        # Whether a zero has a sign, and whether a -0 stays, are one question where none comes out.
        both = ("zero_sign", "negative_zero") if names[0] in ("zero_sign", "negative_zero") else ()
        return msgspec.structs.replace(found, **{each: getattr(true, each) for each in (*names, *both)})
    except GemmlabError:
        return None


def fresh_mismatches(
    true: Unit, found: Unit, rivals: dict[str, Unit], names: tuple[str, str], count: int
) -> dict[str, int]:
    """On how many vectors that reveal never saw the unit found differs from the true one, and from others by name.

    Lengths run from one product to two instructions; every batch is of all kinds that `numerics_vectors` draws.
    """
    random = np.random.default_rng([SEED, 77, len(true.name), *true.name.encode()])
    longest = max(true.k, 4)
    lengths = [longest, 2 * longest, max(2, longest // 2), longest + longest // 3, 2, 1]
    unequal: Counter[str] = Counter()
    for length, share in zip(lengths, (0.3, 0.1, 0.25, 0.1, 0.15, 0.1), strict=True):
        drawn_ = vectors(true, *names, "", int(count * share), length, random)
        rows = (drawn_.a, drawn_.b, drawn_.c)
        answers = integer_rows if true.sum == "integer" else rows_computed
        own = answers(found, *rows, names)
        for name, rival in rivals.items():
            equal = same(rival if rival.nan == "ieee" else found, own, answers(rival, *rows, names))
            unequal[name] += int((~equal).sum())
    return {name: number for name, number in unequal.items() if number}


def integer_rows(unit: Unit, a: np.ndarray, b: np.ndarray, c: np.ndarray, names: tuple[str, str]) -> np.ndarray:
    """Codes (count,) of dot products of integers."""
    from gemmlab.numerics.fast.running import pairs

    return pairs(unit, Operand(a, names[0]), Operand(b, names[1]), c, None, "integer")


def summary(rows: list[dict]) -> dict:
    """Counts over some units."""
    times = sorted(row["cpu_s"] for row in rows)
    return {
        "units": len(rows),
        "recovered": sum(row["recovered"] for row in rows),
        "of which with open fields that differ": sum(row["recovered"] and bool(row["open"]) for row in rows),
        "open fields that differ": dict(Counter(field for row in rows for field in row["open"])),
        "vectors": sum(row["vectors"] for row in rows),
        "mismatches": sum(row["mismatches"] for row in rows),
        "fresh_vectors": sum(row["fresh_vectors"] for row in rows),
        "fresh_mismatches": sum(row["fresh_mismatches"].get("the true unit", 0) for row in rows),
        "cpu_s": round(sum(times), 1),
        "median_cpu_s": float(np.median(times)) if rows else 0.0,
        "most_cpu_s": times[-1] if rows else 0.0,
    }


def refused(name: str) -> bool:
    """Whether reveal says of a scaled unit that it takes block scales."""
    try:
        numerics.reveal(name)
    except GemmlabError as error:
        return "block scales" in str(error)
    return False


def one(what: str, confirm: int) -> dict:
    """The row of a unit by name, or of a hypothetical one by number; that of a failure where there is none."""
    try:
        unit, name = drawn(int(what)) if what.isdigit() else (numerics.unit(what), None)
        return {"asked": what} | compared(unit, name, confirm)
    except Exception as error:
        raise RuntimeError(f"{what}: {error!r}") from error


def main() -> None:
    """Reveal everything and write the record; rows that are in PARTS already are taken from there."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--drawn", type=int, default=DRAWN)
    parser.add_argument("--confirm", type=int, default=100_000)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--parts", type=Path, help="a file of rows, one a line, to go on from and to add to")
    parser.add_argument("--out", type=Path, default=RESULT)
    asked = parser.parse_args()
    names = numerics.unit_names()
    scaled = [name for name in names if numerics.unit(name).scaled]
    units, numbers = [name for name in names if name not in scaled], list(map(str, range(asked.drawn)))
    wanted = units + numbers
    rows: dict[str, dict] = {}
    if asked.parts and asked.parts.exists():
        rows = {row["asked"]: row for row in map(json.loads, asked.parts.read_text(encoding="utf-8").splitlines())}
    with ProcessPoolExecutor(asked.processes, mp_context=get_context("spawn")) as pool:
        # Both kinds by turns, so that what fails of either shows early.
        places = {what: place / (1 + len(group)) for group in (units, numbers) for place, what in enumerate(group)}
        turns = sorted(wanted, key=places.__getitem__)
        waiting = [pool.submit(one, what, asked.confirm) for what in turns if what not in rows]
        for done in as_completed(waiting):
            row = done.result()
            rows[row["asked"]] = row
            if asked.parts:
                with asked.parts.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(row) + "\n")
            said = (
                ""
                if row["recovered"]
                else f" NOT RECOVERED {row['wrong']} {row['mismatches']} {row['fresh_mismatches']}"
            )
            print(f"{len(rows)} of {len(wanted)} {row['unit']} {row['cpu_s']} s{said}", flush=True)
    registered = [rows[what] for what in wanted if not what.isdigit()]
    hypothetical = [rows[what] for what in wanted if what.isdigit()]
    record = {
        "made": "emulated units revealed from their answers; CPU seconds of reveal alone, several processes at once",
        "date": datetime.now(UTC).date().isoformat(),
        "versions": {
            "gemmlab": importlib.metadata.version("gemmlab"), "python": platform.python_version(),
            "numpy": np.__version__,
            "numba": numba.__version__, "ml_dtypes": ml_dtypes.__version__,
        },
        "machine": platform.machine(),
        "registered": summary(registered)
        | {"scaled, refused with the reason": f"{sum(map(refused, scaled))} of {len(scaled)}"},
        "drawn": summary(hypothetical),
        "registered_units": registered,
        "drawn_units": hypothetical,
    }  # fmt: skip
    print(json.dumps({key: record[key] for key in ("registered", "drawn")}, indent=1))
    asked.out.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    failed = [row["unit"] for row in (*registered, *hypothetical) if not row["recovered"]]
    if failed or not all(map(refused, scaled)):
        sys.exit(f"not recovered: {', '.join(failed)}")


if __name__ == "__main__":
    main()
