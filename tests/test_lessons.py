"""Rules that every lesson keeps, one rule a test over all notebooks."""

from __future__ import annotations

import ast
import itertools
import json
import re
import runpy
import statistics
from pathlib import Path

import nbformat
import pytest

from helpers import record_code
from helpers.exercises import check
from helpers.lessons import EXERCISES, QUESTIONS

ROOT = Path(__file__).parents[1]
BANK = {
    json.loads(line)["id"]
    for line in (ROOT / "helpers" / "lessons" / "questions.jsonl")
    .read_text(encoding="utf-8")
    .splitlines()
}
PATHS = sorted((ROOT / "notebooks").glob("*.ipynb"))
LESSON = pytest.mark.parametrize("path", PATHS, ids=lambda p: p.stem)
# The first notebook only shows how the others work.
TAUGHT = pytest.mark.parametrize(
    "path", [p for p in PATHS if p.stem[:2] != "00"], ids=lambda p: p.stem
)


def cells(path, kind=None):
    found = nbformat.read(path, as_version=4).cells
    return [c for c in found if kind in (None, c.cell_type)]


def lines(cell):
    return [line for line in cell.source.splitlines() if line.strip()]


def headings(path):
    found = []
    for cell in cells(path, "markdown"):
        found += re.findall(r"^(#+) (.+)$", cell.source, flags=re.MULTILINE)
    return found


def prose(path):
    text = "\n".join(c.source for c in cells(path, "markdown"))
    return re.sub(r"```.*?```", "", text, flags=re.DOTALL)


def solutions(path):
    """Pairs of an exercise cell and the code that solves it."""
    found = cells(path)
    pairs = []
    for exercise, after in itertools.pairwise(found):
        if "exercise" in exercise.metadata.get("tags", []):
            assert "solution" in after.metadata["tags"]
            (code,) = re.findall(r"```python\n(.*?)```", after.source, re.S)
            pairs.append((exercise, code))
    return pairs


def test_there_are_lessons():
    assert len(PATHS) >= 4


@LESSON
def test_12_to_25_cells(path):
    fewest = 12 if path.stem[:2] != "00" else 8
    assert fewest <= len(cells(path)) <= 25


@LESSON
def test_at_most_8_lines_of_code_in_a_cell(path):
    for cell in cells(path, "code"):
        assert len(lines(cell)) <= 8 or "exercise" in cell.metadata.tags, (
            cell.id
        )


@LESSON
def test_half_of_the_code_cells_have_at_most_4_lines(path):
    counts = [len(lines(cell)) for cell in cells(path, "code")]
    assert statistics.median(counts) <= 4


@LESSON
def test_code_fits_on_a_slide(path):
    for cell in cells(path, "code"):
        assert max(map(len, cell.source.splitlines())) <= 72, cell.id


@LESSON
def test_one_h1_and_no_level_is_skipped(path):
    levels = [len(marks) for marks, _ in headings(path)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b - a <= 1 for a, b in itertools.pairwise(levels))


@LESSON
def test_the_title_begins_with_a_verb(path):
    title = headings(path)[0][1]
    assert title.split()[0] in {
        *("Start", "Tell", "Follow", "Choose", "Hold", "Run", "Freeze"),
        *("Split", "Write", "Switch", "Set", "Put", "Meet", "Bring"),
    }


@LESSON
def test_minutes_and_at_most_3_objectives(path):
    title = cells(path)[0].source
    minutes = int(re.search(r"\*\*(\d+) minutes\.\*\*", title)[1])
    objectives = re.findall(r"^- (\w+)", title, flags=re.MULTILINE)
    assert minutes <= 30
    assert 1 <= len(objectives) <= 3
    assert set(objectives) <= {
        "predict",
        "choose",
        "fix",
        "find",
        "repair:",
    } | {"repair"}


@LESSON
def test_the_notebook_brings_nothing_from_outside(path):
    for cell in cells(path):
        assert "://" not in cell.source, cell.id
        magic = re.findall(r"^\s*([!%].*)", cell.source, re.M)
        assert set(magic) <= {"%load_ext helpers", "%%steps"}, cell.id
        for output in cell.get("outputs", []):
            page = output.get("data", {}).get("text/html", "")
            assert not re.search(r'(src|href)="(?!data:)', page), cell.id


@LESSON
def test_one_or_two_import_lines(path):
    first = cells(path, "code")[0].source
    helpers = [n for n in first.splitlines() if "from helpers" in n]
    assert 1 <= len(helpers) <= 2
    for cell in cells(path, "code")[1:]:
        assert "import " not in cell.source, cell.id


@LESSON
def test_no_address_and_no_clock_in_an_output(path):
    for cell in cells(path, "code"):
        for output in cell.outputs:
            text = output.get("text") or output["data"]["text/plain"]
            assert not re.search(r"0x[0-9a-f]{6,}|\d\d:\d\d:\d\d", text)
            assert output.get("name") != "stderr", cell.id


