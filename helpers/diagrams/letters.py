"""Which characters a picture can hold, and how the others are written."""

from __future__ import annotations

import re
from functools import cache


def legible(text: str) -> str:
    """Write out characters that XML cannot hold, and change no other.

    >>> legible("a\\x00b"), legible("<b>")
    ('a\\\\x00b', '<b>')
    """
    if text.isascii() and text.isprintable():
        return text
    return _no_xml().sub(lambda found: _written_out(found[0]), text)


@cache
def _no_xml() -> re.Pattern[str]:  # to compile it takes milliseconds
    return re.compile(
        "[^\t\n\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
    )


def _written_out(char: str) -> str:
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
