"""Does the emulator equal the plain interpreter on 500 random programs, in values, counts and faults?

    python benchmarks/emulator_programs.py --out benchmarks/results/emulator_programs.json

A program is a fragment of a random source: four stand in one kernel, whose first argument says which is launched, since
most of a compilation's time goes by kernel. Each is launched several times, on its own grid, block and arrays. Where
threads race, values are the schedule's and not compared; where these steer addresses or branches, neither are counts,
and both have to name a race. `make test` does the same with six other sources.
"""

import argparse
import datetime
import hashlib
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

TESTS = Path(__file__).parents[1] / "tests"
sys.path.append(str(TESTS))

SUMS = ("launches", "racy_launches", "steered_launches", "rows_of_counts")
FIRST = 1000  #: seed of the first source; the tests' are small


def digests(text: str) -> list[str]:
    """One of each fragment's text, whatever its place among the others."""
    from emulator.programs import bodies

    return [hashlib.sha256(re.sub(r"\b([a-z])\d+_", r"\1_", part).encode()).hexdigest() for part in bodies(text)]


def compared(seed: int, launches: int) -> dict[str, object]:
    """What a source's programs did, and in what the two differ."""
    from emulator.lockstep.compared import faults, launched, rows, unlike
    from emulator.programs import FRAGMENTS, random_program, source

    differ, kinds = [], Counter()
    launches_done = racy = steered = counted = 0
    for fragment in range(FRAGMENTS):
        for number in range(launches):
            drawn = random_program(seed, fragment, number)
            engines, references = launched(drawn)
            what = sorted(unlike(drawn, engines, references))
            if what:
                differ.append({"program": repr(drawn), "in": what})
            other = references[0]
            racy += drawn.racy
            steered += drawn.steered
            kinds.update({kind for kind, *_ in faults(other)})
            counted += sum(len(some) for some in rows(other))
            launches_done += 1
    return {
        "seed": seed,
        "digests": digests(source(seed)[0]),
        "launches": launches_done,
        "racy_launches": racy,
        "steered_launches": steered,
        "rows_of_counts": counted,
        "launches_with_fault": dict(sorted(kinds.items())),
        "differ": differ,
    }


def apart(seed: int, launches: int, cache: str) -> dict[str, object]:
    """`compared` in a process of its own: compiled kernels are not given back."""
    words = [sys.executable, __file__, "--one", str(seed), "--launches", str(launches)]
    environment = {**os.environ, "XDG_CACHE_HOME": cache}
    told = subprocess.run(words, env=environment, check=True, capture_output=True, text=True).stdout
    print(seed, end=" ", file=sys.stderr, flush=True)
    return json.loads(told)


def together(rows: list[dict[str, object]]) -> dict[str, object]:
    """Sums over all sources."""
    kinds = Counter()
    for row in rows:
        kinds.update(row["launches_with_fault"])
    return {
        "distinct_programs": len({one for row in rows for one in row["digests"]}),
        **{key: sum(row[key] for row in rows) for key in SUMS},
        "launches_with_fault": dict(sorted(kinds.items())),
        "differ": [one for row in rows for one in row["differ"]],
    }


def main() -> None:
    """Draw, compare, and print or keep what comes out."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sources", type=int, default=130, help="of four programs each")
    parser.add_argument("--launches", type=int, default=4, help="of each program")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one is not None:
        print(json.dumps(compared(given.one, given.launches)))
        return
    import numba
    import numpy

    with tempfile.TemporaryDirectory() as cache, ThreadPoolExecutor(given.jobs) as pool:
        seeds = range(FIRST, FIRST + given.sources)
        rows = list(pool.map(lambda seed: apart(seed, given.launches, cache), seeds))
    told = {
        "date": datetime.date.today().isoformat(),
        "versions": {"python": platform.python_version(), "numba": numba.__version__, "numpy": numpy.__version__},
        "first_seed": FIRST,
        "sources": given.sources,
        **together(rows),
    }
    text = json.dumps(told, indent=1)
    if given.out:
        given.out.write_text(text + "\n")
    print(text)
    if told["differ"]:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
