"""What a notebook shows, in a frame that is shut off from its page, as hosts
of notebooks other than JupyterLab show it.
"""

from __future__ import annotations

import html

import networks
import pytest
import torch

from helpers import draw_graph, record_code, what_if


def stepping():
    return record_code("import torch\nx = torch.ones(2)\ny = x * 2\n").player()


def choosing():
    return what_if(lambda double: print(torch.ones(1) * 2), double=[False])


def opening():
    model, loss_of = networks.make("tiny_resnet")
    return draw_graph(loss_of(), model)


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (stepping, "helpers-player"),
        (choosing, "helpers-panel"),
        (opening, "helpers-modules"),
    ],
)
def test_an_output_works_in_a_frame_of_its_own(
    open_page, tmp_path, make, kind
):
    output = make()._repr_mimebundle_()["text/html"]
    page = tmp_path / "page.html"
    page.write_text(
        '<!DOCTYPE html><iframe sandbox="allow-scripts" width="1000" '
        f'height="600" srcdoc="{html.escape(output)}"></iframe>',
        encoding="utf-8",
    )
    frame = open_page(page.as_uri()).frame_locator("iframe")
    frame.locator(f".{kind}[data-ready]").wait_for(timeout=5_000)


@pytest.mark.parametrize("make", [stepping, choosing, opening])
def test_an_output_asks_its_host_for_nothing(make):
    output = make()._repr_mimebundle_()["text/html"]
    for word in ("require(", "IPython", "Jupyter", "http://", "https://"):
        assert word not in output.replace("http://www.w3.org/2000/svg", "")


@pytest.fixture
def shown(open_page, tmp_path):
    """Open an output on a page that notes which keys come through to it."""

    def show(output):
        page = tmp_path / "page.html"
        page.write_text(
            "<!DOCTYPE html><script>var came = [];"
            "addEventListener('keydown', function (e) { came.push(e.key); })"
            f"</script>{output._repr_mimebundle_()['text/html']}",
            encoding="utf-8",
        )
        opened = open_page(page.as_uri())
        opened.wait_for_selector("[data-ready]")
        return opened

    return show


def test_the_keys_stay_with_a_player_at_its_last_step(shown):
    page = shown(stepping())
    for _ in range(2):
        page.get_by_label("next step").click()
    page.keyboard.press("ArrowLeft")
    assert "step 2 of 3" in page.inner_text(".helpers-player")


@pytest.mark.parametrize("make", [stepping, choosing, opening])
def test_shortcuts_come_through_and_single_keys_do_not(shown, make):
    page = shown(make())
    page.locator(
        "[data-ready] button:enabled, [data-ready] input"
    ).first.focus()
    page.keyboard.press("d")
    page.keyboard.press("Control+y")
    assert page.evaluate("came") == ["Control", "y"]
