"""The hidden semi-Markov model's n-grams, likelihood, sampling and files, against counting and enumeration; Latent PPL in closed form."""

from collections import Counter
from itertools import product

import numpy as np
import pytest
from semi_markov_cases import (
    durations,
    enumerated_log_likelihood,
    random_case,
    steep,
    without_unigrams,
)

from experiments.deng2022.latent_reading import emitted_owners, latent_reading
from longform.hsmm import model
from longform.hsmm.model import SemiMarkovLM, build_ngrams
from longform.statistics.random_streams import generator
from synthetic_world.hsmm_language import language
from tests.refusals import refuses


@pytest.mark.parametrize("seed", range(5))
def test_log_likelihood_equals_enumeration_for_every_text(seed):
    (model, texts), (rough, _) = random_case(seed), random_case(seed, dtype="float32")
    for one, near in (
        (model, 1e-10),
        (steep(model), 1e-10),
        (steep(rough), 1e-6),
    ):  # scaling loses nothing
        want = [enumerated_log_likelihood(one, text) for text in texts]
        np.testing.assert_allclose(one.log_likelihood(texts), want, rtol=near)
        np.testing.assert_allclose(one.log_likelihood(texts, rows_per_block=1), want, rtol=near)


def test_sampled_segments_follow_the_joint_table():
    model, _ = random_case(5)
    drawn = model.draw(4, [generator("hsmm test", i) for i in range(4000)])
    first = np.array([states[0] for states, _ in drawn])
    np.testing.assert_allclose(
        np.bincount(first, minlength=3) / 4000, model.transitions[0], atol=0.03
    )
    for state in range(3):
        seen = Counter(
            row for states, rows in drawn for row, z in zip(rows, states, strict=True) if z == state
        )
        frequency = np.array([seen[row] for row in range(model.ngrams.rows)]) / sum(seen.values())
        np.testing.assert_allclose(frequency, model.joint[:, state], atol=0.03)
        longest = frequency[model.ngrams.starts[-2] :].sum()
        assert longest == pytest.approx(durations(model)[-1, state], abs=0.03) and longest > 0
    _, alone = model.draw(4, [generator("hsmm test", 7)])[0]
    assert model.tokens_of(alone) == model.tokens_of(
        drawn[7][1]
    )  # a text depends on its own generator only


def test_saved_model_comes_back_and_other_shapes_and_tokens_are_refused(tmp_path):
    model, texts = random_case(0, dtype="float32")
    SemiMarkovLM(model.ngrams, model.transitions, model.joint, {"seed": 1}).save(tmp_path / "m")
    again = SemiMarkovLM.load(tmp_path / "m")
    np.testing.assert_array_equal(again.joint, model.joint)
    np.testing.assert_array_equal(again.log_likelihood(texts), model.log_likelihood(texts))
    assert again.facts == {"seed": 1}
    again.save(tmp_path / "m")  # over what is there
    config = (tmp_path / "m" / "config.json").read_text()
    states = '"num_states": 3', '"num_states": 4'
    for old, new, said in ((*states, "transitions is"), ("Markov 2", "Markov 1", "format is not")):
        (tmp_path / "m" / "config.json").write_text(config.replace(old, new))
        refuses(said, SemiMarkovLM.load, tmp_path / "m")
    refuses("train the model first", SemiMarkovLM.load, tmp_path / "absent")
    model, _ = random_case(0)
    refuses("token 'z' is not one of the 3", model.log_likelihood, [["a", "z"]])
    refuses("sequence 0: got no tokens", model.log_likelihood, [[]])
    refuses("corpus of 0 sequences", build_ngrams, [], max_duration=2)
    refuses(
        "exceed a 64-bit key; lower max_duration",
        build_ngrams,
        [list(map(str, range(1000)))],
        max_duration=7,
    )


