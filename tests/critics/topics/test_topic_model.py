"""The correlated topic model against direct evaluation, quadrature, finite differences and a simulated truth; its training."""

import os
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher
from scipy.optimize import minimize
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

from longform.critics.topics import kernels
from longform.critics.topics import model as models
from longform.critics.topics import train as ctm
from longform.critics.topics.score import TopicPosterior, Topics
from longform.documents import Document, Section
from longform.statistics.random_streams import generator
from tests.refusals import refuses

# rounds until the bound stands still in float64
EXACT = models.TopicSettings(rounds=-1, tolerance=1e-14, floats="float64")


def small_model(seed: int, topics: int = 3, terms: int = 5) -> models.TopicModel:
    rng = generator("topic test model", seed, topics, terms)
    root = rng.normal(size=(topics - 1, topics - 1))
    covariance = root @ root.T + 0.3 * np.eye(topics - 1)
    beta = rng.dirichlet(np.full(terms, 0.4), topics)
    return models.TopicModel(
        (), beta, rng.normal(size=topics - 1), covariance, models.inverse(covariance)
    )


def simulated(documents: int, seed: int = 0, length: int = 250):
    """Counts from a known model: six topics in two blocks that rise and fall together, ten words of its own each."""
    rng = generator("simulated topics", seed)
    block = np.kron(np.eye(2), np.full((3, 3), 1.5)) + np.eye(6)
    beta = np.kron(np.eye(6), np.full((1, 10), 0.09)) + 0.1 / 60
    logits = rng.multivariate_normal(np.zeros(6), block, documents)
    shares = np.exp(logits - logsumexp(logits, axis=1)[:, None])
    words = [rng.multinomial(length, share @ beta) for share in shares]
    return (
        models.from_rows([(np.flatnonzero(w), w[w > 0].astype(float)) for w in words], 60),
        block,
        beta,
        shares,
    )


def small_counts(seed: int, documents: int = 4, terms: int = 5) -> models.TermCounts:
    rng = generator("topic test counts", seed)
    rows = []
    for _ in range(documents):
        known = rng.permutation(terms)[: rng.integers(1, terms + 1)]
        rows.append((known, rng.integers(1, 6, len(known)).astype(float)))
    return models.from_rows(rows, terms)


def maximised(
    counts: models.TermCounts, topics: int, seed: int = 2, **settings
) -> models.TopicModel:
    seeded = ctm.seeded_model(counts, topics=topics, seed=seed)
    return ctm.maximise(counts, seeded, settings=replace(models.RELEASED, **settings))


def assignments(terms: np.ndarray, logits: np.ndarray, model: models.TopicModel) -> np.ndarray:
    joint = np.append(logits, 0.0)[:, None] + np.log(model.beta[:, terms])
    return np.exp(joint - logsumexp(joint, axis=0))


def direct_bound(row, logits, variances, model) -> float:
    """Blei and Lafferty (2007), equation 8 term by term, with every variational parameter explicit."""
    terms, counts = row
    full, wide = np.append(logits, 0.0), np.append(variances, 0.0)
    phi, zeta = assignments(terms, logits, model), np.exp(full + wide / 2).sum()
    prior = multivariate_normal.logpdf(logits, model.mean, model.covariance)
    prior -= 0.5 * np.trace(np.linalg.inv(model.covariance) @ np.diag(variances))
    entropy = 0.5 * np.sum(np.log(2 * np.pi * np.e * variances))
    normaliser = np.exp(full + wide / 2).sum() / zeta - 1 + np.log(zeta)
    spread = phi * (full[:, None] + np.log(model.beta[:, terms]) - np.log(phi))
    return float(prior + entropy - counts.sum() * normaliser + np.sum(counts * spread.sum(axis=0)))


@pytest.mark.parametrize("seed", range(3))
def test_the_bound_is_the_sum_of_its_terms_and_no_optimiser_beats_it(seed):
    model, counts = small_model(seed, topics=4), small_counts(seed)
    found = ctm.expectation(counts, model, replace(EXACT, tolerance=1e-9))
    for d, row in enumerate(counts.rows()):
        direct = direct_bound(row, found.logits[d], found.variances[d], model)
        assert found.bounds[d] == pytest.approx(direct, abs=1e-8)
    model, counts = small_model(seed), small_counts(seed, documents=2)
    found = ctm.expectation(counts, model, EXACT)
    for d, row in enumerate(counts.rows()):
        free = model.topics - 1

        def lowered(x, row=row, free=free):
            return -direct_bound(row, x[:free], np.exp(x[free:]), model)

        start = np.concatenate([found.logits[d] + 0.3, np.log(found.variances[d]) - 0.3])
        best = minimize(lowered, start, method="BFGS", options={"gtol": 1e-9})
        assert found.bounds[d] == pytest.approx(-best.fun, rel=1e-9)


