"""Words that pictures, texts and tables share, so that all say the same."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ..model import GONE, TensorFacts, number_text

MOST_LISTED = 20  # names in one sentence
FEW = 4  # values that still fit into a box


def words_of(thing: Any) -> str:
    """Return ``str(thing)``, also of an object whose own text raises.

    >>> words_of(ValueError("no"))
    'no'
    """
    try:
        return str(thing)
    except Exception:
        return f"(a {type(thing).__name__} whose text can't be read)"


def error_text(error: BaseException) -> str:
    """Write an error as the last line of a traceback does.

    >>> error_text(ValueError("no"))
    'ValueError: no'
    """
    return f"{type(error).__name__}: {words_of(error)}"


def values_text(values: Any) -> str:
    """Write nested values as a tensor prints them.

    >>> values_text([[1.0, 2.5], [0.0, -1.0]])
    '[[1.0, 2.5], [0.0, -1.0]]'
    """
    if isinstance(values, list):
        return "[" + ", ".join(values_text(v) for v in values) + "]"
    return number_text(values)


def values_lines(values: Any) -> list[str]:
    """Write values for a box: a matrix takes a line for each row.

    >>> values_lines([[1, 2], [3, 4]])
    ['[[1, 2],', ' [3, 4]]']
    """
    matrix = isinstance(values, list) and len(values) > 1
    if not matrix or not all(isinstance(row, list) for row in values):
        return [values_text(values)]
    rows = [f" {values_text(row)}," for row in values]
    rows[0] = "[" + rows[0][1:]
    rows[-1] = rows[-1][:-1] + "]"
    return rows


def shape_text(tensor: TensorFacts) -> str:
    """Write dtype and shape: ``float32 [2, 3]``."""
    return f"{tensor.dtype} {list(tensor.shape)}"


def value_of(tensor: TensorFacts, most: int = FEW) -> str:
    """Write the values, or nothing where they are too many or unknown."""
    if tensor.values is None or not 0 < tensor.numel <= most:
        return ""
    return values_text(tensor.values)


def grad_text(tensor: TensorFacts, most: int = FEW) -> str:
    """Write ``.grad``: its values, else its norm, else None."""
    if tensor.grad is None:
        return ".grad None"
    values = value_of(tensor.grad, most)
    if values:
        return f".grad {values}"
    norm = tensor.grad_norm
    if norm is None and tensor.grad.values is not None:
        norm = norm_of(tensor.grad.values)
    if norm is None:
        return f".grad {shape_text(tensor.grad)}"
    return f".grad norm {number_text(norm)}"


def norm_of(values: Any) -> float:
    """Return the norm of nested values.

    >>> norm_of([[3.0], [4.0]])
    5.0
    """
    return math.hypot(*(abs(v) for v in _flat(values)))


def _flat(values: Any) -> Iterator[Any]:
    if not isinstance(values, list):
        yield values
        return
    for one in values:
        yield from _flat(one)


def status_text(tensor: TensorFacts) -> str:
    """Say in torch's terms what autograd knows of a tensor."""
    if tensor.is_array:
        return "NumPy array"
    if tensor.grad_fn:
        return tensor.grad_fn
    if tensor.requires_grad:
        return "leaf, requires_grad"
    return "frozen leaf" if tensor.frozen else "no history"


def has_grad_line(tensor: TensorFacts) -> bool:
    """Say whether ``.grad`` belongs to what is told of a tensor."""
    if tensor.grad is not None or tensor.retains_grad:
        return True
    known = tensor.note != GONE
    return known and tensor.requires_grad and tensor.is_leaf


def name_text(tensor: TensorFacts) -> str:
    """Write all the names of one tensor.

    >>> name_text(TensorFacts("t0", ("a", "b"), "Tensor", "int64", ()))
    'a = b'
    """
    return " = ".join(tensor.names)


def listed(words: Sequence[str]) -> str:
    """Join words as a sentence does, the first few of very many.

    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    if len(words) > MOST_LISTED:
        few = [*words[: MOST_LISTED - 1]]
        words = [*few, f"{len(words) - len(few):,} more"]
    if len(words) < 2:
        return "".join(words)
    return ", ".join(words[:-1]) + " and " + words[-1]


def counted(number: int, noun: str) -> str:
    """Write a number with its noun.

    >>> counted(1, "operation"), counted(5000, "operation")
    ('1 operation', '5,000 operations')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def distinct(words: Iterable[str]) -> list[str]:
    """Return each word once, in order of first appearance."""
    return list(dict.fromkeys(words))
