"""From the things that are handed in to the tensors in them, with names."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Iterator
from typing import Any

import numpy
import torch

Leaf = torch.Tensor | numpy.ndarray

_DEEPEST = 8
_MOST = 20_000  # containers and tensors looked at; a search must end


def is_leaf(thing: Any) -> bool:
    """Say whether a thing is what a picture shows: a tensor or an array."""
    return isinstance(thing, (torch.Tensor, numpy.ndarray))


def tensors_in(name: str, thing: Any) -> Iterator[tuple[str, Leaf]]:
    """Yield the tensors and arrays in a thing, each with its name.

    Looks into Modules (parameters and buffers, by path), dicts, lists,
    tuples and dataclasses, never into other objects, never twice into the
    same one.

    >>> [name for name, _ in tensors_in("net", torch.nn.Linear(1, 1))]
    ['net.weight', 'net.bias']
    """
    seen: set[int] = set()
    stack = [(name, thing, 0)]
    for _ in range(_MOST):
        if not stack:
            return
        name, thing, depth = stack.pop()
        if is_leaf(thing):
            yield name, thing
        elif depth < _DEEPEST and id(thing) not in seen:
            seen.add(id(thing))
            inside = [(n, t, depth + 1) for n, t in _children(name, thing)]
            stack += reversed(inside)


def _children(name: str, thing: Any) -> list[tuple[str, Any]]:
    if isinstance(thing, torch.nn.Module):
        return _in_module(name, thing)
    if isinstance(thing, dict):
        return [(f"{name}[{_key(k)}]", v) for k, v in thing.items()]
    if isinstance(thing, tuple) and hasattr(thing, "_fields"):
        pairs = zip(thing._fields, thing, strict=True)
        return [(f"{name}.{field}", value) for field, value in pairs]
    if isinstance(thing, (list, tuple)):
        return [(f"{name}[{i}]", v) for i, v in enumerate(thing)]
    if dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        return [
            (f"{name}.{field.name}", getattr(thing, field.name))
            for field in dataclasses.fields(thing)
            if hasattr(thing, field.name)
        ]
    return []


def _in_module(name: str, module: torch.nn.Module) -> list[tuple[str, Any]]:
    """Parameters, buffers and plain tensor attributes, in the order of the
    modules, tied ones under each of their names.
    """
    prefix = f"{name}." if name else ""
    found = []
    for path, part in module.named_modules(remove_duplicate=False):
        start = f"{prefix}{path}." if path else prefix
        held = {**part._parameters, **part._buffers}
        held |= {k: v for k, v in vars(part).items() if is_leaf(v)}
        found += [(start + k, v) for k, v in held.items() if v is not None]
    return found


def _key(key: Any) -> str:
    return f"'{key}'" if isinstance(key, str) else repr(key)


def refusal(thing: Any, function: str) -> str:
    """Say in one sentence what was handed in and what to do instead."""
    if thing is None:
        return (
            f"{function} was given None, where there is nothing to show yet: "
            "a .grad, for one, is None until backward() has run."
        )
    if function == "draw_graph" and is_leaf(thing):
        return (
            "draw_graph was given a NumPy array, which has no graph: "
            "hand in the tensor that you computed."
        )
    methods = (types.MethodType, types.BuiltinMethodType)
    if isinstance(thing, methods) and is_leaf(thing.__self__):
        name = thing.__name__
        return (
            f"{function} was given the method .{name} itself, not its "
            f"result: did you forget the brackets, .{name}()?"
        )
    if isinstance(thing, type):
        name = thing.__name__
        return (
            f"{function} was given the class {name}, not an object of it: "
            f"make one first, {name}(…)."
        )
    if isinstance(thing, torch.nn.Module):
        name = type(thing).__name__
        if function == "draw_graph":
            return (
                f"draw_graph was given a Module ({name}), which has no graph "
                "of its own: call it first and draw its result, "
                "draw_graph(net(x))."
            )
        return (
            f"{function} was given a Module ({name}) without parameters or "
            "buffers: there is no tensor in it to show."
        )
    if callable(thing):
        name = getattr(thing, "__name__", type(thing).__name__)
        return (
            f"{function} was given the function {name}, not a tensor: "
            "call it and hand in its result."
        )
    kind = type(thing).__name__
    if isinstance(thing, (dict, list, tuple)) or dataclasses.is_dataclass(
        thing
    ):
        return (
            f"{function} found no tensor in the {kind} it was given: "
            "hand in one that holds tensors."
        )
    return (
        f"{function} was given {kind} {_short(thing)}, which is no tensor: "
        "hand in a tensor, a NumPy array, a Module, or a list or dict of them."
    )


def _short(thing: Any) -> str:
    try:
        text = repr(thing)
    except Exception:  # a foreign __repr__ may do anything
        return "(its repr fails)"
    return text if len(text) <= 40 else text[:39] + "…"
