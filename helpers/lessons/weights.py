"""Set a module's weights by hand."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from .kinds import CORRECT, Exercise, Question, ordering, right, wrong
from .looking import function_mistake, shares

QUESTIONS = {
    "weights-recall": Question(
        "From the lesson on recording: a detach at the end of a computation, "
        "or `no_grad()` around all of it. The results are equal. What "
        "differs?",
        (
            wrong(
                "Nothing: both leave out the same",
                "The detach comes when the operations were already recorded.",
                "eval-deactivates-autograd-claim",
            ),
            wrong(
                "`no_grad()` also takes the history of the tensors that go in",
                "It acts on operations; a tensor that has a history keeps it.",
                "no-grad-return-keeps-history",
            ),
            right(
                "Under `no_grad()` nothing was saved for backward, at no time",
                "With the detach each operation saved its tensors first.",
            ),
        ),
    ),
    "weights-assign": Question(
        "`layer = nn.Linear(2, 1, bias=False)`, and `new` is a tensor of "
        "shape (1, 2). What does `layer.weight = new` do?",
        (
            wrong(
                "`layer` computes with `new` from now on",
                "The name `weight` is taken by a Parameter, and only another "
                "Parameter (or None) may replace it.",
                "set-weights-right-way",
            ),
            wrong(
                "It raises: the shape should be (2, 1)",
                "The weight has the shape (out, in), here (1, 2). The shape "
                "is right.",
                "weight-orientation",
            ),
            wrong(
                "It copies the numbers into the Parameter",
                "An assignment copies no numbers. `copy_` does.",
                "tying-vs-copying",
            ),
            right(
                "It raises: a tensor is not a Parameter",
                "A TypeError says that it cannot be assigned.",
            ),
        ),
    ),
    "weights-shape": Question(
        "The weight of `nn.Linear(3, 2)` has 2 rows of 3. `t` has the shape "
        "(3,). Three ways: `weight.copy_(t)` under `no_grad()`, "
        "`weight.data = t`, `load_state_dict` with `t`. Which accept it?",
        (
            wrong(
                "None: the shapes differ",
                "Two of the ways do not compare the shapes.",
                "set-weights-right-way",
            ),
            right(
                "`copy_` under `no_grad()`, and `weight.data =`",
                "One repeats the numbers in each row, the other one takes "
                "the shape over.",
            ),
            wrong(
                "`copy_` under `no_grad()`, and `load_state_dict`",
                "`load_state_dict` wants exactly the shape that is there.",
                "copy-broadcasts",
            ),
        ),
    ),
    "weights-parameter": Question(
        "An optimizer holds `layer.weight`. Then `made = g * 5` is computed "
        "from `g`, and `layer.weight = nn.Parameter(made)`. After a backward "
        "and a step, what is true?",
        (
            right(
                "No weight has moved",
                "The optimizer holds the old Parameter, which got no "
                "gradient. The new one got it, and nobody moves it. It also "
                "looks at the memory of `made`.",
            ),
            wrong(
                "`layer.weight` has moved",
                "The optimizer knows objects, not names: it still holds the "
                "old one.",
                "optimizer-keeps-old-parameter",
            ),
            wrong(
                "`g` has a gradient, through `made`",
                "A Parameter is a new leaf: the history of `made` is not "
                "taken over, only its memory.",
                "parameter-from-computation",
            ),
            wrong(
                "Neither: `step()` raises, for `made` is not a leaf",
                "That check is made when an optimizer gets its tensors, and "
                "a Parameter is a leaf.",
                "optimize-nonleaf",
            ),
        ),
    ),
    "weights-state": Question(
        "`state = a.state_dict()`. Then the weights of `a` change in place. "
        "What does `state` hold?",
        (
            wrong(
                "The old weights: it is a copy",
                "It is a dict of tensors on the memory of the weights.",
                "state-dict-is-a-view",
            ),
            wrong(
                "The new weights; a deepcopy would show them too",
                "The new weights, yes. But a deepcopy has memory of its own.",
                "deepcopy-shares-claim",
            ),
            right(
                "The new weights; a deepcopy would keep the old ones",
                "`state_dict()` detaches and does not copy; a deepcopy does.",
            ),
            wrong(
                "The Parameters themselves, which require grad",
                "Its tensors are detached already.",
                "state-dict-already-detached",
            ),
        ),
    ),
    "weights-tied": Question(
        "`b.weight = a.weight`, and the weight is 3. `y = b(a(x))` with x "
        "equal to 1 is `w * w`. What is `b.weight.grad` after "
        "`y.backward()`?",
        (
            wrong(
                "3: each layer has a `.grad` of its own",
                "There is one Parameter under two names, so one `.grad`.",
                "tying-vs-copying",
            ),
            right(
                "6: the gradients of both uses add up",
                "The derivative of `w * w` is `2 * w`.",
            ),
            wrong(
                "3: the second use overwrites the first",
                "Gradients that arrive at one leaf are added.",
                "tied-gradient-sums",
            ),
        ),
    ),
}


def _look_at_vectors(emb: Any, vectors: Any) -> str:
    if isinstance(emb, torch.Tensor):
        return "emb is a tensor: make it an nn.Embedding."
    if not isinstance(emb, nn.Embedding):
        return f"emb is a {type(emb).__name__}, not an nn.Embedding."
    if vectors.tolist() != [[1.0, 2.0], [3.0, 4.0]]:
        return "vectors changed: only emb should."
    if emb.weight.shape != vectors.shape:
        return f"the weight has the shape {tuple(emb.weight.shape)}."
    if not torch.equal(emb.weight, vectors):
        return (
            "emb holds other numbers than vectors. (Was from_pretrained "
            "called on emb? It gives a new Module back.)"
        )
    if not emb.weight.requires_grad:
        return (
            "the weight is frozen: from_pretrained does so, unless you say "
            "freeze=False."
        )
    if shares(emb.weight, vectors):
        return (
            "emb looks at the memory of vectors: training would change them."
        )
    return CORRECT


def _pair() -> tuple[nn.Linear, nn.Linear]:
    average, net = nn.Linear(1, 1), nn.Linear(1, 1)
    for module, weight, bias in ((average, 4.0, 0.0), (net, 8.0, 4.0)):
        nn.init.constant_(module.weight, weight)
        nn.init.constant_(module.bias, bias)
    return average, net


def _look_at_follow(function: Any) -> str:
    mistake = function_mistake(function, "follow")
    if mistake:
        return mistake
    average, net = _pair()
    before = list(average.parameters())
    function(average, net, 0.75)
    if any(
        p is not q for p, q in zip(before, average.parameters(), strict=True)
    ):
        return "a Parameter was replaced: write into the one that is there."
    if (net.weight.item(), net.bias.item()) != (8.0, 4.0):
        return "net changed: only average should follow."
    if shares(average.weight, net.weight):
        return "average looks at the memory of net now: it is no average."
    return _mistake_of_numbers(average)


def _mistake_of_numbers(average: Any) -> str:
    made = (average.weight.item(), average.bias.item())
    if made == (4.0, 0.0):
        return (
            "average did not move: p = ... (or a new entry in a dict) holds "
            "a new tensor and leaves the Parameter as it was."
        )
    if made == (7.0, 3.0):
        return "keep and 1 - keep are swapped."
    if made == (5.0, 0.0):
        return "the weight moved and the bias did not: take all Parameters."
    if made != (5.0, 1.0):
        return (
            "with keep 0.75 the weights 4 and 8 make 5, yours make "
            f"{made[0]:g}."
        )
    if not all(p.requires_grad for p in average.parameters()):
        return "average does not require grad any more: leave its flags."
    return CORRECT


def _look_at_order(variables: dict[str, Any]) -> str:
    weight = variables["layer"].weight
    kept = variables["kept"]["weight"].tolist()
    if kept == [[0.0, 1.0]]:
        return "kept was copied after the step."
    if kept != [[1.0, 2.0]]:
        return "kept was copied before the weights were set."
    if weight.tolist() == [[1.0, 2.0]]:
        return "the weights did not move: the step came before backward."
    if weight.tolist() != [[0.0, 1.0]]:
        return "the weights are not 0 and 1 in the end."
    return CORRECT


EXERCISES = {
    "weights-vectors": Exercise(
        4,
        "easy",
        _look_at_vectors,
        "the Embedding has the vectors, and memory of its own",
    ),
    "weights-follow": Exercise(
        7,
        "medium",
        _look_at_follow,
        "average follows net, in the Parameters that it had",
    ),
    "weights-arrange": ordering(
        4,
        "medium",
        "the optimizer moved the weight, and kept did not",
        {
            "A": "opt.step()",
            "B": "with torch.no_grad():\n"
            "    layer.weight.copy_(torch.tensor([[1.0, 2.0]]))",
            "C": "layer = nn.Linear(2, 1, bias=False)\n"
            "opt = torch.optim.SGD(layer.parameters(), lr=1.0)",
            "D": "layer(torch.ones(1, 2)).sum().backward()",
            "E": "layer.weight = nn.Parameter(torch.tensor([[1.0, 2.0]]))",
            "F": "kept = copy.deepcopy(layer.state_dict())",
            "G": "kept = layer.state_dict()",
        },
        {
            "E": "it makes a new Parameter, which the optimizer of line C "
            "does not know.",
            "G": "it shows the live weights, so the step would change it.",
        },
        _look_at_order,
        "import copy\nimport torch\nfrom torch import nn",
    ),
}
