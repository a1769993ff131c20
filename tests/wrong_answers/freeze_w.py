"""Answers that are wrong, and the words that name the mistake."""

WRONG = {
    "freeze-properly": [
        ("w.requires_grad_(False)", "moved w to 0.7"),
        ("w.grad = None", "line for the flag is missing"),
        ("w.grad.zero_()", "zeros in .grad are not None"),
        ("w.requires_grad_(False); w.grad.zero_()", "are not None"),
        ("w.require_grad = False; w.grad = None", "one s missing"),
        ("w = w.detach()", "does not hold this w"),
        (
            "opt.param_groups[0]['lr'] = 0; w.requires_grad_(False)",
            "old gradient is still in .grad",
        ),
    ],
    "freeze-module": [
        (
            "def f(m): m.requires_grad = False; m.zero_grad()",
            "only adds an attribute",
        ),
        (
            "def f(m):\n  for p in m.parameters(): p.require_grad = False",
            "one s missing",
        ),
        ("def f(m): m.weight.requires_grad_(False)", "bias still requires"),
        ("def f(m): m.requires_grad_(False)", "still in .grad"),
        (
            "def f(m): m.requires_grad_(False).zero_grad(set_to_none=False)",
            "has to be None",
        ),
        ("def f(m):\n  with torch.no_grad(): m.weight.zero_()", "still requ"),
    ],
}
