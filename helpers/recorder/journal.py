"""What is noted while a program runs, and how to look without being seen."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from ..capture.private import Unseen

STRICT = False  # the tests want to hear of what could not be looked at
MOST_EVENTS = 200_000


class Journal:
    """The events in their order, and where the program is now.

    An event is an Event of the model, or the tuple of its fields, which is
    made one when somebody reads it.  While ``quiet`` is not 0, what is called
    is no part of the program.
    """

    def __init__(self) -> None:
        self.events: list[Any] = []
        self.notes: dict[str, None] = {}
        self.line: int | None = None
        self.module = ""  # the path of the Module that runs
        self.in_step = False  # inside an optimizer's own code
        self.quiet = 0
        self._looks: list[Any] = []  # what switched torch's overriding off

    def add(self, event: Any) -> None:
        """Keep an event."""
        if len(self.events) < MOST_EVENTS:
            self.events.append(event)
        else:
            self.notes.setdefault(
                f"Only the first {MOST_EVENTS:,} operations are kept"
            )

    @contextlib.contextmanager
    def looking(self, what: str) -> Iterator[None]:
        """Look without being seen; what fails is noted, not raised."""
        off = Unseen()
        self._looks.append(off)
        self.quiet += 1
        try:
            off.__enter__()
            yield
        except Exception as error:
            self.not_seen(what, error)
        finally:
            if off in self._looks:
                self._end_look()

    def end_looks(self) -> None:
        """End every look: an interrupt may have kept one from its end."""
        while self._looks:
            self._end_look()

    def _end_look(self) -> None:
        self._looks[-1].__exit__(None, None, None)
        self._looks.pop()
        self.quiet -= 1

    def not_seen(self, what: str, error: Exception) -> None:
        """Note what could not be looked at; it must not stop the program."""
        if STRICT:
            raise error
        self.notes.setdefault(
            f"{what} in line {self.line} could not be looked at: "
            f"{type(error).__name__}"
        )
