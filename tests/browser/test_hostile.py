"""Nothing that a program says can run in a page, or leave its box."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from helpers import (
    draw_graph,
    draw_memory,
    facts,
    predict,
    record,
    record_code,
    what_if,
)
from helpers.lessons.kinds import Question, right, wrong

RUN = "window.ran=1;alert(1)"
HOSTILE = {
    "script": f"<script>{RUN}</script>",
    "image": f'"><img src=x onerror="{RUN}">',
    "apostrophe": f"'><svg onload='{RUN}'>",
    "end of data": f"</script><script>{RUN}</script>",
    "end of CDATA": f"]]><script>{RUN}</script>",
    "comment": f"<!--<script>--><script>{RUN}</script>",
    "frame": f'<iframe srcdoc="<script>parent.ran=1</script>">{RUN}',
    "style": "</style><style>*{background:url(http://a.test/x)}</style>",
    "address": f"javascript:{RUN}//",
    "image address": "![x](http://a.test/x.png)<img src=http://a.test/y>",
    "entity": f"&lt;script&gt;{RUN}&lt;/script&gt;",
    "colons": "enc::w<0>|{x}\\N\\l",
    "backticks": f"`<b onclick={RUN}>`",
    "template": "${window.ran=1}{{window.ran=1}}",
    "newlines": f"first\nsecond\r\n\u2028<script>{RUN}</script>",
    "right to left": "\u202e<b>gnp.exe\u202c\u2067x\u2069",
    "emoji": "🔥👩‍🔬" * 20,
    "half a character": "\ud800<b>\udfff",
    "NUL": "a\0b\x1b[1m<b>",
    "long": "<w>" * 400,
    "wide": "W" * 300,
    "marks": "e\u0301\u0323\u0302" * 80,
}
TEXTS = pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)


class Spoken:
    """Something of the user's that says what it likes."""

    def __init__(self, text):
        self.text = text

    def __repr__(self):
        return self.text


def tame(text):
    """The nearest that Python takes as the name of a class."""
    return text.encode("utf-8", "replace").decode().replace("\0", "0")


def names_of(text):
    """A module and a Function that are called so."""
    part = type(tame(text), (nn.Module,), {})()
    part.inner = nn.Linear(2, 2)
    part.forward = part.inner.forward
    net = nn.ModuleDict({text.replace(".", "_"): part})
    function = type(
        tame(text),
        (torch.autograd.Function,),
        {
            "forward": staticmethod(lambda ctx, x: x * 2),
            "backward": staticmethod(lambda ctx, g: g),
        },
    )
    return net, part, function


def of_a_picture(text):
    net, part, function = names_of(text)
    x = torch.ones(1, 2)
    loss = function.apply(part(x)).sum()
    named = {text: x, f"{text} 2": loss}
    yield draw_memory(net, {text: x}, **named)
    yield draw_graph(loss, net, **named)
    yield draw_graph(**named)
    yield facts(net, **named)


def of_a_recording(text):
    _, part, function = names_of(text)
    error = type(tame(text), (ValueError,), {})(text)
    space = {"part": part, "f": function, "text": text, "error": error}
    recording = record_code(
        "import torch\n"
        f"# {tame(text).splitlines()[0]}\n"
        "names = {text: torch.ones(1, 2)}\n"
        "loss = f.apply(part(names[text])).sum()\n"
        "cut = loss.detach()\n"
        "print(text.encode('utf-8', 'replace').decode())\n"
        "loss.backward()\n"
        "raise error\n",
        space,
    )
    assert len(recording.cuts) == 1
    yield recording.draw_graph()
    yield recording.draw_memory()
    yield recording.player()
    with record() as block:
        d = {text: part(torch.ones(1, 2)).detach()}
    assert d
    yield block.draw_graph()
    yield block.player()


def of_a_lesson(text):
    def show(choice):
        print(text)
        if choice == 1:
            raise ValueError(text)
        return [Spoken(text), draw_memory(**{text: torch.ones(1)})]

    show.__name__ = text
    yield what_if(show, choice=[0, 1])
    yield what_if(lambda choice: choice, choice=["a", text])
    yield what_if(lambda **choices: choices, **{text: [True, False]})
    yield predict(
        Question(text, (right(text, text), wrong(text, text, "claim")))
    )


def watched(page):
    """Count whatever asks the user or opens a window."""
    seen = []
    page.on("dialog", lambda d: (seen.append(d.message), d.dismiss()))
    page.on("popup", lambda p: seen.append(p.url))
    return seen


def use(page):
    """Press all that can be pressed, so that all that is there is shown."""
    page.evaluate(
        """() => {
          document.querySelectorAll("details").forEach(d => d.open = true);
          for (let i = 0; i < 12; i++)
            document.querySelectorAll("button, input[type=radio], " +
              "input[type=checkbox]").forEach(b => {
                if (!b.disabled) b.click();
                b.dispatchEvent(new MouseEvent("mouseover", {bubbles: true}));
              });
        }"""
    )


# Every <text> of the SVG pictures of a page that sticks out of its viewBox.
OUTSIDE = """async () => {
  const found = [];
  const seen = new Set();
  for (const image of document.images) {
    if (seen.has(image.src) || !image.src.startsWith("data:image/svg"))
      continue;
    seen.add(image.src);
    const holder = document.createElement("div");
    holder.innerHTML = await (await fetch(image.src)).text();
    document.body.appendChild(holder);
    const svg = holder.querySelector("svg");
    const [x, y, width, height] =
      svg.getAttribute("viewBox").split(" ").map(Number);
    for (const text of svg.querySelectorAll("text")) {
      const box = text.getBBox();
      if (box.x < x - 1 || box.y < y - 1 ||
          box.x + box.width > x + width + 1 ||
          box.y + box.height > y + height + 1)
        found.push([text.textContent.slice(0, 60), box.x, box.y,
          box.x + box.width, box.y + box.height, width, height]);
    }
    holder.remove();
  }
  return found;
}"""


def page_of(shown, path):
    """Save as HTML, or write what a notebook shows."""
    if hasattr(shown, "save"):
        return shown.save(path)
    html = shown._repr_mimebundle_()["text/html"]
    path.write_text(f"<!DOCTYPE html><meta charset=utf-8>{html}", "utf-8")
    return path


@TEXTS
@pytest.mark.parametrize(
    "make",
    [of_a_picture, of_a_recording, of_a_lesson],
    ids=lambda f: f.__name__,
)
def test_nothing_runs_and_nothing_leaves_its_box(
    open_page, tmp_path, make, text
):
    page = None
    for number, shown in enumerate(make(text)):
        path = page_of(shown, tmp_path / f"page{number}.html")
        if page is None:
            page = open_page(path.as_uri())
            said = watched(page)
        page.goto(path.as_uri())
        use(page)
        assert page.evaluate("window.ran") is None, number
        assert page.evaluate("document.scripts.length") <= 2, number
        assert page.evaluate(OUTSIDE) == [], number
    assert said == []
    # nothing else was written
    assert len(list(tmp_path.iterdir())) == number + 1


@TEXTS
def test_a_picture_of_hostile_text_opens_as_svg(open_page, tmp_path, text):
    path = draw_memory(**{text: torch.ones(1)}).save(tmp_path / "x.svg")
    page = open_page(path.as_uri())
    assert page.evaluate("document.documentElement.tagName") == "svg"
    assert page.locator("parsererror").count() == 0
    assert page.evaluate("window.ran") is None
    assert page.evaluate("document.scripts.length") == 0
