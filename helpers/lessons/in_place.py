"""Write in place without breaking backward."""

from __future__ import annotations

from typing import Any

import torch

from .kinds import CORRECT, Exercise, Question, ordering, right, wrong
from .looking import function_mistake

QUESTIONS: dict[str, Question] = {
    "in-place-recall": Question(
        "From the lesson on two networks: which line makes "
        "`B(A(x)).sum().backward()` train A alone?",
        (
            wrong(
                "`a = A(x).detach()`, and then `B(a)`",
                "The detach cuts the way to A. That trains B alone.",
                "two-nets-A-then-B",
            ),
            right(
                "`B.requires_grad_(False)` before it",
                "B gets no gradient of its own, and lets A's pass through.",
            ),
            wrong(
                "`with torch.no_grad():` around B",
                "Then B's operations are not recorded, and backward raises.",
                "no-grad-on-B-kills-A",
            ),
        ),
    ),
    "in-place-through": Question(
        "`x` is a tensor. `other` is made from it: by `x.clone()`, "
        "`x.detach()`, `x.view(2)` or `x.numpy()`. Then `other[0] = 5`. "
        "For which of the four does `x` change?",
        (
            wrong(
                "For the view only: the others are copies",
                "Only the clone is a copy.",
                "detach-shares-storage",
            ),
            wrong(
                "For the view and detach: the array is a copy",
                "On the CPU the array of `numpy()` looks at the memory of "
                "`x`.",
                "detach-numpy-shares",
            ),
            right(
                "For all but the clone",
                "The clone has a storage of its own; the other three look at "
                "the storage of `x`.",
            ),
        ),
    ),
    "in-place-saved": Question(
        "`y = x.exp()`, then `y.detach()[0] = 5`, then "
        "`y.sum().backward()`. What happens?",
        (
            wrong(
                "The gradient is right: a detached tensor is a copy",
                "It is no copy. The 5 stands in `y`, too.",
                "detach-shares-storage",
            ),
            right(
                "backward raises an error",
                "`exp` saved `y` at version 0. The write through the twin "
                "made it version 1, and backward compares.",
            ),
            wrong(
                "backward uses the 5, and the gradient is wrong",
                "It would, but the twin shares the version counter of `y`, "
                "so backward notices the write.",
                "data-vs-detach-silent",
            ),
            wrong(
                "Nothing: what `exp` saved is a copy of `y`",
                "No copy is made. `exp` keeps hold of `y` itself and notes "
                "its version.",
                "version-counter",
            ),
        ),
    ),
    "in-place-silent": Question(
        "`y.data` looks at the memory of `y`, too, but counts its versions "
        "alone. Now the same write as `y.data[0] = 5`. What does "
        "`y.sum().backward()` do?",
        (
            wrong(
                "It raises the same error: `.data` is `detach()` under an "
                "older name",
                "Both share the memory. But `.data` has a version counter of "
                "its own, so the one of `y` stays at 0.",
                "data-vs-detach-silent",
            ),
            wrong(
                "It runs, and the gradient is right, because `.data` is "
                "outside of autograd",
                "Autograd does not see the write, and multiplies by the "
                "changed number.",
                "data-edit-after-forward",
            ),
            right(
                "It runs, and one number of the gradient is wrong",
                "backward multiplies by the saved result, which now holds "
                "the 5. No counter says so.",
            ),
        ),
    ),
    "in-place-unsaved": Question(
        "Into which of these results may you write before backward: "
        "`x + 1`, `x.relu()`, `x.exp()`? (For `relu`, backward asks where "
        "the result is above 0.)",
        (
            right(
                "Into `x + 1` only",
                "The gradient of `x + 1` is 1, whatever the numbers are, so "
                "it saves none. The other two save their result.",
            ),
            wrong(
                "Into none: after such a write backward always raises",
                "It raises only if an operation saved that tensor.",
                "detach-modify-not-always-error",
            ),
            wrong(
                "Into `x + 1` and `x.relu()`: relu needs only its input",
                "The input would do as well, but torch saves the result.",
                "residual-inplace-after-relu",
            ),
            wrong(
                "Into all, through `detach()`: torch reports no error there",
                "No error comes where no saved tensor was changed. The "
                "result of `exp` is one that was saved.",
                "detach-write-unseen-when-unsaved",
            ),
        ),
    ),
    "in-place-leaf": Question(
        "`w` is a leaf that requires grad. When does `w += 1` raise an error?",
        (
            right(
                "At this line",
                "Autograd checks it before it writes. No backward is needed.",
            ),
            wrong(
                "At backward, which finds a newer version",
                "That is the error about a saved tensor. This one comes "
                "at the line itself.",
                "leaf-inplace-error",
            ),
            wrong(
                "At this line, but only in a new PyTorch: install an older "
                "one",
                "The line does not say if the update should be recorded. "
                "Say it with `no_grad()`; that repairs it here, too.",
                "downgrade-pytorch-advice",
            ),
        ),
    ),
    "in-place-clone-fix": Question(
        "Some pages repair this with `w = w.clone()` before `w[0] = 5`. "
        "Where is the gradient after `(w * 3).sum().backward()`?",
        (
            wrong(
                "In `w.grad`: a clone is a leaf like its source",
                "The clone is a result of a recorded operation, so it is no "
                "leaf.",
                "clone-requires-grad",
            ),
            wrong(
                "In `w.grad`: it is the same name",
                "The name now belongs to another tensor. Only the old leaf "
                "gets a `.grad`.",
                "clone-fix-loses-leaf",
            ),
            right(
                "In the `.grad` of the old leaf, and `w.grad` is None",
                "The gradient passes through the clone. Without a second "
                "name you have lost the leaf.",
            ),
        ),
    ),
    "in-place-detach-underscore": Question(
        "`b = a * 2`, `c = b * 3`, then `b.detach_()`. What is `a.grad` "
        "after `c.backward()`, with `a` equal to 1?",
        (
            wrong(
                "None: `b` is detached, so the way to `a` is cut",
                "`c` was computed before. It keeps its own link to the "
                "operation that made `b`.",
                "detach-underscore-not-retroactive",
            ),
            right(
                "6",
                "`detach_()` cuts only what is computed from `b` later.",
            ),
            wrong(
                "An error: `b` was changed in place",
                "`detach_()` writes no number, so the version stays as it "
                "was.",
                "version-counter",
            ),
        ),
    ),
}


