"""Run notebooks in place and normalise them: ``make refresh``.

A second run changes no byte: no times, no versions, cell ids as they are,
execution counts from 1.  ``--check`` writes nothing and fails on a difference.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
LANGUAGE = {
    "codemirror_mode": {"name": "ipython", "version": 3},
    "file_extension": ".py",
    "mimetype": "text/x-python",
    "name": "python",
    "nbconvert_exporter": "python",
    "pygments_lexer": "ipython3",
}
KEPT = ("tags", "slideshow")  # what a cell may say about itself


def refresh(path: Path) -> str:
    """Run one notebook and return its normalised text."""
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(
        notebook,
        timeout=120,
        kernel_name="python3",
        record_timing=False,
        coalesce_streams=True,
        resources={"metadata": {"path": str(path.parent)}},
    ).execute()
    return normalised(notebook)


def normalised(notebook: Any) -> str:
    """Return a notebook's text without what changes from run to run."""
    notebook.metadata = {"kernelspec": KERNEL, "language_info": LANGUAGE}
    count = 0
    for cell in notebook.cells:
        cell.metadata = {k: v for k, v in cell.metadata.items() if k in KEPT}
        if cell.cell_type == "code":
            count += 1
            cell.execution_count = count
            for output in cell.outputs:
                if output.output_type == "execute_result":
                    output.execution_count = count
    nbformat.validate(notebook)
    return nbformat.writes(notebook) + "\n"


def main(arguments: list[str]) -> int:
    """Refresh the notebooks named; return 1 when a check fails."""
    only_check = "--check" in arguments
    stale = []
    for name in arguments:
        if name == "--check":
            continue
        path = Path(name)
        text = refresh(path)
        if text == path.read_text(encoding="utf-8"):
            continue
        stale.append(name)
        if not only_check:
            path.write_text(text, encoding="utf-8")
    for name in stale:
        print(f"{name} {'differs' if only_check else 'is refreshed'}")
    return int(only_check and bool(stale))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
