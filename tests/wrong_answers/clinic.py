"""Answers that are wrong, and the words that name the mistake."""

_STEP = """
def f(backbone, head, opt, x, y):
    {before}
    out = {out}
    loss = (out - y).square().sum()
    loss.backward()
    {after}
    opt.step()
    {end}
"""


def _step(
    before="opt.zero_grad()",
    out="head(backbone(x).detach())",
    after="pass",
    end="return loss.item()",
):
    return _STEP.format(before=before, out=out, after=after, end=end)


WRONG = {
    "clinic-line": [
        ("line = 3", "a constant target on purpose"),
        ("line = 5", "look before it"),
        ("line = 2", "line 2 cuts nothing"),
        ("line = 'gap'", "write the number of the line"),
        ("line = '4'", "write the number of the line"),
    ],
    "clinic-step": [
        (_step(before="pass"), "old gradient was added"),
        (
            _step("backbone.requires_grad_(False); head.zero_grad()"),
            "the backbone moved",
        ),
        (
            _step("backbone.requires_grad = False; opt.zero_grad()"),
            "with the underscore",
        ),
        (
            _step("head.zero_grad()", "head(backbone(x))"),
            "is not frozen any more",
        ),
        (
            _step(
                "backbone.requires_grad_(False)\n"
                "    opt.zero_grad(set_to_none=False)"
            ),
            "is zero and not None",
        ),
        (_step(end="return loss"), "holds the graph of its step"),
        (_step(end="pass"), "returns nothing"),
        (_step(after="opt.zero_grad()"), "cleared too late"),
        (_step(end="return 0.0"), "is not the loss"),
        (_step(out="head(backbone(x)).detach()"), "your code raised"),
        (
            _step(out="head(backbone(x)).detach().requires_grad_()"),
            "head.weight.grad is None",
        ),
        (
            _step("pass", "head(backbone(x)).detach().requires_grad_()"),
            "only its old gradient",
        ),
        (_step(out="head(x)"), "something else than the squared gap"),
    ],
}