def _given_percent(y: Any) -> Any:
    return y.detach().mul_(100)


def _look_at_word(function: Any) -> str:
    mistake = function_mistake(function, "percent")
    if mistake:
        return mistake
    y = torch.zeros(2, requires_grad=True).exp()
    shown = function(y)
    if shown is None:
        return "percent returns nothing: is a return missing?"
    if not isinstance(shown, torch.Tensor):
        return f"percent returns a {type(shown).__name__}: keep it a tensor."
    if y.grad_fn is None:
        return "y has lost its history: detach() leaves y as it is."
    if y.tolist() != [1.0, 1.0] and y._version == 0:
        return (
            "y changed, and its version is still 0: .data and NumPy write "
            "past the counter, and the gradient is wrong."
        )
    if y.tolist() != [1.0, 1.0]:
        return "y changed, too: the result still looks at the memory of y."
    if shown.tolist() != [100.0, 100.0]:
        return "the result should hold y's numbers, times 100."
    if shown.requires_grad:
        return (
            "the result has a history, which a plot does not need: where is "
            "the detach()?"
        )
    return CORRECT


def _look_at_order(space: dict[str, Any]) -> str:
    x, w = space["x"], space["w"]
    if x.grad is None:
        return "x.grad is None: does backward run?"
    if x.grad.item() == 100.0:
        return "x.grad is 100: w was changed before y was computed from it."
    if w.item() != 100.0:
        return "at the end w should hold 100."
    return CORRECT


def _given_block(x: Any) -> Any:
    out = x.relu()
    out += x
    return out


def _look_at_residual(function: Any) -> str:
    mistake = function_mistake(function, "block")
    if mistake:
        return mistake
    leaf = torch.tensor([1.0, -2.0], requires_grad=True)
    x = leaf * 1
    out = function(x)
    if out is None:
        return "block returns nothing: is a return missing?"
    if not isinstance(out, torch.Tensor):
        return f"block returns a {type(out).__name__}: keep it a tensor."
    if x.tolist() != [1.0, -2.0]:
        return "x itself was changed: make a new tensor for the result."
    if out.tolist() != [2.0, -2.0]:
        return "the result should be x.relu() + x."
    if not out.requires_grad:
        return "the result has no history: the gradient can't reach x."
    return _mistake_of_gradient(out, leaf)


def _mistake_of_gradient(out: torch.Tensor, leaf: torch.Tensor) -> str:
    try:
        (grad,) = torch.autograd.grad(out.sum(), leaf)
    except RuntimeError as error:
        if "modified by an inplace" not in str(error):
            raise
        return (
            "backward still raises: relu saved its result, and a write in "
            "place changed it."
        )
    if grad.tolist() == [1.0, 1.0]:
        return (
            "the gradient through relu is missing: relu's result was cut "
            "from its history."
        )
    if grad.tolist() == [1.0, 0.0]:
        return (
            "the gradient of the added x is missing: that addition was not "
            "recorded."
        )
    if grad.tolist() != [2.0, 1.0]:
        return "the gradient of x is wrong: it should be [2, 1]."
    return CORRECT


EXERCISES: dict[str, Exercise] = {
    "in-place-word": Exercise(
        3,
        "easy",
        _look_at_word,
        "the result has memory of its own, and y keeps its numbers",
        _given_percent,
    ),
    "in-place-arrange": ordering(
        4,
        "medium",
        "backward first, then the planned update",
        {
            "A": "y.backward()",
            "B": "w = torch.tensor([2.0], requires_grad=True)",
            "C": "w.data.fill_(100.0)",
            "D": "y = w * x",
            "E": "with torch.no_grad():\n    w.fill_(100.0)",
            "F": "x = torch.tensor([5.0], requires_grad=True)",
            "G": "w.fill_(100.0)",
        },
        {
            "C": (
                ".data writes past the version counter, so backward would not "
                "notice it at a wrong place."
            ),
            "G": (
                "a leaf that requires grad can't be written to while "
                "autograd records."
            ),
        },
        _look_at_order,
    ),
    "in-place-residual": Exercise(
        6,
        "medium",
        _look_at_residual,
        "relu keeps what it saved, and both ways give a gradient",
        _given_block,
    ),
}
