"""The files around the code agree with each other."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from torch import nn

from helpers import draw_graph

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[1]
# What a package is called on conda-forge, and when it is imported.
CONDA = {"torch": "pytorch", "matplotlib": "matplotlib-base"}
CONDA["graphviz"] = "python-graphviz"
IMPORTS = {"pyyaml": "yaml", "resvg-py": "resvg_py", "ipython": "IPython"}
CODE = sorted((ROOT / "helpers").rglob("*.py"))
FLOORS = {
    "collecting": 1,
    "model": 1,
    "diagrams": 2,
    "capture": 2,
    "lessons": 4,
    "diagnosis": 2,
    "problems": 3,
    "learning": 3,
    "asking": 4,
    "flow": 3,
    "telling": 3,
    "recorder": 3,
    "drawing": 3,
    "exercises": 5,
    "plots": 3,
    "measuring": 3,
    "choosing": 4,
    "trial": 6,
    "clinic": 6,
    "watching": 5,
    "magics": 7,
    "report": 6,
    "__main__": 9,
    "__init__": 8,
}


def project():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)["project"]


def declared():
    """Return each requirement by its name."""
    found = [
        *project()["dependencies"],
        *project()["optional-dependencies"]["test"],
    ]
    return {r.name: r for r in map(Requirement, found)}


def environment():
    """Return names and ranges of environment.yml, conda's and pip's."""
    text = (ROOT / "environment.yml").read_text(encoding="utf-8")
    entries = yaml.safe_load(text)["dependencies"]
    (pip,) = [e["pip"] for e in entries if isinstance(e, dict)]
    plain = [e for e in entries if isinstance(e, str)]
    names = {}
    for entry in [*plain, *pip]:
        found = re.match(r"([\w-]+)(.*)", entry)
        names[found[1]] = found[2]
    return names, pip


def pins():
    """Return the pinned versions of each package, by lower-case name."""
    text = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    found = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            name, version = re.match(r"([\w.-]+)==([\w.]+)", line).groups()
            found.setdefault(name, []).append(version)
    return found


@pytest.mark.parametrize("name", declared())
def test_environment_yml_has_the_same_range(name):
    names, _ = environment()
    assert names[CONDA.get(name, name)] == str(declared()[name].specifier)


def test_environment_yml_has_nothing_more():
    names, _ = environment()
    known = {CONDA.get(name, name) for name in declared()}
    assert set(names) - known == {"python", "pip", "-e"}


def test_environment_yml_installs_the_package():
    _, pip = environment()
    assert "-e ." in pip


def test_environment_yml_asks_for_one_python():
    # python>=3.11 is not understood by repo2docker
    assert environment()[0]["python"] == "=3.12"


@pytest.mark.parametrize("name", declared())
def test_every_pin_lies_in_the_declared_range(name):
    for version in pins()[name]:
        assert declared()[name].specifier.contains(version)


def test_torch_is_pinned():
    assert pins()["torch"] == ["2.13.0"]


def test_every_pin_is_exact():
    text = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    lines = [n for n in text.splitlines() if not n.startswith("#")]
    assert all(re.match(r"[\w.-]+==[\w.]+( ;|$)", line) for line in lines)


def test_what_runs_here_is_what_is_pinned():
    from importlib.metadata import version

    names = ["jupyterlab", "nbval", "graphviz", "matplotlib", "hypothesis"]
    for name in names:
        assert version(name) in pins()[name]


def imported(source):
    found = set()
    plain = re.sub(r"(?m)^%.*$", "", source)  # magics
    for node in ast.walk(ast.parse(plain)):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.add(node.module.split(".")[0])
    return found


def test_every_import_is_declared():
    known = {IMPORTS.get(name, name.replace("-", "_")) for name in declared()}
    bench = project()["optional-dependencies"]["bench"]
    known |= {Requirement(text).name for text in bench}
    known |= set(sys.stdlib_module_names) | {"helpers", "tomli"}
    known |= {p.stem for p in (ROOT / "docs").glob("*.py")}
    known |= {p.stem for p in (ROOT / "tests").glob("*.py")}
    sources = [p.read_text(encoding="utf-8") for p in CODE]
    sources += [
        p.read_text(encoding="utf-8") for p in (ROOT / "tests").glob("*.py")
    ]
    for path in (ROOT / "notebooks").glob("*.ipynb"):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        sources += [
            "".join(c["source"])
            for c in notebook["cells"]
            if c["cell_type"] == "code"
        ]
    assert {name for s in sources for name in imported(s)} - known == set()


def part(path):
    return path.relative_to(ROOT / "helpers").with_suffix("").parts[0]


@pytest.mark.parametrize("path", CODE, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_go_downward(path):
    mine = part(path)
    package = path.relative_to(ROOT / "helpers").parent.parts
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.ImportFrom) or not node.level:
            continue
        above = package[: len(package) - node.level + 1]
        names = [node.module] if node.module else [a.name for a in node.names]
        for name in names:
            target = (*above, *name.split("."))[0]
            assert target == mine or FLOORS[target] < FLOORS[mine], name


@pytest.mark.parametrize("path", CODE, ids=lambda p: str(p.relative_to(ROOT)))
def test_torch_is_imported_where_tensors_are(path):
    names = imported(path.read_text(encoding="utf-8"))
    if "torch" in names:
        assert part(path) in {
            *("capture", "lessons", "exercises", "recorder"),
            *("choosing", "clinic", "measuring", "trial"),
        }


# The version counter, which design and lessons speak of, has no other name.
KNOWN = {"_version"}


def private_names():
    """What torch's things have that is not for everybody."""
    tensor = torch.ones(1)
    optimizer = torch.optim.SGD([tensor])
    storage = tensor.untyped_storage()
    things = (torch, tensor, storage, nn.Linear(1, 1), optimizer)
    names = {name for thing in things for name in dir(thing)}
    return {n for n in names if n.startswith("_") and not n.endswith("__")}


