"""Tell names, tensors and storages apart."""

from __future__ import annotations

from typing import Any

import torch

from .kinds import CORRECT, Exercise, Question, ordering, right, wrong
from .looking import function_mistake, shares

QUESTIONS: dict[str, Question] = {
    "names-recall": Question(
        'From "Start here": the arrows of `x` and of `same = x.detach()` '
        "end at one storage. What does that mean?",
        (
            wrong(
                "`same` is a copy with equal numbers",
                "A copy has a storage of its own.",
                "detach-shares-storage",
            ),
            wrong(
                "`x` and `same` are two names of one tensor",
                "Each has its own box in the middle: two tensors on one "
                "storage.",
                "tying-vs-copying",
            ),
            right(
                "A write through one is seen through the other",
                "There is only one place where the numbers are.",
            ),
        ),
    ),
    "names-assign": Question(
        "`a = torch.zeros(3)`, then `b = a`, `b += 1` and `b = b + 1`. What "
        "does `a` hold now?",
        (
            wrong(
                "`[0, 0, 0]`: `b` is a copy",
                "An assignment copies nothing. It gives the tensor a second "
                "name.",
                "target-net-alias",
            ),
            right(
                "`[1, 1, 1]`",
                "`b += 1` writes into the shared numbers. `b = b + 1` makes "
                "a new tensor and leaves `a` as it is.",
            ),
            wrong(
                "`[2, 2, 2]`: both lines change `a`",
                "`b + 1` is a new tensor, and `b =` moves the name to it.",
                "from-numpy-rebind",
            ),
        ),
    ),
    "names-view": Question(
        "`v = a.view(3, 1)`. `id()` tells one Python object from another, "
        "`data_ptr()` says where a tensor's numbers begin. Which of the two "
        "do `v` and `a` have in common?",
        (
            right(
                "`data_ptr()`, not `id()`",
                "The numbers are in the same place. The tensor that looks "
                "at them is a new one.",
            ),
            wrong(
                "Both: `v` is `a` in another shape",
                "Then `a` would have the new shape too. `v` is a tensor of "
                "its own.",
                "grad-none-after-view",
            ),
            wrong(
                "Neither: a new tensor has its own numbers",
                "New tensor does not mean new memory.",
                "detach-shares-storage",
            ),
        ),
    ),
    "names-write": Question(
        "`a` holds `[1, 2, 3, 4]`. Brackets work as in NumPy. Which of these "
        "lines leaves `a` as it is?",
        (
            wrong(
                "`a[1:3] += 10`",
                "A slice is a view: this writes into `a`.",
                "fancy-index-fill",
            ),
            wrong(
                "`a[[1, 2]] += 10`",
                "Python reads a copy, adds to it, and then assigns it to "
                "`a[[1, 2]]`. That last step writes into `a`.",
                "fancy-index-augmented",
            ),
            right(
                "`a[[1, 2]].fill_(0)`",
                "Reading with a list makes a copy. The copy is filled, and "
                "nobody has a name for it.",
            ),
            wrong(
                "`a[a > 2] = 0`",
                "Assigning to brackets always writes into `a`. Only "
                "`a[a > 2][0] = 0`, with two pairs, writes into a copy.",
                "mask-then-slice-assign",
            ),
        ),
    ),
    "names-expand": Question(
        "`wide = grid[1].expand(2, 3)` shows the row `[4, 5, 6]` twice. What "
        "does `wide += 10` do?",
        (
            wrong(
                "It changes `wide` only: the rows are copies",
                "`expand` makes no copy. `repeat` does.",
                "expand-inplace",
            ),
            wrong(
                "It adds 20 to the row of `grid`",
                "torch does not let it come to that: it refuses to write "
                "twice to one place.",
                "expand-inplace",
            ),
            wrong(
                "It raises, as a write into any view of `grid` does",
                "Most views may be written to. This one shows the same "
                "numbers twice.",
                "unbind-inplace",
            ),
            right(
                "It raises, because both rows are the same memory",
                "One place cannot get two results.",
            ),
        ),
    ),
    "names-keep": Question(
        "`flat = grid.reshape(4)`, `flat_turned = grid.t().reshape(4)`, "
        "`same = grid.float()`, `kept = grid.clone()`, then "
        "`grid[0, 1] = 9`. Who still holds the old number?",
        (
            wrong(
                "All four: each call gives a new tensor",
                "`float()` has nothing to change and returns `grid` itself; "
                "`flat` is a view.",
                "to-returns-self",
            ),
            right(
                "`flat_turned` and `kept`",
                "No stride reads 1, 3, 2, 4 from the memory 1, 2, 3, 4, so "
                "this reshape copies.",
            ),
            wrong(
                "`same` and `kept`",
                "`grid` holds floats already: `float()` returns `grid` "
                "itself.",
                "type-as-copy-or-not",
            ),
            wrong(
                "`kept` only: a reshape is always a view",
                "It is one where a stride can express it. After `t()` none "
                "can, and it copies.",
                "view-needs-contiguous-claim",
            ),
        ),
    ),
    "names-numpy": Question(
        "`array` is `[1, 2]`. `seen = torch.from_numpy(array)`, "
        "`kept = torch.tensor(array)`, then `array += 10` and "
        "`array = array * 100`. What do `seen` and `kept` hold?",
        (
            wrong(
                "Both `[11, 12]`",
                "`torch.tensor` always copies, so `kept` sees no write.",
                "tensor-vs-from-numpy",
            ),
            wrong(
                "`[1100, 1200]` and `[1, 2]`",
                "`array * 100` is a new array. The name moves to it, the "
                "shared memory stays.",
                "from-numpy-rebind",
            ),
            right(
                "`[11, 12]` and `[1, 2]`",
                "`array += 10` writes into the memory that `seen` looks at.",
            ),
        ),
    ),
}


