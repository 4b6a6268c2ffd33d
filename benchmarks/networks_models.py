"""Five networks whose training steps are measured as given and with advice taken: what networks.py runs.

A network is a module that returns its loss, so that one forward and one backward are the step; sizes are such that an
H200 is busy for tens of milliseconds. `small` makes the same networks of a few thousand numbers, to try a script on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn


class Choice(NamedTuple):
    """What can be changed in a network without changing what it is for."""

    precision: str = "float32"  #: float32, tf32 (float32_matmul_precision "high") or bfloat16 (autocast)
    padded: bool = False  #: the odd size at the next multiple of 8 or 64
    channels_last: bool = False
    batched: bool = False  #: experts in one batched multiplication instead of a loop
    compiled: bool = False  #: each block by torch.compile
    half: bool = False  #: half the batch, where an eager program's launches take longer than its kernels


class Network(NamedTuple):
    """A network by its maker, as given, and its changes by name: what gemmlab calls the cause, and the choice."""

    make: Callable[[Choice, bool], tuple[nn.Module, tuple[torch.Tensor, ...]]]
    given: Choice
    changes: dict[str, Choice]
    what: str


class Lossy(nn.Module):
    """A transformers model with its loss as the only result."""

    def __init__(self, model: nn.Module, *names: str) -> None:
        super().__init__()
        self.model, self.names = model, names

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        loss: torch.Tensor = self.model(**dict(zip(self.names, inputs, strict=True))).loss
        return loss


def integers(most: int, *shape: int) -> torch.Tensor:
    """Random tokens or classes, on the default device."""
    return torch.randint(0, most, shape)


def bert(choice: Choice, small: bool) -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """BERT-large as it was trained before: masked words and the next sentence, 32 sequences of 512."""
    from transformers import BertConfig, BertForPreTraining

    vocabulary = 30528 if choice.padded else 30522
    sizes: dict[str, Any] = {
        "hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, "intermediate_size": 4096,
    }  # fmt: skip
    batch, length = 16 if choice.half else 32, 512
    if small:
        sizes = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 128}
        batch, length = 2, 32
    model = BertForPreTraining(BertConfig(vocab_size=vocabulary, max_position_embeddings=length, **sizes))
    for block in model.bert.encoder.layer if choice.compiled else ():
        block.compile()
    tokens = integers(30522, batch, length)
    names = ("input_ids", "labels", "next_sentence_label")
    return Lossy(model, *names), (tokens, integers(30522, batch, length), integers(2, batch))


def gpt2(choice: Choice, small: bool) -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """GPT-2 small, sequence 1024, 16 sequences; its output layer shares the embedding's 50257 rows."""
    from transformers import GPT2Config, GPT2LMHeadModel

    sizes: dict[str, Any] = {"n_embd": 64, "n_layer": 2, "n_head": 2, "n_positions": 32} if small else {}
    batch, length = (2, 32) if small else (16, 1024)
    model = GPT2LMHeadModel(GPT2Config(vocab_size=50304 if choice.padded else 50257, **sizes))
    tokens = integers(50257, batch, length)
    return Lossy(model, "input_ids", "labels"), (tokens, tokens.clone())


