"""Time pictures and recordings, as ratios of one run: ``make bench``.

Each figure is the time of a drawing divided by the time of the work that it
draws, or of the same drawing ten times smaller, so that it says something on
any machine.  A recording is measured by what it adds to an operation, beside
three other tools that watch a Module run.
"""

from __future__ import annotations

import contextlib
import io
import statistics
import sys
import time
import warnings
from collections.abc import Callable

import torch
from torch import nn

from helpers import draw_graph, draw_memory, record_code

OPERATIONS = 1_000


def seconds(work: Callable[[], object], runs: int = 5) -> float:
    """Return the median time of a few runs, after one to warm up."""
    work()
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def chain(length: int) -> torch.Tensor:
    """Return the end of a chain of operations."""
    y = torch.ones(1, requires_grad=True)
    for _ in range(length):
        y = y.sin()
    return y


def unrolled(steps: int) -> torch.Tensor:
    """Return the loss of an LSTM cell after some steps."""
    cell = nn.LSTMCell(8, 8)
    h = c = torch.zeros(1, 8)
    for _ in range(steps):
        h, c = cell(torch.ones(1, 8), (h, c))
    return h.sum()


def dense(layers: int) -> torch.Tensor:
    """Return the sum over layers that each see all layers before."""
    seen = [torch.ones(2, requires_grad=True)]
    for _ in range(layers):
        seen.append(torch.stack(seen).sum(0).sin())
    return seen[-1].sum()


class Chain(nn.Module):
    """A thousand small operations, one after the other."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for _ in range(OPERATIONS // 2):
            x = (x * 1.001).sin()
        return x


class Bottleneck(nn.Module):
    """The block that ResNet-50 is made of (He et al., 2015, figure 5)."""

    def __init__(self, inside: int, before: int, stride: int) -> None:
        super().__init__()
        after = 4 * inside
        self.body = nn.Sequential(
            nn.Conv2d(before, inside, 1, bias=False),
            nn.BatchNorm2d(inside),
            nn.ReLU(inplace=True),
            nn.Conv2d(inside, inside, 3, stride, 1, bias=False),
            nn.BatchNorm2d(inside),
            nn.ReLU(inplace=True),
            nn.Conv2d(inside, after, 1, bias=False),
            nn.BatchNorm2d(after),
        )
        self.short = nn.Sequential()
        if stride > 1 or before != after:
            self.short = nn.Sequential(
                nn.Conv2d(before, after, 1, stride, bias=False),
                nn.BatchNorm2d(after),
            )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (self.body(x) + self.short(x)).relu()


def resnet() -> nn.Module:
    """Return a network of the shape of ResNet-50, without its head."""
    layers: list[nn.Module] = [nn.Conv2d(3, 64, 7, 2, 3, bias=False)]
    layers += [nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    before = 64
    for stage, blocks in enumerate([3, 4, 6, 3]):
        for block in range(blocks):
            stride = 2 if stage and not block else 1
            layers.append(Bottleneck(64 << stage, before, stride))
            before = 256 << stage
    return nn.Sequential(*layers)


def recorded(work: Callable[[], object]) -> None:
    """Do some work under a recording, as one line of a program."""
    record_code("work()", {"work": work})


def recordings() -> None:
    """Print what watching a Module costs, ours and other tools'."""
    # installed by make bench only
    import torchlens
    import torchview
    import torchvista

    warnings.simplefilter("ignore")
    sys.setrecursionlimit(20 * OPERATIONS)  # torchvista recurses on a chain
    chain, x = Chain(), torch.ones(10, requires_grad=True)
    plain = seconds(lambda: chain(x), 15)

    def added(work: Callable[[], object], runs: int) -> float:
        with contextlib.redirect_stdout(io.StringIO()):
            return seconds(work, runs) - plain

    ours = added(lambda: recorded(lambda: chain(x)), 15)
    each = 1e6 / OPERATIONS
    print(f"\na small operation takes {plain * each:.1f} µs; what is added:")
    print(f"{'record':34} {ours * each:8.1f} µs")
    lines = f"for _ in range({OPERATIONS}):\n    x = x.sin()"
    followed = added(lambda: record_code(lines, {"x": x}), 5)
    print(f"{'record, a line an operation':34} {followed * each:8.1f} µs")
    tools: dict[str, Callable[[], object]] = {
        "torchview": lambda: torchview.draw_graph(chain, x, device="cpu"),
        "torchlens": lambda: torchlens.trace(chain, x),
        "torchvista": lambda: torchvista.trace_model(chain, x),
    }
    for name, work in tools.items():
        theirs = added(work, 1)
        times = theirs / ours
        print(f"{name:34} {theirs * each:8.1f} µs, {times:.1f} × record")

    net, images = resnet(), torch.randn(2, 3, 224, 224)
    step = lambda: net(images).sum().backward()  # noqa: E731
    row(
        "forward and backward of a ResNet",
        seconds(lambda: recorded(step), 7),
        seconds(step, 7),
        "the time without a recording",
    )


def row(name: str, drawing: float, other: float, what: str) -> None:
    """Print one ratio."""
    print(f"{name:34} {drawing / other:8.2f} × {what}")


def main() -> None:
    """Print a table of ratios."""
    short, long = chain(1_000), chain(10_000)
    row(
        "graph of 1,000 operations",
        seconds(lambda: draw_graph(short)),
        seconds(lambda: chain(1_000)),
        "the time to compute them",
    )
    row(
        "graph of 10,000 operations",
        seconds(lambda: draw_graph(long), 3),
        seconds(lambda: draw_graph(short), 3),
        "that of 1,000 (10 is linear)",
    )
    loss = unrolled(100)
    row(
        "LSTM cell, 100 steps",
        seconds(lambda: draw_graph(loss)),
        seconds(lambda: unrolled(100)),
        "the time to compute them",
    )
    skips = dense(28)
    row(
        "dense skips, 84 operations",
        seconds(lambda: draw_graph(skips), 3),
        seconds(lambda: draw_graph(short), 3),
        "the graph of 1,000 in a chain",
    )
    small, big = torch.arange(100), torch.arange(10_000_000)
    row(
        "memory of 10 million elements",
        seconds(lambda: draw_memory(big)),
        seconds(lambda: draw_memory(small)),
        "that of 100 elements",
    )
    recordings()


if __name__ == "__main__":
    main()