def _look_at_board(space: dict[str, Any]) -> str:
    board, kept = space["board"].tolist(), space["kept"].tolist()
    if board != [[7, 7, 7], [0, 0, 9]]:
        return f"board is {board}."
    if kept == board:
        return "kept holds the 9 too: copy before that write."
    if kept != [[7, 7, 7], [0, 0, 0]]:
        return f"kept is {kept}: copy after the 7s were written."
    return CORRECT


def _look_at_column(column: Any, grid: Any) -> str:
    if not isinstance(column, torch.Tensor):
        return f"column is a {type(column).__name__}, not a tensor."
    if not isinstance(grid, torch.Tensor) or grid.shape != (2, 3):
        return "leave grid as it is: it has two rows and three columns."
    if column is grid:
        return "column is a second name for the whole grid."
    if not shares(column, grid):
        return (
            "column has a storage of its own and saw no write: a list in "
            "the brackets, a clone or a calculation makes a copy."
        )
    if column.shape == (3,):
        return "this is a row: the column comes after the comma."
    if column.numel() != 2:
        return f"column has {column.numel()} of the numbers, it needs 2."
    if column.flatten().tolist() != grid[:, 2].tolist():
        return f"column holds {column.flatten().tolist()}: which column is it?"
    return CORRECT


def _look_at_relation(function: Any) -> str:
    mistake = function_mistake(function, "relation")
    if mistake:
        return mistake
    grid = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    weight = torch.ones(2, requires_grad=True)
    cases = (
        (grid, grid, "tensor", "one tensor under two names"),
        (grid, grid.clone(), "neither", "a clone with equal numbers"),
        (grid, grid.view(4), "storage", "a view"),
        (grid, grid[1], "storage", "a slice that begins later"),
        (grid[1], grid[0], "storage", "two rows of one grid"),
        (grid.t(), grid[1], "storage", "two views of one grid"),
        (weight, weight.detach(), "storage", "a tensor and its detach()"),
        (weight, torch.ones(2), "neither", "two tensors of ones"),
    )
    for a, b, expected, what in cases:
        before = a.detach().clone(), b.detach().clone()
        answer = function(a, b)
        if answer is None:
            return f"relation returns nothing for {what}: is a return missing?"
        if not (
            torch.equal(a.detach(), before[0])
            and torch.equal(b.detach(), before[1])
        ):
            return "relation changed the numbers: compare addresses instead."
        if not isinstance(answer, str):
            return f"return a word; for {what} it was {_shown(answer)}."
        if answer != expected:
            return f'for {what} it says "{answer}", not "{expected}".'
    return CORRECT


def _shown(answer: Any) -> str:
    if isinstance(answer, bool):
        return str(answer)
    return f"a {type(answer).__name__}"


EXERCISES: dict[str, Exercise] = {
    "names-arrange": ordering(
        4,
        "easy",
        "two writes through views, and a copy between them",
        {
            "A": "first += 7",
            "B": "kept = board.view(2, 3)",
            "C": "board = torch.zeros(2, 3)",
            "D": "board.t()[2, 1] = 9",
            "E": "first = board[0]",
            "F": "first = first + 7",
            "G": "kept = board.clone()",
        },
        {
            "B": "through a view, kept would see the 9 too.",
            "F": "it makes a new tensor, and board would get no 7.",
        },
        _look_at_board,
    ),
    "names-column": Exercise(
        3,
        "easy",
        _look_at_column,
        "a view with an offset and a stride, and no number was copied",
    ),
    "names-relation": Exercise(
        6,
        "medium",
        _look_at_relation,
        "it tells a name, a tensor and a storage apart, slices included",
    ),
}
