"""Which operations share a box."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from helpers.diagrams.folding import MOST, PLAIN, fold
from helpers.model import Operation


def chain(names):
    return [Operation(f"n{i}", name, name) for i, name in enumerate(names)]


def shape(folds):
    return [(len(f.operations), f.period, f.times) for f in folds]


def test_a_few_operations_stay_as_they_are():
    assert len(fold(chain(["sin"] * PLAIN), set())) == PLAIN


def test_a_run_of_equal_operations_is_one_box():
    assert shape(fold(chain(["sin"] * 50), set())) == [(50, 1, 50)]


def test_a_pattern_that_repeats_is_one_box():
    assert shape(fold(chain(["mm", "add", "tanh"] * 20), set())) == [
        (60, 3, 20)
    ]


def test_what_stands_before_and_after_stays():
    names = ["exp", *["mm", "tanh"] * 30, "sum"]
    assert shape(fold(chain(names), set())) == [
        (1, 1, 1),
        (60, 2, 30),
        (1, 1, 1),
    ]


def test_a_named_result_ends_its_box():
    folds = fold(chain(["sin"] * 50), {"n19"})
    assert shape(folds) == [(20, 1, 20), (30, 1, 30)]


def test_a_named_result_may_stand_in_the_last_round():
    folds = fold(chain(["mm", "add", "tanh"] * 20), {"n58"})
    assert shape(folds) == [(60, 3, 20)]


def test_too_many_names_do_not_stop_it():
    operations = chain(["sin"] * 500)
    assert shape(fold(operations, {o.id for o in operations})) == [
        (500, 1, 500)
    ]


@given(
    st.lists(st.sampled_from("abcdef"), max_size=3000),
    st.sets(st.integers(0, 3000), max_size=20),
)
def test_folding_keeps_every_operation_in_order(names, named):
    operations = chain(names)
    folds = fold(operations, {f"n{i}" for i in named})
    assert [o for f in folds for o in f.operations] == operations
    assert len(folds) <= max(PLAIN, MOST + 2 * len(named) + 1)


@given(st.sampled_from("abc"), st.integers(1, 6), st.integers(3, 40))
def test_a_fold_is_its_pattern_over_and_over(first, period, times):
    names = ([first] + ["x"] * (period - 1)) * times
    for f in fold(chain(names), set()):
        keys = [o.name for o in f.operations]
        assert keys == keys[: f.period] * f.times