@LESSON
def test_every_picture_has_an_alt_text(path):
    for cell in cells(path, "code"):
        for output in cell.outputs:
            page = output.get("data", {}).get("text/html", "")
            pictures = re.findall(r"<img [^>]*>", page)
            assert all(re.search(r'alt="[^"]{20,}', p) for p in pictures)


@TAUGHT
def test_a_question_from_memory_comes_first(path):
    first = cells(path, "code")[0].source
    assert re.search(r'predict\("[a-z-]+-recall"\)', first)


@TAUGHT
def test_a_recap_three_recall_questions_and_the_next_lesson(path):
    last = cells(path)[-1].source
    assert "## Recap" in last
    assert last.count("<details>") == 3
    assert "**Next:**" in last


@LESSON
def test_the_next_lesson_exists(path):
    found = re.search(r"\*\*Next:\*\* \*(.+)\*\.$", cells(path)[-1].source)
    titles = [headings(p)[0][1] for p in PATHS]
    assert found is None or found[1] in titles


@LESSON
def test_no_word_that_talks_down(path):
    words = r"\b(simply|just|obviously|trivial\w*|of course|easy to see)\b"
    assert not re.findall(words, prose(path), re.I)


@LESSON
def test_every_cell_has_an_id_of_its_own_that_says_something(path):
    ids = [cell.id for cell in cells(path)]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"[a-z][a-z0-9-]{2,}", i) for i in ids)


@LESSON
def test_every_cell_says_what_it_is_on_a_slide(path):
    kinds = {"slide", "subslide", "fragment", "skip", "notes", "-"}
    for cell in cells(path):
        assert cell.metadata.slideshow.slide_type in kinds, cell.id


@LESSON
def test_expected_errors_go_through_the_helper(path):
    for cell in cells(path, "code"):
        assert "raises-exception" not in cell.metadata.get("tags", [])
        assert "try:" not in cell.source


@TAUGHT
def test_a_worked_example_and_two_or_three_exercises(path):
    text = prose(path)
    assert re.search(r"^## Worked", text, re.M)
    efforts = re.findall(r"\((\d+) minutes, (easy|medium|hard)\)", text)
    assert len(efforts) == len(solutions(path))
    assert len(efforts) in (2, 3)


@LESSON
def test_the_efforts_said_are_those_of_the_checks(path):
    said = re.findall(r"\((\d+) minutes, (\w+)\)", prose(path))
    names = [_checked(exercise.source) for exercise, _ in solutions(path)]
    known = [
        (str(EXERCISES[n].minutes), EXERCISES[n].difficulty) for n in names
    ]
    assert said == known


def _checked(source):
    return re.search(r'check\("([a-z-]+)"', source)[1]


@LESSON
def test_no_solution_line_stands_in_the_exercise(path):
    for exercise, code in solutions(path):
        given = set(lines(exercise))
        new = [n for n in code.splitlines() if n.strip() and n not in given]
        assert new, exercise.id


@LESSON
def test_untouched_a_check_says_not_done_yet(path):
    for exercise, _ in solutions(path):
        text = exercise.outputs[0]["data"]["text/plain"]
        assert ": not done yet (" in text, exercise.id


@LESSON
def test_with_the_solutions_every_check_says_correct(path):
    space = {}
    solved = {e.id: code for e, code in solutions(path)}
    for cell in cells(path, "code"):
        source = solved.get(cell.id, cell.source)
        value = run(source, space)
        if cell.id in solved:
            assert ": correct: " in str(value), str(value)


def run(source, space):
    """Run a cell's code and return its last value, as a notebook does."""
    if source.startswith("%%steps"):
        space["recording"] = record_code(source.partition("\n")[2], space)
        return None
    source = re.sub(r"^%load_ext helpers\n", "", source)
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "<cell>", "exec"), space)
    if last is None:
        return None
    return eval(compile(ast.Expression(last.value), "<cell>", "eval"), space)


@LESSON
def test_every_prediction_exists_and_is_asked_once(path):
    asked = re.findall(r'predict\("([^"]+)"\)', str(cells(path)))
    fewest = 4 if path.stem[:2] != "00" else 1
    assert len(asked) == len(set(asked)) >= fewest
    assert set(asked) <= set(QUESTIONS)


def test_every_question_is_asked_in_a_lesson():
    text = "".join(p.read_text(encoding="utf-8") for p in PATHS)
    assert [q for q in QUESTIONS if f'predict(\\"{q}\\")' not in text] == []


