"""record and record_code: they see everything and change nothing."""

from __future__ import annotations

import gc
import pickle
import sys
import threading
import weakref

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.modules import module as nn_module
from torch.optim import optimizer as torch_optimizer

import helpers.recorder
from helpers import record, record_code

DEMO = """
import torch
x = torch.tensor(2.0, requires_grad=True)
y = x * 3
loss = y.detach() * x
loss.backward()
print("done")
"""


@pytest.fixture(autouse=True)
def strict(monkeypatch):
    """Whatever the recorder can't look at fails the test."""
    monkeypatch.setattr(helpers.recorder.journal, "STRICT", True)


def hooks():
    """Everything of torch's and Python's that a recording touches."""
    return {
        "modes": torch._C._len_torch_function_stack(),
        "pre": dict(nn_module._global_forward_pre_hooks),
        "post": dict(nn_module._global_forward_hooks),
        "step pre": dict(torch_optimizer._global_optimizer_pre_hooks),
        "step post": dict(torch_optimizer._global_optimizer_post_hooks),
        "tracer": sys.gettrace(),
        "stdout": sys.stdout,
        "grad mode": torch.is_grad_enabled(),
    }


def test_lines_and_what_they_printed(capsys):
    recording = record_code(DEMO)
    assert [s.line for s in recording.steps] == [2, 3, 4, 5, 6, 7]
    assert [s.printed for s in recording.steps][-1] == "done\n"
    assert capsys.readouterr().out == "done\n"


def test_operations_have_names_inputs_outputs_line_module_and_mode():
    recording = record_code(
        "import torch\n"
        "net = torch.nn.Linear(1, 1)\n"
        "x = torch.ones(1, 1)\n"
        "with torch.no_grad():\n"
        "    y = net(x)\n"
    )
    last = recording.operations[-1]
    assert last.name == "linear"
    assert last.inputs == ("x", "net.weight", "net.bias")
    assert last.outputs == ("y",)
    assert (last.line, last.module, last.grad_mode) == (5, "net", "no_grad")


def test_cuts_have_kind_operation_line_and_names():
    (cut,) = record_code(DEMO).cuts
    assert (cut.kind, cut.operation, cut.line) == ("detach", "detach", 5)
    assert cut.inputs == ("y",)


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("y = (x * 1).detach_()", "detach"),
        ("with torch.no_grad():\n    y = x * 2", "no_grad"),
        ("with torch.inference_mode():\n    y = x * 2", "inference_mode"),
        ("y = x.data", "data"),
        ("y = x.item()", "item"),
        ("y = x.tolist()", "item"),
        ("y = float(x)", "item"),
        ("y = int(x)", "item"),
        ("y = bool(x)", "item"),
        ("y = x.numpy(force=True)", "numpy"),
        ("y = torch.tensor(x)", "copy"),
        ("y = torch.tensor(x, requires_grad=True)", "copy"),
        ("y = torch.nn.Parameter(x * 1)", "copy"),
        ("y = x.argmax()", "not_differentiable"),
        ("y = x > 1", "not_differentiable"),
        ("y = x.long()", "not_differentiable"),
        ("x.requires_grad_(False)", "frozen"),
        ("x.requires_grad = False", "frozen"),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_every_kind_of_cut(code, kind):
    start = "import torch\nx = torch.tensor(2.0, requires_grad=True)\n"
    recording = record_code(start + code)
    assert recording.error is None
    assert [c.kind for c in recording.cuts] == [kind]


@pytest.mark.parametrize(
    "code",
    [
        "g = x.grad",
        "y = x.clone()",
        "y = x.round()",
        "n = x.shape, x.dtype, x.requires_grad, repr(x)",
        "with torch.no_grad():\n    x += 1",
        "y = torch.ones(1).detach()",
    ],
)
def test_what_is_no_cut(code):
    start = "import torch\nx = torch.tensor(2.0, requires_grad=True)\n"
    assert record_code(start + code).cuts == []


