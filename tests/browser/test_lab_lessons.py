"""Every lesson in JupyterLab, run from its first cell to its last."""

from __future__ import annotations

from pathlib import Path

import pytest

from .notebooks import ERRORS, close, open_notebook, run_all

ROOT = Path(__file__).parents[2]
LESSONS = [p.stem for p in sorted((ROOT / "notebooks").glob("*.ipynb"))]


@pytest.mark.parametrize("lesson", LESSONS)
def test_a_lesson_runs(open_page, lab, lesson):
    page = open_notebook(open_page, lab, lesson)
    run_all(page)
    assert page.locator(ERRORS).count() == 0
    waiting = ".helpers-player:not([data-ready]), "
    waiting += ".helpers-panel:not([data-ready])"
    assert page.locator(waiting).count() == 0
    close(page)
