"""Bring a symptom: find the question that somebody asked, and its answer.

104 questions that people asked in public stand in
``helpers/lessons/questions.jsonl``, each with a small program.  Look one up by
its topic, by a word or by a pasted error message, and open its card: the
program, what it prints, what the recorder says of it, and the answer.  All
cards are made here, from the file.
"""

from __future__ import annotations

import contextlib
import difflib
import functools
import io
import json
import math
import re
import textwrap
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from .diagnosis import Cut, Diagnosis
from .diagrams import style
from .diagrams.page import Page, card, marked_up
from .diagrams.svg import escape, legible
from .lessons.clinic import (
    ALSO_CALLED,
    LESSONS,
    MESSAGES,
    TAUGHT_IN,
    Message,
)
from .model import UNNAMED
from .watching import Recording, record_code

__all__ = ["case", "find", "messages", "topics"]

MOST = 10  # questions that one search gives
_WIDTH = 79
_WORDS_READ = 100  # of what was pasted
_FEW = 3  # sentences on tensors of one program
_ENOUGH = 0.5  # of a message has to stand in what was pasted

# Words that say nothing about a symptom.
_EMPTY = frozenset(
    re.findall(
        r"\w+",
        "a an and are as at be but by can did do does doing for from get gets "
        "has have how i if in into is it its me my not of on or so than that "
        "the their then there this to want was what when where which why will "
        "with without you your error says say traceback file line most recent "
        "call last runtimeerror typeerror valueerror attributeerror "
        "userwarning warning",
    )
)


@dataclass(frozen=True)
class Case:
    """One question of the bank."""

    id: str
    source: str
    question: str
    code: str
    answer: str
    topic: str
    prints: tuple[str, ...]

    @property
    def lesson(self) -> str:
        """The stem of the notebook that teaches it."""
        return TAUGHT_IN[self.topic]


@dataclass(frozen=True)
class Examined:
    """What a program printed, and what the recorder says of it."""

    printed: str
    findings: tuple[str, ...]


@dataclass(frozen=True, repr=False)
class Sheet(Page):
    """A page of the clinic."""

    html: str
    text: str
    alt: str


def topics() -> Page:
    """Show every topic with the number of its questions and their ids.

    >>> print(topics().text.splitlines()[0])
    104 questions on 27 topics. Open one: case("backward-twice").
    """
    bank = _bank()
    groups: dict[str, list[Case]] = {}
    for asked in bank.values():
        groups.setdefault(asked.topic, []).append(asked)
    title = (
        f"{len(bank)} questions on {len(groups)} topics. "
        f'Open one: case("{next(iter(bank))}").'
    )
    lines, rows = [title], ""
    for topic, members in groups.items():
        lesson = _lesson(members[0].lesson)
        lines.append(f"{topic} ({len(members)}), {lesson}")
        lines += _wrapped(", ".join(m.id for m in members))
        inside = "".join(
            f"<li>{marked_up(f'`{m.id}`')} {marked_up(m.question)}</li>"
            for m in members
        )
        rows += (
            f"<tr>{_td(f'<b>{escape(topic)}</b>')}{_td(str(len(members)))}"
            + _td(
                _folded(
                    escape(lesson), f'<ul style="margin:4px">{inside}</ul>'
                )
            )
            + "</tr>"
        )
    head = ("topic", "questions", "the lesson, and its questions")
    return _sheet(
        f"<p><b>{escape(title)}</b></p>" + _table(title, head, rows),
        lines,
        title,
    )


def messages() -> Page:
    """Show what torch says, with the lesson, the question and the fix.

    >>> print(messages().text.splitlines()[0])
    28 messages of torch, and what helps.
    """
    title = f"{len(MESSAGES)} messages of torch, and what helps."
    lines, rows = [title], ""
    for m in MESSAGES:
        lines += _message_lines(m)
        rows += (
            f"<tr>{_td(f'<b>{m.kind}</b><br>{escape(m.text)}')}"
            f"{_td(marked_up(m.fix))}{_td(escape(_lesson(m.lesson)))}"
            f"{_td(marked_up(f'`{m.question}`') if m.question else '–')}</tr>"
        )
    head = ("the message you see", "what helps", "the lesson", "the question")
    return _sheet(
        f"<p><b>{title}</b></p>" + _table(title, head, rows), lines, title
    )


