"""Put the site's sources together in one folder: ``make site``.

Copies this folder and the notebooks, gives each notebook a line to download
it by, and writes the table of the lessons from what they say of themselves.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import nbformat
import torch
from nbformat.v4 import new_markdown_cell
from torch import nn

from helpers import draw_memory, record_code

ROOT = Path(__file__).parents[1]
LAB = "http://localhost:8888/lab/tree/notebooks"  # where JupyterLab begins


def main(target: Path) -> None:
    """Write everything that Sphinx needs into ``target``."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(
        ROOT / "docs", target, ignore=shutil.ignore_patterns("*.py[co]", "__*")
    )
    lessons = target / "lessons"
    lessons.mkdir()
    rows = ["| | lesson | minutes | you can afterwards |", "|---|---|---|---|"]
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        rows.append(row(path, notebook.cells[0].source))
        shutil.copy(path, lessons / f"open_{path.name}")
        notebook.cells.insert(1, download(path))
        nbformat.write(notebook, lessons / path.name)
    (target / "lessons.md").write_text("\n".join(rows) + "\n", "utf-8")
    for name, text in pictures().items():
        (target / name).write_text(text, "utf-8")


def row(path: Path, title: str) -> str:
    """Return a lesson's row: its number, name, minutes and objectives."""
    name = re.search(r"^# (.+)$", title, re.MULTILINE)[1]
    minutes = re.search(r"\*\*(\d+) minutes", title)[1]
    can = " ".join(re.findall(r"^- (.+)$", title, re.MULTILINE))
    number = int(path.stem[:2])
    return f"| {number} | [{name}](lessons/{path.stem}) | {minutes} | {can} |"


def download(path: Path) -> nbformat.NotebookNode:
    """Return a cell with a link to the notebook itself."""
    return new_markdown_cell(
        f"{{download}}`Download this notebook <open_{path.name}>`, or [open "
        f"it in your JupyterLab]({LAB}/{path.name}) where `make lab` runs, to "
        "change its lines and run them.",
        id="download",
    )


def pictures() -> dict[str, str]:
    """Return what the page on one's own code shows, by file."""
    A, B = nn.Linear(1, 1, bias=False), nn.Linear(1, 1, bias=False)
    nn.init.constant_(A.weight, 2.0)
    nn.init.constant_(B.weight, 3.0)
    code = "a = A(x)\nloss = B(a.detach()).sum()\nloss.backward()"
    space = {"A": A, "B": B, "x": torch.ones(1, 1)}
    recording = record_code(code, space)
    base = torch.arange(6.0)
    return {
        "own_steps.html": recording.player().html,
        "own_why.md": f"> {recording.why_no_grad('A.weight').sentence}\n",
        "own_memory.html": draw_memory(
            base=base, view=base.view(2, 3), part=base[2:4], copy=base.clone()
        ).html,
    }


if __name__ == "__main__":
    main(Path(sys.argv[1]))
