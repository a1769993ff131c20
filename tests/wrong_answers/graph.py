"""Answers that are wrong, and the words that name the mistake."""

WRONG = {
    "graph-arrange": [
        ('order = "DHBEAF"', "retain_grad() comes after backward"),
        ('order = "DBHEFA"', "can't retain_grad on Tensor"),
        ('order = "DHBFGEA"', "line G does not belong: m is computed"),
        ('order = "DHCBFEA"', "line C does not belong: a leaf"),
        ('order = "DHBEA"', "6 lines belong, these are 5"),
        ('order = "HDBFEA"', "fails at `x.requires_grad_()`: NameError"),
    ],
    "graph-leaf": [
        ("w = counts.float().view(2, 2)", "does not require grad"),
        (
            "w = counts.float().requires_grad_().view(2, 2)",
            "switch requires_grad on last",
        ),
        ("w = counts.float().requires_grad_()", "w has the shape [4]"),
        ("w = counts.float().requires_grad_", "are the brackets missing?"),
        ("w = counts.float().requires_grad", "a bool, not a tensor"),
        ("w = torch.ones(2, 2, requires_grad=True)", "other numbers"),
    ],
    "graph-slopes": [
        (
            "def f(w):\n"
            "    (w * 3).sum().backward()\n"
            "    first = w.grad.clone()\n"
            "    (w * 5).sum().backward()\n"
            "    return first, w.grad",
            "clear w.grad between the two",
        ),
        (
            "def f(w):\n"
            "    (w * 3).sum().backward()\n"
            "    first = w.grad\n"
            "    w.grad.zero_()\n"
            "    (w * 5).sum().backward()\n"
            "    return first, w.grad",
            "both are one tensor",
        ),
        (
            "def f(w):\n"
            "    (w * 3).sum().backward()\n"
            "    first = w.grad\n"
            "    w.grad = None\n"
            "    (w * 5).sum().backward()\n"
            "    return first, w.grad",
            "gradient of an earlier step",
        ),
        (
            "def f(w):\n"
            "    w.grad.zero_()\n"
            "    (w * 3).sum().backward()\n"
            "    return w.grad, w.grad",
            "raised AttributeError: 'NoneType'",
        ),
        (
            "def f(w):\n"
            "    (w * 3).sum().backward()\n"
            "    (w * 5).sum().backward()",
            "is a return missing?",
        ),
        ("def f(w): return w.grad, w.grad", "None or no tensor"),
        (
            "def f(w):\n"
            "    ((w * 3).sum() + (w * 5).sum()).backward()\n"
            "    return w.grad",
            "return two gradients",
        ),
    ],
}
