"""Section titles: the critic, the classifier's errors, the terms of appendix A, and readings."""

from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest
import torch
from samples.titles import CHAIN, TITLES, articles, channel
from tiny import TITLES as TINY_TITLES
from tiny import classifier_folder, documents
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from longform.critics.section_order import classifier_errors as errors
from longform.critics.section_order import posterior, score
from longform.critics.section_order import read as reading
from longform.critics.section_order.classifier_errors import (
    CalibrationError,
    CorrectedTitleCritic,
    confusion,
)
from longform.critics.section_order.score import (
    GoldTitleCritic,
    SectionOrder,
    TitledArticle,
    units_from_predictions,
)
from longform.documents import (
    Chain,
    Document,
    Predictions,
    Section,
    chains_from_predictions,
    chains_to_predictions,
    with_cut_texts,
)
from longform.errors import InputError
from longform.statistics.arithmetic import perplexity
from longform.statistics.estimates import estimate
from longform.statistics.markov_chain import BEGIN, END, BigramCritic
from longform.statistics.random_streams import generator
from tests.refusals import refuses


def predictions(units, process=True):
    """What the title reader writes of these units."""
    base = chains_to_predictions([Chain(u.unit_id, u.split, u.symbols) for u in units])
    lengths = np.array([len(u.symbols) for u in units])
    log_posterior = np.concatenate([u.log_posterior for u in units])
    held = {"gold": np.array([TITLES.index(t) for u in units for t in u.gold], dtype=np.int32),
            "log_posterior": log_posterior, "confidence": np.exp(log_posterior.max(axis=1))}  # fmt: skip
    arrays = held | {f"{name}_lengths": lengths for name in held}
    arrays |= {"gold_names": np.array(TITLES), "title_names": np.array(TITLES)}
    if process:
        arrays |= {"section_transitions": CHAIN, "section_symbol_names": np.array(TITLES)}
    return Predictions(base.unit_ids, base.splits, {**base.arrays, **arrays})


def real(error=0.1, train=200):
    splits = {"train": train, "validation": 60, "test": 60}
    return [
        unit for split, count in splits.items() for unit in articles(count, "world", split, error)
    ]


def of(units, split):
    return [unit for unit in units if unit.split == split]


def scored(critic, units):
    return critic.score_of(critic.sufficient_statistics(units))


def article(predicted, gold, split="test", number=0):
    return TitledArticle(f"{split}-{number}", split, tuple(predicted), gold=tuple(gold))


def test_the_prior_comes_from_gold_and_the_score_from_predicted_titles():
    units = real()
    train, read = of(units, "train"), of(units, "test")
    critic = SectionOrder(delta=1).fit(train)
    plain = BigramCritic(delta=1).fit([Chain(u.unit_id, u.split, u.gold) for u in train])
    test = [Chain(u.unit_id, u.split, u.symbols) for u in read]
    np.testing.assert_allclose(critic.log_transitions, plain.log_transitions)
    assert scored(critic, read) == pytest.approx(scored(plain, test))
    assert scored(GoldTitleCritic(delta=1).fit(train), read) < scored(critic, read)


def test_random_titles_have_training_shares_and_lose_to_any_order():
    units, test = real(train=2000), of(real(), "test")
    train = of(units, "train")
    given = {"real": predictions(units), "deltas": [0.1, 1]}
    chance, read = (kind(**given).fit(train) for kind in (score.random_titles, score.validated))
    assert scored(chance, test) > scored(read, test)
    drawn, again = ([chain.symbols for chain in chance.judged(train)] for _ in range(2))
    assert drawn == again
    assert [len(row) for row in drawn] == [len(u.symbols) for u in train]
    gold, flat = [t for unit in train for t in unit.gold], [t for row in drawn for t in row]
    for title in TITLES:
        assert flat.count(title) / len(flat) == pytest.approx(
            gold.count(title) / len(gold), abs=0.03
        )


