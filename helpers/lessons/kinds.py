"""What a lesson asks: questions with options, exercises with checks."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = [
    "CORRECT",
    "Exercise",
    "Option",
    "Question",
    "ordering",
    "right",
    "wrong",
]

CORRECT = ""  # a check that finds nothing to mend


@dataclass(frozen=True)
class Option:
    """One answer to choose, and what it answers back.

    ``seen`` is the id of the question in ``helpers/lessons/questions.jsonl``
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
    is the faulty function that the student is to repair, ``lines`` what is to
    be put in order, by letter.
    """

    minutes: int
    difficulty: str
    look: Callable[..., Any]
    said_when_correct: str
    given: Callable[..., Any] | None = None
    lines: Mapping[str, str] = field(default_factory=dict)


def ordering(
    minutes: int,
    difficulty: str,
    said_when_correct: str,
    lines: Mapping[str, str],
    too_many: Mapping[str, str],
    look: Callable[[dict[str, Any]], str],
    before: str = "import torch",
) -> Exercise:
    """Make a Parsons problem: lines to put in order, some do not belong.

    ``lines`` are the lines by letter (a line may be a whole block),
    ``too_many`` says for each that does not belong why.  The student's order
    is run after ``before``, and ``look`` gets its variables.
    """

    def look_at(order: Any) -> str:
        if isinstance(order, str):
            order = re.sub(r"[\s,]", "", order).upper()
        return _mistake_in(order, lines, too_many) or look(
            _variables_after([before, *(lines[letter] for letter in order)])
        )

    return Exercise(
        minutes, difficulty, look_at, said_when_correct, lines=lines
    )


def _mistake_in(
    order: Any, lines: Mapping[str, str], too_many: Mapping[str, str]
) -> str:
    """Say what is wrong with an order before it is run."""
    needed = len(lines) - len(too_many)
    if not isinstance(order, str):
        kind = type(order).__name__
        return f"the order is of type {kind}: write it as letters."
    if unknown := [letter for letter in order if letter not in lines]:
        return (
            f"there is no line {unknown[0]}: the lines are {''.join(lines)}."
        )
    if len(set(order)) < len(order):
        return "a line stands there twice."
    if wrong_ones := [letter for letter in order if letter in too_many]:
        letter = wrong_ones[0]
        return f"line {letter} does not belong: {too_many[letter]}"
    if len(order) < needed:
        return f"{needed} lines belong, these are {len(order)}."
    return ""


def _variables_after(lines: list[str]) -> dict[str, Any]:
    """Run lines of a lesson, one after the other, and say which one fails."""
    variables: dict[str, Any] = {}
    with contextlib.redirect_stdout(io.StringIO()):
        for line in lines:
            try:
                exec(line, variables)
            except Exception as error:
                said = str(error).splitlines() or [""]
                first = line.strip().splitlines()[0]
                raise RuntimeError(
                    f"at `{first}`: {type(error).__name__}: {said[0]}"
                ) from error
    return variables
