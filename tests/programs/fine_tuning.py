"""Fine-tune a small network for new classes: first the head, then more."""

import copy

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(3)


class Net(nn.Module):
    """A backbone for pictures, and a head for their classes."""

    def __init__(self, classes):
        super().__init__()
        self.layer1 = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1, bias=False),
            nn.BatchNorm2d(8),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(2),
        )
        self.layer2 = nn.Sequential(
            nn.Conv2d(8, 16, 3, padding=1, bias=False),
            nn.BatchNorm2d(16),
            nn.ReLU(inplace=True),
            nn.AdaptiveAvgPool2d(1),
        )
        self.dropout = nn.Dropout(0.2)
        self.fc = nn.Linear(16, classes)

    def forward(self, x):
        x = self.layer2(self.layer1(x))
        return self.fc(self.dropout(torch.flatten(x, 1)))


def sample(count):
    """Make pictures whose class is their brightest channel."""
    labels = torch.randint(3, (count,))
    pictures = torch.randn(count, 3, 8, 8)
    for picture, label in zip(pictures, labels, strict=True):
        picture[label] += 1.0
    return TensorDataset(pictures, labels)


def train_model(model, criterion, optimizer, scheduler, loaders, epochs):
    """Train, look after each epoch, and keep the best weights."""
    best, best_weights = 0.0, copy.deepcopy(model.state_dict())
    for epoch in range(epochs):
        for phase in ("train", "val"):
            model.train(phase == "train")
            total_loss, right, count = 0.0, 0, 0
            for inputs, labels in loaders[phase]:
                optimizer.zero_grad()
                with torch.set_grad_enabled(phase == "train"):
                    outputs = model(inputs)
                    _, predicted = torch.max(outputs, 1)
                    loss = criterion(outputs, labels)
                    if phase == "train":
                        loss.backward()
                        optimizer.step()
                total_loss += loss.item() * inputs.size(0)
                right += torch.sum(predicted == labels.data).item()
                count += inputs.size(0)
            if phase == "train":
                scheduler.step()
            accuracy = right / count
            print(f"{epoch} {phase}: {total_loss / count:.3f} {accuracy:.2f}")
            if phase == "val" and accuracy >= best:
                best = accuracy
                best_weights = copy.deepcopy(model.state_dict())
    model.load_state_dict(best_weights)
    return model


before = Net(classes=10)  # what another task has left
model = Net(classes=10)
model.load_state_dict(before.state_dict())
for param in model.parameters():
    param.requires_grad = False
model.fc = nn.Linear(model.fc.in_features, 3)

loaders = {
    "train": DataLoader(sample(32), batch_size=8, shuffle=True),
    "val": DataLoader(sample(16), batch_size=8),
}
criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
optimizer = torch.optim.SGD(model.fc.parameters(), lr=0.1, momentum=0.9)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
model = train_model(model, criterion, optimizer, scheduler, loaders, 1)

for param in model.layer2.parameters():
    param.requires_grad = True
optimizer = torch.optim.AdamW(
    [
        {"params": model.layer2.parameters(), "lr": 1e-3},
        {"params": model.fc.parameters()},
    ],
    lr=1e-2,
)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
model = train_model(model, criterion, optimizer, scheduler, loaders, 1)