def test_delta_is_the_best_finite_one_on_predicted_validation_titles():
    units = real()
    chosen = score.validated(real=predictions(units), deltas=[0, 0.1, 1, 10])
    scores = dict(chosen.validation)
    assert chosen.delta == min(scores, key=scores.get) and chosen.delta > 0
    assert scores[0] == np.inf and np.isfinite(scores[chosen.delta])
    assert (
        score.validated_gold(real=predictions(units), deltas=[0, 0.1, 1, 10]).delta == chosen.delta
    )
    refuses(
        "split 'validation'", score.validated, real=predictions(of(real(), "train")), deltas=[1]
    )
    refuses("none is finite", score.validated, real=predictions(real(0.2)), deltas=[0])


def test_the_exact_value_equals_enumeration_and_needs_a_process():
    # begin -> abstract surely; abstract -> career 1/2, end 1/2; career -> end
    process = np.zeros((5, 5))
    process[0, 0], process[1, 1], process[1, 4], process[2, 4], process[3, 4], process[4, 4] = (
        1,
        0.5,
        0.5,
        1,
        1,
        1,
    )
    critic = SectionOrder(true_names=TITLES, true_transitions=process).fit(of(real(), "train"))
    log = {(a, b): critic.log_transitions[critic.names.index(a), critic.names.index(b)]
           for a in critic.names for b in critic.names}  # fmt: skip
    short = log[BEGIN, "abstract"] + log["abstract", END]
    long = log[BEGIN, "abstract"] + log["abstract", "career"] + log["career", END]
    assert critic.exact_latent_ppl() == pytest.approx(perplexity(0.5 * short + 0.5 * long, 2.5))
    unknown = score.validated(real=predictions(real(), process=False), deltas=[1])
    assert unknown.fit(of(real(), "train")).exact_latent_ppl() is None


def test_the_description_counts_every_transition_and_finds_a_repetition():
    units = of(real(0.0), "test")
    critic = SectionOrder(delta=0.1).fit(of(real(0.0), "train"))
    bad = [*units[:5], TitledArticle("bad", "test", ("abstract",) * 3, gold=(None,) * 3)]
    found = critic.describe(bad)
    assert sum(row[2] for row in found["transitions"]) == critic.sufficient_statistics(bad).total(
        "transitions"
    )
    assert found["worst"][0]["unit"] == "bad" == found["repeating"][0]["unit"]
    assert (
        found["worst"][0]["titles"] == ["abstract"] * 3 and len(found["worst"][0]["log_probs"]) == 4
    )
    assert found["likeliest"][BEGIN] == "abstract"


def test_expected_counts_of_noisy_titles_give_back_the_gold_score_exactly():
    train = of(real(0.0), "train")
    fitted = CorrectedTitleCritic(confusion_names=TITLES, confusion_counts=np.eye(4)).fit(train)
    full, place = np.eye(len(fitted.names)), [fitted.names.index(title) for title in TITLES]
    full[np.ix_(place, place)] = channel(0.2)
    critic = replace(fitted, channel=full)
    # every reading of abstract, history, people, weighted by its probability
    chain, noisy, total = (0, 2, 3), channel(0.2), 0.0
    for read in product(range(4), repeat=3):
        reading = [TITLES[z] for z in read]
        statistics = critic.sufficient_statistics([article(reading, reading)])
        total += noisy[list(chain), list(read)].prod() * statistics.values
    found = critic.score_of(replace(statistics, values=total))
    names = [TITLES[z] for z in chain]
    assert found == pytest.approx(
        scored(GoldTitleCritic().fit(train), [article(names, names)]), rel=1e-10
    )


def test_the_confusion_matrix_counts_sections_and_is_never_certain():
    units = [article(["career", "people"], ["abstract", "people"]), article(["abstract"], [None])]
    counts = confusion(units, TITLES)
    assert counts.sum() == 2 and counts[0, 1] == 1 and counts[3, 3] == 1
    counts = 50.0 * np.eye(4)
    critic = CorrectedTitleCritic(delta=0.1, confusion_names=TITLES, confusion_counts=counts).fit(
        of(real(), "train")
    )
    statistics, rng = critic.sufficient_statistics(of(real(0.0), "test")), generator("draws")
    drawn = [critic.redrawn(rng).score_of(statistics) for _ in range(20)]
    assert np.std(drawn) > 0 and 0.9 < np.diag(critic.channel).min() < 1


