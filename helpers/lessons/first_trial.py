"""Put the first text on trial."""

from __future__ import annotations

from typing import Any

import torch

from .kinds import CORRECT, Exercise, Question, right, wrong
from .looking import function_mistake, shares

QUESTIONS = {
    "first-recall": Question(
        "From the lesson on weights: `opt` was made with `layer.weight` in "
        "it. How do you set the weight to `t`, so that `opt` still trains it?",
        (
            wrong(
                "`layer.weight = nn.Parameter(t)`",
                "That is a new object. The optimizer still holds the old one.",
                "optimizer-keeps-old-parameter",
            ),
            wrong(
                "`layer.weight = t`",
                "A plain tensor is refused here: TypeError.",
                "set-weights-right-way",
            ),
            right(
                "`layer.weight.copy_(t)`, under `no_grad()`",
                "The Parameter stays the same object, and gets new numbers.",
            ),
        ),
    ),
    "first-same": Question(
        "`d = a.detach()`. What is `d`?",
        (
            wrong(
                "A copy: a write into `d` does not show in `a`",
                "Nothing is copied. Both look at one storage.",
                "detach-shares-storage",
            ),
            right(
                "A second tensor object, on the storage of `a`",
                "It has a flag of its own and shares the data.",
            ),
            wrong(
                "`a` itself, now without history",
                "That would be `detach_()`, which changes `a` in place.",
                "detach-underscore-not-retroactive",
            ),
        ),
    ),
    "first-leaf": Question(
        "`d = (3 * x).detach().requires_grad_()`, then "
        "`(d * d).sum().backward()`. Who has a gradient now?",
        (
            wrong(
                "Nobody: a detached tensor never has one",
                "With its flag set it is an ordinary leaf.",
                "detached-never-grad-claim",
            ),
            wrong(
                "`d` and `x`: the flag links them again",
                "The flag starts a new graph at `d`. The old link is gone.",
                "rewrap-after-numpy",
            ),
            right(
                "Only `d`",
                "`d` is a leaf of a new graph, which begins with it.",
            ),
        ),
    ),
    "first-write": Question(
        "`y = x.exp()`, then `y.detach()[0] = 5`, then `y.sum().backward()`. "
        "What happens?",
        (
            right(
                "backward raises",
                "exp needs its result in backward. The shared version "
                "counter shows that it was changed.",
            ),
            wrong(
                "`x.grad` is right: only the detached tensor was changed",
                "It is no copy. The write went into the memory of `y`.",
                "detach-shares-storage",
            ),
            wrong(
                "`x.grad` is wrong, and nobody notices",
                "So it is with `.data`, which has a counter of its own.",
                "data-vs-detach-silent",
            ),
        ),
    ),
}


def _frozen() -> torch.Tensor:
    """Make a frozen weight that still has the gradient 3."""
    w = torch.tensor([10.0], requires_grad=True)
    (3 * w).sum().backward()
    return w.requires_grad_(False)


def _look_at_part(part: Any) -> str:
    if not isinstance(part, str):
        return (
            "put the expression in quotes: it is evaluated after the "
            "program, as text."
        )
    try:
        compile(part.strip(), "part", "eval")
    except SyntaxError:
        return "that is no expression: compare with is or ==, assign nothing."
    kept, gone = _frozen(), _frozen()
    gone.grad = None
    answer = eval(part, {"torch": torch, "w": kept})
    if not isinstance(answer, bool):
        kind = type(answer).__name__
        return f"the expression gives a {kind}: it should be True or False."
    try:
        answer_when_gone = eval(part, {"torch": torch, "w": gone})
    except Exception:
        return (
            "it raises where the gradient is gone: there w.grad is None, "
            "which has no numbers to look at."
        )
    if answer == answer_when_gone:
        return (
            f"it is {answer} whether the gradient is gone or not: a part "
            "has to look at what the claim speaks of, w.grad."
        )
    if answer:
        return "upside down: it is True while the gradient is still there."
    return CORRECT


def _given_changed(y: Any, i: Any, value: Any) -> Any:
    new = y.detach()
    new[i] = value
    return new


def _look_at_change(function: Any) -> str:
    mistake = function_mistake(function, "changed")
    if mistake:
        return mistake
    x = torch.zeros(2, requires_grad=True)
    y = x.exp()
    new = function(y, 0, 5.0)
    if new is None:
        return "changed returns nothing: is a return missing?"
    if not isinstance(new, torch.Tensor):
        return f"changed returns a {type(new).__name__}: return a tensor."
    if y.grad_fn is None:
        return "y itself has lost its history: detach_() works in place."
    if y.tolist() != [1.0, 1.0]:
        return (
            "y changed too: what was written to looks at the memory of y. "
            "Copy first."
        )
    if new.requires_grad:
        return "new has a history: a clone alone stays in the graph."
    if shares(new, y):
        return "new looks at the memory of y: a later write changes both."
    if new.tolist() == [1.0, 1.0]:
        return "the new value has not been written."
    if new.tolist() != [5.0, 1.0]:
        return "only the number at place i should change."
    try:
        y.sum().backward()
    except RuntimeError:
        return "y was written to on the way, and backward notices it."
    return CORRECT


EXERCISES = {
    "first-part": Exercise(
        4,
        "easy",
        _look_at_part,
        "it tells a gradient that stays from one that is gone",
    ),
    "first-change": Exercise(
        7,
        "medium",
        _look_at_change,
        "no history, memory of its own, and y is as it was",
        _given_changed,
    ),
}
