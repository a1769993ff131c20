"""Networks and training programs that people really use, to be tried on.

The networks are written here in our own words and begin with random weights;
parts and parameters have the names that they have elsewhere, as
``layer1.0.conv1`` in a ResNet and ``h.0.attn.c_attn`` in GPT-2.  The programs
are whole scripts and stand in ``programs/``, each with its own source lines.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional

PROGRAMS = Path(__file__).parent / "programs"


def program(name: str) -> str:
    """Return the source of one of the scripts in ``programs/``."""
    return (PROGRAMS / f"{name}.py").read_text(encoding="utf-8")


# -- ResNet (He et al., 2015)


class Bottleneck(nn.Module):
    """Narrow, look around, widen; and a short cut past all that."""

    widening = 4

    def __init__(self, before: int, inside: int, stride: int = 1) -> None:
        super().__init__()
        after = inside * self.widening
        self.conv1 = nn.Conv2d(before, inside, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(inside)
        self.conv2 = nn.Conv2d(
            inside, inside, 3, stride, padding=1, bias=False
        )
        self.bn2 = nn.BatchNorm2d(inside)
        self.conv3 = nn.Conv2d(inside, after, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(after)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = None
        if stride != 1 or before != after:
            self.downsample = nn.Sequential(
                nn.Conv2d(before, after, 1, stride, bias=False),
                nn.BatchNorm2d(after),
            )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        short = x if self.downsample is None else self.downsample(x)
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.relu(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        y += short
        return self.relu(y)


class ResNet(nn.Module):
    """Four stages of blocks on pictures of three channels."""

    def __init__(
        self, blocks: tuple[int, ...], width: int = 64, classes: int = 1000
    ) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 7, 2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, 2, padding=1)
        before = width
        for stage, count in enumerate(blocks):
            inside = width << stage
            layer = nn.Sequential()
            for block in range(count):
                stride = 2 if stage and not block else 1
                layer.append(Bottleneck(before, inside, stride))
                before = inside * Bottleneck.widening
            setattr(self, f"layer{stage + 1}", layer)
        self.stages = len(blocks)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(before, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        for stage in range(self.stages):
            x = getattr(self, f"layer{stage + 1}")(x)
        return self.fc(torch.flatten(self.avgpool(x), 1))


def resnet50() -> ResNet:
    """Return ResNet-50: 25,557,032 parameters."""
    return ResNet((3, 4, 6, 3))


def tiny_resnet() -> ResNet:
    """Return a ResNet of one block a stage, narrow."""
    return ResNet((1, 1, 1, 1), width=4, classes=5)


# -- GPT-2 (Radford et al., 2019)


class Attention(nn.Module):
    """Each place looks back, with several heads."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.c_attn = nn.Linear(width, 3 * width)
        self.c_proj = nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows, places, width = x.shape
        parts = self.c_attn(x).split(width, dim=2)
        q, k, v = (
            p.view(rows, places, self.heads, -1).transpose(1, 2) for p in parts
        )
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.c_proj(y.transpose(1, 2).reshape(rows, places, width))