def test_a_title_read_that_no_training_document_has_is_refused():
    """Counted by a negative index it would stand under the last title."""
    with pytest.raises(InputError, match="read as 'weather', which is none of the 4 titles"):
        confusion([article(["weather"], ["career"])], TITLES)


@pytest.mark.long  # many seeds; one seed's interval is tested above
def test_the_corrected_interval_covers_the_exact_value_over_seeds():
    """Four titles, 5 % errors (which the critic punishes by a third of the score): 40 worlds, validation drawn anew."""
    hits, naive, wide = 0, 0, []
    for seed in range(40):
        train = articles(300, seed, "train")
        counts = confusion(articles(100, seed, "validation", 0.05), TITLES)
        known = {"true_names": TITLES, "true_transitions": CHAIN}
        critic = CorrectedTitleCritic(
            delta=0.1, confusion_names=TITLES, confusion_counts=counts, **known
        ).fit(train)
        test = articles(150, seed, "test", 0.05)
        found = estimate(
            critic, critic.sufficient_statistics(test), generator("covers", seed), resamples=100
        )
        exact = critic.exact_latent_ppl()
        hits += found.low <= exact <= found.high
        wide.append((found.high - found.low) / exact)
        plain = SectionOrder(delta=0.1).fit(train)
        naive += abs(scored(plain, test) - exact) < (found.high - found.low) / 2
    assert hits >= 33  # 95 % of 40 is 38; fewer than 33 has probability below 1e-3
    # the uncorrected value is mostly outside, the interval no blank
    assert naive <= 13 and np.median(wide) < 0.5
    # the factory counts validation sections and refuses an impossible transition
    found = errors.corrected(real=predictions(real()), deltas=[0.1, 1])
    sections = sum(len(unit.gold) for unit in of(real(), "validation"))
    assert found.confusion_counts.sum() == sections and found.confusion_names == TITLES
    sure = errors.corrected(real=predictions(real(0.01)), deltas=[0.1, 1]).fit(
        of(real(0.01), "train")
    )
    assert sure.describe([])["reliable"]
    assert not found.fit(of(real(), "train")).describe([])["reliable"]
    refuses("above 0", replace(found, delta=0).fit, of(real(), "train"))


def confident(confidence, correct, name="a"):
    titles = ["abstract" if right else "career" for right in correct]
    return replace(
        article(titles, ["abstract"] * len(titles), number=name),
        confidence=np.array(confidence, float),
    )


def test_calibration_by_hand_of_calibrated_and_overconfident_readers():
    metric = CalibrationError(bins=2)
    units = [confident([0.2, 0.4], [1, 0]), confident([0.9, 0.7, 0.8, 1.0], [1, 1, 1, 0], "b")]
    # (0, 0.5]: 1 right of 2 at 0.3; (0.5, 1]: 3 right of 4 at 0.85
    assert scored(metric, units) == pytest.approx((2 * 0.2 + 4 * 0.10) / 6)
    bins = CalibrationError(bins=4).describe([confident([1e-9, 0.25, 1.0], [1, 1, 1])])["bins"]
    assert [(low, count) for low, _, count, _, _ in bins] == [(0.0, 2.0), (0.75, 1.0)]
    rng = generator("calibrated")
    confidence = rng.uniform(0.3, 1.0, 3000)
    good, over = (
        [confident(told, rng.random(3000) < confidence)]
        for told in (confidence, np.sqrt(confidence))
    )
    metric = CalibrationError()
    chance = metric.describe(good)["expected_by_chance"]
    assert 0.3 * chance < scored(metric, good) < 2 * chance < scored(metric, over)
    # sections without gold titles are left out and documents without any are counted
    mixed = replace(
        article(["abstract", "people"], ["abstract", None]), confidence=np.array([0.9, 0.1])
    )
    blank = replace(article(["people"], [None], number=1), confidence=np.array([0.5]))
    for metric, value in ((CalibrationError(), pytest.approx(0.1)), (errors.TitleAccuracy(), 1.0)):
        statistics = metric.sufficient_statistics([blank, mixed])
        assert statistics.total("excluded") == 1 and metric.score_of(statistics) == value
        assert np.isnan(scored(metric, [blank]))
    refuses("whole number from 1", CalibrationError, bins=0)


