"""Choose between clone and detach."""

from __future__ import annotations

from typing import Any

import torch

from .kinds import CORRECT, Exercise, Question, right, wrong
from .looking import function_mistake, shares

QUESTIONS = {
    "clone-recall": Question(
        "From the lesson on the graph: "
        "`x = torch.ones(2, requires_grad=True)` and `y = x * 2`. "
        "After `y.sum().backward()`, where is the gradient kept?",
        (
            right(
                "In `x.grad`",
                "`x` is a leaf that requires grad, and leaves keep theirs.",
            ),
            wrong(
                "In `y.grad`, the last tensor before the sum",
                "The gradient passes through `y`, and by default only leaves "
                "keep it. `y.retain_grad()` before backward would keep it.",
                "retain-grad-on-nonleaf",
            ),
            wrong(
                "In every tensor of the graph",
                "A `.grad` is kept by leaves that require grad, by default "
                "nowhere else.",
                "is-leaf-purpose",
            ),
        ),
    ),
    "clone-memory": Question(
        "Which of `b`, `c` and `d` look at the memory of `a`?",
        (
            wrong(
                "None: all three are copies",
                "`detach()` never copies: `c` looks at the same storage "
                "as `a`.",
                "detach-shares-storage",
            ),
            wrong(
                "All three: they hold the same number",
                "Equal numbers say nothing about memory. `clone()` writes "
                "them into a storage of its own.",
                "deepcopy-shares-claim",
            ),
            right(
                "Only `c`",
                "`detach()` gives a new tensor object on the same storage. "
                "`clone()` makes a new storage, and `d` looks at the storage "
                "of the clone.",
            ),
        ),
    ),
    "clone-write": Question(
        "Now write through c: `c.fill_(5.0)` (the underscore means: in "
        "place). What happens?",
        (
            wrong(
                "It raises an error: `a` requires grad",
                "`a.fill_(5.0)` would raise. The write goes through `c`, "
                "which does not require grad, so the write itself is "
                "allowed. (A later backward may raise, if an operation "
                "still needs the old number.)",
                "detach-modify-not-always-error",
            ),
            right(
                "`a` reads 5.0 as well, `b` and `d` still read 1.0",
                "`a` and `c` are two tensors on one storage. `b` and `d` "
                "have storages of their own.",
            ),
            wrong(
                "Only `c` changes",
                "That would need a copy, and `detach()` makes none.",
                "detach-shares-storage",
            ),
        ),
    ),
    "clone-gradient": Question(
        "`x = torch.tensor(1.0, requires_grad=True)` and "
        "`loss = x * 2 + x.clone() * 3`. What is `x.grad` after backward?",
        (
            wrong(
                "It is 2: the clone does not pass its part on",
                "The clone of a tensor that requires grad is no leaf: it "
                "passes its gradient on to `x`.",
                "clone-requires-grad",
            ),
            right(
                "It is 5: both paths add up",
                "`clone()` is an operation like any other. Its path brings "
                "3, the direct one 2.",
            ),
            wrong(
                "It is None: the clone is a new tensor",
                "The clone has new memory, and its `grad_fn` leads back "
                "to `x`.",
                "clone-adds-gradients",
            ),
        ),
    ),
}


def _look_at_backup(backup: Any, weight: Any) -> str:
    if callable(backup) and not isinstance(backup, torch.Tensor):
        return "backup is the method itself: are the brackets missing?"
    if not isinstance(backup, torch.Tensor):
        return f"backup is a {type(backup).__name__}; keep it a tensor."
    if backup is weight:
        return "backup is weight itself: two names of one tensor, no copy."
    if shares(backup, weight):
        return (
            "backup still looks at the memory of weight: "
            "did you call detach() without clone()?"
        )
    if not backup.is_leaf:
        return (
            "backup still has a history: "
            "did you call clone() without detach()?"
        )
    if backup.requires_grad:
        return (
            "backup is a leaf that requires grad: a backup needs no "
            "gradient, so leave that out."
        )
    if backup.dtype != torch.float32:
        return f"backup is {backup.dtype}: copy weight, keep its dtype."
    if not torch.equal(backup, torch.tensor([1.0, 2.0])):
        return (
            "backup holds other numbers than weight had before the change: "
            "was it made after it?"
        )
    return CORRECT


def _look_at_leaf(function: Any) -> str:
    mistake = function_mistake(function, "fresh_leaf")
    for shape in ((2,), (2, 3)):
        source = torch.full(shape, 3.0, requires_grad=True) * 2
        mistake = mistake or _mistake_of_leaf(function(source), source)
    return mistake


def _mistake_of_leaf(made: Any, source: torch.Tensor) -> str:
    if made is None:
        return "fresh_leaf returns nothing: is a return missing?"
    if not isinstance(made, torch.Tensor):
        return f"fresh_leaf returns a {type(made).__name__}, not a tensor."
    if source.grad_fn is None:
        return (
            "t has lost its own history: detach_() changes t itself, "
            "detach() leaves it as it is."
        )
    if made is source:
        return "fresh_leaf returns t itself: no copy is made at all."
    if shares(made, source):
        return (
            "the result shares memory with t: training it would change t. "
            "Where is the clone()?"
        )
    if made.grad_fn is not None:
        return (
            f"the result is no leaf (grad_fn {made.grad_fn.name()}): its "
            ".grad would stay None. Where is the detach()?"
        )
    if not made.requires_grad:
        return (
            "the result is a leaf and does not require grad: "
            "what does requires_grad_() do?"
        )
    if made.shape != source.shape or made.dtype != source.dtype:
        return "the result has another shape or dtype than t: copy t."
    if not torch.equal(made, source):
        return "the result holds other numbers than t: copy t."
    return CORRECT


EXERCISES = {
    "clone-backup": Exercise(
        3,
        "easy",
        _look_at_backup,
        "own memory, no history, and the old numbers",
    ),
    "clone-leaf": Exercise(
        6,
        "medium",
        _look_at_leaf,
        "a leaf of its own, on its own memory",
    ),
}
