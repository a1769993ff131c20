"""Freeze a weight and check that it stays."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from .kinds import CORRECT, Exercise, Question, right, wrong

QUESTIONS = {
    "freeze-recall": Question(
        "From the lesson on the demo: `z = y.detach().sigmoid()` and "
        "`loss = z.mean()`. Why does backward raise?",
        (
            right(
                "loss has no history",
                "The detach cut the only path, so loss has no `grad_fn`.",
            ),
            wrong(
                "sigmoid of a detached tensor has no derivative",
                "sigmoid is differentiable. There is nothing to "
                "differentiate for: no input wants a gradient.",
                "detach-then-backward",
            ),
            wrong(
                "loss needs `requires_grad_()`",
                "That silences the error; x and w still get nothing.",
                "loss-requires-grad-true",
            ),
        ),
    ),
    "freeze-keeps-grad": Question(
        "`w.grad` is 3. What is it right after `w.requires_grad_(False)`?",
        (
            wrong(
                "None: the gradient is cleared",
                "The text claims it. The flag says what is recorded from "
                "now on; it clears nothing.",
                "frozen-grad-zero-or-none",
            ),
            wrong(
                "0",
                "Nothing writes into `w.grad` here.",
                "frozen-grad-zero-or-none",
            ),
            right(
                "Still 3",
                "The flag and the gradient are two things. The old "
                "gradient stays.",
            ),
        ),
    ),
    "freeze-step": Question(
        "The optimizer holds the frozen w, and `w.grad` is still 3. "
        "What do two `opt.step()` do?",
        (
            wrong(
                "Nothing: the optimizer skips frozen weights",
                "It never looks at `requires_grad`. It skips a weight "
                "whose `.grad` is None.",
                "optimizer-checks-grad-not-flag",
            ),
            right(
                "They move w twice",
                "Each step subtracts 0.1 × 3, whatever the flag says.",
            ),
            wrong(
                "They raise: w requires no grad",
                "An optimizer accepts such a weight.",
                "filter-needed",
            ),
        ),
    ),
    "freeze-zeros": Question(
        "Now `w.grad` is filled with zeros instead of None, and the "
        "optimizer has momentum and weight decay. Does w move?",
        (
            wrong(
                "No: a zero gradient moves nothing",
                "Momentum still holds the earlier gradient, and weight "
                "decay adds a part of w itself.",
                "frozen-still-moves",
            ),
            right(
                "Yes",
                "With a zero gradient both still act. With None the "
                "optimizer skips w as a whole.",
            ),
            wrong(
                "No: weight decay leaves frozen weights alone",
                "It acts wherever there is a gradient, also on zeros.",
                "grad-none-no-decay",
            ),
        ),
    ),
    "freeze-flow": Question(
        "Two layers in a row, with the weights 2 and 5: "
        "`loss = frozen(first(x))`. The second one is frozen. "
        "Does `first` get a gradient?",
        (
            wrong(
                "No: a frozen layer stops the gradient",
                "Freezing says who keeps a gradient. Only a cut stops its "
                "way.",
                "freeze-stops-flow-claim",
            ),
            right(
                "Yes, it flows through the frozen layer",
                "The frozen weight is a constant factor on the way: the "
                "gradient of `first` is multiplied by it.",
            ),
            wrong(
                "Yes, and frozen.weight.grad is computed and thrown away",
                "For a frozen weight the graph has no place to send a "
                "gradient to; none is computed.",
                "frozen-grad-computed-claim",
            ),
        ),
    ),
}


def _trained() -> tuple[nn.Module, torch.optim.Optimizer]:
    """A layer that an optimizer with momentum has moved once."""
    layer = nn.Linear(2, 1)
    with torch.no_grad():
        layer.weight.fill_(1.0)
        layer.bias.fill_(0.0)
    optimizer = torch.optim.SGD(
        layer.parameters(), lr=0.1, momentum=0.9, weight_decay=0.1
    )
    layer(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    return layer, optimizer


def _look_at_w(w: Any) -> Any:
    if not isinstance(w, torch.Tensor):
        return f"w is a {type(w).__name__}; keep it a tensor."
    if (
        w.requires_grad
        and w.grad is not None
        and "require_grad" not in (vars(w))
    ):
        return ...
    if w.requires_grad:
        return (
            "w still requires grad: is the flag spelled requires_grad, and "
            "set on w itself?"
        )
    if w.grad is not None:
        return (
            "w is frozen and its old gradient is still there: an optimizer "
            "would move it."
        )
    if w.item() != 1.0:
        return f"w has moved to {w.item():.1f}: freeze it before the step."
    return CORRECT


def _look_at_freeze(function: Any) -> Any:
    layer, optimizer = _trained()
    before = [p.detach().clone() for p in layer.parameters()]
    made = function(layer)
    touched = any(
        not p.requires_grad or p.grad is None for p in layer.parameters()
    )
    if made is Ellipsis or (made is None and not touched):
        if "requires_grad" in vars(layer):
            return (
                "layer.requires_grad = False only adds an attribute to the "
                "Module: use requires_grad_(), or set it on each parameter."
            )
        if any("require_grad" in vars(p) for p in layer.parameters()):
            return (
                "require_grad, with one s missing, is a new attribute that "
                "torch never reads."
            )
        return ...
    if any(p.requires_grad for p in layer.parameters()):
        return "a parameter still requires grad."
    if any(
        not torch.equal(p, b)
        for p, b in zip(layer.parameters(), before, strict=True)
    ):
        return "the weights themselves were changed."
    optimizer.step()
    if any(
        not torch.equal(p, b)
        for p, b in zip(layer.parameters(), before, strict=True)
    ):
        return (
            "an optimizer with momentum still moves it: what does each "
            ".grad hold? It takes None, not zeros."
        )
    return CORRECT


EXERCISES = {
    "freeze-properly": Exercise(
        3,
        "easy",
        _look_at_w,
        "no flag, no stale gradient, and w stays at 1.0",
    ),
    "freeze-module": Exercise(
        7,
        "medium",
        _look_at_freeze,
        "no optimizer moves this module any more",
    ),
}
