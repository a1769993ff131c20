"""why_no_grad and problems: each reason and each kind."""

from __future__ import annotations

import pytest
import torch

import helpers.recorder
from helpers import record, record_code

START = """import torch
from torch import nn
x = torch.tensor([1.0, 2.0], requires_grad=True)
w = torch.tensor([3.0, 4.0], requires_grad=True)
"""


@pytest.fixture(autouse=True)
def strict(monkeypatch):
    monkeypatch.setattr(helpers.recorder.journal, "STRICT", True)


def ask(code, name="x"):
    return record_code(START + code).why_no_grad(name)


@pytest.mark.parametrize(
    ("code", "name", "reason"),
    [
        ("(x * w).sum().backward()", "x", "has_grad"),
        ("c = torch.ones(2)\n(x * c).sum().backward()", "c", "not_required"),
        ("w.requires_grad_(False)\n(x * w).sum().backward()", "w",
         "not_required"),
        ("y = x * w\ny.sum().backward()", "y", "not_leaf"),
        ("loss = (x * w).sum()", "x", "no_backward"),
        ("loss = (x.detach() * w).sum()\nloss.backward()", "x", "cut"),
        ("with torch.no_grad():\n    y = x * 2\n(y * w).sum().backward()",
         "x", "cut"),
        ("y = torch.tensor(x.tolist())\n(y * w).sum().backward()", "x", "cut"),
        ("(x * 2).sum().backward()", "w", "unused"),
        ("(x * w).sum().backward()\nx.grad = None", "x", "cleared"),
        ("opt = torch.optim.SGD([x], 0.1)\n(x * w).sum().backward()\n"
         "opt.zero_grad()", "x", "cleared"),
        ("y = x * w\ny.retain_grad()\ny.sum().backward()", "y", "has_grad"),
        ("d = x.detach().requires_grad_()\n(d * w).sum().backward()", "x",
         "cut"),
        ("y = x.clone()\ny[0] = 5.0\n(y * w).sum().backward()", "x",
         "has_grad"),
        ("y = x.double()\n(y * 2).sum().backward()", "y", "not_leaf"),
    ],
)  # fmt: skip
def test_every_reason(code, name, reason):
    assert ask(code, name).reason == reason


def test_the_sentence_names_variables_and_line():
    answer = ask("y = x * w\nz = y.detach().sigmoid()\nloss = z.mean()\n")
    assert str(answer) == (
        "x.grad is None because line 6, `y.detach()`, cut the only path from "
        "x to loss. Use y itself if x should learn."
    )


def test_several_cuts_on_several_paths():
    answer = ask("loss = (x.detach() * w + x.data).sum()\nloss.backward()")
    assert [c.kind for c in answer.cuts] == ["detach", "data"]
    assert "cut all paths" in answer.sentence


def test_the_nearest_cut_comes_first():
    answer = ask(
        "a = (x * 2).detach()\nb = (a * w).detach()\nloss = b.sum()\n"
    )
    assert [c.line for c in answer.cuts] == [5]


def test_a_partial_cut_says_which():
    answer = ask("loss = (x * w + x.detach()).sum()\nloss.backward()")
    assert answer.reason == "has_grad"
    assert "line 5, `x.detach()`" in answer.sentence


def test_a_cut_inside_a_module_names_its_path():
    answer = ask(
        "class Half(nn.Module):\n"
        "    def forward(self, t):\n"
        "        return t.detach() * 2\n"
        "net = nn.Sequential(nn.Identity(), Half())\n"
        "loss = (net(x) * w).sum()\n"
        "loss.backward()\n"
    )
    assert answer.cuts[0].module == "net.1"
    assert "line 7 in net.1, `t.detach()`" in answer.sentence


def test_where_it_was_frozen():
    answer = ask("w.requires_grad_(False)\n(x * w).sum().backward()", "w")
    assert "line 5, `w.requires_grad_(False)`, froze w." in answer.sentence


def test_a_tensor_may_be_asked_for():
    x = torch.ones(1, requires_grad=True)
    with record() as recording:
        y = x.detach() * 2
    assert recording.why_no_grad(x).reason == "cut"
    assert not y.requires_grad


@pytest.mark.parametrize("unknown", ["nope", torch.ones(1)], ids=["name", "t"])
def test_an_unknown_tensor_is_told(unknown):
    with pytest.raises(KeyError):
        record_code(START).why_no_grad(unknown)


def test_asked_too_early():
    with record() as recording, pytest.raises(RuntimeError, match="finished"):
        _ = recording.cuts


