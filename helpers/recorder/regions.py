"""Code that is one box in a picture, however much runs inside."""

from __future__ import annotations

from dataclasses import replace

from ..model import Event

INSIDE = "inside: a Function"  # on what is part of another event


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
        if INSIDE in event.notes:
            inside.append(event.number)
            continue
        place |= dict.fromkeys([*inside, event.number], len(merged))
        inside.clear()
        merged.append(replace(event, number=len(merged)))
    if merged:
        place |= dict.fromkeys(inside, len(merged) - 1)
    return merged, place
