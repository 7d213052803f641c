"""Anybody's texts under the fact checker, with judges whose answers are known because their last layer says one thing."""

import json

import numpy as np
import pytest
from tiny import lm_folder

from longform.cli import main
from longform.tools import verifying
from longform.tools.verifying import verify
from tests.refusals import refuses
from tests.tools.any_model_files import judge_folder

PAGES = {
    "Riverton": "Riverton is a town. It lies on a river.",
    "Anna Berg": "Anna Berg was a singer.",
}
TEXTS = [
    "Riverton is a town. It has many people. Nobody knows Atlantis.",  # two sentences find a page
    "Anna Berg sang.",
]


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    for title, text in PAGES.items():
        (folder / f"{title}.txt").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def judges(tmp_path_factory):
    """Judges by the only thing that each says."""
    folder = tmp_path_factory.mktemp("judges")
    names = ("entailment", "contradiction", "neutral")
    return {name: judge_folder(folder / name, name) for name in names}


def test_a_claim_without_a_page_is_not_enough_information(pages, judges):
    found = verify(TEXTS, pages, judge=judges["entailment"])
    labels = [(verdict.text, verdict.label) for verdict in found.verdicts]
    assert labels == [
        ("text-1", "supported"),
        ("text-1", "not_enough_info"),
        ("text-1", "not_enough_info"),
        ("text-2", "supported"),
    ]
    # Of five sentences of each text one is supported; of what is supported or refuted, all.
    assert found.scores["texts"]["SPG"].value == pytest.approx(2 / 10)
    assert found.scores["texts"]["SPV"].value == 1.0


def test_a_judge_that_contradicts_refutes_and_a_neutral_one_says_nothing(pages, judges):
    refuted = verify(TEXTS, pages, judge=judges["contradiction"])
    assert refuted.counts("texts") == {"supported": 0, "refuted": 2, "not_enough_info": 2}
    assert refuted.scores["texts"]["SPV"].value == 0.0
    neutral = verify(TEXTS, pages, judge=judges["neutral"])
    assert neutral.counts("texts")["not_enough_info"] == 4
    assert np.isnan(neutral.scores["texts"]["SPV"].value)  # nothing is verified
    assert neutral.scores["texts"]["SPG"].value == 0.0


def test_a_verdict_shows_the_sentence_of_the_page_that_it_rests_on(pages, judges):
    verdict = verify(TEXTS, pages, judge=judges["entailment"]).verdicts[-1]
    assert verdict.sentence == verdict.claim == "Anna Berg sang."
    assert verdict.evidence == "Anna Berg: Anna Berg was a singer."
    assert verdict.support > 0.9


def test_pages_may_be_in_fevers_form_and_a_title_stands_for_a_pronoun(judges, tmp_path):
    folder = tmp_path / "wiki-pages"
    folder.mkdir()
    page = {"id": "Anna_Berg", "text": "", "lines": "0\tAnna Berg was a singer .\n1\t"}
    (folder / "wiki-001.jsonl").write_text(json.dumps(page), encoding="utf-8")
    texts = [{"title": "Anna Berg", "text": "She was a singer."}]
    (verdict,) = verify(texts, tmp_path, judge=judges["entailment"]).verdicts
    assert verdict.claim.lower() == "anna berg was a singer."
    assert verdict.evidence == "Anna Berg: Anna Berg was a singer ."


def test_a_stopped_run_goes_on_from_its_last_texts(pages, judges, tmp_path, monkeypatch):
    texts = TEXTS * 6
    whole = verify(texts, pages, judge=judges["entailment"], out=tmp_path / "whole")
    judged = []
    rows_of = verifying._rows_of

    def stops(documents, checker):
        if judged:
            raise KeyboardInterrupt
        judged.append(len(documents))
        return rows_of(documents, checker)

    with monkeypatch.context() as patch:
        patch.setattr(verifying, "_rows_of", stops)
        with pytest.raises(KeyboardInterrupt):
            verify(texts, pages, judge=judges["entailment"], out=tmp_path / "stopped")
    counted = []
    monkeypatch.setattr(
        verifying, "_rows_of", lambda *given: counted.append(len(given[0])) or rows_of(*given)
    )
    resumed = verify(texts, pages, judge=judges["entailment"], out=tmp_path / "stopped")
    assert (judged, counted) == ([8], [4])
    assert resumed.verdicts == whole.verdicts
    assert sorted(path.name for path in (tmp_path / "stopped").iterdir()) == [
        "verdicts.jsonl",
        "verify.json",
    ]


def test_what_cannot_judge_or_be_searched_is_refused_in_a_sentence(pages, judges, tmp_path):
    refuses("name an entailment model with --judge", verify, TEXTS, pages)
    sentence = "a causal language model, not an entailment model; name one"
    refuses(sentence, verify, TEXTS, pages, judge="smollm2")
    writer = lm_folder(tmp_path / "writer")
    refuses(sentence, verify, TEXTS, pages, judge=writer)
    refuses("no such file or folder", verify, TEXTS, tmp_path / "absent", judge=judges["neutral"])


def test_the_command_compares_systems_and_writes_every_sentence(pages, judges, tmp_path, capsys):
    for name, text in zip(("a", "b"), TEXTS, strict=True):
        (tmp_path / f"{name}.jsonl").write_text(json.dumps({"text": text}), encoding="utf-8")
    places = [str(tmp_path / "a.jsonl"), f"second={tmp_path / 'b.jsonl'}"]
    command = ["verify", *places, "--pages", str(pages), "--judge", str(judges["entailment"])]
    command += ["--out", str(tmp_path / "out")]
    assert main(command) == 0
    printed = capsys.readouterr()
    assert "texts: a 1, second 1; 4 first sentences against 2 pages" in printed.err
    assert "| a | 1 | 1 | 0 | 2 | 0.20 |" in printed.out
    lines = (tmp_path / "out" / "verdicts.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["system"] for line in lines] == ["a", "a", "a", "second"]
    assert main([*command, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["systems"]["second"]["SPG"]["value"] == pytest.approx(1 / 5)
    assert main([*command, "--plan"]) == 0
    assert "2 pages; at most about" in capsys.readouterr().out
