"""Which pieces of memory there are, and what their first bytes say.

A storage is told by the bytes it covers, not by its object: a tensor made by
``from_numpy`` and another one made from the same array have two storage
objects on one piece of memory.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy
import torch

from ..model import Cell, StorageFacts, Strip, TensorFacts, number_text
from .things import Leaf

SHOWN = 16  # up to so many cells are all written out
SHOWN_FIRST = 7  # of more, the first few
SHOWN_LAST = 2  # and the last
UNREAD = "?"  # a cell that has no value to show

_ORDINARY = (torch.Tensor, torch.nn.Parameter)

# How a quantized tensor's numbers lie in its storage.
_PLAIN = {
    torch.quint8: torch.uint8,
    torch.qint8: torch.int8,
    torch.qint32: torch.int32,
}


@dataclass(frozen=True)
class Extent:
    """The bytes from ``start`` to ``end`` (an address after the last one).

    ``key`` tells apart what has no address: other devices, and storages
    without bytes.
    """

    key: Any
    start: int
    end: int


def extent(leaf: Leaf) -> Extent | None:
    """Return the bytes that belong to a tensor's or an array's storage.

    None for a tensor without one (sparse, nested, inside vmap, …).
    """
    if isinstance(leaf, numpy.ndarray):
        return _array_extent(_owner(leaf))
    special = type(leaf) not in _ORDINARY
    if special and (torch.nn.parameter.is_lazy(leaf) or is_fake(leaf)):
        return None
    if leaf.is_nested:
        return None
    try:
        storage = torch.Tensor.untyped_storage(leaf)
        size, start = storage.nbytes(), storage.data_ptr()
    except (RuntimeError, NotImplementedError, ValueError):
        return None
    if not start or not size:  # nothing there: only the object tells
        return Extent((str(leaf.device), storage._cdata), 0, size)
    return Extent(str(leaf.device), start, start + size)


def _owner(array: numpy.ndarray) -> numpy.ndarray:
    while isinstance(array.base, numpy.ndarray):
        array = array.base
    return array


def _array_extent(array: numpy.ndarray) -> Extent:
    low, high = numpy.lib.array_utils.byte_bounds(array)
    if array.size == 0:
        return Extent(("array", id(array)), 0, 0)
    return Extent("cpu", low, high)


def group(leaves: Iterable[Leaf]) -> list[tuple[Extent, list[int]]]:
    """Group leaves (by their place in the list) that share bytes.

    Groups come in order of first appearance.
    """
    extents = [extent(leaf) for leaf in leaves]
    known = {i: e for i, e in enumerate(extents) if e is not None}
    groups: list[tuple[Extent, list[int]]] = []
    order = sorted(known, key=lambda i: (str(known[i].key), known[i].start))
    for i in order:
        e = known[i]
        last = groups[-1] if groups else None
        if last and last[0].key == e.key and _touch(last[0], e):
            end = max(last[0].end, e.end)
            groups[-1] = (replace(last[0], end=end), [*last[1], i])
        else:
            groups.append((e, [i]))
    groups = [(e, sorted(members)) for e, members in groups]
    return sorted(groups, key=lambda pair: pair[1][0])


def _touch(first: Extent, second: Extent) -> bool:
    return second.start < first.end or not first.end


def start_in(leaf: Leaf, block: Extent) -> int:
    """Return the byte of the block where the leaf's first element lies."""
    if isinstance(leaf, numpy.ndarray):
        address = leaf.__array_interface__["data"][0]
    else:
        address = torch.Tensor.data_ptr(leaf)
    return address - block.start if block.start and address else 0


def storage_facts(
    storage_id: str,
    block: Extent,
    members: list[tuple[Leaf, TensorFacts]],
) -> StorageFacts:
    """Describe one piece of memory and the values in its first cells."""
    nbytes = block.end - block.start
    strips: dict[str, Strip] = {}
    for leaf, facts in members:
        if facts.dtype not in strips and facts.itemsize:
            strips[facts.dtype] = _strip(leaf, facts, block)
    return StorageFacts(
        storage_id,
        nbytes,
        members[0][1].device,
        _version([facts for _, facts in members]),
        tuple(strips.values()),
    )


def _version(members: list[TensorFacts]) -> int | None:
    """The counter that the tensors share; one that differs says its own."""
    counted = [t for t in members if t.version is not None]
    first = [t for t in counted if t.requires_grad] or counted
    return first[0].version if first else None


def _strip(leaf: Leaf, facts: TensorFacts, block: Extent) -> Strip:
    count = (block.end - block.start) // facts.itemsize
    if count <= SHOWN:
        runs = [range(count)]
    else:
        runs = [range(SHOWN_FIRST), range(count - SHOWN_LAST, count)]
    cells = tuple(
        Cell(i, text)
        for run in runs
        for i, text in zip(run, _texts(leaf, facts, block, run), strict=True)
    )
    return Strip(facts.dtype, facts.itemsize, count, cells)


def _texts(
    leaf: Leaf, facts: TensorFacts, block: Extent, run: range
) -> list[str]:
    """Read elements of a block that lie side by side, as the leaf's dtype
    has them.
    """
    if not run:
        return []
    at = block.start + run.start * facts.itemsize
    try:
        if isinstance(leaf, numpy.ndarray):
            return _array_texts(leaf.dtype, at, len(run))
        if leaf.device.type == "cpu" and block.start:
            dtype = _PLAIN.get(leaf.dtype, leaf.dtype)
            buffer = _bytes(at, facts.itemsize * len(run))
            values = torch.frombuffer(buffer, dtype=dtype)
        else:
            values = _flat(leaf, facts)[run.start : run.stop]
        return [number_text(value) for value in values.tolist()]
    except (RuntimeError, NotImplementedError, ValueError, TypeError):
        return [UNREAD] * len(run)


def _array_texts(dtype: numpy.dtype, at: int, count: int) -> list[str]:
    if dtype.hasobject:
        return ["object"] * count  # an object's repr may be anything
    buffer = _bytes(at, dtype.itemsize * count)
    values = numpy.frombuffer(buffer, dtype=dtype)
    if dtype.kind in "mM":
        return [str(value) for value in values]
    return [number_text(value) for value in values.tolist()]


def _bytes(start: int, count: int) -> Any:
    """The bytes at an address that a living storage owns."""
    return (ctypes.c_ubyte * count).from_address(start)


def _flat(leaf: torch.Tensor, facts: TensorFacts) -> torch.Tensor:
    """The leaf's whole storage as one row, on the device where it is."""
    if leaf.is_meta:
        raise ValueError("a meta tensor has no data")
    storage = leaf.untyped_storage()
    flat = torch.empty(0, dtype=leaf.dtype, device=leaf.device)
    return flat.set_(storage, 0, (storage.nbytes() // facts.itemsize,), (1,))


def is_fake(tensor: torch.Tensor) -> bool:
    """Say whether a tensor is one of torch's FakeTensors, without data."""
    if type(tensor) in _ORDINARY:
        return False
    module = sys.modules.get("torch._subclasses.fake_tensor")
    return module is not None and issubclass(type(tensor), module.FakeTensor)
