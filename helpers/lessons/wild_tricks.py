"""Meet detach in tricks and loops."""

from __future__ import annotations

from typing import Any

import torch

from .kinds import CORRECT, Exercise, Question, right, wrong
from .looking import function_mistake

QUESTIONS: dict[str, Question] = {
    "trick-recall": Question(
        "From the lesson on networks: in SimSiam the second view is "
        "detached. What happens without that detach?",
        (
            wrong(
                "The same, with a little more work",
                "The detach decides which side moves. It is not there for "
                "speed.",
                "gan-why-detach",
            ),
            wrong(
                "The loss stays high, and the encoder learns nothing",
                "The loss is the very thing that looks good: it falls to 0.",
                "vq-losses",
            ),
            right(
                "The loss falls to 0, and all pictures get the same number",
                "Both sides meet at 0. Look at the variance, not only at "
                "the loss.",
            ),
        ),
    ),
    "trick-round": Question(
        "`x` holds 1.25 and 2.75 and requires grad. What does "
        "`x.round().sum().backward()` leave in `x.grad`?",
        (
            wrong(
                "None, and backward raises: `round` cuts the graph",
                "`argmax` does that, its result is an integer. `round` "
                "gives floats and is recorded.",
                "round-zero-gradient",
            ),
            right(
                "Zeros: a rounded number does not move with `x`",
                "A small change of `x` leaves the rounded number as it is. "
                "No error comes, and nothing learns.",
            ),
            wrong(
                "Ones: a rounded number is about the number itself",
                "That would be good for training, and it takes a trick. "
                "torch gives the true gradient.",
                "ste-without-detach",
            ),
        ),
    ),
    "trick-ste": Question(
        "`x + (x.round() - x)` has the same numbers as `x.round()`. Does it "
        "give `x` a gradient of 1, without any detach?",
        (
            wrong(
                "Yes: the first `x` passes the gradient on",
                "It does, and the last `x` passes on its negative: "
                "together 0.",
                "ste-without-detach",
            ),
            wrong(
                "No: with `round` in it, backward raises",
                "`round` is in the graph like any other operation. Its "
                "gradient is zero.",
                "round-zero-gradient",
            ),
            right(
                "No: 1 from the first `x`, 0 from `round`, -1 from the last",
                "Detach the bracket, and only the 1 is left.",
            ),
        ),
    ),
    "trick-state": Question(
        "The next chunk starts from `h.detach()`. `h` was 4. What does the "
        "next chunk see?",
        (
            wrong(
                "0: the memory of the network is wiped",
                "detach changes no number. The state goes on as it was.",
                "tbptt-detach",
            ),
            wrong(
                "4, and its gradient still reaches the first chunk",
                "That way back is what detach cuts, and with it the error.",
                "detach-each-step",
            ),
            right(
                "4, as a constant",
                "The numbers go on and the gradient ends there, so backward "
                "never comes into a freed graph.",
            ),
        ),
    ),
    "trick-each-step": Question(
        "With `w` = 1 the state is 1 after each step. We detach it before "
        "each of the six steps. What is the gradient of `w`?",
        (
            right(
                "1: only the last step counts",
                "The five steps before it lie behind the cut. Nothing can "
                "be learned across time.",
            ),
            wrong(
                "6: the state is the same, so the gradient is",
                "6 is the gradient without a detach: one for each step.",
                "detach-each-step",
            ),
            wrong(
                "None: the state has no history",
                "The last multiplication by `w` comes after the last "
                "detach, so it is recorded.",
                "tbptt-detach",
            ),
        ),
    ),
    "trick-log": Question(
        "After each `loss.backward()` we write `total = total + loss`, for "
        "the log. Nobody calls backward on the total. What does it keep "
        "alive after ten steps?",
        (
            wrong(
                "Nothing: backward has freed each graph",
                "backward frees the numbers that were saved. The nodes "
                "live on while a tensor leads to them.",
                "ema-graph-growth",
            ),
            wrong(
                "Nothing: a sum for the log is a number",
                "`loss` is a tensor with a history, so the total is one "
                "too. `loss.item()` would be a number.",
                "item-then-backward",
            ),
            right(
                "The nodes of all ten steps",
                "The total leads to the total before it and to the loss, "
                "and so on, back to the first step.",
            ),
        ),
    ),
}


