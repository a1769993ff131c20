"""The clinic: topics, messages, find and case."""

from __future__ import annotations

import copy
import html
import json
import re
import warnings
from html.parser import HTMLParser
from pathlib import Path

import nbformat
import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

import helpers
from helpers import clinic, record_code
from helpers.clinic import case, find, messages, topics
from helpers.lessons.clinic import ALSO_CALLED, LESSONS, MESSAGES, TAUGHT_IN

ROOT = Path(__file__).parents[1]
BANK = {
    entry["id"]: entry
    for entry in map(
        json.loads,
        (Path(helpers.__file__).parent / "lessons" / "questions.jsonl")
        .read_text(encoding="utf-8")
        .splitlines(),
    )
}
every_question = pytest.mark.parametrize("question", BANK)
PAGES = {
    "topics": topics,
    "messages": messages,
    "case": lambda: case("version-counter"),
    "find": lambda: find("a < b & element 0 <script>"),
    "nothing": lambda: find(""),
}
every_page = pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)


class Reader(HTMLParser):
    """Whether the tags of a page close, and the text between them."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.words = [], [], ""

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words += data


def read(page):
    reader = Reader()
    reader.feed(page.html)
    assert reader.open == []
    return reader


def found(symptom):
    """The ids that a search gives, in its order."""
    return re.findall(r"(?m)^\d+\. ([a-z0-9A-Z-]+) \(", find(symptom).text)


def block(text, begin, end):
    """The lines of a text between two lines."""
    return text.split(f"\n{begin}\n")[1].split(f"\n{end}")[0]


# -- every card


@every_question
def test_a_card_shows_the_program(question):
    shown = re.findall(r"(?m)^  [ \d]\d  ?(.*)$", case(question).text)
    code = [line.rstrip() for line in BANK[question]["code"].splitlines()]
    assert [s.strip() for s in shown[: len(code)]] == [c.strip() for c in code]


@every_question
def test_a_card_shows_what_the_bank_says_is_printed(question):
    shown = block(case(question).text, "It prints:", "The recorder says:")
    printed = "\n".join(line[2:] for line in shown.splitlines())
    for part in BANK[question]["prints"]:
        for line in part.splitlines():
            assert line.rstrip() in printed


@every_question
def test_a_card_shows_the_answer(question):
    said = " ".join(case(question).text.split())
    assert " ".join(BANK[question]["answer"].split()) in said


@every_question
def test_a_card_has_a_diagnosis(question):
    said = block(case(question).text, "The recorder says:", "Answer:")
    assert len(said.split()) >= 5


@every_question
def test_a_card_tells_every_problem(question):
    problems = record_quietly(BANK[question]["code"]).problems
    said = " ".join(case(question).text.split())
    assert [p for p in problems if " ".join(str(p).split()) not in said] == []


def record_quietly(code):
    with (
        torch.random.fork_rng(devices=[]),
        warnings.catch_warnings(),
        clinic.contextlib.redirect_stdout(clinic.io.StringIO()),
    ):
        warnings.simplefilter("ignore")
        return record_code(code, {})


@every_question
def test_a_card_names_its_lesson(question):
    stem = TAUGHT_IN[BANK[question]["topic"]]
    assert f"{LESSONS[stem]} ({stem}.ipynb)" in (
        " ".join(case(question).text.split())
    )


@every_question
def test_a_card_is_html_without_links_and_scripts(question):
    tags = read(case(question)).tags
    assert {tag for tag, _ in tags} & {"a", "script", "img", "link"} == set()
    assert "://" not in case(question).html


@every_question
def test_a_card_says_the_same_as_html(question):
    entry = BANK[question]
    said = "".join(read(case(question)).words.split())
    for part in (entry["code"], entry["answer"], entry["source"]):
        lines = [line.replace("`", "") for line in part.splitlines()]
        assert all("".join(line.split()) in said for line in lines)


@every_question
def test_a_card_folds_what_is_to_be_guessed(question):
    page = case(question).html
    assert page.index("Guess first") < page.index("<details")
    assert page.count("<details") == 3


@every_question
def test_a_search_for_the_question_finds_it(question):
    assert question in found(BANK[question]["question"])


@every_question
def test_a_search_for_the_id_finds_it_first(question):
    assert found(question)[0] == question


# -- a card changes nothing


@pytest.fixture
def afresh():
    clinic._examined.cache_clear()
    yield
    clinic._examined.cache_clear()


def test_the_random_state_is_as_before(afresh):
    torch.manual_seed(3)
    before = torch.get_rng_state()
    case("tbptt-detach")
    assert torch.equal(torch.get_rng_state(), before)


def test_nothing_is_printed(afresh, capsys):
    case("backward-twice")
    assert capsys.readouterr() == ("", "")


def test_the_warning_filters_are_as_before(afresh):
    before = list(warnings.filters)
    case("clone-requires-grad")
    assert warnings.filters == before


def test_the_callers_variables_are_not_seen(afresh):
    x = torch.ones(3)
    case("detach-shares-storage")
    assert x.tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_a_card_is_the_same_under_another_mode(afresh, mode):
    before = case("detach-then-backward").text
    clinic._examined.cache_clear()
    with mode():
        assert case("detach-then-backward").text == before


def test_a_card_is_the_same_in_a_recording(afresh):
    before = case("detach-then-backward").text
    clinic._examined.cache_clear()
    space = {"case": case}
    recording = record_code("page = case('detach-then-backward')", space)
    assert recording.error is None
    assert space["page"].text == before


def test_a_program_that_raises_shows_the_error(monkeypatch, afresh):
    entry = dict(BANK["backward-twice"], code="1 / 0", prints=())
    monkeypatch.setitem(clinic._bank(), "backward-twice", clinic.Case(**entry))
    assert "ZeroDivisionError: division by zero" in case("backward-twice").text


def test_a_program_under_html_is_text(monkeypatch, afresh):
    code = "print('<script>&</script>')"
    entry = dict(BANK["backward-twice"], code=code, prints=())
    monkeypatch.setitem(clinic._bank(), "backward-twice", clinic.Case(**entry))
    assert "script" not in [t for t, _ in read(case("backward-twice")).tags]
    assert "<script>&</script>" in read(case("backward-twice")).words


def test_an_unknown_id_names_those_like_it():
    with pytest.raises(KeyError, match=r"like it are: .*backward-twice"):
        case("backwards-twice")


def test_a_part_of_an_id_names_those_that_have_it():
    with pytest.raises(KeyError, match="bn-momentum-zero"):
        case("bn")


@pytest.mark.parametrize("id", ["", "zzzz", 3, None, ["x"]])
def test_an_id_like_none_says_where_all_are(id):
    with pytest.raises(KeyError, match=r"topics\(\) shows all"):
        case(id)


# -- the pages


@every_page
def test_a_page_has_html_that_closes(page):
    assert read(page()).words.strip()


@every_page
def test_a_page_has_text_in_short_lines(page):
    # a program and what it prints keep their lines
    text = page().text.split("The recorder says:")[-1]
    assert [n for n in text.splitlines() if len(n) > 79] == []


@every_page
def test_a_page_has_an_alt_text(page):
    assert len(page().alt) > 20


@every_page
def test_a_page_is_shown_as_both(page):
    shown = page()._repr_mimebundle_()
    assert set(shown) == {"text/html", "text/plain"}


@every_page
def test_a_page_can_be_saved(page, tmp_path):
    path = page().save(tmp_path / "page.html")
    assert "<!DOCTYPE html>" in path.read_text(encoding="utf-8")


@every_page
def test_a_page_needs_neither_script_nor_network(page):
    reader = read(page())
    assert {t for t, _ in reader.tags} & {"a", "script", "img"} == set()
    assert all("href" not in a and "src" not in a for _, a in reader.tags)


def test_a_symptom_is_escaped():
    assert "<script>" in html.unescape(find("zq <script>zq").html)
    assert "<script>" not in find("zq <script>zq").html


# -- topics and lessons


@every_question
def test_the_topics_list_every_question(question):
    assert re.search(rf"\b{question}\b", topics().text)


@pytest.mark.parametrize("topic", sorted({e["topic"] for e in BANK.values()}))
def test_every_topic_says_how_many(topic):
    count = sum(entry["topic"] == topic for entry in BANK.values())
    assert f"\n{topic} ({count}), lesson " in topics().text


def test_every_topic_has_a_lesson():
    assert set(TAUGHT_IN) == {entry["topic"] for entry in BANK.values()}


def test_other_names_belong_to_topics():
    assert set(ALSO_CALLED) <= set(TAUGHT_IN)


@pytest.mark.parametrize(
    "stem", sorted({*TAUGHT_IN.values(), *(m.lesson for m in MESSAGES)})
)
def test_every_lesson_exists(stem):
    assert (ROOT / "notebooks" / f"{stem}.ipynb").exists()


@pytest.mark.parametrize("stem", LESSONS)
def test_every_lesson_is_called_as_it_is(stem):
    path = ROOT / "notebooks" / f"{stem}.ipynb"
    first = nbformat.read(path, as_version=4).cells[0].source
    assert first.splitlines()[0] == f"# {LESSONS[stem]}"


# -- torch's messages: each is raised by a program


def leaf():
    return torch.tensor([1.0, 2.0], requires_grad=True)


def twice():
    loss = leaf().exp().sum()
    loss.backward()
    loss.backward()


def change_what_was_saved():
    y = leaf().exp()
    y += 1
    y.sum().backward()


def add_to(x):
    x += 1


def write_into_a_view_from_no_grad():
    x = leaf() * 1
    with torch.no_grad():
        view = x[:1]
    view += 1


def write_into_rows():
    for row in torch.ones(2, 2, requires_grad=True) * 1:
        add_to(row)


def freeze_a_result():
    y = leaf() * 2
    y.requires_grad = False


def save_an_inference_tensor():
    with torch.inference_mode():
        c = torch.ones(2) * 3
    return leaf() * c


def assign_a_tensor():
    nn.Linear(2, 1).weight = torch.ones(1, 2)


def copy_another_shape():
    with torch.no_grad():
        nn.Linear(3, 1).weight.copy_(torch.ones(2, 2))


def load_another_shape():
    state = {"weight": torch.ones(2)}
    nn.Linear(2, 3, bias=False).load_state_dict(state)


# the beginning of a message -> what raises it
RAISED = {
    "element 0 of tensors": lambda: leaf().detach().sum().backward(),
    "Trying to backward": twice,
    "grad can be implicitly": lambda: (leaf() * 2).backward(),
    "one of the variables": change_what_was_saved,
    "a leaf Variable": lambda: leaf().add_(1),
    "a view of a leaf": lambda: add_to(leaf()[:1]),
    "A view was created": write_into_a_view_from_no_grad,
    "Output 0 of Unbind": write_into_rows,
    "unsupported operation": lambda: add_to(torch.zeros(1, 2).expand(3, 2)),
    "view size": lambda: torch.arange(12).view(3, 4)[:, :2].view(6),
    "you can only change": freeze_a_result,
    "can't retain_grad": lambda: torch.ones(2).retain_grad(),
    "The .grad attribute": lambda: (leaf() * 2).grad,
    "Only Tensors of": lambda: torch.arange(3, requires_grad=True),
    "The differentiated Tensor": lambda: torch.autograd.grad(
        leaf().sum(), leaf()
    ),
    "'NoneType' object": lambda: leaf().grad.zero_(),
    "'float' object": lambda: leaf().sum().item().backward(),
    "a Tensor with 2 elements": lambda: leaf().item(),
    "Can't call numpy()": lambda: leaf().numpy(),
    "Can't detach views": lambda: leaf()[:1].detach_(),
    "Only Tensors created": lambda: copy.deepcopy(leaf() * 2),
    "To copy construct": lambda: torch.tensor(leaf() * 2),
    "Inference tensors": save_an_inference_tensor,
    "None of the inputs": lambda: checkpoint(
        nn.Linear(2, 1), torch.ones(1, 2), use_reentrant=True
    ),
    "can't optimize": lambda: torch.optim.SGD([leaf() * 2], lr=0.1),
    "cannot assign": assign_a_tensor,
    "The size of tensor a": copy_another_shape,
    "size mismatch": load_another_shape,
}


def said_by(work):
    """What torch says: the error, or the warnings."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            work()
        except Exception as error:
            return error
    return warned[-1].message


