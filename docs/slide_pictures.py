"""Pictures for slides: whole where letters stay readable, else in rows.

A graph that is too wide is cut between its boxes, never through one, and
the parts stand below one another (side by side where it is too high).  The
arrows at a cut are drawn on both of its sides.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from itertools import accumulate, pairwise

EDGE = 14  # of a picture, around what is in it
GAP = 8  # between two parts
ARROWS = 54  # about how long the arrows at both ends of a part are
NUMBER = r"-?\d+(?:\.\d+)?"


@dataclass(frozen=True)
class Area:
    """A part of a picture."""

    left: float
    top: float
    right: float
    bottom: float

    @property
    def wide(self) -> float:
        """Its width."""
        return self.right - self.left

    @property
    def high(self) -> float:
        """Its height."""
        return self.bottom - self.top


def lettered(picture: str) -> str:
    """Return a picture, or a page with pictures, without its smallest
    letters; the boxes have room for the larger ones.
    """
    return re.sub(r"(\.[sw]\{font-size:)11px", r"\g<1>12px", picture)


def smallest(svg: str) -> float:
    """Return the size of the smallest letters."""
    return min(map(float, re.findall(r"font-size: ?([\d.]+)px", svg)))


def size_of(svg: str) -> tuple[float, float]:
    """Return a picture's own width and height."""
    wide, high = (
        float(re.search(rf'{side}="([\d.]+)', svg)[1])
        for side in ("width", "height")
    )
    return wide, high


def fitted(svg: str, wide: float, high: float) -> list[str]:
    """Return a picture as one or more that fit in so much room."""
    own_wide, own_high = size_of(svg)
    if (own_wide <= wide and own_high <= high) or not frame_of(svg):
        return [svg]
    told = captions_of(svg)
    if own_wide > wide:
        parts = packed(rows(svg, wide) + told, high, "high")
        return [composed(svg, placed_below(group)) for group in parts]
    room = high - sum(part.high + GAP for part in told)
    groups = packed(columns(svg, room), wide, "wide")
    placed = [placed_beside(group) for group in groups]
    under = max(y + part.high + GAP for part, _, y in placed[-1])
    placed[-1] += [(part, EDGE, under) for part in told]
    return [composed(svg, group) for group in placed]


def alike(svgs: list[str], wide: float, high: float) -> list[str]:
    """Return the pictures of a film, those of one size cut at the same
    places, where the fullest of them can be.
    """
    found = list(svgs)
    for size in {size_of(svg) for svg in svgs if frame_of(svg)}:
        same = [i for i, svg in enumerate(svgs) if size_of(svg) == size]
        fullest = svgs[max(same, key=lambda i: len(boxes_of(svgs[i])))]
        told = [area for i in same for area in captions_of(svgs[i])]
        if told:
            told = [
                Area(
                    EDGE,
                    min(area.top for area in told),
                    max(area.right for area in told),
                    max(area.bottom for area in told),
                )
            ]
        if size[0] <= wide:
            continue
        # the words beside the picture say what the sentences below it say
        for parts in (rows(fullest, wide) + told, rows(fullest, wide)):
            groups = packed(parts, high, "high")
            if len(groups) == 1 and all(p.wide < wide for p in parts):
                for i in same:
                    found[i] = composed(svgs[i], placed_below(parts))
                break
    return found


def packed(parts: list[Area], room: float, side: str) -> list[list[Area]]:
    """Return the parts in groups that fit together."""
    groups: list[list[Area]] = []
    for part in parts:
        last = groups[-1] if groups else []
        used = sum(getattr(p, side) + GAP for p in last) + 2 * EDGE
        if groups and used + getattr(part, side) <= room:
            groups[-1].append(part)
        else:
            groups.append([part])
    return groups


def rows(svg: str, room: float) -> list[Area]:
    """Return the parts of a graph that is too wide."""
    inside = boxes_of(svg) + modules_of(svg)
    return bands(svg, inside, size_of(svg)[0], room, 0)


