"""python -m helpers script.py: it runs as by itself, and is reported."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path

import pytest

from helpers import __main__ as command
from helpers import record_code
from helpers import report as reports
from helpers.report import is_report, report

ROOT = Path(__file__).parents[1]

TRAIN = """import argparse
import sys

import torch
from beside import Net

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int)
args = parser.parse_args()


class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, place):
        return torch.full((4,), float(place))


def main():
    net = Net()
    net.back.requires_grad_(False)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for epoch in range(args.epochs):
        for workers in (0, 2):
            loader = torch.utils.data.DataLoader(
                Data(), batch_size=2, num_workers=workers
            )
            for batch in loader:
                optimizer.zero_grad()
                loss = net(batch).square().sum()
                loss.backward()
                optimizer.step()
    print("read", open("data.txt").read())


if __name__ == "__main__":
    print("args", sys.argv)
    print("path", sys.path[0])
    print("file", __file__)
    print("main", vars(sys.modules["__main__"]) is globals())
    main()
"""
BESIDE = """import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.back = torch.nn.Linear(4, 4)
        self.neck = torch.nn.Linear(4, 4)
        self.head = torch.nn.Linear(4, 1)

    def forward(self, x):
        return self.head(self.neck(self.back(x)).detach())
"""
RAISES = """import torch

w = torch.ones(2, requires_grad=True)


def lose(x):
    y = x.exp()
    y += 1
    return y.sum()


loss = lose(w)
print("before")
try:
    loss.backward()
except RuntimeError as error:
    raise ValueError("no & <b>gradient</b>") from error
"""
EXITS = """import sys

import torch
from helpers import twice

größe = twice(torch.ones(2, requires_grad=True))
print("printed", "__main__" == __name__)
sys.exit(3)
"""
INTERRUPTED = """import os
import signal

import torch

