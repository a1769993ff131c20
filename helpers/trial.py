"""vote, judge and tally: the claims of the two texts, put on trial.

The claims and their programs stand in ``helpers/lessons/claims.py``.  A
verdict is computed: every part of a claim is an expression, evaluated after
the program has run.  All hold: "true".  None holds: "false".  Else: "half".
"""

from __future__ import annotations

import contextlib
import functools
import io
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

from .diagrams import style
from .diagrams.diagram import Diagram
from .diagrams.page import card, marked_up
from .diagrams.svg import escape
from .diagrams.words import words_of
from .drawing import draw_graph, draw_memory, facts
from .exercises import Shown
from .lessons.claims import CLAIMS, Claim
from .watching import record_code

__all__ = ["VERDICTS", "Trial", "judge", "tally", "vote"]

VERDICTS = ("true", "half", "false")

_SAID = {True: "✓ holds", False: "✗ fails"}


@dataclass(frozen=True, repr=False)
class Trial(Shown):
    """A table of claims with what their programs show.

    ``verdicts`` has the computed verdict of each claim, by id.
    """

    verdicts: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class _Tried:
    """What running a claim's program shows."""

    claim: Claim
    holds: tuple[bool, ...]  # one a part
    error: str  # the first line of what it raised, or ""
    picture: Diagram | None

    @property
    def verdict(self) -> str:
        if all(self.holds):
            return "true"
        return "half" if any(self.holds) else "false"


def vote(*ids: str) -> Shown:
    """Show claims to vote on; each of three answers says if it is the one.

    ``ids`` are ids such as ``"D1.7"``, or ``"D1"`` for all of a text.  The
    answers are folded and need no kernel, like those of ``predict``.

    Raises KeyError for an unknown id, with the ids that there are.

    >>> print(vote("D2.17").text.splitlines()[0])
    Vote: true, half or false?
    """
    tried = [_try(claim) for claim in _claims(ids)]
    body = "<b>Vote.</b> Is it true, half true or false?"
    lines = ["Vote: true, half or false?"]
    answers = ["Answers (vote first):"]
    for one in tried:
        body += _ballot(one)
        lines += [f"{one.claim.id} {one.claim.text}", *_indented(one)]
        answers += [f"  {one.claim.id}: {_shows(one)}"]
    return Shown(card(body), "\n".join([*lines, *answers]))


def judge(*ids: str, votes: Mapping[str, Any] | None = None) -> Trial:
    """Run the programs of claims and show what they say of each.

    ``votes`` has your own verdict of some claims, by id: "true", "half" or
    "false"; "" is no vote.  Without ``ids`` the claims of ``votes`` are
    tried, or all of them.  Where a vote differs, the program is unfolded.
    Every program runs in a namespace of its own and changes nothing outside.

    Raises KeyError for an unknown id, with the ids that there are, TypeError
    where votes are no dict, and AssertionError when a program raises another
    error than it should.

    >>> judge("D2.17", votes={"D2.17": "half"}).verdicts
    {'D2.17': 'true'}
    """
    if votes is None:
        votes = {}
    if not isinstance(votes, Mapping):
        raise TypeError(
            f"votes is a {type(votes).__name__}: write a dict, "
            'votes={"D1.1": "true"}.'
        )
    if strangers := [name for name in votes if name not in CLAIMS]:
        raise _unknown(strangers[0])
    claims = _claims(ids or votes)
    tried = [_try(claim, drawn=True) for claim in claims]
    cast = [_vote_on(votes.get(claim.id, "")) for claim in claims]
    verdicts = {one.claim.id: one.verdict for one in tried}
    rows, lines = "", []
    for one, word in zip(tried, cast, strict=True):
        rows += _row(one, word)
        lines += _told(one, word)
    said = _summary(tried, cast)
    lines.append(said)
    page = _table(rows) + f"<p><b>{escape(said)}</b></p>"
    return Trial(card(page, 1000), "\n".join(lines), verdicts)


def tally(*ids: str) -> dict[str, int]:
    """Count the computed verdicts, of these claims or of all.

    Raises KeyError for an unknown id, with the ids that there are.

    >>> tally("D1.11", "D2.17", "D2.11")
    {'true': 1, 'half': 1, 'false': 1}
    """
    found = [_try(claim).verdict for claim in _claims(ids)]
    return {verdict: found.count(verdict) for verdict in VERDICTS}