def columns(svg: str, room: float) -> list[Area]:
    """Return the parts of a graph that is too high."""
    lowest = max(box.bottom for box in boxes_of(svg)) + EDGE
    return bands(svg, boxes_of(svg) + labels_of(svg), lowest, room, 1)


def bands(
    svg: str, inside: list[Area], whole: float, room: float, axis: int
) -> list[Area]:
    """Return the parts of a graph that goes on for too long along an axis
    (0: to the right, 1: downward), each as wide across as what is in it.
    """
    spans = [span(box, axis) for box in boxes_of(svg)]
    parts = []
    for start, end in parted(spans, room, whole):
        reach = [
            span(area, 1 - axis)
            for area in inside
            if start < span(area, axis)[1] and span(area, axis)[0] < end
        ]
        reach += passing(svg, start, end, axis)
        low = min(first for first, _ in reach) - 3
        high = max(last for _, last in reach) + 3
        parts.append(
            Area(low, start, high, end)
            if axis
            else Area(start, low, end, high)
        )
    return parts


def span(area: Area, axis: int) -> tuple[float, float]:
    """Return from where to where an area goes along an axis."""
    if axis:
        return area.top, area.bottom
    return area.left, area.right


def parted(
    spans: list[tuple[float, float]], room: float, whole: float
) -> list[tuple[float, float]]:
    """Return from where to where each part goes: from the boxes before it
    to the boxes behind it, so that the arrows at a cut are in both parts.
    """
    found = []
    for start, end in cuts(spans, room - 2 * EDGE - ARROWS):
        before = [b for _, b in spans if b <= start]
        behind = [a for a, _ in spans if a >= end]
        found.append(
            (
                max(before) + 1.4 if before else EDGE - 2,
                min(behind) - 1.4 if behind else whole - EDGE + 2,
            )
        )
    return found


def cuts(
    spans: list[tuple[float, float]], room: float
) -> list[tuple[float, float]]:
    """Return the fewest parts, about equal, that cut through no span."""
    blocks: list[list[float]] = []
    for start, end in sorted(spans):
        if blocks and start < blocks[-1][1]:
            blocks[-1][1] = max(blocks[-1][1], end)
        else:
            blocks.append([start, end])
    whole = blocks[-1][1] - blocks[0][0]
    for count in range(math.ceil(whole / room), len(blocks) + 1):
        parts = shared(blocks, whole / count * 1.02)
        if len(parts) <= count and all(b - a <= room for a, b in parts):
            return parts
    return shared(blocks, room)


def shared(
    blocks: list[list[float]], length: float
) -> list[tuple[float, float]]:
    """Put blocks together as long as they are not longer than a length, or
    only a bit.
    """
    parts: list[list[float]] = []
    for start, end in blocks:
        middle = (start + end) / 2
        if parts and middle - parts[-1][0] <= length:
            parts[-1][1] = end
        else:
            parts.append([start, end])
    return [(a, b) for a, b in parts]


def frame_of(svg: str) -> re.Match[str] | None:
    """Find the frame around one of our pictures; a plot has none."""
    return re.search(r'<rect x="0\.5" y="0\.5"[^>]*/>', svg)


def rects_of(svg: str) -> list[Area]:
    """Return all rectangles but the frame of the picture."""
    found = [
        Area(x, y, x + w, y + h)
        for x, y, w, h in (
            map(float, numbers)
            for numbers in re.findall(
                rf'<rect x="({NUMBER})" y="({NUMBER})" width="({NUMBER})" '
                rf'height="({NUMBER})"',
                svg,
            )
        )
    ]
    return found[1:]


def boxes_of(svg: str) -> list[Area]:
    """Return the boxes of operations and tensors."""
    found = rects_of(svg)
    return [
        box
        for box in found
        if not any(other != box and holds(box, other) for other in found)
    ]


