"""Notebooks without their solutions, for a class: ``make handout``.

The checks stay, so that students still see what is right.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path
from typing import Any

import nbformat

ROOT = Path(__file__).parents[1]
SOLUTION = re.compile(
    r"<details><summary>Solution</summary>.*?</details>\n?", re.DOTALL
)
# What the first lesson says of both, and what is true here.
SAID = {
    "A hint and a solution are folded below each exercise. Click on them when "
    "you are stuck, the hint first.": "A hint is folded below each exercise. "
    "Click on it when you are stuck."
}


def without_solutions(notebook: Any) -> Any:
    """Return a notebook without the folded solutions; hints stay."""
    for cell in notebook.cells:
        cell.source = SOLUTION.sub("", cell.source).strip()
        for said, true in SAID.items():
            cell.source = cell.source.replace(said, true)
    notebook.cells = [c for c in notebook.cells if c.source]
    return notebook


def main(target: Path) -> None:
    """Write every lesson's handout."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        nbformat.write(without_solutions(notebook), target / path.name)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
