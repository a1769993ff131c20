"""A table with a headline: what a recording or a model is, row by row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from . import style, svg
from .page import Page

__all__ = ["Sheet"]

SHORT = 24  # characters that stay in one line


@dataclass(frozen=True, repr=False)
class Sheet(Page):
    """Rows of text under a head; a row in ``marked`` stands out, in bold.

    ``align`` has "l" or "r" for each column, ``mono`` the columns in a code
    font.  Shows in Jupyter as a table, and prints as one.

    >>> print(Sheet("Two rows.", ("a", "b"), (("x", "1"), ("yy", "22"))))
    Two rows.
      a   b
      x   1
      yy  22
    """

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    marked: tuple[int, ...] = ()
    align: str = ""
    mono: tuple[int, ...] = (0,)
    notes: tuple[str, ...] = ()

    @property
    def alt(self) -> str:
        """One sentence for a screen reader."""
        return svg.legible(self.title)

    @property
    def text(self) -> str:
        """The table as plain text."""
        lines = [
            [svg.legible(cell).replace("\n", " ") for cell in row]
            for row in (self.head, *self.rows)
        ]
        widths = [max(len(row[k]) for row in lines) for k in self._columns]
        told = []
        for row in lines:
            cells = [
                cell.rjust(wide) if self._right(k) else cell.ljust(wide)
                for k, (cell, wide) in enumerate(zip(row, widths, strict=True))
            ]
            told.append(("  " + "  ".join(cells)).rstrip())
        if not self.rows:
            told = []
        notes = [svg.legible(note) for note in self.notes]
        return "\n".join([svg.legible(self.title), *told, *notes])

    @property
    def html(self) -> str:
        """The table as HTML, on a light ground."""
        cell = f"padding:4px 10px;border:1px solid {style.CARD_EDGE}"
        head = "".join(
            f'<th scope="col" style="{cell};text-align:{self._side(k)}">'
            f"{svg.escape(title)}</th>"
            for k, title in enumerate(self.head)
        )
        body = "".join(
            self._row(row, i in self.marked, cell)
            for i, row in enumerate(self.rows)
        )
        below = "".join(
            f'<div style="margin-top:6px">{svg.escape(n)}</div>'
            for n in self.notes
        )
        card = (
            f"background:{style.CARD};color:{style.INK};padding:10px 14px;"
            f"border:1px solid {style.CARD_EDGE};border-radius:8px;"
            "overflow:auto;max-height:600px;max-width:100%;box-sizing:border-box"
        )
        table = (
            f'<table aria-label="{svg.escape(self.alt)}" style="'
            f"border-collapse:collapse;color:{style.INK};margin:0;"
            f'background:{style.CARD}"><thead><tr style="background:'
            f'{style.CARD}">{head}</tr></thead><tbody>{body}</tbody></table>'
        )
        return (
            f'<div style="{card}" tabindex="0"><div style="font-weight:bold;'
            f'margin-bottom:8px">{svg.escape(self.title)}</div>'
            f"{table if self.rows else ''}{below}</div>"
        )

    @property
    def _columns(self) -> Sequence[int]:
        return range(len(self.head))

    def _right(self, column: int) -> bool:
        return self.align[column : column + 1] == "r"

    def _side(self, column: int) -> str:
        return "right" if self._right(column) else "left"

    def _row(self, row: Sequence[str], marked: bool, cell: str) -> str:
        fill = style.STORAGE_COLOURS[3][1] if marked else style.CARD
        cells = ""
        for k, text in enumerate(row):
            look = f"{cell};text-align:{self._side(k)};vertical-align:top"
            if k in self.mono:
                fonts = style.MONO.replace("'", "&#39;")
                look += f";font-family:{fonts};white-space:pre"
            elif len(text) <= SHORT:
                look += ";white-space:nowrap"
            if marked:
                look += ";font-weight:bold"
            tag = "th" if k == 0 else "td"
            scope = ' scope="row"' if k == 0 else ""
            weight = "" if marked or k else ";font-weight:normal"
            cells += (
                f'<{tag}{scope} style="{look}{weight}">'
                f"{svg.escape(text)}</{tag}>"
            )
        return f'<tr style="background:{fill}">{cells}</tr>'
