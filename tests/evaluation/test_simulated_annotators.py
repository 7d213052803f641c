"""Simulated annotators err at their known rates, by seed, name and document alone, and answer in the exported form."""

import numpy as np
import pytest

from longform.core.documents import BadInput, Document, Section
from longform.datasets.synthetic_world.domains import domain
from longform.evaluation.human_study import judged_items, units_from_readout
from longform.evaluation.simulated_annotators import COLUMNS, Annotator, ChainRule, answer_rows, read, to_readout
from longform.study.__main__ import COLUMNS as EXPORTED

TYPES = ("one", "two", "three")
RULE = ChainRule(TYPES, np.array([[1, 0, 0, 0], [0.01, 0.99, 0, 0], [0, 0, 0, 1], [0, 0, 0, 1]], dtype=float), 0.05)


def test_rows_have_the_columns_that_the_pages_export():
    rows = answer_rows({"a": ("one",)}, rule=RULE, annotators=[Annotator("x", 0, 0)], system="s", seed=1, checks=1)
    assert COLUMNS == EXPORTED
    assert all(set(row) == set(EXPORTED) for row in rows)


@pytest.mark.parametrize(
    ("chain", "coherent"),
    [(("one", "two"), True), (("one",), False), (("one", "one", "two"), False), ((), False), (("one", "new"), False)],
)
def test_the_rule_forbids_improbable_transitions_ends_and_unknown_types(chain, coherent):
    assert RULE.coherent(chain) is coherent


def test_a_faultless_annotator_says_the_truth_and_rates_come_out_as_set():
    chains = {f"d{i}": ("one", "two") for i in range(1500)}
    people = [Annotator("sure", 0, 0), Annotator("rough", 0.2, 0.3)]
    rows = answer_rows(chains, rule=RULE, annotators=people, system="s", seed=3)
    wrong = {
        (name, kind): np.mean([r["answer"] != r["gold"] for r in rows if r["annotator"] == name and (r["question"] == "coherent") == kind])
        for name in ("sure", "rough") for kind in (True, False)
    }  # fmt: skip
    assert wrong["sure", True] == wrong["sure", False] == 0
    assert wrong["rough", True] == pytest.approx(0.3, abs=4 * np.sqrt(0.21 / 1500))
    assert wrong["rough", False] == pytest.approx(0.2, abs=4 * np.sqrt(0.16 / 3000))


def test_an_answer_depends_on_no_other_document_or_annotator():
    people = [Annotator("a", 0.5, 0.5), Annotator("b", 0.5, 0.5)]
    chains = {f"d{i}": ("one", "two", "three") for i in range(20)}
    whole = answer_rows(chains, rule=RULE, annotators=people, system="s", seed=1)
    alone = answer_rows({"d7": chains["d7"]}, rule=RULE, annotators=people[1:], system="s", seed=1)
    assert alone == [row for row in whole if row["item"] == "d7" and row["annotator"] == "b"]
    assert whole != answer_rows(chains, rule=RULE, annotators=people, system="s", seed=2)


def test_a_readout_gives_the_same_judged_articles_as_the_rows():
    chains = {"s/1": ("one", "two"), "s/2": ("three",)}
    people = [Annotator("a", 0.1, 0.1), Annotator("b", 0.1, 0.1, careless=1.0)]
    rows = answer_rows(chains, rule=RULE, annotators=people, system="s", seed=1, checks=12)
    splits = dict.fromkeys(chains, "generated")
    found = units_from_readout(to_readout(rows, splits, simulated=True))
    assert found == judged_items(rows, splits=splits, simulated=True)
    assert [unit.unit_id for unit in found] == list(chains)
    assert all(unit.dropped == ("b",) and set(unit.verdicts) == {"a"} and unit.simulated for unit in found)


def test_real_documents_are_judged_by_their_own_titles_without_a_reader(tmp_path):
    good, bad = ("introduction", "method", "result", "discussion"), ("discussion", "introduction")
    documents = [
        Document(f"d{i}", "test", tuple(Section(t, "x") for t in chain)) for i, chain in enumerate((good, bad))
    ]
    readout = read(
        documents=documents, reader=tmp_path, name="row", seed=1, splits=["test"], domain="pubmed", systems=["data"],
        per_system=5, annotators=[{"name": "a", "confusion": 0.0, "flips": 0.0}], checks=0, least=0.02, max_length=9,
    )  # fmt: skip
    units = units_from_readout(readout)
    assert {unit.unit_id: unit.verdicts["a"] for unit in units} == {"d0": True, "d1": False}
    assert set(good) <= set(domain("pubmed").chain.types)


def test_bad_settings_are_named():
    with pytest.raises(BadInput, match="probabilities"):
        Annotator("x", 1.5, 0)
    with pytest.raises(BadInput, match="name of its own"):
        answer_rows({}, rule=RULE, annotators=[Annotator("x", 0, 0)] * 2, system="s", seed=1)
    with pytest.raises(BadInput, match="no document"):
        read(
            documents=[], reader=None, name="row", seed=1, splits=["test"], domain="pubmed", systems=["data"],
            per_system=5, annotators=[], checks=0, least=0.02, max_length=9,
        )  # fmt: skip