@pytest.mark.parametrize("sections", [1, 2, 4])
def test_the_terms_are_those_of_enumeration(sections):
    rng = generator("enumeration", sections)
    initial, final = np.log(rng.dirichlet(np.ones(3))), np.log(rng.random(3))
    inner, emissions = np.log(rng.dirichlet(np.ones(3), 3)), rng.normal(size=(sections, 3))
    paths = list(product(range(3), repeat=sections))
    prior = np.array([initial[p[0]] + sum(inner[a, b] for a, b in pairwise(p)) + final[p[-1]]
                      for p in paths])  # fmt: skip
    likelihood = np.array([sum(emissions[m, z] for m, z in enumerate(p)) for p in paths])
    joint = prior + likelihood
    weights = np.exp(joint - np.log(np.exp(joint).sum()))
    found = posterior.terms(initial, inner, final, emissions)
    assert found.prior.sum() == pytest.approx(weights @ prior, abs=1e-10)
    assert found.likelihood.sum() == pytest.approx(weights @ likelihood, abs=1e-10)
    assert found.entropy.sum() == pytest.approx(-(weights @ np.log(weights)), abs=1e-10)
    assert found.evidence == pytest.approx(
        found.prior.sum() + found.likelihood.sum() + found.entropy.sum(), abs=1e-10
    )
    inner = np.log([[0.5, 0.5], [1.0, 1.0]])
    inner[1, 1] = -np.inf  # an impossible transition carries no weight
    found = posterior.terms(np.log([0.5, 0.5]), inner, np.log([1.0, 1.0]), np.zeros((3, 2)))
    assert np.isfinite([*found.prior, *found.entropy, found.evidence]).all()
    assert found.evidence == pytest.approx(
        found.prior.sum() + found.likelihood.sum() + found.entropy.sum(), abs=1e-10
    )


def test_the_three_terms_add_up_and_a_certain_reader_has_no_entropy():
    fitted = posterior.ExpectedTitleCritic().fit(of(real(), "train"))
    statistics = fitted.sufficient_statistics(of(real(), "test"))
    parts = {name: statistics.total(name) for name in ("prior", "likelihood", "entropy")}
    assert sum(parts.values()) == pytest.approx(statistics.total("evidence"), rel=1e-10)
    assert posterior.LikelihoodTerm().score_of(statistics) == parts[
        "likelihood"
    ] / statistics.total("transitions")
    assert posterior.EntropyTerm().score_of(statistics) == parts["entropy"] / statistics.total(
        "transitions"
    )
    units, train = articles(30, "certain", error=0.0), of(real(0.0), "train")
    fitted, plain = (
        critic.fit(train) for critic in (posterior.ExpectedTitleCritic(), SectionOrder())
    )
    assert posterior.EntropyTerm().score_of(fitted.sufficient_statistics(units)) < 1e-3
    assert scored(fitted, units) == pytest.approx(scored(plain, units), rel=1e-3)


def test_diversity_of_true_chains_of_one_chain_and_of_unknown_titles():
    fitted = posterior.ChainEntropy().fit(of(real(), "train"))
    found = scored(fitted, articles(4000, "many"))
    visits = np.linalg.solve(
        (np.eye(5) - np.hstack([np.zeros((5, 1)), CHAIN[:, :-1]])).T, np.eye(5)[0]
    )
    entropy = -np.where(CHAIN > 0, CHAIN * np.log(np.where(CHAIN > 0, CHAIN, 1)), 0).sum(axis=1)
    assert found == pytest.approx(np.exp(visits @ entropy / visits.sum()), rel=0.02)
    units = [u for u in articles(200, "many") if u.symbols == articles(1, "many")[0].symbols]
    once = len(set(units[0].symbols)) == len(units[0].symbols)
    assert once and scored(fitted, units) == pytest.approx(1.0)
    odd = TitledArticle("o", "test", ("abstract", "nowhere"), gold=(None, None))
    statistics = fitted.sufficient_statistics([odd])
    assert statistics.total("unknown") == 2
    assert statistics.total("<bos>|abstract") == 1
    assert statistics.total(f"abstract|{END}") == 0


