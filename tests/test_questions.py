"""Questions that people ask about PyTorch: we change nothing and answer right.

The programs stand in ``helpers/lessons/questions.jsonl``, each with what it
prints and with its answer.  ``EXPECTED`` and ``PROBLEMS`` are written by hand
from these answers and from what torch has at the end of the program.
"""

from __future__ import annotations

import contextlib
import functools
import io
import json
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest
import torch
from torch import nn

import helpers
from helpers import record_code, recorder

BANK = Path(helpers.__file__).parent / "lessons" / "questions.jsonl"
QUESTIONS = {
    case["id"]: case
    for case in map(
        json.loads,
        BANK.read_text(encoding="utf-8").splitlines(),
    )
}

# id -> (name, reason, kind of the nearest cut or "", its line or None); for
# "cleared" the line is the one that set the gradient to None.  With "" no
# cut may be named, unless a gradient is there or none is required: what is
# named beside these is not asked here.
EXPECTED = {
    "backward-twice": [
        ("x", "has_grad", "", None),
        ("y", "not_leaf", "", None),
        ("z", "not_leaf", "", None),
    ],
    "element-0-meaning": [
        ("w", "no_backward", "", None),
        ("cut", "not_required", "detach", 3),
    ],
    "retain-graph-then-step": [
        ("w", "has_grad", "", None),
        ("h", "not_leaf", "", None),
    ],
    "step-frees-graph-claim": [
        ("w", "has_grad", "", None),
        ("y", "not_leaf", "", None),
        ("y2", "not_leaf", "", None),
    ],
    "bn-stats-in-eval-claim": [
        ("bn.weight", "has_grad", "", None),
        ("bn.bias", "has_grad", "", None),
        ("y", "not_leaf", "", None),
    ],
    "bn-stats-move-when-frozen": [
        ("bn.weight", "not_required", "frozen", 2),
        ("bn.bias", "not_required", "frozen", 2),
        ("x", "not_required", "", None),
    ],
    "clone-adds-gradients": [
        ("a", "has_grad", "", None),
        ("c", "not_leaf", "", None),
    ],
    "clone-detach-order": [
        ("p", "not_required", "detach", 3),
        ("r", "not_required", "", None),
    ],
    "clone-requires-grad": [
        ("c", "not_leaf", "", None),
        ("x", "has_grad", "", None),
    ],
    "deepcopy-copies-grad": [
        ("w", "has_grad", "", None),
        ("d", "has_grad", "", None),
        ("c", "not_required", "", None),
    ],
    "detach-modify-not-always-error": [
        ("a", "has_grad", "", None),
        ("b", "no_backward", "", None),
    ],
    "detach-shares-storage": [("d", "not_required", "detach", 3)],
    "detach-then-backward": [
        ("x", "cut", "detach", 4),
        ("y", "cut", "detach", 4),
        ("z", "not_required", "", None),
    ],
    "detach-underscore-not-retroactive": [
        ("a", "has_grad", "", None),
        ("b", "not_required", "detach", 5),
        ("c", "not_leaf", "", None),
    ],
    "detach-write-unseen-when-unsaved": [
        ("a", "has_grad", "", None),
        ("b", "not_required", "", None),
        ("y", "has_grad", "", None),
        ("x", "not_leaf", "", None),
    ],
    "detached-never-grad-claim": [
        ("d", "has_grad", "", None),
        ("x", "cut", "detach", 3),
    ],
    "list-of-detached-snapshots": [("w", "has_grad", "", None)],
    "loss-rewrapped": [
        ("w", "has_grad", "", None),
        ("loss", "not_leaf", "", None),
    ],
    "one-detach-cuts-all-before": [
        ("w", "has_grad", "", None),
        ("v", "cut", "detach", 3),
        ("v2", "cut", "detach", 3),
        ("target", "not_required", "detach", 3),
        ("loss", "not_leaf", "", None),
    ],
    "eval-deactivates-autograd-claim": [
        ("net.weight", "no_backward", "", None),
        ("y", "no_backward", "", None),
    ],
    "eval-disables-grad-claim": [
        ("net.0.weight", "has_grad", "", None),
        ("net.1.weight", "has_grad", "", None),
        ("x", "not_required", "", None),
        ("y", "not_leaf", "", None),
    ],
    "freeze-stops-flow-claim": [
        ("first.weight", "has_grad", "", None),
        ("frozen.weight", "not_required", "frozen", 3),
    ],
    "from-pretrained-frozen": [("a.weight", "not_required", "", None)],
    "frozen-grad-computed-claim": [
        ("lin.weight", "not_required", "frozen", 6),
        ("lin.bias", "not_required", "frozen", 6),
        ("x", "no_backward", "", None),
    ],
    "frozen-grad-zero-or-none": [
        ("net.weight", "has_grad", "", None),
        ("net.bias", "not_required", "frozen", 3),
    ],
    "module-requires-grad-attribute": [
        ("lin.weight", "not_required", "frozen", 5),
        ("lin.bias", "not_required", "frozen", 5),
    ],
    # frozen with its gradient still there; line 7 is what took that away
    "optimizer-checks-grad-not-flag": [("p", "cleared", "", 7)],
    "require-grad-typo": [
        ("lin.weight", "not_required", "frozen", 5),
        ("p", "not_required", "frozen", 5),
    ],
    "gan-detach-g-never-learns": [
        ("G.weight", "has_grad", "", None),
        ("D.weight", "has_grad", "", None),
        ("fake", "not_leaf", "", None),
        ("z", "not_required", "", None),
    ],
    "gan-detach-real": [
        ("real", "not_required", "", None),
        ("D.weight", "has_grad", "", None),
    ],
    "gan-missing-zero-grad": [
        ("w", "has_grad", "", None),
        ("d", "not_required", "", None),
        ("fake", "not_leaf", "", None),
    ],
    # zero_grad() comes first: the backward after it was cut off from G
    "gan-why-detach": [
        ("G.weight", "cut", "detach", 8),
        ("D.weight", "has_grad", "", None),
        ("fake", "cut", "detach", 8),
    ],
    "grad-none-before-backward": [("w", "cleared", "", 7)],
    "loss-requires-grad-true": [
        ("net.weight", "cut", "no_grad", 4),
        ("net.bias", "cut", "no_grad", 4),
        ("loss", "has_grad", "", None),
    ],
    "variable-wrapper-hides-cut": [
        ("net.weight", "cut", "data", 4),
        ("net.bias", "cut", "data", 4),
        ("out", "not_required", "data", 4),
        ("loss", "has_grad", "", None),
    ],
    "checkpoint-no-grad-input": [
        ("lin.weight", "has_grad", "", None),
        ("y", "not_required", "no_grad", 6),
    ],
    "no-grad-on-B-kills-A": [
        ("A.weight", "cut", "no_grad", 7),
        ("B.weight", "has_grad", "", None),
        ("h", "cut", "no_grad", 7),
        ("z", "not_required", "no_grad", 7),
    ],
    "second-pass-constant-weights": [
        ("f.weight", "has_grad", "", None),
        ("x", "not_required", "", None),
    ],
    "two-nets-A-then-B": [
        ("A.weight", "has_grad", "", None),
        ("B.weight", "not_required", "frozen", 7),
        ("B.bias", "not_required", "frozen", 7),
    ],
    "grad-fn-only-last-op": [
        ("x", "no_backward", "", None),
        ("y", "no_backward", "", None),
    ],
    "clone-fix-loses-leaf": [
        ("x", "not_leaf", "", None),
        ("leaf", "has_grad", "", None),
    ],
    "leaf-inplace-error": [
        ("x", "no_backward", "", None),
        ("y", "no_backward", "", None),
    ],
    "version-counter": [
        ("x", "no_backward", "", None),
        ("y", "no_backward", "", None),
    ],
    # a loss that is read, and still there with its graph, is not cut
    "detach-item-redundant": [
        ("w", "no_backward", "", None),
        ("loss", "no_backward", "", None),
    ],
    "item-then-backward": [("w", "cut", "item", 3)],
    "rewrap-after-numpy": [
        ("x", "cut", "detach", 3),
        ("z", "has_grad", "", None),
    ],
    "grad-none-after-cast": [
        ("x", "not_leaf", "", None),
        ("y", "has_grad", "", None),
    ],
    "grad-none-after-view": [
        ("p", "has_grad", "", None),
        ("v", "not_leaf", "", None),
    ],
    "is-leaf-purpose": [
        ("data", "not_required", "", None),
        ("w", "has_grad", "", None),
        ("mid", "not_leaf", "", None),
        ("quiet", "not_required", "", None),
    ],
    "layer-output-is-leaf-claim": [
        ("lin.weight", "not_required", "frozen", 6),
        ("x", "not_required", "", None),
        ("y", "no_backward", "", None),
    ],
    "layer-output-requires-grad": [("x", "not_required", "", None)],
    "manual-sgd-rebinding": [
        ("w", "has_grad", "", None),
        ("a", "unused", "", None),
        ("b", "not_required", "no_grad", 5),
    ],
    "ema-graph-growth": [
        ("w", "no_backward", "", None),
        ("ema", "no_backward", "", None),
        ("ema_ok", "not_required", "", None),
    ],
    "index-in-no-grad": [("x", "cut", "no_grad", 4)],
    "inference-tensor-saved": [
        ("w", "has_grad", "", None),
        ("c", "not_required", "", None),
        ("d", "not_required", "", None),
    ],
    "no-grad-return-keeps-history": [
        ("w", "no_backward", "", None),
        ("y", "no_backward", "", None),
    ],
    "parameter-in-no-grad": [
        ("p", "cut", "no_grad", 6),
        ("lin.weight", "unused", "", None),
        ("f", "unused", "", None),
        ("r", "not_required", "no_grad", 6),
    ],
    "view-from-no-grad-silent": [
        ("x", "has_grad", "", None),
        ("loss", "not_leaf", "", None),
    ],
    "filter-needed": [
        ("net.0.weight", "not_required", "frozen", 3),
        ("net.0.bias", "not_required", "frozen", 3),
        ("net.1.weight", "has_grad", "", None),
        ("w", "not_required", "", None),
    ],
    "grad-none-no-decay": [("p", "has_grad", "", None)],
    "optimize-nonleaf": [
        ("raw", "has_grad", "", None),
        ("pos", "unused", "", None),
    ],
    "optimizer-keeps-old-parameter": [
        ("lin.weight", "has_grad", "", None),
        ("old", "unused", "", None),
    ],
    "unfreeze-after-filter": [
        ("net.0.weight", "has_grad", "", None),
        ("net.1.weight", "has_grad", "", None),
        ("w", "unused", "", None),
    ],
    "grad-of-constant-not-computed": [
        ("a", "has_grad", "", None),
        ("b", "not_required", "", None),
        ("y", "not_leaf", "", None),
    ],
    "retain-grad-no-op-claim": [
        ("x", "has_grad", "", None),
        ("y", "has_grad", "", None),
    ],
    "retain-grad-on-nonleaf": [
        ("x", "has_grad", "", None),
        ("s", "has_grad", "", None),
    ],
    # torch.autograd.grad() gives gradients back and fills no .grad
    "detach-each-step": [("w", "no_backward", "", None)],
    "tbptt-detach": [
        ("rnn.weight_ih_l0", "has_grad", "", None),
        ("rnn.weight_hh_l0", "has_grad", "", None),
        ("chunk", "not_required", "", None),
        ("before", "cut", "detach", 7),
        ("out", "not_leaf", "", None),
        ("h", "unused", "", None),
    ],
    "parameter-from-computation": [
        ("gen.weight", "has_grad", "", None),
        ("w", "not_leaf", "", None),
        ("p", "unused", "", None),
        ("lin.weight", "unused", "", None),
    ],
    "checkpoint-requires-grad-claim": [
        ("a.weight", "not_required", "frozen", 2),
        ("a.bias", "not_required", "frozen", 2),
    ],
    "round-zero-gradient": [
        ("x", "has_grad", "", None),
        ("r", "not_leaf", "", None),
        ("a", "not_required", "not_differentiable", 3),
    ],
    # line 6 cleared q.grad; the backward after it was cut off from q
    "ste-without-detach": [
        ("x", "has_grad", "", None),
        ("q", "cut", "detach", 7),
    ],
    "vq-losses": [
        ("e", "no_backward", "", None),
        ("q", "no_backward", "", None),
        ("codebook", "no_backward", "", None),
        ("commit", "no_backward", "", None),
    ],
    "no-grad-vs-detach-target": [
        ("a", "not_required", "detach", 6),
        ("b", "not_required", "no_grad", 7),
        ("s", "not_required", "", None),
    ],
    "same-net-target": [("w", "no_backward", "", None)],
    "tied-gradient-sums": [
        ("a.weight", "has_grad", "", None),
        ("b.weight", "has_grad", "", None),
    ],
    "unbind-inplace": [("t", "no_backward", "", None)],
}

