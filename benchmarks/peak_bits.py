"""Bits of `gemmlab.matmul(..., deterministic=True)` on a GPU beside those of `gemmlab.numerics` on a CPU.

    python benchmarks/peak_bits.py --out benchmarks/results/peak_bits.json

Cases come from a seed: sides, formats, accuracies, layouts, gaps between rows and first elements off the copy engine's
road. What lies around an operand is not a number. Bits of D depend on its row of A and its column of B alone, so of a
large D rows and columns are sampled, and the CPU multiplies those.
"""

from __future__ import annotations

import argparse
import datetime
import json
import random
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import numpy.typing as npt

COUNT = 200
SAMPLED = 24  # rows and columns of a large D
LARGE = 300  # a side from which on they are sampled
EIGHT = ("float8_e4m3fn", "float8_e5m2")
#: formats of A and B, and those of D that they may have
FORMATS = (
    *(("float32", "float32", ("float32",)),) * 2,
    *(("float16", "float16", ("float16", "float32")),) * 2,
    *(("bfloat16", "bfloat16", ("bfloat16", "float32")),) * 2,
    *((a, b, ("bfloat16", "float16", "float32")) for a in EIGHT for b in EIGHT),
)
#: a few sides that many multiply, off the road too
LARGE_SIDES = (
    (4095, 4097, 4099),
    (1, 8192, 4096),
    (4096, 576, 999),
    (33, 4099, 2051),
    (8191, 64, 300),
    (512, 512, 8192),
)


class Lying(NamedTuple):
    """How an operand lies: its columns are its rows in memory, elements between rows' ends and before the first."""

    turned: bool = False
    gap: int = 0
    offset: int = 0


class Case(NamedTuple):
    """One multiplication."""

    seed: int
    m: int
    n: int
    k: int
    a_format: str
    b_format: str
    d_format: str
    accuracy: str
    numbers: str  #: normal; rows of different size; small integers
    a: Lying
    b: Lying


def cases(count: int = COUNT, seed: int = 0) -> list[Case]:
    """Cases of a seed, the first of them with large sides."""
    source = random.Random(seed)
    return [case(source, at, LARGE_SIDES[at] if at < len(LARGE_SIDES) else None) for at in range(count)]


def case(source: random.Random, seed: int, sides: tuple[int, int, int] | None) -> Case:
    """One case."""
    short = [source.choice((1, source.randint(1, 16), source.randint(17, 150))) for _ in "mn"]
    long = source.choice((source.randint(1, 64), 128, 64 * source.randint(1, 10), source.randint(1, 700)))
    m, n, k = sides or (*short, long)
    a_format, b_format, d_formats = source.choice(FORMATS)
    lying = (
        Lying(source.random() < 0.5, source.choice((0, 0, 1, 3, 8, 16)), source.choice((0, 0, 1, 2, 8))) for _ in "ab"
    )
    return Case(
        seed, m, n, k, a_format, b_format, source.choice((d_formats[0], *d_formats)),
        source.choice(("vendor", "best", "fast")), source.choice(("normal", "normal", "rows", "integers")), *lying,
    )  # fmt: skip


def laid(torch: Any, numbers: Any, lying: Lying, device: str = "cuda") -> Any:
    """A tensor of these numbers (rows, columns) that lies so, everything around it not a number."""
    (rows, columns), kind = numbers.shape, numbers.dtype
    tall, wide = (columns, rows) if lying.turned else (rows, columns)
    size = lying.offset + tall * (wide + lying.gap) + 16
    memory = torch.full((size,), float("nan"), dtype=torch.float32, device=device).to(kind)
    found = memory[lying.offset :].as_strided((tall, wide), (wide + lying.gap, 1))
    found = found.t() if lying.turned else found
    found.copy_(numbers.to(device))
    return found


def operands(torch: Any, of: Case, device: str = "cuda") -> tuple[Any, Any]:
    """A (m, k) and B (k, n) of a case, the same whatever the device is."""
    source = torch.Generator().manual_seed(of.seed)

    def drawn(sides: tuple[int, int], along: int) -> Any:
        if of.numbers == "integers":
            return torch.randint(-8, 9, sides, generator=source).float()
        found = torch.randn(sides, generator=source)
        if of.numbers == "rows":  # of A, columns of B: what is summed keeps its size
            sizes = torch.randint(-6, 7, (sides[0], 1) if along else (1, sides[1]), generator=source)
            found = torch.ldexp(found, sizes)
        return found

    a, b = drawn((of.m, of.k), 1), drawn((of.k, of.n), 0)
    return (
        laid(torch, a.to(getattr(torch, of.a_format)), of.a, device),
        laid(torch, b.to(getattr(torch, of.b_format)), of.b, device),
    )


