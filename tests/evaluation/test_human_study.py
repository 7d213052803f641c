"""The human study: simulated annotators, and what is recovered of what was put in."""

import numpy as np
import pytest

from longform.core.critic import estimate
from longform.core.documents import Document, Section
from longform.core.resampling import generator
from longform.datasets.synthetic_world.domains import domain
from longform.evaluation import human_study
from longform.evaluation.agreement import krippendorff_alpha
from longform.evaluation.human_study import CoherentShare, judged_items, mixed_effects, units_from_readout
from longform.evaluation.simulated_annotators import Annotator, ChainRule, answer_rows, read, to_readout
from longform.study.__main__ import COLUMNS
from tests.refusals import refuses

RULE = ChainRule(("one", "two"), np.array([[1, 0, 0], [0, 0.9, 0.1], [0, 0, 1]], dtype=float), 0.05)
STRICT = np.array([[1, 0, 0, 0], [0.01, 0.99, 0, 0], [0, 0, 0, 1], [0, 0, 0, 1]], dtype=float)
STRICT_RULE = ChainRule(("one", "two", "three"), STRICT, 0.05)
GOOD, BAD = ("one", "two"), ("two", "one")
FLIPS = (0.05, 0.1, 0.15, 0.2)


def study(share, articles=300, seed=1, system="s", careless=()):
    cut = round(share * articles)
    chains = {f"{system}/{i}": GOOD if i < cut else BAD for i in range(articles)}
    people = [Annotator(f"a{i}", 0.05, flip, 1.0 if i in careless else 0.0) for i, flip in enumerate(FLIPS)]
    rows = answer_rows(chains, rule=RULE, annotators=people, system=system, seed=seed, checks=10)
    return judged_items(rows, splits={}, simulated=True)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_planted_share_and_agreement_are_recovered_within_intervals(share):
    units = study(share)
    found = estimate(CoherentShare(), CoherentShare().tally(units), generator("share"), 200)
    wanted = human_study.expected_share(share, FLIPS)
    # Articles are the only thing resampled, and their truth is fixed here: the interval is wide enough for the flips.
    assert found.low <= wanted <= found.high
    names, ratings = human_study.rating_matrix(units)
    assert len(names) == len(FLIPS)
    draws = generator("alpha")
    alphas = [krippendorff_alpha(ratings[:, draws.integers(0, 300, 300)], "nominal") for _ in range(100)]
    low, high = np.quantile(alphas, [0.005, 0.995])
    assert low <= human_study.expected_alpha(share, FLIPS) <= high


def test_measured_error_rates_organisations_and_careless_annotators_are_described():
    units = study(0.5)
    found = CoherentShare().describe(units)
    assert found["simulated"] and found["known"]["coherent"] == 0.5
    for flip, rates in zip(FLIPS, found["known"]["rates"].values(), strict=True):
        assert rates["flips"] == pytest.approx(flip, abs=4 * np.sqrt(flip / 300))
    assert found["incoherent"][0][0] == list(BAD)
    counts = [number for _, number in found["incoherent"]]
    assert counts == sorted(counts, reverse=True) and sum(counts) == found["judgements"] - CoherentShare().tally(
        units
    ).total("coherent")
    units = study(0.5, careless=(2,))  # who is set aside by a share of the checks
    assert all(unit.dropped == ("a2",) and "a2" not in unit.verdicts for unit in units)
    assert CoherentShare().describe(units)["dropped"] == ["a2"]
    rows = [{"annotator": n, "answer": a, "gold": "y"} for n, said in (("x", "yyyn"), ("y", "yynn")) for a in said]
    assert human_study.failing(rows) == ("y",)


def test_exported_words_for_truth_are_read_and_earlier_answers_left_out():
    row = {"annotator": "p", "item": "i", "source": "s", "phase": "testing", "check": "False", "question": "coherent"}
    said = (("coherent", "False"), ("incoherent", "True"))
    rows = [row | {"answer": answer, "gold": "", "last": last} for answer, last in said]
    (unit,) = judged_items(rows, splits={}, simulated=False)
    assert unit.verdicts == {"p": False} and not unit.simulated
    row |= {"answer": "maybe", "gold": "", "last": True}
    refuses("allowed are coherent", judged_items, [row], splits={}, simulated=False)


