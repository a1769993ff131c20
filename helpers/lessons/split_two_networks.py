"""Split two networks and choose who learns."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from .kinds import CORRECT, Exercise, Question, right, wrong

QUESTIONS = {
    "split-recall": Question(
        "From the lesson on freezing: which weight does "
        "`optimizer.step()` skip?",
        (
            wrong(
                "One with `requires_grad` False",
                "The optimizer never looks at the flag.",
                "optimizer-checks-grad-not-flag",
            ),
            right(
                "One whose `.grad` is None",
                "That is why a proper freeze also sets `.grad` to None.",
            ),
            wrong(
                "One whose `.grad` is zero",
                "With momentum or weight decay it still moves.",
                "frozen-still-moves",
            ),
        ),
    ),
    "split-detach": Question(
        "`loss = B(A(x).detach())`. Who gets a gradient?",
        (
            right(
                "B only",
                "The detach cuts the path between A's output and B.",
            ),
            wrong(
                "Neither: the path is broken",
                "The part after the detach has a graph of its own: B's "
                "weights are leaves of it.",
                "detach-then-backward",
            ),
            wrong(
                "A only: detach freezes what comes after it",
                "detach protects what lies before it. B, after it, trains "
                "as ever.",
                "two-nets-A-then-B",
            ),
        ),
    ),
    "split-no-grad-b": Question(
        "To train A alone, may B run under `no_grad()`?",
        (
            wrong(
                "Yes: then B gets no gradient and A does",
                "The only path from the loss to A leads through B, and it "
                "was not recorded.",
                "no-grad-on-B-kills-A",
            ),
            right(
                "No: then nobody gets one, and backward raises",
                "Under `no_grad()` B's output has no history at all.",
            ),
            wrong(
                "Yes, `no_grad()` is the same as freezing",
                "Freezing keeps the path through B; `no_grad()` does not "
                "record it.",
                "freeze-stops-flow-claim",
            ),
        ),
    ),
    "split-freeze-b": Question(
        "And with B frozen, `B.requires_grad_(False)`?",
        (
            right(
                "A gets a gradient, B none",
                "The gradient flows through B's constant weights to A.",
            ),
            wrong(
                "Nobody gets one: a frozen B blocks the way",
                "Freezing a layer does not stop the flow through it.",
                "freeze-stops-flow-claim",
            ),
            wrong(
                "Both get one, B's is ignored",
                "No gradient is computed for a frozen weight.",
                "frozen-grad-computed-claim",
            ),
        ),
    ),
}


def _two() -> tuple[nn.Module, nn.Module, torch.Tensor]:
    a, b = nn.Linear(1, 1, bias=False), nn.Linear(1, 1, bias=False)
    with torch.no_grad():
        a.weight.fill_(2.0)
        b.weight.fill_(3.0)
    return a, b, torch.ones(1, 1)


def _look_at_a_only(a: Any, b: Any) -> Any:
    if a.weight.grad is not None and b.weight.grad is not None:
        if b.weight.requires_grad:
            return ...
        return "B.weight.grad is there too: freeze B before it runs."
    if a.weight.grad is None and b.weight.grad is None:
        return (
            "A.weight.grad is None and so is B's: is a detach or a no_grad "
            "between A and the loss?"
        )
    if a.weight.grad is None:
        return "A.weight.grad is None: is the detach between A and B?"
    if b.weight.grad is not None:
        return "B.weight.grad is there too: B was not frozen when it ran."
    return CORRECT


def _look_at_critic(function: Any) -> Any:
    generator, critic, noise = _two()
    loss = function(generator, critic, noise)
    if loss is None or loss is Ellipsis:
        return ...
    if not isinstance(loss, torch.Tensor) or not loss.requires_grad:
        return (
            "the loss has no history: only the generator's output may be "
            "detached, not the critic's."
        )
    loss.sum().backward()
    if critic.weight.grad is None:
        return "the critic gets no gradient: is it frozen, or detached?"
    if generator.weight.grad is not None:
        return (
            "the generator gets a gradient too: where does its output go "
            "into the critic?"
        )
    if not generator.weight.requires_grad:
        return (
            "the generator is frozen for good: its own step could not "
            "train it. Cut the path instead."
        )
    return CORRECT


EXERCISES = {
    "split-a-only": Exercise(
        4,
        "easy",
        _look_at_a_only,
        "A learns through a frozen B",
    ),
    "split-critic": Exercise(
        6,
        "medium",
        _look_at_critic,
        "the critic learns, the generator waits for its own step",
    ),
}