x = torch.ones(2, requires_grad=True)
y = x.detach()
signal.signal(signal.SIGINT, signal.default_int_handler)
os.kill(os.getpid(), signal.SIGINT)
"""
NO_TENSOR = "print('only', 6 * 7)\n"


@dataclass(frozen=True)
class Ran:
    """A process that has ended, and the folder it ran in."""

    folder: Path
    code: int
    out: str
    err: str

    def page(self, name):
        return (self.folder / name).read_text(encoding="utf-8")


def python(folder, *arguments):
    path = os.pathsep.join([str(ROOT), *filter(None, [_python_path()])])
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path, "PYTHONUTF8": "1"},
        capture_output=True,
        encoding="utf-8",
    )
    return Ran(folder, done.returncode, done.stdout, done.stderr)


def _python_path():
    return os.environ.get("PYTHONPATH", "")


def helpers(folder, *arguments):
    return python(folder, "-m", "helpers", *arguments)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("train")
    (folder / "code").mkdir()
    (folder / "code" / "train.py").write_text(TRAIN)
    (folder / "code" / "beside.py").write_text(BESIDE)
    (folder / "data.txt").write_text("some data")
    return helpers(folder, "code/train.py", "--epochs", "2")


@pytest.fixture(scope="module")
def raised(tmp_path_factory):
    folder = tmp_path_factory.mktemp("raises")
    (folder / "raises.py").write_text(RAISES)
    return helpers(folder, "-o", "out.html", "raises.py")


@pytest.fixture(scope="module")
def exited(tmp_path_factory):
    folder = tmp_path_factory.mktemp("exits")
    (folder / "code").mkdir()
    (folder / "code" / "helpers.py").write_text("def twice(t): return 2 * t")
    name = "code/<i>&'x.py"
    (folder / name).write_text(EXITS, encoding="utf-8")
    return helpers(folder, "--text", name)


@pytest.fixture(scope="module")
def interrupted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("interrupted")
    (folder / "slow.py").write_text(INTERRUPTED)
    return helpers(folder, "slow.py")


@pytest.fixture(scope="module")
def module(tmp_path_factory):
    folder = tmp_path_factory.mktemp("module")
    (folder / "pack").mkdir()
    (folder / "pack" / "__init__.py").write_text("")
    (folder / "pack" / "size.py").write_text("n = 2")
    (folder / "pack" / "run.py").write_text(
        "import sys, torch\nfrom .size import n\n"
        "x = torch.ones(n)\nprint(sys.argv[1:], __name__)\n"
    )
    return helpers(folder, "-m", "pack.run", "a", "--", "-o", "b.html")


# -- the script runs as by itself


def test_the_exit_code_is_0(trained):
    assert trained.code == 0, trained.err


def test_arguments_go_to_the_script(trained):
    assert "args ['code/train.py', '--epochs', '2']" in trained.out


def test_the_script_s_folder_is_first_on_the_path(trained):
    assert f"path {(trained.folder / 'code').resolve()}\n" in trained.out


def test_the_script_knows_its_file(trained):
    assert f"file {trained.folder / 'code' / 'train.py'}\n" in trained.out


def test_the_script_is_the_main_module(trained):
    assert "main True\n" in trained.out


def test_relative_files_are_those_of_the_current_folder(trained):
    assert "read some data\n" in trained.out


def test_our_own_words_are_not_in_its_output(trained):
    assert "helpers" not in trained.out


def test_the_report_is_in_the_current_folder(trained):
    assert (trained.folder / "train_report.html").exists()


def test_the_message_says_where_the_report_is(trained):
    assert str(trained.folder / "train_report.html") in trained.err


def test_the_frozen_layer_is_told_with_its_line(trained):
    page = trained.page("train_report.html")
    assert "<code>net.back.weight</code>, <code>net.back.bias</code>" in page
    assert "net.back.weight.grad is None because line 22, <code" in page


def test_the_cut_layer_is_told(trained):
    page = trained.page("train_report.html")
    assert "<code>net.neck.weight</code>, <code>net.neck.bias</code>" in page


def test_who_learns_is_counted(trained):
    assert "at the end: 2 of 6." in trained.page("train_report.html")


def test_an_exception_keeps_the_exit_code(raised):
    assert raised.code == 1


def test_the_traceback_is_the_usual_one(raised):
    plain = python(raised.folder, "raises.py")
    ours = raised.err.rpartition("python -m helpers: ")[0]
    assert ours == plain.err


def test_the_report_of_an_error_says_its_line(raised):
    page = raised.page("out.html")
    assert "The script raised ValueError" in page
    assert "<pre>line 17: raise ValueError" in page


def test_what_an_error_says_is_escaped(raised):
    page = raised.page("out.html")
    assert "no &amp; &lt;b&gt;gradient&lt;/b&gt;" in page
    assert "<b>gradient" not in page.partition("<script")[0]


def test_the_problem_stands_with_line_and_fix(raised):
    page = raised.page("out.html")
    assert "<pre>line 8: y += 1</pre>" in page
    assert "<b>What to do:</b> Write into a clone" in page


def test_output_says_where_the_report_goes(raised):
    names = {path.name for path in raised.folder.iterdir()}
    assert names == {"raises.py", "out.html"}


def test_sys_exit_keeps_its_code(exited):
    assert exited.code == 3, exited.err


def test_text_prints_the_report_after_the_output(exited):
    assert exited.out.startswith("printed True\nReport of <i>&'x.py, ")


def test_text_writes_no_file(exited):
    assert [path.name for path in exited.folder.iterdir()] == ["code"]


def test_a_script_has_a_helpers_of_its_own(exited):
    assert "größe" in exited.out


def test_an_end_by_the_script_is_no_error(exited):
    assert "It ended itself: sys.exit(3)." in exited.out
    assert "Nothing that will fail" in exited.out


def test_an_interrupt_ends_with_130(interrupted):
    assert interrupted.code == 130


def test_an_interrupt_is_shown_as_usual(interrupted):
    assert "in <module>\n" in interrupted.err
    assert "KeyboardInterrupt\n" in interrupted.err


def test_an_interrupted_script_has_its_report(interrupted):
    page = interrupted.page("slow_report.html")
    assert "It was interrupted" in page
    assert "y = x.detach()" in page


def test_a_module_runs_with_its_arguments(module):
    assert module.out == "['a', '--', '-o', 'b.html'] __main__\n"


def test_a_module_s_report_has_its_last_name(module):
    assert (module.folder / "run_report.html").exists(), module.err


def test_a_script_without_tensors_is_told(tmp_path):
    (tmp_path / "plain.py").write_text(NO_TENSOR)
    ran = helpers(tmp_path, "plain.py")
    assert ran.out == "only 42\n"
    assert ran.err == (
        "python -m helpers: plain.py ran and used no tensor of torch: "
        "nothing to report.\n"
    )


# -- what is not run at all


@pytest.fixture
def refused(tmp_path, monkeypatch, capsys):
    """Give a call that must end with 2 and one sentence on stderr."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.py").write_text("open('ran', 'w')\n")

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["helpers", *map(str, arguments)])
        assert command.main() == 2
        assert not Path("ran").exists()
        out, err = capsys.readouterr()
        assert out == ""
        assert err.count("\n") == 1
        return err.removeprefix("python -m helpers: ").rstrip()

    return call


