"""Names and values come out as exactly that text, everywhere."""

from __future__ import annotations

import html
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import draw_graph, draw_memory, facts, record_code, what_if
from helpers.diagrams.svg import legible

NAMES = {
    "script": "<script>alert(1)</script>",
    "quotes": '"it\'s"',
    "entity": "&amp; & &lt;",
    "colons": "enc::w<0>|{x}",
    "newline": "first\nsecond",
    "Chinese": "梯度 张量",
    "emoji": "🔥 tensor 👩‍🔬",
    "long": "w" * 300,
    "backslash": "a\\N\\l\\G",
    "CDATA": "]]>",
}
EVERY = pytest.mark.parametrize(
    "draw", [draw_memory, draw_graph, facts], ids=lambda f: f.__name__
)
HOSTILE = pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)


def svg_texts(svg):
    """Return the whole text of each <text> of a picture."""
    root = ElementTree.fromstring(svg)
    texts = root.iter("{http://www.w3.org/2000/svg}text")
    return ["".join(t.itertext()) for t in texts]


@EVERY
@HOSTILE
def test_a_name_is_that_text_in_the_svg(draw, name):
    picture = draw(**{name: torch.ones(1)})
    assert name in svg_texts(picture.svg)


@EVERY
@HOSTILE
def test_a_name_is_that_text_in_the_twin(draw, name):
    assert name in draw(**{name: torch.ones(1)}).text


@EVERY
@HOSTILE
def test_a_name_is_that_text_in_the_alt_text(draw, name):
    picture = draw(**{name: torch.ones(1)})
    found = re.search(r'(?:alt|aria-label)="([^"]*)"', picture.html)
    assert name in html.unescape(found[1])


@HOSTILE
def test_a_name_is_that_text_in_the_table(name):
    table = ElementTree.fromstring(facts(**{name: torch.ones(1)}).table)
    assert name in [cell.text for cell in table.iter("th")]


@HOSTILE
def test_a_dict_key_is_that_text(name):
    params = {name: torch.ones(1, requires_grad=True)}
    picture = draw_graph(params[name] * 2)
    assert f"params['{name}']" in svg_texts(picture.svg)


@pytest.mark.parametrize(
    ("name", "shown"),
    [("a\0b", "a\\x00b"), ("\x1b[1m", "\\x1b[1m"), ("\ud800", "\\ud800")],
    ids=["NUL", "escape", "surrogate"],
)
def test_what_xml_cannot_hold_is_written_out(name, shown):
    picture = draw_memory(**{name: torch.ones(1)})
    assert shown in svg_texts(picture.svg)
    assert shown in picture.text


def test_a_module_path_is_escaped():
    net = torch.nn.ModuleDict({"<b>&": torch.nn.Linear(1, 1)})
    loss = net["<b>&"](torch.ones(1, 1))
    picture = draw_graph(loss, net)
    titles = [t for t in svg_texts(picture.svg) if t.startswith("net.<b>&: ")]
    assert titles == ["net.<b>&: Linear, 2 parameters, trainable"]


def test_a_class_name_may_be_chinese():
    function = type(
        "平方",
        (torch.autograd.Function,),
        {
            "forward": staticmethod(lambda ctx, x: x * x),
            "backward": staticmethod(lambda ctx, g: g),
        },
    )
    y = function.apply(torch.ones(1, requires_grad=True))
    assert "平方" in svg_texts(draw_graph(y).svg)


@settings(max_examples=100, deadline=None)
@given(st.text(min_size=1, max_size=80))
def test_any_name_is_found_again(name):
    picture = draw_memory(**{name: torch.ones(1)})
    assert legible(name) in svg_texts(picture.svg)
    assert legible(name) in picture.text


ENDINGS = ("svg", "png", "html", "txt")


def all_files(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*"))


@pytest.mark.parametrize("name", ["../up", "/tmp/../x", "a/b", "~/x", "..\\x"])
def test_save_writes_the_file_that_was_named_and_no_other(
    tmp_path, monkeypatch, name
):
    here = tmp_path / "in" / "here"
    here.mkdir(parents=True)
    monkeypatch.chdir(here)
    picture = draw_memory(**{name: torch.ones(1)})
    for ending in ENDINGS:
        picture.save(f"xxx.{ending}")
    record_code(f"# {name}\n1").player().save(Path("player.html"))
    what_if(lambda **choice: choice, **{name: [True, False]}).save("w.HTML")
    written = ["player.html", "w.HTML", *(f"xxx.{e}" for e in ENDINGS)]
    assert all_files(tmp_path) == sorted(
        ["in", "in/here", *(f"in/here/{w}" for w in written)]
    )
