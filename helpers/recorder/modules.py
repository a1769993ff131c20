"""The Modules and optimizers that a program calls."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterable
from dataclasses import replace
from itertools import accumulate
from types import FrameType
from typing import Any

import torch

from ..capture.modules import (
    facts_of_modules,
    parts_of,
    unregistered_in,
)
from ..capture.things import is_a
from ..model import Event, ModuleFacts
from .journal import Journal
from .seen import shape_of_sizes, sizes_of
from .tensors import Tensors


class Modules:
    """Which Module runs, what each is called, and how each was at its end."""

    def __init__(
        self, journal: Journal, tensors: Tensors, held: Iterable[str]
    ) -> None:
        self.facts: dict[str, ModuleFacts] = {}
        self.parameters: dict[str, str] = {}  # ids, by path
        self._journal = journal
        self._tensors = tensors
        self._held = held  # ids of what the optimizers hold
        self._thread = threading.get_ident()
        self._running: list[tuple[str, Any]] = []
        self._paths: dict[int, tuple[Any, str]] = {}
        self._name_depths: dict[str, int] = {}
        self._called: dict[str, weakref.ref[torch.nn.Module]] = {}
        self._begun: dict[str, ModuleFacts] = {}  # as a Module began
        self._shapes: dict[str, Any] = {}  # of each Module's last result
        self._owned: dict[int, set[int]] = {}
        self._given: set[int] = set()

    def close(self) -> None:
        """Remember how all ended, and forget what only a run needs."""
        self.none_runs()
        self._remember()
        self._called.clear()
        self._paths.clear()
        self._owned.clear()

    def none_runs(self) -> None:
        """Forget what runs: a Module that raised never left."""
        self._running.clear()
        self._journal.module = ""

    # -- names

    def note(self, name: str, module: torch.nn.Module, depth: int) -> None:
        """Learn what a Module is called by a function that ``depth`` others
        of the program's called; of several names the outermost one's stands.
        """
        if name == "self":  # a better one is to come
            return
        known = self._path_of(module)
        if known is None or depth < self._name_depths.get(known, depth):
            self._note_parts(name, module)
            self._name_depths.setdefault(name, depth)

    def _note_parts(self, name: str, module: torch.nn.Module) -> None:
        for where, part in parts_of(name, module):
            self._paths[id(part)] = (weakref.ref(part), where)

    def _path_of(self, module: torch.nn.Module) -> str | None:
        """Where a Module is; an id alone may be that of one that is gone."""
        ref, path = self._paths.get(id(module), (None, ""))
        return path if ref is not None and ref() is module else None

    # -- calls, as torch's global hooks tell them

    def enter(self, module: Any, args: Any) -> None:
        """A Module is called."""
        journal = self._journal
        if journal.quiet:
            return
        if threading.get_ident() != self._thread:
            journal.notes.setdefault(
                "What runs in other threads is not recorded, as the call of "
                f"{type(module).__name__}"
            )
            return
        path = self._path_of(module)
        if path is None:  # the caller has no name for it
            path = type(module).__name__
        if not self._running:  # parts may have come or moved since
            self._note_parts(path, module)
        if path not in self._called:
            self._called[path] = weakref.ref(module)
            if not self._running:
                self._note_beginning(path, module)
        self._running.append((path, module))
        journal.module = path
        self._given |= {id(a) for a in args if is_a(a, torch.nn.Parameter)}

    def leave(self, module: Any, args: Any, result: Any) -> None:
        """A Module's call has ended."""
        if self._running and self._running[-1][1] is module:
            path, _ = self._running.pop()
            self._journal.module = (
                self._running[-1][0] if self._running else ""
            )
            first = result
            while type(first) in (tuple, list) and first:
                first = first[0]
            if type(first) is torch.Tensor:
                self._shapes[path] = sizes_of(first)

    def _note_beginning(self, path: str, module: torch.nn.Module) -> None:
        """Look at it and its parts: they may be gone at the end."""
        with self._journal.looking(path):
            parts = dict(parts_of(path, module))
            self._begun.update(facts_of_modules(parts))
            held = [
                *module.named_parameters(path),
                *unregistered_in(path, module),
            ]
            for name, parameter in held:
                self.parameters[name] = self._tensors.see(parameter).id

    def unregistered(self, tensors: Iterable[torch.Tensor]) -> tuple[str, ...]:
        """Notes on Parameters that no Module around this call registers."""
        if not self._running:
            return ()
        outer = self._running[0][1]
        owned = self._owned.get(id(outer))
        if owned is None:
            owned = {id(p) for p in outer.parameters()}
            self._owned[id(outer)] = owned
        notes = []
        for t in tensors:
            if not isinstance(t, torch.nn.Parameter) or id(t) in owned:
                continue
            found = self._tensors.see(t).id
            if id(t) not in self._given and found not in self._held:
                owned |= {id(p) for p in outer.parameters()}
                if id(t) not in owned:
                    notes.append(f"not registered: {found}")
        return tuple(notes)

    def _remember(self) -> None:
        """Count the parameters of all Modules that ran, and of those around
        them.
        """
        around = {
            outer
            for path in self._called
            for outer in accumulate(path.split("."), "{}.{}".format)
        }
        parts = {path: ref() for path, ref in self._called.items()}
        for ref, path in self._paths.values():
            if path in around:
                parts.setdefault(path, ref())
        with self._journal.looking("the Modules"):
            living = {p: m for p, m in parts.items() if m is not None}
            facts = {
                **self._begun,
                **facts_of_modules(living, self._tensors.norms),
            }
            self.facts = {
                path: replace(f, shape=shape_of_sizes(self._shapes.get(path)))
                for path, f in facts.items()
                if path in around
            }


