"""Put the second text on trial."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import nn

from .kinds import CORRECT, Exercise, Question, right, wrong
from .looking import function_mistake, shares

QUESTIONS = {
    "second-recall": Question(
        "From the trial of the first text: `w` has the gradient 3 and is "
        "frozen with `requires_grad_(False)`. What does `opt.step()` of SGD "
        "do?",
        (
            right(
                "It moves `w`",
                "The old gradient is still there, and `step()` looks at "
                "nothing else.",
            ),
            wrong(
                "Nothing: it skips frozen weights",
                "It never looks at the flag. It skips a `.grad` that is None.",
                "optimizer-checks-grad-not-flag",
            ),
            wrong(
                "Nothing: freezing set the gradient to zero",
                "Freezing leaves `.grad` as it is.",
                "frozen-grad-zero-or-none",
            ),
        ),
    ),
    "second-retain": Question(
        "`x` is a leaf that requires grad, `h = 3 * x`, and the backward of "
        "`h.sum()` runs. What is `h.grad`?",
        (
            wrong(
                "The gradient 1: `h.requires_grad` is True",
                "It was computed and passed on to `x`. Only a leaf keeps "
                "its own.",
                "retain-grad-on-nonleaf",
            ),
            right(
                "None",
                "A computed tensor keeps it only after `h.retain_grad()`.",
            ),
            wrong(
                "1, because `h` was created here and is a leaf",
                "A recorded operation made it, so it is no leaf.",
                "layer-output-is-leaf-claim",
            ),
        ),
    ),
    "second-block": Question(
        "`y` has a history. Inside `with torch.no_grad():` stands `r = y`, "
        "and in the next line `s = 2 * y`. Which of `r` and `s` has one?",
        (
            wrong(
                "Neither: `no_grad()` does the same as `detach()`",
                "`r` is `y` itself, and the block takes no history away.",
                "no-grad-return-keeps-history",
            ),
            wrong(
                "Both: `y` requires grad, so its results do too",
                "A product made inside the block is not recorded.",
                "layer-output-requires-grad",
            ),
            right(
                "Only `r`",
                "The block records no new operation, and leaves old history "
                "alone.",
            ),
        ),
    ),
    "second-numpy": Question(
        "A view is a new object on the same data. And this one? "
        "`array = w.detach().numpy()`, then `array[0] = 5`. What is `w[0]`?",
        (
            wrong(
                "As before: the array is a copy",
                "On the CPU `numpy()` copies nothing.",
                "detach-numpy-shares",
            ),
            wrong(
                "As before: the write raises",
                "NumPy knows nothing of autograd, and no version counter "
                "notices.",
                "detach-modify-not-always-error",
            ),
            right("5", "Array and weight look at the same memory."),
        ),
    ),
}


def _look_at_own_grad(y: Any, d: Any) -> str:
    if not isinstance(d, torch.Tensor):
        return f"d is a {type(d).__name__}: it should be a tensor."
    if y.grad_fn is None:
        return "y itself has lost its history: detach_() works in place."
    if d is y:
        return "d is y itself: make a twin of it."
    if d.grad_fn is not None:
        return "d still has a history: it is computed, not detached."
    if not torch.equal(d, y):
        return "d has other numbers than y: detach y itself."
    if not shares(d, y):
        return "d has memory of its own: a detached twin shares that of y."
    if not d.requires_grad:
        return "d does not require grad yet, so its .grad stays None."
    (grad,) = torch.autograd.grad((d * d).sum(), d)
    assert torch.equal(grad, 2 * d)
    return CORRECT


def _given_snapshot(weight: Any) -> Any:
    return weight.detach().numpy()


def _look_at_snapshot(function: Any) -> str:
    mistake = function_mistake(function, "snapshot")
    if mistake:
        return mistake
    weight = nn.Parameter(torch.tensor([1.0, 2.0]))
    array = function(weight)
    if array is None:
        return "snapshot returns nothing: is a return missing?"
    if not isinstance(array, np.ndarray):
        kind = type(array).__name__
        return f"snapshot returns a {kind}: return a NumPy array."
    if not weight.requires_grad:
        return "the weight is frozen now: it can't be trained any more."
    if array.tolist() != [1.0, 2.0]:
        return "the array should have the numbers of the weight."
    with torch.no_grad():
        weight.add_(10)
    if array.tolist() != [1.0, 2.0]:
        return (
            "the array still looks at the memory of the weight: the next "
            "step changes it."
        )
    return CORRECT


EXERCISES = {
    "second-own-grad": Exercise(
        4,
        "easy",
        _look_at_own_grad,
        "a detached tensor can be a leaf with a gradient of its own",
    ),
    "second-snapshot": Exercise(
        7,
        "medium",
        _look_at_snapshot,
        "the array has memory of its own, and the weight still trains",
        _given_snapshot,
    ),
}
