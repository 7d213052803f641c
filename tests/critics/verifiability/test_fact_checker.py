"""The fact checker's parts, one by one and together: pages, sentences, labels, conflicts, and no socket."""

import json
import math
import socket
from pathlib import Path

import numpy as np
import pytest
import torch
from tiny import bpe_folder, classifier_folder
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    T5Config,
    T5ForConditionalGeneration,
)

from longform.critics.verifiability import checker as checking
from longform.critics.verifiability import train
from longform.critics.verifiability.checks import LABELS
from longform.critics.verifiability.read import open_checker
from longform.datasets.fever import PageFile, claims_of, pages_of
from synthetic_world.fever_corpus import build
from tests.refusals import refuses

PAGES = {
    "Ulm": ("Ulm is a town in Quenovia.", "Ulm was founded in 1456.", "It has many harps."),
    "Ulm of the West": ("Ulm of the West is a film.", "It runs for 99 minutes."),
    "Norvtex": ("Norvtex is a company from Ulm.", "Norvtex has 3,512 employees."),
    "Mercury (planet)": ("Mercury is a planet.",),
}


class Said:
    """An entailment model that looks its answers up, and remembers what it was asked."""

    def __init__(self, answers):
        self.answers, self.asked = answers, []

    def probabilities(self, pairs):
        self.asked += pairs
        return np.array(
            [self.answers.get(pair.sentence, (0, 0, 1)) for pair in pairs], dtype=float
        ).reshape(-1, 3)


def stored(folder, pages=PAGES):
    return checking.frozen(folder / "pages", pages.items())


def checker(folder, answers, pages=PAGES):
    kept, settings = stored(folder, pages), {"retrieval": {}, "selection": {}, "sure": 0.5}
    return checking.Checker(kept, checking.selector(kept, settings), Said(answers), settings)


def test_pages_are_found_by_title_and_lines_by_words(tmp_path):
    retrieval = checking.TitlesAndBm25(stored(tmp_path))
    assert retrieval.pages_for("Ulm was founded in 1456.")[0] == "Ulm"
    assert retrieval.pages_for("Ulm of the West runs long.")[:2] == [
        "Ulm of the West",
        "Ulm",
    ]  # the second by BM25
    assert retrieval.pages_for("Mercury is hot.") == ["Mercury (planet)"]
    assert retrieval.pages_for("Nowhere was founded.") == [] == retrieval.pages_for("")
    # what BM25 brings needs a title in the claim
    assert retrieval.pages_for("a company with 3,512 employees") == []
    selection = checking.Bm25Lines(PAGES, limit=1)
    assert selection.lines_for("Ulm was founded in 1457.", ["Ulm"]) == [("Ulm", 1)]
    assert selection.lines_for("zebras", ["Ulm"]) == [] == selection.lines_for("Ulm", ["Atlantis"])


def test_bm25_is_its_formula():
    """Lucene's: idf = log(1 + (N - n + 0.5) / (n + 0.5)), tf / (tf + k1 (1 - b + b length / mean length))."""
    texts = [checking.words(" ".join(lines)) for lines in PAGES.values()]
    mean = sum(map(len, texts)) / len(texts)
    query = ["ulm", "founded", "is"]
    wanted = []
    for text in texts:
        total = 0.0
        for word in query:
            n, tf = sum(word in other for other in texts), text.count(word)
            idf = math.log(1 + (len(texts) - n + 0.5) / (n + 0.5))
            total += (
                idf * tf / (tf + checking.K1 * (1 - checking.B + checking.B * len(text) / mean))
            )
        wanted.append(total)
    assert checking._bm25_scores(checking._bm25(texts), query, len(texts)) == pytest.approx(
        wanted, rel=1e-5
    )


def drawn(count, seed, most=400):
    """Pages and claims of words by Zipf's law, some of them in titles; many scores are equal."""
    generator = np.random.default_rng(seed)

    def text(size):
        return " ".join(
            f"w{rank}"
            for rank in np.exp(generator.random(size) * np.log(most)).astype(int).tolist()
        )

    pages = {
        f"w{n} place (town {n})" if n % 3 else f"w{n}": tuple(text(6) for _ in range(n % 5))
        for n in range(count)
    }
    return pages, [text(generator.integers(0, 12)) for _ in range(60)]