def test_an_error_ends_it_and_is_kept():
    recording = record_code("import torch\nx = torch.ones(1)\n1 / 0\ny = x")
    assert isinstance(recording.error, ZeroDivisionError)
    assert [s.line for s in recording.steps] == [1, 2, 3]
    assert "y" not in recording.snapshot.tensors


def test_a_syntax_error_is_kept():
    assert isinstance(record_code("x = (").error, SyntaxError)


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_everything_is_restored_when_the_program_raises(error):
    before = hooks()
    with pytest.raises(error), record():
        torch.ones(2).sum()
        raise error
    assert hooks() == before


def test_a_keyboard_interrupt_goes_on():
    before = hooks()
    with pytest.raises(KeyboardInterrupt):
        record_code("raise KeyboardInterrupt")
    assert hooks() == before


def test_a_tracer_that_was_there_comes_back():
    def tracer(frame, event, arg):
        return None

    old = sys.gettrace()
    sys.settrace(tracer)
    try:
        record_code(DEMO)
        with record():
            torch.ones(1)
        found = sys.gettrace()
    finally:
        sys.settrace(old)
    assert found is tracer


def test_recordings_nest():
    before = hooks()
    x = torch.ones(1, requires_grad=True)
    with record() as outer:
        y = x * 2
        with record() as inner:
            z = y * 3
        w = z * 4
    assert hooks() == before
    assert [o.outputs for o in inner.operations] == [("z",)]
    assert {o.outputs for o in outer.operations} >= {("y",), ("w",)}
    assert w.requires_grad


def test_variables_of_functions_are_left_alone():
    recording = record_code(
        "import torch\n"
        "def f(a):\n"
        "    b = a * 2\n"
        "    def g():\n"
        "        nonlocal b\n"
        "        b = b + 1\n"
        "        return [b * i for i in range(2)]\n"
        "    c = g()\n"
        "    del a\n"
        "    return b, c\n"
        "out = f(torch.ones(1))\n"
        "ok = out[0].item() == 3.0 and len(out[1]) == 2\n"
        "assert ok\n"
    )
    assert recording.error is None


def test_results_and_random_state_are_the_same():
    code = (
        "import torch\n"
        "torch.manual_seed(3)\n"
        "net = torch.nn.Sequential(torch.nn.Linear(4, 4), "
        "torch.nn.Dropout(0.5))\n"
        "loss = net(torch.randn(2, 4)).square().mean()\n"
        "loss.backward()\n"
        "grads = [p.grad for p in net.parameters()]\n"
    )
    plain, watched = {}, {}
    exec(code, plain)
    state = torch.get_rng_state()
    record_code(code, watched)
    assert torch.equal(state, torch.get_rng_state())
    for a, b in zip(plain["grads"], watched["grads"], strict=True):
        assert torch.equal(a, b)


def test_nothing_is_kept_alive():
    space = {}
    recording = record_code(DEMO, space)
    gone = [weakref.ref(space[n]) for n in ("x", "y", "loss")]
    storage = space["y"].untyped_storage()
    space.clear()
    gc.collect()
    assert [ref() for ref in gone] == [None] * 3
    assert recording.why_no_grad("x").reason == "has_grad"
    assert storage.nbytes() == 4


def test_a_recording_in_a_function_keeps_no_tensor():
    def work():
        big = torch.ones(1000)
        with record() as recording:
            other = big * 2
        return recording, weakref.ref(big), weakref.ref(other)

    recording, first, second = work()
    gc.collect()
    assert (first(), second()) == (None, None)
    assert [o.name for o in recording.operations] == ["mul"]


def test_a_run_is_plain_data():
    run = record_code(DEMO).run
    assert b"torch._C" not in pickle.dumps(run)
    assert pickle.loads(pickle.dumps(run)) == run


def test_a_recording_in_a_thread():
    found = []

    def work():
        found.append(record_code(DEMO))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert [c.kind for c in found[0].cuts] == ["detach"]


