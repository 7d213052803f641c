"""The committed false alarms and powers keep what the page says, and the program behind them counts what it should."""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

from experiments import proposals_tried
from longform.documents import Document, Section
from longform.statistics.random_streams import generator
from longform.text.sentences import sentence_texts
from tests.refusals import refuses

ROOT = Path(__file__).parents[2]
spec = importlib.util.spec_from_file_location(
    "false_alarms", ROOT / "experiments" / "false_alarms.py"
)
false_alarms = importlib.util.module_from_spec(spec)
spec.loader.exec_module(false_alarms)
TRIALS = 1000  # of halves, and of unequal lengths
RECORD = json.loads(
    (ROOT / "experiments/matrix/measured/false_alarms.json").read_text(encoding="utf-8")
)


@pytest.mark.parametrize("critic", [*false_alarms.DAMAGES, *false_alarms.STRANGERS])
def test_no_critic_alarms_too_often_and_each_sees_its_damage(critic):
    for kind in ("halves", "unequal"):
        hits, trials = false_alarms.rate(RECORD, critic, kind)
        assert trials >= TRIALS
        if (critic, kind) == false_alarms.AGAIN:  # all draws count, the first and the further ones
            hits, trials = np.add((hits, trials), RECORD["again"][critic])
        assert false_alarms.interval(hits, trials)[0] <= 0.05
    powers = [
        false_alarms.rate(RECORD, critic, "damaged", name) for name in false_alarms.COLLECTIONS
    ]
    assert max(hits / trials for hits, trials in powers if trials) >= 0.8


def test_the_page_shows_the_committed_counts():
    page = (ROOT / "docs/false_alarms.md").read_text(encoding="utf-8")
    assert false_alarms.table(RECORD) in page and len(page.split()) <= 800


def test_exact_intervals_of_rates():
    assert false_alarms.interval(0, 10) == (
        0.0,
        pytest.approx(0.3085, abs=1e-4),
    )  # 1 - 0.025^(1/10)
    assert false_alarms.interval(10, 10) == (pytest.approx(0.6915, abs=1e-4), 1.0)
    assert false_alarms.interval(5, 10) == (
        pytest.approx(0.1871, abs=1e-4),
        pytest.approx(0.8129, abs=1e-4),
    )


def test_damages_do_what_they_are_called():
    rng = generator("damages")
    texts = [
        Document(
            name,
            "generated",
            (Section("a", f"{name} came home. He slept. Nobody knew {name}. It rained."),),
        )
        for name in ("Anna", "Berta", "Carla")
    ]
    rows = [sentence_texts(text.text) for text in texts]
    dealt = [sentence_texts(text.text) for text in false_alarms.dealt_sentences(texts, rng)]
    assert [sorted(column) for column in zip(*dealt, strict=True)] == [
        sorted(column) for column in zip(*rows, strict=True)
    ]
    for text in false_alarms.names_for_pronouns(texts, rng):
        assert "He " not in text.text and "Nobody knew" in text.text
    for text, row in zip(false_alarms.mixed_halves(texts, rng), rows, strict=True):
        assert sentence_texts(text.text)[:2] == row[:2]
    repeated = [
        sentence_texts(t.text)
        for _ in range(9)
        for t in false_alarms.repeated_sentences(texts, rng)
    ]
    assert {len(row) for row in repeated} == {4} and any(len(set(row)) < 4 for row in repeated)


def test_a_run_that_was_stopped_counts_each_trial_once(tmp_path, monkeypatch):
    """Twelve trials, in each third a collection; section order, which needs titles, is tried on cities then too."""
    calls = []

    def trial(documents, kind, critics, number):
        calls.append((kind, number, documents))
        names = [panel.name for panel in critics]
        return {
            name: number % 2 == 0
            for name in names
            if name != "section order" or documents == "cities"
        }

    monkeypatch.setattr(false_alarms, "trial", trial)
    monkeypatch.setattr(false_alarms, "strangers", lambda *_: True)
    record = {"done": {}, "counts": {}}
    out = tmp_path / "counts.json"
    collections = {name: name for name in false_alarms.COLLECTIONS}
    while record["done"].get("halves", 0) < 12:
        false_alarms.run(collections, record, 12, 0.0, out)  # no time: one trial a call
        record = json.loads(out.read_text())
    before = len(calls)
    false_alarms.run(collections, record, 12, 1.0, out)
    assert len(calls) == before == len(set(calls))
    for critic in ("repetition", "section order"):
        for kind in ("halves", "unequal"):
            assert false_alarms.rate(record, critic, kind) == (6, 12)
        assert false_alarms.rate(record, critic, "damaged") == (2, 2)
    assert false_alarms.rate(record, "section order", "halves", "cities") == (6, 12)
    assert false_alarms.rate(record, "repetition", "halves", "cities") == (2, 4)
    assert false_alarms.rate(record, "topics", "damaged", "cities")[0] >= 2


def test_the_page_says_what_ten_draws_of_proposals_showed():
    record = json.loads(
        (ROOT / "experiments/matrix/measured/proposals_tried.json").read_text(encoding="utf-8")
    )
    alarms = {}
    for side, of_critic in record["p_values"].items():
        for critic, p_values in of_critic.items():
            assert len(p_values) == record["draws"] == 10
            count = sum(p_value < 0.05 for p_value in p_values)
            if count:
                alarms[side, critic] = count
    assert alarms == {
        ("others", "shared nouns"): 1,
        ("shuffled", "shared nouns"): 1,
        ("shuffled", "section order"): 10,
    }
    # 5/3 of the least p-value of 2,000 permutations: five halvings judge together
    p_values = record["p_values"]["shuffled"]["section order"]
    assert p_values == pytest.approx(10 * [5 / 3 / 2001])


def test_fewer_proposals_than_a_draw_takes_are_refused():
    one = Document("pep-0001", "train", (Section("a", "One."), Section("b", "Two.")))
    refuses("^239 proposals have 2 sections or more; 240 are needed$",
            proposals_tried.tried, [one] * 239, 1)  # fmt: skip


def test_a_critic_that_did_not_apply_to_a_draw_has_fewer_draws():
    p_values = {"others": {"persons": [0.5, 0.04]}, "shuffled": {"persons": [0.001]}}
    # bounds by hand: 1 - 0.975^(1/2), 0.975^(1/2) and 0.025
    assert proposals_tried.summary({"p_values": p_values}).splitlines()[-1] == (
        "| persons | 1 of 2 [1, 99 %] | 1 of 1 [2, 100 %] |"
    )
