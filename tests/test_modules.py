"""A large graph, drawn by modules: what is a box, where, and what it says."""

from __future__ import annotations

import re

import networks
import pytest
import torch
from torch import nn

from helpers import draw_graph, record, record_code
from helpers.diagrams import layout


def drawn(name):
    """The picture of a network's loss, without and with a recording."""
    model, loss_of = networks.make(name)
    loss = loss_of()
    live = draw_graph(loss, model)
    with record() as recording:
        loss = loss_of()
    return live, recording.draw_graph()


@pytest.fixture(scope="module")
def resnet50():
    return drawn("resnet50")


@pytest.fixture(scope="module")
def gpt2():
    return drawn("gpt2")


def line_of(picture, start):
    """The text's line on one box, without its indent."""
    lines = [line.strip() for line in picture.text.splitlines()]
    return next(line for line in lines if line.startswith(f"{start}:"))


def indent_of(picture, start):
    lines = picture.text.splitlines()
    line = next(x for x in lines if x.strip().startswith(start))
    return len(line) - len(line.lstrip())


class Frozen(nn.Module):
    """Sixteen layers: the first half is frozen, the last is behind a cut."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(16))
        for layer in self.layers[:8]:
            layer.requires_grad_(False)
        self.body = nn.Sequential(*(nn.Linear(4, 4) for _ in range(15)))
        self.head = nn.Linear(4, 1)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x).tanh()
        return self.head(self.body(x).detach())


@pytest.fixture(scope="module")
def frozen():
    torch.manual_seed(0)
    model = Frozen()
    with record() as recording:
        loss = model(torch.ones(2, 4)).sum()
        loss.backward()
    return recording.draw_graph()


# -- what is a box


def test_a_small_network_is_drawn_operation_by_operation():
    net = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 1))
    assert "by modules" not in draw_graph(net(torch.ones(1, 2)), net).text


@pytest.mark.parametrize("name", networks.NETWORKS)
def test_a_picture_has_forty_boxes_at_most(name):
    for picture in drawn(name):
        told = re.search(r"in (\d+) boxes", picture.text)
        assert int(told[1] if told else 0) <= 40


def test_blocks_that_repeat_share_a_box(gpt2):
    for picture in gpt2:
        assert "Block × 12" in line_of(picture, "model.h.0 … 11")


def test_blocks_of_different_size_share_none(resnet50):
    for picture in resnet50:
        assert not re.search(r"Sequential × \d", picture.text)


def test_blocks_of_which_some_are_frozen_share_none():
    frozen_half = nn.Sequential(*(nn.Linear(2, 2) for _ in range(50)))
    frozen_half[:25].requires_grad_(False)
    with record() as recording:
        loss = frozen_half(torch.ones(1, 2)).sum()
    assert loss.requires_grad
    text = recording.draw_graph().text
    assert "0 … 24: Linear × 25, 6 parameters each, frozen" in text
    assert "25 … 49: Linear × 25, 6 parameters each, trainable" in text


def test_a_module_that_is_called_twice_has_two_boxes():
    critic = nn.Sequential(*(nn.Linear(2, 2) for _ in range(20)))
    with record() as recording:
        real = critic(torch.ones(1, 2)).sum()
        fake = critic(torch.zeros(1, 2)).sum()
        loss = real - fake
    assert loss.requires_grad
    lines = recording.draw_graph().text.splitlines()
    assert sum(line.startswith("  critic: Sequential") for line in lines) == 2


def test_a_graph_of_many_operations_folds_inside_a_module():
    class Long(nn.Module):
        def forward(self, x):
            for _ in range(500):
                x = x.sin()
            return x

    long, x = Long(), torch.ones(1, requires_grad=True)
    with record() as recording:
        y = long(x)
    assert y.requires_grad
    text = recording.draw_graph().text
    assert "sin × 500" in text


# -- where it is


def test_an_operation_without_parameters_is_in_its_module(gpt2):
    for picture in gpt2:
        assert indent_of(picture, "model.h.11.ln_1") == 6
        assert indent_of(picture, "add #2") == 6
    assert "view #" not in picture.text


def test_what_comes_after_the_last_block_is_not_in_it(resnet50):
    live, _ = resnet50
    assert "2048, 2, 2]" in line_of(live, "model.layer4.2")
    assert indent_of(live, "mean #1") == 4


def test_the_loss_is_outside_of_the_model(resnet50, gpt2):
    for picture in (resnet50[0], gpt2[0]):
        assert indent_of(picture, "nll_loss #1") == 2


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(2, 3), nn.Linear(3, 2)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(x)))


@pytest.mark.parametrize("trained", [True, False])
def test_what_follows_a_linear_is_not_in_it(trained):
    net = nn.Sequential(*[Residual() for _ in range(12)])
    net[0].requires_grad_(trained)
    picture = draw_graph(net(torch.ones(1, 2, 2)).sum(), net)
    first = "net.0" if trained else "net.1"  # is given a constant
    assert indent_of(picture, f"{first}.down") == 6
    assert indent_of(picture, "add #2") == 6
    assert "view #" not in picture.text


def test_what_only_one_of_many_has_at_its_end_came_after_it():
    net = nn.Sequential(*[Residual() for _ in range(12)])
    picture = draw_graph(net(torch.ones(1, 2, 2)).sum().exp(), net)
    assert "Residual × 11" in picture.text
    assert indent_of(picture, "exp #1") == 2


def test_what_all_but_one_have_at_their_end_is_theirs():
    class Last(Residual):
        def forward(self, x):
            return self.down(torch.relu(self.up(x)))

    Last.__name__ = "Residual"
    blocks = [Residual() for _ in range(12)]
    net = nn.Sequential(nn.Linear(2, 2), *blocks, Last(), nn.Linear(2, 2))
    picture = draw_graph(net(torch.ones(1, 2, 2)).sum(), net)
    assert "Residual × 12" in picture.text


def test_a_recording_knows_what_the_graph_alone_has_to_guess(resnet50):
    live, recorded = resnet50
    assert "inferred from its neighbours" in live.text
    assert "inferred" not in recorded.text


def test_a_tied_weight_stands_beside_both_uses(gpt2):
    for picture in gpt2:
        tied = "model.wte.weight = model.lm_head.weight"
        assert tied in line_of(picture, "model.lm_head")


def test_an_unrolled_cell_is_one_box():
    cell, h = nn.GRUCell(2, 2), torch.zeros(1, 2)
    for _ in range(30):
        h = cell(torch.ones(1, 2), h)
    loss = h.sum()
    assert "GRUCell × 30" in draw_graph(loss, cell).text


# -- what it says


def test_a_box_tells_how_many_parameters_there_are(resnet50):
    for picture in resnet50:
        assert "ResNet, 25,557,032 parameters" in line_of(picture, "model")


def test_a_box_tells_the_shape_of_its_result(gpt2):
    for picture in gpt2:
        assert "-> [2, 16, 768]" in line_of(picture, "model.ln_f")


def test_a_gradient_is_told_by_its_norm():
    model, loss_of = networks.make("tiny_resnet")
    loss = loss_of()
    loss.backward()
    squares = [p.grad.pow(2).sum() for p in model.layer4.parameters()]
    norm = torch.stack(squares).sum().sqrt().item()
    line = line_of(draw_graph(loss, model), "model.layer4")
    assert f".grad norm {norm:.4g}" in line


def test_the_norms_of_blocks_that_repeat_are_a_range():
    model, loss_of = networks.make("gpt2")
    loss = loss_of()
    loss.backward()
    line = line_of(draw_graph(loss, model), "model.h.0 … 11")
    low, high = re.search(r"norm ([\d.]+) to ([\d.]+)", line).groups()
    assert float(low) < float(high)


def test_a_frozen_module_is_told_and_marked(frozen):
    assert "Linear × 8" not in frozen.text  # a tanh stands between them
    assert "20 parameters, frozen" in line_of(frozen, "model.layers.0")


def test_a_module_with_a_cut_inside_says_so(frozen):
    assert "cut inside: detach() in line" in line_of(frozen, "model")


def test_a_cut_between_modules_stands_on_its_edge(frozen):
    assert "of model.body (✂ detach() in line" in frozen.text


def test_behind_a_cut_there_is_no_gradient(frozen):
    assert ".grad None" in line_of(frozen, "model.body")


def test_a_picture_is_the_same_each_time():
    assert drawn("tiny_unet")[0].svg == drawn("tiny_unet")[0].svg


def test_an_error_in_a_module_leaves_the_picture_up_to_there():
    class Broken(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(*(nn.Linear(2, 2) for _ in range(45)))

        def forward(self, x):
            return self.body(x) @ torch.ones(3, 3)

    broken = Broken()
    with pytest.raises(RuntimeError), record() as recording:
        broken(torch.ones(1, 2))
    assert "Linear × 45" in recording.draw_graph().text


# -- a recording of a whole program


def test_of_a_loop_the_last_round_is_drawn():
    net = nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 1))
    x = torch.ones(4, 2)
    with record() as recording:
        for _ in range(30):
            loss = net(x).square().mean()
            loss.backward()
    text = recording.draw_graph().text
    assert "more operations: they gave nothing that is there any" in text
    assert text.count("mean") == 1


def test_a_part_that_was_put_in_later_has_its_path():
    net = nn.Sequential(*(nn.Linear(2, 2) for _ in range(30)))
    x = torch.ones(1, 2)
    with record() as recording:
        net[0] = nn.Sequential(net[0], nn.Tanh())
        loss = net(x).sum()
    assert loss.requires_grad
    modules = {done.module for done in recording.operations}
    assert {"net.0.0", "net.0.1"} <= modules


def test_a_name_in_a_function_gives_way_to_the_caller_s():
    recording = record_code(
        "import torch\n"
        "from torch import nn\n"
        "def start(module):\n"
        "    if isinstance(module, nn.Linear):\n"
        "        nn.init.zeros_(module.bias)\n"
        "net = nn.Linear(2, 1)\n"
        "start(net)\n"
        "loss = net(torch.ones(1, 2)).sum()\n"
    )
    assert {d.module for d in recording.operations if d.module} == {"net"}


# -- ports, and what is put together


class Mixer(nn.Module):
    """Its parts get two inputs each, from operations and from parts."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(2, 2), nn.Bilinear(2, 2, 2)

    def forward(self, x):
        return self.second(self.first(x), x.tanh())