def grid_terms(row, logits: float, variance: float, model: models.TopicModel):
    """Two topics: log evidence and the three slacks of the bound, by the trapezoidal rule on a fine grid."""
    eta = np.linspace(-25, 25, 20_001)
    step = eta[1] - eta[0]
    full = np.stack([eta, np.zeros_like(eta)], axis=1)
    log_sum = np.logaddexp(eta, 0.0)
    log_word = (
        logsumexp(full[:, :, None] + np.log(model.beta[:, row[0]])[None], axis=1) - log_sum[:, None]
    )
    prior = multivariate_normal.logpdf(eta[:, None], model.mean, model.covariance)
    joint = prior + log_word @ row[1]
    evidence = logsumexp(joint) + np.log(step)
    log_q = -0.5 * ((eta - logits) ** 2 / variance + np.log(2 * np.pi * variance))
    q = np.exp(log_q) * step
    divergence = float(q @ (log_q - joint + evidence))
    zeta_slack = row[1].sum() * (np.log(np.exp(logits + variance / 2) + 1) - float(q @ log_sum))
    phi = assignments(row[0], np.array([logits]), model)
    chosen = np.sum(
        phi[None] * (full[:, :, None] + np.log(model.beta[:, row[0]]) - np.log(phi)), axis=1
    )
    phi_slack = float(q @ ((log_word + log_sum[:, None] - chosen) @ row[1]))
    return evidence, divergence, zeta_slack, phi_slack


@pytest.mark.parametrize("seed", range(3))
def test_the_bound_misses_the_evidence_by_exactly_its_three_slacks(seed):
    model, counts = small_model(seed, topics=2), small_counts(seed)
    found = ctm.expectation(counts, model, EXACT)
    for d, row in enumerate(counts.rows()):
        evidence, *slacks = grid_terms(row, found.logits[d, 0], found.variances[d, 0], model)
        assert min(slacks) > -1e-9
        assert found.bounds[d] + sum(slacks) == pytest.approx(evidence, abs=1e-7)


def log_ratio_variances(model: models.TopicModel) -> np.ndarray:
    """Var(eta_i - eta_j): the same whichever topic is the fixed one."""
    full = np.pad(model.covariance, ((0, 1), (0, 1)))
    return np.diag(full)[:, None] + np.diag(full)[None] - 2 * full


def test_a_fit_recovers_topics_and_covariance_blocks_of_the_truth():
    """The blocks, not their height: the variational covariance is known to be smaller than the true one."""
    counts, block, beta, _ = simulated(400)
    settings = asdict(models.TopicSettings(em_tolerance=1e-5, em_iterations=200))
    fits = [maximised(counts, 6, seed, **settings) for seed in (1, 2)]
    model = max(fits, key=lambda fitted: fitted.history[-1].bound)
    order = np.array([int(np.argmax(model.beta @ row)) for row in beta])
    assert sorted(order) == list(range(6))
    assert np.abs(model.beta[order] - beta).max() < 0.02
    truth = np.diag(block)[:, None] + np.diag(block)[None] - 2 * block
    reached = log_ratio_variances(model)[np.ix_(order, order)]
    pairs = np.triu_indices(6, 1)
    assert np.corrcoef(reached[pairs], truth[pairs])[0, 1] > 0.95
    reached, truth = reached[pairs], truth[pairs]
    assert reached[truth < 3].max() < reached[truth >= 3].min()
    assert np.max(reached / truth) < 1.1 and np.min(reached / truth) > 0.5


