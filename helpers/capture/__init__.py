"""Live tensors → :class:`~helpers.model.Snapshot`.

Everything that is private in torch stands in this folder.  Looking changes
nothing: no flag, mode, version counter, hook, gradient or random state.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes

from ..model import UNNAMED, ModuleFacts, Operation, Snapshot, TensorFacts
from . import nodes, storages
from .identity import Identity
from .modules import facts_of_modules, parts_of
from .names import Caller, look_at
from .tensors import (
    Found,
    Norms,
    grad_fn_of,
    gradient_of,
    tensor_facts,
)
from .things import Leaf, is_a, is_leaf, refusal, tensors_in

__all__ = ["Caller", "Identity", "look_at", "take"]

MOST_TENSORS = 60  # of the caller's own, where none was asked for by name
MOST_ASKED = 300  # of those that were asked for

# These show no cell of a storage.
WITHOUT_CELLS = {"draw_graph", "who_learns"}

Named = list[tuple[str | None, Any]]


def take(
    function: str,
    things: Named,
    caller: Caller,
    graph: bool = False,
    saved: bool = False,
    identity: Identity | None = None,
    most: int = MOST_TENSORS,
    most_asked: int = MOST_ASKED,
) -> Snapshot:
    """Take a snapshot of the things, or of the caller's own tensors.

    ``things`` are pairs of a name (None: find it) and an object; with none,
    everything the caller has.  ``graph`` adds the autograd graph behind them,
    ``saved`` also the tensors that it keeps for backward.  ``identity`` keeps
    the ids of one snapshot for the next, ``most`` is how many of the caller's
    own tensors are taken, ``most_asked`` of those that were asked for.

    Raises TypeError for a thing that holds no tensor and ValueError where
    there is nothing to show, each in one sentence.
    """
    # neither a mode of the user's nor a subclass may see that we look
    with torch._C.DisableTorchFunction(), _disable_current_modes():
        taking = _Taking(function, caller, saved, identity or Identity())
        taking.most, taking.most_asked = most, most_asked
        return taking.take(things, graph)


class _Taking:
    """One look: tensors get their ids in the order in which they appear."""

    def __init__(
        self, function: str, caller: Caller, saved: bool, identity: Identity
    ) -> None:
        self.function = function
        self.identity = identity
        self.saved = saved
        self.caller = caller
        self.known = _names_in(caller)
        self.found: dict[int, Found] = {}
        self.notes: list[str] = []
        self.whole = True
        self.most = MOST_TENSORS
        self.most_asked = MOST_ASKED
        self.modules: list[tuple[str, torch.nn.Module, bool]] = []
        self.owners: dict[str, dict[str, None]] = {}
        self.norms = Norms()

    def take(self, things: Named, graph: bool) -> Snapshot:
        if things:
            asked = self._given(things)
        else:
            asked, left_out = self._callers_own(graph)
            if left_out:
                self._note_left_out(left_out)
        operations: list[Operation] = []
        if graph:
            operations = self._graph(asked)
        if graph:
            self._find_modules()
        facts, blocks = self._facts()
        return Snapshot(
            facts,
            blocks,
            tuple(_in_modules(operations, self.owners)),
            tuple(f.id for f in asked),
            self._module_facts() if graph else {},
            tuple(name for name, _, handed_in in self.modules if handed_in),
            whole=self.whole,
            notes=tuple(self.notes),
        )

    # -- what was asked for

    def _given(self, things: Named) -> list[Found]:
        asked: dict[str, Found] = {}
        left_out = 0
        for place, (name, thing) in enumerate(things):
            if self._groups_by(thing):
                self._add_module(name or self._variable(thing) or "", thing)
                continue
            base = self._name(thing, place) if name is None else name
            leaves = list(tensors_in(base, thing))
            if not leaves or self._has_no_graph(thing):
                raise TypeError(refusal(thing, self.function))
            for path, leaf in leaves:
                if len(asked) < self.most_asked or id(leaf) in self.found:
                    given = path if name is not None else None
                    found = self._add(leaf, given, path)
                    asked[found.id] = found
                else:
                    left_out += 1
        if not asked:
            raise TypeError(refusal(things[0][1], self.function))
        if left_out:
            self._note_left_out(left_out)
        return list(asked.values())

    def _note_left_out(self, count: int) -> None:
        more = "1 more tensor is" if count == 1 else f"{count:,} more are"
        self.notes.append(f"{more} not shown")

    def _groups_by(self, thing: Any) -> bool:
        graph = self.function == "draw_graph"
        return graph and is_a(thing, torch.nn.Module)

    def _has_no_graph(self, thing: Any) -> bool:
        graph = self.function == "draw_graph"
        return graph and is_leaf(thing) and not is_a(thing, torch.Tensor)

    def _name(self, thing: Any, place: int) -> str:
        """What the caller calls a thing: a variable, else what is written
        in the call.
        """
        variable = self._variable(thing)
        if variable is not None:
            return variable
        if is_a(thing, torch.nn.Module):
            return ""
        sources = self.caller.sources
        source = sources[place] if place < len(sources) else None
        if source is None or source[0] in "[({":
            return UNNAMED
        return source

    def _variable(self, thing: Any) -> str | None:
        for space in (self.caller.variables, self.caller.around):
            for name, value in space.items():
                if value is thing:
                    return name
        return None

    def _callers_own(self, graph: bool) -> tuple[list[Found], int]:
        own = self.caller.leaves
        if graph:
            own = [(n, t) for n, t in own if is_a(t, torch.Tensor)]
        if not own:
            raise ValueError(
                f"{self.function}() found no tensor among your variables: "
                f"make one first, or hand one in, {self.function}(x)."
            )
        shown: dict[str, Found] = {}
        for name, leaf in own:
            if len(shown) < self.most or id(leaf) in self.found:
                found = self._add(leaf, name)
                shown[found.id] = found
        distinct = len({id(leaf) for _, leaf in own})
        return list(shown.values()), distinct - len(shown)

    def _add(
        self, leaf: Leaf, name: str | None, fallback: str = UNNAMED
    ) -> Found:
        """Note a leaf under all names the caller has for it, ``name`` among
        them, and under ``fallback`` where it has none.
        """
        found = self.found.get(id(leaf))
        if found is None:
            found = Found(leaf, self.identity.of(leaf))
            found.names += self.known.get(id(leaf), [])
            self.found[id(leaf)] = found
        if name is not None and name not in found.names:
            found.names.append(name)
        if found.names == [UNNAMED]:
            found.names.clear()
        if not found.names:
            found.names.append(fallback)
        return found

    # -- the graph behind it

    def _graph(self, asked: list[Found]) -> list[Operation]:
        tensors = [f.leaf for f in asked if isinstance(f.leaf, torch.Tensor)]
        made_by = [(t, grad_fn_of(t)) for t in tensors]
        roots = [node for _, node in made_by if node is not None]
        order, self.whole = nodes.in_forward_order(roots)
        if not self.whole:
            self.notes.append(
                f"Only the {nodes.MOST:,} operations nearest to the result "
                "are shown"
            )
        mine = {id(t): t for t in [*tensors, *self._named_tensors()]}
        results = self._results(order, mine.values())
        for leaf in nodes.leaves_of(order):
            self._add(leaf, None)
        name = _Naming(self, mine)
        return nodes.read_operations(
            order, name.constant, name.saved if self.saved else None, results
        )

    def _results(
        self, order: list[Any], tensors: Iterable[torch.Tensor]
    ) -> nodes.Results:
        """Which known tensors the nodes made."""
        reached = set(order)
        results: nodes.Results = {}
        for tensor in tensors:
            node = grad_fn_of(tensor)
            if node is not None and node in reached:
                key = (node, tensor.output_nr)
                found = self._add(tensor, None)
                results.setdefault(key, []).append((found.id, tensor))
        return results

    def _named_tensors(self) -> Iterable[torch.Tensor]:
        for name, thing in self.caller.around.items():
            for _, leaf in tensors_in(name, thing):
                if isinstance(leaf, torch.Tensor):
                    yield leaf
        for _, leaf in self.caller.leaves:
            if isinstance(leaf, torch.Tensor):
                yield leaf
        for name, module, _ in self.modules:
            if self.caller.variables.get(name) is module:
                continue  # its tensors are among the leaves
            for _, leaf in tensors_in(name, module):
                if isinstance(leaf, torch.Tensor):
                    yield leaf

    # -- what is known of each

    def _facts(
        self,
    ) -> tuple[tuple[TensorFacts, ...], tuple[Any, ...]]:
        owners: dict[str, Found] = {}
        for found in list(self.found.values()):
            gradient = gradient_of(found.leaf)
            if gradient is not None:
                names = [f"{name}.grad" for name in found.names]
                for name in names:
                    owners[found.id] = self._add(gradient, name)
        everything = list(self.found.values())
        groups = storages.group([f.leaf for f in everything])
        ids = []
        for block, members in groups:
            leaves = [everything[i].leaf for i in members]
            ids.append(self.identity.of_block(leaves))
            for i in members:
                everything[i].storage = ids[-1]
                everything[i].start = storages.start_in(
                    everything[i].leaf, block
                )
        grads = {f.id for f in owners.values()}
        facts = {
            f.id: tensor_facts(f, None) for f in everything if f.id in grads
        }
        for f in everything:
            if f.id not in owners:
                if f.id not in facts:
                    facts[f.id] = tensor_facts(f, None)
                continue
            facts[f.id] = tensor_facts(f, facts[owners[f.id].id])
            if self.function != "draw_memory":
                norm = self.norms.of(f.leaf)
                facts[f.id] = replace(facts[f.id], grad_norm=norm)
        if self.function in WITHOUT_CELLS:
            return tuple(facts[f.id] for f in everything), ()
        blocks = tuple(
            storages.storage_facts(
                storage_id,
                block,
                [
                    (everything[i].leaf, facts[everything[i].id])
                    for i in members
                ],
            )
            for storage_id, (block, members) in zip(ids, groups, strict=True)
        )
        return tuple(facts[f.id] for f in everything), blocks

    # -- Modules

    def _add_module(self, name: str, module: torch.nn.Module) -> None:
        """Note a Module to group by, and the names of its parameters."""
        self.modules.append((name, module, True))
        if self.caller.variables.get(name) is module:
            return  # their names are known
        for path, leaf in tensors_in(name, module):
            names = self.known.setdefault(id(leaf), [])
            if path not in names:
                names.append(path)

    def _find_modules(self) -> None:
        """Add the caller's Modules and say which part owns each leaf."""
        handed_in = {id(module) for _, module, _ in self.modules}
        for name, thing in self.caller.variables.items():
            if is_a(thing, torch.nn.Module) and id(thing) not in handed_in:
                self.modules.append((name, thing, False))
        for name, module, _ in self.modules:
            for where, part in parts_of(name, module):
                for leaf in part._parameters.values():
                    found = self.found.get(id(leaf))
                    if found is None:
                        continue
                    found.module = found.module or where
                    self.owners.setdefault(found.id, {})[where] = None

    def _module_facts(self) -> dict[str, ModuleFacts]:
        parts: dict[str, torch.nn.Module] = {}
        for name, module, _ in self.modules:
            for where, part in parts_of(name, module):
                parts.setdefault(where, part)
        return facts_of_modules(parts, self.norms)


