"""Chains of persons from mentions; resolvers by rules, by the nearest mention, from outside; their agreement with gold."""

import itertools
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longform.critics.coreference import agreement, chains, rules
from longform.critics.coreference.agreement import (
    ChainAgreement,
    ReadClusters,
    b_cubed,
    ceaf_e,
    clusters,
    muc,
)
from longform.critics.coreference.chains import (
    GivenMentions,
    Mention,
    gold_chains,
    gold_mentions,
    read_chains,
)
from longform.critics.coreference.rules import FcorefResolver, NearestResolver, RuleResolver
from longform.critics.coreference.score import Coreference, ReleasedCoreference, person_chains
from longform.datasets.titles import is_film
from longform.documents import Document, Section, chains_from_predictions, grouped
from longform.statistics.random_streams import generator
from synthetic_world.corpora import build
from tests.refusals import refuses


def mention(text: str, words: str, entity: int, nth: int = 0, **more) -> Mention:
    start = -1
    for _ in range(nth + 1):
        start = text.index(words, start + 1)
    return Mention(start, start + len(words), entity, **more)


def symbols(text: str, mentions: list[Mention], **settings: bool) -> tuple[str, ...]:
    return chains.person_chain("d", "test", text, mentions, **settings).symbols


def documents(*texts):
    return [Document(f"d{i}", "test", (Section(None, text),)) for i, text in enumerate(texts)]


TEXT = "Anna Lee met Tom. He liked her film. It won."
ANNA, TOM = mention(TEXT, "Anna Lee", 4, named=True), mention(TEXT, "Tom", 7, named=True)
HE, HER = mention(TEXT, "He", 7), mention(TEXT, "her", 4)
RESOLVER = RuleResolver()


def test_chains_of_sentences_names_and_single_mentions():
    lone, it, film = [ANNA, TOM, HE], mention(TEXT, "It", 1), mention(TEXT, "film", 1)
    assert symbols(TEXT, [*lone, HER]) == (".", "FEMALE:4", "MALE:7", ".", "He:7", "her:4", ".")
    assert symbols(TEXT, lone) == (".", "MALE:7", ".", "He:7", ".")
    assert symbols(TEXT, lone, singletons=True) == (".", "NONE:4", "MALE:7", ".", "He:7", ".")
    known = [*(replace(named, gender="FEMALE") for named in (ANNA, TOM)), HE]
    assert symbols(TEXT, known, singletons=True)[1:3] == ("FEMALE:4", "MALE:7")
    assert symbols(TEXT, [film, it]) == (".", ".", ".")
    assert symbols(TEXT, [ANNA, replace(film, entity=4)]) == (".", "NONE:4", ".", "NONE:4", ".")


def test_persons_are_the_released_votes_and_heads_precede_prepositions():
    for named, words, persons in (
        (False, "he Herself Lee Thy you", ["he", "you"]),
        (True, "it Cleaves Lee", ["Lee"]),
    ):
        assert [word for word in words.split() if chains.is_person(word, named)] == persons
    votes = [
        (1, "him", None),
        (1, "her", None),
        (1, "she", None),
        (2, "Her", None),
        (2, "his", None),
        (3, "my", None),
    ]
    assert chains.entity_types(votes) == {1: "FEMALE", 2: "FEMALE", 3: "NONE"}
    assert chains.entity_types([(1, "you", None), (1, "Ann", "FEMALE")]) == {1: "PLURAL"}
    for words, head in [
        ("the son of King John", "son"),
        ("Anna Lee", "Lee"),
        ("Tom, who left", "Tom"),
        ("of", "of"),
    ]:
        assert words[chains.root_offset(words, 0, len(words)) :].startswith(head)


def test_nested_mentions_stay_in_order_and_the_last_entity_has_the_head():
    text = "His mother came. Tom saw her."
    nested = [
        mention(text, "His", 1),
        mention(text, "His mother", 2),
        mention(text, "Tom", 1, named=True),
    ]
    assert symbols(text, [*nested, mention(text, "her", 2, 1)]) == (
        ".",
        "His:1",
        "FEMALE:2",
        ".",
        "MALE:1",
        "her:2",
    )
    twice = [mention(text, "her", 3, 1), mention(text, "her", 5, 1)]
    twice += [mention(text, "mother", 5), mention(text, "His", 3)]
    assert symbols(text, twice)[-1] == "her:5"


