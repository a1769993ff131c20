"""predict, check and expect_error."""

from __future__ import annotations

import re

import pytest
import torch

from helpers import arrange, check, expect_error, predict
from helpers.lessons.kinds import Question, ordering, right, wrong
from helpers.lessons.looking import is_untouched, misspelled

QUESTION = Question(
    "Is `1 < 2`?",
    (right("Yes <b>", "One is less."), wrong("No & no", "It is.", "x")),
)


def test_an_expected_error_is_shown_in_one_line(capsys):
    with expect_error(ValueError, "wrong"):
        raise ValueError("all wrong")
    assert capsys.readouterr().out == "ValueError: all wrong\n"


def test_no_error_fails():
    with (
        pytest.raises(AssertionError, match="but nothing was raised"),
        expect_error(ValueError, "wrong"),
    ):
        pass


def test_another_message_fails():
    with (
        pytest.raises(AssertionError, match="its message was: right"),
        expect_error(ValueError, "wrong"),
    ):
        raise ValueError("right")


def test_another_error_fails():
    with (
        pytest.raises(AssertionError, match="but TypeError came: wrong"),
        expect_error(ValueError, "wrong"),
    ):
        raise TypeError("wrong")


def test_an_interrupt_passes_through():
    with pytest.raises(KeyboardInterrupt), expect_error(ValueError, "wrong"):
        raise KeyboardInterrupt


def test_a_prediction_as_text():
    assert str(predict(QUESTION)) == (
        "Predict: Is `1 < 2`?\n"
        "  1. Yes <b>\n"
        "  2. No & no\n"
        "Answers (choose first):\n"
        "  1: Right. One is less.\n"
        "  2: No. It is."
    )


def test_a_prediction_folds_each_answer():
    page = predict(QUESTION).html
    assert page.count("<details") == page.count("<summary") == 2
    assert "open" not in page


def test_a_prediction_needs_no_script_and_no_network():
    page = predict(QUESTION).html
    assert "<script" not in page
    assert "://" not in page


def test_a_prediction_is_escaped():
    page = predict(QUESTION).html
    assert "Yes &lt;b&gt;" in page
    assert "No &amp; no" in page


def test_backticks_become_code():
    assert re.search("<code [^>]*>1 &lt; 2</code>", predict(QUESTION).html)


def test_an_unknown_question_names_those_that_are_there():
    with pytest.raises(KeyError, match="no question 'nope'; there are: "):
        predict("nope")


def test_an_unknown_exercise_names_those_that_are_there():
    with pytest.raises(KeyError, match="no exercise 'nope'; there are: "):
        check("nope", 1)


def test_a_check_leaves_the_random_state_alone():

    torch.manual_seed(0)
    before = torch.get_rng_state()
    check("freeze-module", lambda module: module)
    assert torch.equal(before, torch.get_rng_state())


ARRANGED = ordering(
    3,
    "easy",
    "y is 3",
    {"A": "y = x + 1", "B": "x = 2", "C": "y = x", "D": "print(y)"},
    {"C": "it adds nothing."},
    lambda space: "" if space["y"] == 3 else "y is not 3.",
)


@pytest.mark.parametrize(
    ("order", "says"),
    [
        ("BAD", ""),
        ("b, a, d", ""),
        ("BD", "3 lines belong, these are 2."),
        ("BACD", "line C does not belong: it adds nothing."),
        ("BAX", "there is no line X: the lines are ABCD."),
        ("BAA", "a line stands there twice."),
        (["B", "A"], "the order is of type list: write it as letters."),
    ],
)
def test_an_order_is_looked_at(order, says):
    assert ARRANGED.look(order) == says


def test_an_order_that_fails_names_its_line():
    with pytest.raises(RuntimeError, match="at `y = x \\+ 1`: NameError"):
        ARRANGED.look("ABD")


def test_a_block_that_fails_is_named_by_its_first_line():
    blocks = ordering(
        1, "easy", "", {"A": "if True:\n    1 / 0"}, {}, lambda space: ""
    )
    with pytest.raises(RuntimeError, match="at `if True:`: ZeroDivisionErr"):
        blocks.look("A")


def test_what_an_order_prints_is_not_shown(capsys):
    ARRANGED.look("BAD")
    assert capsys.readouterr().out == ""


def test_lines_to_arrange_have_letters():
    assert str(arrange("start-arrange")).splitlines()[1].startswith("A: ")


def test_a_line_that_fails_is_told_by_the_check():
    assert "run in your order, it fails at `" in str(
        check("start-arrange", "CBA")
    )


def test_lines_that_there_are_not():
    with pytest.raises(KeyError, match="no lines to arrange 'clone-leaf'"):
        arrange("clone-leaf")


@pytest.mark.parametrize("imports", ["import torch\n", ""])
def test_a_given_function_is_untouched_wherever_it_was_compiled(imports):
    code = "def f(x):\n    return torch.add(x, 1)\n"
    here, there = {"torch": torch}, {"torch": torch}
    exec(compile(imports + code, "here", "exec"), here)
    exec(compile("import torch\n" + code, "there", "exec"), there)
    assert is_untouched(here["f"], there["f"])


def test_a_function_that_was_changed_is_touched():
    def given(x):
        return torch.add(x, 1)

    assert not is_untouched(lambda x: torch.sub(x, 1), given)
    assert not is_untouched(lambda x: torch.add(x, 2), given)


def test_the_method_replaced_by_a_flag_is_named():
    w = torch.ones(1)
    w.requires_grad_ = False
    assert "replaces the method" in misspelled(None, [w])
