"""The tensors and arrays that a recording has seen, and their memory."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Iterable, Iterator
from typing import Any

import numpy
import torch

from ..capture import Identity
from ..capture.private import is_view
from ..capture.tensors import Norms, is_leaf_tensor, is_wrapped
from ..model import Event, Life, Use
from .calls import ALIASES
from .journal import Journal
from .seen import (
    LATER,
    Seen,
    last_state,
    life_of,
    mode_name,
    sizes_of,
    version_of,
)

MOST_WATCHED = 1 << 20  # bytes of an array that is compared line by line


class Tensors:
    """What was seen, by its id; keeps nothing of the program's alive."""

    def __init__(self, journal: Journal) -> None:
        self.identity = Identity()
        self.norms = Norms()  # at the end
        self.seen: dict[str, Seen] = {}
        self.at: dict[int, Seen] = {}  # by id(), to be compared by ref
        self.linking = True  # False: what appears was there before
        self._journal = journal
        self._later: list[Seen] = []  # whose storage was not looked up yet
        self._storage_counter: dict[str, str] = {}
        self._first_on: dict[str, Seen] = {}  # of each storage
        self._arrays: dict[str, weakref.ref[Any]] = {}
        self._exported: dict[str, tuple[tuple[Seen, Seen], bytes]] = {}

    def close(self) -> None:
        """Remember how all ended, and forget what only a run needs."""
        self._journal.quiet += 1
        try:
            for found in self.seen.values():
                if found.names is not None:
                    self.storage(found)
                if found.names is not None or not found.made:
                    found.last = last_state(found.ref(), self.norms)
        finally:
            self._journal.quiet -= 1
        self._exported.clear()
        self._arrays.clear()
        self._first_on.clear()

    def lives(self) -> dict[str, Life]:
        """Return what is known of each as plain data of the model."""
        return {i: life_of(found) for i, found in self.seen.items()}

    def versions(self, those: Iterable[Seen]) -> dict[str, int | None]:
        """Return the versions of tensors, and of their storages."""
        found: dict[str, int | None] = {}
        with self._journal.looking("what there is"):
            for seen in list(those):
                leaf = seen.ref()
                version = None
                if isinstance(leaf, torch.Tensor) and not is_wrapped(leaf):
                    version = version_of(leaf)
                found[seen.id] = version
                storage = self.storage(seen)
                if storage is not None and found.get(storage) is None:
                    found[storage] = version
        return found

    # -- a tensor comes

    def see(self, leaf: Any) -> Seen:
        """Return what is known of a tensor or array, from now on at least."""
        found = self.at.get(id(leaf))
        if found is not None and found.ref() is leaf:
            return found
        name = self.identity.of(leaf)
        found = self.seen.get(name)
        if found is None:
            if isinstance(leaf, numpy.ndarray):
                found = self._first_look_at_array(name, leaf)
            else:
                storage = self.identity.of_storage(leaf)
                found = self._first_look(name, leaf, storage)
            self._keep(leaf, found)
            if isinstance(leaf, torch.Tensor) and found.storage is not None:
                self._link_by_memory(leaf, found)
        return found

    def made(self, name: str, t: torch.Tensor, sources: list[Seen]) -> Seen:
        """Note a result: a view shares the counter of its source, and
        ``.data`` gives a tensor with a counter of its own.
        """
        number = self.identity.of(t)
        made = self.seen.get(number)
        if made is not None:
            self.at[id(t)] = made
            return made
        if name not in ALIASES and t.dim() and not is_view(t):
            # (A loss is looked up at once: it may be wrapped and be gone.)
            return self._made_anew(number, self.identity.ref(t), t)
        storage = self.identity.of_storage(t)
        source = None
        for found in sources:
            if storage is not None and self.storage(found) == storage:
                source = found
                break
        made = self._first_look(number, t, storage, source)
        made.made = True
        self._first_on.setdefault(storage or "", made)
        if name == "data":
            made.counter = number
        return self._keep(t, made)

    def made_new(self, t: torch.Tensor) -> Seen:
        """Note a result that no one has seen and that is no view."""
        return self._made_anew(*self.identity.new(t), t)

    def made_again(self, t: torch.Tensor) -> None:
        """Note that a tensor was seen while it was being made."""
        found = self.seen.get(self.identity.known(t) or "")
        if found is not None:
            found.made = True

    def _made_anew(
        self, number: str, ref: weakref.ref[Any], t: torch.Tensor
    ) -> Seen:
        """In memory of its own, which is looked up when it is asked for."""
        made = Seen(
            number,
            ref,
            LATER,
            number,
            None,
            sizes_of(t),
            t.dtype,
            type(t).__name__,
        )
        made.made = True
        self._later.append(made)
        return self._keep(t, made)

    def _keep(self, leaf: Any, found: Seen) -> Seen:
        self.seen[found.id] = self.at[id(leaf)] = found
        return found

    def _first_look(
        self,
        name: str,
        leaf: torch.Tensor,
        storage: str | None,
        source: Seen | None = None,
    ) -> Seen:
        if source is not None:
            counter = source.counter
        else:
            counter = self._storage_counter.get(storage or "", "")
        if not counter:
            counter = name
            if storage is not None:
                self._storage_counter[storage] = counter
        return Seen(
            name,
            weakref.ref(leaf),
            storage,
            counter,
            None if source is None else source.id,
            sizes_of(leaf),
            leaf.dtype,
            type(leaf).__name__,
        )

    def _first_look_at_array(self, name: str, array: numpy.ndarray) -> Seen:
        storage = self.identity.of_block([array])
        ref = weakref.ref(array)
        self._arrays[name] = ref
        shape, dtype = array.shape, array.dtype
        return Seen(name, ref, storage, "", None, shape, dtype, "ndarray")

    def _link_by_memory(self, leaf: torch.Tensor, found: Seen) -> None:
        """Note where a tensor comes from that no operation was seen to make:
        ``nn.Parameter(t)`` and ``torch.from_numpy(a)`` lie on known bytes.
        """
        for other in self._later:
            self.storage(other)
        self._later.clear()
        source = self._first_on.get(found.storage or "")
        name = type(leaf).__name__
        if source is None:
            source, name = self._array_under(leaf), "from_numpy"
            if source is not None:
                found.storage = source.storage
                self._watch_bytes(source.storage or "", leaf)
        if source is None or not self.linking:
            self._first_on.setdefault(found.storage or "", found)
            return
        tensor = source.ref()
        history = source.grad
        if isinstance(tensor, torch.Tensor):
            history = tensor.requires_grad
        journal = self._journal
        journal.add(
            Event(
                len(journal.events),
                "operation",
                name,
                journal.line,
                journal.module,
                mode_name(),
                (Use(source.id, history),),
                (Use(found.id, leaf.requires_grad),),
                cut="copy" if history and is_leaf_tensor(leaf) else "",
            )
        )

    def _array_under(self, leaf: torch.Tensor) -> Seen | None:
        """The array that left torch or came in, on whose bytes it lies."""
        if not self._arrays:
            return None
        try:
            if leaf.device.type != "cpu" or not leaf.numel():
                return None
            address = torch.Tensor.data_ptr(leaf)
        except (RuntimeError, NotImplementedError):
            return None
        for ref in self._arrays.values():
            array = ref()
            if array is not None:
                low = array.__array_interface__["data"][0]
                if low <= address < low + array.nbytes:
                    return self.see(array)
        return None

    # -- its memory

    def storage(self, found: Seen) -> str | None:
        """The storage of a tensor that was seen, looked up when needed."""
        if found.storage is LATER:
            leaf = found.ref()
            if leaf is None:
                return None
            found.storage = self.identity.of_storage(leaf)
            if found.storage is not None:
                counter = self._storage_counter.setdefault(
                    found.storage, found.counter
                )
                found.counter = counter
                self._first_on.setdefault(found.storage, found)
        return found.storage

    def with_the_bytes_of(
        self,
        tensor: torch.Tensor,
        before: list[tuple[torch.Tensor, bool]],
    ) -> Seen | None:
        """The tensor whose version counter a saved one has: by its object,
        else by its bytes.
        """
        known = self.seen.get(self.identity.known(tensor) or "")
        if known is not None:
            return known
        for source, _ in before:
            self.storage(self.see(source))
        return self._first_on.get(self.identity.known_storage(tensor) or "")

    # -- NumPy

    def leave(self, tensor: torch.Tensor, array: numpy.ndarray) -> None:
        """Note that an array looks at the bytes of a tensor."""
        block = self.identity.of_block([tensor, array])
        self.see(array).storage = self.see(tensor).storage = block
        self._watch_bytes(block, tensor)

    @property
    def watches(self) -> bool:
        """Whether there are bytes that NumPy may write to."""
        return bool(self._exported)

    def written_by_numpy(self) -> Iterator[tuple[str, Seen]]:
        """Find storages whose bytes have changed since the last time, with
        the first tensor on each: no version counter notices such a write.
        """
        for storage, (pair, bytes_before) in list(self._exported.items()):
            living = [t for found in pair if (t := found.ref()) is not None]
            now = _bytes_of(living[0]) if living else None
            if now is None:
                del self._exported[storage]
            elif now != bytes_before:
                self._exported[storage] = (pair, now)
                yield storage, pair[0]

    def _watch_bytes(self, storage: str, tensor: torch.Tensor) -> None:
        now = _bytes_of(tensor)
        if now is not None:
            found = self.see(tensor)
            first = self._first_on.get(storage, found)
            self._exported[storage] = ((first, found), now)


def _bytes_of(tensor: torch.Tensor) -> bytes | None:
    storage = torch.Tensor.untyped_storage(tensor)
    size = storage.nbytes()
    if tensor.device.type != "cpu" or not 0 < size <= MOST_WATCHED:
        return None
    return ctypes.string_at(storage.data_ptr(), size)
