"""The autograd graph of a snapshot: picture, text twin and alt text."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from ..model import UNNAMED, Snapshot, Source, TensorFacts
from . import style, svg
from .diagram import Diagram
from .folding import PLAIN, Fold, fold
from .layout import Edge, Group, Layout, Size, lay_out
from .words import (
    counted,
    distinct,
    grad_text,
    has_grad_line,
    listed,
    name_text,
    shape_text,
    value_of,
    values_lines,
)

__all__ = ["draw", "draw_frames"]

WIDE = 940  # a picture that is wider runs downward
WIDE_FRAME = 1340  # a player shows it at 0.7 of its size
MANY_USES = 4  # a leaf that is used more often gets a stub for each use
_PAD = 10.0
_EDGE = 14.0
_NAME_WRAP = 24


def draw(snapshot: Snapshot, plain: int = PLAIN) -> Diagram:
    """Draw operations in forward order, from the leaves to the roots.

    With more than ``plain`` operations, those that repeat share a box.
    """
    return draw_frames([snapshot], plain)[0]


def draw_frames(
    snapshots: Sequence[Snapshot], plain: int = PLAIN
) -> list[Diagram]:
    """Draw a graph that grows, each box at the place it has in the last one.

    So nothing jumps from picture to picture, and only what is new appears.
    """
    graphs = [_Graph(s, plain) for s in snapshots]
    whole = graphs[-1]
    boxes, edges, groups = _boxes_and_edges(whole)
    shown = [*(_known_at(g, whole, boxes) for g in graphs[:-1]), boxes]
    sizes = [_largest(column) for column in zip(*shown, strict=True)]
    plan = [Edge(e.tail, e.head, e.room(), e.binding) for e in edges]
    frames = [Group(tuple(f.members), f.room()) for f in groups]
    layout = lay_out(sizes, plan, frames)
    limit = WIDE if len(snapshots) == 1 else WIDE_FRAME
    if layout.width > limit and not layout.note:
        downward = lay_out(sizes, plan, frames, downward=True)
        if downward.width < layout.width:
            layout = downward
    more = [layout.note] if layout.note else []
    notes = [[*g.remarks(), *more] for g in graphs]
    size = _page(layout, notes)
    drawn = []
    for graph, now, remarks in zip(graphs, shown, notes, strict=True):
        alt = _alt(graph)
        fitted = [
            replace(one, fixed=room) if one is not None else None
            for one, room in zip(now, sizes, strict=True)
        ]
        lines = edges
        if graph is not whole:  # how often is only known at the end
            lines = [e if e.cut else replace(e, text="") for e in edges]
        picture = _picture(size, fitted, lines, groups, layout, remarks, alt)
        drawn.append(Diagram(picture, _text(graph), alt))
    return drawn


def _largest(column: Sequence[_Box | None]) -> Size:
    sizes = [one.size() for one in column if one is not None]
    return Size(max(s.width for s in sizes), max(s.height for s in sizes))


def _known_at(
    graph: _Graph, whole: _Graph, boxes: list[_Box]
) -> list[_Box | None]:
    """The boxes that an earlier graph has, as they are there; else None.

    A tensor that a loop makes anew stands where its name stands at the end,
    and a pattern that repeats counts up.
    """
    now, _, _ = _boxes_and_edges(graph)
    by_key = {b.key: b for b in now}
    known = {b.key for b in boxes}
    by_name = {b.name: b for b in now if b.name and b.key not in known}
    running = {o.id for o in graph.snapshot.operations}
    found = []
    for one in boxes:
        box = by_key.get(one.key) or by_name.get(one.name)
        if one.fold is not None and not one.fold.single:
            box = _partly(one.fold, running, dict(whole.snapshot.modules))
        found.append(box)
    return found


def _partly(
    f: Fold, running: set[str], modules: dict[str, str]
) -> _Box | None:
    done = tuple(o for o in f.operations if o.id in running)
    if not done:
        return None
    times = max(len(done) // f.period, 1) if f.times else 0
    return _operation_box(Fold(done, f.period, times), modules)


# -- what there is to draw


@dataclass(frozen=True)
class _In:
    """An input of a box: a tensor's id or the number of another box, how
    often, whether a gradient flows back, and the cut that stands there.
    """

    key: str | int
    count: int
    graded: bool
    cut: str


@dataclass
class _Graph:
    """A snapshot, folded, with what the boxes and the text both need."""

    snapshot: Snapshot
    plain: int
    folds: list[Fold] = field(init=False)
    shown: dict[tuple[str, int], str] = field(init=False)
    place: dict[str, int] = field(init=False)
    used: set[str | int] = field(init=False)
    internal: set[str] = field(init=False)

    def __post_init__(self) -> None:
        operations = self.snapshot.operations
        named = {o.id for o in operations if o.outputs}
        self.folds = fold(operations, named, self.plain)
        self.place = {
            o.id: i for i, f in enumerate(self.folds) for o in f.operations
        }
        self.shown = {}
        for f in self.folds:
            for o in f.operations[-f.period :]:
                for number, tensor in o.outputs:
                    self.shown[o.id, number] = tensor
        self.internal: set[str] = set()
        self.internal = self._internal()
        self.used = {i.key for f in self.folds for i in self.inputs(f)}

    def tensor(self, tensor_id: str) -> TensorFacts:
        return self.snapshot.by_id[tensor_id]

    def inputs(self, f: Fold) -> list[_In]:
        """What goes into a fold from outside, each once."""
        found: dict[str | int, _In] = {}
        inside = {o.id for o in f.operations}
        for o in f.operations:
            constants = list(o.constants) if f.single else []
            for source in o.inputs:
                if source.operation in inside:
                    continue
                key = self._key(source)
                graded = source.graded and key is not None
                if key is None and constants:
                    key = constants.pop(0)
                if key is None or key in self.internal:
                    continue
                cut = o.cut if graded else ""
                old = found.get(key, _In(key, 0, False, ""))
                found[key] = _In(
                    key,
                    old.count + 1,
                    old.graded or (graded and o.history),
                    old.cut or cut,
                )
        return list(found.values())

    @cached_property
    def cut_edges(self) -> list[tuple[str | int, str, str]]:
        """From where, to which tensor, and what stands on the cut edge."""
        edges = [
            (self._key(c.source), c.tensor, c.label)
            for c in self.snapshot.cuts
            if c.tensor not in self.internal
        ]
        starts = {t.id for t in self.starts}
        edges += [
            (t.twin, t.id, "same storage") for t in self.starts if t.twin
        ]
        return [e for e in edges if e[0] is not None and e[1] in starts]

    def _internal(self) -> set[str]:
        """Unnamed constants, also cut ones, that only one box of repeated
        operations uses: they are inside it.
        """
        users: dict[str, set[int]] = {}
        for i, f in enumerate(self.folds):
            for o in f.operations:
                for source in o.inputs:
                    if source.tensor:
                        users.setdefault(source.tensor, set()).add(i)
        for c in self.snapshot.cuts:
            home = self.place.get(c.source.operation or "")
            if home is not None:
                users.setdefault(c.tensor, set()).add(home)
        internal = set()
        for tensor, homes in users.items():
            t = self.tensor(tensor)
            plain = t.names == (UNNAMED,) and not t.requires_grad
            if plain and len(homes) == 1 and not self.folds[min(homes)].single:
                internal.add(tensor)
        return internal

    def _key(self, source: Source) -> str | int | None:
        if source.tensor is not None:
            return source.tensor
        if source.operation is None:
            return None
        known = self.shown.get((source.operation, source.output))
        return known or self.place[source.operation]

    def outputs(self, f: Fold) -> list[str]:
        """The ids of the known tensors that a fold makes."""
        return [t for o in f.operations[-f.period :] for _, t in o.outputs]

    @cached_property
    def starts(self) -> list[TensorFacts]:
        """Tensors that no drawn operation made, in order of first use."""
        made = {t for f in self.folds for t in self.outputs(f)}
        used = [
            i.key
            for f in self.folds
            for i in self.inputs(f)
            if isinstance(i.key, str)
        ]
        loose = [t for t in self.snapshot.loose if t not in self.internal]
        cut = [
            key
            for c in self.snapshot.cuts
            if isinstance(key := self._key(c.source), str)
        ]
        twins = [t.twin for i in used if (t := self.tensor(i)).twin]
        ids = distinct([*used, *cut, *twins, *self.snapshot.asked, *loose])
        return [self.tensor(i) for i in ids if i not in made]

    def kind(self, t: TensorFacts) -> str:
        """One word for a tensor: leaf, frozen leaf, constant, no history."""
        if t.grad_fn:
            return t.grad_fn
        if t.requires_grad:
            return "leaf"
        if t.frozen:
            return "frozen leaf"
        return "constant" if t.id in self.used else "no history"

    @cached_property
    def names(self) -> dict[str, str]:
        """What each tensor is called; unnamed ones get a number, a plain
        number its value.
        """
        names = {t.id: name_text(t) for t in self.snapshot.objects}
        unnamed = 0
        for t in self.starts:
            if t.names == (UNNAMED,):
                unnamed += not self.is_number(t)
                names[t.id] = (
                    value_of(t)
                    if self.is_number(t)
                    else f"{UNNAMED[:-1]} {unnamed})"
                )
        return names

    def is_number(self, t: TensorFacts) -> bool:
        """Say whether a tensor is no more than a number in the program."""
        plain = t.names == (UNNAMED,) and not t.requires_grad
        return plain and t.shape == () and bool(value_of(t))

    def roots(self) -> list[TensorFacts]:
        return [self.tensor(i) for i in self.snapshot.asked]

    def reached(self, root: TensorFacts) -> tuple[str, ...]:
        """The leaves that a gradient of one root reaches, by name."""
        operations = {o.id: o for o in self.snapshot.operations}
        makers = {t: o.id for o in operations.values() for _, t in o.outputs}
        wanted = {makers[root.id]} if root.id in makers else set()
        leaves: set[str] = set()
        for o in reversed(self.snapshot.operations):
            if o.id in wanted and o.history:
                graded = [s for s in o.inputs if s.graded]
                wanted |= {s.operation for s in graded if s.operation}
                leaves |= {s.tensor for s in graded if s.tensor}
        order = [i for t in self.starts if (i := t.id) in leaves]
        unnamed = [i for i in order if self.tensor(i).names == (UNNAMED,)]
        named = tuple(self.names[i] for i in order if i not in unnamed)
        if not unnamed:
            return named
        if len(unnamed) == 1:
            return (*named, "a leaf without a name")
        return (*named, f"{len(unnamed)} leaves without a name")

    def remarks(self) -> list[str]:
        """Sentences below the picture and at the end of the text."""
        roots = self.roots()
        remarks = []
        bare = [
            self.names[t.id]
            for t in roots
            if not t.grad_fn and not t.requires_grad and t.type != "number"
        ]
        cut = self.snapshot.cuts or any(
            o.cut for o in self.snapshot.operations
        )
        if bare and cut:
            has = "has" if len(bare) == 1 else "have"
            remarks.append(
                f"{listed(bare)} {has} no history: no gradient gets past "
                "the cut."
            )
        elif bare and not self.snapshot.recorded:
            has, was = ("has", "was") if len(bare) == 1 else ("have", "were")
            remarks.append(
                f"{listed(bare)} {has} no history: autograd does not know "
                f"what {'it' if len(bare) == 1 else 'they'} {was} computed "
                "from, so backward() would raise."
            )
        by_reach: dict[tuple[str, ...], list[str]] = {}
        for t in roots:
            if t.grad_fn:
                by_reach.setdefault(self.reached(t), []).append(name_text(t))
        for reached, names in by_reach.items():
            if not self.snapshot.whole and not reached:
                continue
            remarks.append(
                f"A gradient of {listed(names)} reaches "
                f"{listed(reached) or 'no leaf'}."
            )
        if any(o.freed for o in self.snapshot.operations):
            remarks.append(
                "An earlier backward() freed what was saved here: "
                "a second backward() would raise."
            )
        boxes = len(self.folds)
        total = len(self.snapshot.operations)
        if boxes < total:
            remarks.append(
                f"{counted(total, 'operation')}, folded into "
                f"{counted(boxes, 'box').replace('boxs', 'boxes')}."
            )
        return [*remarks, *(f"{n}." for n in self.snapshot.notes)]


# -- texts


def _fold_name(f: Fold, modules: dict[str, str]) -> tuple[str, str]:
    """The name of a box of operations, and a second line for it."""
    first = f.operations[0]
    if f.single:
        custom = "custom Function, " if first.custom else ""
        return first.name, custom + first.grad_fn
    names = [o.name for o in f.operations[: f.period]]
    if f.times and f.period == 1:
        return f"{first.name} × {f.times:,}", first.grad_fn
    path = {o.module for o in f.operations if o.module}
    few = ", ".join(names[:4]) + (", …" if len(names) > 4 else "")
    if f.times == 1:
        return f"({few})", counted(len(f.operations), "operation")
    if not f.times:
        return counted(len(f.operations), "operation"), few
    label = next(iter(path)) if len(path) == 1 else ""
    each = counted(f.period, "operation")
    if label in modules:
        kind = modules[label].split(",")[0]
        return f"{kind} × {f.times:,}", f"{label}, {each} each"
    return f"({few}) × {f.times:,}", f"{each} each"


def _text(graph: _Graph) -> str:
    roots = listed([name_text(t) for t in graph.roots()])
    lines = [f"graph of {roots}" if roots else "no tensor yet"]
    names = graph.names
    for t in graph.starts:
        if not graph.is_number(t):
            lines.append(f"  {names[t.id]}: {_tensor_text(graph, t)}")
    for i, f in enumerate(graph.folds):
        lines.append(f"  #{i + 1} {_operation_text(graph, f, names)}")
        lines += _saved_texts(graph, f, names)
    lines += _cut_texts(graph)
    lines += graph.remarks()
    return "\n".join(svg.legible(line) for line in lines)


def _tensor_text(graph: _Graph, t: TensorFacts) -> str:
    if t.type == "number":
        return t.dtype
    parts = [graph.kind(t), shape_text(t)]
    value = value_of(t)
    if value:
        parts[-1] += f" = {value}"
    if has_grad_line(t):
        parts.append(grad_text(t))
    if t.twin:
        source = name_text(graph.tensor(t.twin))
        parts.append(f"on the storage of {source}, cut from its history")
    if t.note:
        parts.append(t.note)
    return ", ".join(parts)


def _operation_text(graph: _Graph, f: Fold, names: dict[str, str]) -> str:
    title, second = _fold_name(f, dict(graph.snapshot.modules))
    sources = []
    for i in graph.inputs(f):
        one = names[i.key] if isinstance(i.key, str) else f"#{i.key + 1}"
        sources.append(one if i.count == 1 else f"{one} (× {i.count})")
    made = []
    for i in graph.outputs(f):
        t = graph.tensor(i)
        more = f", {grad_text(t)}" if has_grad_line(t) else ""
        value = value_of(t)
        equal = f" = {value}" if value else ""
        made.append(f"{names[i]} ({shape_text(t)}{equal}{more})")
    text = f"{title} [{second}]"
    if sources:
        text += f" of {', '.join(sources)}"
    text += f" -> {', '.join(made)}" if made else ""
    marks = distinct(o.cut for o in f.operations if o.cut)
    return text + "".join(f", {_on_one_line(m)}" for m in marks)


def _on_one_line(label: str) -> str:
    return f"{style.SCISSORS} {label}".replace("\n", " in ")


def _cut_texts(graph: _Graph) -> list[str]:
    lines = []
    for key, tensor, label in graph.cut_edges:
        if label == "same storage":
            continue  # told of the tensor itself
        source = graph.names[key] if isinstance(key, str) else f"#{key + 1}"
        cut = _on_one_line(label)
        lines.append(f"  {cut}: {source} -> {graph.names[tensor]}")
    return lines


def _saved_texts(graph: _Graph, f: Fold, names: dict[str, str]) -> list[str]:
    lines = []
    for s in f.operations[0].saved if f.single else ():
        what = _SAVED_STATES.get(s.state, "")
        if s.tensor is not None:
            t = graph.tensor(s.tensor)
            unnamed = t.names == (UNNAMED,)
            what = _tensor_text(graph, t) if unnamed else names[t.id]
        lines.append(f"       saved {s.label}: {what}")
    return lines


_SAVED_STATES = {
    "freed": "freed by backward()",
    "hidden": "behind a hook of yours",
}


def _alt(graph: _Graph) -> str:
    roots = listed([name_text(t) for t in graph.roots()])
    if not roots and not graph.folds:
        return "No tensor yet."
    operations = [
        _fold_name(f, dict(graph.snapshot.modules))[0] for f in graph.folds
    ]
    if len(operations) > 8:
        operations = [*operations[:7], f"{len(operations) - 7} more"]
    steps = f": {', '.join(operations)}" if operations else ""
    count = counted(len(graph.snapshot.operations), "operation")
    start = f"Computation graph of {roots}, {count}{steps}."
    return " ".join([start, *graph.remarks()])


# -- boxes and edges


@dataclass
class _Box:
    """One box: its look and its lines (text, kind of text)."""

    lines: list[tuple[list[str], str]]
    fill: str
    stroke: str
    stroke_width: float = 1.0
    dashed: bool = False
    flake: bool = False
    radius: float = 10.0
    key: str = ""
    fold: Fold | None = None
    name: str = ""
    fixed: Size | None = None

    def size(self) -> Size:
        """What its lines need, or what was given to it."""
        if self.fixed is not None:
            return self.fixed
        width = 0.0
        height = 0.0
        for texts, kind in self.lines:
            for one in texts:
                width = max(width, _width(one, kind))
            height += len(texts) * _leading(kind)
        flake = 18 if self.flake else 0
        return Size(max(width + flake, 14) + 2 * _PAD, height + 12)


@dataclass(frozen=True)
class _Line:
    """An edge with its look."""

    tail: int
    head: int
    text: str = ""
    dashed: bool = False
    binding: bool = True
    cut: bool = False
    graded: bool = False

    def room(self) -> Size | None:
        if not self.text:
            return None
        lines = self.text.split("\n")
        scissors = 18 if self.cut else 0
        width = max(_width(line, "s") for line in lines)
        return Size(width + 6 + scissors, 2 + 14 * len(lines))


@dataclass(frozen=True)
class _Frame:
    title: str
    members: list[int]

    def room(self) -> Size:
        return Size(_width(self.title, "s") + 4, 14)


def _width(text: str, kind: str) -> float:
    size = {"n": style.NAME_SIZE, "s": style.SMALL_SIZE, "w": style.SMALL_SIZE}
    return style.text_width(
        text.rstrip("\n"), size.get(kind, style.TEXT_SIZE), kind in "nm"
    )


def _leading(kind: str) -> float:
    return {"n": 18.0, "s": 14.0, "w": 14.0}.get(kind, 15.0)


def _tensor_box(t: TensorFacts, kind: str, again: bool = False) -> _Box:
    names = [n for n in t.names if n != UNNAMED]
    value = value_of(t)
    if t.type == "number":
        return _Box([([t.dtype], "s")], style.CARD, style.GREY, dashed=True)
    if not names and not t.shape and value and not t.requires_grad:
        lines = [([value], "m")]  # a plain number
    else:
        lines = _name_lines(names)
        short = str(list(t.shape)) if t.shape else "scalar"
        dtype = "" if t.dtype == "float32" else f"{t.dtype} "
        word = "" if t.grad_fn else kind
        gap = ", " if word and not t.shape else " "
        lines.append(([f"{word}{gap}{dtype}{short}".strip()], "t"))
        if again:
            lines[-1] = (["(again)"], "s")
        else:
            if value:
                lines.append((values_lines(t.values), "m"))
            if has_grad_line(t):
                lines += _grad_lines(t)
            if t.note:
                lines.append((textwrap.wrap(t.note, 30), "s"))
    if t.grad_fn:
        return _Box(lines, style.CARD, style.BLUE, 1.2)
    if t.requires_grad:
        return _Box(lines, style.LEAF_FILL, style.BLUE, 2.6)
    return _Box(
        lines,
        style.PLAIN_FILL,
        style.GREY,
        1.2,
        dashed=True,
        flake=t.frozen,
    )


def _grad_lines(t: TensorFacts) -> list[tuple[list[str], str]]:
    if t.grad is None:
        return [([".grad None"], "w")]
    if not value_of(t.grad) or len(t.shape) < 2:
        return [([grad_text(t)], "b")]
    return [([".grad"], "b"), (values_lines(t.grad.values), "m")]


def _name_lines(names: Sequence[str]) -> list[tuple[list[str], str]]:
    lines = []
    for i, name in enumerate(names):
        prefix = "" if i == 0 else "= "
        lines.append((svg.wrap(prefix + name, _NAME_WRAP), "n"))
    return lines


def _operation_box(f: Fold, modules: dict[str, str]) -> _Box:
    title, second = _fold_name(f, modules)
    lines = [
        (svg.wrap(title, 34), "t"),
        (svg.wrap(second, 40), "s"),
    ]
    if f.single:
        for s in f.operations[0].saved:
            state = _SAVED_STATES.get(s.state)
            if state:
                lines.append(([f"saved {s.label}: {state}"], "s"))
    wide = 1.0 if f.single else 2.0
    if f.operations[-1].history:
        return _Box(lines, style.OPERATION_FILL, style.GREY, wide, radius=4)
    grey = [(texts, "s") for texts, _ in lines]  # behind a cut
    return _Box(grey, style.CARD, style.GREY, wide, dashed=True, radius=4)


def _boxes_and_edges(
    graph: _Graph,
) -> tuple[list[_Box], list[_Line], list[_Frame]]:
    modules = dict(graph.snapshot.modules)
    boxes: list[_Box] = []
    of_tensor: dict[str, int] = {}
    of_fold: dict[int, int] = {}
    for t in graph.starts:
        of_tensor[t.id] = len(boxes)
        boxes.append(_tensor_box(t, graph.kind(t)))
        boxes[-1].key = t.id
    for i, f in enumerate(graph.folds):
        of_fold[i] = len(boxes)
        boxes.append(_operation_box(f, modules))
        boxes[-1].key = "+".join(o.id for o in f.operations)
        boxes[-1].fold = f
        for made in graph.outputs(f):
            of_tensor[made] = len(boxes)
            boxes.append(_tensor_box(graph.tensor(made), ""))
            boxes[-1].key = made
            boxes[-1].name = name_text(graph.tensor(made))
    edges = [
        _Line(
            _place_of(key, of_tensor, of_fold), of_tensor[t], label, cut=True
        )
        for key, t, label in graph.cut_edges
    ]
    uses: dict[str, int] = {}
    total: dict[str | int, int] = {}
    starts = {t.id for t in graph.starts}
    for f in graph.folds:
        for one in graph.inputs(f):
            total[one.key] = total.get(one.key, 0) + 1
    for i, f in enumerate(graph.folds):
        head = of_fold[i]
        for one in graph.inputs(f):
            key = one.key
            tail = _place_of(key, of_tensor, of_fold)
            text = one.cut or (f"× {one.count}" if one.count > 1 else "")
            if isinstance(key, str):
                uses[key] = uses.get(key, 0) + 1
                often = key in starts and total[key] > MANY_USES
                if often and uses[key] > 1:
                    tail = len(boxes)
                    t = graph.tensor(key)
                    boxes.append(_tensor_box(t, "", again=True))
                    boxes[-1].key = f"{key} again in {i}"
            edges.append(
                _Line(tail, head, text, cut=bool(one.cut), graded=one.graded)
            )
        history = f.operations[-1].history
        for made in graph.outputs(f):
            edges.append(_Line(head, of_tensor[made], graded=history))
        edges += _saved_edges(graph, f, head, of_tensor, boxes)
    return boxes, edges, _frames(graph, of_tensor, of_fold)


def _place_of(
    key: str | int, of_tensor: dict[str, int], of_fold: dict[int, int]
) -> int:
    return of_fold[key] if isinstance(key, int) else of_tensor[key]


def _saved_edges(
    graph: _Graph,
    f: Fold,
    head: int,
    of_tensor: dict[str, int],
    boxes: list[_Box],
) -> list[_Line]:
    if not f.single:
        return []
    edges = []
    for s in f.operations[0].saved:
        if s.tensor is None:
            continue
        text = f"saved: {s.label}"
        if s.tensor in of_tensor:
            edges.append(
                _Line(head, of_tensor[s.tensor], text, True, binding=False)
            )
        else:
            t = graph.tensor(s.tensor)
            boxes[head].lines.append(([f"{text} {list(t.shape)}"], "s"))
    return edges


def _frames(
    graph: _Graph, of_tensor: dict[str, int], of_fold: dict[int, int]
) -> list[_Frame]:
    members: dict[str, list[int]] = {}
    modules = graph.snapshot.modules
    grouped = {
        path
        for path in modules
        for name in graph.snapshot.grouped
        if not name or path == name or path.startswith(name + ".")
    }
    for t in graph.starts:
        if t.module in grouped:
            members.setdefault(t.module, []).append(of_tensor[t.id])
    for i, f in enumerate(graph.folds):
        paths = {o.module for o in f.operations}
        path = paths.pop() if len(paths) == 1 else ""
        if path in grouped:
            members.setdefault(path, []).append(of_fold[i])
    return [
        _Frame(f"{path}: {modules[path]}" if path else modules[path], boxes)
        for path, boxes in members.items()
    ]


# -- the picture


_LINE = 15.0


def _page(layout: Layout, notes: list[list[str]]) -> tuple[float, float]:
    """Width and height that hold the layout and the longest remarks."""
    longest = max(
        (_width(r, "s") for remarks in notes for r in remarks), default=0
    )
    inner = max(layout.width, min(longest, 520.0))
    tall = max(
        sum(_LINE * len(_wrapped(r, inner)) + 4 for r in remarks)
        for remarks in notes
    )
    top = _EDGE + layout.height + 24
    return inner + 2 * _EDGE, top + tall - 4


def _wrapped(remark: str, inner: float) -> list[str]:
    return textwrap.wrap(remark, int(inner / 5.8))[:12]


def _picture(
    size: tuple[float, float],
    boxes: Sequence[_Box | None],
    edges: list[_Line],
    frames: list[_Frame],
    layout: Layout,
    remarks: list[str],
    alt: str,
) -> str:
    parts = []
    left = top = _EDGE
    for frame, place in zip(frames, layout.frames, strict=True):
        if place[0] < place[2]:
            parts.append(_draw_frame(frame, place, left, top))
    for edge, spline, label in zip(
        edges, layout.edges, layout.labels, strict=True
    ):
        if boxes[edge.tail] and boxes[edge.head]:
            parts.append(_draw_edge(edge, spline, label, left, top))
    for one, centre in zip(boxes, layout.boxes, strict=True):
        if one is not None:
            parts.append(_draw_box(one, centre, left, top))
    y = top + layout.height + 24
    for remark in remarks:
        lines = _wrapped(remark, size[0] - 2 * _EDGE)
        parts.append(svg.text(_EDGE, y, lines, "s", leading=_LINE))
        y += _LINE * len(lines) + 4
    return svg.document(*size, "".join(parts), alt)


def _draw_frame(
    frame: _Frame,
    place: tuple[float, float, float, float],
    left: float,
    top: float,
) -> str:
    x0, y0, x1, y1 = place
    fill, edge = style.GROUP_FILL, style.GROUP_EDGE
    box = svg.box(left + x0, top + y0, x1 - x0, y1 - y0, fill, edge)
    return box + svg.text(left + x0 + 10, top + y0 + 16, frame.title, "s")


def _draw_edge(
    edge: _Line,
    spline: Sequence[svg.Point],
    label: svg.Point | None,
    left: float,
    top: float,
) -> str:
    colour = style.GREY if edge.dashed else style.SOFT_INK
    if not edge.graded:
        colour = style.GREY
    colour = style.ORANGE if edge.cut else colour
    path = [(x + left, y + top) for x, y in spline]
    curved = len(path) > 2
    thick = 2.0 if edge.cut or edge.graded else 1.0
    part = svg.line(path, colour, thick, edge.dashed or edge.cut, curved)
    part += svg.arrow_head(path[-2], path[-1], colour)
    if edge.text and label:
        x, y = label[0] + left, label[1] + top + 4
        if edge.cut:
            lines = edge.text.split("\n")
            y -= 7 * (len(lines) - 1)
            start = x - edge.room().width / 2 + 3
            part += svg.scissors(start + 6, y - 4)
            part += svg.text(start + 17, y, lines, "w", leading=14)
        else:
            part += svg.text(x, y, edge.text, "s", "middle")
    return part


def _draw_box(one: _Box, centre: svg.Point, left: float, top: float) -> str:
    size = one.size()
    x = left + centre[0] - size.width / 2
    y = top + centre[1] - size.height / 2
    part = svg.box(
        x,
        y,
        size.width,
        size.height,
        one.fill,
        one.stroke,
        one.stroke_width,
        one.dashed,
        one.radius,
    )
    middle = left + centre[0] + (9 if one.flake else 0)
    if one.flake:
        part += svg.snowflake(x + 14, y + size.height / 2)
    baseline = (
        y + 6 + (size.height - replace(one, fixed=None).size().height) / 2
    )
    for texts, kind in one.lines:
        baseline += _leading(kind)
        part += svg.text(
            middle, baseline - 4, texts, kind, "middle", _leading(kind)
        )
        baseline += (len(texts) - 1) * _leading(kind)
    return part