class LlamaBlock(nn.Module):
    """One block of Llama 3.2 1B's sizes with its rotary positions; the loss is the mean square of what it gives."""

    def __init__(self, small: bool) -> None:
        super().__init__()
        from transformers import LlamaConfig
        from transformers.models.llama.modeling_llama import LlamaDecoderLayer, LlamaRotaryEmbedding

        sizes: dict[str, Any] = {
            "hidden_size": 2048, "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 8192,
        }  # fmt: skip
        if small:
            sizes = {"hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 128}
        config = LlamaConfig(attn_implementation="sdpa", **sizes)
        self.layer, self.rotary = LlamaDecoderLayer(config, 0), LlamaRotaryEmbedding(config)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        positions = torch.arange(x.shape[1], device=x.device)[None]
        found = self.layer(x, position_embeddings=self.rotary(x, positions), position_ids=positions)
        y: torch.Tensor = found[0] if isinstance(found, tuple) else found
        return y.float().square().mean()


def llama(choice: Choice, small: bool) -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """A Llama block, 4 sequences of 2048."""
    del choice
    x = torch.randn(2, 32, 64) if small else torch.randn(4, 2048, 2048)
    return LlamaBlock(small), (x.requires_grad_(),)


class Experts(nn.Module):
    """A mixture of gated experts where each expert chooses its tokens (Zhou et al. 2022), by a loop or batched."""

    def __init__(self, width: int, inner: int, experts: int, batched: bool) -> None:
        super().__init__()
        self.batched, self.experts = batched, experts
        self.router = nn.Linear(width, experts, bias=False)
        self.up = nn.Parameter(torch.randn(experts, 2 * inner, width) * width**-0.5)
        self.down = nn.Parameter(torch.randn(experts, width, inner) * inner**-0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        tokens = x.flatten(0, 1)
        chances = self.router(tokens).float().softmax(-1)
        gates, chosen = chances.t().topk(2 * len(tokens) // self.experts)
        out = torch.zeros_like(tokens)
        if self.batched:
            gate, up = torch.bmm(tokens[chosen], self.up.transpose(1, 2)).chunk(2, -1)
            y = torch.bmm(F.silu(gate) * up, self.down.transpose(1, 2)) * gates[..., None].to(x.dtype)
            return out.index_add(0, chosen.flatten(), y.flatten(0, 1)).view_as(x)
        for expert in range(self.experts):
            gate, up = F.linear(tokens[chosen[expert]], self.up[expert]).chunk(2, -1)
            y = F.linear(F.silu(gate) * up, self.down[expert]) * gates[expert, :, None].to(x.dtype)
            out = out.index_add(0, chosen[expert], y)
        return out.view_as(x)


class MixtureBlocks(nn.Module):
    """Two blocks of attention and experts, all numbers bfloat16; the loss is the mean square of what they give."""

    def __init__(self, width: int, inner: int, experts: int, heads: int, batched: bool) -> None:
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList(nn.RMSNorm(width) for _ in range(4))
        self.qkv = nn.ModuleList(nn.Linear(width, 3 * width, bias=False) for _ in range(2))
        self.out = nn.ModuleList(nn.Linear(width, width, bias=False) for _ in range(2))
        self.mixtures = nn.ModuleList(Experts(width, inner, experts, batched) for _ in range(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, s, width = x.shape
        for block in range(2):
            parts = self.qkv[block](self.norms[2 * block](x)).chunk(3, -1)
            q, k, v = (each.view(b, s, self.heads, -1).transpose(1, 2) for each in parts)
            mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, s, width)
            x = x + self.out[block](mixed)
            x = x + self.mixtures[block](self.norms[2 * block + 1](x))
        return x.float().square().mean()


def mixture(choice: Choice, small: bool) -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """Two blocks with 8 experts, width 2048, an odd inner width; 8 sequences of 2048, two experts a token."""
    if small:
        model = MixtureBlocks(64, 128 if choice.padded else 127, 4, 2, choice.batched)
        return model.bfloat16(), (torch.randn(2, 32, 64, dtype=torch.bfloat16).requires_grad_(),)
    model = MixtureBlocks(2048, 2816 if choice.padded else 2815, 8, 16, choice.batched)
    return model.bfloat16(), (torch.randn(8, 2048, 2048, dtype=torch.bfloat16).requires_grad_(),)


class Bottleneck(nn.Module):
    """ResNet's block of three convolutions (v1.5: the window's carries the stride)."""

    def __init__(self, inputs: int, inner: int, stride: int) -> None:
        super().__init__()
        outputs = 4 * inner
        sizes = ((inputs, inner, 1, 1), (inner, inner, 3, stride), (inner, outputs, 1, 1))
        self.convolutions = nn.ModuleList(nn.Conv2d(i, o, w, s, w // 2, bias=False) for i, o, w, s in sizes)
        self.norms = nn.ModuleList(nn.BatchNorm2d(o) for _, o, _, _ in sizes)
        self.short = nn.Sequential()
        if stride != 1 or inputs != outputs:
            self.short = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x
        for number, (convolution, norm) in enumerate(zip(self.convolutions, self.norms, strict=True)):
            y = norm(convolution(y))
            y = F.relu(y, inplace=True) if number < 2 else y
        return F.relu(y + self.short(x), inplace=True)


class ResNet(nn.Module):
    """ResNet of bottleneck blocks with its classifier and loss."""

    def __init__(self, blocks: tuple[int, ...], width: int, classes: int) -> None:
        super().__init__()
        self.stem, self.norm = nn.Conv2d(3, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width)
        layers, inputs = [], width
        for stage, count in enumerate(blocks):
            for number in range(count):
                stride = 2 if stage and not number else 1
                layers.append(Bottleneck(inputs, width * 2**stage, stride))
                inputs = 4 * width * 2**stage
        self.layers, self.classes = nn.Sequential(*layers), nn.Linear(inputs, classes)

    def forward(self, images: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        x = F.max_pool2d(F.relu(self.norm(self.stem(images)), inplace=True), 3, 2, 1)
        return F.cross_entropy(self.classes(self.layers(x).mean((2, 3))).float(), labels)


def resnet50(choice: Choice, small: bool) -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """ResNet-50, 256 images of 224 x 224."""
    order = torch.channels_last if choice.channels_last else torch.contiguous_format
    model = ResNet((1, 1), 8, 10) if small else ResNet((3, 4, 6, 3), 64, 1000)
    shape, classes = ((2, 3, 32, 32), 10) if small else ((256, 3, 224, 224), 1000)
    images = torch.randn(*shape).contiguous(memory_format=order)
    return model.to(memory_format=order), (images, integers(classes, shape[0]))  # type: ignore[call-overload]


NETWORKS = {
    "bert": Network(
        bert, Choice("bfloat16"),
        {
            "alignment": Choice("bfloat16", padded=True), "compiled": Choice("bfloat16", compiled=True),
            "half": Choice("bfloat16", half=True),
        },
        "BERT-large, 32 sequences of 512, bfloat16 autocast; its vocabulary is 30522",
    ),
    "gpt2": Network(
        gpt2, Choice("bfloat16"), {"alignment": Choice("bfloat16", padded=True)},
        "GPT-2 small, 16 sequences of 1024, bfloat16 autocast; its vocabulary is 50257",
    ),
    "llama": Network(
        llama, Choice("float32"), {"precision": Choice("tf32"), "format": Choice("bfloat16")},
        "a Llama block of width 2048, 4 sequences of 2048, float32",
    ),
    "mixture": Network(
        mixture, Choice("own"),
        {"alignment": Choice("own", padded=True), "batch": Choice("own", padded=True, batched=True)},
        "two blocks with 8 experts of inner width 2815 in a loop, 8 sequences of 2048, bfloat16",
    ),
    "resnet50": Network(
        resnet50, Choice("float32"),
        {
            "channels-last": Choice("float32", channels_last=True), "format": Choice("bfloat16"),
            "channels-last and format": Choice("bfloat16", channels_last=True),
        },
        "ResNet-50, 256 images of 224 x 224, float32 with cuDNN's tf32, channels first",
    ),
}  # fmt: skip


class Step:
    """A training step: forward, backward, optimizer, as `choice` says."""

    def __init__(self, network: Network, choice: Choice, device: str, small: bool = False) -> None:
        torch.manual_seed(0)
        self.choice, self.device = choice, device
        with torch.device(device):
            self.model, self.inputs = network.make(choice, small)
        self.optimizer = (
            torch.optim.SGD(self.model.parameters(), lr=1e-3, momentum=0.9)
            if isinstance(self.model, ResNet)
            else torch.optim.AdamW(self.model.parameters(), lr=1e-5)
        )

    def __call__(self) -> None:
        tf32 = self.choice.precision == "tf32"
        torch.set_float32_matmul_precision("high" if tf32 else "highest")
        with torch.autocast(self.device, torch.bfloat16, enabled=self.choice.precision == "bfloat16"):
            loss = self.model(*self.inputs)
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        for each in self.inputs:
            each.grad = None