def array(tensor: Any) -> npt.NDArray[Any]:
    """A NumPy array of a tensor's elements, bit for bit, of ml_dtypes' types where NumPy has none."""
    import torch

    name = str(tensor.dtype).removeprefix("torch.")
    kind = np.dtype(getattr(ml_dtypes, name)) if hasattr(ml_dtypes, name) else np.dtype(name)
    plain = tensor.detach().cpu().clone(memory_format=torch.contiguous_format)  # strides of one element too
    return plain.reshape(-1).view(torch.uint8).numpy().view(kind).reshape(tuple(plain.shape))


def sampled(torch: Any, side: int, device: str) -> Any:
    """Which rows or columns of D are compared."""
    if side < LARGE:
        return torch.arange(side, device=device)
    return torch.linspace(0, side - 1, SAMPLED, device=device).long().unique()


def product(torch: Any, of: Case, device: str = "cuda") -> tuple[Any, Any, Any, Any]:
    """A, B, D on the device, and the plan."""
    from gemmlab import matmul, plan

    a, b = operands(torch, of, device)
    d = torch.full((of.m, of.n), float("nan"), dtype=torch.float32, device=device).to(getattr(torch, of.d_format))
    how: dict[str, Any] = {"out": d, "accuracy": of.accuracy, "deterministic": True}
    return a, b, matmul(a, b, **how), plan(a, b, **how)


def compared(torch: Any, of: Case, device: str = "cuda") -> dict[str, Any]:
    """One case's elements, how many of them differ in a bit, and the first that does."""
    from gemmlab.peak.bits import reproduced

    a, b, d, plan = product(torch, of, device)
    rows, columns = sampled(torch, of.m, device), sampled(torch, of.n, device)
    told = reproduced(plan, array(a.index_select(0, rows)), array(b.index_select(1, columns)))
    found = array(d.index_select(0, rows).index_select(1, columns))
    kind = np.dtype(f"u{found.itemsize}")
    wrong = np.argwhere(np.ascontiguousarray(told).view(kind) != np.ascontiguousarray(found).view(kind))
    row = {
        "case": of._asdict() | {"a": of.a._asdict(), "b": of.b._asdict()},
        "elements": found.size,
        "wrong": len(wrong),
    }
    if len(wrong):
        at = tuple(wrong[0])
        row["first"] = f"{[int(rows[at[0]]), int(columns[at[1]])]}: {float(found[at])!r}, told {float(told[at])!r}"
        row["kernel"] = {name: getattr(plan.kernel, name) for name in plan.kernel.__struct_fields__}
    return row


def summed(rows: Sequence[dict[str, Any]], seconds: float, torch: Any) -> dict[str, Any]:
    """What is written: counts, where it was measured, and every case that differs."""
    wrong = [row for row in rows if row.get("wrong") or "fault" in row]
    formats = sorted({f"{row['case']['a_format']} x {row['case']['b_format']}" for row in rows})
    return {
        "what": "measured: bits of deterministic products on a GPU beside those of gemmlab.numerics on a CPU",
        "date": datetime.date.today().isoformat(),
        "chip": torch.cuda.get_device_properties(0).name if torch.cuda.is_available() else "none",
        "versions": {"torch": torch.__version__, "cuda": torch.version.cuda, "numpy": np.__version__},
        "shapes": len(rows),
        "elements": sum(row.get("elements", 0) for row in rows),
        "by_formats": {
            each: sum(f"{row['case']['a_format']} x {row['case']['b_format']}" == each for row in rows)
            for each in formats
        },
        "mismatched_shapes": len(wrong),
        "mismatched_elements": sum(row.get("wrong", 0) for row in rows),
        "seconds": round(seconds, 1),
        "mismatches": wrong,
    }


def main() -> None:
    """Compare every case, print what differs and write the counts; exit code 1 where any bit does."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", default="benchmarks/results/peak_bits.json")
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    import torch

    begun, rows = time.monotonic(), []
    for of in cases(options.count, options.seed):
        try:
            rows.append(compared(torch, of))
        except Exception as error:
            rows.append({"case": of._asdict(), "fault": repr(error)[:300]})
        if rows[-1].get("wrong") or "fault" in rows[-1]:
            print(json.dumps(rows[-1])[:300])
    found = summed(rows, time.monotonic() - begun, torch)
    Path(options.out).write_text(json.dumps(found, indent=1) + "\n")
    print(json.dumps({name: found[name] for name in ("shapes", "elements", "mismatched_shapes", "seconds")}))
    sys.exit(bool(found["mismatched_shapes"]))


if __name__ == "__main__":
    main()
