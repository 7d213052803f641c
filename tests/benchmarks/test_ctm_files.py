"""Files of the original program: their exact text, and the way back."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks import ctm_files as files
from longform.critics.topics.model import (
    RELEASED,
    RELEASED_INFERENCE,
    TopicModel,
    from_rows,
    inverse,
)
from longform.critics.topics.train import expectation
from tests.refusals import refuses

SHIPPED = """em max iter 1000
var max iter 20
cg max iter -1
em convergence 1e-3
var convergence 1e-6
cg convergence 1e-6
lag 10
covariance estimate mle
"""


def model() -> TopicModel:
    covariance = np.array([[1.5, -0.25], [-0.25, 0.75]])
    beta = np.array([[0.5, 0.5, 0.0], [0.125, 0.125, 0.75], [0.2, 0.3, 0.5]])
    return TopicModel(("a", "b", "ü"), beta, np.array([0.5, -1.0]), covariance, inverse(covariance))


def test_a_corpus_line_is_a_number_of_terms_then_pairs(tmp_path):
    (tmp_path / "corpus.dat").write_text("2 0:3 4:1\n\n1 2:7\n")
    counts = files.read_corpus(tmp_path / "corpus.dat")
    assert counts.size == 5 and counts.starts.tolist() == [0, 2, 3]
    assert counts.terms.tolist() == [0, 4, 2] and counts.tokens.tolist() == [4, 7]
    files.write_corpus(
        tmp_path / "again.dat", from_rows([(np.zeros(0, int), np.zeros(0)), *counts.rows()], 5)
    )
    assert (tmp_path / "again.dat").read_text() == "2 0:3 4:1\n1 2:7\n"


def test_the_shipped_settings_are_the_released_preset(tmp_path):
    (tmp_path / "settings.txt").write_text(SHIPPED)
    assert files.read_settings(tmp_path / "settings.txt") == RELEASED
    for settings in (RELEASED, RELEASED_INFERENCE):
        files.write_settings(tmp_path / "again.txt", settings)
        assert files.read_settings(tmp_path / "again.txt") == settings
    (tmp_path / "settings.txt").write_text(SHIPPED.replace("mle", "shrinkage"))
    refuses("allowed is 'mle'", files.read_settings, tmp_path / "settings.txt")
    (tmp_path / "settings.txt").write_text(SHIPPED.replace("lag 10\n", ""))
    refuses("missing or unknown", files.read_settings, tmp_path / "settings.txt")
    (tmp_path / "settings.txt").write_text(SHIPPED.replace("lag 10\n", "lag ten\n"))
    refuses("lag is 'ten', it must be a number", files.read_settings, tmp_path / "settings.txt")


def test_model_files_have_a_number_a_line_with_six_decimals_and_come_back(tmp_path):
    files.write_model(tmp_path / "final", model())
    assert (tmp_path / "final-param.txt").read_text() == "num_topics 3\nnum_terms 3\n"
    assert (tmp_path / "final-cov.dat").read_text() == "1.500000\n-0.250000\n-0.250000\n0.750000\n"
    assert (
        (tmp_path / "final-log-beta.dat")
        .read_text()
        .startswith("-0.693147\n-0.693147\n-1000.000000\n")
    )
    log_det = float((tmp_path / "final-log-det-inv-cov.dat").read_text())
    assert log_det == pytest.approx(-np.log(1.5 * 0.75 - 0.0625), abs=1e-6)
    again = files.read_model(tmp_path / "final")
    assert again.vocabulary == ("a", "b", "ü") and again.beta[0, 2] == 0
    for name in ("beta", "mean", "covariance", "precision"):
        np.testing.assert_allclose(getattr(again, name), getattr(model(), name), atol=2e-6)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("param.txt", "num_topics 1\nnum_terms 3\n", "num_topics \\(from 2\\)"),
        ("mu.dat", "0.5\nhalf\n", "not every word is a number"),
    ],
)
def test_damaged_model_files_are_refused(tmp_path, name, text, message):
    files.write_model(tmp_path / "final", model())
    (tmp_path / f"final-{name}").write_text(text)
    refuses(message, files.read_model, tmp_path / "final")


def test_posteriors_carry_the_fixed_topic_and_come_back(tmp_path):
    counts = from_rows(
        [(np.array([0, 2]), np.array([2.0, 1.0])), (np.array([1]), np.array([4.0]))], 3
    )
    found = expectation(counts, model(), replace(RELEASED, floats="float64"))
    files.write_posteriors(tmp_path / "test", found)
    assert (tmp_path / "test-lambda.dat").read_text().splitlines()[2] == "0.000000"
    assert len((tmp_path / "test-ctm-lhood.dat").read_text().split()) == 2
    means, variances = files.read_posteriors(tmp_path / "test", topics=3)
    np.testing.assert_allclose(means, found.logits, atol=1e-6)
    np.testing.assert_allclose(variances, found.variances, atol=1e-6)
