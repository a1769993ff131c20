"""Choose between clone and detach."""

from __future__ import annotations

from typing import Any

import torch

from .kinds import CORRECT, Exercise, Question, right, wrong

QUESTIONS = {
    "clone-warm-up": Question(
        "`x = torch.ones(2, requires_grad=True)` and `y = x * 2`. "
        "After `y.sum().backward()`, where is the gradient kept?",
        (
            right(
                "In `x.grad`",
                "`x` is a leaf that requires grad, and leaves keep theirs.",
            ),
            wrong(
                "In `y.grad`, the last tensor before the sum",
                "The gradient passes through `y`, and only leaves keep it. "
                "`y.retain_grad()` before backward would keep it.",
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
        "Which of b, c and d look at the memory of a?",
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
                "Only c, the detached one",
                "`detach()` gives a new tensor object on the same storage; "
                "`clone()` makes a new storage.",
            ),
        ),
    ),
    "clone-write": Question(
        "Now write through c: `c.fill_(5.0)`. What happens?",
        (
            wrong(
                "It raises an error: a requires grad",
                "The write goes through `c`, which does not require grad. "
                "Nothing stops it.",
                "detach-modify-not-always-error",
            ),
            right(
                "a reads 5.0 as well, b and d still read 1.0",
                "`a` and `c` are two tensors on one storage. `b` and `d` "
                "have storages of their own.",
            ),
            wrong(
                "Only c changes",
                "That would need a copy, and `detach()` makes none.",
                "detach-shares-storage",
            ),
        ),
    ),
    "clone-gradient": Question(
        "`loss = x * 2 + x.clone() * 3`. What is `x.grad` after backward?",
        (
            wrong(
                "2: the clone keeps its part for itself",
                "A clone is no leaf: it passes its gradient on to `x`.",
                "clone-requires-grad",
            ),
            right(
                "5: both paths add up",
                "`clone()` is an operation like any other. Its path brings "
                "3, the direct one 2.",
            ),
            wrong(
                "None: the clone is a new tensor",
                "The clone has new memory, and its `grad_fn` leads back "
                "to `x`.",
                "clone-adds-gradients",
            ),
        ),
    ),
}


def _look_at_backup(backup: Any, weight: Any) -> str:
    if not isinstance(backup, torch.Tensor):
        return f"backup is a {type(backup).__name__}; keep it a tensor."
    if backup.untyped_storage().data_ptr() == (
        weight.untyped_storage().data_ptr()
    ):
        return (
            "backup still looks at the memory of weight: "
            "did you call detach() without clone()?"
        )
    if backup.requires_grad:
        return (
            "backup still has a history: "
            "did you call clone() without detach()?"
        )
    if not torch.equal(backup, torch.tensor([1.0, 2.0])):
        return (
            "backup holds other numbers than weight had before the step: "
            "was it made after the step?"
        )
    return CORRECT


def _look_at_leaf(function: Any) -> Any:
    source = torch.tensor([1.0, 2.0], requires_grad=True) * 1
    made = function(source)
    if made is None or made is Ellipsis:
        return ...
    if not isinstance(made, torch.Tensor):
        return f"fresh_leaf returns a {type(made).__name__}, not a tensor."
    if made is source:
        return "fresh_leaf returns t itself: no copy is made at all."
    if made.untyped_storage().data_ptr() == (
        source.untyped_storage().data_ptr()
    ):
        return (
            "the result shares memory with t: training it would change t. "
            "Where is the clone()?"
        )
    if not made.is_leaf:
        return (
            f"the result is no leaf (grad_fn {made.grad_fn.name()}): its "
            ".grad would stay None. Where is the detach()?"
        )
    if not made.requires_grad:
        return (
            "the result is a leaf and does not require grad: "
            "what does requires_grad_() do?"
        )
    if not torch.equal(made, source):
        return "the result holds other numbers than t."
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
