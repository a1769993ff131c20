"""Code that is one box in a picture, however much runs inside."""

from __future__ import annotations

import os
from dataclasses import replace
from types import CodeType

from ..model import Event


def is_function_module(code: CodeType) -> bool:
    """Say whether code stands where autograd.Function is defined."""
    return code.co_filename.endswith(
        os.path.join("torch", "autograd", "function.py")  # noqa: PTH118
    )


def is_dynamo(code: CodeType) -> bool:
    """Say whether code is what torch.compile wraps around a function."""
    return code.co_filename.endswith(
        os.path.join("torch", "_dynamo", "eval_frame.py")  # noqa: PTH118
    )


def with_regions(
    events: list[Event],
) -> tuple[list[Event], dict[int, int]]:
    """Leave out what ran inside of one operation; say where each event is
    now.
    """
    merged: list[Event] = []
    place: dict[int, int] = {}
    inside = []
    for event in events:
        if any(n.startswith("inside: ") for n in event.notes):
            inside.append(event.number)
            continue
        place |= dict.fromkeys([*inside, event.number], len(merged))
        inside.clear()
        merged.append(replace(event, number=len(merged)))
    if merged:
        place |= dict.fromkeys(inside, len(merged) - 1)
    return merged, place