def test_under_the_true_model_latent_nll_is_the_entropy_of_the_prior():
    """deng2022, appendix B: aggregated over documents the exact posterior is the prior; shuffled topics cost nats."""
    counts, block, beta, _ = simulated(300, length=1000)
    contrast = np.hstack([np.eye(5), -np.ones((5, 1))])
    covariance = contrast @ block @ contrast.T
    truth = models.TopicModel((), beta, np.zeros(5), covariance, models.inverse(covariance))
    found = ctm.expectation(counts, truth, replace(EXACT, tolerance=1e-8))
    rows = zip(found.logits, found.variances, strict=True)
    units = [
        TopicPosterior(str(i), "test", mean, wide, 1000) for i, (mean, wide) in enumerate(rows)
    ]
    critic = Topics(full_expectation=True, own_prior=False).with_prior(truth.mean, covariance)
    entropy = multivariate_normal(truth.mean, covariance).entropy()
    reached = critic.score_of(critic.sufficient_statistics(units))
    assert reached == pytest.approx(entropy, abs=0.3)
    rng = generator("deal topics out")
    dealt = np.stack([rng.permutation(column) for column in found.logits.T], axis=1)
    mixed = [replace(unit, logits=row) for unit, row in zip(units, dealt, strict=True)]
    assert critic.score_of(critic.sufficient_statistics(mixed)) > reached + 2


@pytest.mark.parametrize("floats", ["float32", "float64"])
def test_the_corpus_bound_never_falls_and_the_covariance_stays_proper(floats):
    counts, *_ = simulated(60, seed=1)
    bounds = []

    def note(model, step):
        bounds.append(step.bound)
        assert np.linalg.eigvalsh(model.covariance)[0] > 0
        assert np.array_equal(model.precision, model.precision.T)

    settings = models.TopicSettings(
        em_iterations=12, em_tolerance=-1, rounds=-1, tolerance=1e-9, floats=floats
    )
    ctm.maximise(
        counts, ctm.seeded_model(counts, topics=5, seed=2), settings=settings, checkpoint=note
    )
    assert len(bounds) == 12 and np.all(np.diff(bounds) > 0)


def test_a_falling_bound_is_raised_by_more_rounds_or_ends_the_fit():
    counts, *_ = simulated(40, seed=2)
    good = maximised(counts, 4, em_iterations=1)
    hasty = replace(models.RELEASED, rounds=1, em_iterations=2)
    after_one = ctm.expectation(counts, good, hasty).bound
    after_many = ctm.expectation(counts, good, replace(hasty, rounds=50)).bound
    between = replace(good.history[0], bound=(after_one + after_many) / 2)
    reached = ctm.maximise(counts, replace(good, history=(between,)), settings=hasty)
    assert reached.history[1].bound > between.bound > after_one
    counts, *_ = simulated(20, seed=2)
    good = maximised(counts, 3, em_iterations=1)
    boast = replace(good, history=(replace(good.history[0], bound=good.history[0].bound / 2),))
    assert ctm.maximise(counts, boast, settings=models.RELEASED) is boast


def test_threads_and_precisions_agree():
    counts, *_ = simulated(70, seed=3)
    model = maximised(counts, 5, seed=1, em_iterations=2)
    settings = replace(EXACT, tolerance=1e-11)
    one = ctm.expectation(counts, model, settings)
    two = ctm.expectation(counts, model, replace(settings, threads=2))
    assert np.array_equal(one.logits, two.logits)
    single = ctm.expectation(counts, model, replace(settings, floats="float32", tolerance=1e-6))
    assert single.bound == pytest.approx(one.bound, rel=1e-4)


def expected_bytes() -> str:
    """What the compiled loops find on thirty documents, in either precision, as one hexadecimal number."""
    counts, *_ = simulated(30, seed=4)
    found = b""
    for floats in ("float32", "float64"):
        model = small_model(5, topics=21, terms=counts.size)
        got = ctm.expectation(counts, model, replace(models.RELEASED, floats=floats))
        found += got.logits.tobytes() + got.variances.tobytes() + got.bounds.tobytes()
        found += ctm.word_counts(got, ctm.columns_of(counts), model).tobytes()
    return found.hex()


def test_the_compiler_may_fuse_but_not_reorder_sums():
    loops = [
        loop
        for module in (kernels, ctm)
        for loop in vars(module).values()
        if isinstance(loop, Dispatcher)
    ]
    assert len(loops) > 12
    for loop in loops:
        allowed = loop.targetoptions.get("fastmath", set())
        assert allowed is not True and set(allowed or ()) <= {"contract"}, loop.py_func.__name__


