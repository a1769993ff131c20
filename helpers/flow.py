"""From a run to what its pictures show: data flow, gradient flow, cuts, and
what a line has changed.

Pure functions of a :class:`~helpers.model.Run`: plain data in, no torch.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from .diagnosis import Story
from .model import (
    GONE,
    UNNAMED,
    CutEdge,
    Event,
    Life,
    ModuleFacts,
    Operation,
    Run,
    Snapshot,
    Source,
    TensorFacts,
    Use,
)

__all__ = ["flow", "flows", "living", "memory_after"]

# Cuts that are no operation of their own in the picture, but an edge.
EDGES = {"detach", "data", "item", "numpy", "copy"}
MOST_CUTS_TOLD = 6
MOST_SAID = 160  # letters of an error
MOST_DRAWN = 60  # tensors in one memory picture


@dataclass(frozen=True)
class _Flowing(Snapshot):
    """A snapshot that knows what is said of each cut and of each tensor at
    the end of one, by id.
    """

    told: Mapping[str, str] = field(default_factory=dict)


def flow(run: Run, step: int) -> Snapshot:
    """Return the operations up to a step, with the cuts on their edges."""
    return flows(run, [step])[0]


def flows(run: Run, steps: Iterable[int]) -> list[Snapshot]:
    """Return the flow up to each of several steps: the run is read once."""
    whole = _Whole(run)
    return [_Flow(whole, step).snapshot() for step in steps]


def living(snapshot: Snapshot) -> Snapshot:
    """Leave out what led to nothing that has a name by now, as the earlier
    rounds of a loop, and unnamed ends behind a cut.
    """
    operations = {o.id: o for o in snapshot.operations}
    cut_from = {c.tensor: c.source for c in snapshot.cuts}
    ahead = [o.id for o in snapshot.operations if o.outputs]
    ahead += [
        s.operation
        for t in snapshot.asked
        if (s := cut_from.get(t)) and s.operation
    ]
    kept: set[str] = set()
    while ahead:
        one = ahead.pop()
        if one in kept:
            continue
        kept.add(one)
        for source in operations[one].inputs:
            if source.tensor in cut_from:
                source = cut_from[source.tensor]
            if source.operation:
                ahead.append(source.operation)
    used = {
        s.tensor for i in kept for s in operations[i].inputs if s.tensor
    } | set(snapshot.asked)
    left_out = len(operations) - len(kept)
    if not kept or not left_out:
        return snapshot
    who = "operations: they" if left_out > 1 else "operation: it"
    said = f"{left_out:,} more {who} gave nothing that is there any more"
    notes = snapshot.notes
    if isinstance(snapshot, _Flowing):
        gone = len(_told_cuts(snapshot.told.values()))
        shown = kept | used
        seen = [v for k, v in snapshot.told.items() if k in shown]
        notes = (*_told_cuts(seen), *notes[gone:])
    return replace(
        snapshot,
        operations=tuple(o for o in snapshot.operations if o.id in kept),
        cuts=tuple(c for c in snapshot.cuts if c.tensor in used),
        loose=tuple(t for t in snapshot.loose if t in used),
        notes=(*notes, said),
    )


def _told_cuts(sentences: Iterable[str]) -> list[str]:
    """Each sentence once, and of many the first ones."""
    told = list(dict.fromkeys(sentences))
    more = len(told) - MOST_CUTS_TOLD
    if more > 0:
        said = f"And {more} more cut{'s' * (more > 1)}"
        told = [*told[:MOST_CUTS_TOLD], said]
    return told


def memory_after(run: Run, step: int) -> Snapshot:
    """Return the memory after a step; its marks say what the line changed."""
    found = _snapshot_at(run, step)
    if step < 0 or not run.steps or run.steps[step].snapshot is None:
        return found
    before = _snapshot_at(run, step - 1) if step > 0 else Snapshot()
    # in order of first appearance, so that rows keep their place
    objects = sorted(found.objects, key=lambda t: int(t.id[1:]))
    marks = _marks(before, found, run.before)
    found = replace(found, objects=tuple(objects), marks=marks)
    return _few(_about(run, found))


def _about(run: Run, snapshot: Snapshot) -> Snapshot:
    """Leave out what the code neither names nor uses, as a notebook's other
    cells may have made it, unless it shares memory with what is shown.
    """
    words = _words(run.source)
    if words is None:
        return snapshot
    used = {
        use.tensor for e in run.events for use in (*e.inputs, *e.outputs)
    }.union(*(e.writes for e in run.events))
    kept = [
        t
        for t in snapshot.objects
        if t.id in used or any(_root(name) in words for name in t.names)
    ]
    shared = {t.storage for t in kept if t.storage is not None}
    ids = {t.id for t in kept}
    objects = tuple(
        t for t in snapshot.objects if t.id in ids or t.storage in shared
    )
    return replace(snapshot, objects=objects)


@functools.lru_cache(maxsize=16)
def _words(source: str) -> frozenset[str] | None:
    """Return the names that code speaks of; None where it can't be read."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return None
    return frozenset(
        node.id for node in ast.walk(tree) if isinstance(node, ast.Name)
    )


