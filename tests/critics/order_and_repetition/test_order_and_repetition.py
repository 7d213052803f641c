"""A text's place among real ones by order, fluency and new 4-grams, by hand and by transformers."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from transformers import AutoTokenizer, GPT2LMHeadModel

from longform.critics.order_and_repetition import read, score
from longform.critics.order_and_repetition.read import SentenceCosts, other_orders, sentence_costs
from longform.critics.order_and_repetition.score import OrderAndRepetition, TextMeasures, new_grams
from longform.documents import Document, Section
from longform.errors import ConfigError, InputError
from longform.statistics.random_streams import generator
from tests import tiny

TEXT = "the town lies on a river. its people work in fields. many old houses lie near the hills."


def document(text, name="one"):
    return Document(name, "test", (Section(None, text),))


def measures(*values):
    return TextMeasures("one", "test", *map(float, values))


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return tiny.lm_folder(tmp_path_factory.mktemp("model"), window=64)


def nats_by_transformers(text, folder):
    """Minus the log-probability of each token of a text and of its end."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    network = GPT2LMHeadModel.from_pretrained(folder).eval()
    ids = torch.tensor([[0, *tokenizer(text, add_special_tokens=False)["input_ids"], 0]])
    with torch.no_grad():
        log_probs = network(ids).logits[0, :-1].double().log_softmax(-1)
    return -log_probs[torch.arange(ids.shape[1] - 1), ids[0, 1:]].numpy()


def test_new_grams_are_the_share_of_4_grams_met_for_the_first_time():
    assert new_grams(["a", "b", "c", "d", "a", "b", "c", "d"]) == 4 / 5
    assert new_grams(["a", "b", "c", "d"]) == 1.0
    assert np.isnan(new_grams(["a", "b", "c"]))


def test_measures_come_from_costs_of_orders_and_sentences(monkeypatch):
    costs = [
        SentenceCosts(2.0, 8, np.array([2.5, 3.5]), np.array([9.0, 1.0, 3.0])),
        SentenceCosts(4.0, 5, np.array([]), np.array([4.0])),
    ]
    monkeypatch.setattr(read, "sentence_costs", lambda documents, **settings: costs)
    texts = [document("a b c d a b c d"), document("a b c d e", "two")]
    several, single = OrderAndRepetition(model="folder").read_texts(texts)
    assert several == TextMeasures("one", "test", 1.0, -2.0, -3.0, 0.8)
    assert (single.fluency, single.new_grams) == (-4.0, 1.0)
    assert np.isnan(single.own_order) and np.isnan(single.mild_worst_sentence)


def test_a_quantile_counts_real_texts_below_and_equal_ones_by_half():
    real = [measures(1, -value, 0, 1) for value in (1, 2, 2, 3, 4, 5, 6, 7, 8, 9)]
    critic = OrderAndRepetition(measures=("fluency", "new_grams")).fit(real)
    # of ten real texts and itself: seven dearer, two as dear; all have as many new grams
    (parts,) = critic.part_values([measures(0, -2, 0, 1)])
    assert parts.tolist() == [(7 + 2 / 2 + 1 / 2) / 11 / 2, 0.5 / 2]
    (best,) = critic.part_values([measures(0, 0, 0, 2)])
    assert best.tolist() == [10.5 / 11 / 2, 10.5 / 11 / 2]
    both = [measures(0, -2, 0, 1), measures(0, 0, 0, 2)]
    assert critic.score(both).value == pytest.approx((8.5 / 22 + 0.25 + 10.5 / 11) / 2)


def test_a_measure_that_a_text_lacks_counts_as_the_middle():
    real = [measures(value, -value, 0, 1) for value in range(10)]
    critic = OrderAndRepetition(measures=("own_order", "fluency")).fit(real)
    (parts,) = critic.part_values([measures(np.nan, 1, 0, 1)])
    assert parts.tolist() == pytest.approx([0.25, 10.5 / 11 / 2])
    unread = measures(np.nan, np.nan, np.nan, np.nan)
    rows = critic.sufficient_statistics([unread, measures(0, 1, 0, 1)])
    assert rows.total("texts") == rows.total("excluded") == 1.0
    # the lowest own order is that of one real text, the fluency above all ten
    assert rows.total("quantile") == pytest.approx((1.0 + 10.5) / 11 / 2)