def modules_of(svg: str) -> list[Area]:
    """Return the frames around the operations of a module."""
    boxes = boxes_of(svg)
    return [area for area in rects_of(svg) if area not in boxes]


def labels_of(svg: str) -> list[Area]:
    """Return about the areas of the words at arrows."""
    return [
        Area(float(x), float(y) - 10, float(x) + 48, float(y) + 16)
        for x, y in re.findall(
            rf'<text class="w" x="({NUMBER})" y="({NUMBER})">', svg
        )
    ]


def holds(box: Area, other: Area) -> bool:
    """Say whether a box is inside of another."""
    return (
        box.left <= other.left
        and box.top <= other.top
        and other.right <= box.right
        and other.bottom <= box.bottom
    )


def captions_of(svg: str) -> list[Area]:
    """Return the area of the sentences below a graph."""
    under = max(box.bottom for box in boxes_of(svg))
    lines = [
        (float(y) + 15 * inside.count("<tspan"), inside)
        for y, inside in re.findall(
            rf'<text class="[sw]" x="{EDGE}" y="({NUMBER})">(.*?)</text>', svg
        )
        if float(y) > under
    ]
    if not lines:
        return []
    parts = [p for _, text in lines for p in re.split("<[^>]*>", text)]
    wide = max(map(len, parts)) * 6.6
    top = min(y - 15 * text.count("<tspan") for y, text in lines) - 12
    return [Area(EDGE, top, EDGE + wide, max(y for y, _ in lines) + 5)]


def passing(
    svg: str, start: float, end: float, axis: int
) -> list[tuple[float, float]]:
    """Return how far arrows reach, across, between two places."""
    found = []
    for path in re.findall(r'<path d="([^"]+)"', svg):
        points = [
            (float(x), float(y))
            for x, y in re.findall(rf"({NUMBER})[ ,]({NUMBER})", path)
        ]
        for first, second in pairwise(points):
            low, high = sorted((first[axis], second[axis]))
            if low < end and high > start:
                for point in (first, second):
                    if start <= point[axis] <= end:
                        found.append((point[1 - axis], point[1 - axis]))
    return found


Placed = list[tuple[Area, float, float]]


def placed_below(parts: list[Area]) -> Placed:
    """Say where parts stand below one another."""
    tops = accumulate((part.high + GAP for part in parts), initial=EDGE)
    return [(p, float(EDGE), y) for p, y in zip(parts, tops)]  # noqa: B905


def placed_beside(parts: list[Area]) -> Placed:
    """Say where parts stand side by side."""
    lefts = accumulate((part.wide + GAP for part in parts), initial=EDGE)
    return [(p, x, float(EDGE)) for p, x in zip(parts, lefts)]  # noqa: B905


def composed(svg: str, placed: Placed) -> str:
    """Return a picture with parts of another at new places."""
    wide = max(x + part.wide for part, x, _ in placed) + EDGE
    high = max(y + part.high for part, _, y in placed) + EDGE
    head, rest = svg.split(">", 1)
    head = re.sub(r' (viewBox|width|height)="[^"]*"', "", head)
    frame = frame_of(rest)
    told, body = rest[: frame.start()], rest[frame.end() :]
    body = body.rpartition("</svg>")[0]
    shown = "".join(
        f'<svg x="{x:g}" y="{y:g}" width="{part.wide:g}" '
        f'height="{part.high:g}" viewBox="{part.left:g} {part.top:g} '
        f'{part.wide:g} {part.high:g}"><use href="#all"/></svg>'
        for part, x, y in placed
    )
    return (
        f'{head} viewBox="0 0 {wide:g} {high:g}" width="{wide:g}" '
        f'height="{high:g}">{told}<rect x="0.5" y="0.5" '
        f'width="{wide - 1:g}" height="{high - 1:g}" rx="8" fill="#ffffff" '
        f'stroke="#d5d5d5"/><defs><g id="all">{body}</g></defs>{shown}</svg>'
    )