def test_mixed_effects_find_the_planted_order_and_spreads():
    draw = generator("mixed")
    logits, people = {"data": 1.5, "good": 0.5, "bad": -1.5}, draw.normal(0, 0.7, 6)
    rows = []
    for system, logit in logits.items():
        for item, own in enumerate(draw.normal(0, 0.5, 30)):
            for name, bias in enumerate(people):
                share = 1 / (1 + np.exp(-(logit + bias + own)))
                rows.append((int(draw.random() < share), system, f"p{name}", f"{system}/{item}"))
    fixed, spreads = mixed_effects(*(list(column) for column in zip(*rows, strict=True)))
    assert [effect.name for effect in fixed] == ["data", "good minus data", "bad minus data"]
    assert fixed[2].value == pytest.approx(-3.0, abs=0.9)
    assert fixed[2].value < fixed[1].value < 0
    assert spreads[0].low < 0.7 < spreads[0].high * 1.5
    for what, verdicts, systems in (("two systems", [1, 0], "aa"), ("verdicts", [1, 1], "ab"), ("length", [1], "ab")):
        refuses(what, mixed_effects, verdicts, list(systems), ["p", "q"], ["i", "j"])


def test_rows_have_the_exported_columns_and_depend_on_no_other_document_or_annotator():
    people = [Annotator("a", 0.5, 0.5), Annotator("b", 0.5, 0.5)]
    chains = {f"d{i}": ("one", "two", "three") for i in range(20)}
    given = {"rule": STRICT_RULE, "system": "s"}
    assert all(set(row) == set(COLUMNS) for row in answer_rows(chains, annotators=people, seed=1, checks=1, **given))
    whole = answer_rows(chains, annotators=people, seed=1, **given)
    alone = answer_rows({"d7": chains["d7"]}, annotators=people[1:], seed=1, **given)
    assert alone == [row for row in whole if row["item"] == "d7" and row["annotator"] == "b"]
    assert whole != answer_rows(chains, annotators=people, seed=2, **given)
    refuses("probabilities", Annotator, "x", 1.5, 0)
    refuses("name of its own", answer_rows, {}, annotators=people[:1] * 2, seed=1, **given)


def test_the_rule_forbids_improbable_transitions_ends_and_unknown_types_and_a_faultless_annotator_says_so():
    chains = (("one", "two"), ("one",), ("one", "one", "two"), (), ("one", "new"))
    assert [STRICT_RULE.coherent(chain) for chain in chains] == [True, False, False, False, False]
    chains = {f"d{i}": ("one", "two") for i in range(1500)}
    people = [Annotator("sure", 0, 0), Annotator("rough", 0.2, 0.3)]
    wrong = {(name, kind): [] for name in ("sure", "rough") for kind in (True, False)}
    for row in answer_rows(chains, rule=STRICT_RULE, annotators=people, system="s", seed=3):
        wrong[row["annotator"], row["question"] == "coherent"].append(row["answer"] != row["gold"])
    assert not any(wrong["sure", True] + wrong["sure", False])
    assert np.mean(wrong["rough", True]) == pytest.approx(0.3, abs=4 * np.sqrt(0.21 / 1500))
    assert np.mean(wrong["rough", False]) == pytest.approx(0.2, abs=4 * np.sqrt(0.16 / 3000))


def test_a_readout_gives_the_same_judged_articles_as_the_rows():
    chains = {"s/1": ("one", "two"), "s/2": ("three",)}
    people = [Annotator("a", 0.1, 0.1), Annotator("b", 0.1, 0.1, careless=1.0)]
    rows = answer_rows(chains, rule=STRICT_RULE, annotators=people, system="s", seed=1, checks=12)
    splits = dict.fromkeys(chains, "generated")
    found = units_from_readout(to_readout(rows, splits))
    assert found == judged_items(rows, splits=splits, simulated=True)
    assert [unit.unit_id for unit in found] == list(chains)
    assert all(unit.dropped == ("b",) and set(unit.verdicts) == {"a"} and unit.simulated for unit in found)


def test_real_documents_are_judged_by_their_own_titles_without_a_reader(tmp_path):
    good, bad = ("introduction", "method", "result", "discussion"), ("discussion", "introduction")
    documents = [Document(f"d{i}", "test", tuple(Section(t, "x") for t in row)) for i, row in enumerate((good, bad))]
    people = [{"name": "a", "confusion": 0.0, "flips": 0.0}]
    given = {"reader": tmp_path, "name": "row", "seed": 1, "splits": ["test"], "domain": "pubmed", "systems": ["data"],
             "per_system": 5, "checks": 0, "least": 0.02, "max_length": 9}  # fmt: skip
    units = units_from_readout(read(documents=documents, annotators=people, **given))
    refuses("no document", read, documents=[], annotators=[], **given)
    assert {unit.unit_id: unit.verdicts["a"] for unit in units} == {"d0": True, "d1": False}
    assert set(good) <= set(domain("pubmed").chain.types)
