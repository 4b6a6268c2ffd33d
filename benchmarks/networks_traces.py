"""Small real traces of PyTorch's profiler on the GPU at hand, for the tests of who reads them.

    python benchmarks/networks_traces.py --out tests/workload/data [--only NAME]

Needs an NVIDIA GPU and torch. Each trace is of very small models, so that it stays below 150 kB; paths of this machine
are cut out of it. TRACES says what each has in it.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn
from torch.profiler import ProfilerActivity, profile, record_function, schedule

ROOT = Path(__file__).resolve().parents[1]
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


class Block(nn.Module):
    """A decoder's block with torch's attention."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm, self.after = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, s, width = x.shape
        q, k, v = (each.view(b, s, self.heads, -1).transpose(1, 2) for each in self.qkv(self.norm(x)).chunk(3, -1))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, s, width)
        x = x + self.out(mixed)
        return x + self.down(F.gelu(self.up(self.after(x))))


class Decoder(nn.Module):
    """Embedding, blocks, and an output layer that shares the embedding's weight: an odd vocabulary."""

    def __init__(self, vocabulary: int = 1001, width: int = 256, blocks: int = 1) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.blocks = nn.ModuleList(Block(width, 4) for _ in range(blocks))
        self.output = nn.Linear(width, vocabulary, bias=False)
        self.output.weight = self.embedding.weight

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.embedding(ids)
        for block in self.blocks:
            x = block(x)
        return self.output(x)