# id -> what must be among the problems; every other program has none
PROBLEMS = {
    "backward-twice": {"backward_will_fail"},
    "element-0-meaning": {"backward_will_fail"},
    "retain-graph-then-step": {"backward_will_fail"},
    "step-frees-graph-claim": {"backward_will_fail"},
    "data-vs-detach-silent": {"silently_wrong", "backward_will_fail"},
    "detach-modify-not-always-error": {"backward_will_fail"},
    "detach-then-backward": {"backward_will_fail"},
    "frozen-still-moves": {"frozen_but_moving"},
    "optimizer-checks-grad-not-flag": {"frozen_but_moving"},
    "no-grad-on-B-kills-A": {"backward_will_fail"},
    "data-edit-after-forward": {"silently_wrong", "backward_will_fail"},
    "residual-inplace-after-relu": {"backward_will_fail"},
    "version-counter": {"backward_will_fail"},
    "view-from-no-grad-silent": {"view_from_no_grad"},
    "optimizer-keeps-old-parameter": {"not_in_optimizer"},
}

ANSWERS = [(id_, *answer) for id_, all_ in EXPECTED.items() for answer in all_]
WITH_CUT = [answer for answer in ANSWERS if answer[3]]
WITHOUT_CUT = [
    answer[:3]
    for answer in ANSWERS
    if not answer[3] and answer[2] not in ("has_grad", "not_required")
]
CLEARED = [
    (id_, name, line)
    for id_, name, reason, _, line in ANSWERS
    if reason == "cleared"
]


