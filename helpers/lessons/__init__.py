"""Questions and exercises of the lessons, one module a lesson.

A module holds two dicts, QUESTIONS and EXERCISES; their ids begin with the
lesson's own word and are unique over the course.
"""

from . import (
    clinic,
    clone_or_detach,
    constant,
    first_trial,
    freeze_w,
    graph,
    in_place,
    names,
    recording_off,
    second_trial,
    split_two_networks,
    start,
    weights,
    wild_networks,
    wild_tricks,
    xw_demo,
)
from .kinds import Exercise, Question

__all__ = ["EXERCISES", "QUESTIONS"]

_LESSONS = (
    start,
    names,
    graph,
    clone_or_detach,
    constant,
    xw_demo,
    freeze_w,
    split_two_networks,
    in_place,
    recording_off,
    weights,
    first_trial,
    second_trial,
    wild_networks,
    wild_tricks,
    clinic,
)

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
