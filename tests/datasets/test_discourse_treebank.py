"""Connectives of texts in the Penn Discourse Treebank's format, as GUM has it."""

import pytest

from longform.datasets.test_suites.native import build
from longform.datasets.test_suites.sources import read_discourse_treebank
from tests.refusals import refuses

TEXT = "He slept . She did n't leave , since it rained . They ate ."
# since at 31..36, arguments 11..28 and 37..46
SINCE = "Explicit|31..36||||||since|Contingency.Cause.Reason||||||11..28||||||37..46|||||||||||31..36|x|"
TEMPORAL = SINCE.replace("Contingency.Cause.Reason", "Temporal.Asynchronous.Succession")


def folder(tmp_path, *lines, text=TEXT):
    for name, content in (("raw", text), ("gold", "\n".join(lines) + "\n")):
        place = tmp_path / name / "00"
        place.mkdir(parents=True)
        (place / "one").write_text(content, encoding="utf-8")
    return tmp_path


def test_a_use_has_its_sentences_and_the_one_before(tmp_path):
    (use,) = read_discourse_treebank(folder(tmp_path, SINCE))
    assert use.text == "He slept. She didn't leave, since it rained."
    assert use.text[use.start : use.end] == "since"
    assert (use.use_id, use.connective, use.sense) == ("one-1", "since", "causal")


@pytest.mark.parametrize(
    "line",
    [
        SINCE.replace("Explicit", "Implicit"),
        SINCE.replace("|31..36||", "|||", 1),
        SINCE.replace("|31..36||", "|31..33;34..36||", 1),
    ],
)
def test_what_is_no_connective_in_one_place_is_left_out(line, tmp_path):
    assert read_discourse_treebank(folder(tmp_path, line)) == []


def test_masked_texts_are_left_out(tmp_path):
    masked = "".join(letter if letter == " " else "_" for letter in TEXT)
    assert read_discourse_treebank(folder(tmp_path, SINCE, text=masked)) == []


def test_a_line_without_places_is_refused_by_its_number(tmp_path):
    broken = folder(tmp_path, SINCE, "Explicit|a..b||||||as|Temporal.Synchronous")
    refuses("one:2: no explicit relation", read_discourse_treebank, broken)


def test_a_folder_without_texts_is_refused(tmp_path):
    refuses("no text below raw", read_discourse_treebank, tmp_path)


def test_only_the_connectives_that_are_named_are_replaced(tmp_path):
    folder(tmp_path / "gum", SINCE, TEMPORAL, SINCE.replace("|since|", "|as|"))
    given = {"name": "n", "seed": 1, "raw": tmp_path, "sources": {"connectives": "gum"}}
    assert len(build(**given, replaced=["since"]).documents) == len(build(**given).documents) > 0
    assert build(**given, replaced=["while"]).documents == []


@pytest.mark.parametrize(
    ("second", "shown"), [("32..44", "fell."), ("32..46", "fell."), ("32..47", "fell. He ran.")]
)
def test_a_use_ends_with_the_sentence_in_which_its_last_argument_ends(tmp_path, second, shown):
    text = "Ann ate . Bob slept . She left as rain fell . He ran . He hid ."
    line = f"Explicit|31..33||||||as|Temporal.Synchronous||||||22..30||||||{second}|||||||||||31..33|x|"
    (use,) = read_discourse_treebank(folder(tmp_path, line, text=text))
    assert use.text == f"Bob slept. She left as rain {shown}"
    assert use.text[use.start : use.end] == "as"


def test_a_use_in_the_first_sentence_has_none_before(tmp_path):
    text = "She left as rain fell . He ran ."
    line = "Explicit|9..11||||||as|Temporal.Synchronous||||||0..8||||||12..21|||||||||||9..11|x|"
    (use,) = read_discourse_treebank(folder(tmp_path, line, text=text))
    assert (use.text, use.start, use.end) == ("She left as rain fell.", 9, 11)
