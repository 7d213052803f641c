"""Lexical cohesion by hand and on planted reports; Hirst-St-Onge and Lesk walked by hand, information measures against NLTK's."""

import math
from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csc_array, csr_array

from longform.critics.entity_grid.score import EntityGrid
from longform.critics.lexical import score as lexical
from longform.critics.lexical import wordnet as nets
from longform.critics.lexical.score import (
    AdjacentSimilarity,
    LatentSemanticAnalysis,
    SharedNouns,
    term_documents,
    word_vectors,
)
from longform.critics.lexical.wordnet import HirstStOnge, JiangConrath, Lesk, Lin, Resnik, wordnet
from longform.evaluation.order_discrimination import order_discrimination
from longform.statistics.random_streams import generator
from longform.statistics.sum_scored import unit_scores
from longform.text.entity_grids import grids_from_predictions, grids_to_predictions, read
from longform.text.lexicon import (
    HORIZONTAL,
    Lexicon,
    Taxonomy,
    closed_links,
    read_lmf,
    read_wordnet,
)
from longform.text.permutations import ShuffleTask
from synthetic_world.corpora import build
from synthetic_world.lexicon import VOCABULARIES, fit, to_lmf, vocabulary
from tests.critics.grid_cases import nouns as unit
from tests.critics.lexical.tiny_wordnet import NAMES, write_database, write_lmf
from tests.refusals import refuses

COUNTS = {"dog": 5, "cat": 3, "house": 4, "door": 1, "bank": 2, "day": 6, "puppy": 1, "unheard": 9}


def test_overlap_of_adjacent_sentences_by_hand_and_in_other_orders():
    assert unit_scores(SharedNouns(), [unit("dog cat", "cat house door")])[0] == pytest.approx(
        2 / 5
    )
    statistics = SharedNouns().sufficient_statistics([unit("dog", "dog cat", "house")])
    assert statistics.values[0].tolist() == pytest.approx([2 / 3 + 0, 2, 0, 0, 0])
    assert SharedNouns().score_of(statistics) == pytest.approx(1 / 3)
    # a pair with a sentence without nouns scores 0 and is counted
    assert SharedNouns().sufficient_statistics([unit("dog", "", "dog")]).values[0].tolist() == [
        0,
        2,
        2,
        0,
        0,
    ]
    statistics = SharedNouns().sufficient_statistics(
        [unit("dog"), unit("", ""), unit("dog", "dog")]
    )
    assert statistics.column("excluded").tolist() == [1, 1, 0]
    assert np.isnan(unit_scores(SharedNouns(), [unit("dog")])[0])
    assert np.isnan(SharedNouns().order_scores(unit("", ""), np.array([[1, 0]]))).all()
    text, orders = (
        unit("dog cat", "cat", "house dog", "door"),
        np.array([[3, 2, 1, 0], [1, 0, 3, 2]]),
    )
    slow = unit_scores(SharedNouns(), [replace(text, cells=text.cells[order]) for order in orders])
    np.testing.assert_allclose(SharedNouns().order_scores(text, orders), slow)


REAL = [unit("dog cat", "dog", name="a"), unit("cat dog", "kennel", name="b"), unit("ship sea", "sea", name="c"),
        unit("sea ship", "sail ship", name="d")]  # fmt: skip


def test_latent_semantics_equals_a_dense_decomposition_of_known_words():
    fitted = LatentSemanticAnalysis(dims=2).fit(REAL)
    words = sorted(fitted.words)
    left, values, _ = np.linalg.svd(term_documents(REAL, fitted.words).toarray())
    vectors = left[:, :2] * values[:2]
    mean = {w: vectors[words.index(w)] for w in words}
    first, second = mean["dog"] + mean["sea"], mean["kennel"]
    cosine = first @ second / np.linalg.norm(first) / np.linalg.norm(second)
    assert unit_scores(fitted, [unit("dog sea", "kennel")])[0] == pytest.approx(cosine)
    assert LatentSemanticAnalysis(dims=100).fit(REAL).vectors.shape == (6, 3)
    statistics = fitted.sufficient_statistics([unit("dog zebra", "cat")])
    assert statistics.total("unknown") == 1
    assert statistics.total("similarity") == pytest.approx(
        fitted.sufficient_statistics([unit("dog", "cat")]).total("similarity")
    )


