"""Follows the lines of a program, and the Python code of torch's that is one
operation: a custom ``autograd.Function``, a region that was compiled.
"""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from types import CodeType, FrameType, FunctionType
from typing import Any

import torch
from torch.autograd.function import FunctionCtx

from ..capture.nodes import in_forward_order, leaves_of
from ..capture.tensors import grad_fn_of
from ..model import Use
from .calls import collect
from .modules import Modules, Optimizers
from .operations import Operations
from .regions import INSIDE
from .steps import Steps

# From torch 2.14 on Function.apply is no plain Python: then its parts are
# followed, which it calls one after the other.
_PLAIN = isinstance(
    getattr(torch.autograd.Function.apply, "__func__", None), FunctionType
)
_BINDS = "_bind_default_args"  # of a forward that is called without ctx
_FUNCTIONS = os.path.join("torch", "autograd", "function.py")  # noqa: PTH118
_DYNAMO = os.path.join("torch", "_dynamo", "eval_frame.py")  # noqa: PTH118
_HERE = os.path.dirname(__file__)  # noqa: PTH120
_COMPILED = {"compile_wrapper", "__call__"}  # of a function, of a Module
_WATCHED = {"apply", *_COMPILED}


@dataclass
class _Applied:
    """A custom Function that runs, or has just run."""

    name: str
    line: int | None  # that calls it
    first: int  # the event that comes next as it begins
    ins: list[Any]
    before: list[tuple[torch.Tensor, bool]]
    context: Any = None
    result: Any = None


