"""A tensor as the recorder goes on knowing it, also when it is gone."""

from __future__ import annotations

import weakref
from dataclasses import replace
from typing import Any

import torch

from ..capture.tensors import Norms, gradient_of
from ..model import Life

LATER = "later"  # a storage that was not looked up yet


class Seen:
    """A tensor as the recorder goes on knowing it."""

    __slots__ = (
        "counter",
        "dtype",
        "grad",
        "id",
        "last",
        "made",
        "names",
        "ref",
        "shape",
        "storage",
        "type",
        "view_of",
    )

    def __init__(
        self,
        name: str,
        ref: weakref.ref[Any],
        storage: str | None,
        counter: str,
        view_of: str | None,
        shape: Any,
        dtype: Any,
        kind: str,
    ) -> None:
        self.id = name
        self.ref = ref
        self.storage = storage
        self.counter = counter
        self.view_of = view_of
        self.shape = shape
        self.dtype = dtype
        self.type = kind
        self.names: dict[str, None] | None = None
        self.last: tuple[Any, ...] | None = None
        self.made = False
        self.grad = False  # it was made with a history


def version_of(tensor: torch.Tensor) -> int:
    """Return the version; 0 of an inference tensor, which has none."""
    return 0 if tensor.is_inference() else tensor._version


def mode_name() -> str:
    """Return the grad mode: grad, no_grad or inference_mode."""
    if torch.is_inference_mode_enabled():
        return "inference_mode"
    return "grad" if torch.is_grad_enabled() else "no_grad"


def sizes_of(leaf: torch.Tensor) -> Any:
    """Return the shape, also a symbolic one; nothing where there is none."""
    try:
        return leaf.shape
    except (RuntimeError, NotImplementedError):  # lazy, nested
        return ()


def last_state(leaf: Any, norms: Norms) -> tuple[Any, ...] | None:
    """What only a living tensor can tell: its flags at the end."""
    if not isinstance(leaf, torch.Tensor):
        return None
    try:
        return (
            leaf.requires_grad,
            leaf.is_leaf,
            isinstance(leaf, torch.nn.Parameter),
            leaf.retains_grad,
            gradient_of(leaf) is not None,
            norms.of(leaf),
        )
    except RuntimeError:  # a view that torch refuses to explain
        return None


_LAST = (
    "requires_grad",
    "is_leaf",
    "is_parameter",
    "retains_grad",
    "has_grad",
    "grad_norm",
)


def life_of(found: Seen) -> Life:
    """Return what is known of a tensor as plain data of the model."""
    base = Life(
        found.id,
        tuple(found.names or ()),
        _shape(found.shape),
        str(found.dtype).removeprefix("torch."),
        found.type,
        None if found.storage is LATER else found.storage,
        found.counter,
        found.view_of,
        alive=found.last is not None,
    )
    if found.last is None:
        return base
    return replace(base, **dict(zip(_LAST, found.last, strict=True)))


def shape_of_sizes(sizes: Any) -> tuple[int, ...] | None:
    """Return a shape as plain numbers, None where there is none."""
    return None if sizes is None else _shape(sizes)


def _shape(sizes: Any) -> tuple[int, ...]:
    try:
        return tuple(int(n) for n in sizes)
    except (RuntimeError, TypeError):  # symbolic, or of a nested tensor
        return ()
