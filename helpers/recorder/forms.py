"""Calls of one form: what one did, the next one does.

Reading from a node what it saved takes longer than a small operation.  It is
read once for each function, shapes, flags and numbers.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any, NamedTuple

import torch

from ..capture.private import is_autocasting
from ..model import Event
from .calls import ALIASES, LEAVES, NO_TENSOR

MOST_PLANS = 5_000  # different calls whose saved tensors are looked at


class Plan(NamedTuple):
    """What all operations of one form do: same function, same shapes.

    ``like`` is the event of the first one, ``saved`` are labels with the
    place of the input, -1 for the result.
    """

    number: int
    like: tuple[Any, ...]
    saved: tuple[tuple[str, int], ...]
    history: bool
    dtype: torch.dtype
    parameters: bool

    def event(
        self,
        line: int | None,
        module: str,
        notes: tuple[str, ...],
        made: str,
        *facts: Any,
    ) -> tuple[Any, ...]:
        """Return the fields of another event of this form; ``facts`` are the
        ids of its inputs, then the versions of what it saved.
        """
        told = list(self.like)
        told[LINE], told[MODULE], told[NOTES] = line, module, notes
        flags = [flag for _, flag in self.like[INPUTS]]
        inputs, versions = facts[: len(flags)], facts[len(flags) :]
        told[INPUTS] = list(zip(inputs, flags, strict=True))
        told[OUTPUTS] = [(made, self.history)]
        told[SAVED] = [
            (label, made if place < 0 else inputs[place], version)
            for (label, place), version in zip(
                self.saved, versions, strict=True
            )
        ]
        return tuple(told)


# Where the fields of an Event stand in a tuple of them.
KIND, LINE, MODULE, INPUTS, OUTPUTS, SAVED, NOTES = (
    [field.name for field in fields(Event)].index(name)
    for name in "kind line module inputs outputs saved notes".split()  # noqa: SIM905
)

UNPLANNED = {*ALIASES, *LEAVES}


def form_of(
    func: Any, args: Any, kwargs: Any
) -> tuple[Any, list[torch.Tensor]]:
    """What decides which tensors an operation saves: the function, the grad
    mode, the shapes and the numbers; and its tensors.

    None where a call has more in it than tensors and numbers.
    """
    tensors: list[torch.Tensor] = []
    if is_autocasting():  # it saves copies
        return None, tensors
    if torch.is_inference_mode_enabled():
        return None, tensors
    form = [func, torch.is_grad_enabled()]
    if kwargs:
        form += kwargs
        args = (*args, *kwargs.values())
    try:
        for thing in args:
            kind = type(thing)
            form.append(kind)
            if kind is torch.Tensor or kind is torch.nn.Parameter:
                tensors.append(thing)
                form += (
                    thing.shape,
                    thing.stride(),
                    thing.dtype,
                    thing.requires_grad,
                )
            elif kind in NO_TENSOR or _are_ints(thing):
                form.append(thing)
            else:
                return None, tensors
    except (RuntimeError, NotImplementedError):  # sparse, lazy
        return None, tensors
    if len(tensors) > 1:
        first: dict[int, int] = {}
        form += [first.setdefault(id(t), i) for i, t in enumerate(tensors)]
    return tuple(form), tensors


def _are_ints(thing: Any) -> bool:
    return type(thing) is tuple and all(type(n) is int for n in thing)
