"""Sphinx: the site of the course, built by ``make site``."""

from __future__ import annotations

project = "What tensors share, and where the gradient stops"
author = "the course's authors"
copyright = "the course's authors, CC BY 4.0"
extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
]
exclude_patterns = ["lessons/open_*", "lessons.md", "own_why.md"]
nb_execution_mode = "off"  # the outputs in the notebooks are tested
nb_number_source_lines = False
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
html_theme = "furo"
html_title = "Where the gradient stops"
html_static_path = ["look"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_show_search_summary = False  # it would fetch pages, which a file may not
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {"navigation_with_keys": False}
# What a lesson quotes is a program, not a link.
suppress_warnings = ["myst.header", "mystnb.unknown_mime_type"]
