"""%%steps behaves as the cell would without it, and shows the player."""

from __future__ import annotations

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output


@pytest.fixture
def shell():
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "helpers")
    yield shell
    InteractiveShell.clear_instance()


def run(shell, cell):
    with capture_output() as captured:
        result = shell.run_cell(f"%%steps\n{cell}")
    return result, captured


def test_the_last_value_is_the_output(shell):
    result, _ = run(shell, "a = 1\na + 1")
    assert result.result == 2


def test_a_last_value_with_a_semicolon_is_not(shell):
    result, _ = run(shell, "1 + 1;")
    assert result.result is None


def test_variables_stay(shell):
    run(shell, "import torch\nx = torch.ones(2)")
    assert shell.user_ns["x"].tolist() == [1.0, 1.0]


def test_variables_of_earlier_cells_are_seen(shell):
    shell.run_cell("import torch\nx = torch.ones(1, requires_grad=True)")
    run(shell, "y = x.detach()")
    assert shell.user_ns["recording"].why_no_grad("x").reason == "cut"


def test_what_is_printed_is_printed(shell):
    _, captured = run(shell, "print('hello')")
    assert "hello\n" in captured.stdout


def test_the_player_is_shown(shell):
    _, captured = run(shell, "import torch\nx = torch.ones(1)")
    assert "helpers-player" in captured.outputs[0].data["text/html"]


def test_an_error_comes_as_it_would(shell):
    result, captured = run(shell, "import torch\n1 / 0")
    assert isinstance(result.error_in_exec, ZeroDivisionError)
    assert "helpers-player" in captured.outputs[0].data["text/html"]


def test_a_syntax_error_comes_as_it_would(shell):
    result, _ = run(shell, "x = (")
    assert isinstance(result.error_in_exec, SyntaxError)


def test_ipython_syntax_works_in_the_cell(shell):
    result, _ = run(shell, "value = %env HOME\nvalue is None")
    assert result.error_in_exec is None


def test_an_await_outside_of_a_function_is_refused_in_a_sentence(shell):
    result, captured = run(shell, "import asyncio\nawait asyncio.sleep(0)")
    assert "put that line into a cell of its own" in captured.stderr
    assert "Traceback" not in captured.stderr
    assert result.result is None


def test_an_await_inside_of_a_function_is_not_refused(shell):
    result, _ = run(shell, "async def f(y):\n    await y\nf.__name__")
    assert result.result == "f"
