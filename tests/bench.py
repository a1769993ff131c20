"""Time the pictures, as ratios measured in one run: ``make bench``.

Each figure is the time of a drawing divided by the time of the work that it
draws, or of the same drawing ten times smaller, so that it says something on
any machine.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import torch
from torch import nn

from helpers import draw_graph, draw_memory


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


def row(name: str, drawing: float, other: float, what: str) -> None:
    """Print one ratio."""
    print(f"{name:34} {drawing / other:8.1f} × {what}")


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


if __name__ == "__main__":
    main()
