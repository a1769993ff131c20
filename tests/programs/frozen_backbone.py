"""Train a new head on a backbone that stays as it is."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
backbone = nn.Sequential(
    nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1)
)
head = nn.Linear(8, 4)
for p in backbone.parameters():
    p.requires_grad = False
backbone.eval()

optimizer = torch.optim.AdamW(head.parameters(), lr=0.01)
images = torch.randn(8, 3, 16, 16)
labels = torch.randint(4, (8,))
for _ in range(2):
    features = backbone(images).flatten(1)
    loss = F.cross_entropy(head(features), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