class Following:
    """The trace function: ``aside`` and ``back`` take our mode and hooks out
    of torch's way, and put them back.
    """

    def __init__(
        self,
        steps: Steps,
        operations: Operations,
        modules: Modules,
        optimizers: Optimizers,
        aside: Callable[[], None],
        back: Callable[[], None],
    ) -> None:
        self.on = False
        self.applied: _Applied | None = None
        self._journal = operations.journal
        self._steps = steps
        self._filename = steps.filename
        self._operations = operations
        self._tensors = operations.tensors
        self._modules = modules
        self._optimizers = optimizers
        self._aside = aside
        self._back = back
        self._compiling = False
        self._before: Any = None  # who traced before us
        self._own_frame: FrameType | None = None  # of a with block
        self._own_trace: Any = None
        self._with_line = 0
        self._outer: FrameType | None = None  # of the first line
        self._returned = False  # from a function, into the line that called
        self._forward: CodeType | None = None  # that is called without ctx
        self._contexts: list[Any] = []  # of the Functions that run
        self._bound: _Applied | None = None  # waits for its setup_context

    def unfollowed(self, work: Callable[..., Any]) -> Callable[..., Any]:
        """Let a function of ours be called by torch, and not be followed."""

        def call(*args: Any) -> Any:
            tracer = sys.gettrace()
            try:
                sys.settrace(None)
                return work(*args)
            finally:
                sys.settrace(tracer)

        return call

    def start(self, frame: FrameType | None = None) -> None:
        """Follow lines from now on; also those of a frame that runs."""
        self._before = sys.gettrace()
        if frame is not None:
            self._journal.line = self._with_line = frame.f_lineno
            self._own_frame, self._own_trace = frame, frame.f_trace
            frame.f_trace = self._trace_lines
        self.on = True
        sys.settrace(self._trace_calls)

    def stop(self) -> None:
        """Follow no lines any more; the tracer before comes back."""
        if self.on:
            if sys.gettrace() == self._trace_calls:
                sys.settrace(self._before)
            if self._own_frame is not None:
                self._own_frame.f_trace = self._own_trace
                self._own_frame = None
            self.on = False
        self.applied = self._bound = self._outer = None

    # -- lines

    def _trace_calls(self, frame: FrameType, event: str, arg: Any) -> Any:
        if not self.on:  # another one took over and gave it back
            return None
        if self._compiling:
            return None
        code = frame.f_code
        follow = None
        if code.co_filename == self._filename:
            follow = self._trace_lines
        elif _PLAIN and code.co_name not in _WATCHED:
            return None  # by far the most calls
        if self.applied is not None and not code.co_filename.startswith(_HERE):
            self._note_applied(self.applied, frame.f_locals.values())
        if code.co_name == "apply" and _is_function_module(code):
            return self._trace_apply(frame)
        if code.co_name == _BINDS and _is_function_module(code):
            func = frame.f_locals.get("func")
            self._forward = getattr(func, "__code__", None)
        if code.co_name in _COMPILED and _is_dynamo(code):
            return self._trace_compiled(frame)
        if _PLAIN:
            return follow
        return self._trace_part(frame, follow)

    def _trace_lines(self, frame: FrameType, event: str, arg: Any) -> Any:
        if self.applied is not None:
            self._note_applied(self.applied, frame.f_locals.values())
        steps, journal = self._steps, self._journal
        if event == "line":
            if frame is self._own_frame and frame.f_lineno == self._with_line:
                # on the way out of the block: an interrupt in here would
                # keep __exit__ from being called, and that looks itself
                return self._trace_lines
            steps.end()
            if self._returned and not steps.full:
                self._returned = False
                steps.note_what_came_back(frame)
            if self._outer is None:
                self._outer = frame
            if frame is self._outer:
                self._modules.none_runs()
            # a line of the program: a closure, or the step has ended
            journal.in_step = False
            steps.begin(frame)
        elif event == "return":
            steps.end()
            self._optimizers.back_from(frame)
            back = frame.f_back
            if back is not None and back.f_code.co_filename == self._filename:
                steps.back_in(back.f_lineno)
                self._returned = True
        return self._trace_lines

    # -- a custom autograd.Function is one operation, whatever it runs

    def _trace_apply(self, frame: FrameType) -> Any:
        names = frame.f_locals
        name = getattr(names.get("cls"), "__name__", "Function")
        applied = self._begin(name, names.get("args", ()))

        def leave(frame: FrameType, event: str, arg: Any) -> Any:
            if event == "return" and not self._journal.quiet:
                applied.result = arg
                self._note(applied)
            return leave

        return leave

    def _trace_part(self, frame: FrameType, follow: Any) -> Any:
        """Follow ``forward(ctx, ...)``, or ``forward(...)`` and
        ``setup_context(ctx, ...)`` after it, whatever they are called.
        """
        unbound = frame.f_code is self._forward
        context = None if unbound else _context_of(frame)
        if not unbound and (context is None or context in self._contexts):
            return follow
        bound, self._bound = self._bound, None
        applied = bound or self._begin("", _arguments(frame))
        if not unbound:
            applied.context = context
            applied.name = type(context).__name__.removesuffix("Backward")
            self._contexts.append(context)

        def leave(frame: FrameType, event: str, arg: Any) -> Any:
            if follow is not None:
                follow(frame, event, arg)
            if event == "return":
                if bound is None:
                    applied.result = arg
                if unbound:
                    self._forward, self._bound = None, applied
                else:
                    self._contexts.remove(context)
                    self.applied = applied
            return leave

        return leave

    def before_call(self, applied: _Applied, func: Any, args: Any) -> None:
        """A call comes after a Function has run: torch's own, which makes a
        view of an input that is handed on, or the program's next.
        """
        outs = _tensors_in((applied.result,))
        own = getattr(func, "__name__", "") == "view_as"
        if not (own and any(args[0] is t for t in outs)):
            self._note_applied(applied, args)

    def _note_applied(self, applied: _Applied, known: Iterable[Any]) -> None:
        """Note a Function that has run, now that its results have their
        history; an input that was handed on is another tensor by now, one of
        those that are known.
        """
        self.applied = None
        given = [t for t, _ in applied.before]
        outs = _tensors_in((applied.result,))
        made = [t for t in outs if all(t is not other for other in given)]
        if len(made) < len(outs):
            made += [
                t
                for t in _tensors_in(known)
                if grad_fn_of(t) is applied.context
                and all(t is not other for other in made)
            ]
        applied.result = made
        self._note(applied)

    def _begin(self, name: str, args: Any) -> _Applied:
        ins: list[Any] = []
        collect(args, ins)
        before = [
            (t, t.requires_grad) for t in ins if isinstance(t, torch.Tensor)
        ]
        journal = self._journal
        return _Applied(name, journal.line, len(journal.events), ins, before)

    def _note(self, applied: _Applied) -> None:
        name, first = applied.name, applied.first
        self._journal.line = applied.line  # its own lines are left
        outs = _tensors_in((applied.result,))
        with self._journal.looking(f"{name}.apply"):
            if name == "CheckpointFunction":
                if any(t.requires_grad for t in outs):
                    self._note_checkpoint(first)
                return
            self._operations.mark(first, INSIDE)
            if not outs or name.startswith("BackwardHook"):
                return
            for t in outs:  # made anew: it now has the Function's history
                self._tensors.made_again(t)
            self._operations.note(
                name, applied.result, applied.before, applied.ins, outs, []
            )

    def _note_checkpoint(self, first: int) -> None:
        """A reentrant checkpoint runs the program's own code under no_grad,
        and again with a history in backward: that is no cut.  (Where no input
        requires a gradient there is no history and no second run: it is one.)
        """
        live: set[str] = set()
        events = self._journal.events
        for i in range(first, len(events)):
            event = self._operations.event(i)
            if event.mode != "no_grad" or event.cut not in ("", "no_grad"):
                continue
            inputs = _with_history(event.inputs, live)
            flows = any(u.requires_grad for u in inputs)
            outputs = event.outputs
            if flows:
                live |= {u.tensor for u in outputs}
                outputs = _with_history(outputs, live)
            events[i] = replace(
                event,
                inputs=inputs,
                outputs=outputs,
                cut="",
                mode="grad",
                grad_fn="CheckpointFunctionBackward" if flows else "",
            )

    # -- a compiled region is one operation

    def _trace_compiled(self, frame: FrameType) -> Any:
        """The compiler would compile our mode and hooks as well, so they are
        set aside while it runs.
        """
        names = frame.f_locals
        function = names.get("fn") or getattr(names["self"], "_orig_mod", None)
        name = getattr(function, "__name__", type(function).__name__)
        ins = _tensors_in((names.get("args"), names.get("kwargs")))
        before = [(t, t.requires_grad) for t in ins]
        self._compiling = True
        self._aside()

        def leave(frame: FrameType, event: str, arg: Any) -> Any:
            if event == "return":
                self._back()
                self._compiling = False
                if not self._journal.quiet:
                    with self._journal.looking(name):
                        self._note_compiled(name, before, arg)
            return leave

        return leave

    def _note_compiled(
        self, name: str, before: list[tuple[torch.Tensor, bool]], result: Any
    ) -> None:
        outs = _tensors_in((result,))
        ends = [grad_fn_of(t) for t, _ in before]
        roots = [node for t in outs if (node := grad_fn_of(t)) is not None]
        order, _ = in_forward_order(roots, ends)
        given = [t for t, _ in before]
        for leaf in leaves_of(order):  # its own, of a Module or around it
            if all(leaf is not t for t in given):
                before.append((leaf, True))
        if outs:
            ins = [t for t, _ in before]
            self._operations.note(
                f"compiled: {name}", result, before, ins, outs, []
            )


