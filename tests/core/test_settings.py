"""What an entry of parameters may say, and that a wrong one is one sentence with place, value, what is allowed and the nearest name."""

import subprocess
import sys
from typing import Annotated, Literal

import pytest

from longform.errors import ConfigError
from longform.settings import Keys, Number, Settings, parameter, parse, parse_kind


class Pace(Settings):
    rate: Number = parameter("Size of a step.", 0.1, unit="nats", source="section 4", gt=0, le=1)
    rounds: int = parameter("How often.", ge=1)


class Walk(Settings):
    """A walk."""

    steps: int = parameter("Steps.", ge=1)
    sums: list[Number] = parameter("Numbers.", [])
    form: Literal["round", "straight"] = parameter("Its form.", "round")
    pace: Pace | None = parameter("How fast.", None)
    paces: dict[str, Pace] = parameter("How fast on each day.", {})
    counts: Annotated[dict[str, int], Keys("train", "test")] = parameter("By split.", {})
    mixed: int | str = parameter("A number or a name.", 1)


class Place(Settings):
    study: str = parameter("Its study.")


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        ({"steps": 0}, "a.b: steps is 0, allowed is a number from 1; fix params.yaml"),
        ({"steps": 1.5}, "a.b: steps is 1.5, allowed is a whole number; fix params.yaml"),
        ({"steps": True}, "a.b: steps is True, allowed is a whole number; fix params.yaml"),
        ({}, "a.b lacks ['steps']; add them to params.yaml"),
        (
            {"steps": 1, "fomr": "round"},
            "a.b has 'fomr' (near: form); allowed are ['counts', 'form', 'mixed', 'pace', 'paces', "
            "'steps', 'sums']; fix params.yaml",
        ),
        (
            {"stesp": 1},  # the misspelt name, not the missing one
            "a.b has 'stesp' (near: steps); allowed are ['counts', 'form', 'mixed', 'pace', "
            "'paces', 'steps', 'sums']; fix params.yaml",
        ),
        (
            {"steps": 1, "form": "long"},
            "a.b: form is 'long', allowed is 'round' or 'straight'; fix params.yaml",
        ),
        (
            {"steps": 1, "pace": {"rounds": 1, "rat": 1}},
            "a.b.pace has 'rat' (near: rate); allowed are ['rate', 'rounds']; fix params.yaml",
        ),
        (
            {"steps": 1, "paces": {"monday": {"round": 1}}},
            "a.b.paces.monday has 'round' (near: rounds); allowed are ['rate', 'rounds']; "
            "fix params.yaml",
        ),
        (
            {"steps": 1, "pace": {"rounds": 1, "rate": 0}},
            "a.b.pace: rate is 0, allowed is a number above 0; fix params.yaml",
        ),
        (
            {"steps": 1, "pace": 3},
            "a.b: pace is 3, allowed is a mapping of settings; fix params.yaml",
        ),
        (
            {"steps": 1, "counts": {"trian": 2}},
            "a.b.counts: got 'trian' (near: train), allowed are ['train', 'test']; fix params.yaml",
        ),
        (
            {"steps": 1, "mixed": 1.5},
            "a.b: mixed is 1.5, allowed is a whole number or a text; fix params.yaml",
        ),
        ({"steps": 1, "sums": 2}, "a.b: sums is 2, allowed is a list; fix params.yaml"),
        (7, "a.b is 7, allowed is a mapping of settings; fix params.yaml"),
    ],
)
def test_a_wrong_entry_is_one_sentence(entry, sentence):
    with pytest.raises(ConfigError) as raised:
        parse(Walk, entry, "a.b")
    assert str(raised.value) == sentence


def test_numbers_stay_as_they_were_written():
    walk = parse(Walk, {"steps": 2, "sums": [0, 0.5, 1]}, "a.b")
    assert [repr(number) for number in walk.sums] == ["0", "0.5", "1"]
    assert walk.given() == {"steps": 2, "sums": [0, 0.5, 1]}


def test_a_kind_chooses_the_settings_beside_a_placement():
    entry = {"kind": "walk", "study": "hills", "steps": 3}
    placed, walk = parse_kind({"walk": Walk}, Place, entry, "a.b")
    assert (placed.study, walk.steps) == ("hills", 3)


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        ({"study": "hills"}, "a.b lacks 'kind'; allowed are ['walk']; fix params.yaml"),
        (
            {"kind": "wlak"},
            "a.b: kind is 'wlak' (near: walk), allowed are ['walk']; fix params.yaml",
        ),
        ({"kind": "walk", "steps": 1}, "a.b lacks ['study']; add them to params.yaml"),
        ([], "a.b is [], allowed is a mapping of settings; fix params.yaml"),
    ],
)
def test_a_wrong_kind_or_placement_is_one_sentence(entry, sentence):
    with pytest.raises(ConfigError) as raised:
        parse_kind({"walk": Walk}, Place, entry, "a.b")
    assert str(raised.value) == sentence


def test_the_schema_says_range_unit_source_and_meaning():
    rate = Pace.model_json_schema()["properties"]["rate"]
    assert rate == {
        "default": 0.1,
        "description": "Size of a step. Unit: nats. Source: section 4.",
        "exclusiveMinimum": 0,
        "maximum": 1,
        "title": "Rate",
        "type": "number",
    }


def test_the_library_is_imported_without_pydantic():
    program = (
        "import sys, longform, longform.critics.section_order.score, longform.documents\n"
        "assert 'pydantic' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
