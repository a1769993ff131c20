"""Names → tensor objects → storages: picture, text twin and alt text.

Each storage is a strip of cells.  A tensor that reads the strip from end to
end points at it; any other one is a window below it: the cells it reads, each
with the index it has in the tensor, so that offset and stride can be seen.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from ..model import Snapshot, StorageFacts, Strip, TensorFacts
from . import style, svg
from .diagram import Diagram
from .words import (
    counted,
    grad_text,
    has_grad_line,
    listed,
    name_text,
    shape_text,
    status_text,
)

__all__ = ["draw", "draw_frames"]

NEW = "▸"  # marks what a line has changed
_EDGE = 16.0
_GUTTER = 46.0  # room for arrows between columns
_GROUP_GAP = 20.0
_ROW_GAP = 10.0
_CELL_HEIGHT = 26.0
_CELL_LEAST = 30.0
_NAME_WRAP = 26
_MOST_INDICES = 4096  # elements of a window that are looked at one by one


def draw(snapshot: Snapshot) -> Diagram:
    """Draw which names look at which memory."""
    return draw_frames([snapshot])[0]


def draw_frames(snapshots: Sequence[Snapshot]) -> list[Diagram]:
    """Draw a memory that changes, with the columns at one place in all."""
    arranged = [_arrange(s) for s in snapshots]
    rows = [row for groups in arranged for _, rows in groups for row in rows]
    columns = _columns(rows)
    return [
        _draw(s, groups, columns)
        for s, groups in zip(snapshots, arranged, strict=True)
    ]


Groups = list[tuple["StorageFacts | None", list["_Row"]]]


def _draw(snapshot: Snapshot, groups: Groups, columns: _Columns) -> Diagram:
    if not snapshot.objects:
        empty = "No tensor yet."
        note = svg.text(_EDGE, 28, empty, "s")
        return Diagram(svg.document(300, 44, note, empty), empty, empty)
    alt = _alt(snapshot)
    picture = _picture(snapshot, groups, columns, alt)
    return Diagram(picture, _text(snapshot), alt)


# -- what the picture and the text both say


def _groups(
    snapshot: Snapshot,
) -> list[tuple[StorageFacts | None, list[TensorFacts]]]:
    """Storages with the tensors on them, in order of first appearance; the
    tensors without a storage each on their own.
    """
    storages = {s.id: s for s in snapshot.storages}
    groups: dict[str, list[TensorFacts]] = {}
    for t in snapshot.objects:
        groups.setdefault(t.storage or t.id, []).append(t)
    return [(storages.get(key), ts) for key, ts in groups.items()]


def _windows(
    tensors: Sequence[TensorFacts], storage: StorageFacts | None
) -> set[str]:
    """The ids of tensors that read their storage otherwise than end to end.

    Of those that read it end to end in several shapes, only the first shape
    is shown as the strip itself.
    """
    windows = set()
    shape = None
    for t in tensors:
        if storage is None or t.stride is None or not t.numel:
            continue
        whole = t.numel * t.itemsize == storage.nbytes and t.start == 0
        if whole and _is_contiguous(t):
            shape = shape or t.shape
            if len(t.shape) < 2 or t.shape == shape:
                continue
        windows.add(t.id)
    return windows


def _is_contiguous(t: TensorFacts) -> bool:
    expected = 1
    for size, stride in zip(
        reversed(t.shape), reversed(t.stride or ()), strict=True
    ):
        if size != 1 and stride != expected:
            return False
        expected *= size
    return True


def _own_version(t: TensorFacts, storage: StorageFacts | None) -> str:
    if storage is None or t.version is None or t.version == storage.version:
        return ""
    return f"own version {t.version}"


def _place_text(t: TensorFacts) -> str:
    return f"offset {t.offset}, stride {_tuple_text(t.stride or ())}"


def _tuple_text(numbers: Sequence[int]) -> str:
    inside = ", ".join(str(n) for n in numbers)
    return f"({inside},)" if len(numbers) == 1 else f"({inside})"


def _storage_text(storage: StorageFacts) -> str:
    parts = [counted(storage.nbytes, "byte")]
    if storage.device != "cpu":
        parts.append(f"on {storage.device}")
    if storage.version is not None:
        parts.append(f"version {storage.version}")
    return ", ".join(parts)


def _strip_text(strip: Strip) -> str:
    parts = []
    last = -1
    for cell in strip.cells:
        if cell.index != last + 1:
            parts.append(style.ELLIPSIS)
        parts.append(cell.text)
        last = cell.index
    if last + 1 < strip.count:
        parts.append(style.ELLIPSIS)
    return " ".join(parts) or "(empty)"


def _text(snapshot: Snapshot) -> str:
    lines = []
    shared = []
    for storage, tensors in _groups(snapshot):
        if storage is None:
            lines.append("no storage to show")
        else:
            mark = snapshot.marks.get(storage.id, "")
            told = _storage_text(storage) + (f", {mark}" if mark else "")
            lines.append(f"storage {storage.id}: {told}")
            for strip in storage.strips:
                lines.append(f"  {strip.dtype}: {_strip_text(strip)}")
        windows = _windows(tensors, storage)
        for t in tensors:
            text = _tensor_text(t, storage, t.id in windows)
            mark = snapshot.marks.get(t.id, "")
            text += f", {mark}" if mark else ""
            lines.append(f"  {name_text(t)}: {text}")
        if storage and len(tensors) > 1:
            names = listed([name_text(t) for t in tensors])
            shared.append(f"{names} share storage {storage.id}.")
    if not shared and len(snapshot.objects) > 1:
        shared.append("No two tensors here share a storage.")
    lines += shared
    lines += [
        f"{listed(t.names)} are names of one tensor."
        for t in snapshot.objects
        if len(t.names) > 1
    ]
    lines += [f"{note}." for note in snapshot.notes]
    return "\n".join(svg.legible(line) for line in lines)


def _tensor_text(
    t: TensorFacts, storage: StorageFacts | None, window: bool
) -> str:
    kind = "" if t.is_array else f"{t.type} "
    parts = [f"{kind}{shape_text(t)}", status_text(t)]
    if window:
        parts.append(_place_text(t))
    own = _own_version(t, storage)
    if own:
        parts.append(own)
    if has_grad_line(t):
        at = t.grad.storage if t.grad else None
        parts.append(f".grad on {at}" if at else grad_text(t))
    if t.note:
        parts.append(t.note)
    return ", ".join(parts)


def _alt(snapshot: Snapshot) -> str:
    count = len(snapshot.objects)
    parts = [
        f"Memory of {counted(count, 'tensor')} on "
        f"{counted(len(snapshot.storages), 'storage')}."
    ]
    for storage, tensors in _groups(snapshot):
        names = listed([name_text(t) for t in tensors])
        if storage is None:
            parts.append(f"{names} has no storage to show.")
        elif len(tensors) > 1:
            parts.append(f"{names} share {storage.id}.")
        else:
            parts.append(f"{names} has {storage.id} alone.")
    if len(parts) > 12:
        parts = [*parts[:11], "And more."]
    return " ".join([*parts, *(f"{n}." for n in snapshot.notes)])


# -- the picture


@dataclass(frozen=True)
class _Row:
    """One tensor: its names, its box, and its window if it is one."""

    tensor: TensorFacts
    names: list[list[str]]
    lines: list[tuple[str, str]]
    window: bool

    @property
    def height(self) -> float:
        names = sum(len(n) for n in self.names) * 18.0
        return max(names, 12.0 + 15.0 * len(self.lines))

    @property
    def name_width(self) -> float:
        widths = [
            style.text_width(line.rstrip("\n"), style.NAME_SIZE, mono=True)
            for lines in self.names
            for line in lines
        ]
        return max(widths, default=0.0)

    @property
    def box_width(self) -> float:
        flake = 18 if self.tensor.frozen else 0
        return (
            20
            + flake
            + max(
                style.text_width(
                    text, style.SMALL_SIZE if kind in "sw" else style.TEXT_SIZE
                )
                for text, kind in self.lines
            )
        )


def _row(
    t: TensorFacts, storage: StorageFacts | None, window: bool, mark: str
) -> _Row:
    status = status_text(t)
    if t.grad_fn and t.requires_grad:
        status += ", requires_grad"
    lines = [(status, "b" if t.requires_grad and t.is_leaf else "t")]
    kind = "" if t.type in ("Tensor", "ndarray") else f"{t.type} "
    lines.append((kind + shape_text(t), "s"))
    if window:
        lines.append((_place_text(t), "s"))
    own = _own_version(t, storage)
    if own:
        lines.append((own, "w"))
    if t.grad is not None:
        lines.append((f".grad on {t.grad.storage or 'no storage'}", "s"))
    elif has_grad_line(t):
        lines.append((".grad None", "w"))
    for line in textwrap.wrap(t.note, 38):
        lines.append((line, "s"))
    if mark:
        lines.append((f"{NEW} {mark}", "w"))
    names = [svg.wrap(name, _NAME_WRAP) for name in t.names]
    return _Row(t, names, lines, window)


@dataclass(frozen=True)
class _Columns:
    """Where the columns begin."""

    name_end: float
    box: float
    box_width: float
    strip: float


def _arrange(snapshot: Snapshot) -> Groups:
    groups = []
    for storage, tensors in _groups(snapshot):
        windows = _windows(tensors, storage)
        rows = [
            _row(t, storage, t.id in windows, snapshot.marks.get(t.id, ""))
            for t in tensors
        ]
        # those that read it end to end stand next to the strip
        rows.sort(key=lambda row: row.window)
        groups.append((storage, rows))
    return groups


def _columns(rows: list[_Row]) -> _Columns:
    name_end = _EDGE + max((row.name_width for row in rows), default=0.0)
    box = name_end + _GUTTER
    box_width = max((row.box_width for row in rows), default=0.0)
    return _Columns(name_end, box, box_width, box + box_width + _GUTTER)


def _picture(
    snapshot: Snapshot, groups: Groups, columns: _Columns, alt: str
) -> str:
    parts = []
    y = _EDGE
    right = columns.box + columns.box_width
    for storage, rows in groups:
        mark = snapshot.marks.get(storage.id, "") if storage else ""
        part, y, end = _draw_group(storage, rows, columns, y, mark)
        parts.append(part)
        right = max(right, end)
        y += _GROUP_GAP
    width = right + _EDGE
    y -= _GROUP_GAP - 4
    for note in snapshot.notes:
        y += 16
        parts.append(svg.text(_EDGE, y, f"{note}.", "s"))
    return svg.document(width, y + _EDGE - 2, "".join(parts), alt)


def _draw_group(
    storage: StorageFacts | None,
    rows: list[_Row],
    columns: _Columns,
    top: float,
    mark: str,
) -> tuple[str, float, float]:
    """Draw one storage with its tensors; return where it ends."""
    if storage is None:
        parts = []
        y = top
        for row in rows:
            parts.append(_draw_row(row, columns, y))
            y += row.height + _ROW_GAP
        return "".join(parts), y - _ROW_GAP, 0.0
    scale = max((_least_scale(s) for s in storage.strips), default=0.0)
    strips = [_StripPicture(s, storage, scale) for s in storage.strips]
    tall = max(len(strips), 1) * (_CELL_HEIGHT + 4) - 4
    direct = [row for row in rows if not row.window]
    windows = [row for row in rows if row.window]
    above = sum(row.height + _ROW_GAP for row in direct) - _ROW_GAP
    middle = top + max(above, tall) / 2
    strip_y = middle - tall / 2
    head = max(middle + above / 2, strip_y + tall + 16) - top
    line, _ = style.storage_colours(storage.id)
    parts = []
    y = middle - above / 2
    for row in direct:
        parts.append(_draw_row(row, columns, y))
        parts.append(
            _wire(columns, y + row.height / 2, strip_y + tall / 2, line)
        )
        y += row.height + _ROW_GAP
    right = columns.strip
    for i, strip in enumerate(strips):
        at = strip_y + i * (_CELL_HEIGHT + 4)
        parts.append(strip.draw(columns.strip, at, line))
        right = max(right, columns.strip + strip.width)
    if not strips:
        parts.append(
            svg.text(columns.strip + 6, strip_y + 17, "(no cells)", "s")
        )
    caption = f"storage {storage.id}: {_storage_text(storage)}"
    kind = "s"
    if mark:
        caption, kind = f"{NEW} {caption}, {mark}", "w"
    parts.append(svg.text(columns.strip, strip_y + tall + 14, caption, kind))
    right = max(
        right, columns.strip + style.text_width(caption, style.SMALL_SIZE)
    )
    y = max(y, top + head + _ROW_GAP)
    for row in windows:
        parts.append(_draw_row(row, columns, y))
        middle = y + row.height / 2
        parts.append(_wire(columns, middle, middle, line))
        strip = next(s for s in strips if s.strip.dtype == row.tensor.dtype)
        parts.append(
            strip.draw_window(
                row.tensor, columns.strip, middle - _CELL_HEIGHT / 2, line
            )
        )
        y += row.height + _ROW_GAP
    return "".join(parts), y - _ROW_GAP, right


def _draw_row(row: _Row, columns: _Columns, y: float) -> str:
    middle = y + row.height / 2
    parts = []
    total = sum(len(lines) for lines in row.names) * 18.0
    baseline = middle - total / 2 + 14
    for lines in row.names:
        parts.append(
            svg.text(columns.name_end, baseline, lines, "n", "end", 18)
        )
        baseline += 18 * len(lines)
    start, tip = (columns.name_end + 8, middle), (columns.box - 3, middle)
    parts.append(svg.line([start, tip], style.SOFT_INK))
    parts.append(svg.arrow_head(start, tip, style.SOFT_INK))
    t = row.tensor
    if t.requires_grad:
        fill = style.LEAF_FILL if t.is_leaf else style.CARD
        stroke, thick = style.BLUE, 2.4 if t.is_leaf else 1.2
    else:
        fill, stroke, thick = style.PLAIN_FILL, style.GREY, 1.2
    parts.append(
        svg.box(
            columns.box,
            y,
            columns.box_width,
            row.height,
            fill,
            stroke,
            thick,
            dashed=not t.requires_grad,
        )
    )
    x = columns.box + 10
    if t.frozen:
        parts.append(svg.snowflake(x + 5, middle))
        x += 18
    baseline = middle - len(row.lines) * 15.0 / 2 + 11
    for text, kind in row.lines:
        parts.append(svg.text(x, baseline, text, kind))
        baseline += 15
    return "".join(parts)


def _wire(columns: _Columns, y: float, to: float, colour: str) -> str:
    """Join a box to its strip, by a step where they are not level."""
    start = (columns.box + columns.box_width, y)
    tip = (columns.strip - 2, to)
    if abs(y - to) < 1:
        tip = (tip[0], y)
        points = [start, tip]
    else:
        middle = (start[0] + tip[0]) / 2 - 4
        points = [start, (middle, y), (middle, to), tip]
    return svg.line(points, colour, 1.6) + svg.arrow_head(
        (tip[0] - 9, tip[1]), tip, colour
    )


def _least_scale(strip: Strip) -> float:
    """Pixels a byte that a strip's cells need at least for their values.

    All strips of a storage take the largest, so that bytes stand in line.
    """
    widths = [style.text_width(c.text, style.TEXT_SIZE) for c in strip.cells]
    return (max([*widths, _CELL_LEAST - 12]) + 12) / max(strip.itemsize, 1)


class _StripPicture:
    """A strip of cells and the windows below it, at ``scale`` pixels a byte.

    Cells that are not written out share one wide cell with an ellipsis.
    """

    def __init__(
        self, strip: Strip, storage: StorageFacts, scale: float
    ) -> None:
        self.strip = strip
        self.fill = style.storage_colours(storage.id)[1]
        self.cell = scale * strip.itemsize
        self.slots: list[tuple[int, int, str]] = []  # first, past, text
        last = 0
        for c in strip.cells:
            if c.index > last:
                self.slots.append((last, c.index, style.ELLIPSIS))
            self.slots.append((c.index, c.index + 1, c.text))
            last = c.index + 1
        if last < strip.count:
            self.slots.append((last, strip.count, style.ELLIPSIS))

    @property
    def width(self) -> float:
        return self.cell * max(len(self.slots), 1)

    def draw(self, x: float, y: float, line: str) -> str:
        if not self.slots:
            return svg.text(x + 6, y + 17, "(empty)", "s")
        parts = []
        for _, _, text in self.slots:
            parts.append(
                svg.box(
                    x, y, self.cell, _CELL_HEIGHT, self.fill, line, radius=0
                )
            )
            parts.append(
                svg.text(x + self.cell / 2, y + 17, text, "t", "middle")
            )
            x += self.cell
        return "".join(parts)

    def draw_window(
        self, t: TensorFacts, x: float, y: float, line: str
    ) -> str:
        inside = self._indices(t)
        parts = []
        for first, past, _ in self.slots:
            label = self._label(t, inside, first, past)
            if label:
                parts.append(
                    svg.box(
                        x,
                        y,
                        self.cell,
                        _CELL_HEIGHT,
                        style.CARD,
                        line,
                        1.6,
                        radius=3,
                    )
                )
                parts.append(
                    svg.text(x + self.cell / 2, y + 17, label, "s", "middle")
                )
            else:
                middle = y + _CELL_HEIGHT / 2
                parts.append(
                    svg.line(
                        [(x, middle), (x + self.cell, middle)],
                        style.FAINT,
                        1,
                        dashed=True,
                    )
                )
            x += self.cell
        return "".join(parts)

    def _indices(
        self, t: TensorFacts
    ) -> dict[int, list[tuple[int, ...]]] | None:
        """Cells that the tensor reads, each with its indices; None for a
        tensor that is too large to look at element by element.
        """
        if t.numel > _MOST_INDICES:
            return None
        inside: dict[int, list[tuple[int, ...]]] = {}
        for index, byte in t.positions():
            inside.setdefault(byte // self.strip.itemsize, []).append(index)
        return inside

    def _label(
        self,
        t: TensorFacts,
        inside: dict[int, list[tuple[int, ...]]] | None,
        first: int,
        past: int,
    ) -> str:
        if inside is None:
            low, high = _reach(t, self.strip.itemsize)
            if first > high or past <= low:
                return ""
            if past - first > 1:
                return style.ELLIPSIS
            if not _is_nested(t):
                return style.ELLIPSIS
            index = _index_at(t, first - low)
            return "" if index is None else ",".join(str(i) for i in index)
        if past - first > 1:
            hit = any(first <= cell < past for cell in inside)
            return style.ELLIPSIS if hit else ""
        indices = inside.get(first, [])
        if not indices:
            return ""
        if len(indices) > 1:
            return f"{len(indices)} ×"
        return ",".join(str(i) for i in indices[0]) or "·"


def _reach(t: TensorFacts, itemsize: int) -> tuple[int, int]:
    """The first and last cell between which a tensor lies."""
    low = high = (t.start or 0) // itemsize
    for size, stride in zip(t.shape, t.stride or (), strict=True):
        step = (size - 1) * stride
        low, high = low + min(step, 0), high + max(step, 0)
    return low, high


def _is_nested(t: TensorFacts) -> bool:
    """Say whether each stride steps over all that the smaller ones reach, so
    that no cell has two indices.
    """
    covered = 0
    pairs = zip(t.stride or (), t.shape, strict=True)
    for stride, size in sorted(pair for pair in pairs if pair[1] > 1):
        if stride <= covered:
            return False
        covered += stride * (size - 1)
    return True


def _index_at(t: TensorFacts, steps: int) -> tuple[int, ...] | None:
    """The index of the element that lies ``steps`` cells after the first one;
    None where there is none.
    """
    strides = t.stride or ()
    index = [0] * len(strides)
    for axis in sorted(range(len(strides)), key=lambda k: -strides[k]):
        if strides[axis] > 0:
            index[axis] = min(steps // strides[axis], t.shape[axis] - 1)
            steps -= index[axis] * strides[axis]
    return None if steps else tuple(index)
