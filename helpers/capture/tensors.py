"""One live tensor or array → its facts, without changing anything."""

from __future__ import annotations

import contextlib
import functools
from dataclasses import dataclass, field
from typing import Any

import numpy
import torch
from torch.autograd import grad_mode

from ..model import TensorFacts
from .nodes import grad_fn_name
from .storages import is_fake
from .things import Leaf

MOST_VALUES = 64  # a tensor with more elements is never read whole
MOST_FOR_NORM = 100_000_000  # nor is a gradient with more: 40 ms


@functools.cache
def _reader(name: str) -> Any:
    """Torch's own way to read an attribute, whatever a subclass does."""
    return getattr(torch.Tensor, name).__get__


_GRAD_FN = _reader("grad_fn")
_GRAD = _reader("grad")
_IS_LEAF = _reader("is_leaf")
_RETAINS_GRAD = _reader("retains_grad")
_UNREADABLE = (RuntimeError, NotImplementedError, TypeError, ValueError)


@dataclass
class Found:
    """A live leaf with what was found out about it so far."""

    leaf: Leaf
    id: str
    names: list[str] = field(default_factory=list)
    storage: str | None = None
    start: int | None = None
    twin: str | None = None
    module: str = ""


def torchs_own(tensor: torch.Tensor, name: str) -> Any:
    """Read an attribute as torch defines it, whatever a subclass does."""
    return _reader(name)(tensor, type(tensor))


def grad_fn_of(tensor: torch.Tensor) -> Any:
    """Return grad_fn; None also where torch refuses to tell it.

    It does for a view whose base was changed in a way that views forbid.
    """
    try:
        return _GRAD_FN(tensor)
    except _UNREADABLE:
        return None


def gradient_of(tensor: Leaf) -> torch.Tensor | None:
    """Return ``.grad`` without the warning that a non-leaf would give."""
    if not isinstance(tensor, torch.Tensor) or is_wrapped(tensor):
        return None
    try:
        if _IS_LEAF(tensor) or _RETAINS_GRAD(tensor):
            return _GRAD(tensor)
    except _UNREADABLE:
        return None
    return None


def is_wrapped(tensor: torch.Tensor) -> bool:
    """Say whether torch.func (vmap, grad, …) wraps this tensor just now."""
    return torch._C._functorch.is_functorch_wrapped_tensor(tensor)


def shares_counter(first: torch.Tensor, second: torch.Tensor) -> bool:
    """Say whether two tensors have one version counter, which aliases made
    inside of torch's operations may not have.

    The counter is moved for a moment and put back.
    """
    if first._version != second._version:
        return False
    with grad_mode._unsafe_preserve_version_counter(first):
        torch.autograd.graph.increment_version(first)
        return first._version == second._version


def is_uninitialized(tensor: torch.Tensor) -> bool:
    """Say whether a lazy Module has still to give this tensor its shape."""
    return torch.nn.parameter.is_lazy(tensor)


def tensor_facts(found: Found, grad: TensorFacts | None) -> TensorFacts:
    """Describe a leaf, whatever it is."""
    if isinstance(found.leaf, numpy.ndarray):
        return _array_facts(found, numpy.asarray(found.leaf))
    return _torch_facts(found, found.leaf, grad)