class _Naming:
    """Ids of the tensors that an operation got or kept.

    A saved tensor is another object than the one in the caller's hands, on
    the same bytes: it is told by them.
    """

    def __init__(self, taking: _Taking, mine: dict[int, Any]) -> None:
        self.taking = taking
        self.mine = mine
        self.kept: list[torch.Tensor] = []  # ids stay true while they live
        self.known: dict[Any, torch.Tensor] = {}
        self.history: dict[Any, torch.Tensor] = {}
        self.constants: dict[Any, torch.Tensor] = {}
        for tensor in mine.values():
            memory = nodes.memory_of(tensor)
            self.known.setdefault(memory, tensor)
            if tensor.requires_grad:
                self.history.setdefault(memory, tensor)
            elif isinstance(tensor, torch.nn.Parameter):
                self.constants.setdefault(memory, tensor)
            else:
                self.constants.setdefault(_exactly(tensor), tensor)

    def saved(self, tensor: torch.Tensor) -> str:
        """Return the id of a tensor that was saved for backward."""
        self.kept.append(tensor)
        if not self._is_known(tensor):
            tensor = self.known.get(nodes.memory_of(tensor), tensor)
        return self.taking._add(tensor, None).id

    def constant(self, tensor: torch.Tensor) -> str:
        """Return the id of a leaf or of an input that wants no gradient.

        A frozen weight is known also when it was transposed; any other
        tensor only when it reads its bytes in the same way.
        """
        self.kept.append(tensor)
        memory = nodes.memory_of(tensor)
        if not self._is_known(tensor):
            exact = self.constants.get(_exactly(tensor), tensor)
            tensor = self.constants.get(memory, exact)
        found = self.taking._add(tensor, None)
        source = self.history.get(memory)
        if source is not None and not tensor.requires_grad:
            found.twin = self.taking._add(source, None).id
        return found.id

    def _is_known(self, tensor: torch.Tensor) -> bool:
        return id(tensor) in self.taking.found or id(tensor) in self.mine