def _root(name: str) -> str:
    return re.split(r"\W", name, maxsplit=1)[0]


def _few(snapshot: Snapshot) -> Snapshot:
    """Of very many tensors, those that changed and the first ones."""
    objects = snapshot.objects
    if len(objects) <= MOST_DRAWN:
        return snapshot
    changed = [
        t
        for t in objects
        if t.id in snapshot.marks or t.storage in snapshot.marks
    ]
    kept = {t.id for t in [*changed, *objects][:MOST_DRAWN]}
    left_out = len(objects) - len(kept)
    return replace(
        snapshot,
        objects=tuple(t for t in objects if t.id in kept),
        notes=(*snapshot.notes, f"{left_out:,} more are not shown"),
    )


def _snapshot_at(run: Run, step: int) -> Snapshot:
    if step >= len(run.steps) - 1:
        return run.snapshot
    for earlier in reversed(run.steps[: step + 1]):
        if earlier.snapshot is not None:
            return earlier.snapshot
    return Snapshot() if run.steps else run.snapshot


def _marks(
    before: Snapshot, after: Snapshot, at_first: Mapping[str, int | None]
) -> dict[str, str]:
    """What changed between two steps; ``at_first`` are the versions of what
    was there before the first.
    """
    marks = {}
    old = {s.id: s for s in before.storages}
    for s in after.storages:
        was = old.get(s.id)
        version = was.version if was is not None else at_first.get(s.id)
        if was is None and s.id not in at_first:
            marks[s.id] = "new on this line"
        elif version != s.version:
            marks[s.id] = f"version {version} -> {s.version} on this line"
        elif was and was.strips != s.strips and was.nbytes == s.nbytes:
            marks[s.id] = "changed on this line, and no version counter moved"
    seen = {*before.by_id, *at_first}
    for t in after.objects:
        if t.id not in seen:
            marks[t.id] = "new"
    return marks