def test_no_such_file(refused):
    assert refused("nine.py") == (
        "there is no file nine.py: give the script, then its arguments."
    )


def test_a_folder(refused):
    Path("code").mkdir()
    assert refused("code") == (
        "code is a folder: give the script that is in it."
    )


def test_a_notebook(refused):
    Path("a.ipynb").write_text("{}")
    assert refused("a.ipynb") == (
        "a.ipynb is a notebook: open it, run %load_ext helpers in a cell, "
        "and put %%steps on top of the cell to be watched."
    )


@pytest.mark.parametrize("data", [b"x = '\xe9'\n", b"# coding: nine\n"])
def test_an_encoding_that_cannot_be_read(refused, data):
    Path("a.py").write_bytes(data)
    assert refused("a.py").endswith(
        "save it as UTF-8, or name its encoding in its first line."
    )


def test_a_binary_file(refused):
    Path("a.py").write_bytes(b"\x7fELF\0\0")
    assert refused("a.py") == "a.py is not text: give a Python file."


def test_no_such_module(refused):
    assert refused("-m", "nine").startswith("there is no module nine to run")


def test_no_such_package(refused):
    assert refused("-m", "nine.ten").startswith("the module nine.ten can't")


def test_another_ending(refused):
    assert refused("-o", "a.pdf", "s.py") == (
        "the report can't be 'a.pdf': give -o a name that ends in .html or "
        ".txt."
    )


def test_a_file_that_is_no_report_is_kept(refused):
    Path("s_report.html").write_text("<p>mine</p>")
    assert "is there and is no report" in refused("s.py")
    assert Path("s_report.html").read_text() == "<p>mine</p>"


def test_a_folder_that_is_not_there(refused):
    assert "No such file or directory" in refused("-o", "no/a.html", "s.py")


def test_a_folder_that_is_a_file(refused):
    Path("a").write_text("")
    assert "Not a directory" in refused("-o", "a/b.html", "s.py")


def test_an_output_that_is_a_folder(refused):
    Path("a.html").mkdir()
    assert "give -o a file's name" in refused("-o", "a.html", "s.py")


def test_a_syntax_error_is_shown_as_python_does(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("s.py").write_text("x = 1\ny = (\n")
    monkeypatch.setattr(sys, "argv", ["helpers", "s.py"])
    assert command.main() == 1
    err = capsys.readouterr().err
    assert 's.py", line 2' in err
    assert "SyntaxError: '(' was never closed\n" in err
    assert err.endswith("Nothing was run: mend this line first.\n")


def test_what_stands_after_the_script_is_the_script_s():
    given = command._parser().parse_args(["a.py", "-o", "b.html", "--text"])
    assert given.arguments == ["-o", "b.html", "--text"]
    assert given.output is None


# -- the page

CODE = """import torch
w = torch.ones(2, requires_grad=True)
frozen = torch.ones(2, requires_grad=True)
frozen.requires_grad_(False)
data = torch.ones(2)
print("</script><b>")
loss = (w * data * frozen).detach().sum()
loss.backward()
"""


@pytest.fixture(scope="module")
def told():
    return report(record_code(CODE), "<i>a.py")


class Tags(HTMLParser):
    """All tags of a page with their attributes, in order."""

    def __init__(self, page):
        super().__init__()
        self.tags = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))


@pytest.fixture(scope="module")
def page(told, tmp_path_factory):
    path = told.save(tmp_path_factory.mktemp("page") / "a.html")
    return path.read_text(encoding="utf-8")


def test_what_is_wrong_comes_first(told):
    assert [part.title for part in told.parts] == [
        "What is wrong",
        "Who has no gradient, and why",
        "Step by step",
        "The graph",
        "The memory",
        "Where the gradient is cut",
        "Left out",
    ]


def test_a_page_has_a_language(page):
    assert ("html", {"lang": "en"}) in Tags(page).tags


def test_a_page_has_an_escaped_title(page):
    assert "<title>What &lt;i&gt;a.py did</title>" in page