def test_mixing_with_uniform_tables_keeps_sums_and_gives_every_text_a_path():
    model, _ = random_case(0)
    mute = without_unigrams(model)
    mute = SemiMarkovLM(model.ngrams, model.transitions, mute.joint / mute.joint.sum(axis=0))
    mixed = mute.mixed(0.1)
    assert mute.log_likelihood([["a"]])[0] == -np.inf and np.isfinite(
        mixed.log_likelihood([["a"]])[0]
    )
    np.testing.assert_allclose(mixed.joint.sum(axis=0), 1, rtol=1e-12)
    np.testing.assert_allclose(mixed.transitions.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(durations(mixed)[0], 0.1 / 3, rtol=1e-12)


@pytest.mark.parametrize("chunk", [5, 4_000_000])
@pytest.mark.parametrize("seed", range(3))
def test_the_most_frequent_ngrams_stay_ties_in_lexicographic_order(seed, chunk, monkeypatch):
    monkeypatch.setattr(model, "WINDOWS_PER_CHUNK", chunk)
    draw = np.random.default_rng(seed)
    texts = [["abc"[i] for i in draw.integers(0, 3, length)] for length in (30, 2, 17, 25)]
    table = build_ngrams(texts, max_duration=4, max_ngrams=12)
    for n in range(1, 5):
        counts = Counter(tuple(text[i : i + n]) for text in texts for i in range(len(text) - n + 1))
        best = sorted(counts, key=lambda gram: (-counts[gram], gram))[:10]
        assert [table.text(row) for row in range(table.starts[n - 1], table.starts[n])] == sorted(
            best
        )
        assert table.dropped[n - 1] == len(counts) - len(best)
    rows = {table.text(row): row for row in range(table.rows)}
    for text in texts:
        index = table.index(table.encode(text))
        for t, n in np.ndindex(index.shape):
            window = tuple(text[t : t + n + 1])
            assert index[t, n] == (
                rows.get(window, -1) if len(window) == n + 1 else -1
            )  # absent or overhanging


def test_windows_are_yielded_as_soon_as_there_are_enough_to_sort(monkeypatch):
    monkeypatch.setattr(model, "WINDOWS_PER_CHUNK", 3)
    texts = [np.array(ids, np.uint64) for ids in ([1, 2, 3], [4], [5, 6], [7, 8, 9, 1], [2, 3])]
    chunks = [keys.tolist() for keys in model._window_chunks(texts, 2, 10)]
    assert chunks == [[12, 23, 56], [78, 89, 91], [23]]
    texts += [np.array(ids, np.uint64) for ids in ([4, 5], [6, 7], [8, 9])]
    chunks = [keys.tolist() for keys in model._window_chunks(texts, 2, 10)]
    assert chunks == [[12, 23, 56], [78, 89, 91], [23, 45, 67], [89]]


def test_long_keys_and_missing_lengths():
    text = ["52"] * 11 + [f"{i:02d}" for i in range(53)]
    table = build_ngrams([text], max_duration=11)
    assert table.text(table.rows - 1) == ("52",) * 11
    assert table.index(table.encode(text))[0, 10] == table.rows - 1
    assert build_ngrams([["a", "b"]], max_duration=64).max_duration == 64
    table = build_ngrams([["a", "b"]], max_duration=4)
    assert (table.durations.tolist(), table.starts.tolist()) == ([1, 1, 2], [0, 2, 3, 3, 3])


def _truth(made):
    """The language written as a semi-Markov model."""
    texts = [text.split() for text in made.subsequences]
    ngrams = build_ngrams(texts, max_duration=4)
    joint = np.zeros((ngrams.rows, len(made.transitions)))
    for i, text in enumerate(texts):
        joint[ngrams.index(ngrams.encode(text))[0, len(text) - 1]] = made.emissions[:, i]
    return SemiMarkovLM(ngrams, made.transitions, joint)


def test_the_closed_form_equals_enumeration_for_the_language_itself():
    given = {"num_states": 3, "subsequences": 12, "min_length": 3, "max_length": 4, "seed": 5}
    given["temperatures"] = {"transition": 0.5, "emission": 0.3}
    long, made = (language(**given, steps=n) for n in (12, 3))
    reading = latent_reading(_truth(long), long)
    assert reading.latent_ppl == pytest.approx(long.latent_ppl(), rel=1e-10)
    assert reading.parse_rate == pytest.approx(1, rel=1e-10)
    truth, draws = _truth(made), np.random.default_rng(0)
    joint = 0.7 * truth.joint + 0.3 * draws.dirichlet(np.ones(truth.ngrams.rows), 3).T
    model = SemiMarkovLM(
        truth.ngrams, 0.5 * truth.transitions + 0.5 * draws.dirichlet(np.ones(3), 3), joint
    )
    owned, survived, nats = emitted_owners(model, made), 0.0, 0.0
    for path in product(range(3), repeat=3):
        for true in product(range(3), repeat=3):
            mass = np.prod(
                [model.transitions[a, b] for a, b in zip((0, *path), path, strict=False)]
            )
            mass *= np.prod([owned[s, z] for s, z in zip(path, true, strict=True)])
            survived += mass
            nats -= mass * sum(
                np.log(made.transitions[a, b]) for a, b in zip((0, *true), true, strict=False)
            )
    reading = latent_reading(model, made)
    assert reading.parse_rate == pytest.approx(survived, rel=1e-10)
    assert reading.latent_ppl == pytest.approx(np.exp(nats / survived / 3), rel=1e-10)


@pytest.mark.parametrize("wrong", ["transitions", "rows", "states"])
def test_tables_of_another_shape_are_refused_one_by_one(wrong):
    made, _ = random_case(0)
    transitions, joint = made.transitions, made.joint
    if wrong == "transitions":
        transitions = transitions[:, :-1]
    joint = {"rows": joint[:-1], "states": joint[:, :-1]}.get(wrong, joint)
    refuses(
        r"do not fit .* n-grams, allowed \(C, C\) and",
        SemiMarkovLM,
        made.ngrams,
        transitions,
        joint,
    )
