"""Live slides with jupyterlab-rise, an optional extra."""

from __future__ import annotations

import pytest

from .conftest import LOCAL

pytest.importorskip(
    "jupyterlab_rise", reason="the extra [present] is not installed"
)


def test_a_lesson_is_shown_as_slides_and_its_player_steps(browser, lab):
    lab.trust(lab.home / "notebooks" / "07_split_two_networks.ipynb")
    context = browser.new_context(viewport={"width": 1280, "height": 720})
    # it asks for two fonts, which do not come
    context.route(
        "**/*",
        lambda route: (
            route.continue_()
            if LOCAL.match(route.request.url)
            else route.abort()
        ),
    )
    page = context.new_page()
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    address = f"{lab.address}/rise/notebooks/07_split_two_networks.ipynb"
    page.goto(f"{address}?token=t")
    page.wait_for_selector(".reveal .slides section", timeout=60_000)
    page.wait_for_selector(".helpers-player[data-ready]", state="attached")
    first = page.locator("section.present").first.inner_text()
    page.keyboard.press("Space")
    page.wait_for_timeout(500)
    assert page.locator("section.present").first.inner_text() != first
    player = page.locator(".helpers-player").first
    player.evaluate("(e) => e.querySelector('[aria-label^=next]').click()")
    assert "step 2 of 4" in player.evaluate("(e) => e.innerText")
    assert errors == []
    context.close()
