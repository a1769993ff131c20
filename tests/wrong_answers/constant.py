"""Answers that are wrong, and the words that name the mistake."""

WRONG = {
    "constant-arrange": [
        ('order = "DFACB"', "detached only after the loss"),
        ('order = "DFABC"', "w.grad is 16"),
        ('order = "DFCAEB"', "line E does not belong: the loss becomes"),
        ('order = "DGFCAB"', "line G does not belong: w should get"),
        ('order = "DFAB"', "5 lines belong, these are 4"),
        ('order = "DCFAB"', "fails at `target = target.detach()`: NameError"),
    ],
    "constant-half": [
        ("z = x * x", "both factors still lead to x"),
        ("z = x.clone() * x", "both factors still lead to x"),
        ("z = (x * x).detach()", "z has no history"),
        ("z = x * x / 2", "other numbers"),
        ("x = x.detach(); z = x * x", "x itself was changed"),
        ("z = (x * x).tolist()", "z is a list"),
        ("z = (x.detach() * x).detach().requires_grad_()", "no path leads"),
    ],
    "constant-weights": [
        (
            "def f(e):\n"
            "    w = e.abs() / e.abs().sum()\n"
            "    return (w * e.square()).sum()",
            "also flows through the weights",
        ),
        (
            "def f(e):\n"
            "    w = e.abs() / e.abs().sum()\n"
            "    return (w * e.square()).sum().detach()",
            "no history",
        ),
        (
            "def f(e):\n"
            "    w = e.detach().abs_()\n"
            "    w = w / w.sum()\n"
            "    return (w * e.square()).sum()",
            "the errors themselves changed",
        ),
        (
            "def f(e):\n"
            "    w = e.detach().abs()\n"
            "    return (w * e.square()).sum()",
            "the loss is 28",
        ),
        (
            "def f(e):\n"
            "    w = e.detach().abs() / e.abs().sum()\n"
            "    return (w * e.square()).sum()",
            "only a part",
        ),
        (
            "def f(e):\n"
            "    w = e.detach().abs()\n"
            "    return w / w.sum() * e.square()",
            "2 numbers: sum them",
        ),
        (
            "def f(e):\n"
            "    w = e.abs() / e.abs().sum()\n"
            "    return (w * e.detach().square()).sum()",
            "only a part",
        ),
        (
            "def f(e):\n"
            "    w = e.detach().abs()\n"
            "    (w / w.sum() * e.square()).sum().backward()",
            "is a return missing?",
        ),
    ],
}
