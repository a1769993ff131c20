"""Notebooks → slides, one self-contained page a lesson: ``make slides``.

Slide types come from the notebooks' own metadata.  Text keeps a size that a
room can read: what does not fit on one slide goes on to the next, and a wide
picture is put in rows; nothing is shrunk.  What only introduces something
shares its slide.  reveal.js and our theme are written into each page, so no
request leaves the machine.
"""

from __future__ import annotations

import base64
import html
import json
import math
import re
import sys
from dataclasses import dataclass, field, replace
from itertools import takewhile, zip_longest
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
from slide_pictures import EDGE, alike, fitted, lettered, size_of, smallest

from helpers.lessons import QUESTIONS

ROOT = Path(__file__).parents[1]
REVEAL = Path(sphinx_revealjs.__file__).parent / "_static" / "revealjs"

# A slide as reveal.js lays it out: 1280 × 720, and on a 4:3 projector 960
# high, of which the pictures get the rest, because they are shown smaller.
WIDTH, HEIGHT, NARROW_HEIGHT = 1280, 720, 960
ROOM_WIDE, ROOM_HIGH = 1232, 660
LINE = 34  # of code, whose letters have 24 pixels
CODE_WIDE = 82  # letters in a line of code
TEXT_WIDE = 88  # and of text
STAGE = (770, 310)  # of a player, in pixels of a picture
LEAST = 18.7  # CSS pixels of 14 pt
NARROW = WIDTH / 1024  # how much more a 4:3 projector shrinks a slide


@dataclass(frozen=True)
class Block:
    """A piece of a slide: its HTML and about how high it is.

    ``kind`` is "title", "heading", "text", "code", "question" or "output".
    Blocks with a ``step`` come at a key press, those with the same together.
    """

    html: str
    high: float
    kind: str = "text"
    step: int = 0
    notes: str = ""
    film: tuple[Block, ...] = ()  # what is printed in its place
    narrow: bool = False  # only on a 4:3 projector


@dataclass
class Slide:
    """What is shown at once."""

    blocks: list[Block] = field(default_factory=list)
    below: bool = False  # stands under the slide before it
    step: int = 0  # of the first block, which is there at once

    @property
    def high(self) -> float:
        """About how high it is."""
        return sum(block.high for block in self.blocks)

    @property
    def kinds(self) -> set[str]:
        """What there is on it."""
        return {block.kind for block in self.blocks}


def slides_of(notebook: Any, solutions: bool = False) -> list[Slide]:
    """Return the slides of a lesson."""
    slides: list[Slide] = []
    steps = 1
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
        told = cell.cell_type == "markdown" and cell.source[0] != "#"
        late = told or kind == "fragment"
        blocks = blocks_of(cell, 3 * steps, late=late)
        steps += 1
        if minutes := re.search(r"\*\*(\d+) minutes\.\*\*", cell.source):
            blocks[0] = replace(blocks[0], notes=f"{minutes[1]} minutes.")
        begins = kind in ("slide", "subslide") and not (
            slides and goes_with(slides[-1], blocks, kind)
        )
        if slides and slides[-1].kinds == {"heading", "text"}:
            for block in program_blocks(cell):
                if slides[-1].high + block.high <= ROOM_HIGH:
                    slides[-1].blocks.append(block)
        if blocks and (begins or not slides):
            below = kind == "subslide"
            slides.append(Slide(below=below, step=blocks[0].step))
        for block in blocks:
            add(slides, block)
    return slides


def program_blocks(cell: Any) -> list[Block]:
    """Return the program of a player, to be read before it is stepped
    through.
    """
    if cell.cell_type == "code" and cell.source.startswith("%%steps"):
        return code_blocks(cell.source.partition("\n")[2].strip())
    return []


def goes_with(slide: Slide, blocks: list[Block], kind: str) -> bool:
    """Say whether blocks may stand under what introduces them, or words
    under the result that they explain.
    """
    kinds = [block.kind for block in blocks]
    if not kinds:
        return False
    if kinds[0] == "text" and "output" in slide.kinds:
        now = list(takewhile(lambda b: b.kind == "text", blocks))
    elif not slide.kinds <= {"heading", "text", "code"} or (
        kind == "slide" and "heading" not in slide.kinds
    ):
        return False
    else:
        # code belongs to its question, unless words would be left alone
        asked = kinds[:2] == ["code", "question"] and slide.high > 200
        now = blocks[: 1 + asked]
    return slide.high + sum(block.high for block in now) <= ROOM_HIGH


SOLVED = re.compile(r"```python\n(.*?)```", re.DOTALL)


def solution_slide(code: str) -> Slide:
    """Return a slide with the solution of the exercise before it."""
    return Slide(
        [Block("<h2>Solution</h2>", 66, "heading"), code_block(code)],
        below=True,
    )


