"""Uses of connectives: places in their sentences, from the first character on."""

import json

import pytest

from longform.datasets.test_suites.sources import read_connective_lines
from tests.refusals import refuses

USE = {"id": "u", "sentence": "Since it rained, he ran.", "begin": 0, "end": 5, "sense": "causal"}


def written(tmp_path, **changes):
    path = tmp_path / "uses.jsonl"
    path.write_text(json.dumps(USE | changes) + "\n")
    return path


def test_a_connective_may_open_its_sentence(tmp_path):
    (use,) = read_connective_lines(written(tmp_path))
    assert USE["sentence"][use.start : use.end] == "Since"
    (use,) = read_connective_lines(written(tmp_path, prev_sentence="He slept."))
    assert use.text[use.start : use.end] == "Since" and use.start == 10


@pytest.mark.parametrize(("begin", "end"), [(-1, 3), (5, 5), (6, 5), (20, 25)])
def test_a_connective_outside_its_sentence_is_refused(begin, end, tmp_path):
    refuses(
        "are not in its sentence", read_connective_lines, written(tmp_path, begin=begin, end=end)
    )


def test_a_connective_may_close_its_sentence(tmp_path):
    (use,) = read_connective_lines(written(tmp_path, begin=20, end=24))
    assert use.text[use.start : use.end] == "ran."
