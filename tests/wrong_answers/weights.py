"""Answers that are wrong, and the words that name the mistake."""

WRONG = {
    "weights-vectors": [
        ("emb = nn.Parameter(vectors)", "is a tensor"),
        ("emb = nn.Linear(2, 2)", "is a Linear"),
        ("emb = nn.Embedding", "is a type"),
        (
            "emb = nn.Embedding(2, 2); emb.from_pretrained(vectors)",
            "gives a new Module back",
        ),
        (
            "emb = nn.Embedding.from_pretrained(vectors)",
            "the weight is frozen",
        ),
        (
            "emb = nn.Embedding.from_pretrained(vectors, freeze=False)",
            "memory of vectors",
        ),
        (
            "emb = nn.Embedding(2, 2); emb.weight = nn.Parameter(vectors)",
            "memory of vectors",
        ),
        (
            "emb = nn.Embedding(2, 2); emb.weight.data = vectors",
            "memory of vectors",
        ),
        (
            "emb = nn.Embedding(2, 2); emb.weight.data = vectors[0].clone()",
            "the shape (2,)",
        ),
        (
            "emb = nn.Embedding(2, 2); vectors.copy_(emb.weight.detach())",
            "vectors changed",
        ),
    ],
    "weights-follow": [
        (
            "def f(a, n, keep):\n"
            "    for p, q in zip(a.parameters(), n.parameters()):\n"
            "        p = keep * p + (1 - keep) * q\n",
            "a new tensor",
        ),
        (
            "def f(a, n, keep):\n"
            "    for p, q in zip(a.parameters(), n.parameters()):\n"
            "        p.copy_(keep * p + (1 - keep) * q)\n",
            "a leaf Variable",
        ),
        (
            "def f(a, n, keep):\n"
            "    a.weight = nn.Parameter(keep * a.weight)\n",
            "was replaced",
        ),
        (
            "def f(a, n, keep):\n"
            "    for p, q in zip(a.parameters(), n.parameters()):\n"
            "        p.data = q.data\n",
            "memory of net",
        ),
        (
            "@torch.no_grad()\n"
            "def f(a, n, keep):\n"
            "    for p, q in zip(a.parameters(), n.parameters()):\n"
            "        p.mul_(1 - keep).add_(keep * q)\n",
            "swapped",
        ),
        (
            "@torch.no_grad()\n"
            "def f(a, n, keep): a.weight.lerp_(n.weight, 1 - keep)\n",
            "the bias did not",
        ),
        (
            "@torch.no_grad()\ndef f(a, n, keep): n.weight.copy_(a.weight)\n",
            "net changed",
        ),
        (
            "def f(a, n, keep): a.load_state_dict(n.state_dict())",
            "yours make 8",
        ),
    ],
    "weights-arrange": [
        ('order = "CBDAF"', "copied after the step"),
        ('order = "CFBDA"', "before the weights were set"),
        ('order = "CBFAD"', "came before backward"),
        ('order = "CEFDA"', "line E does not belong"),
        ('order = "CBGDA"', "line G does not belong"),
        ('order = "CBFD"', "5 lines belong"),
        ('order = "FCBDA"', "'layer' is not defined"),
    ],
}
