"""The claims of the two texts, each with the program that tries it.

No verdict is written down here: ``helpers/trial.py`` runs the programs and
computes it.  ``D1`` is the text on the x·w program, clone and freezing,
``D2`` the one on detach as a constant, two networks, views and weights.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

__all__ = ["CLAIMS", "Claim"]


@dataclass(frozen=True)
class Claim:
    """A sentence of a text, and the small program that tries it.

    ``text`` is the claim in our words.  ``parts`` says in a few words what it
    says, each with a Python expression that is evaluated after ``program``
    (``torch`` and ``nn`` are there, ``error`` is what the program raised, as
    text).  ``raises`` is how that error begins, "" where none may come.
    ``shown`` are expressions that hold where the explanation does, ``picture``
    is one that gives a Diagram (``recording`` is the recorded program), and
    ``lesson`` the notebook that teaches it.

    >>> CLAIMS["D2.17"].parts
    (('z requires a gradient', 'z.requires_grad'),)
    """

    id: str
    text: str
    program: str
    parts: tuple[tuple[str, str], ...]
    explanation: str
    lesson: str
    picture: str = ""
    raises: str = ""
    shown: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        program = textwrap.dedent(self.program).strip()
        object.__setattr__(self, "program", program)


_FIRST = (
    Claim(
        "D1.1",
        "`detach()` gives a tensor of the same shape, dtype and device, which "
        "shares the data.",
        """
        a = torch.tensor([1.0, 2.0], requires_grad=True)
        d = a.detach()
        d[0] = 5.0
        """,
        (
            (
                "same shape, dtype and device",
                "(d.shape, d.dtype, d.device) == (a.shape, a.dtype, a.device)",
            ),
            ("a write through `d` shows in `a`", "a[0].item() == 5.0"),
        ),
        "Both look at one storage, so both read 5 after the write.",
        "03_clone_or_detach",
        "draw_memory(a, d)",
        shown=("a[0] == 5 and d[0] == 5",),
    ),
    Claim(
        "D1.2",
        "The detached tensor is the original one, only without gradients.",
        """
        a = torch.tensor([1.0, 2.0], requires_grad=True)
        d = a.detach()
        d[0] = 5.0
        """,
        (
            ("`d` has the data of `a`", "a[0].item() == 5.0"),
            ("`d` does not require grad", "not d.requires_grad"),
            ("`d` is the object `a`", "d is a"),
        ),
        "It is a new object with a flag of its own. It shares the storage and "
        "the version counter: one write, and both are at version 1.",
        "03_clone_or_detach",
        "draw_memory(a, d)",
        shown=("a._version == d._version == 1", "a.requires_grad"),
    ),
    Claim(
        "D1.3",
        "`clone()` gives a tensor of the same shape, dtype and device, which "
        "shares no data, and gradients flow back through it.",
        """
        a = torch.tensor([1.0, 2.0], requires_grad=True)
        c = a.clone()
        (c * 3).sum().backward()
        with torch.no_grad():
            c[0] = 5.0
        """,
        (
            (
                "same shape, dtype and device",
                "(c.shape, c.dtype, c.device) == (a.shape, a.dtype, a.device)",
            ),
            ("a write into `c` does not show in `a`", "a[0].item() == 1.0"),
            ("`a` gets the gradient 3", "a.grad.tolist() == [3.0, 3.0]"),
        ),
        "The clone has a storage of its own, and its `grad_fn` is "
        "CloneBackward0.",
        "03_clone_or_detach",
        "draw_memory(a, c)",
        shown=(
            "a.clone().grad_fn.name() == 'CloneBackward0'",
            "a.data_ptr() != c.data_ptr()",
        ),
    ),
    Claim(
        "D1.4",
        "`a.clone().detach()` prints as a plain tensor.",
        """
        a = torch.tensor(1.0, requires_grad=True)
        b = a.clone().detach()
        """,
        (
            ("it prints as `tensor(1.)`", "str(b) == 'tensor(1.)'"),
            ("it has no history", "b.grad_fn is None and b.is_leaf"),
        ),
        "It has no `grad_fn`, does not require grad, and has a storage of its "
        "own.",
        "03_clone_or_detach",
        "draw_memory(a, b)",
        shown=("not b.requires_grad", "a.data_ptr() != b.data_ptr()"),
    ),
    Claim(
        "D1.5",
        "After a detach no gradient can be had through this tensor, whatever "
        "is computed from it later.",
        """
        x = torch.tensor([2.0], requires_grad=True)
        d = (3 * x).detach()
        d.requires_grad_()
        loss = (d * d).sum()
        loss.backward()
        """,
        (
            ("`x`, before the detach, gets none", "x.grad is None"),
            ("`d` itself gets none either", "d.grad is None"),
        ),
        "Nothing reaches `x`. But `d` can be made a leaf of a new graph, and "
        "then it has a gradient of its own: 12.",
        "04_hold_a_value_constant",
        "recording.draw_graph()",
        shown=("d.is_leaf and d.grad.item() == 12",),
    ),
    Claim(
        "D1.6",
        "`requires_grad_(False)` changes the tensor in place.",
        """
        w = torch.tensor([1.0], requires_grad=True)
        y = 2 * w
        same = w.requires_grad_(False)
        y.requires_grad_(False)  # y is no leaf
        """,
        (
            ("no new tensor is made", "same is w"),
            ("the flag of `w` is now False", "not w.requires_grad"),
        ),
        "This holds for a leaf. A computed tensor refuses: its flag can't be "
        "switched off.",
        "06_freeze_w",
        raises="RuntimeError: you can only change requires_grad flags of leaf",
        shown=("y.requires_grad",),
    ),
    Claim(
        "D1.7",
        "`requires_grad_(False)` clears the gradient that the tensor had.",
        """
        w = torch.tensor([10.0], requires_grad=True)
        opt = torch.optim.SGD([w], lr=1.0)
        (3 * w).sum().backward()
        w.requires_grad_(False)
        opt.step()
        """,
        (
            ("the gradient is gone", "w.grad is None"),
            ("so the next step leaves `w` at 10", "w.item() == 10.0"),
        ),
        "The gradient 3 stays, and the optimizer moves the frozen weight with "
        "it: from 10 to 7.",
        "06_freeze_w",
        "draw_memory(w)",
        shown=("w.grad.item() == 3 and w.item() == 7",),
    ),
    Claim(
        "D1.8",
        "`detach()` spares computation and memory for results that need no "
        "gradient.",
        """
        x = torch.zeros(2, requires_grad=True)
        y = x.exp()
        z = y.detach().sigmoid()
        with torch.no_grad():
            n = x.exp().sigmoid()
        """,
        (
            ("the sigmoid after it is not recorded", "z.grad_fn is None"),
            ("the exp before it is not recorded either", "y.grad_fn is None"),
        ),
        "What comes before the detach was recorded already, and the exp keeps "
        "its result for backward. Under `no_grad()` neither is recorded.",
        "09_switch_recording_off",
        "recording.draw_graph()",
        shown=("torch.equal(y.grad_fn._saved_result, y)", "n.grad_fn is None"),
    ),
    Claim(
        "D1.9",
        "Use `detach()` to change a tensor without any influence on the "
        "gradients of what was computed before.",
        """
        x = torch.zeros(2, requires_grad=True)
        y = x.exp()
        y.data[0] = 5.0  # past the version counter
        y.sum().backward()
        y = x.exp()
        y.detach()[0] = 5.0
        y.sum().backward()
        """,
        (
            ("`y` keeps its number 1", "y[0].item() == 1.0"),
            ("backward works as before", "not error"),
        ),
        "`detach()` makes no copy: the write changes `y`, which exp needs in "
        "backward. Through `.data` nobody notices, and the gradient is "
        "silently 5 instead of 1. `y.detach().clone()` is right.",
        "08_write_in_place",
        "draw_memory(y, detached=y.detach())",
        raises="RuntimeError: one of the variables needed for gradient "
        "computation has been modified by an inplace operation",
        shown=(
            "x.grad.tolist() == [5.0, 1.0]",
            "y[0] == 5",
            "y.detach().clone().data_ptr() != y.data_ptr()",
        ),
    ),
    Claim(
        "D1.10",
        "To fine-tune a pretrained model, set `requires_grad = False` on the "
        "parameters that are to stay.",
        """
        body = nn.Linear(1, 1, bias=False)
        head = nn.Linear(1, 1, bias=False)
        nn.init.constant_(body.weight, 2.0)
        nn.init.constant_(head.weight, 3.0)
        body.weight.requires_grad = False
        opt = torch.optim.SGD([body.weight, head.weight], lr=1.0)
        head(body(torch.ones(1, 1))).sum().backward()
        opt.step()
        """,
        (
            ("the body gets no gradient", "body.weight.grad is None"),
            ("the body stays at 2", "body.weight.item() == 2.0"),
            ("the head learns: 3 becomes 1", "head.weight.item() == 1.0"),
        ),
        "A weight that was loaded has no gradient yet, so the flag is enough. "
        "(An old gradient would still move it: see D1.7. And BatchNorm has "
        "statistics that are no parameters.)",
        "06_freeze_w",
        shown=(
            "'running_mean' not in dict(nn.BatchNorm1d(1).named_parameters())",
        ),
    ),
    Claim(
        "D1.11",
        "`torch.matmul(x, w)` of two 3×3 tensors is their dot product.",
        """
        x = torch.arange(9.0).reshape(3, 3)
        w = torch.ones(3, 3)
        y = torch.matmul(x, w)
        dot = torch.dot(x.flatten(), w.flatten())
        """,
        (
            (
                "each entry is a dot product, of a row and a column",
                "y[1, 2] == torch.dot(x[1], w[:, 2])",
            ),
            (
                "the whole is one number, their dot product",
                "torch.equal(y, dot)",
            ),
        ),
        "It is the matrix product: nine numbers, each a dot product of a row "
        "and a column. One dot product of all nine pairs would be 36.",
        "05_run_the_xw_demo",
        shown=("y.numel() == 9", "dot.item() == 36"),
    ),
    Claim(
        "D1.12",
        "`y.detach().sigmoid()`, its mean, then `backward()`: this gives the "
        "gradients of `x` and `w`.",
        """
        x = torch.ones(3, 3, requires_grad=True)
        w = torch.zeros(3, 3, requires_grad=True)
        y = torch.matmul(x, w)
        z = y.detach().sigmoid()
        loss = z.mean()
        loss.backward()
        """,
        (
            ("backward runs", "not error"),
            ("`x` gets a gradient", "x.grad is not None"),
            ("`w` gets a gradient", "w.grad is not None"),
        ),
        "The detach stands on the only path from the loss back to `x` and "
        "`w`, so backward raises.",
        "05_run_the_xw_demo",
        "recording.draw_graph()",
        raises="RuntimeError: element 0 of tensors does not require grad and "
        "does not have a grad_fn",
        shown=("loss.grad_fn is None",),
    ),
    Claim(
        "D1.13",
        "After that, `x.grad.zero_()` sets the gradient of `x` to zero.",
        """
        x = torch.ones(3, 3, requires_grad=True)
        w = torch.zeros(3, 3, requires_grad=True)
        loss = torch.matmul(x, w).detach().sigmoid().mean()
        # loss.backward(), as in D1.12
        x.grad.zero_()
        """,
        (
            ("`x` has a gradient", "x.grad is not None"),
            ("`zero_()` can be called on it", "not error"),
        ),
        "`x.grad` is None, and None has no `zero_()`.",
        "05_run_the_xw_demo",
        raises="AttributeError: 'NoneType' object has no attribute 'zero_'",
        shown=("x.grad is None",),
    ),
    Claim(
        "D1.14",
        "After `w` was frozen, the gradient of `w` is still zero.",
        """
        w = torch.full((3, 3), 3.0, requires_grad=True)
        v = torch.full((3, 3), 3.0, requires_grad=True)
        v.sum().backward()  # v has an old gradient, w none
        w.requires_grad_(False)
        v.requires_grad_(False)
        x2 = torch.ones(3, 3, requires_grad=True)
        torch.matmul(x2, w + v).mean().backward()
        """,
        (
            (
                "`w`, without a backward before, has zeros",
                "w.grad is not None and not w.grad.any()",
            ),
            (
                "`v`, with a backward before, has zeros",
                "v.grad is not None and not v.grad.any()",
            ),
        ),
        "`w.grad` is None. Had a backward run before, it would be the old "
        "gradient, here ones.",
        "05_run_the_xw_demo",
        "draw_memory(w, v)",
        shown=("w.grad is None", "torch.equal(v.grad, torch.ones(3, 3))"),
    ),
    Claim(
        "D1.15",
        "After `w` was frozen, only `x2` gets a gradient from the second "
        "loss.",
        """
        w = torch.full((3, 3), 3.0, requires_grad=True)
        w.requires_grad_(False)
        x2 = torch.ones(3, 3, requires_grad=True)
        y2 = torch.matmul(x2, w)
        loss2 = y2.mean()
        loss2.backward()
        """,
        (
            ("`x2` gets a gradient", "x2.grad is not None"),
            ("`w` gets none", "w.grad is None"),
        ),
        "The gradient flows through the product to `x2`; the frozen `w` is a "
        "constant in it.",
        "05_run_the_xw_demo",
        "recording.draw_graph()",
        shown=("torch.equal(x2.grad, torch.ones(3, 3))",),
    ),
)

_SECOND = (
    Claim(
        "D2.1",
        "`detach_()` changes the tensor itself: its grad_fn becomes None, and "
        "it becomes a leaf.",
        """
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        m = x * 3
        same = m.detach_()
        view = (x * 3)[:1]
        view.detach_()  # a view refuses
        """,
        (
            ("no new tensor is made", "same is m"),
            ("its grad_fn is None", "m.grad_fn is None"),
            ("it is a leaf", "m.is_leaf"),
        ),
        "This holds for a tensor that is no view. A view can't be detached in "
        "place.",
        "08_write_in_place",
        raises="RuntimeError: Can't detach views in-place.",
        shown=("view.grad_fn is not None",),
    ),
    Claim(
        "D2.2",
        "A tensor that was created directly has no grad_fn; the result of an "
        "addition has one.",
        """
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        y = x + 2
        """,
        (
            ("`x` has no grad_fn", "x.grad_fn is None"),
            ("`y` has one", "y.grad_fn is not None"),
        ),
        "`x` is a leaf. `y` knows the addition that made it: AddBackward0.",
        "02_follow_the_graph",
        "draw_graph(y)",
        shown=("x.is_leaf", "y.grad_fn.name() == 'AddBackward0'"),
    ),
    Claim(
        "D2.3",
        "`x.requires_grad_(True)` after `arange(4.0)` is the same as "
        "`arange(4.0, requires_grad=True)`.",
        """
        x = torch.arange(4.0)
        x.requires_grad_(True)
        y = torch.arange(4.0, requires_grad=True)
        torch.arange(4).requires_grad_(True)  # integers refuse
        """,
        (
            ("same numbers", "torch.equal(x, y)"),
            ("both require a gradient", "x.requires_grad and y.requires_grad"),
            ("both are leaves", "x.is_leaf and y.is_leaf"),
        ),
        "Both ways want floating point: whole numbers can't require a "
        "gradient.",
        "02_follow_the_graph",
        "facts(x, y)",
        raises="RuntimeError: only Tensors of floating point dtype can "
        "require gradients",
    ),
    Claim(
        "D2.4",
        "With `u = y.detach()` and `z = u * x`, the backward of `z.sum()` "
        "treats `u` as a constant.",
        """
        x = torch.arange(4.0, requires_grad=True)
        y = x * x
        u = y.detach()
        z = u * x
        loss = z.sum()
        loss.backward()
        """,
        (
            ("the gradient of `x` is `u`", "torch.equal(x.grad, u)"),
            (
                "with `y` in place of `u` it is another one",
                "not torch.equal(torch.autograd.grad((y * x).sum(), x)[0], u)",
            ),
        ),
        "With the detach, `x.grad` is `u`, so x². Without it, `z` is x³, and "
        "the gradient is 3x².",
        "04_hold_a_value_constant",
        "recording.draw_graph()",
        shown=(
            "torch.equal(u, x**2)",
            "torch.equal(torch.autograd.grad((x * x * x).sum(), x)[0], 3*x*x)",
        ),
    ),
    Claim(
        "D2.5",
        "One sums first, because in deep learning vectors are not "
        "differentiated.",
        """
        x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
        (x * x).sum().backward()
        of_the_sum, x.grad = x.grad, None
        (x * x).backward(torch.ones(3))
        (x * x).backward()
        """,
        (
            ("backward() on a vector raises", "bool(error)"),
            (
                "without a sum there is no gradient",
                "not torch.equal(x.grad, of_the_sum)",
            ),
        ),
        "With `backward(torch.ones(3))` a vector gives the same gradient, "
        "2, 4 and 6: a vector-Jacobian product, the sum weighted with ones.",
        "02_follow_the_graph",
        raises="RuntimeError: grad can be implicitly created only for scalar "
        "outputs",
        shown=("x.grad.tolist() == of_the_sum.tolist() == [2.0, 4.0, 6.0]",),
    ),
    Claim(
        "D2.6",
        "There are `torch.detach()` and `torch.item()`.",
        """
        x = torch.tensor(3.0, requires_grad=True)
        d = torch.detach(x)
        number = x.item()
        torch.item(x)
        """,
        (
            ("there is a `torch.detach`", "hasattr(torch, 'detach')"),
            ("there is a `torch.item`", "hasattr(torch, 'item')"),
        ),
        "`item` is a method of the tensor only: `x.item()` gives the plain "
        "number 3.0.",
        "09_switch_recording_off",
        raises="AttributeError: module 'torch' has no attribute 'item'",
        shown=("type(number) is float and number == 3.0",),
    ),
    Claim(
        "D2.7",
        "With `a = A(x).detach()`, then `B(a)`, backward changes B only.",
        """
        A, B = nn.Linear(1, 1, bias=False), nn.Linear(1, 1, bias=False)
        nn.init.constant_(A.weight, 2.0)
        nn.init.constant_(B.weight, 3.0)
        x = torch.ones(1, 1)
        a = A(x).detach()
        loss = B(a).sum()
        loss.backward()
        """,
        (
            ("A gets no gradient", "A.weight.grad is None"),
            ("B gets one", "B.weight.grad is not None"),
        ),
        "The gradient of B's weight is 2, the number that came from A. A's "
        "`.grad` stays None.",
        "07_split_two_networks",
        "recording.draw_graph()",
        shown=("B.weight.grad.item() == 2.0",),
    ),
    Claim(
        "D2.8",
        "A tensor that lies before the detach has the gradient None.",
        """
        x = torch.tensor([2.0], requires_grad=True)
        w = torch.tensor([5.0], requires_grad=True)
        y = x * 3
        loss = (w * y.detach()).sum()
        loss.backward()
        """,
        (("`x.grad` is None", "x.grad is None"),),
        "Backward ends at the detached tensor. `w`, which comes after it, "
        "gets its gradient: 6.",
        "07_split_two_networks",
        "recording.draw_graph()",
        shown=("w.grad.item() == 6",),
    ),
    Claim(
        "D2.9",
        "With `volatile=True` nothing is recorded, and a detached tensor "
        "takes that over.",
        """
        v = torch.autograd.Variable(torch.ones(2), volatile=True)
        d = v.detach()
        w = torch.ones(2, requires_grad=True)
        y = w * d
        """,
        (
            ("`d` is volatile", "getattr(d, 'volatile', False)"),
            ("the product with it is not recorded", "y.grad_fn is None"),
        ),
        "`volatile` was removed from torch: it warns and has no effect. "
        "`torch.no_grad()` took its place.",
        "09_switch_recording_off",
        "draw_graph(y)",
        shown=("any('volatile was removed' in w for w in warned)",),
    ),
    Claim(
        "D2.10",
        "A change in place shows in the tensor and in its detached twin.",
        """
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        y = x + 1
        d = y.detach()
        d[0] = 5.0
        y[1] = 7.0
        """,
        (
            ("a write through `d` shows in `y`", "y[0].item() == 5.0"),
            ("a write through `y` shows in `d`", "d[1].item() == 7.0"),
        ),
        "They share the storage, and the version counter that counts both "
        "writes.",
        "08_write_in_place",
        "draw_memory(y, d)",
        shown=("y._version == d._version == 2",),
    ),
    Claim(
        "D2.11",
        "A detached tensor never has a gradient, not even when its "
        "requires_grad is set to True again.",
        """
        x = torch.tensor([2.0], requires_grad=True)
        d = (x * 3).detach()
        d.requires_grad_(True)
        (d * 4).sum().backward()
        """,
        (("`d.grad` is None", "d.grad is None"),),
        "`d` is a leaf of its own now and gets its gradient, 4. `x` still "
        "gets none.",
        "04_hold_a_value_constant",
        "recording.draw_graph()",
        shown=("d.is_leaf and d.grad.item() == 4", "x.grad is None"),
    ),
    Claim(
        "D2.12",
        "A clone stays in the graph, and the gradients of both paths add up.",
        """
        x = torch.tensor([1.0], requires_grad=True)
        loss = (x * 2 + x.clone() * 3).sum()
        loss.backward()
        """,
        (
            ("the clone has a grad_fn", "x.clone().grad_fn is not None"),
            ("`x.grad` is 2 + 3", "x.grad.item() == 5.0"),
        ),
        "The gradient passes through the clone back to `x`: 5 in all.",
        "03_clone_or_detach",
        "recording.draw_graph()",
        shown=("x.grad.item() == 5.0",),
    ),
    Claim(
        "D2.13",
        "A view shares the data, and is a new tensor.",
        """
        x = torch.tensor([1.0, 2.0, 3.0, 4.0])
        v = x.view(2, 2)
        v[0, 0] = 5.0
        """,
        (
            ("a write through `v` shows in `x`", "x[0].item() == 5.0"),
            ("`v` is another object", "v is not x"),
        ),
        "There are two objects and one storage. `v._base` is `x`.",
        "01_tell_names_tensors_storages",
        "draw_memory(x, v)",
        shown=("v._base is x",),
    ),
    Claim(
        "D2.14",
        "A view has another id than the tensor, so another memory address.",
        """
        x = torch.tensor([1.0, 2.0, 3.0, 4.0])
        v = x.view(2, 2)
        part = x[1:]
        """,
        (
            ("`id()` differs", "id(v) != id(x)"),
            (
                "the address of the data differs",
                "v.data_ptr() != x.data_ptr()",
            ),
        ),
        "`id()` belongs to the Python object. The data has its own address, "
        "`data_ptr()`: the same for the view, 4 bytes later for the slice.",
        "01_tell_names_tensors_storages",
        "draw_memory(x, v, part)",
        shown=("part.data_ptr() - x.data_ptr() == 4",),
    ),
    Claim(
        "D2.15",
        "`requires_grad`, `grad_fn`, `is_leaf` and `retain_grad()` decide "
        "which tensor has a gradient.",
        """
        x = torch.tensor([2.0], requires_grad=True)
        c = torch.tensor([3.0])
        h = c * x
        k = c * x
        k.retain_grad()
        (h + k).sum().backward()
        """,
        (
            ("a leaf that requires grad has one", "x.grad is not None"),
            ("a leaf that does not has none", "c.grad is None"),
            ("a result with a grad_fn has none", "h.grad is None"),
            ("unless `retain_grad()` was called", "k.grad is not None"),
        ),
        "One thing more decides: whether recording was on while the result "
        "was computed.",
        "02_follow_the_graph",
        "facts(x, c, h, k)",
        shown=("h.grad_fn is not None and not h.is_leaf",),
    ),
    Claim(
        "D2.16",
        "`detach()` and `no_grad()` have the same effect; detach is only more "
        "to write.",
        """
        x = torch.tensor(2.0, requires_grad=True)
        y = torch.tensor(3.0, requires_grad=True)
        z = 2 * x * y
        d = z.detach()
        with torch.no_grad():
            n = 2 * x * y
        """,
        (
            ("both results are 12", "d.item() == n.item() == 12.0"),
            ("neither has a history", "d.is_leaf and n.is_leaf"),
            ("in both ways nothing is recorded", "z.grad_fn is None"),
        ),
        "`no_grad()` records none of the operations inside it. With detach "
        "they were recorded, and one edge is cut afterwards: `z` still leads "
        "back to `x` and `y`.",
        "09_switch_recording_off",
        "recording.draw_graph()",
        shown=("z.requires_grad",),
    ),
    Claim(
        "D2.17",
        "In `z = 2 * x * y`, where `x` and `y` require a gradient, `z` "
        "requires one too.",
        """
        x = torch.tensor(2.0, requires_grad=True)
        y = torch.tensor(3.0, requires_grad=True)
        z = 2 * x * y
        """,
        (("z requires a gradient", "z.requires_grad"),),
        "A result requires a gradient as soon as one of its inputs does.",
        "02_follow_the_graph",
        "draw_graph(z)",
        shown=("(2 * x).requires_grad",),
    ),
    Claim(
        "D2.18",
        "How one reaches NumPy depends on the device: with "
        "`.detach().cpu().numpy()` from a GPU, with `.detach().numpy()` on "
        "the CPU.",
        """
        w = torch.tensor([1.0, 2.0], requires_grad=True)
        array = w.detach().numpy()
        longer = w.detach().cpu().numpy()
        array[0] = 5.0
        w.numpy()  # refused without the detach
        """,
        (
            (
                "on the CPU the short form gives an array",
                "type(array).__name__ == 'ndarray'",
            ),
            (
                "the long form does not work there",
                "type(longer).__name__ != 'ndarray'",
            ),
        ),
        "On the CPU `.cpu()` returns the same data, so the long form serves "
        "both. And both arrays share memory with the weight: the write of 5 "
        "changed `w`.",
        "09_switch_recording_off",
        "draw_memory(w, array, longer)",
        raises="RuntimeError: Can't call numpy() on Tensor that requires grad",
        shown=("w[0].item() == 5.0 and longer[0] == 5.0",),
    ),
    Claim(
        "D2.19",
        "To train only a part of a network, detach.",
        """
        a, b, c = (torch.ones(1, requires_grad=True) for _ in range(3))
        ((a * b).detach() * c).backward()
        after_detach = [p.grad is not None for p in (a, b, c)]
        a, b, c = (torch.ones(1, requires_grad=True) for _ in range(3))
        b.requires_grad_(False)
        (a * b * c).backward()
        after_freeze = [p.grad is not None for p in (a, b, c)]
        """,
        (
            (
                "what lies before the detach does not train",
                "after_detach[:2] == [False, False]",
            ),
            (
                "`b` alone, in the middle, stays out, and `a` trains",
                "after_detach == [True, False, True]",
            ),
        ),
        "A detach takes the gradient from all that lies before it. To leave "
        "out the middle alone, freeze it: the gradient flows through to `a`.",
        "07_split_two_networks",
        shown=("after_freeze == [True, False, True]", "after_detach[2]"),
    ),
    Claim(
        "D2.20",
        "The weights of a Module can be set by hand.",
        """
        layer = nn.Linear(2, 1, bias=False)
        new = torch.tensor([[3.0, 4.0]])
        with torch.no_grad():
            layer.weight.copy_(new)
        out = layer(torch.ones(1, 2))
        layer.weight = new  # refused: not a Parameter
        """,
        (
            ("the weight has the new numbers", "layer.weight.equal(new)"),
            ("the layer computes with them: 3 + 4", "out.item() == 7.0"),
            ("it can still be trained", "layer.weight.requires_grad"),
        ),
        "With care: copy into the weight under `no_grad()`. An assignment is "
        "refused, and `.data` takes a tensor of any shape without a word.",
        "10_set_weights_by_hand",
        raises="TypeError: cannot assign 'torch.FloatTensor' as parameter "
        "'weight'",
        shown=(
            "setattr(layer.weight, 'data', torch.ones(3)) is None",
            "layer.weight.shape == (3,)",
        ),
    ),
)

CLAIMS: dict[str, Claim] = {claim.id: claim for claim in _FIRST + _SECOND}
