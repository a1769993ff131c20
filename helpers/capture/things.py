"""From the things that are handed in to the tensors in them, with names.

A search may meet any object of the caller's, also one whose attributes raise:
it asks for types, never for ``__class__``, and passes over what it can't read.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy
import torch

Leaf = torch.Tensor | numpy.ndarray

_LEAVES = (torch.Tensor, numpy.ndarray)
_OF_EVERY_MODULE = frozenset(vars(torch.nn.Module()))  # hooks and the like
_DEEPEST = 30
_MOST = 20_000  # things looked at in one search; a search must end


def is_leaf(thing: Any) -> bool:
    """Say whether a thing is what a picture shows: a tensor or an array."""
    return issubclass(type(thing), _LEAVES)


def is_a(thing: Any, kind: type) -> bool:
    """Like isinstance, but blind for a ``__class__`` that lies or raises."""
    return issubclass(type(thing), kind)


def tensors_in(name: str, thing: Any) -> Iterator[tuple[str, Leaf]]:
    """Yield the tensors and arrays in a thing, each with its name.

    Looks into Modules (parameters and buffers, by path), dicts, lists,
    tuples and dataclasses, never into other objects, never twice into the
    same one (a Module that is held twice has two paths, though).

    >>> [name for name, _ in tensors_in("net", torch.nn.Linear(1, 1))]
    ['net.weight', 'net.bias']
    """
    if is_leaf(thing):
        yield name, thing
        return
    seen = {id(thing)}
    open_ = [(id(thing), _children(name, thing))]
    for _ in range(_MOST):
        if not open_:
            return
        inside = next(open_[-1][1], None)
        if inside is None:
            open_.pop()
            continue
        name, thing = inside
        if is_leaf(thing):
            yield name, thing
        elif len(open_) < _DEEPEST and _may_open(thing, seen, open_):
            seen.add(id(thing))
            open_.append((id(thing), _children(name, thing)))


def _may_open(thing: Any, seen: set[int], open_: list[Any]) -> bool:
    if is_a(thing, torch.nn.Module):
        return all(id(thing) != holder for holder, _ in open_)
    return id(thing) not in seen


def _children(name: str, thing: Any) -> Iterator[tuple[str, Any]]:
    inside = iter(islice(_look_into(name, thing), _MOST))
    while True:
        try:
            yield next(inside)
        except StopIteration:
            return
        except Exception:  # an object of the caller's that can't be read
            return


def _look_into(name: str, thing: Any) -> Iterator[tuple[str, Any]]:
    kind = type(thing)
    if issubclass(kind, torch.nn.Module):
        yield from _in_module(name, thing)
    elif issubclass(kind, dict):
        for i, (key, value) in enumerate(dict.items(thing)):
            yield f"{name}[{_key(key, i)}]", value
    elif issubclass(kind, tuple) and hasattr(kind, "_fields"):
        for field, value in zip(kind._fields, tuple.__iter__(thing)):  # noqa: B905
            yield f"{name}.{field}", value
    elif issubclass(kind, (list, tuple)):
        base = list if issubclass(kind, list) else tuple
        for i, value in enumerate(base.__iter__(thing)):
            yield f"{name}[{i}]", value
    elif dataclasses.is_dataclass(kind):
        for field in dataclasses.fields(kind):
            held = getattr(thing, field.name, None)
            yield f"{name}.{field.name}", held


def _in_module(name: str, module: Any) -> Iterator[tuple[str, Any]]:
    """Parameters, buffers, plain tensor attributes, then the parts."""
    prefix = f"{name}." if name else ""
    held = vars(module)
    for group in (held["_parameters"], held["_buffers"]):
        for key, value in group.items():
            if value is not None:
                yield prefix + key, value
    for key, value in held.items():
        if key not in _OF_EVERY_MODULE and is_leaf(value):
            yield prefix + key, value
    for key, part in held["_modules"].items():
        if part is not None:
            yield prefix + key, part


def _key(key: Any, place: int) -> str:
    kind = type(key)
    if kind is str:
        return f"'{key}'"
    if kind in (int, float, bool, type(None), bytes, complex):
        return repr(key)
    if kind is tuple and all(type(k) in (str, int) for k in key):
        return repr(key)
    return f"{kind.__name__} {place}"  # its repr may be long, or an address


def refusal(thing: Any, function: str) -> str:
    """Say in one sentence what was handed in and what to do instead."""
    kind = type(thing)
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
    if issubclass(kind, type):
        return (
            f"{function} was given the class {thing.__name__}, not an object "
            f"of it: make one first, {thing.__name__}(…)."
        )
    if kind in (types.MethodType, types.BuiltinMethodType):
        name = thing.__name__
        if is_leaf(thing.__self__):
            return (
                f"{function} was given the method .{name} itself, not its "
                f"result: did you forget the brackets, .{name}()?"
            )
    functions = (types.FunctionType, types.BuiltinFunctionType)
    if issubclass(kind, (*functions, types.MethodType)):
        return (
            f"{function} was given the function {thing.__name__}, not a "
            "tensor: call it and hand in its result."
        )
    return _refusal_of_object(thing, function)


def _refusal_of_object(thing: Any, function: str) -> str:
    kind = type(thing)
    name = kind.__name__
    if issubclass(kind, torch.nn.Module) and function == "draw_graph":
        return (
            f"draw_graph was given a Module ({name}), which has no graph "
            "of its own: call it first and draw its result, "
            "draw_graph(net(x))."
        )
    if issubclass(kind, torch.nn.Module):
        return (
            f"{function} was given a Module ({name}) without parameters or "
            "buffers: there is no tensor in it to show."
        )
    if issubclass(kind, (dict, list, tuple)) or dataclasses.is_dataclass(kind):
        return (
            f"{function} found no tensor in the {name} it was given: "
            "hand in one that holds tensors."
        )
    shown = f" {_short(thing)}" if kind in (int, float, bool, str) else ""
    return (
        f"{function} was given {name}{shown}, which is no tensor: "
        "hand in a tensor, a NumPy array, a Module, or a list or dict of them."
    )


def _short(thing: Any) -> str:
    text = repr(thing[:50] if type(thing) is str else thing)
    return text if len(text) <= 40 else text[:39] + "…"
