"""Code that is one box in a picture, however much runs inside."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from types import CodeType

from ..model import Event


@dataclass
class Region:
    """Code that is one box: a compiled function."""

    name: str
    first: int


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
    """Put the operations of a compiled function into one; say where each
    event is now.
    """
    merged: list[Event] = []
    place: dict[int, int] = {}
    inside = []
    for event in events:
        if any(n.startswith("inside: ") for n in event.notes):
            inside.append(event.number)
            continue
        for number in inside:
            place[number] = len(merged)
        inside.clear()
        mark = next((n for n in event.notes if n.startswith("compiled")), "")
        last = merged[-1] if merged else None
        if mark and last is not None and last.name == mark:
            made = {u.tensor for u in last.outputs}
            inputs = [u for u in event.inputs if u.tensor not in made]
            merged[-1] = replace(
                last,
                inputs=tuple(dict.fromkeys([*last.inputs, *inputs])),
                outputs=event.outputs,
                grad_fn=event.grad_fn or last.grad_fn,
                saved=(*last.saved, *event.saved),
            )
        else:
            merged.append(
                replace(event, name=mark or event.name, number=len(merged))
            )
        place[event.number] = len(merged) - 1
    for number in inside:
        if merged:
            place[number] = len(merged) - 1
    return merged, place
