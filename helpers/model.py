"""What is known about a moment of a program: plain data, no torch.

A :class:`Snapshot` holds names, tensors, storages and the autograd graph.
Every picture, text and table is a pure function of it.  Ids are running
numbers in order of first appearance (``t0``, ``s0``, ``n0``), so that the same
program gives the same bytes on every run and every machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

__all__ = [
    "GONE",
    "UNNAMED",
    "Cell",
    "CutEdge",
    "Event",
    "Life",
    "ModuleFacts",
    "Operation",
    "Run",
    "Saved",
    "SavedVersion",
    "Snapshot",
    "Source",
    "Step",
    "StorageFacts",
    "Strip",
    "TensorFacts",
    "Use",
    "number_text",
]

_LONGEST = 24  # characters of a value
GONE = "gone by now"  # the note of a tensor that a recording outlived
UNNAMED = "(unnamed)"  # the name of a tensor that the caller has no name for


def number_text(value: Any) -> str:
    """Write one value short and with its kind: 2 is an int, 2.0 a float.

    >>> number_text(2), number_text(2.0), number_text(0.36787944)
    ('2', '2.0', '0.3679')
    """
    if isinstance(value, complex):
        return f"{value.real:.4g}{value.imag:+.4g}j"
    if isinstance(value, float):
        text = f"{value:.4g}"
        return f"{text}.0" if text.lstrip("-").isdigit() else text
    text = str(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


@dataclass(frozen=True)
class TensorFacts:
    """One tensor object (or NumPy array) and all the names it has.

    ``shape``, ``stride`` and ``offset`` count elements, as torch does;
    ``start`` is the byte of the storage where the first element lies.
    ``stride``, ``offset``, ``start`` and ``storage`` are None for a tensor
    that has no storage to show, and ``note`` then says why.  ``module`` is the
    path of the Module that holds a parameter.  ``twin`` is the
    id of a tensor with a history on the same memory, for a constant that was
    made from it by a cut (``detach()``, ``.data``).  ``values`` is what
    ``tolist()`` gives, None for more than a few elements.
    """

    id: str
    names: tuple[str, ...]
    type: str
    dtype: str
    shape: tuple[int, ...]
    device: str = "cpu"
    stride: tuple[int, ...] | None = None
    offset: int | None = None
    start: int | None = None
    itemsize: int = 1
    storage: str | None = None
    requires_grad: bool = False
    is_leaf: bool = True
    grad_fn: str | None = None
    retains_grad: bool = False
    grad: TensorFacts | None = None
    grad_norm: float | None = None
    version: int | None = None
    values: Any = None
    is_parameter: bool = False
    module: str = ""
    twin: str | None = None
    note: str = ""

    @property
    def numel(self) -> int:
        """The number of elements, the product of the shape."""
        count = 1
        for size in self.shape:
            count *= size
        return count

    @property
    def is_array(self) -> bool:
        """True for a NumPy array: a name on memory, without autograd."""
        return self.type == "ndarray"

    @property
    def frozen(self) -> bool:
        """True where the data says that it does not train any more.

        A Parameter without requires_grad, or a leaf that still holds a
        ``.grad`` although it requires none.
        """
        stale = self.grad is not None
        return not self.requires_grad and (self.is_parameter or stale)

    def positions(self) -> Iterator[tuple[tuple[int, ...], int]]:
        """Each index with the byte of the storage where its element starts.

        >>> t = TensorFacts("t0", ("t",), "Tensor", "float32", (2, 2),
        ...                 stride=(1, 2), offset=0, start=0, itemsize=4)
        >>> list(t.positions())
        [((0, 0), 0), ((0, 1), 8), ((1, 0), 4), ((1, 1), 12)]
        """
        if self.start is None or self.stride is None or not self.numel:
            return
        index = [0] * len(self.shape)
        while True:
            steps = zip(index, self.stride, strict=True)
            reach = sum(i * s for i, s in steps) * self.itemsize
            yield tuple(index), self.start + reach
            for axis in reversed(range(len(index))):
                index[axis] += 1
                if index[axis] < self.shape[axis]:
                    break
                index[axis] = 0
            else:
                return


@dataclass(frozen=True)
class Cell:
    """One element of a storage: its running number and its value as text."""

    index: int
    text: str


@dataclass(frozen=True)
class Strip:
    """A storage read with one dtype: ``count`` cells, the first few shown."""

    dtype: str
    itemsize: int
    count: int
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class StorageFacts:
    """One piece of memory and how its bytes read.

    ``version`` is the version counter of the tensors on it; a tensor that
    does not share that counter says its own.
    """

    id: str
    nbytes: int
    device: str = "cpu"
    version: int | None = None
    strips: tuple[Strip, ...] = ()


@dataclass(frozen=True)
class Source:
    """Where an input of an operation comes from.

    An output of another operation, a tensor, or nothing that autograd knows
    (both None): a constant or a frozen tensor.  ``graded`` says that a
    gradient flows back to it.
    """

    operation: str | None = None
    output: int = 0
    tensor: str | None = None
    graded: bool = True


@dataclass(frozen=True)
class Saved:
    """A tensor that an operation saved for backward."""

    label: str
    tensor: str | None = None
    state: str = "kept"  # "kept", "freed" or "hidden" behind a user's hook


@dataclass(frozen=True)
class Operation:
    """A node of the autograd graph: the operation it belongs to.

    ``saved`` is filled only where it was asked for; ``freed`` says that an
    earlier backward took what had been saved; ``history`` that its result has
    one.  ``cut`` is what stands on its edges where it cuts: the reason and
    the line.  ``shape`` is that of its first result, where it is known.
    """

    id: str
    name: str
    grad_fn: str
    inputs: tuple[Source, ...] = ()
    constants: tuple[str, ...] = ()
    outputs: tuple[tuple[int, str], ...] = ()
    saved: tuple[Saved, ...] = ()
    custom: bool = False
    freed: bool = False
    module: str = ""
    history: bool = True
    cut: str = ""
    shape: tuple[int, ...] | None = None


@dataclass(frozen=True)
class ModuleFacts:
    """A Module by its class and all parameters in it, each counted once.

    ``parameters`` counts elements, ``trainable`` those that require a
    gradient; ``grad_norm`` is the norm of all their gradients, None where
    there is none.  ``shape`` is that of its last result, where it is known.
    """

    kind: str
    parameters: int = 0
    trainable: int = 0
    grad_norm: float | None = None
    shape: tuple[int, ...] | None = None

    @property
    def only_holds(self) -> bool:
        """True for a list or dict of Modules, which is not called itself."""
        return self.kind in ("ModuleList", "ModuleDict")

    @property
    def frozen(self) -> bool:
        """True where there are parameters and none of them trains."""
        return self.parameters > 0 and not self.trainable

    def __str__(self) -> str:
        return f"{self.kind}, {self.count_text()}"

    def count_text(self, each: str = "") -> str:
        """How many parameters there are (in ``each`` of several Modules)."""
        if not self.parameters:
            return "no parameters"
        state = f"{self.trainable:,} trainable"
        if self.frozen:
            state = "frozen"
        elif self.trainable == self.parameters:
            state = "trainable"
        noun = "parameter" if self.parameters == 1 else "parameters"
        return f"{self.parameters:,} {noun}{each}, {state}"


@dataclass(frozen=True)
class CutEdge:
    """A gradient's way that is cut: from a source to a tensor, with the
    reason and the line.
    """

    source: Source
    tensor: str
    label: str


@dataclass(frozen=True)
class Snapshot:
    """What a program's names, tensors and storages are at one moment.

    ``tensors`` maps every name to its :class:`TensorFacts`; ``objects`` holds
    each tensor object once, in order of first appearance; ``asked`` the ids
    of those that were asked for; ``modules`` what is known of each module
    path that an operation or a parameter belongs to, ``grouped`` the paths
    that were handed in to group by; ``whole`` is False where the graph goes on
    behind what was read; ``notes`` is what the reader must know and no box
    says.  ``cuts`` are cut edges, ``loose`` the tensors and numbers at the end
    of one that nothing uses, and ``marks`` what a line has changed, by the id
    of a tensor or storage.  ``recorded`` says that a recording drew it, where
    each cut is known.
    """

    objects: tuple[TensorFacts, ...] = ()
    storages: tuple[StorageFacts, ...] = ()
    operations: tuple[Operation, ...] = ()
    asked: tuple[str, ...] = ()
    modules: Mapping[str, ModuleFacts] = field(default_factory=dict)
    grouped: tuple[str, ...] = ()
    whole: bool = True
    cuts: tuple[CutEdge, ...] = ()
    loose: tuple[str, ...] = ()
    marks: Mapping[str, str] = field(default_factory=dict)
    recorded: bool = False
    notes: tuple[str, ...] = ()

    @cached_property
    def tensors(self) -> dict[str, TensorFacts]:
        """Each name with the facts of its tensor."""
        return {name: t for t in self.objects for name in t.names}

    @cached_property
    def by_id(self) -> dict[str, TensorFacts]:
        """Each tensor object by its id."""
        return {t.id: t for t in self.objects}

    def shares_storage(self, first: str, second: str) -> bool:
        """Say whether two names look at the same memory.

        Raises KeyError, with the names that exist, for an unknown name.
        """
        names = self.tensors
        for name in (first, second):
            if name not in names:
                known = ", ".join(names) or "none"
                raise KeyError(f"no tensor is named {name!r}; known: {known}")
        a, b = names[first].storage, names[second].storage
        return a is not None and a == b


# -- a run of a program


@dataclass(frozen=True)
class Use:
    """A tensor as it went into an operation or came out of it."""

    tensor: str
    requires_grad: bool


@dataclass(frozen=True)
class SavedVersion:
    """A tensor that an operation saved: whose version counter it has, and
    what that counter said.  ``counter`` is empty for an alias with a counter
    of its own, as ``kron`` saves.
    """

    label: str
    counter: str
    version: int
    storage: str | None = None


@dataclass(frozen=True)
class Event:
    """Something that a program did to tensors: an operation, a backward, an
    optimizer's step, a flag that was set.

    ``kind`` is "operation", "in_place", "leaves" (a number or an array left
    torch), "flag", "grad_set", "backward", "grad" (autograd.grad), "step" or
    "numpy_write".  ``mode`` is the grad mode, "grad", "no_grad" or
    "inference_mode".  ``cut`` is the kind of the cut, or nothing.
    ``writes`` are the tensors that were written in place, ``counters`` the
    version counters with what they said afterwards,
    ``saved_else`` the bytes of what was saved and is known nowhere else.
    """

    number: int
    kind: str
    name: str
    line: int | None = None
    module: str = ""
    mode: str = "grad"
    inputs: tuple[Use, ...] = ()
    outputs: tuple[Use, ...] = ()
    writes: tuple[str, ...] = ()
    counters: tuple[tuple[str, int], ...] = ()
    saved: tuple[SavedVersion, ...] = ()
    cut: str = ""
    grad_fn: str = ""
    value: bool | None = None
    received: tuple[str, ...] = ()
    error: str = ""
    notes: tuple[str, ...] = ()
    saved_else: int = 0


@dataclass(frozen=True)
class Life:
    """What is known of a tensor over a whole run."""

    id: str
    names: tuple[str, ...] = ()
    shape: tuple[int, ...] = ()
    dtype: str = ""
    type: str = "Tensor"
    storage: str | None = None
    counter: str | None = None
    view_of: str | None = None
    requires_grad: bool = False
    is_leaf: bool = True
    is_parameter: bool = False
    retains_grad: bool = False
    has_grad: bool = False
    grad_norm: float | None = None
    alive: bool = True
    values: Any = None


@dataclass(frozen=True)
class Step:
    """One executed line: what it ran, what it printed, what there was after.

    ``snapshot`` is None for lines of a long run that only count.
    """

    number: int
    line: int
    snapshot: Snapshot | None = None
    printed: str = ""
    events: tuple[int, ...] = ()


@dataclass(frozen=True)
class Run:
    """A program and all that it did: plain data, to be saved and sent.

    ``before`` are the tensors and storages that were there already, by id,
    with their versions, ``modules`` the Modules that were called, by path,
    ``parameters`` the ids of their parameters, by name.
    """

    source: str
    events: tuple[Event, ...] = ()
    lives: Mapping[str, Life] = field(default_factory=dict)
    steps: tuple[Step, ...] = ()
    snapshot: Snapshot = field(default_factory=Snapshot)
    names: Mapping[str, str] = field(default_factory=dict)
    optimizers: int = 0
    held: tuple[str, ...] = ()
    error: str = ""
    notes: tuple[str, ...] = ()
    before: Mapping[str, int | None] = field(default_factory=dict)
    modules: Mapping[str, ModuleFacts] = field(default_factory=dict)
    parameters: Mapping[str, str] = field(default_factory=dict)
