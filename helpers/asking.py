"""who_learns and summary: a model's parameters and Modules, row by row."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .capture import look_at
from .capture.learners import look_for_learners
from .diagnosis import Story
from .diagrams.sheet import Sheet
from .diagrams.words import counted, listed
from .learning import Learner, learners_now, learners_of, saved_bytes
from .model import ModuleFacts, Run, number_text

__all__ = ["Learners", "summary_of", "who_learns", "who_learns_in"]

FEW = 12  # parameters that get a row each


@dataclass(frozen=True, repr=False)
class Learners(Sheet):
    """A table of who learns; ``parameters`` has every single one."""

    parameters: tuple[Learner, ...] = ()


def who_learns(model: Any, loss: Any, optimizer: Any = None) -> Learners:
    """Say which parameters get a gradient from a loss, and why others don't.

    ``model`` is a Module, or a list of them; ``loss`` the tensor that
    backward() will be called on; ``optimizer`` one or several, else those
    among your variables.  backward() is not called, and nothing is changed.

    Returns a table with ``.parameters``: each has a ``name``, a ``shape``,
    ``learns``, and a ``reason``: "learns", "not_required", "cut", "unused",
    "not_registered" or "not_in_optimizer".  Raises TypeError for what is no
    Module, no tensor or no optimizer.

    >>> import torch
    >>> net = torch.nn.Linear(2, 1)
    >>> _ = net.bias.requires_grad_(False)
    >>> loss = net(torch.ones(1, 2)).sum()
    >>> print(who_learns(net, loss))
    1 of 2 parameters learns from loss.
      parameter   shape   learns  why not
      net.bias    [1]     no      It is frozen: its requires_grad is False. Call requires_grad_() on it before the forward pass.
      net.weight  [1, 2]  yes

    Source: "Locally disabling gradient computation" and "Setting
    requires_grad" in PyTorch's notes on autograd mechanics.
    """  # noqa: E501
    frame = sys._getframe(1)
    look = look_for_learners(model, loss, optimizer, look_at(frame, 2))
    found = learners_now(
        look.graph,
        look.behind_cuts,
        look.registered,
        look.hidden,
        look.held,
    )
    return _table(found, look.graph.by_id[look.graph.asked[0]].names[0])


def who_learns_in(story: Story) -> Learners:
    """Say which parameters of a recorded program learn, and why others don't.

    As :func:`who_learns`, but each cut is known with its line.
    """
    return _table(learners_of(story), "the recorded program")


def _table(found: Sequence[Learner], loss: str) -> Learners:
    learning = sum(one.learns for one in found)
    noun = "parameter" if len(found) == 1 else "parameters"
    verb = "learns" if learning == 1 else "learn"
    title = f"{learning} of {len(found)} {noun} {verb} from {loss}."
    # first those that do not learn: they are what the reader looks for
    first: dict[tuple[str, str], int] = {}
    for place, one in enumerate(found):
        first.setdefault(_answer(one), place)
    many = len(found) > FEW  # then equal answers stand together

    def rank(one: Learner) -> tuple[bool, int]:
        return one.learns, first[_answer(one)] if many else 0

    ordered = sorted(found, key=rank)
    groups = _groups(ordered, many)
    rows = tuple(
        (
            _names(group),
            str(list(group[0].shape)) if len(group) == 1 else "",
            "yes" if group[0].learns else "no",
            _told(group[0]),
        )
        for group in groups
    )
    return Learners(
        title,
        ("parameter", "shape", "learns", "why not"),
        rows,
        tuple(k for k, group in enumerate(groups) if not group[0].learns),
        parameters=tuple(found),
    )


def _groups(found: Sequence[Learner], together: bool) -> list[list[Learner]]:
    """Parameters with the same answer, in a row; else each for itself."""
    groups: list[list[Learner]] = []
    for one in found:
        if together and groups and _answer(groups[-1][0]) == _answer(one):
            groups[-1].append(one)
        else:
            groups.append([one])
    return groups


def _told(one: Learner) -> str:
    """Why it does not learn, without its name, which stands beside it."""
    why = one.sentence.removeprefix(f"{one.name}.grad is None because ")
    told = f"{why} {one.fix}".strip()
    told = re.sub(rf"{re.escape(one.name)}\.(?=\w)", "", told)
    told = told.replace(one.name, "it")
    word = told.split(" ")[0]
    return told[:1].upper() + told[1:] if word.isalpha() else told


def _answer(one: Learner) -> tuple[str, str]:
    return one.reason, one.sentence.replace(one.name, "")


def _names(group: Sequence[Learner]) -> str:
    """The name of one, or what the names of several have in common."""
    if len(group) == 1:
        return group[0].name
    first, last = group[0].name.split("."), group[-1].name.split(".")
    shared = 0
    while (
        shared < min(len(first), len(last)) - 1
        and first[shared] == last[shared]
        and all(one.name.split(".")[shared] == first[shared] for one in group)
    ):
        shared += 1
    if shared:
        path = ".".join(first[:shared])
        return f"{path}: {counted(len(group), 'parameter')}"
    return listed([one.name for one in group])


# -- a table of Modules


def summary_of(story: Story) -> Sheet:
    """Tell of each Module that ran: parameters, result, what it keeps."""
    run = story.run
    learners = {one.name: one for one in learners_of(story)}
    called = [p for p, facts in run.modules.items() if not facts.only_holds]
    paths = sorted(called, key=_in_order(run))
    rows = []
    marked = []
    for k, path in enumerate(paths):
        facts = run.modules[path]
        inside = [one for name, one in learners.items() if _is_in(name, path)]
        answer = _gradient(facts, inside)
        if inside and not any(one.learns for one in inside):
            marked.append(k)
        depth = sum(path.startswith(f"{other}.") for other in paths)
        rows.append(
            (
                "  " * depth + path,
                facts.kind,
                f"{facts.parameters:,}",
                f"{facts.trainable:,}",
                "" if facts.shape is None else str(list(facts.shape)),
                _size(saved_bytes(run, path)),
                answer,
            )
        )
    top = [p for p in paths if not any(p.startswith(f"{o}.") for o in paths)]
    names = ", ".join(top) or "no Module"
    return Sheet(
        f"{counted(len(paths), 'Module')} ran in {names}.",
        (
            "module",
            "class",
            "parameters",
            "trainable",
            "output",
            "saved",
            "gradient",
        ),
        tuple(rows),
        tuple(marked),
        "llrrlrl",
        notes=(
            "saved: what its operations keep for backward, each storage "
            "once, without parameters and buffers.",
        ),
    )


def _in_order(run: Run) -> Any:
    """Modules as they ran for the first time, each behind its parent."""
    first: dict[str, int] = {}
    for e in run.events:
        words = e.module.split(".")
        for n in range(len(words)):
            first.setdefault(".".join(words[: n + 1]), e.number)

    def key(path: str) -> list[tuple[int, str]]:
        words = path.split(".")
        paths = [".".join(words[: n + 1]) for n in range(len(words))]
        last = len(run.events)
        return [(first.get(p, last), p) for p in paths]

    return key


def _is_in(name: str, path: str) -> bool:
    return name.startswith(f"{path}.")


def _gradient(facts: ModuleFacts, inside: Sequence[Learner]) -> str:
    """Its norm, or why there is none, or of how many."""
    if not inside:
        return "" if facts.parameters == 0 else "not used"
    missing = [one for one in inside if not one.learns]
    norm = ""
    if facts.grad_norm is not None:
        norm = f"norm {number_text(facts.grad_norm)}"
    if not missing:
        return norm or "not yet"
    reasons = listed(list(dict.fromkeys(one.reason for one in missing)))
    if len(missing) == len(inside):
        return f"none: {reasons}"
    return f"{norm or 'some'}; {len(missing)} of {len(inside)}: {reasons}"


def _size(count: int) -> str:
    """Bytes, in a unit that a person reads.

    >>> _size(0), _size(980), _size(2_500_000)
    ('0 B', '980 B', '2.5 MB')
    """
    size = float(count)
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"
