"""The autograd graph behind tensors, as plain operations in forward order.

Nodes are read, never run: saved tensors are taken only where no hook of the
user's would have to unpack them (a checkpoint would compute again).
"""

from __future__ import annotations

import functools
import heapq
import re
from collections import deque
from collections.abc import Callable, Collection, Iterable
from typing import Any

import torch

from ..model import Operation, Saved, Source
from .storages import extent

Node = Any  # torch.autograd.graph.Node, also for custom Functions
SavedTensor = tuple[str, "torch.Tensor | None", str]  # label, tensor, state
Results = dict[tuple[Node, int], list[tuple[str, torch.Tensor]]]

# torch keeps a Python object for each node that was looked at, and frees such
# a chain by recursion: with more than about 42,000 in a row (torch 2.13, 8 MB
# of stack; 6,000 on 1 MB) the process crashes when the graph is freed.
MOST = 10_000

# A saved tensor with such a name is made by the operation, or kept by it
# between its runs, and not an input that could have wanted a gradient.
_NO_INPUT = re.compile(r"result\d*$|output|logsumexp|rng|philox|seed|running_")


def accumulates(node: Node) -> bool:
    """Say whether a node hands its gradient to a leaf."""
    # the class of a custom Function's node ends in Backward
    return type(node).__name__ == "AccumulateGrad"


def in_forward_order(
    roots: Iterable[Node], ends: Collection[Node] = ()
) -> tuple[list[Node], bool]:
    """Return the nodes behind the roots and not behind the ends, inputs
    first, in the order in which the operations ran, at most MOST of them,
    those nearest to the roots; and whether these are all.
    """
    users: dict[Node, list[Node]] = {}
    waiting: dict[Node, int] = {}
    found: list[Node] = []
    ahead = deque(roots)
    while ahead and len(found) < MOST:
        node = ahead.popleft()
        if node in waiting:
            continue
        inputs = [
            n
            for n, _ in node.next_functions
            if n is not None and n not in ends
        ]
        waiting[node] = 0
        found.append(node)
        for n in inputs:
            users.setdefault(n, []).append(node)
        ahead += inputs
    for node in found:
        for user in users.get(node, []):
            waiting[user] += 1
    place = {node: i for i, node in enumerate(reversed(found))}
    ready = [
        (_age(node), place[node], node) for node in found if not waiting[node]
    ]
    heapq.heapify(ready)
    order = []
    while ready:
        _, _, node = heapq.heappop(ready)
        order.append(node)
        for user in users.get(node, []):
            waiting[user] -= 1
            if not waiting[user]:
                heapq.heappush(ready, (_age(user), place[user], user))
    return order, all(node in waiting for node in ahead)


def _age(node: Node) -> int:
    """Nodes are numbered as they are made; leaves have the largest number
    of all and are wanted before what uses them.
    """
    return -1 if accumulates(node) else node._sequence_nr()


def operation_name(node: Node) -> str:
    """Turn ``MulBackward0`` into ``mul``.

    >>> x = torch.ones(1, requires_grad=True)
    >>> operation_name((x * 2).grad_fn), operation_name((x ** 2).grad_fn)
    ('mul', 'pow 2')
    >>> pooled = torch.nn.functional.max_pool2d(x.view(1, 1, 1), 1)
    >>> operation_name(pooled.grad_fn)
    'max_pool2d_with_indices'
    """
    full = grad_fn_name(node)
    if is_custom(node):
        return full.removesuffix("Backward")
    if full == "PowBackward0":  # of this kind only, it is a plain number
        exponent = node._saved_exponent
        if isinstance(exponent, (int, float)):
            return f"pow {exponent:g}"
    return _in_snake_case(full)


@functools.cache
def _in_snake_case(full: str) -> str:
    short = re.sub(r"Backward\d*$", "", full) or full
    flat = re.sub(r"(?<=\d)D", "d", short)
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", flat).lower()


def grad_fn_name(node: Node) -> str:
    """Return the name that printing a tensor shows as its grad_fn."""
    return node.name().rsplit("::", 1)[-1]


def shape_of(node: Node) -> tuple[int, ...] | None:
    """Return the shape of a node's first result.

    >>> x = torch.ones(2, 3, requires_grad=True)
    >>> shape_of(x.sum(1).grad_fn)
    (2,)
    """
    try:
        shape = node._input_metadata[0].shape
        return tuple(int(size) for size in shape)
    except (AttributeError, IndexError, RuntimeError, TypeError):
        return None  # an older torch, a nested or symbolic shape


def is_custom(node: Node) -> bool:
    """Say whether a node comes from a ``torch.autograd.Function``."""
    return isinstance(node, torch.autograd.function.BackwardCFunction)


def saved_tensors(node: Node) -> list[SavedTensor]:
    """Return what a node saved: label, tensor, and its state.

    The state is "kept", "freed" by an earlier backward, or "hidden" behind
    a user's own pack and unpack hooks, which looking must not call.
    """
    found: list[SavedTensor] = []
    custom = is_custom(node)
    names = ("_raw_saved_tensors",) if custom else _raw_names(type(node))
    for name in names:
        label = name.removeprefix("_raw_saved_")
        try:
            raw = getattr(node, name)
        except RuntimeError:
            found.append((label, None, "freed"))
            continue
        parts = list(raw) if isinstance(raw, (tuple, list)) else [raw]
        states = [_state(one) for one in parts]
        if not any(states) and _is_freed(node, name):
            states = ["freed"] * len(parts)
        for i, (one, state) in enumerate(zip(parts, states, strict=True)):
            each = f"{label} {i}" if len(parts) > 1 else label
            tensor = one.data if state == "kept" else None
            if state:
                found.append((each, tensor, state))
    return found


