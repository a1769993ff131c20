"""A graph by modules: which box stands in which view.

A view is what a module, or a run of boxes that repeats, has inside: tensors,
operations, and further views as boxes.  View 0 is the whole program.  Where
an edge comes from outside of a view, a port stands for the other end.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from ..model import UNNAMED, ModuleFacts, Operation, Snapshot
from .folding import FEWEST, PLAIN, Fold, ranges
from .reading import Graph

__all__ = ["Item", "Link", "View", "gathered", "nest", "placed"]

DEEPEST = 24  # modules in each other that become a view of their own
PRODUCTS = {"mm", "addmm"}  # what a Linear runs
MOST_PATHS = 10_000  # of modules whose parts are kept
ALIKE = 4  # operations between the same two places that become one box
FLATTENED = {"view", "unsafe_view", "reshape"}  # and does before and after


@dataclass(frozen=True)
class Item:
    """A box of a view: a "tensor", an "operation" (or several that repeat),
    another "view", or a port, "in" or "out", of an edge that goes on outside.
    """

    kind: str
    key: str = ""
    fold: Fold | None = field(default=None, compare=False)
    view: int = -1
    again: bool = False


@dataclass(frozen=True)
class Link:
    """An edge between two items of a view, by number."""

    tail: int
    head: int
    count: int = 1
    graded: bool = False
    cut: str = ""


@dataclass
class View:
    """A module that was called, or several parts that repeat.

    ``paths`` are those of all rounds (none where no module is meant),
    ``times`` how often it repeats (0: parts that were only put together);
    items show the last round.  ``cuts`` says what cuts inside.
    """

    number: int
    parent: int
    paths: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    times: int = 1
    operations: tuple[Operation, ...] = ()
    items: list[Item] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    cuts: list[str] = field(default_factory=list)

    @property
    def is_leaf(self) -> bool:
        """True for a view that has no other view inside."""
        return all(item.kind != "view" for item in self.items)


def nest(graph: Graph) -> list[View]:
    """Return all views of a graph that was read without folding."""
    return _Nest(graph).views()


Vertex = tuple[str, int | str, int]  # "operation" or "tensor", which, view


@dataclass(frozen=True)
class _Spot:
    """Where a vertex is: the views around it, outermost first; not ``seen``
    in a round that is not the last.
    """

    chain: tuple[int, ...]
    vertex: Vertex
    seen: bool = True


@dataclass(frozen=True)
class _Entry:
    """What a view has in a row: an operation, or a module that was called."""

    key: object
    operations: tuple[int, ...]
    path: str = ""


class _Nest:
    """Builds the views of one graph."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.all: list[View] = []
        self.operations = [f.operations[0] for f in graph.folds]
        self.modules = {
            path: facts
            for path, facts in graph.snapshot.modules.items()
            if path and not facts.only_holds
        }
        self.alike = _alike(self.operations)
        self.chains = [self._ancestors(o.module) for o in self.operations]
        self.spots: dict[int, _Spot] = {}
        self.folded: dict[int, Fold] = {}
        self.added: set[Vertex] = set()
        self.place: list[dict[Item, int]] = []  # in each view
        self.owners: dict[str, str] = {}

    def views(self) -> list[View]:
        """Build everything, from the outermost view inward."""
        everything = tuple(range(len(self.operations)))
        whole = self._view(-1, everything)
        self._fill(whole, self._entries(everything, 0), (0,), 0)
        self._link()
        for view in self.all:
            marks = [o.cut for o in view.operations if o.cut]
            view.cuts = list(dict.fromkeys([*view.cuts, *marks]))
        return self.all

    def _ancestors(self, path: str) -> tuple[str, ...]:
        """The modules around an operation, outermost first."""
        inside = [p for p in _prefixes(path) if p in self.modules]
        return tuple(inside[:DEEPEST])

    # -- views and what is in them

    def _view(self, parent: int, operations: Sequence[int]) -> View:
        inside = tuple(self.operations[i] for i in operations)
        view = View(len(self.all), parent, operations=inside)
        self.all.append(view)
        return view

    def _entries(self, operations: Sequence[int], depth: int) -> list[_Entry]:
        """Operations of one view; those of a module inside as one entry."""
        runs: list[tuple[str, list[int]]] = []
        for i in operations:
            chain = self.chains[i]
            path = chain[depth] if len(chain) > depth else ""
            if path and runs and runs[-1][0] == path:
                runs[-1][1].append(i)
            else:
                runs.append((path, [i]))
        entries = []
        for path, inside in runs:
            ran = [self.operations[i] for i in inside]
            did = (ran[-1].history, *((o.name, o.cut) for o in ran))
            key: object = did
            if path:
                m = self.modules[path]
                key = (m.kind, m.parameters, m.trainable, did)
            entries.append(_Entry(key, tuple(inside), path))
        return entries

    def _fill(
        self,
        view: View,
        entries: list[_Entry],
        chain: tuple[int, ...],
        depth: int,
    ) -> None:
        for start, period, times in self._folds(entries):
            last = entries[start : start + period * max(times, 1)]
            before = last[:-period]
            last = last[-period:]
            self._place(view, before, last, times, chain, depth)

    def _folds(self, entries: list[_Entry]) -> list[tuple[int, int, int]]:
        """What becomes one box: modules of one kind in a row; and what
        repeats, where a view would have too many boxes.
        """
        named = [
            k
            for k, e in enumerate(entries)
            if any(self.operations[i].outputs for i in e.operations)
        ]
        named = named if len(named) <= PLAIN else []
        numbers: dict[object, int] = {}  # which compare faster
        keys = [numbers.setdefault(e.key, len(numbers)) for e in entries]
        found = ranges(keys, named)
        if len(entries) > PLAIN:
            return _chunks(found) if len(found) > PLAIN else found
        few = []
        for start, period, times in found:
            if period == 1 and times >= FEWEST and entries[start].path:
                few.append((start, 1, times))
            else:
                for k in range(start, start + period * times):
                    if few and self._goes_with(entries, few[-1][0], k):
                        few[-1] = (few[-1][0], 1, few[-1][2] + 1)
                    else:
                        few.append((k, 1, 1))
        return few

    def _goes_with(self, entries: list[_Entry], first: int, k: int) -> bool:
        """Say whether two operations do the same between two places."""
        if entries[first].path or entries[k].path:
            return False
        one, other = (
            self.operations[entries[n].operations[0]].id for n in (first, k)
        )
        kind = self.alike.get(one)
        return kind is not None and kind == self.alike.get(other)

    def _place(
        self,
        view: View,
        before: list[_Entry],
        last: list[_Entry],
        times: int,
        chain: tuple[int, ...],
        depth: int,
    ) -> None:
        """Put one box into a view, with what is in it."""
        everything = [i for e in [*before, *last] for i in e.operations]
        if not any(e.path for e in last):
            members = tuple(self.operations[i] for i in everything)
            fold = Fold(members, len(last), times)
            view.items.append(Item("operation", members[-1].id, fold))
            for i in everything:
                vertex = ("operation", everything[-1], view.number)
                self.spots[i] = _Spot(chain, vertex)
                self.folded[i] = fold
            return
        inner = self._view(view.number, everything)
        inner.times = times
        paths = [e.path for e in [*before, *last]]
        if len(last) == 1:
            inner.paths = tuple(dict.fromkeys(paths))
        inner.parts = tuple(self._part(e) for e in last)
        view.items.append(Item("view", view=inner.number))
        around = (*chain, inner.number)
        for e in before:
            for i in e.operations:
                vertex = ("operation", i, inner.number)
                self.spots[i] = _Spot(around, vertex, seen=False)
        if len(last) == 1:
            inside = self._entries(last[0].operations, depth + 1)
            self._fill(inner, inside, around, depth + 1)
        else:
            self._fill(inner, last, around, depth)

    def _part(self, entry: _Entry) -> str:
        if entry.path:
            return self.modules[entry.path].kind
        return self.operations[entry.operations[0]].name

    # -- where tensors stand

    def _link(self) -> None:
        graph = self.graph
        edges: list[tuple[int | str, int | str, int, bool, str]] = []
        makers: dict[str, int] = {}
        for i, f in enumerate(graph.folds):
            for one in graph.inputs(f):
                edges.append((one.key, i, one.count, one.graded, one.cut))
            history = self.operations[i].history
            results = graph.outputs(f)
            edges += [(i, made, 1, history, "") for made in results]
            makers.update(dict.fromkeys(results, i))
        edges += [(k, end, 1, False, cut) for k, end, cut in graph.cut_edges]
        users: dict[str, list[_Spot]] = {}
        for tail, head, *_ in edges:
            if isinstance(tail, str) and isinstance(head, int):
                users.setdefault(tail, []).append(self.spots[head])
            elif isinstance(tail, int) and isinstance(head, str):
                users.setdefault(head, []).append(self.spots[tail])
        starts = {t.id for t in graph.starts}
        places: dict[str, _Spot] = {}
        for name in dict.fromkeys([*users, *starts]):
            known = users.get(name, [])
            places[name] = self._spot_of(name, known, name in starts)
        for t in graph.starts:
            spot = places[t.id]
            if spot.seen and not self._owner(t.id):
                self._add_tensor(spot)
        self._sort_results(makers, places)
        linked: dict[tuple[int, int, int], Link] = {}
        ends = [  # all of them first, as each may add a box
            (
                self._end(tail, head, places, starts),
                self._end(head, tail, places, starts),
            )
            for tail, head, *_ in edges
        ]
        self.place = [  # from here on, boxes come at the end only
            {item: k for k, item in enumerate(view.items)} for view in self.all
        ]
        for (a, b), (_, _, count, graded, cut) in zip(
            ends, edges, strict=True
        ):
            if a is not None and b is not None and a.vertex != b.vertex:
                self._join(a, b, Link(0, 0, count, graded, cut), linked)
        for (number, _, _), link in linked.items():
            self.all[number].links.append(link)
        self._put_ports_last()

    def _spot_of(self, t: str, users: list[_Spot], start: bool) -> _Spot:
        """A tensor stands where all that use it can see it."""
        facts = self.graph.tensor(t)
        chain = _common([spot.chain for spot in users])
        if facts.is_parameter:
            pass
        elif start and facts.names != (UNNAMED,):
            chain = (0,)  # the caller's own
        elif start:
            first = min((s.vertex[1] for s in users), default=0)
            while len(chain) > 1 and self._begins(chain[-1], first):
                chain = chain[:-1]  # a module's input lies outside of it
        if t in self.graph.snapshot.asked:
            chain = (0,)
        unseen = any(not s.seen and s.chain[-1] == chain[-1] for s in users)
        folds = {id(self.folded.get(int(s.vertex[1]))) for s in users}
        inside = (
            start
            and facts.names == (UNNAMED,)
            and not facts.requires_grad
            and len(folds) == 1
            and bool(users)
            and self._is_several(users[0])
        )
        return _Spot(
            chain, ("tensor", t, chain[-1]), not unseen and not inside
        )

    def _begins(self, view: int, operation: int | str) -> bool:
        first = self.all[view].operations[0]
        return self.operations[int(operation)].id == first.id

    def _is_several(self, spot: _Spot) -> bool:
        fold = self.folded.get(int(spot.vertex[1]))
        return fold is not None and not fold.single

    def _end(
        self,
        one: int | str,
        other: int | str,
        places: dict[str, _Spot],
        starts: set[str],
    ) -> _Spot | None:
        """Where an end of an edge is; a parameter stands beside each of its
        uses, in the module that owns it.
        """
        if isinstance(one, int):
            return self.spots[one]
        owner = self._owner(one) if one in starts else ""
        if not owner or not isinstance(other, int):
            spot = places[one]
            return spot if spot.seen or one not in starts else None
        user = self.spots[other]
        depth = max(
            k
            for k, number in enumerate(user.chain)
            if not number or self._holds(number, owner)
        )
        chain = user.chain[: depth + 1]
        if not user.seen and len(chain) == len(user.chain):
            return None
        spot = _Spot(chain, ("tensor", one, chain[-1]))
        if not depth:  # none of the modules around is the owner's
            spot = places[one]
            if not spot.seen:
                return None
        self._add_tensor(spot)
        return spot

    def _owner(self, tensor: str) -> str:
        if tensor not in self.owners:
            self.owners[tensor] = self.graph.owner(tensor)
        return self.owners[tensor]

    def _holds(self, number: int, owner: str) -> bool:
        return any(
            owner == path or owner.startswith(f"{path}.")
            for path in self.all[number].paths
        )

    def _add_tensor(self, spot: _Spot) -> None:
        if spot.vertex in self.added:
            return
        self.added.add(spot.vertex)
        view = self.all[spot.chain[-1]]
        item = Item("tensor", str(spot.vertex[1]))
        if item not in view.items:
            before = sum(i.kind == "tensor" for i in view.items)
            view.items.insert(before, item)

    def _sort_results(
        self, makers: dict[str, int], places: dict[str, _Spot]
    ) -> None:
        """Put named results behind the boxes that make them."""
        for t, maker in reversed(makers.items()):
            spot = places[t]
            if not spot.seen:
                continue
            view = self.all[spot.chain[-1]]
            behind = self._box(self.spots[maker], len(spot.chain) - 1)
            place = view.items.index(behind) + 1
            view.items.insert(place, Item("tensor", t))

    # -- edges

    def _box(self, spot: _Spot, depth: int) -> Item:
        """The item that stands for a vertex in one of the views around it."""
        if depth < len(spot.chain) - 1:
            return Item("view", view=spot.chain[depth + 1])
        kind, key, _ = spot.vertex
        if kind == "tensor":
            return Item("tensor", str(key))
        last = self.operations[int(key)]
        return Item("operation", last.id, self.folded[int(key)])

    def _join(
        self,
        a: _Spot,
        b: _Spot,
        link: Link,
        linked: dict[tuple[int, int, int], Link],
    ) -> None:
        """Draw an edge where both ends are, and to ports further inside."""
        shared = len(_common([a.chain, b.chain]))
        number = a.chain[shared - 1]
        if (a.seen or len(a.chain) > shared) and (
            b.seen or len(b.chain) > shared
        ):
            tail, head = self._box(a, shared - 1), self._box(b, shared - 1)
            self._draw(number, tail, head, link, linked)
        elif b.seen and not a.seen and len(a.chain) == shared:
            port = Item("in", _key(a))  # of the round before
            head = self._box(b, shared - 1)
            self._draw(number, port, head, link, linked)
        inner = replace(link, cut="") if link.cut else link
        for depth in range(shared, len(a.chain)):
            if a.seen or depth < len(a.chain) - 1:
                tail = self._box(a, depth)
                port = Item("out", str(self.place[a.chain[depth]][tail]))
                self._draw(a.chain[depth], tail, port, inner, linked)
        for depth in range(shared, len(b.chain)):
            if b.seen or depth < len(b.chain) - 1:
                port = Item("in", _key(a))
                head = self._box(b, depth)
                self._draw(b.chain[depth], port, head, inner, linked)
        if link.cut:
            for number in {*a.chain[:shared], 0} - {0}:
                self.all[number].cuts.append(link.cut)

    def _draw(
        self,
        number: int,
        tail: Item,
        head: Item,
        link: Link,
        linked: dict[tuple[int, int, int], Link],
    ) -> None:
        if tail == head:
            return
        place, items = self.place[number], self.all[number].items
        for end in (tail, head):
            if end.kind in ("in", "out") and end not in place:
                place[end] = len(items)
                items.append(end)
        a, b = place[tail], place[head]
        old = linked.get((number, a, b))
        linked[number, a, b] = Link(
            a,
            b,
            link.count,
            link.graded or (old is not None and old.graded),
            link.cut or (old.cut if old else ""),
        )

    def _put_ports_last(self) -> None:
        """Ports where an edge comes in stand first, others last."""
        rank = {"in": 0, "out": 2}
        for view in self.all:
            order = sorted(
                range(len(view.items)),
                key=lambda k: rank.get(view.items[k].kind, 1),
            )
            place = {old: new for new, old in enumerate(order)}
            view.items = [view.items[k] for k in order]
            view.links = [
                Link(place[e.tail], place[e.head], e.count, e.graded, e.cut)
                for e in view.links
            ]


