"""What will fail, or is silently wrong."""

from __future__ import annotations

from .diagnosis import Problem, Story

__all__ = ["find"]


def find(story: Story) -> list[Problem]:
    """Return the problems of a run, in order of the lines."""
    return []
