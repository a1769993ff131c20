"""What a notebook shows that is neither a picture nor plain text."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import style
from .diagram import Diagram, write
from .svg import escape

__all__ = ["Kept", "Page", "card", "framed", "image", "marked_up"]


class Page:
    """Something with an ``html``, its ``text`` twin and an ``alt`` text.

    Shows in Jupyter, in exported pages and offline.
    """

    if TYPE_CHECKING:  # a field in one kind of page, computed in another

        @property
        def html(self) -> str: ...

        @property
        def text(self) -> str: ...

        @property
        def alt(self) -> str: ...

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__

    def _repr_mimebundle_(
        self, include: Any = None, exclude: Any = None
    ) -> dict[str, str]:
        return {"text/html": self.html, "text/plain": self.text}

    def save(self, path: str | Path) -> Path:
        """Write the page, or its text, and return the path.

        Writes that one file and nothing else.  Raises ValueError for another
        ending than ``.html`` or ``.txt``, and OSError where the file can't
        be written.
        """
        path = Path(path)
        if path.suffix.lower() == ".html":
            page = (
                '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
                f"<title>{escape(self.alt)}</title></head><body>"
                f"{self.html}</body></html>\n"
            )
            write(path, page.encode())
        elif path.suffix.lower() == ".txt":
            write(path, f"{self.text}\n".encode())
        else:
            raise ValueError(
                f"can't save this page as {path.name!r}: "
                "the name must end in .html or .txt"
            )
        return path


class Kept:
    """Pictures of a page, each once."""

    def __init__(self) -> None:
        self.pictures: list[list[str]] = []  # SVG and alt text
        self._places: dict[str, int] = {}

    def place(self, picture: Diagram) -> int:
        """Return a picture's place in the list."""
        if picture.svg not in self._places:
            self._places[picture.svg] = len(self.pictures)
            self.pictures.append([picture.svg, picture.alt])
        return self._places[picture.svg]


def image(diagram: Diagram) -> str:
    """Return a picture as an ``<img>`` that needs no script."""
    data = base64.b64encode(diagram.svg.encode()).decode()
    return (
        f'<img alt="{escape(diagram.alt)}" style="max-width:100%" '
        f'src="data:image/svg+xml;base64,{data}">'
    )


def card(inside: str, wide: int = 760) -> str:
    """Return HTML as a card on a light ground, at most so many pixels wide."""
    look = (
        f"background:{style.CARD};color:{style.INK};padding:10px 14px;"
        f"border:1px solid {style.CARD_EDGE};border-radius:8px;"
        f"max-width:{wide}px;line-height:1.5"
    )
    return f'<div style="{look}">{inside}</div>'


def marked_up(text: str) -> str:
    """Escape text and set what stands in backticks as code.

    >>> "<code" in marked_up("`x`"), marked_up("1 < 2")
    (True, '1 &lt; 2')
    """
    # a dark theme would give code its own colours on our light ground
    code = f"background:{style.OPERATION_FILL};color:{style.INK}"
    return re.sub(
        r"`([^`]+)`", rf'<code style="{code}">\1</code>', escape(text)
    )


def framed(name: str, alt: str, stage: str, data: Any, script: str) -> str:
    """Return a card that a script turns into something to play with.

    ``stage`` is what is there without scripts; what comes from the user is
    in ``data``, which can't end the script.
    """
    card = (
        f"background:{style.CARD};color:{style.INK};padding:12px;"
        f"border:1px solid {style.CARD_EDGE};border-radius:8px;"
        f"font-family:{style.SANS};font-size:13px"
    )
    text = json.dumps(data, ensure_ascii=False, sort_keys=True)
    text = text.replace("<", "\\u003c")
    # half a character, which no file can hold, is written out
    text = re.sub("[\ud800-\udfff]", lambda m: f"\\\\u{ord(m[0]):x}", text)
    return (
        f'<div class="{name}" role="group" aria-label="{escape(alt)}" '
        f'style="{card}"><div class="stage">{stage}</div>'
        f'<script type="application/json">{text}</script></div>'
        f"<script>(function () {{{_SHARED}{script}}})();</script>"
    )


# What the scripts of all pages use.
_SHARED = """
  function isShortcut(event) {  // of the program around the page
    return event.ctrlKey || event.metaKey || event.altKey ||
      /^F\\d/.test(event.key);
  }
  function make(tag, css, parent, text) {
    var e = document.createElement(tag);
    e.style.cssText = css;
    if (text !== undefined) e.textContent = text;
    if (parent) parent.appendChild(e);
    return e;
  }
  function address(svg) {
    return "data:image/svg+xml;charset=utf-8," + encodeURIComponent(svg);
  }
"""
