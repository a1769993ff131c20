"""Frames of a run → one self-contained page: program, graph, memory, output.

Without scripts (a notebook that is not trusted yet, a preview) the first
frame is there as plain HTML.  With scripts it becomes a player with buttons,
a slider and arrow keys.  Pictures that are equal are kept once; what comes
from the user is only ever set as text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from . import style
from .diagram import Diagram
from .page import Kept, Page, framed, image
from .svg import escape, legible

__all__ = ["Frame", "Player"]


@dataclass(frozen=True)
class Frame:
    """One step: the line that ran, what it did and printed, the pictures."""

    line: int
    sentence: str
    printed: str
    graph: Diagram
    memory: Diagram
    problem: str = ""


@dataclass(frozen=True, repr=False)
class Player(Page):
    """Steps through a program, line by line, with graph and memory.

    Shows in Jupyter, in exported pages and offline; ``text`` lists every
    step, and :meth:`save` writes ``.html`` or ``.txt``.
    """

    source: str
    frames: tuple[Frame, ...]
    notes: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """Every step in words: the line, what it did, what it printed."""
        lines = self.source.splitlines()
        told = []
        for number, frame in enumerate(self.frames, 1):
            code = _line_of(lines, frame.line)
            told.append(f"step {number}, line {frame.line}: {code}")
            told.append(f"  {frame.sentence}")
            if frame.problem:
                told.append(f"  Problem: {frame.problem}")
            told += [f"  | {p}" for p in frame.printed.splitlines()]
        told += [f"{note}." for note in self.notes]
        return legible("\n".join(told) or "no step was recorded")

    @property
    def alt(self) -> str:
        """One sentence on the whole."""
        return f"A program of {len(self.frames)} steps, with its pictures."

    @property
    def html(self) -> str:
        """The self-contained player."""
        if not self.frames:
            return f"<p>{escape(self.text)}</p>"
        return framed(
            "helpers-player", self.alt, self._first(), self._data(), _SCRIPT
        )

    # -- the parts of the page

    def _data(self) -> dict[str, Any]:
        kept = Kept()
        frames = [
            {
                "line": f.line,
                "said": f.sentence,
                "printed": f.printed,
                "problem": f.problem,
                "graph": kept.place(f.graph),
                "memory": kept.place(f.memory),
            }
            for f in self.frames
        ]
        return {
            "frames": frames,
            "pictures": kept.pictures,
            "source": self.source.splitlines(),
            "notes": list(self.notes),
            "look": {
                "mono": style.MONO,
                "here": style.STORAGE_COLOURS[3][1],
                "mark": style.STORAGE_COLOURS[3][0],
                "soft": style.SOFT_INK,
                "ink": style.INK,
                "warn": style.WARN_INK,
                "plain": style.PLAIN_FILL,
                "card": style.CARD,
            },
        }

    def _first(self) -> str:
        frame = self.frames[0]
        lines = self.source.splitlines()
        code = "\n".join(
            f"{'>' if i == frame.line else ' '} {i:3} {line}"
            for i, line in enumerate(lines, 1)
        )
        return (
            f'<pre style="margin:0 0 8px;color:{style.INK};'
            f'background:{style.CARD}">{escape(code)}</pre>'
            f"<p>{escape(frame.sentence)}</p>"
            f"{image(frame.graph)}<br>{image(frame.memory)}"
            f"<p>Step 1 of {len(self.frames)}. Stepping needs scripts: in a "
            "notebook, run the cell or trust the notebook.</p>"
        )


def _line_of(lines: list[str], number: int) -> str:
    if 0 < number <= len(lines):
        return lines[number - 1].strip()
    return ""


# Builds the controls itself, so that nothing dead is shown without scripts.
_SCRIPT = """
  function start(root) {
    root.setAttribute("data-ready", "");
    var data = JSON.parse(root.querySelector("script").textContent);
    var look = data.look, at = 0, last = data.frames.length - 1;
    var stage = root.querySelector(".stage");
    stage.textContent = "";
    // on a slide: letters that a room can read, and one picture at a time
    var slide = root.closest(".reveal"), letters = slide ? 24 : 12;
    var prints = !slide || data.frames.some(function (f) {
      return f.printed;
    });
    if (slide) {
      if (crowded()) letters = 19;
      root.style.fontSize = letters + "px";
    }
    function crowded() {  // more than seven lines of large letters
      var wide = 0, most = 0;
      data.source.forEach(function (line) {
        wide = Math.max(wide, line.length + 5);
      });
      data.frames.forEach(function (f) {
        most = Math.max(most, (f.said + f.problem + f.printed).length);
      });
      return data.source.length > 6 ||
        most > 7 * Math.max(26, 103 - 1.3 * wide);
    }
    var button_look = "font-size:" + (slide ? 19 : 15) + "px;padding:3px " +
      "12px;cursor:pointer;color:" + look.ink + ";background:" + look.card +
      ";border:1px solid " + look.soft + ";border-radius:6px";
    var title = "font-weight:bold;color:" + look.soft + ";margin:6px 0 4px";
    // above the pictures, whose height changes under the reader's mouse
    var bar = make("div", "display:flex;gap:8px;align-items:center;" +
      "margin-bottom:8px", stage);
    var columns = named("columns", "display:flex;gap:0 18px;flex-wrap:wrap",
      stage);
    var left = named("told", slide ? "flex:1 1 100%;display:flex;gap:18px;" +
      "margin-bottom:8px" : "flex:1 1 300px;min-width:0", columns);
    var right = named("pictures", "flex:2 1 640px;min-width:0", columns);
    var words = left;
    if (slide) {
      words = make("div", "flex:1 0 300px", left);
      left = make("div", "flex:0 1 auto;min-width:0", left);
      words.parentNode.insertBefore(left, words);
    } else make("div", title, left, "program");
    var code = named("program", "overflow:auto;max-height:" +
      (slide ? 206 : 340) + "px;font-family:" + look.mono + ";font-size:" +
      letters + "px;line-height:" + (slide ? 1.4 : 1.7) +
      ";white-space:pre-wrap", left);
    reachable(code);
    var rows = data.source.map(function (line, i) {
      return make("div", "padding:0 6px 0 calc(6px + 3em);text-indent:-3em;" +
        "border-left:3px solid transparent",
        code, String(i + 1).padStart(3) + "  " + line);
    });
    var said = make("div", "margin:" + (slide ? 0 : 10) + "px 0 10px;" +
      "padding:8px 10px;border-radius:6px;line-height:" +
      (slide ? 1.3 : 1.5) + ";background:" + look.plain, words);
    said.setAttribute("aria-live", "polite");
    var trouble = make("div", "margin:6px 0;color:" + look.warn, words);
    if (prints) make("div", title, words, "printed");
    var printed = make("pre", "margin:0;white-space:pre-wrap;font-size:" +
      letters + "px;background:transparent;color:" + look.ink +
      ";font-family:" + look.mono, words);
    var shown = slide && make("div", "display:flex;gap:8px", bar);
    var graph = frame("graph");
    var memory = frame("memory");
    if (slide) choose(0);
    function frame(name) {  // shrinks a picture as far as it stays readable
      if (slide) tab(name, shown.children.length);
      else make("div", title, right, name);
      var box = named("picture", slide ? "overflow:auto;height:310px" :
        "overflow-x:auto", right);
      var look_again = reachable(box);
      var img = make("img", "display:block;max-width:" +
        (slide ? "none" : "100%"), box);
      img.addEventListener("load", function () {
        var wide = img.naturalWidth;
        if (slide) img.style.width = Math.round(wide * 1.7) + "px";
        else img.style.minWidth = Math.round(wide * 0.7) + "px";
        look_again();
      });
      return img;
    }
    function named(name, css, parent) {  // for the style of a page
      var e = make("div", css, parent);
      e.className = "helpers-" + name;
      return e;
    }
    function reachable(box) {  // by key, while it scrolls
      function look_again() {
        if (box.scrollWidth > box.clientWidth ||
            box.scrollHeight > box.clientHeight) box.tabIndex = 0;
        else box.removeAttribute("tabindex");
      }
      new ResizeObserver(look_again).observe(box);
      return look_again;
    }
    function tab(name, i) {
      var b = make("button", button_look, shown, name);
      b.type = "button";
      b.addEventListener("click", function () { choose(i); });
    }
    function choose(i) {
      [graph, memory].forEach(function (img, k) {
        img.parentNode.style.display = k === i ? "block" : "none";
        shown.children[k].setAttribute("aria-pressed", k === i);
        shown.children[k].style.fontWeight = k === i ? "bold" : "normal";
      });
    }
    function button(text, label, by) {
      var b = make("button", button_look, bar, text);
      b.type = "button";
      b.setAttribute("aria-label", label);
      b.addEventListener("click", function () { show(at + by); });
      return b;
    }
    var back = button("\\u25c0", "previous step", -1);
    var next = button("\\u25b6", "next step", 1);
    var slider = make("input", "flex:1", bar);
    slider.type = "range";
    slider.min = 0;
    slider.max = last;
    slider.setAttribute("aria-label", "step");
    slider.addEventListener("input", function () { show(+slider.value); });
    var count = make("span", "min-width:90px", bar);
    data.notes.forEach(function (note) {
      make("div", "color:" + look.soft, stage, note + ".");
    });
    function picture(img, number) {
      var kept = data.pictures[number];
      img.src = address(kept[0]);
      img.alt = kept[1];
    }
    function show(number) {
      at = Math.max(0, Math.min(last, number));
      var frame = data.frames[at];
      rows.forEach(function (row, i) {
        var here = i + 1 === frame.line;
        row.style.background = here ? look.here : "transparent";
        row.style.borderLeftColor = here ? look.mark : "transparent";
        row.style.fontWeight = here ? "bold" : "normal";
        if (here) {
          row.setAttribute("aria-current", "step");
          var low = row.offsetTop - code.offsetTop;
          var end = code.scrollTop + code.clientHeight - 30;
          if (low < code.scrollTop || low > end)
            code.scrollTop = low - 100;
        } else row.removeAttribute("aria-current");
      });
      said.textContent = frame.said;
      trouble.textContent = frame.problem ? "Problem: " + frame.problem : "";
      printed.textContent = frame.printed || (prints ? "(nothing)" : "");
      picture(graph, frame.graph);
      picture(memory, frame.memory);
      slider.value = at;
      slider.setAttribute("aria-valuetext",
        "step " + (at + 1) + ", line " + frame.line);
      count.textContent = "step " + (at + 1) + " of " + (last + 1);
      back.disabled = at === 0;
      next.disabled = at === last;
      // a button that has the focus and is disabled would lose the keys
      if (document.activeElement && document.activeElement.disabled)
        root.focus({ preventScroll: true });
    }
    root.tabIndex = 0;
    root.addEventListener("keydown", function (event) {
      if (isShortcut(event)) return;
      var by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (event.key === "Home") show(0);
      else if (event.key === "End") show(last);
      else if (by && event.target.tagName === "DIV" &&
        event.target !== root) { event.stopPropagation(); return; }
      else if (by && event.target !== slider) show(at + by);
      else if (event.key === "Tab" || event.key === "Escape") return;
      else { event.stopPropagation(); return; }
      event.preventDefault();
      event.stopPropagation();
    });
    show(0);
  }
  document.querySelectorAll(".helpers-player:not([data-ready])")
    .forEach(start);
"""
