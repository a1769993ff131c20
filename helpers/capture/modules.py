"""Modules: their parts by path, and what is known of each."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import accumulate

import torch

from ..model import ModuleFacts
from .tensors import gradient_of, is_uninitialized, norm_of
from .things import Leaf, is_a, tensors_in

MOST_OF_A_MODULE = 100_000_000  # elements of one gradient: 40 ms

__all__ = ["facts_of_modules", "parts_of", "unregistered_in"]


def parts_of(
    name: str, module: torch.nn.Module
) -> Iterator[tuple[str, torch.nn.Module]]:
    """Yield each part of a Module with its path."""
    if "_modules" not in vars(module):  # before its __init__ has run
        return
    for path, part in module.named_modules():
        yield f"{name}.{path}" if path and name else path or name, part


def facts_of_modules(
    parts: dict[str, torch.nn.Module], norms: bool = True
) -> dict[str, ModuleFacts]:
    """Count the parameters of each Module, and take their gradients' norm.

    >>> facts_of_modules({"net": torch.nn.Linear(2, 3)})["net"].count_text()
    '9 parameters, trainable'
    """
    inside: dict[str, dict[int, torch.Tensor]] = {path: {} for path in parts}
    for path, part in parts.items():
        own = [p for p in part._parameters.values() if p is not None]
        for p in own:
            if not is_uninitialized(p):
                for outer in accumulate(path.split("."), "{}.{}".format):
                    inside.get(outer, {})[id(p)] = p
    squares: dict[int, float | None] = {}
    return {
        path: _module_facts(part, inside[path].values(), squares, norms)
        for path, part in parts.items()
    }


def _module_facts(
    module: torch.nn.Module,
    parameters: Collection[torch.Tensor],
    squares: dict[int, float | None],
    norms: bool,
) -> ModuleFacts:
    known = [
        square
        for p in (parameters if norms else ())
        if (square := _square(p, squares)) is not None
    ]
    return ModuleFacts(
        type(module).__name__,
        sum(p.numel() for p in parameters),
        sum(p.numel() for p in parameters if p.requires_grad),
        sum(known) ** 0.5 if known else None,
    )


def _square(
    parameter: torch.Tensor, squares: dict[int, float | None]
) -> float | None:
    """The square of the norm of its gradient, taken once."""
    if id(parameter) not in squares:
        grad = gradient_of(parameter)
        norm = None if grad is None else norm_of(grad, MOST_OF_A_MODULE)
        squares[id(parameter)] = None if norm is None else norm * norm
    return squares[id(parameter)]


def unregistered_in(
    base: str, module: torch.nn.Module
) -> Iterator[tuple[str, Leaf]]:
    """Parameters that a Module holds in plain lists and dicts."""
    for path, part in module.named_modules(prefix=base):
        for attribute, value in vars(part).items():
            if type(value) in (list, tuple, dict) and attribute[0] != "_":
                for name, leaf in tensors_in(f"{path}.{attribute}", value):
                    if is_a(leaf, torch.nn.Parameter):
                        yield name, leaf
