"""One multiplication by a plan of each sort, small and ragged, for `peak_sanitizer.py`.

    python benchmarks/peak_sanitizer_work.py [--names]

Operands are drawn and results checked on the CPU, so that the GPU runs our kernels and next to no other. Prints one
line of JSON; with `--names` it tells which kernels ran, and of which files.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable
from typing import Any, NamedTuple

from msgspec.structs import replace

from peak_row import lying

BOUNDS = {"float32": 3e-6, "float32 fast": 2e-3, "float16": 5e-4, "bfloat16": 4e-3, "float8_e4m3fn": 5e-3}


class Case(NamedTuple):
    """What is multiplied, and which of the plans for it."""

    name: str
    sides: tuple[int, int, int]
    form: str
    layout: str = "nt"
    wanted: Callable[[Any], bool] = lambda plan: True  #: the fastest of those for which it holds
    numbers: str = "normal"  #: or float32 that two float16 cannot say: far apart, infinite
    tuned: dict[str, Any] | None = None  #: sizes of the kernel's that tuning alone chooses


def planned(kind: str, **fields: Any) -> Callable[[Any], bool]:
    """Plans of a kernel by its class's name, with these fields, its own or the plan's; a function tells of a value."""

    def holds(plan: Any) -> bool:
        if type(plan.kernel).__name__ != kind:
            return False
        values = {name: getattr(plan.kernel, name, getattr(plan, name, None)) for name in fields}
        return all(of(values[name]) if callable(of) else values[name] == of for name, of in fields.items())

    return holds


def engine(**fields: Any) -> Callable[[Any], bool]:
    """Plans of the wgmma engine."""
    return planned("Engine", **fields)


def three(**fields: Any) -> Callable[[Any], bool]:
    """Plans of three tfloat32 products."""
    return planned("Tf32x3", **fields)


def several(count: int | None) -> bool:
    """Whether a size is there and above 1."""
    return bool(count and count > 1)


EVEN, SHORT, ODD, LONG = (200, 264, 328), (200, 272, 336), (199, 263, 327), (72, 88, 4104)
CASES = (
    Case("aligned, one warpgroup", EVEN, "bfloat16", wanted=engine(shares=1, swapped=False, consumers=1)),
    Case("aligned, two warpgroups", EVEN, "bfloat16", wanted=engine(shares=1, swapped=False, consumers=2)),
    Case("three warpgroups", EVEN, "bfloat16", wanted=engine(consumers=3)),
    Case("two instructions wide", (1400, 4200, 136), "bfloat16", wanted=engine(halves=2, swapped=False)),
    Case("two instructions wide, swapped", (4199, 1400, 136), "bfloat16", wanted=engine(halves=2, swapped=True)),
    Case("D from registers", EVEN, "bfloat16", wanted=engine(shares=1), tuned={"direct": True, "blocks": 1}),
    Case("two warpgroups apart", (1600, 1608, 200), "bfloat16", wanted=engine(shares=1, lag=bool)),
    Case("two programs fetch B together", (320, 264, 328), "bfloat16", wanted=engine(spread=several, shares=1)),
    Case("the same, unaligned D", (310, 263, 328), "bfloat16", wanted=engine(spread=several, shares=1)),
    Case("two programs on an SM", EVEN, "bfloat16", wanted=engine(resident=several)),
    Case("wide tiles, several blocks of D", (320, 512, 136), "bfloat16", wanted=engine(blocks=several)),
    Case("B along n", EVEN, "bfloat16", "nn", engine(shares=1)),
    Case("A along m", EVEN, "float16", "tn", engine(shares=1)),
    Case("both along k's other side", EVEN, "bfloat16", "tt", engine(shares=1)),
    Case("swapped", (24, 264, 328), "bfloat16", wanted=engine(shares=1, swapped=True)),
    Case("swapped, D off the road", (24, 263, 328), "bfloat16", wanted=engine(shares=1, swapped=True)),
    Case("D off the road", (200, 263, 328), "float16", wanted=engine(shares=1, swapped=False)),
    Case("unaligned, repacked", ODD, "bfloat16", wanted=engine(shares=1, repack_a=True)),
    Case("unaligned, along n", ODD, "bfloat16", "nn", engine(shares=1)),
    Case("base off by one", EVEN, "bfloat16", "nt+1/336", engine(shares=1)),
    Case("cluster over k", LONG, "bfloat16", wanted=engine(parts=several, groups=1)),
    Case("cluster over k, swapped", LONG, "bfloat16", wanted=engine(parts=several, groups=1, swapped=True)),
    Case("cluster over k, unaligned", (71, 87, 4103), "bfloat16", wanted=engine(parts=several, groups=1)),
    Case("clusters over k", LONG, "bfloat16", wanted=engine(groups=several, later=False)),
    Case("clusters over k, unaligned", (71, 87, 4103), "bfloat16", wanted=engine(groups=several, later=False)),
    Case("groups added later", LONG, "bfloat16", wanted=engine(later=True, spread=1, across=1)),
    Case("groups added later, B together", (200, 88, 4104), "bfloat16", wanted=engine(later=True, spread=2, across=1)),
    Case(
        "groups added later, both together", (250, 120, 4104), "bfloat16", wanted=engine(later=True, spread=2, across=2)
    ),
    Case("groups added later, held back", LONG, "bfloat16", wanted=engine(later=True), tuned={"hold": True}),
    Case(
        "groups added later, lean",
        (200, 88, 4104),
        "bfloat16",
        wanted=engine(later=True, consumers=2),
        tuned={"lean": True},
    ),
    Case("groups added later, unaligned", (71, 87, 4103), "bfloat16", wanted=engine(later=True)),
    Case("groups added later, swapped", (24, 264, 4104), "bfloat16", wanted=engine(later=True, swapped=True)),
    Case("float8 in two levels", SHORT, "float8_e4m3fn", wanted=engine(promote=bool)),
    Case("float8 fast", SHORT, "float8_e4m3fn fast", wanted=engine(promote=0)),
    Case("float8 unaligned", ODD, "float8_e4m3fn", wanted=engine()),
    Case("float8 over k", (72, 96, 4112), "float8_e4m3fn", wanted=engine(parts=several)),
    Case("float32 by pieces", EVEN, "float32", wanted=engine(pieces=2)),
    Case("float32 by pieces, along n", EVEN, "float32", "nn", engine(pieces=2)),
    Case("float32 by pieces, along m", ODD, "float32", "tn", engine(pieces=2)),
    Case("float32 by pieces, a long k", (70, 33, 9001), "float32", wanted=engine(pieces=2)),
    Case("float32 by pieces, row by row", ODD, "float32", wanted=engine(pieces=2, rows_store=True)),
    Case("float32 refused by pieces", (70, 33, 129), "float32", wanted=engine(pieces=2), numbers="far apart"),
    Case("tfloat32", EVEN, "float32 fast", wanted=engine(a_format="tfloat32")),
    Case("three tfloat32", EVEN, "float32", wanted=three(warpgroups=False, parts=1, groups=1)),
    Case("three tfloat32, by warpgroups", EVEN, "float32", wanted=three(warpgroups=True)),
    Case("three tfloat32, along n", ODD, "float32", "nn", three(warpgroups=False)),
    Case("three tfloat32, along n, by warpgroups", ODD, "float32", "nn", three(warpgroups=True)),
    Case("three tfloat32, along m", ODD, "float32", "tt", three(warpgroups=False)),
    Case("three tfloat32, swapped", (24, 264, 328), "float32", wanted=three(swapped=True)),
    Case("three tfloat32, cluster over k", (33, 40, 9001), "float32", wanted=three(parts=several, groups=1)),
    Case("three tfloat32, clusters over k", (33, 40, 9001), "float32", wanted=three(groups=several)),
    Case("three tfloat32, an infinity", (70, 33, 129), "float32", wanted=three(), numbers="infinite"),
    Case("one row, W along k", (1, 263, 1032), "bfloat16", wanted=planned("Vector")),
    Case("one row, W along k, unaligned", (1, 263, 1031), "bfloat16", "nt+1", planned("Vector")),
    Case("one row, W along n", (1, 264, 1032), "bfloat16", "nn", planned("Vector")),
    Case("one row, W along n, unaligned", (1, 263, 1031), "float16", "nn", planned("Vector")),
    Case("one row, float8", (1, 264, 2064), "float8_e4m3fn", wanted=planned("Vector")),
    Case("one row, float32", (1, 263, 1031), "float32", wanted=planned("Vector")),
    Case("four rows", (4, 264, 1032), "bfloat16", wanted=planned("Vector")),
    Case("one column", (264, 1, 1032), "bfloat16", wanted=planned("Vector")),
    Case("a batch", EVEN, "bfloat16", "3*nt", engine(shares=1, swapped=False)),
    Case("a batch, along n and m", EVEN, "bfloat16", "3*tn", engine(shares=1)),
    Case("a batch, unaligned", ODD, "bfloat16", "3*nt", engine(shares=1, swapped=False)),
    Case("a batch, swapped", (24, 263, 328), "bfloat16", "3*nt", engine(shares=1, swapped=True)),
    Case(
        "a batch, two programs fetch B together", (320, 264, 328), "bfloat16", "3*nt", engine(spread=several, shares=1)
    ),
    Case("a batch, programs on an SM", (72, 40, 200), "bfloat16", "70*nt", engine(resident=several)),
    Case("a batch, clusters over k", LONG, "bfloat16", "3*nt", engine(groups=several, later=False)),
    Case("a batch, groups added later", LONG, "bfloat16", "3*nt", engine(later=True)),
    Case("a batch of float8", SHORT, "float8_e4m3fn", "3*nt", engine()),
    Case("a batch, three tfloat32", ODD, "float32", "3*nn", three(shares=1)),
    Case("a batch, three tfloat32 over k", (33, 40, 2001), "float32", "3*nt", three(groups=several)),
)


def drawn(torch: Any, rows: int, columns: int, turned: bool, case: Case) -> Any:
    """An operand on the CPU, at the end of its memory."""
    told = lying(case.layout)
    tall, wide = (columns, rows) if turned else (rows, columns)
    step = told.ld or wide
    memory = torch.randn(told.past + (told.batch * tall - 1) * step + wide)
    if case.numbers == "far apart":
        memory[::7] *= 1e-12
        memory[-1] = 1e12
    if case.numbers == "infinite":
        memory[-1] = math.inf
    memory = memory.to(getattr(torch, case.form.partition(" ")[0])).cuda()
    stored = memory.as_strided((told.batch, tall, wide), (tall * step, step, 1), told.past)
    stored = stored if told.batch > 1 else stored[0]
    return stored.mT if turned else stored


def worked(torch: Any, case: Case) -> dict[str, Any]:
    """One case: which plan, and whether its result is right."""
    from gemmlab.peak.asking import asked, request_of
    from gemmlab.peak.choosing import plans
    from gemmlab.peak.ready import ready

    m, n, k = case.sides
    told = lying(case.layout)
    form, _, accuracy = case.form.partition(" ")
    a, b = drawn(torch, m, k, told.a_turned, case), drawn(torch, k, n, told.b_turned, case)
    shape = (told.batch, m, n) if told.batch > 1 else (m, n)
    d = torch.full(shape, math.nan, dtype=torch.bfloat16 if form.startswith("float8") else a.dtype).cuda()
    left, right, _, _ = asked(torch, a, b, d)
    request = request_of(torch, left, right, d, accuracy or "vendor", False)
    found = sorted(filter(case.wanted, plans(request)), key=lambda plan: plan.predicted_s)
    about = {"case": case.name, "m": m, "n": n, "k": k, "format": case.form, "layout": case.layout}
    if not found:
        return about | {"plan": None, "right": False}  # a sort that nobody plans any more is shown by nothing
    plan = replace(found[0], kernel=replace(found[0].kernel, **case.tuned or {}))
    made = ready(torch, left, right, d, plan)
    made.launch(torch.cuda.current_stream().cuda_stream)
    torch.cuda.synchronize()
    exact, result = a.cpu().double() @ b.cpu().double(), d.cpu().double()
    fine = exact.isfinite()
    error = float((result - exact)[fine].norm() / exact[fine].norm())
    right = bool((result.isfinite() == fine).all()) and error <= BOUNDS.get(case.form, BOUNDS[form])
    shown = {name: getattr(plan.kernel, name) for name in plan.kernel.__struct_fields__}
    return about | {"plan": type(plan.kernel).__name__, "kernel": shown, "error": error, "right": right}


def all_files() -> list[str]:
    """Every file of kernels."""
    from gemmlab.peak.engine import FOLDER

    return sorted(path.name for path in FOLDER.glob("*.cu"))


def watch_compiler(files: set[str]) -> None:
    """Note of which files the texts are that are compiled: they end with them."""
    from gemmlab.kernels import nvrtc
    from gemmlab.peak.engine import FOLDER

    compiled = nvrtc.compiled
    texts = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.cu")}

    def noting(text: str, *more: Any, **named: Any) -> Any:
        files.update(name for name, whole in texts.items() if text.endswith(whole))
        return compiled(text, *more, **named)

    nvrtc.compiled = noting


def tried(torch: Any, case: Case) -> dict[str, Any]:
    """A case, or why it failed."""
    try:
        return worked(torch, case)
    except Exception as error:
        return {"case": case.name, "right": False, "fault": f"{type(error).__name__}: {error}"[:300]}


def named(torch: Any, work: Callable[[], Any]) -> tuple[Any, list[str]]:
    """What some work gives, and the kernels that ran on the GPU meanwhile, by the profiler."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as found:
        result = work()
        torch.cuda.synchronize()
    events = found.events() or ()
    ours = {each.name for each in events if "CUDA" in str(each.device_type) and "::" not in each.name}
    return result, sorted(name for name in ours if not name.startswith("Mem"))


def main() -> None:
    """Work through the cases and tell."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--names", action="store_true")
    options = parser.parse_args()
    import torch

    torch.manual_seed(0)
    files: set[str] = set()
    watch_compiler(files)

    def work() -> list[dict[str, Any]]:
        return [tried(torch, case) for case in CASES]

    cases, kernels = named(torch, work) if options.names else (work(), [])
    told = {"cases": cases, "files": sorted(files), "all_files": all_files(), "kernels": kernels}
    print(json.dumps(told | {"chip": torch.cuda.get_device_properties(0).name}))


if __name__ == "__main__":
    main()
