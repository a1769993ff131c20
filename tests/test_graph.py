"""draw_graph: the autograd graph behind tensors.  One kind of thing a test."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from helpers import draw_graph


def boxes(picture):
    """Count the boxes of a picture: all round rectangles but the card."""
    return len(re.findall(r"<rect", picture.svg)) - 1


def test_operations_stand_in_forward_order(golden, unchanged):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x.exp()
    z = y.sin().sum()
    with unchanged():
        picture = draw_graph(z)
    golden(picture)


def test_a_gradient_stands_in_the_box(golden, unchanged):
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    loss = (w * 3).sum()
    loss.backward()
    with unchanged():
        picture = draw_graph(loss)
    golden(picture)


def test_a_large_gradient_shows_its_norm(unchanged):
    w = torch.ones(100, requires_grad=True)
    loss = w.sum()
    loss.backward()
    with unchanged():
        picture = draw_graph(loss)
    assert ".grad norm 10.0" in picture.text


def test_constants_are_drawn_when_they_were_saved(golden, unchanged):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    c = torch.tensor([3.0, 4.0])
    y = x * c * 5
    with unchanged():
        picture = draw_graph(y)
    golden(picture)


def test_a_detached_twin_is_not_taken_for_its_source(golden, unchanged):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * x
    z = (y.detach() * x).sum()
    with unchanged():
        picture = draw_graph(z, y)
    golden(picture)


def test_saved_tensors_on_demand(golden, unchanged):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x.exp() * x
    with unchanged():
        picture = draw_graph(y, saved=True)
    golden(picture)


def test_saved_tensors_are_told_only_on_demand(unchanged):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x.exp()
    with unchanged():
        picture = draw_graph(y)
    assert "saved" not in picture.text + picture.svg


def test_a_tensor_may_be_called_saved(unchanged):
    x = torch.ones(1, requires_grad=True)
    with unchanged():
        picture = draw_graph(saved=x * 2)
    assert picture.text.startswith("graph of saved\n")


def test_users_pack_hooks_are_not_called(unchanged):
    calls = []
    x = torch.ones(2, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(
        lambda t: t, lambda t: (calls.append(t), t)[1]
    ):
        y = x * x
    with unchanged():
        picture = draw_graph(y, saved=True)
    assert calls == []
    assert "saved self: behind a hook of yours" in picture.text


def test_a_checkpoint_is_not_run_again(unchanged):
    runs = []

    def block(t):
        runs.append(1)
        return t.sin() * t

    x = torch.ones(2, requires_grad=True)
    y = checkpoint(block, x, use_reentrant=False)
    with unchanged():
        draw_graph(y, saved=True)
    assert len(runs) == 1


def test_retain_grad_shows_in_the_box(golden, unchanged):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    y.retain_grad()
    loss = y.sum()
    loss.backward()
    with unchanged():
        picture = draw_graph(loss)
    golden(picture)


def test_frozen_leaves_have_a_snowflake(golden, unchanged):
    w = nn.Parameter(torch.tensor([2.0]), requires_grad=False)
    x = torch.tensor([3.0], requires_grad=True)
    y = w * x
    with unchanged():
        picture = draw_graph(y)
    assert "frozen leaf" in picture.text
    golden(picture)


def test_views_are_operations(golden, unchanged):
    x = torch.arange(4.0).requires_grad_()
    v = x.view(2, 2)
    s = v[0]
    with unchanged():
        picture = draw_graph(s)
    golden(picture)


def test_a_write_into_a_part_is_copy_slices(golden, unchanged):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    y[0] = 7.0
    with unchanged():
        picture = draw_graph(y)
    golden(picture)


def test_a_custom_function_is_one_box(golden, unchanged):
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            return 2 * ctx.saved_tensors[0] * g

    x = torch.tensor([3.0], requires_grad=True)
    y = Square.apply(x)
    with unchanged():
        picture = draw_graph(y)
    golden(picture)


def test_several_roots(golden, unchanged):
    x = torch.tensor([1.0], requires_grad=True)
    w = torch.tensor([2.0], requires_grad=True)
    first, second = x.sin(), w.cos()
    with unchanged():
        picture = draw_graph(first, second)
    golden(picture)


def test_roots_in_dicts_and_lists(unchanged):
    x = torch.tensor([1.0], requires_grad=True)
    losses = {"a": x.sin(), "b": [x.cos()]}
    with unchanged():
        picture = draw_graph(losses)
    assert "losses['a'] and losses['b'][0]" in picture.text.splitlines()[0]


def test_the_graph_of_a_gradient(golden, unchanged):
    w = torch.tensor([1.0, 1.0], requires_grad=True)
    y = (w**3).sum()
    (g,) = torch.autograd.grad(y, w, create_graph=True)
    z = g.pow(2).sum()
    with unchanged():
        picture = draw_graph(y, z)
    golden(picture)


def test_a_freed_graph_is_drawn(golden, unchanged):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    loss = (x.sin() * x).sum()
    loss.backward()
    with unchanged():
        picture = draw_graph(loss, saved=True)
    golden(picture)


def test_a_root_without_history_says_so(golden, unchanged):
    z = torch.tensor([1.0, 2.0], requires_grad=True).detach()
    with unchanged():
        picture = draw_graph(z)
    golden(picture)


def test_5000_operations_are_one_box(golden, unchanged):
    x = torch.ones(1, requires_grad=True)
    y = x
    for _ in range(5000):
        y = y.sin()
    with unchanged():
        picture = draw_graph(y)
    assert boxes(picture) == 3
    golden(picture)


def test_a_very_long_chain_is_read_in_part_and_freed_without_a_crash():
    code = (
        "import torch; from helpers import draw_graph\n"
        "y = torch.ones(1, requires_grad=True)\n"
        "for _ in range(100_000): y = y.sin()\n"
        "print(draw_graph(y)); del y"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "Only the 10,000 operations nearest to the result" in done.stdout
    assert "reaches no leaf" not in done.stdout


def test_100_uses_of_one_weight_are_one_edge(golden, unchanged):
    w = torch.eye(2, requires_grad=True)
    h = torch.ones(1, 2)
    for _ in range(100):
        h = (h @ w).tanh()
    with unchanged():
        picture = draw_graph(h)
    golden(picture)


def test_a_weight_of_many_different_uses_gets_stubs(unchanged):
    w = torch.ones(2, requires_grad=True)
    uses = [w.sin(), w.cos(), w.exp(), w.tanh(), w.abs(), w.sqrt()]
    loss = torch.stack(uses).sum()
    with unchanged():
        picture = draw_graph(loss)
    assert picture.svg.count("(again)") == 5


def test_no_more_than_300_boxes(unchanged):
    x = torch.ones(2, requires_grad=True)
    y = x
    kinds = [torch.sin, torch.cos, torch.exp, torch.tanh, torch.abs]
    for i in range(2000):
        y = kinds[(i * i) % 7 % 5](y) if i % 3 else y * y
    with unchanged():
        picture = draw_graph(y)
    assert 3 < boxes(picture) <= 300
    assert "folded into" in picture.text


def test_a_module_groups_its_boxes(golden, unchanged):
    net = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 1))
    for p in net.parameters():
        nn.init.constant_(p, 0.5)
    loss = net(torch.ones(1, 2)).sum()
    with unchanged():
        picture = draw_graph(loss, net)
    assert "net.0: Linear, 6 parameters, trainable" in picture.svg
    golden(picture)


def test_without_arguments_all_graphs_of_the_caller(unchanged):
    x = torch.ones(1, requires_grad=True)
    y = x * 2
    with unchanged():
        picture = draw_graph()
    assert y.requires_grad
    assert "A gradient of y reaches x." in picture.text


def test_a_wide_graph_runs_downward(unchanged):
    y = torch.ones(1, requires_grad=True)
    for name in ("sin", "cos", "exp", "tanh", "abs", "sqrt", "neg") * 2:
        y = getattr(y, name)()
    with unchanged():
        picture = draw_graph(y)
    width, height = re.search(
        r'viewBox="0 0 (\d+) (\d+)"', picture.svg
    ).groups()
    assert int(width) < int(height)


def test_a_split_has_several_results(golden, unchanged):
    x = torch.arange(4.0).requires_grad_()
    first, second = x.split(2)
    y = first * second
    with unchanged():
        picture = draw_graph(y)
    golden(picture)


@pytest.mark.parametrize("mode", ["grad", "no_grad", "inference"])
def test_the_grad_mode_stays_as_it_is(mode, unchanged):
    x = torch.ones(1, requires_grad=True)
    y = x * 2
    context = {
        "grad": torch.enable_grad,
        "no_grad": torch.no_grad,
        "inference": torch.inference_mode,
    }[mode]
    with context(), unchanged():
        picture = draw_graph(y)
    assert "A gradient of y reaches x." in picture.text


def test_a_source_outside_of_the_graph_is_drawn_beside_its_twin():
    x = torch.arange(4.0, requires_grad=True)
    y = x * x
    u = y.detach()
    loss = (u * x).sum()
    assert "on the storage of y, cut from its history" in draw_graph(loss).text
    assert "y" in draw_graph(loss, u=u, y=y).alt


def test_a_view_is_not_cut_from_its_leaf():
    v = torch.arange(4.0, requires_grad=True).view(2, 2)
    assert "cut" not in draw_graph(v).text


def test_leaves_without_a_name_are_counted():
    a = torch.ones(2, requires_grad=True) * 2
    b = a * torch.ones(2, requires_grad=True)
    assert draw_graph(a).text.endswith("a reaches a leaf without a name.")
    assert draw_graph(b).text.endswith("b reaches 2 leaves without a name.")