def ports_of(part, of):
    """What the ports of a part are called, in a network that is large."""
    layers = [nn.Linear(2, 2) for _ in range(45)]
    model, x = nn.Sequential(part, *layers), torch.ones(2, 2)
    with record() as recording:
        loss = model(x).sum()
    nested = recording.draw_graph().nested
    assert loss.requires_grad
    (view,) = (v for v in nested.views if v.paths == (f"model.0.{of}",))
    return [nested._port(view, i) for i in view.items if i.kind == "in"]


def test_a_port_is_named_after_the_box_at_the_other_end():
    assert ports_of(Mixer(), "second") == ["in: first", "in: tanh"]


class Twice(nn.Module):
    def __init__(self):
        super().__init__()
        self.both = nn.Bilinear(2, 2, 2)

    def forward(self, x):
        return self.both(x.tanh(), (x + 1).tanh())


def test_ports_of_one_name_are_counted():
    assert ports_of(Twice(), "both") == ["in: tanh (1)", "in: tanh (2)"]


def test_a_single_port_is_just_in():
    assert ports_of(Mixer(), "first") == ["in"]


def test_the_samples_of_a_batch_are_one_box():
    data = torch.arange(24.0).view(12, 2)
    net = nn.Sequential(*[nn.Linear(2, 2) for _ in range(20)])
    with record() as recording:
        batch = torch.stack([data[i] for i in range(12)])
        loss = net(batch).sin().cos().sum()
    text = recording.draw_graph().text
    assert "getitem × 12 #1 [no history]" in text
    assert "getitem #1" not in text
    assert loss.requires_grad