def name_of(case):
    """What a test is called after: the question and the tensor."""
    return f"{case[0]}-{case[1]}"


every_question = pytest.mark.parametrize("question", QUESTIONS)


@pytest.fixture(autouse=True)
def strict(monkeypatch):
    """Hear of what the recorder could not look at."""
    monkeypatch.setattr(recorder.journal, "STRICT", True)


def run_plainly(code):
    """Run a program without us."""
    space = {"__name__": "__main__"}
    exec(compile(code, "<question>", "exec"), space)
    return space


def state_after(work):
    """Return what a piece of work gives, prints and leaves behind."""
    trace, grad_mode = sys.gettrace(), torch.is_grad_enabled()
    torch.manual_seed(0)
    try:
        with (
            warnings.catch_warnings(),
            contextlib.redirect_stdout(io.StringIO()) as out,
        ):
            warnings.simplefilter("ignore")
            result = work()
        return SimpleNamespace(
            result=result,
            printed=out.getvalue(),
            random_state=torch.get_rng_state(),
            grad_mode=torch.is_grad_enabled(),
            trace_is_kept=sys.gettrace() is trace,
        )
    finally:
        torch.set_grad_enabled(grad_mode)
        sys.settrace(trace)


@functools.cache
def plain(question):
    code = QUESTIONS[question]["code"]
    return state_after(lambda: run_plainly(code))


