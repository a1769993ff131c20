"""Mixed precision on the CPU: half as many bits where that is enough."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
net = nn.Sequential(
    nn.Linear(6, 16), nn.LayerNorm(16), nn.GELU(), nn.Linear(16, 3)
)
optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
x, labels = torch.randn(8, 6), torch.randint(3, (8,))
for _ in range(2):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        scores = net(x)
        loss = F.cross_entropy(scores.float(), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
