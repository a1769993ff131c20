"""What one line did, in a sentence or two."""

from __future__ import annotations

from .diagnosis import Story
from .model import Event, Step

__all__ = ["tell"]

MOST_NAMED = 5
MOST_TOLD = 4  # events of one line that are told one by one


def tell(story: Story, step: Step) -> str:
    """Say what a step did to tensors, memory and gradients."""
    events = [story.run.events[i] for i in step.events]
    parts = []
    cuts = [e for e in events if e.cut and e.cut != "frozen"]
    if cuts:
        parts.append(_told_cut(story, cuts[0]))
        if len(cuts) > 1:
            parts.append(f"({len(cuts)} cuts in this line.)")
    new = _appeared(story, step, events)
    if new:
        verb = "is" if len(new) == 1 else "are"
        parts.append(f"{_names(story, new)} {verb} new.")
        events = [e for e in events if not _is_inner(story, e, set(new))]
    told = [_told_group(story, group) for group in _groups(events)]
    told = list(dict.fromkeys(t for t in told if t))
    parts += told[:MOST_TOLD]
    if not events:
        parts += _renamed(story, step)
    if len(told) > MOST_TOLD:
        more = len(told) - MOST_TOLD
        parts.append(f"And {more} more operation{'s' * (more > 1)}.")
    last = step.number == len(story.run.steps) - 1
    if last and story.run.error:
        parts.append(f"This line raises {story.run.error.splitlines()[0]}")
    return " ".join(parts) or "Nothing happens to a tensor."


def _appeared(story: Story, step: Step, events: list[Event]) -> list[str]:
    """The named tensors that are there now and that no operation made, as
    the Parameters of a Module.
    """
    if step.snapshot is None:
        return []
    known = set(story.run.before)
    if step.number:
        before = story.run.steps[step.number - 1].snapshot
        known |= set(before.by_id) if before is not None else set()
    made = [e for e in events if e.kind in ("operation", "grad")]
    known |= {u.tensor for e in made for u in e.outputs}
    grads = {t.grad.id for t in step.snapshot.objects if t.grad is not None}
    return [
        t.id
        for t in step.snapshot.objects
        if t.id not in known and t.id not in grads and t.type != "ndarray"
    ]


def _renamed(story: Story, step: Step) -> list[str]:
    """Say which variables are one more name for a tensor that has one."""
    if step.snapshot is None or not step.number:
        return []
    before = story.run.steps[step.number - 1].snapshot
    old = before.by_id if before is not None else {}
    told = []
    for t in step.snapshot.objects:
        known = [n for n in t.names if t.id in old and n in old[t.id].names]
        new = [n for n in t.names if n.isidentifier() and n not in known]
        if known and new:
            told.append(f"{new[0]} is one more name for {known[0]}.")
    return told


def _is_inner(story: Story, e: Event, new: set[str]) -> bool:
    """Say whether an operation only serves to make what is new: it writes
    its first values, or has neither an input nor a result with a name.
    """
    if e.writes:
        return set(e.writes) <= new
    uses = (*e.inputs, *e.outputs)
    plain = e.kind == "operation" and not e.cut
    return plain and not any(story.is_named(u.tensor) for u in uses)


def _groups(events: list[Event]) -> list[list[Event]]:
    """Neighbours that are told in one sentence: operations, cleared grads."""
    groups: list[list[Event]] = []
    for e in events:
        plain = e.kind == "operation" and not e.cut and bool(e.inputs)
        same = groups and _is_like(groups[-1][-1], e)
        if same and (plain or e.kind == "grad_set"):
            groups[-1].append(e)
        else:
            groups.append([e])
    return groups


def _is_like(first: Event, second: Event) -> bool:
    if first.kind != second.kind or first.cut or second.cut:
        return False
    return first.kind == "grad_set" or bool(first.inputs)