def test_every_exercise_is_in_a_lesson():
    text = "".join(p.read_text(encoding="utf-8") for p in PATHS)
    assert [e for e in EXERCISES if f'check(\\"{e}\\"' not in text] == []


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)
def test_one_option_is_right(question):
    assert [o.right for o in question.options].count(True) == 1
    assert 3 <= len(question.options) <= 4


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)
def test_every_wrong_option_was_seen_in_public(question):
    seen = [o.seen for o in question.options if not o.right]
    assert set(seen) <= BANK


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)
def test_every_option_answers_back(question):
    assert all(len(o.reason) > 20 for o in question.options)


def test_the_right_option_is_not_always_at_the_same_place():
    places = [
        [o.right for o in q.options].index(True) for q in QUESTIONS.values()
    ]
    assert max(map(places.count, set(places))) <= 0.6 * len(places)


# What students answer: for each exercise code that is wrong, and the words
# by which the check names that mistake.
WRONG = {
    exercise: cases
    for path in sorted((ROOT / "tests" / "wrong_answers").glob("*.py"))
    for exercise, cases in runpy.run_path(str(path))["WRONG"].items()
}
HELP = "import copy, torch\nloss = lambda x, w: (x @ w).sigmoid().mean()\n"


@pytest.mark.parametrize(
    ("exercise", "code", "says"),
    [(e, *case) for e, cases in WRONG.items() for case in cases],
)
def test_a_check_names_the_mistake(exercise, code, says):
    (cell,) = [
        c
        for path in PATHS
        for c, _ in solutions(path)
        if _checked(c.source) == exercise
    ]
    (path,) = [p for p in PATHS if cell.id in [c.id for c in cells(p)]]
    space = {}
    for c in cells(path, "code"):
        if c.id in ("imports", "networks", "setup"):
            run(c.source, space)
    exec(HELP, space)
    source = re.sub(r"# your .*", code, cell.source)
    source = re.sub(
        r"^\w+ = \.\.\.( *#.*)?$", lambda _: code, source, flags=re.M
    )
    if "def " in source:
        source = f"{code}\ncheck({exercise!r}, f)"
    assert says in str(run(source, space))


def test_every_exercise_has_two_wrong_answers():
    assert {e for e, cases in WRONG.items() if len(cases) >= 2} == set(
        EXERCISES
    )


def test_a_check_never_raises():
    def rude(*args):
        raise KeyboardInterrupt if not args else ValueError("no\nway")

    assert str(check("clone-leaf", rude)) == (
        "clone-leaf: not yet: your code raised ValueError: no"
    )


def told_and_shown(path):
    """What the code of a notebook says, and what its outputs show."""
    parts = []
    for cell in cells(path, "code"):
        parts.append(cell.source)
        for output in cell.outputs:
            parts.append(output.get("text") or output["data"]["text/plain"])
    return "\n".join(parts)


def said(path):
    """The prose after the title, without headings, code and claims' ids."""
    text = "\n".join(c.source for c in cells(path, "markdown")[1:])
    text = re.sub(r"```.*?```", "", text, flags=re.S)
    text = re.sub(r"^#.*$", "", text, flags=re.M)
    return re.sub(r"\bD[12]\.\d+", "", text)


@TAUGHT
def test_every_number_in_the_prose_stands_in_code_or_output(path):
    shown = told_and_shown(path)
    numbers = re.findall(r"(?<![\w.])\d+(?:\.\d+)?(?!\w)", said(path))
    assert [
        n
        for n in numbers
        if not re.search(rf"(?<![\d.]){re.escape(n)}(?:\.0*)?(?!\d)", shown)
    ] == []


@LESSON
def test_every_message_in_the_prose_stands_in_code_or_output(path):
    shown = told_and_shown(path)
    quoted = re.findall(r'"([^"`\s][^"\n]{10,})"', said(path))
    assert [m for m in quoted if m.rstrip(".:…") not in shown] == []


def test_every_claim_of_the_two_texts_is_in_a_lesson():
    text = "".join(
        cell.source
        for path in PATHS
        for cell in cells(path)
        if not path.stem.endswith("_on_trial")
    )
    claims = [f"D1.{i}" for i in range(1, 16)]
    claims += [f"D2.{i}" for i in range(1, 21)]
    taught = set(re.findall(r"\bD[12]\.\d+", text))
    assert [c for c in claims if c not in taught] == []


def test_there_are_five_panels_and_five_orders():
    sources = [c.source for path in PATHS for c in cells(path, "code")]
    text = "\n".join(sources)
    assert len(re.findall(r"^what_if\(", text, re.M)) >= 5
    assert len(re.findall(r"^arrange\(", text, re.M)) >= 5


@LESSON
def test_no_picture_without_a_text(path):
    for cell in cells(path, "code"):
        for output in cell.outputs:
            if "text/html" in output.get("data", {}):
                assert output["data"]["text/plain"].strip(), cell.id
