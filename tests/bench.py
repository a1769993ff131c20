"""Measure speed and size beside other tools: ``make bench``, some minutes.

Each measurement runs in a process of its own, so that none warms up another,
and one that takes too long or crashes is told and not waited for.  ``make
bench`` prints the table and writes it to ``docs/benchmarks.md``; words from
the names of its rows (``python tests/bench.py chain RNN``) print those only.
"""

from __future__ import annotations

import contextlib
import gc
import importlib.metadata
import io
import json
import os
import platform
import shutil
import signal
import statistics
import subprocess
import sys
import time
import tracemalloc
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "benchmarks.md"
LIMIT = 60  # seconds for one measurement, its imports not counted
NOTEBOOKS_LIMIT = 900
WORKERS = 2  # as make test
OPERATIONS = 1_000

Numbers = dict[str, float]


# -- how to measure


def seconds(work: Callable[[], object], runs: int = 5) -> float:
    """Return the median time of a few runs, after one to warm up."""
    return side_by_side({"": work}, runs)[""]


def side_by_side(
    works: dict[str, Callable[[], object]], runs: int = 5
) -> Numbers:
    """Return the median time of each, run in turn: all under the same load."""
    for work in works.values():
        work()
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(runs):
        for name, work in works.items():
            gc.collect()
            start = time.perf_counter()
            work()
            times[name].append(time.perf_counter() - start)
    return {name: statistics.median(t) for name, t in times.items()}


def measured(name: str, limit: float = LIMIT) -> Numbers | str:
    """Measure in a new process; a word where that took too long or raised."""
    command = [sys.executable, __file__, "--measure", name]
    pipe = subprocess.PIPE
    around = dict(os.environ)
    around.pop("PYTHONDONTWRITEBYTECODE", None)  # else each import compiles
    process = subprocess.Popen(
        command,
        stdout=pipe,
        stderr=pipe,
        text=True,
        start_new_session=True,
        env=around,
    )
    try:
        out, errors = process.communicate(timeout=limit + 20)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # and the engine it started
        process.communicate()
        return f"over {limit:g} s"
    if process.returncode < 0:
        return "crash"
    if process.returncode:
        error = errors.strip().splitlines()[-1]
        return error.split(":")[0].split(".")[-1]
    found: Numbers = json.loads(out.splitlines()[-1])
    return found


def resident() -> float:
    """Return the resident memory of this process in megabytes."""
    import ctypes

    gc.collect()
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)  # what is free goes back first
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


# -- what is measured: each function here runs in a process of its own


def torchviz_svg(loss: object, model: object = None) -> str:
    """Draw a loss as torchviz does, with dot or with the engine we use."""
    import graphviz
    import torchviz

    from helpers.diagrams.layout import find_engine

    if not shutil.which("dot"):
        graphviz.backend.dot_command.DOT_BINARY = Path(find_engine() or "dot")
    named = dict(model.named_parameters()) if model is not None else None
    dot = torchviz.make_dot(loss, params=named)
    return str(dot.pipe(format="svg", quiet=True).decode())


def of_network(name: str) -> Numbers:
    """Draw a network: ours and torchviz in turn."""
    import networks

    from helpers import draw_graph

    model, compute = networks.make(name)
    loss = compute()
    return side_by_side(
        {
            "ours": lambda: draw_graph(loss, model).svg,
            "page": lambda: draw_graph(loss, model).html,
            "torchviz": lambda: torchviz_svg(loss, model),
        }
    )


def chain(length: int) -> object:
    """Return the end of a chain of operations."""
    import torch

    y = torch.ones(1, requires_grad=True)
    for _ in range(length):
        y = y.sin()
    return y


