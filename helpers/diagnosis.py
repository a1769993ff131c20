"""Why x has no gradient, where gradients are cut, what will fail.

Pure functions of a :class:`~helpers.model.Run`: plain data in, no torch.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from .model import (
    UNNAMED,
    Event,
    Life,
    Run,
)

__all__ = ["Cut", "Diagnosis", "Done", "Problem", "Story", "diagnose"]


@dataclass(frozen=True)
class Done:
    """An operation that a program ran; inputs and outputs by name."""

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    line: int | None
    module: str
    grad_mode: str


@dataclass(frozen=True)
class Cut:
    """A place where history went in and none came out."""

    kind: str
    operation: str
    line: int | None
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    module: str = ""
    text: str = ""

    def __str__(self) -> str:
        where = f"line {self.line}" if self.line else "a line not recorded"
        inside = f" in {self.module}" if self.module else ""
        return f"{where}{inside}, `{self.text}`"


@dataclass(frozen=True)
class Diagnosis:
    """Why ``x.grad`` is None: the reason, a sentence, and what to do."""

    reason: str
    sentence: str
    fix: str = ""
    cuts: tuple[Cut, ...] = ()

    def __str__(self) -> str:
        return f"{self.sentence} {self.fix}".strip()

    __repr__ = __str__


@dataclass(frozen=True)
class Problem:
    """Something that will fail, or is silently wrong."""

    kind: str
    sentence: str
    fix: str
    line: int | None = None

    def __str__(self) -> str:
        return f"{self.sentence} {self.fix}".strip()

    __repr__ = __str__


def operations(story: Story) -> list[Done]:
    """Return what the program ran, in order."""
    return [
        Done(
            e.name,
            tuple(story.name(u.tensor) for u in e.inputs),
            tuple(story.name(u.tensor) for u in e.outputs),
            e.line,
            e.module,
            e.mode,
        )
        for e in story.run.events
        if e.kind in ("operation", "in_place", "leaves")
    ]


def cuts(story: Story) -> list[Cut]:
    """Return every cut, in order."""
    return [story.cut(e) for e in story.run.events if e.cut]


def why_no_grad(story: Story, name: str) -> Diagnosis:
    """Say why a tensor has no gradient; ``name`` is a name or an id."""
    return diagnose(story, story.find(name), name)


def diagnose(story: Story, tensor: str, name: str) -> Diagnosis:
    """Say why a tensor has no gradient; ``name`` is what it is called."""
    return _Asked(story, tensor, name).answer()


# -- the story behind the events


@dataclass
class Story:
    """A run with what can be read out of it: who made what, who sees whom."""

    run: Run
    makers: dict[str, int] = field(default_factory=dict)
    writers: dict[str, list[int]] = field(default_factory=dict)
    behind_events: dict[tuple[str, int], frozenset[int]] = field(
        default_factory=dict
    )
    used_up: dict[int, int] = field(default_factory=dict)
    _told: dict[tuple[int | None, str], str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for e in self.run.events:
            written = set(e.writes)
            for use in e.outputs:
                if use.tensor not in written:
                    self.makers.setdefault(use.tensor, e.number)
            if e.kind != "step":
                for t in written:
                    storage = self.life(t).storage or t
                    self.writers.setdefault(storage, []).append(e.number)

    def life(self, tensor: str) -> Life:
        """What is known of a tensor."""
        return self.run.lives.get(tensor, Life(tensor))

    def find(self, name: str) -> str:
        """Return the id of the tensor with a name, or the id itself."""
        if name in self.run.names:
            return self.run.names[name]
        if name in self.run.lives:
            return name
        for life in reversed(list(self.run.lives.values())):
            if name in life.names:
                return life.id
        known = ", ".join(n for n in self.run.names) or "none"
        raise KeyError(f"no tensor is named {name!r}; known: {known}")

    @cached_property
    def _bound(self) -> dict[str, str]:
        names: dict[str, str] = {}
        for name, tensor in self.run.names.items():
            names.setdefault(tensor, name)
        return names

    def name(self, tensor: str) -> str:
        """What the reader calls a tensor: now, or before."""
        if tensor in self._bound:
            return self._bound[tensor]
        names = self.life(tensor).names
        if names:
            return names[-1]
        for twin in self._same_object(tensor):
            return twin
        return UNNAMED

    def _same_object(self, tensor: str) -> Iterator[str]:
        maker = self.makers.get(tensor)
        if maker is not None:
            text = self.text(self.run.events[maker])
            if text:
                yield text

    def is_named(self, tensor: str) -> bool:
        """Say whether a variable ever held the tensor."""
        return bool(self.life(tensor).names)

    # -- the program's own words

    @cached_property
    def _lines(self) -> dict[int, list[ast.AST]]:
        found: dict[int, list[ast.AST]] = {}
        try:
            tree = ast.parse(self.run.source)
        except (SyntaxError, ValueError):
            return found
        for node in ast.walk(tree):
            first = getattr(node, "lineno", None)
            if first is not None:
                last = getattr(node, "end_lineno", None) or 0
                for line in range(first, last + 1):
                    found.setdefault(line, []).append(node)
        return found

    def text(self, event: Event) -> str:
        """Return the part of its line that ran an event: ``y.detach()``."""
        key = (event.line, event.name)
        if key not in self._told:
            nodes = self._lines.get(event.line or -1, [])
            calls = (n for n in nodes if _is_call_of(n, event.name))
            call = next(calls, None)
            self._told[key] = "" if call is None else ast.unparse(call)
        return self._told[key]

    def called_on(self, event: Event) -> str:
        """Return what a method was called on: the loss of loss.backward()."""
        for node in self._lines.get(event.line or -1, []):
            if _is_call_of(node, event.name) and isinstance(node, ast.Call):
                called = node.func
                if isinstance(called, ast.Attribute):
                    return ast.unparse(called.value)
        return ""

    def line_text(self, line: int | None) -> str:
        """Return a line of the source, without its indent."""
        lines = self.run.source.splitlines()
        if line is None or not 0 < line <= len(lines):
            return ""
        return lines[line - 1].split("  #")[0].strip()

    def block(self, line: int | None, words: tuple[str, ...]) -> str:
        """Return the ``with`` or decorator around a line that has a word."""
        best = ""
        for node in self._lines.get(line or -1, []):
            heads: list[ast.AST] = []
            if isinstance(node, ast.With):
                heads = [item.context_expr for item in node.items]
            elif isinstance(node, ast.FunctionDef):
                heads = list(node.decorator_list)
            for head in heads:
                text = ast.unparse(head)
                if any(word in text for word in words):
                    best = text
        return best

    def cut(self, event: Event) -> Cut:
        """Describe a cut in the reader's words."""
        text = self.text(event)
        if event.cut in ("no_grad", "inference_mode"):
            words = (event.cut, "set_grad_enabled")
            text = self.block(event.line, words) or event.cut + "()"
        elif not text:
            text = event.name
            if event.cut in ("detach", "item", "numpy", "frozen"):
                text += "()"
        return Cut(
            event.cut,
            event.name,
            event.line,
            tuple(self.name(u.tensor) for u in event.inputs),
            tuple(self.name(u.tensor) for u in event.outputs),
            event.module,
            text,
        )

    # -- who flows into whom

    def producers(self, tensor: str, before: int) -> list[tuple[Event, bool]]:
        """The events that gave a tensor its value before an event.

        Each with whether autograd follows it: the tensor's own making, and
        writes through it or through a view of the same family.
        """
        found = []
        maker = self.makers.get(tensor)
        start = -1
        if maker is not None and maker < before:
            found.append((self.run.events[maker], True))
            start = maker
        life = self.life(tensor)
        for number in self.writers.get(life.storage or tensor, []):
            if start < number < before:
                event = self.run.events[number]
                mine = any(
                    self.family(w) == self.family(tensor) for w in event.writes
                )
                found.append((event, mine))
        return found

    def family(self, tensor: str) -> str:
        """The tensor that a chain of views, without a cut, goes back to."""
        seen = set()
        while tensor not in seen:
            seen.add(tensor)
            base = self.life(tensor).view_of
            maker = self.makers.get(tensor)
            if base is None or maker is None:
                return tensor
            if self.run.events[maker].cut in ("detach", "data", "copy"):
                return tensor
            tensor = base
        return tensor

    def behind(self, root: str, before: int) -> Reach:
        """Follow data and gradients back from a tensor."""
        reach = Reach()
        stack = [(root, before, True, True)]
        while stack:
            tensor, time, graded, sure = stack.pop()
            if not reach.enter(tensor, time, graded, sure):
                continue
            for event, followed in self.producers(tensor, time):
                if event.kind in ("flag", "backward", "grad_set"):
                    continue
                kept = {u.tensor: u.requires_grad for u in event.outputs}
                has = kept.get(tensor, any(kept.values()))
                flows = graded and followed and has and not event.cut
                flows = flows and event.kind != "numpy_write"
                direct = sure and event.kind != "grad"
                if event.cut:
                    reach.cuts.add(event.number)
                for use in event.inputs:
                    goes_on = flows and use.requires_grad
                    stack.append(
                        (use.tensor, event.number, goes_on, goes_on and direct)
                    )
        return reach