@pytest.mark.parametrize("dense", [1000, 0])
@pytest.mark.parametrize("shape", [(30, 12), (12, 30)])
def test_word_vectors_equal_the_decomposition_under_equal_values(shape, dense, monkeypatch):
    monkeypatch.setattr(lexical, "DENSE", dense)
    table = generator("lsa", *shape).poisson(0.4, shape).astype(np.float64)
    left, values, _ = np.linalg.svd(table, full_matrices=False)
    ours = word_vectors(csr_array(table), 5)
    np.testing.assert_allclose(
        ours @ ours.T, (left[:, :5] * values[:5] ** 2) @ left[:, :5].T, atol=1e-9
    )
    tied = csr_array(
        np.kron(np.eye(6), np.ones((2, 2)))
    )  # six equal singular values, of which four are kept
    assert all(np.array_equal(word_vectors(tied, 4), word_vectors(tied, 4)) for _ in range(5))


def test_a_large_table_of_words_and_texts_is_never_made_dense(monkeypatch):
    def refused(_):
        raise AssertionError("dense")

    monkeypatch.setattr(lexical, "DENSE", 3)
    for kind in (csr_array, csc_array):
        monkeypatch.setattr(kind, "toarray", refused)
    fitted = LatentSemanticAnalysis(dims=2).fit(REAL)
    assert unit_scores(fitted, [unit("dog", "kennel"), unit("dog", "sea")]) == pytest.approx(
        [1, 0], abs=1e-9
    )


@pytest.mark.long  # the whole synthetic corpus
def test_planted_reports_stand_above_their_shuffles(tmp_path):
    corpus = build(name="reports", seed=7, domain="reports", documents={"train": 300, "test": 80})
    fit(world="everyday").save(tmp_path)
    reports = read(documents=corpus.documents, truth=corpus.truth, reader=tmp_path, roles="truth")
    train, test = (
        [grid for grid in grids_from_predictions(reports) if grid.split == split]
        for split in ("train", "test")
    )
    (found,) = order_discrimination({"grid": EntityGrid()}, test, [ShuffleTask()], train=train)
    assert found.details["above_mean"] >= 0.95 and found.value > 0.9
    scorers = {"overlap": SharedNouns(), "latent_semantics": LatentSemanticAnalysis()}
    scorers |= {
        measure: wordnet(real=reports, measure=measure) for measure in ("hirst_st_onge", "resnik")
    }
    found = order_discrimination(scorers, test, [ShuffleTask()], train=train)
    assert all(record.value > 0.6 for record in found if record.metric == "pairwise_accuracy")
    for world in VOCABULARIES:
        assert fit(world=world).text == to_lmf(vocabulary(world))


def counted(critic):
    return replace(critic, content=critic.taxonomy.information_content(COUNTS))


@pytest.fixture(scope="module")
def taxonomy(tmp_path_factory):
    return Taxonomy(read_lmf(write_lmf(tmp_path_factory.mktemp("lmf") / "tiny.xml")))


HSO_BY_HAND = [("dog", "dog", 16, "the same synset"), ("day", "night", 16, "antonyms"),
               ("doghouse", "house", 16, "a link, and one a compound of the other"),
               ("robot_dog", "dog", 16, "the same"), ("dog", "animal", 7, "U: 8 - 1"),
               ("puppy", "doghouse", 0, "six links are too many"),
               ("day", "moonlight", 5, "DH: 8 - 2 - 1, though the way back (HU) is not allowed")]  # fmt: skip


@pytest.mark.parametrize(("first", "second", "strength", "why"), HSO_BY_HAND)
def test_hirst_st_onge_equals_the_path_walked_by_hand(taxonomy, first, second, strength, why):
    pair = [NAMES.index(first), NAMES.index(second)]
    matrix = HirstStOnge(taxonomy).synset_matrix(sorted(set(pair)))
    assert matrix.max() == 16
    assert matrix[0, -1] == matrix[-1, 0] == strength, why