def _claims(ids: Iterable[str]) -> list[Claim]:
    """Find claims by their ids or by their text's; without any, all."""
    found: dict[str, Claim] = {}
    for name in ids:
        of_text = {
            key: claim
            for key, claim in CLAIMS.items()
            if name in (key, key.partition(".")[0])
        }
        if not of_text:
            raise _unknown(name)
        found |= of_text
    return list((found or CLAIMS).values())


def _unknown(name: Any) -> KeyError:
    return KeyError(f"no claim {name!r}; there are: {', '.join(CLAIMS)}")


@functools.cache
def _try(claim: Claim, drawn: bool = False) -> _Tried:
    """Run a claim's program, look at its parts, and draw its picture."""
    space: dict[str, Any] = {"torch": torch, "nn": nn}
    with _apart() as warned:
        recording = record_code(claim.program, space)
        error = _first_line(recording.error)
        if not error.startswith(claim.raises) or (error and not claim.raises):
            expected = claim.raises or "no error"
            raise AssertionError(
                f"the program of {claim.id} should end with {expected}, "
                f"but it ended with {error or 'no error'}"
            )
        space["error"] = error
        space["warned"] = tuple(str(w.message) for w in warned)
        holds = tuple(bool(eval(test, space)) for _, test in claim.parts)
        picture = None
        if drawn and claim.picture:
            pens = (draw_graph, draw_memory, facts)
            space |= {pen.__name__: pen for pen in pens}
            picture = eval(claim.picture, space | {"recording": recording})
    return _Tried(claim, holds, error, picture)


@contextlib.contextmanager
def _apart() -> Iterator[list[warnings.WarningMessage]]:
    """Let nothing in from outside, and nothing out: modes, prints, chance."""
    dtype = torch.get_default_dtype()
    with (
        torch.random.fork_rng(devices=[]),
        torch.inference_mode(False),
        torch.enable_grad(),
        torch.device("cpu"),
        warnings.catch_warnings(record=True) as warned,
        contextlib.redirect_stdout(io.StringIO()),
    ):
        warnings.simplefilter("always")
        torch.set_default_dtype(torch.float32)
        try:
            yield warned
        finally:
            torch.set_default_dtype(dtype)


def _first_line(error: BaseException | None) -> str:
    if error is None:
        return ""
    lines = words_of(error).splitlines() or [""]
    return f"{type(error).__name__}: {lines[0]}"


def _vote_on(word: Any) -> str:
    """Read a vote; untouched is none, and what is no verdict stays."""
    if word is ... or word is None:
        return ""
    text = str(word).strip()
    return text.lower() if text.lower() in VERDICTS else text


def _answer(one: _Tried, word: str) -> str:
    """Say how a vote compares with what the program shows."""
    if not word:
        return "no vote"
    if word not in VERDICTS:
        return f"{word!r} is no verdict: write true, half or false"
    right = word == one.verdict
    return f"{word}, {'as shown' if right else 'not as shown'}"


def _summary(tried: list[_Tried], cast: list[str]) -> str:
    counts = [
        f"{[one.verdict for one in tried].count(verdict)} {verdict}"
        for verdict in VERDICTS
    ]
    said = f"{_claims_in_words(len(tried))}: {', '.join(counts)}."
    voted = [
        word == one.verdict
        for one, word in zip(tried, cast, strict=True)
        if word in VERDICTS
    ]
    if voted:
        said += f" You voted on {len(voted)}, {sum(voted)} as shown."
    return said


def _claims_in_words(count: int) -> str:
    return f"{count} claim" if count == 1 else f"{count} claims"


def _shows(one: _Tried) -> str:
    return f"the program shows: {one.verdict}. {one.claim.explanation}"


def _indented(one: _Tried) -> list[str]:
    return [f"    {line}" for line in one.claim.program.splitlines()]


