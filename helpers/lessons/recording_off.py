"""Switch recording off."""

from __future__ import annotations

from numbers import Real
from typing import Any

import torch
from torch import nn

from ..measuring import graph_size, saved_bytes
from .kinds import CORRECT, Exercise, Question, ordering, right, wrong
from .looking import function_mistake

QUESTIONS = {
    "off-recall": Question(
        "From the lesson on writing in place: how does backward notice that "
        "a saved tensor was overwritten?",
        (
            wrong(
                "It compares the saved numbers with those of now",
                "There is no second copy of the numbers to compare with.",
                "version-counter",
            ),
            right(
                "It compares two readings of the version counter",
                "Each write in place adds 1 to it. The operation noted the "
                "counter when it saved the tensor.",
            ),
            wrong(
                "It sees that somebody wrote through a detached tensor",
                "A detached tensor shares the counter with its source: all "
                "that counts is whether a saved tensor was written to.",
                "detach-modify-not-always-error",
            ),
        ),
    ),
    "off-eval": Question(
        "`net.eval()`, then `y = net(x)`. x does not require grad. Does `y` "
        "have a graph?",
        (
            wrong(
                "No: `eval()` switches autograd off",
                "`eval()` sets the flag `training`, which dropout and "
                "BatchNorm read. Autograd does not read it.",
                "eval-deactivates-autograd-claim",
            ),
            wrong(
                "No: the input does not require grad",
                "The weight does, and one such tensor is enough.",
                "checkpoint-no-grad-input",
            ),
            wrong(
                "Yes, but in eval mode backward leaves `weight.grad` at None",
                "Backward runs as in train mode and fills it.",
                "eval-disables-grad-claim",
            ),
            right(
                "Yes, the same as in train mode",
                "`eval()` changes what some layers compute, not what is "
                "recorded.",
            ),
        ),
    ),
    "off-inside": Question(
        "`w` requires grad, `y = w * 2`. Then, inside `no_grad()`: `a = y`, "
        "`b = y * 3`, `v = w[:2]` and a new `p = nn.Parameter(...)`. Which "
        "say `requires_grad=False`?",
        (
            wrong(
                "All four: nothing in the block requires grad",
                "`a` is the object `y` itself, with its history.",
                "no-grad-return-keeps-history",
            ),
            right(
                "`b` alone",
                "`b` is the result of an operation. A view takes the flag "
                "over from its base, and that surprises most people.",
            ),
            wrong(
                "`b` and `v`",
                "`v` is a view, and says True: it has the flag of `w`.",
                "index-in-no-grad",
            ),
            wrong(
                "`b`, `v` and `p`",
                "A Parameter made in the block requires grad as always, "
                "and so does a view.",
                "parameter-in-no-grad",
            ),
        ),
    ),
    "off-view": Question(
        "So `v = w[:2]` says `requires_grad=True`. After the block: "
        "`loss = (v * 2).sum()` and `loss.backward()`. What happens?",
        (
            wrong(
                "`w.grad` becomes `[2, 2, 0]`",
                "The slice was not recorded: nothing leads from `v` to `w`.",
                "view-from-no-grad-silent",
            ),
            wrong(
                "It raises: such tensors cannot be saved for backward",
                "That is what tensors from `inference_mode()` do.",
                "inference-tensor-saved",
            ),
            right(
                "It runs, and no gradient arrives anywhere",
                "Neither `w.grad` nor `v.grad` is filled, and no message "
                "comes.",
            ),
        ),
    ),
    "off-numpy": Question(
        "`array = w.detach().numpy()`, then `array[0] = -7`. What does "
        "`w[0]` hold?",
        (
            right(
                "-7, and autograd does not notice",
                "On the CPU the array looks at the storage of w, and NumPy "
                "does not count versions.",
            ),
            wrong(
                "1: the array is a copy",
                "Neither `detach()` nor `numpy()` copies.",
                "detach-numpy-shares",
            ),
            wrong(
                "-7, and the graph knows: it goes on through NumPy",
                "NumPy records nothing. `from_numpy` makes a fresh leaf.",
                "rewrap-after-numpy",
            ),
            wrong(
                "1: the write raises, because w is a leaf that requires grad",
                "torch refuses such a write through a tensor. This one goes "
                "through NumPy.",
                "leaf-inplace-error",
            ),
        ),
    ),
    "off-total-line": Question(
        "Which line adds up the loss of each step and keeps no graph?",
        (
            wrong(
                "`total += loss`: the sum is a number",
                "It is a tensor, and leads back through each step so far.",
                "ema-graph-growth",
            ),
            wrong(
                "Only `total += loss.detach().item()`",
                "It works, and the detach is not needed: `item()` gives a "
                "float, which has no graph.",
                "detach-item-redundant",
            ),
            wrong(
                "`total += loss`, if backward was called as "
                "`loss.item().backward()`",
                "`item()` gives a float, and a float has no backward.",
                "item-then-backward",
            ),
            right(
                "`total += loss.item()`",
                "A Python float holds no graph. `loss.detach()` would do as "
                "well.",
            ),
        ),
    ),
}


