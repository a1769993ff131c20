"""Live tensors → :class:`~helpers.model.Snapshot`.

Everything that is private in torch stands in this folder.  Looking changes
nothing: no flag, mode, version counter, hook, gradient or random state.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import torch

from ..model import UNNAMED, Operation, Snapshot, TensorFacts
from . import nodes, storages
from .names import Caller, look_at
from .tensors import Found, gradient_of, tensor_facts
from .things import Leaf, is_leaf, refusal, tensors_in

__all__ = ["Caller", "look_at", "take"]

MOST_TENSORS = 60  # of the caller's own, where none was asked for by name

Named = list[tuple[str | None, Any]]


def take(
    function: str,
    things: Named,
    caller: Caller,
    graph: bool = False,
    saved: bool = False,
) -> Snapshot:
    """Take a snapshot of the things, or of the caller's own tensors.

    ``things`` are pairs of a name (None: find it) and an object; with none,
    everything the caller has.  ``graph`` adds the autograd graph behind them,
    ``saved`` also the tensors that it keeps for backward.

    Raises TypeError for a thing that holds no tensor and ValueError where
    there is nothing to show, each in one sentence.
    """
    with torch._C.DisableTorchFunction():
        return _Taking(function, caller, saved).take(things, graph)


class _Taking:
    """One look: tensors get their ids in the order in which they appear."""

    def __init__(self, function: str, caller: Caller, saved: bool) -> None:
        self.function = function
        self.saved = saved
        self.caller = caller
        self.known = _names_in(caller)
        self.found: dict[int, Found] = {}
        self.notes: list[str] = []
        self.whole = True
        self.modules: list[tuple[str, torch.nn.Module]] = []

    def take(self, things: Named, graph: bool) -> Snapshot:
        if things:
            asked = self._given(things)
        else:
            asked, left_out = self._callers_own(graph)
            if left_out:
                self.notes.append(f"{left_out} more tensors are not shown")
        operations: list[Operation] = []
        if graph:
            operations = self._graph(asked)
        facts, blocks = self._facts()
        return Snapshot(
            facts,
            blocks,
            tuple(_in_modules(operations, facts)),
            tuple(f.id for f in asked),
            self._module_texts() if graph else {},
            tuple(name for name, _ in self.modules),
            self.whole,
            tuple(self.notes),
        )

    # -- what was asked for

    def _given(self, things: Named) -> list[Found]:
        asked: dict[str, Found] = {}
        for place, (name, thing) in enumerate(things):
            if self._groups_by(thing):
                self._add_module(name or self._variable(thing) or "", thing)
                continue
            base = name or self._name(thing, place)
            leaves = list(tensors_in(base, thing))
            if not leaves or self._has_no_graph(thing):
                raise TypeError(refusal(thing, self.function))
            for path, leaf in leaves:
                found = self._add(leaf, path if name else None, path)
                asked[found.id] = found
        if not asked:
            raise TypeError(refusal(things[0][1], self.function))
        return list(asked.values())

    def _groups_by(self, thing: Any) -> bool:
        graph = self.function == "draw_graph"
        return graph and isinstance(thing, torch.nn.Module)

    def _has_no_graph(self, thing: Any) -> bool:
        graph = self.function == "draw_graph"
        return graph and is_leaf(thing) and not isinstance(thing, torch.Tensor)

    def _name(self, thing: Any, place: int) -> str:
        """What the caller calls a thing: a variable, else what is written
        in the call.
        """
        variable = self._variable(thing)
        if variable is not None:
            return variable
        if isinstance(thing, torch.nn.Module):
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
        own = []
        for name, thing in self.caller.variables.items():
            own += list(tensors_in(name, thing))
        if graph:
            own = [(n, t) for n, t in own if isinstance(t, torch.Tensor)]
        if not own:
            raise ValueError(
                f"{self.function}() found no tensor among your variables: "
                f"make one first, or hand one in, {self.function}(x)."
            )
        shown: dict[str, Found] = {}
        for name, leaf in own:
            if len(shown) < MOST_TENSORS or id(leaf) in self.found:
                found = self._add(leaf, name)
                shown[found.id] = found
        distinct = len({id(leaf) for _, leaf in own})
        return list(shown.values()), distinct - len(shown)

    def _add_module(self, name: str, module: torch.nn.Module) -> None:
        self.modules.append((name, module))
        for path, leaf in tensors_in(name, module):
            self.known.setdefault(id(leaf), [])
            if path not in self.known[id(leaf)]:
                self.known[id(leaf)].append(path)

    def _add(
        self, leaf: Leaf, name: str | None, fallback: str = UNNAMED
    ) -> Found:
        """Note a leaf under all names the caller has for it, ``name`` among
        them, and under ``fallback`` where it has none.
        """
        found = self.found.get(id(leaf))
        if found is None:
            found = Found(leaf, f"t{len(self.found)}")
            found.names += self.known.get(id(leaf), [])
            self.found[id(leaf)] = found
        if name and name not in found.names:
            found.names.append(name)
        if found.names == [UNNAMED]:
            found.names.clear()
        if not found.names:
            found.names.append(fallback)
        return found

    # -- the graph behind it

    def _graph(self, asked: list[Found]) -> list[Operation]:
        tensors = [f.leaf for f in asked if isinstance(f.leaf, torch.Tensor)]
        roots = [t.grad_fn for t in tensors if t.grad_fn is not None]
        order = nodes.in_forward_order(roots)
        if len(order) == nodes.MOST:
            self.whole = False
            self.notes.append(
                f"Only the {nodes.MOST:,} operations nearest to the result "
                "are shown"
            )
        reached = set(order)
        mine = {id(t): t for t in self._named_tensors()}
        mine |= {id(t): t for t in tensors}
        results = {}
        for tensor in mine.values():
            node = tensor.grad_fn
            if node is not None and node in reached:
                key = (node, tensor.output_nr)
                if key not in results or id(tensor) in self.found:
                    results[key] = tensor
        for leaf in nodes.leaves_of(order):
            self._add(leaf, None)
        kept: list[torch.Tensor] = []  # ids stay true while objects live
        known = _by_memory(mine.values())
        history = _by_memory(t for t in mine.values() if t.requires_grad)
        constant = _by_memory(t for t in mine.values() if not t.requires_grad)

        def saved_id(tensor: torch.Tensor) -> str:
            kept.append(tensor)
            if id(tensor) not in self.found and id(tensor) not in mine:
                tensor = known.get(_memory(tensor), tensor)
            return self._add(tensor, None).id

        def constant_id(tensor: torch.Tensor) -> str:
            kept.append(tensor)
            if id(tensor) not in self.found and id(tensor) not in mine:
                tensor = constant.get(_memory(tensor), tensor)
            found = self._add(tensor, None)
            source = history.get(_memory(tensor))
            if source is not None and source is not tensor:
                found.twin = self._add(source, None).id
            return found.id

        return nodes.read_operations(
            order,
            constant_id,
            saved_id if self.saved else None,
            {key: self._add(t, None).id for key, t in results.items()},
        )

    def _named_tensors(self) -> Iterable[torch.Tensor]:
        everything = {**self.caller.around, **self.caller.variables}
        for name, thing in everything.items():
            for _, leaf in tensors_in(name, thing):
                if isinstance(leaf, torch.Tensor):
                    yield leaf
        for name, module in self.modules:
            for _, leaf in tensors_in(name, module):
                if isinstance(leaf, torch.Tensor):
                    yield leaf

    # -- what is known of each

    def _facts(
        self,
    ) -> tuple[tuple[TensorFacts, ...], tuple[Any, ...]]:
        owners = {}
        for found in list(self.found.values()):
            grad = gradient_of(found.leaf)
            if grad is not None:
                names = [f"{name}.grad" for name in found.names]
                owner = self._add(grad, names[0])
                for name in names[1:]:
                    self._add(grad, name)
                owners[found.id] = owner
        everything = list(self.found.values())
        groups = storages.group([f.leaf for f in everything])
        for number, (block, members) in enumerate(groups):
            for i in members:
                everything[i].storage = f"s{number}"
                everything[i].start = storages.start_in(
                    everything[i].leaf, block
                )
        grads = {f.id for f in owners.values()}
        facts = {
            f.id: tensor_facts(f, None) for f in everything if f.id in grads
        }
        for f in everything:
            owner = owners.get(f.id)
            facts[f.id] = tensor_facts(f, facts[owner.id] if owner else None)
        blocks = tuple(
            storages.storage_facts(
                f"s{number}",
                block,
                [
                    (everything[i].leaf, facts[everything[i].id])
                    for i in members
                ],
            )
            for number, (block, members) in enumerate(groups)
        )
        return tuple(facts[f.id] for f in everything), blocks

    def _module_texts(self) -> dict[str, str]:
        texts = {}
        known = {id(m): (name, m) for name, m in self.modules}
        for name, thing in self.caller.variables.items():
            if isinstance(thing, torch.nn.Module):
                known.setdefault(id(thing), (name, thing))
        for name, module in known.values():
            for path, part in module.named_modules():
                own = list(part.parameters())
                where = f"{name}.{path}" if path and name else path or name
                texts[where] = _module_text(part, own)
        return texts


def _names_in(caller: Caller) -> dict[int, list[str]]:
    """Every tensor that the caller can name, with all its names."""
    known: dict[int, list[str]] = {}
    own = caller.variables
    around = {k: v for k, v in caller.around.items() if k not in own}
    for name, thing in [*own.items(), *around.items()]:
        for path, leaf in tensors_in(name, thing):
            names = known.setdefault(id(leaf), [])
            if path not in names:
                names.append(path)
    return known


def _by_memory(
    tensors: Iterable[torch.Tensor],
) -> dict[Any, torch.Tensor]:
    found: dict[Any, torch.Tensor] = {}
    for tensor in tensors:
        found.setdefault(_memory(tensor), tensor)
    return found


def _memory(tensor: torch.Tensor) -> Any:
    """What a saved copy of a tensor has in common with it: a transposed
    weight and a saved result lie in the same bytes.
    """
    block = storages.extent(tensor)
    if block is None or not block.start:
        return ("object", id(tensor))
    first = tensor.data_ptr() - block.start
    return (block, first, tensor.numel(), tensor.dtype)


def _module_text(
    module: torch.nn.Module, parameters: list[torch.nn.Parameter]
) -> str:
    count = sum(p.numel() for p in parameters)
    training = sum(p.numel() for p in parameters if p.requires_grad)
    kind = type(module).__name__
    if not count:
        return f"{kind}, no parameters"
    if training == count:
        state = "trainable"
    elif not training:
        state = "frozen"
    else:
        state = f"{training:,} trainable"
    noun = "parameter" if count == 1 else "parameters"
    return f"{kind}, {count:,} {noun}, {state}"


def _in_modules(
    operations: list[Operation], facts: tuple[TensorFacts, ...]
) -> list[Operation]:
    """Say for each operation which module's parameters it uses."""
    owner = {
        t.id: t.names[0].rpartition(".")[0]
        for t in facts
        if t.type == "Parameter"
    }
    reshaped: dict[str, str] = {}
    result = []
    for operation in operations:
        used = [s.tensor for s in operation.inputs if s.tensor]
        used += operation.constants
        paths = {owner[t] for t in used if t in owner}
        # a transposed weight belongs to the layer that transposed it
        paths |= {
            reshaped[s.operation]
            for s in operation.inputs
            if s.operation in reshaped
        }
        path = paths.pop() if len(paths) == 1 else ""
        if path and operation.name in ("t", "transpose", "permute"):
            reshaped[operation.id] = path
        result.append(replace(operation, module=path))
    return result
