"""The claims of the two texts on trial: what each program shows."""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import io
import re
import warnings
from pathlib import Path

import pytest
import torch
from torch import nn

from helpers import record_code, trial
from helpers.lessons.claims import CLAIMS, Claim
from helpers.trial import VERDICTS, judge, tally, vote

# What running each claim showed, written by hand.
EXPECTED = {
    **dict.fromkeys(("D1.1", "D1.3", "D1.4", "D1.6"), "true"),
    **dict.fromkeys(("D1.10", "D1.15"), "true"),
    **dict.fromkeys(("D1.2", "D1.5", "D1.8", "D1.11"), "half"),
    **dict.fromkeys(("D1.7", "D1.9", "D1.12", "D1.13", "D1.14"), "false"),
    **dict.fromkeys(("D2.1", "D2.2", "D2.3", "D2.4", "D2.7"), "true"),
    **dict.fromkeys(("D2.8", "D2.10", "D2.12", "D2.13"), "true"),
    **dict.fromkeys(("D2.15", "D2.17", "D2.20"), "true"),
    **dict.fromkeys(("D2.5", "D2.6", "D2.14"), "half"),
    **dict.fromkeys(("D2.16", "D2.18", "D2.19"), "half"),
    **dict.fromkeys(("D2.9", "D2.11"), "false"),
}
EACH = pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS)
NOTEBOOKS = Path(__file__).parents[1] / "notebooks"


def made(parts, program="x = 1", **others):
    others = {"explanation": "Because <b> & `x`.", **others}
    return Claim(
        "D9.1", "A <b> & `c`.", program, parts, lesson="01_x", **others
    )


@pytest.fixture
def on_trial(monkeypatch):
    def put(*args, **others):
        monkeypatch.setitem(CLAIMS, "D9.1", made(*args, **others))

    return put


def plainly(claim):
    """Run a claim's program as Python does, without the recorder."""
    space = {"torch": torch, "nn": nn, "error": ""}
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            exec(claim.program, space)
        except Exception as error:
            space["error"] = f"{type(error).__name__}: {error}"
        space["warned"] = [str(w.message) for w in warned]
    return space


def value(test, space):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # .grad of an intermediate result
        return eval(test, space)


@EACH
def test_the_computed_verdict_is_the_one_found_by_hand(claim):
    assert judge(claim.id).verdicts == {claim.id: EXPECTED[claim.id]}


def test_every_claim_of_both_texts_is_there():
    first = [f"D1.{i}" for i in range(1, 16)]
    assert list(CLAIMS) == first + [f"D2.{i}" for i in range(1, 21)]


def test_the_expected_verdicts_are_complete():
    assert set(EXPECTED) == set(CLAIMS)


@EACH
def test_a_program_has_at_most_8_lines(claim):
    assert 1 < len(claim.program.splitlines()) <= 8


@EACH
def test_a_program_fits_beside_its_picture(claim):
    assert max(map(len, claim.program.splitlines())) <= 64


@EACH
def test_the_same_comes_out_without_the_recorder(claim):
    space = plainly(claim)
    held = tuple(bool(value(test, space)) for _, test in claim.parts)
    assert held == trial._try(claim).holds


@EACH
def test_a_program_ends_with_the_error_it_is_said_to(claim):
    error = plainly(claim)["error"]
    assert bool(error) == bool(claim.raises)
    assert error.startswith(claim.raises)


@EACH
def test_what_the_explanation_says_is_so(claim):
    space = plainly(claim)
    assert [test for test in claim.shown if not value(test, space)] == []


@EACH
def test_no_program_leaves_it_to_chance(claim):
    names = {
        node.attr
        for node in ast.walk(ast.parse(claim.program))
        if isinstance(node, ast.Attribute)
    }
    assert not names & {"rand", "randn", "randint", "manual_seed"}


@EACH
def test_a_claim_is_one_sentence_and_its_explanation_at_most_four(claim):
    assert claim.text.endswith(".")
    assert len(re.findall(r"[.?!](?: |$)", claim.text)) == 1
    assert len(re.findall(r"\.(?: |$)", claim.explanation)) <= 4


@EACH
def test_the_lesson_that_teaches_it_names_it(claim):
    text = (NOTEBOOKS / f"{claim.lesson}.ipynb").read_text(encoding="utf-8")
    assert re.search(rf"\b{re.escape(claim.id)}\b(?!\d)", text)


