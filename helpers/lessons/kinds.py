"""What a lesson asks: questions with options, exercises with checks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["CORRECT", "Exercise", "Option", "Question", "right", "wrong"]

CORRECT = ""  # a check that finds nothing to mend


@dataclass(frozen=True)
class Option:
    """One answer to choose, and what it answers back.

    ``seen`` is the id of the question in ``tests/cases/questions.jsonl``
    where somebody had this idea in public; every wrong option has one.
    """

    text: str
    reason: str
    right: bool = False
    seen: str = ""


def right(text: str, reason: str) -> Option:
    """Make the option that is right."""
    return Option(text, reason, right=True)


def wrong(text: str, reason: str, seen: str) -> Option:
    """Make an option that is wrong, with where it was seen."""
    return Option(text, reason, seen=seen)


@dataclass(frozen=True)
class Question:
    """A prediction or recall question with its options."""

    text: str
    options: tuple[Option, ...]


@dataclass(frozen=True)
class Exercise:
    """What a student does, and how the result is looked at.

    ``look`` gets the student's results and returns CORRECT, one sentence that
    names the likely mistake, or ``...`` where nothing was done yet.  ``given``
    is the faulty function that the student is to repair.
    """

    minutes: int
    difficulty: str
    look: Callable[..., Any]
    said_when_correct: str
    given: Callable[..., Any] | None = None
