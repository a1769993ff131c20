"""What calls of torch's functions are, told by their names and arguments."""

from __future__ import annotations

from typing import Any

import torch

from ..capture.things import is_leaf

# How a value leaves torch.
LEAVES = {
    "item": "item",
    "tolist": "item",
    "__float__": "item",
    "__int__": "item",
    "__bool__": "item",
    "__index__": "item",
    "__complex__": "item",
    "numpy": "numpy",
    "__array__": "numpy",
    "__dlpack__": "numpy",
}

# What a cut is called, by the operation that makes it.
LABELS = {
    "detach": "detach",
    "detach_": "detach",
    "data": "data",
    "tensor": "copy",
    "as_tensor": "copy",
    "asarray": "copy",
    "new_tensor": "copy",
    "_make_subclass": "copy",
    **LEAVES,
}

# Attributes that are read as an operation makes a tensor.
VIEWS = {"data", "T", "mT", "H", "mH", "real", "imag"}

# Questions that change nothing and answer with no tensor.
QUIET = {
    "__repr__",
    "__str__",
    "__format__",
    "__len__",
    "__hash__",
    "__deepcopy__",
    "__reduce_ex__",
    "__contains__",
    "__dir__",
    "dim",
    "size",
    "numel",
    "nelement",
    "ndimension",
    "stride",
    "storage_offset",
    "storage",
    "untyped_storage",
    "data_ptr",
    "is_contiguous",
    "is_floating_point",
    "is_complex",
    "is_signed",
    "is_inference",
    "is_conj",
    "is_neg",
    "is_pinned",
    "is_shared",
    "is_same_size",
    "is_set_to",
    "element_size",
    "get_device",
    "type",
    "register_hook",
    "register_post_accumulate_grad_hook",
    "_is_view",
    "is_tensor",
    "is_storage",
    "_set_grad_enabled",
    "_record_function_enter_new",
    "_RecordFunction",
    "result_type",
    "can_cast",
    "broadcast_shapes",
    "get_default_dtype",
    "manual_seed",
}

# Operations whose result lies on the memory of their input, and is no view.
ALIASES = {"detach", "data", "alias", "as_subclass", "_make_subclass"}

# x += 1 and its like write in place.
AUGMENTED = {
    f"__i{op}__"
    for op in [
        "add",
        "sub",
        "mul",
        "truediv",
        "floordiv",
        "mod",
        "pow",
        "and",
        "or",
        "xor",
        "lshift",
        "rshift",
        "matmul",
    ]
}

PLAIN_TENSORS = {torch.Tensor, torch.nn.Parameter}

NO_TENSOR = {int, float, bool, str, type(None), torch.dtype, torch.device}


def collect(things: Any, found: list[Any], depth: int = 0) -> None:
    """Find tensors and arrays in the arguments of a call, in order."""
    for thing in things:
        kind = type(thing)
        if kind is torch.Tensor or is_leaf(thing):
            found.append(thing)
        elif kind in (list, tuple) and depth < 4:
            collect(thing, found, depth + 1)
        elif kind is dict and depth < 4:
            collect(thing.values(), found, depth + 1)
        elif depth < 4 and isinstance(thing, tuple):
            collect(thing, found, depth + 1)


def written_by(
    name: str, args: Any, kwargs: Any, outs: list[torch.Tensor]
) -> list[torch.Tensor]:
    """The tensors that a call wrote in place."""
    if name == "setitem":
        return [args[0]]
    if name.startswith("_foreach_") and name.endswith("_"):
        return [t for t in args[0] if isinstance(t, torch.Tensor)]
    in_place = name.endswith("_") and not name.endswith("__")
    in_place = in_place or (name[:3] == "__i" and name in AUGMENTED)
    if in_place and args and isinstance(args[0], torch.Tensor):
        return [args[0]]
    if in_place and isinstance(kwargs.get("tensor"), torch.Tensor):
        return [kwargs["tensor"]]  # torch.nn.init
    if kwargs.get("out") is not None or kwargs.get("inplace"):
        return outs[:1]
    return []
