"""Programs from bug reports of other tools: what a right picture shows.

The programs stand in ``cases/programs.jsonl`` with their source; each test is
named after the id of its program and runs it as it is given there.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from helpers import draw_graph, draw_memory, record, record_code
from helpers.diagrams import layout
from helpers.diagrams.diagram import Diagram

CASES = Path(__file__).parent / "cases"
PROGRAMS = {
    case["id"]: case
    for case in map(
        json.loads,
        (CASES / "programs.jsonl").read_text(encoding="utf-8").splitlines(),
    )
}


def run(case_id):
    """Run a program and its own check; return its variables."""
    case = PROGRAMS[case_id]
    torch.manual_seed(0)
    space = {"torch": torch, "nn": nn, "F": nn.functional}
    exec(case["program"] + "\n" + case["check"], space)
    kept = {k: v for k, v in space.items() if not k.startswith("__")}
    return SimpleNamespace(**kept)


def labels(picture):
    """Return all texts of a picture."""
    found = re.findall(r"<text[^>]*>(.*?)</text>", picture.svg)
    return [re.sub(r"</?tspan[^>]*>", "", text) for text in found]


def test_t01_a_saved_leaf_is_one_box_with_two_marks():
    space = run("T01")
    x, y = space.x, space.y
    picture = draw_graph(y, saved=True)
    assert labels(picture).count("x") == 1
    assert {"saved: self", "saved: other"} <= set(labels(picture))
    assert x.is_leaf


def test_t01_saved_marks_do_not_turn_the_layout_round():
    space = run("T01")
    x, y = space.x, space.y
    svg = draw_graph(y, saved=True).svg
    place = {
        name: float(re.search(rf'x="([\d.]+)"[^>]*>{name}<', svg)[1])
        for name in ("x", "mul", "y")
    }
    assert place["x"] < place["mul"] < place["y"]
    assert x.is_leaf


def test_t03_a_long_chain_at_the_default_recursion_limit():
    code = (
        "import sys, torch; from helpers import draw_graph\n"
        + PROGRAMS["T03"]["program"]
        + "\nassert sys.getrecursionlimit() == 1000\nprint(draw_graph(y))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "#1 sin × 5,000 [SinBackward0] of x -> y" in done.stdout


def test_t05_an_unrolled_cell_folds_to_its_name():
    space = run("T05")
    cell, loss = space.cell, space.loss
    picture = draw_graph(loss)
    assert "LSTMCell × 60" in labels(picture)
    assert "901 operations, folded into 2 boxes." in picture.text
    assert cell.weight_ih.is_leaf


def test_t05_a_weight_appears_once():
    space = run("T05")
    cell, loss = space.cell, space.loss
    picture = draw_graph(loss)
    assert labels(picture).count("cell.weight_ih") == 1
    assert cell.weight_ih.is_leaf


def test_t06_shared_weights_do_not_freeze_the_layout():
    space = run("T06")
    W, U, h = space.W, space.U, space.h
    start = time.perf_counter()
    picture = draw_graph(h)
    # twice what it may take before the plain fallback has to come
    assert time.perf_counter() - start < 2 * layout.BUDGET
    assert labels(picture).count("W") == 1
    assert W.shape == U.shape


def test_t07_variables_of_the_function_that_draws():
    seen = []

    def step(inp, w):
        hidden = inp @ w
        score = hidden.tanh()
        seen.append(draw_graph(score))
        return score

    w = torch.ones(2, 2, requires_grad=True)
    step(torch.ones(1, 2), w)
    assert {"hidden", "score", "w", "inp"} <= set(labels(seen[0]))


def test_t07_two_names_of_one_tensor_are_both_shown():
    space = run("T07")
    out, w = space.out, space.w
    score = out
    picture = draw_graph(score)
    assert picture.text.startswith("graph of out = score\n")
    assert w.is_leaf


def test_t08_a_picture_shows_itself():
    space = run("T08")
    bundle = draw_graph(space.y)._repr_mimebundle_()
    assert set(bundle) == {"text/html", "text/plain"}


@pytest.mark.parametrize(
    ("which", "says"),
    [
        (0, "a Module (Linear), which has no graph of its own: call it first"),
        (1, "the method .mean itself, not its result: did you forget"),
        (2, "float 3.0, which is no tensor"),
    ],
)
def test_t10_the_wrong_object(which, says):
    wrong = run("T10").wrong[which]
    with pytest.raises(TypeError, match=re.escape(says)):
        draw_graph(wrong)


def test_t12_after_backward_the_saved_marks_say_freed():
    space = run("T12")
    loss = space.l
    picture = draw_graph(loss, saved=True)
    assert "saved self: freed by backward()" in picture.text
    assert "saved self: freed by backward()" in labels(picture)


def test_t24_a_picture_scales_and_is_never_clipped():
    space = run("T24")
    y = space.y
    picture = draw_graph(y)
    assert re.match(r'<svg [^>]*viewBox="0 0 \d+ \d+"', picture.svg)
    assert "overflow:auto" in picture.html


def test_t24_everything_lies_inside_the_view_box():
    space = run("T24")
    y = space.y
    svg = draw_graph(y).svg
    width, height = map(
        int, re.search(r'viewBox="0 0 (\d+) (\d+)"', svg).groups()
    )
    for x, y, w, h in re.findall(
        r'<rect x="(.+?)" y="(.+?)" width="(.+?)" height="(.+?)"',
        svg,
    ):
        assert float(x) >= 0
        assert float(y) >= 0
        assert float(x) + float(w) <= width
        assert float(y) + float(h) <= height


def test_t25_without_an_engine_all_is_drawn(monkeypatch):
    space = run("T25")
    x, y = space.x, space.y
    monkeypatch.setattr(layout, "find_engine", lambda: None)
    picture = draw_graph(y)
    assert {"x", "mul", "y"} <= set(labels(picture))
    assert "Graphviz is not installed" in picture.svg
    assert x.is_leaf


def test_t25_without_an_engine_the_twin_is_the_same(monkeypatch):
    y = run("T25").y
    with_engine = draw_graph(y).text
    monkeypatch.setattr(layout, "find_engine", lambda: None)
    assert draw_graph(y).text == with_engine


def test_t27_a_picture_brings_its_own_light_ground():
    y = run("T27").y
    first = re.search(r"<rect [^>]*>", draw_graph(y).svg)[0]
    assert 'fill="#ffffff"' in first


def test_t29_hostile_keys_give_two_boxes():
    space = run("T29")
    params, y = space.params, space.y
    text = draw_graph(y).text
    assert "params['enc::w<0>|\"q\"\n']: leaf" in text
    assert "params['c:d']: leaf" in text
    assert len(params) == 2


def test_t38_views_share_one_strip():
    space = run("T38")
    a, v, t, s, d, c = (getattr(space, n) for n in "avtsdc")
    text = draw_memory(a, v, t, s, d, c).text
    assert "a, v, t, s and d share storage s0." in text
    assert "c" not in text.partition("storage s1")[0].split()


def test_t40_a_detached_factor_is_a_constant():
    space = run("T40")
    x, u, z = space.x, space.u, space.z
    text = draw_graph(z).text
    assert "  u: constant, float32 [2] = [1.0, 1.0]" in text
    assert "mul [MulBackward0] of u, x" in text
    assert x.is_leaf and u.is_leaf


def test_t41_the_graph_of_a_gradient_is_drawn():
    space = run("T41")
    w, y, g, z = space.w, space.y, space.g, space.z
    text = draw_graph(y, z).text
    assert "-> g (" in text
    assert "A gradient of y and z reaches w." in text
    assert g.requires_grad and w.is_leaf


def test_t42_a_custom_function_hides_what_is_inside():
    space = run("T42")
    x, y = space.x, space.y
    text = draw_graph(y).text
    assert "#1 Sq [custom Function, SqBackward] of x -> y" in text
    assert "mul" not in text
    assert x.is_leaf


# -- recorded


def watch(case_id, more=""):
    """Run a program and its check line by line under the recorder."""
    case = PROGRAMS[case_id]
    torch.manual_seed(0)
    space = {"torch": torch, "nn": nn, "F": nn.functional}
    return record_code(f"{case['program']}\n{case['check']}\n{more}", space)


@pytest.mark.parametrize("case_id", PROGRAMS)
def test_every_program_is_recorded(case_id, golden):
    if case_id == "T26":
        pytest.skip("it draws random weights in an order of its own")
    recording = watch(case_id)
    assert recording.error is None
    parts = [
        recording.draw_graph().text,
        *map(str, recording.cuts),
        *map(str, recording.problems),
    ]
    text = "\n".join(parts)
    if "norm" not in text and "randn" not in PROGRAMS[case_id]["program"]:
        golden(Diagram("", text, recording.draw_graph().alt))


def test_t13_only_public_modules_are_imported():
    run("T13")
    helpers = Path(layout.__file__).parents[1]
    sources = [p.read_text(encoding="utf-8") for p in helpers.rglob("*.py")]
    assert not any("import distutils" in source for source in sources)


def test_t15_no_function_of_torch_is_replaced():
    def functions():
        return (torch.sin, torch.Tensor.detach, nn.Module.__call__)

    before = functions()
    with pytest.raises(ValueError, match="inside"), record():
        assert all(a is b for a, b in zip(before, functions(), strict=True))
        raise ValueError("failed inside the recorder")
    assert all(a is b for a, b in zip(before, functions(), strict=True))


def test_t16_a_second_run_is_the_same():
    first, second = watch("T16"), watch("T16")
    assert first.draw_graph().svg == second.draw_graph().svg
    assert first.player().html == second.player().html


def test_t16_no_hook_is_left():
    case = PROGRAMS["T16"]
    space = {"torch": torch, "nn": nn}
    record_code(case["program"], space)
    assert len(space["net"]._forward_hooks) == 0


def test_t17_a_compiled_region_is_one_box():
    recording = watch("T17")
    names = [o.name for o in recording.operations]
    assert "compiled: act" in names or "compiled: <lambda>" in names
    assert recording.snapshot.tensors["y"].grad_fn is not None


def test_t18_a_function_that_was_imported_by_name_is_seen():
    recording = watch("T18")
    assert "m" in [n for o in recording.operations for n in o.outputs]
    assert not recording.snapshot.tensors["m"].requires_grad


def test_t19_endless_and_circular_things_end():
    assert watch("T19").error is None


def test_t22_boxes_are_grouped_by_path():
    space = run("T22")
    net = space.net
    x = torch.ones(1, 3)
    net[0].requires_grad_(False)
    y = net(x.requires_grad_())
    text = draw_graph(y, net).svg
    assert "net.1.0: Linear, 10 parameters, trainable" in text
    assert "net.0: Linear, 16 parameters, frozen" in text


def test_t26_a_gradient_hook_beside_an_inplace_relu():
    recording = watch("T26")
    assert recording.error is None
    assert recording.why_no_grad("net.0.weight").reason == "has_grad"


def test_t28_without_scripts_there_is_a_static_picture():
    player = watch("T28").player()
    static = player.html.split("<script", 1)[0]
    assert static.count("<img alt=") == 2


def test_t31_the_gradient_passed_through():
    answer = watch("T31").why_no_grad("y")
    assert answer.reason == "not_leaf"
    assert "y.retain_grad()" in answer.fix


def test_t32_the_write_is_told_before_backward():
    program = PROGRAMS["T32"]["program"]
    recording = record_code("import torch\n" + program)
    (problem,) = recording.problems
    assert problem.kind == "backward_will_fail"
    assert "saved out at version 0" in problem.sentence


def test_t33_a_write_that_no_version_notices():
    problems = watch("T33").problems
    assert [p.kind for p in problems] == ["silently_wrong"]


def test_t34_a_computed_tensor_is_no_leaf():
    facts = watch("T34").snapshot.tensors["s"]
    assert not facts.is_leaf


def test_t35_a_frozen_weight_that_still_moves():
    (problem,) = watch("T35").problems
    assert problem.kind == "frozen_but_moving"
    assert "net.weight" in problem.sentence


def test_t36_a_frozen_network_gets_no_gradient():
    recording = watch("T36", "loss.backward()")
    reasons = {
        name: recording.why_no_grad(name).reason
        for name in ("A.weight", "A.bias", "B.weight", "B.bias")
    }
    assert reasons == {
        "A.weight": "not_required",
        "A.bias": "not_required",
        "B.weight": "has_grad",
        "B.bias": "has_grad",
    }


T37 = {
    "no_grad": "with torch.no_grad():\n    h = x @ w",
    "detach": "h = (x @ w).detach()",
    "data": "h = (x @ w).data",
    "frozen": "w.requires_grad_(False)\nh = x @ w",
}


def t37(way):
    return record_code(
        "import torch\n"
        "x = torch.ones(3, 3)\n"
        "w = torch.ones(3, 3, requires_grad=True)\n"
        "v = torch.ones(3, 3, requires_grad=True)\n"
        f"{T37[way]}\n"
        "loss = (h @ v).sum()\n"
        "loss.backward()\n"
    )


def test_t37_four_programs_give_four_pictures():
    pictures = {way: t37(way).draw_graph().svg for way in T37}
    assert len(set(pictures.values())) == 4


@pytest.mark.parametrize("way", T37)
def test_t37_each_cut_says_its_kind(way):
    assert [c.kind for c in t37(way).cuts] == [way]


@pytest.mark.parametrize(
    ("way", "mark"),
    [
        ("no_grad", "✂ no_grad in line"),
        ("detach", "✂ detach() in line 5"),
        ("data", "✂ .data in line 5"),
        ("frozen", "frozen leaf, float32 [3, 3], frozen in line 5"),
    ],
)
def test_t37_each_picture_has_its_mark(way, mark):
    assert mark in t37(way).draw_graph().text


def test_t37_what_lies_behind_the_cut_stays_visible():
    text = t37("no_grad").draw_graph().text
    assert "matmul [no_grad] of x, w -> h" in text