@pytest.mark.parametrize("begin", RAISED)
def test_a_program_that_raises_has_its_message(begin):
    assert len([m for m in MESSAGES if m.text.startswith(begin)]) == 1


@pytest.mark.parametrize("message", MESSAGES, ids=lambda m: m.text[:24])
def test_torch_says_it_word_for_word(message):
    (work,) = [w for b, w in RAISED.items() if message.text.startswith(b)]
    said = said_by(work)
    assert type(said).__name__ == message.kind
    # the numbers of a shape are only an example
    shown = re.sub(r"\d+", "#", str(said))
    assert re.sub(r"\d+", "#", message.text) in shown


@pytest.mark.parametrize("message", MESSAGES, ids=lambda m: m.text[:24])
def test_the_exception_finds_its_question(message):
    (work,) = [w for b, w in RAISED.items() if message.text.startswith(b)]
    page = find(said_by(work))
    assert f"What helps: {message.fix}" in " ".join(page.text.split())
    assert found(said_by(work))[:1] == [message.question] * bool(
        message.question
    )


@pytest.mark.parametrize("message", MESSAGES, ids=lambda m: m.text[:24])
def test_the_message_table_has_a_question_of_the_bank(message):
    assert message.question in {"", *BANK}
    assert f'case("{message.question or "element-0-meaning"}")' in (
        messages().text
    )