def test_a_long_run_keeps_the_first_steps_and_the_end():
    recording = record_code(
        "import torch\n"
        "x = torch.zeros(1)\n"
        "for i in range(3000):\n"
        "    x = x + 1\n"
    )
    assert len(recording.steps) > 6000
    assert recording.snapshot.tensors["x"].values == [3000.0]
    assert "steps are shown" in recording.player().text


def test_numbers_that_leave_and_come_back_are_marked():
    recording = record_code(
        "import torch\n"
        "x = torch.tensor(2.0, requires_grad=True)\n"
        "n = x.item()\n"
        "y = torch.full((2,), n)\n"
    )
    full = recording.run.events[-1]
    assert full.name == "full"
    assert any(note.startswith("left torch") for note in full.notes)


def test_an_array_is_linked_by_its_memory():
    recording = record_code(
        "import torch\n"
        "x = torch.ones(3)\n"
        "a = x.numpy()\n"
        "y = torch.from_numpy(a)\n"
    )
    assert recording.snapshot.shares_storage("x", "a")
    assert recording.snapshot.shares_storage("x", "y")


def test_a_write_through_numpy_is_seen():
    recording = record_code(
        "import torch\n"
        "x = torch.ones(3, requires_grad=True)\n"
        "y = x.exp()\n"
        "a = y.detach().numpy()\n"
        "a[0] = 7\n"
        "y.sum().backward()\n"
    )
    assert [p.kind for p in recording.problems] == ["silently_wrong"]
    assert recording.problems[0].line == 5


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "code",
    [
        "torch.func.vmap(lambda t: t * 2)(torch.ones(3, 2))",
        "torch.func.grad(lambda t: (t * 2).sum())(torch.ones(3))",
        "torch.func.jvp(torch.sin, (torch.ones(2),), (torch.ones(2),))",
        "torch.func.functional_call(net, {'weight': w}, (x,)).sum()",
        "checkpoint(net, x, use_reentrant=False).sum().backward()",
        "checkpoint(net, x, use_reentrant=True).sum().backward()",
        "torch.nn.LSTM(2, 2)(torch.ones(3, 1, 2))[0].sum().backward()",
        "torch.nn.MultiheadAttention(2, 1)(x[None], x[None], x[None])",
        "copy.deepcopy(net)(x).sum().backward()",
        "net.load_state_dict(copy.deepcopy(net).state_dict(), assign=True)",
        "torch.compile(lambda t: t.relu() * 2, backend='eager')(x)",
        "h = x.register_hook(lambda g: g * 2); net(x).sum().backward()",
        "torch.nested.nested_tensor([torch.ones(1), torch.ones(2)])",
        "torch.eye(2).to_sparse() @ torch.ones(2, 1)",
        "torch.ones(2, device='meta') * 2",
        "torch.add(x, 1, out=torch.empty(0))",
    ],
)
def test_nothing_of_torchs_breaks_it(code):
    start = (
        "import copy, torch\n"
        "from torch.utils.checkpoint import checkpoint\n"
        "net = torch.nn.Linear(2, 2, bias=False)\n"
        "w = torch.ones(2, 2, requires_grad=True)\n"
        "x = torch.ones(1, 2, requires_grad=True)\n"
    )
    plain = {}
    try:
        exec(start + code, plain)
        expected = None
    except Exception as error:
        expected = type(error)
    recording = record_code(start + code)
    assert (recording.error and type(recording.error)) == expected
    assert recording.draw_graph().text
    assert recording.player().html


def test_a_loop_of_arrays_without_torch():
    recording = record_code("import numpy as np\na = np.ones(3)\na += 1")
    assert recording.snapshot.tensors["a"].type == "ndarray"
    assert np.ones(1).size == 1


def test_optimizers_and_cleared_gradients_are_seen():
    recording = record_code(
        "import torch\n"
        "w = torch.nn.Parameter(torch.ones(1))\n"
        "opt = torch.optim.SGD([w], lr=0.1)\n"
        "(w * 2).sum().backward()\n"
        "opt.step()\n"
        "opt.zero_grad()\n"
    )
    kinds = [e.kind for e in recording.run.events if e.kind != "operation"]
    assert kinds == ["backward", "step", "grad_set"]


