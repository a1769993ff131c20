"""Bring a symptom to the clinic.

Beside the lesson's own questions: which lesson teaches what, and what torch
says.  Both are what ``helpers/clinic.py`` looks up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from .kinds import CORRECT, Exercise, Question, right, wrong
from .looking import function_mistake, misspelled

__all__ = [
    "ALSO_CALLED",
    "EXERCISES",
    "LESSONS",
    "MESSAGES",
    "QUESTIONS",
    "TAUGHT_IN",
    "Message",
]

# The notebooks, by the stem of their file.
LESSONS = {
    "00_start_here": "Start here",
    "01_tell_names_tensors_storages": "Tell names, tensors and storages apart",
    "02_follow_the_graph": "Follow the graph",
    "03_clone_or_detach": "Choose between clone and detach",
    "04_hold_a_value_constant": "Hold a value constant",
    "05_run_the_xw_demo": "Run the x·w demo and repair it",
    "06_freeze_w": "Freeze a weight and check that it stays",
    "07_split_two_networks": "Split two networks and choose who learns",
    "08_write_in_place": "Write in place without breaking backward",
    "09_switch_recording_off": "Switch recording off",
    "10_set_weights_by_hand": "Set a module's weights by hand",
    "11_first_text_on_trial": "Put the first text on trial",
    "12_second_text_on_trial": "Put the second text on trial",
    "13_detach_in_networks": "Meet detach in networks",
    "14_detach_in_tricks": "Meet detach in tricks and loops",
    "15_clinic": "Bring a symptom to the clinic",
}

# Each topic of the questions, and the notebook that teaches it.
TAUGHT_IN = {
    "backward": "02_follow_the_graph",
    "batchnorm": "06_freeze_w",
    "clone": "03_clone_or_detach",
    "data": "08_write_in_place",
    "deepcopy": "10_set_weights_by_hand",
    "detach": "03_clone_or_detach",
    "eval": "09_switch_recording_off",
    "freeze": "06_freeze_w",
    "gan": "13_detach_in_networks",
    "grad-none": "05_run_the_xw_demo",
    "gradient-flow": "07_split_two_networks",
    "graph": "02_follow_the_graph",
    "inplace": "08_write_in_place",
    "item-numpy": "01_tell_names_tensors_storages",
    "leaf": "02_follow_the_graph",
    "memory": "14_detach_in_tricks",
    "no_grad": "09_switch_recording_off",
    "optimizer": "06_freeze_w",
    "requires_grad": "04_hold_a_value_constant",
    "retain_grad": "02_follow_the_graph",
    "rnn": "14_detach_in_tricks",
    "set-weights": "10_set_weights_by_hand",
    "state_dict": "10_set_weights_by_hand",
    "ste": "14_detach_in_tricks",
    "target-net": "13_detach_in_networks",
    "tying": "10_set_weights_by_hand",
    "views": "01_tell_names_tensors_storages",
}

# What people call a topic that the questions name otherwise.
ALSO_CALLED = {
    "batchnorm": "bn batch norm running statistics mean validation changes",
    "gan": "generator discriminator critic adversarial",
    "gradient-flow": "two networks A B",
    "inplace": "in-place modify write",
    "item-numpy": "array convert log",
    "memory": "grows leak training slower each step cuda out of memory list "
    "of losses",
    "optimizer": "weights stay do not move change learn train after step",
    "rnn": "recurrent lstm gru hidden state truncated bptt",
    "set-weights": "assign initialise load weights by hand",
    "ste": "straight-through estimator quantize round binary",
    "target-net": "target network bootstrap reinforcement dqn",
    "tying": "shared tied weights",
    "views": "slice index reshape view expand",
}


@dataclass(frozen=True)
class Message:
    """What torch says: how it begins, what helps, where it is explained.

    ``question`` is an id of the bank, or nothing; ``lesson`` is the stem of a
    notebook.
    """

    kind: str
    text: str
    fix: str
    lesson: str
    question: str = ""


MESSAGES = (
    Message(
        "RuntimeError",
        "element 0 of tensors does not require grad and does not have a "
        "grad_fn",
        "Find the line that cut the loss off; do not wrap the loss.",
        "05_run_the_xw_demo",
        "element-0-meaning",
    ),
    Message(
        "RuntimeError",
        "Trying to backward through the graph a second time",
        "Compute the loss anew, or `detach()` the part of the step before.",
        "02_follow_the_graph",
        "backward-twice",
    ),
    Message(
        "RuntimeError",
        "grad can be implicitly created only for scalar outputs",
        "Reduce the loss: `loss.sum()` or `loss.mean()`.",
        "02_follow_the_graph",
    ),
    Message(
        "RuntimeError",
        "one of the variables needed for gradient computation has been "
        "modified by an inplace operation",
        "Write into a clone, or before the value is used; after `step()` "
        "compute the loss anew.",
        "08_write_in_place",
        "version-counter",
    ),
    Message(
        "RuntimeError",
        "a leaf Variable that requires grad is being used in an in-place "
        "operation.",
        "Write under `no_grad()`, or compute a new tensor.",
        "08_write_in_place",
        "leaf-inplace-error",
    ),
    Message(
        "RuntimeError",
        "a view of a leaf Variable that requires grad is being used in an "
        "in-place operation.",
        "Make the view and write into it under `no_grad()`.",
        "08_write_in_place",
        "downgrade-pytorch-advice",
    ),
    Message(
        "RuntimeError",
        "A view was created in no_grad mode and is being modified inplace "
        "with grad mode enabled.",
        "Move both lines into the `no_grad()` block, or both out of it.",
        "09_switch_recording_off",
        "view-from-no-grad-silent",
    ),
    Message(
        "RuntimeError",
        "Output 0 of Unbind is a view and is being modified inplace.",
        "Write through an index: `t[i] += 1`.",
        "08_write_in_place",
        "unbind-inplace",
    ),
    Message(
        "RuntimeError",
        "unsupported operation: more than one element of the written-to "
        "tensor refers to a single memory location.",
        "Call `clone()` after `expand()`, then write.",
        "01_tell_names_tensors_storages",
        "expand-inplace",
    ),
    Message(
        "RuntimeError",
        "view size is not compatible with input tensor's size and stride",
        "Use `reshape()`: it copies where it must.",
        "01_tell_names_tensors_storages",
        "view-needs-contiguous-claim",
    ),
    Message(
        "RuntimeError",
        "you can only change requires_grad flags of leaf variables.",
        "`detach()` stops the gradient, `retain_grad()` shows it.",
        "02_follow_the_graph",
        "retain-grad-on-nonleaf",
    ),
    Message(
        "RuntimeError",
        "can't retain_grad on Tensor that has requires_grad=False",
        "Find out first why the tensor does not require grad.",
        "02_follow_the_graph",
        "retain-grad-no-op-claim",
    ),
    Message(
        "UserWarning",
        "The .grad attribute of a Tensor that is not a leaf Tensor is being "
        "accessed.",
        "Read the leaf's `.grad`, or call `retain_grad()` before backward.",
        "02_follow_the_graph",
        "grad-none-after-view",
    ),
    Message(
        "RuntimeError",
        "Only Tensors of floating point and complex dtype can require "
        "gradients",
        "Call `float()` first; an index from `argmax()` has no gradient.",
        "02_follow_the_graph",
        "round-zero-gradient",
    ),
    Message(
        "RuntimeError",
        "The differentiated Tensor at index 0 appears to not have been used "
        "in the graph.",
        "Find the cut; if it is on purpose, pass `allow_unused=True`.",
        "14_detach_in_tricks",
        "vq-losses",
    ),
    Message(
        "AttributeError",
        "'NoneType' object has no attribute 'zero_'",
        "Ask why `.grad` is None; clear with `optimizer.zero_grad()`.",
        "05_run_the_xw_demo",
        "grad-none-before-backward",
    ),
    Message(
        "AttributeError",
        "'float' object has no attribute 'backward'",
        "Call backward on the tensor, and `item()` for the log only.",
        "05_run_the_xw_demo",
        "item-then-backward",
    ),
    Message(
        "RuntimeError",
        "a Tensor with 2 elements cannot be converted to Scalar",
        "Reduce it first, or use `tolist()`.",
        "14_detach_in_tricks",
        "detach-item-redundant",
    ),
    Message(
        "RuntimeError",
        "Can't call numpy() on Tensor that requires grad.",
        "`x.detach().numpy()`, with `.copy()` before you write into it.",
        "12_second_text_on_trial",
        "detach-numpy-shares",
    ),
    Message(
        "RuntimeError",
        "Can't detach views in-place.",
        "`v = v.detach()`, without the underscore.",
        "12_second_text_on_trial",
        "detach-underscore-not-retroactive",
    ),
    Message(
        "RuntimeError",
        "Only Tensors created explicitly by the user (graph leaves) support "
        "the deepcopy protocol",
        "Keep detached tensors in the module, then copy it.",
        "10_set_weights_by_hand",
        "deepcopy-nonleaf",
    ),
    Message(
        "UserWarning",
        "To copy construct from a tensor, it is recommended to use "
        "sourceTensor.detach().clone()",
        "Use the expression itself: `torch.tensor()` cuts it.",
        "03_clone_or_detach",
        "loss-rewrapped",
    ),
    Message(
        "RuntimeError",
        "Inference tensors cannot be saved for backward.",
        "`clone()` it outside the block, or use `no_grad()`.",
        "09_switch_recording_off",
        "inference-tensor-saved",
    ),
    Message(
        "UserWarning",
        "None of the inputs have requires_grad=True. Gradients will be None",
        "Pass `use_reentrant=False` to `checkpoint()`.",
        "09_switch_recording_off",
        "checkpoint-no-grad-input",
    ),
    Message(
        "ValueError",
        "can't optimize a non-leaf Tensor",
        "Give the leaf to the optimizer, and compute the rest each step.",
        "02_follow_the_graph",
        "optimize-nonleaf",
    ),
    Message(
        "TypeError",
        "cannot assign 'torch.FloatTensor' as parameter 'weight'",
        "Under `no_grad()`: `layer.weight.copy_(t)`.",
        "10_set_weights_by_hand",
        "set-weights-right-way",
    ),
    Message(
        "RuntimeError",
        "The size of tensor a (2) must match the size of tensor b (3)",
        "Compare the two shapes; `copy_()` only broadcasts.",
        "10_set_weights_by_hand",
        "copy-broadcasts",
    ),
    Message(
        "RuntimeError",
        "size mismatch for weight: copying a param with shape",
        "`load_state_dict()` wants the exact shape.",
        "10_set_weights_by_hand",
        "copy-broadcasts",
    ),
)

QUESTIONS: dict[str, Question] = {
    "clinic-recall": Question(
        "From the lesson on tricks and loops: `h = h.detach()` stands between "
        "two pieces of a long sequence. What does it change?",
        (
            wrong(
                "It wipes the memory: `h` begins again at zero",
                "The numbers in `h` go on unchanged.",
                "tbptt-detach",
            ),
            right(
                "Only the way of the gradient, which ends there",
                "The values go on; backward does not walk into the piece "
                "before, whose graph is gone.",
            ),
            wrong(
                "Nothing that `retain_graph=True` would not do",
                "With it backward walks through all earlier steps, and meets "
                "weights that `step()` has changed since.",
                "retain-graph-then-step",
            ),
        ),
    ),
    "clinic-second": Question(
        "After `loss = w * w` a second `loss.backward()` raises. What about "
        "two calls after `loss = w + 3`?",
        (
            right(
                "Both run: the sum saved no tensor",
                "backward frees what the operations saved. A product needs "
                "its inputs again, a sum needs nothing.",
            ),
            wrong(
                "The second one raises: every graph works once",
                "Only saved tensors are freed, and here there are none.",
                "backward-twice",
            ),
            wrong(
                "Both run: only `optimizer.step()` frees a graph",
                "`step()` frees nothing. backward freed what `w * w` saved.",
                "step-frees-graph-claim",
            ),
        ),
    ),
    "clinic-wrapped": Question(
        "`loss = w.detach() * 3`: backward raises. Somebody adds "
        "`loss.requires_grad_()` before it. What is `w.grad` now?",
        (
            wrong(
                "3: the flag brings the history back",
                "The flag makes the loss a new leaf, without history.",
                "rewrap-after-numpy",
            ),
            wrong(
                "Nothing changes: backward still raises",
                "The message is gone, for the loss now requires grad.",
                "detach-then-backward",
            ),
            right(
                "None, and no message comes any more",
                "backward fills `loss.grad` and ends there: the cut is still "
                "in the line before.",
            ),
        ),
    ),
    "clinic-average": Question(
        "`total = (total + w) / 2` runs in every step, and each step "
        "needs more memory than the one before. `w` requires grad. Why?",
        (
            wrong(
                "`zero_grad()` is missing, so gradients pile up",
                "Gradients add up in one tensor of one size, which does not "
                "grow. And no backward runs in this line.",
                "gan-missing-zero-grad",
            ),
            right(
                "`total` holds the operations of all steps",
                "Each step adds to one graph, and nothing lets go of it.",
            ),
            wrong(
                "`eval()` is missing, it would stop the recording",
                "`eval()` changes dropout and BatchNorm, and records on.",
                "eval-deactivates-autograd-claim",
            ),
        ),
    ),
    "clinic-old": Question(
        "An optimizer is made, then the layer gets a new weight: "
        "`layer.weight = nn.Parameter(...)`. What does `opt.step()` do?",
        (
            wrong(
                "It moves the new weight: it asks the layer for it",
                "An optimizer keeps the Parameters it was given, and never "
                "looks at the layer.",
                "parameter-shares-storage",
            ),
            wrong(
                "It raises: the old weight is in no layer any more",
                "A Parameter without a layer is still a leaf. Its `.grad` is "
                "None, and `step()` skips it without a word.",
                "optimize-nonleaf",
            ),
            right(
                "It moves nothing and says nothing",
                "It holds the old weight, whose `.grad` is None.",
            ),
        ),
    ),
}


def _look_at_line(line: Any) -> str:
    if isinstance(line, bool) or not isinstance(line, int):
        return "write the number of the line, such as 1, without quotes."
    if line == 3:
        return (
            "line 3 makes a constant target on purpose: the path from w "
            "through pred is still there."
        )
    if line == 5:
        return "in line 5 gap has no history any more: look before it."
    if line != 4:
        return (
            f"line {line} cuts nothing: ask each name for its grad_fn, the "
            "first that is None where it should not be tells it."
        )
    return CORRECT


def _given_step(backbone: Any, head: Any, opt: Any, x: Any, y: Any) -> Any:
    backbone.requires_grad_(False)
    out = head(backbone(x)).detach().requires_grad_()
    loss = (out - y).square().sum()
    loss.backward()
    opt.step()
    return loss


def _look_at_step(function: Any) -> str:
    mistake = function_mistake(function, "train_step")
    if mistake:
        return mistake
    backbone, head = (nn.Linear(1, 1, bias=False) for _ in range(2))
    for layer, weight in ((backbone, 2.0), (head, 3.0)):
        nn.init.constant_(layer.weight, weight)
        layer.weight.grad = torch.ones(1, 1)  # from the step before
    both = [backbone.weight, head.weight]
    opt = torch.optim.SGD(both, lr=0.125)
    x, y = torch.ones(1, 1), torch.full((1, 1), 10.0)
    loss = function(backbone, head, opt, x, y)
    if head.weight.grad is None:
        return (
            "head.weight.grad is None: is its output cut off, or is its "
            "gradient cleared too late?"
        )
    if head.weight.grad.item() == 1.0:
        return (
            "the head has only its old gradient: does loss.backward() "
            "reach it, or is its output cut off?"
        )
    if head.weight.grad.item() == -15.0:
        return (
            "the head's old gradient was added to the new one: clear it "
            "before backward."
        )
    if mistake := misspelled(backbone, both):
        return mistake
    if backbone.weight.item() != 2.0 and backbone.weight.requires_grad:
        return "the backbone moved: it is not frozen any more."
    if backbone.weight.item() != 2.0:
        return (
            "the backbone moved: its .grad is not None. What clears it "
            "before opt.step()?"
        )
    if backbone.weight.grad is not None:
        return (
            "the backbone's .grad is zero and not None: momentum or weight "
            "decay would still move it."
        )
    if head.weight.grad.item() != -16.0 or head.weight.item() != 5.0:
        return "the head learns something else than the squared gap."
    if loss is None:
        return "train_step returns nothing: the log needs the loss."
    if isinstance(loss, torch.Tensor) and loss.requires_grad:
        return (
            "the loss that is returned holds the graph of its step: return "
            "a number."
        )
    if float(loss) != 16.0:
        return "what is returned is not the loss, 16 here."
    return CORRECT


EXERCISES: dict[str, Exercise] = {
    "clinic-line": Exercise(
        4,
        "easy",
        _look_at_line,
        ".data cuts gap off from pred",
    ),
    "clinic-step": Exercise(
        9,
        "medium",
        _look_at_step,
        "the head learns, the backbone stays, and the log holds a number",
        _given_step,
    ),
}
