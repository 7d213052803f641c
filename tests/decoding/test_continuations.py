"""A killed run goes on with the same bytes; log-probabilities of what was written are the model's own."""

import shutil

import pytest
from test_strategies import articles
from tiny import lm_folder
from toy_language import PROMPT, next_log_probs, toy

from longform.core.artefacts import write_corpus
from longform.decoding import continuations
from longform.decoding.continuations import Continuation, FinishedBatches, generate, token_log_probs

DECODERS = {"human": {"kind": "human"}, "top_k": {"kind": "top_k", "k": 9}, "beam": {"kind": "beam", "beams": 3},
            "delayed": {"kind": "delayed_beam", "top_k": 9, "beams": 2},
            "contrastive": {"kind": "contrastive", "k": 3}}  # fmt: skip


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return lm_folder(tmp_path_factory.mktemp("lm"), window=64)


def make(model, scratch=None, **over):
    given = {"decoders": DECODERS, "name": "row", "seed": 1, "new_tokens": 8, "title_from": "first_section", "batch": 2}
    return generate(model=model, prefixes=articles(3), scratch=scratch, **(given | over))


def test_a_run_killed_in_any_batch_ends_with_the_same_bytes(model, tmp_path, monkeypatch):
    whole = make(model, tmp_path / "whole")
    write_corpus(tmp_path / "a", whole)
    decode, calls = continuations.decode, []

    def dies(*given):
        calls.append(1)
        if len(calls) == 5:
            raise KeyboardInterrupt
        return decode(*given)

    monkeypatch.setattr(continuations, "decode", dies)
    with pytest.raises(KeyboardInterrupt):
        make(model, tmp_path / "cut")
    with (tmp_path / "cut" / "batches.jsonl").open("a") as file:
        file.write('{"batch": 5, "dra')  # and the line that was being written
    before = len(calls)
    write_corpus(tmp_path / "b", make(model, tmp_path / "cut"))
    for name in ("documents.jsonl", "truth.npz", "facts.json"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    fresh = len(calls)
    make(model, tmp_path / "whole")
    assert len(calls) == fresh and 0 < fresh - before < before + 6  # what was done is not done again
    shutil.rmtree(tmp_path / "cut")


def test_a_torn_line_does_not_spoil_the_next_one(tmp_path):
    (tmp_path / "batches.jsonl").write_text('{"batch": 0, "dr')
    made = Continuation([1], [-0.5], -1.0)
    assert FinishedBatches(tmp_path).get(["row"], lambda rows: [made]) == [made]
    assert FinishedBatches(tmp_path).get(["row"], lambda rows: pytest.fail("made again")) == [made]
    assert len((tmp_path / "batches.jsonl").read_text().splitlines()) == 2


def test_log_probabilities_are_the_models_own():
    network, written = toy(3), [[2, 0, 4], [], [1]]
    prompts = [PROMPT, [4, 1], [2]]
    for (nats, prefix), prompt, made in zip(token_log_probs(network, prompts, written), prompts, written, strict=True):
        rows = [*prompt, *made]
        wanted = [next_log_probs(network, rows[:i])[rows[i]] for i in range(1, len(rows))]
        assert nats == pytest.approx(wanted[len(prompt) - 1 :], abs=2e-6)
        assert prefix == pytest.approx(sum(wanted[: len(prompt) - 1]), abs=2e-6)


def test_every_decoder_is_told_apart_and_adding_one_moves_no_other_ones_texts(model):
    made = make(model)
    settings = made.truth["setting"].tolist()
    assert {name: settings.count(name) for name in DECODERS} == {
        "human": 3, "top_k": 9, "beam": 3, "delayed": 9, "contrastive": 3,
    }  # fmt: skip
    assert made.documents[0].sections[1].text.strip() == made.documents[0].sections[2].text
    assert made.truth["token_lengths"].sum() == len(made.truth["token_nats"]) == len(made.truth["token_marks"])
    texts = ["".join(d.sections[1].text.split()) for d in made.documents]
    ends = made.truth["token_lengths"].cumsum()
    widths = [int(made.truth["token_marks"][a:b].sum()) for a, b in zip([0, *ends], ends, strict=False)]
    assert all(abs(len(text) - width) <= 3 for text, width in zip(texts, widths, strict=True))
    whole = {d.id: d for d in make(model).documents}
    alone = make(model, decoders={"delayed": DECODERS["delayed"]}).documents
    assert [whole[d.id] for d in alone] == alone
