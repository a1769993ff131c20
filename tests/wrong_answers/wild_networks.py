"""Answers that are wrong, and the words that name the mistake."""

WRONG = {
    "wild-goal": [
        ("goal = reward + 0.5 * target(s_next)", "still has a history"),
        ("goal = reward + 0.5 * target(s_next.detach())", "still has a"),
        ("goal = (reward + 0.5 * online(s_next)).detach()", "ask the target"),
        ("goal = (reward + 0.5 * target(s)).detach()", "value of s_next"),
        ("goal = target(s_next).detach()", "are missing"),
        ("goal = (0.5 * target(s_next)).detach()", "reward is missing"),
        (
            "goal = (0.5 * (reward + target(s_next))).detach()",
            "the target network's value alone",
        ),
        ("goal = (reward + target(s_next)).detach()", "factor 0.5"),
        ("goal = (reward + 0.5 * target(s_next)).item()", "is a plain float"),
        (
            "target.requires_grad_(False)\n"
            "goal = reward + 0.5 * target(s_next)",
            "do not freeze",
        ),
    ],
    "wild-update": [
        (
            "def f(target, online, tau):\n"
            "    for t, o in zip(target.parameters(), online.parameters()):\n"
            "        t = (1 - tau) * t + tau * o",
            "names a new tensor",
        ),
        (
            "def f(target, online, tau):\n"
            "    for t, o in zip(target.parameters(), online.parameters()):\n"
            "        t += tau * (o - t)",
            "under torch.no_grad()",
        ),
        (
            "def f(target, online, tau):\n"
            "    target.requires_grad_(False)\n"
            "    for t, o in zip(target.parameters(), online.parameters()):\n"
            "        t += tau * (o - t)",
            "have a history now",
        ),
        (
            "def f(target, online, tau):\n"
            "    for t, o in zip(target.parameters(), online.parameters()):\n"
            "        t.data = o.data",
            "the same memory",
        ),
        (
            "def f(target, online, tau):\n"
            "    target.load_state_dict(online.state_dict())",
            "all the way",
        ),
        (
            "@torch.no_grad()\n"
            "def f(target, online, tau):\n"
            "    for t, o in zip(target.parameters(), online.parameters()):\n"
            "        t.copy_(tau * t + (1 - tau) * o)",
            "not the part that stays",
        ),
        (
            "@torch.no_grad()\n"
            "def f(target, online, tau):\n"
            "    target.weight.lerp_(online.weight, tau)",
            "one parameter has not moved",
        ),
        (
            "@torch.no_grad()\n"
            "def f(target, online, tau):\n"
            "    for t, o in zip(target.parameters(), online.parameters()):\n"
            "        o += tau * (t - o)",
            "the online network has changed",
        ),
    ],
}
