"""The tables of whole networks beside an H200, from what benchmarks/networks.py wrote."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from measured import percent, result
from tables import table

#: how a network and its changes are told
NETWORKS = {
    "bert": "BERT-large, 32 x 512",
    "gpt2": "GPT-2 small, 16 x 1024",
    "llama": "Llama block, 4 x 2048",
    "mixture": "mixture of 8 experts, 8 x 2048",
    "resnet50": "ResNet-50, 256 images",
}
CHANGES = {
    ("bert", "given"): "autocast, vocabulary 30522",
    ("bert", "alignment"): "vocabulary 30528",
    ("bert", "compiled"): "torch.compile, each block",
    ("gpt2", "given"): "autocast, vocabulary 50257",
    ("gpt2", "alignment"): "vocabulary 50304",
    ("llama", "given"): "float32",
    ("llama", "precision"): "tf32",
    ("llama", "format"): "autocast",
    ("mixture", "given"): "bfloat16, a loop, inner width 2815",
    ("mixture", "alignment"): "inner width 2816",
    ("mixture", "batch"): "2816, and one batch for the loop",
    ("resnet50", "given"): "float32, cuDNN's tf32, channels first",
    ("resnet50", "channels-last"): "channels last",
    ("resnet50", "format"): "autocast, channels first",
    ("resnet50", "channels-last and format"): "autocast, channels last",
}


def ms(seconds: float) -> str:
    """Milliseconds with three digits, or to a tenth."""
    return f"{seconds * 1e3:.{2 if seconds < 0.01 else 1}f} ms"


def off(error: float) -> str:
    """How far a prediction is from a reading."""
    return f"{100 * error:+.1f}%"


def where(found: dict[str, Any]) -> str:
    """The chip, the date and the versions."""
    told = found["measured_with"]
    return (
        f"Measured {found['date']} on one {found['chip']}, torch {told['torch']}, transformers {told['transformers']}"
    )


def steps() -> str:
    """Every step: measured, its multiplications, and their time as predicted from the model alone."""
    found = result("networks")
    lines = [
        [
            NETWORKS[row["network"]], CHANGES[row["network"], row["change"]], ms(row["step_s"]),
            ms(row["trace"]["multiplying_s"]), ms(row["model"]["multiplying_s"]), off(row["model"]["error"]),
            percent(row["trace"]["time_share"]), f"{100 * row['trace']['flop_share']:.2f}%",
        ]
        for row in found["rows"]
    ]  # fmt: skip
    heads = ["network", "as", "step", "multiplications", "from the model alone", "off", "of kernels' time", "of FLOP"]
    return f"{where(found)}; training steps, medians of 25.\n\n" + table(heads, lines)


def gains() -> str:
    """Every advice that was taken: what it was predicted to gain of a step, and what it gained."""
    found = result("networks")
    lines = [
        [
            NETWORKS[each["network"]], CHANGES[each["network"], each["before"]],
            CHANGES[each["network"], each["after"]], "yes" if each["first"] else "no", ms(each["step_s"]),
            ms(each["predicted_s"]), ms(each["measured_s"]), off(each["error"]), off(each["error_from_model"]),
        ]
        for each in found["gains"]
    ]  # fmt: skip
    heads = ["network", "from", "to", "named first", "step before", "gain predicted", "gained", "off"]
    return table([*heads, "off, from the model alone"], lines)


def bert() -> str:
    """BERT-large's shares beside the published ones."""
    found = result("networks")["bars"]
    told, published = found["bert_time_share"], found["bert_time_share"]["published"]
    compiled = next(row for row in result("networks")["rows"] if row["change"] == "compiled")
    shares = found["bert_flop_share"]
    flop = f"{100 * shares['model']:.2f}% from the model, {100 * shares['trace']:.2f}% from the trace"
    lines = [
        ["FLOP in multiplications", f"{100 * published['flop_share']:.1f}%", flop],
        ["time in them, of kernels' time", percent(published["time_share"]), percent(told["of_kernels"])],
        ["the same, each block compiled", "-", percent(compiled["trace"]["time_share"])],
    ]
    heads = ["BERT-large, a training step", "published, another chip", "here, an H200 under bfloat16 autocast"]
    return table(heads, lines)


STEPS: dict[str, Callable[[], str]] = {
    "result networks steps": steps,
    "result networks gains": gains,
    "result networks bert": bert,
}