@pytest.mark.parametrize(("count", "part"), [(1, 10), (40, 7), (700, 64)])
def test_the_index_on_disk_retrieves_as_scoring_all_pages_does(tmp_path, monkeypatch, count, part):
    monkeypatch.setattr(checking, "PART", part)
    monkeypatch.setattr(checking, "FEW", part)
    pages, claims = drawn(count, seed=count)
    index = checking.PageIndex(stored(tmp_path, pages).folder)
    texts = [checking.words(f"{title} {' '.join(lines)}") for title, lines in pages.items()]
    whole = checking._bm25(texts)
    for word in {word for text in texts for word in text}:
        column, other = index.words.get(word), whole.vocab_dict[word]
        here = slice(index.starts[column], index.starts[column + 1])
        there = slice(whole.scores["indptr"][other], whole.scores["indptr"][other + 1])
        assert np.array_equal(index.postings[here], whole.scores["indices"][there])
        assert np.array_equal(index.weights[here], whole.scores["data"][there])  # bit by bit
    for query in map(checking.words, [*claims, "", "nowhere", " ".join(["w1"] * 9)]):
        for limit in (1, 7, 1000):
            wanted = checking._best(checking._bm25_scores(whole, query, len(texts)), limit)
            assert index.best(query, limit) == wanted


def test_pages_on_disk_are_a_mapping_in_which_the_first_title_counts(tmp_path):
    rows = [("Ulm", ("A b.", "", "C\u2028d.")), ("Örm", ()), ("Ulm", ("Other.",))]
    kept = PageFile.write(tmp_path, rows)
    assert (
        list(kept.items()) == [("Ulm", ("A b.", "", "C\u2028d.")), ("Örm", ())] and len(kept) == 2
    )
    assert "Ulm" in kept and "Alm" not in kept and kept.get("Alm") is None and 3 not in kept
    assert len(checking.frozen(tmp_path / "none", [])) == 0
    assert (
        checking.TitlesAndBm25(checking.frozen(tmp_path / "empty", [("...", ("?!",))])).pages_for(
            "Ulm ..."
        )
        == []
    )


def test_conflicts_of_lines_or_pages_decide_nothing(tmp_path):
    lines = [("a", 0), ("a", 1), ("b", 0)]
    rows = np.array([[0.6, 0.1, 0.3], [0.9, 0.05, 0.05], [0.1, 0.3, 0.6]])
    found = checking.verdict(lines, rows)
    assert (found.label, found.evidence, found.conflict) == (
        "supported",
        frozenset({("a", 1)}),
        False,
    )
    rows[2] = [0.1, 0.8, 0.1]
    found = checking.verdict(lines, rows)
    assert (found.label, found.evidence, found.conflict) == ("not_enough_info", frozenset(), True)
    assert checking.verdict(lines, np.array([[0.4, 0.3, 0.3]] * 3)).label == "not_enough_info"
    assert checking.verdict([], np.zeros((0, 3))).label == "not_enough_info"
    pages = {**PAGES, "Founded Ulm": ("Ulm was founded in 1900.",)}
    answers = {"Ulm was founded in 1456.": (0.9, 0, 0.1), "Ulm was founded in 1900.": (0, 0.9, 0.1)}
    (found,) = checker(tmp_path, answers, pages).check(["Ulm was founded in 1456."])
    assert found.conflict and found.label == "not_enough_info"


def test_equal_claims_are_judged_once_and_parts_can_be_swapped():
    said = Said({"It has many harps.": (0.7, 0.1, 0.2)})

    def lines_for(claim):
        return checking.Bm25Lines(PAGES).lines_for(claim, list(PAGES))

    made = checking.Checker(PAGES, lines_for, said, {"sure": 0.5})
    first, again, other = made.check(["many harps", "many harps", "Atlantis sank."])
    assert first == again and first.label == "supported" and other.label == "not_enough_info"
    assert len({(pair.claim, pair.sentence) for pair in said.asked}) == len(said.asked)


def fitted(folder, documents, schedule=None, **settings):
    """A trained checker and where it is saved."""
    schedule = schedule and {"learning_rate": 6e-3, "batch": 32, **schedule}
    given = {
        "base": folder,
        "name": "checker",
        "seed": 1,
        "scratch": folder / "scratch",
        "schedule": schedule,
    }
    made = train.fit(documents=documents, **given | settings)
    (folder / "saved").mkdir(parents=True)
    made.save(folder / "saved")
    return made, folder / "saved"


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    corpus = build(name="claims", seed=1, pages={"train": 40})
    schedule = {"epochs": 8, "validations": 2}
    made, folder = fitted(tmp_path_factory.mktemp("checker"), corpus.documents, schedule, size=24)
    return folder, corpus, made