def test_own_titles_are_a_chain_where_every_section_has_one():
    titled = Document("a", "test", (Section("x", "."), Section("y", ".")))
    untitled = Document("b", "train", (Section("x", "."), Section(None, ".")))
    made = map(score.own_titles, (titled, untitled))
    assert [
        (one.unit_id, one.split, one.symbols, one.valid, one.gold, one.cut) for one in made
    ] == [
        ("a", "test", ("x", "y"), True, ("x", "y"), False),
        ("b", "train", (), False, ("x", None), False),
    ]


def test_an_encoder_gets_a_new_layer_of_the_seed_over_the_titles(tmp_path, monkeypatch):
    calls = []
    monkeypatch.setattr(reading, "fit_learner", lambda *args, **kw: calls.append((args, kw)))
    titled = AutoModelForSequenceClassification.from_pretrained(classifier_folder(tmp_path))
    titled.base_model.save_pretrained(tmp_path)
    options = {"base": tmp_path, "name": "n", "scratch": tmp_path, "schedule": {}, "max_length": 8}
    layers = []
    for seed in (3, 3, 4):
        made = reading.fit(documents=documents(), seed=seed, **options)
        layers.append(made.network.classifier.weight)
    assert torch.equal(layers[0], layers[1]) and not torch.equal(layers[0], layers[2])
    assert made.network.config.id2label == dict(enumerate(sorted(TINY_TITLES)))
    (learner, network, items, collate, schedule), settings = calls[2]
    expected = {"train": [], "validation": []}
    for document in documents():
        for section in document.sections:
            tokens = made.tokenizer(section.text)["input_ids"][:8]
            label = sorted(TINY_TITLES).index(section.title)
            expected.get(document.split, []).append((tokens, label))
    assert items == expected
    assert (learner, network, schedule) == (reading.TitleClassifier, made.network, {})
    assert collate is reading.collate
    assert settings == {"seed": 4, "name": "n", "scratch": tmp_path}


def test_titles_equal_a_plain_forward_pass_and_an_empty_section_has_one(tmp_path):
    reader = classifier_folder(tmp_path)
    out = reading.read(
        documents=documents(), reader=reader, name="t", splits=["test"], max_length=16, batch=2
    )
    network = AutoModelForSequenceClassification.from_pretrained(reader).eval()
    tokenizer = AutoTokenizer.from_pretrained(reader)
    for chain, document in zip(
        chains_from_predictions(out), [d for d in documents() if d.split == "test"], strict=True
    ):
        for title, section in zip(chain.symbols, document.sections, strict=True):
            ids = tokenizer(section.text, truncation=True, max_length=16, return_tensors="pt")[
                "input_ids"
            ]
            with torch.no_grad():
                assert title == TINY_TITLES[int(network(ids).logits.argmax())]
    units = units_from_predictions(out)
    assert all(unit.gold == TINY_TITLES for unit in units)
    lone = [Document("x", "generated", (Section(None, ""),))]
    given = {"documents": lone, "reader": reader, "name": "t", "max_length": 16}
    (unit,) = units_from_predictions(reading.read(**given, splits=["generated"]))
    assert len(unit.symbols) == 1 and unit.gold == (None,)
    refuses("no document of splits", reading.read, **given, splits=["test"])
    # gold chains with an untitled section are invalid, not shortened
    mixed = Document("x", "test", (Section("abstract", "a"), Section(None, "b")))
    chains = chains_from_predictions(
        reading.read_gold(documents=[*documents(4), mixed], splits=["test"])
    )
    assert [chain.valid for chain in chains] == [True, False] and chains[0].symbols == TINY_TITLES