def kept_tensors(node: Node) -> list[tuple[str, torch.Tensor]]:
    """Return the tensors that a node has just saved, fast: those that no
    hook of the user's packed.
    """
    kind = type(node)
    if kind not in _known_kinds:
        custom = is_custom(node)
        names = ("_raw_saved_tensors",) if custom else _raw_names(kind)
        if custom:
            return _kept(node, names)
        _known_kinds[kind] = names
    names = _known_kinds[kind]
    return _kept(node, names) if names else []


_known_kinds: dict[type, tuple[str, ...]] = {}


def _kept(
    node: Node, names: tuple[str, ...]
) -> list[tuple[str, torch.Tensor]]:
    found = []
    for name in names:
        raw = getattr(node, name)
        for one in raw if isinstance(raw, (tuple, list)) else (raw,):
            if one.unpack_hook is None:
                tensor = one.data
                if tensor is not None:
                    found.append((name[11:], tensor))
    return found


def _state(raw: Any) -> str:
    """Tell a hook of the user's, a tensor, and what is not there."""
    if raw.unpack_hook is not None:
        return "hidden"
    return "kept" if raw.data is not None else ""


def _is_freed(node: Node, raw_name: str) -> bool:
    """Tell what was freed from what was never saved.

    No part has a hook or a tensor, so nothing can be unpacked here.
    """
    plain = "saved_tensors" if is_custom(node) else raw_name[4:]
    try:
        getattr(node, plain)
    except RuntimeError as error:
        return "freed" in str(error)
    return False


def _raw_names(kind: type) -> tuple[str, ...]:
    # looked up once: torch's own kinds of node live as long as torch
    if kind not in _raw_names_of:
        names = [n for n in dir(kind) if n.startswith("_raw_saved_")]
        _raw_names_of[kind] = tuple(names)
    return _raw_names_of[kind]


_raw_names_of: dict[type, tuple[str, ...]] = {}


def constants_of(
    node: Node, saved: list[SavedTensor], own: Collection[Any]
) -> list[torch.Tensor]:
    """Return the inputs that want no gradient, as far as they were saved.

    At most as many as the node has inputs without a way back; ``own`` is the
    memory of the node's results, which are no inputs.
    """
    free = sum(n is None for n, _ in node.next_functions)
    if not free:
        return []
    found: list[torch.Tensor] = []
    for label, tensor, _ in saved:
        if tensor is None or _NO_INPUT.search(label) or tensor.requires_grad:
            continue
        if memory_of(tensor) in own or any(tensor is t for t in found):
            continue
        found.append(tensor)
    # a frozen weight tells more than a statistic that was saved beside it
    found.sort(key=lambda t: not isinstance(t, torch.nn.Parameter))
    return found[:free]


def memory_of(tensor: torch.Tensor) -> Any:
    """What a saved copy of a tensor has in common with it: the same bytes."""
    block = extent(tensor)
    if block is None or not block.start:
        return ("object", id(tensor))
    first = torch.Tensor.data_ptr(tensor) - block.start
    return (block, first, tensor.numel(), tensor.dtype)


def leaves_of(order: list[Node]) -> list[torch.Tensor]:
    """Return the leaves, as the operations use them one after the other."""
    nodes = [n for n in order if accumulates(n)]
    used = [
        n
        for node in order
        for n, _ in node.next_functions
        if n is not None and accumulates(n)
    ]
    return [n.variable for n in dict.fromkeys([*used, *nodes])]


def read_operations(
    order: list[Node],
    tensor_id: Callable[[torch.Tensor], str],
    saved_id: Callable[[torch.Tensor], str] | None,
    results: Results,
) -> list[Operation]:
    """Turn nodes in forward order into operations of the model.

    ``tensor_id`` gives the id of a leaf or a constant, ``saved_id`` that of a
    saved tensor (None: leave them out); ``results`` says which known tensors
    an output of a node is.
    """
    running = [node for node in order if not accumulates(node)]
    ids = {node: f"n{i}" for i, node in enumerate(running)}
    outputs: dict[Node, list[tuple[int, str]]] = {}
    memory: dict[Node, set[Any]] = {}
    for (node, number), known in results.items():
        outputs.setdefault(node, []).extend((number, i) for i, _ in known)
        memory.setdefault(node, set()).update(memory_of(t) for _, t in known)

    def source(node: Node | None, output: int) -> Source:
        if node is None:
            return Source()
        if accumulates(node):
            return Source(tensor=tensor_id(node.variable))
        if node not in ids:  # beyond the last node that was read
            return Source()
        return Source(operation=ids[node], output=output)

    def operation(node: Node) -> Operation:
        saved = saved_tensors(node)
        return Operation(
            ids[node],
            operation_name(node),
            grad_fn_name(node),
            tuple(source(n, k) for n, k in node.next_functions),
            tuple(
                tensor_id(t)
                for t in constants_of(node, saved, memory.get(node, ()))
            ),
            tuple(sorted(outputs.get(node, ()))),
            tuple(
                Saved(label, None if t is None else saved_id(t), state)
                for label, t, state in saved
                if saved_id is not None
            ),
            is_custom(node),
            any(state == "freed" for _, _, state in saved),
            shape=shape_of(node),
        )

    return [operation(node) for node in running]
