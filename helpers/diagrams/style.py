"""Colours, fonts, glyphs and text widths: the only file that has them.

The palette is Okabe and Ito's, safe for colour-blind readers.  Meaning is
never in a colour alone: a border, a word or a glyph says the same.
"""

from __future__ import annotations

import functools
import unicodedata

from .letters import legible

SANS = "Helvetica,Arial,'Liberation Sans','DejaVu Sans',sans-serif"
MONO = "Menlo,Consolas,'DejaVu Sans Mono','Liberation Mono',monospace"

INK = "#1a1a1a"
SOFT_INK = "#555555"
WARN_INK = "#a03d00"  # 6.1:1 on white, 5.5:1 on the leaf's blue
BLUE = "#0072b2"
GREY = "#767676"
CARD = "#ffffff"
CARD_EDGE = "#d5d5d5"
FAINT = "#c4c4c4"
ORANGE = "#d55e00"

LEAF_FILL = "#e8f3fa"
PLAIN_FILL = "#f5f5f5"
OPERATION_FILL = "#efefef"
GROUP_FILL = "#fafafa"
GROUP_EDGE = "#b0b0b0"

# One pair (line, fill) a storage, in turn; the storage's id says it too.
STORAGE_COLOURS = (
    ("#d55e00", "#fdeee3"),
    ("#009e73", "#e5f5f0"),
    ("#b4568a", "#faeef4"),
    ("#a87400", "#fdf3dd"),
    ("#2b86ba", "#e9f5fc"),
    ("#5a5a5a", "#f0f0f0"),
)

NAME_SIZE = 14.0
TEXT_SIZE = 12.0
SMALL_SIZE = 11.0  # nothing is smaller than this at 100 %

SCISSORS = "✂"
ELLIPSIS = "…"

# Helvetica's advance widths for the characters 32 to 126, in 1/1000 em.
_HELVETICA = (
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333,
    278, 278, 556, 556, 556, 556, 556, 556, 556, 556, 556, 556, 278, 278,
    584, 584, 584, 556, 1015, 667, 667, 722, 722, 667, 611, 778, 722, 278,
    500, 667, 556, 833, 722, 778, 667, 778, 722, 667, 611, 722, 667, 944,
    667, 667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556, 556,
    278, 556, 556, 222, 222, 500, 222, 833, 556, 556, 556, 556, 333, 500,
    278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
)  # fmt: skip
# Where neither Helvetica nor Arial is there, the browser takes a wider font.
_SANS_MARGIN = 1.1
_MONO_ADVANCE = 0.603


@functools.lru_cache(maxsize=5_000)
def _advance(char: str, mono: bool) -> float:
    written = legible(char)
    if written != char:
        return sum(_advance(c, mono) for c in written)
    if unicodedata.combining(char):
        return 0.0
    if unicodedata.east_asian_width(char) in "WF":
        return 1.0
    if mono:
        return _MONO_ADVANCE
    if " " <= char <= "~":
        return _HELVETICA[ord(char) - 32] / 1000
    return 0.75


@functools.lru_cache(maxsize=20_000)  # most words stand in many boxes
def text_width(text: str, size: float, mono: bool = False) -> float:
    """Return a width in pixels that ``text`` stays within.

    >>> round(text_width("ab", 10, mono=True), 2)
    12.06
    """
    width = sum(_advance(char, mono) for char in text) * size
    return width if mono else width * _SANS_MARGIN


def storage_colours(storage_id: str) -> tuple[str, str]:
    """Return the line and fill colour of a storage (``s0``, ``s1``, …)."""
    return STORAGE_COLOURS[int(storage_id[1:]) % len(STORAGE_COLOURS)]
