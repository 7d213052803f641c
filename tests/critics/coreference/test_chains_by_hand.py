"""Chains of persons as they are written, gold mentions and the scores of clusters, by hand."""

import numpy as np
import pytest

from longform.critics.coreference import agreement, chains, own_texts
from longform.critics.coreference.agreement import COLUMNS, ChainAgreement, ReadClusters
from longform.critics.coreference.chains import (
    GivenMentions,
    Mention,
    gold_mentions,
    read_with,
)
from longform.critics.coreference.person_chains import PersonChain, person_chains
from longform.documents import Document, Section
from longform.text.rendering import pack
from tests.refusals import refuses

TEXT = "Anna Lee met Tom. She left him, Anna: it is a film."  # to the paper's filter
ANNA, TOM = Mention(0, 8, 4, True, gender="FEMALE"), Mention(13, 16, 7, True)
SHE, HIM = Mention(18, 21, 4), Mention(27, 30, 7)
LAST = Mention(32, 36, 9, True)


def document(name, text, split="test"):
    return Document(name, split, (Section(None, text),))


def test_predictions_have_chains_spans_and_the_resolvers_header():
    other = "Kino is no film. It won."
    texts = [document("a", f"  {TEXT}\n"), document("f", other), document("x", TEXT, "train")]
    gold = GivenMentions({TEXT: [ANNA, TOM, SHE, HIM, LAST], other: []})
    found = read_with(gold, texts, ["test"], False, "paper", keep_text=True)
    names = sorted({".", "FEMALE:4", "MALE:7", "She:4", "him:7"})
    symbols = [".", "FEMALE:4", "MALE:7", ".", "She:4", "him:7"]
    expected = {
        "chain": np.array([names.index(symbol) for symbol in symbols], np.int32),
        "chain_lengths": np.array([6, 0]), "symbol_names": np.array(names),
        "valid": np.array([True, False]), "span_lengths": np.array([6, 0]),
        "span": np.array([(0, 0), (5, 8), (13, 16), (18, 18), (18, 21), (27, 30)]),
        "header_names": np.array(["resolver=gold"]),
    } | pack([TEXT, other])  # fmt: skip
    assert (found.unit_ids, found.splits) == (("a", "f"), ("test", "test"))
    assert found.arrays.keys() == expected.keys()
    for name, array in expected.items():
        assert found.arrays[name].dtype == array.dtype and np.array_equal(found.arrays[name], array), name  # fmt: skip
    first, second = person_chains(found)
    spans = tuple(map(tuple, expected["span"].tolist()))
    assert first == PersonChain("a", "test", tuple(symbols), spans=spans, text=TEXT)
    assert second == PersonChain("f", "test", (), valid=False, text=other)
    # without a filter both are chains, and persons mentioned once count where they are wanted
    every = read_with(gold, texts, ["test", "train"], True, None)
    assert "text" not in every.arrays and every.arrays["valid"].tolist() == [True] * 3
    assert [chain.symbols[6:] for chain in person_chains(every)] == [("NONE:9",), (), ("NONE:9",)]
    refuses("film_filter is 'x', allowed are", read_with, gold, texts, [], False, "x")
    refuses("no gold mentions for 2 texts, first 'p'", gold.resolve, ["p", TEXT, "q"])


