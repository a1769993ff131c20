"""The autograd graph of a snapshot: picture, text twin and alt text."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..model import UNNAMED, ModuleFacts, Snapshot, TensorFacts
from . import style, svg
from .boxes import (
    SAVED_STATES,
    Box,
    Frame,
    Line,
    draw_box,
    draw_edge,
    draw_frame,
    fold_name,
    line_width,
    operation_box,
    tensor_box,
)
from .diagram import Diagram
from .folding import PLAIN, Fold, deepest
from .layout import Edge, Group, Layout, Size, lay_out
from .reading import Graph, root_name
from .words import (
    counted,
    distinct,
    grad_text,
    has_grad_line,
    listed,
    name_text,
    shape_text,
    value_of,
)

__all__ = ["draw", "draw_frames", "wrapped"]

WIDE = 940  # a picture that is wider runs downward
WIDE_FRAME = 1340  # a player shows it at 0.7 of its size
MOST_IN_A_PLAYER = 40  # boxes; with more, modules are drawn as one each
MANY_USES = 4  # a leaf that is used more often gets a stub for each use
_EDGE = 14.0


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
    depth = _depth(snapshots[-1], plain) if len(snapshots) > 1 else 0
    graphs = [Graph(s, plain, depth) for s in snapshots]
    whole = graphs[-1]
    boxes, edges, groups = _boxes_and_edges(whole)
    shown: list[Sequence[Box | None]] = [
        *(_known_at(g, whole, boxes) for g in graphs[:-1]),
        boxes,
    ]
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


def _depth(snapshot: Snapshot, plain: int) -> int:
    """How many modules deep a player shows a graph; 0: operation by
    operation, where that is few enough boxes.
    """
    modules = snapshot.modules.items()
    kinds = {path: facts.kind for path, facts in modules if path}
    for depth in (0, *range(deepest(kinds), 0, -1), -1):
        graph = Graph(snapshot, plain, depth)
        if len(graph.folds) + len(graph.starts) <= MOST_IN_A_PLAYER:
            return depth
    return -1 if kinds else 0


def _largest(column: Sequence[Box | None]) -> Size:
    sizes = [one.size() for one in column if one is not None]
    return Size(max(s.width for s in sizes), max(s.height for s in sizes))


def _known_at(
    graph: Graph, whole: Graph, boxes: list[Box]
) -> list[Box | None]:
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
            box = _partly(one.fold, running, whole.snapshot.modules)
        found.append(box)
    return found


def _partly(
    f: Fold, running: set[str], modules: Mapping[str, ModuleFacts]
) -> Box | None:
    done = tuple(o for o in f.operations if o.id in running)
    if not done:
        return None
    times = max(len(done) // f.period, 1) if f.times else 0
    now = replace(f, operations=done, times=times)
    return operation_box(now, modules)


# -- texts


def _text(graph: Graph) -> str:
    roots = listed([root_name(t) for t in graph.roots()])
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


def _tensor_text(graph: Graph, t: TensorFacts) -> str:
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


def _operation_text(graph: Graph, f: Fold, names: dict[str, str]) -> str:
    title, second = fold_name(f, graph.snapshot.modules)
    sources = []
    for source in graph.inputs(f):
        key = source.key
        one = names[key] if isinstance(key, str) else f"#{key + 1}"
        often = f" (× {source.count})" if source.count > 1 else ""
        sources.append(one + often)
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


def _cut_texts(graph: Graph) -> list[str]:
    lines = []
    for key, tensor, label in graph.cut_edges:
        if label == "same storage":
            continue  # told of the tensor itself
        source = graph.names[key] if isinstance(key, str) else f"#{key + 1}"
        cut = _on_one_line(label)
        lines.append(f"  {cut}: {source} -> {graph.names[tensor]}")
    return lines


def _saved_texts(graph: Graph, f: Fold, names: dict[str, str]) -> list[str]:
    lines = []
    for s in f.operations[0].saved if f.single else ():
        what = SAVED_STATES.get(s.state, "")
        if s.tensor is not None:
            t = graph.tensor(s.tensor)
            unnamed = t.names == (UNNAMED,)
            what = _tensor_text(graph, t) if unnamed else names[t.id]
        lines.append(f"       saved {s.label}: {what}")
    return lines


def _alt(graph: Graph) -> str:
    roots = listed([root_name(t) for t in graph.roots()])
    if not roots and not graph.folds:
        return "No tensor yet."
    operations = [fold_name(f, graph.snapshot.modules)[0] for f in graph.folds]
    if len(operations) > 8:
        operations = [*operations[:7], f"{len(operations) - 7} more"]
    steps = f": {', '.join(operations)}" if operations else ""
    count = counted(len(graph.snapshot.operations), "operation")
    start = f"Computation graph of {roots}, {count}{steps}."
    return " ".join([start, *graph.remarks()])


# -- boxes and edges


def _boxes_and_edges(
    graph: Graph,
) -> tuple[list[Box], list[Line], list[Frame]]:
    boxes, of_tensor, of_fold = _boxes(graph)
    edges = [
        Line(_place_of(key, of_tensor, of_fold), of_tensor[t], label, cut=True)
        for key, t, label in graph.cut_edges
    ]
    total = Counter(i.key for f in graph.folds for i in graph.inputs(f))
    starts = {t.id for t in graph.starts}
    many = {key for key in starts if total[key] > MANY_USES}
    seen: set[str | int] = set()
    for i, f in enumerate(graph.folds):
        head = of_fold[i]
        for one in graph.inputs(f):
            tail = _place_of(one.key, of_tensor, of_fold)
            if one.key in many and one.key in seen:
                tail = len(boxes)
                boxes.append(_stub(graph, str(one.key), i))
            seen.add(one.key)
            text = one.cut or (f"× {one.count}" if one.count > 1 else "")
            edges.append(
                Line(tail, head, text, cut=bool(one.cut), graded=one.graded)
            )
        history = f.operations[-1].history
        for made in graph.outputs(f):
            edges.append(Line(head, of_tensor[made], graded=history))
        edges += _saved_edges(graph, f, head, of_tensor, boxes)
    return boxes, edges, _frames(graph, of_tensor, of_fold)


def _boxes(
    graph: Graph,
) -> tuple[list[Box], dict[str, int], dict[int, int]]:
    """The boxes, and which is that of a tensor and of a fold."""
    boxes: list[Box] = []
    of_tensor: dict[str, int] = {}
    of_fold: dict[int, int] = {}
    for t in graph.starts:
        of_tensor[t.id] = len(boxes)
        boxes.append(tensor_box(t, graph.kind(t)))
        boxes[-1].key = t.id
    for i, f in enumerate(graph.folds):
        of_fold[i] = len(boxes)
        boxes.append(operation_box(f, graph.snapshot.modules))
        boxes[-1].key = "+".join(o.id for o in f.operations)
        boxes[-1].fold = f
        for made in graph.outputs(f):
            of_tensor[made] = len(boxes)
            boxes.append(tensor_box(graph.tensor(made), ""))
            boxes[-1].key = made
            boxes[-1].name = name_text(graph.tensor(made))
    return boxes, of_tensor, of_fold


def _stub(graph: Graph, tensor: str, use: int) -> Box:
    """A leaf that is used often, once more beside one of its uses."""
    box = tensor_box(graph.tensor(tensor), "", again=True)
    box.key = f"{tensor} again in {use}"
    return box


def _place_of(
    key: str | int, of_tensor: dict[str, int], of_fold: dict[int, int]
) -> int:
    return of_fold[key] if isinstance(key, int) else of_tensor[key]


def _saved_edges(
    graph: Graph,
    f: Fold,
    head: int,
    of_tensor: dict[str, int],
    boxes: list[Box],
) -> list[Line]:
    if not f.single:
        return []
    edges = []
    for s in f.operations[0].saved:
        if s.tensor is None:
            continue
        text = f"saved: {s.label}"
        if s.tensor in of_tensor:
            edges.append(
                Line(head, of_tensor[s.tensor], text, True, binding=False)
            )
        else:
            t = graph.tensor(s.tensor)
            boxes[head].lines.append(([f"{text} {list(t.shape)}"], "s"))
    return edges


def _frames(
    graph: Graph, of_tensor: dict[str, int], of_fold: dict[int, int]
) -> list[Frame]:
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
        Frame(
            f"{path}: {modules[path]}" if path else str(modules[path]), boxes
        )
        for path, boxes in members.items()
    ]


# -- the picture


_LINE = 15.0


def _page(layout: Layout, notes: list[list[str]]) -> tuple[float, float]:
    """Width and height that hold the layout and the longest remarks."""
    longest = max(
        (line_width(r, "s") for remarks in notes for r in remarks), default=0
    )
    inner = max(layout.width, min(longest, 520.0))
    tall = max(
        sum(_LINE * len(wrapped(r, inner)) + 4 for r in remarks)
        for remarks in notes
    )
    top = _EDGE + layout.height + 24
    return inner + 2 * _EDGE, top + tall - 4


def wrapped(remark: str, inner: float) -> list[str]:
    """Cut a remark into lines of about so many pixels."""
    letters = int(inner / 5.8)
    lines = textwrap.wrap(remark, letters)
    most = inner + 2 * _EDGE - 4
    while letters > 8 and any(line_width(o, "s") > most for o in lines):
        letters -= 4  # wide letters
        lines = textwrap.wrap(remark, letters)
    return lines[:12]


def _picture(
    size: tuple[float, float],
    boxes: Sequence[Box | None],
    edges: list[Line],
    frames: list[Frame],
    layout: Layout,
    remarks: list[str],
    alt: str,
) -> str:
    parts = []
    left = top = _EDGE
    for frame, place in zip(frames, layout.frames, strict=True):
        if place[0] < place[2]:
            parts.append(draw_frame(frame, place, left, top))
    for edge, spline, label in zip(
        edges, layout.edges, layout.labels, strict=True
    ):
        if boxes[edge.tail] and boxes[edge.head]:
            parts.append(draw_edge(edge, spline, label, left, top))
    for one, centre in zip(boxes, layout.boxes, strict=True):
        if one is not None:
            parts.append(draw_box(one, centre, left, top))
    y = top + layout.height + 24
    for remark in remarks:
        lines = wrapped(remark, size[0] - 2 * _EDGE)
        parts.append(svg.text(_EDGE, y, lines, "s", leading=_LINE))
        y += _LINE * len(lines) + 4
    return svg.document(*size, "".join(parts), alt)