def test_a_module_around_the_operations():
    net = nn.Sequential(nn.Linear(1, 1), nn.ReLU())
    x = torch.ones(1, 1)
    with record() as recording:
        y = net(x)
    assert [o.module for o in recording.operations] == ["net.0", "net.1"]
    assert y.requires_grad


def test_the_first_line_did_not_make_what_was_there_before():
    old = torch.ones(2)
    recording = record_code("new = old + 1", {"old": old})
    told = recording.draw_memory(0).text
    assert told.count("new on this line") == 1


def test_memory_leaves_out_what_the_code_neither_names_nor_uses():
    space = {"elsewhere": torch.ones(2), "x": torch.ones(2)}
    told = record_code("y = x + 1", space).draw_memory().text
    assert "x: " in told
    assert "elsewhere" not in told


def test_memory_shows_what_a_function_uses_that_the_code_does_not_name():
    hidden = torch.ones(2)
    space = {"hidden": hidden, "add": lambda: hidden + 1}
    told = record_code("y = add()", space).draw_memory().text
    assert "hidden: " in told


def test_memory_shows_what_shares_a_storage_with_the_code():
    x = torch.ones(2)
    told = record_code("y = x + 1", {"x": x, "view": x[:1]}).draw_memory().text
    assert "view: " in told


def saved_by(recording, line):
    """What an operation in a line saved: labels, names, and versions."""
    lives = {life.counter: life.names for life in recording.run.lives.values()}
    return next(
        [(s.label, *lives[s.counter], s.version) for s in event.saved]
        for event in recording.run.events
        if event.line == line and event.kind == "operation"
    )


def test_a_product_saves_its_own_factors_and_not_those_of_a_square():
    recording = record_code(
        "import torch\n"
        "x = torch.ones(2, requires_grad=True)\n"
        "y = torch.ones(2, requires_grad=True)\n"
        "a = x * x\n"
        "b = x * y\n"
        "c = y * x\n"
        "d = y * y\n"
    )
    assert saved_by(recording, 4) == [("other", "x", 0), ("self", "x", 0)]
    assert saved_by(recording, 5) == [("other", "y", 0), ("self", "x", 0)]
    assert saved_by(recording, 6) == [("other", "x", 0), ("self", "y", 0)]
    assert saved_by(recording, 7) == [("other", "y", 0), ("self", "y", 0)]


def test_what_is_saved_again_has_the_version_of_then():
    recording = record_code(
        "import torch\n"
        "x = torch.ones(2, requires_grad=True)\n"
        "k = torch.ones(2)\n"
        "a = x * k\n"
        "k.add_(1)\n"
        "b = x * k\n"
    )
    assert saved_by(recording, 4) == [("other", "k", 0)]
    assert saved_by(recording, 6) == [("other", "k", 1)]


def test_what_hooks_pack_is_not_told_as_saved():
    recording = record_code(
        "import torch\n"
        "x = torch.ones(2, requires_grad=True)\n"
        "a = x.exp()\n"
        "pack = torch.autograd.graph.saved_tensors_hooks(id, None)\n"
        "with torch.autograd.graph.save_on_cpu():\n"
        "    b = x.exp()\n"
        "c = x.exp()\n"
    )
    assert saved_by(recording, 3) == [("result", "a", 0)]
    assert saved_by(recording, 6) == []
    assert saved_by(recording, 7) == [("result", "c", 0)]


def test_what_autocast_casts_is_not_told_as_saved():
    recording = record_code(
        "import torch\n"
        "x = torch.ones(2, 2, requires_grad=True)\n"
        "k = torch.ones(2, 2)\n"
        "a = k @ x\n"
        "with torch.autocast('cpu', torch.bfloat16):\n"
        "    b = k @ x\n"
    )
    assert saved_by(recording, 4) == [("self", "k", 0)]
    assert saved_by(recording, 6) == []


