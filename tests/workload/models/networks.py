"""Small networks of many kinds, each with what it is called with."""

import torch
from torch import nn


class Residual(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.first = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(channels)
        self.second = nn.Conv2d(channels, channels, 3, padding=1, bias=False)

    def forward(self, image):
        return nn.functional.relu(image + self.second(nn.functional.relu(self.norm(self.first(image)))))


class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 16, 7, stride=2, padding=3)
        self.blocks = nn.Sequential(Residual(16), nn.MaxPool2d(2), Residual(16))
        self.head = nn.Linear(16, 10)

    def forward(self, image):
        return self.head(self.blocks(self.stem(image)).mean((2, 3)))


class Mobile(nn.Module):
    """Depthwise and pointwise convolutions."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, 16, 3, stride=2), nn.Hardswish(), nn.Conv2d(16, 16, 3, groups=16), nn.Conv2d(16, 32, 1)
        )

    def forward(self, image):
        return self.layers(image)


class UNet(nn.Module):
    """Down, and up again by a transposed convolution, dilated at the bottom."""

    def __init__(self):
        super().__init__()
        self.down = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.bottom = nn.Conv2d(8, 8, 3, padding=2, dilation=2)
        self.up = nn.ConvTranspose2d(8, 4, 2, stride=2)

    def forward(self, image):
        return self.up(nn.functional.silu(self.bottom(self.down(image))))


class Attention(nn.Module):
    def __init__(self, width, heads, causal=False):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        query, key, value = (
            each.unflatten(-1, (self.heads, -1)).transpose(1, 2) for each in self.qkv(x).chunk(3, dim=-1)
        )
        mixed = nn.functional.scaled_dot_product_attention(query, key, value, is_causal=self.causal)
        return self.out(mixed.transpose(1, 2).flatten(2))


class Block(nn.Module):
    def __init__(self, width, heads, causal=False):
        super().__init__()
        self.norm1, self.attention = nn.LayerNorm(width), Attention(width, heads, causal)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    """A causal language model whose output layer is its embedding's weight."""

    def __init__(self, vocabulary=101, width=32, layers=2):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.blocks = nn.ModuleList(Block(width, 4, causal=True) for _ in range(layers))
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, ids, labels=None):
        x = self.embedding(ids)
        for block in self.blocks:
            x = block(x)
        logits = self.head(x)
        if labels is None:
            return {"logits": logits}
        return {"loss": nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten()), "logits": logits}


class ViT(nn.Module):
    def __init__(self):
        super().__init__()
        self.patches = nn.Conv2d(3, 32, 8, stride=8)
        self.token = nn.Parameter(torch.zeros(1, 1, 32))
        self.block = Block(32, 4)
        self.head = nn.Linear(32, 10)

    def forward(self, image):
        x = self.patches(image).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(len(x), -1, -1), x], dim=1)
        return self.head(self.block(x)[:, 0])


class Encoder(nn.Module):
    """PyTorch's own encoder, the way its multi-head attention makes projections."""

    def __init__(self):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)

    def forward(self, x):
        return self.layer(x)


class Mixer(nn.Module):
    """Contractions by einsum, matmul of many axes and bilinear forms."""

    def __init__(self):
        super().__init__()
        self.heads = nn.Parameter(torch.randn(4, 8, 16))
        self.tokens = nn.Parameter(torch.randn(6, 6))

    def forward(self, x):
        y = torch.einsum("bthd,hde->bthe", x, self.heads)
        return torch.matmul(self.tokens, y.transpose(1, 2))


class Handmade(nn.Module):
    """Attention written out, and a product that adds to what it is given."""

    def __init__(self):
        super().__init__()
        self.project = nn.Linear(16, 16, bias=False)
        self.bias = nn.Parameter(torch.zeros(2, 5, 5))

    def forward(self, x):
        key = self.project(x)
        weights = torch.baddbmm(self.bias, x, key.transpose(1, 2), alpha=0.25).softmax(-1)
        return torch.bmm(weights, key)


def whole(*shape):
    return torch.randint(0, 100, shape)


#: a function that makes the network and one that makes its inputs
NETWORKS = {
    "mlp": (lambda: nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 8)), lambda: (torch.randn(4, 16),)),
    "resnet": (ResNet, lambda: (torch.randn(2, 3, 32, 32),)),
    "mobile": (Mobile, lambda: (torch.randn(2, 3, 32, 32),)),
    "unet": (UNet, lambda: (torch.randn(2, 3, 16, 16),)),
    "gpt": (GPT, lambda: (whole(2, 12), whole(2, 12))),
    "block": (lambda: Block(32, 4), lambda: (torch.randn(2, 7, 32),)),
    "vit": (ViT, lambda: (torch.randn(2, 3, 32, 32),)),
    "encoder": (Encoder, lambda: (torch.randn(2, 7, 32),)),
    "mixer": (Mixer, lambda: (torch.randn(2, 6, 4, 8),)),
    "handmade": (Handmade, lambda: (torch.randn(2, 5, 16),)),
}
