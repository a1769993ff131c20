"""Split two networks and choose who learns."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from .kinds import CORRECT, Exercise, Question, right, wrong
from .looking import function_mistake, misspelled

QUESTIONS = {
    "split-recall": Question(
        "From the lesson on freezing: which weight do SGD and Adam skip in "
        "`step()`?",
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
                "The detach cuts the path between A's output and B, so this "
                "loss gives A nothing.",
            ),
            wrong(
                "Neither: the path is broken",
                "The part after the detach has a graph of its own: B's "
                "weights are leaves of it.",
                "detach-then-backward",
            ),
            wrong(
                "A only: detach freezes what comes after it",
                "detach keeps this loss away from what lies before it. B, "
                "after it, trains as before.",
                "two-nets-A-then-B",
            ),
        ),
    ),
    "split-no-grad-b": Question(
        "We want to train A alone. `no_grad()` records no operation inside "
        "it. B runs under it. Does A get a gradient?",
        (
            wrong(
                "Yes: B gets none, and A does",
                "The only path from the loss to A leads through B, and it "
                "was not recorded.",
                "no-grad-on-B-kills-A",
            ),
            right(
                "No: nobody gets one, and backward raises",
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
        "And if B is frozen before it runs, `B.requires_grad_(False)`?",
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
                "B was frozen before it ran, so no gradient is computed for "
                "its weight.",
                "frozen-grad-computed-claim",
            ),
        ),
    ),
}


def _two() -> tuple[nn.Linear, nn.Linear, torch.Tensor]:
    a, b = nn.Linear(1, 1, bias=False), nn.Linear(1, 1, bias=False)
    with torch.no_grad():
        a.weight.fill_(2.0)
        b.weight.fill_(3.0)
    return a, b, torch.ones(1, 1)


def _look_at_a_only(a: Any, b: Any) -> Any:
    mistake = misspelled(b, b.parameters())
    if mistake:
        return mistake
    if not a.weight.requires_grad:
        return "A is frozen: freeze the other one."
    if b.weight.requires_grad:
        if a.weight.grad is None or b.weight.grad is None:
            return (
                "B was not frozen, only its gradient is gone: call "
                "B.requires_grad_(False) before backward."
            )
        return ...
    if a.weight.grad is None:
        return "A.weight.grad is None: is a detach between A and B?"
    if b.weight.grad is not None:
        return "B was frozen only after backward: do it before."
    return CORRECT


def _given_critic_loss(generator: Any, critic: Any, noise: Any) -> Any:
    fake = generator(noise)
    return critic(fake).sum()


def _look_at_critic(function: Any) -> str:
    mistake = function_mistake(function, "critic_loss")
    if mistake:
        return mistake
    generator, critic, noise = _two()
    noise.requires_grad_()
    loss = function(generator, critic, noise)
    if loss is None:
        return "critic_loss returns nothing: is a return missing?"
    if critic.weight.grad is not None:
        return "leave backward out: whoever calls critic_loss does that."
    if not isinstance(loss, torch.Tensor) or loss.numel() != 1:
        return "return the critic's answer, summed to one number, a tensor."
    if not generator.weight.requires_grad:
        return (
            "the generator is frozen for its own step too: cut the path "
            "instead."
        )
    if not loss.requires_grad:
        return (
            "the loss has no history: detach the generator's output, not "
            "the critic's."
        )
    if abs(loss.item() - 6.0) > 1e-6:
        return "the critic has to look at generator(noise), as it is."
    to_critic, to_generator = torch.autograd.grad(
        loss, (critic.weight, generator.weight), allow_unused=True
    )
    if to_generator is not None:
        return (
            "the generator gets a gradient too: detach its output, where "
            "it goes into the critic."
        )
    if to_critic is None or to_critic.item() != 2.0:
        return "the critic gets no gradient, or another one than it should."
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
        _given_critic_loss,
    ),
}