@pytest.mark.long  # compiles every loop twice; the test above says what the compiler may do to them
@pytest.mark.skipif(
    not llvm.get_host_cpu_features().get("fma"), reason="the processor has no fused product and sum"
)
def test_an_older_processor_finds_the_same_bits(tmp_path):
    here = Path(__file__)
    paths = os.pathsep.join([str(here.parent), *sys.path])
    older = {
        **os.environ,
        "PYTHONPATH": paths,
        "NUMBA_CPU_NAME": "haswell",
        "NUMBA_CACHE_DIR": str(tmp_path),
    }
    program = f"from {here.stem} import expected_bytes; print(expected_bytes())"
    run = subprocess.run(
        [sys.executable, "-c", program], env=older, capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == expected_bytes()


def test_expected_word_counts_are_shared_out_and_a_topic_may_lose_all():
    model, counts = small_model(2, topics=4), small_counts(2)
    found = ctm.expectation(counts, model, EXACT)
    direct = np.zeros((4, 5))
    for d, (terms, number) in enumerate(counts.rows()):
        direct[:, terms] += number * assignments(terms, found.logits[d], model)
    np.testing.assert_allclose(
        ctm.word_counts(found, ctm.columns_of(counts), model), direct, atol=1e-10
    )
    model, counts = small_model(3), small_counts(3)
    found = ctm.expectation(counts, model, EXACT)
    nothing = replace(found, ratios=np.zeros_like(found.ratios))
    assert np.all(ctm.m_step(nothing, ctm.columns_of(counts), model).beta == 0)


def test_the_gaussians_m_step_is_mean_and_covariance_of_posteriors():
    rng = generator("topic m step")
    points, variances = rng.normal(size=(9, 3)), rng.uniform(0.1, 1.0, (9, 3))
    mean, covariance, precision = models.gaussian(points, variances)
    np.testing.assert_allclose(mean, points.mean(0))
    np.testing.assert_allclose(covariance, np.cov(points.T, bias=True) + np.diag(variances.mean(0)))
    np.testing.assert_allclose(precision @ covariance, np.eye(3), atol=1e-9)


def test_uniform_numbers_are_those_of_the_scientific_library():
    draws = ctm.tausworthe(1, 10_000)
    # GSL 2.7, rng/test.c: 10,000th number of taus with seed 1
    assert draws[-1] * 2**32 == 2733957125


def document(number: int, *sections: str) -> Document:
    return Document(f"d{number}", "train", tuple(Section(None, text) for text in sections))


def documents(*texts: str) -> list[Document]:
    return [document(i, text) for i, text in enumerate(texts)]


CORPUS = [document(0, "the river river\nBridge bridge .", "river lake @xmath0 \\alpha"),
          document(1, "The lake lake common bridge , @xmath0 \\alpha"),
          document(2, "river common lake bridge, @xmath0 \\alpha"), document(3, "common harbour harbour"),
          document(4, "valley"), document(5, "valley"), document(6, "x")]  # fmt: skip


def test_terms_are_frequent_and_specific_and_counts_cover_all_sections():
    found = models.build_vocabulary(CORPUS, min_count=2, max_share=0.5)
    assert found == ("river", "lake", "common", "bridge", "harbour", "valley")
    every = models.build_vocabulary(
        CORPUS, min_count=1
    )  # case and attached punctuation make other words
    assert {"Bridge", "bridge", "bridge,", "."} <= set(every) and not {"The", "x"} & set(every)
    two = documents("fig date", "date plum", "plum elm", "kiwi")
    assert models.build_vocabulary(two, min_count=1, max_share=0.5) == (
        "fig",
        "elm",
        "kiwi",
    )  # half is too much
    counts, unknown = models.count_terms(CORPUS, ("river", "lake"))
    assert counts.starts.tolist() == [0, 2, 3, 5, 5, 5, 5, 5]
    assert dict(zip(counts.terms[:2].tolist(), counts.counts[:2].tolist(), strict=True)) == {
        0: 3.0,
        1: 1.0,
    }
    assert unknown.tolist() == [6, 6, 4, 3, 1, 1, 1]
    assert counts.tokens.tolist() == [4, 2, 2, 0, 0, 0, 0]
    assert np.array_equal(counts.take(np.array([2, 0])).tokens, [2, 4])


def test_saving_twice_gives_the_same_bytes(tmp_path):
    model = replace(small_model(1), vocabulary=tuple("abcde"), facts={"seed": 1})
    model.save(tmp_path / "one")
    models.TopicModel.load(tmp_path / "one").save(tmp_path / "two")
    for name in ("topics.npz", "topics.json"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    refuses(r"no topics\.json", models.TopicModel.load, tmp_path / "three")


def test_documents_without_known_words_are_counted_and_left_out():
    texts = ["apple pear apple plum", "pear plum pear", "stone", "apple plum plum pear"] * 3
    model = ctm.fit(documents(*texts), seed=ctm.RELEASED_SEED, topics=2, min_count=4, max_share=1.1)
    counted = {"documents": 9, "documents_without_terms": 3, "tokens_outside_vocabulary": 3}
    assert counted.items() <= model.facts.items() and set(model.vocabulary) == {
        "apple",
        "pear",
        "plum",
    }
    np.testing.assert_allclose(model.beta.sum(axis=1), 1)


def test_a_killed_fit_goes_on_from_its_scratch_folder(tmp_path, capsys):
    texts = ["apple pear apple plum", "pear plum pear fig", "fig apple plum plum pear"] * 5
    settings = {"em_iterations": 6, "em_tolerance": -1.0, "lag": 2}
    given = {"seed": 2, "topics": 2, "min_count": 1, "max_share": 1.1}
    ctm.fit(documents(*texts), settings={**settings, "em_iterations": 4}, scratch=tmp_path, **given)
    # the fourth iteration came after the last checkpoint
    assert len(models.TopicModel.load(tmp_path / ctm.CHECKPOINT).history) == 3
    again = ctm.fit(documents(*texts), settings=settings, scratch=tmp_path, **given)
    whole = ctm.fit(documents(*texts), settings=settings, **given)
    assert np.array_equal(again.beta, whole.beta)
    assert "iteration 3, ELBO -" in capsys.readouterr().out
    others = [replace(d, split="test", id=f"t{d.id}") for d in documents("fig fig", "fig apple")]
    both, one = (
        ctm.fit(part, settings=settings, **given)
        for part in (documents(*texts) + others, documents(*texts))
    )
    assert both.vocabulary == one.vocabulary and np.array_equal(both.beta, one.beta)
    refuses("zero documents of split train", ctm.fit, others, seed=2, topics=2)


@pytest.mark.parametrize("name", ["topics.npz", "topics.json"])
@pytest.mark.parametrize("damage", ["cut", "bits", "gone"])
def test_a_damaged_checkpoint_of_topics_costs_one_sentence(name, damage, tmp_path, capsys):
    texts = ["apple pear apple plum", "pear plum pear fig", "fig apple plum plum pear"] * 5
    given = {
        "settings": {"em_iterations": 4, "em_tolerance": -1.0, "lag": 2},
        "seed": 2,
        "topics": 2,
        "min_count": 1,
    }
    whole = ctm.fit(documents(*texts), scratch=tmp_path, max_share=1.1, **given)
    path = tmp_path / ctm.CHECKPOINT / name
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes(content if damage == "bits" else content[: len(content) // 2])
    capsys.readouterr()
    again = ctm.fit(documents(*texts), scratch=tmp_path, max_share=1.1, **given)
    first, second = capsys.readouterr().out.splitlines()[:2]
    assert name in first and first.endswith("; starts over") and "iteration 0," in second
    assert np.array_equal(again.beta, whole.beta) and again.history == whole.history


def test_bad_input_is_named():
    refuses(
        "1 of 15 words", models.build_vocabulary, CORPUS, min_count=4, max_share=0.3, stop_words=()
    )
    refuses("0 of 0 words of 0 documents", models.build_vocabulary, [])
    few = documents("apple pear", "pear apple")
    refuses("1 topic", ctm.fit, few, seed=1, topics=1, min_count=1, max_share=1.1)
    refuses(
        "vocabulary of 1 word",
        models.TopicModel,
        (),
        np.ones((2, 1)),
        np.zeros(1),
        np.eye(1),
        np.eye(1),
    )
    refuses(
        "singular",
        models.TopicModel,
        (),
        np.full((3, 2), 0.5),
        np.zeros(2),
        np.ones((2, 2)),
        np.ones((2, 2)),
    )
    refuses("covariance is singular", models.gaussian, np.zeros((4, 2)), np.zeros((4, 2)))
    empty = models.from_rows([(np.zeros(0, int), np.zeros(0))], 2)
    small = small_model(1, topics=2, terms=2)
    refuses("document number 0 has no known word", ctm.expectation, empty, small, models.RELEASED)
    for wrong in ({"rounds": 0}, {"floats": "float16"}, {"lag": 0}):
        refuses("topic settings", models.TopicSettings, **wrong)
