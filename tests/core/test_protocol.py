"""One protocol: intervals cover, tests keep their level, and every critic of the repository obeys it."""

import dataclasses
import importlib
import inspect
import pkgutil

import numpy as np
import pytest
from samples import SAMPLES

import longform.critics
import longform.evaluation
from longform.critics.coreference import rules
from longform.critics.coreference.score import Coreference
from longform.critics.entity_grid.score import EntityGrid
from longform.critics.perplexity.score import LogProbs, Perplexity
from longform.critics.repetition import score as repetition
from longform.critics.section_order import read as section_order
from longform.documents import of_splits
from longform.statistics import resampling
from longform.statistics.arithmetic import logsumexp, perplexity
from longform.statistics.comparisons import compare
from longform.statistics.estimates import estimate
from longform.statistics.intervals import percentile_interval
from longform.statistics.markov_chain import BigramCritic
from longform.statistics.protocols import Attributing, Critic
from longform.statistics.random_streams import generator
from longform.statistics.resampling import resampled_rows, resampled_scores
from longform.statistics.sign_flips import sign_flip_test
from longform.statistics.signatures import signature
from longform.statistics.sufficient_statistics import SufficientStatistics
from longform.statistics.sum_scored import SumScored
from longform.text.entity_grids import found_grids
from tests.refusals import refuses


def units(count, mean, name="x"):
    rng = generator(name, mean)
    return [
        LogProbs(f"{name}{i}", "test", rng.normal(mean, 0.5, rng.integers(3, 9)))
        for i in range(count)
    ]


def test_bootstrap_interval_covers_the_true_perplexity():
    critic, hits = Perplexity(), 0
    for trial in range(60):
        statistics = critic.sufficient_statistics(units(40, -1.0, f"trial{trial}"))
        found = estimate(critic, statistics, generator("bootstrap", trial), resamples=200)
        hits += found.low <= np.e <= found.high
    assert hits >= 50  # 95 % of 60 is 57; fewer than 50 has probability below 1e-4


def rejections(first, second, name):
    """How often, of 60 pairs of samples, a test at 5 % tells two sufficient statistics apart."""
    critic = Perplexity()
    pairs = ((first(trial), second(trial), generator(name, trial)) for trial in range(60))
    return sum(compare(critic, a, b, rng, 200).p_value < 0.05 for a, b, rng in pairs)


def sample(count, mean, name):
    return Perplexity().sufficient_statistics(units(count, mean, name))


def test_permutation_test_keeps_its_level_and_finds_a_difference():
    found = rejections(
        lambda trial: sample(20, -1.0, f"a{trial}"),
        lambda trial: sample(20, -1.0, f"b{trial}"),
        "null",
    )
    assert found <= 9  # 5 % of 60 is 3; more than 9 has probability below 1e-3
    far, near = sample(20, -1.4, "far"), sample(20, -1.0, "near")
    assert compare(Perplexity(), far, near, generator("far"), 500).p_value < 0.01


def test_comparison_is_paired_exactly_when_units_agree():
    critic = Perplexity()
    statistics = critic.sufficient_statistics(units(10, -1.0))
    worse = SufficientStatistics(
        statistics.unit_ids, statistics.columns, statistics.values * [1.1, 1, 1]
    )
    assert compare(critic, worse, statistics, generator(1), 200).paired
    assert not compare(
        critic, worse, critic.sufficient_statistics(units(10, -1.0, "y")), generator(1), 200
    ).paired
    backwards = statistics.take(np.arange(10)[::-1])
    assert compare(critic, worse, backwards, generator(1), 200) == compare(
        critic, worse, statistics, generator(1), 200
    )


def unscored(statistics, kept):
    """All but the first so many units excluded."""
    lost = np.arange(len(statistics.unit_ids)) >= kept
    return SufficientStatistics(
        statistics.unit_ids,
        statistics.columns,
        np.where(lost[:, None], [0.0, 0.0, 1.0], statistics.values),
    )


