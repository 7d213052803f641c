"""Mixed languages: sampling against enumeration, recovery of planted languages, and the Dirichlet critic."""

from itertools import product

import numpy as np
import pytest
from scipy.special import digamma
from scipy.stats import dirichlet

from longform.critics.code_mixing import score as critics
from longform.critics.code_mixing.read import LanguageModel, assign, fit, read, words_of
from longform.documents import Document, Predictions, Section
from longform.statistics.estimates import estimate
from longform.statistics.random_streams import generator
from tests.refusals import refuses

ALPHA = np.array([0.4, 0.7, 1.5])
LOST = critics.MixtureReading("c", "test", np.zeros(3), ALPHA, valid=False)
TONGUES = ("ba be bi bo bu by", "ka ke ki ko ku ky", "ma me mi mo mu my")


def sentence(name: str, text: str, title: str | None = None) -> Document:
    return Document(name, "train", (Section(title, text),))


def planted(count: int, mixed: bool, seed: int = 0) -> list[Document]:
    rng = generator("planted sentences", mixed, seed)
    found = []
    for i in range(count):
        pure = rng.integers(3)
        spoken = rng.integers(3, size=8) if mixed else np.full(8, pure)
        words = [TONGUES[tongue].split()[rng.integers(6)] for tongue in spoken]
        found.append(sentence(f"{'mixed' if mixed else 'pure'}{i}", " ".join(words)))
    return found


@pytest.fixture(scope="module")
def model() -> LanguageModel:
    return fit(planted(150, mixed=False), seed=3, sweeps=300, burn_in=50)


def test_gibbs_sampling_reaches_the_enumerated_posterior():
    phi = np.array([[0.5, 0.3, 0.2], [0.1, 0.3, 0.6]])
    alpha, terms = np.array([0.3, 0.8]), np.array([0, 1, 2, 2])
    weights = np.zeros(5)
    for states in product((0, 1), repeat=4):
        weight, counts = 1.0, np.zeros(2)
        for term, state in zip(terms, states, strict=True):
            weight *= (
                phi[state, term] * (alpha[state] + counts[state]) / (alpha.sum() + counts.sum())
            )
            counts[state] += 1
        weights[int(counts[0])] += weight
    expected = weights @ (alpha[0] + np.arange(5)) / weights.sum() / (alpha.sum() + 4)
    uniforms = generator("gibbs").random((60_000, 4))
    _, mean = assign(np.ascontiguousarray(phi[:, terms].T), alpha, uniforms, (10, 1))
    assert mean[0] == pytest.approx(expected, abs=0.01)


def test_disjoint_vocabularies_are_languages_and_pure_sentences_corners(model):
    found = {frozenset(words) for words in model.top_words(6)}
    assert found == {frozenset(tongue.split()) for tongue in TONGUES}
    np.testing.assert_allclose(model.phi.sum(axis=1), 1, atol=1e-5)
    assert model.alpha.max() < 0.3  # sentences are pure, so the prior moved into the corners
    metric = critics.LanguageDispersion()
    read_off = [
        read(planted(40, mixed=mixed, seed=1), reader=model, seed=5) for mixed in (False, True)
    ]
    pure, mixed = (
        metric.score_of(metric.sufficient_statistics(critics.units_from_predictions(one)))
        for one in read_off
    )
    assert pure < 0.1 and mixed > 0.4


def test_draws_depend_on_no_company_and_odd_sentences_are_invalid(model):
    arrays = read(planted(5, mixed=False), reader=model, seed=1).arrays
    added = arrays["posterior"] - model.alpha
    np.testing.assert_allclose(added.sum(axis=1), 8)
    np.testing.assert_allclose(np.sort(added, axis=1)[:, :2], 0, atol=1e-9)
    for shares in (arrays["share"], arrays["mean_share"]):
        np.testing.assert_allclose(shares.sum(axis=1), 1)
    several = planted(6, mixed=True)
    together, alone = read(several, reader=model, seed=2), read(several[4:5], reader=model, seed=2)
    assert np.array_equal(together.arrays["share"][4], alone.arrays["share"][0])
    other = read(several[4:5], reader=model, seed=3)
    assert not np.array_equal(other.arrays["share"], alone.arrays["share"])
    predictions = read(
        [sentence("a", "ba xx"), sentence("b", "xx yy"), sentence("c", "")], reader=model, seed=1
    )
    wanted = {"valid": [True, False, False], "tokens": [1, 0, 0], "unknown": [1, 2, 0]}
    assert {name: predictions.arrays[name].tolist() for name in wanted} == wanted
    assert (
        critics.LanguageDispersion()
        .sufficient_statistics(critics.units_from_predictions(predictions))
        .total("excluded")
        == 2
    )
    pair = Document("p", "test", (Section("source", "The House"), Section("target", "Ba BE")))
    assert words_of(pair) == ["ba", "be"] == words_of(sentence("s", "Ba BE", title="anything"))


def test_a_model_comes_back_from_its_folder_with_the_papers_alpha(model, tmp_path):
    predictions = read(planted(5, mixed=True), reader=model, seed=1)
    units = critics.units_from_predictions(predictions)
    assert np.array_equal(critics.released(real=predictions).fit(units).alpha, model.alpha)
    points = np.array(critics.LanguageDispersion().describe(units)["points"])
    np.testing.assert_allclose(points, predictions.arrays["share"], atol=1e-4)
    model.save(tmp_path / "m")
    again = LanguageModel.load(tmp_path / "m")
    assert again.vocabulary == model.vocabulary and again.facts == model.facts
    assert np.array_equal(again.phi, model.phi) and np.array_equal(again.alpha, model.alpha)
    refuses(r"no languages\.json", LanguageModel.load, tmp_path / "other")


