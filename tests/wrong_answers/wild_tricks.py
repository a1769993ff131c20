"""Answers that are wrong, and the words that name the mistake."""

LOOP = """\
def f(w, h, chunks):
    log = []
    for chunk in chunks:
        h = h.detach()
        for x in chunk:
            h = w * h + x
        loss = h.square()
        loss.backward()
        log.append(loss.detach())
    return h, log
"""
START = "        h = h.detach()\n"
BACKWARD = "loss.backward()"

WRONG = {
    "trick-sign": [
        ("q = w.sign()", "sign() is flat"),
        ("q = w + (w.sign() - w)", "cancel each other"),
        ("q = w / w.abs()", "detach the rest"),
        ("q = (w + (w.sign() - w)).detach()", "has no history"),
        ("q = w.detach() + (w.sign() - w)", "another gradient than 1"),
        ("q = w + w.sign().detach()", "should hold -1 and 1"),
        ("q = w.sign().detach().requires_grad_()", "no gradient reaches w"),
        ("q = w.sign().tolist()", "is a list"),
    ],
    "trick-loop": [
        (LOOP.replace(START, ""), "goes back into the first chunk"),
        (LOOP.replace("h = h.det", "h.det"), "give the result its name"),
        (
            LOOP.replace(START, "").replace(
                BACKWARD, "loss.backward(retain_graph=True)"
            ),
            "retain_graph hides",
        ),
        (LOOP.replace("w * h +", "w * h.detach() +"), "at each step"),
        (LOOP.replace("h = h.detach()", "h = torch.tensor(1.0)"), "go on"),
        (LOOP.replace("loss = h", "loss = h.detach()"), "has no history"),
        (LOOP.replace("loss.detach()", "loss"), "still leads to the graphs"),
        (
            LOOP.replace("h.square()", "h.square().item()"),
            "has no backward",
        ),
        (LOOP.replace("return h, log", "return log"), "h and log"),
    ],
}
