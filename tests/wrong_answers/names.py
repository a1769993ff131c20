"""Answers that are wrong, and the words that name the mistake."""

WRONG = {
    "names-arrange": [
        ('order = "CEABD"', "kept would see the 9 too"),
        ('order = "CEFGD"', "makes a new tensor"),
        ('order = "CEADG"', "kept holds the 9 too"),
        ('order = "CGEAD"', "copy after the 7s were written"),
        ('order = "CEAG"', "5 lines belong, these are 4"),
        ('order = "ECAGD"', "NameError: name 'board' is not defined"),
        ('order = ["C", "E", "A", "G", "D"]', "write it as letters"),
    ],
    "names-column": [
        ("column = grid[:, [2]]", "storage of its own"),
        ("column = grid[:, -1].clone()", "storage of its own"),
        ("column = torch.stack([row[2] for row in grid])", "of its own"),
        ("column = grid[-1]", "this is a row"),
        ("column = grid[-1, :]", "this is a row"),
        ("column = grid[:, 1]", "which column is it"),
        ("column = grid[:, 1:]", "has 4 of the numbers"),
        ("column = grid[1, 2]", "has 1 of the numbers"),
        ("column = grid", "second name for the whole grid"),
        ("column = [3, 6]", "a list, not a tensor"),
        ("grid = column = grid.t()", "two rows and three columns"),
    ],
    "names-relation": [
        ("def f(a, b): return 'tensor' if a is b else 'neither'", "a view"),
        (
            "def f(a, b):\n"
            "  if torch.equal(a, b): return 'tensor'\n"
            "  return 'neither'",
            "for a clone with equal numbers",
        ),
        (
            "def f(a, b):\n"
            "  if id(a) == id(b): return 'tensor'\n"
            "  same = a.data_ptr() == b.data_ptr()\n"
            "  return 'storage' if same else 'neither'",
            "a slice that begins later",
        ),
        (
            "def f(a, b):\n"
            "  if a is b: return 'tensor'\n"
            "  same = a._base is b or b._base is a\n"
            "  return 'storage' if same else 'neither'",
            "two rows of one grid",
        ),
        (
            "def f(a, b):\n"
            "  s, t = a.untyped_storage(), b.untyped_storage()\n"
            "  if s.data_ptr() == t.data_ptr(): return 'storage'\n"
            "  return 'tensor' if a is b else 'neither'",
            'for one tensor under two names it says "storage"',
        ),
        (
            "def f(a, b):\n"
            "  if a is b: return 'tensor'\n"
            "  s, t = a.untyped_storage(), b.untyped_storage()\n"
            "  if s.data_ptr() == t.data_ptr(): return 'storage'",
            "is a return missing?",
        ),
        (
            "def f(a, b):\n"
            "  if a is b: return 'tensor'\n"
            "  with torch.no_grad(): a += 1\n"
            "  return 'neither'",
            "changed the numbers",
        ),
        ("def f(a, b): return a is b", "it was True"),
        ("def f(a, b): print('tensor')", "is a return missing?"),
    ],
}
