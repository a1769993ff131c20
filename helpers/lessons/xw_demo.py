"""Run the x·w demo and repair it."""

from __future__ import annotations

from typing import Any

import torch

from .kinds import CORRECT, Exercise, Question, right, wrong
from .looking import function_mistake

QUESTIONS = {
    "xw-recall": Question(
        "From the lesson on constants: `y = x * x`, `u = y.detach()` and "
        "`z = u * x`. What is `x.grad` after `z.sum().backward()`?",
        (
            right(
                "The values of `u`",
                "`u` counts as a constant, so the derivative of `u * x` is "
                "`u`.",
            ),
            wrong(
                "`3 * x ** 2`",
                "That is the derivative without the detach. The way through "
                "`y` is cut.",
                "detach-then-backward",
            ),
            wrong(
                "None: after a detach x gets no gradient",
                "Only the way through the detach is cut. `x` is also the "
                "other factor.",
                "one-detach-cuts-all-before",
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
        'The message speaks of "element 0 of tensors". What is that, and '
        "does `requires_grad_()` on it repair the program?",
        (
            wrong(
                "The first entry of x",
                "No entry of a tensor is meant.",
                "element-0-meaning",
            ),
            right(
                "The loss, and no",
                "backward starts from a list of tensors; here the loss is "
                "the only one, so it is element 0. With the flag backward "
                "runs, and x and w still get nothing.",
            ),
            wrong(
                "The loss, and yes",
                "Then backward runs and reaches the loss alone; x and w "
                "still get nothing.",
                "loss-requires-grad-true",
            ),
        ),
    ),
    "xw-zero": Question(
        "The program goes on with `x.grad.zero_()` (D1.13). What happens?",
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
        "w is now frozen: its `requires_grad` is False. Next comes "
        "`loss2.backward()`. The text says that w's gradient is still zero "
        "afterwards (D1.14). What does `w.grad` hold?",
        (
            wrong(
                "Zeros",
                "A gradient starts as None, and no backward has reached w.",
                "frozen-grad-zero-or-none",
            ),
            right(
                "None",
                "The first backward raised, and for the second one w was "
                "frozen: `requires_grad` was False when y2 was computed.",
            ),
            wrong(
                "The gradient of loss2, which the optimizer would skip",
                "w was frozen before y2 was computed, so its gradient is not "
                "computed at all.",
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
    if not torch.allclose(y, torch.matmul(*_example())):
        return "y holds other numbers than torch.matmul(x, w)."
    if not (x.requires_grad and w.requires_grad and x.is_leaf and w.is_leaf):
        return (
            "x or w itself was changed or replaced: leave both as they are, "
            "and detach only inside the product."
        )
    if not y.requires_grad:
        return (
            "neither x nor w would get a gradient: the only path from x to y "
            "is cut (a detach or a no_grad stands on it)."
        )
    to_x, to_w = torch.autograd.grad(
        y.sum(), (x, w), retain_graph=True, allow_unused=True
    )
    if to_x is None:
        return "w would get a gradient and x none: detach the other factor."
    if to_w is not None:
        return (
            "w would get a gradient too: detach it where it goes into the "
            "product."
        )
    return CORRECT


def _look_at_logging(function: Any) -> str:
    mistake = function_mistake(function, "loss_and_log")
    if mistake:
        return mistake
    x, w = _example()
    made = function(x, w)
    if made is None:
        return "loss_and_log returns nothing: is a return missing?"
    if not isinstance(made, tuple) or len(made) != 2:
        return "return two things, the loss first: return loss, log"
    loss, log = made
    if x.grad is not None or w.grad is not None:
        return "leave backward out: whoever calls loss_and_log does that."
    return _mistake_of_log(log, loss) or _mistake_of_loss(loss, x, w, log)


def _mistake_of_log(log: Any, loss: Any) -> str:
    swapped = isinstance(log, torch.Tensor) and log.requires_grad
    if swapped and not getattr(loss, "requires_grad", False):
        return "the first one has no history: is the order loss, log?"
    if swapped:
        return (
            "the logged value still carries the graph: a list of such "
            "values keeps every graph alive."
        )
    if callable(log):
        return "log is the method itself: are the brackets missing?"
    if not isinstance(log, (float, torch.Tensor)):
        return f"log is a {type(log).__name__}; make it the loss's number."
    if isinstance(log, torch.Tensor) and log.numel() != 1:
        return "log holds several numbers: log the mean, as the loss."
    return CORRECT


def _mistake_of_loss(loss: Any, x: Any, w: Any, log: Any) -> str:
    if not isinstance(loss, torch.Tensor) or not loss.requires_grad:
        return (
            "the loss has no history: detach the logged value, not the loss."
        )
    if loss.numel() != 1:
        return f"the loss has {loss.numel()} numbers: take the mean."
    to_x, to_w = torch.autograd.grad(loss, (x, w), allow_unused=True)
    if to_x is None or to_w is None:
        name = "x" if to_x is None else "w"
        return f"{name} would get no gradient from the loss: what cuts it?"
    right_loss = torch.matmul(*_example()).sigmoid().mean().item()
    if abs(loss.item() - right_loss) > 1e-6:
        return "the loss is another number than matmul, sigmoid, mean give."
    if abs(float(log) - right_loss) > 1e-6:
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