def _look_at_total(total: Any, loss: Any) -> Any:
    if isinstance(total, torch.Tensor) and total.requires_grad:
        return (
            f"total keeps the graph of {graph_size(total)} operations: add "
            "a number instead of the tensor."
        )
    if not isinstance(total, (Real, torch.Tensor)):
        return f"total is a {type(total).__name__}, not a sum of numbers."
    if not isinstance(loss, torch.Tensor) or not loss.requires_grad:
        return "the loss lost its own history: nobody could train on it."
    if loss.grad_fn is None:
        return "loss is not what the loop computed: leave it as it is."
    if isinstance(total, torch.Tensor) and total.numel() != 1:
        return "total holds several numbers: add the summed loss."
    if float(total) == 0.0:
        return ...
    if float(total) == 3.0:
        return "total is one loss only: add each to it, with +=."
    if float(total) != 9.0:
        return "each of the three losses is 3, so total should be 9."
    return CORRECT


def _look_at_evaluate(function: Any) -> str:
    mistake = function_mistake(function, "evaluate")
    if mistake:
        return mistake
    linear = nn.Linear(1, 1, bias=False)
    nn.init.constant_(linear.weight, 2.0)
    net = nn.Sequential(linear, nn.Dropout(0.5))
    inputs = torch.tensor([[1.0], [3.0]])
    with torch.set_grad_enabled(True):  # and afterwards as it was
        made = function(net, inputs)
        left_off = not torch.is_grad_enabled()
    if made is None:
        return "evaluate returns nothing: is a return missing?"
    if left_off:
        return (
            "recording is still off after evaluate, for the whole program: "
            "use a with block, which ends."
        )
    if not all(p.requires_grad for p in net.parameters()):
        return "the weights are frozen now: training could not go on."
    return _mistake_of_mean(function, net, inputs, made)


def _mistake_of_mean(
    function: Any, net: nn.Sequential, inputs: torch.Tensor, made: Any
) -> str:
    if isinstance(made, torch.Tensor):
        return "the mean is a tensor: return its number, with item()."
    if callable(made):
        return "the mean is the method itself: are the brackets missing?"
    if not isinstance(made, float):
        return f"the mean is a {type(made).__name__}, not a float."
    seen: list[bool] = []
    net[1].register_forward_hook(lambda m, *_: seen.append(m.training))
    saved = saved_bytes(function, net.train(), inputs)
    if not seen:
        return "call the whole net, with the dropout in it."
    if any(seen):
        return "the dropout is still active: which method switches it off?"
    if saved:
        return (
            f"the operations still saved {saved} bytes: eval() does not "
            "switch recording off, and detach or item() comes after it."
        )
    if not net.training:
        return "net stays in eval mode: switch it back."
    if abs(made - 4.0) > 1e-6:
        return "it is another number than the mean of net(inputs)."
    return CORRECT


def _look_at_order(variables: dict[str, Any]) -> str:
    w, loss = variables["w"], variables["loss"]
    if variables["before"].tolist() != [1.0, 2.0]:
        return "before holds -7: it was copied after the write."
    if w.tolist() != [-7.0, 2.0]:
        return "the first weight is not -7."
    if loss.item() != 53.0:
        return "the loss is that of the old numbers: write before it."
    if w.grad is None:
        return "w has no gradient: is backward missing?"
    return CORRECT


EXERCISES = {
    "off-total": Exercise(
        3,
        "easy",
        _look_at_total,
        "total is 9, and no old graph stays alive",
    ),
    "off-evaluate": Exercise(
        6,
        "medium",
        _look_at_evaluate,
        "0 bytes saved, the dropout off, and training can go on",
    ),
    "off-arrange": ordering(
        4,
        "medium",
        "before has memory of its own, and w took the write",
        {
            "A": "array[0] = -7.0",
            "B": "w = torch.tensor([1.0, 2.0], requires_grad=True)",
            "C": "before = w.detach()",
            "D": "loss = (w * w).sum()",
            "E": "array = w.detach().numpy()",
            "F": "before = array.copy()",
            "G": "loss.backward()",
            "H": "array = w.numpy()",
        },
        {
            "C": "it looks at the memory of w, so the write shows there.",
            "H": "w requires grad, and numpy() refuses.",
        },
        _look_at_order,
    ),
}
