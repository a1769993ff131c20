"""Where boxes go, with an engine and without."""

from __future__ import annotations

import subprocess

import pytest

from helpers.diagrams import layout
from helpers.diagrams.layout import Edge, Group, Size, lay_out

BOXES = [Size(80, 40)] * 4
EDGES = [Edge(0, 1), Edge(1, 2)]
FORK = [Edge(0, 1), Edge(0, 2)]  # no row: here the engine is needed


@pytest.fixture(params=["engine", "plain"])
def way(request, monkeypatch):
    """Lay out with Graphviz and without it."""
    if request.param == "plain":
        monkeypatch.setattr(layout, "find_engine", lambda: None)
    return request.param


def test_an_engine_is_installed():
    assert layout.find_engine()


def test_edges_run_to_the_right(way):
    xs = [x for x, _ in lay_out(BOXES, EDGES).boxes[:3]]
    assert xs == sorted(xs)


def test_edges_run_downward(way):
    ys = [y for _, y in lay_out(BOXES, EDGES, downward=True).boxes[:3]]
    assert ys == sorted(ys)


def test_a_single_box_stands_below_at_the_end(way):
    found = lay_out(BOXES, EDGES)
    assert found.boxes[3][1] > found.boxes[2][1]
    assert found.boxes[3][0] + 40 == pytest.approx(found.width, abs=1)


def test_boxes_do_not_overlap(way):
    edges = [Edge(0, 2), Edge(1, 2), Edge(0, 3)]
    places = lay_out(BOXES, edges).boxes
    for i, (x, y) in enumerate(places):
        for u, v in places[:i]:
            assert abs(x - u) >= 80 or abs(y - v) >= 40


def test_parts_are_stacked_in_their_order(way):
    found = lay_out(BOXES, [Edge(0, 1), Edge(2, 3)])
    assert found.boxes[0][1] < found.boxes[2][1]


def test_splines_reach_the_boxes(way):
    found = lay_out(BOXES, EDGES)
    (start, *_, end), *_ = found.edges
    assert start[0] == pytest.approx(found.boxes[0][0] + 40, abs=2)
    assert end[0] == pytest.approx(found.boxes[1][0] - 40, abs=2)


def test_a_frame_holds_its_boxes():
    found = lay_out(BOXES, EDGES, [Group((0, 1), Size(150, 14))])
    left, top, right, bottom = found.frames[0]
    for x, y in found.boxes[:2]:
        assert left < x - 40 < x + 40 < right
        assert top < y - 20 < y + 20 < bottom


def test_an_edge_that_does_not_bind_does_not_turn_the_order():
    edges = [*EDGES, Edge(2, 0, binding=False)]
    xs = [x for x, _ in lay_out(BOXES, edges).boxes[:3]]
    assert xs == sorted(xs)


def test_parallel_edges_are_all_there(way):
    edges = [Edge(0, 1), Edge(0, 1, Size(30, 14)), Edge(1, 0, binding=False)]
    assert len(lay_out(BOXES[:2], edges).edges) == 3


def test_an_engine_that_takes_too_long_is_left(monkeypatch):
    def slow(*args, **kwargs):
        raise subprocess.TimeoutExpired("dot", 1)

    monkeypatch.setattr(layout.subprocess, "run", slow)
    assert lay_out(BOXES, FORK).note == layout.FAILED


def test_an_engine_that_dies_is_left(monkeypatch, tmp_path):
    engine = tmp_path / "dies"
    engine.write_text("#!/bin/sh\nkill -9 $$\n")
    engine.chmod(0o755)
    monkeypatch.setattr(layout, "find_engine", lambda: str(engine))
    assert lay_out(BOXES, FORK).note == layout.FAILED


def test_an_engine_that_writes_nonsense_is_left(monkeypatch, tmp_path):
    engine = tmp_path / "nonsense"
    engine.write_text("#!/bin/sh\necho '{}'\n")
    engine.chmod(0o755)
    monkeypatch.setattr(layout, "find_engine", lambda: str(engine))
    assert lay_out(BOXES, FORK).note == layout.FAILED


def test_without_an_engine_one_sentence_says_what_to_do(monkeypatch):
    monkeypatch.setattr(layout, "find_engine", lambda: None)
    note = lay_out(BOXES, FORK).note
    assert note.endswith(".")
    assert "pip install graphviz-pure" in note


def test_the_dot_holds_no_word_of_the_users():
    dot = layout.write_dot(layout.Job(BOXES, EDGES))
    words = {w.split("=")[0].strip('[]{}";') for w in dot.split()}
    known = {"digraph", "node", "edge", "->", "", "nodesep", "nslimit"}
    known |= {"rankdir", "ranksep", "fixedsize", "label", "shape", "dir"}
    assert words - known - {"height", "width", *"0123"} == set()


@pytest.mark.parametrize("downward", [False, True])
def test_boxes_in_a_row_stand_where_the_engine_puts_them(downward):
    boxes = [Size(80, 40), Size(120, 60), Size(60, 30)]
    job = layout.Job(boxes, [Edge(0, 1), Edge(1, 2)], (), downward)
    mine = layout._in_a_row(job)
    (engine,) = layout._ask(layout.find_engine(), [job])
    for a, b in zip(mine.boxes, engine.boxes, strict=True):
        assert a == pytest.approx(b, abs=0.1)