def test_a_page_fits_a_phone(page):
    assert 'name="viewport" content="width=device-width' in page


def test_no_heading_is_left_out(page):
    levels = [
        int(tag[1]) for tag, _ in Tags(page).tags if re.match("h[1-6]$", tag)
    ]
    assert levels[0] == 1
    assert max(b - a for a, b in itertools.pairwise(levels)) == 1


def test_every_picture_has_an_alt_text(page):
    pictures = [attrs for tag, attrs in Tags(page).tags if tag == "img"]
    assert len(pictures) == 4
    assert all(attrs["alt"] for attrs in pictures)


def test_a_page_needs_nothing_from_outside(page):
    addresses = [
        attrs[name]
        for _, attrs in Tags(page).tags
        for name in ("src", "href")
        if name in attrs
    ]
    assert addresses
    assert all(address.startswith("data:") for address in addresses)


def test_what_is_printed_ends_no_script(page):
    assert page.count("</script>") == page.count("<script")


def test_text_and_page_tell_the_same_reasons(told):
    assert "w: w.grad is None because line 7" in told.text
    assert "w.grad is None because line 7" in told.html


def test_data_is_not_asked_for_a_gradient(told):
    reasons = told.parts[1].text
    assert "data.grad" not in reasons


def test_a_frozen_leaf_is_asked(told):
    assert "frozen: frozen.grad is None because line 4" in told.parts[1].text


def test_names_with_one_reason_stand_together():
    code = (
        "import torch\nnet = torch.nn.Linear(2, 1)\n"
        "loss = net(torch.ones(2)).detach().sum() + net.bias.sum() * 0\n"
    )
    code += "net.requires_grad_(False)\n"
    text = report(record_code(code), "a.py").parts[1].text
    assert text.splitlines()[1] == "  The same holds for net.bias."


def test_imports_are_no_steps_of_the_report(told):
    assert "step 1, line 2: w = torch.ones" in told.parts[2].text
    assert "The first 1 step did nothing" in told.parts[-1].text


def test_equal_cuts_are_counted():
    code = (
        "import torch\nx = torch.ones(2, requires_grad=True)\n"
        "for _ in range(3):\n    x.detach()\n"
    )
    cuts = report(record_code(code), "a.py").parts[5]
    assert "line 4: x.detach()\n" in cuts.text
    assert "(× 3)" in cuts.text
    assert cuts.html.count("<tr>") == 2


def test_a_large_player_keeps_its_first_steps(monkeypatch):
    recording = record_code(CODE)
    size = len(recording.player().html.encode())
    monkeypatch.setattr(reports, "MOST_BYTES", size - 1)
    told = report(recording, "a.py")
    assert re.search(r"Of these 7, the first \d are kept", told.parts[-1].text)
    assert len(told.parts[2].html.encode()) < size * 1.3


def test_a_long_run_draws_the_graph_of_its_first_steps(monkeypatch):
    monkeypatch.setattr(reports, "MOST_OPERATIONS", 3)
    graph = report(record_code(CODE), "a.py").parts[3]
    assert graph.text.startswith("Of the first 8 steps of the run.")


def test_names_that_were_not_asked_are_counted(monkeypatch):
    monkeypatch.setattr(reports, "MOST_ASKED", 1)
    code = (
        "import torch\na = torch.ones(1, requires_grad=True)\n"
        "b = torch.ones(1, requires_grad=True)\n"
    )
    told = report(record_code(code), "a.py").parts[1].text
    assert told.endswith("1 more were not asked.")


def test_a_program_without_steps_is_told():
    told = report(record_code("x = ("), "a.py")
    assert "The script raised SyntaxError" in told.text


@pytest.mark.parametrize("ending", [".html", ".txt"])
def test_a_report_is_known_again(told, tmp_path, ending):
    assert is_report(told.save(tmp_path / f"a{ending}"))


@pytest.mark.parametrize("text", ["<p>mine</p>", "# by hand\n"])
def test_another_file_is_no_report(tmp_path, text):
    path = tmp_path / "a.html"
    path.write_text(text)
    assert not is_report(path)


def test_an_empty_file_may_be_written_over(tmp_path):
    path = tmp_path / "a.html"
    path.write_text("")
    assert is_report(path)


def test_another_ending_is_refused(told, tmp_path):
    with pytest.raises(ValueError, match=r"must end in \.html or \.txt"):
        told.save(tmp_path / "a.pdf")