def a_chain() -> type:
    """Return a Module of many small operations, one after the other."""
    from torch import nn

    class Chain(nn.Module):
        def __init__(self, length: int) -> None:
            super().__init__()
            self.length = length

        def forward(self, x):  # type: ignore[no-untyped-def]
            for _ in range(self.length // 2):
                x = (x * 1.001).sin()
            return x

    return Chain


def of_chain() -> Numbers:
    """Draw chains, from the graph and from a recording."""
    from helpers import draw_graph, record

    short = chain(5_000)
    numbers = {"graph": seconds(lambda: draw_graph(short).svg)}
    for length in (5_000, 50_000):
        with record() as recording:
            y = chain(length)
        start = time.perf_counter()
        recording.run  # noqa: B018
        first = time.perf_counter() - start
        picture = seconds(lambda r=recording: r.draw_graph().svg, 3)
        numbers[f"{length}"] = picture
        numbers[f"{length} first"] = first
        del y, recording
    return numbers


def peer_on_chain(tool: str, length: int) -> Numbers:
    """Watch and draw a chain with another tool."""
    import torch

    if tool == "torchviz":
        y = chain(length)
        return {"": seconds(lambda: torchviz_svg(y), 3)}
    module, x = a_chain()(length), torch.ones(10, requires_grad=True)
    watch = watching(tool)
    start = time.perf_counter()
    with contextlib.redirect_stdout(io.StringIO()):
        watch(module, x)
    return {"": time.perf_counter() - start}


def watching(tool: str) -> Callable[[object, object], object]:
    """Return how another tool watches a Module at work."""
    if tool == "torchview":
        import torchview

        return lambda m, x: torchview.draw_graph(m, x, device="cpu")
    if tool == "torchlens":
        import torchlens

        return lambda m, x: torchlens.trace(m, x)
    import torchvista

    return lambda m, x: torchvista.trace_model(m, x)


def unrolled() -> object:
    """Return the last state of a cell after 100 steps with two weights."""
    import torch

    w = torch.eye(4).mul(0.9).requires_grad_()
    u = torch.ones(3, 4, requires_grad=True)
    h = torch.zeros(1, 4)
    for _ in range(100):
        h = (h @ w + torch.ones(1, 3) @ u).tanh()
    return h.sum()


def dense() -> object:
    """Return the sum over 28 layers that each see all layers before."""
    import torch

    seen = [torch.ones(2, requires_grad=True)]
    for _ in range(28):
        seen.append(torch.stack(seen).sum(0).sin())
    return seen[-1].sum()


def of_shape(make: Callable[[], object]) -> Numbers:
    """Draw a graph whose shape is hard to lay out."""
    from helpers import draw_graph

    loss = make()
    return {"": seconds(lambda: draw_graph(loss).svg)}


def peer_on_shape(make: Callable[[], object]) -> Numbers:
    """Draw it with torchviz, once."""
    loss = make()
    start = time.perf_counter()
    torchviz_svg(loss)
    return {"": time.perf_counter() - start}


def recorded(work: Callable[[], object]) -> None:
    """Do some work under a recording, as one line of a program."""
    from helpers import record_code

    record_code("work()", {"work": work})


def of_operations() -> Numbers:
    """Watch a Module of small operations: what each one takes longer."""
    import torch

    from helpers import record_code

    sys.setrecursionlimit(20 * OPERATIONS)  # torchvista recurses on a chain
    module, x = a_chain()(OPERATIONS), torch.ones(10, requires_grad=True)
    lines = f"for _ in range({OPERATIONS}):\n    x = x.sin()"
    times = side_by_side(
        {
            "plain": lambda: module(x),
            "ours": lambda: recorded(lambda: module(x)),
        },
        25,
    )
    times["lines"] = seconds(lambda: record_code(lines, {"x": x}), 5)
    with contextlib.redirect_stdout(io.StringIO()):
        for tool in ("torchview", "torchvista", "torchlens"):
            watch = watching(tool)
            times[tool] = seconds(lambda w=watch: w(module, x), 1)
    each = 1e6 / OPERATIONS
    plain = times.pop("plain")
    added = {name: (t - plain) * each for name, t in times.items()}
    return {"plain": plain * each, **added}


def of_step() -> Numbers:
    """Forward and backward of ResNet-50, plain and recorded."""
    import networks
    import torch

    torch.manual_seed(0)
    net, images = networks.resnet50(), torch.randn(2, 3, 224, 224)

    def step() -> None:
        net(images).sum().backward()

    times: dict[str, list[float]] = {"plain": [], "recorded": []}
    step(), recorded(step)
    for _ in range(9):
        for name, work in (("plain", step), ("recorded", None)):
            start = time.perf_counter()
            recorded(step) if work is None else work()
            times[name].append(time.perf_counter() - start)
    found = {name: statistics.median(t) for name, t in times.items()}
    pairs = zip(times["recorded"], times["plain"], strict=True)
    found["ratio"] = statistics.median(a / b for a, b in pairs)
    return found


def torchlens_on_step() -> Numbers:
    """Watch the forward of ResNet-50 with torchlens."""
    import networks
    import torch

    torch.manual_seed(0)
    net, images = networks.resnet50(), torch.randn(2, 3, 224, 224)
    watch = watching("torchlens")
    watch(net, images)
    start = time.perf_counter()
    watch(net, images)
    return {"": time.perf_counter() - start}


def of_import() -> Numbers:
    """Import the package after torch, once."""
    import torch  # noqa: F401

    start = time.perf_counter()
    import helpers  # noqa: F401

    took = time.perf_counter() - start
    heavy = sum(name in sys.modules for name in ("matplotlib", "IPython"))
    return {"": took, "heavy": heavy}


def of_memory() -> Numbers:
    """Record a forward of GPT-2 small: resident memory that it adds."""
    import networks

    from helpers import record

    _, compute = networks.make("gpt2")
    for _ in range(2):
        loss = compute()
    before = resident()
    del loss
    with record() as recording:
        loss = compute()
    kept = resident() - before
    count = len(recording.operations)
    assert loss.requires_grad
    return {"kept": kept, "asked": resident() - before, "count": count}


def of_allocations() -> Numbers:
    """Record a forward of GPT-2 small: what Python allocates for it."""
    import networks

    from helpers import record

    _, compute = networks.make("gpt2")
    compute()
    with record() as recording:
        compute()
    tracemalloc.start()
    with record() as recording:
        loss = compute()
    kept, peak = tracemalloc.get_traced_memory()
    assert loss.requires_grad
    assert recording.is_finished
    return {"kept": kept / 1e6, "peak": peak / 1e6}


def torchlens_memory() -> Numbers:
    """Watch the same forward with torchlens, and keep what it gives."""
    import networks
    import torch

    model, compute = networks.make("gpt2")
    for _ in range(2):
        loss = compute()
    before = resident()
    del loss
    watch = watching("torchlens")
    kept = watch(model, torch.randint(50257, (2, 16)))
    assert kept is not None
    return {"": resident() - before}


def of_notebooks() -> Numbers:
    """Run all notebooks under nbval, and what that takes at the least."""
    import nbformat
    from nbclient import NotebookClient

    books = sorted((ROOT / "notebooks").glob("*.ipynb"))
    starts, cells = [], 0.0
    for path in books:
        book = nbformat.read(path, as_version=4)
        where = {"metadata": {"path": str(path.parent)}}
        runner = NotebookClient(book, resources=where)
        start = time.perf_counter()
        with runner.setup_kernel():
            starts.append(time.perf_counter() - start)
            start = time.perf_counter()
            for number, cell in enumerate(book.cells):
                runner.execute_cell(cell, number)
            cells += time.perf_counter() - start
    start = time.perf_counter()
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-n", str(WORKERS)),
            *("--dist", "loadfile", "--nbval", "--nbval-current-env"),
            *map(str, books),
        ],
        cwd=ROOT,
        capture_output=True,
    )
    took = time.perf_counter() - start
    if done.returncode:
        raise RuntimeError("notebooks failed")
    least = (sum(starts) + cells) / WORKERS
    return {
        "took": took,
        "least": least,
        "cells": cells,
        "start": statistics.median(starts),
        "count": len(books),
    }