def find(symptom: str | BaseException) -> Page:
    """Find the questions that fit a symptom, the best first, at most ten.

    ``symptom`` is some words, a pasted error message (a whole traceback will
    do; its numbers and shapes do not count) or the exception itself.  Where
    torch's message is known, its fix stands first.

    Raises TypeError for something that is neither text nor an exception.

    >>> print(find("element 0").text.splitlines()[-1])
    Open a card: case("element-0-meaning").
    """
    if isinstance(symptom, BaseException):
        symptom = f"{type(symptom).__name__}: {symptom}"
    if not isinstance(symptom, str):
        raise TypeError(
            f"the symptom is a {type(symptom).__name__}: give some words, "
            "the error message or the exception."
        )
    asked = _last_error(symptom)
    short = textwrap.shorten(
        asked, 60, placeholder=" …", break_on_hyphens=False
    )
    if not _words(asked):
        return _said(
            "There is nothing to look for: give a word of the symptom, or "
            'paste the error message, find("element 0").'
        )
    known = _known_messages(asked)
    found, whole = _ranked(asked, known)
    if not found and not known:
        return _said(
            f"Nothing fits {short!r}. Try fewer words or the last line of "
            "the error message; topics() shows all questions, messages() "
            "what torch says. Or record your program: "
            "`with record() as run:`, then run.problems and "
            'run.why_no_grad("x").'
        )
    title = f"{_counted(len(found))} for {short!r}"
    title += "." if whole or known else ", none with all of the words."
    if not found:
        title = f"No question for {short!r}, but torch's message is known."
    lines, body = [title], f"<p><b>{escape(title)}</b></p>"
    for m in known:
        lines += _message_lines(m)
        body += (
            f"<p><b>{m.kind}</b>: {escape(m.text)}<br>"
            f"<b>What helps:</b> {marked_up(m.fix)} "
            f"({escape(_lesson(m.lesson))})</p>"
        )
    items = ""
    for number, c in enumerate(found, 1):
        lines.append(f"{number}. {c.id} ({c.topic})")
        lines += _wrapped(c.question)
        items += f"<li>{marked_up(f'`{c.id}`')} {marked_up(c.question)}</li>"
    if found:
        last = f'Open a card: case("{found[0].id}").'
        lines.append(last)
        body += f'<ol style="margin:4px">{items}</ol><p>{escape(last)}</p>'
    return _sheet(body, lines, title)


def case(id: str) -> Page:
    """Show a question as a card: guess first, then open what it prints.

    The program runs under the recorder, in variables of its own; what it
    prints and raises stays inside, and the random state is as before.

    Raises KeyError for an unknown id, with those that are like it.

    >>> print(case("clone-adds-gradients").text.splitlines()[0])
    Case clone-adds-gradients (clone)
    """
    c = _bank().get(id) if isinstance(id, str) else None
    if c is None:
        raise KeyError(_unknown(id))
    seen = _examined(c.id)
    lesson = f"{_lesson(c.lesson)} ({c.lesson}.ipynb)"
    numbered = list(enumerate(c.code.splitlines(), 1))
    guess = "Guess first: what does it print, and why?"
    lines = [
        f"Case {c.id} ({c.topic})",
        *_wrapped(c.question, indent=""),
        *(f"  {number:2}  {line}".rstrip() for number, line in numbered),
        guess,
        "It prints:",
        *(f"  {line}".rstrip() for line in seen.printed.splitlines()),
        "The recorder says:",
        *_wrapped(*seen.findings),
        "Answer:",
        *_wrapped(c.answer),
        *_wrapped(f"Taught in {lesson}", indent=""),
        *_wrapped(f"Asked at: {_plain(c.source)}", indent=""),
    ]
    look = (
        f"background:{style.PLAIN_FILL};color:{style.INK};padding:6px 8px;"
        "margin:4px 0;overflow-x:auto;line-height:1.35;"
        f"font-family:{style.MONO};font-size:13px"
    )
    grey = f"color:{style.SOFT_INK};user-select:none"
    program = "\n".join(
        f'<span style="{grey}">{number:2}  </span>{escape(line)}'
        for number, line in numbered
    )
    findings = "".join(f"<li>{marked_up(text)}</li>" for text in seen.findings)
    html = (
        f"<div><b>Case {escape(c.id)}</b> ({escape(c.topic)})</div>"
        f"<p>{marked_up(c.question)}</p>"
        f'<pre style="{look}">{program}</pre>'
        f"<div><b>Guess first.</b> What does it print, and why?</div>"
        + _folded(
            "It prints", f'<pre style="{look}">{escape(seen.printed)}</pre>'
        )
        + _folded(
            "The recorder says", f'<ul style="margin:4px">{findings}</ul>'
        )
        + _folded("Answer", f"<p>{marked_up(c.answer)}</p>")
        + f"<div><b>Taught in</b> {escape(lesson)}</div>"
        f'<div style="color:{style.SOFT_INK};overflow-wrap:anywhere">'
        f"Asked at: {escape(_plain(c.source))}</div>"
    )
    return _sheet(html, lines, f"Case {c.id}: {c.question}")