def _tensors_in(things: Any) -> list[torch.Tensor]:
    found: list[Any] = []
    collect(things, found)
    return [t for t in found if isinstance(t, torch.Tensor)]


def _context_of(frame: FrameType) -> Any:
    """The ctx of a Function, where a call begins with it."""
    code = frame.f_code
    if not code.co_varnames:
        return None
    first = frame.f_locals.get(code.co_varnames[0])
    if type(first) is tuple and first:  # forward(*args)
        first = first[0]
    # by its type, as isinstance() would ask an object that may be rude
    return first if issubclass(type(first), FunctionCtx) else None


def _arguments(frame: FrameType) -> list[Any]:
    """What a function was called with, as its frame begins."""
    args, more, named, values = inspect.getargvalues(frame)
    names = [*args, *(name for name in (more, named) if name)]
    return [values[name] for name in names if name in values]


def _with_history(uses: tuple[Use, ...], live: set[str]) -> tuple[Use, ...]:
    return tuple(
        replace(u, requires_grad=u.requires_grad or u.tensor in live)
        for u in uses
    )


def _is_function_module(code: CodeType) -> bool:
    """Say whether code stands where autograd.Function is defined."""
    return code.co_filename.endswith(_FUNCTIONS)


def _is_dynamo(code: CodeType) -> bool:
    """Say whether code is what torch.compile wraps around a function."""
    return code.co_filename.endswith(_DYNAMO)