@dataclass
class Reach:
    """What lies behind a tensor: by data, and by gradient.

    ``direct`` is what a gradient reaches without going through autograd.grad:
    behind that a gradient need not depend on everything.
    """

    data: dict[str, int] = field(default_factory=dict)
    graded: dict[str, int] = field(default_factory=dict)
    direct: dict[str, int] = field(default_factory=dict)
    cuts: set[int] = field(default_factory=set)

    def enter(
        self, tensor: str, time: int, graded: bool, direct: bool
    ) -> bool:
        """Note a visit; False when it brings nothing new."""
        ways = [self.data]
        if graded:
            ways.append(self.graded)
        if direct:
            ways.append(self.direct)
        if ways[-1].get(tensor, -1) >= time:
            return False
        for way in ways:
            way[tensor] = max(way.get(tensor, -1), time)
        return True


def _is_call_of(node: ast.AST, name: str) -> bool:
    """Say whether a piece of source calls an operation by its name."""
    if isinstance(node, ast.Subscript):
        return name == "getitem"
    if isinstance(node, ast.Attribute):
        return name in ("data", "T", "mT") and node.attr == name
    if not isinstance(node, ast.Call):
        return False
    called = node.func
    word = called.attr if isinstance(called, ast.Attribute) else ""
    word = called.id if isinstance(called, ast.Name) else word
    dunder = {"float": "__float__", "int": "__int__", "bool": "__bool__"}
    return name in (word, dunder.get(word))


