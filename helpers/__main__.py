"""python -m helpers script.py: run a script and write what it did.

For people without a notebook.  The script runs as it would by itself: its
own arguments, prints, exit code and traceback.
"""

from __future__ import annotations

import argparse
import builtins
import contextlib
import importlib.util
import os
import sys
import tempfile
import types
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .report import is_report, report
from .watching import Recording, watch

HERE = Path(__file__).parent
OWN = "python -m helpers"
REFUSED = 2  # the exit code when there is no report, and it is not the script


class Refused(Exception):
    """Says what was given and what to do."""


@dataclass(frozen=True)
class Program:
    """A script as Python would start it."""

    path: Path
    source: str
    code: types.CodeType
    started_as: str  # its sys.argv[0]
    stem: str
    spec: Any = None  # of a module


def main() -> int:
    """Run a script under the recorder; return the exit code."""
    given = _parser().parse_args()
    try:
        output = _output(given)
        program = _program(given.script, given.module)
        output = output or Path.cwd() / f"{program.stem}_report.html"
        if not given.text or given.output:
            _check(output)
    except Refused as refused:
        _say(str(refused))
        return REFUSED
    except SyntaxError as error:
        _show(error)
        _say("Nothing was run: mend this line first.")
        return 1
    out = sys.stdout
    recording = _run(program, given.arguments)
    code = _exit_code(recording.error)
    try:
        text_to = out if given.text else None
        file = output if given.output or not given.text else None
        _tell(recording, program, file, text_to)
    except Refused as refused:
        _say(str(refused))
        return code or REFUSED
    except KeyboardInterrupt:
        _say("Interrupted: no report was written.")
        return code or 130
    except Exception as error:  # a fault of ours is not the script's
        _say(f"The report failed: {type(error).__name__}: {error}")
        return code or REFUSED
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=OWN,
        allow_abbrev=False,
        description="Run a script, watch what it does to tensors and "
        "gradients, and write a report: what is wrong, who has no gradient "
        "and why, every step, the graph, the memory.",
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="where to write it, a name in .html or .txt "
        "(SCRIPT_report.html in this folder)",
    )
    parser.add_argument(
        "--text",
        action="store_true",
        help="print the report as text; a file is written only with -o",
    )
    parser.add_argument(
        "-m",
        dest="module",
        action="store_true",
        help="the script is a module's name, as in python -m",
    )
    parser.add_argument("script", help="a Python file")
    parser.add_argument(
        "arguments",
        nargs=argparse.REMAINDER,
        help="what the script itself is given",
    )
    return parser


# -- before the run


def _program(script: str, is_module: bool) -> Program:
    spec = _spec(script) if is_module else None
    path = Path(spec.origin) if spec is not None else Path(script)
    source = _read(path)
    path = path.absolute()
    code = compile(source, str(path), "exec", dont_inherit=True)
    started_as = str(path) if is_module else script
    stem = script.rpartition(".")[2] if is_module else path.stem
    return Program(path, source, code, started_as, stem, spec)


def _spec(name: str) -> Any:
    """Find a module, or the __main__ of a package."""
    try:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations is not None:
            spec = importlib.util.find_spec(f"{name}.__main__")
    except (ImportError, ValueError) as error:
        raise Refused(f"the module {name} can't be found: {error}") from None
    if spec is None or not str(spec.origin).endswith(".py"):
        raise Refused(
            f"there is no module {name} to run: give the name as in "
            "python -m, or leave out -m and give a file."
        )
    return spec


def _read(path: Path) -> str:
    if path.is_dir():
        raise Refused(f"{path} is a folder: give the script that is in it.")
    if path.suffix == ".ipynb":
        raise Refused(
            f"{path} is a notebook: open it, run %load_ext helpers in a "
            "cell, and put %%steps on top of the cell to be watched."
        )
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise Refused(
            f"there is no file {path}: give the script, then its arguments."
        ) from None
    except OSError as error:
        raise Refused(f"{path} can't be read: {error.strerror}.") from None
    if b"\0" in data:
        raise Refused(f"{path} is not text: give a Python file.")
    try:
        return importlib.util.decode_source(data)
    except (UnicodeDecodeError, LookupError, SyntaxError) as error:
        raise Refused(
            f"{path} can't be read as text ({error}): save it as UTF-8, or "
            "name its encoding in its first line."
        ) from None


def _output(given: argparse.Namespace) -> Path | None:
    path: Path | None = given.output
    if path is not None and path.suffix not in (".html", ".txt"):
        raise Refused(
            f"the report can't be {path.name!r}: give -o a name that ends "
            "in .html or .txt."
        )
    # the script may change the folder
    return path.absolute() if path is not None else None


