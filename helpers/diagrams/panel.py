"""Results of a function for each choice → a panel that shows the one chosen.

Everything is there beforehand, so it answers without a kernel; without
scripts it shows the first choice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from . import style
from .diagram import Diagram
from .page import Kept, Page, framed, image
from .svg import escape, legible

__all__ = ["Choice", "Panel"]


@dataclass(frozen=True)
class Choice:
    """What can be chosen: ``kind`` is "switch", "buttons" or "slider"."""

    name: str
    kind: str
    values: tuple[Any, ...]


@dataclass(frozen=True, repr=False)
class Panel(Page):
    """What a function prints and returns, for each combination of choices.

    ``results`` stand in the order of the combinations, the last choice
    changing first; each is a tuple of texts and pictures.
    """

    title: str
    choices: tuple[Choice, ...]
    results: tuple[tuple[str | Diagram, ...], ...]

    @property
    def alt(self) -> str:
        """One sentence on the whole."""
        names = ", ".join(choice.name for choice in self.choices)
        return f"{self.title}, for each choice of {names}."

    @property
    def text(self) -> str:
        """Every combination, with what there is to see."""
        told = []
        for number, result in enumerate(self.results):
            told.append(self.label(number))
            for part in result:
                shown = part if isinstance(part, str) else part.text
                told += [f"  {line}" for line in shown.splitlines()]
        return legible("\n".join(told))

    def label(self, number: int) -> str:
        """Say which combination has a number: ``detach=False, lr=0.1``."""
        words = []
        for choice in reversed(self.choices):
            number, place = divmod(number, len(choice.values))
            words.append(f"{choice.name}={choice.values[place]}")
        return ", ".join(reversed(words))

    @property
    def html(self) -> str:
        """The self-contained panel."""
        first = "".join(
            f"<pre>{escape(part)}</pre>"
            if isinstance(part, str)
            else image(part)
            for part in self.results[0]
        )
        stage = (
            f"<p><b>{escape(self.label(0))}</b></p>{first}"
            "<p>Choosing needs scripts: in a notebook, run the cell or trust "
            "the notebook.</p>"
        )
        data = self._data()
        return framed("helpers-panel", self.alt, stage, data, _SCRIPT)

    def _data(self) -> dict[str, Any]:
        kept = Kept()
        results = [
            [
                part if isinstance(part, str) else kept.place(part)
                for part in result
            ]
            for result in self.results
        ]
        return {
            "title": self.title,
            "choices": [
                {
                    "name": choice.name,
                    "kind": choice.kind,
                    "values": [str(value) for value in choice.values],
                }
                for choice in self.choices
            ],
            "results": results,
            "labels": [self.label(i) for i in range(len(results))],
            "pictures": kept.pictures,
            "look": {
                "mono": style.MONO,
                "ink": style.INK,
                "plain": style.PLAIN_FILL,
            },
        }


# The controls are the browser's own, so every key works as everywhere.
_SCRIPT = """
  var panels = 0;
  function start(root) {
    root.setAttribute("data-ready", "");
    var data = JSON.parse(root.querySelector("script").textContent);
    var look = data.look, chosen = data.choices.map(function () { return 0; });
    var group = "helpers-panel-" + Date.now() + "-" + panels++;
    var stage = root.querySelector(".stage");
    stage.textContent = "";
    // on a slide: letters that a room can read
    var slide = root.closest(".reveal"), letters = slide ? 24 : 13;
    if (slide) root.style.fontSize = letters + "px";
    else make("div", "font-weight:bold;margin-bottom:8px", stage, data.title);
    var bar = make("div", "display:flex;gap:10px 24px;flex-wrap:wrap;" +
      "align-items:center;padding:8px 10px;border-radius:6px;background:" +
      look.plain, stage);
    var mono = "font-family:" + look.mono + ";color:" + look.ink;
    data.choices.forEach(function (choice, i) {
      var box = make("div", "display:flex;gap:8px;align-items:center", bar);
      var add = { "switch": addSwitch, buttons: addButtons }[choice.kind];
      (add || addSlider)(choice, i, box);
    });
    function addSwitch(choice, i, box) {
      var label = make("label", mono + ";cursor:pointer", box);
      var input = make("input", "width:16px;height:16px;" +
        "vertical-align:-3px;margin-right:6px", label);
      input.type = "checkbox";
      label.appendChild(document.createTextNode(choice.name));
      var off = choice.values[0] === "True" ? 1 : 0;
      input.checked = off === 1;
      input.addEventListener("change", function () {
        show(i, input.checked ? 1 - off : off);
      });
    }
    function addButtons(choice, i, box) {
      box.setAttribute("role", "radiogroup");
      box.setAttribute("aria-label", choice.name);
      make("span", mono, box, choice.name + ":");
      choice.values.forEach(function (value, k) {
        var label = make("label", mono + ";cursor:pointer", box);
        var input = make("input", "margin-right:4px", label);
        input.type = "radio";
        input.name = group + "-" + i;
        input.checked = k === 0;
        label.appendChild(document.createTextNode(value));
        input.addEventListener("change", function () { show(i, k); });
      });
    }
    function addSlider(choice, i, box) {
      var label = make("label", mono, box, choice.name + " ");
      var input = make("input", "vertical-align:middle", label);
      input.type = "range";
      input.min = 0;
      input.max = choice.values.length - 1;
      input.value = 0;
      var value = make("span", mono + ";min-width:48px", box,
        choice.values[0]);
      input.addEventListener("input", function () {
        value.textContent = choice.values[+input.value];
        input.setAttribute("aria-valuetext", choice.values[+input.value]);
        show(i, +input.value);
      });
      input.setAttribute("aria-valuetext", choice.values[0]);
    }
    var said = make("div", mono + ";margin:8px 0;font-weight:bold", stage);
    said.setAttribute("aria-live", "polite");
    var result = make("div", "overflow:auto" +
      (slide ? ";max-height:450px" : ""), stage);
    result.className = "helpers-result";
    new ResizeObserver(reach).observe(result);
    function reach() {  // by key, while it scrolls
      if (result.scrollWidth > result.clientWidth ||
          result.scrollHeight > result.clientHeight) result.tabIndex = 0;
      else result.removeAttribute("tabindex");
    }
    function show(i, k) {
      if (i !== undefined) chosen[i] = k;
      var number = 0;
      data.choices.forEach(function (choice, j) {
        number = number * choice.values.length + chosen[j];
      });
      said.textContent = data.labels[number];
      result.textContent = "";
      data.results[number].forEach(function (part) {
        if (typeof part === "string") {
          make("pre", mono + ";margin:6px 0;white-space:pre-wrap;" +
            "background:transparent;font-size:" + letters + "px",
            result, part);
          return;
        }
        var kept = data.pictures[part];
        var img = make("img", "max-width:100%;display:block;margin:6px 0",
          result);
        img.addEventListener("load", function () {
          var wide = img.naturalWidth;
          if (slide) {
            img.style.maxWidth = "none";
            // a plot has larger letters than our own pictures
            var by = kept[0].indexOf('id="figure_1"') > 0 ? 1.4 : 1.7;
            img.style.width = Math.round(wide * by) + "px";
          } else img.style.minWidth = Math.round(wide * 0.7) + "px";
          reach();
        });
        img.alt = kept[1];
        img.src = address(kept[0]);
      });
    }
    root.addEventListener("keydown", function (event) {
      if (event.key !== "Tab" && event.key !== "Escape" &&
          !isShortcut(event)) event.stopPropagation();
    });
    show();
  }
  document.querySelectorAll(".helpers-panel:not([data-ready])")
    .forEach(start);
"""
