"""What the recorder needs and torch has under a private name only."""

from __future__ import annotations

from typing import Any

import torch
from torch.overrides import (
    _get_current_function_mode_stack,
    _pop_mode,
    _push_mode,
)

__all__ = [
    "Unseen",
    "function_modes",
    "is_autocasting",
    "is_view",
    "packs",
    "pop_mode",
    "push_mode",
]

# As a context: neither modes nor subclasses see what is called.
Unseen = torch._C.DisableTorchFunction
is_view = torch.Tensor._is_view
is_autocasting = torch._C._is_any_autocast_enabled
pop_mode = _pop_mode
push_mode = _push_mode


def function_modes() -> list[Any]:
    """The modes that see what is called, the innermost last."""
    return list(_get_current_function_mode_stack())


def packs() -> bool:
    """Say whether hooks of the user's pack what operations save now."""
    return bool(torch._C._autograd._top_saved_tensors_default_hooks(True))
