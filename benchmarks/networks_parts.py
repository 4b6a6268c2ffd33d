"""Times of what a network's step is made of, each kernel by itself on the GPU at hand: what predictions are fitted to.

    python benchmarks/networks_parts.py --out benchmarks/results/networks_parts.json [--seconds 60]

Needs an NVIDIA GPU and torch. Multiplications as Linear makes them (forward, dgrad, wgrad), attention, convolutions
in both memory formats, and what is no multiplication beside its bytes (inputs read and outputs written once). A time
is the median over repetitions of the kernels' durations as CUPTI tells them, all kernels of one call together; an empty
kernel stands between calls, by which they are told apart. Operands are random; Linear's rotate past three times the L2.
"""

from __future__ import annotations

import argparse
import datetime
import json
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch.autograd import DeviceType
from torch.profiler import ProfilerActivity, profile

REPETITIONS = 7
ROTATED_BYTES = 180_000_000  # three times the L2 of an H200
MOST_COPIES = 4
MARK = "spin_kernel"
FORMATS = {"bfloat16": torch.bfloat16, "tfloat32": torch.float32, "float32": torch.float32, "float16": torch.float16}

#: tokens, in features, out features: BERT-large, GPT-2 with and without its odd vocabulary, a Llama block, small ones
LINEARS = (
    (4096, 1024, 1024), (4096, 1024, 4096), (4096, 4096, 1024), (4096, 1024, 30522), (4096, 1024, 30528),
    (8192, 768, 2304), (8192, 768, 768), (8192, 768, 3072), (8192, 3072, 768), (8192, 768, 50257), (8192, 768, 50304),
    (8192, 2048, 2048), (8192, 2048, 512), (8192, 2048, 5461), (8192, 5461, 2048), (8192, 2048, 5504),
    (8192, 5504, 2048), (8192, 4096, 14336), (1021, 1024, 2731), (1024, 1024, 2736), (1021, 2731, 1024),
    (2048, 512, 2048), (512, 1024, 1000),
)  # fmt: skip
#: batch, heads, queries and keys, head size, causal
ATTENTIONS = (
    (8, 16, 512, 64, False), (8, 12, 1024, 64, True), (8, 12, 1024, 64, False), (2, 16, 2048, 64, True),
    (4, 16, 2048, 128, True), (4, 16, 2048, 128, False), (1, 32, 8192, 128, True), (32, 12, 128, 64, False),
    (2, 32, 4096, 64, True), (16, 12, 512, 64, False),
)  # fmt: skip
#: the same with a dropout of 0.1 between softmax and values
DROPPED = (
    (32, 16, 512, 64, False), (16, 12, 1024, 64, True), (8, 12, 1024, 64, False), (4, 16, 2048, 128, True),
    (4, 16, 2048, 128, False), (2, 16, 4096, 64, True),
)  # fmt: skip
DROPOUT = 0.1
#: resnet-50's convolutions at 224 x 224: in and out channels, window, stride, input side, groups
CONVOLUTIONS = (
    (3, 64, 7, 2, 224, 1), (64, 64, 1, 1, 56, 1), (64, 64, 3, 1, 56, 1), (64, 256, 1, 1, 56, 1), (256, 64, 1, 1, 56, 1),
    (256, 128, 1, 1, 56, 1), (128, 128, 3, 2, 56, 1), (128, 512, 1, 1, 28, 1), (256, 512, 1, 2, 56, 1),
    (512, 128, 1, 1, 28, 1), (128, 128, 3, 1, 28, 1), (512, 256, 1, 1, 28, 1), (256, 256, 3, 2, 28, 1),
    (256, 1024, 1, 1, 14, 1), (512, 1024, 1, 2, 28, 1), (1024, 256, 1, 1, 14, 1), (256, 256, 3, 1, 14, 1),
    (1024, 512, 1, 1, 14, 1), (512, 512, 3, 2, 14, 1), (512, 2048, 1, 1, 7, 1), (1024, 2048, 1, 2, 14, 1),
    (2048, 512, 1, 1, 7, 1), (512, 512, 3, 1, 7, 1), (128, 128, 3, 1, 28, 32), (96, 96, 3, 1, 56, 96),
)  # fmt: skip
IMAGES = 64

Calls = list[Callable[[], Any]]  # the same work on different operands