def test_readout_keeps_chains_and_where_their_symbols_stand():
    gold = GivenMentions({TEXT: [ANNA, TOM, HE, HER], "": []})
    predictions = chains.read_with(gold, documents(TEXT, ""), ["test"], False, None, keep_text=True)
    first, second = person_chains(predictions)
    assert (first.symbols, first.text) == (symbols(TEXT, [ANNA, TOM, HE, HER]), TEXT)
    stands = [".", *(TEXT[slice(*span)] for span in first.spans if span[0] < span[1])]
    assert stands == [".", "Lee", "Tom", "He", "her"] and (second.symbols, second.spans) == ((), ())


def test_the_film_filter_reads_a_sentence_and_the_papers_a_section():
    films = documents("Alien is a 1979 film. It won.", "Alien won. It is a film.", "Lee (born 1950) is a film director.",
                      "Alien is a\nhorror film. It won.", "Kino is a studio for films. More.")  # fmt: skip
    assert [is_film(film) for film in films] == [True, False, False, True, False]
    assert all(map(chains.is_film_paper, films))
    assert not is_film(Document("d", "test", (Section(None, ""), Section(None, "It is a film."))))


TRUTH = {"mention_chain": np.array([0, 1, 0, 2]), "mention_chain_lengths": np.array([3, 1]),
         "mention_symbol_names": np.array([".", "FEMALE:0", "MALE:9"]), "mention_start": np.array([0]),
         "mention_end": np.array([4]), "mention_person": np.array([0]), "mention_start_lengths": np.array([1, 0])}  # fmt: skip
ONE = TRUTH | {name: TRUTH[name][:1] for name in ("mention_chain_lengths", "mention_start_lengths")}
ONE |= {"mention_chain": TRUTH["mention_chain"][:3]}  # of the first document alone
DOCUMENTS = documents("Anna ran. It rained.", "x")


def test_gold_chains_come_back_from_truth_arrays_and_a_readout():
    assert [c.symbols for c in gold_chains(DOCUMENTS, TRUTH)] == [
        (".", "FEMALE:0", "."),
        ("MALE:9",),
    ]
    found = read_chains(DOCUMENTS[:1], gold_mentions(DOCUMENTS, TRUTH), singletons=True)
    assert found[0].symbols == (".", "FEMALE:0", ".")
    predictions = chains.read_gold(documents=DOCUMENTS[:1], truth=ONE, splits=["test"])
    assert chains_from_predictions(predictions) == gold_chains(DOCUMENTS[:1], ONE)
    assert (
        chains_from_predictions(
            chains.read_gold(documents=DOCUMENTS[:1], truth=ONE, splits=["train"])
        )
        == []
    )


class FakeModel:
    def predict(self, texts, max_tokens_in_batch):
        assert all(texts) and max_tokens_in_batch > 0
        return [self for _ in texts]

    def get_clusters(self, as_strings: bool):
        assert not as_strings
        return [[(0, 8), (27, 30)], [(13, 16), (18, 20)]]


def test_bad_input_is_named():
    refuses("belong apart", gold_chains, DOCUMENTS[:1], TRUTH)
    refuses("truth lacks", gold_chains, DOCUMENTS, {})
    refuses("outside its", gold_mentions, DOCUMENTS, TRUTH | {"mention_end": np.array([99])})
    refuses("no gold mentions", GivenMentions({}).resolve, ["a text"])
    refuses(
        r"no config\.json",
        rules.read_fcoref,
        documents=[],
        reader=Path("no-such-folder"),
        splits=[],
    )
    refuses("film_filter", rules.read, documents=DOCUMENTS, splits=["test"], film_filter="papers")


def test_fcoref_clusters_become_chains_under_any_release_of_transformers():
    resolver = FcorefResolver(FakeModel(), "some-checkpoint")
    [chain] = read_chains(documents(TEXT), resolver)
    assert chain.symbols == (".", "FEMALE:0", "MALE:1", ".", "He:1", "her:0", ".")
    empty, found = resolver.resolve(["", TEXT])
    assert not empty and [TEXT[m.start : m.end] for m in found if m.named] == ["Anna Lee", "Tom"]
    assert (
        "transformers" in resolver.header() and "some-checkpoint" in resolver.header()["resolver"]
    )
    old, new = SimpleNamespace(), SimpleNamespace(all_tied_weights_keys={"a": "b"})
    rules.patch_tied_weights(old)
    rules.patch_tied_weights(new)
    assert old.all_tied_weights_keys == {} and new.all_tied_weights_keys == {"a": "b"}


