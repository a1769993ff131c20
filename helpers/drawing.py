"""draw_memory, draw_graph and facts: what is there now."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

from .capture import look_at, take
from .collecting import paused
from .diagrams import memory, modules, table
from .diagrams.diagram import Diagram
from .model import Snapshot

__all__ = ["draw_graph", "draw_memory", "facts"]


def draw_memory(*things: Any, **named: Any) -> Diagram:
    """Draw names, the tensors they name, and the storages these look at.

    ``things`` are tensors, NumPy arrays, Modules, and dicts, lists, tuples
    and dataclasses of these, of any shape, dtype and device.  They get the
    names that your variables give them; ``name=thing`` gives another one.
    Without arguments, all your own tensors are drawn.

    Returns a :class:`Diagram`.  Raises TypeError for a thing that holds no
    tensor, ValueError when there is none among your variables.

    >>> import torch
    >>> a = torch.tensor([1.0, 2.0])
    >>> b = a.detach()
    >>> print(draw_memory(a, b))
    storage s0: 8 bytes, version 0
      float32: 1.0 2.0
      a: Tensor float32 [2], no history
      b: Tensor float32 [2], no history
    a and b share storage s0.

    Source: ``torch.Tensor.untyped_storage``, ``storage_offset``, ``stride``
    and the version counter of "In-place correctness checks" in PyTorch's
    notes on autograd mechanics.
    """
    frame = sys._getframe(1)
    with paused():
        return memory.draw(_look("draw_memory", frame, things, named))


def draw_graph(*things: Any, saved: Any = False, **named: Any) -> Diagram:
    """Draw the autograd graph behind tensors, in the order it was computed.

    ``things`` are tensors (a loss, several results, or dicts and lists of
    them); a Module among them groups the boxes by its paths.  Leaves and
    intermediate results carry the names of your variables, and ``.grad``
    where there is one.  ``saved=True`` adds the tensors that each operation
    saved for backward.

    Returns a :class:`Diagram`.  Raises TypeError for a thing that has no
    graph, ValueError when there is no tensor among your variables.

    >>> import torch
    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> y = x * x
    >>> print(draw_graph(y))
    graph of y
      x: leaf, float32 [] = 3.0, .grad None
      #1 mul [MulBackward0] of x (× 2) -> y (float32 [] = 9.0)
    A gradient of y reaches x.

    Source: ``grad_fn`` and ``next_functions``, "How autograd encodes the
    history" in PyTorch's notes on autograd mechanics.
    """
    frame = sys._getframe(1)
    if not isinstance(saved, bool):  # a tensor that is called saved
        named, saved = {"saved": saved, **named}, False
    with paused():
        return modules.draw(_look("draw_graph", frame, things, named, saved))


def facts(*things: Any, **named: Any) -> Diagram:
    """Set side by side what torch says of tensors: one column each.

    ``things`` are as in :func:`draw_memory`.  A row in which the columns
    differ is marked with ≠.

    Returns a :class:`Diagram` whose HTML is a table.  Raises TypeError for a
    thing that holds no tensor, ValueError when there is none at all.

    >>> import torch
    >>> a = torch.ones(2, requires_grad=True)
    >>> print(facts(a, a.detach()).text.splitlines()[1])
    ≠ requires_grad  True         False
    """
    frame = sys._getframe(1)
    return table.draw(_look("facts", frame, things, named))


def _look(
    function: str,
    frame: FrameType,
    things: tuple[Any, ...],
    named: dict[str, Any],
    saved: bool = False,
) -> Snapshot:
    caller = look_at(frame, len(things))
    given: list[tuple[str | None, Any]] = [(None, one) for one in things]
    given += named.items()
    return take(
        function, given, caller, graph=function == "draw_graph", saved=saved
    )