def test_gold_mentions_have_the_genders_of_their_chains():
    documents = [document("a", "Anna ran."), document("b", "He met Reed.")]
    truth = {
        "mention_start": np.array([0, 0, 7]), "mention_end": np.array([4, 2, 11]),
        "mention_person": np.array([3, 1, 2]), "mention_start_lengths": np.array([1, 2]),
    }  # fmt: skip
    plain = {"Anna ran.": [Mention(0, 4, 3, True)],
             "He met Reed.": [Mention(0, 2, 1, False), Mention(7, 11, 2, True)]}  # fmt: skip
    assert gold_mentions(documents, truth) == GivenMentions(plain)
    more = truth | {"mention_chain": np.array([0, 1, 0, 3, 2]), "mention_chain_lengths": np.array([2, 3]),
                    "mention_symbol_names": np.array([".", "FEMALE:3", "MALE:2", "He:1"])}  # fmt: skip
    gendered = {"Anna ran.": [Mention(0, 4, 3, True, gender="FEMALE")],
                "He met Reed.": [Mention(0, 2, 1), Mention(7, 11, 2, True, gender="MALE")]}  # fmt: skip
    assert gold_mentions(documents, more) == GivenMentions(gendered)
    whole = truth | {"mention_end": np.array([9, 2, 12])}
    assert gold_mentions(documents, whole).by_text["Anna ran."] == [Mention(0, 9, 3, True)]
    for broken in ({"mention_start": np.array([-1, 0, 7])}, {"mention_end": np.array([10, 2, 11])},
                   {"mention_end": np.array([0, 2, 11])}):  # fmt: skip
        refuses(
            "'a': span .* is outside its 9 characters", gold_mentions, documents, truth | broken
        )
    read = chains.read_gold(documents=documents, truth=more, splits=["test"])
    assert [chain.symbols for chain in person_chains(read)] == [(".", "FEMALE:3"), (".", "He:1", "MALE:2")]  # fmt: skip
    twice = chains.read_gold(documents=documents, truth=more, splits=["test"], singletons=False)
    assert [chain.symbols for chain in person_chains(twice)] == [(".",), (".",)]


def sets(*rows):
    return tuple(map(frozenset, rows))


def test_agreement_has_hits_and_totals_of_each_score_by_document():
    """Gold abc and de, found ab and cde: links kept 1 + 1 of 3, and 1 + 1 - of cde c is alone."""
    gold, found = sets("abc", "de"), sets("ab", "cde")
    critic = ChainAgreement({"d": gold, "e": (), "f": sets("xy")})
    units = [ReadClusters("d", "test", found), ReadClusters("e", "test", found), ReadClusters("f", "test", ())]  # fmt: skip
    statistics = critic.sufficient_statistics(units)
    assert statistics.columns == COLUMNS and len(COLUMNS) == 13
    share = (4 + 1) / 3 + 4 / 2
    best = 2 * 2 / 5 + 2 * 2 / 5
    row = [2, 3, 2, 3, share, 5, share, 5, best, 2, best, 2, 0]
    expected = [row, [0] * 12 + [1], [0, 1, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0]]
    assert statistics.values == pytest.approx(np.array(expected))
    assert [COLUMNS[n] for n in (0, 5, 10, 12)] == ["muc_recall_hits", "b3_recall_total", "ceafe_precision_hits", "excluded"]  # fmt: skip

    def scores(recall, precision):
        f1 = 2 * recall * precision / (recall + precision)
        return pytest.approx({"recall": recall, "precision": precision, "f1": f1})

    details = critic.describe(units)
    assert details == {"muc": scores(2 / 4, 2 / 3), "b3": scores(share / 7, share / 5),
                       "ceafe": scores(best / 3, best / 2)}  # fmt: skip
    refuses("document 'z' has no gold chain", critic.sufficient_statistics, [ReadClusters("z", "test", ())])  # fmt: skip
    mean = sum(values["f1"] for values in details.values()) / 3
    assert critic.score_of(statistics) == pytest.approx(mean)
    assert critic.describe(units[1:])["muc"] == {"recall": 0.0, "precision": 0.0, "f1": 0.0}


def test_clusters_are_the_places_of_symbols_and_stops_are_none(monkeypatch):
    texts = [document("a", TEXT)]
    predictions = read_with(GivenMentions({TEXT: [ANNA, TOM, SHE, HIM]}), texts, ["test"], False, None)  # fmt: skip
    read = (frozenset([(5, 8), (18, 21)]), frozenset([(13, 16), (27, 30)]))
    assert agreement.units_from_predictions(predictions) == [ReadClusters("a", "test", read)]
    assert agreement.against_gold(real=predictions) == ChainAgreement({"a": read})
    monkeypatch.setattr(own_texts.rules, "read", lambda **given: given)
    texts = [document("a", "A."), document("b", "B.", "dev"), document("c", "C.")]
    assert own_texts.chains_by_rules(texts) == {"documents": texts, "splits": ["dev", "test"]}
