"""What to do with each of torch's functions that a program calls."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any

import torch

from ..capture.tensors import gradient_of, is_leaf_tensor, is_wrapped
from ..model import Event, Use
from .calls import AUGMENTED, LEAVES, QUIET, VIEWS, collect
from .operations import Operations
from .seen import mode_name, version_of

Handler = Callable[[Any, Any, Any], Any]  # of a function and its arguments


class Functions:
    """Chooses, once for each of torch's functions, what to do with it."""

    def __init__(self, operations: Operations) -> None:
        self._operations = operations
        self._journal = operations.journal
        self._tensors = operations.tensors
        self.chosen: dict[Any, Handler] = {}
        self._special: dict[str, Handler] = {
            "requires_grad_": self._set_flag,
            "backward": self._backward,
            "grad": self._grad,
            "retain_grad": passed,
        }
        self._setters: dict[str, Handler] = {
            "requires_grad": self._set_flag,
            "grad": self._set_grad,
            "data": self._set_data,
        }

    def close(self) -> None:
        """Forget what only a run needs."""
        self.chosen.clear()

    def choose(self, func: Any) -> Handler:
        """Return what runs a function and notes what it did."""
        handler = self._handler(func)
        with contextlib.suppress(TypeError):  # not hashable
            self.chosen[func] = handler
        return handler

    def _handler(self, func: Any) -> Handler:
        name = getattr(func, "__name__", "")
        owner = getattr(func, "__self__", None)
        attribute = getattr(owner, "__name__", "")
        if name == "__get__":
            return self._operation(attribute) if attribute in VIEWS else passed
        if name == "__set__":
            return self._setters.get(attribute, passed)
        if name == "__delete__":
            return self._set_grad if attribute == "grad" else passed
        if name in QUIET:
            return passed
        return self._special.get(name) or self._operation(name)

    def _operation(self, name: str) -> Handler:
        run = self._operations.run
        writes = name == "__setitem__" or name in AUGMENTED
        writes = writes or (name.endswith("_") and not name.endswith("__"))
        if name.startswith("__") and name not in {*LEAVES, *AUGMENTED}:
            name = name.strip("_")  # rsub, as the node is called
        return functools.partial(run, name, writes)

    def _set_flag(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Note that requires_grad is set, and what it was."""
        if not args or not isinstance(args[0], torch.Tensor):
            return func(*args, **kwargs)
        tensor, journal = args[0], self._journal
        before, leaf = tensor.requires_grad, is_leaf_tensor(tensor)
        result = func(*args, **kwargs)
        after = tensor.requires_grad
        if before != after:
            seen = self._tensors.see(tensor).id
            journal.add(
                Event(
                    len(journal.events),
                    "flag",
                    "requires_grad_",
                    journal.line,
                    journal.module,
                    inputs=(Use(seen, before),),
                    outputs=(Use(seen, after),),
                    cut="frozen" if before and leaf and not after else "",
                    value=after,
                )
            )
        return result

    def _set_grad(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Note that ``.grad`` is set, most often to None."""
        tensor, journal = args[0], self._journal
        had = gradient_of(tensor) is not None
        result = func(*args, **kwargs)
        has = gradient_of(tensor) is not None
        if had or has:
            seen = self._tensors.see(tensor).id
            journal.add(
                Event(
                    len(journal.events),
                    "grad_set",
                    ".grad =",
                    journal.line,
                    inputs=(Use(seen, tensor.requires_grad),),
                    value=has,
                )
            )
        return result

    def _set_data(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Note that a tensor gets the memory of another."""
        result = func(*args, **kwargs)
        journal, tensors = self._journal, self._tensors
        with journal.looking(".data ="):
            target, value = tensors.see(args[0]), tensors.see(args[1])
            target.storage = tensors.identity.of_storage(args[0])
            history = args[1].requires_grad
            journal.add(
                Event(
                    len(journal.events),
                    "in_place",
                    "data",
                    journal.line,
                    journal.module,
                    mode_name(),
                    (Use(value.id, history),),
                    (Use(target.id, args[0].requires_grad),),
                    (target.id,),
                    cut="data" if history else "",
                )
            )
        return result

    def _backward(self, func: Any, args: Any, kwargs: Any) -> Any:
        roots: list[Any] = []
        collect((args[0] if args else kwargs.get("tensors"),), roots)
        given = len(args) > 1 and args[1] is not None
        given = given or kwargs.get("gradient") is not None
        given = given or kwargs.get("grad_tensors") is not None
        retain = bool(kwargs.get("retain_graph") or kwargs.get("create_graph"))
        retain = retain or (len(args) > 2 and bool(args[2]))
        tensors = [t for t in roots if isinstance(t, torch.Tensor)]
        return self._run_backward(
            "backward", tensors, lambda: func(*args, **kwargs), given, retain
        )

    def _grad(self, func: Any, args: Any, kwargs: Any) -> Any:
        roots: list[Any] = []
        collect((args[0] if args else kwargs.get("outputs"),), roots)
        tensors = [t for t in roots if isinstance(t, torch.Tensor)]
        if not tensors or any(is_wrapped(t) for t in tensors):
            return func(*args, **kwargs)
        given = len(args) > 2 or kwargs.get("grad_outputs") is not None
        retain = bool(kwargs.get("retain_graph") or kwargs.get("create_graph"))
        return self._run_backward(
            "grad", tensors, lambda: func(*args, **kwargs), given, retain
        )

    def _run_backward(
        self,
        name: str,
        roots: list[torch.Tensor],
        work: Callable[[], Any],
        given: bool,
        retain: bool,
    ) -> Any:
        """Run a backward, and note who received a gradient."""
        journal, tensors = self._journal, self._tensors
        before = self._gradients()
        uses = tuple(Use(tensors.see(t).id, t.requires_grad) for t in roots)
        scalar = all(t.numel() == 1 for t in roots) or given
        notes = () if scalar else ("not a scalar",)
        if retain:
            notes = (*notes, "retain_graph")
        error = ""
        journal.quiet += 1
        try:
            result = work()
        except BaseException as raised:
            error = f"{type(raised).__name__}: {raised}"
            raise
        finally:
            journal.quiet -= 1
            after = self._gradients()
            received = tuple(i for i, g in after.items() if before.get(i) != g)
            outs: list[Any] = []
            if name == "grad" and not error:
                collect((result,), outs)
            journal.add(
                Event(
                    len(journal.events),
                    name,
                    "autograd.grad" if name == "grad" else "backward",
                    journal.line,
                    inputs=uses,
                    outputs=tuple(
                        Use(tensors.see(t).id, t.requires_grad) for t in outs
                    ),
                    received=received,
                    error=error,
                    notes=notes,
                )
            )
        return result

    def _gradients(self) -> dict[str, tuple[int, int]]:
        found = {}
        self._journal.quiet += 1
        try:
            for name, leaf in self._tensors.identity.living():
                grad = gradient_of(leaf)
                if grad is not None:
                    found[name] = (id(grad), version_of(grad))
        finally:
            self._journal.quiet -= 1
        return found


def passed(func: Any, args: Any, kwargs: Any) -> Any:
    """Run what is no part of the story."""
    return func(*args, **kwargs)
