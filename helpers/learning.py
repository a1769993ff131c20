"""Who learns: which parameters get a gradient, and why the others do not.

Pure functions of a :class:`~helpers.model.Run` or of snapshots: plain data
in, no torch.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from .diagnosis import Story, diagnose
from .model import Run, Snapshot, TensorFacts

__all__ = ["Learner", "learners_now", "learners_of", "saved_bytes"]

# What a diagnosis says of a parameter that a gradient reaches, or will.
REACHED = {"has_grad", "no_backward", "cleared"}


@dataclass(frozen=True)
class Learner:
    """A parameter, whether it learns, and why not.

    ``reason`` is one of those of a Diagnosis, or "learns",
    "not_in_optimizer" or "not_registered".
    """

    name: str
    shape: tuple[int, ...]
    learns: bool
    reason: str
    sentence: str = ""
    fix: str = ""


def learners_of(story: Story) -> list[Learner]:
    """Say of each parameter of a recorded program whether it learns."""
    run = story.run
    hidden = {
        note.removeprefix("not registered: ")
        for e in run.events
        for note in e.notes
        if note.startswith("not registered: ")
    }
    found = {}
    for name, tensor in _parameters(run, story, hidden).items():
        diagnosis = diagnose(story, tensor, name)
        life = story.life(tensor)
        learns = diagnosis.reason in REACHED
        one = Learner(
            name,
            life.shape,
            learns,
            "learns" if learns else diagnosis.reason,
            "" if learns else diagnosis.sentence,
            "" if learns else diagnosis.fix,
        )
        if learns and tensor in hidden:
            one = _not_registered(one)
        elif learns and run.optimizers and tensor not in run.held:
            one = _not_in_optimizer(one)
        found[tensor] = one
    return list(found.values())


def _parameters(
    run: Run, story: Story, hidden: Collection[str]
) -> dict[str, str]:
    """Every parameter by name: of Modules that ran, or held otherwise."""
    found = {
        tensor: story.name(tensor) if story.is_named(tensor) else name
        for name, tensor in run.parameters.items()
    }
    others = [t for t in (*run.lives, *run.held) if story.life(t).is_parameter]
    for tensor in [*others, *hidden]:
        if tensor not in found and story.life(tensor).names:
            found[tensor] = story.name(tensor)
    return {name: tensor for tensor, name in found.items()}


def learners_now(
    graph: Snapshot,
    behind_cuts: Snapshot | None,
    registered: Mapping[str, str],
    hidden: Mapping[str, str],
    held: Collection[str] | None,
) -> list[Learner]:
    """Say of each parameter whether a gradient of the loss will reach it.

    ``graph`` is the graph of the loss, the first tensor asked for;
    ``behind_cuts`` the graph of tensors with a history that constants of
    ``graph`` share memory with.  ``registered`` and ``hidden`` are the names
    of parameters by id, ``held`` those that an optimizer holds (None: there
    is none).
    """
    root = graph.by_id[graph.asked[0]]
    loss = root.names[0]
    reached = _reached(graph, [root.id])
    found = []
    for tensor, name in {**registered, **hidden}.items():
        facts = graph.by_id[tensor]
        one = Learner(name, facts.shape, True, "learns")
        if tensor in reached:
            if tensor in hidden:
                one = _not_registered(one)
            elif held is not None and tensor not in held:
                one = _not_in_optimizer(one)
        else:
            one = _why_not(one, facts, loss, root, graph, behind_cuts)
        found.append(one)
    return found


def _why_not(
    one: Learner,
    facts: TensorFacts,
    loss: str,
    root: TensorFacts,
    graph: Snapshot,
    behind_cuts: Snapshot | None,
) -> Learner:
    if not facts.requires_grad:
        return replace(
            one,
            learns=False,
            reason="not_required",
            sentence=f"{one.name} is frozen: its requires_grad is False.",
            fix="Call requires_grad_() on it before the forward pass.",
        )
    cut = _cut_from(facts.id, graph, behind_cuts)
    if cut is not None:
        constant, source = cut
        return replace(
            one,
            learns=False,
            reason="cut",
            sentence=f"The only path from {one.name} to {loss} is cut: {loss} "
            f"was computed from {constant}, which is {source} without its "
            "history (detach() or .data).",
            fix=f"Use {source} itself.",
        )
    if not root.grad_fn and not root.requires_grad:
        return replace(
            one,
            learns=False,
            reason="cut",
            sentence=f"{loss} has no history, so no gradient leaves it.",
            fix="Compute it outside no_grad, without detach() or item(); "
            "recording.who_learns() says where it was cut.",
        )
    return replace(
        one,
        learns=False,
        reason="unused",
        sentence=f"No path leads from {loss} back to {one.name}: it was not "
        "used, or what it gave was cut on the way.",
        fix="Record the forward pass, with record() as recording, and ask "
        "recording.who_learns(): it knows each cut.",
    )


def _cut_from(
    parameter: str, graph: Snapshot, behind_cuts: Snapshot | None
) -> tuple[str, str] | None:
    """A constant that the loss was computed from, and the tensor on the same
    memory that still leads to a parameter, by name.
    """
    for t in graph.objects:
        if t.twin and parameter in _reached(behind_cuts, [t.twin]):
            return t.names[0], graph.by_id[t.twin].names[0]
    return None


def _reached(snapshot: Snapshot | None, starts: Sequence[str]) -> set[str]:
    """The leaves that gradients of some tensors reach, by id."""
    if snapshot is None:
        return set()
    makers = {t: o.id for o in snapshot.operations for _, t in o.outputs}
    wanted = {makers[t] for t in starts if t in makers}
    reached = {t for t in starts if t in snapshot.by_id and t not in makers}
    for o in reversed(snapshot.operations):
        if o.id in wanted:
            graded = [s for s in o.inputs if s.graded]
            wanted |= {s.operation for s in graded if s.operation}
            reached |= {s.tensor for s in graded if s.tensor}
    return {t for t in reached if snapshot.by_id[t].requires_grad}


def _not_registered(one: Learner) -> Learner:
    return replace(
        one,
        learns=False,
        reason="not_registered",
        sentence=f"A gradient reaches {one.name}, but it is not in the "
        "Module's parameters(), so no optimizer made from them moves it.",
        fix="Hold it as an attribute, or in nn.ParameterList or "
        "nn.ModuleList, not in a plain list or dict.",
    )


def _not_in_optimizer(one: Learner) -> Learner:
    return replace(
        one,
        learns=False,
        reason="not_in_optimizer",
        sentence=f"A gradient reaches {one.name}, but no optimizer holds it.",
        fix="Give it to the optimizer, for instance as "
        "model.parameters() or with add_param_group().",
    )


# -- what is kept for backward


def saved_bytes(run: Run, inside: str) -> int:
    """Bytes that the operations of a module keep for backward.

    Each storage counts once; a Module's own parameters and buffers do not
    count, as they are there anyway.
    """
    sizes: dict[str, int] = {}
    for life in run.lives.values():
        place = life.storage or life.id  # one that is gone has its own
        size = _nbytes(life.shape, life.dtype)
        sizes[place] = max(sizes.get(place, 0), size)
    owned = {
        life.storage or life.id
        for life in run.lives.values()
        if life.is_parameter
        or any(n.rpartition(".")[0] in run.modules for n in life.names)
    }
    kept: set[str] = set()
    more = 0
    for e in run.events:
        if e.module == inside or e.module.startswith(f"{inside}."):
            kept |= {s.storage or s.counter for s in e.saved}
            more += e.saved_else
    return sum(sizes.get(s, 0) for s in kept - owned) + more


def _nbytes(shape: Sequence[int], dtype: str) -> int:
    count = 1
    for size in shape:
        count *= size
    bits = re.search(r"\d+", dtype)
    return count * (int(bits[0]) // 8 if bits else 1)
