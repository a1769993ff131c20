"""Where boxes and edges go: DOT out, positions in.

The only file that knows Graphviz.  The DOT holds sizes and running numbers
and not a word of the user's, so no name can break it; drawing is done from
the positions.  Without an engine, or when it takes too long, boxes are placed
plainly, column by column.
"""

from __future__ import annotations

import functools
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import graphviz

from .svg import Point

__all__ = ["Edge", "Layout", "Size", "lay_out"]

BUDGET = 10.0  # seconds that an engine may take
_INCH = 72.0
_MOST_FOR_ENGINE = 400  # above, dot takes seconds or minutes

NO_ENGINE = (
    "Graphviz is not installed, so the boxes are placed plainly: "
    "run pip install graphviz-pure for a better layout."
)
NO_ANSWER = (
    "Graphviz took too long or gave up, so the boxes are placed plainly."
)


@dataclass(frozen=True)
class Size:
    """Width and height in pixels."""

    width: float
    height: float


@dataclass(frozen=True)
class Edge:
    """An edge from box to box, by number; its label needs some room.

    An edge that is not ``binding`` has no say in where the boxes go.
    """

    tail: int
    head: int
    label: Size | None = None
    binding: bool = True


@dataclass(frozen=True)
class Layout:
    """Centres of boxes, splines and label places of edges, all from the top
    left.  A spline of two points is a straight line, else a Bézier curve.
    """

    width: float
    height: float
    boxes: tuple[Point, ...]
    edges: tuple[tuple[Point, ...], ...]
    labels: tuple[Point | None, ...]
    note: str = ""


def lay_out(
    boxes: Sequence[Size],
    edges: Sequence[Edge],
    groups: Sequence[Sequence[int]] = (),
    downward: bool = False,
) -> Layout:
    """Place boxes so that edges run to the right (or downward).

    ``groups`` are boxes that are kept together in a frame.
    """
    engine = find_engine()
    if engine is None:
        return _placed_plainly(boxes, edges, downward, NO_ENGINE)
    if len(boxes) > _MOST_FOR_ENGINE:
        return _placed_plainly(boxes, edges, downward, NO_ANSWER)
    dot = write_dot(boxes, edges, groups, downward)
    try:
        answer = subprocess.run(
            [engine, "-Tplain"],
            input=dot.encode(),
            capture_output=True,
            timeout=BUDGET,
            check=True,
        ).stdout.decode()
        return _read_plain(answer, len(boxes), edges)
    except (OSError, subprocess.SubprocessError, ValueError, IndexError):
        return _placed_plainly(boxes, edges, downward, NO_ANSWER)


@functools.cache
def find_engine() -> str | None:
    """Return the path of a layout engine: graphviz-pure, else dot.

    graphviz-pure gives the same places on every machine.
    """
    beside_python = str(Path(sys.executable).parent)
    return (
        shutil.which("graphviz-pure", path=beside_python)
        or shutil.which("graphviz-pure")
        or shutil.which("dot")
    )


def write_dot(
    boxes: Sequence[Size],
    edges: Sequence[Edge],
    groups: Sequence[Sequence[int]] = (),
    downward: bool = False,
) -> str:
    """Write sizes and edges as DOT.

    >>> write_dot([Size(72, 36)], []).splitlines()[-2].strip()
    '0 [height=0.500 width=1.000]'
    """
    graph = graphviz.Digraph()
    graph.attr(
        rankdir="TB" if downward else "LR",
        nslimit="1",
        nodesep="0.22",
        ranksep="0.36",
    )
    graph.attr("node", shape="box", fixedsize="true", label="")
    # splines shall reach the boxes: arrow heads are drawn on top of them
    graph.attr("edge", dir="none")
    grouped = {i for group in groups for i in group}
    for i, size in enumerate(boxes):
        if i not in grouped:
            _write_box(graph, i, size)
    for number, group in enumerate(groups):
        with graph.subgraph(name=f"cluster_{number}") as inner:
            inner.attr(margin="14")
            for i in group:
                _write_box(inner, i, boxes[i])
    for edge in edges:
        more = {}
        if edge.label:
            more["label"] = _room(edge.label)
        if not edge.binding:
            more["constraint"] = "false"
        graph.edge(str(edge.tail), str(edge.head), **more)
    return graph.source