@pytest.mark.long  # it trains a checker that is worth something; the tests below train small ones
def test_a_trained_checker_beats_the_majority_and_opens_no_socket(trained, monkeypatch):
    folder, corpus, _ = trained
    claims = [claim for document, claim in claims_of(corpus.documents) if document.split == "test"]
    found = open_checker(folder).check([claim.text for claim in claims])
    right = sum(v.label == claim.label for v, claim in zip(found, claims, strict=True)) / len(
        claims
    )
    most = max(sum(claim.label == label for claim in claims) for label in LABELS) / len(claims)
    assert len(claims) > 50 and right > most + 0.15

    def refuse(*given, **named):
        raise AssertionError("a socket was opened")

    for name in ("socket", "create_connection", "getaddrinfo"):
        monkeypatch.setattr(socket, name, refuse)
    texts = [claim.text for _, claim in claims_of(corpus.documents)][:40]
    assert len(open_checker(folder).check(texts)) == 40


def test_a_saved_checker_is_its_files_and_says_the_same_in_any_batch(trained):
    folder, corpus, made = trained
    pairs = [checking.Pair("Ulm was founded in 1456.", "Ulm", line) for line in PAGES["Ulm"]]
    assert np.array_equal(
        open_checker(folder).entailment.probabilities(pairs), made.entailment.probabilities(pairs)
    )
    assert open_checker(folder).pages == pages_of(corpus.documents)
    made, claim = made.entailment, "Ulm was founded in 1456 by many people of the old town."
    pairs = [checking.Pair(claim, "Ulm", line) for line in PAGES["Ulm"]]
    alone = np.concatenate([made.probabilities([pair]) for pair in pairs])
    assert made.probabilities(pairs) == pytest.approx(alone, abs=1e-5)
    assert made.probabilities([checking.Pair("...", "Ulm", "Ulm is.")]).tolist() == [[0, 0, 1]]
    assert alone.sum(1) == pytest.approx(1)
    record = json.loads((folder / "checker.json").read_text())
    assert sorted(record) == ["retrieval", "selection", "size", "sure", "words"]
    kept = {"checker.json", "entailment.safetensors", *PageFile.FILES, *checking.PageIndex.FILES}
    assert {path.name for path in folder.iterdir()} == kept


def test_a_checker_trained_on_pages_in_files_is_that_of_pages_in_memory(tmp_path):
    corpus = build(name="claims", seed=1, pages={"train": 20})
    pages, claims = (
        pages_of(corpus.documents),
        [d for d in corpus.documents if d.id.startswith("claim:")],
    )
    rows = []
    for title, lines in pages.items():
        numbered = "".join(f"{number}\t{line}\n" for number, line in enumerate(lines))
        rows.append(json.dumps({"id": title, "lines": numbered}) + "\n")
    (tmp_path / "wiki-pages").mkdir()
    (tmp_path / "wiki-pages" / "wiki-001.jsonl").write_text("".join(rows))
    given = {"schedule": {"epochs": 1, "validations": 1}, "size": 8, "base": tmp_path}
    _, among = fitted(tmp_path / "among", corpus.documents, **given)
    _, apart = fitted(tmp_path / "apart", claims, **given)
    files = [path.name for path in among.iterdir()]
    assert len(files) > 10
    assert all((among / name).read_bytes() == (apart / name).read_bytes() for name in files)


def test_names_and_numbers_are_read_by_shape_and_compared_by_letter():
    vocabulary = train.Vocabulary({"was": 5, "founded": 6})
    pair = checking.Pair("Ulm was founded in 1456.", "Ulm", "Ulm was founded by Ann in 1457.")
    claim, sentence, equal = train.encoded(pair, vocabulary)
    assert claim == [4, 5, 6, 3, 1] and sentence == [4, 5, 6, 3, 2, 3, 1]
    assert equal == [(0, 0), (1, 1), (2, 2), (3, 5)]
    batch = train.collate([((claim, sentence, equal), 2)])
    assert train.DecomposableAttention(7, 8)(
        batch["claim"], batch["sentence"], batch["equal"]
    ).shape == (1, 3)


