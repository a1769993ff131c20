"""Every slide of every lesson, as a projector shows it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .conftest import build, serious_violations

ROOT = Path(__file__).parents[2]
LESSONS = [p.stem for p in sorted((ROOT / "notebooks").glob("*.ipynb"))]
SIZES = [(1280, 720), (1024, 768)]

# What stands outside of the window, is cut off, or is under 14 pt (18.7 px).
# What may be scrolled, the program and the picture of a player, is focusable.
UNFIT = """() => {
  const bad = [];
  const hidden = "aside, details:not([open]) > :not(summary)";
  for (const e of Reveal.getCurrentSlide().querySelectorAll("*")) {
    const box = e.getBoundingClientRect();
    if (!box.width || !box.height || e.closest(hidden)) continue;
    const scrolls = e.parentElement.closest(
      ".helpers-player div[style*='overflow'], " +
      ".helpers-panel div[style*='overflow']");
    if (!scrolls && (box.right > innerWidth + 1 ||
        box.bottom > innerHeight + 1 || box.left < -1 || box.top < -1))
      bad.push("outside: " + e.outerHTML.slice(0, 90));
    const own = getComputedStyle(e);
    if (own.overflowX !== "visible" && e.scrollWidth > e.clientWidth + 2 &&
        !e.matches(".helpers-player div, .helpers-panel div"))
      bad.push("cut off: " + e.outerHTML.slice(0, 90));
    const scale = e.offsetHeight ? box.height / e.offsetHeight : 1;
    const text = [...e.childNodes].some(
      (n) => n.nodeType === 3 && n.textContent.trim());
    if (text && parseFloat(own.fontSize) * scale < 18.6)
      bad.push("small: " + e.outerHTML.slice(0, 90));
    if (e.matches("img") && e.naturalWidth &&
        box.width / e.naturalWidth < 0.99 && e.matches(".picture"))
      bad.push("shrunk: " + e.alt.slice(0, 60));
  }
  return bad;
}"""


def show(page, number):
    page.evaluate(
        "(i) => { const at = Reveal.getIndices(Reveal.getSlides()[i]);"
        "Reveal.slide(at.h, at.v, 99); }",
        number,
    )
    page.wait_for_timeout(40)


@pytest.mark.parametrize("lesson", LESSONS)
@pytest.mark.parametrize("size", SIZES, ids=lambda s: f"{s[0]}x{s[1]}")
def test_every_slide_fits(open_page, slides, lesson, size):
    page = open_page((slides / f"{lesson}.html").as_uri(), *size)
    page.wait_for_function("window.Reveal && Reveal.isReady()")
    unfit = {}
    for number in range(page.evaluate("Reveal.getTotalSlides()")):
        show(page, number)
        if found := page.evaluate(UNFIT):
            unfit[number + 1] = found[:3]
    assert unfit == {}


@pytest.mark.parametrize("lesson", LESSONS)
def test_no_two_blocks_of_a_slide_overlap(open_page, slides, lesson):
    page = open_page((slides / f"{lesson}.html").as_uri())
    page.wait_for_function("window.Reveal && Reveal.isReady()")
    for number in range(page.evaluate("Reveal.getTotalSlides()")):
        show(page, number)
        boxes = page.evaluate(
            "() => [...Reveal.getCurrentSlide().children]"
            ".filter((e) => e.tagName !== 'ASIDE')"
            ".map((e) => { const b = e.getBoundingClientRect();"
            "return [b.top, b.bottom]; })"
        )
        for (_, bottom), (top, _) in zip(boxes, boxes[1:]):  # noqa: B905, RUF007
            assert top >= bottom - 1, number + 1


def test_a_player_steps_by_key_and_leaves_the_slide_alone(open_page, slides):
    page = open_page((slides / "07_split_two_networks.html").as_uri())
    page.wait_for_function("window.Reveal && Reveal.isReady()")
    player = page.locator(".helpers-player").first
    number = player.evaluate(
        "(e) => Reveal.getSlides().indexOf(e.closest('section'))"
    )
    show(page, number)
    player.focus()
    page.keyboard.press("ArrowRight")
    assert "step 2 of 4" in player.inner_text()
    assert number == page.evaluate(
        "Reveal.getSlides().indexOf(Reveal.getCurrentSlide())"
    )


def test_the_deck_goes_on_by_key(open_page, slides):
    page = open_page((slides / "03_clone_or_detach.html").as_uri())
    page.wait_for_function("window.Reveal && Reveal.isReady()")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("Reveal.getIndices().h") == 1


def test_a_panel_answers(open_page, slides):
    page = open_page((slides / "07_split_two_networks.html").as_uri())
    page.wait_for_function("window.Reveal && Reveal.isReady()")
    panel = page.locator(".helpers-panel").first
    show(
        page,
        panel.evaluate(
            "(e) => Reveal.getSlides().indexOf(e.closest('section'))"
        ),
    )
    panel.get_by_label("detach").check()
    assert "detach=True" in panel.inner_text()


@pytest.mark.parametrize("lesson", LESSONS)
def test_no_solution_is_on_a_slide(slides, lesson):
    page = (slides / f"{lesson}.html").read_text(encoding="utf-8")
    assert "<h2>Solution" not in page
    assert "<summary>Solution" not in page


def test_solutions_are_there_when_they_are_asked_for(tmp_path):
    build("docs/slides.py", tmp_path, "--solutions")
    for lesson in LESSONS:
        page = (tmp_path / f"{lesson}.html").read_text(encoding="utf-8")
        assert "<h2>Solution" in page, lesson


@pytest.mark.parametrize("lesson", LESSONS)
def test_each_prediction_has_notes_for_the_speaker(slides, lesson):
    page = (slides / f"{lesson}.html").read_text(encoding="utf-8")
    questions = page.count('<div class="question">')
    assert questions >= 1
    assert len(re.findall(r'<aside class="notes">Let the room', page)) == (
        questions
    )


def test_the_index_leads_to_every_lesson(open_page, slides):
    page = open_page((slides / "index.html").as_uri())
    links = page.locator("a").evaluate_all("(a) => a.map((e) => e.href)")
    assert [Path(link).stem for link in links] == LESSONS


@pytest.mark.parametrize("lesson", LESSONS)
def test_no_serious_violation_of_accessibility(open_page, slides, lesson):
    page = open_page((slides / f"{lesson}.html").as_uri())
    page.wait_for_function("window.Reveal && Reveal.isReady()")
    assert serious_violations(page) == []


@pytest.mark.parametrize("lesson", LESSONS)
def test_the_speaker_sees_the_minutes(slides, lesson):
    page = (slides / f"{lesson}.html").read_text(encoding="utf-8")
    assert re.search(r'<aside class="notes">\d+ minutes\.', page)
