"""REINFORCE with a learned baseline, in a small world of our own."""

import torch
from torch import nn
from torch.distributions import Categorical
from torch.nn import functional as F

torch.manual_seed(2)


class Corridor:
    """Walk right along six places; each step costs, the end pays."""

    length = 6
    longest = 12

    def reset(self):
        self.place, self.steps = 0, 0
        return self.look()

    def look(self):
        state = torch.zeros(self.length)
        state[self.place] = 1.0
        return state

    def step(self, action):
        self.steps += 1
        move = 1 if action == 1 else -1
        self.place = min(max(self.place + move, 0), self.length - 1)
        arrived = self.place == self.length - 1
        reward = 1.0 if arrived else -0.05
        return self.look(), reward, arrived or self.steps >= self.longest


class Policy(nn.Module):
    """What to do, and how good the place is."""

    def __init__(self, places, hidden=16):
        super().__init__()
        self.body = nn.Linear(places, hidden)
        self.action_head = nn.Linear(hidden, 2)
        self.value_head = nn.Linear(hidden, 1)

    def forward(self, x):
        x = F.relu(self.body(x))
        return F.softmax(self.action_head(x), dim=-1), self.value_head(x)


env = Corridor()
policy = Policy(env.length)
optimizer = torch.optim.Adam(policy.parameters(), lr=0.02)
gamma = 0.95
running = 0.0

for episode in range(4):
    state, done = env.reset(), False
    log_probs, values, rewards = [], [], []
    while not done:
        probs, value = policy(state)
        chance = Categorical(probs)
        action = chance.sample()
        log_probs.append(chance.log_prob(action))
        values.append(value)
        state, reward, done = env.step(action.item())
        rewards.append(reward)

    returns, total = [], 0.0
    for reward in reversed(rewards):
        total = reward + gamma * total
        returns.insert(0, total)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + 1e-6)

    policy_losses, value_losses = [], []
    for log_prob, value, target in zip(
        log_probs, values, returns, strict=True
    ):
        advantage = target - value.item()
        policy_losses.append(-log_prob * advantage)
        value_losses.append(F.smooth_l1_loss(value, target.view(1)))

    optimizer.zero_grad()
    loss = torch.stack(policy_losses).sum() + torch.stack(value_losses).sum()
    loss.backward()
    optimizer.step()
    running = 0.9 * running + 0.1 * sum(rewards)
    print(f"episode {episode}: {len(rewards)} steps, reward {running:.3f}")
