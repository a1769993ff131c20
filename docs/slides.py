"""Notebooks → slides, one self-contained page a lesson: ``make slides``.

Slide types come from the notebooks' own metadata.  Text keeps a size that a
room can read: what does not fit on one slide goes on to the next, and a wide
picture is shown in parts; nothing is shrunk.  reveal.js and our theme are
written into each page, so no request leaves the machine.
"""

from __future__ import annotations

import base64
import html
import json
import math
import re
import sys
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

import nbformat
import sphinx_revealjs
from bs4 import BeautifulSoup
from nbconvert.filters import markdown2html
from nbformat import NotebookNode
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from helpers.lessons import QUESTIONS

ROOT = Path(__file__).parents[1]
REVEAL = Path(sphinx_revealjs.__file__).parent / "_static" / "revealjs"

# A slide as reveal.js lays it out; it fits 1280 × 720 and 1024 × 768.
WIDTH, HEIGHT = 1024, 720
ROOM_WIDE, ROOM_HIGH = 964, 640
LETTERS = 19  # CSS pixels of code; 14 pt are 18.7
LINE = 28
PICTURE_HIGH = 680  # of a picture that has a slide of its own
SCALE = 1.7  # makes 14 pt of a picture's smallest text, which has 11 pixels
OVERLAP = 40  # of two parts of a wide picture


@dataclass(frozen=True)
class Block:
    """A piece of a slide: its HTML and about how high it is."""

    html: str
    high: float
    fragment: bool = False
    notes: str = ""
    film: tuple[Block, ...] = ()  # what is printed in its place


@dataclass
class Slide:
    """What is shown at once."""

    blocks: list[Block] = field(default_factory=list)
    below: bool = False  # stands under the slide before it

    @property
    def high(self) -> float:
        """About how high it is."""
        return sum(block.high for block in self.blocks)


def slides_of(notebook: Any, solutions: bool = False) -> list[Slide]:
    """Return the slides of a lesson."""
    slides: list[Slide] = []
    for cell, after in zip_longest(notebook.cells, notebook.cells[1:]):
        kind = cell.metadata.slideshow.slide_type
        if "solution" in cell.metadata.get("tags", []):
            next_kind = after and after.metadata.slideshow.slide_type
            task = cell.source.rpartition("</details>")[2].strip()
            if solutions:
                slides += [
                    solution_slide(c) for c in SOLVED.findall(cell.source)
                ]
            if task and next_kind != "skip":  # the next exercise's
                cell, kind = NotebookNode(cell, source=task), "slide"
        if kind in ("skip", "notes"):
            continue
        if kind in ("slide", "subslide") or not slides:
            slides.append(Slide(below=kind == "subslide"))
        minutes = re.search(r"\*\*(\d+) minutes\.\*\*", cell.source)
        for number, block in enumerate(blocks_of(cell)):
            if minutes and number == 0:
                block = replace(block, notes=f"{minutes[1]} minutes.")
            late = kind == "fragment" and number == 0
            add(slides, replace(block, fragment=block.fragment or late))
    return slides


SOLVED = re.compile(r"```python\n(.*?)```", re.DOTALL)


def solution_slide(code: str) -> Slide:
    """Return a slide with the solution of the exercise before it."""
    return Slide(
        [Block("<h2>Solution</h2>", 56), code_block(code)], below=True
    )


def add(slides: list[Slide], block: Block) -> None:
    """Put a block on the last slide, or on a new one where it has no room."""
    last = slides[-1]
    heading = re.match("<h[12]", block.html)
    if last.blocks and (heading or last.high + block.high > ROOM_HIGH):
        slides.append(last := Slide(below=True))
        block = replace(block, fragment=False)
    last.blocks.append(block)


