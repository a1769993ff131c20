"""What a recording touches, to be compared before and after."""

from __future__ import annotations

import gc
import sys

import torch
from torch.nn.modules import module as nn_module
from torch.optim import optimizer as torch_optimizer


def touched():
    """Everything of torch's and Python's that a recording touches."""
    return {
        "function modes": torch._C._len_torch_function_stack(),
        "function enabled": torch._C._is_torch_function_enabled(),
        "dispatch modes": torch._C._len_torch_dispatch_stack(),
        "pre": list(nn_module._global_forward_pre_hooks),
        "post": list(nn_module._global_forward_hooks),
        "always": list(nn_module._global_forward_hooks_always_called),
        "step pre": list(torch_optimizer._global_optimizer_pre_hooks),
        "step post": list(torch_optimizer._global_optimizer_post_hooks),
        "tracer": sys.gettrace(),
        "frame's tracer": sys._getframe().f_back.f_trace,
        "profiler": sys.getprofile(),
        "stdout": sys.stdout,
        "collector": gc.isenabled(),
        "grad mode": torch.is_grad_enabled(),
    }
