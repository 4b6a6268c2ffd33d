"""How far `gemmlab.matmul` is from float64, path by path, beside torch: by norm and element by element.

    python benchmarks/peak_accuracy.py [--out benchmarks/results/peak_accuracy.json]

Every format by every accuracy, numbers of four kinds, four shapes; rows spread over D are compared. The error of an
element is told beside |A||B|, what its products are together without their signs. float32 is held to a bar: no
further off than torch's float32, by norm and by element, whatever the numbers are.
"""

from __future__ import annotations

import argparse
import datetime
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from peak_ahead import compiled_ahead
from peak_files import kept
from peak_row import Row

RESULT = Path(__file__).parent / "results" / "peak_accuracy.json"
ACCURACIES = ("vendor", "best", "fast")
SHAPES = {
    "4096": (4096, 4096, 4096),
    "1024": (1024, 1024, 1024),
    "ragged": (1000, 1001, 1003),
    "huge k": (256, 256, 65536),
    "one row": (1, 4096, 4096),
}
HELD = ("4096", "1024", "ragged")  # shapes that the bar is of: both sides 1000 or more
WIDE, NARROW = ("normal", "uniform", "lognormal(3)", "lognormal(6)"), ("normal", "uniform")
#: of the operands and of the result, and kinds of numbers that the first can hold; a result in float32 shows the sums
#: themselves, which rounding to 16 bits hides
FORMATS = {
    ("float32", "float32"): WIDE,
    ("bfloat16", "bfloat16"): WIDE,
    ("bfloat16", "float32"): WIDE,
    ("float16", "float16"): NARROW,
    ("float16", "float32"): NARROW,
    ("float8_e4m3fn", "bfloat16"): NARROW,
    ("float8_e4m3fn", "float32"): NARROW,
}
ALLOWED = 1.0  # an error over torch's float32
EIGHT_SIDES = (
    16  # of which torch's float8 takes multiples alone; beside others its float32 tells that ours is no nonsense
)
NONSENSE = 0.1
FLOOR = 6e-8  # half a digit of float32: nothing is nearer than rounding


def numbers(torch: Any, kind: str) -> Callable[[int], Any]:
    """What draws random numbers of a kind, in float32; lognormal(s) is e to the power of s times a normal one."""
    if kind.startswith("lognormal"):
        return lambda count: torch.exp(float(kind[10:-1]) * torch.randn(count, device="cuda"))
    return lambda count: (torch.rand if kind == "uniform" else torch.randn)(count, device="cuda")


#: paths of kernels other than the wgmma engine, by their classes' names
PATHS = {"Vector": "a vector by threads", "Tf32x3": "three tfloat32 products"}


def path_of(plan: Any) -> str:
    """Which way a plan goes, in words."""
    kernel = plan.kernel
    name = type(kernel).__name__
    if name != "Engine":
        return PATHS.get(name, name.lower())
    words = [f"wgmma {kernel.a_format}"]
    if kernel.pieces > 1:
        words.append(f"{kernel.pieces} pieces")
    if kernel.promote:
        words.append(f"promoted every {kernel.promote * kernel.tile_k} of k")
    if kernel.shares > 1:
        words.append("k shared")
    return ", ".join(words)


def told(torch: Any, shape: str, form: str, out: str, kind: str, accuracy: str) -> dict[str, Any]:
    """One row of the results: ours in a mode, torch's beside it in the mode that is like it."""
    m, n, k = SHAPES[shape]
    row = Row(torch, m, n, k, f"{form} {accuracy}", out=out, numbers=numbers(torch, kind), sets=1)
    refused = row.eight and bool(n % EIGHT_SIDES or k % EIGHT_SIDES)
    if refused:
        row.contenders["torch"] = lambda a, b, d: d.copy_(a.float() @ b.float())
    plan = row.plan()
    row.poison()
    for name in row.contenders:
        row.calls(name)[0]()
    torch.cuda.synchronize()
    errors, right = row.errors()
    ours, torchs = errors["ours"], None if refused else errors["torch"]
    found = {
        "shape": shape, "m": m, "n": n, "k": k, "format": form, "result": out, "numbers": kind, "accuracy": accuracy,
        "path": path_of(plan), "norm": ours.norm, "component": ours.component, "torch_norm": torchs and torchs.norm,
        "torch_component": torchs and torchs.component, "right": right or (refused and ours.norm < NONSENSE),
    }  # fmt: skip
    if torchs and form == "float32" and accuracy != "fast":
        near = (ours.norm, torchs.norm), (ours.component, torchs.component)
        found["holds"] = all(error <= max(ALLOWED * other, FLOOR) for error, other in near)
    return found


def rows(torch: Any, tell: Callable[..., dict[str, Any]] = told) -> Iterator[dict[str, Any]]:
    """Every format, shape, kind of numbers and accuracy; what fails says why."""
    for (form, out), kinds in FORMATS.items():
        for shape in SHAPES:
            for kind in kinds:
                for accuracy in ACCURACIES:
                    try:
                        yield tell(torch, shape, form, out, kind, accuracy)
                    except Exception as error:
                        yield {
                            "shape": shape, "format": form, "result": out, "numbers": kind, "accuracy": accuracy,
                            "fault": f"{type(error).__name__}: {error}"[:300],
                        }  # fmt: skip


def line(row: dict[str, Any]) -> str:
    """A row as one reads it while it runs."""
    if "fault" in row:
        return row["fault"]
    words = [f"{row['norm']:.2e} {row['component']:.1e}", "torch refuses", row["path"]]
    if row["torch_norm"] is not None:
        words[1] = f"torch {row['torch_norm']:.2e} {row['torch_component']:.1e}"
    words += ["WRONG"] * (not row["right"]) + ["ABOVE TORCH"] * (not row.get("holds", True))
    return ", ".join(words)


def main() -> int:
    """Compare all, print what is worth a look and write everything; 1 where a row has a fault or a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=RESULT)
    options = parser.parse_args()
    import torch

    sorts = [(form, out, accuracy) for form, out in FORMATS for accuracy in ACCURACIES]
    compiled_ahead(
        torch,
        (
            {"m": m, "n": n, "k": k, "form": f"{form} {accuracy}", "out": out}
            for form, out, accuracy in sorts
            for m, n, k in SHAPES.values()
        ),
    )
    found = []
    for row in rows(torch):
        found.append(row)
        print(row["format"], row["result"], row["shape"], row["numbers"], row["accuracy"], line(row), flush=True)
    held = [row for row in found if "holds" in row and row["shape"] in HELD]
    content = {
        "what": "measured: errors of D against float64, of rows spread over it; component beside |A||B|",
        "date": datetime.date.today().isoformat(),
        "chip": torch.cuda.get_device_properties(0).name,
        "versions": {"torch": torch.__version__, "cuda": torch.version.cuda},
        "bar": "float32, vendor and best, both sides 1000 or more: no error above torch's float32",
        "holds": bool(held) and all(row["holds"] for row in held),
        "rows": found,
    }
    kept(options.out, content)
    print(json.dumps({"held": sum(row["holds"] for row in held), "of": len(held), "holds": content["holds"]}))
    return int(not content["holds"] or any("fault" in row for row in found))


if __name__ == "__main__":
    raise SystemExit(main())