@pytest.mark.parametrize("message", MESSAGES, ids=lambda m: m.text[:24])
def test_the_message_table_shows_it_and_what_helps(message):
    said = " ".join(messages().text.split())
    assert f"{message.kind}: {message.text} What helps: {message.fix}" in said


# -- what people paste and what they ask


@pytest.mark.parametrize(
    ("symptom", "question"),
    [
        (
            "Traceback (most recent call last):\n"
            '  File "train.py", line 88, in <module>\n'
            "    loss.backward()\n"
            "RuntimeError: one of the variables needed for gradient "
            "computation has been modified by an inplace operation: "
            "[torch.cuda.FloatTensor [64, 128, 3, 3]] is at version 7; "
            "expected version 6 instead. Hint: enable anomaly detection",
            "version-counter",
        ),
        (
            "a leaf Variable that requires grad has been used in an in-place "
            "operation.",
            "leaf-inplace-error",
        ),
        (
            "Trying to backward through the graph a second time, but the "
            "buffers have already been freed. Specify retain_graph=True",
            "backward-twice",
        ),
        (
            "TypeError: cannot assign 'torch.cuda.HalfTensor' as parameter "
            "'bias' (torch.nn.Parameter or None expected)",
            "set-weights-right-way",
        ),
        (
            "RuntimeError: The size of tensor a (512) must match the size of "
            "tensor b (64) at non-singleton dimension 3",
            "copy-broadcasts",
        ),
        (
            "RuntimeError: Error(s) in loading state_dict for ResNet:\n"
            "\tsize mismatch for fc.weight: copying a param with shape "
            "torch.Size([10]) from checkpoint, the shape in current model is "
            "torch.Size([1000, 2048]).",
            "copy-broadcasts",
        ),
        (
            "RuntimeError: Output 3 of UnbindBackward0 is a view and is "
            "being modified inplace. This view is the output of a function",
            "unbind-inplace",
        ),
        (
            "RuntimeError: One of the differentiated Tensors appears to not "
            "have been used in the graph. Set allow_unused=True if this is "
            "the desired behavior.",
            "vq-losses",
        ),
        (
            "AttributeError: 'NoneType' object has no attribute 'data'",
            "grad-none-before-backward",
        ),
        (
            "ELEMENT 0 OF TENSORS DOES NOT REQUIRE GRAD",
            "element-0-meaning",
        ),
        ("element 0", "element-0-meaning"),
        ("second time", "backward-twice"),
        ("my frozen layer still moves", "frozen-still-moves"),
        ("batchnorm drifts", "bn-stats-move-when-frozen"),
        ("grad is None after .cuda()", "grad-none-after-cast"),
        ("loss is flat", "loss-rewrapped"),
        ("memory grows every step", "ema-graph-growth"),
        ("CUDA out of memory", "ema-graph-growth"),
        ("numpy changes my weight after detach", "detach-numpy-shares"),
        ("state_dict best epoch", "state-dict-is-a-view"),
        ("straight-through", "round-zero-gradient"),
        ("why is the new parameter not trained by the optimizer", None),
        ("train only B, two networks", "two-nets-A-then-B"),
        ("vectors of from_pretrained not used", "from-pretrained-discarded"),
    ],
)
def test_what_people_paste_finds_a_question(symptom, question):
    assert found(symptom)[0] == (question or "optimizer-keeps-old-parameter")


