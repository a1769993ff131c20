"""Start here."""

from __future__ import annotations

from typing import Any

from .kinds import CORRECT, Exercise, Question, ordering, right, wrong

QUESTIONS: dict[str, Question] = {
    "start-way-back": Question(
        "`y = x * 3` and `z = same * 3` hold the same number. From which of "
        "them can a gradient come back to `x`?",
        (
            wrong(
                "From both",
                "Equal numbers are not equal histories: what `z` was computed "
                "from has no link to `x`.",
                "detach-then-backward",
            ),
            wrong(
                "From neither: `x.grad` is None",
                "It is None before the first `backward()`. After "
                "`y.backward()` it holds 3.",
                "grad-none-before-backward",
            ),
            right(
                "From `y` only",
                "torch recorded how `y` was made from `x`. `same` came out "
                "of a detach: it has no record, and passes none on to `z`.",
            ),
        ),
    ),
}


def _look_at_order(space: dict[str, Any]) -> str:
    if space["x"].grad is None:
        return "x.grad is None: does backward run?"
    return CORRECT


EXERCISES: dict[str, Exercise] = {
    "start-arrange": ordering(
        2,
        "easy",
        "x.grad is 3",
        {
            "A": "y.backward()",
            "B": "x = torch.tensor(2.0, requires_grad=True)",
            "C": "y = x * 3",
            "D": "y = x.detach() * 3",
        },
        {"D": "detach cuts the path from y back to x."},
        _look_at_order,
    ),
}