@pytest.mark.parametrize("path", CODE, ids=lambda p: str(p.relative_to(ROOT)))
def test_private_names_of_torch_stand_in_capture(path):
    if part(path) == "capture":
        return
    private = private_names() - KNOWN
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute) and node.attr in private:
            owner = node.value
            assert isinstance(owner, ast.Name), ast.unparse(node)
            assert owner.id == "self", ast.unparse(node)
        if isinstance(node, ast.ImportFrom) and imported_from_torch(node):
            names = [*node.module.split("."), *(a.name for a in node.names)]
            assert not [n for n in names if n.startswith("_")]


def imported_from_torch(node):
    return not node.level and node.module.split(".")[0] == "torch"


def test_pictures_need_no_torch():
    code = (
        "import sys, types\n"
        "package = types.ModuleType('helpers')\n"
        f"package.__path__ = [{str(ROOT / 'helpers')!r}]\n"
        "sys.modules['helpers'] = package\n"
        "import helpers.model\n"
        "from helpers.diagrams import graph, memory, table\n"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_colours_stand_in_style_only():
    for path in CODE:
        if path.name != "style.py":
            text = path.read_text(encoding="utf-8")
            assert re.findall(r"#[0-9a-fA-F]{6}\b", text) == [], path


def test_graphviz_stands_in_layout_only():
    for path in CODE:
        if path.name != "layout.py":
            assert "graphviz" not in imported(path.read_text("utf-8")), path


def test_the_readme_has_no_dead_link():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)]+)\)|src=\"([^\"]+)\"", text)
    for link in (a or b for a, b in links):
        assert (ROOT / link.split("#")[0]).exists(), link


def test_the_readme_shows_what_is_drawn_now(request):
    A, B = nn.Linear(1, 1, bias=False), nn.Linear(1, 1, bias=False)
    nn.init.constant_(A.weight, 2.0)
    nn.init.constant_(B.weight, 3.0)
    x = torch.ones(1, 1)
    a = A(x)
    loss = B(a.detach()).sum()
    loss.backward(retain_graph=True)
    picture = draw_graph(loss, a, A, B)
    path = ROOT / "notebooks" / "pictures" / "split.svg"
    if request.config.getoption("--write-golden"):
        picture.save(path)
    assert path.read_text(encoding="utf-8") == picture.svg
    assert x.numel() == 1


def test_the_readme_lists_every_lesson():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for path in (ROOT / "notebooks").glob("*.ipynb"):
        title = json.loads(path.read_text(encoding="utf-8"))["cells"][0]
        name = "".join(title["source"]).splitlines()[0].removeprefix("# ")
        assert f"[{name}](notebooks/{path.name})" in text


def test_make_help_lists_the_targets():
    done = subprocess.run(
        ["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    listed = {line.split()[0] for line in done.stdout.splitlines()}
    assert listed >= {"lab", "test", "refresh", "lint", "bench", "clean"}


def test_python_3_10_is_enough():
    assert project()["requires-python"] == str(SpecifierSet(">=3.10"))