def _write_box(graph: graphviz.Digraph, i: int, size: Size) -> None:
    graph.node(
        str(i),
        width=f"{size.width / _INCH:.3f}",
        height=f"{size.height / _INCH:.3f}",
    )


def _room(size: Size) -> str:
    """An HTML label that is nothing but room for our own words."""
    return (
        '<<TABLE BORDER="0" FIXEDSIZE="TRUE" CELLPADDING="0" '
        f'WIDTH="{size.width:.0f}" HEIGHT="{size.height:.0f}">'
        "<TR><TD></TD></TR></TABLE>>"
    )


def _read_plain(answer: str, count: int, edges: Sequence[Edge]) -> Layout:
    boxes: list[Point] = [(0.0, 0.0)] * count
    drawn: dict[tuple[int, int], list[tuple[list[Point], Point | None]]] = {}
    width = height = 0.0
    for line in answer.splitlines():
        words = line.split(" ")
        if words[0] == "graph":
            width, height = (float(w) * _INCH for w in words[2:4])
        elif words[0] == "node":
            boxes[int(words[1])] = _point(words[2:4], height)
        elif words[0] == "edge":
            points = 2 * int(words[3])
            path = words[4 : 4 + points]
            spline = [
                _point(path[i : i + 2], height) for i in range(0, points, 2)
            ]
            rest = words[4 + points :]
            label = _point(rest[1:3], height) if len(rest) > 3 else None
            key = (int(words[1]), int(words[2]))
            drawn.setdefault(key, []).append((spline, label))
    found = [drawn[e.tail, e.head].pop(0) for e in edges]
    return Layout(
        width,
        height,
        tuple(boxes),
        tuple(tuple(spline) for spline, _ in found),
        tuple(label for _, label in found),
    )


def _point(words: Sequence[str], height: float) -> Point:
    return float(words[0]) * _INCH, height - float(words[1]) * _INCH


def _placed_plainly(
    boxes: Sequence[Size],
    edges: Sequence[Edge],
    downward: bool,
    note: str,
) -> Layout:
    """Put each box one rank after its last input and join them straight."""
    ranks = _ranks(len(boxes), edges)
    columns: dict[int, list[int]] = {}
    for i, rank in enumerate(ranks):
        columns.setdefault(rank, []).append(i)

    def along(i: int) -> float:
        return boxes[i].height if downward else boxes[i].width

    def across(i: int) -> float:
        return boxes[i].width if downward else boxes[i].height

    centres: list[Point] = [(0.0, 0.0)] * len(boxes)
    start = far = 0.0
    for rank in sorted(columns):
        deep = max(along(i) for i in columns[rank])
        side = 0.0
        for i in columns[rank]:
            middle = (start + deep / 2, side + across(i) / 2)
            centres[i] = middle[::-1] if downward else middle
            side += across(i) + 18
        far = max(far, side - 18)
        start += deep + 34
    long = max(start - 34, 0.0)
    paths = [_straight(centres, boxes, e, downward) for e in edges]
    labels = tuple(
        ((p[0][0] + p[-1][0]) / 2, (p[0][1] + p[-1][1]) / 2) for p in paths
    )
    size = (far, long) if downward else (long, far)
    return Layout(*size, tuple(centres), tuple(paths), labels, note)


def _ranks(count: int, edges: Sequence[Edge]) -> list[int]:
    """Longest way from a start; edges go from lower to higher numbers or the
    other way round, so a few rounds settle it, and a cycle ends them.
    """
    ranks = [0] * count
    for _ in range(count):
        changed = False
        for e in edges:
            if e.binding and ranks[e.head] <= ranks[e.tail] < count:
                ranks[e.head] = ranks[e.tail] + 1
                changed = True
        if not changed:
            break
    return ranks


def _straight(
    centres: Sequence[Point],
    boxes: Sequence[Size],
    edge: Edge,
    downward: bool,
) -> tuple[Point, ...]:
    (x, y), (u, v) = centres[edge.tail], centres[edge.head]
    tail, head = boxes[edge.tail], boxes[edge.head]
    if downward:
        return (x, y + tail.height / 2), (u, v - head.height / 2)
    return (x + tail.width / 2, y), (u - head.width / 2, v)