# -- one question


@dataclass
class _Asked:
    """The question why one tensor has no gradient."""

    story: Story
    tensor: str
    asked: str
    roots: dict[str, str] = field(default_factory=dict)

    def answer(self) -> Diagnosis:
        life = self.life
        if life.type == "ndarray":
            return Diagnosis(
                "not_required",
                f"{self.x} is a NumPy array: autograd does not know it.",
                "Keep the tensor that it came from.",
            )
        if life.has_grad:
            return self._has_grad()
        if self.cleared_by is not None:
            return self._cleared(self.cleared_by)
        if not life.requires_grad:
            return self._not_required()
        if not self.backwards:
            return self._before_any_backward()
        if self.root is None:
            return self._no_backward()
        reach = self.reach
        if self.tensor in reach.graded:
            return self._on_the_way()
        if self.tensor in reach.data:
            return self._cut()
        return self._unused()

    # -- what is needed for an answer

    @cached_property
    def life(self) -> Life:
        return self.story.life(self.tensor)

    @cached_property
    def x(self) -> str:
        if self.asked in self.story.run.lives:
            return self.story.name(self.tensor)
        return self.asked

    @cached_property
    def backwards(self) -> list[Event]:
        """The backwards since the gradient was last set to None."""
        start = self.last_cleared.number if self.last_cleared else -1
        return [
            e
            for e in self.story.run.events[start + 1 :]
            if e.kind == "backward"
        ]

    @cached_property
    def last_cleared(self) -> Event | None:
        """The last time that a gradient x had was set to None."""
        got, found = False, None
        for e in self.story.run.events:
            if self.tensor in e.received:
                got = True
            mine = e.inputs and e.inputs[0].tensor == self.tensor
            if e.kind == "grad_set" and mine:
                if got and not e.value:
                    found = e
                got = bool(e.value)
        return found

    @cached_property
    def cleared_by(self) -> Event | None:
        """What took the gradient away, if that explains why there is none:
        no backward ran since, and x was not frozen since.
        """
        cleared = self.last_cleared
        if cleared is None or self.backwards:
            return None
        frozen = self._freezings()
        if frozen and frozen[-1].number > cleared.number:
            return None
        return cleared

    def _freezings(self) -> list[Event]:
        return [
            e
            for e in self.story.run.events
            if e.kind == "flag"
            and e.value is False
            and any(u.tensor == self.tensor for u in e.inputs)
        ]

    @cached_property
    def asked_for(self) -> Event | None:
        """The backward that matters: the last one that reached x by a
        gradient, else by data, else the last one.
        """
        reached: dict[str, Event] = {}
        for e in self.backwards:
            for use in e.inputs:
                reach = self.story.behind(use.tensor, e.number)
                way = "graded" if self.tensor in reach.graded else "none"
                if way == "none" and self.tensor in reach.data:
                    way = "data"
                if way == "graded" and not e.error:
                    way = "done"
                reached[way] = e
                self.roots[way] = use.tensor
        for way in ("done", "graded", "data", "none"):
            if way in reached:
                self.roots["asked"] = self.roots[way]
                return reached[way]
        return None

    @cached_property
    def root(self) -> tuple[str, int] | None:
        """The loss, and when it was asked for its gradient."""
        e = self.asked_for
        return (self.roots["asked"], e.number) if e is not None else None

    @cached_property
    def reach(self) -> Reach:
        if self.root is None:
            raise ValueError(f"{self.x} was not asked for its gradient")
        root, time = self.root
        return self.story.behind(root, time)

    @cached_property
    def loss(self) -> str:
        if self.root is None:
            return "the loss"
        name = self.story.name(self.root[0])
        if name != UNNAMED or self.asked_for is None:
            return name
        return self.story.called_on(self.asked_for) or "the loss"

    def _frontier(self) -> tuple[Cut, ...]:
        """The cuts between x and the loss, nearest to x first: those that a
        path of gradients leads to from x.
        """
        story, root = self.story, self.root
        if root is None:
            return ()
        live = {self.tensor}
        found = []
        for e in story.run.events[: root[1]]:
            if e.kind not in ("operation", "in_place", "leaves", "grad"):
                continue
            if not any(u.tensor in live for u in e.inputs):
                continue
            if _only_writes(e, live):
                continue
            if e.cut and any(
                u.tensor in live and u.requires_grad for u in e.inputs
            ):
                if e.number in self.reach.cuts or e.kind == "leaves":
                    found.append(story.cut(e))
                continue
            if any(u.tensor in live and u.requires_grad for u in e.inputs):
                live |= {u.tensor for u in e.outputs if u.requires_grad}
        return tuple(dict.fromkeys(found))

    # -- the answers

    def _has_grad(self) -> Diagnosis:
        partial = self._frontier() if self.root else ()
        partial = tuple(c for c in partial if c.kind not in ("item", "numpy"))
        reads = [e for e in self.story.run.events if e.kind == "step"]
        if partial and not reads:
            return Diagnosis(
                "has_grad",
                f"{self.x}.grad is there, but not from every path to "
                f"{self.loss}: {_places(partial)} "
                f"cut{'s' if len(partial) == 1 else ''} another one.",
                cuts=partial,
            )
        return Diagnosis("has_grad", f"{self.x}.grad is there.")

    def _not_required(self) -> Diagnosis:
        story = self.story
        frozen = self._freezings()
        if frozen:
            cut = story.cut(frozen[-1])
            return Diagnosis(
                "not_required",
                f"{self.x}.grad is None because {cut}, froze {self.x}.",
                f"Call {self.x}.requires_grad_() before the forward pass if "
                f"{self.x} should learn.",
                (cut,) if frozen[-1].cut else (),
            )
        made = [
            e
            for e in story.run.events
            if e.cut and any(u.tensor == self.tensor for u in e.outputs)
        ]
        if made:
            cut = story.cut(made[-1])
            return Diagnosis(
                "not_required",
                f"{self.x}.grad is None because {self.x} does not require "
                f"grad: it is what {cut}, gave.",
                f"Use the tensor before that call if {self.x} should carry "
                "gradients.",
                (cut,),
            )
        return Diagnosis(
            "not_required",
            f"{self.x}.grad is None because {self.x}.requires_grad is False.",
            f"Make it with requires_grad=True, or call {self.x}."
            "requires_grad_() before the forward pass, if it should learn.",
        )

    def _before_any_backward(self) -> Diagnosis:
        """No backward ran: is there still something to call it on?"""
        story, end = self.story, len(self.story.run.events)
        ends = self._named_ends()
        behind = {t: story.behind(t, end) for t in ends}
        alive = [
            t
            for t in dict.fromkeys(story.run.names.values())
            if story.life(t).requires_grad and not story.life(t).is_leaf
        ]
        graded = [t for t in ends if self.tensor in behind[t].graded]
        cut = [t for t in ends if self.tensor in behind[t].data]
        if not graded and cut and self.tensor not in alive:
            self.__dict__["root"] = (cut[-1], end)
            return self._cut()
        graded = graded or [
            t for t in alive if self.tensor in story.behind(t, end).graded
        ]
        if graded or self._was_asked_by_grad():
            return self._not_yet(graded[-1] if graded else None)
        found = self._cuts_behind(end)
        if found:
            return self._cut_by(found, self._to_the_end(end))
        if ends:
            self.__dict__["root"] = (ends[-1], end)
            return self._unused()
        return self._no_backward()

    def _named_ends(self) -> list[str]:
        """Named results that nothing was computed from, losses if any."""
        story = self.story
        operations = [
            e
            for e in story.run.events
            if e.kind in ("operation", "in_place") and e.inputs
        ]
        used = {u.tensor for e in operations for u in e.inputs}
        made = {u.tensor for e in operations for u in e.outputs}
        ends = [
            t
            for t in dict.fromkeys(story.run.names.values())
            if t in made - used
            and t != self.tensor
            and story.life(t).dtype.startswith(_FLOATS)
        ]
        return [t for t in ends if _numel(story.life(t)) == 1] or ends

    def _was_asked_by_grad(self) -> bool:
        """Say whether autograd.grad went through x: it fills no .grad."""
        return any(
            self.tensor in self.story.behind(u.tensor, e.number).graded
            for e in self.story.run.events
            if e.kind == "grad" and not e.error
            for u in e.inputs[:1]
        )

    def _not_yet(self, loss: str | None) -> Diagnosis:
        if loss is None:
            return Diagnosis(
                "no_backward",
                f"{self.x}.grad is None because only autograd.grad ran: it "
                "returns the gradient and fills no .grad.",
                "Use what it returns, or call backward().",
            )
        name = self.story.name(loss)
        path = f": there is a path from {self.x} to {name}"
        return Diagnosis(
            "no_backward",
            f"{self.x}.grad is None because backward() has not run"
            f"{'' if loss == self.tensor else path}.",
            f"Call {name}.backward().",
        )

    def _cut_by(self, found: tuple[Cut, ...], where: str) -> Diagnosis:
        only = len(found) == 1
        verb = "cut the only path" if only else "cut all paths"
        return Diagnosis(
            "cut",
            f"{self.x}.grad is None because {_places(found)} "
            f"{verb} from {self.x}{where}.",
            _advice(found[0], self.x),
            found,
        )

    def _to_the_end(self, end: int) -> str:
        """To the last named result that was computed from x."""
        story = self.story
        ends = [
            t
            for t in dict.fromkeys(story.run.names.values())
            if t != self.tensor
            and story.life(t).dtype.startswith(_FLOATS)
            and self.tensor in story.behind(t, end).data
        ]
        return f" to {story.name(ends[-1])}" if ends else ""

    def _cuts_behind(self, end: int) -> tuple[Cut, ...]:
        """The first cuts on all ways from x, but not a mere look at x."""
        story = self.story
        live, found = {self.tensor}, []
        for e in story.run.events[:end]:
            if e.kind not in ("operation", "in_place", "leaves"):
                continue
            graded = [
                u for u in e.inputs if u.tensor in live and u.requires_grad
            ]
            if _only_writes(e, live):
                continue
            look = e.kind == "leaves" and all(
                u.tensor == self.tensor for u in graded
            )
            if graded and e.cut and not look:
                found.append(story.cut(e))
            elif graded and not e.cut:
                live |= {u.tensor for u in e.outputs if u.requires_grad}
        return tuple(dict.fromkeys(found))

    def _cleared(self, by: Event) -> Diagnosis:
        line = by.line
        text = self.story.line_text(line)
        where = f"line {line}, `{text}`," if line else "a line not recorded"
        return Diagnosis(
            "cleared",
            f"{self.x}.grad is None because {where} set it to None.",
            f"Read {self.x}.grad before that line.",
        )

    def _no_backward(self) -> Diagnosis:
        return Diagnosis(
            "no_backward",
            f"{self.x}.grad is None because backward() has not run.",
            "Call backward() on the loss.",
        )

    def _on_the_way(self) -> Diagnosis:
        e = self.asked_for
        if e is None:
            return Diagnosis(
                "no_backward",
                f"{self.x}.grad is None because backward() has not run: "
                f"there is a path from {self.x} to {self.loss}.",
                f"Call {self.loss}.backward().",
            )
        if e.error:
            return Diagnosis(
                "no_backward",
                f"{self.x}.grad is None because backward() raised in line "
                f"{e.line}: {e.error.splitlines()[0]}",
                "Mend that first.",
            )
        if self._is_blind_view():
            return Diagnosis(
                "unused",
                f"{self.x}.grad is None because {self.x} is a view made "
                "under no_grad: it says requires_grad and leads nowhere.",
                "Make the view outside no_grad.",
            )
        if self.tensor not in self.reach.direct:
            behind = self._behind_a_gradient()
            if behind is not None:
                return behind
        if self.life.is_leaf:
            return Diagnosis(
                "no_backward",
                f"{self.x}.grad is None although {self.x} is a leaf on the "
                f"way to {self.loss}: the backward in line {e.line} was "
                "asked for other tensors only.",
                "Call backward() without inputs=, or with this tensor.",
            )
        return Diagnosis(
            "not_leaf",
            f"{self.x}.grad is None because {self.x} is not a leaf: the "
            "gradient passed through it and was not kept.",
            f"Call {self.x}.retain_grad() before backward() to see it.",
        )

    def _behind_a_gradient(self) -> Diagnosis | None:
        """The loss was computed from what autograd.grad gave, not from x: a
        gradient can still reach x, but need not.
        """
        asked = [
            e
            for e in self.story.run.events
            if e.kind == "grad"
            and any(
                self.tensor in self.story.behind(u.tensor, e.number).graded
                for u in e.inputs[:1]
            )
        ]
        if not asked:
            return None
        line = asked[-1].line
        where = f" (autograd.grad in line {line})" if line else ""
        if any(e.inputs[0].tensor == self.tensor for e in asked):
            return Diagnosis(
                "unused",
                f"{self.x}.grad is None because {self.loss} was computed "
                f"from gradients of {self.x}{where}, not from {self.x} "
                "itself.",
            )
        if not self.life.is_leaf and not self.life.retains_grad:
            return None
        return Diagnosis(
            "unused",
            f"{self.x}.grad is None because {self.loss} was computed from a "
            f"gradient only{where}, and that one does not depend on "
            f"{self.x}.",
            f"Add something to {self.loss} that was computed from {self.x} "
            "itself, if it should learn.",
        )

    def _is_blind_view(self) -> bool:
        note = f"view from no_grad: {self.tensor}"
        return any(note in e.notes for e in self.story.run.events)

    def _cut(self) -> Diagnosis:
        found = self._frontier()
        late = [
            e
            for e in self.story.run.events
            if e.kind == "flag"
            and e.value
            and e.inputs[0].tensor == self.tensor
        ]
        if not found and late:
            return Diagnosis(
                "not_required",
                f"{self.x}.grad is None because {self.loss} was computed "
                f"before line {late[-1].line} set requires_grad.",
                "Set it before the forward pass.",
            )
        if not found:
            return Diagnosis(
                "cut",
                f"{self.x}.grad is None because every path from {self.x} to "
                f"{self.loss} is cut.",
            )
        return self._cut_by(found, f" to {self.loss}")

    def _unused(self) -> Diagnosis:
        left = self._left_torch()
        if left:
            return Diagnosis(
                "cut",
                f"{self.x}.grad is None because its values left torch: "
                f"{_places(left)} gave no tensor that leads back "
                f"to {self.x}.",
                _advice(left[0], self.x),
                left,
            )
        return Diagnosis(
            "unused",
            f"{self.x}.grad is None because {self.loss} was not computed "
            f"from {self.x}.",
            f"Call {self.x}.backward() too, if it is a loss of its own."
            if self._is_an_end()
            else f"Use {self.x} in the computation of {self.loss}.",
        )

    def _is_an_end(self) -> bool:
        """Say whether x may be a loss: a number with a history, of which no
        tensor was computed.
        """
        number = _numel(self.life) == 1 and not self.life.is_leaf
        return number and not any(
            e.outputs and any(u.tensor == self.tensor for u in e.inputs)
            for e in self.story.run.events
        )

    def _left_torch(self) -> tuple[Cut, ...]:
        """The first cuts behind x after which its values became a number or
        an array before the loss was computed.
        """
        story, root = self.story, self.root
        live, data, found, left = {self.tensor}, {self.tensor}, [], False
        for e in story.run.events[: root[1] if root else 0]:
            if e.kind not in ("operation", "in_place", "leaves"):
                continue
            if not any(u.tensor in data for u in e.inputs):
                continue
            data |= {u.tensor for u in e.outputs}
            left = left or e.name in ("item", "tolist", "numpy", "__array__")
            graded = [u for u in e.inputs if u.tensor in live]
            if e.cut and any(u.requires_grad for u in graded):
                found.append(story.cut(e))
            elif graded:
                live |= {u.tensor for u in e.outputs if u.requires_grad}
        return (
            tuple(dict.fromkeys(found)) if left and self._came_back() else ()
        )

    def _came_back(self) -> bool:
        """Say whether the loss was computed from a tensor that was made of
        numbers or an array after the first values had left torch.
        """
        story = self.story
        first = min(
            (e.number for e in story.run.events if e.kind == "leaves"),
            default=len(story.run.events),
        )
        return any(
            story.run.events[maker].name in _FROM_NUMBERS and maker > first
            for t in self.reach.data
            if (maker := story.makers.get(t)) is not None
        )


