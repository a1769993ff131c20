"""Add up the gradients of four small batches before each step."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x, y = torch.randn(16, 5), torch.randn(16, 1)
together = 4
for i, (a, b) in enumerate(zip(x.split(2), y.split(2), strict=True)):
    loss = F.mse_loss(net(a), b) / together
    loss.backward()
    if (i + 1) % together == 0:
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