def test_a_result_that_is_the_input_is_no_new_tensor():
    recording = record_code(
        "import torch\n"
        "x = torch.ones(2)\n"
        "a = x.contiguous()\n"
        "b = x.contiguous()\n"
    )
    again = recording.run.events[-1]
    assert again.outputs == again.inputs


def test_a_line_that_changes_nothing_shows_what_the_line_before_shows():
    recording = record_code("import torch\nx = torch.ones(2)\nk = 3\ny = x\n")
    _, second, third, fourth = [step.snapshot for step in recording.steps]
    assert third is second
    assert fourth.tensors["y"] is fourth.tensors["x"]


def test_a_tensor_that_moves_into_a_list_is_seen_there():
    recording = record_code(
        "import torch\nkept = []\nx = torch.ones(2)\nkept.append(x)\n"
    )
    assert recording.steps[-1].snapshot.tensors["kept[0]"].names == (
        "kept[0]",
        "x",
    )


COMPILED = """
import torch
from torch import nn
net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1, bias=False))
f = torch.compile(net, backend="eager")
x = torch.ones(1, 2, requires_grad=True)
y = x * 2
with torch.device("cpu"):
    z = f(y)
z.sum().backward()
w = x + 1
"""


@pytest.mark.filterwarnings("error:Using `torch.compile", "error:Dynamo")
def test_a_compiled_module_is_one_operation_with_its_parameters():
    recording = record_code(COMPILED)
    (box,) = [o for o in recording.operations if "compiled" in o.name]
    assert box.name == "compiled: Sequential"
    assert sorted(box.inputs) == [
        *("net.0.bias", "net.0.weight", "net.1.weight", "y")
    ]
    assert (box.outputs, box.line) == (("z",), 9)


def test_what_comes_after_a_compiled_region_is_recorded():
    recording = record_code(COMPILED)
    assert [o.name for o in recording.operations][-3:] == [
        *("compiled: Sequential", "sum", "add")
    ]


def test_modes_around_a_compiled_region_stay_in_order():
    before = hooks()
    seen = []
    code = (
        "import torch\n"
        "f = torch.compile(lambda t: t + 1, backend='eager')\n"
        "with torch.device('cpu'):\n"
        "    f(torch.ones(1))\n"
        "    stack = torch.overrides._get_current_function_mode_stack()\n"
        "    seen += [type(mode).__name__ for mode in stack]\n"
    )
    record_code(code, {"seen": seen})
    assert seen == ["_Mode", "DeviceContext"]
    assert hooks() == before


def test_a_compiled_region_that_raises_puts_everything_back():
    before = hooks()
    code = (
        "import torch\n"
        "f = torch.compile(lambda t: t.reshape(7), backend='eager')\n"
        "f(torch.ones(2))\n"
    )
    assert record_code(code).error is not None
    assert hooks() == before


def test_modules_in_other_threads_are_said_to_be_left_out():
    recording = record_code(
        "import threading, torch\n"
        "net = torch.nn.Linear(1, 1)\n"
        "work = threading.Thread(target=net, args=(torch.ones(1),))\n"
        "work.start()\n"
        "work.join()\n"
        "y = net.weight * 2\n"
    )
    assert recording.run.notes == (
        "What runs in other threads is not recorded, as the call of Linear",
    )
    assert [(o.name, o.module) for o in recording.operations][-1] == (
        "mul",
        "",
    )


OUTSIDE = torch.ones(1, requires_grad=True)
UNUSED = torch.ones(1)


def test_in_a_function_what_it_uses_from_outside_has_its_name():
    with record() as recording:
        y = OUTSIDE * 2
        y.backward()
    assert "OUTSIDE: leaf" in recording.draw_graph().text
    assert recording.why_no_grad("OUTSIDE").reason == "has_grad"


def test_in_a_function_what_it_does_not_use_is_left_out():
    with record() as recording:
        y = OUTSIDE * 2
        y.backward()
    assert "UNUSED" not in recording.snapshot.tensors


