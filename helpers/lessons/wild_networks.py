"""Meet detach in networks."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from .kinds import CORRECT, Exercise, Question, right, wrong
from .looking import function_mistake, shares

QUESTIONS: dict[str, Question] = {
    "wild-recall": Question(
        "From the trial of the second text: a loss needs `net(s)` as a "
        "constant. `net(s).detach()`, or `net(s)` under `no_grad()`: what "
        "differs?",
        (
            wrong(
                "Nothing: they do the same work",
                "The numbers are the same. But detach first lets the graph "
                "be recorded and then leaves it.",
                "no-grad-vs-detach-target",
            ),
            wrong(
                "Under `no_grad()`, backward raises",
                "Not here: the rest of the loss was recorded. Only a loss "
                "with no recorded part at all raises.",
                "no-grad-on-B-kills-A",
            ),
            right(
                "The numbers agree, and only `no_grad()` records no graph",
                "So `no_grad()` saves memory. detach is the one to take "
                "where the recorded tensor is needed as well.",
            ),
        ),
    ),
    "wild-gan": Question(
        "The critic's step scores `fake.detach()`. What does that mean for "
        "the generator?",
        (
            wrong(
                "It can never learn: `fake` has no history any more",
                "detach gives a second tensor. `fake` keeps its history for "
                "the generator's own step.",
                "gan-detach-g-never-learns",
            ),
            right(
                "It gets no gradient in the critic's step, only in its own",
                "The cut is on the way from the critic's loss to the "
                "generator, and nowhere else.",
            ),
            wrong(
                "Nothing yet: `real` has to be detached as well",
                "`real` comes from the data. It has no history, so there is "
                "nothing to cut.",
                "gan-detach-real",
            ),
            wrong(
                "Nothing: the detach only saves time",
                "It saves time too. But without it the critic's loss fills "
                "the generator's `.grad`.",
                "gan-why-detach",
            ),
        ),
    ),
    "wild-critic": Question(
        "`train(opt, loss)` calls `loss.backward()`, `opt.step()` and "
        "`opt.zero_grad()`, in this order; the last clears only the weights "
        "that `opt` holds. What does G learn when the detach is missing?",
        (
            right(
                "Almost nothing: two gradients of opposite sign add up",
                "The critic's turn leaves D's weight in `G.weight.grad`, "
                "about 3, and G's own turn adds about -3.",
            ),
            wrong(
                "The same: its own turn sets `G.weight.grad` anew",
                "backward adds to `.grad`. What the critic's turn left is "
                "still in it.",
                "gan-missing-zero-grad",
            ),
            wrong(
                "The same: detach only makes the critic's turn faster",
                "That holds if G's gradient is cleared right before G's own "
                "backward. Here it is not.",
                "gan-why-detach",
            ),
        ),
    ),
    "wild-target": Question(
        "`v` holds the right values: 0.5, 1 and 0. Which gradient do they "
        "get from `td_loss(v, v)`, without a detach?",
        (
            wrong(
                "Zeros: the values are right, and the loss is the same",
                "The loss is the same number with a detach or without. Its "
                "gradient is not.",
                "same-net-target",
            ),
            wrong(
                "Zeros: a goal is data, like a label",
                "A label has no history. This goal was computed from `v`, "
                "so the gradient goes into it.",
                "gan-detach-real",
            ),
            right(
                "Not zeros: `good` and `bad` are pulled towards `start`",
                "The loss also gets smaller when the goals of `start` come "
                "to meet it, so `good` falls and `bad` rises.",
            ),
        ),
    ),
    "wild-tau": Question(
        "Both values begin at 0, and one step takes `online` all the way "
        "to its goal. What do you see with τ = 1?",
        (
            wrong(
                "The fastest way to 0.5: the target is always fresh",
                "A fresh target also moves at once when `online` moves, and "
                "then the goal is somewhere else.",
                "same-net-target",
            ),
            right(
                "Both flip between 0 and 1 and never settle",
                "The target 0 makes the goal 1, the target 1 makes the goal "
                "0, and so on.",
            ),
            wrong(
                "Nothing moves: target and online are one tensor now",
                "`lerp_` writes numbers into the target's own memory. The "
                "two stay two tensors.",
                "target-net-alias",
            ),
        ),
    ),
    "wild-collapse": Question(
        "Without the detach this loss falls to 0. What has the encoder "
        "learned then?",
        (
            wrong(
                "The same as with it, only faster",
                "Here the detach is not there for speed: it decides which "
                "of the two sides moves.",
                "gan-why-detach",
            ),
            wrong(
                "To tell the pictures apart: the two views agree",
                "Views also agree when every picture gets the same number. "
                "The loss cannot see the difference.",
                "vq-losses",
            ),
            right(
                "Nothing: it gives every picture the same number, 0",
                "If both sides may move, making everything 0 is the "
                "shortest way to a small loss.",
            ),
        ),
    ),
}


def _look_at_goal(goal: Any, online: Any, target: Any) -> str:
    if not isinstance(goal, torch.Tensor):
        return (
            f"the goal is a plain {type(goal).__name__}: make it a tensor, "
            "the loss is computed from it."
        )
    if goal.numel() != 1 or abs(goal.item() - 11.0) > 1e-6:
        return _which_goal(goal)
    if not target.weight.requires_grad and not goal.requires_grad:
        return "do not freeze the target network: cut the goal."
    if goal.requires_grad:
        return (
            "the goal still has a history, it leads back to target.weight: "
            "detach it."
        )
    if online.weight.grad is not None or target.weight.grad is not None:
        return "leave backward out: only the goal is asked for."
    return CORRECT


def _which_goal(goal: torch.Tensor) -> str:
    if goal.numel() != 1:
        return "the goal has one number, as the reward has."
    known = {
        3.0: "the reward is missing.",
        10.0: "that is what the online network says: ask the target network.",
        9.5: "that is the goal from s: the value of s_next is asked for.",
        9.0: "that is the goal from s: the value of s_next is asked for.",
        7.0: "the factor 0.5 belongs to the target network's value alone.",
        14.0: "the factor 0.5 is missing.",
        6.0: "the reward and the factor 0.5 are missing.",
    }
    return known.get(
        round(goal.item(), 4), "it should be 8 + 0.5 × 6, so 11, as a number."
    )


def _nets() -> tuple[nn.Module, nn.Module]:
    target = nn.Linear(2, 1)
    online = nn.Linear(2, 1)
    with torch.no_grad():
        for number, p in enumerate(target.parameters()):
            p.fill_(4.0 * number)
        for number, p in enumerate(online.parameters()):
            p.fill_(4.0 * number + 8.0)
    return target, online


def _given_soft_update(target: Any, online: Any, tau: Any) -> None:
    for t, o in zip(target.parameters(), online.parameters()):  # noqa: B905
        t = t + tau * (o - t)


def _look_at_update(function: Any) -> str:
    mistake = function_mistake(function, "soft_update")
    if mistake:
        return mistake
    for frozen in (False, True):
        target, online = _nets()
        target.requires_grad_(not frozen)
        try:
            function(target, online, 0.25)
        except RuntimeError as error:
            if "leaf" not in str(error):
                raise
            return (
                "torch refuses to write into a weight that requires grad: "
                "write under torch.no_grad()."
            )
        mistake = _after_update(target, online)
        if mistake:
            return mistake
    return CORRECT


def _after_update(target: nn.Module, online: nn.Module) -> str:
    before = [n.parameters() for n in _nets()]
    rows = list(
        zip(target.parameters(), online.parameters(), *before, strict=True)
    )
    if not all(o.equal(o_before) for _, o, _, o_before in rows):
        return "the online network has changed: only the target should move."
    if any(shares(t, o) for t, o, _, _ in rows):
        return (
            "target and online look at the same memory now: the next step "
            "of online moves the target too."
        )
    if any(t.grad_fn is not None for t, _, _, _ in rows):
        return (
            "the target's weights have a history now, which grows with each "
            "update: write under torch.no_grad()."
        )
    moved = {n for t, _, b, _ in rows for n in (t - b).flatten().tolist()}
    return _how_far(moved)


def _how_far(moved: set[float]) -> str:
    """Judge a way of 8, of which a quarter should be gone."""
    if moved == {2.0}:
        return CORRECT
    if moved == {0.0}:
        return (
            "the target has not moved: t = … names a new tensor, write into "
            "the old one."
        )
    if moved == {6.0}:
        return "tau is the part of the way to online, not the part that stays."
    if moved == {8.0}:
        return "the target went all the way: use tau."
    if 0.0 in moved:
        return "one parameter has not moved: take all of them."
    return "the new number should be t + tau × (o - t)."


EXERCISES: dict[str, Exercise] = {
    "wild-goal": Exercise(
        4,
        "easy",
        _look_at_goal,
        "a goal of 11 that no gradient goes through",
    ),
    "wild-update": Exercise(
        7,
        "medium",
        _look_at_update,
        "the target follows, on memory of its own and without a history",
        _given_soft_update,
    ),
}