class _Whole:
    """What a whole run says, the same at each of its steps."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.story = Story(run)
        self.idle = _idle(run)
        self.parameters = {i: name for name, i in run.parameters.items()}
        self.wanted = {
            u.tensor for e in run.events for u in e.inputs if u.requires_grad
        }
        # what a drawn operation writes in place, with the first that does
        self.rewritten: dict[str, Event] = {}
        for event in run.events:
            if event.kind == "in_place" and not _is_update(event):
                for use in event.outputs:
                    self.rewritten.setdefault(use.tensor, event)


class _Flow:
    """Turns events into operations, one after the other."""

    def __init__(self, whole: _Whole, step: int) -> None:
        run = self.run = whole.run
        self.whole = whole
        self.story = whole.story
        self.now = _snapshot_at(run, step)
        self.last = step == len(run.steps) - 1 or not run.steps
        self.moment = step
        self.end = len(run.events)
        if not self.last:
            after = [e for s in run.steps[: step + 1] for e in s.events]
            self.end = max(after, default=-1) + 1
        self.facts: dict[str, TensorFacts] = {}
        self.current: dict[str, Source] = {}
        self.operations: list[Operation] = []
        self.outputs: dict[str, tuple[str, int]] = {}
        self.cuts: list[CutEdge] = []
        self.told: dict[str, str] = {}
        self.updates: list[str] = []
        self.made_by: dict[str, str] = {}
        self.frozen: dict[str, int | None] = {}

    def snapshot(self) -> Snapshot:
        """Read all events and return what there is to draw."""
        for event in self.run.events[: self.end]:
            if event.kind == "flag":
                self._flag(event)
            elif event.kind in ("operation", "in_place", "leaves", "grad"):
                self._operation(event)
        used = self._used()
        asked = self._roots(used)
        made = self._named_results(asked)
        operations = [
            replace(o, outputs=tuple(sorted(made[o.id])))
            if o.id in made
            else o
            for o in self.operations
        ]
        for tensor in asked:
            self._facts(tensor)
        loose = {c.tensor for c in self.cuts} - set(asked)
        loose -= {s.tensor for o in operations for s in o.inputs}
        return _Flowing(
            tuple(self._final(t) for t in self.facts.values()),
            self.now.storages,
            tuple(operations),
            tuple(asked),
            self._modules(),
            cuts=tuple(self.cuts),
            loose=tuple(c.tensor for c in self.cuts if c.tensor in loose),
            recorded=True,
            notes=(
                *_told_cuts(self.told.values()),
                *dict.fromkeys(self.updates),
                *self._error(),
                *self.run.notes,
            ),
            told=self.told,
        )

    def _modules(self) -> Mapping[str, ModuleFacts]:
        """The Modules; the norms are those at the end, and only told there."""
        if self.last:
            return self.run.modules
        modules = self.run.modules.items()
        return {path: replace(m, grad_norm=None) for path, m in modules}

    # -- events

    def _flag(self, event: Event) -> None:
        tensor = event.inputs[0].tensor
        if event.cut == "frozen":
            self.frozen[tensor] = event.line
        elif event.value:
            self.frozen.pop(tensor, None)

    def _operation(self, event: Event) -> None:
        if not event.inputs:
            return
        if _is_update(event):
            self._update(event)
            return
        if event.number in self.whole.idle:
            return
        if event.kind == "leaves" and not event.cut and not event.outputs:
            return
        if event.cut in EDGES:
            self._cut_edge(event)
            return
        number = f"n{len(self.operations)}"
        history = any(u.requires_grad for u in event.outputs) and (
            not event.cut
        )
        inputs = []
        for use in event.inputs:
            graded = use.requires_grad and history
            source = self._source(use.tensor)
            cut = bool(event.cut) and use.requires_grad
            inputs.append(
                Source(
                    source.operation,
                    source.output,
                    source.tensor,
                    graded or cut,
                )
            )
        label = self._label(event, number) if event.cut else ""
        self.operations.append(
            Operation(
                number,
                event.name,
                event.grad_fn or _where(event),
                tuple(inputs),
                module=event.module,
                history=history,
                cut=label,
                shape=self._shape(event),
            )
        )
        for k, use in enumerate(event.outputs):
            self.current[use.tensor] = Source(number, k)
            self.outputs[use.tensor] = (number, k)
            if history and use.requires_grad:
                self.made_by[use.tensor] = event.grad_fn or event.name

    def _shape(self, event: Event) -> tuple[int, ...] | None:
        made = event.outputs[0].tensor if event.outputs else ""
        return self.run.lives[made].shape if made in self.run.lives else None

    def _update(self, event: Event) -> None:
        """Tell of a write that a reader might look for in vain."""
        if not event.cut:
            return
        text = self.story.text(event) or self.story.line_text(event.line)
        where = f"line {event.line}, `{text}`," if text else event.name
        self.updates.append(
            f"Not drawn: {where} writes values under {event.mode}, as an "
            "optimizer's step does"
        )

    def _cut_edge(self, event: Event) -> None:
        source = event.inputs[0]
        if event.outputs:
            made = event.outputs[0].tensor
        else:
            made = f"left{len(self.cuts)}"
            self.facts[made] = TensorFacts(
                made, (UNNAMED,), "number", "Python number", ()
            )
        if made in self.outputs or made == source.tensor:
            return
        start = self._start(made)
        target = start.tensor or made
        label = self._label(event, target)
        self.cuts.append(CutEdge(self._source(source.tensor), target, label))
        self.current[made] = start

    def _label(self, event: Event, place: str) -> str:
        """What stands on a cut; the sentence of it is kept by its place."""
        cut = self.story.cut(event)
        word = {
            "detach": "detach()",
            "data": ".data",
            "no_grad": "no_grad",
            "inference_mode": "inference_mode",
            "not_differentiable": "no derivative",
        }.get(event.cut, f"{event.name}()".replace("__", ""))
        self.told[place] = f"Cut: {cut}"
        return f"{word}\nline {event.line}" if event.line else word

    # -- tensors

    def _source(self, tensor: str) -> Source:
        known = self.current.get(tensor)
        return self._start(tensor) if known is None else known

    def _start(self, tensor: str) -> Source:
        """A tensor that nothing drawn has made; what it was before it is
        written in place has a box of its own, so that edges run forward.
        """
        write = self.whole.rewritten.get(tensor)
        if write is None:
            self._facts(tensor)
            return Source(tensor=tensor)
        before = f"{tensor}-before"
        if before not in self.facts:
            self.facts[before] = self._facts_before(before, tensor, write)
        return Source(tensor=before)

    def _facts_before(
        self, before: str, tensor: str, write: Event
    ) -> TensorFacts:
        steps = self.run.steps
        of_write = (s.number for s in steps if write.number in s.events)
        moment = min(next(of_write, 0) - 1, self.moment)
        then = _snapshot_at(self.run, moment) if moment >= 0 else Snapshot()
        facts = then.by_id.get(tensor)
        if facts is None:
            life = self.run.lives.get(tensor, Life(tensor))
            had = Use(tensor, True) in write.inputs
            facts = replace(
                self._facts_of_gone(life),
                names=self._facts(tensor).names,
                requires_grad=had,
                is_leaf=not had,
                grad_fn="computed earlier" if had else None,
            )
        note = f"before line {write.line}" if write.line else "before a write"
        return replace(facts, id=before, note=note)

    def _facts(self, tensor: str) -> TensorFacts:
        if tensor not in self.facts:
            now = self.now.by_id.get(tensor)
            life = self.run.lives.get(tensor, Life(tensor))
            facts = now or self._facts_of_gone(life)
            name = self.whole.parameters.get(tensor)
            if facts.names == (UNNAMED,) and name is not None:
                facts = replace(facts, names=(name,))
            grad_fn = self.made_by.get(tensor)
            if now is None and grad_fn:
                facts = replace(facts, requires_grad=True, grad_fn=grad_fn)
            self.facts[tensor] = facts
        return self.facts[tensor]

    def _facts_of_gone(self, life: Life) -> TensorFacts:
        """What is known of a tensor that is not there after this step."""
        wanted = life.id in self.whole.wanted
        free = [name for name in life.names if name not in self.now.tensors]
        return TensorFacts(
            life.id,
            tuple(free[-1:]) or (UNNAMED,),
            life.type,
            life.dtype,
            life.shape,
            requires_grad=life.requires_grad or wanted,
            is_leaf=life.is_leaf,
            note=GONE if (free or wanted) and not life.alive else "",
        )

    def _final(self, facts: TensorFacts) -> TensorFacts:
        life = self.run.lives.get(facts.id)
        if self.last and life is not None:
            facts = replace(facts, grad_norm=life.grad_norm)
        if facts.id in self.frozen and not facts.requires_grad:
            line = self.frozen[facts.id]
            where = f"frozen in line {line}" if line else "frozen"
            return replace(facts, is_parameter=True, note=where)
        return facts

    def _used(self) -> set[str]:
        used = {
            s.operation
            for o in self.operations
            for s in o.inputs
            if s.operation
        }
        fed = {s.tensor for o in self.operations for s in o.inputs}
        return used | {
            c.source.operation
            for c in self.cuts
            if c.source.operation and c.tensor in fed
        }

    def _roots(self, used: set[str]) -> list[str]:
        """Results that nothing was computed from, and lonely cut ends."""
        named = {t.id for t in self.now.objects}
        ends = [
            t
            for t, (number, _) in self.outputs.items()
            if number not in used and t in named
        ]
        taken = {
            s.tensor for o in self.operations for s in o.inputs if s.tensor
        } | {c.source.tensor for c in self.cuts if c.source.tensor}
        named |= {c.tensor for c in self.cuts if c.tensor in named}
        ends += [
            c.tensor
            for c in self.cuts
            if c.tensor not in taken and c.tensor in named
        ]
        if not ends:
            ends = [
                t
                for t, (number, _) in self.outputs.items()
                if number not in used
            ][-1:]
        if not ends and not self.operations:
            objects = _about(self.run, self.now).objects
            plain = [t.id for t in objects if not t.is_array][:12]
            ends = [self._start(i).tensor or i for i in plain]
        return list(dict.fromkeys(ends))

    def _named_results(
        self, asked: list[str]
    ) -> dict[str, list[tuple[int, str]]]:
        """Results that have a name get a box, by their operation."""
        named = {t.id for t in self.now.objects} | set(asked)
        made: dict[str, list[tuple[int, str]]] = {}
        for t, (number, k) in self.outputs.items():
            if t in named:
                self._facts(t)
                made.setdefault(number, []).append((k, t))
        return made

    def _error(self) -> list[str]:
        """Say why the picture ends where it does."""
        if not self.run.error or not self.last:
            return []
        said = self.run.error.splitlines()[0].rstrip(" .")
        if len(said) > MOST_SAID:
            said = said[: MOST_SAID - 1] + "…"
        return [f"Here the program stopped: {said}"]


def _is_update(event: Event) -> bool:
    """A write that autograd does not see: values change, no flow; also into
    a leaf, as what it is then computed from is no history of it.
    """
    if event.kind != "in_place" or event.grad_fn:
        return False
    return not event.cut or _updates_leaf(event)


def _updates_leaf(event: Event) -> bool:
    into_leaf = any(u.requires_grad for u in event.outputs)
    return event.kind == "in_place" and not event.grad_fn and into_leaf


def _is_drawn(event: Event) -> bool:
    if event.kind == "leaves":
        return bool(event.cut)
    if event.kind == "in_place":
        return not _is_update(event)
    return event.kind in ("operation", "grad") and bool(event.inputs)


def _idle(run: Run) -> set[int]:
    """Operations around a cut that lead to nothing: to no name, no backward
    and no number that could come back, as those of a check of arguments.
    What only an update of a leaf uses is part of that update.
    """
    if not any(e.cut or e.kind == "in_place" for e in run.events):
        return set()
    matter = _mattering(run)
    ran = [
        e
        for e in run.events
        if e.kind == "operation" and e.number not in matter
    ]
    idle = {e.number for e in run.events if _updates_leaf(e)}
    gone: set[str] = set()
    for e in ran:
        cuts = bool(e.cut) and e.cut not in EDGES
        if cuts or any(u.tensor in gone for u in e.inputs):
            idle.add(e.number)
            gone.update(u.tensor for u in e.outputs)
    users: dict[str, list[int]] = {}
    for e in run.events:
        for u in e.inputs:
            users.setdefault(u.tensor, []).append(e.number)
    for e in reversed(ran):
        after = [n for u in e.outputs for n in users.get(u.tensor, ())]
        if after and idle.issuperset(after):
            idle.add(e.number)
    left = any(_is_drawn(e) and e.number not in idle for e in run.events)
    return idle if left else set()


def _mattering(run: Run) -> set[int]:
    """Events with a result that lives or had a name, or that lead to one."""
    needed = {t.id for t in run.lives.values() if t.names or t.alive}
    matter = set()
    for e in reversed(run.events):
        if e.kind == "operation":
            does = e.cut in EDGES or any(u.tensor in needed for u in e.outputs)
        elif e.kind == "leaves":
            does = bool(e.cut) or any(_is_float(run, u) for u in e.inputs)
        else:
            does = not _updates_leaf(e)
        if does:
            matter.add(e.number)
            needed.update(u.tensor for u in e.inputs)
    return matter


def _is_float(run: Run, use: Use) -> bool:
    """A number that a later tensor may be made from, unlike a yes or no."""
    life = run.lives.get(use.tensor)
    return life is not None and "float" in life.dtype


def _where(event: Event) -> str:
    if event.kind == "grad" and any(u.requires_grad for u in event.outputs):
        return "create_graph=True"
    return "no history" if event.mode == "grad" else event.mode
