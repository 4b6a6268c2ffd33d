"""Where the time inside one launch of the wgmma engine goes: a thread of each program reads its SM's clock on the way.

    python benchmarks/peak_inside.py --out benchmarks/results/peak_inside.json

For some rows of `peak_groups.py` the engine that is planned is compiled with stamps in its text, launched back to back
in a graph over rotating operands as it is timed elsewhere, and read out after the last launch: cycles between the
stamps, median and most over the programs. Stamps cost little, a store each; the time of the stamped launch stands
beside. This is evidence for what limits a row, not a measurement of it.
"""

from __future__ import annotations

import argparse
import ctypes
import datetime
import itertools
import json
import statistics
from pathlib import Path
from typing import Any
from unittest.mock import patch

from gemmlab.kernels.nvrtc import compiled
from gemmlab.peak import multiply
from gemmlab.peak.driver import Kernel, checked, library
from gemmlab.peak.engine import Engine
from gemmlab.peak.ready import ready
from peak_row import Row
from peak_timing import captured, seconds_of

RESULT = Path(__file__).parent / "results" / "peak_inside.json"
ROWS = (
    (256, 256, 65536, "bfloat16", "nt"),
    (512, 512, 16384, "bfloat16", "nt"),
    (128, 128, 65536, "bfloat16", "nt"),
    (8, 8192, 8192, "bfloat16", "nt"),
    (64, 2112, 7168, "bfloat16", "nt"),
    (1536, 1536, 1536, "bfloat16", "nt"),
    (4096, 576, 7168, "bfloat16", "nt"),
    (4096, 4096, 4096, "bfloat16", "nt"),
    (4096, 50257, 768, "float32", "nt"),
    (4096, 4096, 4096, "float8_e4m3fn", "nt"),
)
PLACES = 16  # of a program
MOST_PROGRAMS = 4096

#: name of a stamp and the text that it stands before; a launch has those whose text is there
STAMPS = (
    ("started", "  if (thread == 0) {\n    for (int stage = 0"),
    ("allowed", "  int stage = 0;\n  u32 parity = 0;\n"),
    ("first data", "        const u32 a = ring + stage * STAGE_BYTES"),
    ("multiplied", "#if LATER\n      float4* to = left_sums("),
    ("rings free", "      send_shares(total, ring"),
    ("shares sent", "      if (PARTS > 1) cluster_barrier();\n      else warpgroup_barrier(group);"),
    ("shares there", "      // four neighbours at a time\n"),
    ("cluster added", "      __threadfence();\n      consumers_barrier();"),
    ("counted", "      if (before == GROUPS - 1) {"),
    ("stored", "    if (OUT == 0) put_read<0>();"),
)
HEAD = """
__device__ long long stamps[{size}];
#define STAMP(at) if (threadIdx.x == 128) stamps[blockIdx.x * {places} + at] = clock64();
"""


def stamped(text: str) -> str:
    """The kernel's text with its stamps; the first data's is made at the first step of a program's last tile."""
    head = HEAD.format(size=MOST_PROGRAMS * PLACES, places=PLACES)
    text = text.replace('extern "C" __global__', head + 'extern "C" __global__', 1)
    for at, (name, before) in enumerate(STAMPS):
        if before not in text:
            raise ValueError(f"no place for {name!r}")
        stamp = f"if (step == begin) {{ STAMP({at}) }}" if name == "first data" else f"STAMP({at})"
        text = text.replace(before, f"      {stamp}\n{before}", 1)
    return text


def passed(engine: Engine) -> list[int]:
    """Which stamps a program of that engine comes by."""
    at_once = engine.shares > 1 and not engine.later
    shared = {"rings free", "shares sent", "shares there"} if at_once else set()
    shared |= {"cluster added", "counted"} if at_once and engine.groups > 1 else set()
    always = {"started", "allowed", "first data", "multiplied", "stored"}
    return [at for at, (name, _) in enumerate(STAMPS) if name in always | shared]


def read(kernel: Kernel, programs: int) -> list[list[int]]:
    """The stamps of each program."""
    address, size = ctypes.c_uint64(), ctypes.c_size_t()
    api = library()
    checked(api.cuModuleGetGlobal_v2(ctypes.byref(address), ctypes.byref(size), kernel.module, b"stamps"))
    values = (ctypes.c_longlong * (MOST_PROGRAMS * PLACES))()
    checked(api.cuMemcpyDtoH_v2(values, address, size))
    return [list(values[PLACES * at : PLACES * (at + 1)]) for at in range(programs)]


def told(torch: Any, given: tuple) -> dict[str, Any]:
    """Cycles between the stamps of one row's launch."""
    row = Row(torch, *given)
    engine = row.plan().kernel
    head = dict(zip(("m", "n", "k", "format", "layout"), given, strict=True))
    if not isinstance(engine, Engine):
        return head | {"kernel": type(engine).__name__}
    text, headers = engine.text()
    kernel = Kernel(compiled(stamped(text), headers=headers).code, "gemm", engine.shared_bytes)
    with patch.object(multiply, "engine_kernel", lambda *_: kernel):
        made = [ready(torch, *of, d, row.plan()) for of, d in zip(row.operands, row.results["ours"], strict=True)]
    calls = [lambda each=each: each.launch(torch.cuda.current_stream().cuda_stream) for each in made]
    replay = captured(torch, calls)
    seconds = seconds_of(torch, replay.graph.replay) / replay.count
    order = passed(engine)
    sms = torch.cuda.get_device_properties(0).multi_processor_count
    by_program = read(kernel, engine.programs(*row.sides[:2], sms, row.lying.batch))
    between = {}
    for first, second in itertools.pairwise(order):
        cycles = [of[second] - of[first] for of in by_program]
        between[f"{STAMPS[first][0]} to {STAMPS[second][0]}"] = [statistics.median(cycles), max(cycles)]
    fields = {name: getattr(engine, name) for name in engine.__struct_fields__}
    return head | {"seconds": seconds, "programs": len(by_program), "cycles_median_most": between, "kernel": fields}


def main() -> None:
    """Print a row at a time and write them all."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=RESULT)
    options = parser.parse_args()
    import torch

    torch.zeros(1, device="cuda")  # a context, for modules that are loaded before the first product
    rows = []
    for given in ROWS:
        rows.append(told(torch, given))
        print(json.dumps(rows[-1]), flush=True)
        torch.cuda.empty_cache()
    about = {
        "what": "measured: cycles of an SM's clock between stamps in one launch, median and most over its programs",
        "date": datetime.date.today().isoformat(),
        "chip": torch.cuda.get_device_properties(0).name,
        "versions": {"torch": torch.__version__, "cuda": torch.version.cuda},
    }
    options.out.write_text(json.dumps(about | {"rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
