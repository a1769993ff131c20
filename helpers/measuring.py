"""saved_bytes, kept_bytes, graph_size: what recording costs, in numbers that
are the same on every machine.

Counted are the tensors that operations save for backward, not the memory
that the process uses: an allocator's figures differ from run to run.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import torch

from .capture.nodes import MOST, accumulates, in_forward_order
from .capture.storages import group

__all__ = ["graph_size", "kept_bytes", "saved_bytes"]


class _Saved:
    """What stands in a graph in place of a saved tensor."""

    def __init__(self, tensor: torch.Tensor):
        # Detached, because an operation that saved its own result would
        # hold itself.  The storage and the version counter are the same.
        self.tensor = tensor.detach()
        self.version = tensor._version

    def unpack(self) -> torch.Tensor:
        """Give the tensor back, unless it was written to, as torch does."""
        now = self.tensor._version
        if now != self.version:
            raise RuntimeError(
                "one of the variables needed for gradient computation has "
                f"been modified by an inplace operation: it is at version "
                f"{now}; expected version {self.version} instead."
            )
        return self.tensor


def saved_bytes(function: Callable[..., Any], *args: Any) -> int:
    """Call a function and count the bytes that its operations save for
    backward.

    ``function`` is called once, with ``args``; what it returns is dropped.
    A storage that is saved twice counts once, a weight or input that is
    saved counts too, and so does what is free again when the call ends (see
    :func:`kept_bytes`).

    Returns the number of bytes: 0 when nothing was recorded.  Raises
    TypeError for something that can't be called, or when a tensor without a
    storage (a sparse one) is saved; what the function raises comes through.
    Operations under hooks of their own (a checkpoint) are not counted.

    >>> import torch
    >>> x = torch.ones(1000, requires_grad=True)
    >>> saved_bytes(torch.exp, x)  # exp saves its result
    4000
    >>> saved_bytes(torch.exp, x.detach())
    0

    Source: ``torch.autograd.graph.saved_tensors_hooks``.
    """
    saved: list[_Saved] = []

    def pack(tensor: torch.Tensor) -> _Saved:
        saved.append(_Saved(tensor))
        return saved[-1]

    _call("saved_bytes", function, args, pack)
    return _bytes_of("saved_bytes", saved)


def kept_bytes(function: Callable[..., Any], *args: Any) -> int:
    """Call a function and count the saved bytes that are still kept for
    backward when it has returned.

    What the function returns is held meanwhile: a loss keeps its whole graph
    alive, and with it each tensor that the graph saved; a number keeps
    nothing.  What the call appended to a list of yours counts too.

    Takes, returns and raises the same as :func:`saved_bytes`.

    >>> import torch
    >>> x = torch.ones(1000, requires_grad=True)
    >>> kept_bytes(lambda: x.exp().sum())
    4000
    >>> kept_bytes(lambda: x.exp().sum().item())
    0
    """
    saved: list[weakref.ref[_Saved]] = []

    def pack(tensor: torch.Tensor) -> _Saved:
        made = _Saved(tensor)
        saved.append(weakref.ref(made))
        return made

    result = _call("kept_bytes", function, args, pack)
    gc.collect()  # what is only held in a circle is not kept
    alive = [made for found in saved if (made := found()) is not None]
    del result
    return _bytes_of("kept_bytes", alive)


def graph_size(tensor: torch.Tensor) -> int:
    """Count the recorded operations behind a tensor.

    These are the boxes that ``draw_graph`` numbers; leaves are not counted.

    Returns 0 for a tensor without history.  Raises TypeError for what is no
    tensor and ValueError for a graph of more than 10,000 nodes.

    >>> import torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> graph_size(x), graph_size((x * 2).exp().sum())
    (0, 3)
    """
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(
            f"graph_size was given a {type(tensor).__name__}, not a tensor."
        )
    if tensor.grad_fn is None:
        return 0
    nodes, whole = in_forward_order([tensor.grad_fn])
    if not whole:
        raise ValueError(f"graph_size counts graphs of up to {MOST} nodes.")
    return sum(not accumulates(node) for node in nodes)


def _call(
    caller: str,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    pack: Callable[[torch.Tensor], _Saved],
) -> Any:
    if not callable(function):
        raise TypeError(
            f"{caller} was given a {type(function).__name__}, not a "
            f"function: write {caller}(function, x), without calling it."
        )
    hooks = torch.autograd.graph.saved_tensors_hooks(pack, _Saved.unpack)
    with hooks:
        return function(*args)


def _bytes_of(caller: str, saved: list[_Saved]) -> int:
    tensors = [made.tensor for made in saved]
    groups = group(tensors)
    if sum(len(members) for _, members in groups) < len(tensors):
        raise TypeError(
            f"{caller} counts storages, and a tensor without one was saved."
        )
    return sum(block.end - block.start for block, _ in groups)
