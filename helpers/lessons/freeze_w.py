"""Freeze a weight and check that it stays."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from .kinds import CORRECT, Exercise, Question, right, wrong
from .looking import function_mistake, misspelled

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
                "sigmoid is differentiable. But no input of it requires a "
                "gradient any more.",
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
                "The first text says so, and it is wrong. The flag clears "
                "nothing.",
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
        "`opt = torch.optim.SGD([w], lr=0.1)` holds the frozen w, and "
        "`w.grad` is still 3. What do two calls of `opt.step()` do?",
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
        "A weight p took one step with the gradient 1. From now on `p.grad` "
        "holds zeros. Does p move, if SGD has momentum (it repeats a part "
        "of the last step) or weight decay (it pulls p towards 0)?",
        (
            wrong(
                "No: a zero gradient moves nothing",
                "Momentum still holds the earlier gradient, and weight "
                "decay adds a part of p itself.",
                "frozen-still-moves",
            ),
            right(
                "Yes, with either of the two",
                "With a zero gradient both still act. With None the "
                "optimizer skips p completely.",
            ),
            wrong(
                "With momentum only: weight decay takes part of the gradient",
                "It acts wherever `.grad` is not None, also on zeros.",
                "grad-none-no-decay",
            ),
        ),
    ),
    "freeze-norm": Question(
        "A BatchNorm layer also holds numbers that no optimizer trains: its "
        "`running_mean`, 0 at first, follows the mean of the data. The layer "
        "is frozen with `requires_grad_(False)`, and data with the mean 3 "
        "runs through it. Does `running_mean` change?",
        (
            wrong(
                "No: the layer is frozen",
                "The flag speaks of gradients. The running mean needs none: "
                "the forward pass itself writes it (torch calls it a buffer).",
                "bn-stats-move-when-frozen",
            ),
            wrong(
                "Yes, in train mode and in eval mode",
                "In eval mode the layer only reads its statistics.",
                "bn-stats-in-eval-claim",
            ),
            right(
                "Yes, as long as the layer is in train mode",
                "It moves by a tenth of the way, from 0 to 0.3. `eval()` "
                "keeps it.",
            ),
        ),
    ),
    "freeze-flow": Question(
        "Two layers in a row, with the weights 2 and 5: "
        "`loss = frozen(first(x))`. The second one was frozen before. "
        "Does `first` get a gradient?",
        (
            wrong(
                "No: a frozen layer stops the gradient",
                "Freezing decides who keeps a gradient. Only a cut stops it.",
                "freeze-stops-flow-claim",
            ),
            right(
                "Yes, it flows through the frozen layer",
                "The frozen weight is a constant factor on the way: the "
                "gradient of `first` is multiplied by it.",
            ),
            wrong(
                "Yes, and frozen.weight.grad is computed and thrown away",
                "The layer was frozen before it ran, so the graph has no "
                "place to send that gradient to; none is computed.",
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


def _look_at_w(w: Any, opt: Any) -> Any:
    if not isinstance(w, torch.Tensor):
        return f"w is a {type(w).__name__}; keep it a tensor."
    if all(w is not p for g in opt.param_groups for p in g["params"]):
        return (
            "the optimizer does not hold this w: leave both as they are, and "
            "change only the flag and the .grad of w."
        )
    if misspelled(None, [w]):
        return misspelled(None, [w])
    moved = w.item() != 1.0
    if w.requires_grad and w.grad is not None:
        if moved:
            return ...
        return _mistake_of_grad(w)
    if w.requires_grad:
        return "the gradient is gone; the line for the flag is missing."
    if w.grad is not None and moved:
        return (
            "w is frozen and its old gradient was still there: the step "
            f"moved w to {w.item():.1f}."
        )
    if w.grad is not None:
        return _mistake_of_grad(w)
    if moved:
        return f"w has moved to {w.item():.1f}: freeze it before the step."
    return CORRECT


def _mistake_of_grad(w: torch.Tensor) -> str:
    if w.grad is not None and bool(w.grad.any()):
        return "w stayed, but its old gradient is still in .grad."
    return "zeros in .grad are not None: momentum would move w."


def _given_freeze(module: Any) -> None:
    module.requires_grad = False


def _look_at_freeze(function: Any) -> str:
    mistake = function_mistake(function, "freeze")
    if mistake:
        return mistake
    layer, optimizer = _trained()
    before = [p.detach().clone() for p in layer.parameters()]
    function(layer)
    mistake = misspelled(layer, layer.parameters())
    if mistake:
        return mistake
    for name, p in layer.named_parameters():
        if p.requires_grad:
            return f"{name} still requires grad."
    if _moved(layer, before):
        return "the weights themselves were changed."
    grads = [p.grad for p in layer.parameters()]
    if any(g is not None and bool(g.any()) for g in grads):
        return "the old gradient is still in .grad: every optimizer uses it."
    optimizer.step()
    if _moved(layer, before):
        return (
            "with zeros in .grad, momentum and weight decay still move it: "
            ".grad has to be None."
        )
    return CORRECT


def _moved(layer: nn.Module, before: list[torch.Tensor]) -> bool:
    pairs = zip(layer.parameters(), before, strict=True)
    return any(not torch.equal(p, b) for p, b in pairs)


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
        "neither SGD nor Adam moves this Module any more",
        _given_freeze,
    ),
}
