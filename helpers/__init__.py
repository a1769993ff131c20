"""Pictures of what shares memory and where the gradient stops, from live code.

>>> import torch
>>> from helpers import draw_memory
>>> x = torch.ones(2)
>>> y = x.view(2, 1)
>>> draw_memory(x, y).alt
'Memory of 2 tensors on 1 storage. x and y share s0.'
"""

from .collecting import paused

with paused():  # torch has left it much to go over, which takes as long
    from .asking import who_learns
    from .choosing import what_if
    from .drawing import draw_graph, draw_memory, facts
    from .exercises import arrange, check, expect_error, predict
    from .magics import load_ipython_extension
    from .plots import plot_bars, plot_lines
    from .watching import record, record_code

__all__ = [
    "arrange",
    "check",
    "draw_graph",
    "draw_memory",
    "expect_error",
    "facts",
    "load_ipython_extension",
    "plot_bars",
    "plot_lines",
    "predict",
    "record",
    "record_code",
    "what_if",
    "who_learns",
]
