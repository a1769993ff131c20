"""What the caller's code calls things: its variables and its arguments."""

from __future__ import annotations

import ast
import inspect
import sys
import warnings
from dataclasses import dataclass, field
from functools import cached_property
from types import CodeType, FrameType, ModuleType
from typing import Any

import executing

from .things import Leaf, tensors_in

# What IPython keeps for itself in a notebook's namespace.
_NOTEBOOK_NAMES = {"In", "Out", "exit", "quit", "get_ipython", "open"}


@dataclass(frozen=True)
class Caller:
    """What the calling code can see and how it wrote its arguments.

    ``variables`` are those of the calling function or notebook, ``around``
    the module's variables that a function also sees, and ``sources`` the text
    of each positional argument, None where it can't be told.
    """

    variables: dict[str, Any] = field(default_factory=dict)
    around: dict[str, Any] = field(default_factory=dict)
    sources: tuple[str | None, ...] = ()

    @cached_property
    def leaves(self) -> list[tuple[str, Leaf]]:
        """The tensors and arrays in ``variables``, with their paths."""
        return [
            found
            for name, thing in self.variables.items()
            for found in tensors_in(name, thing)
        ]


def look_at(frame: FrameType, count: int) -> Caller:
    """Describe the code in ``frame``, which makes a call with ``count``
    positional arguments.
    """
    in_function = bool(frame.f_code.co_flags & inspect.CO_OPTIMIZED)
    local = locals_of(frame) if in_function else frame.f_locals
    return Caller(
        visible(local),
        visible(frame.f_globals) if in_function else {},
        _argument_sources(frame, count),
    )


def locals_of(frame: FrameType) -> dict[str, Any]:
    """Copy a function's variables and leave nothing behind in its frame.

    Before Python 3.13 a frame keeps the dict that ``f_locals`` gives, and
    with it every tensor in it, until the function returns.
    """
    seen = frame.f_locals
    variables = dict(seen)
    # the frame, this name and the call below hold it; or the caller does,
    # by a call of locals(), and then it is not ours to empty
    if isinstance(seen, dict) and sys.getrefcount(seen) <= 3:
        for name in _names_of(frame.f_code):
            seen.pop(name, None)
    return variables


def _names_of(code: CodeType) -> tuple[str, ...]:
    return (*code.co_varnames, *code.co_cellvars, *code.co_freevars)


def visible(namespace: dict[str, Any]) -> dict[str, Any]:
    """Return the variables that a person made and would look for."""
    return {
        name: value
        for name, value in namespace.items()
        if type(name) is str
        and not name.startswith(("_", "@"))
        and name not in _NOTEBOOK_NAMES
        and not issubclass(type(value), ModuleType)
    }


def _argument_sources(frame: FrameType, count: int) -> tuple[str | None, ...]:
    unknown = (None,) * count
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the source is parsed once more
        try:
            call = executing.Source.executing(frame).node
        except Exception:  # the source may be anything, or gone
            return unknown
    if not isinstance(call, ast.Call) or len(call.args) != count:
        return unknown
    if any(isinstance(arg, ast.Starred) for arg in call.args):
        return unknown
    return tuple(ast.unparse(arg) for arg in call.args)
