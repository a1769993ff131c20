"""Python's garbage collector, where we make many objects that all stay."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator

__all__ = ["paused"]


@contextlib.contextmanager
def paused() -> Iterator[None]:
    """Pause the collector: its passes would go over what is being made again
    and again, find nothing, and take a sixth of the time.
    """
    was = gc.isenabled()
    try:
        gc.disable()
        yield
    finally:
        if was:
            gc.enable()
