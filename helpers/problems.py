"""What will fail, or is silently wrong: each problem one function of a run.

No false alarm on a right program: a graph that a backward has used up is left
alone, and so is what nobody can call backward on any more.
"""

from __future__ import annotations

from collections.abc import Iterator

from .diagnosis import Problem, Story
from .model import Event

__all__ = ["find"]


def find(story: Story) -> list[Problem]:
    """Return the problems of a run, in order of the lines."""
    found: dict[tuple[str, str], Problem] = {}
    known_writes = list(_saved_and_changed(story))
    for search in (
        _backward_that_raised,
        lambda _: known_writes,
        _frozen_but_moving,
        _view_from_no_grad,
        _not_registered,
        _not_in_optimizer,
    ):
        for problem in search(story):
            found.setdefault((problem.kind, problem.sentence), problem)
    if any(p.kind == "backward_will_fail" for p in known_writes):
        # the write itself is told, and its line
        found = {
            k: p
            for k, p in found.items()
            if "was changed in place" not in k[1]
        }
    return sorted(found.values(), key=lambda p: p.line or 0)


def _backward_that_raised(story: Story) -> Iterator[Problem]:
    for e in story.run.events:
        if e.kind not in ("backward", "grad") or not e.error:
            continue
        root = e.inputs[0] if e.inputs else None
        loss = story.name(root.tensor) if root else "the loss"
        if root is not None and not root.requires_grad:
            yield Problem(
                "backward_will_fail",
                f"{loss} has no history: backward() in line {e.line} raises.",
                _history_fix(story, root.tensor, e.number),
                e.line,
            )
        elif "not a scalar" in e.notes and "scalar" in e.error:
            yield Problem(
                "backward_will_fail",
                f"{loss} is not a scalar: backward() in line {e.line} raises.",
                f"Reduce it, {loss}.sum() or {loss}.mean(), or give backward "
                "a gradient of its shape.",
                e.line,
            )
        elif "modified by an inplace" in e.error:
            yield Problem(
                "backward_will_fail",
                f"a tensor that was saved for {loss} was changed in place: "
                f"backward() in line {e.line} raises.",
                "Write into a clone, or compute it anew after the write.",
                e.line,
            )
        elif "second time" in e.error:
            first = _freed_by(story, e)
            where = f" in line {first}" if first else ""
            yield Problem(
                "backward_will_fail",
                f"an earlier backward(){where} freed the graph of {loss}: "
                f"backward() in line {e.line} raises.",
                "Compute it anew, or cut the old part with detach(); "
                "retain_graph=True keeps it.",
                e.line,
            )


def _history_fix(story: Story, root: str, time: int) -> str:
    reach = story.behind(root, time)
    cuts = [story.run.events[i] for i in sorted(reach.cuts)]
    if cuts:
        cut = str(story.cut(cuts[-1])).rstrip(",")
        return f"The history was cut in {cut}."
    return "None of the tensors it was computed from requires grad."


def _freed_by(story: Story, failed: Event) -> int | None:
    """The line of the last backward that ran before one that failed."""
    lines = [
        e.line
        for e in story.run.events[: failed.number]
        if e.kind in ("backward", "grad") and not e.error
    ]
    return lines[-1] if lines else None


# -- saved tensors that were changed


def _saved_and_changed(story: Story) -> Iterator[Problem]:
    """Operations whose saved tensors were written to before backward."""
    run = story.run
    last = max(
        (
            e.number
            for e in run.events
            if e.kind in ("backward", "grad") and not e.error
        ),
        default=-1,
    )
    for e in run.events:
        if not e.saved:
            continue
        end = _used_up(story, e)
        # a program that has done its backward won't call it on what it
        # computed afterwards
        if end is None and (last >= 0 or not _can_still_go_back(story, e)):
            continue
        for write in _writes_after(story, e, end or len(run.events)):
            problem = _problem_of_write(story, e, write)
            if problem is not None:
                yield problem
                break


def _used_up(story: Story, e: Event) -> int | None:
    """When the first backward that went through an operation ran."""
    if not story.used_up:
        for after in story.run.events:
            if after.kind not in ("backward", "grad") or not after.inputs:
                continue
            if "retain_graph" in after.notes and not after.error:
                continue
            for use in after.inputs:
                behind = _events_behind(story, use.tensor, after.number)
                for number in behind:
                    story.used_up.setdefault(number, after.number)
    return story.used_up.get(e.number)


def _events_behind(story: Story, root: str, time: int) -> frozenset[int]:
    key = (root, time)
    if key not in story.behind_events:
        seen: set[int] = set()
        stack = [(root, time)]
        while stack:
            tensor, before = stack.pop()
            for event, followed in story.producers(tensor, before):
                if event.number in seen or not followed or event.cut:
                    continue
                if event.kind not in ("operation", "in_place"):
                    continue
                seen.add(event.number)
                stack += [
                    (u.tensor, event.number)
                    for u in event.inputs
                    if u.requires_grad
                ]
        story.behind_events[key] = frozenset(seen)
    return story.behind_events[key]


