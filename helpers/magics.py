"""%%steps: step through a notebook cell.  The only file that knows IPython."""

from __future__ import annotations

import ast
import inspect
import io
import itertools
import tokenize
from typing import Any

from .watching import Recording, remember_source, watch

__all__ = ["load_ipython_extension"]

_numbers = itertools.count()


def load_ipython_extension(ipython: Any) -> None:
    """Give a notebook the cell magic ``%%steps``: ``%load_ext helpers``.

    The cell runs as it would without it (output, errors, last value,
    variables), and its player is shown below.  The recording stays in the
    variable ``recording``, to be asked ``recording.why_no_grad("x")``.
    """

    def steps(line: str, cell: str) -> Any:
        return _run(ipython, cell)

    ipython.register_magic_function(steps, "cell", "steps")


def _run(shell: Any, cell: str) -> Any:
    from IPython.core.error import UsageError
    from IPython.display import display

    source = shell.transform_cell(cell)
    filename = f"<steps {next(_numbers)}>"
    remember_source(filename, source)
    tree = ast.parse(source, filename)
    if _awaits(tree, filename):
        raise UsageError(
            "%%steps can't step through an await outside of a function: "
            "put that line into a cell of its own, without %%steps."
        )
    last = None
    if tree.body and isinstance(tree.body[-1], ast.Expr):
        last = tree.body.pop()
    space = shell.user_ns
    recording = Recording()

    def work() -> Any:
        if tree.body:
            exec(compile(tree, filename, "exec"), space)
        if last is None:
            return None
        value = ast.Expression(last.value)
        found = eval(compile(value, filename, "eval"), space)
        return None if _is_quiet(source) else found

    try:
        watch(recording, filename, source, space, work)
    finally:
        if recording.is_finished:
            space["recording"] = recording
            display(recording.player())
    if recording.error is not None:
        raise recording.error
    return recording.value


def _awaits(tree: ast.Module, filename: str) -> bool:
    """Say whether a cell has an await that belongs to no function."""
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    code = compile(tree, filename, "exec", flags)
    return bool(code.co_flags & inspect.CO_COROUTINE)


def _is_quiet(source: str) -> bool:
    """Say whether a cell ends in a semicolon, which hides its last value."""
    last = ""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.OP or token.string.strip():
            last = last if token.type == tokenize.COMMENT else token.string
    return last == ";"
