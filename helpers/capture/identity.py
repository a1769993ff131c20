"""Running numbers for tensors and storages, told by weak references.

``id()`` and addresses are used again as soon as a thing is gone; here a thing
that is gone never shares its number with a later one.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import Any

import numpy
import torch

from .things import Leaf

__all__ = ["Identity"]


class Identity:
    """Ids in order of first appearance: ``t0``, ``t1``, …, ``s0``, …

    Keeps nothing alive.
    """

    def __init__(self) -> None:
        self._leaves: dict[int, tuple[weakref.ref[Any], str]] = {}
        self._memory: dict[Any, tuple[Any, str]] = {}
        self._leaf_count = 0
        self._memory_count = 0

    def known(self, leaf: Any) -> str | None:
        """Return the id of a leaf that was seen before."""
        entry = self._leaves.get(id(leaf))
        return entry[1] if entry and entry[0]() is leaf else None

    def of(self, leaf: Leaf) -> str:
        """Return the id of a tensor or an array, a new one for a new leaf."""
        entry = self._leaves.get(id(leaf))
        if entry and entry[0]() is leaf:
            return entry[1]
        return self.new(leaf)[0]

    def new(self, leaf: Leaf) -> tuple[str, weakref.ref[Any]]:
        """Give an id to a leaf that has just been made."""
        name = f"t{self._leaf_count}"
        self._leaf_count += 1
        ref = weakref.ref(leaf)
        self._leaves[id(leaf)] = ref, name
        return name, ref

    def ref(self, leaf: Leaf) -> weakref.ref[Any]:
        """Return the weak reference to a leaf that has an id."""
        return self._leaves[id(leaf)][0]

    def living(self) -> list[tuple[str, Leaf]]:
        """Return the leaves that still exist, with their ids."""
        found = []
        for key, (ref, name) in list(self._leaves.items()):
            leaf = ref()
            if leaf is None:
                del self._leaves[key]
            else:
                found.append((name, leaf))
        return found

    def known_storage(self, leaf: torch.Tensor) -> str | None:
        """Return the id of a tensor's storage that was seen before."""
        try:
            storage = torch.Tensor.untyped_storage(leaf)
        except (RuntimeError, NotImplementedError, ValueError):
            return None
        entry = self._memory.get(storage._cdata)
        return entry[1] if entry and not entry[0].expired() else None

    def of_storage(self, leaf: torch.Tensor) -> str | None:
        """Return the id of a tensor's storage; None where it has none."""
        try:
            storage = torch.Tensor.untyped_storage(leaf)
        except (RuntimeError, NotImplementedError, ValueError):
            return None
        key = storage._cdata
        entry = self._memory.get(key)
        if entry and not entry[0].expired():
            return entry[1]
        return self._remember(key, _Storage(storage))

    def of_block(self, leaves: Iterable[Leaf]) -> str:
        """Return the id of a piece of memory that several leaves share: the
        oldest one that any of them had.
        """
        leaves = list(leaves)
        ids = [i for leaf in leaves if (i := self._seen_storage(leaf))]
        oldest = min(ids, key=lambda i: int(i[1:])) if ids else None
        name = oldest or self._new_storage(leaves[0])
        for leaf in leaves:
            key, handle = self._handle(leaf)
            if key is not None:
                self._memory[key] = (handle, name)
        return name

    def _seen_storage(self, leaf: Leaf) -> str | None:
        key, _ = self._handle(leaf)
        entry = self._memory.get(key)
        return entry[1] if entry and not entry[0].expired() else None

    def _new_storage(self, leaf: Leaf) -> str:
        key, handle = self._handle(leaf)
        return self._remember(key, handle)

    def _remember(self, key: Any, handle: Any) -> str:
        name = f"s{self._memory_count}"
        self._memory_count += 1
        if key is not None:
            self._memory[key] = (handle, name)
        return name

    @staticmethod
    def _handle(leaf: Leaf) -> tuple[Any, Any]:
        """A key for a leaf's memory, and how to see whether it is gone."""
        if isinstance(leaf, numpy.ndarray):
            while isinstance(leaf.base, numpy.ndarray):
                leaf = leaf.base
            return ("array", id(leaf)), _Alive(leaf)
        try:
            storage = torch.Tensor.untyped_storage(leaf)
        except (RuntimeError, NotImplementedError, ValueError):
            return None, None
        return storage._cdata, _Storage(storage)


class _Storage:
    """A weak handle on a storage: it can't be taken for a later one at the
    same address.
    """

    __slots__ = ("_handle",)

    def __init__(self, storage: torch.UntypedStorage) -> None:
        self._handle = storage._weak_ref()

    def expired(self) -> bool:
        return bool(torch.UntypedStorage._expired(self._handle))

    def __del__(self, free: Any = torch.UntypedStorage._free_weak_ref) -> None:
        handle = getattr(self, "_handle", None)
        if handle is not None:
            free(handle)


class _Alive:
    """A weak reference that answers as _Storage does."""

    def __init__(self, thing: Any) -> None:
        self._ref = weakref.ref(thing)

    def expired(self) -> bool:
        return self._ref() is None
