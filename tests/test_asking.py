"""who_learns and summary: each answer, on live tensors and in a recording."""

from __future__ import annotations

import re

import networks
import pytest
import torch
from torch import nn

from helpers import record, record_code, who_learns


def reasons(table):
    return {one.name: one.reason for one in table.parameters}


def two():
    torch.manual_seed(0)
    return nn.Linear(2, 3), nn.Linear(3, 1), torch.ones(4, 2)


# -- now, from live tensors


def test_what_a_gradient_reaches_learns():
    a, b, x = two()
    loss = b(a(x)).sum()
    assert set(reasons(who_learns([a, b], loss)).values()) == {"learns"}


def test_a_frozen_parameter_does_not_learn():
    a, b, x = two()
    b.bias.requires_grad_(False)
    loss = b(a(x)).sum()
    assert reasons(who_learns(b, loss))["b.bias"] == "not_required"


def test_a_cut_is_found_while_what_was_cut_is_there():
    a, b, x = two()
    h = a(x)
    loss = b(h.detach()).sum()
    table = who_learns([a, b], loss)
    assert reasons(table)["a.weight"] == "cut"
    assert "which is h without its history" in table.text


def test_where_what_was_cut_is_gone_a_recording_is_recommended():
    a, b, x = two()
    loss = b(a(x).detach()).sum()
    table = who_learns([a, b], loss)
    assert reasons(table)["a.weight"] == "unused"
    assert "recording.who_learns()" in table.text


def test_a_loss_without_history_teaches_nobody():
    a, _, x = two()
    loss = a(x).sum().detach()
    table = who_learns(a, loss)
    assert table.text.startswith("0 of 2 parameters learn from loss.")
    assert set(reasons(table).values()) == {"cut"}


def test_a_parameter_that_no_optimizer_holds_does_not_learn():
    a, b, x = two()
    optimizer = torch.optim.SGD(a.parameters(), 0.1)
    loss = b(a(x)).sum()
    assert reasons(who_learns(b, loss, optimizer)) == {
        "b.weight": "not_in_optimizer",
        "b.bias": "not_in_optimizer",
    }


def test_an_optimizer_among_the_variables_is_found():
    a, b, x = two()
    optimizer = torch.optim.SGD(a.parameters(), 0.1)
    loss = b(a(x)).sum()
    assert "not_in_optimizer" in reasons(who_learns(b, loss)).values()
    assert optimizer.state == {}


class Hidden(nn.Module):
    def __init__(self):
        super().__init__()
        self.weights = [nn.Parameter(torch.ones(2))]

    def forward(self, x):
        return x * self.weights[0]


def test_a_parameter_in_a_plain_list_is_not_registered():
    hidden = Hidden()
    loss = hidden(torch.ones(2)).sum()
    assert reasons(who_learns(hidden, loss)) == {
        "hidden.weights[0]": "not_registered"
    }


def test_asking_changes_nothing(unchanged):
    a, b, x = two()
    loss = b(a(x)).sum()
    with unchanged():
        who_learns([a, b], loss)
    assert a.weight.grad is None


def test_equal_answers_of_many_parameters_share_a_row():
    model, loss_of = networks.make("resnet50")
    for name, p in model.named_parameters():
        p.requires_grad_(name.startswith("fc"))
    loss = loss_of()
    table = who_learns(model, loss)
    assert len(table.parameters) == 161
    assert [row[0] for row in table.rows] == [
        "model: 159 parameters",
        "model.fc: 2 parameters",
    ]


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: who_learns(torch.ones(1), torch.ones(1)), "Tensor where a"),
        (lambda: who_learns(nn.Linear(1, 1), 3.0), "float 3.0, which is no"),
        (
            lambda: who_learns(nn.Linear(1, 1), torch.ones(1), "adam"),
            "str as optimizer",
        ),
    ],
)
def test_what_is_wrong_is_told_in_one_sentence(call, told):
    with pytest.raises(TypeError, match=re.escape(told)):
        call()


# -- of a recorded program


def recorded(body, setup=""):
    return record_code(
        "import torch\nfrom torch import nn\ntorch.manual_seed(0)\n"
        "a, b, x = nn.Linear(2, 3), nn.Linear(3, 1), torch.ones(4, 2)\n"
        f"{setup}\n{body}\n"
    )


def test_a_recording_knows_the_line_of_a_cut():
    table = recorded("loss = b(a(x).detach()).sum()").who_learns()
    assert reasons(table)["a.weight"] == "cut"
    assert "Line 6, `a(x).detach()`" in table.text


def test_a_recording_asks_all_parameters_of_what_ran():
    table = recorded("loss = b(a(x)).sum()\nloss.backward()").who_learns()
    assert reasons(table) == dict.fromkeys(
        ["a.weight", "a.bias", "b.weight", "b.bias"], "learns"
    )


def test_a_recording_knows_what_no_optimizer_holds():
    setup = "optimizer = torch.optim.SGD(a.parameters(), 0.1)"
    body = "loss = b(a(x)).sum()\nloss.backward()\noptimizer.step()"
    table = recorded(body, setup).who_learns()
    assert reasons(table)["b.weight"] == "not_in_optimizer"


def test_a_recording_knows_what_is_not_registered():
    hidden = Hidden()
    x = torch.ones(2)
    with record() as recording:
        loss = hidden(x).sum()
        loss.backward()
    assert "not_registered" in reasons(recording.who_learns()).values()


# -- summary


@pytest.fixture(scope="module")
def summary():
    net = nn.Sequential(
        nn.Linear(10, 20), nn.ReLU(), nn.Dropout(), nn.Linear(20, 1)
    )
    net[0].bias.requires_grad_(False)
    x = torch.ones(5, 10)
    with record() as recording:
        loss = net(x).sum()
        loss.backward()
    return {row[0].strip(): row[1:] for row in recording.summary().rows}


def test_each_module_that_ran_has_a_row(summary):
    assert list(summary) == ["net", "net.0", "net.1", "net.2", "net.3"]


def test_parameters_are_counted_and_those_that_train(summary):
    assert summary["net"][1:3] == ("241", "221")


def test_a_row_tells_the_shape_of_the_result(summary):
    assert summary["net.0"][3] == "[5, 20]"


@pytest.mark.parametrize(
    ("module", "saved"),
    [
        ("net.0", "200 B"),  # its input, 5 × 10 floats
        ("net.1", "400 B"),  # its result
        ("net.2", "400 B"),  # a mask
        ("net.3", "400 B"),  # its input; the weight is there anyway
        ("net", "1.4 kB"),
    ],
)
def test_what_is_kept_for_backward_is_counted_once(summary, module, saved):
    assert summary[module][4] == saved


def test_a_row_tells_who_has_no_gradient_and_why(summary):
    assert summary["net.0"][5].endswith("1 of 2: not_required")


def test_a_table_is_shown_as_html_with_its_text():
    net, x = nn.Linear(2, 1), torch.ones(1, 2)
    with record() as recording:
        loss = net(x).sum()
    assert loss.requires_grad
    bundle = recording.summary()._repr_mimebundle_()
    assert "<table" in bundle["text/html"]
    assert "1 Module ran in net." in bundle["text/plain"]


def test_markup_in_a_name_stays_text():
    class Odd(nn.Linear):
        pass

    Odd.__name__ = "<script>alert(1)</script>"
    odd, x = Odd(2, 1), torch.ones(1, 2)
    with record() as recording:
        loss = odd(x).sum()
    assert loss.requires_grad
    assert "<script>" not in recording.summary().html