def _exactly(tensor: torch.Tensor) -> Any:
    if tensor.layout is not torch.strided or tensor.is_nested:
        return ("object", id(tensor))
    memory = nodes.memory_of(tensor)
    return memory, tuple(tensor.shape), tuple(tensor.stride())


def _names_in(caller: Caller) -> dict[int, list[str]]:
    """Every tensor that the caller can name, with all its names."""
    known: dict[int, list[str]] = {}
    around = [
        found
        for name, thing in caller.around.items()
        if name not in caller.variables
        for found in tensors_in(name, thing)
    ]
    for path, leaf in [*caller.leaves, *around]:
        names = known.setdefault(id(leaf), [])
        if path not in names:
            names.append(path)
    return known


def _in_modules(
    operations: list[Operation], owners: dict[str, dict[str, None]]
) -> list[Operation]:
    """Say for each operation which module's parameters it uses.

    Of a parameter that several modules hold, each use is the next module's,
    in the order in which they were registered.
    """
    ahead = {tensor: list(paths) for tensor, paths in owners.items()}
    reshaped: dict[str, str] = {}
    result = []
    for operation in operations:
        used = [s.tensor for s in operation.inputs if s.tensor]
        used += operation.constants
        paths = {ahead[t][0] for t in used if t in ahead}
        for t in used:
            if t in ahead and len(ahead[t]) > 1:
                ahead[t].pop(0)
        # a transposed weight belongs to the layer that transposed it
        paths |= {
            reshaped[s.operation]
            for s in operation.inputs
            if s.operation in reshaped
        }
        path = paths.pop() if len(paths) == 1 else ""
        if path and operation.name in ("t", "transpose", "permute"):
            reshaped[operation.id] = path
        result.append(replace(operation, module=path) if path else operation)
    return result
