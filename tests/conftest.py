"""What all tests share: golden texts, and a watch on everything of torch's."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from helpers.diagrams.diagram import Diagram

GOLDEN = Path(__file__).parent / "golden"


def pytest_addoption(parser: Any) -> None:
    parser.addoption(
        "--write-golden",
        action="store_true",
        help="write the golden texts anew; then read the difference",
    )


@pytest.fixture
def golden(request: Any) -> Callable[[Diagram], None]:
    """Compare a diagram's text twin with the file named as the test is."""

    def compare(diagram: Diagram) -> None:
        name = request.node.name.removeprefix("test_")
        stem = request.path.stem.removeprefix("test_")
        path = GOLDEN / f"{stem}_{name}.txt"
        text = f"{diagram.text}\n---\n{diagram.alt}\n"
        if request.config.getoption("--write-golden"):
            path.write_text(text, encoding="utf-8")
        assert path.exists(), f"no golden text; write it: {path.name}"
        assert text == path.read_text(encoding="utf-8")

    return compare


@pytest.fixture
def unchanged() -> Callable[[], Any]:
    """Give a block in which nothing of the user's may change.

    Flags, versions, values, gradients, hooks, random state, modes, torch's
    own functions; and no warning may come.
    """

    @contextmanager
    def watch() -> Iterator[None]:
        before = _state()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            yield
        after = _state()
        # torch may make Python objects for tensors that it alone held before
        known = before["tensors"]
        after["tensors"] = {i: after["tensors"].get(i) for i in known}
        for name, value in before.items():
            assert after[name] == value, f"{name} changed"

    return watch


def _state() -> dict[str, Any]:
    gc.collect()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        things = gc.get_objects()
        tensors = [
            t for t in things if type(t) in (torch.Tensor, nn.Parameter)
        ]
        modules = [m for m in things if issubclass(type(m), nn.Module)]
        modules = [m for m in modules if "_forward_hooks" in vars(m)]
    return {
        "tensors": {id(t): _tensor_state(t) for t in tensors},
        "modules": {
            id(m): (
                m.training,
                list(m._forward_hooks),
                list(m._backward_hooks),
            )
            for m in modules
        },
        "random state": torch.get_rng_state().tolist(),
        "modes": (
            torch.is_grad_enabled(),
            torch.is_inference_mode_enabled(),
            torch.get_default_dtype(),
            torch.get_default_device(),
            torch._C._len_torch_function_stack(),
            torch._C._len_torch_dispatch_stack(),
        ),
        "torch's functions": {
            space.__name__: {k: id(v) for k, v in vars(space).items()}
            for space in (torch, torch.Tensor, nn.Module, nn.functional)
        },
    }


def _tensor_state(t: torch.Tensor) -> Any:
    try:
        return _readable_state(t)
    except RuntimeError:  # a view that torch refuses to explain
        return None


def _readable_state(t: torch.Tensor) -> Any:
    grad = t.grad if t.is_leaf or t.retains_grad else None
    small = t.layout is torch.strided and not t.is_nested
    small = small and t.device.type == "cpu" and t.numel() < 1000
    readable = small and not t.is_quantized
    return (
        t.requires_grad,
        t.is_leaf,
        t.retains_grad,
        None if t.is_inference() else t._version,
        id(grad) if grad is not None else None,
        t._backward_hooks and list(t._backward_hooks),
        repr(t.detach().tolist()) if readable else None,
    )
