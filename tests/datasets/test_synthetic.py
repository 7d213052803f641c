"""The synthetic language: its closed forms are the truth that every estimate must meet."""

import itertools

import numpy as np
import pytest

from longform.critics.perplexity.score import Perplexity, units_from_predictions
from longform.documents import chains_from_predictions
from longform.statistics.markov_chain import true_markov
from synthetic_world.exact_log_probs import read as read_truth
from synthetic_world.hsmm_language import DELIMITER, build, language, language_from_truth
from synthetic_world.synthetic_states.read import read, released_states, strict_states
from tests.refusals import refuses

SMALL = {"num_states": 3, "subsequences": 7, "min_length": 2, "max_length": 3, "steps": 3}
HEAT = {"transition": 0.5, "emission": 0.3}
FULL = {"num_states": 256, "subsequences": 10_000, "min_length": 4, "max_length": 11, "steps": 50}


@pytest.mark.parametrize("seed", [1, 2])
def test_closed_forms_equal_enumeration_of_all_texts(seed):
    made = language(seed=seed, temperatures=HEAT, **SMALL)
    lengths = [len(text.split()) for text in made.subsequences]
    states, words = range(len(made.transitions)), range(len(made.subsequences))
    nats = tokens = latent = 0.0
    for z in itertools.product(states, repeat=made.steps):
        chain = np.prod([made.transitions[a, b] for a, b in itertools.pairwise((0, *z))])
        for w in itertools.product(words, repeat=made.steps):
            if probability := chain * np.prod(
                [made.emissions[a, b] for a, b in zip(z, w, strict=True)]
            ):
                nats -= probability * np.log(probability)
                latent -= probability * np.log(chain)
                tokens += probability * sum(lengths[i] for i in w)
    assert made.word_ppl() == pytest.approx(np.exp(nats / tokens), rel=1e-10)
    assert made.latent_ppl() == pytest.approx(np.exp(latent / made.steps), rel=1e-10)


@pytest.mark.long  # twelve corpora of full size
def test_full_size_lies_where_twelve_redraws_lie_and_estimates_meet_it():
    full = build(name="full", seed=1234, documents={"test": 1600}, temperatures=HEAT, **FULL)
    assert 41 <= full.facts["latent_ppl"] <= 46  # deng2022 prints 44.30; specification section 2.3
    assert 1.94 <= full.facts["word_ppl"] <= 2.04  # deng2022 prints 1.99
    assert full.facts["parameters"] == 2_625_536  # deng2022: 2.63M
    lengths = [len(document.text.split()) for document in full.documents]
    assert 365 <= np.mean(lengths) <= 390
    predictions = read(
        documents=full.documents, reader_truth=full.truth, rule="released", splits=["test"]
    )
    critic = true_markov(real=predictions)
    statistics = critic.sufficient_statistics(chains_from_predictions(predictions))
    assert statistics.total("excluded") == 0 and statistics.total("transitions") == 1600 * 50
    assert abs(critic.score_of(statistics) - full.facts["latent_ppl"]) < 0.3
    predictions = read_truth(
        documents=full.documents, truth=full.truth, reader_truth=full.truth, splits=["test"]
    )
    metric = Perplexity()
    assert metric.score_of(
        metric.sufficient_statistics(units_from_predictions(predictions))
    ) == pytest.approx(full.facts["word_ppl"], abs=0.01)


def test_the_two_oracle_rules_differ_as_documented():
    owner = {f"a {DELIMITER}": 0, f"b {DELIMITER}": 1}
    whole = f"a {DELIMITER} b {DELIMITER}"
    assert released_states(whole, owner, 2) == strict_states(whole, owner, 100) == [0, 1]
    assert released_states(f"{whole} c {DELIMITER}", owner, 2) == [
        0,
        1,
    ]  # garbage after M valid chunks is forgiven
    assert strict_states(f"{whole} c {DELIMITER}", owner, 100) is None
    # the last delimiter is missing: one state only
    assert released_states(f"a {DELIMITER} b", owner, 2) is None
    assert released_states(f"{whole} a {DELIMITER}", owner, 2) is None  # one valid chunk too many
    assert strict_states(f"{whole} a {DELIMITER}", owner, 100) == [0, 1, 0]
    assert strict_states(f"{whole} a {DELIMITER}", owner, 2) is None


def test_document_seven_is_the_same_in_any_company():
    one = build(name="c", seed=5, documents={"train": 8}, temperatures=HEAT, **SMALL)
    other = build(name="c", seed=5, documents={"train": 20, "test": 3}, temperatures=HEAT, **SMALL)
    assert one.documents[7] == other.documents[7]
    refuses("subsequences=2 ", language, seed=1, temperatures=HEAT, **{**SMALL, "subsequences": 2})
    refuses("1 state or more", language, seed=1, temperatures=HEAT, **{**SMALL, "num_states": 0})
    refuses("name a synthetic corpus", language_from_truth, {"other": np.zeros(1)})


@pytest.mark.parametrize("documents", [{}, {"train": 0}])
def test_a_language_without_documents_is_refused_in_a_sentence(documents):
    refuses(
        "asks for zero documents, at least one is needed",
        build,
        name="c",
        seed=5,
        documents=documents,
        temperatures=HEAT,
        **SMALL,
    )
