"""Put the site's sources together in one folder: ``make site``.

Copies this folder and the notebooks, fits each notebook to a page on which
nothing runs, and writes the table of the lessons from what they say of
themselves.
"""

from __future__ import annotations

import base64
import re
import shutil
import sys
from pathlib import Path

import nbformat
import torch
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell
from torch import nn

from helpers import (
    draw_graph,
    draw_memory,
    facts,
    record,
    record_code,
    who_learns,
)
from helpers.asking import Learners
from helpers.watching import Recording

ROOT = Path(__file__).parents[1]
LAB = "http://localhost:8888/lab/tree/notebooks"  # where JupyterLab begins
# A call that says nothing to a reader who sees what it shows.
ONLY_SHOWS = re.compile(r'(predict|arrange)\("[^"]+"\)')
VERDICTS = "judge(votes=votes)"


def main(target: Path) -> None:
    """Write everything that Sphinx needs into ``target``."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(
        ROOT / "docs", target, ignore=shutil.ignore_patterns("*.py[co]", "__*")
    )
    lessons = target / "lessons"
    lessons.mkdir()
    rows = ["| | lesson | minutes | afterwards you can |", "|---|---|---|---|"]
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        rows.append(row(path, notebook.cells[0].source))
        nbformat.write(page_of(path, notebook), lessons / path.name)
    (target / "lessons.md").write_text("\n".join(rows) + "\n", "utf-8")
    for name, text in pictures().items():
        (target / name).write_text(text, "utf-8")


def number_of(path: Path) -> int:
    """Return a lesson's number."""
    return int(path.stem[:2])


def row(path: Path, title: str) -> str:
    """Return a lesson's row: its number, name, minutes and objectives."""
    name = re.search(r"^# (.+)$", title, re.MULTILINE)[1]
    minutes = re.search(r"\*\*(\d+) minutes", title)[1]
    can = re.findall(r"^- (.+?)[,.]?$", title, re.MULTILINE)
    return (
        f"| {number_of(path)} | [{name}](lessons/{path.stem}) | {minutes} "
        f"| {'<br>'.join(can)} |"
    )


def page_of(path: Path, notebook: NotebookNode) -> NotebookNode:
    """Return a notebook as a page to read: numbered, and without calls that
    only show what stands below them.
    """
    title, *rest = notebook.cells
    title.source = title.source.replace("# ", f"# {number_of(path)}. ", 1)
    for cell in rest:
        tags = [*cell.metadata.get("tags", [])]
        if ONLY_SHOWS.fullmatch(cell.source):
            tags.append("remove-input")
        if cell.source == VERDICTS:  # first one's own vote
            tags.append("hide-output")
        cell.metadata["tags"] = tags
    notebook.cells = [title, how_to_run(path), *rest]
    return notebook


def how_to_run(path: Path) -> NotebookNode:
    """Return a cell that says what this page can't do, and what can.

    The notebook is in the link itself: a browser shows a file that a page
    from the disk leads to, and does not save it.
    """
    data = base64.b64encode(path.read_bytes()).decode()
    return new_markdown_cell(
        ":::{admonition} Nothing runs on this page\n:class: note\n"
        "Predictions, players and panels answer all the same. To run cells "
        f'and solve the exercises, <a download="{path.name}" '
        f'href="data:application/x-ipynb+json;base64,{data}">download this '
        f"notebook</a> or [open it in your JupyterLab]({LAB}/{path.name}), if "
        "`make lab` runs on this computer.\n"
        ":::",
        id="how-to-run",
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
    view, part, copy = base.view(2, 3), base[2:4], base.clone()
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    loss = (w * 3).square().mean()
    loss.backward(retain_graph=True)
    shown = {
        "own_steps": recording.player(),
        "own_memory": draw_memory(base, view, part, copy),
        "own_graph": draw_graph(loss),
        "own_facts": facts(w, loss, w.detach()),
        "own_learners": half_frozen(),
    }
    network = encoding()
    shown["own_network"] = network.draw_graph()
    shown["own_summary"] = network.summary()
    pages = {
        f"{name}.html": f'<div class="own-picture">{thing.html}</div>'
        for name, thing in shown.items()
    }
    why = recording.why_no_grad("A.weight")
    return {**pages, "own_why.md": f"> {why}\n"}


def encoding() -> Recording:
    """Return a recording of a network of six equal blocks."""
    torch.manual_seed(0)
    block = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
    encoder, x = nn.TransformerEncoder(block, 6), torch.ones(2, 5, 16)
    with record() as recording:
        loss = encoder(x)[:, 0, 0].sum()
        loss.backward()
    return recording


def half_frozen() -> Learners:
    """Return who learns in a model with a frozen layer."""
    model = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 1))
    model[0].requires_grad_(False)
    loss = model(torch.ones(1, 2)).sum()
    return who_learns(model, loss)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
