"""Questions and exercises of the lessons, one module a lesson.

A module holds two dicts, QUESTIONS and EXERCISES; their ids begin with the
lesson's own word and are unique over the course.  They are loaded when one is
asked for: whoever uses the pictures alone need not wait for them.
"""

from __future__ import annotations

import importlib
from typing import Any

from .kinds import Exercise, Question

__all__ = ["EXERCISES", "QUESTIONS"]

_LESSONS = (
    "start",
    "names",
    "graph",
    "clone_or_detach",
    "constant",
    "xw_demo",
    "freeze_w",
    "split_two_networks",
    "in_place",
    "recording_off",
    "weights",
    "first_trial",
    "second_trial",
    "wild_networks",
    "wild_tricks",
    "clinic",
)

QUESTIONS: dict[str, Question]
EXERCISES: dict[str, Exercise]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    lessons = [
        importlib.import_module(f"{__name__}.{lesson}") for lesson in _LESSONS
    ]
    for kind in __all__:
        globals()[kind] = {
            key: asked
            for lesson in lessons
            for key, asked in getattr(lesson, kind).items()
        }
    return globals()[name]
