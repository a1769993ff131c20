"""Answers that are wrong, and the words that name the mistake."""

WRONG = {
    "off-total": [
        ("total += loss", "keeps the graph of 9 operations"),
        ("total = loss.item()", "one loss only"),
        ("total = str(loss)", "is a str"),
        ("loss = loss.detach(); total += loss", "lost its own history"),
        ("total += w.exp()", "keeps the graph"),
        ("total += w.exp().detach()", "several numbers"),
        ("total += loss.item() * 2", "should be 9"),
    ],
    "off-evaluate": [
        ("def f(net, x): return net(x).mean()", "is a tensor"),
        ("def f(net, x): return net(x).mean().item", "brackets"),
        ("def f(net, x): net(x)", "is a return missing?"),
        ("def f(net, x): return net(x).mean().item()", "still active"),
        (
            "@torch.no_grad()\ndef f(net, x): return net(x).mean().item()",
            "still active",
        ),
        (
            "def f(net, x):\n"
            "    net.eval()\n"
            "    mean = net(x).detach().mean().item()\n"
            "    net.train()\n"
            "    return mean\n",
            "still saved 8 bytes",
        ),
        (
            "@torch.no_grad()\n"
            "def f(net, x): return net.eval()(x).mean().item()",
            "stays in eval mode",
        ),
        (
            "def f(net, x):\n"
            "    torch.set_grad_enabled(False)\n"
            "    return net.eval()(x).mean().item()\n",
            "for the whole program",
        ),
        (
            "def f(net, x):\n"
            "    net.eval().requires_grad_(False)\n"
            "    return net(x).mean().item()\n",
            "frozen now",
        ),
        (
            "@torch.no_grad()\ndef f(net, x): return net[0](x).mean().item()",
            "with the dropout in it",
        ),
        (
            "@torch.no_grad()\n"
            "def f(net, x):\n"
            "    mean = net.eval()(x).sum().item()\n"
            "    net.train()\n"
            "    return mean\n",
            "another number",
        ),
    ],
    "off-arrange": [
        ('order = "BEAFDG"', "copied after the write"),
        ('order = "BEFDAG"', "write before it"),
        ('order = "BECADG"', "line C does not belong"),
        ('order = "BHFADG"', "line H does not belong"),
        ('order = "BEFAGD"', "run in your order, it fails"),
        ('order = "BEFAD"', "6 lines belong"),
        ('order = "EBFADG"', "'w' is not defined"),
    ],
}
