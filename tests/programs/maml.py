"""Learn a beginning from which one step of learning goes far (MAML)."""

import torch
from torch import nn
from torch.func import functional_call
from torch.nn import functional as F

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
start = dict(net.named_parameters())
loss = torch.zeros(())
for phase in (0.0, 1.0):
    x = torch.linspace(-1, 1, 10).unsqueeze(1)
    y = torch.sin(3 * x + phase)
    inner = F.mse_loss(functional_call(net, start, (x[::2],)), y[::2])
    slopes = torch.autograd.grad(inner, start.values(), create_graph=True)
    moved = {
        name: w - 0.1 * g
        for (name, w), g in zip(start.items(), slopes, strict=True)
    }
    loss = loss + F.mse_loss(functional_call(net, moved, (x[1::2],)), y[1::2])
optimizer.zero_grad()
loss.backward()
optimizer.step()