def test_fcoref_reads_with_the_network_of_a_folder(tmp_path, monkeypatch):
    calls = []
    modules = {
        "fastcoref": SimpleNamespace(
            FCoref=lambda *given, **named: calls.append((given, named)) or FakeModel()
        ),
        "fastcoref.coref_models.modeling_fcoref": SimpleNamespace(FCorefModel=SimpleNamespace()),
        "spacy": SimpleNamespace(blank=lambda language: language),
    }
    monkeypatch.setattr(rules.importlib, "import_module", modules.__getitem__)
    monkeypatch.setattr(rules, "FCOREF_PACKAGES", ("no-such-package",))
    for name in rules.CHECKPOINT_FILES:
        (tmp_path / name).touch()
    settings = {"reader": tmp_path, "splits": ["test"], "film_filter": "released"}
    found = rules.read_fcoref(documents=documents(TEXT, "Alien is a film."), **settings)
    options = {"device": "cpu", "nlp": "en", "enable_progress_bar": False}
    assert calls == [((str(tmp_path),), options)]
    resolver = f"resolver=FcorefResolver({tmp_path.name})"
    assert found.arrays["header_names"].tolist() == [resolver, "no-such-package=not installed"]
    assert found.arrays["valid"].tolist() == [False, True]


def test_names_carry_gender_their_own_and_from_outside():
    names = {"anmund": "MALE", "belsia": "FEMALE"}
    text = "Anmund Balow met Belsia Dalick. She smiled at him."
    found = groups(text, RuleResolver(first_names=names))
    assert found == {frozenset({"Anmund Balow", "him"}), frozenset({"Belsia Dalick", "She"})}
    text = "Yesterday Mrs. Mary O'Brien, 30, met Kofi."
    found = {text[m.start : m.end]: m.gender for m in RESOLVER.resolve([text])[0]}
    assert found["Mrs. Mary O'Brien"] == "FEMALE" and "Kofi" in found


def test_the_film_filter_leaves_invalid_chains_that_are_counted():
    texts = documents("Alien is a film. Anna made it. She won.", "Anna ran. It rained.")
    predictions = rules.read(documents=texts, splits=["test"], film_filter="released")
    assert predictions.arrays["valid"].tolist() == [True, False]
    assert chains_from_predictions(predictions)[0].symbols == (".", ".", "FEMALE:1", ".", "She:1")
    assert any(
        str(line).startswith("resolver=RuleResolver(")
        for line in predictions.arrays["header_names"]
    )


def groups(text: str, resolver: RuleResolver = RESOLVER) -> set[frozenset[str]]:
    """Sets of words that corefer; a word said twice would not do here."""
    (found,) = resolver.resolve([text])
    words = {
        entity: [text[m.start : m.end] for m in own]
        for entity, own in grouped(found, lambda m: m.entity).items()
    }
    assert all(len(set(said)) == len(said) for said in words.values())
    return {frozenset(said) for said in words.values() if len(said) > 1}


CASES = {
    "gender": ("Mary met John. She liked him.", {("Mary", "She"), ("John", "him")}),
    "surname": ("Mary Jones came. Jones sang.", {("Mary Jones", "Jones")}),
    "initials": ("George Bush spoke. G. Bush left.", {("George Bush", "G. Bush")}),
    "titles": ("Mr. Hale met Mrs. Hale. He saw her.", {("Mr. Hale", "He"), ("Mrs. Hale", "her")}),
    "reflexive": ("John hurt himself.", {("John", "himself")}),
    "object is not the subject": ("John came. Peter saw him.", {("John", "him")}),
    "possessive may be the subject": ("Peter sold his house.", {("Peter", "his")}),
    "family": ("The Lamberts came. They hid their money.", {("The Lamberts", "They", "their")}),
    "two joined": ("Mary and John came. They sang.", {("Mary and John", "They")}),
    "cataphora": ("After his death, Peter was mourned.", {("his", "Peter")}),
    "noun": ("A woman came in. The woman sat. She slept.", {("A woman", "The woman", "She")}),
    "title decides": (
        "Lady Sarn met Lord Vok. He bowed to her.",
        {("Lady Sarn", "her"), ("Lord Vok", "He")},
    ),
    "pronoun makes a person of a name": ("Vanitha is an artist. She sings.", {("Vanitha", "She")}),
    "curly quotes": ("“Go,” said John. “I won’t,” he added.", {("John", "he")}),
}


