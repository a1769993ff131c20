"""A penalty on the length of a gradient: the gradient has a graph too."""

import torch
from torch import nn

torch.manual_seed(0)
critic = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
x = torch.randn(5, 3, requires_grad=True)
score = critic(x).sum()
(slope,) = torch.autograd.grad(score, x, create_graph=True)
penalty = (slope.norm(dim=1) - 1).square().mean()
loss = score / 5 + 10 * penalty
loss.backward()
