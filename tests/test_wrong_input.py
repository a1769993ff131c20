"""What is no ordinary tensor: one sentence, or a picture that says so."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch
from torch import nn

from helpers import draw_graph, draw_memory, facts

EVERY = pytest.mark.parametrize(
    "draw", [draw_memory, draw_graph, facts], ids=lambda f: f.__name__
)


def sentence(error):
    """Return the text of an error and see that it is one sentence."""
    text = str(error.value)
    assert "\n" not in text
    assert text.endswith((".", "?"))
    return text


@EVERY
@pytest.mark.parametrize(
    ("thing", "says"),
    [
        (3, "was given int 3, which is no tensor"),
        ("x", "was given str 'x', which is no tensor"),
        (None, "was given None, where there is nothing to show yet"),
        ([], "found no tensor in the list it was given"),
        ({"a": 1}, "found no tensor in the dict it was given"),
        (nn.Linear, "was given the class Linear, not an object of it"),
        (torch.ones(1).mean, "the method .mean itself, not its result: did"),
        (torch.relu, "was given the function relu, not a tensor"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_no_tensor(draw, thing, says):
    with pytest.raises(TypeError, match=re.escape(says)) as error:
        draw(thing)
    assert sentence(error).startswith(f"{draw.__name__} ")


@EVERY
def test_nothing_in_an_empty_scope(draw):
    with pytest.raises(
        ValueError, match="found no tensor among your"
    ) as error:
        draw()
    sentence(error)


def test_a_module_has_no_graph():
    net = nn.Linear(3, 1)
    with pytest.raises(TypeError, match="call it first") as error:
        draw_graph(net)
    assert "a Module (Linear)" in sentence(error)


@pytest.mark.parametrize("draw", [draw_memory, facts])
def test_a_module_without_parameters(draw):
    with pytest.raises(TypeError, match="without parameters") as error:
        draw(nn.ReLU())
    sentence(error)


def test_an_array_has_no_graph():
    with pytest.raises(TypeError, match="a NumPy array, which has no graph"):
        draw_graph(np.ones(2))


def test_an_object_whose_repr_raises():
    class Rude:
        def __repr__(self):
            raise RuntimeError("no")

    with pytest.raises(TypeError, match="given Rude, which is no tensor"):
        draw_memory(Rude())


def special_tensors():
    """Tensors that have no plain storage, or one that reads otherwise."""
    torch.manual_seed(0)
    with torch.inference_mode():
        inference = torch.ones(2) * 2
    return {
        "meta": torch.ones(2, device="meta"),
        "sparse_coo": torch.eye(2).to_sparse(),
        "sparse_csr": torch.eye(2).to_sparse_csr(),
        "quantized": torch.quantize_per_tensor(
            torch.ones(2), 0.5, 0, torch.quint8
        ),
        "nested": torch.nested.nested_tensor([torch.ones(2), torch.ones(1)]),
        "inference": inference,
        "conjugated": torch.tensor([1 + 2j]).conj(),
    }


@EVERY
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", list(special_tensors()))
def test_a_special_tensor_is_told_in_the_picture(draw, kind, unchanged):
    special = special_tensors()[kind]
    with unchanged():
        picture = draw(special)
    assert kind in picture.text
    assert "special" in picture.svg


@EVERY
def test_a_tensor_inside_vmap(draw):
    seen = []

    def look(t):
        seen.append(draw(t))
        return t * 2

    torch.func.vmap(look)(torch.ones(3, 2))
    assert "inside torch.func" in seen[0].text


@EVERY
def test_a_tensor_inside_grad(draw):
    seen = []

    def look(t):
        seen.append(draw(t))
        return (t * 2).sum()

    torch.func.grad(look)(torch.ones(3))
    assert "inside torch.func" in seen[0].text


def test_a_subclass_whose_repr_raises(unchanged):
    class Rude(torch.Tensor):
        def __repr__(self, *args, **kwargs):
            raise RuntimeError("no")

    rude = torch.ones(2).as_subclass(Rude)
    with unchanged():
        picture = draw_memory(rude)
    assert "rude: Rude float32 [2]" in picture.text


def test_a_users_function_mode_sees_nothing(unchanged):
    calls = []

    class Spy(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            calls.append(func)
            return func(*args, **(kwargs or {}))

    x = torch.ones(2, requires_grad=True)
    with Spy():
        draw_memory(x)
        draw_graph(x)
        facts(x)
    assert calls == []


def test_a_default_device_of_meta():
    x = torch.ones(2)
    with torch.device("meta"):
        picture = draw_memory(x)
    assert "float32: 1.0 1.0" in picture.text
