"""One column a tensor: what autograd and memory know of each, side by side.

A row in which the columns differ is marked with ≠ and set in bold, so that
the difference stands out without colour too.
"""

from __future__ import annotations

from ..model import Snapshot, TensorFacts
from . import style, svg
from .diagram import Diagram
from .words import grad_text, listed, name_text

__all__ = ["draw"]

DIFFERS = "≠"
_WRAP = 26
_LINE = 17.0


def draw(snapshot: Snapshot) -> Diagram:
    """Draw the facts of the tensors that were asked for."""
    tensors = [snapshot.by_id[i] for i in snapshot.asked]
    names = [name_text(t) for t in tensors]
    rows = _rows(snapshot, tensors)
    notes = [
        f"{name}: {t.note}"
        for name, t in zip(names, tensors, strict=True)
        if t.note
    ] + list(snapshot.notes)
    alt = _alt(names, rows)
    return Diagram(
        _picture(names, rows, notes, alt),
        _text(names, rows, notes),
        alt,
        _html(names, rows, notes, alt),
    )


Row = tuple[str, list[str]]


def _rows(snapshot: Snapshot, tensors: list[TensorFacts]) -> list[Row]:
    return [
        ("requires_grad", [str(t.requires_grad) for t in tensors]),
        ("is_leaf", ["-" if t.is_array else str(t.is_leaf) for t in tensors]),
        ("grad_fn", [str(t.grad_fn) for t in tensors]),
        ("retains_grad", [str(t.retains_grad) for t in tensors]),
        (".grad", [grad_text(t).removeprefix(".grad ") for t in tensors]),
        ("version", [_or_dash(t.version) for t in tensors]),
        ("dtype", [t.dtype for t in tensors]),
        ("shape", [str(list(t.shape)) for t in tensors]),
        ("stride", [_or_dash(t.stride) for t in tensors]),
        ("offset", [_or_dash(t.offset) for t in tensors]),
        ("storage", [_or_dash(t.storage) for t in tensors]),
        ("shares with", [_partners(snapshot, t) for t in tensors]),
    ]


def _or_dash(value: object) -> str:
    return "-" if value is None else str(value)


def _partners(snapshot: Snapshot, tensor: TensorFacts) -> str:
    others = [
        name_text(t)
        for t in snapshot.objects
        if t.storage == tensor.storage is not None and t.id != tensor.id
    ]
    return ", ".join(others) or "nobody"


def _differs(values: list[str]) -> bool:
    return len(set(values)) > 1


def _text(names: list[str], rows: list[Row], notes: list[str]) -> str:
    table = [["", *names]]
    for title, values in rows:
        mark = DIFFERS if _differs(values) else " "
        table.append([f"{mark} {title}", *values])
    table = [[svg.legible(cell) for cell in line] for line in table]
    last = len(table[0]) - 1  # needs no room behind it
    widths = [max(len(line[i]) for line in table) for i in range(last)]
    lines = [
        "  ".join([*map(str.ljust, line, widths), line[last]])
        for line in table
    ]
    return "\n".join([*lines, *map(svg.legible, notes)])


def _alt(names: list[str], rows: list[Row]) -> str:
    different = [title for title, values in rows if _differs(values)]
    start = f"Facts of {listed(names)}."
    if len(names) == 1:
        pairs = [f"{title} {values[0]}" for title, values in rows[:5]]
        return f"{start} {', '.join(pairs)}."
    if not different:
        return f"{start} They differ in nothing."
    return f"{start} They differ in {listed(different)}."


def _html(
    names: list[str], rows: list[Row], notes: list[str], alt: str
) -> str:
    cell = "text-align:left;padding:4px 12px;border:1px solid"
    edge = f"{cell} {style.CARD_EDGE}"
    head = "".join(
        f'<th scope="col" style="{edge};font-family:{_quoted(style.MONO)}">'
        f"{svg.escape(name)}</th>"
        for name in names
    )
    body = ""
    for title, values in rows:
        differs = _differs(values)
        mark = f"{DIFFERS} " if differs else ""
        weight = ";font-weight:bold" if differs else ";font-weight:normal"
        fill = f";background:{style.STORAGE_COLOURS[3][1]}" if differs else ""
        cells = "".join(
            f'<td style="{edge}{weight}{fill}">{svg.escape(value)}</td>'
            for value in values
        )
        body += (
            f'<tr style="background:{style.CARD}">'
            f'<th scope="row" style="{edge}{weight}{fill}">{mark}'
            f"{svg.escape(title)}</th>{cells}</tr>"
        )
    below = "".join(f"<div>{svg.escape(note)}</div>" for note in notes)
    card = (
        f"background:{style.CARD};color:{style.INK};padding:8px;"
        "overflow:auto;display:inline-block;max-width:100%"
    )
    return (
        f'<div style="{card}"><table aria-label="{svg.escape(alt)}" '
        f'style="border-collapse:collapse;color:{style.INK};'
        f'background:{style.CARD}"><thead>'
        f'<tr style="background:{style.CARD}"><td style="{edge}"></td>{head}'
        f"</tr></thead><tbody>{body}</tbody></table>{below}</div>"
    )


def _quoted(fonts: str) -> str:
    return fonts.replace("'", "&#39;")


def _picture(
    names: list[str], rows: list[Row], notes: list[str], alt: str
) -> str:
    """The same table as SVG, for a file or a slide."""
    heads = [svg.wrap(name, _WRAP) for name in names]
    cells = [[svg.wrap(v, _WRAP) for v in values] for _, values in rows]
    first = 24 + max(style.text_width(title, 12) for title, _ in rows)
    widths = []
    for i, head in enumerate(heads):
        width = max(style.text_width(line, 14, True) for line in head)
        for row in cells:
            width = max(width, *(style.text_width(v, 12) for v in row[i]))
        widths.append(width * 1.08 + 20)
    parts = []
    x, y = 14 + first, 14.0
    tall = max(len(head) for head in heads) * 18 + 8
    for head, width in zip(heads, widths, strict=True):
        parts.append(svg.text(x + 8, y + 18, head, "n", leading=18))
        x += width
    right = x
    y += tall
    for (title, values), row in zip(rows, cells, strict=True):
        high = max(len(lines) for lines in row) * _LINE + 8
        differs = _differs(values)
        if differs:
            fill = style.STORAGE_COLOURS[3][1]
            parts.append(svg.box(14, y, right - 14, high, fill, radius=0))
        kind = "b" if differs else "t"
        mark = f"{DIFFERS} " if differs else ""
        parts.append(svg.text(20, y + 17, mark + title, kind))
        x = 14 + first
        for lines, width in zip(row, widths, strict=True):
            parts.append(svg.text(x + 8, y + 17, lines, kind, leading=_LINE))
            x += width
        parts.append(svg.line([(14, y), (right, y)], style.CARD_EDGE, 1))
        y += high
    for note in notes:
        parts.append(svg.text(20, y + 17, note, "s"))
        right = max(right, 20 + style.text_width(note, style.SMALL_SIZE))
        y += _LINE
    return svg.document(right + 14, y + 14, "".join(parts), alt)
