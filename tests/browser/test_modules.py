"""A graph by modules, opened and folded in a page."""

from __future__ import annotations

import networks
import pytest

from helpers import draw_graph

from .conftest import serious_violations

BOXES = ".helpers-modules button[aria-expanded]"
OVERLAPS = """() => {
  const all = [...document.querySelectorAll('.helpers-modules button' +
    '[aria-expanded]')].map((e) => e.getBoundingClientRect());
  const bad = [];
  all.forEach((a, i) => all.slice(i + 1).forEach((b) => {
    if (a.left < b.right - 1 && b.left < a.right - 1 &&
        a.top < b.bottom - 1 && b.top < a.bottom - 1) bad.push([a, b]);
  }));
  return bad.length;
}"""
OUTSIDE = """() => {
  const img = document.querySelector('.helpers-modules img')
    .getBoundingClientRect();
  return [...document.querySelectorAll('.helpers-modules button' +
    '[aria-expanded]')].map((e) => e.getBoundingClientRect()).filter((r) =>
      r.left < img.left - 1 || r.right > img.right + 1 ||
      r.top < img.top - 1 || r.bottom > img.bottom + 1).length;
}"""


@pytest.fixture(scope="module", params=["tiny_resnet", "gpt2", "translator"])
def saved(request, tmp_path_factory):
    model, loss_of = networks.make(request.param)
    path = tmp_path_factory.mktemp("modules") / "graph.html"
    return draw_graph(loss_of(), model).save(path)


@pytest.fixture
def page(open_page, saved):
    return open_page(saved.as_uri(), wait=BOXES)


def labels(page):
    return page.eval_on_selector_all(
        BOXES, "all => all.map((e) => e.getAttribute('aria-label'))"
    )


def folded(page):
    return page.locator(f'{BOXES[:-1]}="false"]')


def source(page):
    return page.get_attribute(".helpers-modules img", "src")


def test_a_click_opens_a_module(page):
    before, picture = labels(page), source(page)
    folded(page).first.click()
    assert len(labels(page)) >= len(before)
    assert source(page) != picture


def test_a_key_opens_a_module_and_the_focus_stays(page):
    box = folded(page).first
    name = box.get_attribute("aria-label")
    box.focus()
    page.keyboard.press("Enter")
    now = page.evaluate("document.activeElement.getAttribute('aria-label')")
    state = page.evaluate(
        "document.activeElement.getAttribute('aria-expanded')"
    )
    assert (now, state) == (name, "true")


def test_a_second_click_folds_it_again(page):
    picture = source(page)
    box = folded(page).first
    name = box.get_attribute("aria-label")
    box.click()
    page.locator(f'{BOXES}[aria-label="{name}"]').first.click()
    assert source(page) == picture


def test_nothing_overlaps_however_much_is_open(page):
    for _ in range(6):
        assert page.evaluate(OVERLAPS) == 0
        assert page.evaluate(OUTSIDE) == 0
        page.click("text=Open one level more")


def test_all_can_be_folded_and_be_as_at_first(page):
    before, picture = labels(page), source(page)
    page.click("text=Fold all")
    assert len(labels(page)) < len(before)
    page.click("text=As at first")
    assert (labels(page), source(page)) == (before, picture)


def test_the_picture_says_what_is_open(page):
    folded(page).first.click()
    told = page.inner_text(".helpers-modules [aria-live]")
    assert told.endswith("is open")


def test_no_serious_violation_of_accessibility(page):
    assert serious_violations(page) == []


def test_without_scripts_the_first_picture_is_there(browser, saved):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(saved.as_uri())
    box = page.locator(".helpers-modules img").bounding_box()
    assert box["height"] > 300
    context.close()
