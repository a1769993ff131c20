"""Hold a value constant."""

from __future__ import annotations

from typing import Any

import torch

from .kinds import CORRECT, Exercise, Question, ordering, right, wrong
from .looking import function_mistake

QUESTIONS = {
    "constant-recall": Question(
        "From the lesson on clone and detach: `w` holds 1. Three steps add 1 "
        "to it in place, and after each step `w.detach()` goes into a list. "
        "What does the list show at the end?",
        (
            wrong(
                "2, 3, 4",
                "A snapshot of each step takes a copy: `w.detach().clone()`.",
                "list-of-detached-snapshots",
            ),
            wrong(
                "1, 1, 1",
                "A detached tensor is not a copy of the first value either.",
                "detach-shares-storage",
            ),
            right(
                "4, 4, 4",
                "All three look at the storage of `w`, and see what it holds "
                "now.",
            ),
        ),
    ),
    "constant-grad": Question(
        "`x` is `[0, 1, 2, 3]`. `y = x * x`, `u = y.detach()`, "
        "`loss = (u * x).sum()`, then `loss.backward()`. What is `x.grad`?",
        (
            right(
                "`u`, that is `[0, 1, 4, 9]`",
                "`u` counts as a constant, and the gradient of `u * x` is "
                "`u`.",
            ),
            wrong(
                "`3 * x**2`, that is `[0, 3, 12, 27]`",
                "So it is without the detach: the loss is the same number, "
                "the gradient is another.",
                "same-net-target",
            ),
            wrong(
                "None: the detach cuts `x` off from the loss",
                "It cuts the path through `y`. The other factor `x` goes into "
                "the product directly.",
                "one-detach-cuts-all-before",
            ),
        ),
    ),
    "constant-write": Question(
        "We write `u[0] = 7.0`. What happens to `y`, from which `u` was "
        "detached?",
        (
            wrong(
                "Nothing: `u` is a constant of its own",
                "It is a constant for the gradient. Its memory is that of "
                "`y`.",
                "detach-shares-storage",
            ),
            right(
                "`y[0]` is 7 too",
                "Two tensor objects look at one storage.",
            ),
            wrong(
                "Nothing: the write raises",
                "torch accepts the write. It is a later backward that may "
                "raise, if an operation saved these numbers.",
                "detach-modify-not-always-error",
            ),
        ),
    ),
    "constant-own": Question(
        "We begin again: `x` is a new leaf that requires grad, `y = x * x`, "
        "`u = y.detach().requires_grad_()`, `loss = u * 3`, then "
        "`loss.backward()`. Who has a gradient?",
        (
            wrong(
                "Nobody: a detached tensor never has one",
                "With the flag on it is a leaf like any other.",
                "detached-never-grad-claim",
            ),
            wrong(
                "`u`, and through `y` also `x`",
                "The flag does not bring the old path back: `u` has no "
                "`grad_fn`.",
                "variable-wrapper-hides-cut",
            ),
            right(
                "`u` only",
                "It is the leaf where this graph begins.",
            ),
        ),
    ),
    "constant-total": Question(
        "Now `held = x / x.sum().detach()`. What does the detach change?",
        (
            wrong(
                "The numbers: the total no longer follows `x`",
                "The total is computed as before, and the shares are the "
                "same numbers.",
                "detach-each-step",
            ),
            right(
                "Only the gradient of `x`",
                "The path through the total is cut, the path through the "
                "numerator stays.",
            ),
            wrong(
                "`x` gets no gradient any more",
                "`x` is also the numerator, and that path is not cut.",
                "one-detach-cuts-all-before",
            ),
        ),
    ),
}


def _look_at_order(made: dict[str, Any]) -> str:
    slope = made["w"].grad
    if slope is None:
        return "w.grad is None: backward did not reach w."
    if slope.item() != -8.0:
        return (
            f"w.grad is {slope.item():.0f}: the target is detached only "
            "after the loss has used it."
        )
    return CORRECT


def _look_at_half(z: Any, x: Any) -> str:
    if not isinstance(z, torch.Tensor):
        return f"z is a {type(z).__name__}; make it x times x."
    if not isinstance(x, torch.Tensor) or not (x.is_leaf and x.requires_grad):
        return "x itself was changed: leave it, and detach inside z."
    if z.tolist() != [1.0, 4.0, 9.0]:
        return "z holds other numbers than x times x."
    if not z.requires_grad:
        return "z has no history: detach one factor, not both."
    (slope,) = torch.autograd.grad(
        z.sum(), x, retain_graph=True, allow_unused=True
    )
    if slope is None:
        return "no path leads from z to x: detach one factor only."
    if slope.tolist() == [2.0, 4.0, 6.0]:
        return "the gradient is 2 * x: both factors still lead to x."
    if slope.tolist() != [1.0, 2.0, 3.0]:
        return f"the gradient is {slope.tolist()}, and it should be x."
    return CORRECT


def _look_at_weights(function: Any) -> str:
    mistake = function_mistake(function, "weighted_loss")
    if mistake:
        return mistake
    given = torch.tensor([1.0, -3.0], requires_grad=True)
    errors = given * 1.0
    loss = function(errors)
    if loss is None:
        return "weighted_loss returns nothing: is a return missing?"
    if given.grad is not None:
        return "leave backward out: whoever calls weighted_loss does that."
    if errors.tolist() != [1.0, -3.0]:
        return (
            "the errors themselves changed: a write into errors.detach() "
            "goes to the same storage. Use abs(), without the underscore."
        )
    if not isinstance(loss, torch.Tensor):
        return f"the loss is a {type(loss).__name__}: return a tensor."
    if loss.numel() != 1:
        return f"the loss has {loss.numel()} numbers: sum them."
    return _mistake_in_loss(loss, given)


def _mistake_in_loss(loss: torch.Tensor, given: torch.Tensor) -> str:
    if not loss.requires_grad:
        return "the loss has no history: detach the weights, not the errors."
    if abs(loss.item() - 7.0) > 1e-5:
        return (
            f"for the errors 1 and -3 the loss is {loss.item():.4g}, and it "
            "should be 7: are the weights 1/4 and 3/4?"
        )
    (slope,) = torch.autograd.grad(loss, given, allow_unused=True)
    if slope is None:
        return "the errors get no gradient from this loss."
    if torch.allclose(slope, torch.tensor([0.5, -4.5])):
        return CORRECT
    if torch.allclose(slope, torch.tensor([-1.0, -5.0])):
        return "the gradient also flows through the weights: detach them."
    return (
        "the gradient is not 2 * weight * error: is only a part of the "
        "weight or of the square held constant?"
    )


EXERCISES = {
    "constant-arrange": ordering(
        4,
        "easy",
        "the target is a constant when the loss uses it",
        {
            "A": "loss = (w - target).square()",
            "B": "loss.backward()",
            "C": "target = target.detach()",
            "D": "w = torch.tensor(2.0, requires_grad=True)",
            "E": "loss = loss.detach().requires_grad_()",
            "F": "target = w * 3",
            "G": "w = w.detach()",
        },
        {
            "E": (
                "the loss becomes a leaf of its own, and backward ends "
                "there; w gets nothing."
            ),
            "G": "w should get a gradient, so w itself keeps its flag.",
        },
        _look_at_order,
    ),
    "constant-half": Exercise(
        3,
        "easy",
        _look_at_half,
        "one factor is a constant, the other one leads to x",
    ),
    "constant-weights": Exercise(
        7,
        "medium",
        _look_at_weights,
        "the weights are constants, the errors get their gradient",
    ),
}
