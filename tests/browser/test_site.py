"""The static site, from disk, as a reader opens it."""

from __future__ import annotations

import http.server
import threading
from functools import partial
from pathlib import Path

import pytest

from .conftest import serious_violations

ROOT = Path(__file__).parents[2]
LESSONS = [p.stem for p in sorted((ROOT / "notebooks").glob("*.ipynb"))]
PAGES = [
    *("index", "own_code", "reference", "teaching"),
    *(f"lessons/{name}" for name in LESSONS),
]
PAGE = pytest.mark.parametrize("name", PAGES)


def address(site, name):
    return (site / f"{name}.html").as_uri()


@PAGE
def test_a_page_loads(open_page, site, name):
    page = open_page(address(site, name))
    waiting = page.locator(
        ".helpers-player:not([data-ready]), .helpers-panel:not([data-ready])"
    )
    assert waiting.count() == 0


@PAGE
def test_a_page_fits_a_phone(open_page, site, name):
    page = open_page(address(site, name), width=390, height=800)
    wide = page.evaluate("document.documentElement.scrollWidth")
    assert wide <= 390


@PAGE
def test_a_page_is_under_3_mb(site, name):
    assert (site / f"{name}.html").stat().st_size < 3_000_000


@PAGE
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_serious_violation_of_accessibility(open_page, site, name, scheme):
    page = open_page(address(site, name), scheme=scheme)
    assert serious_violations(page) == []


def test_the_first_picture_is_there_in_two_seconds(open_page, site):
    page = open_page(address(site, "lessons/03_clone_or_detach"))
    page.wait_for_function(
        "() => { const i = document.querySelector('.cell_output img');"
        "return i && i.complete && i.naturalWidth > 0; }",
        timeout=2_000,
    )


def test_a_player_steps_by_click_and_by_key(open_page, site):
    page = open_page(address(site, "lessons/07_split_two_networks"))
    player = page.locator(".helpers-player").first
    player.get_by_label("next step").click()
    assert "step 2 of 4" in player.inner_text()
    player.focus()
    page.keyboard.press("ArrowRight")
    assert "step 3 of 4" in player.inner_text()


def test_a_prediction_answers(open_page, site):
    page = open_page(address(site, "lessons/03_clone_or_detach"))
    option = page.locator(".cell_output details").first
    option.locator("summary").click()
    assert option.locator("b").inner_text() in ("Right.", "No.")


def test_the_search_finds_a_word(open_page, site):
    page = open_page(f"{address(site, 'search')}?q=polyak")
    page.wait_for_selector("#search-results li a")
    found = page.locator("#search-results li a").all_inner_texts()
    assert any("Meet detach in networks" in title for title in found)


def test_a_lesson_leads_to_the_next_and_to_its_notebook(open_page, site):
    page = open_page(address(site, "lessons/03_clone_or_detach"))
    assert "04_hold_a_value_constant" in page.locator(
        "a.next-page"
    ).get_attribute("href")
    link = page.locator("a.download").first.get_attribute("href")
    assert (site / "lessons" / link).resolve().suffix == ".ipynb"


def test_it_works_under_a_path_of_a_server(open_page, site):
    handler = partial(
        http.server.SimpleHTTPRequestHandler, directory=str(site.parent)
    )
    handler.log_message = lambda *_: None
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    port = server.server_address[1]
    page = open_page(f"http://127.0.0.1:{port}/site/index.html")
    page.locator(".sidebar-tree a").nth(3).click()
    page.wait_for_selector(".cell_output img")
    server.shutdown()