def gathered(snapshot: Snapshot) -> Snapshot:
    """Put operations that do the same between the same two places next to
    each other, as those that take the samples of a batch.
    """
    alike = _alike(snapshot.operations)
    if not alike:
        return snapshot
    members: dict[str, list[Operation]] = {}
    for o in snapshot.operations:
        members.setdefault(alike.get(o.id, o.id), []).append(o)
    ordered = (o for some in members.values() for o in some)
    return replace(snapshot, operations=tuple(ordered))


def _alike(operations: Sequence[Operation]) -> dict[str, str]:
    """Operations of one name, from one source to one other operation, where
    there are several: the id of each with that of the first.
    """
    fed = Counter(
        (o.name, s.operation or s.tensor)
        for o in operations
        if len(o.inputs) == 1 and not o.outputs
        for s in o.inputs
    )
    if not fed or fed.most_common(1)[0][1] < ALIKE:
        return {}
    users: dict[str, list[str]] = {}
    for o in operations:
        for s in o.inputs:
            if s.operation:
                users.setdefault(s.operation, []).append(o.id)
    found: dict[object, list[str]] = {}
    for o in operations:
        if len(o.inputs) == 1 and not o.outputs:
            goes_to = users.get(o.id, ())
            if len(goes_to) == 1:
                what = (o.name, o.cut, o.module, o.history)
                key = (what, o.inputs[0], goes_to[0])
                found.setdefault(key, []).append(o.id)
    several = [ids for ids in found.values() if len(ids) >= ALIKE]
    return {i: ids[0] for ids in several for i in ids}


