"""What a picture of a graph reads out of a snapshot: folds, starts, inputs,
names, and the sentences below it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from ..model import UNNAMED, Snapshot, Source, TensorFacts
from .folding import Fold, by_module, fold, repeated
from .words import counted, distinct, listed, name_text, value_of

__all__ = ["Graph", "In", "root_name"]


def root_name(t: TensorFacts) -> str:
    """What a sentence calls a tensor that was asked for."""
    return "the result" if t.names == (UNNAMED,) else name_text(t)


@dataclass(frozen=True)
class In:
    """An input of a box: a tensor's id or the number of another box, how
    often, whether a gradient flows back, and the cut that stands there.
    """

    key: str | int
    count: int
    graded: bool
    cut: str


@dataclass
class Graph:
    """A snapshot, folded, with what the boxes and the text both need.

    Operations that repeat share a box from more than ``plain`` on; with a
    ``depth``, those of a module do, so many modules deep, and with a negative
    one also modules that repeat.
    """

    snapshot: Snapshot
    plain: int
    depth: int = 0
    folds: list[Fold] = field(init=False)
    shown: dict[tuple[str, int], str] = field(init=False)
    place: dict[str, int] = field(init=False)
    used: set[str | int] = field(init=False)
    internal: set[str] = field(init=False)
    known_inputs: dict[int, list[In]] = field(init=False)
    known_leaves: dict[str, list[str]] = field(init=False)

    def __post_init__(self) -> None:
        operations = self.snapshot.operations
        named = {o.id for o in operations if o.outputs}
        if self.depth:
            modules = self.snapshot.modules.items()
            kinds = {path: m.kind for path, m in modules if path}
            self.folds = by_module(operations, kinds, abs(self.depth))
            if self.depth < 0:
                self.folds = repeated(self.folds, kinds)
        else:
            self.folds = fold(operations, named, self.plain)
        self.place = {
            o.id: i for i, f in enumerate(self.folds) for o in f.operations
        }
        self.shown = {}
        for f in self.folds:
            for o in f.operations[-f.period :]:
                for number, tensor in o.outputs:
                    self.shown[o.id, number] = tensor
        self.known_inputs = {}
        self.known_leaves = {}
        self.internal: set[str] = set()
        self.internal = self._internal()
        self.used = {i.key for f in self.folds for i in self.inputs(f)}

    def tensor(self, tensor_id: str) -> TensorFacts:
        return self.snapshot.by_id[tensor_id]

    def inputs(self, f: Fold) -> list[In]:
        """What goes into a fold from outside, each once."""
        known = self.known_inputs.get(id(f))
        if known is None:
            known = self.known_inputs[id(f)] = self._inputs(f)
        return known

    def _inputs(self, f: Fold) -> list[In]:
        found: dict[str | int, In] = {}
        inside = {o.id for o in f.operations}
        for o in f.operations:
            constants = list(o.constants) if f.single else []
            for source in o.inputs:
                if source.operation in inside:
                    continue
                key = self._key(source)
                graded = source.graded and key is not None
                if key is None and constants:
                    key = constants.pop(0)
                if key is None or key in self.internal:
                    continue
                cut = o.cut if graded else ""
                old = found.get(key, In(key, 0, False, ""))
                found[key] = In(
                    key,
                    old.count + 1,
                    old.graded or (graded and o.history),
                    old.cut or cut,
                )
        return list(found.values())

    @cached_property
    def cut_edges(self) -> list[tuple[str | int, str, str]]:
        """From where, to which tensor, and what stands on the cut edge."""
        starts = {t.id for t in self.starts}
        edges = [
            (key, c.tensor, c.label)
            for c in self.snapshot.cuts
            if c.tensor in starts - self.internal
            and (key := self._key(c.source)) is not None
        ]
        return edges + [
            (t.twin, t.id, "same storage") for t in self.starts if t.twin
        ]

    def _internal(self) -> set[str]:
        """Unnamed constants, also cut ones, that only one box of several
        operations uses: they are inside it, as a module's parameters are.
        """
        users: dict[str, set[int]] = {}
        for i, f in enumerate(self.folds):
            for o in f.operations:
                for source in o.inputs:
                    if source.tensor:
                        users.setdefault(source.tensor, set()).add(i)
        for c in self.snapshot.cuts:
            home = self.place.get(c.source.operation or "")
            if home is not None:
                users.setdefault(c.tensor, set()).add(home)
        internal = set()
        for tensor, homes in users.items():
            t = self.tensor(tensor)
            plain = t.names == (UNNAMED,) and not t.requires_grad
            boxes = [self.folds[i] for i in homes]
            alone = plain and len(boxes) == 1 and not boxes[0].single
            if alone or all(self._is_inside(tensor, f) for f in boxes):
                internal.add(tensor)
        return internal

    def _is_inside(self, tensor: str, box: Fold) -> bool:
        owner = self.owner(tensor)
        return any(
            owner == path or owner.startswith(f"{path}.") for path in box.paths
        )

    def _key(self, source: Source) -> str | int | None:
        if source.tensor is not None:
            return source.tensor
        if source.operation is None:
            return None
        known = self.shown.get((source.operation, source.output))
        return known or self.place[source.operation]

    def outputs(self, f: Fold) -> list[str]:
        """The ids of the known tensors that a fold makes."""
        return [t for o in f.operations[-f.period :] for _, t in o.outputs]

    @cached_property
    def starts(self) -> list[TensorFacts]:
        """Tensors that no drawn operation made, in order of first use."""
        made = {t for f in self.folds for t in self.outputs(f)}
        used = [
            i.key
            for f in self.folds
            for i in self.inputs(f)
            if isinstance(i.key, str)
        ]
        loose = [t for t in self.snapshot.loose if t not in self.internal]
        cut = [
            key
            for c in self.snapshot.cuts
            if isinstance(key := self._key(c.source), str)
        ]
        twins = [t.twin for i in used if (t := self.tensor(i)).twin]
        ids = distinct([*used, *cut, *twins, *self.snapshot.asked, *loose])
        return [self.tensor(i) for i in ids if i not in made]

    def kind(self, t: TensorFacts) -> str:
        """One word for a tensor: leaf, frozen leaf, constant, no history."""
        if t.grad_fn:
            return t.grad_fn
        if t.requires_grad:
            return "leaf"
        if t.frozen:
            return "frozen leaf"
        return "constant" if t.id in self.used else "no history"

    @cached_property
    def names(self) -> dict[str, str]:
        """What each tensor is called; unnamed ones get a number, a plain
        number its value.
        """
        names = {t.id: name_text(t) for t in self.snapshot.objects}
        unnamed = 0
        for t in self.starts:
            if t.names == (UNNAMED,):
                unnamed += not self.is_number(t)
                names[t.id] = (
                    value_of(t)
                    if self.is_number(t)
                    else f"{UNNAMED[:-1]} {unnamed})"
                )
        return names

    def is_number(self, t: TensorFacts) -> bool:
        """Say whether a tensor is no more than a number in the program."""
        plain = t.names == (UNNAMED,) and not t.requires_grad
        return plain and t.shape == () and bool(value_of(t))

    def roots(self) -> list[TensorFacts]:
        return [self.tensor(i) for i in self.snapshot.asked]

    def reached_leaves(self, root: TensorFacts) -> list[str]:
        """The leaves that a gradient of one root reaches, by id."""
        known = self.known_leaves.get(root.id)
        if known is None:
            known = self.known_leaves[root.id] = self._reached_leaves(root)
        return known

    def _reached_leaves(self, root: TensorFacts) -> list[str]:
        operations = {o.id: o for o in self.snapshot.operations}
        makers = {t: o.id for o in operations.values() for _, t in o.outputs}
        wanted = {makers[root.id]} if root.id in makers else set()
        leaves: set[str] = set()
        for o in reversed(self.snapshot.operations):
            if o.id not in wanted or not o.history:
                continue
            for s in o.inputs:
                if s.graded and s.tensor:
                    leaves.add(s.tensor)
                elif s.graded and s.operation:
                    wanted.add(s.operation)
                    maker = operations[s.operation]
                    if not maker.history:  # told to require grad later
                        made = maker.outputs
                        leaves.update(t for k, t in made if k == s.output)
        shown = [t.id for t in self.starts if t.id in leaves]
        shown += [t for t in makers if t in leaves]
        return shown + [i for i in sorted(leaves) if i in self.internal]

    def owner(self, tensor: str) -> str:
        """The path of the module that a parameter or a buffer belongs to."""
        facts = self.tensor(tensor)
        if facts.module:
            return facts.module
        for name in facts.names:
            path = name.rpartition(".")[0]
            while path:
                if path in self.snapshot.modules:
                    return path
                path = path.rpartition(".")[0]  # a part may not be called
        return ""

    def reached(self, root: TensorFacts) -> tuple[str, ...]:
        """The leaves that a gradient of one root reaches, by name."""
        reached = self.reached_leaves(root)
        order = [i for i in reached if i not in self.internal]
        inside = len(reached) - len(order)
        unnamed = [i for i in order if self.tensor(i).names == (UNNAMED,)]
        named = [self.names[i] for i in order if i not in unnamed]
        if inside:
            named.append(counted(inside, "parameter"))
        if len(unnamed) == 1:
            named.append("a leaf without a name")
        elif unnamed:
            named.append(f"{len(unnamed)} leaves without a name")
        return tuple(named)

    def remarks(self) -> list[str]:
        """Sentences below the picture and at the end of the text."""
        roots = self.roots()
        remarks = []
        bare = [
            self.names[t.id]
            for t in roots
            if not t.grad_fn and not t.requires_grad and t.type != "number"
        ]
        cut = self.snapshot.cuts or any(
            o.cut for o in self.snapshot.operations
        )
        if bare and cut:
            has = "has" if len(bare) == 1 else "have"
            remarks.append(
                f"{listed(bare)} {has} no history: no gradient gets past "
                "the cut."
            )
        elif bare and not self.snapshot.recorded:
            has, was = ("has", "was") if len(bare) == 1 else ("have", "were")
            remarks.append(
                f"{listed(bare)} {has} no history: autograd does not know "
                f"what {'it' if len(bare) == 1 else 'they'} {was} computed "
                "from, so backward() would raise."
            )
        by_reach: dict[tuple[str, ...], list[str]] = {}
        for t in roots:
            if t.grad_fn:
                by_reach.setdefault(self.reached(t), []).append(root_name(t))
        for reached, names in by_reach.items():
            if not self.snapshot.whole and not reached:
                continue
            remarks.append(
                f"A gradient of {listed(names)} reaches "
                f"{listed(reached) or 'no leaf'}."
            )
        if any(o.freed for o in self.snapshot.operations):
            remarks.append(
                "An earlier backward() freed what was saved here: "
                "a second backward() would raise."
            )
        boxes = len(self.folds)
        total = len(self.snapshot.operations)
        if boxes < total:
            remarks.append(
                f"{counted(total, 'operation')}, folded into "
                f"{counted(boxes, 'box').replace('boxs', 'boxes')}."
            )
        return [*remarks, *(f"{n}." for n in self.snapshot.notes)]
