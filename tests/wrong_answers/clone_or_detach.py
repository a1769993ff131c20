"""Answers that are wrong, and the words that name the mistake."""

WRONG = {
    "clone-backup": [
        ("backup = weight", "two names of one tensor"),
        ("backup = weight.detach()", "detach() without clone()"),
        ("backup = weight.clone()", "clone() without detach()"),
        ("backup = copy.deepcopy(weight)", "needs no gradient"),
        ("backup = torch.tensor([1, 2])", "keep its dtype"),
        ("backup = weight.tolist()", "keep it a tensor"),
        ("backup = weight.detach", "are the brackets missing?"),
    ],
    "clone-leaf": [
        ("def f(t): return t", "returns t itself"),
        ("def f(t): return t.detach().requires_grad_()", "shares memory"),
        ("def f(t): return t.clone().requires_grad_()", "is no leaf"),
        ("def f(t): return t.detach().clone()", "does not require grad"),
        ("def f(t): t.detach().clone()", "is a return missing?"),
        ("f = torch.ones(2)", "without brackets"),
        (
            "def f(t): return torch.tensor([6., 6.], requires_grad=True)",
            "another shape",
        ),
        (
            "def f(t): return t.detach_().clone().requires_grad_()",
            "detach_() changes t itself",
        ),
    ],
}
