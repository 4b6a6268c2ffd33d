"""The process that measures the GPU ladder's items for gpu_ladder.py: one line before each item, one behind it."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "src"))

from gemmlab.check import Operands, poisoned  # noqa: E402
from gemmlab.check.bounds import bound_of  # noqa: E402
from gemmlab.check.storage import stored  # noqa: E402
from gemmlab.formats import dtype_of, get  # noqa: E402
from gemmlab.problem import Gemm  # noqa: E402
from gemmlab.run.environment import Gauge  # noqa: E402
from gemmlab.run.fault import fault_of  # noqa: E402
from gemmlab.run.timing import quantile, repetitions  # noqa: E402
from gemmlab.run.worker import made  # noqa: E402

VENDOR = "gemmlab.run.backends.torch.vendor:matmul"
VENDOR_UNIT = 2.0**-23  # of one accumulation on tensor cores, which cut
CACHE_BYTES = 60 << 20  # of an H200
SAMPLE_S = 0.012
PAUSE_S = 0.02  # between samples: a burst, which the chip's power does not limit
ROUNDS, LEAST_ROUNDS = 11, 3
SLOW_S = 0.03  # of one multiplication: fewer rounds then
BROKEN = ("illegal", "misaligned", "launch_failure", "launch failure", "context_is_destroyed", "device-side")


class Ground(NamedTuple):
    """One multiplication with its operands, the vendor's program on them, and what float64 says, on the device."""

    problem: Gemm
    operands: Operands
    copies: int
    vendor: Any
    expected: Any
    sizes: Any


def ground_of(torch: Any, problem: Gemm) -> Ground:
    """Random operands, and the product of their values and of their absolute values in float64."""
    random = np.random.default_rng(problem.m)
    parts = {}
    for name in "ab":
        form = getattr(problem, f"{name}_format")
        parts[name] = stored(problem, name, form)
        matrix = parts[name].matrices[0]
        matrix[...] = random.standard_normal(matrix.shape, dtype=np.float32).astype(dtype_of(form))
    operands = Operands(**parts, c=stored(problem, "c", problem.c_format), d=poisoned(problem))
    copies = 3 * CACHE_BYTES // problem.compulsory_bytes + 1
    vendor = made(VENDOR, problem)
    vendor.place(operands, copies)
    a, b, _ = vendor.sets[0]
    a64, b64 = a.double(), b.double()
    return Ground(problem, operands, copies, vendor, a64 @ b64, a64.abs() @ b64.abs())


def judged(torch: Any, ground: Ground, result: Any, unit: float) -> dict[str, Any]:
    """How many elements of a result lie outside the bound that `check_bounds` has, and the largest error."""
    bound = bound_of(ground.problem, unit, "rne")
    width = {2: np.uint16, 4: np.uint32}[result.dtype.itemsize]
    flat = np.ascontiguousarray(result).view(width)
    if width is np.uint16:  # bfloat16 is the upper half of a float32
        got = torch.from_numpy((flat.astype(np.uint32) << 16).view(np.float32)).to(ground.expected.device).double()
    else:
        got = torch.from_numpy(flat.view(np.float32)).to(ground.expected.device).double()
    error = bound.product * ground.sizes + bound.floor
    if bound.output_spacings:
        form = get(ground.problem.d_format)
        exponent = torch.frexp(ground.expected.abs() + error).exponent - 1
        exponent = exponent.clamp(min=form.min_exponent) - form.mantissa_bits
        error = error + bound.output_spacings * torch.exp2(exponent.double())
    off = (got - ground.expected).abs()
    wrong = int((~(off <= error)).sum())
    largest = float((off / ground.sizes).nan_to_num(nan=float("inf")).max())
    return {"right": wrong == 0, "wrong_elements": wrong, "max_relative_error": largest, "bound": bound.relative}


def measured(torch: Any, ground: Ground, item: dict[str, Any]) -> dict[str, Any]:
    """Times of a rung and the vendor in turn, and the verdict on the last result."""
    started = time.perf_counter()
    program = made(item["source"], ground.problem)
    try:
        program.place(ground.operands, ground.copies)
        once = program.elapsed([0])
        ready_s = time.perf_counter() - started
        orders = [[i % ground.copies for i in range(count)] for count in counts(program, ground, once)]
        samples: tuple[list[float], list[float]] = ([], [])
        gauge = Gauge(0)
        programs = (program, ground.vendor)
        rounds = ROUNDS if once < SLOW_S else LEAST_ROUNDS
        for index in range(rounds):
            for kind in (0, 1):
                if index == rounds - 1:
                    programs[kind].poison()
                time.sleep(PAUSE_S)
                samples[kind].append(programs[kind].elapsed(orders[kind]) / len(orders[kind]))
                gauge.read()
        verdict = judged(torch, ground, program.result(0), item["unit_roundoff"])
        verdict["vendor_right"] = judged(torch, ground, ground.vendor.result(0), VENDOR_UNIT)["right"]
        return {**figures(samples), **verdict, "repetitions": [len(order) for order in orders], "rounds": rounds,
                "copies": ground.copies, "ready_s": ready_s,
                "environment": {**program.environment, **gauge.words()}}  # fmt: skip
    finally:
        if hasattr(program, "device"):
            program.device.release(program.held)


def counts(program: Any, ground: Ground, once: float) -> Iterator[int]:
    """Multiplications of a sample, of the rung and of the vendor."""
    for each, first in ((program, once), (ground.vendor, ground.vendor.elapsed([0]))):
        few = repetitions(first, SAMPLE_S / 4)
        again = each.elapsed([i % ground.copies for i in range(few)]) / few if few > 1 else first
        yield min(2000, repetitions(again, SAMPLE_S))


def figures(samples: tuple[list[float], list[float]]) -> dict[str, Any]:
    """Medians, quartiles, and the share of the vendor's throughput: the median of the rounds' own ratios."""
    found: dict[str, Any] = {}
    for prefix, times in zip(("", "vendor_"), samples, strict=True):
        for name, share in (("low_s", 0.25), ("time_s", 0.5), ("high_s", 0.75)):
            found[prefix + name] = quantile(times, share)
    ratios = [vendor / own for own, vendor in zip(*samples, strict=True)]
    found |= {"share": found["vendor_time_s"] / found["time_s"], "share_low": quantile(ratios, 0.25),
              "share_high": quantile(ratios, 0.75)}  # fmt: skip
    return found


def main() -> None:
    """Measure until the items or the time are at an end; leave at once where the device takes nothing more."""
    todo, log, deadline = json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2]), float(sys.argv[3])
    if not hasattr(np, "row_stack"):
        np.row_stack = np.vstack  # type: ignore[attr-defined]
    import torch

    grounds: dict[tuple[Any, ...], Ground] = {}
    with log.open("a", buffering=1) as out:
        for item in todo:
            if time.time() > deadline:
                return
            print(json.dumps({"begin": item["id"]}), file=out)
            row: dict[str, Any] = {"id": item["id"]}
            text = ""
            try:
                problem = Gemm(item["n"], item["n"], item["n"], item["format"], layout=item["layout"])
                key = (item["n"], item["format"], item["layout"])
                if key not in grounds:
                    grounds.clear()
                    grounds[key] = ground_of(torch, problem)
                row |= measured(torch, grounds[key], item)
            except Exception as error:
                row["fault"] = f"{fault_of(error).kind}: {fault_of(error).detail}"
                text = row["fault"].lower()
            print(json.dumps(row), file=out)
            if any(word in text for word in BROKEN):
                sys.exit(f"left behind {item['id']}: {text}")


if __name__ == "__main__":
    main()
