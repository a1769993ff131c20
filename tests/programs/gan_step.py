"""One step of a GAN: two networks, two losses, two optimizers."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
generator = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
critic = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
optimizer_g = torch.optim.Adam(generator.parameters(), lr=2e-4)
optimizer_c = torch.optim.Adam(critic.parameters(), lr=2e-4)
yes, no = torch.ones(8, 1), torch.zeros(8, 1)

real = torch.randn(8, 2) + 3
fake = generator(torch.randn(8, 4))

optimizer_c.zero_grad()
scores_real = critic(real)
scores_fake = critic(fake.detach())
loss_c = F.binary_cross_entropy_with_logits(scores_real, yes)
loss_c = loss_c + F.binary_cross_entropy_with_logits(scores_fake, no)
loss_c.backward()
optimizer_c.step()

optimizer_g.zero_grad()
loss_g = F.binary_cross_entropy_with_logits(critic(fake), yes)
loss_g.backward()
optimizer_g.step()
