"""Answers that are wrong, and the words that name the mistake."""

WRONG = {
    "xw-x-only": [
        ("y = torch.matmul(x, w)", "w would get a gradient too"),
        ("y = torch.matmul(x.detach(), w)", "detach the other factor"),
        ("y = torch.matmul(x, w).detach()", "the only path from x to y"),
        ("w = w.detach(); y = torch.matmul(x, w)", "only inside the product"),
        ("y = x * w.detach()", "other numbers"),
    ],
    "xw-log": [
        ("def f(x, w): loss(x, w)", "is a return missing?"),
        ("def f(x, w): return loss(x, w)", "return two things"),
        ("def f(x, w): l = loss(x, w); return l, l", "carries the graph"),
        (
            "def f(x, w): l = loss(x, w); return l.detach(), l",
            "is the order loss, log?",
        ),
        (
            "def f(x, w): l = loss(x, w).detach(); return l, l",
            "detach the logged value, not the loss",
        ),
        (
            "def f(x, w): l = loss(x, w); return l, l.item",
            "are the brackets missing?",
        ),
        (
            "def f(x, w): l = (x @ w).sigmoid(); return l, l.mean().item()",
            "take the mean",
        ),
        (
            "def f(x, w): l = loss(x, w); l.backward(); return l, l.item()",
            "leave backward out",
        ),
    ],
}
