"""The command that counts damaged sentences sees text that a reader drops, and believes no reader that says it dropped none."""

import importlib.util
import sys
from collections import Counter
from pathlib import Path

import mediawiki
import pytest

PROGRAM = Path(__file__).parents[2] / "experiments" / "damaged_sentences.py"
WIKITEXT = """The lake has an area of {{convert|5|km2}} and lies in the north.

It was named in {{strange|5}} by the first mayor of the town.

About 10<sup>6</sup> people live here.{{citation needed}} They like it.
"""


@pytest.fixture(scope="module")
def program():
    spec = importlib.util.spec_from_file_location("damaged_sentences", PROGRAM)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def dump(tmp_path_factory):
    return mediawiki.write(tmp_path_factory.mktemp("dump"), [mediawiki.page(1, "Lake", WIKITEXT)])


def test_a_sentence_with_an_unknown_template_is_struck_and_none_is_damaged(program, dump):
    numbers = program.report(program.measure(dump))
    assert (
        numbers["articles"],
        numbers["sentences"],
        numbers["struck"],
        numbers["damaged_left"],
    ) == (1, 4, 1, 0)
    assert numbers["struck_by"] == {"strange": 1}


def test_what_a_reader_drops_in_silence_is_damage(program, dump, monkeypatch):
    dropping = "The lake has an area of and lies in the north.\nIt was named in by the first mayor of the town.\n"
    text = dropping + "About 106 people live here. They like it."
    monkeypatch.setattr(program, "sections", lambda wikitext, struck: [("abstract", text)])
    numbers = program.report(program.measure(dump))
    assert numbers["damaged_by"] == {"convert": 1, "strange": 1, "<sup>": 1}
    assert (numbers["damaged_left"], numbers["damaged_percent"]) == (3, 75.0)


def test_notes_are_not_text(program):
    occurrences = list(program.occurrences(WIKITEXT))
    assert [occurrence.name for occurrence in occurrences] == ["convert", "strange", "<sup>"]
    assert Counter(occurrence.before[-1] for occurrence in occurrences) == {
        "of": 1,
        "in": 1,
        "10": 1,
    }
