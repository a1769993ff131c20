"""Every slide of every lesson, as a projector shows it."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from helpers import record_code

from .conftest import build, chromium, serious_violations

from slide_pictures import boxes_of, fitted  # isort: skip

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
      ".helpers-program, .helpers-picture, .helpers-result");
    if (!scrolls && (box.right > innerWidth + 1 ||
        box.bottom > innerHeight + 1 || box.left < -1 || box.top < -1))
      bad.push("outside: " + e.outerHTML.slice(0, 90));
    const own = getComputedStyle(e);
    if (own.overflowX !== "visible" && e.scrollWidth > e.clientWidth + 2 &&
        !e.matches(".helpers-program, .helpers-picture, .helpers-result"))
      bad.push("cut off: " + e.outerHTML.slice(0, 90));
    const scale = e.offsetHeight ? box.height / e.offsetHeight : 1;
    const text = [...e.childNodes].some(
      (n) => n.nodeType === 3 && n.textContent.trim());
    if (text && parseFloat(own.fontSize) * scale < 18.6)
      bad.push("small: " + e.outerHTML.slice(0, 90));
    if (e.matches("picture img, .stage img") && e.naturalWidth) {
      const svg = e.currentSrc.includes(";base64,") ?
        atob(e.currentSrc.split(",")[1]) : decodeURIComponent(e.currentSrc);
      const letters = Math.min(...[...svg.matchAll(/font-size: ?([\\d.]+)px/g)]
        .map((m) => +m[1]));
      const own = +svg.match(/viewBox="[\\d.]+ [\\d.]+ ([\\d.]+)/)[1];
      const by = Math.min(box.width / e.naturalWidth,
        box.height / e.naturalHeight) * e.naturalWidth / own;
      if (letters * by < 18.5)
        bad.push("shrunk: " + letters * by + " " + e.alt.slice(0, 60));
    }
  }
  return bad;
}"""


def ready(open_page, slides, lesson, *size):
    """Open the slides of a lesson."""
    page = open_page((slides / f"{lesson}.html").as_uri(), *size)
    page.wait_for_function("window.Reveal && Reveal.isReady()")
    return page


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


def players(page):
    """Show each player of a page, at its first and at its last step."""
    found = page.locator(".helpers-player")
    for i in range(found.count()):
        player = found.nth(i)
        show(
            page,
            player.evaluate(
                "(e) => Reveal.getSlides().indexOf(e.closest('section'))"
            ),
        )
        player.focus()
        for key in ("Home", "End"):
            page.keyboard.press(key)
            page.wait_for_timeout(150)
            yield player