def add(slides: list[Slide], block: Block) -> None:
    """Put a block on the last slide, or on a new one where it has no room."""
    last = slides[-1]
    if last.blocks and (
        block.kind in ("title", "heading")
        or last.high + block.high > ROOM_HIGH
    ):
        slides.append(last := Slide(below=True, step=block.step))
    before = max((b.step for b in last.blocks), default=0)
    if block.step == last.step:
        block = replace(block, step=0)
    if before and not block.step:  # what stands below comes later
        block = replace(block, step=before + 1)
    last.blocks.append(block)


# Calls that say nothing to the room: what they show does.
UNSAID = re.compile(
    r"^(%load_ext .*|(import|from) .*"
    r'|(predict|arrange|case)\("[^"]+"\)|vote\(.*\)|judge\(votes=.*\)'
    r"|votes \|?= \{.*\})$",
    re.MULTILINE,
)


def blocks_of(cell: Any, step: int, late: bool) -> list[Block]:
    """Return a cell's code or text, then its outputs, as the next step."""
    if cell.cell_type == "markdown":
        return [
            replace(block, step=step * late)
            for block in markdown_blocks(cell.source)
        ]
    asked = re.search(r'predict\("([^"]+)"\)', cell.source)
    steps = "%%steps" in cell.source  # its player shows the program
    source = "" if steps else UNSAID.sub("", cell.source).strip()
    source = re.sub(r"\n{3,}", "\n\n", source)
    blocks = []
    if source:
        blocks += [replace(b, step=step * late) for b in code_blocks(source)]
    for output in cell.outputs:
        answer = asked and output.output_type == "execute_result"
        for block in output_blocks(output, asked[1] if answer else ""):
            after = step + 1 if source else step * late
            question = block.kind == "question"
            blocks.append(replace(block, step=0 if question else after))
    return blocks


def markdown_blocks(source: str) -> list[Block]:
    """Return one block for each paragraph, list or heading."""
    source = re.sub(r"<details>.*?</details>", "", source, flags=re.DOTALL)
    found = []
    for part in re.split(r"\n{2,}", source.strip()):
        if heading := re.match("#+ ", part):
            title = heading[0] == "# "
            found.append(
                Block(
                    markdown2html(part),
                    82 if title else 66,
                    "title" if title else "heading",
                )
            )
            continue
        plain = re.sub(r"[*`_]|\]\([^)]*\)", "", part)
        rows = plain.splitlines() if re.match(r"[-|\d]", part) else [plain]
        lines = sum(math.ceil(len(row) / TEXT_WIDE) for row in rows)
        found.append(Block(markdown2html(part), lines * 40 + 16))
    return found


def code_blocks(source: str) -> list[Block]:
    """Return code, in parts between blank lines where it is too high."""
    block = code_block(source)
    if block.high <= ROOM_HIGH or "\n\n" not in source:
        return [block]
    parts = source.split("\n\n")
    half = len(parts) // 2
    return code_blocks("\n\n".join(parts[:half])) + code_blocks(
        "\n\n".join(parts[half:])
    )


def code_block(source: str) -> Block:
    """Return code, highlighted."""
    shown = highlight(source, PythonLexer(), HtmlFormatter(cssclass="code"))
    return Block(shown, lines_of(source) * LINE + 30, "code")


def lines_of(text: str) -> int:
    """Return how many lines code or an output takes."""
    return sum(
        math.ceil(len(line) / CODE_WIDE) or 1 for line in text.splitlines()
    )


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
        svg = lettered(base64.b64decode(match[2]).decode())
        return picture_blocks(svg, match[1])
    if "helpers-player" in page:
        fit = played(lettered(page))
        return [Block(fit, 560, "output", film=film_of(page))]
    if "helpers-panel" in page:
        return [Block(played(lettered(page)), 560, "output")]
    if "<tbody>" in page:
        return table_blocks(page)
    if "not done yet" in page:  # an exercise that nobody has tried
        return []
    if page:
        high = lines_of(data["text/plain"]) * LINE + 60
        claims = claims_of(data["text/plain"])
        if claims:  # the words tell the programs, too, which are folded
            high = sum(50 + 36 * rows_of(c, 92) for c in claims) + 56
        card = f'<div class="card">{page}</div>'
        return [Block(card, min(high, ROOM_HIGH), "output")]
    text = output.get("text") or data.get("text/plain", "")
    shown = f'<pre class="output">{html.escape(text.rstrip())}</pre>'
    return [Block(shown, lines_of(text) * LINE + 18, "output")]


