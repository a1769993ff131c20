"""draw_memory: names, tensor objects, storages.  One kind of thing a test."""

from __future__ import annotations

import copy
from collections import OrderedDict
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch import nn

from helpers import draw_memory


def test_clone_has_a_storage_of_its_own(golden, unchanged):
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    b = a.clone()
    with unchanged():
        picture = draw_memory(a, b)
    golden(picture)


def test_detach_shares_the_storage(golden, unchanged):
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    b = a.detach()
    with unchanged():
        picture = draw_memory(a, b)
    golden(picture)


def test_views_are_windows_on_one_storage(golden, unchanged):
    a = torch.arange(6.0)
    v = a.view(2, 3)
    t = v.t()
    s = a[2:4]
    with unchanged():
        picture = draw_memory(a, v, t, s)
    golden(picture)


def test_expand_has_stride_0(golden, unchanged):
    x = torch.zeros(1, 2)
    e = x.expand(3, 2)
    with unchanged():
        picture = draw_memory(x, e)
    golden(picture)


def test_data_has_a_version_of_its_own(golden, unchanged):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    d = x.data
    d[0] = 5.0
    with unchanged():
        picture = draw_memory(x, d)
    assert "own version 1" in picture.text
    golden(picture)


def test_a_detached_twin_shares_the_version(unchanged):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    d = x.detach()
    d[0] = 5.0
    with unchanged():
        picture = draw_memory(x, d)
    assert "storage s0: 8 bytes, version 1\n" in picture.text
    assert "own version" not in picture.text


def test_from_numpy_is_a_name_on_the_same_memory(golden, unchanged):
    array = np.arange(4.0)
    tensor = torch.from_numpy(array)
    with unchanged():
        picture = draw_memory(array, tensor)
    golden(picture)


def test_numpy_is_a_name_on_the_same_memory(golden, unchanged):
    tensor = torch.arange(4.0)
    array = tensor.numpy()[1:3]
    with unchanged():
        picture = draw_memory(tensor, array)
    golden(picture)


def test_two_tensors_made_from_one_array_share(unchanged):
    array = np.arange(4.0)
    first = torch.from_numpy(array)
    second = torch.from_numpy(array[1:])
    with unchanged():
        picture = draw_memory(first, second)
    assert "first and second share storage s0." in picture.text


def test_parameters_and_buffers_of_a_module(golden, unchanged):
    norm = nn.BatchNorm1d(2)
    with unchanged():
        picture = draw_memory(norm)
    golden(picture)


def test_state_dict_shares_with_the_module(golden, unchanged):
    net = nn.Linear(2, 1, bias=False)
    nn.init.constant_(net.weight, 2.0)
    state = net.state_dict()
    with unchanged():
        picture = draw_memory(net, state)
    golden(picture)


def test_tied_weights_are_one_tensor_with_two_names(golden, unchanged):
    first = nn.Linear(1, 1, bias=False)
    second = nn.Linear(1, 1, bias=False)
    nn.init.constant_(first.weight, 3.0)
    second.weight = first.weight
    with unchanged():
        picture = draw_memory(first, second)
    golden(picture)


def test_deepcopy_shares_nothing(golden, unchanged):
    weight = torch.ones(2, requires_grad=True)
    weight.sum().backward()
    copied = copy.deepcopy(weight)
    with unchanged():
        picture = draw_memory(weight, copied)
    golden(picture)


def test_load_state_dict_with_assign_shares(golden, unchanged):
    a, b = nn.Linear(1, 1, bias=False), nn.Linear(1, 1, bias=False)
    nn.init.constant_(a.weight, 1.0)
    b.load_state_dict(a.state_dict(), assign=True)
    with unchanged():
        picture = draw_memory(a, b)
    assert "a.weight and b.weight share storage s0." in picture.text
    golden(picture)


def test_load_state_dict_copies(unchanged):
    a, b = nn.Linear(1, 1, bias=False), nn.Linear(1, 1, bias=False)
    b.load_state_dict(a.state_dict())
    with unchanged():
        picture = draw_memory(a, b)
    assert "No two tensors here share a storage." in picture.text


def test_a_gradient_is_a_tensor_of_its_own(golden, unchanged):
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    (w * 3).sum().backward()
    with unchanged():
        picture = draw_memory(w)
    golden(picture)


