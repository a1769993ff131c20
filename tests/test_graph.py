"""draw_graph: the autograd graph behind tensors.  One kind of thing a test."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from helpers import draw_graph, flow, record, record_code


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


# -- recorded


def recorded(lines):
    """The graph of a program on a leaf w and a plain tensor c."""
    head = (
        "import torch\n"
        "w = torch.ones(3, requires_grad=True)\n"
        "c = torch.zeros(3)\n"
    )
    recording = record_code(head + lines)
    assert recording.error is None
    return recording


WRITES = {
    "autograd follows": "c.add_(w)\n",
    "it is cut": "with torch.no_grad():\n    c.add_(w)\n",
    "another tensor's result": (
        "with torch.no_grad():\n    torch.add(w, 1, out=c)\n"
    ),
    "a part": "c[0] = w[0]\n",
    "a constant that was cut": "c = (w * 2).detach()\ny = c * w\nc.mul_(w)\n",
}


@pytest.mark.parametrize("write", WRITES)
def test_what_is_used_and_then_written_has_a_box_of_its_own(write):
    lines = f"y = c * w\n{WRITES[write]}z = (c * w).sum() + y.sum()\n"
    text = recorded(lines).draw_graph().text
    (before,) = re.findall(
        r"^  c: constant, .*, before line (\d+)$", text, re.M
    )
    assert text.count("-> c (") == 1
    assert before in {"5", "6", "7"}


@pytest.mark.parametrize("write", WRITES)
def test_no_edge_runs_against_the_direction_of_the_graph(write):
    lines = f"y = c * w\n{WRITES[write]}z = (c * w).sum() + y.sum()\n"
    snapshot = flow.flow(recorded(lines).run, 99)
    made = {
        t: i for i, o in enumerate(snapshot.operations) for _, t in o.outputs
    }
    assert all(
        made.get(source.tensor, -1) < i
        for i, o in enumerate(snapshot.operations)
        for source in o.inputs
    )


def test_what_stands_before_a_write_is_at_its_place_from_the_start():
    recording = recorded("y = c * w\nc.add_(w)\n")
    texts = [frame.graph.text for frame in recording.player().frames]
    assert all("before line 5" in text for text in texts if "  c: " in text)


def test_the_values_before_a_write_are_those_of_then():
    text = recorded("c.add_(w)\n").draw_graph().text
    assert "c: constant, float32 [3] = [0.0, 0.0, 0.0], before line 4" in text


def test_what_was_computed_earlier_and_is_written_is_no_leaf():
    w = torch.ones(3, requires_grad=True)
    g = w * 2
    with record() as recording:
        g.mul_(w)
        out = g.sum()
    text = recording.draw_graph().text
    assert "  g: computed earlier, float32 [3], before line" in text
    assert out.requires_grad


UPDATES = {
    "lerp_": "t.lerp_(w, 0.05)",
    "copy_": "t.copy_(w)",
    "mul_ and add_": "t.mul_(0.9).add_(w, alpha=0.1)",
    "a part": "t[0] = w[0]",
    "a view": "t.view(-1).copy_(w * 2)",
}


def updated(write):
    return recorded(
        "t = torch.ones(3, requires_grad=True)\n"
        f"with torch.no_grad():\n    {write}\n"
        "loss = (t * c).sum()\n"
    ).draw_graph()


@pytest.mark.parametrize("write", UPDATES.values(), ids=UPDATES)
def test_a_write_into_a_leaf_is_no_part_of_the_graph(write):
    text = updated(write).text
    assert "  t: leaf, float32 [3]" in text
    assert [line[:8] for line in text.splitlines() if "#" in line] == [
        "  #1 mul",
        "  #2 sum",
    ]


def test_a_write_of_what_has_a_history_is_told():
    text = updated("t.lerp_(w, 0.05)").text
    assert (
        "Not drawn: line 6, `t.lerp_(w, 0.05)`, writes values under no_grad, "
        "as an optimizer's step does."
    ) in text


def test_what_only_a_step_by_hand_uses_is_not_drawn():
    text = (
        recorded(
            "loss = (w * c).sum()\n"
            "loss.backward()\n"
            "with torch.no_grad():\n"
            "    w -= 0.1 * w.grad\n"
        )
        .draw_graph()
        .text
    )
    assert "w.grad" not in text


IDLE = {
    "a check of arguments": "assert (w >= 0).all()",
    "a comparison": "if (w * 2 > 1).any(): pass",
    "an index": "print(int(w.argmax()))",
    "a count under no_grad": (
        "with torch.no_grad(): n = int(((w * c) > 0).sum())"
    ),
}


@pytest.mark.parametrize("line", IDLE.values(), ids=IDLE)
def test_a_cut_that_leads_nowhere_is_not_drawn(line):
    text = recorded(f"{line}\nloss = (w * c).sum()\n").draw_graph().text
    assert "✂" not in text
    assert "Cut: " not in text


LEADING = {
    "a name": "mask = w > 0",
    "a number that comes back": (
        "with torch.no_grad(): n = float((w * c).mean())"
    ),
    "what is computed from it": "y = (w * (w > 0)).sum()",
    "a backward": "(w * (w > 0)).sum().backward()",
    "a read": "n = w.sum().item()",
}


@pytest.mark.parametrize("line", LEADING.values(), ids=LEADING)
def test_a_cut_that_leads_somewhere_is_drawn(line):
    text = recorded(f"{line}\nloss = (w * c).sum()\n").draw_graph().text
    assert "✂" in text
    assert "Cut: " in text


def test_a_cut_that_is_all_there_is_is_drawn():
    text = recorded("print((w > 0).all())\n").draw_graph().text
    assert "✂ no derivative in line 4" in text


def test_a_gradient_whose_values_are_known_shows_its_norm():
    text = (
        recorded(
            "v = torch.ones(4, 4, requires_grad=True)\n"
            "(v * 3).sum().backward()\n"
        )
        .draw_graph()
        .text
    )
    assert "v: leaf, float32 [4, 4], .grad norm 12.0" in text


def test_at_the_end_a_large_gradient_shows_its_norm():
    text = (
        recorded(
            "v = torch.ones(10, 10, requires_grad=True)\n"
            "(v * 3).sum().backward()\n"
        )
        .draw_graph()
        .text
    )
    assert "v: leaf, float32 [10, 10], .grad norm 30.0" in text
