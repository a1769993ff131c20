"""Which operations are drawn as one box, so that a picture stays readable.

Operations come in forward order; a box is always a run of neighbours in that
order, so folding can never make a circle.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass

from ..model import Operation

__all__ = [
    "PLAIN",
    "Fold",
    "by_module",
    "deepest",
    "fold",
    "ranges",
    "repeated",
]

PLAIN = 40  # up to so many operations nothing is folded
MOST = 250  # boxes of operations in one picture
LONGEST = 48  # operations in a pattern that repeats
FEWEST = 3  # times that a pattern must repeat


@dataclass(frozen=True)
class Fold:
    """Operations in one box: a pattern of ``period``, ``times`` over.

    ``times`` is 0 where different operations were put together only because
    there are too many.  ``paths`` are the modules that ran them, ``parts``
    what a pattern of modules and operations consists of.
    """

    operations: tuple[Operation, ...]
    period: int = 1
    times: int = 1
    paths: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()

    @property
    def single(self) -> bool:
        """True for an operation that stands for itself."""
        return len(self.operations) == 1


def fold(
    operations: Sequence[Operation],
    named: Collection[str],
    plain: int = PLAIN,
) -> list[Fold]:
    """Put repeated operations into one box each, and too many into few.

    ``named`` are the ids of operations whose result has a name.  As long as
    there are not too many of them, they stand in the last round of a box.
    Up to ``plain`` operations nothing is folded.
    """
    if len(operations) <= plain:
        return [Fold((o,)) for o in operations]
    ends = set(named) if len(named) <= PLAIN else set()
    folds = _repeats(operations, ends)
    if len(folds) > MOST:
        folds = _chunks(folds, ends)
    return folds


def _repeats(operations: Sequence[Operation], ends: set[str]) -> list[Fold]:
    named = [i for i, o in enumerate(operations) if o.id in ends]
    return [
        Fold(tuple(operations[start : start + period * times]), period, times)
        for start, period, times in ranges([o.name for o in operations], named)
    ]


def ranges(
    keys: Sequence[Hashable], named: Sequence[int] = ()
) -> list[tuple[int, int, int]]:
    """Find what repeats: where it starts, its length, and how often.

    What is at a place in ``named`` may only lie in the last round.

    >>> ranges(["a", "b", "b", "b", "c"])
    [(0, 1, 1), (1, 1, 3), (4, 1, 1)]
    """
    ahead = list(named)
    found = []
    start = 0
    while start < len(keys):
        while ahead and ahead[0] < start:
            ahead.pop(0)
        first = ahead[0] if ahead else len(keys)
        period, times = _best(keys, start, first)
        found.append((start, period, times))
        start += period * times
    return found


def _best(keys: Sequence[Hashable], start: int, named: int) -> tuple[int, int]:
    """The pattern at ``start`` that covers most, the shortest one of equals.

    The next named result, at ``named``, may only lie in its last round.
    """
    best = (1, 1)
    for period in range(1, min(LONGEST, (len(keys) - start) // FEWEST) + 1):
        if keys[start] != keys[start + period]:
            continue
        end = start + period
        while end < len(keys) and keys[end] == keys[end - period]:
            end += 1
            if end - named >= period:
                break
        times = min((end - start) // period, (named - start) // period + 1)
        if times >= FEWEST and times * period > best[0] * best[1]:
            best = (period, times)
        if end >= len(keys) - LONGEST:
            break
    return best


def by_module(
    operations: Sequence[Operation], kinds: Mapping[str, str], depth: int
) -> list[Fold]:
    """Put what a module ran into one box, ``depth`` modules deep.

    ``kinds`` are the classes of the modules, by path.
    """
    runs: list[tuple[str, list[Operation]]] = []
    for o in operations:
        path = _at_depth(o.module, kinds, depth)
        if path and runs and runs[-1][0] == path:
            runs[-1][1].append(o)
        else:
            runs.append((path, [o]))
    return [
        Fold(tuple(ran), len(ran), 1, (path,) if path else ())
        for path, ran in runs
    ]


def repeated(folds: Sequence[Fold], kinds: Mapping[str, str]) -> list[Fold]:
    """Put modules and operations that repeat into one box."""
    numbers: dict[object, int] = {}
    keys = [
        numbers.setdefault((f.paths, *(o.name for o in f.operations)), i)
        for i, f in enumerate(folds)
    ]
    found: list[Fold] = []
    for start, period, times in ranges(keys):
        some = folds[start : start + period * times]
        if times == 1:
            found += some
            continue
        inside = tuple(o for f in some for o in f.operations)
        paths = tuple(dict.fromkeys(path for f in some for path in f.paths))
        parts = tuple(
            kinds[f.paths[0]] if f.paths else f.operations[0].name
            for f in some[:period]
        )
        found.append(Fold(inside, len(inside) // times, times, paths, parts))
    return found


def _at_depth(path: str, kinds: Mapping[str, str], depth: int) -> str:
    """The module that is ``depth`` modules deep around an operation."""
    words = path.split(".")
    paths = [".".join(words[: n + 1]) for n in range(len(words))]
    around = [p for p in paths if p in kinds][:depth]
    return around[-1] if around else ""


def deepest(kinds: Mapping[str, str]) -> int:
    """How many modules there are in each other, at most."""
    return max((path.count(".") + 1 for path in kinds), default=0)


def _chunks(folds: Sequence[Fold], ends: set[str]) -> list[Fold]:
    size = -(-len(folds) // (MOST - len(ends) if ends else MOST))
    chunks: list[Fold] = []
    held: list[Operation] = []
    count = 0
    for one in folds:
        held += one.operations
        count += 1
        last = one.operations[-1].id in ends
        if count >= size or last:
            whole = one if count == 1 else Fold(tuple(held), len(held), 0)
            chunks.append(whole)
            held, count = [], 0
    if held:
        chunks.append(Fold(tuple(held), len(held), 0))
    return chunks