def test_losing_units_on_one_side_is_no_difference_of_scores():
    few, whole = (
        (lambda trial: unscored(sample(40, -1.0, f"a{trial}"), 2)),
        (lambda trial: sample(40, -1.0, f"b{trial}")),
    )
    # as above; exchanging the lost units too rejects about a third
    assert rejections(few, whole, "lost") <= 9
    nothing = unscored(sample(40, -1.0, "a"), 0)
    assert (
        compare(Perplexity(), nothing, sample(40, -1.0, "b"), generator("none"), 200).p_value == 1.0
    )


@pytest.mark.parametrize("scale", [1.0, 1e6])
def test_the_p_value_of_a_complete_separation_is_exact_at_any_scale(scale):
    class Mean:
        def score_of(self, statistics):
            return scale + statistics.total("value") / len(statistics.unit_ids)

    low, high = (
        SufficientStatistics(tuple(names), ("value",), np.array(v)[:, None])
        for names, v in (("abc", [0.1, 0.2, 0.3]), ("def", [0.7, 0.8, 0.9]))
    )
    assert compare(Mean(), low, high, generator("separated"), 20_000).p_value == pytest.approx(
        0.1, abs=0.01
    )


def means(names, values):
    return SufficientStatistics(
        tuple(names), ("value", "units"), np.stack([values, np.ones(len(values))], axis=1)
    )


class MeanValue(SumScored, better="higher", divided=("value", "units")):
    """Mean of a column."""


@pytest.mark.parametrize("unit", [1e-300, 1e-10, 1.0, 1e10])
def test_p_values_do_not_depend_on_the_unit_of_the_scores(unit):
    low, high = np.array([0.1, 0.2, 0.3]), np.array([0.7, 0.8, 0.9])
    apart = compare(
        MeanValue(), means("abc", low * unit), means("def", high * unit), generator("unit"), 20_000
    )
    assert apart.p_value == pytest.approx(0.1, abs=0.01)  # 2 of 20 ways to choose three of six
    tied = compare(
        MeanValue(),
        means("abc", low * unit),
        means("def", low[::-1] * unit),
        generator("unit"),
        200,
    )
    assert tied.p_value == 1.0
    flips = sign_flip_test(np.full(5, 0.1 * unit), generator("signs"), 20_000)
    assert flips == pytest.approx(2 / 32, abs=0.01)  # all signs alike


def test_rounding_of_large_sums_that_cancel_is_no_difference():
    values = np.array([1e6, -1e6, 0.3, -0.1, -0.2])  # sums to zero but for rounding
    same = compare(
        MeanValue(), means("abcde", values), means("fghij", values[::-1]), generator("cancel"), 500
    )
    assert same.p_value == 1.0


def test_versions_of_one_text_are_exchanged_with_each_other():
    """Eight texts worsen by 0.1 each, among differences between texts of up to 7: by chance in 2 of 2^8 swaps."""
    levels = np.arange(8.0)
    ours, theirs = [*"abcdefgh", "x"], [*"hgfedcba", "y", "z"]
    first, second = means(ours, [*levels + 0.1, 3.5]), means(theirs, [*levels[::-1], 3.5, 3.5])
    free = compare(MeanValue(), first, second, generator("versions"), 4000)
    within = compare(MeanValue(), first, second, generator("versions"), 4000, matched=True)
    assert not within.paired and free.p_value > 0.5
    assert within.p_value == pytest.approx(2 / 256, abs=0.004)


def test_infinite_and_empty_scores_and_large_or_impossible_logs():
    critic = Perplexity()
    found = estimate(
        critic,
        critic.sufficient_statistics([LogProbs("a", "test", np.array([-np.inf]))]),
        generator(0),
        10,
    )
    assert found.value == found.low == found.high == np.inf
    refuses("zero units", estimate, critic, critic.sufficient_statistics([]), generator(0))
    assert np.isnan(perplexity(-1.0, 0))
    assert logsumexp(np.array([1000.0, 1000.0])) == pytest.approx(1000 + np.log(2))
    assert logsumexp(np.array([-np.inf, -np.inf])) == -np.inf
    low, high = percentile_interval(np.arange(1001.0))
    assert (low, high) == (25.0, 975.0)
    statistics = SufficientStatistics(
        ("a", "b"), ("logprob", "tokens", "excluded"), np.array([[-1.0, 1, 0], [-np.inf, 1, 0]])
    )
    found = resampled_scores(Perplexity(), statistics, np.array([[0, 0], [0, 1]]))
    assert found.tolist() == [pytest.approx(np.e), np.inf]