# -- the bank


@functools.cache
def _bank() -> dict[str, Case]:
    path = Path(__file__).parent / "lessons" / "questions.jsonl"
    found = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        entry["prints"] = tuple(entry["prints"])
        found[entry["id"]] = Case(**entry)
    return found


def _lesson(stem: str) -> str:
    """How a lesson is called in a sentence.

    >>> _lesson("06_freeze_w")
    'lesson 6: Freeze a weight and check that it stays'
    """
    return f"lesson {int(stem[:2])}: {LESSONS[stem]}"


def _unknown(id: Any) -> str:
    bank = _bank()
    asked = id.lower() if isinstance(id, str) else ""
    near = [known for known in bank if asked and asked in known][:5]
    near += difflib.get_close_matches(asked, bank, 5, 0.5)
    if not near:
        return f"no question {id!r}; topics() shows all of them"
    near = list(dict.fromkeys(near))[:5]
    return f"no question {id!r}; like it are: {', '.join(near)}"


# -- a program under the recorder


@functools.cache
def _examined(id: str) -> Examined:
    """Run a program of the bank where it changes nothing of the caller's."""
    printed = io.StringIO()
    with (
        torch.random.fork_rng(devices=[]),
        torch.inference_mode(False),
        torch.enable_grad(),
        warnings.catch_warnings(),
        contextlib.redirect_stdout(printed),
    ):
        warnings.simplefilter("ignore")
        recording = record_code(_bank()[id].code, {})
        found = tuple(_findings(recording))
    text = printed.getvalue()
    if recording.error is not None:
        text += f"{type(recording.error).__name__}: {recording.error}\n"
    return Examined(text, found)


def _findings(recording: Recording) -> Iterator[str]:
    """Problems, cuts and leaves without a gradient, in sentences."""
    told = [str(problem) for problem in recording.problems]
    missing, quiet = _missing(recording)
    told += _told_cuts(recording.cuts, missing)
    told += _told_missing(missing)
    if not told:
        told = _told_missing(quiet)
    if not told:
        told = [
            "No cut, no missing gradient, nothing that will fail: the "
            "surprise is in the values."
        ]
    yield from map(_smoothed, told)


def _missing(
    recording: Recording,
) -> tuple[list[tuple[str, Diagnosis]], list[tuple[str, Diagnosis]]]:
    """Leaves that have no gradient, and what is worth a word otherwise."""
    missing: list[tuple[str, Diagnosis]] = []
    quiet: list[tuple[str, Diagnosis]] = []
    for t in recording.snapshot.objects:
        if not t.names or t.is_array:
            continue
        why = recording.why_no_grad(t.names[0])
        if why.reason in ("has_grad", "not_required"):
            continue  # a freeze is told with its line, among the cuts
        read = why.cuts and all(c.kind == "item" for c in why.cuts)
        told = t.is_leaf and not read and why.reason != "no_backward"
        (missing if told else quiet).append((t.names[0], why))
    return missing, quiet


_CUTS = {
    "detach": "gives a tensor without history.",
    "data": "gives a tensor without history, and writes through it go "
    "unnoticed.",
    "numpy": "gives a NumPy array, without history.",
    "copy": "makes a new leaf from the value alone.",
    "no_grad": "is on: what is computed from {names} is not recorded.",
    "inference_mode": "is on: what is computed from {names} is not recorded.",
    "not_differentiable": "has no derivative.",
    "frozen": "freezes {names}: no new gradient.",
}


