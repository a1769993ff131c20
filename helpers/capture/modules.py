"""Modules: their parts by path, and what is known of each."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from itertools import accumulate

import torch

from ..model import ModuleFacts
from .tensors import Norms, is_uninitialized
from .things import Leaf, is_a, tensors_in

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
    parts: dict[str, torch.nn.Module], norms: Norms | None = None
) -> dict[str, ModuleFacts]:
    """Count the parameters of each Module; with ``norms``, tell the norm of
    their gradients, too.

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
    return {
        path: _module_facts(part, inside[path].values(), norms)
        for path, part in parts.items()
    }


def _module_facts(
    module: torch.nn.Module,
    parameters: Collection[torch.Tensor],
    norms: Norms | None,
) -> ModuleFacts:
    known = [
        norm for p in parameters if norms and (norm := norms.of(p)) is not None
    ]
    return ModuleFacts(
        type(module).__name__,
        sum(p.numel() for p in parameters),
        sum(p.numel() for p in parameters if p.requires_grad),
        math.hypot(*known) if known else None,
    )


_PLAIN = {int, float, bool, type(None)}


def unregistered_in(
    base: str, module: torch.nn.Module
) -> Iterator[tuple[str, Leaf]]:
    """Parameters that a Module holds in plain lists and dicts."""
    for path, part in module.named_modules(prefix=base):
        for attribute, value in vars(part).items():
            if type(value) not in (list, tuple, dict) or attribute[0] == "_":
                continue
            if not _PLAIN.issuperset(map(type, value)):  # no kernel_size
                for name, leaf in tensors_in(f"{path}.{attribute}", value):
                    if is_a(leaf, torch.nn.Parameter):
                        yield name, leaf
