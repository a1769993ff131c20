"""Sphinx: the site of the course, built by ``make site``."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

from pygments.lexer import inherit
from pygments.lexers import PythonLexer
from pygments.token import Operator

project = "What tensors share, and where the gradient stops"
author = "the course's authors"
copyright = "the course's authors, CC BY 4.0"
extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
]
exclude_patterns = ["lessons.md", "own_why.md"]
nb_execution_mode = "off"  # the outputs in the notebooks are tested
nb_number_source_lines = False
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
add_module_names = False  # readers import everything from helpers
html_theme = "furo"
pygments_dark_style = "github-dark"  # no underlines that look like links
html_title = "Where the gradient stops"
html_static_path = ["look"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_show_search_summary = False  # it would fetch pages, which a file may not
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {"navigation_with_keys": False}
nb_code_prompt_show = "Show the verdicts"  # the only outputs folded
nb_code_prompt_hide = "Hide the verdicts"
# What a lesson quotes is a program, not a link.
suppress_warnings = ["myst.header", "mystnb.unknown_mime_type"]


class CellLexer(PythonLexer):
    """Python with magics: what follows ``%%steps`` is coloured, too."""

    tokens: ClassVar[dict[str, list[Any]]] = {
        "root": [(r"(?m:^)%%?\w+", Operator), inherit]
    }


def without_constructor(
    app: Any, what: str, name: str, thing: Any, *rest: Any
) -> tuple[str, None] | None:
    """Show no arguments of a class whose objects only we make."""
    return ("", None) if dataclasses.is_dataclass(thing) else None


def setup(app: Any) -> None:
    """Tell Sphinx of the two above."""
    app.add_lexer("ipython3", CellLexer)
    app.connect("autodoc-process-signature", without_constructor)
