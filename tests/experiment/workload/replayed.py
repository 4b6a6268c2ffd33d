"""Small networks in which one size, one setting or one line is what an advice changes: its tests trace both."""

import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn


class Gated(nn.Module):
    """Two gated feed-forward layers: one width is the outputs of two layers and the inputs of a third."""

    def __init__(self, inner, width=1024):
        super().__init__()
        self.layers = nn.ModuleList(nn.ModuleDict(
            {"w1": nn.Linear(width, inner), "w3": nn.Linear(width, inner), "w2": nn.Linear(inner, width)}
        ) for _ in range(2))  # fmt: skip

    def forward(self, x):
        for layer in self.layers:
            x = x + layer["w2"](F.silu(layer["w1"](x)) * layer["w3"](x))
        return x


class Decoder(nn.Module):
    """An embedding, a layer and an output layer of as many words."""

    def __init__(self, words):
        super().__init__()
        self.embed, self.up, self.lm_head = nn.Embedding(words, 768), nn.Linear(768, 768), nn.Linear(768, words)

    def forward(self, tokens):
        return self.lm_head(self.up(self.embed(tokens)))


class Classes(nn.Module):
    """An odd number of classes, padded and cut off where told."""

    def __init__(self, outputs, kept):
        super().__init__()
        self.up, self.classes, self.kept = nn.Linear(2048, 4096), nn.Linear(4096, outputs), kept

    def forward(self, x):
        return self.classes(F.relu(self.up(x)))[..., : self.kept].square().mean()


class Features(nn.Module):
    """Data of an odd number of features, padded where told."""

    def __init__(self, features, added):
        super().__init__()
        self.first, self.second, self.added = nn.Linear(features, 4096), nn.Linear(4096, 64), added

    def forward(self, x):
        return self.second(F.relu(self.first(F.pad(x, (0, self.added)) if self.added else x)))


class Attention(nn.Module):
    """Two layers of attention whose heads are of a width of their own, by hand or by one kernel."""

    def __init__(self, head, fused, heads=12, width=1024):
        super().__init__()
        self.heads, self.head, self.fused = heads, head, fused
        self.layers = nn.ModuleList(nn.ModuleDict(
            {**{name: nn.Linear(width, heads * head) for name in "qkv"}, "o": nn.Linear(heads * head, width)}
        ) for _ in range(2))  # fmt: skip

    def forward(self, x):
        batch, length, _ = x.shape
        for layer in self.layers:
            parts = (layer[name](x).view(batch, length, self.heads, self.head).transpose(1, 2) for name in "qkv")
            y = F.scaled_dot_product_attention(*parts) if self.fused else by_hand(*parts)
            x = x + layer["o"](y.transpose(1, 2).reshape(batch, length, -1))
        return x


def by_hand(q, k, v):
    """Both products with a softmax between."""
    return (q @ k.transpose(-1, -2)).softmax(-1) @ v


class Experts(nn.Module):
    """Gated experts of one inner width: one batched multiplication, or a loop."""

    def __init__(self, inner, batched, experts=8, width=1024):
        super().__init__()
        self.batched = batched
        self.up = nn.Parameter(torch.empty(experts, 2 * inner, width))
        self.down = nn.Parameter(torch.empty(experts, width, inner))

    def forward(self, x):  # of each expert's rows
        if self.batched:
            gate, up = torch.bmm(x, self.up.transpose(1, 2)).chunk(2, -1)
            return torch.bmm(F.silu(gate) * up, self.down.transpose(1, 2))
        found = []
        for expert, rows in enumerate(x):
            gate, up = F.linear(rows, self.up[expert]).chunk(2, -1)
            found.append(F.linear(F.silu(gate) * up, self.down[expert]))
        return torch.stack(found)


class Pictures(nn.Module):
    """Convolutions with normalisations between them."""

    def __init__(self, order=torch.contiguous_format):
        super().__init__()
        sizes = ((64, 128), (128, 128), (128, 256))
        self.layers = nn.Sequential(
            *(nn.Sequential(nn.Conv2d(i, o, 3, 1, 1, bias=False), nn.BatchNorm2d(o), nn.ReLU()) for i, o in sizes)
        ).to(memory_format=order)
        self.order = order

    def forward(self, x):
        return self.layers(x.contiguous(memory_format=self.order))
