"""How long 100,000 (shape, tiling) pairs take in one call.

    python benchmarks/vectorised.py [--dry]

Random shapes, log-uniform from 64 to 16,384, under random tilings, on an H100 in bfloat16; the median of five calls in
one process, and beside it the time of importing numpy in another. Writes `results/vectorised.json` unless `--dry`.
"""

import argparse
import datetime
import json
import os
import platform
import statistics
import time
from pathlib import Path

import numpy as np

from gemmlab.model import predict_many

PAIRS = 100_000
BAR_S = 2.0
ROUNDS = 5


def main() -> None:
    """Time the call and keep the result."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--dry", action="store_true", help="print only")
    options = parser.parse_args()
    random = np.random.default_rng(0)
    m, n, k = np.exp(random.uniform(np.log(64), np.log(16384), (3, PAIRS))).astype(int)
    block_m, block_n = random.choice([64, 128, 256], (2, PAIRS))
    split_k = random.choice([1, 1, 1, 2, 4, 8], PAIRS)
    spent = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        found = predict_many(m, n, k, block_m, block_n, split_k=split_k)
        spent.append(time.perf_counter() - begin)
    result = {
        "what": "measured: seconds of one call of gemmlab.model.predict_many",
        "pairs": PAIRS,
        "median_s": round(statistics.median(spent), 4),
        "slowest_s": round(max(spent), 4),
        "bar_s": BAR_S,
        "finite": bool(np.isfinite(found.time_s).all()),
        "machine": f"{platform.machine()}, {len(os.sched_getaffinity(0))} cores",
        "versions": {"python": platform.python_version(), "numpy": np.__version__},
        "date": datetime.date.today().isoformat(),
    }
    print(json.dumps(result, indent=1))
    if not options.dry:
        path = Path(__file__).parent / "results" / "vectorised.json"
        path.write_text(json.dumps(result, indent=1) + "\n")
    raise SystemExit(0 if result["median_s"] <= BAR_S else 1)


if __name__ == "__main__":
    main()