def test_what_a_function_uses_from_outside_is_not_new():
    with record() as recording:
        y = OUTSIDE * 2
    storage = recording.snapshot.tensors["OUTSIDE"].storage
    lines = recording.draw_memory(0).text.splitlines()
    assert y.item() == 2
    assert f"storage {storage}: 4 bytes, version 0" in lines


def test_a_fault_of_ours_does_not_stop_the_program(monkeypatch):
    """Also where an operation is noted as one of its form before."""

    def fail(self, plan, tensors, result):
        raise ValueError("ours")

    monkeypatch.setattr(helpers.recorder.journal, "STRICT", False)
    monkeypatch.setattr(
        helpers.recorder.operations.Operations, "_note_again", fail
    )
    recording = record_code(
        "import torch\n"
        "x = torch.ones(2)\n"
        "a = x.sin()\n"
        "b = x.sin()\n"
        "c = x.cos()\n"
    )
    assert recording.error is None
    assert recording.run.notes == (
        "sin in line 4 could not be looked at: ValueError",
    )
    assert [o.name for o in recording.operations][-1] == "cos"


FUNCTIONS = """
import torch

class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        twice = x * 2
        return twice

    @staticmethod
    def backward(ctx, grad):
        return grad * 2

class Apart(torch.autograd.Function):
    @staticmethod
    def forward(x, k=2):
        return x * k

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mean = inputs[0].mean()

    @staticmethod
    def backward(ctx, grad):
        return grad * 2, None

class Same(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, grad):
        return -grad

class Short(torch.autograd.Function):
    forward = staticmethod(lambda ctx, *args: args[0] * 2)
    backward = staticmethod(lambda ctx, grad: grad * 2)

class Packed(torch.autograd.Function):
    @staticmethod
    def forward(*args):
        ctx, x = args
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 2

class Around(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return Scale.apply(x), x

    @staticmethod
    def backward(ctx, grad, other):
        return grad

x = torch.ones(2, requires_grad=True)
"""


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("y = Scale.apply(x)", ["Scale"]),
        ("y = Apart.apply(x)", ["Apart"]),
        ("y = Same.apply(x)", ["Same"]),
        ("y = Short.apply(x)", ["Short"]),
        ("y = Packed.apply(x)", ["Packed"]),
        ("y, z = Around.apply(x)", ["Around"]),
        ("y = Same.apply(x).sum()", ["Same", "sum"]),
        ("y = Scale.apply(Apart.apply(x))", ["Apart", "Scale"]),
        ("y = torch.relu(Scale.apply(x))", ["Scale", "relu"]),
    ],
)
def test_a_custom_function_is_one_operation_of_the_line_that_calls_it(
    line, told
):
    recording = record_code(FUNCTIONS + line)
    assert recording.error is None
    number = FUNCTIONS.count("\n") + 1
    operations = [(o.name, o.line) for o in recording.operations[1:]]
    assert operations == [(name, number) for name in told]
    assert recording.cuts == []


def test_a_custom_function_under_no_grad_is_a_cut_of_the_line_that_calls_it():
    recording = record_code(
        FUNCTIONS + "with torch.no_grad():\n    y = Scale.apply(x)"
    )
    number = FUNCTIONS.count("\n") + 1
    (cut,) = recording.cuts
    assert (cut.kind, cut.line) == ("no_grad", number + 1)


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("y = 1 - x", "rsub"),
        ("y = 2 ** x", "rpow"),
        ("y = x[0]", "getitem"),
        ("y = (x > 0) & (x < 2)", "and"),
    ],
)
def test_operators_have_the_names_of_operations(line, name):
    recording = record_code(f"import torch\nx = torch.ones(2)\n{line}")
    assert recording.operations[-1].name == name


def test_an_object_that_refuses_to_be_asked_is_not_asked():
    recording = record_code(
        "class Rude:\n"
        "    @property\n"
        "    def __class__(self):\n"
        "        raise RuntimeError\n"
        "    def work(self):\n"
        "        return 1\n"
        "y = Rude().work()\n"
    )
    assert recording.error is None
