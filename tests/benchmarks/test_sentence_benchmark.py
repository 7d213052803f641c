"""The splitters' benchmark: what it reads out of a treebank, and how it counts, on three sentences written for it."""

import numpy as np
import pytest

from benchmarks.sentences import bad_starts, f1, measure, read_treebank
from tests.refusals import refuses

CONLLU = """# newdoc id = a
# newpar
# text = It rained.
1\tIt\t_\t_\t_\t_\t_\t_\t_\t_
2-3\trained.\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No
2\trained\t_\t_\t_\t_\t_\t_\t_\t_
3\t.\t_\t_\t_\t_\t_\t_\t_\t_

# text = We left!
1\tWe\t_\t_\t_\t_\t_\t_\t_\t_
2\tleft\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No
3\t!\t_\t_\t_\t_\t_\t_\t_\t_

# newpar
# text = The end
1\tThe\t_\t_\t_\t_\t_\t_\t_\t_
2\tend\t_\t_\t_\t_\t_\t_\t_\t_

# newdoc id = b
# text = Next
1\tNext\t_\t_\t_\t_\t_\t_\t_\t_
"""


@pytest.fixture
def treebank(tmp_path):
    path = tmp_path / "x-ud-test.conllu"
    path.write_text(CONLLU, encoding="utf-8")
    return read_treebank(path)


def test_texts_are_rebuilt_with_paragraphs_and_missing_spaces(treebank):
    assert [text.paragraph_texts() for text in treebank] == [
        ["It rained.We left!", "The end"],
        ["Next"],
    ]
    assert treebank[0].paragraphs == (("It rained.", "We left!"), ("The end",))


def test_counts_are_of_sentences_right_in_both_ends(treebank):
    whole = measure(treebank, lambda text: [text], running=False)
    assert whole.sentences.tolist() == [[1, 2, 3], [1, 1, 1]] and whole.ends.tolist() == [
        [2, 2, 3],
        [1, 1, 1],
    ]
    halves = measure(treebank, lambda text: text.split("!"), running=True)
    assert halves.sentences.tolist() == [[0, 2, 3], [1, 1, 1]] and halves.altered == 1
    assert f1(np.array([2, 3, 4])) == 4 / 7


def test_sentences_that_begin_with_a_comma_are_counted_in_any_file(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text(
        '{"a": [{"b": ", and so.\\n\\nIt rained. We left."}], "c": ["Two.", "Three."]}\n',
        encoding="utf-8",
    )
    assert list(bad_starts(path).values()) == [2, 5, 1]
    refuses("no sentence", read_treebank, path)
