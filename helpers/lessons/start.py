"""Start here."""

from __future__ import annotations

from typing import Any

from .kinds import CORRECT, Exercise, Question, ordering

QUESTIONS: dict[str, Question] = {}


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