class Pictures(nn.Module):
    """Convolutions of several kinds, and a classifier."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 32, 7, 2, 3, bias=False)
        self.norm = nn.BatchNorm2d(32)
        self.grouped = nn.Conv2d(32, 32, 3, 1, 1, groups=4)
        self.wide = nn.Conv2d(32, 48, 3, 2, 1, dilation=1)
        self.classes = nn.Linear(48, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.relu(self.norm(self.stem(x)))
        return self.classes(F.relu(self.wide(self.grouped(x))).mean((2, 3)))


class Steps:
    """A training step of a model, once warmed up."""

    def __init__(self, model: nn.Module, inputs: torch.Tensor, targets: torch.Tensor, autocast: bool) -> None:
        self.model, self.inputs, self.targets, self.autocast = model, inputs, targets, autocast
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

    def __call__(self) -> None:
        self.optimizer.zero_grad()
        with torch.autocast(DEVICE, torch.bfloat16, enabled=self.autocast):
            logits = self.model(self.inputs)
        F.cross_entropy(logits.flatten(0, -2).float(), self.targets.flatten()).backward()
        self.optimizer.step()


def decoder(compiled: bool = False) -> Steps:
    ids = torch.randint(0, 1001, (4, 128), device=DEVICE)
    model: Any = Decoder().to(DEVICE)
    return Steps(torch.compile(model) if compiled else model, ids, ids, True)


def pictures(last: bool = False) -> Steps:
    images = torch.randn(8, 3, 64, 64, device=DEVICE)
    order = torch.channels_last if last else torch.contiguous_format
    model = Pictures().to(DEVICE).to(memory_format=order)
    return Steps(model, images.to(memory_format=order), torch.randint(0, 10, (8,), device=DEVICE), last)


def replayed() -> Callable[[], None]:
    """A step of a small perceptron, captured as a CUDA graph and replayed."""
    model = nn.Sequential(nn.Linear(256, 1024), nn.ReLU(), nn.Linear(1024, 250)).to(DEVICE)
    x, target = torch.randn(512, 256, device=DEVICE), torch.randn(512, 250, device=DEVICE)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def step() -> None:
        optimizer.zero_grad(set_to_none=False)
        F.mse_loss(model(x), target).backward()
        optimizer.step()

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def products() -> Callable[[], None]:
    """Each operator that multiplies, once, in a range of its own name."""

    def r(*shape: int, kind: torch.dtype = torch.bfloat16) -> torch.Tensor:
        return torch.randn(*shape, device=DEVICE, dtype=kind)

    single = torch.float32
    x, w, b = r(96, 64), r(80, 64), r(80)
    p, q = r(4, 32, 64), r(4, 64, 48)
    one = torch.tensor(1.0, device=DEVICE)
    x8, w8 = (r(*shape).to(torch.float8_e4m3fn) for shape in ((128, 64), (80, 64)))
    i8, j8 = (torch.randint(-8, 8, shape, device=DEVICE, dtype=torch.int8) for shape in ((32, 64), (64, 48)))
    ends = torch.tensor([16, 48, 96], device=DEVICE, dtype=torch.int32)
    q4, k4, v4 = (r(2, 4, 64, 32) for _ in range(3))
    mask = torch.zeros(2, 1, 64, 64, device=DEVICE, dtype=torch.bfloat16)
    lstm = nn.LSTM(32, 48, batch_first=True).to(DEVICE)
    heads = nn.MultiheadAttention(64, 4, batch_first=True).to(DEVICE).eval()
    bilinear = nn.Bilinear(16, 24, 12).to(DEVICE)
    calls: dict[str, Callable[[], Any]] = {
        "mm": lambda: x @ w.t(),
        "mm of a view with odd strides": lambda: r(96, 65)[:, 1:] @ w.t(),
        "addmm": lambda: torch.addmm(b, x, w.t(), beta=0.5, alpha=2.0),
        "linear": lambda: F.linear(x, w, b),
        "linear of three axes": lambda: F.linear(x.view(4, 24, 64), w, b),
        "linear of a transposed input": lambda: F.linear(r(64, 96).t(), w),
        "bmm": lambda: torch.bmm(p, q),
        "bmm transposed": lambda: torch.bmm(p, q.transpose(1, 2).contiguous().transpose(1, 2)),
        "baddbmm": lambda: torch.baddbmm(r(4, 32, 48), p, q),
        "matmul of a batch and a matrix": lambda: torch.matmul(p, w.t()),
        "matmul broadcast": lambda: torch.matmul(r(3, 1, 32, 64), r(1, 4, 64, 16)),
        "matmul of a vector": lambda: x @ r(64),
        "dot": lambda: r(64) @ r(64),
        "einsum": lambda: torch.einsum("bik,bkj,jl->bil", p, q, r(48, 24)),
        "einsum of heads": lambda: torch.einsum("bqhd,bkhd->bhqk", r(2, 32, 4, 16), r(2, 48, 4, 16)),
        "float32 mm": lambda: r(64, 64, kind=single) @ r(64, 64, kind=single),
        "scaled_mm": lambda: torch._scaled_mm(x8, w8.t(), one, one, out_dtype=torch.bfloat16),
        "int_mm": lambda: torch._int_mm(i8, j8),
        "grouped_mm": lambda: torch._grouped_mm(r(96, 64), r(3, 64, 80), offs=ends),
        "flash attention": lambda: F.scaled_dot_product_attention(q4, k4, v4, is_causal=True),
        "attention with a mask": lambda: F.scaled_dot_product_attention(q4, k4, v4, attn_mask=mask),
        "float32 attention": lambda: F.scaled_dot_product_attention(q4.float(), k4.float(), v4.float()),
        "grouped-query attention": lambda: F.scaled_dot_product_attention(q4, k4[:, :2], v4[:, :2], enable_gqa=True),
        "attention of another value width": lambda: F.scaled_dot_product_attention(q4, k4, r(2, 4, 64, 16)),
        "conv1d": lambda: F.conv1d(r(2, 16, 50), r(32, 16, 5), padding=2),
        "conv2d": lambda: F.conv2d(r(2, 16, 20, 22), r(32, 16, 3, 3), r(32), stride=2, padding=1),
        "conv2d channels-last": lambda: F.conv2d(
            *(each.to(memory_format=torch.channels_last) for each in (r(2, 16, 20, 22), r(32, 16, 3, 3)))),
        "conv2d depthwise": lambda: F.conv2d(r(2, 16, 20, 22), r(16, 1, 3, 3), groups=16),
        "conv3d": lambda: F.conv3d(r(1, 8, 6, 10, 10), r(16, 8, 3, 3, 3)),
        "conv_transpose2d": lambda: F.conv_transpose2d(r(2, 16, 10, 10), r(16, 24, 3, 3), stride=2),
        "lstm": lambda: lstm(r(4, 6, 32, kind=single)),
        "multihead attention": lambda: heads(*[r(2, 24, 64, kind=single)] * 3),
        "bilinear": lambda: bilinear(r(8, 16, kind=single), r(8, 24, kind=single)),
        "cdist": lambda: torch.cdist(r(64, 40, kind=single), r(72, 40, kind=single)),
        "outer": lambda: torch.outer(r(64), r(48)),
        "addmv": lambda: torch.addmv(r(96), x, r(64)),
        "chain": lambda: torch.linalg.multi_dot([r(32, 64), r(64, 16), r(16, 48)]),
    }  # fmt: skip

    def step() -> None:
        for name, call in calls.items():
            with record_function(f"product: {name}"), torch.no_grad():
                try:
                    call()
                except Exception as error:
                    print(f"  {name}: {type(error).__name__}: {error}"[:200], flush=True)

    return step


#: what is traced, with which options of the profiler, and how many steps
TRACES: dict[str, tuple[Callable[[], Callable[[], Any]], dict[str, Any], int]] = {
    "decoder": (decoder, {"record_shapes": True}, 2),
    "decoder_no_shapes": (decoder, {}, 1),
    "decoder_stack": (decoder, {"record_shapes": True, "with_stack": True}, 1),
    "pictures": (pictures, {"record_shapes": True, "with_stack": True, "with_modules": True}, 1),
    "pictures_last": (lambda: pictures(last=True), {"record_shapes": True}, 1),
    "graph": (replayed, {"record_shapes": True}, 2),
    "products": (products, {"record_shapes": True}, 1),
    "decoder_compiled": (lambda: decoder(compiled=True), {"record_shapes": True, "with_stack": False}, 2),
}


def traced(make: Callable[[], Callable[[], Any]], options: dict[str, Any], steps: int) -> dict[str, Any]:
    """The trace of some steps after three that it leaves out."""
    step = make()
    for _ in range(3):
        step()
    if DEVICE == "cuda":
        torch.cuda.synchronize()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        kinds = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if DEVICE == "cuda" else [])]
        plan = schedule(wait=0, warmup=1, active=steps)
        with profile(activities=kinds, schedule=plan, on_trace_ready=lambda prof: prof.export_chrome_trace(str(path)),
                     **options) as prof:  # fmt: skip
            for _ in range(steps + 1):
                step()
                if DEVICE == "cuda":
                    torch.cuda.synchronize()
                prof.step()
        found: dict[str, Any] = json.loads(path.read_text())
    return found


def cleaned(trace: dict[str, Any]) -> bytes:
    """The trace without this machine's folders, as gzip."""
    for key in ("traceName", "host_name", "trace_id"):
        trace.pop(key, None)
    text = json.dumps(trace, separators=(",", ":"))
    for folder in sorted({str(ROOT), sys.prefix, sys.base_prefix, str(Path.cwd())}, key=len, reverse=True):
        if len(folder) > 1:
            text = text.replace(folder + "/", "")
    text = re.sub(re.escape(tempfile.gettempdir()) + r"/[\w.]*(torchinductor\w*|tmp\w*)/", "", text)
    return gzip.compress(text.encode(), 9, mtime=0)


def main() -> None:
    """Write every trace."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, default=Path("tests/workload/data"))
    parser.add_argument("--only", default="", help="traces whose name has this")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for name, (make, how, steps) in TRACES.items():
        if options.only not in name:
            continue
        try:
            trace = traced(make, how, steps)
            packed = cleaned(trace)
            (options.out / f"h200_{name}.json.gz").write_bytes(packed)
            print(f"h200_{name}: {len(trace['traceEvents'])} events, {len(packed):,} bytes", flush=True)
        except Exception:
            print(f"h200_{name}: {traceback.format_exc(limit=-2)}", flush=True)


if __name__ == "__main__":
    main()
