"""Run the x·w demo and repair it."""

from __future__ import annotations

from typing import Any

import torch

from .kinds import CORRECT, Exercise, Question, right, wrong

QUESTIONS = {
    "xw-recall": Question(
        "From the lesson on clone and detach: what do `y` and `y.detach()` "
        "have in common?",
        (
            right(
                "The storage",
                "Two tensor objects look at one storage; only `y` has a "
                "history.",
            ),
            wrong(
                "The history",
                "The detached tensor has none: its `grad_fn` is None.",
                "detach-then-backward",
            ),
            wrong(
                "Nothing: detach makes a copy",
                "A write through one of them shows in the other.",
                "detach-shares-storage",
            ),
        ),
    ),
    "xw-backward": Question(
        "What does `loss.backward()` do?",
        (
            wrong(
                "It fills `x.grad` and `w.grad`",
                "The text says so. But everything after `y.detach()` has "
                "no way back to x and w.",
                "detach-then-backward",
            ),
            wrong(
                "It runs and leaves both gradients at zero",
                "Without a graph there is nothing to run, and a gradient "
                "that never came is None, not zero.",
                "grad-none-before-backward",
            ),
            right(
                "It raises a RuntimeError",
                "`loss` has no `grad_fn`: there is no graph to go back "
                "through.",
            ),
        ),
    ),
    "xw-element-0": Question(
        'Which "element 0" does the message mean?',
        (
            wrong(
                "The first entry of x",
                "No entry of a tensor is meant.",
                "element-0-meaning",
            ),
            right(
                "loss, the first tensor that backward was given",
                "`loss.backward()` starts from a list with one root, the "
                "loss. That root has no history.",
            ),
            wrong(
                "loss lacks the flag: `loss.requires_grad_()` repairs it",
                "Then backward runs and reaches loss alone; x and w still "
                "get nothing.",
                "loss-requires-grad-true",
            ),
        ),
    ),
    "xw-zero": Question(
        "The program goes on with `x.grad.zero_()`. What happens?",
        (
            wrong(
                "`x.grad` becomes a tensor of zeros",
                "There is no tensor to fill: `x.grad` is None.",
                "grad-none-before-backward",
            ),
            right(
                "It raises an AttributeError",
                "`x.grad` is None, and None has no `zero_`.",
            ),
            wrong(
                "Nothing: zeroing nothing does nothing",
                "Python still looks for `zero_` on None and does not find it.",
                "grad-none-before-backward",
            ),
        ),
    ),
    "xw-frozen-w": Question(
        "The text says that w's gradient is still zero at the end. "
        "What does `w.grad` hold?",
        (
            wrong(
                "Zeros",
                "A gradient starts as None, and no backward has reached w.",
                "frozen-grad-zero-or-none",
            ),
            right(
                "None",
                "The first backward raised, and in the second one w was "
                "frozen.",
            ),
            wrong(
                "The gradient of loss2, which the optimizer would skip",
                "For a frozen tensor no gradient is computed at all.",
                "frozen-grad-computed-claim",
            ),
        ),
    ),
}


def _example() -> tuple[torch.Tensor, torch.Tensor]:
    x = torch.tensor([[1.0, 0.0], [2.0, 1.0]], requires_grad=True)
    w = torch.tensor([[0.5, 1.0], [0.0, 2.0]], requires_grad=True)
    return x, w


def _look_at_x_only(y: Any, x: Any, w: Any) -> str:
    if not isinstance(y, torch.Tensor):
        return f"y is a {type(y).__name__}; make it the product of x and w."
    if not torch.equal(y, torch.matmul(x, w)):
        return "y holds other numbers than torch.matmul(x, w)."
    if not w.requires_grad:
        return "w is frozen now; leave its flag alone and cut the path."
    if not y.requires_grad:
        return (
            "neither x nor w would get a gradient: the detach stands on the "
            "only path from x to the loss."
        )
    to_x, to_w = torch.autograd.grad(
        y.sum(), (x, w), retain_graph=True, allow_unused=True
    )
    if to_x is None:
        return "w would learn and x would not: detach the other factor."
    if to_w is not None:
        return "w would learn too: detach it where it goes into the product."
    return CORRECT


def _look_at_logging(function: Any) -> Any:
    x, w = _example()
    made = function(x, w)
    if made is None or made is Ellipsis:
        return ...
    if not isinstance(made, tuple) or len(made) != 2:
        return "loss_and_log returns one pair: the loss and the log value."
    loss, log = made
    if not isinstance(loss, torch.Tensor) or not loss.requires_grad:
        return (
            "the loss has no history: detach the logged value, not the loss."
        )
    if isinstance(log, torch.Tensor) and log.requires_grad:
        return (
            "the logged value still carries the graph: a list of such "
            "values keeps every graph alive."
        )
    loss.backward()
    if x.grad is None or w.grad is None:
        name = "x" if x.grad is None else "w"
        return f"{name} gets no gradient from the loss: what cuts it?"
    right_loss = torch.matmul(x, w).sigmoid().mean().detach()
    if not torch.allclose(loss.detach(), right_loss):
        return "the loss is another number than the demo's."
    if abs(float(log) - float(right_loss)) > 1e-6:
        return "the logged value is not the value of the loss."
    return CORRECT


EXERCISES = {
    "xw-x-only": Exercise(
        4,
        "easy",
        _look_at_x_only,
        "x gets its gradient, w stays a constant",
    ),
    "xw-log": Exercise(
        7,
        "medium",
        _look_at_logging,
        "the loss keeps its graph, the log keeps a number",
    ),
}
