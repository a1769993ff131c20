"""The lines that ran, and how all looked after each."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import FrameType, FunctionType
from typing import Any

import torch

from ..capture import Caller, take
from ..capture.names import visible
from ..capture.tensors import gradient_of
from ..capture.things import is_a, tensors_in
from ..model import Event, Snapshot, Step, Use
from .calls import NO_TENSOR, PLAIN_TENSORS
from .modules import Modules, Optimizers
from .operations import Operations

MOST_SNAPSHOTS = 120  # steps that keep a picture of everything
SNAPSHOT_SECONDS = 8.0  # and the time that all of them may take
MOST_TENSORS = 2_000  # in one snapshot


class Steps:
    """A step is a line of ``filename`` that ran to its end.

    ``namespace`` is where the variables live, ``around`` those that only
    lend their names to what is used.
    """

    def __init__(
        self,
        filename: str,
        namespace: Callable[[], dict[str, Any]],
        around: Callable[[], dict[str, Any]],
        operations: Operations,
        modules: Modules,
        optimizers: Optimizers,
    ) -> None:
        self.filename = filename
        self.namespace = namespace
        self.around = around
        self.frame: FrameType | None = None  # whose line runs
        self.last = Snapshot()
        self.names: dict[str, str] = {}  # ids of tensors, by name
        self.before: dict[str, int | None] = {}  # versions
        self.full = False  # no more of them keep a snapshot
        self._journal = operations.journal
        self._tensors = operations.tensors
        self._operations = operations
        self._modules = modules
        self._optimizers = optimizers
        self._done: list[tuple[Any, ...]] = []  # fields of a Step
        self._printed: list[str] = []
        self._line: int | None = None
        self._first = 0  # the step's first event
        self._spent = 0.0  # seconds, on snapshots
        self._kept = 0  # snapshots
        self._values: dict[str, int] | None = None

    def open(self) -> None:
        """Look at what is there before anything runs."""
        tensors = self._tensors
        tensors.linking = False  # what was there before is no operation
        self.note_names(self._caller(self._variables()))
        tensors.linking = True
        self.before = tensors.versions(tensors.seen.values())

    def close(self) -> None:
        """End the last step; long runs are looked at once more."""
        self.end()
        if self.full:
            self._journal.quiet += 1
            try:
                caller = self._caller(self._variables())
                self.note_names(caller)
                self.last = self._take(caller)
            finally:
                self._journal.quiet -= 1
        self.frame = None

    def printed(self, text: str) -> None:
        """Note what the program prints."""
        self._printed.append(text)

    def begin(self, frame: FrameType) -> None:
        """A line begins to run."""
        journal = self._journal
        journal.line = self._line = frame.f_lineno
        self._first = len(journal.events)
        self.frame = frame

    def back_in(self, line: int) -> None:
        """A function returned into a line that is no step any more."""
        self._journal.line = line
        self._line = None

    def end(self) -> None:
        """The line that runs, if any does, has ended."""
        if self._line is None:
            return
        line, self._line = self._line, None
        during = range(self._first, len(self._journal.events))
        watches = self._tensors.watches
        snapshot = None
        if watches or not self.full:  # else a line costs little
            with self._journal.looking("what there is"):
                if watches:
                    self._note_numpy(during)
                    during = range(self._first, len(self._journal.events))
                if not self.full:
                    snapshot = self._snapshot(during)
        printed = "".join(self._printed)
        self._printed.clear()
        self._done.append((line, snapshot, printed, during))

    def all(self, place: dict[int, int]) -> tuple[Step, ...]:
        """Return the steps as plain data; ``place`` says where each event is
        now.
        """
        return tuple(
            Step(
                number,
                line,
                snapshot,
                printed,
                tuple(dict.fromkeys(place[i] for i in during if i in place)),
            )
            for number, (line, snapshot, printed, during) in enumerate(
                self._done
            )
        )

    def _note_numpy(self, during: range) -> None:
        """Note writes through NumPy that no operation of this step made."""
        operations, tensors = self._operations, self._tensors
        for storage, first in tensors.written_by_numpy():
            if any(
                tensors.storage(tensors.seen[written]) == storage
                for i in during
                for written in operations.event(i).writes
            ):
                continue
            self._journal.add(
                Event(
                    len(self._journal.events),
                    "numpy_write",
                    "a write into the array",
                    self._journal.line,
                    outputs=(Use(first.id, False),),
                    writes=(first.id,),
                )
            )

    # -- what there is

    def _variables(self) -> dict[str, Any]:
        variables = dict(visible(self.namespace()))
        frame = self.frame
        if frame is not None and frame.f_locals is not self.namespace():
            variables |= visible(frame.f_locals)
        return variables

    def _caller(self, variables: dict[str, Any]) -> Caller:
        tensors = self._tensors
        used = {}
        for name, thing in visible(self.around()).items():
            ids = [
                tensors.identity.known(t) for _, t in tensors_in(name, thing)
            ]
            found = [tensors.seen[i] for i in ids if i in tensors.seen]
            if found and name not in variables:
                used[name] = thing
                new = [seen for seen in found if seen.id not in self.before]
                self.before |= tensors.versions(new)
        return Caller({**used, **variables})

    def _snapshot(self, during: range) -> Snapshot | None:
        variables = self._variables()
        values = _unchanging(variables)
        same = not during and values is not None and values == self._values
        self._values = values
        caller = self._caller(variables)
        if not same:
            self.note_names(caller)
        if self._kept >= MOST_SNAPSHOTS or self._spent > SNAPSHOT_SECONDS:
            self.full = True
            self._journal.notes.setdefault(
                f"Only the first {self._kept:,} steps show everything"
            )
            return None
        if not same:
            start = time.perf_counter()
            self.last = self._take(caller)
            self._spent += time.perf_counter() - start
        self._kept += 1
        return self.last

    def _take(self, caller: Caller) -> Snapshot:
        try:
            return take(
                "draw_memory",
                [],
                caller,
                identity=self._tensors.identity,
                most=MOST_TENSORS,
            )
        except ValueError:  # no tensor yet
            return Snapshot()

    # -- what all is called

    def note_what_came_back(self, frame: FrameType) -> None:
        """Learn the names that a line gave after it had called a function of
        the program's: that line is no step any more.
        """
        self.frame = frame
        with self._journal.looking("the names"):
            self.note_names(self._caller(self._variables()))

    def note_names(self, caller: Caller) -> None:
        """Remember what each living tensor is called now."""
        self.names = {}
        looking = self._journal.looking
        for name, thing in caller.variables.items():
            with looking(name):
                if is_a(thing, torch.nn.Module):
                    mine = self.namespace().get(name) is thing
                    depth = 0 if mine else self._depth()
                    self._modules.note(name, thing, depth)
                elif is_a(thing, torch.optim.Optimizer):
                    self._optimizers.note(thing)
        with looking("the names"):
            for path, leaf in caller.leaves:
                self._call(leaf, path)
                grad = gradient_of(leaf)
                if grad is not None:
                    self._call(grad, f"{path}.grad")

    def _call(self, leaf: Any, name: str) -> None:
        found = self._tensors.see(leaf)
        if found.names is None:
            found.names = {}
        found.names[name] = None
        self.names[name] = found.id

    def _depth(self) -> int:
        """How many functions of the program are running."""
        depth, frame = 0, self.frame
        while frame is not None:
            depth += frame.f_code.co_filename == self.filename
            frame = frame.f_back
        return depth


_UNCHANGING = {*PLAIN_TENSORS, *NO_TENSOR, FunctionType, type}


def _unchanging(variables: dict[str, Any]) -> dict[str, int] | None:
    """Which tensor each variable is, by id(), where none can change but by an
    operation: no array, and nothing that holds tensors.
    """
    if all(type(value) in _UNCHANGING for value in variables.values()):
        return {
            name: id(value)
            for name, value in variables.items()
            if type(value) in PLAIN_TENSORS
        }
    return None
