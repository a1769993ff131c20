"""What an operation does: what goes in and comes out, what it saves, cuts."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from types import FrameType
from typing import Any

import numpy
import torch

from ..capture.nodes import accumulates, kept_tensors
from ..capture.private import is_view, packs
from ..capture.storages import is_fake
from ..capture.tensors import grad_fn_of, is_leaf_tensor, shares_counter
from ..model import Event, SavedVersion, Use
from .calls import LABELS, LEAVES, PLAIN_TENSORS, collect, written_by
from .forms import (
    INPUTS,
    KIND,
    MOST_PLANS,
    OUTPUTS,
    SAVED,
    UNPLANNED,
    Plan,
    form_of,
)
from .journal import Journal
from .modules import Modules
from .seen import Seen, mode_name, version_of
from .tensors import Tensors

MOST_PARTS = 12  # nodes of one operation that are looked at


class Operations:
    """Runs operations, notes them, and tells them as events of the model."""

    def __init__(
        self, journal: Journal, tensors: Tensors, modules: Modules
    ) -> None:
        self.journal = journal
        self.tensors = tensors
        self._modules = modules
        self._plans: dict[Any, Plan] = {}  # by the form of a call
        self._learned: list[Plan] = []
        self._left: list[tuple[Any, Use]] = []  # floats that left torch

    def close(self) -> None:
        """Forget what only a run needs."""
        self._left.clear()

    def event(self, number: int) -> Event:
        """Return an event as plain data of the model."""
        events, seen = self.journal.events, self.tensors.seen
        event = events[number]
        if isinstance(event, tuple):
            if event[0] is not None:
                event = self._learned[event[0]].event(*event[1:])
            told = list(event)
            told[INPUTS] = tuple(Use(*use) for use in event[INPUTS])
            told[OUTPUTS] = tuple(Use(*use) for use in event[OUTPUTS])
            told[9] = tuple((seen[i].counter, v) for i, v in event[9])
            told[10] = tuple(
                SavedVersion(
                    label,
                    "" if version is None else seen[i].counter,
                    version or 0,
                    self.tensors.storage(seen[i]),
                )
                for label, i, version in event[10]
            )
            event = Event(*told)
        if event.number != number:
            event = replace(event, number=number)
        events[number] = event
        return event

    def mark(self, first: int, mark: str) -> None:
        for i in range(first, len(self.journal.events)):
            event = self.event(i)
            self.journal.events[i] = replace(event, notes=(*event.notes, mark))

    def run(
        self, name: str, writes: bool, func: Any, args: Any, kwargs: Any
    ) -> Any:
        """Run an operation and note what went in and came out."""
        if writes or name in UNPLANNED:
            return self._run_in_full(name, writes, func, args, kwargs, None)
        form, tensors = form_of(func, args, kwargs)
        plan = self._plans.get(form)
        if plan is None or packs():
            return self._run_in_full(name, False, func, args, kwargs, form)
        result = func(*args, **kwargs)
        self.journal.quiet += 1  # as _looking() does, which costs more
        try:
            self._note_again(plan, tensors, result)
            if self._left:
                self._link_left(args)
        except Exception as error:
            self.journal.not_seen(name, error)
        finally:
            self.journal.quiet -= 1
        return result

    def _run_in_full(
        self,
        name: str,
        writes: bool,
        func: Any,
        args: Any,
        kwargs: Any,
        form: Any,
    ) -> Any:
        """Run an operation, look at it in full, and learn its form."""
        ins: list[Any] = []
        collect(args, ins)
        collect(kwargs.values(), ins)
        if any(type(t) not in PLAIN_TENSORS and _is_fake(t) for t in ins):
            return func(*args, **kwargs)  # a compiler looks, nothing runs
        before = [
            (t, t.requires_grad) for t in ins if isinstance(t, torch.Tensor)
        ]
        result = func(*args, **kwargs)
        outs: list[Any] = []
        collect((result,), outs)
        outs = [t for t in outs if isinstance(t, torch.Tensor)]
        written = written_by(name, args, kwargs, outs)
        if not outs and not written and name not in LEAVES:
            return result
        with self.journal.looking(name):  # what we can't see must not stop it
            self.note(name, result, before, ins, outs, written)
            if form is not None and type(result) is torch.Tensor:
                self._plan(form, before, result)
            if self._left:
                self._link_left(args)
        return result

    def _plan(
        self,
        form: Any,
        before: list[tuple[torch.Tensor, bool]],
        result: torch.Tensor,
    ) -> None:
        """Learn from an operation what the next one of its form will do."""
        event = self.journal.events[-1]
        if (
            len(self._plans) >= MOST_PLANS
            or not result.dim()
            or is_view(result)
            or type(event) is not tuple
            or event[0] is not None
            or event[KIND] != "operation"
            or any(result is t for t, _ in before)
            or packs()
        ):
            return
        places = {self.tensors.see(t).id: i for i, (t, _) in enumerate(before)}
        places[self.tensors.see(result).id] = -1
        saved = []
        for label, tensor, version in event[SAVED]:
            if tensor not in places or version is None:
                return
            saved.append((label, places[tensor]))
        self._plans[form] = plan = Plan(
            len(self._learned),
            event,
            tuple(saved),
            result.requires_grad,
            result.dtype,
            any(type(t) is torch.nn.Parameter for t, _ in before),
        )
        self._learned.append(plan)

    def _note_again(
        self, plan: Plan, tensors: list[torch.Tensor], result: torch.Tensor
    ) -> None:
        """Note an operation as one of its form before."""
        at, journal = self.tensors.at, self.journal
        facts: list[Any] = []
        for t in tensors:
            found = at.get(id(t))
            if found is None or found.ref() is not t:
                found = self.tensors.see(t)
            facts.append(found.id)
        made = self.tensors.made_new(result)
        made.grad = plan.history
        for _, place in plan.saved:
            saver = result if place < 0 else tensors[place]
            facts.append(saver._version)
        module = journal.module
        notes: tuple[str, ...] = ()
        if module and plan.parameters:
            notes = self._modules.unregistered(tensors)
        # flat, as the garbage collector passes over tuples of plain things
        journal.add(
            (plan.number, journal.line, module, notes, made.id, *facts)
        )

    def note(
        self,
        name: str,
        result: Any,
        before: list[tuple[torch.Tensor, bool]],
        ins: list[Any],
        outs: list[torch.Tensor],
        written: list[torch.Tensor],
    ) -> None:
        """Note an operation: ``before`` are the tensors of ``ins``, each with
        its requires_grad from before.
        """
        see = self.tensors.see
        sources = [see(t) for t, _ in before]
        inputs = [
            (found.id, flag)
            for found, (_, flag) in zip(sources, before, strict=True)
        ]
        if len(ins) > len(before):
            arrays = [a for a in ins if isinstance(a, numpy.ndarray)]
            inputs += [(see(a).id, False) for a in arrays]
        results = outs or written
        made = [self.tensors.made(name, t, sources) for t in results]
        outputs = []
        for found, t in zip(made, results, strict=True):
            flag = t.requires_grad
            found.grad = found.grad or flag
            outputs.append((found.id, flag))
        history, kept = _history(before, results, written)
        kind = "operation"
        writes: tuple[Any, ...] = ()
        counters: tuple[Any, ...] = ()
        if written:
            kind = "in_place"
            writes = tuple(see(t).id for t in written)
            versions = [version_of(t) for t in written]
            counters = tuple(zip(writes, versions, strict=True))
        elif not outs:
            kind = "leaves"
            self._leave(result, inputs, before)
            if isinstance(result, numpy.ndarray):
                outputs.append((see(result).id, False))
        saved, grad_fn, more = (), "", 0
        if kept:
            saved, grad_fn, more = self._saved(
                name, results[0], made[0], before
            )
        recording = torch.is_grad_enabled()
        module = self.journal.module
        notes: tuple[str, ...] = ()
        if module or not recording:
            notes = self._notes_on(before, results)
        self.journal.add(
            (
                None,
                kind,
                name,
                self.journal.line,
                module,
                "grad" if recording else mode_name(),
                inputs,
                outputs,
                writes,
                counters,
                saved,
                _cut_by(name, outs) if history and not kept else "",
                grad_fn,
                None,
                (),
                "",
                notes,
                more,
            )
        )

    def _leave(
        self,
        result: Any,
        inputs: list[tuple[str, bool]],
        before: list[tuple[torch.Tensor, bool]],
    ) -> None:
        """Remember what leaves torch, so that its return can be told."""
        if isinstance(result, numpy.ndarray) and before:
            self.tensors.leave(before[0][0], result)
        elif isinstance(result, float):
            self._left = [*self._left[-50:], (result, Use(*inputs[0]))]

    def _link_left(self, args: Any) -> None:
        numbers: list[Any] = []
        for a in args:
            numbers += a if type(a) in (list, tuple) else [a]
        numbers = [a for a in numbers if type(a) is float]
        for value, use in self._left if numbers else ():
            if any(a is value for a in numbers) and self.journal.events:
                last = self.event(len(self.journal.events) - 1)
                self.journal.events[-1] = replace(
                    last,
                    inputs=(*last.inputs, Use(use.tensor, False)),
                    notes=(*last.notes, f"left torch: {use.tensor}"),
                )

    def _saved(
        self,
        name: str,
        result: torch.Tensor,
        made: Seen,
        before: list[tuple[torch.Tensor, bool]],
    ) -> tuple[Any, str, int]:
        """What the operation saved for backward, with its versions, the name
        of its grad_fn, and the bytes that it saved and nothing else has.
        """
        node = grad_fn_of(result)
        if node is None:
            return (), "", 0
        found, more = [], 0
        for label, tensor in _kept_behind(node, name, before):
            if not tensor.is_inference():
                known = made if label in ("result", "result0") else None
                known = known or self.tensors.with_the_bytes_of(tensor, before)
                if known is not None:
                    version = _counted(tensor, known)
                    found.append((label, known.id, version))
                else:
                    more += tensor.nbytes
        return found, type(node).__name__, more

    def _notes_on(
        self,
        before: list[tuple[torch.Tensor, bool]],
        results: list[torch.Tensor],
    ) -> tuple[str, ...]:
        notes = self._modules.unregistered([t for t, _ in before])
        if not torch.is_grad_enabled():
            ins = [t for t, _ in before]
            views = [
                t
                for t in results
                if t.requires_grad
                and is_leaf_tensor(t)
                and all(t is not other for other in ins)
                and is_view(t)
            ]
            notes += tuple(
                f"view from no_grad: {self.tensors.see(t).id}" for t in views
            )
        return notes


def _history(
    before: list[tuple[torch.Tensor, bool]],
    results: list[torch.Tensor],
    written: list[torch.Tensor],
) -> tuple[bool, bool]:
    """Say whether a history comes in, and whether a result goes on with it."""
    ins = [t for t, _ in before]
    kept = any(
        t.requires_grad
        and (not is_leaf_tensor(t) or any(t is other for other in ins))
        for t in results
    )
    if written and kept and not torch.is_grad_enabled():
        # nothing is recorded: the history of all others ends here
        own = [flag for t, flag in before if all(t is not w for w in written)]
        return any(own), False
    return any(flag for _, flag in before), kept


def _cut_by(name: str, outs: list[torch.Tensor]) -> str:
    label = LABELS.get(name)
    if name == "data" and _asked_by_torch():
        return ""  # deepcopy and lazy Modules do that, not the program
    if label in ("detach", "data", "item", "numpy"):
        return label
    if torch.is_inference_mode_enabled():
        return "inference_mode"
    if label:
        return label
    if not torch.is_grad_enabled():
        return "no_grad"
    return "not_differentiable" if outs else ""


def _kept_behind(
    node: Any, name: str, before: list[tuple[torch.Tensor, bool]]
) -> list[tuple[str, torch.Tensor]]:
    """What the node saved; of an operation made of several, all nodes
    down to those of its inputs.
    """
    found = kept_tensors(node)
    kind = type(node).__name__.lower()
    if kind.startswith(name.strip("_")) or len(before) < 2:
        return found
    ends = {grad_fn_of(t) for t, _ in before}
    ahead = [n for n, _ in node.next_functions]
    for _ in range(MOST_PARTS):
        if not ahead:
            break
        part = ahead.pop()
        if part is None or part in ends or accumulates(part):
            continue
        found = found + [(f"part {k}", t) for k, t in kept_tensors(part)]
        ahead += [n for n, _ in part.next_functions]
    return found


def _counted(tensor: torch.Tensor, known: Seen) -> int | None:
    """The version of a saved tensor; None where the counter that stands
    for it is not that of the tensor with its bytes.
    """
    other = known.ref()
    if not isinstance(other, torch.Tensor) or other.is_inference():
        return tensor._version
    if other is tensor or is_view(tensor):
        return tensor._version
    return tensor._version if shares_counter(tensor, other) else None


def _asked_by_torch() -> bool:
    """Say whether torch's own Python code made the call that is noted."""
    frame: FrameType | None = sys._getframe(1)
    here = os.path.dirname(__file__)  # noqa: PTH120
    while frame is not None and frame.f_code.co_filename.startswith(here):
        frame = frame.f_back
    home = os.path.dirname(torch.__file__)  # noqa: PTH120
    return frame is not None and frame.f_code.co_filename.startswith(home)


def _is_fake(leaf: Any) -> bool:
    return isinstance(leaf, torch.Tensor) and is_fake(leaf)
