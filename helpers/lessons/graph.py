"""Follow the graph."""

from __future__ import annotations

from .kinds import Exercise, Question

QUESTIONS: dict[str, Question] = {}

EXERCISES: dict[str, Exercise] = {}
