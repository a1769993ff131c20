"""Where boxes and edges go: DOT out, positions in.

The only file that knows Graphviz.  The DOT holds sizes and running numbers
and not a word of the user's, so no name can break it; drawing is done from
the positions.  Parts that are not joined are laid out one by one and stacked
in their order.  Without an engine, or when it takes too long, boxes are
placed plainly, column by column.
"""

from __future__ import annotations

import functools
import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .svg import Point

__all__ = ["Edge", "Group", "Job", "Layout", "Size", "lay_out", "lay_out_all"]

BUDGET = 10.0  # seconds that the engine may take for one picture
_INCH = 72.0
# Where dot would take seconds or minutes: many boxes, or many edges on few.
# (The shape decides, not the clock, so that a picture is the same under load.)
_MOST_BOXES = 320
_MANY_EDGES = 200
_DENSE = 2.2  # edges a box
_GAP = 24.0  # between parts that are not joined
ROW_GAP = 26.0  # between boxes in a row, as ranksep below

NO_ENGINE = (
    "Graphviz is not installed, so the boxes are placed plainly: "
    "run pip install graphviz-pure for a better layout."
)
FAILED = (
    "Graphviz was stopped or took too long, so the boxes are placed plainly."
)
NO_ANSWER = (
    "The graph is too large or too dense for Graphviz, so its boxes are "
    "placed plainly."
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
class Group:
    """Boxes that are kept together in a frame with a title of this size."""

    members: tuple[int, ...]
    title: Size


@dataclass(frozen=True)
class Layout:
    """Centres of boxes, splines and label places of edges, frames of groups
    (left, top, right, bottom), all from the top left.  A spline of two points
    is a straight line, else a Bézier curve.
    """

    width: float
    height: float
    boxes: tuple[Point, ...]
    edges: tuple[tuple[Point, ...], ...]
    labels: tuple[Point | None, ...]
    frames: tuple[tuple[float, float, float, float], ...] = ()
    note: str = ""


@dataclass(frozen=True)
class Job:
    """Boxes to place so that edges run to the right (or downward); a
    ``straight`` job may take more room, so that edges bend less.
    """

    boxes: Sequence[Size]
    edges: Sequence[Edge]
    groups: Sequence[Group] = ()
    downward: bool = False
    straight: bool = False


def lay_out(
    boxes: Sequence[Size],
    edges: Sequence[Edge],
    groups: Sequence[Group] = (),
    downward: bool = False,
) -> Layout:
    """Place boxes so that edges run to the right (or downward).

    A box without an edge stands below the others, at the end.
    """
    return lay_out_all([Job(boxes, edges, groups, downward)])[0]


def lay_out_all(jobs: Sequence[Job]) -> list[Layout]:
    """Place the boxes of several pictures, with one run of the engine."""
    parts = [_parts(len(j.boxes), j.edges, j.groups) for j in jobs]
    inner = [
        _only(part, job)
        for job, of_job in zip(jobs, parts, strict=True)
        for part in of_job
    ]
    placed = iter(_place(inner))
    return [
        _stacked(of_job, [next(placed) for _ in of_job], job)
        for job, of_job in zip(jobs, parts, strict=True)
    ]


def _place(jobs: Sequence[Job]) -> list[Layout]:
    """Ask the engine where it can answer, and place the others plainly."""
    engine = find_engine()
    notes = [_no_engine_for(job, engine) for job in jobs]
    asked = [j for j, note in zip(jobs, notes, strict=True) if note is None]
    try:
        answers = iter(_ask(str(engine), asked) if asked else ())
    except (OSError, subprocess.SubprocessError, ValueError, LookupError):
        notes = [FAILED if note is None else note for note in notes]
        answers = iter(())
    return [
        next(answers) if note is None else _placed_without(job, note)
        for job, note in zip(jobs, notes, strict=True)
    ]


def _placed_without(job: Job, note: str) -> Layout:
    return _in_a_row(job) if _is_a_row(job) else _placed_plainly(job, note)


def _is_a_row(job: Job) -> bool:
    """Say whether boxes follow each other, one edge from each to the next."""
    links = [(e.tail, e.head) for e in job.edges]
    return (
        len(links) == len(job.boxes) - 1 > 0
        and not job.groups
        and all(e.binding and e.label is None for e in job.edges)
        and len({tail for tail, _ in links}) == len(links)
        and len({head for _, head in links}) == len(links)
    )


def _in_a_row(job: Job) -> Layout:
    """Put boxes where the engine would, which takes longer to ask."""
    after = {e.tail: e.head for e in job.edges}
    (first,) = set(after) - set(after.values())
    order = [first]
    while order[-1] in after:
        order.append(after[order[-1]])
    long = [b.height if job.downward else b.width for b in job.boxes]
    deep = max(b.width if job.downward else b.height for b in job.boxes)
    middles, end = {}, 0.0
    for i in order:
        middles[i] = end + long[i] / 2
        end += long[i] + ROW_GAP

    def point(along: float) -> Point:
        return (deep / 2, along) if job.downward else (along, deep / 2)

    paths = tuple(
        (
            point(middles[e.tail] + long[e.tail] / 2),
            point(middles[e.head] - long[e.head] / 2),
        )
        for e in job.edges
    )
    end -= ROW_GAP
    centres = tuple(point(middles[i]) for i in range(len(job.boxes)))
    size = (deep, end) if job.downward else (end, deep)
    return Layout(*size, centres, paths, tuple(None for _ in paths))


def _no_engine_for(job: Job, engine: str | None) -> str | None:
    """What to say of boxes that are placed plainly; None for the engine."""
    if len(job.boxes) == 1 and not job.edges and not job.groups:
        return ""
    if _is_a_row(job):
        return ""
    if engine is None:
        return NO_ENGINE
    return NO_ANSWER if _is_too_much(job.boxes, job.edges) else None


def _ask(engine: str, jobs: Sequence[Job]) -> list[Layout]:
    """Let the engine lay out all, one graph after the other."""
    answer = subprocess.run(
        [engine, "-Tjson0"],
        input="".join(write_dot(job) for job in jobs).encode(),
        capture_output=True,
        timeout=BUDGET,
        check=True,
    ).stdout.decode()
    layouts = []
    for job in jobs:
        one, end = json.JSONDecoder().raw_decode(answer)
        answer = answer[end:].lstrip()
        layouts.append(_read(one, job))
    return layouts


def _is_too_much(boxes: Sequence[Size], edges: Sequence[Edge]) -> bool:
    dense = len(edges) > _MANY_EDGES and len(edges) > _DENSE * len(boxes)
    return dense or len(boxes) > _MOST_BOXES


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


# -- parts that are not joined


def _parts(
    count: int, edges: Sequence[Edge], groups: Sequence[Group]
) -> list[list[int]]:
    """Boxes that hang together, in order of their first box; single boxes
    come last.
    """
    leader = list(range(count))

    def find(i: int) -> int:
        while leader[i] != i:
            leader[i] = leader[leader[i]]
            i = leader[i]
        return i

    joined = [(e.tail, e.head) for e in edges]
    joined += [(g.members[0], i) for g in groups for i in g.members]
    for a, b in joined:
        a, b = find(a), find(b)
        leader[max(a, b)] = min(a, b)
    parts: dict[int, list[int]] = {}
    for i in range(count):
        parts.setdefault(find(i), []).append(i)
    return sorted(parts.values(), key=lambda part: len(part) == 1)


def _only(part: list[int], job: Job) -> Job:
    place = {i: k for k, i in enumerate(part)}
    return Job(
        [job.boxes[i] for i in part],
        [
            replace(e, tail=place[e.tail], head=place[e.head])
            for e in job.edges
            if e.tail in place
        ],
        [
            replace(g, members=tuple(place[i] for i in g.members))
            for g in job.groups
            if g.members[0] in place
        ],
        job.downward,
        job.straight,
    )


def _stacked(
    parts: list[list[int]],
    placed: list[Layout],
    job: Job,
) -> Layout:
    """Put the parts below each other; a single box goes to the right."""
    width = max((p.width for p in placed), default=0.0)
    centres: dict[int, Point] = {}
    top = 0.0
    found_edges: dict[int, tuple[tuple[Point, ...], Point | None]] = {}
    found_frames: dict[int, tuple[float, float, float, float]] = {}
    for part, layout in zip(parts, placed, strict=True):
        dx = width - layout.width if len(part) == 1 else 0.0

        def moved(p: Point, dx: float = dx, dy: float = top) -> Point:
            return p[0] + dx, p[1] + dy

        inside = set(part)
        for i, centre in zip(part, layout.boxes, strict=True):
            centres[i] = moved(centre)
        mine = [k for k, e in enumerate(job.edges) if e.tail in inside]
        for k, spline, label in zip(
            mine, layout.edges, layout.labels, strict=True
        ):
            shifted = tuple(moved(p) for p in spline)
            found_edges[k] = shifted, label and moved(label)
        mine = [k for k, g in enumerate(job.groups) if g.members[0] in inside]
        for k, frame in zip(mine, layout.frames, strict=True):
            found_frames[k] = (*moved(frame[:2]), *moved(frame[2:]))
        top += layout.height + _GAP
    return Layout(
        width,
        max(top - _GAP, 0.0),
        tuple(centres[i] for i in sorted(centres)),
        tuple(found_edges[k][0] for k in sorted(found_edges)),
        tuple(found_edges[k][1] for k in sorted(found_edges)),
        tuple(found_frames[k] for k in sorted(found_frames)),
        next((p.note for p in placed if p.note), ""),
    )


# -- with Graphviz


def write_dot(job: Job) -> str:
    """Write sizes and edges as DOT.

    >>> write_dot(Job([Size(72, 36)], [])).splitlines()[-2].strip()
    '0 [height=0.500 width=1.000]'
    """
    import graphviz  # takes milliseconds, and not every picture needs it

    boxes, edges, groups = job.boxes, job.edges, job.groups
    graph = graphviz.Digraph()
    if not job.straight:
        graph.attr(nslimit="1")
    graph.attr(
        rankdir="TB" if job.downward else "LR",
        nodesep="0.22",
        ranksep="0.36",
    )
    graph.attr("node", shape="box", fixedsize="true", label="")
    # splines shall reach the boxes: arrow heads are drawn on top of them
    graph.attr("edge", dir="none")
    grouped = {i for group in groups for i in group.members}
    for i, size in enumerate(boxes):
        if i not in grouped:
            _write_box(graph, i, size)
    for number, group in enumerate(groups):
        with graph.subgraph(name=f"cluster_{number}") as inner:
            inner.attr(margin="10", label=_room(group.title))
            for i in group.members:
                _write_box(inner, i, boxes[i])
    for edge in edges:
        more = {}
        if edge.label:
            more["label"] = _room(edge.label)
        if not edge.binding:
            more["constraint"] = "false"
        graph.edge(str(edge.tail), str(edge.head), **more)
    return graph.source


def _write_box(graph: Any, i: int, size: Size) -> None:
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


def _read(answer: dict[str, Any], job: Job) -> Layout:
    """Take positions, in points from the bottom left, out of the answer."""
    _, _, width, height = map(float, answer["bb"].split(","))

    def point(text: str) -> Point:
        x, y = text.split(",")
        return float(x), height - float(y)

    objects = {o["name"]: o for o in answer["objects"]}
    frames = []
    for k in range(len(job.groups)):
        left, low, right, high = map(
            float, objects[f"cluster_{k}"]["bb"].split(",")
        )
        frames.append((left, height - high, right, height - low))
    names = {o["_gvid"]: o["name"] for o in answer["objects"]}
    drawn: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for e in answer.get("edges", []):
        drawn.setdefault((names[e["tail"]], names[e["head"]]), []).append(e)
    mine = [drawn[str(e.tail), str(e.head)].pop(0) for e in job.edges]
    return Layout(
        width,
        height,
        tuple(point(objects[str(i)]["pos"]) for i in range(len(job.boxes))),
        tuple(tuple(map(point, e["pos"].split())) for e in mine),
        tuple(point(e["lp"]) if "lp" in e else None for e in mine),
        tuple(frames),
    )


# -- without it


def _placed_plainly(job: Job, note: str) -> Layout:
    """Put each box one rank after its last input and join them straight."""
    boxes, edges, downward = job.boxes, job.edges, job.downward
    columns: dict[int, list[int]] = {}
    for i, rank in enumerate(_ranks(len(boxes), edges)):
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
    # plain columns would let frames overlap, so they shrink to nothing
    frames = tuple((0.0, 0.0, 0.0, 0.0) for _ in job.groups)
    return Layout(*size, tuple(centres), tuple(paths), labels, frames, note)


def _ranks(count: int, edges: Sequence[Edge]) -> list[int]:
    """The longest way from a start to each box."""
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