def test_two_batches_stay_two_boxes():
    data, goals = torch.ones(12, 2), torch.ones(12)
    net = nn.Sequential(*[nn.Linear(2, 2) for _ in range(20)])
    with record() as recording:
        pairs = [(data[i], goals[i]) for i in range(12)]
        batch, goal = map(torch.stack, zip(*pairs, strict=True))
        del pairs
        loss = (net(batch).sum(1) - goal).square().sum()
    text = recording.draw_graph().text
    assert text.count("getitem × 12") == 4  # each box, and where it leads
    assert loss.requires_grad


def test_the_norm_of_the_end_is_not_told_of_a_step_before():
    lines = ["import torch", "x = torch.ones(2, 2)"]
    lines += ["net = torch.nn.Sequential("]
    lines += ["    *[torch.nn.Linear(2, 2) for _ in range(45)])"]
    lines += ["loss = net(x).sum()", "loss.backward()"]
    recording = record_code("\n".join(lines))
    before, after = recording.draw_graph(-2).text, recording.draw_graph().text
    assert ".grad norm" in after
    assert ".grad norm" not in before
    assert "No parameter has a .grad." in before


def test_the_views_of_modules_may_take_room_to_be_straight():
    assert "nslimit" not in layout.write_dot(
        layout.Job([layout.Size(9, 9)], [], straight=True)
    )