def test_bad_input_is_refused_by_name(model):
    refuses(r"1 language\(s\)", fit, planted(3, mixed=False), seed=1, languages=1)
    refuses("1 distinct word", fit, [sentence("a", "ba ba"), sentence("b", "")], seed=1)
    refuses("got no document", read, [], reader=model, seed=1)
    refuses(
        "no document of splits",
        read,
        planted(1, mixed=False),
        reader=model,
        seed=1,
        splits=["test"],
    )
    refuses("positive", LanguageModel, ("a", "b"), np.full((2, 2), 0.5), np.array([0.0, 1.0]))
    refuses("phi has shape", LanguageModel, ("a", "b"), np.full((2, 3), 0.5), np.ones(2))
    refuses("1 sentence without a known word", critics.CodeMixing().fit, [LOST])
    refuses("not fitted", critics.CodeMixing().sufficient_statistics, [LOST])
    refuses("positive numbers", critics.CodeMixing().with_prior, np.array([1.0, 0.0]))
    two, three = critics.CodeMixing().with_prior(np.ones(2)), sentences(np.array([[1, 1, 1]]))
    refuses("mixes 3 languages, the critic knows 2", two.sufficient_statistics, three)
    refuses("no array", critics.units_from_predictions, Predictions(("u",), ("test",), {}))
    refuses("finite negative", critics.dirichlet_from_logs, np.array([-1.0, 0.0]))
    critic = critics.CodeMixing().with_prior(ALPHA)
    assert critic.sufficient_statistics([LOST]).total("excluded") == 1 and np.isnan(
        critic.score_of(critic.sufficient_statistics([LOST]))
    )


def sentences(counts: np.ndarray, alpha: np.ndarray = ALPHA) -> list[critics.MixtureReading]:
    rng = generator("mixtures", len(counts))
    rows = alpha + np.asarray(counts, float)
    return [
        critics.MixtureReading(f"u{i}", "test", rng.dirichlet(row), row)
        for i, row in enumerate(rows)
    ]


def test_the_score_is_the_expectation_of_the_dirichlet_density():
    unit = sentences(np.array([[3, 1, 6]]))[0]
    critic = critics.CodeMixing().with_prior(ALPHA)
    draws = generator("draws of a mix").dirichlet(unit.posterior, 20_000)
    values = -dirichlet.logpdf(draws.T, ALPHA)
    score = critic.score_of(critic.sufficient_statistics([unit]))
    assert score == pytest.approx(values.mean(), abs=5 * values.std() / np.sqrt(20_000))


def test_the_fit_has_the_expected_logs_of_real_sentences_and_is_best():
    counts = generator("counts of languages").multinomial(8, [0.8, 0.1, 0.1], size=40)
    real = sentences(counts)
    critic = critics.CodeMixing().fit(real)
    means = critics.expected_logs(np.array([unit.posterior for unit in real])).mean(axis=0)
    np.testing.assert_allclose(
        digamma(critic.alpha) - digamma(critic.alpha.sum()), means, atol=1e-8
    )
    best = critic.score_of(critic.sufficient_statistics(real))
    for factor in ([1.1, 1, 1], [1, 0.9, 1], [1, 1, 1.05]):
        other = critic.with_prior(critic.alpha * factor)
        assert other.score_of(other.sufficient_statistics(real)) > best


def test_dispersion_is_zero_in_corners_and_two_thirds_at_the_centre():
    corner = critics.MixtureReading("a", "test", np.array([1.0, 0, 0]), ALPHA)
    centre = critics.MixtureReading("b", "test", np.full(3, 1 / 3), ALPHA)
    metric = critics.LanguageDispersion()
    statistics = metric.sufficient_statistics([corner, centre, LOST])
    np.testing.assert_allclose(statistics.column("dispersion"), [0, 2 / 3, 0])
    assert metric.score_of(statistics) == pytest.approx(1 / 3)
    assert critics.LanguageDispersion(corners=True).score_of(statistics) == 0.5
    assert estimate(metric, statistics, generator("dispersion"), 20).excluded == 1
    assert metric.fit([corner]) is metric


def test_the_average_is_over_every_kept_sweep_after_the_burn_in():
    chances = np.array([[0.5, 0.1], [0.3, 0.3], [0.2, 0.6], [0.4, 0.5]])
    alpha, uniforms = np.array([0.3, 0.8]), generator("sweeps").random((9, 4))
    after = [assign(chances, alpha, uniforms[: n + 1], (0, 1))[0] for n in range(9)]
    assert len({tuple(counts) for counts in after}) > 2
    for burn_in, interval, kept in ((2, 3, (2, 5, 8)), (0, 4, (0, 4, 8)), (8, 5, (8,))):
        counts, mean = assign(chances, alpha, uniforms, (burn_in, interval))
        expected = np.mean([alpha + after[sweep] for sweep in kept], axis=0) / (alpha.sum() + 4)
        assert counts.tolist() == after[-1].tolist()
        assert mean == pytest.approx(expected, rel=1e-12)