@pytest.mark.parametrize(
    ("parts", "verdict"),
    [
        ((("a", "x == 1"), ("b", "x < 2")), "true"),
        ((("a", "x == 1"), ("b", "x > 2")), "half"),
        ((("a", "x == 2"), ("b", "x > 2")), "false"),
        ((("a", "x == 2"),), "false"),
    ],
)
def test_the_verdict_follows_from_the_parts(on_trial, parts, verdict):
    on_trial(parts)
    assert judge("D9.1").verdicts == {"D9.1": verdict}


@EACH
def test_a_part_that_fails_makes_it_not_true(claim):
    parts = (*claim.parts, ("never", "False"))
    assert trial._try(dataclasses.replace(claim, parts=parts)).verdict in (
        "half",
        "false",
    )


def test_another_error_than_expected_is_an_error(on_trial):
    on_trial((("a", "True"),), program="1 / 0", raises="TypeError: x")
    with pytest.raises(AssertionError, match="ended with ZeroDivisionError"):
        judge("D9.1")


def test_an_error_that_nobody_expects_is_an_error(on_trial):
    on_trial((("a", "True"),), program="y = undefined")
    with pytest.raises(AssertionError, match="should end with no error"):
        judge("D9.1")


def test_an_expected_error_that_does_not_come_is_an_error(on_trial):
    on_trial((("a", "True"),), raises="TypeError: x")
    with pytest.raises(AssertionError, match="ended with no error"):
        judge("D9.1")


def test_the_tally_of_the_first_text():
    assert tally("D1") == {"true": 6, "half": 4, "false": 5}


def test_the_tally_of_the_second_text():
    assert tally("D2") == {"true": 12, "half": 6, "false": 2}


def test_the_tally_of_all():
    assert tally() == {"true": 18, "half": 10, "false": 7}


def test_a_claim_is_counted_once():
    assert sum(tally("D1.1", "D1", "D1.1").values()) == 15


@pytest.mark.parametrize("ask", [vote, judge, tally])
def test_an_unknown_id_lists_those_that_there_are(ask):
    with pytest.raises(KeyError, match=r"no claim 'D3\.1'.*D1\.1, .*D2\.20"):
        ask("D3.1")


def test_a_vote_on_an_unknown_claim_lists_those_that_there_are():
    with pytest.raises(KeyError, match=r"no claim 'D1\.99'"):
        judge("D1.1", votes={"D1.99": "true"})


def test_the_text_of_a_trial():
    assert judge("D2.11", votes={"D2.11": "true"}).text == (
        "D2.11 A detached tensor never has a gradient, not even when its "
        "requires_grad is set to True again.\n"
        "    x = torch.tensor([2.0], requires_grad=True)\n"
        "    d = (x * 3).detach()\n"
        "    d.requires_grad_(True)\n"
        "    (d * 4).sum().backward()\n"
        "  ✗ fails: `d.grad` is None\n"
        "  verdict: false; your vote: true, not as shown\n"
        "  `d` is a leaf of its own now and gets its gradient, 4. `x` still "
        "gets none.\n"
        "1 claim: 0 true, 0 half, 1 false. You voted on 1, 0 as shown."
    )


def test_the_text_names_the_error_that_ends_a_program():
    assert "  raises RuntimeError: element 0 of tensors" in judge("D1.12").text


def test_text_and_page_say_the_same():
    shown = judge("D1.7")
    for word in ("✗ fails", "D1.7", "false", "no vote", "from 10 to 7"):
        assert word in shown.text
        assert word in shown.html


def test_print_shows_the_text():
    assert str(judge("D1.1")) == judge("D1.1").text


def test_a_notebook_gets_both():
    bundle = judge("D1.1")._repr_mimebundle_()
    assert set(bundle) == {"text/html", "text/plain"}


def test_a_part_says_holds_or_fails_in_words():
    page = judge("D1.2").html
    assert page.count("✓ holds:") == 2
    assert page.count("✗ fails:") == 1


@pytest.mark.parametrize("show", [vote, judge])
def test_the_page_is_escaped(on_trial, show):
    on_trial((("a <i>", "x < 2"),), program="x = 1  # <script>")
    page = show("D9.1").html
    assert "A &lt;b&gt; &amp; <code" in page
    assert "Because &lt;b&gt; &amp; <code" in page
    assert "# &lt;script&gt;" in page
    assert "<i>" not in page


def test_a_vote_is_escaped():
    assert "&lt;img&gt;" in judge(votes={"D1.1": "<img>"}).html


@pytest.mark.parametrize("page", [vote("D1").html, judge("D2").html])
def test_the_page_brings_nothing_from_outside(page):
    assert "<script" not in page
    assert not re.search(r'(src|href)="(?!data:)', page)


