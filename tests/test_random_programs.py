"""Random programs: what we say of sharing, versions, cuts and gradients is
what torch does.
"""

from __future__ import annotations

from itertools import combinations

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import helpers.recorder
from helpers import record_code

MAKERS = [
    "{a} * 2",
    "{a} + {b}",
    "{a} * {b}",
    "{a}.exp()",
    "{a}.clone()",
    "{a}.detach()",
    "{a}.data",
    "{a}.view(2, 2).view(4)",
    "{a}.view(4)",
    "{a}[0:4]",
    "{a}.detach().clone()",
    "torch.no_grad()({a}.__mul__)(3)",
]
WRITERS = [
    "{a}.add_(1)",
    "{a}[0] = 1.0",
    "{a}[1:3].mul_(0.5)",
    "with torch.no_grad(): {a}.mul_(0.5)",
    "{a}.data.add_(1)",
]


@st.composite
def programs(draw):
    """5 to 30 lines over two leaves, with a loss and a backward at the end."""
    lines = [
        "import torch",
        "x = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)",
        "w = torch.tensor([0.5, 1.0, 1.5, 2.0], requires_grad=True)",
        "c = torch.ones(4)",
    ]
    names = ["x", "w", "c"]
    for i in range(draw(st.integers(1, 22))):
        pick = st.sampled_from(names)
        if draw(st.integers(0, 4)):
            maker = draw(st.sampled_from(MAKERS))
            code = maker.format(a=draw(pick), b=draw(pick))
            lines.append(f"t{i} = {code}")
            names.append(f"t{i}")
        else:
            writer = draw(st.sampled_from(WRITERS))
            lines.append(writer.format(a=draw(pick)))
    used = draw(st.lists(st.sampled_from(names), min_size=1, max_size=3))
    lines.append(f"loss = ({' + '.join(used)}).sum()")
    lines.append("loss.backward()")
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module", autouse=True)
def strict():
    """Whatever the recorder can't look at fails the test."""
    helpers.recorder.journal.STRICT = True
    yield
    helpers.recorder.journal.STRICT = False


def run(code):
    """Run a program without us; return its variables and its error."""
    space = {}
    try:
        exec(code, space)
    except RuntimeError as error:
        return space, error
    return space, None


def tensors(space):
    return {n: t for n, t in space.items() if isinstance(t, torch.Tensor)}


MANY = settings(
    max_examples=120,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)


@MANY
@given(programs())
def test_a_recorded_program_does_the_same(code):
    plain, error = run(code)
    space = {}
    recording = record_code(code, space)
    assert type(recording.error) is type(error)
    assert str(recording.error) == str(error)
    for name, tensor in tensors(plain).items():
        assert torch.equal(tensor, space[name])


@MANY
@given(programs())
def test_sharing_and_versions_are_torchs(code):
    space = {}
    snapshot = record_code(code, space).snapshot
    found = tensors(space)
    for name, tensor in found.items():
        assert snapshot.tensors[name].version == tensor._version
    for a, b in combinations(found, 2):
        same = (
            found[a].untyped_storage().data_ptr()
            == found[b].untyped_storage().data_ptr()
        )
        assert snapshot.shares_storage(a, b) == same


@MANY
@given(programs())
def test_who_gets_a_gradient_is_torchs(code):
    space = {}
    recording = record_code(code, space)
    for leaf in ("x", "w"):
        reason = recording.why_no_grad(leaf).reason
        assert (reason == "has_grad") == (space[leaf].grad is not None)
        if recording.error is None and reason != "has_grad":
            assert reason in ("cut", "unused")


@MANY
@given(programs())
def test_a_cut_is_where_history_ends(code):
    recording = record_code(code)
    for event in recording.run.events:
        if event.kind != "operation":
            continue
        lives = recording.run.lives
        history = any(u.requires_grad for u in event.inputs)
        kept = any(
            u.requires_grad and not lives[u.tensor].is_leaf
            for u in event.outputs
            if lives[u.tensor].names
        )
        named = all(lives[u.tensor].names for u in event.outputs)
        if history and named:
            assert bool(event.cut) != kept


@MANY
@given(programs())
def test_cut_and_unused_are_told_apart_by_the_value(code):
    space = {}
    recording = record_code(code, space)
    if recording.error is not None:
        return
    for leaf, numbers in (("x", "1.0, 2.0, 3.0, 4.0"), ("w", "0.5, 1.0")):
        reason = recording.why_no_grad(leaf).reason
        moved, _ = run(code.replace(numbers, numbers.replace("1.0", "1.25")))
        if reason == "unused":
            assert torch.equal(moved["loss"], space["loss"])


@MANY
@given(programs())
def test_every_picture_is_drawn(code):
    recording = record_code(code)
    for step in (0, len(recording.steps) // 2, -1):
        assert recording.draw_graph(step).text
        assert recording.draw_memory(step).text
    assert recording.player().text
