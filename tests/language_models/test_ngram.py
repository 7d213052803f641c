"""The n-gram network against the equation read off its module, text by text, with counts in dictionaries."""

import math
from collections import Counter

import pytest
import torch
from tiny import bpe_folder, documents
from transformers import AutoModelForCausalLM

from longform.decoding import long_documents
from longform.language_models import ngram
from longform.language_models.checkpoints import load_reader
from longform.language_models.log_probs import open_reader
from longform.language_models.tokenizers import document_rows
from tests.refusals import refuses

ORDER = 3


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    folder = bpe_folder(tmp_path_factory.mktemp("ngram"))
    model = ngram.fit(documents=documents(), base=folder, titles=False, context=64, order=ORDER)
    model.save(folder)
    return model, folder


def rows(tokenizer, split):
    return document_rows([d for d in documents() if d.split == split], tokenizer, False, 10**9)


def oracle(texts, size):
    """Probability of a token after a tuple of tokens."""
    grams = {
        n: [tuple(t[i : i + n]) for t in texts for i in range(len(t) - n + 1)]
        for n in range(1, ORDER + 1)
    }
    counts = {ORDER: Counter(grams[ORDER])}
    for n in range(1, ORDER):
        fronts = {(longer[0], longer[1:]) for longer in grams[n + 1]}
        counts[n] = Counter(gram for _, gram in fronts) + Counter(
            tuple(t[:n]) for t in texts if n > 1
        )
    frequencies = {n: Counter(c.values()) for n, c in counts.items()}
    discounts = {
        n: f[1] / (f[1] + 2 * f[2]) if f[1] and f[2] else 0.5 for n, f in frequencies.items()
    }

    def probability(token, context):
        n, lower = len(context) + 1, probability(token, context[1:]) if context else 1 / size
        after = {gram: c for gram, c in counts[n].items() if gram[:-1] == context}
        if not after:
            return lower
        total = sum(after.values())
        share = max(after.get((*context, token), 0) - discounts[n], 0) / total
        return share + discounts[n] * len(after) / total * lower

    return probability


def test_log_probabilities_are_those_of_interpolated_kneser_ney(fitted):
    model, folder = fitted
    size = len(model.tokenizer)
    probability = oracle(rows(model.tokenizer, "train"), size)
    judged = [row[:12] for row in rows(model.tokenizer, "test")] + [
        (size - 1, 5, size - 1, size - 1)
    ]
    read = open_reader(load_reader(folder, AutoModelForCausalLM)).read(
        [tuple(row) for row in judged]
    )
    network = load_reader(folder, AutoModelForCausalLM)
    for row in judged[:3]:  # what follows a text of one token, and of two
        for width in (1, 2):
            last = network(torch.tensor([row[:width]]), use_cache=False).logits[0, -1]
            wanted = [math.log(probability(t, tuple(row[:width]))) for t in range(size)]
            assert last.tolist() == pytest.approx(wanted, abs=1e-5)
    for row, found in zip(judged, read, strict=True):
        wanted = [
            math.log(probability(t, tuple(row[max(0, i - ORDER + 1) : i])))
            for i, t in enumerate(row)
            if i
        ]
        assert found == pytest.approx(wanted, abs=1e-5)


def test_every_context_has_a_distribution_and_training_text_is_likelier(fitted):
    model, _ = fitted
    network, nats = model.network.eval(), {}
    for split in ("train", "test"):
        own = [torch.tensor([row]) for row in rows(model.tokenizer, split)]
        logits = [network(ids, use_cache=False).logits[0] for ids in own]
        assert all(
            torch.allclose(each.exp().sum(-1), torch.ones(len(each)), atol=1e-5) for each in logits
        )
        pairs = zip(logits, own, strict=True)
        nats[split] = sum(
            float(-each[:-1].gather(1, ids[0, 1:, None]).mean()) for each, ids in pairs
        ) / len(own)
    assert nats["train"] < nats["test"] < math.log(len(model.tokenizer))


def test_n_grams_write_nothing(fitted, tmp_path):
    _, folder = fitted
    given = {
        "name": "n",
        "model": folder,
        "prefixes": documents(),
        "titles": False,
        "seed": 1,
        "scratch": tmp_path,
    }
    sampling = {
        "documents": 2,
        "batch": 2,
        "max_tokens": 8,
        "context_overlap": 4,
        "window": 8,
        "redraws": 1,
    }
    refuses(
        "they read texts and write none",
        long_documents.generate,
        packing="documents",
        **given,
        **sampling,
    )


def test_an_order_without_room_and_a_corpus_without_training_are_refused(fitted):
    _, folder = fitted
    given = {"base": folder, "titles": False, "context": 64}
    refuses("order 1; allowed is 2 to 7", ngram.fit, documents=documents(), order=1, **given)
    refuses("order 8; allowed is 2 to 7", ngram.fit, documents=documents(), order=8, **given)
    ngram.fit(documents=documents(), order=7, **given)
    refuses(
        "context 1; allowed is 2",
        ngram.fit,
        documents=documents(),
        order=3,
        **{**given, "context": 1},
    )
    refuses(
        "no document of split train",
        ngram.fit,
        documents=[d for d in documents() if d.split == "test"],
        order=2,
        **given,
    )


def test_a_configuration_without_arguments_has_two_tokens_and_no_ngrams():
    config = ngram.NgramConfig()
    assert (config.vocab_size, config.sizes, config.num_hidden_layers) == (2, [], 0)
    assert config.max_position_embeddings == 1024