def _key(spot: _Spot) -> str:
    return f"{spot.vertex[0]} {spot.vertex[1]}"


def _common(chains: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The views that are around all."""
    if not chains:
        return (0,)
    shared = chains[0]
    for chain in chains[1:]:
        if chain is shared or chain == shared:
            continue
        end = min(len(chain), len(shared))
        while chain[:end] != shared[:end]:
            end -= 1
        shared = shared[:end]
    return shared


def _chunks(
    found: list[tuple[int, int, int]],
) -> list[tuple[int, int, int]]:
    """Put neighbours together until there are few enough."""
    size = -(-len(found) // PLAIN)
    chunks = []
    for k in range(0, len(found), size):
        some = found[k : k + size]
        if len(some) == 1:
            chunks += some
        else:
            count = sum(period * times for _, period, times in some)
            chunks.append((some[0][0], count, 0))
    return chunks


# -- which module an operation without parameters belongs to


def placed(snapshot: Snapshot) -> Snapshot:
    """Say of each operation in which module it ran.

    The graph alone knows that only of operations that use parameters.  Any
    other one belongs to the innermost module around the one before it that
    has, or was given, all that the operation uses.
    """
    return replace(snapshot, operations=tuple(_Placing(snapshot).operations()))


class _Placing:
    def __init__(self, snapshot: Snapshot) -> None:
        self.all = snapshot.operations
        self.modules: dict[str, ModuleFacts] = dict(snapshot.modules)
        self.number = {o.id: i for i, o in enumerate(self.all)}
        self.inputs = [
            [self.number[s.operation] for s in o.inputs if s.operation]
            for o in self.all
        ]
        self.users: list[list[int]] = [[] for _ in self.all]
        for i, sources in enumerate(self.inputs):
            for source in sources:
                self.users[source].append(i)
        self.paths: list[str] = []
        self.shaping: set[int] = set()  # what a Linear gives its shape with
        self.takers: dict[int, list[int]] = {}  # who uses an operation
        self.last: dict[tuple[str | None, ...], int] = {}
        self.period = 0

    def operations(self) -> list[Operation]:
        """Return all operations, each with a module."""
        following, pulled = self._following(), self._pulled()
        for i, o in enumerate(self.all):
            path = o.module
            if not path:
                again = self._as_before(i)
                path = self._guess(i, following[i])
                path = max(path, pulled[i], again, key=len)
            self.paths.append(path)
            self._note_period(i)
            for source in self.inputs[i]:
                self.takers.setdefault(source, []).append(i)
        self._trim(following)
        return [
            o if o.module == path else replace(o, module=path)
            for o, path in zip(self.all, self.paths, strict=True)
        ]

    def _note_period(self, i: int) -> None:
        """Note how far back the same parameters were used last."""
        o = self.all[i]
        if not o.module:
            return
        key = (o.name, *[s.tensor for s in o.inputs if s.tensor])
        before = self.last.get(key)
        self.period = 0 if before is None else i - before
        self.last[key] = i

    def _as_before(self, i: int) -> str:
        """The module of the operation at this place in the round before."""
        back = i - self.period
        if not self.period or self.all[back].name != self.all[i].name:
            self.period = 0
            return ""
        return "" if self._is_loss(i) else self.paths[back]

    def _following(self) -> list[str]:
        """The module of the next operation that is known to be in one."""
        following = []
        path = ""
        for o in reversed(self.all):
            following.append(path)
            path = o.module or path
        return following[::-1]

    def _pulled(self) -> list[str]:
        """For each operation the innermost module that has begun, and in
        which all that use its result are.
        """
        begun: dict[str, int] = {}
        for i, o in enumerate(self.all):
            for path in _prefixes(o.module):
                begun.setdefault(path, i)
        pulled = [o.module for o in self.all]
        for i in reversed(range(len(self.all))):
            if pulled[i] or not self.users[i] or self._is_loss(i):
                continue
            path = pulled[self.users[i][0]]
            for user in self.users[i][1:]:
                path = _shared(path, pulled[user])
            while path and begun.get(path, i) >= i:
                path = self._around(path)
            pulled[i] = path if path in self.modules else ""
        return pulled

    def _guess(self, i: int, after: str) -> str:
        if self._is_loss(i):
            return ""
        layer = self._layer_around(i)
        if layer:
            self.shaping.add(i)
            return layer
        sources = self.inputs[i]
        if not sources:
            return _shared(self.paths[-1], after) if self.paths else ""
        latest = max(sources)
        path = self.paths[latest]
        if self.all[latest].module or latest in self.shaping:
            path = self._around(path)
        between = _shared(self.paths[latest], after)
        while path and not self._has(path, sources):
            path = self._around(path)
        deeper = len(between) > len(path) and between in self.modules
        return between if deeper and self._has(between, sources) else path

    def _is_loss(self, i: int) -> bool:
        if self.all[i].name == "log_softmax":
            return any(self._is_loss(k) for k in self.users[i])
        return re.search(r"_loss(\dd)?$", self.all[i].name) is not None

    def _layer_around(self, i: int) -> str:
        """The Linear that flattens what it is given, and shapes it back."""
        if self.all[i].name not in FLATTENED:
            return ""
        products = [*self.inputs[i], *self.users[i]]
        for k in products:
            if self.all[k].module and self.all[k].name in PRODUCTS:
                sides = [*self.inputs[k], *self.users[k]]
                shaped = [n for n in sides if self.all[n].name in FLATTENED]
                both = len(shaped) > 1 or self._takes_a_constant(k)
                if both and len(self.users[k]) == 1:
                    return self.all[k].module
        return ""

    def _takes_a_constant(self, i: int) -> bool:
        return any(
            not s.operation and not s.tensor for s in self.all[i].inputs
        )

    def _around(self, path: str) -> str:
        """The next module around one."""
        path = path.rpartition(".")[0]
        while path and path not in self.modules:
            path = path.rpartition(".")[0]
        return path

    def _has(self, path: str, sources: list[int]) -> bool:
        """Say whether a module made all the sources or was given them."""
        return all(
            _is_in(self.paths[s], path)
            or any(_is_in(self.paths[t], path) for t in self.takers.get(s, ()))
            for s in sources
        )

    def _trim(self, following: list[str]) -> None:
        """What only some of several modules of one class have at their end
        came after them.
        """
        tails: dict[str, list[int]] = {}
        for i, o in enumerate(self.all):
            for path in _prefixes(self.paths[i]):
                if path not in self.modules:
                    continue
                tail = tails.setdefault(path, [])
                if o.module:
                    tail.clear()
                elif self.paths[i] == path:
                    tail.append(i)
        kin: dict[str, list[str]] = {}
        for path in tails:
            kin.setdefault(self.modules[path].kind, []).append(path)
        for paths in kin.values():
            lengths = Counter(sorted(len(tails[path]) for path in paths))
            usual = lengths.most_common(1)[0][0]
            for path in paths:
                for i in tails[path][usual:]:
                    self.paths[i] = _shared(path, following[i])


@lru_cache(maxsize=MOST_PATHS)
def _prefixes(path: str) -> tuple[str, ...]:
    """The paths around an operation's, and its own, outermost first."""
    words = path.split(".") if path else []
    return tuple(".".join(words[: n + 1]) for n in range(len(words)))


def _is_in(path: str, module: str) -> bool:
    return path == module or path.startswith(f"{module}.")


def _shared(one: str, other: str) -> str:
    """The path of the innermost module around both."""
    if one == other:
        return one
    shared = ""
    for a, b in zip(_prefixes(one), _prefixes(other)):  # noqa: B905
        if a != b:
            break
        shared = a
    return shared
