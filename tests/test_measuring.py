"""saved_bytes, kept_bytes and graph_size: one fact a test."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from helpers.measuring import graph_size, kept_bytes, saved_bytes

BOTH = pytest.mark.parametrize(
    "count", [saved_bytes, kept_bytes], ids=lambda f: f.__name__
)


@pytest.fixture
def x():
    return torch.ones(1000, requires_grad=True)


@BOTH
def test_a_product_with_a_number_saves_nothing(count, x):
    assert count(lambda: x * 2) == 0


@BOTH
def test_exp_saves_its_result_once(count, x):
    assert count(torch.exp, x) == 4000


@BOTH
def test_a_tensor_saved_twice_counts_once(count, x):
    assert count(lambda: x * x) == 4000


@BOTH
def test_a_view_counts_as_its_whole_storage(count, x):
    assert count(lambda: x[:2].square()) == 4000


@BOTH
def test_the_bytes_follow_the_dtype(count, x):
    assert count(lambda: x.double().exp()) == 8000


@BOTH
def test_weights_and_inputs_count(count):
    layer = nn.Linear(3, 2, bias=False)
    inputs = torch.ones(4, 3, requires_grad=True)
    assert count(layer, inputs) == 4 * (3 * 2 + 4 * 3)


@BOTH
def test_a_chain_saves_once_a_link(count, x):
    assert count(lambda: x.exp().exp().exp()) == 3 * 4000


@BOTH
@pytest.mark.parametrize("off", [torch.no_grad, torch.inference_mode])
def test_without_recording_nothing_is_saved(count, off, x):
    assert count(off()(torch.exp), x) == 0


@BOTH
def test_eval_mode_saves_as_train_mode(count, x):
    layer = nn.ELU()
    assert count(layer, x) == count(layer.eval(), x) == 4000


@BOTH
def test_a_detach_first_saves_nothing(count, x):
    assert count(lambda: x.detach().exp()) == 0


def test_a_detach_last_comes_after_everything_was_saved(x):
    assert saved_bytes(lambda: x.exp().exp().detach()) == 2 * 4000


def test_after_a_detach_last_nothing_is_kept(x):
    assert kept_bytes(lambda: x.exp().exp().detach()) == 0


def test_a_backward_frees_what_was_kept(x):
    def step():
        loss = x.exp().sum()
        loss.backward()
        return loss

    assert saved_bytes(step) == 4000
    assert kept_bytes(step) == 0


def test_losses_that_are_added_up_keep_every_graph(x):
    def add_up(steps):
        return sum(x.exp().sum() for _ in range(steps))

    assert [kept_bytes(add_up, n) for n in (1, 2, 5)] == [4000, 8000, 20000]


def test_numbers_that_are_added_up_keep_nothing(x):
    def add_up(steps):
        return sum(x.exp().sum().item() for _ in range(steps))

    assert kept_bytes(add_up, 5) == 0
    assert saved_bytes(add_up, 5) == 20000


def test_a_list_outside_keeps_what_was_appended(x):
    log = []
    assert kept_bytes(lambda: log.append(x.exp())) == 4000


def test_a_circle_of_python_objects_keeps_nothing(x):
    def circle():
        loss = [x.exp()]
        loss.append(loss)

    assert kept_bytes(circle) == 0


def test_the_function_is_called_once(x):
    calls = []
    saved_bytes(calls.append, x)
    kept_bytes(calls.append, x)
    assert len(calls) == 2


@BOTH
def test_the_gradient_is_as_without_counting(count, x):
    count(lambda: (x.exp() * 3).sum().backward())
    assert torch.equal(x.grad, (torch.ones(1000).exp() * 3))


@BOTH
def test_a_second_derivative_is_as_without_counting(count):
    x = torch.tensor(2.0, requires_grad=True)
    seen = []

    def twice():
        (first,) = torch.autograd.grad(x**3, x, create_graph=True)
        seen.extend(torch.autograd.grad(first, x))

    count(twice)
    assert seen[0].item() == 12.0


@BOTH
def test_a_write_to_a_saved_tensor_is_noticed(count, x):
    def write():
        y = x.exp()
        y += 1
        y.sum().backward()

    with pytest.raises(RuntimeError, match="expected version 0 instead"):
        count(write)


@BOTH
@pytest.mark.parametrize("name", ["exp_", "sigmoid_", "relu_", "tanh_"])
def test_an_operation_in_place_saves_its_new_numbers(count, name, x):
    count(lambda: getattr(x * 2, name)().sum().backward())
    assert x.grad is not None


@BOTH
def test_nothing_else_changes(count, x, unchanged):
    with unchanged():
        count(lambda: x.exp())


@BOTH
def test_an_error_of_the_function_comes_through(count):
    with pytest.raises(ZeroDivisionError):
        count(lambda: 1 / 0)


@BOTH
def test_the_hooks_are_gone_after_an_error(count, x):
    with pytest.raises(ZeroDivisionError):
        count(lambda: 1 / 0)
    y = x.exp()
    assert torch.equal(y.grad_fn._saved_result, y)


@BOTH
def test_a_result_is_no_function(count, x):
    with pytest.raises(TypeError, match="without calling it"):
        count(x.exp())


@BOTH
def test_a_saved_tensor_without_a_storage_is_refused(count):
    matrix = torch.eye(2).to_sparse().requires_grad_()
    x = torch.ones(2, 2, requires_grad=True)
    with pytest.raises(TypeError, match="a tensor without one was saved"):
        count(torch.sparse.mm, matrix, x)


@pytest.mark.parametrize("n", [0, 1, 7, 100])
def test_the_size_of_a_chain_is_its_number_of_operations(n, x):
    y = x
    for _ in range(n):
        y = y * 2
    assert graph_size(y) == n


def test_an_operation_used_twice_counts_once(x):
    y = x * 2
    assert graph_size(y * y) == 2


def test_leaves_do_not_count(x):
    assert graph_size(x + torch.ones(1000, requires_grad=True)) == 1


def test_without_recording_there_is_no_graph(x):
    with torch.no_grad():
        assert graph_size(x * 2) == 0


def test_a_detached_tensor_has_no_graph(x):
    assert graph_size((x * 2).detach()) == 0


def test_a_sum_of_losses_grows_by_the_same_each_step(x):
    total, sizes = 0.0, []
    for _ in range(4):
        total = total + x.exp().sum()
        sizes.append(graph_size(total))
    assert sizes == [3, 6, 9, 12]


def test_looking_at_the_graph_changes_nothing(x, unchanged):
    y = x.exp().sum()
    with unchanged():
        graph_size(y)


def test_a_number_has_no_graph_to_count():
    with pytest.raises(TypeError, match="given a float, not a tensor"):
        graph_size(1.0)


def test_a_graph_that_is_too_large_is_refused(x):
    y = x
    for _ in range(10_001):
        y = y * 2
    with pytest.raises(ValueError, match="up to 10000 nodes"):
        graph_size(y)
