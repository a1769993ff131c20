"""What the checks of several lessons look at."""

from __future__ import annotations

import dis
from collections.abc import Iterable
from typing import Any

import torch
from torch import nn

__all__ = ["function_mistake", "is_untouched", "misspelled", "shares"]


def _stub() -> None: ...


def is_untouched(result: Any, given: Any = None) -> bool:
    """Say whether a blank, or a function with the body ``...``, is as it was,
    or a function to repair still has the code of the ``given`` one.

    >>> def later(x): ...
    >>> is_untouched(later), is_untouched(...), is_untouched(3)
    (True, True, False)
    """
    if result is Ellipsis:
        return True
    code = getattr(result, "__code__", None)
    if code is None:
        return False
    return any(
        _steps(code) == _steps(known)
        for known in (_stub.__code__, getattr(given, "__code__", None))
        if known is not None
    )


def _steps(code: Any) -> list[tuple[str, str]]:
    """What a function's code does, step by step.

    ``torch.ones()`` is compiled in one way where torch is imported in the
    same file, and in another where it is not, as in a notebook's cell.
    """
    calls = {"LOAD_METHOD": "LOAD_ATTR", "CALL_METHOD": "CALL"}
    return [
        (
            calls.get(step.opname, step.opname),
            step.argrepr.replace("NULL + ", "").replace("NULL|self + ", ""),
        )
        for step in dis.get_instructions(code)
        if step.opname not in ("PUSH_NULL", "PRECALL", "KW_NAMES")
    ]


def function_mistake(function: Any, name: str) -> str:
    """Say what is wrong when no function was handed in."""
    if callable(function) and not isinstance(function, nn.Module):
        return ""
    return f"hand in the function itself, {name}, without brackets."


def shares(first: torch.Tensor, second: torch.Tensor) -> bool:
    """Say whether two tensors look at one storage."""
    a, b = first.untyped_storage(), second.untyped_storage()
    return a.data_ptr() == b.data_ptr()


def misspelled(module: nn.Module | None, tensors: Iterable[Any]) -> str:
    """Name the spellings that set an attribute which torch never reads."""
    tensors = list(tensors)
    things = [*tensors, module] if module is not None else tensors
    if any("requires_grad_" in vars(thing) for thing in things):
        return (
            "requires_grad_ = False replaces the method: call it, "
            "requires_grad_(False), or set requires_grad = False."
        )
    if module is not None and "requires_grad" in vars(module):
        return (
            "requires_grad = False on a Module only adds an attribute to it: "
            "call requires_grad_(False), with the underscore."
        )
    if any("require_grad" in vars(t) for t in tensors):
        return (
            "require_grad, with one s missing, is a new attribute that torch "
            "never reads: it is requires_grad."
        )
    return ""