def test_a_cut_article_has_no_transition_to_the_end_under_any_title_critic():
    units = real()
    (whole, *_) = of(units, "test")
    cut = replace(whole, cut=True)
    sections = len(whole.symbols)
    assert cut.gold_chain().cut
    for kind in (
        SectionOrder,
        GoldTitleCritic,
        score.RandomTitleCritic,
        posterior.ExpectedTitleCritic,
    ):
        critic = kind().fit(of(units, "train"))
        assert critic.sufficient_statistics([whole, cut]).column("transitions").tolist() == [
            sections + 1,
            sections,
        ]
    certain = replace(
        cut,
        log_posterior=np.where(
            cut.log_posterior == cut.log_posterior.max(1, keepdims=True), 0.0, -1e3
        ),
    )
    expected = posterior.ExpectedTitleCritic().fit(of(units, "train"))
    plain = SectionOrder().fit(of(units, "train"))
    assert expected.sufficient_statistics([certain]).total("prior") == pytest.approx(
        plain.sufficient_statistics([cut]).total("logprob")
    )


def test_readings_of_cut_texts_give_cut_articles():
    units = of(real(), "test")[:2]
    read = with_cut_texts(
        predictions(units), [Document(u.unit_id, "test", ()) for u in units], [True, False]
    )
    assert [unit.cut for unit in units_from_predictions(read)] == [True, False]


def test_the_channel_is_counted_errors_beside_the_shared_ones():
    counts = np.array(
        [[9.0, 1.0, 0.0, 0.0], [0.0, 8.0, 2.0, 0.0], [0.0, 0.0, 7.0, 0.0], np.zeros(4)]
    )
    critic = CorrectedTitleCritic(delta=0.1, confusion_names=TITLES, confusion_counts=counts)
    fitted = critic.fit_units(of(real(0.0, train=40), "train"))
    channel, places = fitted.channel, [fitted.names.index(title) for title in TITLES]
    rate = (3 + 1) / (27 + 2)  # of misread sections, one wrong and one right more
    errors_of = np.array([0.25, 1.25, 2.25, 0.25])  # by predicted title, one more over all
    for row, own in enumerate(counts):
        others = np.where(np.arange(4) == row, 0.0, errors_of)
        shared = rate * others / others.sum()
        shared[row] = 1 - rate
        weights = own + errors.PSEUDO_SECTIONS * shared
        expected = weights / (own.sum() + errors.PSEUDO_SECTIONS)
        assert channel[places[row], places] == pytest.approx(expected)


def test_seven_percent_of_misread_sections_is_still_reliable():
    counts = np.array([[465.0, 35.0], [0.0, 0.0]])
    found = CorrectedTitleCritic(confusion_counts=counts).describe([])
    assert found["reliable"] and found["titles_without_sections"] == 1


def test_a_delta_of_zero_cannot_be_corrected():
    refuses("delta is 0", CorrectedTitleCritic(delta=0).fit_units, [])


def test_accuracy_counts_titled_sections_and_excludes_texts_without_any():
    units = [
        TitledArticle("a", "test", ("x", "y", "z"), gold=("x", "x", None)),
        TitledArticle("b", "test", ("x",), gold=(None,)),
        TitledArticle("c", "test", ("x",), gold=("x",)),
    ]
    statistics = errors.TitleAccuracy().sufficient_statistics(units)
    assert statistics.columns == ("correct", "titled", "excluded")
    assert statistics.values.tolist() == [[1, 2, 0], [0, 0, 1], [1, 1, 0]]
    assert errors.TitleAccuracy().score_of(statistics) == 2 / 3


def test_a_classifier_learns_titles_of_training_articles_alone():
    articles = [
        Document("a", "train", (Section("c", "x"), Section("a", "x"), Section(None, "x"))),
        Document("b", "train", (Section("a", "x"),)),
        Document("d", "test", (Section("b", "x"),)),
    ]
    assert reading.training_titles(articles) == ["a", "c"]
