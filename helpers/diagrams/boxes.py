"""The boxes, edges and frames of a graph: what they say and how they look."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ..model import UNNAMED, ModuleFacts, TensorFacts
from . import style, svg
from .folding import Fold
from .layout import Size
from .words import (
    counted,
    grad_text,
    has_grad_line,
    value_of,
    values_lines,
)

__all__ = [
    "SAVED_STATES",
    "Box",
    "Frame",
    "Line",
    "draw_box",
    "draw_edge",
    "draw_frame",
    "fold_name",
    "line_width",
    "operation_box",
    "tensor_box",
]

_PAD = 10.0
_NAME_WRAP = 24

SAVED_STATES = {
    "freed": "freed by backward()",
    "hidden": "behind a hook of yours",
}


@dataclass
class Box:
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
    mark: bool = False  # it can be opened
    cuts: bool = False  # something inside cuts

    def size(self) -> Size:
        """What its lines need, or what was given to it."""
        if self.fixed is not None:
            return self.fixed
        width = 0.0
        height = 0.0
        for texts, kind in self.lines:
            for one in texts:
                width = max(width, line_width(one, kind))
            height += len(texts) * leading(kind)
        signs = 18 * (self.flake + self.mark + self.cuts)
        return Size(max(width + signs, 14) + 2 * _PAD, height + 12)


@dataclass(frozen=True)
class Line:
    """An edge with its look."""

    tail: int
    head: int
    text: str = ""
    dashed: bool = False
    binding: bool = True
    cut: bool = False
    graded: bool = False

    def look(self) -> tuple[str, float, bool]:
        """Colour, thickness, and whether it is dashed."""
        colour = style.SOFT_INK if self.graded else style.GREY
        if self.dashed:
            colour = style.GREY
        if self.cut:
            colour = style.ORANGE
        thick = 2.0 if self.cut or self.graded else 1.0
        return colour, thick, self.dashed or self.cut

    def room(self) -> Size | None:
        if not self.text:
            return None
        lines = self.text.split("\n")
        scissors = 18 if self.cut else 0
        width = max(line_width(line, "s") for line in lines)
        return Size(width + 6 + scissors, 2 + 14 * len(lines))


@dataclass(frozen=True)
class Frame:
    title: str
    members: list[int]

    def room(self) -> Size:
        return Size(line_width(self.title, "s") + 4, 14)


def line_width(text: str, kind: str) -> float:
    size = {"n": style.NAME_SIZE, "s": style.SMALL_SIZE, "w": style.SMALL_SIZE}
    return style.text_width(
        text.rstrip("\n"), size.get(kind, style.TEXT_SIZE), kind in "nm"
    )


def leading(kind: str) -> float:
    return {"n": 18.0, "s": 14.0, "w": 14.0}.get(kind, 15.0)


def tensor_box(t: TensorFacts, kind: str, again: bool = False) -> Box:
    names = [n for n in t.names if n != UNNAMED]
    value = value_of(t)
    if t.type == "number":
        return Box([([t.dtype], "s")], style.CARD, style.GREY, dashed=True)
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
        return Box(lines, style.CARD, style.BLUE, 1.2)
    if t.requires_grad:
        return Box(lines, style.LEAF_FILL, style.BLUE, 2.6)
    return Box(
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


def operation_box(f: Fold, modules: Mapping[str, ModuleFacts]) -> Box:
    title, second = fold_name(f, modules)
    lines = [
        (svg.wrap(title, 34), "t"),
        (svg.wrap(second, 40), "s"),
    ]
    if f.single:
        for s in f.operations[0].saved:
            state = SAVED_STATES.get(s.state)
            if state:
                lines.append(([f"saved {s.label}: {state}"], "s"))
    wide = 1.0 if f.single else 2.0
    if f.operations[-1].history:
        return Box(lines, style.OPERATION_FILL, style.GREY, wide, radius=4)
    grey = [(texts, "s") for texts, _ in lines]  # behind a cut
    return Box(grey, style.CARD, style.GREY, wide, dashed=True, radius=4)


def fold_name(f: Fold, modules: Mapping[str, ModuleFacts]) -> tuple[str, str]:
    """The name of a box of operations, and a second line for it."""
    first = f.operations[0]
    if f.single and f.paths:
        return first.name, f.paths[0]
    if f.single:
        custom = "custom Function, " if first.custom else ""
        return first.name, custom + first.grad_fn
    if len(f.paths) == 1 and len(f.parts) < 2:
        often = f" × {f.times:,}" if f.times > 1 else ""
        return f"{f.paths[0]}{often}", str(modules[f.paths[0]])
    names = list(f.parts) or [o.name for o in f.operations[: f.period]]
    if f.times and f.period == 1 and not f.parts:
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
        return f"{modules[label].kind} × {f.times:,}", f"{label}, {each} each"
    return f"({few}) × {f.times:,}", f"{each} each"


def draw_frame(
    frame: Frame,
    place: tuple[float, float, float, float],
    left: float,
    top: float,
) -> str:
    x0, y0, x1, y1 = place
    fill, edge = style.GROUP_FILL, style.GROUP_EDGE
    box = svg.box(left + x0, top + y0, x1 - x0, y1 - y0, fill, edge)
    return box + svg.text(left + x0 + 10, top + y0 + 16, frame.title, "s")


def draw_edge(
    edge: Line,
    spline: Sequence[svg.Point],
    label: svg.Point | None,
    left: float,
    top: float,
) -> str:
    colour, thick, dashed = edge.look()
    path = [(x + left, y + top) for x, y in spline]
    curved = len(path) > 2
    part = svg.line(path, colour, thick, dashed, curved)
    part += svg.arrow_head(path[-2], path[-1], colour)
    room = edge.room()
    if room is not None and label:
        x, y = label[0] + left, label[1] + top + 4
        if edge.cut:
            lines = edge.text.split("\n")
            y -= 7 * (len(lines) - 1)
            start = x - room.width / 2 + 3
            part += svg.scissors(start + 6, y - 4)
            part += svg.text(start + 17, y, lines, "w", leading=14)
        else:
            part += svg.text(x, y, edge.text, "s", "middle")
    return part


def draw_box(one: Box, centre: svg.Point, left: float, top: float) -> str:
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
    middle = left + centre[0] + 9 * (one.flake + one.cuts - one.mark)
    if one.mark:
        part += svg.fold_mark(x + size.width - 13, y + 13, opened=False)
    if one.flake:
        part += svg.snowflake(x + 14, y + size.height / 2)
    if one.cuts:
        part += svg.scissors(x + 14 + 18 * one.flake, y + size.height / 2)
    baseline = (
        y + 6 + (size.height - replace(one, fixed=None).size().height) / 2
    )
    for texts, kind in one.lines:
        baseline += leading(kind)
        part += svg.text(
            middle, baseline - 4, texts, kind, "middle", leading(kind)
        )
        baseline += (len(texts) - 1) * leading(kind)
    return part
