"""Answers that are wrong, and the words that name the mistake."""

WRONG = {
    "split-a-only": [
        ("A.requires_grad_(False)", "freeze the other one"),
        ("B.requires_grad = False", "only adds an attribute"),
        ("B.weight.require_grad = False", "one s missing"),
    ],
    "split-critic": [
        ("def f(g, c, n): return c(g(n)).sum() * 1", "gets a gradient too"),
        ("def f(g, c, n): return c(g(n)).sum().detach()", "no history"),
        ("def f(g, c, n): return c(g(n.detach())).sum()", "gradient too"),
        ("def f(g, c, n): return c(n).sum()", "look at generator(noise)"),
        ("def f(g, c, n): c(g(n).detach()).sum()", "is a return missing?"),
        (
            "def f(g, c, n): g.requires_grad_(False); return c(g(n)).sum()",
            "frozen for its own step too",
        ),
        ("def f(g, c, n): return c(g(n).detach()).sum().item()", "a tensor"),
    ],
}