def blocks_of(cell: Any) -> list[Block]:
    """Return a cell's code or text, then its outputs as fragments."""
    if cell.cell_type == "markdown":
        return markdown_blocks(cell.source)
    asked = re.search(r'predict\("([^"]+)"\)', cell.source)
    source = cell.source
    blocks = []
    if asked:  # the call itself says nothing to the room
        source = re.sub(r'\n*predict\("[^"]+"\)', "", source).strip()
    if source:
        blocks.append(code_block(source))
    for output in cell.outputs:
        answer = asked and output.output_type == "execute_result"
        blocks += output_blocks(output, asked[1] if answer else "")
    return blocks


def markdown_blocks(source: str) -> list[Block]:
    """Return one block for each paragraph, list or heading."""
    source = re.sub(r"<details>.*?</details>", "", source, flags=re.DOTALL)
    found = []
    for part in re.split(r"\n{2,}", source.strip()):
        wide = ROOM_WIDE / (LETTERS * 0.52)
        lines = sum(math.ceil(len(t) / wide) for t in part.splitlines())
        high = 56 if part.startswith("#") else lines * 32 + 20
        found.append(Block(markdown2html(part), high))
    return found


def code_block(source: str) -> Block:
    """Return code, highlighted."""
    shown = highlight(source, PythonLexer(), HtmlFormatter(cssclass="code"))
    return Block(shown, len(source.splitlines()) * LINE + 36)


def output_blocks(output: Any, asked: str) -> list[Block]:
    """Return an output, as a fragment."""
    data = output.get("data", {})
    page = data.get("text/html", "")
    if asked:
        return [question_block(asked)]
    if match := re.fullmatch(
        r'<div style="overflow[^"]*"><img alt="([^"]*)" [^>]*base64,'
        r'([^"]+)"></div>',
        page,
    ):
        svg = base64.b64decode(match[2]).decode()
        return picture_blocks(svg, match[1])
    if "helpers-player" in page:
        return [Block(page, ROOM_HIGH, film=film_of(page))]
    if "helpers-panel" in page:
        return [Block(page, ROOM_HIGH)]
    if "<tbody>" in page:
        return table_blocks(page)
    if page:
        lines = len(data["text/plain"].splitlines())
        return [Block(f'<div class="card">{page}</div>', lines * LINE + 60)]
    text = output.get("text") or data.get("text/plain", "")
    lines = sum(math.ceil(len(t) / 80) or 1 for t in text.splitlines())
    shown = f'<pre class="output">{html.escape(text.rstrip())}</pre>'
    return [Block(shown, lines * LINE + 24, fragment=True)]


def table_blocks(page: str) -> list[Block]:
    """Return a table with as many rows on a slide as there is room for."""
    soup = BeautifulSoup(
        page.replace("<details open>", "<details>"), "html.parser"
    )
    body = soup.find("tbody")
    groups: list[list[Any]] = [[]]
    room = 0.0
    for row in body.find_all("tr", recursive=False):
        high = row_height(row)
        goes_on = row.find("td", colspan=True) is not None
        if groups[-1] and room + high > ROOM_HIGH - 160 and not goes_on:
            groups.append([])
            room = 0.0
        groups[-1].append(row)
        room += high
    blocks = []
    for group in groups:
        body.clear()
        body.extend(group)
        high = sum(map(row_height, group)) + 90
        blocks.append(Block(f'<div class="card">{soup}</div>', high))
    return blocks


def row_height(row: Any) -> float:
    """About how high a row is, with what is folded in it folded."""
    cells = row.find_all(["th", "td"], recursive=False)
    wide = ROOM_WIDE / len(cells) / 10.5
    if len(cells) == 4:  # of a trial: claim, parts, verdict, vote
        wide = ROOM_WIDE * 0.36 / 10.5
    lines = 1
    for cell in cells:
        folded = cell.find("details")
        text = (folded.summary if folded else cell).get_text("\n")
        parts = [p for p in text.split("\n") if p.strip()]
        if cell.find("div"):
            parts = [d.get_text() for d in cell.find_all("div")] or parts
        else:
            parts = ["".join(parts)]
        lines = max(lines, sum(math.ceil(len(p) / wide) for p in parts))
    return lines * LINE + 30


