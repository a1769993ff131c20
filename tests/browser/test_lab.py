"""JupyterLab, as a student uses it."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest

from .notebooks import close, open_notebook, run_all

ROOT = Path(__file__).parents[2]


def type_cell(page, code):
    """Put a cell at the end, type code into it, and run it."""
    page.locator(".jp-Cell").last.click()
    page.keyboard.press("Escape")
    page.keyboard.press("b")
    page.keyboard.press("Enter")
    page.keyboard.insert_text(code)
    page.keyboard.press("Shift+Enter")


def test_steps_on_a_cell_of_the_students(open_page, lab):
    page = open_notebook(open_page, lab, "07_split_two_networks")
    run_all(page)
    count = page.locator(".helpers-player").count()
    type_cell(page, "%%steps\nk = torch.ones(1)\nm = k * 3")
    page.wait_for_function(
        f"document.querySelectorAll('.helpers-player').length > {count}"
    )
    player = page.locator(".helpers-player").last
    player.get_by_label("next step").click()
    assert "mul makes m from k" in player.inner_text()
    player.focus()
    page.keyboard.press("ArrowLeft")
    assert "ones makes k" in player.inner_text()
    close(page)


def test_a_prediction_answers_right_and_wrong(open_page, lab):
    page = open_notebook(open_page, lab, "03_clone_or_detach")
    run_all(page)
    options = page.locator(".jp-OutputArea-output details")
    told = set()
    for i in range(3):
        options.nth(i).locator("summary").click()
        told.add(options.nth(i).locator("b").inner_text())
    assert told == {"Right.", "No."}
    close(page)


def test_an_exercise_is_solved_by_typing(open_page, lab):
    page = open_notebook(open_page, lab, "03_clone_or_detach")
    run_all(page)
    type_cell(
        page,
        "weight = torch.tensor([1.0, 2.0], requires_grad=True)\n"
        "backup = weight.detach().clone()\n"
        "check('clone-backup', backup, weight)",
    )
    page.wait_for_selector("text=correct:")
    close(page)


@pytest.mark.parametrize("trusted", [True, False])
def test_a_reopened_notebook_shows_its_player(open_page, lab, trusted):
    name = "07_split_two_networks"
    if trusted:
        lab.trust(lab.home / "notebooks" / f"{name}.ipynb")
    else:  # a notebook that nobody has run here
        text = (ROOT / "notebooks" / f"{name}.ipynb").read_text("utf-8")
        name = "fresh"
        path = lab.home / "notebooks" / f"{name}.ipynb"
        path.write_text(text.replace("## Recap", "## Recap, fresh"), "utf-8")
    page = open_notebook(open_page, lab, name)
    page.wait_for_selector(".jp-OutputArea-output img")
    if trusted:
        page.wait_for_selector(".helpers-player[data-ready]")
    else:
        assert page.locator("[data-ready]").count() == 0
        assert page.get_by_text("Step 1 of 4").count() == 1
    close(page)


def test_pictures_are_readable_in_the_dark_theme(open_page, lab):
    from PIL import Image

    lab.use_theme("JupyterLab Dark")
    try:
        page = open_notebook(open_page, lab, "03_clone_or_detach")
        picture = page.locator(".jp-OutputArea-output img").first
        picture.scroll_into_view_if_needed()
        page.wait_for_timeout(500)
        shot = Image.open(io.BytesIO(picture.screenshot())).convert("L")
    finally:
        lab.use_theme("JupyterLab Light")
    close(page)
    shades = shot.getcolors(256 * shot.width * shot.height)
    ground = max(shades)[1] / 255
    ink = min(shade for _, shade in shades) / 255
    # WCAG's contrast of the darkest letters on the ground
    contrast = (_light(ground) + 0.05) / (_light(ink) + 0.05)
    assert contrast > 7


def _light(shade):
    return shade / 12.92 if shade <= 0.04 else ((shade + 0.055) / 1.055) ** 2.4


def test_a_message_of_the_clinic_is_found(open_page, lab):
    page = open_notebook(open_page, lab, "15_clinic")
    run_all(page)
    text = page.locator(".jp-Notebook").inner_text()
    assert re.search("element 0 of tensors", text)
    close(page)
