"""The static site, from disk, as a reader opens it."""

from __future__ import annotations

import http.server
import re
import threading
from functools import cache, partial
from pathlib import Path
from urllib.parse import unquote, urlsplit

import nbformat
import pytest
from bs4 import BeautifulSoup

import helpers
from helpers.lessons import QUESTIONS

from .conftest import serious_violations

ROOT = Path(__file__).parents[2]
LESSONS = [p.stem for p in sorted((ROOT / "notebooks").glob("*.ipynb"))]
PAGES = [
    *("index", "own_code", "reference", "teaching"),
    *(f"lessons/{name}" for name in LESSONS),
]
LESSON = pytest.mark.parametrize("name", LESSONS)
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


def test_a_lesson_leads_to_the_next_and_to_the_one_before(open_page, site):
    page = open_page(address(site, "lessons/03_clone_or_detach"))
    page.locator("a.next-page").click()
    assert "4. Hold a value constant" in page.title()
    page.locator("a.prev-page").click()
    assert "3. Choose between clone and detach" in page.title()


@LESSON
def test_a_notebook_is_saved_from_its_page(open_page, site, name):
    page = open_page(address(site, f"lessons/{name}"))
    with page.expect_download() as saved:
        page.get_by_text("download this notebook").click()
    assert saved.value.suggested_filename == f"{name}.ipynb"
    notebook = ROOT / "notebooks" / f"{name}.ipynb"
    assert saved.value.path().read_bytes() == notebook.read_bytes()


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


@cache
def soup(path):
    """A page of the site, parsed once."""
    return BeautifulSoup(path.read_text("utf-8"), "html.parser")


@cache
def ids(path):
    """What a link into a page can lead to."""
    return {e["id"] for e in soup(path).select("[id]")}


@PAGE
def test_every_link_within_the_site_leads_somewhere(site, name):
    here = site / f"{name}.html"
    for link in soup(here).select("a[href]"):
        parts = urlsplit(link["href"])
        if not parts.scheme:
            there = (here.parent / unquote(parts.path)).resolve()
            there = there if parts.path else here
            assert there.is_file(), link
            assert {unquote(parts.fragment)} - {""} <= ids(there), link


@LESSON
def test_a_lesson_opens_in_jupyterlab(site, name):
    page = (site / "lessons" / f"{name}.html").read_text("utf-8")
    assert f"/lab/tree/notebooks/{name}.ipynb" in page


@LESSON
def test_a_lesson_is_named_with_its_number(site, name):
    [link] = soup(site / "index.html").select(
        f'.sidebar-tree a[href="lessons/{name}.html"]'
    )
    assert link.text.startswith(f"{int(name[:2])}. ")


@LESSON
def test_no_code_is_shown_that_only_asks(site, name):
    page = soup(site / "lessons" / f"{name}.html")
    for cell in page.select(".cell_input"):
        assert not re.fullmatch(
            r'(predict|arrange)\("[^"]+"\)', cell.text.strip()
        )


@PAGE
def test_what_is_printed_is_seen_whole(open_page, site, name):
    page = open_page(address(site, name))
    cut_off = page.evaluate(
        "[...document.querySelectorAll('.stream pre, .text_plain pre')]"
        ".filter(e => e.scrollWidth > e.clientWidth).length"
    )
    assert cut_off == 0


@PAGE
def test_no_picture_is_too_small_on_a_phone(open_page, site, name):
    page = open_page(address(site, name), width=390, height=800)
    scales = page.evaluate(
        "[...document.querySelectorAll('article img')]"
        ".filter(i => i.offsetWidth)"
        ".map(i => i.offsetWidth / i.naturalWidth)"
    )
    assert min(scales, default=1) >= 0.69


def test_a_verdict_is_shown_after_the_vote(open_page, site):
    page = open_page(address(site, "lessons/11_first_text_on_trial"))
    verdict = page.get_by_text("4 claims: 3 true, 1 half, 0 false.")
    assert not verdict.is_visible()
    page.get_by_text("Show the verdicts").first.click()
    assert verdict.is_visible()


def paste(page):
    """Return what is on the clipboard."""
    page.evaluate(
        "document.body.append(document.createElement('textarea'));"
        "document.body.lastChild.focus()"
    )
    page.keyboard.press("Control+V")
    return page.evaluate("document.body.lastChild.value")


def test_code_can_be_copied(open_page, site):
    page = open_page(address(site, "lessons/03_clone_or_detach"))
    cell = page.locator(".cell_input", has_text="left = b * 2")
    cell.get_by_role("button", name="copy this code").click()
    page.wait_for_selector("text=copied")
    assert (
        paste(page) == "left = b * 2\nright = c * 3\ndraw_graph(left, right)\n"
    )


def test_an_example_is_copied_without_its_prompts(open_page, site):
    page = open_page(address(site, "reference"))
    example = page.locator("div.highlight", has_text="cut.kind for cut in")
    example.get_by_role("button", name="copy this code").click()
    page.wait_for_selector("text=copied")
    assert paste(page) == (
        "import torch\n"
        "x = torch.tensor(1.0, requires_grad=True)\n"
        "with record() as recording:\n"
        "    y = x.detach() * 2\n"
        "[cut.kind for cut in recording.cuts]\n"
    )


def test_code_below_a_magic_is_coloured(site):
    page = soup(site / "lessons" / "02_follow_the_graph.html")
    [cell] = (c for c in page.select(".cell_input") if "%%steps" in c.text)
    assert "True" in [e.text for e in cell.select("span.kc")]


@pytest.mark.parametrize("name", helpers.__all__)
def test_the_reference_has_every_public_name(site, name):
    page = (site / "reference.html").read_text("utf-8")
    assert f'id="helpers.{name}"' in page


def words_of(heading):
    """The words in the first column of a table of the reference."""
    text = (ROOT / "docs" / "reference.md").read_text("utf-8")
    table = text.split(f"autoclass:: helpers.diagnosis.{heading}\n")[1]
    rows = table.split("|---|---|\n")[1].split("\n\n")[0].splitlines()
    return {w for r in rows for w in re.findall("`(\\w+)`", r.split("|")[1])}


@pytest.mark.parametrize(
    ("heading", "file"),
    [("Diagnosis", "diagnosis.py"), ("Problem", "problems.py")],
)
def test_the_reference_has_every_word_of_an_answer(heading, file):
    source = (ROOT / "helpers" / file).read_text("utf-8")
    said = set(re.findall(rf'\b{heading}\(\s*"(\w+)"', source))
    assert words_of(heading) == said


VOTES = re.findall(
    r"^\| (\d+) \| `([\w-]+)` \| ([\d, *]+) \|",
    (ROOT / "docs" / "teaching.md").read_text("utf-8"),
    re.MULTILINE,
)


def test_every_lesson_has_a_question_to_vote_on():
    assert {int(lesson) for lesson, _, _ in VOTES} == {
        int(name[:2]) for name in LESSONS
    }


@pytest.mark.parametrize(("lesson", "question", "votes"), VOTES)
def test_a_vote_is_of_its_lesson_and_has_a_share_for_each_option(
    lesson, question, votes
):
    [name] = [n for n in LESSONS if int(n[:2]) == int(lesson)]
    notebook = nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", 4)
    assert any(f'predict("{question}")' in c.source for c in notebook.cells)
    shares = votes.split(", ")
    assert sum(int(share.strip("*")) for share in shares) == 100
    assert ["*" in share for share in shares] == [
        option.right for option in QUESTIONS[question].options
    ]
