"""Critics that bring a model along score plain texts: by its folder, or by what they learn."""

import numpy as np
import pytest
import torch
from tiny import lm_folder
from transformers import AutoModelForCausalLM, AutoTokenizer

from longform.critics import (
    BBScore,
    CodeMixing,
    JointBridge,
    LanguageDispersion,
    NeuralRanker,
    Perplexity,
    SupportedPerGeneration,
    SupportedPerVerified,
)
from longform.critics.bbscore.own_texts import apply_head
from longform.critics.bbscore.read import bridge_head
from longform.critics.neural_ranker import score as neural_ranker
from longform.critics.perplexity.score import LogProbs
from longform.critics.verifiability import read as reading
from longform.critics.verifiability.checker import Checker
from longform.errors import ConfigError, InputError
from longform.statistics.signatures import signature
from longform.text.sentences import sentences

TEXTS = ["The town lies on a river.", "Many of its people work in the fields near the hills."]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return lm_folder(tmp_path_factory.mktemp("lm"), window=64)


def plain_log_probs(model, text):
    """One forward pass by the model's own program, begin and end token around the text."""
    tokenizer = AutoTokenizer.from_pretrained(model)
    network = AutoModelForCausalLM.from_pretrained(model)
    body = tokenizer(text, add_special_tokens=False)
    ids = [tokenizer.bos_token_id, *body["input_ids"], tokenizer.eos_token_id]
    with torch.no_grad():
        log_probs = network(torch.tensor([ids])).logits[0, :-1].log_softmax(-1)
    return log_probs[range(len(ids) - 1), ids[1:]].numpy().astype(np.float64)


def test_perplexity_of_plain_texts_is_that_of_a_forward_pass(model):
    values = [plain_log_probs(model, text) for text in TEXTS]
    expected = np.exp(-np.concatenate(values).mean())
    found = Perplexity(model=model).score(TEXTS)
    assert found.value == pytest.approx(expected, rel=1e-5) and found.units == 2
    without_end = np.concatenate([row[:-1] for row in values])
    shorter = Perplexity(False, model=str(model)).score(TEXTS)
    assert shorter.value == pytest.approx(np.exp(-without_end.mean()), rel=1e-5)
    assert signature(Perplexity(model=model)) == "Perplexity(count_end=True)"


def test_perplexity_points_at_the_tokens_of_a_text(model):
    text = TEXTS[1]
    parts = Perplexity(model=model).attribute(text).parts
    np.testing.assert_allclose([p.value for p in parts], plain_log_probs(model, text), atol=1e-5)
    assert "".join(part.text for part in parts) == text
    assert parts[-1].start == parts[-1].end == len(text)  # the end token
    named = Perplexity().attribute(LogProbs("a", "test", np.log([0.5, 0.1])))
    assert [part.text for part in named.parts] == ["part 1", "part 2"]


def test_a_critic_without_its_model_says_what_is_missing():
    with pytest.raises(ConfigError, match="no language model to read texts with; name its folder"):
        Perplexity().score(TEXTS)
    for critic in (CodeMixing(), LanguageDispersion()):
        with pytest.raises(InputError, match="not fitted to texts yet"):
            critic.score(TEXTS)


PURE = ["ba be bi bo", "ka ke ki ko", "bu ba bo be", "ki ku ke ka"] * 5
MIXED = ["ba ke bi ku", "ka bo ki be"] * 5


def test_code_mixing_tells_mixed_sentences_from_pure_ones(tmp_path):
    critic = CodeMixing(languages=2).fit(PURE)
    assert critic.compare(MIXED, PURE, permutations=200).p_value == pytest.approx(1 / 201)
    parts = critic.attribute(MIXED[0]).parts
    assert {frozenset(part.text.split()) for part in parts} == {
        frozenset(["ba", "be", "bi", "bo", "bu"]),
        frozenset(["ka", "ke", "ki", "ko", "ku"]),
    }
    critic.save(tmp_path / "critic.npz")
    assert CodeMixing.load(tmp_path / "critic.npz").score(MIXED) == critic.score(MIXED)
    papers = CodeMixing(own_prior=False, languages=2).fit(PURE)
    assert np.array_equal(papers.alpha, papers.mixture.alpha)
    dispersion = LanguageDispersion(languages=2).fit(PURE)
    assert dispersion.score(PURE).value < 0.1 < 0.25 < dispersion.score(MIXED).value


