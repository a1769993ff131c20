"""What is to be known of a loss and of the parameters that shall learn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

from ..model import Snapshot
from . import take
from .identity import Identity
from .modules import unregistered_in
from .names import Caller
from .things import is_a, refusal

__all__ = ["Look", "look_for_learners"]

MOST_PARAMETERS = 20_000


@dataclass(frozen=True)
class Look:
    """The graph of a loss, what lies behind its cuts, and the parameters.

    ``registered`` and ``hidden`` give the name of each parameter by its id:
    those in ``parameters()``, and those that are held in a plain list or
    dict.  ``held`` are the ids that an optimizer holds, None without one.
    """

    graph: Snapshot
    behind_cuts: Snapshot | None
    registered: dict[str, str]
    hidden: dict[str, str]
    held: set[str] | None


def look_for_learners(
    model: Any, loss: Any, optimizer: Any, caller: Caller
) -> Look:
    """Look at a loss and the parameters of a Module (or of several).

    Without an optimizer, those among the caller's variables count.

    Raises TypeError for what is no Module, no tensor, or no optimizer.
    """
    modules = dict(_modules(model, caller))
    if not is_a(loss, torch.Tensor):
        raise TypeError(refusal(loss, "who_learns"))
    optimizers = _optimizers(optimizer, caller)
    registered = {
        name: p
        for base, module in modules.items()
        for name, p in module.named_parameters(base)
    }
    known = {id(p) for p in registered.values()}
    hidden = {
        name: p
        for base, module in modules.items()
        for name, p in unregistered_in(base, module)
        if id(p) not in known
    }
    identity = Identity()
    things: list[tuple[str | None, Any]] = [(_name(loss, caller), loss)]
    things += [*registered.items(), *hidden.items()]
    graph = take(
        "who_learns",
        things,
        caller,
        graph=True,
        identity=identity,
        most_asked=MOST_PARAMETERS,
    )
    held = None
    if optimizers:
        held = {
            identity.of(p)
            for one in optimizers
            for group in one.param_groups
            for p in group["params"]
        }
    return Look(
        graph,
        _behind(graph, identity, caller),
        {identity.of(p): name for name, p in registered.items()},
        {identity.of(p): name for name, p in hidden.items()},
        held,
    )


def _behind(
    graph: Snapshot, identity: Identity, caller: Caller
) -> Snapshot | None:
    """The graph of the tensors that a constant was cut from."""
    cut = {t.twin for t in graph.objects if t.twin}
    sources = [leaf for name, leaf in identity.living() if name in cut]
    if not sources:
        return None
    things: list[tuple[str | None, Any]] = [(None, s) for s in sources]
    return take("who_learns", things, caller, graph=True, identity=identity)


def _modules(
    model: Any, caller: Caller
) -> Iterator[tuple[str, torch.nn.Module]]:
    for one in model if type(model) in (list, tuple) else [model]:
        if not is_a(one, torch.nn.Module):
            raise TypeError(
                f"who_learns was given {type(one).__name__} where a Module "
                "belongs: call who_learns(model, loss)."
            )
        yield _name(one, caller) or type(one).__name__, one


def _optimizers(given: Any, caller: Caller) -> list[Any]:
    if given is not None:
        some = given if type(given) in (list, tuple) else [given]
        for one in some:
            if not is_a(one, torch.optim.Optimizer):
                raise TypeError(
                    f"who_learns was given {type(one).__name__} as optimizer: "
                    "hand in a torch.optim.Optimizer, or a list of them."
                )
        return list(some)
    values: Iterable[Any] = caller.variables.values()
    return [v for v in values if is_a(v, torch.optim.Optimizer)]


def _name(thing: Any, caller: Caller) -> str | None:
    for space in (caller.variables, caller.around):
        for name, value in space.items():
            if value is thing:
                return name
    return None