def net_of(glosses, *links):
    row, n = tuple("abc"[: len(glosses)]), np.arange(len(glosses))
    return Taxonomy(Lexicon(row, ("n",) * len(row), glosses, closed_links(links), row, n, n))


def test_two_sideways_links_are_a_path_without_a_turn():
    net = net_of(("",) * 3, (0, HORIZONTAL, 1), (1, HORIZONTAL, 2))
    assert HirstStOnge(net).synset_matrix([0, 2])[0, 1] == 6


def test_of_equal_phrases_the_first_synsets_earliest_counts():
    """y y, x and y: 4 + 1 + 1; by the second's x y and y y it were 4 + 4."""
    net = net_of(("yy yy xx yy", "xx yy yy yy"))
    assert Lesk(net).synset_matrix([0, 1])[0, 1] == 6


def all_allowed_paths(taxonomy, start):
    """Every walk of up to five links whose directions follow the two rules, spelled out link by link."""
    kinds = {0: "U", 2: "U", 1: "D", 3: "D", 4: "H"}
    allowed = {"U", "D", "H", "UD", "UH", "HD", "DH", "UHD"}
    best = defaultdict(float)
    stack = [(start, "", 0)]
    while stack:
        node, shape, length = stack.pop()
        if length:
            best[node] = max(best[node], 8 - length - (len(shape) - 1))
        for source, kind, target in taxonomy.lexicon.links.tolist():
            if source == node and length < 5:
                grown = shape if shape.endswith(kinds[kind]) else shape + kinds[kind]
                if grown in allowed:
                    stack.append((target, grown, length + 1))
    return best


def test_every_pair_equals_an_enumeration_of_all_allowed_walks(taxonomy):
    walked = np.zeros((len(NAMES), len(NAMES)))
    for i in range(len(NAMES)):
        for j, strength in all_allowed_paths(taxonomy, i).items():
            walked[i, j] = strength
    ours = HirstStOnge(taxonomy).synset_matrix(range(len(NAMES)))
    weak = ours < 16
    np.testing.assert_array_equal(ours[weak], np.maximum(walked, walked.T)[weak])


def test_lesk_plain_and_extended_by_hand(taxonomy):
    dog, cat, entity = (NAMES.index(name) for name in ("dog", "cat", "entity"))
    plain = Lesk(taxonomy, extended=False).synset_matrix([dog, cat, entity])
    assert plain[0].tolist()[1:] == [2, 0]  # domestic, animal; "that" and "a" are function words
    # definitions: "domestic animal" -> 4; hypernyms share the nine words from "living" to "organisms" -> 81
    assert Lesk(taxonomy).synset_matrix([dog, cat])[0, 1] == 4 + 81
    assert (Lesk(taxonomy).joined(NAMES.index("animal"), 2) == -3).sum() == 1  # dog and cat


@pytest.mark.parametrize(
    ("first", "second", "total"),
    [
        (
            "kinds of evergreen tree",
            "fruit of evergreen tree",
            4,
        ),  # Banerjee and Pedersen's pine and cone
        ("x of y z", "x of y w", 9),  # a phrase may hold a function word
        ("x a y", "x a y", 9),
        ("of y of", "of y of", 1),  # but neither begin nor end with one
        ("x y q x y", "x y", 4),  # each word is used once
        ("x y q z", "z q x y", 4 + 1 + 1),  # the longest first, then what is left
        ("a of", "a of", 0),
        ("x", "", 0),
    ],
)
def test_phrase_overlaps_equal_hand_counts(first, second, total):
    words = sorted({*first.split(), *second.split()} - {"a", "of"})
    number = {"a": 0, "of": 1} | {word: nets.FUNCTIONS + i for i, word in enumerate(words)}
    phrases = (
        np.array([number[word] for word in text.split()], dtype=np.int64)
        for text in (first, second)
    )
    assert nets.phrase_overlap(*phrases, nets.FUNCTIONS) == total