@EACH
def test_every_picture_has_an_alt_text(claim):
    pictures = re.findall(r"<img [^>]*>", judge(claim.id).html)
    assert all(re.search(r'alt="[^"]{20,}', p) for p in pictures)


def test_most_claims_have_a_picture():
    with_one = [c.id for c in CLAIMS.values() if c.picture]
    assert len(with_one) >= 25


def test_a_cut_is_drawn_where_the_program_makes_it():
    assert "Cut: line 4, `y.detach()`." in (
        trial._try(CLAIMS["D1.12"], drawn=True).picture.text
    )


def test_a_ballot_has_the_program_and_three_folded_answers():
    assert vote("D1.7").html.count("<details") == 4


def test_only_the_right_answer_says_what_the_program_shows():
    answers = re.findall(
        r'">(true|half|false)</summary>(.*?)</details>', vote("D1.7").html
    )
    assert [word for word, said in answers if "program shows" in said] == [
        "false"
    ]


def test_a_ballot_as_text():
    lines = vote("D2.17").text.splitlines()
    assert lines[0] == "Vote: true, half or false?"
    assert lines[-1].startswith("  D2.17: the program shows: true.")


@pytest.mark.parametrize("word", ["", "  ", ..., None])
def test_untouched_is_no_vote(word):
    assert "your vote: no vote" in judge(votes={"D1.1": word}).text


@pytest.mark.parametrize("word", ["true", "True", " TRUE ", True])
def test_a_vote_may_be_written_in_more_than_one_way(word):
    assert "true, as shown" in judge(votes={"D1.1": word}).text


@pytest.mark.parametrize("word", ["yes", "half true", 3, ["true"]])
def test_a_wrong_word_gets_one_clear_sentence(word):
    shown = judge(votes={"D1.1": word}).text
    assert "is no verdict: write true, half or false" in shown
    assert "You voted" not in shown


def test_votes_that_are_no_dict():
    with pytest.raises(TypeError, match=r"votes is a str: write a dict"):
        judge("D1.1", votes="true")


def test_the_votes_say_which_claims():
    votes = {"D1.1": "", "D2.1": ""}
    assert list(judge(votes=votes).verdicts) == ["D1.1", "D2.1"]


def test_votes_are_counted():
    votes = {"D1.1": "true", "D1.7": "true", "D1.9": ""}
    assert judge(votes=votes).text.endswith("You voted on 2, 1 as shown.")


def test_a_program_is_unfolded_where_the_vote_differs():
    votes = {"D1.1": "true", "D1.7": "true", "D1.9": ""}
    assert judge(votes=votes).html.count("<details open>") == 1


def test_the_votes_stay_as_they_are():
    votes = {"D1.1": " True "}
    judge(votes=votes)
    assert votes == {"D1.1": " True "}


def tried_anew(*ids):
    trial._try.cache_clear()
    return judge(*ids)


def test_nothing_of_the_callers_changes(unchanged):
    tried_anew()
    x = torch.ones(2, requires_grad=True)
    with unchanged():
        tried_anew()
    assert x.grad is None


def test_nothing_is_printed(on_trial):
    on_trial((("a", "True"),), program="print(1)")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        judge("D9.1")
    assert printed.getvalue() == ""


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_the_callers_mode_does_not_matter(mode):
    with mode():
        trial._try.cache_clear()
        assert tally() == {"true": 18, "half": 10, "false": 7}


def test_the_callers_default_dtype_does_not_matter():
    before = judge("D1.1", "D2.14").text
    torch.set_default_dtype(torch.float64)
    try:
        assert tried_anew("D1.1", "D2.14").text == before
        assert torch.get_default_dtype() == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)


def test_programs_share_no_names(on_trial):
    on_trial((("a", "'w' in globals()"),))
    judge("D1.7")
    assert judge("D9.1").verdicts == {"D9.1": "false"}


def test_the_words_for_verdicts():
    assert VERDICTS == ("true", "half", "false")


def test_the_error_is_not_told_before_the_vote():
    assert "raises" not in vote("D1.9").html.partition("the program shows")[0]


def test_a_vote_is_on_one_claim():
    with pytest.raises(KeyError, match="no claim 'D1'"):
        judge(votes={"D1": "true"})


def test_a_trial_may_be_recorded_itself():
    trial._try.cache_clear()
    space = {"tally": tally}
    recording = record_code("found = tally()", space)
    assert recording.error is None
    assert space["found"] == {"true": 18, "half": 10, "false": 7}