def film_of(player: str) -> tuple[Block, ...]:
    """Return the first and the last frame of a player, for paper."""
    data = json.loads(
        re.search(r'<script type="application/json">(.*?)</script>', player)[1]
    )
    count = len(data["frames"])
    found = []
    for number in sorted({0, count - 1}):
        frame = data["frames"][number]
        line = data["source"][frame["line"] - 1]
        found += [
            Block(f"<h2>Step {number + 1} of {count}</h2>", 56),
            code_block(line),
            Block(f"<p>{html.escape(frame['said'])}</p>", 80),
        ]
        for name in ("graph", "memory"):
            svg, alt = data["pictures"][frame[name]]
            found.append(whole_picture(svg, html.escape(alt)))
    return tuple(found)


def question_block(asked: str) -> Block:
    """Return a prediction; its answers are for the speaker and for a click."""
    question = QUESTIONS[asked]
    options = "".join(
        f"<details><summary>{marked(o.text)}</summary>"
        f"<p><b>{'Right.' if o.right else 'No.'}</b> {marked(o.reason)}</p>"
        "</details>"
        for o in question.options
    )
    lines = sum(len(o.text) // 80 + 1 for o in question.options)
    lines += len(question.text) // 80 + 1
    notes = "Let the room vote before you open an answer.\n" + "\n".join(
        f"- {o.text}: {'right' if o.right else 'expect this; ' + o.reason}"
        for o in question.options
    )
    return Block(
        f'<div class="question"><p>{marked(question.text)}</p>{options}</div>',
        lines * 40 + 150,
        notes=notes,
    )


def marked(text: str) -> str:
    """Escape text and set what stands in backticks as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text))


def picture_blocks(svg: str, alt: str) -> list[Block]:
    """Return a picture at a readable size, in parts where it is too wide."""
    wide, high = size_of(svg)
    scale = min(ROOM_WIDE / wide, PICTURE_HIGH / high)
    if scale >= SCALE:
        return [picture(svg, alt, min(scale, 2.0), wide, high)]
    across, step_x = parts_of(wide, ROOM_WIDE / SCALE)
    down, step_y = parts_of(high, PICTURE_HIGH / SCALE)
    size = (wide - (across - 1) * step_x, high - (down - 1) * step_y)
    corners = [
        (i * step_x, j * step_y) for j in range(down) for i in range(across)
    ]
    corners = [(x, y) for x, y in corners if says_something(svg, x, y, *size)]
    return [
        picture(
            cropped(svg, x, y, *size),
            f"{alt} (part {number} of {len(corners)})",
            SCALE,
            *size,
        )
        for number, (x, y) in enumerate(corners, 1)
    ]


def whole_picture(svg: str, alt: str) -> Block:
    """Return a picture that fits a sheet of paper, which is read from near."""
    wide, high = size_of(svg)
    scale = min(SCALE, ROOM_WIDE / wide, PICTURE_HIGH / high)
    return picture(svg, alt, scale, wide, high)


def size_of(svg: str) -> tuple[float, float]:
    """Return a picture's own width and height."""
    wide, high = (
        float(re.search(rf'{side}="([\d.]+)', svg)[1])
        for side in ("width", "height")
    )
    return wide, high


def parts_of(length: float, room: float) -> tuple[int, float]:
    """Return in how many parts a length is shown, and the step from one to
    the next.
    """
    if length <= room:
        return 1, 0.0
    count = math.ceil((length - OVERLAP) / (room - OVERLAP))
    return count, (length - OVERLAP) / count


def says_something(
    svg: str, x: float, y: float, wide: float, high: float
) -> bool:
    """Say whether a part of a picture has text in it."""
    places = re.findall(r'<text[^>]* x="([\d.]+)" y="([\d.]+)"', svg)
    return not places or any(
        x <= float(left) <= x + wide and y <= float(top) <= y + high
        for left, top in places
    )


def cropped(svg: str, x: float, y: float, wide: float, high: float) -> str:
    """Return a part of a picture."""
    head, rest = svg.split(">", 1)
    head = re.sub(r' (viewBox|width|height)="[^"]*"', "", head)
    return (
        f'{head} viewBox="{x:g} {y:g} {wide:g} {high:g}" '
        f'width="{wide:g}" height="{high:g}">{rest}'
    )


def picture(
    svg: str, alt: str, scale: float, wide: float, high: float
) -> Block:
    """Return one picture, scaled."""
    data = base64.b64encode(svg.encode()).decode()
    return Block(
        f'<img class="picture" alt="{alt}" '
        f'width="{wide * scale:.0f}" height="{high * scale:.0f}" '
        f'src="data:image/svg+xml;base64,{data}">',
        high * scale + 16,
    )


def page_of(title: str, slides: list[Slide]) -> str:
    """Return the whole page of a lesson."""
    body = ""
    for i, slide in enumerate(slides):
        if not slide.below or i == 0:
            body += ("</section>" if i else "") + "<section>"
        film = [b for block in slide.blocks for b in block.film]
        kind = ' class="screen-only"' if film else ""
        body += section(slide, kind)
        paper = [Slide()]
        for block in film:
            add(paper, block)
        if film:
            body += "".join(section(s, ' class="print-only"') for s in paper)
    body += "</section>"
    files = {
        "css": [
            REVEAL / "dist" / "reset.css",
            REVEAL / "dist" / "reveal.css",
            ROOT / "docs" / "look" / "slides.css",
        ],
        "js": [
            REVEAL / "dist" / "reveal.js",
            REVEAL / "plugin" / "notes" / "notes.js",
        ],
    }
    css = "\n".join(path.read_text("utf-8") for path in files["css"])
    css += HtmlFormatter(style="default").get_style_defs(".code")
    js = "\n".join(
        path.read_text("utf-8").replace("</script", "<\\/script")
        for path in files["js"]
    )
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{html.escape(title)}</title><style>{css}</style></head>"
        f'<body><div class="reveal"><div class="slides">{body}</div></div>'
        f"<script>{js}</script><script>{START}</script></body></html>\n"
    )


