"""What goes wrong around a picture or a recording breaks neither it nor the
program.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nbformat
import pytest
import torch
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from nbclient import NotebookClient
from torch import nn
from touching import touched

import helpers
from helpers import draw_graph, draw_memory, facts, record, record_code
from helpers.diagrams import layout

ROOT = Path(__file__).parents[1]
# Everything that the package can show, of one small program.
PROGRAM = """
import torch
from helpers import draw_graph, draw_memory, facts, record, what_if
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Tanh())
x = torch.ones(4, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
with record() as recording:
    h = net(x)
    d = h.detach()
    loss = (h * d).sum()
    loss.backward()
    optimizer.step()
for shown in (
    draw_memory(x, h),
    draw_graph(loss, net),
    facts(h, d),
    recording.draw_graph(),
    recording.draw_memory(),
    recording.player(),
    what_if(lambda cut: draw_graph(h.detach() if cut else h), cut=[True]),
):
    assert len(shown.html) > 100
    print(shown.text)
"""


def run(code, *flags, **environment):
    """Run a program; return what it prints, when it prints no complaint."""
    result = subprocess.run(
        [sys.executable, *flags, "-c", code],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (result.returncode, result.stderr) == (0, "")
    return result.stdout


def a_graph():
    w = torch.ones(2, requires_grad=True)
    return (w * 2).exp().sum()


# -- the layout engine


def engine_of(monkeypatch, folder, script):
    engine = folder / "engine"
    engine.write_text(f"#!/bin/sh\n{script}\n")
    engine.chmod(0o755)
    monkeypatch.setattr(layout, "find_engine", lambda: str(engine))


@pytest.mark.parametrize(
    "script",
    [
        'cat > /dev/null; printf \'[{"bb": "0,0,\'; kill -9 $$',
        'cat > /dev/null; printf \'{"bb": "0,0,\'; exit 0',
        "exec 0<&-; exit 0",
        "exec sleep 60",
        "sleep 60 & sleep 60",  # whose child keeps the pipes open
        "echo no memory >&2; exit 1",
        "printf '\\377'",
    ],
    ids=["killed", "half", "deaf", "slow", "child", "failed", "no text"],
)
def test_a_picture_comes_whatever_the_engine_does(
    monkeypatch, tmp_path, script
):
    monkeypatch.setattr(layout, "BUDGET", 0.5)
    engine_of(monkeypatch, tmp_path, script)
    picture = draw_graph(a_graph())
    assert picture.svg.count("ExpBackward0") == 1
    assert "Graphviz was stopped or took too long" in picture.svg


def test_a_player_comes_whatever_the_engine_does(monkeypatch, tmp_path):
    engine_of(monkeypatch, tmp_path, "kill -9 $$")
    recording = record_code("import torch\ny = torch.ones(2) * 3")
    assert recording.player().html.count("helpers-player") > 0


def test_without_any_graphviz_a_picture_says_what_to_install(tmp_path):
    code = (
        "import sys\n"
        f"sys.executable = {str(tmp_path / 'python')!r}\n"
        "import torch, helpers\n"
        "w = torch.ones(2, requires_grad=True)\n"
        "picture = helpers.draw_graph((w * 2).exp().sum())\n"
        "print('pip install graphviz-pure' in picture.svg)\n"
        "print('ExpBackward0' in picture.svg)"
    )
    assert run(code, PATH=str(tmp_path)) == "True\nTrue\n"


# -- where it is saved


@pytest.mark.parametrize("ending", [".svg", ".png", ".html", ".txt"])
@pytest.mark.parametrize(
    "folder",
    ["nowhere", "a file", "a folder.of.that.name", "not writable"],
)
def test_what_cannot_be_written_is_told_in_one_sentence(
    tmp_path, folder, ending
):
    path = tmp_path / folder / f"picture{ending}"
    if folder == "a file":
        (tmp_path / folder).touch()
    elif folder == "a folder.of.that.name":
        path.mkdir(parents=True)
    elif folder == "not writable":
        path = Path("/sys") / f"picture{ending}"  # not even by root
        if not Path("/sys/kernel").exists():
            pytest.skip("no folder that nobody may write to")
    with pytest.raises(OSError) as caught:
        draw_memory(torch.ones(1)).save(path)
    told = str(caught.value)
    assert told.startswith(
        f"can't save 'picture{ending}' in the folder {str(path.parent)!r} ("
    )
    assert told.endswith("that exists and where you may write.")


def test_a_page_that_cannot_be_written_is_told_so_too(tmp_path):
    player = record_code("1").player()
    with pytest.raises(FileNotFoundError, match=r"can't save 'p\.html' in"):
        player.save(tmp_path / "nowhere" / "p.html")


@pytest.mark.parametrize(
    "home", ["/dev/null", "/nowhere"], ids=["no folder", "not there"]
)
def test_a_home_that_cannot_be_written(tmp_path, home):
    code = PROGRAM + f"draw_memory(x).save({str(tmp_path / 'x.png')!r})\n"
    unset = dict.fromkeys(("MPLCONFIGDIR", "XDG_CONFIG_HOME"), "")
    run(code, HOME=home, **unset)
    assert (tmp_path / "x.png").stat().st_size > 1000


# -- how Python and torch are set


@pytest.fixture(scope="module")
def plain():
    return run(PROGRAM)


@pytest.mark.parametrize("flags", ["-O", "-Werror", "-Xdev"])
def test_python_started_otherwise_shows_the_same(plain, flags):
    assert run(PROGRAM, flags) == plain


@pytest.mark.parametrize("fill", [True, False])
def test_deterministic_algorithms_show_the_same(plain, fill):
    setting = (
        "import torch; torch.use_deterministic_algorithms(True); "
        f"torch.utils.deterministic.fill_uninitialized_memory = {fill}"
    )
    assert run(PROGRAM.replace("import torch", setting, 1)) == plain


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ("torch.set_default_dtype(torch.float64)", "float64 [4, 2]"),
        ("torch.set_default_device('meta')", "meta: it has a shape"),
    ],
)
def test_another_default_is_told(setting, says):
    more = "print([c.kind for c in recording.cuts], len(recording.problems))"
    shown = run(f"import torch\n{setting}\n{PROGRAM}{more}")
    assert says in shown
    assert shown.endswith("['detach'] 0\n")


def test_values_on_the_cpu_are_read_under_a_default_of_meta():
    w = torch.tensor([1.5, 2.5], requires_grad=True)
    torch.set_default_device("meta")
    try:
        recording = record_code("y = w * 2\ny.sum().backward()", {"w": w})
        text = recording.draw_memory().text
        norm = draw_graph(w).text
    finally:
        torch.set_default_device(None)
    assert "float32: 3.0 5.0" in text
    assert "[2.0, 2.0]" in norm


# -- an interrupt


class Interrupt:
    """Raise KeyboardInterrupt at the n-th call into our code, as ctrl-C
    might.  Leaves out the call of __exit__ itself, which nobody can guard.
    """

    def __init__(self, n):
        self.left = n
        self.came = False

    def __call__(self, frame, event, arg):
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(OURS):
            return
        if code.co_name in ("__exit__", "_trace_calls", "__del__"):
            return
        func = frame.f_locals.get("func")
        if getattr(func, "__name__", "") == "_set_grad_enabled":
            return  # torch puts the grad mode back, which nothing guards
        if code.co_flags & inspect.CO_GENERATOR:
            return  # would not run its finally, which after ctrl-C it does
        self.left -= 1
        if self.left == 0:
            self.came = True
            sys.setprofile(None)
            raise KeyboardInterrupt


OURS = str(Path(helpers.__file__).parent)


def interrupted(n, work):
    """Run work, interrupt it, and say whether it came to that."""
    interrupt = Interrupt(n)
    sys.setprofile(interrupt)
    try:
        work()
    except KeyboardInterrupt:
        assert interrupt.came
    finally:
        sys.setprofile(None)
    return interrupt.came


def a_block():
    net = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    with record():
        loss = net(torch.ones(1, 2)).sum()
        loss.backward()
        optimizer.step()


def some_code():
    record_code(
        "import torch\n"
        "net = torch.nn.Linear(2, 1)\n"
        "optimizer = torch.optim.SGD(net.parameters(), lr=0.1)\n"
        "for i in range(2):\n"
        "    net(torch.ones(1, 2)).sum().backward()\n"
        "    optimizer.step()\n"
    )


@pytest.mark.parametrize("work", [a_block, some_code])
def test_after_an_interrupt_anywhere_all_is_as_before(work):
    work()  # what is done once is done
    before = touched()
    calls = [*range(1, 60), *range(60, 5000, 37)]
    for n in calls:
        came = interrupted(n, work)
        assert touched() == before, f"call {n}"
        if not came:
            break
    assert n > 400


def test_an_interrupted_cell_shows_what_ran_and_is_interrupted():
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "helpers")
    before = touched()
    try:
        with capture_output() as captured:
            result = shell.run_cell(
                "%%steps\n"
                "import signal, torch\n"
                "x = torch.ones(2)\n"
                "signal.raise_signal(signal.SIGINT)\n"
                "y = x * 2\n"
            )
        after = touched()
        names = shell.user_ns["recording"].snapshot.tensors
    finally:
        InteractiveShell.clear_instance()
    assert isinstance(result.error_in_exec, KeyboardInterrupt)
    assert after == before
    assert "x" in names
    assert "y" not in names
    assert "helpers-player" in captured.outputs[0].data["text/html"]


# -- threads, processes, kernels


def test_recordings_in_two_threads_do_not_mix():
    def work(name):
        recordings = []
        for _ in range(20):
            with record() as recording:
                w = torch.ones(2, requires_grad=True)
                getattr(w, name)().sum().backward()
            recordings.append(recording)
        return {tuple(o.name for o in r.operations) for r in recordings}

    before = touched()
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(work, ["exp", "sin"])
    assert first == {("ones", "exp", "sum")}
    assert second == {("ones", "sin", "sum")}
    assert touched() == before


def test_stdout_comes_back_when_threads_end_in_the_order_they_began():
    before = sys.stdout
    steps = [threading.Event() for _ in range(2)]

    def first():
        with record():
            steps[0].set()
            steps[1].wait(10)

    thread = threading.Thread(target=first)
    thread.start()
    steps[0].wait(10)
    with record():
        steps[1].set()
        thread.join()
    assert sys.stdout is before


def test_another_thread_is_not_recorded():
    stop = threading.Event()

    def work():
        net = nn.Linear(2, 2)
        while not stop.is_set():
            net(torch.ones(1, 2)).exp()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        with record() as recording:
            for _ in range(20):
                y = torch.ones(2).sin()
    finally:
        stop.set()
        thread.join()
    assert y.shape == (2,)
    assert {o.name for o in recording.operations} == {"ones", "sin"}


FORK = """
import os, torch
from helpers import record
with record() as recording:
    w = torch.ones(2, requires_grad=True)
    child = os.fork()
    if child:
        assert os.waitpid(child, 0)[1] == 0
        y = w.exp()
    else:
        y = w.sin()
names = [o.name for o in recording.operations]
print("parent" if child else "child", names, recording.player().alt)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore")
def test_after_a_fork_both_processes_have_their_recording():
    child, parent = run(FORK, "-Wignore").splitlines()
    assert child.startswith("child ['ones', 'sin']")
    assert parent.startswith("parent ['ones', 'exp']")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_data_loader_with_workers_is_no_trouble():
    code = (
        "import torch\n"
        "from helpers import record\n"
        "data = torch.arange(8.0).view(4, 2)\n"
        "w = torch.ones(2, requires_grad=True)\n"
        "with record() as recording:\n"
        "    loader = torch.utils.data.DataLoader(\n"
        "        data, batch_size=2, num_workers=2,\n"
        "        multiprocessing_context='fork')\n"
        "    for batch in loader:\n"
        "        (batch * w).sum().backward()\n"
        "print(w.grad.tolist(), recording.error, recording.cuts)\n"
    )
    assert run(code, "-Wignore") == "[12.0, 16.0] None []\n"


def test_two_kernels_at_once_show_what_one_shows():
    source = (
        "import torch\n%load_ext helpers",
        "%%steps\nw = torch.ones(2, requires_grad=True)\n"
        "loss = (w * 2).detach().sum()",
        "recording.draw_graph()",
    )

    def execute(_):
        cells = [nbformat.v4.new_code_cell(text) for text in source]
        notebook = nbformat.v4.new_notebook(cells=cells)
        NotebookClient(notebook, timeout=100, kernel_name="python3").execute()
        return [
            output.data
            for cell in notebook.cells
            for output in cell.outputs
            if "data" in output
        ]

    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(execute, range(2))
    assert len(first) == 2
    assert first == second


# -- the program's own things


def test_a_recording_of_a_subclass_whose_repr_raises():
    class Rude(torch.Tensor):
        def __repr__(self, *args, **kwargs):
            raise RuntimeError("no")

    with record() as recording:
        rude = torch.ones(2).as_subclass(Rude)
        rude.requires_grad_()
        made = rude * 2
    assert made.shape == (2,)
    text = recording.draw_graph().text
    assert "A gradient of made reaches rude." in text
    assert "made" in recording.player().text


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(2, 3)
        self.decoder = nn.Linear(4, 1)

    def forward(self, x):
        h = self.encoder(x).relu()
        return self.decoder(h)


MESSAGE = "mat1 and mat2 shapes cannot be multiplied (1x3 and 4x1)"


def code_that_raises():
    source = "import torch\nx = torch.ones(1, 2)\nout = net(x)\n"
    return record_code(source, {"net": Net()}), "out = net(x)"


def block_that_raises():
    net = Net()
    with contextlib.suppress(RuntimeError), record() as recording:
        x = torch.ones(1, 2)
        net(x)
    return recording, "return self.decoder(h)"


RAISING = pytest.mark.parametrize(
    "raising", [code_that_raises, block_that_raises]
)


@RAISING
def test_a_forward_that_raises_is_recorded_up_to_there(raising):
    recording, _ = raising()
    assert str(recording.error) == MESSAGE
    done = [(o.name, o.module) for o in recording.operations]
    assert done == [
        ("ones", ""),
        ("linear", "net.encoder"),
        ("relu", "net"),
    ]


@RAISING
def test_the_partial_picture_tells_the_error(raising):
    picture = raising()[0].draw_graph()
    told = f"Here the program stopped: RuntimeError: {MESSAGE}."
    assert "ReluBackward0" in picture.svg
    assert told in picture.text
    assert told in picture.alt


@RAISING
def test_the_step_that_raised_says_so(raising):
    recording, line = raising()
    *_, step, said = recording.player().text.splitlines()
    assert step.endswith(line)
    assert said.endswith(f"This line raises RuntimeError: {MESSAGE}")


def test_a_picture_before_the_error_does_not_tell_it():
    recording, _ = code_that_raises()
    assert "stopped" not in recording.draw_graph(1).text


def test_a_forward_that_raises_leaves_no_module_open():
    net = Net()
    with record() as recording:
        with contextlib.suppress(RuntimeError):
            net(torch.ones(1, 2))
        y = torch.ones(2).exp()
    assert y.shape == (2,)
    assert recording.operations[-1].module == ""


class Wordless(Exception):
    def __str__(self):
        raise RuntimeError("no words")


def test_an_error_whose_text_raises_is_recorded():
    recording = record_code("raise error", {"error": Wordless()})
    assert isinstance(recording.error, Wordless)
    assert "Wordless" in recording.player().text


def test_what_if_shows_a_value_and_an_error_whose_text_raises():
    class Mute:
        def __str__(self):
            raise RuntimeError("no words")

    def choose(fail):
        if fail:
            raise Wordless
        return Mute()

    text = helpers.what_if(choose, fail=[False, True]).text
    assert "a Mute whose text can't be read" in text
    assert "Wordless: (a Wordless whose text can't be read)" in text


def test_a_very_long_error_is_cut_in_the_picture():
    recording = record_code(
        "import torch\nx = torch.ones(1)\nraise ValueError('a' * 9999)"
    )
    (told,) = [
        line
        for line in recording.draw_graph().text.splitlines()
        if "stopped" in line
    ]
    assert len(told) < 200


def test_a_stdout_that_is_closed_is_the_programs_own_trouble():
    closed = io.StringIO()
    closed.close()
    with contextlib.redirect_stdout(closed):
        recording = record_code("print('hello')")
        facts(torch.ones(1))
        assert sys.stdout is closed
    assert isinstance(recording.error, ValueError)