def test_information_content_counts_every_sense_of_real_nouns_once(taxonomy):
    content = taxonomy.information_content(COUNTS)
    total = len(NAMES) + 5 + 3 + 4 + 1 + 2 * 2 + 6 + 1
    assert content[NAMES.index("entity")] == pytest.approx(0)
    assert content[NAMES.index("dog")] == pytest.approx(
        -math.log((5 + 1 + 3) / total)
    )  # dog, puppy, three smoothings
    # robot dog lies below artifact and, by dog, below entity: entity counts it once
    assert np.exp(-content[NAMES.index("artifact")]) * total == pytest.approx(4 + 1 + 2 + 6)
    fitted = Resnik(taxonomy).fit([unit("dog", "dog cat")])
    np.testing.assert_allclose(fitted.content, taxonomy.information_content({"dog": 2, "cat": 1}))


def test_information_measures_equal_nltks_on_every_pair(tmp_path, monkeypatch):
    nltk = pytest.importorskip("nltk")
    net = Taxonomy(read_wordnet(write_database(tmp_path / "corpora" / "wordnet")))
    assert net.senses("nothing") == () and net.walk(0) and net == Taxonomy(net.lexicon)
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path)])
    theirs = nltk.corpus.reader.WordNetCorpusReader(nltk.data.find("corpora/wordnet"), None)
    content = net.information_content(COUNTS)
    offsets = [int(name[1:]) for name in net.lexicon.synsets]
    table = {"n": defaultdict(float, zip(offsets, np.exp(-content) * 100, strict=True))}
    if table["n"][0] == 0:
        table["n"][0] = 100.0
    synsets = [theirs.synset_from_pos_and_offset("n", offset) for offset in offsets]
    measures = (measure(net, content=content) for measure in (Resnik, Lin, JiangConrath))
    matrices = [measure.synset_matrix(range(len(offsets))) for measure in measures]
    for i, a in enumerate(synsets):
        for j, b in enumerate(synsets[:i]):
            resnik, lin, distance = (matrix[i, j] for matrix in matrices)
            assert resnik == pytest.approx(a.res_similarity(b, table), abs=1e-9)
            assert lin == pytest.approx(a.lin_similarity(b, table), abs=1e-9)
            if (
                content[i] > 1e-9 and content[j] > 1e-9
            ):  # NLTK gives 0 where a concept carries no information
                assert distance == pytest.approx(1 / a.jcn_similarity(b, table), abs=1e-9)


def test_sentences_average_the_best_senses_and_unknown_words_count(taxonomy):
    critic = HirstStOnge(taxonomy)
    # bank-house: the building, up and down, 5; bank-land: the slope, up, 7; cat-house 3, cat-land 8 - 3 - 1 = 4
    statistics = critic.sufficient_statistics([unit("bank cat", "house land")])
    assert statistics.total("similarity") == pytest.approx((5 + 7 + 3 + 4) / 4)
    statistics = critic.sufficient_statistics([unit("dog zeppelin", "cat")])
    assert (statistics.total("similarity"), statistics.total("unknown")) == (
        pytest.approx(5 / 2),
        1,
    )
    assert critic.sufficient_statistics([unit("zeppelin", "airship")]).total("similarity") == 0


def test_jiang_conrath_is_a_distance_to_the_nearest_sense(taxonomy):
    critic = counted(JiangConrath(taxonomy))
    assert critic.better == "lower"
    slope, land = NAMES.index("slope"), NAMES.index("land")
    expected = critic.content[slope] - critic.content[land]
    assert critic.sufficient_statistics([unit("bank zeppelin", "land")]).total(
        "similarity"
    ) == pytest.approx(expected)
    assert critic.synset_matrix([slope, land])[0, 0] == 0


