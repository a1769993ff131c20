"""A graph by modules: one box per module, to be opened and folded.

Every view is laid out once, with the boxes as they are at first.  Opening or
folding one stretches the view around it: a map of x and one of y, so nothing
can come to overlap.  The same is done without scripts for the first picture.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate
from typing import Any

from ..model import Snapshot, number_text
from . import graph as plain_graph
from . import style, svg
from .boxes import (
    Box,
    Line,
    draw_box,
    draw_edge,
    fold_name,
    line_width,
    operation_box,
    tensor_box,
)
from .diagram import Diagram
from .folding import PLAIN
from .layout import Edge, Job, Layout, Size, lay_out_all
from .module_page import module_page
from .nesting import Item, View, gathered, nest, placed
from .reading import Graph, root_name
from .words import (
    counted,
    grad_text,
    has_grad_line,
    listed,
    shape_text,
    value_of,
)

__all__ = ["draw"]

MOST_BOXES = 40  # in the first picture
WIDE = 940.0  # a view that is wider runs downward
_EDGE = 14.0
_ROOM = 12.0  # between a frame and what is in it
_TITLE = 24.0
_MARK = 18.0  # room for the sign that a box can be opened


def draw(snapshot: Snapshot, plain: int = PLAIN) -> Diagram:
    """Draw a graph, by modules where it has more boxes than fit.

    Without modules, operations that repeat share a box, from more than
    ``plain`` on; and so it is drawn where that has fewer boxes.
    """
    count = len(snapshot.operations)
    many = count > MOST_BOXES or not _fits(snapshot, count)
    modular = snapshot.grouped or snapshot.recorded
    if not any(snapshot.modules) or (modular and not many):
        return plain_graph.draw(snapshot, plain)
    if not modular and _fits(snapshot, plain):
        return plain_graph.draw(snapshot, plain)
    if not snapshot.recorded:
        snapshot = placed(snapshot)
    graph = Graph(gathered(snapshot), len(snapshot.operations))
    views = nest(graph)
    nested = _Nested(graph, views)
    crowded = nested.count() > MOST_BOXES and not snapshot.grouped
    if len(views) == 1 or (crowded and _fits(snapshot, plain)):
        return plain_graph.draw(snapshot, plain)
    return nested.diagram()


def _fits(snapshot: Snapshot, plain: int) -> bool:
    """Say whether a picture without modules has few enough boxes."""
    graph = Graph(snapshot, plain)
    return len(graph.folds) + len(graph.starts) <= MOST_BOXES


@dataclass(frozen=True)
class _Foldable(Diagram):
    """A picture whose page opens and folds modules; made when it is shown."""

    nested: Any = field(default=None, repr=False, compare=False)

    @cached_property
    def _page_html(self) -> str:
        return module_page(self, self.nested.data())

    @property
    def html(self) -> str:
        """What a notebook shows: the picture, and a script to open boxes."""
        return self._page_html


class _Nested:
    """The views of a graph with their boxes, sizes and places."""

    def __init__(self, graph: Graph, views: list[View]) -> None:
        self.graph = graph
        self.views = views
        self.open = _open_at_first(views)
        modules = graph.snapshot.modules.values()
        self.some_grad = any(m.grad_norm is not None for m in modules)
        self.known_boxes: dict[int, list[Box]] = {}
        self.known_ports: dict[int, dict[str, str]] = {}
        self.layouts: dict[int, Layout] = {}
        self.downward: set[int] = set()

    def diagram(self) -> Diagram:
        """Return the picture, its text and its alt text."""
        self._lay_out(self.open)
        alt, text = self._alt(), self._text()
        return _Foldable(self._picture(alt), text, alt, nested=self)

    def count(self) -> int:
        """How many boxes the first picture has."""
        opened = [self.views[n] for n in self.open]
        return sum(len(v.items) for v in opened) - (len(self.open) - 1)

    # -- boxes

    def _boxes(self, number: int) -> list[Box]:
        """The boxes of a view, made when it is drawn for the first time."""
        if number not in self.known_boxes:
            view = self.views[number]
            boxes = [self._box(view, item) for item in view.items]
            self.known_boxes[number] = boxes
        return self.known_boxes[number]

    def _box(self, view: View, item: Item) -> Box:
        graph = self.graph
        if item.kind == "tensor":
            t = graph.tensor(item.key)
            return tensor_box(t, graph.kind(t) if not t.grad_fn else "")
        if item.kind == "operation":
            assert item.fold is not None
            return operation_box(item.fold, graph.snapshot.modules)
        if item.kind == "view":
            return self._module_box(self.views[item.view])
        return Box([([self._port(view, item)], "s")], style.CARD, style.FAINT)

    def _port(self, view: View, item: Item) -> str:
        """What a port is called: after the box at the other end."""
        if view.number not in self.known_ports:
            ports = [i for i in view.items if i.kind == "in"]
            words = ["in"]
            if len(ports) > 1:
                words = [f"in: {self._source(view, i)}" for i in ports]
            often = Counter(words)
            words = [
                f"{word} ({words[:k].count(word) + 1})"
                if often[word] > 1
                else word
                for k, word in enumerate(words)
            ]
            self.known_ports[view.number] = dict(
                zip((i.key for i in ports), words, strict=False)
            )
        known = self.known_ports[view.number]
        return "out" if item.kind == "out" else known[item.key]

    def _source(self, view: View, port: Item) -> str:
        """The tensor, the operation, or the module around that one which
        stands beside the view.
        """
        kind, key = port.key.split()
        if kind == "tensor":
            return self.graph.names[key]
        operation = self.graph.folds[int(key)].operations[0]
        while not view.paths and view.parent >= 0:
            view = self.views[view.parent]
        here = f"{view.paths[-1]}." if view.paths else ""
        beside = ""
        for path in accumulate(operation.module.split("."), "{}.{}".format):
            facts = self.graph.snapshot.modules.get(path)
            if facts is None or facts.only_holds:
                continue
            if not here.startswith(f"{path}."):
                return path.removeprefix(beside)
            beside = f"{path}."
        return operation.name

    def _module_box(self, view: View) -> Box:
        path, title = self._title(view)
        lines: list[tuple[list[str], str]] = []
        if path:
            lines.append((svg.wrap(path, 30), "n"))
        lines.append((svg.wrap(title, 40), "t"))
        lines += [([line], kind) for line, kind in self._facts(view)]
        frozen = self._is_frozen(view)
        history = view.operations[-1].history
        fill = style.OPERATION_FILL if history else style.CARD
        return Box(
            [*lines],
            style.PLAIN_FILL if frozen else fill,
            style.GREY,
            2.0,
            dashed=frozen or not history,
            flake=frozen,
            radius=6,
            mark=True,
            cuts=bool(view.cuts),
        )

    def _title(self, view: View) -> tuple[str, str]:
        """A view's path, and what it is."""
        times = f" × {view.times:,}" if view.times > 1 else ""
        if view.paths:
            first, last = view.paths[0], view.paths[-1]
            path = (
                first if first == last else f"{first} … {_tail(last, first)}"
            )
            return path, self.graph.snapshot.modules[last].kind + times
        if not view.times:
            return "", counted(len(view.operations), "operation")
        few = ", ".join(view.parts[:4])
        more = ", …" if len(view.parts) > 4 else ""
        return "", f"({few}{more}){times}"

    def _facts(self, view: View) -> list[tuple[str, str]]:
        """What a box says of its modules, and how each line looks."""
        lines = []
        modules = [self.graph.snapshot.modules[p] for p in view.paths]
        norms = [m.grad_norm for m in modules if m.grad_norm is not None]
        if modules and modules[-1].parameters:
            each = " each" if len(modules) > 1 else ""
            lines.append((modules[-1].count_text(each), "s"))
        shape = self._shape(view)
        if shape is not None:
            lines.append((f"-> {list(shape)}", "s"))
        if norms:
            low, high = number_text(min(norms)), number_text(max(norms))
            told = low if low == high else f"{low} to {high}"
            lines.append((f".grad norm {told}", "b"))
        elif self.some_grad and any(m.trainable for m in modules):
            lines.append((".grad None", "w"))
        if view.cuts:
            first = view.cuts[0].replace("\n", " in ")
            more = len(view.cuts) - 1
            rest = f" and {more} more" if more else ""
            lines.append((f"cut inside: {first}{rest}", "w"))
        return lines

    def _shape(self, view: View) -> tuple[int, ...] | None:
        known = [self.graph.snapshot.modules[p].shape for p in view.paths]
        if known and known[-1] is not None:
            return known[-1]
        return view.operations[-1].shape

    def _is_frozen(self, view: View) -> bool:
        modules = [self.graph.snapshot.modules[p] for p in view.paths]
        return bool(modules) and all(m.frozen for m in modules)

    # -- places

    def _lay_out(self, wanted: Collection[int]) -> None:
        """Lay out views, inner ones first, those of one depth together."""
        depth = {0: 0}
        for view in self.views[1:]:
            depth[view.number] = depth[view.parent] + 1
        ready = [n for n in wanted if n not in self.layouts]
        for level in sorted({depth[n] for n in ready}, reverse=True):
            numbers = [n for n in ready if depth[n] == level]
            jobs = []
            for n in numbers:
                sizes, edges = self._sizes(n), self._edges(n)
                wide = Job(sizes, edges, straight=True)
                jobs += [wide, replace(wide, downward=True)]
            found = lay_out_all(jobs)
            limit = WIDE - 2 * _ROOM * level
            for k, n in enumerate(numbers):
                flat, tall = found[2 * k], found[2 * k + 1]
                across = flat.width <= limit
                if any(m in self.downward for m in self._open_in(n)):
                    across = False  # one way to read for both
                if not across and tall.width < flat.width:
                    self.downward.add(n)
                self.layouts[n] = tall if n in self.downward else flat

    def _open_in(self, number: int) -> list[int]:
        inside = _views_in(self.views[number])
        return [n for n in inside if n in self.open]

    def _sizes(self, number: int) -> list[Size]:
        return [
            self._frame_size(item.view)
            if item.kind == "view" and item.view in self.open
            else box.size()
            for item, box in zip(
                self.views[number].items, self._boxes(number), strict=True
            )
        ]

    def _frame_size(self, number: int) -> Size:
        inner = self.layouts[number]
        return Size(
            max(inner.width, self._least(number)) + 2 * _ROOM,
            inner.height + _TITLE + _ROOM,
        )

    def _least(self, number: int) -> float:
        """The width that the title and the signs beside it need."""
        return line_width(self._frame_title(number), "s") + 5 * _MARK

    def _frame_title(self, number: int) -> str:
        view = self.views[number]
        path, title = self._title(view)
        told = f"{path}: {title}" if path else title
        facts = [f for f, _ in self._facts(view) if not f.startswith("->")]
        return ", ".join([told, *facts])

    def _edges(self, number: int) -> list[Edge]:
        lines = self._lines(number)
        return [Edge(e.tail, e.head, e.room(), e.binding) for e in lines]

    def _lines(self, number: int) -> list[Line]:
        return [
            Line(
                e.tail,
                e.head,
                e.cut or (f"× {e.count}" if e.count > 1 else ""),
                cut=bool(e.cut),
                graded=e.graded,
            )
            for e in self.views[number].links
        ]

    # -- the picture

    def _picture(self, alt: str) -> str:
        layout = self.layouts[0]
        words, wide, tall = self._remarks_drawn()
        y = _EDGE + layout.height + 24
        size = (max(layout.width, wide) + 2 * _EDGE, y + tall)
        drawn = self._draw_view(0, _EDGE, _EDGE) + _moved(_EDGE, y, words)
        return svg.document(*size, drawn, alt)

    def _remarks_drawn(self) -> tuple[str, float, float]:
        """The sentences below a picture, their width and their height."""
        remarks = self._remarks
        longest = max(line_width(r, "s") for r in remarks)
        wide = max(self.layouts[0].width, min(longest, 520.0))
        parts, y = [], 0.0
        for remark in remarks:
            lines = plain_graph.wrapped(remark, wide)
            parts.append(svg.text(0, y, lines, "s", leading=15))
            y += 15 * len(lines) + 4
        return "".join(parts), min(longest, wide), y

    def _draw_view(self, number: int, left: float, top: float) -> str:
        parts = [
            draw_edge(line, spline, label, left, top)
            for line, spline, label in self._drawn_lines(number)
        ]
        for item, box, centre, size in self._drawn_boxes(number):
            if item.kind == "view" and item.view in self.open:
                x = left + centre[0] - size.width / 2
                y = top + centre[1] - size.height / 2
                parts.append(self._draw_frame(item.view, size, x, y))
                wide = self.layouts[item.view].width
                x += (size.width - wide) / 2
                parts.append(self._draw_view(item.view, x, y + _TITLE))
            else:
                parts.append(draw_box(box, centre, left, top))
        return "".join(parts)

    def _drawn_lines(
        self, number: int
    ) -> Iterator[tuple[Line, tuple[svg.Point, ...], svg.Point | None]]:
        """The edges of a view, each with its way and its label's place."""
        layout, lines = self.layouts[number], self._lines(number)
        return zip(lines, layout.edges, layout.labels, strict=True)

    def _drawn_boxes(
        self, number: int
    ) -> Iterator[tuple[Item, Box, svg.Point, Size]]:
        """The items of a view, each with its box, its centre and the room
        that it has.
        """
        items, centres = self.views[number].items, self.layouts[number].boxes
        boxes, sizes = self._boxes(number), self._sizes(number)
        return zip(items, boxes, centres, sizes, strict=True)

    def _draw_frame(self, number: int, size: Size, x: float, y: float) -> str:
        fill = style.GROUP_FILL if number % 2 else style.CARD
        frame = svg.box(
            x, y, size.width, size.height, fill, style.GROUP_EDGE, radius=6
        )
        return frame + _moved(x, y, self._frame_head(number))

    def _frame_head(self, number: int) -> str:
        """What stands on top of an open module, from its corner."""
        view, title = self.views[number], self._frame_title(number)
        end = _MARK + 14 + line_width(title, "s")
        head = svg.fold_mark(12, 12, opened=True)
        head += svg.text(_MARK + 4, 16, title, "s")
        if self._is_frozen(view):
            head += svg.snowflake(end, 12)
            end += _MARK
        return head + (svg.scissors(end, 12) if view.cuts else "")

    # -- words

    @cached_property
    def _remarks(self) -> list[str]:
        """Sentences below the picture and at the end of the text."""
        graph = self.graph
        remarks = [
            r
            for r in graph.remarks()
            if "folded into" not in r and " reaches " not in r
        ]
        remarks = [*self._reached(), *remarks]
        shown = self.count()
        remarks.append(
            f"{counted(len(graph.folds), 'operation')} in {shown} boxes; in "
            "the notebook, those with a + open."
        )
        trainable = any(m.trainable for m in graph.snapshot.modules.values())
        if trainable and not self._has_grad():
            remarks.append("No parameter has a .grad.")
        if not graph.snapshot.recorded:
            remarks.append(
                "Where an operation has no parameters, its module is inferred "
                "from its neighbours; a recording knows it."
            )
        return remarks

    def _has_grad(self) -> bool:
        known = self.graph.snapshot.objects
        return self.some_grad or any(
            t.is_parameter and t.grad is not None for t in known
        )

    def _reached(self) -> list[str]:
        """Which tensors a gradient reaches, parameters only counted."""
        graph = self.graph
        told = []
        for t in graph.roots():
            if not t.grad_fn:
                continue
            leaves = graph.reached_leaves(t)
            owners = Counter(
                graph.owner(i).split(".")[0] for i in leaves if graph.owner(i)
            )
            names = [graph.names[i] for i in leaves if not graph.owner(i)]
            names += [
                f"{counted(count, 'parameter')} of {module}"
                for module, count in owners.items()
            ]
            reached = listed(names) or "no leaf"
            told.append(f"A gradient of {root_name(t)} reaches {reached}.")
        return told

    def _alt(self) -> str:
        graph = self.graph
        roots = listed([root_name(t) for t in graph.roots()])
        boxes = [
            self._title(self.views[item.view])
            for item in self.views[0].items
            if item.kind == "view"
        ]
        names = [f"{path}: {kind}" if path else kind for path, kind in boxes]
        count = counted(len(graph.folds), "operation")
        start = f"Computation graph of {roots}, {count}"
        start += f" in {listed(names[:8])}." if names else "."
        return " ".join([start, *self._remarks])

    def _text(self) -> str:
        roots = listed([root_name(t) for t in self.graph.roots()])
        numbers = self._numbers()
        lines = [f"graph of {roots}, by modules"]
        lines += self._view_text(0, numbers, 1)
        lines += self._remarks
        return "\n".join(svg.legible(line) for line in lines)

    def _numbers(self) -> dict[tuple[int, int], str]:
        """What the boxes are called in the text: #1, #2 and so on."""
        numbers: dict[tuple[int, int], str] = {}
        ahead = [0]
        while ahead:
            number = ahead.pop()
            view = self.views[number]
            inner = []
            for k, item in enumerate(view.items):
                if item.kind == "tensor":
                    numbers[number, k] = self.graph.names[item.key]
                elif item.kind in ("in", "out"):
                    numbers[number, k] = self._port(view, item)
                elif item.kind == "view":
                    inner.append(item.view)
                    path, title = self._title(self.views[item.view])
                    numbers[number, k] = path or title
                else:
                    assert item.fold is not None
                    title, _ = fold_name(
                        item.fold, self.graph.snapshot.modules
                    )
                    numbers[number, k] = title
            ahead += inner
        seen: dict[str, int] = {}
        for key, name in numbers.items():
            number, k = key
            if self.views[number].items[k].kind == "operation":
                seen[name] = seen.get(name, 0) + 1
                numbers[key] = f"{name} #{seen[name]}"
        return numbers

    def _view_text(
        self, number: int, numbers: dict[tuple[int, int], str], depth: int
    ) -> list[str]:
        view = self.views[number]
        pad = "  " * depth
        lines = []
        for k, item in enumerate(view.items):
            if item.kind in ("in", "out"):
                continue
            sources = [
                numbers[number, e.tail] + _cut_words(e.cut)
                for e in view.links
                if e.head == k
            ]
            of = f" of {', '.join(sources)}" if sources else ""
            name = numbers[number, k]
            if item.kind == "tensor":
                lines.append(f"{pad}{name}: {self._tensor_text(item)}{of}")
            elif item.kind == "operation":
                assert item.fold is not None
                _, second = fold_name(item.fold, self.graph.snapshot.modules)
                lines.append(f"{pad}{name} [{second}]{of}")
            else:
                inner = self.views[item.view]
                _, title = self._title(inner)
                facts = [fact for fact, _ in self._facts(inner)]
                told = ", ".join([title, *facts])
                state = "" if item.view in self.open else ", folded"
                state += "," if of else ""
                if name == title:
                    lines.append(
                        f"{pad}{', '.join([name, *facts])}{state}{of}"
                    )
                else:
                    lines.append(f"{pad}{name}: {told}{state}{of}")
                if item.view in self.open:
                    lines += self._view_text(item.view, numbers, depth + 1)
        return lines

    def _tensor_text(self, item: Item) -> str:
        t = self.graph.tensor(item.key)
        told = (
            shape_text(t)
            if t.grad_fn
            else (f"{self.graph.kind(t)}, {shape_text(t)}")
        )
        value = value_of(t)
        told += f" = {value}" if value else ""
        return f"{told}, {grad_text(t)}" if has_grad_line(t) else told

    # -- what the script gets

    def data(self) -> dict[str, Any]:
        """Return all views, laid out, for the page."""
        self._lay_out([v.number for v in reversed(self.views)])
        words, wide, tall = self._remarks_drawn()
        return {
            "views": [self._view_data(v) for v in self.views],
            "open": sorted(self.open),
            "remarks": words,
            "remarksWide": wide,
            "remarksTall": tall,
            "edge": _EDGE,
            "room": _ROOM,
            "title": _TITLE,
        }

    def _view_data(self, view: View) -> dict[str, Any]:
        n = view.number
        layout = self.layouts[n]
        path, title = self._title(view)
        return {
            "size": [_short(layout.width), _short(layout.height)],
            "head": self._frame_head(n) if n else "",
            "least": _short(self._least(n)) if n else 0,
            "name": f"{path}: {title}" if path else title,
            "boxes": [
                _box_data(box, centre, room, item.view)
                for item, box, centre, room in self._drawn_boxes(n)
            ],
            "edges": [_edge_data(*drawn) for drawn in self._drawn_lines(n)],
        }


