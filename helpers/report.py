"""Recording → one self-contained page, and its text twin.

What is wrong comes first, then who has no gradient, then the pictures.
A pure function of a recording: nothing is run, nothing is fetched.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType

from .diagnosis import Cut, Diagnosis, Problem
from .diagrams import style
from .diagrams.diagram import Diagram
from .diagrams.page import Page, marked_up
from .diagrams.player import Player
from .diagrams.svg import escape, legible
from .model import TensorFacts
from .watching import Recording

__all__ = ["Report", "is_report", "report"]

MOST_BYTES = 3_000_000  # of the player, whose pictures are most of the page
MOST_OPERATIONS = 10_000  # of the graph of a whole run
MOST_ASKED = 200  # names that are asked why they have no gradient
MOST_READ = 1_000_000  # operations that are read again for all of them
MOST_ROWS = 100  # of the table of cuts

MARK = '<meta name="generator" content="helpers">'
FIRST_LINE = "by python -m helpers"

MEANING = {
    "detach": "detach() gives a tensor without history",
    "no_grad": "computed while gradients were off",
    "inference_mode": "computed while gradients were off",
    "data": ".data gives a tensor without history",
    "item": "a Python number or list left torch",
    "numpy": "an array left torch",
    "copy": "a copy of the values only",
    "not_differentiable": "the operation has no derivative",
    "frozen": "requires_grad was switched off",
}


@dataclass(frozen=True)
class Part:
    """A section of the report, twice: as HTML and as text."""

    title: str
    html: str
    text: str


@dataclass(frozen=True, repr=False)
class Report(Page):
    """What a script did, on one page; ``save`` writes .html or .txt."""

    name: str
    lead: str
    parts: tuple[Part, ...]

    @property
    def alt(self) -> str:
        """The title of the page."""
        return legible(f"What {self.name} did")

    @property
    def text(self) -> str:
        """The whole report in plain text."""
        first = f"Report of {self.name}, {FIRST_LINE}"
        told = [first, "=" * len(first), self.lead]
        for part in self.parts:
            told += ["", part.title, "-" * len(part.title), part.text]
        return legible("\n".join(told))

    @property
    def html(self) -> str:
        """The whole report, as it stands inside of a page."""
        sections = "".join(
            f"<section><h2>{escape(p.title)}</h2>{p.html}</section>"
            for p in self.parts
        )
        return (
            f"<style>{_CSS}</style><main><h1>{escape(self.alt)}</h1>"
            f"<p>{escape(self.lead)}</p>{sections}</main>"
        )

    def save(self, path: str | Path) -> Path:
        """Write the page, or its text, and return the path.

        Raises ValueError for another ending than ``.html`` or ``.txt``.
        """
        path = Path(path)
        if path.suffix != ".html":
            return super().save(path)
        page = (
            f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
            f"{MARK}"
            '<meta name="viewport" content="width=device-width, '
            'initial-scale=1"><meta name="color-scheme" content="light">'
            f"<title>{escape(self.alt)}</title></head>"
            f"<body>{self.html}</body></html>\n"
        )
        path.write_text(page, encoding="utf-8")
        return path


def is_report(path: Path) -> bool:
    """Say whether a file is a report, or empty: then nothing is lost."""
    with path.open("rb") as file:
        start = file.read(2000)
    first = start.split(b"\n", 1)[0].strip()
    return (
        not start
        or MARK.encode() in start
        or first.endswith(FIRST_LINE.encode())
    )


def report(recording: Recording, name: str, filename: str = "") -> Report:
    """Tell what a script did; ``filename`` is what its frames call it."""
    whole = recording.player()
    lines = whole.source.splitlines()
    player = _small(_from_first_tensor(whole))
    problems, cuts = recording.problems, recording.cuts
    size = len(recording.operations)
    parts = [
        _wrong(recording.error, problems, lines, filename),
        _without_grad(recording, size),
        _steps(player),
        _graph(recording, size),
        _picture("The memory", recording.draw_memory()),
        _cuts(cuts, lines),
    ]
    notes = tuple(dict.fromkeys(player.notes))
    if notes:
        told = [f"{note}." for note in notes]
        parts.append(Part("Left out", _list(told), "\n".join(told)))
    return Report(name, _lead(recording, size, cuts, problems), tuple(parts))


def _lead(
    recording: Recording,
    size: int,
    cuts: list[Cut],
    problems: list[Problem],
) -> str:
    told = ", ".join(
        [
            _count(len(problems), "problem"),
            _count(size, "operation"),
            _count(len(recording.steps), "step"),
            _count(len(cuts), "cut"),
        ]
    )
    end = _ending(recording.error)
    return f"{told}." + (f" {end}" if end else "")


def _ending(error: BaseException | None) -> str:
    if error is None:
        return ""
    if isinstance(error, SystemExit):
        return f"It ended itself: sys.exit({error.code!r})."
    if isinstance(error, KeyboardInterrupt):
        return "It was interrupted; this is what it did up to there."
    return f"It raised {type(error).__name__}."


# -- what is wrong


def _wrong(
    error: BaseException | None,
    problems: list[Problem],
    lines: list[str],
    filename: str,
) -> Part:
    cards, told = [], []
    if error is not None and not isinstance(
        error, (SystemExit, KeyboardInterrupt)
    ):
        line = _line_of(error.__traceback__, filename)
        title = f"The script raised {type(error).__name__}"
        cards.append(_trouble(title, line, lines, _pre(str(error))))
        told += [*_titled(title, line, lines), *_indented(str(error))]
    for p in problems:
        title = p.kind.replace("_", " ").capitalize()
        fix = f"<p><b>What to do:</b> {marked_up(p.fix)}</p>" if p.fix else ""
        said = f"<p>{marked_up(p.sentence)}</p>{fix}"
        cards.append(_trouble(title, p.line, lines, said))
        told += [*_titled(title, p.line, lines), f"  {p.sentence}"]
        told += [f"  What to do: {p.fix}"] if p.fix else []
    if not cards:
        none = "Nothing that will fail or is silently wrong was found."
        return Part("What is wrong", f"<p>{none}</p>", none)
    return Part("What is wrong", "".join(cards), "\n".join(told))


def _line_of(trace: TracebackType | None, filename: str) -> int | None:
    """The last line of the script itself that an error came through."""
    line = None
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == filename:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def _trouble(
    title: str, line: int | None, lines: list[str], inside: str
) -> str:
    code = _code(line, lines)
    where = f"<pre>{escape(code)}</pre>" if code else ""
    return (
        f'<div class="trouble"><h3>{escape(title)}</h3>{where}{inside}</div>'
    )


def _titled(title: str, line: int | None, lines: list[str]) -> list[str]:
    code = _code(line, lines)
    return [title, f"  {code}"] if code else [title]


def _code(line: int | None, lines: Sequence[str]) -> str:
    """A line of the script with its number; nothing where none is known."""
    if line is None:
        return ""
    inside = 0 < line <= len(lines)
    return f"line {line}: {lines[line - 1].strip() if inside else ''}"


# -- who has no gradient


def _without_grad(recording: Recording, size: int) -> Part:
    """Each parameter and named leaf without .grad, by its reason."""
    title = "Who has no gradient, and why"
    objects = _leaves(recording)
    learners = [t for t in objects if t.is_parameter or t.requires_grad]
    have = [t for t in learners if t.grad is not None]
    # learners first: they are why a person asks
    ask = [t for t in learners if t.grad is None]
    ask += [t for t in objects if t not in learners]
    few = MOST_READ // (size + 1)
    asked = ask[: max(1, min(MOST_ASKED, few))]
    groups: dict[tuple[str, ...], list[str]] = {}
    answers: dict[tuple[str, ...], Diagnosis] = {}
    for t in asked:
        found = recording.why_no_grad(t.names[0])
        if not (t.is_parameter or t.requires_grad or found.cuts):
            continue  # data: nobody expects a gradient there
        key = _without_name(found, t.names[0])
        groups.setdefault(key, []).append(t.names[0])
        answers.setdefault(key, found)
    items, told = [], []
    for key, names in groups.items():
        found = answers[key]
        more = ", ".join(names[1:])
        same = f"The same holds for {more}." if more else ""
        head = ", ".join(f"<code>{escape(n)}</code>" for n in names)
        items.append(
            f"<h3>{head}</h3><p>{marked_up(found.sentence)}</p>"
            + (f"<p><b>What to do:</b> {marked_up(found.fix)}</p>")
            * bool(found.fix)
        )
        told += [f"{names[0]}: {found}", *([f"  {same}"] if same else [])]
    ends = _ends(learners, have, len(ask) - len(asked))
    html = "".join(items) + "".join(f"<p>{escape(e)}</p>" for e in ends)
    return Part(title, html, "\n".join([*told, *ends]))


def _leaves(recording: Recording) -> list[TensorFacts]:
    """Named leaves that could have a gradient, each tensor once."""
    objects = recording.snapshot.objects
    grads = {t.grad.id for t in objects if t.grad is not None}
    return [
        t
        for t in objects
        if t.names
        and t.names[0] in recording.snapshot.tensors
        and t.is_leaf
        and not t.is_array
        and t.id not in grads
        and t.dtype.startswith(("float", "bfloat", "complex"))
    ]


def _without_name(found: Diagnosis, name: str) -> tuple[str, ...]:
    """An answer without the name it is about, to see who shares it."""
    alone = rf"(?<![\w.]){re.escape(name)}(?!\w)"
    said = (found.reason, found.sentence, found.fix)
    return tuple(re.sub(alone, "\0", text) for text in said)


def _ends(
    learners: list[TensorFacts], have: list[TensorFacts], left: int
) -> list[str]:
    if not learners:
        told = [
            "At the end, no variable holds a parameter or another leaf that "
            "requires grad."
        ]
    else:
        told = [
            "Parameters and other leaves with a gradient at the end: "
            f"{len(have):,} of {len(learners):,}."
        ]
    if left:
        told.append(f"{left:,} more were not asked.")
    return told


# -- pictures


def _from_first_tensor(player: Player) -> Player:
    """Leave out the imports and definitions that a script begins with."""
    if not player.frames:
        return player
    idle = replace(player.frames[0], line=0, printed="")
    count = 0
    for frame in player.frames[:-1]:
        if frame.printed or frame.problem or replace(frame, line=0) != idle:
            break
        count += 1
    if not count:
        return player
    note = f"The first {_count(count, 'step')} did nothing to a tensor"
    frames = player.frames[count:]
    return replace(player, frames=frames, notes=(*player.notes, note))


def _small(player: Player) -> Player:
    """Keep the first steps of a player that would be very large."""
    count = len(player.frames)
    while len(player.frames) > 1:
        size = len(player.html.encode())
        if size <= MOST_BYTES:
            break
        fewer = int(len(player.frames) * 0.95 * MOST_BYTES / size)
        note = f"Of these {count:,}, the first {max(1, fewer):,} are kept"
        player = replace(
            player,
            frames=player.frames[: max(1, fewer)],
            notes=(
                *(n for n in player.notes if "are kept" not in n),
                note,
            ),
        )
    return player


def _steps(player: Player) -> Part:
    return Part(
        "Step by step",
        player.html + _twin("All steps as text", player.text),
        player.text,
    )


def _graph(recording: Recording, size: int) -> Part:
    """The graph of the run; of its first steps where the run is long."""
    title = "The graph"
    if size <= MOST_OPERATIONS:
        return _picture(title, recording.draw_graph())
    shown = [s.number for s in recording.steps if s.snapshot is not None]
    last = shown[-1] if shown else 0
    said = f"Of the first {_count(last + 1, 'step')} of the run."
    part = _picture(title, recording.draw_graph(last))
    return Part(title, f"<p>{said}</p>{part.html}", f"{said}\n{part.text}")


def _picture(title: str, picture: Diagram) -> Part:
    html = (
        f'<div class="picture" role="region" tabindex="0" '
        f'aria-label="{escape(title)}">{picture.html}</div>'
        + _twin("As text", picture.text)
    )
    return Part(title, html, picture.text)


def _twin(title: str, text: str) -> str:
    return f"<details><summary>{title}</summary>{_pre(text)}</details>"


# -- cuts


def _cuts(cuts: list[Cut], lines: list[str]) -> Part:
    title = "Where the gradient is cut"
    if not cuts:
        none = "No operation cuts a gradient."
        return Part(title, f"<p>{none}</p>", none)
    times = Counter((c.line, c.kind, c.text, c.module) for c in cuts)
    first = {(c.line, c.kind, c.text, c.module): c for c in reversed(cuts)}
    keys = sorted(times, key=lambda k: (k[0] is None, k[0] or 0))
    body, told = [], []
    for key in keys[:MOST_ROWS]:
        cut = first[key]
        meaning = MEANING.get(cut.kind, cut.kind)
        flow = _flow_of(cut)
        line = "not known" if cut.line is None else str(cut.line)
        code = _code(cut.line, lines).partition(": ")[2] or cut.text
        body.append(
            f"<tr><td>{line}</td><td><code>{escape(code)}</code></td>"
            f"<td>{escape(meaning)}</td><td>{escape(flow)}</td>"
            f"<td>{times[key]:,}</td></tr>"
        )
        count = f" (× {times[key]:,})" if times[key] > 1 else ""
        told.append(f"line {line}: {code}")
        told.append(f"  {meaning}: {flow}{count}")
    more = len(keys) - MOST_ROWS
    left = f"{more:,} more places are left out." if more > 0 else ""
    head = "".join(
        f'<th scope="col">{word}</th>'
        for word in ("line", "code", "what cuts", "from → to", "times")
    )
    html = (
        f'<div class="picture" role="region" tabindex="0" '
        f'aria-label="{title}"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(body)}</tbody></table></div>"
    )
    told += [left] if left else []
    return Part(title, html + (f"<p>{left}</p>" * bool(left)), "\n".join(told))


def _flow_of(cut: Cut) -> str:
    ins = ", ".join(cut.inputs) or "-"
    return f"{ins} → {', '.join(cut.outputs)}" if cut.outputs else ins


# -- small pieces


def _count(number: int, word: str) -> str:
    return f"{number:,} {word}{'s' * (number != 1)}"


def _indented(text: str) -> list[str]:
    return [f"  {line}" for line in text.splitlines()]


def _list(told: Iterable[str]) -> str:
    return f"<ul>{''.join(f'<li>{escape(t)}</li>' for t in told)}</ul>"


def _pre(text: str) -> str:
    return f'<pre tabindex="0">{escape(text)}</pre>'


_CSS = f"""
body {{ margin: 0; background: {style.PLAIN_FILL}; color: {style.INK};
  font: 15px/1.5 {style.SANS}; }}
