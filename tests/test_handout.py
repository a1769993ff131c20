"""Notebooks for a class: no solution leaks, and the checks stay."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "docs"))

from handout import main  # noqa: E402

LESSON = pytest.mark.parametrize(
    "name", [p.name for p in sorted((ROOT / "notebooks").glob("*.ipynb"))]
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("handout")
    main(folder)
    return folder


def text(path):
    return "\n".join(c.source for c in nbformat.read(path, 4).cells)


def solutions(name):
    full = text(ROOT / "notebooks" / name)
    return re.findall(
        r"<summary>Solution</summary>.*?```python\n(.*?)```", full, re.S
    )


@LESSON
def test_no_solution_leaks(folder, name):
    handed_out = text(folder / name)
    assert solutions(name)
    for code in solutions(name):
        assert code.strip() not in handed_out


@LESSON
def test_no_line_of_a_solution_alone_leaks(folder, name):
    handed_out = set(map(str.strip, text(folder / name).splitlines()))
    full = nbformat.read(ROOT / "notebooks" / name, 4).cells
    shown = {
        line.strip()
        for cell in full
        if cell.cell_type == "code"
        for line in cell.source.splitlines()
    }
    lines = {
        line.strip()
        for code in solutions(name)
        for line in code.splitlines()
        if line.strip()
    }
    assert (lines - shown) & handed_out == set()


@LESSON
def test_hints_and_checks_stay(folder, name):
    handed_out, full = text(folder / name), text(ROOT / "notebooks" / name)
    for word in ("<summary>Hint", "check("):
        gone = sum(code.count(word) for code in solutions(name))
        assert handed_out.count(word) == full.count(word) - gone


@LESSON
def test_a_handout_is_a_notebook(folder, name):
    nbformat.validate(nbformat.read(folder / name, 4))