MEASURES: dict[str, Callable[[], Numbers]] = {
    "resnet50": lambda: of_network("resnet50"),
    "gpt2": lambda: of_network("gpt2"),
    "chain": of_chain,
    "chain torchviz": lambda: peer_on_chain("torchviz", 5_000),
    "chain torchview": lambda: peer_on_chain("torchview", 5_000),
    "chain torchlens": lambda: peer_on_chain("torchlens", 5_000),
    "chain torchvista": lambda: peer_on_chain("torchvista", 5_000),
    "rnn": lambda: of_shape(unrolled),
    "rnn torchviz": lambda: peer_on_shape(unrolled),
    "dense": lambda: of_shape(dense),
    "dense torchviz": lambda: peer_on_shape(dense),
    "operations": of_operations,
    "step": of_step,
    "step torchlens": torchlens_on_step,
    "import": of_import,
    "memory": of_memory,
    "allocations": of_allocations,
    "memory torchlens": torchlens_memory,
    "notebooks": of_notebooks,
}


# -- the table


@dataclass(frozen=True)
class Row:
    """A line of the table; ``reached`` is None where nothing was measured."""

    work: str
    ours: str
    aim: str
    peers: str
    reached: bool | None


def time_text(found: Numbers | str, name: str = "") -> str:
    """Write a time, or the word that stands for it."""
    if isinstance(found, str):
        return found
    t = found[name]
    return f"{t * 1e3:.0f} ms" if t < 1 else f"{t:.1f} s"