def _told_cuts(
    cuts: Iterable[Cut], missing: list[tuple[str, Diagnosis]]
) -> list[str]:
    """One sentence a cut and line; numbers that are only read are left out,
    and so are cuts that a missing gradient tells.
    """
    already = {(c.kind, c.line) for _, why in missing for c in why.cuts}
    groups: dict[tuple[str, int | None, str], list[str]] = {}
    for cut in cuts:
        if cut.kind == "item" or (cut.kind, cut.line) in already:
            continue
        names = groups.setdefault((cut.kind, cut.line, cut.text), [])
        names += [n for n in cut.inputs if n not in names]
    told = []
    for (kind, line, text), names in groups.items():
        what = _CUTS[kind].format(names=_listed(names) or "its input")
        told.append(f"Line {line}: `{text}` {what}")
    return told


def _told_missing(missing: list[tuple[str, Diagnosis]]) -> list[str]:
    """One sentence a reason; more tensors with the same one are named."""
    groups: dict[tuple[Any, ...], list[tuple[str, Diagnosis]]] = {}
    for name, why in missing:
        key = (why.reason, tuple((c.kind, c.line) for c in why.cuts))
        groups.setdefault(key, []).append((name, why))
    told = []
    for members in groups.values():
        others = [f"{name}.grad" for name, _ in members[1:]]
        more = f" The same holds for {_listed(others)}." if others else ""
        told.append(f"{members[0][1]}{more}")
    return told[:_FEW]


def _listed(words: list[str]) -> str:
    if len(words) < 2:
        return "".join(words)
    return ", ".join(words[:-1]) + " and " + words[-1]


def _smoothed(sentence: str) -> str:
    """Leave out torch's advice on its anomaly mode, and name what has none."""
    sentence = re.sub(r" Hint: .*?\)\.(?= |$)", "", sentence)
    return sentence.replace(UNNAMED, "the value").replace("`,,", "`,")


# -- looking for a symptom


def _words(text: str) -> list[str]:
    """The words of a text that say something, without numbers.

    >>> _words("RuntimeError: [torch.FloatTensor [3, 2]] is at version 2")
    ['torch', 'floattensor', 'version']
    """
    return [
        w
        for w in re.findall(r"[^\W\d_]+", text.lower())
        if len(w) > 1 and w not in _EMPTY
    ]


def _last_error(symptom: str) -> str:
    """The last error that a pasted text reports, or all of it, in one line.

    >>> _last_error("  File x, line 3\\nValueError: no\\n way")
    'ValueError: no way'
    """
    begins = [
        m.start()
        for m in re.finditer(r"(?m)^[\w.]*(Error|Warning): ", symptom)
    ]
    text = symptom[begins[-1] :] if begins else symptom
    return " ".join(text.split()[:_WORDS_READ])


def _known_messages(asked: str) -> list[Message]:
    """Torch's messages of which most words stand, in a row, in a text, or in
    which the whole text stands.
    """
    inside = [m for m in MESSAGES if asked.lower() in m.text.lower()]
    if len(asked) > 5 and 0 < len(inside) <= 2:
        return inside
    said = _words(asked)
    found = []
    for m in MESSAGES:
        words = _words(m.text)
        kind = re.match(r"'(\w+)' object", m.text)
        if kind and kind[1].lower() not in said:
            continue  # another object without an attribute
        match = difflib.SequenceMatcher(None, said, words, autojunk=False)
        blocks = [b.size for b in match.get_matching_blocks() if b.size > 1]
        # the name of a Module may stand in the middle
        share = sum(blocks) / len(words)
        if share >= _ENOUGH:
            found.append((share * max(blocks), m))
    best = max((score for score, _ in found), default=0)
    near = [entry for entry in found if entry[0] >= 0.8 * best]
    return [m for _, m in sorted(near, key=lambda entry: -entry[0])][:2]


def _ranked(asked: str, known: list[Message]) -> tuple[list[Case], bool]:
    """The questions that fit best, and whether one has all the words."""
    first = [m.question for m in known if m.question]
    wanted = list(dict.fromkeys(_words(asked)))
    whole, part = [], []
    for c in _bank().values():
        weights = {w: _weight(w, c.id) for w in wanted}
        score = sum(_rarity(w) * weight for w, weight in weights.items())
        told = [w for w in wanted if weights[w] > 1]  # not in the code alone
        if all(weights.values()):
            whole.append((score, c))
        elif len(told) >= 0.6 * len(wanted):
            part.append((score, c))
    order = sorted(whole or part, key=lambda s: -s[0])
    ids = [*first, *(c.id for _, c in order)]
    bank = _bank()
    if asked in bank:
        ids.insert(0, asked)
    return [bank[i] for i in dict.fromkeys(ids)][:MOST], bool(whole)