def _can_still_go_back(story: Story, e: Event) -> bool:
    """Say whether a variable still holds a result of an operation, or
    something computed from it.
    """
    run = story.run
    held = set(run.names.values())
    for t in held:
        life = story.life(t)
        behind = life.requires_grad and not life.is_leaf
        if behind and e.number in _events_behind(story, t, len(run.events)):
            return True
    return False


def _writes_after(story: Story, e: Event, end: int) -> Iterator[Event]:
    counters = {s.counter for s in e.saved}
    storages = {s.storage for s in e.saved if s.storage}
    for write in story.run.events[e.number + 1 : end]:
        if not write.writes:
            continue
        on = {story.life(t).storage for t in write.writes}
        touched = {c for c, _ in write.counters}
        if touched & counters or on & storages:
            yield write


def _problem_of_write(story: Story, e: Event, write: Event) -> Problem | None:
    counters = dict(write.counters)
    for saved in e.saved:
        moved = counters.get(saved.counter)
        name = _saved_name(story, e, saved.label)
        where = f"line {write.line}"
        text = story.line_text(write.line)
        if moved is not None and moved > saved.version:
            return Problem(
                "backward_will_fail",
                f"{e.name} saved {name} at version {saved.version} and "
                f"{where}, `{text}`, wrote to it: backward will raise.",
                "Write into a clone, or write before it is used.",
                write.line,
            )
        same = saved.storage in {story.life(t).storage for t in write.writes}
        if moved is None and same and saved.storage:
            how = "NumPy" if write.kind == "numpy_write" else ".data"
            if not saved.counter:
                how = "another tensor on its memory"
            return Problem(
                "silently_wrong",
                f"{where}, `{text}`, changed what {e.name} saved ({name}) "
                f"through {how}, and no version counter noticed: the "
                "gradient is wrong.",
                "Use detach().clone(), or write under no_grad so that "
                "autograd can notice.",
                write.line,
            )
    return None


def _saved_name(story: Story, e: Event, label: str) -> str:
    if label.startswith("result") and e.outputs:
        return story.name(e.outputs[0].tensor)
    slots = {"self": 0, "input": 0, "mat1": 0, "other": 1, "mat2": 1}
    place = slots.get(label, 0)
    if place < len(e.inputs):
        return story.name(e.inputs[place].tensor)
    return label


# -- parameters


def _frozen_but_moving(story: Story) -> Iterator[Problem]:
    for e in story.run.events:
        for tensor in _noted(e, "frozen: "):
            name = story.name(tensor)
            yield Problem(
                "frozen_but_moving",
                f"{name} is frozen (requires_grad is False) and line "
                f"{e.line}, `{story.line_text(e.line)}`, still moved it: "
                f"its .grad is not None.",
                f"Set {name}.grad = None, or leave it out of the optimizer.",
                e.line,
            )


def _view_from_no_grad(story: Story) -> Iterator[Problem]:
    for e in story.run.events:
        for tensor in _noted(e, "view from no_grad: "):
            used = [
                later
                for later in story.run.events[e.number + 1 :]
                if later.mode == "grad"
                and later.kind == "operation"
                and any(
                    u.tensor == tensor and u.requires_grad
                    for u in later.inputs
                )
            ]
            if used:
                name = story.name(tensor)
                yield Problem(
                    "view_from_no_grad",
                    f"{name} is a view that line {e.line} made under "
                    "no_grad: it says requires_grad=True, and no gradient "
                    "gets past it.",
                    "Make the view outside no_grad, or detach() it.",
                    e.line,
                )


def _not_registered(story: Story) -> Iterator[Problem]:
    for e in story.run.events:
        for tensor in _noted(e, "not registered: "):
            name = story.name(tensor)
            yield Problem(
                "not_registered",
                f"{name} is a Parameter that {e.module or 'a Module'} uses "
                "and that is not in its parameters(): an optimizer does not "
                "see it.",
                "Make it an attribute of the Module itself, or put it into "
                "a ParameterList or ParameterDict (whole Modules into a "
                "ModuleList or ModuleDict).",
                e.line,
            )


def _not_in_optimizer(story: Story) -> Iterator[Problem]:
    run = story.run
    if not any(e.kind == "step" for e in run.events):
        return
    held = set(run.held)
    first: dict[str, int] = {}
    for e in run.events:
        for t in e.received:
            first.setdefault(t, e.number)
    for tensor in [t for t in first if t not in held]:
        life = story.life(tensor)
        by_hand = any(
            tensor in e.writes and e.kind == "in_place" and not e.grad_fn
            for e in run.events
            if e.number > first[tensor]
        )
        if by_hand:
            continue
        if life.is_parameter and tensor in run.names.values():
            name = story.name(tensor)
            yield Problem(
                "not_in_optimizer",
                f"{name} gets a gradient, and no optimizer holds it: it "
                "never moves.",
                "Hand it to the optimizer, or make the optimizer after the "
                "parameter.",
            )


def _noted(e: Event, word: str) -> list[str]:
    return [n.removeprefix(word) for n in e.notes if n.startswith(word)]