def test_too_few_real_texts_no_model_and_unknown_measures_are_refused():
    real = [measures(np.nan if value else 1, -value, 0, 1) for value in range(10)]
    with pytest.raises(InputError, match="1 real texts have own_order, 10 are needed"):
        OrderAndRepetition(measures=("own_order",)).fit(real)
    with pytest.raises(InputError, match="not fitted"):
        OrderAndRepetition().part_values(real)
    with pytest.raises(ConfigError, match="no language model"):
        OrderAndRepetition().read_texts([document(TEXT)])
    with pytest.raises(ConfigError, match=r"'fluencies'.*near: fluency"):
        OrderAndRepetition(measures=("fluencies",))
    with pytest.raises(ConfigError, match="no measure is named"):
        OrderAndRepetition(measures=())


def test_costs_are_those_of_the_network_in_each_order(model):
    (cost,) = sentence_costs([document(TEXT)], model, 2, 0, None)
    nats = nats_by_transformers(TEXT, model)
    assert cost.original == pytest.approx(nats.mean(), rel=1e-5)
    sentences = TEXT.replace(". ", ".\n").splitlines()
    orders = other_orders(sentences, 2, generator(0, "order and repetition", *sentences))
    expected = [nats_by_transformers(text, model).mean() for text in orders]
    assert cost.shuffled == pytest.approx(expected, rel=1e-5)
    # the second sentence's tokens stand between those of the first and those of both
    tokenizer = AutoTokenizer.from_pretrained(model)
    first = len(tokenizer.tokenize("the town lies on a river."))
    both = len(tokenizer.tokenize("the town lies on a river. its people work in fields."))
    assert cost.sentences[1] == pytest.approx(nats[first:both].mean(), rel=1e-5)


def test_a_text_longer_than_the_window_is_scored_at_every_token(model):
    long_text = " ".join([TEXT] * 3)
    (cost,) = sentence_costs([document(long_text)], model, 1, 0, 16)
    assert np.isfinite(cost.sentences).all() and len(cost.sentences) == 9
    with pytest.raises(ConfigError, match="window is 65, allowed is 2 to 64"):
        sentence_costs([document(TEXT)], model, 1, 0, 65)


def test_other_orders_are_different_texts_of_the_same_sentences():
    rng = generator("orders")
    assert other_orders(["a."], 5, rng) == [] and other_orders(["a.", "a."], 5, rng) == []
    assert other_orders(["a.", "b."], 5, rng) == ["b. a."]
    orders = other_orders(["a.", "b.", "c."], 9, rng)
    assert sorted(orders) == ["a. c. b.", "b. a. c.", "b. c. a.", "c. a. b.", "c. b. a."]


def test_the_chosen_measures_are_those_of_the_dated_file():
    assert OrderAndRepetition().measures == score.CHOSEN
    assert replace(OrderAndRepetition(), measures=("fluency",)).measures == ("fluency",)


def test_the_stored_reference_puts_a_text_among_peoples_texts():
    critic = OrderAndRepetition(measures=("fluency",)).with_stored_reference()
    values = critic.reference["fluency"]
    assert values.tolist() == sorted(values) and len(values) == 30
    best, worst = critic.part_values([measures(0, 0, 0, 1), measures(0, -99, 0, 1)])
    assert (best.tolist(), worst.tolist()) == ([pytest.approx(61 / 62)], [pytest.approx(1 / 62)])


def test_a_fitted_critic_survives_saving(tmp_path):
    real = [measures(value, -value, 0, 1) for value in range(10)]
    critic = OrderAndRepetition().fit(real)
    critic.save(tmp_path / "critic.npz")
    again = OrderAndRepetition.load(tmp_path / "critic.npz")
    assert again.identity == critic.identity
    assert again.score(real).value == critic.score(real).value


def test_other_orders_are_as_many_as_asked_for_where_there_are_more():
    orders = other_orders(["a.", "b.", "c."], 2, generator(0, "orders"))
    assert len(orders) == 2 and len({*orders, "a. b. c."}) == 3
    assert {"".join(sorted(order.split())) for order in orders} == {"a.b.c."}