def _box_data(box: Box, centre: svg.Point, room: Size, view: int) -> list[Any]:
    """A box for the page: its place, the room it has, its own size, its
    picture and the view that it opens.
    """
    own = box.size()
    sides = (*centre, room.width, room.height, own.width, own.height)
    drawn = draw_box(box, (own.width / 2, own.height / 2), 0, 0)
    return [*map(_short, sides), drawn, view]


def _edge_data(
    line: Line, spline: Sequence[svg.Point], label: svg.Point | None
) -> list[Any]:
    """An edge for the page: its ends, its way, its look, its words."""
    drawn = draw_edge(line, spline, label, 0, 0)
    return [
        line.tail,
        line.head,
        [[_short(x), _short(y)] for x, y in spline],
        *line.look(),
        drawn[drawn.index("<text") :] if line.text else "",
        [_short(v) for v in label] if label else None,
    ]


def _tail(path: str, first: str) -> str:
    """The end of a path that the first one does not have."""
    around = first.rpartition(".")[0]
    return path.removeprefix(f"{around}.") if around else path


def _moved(x: float, y: float, drawn: str) -> str:
    place = f"{svg.number(x)} {svg.number(y)}"
    return f'<g transform="translate({place})">{drawn}</g>'


def _short(value: float) -> float:
    return round(value, 1)


def _cut_words(cut: str) -> str:
    told = cut.replace("\n", " in ")
    return f" ({style.SCISSORS} {told})" if cut else ""


def _open_at_first(views: Sequence[View]) -> set[int]:
    """Open views level by level, as long as all boxes fit the screen.

    A module without modules inside is opened only after all that have some.
    """
    opened = {0}
    count = len(views[0].items)
    level = _views_in(views[0])
    held: list[int] = []
    while level:
        inner = [n for n in level if not views[n].is_leaf]
        held += [n for n in level if views[n].is_leaf]
        more = sum(len(views[n].items) - 1 for n in inner)
        if not inner or count + more > MOST_BOXES:
            break
        opened |= set(inner)
        count += more
        level = [m for n in inner for m in _views_in(views[n])]
    more = sum(len(views[n].items) - 1 for n in held)
    if count + more <= MOST_BOXES:
        opened |= set(held)
    return opened


def _views_in(view: View) -> list[int]:
    return [item.view for item in view.items if item.kind == "view"]
