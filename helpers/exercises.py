"""predict, check and expect_error: what the lessons ask and answer.

Questions and checks stand in ``helpers/lessons``, one module a lesson, so
that no answer can be read in the notebook's own cell and a translation finds
them in one place.  A prediction is plain ``<details>``: it answers by click
and by key, in slides, without a kernel, a script or a network.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from . import lessons
from .diagrams import style
from .diagrams.page import card, marked_up
from .diagrams.svg import escape, legible
from .diagrams.words import words_of
from .lessons.kinds import CORRECT, Question
from .lessons.looking import is_untouched

__all__ = ["arrange", "check", "expect_error", "predict"]


@dataclass(frozen=True)
class Shown:
    """Something that a notebook shows as HTML and a terminal as text."""

    html: str
    text: str

    def __post_init__(self) -> None:
        # it goes into a message and a file, which must be able to hold it
        object.__setattr__(self, "text", legible(self.text))

    def __repr__(self) -> str:
        return self.text

    def _repr_mimebundle_(
        self, include: Any = None, exclude: Any = None
    ) -> dict[str, str]:
        return {"text/html": self.html, "text/plain": self.text}


def predict(question: str | Question) -> Shown:
    """Show a question whose options answer back.

    ``question`` is the id of one in ``helpers/lessons``, or a
    :class:`~helpers.lessons.kinds.Question` of your own.

    Raises KeyError for an unknown id, with the ids that there are.

    >>> print(predict("clone-memory").text.splitlines()[0])
    Predict: Which of `b`, `c` and `d` look at the memory of `a`?
    """
    if not isinstance(question, Question):
        if question not in lessons.QUESTIONS:
            known = ", ".join(lessons.QUESTIONS)
            raise KeyError(f"no question {question!r}; there are: {known}")
        question = lessons.QUESTIONS[question]
    lines = [f"Predict: {question.text}"]
    answers = ["Answers (choose first):"]
    folded = ""
    for number, option in enumerate(question.options, 1):
        verdict = "Right." if option.right else "No."
        lines.append(f"  {number}. {option.text}")
        answers.append(f"  {number}: {verdict} {option.reason}")
        folded += (
            '<details style="margin:6px 0"><summary style="cursor:pointer">'
            f"{number}. {marked_up(option.text)}</summary>"
            f'<div style="margin:4px 0 8px 24px"><b>{verdict}</b> '
            f"{marked_up(option.reason)}</div></details>"
        )
    head = f"<b>Predict.</b> {marked_up(question.text)}"
    return Shown(card(head + folded), "\n".join([*lines, *answers]))


def arrange(exercise: str) -> Shown:
    """Show the lines of a Parsons problem: to be put in order, by letters.

    Raises KeyError for an id that is none, with the ids that there are.

    >>> print(arrange("start-arrange").text.splitlines()[0])
    Put these lines in order. Not all of them belong.
    """
    known = [name for name, asked in lessons.EXERCISES.items() if asked.lines]
    if exercise not in known:
        raise KeyError(
            f"no lines to arrange {exercise!r}; there are: {', '.join(known)}"
        )
    task = "Put these lines in order. Not all of them belong."
    lines = [
        f"{letter}: {line}".replace("\n", "\n   ")
        for letter, line in lessons.EXERCISES[exercise].lines.items()
    ]
    code = "".join(
        f'<pre style="margin:2px 0;background:{style.OPERATION_FILL};'
        f"font-family:{style.MONO};"
        f'color:{style.INK};padding:3px 8px">{escape(line)}</pre>'
        for line in lines
    )
    return Shown(card(f"<b>{task}</b>{code}"), "\n".join([task, *lines]))


def check(exercise: str, *results: Any) -> Shown:
    """Look at a student's result and say what is right or likely wrong.

    Untouched (``...``, or a function with that body) it says "not done
    yet".  It never raises on a student's mistake, whatever the result is.

    Raises KeyError for an unknown id, with the ids that there are.

    >>> check("clone-backup", ..., ...)
    clone-backup: not done yet (3 minutes, easy)
    """
    if exercise not in lessons.EXERCISES:
        known = ", ".join(lessons.EXERCISES)
        raise KeyError(f"no exercise {exercise!r}; there are: {known}")
    asked = lessons.EXERCISES[exercise]
    effort = f"{asked.minutes} minutes, {asked.difficulty}"
    if any(is_untouched(result, asked.given) for result in results):
        return _said(exercise, f"not done yet ({effort})")
    try:
        with torch.random.fork_rng(devices=[]):
            verdict = asked.look(*results)
    except Exception as error:  # a student's code may do anything
        kind = type(error).__name__
        verdict = f"your code raised {kind}: {_first_line(error)}"
        if asked.lines:
            verdict = f"run in your order, it fails {_first_line(error)}"
    if verdict is Ellipsis:
        return _said(exercise, f"not done yet ({effort})")
    if verdict != CORRECT:
        return _said(exercise, f"not yet: {verdict}")
    return _said(exercise, f"correct: {asked.said_when_correct}")


@contextmanager
def expect_error(kind: type[BaseException], message: str) -> Iterator[None]:
    """Show the error that the block raises, and fail when it is another one.

    ``message`` must stand in the error's text.  What is shown is what a
    student would meet, without the traceback.

    Raises AssertionError when the block raises nothing or something else.

    >>> with expect_error(ZeroDivisionError, "division by zero"):
    ...     1 / 0
    ZeroDivisionError: division by zero
    """
    try:
        yield
    except kind as error:
        text = words_of(error)
        if message not in text:
            raise AssertionError(
                f"expected {kind.__name__} with {message!r}, "
                f"but its message was: {text}"
            ) from error
        print(f"{type(error).__name__}: {text}")
    except Exception as error:
        raise AssertionError(
            f"expected {kind.__name__} with {message!r}, "
            f"but {type(error).__name__} came: {words_of(error)}"
        ) from error
    else:
        raise AssertionError(
            f"expected {kind.__name__} with {message!r}, but nothing was "
            "raised"
        )


def _said(exercise: str, verdict: str) -> Shown:
    text = f"{exercise}: {verdict}"
    return Shown(
        card(f"<b>{escape(exercise)}:</b> {marked_up(verdict)}"), text
    )


def _first_line(error: Exception) -> str:
    return (words_of(error).splitlines() or ["(without a message)"])[0]
