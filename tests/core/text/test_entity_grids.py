"""Grids: the paper's example, the highest role, and the three places that roles come from."""

import numpy as np
import pytest

from longform.core.documents import Document, Section
from longform.core.text.entity_grids import Grid, found_grids, grid_from_mentions, read, spacy_mentions, spacy_role
from longform.core.text.lexicon import Lexicon, closed_links
from longform.core.text.nouns import NounRules
from tests.refusals import refuses

# The running example of lapata2005 (section 3.1) in its own words and roles; two nouns of sentence 3 have no role in print.
PINOCHET = [[("dictator", "O"), ("augusto", "O"), ("pinochet", "O"), ("london", "X"), ("october", "X")],
            [("pinochet", "S"), ("surgery", "X")], [("arrest", "S"), ("judge", "S")],
            [("pinochet", "O"), ("thousands", "O"), ("spaniards", "O")],
            [("pinochet", "S"), ("hearing", "O"), ("fate", "X"), ("balance", "X")],
            [("scholars", "S"), ("arrest", "O")]]  # fmt: skip


def column(grid: Grid, entity: str) -> str:
    return "".join("SOX-"[code] for code in grid.cells[:, grid.entities.index(entity)])


def document(text: str, split: str = "test", name: str = "d") -> Document:
    return Document(name, split, (Section(None, text),))


def test_the_papers_columns_and_the_highest_of_several_mentions():
    mentions = [(i, noun, role) for i, row in enumerate(PINOCHET) for noun, role in row]
    grid = grid_from_mentions("pinochet", "test", 6, mentions)
    assert column(grid, "pinochet") == "OS-OS-"
    assert column(grid, "arrest") == "--S--O"
    assert column(grid, "augusto") == column(grid, "dictator") == "O-----"
    assert column(grid, "balance") == "----X-"
    assert len(grid.entities) == 14
    assert grid.nouns(5) == ["arrest", "scholars"]
    grid = grid_from_mentions(
        "d", "test", 1, [(0, "a", "X"), (0, "a", "S"), (0, "a", "O"), (0, "b", "X"), (0, "b", "O")]
    )
    assert [column(grid, "a"), column(grid, "b")] == ["S", "O"]


@pytest.mark.parametrize("mention", [(0, "a", "-"), (0, "a", "s"), (3, "a", "S"), (-1, "a", "S")])
def test_a_bad_mention_is_named(mention):
    refuses("roles are S, O, X", grid_from_mentions, "d", "test", 3, [mention])


def _nowhere():
    from pathlib import Path

    return Path("no-such-folder")


def test_known_roles_come_from_the_truth_of_the_corpus():
    grids = [
        grid_from_mentions("d", "test", 2, [(0, "a", "S"), (1, "b", "O")]),
        grid_from_mentions("e", "train", 1, []),
    ]
    truth = {"grid": np.concatenate([grid.cells.ravel() for grid in grids]), "grid_lengths": np.array([4, 0]),
             "grid_sentences": np.array([2, 1]), "entity_names": np.array(["a", "b"]),
             "entity_counts": np.array([2, 0])}  # fmt: skip
    documents = [document("A. B.", name="d"), document("C.", "train", "e")]
    readout = read(documents=documents, truth=truth, reader=_nowhere(), roles="truth", splits=["test"])
    assert readout.unit_ids == ("d",)
    assert readout.arrays["cells"].tolist() == grids[0].cells.ravel().tolist()
    refuses("truth lacks", read, documents=documents, truth={}, reader=_nowhere(), roles="truth")


def test_rules_find_roles_deep_ones_of_a_passive_and_nouns_of_a_list():
    mentions = dict(NounRules().mentions("The sailor repaired the boat with a rope."))
    assert mentions == {"sailor": "S", "boat": "O", "rope": "X"}
    mentions = dict(NounRules().mentions("The boat was repaired by the sailor."))
    assert mentions == {"boat": "O", "sailor": "S"}
    [grid] = found_grids([document("It was. He did so too.")], NounRules().mentions)
    assert grid.empty
    assert grid.cells.shape == (2, 0)
    words = ("sailor", "boat", "plan")
    lexicon = Lexicon(words, ("n",) * 3, ("",) * 3, closed_links([]), words, np.arange(3), np.zeros(3, dtype=np.int64))
    mentions = dict(NounRules(lexicon).mentions("The tall sailor hit the boat and the sailors' plan."))
    assert mentions == {"sailor": "S", "boat": "O", "sailors": "O", "plan": "O"}


class Token:
    def __init__(self, i: int, dep: str, pos: str = "NOUN") -> None:
        self.i, self.dep_, self.pos_, self.head = i, dep, pos, self


def test_a_spacy_token_takes_the_deep_role_of_its_phrase_head():
    verb, by, subject, modifier, agent = (
        Token(i, dep) for i, dep in enumerate(["ROOT", "agent", "nsubjpass", "compound", "pobj"])
    )
    verb.pos_ = by.pos_ = "VERB"
    subject.head, modifier.head, by.head, agent.head = verb, subject, verb, by
    assert [spacy_role(token) for token in (subject, modifier, agent)] == ["O", "O", "S"]


def test_bad_input_is_named():
    refuses("allowed are", read, documents=[], truth={}, reader=_nowhere(), roles="guess")
    refuses("not installed", spacy_mentions, "no_such_model")
    refuses("make them agree", Grid, "d", "test", ("a",), np.zeros((2, 2), dtype=np.uint8))