def _look_at_sign(w: Any, q: Any) -> str:
    if not isinstance(q, torch.Tensor):
        return f"q is a {type(q).__name__}: it should be a tensor."
    if q.tolist() != [-1.0, 1.0]:
        return "q should hold -1 and 1, the numbers of w.sign()."
    if not q.requires_grad:
        return "q has no history: leave one w outside of the detach."
    (gradient,) = torch.autograd.grad(
        q.sum(), w, retain_graph=True, allow_unused=True
    )
    if gradient is None:
        return "no gradient reaches w: q has to be computed from w."
    if gradient.tolist() == [0.0, 0.0] and "Sign" in _maker(q):
        return "w gets zeros: sign() is flat, so its gradient is 0."
    if gradient.tolist() == [0.0, 0.0]:
        return (
            "w gets zeros: what is left of w, once sign() is flat and w and "
            "-w cancel each other? Add w itself, and detach the rest."
        )
    if gradient.tolist() != [1.0, 1.0]:
        return (
            "w gets another gradient than 1: the detach belongs around "
            "the whole difference."
        )
    return CORRECT


def _maker(made: torch.Tensor) -> str:
    return made.grad_fn.name() if made.grad_fn is not None else ""


_CHUNKS = ([1.0, 0.0], [-2.0, 1.0], [3.0, -1.0])


def _expected(cut_chunks: bool, cut_steps: bool = False) -> list[float]:
    """The state, the gradient and the losses that a loop gives."""
    w, h = torch.tensor(2.0, requires_grad=True), torch.tensor(1.0)
    losses: list[torch.Tensor] = []
    for chunk in _CHUNKS:
        h = h.detach() if cut_chunks else h
        for x in chunk:
            h = w * (h.detach() if cut_steps else h) + x
        losses.append(h.square())
    (gradient,) = torch.autograd.grad(torch.stack(losses).sum(), w)
    return [h.item(), gradient.item(), *(n.item() for n in losses)]


def _given_train(w: Any, h: Any, chunks: Any) -> Any:
    log = []
    for chunk in chunks:
        for x in chunk:
            h = w * h + x
        loss = h.square()
        loss.backward()
        log.append(loss)
    return h, log


def _look_at_loop(function: Any) -> str:
    mistake = function_mistake(function, "train")
    if mistake:
        return mistake
    w = torch.tensor(2.0, requires_grad=True)
    try:
        found = function(w, torch.tensor(1.0), _CHUNKS)
    except (RuntimeError, AttributeError) as error:
        known = {
            "a second time": "the second chunk's backward goes back into "
            "the first chunk: detach the state between two chunks, and "
            "give the result its name.",
            "does not require grad": "the loss has no history: detach the "
            "state between two chunks, not between a chunk and its loss.",
            "no attribute 'backward'": "item() makes a number, which has no "
            "backward: take it for the log only.",
        }
        for words, sentence in known.items():
            if words in str(error):
                return sentence
        raise
    if not isinstance(found, tuple) or len(found) != 2:
        return "train should return h and log, as before."
    return _after_loop(w, *found)


def _number(value: Any) -> Any:
    return value.item() if isinstance(value, torch.Tensor) else value


def _after_loop(w: torch.Tensor, h: Any, log: Any) -> str:
    state, gradient, *losses = _expected(cut_chunks=True)
    if not isinstance(log, list) or len(log) != len(losses):
        return "the log should hold one loss a chunk."
    if [_number(n) for n in (h, *log)] != [state, *losses]:
        return (
            "the state or a loss has other numbers than before: does the "
            "state go on from chunk to chunk?"
        )
    if w.grad is None:
        return "w has no gradient: is backward still called?"
    if w.grad.item() == _expected(cut_chunks=False)[1]:
        return (
            "the gradient goes back through all chunks: retain_graph hides "
            "the error, a detach cuts the way."
        )
    if w.grad.item() == _expected(True, cut_steps=True)[1]:
        return "the state is cut at each step: cut it once a chunk."
    if w.grad.item() != gradient:
        return "the gradient is another one: cut once, between two chunks."
    kept = [n for n in log if isinstance(n, torch.Tensor) and n.grad_fn]
    if kept:
        return "the log still leads to the graphs: keep loss.detach()."
    return CORRECT


EXERCISES: dict[str, Exercise] = {
    "trick-sign": Exercise(
        4,
        "easy",
        _look_at_sign,
        "forward a sign, backward as if there were none",
    ),
    "trick-loop": Exercise(
        8,
        "medium",
        _look_at_loop,
        "the state goes on, the gradient ends, and the log keeps no graph",
        _given_train,
    ),
}
