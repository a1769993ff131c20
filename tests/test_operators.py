"""PyTorch's own operator database under the recorder: 702 operators.

Every operator runs, with a few of its samples; all of them run with
``ALL_OPERATOR_SAMPLES=1``.  Each sample is run twice from the same random
state, without and with a recording.  What must hold is asked from torch
itself: its results, its addresses, its flags.

``--dist loadfile`` keeps this file on one core: it has to stay short.
"""

from __future__ import annotations

import os
import random
import warnings
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy
import pytest
import torch
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves

from helpers import record_code, recorder

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from torch.testing._internal.common_methods_invocations import op_db

ALL = os.environ.get("ALL_OPERATOR_SAMPLES") == "1"
MOST = 5  # samples of an operator and a dtype, spread evenly
OTHERS = (torch.float64, torch.complex64, torch.int64, torch.bool)
MOST_SHOWN = 60  # tensors that a picture of everything shows
CODE = "out = call(given, *args, **kwargs)"
CODE_NO_GRAD = f"with torch.no_grad():\n    {CODE}"
CODE_TWICE = f"{CODE}\n{CODE}"
EACH_NO_GRAD = 3  # every third sample is recorded in no_grad too

# Operators that do not run here, and why.
SKIPPED = dict.fromkeys(
    (
        "jiterator_unary",
        "jiterator_binary",
        "jiterator_4inputs_with_extra_args",
        "jiterator_binary_return_by_ref",
        "jiterator_2inputs_2outputs",
    ),
    "jiterator runs on a GPU only",
)
# Operators whose values are not compared, only their shapes, and why.
SHAPE_ONLY = dict.fromkeys(
    (
        "empty",
        "empty_like",
        "empty_permuted",
        "empty_strided",
        "new_empty",
        "new_empty_strided",
    ),
    "its memory is not initialized",
)
# Operators whose last bits differ from call to call, and why.
CLOSE = dict.fromkeys(
    ("linalg.lstsq", "linalg.lstsq-grad_oriented"),
    "LAPACK's gelsy differs from itself by a rounding",
)
# Operators whose inputs can't require a gradient, and why.
NO_GRADIENT = dict.fromkeys(
    ("resize_", "resize_as_"),
    "torch refuses to resize what requires a gradient",
)
# Operators on which the recorder is wrong, and how.
WRONG: dict[str, str] = {}
# Functions that leave torch: a number or an array has no history.
LEAVES = {
    "item",
    "tolist",
    "numpy",
    "__array__",
    "__bool__",
    "__complex__",
    "__float__",
    "__index__",
    "__int__",
}
FOUND: Counter[str] = Counter()


def name_of(op: Any) -> str:
    """The operator's name, with its variant."""
    variant = op.variant_test_name
    return f"{op.name}-{variant}" if variant else op.name


def parameters() -> Iterator[Any]:
    """Every operator, marked where it is known to go wrong."""
    for op in op_db:
        name = name_of(op)
        marks = []
        if name in SKIPPED:
            marks = [pytest.mark.skip(reason=SKIPPED[name])]
        elif name in WRONG:
            marks = [pytest.mark.xfail(strict=True, reason=WRONG[name])]
        yield pytest.param(op, id=name, marks=marks)


@pytest.fixture(autouse=True)
def strict(monkeypatch: Any) -> Iterator[None]:
    """Nothing is passed over in silence, and one thread adds in one order."""
    monkeypatch.setattr(recorder.journal, "STRICT", True)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    torch.set_num_threads(threads)


class Flags(TorchFunctionMode):
    """What torch's own flags say of each call: which one is a cut."""

    def __init__(self) -> None:
        super().__init__()
        self.cuts: list[str] = []

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        ins = tensors((args, kwargs))
        history = any(t.requires_grad for t in ins)
        result = func(*args, **kwargs)
        name = getattr(func, "__name__", "")
        if name == "__get__":
            name = func.__self__.__name__
        outs = tensors(result)
        told = bool(outs) or name in LEAVES
        if history and told and name != "grad" and not carries(outs, ins):
            self.cuts.append(name.strip("_"))
        return result


def carries(outs: list[torch.Tensor], ins: list[torch.Tensor]) -> bool:
    """Say whether a result has a history, or is an input itself."""
    return any(
        t.requires_grad and (not t.is_leaf or any(t is i for i in ins))
        for t in outs
    )


