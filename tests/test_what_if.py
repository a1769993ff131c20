"""what_if: every combination is there, and no choice disturbs another."""

from __future__ import annotations

import json
import re

import pytest
import torch

from helpers import draw_memory, what_if


def told(a, b):
    print(a, b)


def data(panel):
    found = re.search(
        r'<script type="application/json">(.*?)</script>', panel.html, re.S
    )
    return json.loads(found[1])


def test_the_text_lists_every_combination():
    assert what_if(told, a=[1, 2], b=["x", "y"]).text == (
        "a=1, b=x\n  1 x\na=1, b=y\n  1 y\na=2, b=x\n  2 x\na=2, b=y\n  2 y"
    )


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([False, True], "switch"),
        (True, "switch"),
        ([True], "buttons"),
        (["x", "y"], "buttons"),
        ([0.1, 1], "slider"),
        (range(3), "slider"),
    ],
)
def test_the_values_decide_the_control(values, kind):
    panel = what_if(lambda a: None, a=values)
    assert data(panel)["choices"][0]["kind"] == kind


def test_what_is_returned_is_shown():
    x = torch.ones(2)
    panel = what_if(lambda a: [draw_memory(x=x), a], a=["one"])
    assert panel.text.splitlines() == [
        "a=one",
        *(f"  {line}" for line in draw_memory(x=x).text.splitlines()),
        "  one",
    ]


def test_pictures_that_are_equal_are_kept_once():
    x = torch.ones(2)
    panel = what_if(lambda a: draw_memory(x=x), a=["one", "two"])
    assert len(data(panel)["pictures"]) == 1


def test_a_matplotlib_figure_is_shown():
    from matplotlib.figure import Figure

    def plot(a):
        figure = Figure()
        figure.add_subplot().set_title(f"Loss {a}")
        return figure

    panel = what_if(plot, a=[1, 2])
    assert panel.text == "a=1\n  A plot: Loss 1\na=2\n  A plot: Loss 2"
    assert len(data(panel)["pictures"]) == 2


def test_a_figure_of_pyplots_is_shown_and_closed():
    import matplotlib.pyplot as plt

    mine = plt.figure()

    def plot(a):
        plt.figure()
        plt.title(a)

    panel = what_if(plot, a=["one"])
    assert panel.text == "a=one\n  A plot: one"
    assert plt.get_fignums() == [mine.number]
    plt.close(mine)


def test_an_error_is_shown_as_its_message():
    panel = what_if(lambda a: 1 / a, a=[0, 1])
    assert (
        panel.text.splitlines()[1] == "  ZeroDivisionError: division by zero"
    )


def test_an_interrupt_passes_through():
    def stop(a):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        what_if(stop, a=[1])


def test_every_call_has_the_same_random_numbers_and_uses_none_up():
    before = torch.get_rng_state()
    panel = what_if(lambda a: torch.rand(1).item(), a=[1, 2])
    first, second = panel.text.splitlines()[1::2]
    assert first == second
    assert torch.equal(before, torch.get_rng_state())


def test_without_scripts_the_first_combination_is_there():
    page = what_if(told, a=[1, 2], b=[True, False]).html
    stage = page[: page.index("<script")]
    assert "<b>a=1, b=True</b>" in stage
    assert "<pre>1 True</pre>" in stage


def test_it_asks_for_nothing_from_outside():
    page = what_if(told, a=[1], b=[1]).html
    assert "://" not in page.replace("http://www.w3.org/", "")


def test_what_is_printed_can_not_end_the_script():
    page = what_if(lambda a: "</script><b>", a=[1]).html
    assert page.count("</script>") == 2


def test_it_has_a_live_region_and_labels():
    page = what_if(told, a=[1], b=["x"]).html
    assert 'aria-label="What if? told, for each choice of a, b."' in page
    for part in ('"aria-live"', '"radiogroup"', '"aria-valuetext"'):
        assert part in page


@pytest.mark.parametrize(
    ("choices", "error", "sentence"),
    [
        ({}, ValueError, "nothing to choose"),
        ({"a": [], "b": [1]}, ValueError, "a has no value"),
        ({"a": [1, 1], "b": [1]}, ValueError, "a has a value twice"),
        ({"a": "x", "b": [1]}, TypeError, r"a is a str: give a list"),
        ({"a": [None], "b": [1]}, TypeError, "values of NoneType"),
        ({"a": [1], "c": [1]}, TypeError, r"told\(a, b\) can't be called"),
        ({"a": range(5), "b": range(5)}, ValueError, "25 combinations"),
    ],
)
def test_bad_choices_are_refused_in_a_sentence(choices, error, sentence):
    with pytest.raises(error, match=sentence):
        what_if(told, **choices)


def test_save_writes_a_page(tmp_path):
    path = what_if(told, a=[1], b=[2]).save(tmp_path / "panel.html")
    assert path.read_text().startswith("<!DOCTYPE html>")