def failed(work: str, aim: str, word: str) -> Row:
    """A row whose own measurement failed."""
    return Row(work, word, aim, "", None)


def network_row(work: str, name: str) -> Row:
    aim = "≤ 0.5 × torchviz"
    found = measured(name)
    if isinstance(found, str):
        return failed(work, aim, found)
    ratio = found["ours"] / found["torchviz"]
    page = time_text(found, "page")
    return Row(
        work,
        f"{time_text(found, 'ours')}, {ratio:.2f} × torchviz "
        f"({page} with the page that opens by click)",
        aim,
        f"torchviz {time_text(found, 'torchviz')}",
        ratio <= 0.5,
    )


def chain_rows() -> list[Row]:
    short = "chain of 5,000 operations, graph and SVG"
    long = "chain of 50,000 operations, from a recording"
    found = measured("chain", 2 * LIMIT)
    if isinstance(found, str):
        return [failed(short, "≤ 0.3 s", found), failed(long, "", found)]
    tools = ("torchviz", "torchview", "torchlens", "torchvista")
    peers = [f"{t} {time_text(measured(f'chain {t}'))}" for t in tools]
    limit = 10 * found["5000"] + 0.2
    return [
        Row(
            short,
            time_text(found, "graph"),
            "≤ 0.3 s",
            ", ".join(peers),
            found["graph"] <= 0.3,
        ),
        Row(
            long,
            f"{time_text(found, '50000')}, of 5,000 "
            f"{time_text(found, '5000')} (and once "
            f"{time_text(found, '50000 first')} to put it in order)",
            f"≤ 10 × that of 5,000 + 0.2 s = {limit:.1f} s",
            "",
            found["50000"] <= limit,
        ),
    ]


def shape_row(work: str, name: str, limit: float) -> Row:
    found = measured(name)
    aim = f"≤ {limit:g} s"
    if isinstance(found, str):
        return failed(work, aim, found)
    peer = time_text(measured(f"{name} torchviz"))
    reached = found[""] <= limit
    return Row(work, time_text(found), aim, f"torchviz {peer}", reached)