@functools.cache
def recorded(question):
    code = QUESTIONS[question]["code"]
    space = {"__name__": "__main__"}
    return state_after(lambda: record_code(code, space))


def recording_of(question):
    return recorded(question).result


@functools.cache
def player_of(question):
    return recording_of(question).player()


def tensors(space):
    """Return the tensors that the variables of a program hold, by name."""
    found = {}
    for name, value in space.items():
        if isinstance(value, torch.Tensor):
            found[name] = value
        elif isinstance(value, nn.Module):
            for path, parameter in value.named_parameters():
                found[f"{name}.{path}"] = parameter
    return found


def has_grad(tensor):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # .grad of a non-leaf
        return tensor.grad is not None


# -- nothing is changed


@every_question
def test_it_prints_what_it_prints_without_us(question):
    assert recorded(question).printed == plain(question).printed


@every_question
def test_it_prints_what_the_answer_says(question):
    printed = recorded(question).printed
    missing = [s for s in QUESTIONS[question]["prints"] if s not in printed]
    assert missing == []


@every_question
def test_it_raises_nothing(question):
    assert recording_of(question).error is None


@every_question
def test_the_grad_mode_is_as_without_us(question):
    assert recorded(question).grad_mode == plain(question).grad_mode


@every_question
def test_the_random_state_is_as_without_us(question):
    ours, without = recorded(question), plain(question)
    assert torch.equal(ours.random_state, without.random_state)