PROBLEMS = {
    "no history": (
        "x.detach().sum().backward()",
        "backward_will_fail",
    ),
    "not a scalar": ("(x * w).backward()", "backward_will_fail"),
    "freed": (
        "loss = (x * w).sum()\nloss.backward()\nloss.backward()",
        "backward_will_fail",
    ),
    "saved result": (
        "y = x.exp()\ny += 1\nloss = y.sum()",
        "backward_will_fail",
    ),
    "saved input": (
        "y = x * w\nwith torch.no_grad():\n    w += 1\nloss = y.sum()",
        "backward_will_fail",
    ),
    "through data": (
        "y = x.exp()\ny.data[0] = 5.0\ny.sum().backward()",
        "silently_wrong",
    ),
    "frozen": (
        "opt = torch.optim.SGD([w], 0.1)\n(x * w).sum().backward()\n"
        "w.requires_grad_(False)\nopt.step()",
        "frozen_but_moving",
    ),
    "view": (
        "with torch.no_grad():\n    v = x[:1]\n(v * 2).sum().backward()",
        "view_from_no_grad",
    ),
    "list": (
        "class Net(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.ws = [nn.Parameter(torch.ones(2))]\n"
        "    def forward(self, t):\n"
        "        return t * self.ws[0]\n"
        "net = Net()\nnet(x).sum().backward()",
        "not_registered",
    ),
    "optimizer": (
        "a, b = nn.Linear(2, 2), nn.Linear(2, 1)\n"
        "opt = torch.optim.SGD(a.parameters(), 0.1)\n"
        "b(a(x)).sum().backward()\nopt.step()",
        "not_in_optimizer",
    ),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_every_kind_of_problem(name):
    code, kind = PROBLEMS[name]
    assert {p.kind for p in record_code(START + code).problems} == {kind}


RIGHT = {
    "training": (
        "net = nn.Linear(2, 1)\n"
        "opt = torch.optim.Adam(net.parameters(), 0.1)\n"
        "for _ in range(3):\n"
        "    opt.zero_grad()\n"
        "    net(x.detach()).sum().backward()\n"
        "    opt.step()\n"
    ),
    "by hand": (
        "for _ in range(3):\n"
        "    (x * w).sum().backward()\n"
        "    with torch.no_grad():\n"
        "        w -= 0.1 * w.grad\n"
        "        x.grad.zero_()\n"
        "    w.grad = None\n"
    ),
    "evaluation": (
        "net = nn.Linear(2, 1)\n"
        "with torch.no_grad():\n"
        "    out = net(x).item()\n"
    ),
    "in place before use": "y = x * 2\ny += 1\n(y * w).sum().backward()",
    "unsaved write": "y = x * 3\ny += 1\ny.sum().backward()",
    "target network": (
        "import copy\n"
        "net = nn.Linear(2, 1)\n"
        "target = copy.deepcopy(net).requires_grad_(False)\n"
        "opt = torch.optim.SGD(net.parameters(), 0.1)\n"
        "for _ in range(2):\n"
        "    opt.zero_grad()\n"
        "    (net(x) - target(x)).square().sum().backward()\n"
        "    opt.step()\n"
        "    with torch.no_grad():\n"
        "        for a, b in zip(target.parameters(), net.parameters()):\n"
        "            a.mul_(0.9).add_(b, alpha=0.1)\n"
    ),
    "gan": (
        "G, D = nn.Linear(2, 2), nn.Linear(2, 1)\n"
        "g = torch.optim.SGD(G.parameters(), 0.1)\n"
        "d = torch.optim.SGD(D.parameters(), 0.1)\n"
        "for _ in range(2):\n"
        "    fake = G(x.detach())\n"
        "    d.zero_grad()\n"
        "    D(fake.detach()).sum().backward()\n"
        "    d.step()\n"
        "    g.zero_grad()\n"
        "    D(fake).sum().backward()\n"
        "    g.step()\n"
    ),
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_program_has_no_problem(name):
    recording = record_code(START + RIGHT[name])
    assert recording.error is None
    assert recording.problems == []


def test_a_problem_is_told_before_backward():
    recording = record_code(START + "y = x.exp()\ny += 1\nloss = y.sum()")
    (problem,) = recording.problems
    assert problem.sentence == (
        "exp saved y at version 0 and line 6, `y += 1`, wrote to it: "
        "backward will raise."
    )
    assert problem.line == 6


def test_a_write_that_krons_own_counter_does_not_notice():
    recording = record_code(
        "import torch\n"
        "a = torch.ones(2, 2, requires_grad=True)\n"
        "b = torch.ones(2, 2, requires_grad=True)\n"
        "k = torch.kron(a, b)\n"
        "with torch.no_grad():\n"
        "    a.add_(1)\n"
        "k.sum().backward()\n"
    )
    assert recording.error is None
    assert [p.kind for p in recording.problems] == ["silently_wrong"]