def claims_of(words: str) -> list[str]:
    """Return the claims of a vote, whose words tell their programs, too."""
    return re.findall(r"^D\d\.\d+ .*$", words, re.MULTILINE)


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
    sums = soup.find("table").find_next_sibling()
    if sums:
        sums.extract()
    blocks = []
    for group in groups:
        body.clear()
        body.extend(group)
        high = sum(map(row_height, group)) + 80
        if sums and group is groups[-1]:
            soup.find("table").insert_after(sums)
        blocks.append(Block(f'<div class="card">{soup}</div>', high, "output"))
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


DATA = re.compile(r'(?<=<script type="application/json">).*?(?=</script>)')


def played(page: str) -> str:
    """Return a player or panel whose wide pictures are in rows."""
    data = json.loads(DATA.search(page)[0])
    shown = alike([svg for svg, _ in data["pictures"]], *STAGE)
    data["pictures"] = [
        [svg, alt]
        for svg, (_, alt) in zip(shown, data["pictures"], strict=True)
    ]
    text = json.dumps(data, ensure_ascii=False, sort_keys=True)
    return DATA.sub(lambda _: text.replace("<", "\\u003c"), page)


def film_of(player: str) -> tuple[Block, ...]:
    """Return the first and the last frame of a player, for paper."""
    data = json.loads(DATA.search(player)[0])
    count = len(data["frames"])
    found = []
    for number in sorted({0, count - 1}):
        frame = data["frames"][number]
        line = data["source"][frame["line"] - 1]
        found += [
            Block(f"<h2>Step {number + 1} of {count}</h2>", 66, "heading"),
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
    # of the answers only one is open at a time, so that there is room
    options = "".join(
        f'<details name="{asked}"><summary>{marked(o.text)}</summary>'
        f"<p><b>{'Right.' if o.right else 'No.'}</b> {marked(o.reason)}</p>"
        "</details>"
        for o in question.options
    )
    lines = sum(rows_of(o.text, 80) for o in question.options)
    longest = max(rows_of(o.reason, 88) for o in question.options)
    notes = "Let the room vote before you open an answer.\n" + "\n".join(
        f"- {o.text}: {'right' if o.right else 'expect this; ' + o.reason}"
        for o in question.options
    )
    return Block(
        f'<div class="question"><p>{marked(question.text)}</p>{options}</div>',
        rows_of(question.text, 84) * 40 + lines * 50 + longest * 37 + 62,
        "question",
        notes=notes,
    )


def rows_of(text: str, wide: int) -> int:
    """Return how many lines a text takes that is so many letters wide."""
    return len(text.replace("`", "")) // wide + 1


def marked(text: str) -> str:
    """Escape text and set what stands in backticks as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text))


def picture_blocks(svg: str, alt: str) -> list[Block]:
    """Return a picture at a readable size, in parts where it is too wide."""
    least = LEAST / smallest(svg)
    wide = fitted(svg, ROOM_WIDE / least, (ROOM_HIGH - 8) / least)
    narrow = fitted(svg, ROOM_WIDE / least / NARROW, (ROOM_HIGH - 8) / least)
    if len(wide) > 1:
        wide = narrow
    found = []
    for number, part in enumerate(narrow, 1):
        only = number > len(wide)  # the whole is on the slide before
        shown = part if only else wide[number - 1]
        of = f" (part {number} of {len(wide)})" if len(wide) > 1 else ""
        found.append(replace(picture(shown, part, alt + of), narrow=only))
    return found


def picture(wide: str, narrow: str, alt: str) -> Block:
    """Return a picture, and how it is shown on a 4:3 projector."""
    high, most = heights(wide, 1)
    narrow_high, narrow_most = heights(narrow, NARROW)
    other = (
        f'<source media="(max-aspect-ratio: 3/2)" srcset="{address(narrow)}">'
    )
    return Block(
        f'<picture style="--high:{high}px;--most:{most}px;'
        f'--narrow-high:{narrow_high}px;--narrow-most:{narrow_most}px">'
        f"{other if wide != narrow else ''}"
        f'<img alt="{alt}" src="{address(wide)}"></picture>',
        high + 12,
        "output",
    )


def heights(svg: str, by: float) -> tuple[int, int]:
    """Return the height of a picture whose letters can just be read, and
    the greatest that it is shown in.
    """
    wide, high = size_of(svg)
    least = LEAST * by / smallest(svg)
    return (
        math.ceil(high * least),
        math.floor(high * max(least, min(1.45 * least, ROOM_WIDE / wide))),
    )


def address(svg: str) -> str:
    """Return a picture as an address."""
    data = base64.b64encode(svg.encode()).decode()
    return f"data:image/svg+xml;base64,{data}"


def whole_picture(svg: str, alt: str) -> Block:
    """Return a picture that fits a sheet of paper, which is read from near."""
    wide, high = size_of(svg)
    scale = min(1.7, ROOM_WIDE / wide, (ROOM_HIGH - 100) / high)
    return Block(
        f'<img class="printed" alt="{alt}" width="{wide * scale:.0f}" '
        f'height="{high * scale:.0f}" src="{address(svg)}">',
        high * scale + 16,
        "output",
    )


def page_of(title: str, slides: list[Slide]) -> str:
    """Return the whole page of a lesson."""
    body = ""
    for i, slide in enumerate(slides):
        if not slide.below or i == 0:
            body += ("</section>" if i else "") + "<section>"
        film = [b for block in slide.blocks for b in block.film]
        kind = ' class="screen-only"' if film else ""
        if all(block.narrow for block in slide.blocks):
            kind = ' class="narrow-only"'
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
    steps = sorted({block.step for block in slide.blocks} - {0})
    look = "page" if slide.kinds & {"title", "heading"} else "page untitled"
    if slide.kinds == {"text"} and slide.high < ROOM_HIGH / 2:
        look += " alone"
    elif slide.kinds <= {"title", "heading", "text"} and slide.high < 440:
        look += " large"
    inside = "".join(
        shown(block, steps.index(block.step) if block.step else None)
        for block in slide.blocks
    )
    return f'<section{kind}><div class="{look}">{inside}</div></section>'


def shown(block: Block, place: int | None) -> str:
    """Return a block's HTML with its place among the fragments and notes."""
    notes = html.escape(block.notes).replace("\n", "<br>")
    aside = f'<aside class="notes">{notes}</aside>' if notes else ""
    late = "" if place is None else f' data-fragment-index="{place}"'
    names = "block" if place is None else "block fragment"
    names += " narrow-only" * block.narrow
    return f'<div class="{names}"{late}>{block.html}</div>{aside}'


START = f"""
var left_out = /print-pdf/.test(location.search) ? "screen" : "print";
document.querySelectorAll("section." + left_out + "-only").forEach(
  function (slide) {{ slide.remove(); }});
function narrow() {{ return innerWidth / innerHeight <= 1.5; }}
if (!narrow()) document.querySelectorAll("section.narrow-only").forEach(
  function (slide) {{ slide.remove(); }});
// Pictures in players and panels: as large as there is room for.
function grow(img) {{
  var box = img.parentNode, wide = parseFloat(img.style.width);
  if (!wide || !box.clientWidth) return;
  var left = box.clientHeight - 14;
  [].forEach.call(box.children, function (e) {{
    if (e !== img) left -= e.offsetHeight + 6;
  }});
  var more = narrow() ? {NARROW} : 1;
  var least = more * (img.src.indexOf("figure_1") > 0 ? 1 : 0.917);
  var by = Math.min(1.5 * more, (box.clientWidth - 2) / wide,
    left / (wide * img.naturalHeight / img.naturalWidth));
  by = Math.max(least, Math.floor(by * 100) / 100);
  img.style.zoom = by;
  if (!img.closest(".helpers-player")) return;
  // what a step adds stands at the right and at the bottom
  var end = endOf(decodeURIComponent(img.src)), scale = 1.7 * by;
  box.scrollLeft = end[0] * scale - box.clientWidth;
  box.scrollTop = end[1] * scale - box.clientHeight;
}}
function endOf(svg) {{  // of the boxes, without the frame around them all
  var end = [0, 0], n = '="([\\\\d.]+)" ', box;
  var all = RegExp("<rect x" + n + "y" + n + "width" + n + "height" + n, "g");
  for (all.exec(svg); (box = all.exec(svg));) [0, 1].forEach(function (i) {{
    end[i] = Math.max(end[i], +box[1 + i] + +box[3 + i] + {EDGE});
  }});
  return end;
}}
function growAll() {{
  document.querySelectorAll(".present .stage img").forEach(grow);
}}
document.addEventListener("load", function () {{
  setTimeout(growAll);
}}, true);
document.addEventListener("click", function () {{ setTimeout(growAll); }});
function high() {{ return narrow() ? {NARROW_HEIGHT} : {HEIGHT}; }}
Reveal.initialize({{
  width: {WIDTH}, height: left_out === "screen" ? {HEIGHT} : high(),
  margin: 0, minScale: 0.2, maxScale: 4,
  center: false, hash: true, transition: "none", slideNumber: "c/t",
  navigationMode: "linear",  // the right key leaves no slide out
  pdfSeparateFragments: false,
  plugins: [RevealNotes],
}});
Reveal.on("slidechanged", growAll);
Reveal.on("ready", growAll);
if (left_out === "print") addEventListener("resize", function () {{
  Reveal.configure({{ height: high() }});
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