def _told_group(story: Story, group: list[Event]) -> str:
    if len(group) == 1:
        return _told(story, group[0])
    if group[0].kind == "grad_set":
        names = [f"{story.name(e.inputs[0].tensor)}.grad" for e in group]
        value = "" if group[-1].value else " to None"
        return f"{_listed(list(dict.fromkeys(names)))} are set{value}."
    made = {u.tensor for e in group for u in e.outputs}
    used = {u.tensor for e in group for u in e.inputs}
    ins = [u.tensor for e in group for u in e.inputs if u.tensor not in made]
    outs = [
        u.tensor
        for e in group
        for u in e.outputs
        if u.tensor not in used or story.is_named(u.tensor)
    ]
    steps = list(dict.fromkeys(e.name for e in group))
    more = ", …" if len(steps) > MOST_NAMED else ""
    what = ", ".join(steps[:MOST_NAMED]) + more
    if not outs:
        return f"{what} use {_names(story, ins)}."
    return f"{what}: {_names(story, outs)} from {_names(story, ins)}."


def _told_cut(story: Story, e: Event) -> str:
    cut = story.cut(e)
    names = [story.name(u.tensor) for u in e.inputs if u.requires_grad]
    source = names[0] if names else "its input"
    what = {
        "detach": f"`{cut.text}` gives a tensor on the storage of {source} "
        "without history.",
        "data": f"`{cut.text}` gives a tensor on the storage of {source} "
        "without history, with a version counter of its own.",
        "item": f"`{cut.text}` gives a Python number.",
        "numpy": f"`{cut.text}` gives a NumPy array.",
        "copy": f"`{cut.text}` makes a new leaf from the values.",
        "no_grad": f"`{cut.text}` is on: {e.name} is not recorded.",
        "inference_mode": f"`{cut.text}` is on: {e.name} is not recorded.",
        "not_differentiable": f"{e.name} has no derivative.",
    }[e.cut]
    return f"Line {e.line} cuts the gradient. {what}"


def _told(story: Story, e: Event) -> str:
    ins = _names(story, [u.tensor for u in e.inputs])
    outs = _names(story, [u.tensor for u in e.outputs])
    if e.kind == "backward":
        return _told_backward(story, e, ins)
    if e.kind == "grad":
        return f"autograd.grad computes a gradient of {ins}; no .grad changes."
    if e.kind == "step":
        moved = _names(story, list(e.writes))
        return f"{e.name}() moves {moved}." if moved else f"{e.name}()."
    if e.kind == "flag":
        now = "requires grad" if e.value else "is frozen: requires_grad False"
        return f"{ins} {now}."
    if e.kind == "grad_set":
        return f"{ins}.grad is set{'' if e.value else ' to None'}."
    if e.kind == "numpy_write":
        return f"The array {outs} is written to; no version counter notices."
    if e.kind == "in_place":
        return _told_write(story, e)
    if e.kind == "leaves" or e.cut:
        return ""
    if not e.inputs:
        return f"{e.name} makes {outs}."
    way = f" ({e.grad_fn})" if e.grad_fn else ""
    return f"{e.name}{way} makes {outs} from {ins}."


def _told_backward(story: Story, e: Event, root: str) -> str:
    if e.error:
        return f"backward() from {root} fails."
    got = _names(story, list(e.received))
    return f"backward() from {root}: {got or 'nobody'} got a gradient."


def _told_write(story: Story, e: Event) -> str:
    storages = {story.life(i).storage for i in e.writes} - {None}
    sees = [
        story.name(i)
        for i, life in story.run.lives.items()
        if life.storage in storages and life.names and i not in e.writes
    ]
    more = f" {_listed(sees)} see{'s' if len(sees) == 1 else ''} it too."
    alone = len(e.writes) == 1 and e.counters
    version = f" (version {e.counters[0][1]})" if alone else ""
    written = _names(story, list(e.writes))
    return f"{e.name} writes into {written} in place{version}." + (
        more if sees else ""
    )


def _names(story: Story, tensors: list[str]) -> str:
    names = list(dict.fromkeys(story.name(t) for t in tensors))
    if len(names) > 6:
        names = [*names[:5], f"{len(names) - 5} more"]
    return _listed(names)


def _listed(words: list[str]) -> str:
    if len(words) < 2:
        return "".join(words)
    return ", ".join(words[:-1]) + " and " + words[-1]
