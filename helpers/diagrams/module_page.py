"""The page of a graph by modules: a script that opens and folds its boxes.

It gets every view as it was laid out at first.  When a box inside changes its
size, x and y of the view are stretched between the box's old sides, so that
the order of all boxes stays and none comes to overlap.
"""

from __future__ import annotations

from typing import Any

from . import style, svg
from .diagram import Diagram
from .page import framed, image

__all__ = ["module_page"]


def module_page(picture: Diagram, data: dict[str, Any]) -> str:
    """Return HTML that shows a picture, and opens its modules by click.

    ``data`` has "views" (size, title, boxes, edges each), "open" (the numbers
    of those that are open at first), "remarks" and "edge" (the margin).
    """
    look = {
        "sheet": svg.sheet(),
        "card": style.CARD,
        "cardEdge": style.CARD_EDGE,
        "frameEdge": style.GROUP_EDGE,
        "fill": style.GROUP_FILL,
        "ink": style.INK,
        "soft": style.SOFT_INK,
    }
    stage = f'<div style="overflow:auto;max-height:900px">{image(picture)}'
    return framed(
        "helpers-modules",
        picture.alt,
        f"{stage}</div>",
        {**data, "alt": picture.alt, "look": look},
        _SCRIPT,
    )


_SCRIPT = """
  function start(root) {
    root.setAttribute("data-ready", "");
    var data = JSON.parse(root.querySelector("script").textContent);
    var views = data.views, look = data.look, open = {};
    var depth = [], edge = data.edge, room = data.room, bar = data.title;
    views.forEach(function (view, n) {
      view.boxes.forEach(function (b) {
        if (b[7] > 0) depth[b[7]] = (depth[n] || 0) + 1;
      });
    });
    function first() {
      open = { 0: true };
      data.open.forEach(function (n) { open[n] = true; });
    }
    first();

    function short(x) { return String(Math.round(x * 10) / 10); }
    function isOpen(box) { return box[7] > 0 && open[box[7]]; }
    // How much a view grows along an axis between two places, from a list of
    // [from, to, by what factor].
    function stretch(spans, x) {
      var sum = x;
      spans.forEach(function (s) {
        sum += (Math.min(Math.max(x, s[0]), s[1]) - s[0]) * (s[2] - 1);
      });
      return sum;
    }
    // Of spans that overlap, the largest factor counts; only what is in no
    // span that must keep its size may shrink.
    function spansOf(parts) {
      var cuts = [];
      parts.forEach(function (p) { cuts.push(p[0], p[1]); });
      cuts.sort(function (a, b) { return a - b; });
      var spans = [];
      for (var i = 0; i + 1 < cuts.length; i++) {
        if (cuts[i + 1] - cuts[i] < 1e-6) continue;
        var middle = (cuts[i] + cuts[i + 1]) / 2, most = 0;
        parts.forEach(function (p) {
          if (p[0] < middle && middle < p[1]) most = Math.max(most, p[2]);
        });
        if (most && most !== 1) spans.push([cuts[i], cuts[i + 1], most]);
      }
      return spans;
    }
    // Sizes and places of a view, with all that is open in it.
    function place(n) {
      var view = views[n], inner = {};
      var sizes = view.boxes.map(function (b) {
        if (!isOpen(b)) return [b[4], b[5]];
        var got = inner[b[7]] = place(b[7]);
        return [Math.max(got.size[0], views[b[7]].least) + 2 * room,
          got.size[1] + bar + room];
      });
      var axes = [0, 1].map(function (axis) {
        return spansOf(view.boxes.map(function (b, i) {
          var half = b[2 + axis] / 2;
          return [b[axis] - half, b[axis] + half,
            sizes[i][axis] / b[2 + axis]];
        }));
      });
      function map(point) {
        return [stretch(axes[0], point[0]), stretch(axes[1], point[1])];
      }
      // The middle of a box's new room; of one that keeps its size too.
      function middle(b) {
        var low = map([b[0] - b[2] / 2, b[1] - b[3] / 2]);
        var high = map([b[0] + b[2] / 2, b[1] + b[3] / 2]);
        return [(low[0] + high[0]) / 2, (low[1] + high[1]) / 2];
      }
      return { size: map(view.size), sizes: sizes, map: map, inner: inner,
        middles: view.boxes.map(middle) };
    }
    // Where an end of an edge goes: it stays on the side of its box.
    function pinned(view, at, i, point) {
      var b = view.boxes[i], m = at.middles[i], s = at.sizes[i];
      return [m[0] + (point[0] - b[0]) * s[0] / b[2],
        m[1] + (point[1] - b[1]) * s[1] / b[3]];
    }
    function moved(x, y, what) {
      return '<g transform="translate(' + short(x) + " " + short(y) + ')">' +
        what + "</g>";
    }
    function drawEdge(view, at, e, left, top) {
      var points = e[2].map(function (p, k) {
        var q = k === 0 ? pinned(view, at, e[0], p) :
          k === e[2].length - 1 ? pinned(view, at, e[1], p) : at.map(p);
        return [q[0] + left, q[1] + top];
      });
      var texts = points.map(function (p) {
        return short(p[0]) + " " + short(p[1]);
      });
      var last = points[points.length - 1], back = points[points.length - 2];
      var angle = Math.atan2(last[1] - back[1], last[0] - back[0]);
      var corners = [0, 2.75, -2.75].map(function (turn) {
        var far = turn ? 8.05 : 0;
        return short(last[0] + far * Math.cos(angle + turn)) + "," +
          short(last[1] + far * Math.sin(angle + turn));
      });
      var part = '<path d="M' + texts[0] + (points.length > 2 ? "C" : "L") +
        texts.slice(1).join(" ") + '" fill="none" stroke="' + e[3] +
        '" stroke-width="' + e[4] + '"' +
        (e[5] ? ' stroke-dasharray="5 3"' : "") + '/><polygon points="' +
        corners.join(" ") + '" fill="' + e[3] + '"/>';
      if (e[6]) {
        var p = at.map(e[7]);
        part += moved(left + p[0] - e[7][0], top + p[1] - e[7][1], e[6]);
      }
      return part;
    }
    function draw(n, at, left, top, buttons) {
      var view = views[n], out = [];
      view.edges.forEach(function (e) {
        out.push(drawEdge(view, at, e, left, top));
      });
      view.boxes.forEach(function (b, i) {
        var w = at.sizes[i][0], h = at.sizes[i][1];
        var x = left + at.middles[i][0] - w / 2;
        var y = top + at.middles[i][1] - h / 2;
        if (isOpen(b)) {
          var inner = at.inner[b[7]], inside = views[b[7]];
          out.push(moved(x, y, '<rect x="0" y="0" width="' + short(w) +
            '" height="' + short(h) + '" rx="6" fill="' +
            (b[7] % 2 ? look.fill : look.card) + '" stroke="' +
            look.frameEdge + '"/>' + inside.head));
          buttons.push([x, y, w, bar, b[7]]);
          out.push(draw(b[7], inner, x + (w - inner.size[0]) / 2, y + bar,
            buttons));
        } else {
          out.push(moved(x, y, b[6]));
          if (b[7] > 0) buttons.push([x, y, w, h, b[7]]);
        }
      });
      return out.join("");
    }

    var stage = root.querySelector(".stage");
    stage.textContent = "";
    var slide = root.closest(".reveal");
    var row = make("div", "display:flex;gap:8px;margin-bottom:8px;" +
      "flex-wrap:wrap;align-items:center", stage);
    function command(text, work) {
      var b = make("button", "font:inherit;padding:3px 10px;cursor:pointer;" +
        "border:1px solid " + look.cardEdge + ";border-radius:5px;" +
        "background:" + look.fill + ";color:" + look.ink, row, text);
      b.type = "button";
      b.addEventListener("click", function () { work(); show(); });
    }
    command("Open one level more", function () {
      var closed = views.map(function (v, n) { return n; }).filter(
        function (n) { return n && !open[n]; });
      var next = Math.min.apply(null, closed.map(
        function (n) { return depth[n]; }));
      closed.forEach(function (n) { if (depth[n] === next) open[n] = true; });
    });
    command("Fold all", function () { open = { 0: true }; });
    command("As at first", first);
    var said = make("span", "color:" + look.soft, row);
    said.setAttribute("aria-live", "polite");
    var scroll = make("div", "overflow:auto;max-height:" +
      (slide ? 480 : 900) + "px", stage);
    var card = make("div", "position:relative;width:max-content;" +
      "margin:0 auto", scroll);
    var img = make("img", "display:block;max-width:none", card);
    img.alt = data.alt;

    function show(again) {
      var at = place(0), buttons = [];
      var drawn = draw(0, at, edge, edge, buttons);
      var w = Math.ceil(Math.max(at.size[0], data.remarksWide) + 2 * edge);
      var h = Math.ceil(at.size[1] + data.remarksTall + edge + 24);
      img.width = w; img.height = h;
      img.src = address('<svg xmlns="http://www.w3.org/2000/svg" ' +
        'viewBox="0 0 ' + w + " " + h + '" width="' + w + '" height="' + h +
        '" xml:space="preserve"><style>' + look.sheet + '</style><rect ' +
        'width="' + w + '" height="' + h + '" fill="' + look.card + '"/>' +
        drawn + moved(edge, edge + at.size[1] + 24, data.remarks) + "</svg>");
      card.querySelectorAll("button").forEach(function (b) { b.remove(); });
      buttons.forEach(function (b) {
        var button = make("button", "position:absolute;left:" + short(b[0]) +
          "px;top:" + short(b[1]) + "px;width:" + short(b[2]) + "px;height:" +
          short(b[3]) + "px;background:transparent;border:0;padding:0;" +
          "border-radius:6px;cursor:pointer;color:transparent", card);
        button.type = "button";
        button.setAttribute("aria-expanded", String(!!open[b[4]]));
        button.setAttribute("aria-label", views[b[4]].name);
        button.title = open[b[4]] ? "Fold" : "Open";
        button.addEventListener("click", function () {
          open[b[4]] = !open[b[4]];
          said.textContent = views[b[4]].name +
            (open[b[4]] ? " is open" : " is folded");
          show(b[4]);
        });
        if (b[4] === again) button.focus({ preventScroll: true });
      });
      if (scroll.scrollWidth > scroll.clientWidth ||
          scroll.scrollHeight > scroll.clientHeight) scroll.tabIndex = 0;
    }
    root.addEventListener("keydown", function (event) {
      if (event.key !== "Tab" && event.key !== "Escape" &&
          !isShortcut(event)) event.stopPropagation();
    });
    show();
  }
  document.querySelectorAll(".helpers-modules:not([data-ready])")
    .forEach(start);
"""
