"""Answers that are wrong, and the words that name the mistake."""

WRONG = {
    "in-place-word": [
        ("def f(y): return y.data.mul_(100)", "past the counter"),
        (
            "def f(y): a = y.detach().numpy(); a *= 100; "
            "return torch.from_numpy(a)",
            "past the counter",
        ),
        ("def f(y): return y.clone().mul_(100)", "where is the detach()?"),
        ("def f(y): return y.detach_().mul_(100)", "lost its history"),
        (
            "def f(y): return y.detach().view(2).mul_(100)",
            "still looks at the memory of y",
        ),
        ("def f(y): y.detach().clone().mul_(100)", "return missing?"),
        ("def f(y): return y.detach().clone().mul(10)", "times 100"),
        ("def f(y): return y.detach().clone()", "times 100"),
        ("def f(y): return (y.detach() * 100).tolist()", "keep it a tensor"),
    ],
    "in-place-arrange": [
        ('order = "BFDEA"', "modified by an inplace operation"),
        ('order = "BFEDA"', "w was changed before y"),
        ('order = "BFDAC"', "writes past the version counter"),
        ('order = "BFDAG"', "a leaf that requires grad"),
        ('order = "BFDA"', "5 lines belong"),
        ('order = "BDFAE"', "name 'x' is not defined"),
    ],
    "in-place-residual": [
        (
            "def f(x): out = x.relu(); out.data += x; return out",
            "the added x is missing",
        ),
        (
            "def f(x): return x.relu().detach() + x",
            "gradient through relu is missing",
        ),
        (
            "def f(x): return x.relu() + x.detach()",
            "the added x is missing",
        ),
        ("def f(x): out = x.relu(); out.add_(x); return out", "still raises"),
        (
            "def f(x):\n    out = x.relu()\n    with torch.no_grad():\n"
            "        out += x\n    return out",
            "still raises",
        ),
        ("def f(x): r = x.relu(); x += r; return x", "x itself was changed"),
        ("def f(x): return (x.relu() + x).detach()", "no history"),
        ("def f(x): return x.relu()", "should be x.relu() + x"),
        ("def f(x): out = x.relu(); out = out + x", "return missing?"),
    ],
}
