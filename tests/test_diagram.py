"""Diagram: what Jupyter shows, and the files it writes."""

from __future__ import annotations

import base64
import gc
import os
import re
import struct
import subprocess
import sys
import weakref
from xml.etree import ElementTree

import pytest
import torch

from helpers import draw_graph, draw_memory, facts

PROGRAM = """
import torch
from torch import nn
from helpers import draw_graph, draw_memory, facts
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
x = torch.ones(2, 3)
y = net(x)
loss = y.square().mean()
view = x[1:]
for picture in (draw_graph(loss, net), draw_graph(saved=y), draw_memory(),
                facts(x, y, loss)):
    print(picture.svg, picture.text, picture.alt, picture.html)
"""


@pytest.fixture
def picture():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = (x * 3).sum()
    return draw_graph(y)


def test_the_bundle_has_html_and_text(picture):
    bundle = picture._repr_mimebundle_()
    assert list(bundle) == ["text/html", "text/plain"]
    assert bundle["text/plain"] == picture.text


def test_printing_shows_the_text(picture):
    assert str(picture) == repr(picture) == picture.text


def test_the_html_is_an_image_with_its_data(picture):
    data = re.search(r'src="data:image/svg\+xml;base64,([^"]+)"', picture.html)
    assert base64.b64decode(data[1]).decode() == picture.svg


def test_the_svg_has_a_view_box_and_a_title(picture):
    root = ElementTree.fromstring(picture.svg)
    assert root.get("viewBox")
    assert root[0].text == picture.alt


def test_a_typical_picture_is_under_30_kb(picture):
    assert len(picture.svg.encode()) < 30_000


def test_no_text_is_smaller_than_11_px(picture):
    sizes = re.findall(r"font-size:([\d.]+)px", picture.svg)
    assert min(map(float, sizes)) >= 11


@pytest.mark.parametrize("ending", [".svg", ".png", ".html", ".txt"])
def test_save_returns_the_path(picture, tmp_path, ending):
    path = picture.save(tmp_path / f"x{ending}")
    assert path.stat().st_size > 100


def test_save_svg_is_the_svg(picture, tmp_path):
    path = picture.save(str(tmp_path / "x.svg"))
    assert path.read_text(encoding="utf-8") == picture.svg


def test_save_png_has_twice_the_size(picture, tmp_path):
    data = picture.save(tmp_path / "x.PNG").read_bytes()
    width, height = struct.unpack(">II", data[16:24])
    box = re.search(r'viewBox="0 0 (\d+) (\d+)"', picture.svg)
    assert (width, height) == (2 * int(box[1]), 2 * int(box[2]))


def test_a_png_of_a_chinese_name_is_not_empty_boxes(tmp_path):
    one = draw_memory(**{"梯度": torch.ones(1)}).save(tmp_path / "a.png")
    two = draw_memory(**{"张量": torch.ones(1)}).save(tmp_path / "b.png")
    assert one.read_bytes() != two.read_bytes()


def test_save_html_is_a_page_that_needs_nothing(picture, tmp_path):
    page = picture.save(tmp_path / "x.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert picture.html in page
    assert not re.search(r'(src|href)="(?!data:)', page)


def test_another_ending_is_refused(picture, tmp_path):
    with pytest.raises(ValueError, match=r"must end in .svg, .png, .html or"):
        picture.save(tmp_path / "x.gif")
    assert list(tmp_path.iterdir()) == []


def test_the_bytes_are_the_same_in_every_process():
    outputs = set()
    for seed in ("0", "1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            capture_output=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        )
        outputs.add(done.stdout)
    assert len(outputs) == 1


def test_the_bytes_are_the_same_again():
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    assert draw_graph(y).svg == draw_graph(y).svg


@pytest.mark.parametrize("draw", [draw_memory, draw_graph, facts])
def test_no_tensor_is_kept_alive(draw):
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    gone = [weakref.ref(x), weakref.ref(y)]
    picture = draw(x, y)
    del x, y
    gc.collect()
    assert [ref() for ref in gone] == [None, None]
    assert picture.text


def test_the_dict_of_locals_that_a_caller_holds_stays_as_it_is():
    x = torch.ones(2)
    mine = locals()
    draw_memory(x)
    assert mine["x"] is x