@functools.cache
def _fields(id: str) -> tuple[tuple[float, frozenset[str]], ...]:
    """What of a question is searched, and how much a word there counts."""
    c = _bank()[id]
    said = " ".join(m.text for m in MESSAGES if m.question == id)
    return (
        (4.0, frozenset(_words(f"{c.id} {c.topic}"))),
        (3.0, frozenset(_words(ALSO_CALLED.get(c.topic, "")))),
        (3.0, frozenset(_words(c.question))),
        (2.0, frozenset(_words(f"{said} {' '.join(c.prints)}"))),
        (1.5, frozenset(_words(c.answer))),
        (1.0, frozenset(_words(c.code))),
    )


def _weight(word: str, id: str) -> float:
    """How much a word says for a question: the best place it stands in."""
    for weight, words in _fields(id):
        if any(_alike(word, other) for other in words):
            return weight
    return 0.0


@functools.cache
def _alike(word: str, other: str) -> bool:
    """Say whether two words are forms of one: freeze, freezes, freezing.

    >>> _alike("freezing", "freeze"), _alike("clone", "close")
    (True, False)
    """
    short, long = sorted((_stem(word), _stem(other)), key=len)
    return short == long or (len(short) >= 5 and long.startswith(short))


def _stem(word: str) -> str:
    for ending in ("ing", "ed", "es", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word.removesuffix(ending)
    return word


@functools.cache
def _rarity(word: str) -> float:
    """How much a word tells questions apart, 0 when none has it."""
    count = sum(_weight(word, id) > 0 for id in _bank())
    return math.log(1 + len(_bank()) / count) if count else 0.0


# -- pages


def _message_lines(m: Message) -> list[str]:
    asked = f', case("{m.question}")' if m.question else ""
    return [
        *_wrapped(f"{m.kind}: {m.text}", indent=""),
        *_wrapped(f"What helps: {m.fix}", f"{_lesson(m.lesson)}{asked}"),
    ]


def _counted(count: int) -> str:
    return "1 question" if count == 1 else f"{count} questions"


def _plain(source: str) -> str:
    return source.replace("https://", "").replace("http://", "")


def _wrapped(*texts: str, indent: str = "  ") -> list[str]:
    """Lines of a text twin, as a rule set in by two."""
    return [
        line
        for text in texts
        for line in textwrap.wrap(
            text,
            _WIDTH,
            initial_indent=indent,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        )
    ]


def _said(sentence: str) -> Page:
    return _sheet(
        f"<div>{marked_up(sentence)}</div>",
        _wrapped(sentence, indent=""),
        sentence,
    )


def _sheet(html: str, lines: list[str], alt: str) -> Page:
    return Sheet(card(html, 900), legible("\n".join(lines)), alt)


def _folded(summary: str, inside: str) -> str:
    return (
        '<details style="margin:6px 0"><summary style="cursor:pointer">'
        f"{summary}</summary>{inside}</details>"
    )


def _td(inside: str) -> str:
    return (
        f'<td style="border:1px solid {style.CARD_EDGE};padding:4px 8px;'
        f'text-align:left;vertical-align:top">{inside}</td>'
    )


def _table(label: str, head: Sequence[str], rows: str) -> str:
    wide = (34, 30, 20, 16) if len(head) == 4 else (100 // len(head),) * 9
    cells = "".join(
        f'<th scope="col" style="border:1px solid {style.CARD_EDGE};'
        f'padding:4px 8px;text-align:left;width:{percent}%">{title}</th>'
        for title, percent in zip(head, wide, strict=False)
    )
    rows = rows.replace("<tr>", f'<tr style="background:{style.CARD}">')
    return (
        f'<div style="overflow-x:auto"><table aria-label="{escape(label)}" '
        f'style="border-collapse:collapse;color:{style.INK}"><thead>'
        f'<tr style="background:{style.CARD}">{cells}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )
