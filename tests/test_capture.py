"""Live tensors → Snapshot: what it says is what torch says."""

from __future__ import annotations

import sys

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.capture import look_at, take


def snapshot(**named):
    """Take a snapshot of named tensors."""
    caller = look_at(sys._getframe(1), 0)
    return take("draw_memory", list(named.items()), caller)


@st.composite
def views(draw):
    """A base tensor of whole numbers and a view of it, through a few steps."""
    base = torch.arange(24.0)
    view = base.view(draw(st.sampled_from([(24,), (4, 6), (2, 3, 4)])))
    for _ in range(draw(st.integers(0, 4))):
        axis = draw(st.integers(0, view.dim() - 1)) if view.dim() else None
        step = draw(
            st.sampled_from(["narrow", "stride", "t", "pick", "expand"])
        )
        if axis is None:
            break
        size = view.shape[axis]
        if step == "narrow":
            start = draw(st.integers(0, size))
            view = view.narrow(axis, start, draw(st.integers(0, size - start)))
        elif step == "stride":
            view = view[(slice(None),) * axis + (slice(None, None, 2),)]
        elif step == "t":
            view = view.transpose(0, axis)
        elif step == "pick" and size:
            view = view.select(axis, draw(st.integers(0, size - 1)))
        elif step == "expand":
            view = view.unsqueeze(0).expand(2, *view.shape)
    return base, view


@settings(max_examples=300, deadline=None)
@given(views())
def test_a_window_reads_the_cells_that_the_tensor_reads(pair):
    base, view = pair
    facts = snapshot(base=base, view=view).tensors["view"]
    cells = [byte // 4 for _, byte in facts.positions()]
    assert base[cells].tolist() == view.flatten().tolist()


@settings(max_examples=300, deadline=None)
@given(views())
def test_stride_offset_and_shape_are_torchs(pair):
    base, view = pair
    facts = snapshot(base=base, view=view).tensors["view"]
    assert facts.stride == view.stride()
    assert facts.offset == view.storage_offset()
    assert facts.shape == tuple(view.shape)


@settings(max_examples=300, deadline=None)
@given(views(), st.booleans())
def test_sharing_is_what_the_storages_say(pair, cloned):
    base, view = pair
    other = view.clone() if cloned else view
    said = snapshot(base=base, other=other).shares_storage("base", "other")
    same = base.untyped_storage().data_ptr() == (
        other.untyped_storage().data_ptr()
    )
    assert said == same


def test_facts_of_a_parameter():
    w = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
    facts = snapshot(w=w).tensors["w"]
    assert (facts.type, facts.dtype, facts.shape) == (
        "Parameter",
        "float32",
        (2,),
    )
    assert facts.values == [1.0, 2.0]


def test_many_values_are_not_read():
    assert snapshot(big=torch.ones(1000)).tensors["big"].values is None


def test_an_unknown_name_is_told_with_those_that_are_there():
    with pytest.raises(KeyError, match="no tensor is named 'b'; known: a"):
        snapshot(a=torch.ones(1)).shares_storage("a", "b")


def test_ids_run_in_order_of_first_appearance():
    found = snapshot(a=torch.ones(1), b=torch.ones(1))
    assert [t.id for t in found.objects] == ["t0", "t1"]
    assert [s.id for s in found.storages] == ["s0", "s1"]


def test_a_snapshot_is_plain_data():
    import pickle

    a = torch.ones(2, requires_grad=True)
    found = snapshot(a=a, b=a * 2)
    assert b"torch" not in pickle.dumps(found)
    assert pickle.loads(pickle.dumps(found)) == found
