"""Watches a program run: its lines, and what each line does to tensors.

Operations are seen through a ``TorchFunctionMode``, lines through a trace
function that follows the recorded source only, Modules and optimizers through
torch's public global hooks.  No name of torch's is replaced, and everything
is put back also when the program raises.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import accumulate
from types import FrameType, FunctionType
from typing import Any

import numpy
import torch
from torch.nn.modules import module as nn_module
from torch.optim import optimizer as torch_optimizer
from torch.overrides import TorchFunctionMode

from ..capture import Caller, Identity, take
from ..capture.modules import (
    facts_of_modules,
    parts_of,
    unregistered_in,
)
from ..capture.names import visible
from ..capture.nodes import (
    accumulates,
    in_forward_order,
    kept_tensors,
    leaves_of,
)
from ..capture.private import (
    Unseen,
    function_modes,
    is_view,
    packs,
    pop_mode,
    push_mode,
)
from ..capture.storages import is_fake
from ..capture.tensors import (
    grad_fn_of,
    gradient_of,
    is_leaf_tensor,
    is_wrapped,
    shares_counter,
)
from ..capture.things import is_a, tensors_in
from ..model import (
    Event,
    ModuleFacts,
    Run,
    SavedVersion,
    Snapshot,
    Step,
    Use,
)
from .calls import (
    ALIASES,
    AUGMENTED,
    LABELS,
    LEAVES,
    NO_TENSOR,
    PLAIN_TENSORS,
    QUIET,
    VIEWS,
    collect,
    written_by,
)
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
from .regions import is_dynamo, is_function_module, with_regions
from .seen import (
    LATER,
    Seen,
    last_state,
    life_of,
    mode_name,
    shape_of_sizes,
    sizes_of,
    version_of,
)

__all__ = ["Recorder"]

STRICT = False  # the tests want to hear of what could not be looked at
MOST_SNAPSHOTS = 120  # steps that keep a picture of everything
SNAPSHOT_SECONDS = 8.0  # and the time that all of them may take
MOST_TENSORS = 2_000  # in one snapshot
MOST_EVENTS = 200_000
MOST_PARTS = 12  # nodes of one operation that are looked at
MOST_WATCHED = 1 << 20  # bytes of an array that is compared line by line


class _Mode(TorchFunctionMode):
    def __init__(self, recorder: Recorder) -> None:
        super().__init__()
        self.recorder = recorder

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        recorder = self.recorder
        kwargs = kwargs or {}
        handler = recorder.handlers.get(func)
        if handler is None:
            handler = recorder.choose(func)
        if recorder.quiet or recorder._in_step or handler is _pass:
            return func(*args, **kwargs)
        if not recorder.following:
            return handler(recorder, func, args, kwargs)
        tracer = sys.gettrace()
        try:
            sys.settrace(None)  # our own functions are not to be followed
            return handler(recorder, func, args, kwargs)
        finally:
            sys.settrace(tracer)


def _pass(recorder: Any, func: Any, args: Any, kwargs: Any) -> Any:
    return func(*args, **kwargs)


class Recorder:
    """One recording: use it as a context, then ask for the :class:`Run`.

    ``filename`` is the source that is followed line by line, ``namespace``
    where its variables live, ``around`` those that only lend their names to
    what is used.
    """

    def __init__(
        self,
        filename: str,
        namespace: Callable[[], dict[str, Any]],
        lines: bool = True,
        around: Callable[[], dict[str, Any]] = dict,
    ) -> None:
        self.filename = filename
        self.namespace = namespace
        self.around = around
        self.lines = lines
        self.identity = Identity()
        self.handlers: dict[Any, Callable[..., Any]] = {}
        self.events: list[Any] = []  # Event, or its fields in a tuple
        self.steps: list[tuple[Any, ...]] = []  # fields of a Step
        self.seen: dict[str, Seen] = {}
        self.quiet = 0
        self.following = False
        self.line: int | None = None
        self.last = Snapshot()
        self.notes: dict[str, None] = {}
        self.held: dict[str, None] = {}
        self.optimizers: set[int] = set()
        self._names: dict[str, str] = {}
        self.modules: dict[str, ModuleFacts] = {}
        self.parameters: dict[str, str] = {}
        self._left: list[tuple[Any, Use]] = []
        self._modules: list[tuple[str, Any]] = []
        self._handles: list[Any] = []
        self._looks: list[Any] = []  # what switched torch's overriding off
        self._own_frame: FrameType | None = None  # of a with block
        self._with_line = 0
        self._mode: Any = None
        self._paths: dict[int, tuple[Any, str]] = {}
        self._name_depths: dict[str, int] = {}
        self._called: dict[str, weakref.ref[torch.nn.Module]] = {}
        self._begun: dict[str, ModuleFacts] = {}  # as a Module began
        self._shapes: dict[str, Any] = {}  # of each Module's last result
        self._owned: dict[int, set[int]] = {}
        self._above: list[Any] | None = None  # modes, while ours is aside
        self._printed: list[str] = []
        self._step_line: int | None = None
        self._step_first = 0
        self._returned = False  # from a function, into the line that called
        self._step_frame: FrameType | None = None
        self._spent = 0.0
        self._full = False
        self._kept = 0
        self._values: dict[str, int] | None = None
        self._plans: dict[Any, Plan] = {}  # by the form of a call
        self._learned: list[Plan] = []
        self._at: dict[int, Seen] = {}  # by id(), to be compared by ref
        self._storage_counter: dict[str, str] = {}
        self._first_on: dict[str, Seen] = {}
        self._later: list[Seen] = []
        self._arrays: dict[str, weakref.ref[Any]] = {}
        self._exported: dict[str, tuple[tuple[Seen, Seen], bytes]] = {}
        self._before_step: dict[int, list[Any]] = {}
        self._in_step = False  # inside an optimizer's own code
        self._stepper: FrameType | None = None
        self._given: set[int] = set()
        self._outer: FrameType | None = None

    # -- begin and end

    def __enter__(self) -> Recorder:
        self._tracer = sys.gettrace()
        self._thread = threading.get_ident()
        self._mode = _Mode(self)
        self._before: dict[str, int | None] = {}
        try:
            self._hook()
            self._linking = False  # what was there before is no operation
            self._note_names(self._caller(self._variables()))
            self._linking = True
            self._before = self._versions(self.seen.values())
            self._mode.__enter__()
        except BaseException:  # the user stopped it, while it looks around
            self.restore()
            raise
        return self

    def _versions(self, those: Iterable[Seen]) -> dict[str, int | None]:
        """The versions of tensors, and of their storages."""
        found: dict[str, int | None] = {}
        with self._looking("what there is"):
            for seen in list(those):
                leaf = seen.ref()
                version = None
                if isinstance(leaf, torch.Tensor) and not is_wrapped(leaf):
                    version = version_of(leaf)
                found[seen.id] = version
                storage = self._storage(seen)
                if storage is not None and found.get(storage) is None:
                    found[storage] = version
        return found

    def _hook(self) -> None:
        keep = self._handles.append  # one by one: an interrupt may come
        keep(nn_module.register_module_forward_pre_hook(self._enter_module))
        keep(
            nn_module.register_module_forward_hook(
                self._leave_module, always_call=True
            )
        )
        keep(
            torch_optimizer.register_optimizer_step_pre_hook(
                self._before_optimizer
            )
        )
        keep(
            torch_optimizer.register_optimizer_step_post_hook(
                self._after_optimizer
            )
        )

    def _unhook(self) -> None:
        while self._handles:
            self._handles[-1].remove()
            self._handles.pop()

    def restore(self) -> None:
        """Put tracer, modes and hooks back; a second time does no harm."""
        try:
            self.stop_lines()
        finally:
            while self._looks:  # an interrupt kept a look from its end
                self._end_look()
            modes = function_modes()
            if any(mode is self._mode for mode in modes):
                self._mode.__exit__(None, None, None)
            self._unhook()

    def start_lines(self, frame: FrameType | None = None) -> None:
        """Follow lines from now on; also those of a frame that runs."""
        if not self.lines:
            return
        if frame is not None:
            self.line = frame.f_lineno
            self._old_trace = frame.f_trace
            self._own_frame = frame
            self._with_line = frame.f_lineno
            frame.f_trace = self._trace_lines
        self.following = True
        sys.settrace(self.trace_calls)

    def stop_lines(self) -> None:
        """Follow no lines any more; the tracer before comes back."""
        if self.following:
            if sys.gettrace() == self.trace_calls:
                sys.settrace(self._tracer)
            if self._own_frame is not None:
                self._own_frame.f_trace = self._old_trace
                self._own_frame = None
            self.following = False

    def __exit__(self, *error: Any) -> None:
        self.restore()  # first, for what follows may be interrupted
        self._end_step()
        if self._full:
            self._last_look()
        self._remember_lives()
        self._remember_modules()
        self._step_frame = self._stepper = self._outer = None
        self._modules.clear()
        self._paths.clear()
        self._owned.clear()
        self._exported.clear()
        self._arrays.clear()
        self._first_on.clear()
        self._left.clear()
        self._before_step.clear()
        self.handlers.clear()

    def run(self, source: str, error: str = "") -> Run:
        """Return what was recorded, as plain data."""
        events, place = with_regions(
            [self._event(i) for i in range(len(self.events))]
        )
        steps = [
            Step(
                number,
                line,
                snapshot,
                printed,
                tuple(dict.fromkeys(place[i] for i in during if i in place)),
            )
            for number, (line, snapshot, printed, during) in enumerate(
                self.steps
            )
        ]
        return Run(
            source,
            tuple(events),
            {i: life_of(found) for i, found in self.seen.items()},
            tuple(steps),
            self.last,
            dict(self._names),
            len(self.optimizers),
            tuple(self.held),
            error,
            tuple(self.notes),
            self._before,
            self.modules,
            self.parameters,
        )

    # -- lines

    def trace_calls(self, frame: FrameType, event: str, arg: Any) -> Any:
        if not self.following:  # another one took over and gave it back
            return None
        if self._above is not None:  # a compiler runs
            return None
        code = frame.f_code
        if code.co_filename == self.filename:
            return self._trace_lines
        if code.co_name == "apply" and is_function_module(code):
            return self._trace_function(frame)
        if code.co_name in _COMPILED and is_dynamo(code):
            return self._trace_compiled(frame)
        return None

    def _trace_lines(self, frame: FrameType, event: str, arg: Any) -> Any:
        if event == "line":
            if frame is self._own_frame and frame.f_lineno == self._with_line:
                # on the way out of the block: an interrupt in here would
                # keep __exit__ from being called, and that looks itself
                return self._trace_lines
            self._end_step()
            if self._returned and not self._full:
                self._note_what_came_back(frame)
            if self._outer is None:
                self._outer = frame
            if frame is self._outer:
                self._modules.clear()  # a Module that raised never left
            # a line of the program: a closure, or the step has ended
            self._in_step = False
            self.line = self._step_line = frame.f_lineno
            self._step_first = len(self.events)
            self._step_frame = frame
        elif event == "return":
            self._end_step()
            if self._stepper is not None and frame is not self._stepper:
                self._in_step = True  # back from a closure
            back = frame.f_back
            if back is not None and back.f_code.co_filename == self.filename:
                self.line = back.f_lineno
                self._step_line = None
                self._returned = True
        return self._trace_lines

    def _note_what_came_back(self, frame: FrameType) -> None:
        """Learn the names that a line gave after it had called a function of
        the program's: that line is no step any more.
        """
        self._returned = False
        self._step_frame = frame
        with self._looking("the names"):
            self._note_names(self._caller(self._variables()))

    def _trace_compiled(self, frame: FrameType) -> Any:
        """A compiled region is one operation.  The compiler would compile our
        mode and hooks as well, so they are set aside while it runs.
        """
        names = frame.f_locals
        function = names.get("fn") or getattr(names["self"], "_orig_mod", None)
        name = getattr(function, "__name__", type(function).__name__)
        ins: list[Any] = []
        collect((names.get("args"), names.get("kwargs")), ins)
        ins = [t for t in ins if isinstance(t, torch.Tensor)]
        before = [(t, t.requires_grad) for t in ins]
        self._set_aside()

        def leave(frame: FrameType, event: str, arg: Any) -> Any:
            if event == "return":
                self._put_back()
                if not self.quiet:
                    self._close_compiled(name, before, arg)
            return leave

        return leave

    def _close_compiled(
        self, name: str, before: list[tuple[torch.Tensor, bool]], result: Any
    ) -> None:
        outs: list[Any] = []
        collect((result,), outs)
        outs = [t for t in outs if isinstance(t, torch.Tensor)]
        with self._looking(name):
            ends = [grad_fn_of(t) for t, _ in before]
            roots = [grad_fn_of(t) for t in outs]
            order, _ = in_forward_order(
                [node for node in roots if node is not None], ends
            )
            given = [t for t, _ in before]
            for leaf in leaves_of(order):  # its own, of a Module or around it
                if all(leaf is not t for t in given):
                    before.append((leaf, True))
            if outs:
                ins = [t for t, _ in before]
                self._note(f"compiled: {name}", result, before, ins, outs, [])

    def _set_aside(self) -> None:
        """Take our mode out of torch's stack, and the global hooks."""
        self._unhook()
        self._above = []
        while (mode := pop_mode()) is not self._mode:
            self._above.append(mode)
        for mode in reversed(self._above):
            push_mode(mode)

    def _put_back(self) -> None:
        above, self._above = self._above or [], None
        for _ in above:
            pop_mode()
        for mode in (self._mode, *reversed(above)):
            push_mode(mode)
        self._hook()

    def _trace_function(self, frame: FrameType) -> Any:
        """A custom autograd.Function is one operation, whatever it runs."""
        names = frame.f_locals
        ins: list[Any] = []
        collect(names.get("args", ()), ins)
        before = [
            (t, t.requires_grad) for t in ins if isinstance(t, torch.Tensor)
        ]
        name = getattr(names.get("cls"), "__name__", "Function")
        first = len(self.events)

        def leave(frame: FrameType, event: str, arg: Any) -> Any:
            if event == "return" and not self.quiet:
                if name == "CheckpointFunction":
                    with self._looking("a checkpoint"):
                        self._close_checkpoint(first, arg)
                else:
                    self._close_function(name, first, ins, before, arg)
            return leave

        return leave

    def _close_function(
        self,
        name: str,
        first: int,
        ins: list[Any],
        before: list[tuple[torch.Tensor, bool]],
        result: Any,
    ) -> None:
        outs: list[Any] = []
        collect((result,), outs)
        outs = [t for t in outs if isinstance(t, torch.Tensor)]
        if not outs or name.startswith("BackwardHook"):
            self._mark(first, "inside: a Function")
            return
        with self._looking(f"{name}.apply"):
            self._mark(first, "inside: a Function")
            for t in outs:  # made anew: it now has the Function's history
                found = self.seen.get(self.identity.known(t) or "")
                if found is not None:
                    found.made = True
            self._note(name, result, before, ins, outs, [])

    def _close_checkpoint(self, first: int, result: Any) -> None:
        """A reentrant checkpoint runs the program's own code under no_grad,
        and again with a history in backward: that is no cut. Where no input
        requires a gradient there is no history and no second run: it is one.
        """
        outs: list[Any] = []
        collect((result,), outs)
        if not any(getattr(t, "requires_grad", False) for t in outs):
            return
        live: set[str] = set()
        for i in range(first, len(self.events)):
            event = self._event(i)
            inputs = tuple(
                replace(u, requires_grad=u.requires_grad or u.tensor in live)
                for u in event.inputs
            )
            flows = any(u.requires_grad for u in inputs)
            if event.mode != "no_grad" or event.cut not in ("", "no_grad"):
                continue
            outputs = tuple(
                replace(u, requires_grad=u.requires_grad or flows)
                for u in event.outputs
            )
            if flows:
                live |= {u.tensor for u in outputs}
            self.events[i] = replace(
                event,
                inputs=inputs,
                outputs=outputs,
                cut="",
                mode="grad",
                grad_fn="CheckpointFunctionBackward" if flows else "",
            )

    def _mark(self, first: int, mark: str) -> None:
        for i in range(first, len(self.events)):
            event = self._event(i)
            self.events[i] = replace(event, notes=(*event.notes, mark))

    @contextlib.contextmanager
    def _looking(self, what: str) -> Iterator[None]:
        """Look without being seen; what fails is noted, not raised."""
        off = Unseen()
        self._looks.append(off)
        self.quiet += 1
        try:
            off.__enter__()
            yield
        except Exception as error:
            self._not_seen(what, error)
        finally:
            if off in self._looks:
                self._end_look()

    def _end_look(self) -> None:
        self._looks[-1].__exit__(None, None, None)
        self._looks.pop()
        self.quiet -= 1

    def _not_seen(self, what: str, error: Exception) -> None:
        """Note what could not be looked at; it must not stop the program."""
        if STRICT:
            raise error
        self.notes.setdefault(
            f"{what} in line {self.line} could not be looked at: "
            f"{type(error).__name__}"
        )

    def printed(self, text: str) -> None:
        """Note what the program prints."""
        self._printed.append(text)

    def _end_step(self) -> None:
        if self._step_line is None:
            return
        line, self._step_line = self._step_line, None
        during = range(self._step_first, len(self.events))
        snapshot = None
        if self._exported or not self._full:  # else a line costs little
            with self._looking("what there is"):
                if self._exported:
                    self._see_arrays()
                    during = range(self._step_first, len(self.events))
                if not self._full:
                    snapshot = self._snapshot(during)
        printed = "".join(self._printed)
        self._printed.clear()
        self.steps.append((line, snapshot, printed, during))

    def _last_look(self) -> None:
        """Long runs are looked at once more at their end."""
        self.quiet += 1
        try:
            caller = self._caller(self._variables())
            self._note_names(caller)
            self.last = self._take(caller)
        finally:
            self.quiet -= 1

    def _variables(self) -> dict[str, Any]:
        variables = dict(visible(self.namespace()))
        frame = self._step_frame
        if frame is not None and frame.f_locals is not self.namespace():
            variables |= visible(frame.f_locals)
        return variables

    def _snapshot(self, during: range) -> Snapshot | None:
        variables = self._variables()
        values = _unchanging(variables)
        same = not during and values is not None and values == self._values
        self._values = values
        caller = self._caller(variables)
        if not same:
            self._note_names(caller)
        if self._kept >= MOST_SNAPSHOTS or self._spent > SNAPSHOT_SECONDS:
            self._full = True
            self.notes.setdefault(
                f"Only the first {self._kept:,} steps show everything"
            )
            return None
        if not same:
            start = time.perf_counter()
            self.last = self._take(caller)
            self._spent += time.perf_counter() - start
        self._kept += 1
        return self.last

    def _caller(self, variables: dict[str, Any]) -> Caller:
        used = {}
        for name, thing in visible(self.around()).items():
            ids = [self.identity.known(t) for _, t in tensors_in(name, thing)]
            found = [self.seen[i] for i in ids if i in self.seen]
            if found and name not in variables:
                used[name] = thing
                new = [seen for seen in found if seen.id not in self._before]
                self._before |= self._versions(new)
        return Caller({**used, **variables})

    def _take(self, caller: Caller) -> Snapshot:
        try:
            return take(
                "draw_memory",
                [],
                caller,
                identity=self.identity,
                most=MOST_TENSORS,
            )
        except ValueError:  # no tensor yet
            return Snapshot()

    def _note_names(self, caller: Caller) -> None:
        """Remember what each living tensor is called now."""
        self._names = {}
        for name, thing in caller.variables.items():
            with self._looking(name):
                if is_a(thing, torch.nn.Module):
                    self._note_module(name, thing)
                elif is_a(thing, torch.optim.Optimizer):
                    self._note_optimizer(thing)
        with self._looking("the names"):
            for path, leaf in caller.leaves:
                self._call(leaf, path)
                grad = gradient_of(leaf)
                if grad is not None:
                    self._call(grad, f"{path}.grad")

    def _call(self, leaf: Any, name: str) -> None:
        found = self._see(leaf)
        if found.names is None:
            found.names = {}
        found.names[name] = None
        self._names[name] = found.id

    def _note_optimizer(self, optimizer: Any) -> None:
        for group in optimizer.param_groups:
            for p in group["params"]:
                self.held[self._see(p).id] = None

    # -- Modules

    def _note_module(self, name: str, module: torch.nn.Module) -> None:
        """Learn what a Module is called; of several names that which the
        outermost function has.
        """
        if name == "self":  # a better one is to come
            return
        depth = 0 if self.namespace().get(name) is module else self._depth()
        known = self._path_of(module)
        if known is None or depth < self._name_depths.get(known, depth):
            self._note_parts(name, module)
            self._name_depths.setdefault(name, depth)

    def _depth(self) -> int:
        """How many functions of the program are running."""
        depth, frame = 0, self._step_frame
        while frame is not None:
            depth += frame.f_code.co_filename == self.filename
            frame = frame.f_back
        return depth

    def _note_parts(self, name: str, module: torch.nn.Module) -> None:
        for where, part in parts_of(name, module):
            self._paths[id(part)] = (weakref.ref(part), where)

    def _path_of(self, module: torch.nn.Module) -> str | None:
        """Where a Module is; an id alone may be that of one that is gone."""
        ref, path = self._paths.get(id(module), (None, ""))
        return path if ref is not None and ref() is module else None

    def _enter_module(self, module: Any, args: Any) -> None:
        if self.quiet:
            return
        if threading.get_ident() != self._thread:
            self.notes.setdefault(
                "What runs in other threads is not recorded, as the call of "
                f"{type(module).__name__}"
            )
            return
        path = self._path_of(module)
        if path is None:  # the caller has no name for it
            path = type(module).__name__
        if not self._modules:  # parts may have come or moved since
            self._note_parts(path, module)
        if path not in self._called:
            self._called[path] = weakref.ref(module)
            if not self._modules:  # it may be gone at the end
                with self._looking(path):
                    parts = dict(parts_of(path, module))
                    self._begun.update(facts_of_modules(parts, norms=False))
                    held = [
                        *module.named_parameters(path),
                        *unregistered_in(path, module),
                    ]
                    for name, parameter in held:
                        self.parameters[name] = self._see(parameter).id
        self._modules.append((path, module))
        self._given |= {id(a) for a in args if is_a(a, torch.nn.Parameter)}

    def _leave_module(self, module: Any, args: Any, result: Any) -> None:
        if self._modules and self._modules[-1][1] is module:
            path, _ = self._modules.pop()
            first = result
            while type(first) in (tuple, list) and first:
                first = first[0]
            if type(first) is torch.Tensor:
                self._shapes[path] = sizes_of(first)

    def _module_path(self) -> str:
        return self._modules[-1][0] if self._modules else ""

    def _unregistered(self, tensors: list[torch.Tensor]) -> tuple[str, ...]:
        """Notes on Parameters that no Module around this call registers."""
        if not self._modules:
            return ()
        outer = self._modules[0][1]
        owned = self._owned.get(id(outer))
        if owned is None:
            owned = {id(p) for p in outer.parameters()}
            self._owned[id(outer)] = owned
        notes = []
        for t in tensors:
            if not isinstance(t, torch.nn.Parameter) or id(t) in owned:
                continue
            if id(t) not in self._given and self._see(t).id not in self.held:
                owned |= {id(p) for p in outer.parameters()}
                if id(t) not in owned:
                    notes.append(f"not registered: {self.identity.of(t)}")
        return tuple(notes)

    # -- optimizers

    def _before_optimizer(self, optimizer: Any, args: Any, kw: Any) -> None:
        self._in_step = True
        self._stepper = self._step_frame
        self.optimizers.add(id(optimizer))
        self._note_optimizer(optimizer)
        self._before_step[id(optimizer)] = [
            (p, p._version, p.grad is not None)
            for group in optimizer.param_groups
            for p in group["params"]
        ]

    def _after_optimizer(self, optimizer: Any, args: Any, kw: Any) -> None:
        before = self._before_step.pop(id(optimizer), None)
        self._in_step, self._stepper = False, None
        if before is None:
            return
        moved = [(p, g) for p, v, g in before if p._version != v]
        seen = [self._see(p) for p, _ in moved]
        frozen = tuple(
            f"frozen: {self.identity.of(p)}"
            for p, _ in moved
            if not p.requires_grad
        )
        self._add(
            Event(
                len(self.events),
                "step",
                f"{type(optimizer).__name__}.step",
                self.line,
                writes=tuple(s.id for s in seen),
                counters=tuple(
                    (s.counter, p._version)
                    for s, (p, _) in zip(seen, moved, strict=True)
                ),
                notes=frozen,
            )
        )
        self._in_step = False

    # -- tensors

    def _see(self, leaf: Any) -> Seen:
        found = self._at.get(id(leaf))
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
            self.seen[name] = self._at[id(leaf)] = found
            if isinstance(leaf, torch.Tensor) and found.storage is not None:
                self._link_by_memory(leaf, found)
        return found

    def _link_by_memory(self, leaf: torch.Tensor, found: Seen) -> None:
        """Note where a tensor comes from that no operation was seen to make:
        ``nn.Parameter(t)`` and ``torch.from_numpy(a)`` lie on known bytes.
        """
        for other in self._later:
            self._storage(other)
        self._later.clear()
        source = self._first_on.get(found.storage or "")
        name = type(leaf).__name__
        if source is None:
            source, name = self._array_under(leaf), "from_numpy"
            if source is not None:
                found.storage = source.storage
                self._watch_bytes(source.storage or "", leaf)
        if source is None or not self._linking:
            self._first_on.setdefault(found.storage or "", found)
            return
        tensor = source.ref()
        history = source.grad
        if isinstance(tensor, torch.Tensor):
            history = tensor.requires_grad
        self._add(
            Event(
                len(self.events),
                "operation",
                name,
                self.line,
                self._module_path(),
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
                    return self._see(array)
        return None

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

    def _remember_modules(self) -> None:
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
        with self._looking("the Modules"):
            living = {p: m for p, m in parts.items() if m is not None}
            facts = {**self._begun, **facts_of_modules(living)}
            self.modules = {
                path: replace(f, shape=shape_of_sizes(self._shapes.get(path)))
                for path, f in facts.items()
                if path in around
            }
        self._called.clear()

    def _remember_lives(self) -> None:
        self.quiet += 1
        try:
            for found in self.seen.values():
                if found.names is not None:
                    self._storage(found)
                if found.names is not None or not found.made:
                    found.last = last_state(found.ref())
        finally:
            self.quiet -= 1

    def _add(self, event: Any) -> None:
        """Keep an event, an Event or the tuple of its fields."""
        if len(self.events) < MOST_EVENTS:
            self.events.append(event)
        else:
            self.notes.setdefault(
                f"Only the first {MOST_EVENTS:,} operations are kept"
            )

    def _event(self, number: int) -> Event:
        """Return an event as plain data of the model."""
        event = self.events[number]
        if isinstance(event, tuple):
            if event[0] is not None:
                event = self._learned[event[0]].event(*event[1:])
            told = list(event)
            told[INPUTS] = tuple(Use(*use) for use in event[INPUTS])
            told[OUTPUTS] = tuple(Use(*use) for use in event[OUTPUTS])
            told[9] = tuple((self.seen[i].counter, v) for i, v in event[9])
            told[10] = tuple(
                SavedVersion(
                    label,
                    "" if version is None else self.seen[i].counter,
                    version or 0,
                    self._storage(self.seen[i]),
                )
                for label, i, version in event[10]
            )
            event = Event(*told)
        if event.number != number:
            event = replace(event, number=number)
        self.events[number] = event
        return event

    # -- what the program calls

    def choose(self, func: Any) -> Callable[..., Any]:
        """Choose, once for each of torch's functions, what to do with it."""
        handler = _handler(func)
        with contextlib.suppress(TypeError):  # not hashable
            self.handlers[func] = handler
        return handler

    def operation(
        self, name: str, writes: bool, func: Any, args: Any, kwargs: Any
    ) -> Any:
        """Run an operation and note what went in and came out."""
        if writes or name in UNPLANNED:
            return self._operation(name, writes, func, args, kwargs, None)
        form, tensors = form_of(func, args, kwargs)
        plan = self._plans.get(form)
        if plan is None or packs():
            return self._operation(name, False, func, args, kwargs, form)
        result = func(*args, **kwargs)
        self.quiet += 1  # as _looking() does, which costs more
        try:
            self._note_again(plan, tensors, result)
            if self._left:
                self._link_left(args)
        except Exception as error:
            self._not_seen(name, error)
        finally:
            self.quiet -= 1
        return result

    def _operation(
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
        with self._looking(name):  # what we can't see must not stop it
            self._note(name, result, before, ins, outs, written)
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
        event = self.events[-1]
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
        places = {self._see(t).id: i for i, (t, _) in enumerate(before)}
        places[self._see(result).id] = -1
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
        at = self._at
        facts: list[Any] = []
        for t in tensors:
            found = at.get(id(t))
            if found is None or found.ref() is not t:
                found = self._see(t)
            facts.append(found.id)
        number, ref = self.identity.new(result)
        made = Seen(
            number,
            ref,
            LATER,
            number,
            None,
            result.shape,
            plan.dtype,
            "Tensor",
        )
        made.made = True
        made.grad = plan.history
        self._later.append(made)
        self.seen[number] = at[id(result)] = made
        for _, place in plan.saved:
            saver = result if place < 0 else tensors[place]
            facts.append(saver._version)
        module = ""
        notes: tuple[str, ...] = ()
        if self._modules:
            module = self._modules[-1][0]
            if plan.parameters:
                notes = self._unregistered(tensors)
        # flat, as the garbage collector passes over tuples of plain things
        self._add((plan.number, self.line, module, notes, number, *facts))

    def _note(
        self,
        name: str,
        result: Any,
        before: list[tuple[torch.Tensor, bool]],
        ins: list[Any],
        outs: list[torch.Tensor],
        written: list[torch.Tensor],
    ) -> None:
        history = False
        inputs, sources = [], []
        for t, flag in before:
            found = self._see(t)
            sources.append(found)
            inputs.append((found.id, flag))
            history = history or flag
        if len(ins) > len(before):
            arrays = [a for a in ins if isinstance(a, numpy.ndarray)]
            inputs += [(self._see(a).id, False) for a in arrays]
        results = outs or written
        outputs = []
        kept = False
        first: Any = None
        for t in results:
            flag = t.requires_grad
            found = self._made(name, t, sources)
            found.grad = found.grad or flag
            first = first or found
            outputs.append((found.id, flag))
            if flag and not kept:
                kept = not is_leaf_tensor(t) or any(t is b for b, _ in before)
        recording = torch.is_grad_enabled()
        if written and not recording and kept:
            kept = False  # nothing is recorded: others' history ends here
            history = any(
                flag and all(t is not w for w in written) for t, flag in before
            )
        cut = self._cut(name, outs) if history and not kept else ""
        kind = "operation"
        writes: tuple[Any, ...] = ()
        counters: tuple[Any, ...] = ()
        if written:
            kind = "in_place"
            seen = [self._see(t) for t in written]
            writes = tuple(found.id for found in seen)
            counters = tuple(
                (found.id, version_of(t))
                for found, t in zip(seen, written, strict=True)
            )
        elif not outs:
            kind = "leaves"
            self._leave(name, result, inputs, before)
            if isinstance(result, numpy.ndarray):
                outputs.append((self._see(result).id, False))
        saved, grad_fn, more = (), "", 0
        if kept:
            saved, grad_fn, more = self._saved(name, results[0], first, before)
        notes: tuple[str, ...] = ()
        if self._modules or not recording:
            notes = self._notes_on(before, results)
        self._add(
            (
                None,
                kind,
                name,
                self.line,
                self._modules[-1][0] if self._modules else "",
                "grad" if recording else mode_name(),
                inputs,
                outputs,
                writes,
                counters,
                saved,
                cut,
                grad_fn,
                None,
                (),
                "",
                notes,
                more,
            )
        )

    def _made(self, name: str, t: torch.Tensor, sources: list[Seen]) -> Seen:
        """Note a result: a view shares the counter of its source, and
        ``.data`` gives a tensor with a counter of its own.
        """
        number = self.identity.of(t)
        made = self.seen.get(number)
        if made is not None:
            self._at[id(t)] = made
            return made
        if name not in ALIASES and t.dim() and not is_view(t):
            # In memory of its own, which is looked up when it is asked for.
            # (A loss is looked up at once: it may be wrapped and be gone.)
            made = Seen(
                number,
                self.identity.ref(t),
                LATER,
                number,
                None,
                sizes_of(t),
                t.dtype,
                type(t).__name__,
            )
            made.made = True
            self._later.append(made)
            self.seen[number] = self._at[id(t)] = made
            return made
        storage = self.identity.of_storage(t)
        source = None
        for found in sources:
            if storage is not None and self._storage(found) == storage:
                source = found
                break
        made = self._first_look(number, t, storage, source)
        made.made = True
        self._first_on.setdefault(storage or "", made)
        if name == "data":
            made.counter = number
        self.seen[number] = self._at[id(t)] = made
        return made

    def _storage(self, found: Seen) -> str | None:
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

    def _cut(self, name: str, outs: list[torch.Tensor]) -> str:
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

    def _leave(
        self,
        name: str,
        result: Any,
        inputs: list[tuple[str, bool]],
        before: list[tuple[torch.Tensor, bool]],
    ) -> None:
        """Remember what leaves torch, so that its return can be told."""
        if isinstance(result, numpy.ndarray) and before:
            tensor = before[0][0]
            block = self.identity.of_block([tensor, result])
            found = self._see(result)
            found.storage = self._see(tensor).storage = block
            self._watch_bytes(block, tensor)
        elif isinstance(result, float):
            self._left = [*self._left[-50:], (result, Use(*inputs[0]))]

    def _link_left(self, args: Any) -> None:
        numbers: list[Any] = []
        for a in args:
            numbers += a if type(a) in (list, tuple) else [a]
        numbers = [a for a in numbers if type(a) is float]
        for value, use in self._left if numbers else ():
            if any(a is value for a in numbers) and self.events:
                last = self._event(len(self.events) - 1)
                self.events[-1] = replace(
                    last,
                    inputs=(*last.inputs, Use(use.tensor, False)),
                    notes=(*last.notes, f"left torch: {use.tensor}"),
                )

    def _watch_bytes(self, storage: str, tensor: torch.Tensor) -> None:
        """Watch the bytes of a storage that an array looks at, too."""
        now = self._bytes_of(tensor)
        if now is not None:
            found = self._see(tensor)
            first = self._first_on.get(storage, found)
            self._exported[storage] = ((first, found), now)

    @staticmethod
    def _bytes_of(tensor: torch.Tensor) -> bytes | None:
        storage = torch.Tensor.untyped_storage(tensor)
        size = storage.nbytes()
        if tensor.device.type != "cpu" or not 0 < size <= MOST_WATCHED:
            return None
        return ctypes.string_at(storage.data_ptr(), size)

    def _see_arrays(self) -> None:
        """Find writes through NumPy, which no version counter notices."""
        for storage, (pair, bytes_before) in list(self._exported.items()):
            living = [t for found in pair if (t := found.ref()) is not None]
            now = self._bytes_of(living[0]) if living else None
            if now is None:
                del self._exported[storage]
                continue
            if now == bytes_before:
                continue
            self._exported[storage] = (pair, now)
            step = range(self._step_first, len(self.events))
            if any(self._writes_to(self._event(i), storage) for i in step):
                continue
            found = pair[0]
            self._add(
                Event(
                    len(self.events),
                    "numpy_write",
                    "a write into the array",
                    self.line,
                    outputs=(Use(found.id, False),),
                    writes=(found.id,),
                )
            )

    def _writes_to(self, event: Event, storage: str) -> bool:
        return any(
            self._storage(self.seen[i]) == storage for i in event.writes
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
        for label, tensor in self._kept_behind(node, name, before):
            if not tensor.is_inference():
                known = made if label in ("result", "result0") else None
                known = known or self._known_by_bytes(tensor, before)
                if known is not None:
                    version = self._counted(tensor, known)
                    found.append((label, known.id, version))
                else:
                    more += tensor.nbytes
        return found, type(node).__name__, more

    def _kept_behind(
        self, node: Any, name: str, before: list[tuple[torch.Tensor, bool]]
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

    def _known_by_bytes(
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
            self._storage(self._see(source))
        return self._first_on.get(self.identity.known_storage(tensor) or "")

    @staticmethod
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

    def _notes_on(
        self,
        before: list[tuple[torch.Tensor, bool]],
        results: list[torch.Tensor],
    ) -> tuple[str, ...]:
        notes = self._unregistered([t for t, _ in before])
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
                f"view from no_grad: {self._see(t).id}" for t in views
            )
        return notes

    # -- flags, gradients, backward

    def set_flag(self, tensor: torch.Tensor, work: Callable[[], Any]) -> Any:
        """Note that requires_grad is set, and what it was."""
        before, leaf = tensor.requires_grad, is_leaf_tensor(tensor)
        result = work()
        after = tensor.requires_grad
        if before != after:
            self._add(
                Event(
                    len(self.events),
                    "flag",
                    "requires_grad_",
                    self.line,
                    self._module_path(),
                    inputs=(Use(self._see(tensor).id, before),),
                    outputs=(Use(self._see(tensor).id, after),),
                    cut="frozen" if before and leaf and not after else "",
                    value=after,
                )
            )
        return result

    def set_grad(self, tensor: torch.Tensor, work: Callable[[], Any]) -> Any:
        """Note that ``.grad`` is set, most often to None."""
        had = gradient_of(tensor) is not None
        result = work()
        has = gradient_of(tensor) is not None
        if had or has:
            self._add(
                Event(
                    len(self.events),
                    "grad_set",
                    ".grad =",
                    self.line,
                    inputs=(Use(self._see(tensor).id, tensor.requires_grad),),
                    value=has,
                )
            )
        return result

    def backward(
        self,
        name: str,
        roots: list[torch.Tensor],
        work: Callable[[], Any],
        given: bool,
        retain: bool,
    ) -> Any:
        """Run a backward, and note who received a gradient."""
        before = self._gradients()
        uses = tuple(Use(self._see(t).id, t.requires_grad) for t in roots)
        scalar = all(t.numel() == 1 for t in roots) or given
        notes = () if scalar else ("not a scalar",)
        if retain:
            notes = (*notes, "retain_graph")
        error = ""
        self.quiet += 1
        try:
            result = work()
        except BaseException as raised:
            error = f"{type(raised).__name__}: {raised}"
            raise
        finally:
            self.quiet -= 1
            after = self._gradients()
            received = tuple(i for i, g in after.items() if before.get(i) != g)
            outs: list[Any] = []
            if name == "grad" and not error:
                collect((result,), outs)
            self._add(
                Event(
                    len(self.events),
                    name,
                    "autograd.grad" if name == "grad" else "backward",
                    self.line,
                    inputs=uses,
                    outputs=tuple(
                        Use(self._see(t).id, t.requires_grad) for t in outs
                    ),
                    received=received,
                    error=error,
                    notes=notes,
                )
            )
        return result

    def _gradients(self) -> dict[str, tuple[int, int]]:
        found = {}
        self.quiet += 1
        try:
            for name, leaf in self.identity.living():
                grad = gradient_of(leaf)
                if grad is not None:
                    found[name] = (id(grad), version_of(grad))
        finally:
            self.quiet -= 1
        return found


# -- torch's functions, by what they are


def _handler(func: Any) -> Callable[..., Any]:
    name = getattr(func, "__name__", "")
    owner = getattr(func, "__self__", None)
    attribute = getattr(owner, "__name__", "")
    if name == "__get__":
        return _operation(attribute) if attribute in VIEWS else _pass
    if name == "__set__":
        return _SETTERS.get(attribute, _pass)
    if name == "__delete__":
        return _set_grad if attribute == "grad" else _pass
    if name in QUIET:
        return _pass
    return _SPECIAL.get(name) or _operation(name)


def _operation(name: str) -> Callable[..., Any]:
    writes = name == "__setitem__" or name in AUGMENTED
    told = name.strip("_") if name in ("__getitem__", "__setitem__") else name
    writes = writes or (name.endswith("_") and not name.endswith("__"))

    def handle(recorder: Recorder, func: Any, args: Any, kwargs: Any) -> Any:
        return recorder.operation(told, writes, func, args, kwargs)

    return handle


def _set_flag(recorder: Recorder, func: Any, args: Any, kwargs: Any) -> Any:
    if not args or not isinstance(args[0], torch.Tensor):
        return func(*args, **kwargs)
    return recorder.set_flag(args[0], lambda: func(*args, **kwargs))


def _set_grad(recorder: Recorder, func: Any, args: Any, kwargs: Any) -> Any:
    return recorder.set_grad(args[0], lambda: func(*args, **kwargs))


def _set_data(recorder: Recorder, func: Any, args: Any, kwargs: Any) -> Any:
    result = func(*args, **kwargs)
    with recorder._looking(".data ="):
        target, value = recorder._see(args[0]), recorder._see(args[1])
        target.storage = recorder.identity.of_storage(args[0])
        history = args[1].requires_grad
        recorder._add(
            Event(
                len(recorder.events),
                "in_place",
                "data",
                recorder.line,
                recorder._module_path(),
                mode_name(),
                (Use(value.id, history),),
                (Use(target.id, args[0].requires_grad),),
                (target.id,),
                cut="data" if history else "",
            )
        )
    return result


def _backward(recorder: Recorder, func: Any, args: Any, kwargs: Any) -> Any:
    roots: list[Any] = []
    collect((args[0] if args else kwargs.get("tensors"),), roots)
    given = len(args) > 1 and args[1] is not None
    given = given or kwargs.get("gradient") is not None
    given = given or kwargs.get("grad_tensors") is not None
    retain = bool(kwargs.get("retain_graph") or kwargs.get("create_graph"))
    retain = retain or (len(args) > 2 and bool(args[2]))
    tensors = [t for t in roots if isinstance(t, torch.Tensor)]
    return recorder.backward(
        "backward", tensors, lambda: func(*args, **kwargs), given, retain
    )


def _grad(recorder: Recorder, func: Any, args: Any, kwargs: Any) -> Any:
    roots: list[Any] = []
    collect((args[0] if args else kwargs.get("outputs"),), roots)
    tensors = [t for t in roots if isinstance(t, torch.Tensor)]
    if not tensors or any(is_wrapped(t) for t in tensors):
        return func(*args, **kwargs)
    given = len(args) > 2 or kwargs.get("grad_outputs") is not None
    retain = bool(kwargs.get("retain_graph") or kwargs.get("create_graph"))
    return recorder.backward(
        "grad", tensors, lambda: func(*args, **kwargs), given, retain
    )


_SPECIAL = {
    "requires_grad_": _set_flag,
    "backward": _backward,
    "grad": _grad,
    "retain_grad": _pass,
}
_SETTERS = {
    "requires_grad": _set_flag,
    "grad": _set_grad,
    "data": _set_data,
}


# -- small helpers


_COMPILED = {"compile_wrapper", "__call__"}  # of a function, of a Module


def _asked_by_torch() -> bool:
    """Say whether torch's own Python code made the call that is noted."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename == __file__:
        frame = frame.f_back
    home = os.path.dirname(torch.__file__)  # noqa: PTH120
    return frame is not None and frame.f_code.co_filename.startswith(home)


def _is_fake(leaf: Any) -> bool:
    return isinstance(leaf, torch.Tensor) and is_fake(leaf)


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