def _array_facts(found: Found, array: numpy.ndarray) -> TensorFacts:
    size, start = array.itemsize, _aligned(found.start, array)
    values = None
    if array.size <= MOST_VALUES and not array.dtype.hasobject:
        values = array.tolist()
    return TensorFacts(
        found.id,
        tuple(found.names),
        "ndarray",
        str(array.dtype),
        array.shape,
        stride=None
        if start is None
        else tuple(s // size for s in array.strides),
        offset=None if start is None else start // size,
        start=start,
        itemsize=size,
        storage=found.storage,
        values=values,
        note="its elements do not lie on whole cells of the storage"
        if start is None and size
        else "",
    )


def _aligned(start: int | None, array: numpy.ndarray) -> int | None:
    """The start, where all elements lie on whole cells of the storage."""
    size = array.itemsize
    if not size or start is None:
        return None
    return None if any(n % size for n in (start, *array.strides)) else start


def _torch_facts(
    found: Found, tensor: torch.Tensor, grad: TensorFacts | None
) -> TensorFacts:
    plain = found.storage is not None
    shape = _shape(tensor)
    grad_fn = grad_fn_of(tensor)
    small = _is_small(tensor, shape, MOST_VALUES)
    return TensorFacts(
        found.id,
        tuple(found.names),
        type(tensor).__name__,
        str(torchs_own(tensor, "dtype")).removeprefix("torch."),
        shape or (),
        str(torchs_own(tensor, "device")),
        stride=tuple(torch.Tensor.stride(tensor)) if plain else None,
        offset=int(torch.Tensor.storage_offset(tensor)) if plain else None,
        start=found.start,
        itemsize=torch.Tensor.element_size(tensor),
        storage=found.storage,
        requires_grad=torchs_own(tensor, "requires_grad"),
        is_leaf=is_leaf_tensor(tensor),
        grad_fn=None if grad_fn is None else grad_fn_name(grad_fn),
        retains_grad=torchs_own(tensor, "retains_grad"),
        grad=grad,
        version=_version(tensor),
        values=_values(tensor) if small else None,
        is_parameter=isinstance(tensor, torch.nn.Parameter),
        module=found.module,
        twin=found.twin,
        note=_note(tensor, plain, shape),
    )


def is_leaf_tensor(tensor: torch.Tensor) -> bool:
    """Return is_leaf; False where torch refuses to tell it."""
    try:
        return _IS_LEAF(tensor)
    except _UNREADABLE:
        return False


def _shape(tensor: torch.Tensor) -> tuple[int, ...] | None:
    """The shape; None where it is not known, or not one shape."""
    if torchs_own(tensor, "is_nested") or is_uninitialized(tensor):
        return None
    with contextlib.suppress(*_UNREADABLE):  # symbolic sizes
        return tuple(int(n) for n in torchs_own(tensor, "shape"))
    return None


def _version(tensor: torch.Tensor) -> int | None:
    if torch.Tensor.is_inference(tensor) or is_wrapped(tensor):
        return None
    return torchs_own(tensor, "_version")


def _is_small(
    tensor: torch.Tensor, shape: tuple[int, ...] | None, most: int
) -> bool:
    if shape is None or is_wrapped(tensor) or is_fake(tensor):
        return False
    if torchs_own(tensor, "is_meta"):
        return False
    return torch.Tensor.numel(tensor) <= most


def _values(tensor: torch.Tensor) -> Any:
    with contextlib.suppress(*_UNREADABLE):
        return torch.Tensor.tolist(tensor)
    return None


class Norms:
    """The norm of each tensor's gradient, taken once."""

    def __init__(self) -> None:
        self._known: dict[int, float | None] = {}  # by id()

    def of(self, tensor: Leaf) -> float | None:
        """Return the norm of a gradient; None where there is none, or one
        that is huge or special.  The tensor has to live on.
        """
        if id(tensor) not in self._known:
            gradient = gradient_of(tensor)
            norm = None if gradient is None else _norm(gradient)
            self._known[id(tensor)] = norm
        return self._known[id(tensor)]


def _norm(tensor: torch.Tensor) -> float | None:
    plain = type(tensor) in (torch.Tensor, torch.nn.Parameter)
    if plain and _is_small(tensor, _shape(tensor), MOST_FOR_NORM):
        with contextlib.suppress(*_UNREADABLE):
            return float(torch.linalg.vector_norm(tensor.detach()))
    return None


def _note(
    tensor: torch.Tensor, plain: bool, shape: tuple[int, ...] | None
) -> str:
    """Say what sets a tensor apart from an ordinary one."""
    if is_wrapped(tensor):
        return "inside torch.func (vmap, grad, …): its data can't be shown"
    if is_uninitialized(tensor):
        return "uninitialized: it gets its shape in the first call"
    if is_fake(tensor):
        sizes = "" if shape is not None else ", with symbolic sizes"
        return f"fake: it has a shape and no data{sizes}"
    if torchs_own(tensor, "is_nested"):
        return "nested: its parts have no common shape"
    layout = torchs_own(tensor, "layout")
    if layout is not torch.strided:
        kind = str(layout).removeprefix("torch.")
        return f"{kind}: keeps its indices and values in storages of its own"
    if torchs_own(tensor, "is_meta"):
        return "meta: it has a shape and no data"
    return _smaller_note(tensor, plain)


def _smaller_note(tensor: torch.Tensor, plain: bool) -> str:
    if not plain:
        return "it has no storage of its own"
    if torchs_own(tensor, "is_quantized"):
        return "quantized: the storage holds the integers, not the values"
    if torch.Tensor.is_inference(tensor):
        return "inference tensor: it has no version counter"
    if torch.Tensor.is_conj(tensor):
        return "conjugated when read"
    return "negated when read" if torch.Tensor.is_neg(tensor) else ""
