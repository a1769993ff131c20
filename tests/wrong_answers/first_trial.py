"""Answers that are wrong, and the words that name the mistake."""

WRONG = {
    "first-part": [
        ("part = 'w.grad = None'", "that is no expression"),
        ("part = w.grad is None", "in quotes"),
        ('part = "w.grad"', "gives a Tensor"),
        ('part = "not w.requires_grad"', "look at what the claim speaks of"),
        ('part = "w.grad is not None"', "upside down"),
        ('part = "bool(w.grad == 0)"', "whether the gradient is gone or not"),
        ('part = "w.grad.item() == 0"', "it raises where the gradient"),
        ('part = "w.grad is"', "that is no expression"),
    ],
    "first-change": [
        (
            "def f(y, i, v):\n    new = y.data\n    new[i] = v\n"
            "    return new",
            "y changed too",
        ),
        (
            "def f(y, i, v):\n    y.detach().numpy()[i] = v\n"
            "    return y.detach()",
            "y changed too",
        ),
        (
            "def f(y, i, v):\n    new = y.clone()\n    new[i] = v\n"
            "    return new",
            "a clone alone stays in the graph",
        ),
        (
            "def f(y, i, v):\n    new = y.detach_().clone()\n"
            "    new[i] = v\n    return new",
            "lost its history",
        ),
        (
            "def f(y, i, v):\n    new = y.detach().clone()\n    new[i] = v",
            "is a return missing?",
        ),
        ("def f(y, i, v): return y.detach().clone()", "not been written"),
        ("def f(y, i, v): return y.detach()", "looks at the memory"),
        ("def f(y, i, v): return y.detach() * 0 + v", "only the number"),
        ("def f(y, i, v): return y.tolist()", "return a tensor"),
        (
            "def f(y, i, v):\n    d = y.detach()\n    d[i] = v\n"
            "    new = d.clone()\n    d[i] = 1.0\n    return new",
            "written to on the way",
        ),
    ],
}
