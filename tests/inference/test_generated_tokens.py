"""Tokens of continuations, and the whole way from prefixes to the numbers of Table 1."""

import json

import pytest
from tiny import lm_folder

from longform.critics.repetition import read_generated as generated_tokens
from longform.critics.repetition import score as repetition
from longform.critics.verifiability import read_planted as planted_checks
from longform.critics.verifiability import score as verifiability
from longform.datasets import synthetic_world as planted
from longform.decoding.decoding import generate
from longform.documents import BadInput, Document, Section
from longform.language_models.checkpoints import load_tokenizer


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return lm_folder(tmp_path_factory.mktemp("lm"), window=160)


def test_tokens_are_those_of_the_readers_tokenizer(model):
    sections = (
        Section("Ulm", "Ulm is a town."),
        Section("continuation", "the river"),
        Section("reference", "old town"),
    )
    document = Document("g", "generated", sections)
    (unit,) = repetition.units_from_readout(generated_tokens.read(documents=[document], reader=model, name="row"))
    tokenizer = load_tokenizer(model)
    assert tokenizer.decode(unit.tokens.tolist()) == "the river"
    assert tokenizer.decode(unit.reference.tolist()) == "old town"
    read = generated_tokens.read(documents=[document], reader=model, name="row", human=True)
    (human,) = repetition.units_from_readout(read)
    assert human.tokens.tolist() == unit.reference.tolist()


def test_other_documents_are_named(model):
    with pytest.raises(BadInput, match="no continuation"):
        generated_tokens.read(documents=[Document("d", "test", (Section(None, "x"),))], reader=model, name="row")


def test_prefixes_become_rows_of_the_table(model, tmp_path):
    corpus = planted.build(name="pages", seed=1, domain="encyclopedia", documents=20)
    lines = [json.dumps(document.to_record()) for document in corpus.documents]
    (tmp_path / "documents.jsonl").write_text("\n".join(lines), encoding="utf-8")
    decoder = {"kind": "delayed_beam", "beams": 2, "top_k": 5}
    given = {"prefixes": corpus.documents, "split": None, "documents": 3, "new_tokens": 20, "name": "row", "seed": 1}
    made = generate(model=model, decoder=decoder, **given)
    assert made.facts["prefixes"] == 3 and len(made.documents) == 9
    tokens = repetition.units_from_readout(generated_tokens.read(documents=made.documents, reader=model, name="row"))
    checks = planted_checks.read(documents=made.documents, reader=tmp_path, name="row", domain="encyclopedia")
    units = verifiability.units_from_readout(checks)
    assert [unit.unit_id for unit in units] == [unit.unit_id for unit in tokens] == [d.id for d in made.documents]
    grams, share = repetition.DistinctGrams(), verifiability.SupportedPerGeneration()
    assert 1 <= grams.score(grams.tally(tokens)) <= 20 and 0 <= share.score(share.tally(units)) <= 1