def operations_row() -> Row:
    work = f"recording {OPERATIONS:,} small operations, for each"
    aim = "≤ 20 µs over eager"
    found = measured("operations", 3 * LIMIT)
    if isinstance(found, str):
        return failed(work, aim, found)
    peers = ", ".join(
        f"{tool} {found[tool]:,.0f} µs"
        for tool in ("torchview", "torchvista", "torchlens")
    )
    return Row(
        work,
        f"{found['ours']:.1f} µs over {found['plain']:.1f} µs "
        f"({found['lines']:.0f} µs where each is a line)",
        aim,
        peers,
        found["ours"] <= 20,
    )


def step_row() -> Row:
    work = "recording ResNet-50, forward and backward"
    aim = "≤ 1.1 × eager"
    found = measured("step", 10 * LIMIT)
    if isinstance(found, str):
        return failed(work, aim, found)
    ours = f"{found['ratio']:.2f} × eager ({time_text(found, 'plain')})"
    peer = time_text(measured("step torchlens"))
    peers = f"torchlens {peer} for the forward alone"
    return Row(work, ours, aim, peers, found["ratio"] <= 1.1)


def import_row() -> Row:
    work = "`import helpers` after torch"
    aim = "≤ 50 ms, without matplotlib and IPython"
    found = [measured("import") for _ in range(7)]
    numbers = [f for f in found if not isinstance(f, str)]
    if len(numbers) < len(found):
        return failed(work, aim, "raised")
    took = statistics.median(f[""] for f in numbers)
    heavy = any(f["heavy"] for f in numbers)
    more = ", with matplotlib or IPython" if heavy else ""
    ours = f"{took * 1e3:.0f} ms{more}"
    return Row(work, ours, aim, "", took <= 0.05 and not heavy)


def memory_row() -> Row:
    work = "memory added by recording GPT-2 small, forward"
    aim = "≤ 20 MB"
    found = measured("memory")
    if isinstance(found, str):
        return failed(work, aim, found)
    python = measured("allocations")
    theirs = measured("memory torchlens")
    inside = "" if isinstance(python, str) else f"{python['kept']:.1f} MB"
    peer = theirs if isinstance(theirs, str) else f"{theirs['']:.0f} MB"
    return Row(
        work,
        f"{found['kept']:.1f} MB resident, {found['asked']:.1f} MB once it "
        f"was asked (of these, Python's own objects {inside})",
        aim,
        f"torchlens {peer}",
        max(found["kept"], found["asked"]) <= 20,
    )


def notebooks_row() -> Row:
    work = "all notebooks under nbval"
    aim = f"≤ 1.3 × (kernel starts + cells with import torch) / {WORKERS}"
    found = measured("notebooks", NOTEBOOKS_LIMIT)
    if isinstance(found, str):
        return failed(work, aim, found)
    ratio = found["took"] / found["least"]
    return Row(
        work,
        f"{found['took']:.0f} s, {ratio:.2f} × the least",
        aim,
        f"{found['count']:.0f} kernels of {found['start']:.1f} s, cells "
        f"{found['cells']:.0f} s: least {found['least']:.0f} s",
        ratio <= 1.3,
    )


ROWS: dict[str, Callable[[], list[Row]]] = {
    "ResNet-50": lambda: [network_row("ResNet-50, graph and SVG", "resnet50")],
    "GPT-2": lambda: [network_row("GPT-2 small, graph and SVG", "gpt2")],
    "chain": chain_rows,
    "RNN": lambda: [
        shape_row("unrolled RNN, 100 steps, shared weights", "rnn", 0.5)
    ],
    "dense": lambda: [shape_row("dense skips, 84 nodes", "dense", 1.0)],
    "operations": lambda: [operations_row()],
    "step": lambda: [step_row()],
    "import": lambda: [import_row()],
    "memory": lambda: [memory_row()],
    "notebooks": lambda: [notebooks_row()],
}


def line(row: Row) -> str:
    """Write a row of the table."""
    told = {True: "yes", False: "**no**", None: "not measured"}[row.reached]
    cells = (row.work, row.ours, row.aim, row.peers or "–", told)
    return f"| {' | '.join(cells)} |"