def _told(one: _Tried, word: str) -> list[str]:
    """A claim's row, as text."""
    lines = [f"{one.claim.id} {one.claim.text}", *_indented(one)]
    if one.error:
        lines.append(f"  raises {one.error}")
    lines += [
        f"  {_SAID[held]}: {said}"
        for (said, _), held in zip(one.claim.parts, one.holds, strict=True)
    ]
    lines.append(f"  verdict: {one.verdict}; your vote: {_answer(one, word)}")
    return [*lines, f"  {one.claim.explanation}"]


def _code(text: str) -> str:
    """A program as HTML."""
    look = (
        f"background:{style.OPERATION_FILL};color:{style.INK};margin:4px 0;"
        "padding:6px 10px;white-space:pre-wrap;overflow-wrap:anywhere;"
        f"font-family:{style.MONO}"
    )
    return f'<pre style="{look}">{escape(text)}</pre>'


def _ballot(one: _Tried) -> str:
    """A claim with its program and three folded answers side by side."""
    look = "display:inline-block;vertical-align:top;margin:2px 18px 2px 0"
    folded = ""
    for verdict in VERDICTS:
        back = "No. Try another answer."
        if verdict == one.verdict:
            back = f"<b>Yes,</b> {marked_up(_shows(one))}"
        folded += (
            f'<details style="{look};max-width:520px">'
            f'<summary style="cursor:pointer">{verdict}</summary>{back}'
            "</details>"
        )
    claim = f"<b>{escape(one.claim.id)}</b> {marked_up(one.claim.text)}"
    return (
        f'<div style="margin-top:10px">{claim}</div><div>'
        f'<details style="{look}"><summary style="cursor:pointer">the program'
        f"</summary>{_code(one.claim.program)}</details>{folded}</div>"
    )


def _row(one: _Tried, word: str) -> str:
    cell = (
        "text-align:left;vertical-align:top;padding:6px 10px;"
        f"border:1px solid {style.CARD_EDGE};font-weight:normal;"
        "white-space:normal"
    )
    parts = "".join(
        f"<div><b>{_SAID[held]}:</b> {marked_up(said)}</div>"
        for (said, _), held in zip(one.claim.parts, one.holds, strict=True)
    )
    soft = f"color:{style.SOFT_INK}"
    parts += (
        f'<div style="{soft};margin-top:4px">'
        f"{marked_up(one.claim.explanation)}</div>"
    )
    name = "the program"
    picture = ""
    if one.picture is not None:
        name, picture = "the program and a picture", one.picture.html
    program = one.claim.program
    if one.error:
        program += f"\n\nraises {one.error}"
    wrong = word in VERDICTS and word != one.verdict
    lesson = int(one.claim.lesson.partition("_")[0])
    claim = (
        f"<b>{escape(one.claim.id)}</b> {marked_up(one.claim.text)} "
        f'<span style="{soft}">(lesson&nbsp;{lesson})</span>'
    )
    fold = (
        f"<details{' open' if wrong else ''}>"
        f'<summary style="cursor:pointer">{name}</summary>'
        f"{_code(program)}{picture}</details>"
    )
    ground = f'<tr style="background:{style.CARD}">'
    below = f"{cell};border-top:none;padding-top:0"
    upper = f"{cell};border-bottom:none"
    return (
        f'{ground}<th scope="row" style="{upper}">{claim}</th>'
        f'<td style="{upper}">{parts}</td><td style="{upper}">'
        f"<b>{one.verdict}</b></td>"
        f'<td style="{upper}">{escape(_answer(one, word))}</td></tr>'
        f'{ground}<td colspan="4" style="{below}">{fold}</td></tr>'
    )


def _table(rows: str) -> str:
    cell = (
        f"text-align:left;padding:6px 10px;border:1px solid {style.CARD_EDGE}"
    )
    heads = (
        ("The claim", "36%"),
        ("What it says, part by part", "42%"),
        ("Verdict", "9%"),
        ("Your vote", "13%"),
    )
    head = "".join(
        f'<th scope="col" style="{cell};width:{width}">{name}</th>'
        for name, width in heads
    )
    return (
        f'<table style="border-collapse:collapse;width:100%;'
        f'color:{style.INK};background:{style.CARD};font-size:13px">'
        f'<thead><tr style="background:{style.CARD}">{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table>"
    )
