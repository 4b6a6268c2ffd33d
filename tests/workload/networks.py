"""Small networks of the usual kinds, for tests of what a step of theirs multiplies."""

import torch
from torch import nn
from torch.nn import functional


class Bottleneck(nn.Module):
    """1x1, 3x3, 1x1 beside a shortcut (He et al. 2015)."""

    def __init__(self, inside, width, stride):
        super().__init__()
        self.one = nn.Conv2d(inside, width, 1, bias=False)
        self.two = nn.Conv2d(width, width, 3, stride, 1, bias=False)
        self.three = nn.Conv2d(width, 4 * width, 1, bias=False)
        self.norms = nn.ModuleList(nn.BatchNorm2d(size) for size in (width, width, 4 * width))
        same = inside == 4 * width and stride == 1
        self.shortcut = nn.Identity() if same else nn.Conv2d(inside, 4 * width, 1, stride, bias=False)

    def forward(self, x):
        y = x
        for conv, norm in zip((self.one, self.two, self.three), self.norms, strict=True):
            y = functional.relu(norm(conv(y)))
        return functional.relu(y + self.shortcut(x))


def resnet():
    blocks = [Bottleneck(16, 8, 1), Bottleneck(32, 8, 1), Bottleneck(32, 16, 2), Bottleneck(64, 16, 1)]
    stem = [nn.Conv2d(3, 16, 7, 2, 3, bias=False), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10)]
    return nn.Sequential(*stem, *blocks, *head)


def mobilenet():
    def block(inside, outside, stride, wide):
        middle = inside * wide
        return nn.Sequential(
            nn.Conv2d(inside, middle, 1, bias=False), nn.BatchNorm2d(middle), nn.ReLU6(),
            nn.Conv2d(middle, middle, 3, stride, 1, groups=middle, bias=False), nn.BatchNorm2d(middle), nn.ReLU6(),
            nn.Conv2d(middle, outside, 1, bias=False), nn.BatchNorm2d(outside),
        )  # fmt: skip

    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(24, 10)]
    return nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), block(8, 16, 1, 4), block(16, 24, 2, 6), *head)


class UNet(nn.Module):
    """Down, up by transposed convolutions, and across (Ronneberger et al. 2015)."""

    def __init__(self, dims=2):
        super().__init__()
        conv, up, pool = (getattr(nn, f"{name}{dims}d") for name in ("Conv", "ConvTranspose", "MaxPool"))
        self.down, self.middle = conv(3, 8, 3, padding=1), conv(8, 16, 3, padding=1)
        self.pool, self.up = pool(2), up(16, 8, 2, stride=2)
        self.odd, self.last = up(16, 8, 3, stride=2, padding=1, output_padding=1), conv(8, 2, 1)

    def forward(self, x):
        kept = functional.relu(self.down(x))
        low = functional.relu(self.middle(self.pool(kept)))
        return self.last(self.odd(torch.cat([kept, self.up(low)], 1)))


class Attention(nn.Module):
    """Heads that share keys and values where there are fewer of them."""

    def __init__(self, width, heads, shared, causal):
        super().__init__()
        self.heads, self.shared, self.size, self.causal = heads, shared, width // heads, causal
        self.projections = nn.Linear(width, (heads + 2 * shared) * self.size)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        batch, length, width = x.shape
        parts = self.projections(x).split([each * self.size for each in (self.heads, self.shared, self.shared)], -1)
        counts = (self.heads, self.shared, self.shared)
        shaped = [y.view(batch, length, n, self.size).transpose(1, 2) for y, n in zip(parts, counts, strict=True)]
        q, k, v = shaped
        if self.shared != self.heads:
            k, v = (each.repeat_interleave(self.heads // self.shared, 1) for each in (k, v))
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.out(mixed.transpose(1, 2).reshape(batch, length, width))


class Gated(nn.Module):
    """SwiGLU."""

    def __init__(self, width):
        super().__init__()
        self.gate, self.up = (nn.Linear(width, 2 * width, bias=False) for _ in "gu")
        self.down = nn.Linear(2 * width, width, bias=False)

    def forward(self, x):
        return self.down(functional.silu(self.gate(x)) * self.up(x))


class Experts(nn.Module):
    """Experts with a capacity, dispatched by products with one-hot matrices (Lepikhin et al. 2020, GShard)."""

    def __init__(self, width, experts=4, capacity=6):
        super().__init__()
        self.router, self.capacity = nn.Linear(width, experts, bias=False), capacity
        self.up = nn.Parameter(torch.randn(experts, width, 2 * width))
        self.down = nn.Parameter(torch.randn(experts, 2 * width, width))

    def forward(self, x):
        tokens = x.flatten(0, 1)
        scores = self.router(tokens).softmax(-1)
        seats = scores.unsqueeze(-1) * tokens.new_ones(self.capacity)
        sent = torch.einsum("sec,sm->ecm", seats, tokens)
        done = torch.bmm(functional.gelu(torch.bmm(sent, self.up)), self.down)
        return torch.einsum("sec,ecm->sm", seats, done).view_as(x)


class Block(nn.Module):
    """Attention, then a feed-forward layer."""

    def __init__(self, width, heads, shared, causal, after):
        super().__init__()
        self.attention, self.after = Attention(width, heads, shared, causal), after
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in "aa")

    def forward(self, x):
        x = x + self.attention(self.norms[0](x))
        return x + self.after(self.norms[1](x))


class Transformer(nn.Module):
    """Words in, scores of words out."""

    def __init__(self, *, heads=4, shared=4, causal=False, after=None, tied=False):
        super().__init__()
        width, words = 64, 50
        self.words = nn.Embedding(words, width)
        plain = after or (lambda: nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)))
        self.blocks = nn.ModuleList(Block(width, heads, shared, causal, plain()) for _ in "ab")
        self.head = nn.Linear(width, words, bias=False)
        if tied:
            self.head.weight = self.words.weight

    def forward(self, tokens):
        x = self.words(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


class Vision(nn.Module):
    """Patches as words (Dosovitskiy et al. 2020)."""

    def __init__(self):
        super().__init__()
        self.patches = nn.Conv2d(3, 32, 8, 8)
        mlp = nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 32))
        self.block, self.head = Block(32, 4, 4, False, mlp), nn.Linear(32, 10)

    def forward(self, x):
        return self.head(self.block(self.patches(x).flatten(2).transpose(1, 2)).mean(1))