def classes():
    rooms = (longform.critics, longform.evaluation)
    modules = [
        info.name
        for room in rooms
        for info in pkgutil.walk_packages(room.__path__, f"{room.__name__}.")
    ]
    for module in map(importlib.import_module, [*modules, "longform.statistics.markov_chain"]):
        for name, member in inspect.getmembers(module, inspect.isclass):
            own = (
                member.__module__ == module.__name__
                and not name.startswith("_")
                and not inspect.isabstract(member)
            )
            if own and all(
                hasattr(member, verb) for verb in ("fit", "sufficient_statistics", "score_of")
            ):
                yield name


@pytest.mark.parametrize("name", sorted(set(classes())))
def test_every_critic_conforms(name):
    assert name in SAMPLES, (
        f"{name} has no sample in tests/samples: add (critic, real units, worse units)"
    )
    critic, real, worse = SAMPLES[name]()
    before = vars(critic).copy()
    fitted = critic.fit(real)
    assert isinstance(fitted, Critic) and all(
        vars(critic)[key] is value for key, value in before.items()
    )
    recorded = vars(type(critic)).get("recorded_as", name)
    assert signature(fitted) == signature(critic) and signature(critic).startswith(recorded)
    whole, parts = (
        fitted.sufficient_statistics(real),
        fitted.sufficient_statistics(real[:3]) + fitted.sufficient_statistics(real[3:]),
    )
    assert whole.unit_ids == parts.unit_ids == tuple(unit.unit_id for unit in real)
    np.testing.assert_allclose(whole.values, parts.values, rtol=1e-12, equal_nan=True)
    backwards = fitted.sufficient_statistics(real[::-1])
    np.testing.assert_allclose(fitted.score_of(backwards), fitted.score_of(whole), rtol=1e-10)
    np.testing.assert_allclose(backwards.values[::-1], whole.values, rtol=1e-12, equal_nan=True)
    good, bad = fitted.score_of(whole), fitted.score_of(fitted.sufficient_statistics(worse))
    assert {"higher": good - bad, "lower": bad - good}.get(fitted.better, abs(bad - good)) > 0
    index = generator("resamples", name).integers(0, len(real), (5, len(real)))
    one_by_one = [fitted.score_of(whole.take(rows)) for rows in index]
    np.testing.assert_allclose(resampled_scores(fitted, whole, index), one_by_one, rtol=1e-10)


def test_draws_do_not_depend_on_how_many_are_made_at_a_time(monkeypatch):
    whole = np.concatenate(list(resampled_rows(7, generator("blocks"), 50)))
    monkeypatch.setattr(resampling, "NUMBERS_AT_ONCE", 20)
    assert len(list(resampled_rows(7, generator("blocks"), 50))) == 25
    assert np.array_equal(np.concatenate(list(resampled_rows(7, generator("blocks"), 50))), whole)
    rng = generator("blocks")
    assert np.array_equal([rng.integers(0, 7, 7) for _ in range(50)], whole)


def test_a_score_that_resampling_biases_is_centred_and_cut_at_its_bound():
    class Kinds:
        """Share of all units that are of different kinds: a resample always has fewer."""

        def score_of(self, statistics):
            return len(set(statistics.column("kind").tolist())) / 20

    class Centred(Kinds):
        upper_bound = 1.0

    statistics = SufficientStatistics(
        tuple(map(str, range(20))), ("kind",), np.arange(20.0)[:, None]
    )
    plain, centred = (dataclasses.dataclass(kind)() for kind in (Kinds, Centred))
    assert estimate(plain, statistics, generator("kinds"), 200).high < 1.0
    found = estimate(centred, statistics, generator("kinds"), 200)
    assert found.low < found.value == found.high == 1.0


