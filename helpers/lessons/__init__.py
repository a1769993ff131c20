"""Questions and exercises of the lessons, one module a lesson.

A module holds two dicts, QUESTIONS and EXERCISES; their ids begin with the
lesson's own word and are unique over the course.
"""

from . import clone_or_detach, freeze_w, split_two_networks, xw_demo
from .kinds import Exercise, Question

__all__ = ["EXERCISES", "QUESTIONS"]

_LESSONS = (clone_or_detach, xw_demo, freeze_w, split_two_networks)

QUESTIONS: dict[str, Question] = {
    key: question
    for lesson in _LESSONS
    for key, question in lesson.QUESTIONS.items()
}

EXERCISES: dict[str, Exercise] = {
    key: exercise
    for lesson in _LESSONS
    for key, exercise in lesson.EXERCISES.items()
}
