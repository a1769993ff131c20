"""Diagram: a picture, its text twin and its alt text, in one object."""

from __future__ import annotations

import base64
import importlib.util
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .svg import escape, legible

__all__ = ["Diagram", "write"]

# Wider pictures keep their size and scroll: scaled down they can't be read.
WIDEST = 1000


@dataclass(frozen=True)
class Diagram:
    """A picture that Jupyter shows, with the same facts as text.

    ``svg`` is the picture, ``text`` its twin in plain text (what ``print``
    and a terminal show, and what the tests compare) and ``alt`` one or two
    sentences for a screen reader.  ``table`` is HTML to show in place of the
    picture where the thing is a table.

    >>> import torch
    >>> from helpers import draw_memory
    >>> x = torch.ones(2)
    >>> print(draw_memory(x).text.splitlines()[0])
    storage s0: 8 bytes, version 0
    """

    svg: str
    text: str
    alt: str
    table: str = ""

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text

    def __post_init__(self) -> None:
        # what is written to files and pages must be text that they can hold
        object.__setattr__(self, "alt", legible(self.alt))

    @property
    def html(self) -> str:
        """What a notebook shows: an ``<img>`` with alt text, or the table.

        The picture is a data address: inline SVG and image/svg+xml are
        dropped by JupyterLab in a notebook that is not trusted yet.
        """
        if self.table:
            return self.table
        data = base64.b64encode(self.svg.encode()).decode()
        wide = self._width() > WIDEST
        fit = "max-width:none" if wide else "max-width:100%"
        picture = (
            f'<img alt="{escape(self.alt)}" style="{fit};height:auto" '
            f'src="data:image/svg+xml;base64,{data}">'
        )
        return f'<div style="overflow:auto;max-height:900px">{picture}</div>'

    def _width(self) -> float:
        width = re.search(r'width="([\d.]+)', self.svg)
        return float(width[1]) if width else 0.0

    def _repr_mimebundle_(
        self, include: Any = None, exclude: Any = None
    ) -> dict[str, str]:
        return {"text/html": self.html, "text/plain": self.text}

    def save(self, path: str | Path) -> Path:
        """Write the picture, its page or its text, and return the path.

        The ending decides: ``.svg``, ``.png`` (twice the size, for a
        projector), ``.html`` (a page of its own) or ``.txt`` (the twin).

        Writes that one file and nothing else.  Raises ValueError for another
        ending and OSError where the file can't be written.
        """
        path = Path(path)
        writers = {
            ".svg": lambda: self.svg.encode(),
            ".png": lambda: _png(self.svg),
            ".html": lambda: self._page().encode(),
            ".txt": lambda: (self.text + "\n").encode(),
        }
        if path.suffix.lower() not in writers:
            raise ValueError(
                f"can't save a picture as {path.name!r}: "
                "the name must end in .svg, .png, .html or .txt"
            )
        write(path, writers[path.suffix.lower()]())
        return path

    def _page(self) -> str:
        return (
            '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
            f"<title>{escape(self.alt)}</title></head><body>"
            f"{self.html}<pre>{escape(self.text)}</pre></body></html>\n"
        )


def write(path: Path, data: bytes) -> None:
    """Write a file, or say in a sentence why that can't be done."""
    try:
        path.write_bytes(data)
    except OSError as error:
        told = type(error)(
            f"can't save {path.name!r} in the folder {str(path.parent)!r} "
            f"({error.strerror}): give the path of a file in a folder that "
            "exists and where you may write."
        )
        told.errno = error.errno
        raise told from error


def _png(svg: str) -> bytes:
    try:
        import resvg_py
    except ImportError as error:
        raise ImportError(
            "saving a PNG needs the package resvg-py: "
            "run pip install resvg-py, or save as .svg"
        ) from error
    return resvg_py.svg_to_bytes(
        svg_string=svg,
        zoom=2,
        font_files=_fonts(),
        sans_serif_family="DejaVu Sans",
        monospace_family="DejaVu Sans Mono",
    )


def _fonts() -> list[str]:
    """Fonts that come with packages, for a machine that has none.

    matplotlib brings DejaVu; Chinese needs a font of its own.
    """
    folder = _font_folder()
    fonts = [str(path) for path in sorted(folder.glob("DejaVuSans*.ttf"))]
    try:
        import noto_cjk_sans_jp_regular as cjk
    except ImportError:
        return fonts
    folder = Path(cjk.__file__).parent
    return fonts + [str(path) for path in sorted(folder.glob("*.otf"))]


def _font_folder() -> Path:
    """Where matplotlib's fonts are, found without importing it: that takes
    long, and it writes into the user's home.
    """
    found = importlib.util.find_spec("matplotlib")
    if found is not None and found.origin is not None:
        folder = Path(found.origin).parent / "mpl-data" / "fonts" / "ttf"
        if folder.is_dir():
            return folder
    import matplotlib  # a system's package may keep them elsewhere

    return Path(matplotlib.get_data_path()) / "fonts" / "ttf"