class Perceptron(nn.Module):
    """Widen to four times, bend, narrow."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.c_fc = nn.Linear(width, 4 * width)
        self.act = nn.GELU(approximate="tanh")
        self.c_proj = nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.c_proj(self.act(self.c_fc(x)))


class Block(nn.Module):
    """Attention and perceptron, each added to what came in."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.ln_1 = nn.LayerNorm(width)
        self.attn = Attention(width, heads)
        self.ln_2 = nn.LayerNorm(width)
        self.mlp = Perceptron(width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT2(nn.Module):
    """A language model whose head is its embedding."""

    def __init__(
        self,
        vocabulary: int = 50257,
        context: int = 1024,
        width: int = 768,
        blocks: int = 12,
        heads: int = 12,
    ) -> None:
        super().__init__()
        self.wte = nn.Embedding(vocabulary, width)
        self.wpe = nn.Embedding(context, width)
        self.h = nn.ModuleList(Block(width, heads) for _ in range(blocks))
        self.ln_f = nn.LayerNorm(width)
        self.lm_head = nn.Linear(width, vocabulary, bias=False)
        self.lm_head.weight = self.wte.weight
        for p in self.parameters():  # else a tied head begins far too large
            if p.dim() > 1:
                nn.init.normal_(p, std=0.02)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        places = torch.arange(tokens.shape[1])
        x = self.wte(tokens) + self.wpe(places)
        for block in self.h:
            x = block(x)
        return self.lm_head(self.ln_f(x))


def gpt2() -> GPT2:
    """Return GPT-2 small: 124,439,808 parameters."""
    return GPT2()


def tiny_gpt2() -> GPT2:
    """Return a GPT-2 of two narrow blocks."""
    return GPT2(vocabulary=30, context=16, width=8, blocks=2, heads=2)


def next_token_loss(model: nn.Module, tokens: torch.Tensor) -> torch.Tensor:
    """Return how badly a language model foretells each next token."""
    scores = model(tokens[:, :-1])
    return functional.cross_entropy(
        scores.flatten(0, 1), tokens[:, 1:].flatten()
    )


# -- U-Net (Ronneberger et al., 2015)


class DoubleConv(nn.Sequential):
    """Two convolutions, each with its norm."""

    def __init__(self, before: int, after: int) -> None:
        super().__init__(
            nn.Conv2d(before, after, 3, padding=1, bias=False),
            nn.BatchNorm2d(after),
            nn.ReLU(inplace=True),
            nn.Conv2d(after, after, 3, padding=1, bias=False),
            nn.BatchNorm2d(after),
            nn.ReLU(inplace=True),
        )


class UNet(nn.Module):
    """Down and up again; each level's result skips over to the other side."""

    def __init__(
        self, width: int = 16, levels: int = 4, classes: int = 2
    ) -> None:
        super().__init__()
        widths = [width << i for i in range(levels + 1)]
        self.first = DoubleConv(3, width)
        self.down = nn.ModuleList(
            DoubleConv(a, b) for a, b in pairwise(widths)
        )
        self.pool = nn.MaxPool2d(2)
        back = widths[::-1]
        self.up = nn.ModuleList(
            nn.ConvTranspose2d(a, b, 2, 2) for a, b in pairwise(back)
        )
        self.join = nn.ModuleList(DoubleConv(2 * b, b) for b in back[1:])
        self.last = nn.Conv2d(width, classes, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        skips = [self.first(x)]
        for down in self.down:
            skips.append(down(self.pool(skips[-1])))
        y = skips.pop()
        for up, join in zip(self.up, self.join, strict=True):
            y = join(torch.cat([skips.pop(), up(y)], dim=1))
        return self.last(y)


def tiny_unet() -> UNet:
    """Return a U-Net of two levels."""
    return UNet(width=2, levels=2)


# -- around torch's own


class Translator(nn.Module):
    """torch's nn.Transformer between two embeddings and a head."""

    def __init__(
        self, vocabulary: int = 40, width: int = 16, layers: int = 2
    ) -> None:
        super().__init__()
        self.source = nn.Embedding(vocabulary, width)
        self.target = nn.Embedding(vocabulary, width)
        self.transformer = nn.Transformer(
            width, 2, layers, layers, 4 * width, batch_first=True, dropout=0.0
        )
        self.head = nn.Linear(width, vocabulary)

    def forward(
        self, said: torch.Tensor, so_far: torch.Tensor
    ) -> torch.Tensor:
        mask = nn.Transformer.generate_square_subsequent_mask(so_far.shape[1])
        return self.head(
            self.transformer(
                self.source(said), self.target(so_far), tgt_mask=mask
            )
        )


class Tagger(nn.Module):
    """torch's nn.LSTM, two layers and both ways, with a head."""

    def __init__(
        self, vocabulary: int = 40, width: int = 8, tags: int = 5
    ) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.lstm = nn.LSTM(
            width, width, num_layers=2, bidirectional=True, batch_first=True
        )
        self.head = nn.Linear(2 * width, tags)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        states, _ = self.lstm(self.embedding(tokens))
        return self.head(states)


class Looker(nn.Module):
    """torch's nn.MultiheadAttention of a sequence to itself."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(width, 2, batch_first=True)
        self.norm = nn.LayerNorm(width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y, _ = self.attention(x, x, x, need_weights=False)
        return self.norm(x + y)


# -- each with something to work on: a model, and how to compute its loss

Made = tuple[nn.Module, Callable[[], torch.Tensor]]


def _on_pictures(model: nn.Module, size: int, classes: int) -> Made:
    pictures = torch.randn(2, 3, size, size)
    labels = torch.randint(classes, (2,))
    return model, lambda: functional.cross_entropy(model(pictures), labels)


def _on_masks(model: nn.Module, size: int) -> Made:
    picture = torch.randn(1, 3, size, size)
    mask = torch.randint(2, (1, size, size))
    return model, lambda: functional.cross_entropy(model(picture), mask)


def _on_tokens(model: nn.Module, vocabulary: int, places: int) -> Made:
    tokens = torch.randint(vocabulary, (2, places + 1))
    return model, lambda: next_token_loss(model, tokens)


def _translating() -> Made:
    model = Translator()
    said, answer = torch.randint(40, (2, 2, 6))

    def loss() -> torch.Tensor:
        scores = model(said, answer[:, :-1])
        return functional.cross_entropy(
            scores.flatten(0, 1), answer[:, 1:].flatten()
        )

    return model, loss


def _tagging() -> Made:
    model = Tagger()
    tokens, tags = torch.randint(40, (2, 6)), torch.randint(5, (12,))
    return model, lambda: functional.cross_entropy(
        model(tokens).flatten(0, 1), tags
    )


def _looking() -> Made:
    model = Looker()
    x = torch.randn(1, 4, 8)
    return model, lambda: model(x).square().mean()


NETWORKS: dict[str, Callable[[], Made]] = {
    "resnet50": lambda: _on_pictures(resnet50(), 64, 1000),
    "tiny_resnet": lambda: _on_pictures(tiny_resnet(), 32, 5),
    "gpt2": lambda: _on_tokens(gpt2(), 50257, 16),
    "tiny_gpt2": lambda: _on_tokens(tiny_gpt2(), 30, 8),
    "unet": lambda: _on_masks(UNet(), 32),
    "tiny_unet": lambda: _on_masks(tiny_unet(), 16),
    "translator": _translating,
    "tagger": _tagging,
    "looker": _looking,
}


def make(name: str) -> Made:
    """Return a network with random weights, and how to compute its loss.

    The loss is of the same inputs each time: two pictures, two rows of tokens.
    """
    torch.manual_seed(0)
    return NETWORKS[name]()
