"""A DQN's step: the goal comes from a target network that lags behind."""

import copy

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
online = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
target = copy.deepcopy(online)
optimizer = torch.optim.Adam(online.parameters(), lr=0.01)

states, following = torch.randn(2, 8, 4)
actions = torch.randint(2, (8, 1))
rewards, ended = torch.randn(8), torch.zeros(8)
for _ in range(2):
    values = online(states).gather(1, actions).squeeze(1)
    with torch.no_grad():
        best = target(following).max(dim=1).values
        goal = rewards + 0.99 * (1 - ended) * best
    loss = F.smooth_l1_loss(values, goal)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for t, o in zip(target.parameters(), online.parameters(), strict=True):
            t.lerp_(o, 0.05)