def sequence_classifier(folder: Path, labels) -> Path:
    names = {
        "id2label": dict(enumerate(labels)),
        "label2id": {name: i for i, name in enumerate(labels)},
    }
    config = BertConfig.from_pretrained(classifier_folder(folder), **names)
    BertForSequenceClassification(config).save_pretrained(folder)
    return folder


def test_any_sequence_classifier_can_stand_in_for_the_trained_one(tmp_path):
    folder = sequence_classifier(tmp_path / "nli", ["contradiction", "entailment", "neutral"])
    made = train.brought_entailment(folder)
    pairs = [
        checking.Pair("the town lies", "Ulm", "the old town"),
        checking.Pair("its people", "", "many hills"),
    ]
    feed = made.tokenizer("Ulm: the old town", "the town lies", return_tensors="pt")
    wanted = made.network(**feed).logits.softmax(-1)[0].tolist()
    assert made.probabilities(pairs)[0] == pytest.approx(
        [wanted[1], wanted[0], wanted[2]], abs=1e-5
    )
    corpus = build(name="claims", seed=1, pages={"train": 4})
    _, saved = fitted(tmp_path / "checker", corpus.documents, entailment="brought", base=folder)
    opened = open_checker(saved)
    assert opened.entailment.probabilities(pairs) == pytest.approx(made.probabilities(pairs))
    assert opened.check(["Atlantis sank."])[0].label == "not_enough_info"


def test_minichecks_have_two_labels_or_a_first_answer_token(tmp_path):
    two = train.brought_entailment(sequence_classifier(tmp_path / "two", ["LABEL_0", "LABEL_1"]))
    found = two.probabilities([checking.Pair("the town", "", "the town lies")])
    assert found[0, 1] == 0 and found.sum() == pytest.approx(1) and two.columns == (1, None, 0)
    other = BertConfig(id2label=dict(enumerate("abc")), label2id={"a": 0, "b": 1, "c": 2})
    refuses("labels are", train.columns_of, other, tmp_path)
    folder = bpe_folder(tmp_path / "t5")
    torch.manual_seed(0)
    config = T5Config(
        vocab_size=300,
        d_model=16,
        d_kv=8,
        d_ff=16,
        num_layers=1,
        num_heads=2,
        decoder_start_token_id=0,
    )
    T5ForConditionalGeneration(config).save_pretrained(folder)
    made = train.brought_entailment(folder)
    assert isinstance(made, train.MiniCheckEntailment)
    pair = checking.Pair("the town lies", "Ulm", "the old town")
    feed = made.tokenizer("predict: Ulm: the old town</s>the town lies", return_tensors="pt")
    logits = made.network(feed["input_ids"], decoder_input_ids=torch.tensor([[0]])).logits[0, 0]
    yes = float(logits[[3, 209]].detach().softmax(-1)[1])
    assert made.probabilities([pair])[0] == pytest.approx([yes, 0, 1 - yes], abs=1e-5)


def test_what_is_no_checker_and_no_corpus_of_claims_is_named(tmp_path):
    refuses(r"no checker\.json", open_checker, tmp_path)
    given = {"base": tmp_path, "name": "c", "seed": 1, "scratch": tmp_path}
    refuses("0 pages, 0 claims", train.fit, documents=[], **given)
    corpus = build(name="claims", seed=1, pages={"train": 4})
    refuses("needs a schedule", train.fit, documents=corpus.documents, **given)
    refuses(
        "unexpected keyword",
        train.fit,
        documents=corpus.documents,
        schedule={},
        retrieval={"size": 1},
        **given,
    )


def test_models_move_to_the_chosen_device(trained, tmp_path, monkeypatch):
    moved, plain = [], torch.nn.Module.to
    monkeypatch.setattr(
        torch.nn.Module,
        "to",
        lambda self, device: (moved.append(str(device)), plain(self, "cpu"))[1],
    )
    monkeypatch.setenv("LONGFORM_DEVICE", "cuda:1")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    open_checker(trained[0])
    train.brought_entailment(
        sequence_classifier(tmp_path / "nli", ["contradiction", "entailment", "neutral"])
    )
    assert moved == ["cuda:1", "cuda:1"]