def tensors(things: Any) -> list[torch.Tensor]:
    """The tensors in nested tuples, lists and dicts."""
    return [t for t in tree_leaves(things) if isinstance(t, torch.Tensor)]


def seed() -> None:
    """Begin each call from the same random state."""
    torch.default_generator.manual_seed(0)  # manual_seed reads the stack
    numpy.random.seed(0)
    random.seed(0)


def samples_of(op: Any, dtype: torch.dtype) -> list[Any]:
    """The operator's samples, or some of them, spread evenly.

    Floats require a gradient also where the operator has none: it is a cut.
    """
    wants = dtype.is_floating_point and name_of(op) not in NO_GRADIENT
    if op.supports_autograd:
        wants = wants or dtype in op.supported_backward_dtypes("cpu")
    seed()
    # as sample_inputs, which reads the whole stack for a test of torch's
    found = list(op.sample_inputs_func(op, "cpu", dtype, wants))
    if ALL or len(found) <= MOST:
        return found
    return [found[i * (len(found) - 1) // (MOST - 1)] for i in range(MOST)]


def address_of(tensor: torch.Tensor) -> int:
    """Where a tensor's storage lies; 0 where there is nothing."""
    try:
        storage = tensor.untyped_storage()
    except (RuntimeError, NotImplementedError):  # sparse
        return 0
    return storage.data_ptr() if storage.nbytes() else 0


def gradients(
    op: Any, ins: list[torch.Tensor], outs: list[torch.Tensor]
) -> list[torch.Tensor | None]:
    """The gradient of the sum of the first result that has one."""
    if not op.supports_autograd:  # flags say yes, and backward raises
        return []
    wanted = [t for t in ins if t.requires_grad]
    results = [t for t in outs if t.requires_grad]
    if not wanted or not results:
        return []
    first = results[0]
    loss = (first.real if first.is_complex() else first).sum()
    FOUND["gradients"] += 1
    return list(torch.autograd.grad(loss, wanted, allow_unused=True))


def check_same(got: Any, want: Any, name: str) -> None:
    """Compare two results bit by bit, or as far as the operator allows."""
    if want is None or got is None:
        assert got is want
        return
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    assert got.layout is want.layout
    if name in SHAPE_ONLY:
        return
    got, want = got.detach(), want.detach()
    if want.dtype is torch.complex32:  # it has no equal
        got, want = torch.view_as_real(got), torch.view_as_real(want)
    if want.layout is not torch.strided:
        got, want = got.to_dense(), want.to_dense()
    bound = 1e-5 if name in CLOSE else 0.0
    same = torch.equal(got, want) or torch.allclose(
        got, want, rtol=bound, atol=bound, equal_nan=True
    )
    assert same, f"{got} is not {want}"


def check_storage(
    recording: Any, ins: list[torch.Tensor], outs: list[torch.Tensor]
) -> None:
    """Storages are shared where the addresses are the same."""
    known = recording._identity.known
    lives, shown = recording.run.lives, recording.snapshot.by_id
    few = len({id(t) for t in [*ins, *outs]}) <= MOST_SHOWN
    for i, out in enumerate(outs):
        for j, given in enumerate(ins):
            here, there = address_of(out), address_of(given)
            if not here or not there:
                continue
            a, b = known(out), known(given)
            for kind, facts in (("lives", lives), ("snapshot", shown)):
                if kind == "snapshot" and not few:
                    continue
                first, second = facts[a].storage, facts[b].storage
                says = first is not None and first == second
                assert says == (here == there), (
                    f"{kind}: output {i} has {first}, input {j} has {second}"
                )
            FOUND["pairs"] += 1
            FOUND["shared"] += here == there


def check_recording(
    op: Any, sample: Any, code: str
) -> tuple[list[torch.Tensor], torch.Tensor]:
    """Record a sample and check what the recording says; return results."""
    flags = Flags()

    def call(*args: Any, **kwargs: Any) -> Any:
        with flags:
            return op.get_op()(*args, **kwargs)

    space = {
        "torch": torch,
        "call": call,
        "given": sample.input,
        "args": sample.args,
        "kwargs": sample.kwargs,
    }
    seed()
    recording = record_code(code, space)
    state = torch.get_rng_state()
    if recording.error is not None:
        raise recording.error
    ins = tensors((sample.input, sample.args, sample.kwargs))
    outs = tensors(space["out"])
    check_storage(recording, ins, outs)
    cuts = [e.name.strip("_") for e in recording.run.events if e.cut]
    assert cuts == flags.cuts, f"cuts: {cuts}; torch's flags: {flags.cuts}"
    FOUND["cuts"] += len(cuts)
    assert recording.draw_graph().text
    assert recording.draw_memory().text
    return outs, state


def check_twice(op: Any, sample: Any) -> None:
    """What was learned from the first call must hold for the second."""
    space = {
        "call": op.get_op(),
        "given": sample.input,
        "args": sample.args,
        "kwargs": sample.kwargs,
    }
    run = record_code(CODE_TWICE, space).run
    if any(e.kind == "in_place" for e in run.events):
        return  # the second call has other inputs

    def told(event: Any) -> tuple[Any, ...]:
        names = {run.lives[u.tensor].counter: "out" for u in event.outputs}
        for i, use in enumerate(event.inputs):
            names.setdefault(run.lives[use.tensor].counter, i)
        return (
            *(event.kind, event.name, event.mode, event.cut, event.grad_fn),
            [use.requires_grad for use in event.inputs],
            [use.requires_grad for use in event.outputs],
            [(s.label, names.get(s.counter), s.version) for s in event.saved],
        )

    first, second = (
        [told(run.events[i]) for i in step.events] for step in run.steps
    )
    assert first == second
    FOUND["again"] += len(second)


def check_sample(op: Any, sample: Any, no_grad: bool) -> None:
    """Run a sample without and with a recording, and compare."""
    name = name_of(op)
    ins = tensors((sample.input, sample.args, sample.kwargs))
    seed()
    plain = tensors(op(sample.input, *sample.args, **sample.kwargs))
    plain_state = torch.get_rng_state()
    plain_grads = gradients(op, ins, plain)
    # the second call would write an input that is the result, too
    plain = [t.clone() if any(t is i for i in ins) else t for t in plain]

    outs, state = check_recording(op, sample, CODE)
    assert torch.equal(state, plain_state), "the random state has changed"
    for got, want in zip(outs, plain, strict=True):
        check_same(got, want, name)
    for got, want in zip(gradients(op, ins, outs), plain_grads, strict=True):
        check_same(got, want, name)
    if no_grad:
        check_recording(op, sample, CODE_NO_GRAD)
        check_twice(op, sample)


@pytest.mark.parametrize("op", list(parameters()))
def test_operator(op: Any) -> None:
    """A recording changes nothing, and says what torch says."""
    dtypes = op.supported_dtypes("cpu")
    others = [d for d in OTHERS if d in dtypes][:1]
    FOUND["operators"] += 1
    for dtype in [torch.float32, *others]:
        if dtype not in dtypes:
            continue
        for i, sample in enumerate(samples_of(op, dtype)):
            no_grad = i % EACH_NO_GRAD == 0
            try:
                check_sample(op, sample, no_grad)
            except Exception as error:
                where = f"{name_of(op)}, {dtype}, sample {i}"
                raise AssertionError(f"{where}: {error}") from error
            FOUND["samples"] += 1


def test_count(record_property: Any) -> None:
    """Say how much was looked at, and that it was not too little."""
    ran = FOUND["operators"]
    record_property(
        "summary",
        f"{ran} of {len(op_db)} operators, {FOUND['samples']:,} samples, "
        f"{len(SKIPPED)} skipped ({'; '.join({*SKIPPED.values()})}), "
        f"{len(WRONG)} known to be wrong; "
        f"{FOUND['gradients'] // 2:,} gradients, {FOUND['cuts']:,} cuts, "
        f"{FOUND['pairs']:,} pairs of tensors ({FOUND['shared']:,} share), "
        f"{FOUND['again']:,} operations run again",
    )
    assert len(op_db) > 600
    assert len(SKIPPED) + len(SHAPE_ONLY) + len(CLOSE) + len(WRONG) < 30
    if ran == len(op_db) - len(SKIPPED):
        assert FOUND["samples"] > 5_000
        assert FOUND["gradients"] > 5_000
        assert FOUND["cuts"] > 1_000
        assert FOUND["pairs"] > 8_000
        assert FOUND["shared"] > 500
        assert FOUND["again"] > 2_000