def test_batches_and_lexicons_in_readouts_change_no_number(taxonomy, monkeypatch):
    units = [unit("dog", "cat"), unit("day", "night"), unit("house", "bank door")]
    whole = unit_scores(HirstStOnge(taxonomy), units)
    monkeypatch.setattr(HirstStOnge, "batch_words", 2)
    sizes = [[len(batch) for batch in nets.batches(units, limit)] for limit in (2, 4, 5)]
    assert sizes == [[1, 1, 1], [2, 1], [2, 1]]
    np.testing.assert_array_equal(unit_scores(HirstStOnge(taxonomy), units), whole)
    predictions = grids_to_predictions([unit("dog", "cat")], taxonomy.lexicon.to_arrays())
    assert (
        unit_scores(wordnet(real=predictions, measure="hirst_st_onge"), [unit("dog", "cat")])[0]
        == 5
    )


def test_a_distance_is_never_best_where_nothing_is_known(taxonomy):
    """Sentences without a known noun have no distance; 0 would call them perfectly coherent."""
    critic = counted(JiangConrath(taxonomy))
    none, some = unit("zzyzx", "qwrt", "zzyzx"), unit("zzyzx", "qwrt dog", "zzyzx cat", "dog")
    statistics = critic.sufficient_statistics([none, some])
    assert statistics.column("excluded").tolist() == [1, 0] and statistics.column(
        "pairs"
    ).tolist() == [0, 2]
    [dog_cat] = critic.synset_matrix([taxonomy.lexicon.noun_senses(w)[0] for w in ("dog", "cat")])[
        0
    ][1:]
    assert unit_scores(critic, [none, some])[1] == pytest.approx(dog_cat)
    assert np.isnan(critic.order_scores(none, np.array([[2, 1, 0]]))).all()
    assert critic.order_scores(some, np.arange(4)[None])[0] == pytest.approx(dog_cat)


def test_a_text_without_a_known_noun_is_set_aside_not_incoherent(taxonomy):
    none, one = unit("zzyzx", "qwrt", "zzyzx"), unit("zzyzx", "dog", "zzyzx")
    orders = np.array([[2, 1, 0]])
    for critic in (LatentSemanticAnalysis(dims=2).fit(REAL), HirstStOnge(taxonomy)):
        statistics = critic.sufficient_statistics([none, one])
        assert statistics.column("excluded").tolist() == [1, 0] and statistics.column(
            "pairs"
        ).tolist() == [0, 2]
        assert np.isnan(unit_scores(critic, [none])[0])
        assert np.isnan(critic.order_scores(none, orders)).all()
        assert unit_scores(critic, [one])[0] == 0  # of the nouns that it knows none comes back


def test_bad_input_is_named(taxonomy):
    refuses("dims", LatentSemanticAnalysis, dims=0)
    refuses("two of each", LatentSemanticAnalysis().fit, [unit("", "")])
    refuses("call fit", LatentSemanticAnalysis().sufficient_statistics, REAL)
    with pytest.raises(TypeError, match="abstract class"):
        unit_scores(AdjacentSimilarity(), REAL)
    refuses("allowed are", fit, world="moon")
    refuses("call fit", Lin(taxonomy).sufficient_statistics, [unit("dog", "cat")])
    refuses("allowed are", wordnet, real=grids_to_predictions([]), measure="wu_palmer")
    refuses("no lexicon", wordnet, real=grids_to_predictions([]), measure="lin")


def test_word_nets_measures_read_plain_texts_and_point_at_pairs(tmp_path):
    """A dog and a puppy are near, a dog and a house far; of a distance large parts are bad."""
    write_lmf(tmp_path / "lexicon.xml")
    text = "The dog was old. The puppy was young. The house was dark."
    for measure, bad, worst in (
        (nets.HirstStOnge(lexicon=tmp_path), "small", "The house was dark."),
        (JiangConrath(lexicon=tmp_path).fit([text, "A cat and a door."]), "large", "The house was dark."),
    ):  # fmt: skip
        found = measure.attribute(text)
        assert found.bad == bad and found.worst(1)[0].text == worst
        assert measure.score([text, "So it goes on."]).excluded == 1
    refuses("no word net; give its folder", nets.Lin().fit, [text])
    refuses("no word net .lexicon.xml", nets.Lin(lexicon=tmp_path / "none").fit, [text])
