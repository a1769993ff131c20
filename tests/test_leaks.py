"""A thousand recordings in one process leave nothing behind."""

from __future__ import annotations

import gc
import linecache
import sys

import pytest
import torch
from torch import nn
from touching import touched

from helpers import draw_graph, draw_memory, record, record_code
from helpers.watching import MOST_SOURCES

MANY = 1000
FIRST = 300  # until caches are full and the allocator has what it needs
MOST_GROWN = 12 << 20  # bytes of a thousand recordings that nobody keeps
CODE = """
w = torch.ones(64, requires_grad=True)
y = (w * 2).detach()
loss = (w * y).sum()
loss.backward()
"""


def in_a_block(net, optimizer):
    with record() as recording:
        loss = net(torch.ones(1, 8)).sum()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return recording


def of_code(net, optimizer):
    return record_code(CODE, {"torch": torch})


def that_raises(net, optimizer):
    return record_code("net(torch.ones(3, 3))", {"torch": torch, "net": net})


def asked(net, optimizer):
    recording = record_code(CODE, {"torch": torch})
    assert recording.why_no_grad("y").reason
    assert recording.problems == []
    return recording


def living():
    """How many tensors and Modules there are."""
    gc.collect()
    kinds = (torch.Tensor, nn.Module)
    return sum(issubclass(type(thing), kinds) for thing in gc.get_objects())


def resident():
    """The bytes of memory that this process holds."""
    with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123
        return int(file.read().split()[1]) * 4096


@pytest.fixture(
    scope="module", params=[in_a_block, of_code, that_raises, asked]
)
def after(request):
    """What there was before and after very many recordings."""
    net = nn.Linear(8, 8)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    work = request.param
    for _ in range(FIRST):
        work(net, optimizer)
    before = living(), resident(), touched()
    for _ in range(MANY):
        work(net, optimizer)
    return before, (living(), resident(), touched())


def test_no_tensor_and_no_module_stays(after):
    (before, *_), (now, *_) = after
    assert now == before


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="no /proc")
def test_memory_does_not_grow(after):
    (_, before, _), (_, now, _) = after
    assert now - before < MOST_GROWN


def test_hooks_modes_tracer_and_stdout_are_back(after):
    (*_, before), (*_, now) = after
    assert now == before


def test_the_source_of_old_recordings_is_forgotten(after):
    kept = [name for name in linecache.cache if name.startswith("<recorded")]
    assert len(kept) <= MOST_SOURCES


def test_pictures_keep_nothing():
    net = nn.Linear(8, 8)

    def look():
        loss = net(torch.ones(1, 8)).sum()
        return draw_graph(loss, net), draw_memory(net)

    look()
    before = living()
    for _ in range(50):
        look()
    assert living() == before


def test_a_recording_that_is_kept_keeps_no_tensor():
    before = living()
    kept = [record_code(CODE, {"torch": torch}) for _ in range(20)]
    assert living() == before
    assert len(kept) == 20


@pytest.mark.parametrize("on", [True, False])
def test_the_garbage_collector_is_as_it_was(on):
    x = torch.ones(2, requires_grad=True)
    was = gc.isenabled()
    try:
        (gc.enable if on else gc.disable)()
        draw_graph(x * 2)
        assert gc.isenabled() is on
    finally:
        (gc.enable if was else gc.disable)()