@every_question
def test_the_trace_function_is_as_before(question):
    assert recorded(question).trace_is_kept


# -- it can be drawn


def assert_is_drawn(picture):
    """A text, and an SVG that an XML parser reads."""
    assert picture.text.strip()
    assert ElementTree.fromstring(picture.svg).tag.endswith("svg")


@every_question
def test_the_graph_is_drawn(question):
    assert_is_drawn(recording_of(question).draw_graph())


@every_question
def test_the_memory_is_drawn(question):
    assert_is_drawn(recording_of(question).draw_memory())


@every_question
def test_the_player_has_a_text(question):
    assert player_of(question).text.strip()


@every_question
def test_every_frame_of_the_player_is_drawn(question):
    frames = player_of(question).frames
    assert frames
    for frame in frames:
        assert_is_drawn(frame.graph)
        assert_is_drawn(frame.memory)


# -- why a gradient is missing


@pytest.mark.parametrize(
    ("question", "name", "reason", "kind", "line"),
    ANSWERS,
    ids=map(name_of, ANSWERS),
)
def test_the_reason(question, name, reason, kind, line):
    assert recording_of(question).why_no_grad(name).reason == reason


@pytest.mark.parametrize(
    ("question", "name", "reason", "kind", "line"),
    WITH_CUT,
    ids=map(name_of, WITH_CUT),
)
def test_the_nearest_cut(question, name, reason, kind, line):
    found = recording_of(question).why_no_grad(name).cuts
    assert [(c.kind, c.line) for c in found[:1]] == [(kind, line)]


@pytest.mark.parametrize(
    ("question", "name", "reason"), WITHOUT_CUT, ids=map(name_of, WITHOUT_CUT)
)
def test_no_cut_is_named_where_none_is_the_reason(question, name, reason):
    assert recording_of(question).why_no_grad(name).cuts == ()


@pytest.mark.parametrize(
    ("question", "name", "line"), CLEARED, ids=map(name_of, CLEARED)
)
def test_the_line_that_cleared_it_is_named(question, name, line):
    sentence = recording_of(question).why_no_grad(name).sentence
    assert f"line {line}," in sentence


@pytest.mark.parametrize("question", EXPECTED)
def test_the_expected_reasons_agree_with_torch(question):
    known = tensors(plain(question).result)
    claimed = {n: r == "has_grad" for n, r, *_ in EXPECTED[question]}
    assert claimed == {n: has_grad(known[n]) for n in claimed}


@every_question
def test_it_says_has_grad_just_where_torch_has_one(question):
    why = recording_of(question).why_no_grad
    known = tensors(plain(question).result)
    said = {n: why(n).reason == "has_grad" for n in known}
    assert said == {n: has_grad(t) for n, t in known.items()}


@every_question
def test_whoever_says_cut_names_a_cut(question):
    why = recording_of(question).why_no_grad
    said = {n: why(n) for n in tensors(plain(question).result)}
    nameless = [n for n, d in said.items() if d.reason == "cut" and not d.cuts]
    assert nameless == []


# -- problems


@pytest.mark.parametrize("question", PROBLEMS)
def test_the_problems_are_found(question):
    kinds = {p.kind for p in recording_of(question).problems}
    assert kinds >= PROBLEMS[question]


@pytest.mark.parametrize(
    "question", [q for q in QUESTIONS if q not in PROBLEMS]
)
def test_no_false_alarm(question):
    assert recording_of(question).problems == []