class Speech(nn.Module):
    """Strided convolutions of a signal, a grouped one for positions, and attention (wav2vec 2.0)."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv1d(1, 16, 10, 5), nn.GELU(), nn.Conv1d(16, 32, 3, 2), nn.GELU())
        self.positions = nn.Conv1d(32, 32, 9, padding=4, groups=4)
        self.block = Block(32, 4, 4, False, nn.Linear(32, 32))

    def forward(self, x):
        y = self.features(x)
        return self.block((y + self.positions(y)).transpose(1, 2))


class Recurrent(nn.Module):
    """An LSTM of two layers, both ways, over words; its first state is learnt."""

    def __init__(self):
        super().__init__()
        self.words, self.widen = nn.Embedding(50, 8), nn.Linear(8, 12)
        self.layers = nn.LSTM(12, 16, num_layers=2, bidirectional=True, batch_first=True)
        self.state = nn.Parameter(torch.zeros(2, 4, 3, 16))
        self.head = nn.Linear(32, 50)

    def forward(self, tokens):
        return self.head(self.layers(self.widen(self.words(tokens)), (self.state[0], self.state[1]))[0])


class Recommender(nn.Module):
    """Pairs of features' embeddings multiplied with each other (Naumov et al. 2019, DLRM)."""

    def __init__(self):
        super().__init__()
        self.bottom = nn.Sequential(nn.Linear(13, 32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU())
        self.tables = nn.ModuleList(nn.Embedding(100, 16) for _ in range(5))
        self.top = nn.Sequential(nn.Linear(16 + 36, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, dense, sparse):
        first = self.bottom(dense)
        features = torch.stack([first, *(table(sparse[:, i]) for i, table in enumerate(self.tables))], 1)
        pairs = torch.bmm(features, features.transpose(1, 2)).flatten(1)
        return self.top(torch.cat([first, pairs], 1))


def tokens(batch=3, length=8):
    return torch.arange(batch * length).reshape(batch, length) % 50


def image(size=32, channels=3, batch=2, dims=2):
    return torch.randn(batch, channels, *[size] * dims)


#: by name: the network, and what it is called with
NETWORKS = {
    "resnet": (resnet, (image(64),)),
    "mobilenet": (mobilenet, (image(32),)),
    "unet": (UNet, (image(16),)),
    "volume": (lambda: UNet(3), (image(8, dims=3),)),
    "bert": (Transformer, (tokens(),)),
    "gpt2": (lambda: Transformer(causal=True, tied=True), (tokens(),)),
    "llama": (lambda: Transformer(heads=8, shared=2, causal=True, after=lambda: Gated(64)), (tokens(),)),
    "experts": (lambda: Transformer(causal=True, after=lambda: Experts(64)), (tokens(),)),
    "vit": (Vision, (image(32),)),
    "speech": (Speech, (torch.randn(2, 1, 200),)),
    "lstm": (Recurrent, (tokens(),)),
    "dlrm": (Recommender, (torch.randn(6, 13), torch.arange(30).reshape(6, 5))),
}
HAVE_HEADS = ("bert", "gpt2", "llama", "experts", "vit", "speech")
GROUPED = ("mobilenet", "speech")
