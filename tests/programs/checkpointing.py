"""Keep fewer intermediate results: compute them again during backward."""

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)
blocks = nn.ModuleList(
    nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Dropout(0.1))
    for _ in range(3)
)
head = nn.Linear(8, 1)
x = torch.randn(4, 8, requires_grad=True)
h = x
for block in blocks:
    h = checkpoint(block, h, use_reentrant=False)
loss = head(h).square().mean()
loss.backward()