main {{ max-width: 1180px; margin: 0 auto; padding: 8px 16px 40px; }}
h1 {{ font-size: 24px; margin: 16px 0 4px; overflow-wrap: anywhere; }}
h2 {{ font-size: 19px; margin: 0 0 10px; }}
h3 {{ font-size: 15px; margin: 12px 0 4px; overflow-wrap: anywhere; }}
p {{ margin: 4px 0; overflow-wrap: anywhere; }}
section {{ background: {style.CARD}; border: 1px solid {style.CARD_EDGE};
  border-radius: 8px; padding: 14px 16px; margin: 16px 0; }}
pre, code {{ font-family: {style.MONO}; font-size: 13px; }}
pre {{ background: {style.PLAIN_FILL}; padding: 8px 10px; margin: 6px 0;
  border-radius: 6px; white-space: pre-wrap; overflow-wrap: anywhere; }}
.trouble {{ border-left: 4px solid {style.ORANGE}; padding-left: 12px;
  margin: 12px 0; }}
.trouble h3 {{ color: {style.WARN_INK}; }}
.picture {{ overflow-x: auto; }}
.picture > div {{ overflow: visible !important;
  max-height: none !important; }}
.picture img {{ max-width: none !important; }}
table {{ border-collapse: collapse; }}
th, td {{ text-align: left; vertical-align: top; padding: 4px 10px;
  border: 1px solid {style.CARD_EDGE}; }}
td code {{ white-space: pre-wrap; }}
details {{ margin-top: 10px; }}
summary {{ cursor: pointer; }}
.helpers-player {{ border: 0 !important; padding: 4px !important; }}
"""