def copies_of(bytes_: int) -> int:
    """Sets of operands to rotate through."""
    return max(1, min(MOST_COPIES, -(-ROTATED_BYTES // max(bytes_, 1))))


def randn(*shape: int, format_: str = "bfloat16") -> torch.Tensor:
    return torch.randn(*shape, device="cuda", dtype=FORMATS[format_])


def tensors(value: Any) -> Iterator[torch.Tensor]:
    """The tensors of an argument or a result, lists and tuples opened."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from tensors(each)


def bytes_of(*values: Any) -> int:
    return sum(each.numel() * each.element_size() for value in values for each in tensors(value))


def linears() -> Iterator[tuple[dict[str, Any], Callable[[], Calls]]]:
    """Linear's three multiplications, with the layouts that autograd gives them."""
    for m, k, n in LINEARS:
        for form in ("bfloat16", "tfloat32", "float32"):
            if form == "float32" and m * n * k > 2.2e11:
                continue
            for what in ("forward", "forward without bias", "dgrad", "wgrad"):
                if what == "forward without bias" and form != "bfloat16":
                    continue
                told = {"kind": "linear", "what": what, "tokens": m, "in": k, "out": n, "format": form,
                        "flop": 2 * m * n * k}  # fmt: skip

                def made(m: int = m, k: int = k, n: int = n, form: str = form, what: str = what) -> Calls:
                    size = (m * k + k * n + m * n) * (2 if form == "bfloat16" else 4)
                    found: Calls = []
                    for _ in range(copies_of(size)):
                        x, w, b, dy = (randn(*shape, format_=form) for shape in ((m, k), (n, k), (n,), (m, n)))
                        if what == "forward":
                            found.append(lambda x=x, w=w, b=b: F.linear(x, w, b))
                        elif what == "forward without bias":
                            found.append(lambda x=x, w=w: F.linear(x, w))
                        elif what == "dgrad":
                            found.append(lambda dy=dy, w=w: dy @ w)
                        else:
                            found.append(lambda dy=dy, x=x: dy.t() @ x)
                    return found

                yield told, made


def batched() -> Iterator[tuple[dict[str, Any], Callable[[], Calls]]]:
    """Attention's products made by hand, and grouped ones."""
    for b, h, s, d in ((8, 16, 512, 64), (8, 12, 1024, 64), (4, 16, 2048, 128)):
        for form in ("bfloat16", "tfloat32", "float32"):
            for what, flop in (("scores", 2), ("values", 2)):
                told = {"kind": "bmm", "what": what, "batch": b * h, "s": s, "d": d, "format": form,
                        "flop": flop * b * h * s * s * d}  # fmt: skip

                def made(b: int = b, h: int = h, s: int = s, d: int = d, form: str = form, what: str = what) -> Calls:
                    q, k, p = (randn(*shape, format_=form) for shape in ((b * h, s, d), (b * h, s, d), (b * h, s, s)))
                    if what == "scores":
                        return [lambda: torch.bmm(q, k.transpose(1, 2))]
                    return [lambda: torch.bmm(p, k)]

                yield told, made
    for experts, tokens, k, n in ((8, 8192, 1024, 2816), (8, 8192, 2816, 1024), (16, 4096, 512, 1408)):
        told = {"kind": "grouped", "what": "grouped_mm", "experts": experts, "tokens": tokens, "in": k, "out": n,
                "format": "bfloat16", "flop": 2 * tokens * k * n}  # fmt: skip

        def grouped(experts: int = experts, tokens: int = tokens, k: int = k, n: int = n) -> Calls:
            x, w = randn(tokens, k), randn(experts, k, n)
            ends = torch.arange(1, experts + 1, device="cuda", dtype=torch.int32) * (tokens // experts)
            return [lambda: torch._grouped_mm(x, w, offs=ends)]

        yield told, grouped


def dropouts() -> Iterator[tuple[dict[str, Any], Callable[[], Calls]]]:
    """Attention with dropout, by each kernel."""
    return attentions(DROPPED, DROPOUT)


def attentions(
    shapes: tuple[tuple[int, int, int, int, bool], ...] = ATTENTIONS, dropout: float = 0.0
) -> Iterator[tuple[dict[str, Any], Callable[[], Calls]]]:
    """Scaled dot product attention by each of torch's kernels, forward and backward; `default` is torch's choice."""
    aten = torch.ops.aten
    for b, h, s, d, causal in shapes:
        for way in ("default", "flash", "cudnn", "efficient"):
            for what in ("forward", "backward"):
                if way == "default" and what == "backward":
                    continue
                told = {"kind": "attention", "what": what, "way": way, "batch": b, "heads": h, "s": s, "d": d,
                        "causal": causal, "dropout": dropout, "format": "bfloat16",
                        "flop": (4 if what == "forward" else 10) * b * h * s * s * d}  # fmt: skip

                def made(b: int = b, h: int = h, s: int = s, d: int = d, causal: bool = causal, way: str = way,
                         what: str = what) -> Calls:  # fmt: skip
                    q, k, v, do = (randn(b, s, h, d).transpose(1, 2) for _ in range(4))
                    if way == "default":
                        return [lambda: F.scaled_dot_product_attention(q, k, v, dropout_p=dropout, is_causal=causal)]
                    if way == "flash":
                        forward = lambda: aten._scaled_dot_product_flash_attention(q, k, v, dropout, causal)  # noqa: E731
                        if what == "forward":
                            return [forward]
                        out, lse, cq, ck, mq, mk, seed, offset, _ = forward()
                        return [lambda: aten._scaled_dot_product_flash_attention_backward(
                            do, q, k, v, out, lse, cq, ck, mq, mk, dropout, causal, seed, offset)]  # fmt: skip
                    if way == "cudnn":
                        forward = lambda: aten._scaled_dot_product_cudnn_attention(q, k, v, None, True, dropout, causal)  # noqa: E731
                        if what == "forward":
                            return [forward]
                        out, lse, cq, ck, mq, mk, seed, offset, _ = forward()
                        return [lambda: aten._scaled_dot_product_cudnn_attention_backward(
                            do, q, k, v, out, lse, seed, offset, None, cq, ck, mq, mk, dropout, causal)]  # fmt: skip
                    forward = lambda: aten._scaled_dot_product_efficient_attention(q, k, v, None, True, dropout, causal)  # noqa: E731
                    if what == "forward":
                        return [forward]
                    out, lse, seed, offset = forward()
                    wanted = [True, True, True, False]
                    return [lambda: aten._scaled_dot_product_efficient_attention_backward(
                        do, q, k, v, None, out, lse, seed, offset, dropout, wanted, causal)]  # fmt: skip

                yield told, made


def convolutions() -> Iterator[tuple[dict[str, Any], Callable[[], Calls]]]:
    """Convolutions in both memory formats, with torch's own choice of algorithm (no cudnn.benchmark)."""
    masks = {"dgrad": [True, False, False], "wgrad": [False, True, False]}
    for inputs, outputs, window, stride, side, groups in CONVOLUTIONS:
        for form in ("bfloat16", "tfloat32", "float32"):
            for memory in ("channels_first", "channels_last"):
                if form == "float32" and memory == "channels_last":
                    continue
                for what in ("forward", "dgrad", "wgrad"):
                    if inputs == 3 and what == "dgrad":
                        continue
                    after = (side - 1) // stride + 1
                    told = {"kind": "convolution", "what": what, "images": IMAGES, "in": inputs, "out": outputs,
                            "window": window, "stride": stride, "side": side, "groups": groups, "format": form,
                            "memory": memory,
                            "flop": 2 * IMAGES * after**2 * outputs * inputs // groups * window**2}  # fmt: skip

                    def made(inputs: int = inputs, outputs: int = outputs, window: int = window, stride: int = stride,
                             side: int = side, after: int = after, groups: int = groups, form: str = form,
                             memory: str = memory, what: str = what) -> Calls:  # fmt: skip
                        order = torch.channels_last if memory == "channels_last" else torch.contiguous_format
                        x = randn(IMAGES, inputs, side, side, format_=form).to(memory_format=order)
                        w = randn(outputs, inputs // groups, window, window, format_=form).to(memory_format=order)
                        dy = randn(IMAGES, outputs, after, after, format_=form).to(memory_format=order)
                        pad = window // 2
                        if what == "forward":
                            return [lambda: F.conv2d(x, w, None, stride, pad, 1, groups)]
                        back = torch.ops.aten.convolution_backward
                        return [lambda: back(dy, x, w, None, [stride] * 2, [pad] * 2, [1] * 2, False, [0] * 2, groups,
                                             masks[what])]  # fmt: skip

                    yield told, made


def others() -> Iterator[tuple[dict[str, Any], Callable[[], Calls]]]:
    """What is no multiplication: its arguments, whose bytes are counted, and the call."""
    aten = torch.ops.aten

    def by_size(rows: int, width: int) -> dict[str, tuple[Callable[[], list[Any]], Callable[..., Any]]]:
        def some(count: int, form: str = "bfloat16") -> Callable[[], list[Any]]:
            return lambda: [randn(rows, width, format_=form) for _ in range(count)]

        def norm(form: str) -> Callable[[], list[Any]]:
            return lambda: [randn(rows, width, format_=form), *(randn(width, format_=form) for _ in range(2))]

        def norm_back(form: str) -> Callable[[], list[Any]]:
            def arguments() -> list[Any]:
                x, w, b = norm(form)()
                _, mean, rstd = aten.native_layer_norm(x, [width], w, b, 1e-5)
                return [randn(rows, width, format_=form), x, mean, rstd, w, b]

            return arguments

        found: dict[str, tuple[Callable[[], list[Any]], Callable[..., Any]]] = {
            "copy": (some(1), lambda x: x.clone()),
            "to float32": (some(1), lambda x: x.float()),
            "to bfloat16": (some(1, "float32"), lambda x: x.bfloat16()),
            "transposed copy": (some(1), lambda x: x.t().contiguous()),
            "permuted copy": (some(1), lambda x: x.view(-1, 16, width // 16 // 16, 256).transpose(1, 2).contiguous()),
            "add": (some(2), torch.add),
            "add float32": (some(2, "float32"), torch.add),
            "mul scalar": (some(1), lambda x: x * 0.5),
            "add in place float32": (some(2, "float32"), lambda x, y: x.add_(y)),
            "gelu": (some(1), F.gelu),
            "gelu tanh": (some(1), lambda x: F.gelu(x, approximate="tanh")),
            "gelu backward": (some(2), aten.gelu_backward),
            "silu": (some(1), F.silu),
            "silu backward": (some(2), aten.silu_backward),
            "relu": (some(1), torch.relu),
            "threshold backward": (some(2), lambda x, y: aten.threshold_backward(x, y, 0)),
            "tanh": (some(1), torch.tanh),
            "pow": (some(1), lambda x: x.pow(3)),
            "dropout": (some(1), lambda x: aten.native_dropout(x, 0.1, True)),
            "softmax": (some(1), lambda x: torch.softmax(x, -1)),
            "softmax to float32": (some(1), lambda x: aten._softmax(x.float(), -1, False)),
            "softmax backward": (some(2), lambda x, y: aten._softmax_backward_data(x, y, -1, torch.bfloat16)),
            "log_softmax float32": (some(1, "float32"), lambda x: torch.log_softmax(x, -1)),
            "log_softmax backward float32": (
                some(2, "float32"), lambda x, y: aten._log_softmax_backward_data(x, y, -1, torch.float32)),
            "layer norm": (norm("bfloat16"), lambda x, w, b: F.layer_norm(x, (width,), w, b)),
            "layer norm float32": (norm("float32"), lambda x, w, b: F.layer_norm(x, (width,), w, b)),
            "layer norm backward": (norm_back("bfloat16"), lambda dy, x, mean, rstd, w, b: (
                aten.native_layer_norm_backward(dy, x, [width], mean, rstd, w, b, [True] * 3))),
            "layer norm backward float32": (norm_back("float32"), lambda dy, x, mean, rstd, w, b: (
                aten.native_layer_norm_backward(dy, x, [width], mean, rstd, w, b, [True] * 3))),
            "mean float32": (some(1, "float32"), lambda x: x.mean(-1)),
            "sum": (some(1), lambda x: x.sum()),
            "sum of rows": (some(1), lambda x: x.sum(0)),
            "cat": (some(2), lambda x, y: torch.cat([x, y], -1)),
            "index rows": (lambda: [randn(rows, width), torch.randperm(rows, device="cuda")], lambda x, i: x[i]),
            "index add rows": (lambda: [randn(rows, width), torch.randperm(rows, device="cuda"), randn(rows, width)],
                               lambda x, i, y: x.index_add_(0, i, y)),
            "zero": (some(1, "float32"), lambda x: x.zero_()),
        }  # fmt: skip
        return found

    for rows, width in ((2048, 1024), (8192, 1024), (8192, 4096), (8192, 50304), (98304, 1024)):
        for what, (arguments, call) in by_size(rows, width).items():
            if rows * width > 3e8 and not what.startswith(("log_softmax", "softmax", "to ", "copy", "add", "zero")):
                continue
            if rows == 98304 and not what.startswith(("softmax", "dropout", "mul", "add", "copy", "to ")):
                continue
            yield other(what, [rows, width], arguments, call)
    for channels, side in ((64, 112), (256, 56), (512, 28), (2048, 7)):
        for memory in ("channels_first", "channels_last"):
            for form in ("bfloat16", "float32"):
                yield from images(channels, side, memory, form)
    for count, each in ((150, 1024 * 1024), (400, 250_000), (8, 16 * 1024 * 1024)):
        yield from optimizers(count, each)
    ids = (8, 1024)
    yield other("embedding", [50257, 768], lambda: [randn(50257, 768, format_="float32"), numbers(ids, 50257)],
                lambda w, i: F.embedding(i, w))  # fmt: skip
    yield other("embedding backward", [50257, 768], lambda: [randn(*ids, 768, format_="float32"), numbers(ids, 50257)],
                lambda dy, i: aten.embedding_dense_backward(dy, i, 50257, -1, False))  # fmt: skip
    yield other("topk", [8192, 8], lambda: [randn(8192, 8, format_="float32")], lambda x: x.topk(2))
    yield other("argsort", [16384], lambda: [numbers((16384,), 8)], lambda x: x.argsort(stable=True))
    yield other("nll loss", [8192, 50304], lambda: [randn(8192, 50304, format_="float32"), numbers((8192,), 50257)],
                F.nll_loss)  # fmt: skip


def numbers(shape: tuple[int, ...], most: int) -> torch.Tensor:
    return torch.randint(0, most, shape, device="cuda")


def images(channels: int, side: int, memory: str, form: str) -> Iterator[tuple[dict[str, Any], Callable[[], Calls]]]:
    """Batch normalisation, activation and pooling of images."""
    aten = torch.ops.aten
    order = torch.channels_last if memory == "channels_last" else torch.contiguous_format
    other_order = torch.contiguous_format if memory == "channels_last" else torch.channels_last

    def some(count: int) -> list[torch.Tensor]:
        return [randn(IMAGES, channels, side, side, format_=form).to(memory_format=order) for _ in range(count)]

    def vectors(count: int) -> list[torch.Tensor]:
        return [torch.rand(channels, device="cuda") + 0.5 for _ in range(count)]

    def back() -> list[Any]:
        x, dy = some(2)
        w, b, mean, var = vectors(4)
        out = torch.ops.aten._batch_norm_with_update(x, w, b, mean, var, 0.1, 1e-5)
        return [dy, x, w, mean, var, *out[1:]]

    parts: dict[str, tuple[Callable[[], list[Any]], Callable[..., Any]]] = {
        "batch norm": (lambda: [*some(1), *vectors(4)], lambda x, w, b, mean, var: (
            F.batch_norm(x, mean, var, w, b, True))),
        "batch norm backward": (back, lambda dy, x, w, mean, var, save, rstd, reserve: aten.batch_norm_backward(
            dy, x, w, mean, var, save, rstd, True, 1e-5, [True] * 3, reserve)),
        "relu": (lambda: some(1), torch.relu),
        "threshold backward": (lambda: some(2), lambda x, y: aten.threshold_backward(x, y, 0)),
        "add": (lambda: some(2), torch.add),
        "other memory format": (lambda: some(1), lambda x: x.contiguous(memory_format=other_order)),
        "max pool": (lambda: some(1), lambda x: F.max_pool2d(x, 3, 2, 1, return_indices=True)),
        "mean of sides": (lambda: some(1), lambda x: x.mean((2, 3))),
    }  # fmt: skip
    for what, (arguments, call) in parts.items():
        yield other(f"images: {what}", [IMAGES, channels, side, side], arguments, call, memory=memory, format=form)


def optimizers(count: int, each: int) -> Iterator[tuple[dict[str, Any], Callable[[], Calls]]]:
    """A step of an optimizer over so many parameters of so many elements, float32."""
    for name, options in (
        ("AdamW", {"fused": True}), ("AdamW", {"foreach": True}), ("AdamW", {"foreach": False}),
        ("SGD", {"momentum": 0.9, "foreach": True}), ("SGD", {"momentum": 0.9, "fused": True}),
    ):  # fmt: skip
        told = {"kind": "optimizer", "what": name, "options": options, "tensors": count, "elements": each,
                "format": "float32"}  # fmt: skip

        def made(name: str = name, options: dict[str, Any] = options) -> Calls:
            held = [torch.nn.Parameter(randn(each, format_="float32")) for _ in range(count)]
            for one in held:
                one.grad = torch.randn_like(one)
            stepper = getattr(torch.optim, name)(held, lr=1e-4, **options)
            return [stepper.step]

        yield told, made


def other(what: str, shape: list[int], arguments: Callable[[], list[Any]], call: Callable[..., Any], **told: Any
          ) -> tuple[dict[str, Any], Callable[[], Calls]]:  # fmt: skip
    """A row of what is no multiplication; `bytes` is filled in when it is made."""
    row: dict[str, Any] = {"kind": "other", "what": what, "shape": shape, **told}

    def made() -> Calls:
        sets = [arguments()]
        row["bytes"] = bytes_of(sets[0]) + bytes_of(call(*sets[0]))
        sets += [arguments() for _ in range(min(copies_of(row["bytes"]), 2) - 1)]
        return [lambda each=each: call(*each) for each in sets]

    return row, made


def profiled(items: list[tuple[dict[str, Any], Calls]]) -> None:
    """Run every item's calls REPETITIONS times with marks between, and put its kernels and their seconds in its row."""
    with profile(activities=[ProfilerActivity.CUDA]) as prof:
        for row, calls in items:
            set_precision(row.get("format", ""))
            for number in range(REPETITIONS):
                torch.cuda._sleep(1)
                calls[number % len(calls)]()
            torch.cuda.synchronize()
        torch.cuda._sleep(1)
        torch.cuda.synchronize()
    events = [each for each in prof.profiler.kineto_results.events() if each.device_type() == DeviceType.CUDA]
    events.sort(key=lambda each: each.start_ns())
    pieces: list[list[Any]] = []
    for event in events:
        if MARK in event.name():
            pieces.append([])
        elif pieces:
            pieces[-1].append((event.name(), event.duration_ns() * 1e-9, event.start_ns()))
    if len(pieces) != len(items) * REPETITIONS + 1:
        raise RuntimeError(f"{len(pieces)} marks for {len(items)} items")
    for number, (row, _) in enumerate(items):
        own = pieces[number * REPETITIONS : (number + 1) * REPETITIONS]
        row["time_s"] = statistics.median(sum(seconds for _, seconds, _ in piece) for piece in own)
        row["times_s"] = [round(sum(seconds for _, seconds, _ in piece), 10) for piece in own]
        middle = sorted(own, key=lambda piece: sum(seconds for _, seconds, _ in piece))[len(own) // 2]
        row["kernels"] = [[name[:72], round(seconds, 10)] for name, seconds, _ in middle][:24]
        row["launches"] = len(middle)


def set_precision(form: str) -> None:
    torch.backends.cuda.matmul.allow_tf32 = form == "tfloat32"
    torch.backends.cudnn.allow_tf32 = form == "tfloat32"


def measured(items: Iterator[tuple[dict[str, Any], Callable[[], Calls]]], deadline: float) -> list[dict[str, Any]]:
    """Rows of all items: warmed up one by one, profiled a few at a time, memory given back between."""
    rows: list[dict[str, Any]] = []
    waiting: list[tuple[dict[str, Any], Calls]] = []

    def flush() -> None:
        try:
            profiled(waiting)
        except Exception as error:
            for row, _ in waiting:
                row["fault"] = f"{type(error).__name__}: {error}"[:200]
        waiting.clear()

    for row, made in items:
        if time.time() > deadline:
            rows.append({**row, "fault": "no time was left"})
            continue
        rows.append(row)
        try:
            set_precision(row.get("format", ""))
            calls = made()
            for call in calls:
                call()
            torch.cuda.synchronize()
            waiting.append((row, calls))
        except Exception as error:
            row["fault"] = f"{type(error).__name__}: {error}"[:200]
        if len(waiting) >= 40 or torch.cuda.memory_allocated() > 60e9:
            flush()
    flush()
    torch.cuda.empty_cache()
    return rows


def gaps() -> dict[str, float]:
    """Seconds between the starts of tiny kernels: launched one by one, by autograd, and replayed as a graph."""
    x = torch.ones(16, device="cuda")
    w = torch.nn.Parameter(torch.ones(16, 16, device="cuda"))
    many = 400

    def wall(call: Callable[[], Any]) -> float:
        times = []
        for _ in range(7):
            torch.cuda.synchronize()
            begun = time.perf_counter()
            call()
            torch.cuda.synchronize()
            times.append(time.perf_counter() - begun)
        return statistics.median(times)

    def adds() -> None:
        for _ in range(many):
            x.add_(1.0)

    def tape() -> None:
        y = torch.ones(16, 16, device="cuda")
        for _ in range(many // 4):
            y = F.linear(y, w)
        y.sum().backward()

    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        adds()
    big = torch.empty(1 << 32, dtype=torch.uint8, device="cuda")
    into = torch.empty_like(big)
    adds()
    tape()
    begun, ended = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    copies = []
    for _ in range(5):
        begun.record()
        into.copy_(big)
        ended.record()
        ended.synchronize()
        copies.append(begun.elapsed_time(ended) * 1e-3)
    return {
        "eager_add_s": wall(adds) / many,
        "eager_linear_forward_and_backward_s": wall(tape) / (many // 4),
        "graph_add_s": wall(graph.replay) / many,
        "copy_bytes_per_s": 2 * big.numel() / statistics.median(copies),
    }


def state() -> str:
    """Clocks, power and temperature, as the driver tells them."""
    query = "clocks.sm,clocks.mem,power.draw,temperature.gpu"
    return subprocess.run(
        ["nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader"], capture_output=True, text=True, check=False
    ).stdout.strip()


PARTS = {
    "linears": linears,
    "attentions": attentions,
    "dropouts": dropouts,
    "batched": batched,
    "others": others,
    "convolutions": convolutions,
}


def main() -> None:
    """Measure every part and write."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/networks_parts.json"))
    parser.add_argument("--seconds", type=float, default=120.0, help="after which nothing new begins")
    parser.add_argument("--only", choices=PARTS, help="this part alone, beside the other rows of an earlier file")
    options = parser.parse_args()
    deadline = time.time() + options.seconds
    result: dict[str, Any] = {
        "what": "measured: seconds of the kernels of one call, the median of the repetitions; flop and bytes: counted",
        "protocol": f"CUPTI's durations, {REPETITIONS} repetitions on random operands, an empty kernel between",
        "chip": torch.cuda.get_device_name(), "date": datetime.date.today().isoformat(),
        "versions": {"torch": torch.__version__, "cudnn": torch.backends.cudnn.version()},
        "state": {"before": state()}, "gaps": gaps(),
    }  # fmt: skip
    rows: list[dict[str, Any]] = []
    if options.only and options.out.exists():
        before = json.loads(options.out.read_text())
        rows = [row for row in before.pop("rows") if row["part"] != options.only]
        result = {**before, "state": {**before["state"], **result["state"]}}
    for name, part in PARTS.items():
        if options.only not in (None, name):
            continue
        begun = time.time()
        found = [{"part": name, **row} for row in measured(part(), deadline)]
        rows += found
        result["state"][name] = state()
        faults = [row for row in found if "fault" in row]
        print(f"{name}: {len(found)} rows, {len(faults)} faults, {time.time() - begun:.1f} s", flush=True)
        for row in faults[:4]:
            print("  ", json.dumps(row)[:400], flush=True)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(result, indent=1)[:-2]
    lines = ",\n".join(f"  {json.dumps(row)}" for row in rows)
    options.out.write_text(f'{text},\n "rows": [\n{lines}\n ]\n}}\n')
    print(json.dumps(result["gaps"]), json.dumps(result["state"]))


if __name__ == "__main__":
    main()