@pytest.mark.parametrize(("text", "expected"), CASES.values(), ids=CASES.keys())
def test_sentences_with_one_reading_are_read_so(text, expected):
    assert groups(text) == {frozenset(words) for words in expected}


def test_what_is_no_person_too_far_or_nearer_by_recency():
    text = "In March, Oxford University moved to Paris. However, the River Thames rose. Rain fell."
    assert not [m for m in RESOLVER.resolve([text])[0] if m.named]
    near, far = ("Mary sang. " + "It rained. " * count + "She left." for count in (2, 6))
    assert groups(near) and not groups(far)
    text = "Peter saw John in his garden."
    assert groups(text) == {frozenset({"Peter", "his"})}
    assert groups(text, RuleResolver(subject=0.0, parallel=0.0)) == {frozenset({"John", "his"})}


@given(st.text(alphabet="aAMry heHim.,'\"“”’()\n-éЖ東0", max_size=120))
@settings(max_examples=200, deadline=None)
def test_any_text_gives_ordered_spans_inside_it(text):
    found = RESOLVER.resolve([text])[0]
    assert all(0 <= m.start <= (m.root or 0) < m.end <= len(text) for m in found)
    assert [(m.start, m.end) for m in found] == sorted((m.start, m.end) for m in found)


def test_a_pronoun_is_the_last_person_and_plural_ones_share_an_entity():
    for text, expected in (
        (
            "Anna Lee met Tom Reed. She smiled. Lee left. He waved.",
            "Anna Lee 0, Tom Reed 1, She 1, Lee 0, He 0",
        ),
        ("They met Tom Reed. He left them.", "They 0, Tom Reed 1, He 1, them 0"),
    ):
        (found,) = NearestResolver().resolve([text])
        assert ", ".join(f"{text[m.start : m.end]} {m.entity}" for m in found) == expected
    for found in NearestResolver().resolve(
        ["", "Nobody was there.", "Он пришёл. 彼は来た。", "He.", "she " * 500]
    ):
        assert found == sorted(found, key=lambda m: (m.start, m.end))
        assert len({m.entity for m in found}) <= 1


def test_agreement_with_itself_is_one_and_falls_with_a_wrong_link():
    pages = documents("Anna Lee met Tom Reed. She smiled. He waved. Reed left.")
    spans = [(0, 8, 0), (13, 21, 1), (23, 26, 0), (35, 37, 1), (45, 49, 1)]
    gold = GivenMentions({pages[0].text: [Mention(a, b, e, True) for a, b, e in spans]})
    truth = chains.read_with(gold, pages, ["test"], False, None)
    critic = agreement.against_gold(real=truth)
    assert (
        critic.score_of(critic.sufficient_statistics(agreement.units_from_predictions(truth)))
        == 1.0
    )
    nearest = agreement.units_from_predictions(rules.read_nearest(documents=pages, splits=["test"]))
    parts = critic.describe(nearest)
    # found: {Reed, She, He, Reed} alone, Lee being mentioned once; gold: {Lee, She}, {Reed, He, Reed}
    assert parts["muc"] == pytest.approx({"recall": 2 / 3, "precision": 2 / 3, "f1": 2 / 3})
    assert parts["b3"]["recall"] == pytest.approx((1 / 2 + 9 / 3) / 5)
    other = rules.read_nearest(documents=[replace(pages[0], id="z")], splits=["test"])
    refuses("no gold chain", critic.sufficient_statistics, agreement.units_from_predictions(other))


def sets(*rows: str):
    return tuple(frozenset(row) for row in rows)


GOLD, FOUND = sets("abc", "defg"), sets("ab", "cd", "fghi")  # Pradhan et al. 2014, section 4.2


