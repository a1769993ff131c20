"""A very small SVG writer: text, boxes, lines, arrows; all text escaped."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from . import style
from .letters import legible as legible

Point = tuple[float, float]


def escape(text: str) -> str:
    """Escape ``text`` for XML and HTML, element content and attributes."""
    safe = legible(text).replace("&", "&amp;").replace("<", "&lt;")
    return safe.replace(">", "&gt;").replace('"', "&quot;")


def number(value: float) -> str:
    """Write a coordinate with one decimal at most.

    >>> number(3.04), number(-0.0), number(2.25)
    ('3', '0', '2.2')
    """
    text = f"{value:.1f}"
    text = text[:-2] if text.endswith(".0") else text
    return "0" if text == "-0" else text


def wrap(text: str, width: int) -> list[str]:
    """Cut ``text`` into lines of at most ``width``; joined, they are it,
    legible.

    A newline ends its line and stays in it.  A line is cut behind a dot, a
    space or the like where there is one in its second half.

    >>> wrap("abcdef", 4), wrap("a\\nb", 9), wrap("net.weight", 8)
    (['abcd', 'ef'], ['a\\n', 'b'], ['net.weig', 'ht'])
    >>> wrap("layers.0.weight", 12)
    ['layers.0.', 'weight']
    """
    lines = []
    for part in text.splitlines(keepends=True) or [""]:
        while len(part.rstrip("\n")) > width:
            end = next(filter(None, _ends(part, width)), width)
            lines.append(part[:end])
            part = part[end:]
        lines.append(part)
    return lines or [""]


def _ends(text: str, width: int) -> Iterator[int]:
    """Where a line may end: better at a space than within a name."""
    for marks in (" ", ",", "._/"):
        yield max(text.rfind(mark, width // 2, width) for mark in marks) + 1


def text(
    x: float,
    y: float,
    lines: str | Sequence[str],
    kind: str = "t",
    anchor: str = "start",
    leading: float = 16.0,
) -> str:
    """Write text whose first baseline is at ``y``.

    ``kind`` names a rule of the style sheet: ``n`` a name, ``t`` text, ``s``
    small, ``w`` a warning, ``b`` bold.  Several lines are one ``<text>``, so
    its content is the whole text, unbroken.
    """
    lines = [lines] if isinstance(lines, str) else list(lines)
    end = "" if anchor == "start" else f' text-anchor="{anchor}"'
    head = f'<text class="{kind}" x="{number(x)}" y="{number(y)}"{end}>'
    body = escape(lines[0])
    for line in lines[1:]:
        body += (
            f'<tspan x="{number(x)}" dy="{number(leading)}">'
            f"{escape(line)}</tspan>"
        )
    return f"{head}{body}</text>"


def box(
    x: float,
    y: float,
    width: float,
    height: float,
    fill: str,
    stroke: str = "none",
    stroke_width: float = 1.0,
    dashed: bool = False,
    radius: float = 8.0,
) -> str:
    """Draw a rectangle with round corners."""
    dash = ' stroke-dasharray="5 3"' if dashed else ""
    wide = "" if stroke_width == 1 else f' stroke-width="{stroke_width}"'
    round_ = f' rx="{number(radius)}"' if radius else ""
    return (
        f'<rect x="{number(x)}" y="{number(y)}" width="{number(width)}" '
        f'height="{number(height)}"{round_} fill="{fill}" '
        f'stroke="{stroke}"{wide}{dash}/>'
    )


def line(
    points: Iterable[Point],
    stroke: str,
    width: float = 1.2,
    dashed: bool = False,
    curved: bool = False,
) -> str:
    """Draw a line through points, or a Bézier spline when ``curved``."""
    points = list(points)
    pairs = [f"{number(x)} {number(y)}" for x, y in points]
    rest = ("C" if curved else "L") + " ".join(pairs[1:])
    dash = ' stroke-dasharray="5 3"' if dashed else ""
    return (
        f'<path d="M{pairs[0]}{rest}" fill="none" stroke="{stroke}" '
        f'stroke-width="{width}"{dash}/>'
    )


def arrow_head(before: Point, tip: Point, fill: str, size: float = 7) -> str:
    """Draw an arrow head that comes from ``before`` and ends at ``tip``."""
    angle = math.atan2(tip[1] - before[1], tip[0] - before[0])
    corners = [tip]
    for turn in (2.75, -2.75):
        corners.append(
            (
                tip[0] + size * 1.15 * math.cos(angle + turn),
                tip[1] + size * 1.15 * math.sin(angle + turn),
            )
        )
    points = " ".join(f"{number(x)},{number(y)}" for x, y in corners)
    return f'<polygon points="{points}" fill="{fill}"/>'


def snowflake(x: float, y: float, size: float = 12.0) -> str:
    """Draw a snowflake centred at a point: a frozen tensor's mark.

    It is drawn, not typed, so that it looks the same without the glyph.
    """
    strokes = []
    r = size / 2
    for k in range(6):
        a = math.pi / 6 + k * math.pi / 3
        strokes.append(_spoke(x, y, a, 0, r))
        for side in (0.5, -0.5):
            bx, by = x + 0.6 * r * math.cos(a), y + 0.6 * r * math.sin(a)
            strokes.append(_spoke(bx, by, a + side, 0, 0.38 * r))
    return (
        f'<path d="{"".join(strokes)}" fill="none" '
        f'stroke="{style.BLUE}" stroke-width="1.1"/>'
    )


def fold_mark(x: float, y: float, opened: bool, size: float = 11) -> str:
    """Draw a small square with a plus, or a minus where a box is open."""
    r = size / 2
    arm = r - 2.5
    plus = "" if opened else f"M{number(x)} {number(y - arm)}v{2 * arm:g}"
    return (
        f'<path d="M{number(x - r)} {number(y - r)}h{size:g}v{size:g}'
        f"h-{size:g}zM{number(x - arm)} {number(y)}h{2 * arm:g}{plus}"
        f'" fill="{style.CARD}" stroke="{style.SOFT_INK}" '
        'stroke-width="1.2"/>'
    )


def scissors(x: float, y: float, size: float = 13.0) -> str:
    """Draw open scissors centred at a point, blades to the right: a cut."""
    r = size / 2
    ring = 0.32 * r
    strokes = ""
    for side in (1, -1):
        cx, cy = x - 0.62 * r, y + side * 0.5 * r
        strokes += (
            f'<circle cx="{number(cx)}" cy="{number(cy)}" r="{number(ring)}"/>'
            f'<path d="M{number(cx + ring)} {number(cy - side * 0.16 * r)}'
            f'L{number(x + r)} {number(y - side * 0.5 * r)}"/>'
        )
    return (
        f'<g fill="none" stroke="{style.WARN_INK}" stroke-width="1.4">'
        f"{strokes}</g>"
    )


def _spoke(x: float, y: float, angle: float, start: float, end: float) -> str:
    c, s = math.cos(angle), math.sin(angle)
    return (
        f"M{number(x + start * c)} {number(y + start * s)}"
        f"L{number(x + end * c)} {number(y + end * s)}"
    )


def document(width: float, height: float, body: str, title: str) -> str:
    """Put a body on a light card, scalable, with its title for readers."""
    w, h = number(math.ceil(width)), number(math.ceil(height))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {w} {h}" '
        f'width="{w}" height="{h}" role="img" xml:space="preserve">'
        f"<title>{escape(title)}</title><style>{sheet()}</style>"
        f"{box(0.5, 0.5, math.ceil(width) - 1, math.ceil(height) - 1, style.CARD, style.CARD_EDGE)}"  # noqa: E501
        f"{body}</svg>\n"
    )


def sheet() -> str:
    """Return the rules that the kinds of text stand for."""
    s = style
    return (
        f"text{{font-family:{s.SANS};font-size:{s.TEXT_SIZE:g}px;"
        f"fill:{s.INK}}}"
        f".n{{font-family:{s.MONO};font-size:{s.NAME_SIZE:g}px;"
        "font-weight:bold}"
        f".m{{font-family:{s.MONO};font-size:{s.TEXT_SIZE:g}px}}"
        ".b{font-weight:bold}"
        f".s{{font-size:{s.SMALL_SIZE:g}px;fill:{s.SOFT_INK}}}"
        f".w{{font-size:{s.SMALL_SIZE:g}px;fill:{s.WARN_INK}}}"
    )
