"""what_if: what a function shows, for each choice of its arguments."""

from __future__ import annotations

import contextlib
import inspect
import io
import itertools
import math
import sys
from collections.abc import Callable
from typing import Any

import torch

from .diagrams.diagram import Diagram
from .diagrams.page import Page
from .diagrams.panel import Choice, Panel
from .diagrams.words import error_text, words_of
from .plots import picture_of

__all__ = ["what_if"]

MOST = 24  # combinations


def what_if(function: Callable[..., Any], **choices: Any) -> Page:
    """Call a function once for each combination of the choices, and show the
    one chosen.

    A choice is a list of the values of one keyword argument: two bools give
    a switch, words give buttons, numbers give a slider.  Shown is what the
    function prints and what it returns: Diagrams, matplotlib figures, other
    values, or a list of them.  An error is shown as the message that a
    student would meet.  Every call begins from the same random state, which
    afterwards is as it was.

    Raises ValueError without a choice, for an empty one or with more than
    24 combinations, and TypeError for a choice that is no list of bools,
    words or numbers, or that the function does not take.

    >>> def double(x, negative):
    ...     print(-2 * x if negative else 2 * x)
    >>> what_if(double, x=[1, 2], negative=[False, True])
    x=1, negative=False
      2
    x=1, negative=True
      -2
    x=2, negative=False
      4
    x=2, negative=True
      -4
    """
    asked = tuple(_choice(name, values) for name, values in choices.items())
    if not asked:
        raise ValueError(
            "what_if was given nothing to choose: name an argument and its "
            "values, what_if(function, detach=[False, True])."
        )
    count = math.prod(len(choice.values) for choice in asked)
    if count > MOST:
        raise ValueError(
            f"what_if was given {count} combinations and shows at most "
            f"{MOST}: leave out a choice or some of its values."
        )
    _must_take(function, asked)
    results = tuple(
        _result(function, dict(zip(choices, values, strict=True)))
        for values in itertools.product(*(c.values for c in asked))
    )
    name = getattr(function, "__name__", "what if")
    return Panel(f"What if? {name}", asked, results)


def _choice(name: str, values: Any) -> Choice:
    if isinstance(values, bool):
        values = [values, not values]
    if not isinstance(values, (list, tuple, range)):
        raise TypeError(
            f"the choice {name} is a {type(values).__name__}: give a list of "
            f"its values, {name}=[…]."
        )
    found = tuple(values)
    if not found:
        raise ValueError(f"the choice {name} has no value to choose.")
    kinds = {type(value) for value in found}
    if len({str(value) for value in found}) < len(found):
        raise ValueError(f"the choice {name} has a value twice.")
    if kinds == {bool}:
        return Choice(name, "switch" if len(found) == 2 else "buttons", found)
    if kinds == {str}:
        return Choice(name, "buttons", found)
    if kinds <= {int, float}:
        return Choice(name, "slider", found)
    words = ", ".join(sorted(kind.__name__ for kind in kinds))
    raise TypeError(
        f"the choice {name} has values of {words}: give bools, words or "
        "numbers."
    )


def _must_take(
    function: Callable[..., Any], asked: tuple[Choice, ...]
) -> None:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # built in, or no function at all
        return
    try:
        signature.bind(**{choice.name: None for choice in asked})
    except TypeError as error:
        name = getattr(function, "__name__", "the function")
        raise TypeError(
            f"{name}{signature} can't be called with these choices: {error}."
        ) from None


def _result(
    function: Callable[..., Any], arguments: dict[str, Any]
) -> tuple[str | Diagram, ...]:
    """What one call prints, returns and draws."""
    printed = io.StringIO()
    before = _figures()
    with (
        torch.random.fork_rng(devices=[]),
        contextlib.redirect_stdout(printed),
    ):
        try:
            value = function(**arguments)
        except Exception as error:
            value = error_text(error)
    things = list(value) if isinstance(value, (list, tuple)) else [value]
    if printed.getvalue():
        things.insert(0, printed.getvalue().rstrip("\n"))
    for number in _figures() - before:  # drawn by pyplot
        pyplot = sys.modules["matplotlib.pyplot"]
        figure = pyplot.figure(number)
        pyplot.close(figure)
        if all(figure is not thing for thing in things):
            things.append(figure)
    return tuple(_shown(thing) for thing in things if thing is not None)


def _shown(thing: Any) -> str | Diagram:
    if isinstance(thing, Diagram):
        return thing
    module = sys.modules.get("matplotlib.figure")
    if module is not None and isinstance(thing, module.Figure):
        return picture_of(thing)
    return words_of(thing)


def _figures() -> set[int]:
    """The numbers of the figures that pyplot holds, if it is in use."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    return set() if pyplot is None else set(pyplot.get_fignums())