def machine() -> list[str]:
    """Say what it was measured on and with, without its name."""
    processor = platform.processor() or platform.machine()
    with contextlib.suppress(OSError):
        for text in Path("/proc/cpuinfo").read_text().splitlines():
            if text.startswith("model name"):
                processor = text.split(":", 1)[1].strip()
                break
    memory = ""
    with contextlib.suppress(ValueError, OSError):
        pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        memory = f", {pages / 1e9:.0f} GB of memory"
    system = platform.system()
    with contextlib.suppress(OSError):
        system = platform.freedesktop_os_release()["PRETTY_NAME"]

    def version(name: str) -> str:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            return f"{name} {importlib.metadata.version(name)}"
        return f"{name} not installed"

    tools = ("torchviz", "torchview", "torchlens", "torchvista")
    ours = version("graphviz-pure")
    theirs = "dot on the PATH" if shutil.which("dot") else "the same"
    return [
        f"- Machine: {processor}, {os.cpu_count()} cores{memory}",
        f"- System: {system}, Python {platform.python_version()}, "
        f"{version('torch')}",
        f"- Tools: {', '.join(version(name) for name in tools)}",
        f"- Layout engine of ours: {ours}; of torchviz: {theirs}",
    ]


BEFORE = """# Benchmarks

Written by `make bench`, which measures ours and the other tools in the same \
run. Times are medians; each measurement has a process of its own, and \
"over {limit} s" means that it was stopped there.
"""

AFTER = """
- The networks are those of `tests/networks.py`, with random weights: \
ResNet-50 on two pictures of 64 × 64 (of 224 × 224 where it is recorded), \
GPT-2 small on two rows of 16 tokens.
- torchviz draws with the layout engine that is named above: where there is \
no `dot`, it is given the one that ours uses.
- The chain of 50,000 operations comes from a recording. `draw_graph(loss)` \
reads the nearest 10,000 only: in torch 2.13, a process that has walked \
`next_functions` over more than about 42,000 nodes crashes when the graph is \
freed.
- "Over eager" is the time of a recorded run less that of a plain one. A \
recording keeps no tensor alive; its memory is what it notes.
- What a recording adds to a step does not grow with the batch. Of the \
about 40 ms for ResNet-50, 10 are the norms of its 25 million gradients, \
taken once at the end; the rest are 230 operations and 183 calls of Modules \
at about 0.1 ms. On two pictures, which take a third of a second, that is \
more than a tenth.
- A library that is imported while Python's garbage collector has much to \
go over pays for that, too: `import torch` leaves it more than a hundred \
thousand objects. `import helpers` pauses it meanwhile, as does drawing.
- The least for the notebooks is a kernel's start for each, and the time of \
all cells when they run one after the other (`import torch` is in the first \
cell), shared by {workers} processes.
"""


def page(lines: list[str]) -> str:
    """Write the page of the site."""
    before = BEFORE.format(limit=LIMIT)
    after = AFTER.format(workers=WORKERS)
    parts = [before, *machine(), "", *HEAD, *lines, after.rstrip(), ""]
    return "\n".join(parts)


HEAD = [
    "| work | ours | aim | others | reached |",
    "|---|---|---|---|---|",
]


def main(words: list[str]) -> None:
    """Print the table, or the rows that have one of some words in them."""
    if words[:1] == ["--measure"]:
        warnings.simplefilter("ignore")
        print("\n" + json.dumps(MEASURES[words[1]]()))
        return
    wanted = [
        name
        for name in ROWS
        if not words or any(w.lower() in name.lower() for w in words)
    ]
    print("\n".join([*machine(), "", *HEAD]), flush=True)
    lines = []
    for name in wanted:
        for row in ROWS[name]():
            lines.append(line(row))
            print(lines[-1], flush=True)
    if not words:
        PAGE.write_text(page(lines), encoding="utf-8")
        print(f"\nwritten to {PAGE.relative_to(ROOT)}")


if __name__ == "__main__":
    main(sys.argv[1:])