def _only_writes(e: Event, live: set[str]) -> bool:
    """Say whether tensors are the ones that an event writes into, unseen by
    autograd, as an update under no_grad: that is no cut of theirs.
    """
    still = {u.tensor for u in e.outputs if u.requires_grad}
    graded = {u.tensor for u in e.inputs if u.requires_grad}
    return bool(e.cut) and live & graded <= still & set(e.writes)


_FROM_NUMBERS = {
    "tensor",
    "as_tensor",
    "asarray",
    "from_numpy",
    "full",
    "scalar_tensor",
}
_FLOATS = ("float", "bfloat", "complex")


def _advice(cut: Cut, x: str) -> str:
    source = cut.inputs[0] if cut.inputs else x
    if source.startswith(UNNAMED[:-1]):
        source = "its input"
    ways = {
        "detach": f"Use {source} itself if {x} should learn.",
        "data": f"Use {source} itself, without .data, if {x} should learn.",
        "no_grad": f"Move the line out of no_grad if {x} should learn.",
        "inference_mode": f"Move the line out of inference_mode if {x} "
        "should learn.",
        "item": f"Stay with the tensor, without turning it into a number, if "
        f"{x} should learn.",
        "numpy": f"Stay in torch, without NumPy, if {x} should learn.",
        "copy": f"Use {source} itself instead of a copy of its values, if "
        f"{x} should learn.",
        "not_differentiable": f"{cut.operation} has no derivative: take an "
        f"operation that has one, if {x} should learn.",
    }
    return ways.get(cut.kind, "")


def _numel(life: Life) -> int:
    count = 1
    for size in life.shape:
        count *= size
    return count


def _places(cuts: Iterable[Cut]) -> str:
    """Name the lines of cuts, as the beginning of a sentence's verb."""
    cuts = list(cuts)
    if len(cuts) == 1:
        return f"{cuts[0]},"
    return _listed(str(cut).replace(", `", " (`") + ")" for cut in cuts)


def _listed(words: Iterable[str]) -> str:
    words = list(words)
    if len(words) < 2:
        return "".join(words)
    return ", ".join(words[:-1]) + " and " + words[-1]
