"""What one line did, in a sentence."""

from __future__ import annotations

import pytest

from helpers import record_code
from helpers.diagnosis import Story
from helpers.telling import tell

START = """import torch
x = torch.ones(2, requires_grad=True)
a, b = torch.ones(2), torch.ones(2)
v = a[:1]
"""


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("y = x * 2", "mul (MulBackward0) makes y from x."),
        ("y = (x * 2 + a).sum()", "mul, add, sum: y from x and a."),
        ("(x * 2).contiguous()", "mul, contiguous use x."),
        ("c = torch.ones(1)", "ones makes c."),
        ("w = torch.nn.Parameter(torch.ones(1))", "w is new."),
        (
            "net = torch.nn.Linear(1, 1)",
            "net.weight and net.bias are new.",
        ),
        ("c = a", "c is one more name for a."),
        ("a = b", "a is one more name for b."),
        ("k = 3", "Nothing happens to a tensor."),
        (
            "a.add_(1)",
            "add_ writes into a in place (version 1). v sees it too.",
        ),
        (
            "torch._foreach_add_([a, b], 1)",
            "_foreach_add_ writes into a and b in place. v sees it too.",
        ),
        ("x.requires_grad_(False)", "x is frozen: requires_grad False."),
        (
            "y = x.detach()",
            "Line 5 cuts the gradient. `x.detach()` gives a tensor on the "
            "storage of x without history.",
        ),
        (
            "x.sum().backward()",
            "sum (SumBackward0) makes x.sum() from x. "
            "backward() from x.sum(): x got a gradient.",
        ),
    ],
)
def test_a_line_is_told(line, told):
    run = record_code(START + line).run
    assert tell(Story(run), run.steps[-1]) == told