def test_another_object_without_an_attribute_is_no_known_message():
    page = find("AttributeError: 'Linear' object has no attribute 'spam'")
    assert "What helps" not in page.text


def test_at_most_ten_are_shown():
    assert len(found("grad")) == 10


def test_numbers_do_not_count():
    text = "[torch.FloatTensor [{}]] is at version {}; modified by an inplace"
    assert found(text.format(3, 1)) == found(text.format("64, 7", 12))


def test_each_question_is_found_once():
    assert len(found("element")) == len(set(found("element")))


def test_with_part_of_the_words_it_says_so():
    assert "none with all of the words." in find("zebra hidden state").text


@pytest.mark.parametrize("symptom", ["", "  ", "0 1 2", "?!", "\n"])
def test_an_empty_search_is_one_sentence(symptom):
    said = " ".join(find(symptom).text.split())
    assert said.startswith("There is nothing to look for: ")
    assert said.count(". ") == 0


def test_a_search_that_finds_nothing_says_what_to_do():
    assert " ".join(find("zebra").text.split()) == (
        "Nothing fits 'zebra'. Try fewer words or the last line of the error "
        "message; topics() shows all questions, messages() what torch says. "
        "Or record your program: `with record() as run:`, then run.problems "
        'and run.why_no_grad("x").'
    )


@pytest.mark.parametrize("symptom", [3, None, ["element 0"], torch.ones(2)])
def test_a_symptom_that_is_no_text_raises(symptom):
    with pytest.raises(TypeError, match="the symptom is a"):
        find(symptom)


def test_a_long_paste_is_read_in_a_moment():
    text = "\n".join(f"line {i} word{i} {'x' * i}" for i in range(2000))
    error = "RuntimeError: Can't detach views in-place."
    assert found(f"{text}\n{error}")[0] == "detach-underscore-not-retroactive"