def test_scores_of_the_published_example():
    def ratios(sums):
        return sums[0] / sums[1], sums[2] / sums[3]

    assert ratios(muc(GOLD, FOUND)) == pytest.approx((2 / 5, 2 / 5))
    recall = (1 / 7) * (2**2 / 3 + 1 / 3 + 1 / 4 + 2**2 / 4)
    precision = (1 / 8) * (2**2 / 2 + 1 / 2 + 1 / 2 + 2**2 / 4)
    assert ratios(b_cubed(GOLD, FOUND)) == pytest.approx((recall, precision))
    best = 2 * 2 / (3 + 2) + 2 * 2 / (4 + 4)
    assert ratios(ceaf_e(GOLD, FOUND)) == pytest.approx((best / 2, best / 3))


def test_ceaf_takes_the_best_of_all_alignments():
    rng = generator("test", "ceaf")
    for _ in range(20):
        gold = clusters([(i, int(rng.integers(0, 3))) for i in range(8)])
        found = clusters([(i, int(rng.integers(0, 4))) for i in range(2, 10)])
        phi = [[2 * len(k & r) / (len(k) + len(r)) for r in found] for k in gold]
        if len(gold) <= len(found):
            alignments = itertools.permutations(range(len(found)), len(gold))
            best = max(sum(phi[i][j] for i, j in enumerate(alignment)) for alignment in alignments)
            assert ceaf_e(gold, found)[0] == pytest.approx(best)


def judged(**pages):
    """The critic of gold clusters, and the found ones, from (gold, found) by document."""
    critic = ChainAgreement({name: gold for name, (gold, _) in pages.items()})
    return critic, [ReadClusters(name, "test", found) for name, (_, found) in pages.items()]


def test_a_perfect_resolver_scores_one_and_an_empty_one_zero():
    critic, units = judged(d=(GOLD, GOLD))
    assert critic.score_of(critic.sufficient_statistics(units)) == pytest.approx(1.0)
    for score in (muc, b_cubed, ceaf_e):
        assert score(GOLD, FOUND)[:2] == score(FOUND, GOLD)[2:]
    pooled, units = judged(a=(GOLD, FOUND), b=(sets("xy"), sets("xy")))
    assert pooled.describe(units)["muc"]["recall"] == pytest.approx(3 / 6)  # of sums over documents
    critic, units = judged(none=(GOLD, ()), empty=((), FOUND))
    statistics = critic.sufficient_statistics(units)
    assert critic.score_of(statistics) == 0.0
    assert statistics.column("excluded").tolist() == [0, 1] and not statistics.values[1, :-1].any()


@pytest.fixture(scope="module")
def corpus():
    return build(name="test", seed=3, domain="wiki", documents=150)


def test_chains_of_gold_mentions_are_gold_chains_and_rules_agree(corpus):
    gold, known = (
        gold_mentions(corpus.documents, corpus.truth),
        gold_chains(corpus.documents, corpus.truth),
    )
    made = read_chains(corpus.documents, gold, singletons=True)
    assert [(item.unit_id, item.symbols) for item in made] == [
        (item.unit_id, item.symbols) for item in known
    ]
    resolver = RuleResolver(subject=0.0, parallel=0.0)
    units, true = [], {}
    for document, mentions in zip(
        corpus.documents, resolver.resolve([d.text for d in corpus.documents]), strict=True
    ):
        persons = {
            m.entity
            for m in mentions
            if m.named or chains.is_person(document.text[m.start : m.end], False)
        }
        found = clusters([((m.start, m.end), m.entity) for m in mentions if m.entity in persons])
        true[document.id] = clusters(
            [((m.start, m.end), m.entity) for m in gold.by_text[document.text]]
        )
        units.append(ReadClusters(document.id, "test", found))
    critic = ChainAgreement(true)
    assert critic.score_of(critic.sufficient_statistics(units)) > 0.8


@pytest.mark.parametrize("critic", [ReleasedCoreference(), Coreference()])
def test_gold_chains_score_above_their_closed_form_and_near_it(corpus, critic):
    chains = gold_chains(corpus.documents, corpus.truth)
    fitted = critic.fit(chains[:100])
    latent_ppl, exact = (
        fitted.score_of(fitted.sufficient_statistics(chains[100:])),
        corpus.facts["mention_latent_ppl"],
    )
    assert 0.9 * exact < latent_ppl < 1.7 * exact
