"""Adapt a frozen network by a narrow way beside each of its layers."""

import torch
from torch import nn
from torch.nn import functional as F


class Adapted(nn.Module):
    """A frozen Linear, and two thin matrices that learn the difference."""

    def __init__(self, base, rank=2, scale=1.0):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.lora_a = nn.Parameter(torch.randn(rank, base.in_features) / 10)
        self.lora_b = nn.Parameter(torch.zeros(base.out_features, rank))
        self.scale = scale

    def forward(self, x):
        return self.base(x) + self.scale * (x @ self.lora_a.T @ self.lora_b.T)


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 12), nn.Tanh(), nn.Linear(12, 3))
net[0] = Adapted(net[0])
net[2] = Adapted(net[2])
trained = [p for p in net.parameters() if p.requires_grad]
optimizer = torch.optim.AdamW(trained, lr=0.01)

x = torch.randn(5, 6)
labels = torch.randint(3, (5,))
for _ in range(3):
    loss = F.cross_entropy(net(x), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
