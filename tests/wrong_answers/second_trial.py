"""Answers that are wrong, and the words that name the mistake."""

WRONG = {
    "second-own-grad": [
        ("d = y.detach()", "does not require grad yet"),
        ("d = y.requires_grad_()", "d is y itself"),
        ("d = y.clone()", "still has a history"),
        ("d = y.detach_().requires_grad_()", "lost its history"),
        ("d = y.detach().clone().requires_grad_()", "memory of its own"),
        ("d = x.detach().requires_grad_()", "other numbers than y"),
        ("d = y.item()", "d is a float"),
    ],
    "second-snapshot": [
        ("def f(w): return w.detach().cpu().numpy()", "still looks at"),
        ("def f(w): return w.data.numpy()", "still looks at"),
        ("def f(w): return w.numpy(force=True)", "still looks at"),
        ("def f(w): return w.clone().numpy()", "raised RuntimeError"),
        ("def f(w): return w.detach().clone()", "return a NumPy array"),
        ("def f(w): return w.tolist()", "return a NumPy array"),
        ("def f(w): w.detach().numpy().copy()", "is a return missing?"),
        (
            "def f(w): return w.requires_grad_(False).numpy().copy()",
            "can't be trained",
        ),
    ],
}
