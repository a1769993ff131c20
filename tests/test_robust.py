"""What may stand beside the tensors, and what torch refuses to tell."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
import warnings

import numpy as np
import pytest
import torch
from torch import nn

from helpers import draw_graph, draw_memory, facts

EVERY = pytest.mark.parametrize(
    "draw", [draw_memory, draw_graph, facts], ids=lambda f: f.__name__
)


def boom(*args):
    raise RuntimeError("no")


@dataclasses.dataclass
class RudeField:
    x: int = 0
    __getattribute__ = boom


class RudeClass:
    __class__ = property(boom)


class RudeDict(dict):
    items = __iter__ = boom


class RudeList(list):
    __iter__ = boom


class RudeKey:
    __repr__ = __str__ = boom


class RudeText(str):
    __format__ = __str__ = boom


class HalfMade(nn.Module):
    def __init__(self):
        pass


def module_cycle():
    a, b = nn.Linear(1, 1), nn.Linear(1, 1)
    a.b, b.a = b, a
    return a


POISON = {
    "field": RudeField(),
    "class": RudeClass(),
    "dict": RudeDict(a=1),
    "list": RudeList([1]),
    "key": {RudeKey(): 1},
    "text": {RudeText("a"): 1},
    "module": HalfMade(),
    "cycle": module_cycle(),
    "long list": list(range(10**6)),
    "callable": type("Rude", (), {"__getattr__": boom, "__call__": boom})(),
}


@EVERY
@pytest.mark.parametrize("kind", POISON)
def test_a_variable_that_is_not_ours_to_read_does_no_harm(draw, kind):
    poison = POISON[kind]
    x = torch.ones(2)
    assert "float32" in draw(x).text
    assert poison is POISON[kind]


@EVERY
@pytest.mark.parametrize("kind", ["field", "class", "key", "callable"])
def test_given_such_a_thing_one_sentence_comes(draw, kind):
    with pytest.raises(TypeError, match=f"^{draw.__name__} ") as error:
        draw(POISON[kind])
    assert "\n" not in str(error.value)


def test_the_repr_of_a_foreign_thing_is_not_asked_for():
    with pytest.raises(TypeError, match="was given UntypedStorage, which"):
        draw_memory(torch.ones(10**7).untyped_storage())


# -- autograd


def test_an_exponent_that_is_a_tensor(unchanged):
    x = torch.tensor([2.0], requires_grad=True)
    p = torch.tensor(3.0)
    y = x**p
    y.sum().backward()
    with unchanged():
        picture = draw_graph(y)
    assert "#1 pow [PowBackward1] of x" in picture.text


@pytest.mark.parametrize("kind", ["pow", "index", "custom"])
def test_no_hook_of_the_users_is_called(kind):
    class Keeps(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(None, x)
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return g

    x = torch.ones(2, 2, requires_grad=True)
    calls = []
    with torch.autograd.graph.saved_tensors_hooks(
        lambda t: t, lambda t: (calls.append(1), t)[1]
    ):
        y = {
            "pow": lambda: x ** torch.tensor(2.0),
            "index": lambda: x[:, torch.tensor([0])],
            "custom": lambda: Keeps.apply(x),
        }[kind]()
    draw_graph(y)
    draw_graph(y, saved=True)
    assert calls == []


def test_a_changed_index_is_not_taken_for_a_freed_graph():
    x = torch.ones(2, 2, requires_grad=True)
    index = torch.tensor([0])
    y = x[:, index]
    index.add_(0)
    assert "freed" not in draw_graph(y).text


def test_a_custom_function_may_use_any_attribute():
    class Named(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.variable = 3
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return g

    x = torch.ones(1, requires_grad=True)
    assert "custom Function" in draw_graph(Named.apply(x)).text


@EVERY
def test_a_view_that_torch_refuses_to_explain(draw):
    base = torch.ones(2, requires_grad=True) * 1
    first, second = base.unbind(0)
    base.mul_(2)
    assert "first" in draw(first, second, base).text


def test_two_tensors_of_one_node_are_both_results():
    x = torch.ones(1, requires_grad=True)
    y = x.exp()
    same = y.grad_fn._saved_result
    assert "A gradient of y and same reaches x." in draw_graph(y, same).text


def test_another_part_of_a_constant_is_not_taken_for_it():
    whole = torch.arange(4.0)
    every_second = whole[::2]
    w = torch.ones(2, requires_grad=True)
    text = draw_graph(w * whole[:2]).text
    assert "every_second" not in text
    assert "= [0.0, 1.0]" in text
    assert every_second.numel() == 2


def test_an_output_that_was_saved_is_no_input():
    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, k):
            out = x * k
            ctx.save_for_backward(out)
            return out

        @staticmethod
        def backward(ctx, g):
            return g, None

    x = torch.ones(2, requires_grad=True)
    out = Scale.apply(x, torch.tensor(5.0))
    text = draw_graph(out).text
    assert "constant" not in text
    assert "of x -> out" in text


def test_a_frozen_batchnorm_shows_its_weight():
    norm = nn.BatchNorm1d(2).requires_grad_(False)
    x = torch.ones(3, 2, requires_grad=True)
    text = draw_graph(norm(x)).text
    assert "norm.weight: frozen leaf" in text
    assert "running" not in text


def test_unnamed_leaves_are_told_apart():
    def leaf():
        return torch.ones(1, requires_grad=True)

    text = draw_graph(leaf() * leaf()).text
    assert "mul [MulBackward0] of (unnamed 1), (unnamed 2)" in text


@pytest.mark.parametrize("way", ["earlier name", "keyword"])
def test_a_module_groups_whatever_else_its_parts_are_called(way):
    layer = nn.Linear(2, 2)
    net = nn.Sequential(layer)
    y = net(torch.ones(1, 2))
    svg = {
        "earlier name": lambda: draw_graph(y, net),
        "keyword": lambda: draw_graph(y, net=net),
    }[way]().svg
    assert "net.0: Linear, 6 parameters, trainable" in svg


def test_a_subclass_of_parameter_is_a_parameter():
    class Special(nn.Parameter):
        pass

    w = Special(torch.ones(1), requires_grad=False)
    assert "frozen leaf" in draw_memory(w).text


def test_many_results_of_one_chain():
    y = torch.ones(1, requires_grad=True)
    results = []
    for _ in range(400):
        y = y.sin()
        results.append(y)
    text = draw_graph(results).text
    assert "300 operations, folded into 1 box." in text
    assert "100 more are not shown." in text
    assert "and 281 more reaches" in text


# -- memory


def test_a_part_of_an_array_shows_the_whole_memory():
    array = np.arange(4)
    part = torch.from_numpy(array[2:])
    assert "int64: 0 1 2 3" in draw_memory(part, array).text


def test_an_array_with_gaps_shows_the_cells_between():
    x = torch.arange(6.0).view(2, 3)
    n = x[:, ::2].numpy()
    assert "float32: 0.0 1.0 2.0 3.0 4.0 5.0" in draw_memory(n, x).text


def test_a_reversed_array_shows_the_order_of_memory():
    backwards = np.arange(4.0)[::-1]
    text = draw_memory(backwards).text
    assert "float64: 0.0 1.0 2.0 3.0" in text
    assert "offset 3, stride (-1,)" in text


def test_an_array_off_the_grid_says_so():
    odd = np.arange(16, dtype="u1")[1:9].view("f4")
    assert "do not lie on whole cells" in draw_memory(odd).text


def test_cells_of_objects_show_no_address():
    things = np.array([object()], dtype=object)
    assert "object: object" in draw_memory(things).text


def test_a_large_window_that_overlaps_has_no_false_index():
    big = torch.arange(6000.0)
    sliding = big.unfold(0, 3, 1)
    svg = draw_memory(big, sliding).svg
    assert "1,0" not in svg


def test_long_values_are_cut():
    long = np.array(["x" * 1000])
    assert len(draw_memory(long).svg) < 20_000


def test_an_uninitialized_parameter():
    lazy = nn.LazyLinear(3)
    assert "uninitialized: it gets its shape" in draw_memory(lazy).text


@EVERY
def test_a_fake_tensor(draw):
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        fake = torch.ones(2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "fake: it has a shape and no data" in draw(fake).text


def test_a_subclass_that_raises_everywhere():
    class Rude(torch.Tensor):
        tolist = stride = data_ptr = storage_offset = untyped_storage = boom
        shape = grad_fn = is_leaf = dtype = property(boom)

    rude = torch.ones(2).as_subclass(Rude)
    assert "rude: Rude float32 [2]" in draw_memory(rude).text


@EVERY
def test_a_users_dispatch_mode_sees_nothing(draw):
    from torch.utils._python_dispatch import TorchDispatchMode

    calls = []

    class Spy(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            calls.append(func)
            return func(*args, **(kwargs or {}))

    x = torch.ones(2, requires_grad=True)
    (x * 2).sum().backward()
    with Spy():
        draw(x)
    assert calls == []


def test_a_huge_gradient_is_not_read():
    w = torch.ones(1).expand(200_000_000).requires_grad_()
    w.grad = torch.ones(1).expand(200_000_000)
    assert ".grad float32 [200000000]" in draw_graph(w).text


def test_of_a_large_gradient_the_norm_is_told():
    w = torch.ones(1_000_000, requires_grad=True)
    w.sum().backward()
    assert ".grad norm 1000" in draw_graph(w).text


# -- names


def test_an_empty_name():
    x = torch.ones(1)
    assert ": Tensor float32 [1]" in draw_memory(**{"": x}).text


def test_a_name_that_ends_in_a_space():
    x = torch.ones(1)
    assert facts(**{"trail ": x}).text.splitlines()[0].endswith("trail ")


def test_the_alt_text_can_be_encoded():
    x = torch.ones(1)
    assert draw_memory(**{"\ud800": x}).alt.encode()


@pytest.mark.skipif(
    sys.version_info >= (3, 13), reason="exec leaves no name in a function"
)
def test_a_name_that_exec_made_stays():
    x = torch.ones(1)
    exec("q = 5")
    draw_memory(x)
    assert "q" in locals()


def test_warnings_of_the_callers_source_are_not_given_again(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import torch\nfrom helpers import draw_memory\n"
        "p = '\\d'\nx = torch.ones(2)\nprint(draw_memory(x.view(2, 1)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "always", script],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert done.stderr.count("invalid escape") == 1
    assert "x.view(2, 1): Tensor" in done.stdout