def _check(path: Path) -> None:
    """Refuse a place that can't be written, or where something else is."""
    try:
        if path.is_dir():
            raise Refused(f"{path} is a folder: give -o a file's name.")
        if path.exists():
            with path.open("r+b"):
                pass
            if not is_report(path):
                raise Refused(
                    f"{path} is there and is no report: give another name "
                    "with -o, or move it away."
                )
        else:
            with tempfile.TemporaryFile(dir=path.parent):
                pass
    except OSError as error:
        raise Refused(
            f"can't write to {path}: {error.strerror}. Give -o a place that "
            "can be written."
        ) from None


# -- the run


def _run(program: Program, arguments: list[str]) -> Recording:
    """Run a script as Python would; what it raises is in the recording."""
    module = types.ModuleType("__main__")
    space = vars(module)
    space["__file__"] = str(program.path)
    space["__builtins__"] = builtins
    spec = program.spec
    if spec is not None:
        space |= {"__spec__": spec, "__package__": spec.parent}
    # it stays so afterwards, for threads and for what runs at exit
    sys.modules["__main__"] = module
    sys.argv = [program.started_as, *arguments]
    if spec is None and not getattr(sys.flags, "safe_path", False):
        folder = program.path.resolve().parent
        sys.path[0] = str(folder)
        _make_way(folder)
    recording = Recording()
    filename = str(program.path)
    try:
        watch(
            recording,
            filename,
            program.source,
            space,
            lambda: exec(program.code, space),
        )
    except BaseException:
        if not recording.is_finished:
            raise
    error = recording.error
    if error is not None and not isinstance(error, SystemExit):
        _show(error)
    return recording


def _make_way(folder: Path) -> None:
    """Let a script import a helpers of its own, from beside it."""
    theirs = (folder / "helpers.py", folder / "helpers" / "__init__.py")
    if folder == HERE.resolve().parent or not any(p.exists() for p in theirs):
        return
    for name in list(sys.modules):
        if name == "helpers" or name.startswith("helpers."):
            del sys.modules[name]


def _exit_code(error: BaseException | None) -> int:
    if error is None:
        return 0
    if isinstance(error, KeyboardInterrupt):
        return 130
    if not isinstance(error, SystemExit):
        return 1
    if error.code is None or isinstance(error.code, int):
        return error.code or 0
    print(error.code, file=sys.stderr)
    return 1


# -- an error, as the script would show it


def _show(error: BaseException) -> None:
    """Show an error as usual, without the frames that come from us."""
    seen: set[int] = set()
    stack: list[BaseException | None] = [error]
    while stack:
        one = stack.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        stack += [one.__cause__, one.__context__]
        stack += getattr(one, "exceptions", ())
        one.__traceback__ = _own_lines(one.__traceback__)
    sys.excepthook(type(error), error, error.__traceback__)


def _own_lines(
    trace: types.TracebackType | None,
) -> types.TracebackType | None:
    kept: list[types.TracebackType] = []
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_name == "handle_torch_function" and _is_torch(code):
            # torch's function that hands over to us, and is called again
            kept = kept[:-1]
        elif not code.co_filename.startswith(str(HERE) + os.sep):
            kept.append(trace)
        trace = trace.tb_next
    following = None
    for one in reversed(kept):
        following = types.TracebackType(
            following, one.tb_frame, one.tb_lasti, one.tb_lineno
        )
    return following


def _is_torch(code: types.CodeType) -> bool:
    return Path(code.co_filename).parts[-2:] == ("torch", "overrides.py")


# -- after the run


def _tell(
    recording: Recording, program: Program, file: Path | None, out: Any
) -> None:
    name = program.path.name
    touched = recording.run.events or recording.snapshot.objects
    if not touched and recording.error is None:
        _say(f"{name} ran and used no tensor of torch: nothing to report.")
        return
    made = report(recording, name, str(program.path))
    if out is not None:
        _print(made.text, out)
    if file is not None:
        _check(file)  # the script may have written there
        try:
            made.save(file)
        except OSError as error:
            raise Refused(
                f"can't write to {file}: {error.strerror}."
            ) from None
        size = file.stat().st_size / 1000
        _say(f"The report of {name} is in {file} ({size:,.0f} kB).")


def _print(text: str, out: Any) -> None:
    """Print a report on what was stdout when the script began."""
    if hasattr(out, "reconfigure"):
        out.reconfigure(errors="backslashreplace")
    try:
        print(text, file=out, flush=True)
    except BrokenPipeError:  # a pager that was left
        os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())


def _say(text: str) -> None:
    """Tell something that is not the script's: on stderr."""
    with contextlib.suppress(AttributeError, ValueError, OSError):
        sys.stdout.flush()  # the script may have closed it
    print(f"{OWN}: {text}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
