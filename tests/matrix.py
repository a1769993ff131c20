"""Run a fast part of the tests on other versions of Python and of torch.

``make matrix`` makes one environment after the other in a folder that is
removed again, and prints what ran, what did not, and why.  Pythons are those
on the PATH.  With arguments, only the rows whose name holds all of them:
``python tests/matrix.py 3.10 newest``.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
# What looks at torch from many sides, and needs neither kernel nor browser.
TESTS = [
    f"tests/test_{name}.py"
    for name in (
        "capture",
        "diagnosis",
        "diagram",
        "graph",
        "hostile",
        "layout",
        "memory",
        "player",
        "programs",
        "recorder",
        "robust",
        "table",
        "wrong_input",
    )
]
ROOM = 12 << 30  # bytes: a CUDA build, which some indexes give, takes 6 GB


@dataclass(frozen=True)
class Row:
    """A Python, and which torch to put on it."""

    python: str
    kind: str  # "oldest", "pinned" or "newest"

    @property
    def name(self) -> str:
        return f"{self.python} {self.kind}"


ROWS = (
    Row("3.10", "oldest"),
    Row("3.10", "newest"),
    Row("3.11", "oldest"),
    Row("3.11", "pinned"),
    Row("3.12", "oldest"),
    Row("3.12", "newest"),
    Row("3.13", "oldest"),
    Row("3.13", "newest"),
)


def oldest() -> str:
    """The oldest torch that pyproject.toml admits."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    return re.findall(r'"torch>=([\d.]+)"', text)[0]


def asked(row: Row) -> list[str]:
    """What pip is told."""
    project = ["--editable", f"{ROOT}[test]"]
    if row.kind == "pinned":
        return ["--constraint", str(ROOT / "constraints.txt"), *project]
    if row.kind == "oldest":
        return [f"torch=={oldest()}.*", *project]
    return ["torch", *project]


def find_python(version: str) -> str | None:
    """The path of a Python of this version that runs."""
    found = shutil.which(f"python{version}")
    if found is None:
        return None
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    said = output([found, "-c", code])
    return found if said.strip() == version else None


def output(command: list[str]) -> str:
    """What a command prints, both streams."""
    return subprocess.run(
        command,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ).stdout


def last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].strip(" =") if lines else "nothing was printed"


def run(row: Row) -> tuple[str, str, bool]:
    """Run a row: torch's version, what came of it, and whether all passed."""
    python = find_python(row.python)
    if python is None:
        return "", f"not run: no python{row.python} on the PATH", True
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        if shutil.disk_usage(folder).free < ROOM:
            return "", "not run: under 12 GB free for an environment", True
        return _run_in(Path(folder), python, row)


def _run_in(folder: Path, python: str, row: Row) -> tuple[str, str, bool]:
    output([python, "-m", "venv", str(folder / "venv")])
    mine = str(folder / "venv" / "bin" / "python")
    install = [mine, "-m", "pip", "install", "--quiet", "--no-cache-dir"]
    said = output([*install, "--disable-pip-version-check", *asked(row)])
    version = "import torch; print(torch.__version__)"
    torch = last_line(output([mine, "-c", version]))
    if not re.match(r"\d+\.\d+", torch):
        return "", f"not run: {last_line(said)}", True
    tests = output([mine, "-m", "pytest", "-q", "-p", "no:nbval", *TESTS])
    end = last_line(tests)
    passed = "failed" not in end and "error" not in end
    if not passed:
        print(tests, file=sys.stderr)
    return torch, end, passed


def main(chosen: list[str]) -> int:
    rows = [r for r in ROWS if all(word in r.name for word in chosen)]
    if not rows:
        print(f"no row is called so; there are: {[r.name for r in ROWS]}")
        return 2
    print("| Python | asked for | torch | result | minutes |")
    print("| --- | --- | --- | --- | --- |", flush=True)
    good = True
    for row in rows:
        begin = time.monotonic()
        torch, end, passed = run(row)
        good = good and passed
        minutes = (time.monotonic() - begin) / 60
        cells = (row.python, row.kind, torch or "-", end, f"{minutes:.1f}")
        print(f"| {' | '.join(cells)} |", flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