def test_zero_size(golden, unchanged):
    empty = torch.empty(0, 3)
    other = torch.empty(0)
    with unchanged():
        picture = draw_memory(empty, other)
    golden(picture)


def test_a_number_without_dimensions(golden, unchanged):
    number = torch.tensor(7)
    with unchanged():
        picture = draw_memory(number)
    golden(picture)


@pytest.mark.parametrize(
    ("dtype", "cells"),
    [
        (torch.bool, "True False"),
        (torch.int64, "1 0"),
        (torch.uint8, "1 0"),
        (torch.float16, "1.0 0.0"),
        (torch.bfloat16, "1.0 0.0"),
        (torch.float64, "1.0 0.0"),
        (torch.complex64, "1+0j 0+0j"),
    ],
    ids=str,
)
def test_values_in_every_dtype(dtype, cells, unchanged):
    t = torch.tensor([1, 0]).to(dtype)
    with unchanged():
        picture = draw_memory(t)
    name = str(dtype).removeprefix("torch.")
    assert picture.text.splitlines()[1] == f"  {name}: {cells}"


def test_two_dtypes_on_one_storage(golden, unchanged):
    number = torch.tensor([1.0, 2.0])
    bits = number.view(torch.int32)
    halves = number.view(torch.int16)[1:]
    with unchanged():
        picture = draw_memory(number, bits, halves)
    golden(picture)


def test_a_large_tensor_has_an_ellipsis(golden, unchanged):
    big = torch.arange(10_000_000)
    part = big[::2]
    with unchanged():
        picture = draw_memory(big, part)
    golden(picture)


def test_values_stand_in_the_order_of_the_storage(unchanged):
    turned = torch.tensor([[1, 2], [3, 4]]).t()
    with unchanged():
        picture = draw_memory(turned)
    assert "int64: 1 2 3 4" in picture.text
    assert "offset 0, stride (1, 2)" in picture.text


def test_two_names_of_one_tensor_stand_together(unchanged):
    a = torch.ones(1)
    b = a
    with unchanged():
        picture = draw_memory(b)
    assert "  a = b: Tensor float32 [1]" in picture.text


def test_a_given_name_is_added(unchanged):
    a = torch.ones(1)
    with unchanged():
        picture = draw_memory(mine=a)
    assert "  a = mine: Tensor" in picture.text


def test_an_expression_is_named_by_its_source(unchanged):
    a = torch.ones(2)
    with unchanged():
        picture = draw_memory(a, a.view(2, 1))
    assert "  a.view(2, 1): Tensor float32 [2, 1]" in picture.text


def test_without_arguments_the_callers_own_tensors(golden, unchanged):
    a = torch.ones(2)
    pair = {"left": a[:1], "right": [torch.zeros(1)]}
    with unchanged():
        picture = draw_memory()
    assert set(pair) == {"left", "right"}
    golden(picture)


def test_a_dataclass_is_looked_into(unchanged):
    @dataclass
    class Batch:
        x: torch.Tensor
        label: str

    batch = Batch(torch.ones(1), "cat")
    with unchanged():
        picture = draw_memory(batch)
    assert "  batch.x: Tensor" in picture.text


def test_an_ordered_dict_is_a_dict(unchanged):
    things = OrderedDict(a=torch.ones(1))
    with unchanged():
        picture = draw_memory(things)
    assert "  things['a']: Tensor" in picture.text


def test_a_list_that_contains_itself_ends(unchanged):
    box = [torch.ones(1)]
    box.append(box)
    with unchanged():
        picture = draw_memory(box)
    assert picture.text.count("Tensor") == 1


def test_an_endless_object_is_not_looked_into(unchanged):
    class Endless:
        def __getitem__(self, index):
            return torch.ones(1)

    things = {"endless": Endless(), "one": torch.ones(1)}
    with unchanged():
        picture = draw_memory(things)
    assert "things['one']" in picture.text


def test_sixty_of_many_tensors_are_shown(unchanged):
    many = [torch.ones(1) for _ in range(100)]
    with unchanged():
        picture = draw_memory()
    assert len(many) == 100
    assert picture.text.endswith("40 more are not shown.")


def test_a_name_in_a_notebook_may_not_start_with_underscore(unchanged):
    _hidden = torch.ones(1)
    shown = torch.ones(1)
    with unchanged():
        picture = draw_memory()
    assert shown.numel() == _hidden.numel()
    assert "_hidden" not in picture.text
