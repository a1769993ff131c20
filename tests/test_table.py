"""facts: one column a tensor."""

from __future__ import annotations

import numpy as np
import torch

from helpers import facts

ROWS = [
    "requires_grad",
    "is_leaf",
    "grad_fn",
    "retains_grad",
    ".grad",
    "version",
    "dtype",
    "shape",
    "stride",
    "offset",
    "storage",
    "shares with",
]


def rows(picture):
    """Return the text twin as a dict from the row's title to its cells."""
    _, *body = picture.text.splitlines()
    return {line[2:17].strip(): line[17:].split() for line in body}


def test_four_columns(golden, unchanged):
    a = torch.tensor(1.0, requires_grad=True)
    b = a.clone()
    c = a.detach()
    d = a.clone().detach()
    with unchanged():
        picture = facts(a, b, c, d)
    golden(picture)


def test_the_rows_and_their_order():
    x = torch.ones(1)
    titles = [line[2:].split("  ")[0] for line in facts(x).text.splitlines()]
    assert titles[1:] == ROWS


def test_a_difference_is_marked_without_colour():
    a, b = torch.ones(2), torch.ones(3)
    marked = [n for n in facts(a, b).text.splitlines() if n.startswith("≠")]
    assert [n.split()[1] for n in marked] == ["shape", "storage"]


def test_a_difference_is_marked_in_the_html_too():
    a, b = torch.ones(2), torch.ones(3)
    assert facts(a, b).html.count(">≠ ") == 2


def test_one_column_has_no_difference():
    x = torch.ones(1)
    assert "≠" not in facts(x).text


def test_a_retained_gradient():
    x = torch.tensor([1.0], requires_grad=True)
    y = x * 2
    y.retain_grad()
    y.sum().backward()
    found = rows(facts(y))
    assert found["retains_grad"] == ["True"]
    assert found[".grad"] == ["[1.0]"]


def test_a_non_leafs_grad_is_not_asked_for(unchanged):
    y = torch.ones(1, requires_grad=True) * 2
    with unchanged():
        found = rows(facts(y))
    assert found[".grad"] == ["None"]


def test_an_array_has_no_autograd_facts():
    array = np.ones(2)
    found = rows(facts(array))
    assert found["is_leaf"] == ["-"]
    assert found["version"] == ["-"]


def test_the_partners_of_a_view():
    x = torch.arange(4)
    v = x[2:]
    found = rows(facts(v, x))
    assert found["offset"] == ["2", "0"]
    assert found["shares with"] == ["x", "v"]


def test_the_table_is_a_table_with_headers():
    x = torch.ones(1)
    page = facts(x).html
    assert page.count('scope="row"') == len(ROWS)
    assert page.count('scope="col"') == 1