class Optimizers:
    """What each optimizer holds, and what each step of it moved."""

    def __init__(self, journal: Journal, tensors: Tensors) -> None:
        self.held: dict[str, None] = {}  # ids of tensors
        self.stepped: set[int] = set()
        self._journal = journal
        self._tensors = tensors
        self._before: dict[int, list[Any]] = {}
        self._caller: FrameType | None = None

    def close(self) -> None:
        """Forget what only a run needs."""
        self._caller = None
        self._before.clear()

    def note(self, optimizer: Any) -> None:
        """Learn what an optimizer holds."""
        for group in optimizer.param_groups:
            for p in group["params"]:
                self.held[self._tensors.see(p).id] = None

    def before_step(self, optimizer: Any, frame: FrameType | None) -> None:
        """A step begins, called by that frame of the program."""
        self._journal.in_step = True
        self._caller = frame
        self.stepped.add(id(optimizer))
        self.note(optimizer)
        self._before[id(optimizer)] = [
            (p, p._version)
            for group in optimizer.param_groups
            for p in group["params"]
        ]

    def back_from(self, frame: FrameType) -> None:
        """A function of the program's returned: perhaps a step's closure."""
        if self._caller is not None and frame is not self._caller:
            self._journal.in_step = True

    def after_step(self, optimizer: Any) -> None:
        """A step has ended."""
        journal, tensors = self._journal, self._tensors
        before = self._before.pop(id(optimizer), None)
        journal.in_step, self._caller = False, None
        if before is None:
            return
        moved = [p for p, version in before if p._version != version]
        seen = [tensors.see(p) for p in moved]
        journal.add(
            Event(
                len(journal.events),
                "step",
                f"{type(optimizer).__name__}.step",
                journal.line,
                writes=tuple(s.id for s in seen),
                counters=tuple(
                    (s.counter, p._version)
                    for s, p in zip(seen, moved, strict=True)
                ),
                notes=tuple(
                    f"frozen: {s.id}"
                    for s, p in zip(seen, moved, strict=True)
                    if not p.requires_grad
                ),
            )
        )