@pytest.mark.parametrize(
    "name", sorted(name for name in SAMPLES if hasattr(SAMPLES[name]()[0], "part_values"))
)
def test_parts_sum_to_what_is_scored(name):
    critic, real, worse = SAMPLES[name]()
    fitted = critic.fit(real)
    assert isinstance(fitted, Attributing) and fitted.blame in (-1, 1)
    pooled = []
    for units in (real, worse):
        statistics = fitted.sufficient_statistics(units)
        whole = sum(statistics.column(column) for column in fitted.attributed)
        parts = [np.nansum(part) for part in fitted.part_values(units)]
        np.testing.assert_allclose(parts, whole, rtol=1e-9, atol=1e-9)
        singly = [fitted.part_values([unit])[0] for unit in units]
        for one, together in zip(singly, fitted.part_values(units), strict=True):
            np.testing.assert_allclose(one, together, rtol=1e-9, atol=1e-12)
        pooled += [part.ravel() for part in singly]
    values = np.concatenate(pooled)
    assert np.ptp(values[~np.isnan(values)]) > 0  # parts differ, so they can point at something


@pytest.mark.parametrize("texts", [["A plain text.", "Another one."], "A plain text."])
def test_plain_texts_in_place_of_units_or_documents_are_told_apart(texts):
    """Their method ``split`` is no split, so that readers took none of them and said nothing."""
    for critic, method in ((Perplexity(), "sufficient_statistics"), (Perplexity(), "part_values"), (BigramCritic(), "fit"),
                           (Coreference(), "sufficient_statistics"), (EntityGrid(), "sufficient_statistics"), (MeanValue(), "fit")):  # fmt: skip
        who = f"{type(critic).__name__}.{method}: "
        refuses(
            f"^{who}got plain text; give units that its reader makes",
            getattr(critic, method),
            texts,
        )
    readers = (
        lambda: repetition.read(documents=texts, splits=["test"]),
        lambda: rules.read(documents=texts, splits=["test"]),
        lambda: section_order.read_gold(documents=texts, splits=["test"]),
        lambda: found_grids(texts, lambda sentence: []),
    )
    for reader in readers:
        refuses("got plain text; give documents", reader)
    refuses("got plain text; give documents", of_splits, texts, ["test"], "topics")


# by class: what its reader takes, by keyword alone | what a fit learns, by keyword alone with *
FIELDS = {
    "bbscore.score:_PathCritic": "encoder=None seed=0|*head",
    "code_mixing.score:_MixtureCritic": "languages=3 seed=0|*mixture",
    "entity_grid.score:EntityGrid": "lexicon=None|log_probs",
    "lexical.score:SharedNouns": "lexicon=None|",
    "lexical.score:LatentSemanticAnalysis": "lexicon=None|words vectors",
    "lexical.wordnet:WordnetSimilarity": "lexicon=None|taxonomy",
    "mauve.score:Mauve": "model=None|real centres shares",
    "neural_ranker.score:NeuralRanker": "model=None encoder=None seed=0|",
    "order_and_repetition.score:OrderAndRepetition": "model=None window=None shuffles=3 seed=0"
    "|*reference",
    "perplexity.score:Perplexity": "model=None window=None|",
    "topics.score:Topics": "topics=0 seed=1234|*model mean precision",
    "verifiability.score:_CheckerCritic": "checker=None|",
}


@pytest.mark.parametrize("name", FIELDS, ids="critics.{}".format)
def test_a_reader_is_set_by_keyword_and_what_is_learnt_is_not_shown(name):
    module, _, kind = name.partition(":")
    fields = dataclasses.fields(
        getattr(importlib.import_module(f"longform.critics.{module}"), kind)
    )
    reading = [one for one in fields if "reading" in one.metadata]
    learnt = [one for one in fields if "fitted" in one.metadata]
    shown = " ".join(f"{one.name}={one.default}" for one in reading)
    by_fit = " ".join("*" * one.kw_only + one.name for one in learnt)
    assert f"{shown}|{by_fit}" == FIELDS[name] and all(one.kw_only for one in reading)
    assert not any(one.repr for one in learnt)
