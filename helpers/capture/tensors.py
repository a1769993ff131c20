"""One live tensor or array → its facts, without changing anything."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from typing import Any

import numpy
import torch

from ..model import TensorFacts
from .nodes import grad_fn_name
from .things import Leaf

MOST_VALUES = 64  # a tensor with more elements is never read whole


@dataclass
class Found:
    """A live leaf with what was found out about it so far."""

    leaf: Leaf
    id: str
    names: list[str] = field(default_factory=list)
    storage: str | None = None
    start: int | None = None
    twin: str | None = None


def gradient_of(tensor: Leaf) -> torch.Tensor | None:
    """Return ``.grad`` without the warning that a non-leaf would give."""
    if not isinstance(tensor, torch.Tensor):
        return None
    if is_wrapped(tensor) or not (tensor.is_leaf or tensor.retains_grad):
        return None
    return tensor.grad


def is_wrapped(tensor: torch.Tensor) -> bool:
    """Say whether torch.func (vmap, grad, …) wraps this tensor just now."""
    return torch._C._functorch.is_functorch_wrapped_tensor(tensor)


def why_no_storage(tensor: torch.Tensor) -> str:
    """Say in a few words why a tensor has no storage that can be shown."""
    if is_wrapped(tensor):
        return "inside torch.func (vmap, grad, …): its data can't be shown"
    if tensor.is_nested:
        return "nested: its parts have no common shape"
    if tensor.layout is not torch.strided:
        kind = str(tensor.layout).removeprefix("torch.")
        return f"{kind}: keeps its indices and values in storages of its own"
    return "it has no storage of its own"


def tensor_facts(found: Found, grad: TensorFacts | None) -> TensorFacts:
    """Describe a leaf, whatever it is."""
    if isinstance(found.leaf, numpy.ndarray):
        return _array_facts(found, found.leaf)
    return _torch_facts(found, found.leaf, grad)


def _array_facts(found: Found, array: numpy.ndarray) -> TensorFacts:
    size = array.itemsize
    strided = all(s % size == 0 for s in array.strides) if size else False
    start = found.start
    return TensorFacts(
        found.id,
        tuple(found.names),
        "ndarray",
        str(array.dtype),
        array.shape,
        stride=tuple(s // size for s in array.strides) if strided else None,
        offset=start // size if strided and start is not None else None,
        start=start if strided else None,
        itemsize=size,
        storage=found.storage,
        values=array.tolist() if array.size <= MOST_VALUES else None,
    )


def _torch_facts(
    found: Found, tensor: torch.Tensor, grad: TensorFacts | None
) -> TensorFacts:
    plain = found.storage is not None
    shape = () if tensor.is_nested else tuple(int(n) for n in tensor.shape)
    grad_fn = tensor.grad_fn
    return TensorFacts(
        found.id,
        tuple(found.names),
        type(tensor).__name__,
        str(tensor.dtype).removeprefix("torch."),
        shape,
        str(tensor.device),
        stride=tuple(tensor.stride()) if plain else None,
        offset=tensor.storage_offset() if plain else None,
        start=found.start,
        itemsize=tensor.element_size(),
        storage=found.storage,
        requires_grad=tensor.requires_grad,
        is_leaf=tensor.is_leaf,
        grad_fn=None if grad_fn is None else grad_fn_name(grad_fn),
        retains_grad=tensor.retains_grad,
        grad=grad,
        grad_norm=_norm(tensor) if grad is not None else None,
        version=_version(tensor),
        values=_values(tensor),
        twin=found.twin,
        note=_note(tensor, plain),
    )


def _version(tensor: torch.Tensor) -> int | None:
    if tensor.is_inference() or is_wrapped(tensor):
        return None
    return tensor._version


def _values(tensor: torch.Tensor) -> Any:
    if tensor.is_nested or is_wrapped(tensor) or tensor.is_meta:
        return None
    if tensor.numel() > MOST_VALUES:
        return None
    with contextlib.suppress(RuntimeError, NotImplementedError, TypeError):
        return tensor.tolist()
    return None


def _norm(tensor: torch.Tensor) -> float | None:
    with contextlib.suppress(RuntimeError, NotImplementedError, TypeError):
        return float(tensor.grad.detach().norm())
    return None


def _note(tensor: torch.Tensor, plain: bool) -> str:
    if not plain:
        return why_no_storage(tensor)
    if tensor.is_meta:
        return "meta: it has a shape and no data"
    if tensor.is_quantized:
        return "quantized: the storage holds the integers, not the values"
    if tensor.is_inference():
        return "inference tensor: it has no version counter"
    if tensor.is_conj():
        return "conjugated when read"
    return "negated when read" if tensor.is_neg() else ""