WORDS = ["The town lies on a river", "It has many old houses", "People work in fields"]


def texts_of_sentences(count, seed):
    """Texts of six sentences in an order of their own, each of which goes through the same words."""
    draw = np.random.default_rng(seed)
    texts = []
    for _ in range(count):
        order = draw.permutation(6)
        texts.append(
            " ".join(f"{WORDS[place % 3]} near hill {'a' * (place + 1)}." for place in order)
        )
    return texts


@pytest.mark.parametrize("kind", [BBScore, JointBridge])
def test_a_bridge_trains_its_head_on_texts_and_points_at_sentences(kind, model, tmp_path):
    real = texts_of_sentences(12, 0)
    critic = kind(encoder=model).fit(real)
    score = critic.score(real)
    assert np.isfinite(score.value) and score.units == 12 and score.better == "lower"
    found = critic.attribute(real[0])
    inner = sentences(real[0])[1:-1] if kind is BBScore else sentences(real[0])
    assert [(part.start, part.end) for part in found.parts] == inner
    assert sum(part.value for part in found.parts) == pytest.approx(found.value)
    critic.save(tmp_path / "bridge.npz")
    assert kind.load(tmp_path / "bridge.npz").score(real) == score
    with pytest.raises(InputError, match=r"9 real texts of 5 sentences .* 10 are needed"):
        kind(encoder=model).fit(real[:9])
    with pytest.raises(ConfigError, match="no sentence encoder to read texts with"):
        kind().score(real)
    with pytest.raises(InputError, match="not fitted to texts yet"):
        kind(encoder=model).score(real)


def test_a_head_in_numpy_is_the_one_that_was_trained():
    torch.manual_seed(0)
    head = bridge_head(5, 6, 2)
    features = torch.randn(7, 5)
    weights = [parameter.detach().numpy() for parameter in head.parameters()]
    expected = head(features).detach().numpy()
    np.testing.assert_allclose(apply_head(weights, features.numpy()), expected, atol=1e-6)


def test_a_ranker_is_trained_into_a_folder_and_scores_from_it(model, tmp_path, monkeypatch):
    monkeypatch.setattr(neural_ranker, "SCHEDULE", {**neural_ranker.SCHEDULE, "epochs": 1})
    real, folder = texts_of_sentences(10, 1), tmp_path / "ranker"
    critic = NeuralRanker(encoder=model, model=folder).fit(real)
    score = critic.score([*real, "One sentence."])
    assert np.isfinite(score.value) and (score.units, score.excluded) == (10, 1)
    assert NeuralRanker(model=folder).score([*real, "One sentence."]).value == score.value
    assert signature(critic) == "GivenScore()"
    with pytest.raises(ConfigError, match="holds something already"):
        NeuralRanker(encoder=model, model=folder).fit(real)
    with pytest.raises(ConfigError, match="no trained network; name its folder"):
        NeuralRanker().score(real)
    with pytest.raises(ConfigError, match="has no parts of one text"):
        critic.attribute(real[0])


class SaysSo:
    """Supports a claim that a line holds word for word, and knows nothing of others."""

    def probabilities(self, pairs):
        supported = np.array([pair.claim == pair.sentence for pair in pairs], dtype=float)
        return np.stack([supported, 0 * supported, 1 - supported], axis=1)


def test_a_checker_reads_plain_texts_and_points_at_what_is_supported(monkeypatch, tmp_path):
    pages = {"Oak": ["Oaks grow slowly.", "Oaks are trees."]}
    lines = [("Oak", 0), ("Oak", 1)]
    checker = Checker(pages, lambda claim: lines, SaysSo(), {"sure": 0.5})
    monkeypatch.setattr(reading, "open_checker", lambda folder: checker)
    text = "Oaks are trees. They fly.  Oaks grow slowly."
    critic = SupportedPerGeneration(sentences=4, checker=tmp_path)
    assert critic.score([text]).value == 2 / 4
    assert SupportedPerVerified(checker=tmp_path).score([text, "They fly."]).value == 1
    parts = critic.attribute(text).parts
    assert [(part.text, part.value) for part in parts] == [
        ("Oaks are trees.", 1.0),
        ("They fly.", 0.0),
        ("Oaks grow slowly.", 1.0),
    ]
    with pytest.raises(ConfigError, match="no fact checker to read texts with"):
        SupportedPerVerified().score([text])
