"""Two networks against each other: make pictures of bars that look real."""

import torch
from torch import nn

torch.manual_seed(1)
LATENT, SIDE, BATCH, EPOCHS = 8, 8, 16, 2


def bars(count):
    """Draw pictures with one bright row or column each."""
    pictures = torch.full((count, 1, SIDE, SIDE), -1.0)
    for picture in pictures:
        place = torch.randint(SIDE, ()).item()
        if torch.rand(()).item() < 0.5:
            picture[0, place, :] = 1.0
        else:
            picture[0, :, place] = 1.0
    return pictures


class Generator(nn.Module):
    """Noise in, a picture out."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.ConvTranspose2d(LATENT, 16, 4, bias=False),
            nn.BatchNorm2d(16),
            nn.ReLU(True),
            nn.ConvTranspose2d(16, 1, 4, stride=2, padding=1),
            nn.Tanh(),
        )

    def forward(self, z):
        return self.net(z)


class Discriminator(nn.Module):
    """A picture in, how real it looks out."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, 16, 4, stride=2, padding=1, bias=False),
            nn.BatchNorm2d(16),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(16, 1, 4),
        )

    def forward(self, x):
        return self.net(x).view(-1)


def spread(module):
    """Begin with small weights, as is usual for these networks."""
    if isinstance(module, (nn.Conv2d, nn.ConvTranspose2d)):
        nn.init.normal_(module.weight, 0.0, 0.02)
    elif isinstance(module, nn.BatchNorm2d):
        nn.init.normal_(module.weight, 1.0, 0.02)
        nn.init.zeros_(module.bias)


netG = Generator().apply(spread)
netD = Discriminator().apply(spread)
criterion = nn.BCEWithLogitsLoss()
optimizerD = torch.optim.Adam(netD.parameters(), lr=2e-3, betas=(0.5, 0.999))
optimizerG = torch.optim.Adam(netG.parameters(), lr=2e-3, betas=(0.5, 0.999))
fixed_noise = torch.randn(4, LATENT, 1, 1)
data = bars(3 * BATCH)
G_losses, D_losses = [], []

for epoch in range(EPOCHS):
    for real in data.split(BATCH):
        # the discriminator: real pictures are 1, made ones are 0
        netD.zero_grad()
        label = torch.full((real.size(0),), 1.0)
        output = netD(real)
        errD_real = criterion(output, label)
        errD_real.backward()
        D_x = output.mean().item()

        noise = torch.randn(real.size(0), LATENT, 1, 1)
        fake = netG(noise)
        label.fill_(0.0)
        output = netD(fake.detach())
        errD_fake = criterion(output, label)
        errD_fake.backward()
        D_G_z1 = output.mean().item()
        errD = errD_real + errD_fake
        optimizerD.step()

        # the generator: its pictures should pass as real
        netG.zero_grad()
        label.fill_(1.0)
        output = netD(fake)
        errG = criterion(output, label)
        errG.backward()
        D_G_z2 = output.mean().item()
        optimizerG.step()

        D_losses.append(errD.item())
        G_losses.append(errG.item())
    print(f"epoch {epoch}: D {D_losses[-1]:.3f}, G {G_losses[-1]:.3f}")
    with torch.no_grad():
        pictures = netG(fixed_noise).detach()
