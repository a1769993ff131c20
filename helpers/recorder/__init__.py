"""Watches a program run: its lines, and what each line does to tensors.

Operations are seen through a ``TorchFunctionMode``, lines through a trace
function that follows the recorded source only, Modules and optimizers through
torch's public global hooks.  No name of torch's is replaced, and everything
is put back also when the program raises.

``journal`` is what all parts write to, ``tensors``, ``modules``,
``operations`` and ``steps`` know one thing each, ``functions`` and
``following`` are called by torch and by Python.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from torch.nn.modules import module as nn_module
from torch.optim import optimizer as torch_optimizer
from torch.overrides import TorchFunctionMode

from ..capture.private import function_modes, pop_mode, push_mode
from ..model import Run
from .following import Following
from .functions import Functions, passed
from .journal import Journal
from .modules import Modules, Optimizers
from .operations import Operations
from .regions import with_regions
from .steps import Steps
from .tensors import Tensors

__all__ = ["Recorder"]


class _Mode(TorchFunctionMode):
    def __init__(
        self, journal: Journal, functions: Functions, following: Following
    ) -> None:
        super().__init__()
        self._journal = journal
        self._functions = functions
        self._chosen = functions.chosen
        self._following = following

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        handler = self._chosen.get(func)
        journal = self._journal
        if journal.quiet or journal.in_step or handler is passed:
            return func(*args, **kwargs)
        following = self._following
        if not following.on:
            handler = handler or self._functions.choose(func)
            return handler(func, args, kwargs)
        tracer = sys.gettrace()
        try:
            sys.settrace(None)  # our own functions are not to be followed
            if following.applied is not None:
                following.before_call(following.applied, func, args)
            handler = handler or self._functions.choose(func)
            return handler(func, args, kwargs)
        finally:
            sys.settrace(tracer)


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
        around: Callable[[], dict[str, Any]] = dict,
    ) -> None:
        self.filename = filename
        journal = self._journal = Journal()
        tensors = self._tensors = Tensors(journal)
        self.identity = tensors.identity
        self._optimizers = Optimizers(journal, tensors)
        self._modules = Modules(journal, tensors, self._optimizers.held)
        self._operations = Operations(journal, tensors, self._modules)
        self._steps = Steps(
            filename,
            namespace,
            around,
            self._operations,
            self._modules,
            self._optimizers,
        )
        self._functions = Functions(self._operations)
        self._following = Following(
            self._steps,
            self._operations,
            self._modules,
            self._optimizers,
            self._set_aside,
            self._put_back,
        )
        self._mode = _Mode(journal, self._functions, self._following)
        self._hooks = [
            self._following.unfollowed(hook)
            for hook in (
                self._modules.enter,
                self._modules.leave,
                self._before_step,
                self._after_step,
            )
        ]
        self._above: list[Any] = []  # modes, while ours is aside
        self._handles: list[Any] = []
        self.printed = self._steps.printed

    # -- begin and end

    def __enter__(self) -> Recorder:
        try:
            self._hook()
            self._steps.open()
            self._mode.__enter__()
        except BaseException:  # the user stopped it, while it looks around
            self.restore()
            raise
        return self

    def __exit__(self, *error: Any) -> None:
        self.restore()  # first, for what follows may be interrupted
        self._steps.close()
        self._tensors.close()
        self._modules.close()
        self._optimizers.close()
        self._operations.close()
        self._functions.close()

    def start_lines(self, frame: FrameType | None = None) -> None:
        """Follow lines from now on; also those of a frame that runs."""
        self._following.start(frame)

    def stop_lines(self) -> None:
        """Follow no lines any more; the tracer before comes back."""
        self._following.stop()

    def restore(self) -> None:
        """Put tracer, modes and hooks back; a second time does no harm."""
        try:
            self.stop_lines()
        finally:
            self._journal.end_looks()
            if any(mode is self._mode for mode in function_modes()):
                self._mode.__exit__(None, None, None)
            self._unhook()

    def run(self, source: str, error: str = "") -> Run:
        """Return what was recorded, as plain data."""
        operations, steps = self._operations, self._steps
        events, place = with_regions(
            [operations.event(i) for i in range(len(self._journal.events))]
        )
        return Run(
            source,
            tuple(events),
            self._tensors.lives(),
            steps.all(place),
            steps.last,
            dict(steps.names),
            len(self._optimizers.stepped),
            tuple(self._optimizers.held),
            error,
            tuple(self._journal.notes),
            steps.before,
            self._modules.facts,
            self._modules.parameters,
        )

    def forget_names(self) -> None:
        """Hold on to none of the program's variables any more."""
        self._steps.namespace = self._steps.around = dict

    # -- hooks and modes

    def _before_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        self._optimizers.before_step(optimizer, self._steps.frame)

    def _after_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        self._optimizers.after_step(optimizer)

    def _hook(self) -> None:
        keep = self._handles.append  # one by one: an interrupt may come
        enter, leave, before_step, after_step = self._hooks
        keep(nn_module.register_module_forward_pre_hook(enter))
        keep(nn_module.register_module_forward_hook(leave, always_call=True))
        keep(torch_optimizer.register_optimizer_step_pre_hook(before_step))
        keep(torch_optimizer.register_optimizer_step_post_hook(after_step))

    def _unhook(self) -> None:
        while self._handles:
            self._handles[-1].remove()
            self._handles.pop()

    def _set_aside(self) -> None:
        """Take our mode out of torch's stack, and the global hooks."""
        self._unhook()
        self._above = []
        while (mode := pop_mode()) is not self._mode:
            self._above.append(mode)
        for mode in reversed(self._above):
            push_mode(mode)

    def _put_back(self) -> None:
        above, self._above = self._above, []
        for _ in above:
            pop_mode()
        for mode in (self._mode, *reversed(above)):
            push_mode(mode)
        self._hook()