STEPPED = [
    path.stem
    for path in sorted((ROOT / "notebooks").glob("*.ipynb"))
    if '"%%steps\\n"' in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("lesson", STEPPED)
def test_the_graph_of_a_player_is_seen_whole(open_page, slides, lesson):
    page = ready(open_page, slides, lesson)
    for player in players(page):
        box = player.locator(".helpers-picture").first
        assert box.evaluate("(e) => e.scrollWidth <= e.clientWidth")
        assert box.evaluate("(e) => e.scrollHeight <= e.clientHeight")


@pytest.mark.parametrize("lesson", STEPPED)
@pytest.mark.parametrize("size", SIZES, ids=lambda s: f"{s[0]}x{s[1]}")
def test_the_program_of_a_player_is_read_from_the_back_row(
    open_page, slides, lesson, size
):
    page = ready(open_page, slides, lesson, *size)
    for player in players(page):
        program = player.locator(".helpers-program")
        assert program.evaluate("(e) => getComputedStyle(e).fontSize") == (
            "24px"
        )
        assert program.evaluate("(e) => e.scrollHeight <= e.clientHeight")


def test_what_a_step_adds_is_in_sight(open_page, slides):
    """On a 4:3 projector this graph is wider than the slide."""
    page = ready(open_page, slides, "07_split_two_networks", 1024, 768)
    *_, player = players(page)
    box = player.locator(".helpers-picture").first
    assert box.evaluate(
        "(e) => e.scrollLeft + e.clientWidth >= e.scrollWidth - 1"
    )
    assert box.get_attribute("tabindex") == "0"
    assert serious_violations(page) == []


def test_a_long_program_is_reached_by_key(browser, tmp_path):
    run = record_code("import torch\n" + "x = torch.ones(2)\n" * 40)
    page = browser.new_page()
    page.goto(run.player().save(tmp_path / "long.html").as_uri())
    program = page.locator(".helpers-program")
    program.focus()
    assert program.evaluate("(e) => e === document.activeElement")
    page.close()


def test_a_short_program_is_no_stop_for_the_tab_key(browser, tmp_path):
    run = record_code("import torch\nx = torch.ones(2)\n")
    page = browser.new_page()
    page.goto(run.player().save(tmp_path / "short.html").as_uri())
    page.wait_for_timeout(100)
    program = page.locator(".helpers-program")
    assert program.get_attribute("tabindex") is None
    page.close()


def test_a_program_is_read_before_it_is_stepped_through(open_page, slides):
    page = ready(open_page, slides, "05_run_the_xw_demo")
    before = page.evaluate(
        "(() => { const at = Reveal.getSlides().findIndex("
        "(s) => s.querySelector('.helpers-player'));"
        "return Reveal.getSlides()[at - 1].innerText; })()"
    )
    assert "y.detach().sigmoid()" in before


def test_a_picture_that_fits_is_cut_for_a_narrow_projector_only(
    open_page, slides
):
    lesson = "13_detach_in_networks"
    counts = [
        ready(open_page, slides, lesson, *size).evaluate(
            "Reveal.getTotalSlides()"
        )
        for size in SIZES
    ]
    assert counts[1] == counts[0] + 1


@pytest.mark.parametrize("lesson", LESSONS)
def test_words_stand_right_under_their_picture(open_page, slides, lesson):
    page = ready(open_page, slides, lesson)
    gaps = []
    for number in range(page.evaluate("Reveal.getTotalSlides()")):
        show(page, number)
        gaps += page.evaluate(
            "[...Reveal.getCurrentSlide().querySelectorAll("
            "'.block:has(> picture) + .block')].map((e) =>"
            "e.getBoundingClientRect().top -"
            "e.previousElementSibling.firstElementChild"
            ".getBoundingClientRect().bottom)"
        )
    assert all(4 < gap < 30 for gap in gaps), gaps


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


@pytest.mark.parametrize("lesson", LESSONS)
@pytest.mark.parametrize("size", SIZES, ids=lambda s: f"{s[0]}x{s[1]}")
def test_there_is_room_for_each_answer(open_page, slides, lesson, size):
    page = ready(open_page, slides, lesson, *size)
    answers = page.locator(".question details")
    low = []
    for i in range(answers.count()):
        show(
            page,
            answers.nth(i).evaluate(
                "(e) => Reveal.getSlides().indexOf(e.closest('section'))"
            ),
        )
        bottom = answers.nth(i).evaluate(
            "(e) => { e.open = true; return e.closest('.question')"
            ".getBoundingClientRect().bottom / innerHeight; }"
        )
        if bottom > 0.96:
            low.append((i, bottom))
    assert low == []


@pytest.mark.parametrize("lesson", LESSONS)
def test_no_slide_is_a_title_alone(open_page, slides, lesson):
    page = ready(open_page, slides, lesson)
    alone = page.evaluate(
        "Reveal.getSlides().map((s) => s.querySelectorAll('.block'))"
        ".filter((b) => b.length === 1 && b[0].querySelector('h1, h2'))"
        ".map((b) => b[0].textContent)"
    )
    assert alone == []


@pytest.mark.parametrize("lesson", LESSONS)
def test_every_slide_shows_something_at_once(open_page, slides, lesson):
    page = ready(open_page, slides, lesson)
    assert page.evaluate(
        "Reveal.getSlides().every((s) =>"
        "s.querySelector('.block:not(.fragment)'))"
    )


@pytest.mark.parametrize("lesson", LESSONS)
def test_nothing_on_a_slide_comes_before_what_stands_above_it(
    open_page, slides, lesson
):
    page = ready(open_page, slides, lesson)
    steps = page.evaluate(
        "Reveal.getSlides().map((s) => [...s.querySelectorAll('.block')]"
        ".map((b) => +(b.dataset.fragmentIndex ?? -1)))"
    )
    assert all(numbers == sorted(numbers) for numbers in steps)


def test_the_right_key_leaves_no_slide_out(open_page, slides):
    page = ready(open_page, slides, "03_clone_or_detach")
    seen = set()
    while not page.evaluate("Reveal.isLastSlide()"):
        page.keyboard.press("ArrowRight")
        seen.add(
            page.evaluate(
                "Reveal.getSlides().indexOf(Reveal.getCurrentSlide())"
            )
        )
    assert seen | {0} == set(range(page.evaluate("Reveal.getTotalSlides()")))


def test_of_the_answers_one_is_open(open_page, slides):
    page = ready(open_page, slides, "03_clone_or_detach")
    show(page, 1)
    answers = page.locator("section.present .question details")
    for i in range(answers.count()):
        answers.nth(i).locator("summary").click()
    assert page.locator(".question details[open]").count() == 1


def test_a_wide_graph_is_cut_through_no_box():
    svg = graph(boxes=8, wide=1000)
    (shown,) = fitted(svg, 600, 400)
    parts = re.findall(r'viewBox="([\d.]+) [\d.]+ ([\d.]+) [^>]*><use', shown)
    ends = [(float(left), float(left) + float(wide)) for left, wide in parts]
    assert len(ends) == 2
    for box in boxes_of(svg):
        assert any(
            left <= box.left and box.right <= right for left, right in ends
        )


def test_a_picture_with_room_is_left_alone():
    svg = graph(boxes=4, wide=500)
    assert fitted(svg, 600, 400) == [svg]


def graph(boxes, wide):
    step = (wide - 20) / boxes
    drawn = "".join(
        f'<rect x="{14 + i * step:g}" y="14" width="{step - 24:g}" '
        'height="40" rx="4"/>'
        for i in range(boxes)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} 68" '
        f'width="{wide}" height="68"><rect x="0.5" y="0.5" '
        f'width="{wide - 1}" height="67" rx="8"/>{drawn}</svg>'
    )


@pytest.mark.skipif(chromium() is None, reason="no Chromium")
def test_each_slide_is_printed_on_one_sheet(open_page, slides, tmp_path):
    lesson = slides / "00_start_here.html"
    shutil.copy(lesson, tmp_path)
    build("docs/print_slides.py", tmp_path)
    printed = (tmp_path / "00_start_here.pdf").read_bytes()
    page = ready(open_page, slides, "00_start_here")
    assert len(re.findall(rb"/Type /Page\b", printed)) == page.evaluate(
        "Reveal.getTotalSlides()"
    )
