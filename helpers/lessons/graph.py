"""Follow the graph."""

from __future__ import annotations

import warnings
from typing import Any

import torch

from .kinds import CORRECT, Exercise, Question, ordering, right, wrong
from .looking import function_mistake, shares

QUESTIONS = {
    "graph-recall": Question(
        "From the lesson on names, tensors and storages: `v = t[1:]` is a "
        "view. What do `v` and `t` share?",
        (
            wrong(
                "Everything: two names for one tensor object",
                "`v` is an object of its own, with another shape and offset. "
                "One object with two names comes from `v = t`.",
                "tying-vs-copying",
            ),
            right(
                "The storage",
                "Two tensor objects look at one storage: a write through one "
                "shows in the other.",
            ),
            wrong(
                "Nothing: indexing makes a copy",
                "A list or a mask as index makes a copy. A slice makes a "
                "view.",
                "fancy-index-fill",
            ),
        ),
    ),
    "graph-recorded": Question(
        "`x` and `y` require grad. What does `z = 2 * x * y` know besides "
        "its number?",
        (
            wrong(
                "Nothing: only `x` and `y` were switched on",
                "A result requires grad as soon as one of its inputs does.",
                "layer-output-requires-grad",
            ),
            wrong(
                "The last multiplication; what came before is forgotten",
                "`grad_fn` is the last operation, and it points to the one "
                "before it.",
                "grad-fn-only-last-op",
            ),
            right(
                "All operations back to `x` and `y`",
                "They are recorded while `z` is computed, one operation "
                "pointing to the one before it.",
            ),
        ),
    ),
    "graph-lands": Question(
        "`w = torch.arange(4.0, requires_grad=True).double()`, then "
        "`(w * w).sum().backward()`. Who holds a gradient now?",
        (
            wrong(
                "`w`: it was created with `requires_grad=True`",
                "`arange` made a tensor with that flag, and `w` is the "
                "result of the cast.",
                "grad-none-after-cast",
            ),
            right(
                "Only the tensor that `arange` made",
                "It is the leaf. It has no name, so the program cannot ask "
                "for its `.grad`.",
            ),
            wrong(
                "Each tensor on the way, the product too",
                "Their gradients are computed and dropped: torch keeps them "
                "for leaves, unless asked.",
                "retain-grad-on-nonleaf",
            ),
        ),
    ),
    "graph-adds": Question(
        "`x` holds two ones, `plus = (x + 3).sum()`, and `plus.backward()` "
        "runs twice. What is `x.grad`?",
        (
            right(
                "`[2, 2]`",
                "Each pass gives 1 for each entry, and the second one is "
                "added to the first.",
            ),
            wrong(
                "`[1, 1]`: the second pass replaces the first",
                "A backward adds to `.grad`; it does not replace what is "
                "there.",
                "gan-missing-zero-grad",
            ),
            wrong(
                "`[1, 1]`: the second backward always raises",
                "It raises when an operation saved something that the first "
                "pass freed. An addition saves nothing.",
                "backward-twice",
            ),
        ),
    ),
    "graph-vector": Question(
        "`v = x * 2` has two entries. What does `v.backward()` do?",
        (
            wrong(
                "It takes the gradient of the first entry, element 0",
                "backward never picks an entry. (The element 0 of another "
                "message is the whole loss.)",
                "element-0-meaning",
            ),
            wrong(
                "It raises, because `v` is no leaf",
                "backward starts from results; leaves are where it ends.",
                "is-leaf-purpose",
            ),
            right(
                "It raises, because `v` is more than one number",
                "It has to be told how much each entry counts.",
            ),
        ),
    ),
}


def _look_at_order(made: dict[str, Any]) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # .grad of a tensor that is no leaf
        of_x, of_m = made["x"].grad, made["m"].grad
    if of_x is None:
        return "x.grad is None: backward did not reach x."
    if of_m is None:
        return (
            "m.grad is None: retain_grad() comes after backward, and by "
            "then m's gradient is dropped."
        )
    return CORRECT


def _look_at_leaf(w: Any) -> str:
    if callable(w) and not isinstance(w, torch.Tensor):
        return "w is the method itself: are the brackets missing?"
    if not isinstance(w, torch.Tensor):
        return f"w is a {type(w).__name__}, not a tensor."
    if not w.requires_grad:
        return "w does not require grad: switch it on, as the last step."
    if not w.is_leaf:
        return (
            "w is the result of a recorded operation, so the gradient lands "
            "behind it: cast and reshape first, switch requires_grad on last."
        )
    if w.flatten().tolist() != [0.0, 1.0, 2.0, 3.0]:
        return "w holds other numbers than counts."
    if w.shape != (2, 2):
        return f"w has the shape {list(w.shape)}: view(2, 2) reshapes."
    return CORRECT


def _given_two_slopes(w: Any) -> Any:
    (w * 3).sum().backward()
    first = w.grad
    (w * 5).sum().backward()
    return first, w.grad


def _look_at_slopes(function: Any) -> str:
    mistake = function_mistake(function, "two_slopes")
    if mistake:
        return mistake
    made = function(torch.ones(2, requires_grad=True))
    if made is None:
        return "two_slopes returns nothing: is a return missing?"
    if not isinstance(made, (tuple, list)) or len(made) != 2:
        return "return two gradients: return first, second"
    if not all(isinstance(one, torch.Tensor) for one in made):
        return "one of the two is None or no tensor: return the gradients."
    mistake = _mistake_in_slopes(*made)
    if mistake:
        return mistake
    old = torch.ones(2, requires_grad=True)
    old.grad = torch.tensor([10.0, 10.0])
    if function(old)[0].tolist() != [3.0, 3.0]:
        return (
            "the gradient of an earlier step is still in the first one: "
            "clear w.grad at the beginning too."
        )
    return CORRECT


def _mistake_in_slopes(first: torch.Tensor, second: torch.Tensor) -> str:
    if first.tolist() == [3.0, 3.0] and second.tolist() == [5.0, 5.0]:
        return CORRECT
    if second.tolist() == [8.0, 8.0]:
        return (
            "the second one still contains the first: gradients add up, so "
            "clear w.grad between the two."
        )
    if shares(first, second):
        return (
            "both are one tensor: what is written into w.grad also shows in "
            "first. Set w.grad to None, and torch makes a new one."
        )
    return (
        f"they are {first.tolist()} and {second.tolist()}; they should be 3 "
        "and 5 in each entry."
    )


EXERCISES = {
    "graph-arrange": ordering(
        4,
        "easy",
        "x keeps its gradient as a leaf, m because it was asked to",
        {
            "A": "loss.backward()",
            "B": "m = x * 3",
            "C": "x.retain_grad()",
            "D": "x = torch.tensor([1.0, 2.0])",
            "E": "loss = m.sum()",
            "F": "m.retain_grad()",
            "G": "m.requires_grad = True",
            "H": "x.requires_grad_()",
        },
        {
            "C": "a leaf that requires grad keeps its gradient anyway.",
            "G": (
                "m is computed from x and follows it; on a result torch "
                "does not accept this line."
            ),
        },
        _look_at_order,
    ),
    "graph-leaf": Exercise(
        3,
        "easy",
        _look_at_leaf,
        "w is the leaf itself, so its gradient has a name",
    ),
    "graph-slopes": Exercise(
        7,
        "medium",
        _look_at_slopes,
        "each gradient is a tensor of its own",
        _given_two_slopes,
    ),
}
