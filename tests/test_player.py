"""The player: one page, frames that share, a text of every step."""

from __future__ import annotations

import json
import re

import pytest
import torch

from helpers import record_code

CODE = """import torch
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x.detach()
y[0] = 5.0
print("<b>&", x)
"""


@pytest.fixture(scope="module")
def player():
    return record_code(CODE).player()


def data(player):
    found = re.search(
        r'<script type="application/json">(.*?)</script>', player.html, re.S
    )
    return json.loads(found[1])


def test_the_text_lists_every_step(player):
    assert player.text == (
        "step 1, line 1: import torch\n"
        "  Nothing happens to a tensor.\n"
        "step 2, line 2: x = torch.tensor([1.0, 2.0], requires_grad=True)\n"
        "  tensor makes x.\n"
        "step 3, line 3: y = x.detach()\n"
        "  Line 3 cuts the gradient. `x.detach()` gives a tensor on the "
        "storage of x without history.\n"
        "step 4, line 4: y[0] = 5.0\n"
        "  setitem writes into y in place (version 1). x sees it too.\n"
        'step 5, line 5: print("<b>&", x)\n'
        "  Nothing happens to a tensor.\n"
        "  | <b>& tensor([5., 2.], requires_grad=True)"
    )


def test_frames_share_what_is_equal(player):
    kept = data(player)
    used = [f[k] for f in kept["frames"] for k in ("graph", "memory")]
    assert len(kept["pictures"]) == len(set(used)) < len(used)


def test_a_lesson_cell_is_under_200_kb(player):
    assert len(player.html.encode()) < 200_000


def test_the_first_frame_is_there_without_scripts(player):
    static = player.html.split("<script", 1)[0]
    assert static.count("<img alt=") == 2
    assert "<button" not in static


def test_what_is_printed_cannot_end_the_script(player):
    body = player.html.split('<script type="application/json">')[1]
    assert "<b>" not in body.split("</script>")[0]


def test_the_page_asks_for_nothing_from_outside(player):
    assert not re.search(r'(src|href)="(?!data:)', player.html)
    assert "fetch(" not in player.html


def test_it_has_labels_and_a_live_region(player):
    assert 'aria-label="A program of 5 steps' in player.html
    assert '"aria-live", "polite"' in player.html


def test_save_writes_a_page_and_a_text(player, tmp_path):
    page = player.save(tmp_path / "p.html").read_text(encoding="utf-8")
    assert player.html in page
    text = player.save(tmp_path / "p.txt").read_text(encoding="utf-8")
    assert text == player.text + "\n"


def test_another_ending_is_refused(player, tmp_path):
    with pytest.raises(ValueError, match=r"must end in .html or .txt"):
        player.save(tmp_path / "p.gif")


def test_memory_marks_what_the_line_changed():
    recording = record_code(CODE)
    text = recording.draw_memory(3).text
    assert "version 0 -> 1 on this line" in text
    assert "new" not in text
    assert "y: Tensor float32 [2], no history, new" in (
        recording.draw_memory(2).text
    )


def test_a_step_that_there_is_not():
    with pytest.raises(IndexError, match="has 5 steps, 0 to 4"):
        record_code(CODE).draw_graph(9)


def test_boxes_keep_their_place_from_step_to_step():
    recording = record_code(
        "import torch\n"
        "x = torch.ones(2, requires_grad=True)\n"
        "y = x * 2\n"
        "z = y.sin()\n"
    )
    frames = recording.player().frames
    places = [
        re.search(r'class="n" x="([\d.]+)" y="([\d.]+)"[^>]*>x<', f.graph.svg)
        for f in frames[1:]
    ]
    assert len({p.groups() for p in places}) == 1


def test_the_first_line_marks_a_write_into_what_was_there():
    recording = record_code("x.add_(1)", {"x": torch.ones(2)})
    assert "version 0 -> 1 on this line" in recording.draw_memory(0).text


def test_the_first_line_marks_nothing_that_was_there():
    recording = record_code("y = x + 1", {"x": torch.ones(2)})
    marked = [
        line
        for line in recording.draw_memory(0).text.splitlines()
        if "on this line" in line
    ]
    assert len(marked) == 1


def test_a_first_frame_leaves_out_what_other_cells_have_made():
    space = {}
    exec("import torch\nold = torch.ones(1, requires_grad=True) * 2", space)
    recording = record_code("k = 3\ny = torch.ones(1)", space)
    assert "old" not in recording.draw_graph(0).text


def test_a_leaf_that_is_gone_is_still_a_leaf():
    recording = record_code(
        "import torch\n"
        "def step():\n"
        "    w = torch.ones(1, requires_grad=True)\n"
        "    loss = w * 2\n"
        "    loss.backward()\n"
        "    return loss.detach()\n"
        "loss = step()\n"
        "k = 1\n"
    )
    text = recording.draw_graph().text
    assert "w: leaf, float32 [1], gone by now" in text
    assert ".grad None" not in text


def test_a_player_of_a_deep_network_shows_its_modules():
    recording = record_code(
        "import torch\n"
        "from torch import nn\n"
        "net = nn.Sequential(*(nn.Sequential(nn.Linear(2, 2), nn.Tanh())"
        " for _ in range(30)))\n"
        "loss = net(torch.ones(1, 2)).sum()\n"
    )
    graph = recording.player().frames[-1].graph
    assert "#30 net.29 [Sequential, 6 parameters, trainable]" in graph.text
