"""Two small plots with the course's look, a text twin and an alt text."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Mapping
from typing import Any

from .diagrams import style
from .diagrams.diagram import Diagram
from .diagrams.svg import legible

__all__ = ["picture_of", "plot_bars", "plot_lines"]

_MARKS = "os^Dv"  # a line is told by its mark, not only by its colour
_DASHES = ("-", "--", "-.", ":")


def _written(value: Any) -> str:
    """A count as it is, other numbers with two decimals."""
    return str(value) if type(value) is int else f"{_number(value):.2f}"


def _number(value: Any) -> float:
    """A number, or a tensor with one element, as a float."""
    return float(value.item() if hasattr(value, "item") else value)


def plot_bars(values: Mapping[str, Any], title: str) -> Diagram:
    """Draw a bar for each name; all but counts are rounded to two decimals.

    >>> print(plot_bars({"w": 0.3, "b": 0.0}, "moved"))
    moved
      w: 0.30
      b: 0.00
    """
    written = {name: _written(v) for name, v in values.items()}

    def fill(axes: Any) -> None:
        places = range(len(values))[::-1]
        heights = [_number(v) for v in values.values()]
        axes.barh(places, heights, color=style.BLUE, height=0.6)
        for place, height, text in zip(
            places, heights, written.values(), strict=True
        ):
            axes.annotate(
                text,
                (height, place),
                (4 if height >= 0 else -4, 0),
                textcoords="offset points",
                va="center",
                ha="left" if height >= 0 else "right",
            )
        axes.set_yticks(places, list(written))
        axes.margins(x=0.15)

    lines = [title, *(f"  {name}: {text}" for name, text in written.items())]
    pairs = ", ".join(f"{name} {text}" for name, text in written.items())
    height = 1.0 + 0.36 * len(values)
    return _diagram(
        fill, height, title, "\n".join(lines), f"{title}: {pairs}."
    )


def plot_lines(
    series: Mapping[str, Iterable[Any]], title: str, x: str = "step"
) -> Diagram:
    """Draw a line for each name over the steps 0, 1, 2, …

    >>> print(plot_lines({"loss": [4.0, 1.0, 0.25]}, "loss"))
    loss
      loss: 4.00 at step 0, 0.25 at step 2
    """
    numbers = {name: [_number(v) for v in row] for name, row in series.items()}

    def fill(axes: Any) -> None:
        colours = [line for line, _ in style.STORAGE_COLOURS]
        for i, (name, row) in enumerate(numbers.items()):
            axes.plot(
                row,
                label=name,
                color=colours[i % len(colours)],
                marker=_MARKS[i % len(_MARKS)],
                linestyle=_DASHES[i % len(_DASHES)],
                markevery=max(len(row) // 8, 1),
                clip_on=False,
            )
        axes.set_xlabel(x)
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.set_ylim(bottom=min(0.0, *(min(r) for r in numbers.values())))
        axes.legend(frameon=False)

    ends = [
        f"{name}: {row[0]:.2f} at {x} 0, {row[-1]:.2f} at {x} {len(row) - 1}"
        for name, row in numbers.items()
    ]
    text = "\n".join([title, *(f"  {end}" for end in ends)])
    return _diagram(fill, 3.2, title, text, f"{title}: {'; '.join(ends)}.")


def _diagram(
    fill: Any, height: float, title: str, text: str, alt: str
) -> Diagram:
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    look: Any = {
        "svg.fonttype": "none",
        "font.family": "sans-serif",
        "font.sans-serif": ["DejaVu Sans"],
        "axes.spines.top": False,
        "axes.spines.right": False,
        "text.parse_math": False,
    }
    with rc_context(look):
        figure = Figure(figsize=(7, height), layout="constrained")
        axes = figure.add_subplot()
        axes.set_title(title, fontsize=12)
        fill(axes)
        svg = _svg_of(figure)
    return Diagram(svg, legible(text), legible(alt))


def _svg_of(figure: Any) -> str:
    """Return a figure as SVG that is the same each time."""
    from matplotlib import rc_context

    file = io.StringIO()
    with rc_context({"svg.hashsalt": "helpers"}):
        figure.savefig(file, format="svg", metadata={"Date": None})
    svg = file.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg, flags=re.DOTALL)
    return re.sub(r"<!--.*?-->\s*", "", svg, flags=re.DOTALL)


def picture_of(figure: Any) -> Diagram:
    """Return a matplotlib figure as a picture; its titles are its text."""
    titles = [axes.get_title() for axes in figure.axes if axes.get_title()]
    text = f"A plot: {', '.join(titles)}" if titles else "A plot"
    return Diagram(_svg_of(figure), legible(text), legible(f"{text}."))