def section(slide: Slide, kind: str) -> str:
    """Return one slide's HTML."""
    return f"<section{kind}>{''.join(map(shown, slide.blocks))}</section>"


def shown(block: Block) -> str:
    """Return a block's HTML with its fragment and notes."""
    notes = html.escape(block.notes).replace("\n", "<br>")
    aside = f'<aside class="notes">{notes}</aside>' if notes else ""
    kind = ' class="fragment"' if block.fragment else ""
    return f"<div{kind}>{block.html}</div>{aside}"


START = f"""
var left_out = /print-pdf/.test(location.search) ? "screen" : "print";
document.querySelectorAll("section." + left_out + "-only").forEach(
  function (slide) {{ slide.remove(); }});
Reveal.initialize({{
  width: {WIDTH}, height: {HEIGHT}, margin: 0, minScale: 0.2, maxScale: 2,
  center: false, hash: true, transition: "none", slideNumber: "c/t",
  pdfSeparateFragments: false,
  plugins: [RevealNotes],
}});
"""


def title_of(notebook: Any) -> str:
    """Return a lesson's title."""
    return re.search(r"^# (.+)$", notebook.cells[0].source, re.MULTILINE)[1]


def main(target: Path, solutions: bool) -> None:
    """Write the slides of every lesson, and an index."""
    target.mkdir(parents=True, exist_ok=True)
    links = ""
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        title = title_of(notebook)
        page = page_of(title, slides_of(notebook, solutions))
        (target / f"{path.stem}.html").write_text(page, "utf-8")
        links += (
            f'<li><a href="{path.stem}.html">{html.escape(title)}</a></li>'
        )
    index = (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        "<title>Slides</title></head><body><h1>Slides</h1>"
        f"<ol start='0'>{links}</ol></body></html>\n"
    )
    (target / "index.html").write_text(index, "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), "--solutions" in sys.argv)
