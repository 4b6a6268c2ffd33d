"""What a warm call costs the CPU: `gemmlab.matmul` beside torch.mm, microseconds a call.

    python benchmarks/peak_host.py [--out benchmarks/results/peak_host.json]

Small multiplications, so that the GPU is never waited for: 200 calls are put on its queue, which is emptied outside
the time. 2000 calls a repetition, medians of seven, ways to call and contenders in turn: a machine has spells in which
all that it does takes a third longer. With a result that is given, without one, and with operands and results at
addresses that no call had before.
"""

from __future__ import annotations

import argparse
import datetime
import itertools
import platform
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from peak_files import kept

RESULT = Path(__file__).parent / "results" / "peak_host.json"
CALLS, BURST, REPETITIONS = 2000, 200, 7
#: what is multiplied: m, n, k, format
SHAPES = {
    "aligned": (256, 256, 256, "bfloat16"),
    "one row": (1, 256, 256, "bfloat16"),
    "unaligned": (255, 257, 259, "bfloat16"),
    "float32": (256, 256, 256, "float32"),
}
WARM = ("result given", "no result given")  # ways whose calls are alike
STEP = 64  # elements from one call's operands to the next one's, where each has addresses of its own


def contenders(torch: Any, m: int, n: int, k: int, form: str) -> dict[str, dict[str, Callable[[], Any]]]:
    """For each way to call, what ours and torch's calls are."""
    from gemmlab import matmul

    kind = getattr(torch, form)

    def drawn(*sides: int) -> Any:
        return torch.randn(sides, device="cuda").to(kind)

    a, b, d = drawn(m, k), drawn(n, k).t(), drawn(m, n)
    ours, torchs = moving(torch, m, n, k, kind), moving(torch, m, n, k, kind)

    def moved(multiply: Callable[..., Any], places: Iterator[tuple[Any, Any]]) -> None:
        left, result = next(places)
        multiply(left, b, out=result)

    return {
        "result given": {"ours": lambda: matmul(a, b, out=d), "torch": lambda: torch.mm(a, b, out=d)},
        "no result given": {"ours": lambda: matmul(a, b), "torch": lambda: torch.mm(a, b)},
        "new addresses": {"ours": lambda: moved(matmul, ours), "torch": lambda: moved(torch.mm, torchs)},
    }


def moving(torch: Any, m: int, n: int, k: int, kind: Any) -> Iterator[tuple[Any, Any]]:
    """Operands and results that begin a little further on in memory each time, made before they are asked for."""
    count = (REPETITIONS + 1) * CALLS
    left = torch.randn(m * k + STEP * count, device="cuda").to(kind)
    result = torch.empty(m * n + STEP * count, dtype=kind, device="cuda")
    offsets = range(0, STEP * count, STEP)
    lefts = [left.as_strided((m, k), (k, 1), at) for at in offsets]
    results = [result.as_strided((m, n), (n, 1), at) for at in offsets]
    return itertools.cycle(zip(lefts, results, strict=True))


def per_call(torch: Any, call: Callable[[], Any], calls: int = CALLS) -> float:
    """Seconds of the CPU that one call takes, the GPU's queue emptied between bursts."""
    taken = 0.0
    for _ in range(calls // BURST):
        torch.cuda.synchronize()
        begun = time.perf_counter()
        for _ in range(BURST):
            call()
        taken += time.perf_counter() - begun
    torch.cuda.synchronize()
    return taken / (calls // BURST * BURST)


def rows(torch: Any, repetitions: int) -> Iterator[dict[str, Any]]:
    """Each shape by each way to call."""
    for shape, (m, n, k, form) in SHAPES.items():
        ways = contenders(torch, m, n, k, form)
        times: dict[tuple[str, str], list[float]] = {(way, name): [] for way in ways for name in ways[way]}
        for way, name in times:
            per_call(torch, ways[way][name], BURST)
        for _ in range(repetitions):
            for (way, name), taken in times.items():
                taken.append(per_call(torch, ways[way][name]))
        for way in ways:
            ours, torchs = (statistics.median(times[way, name]) for name in ("ours", "torch"))
            yield {
                "shape": shape, "m": m, "n": n, "k": k, "format": form, "way": way,
                "ours_s": ours, "torch_s": torchs, "ratio": torchs / ours, "holds": ours <= torchs,
            }  # fmt: skip


def main() -> int:
    """Time every way to call, print and write it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=RESULT)
    parser.add_argument("--repetitions", type=int, default=REPETITIONS)
    options = parser.parse_args()
    import torch

    found = []
    for row in rows(torch, min(REPETITIONS, options.repetitions)):
        found.append(row)
        print(
            f"{row['shape']}, {row['way']}: {row['ours_s'] * 1e6:.1f} us, torch {row['torch_s'] * 1e6:.1f}", flush=True
        )
    content = {
        "what": f"measured: seconds of the CPU that one warm call takes, {CALLS} calls, medians",
        "date": datetime.date.today().isoformat(),
        "chip": torch.cuda.get_device_properties(0).name,
        "versions": {"torch": torch.__version__, "cuda": torch.version.cuda, "python": platform.python_version()},
        "bar": "a warm call of ours takes the CPU no longer than torch.mm's",
        "holds": all(row["holds"] for row in found if row["way"] in WARM),
        "rows": found,
    }
    kept(options.out, content)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
