"""Equal lengths, halves, combined p-values and near copies, by hand on a few texts."""

import hashlib
import math

import numpy as np
import pytest

from longform.criticize import copies, lengths, splits
from longform.documents import Document, Section
from longform.statistics.sufficient_statistics import SufficientStatistics
from tests.refusals import refuses


def text(name, *sections):
    return Document(
        name, "test", tuple(Section(f"t{i}", words) for i, words in enumerate(sections))
    )


LONG = text("long", "One two. Three four five.", "Six. Seven eight.")


@pytest.mark.parametrize(("measure", "size"), [("sections", 2), ("sentences", 4), ("words", 8)])
def test_a_texts_length(measure, size):
    assert lengths.length(LONG, measure) == size


@pytest.mark.parametrize(
    ("measure", "limit", "kept"),
    [
        ("sections", 1, ["One two. Three four five."]),
        ("sentences", 1, ["One two."]),
        ("sentences", 2, ["One two. Three four five."]),
        ("sentences", 3, ["One two. Three four five.", "Six."]),
        ("words", 2, ["One two."]),
        ("words", 5, ["One two. Three four five."]),
        ("words", 6, ["One two. Three four five.", "Six."]),
        ("words", 0, []),
    ],
)
def test_the_beginning_of_a_text_ends_with_a_whole_part(measure, limit, kept):
    made = lengths._beginning(LONG.sections, limit, measure)
    assert [section.text for section in made] == kept
    assert [section.title for section in made] == ["t0", "t1"][: len(kept)]


def test_each_text_is_cut_to_its_counterparts_length():
    real = [text("a", "a b c d"), text("b", "a b")]
    generated = [text("c", "a b c"), text("d", "x y")]
    found = lengths.equal_lengths(real, generated, "words")
    assert [document.text for document in found.real] == ["a b c", "a b"]
    assert [document.text for document in found.generated] == ["a b c", "x y"]
    assert [document.ends for document in found.documents] == [False, True, False, True]
    assert (found.cut, found.measure) == ((1, 0), "words")
    assert [document.id for document in found.documents] == ["a", "b", "c", "d"]


@pytest.mark.parametrize(
    ("words", "note"),
    [
        (
            1,
            " (all sides are cut to the lengths of b, whose texts have a median of 1 words: drop b)",
        ),
        (
            2,
            " (all sides are cut to the lengths of b, whose texts have a median of 2 words: drop b)",
        ),
        (3, ""),
    ],
)
def test_a_reason_names_the_side_whose_texts_are_half_as_long(words, note):
    long, longer = [text("r", "a b c d")], [text("a", "a b c d e")]
    sides = {"real": long, "a": longer, "b": [text("b", "a " * words)]}
    assert lengths.why_short(sides, "words", "drop {}") == note


def test_counterparts_of_sides_of_different_sizes_have_the_same_rank():
    own = np.array([5, 1, 3])
    documents = [text(name, name) for name in "abc"]
    other = np.array([10, 40, 20, 30, 50, 60])
    # shares 1/6, 1/2 and 5/6 of six are places 1, 3 and 5 of the sorted lengths
    assert lengths._counterparts(own, documents, other).tolist() == [60, 20, 40]
    assert lengths._counterparts(own, documents, np.array([7])).tolist() == [7, 7, 7]


def test_texts_of_one_length_stand_in_the_order_of_a_hash_of_their_words():
    documents = [text(name, word) for name, word in (("a", "x"), ("b", "y"), ("c", "z"))]
    digests = [hashlib.blake2b(d.text.encode(), digest_size=8).digest() for d in documents]
    found = lengths._counterparts(np.ones(3), documents, np.array([1, 2, 3])).tolist()
    assert [found[i] for i in np.argsort(np.array([d.hex() for d in digests]))] == [1, 2, 3]


@pytest.mark.parametrize(
    ("p_values", "combined"),
    [
        ([0.03], 0.03), ([0.01, 0.02], 0.02), ([0.01, 0.04, 0.9], 0.06), ([0.5, 0.9, 0.8], 1.0),
        ([0.3, 0.001, 0.03, 0.002, 0.9], 0.05),
    ],
)  # fmt: skip
def test_one_p_value_of_several_is_the_middle_one_times_tests_over_rank(p_values, combined):
    assert splits.combined_p(p_values) == pytest.approx(combined)


def test_the_middle_is_the_mean_of_what_is_finite():
    assert splits.middle([1.0, math.inf, 3.0, math.nan]) == 2.0
    assert math.isnan(splits.middle([math.nan])) and math.isnan(splits.middle([]))


def test_halves_hold_half_of_the_texts_and_copies_together():
    documents = [text(name, name) for name in "abcdef"]
    apart = {name: number for number, name in enumerate("abcdef")}
    found = splits.halves(documents, apart)
    assert len(found.train) == 3 and found.train | found.test == set("abcdef")
    assert not found.train & found.test
    digest = {d.id: hashlib.blake2b(d.text.encode(), digest_size=8).hexdigest() for d in documents}
    assert found.train == set(sorted("abcdef", key=digest.__getitem__)[:3])
    salted = {
        d.id: hashlib.blake2b(("1" + d.text).encode(), digest_size=8).hexdigest() for d in documents
    }
    assert splits.halves(documents, apart, 1).train == set(
        sorted("abcdef", key=salted.__getitem__)[:3]
    )
    together = splits.halves(documents, {**apart, "b": 0, "c": 0})
    assert len({"a", "b", "c"} & together.train) in (0, 3)
    refuses(
        "the 6 real texts are near copies of one",
        splits.halves,
        documents,
        dict.fromkeys("abcdef", 0),
    )
    assert len(splits.halves(documents[:2], apart).train) == 1


def test_a_group_that_is_larger_than_half_may_still_teach():
    documents = [text(name, name) for name in "abc"]
    found = splits.halves(documents, {"a": 0, "b": 0, "c": 1})
    assert {found.train, found.test} == {frozenset("ab"), frozenset("c")}


def statistics(columns, values):
    return SufficientStatistics(tuple("abcd"), columns, np.array(values, dtype=float))


def test_near_copies_are_the_mean_row_of_those_that_could_be_scored():
    sources = {"a": 7, "b": 7, "c": 8, "d": 8}
    values = [[1, 2, 0], [3, 4, 0], [0, 0, 1], [5, 6, 0]]
    found = splits.one_row_per_source(statistics(("x", "y", "excluded"), values), sources)
    assert found.values.tolist() == [[2, 3, 0], [5, 6, 0]] and len(set(found.unit_ids)) == 2
    lost = [[1, 2, 0], [3, 4, 0], [0, 0, 1], [0, 0, 1]]
    found = splits.one_row_per_source(statistics(("x", "y", "excluded"), lost), sources)
    assert found.values.tolist() == [[2, 3, 0], [0, 0, 1]]
    found = splits.one_row_per_source(statistics(("x", "y"), [row[:2] for row in values]), sources)
    assert found.values.tolist() == [[2, 3], [2.5, 3]]


WORDS = [f"w{number}" for number in range(40)]


def sentence(words):
    return " ".join(words) + "."


@pytest.mark.parametrize(("shared", "copy"), [(10, True), (9, False), (20, True), (0, False)])
def test_half_of_the_shorter_texts_sentences_make_a_near_copy(shared, copy):
    first = " ".join(sentence([word, "it"]) for word in WORDS[:20])
    second = " ".join(
        sentence([word, "it"]) for word in [*WORDS[:shared], *WORDS[20 : 40 - shared]]
    )
    numbers = copies.sources([text("a", first), text("b", second)])
    assert (numbers[0] == numbers[1]) is copy


def test_case_and_marks_make_no_other_text_and_empty_ones_are_no_copies():
    numbers = copies.sources(
        [text("a", "One, two."), text("b", "ONE TWO!"), text("c", "three"), text("d", "")]
    )
    assert numbers[0] == numbers[1] and len(set(numbers)) == 3


def test_runs_of_five_words_are_hashed_in_order_and_short_texts_whole():
    run = copies._runs
    words = np.arange(8, dtype=np.uint64)
    assert len(run(words)) == 4 and len(run(words[:5])) == len(run(words[:3])) == 1
    assert len(run(words[:0])) == 0 and len(run(np.zeros(9, dtype=np.uint64))) == 1
    assert set(run(words).tolist()) & set(run(words[1:6]).tolist())
    assert not set(run(words[:5]).tolist()) & set(run(words[:5][::-1]).tolist())


def test_texts_are_alike_by_half_of_the_smaller_weight():
    features = [np.array([1, 2, 3], dtype=np.uint64), np.array([3, 4], dtype=np.uint64)]
    weigh = lambda *rows: [np.array(row) for row in rows]  # noqa: E731
    assert copies._alike(features, weigh([1, 1, 2], [2, 2])).tolist() == [[0], [1]]
    assert copies._alike(features, weigh([1, 1, 1], [1, 2])).tolist() == [[], []]
    chain = [np.array([5], dtype=np.uint64)] * 5
    pairs = copies._alike(chain, weigh(*[[1]] * 5)).T.tolist()
    assert pairs == [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [1, 4], [2, 3], [2, 4], [3, 4]]


MILL = "The old mill stood by a slow river. Nobody had turned its wheel since the war ended."
TOWN = "A baker in the next town sold dark bread. His oven was lit long before the sun rose."
LAKE = "Two boats crossed the frozen lake at noon. Their crews sang until the far shore came."


def test_a_text_that_quotes_two_real_ones_makes_no_copies_of_them():
    real = [text("a", MILL), text("b", TOWN), text("c", LAKE)]
    generated = [text("all", f"{MILL} {TOWN} {LAKE}"), text("own", "Snow fell. It was late.")]
    found = copies.near_copies([real, generated])
    assert found.originals == {"all": frozenset({0, 1, 2})}
    assert found.sources == {"a": 0, "b": 1, "c": 2, "all": 0, "own": 3}


def test_two_texts_that_copy_one_real_text_share_no_source():
    first, second = MILL.split(". ")
    real = [text("a", MILL), text("b", MILL), text("c", TOWN)]
    generated = [text("x", first), text("y", second), text("z", LAKE), text("w", LAKE)]
    found = copies.near_copies([real, generated])
    assert found.originals == {"x": frozenset({0}), "y": frozenset({0})}
    assert found.sources == {"a": 0, "b": 0, "c": 1, "x": 0, "y": 2, "z": 3, "w": 3}


def test_versions_of_two_systems_share_a_source_that_is_not_real_text():
    sides = [[text("a", MILL)], [text("x", LAKE), text("y", MILL)], [text("z", LAKE)]]
    found = copies.near_copies(sides)
    assert found.originals == {"y": frozenset({0})}
    assert found.sources == {"a": 0, "x": 1, "y": 0, "z": 1}


def test_a_text_is_set_against_the_last_three_that_share_a_feature():
    earlier = [np.array([7], dtype=np.uint64)] * 4
    later = [np.array([7], dtype=np.uint64), np.array([8], dtype=np.uint64)]
    one = np.ones(1, dtype=np.int64)
    pairs = copies._alike_of_sides(earlier, [one] * 4, later, [one] * 2)
    assert sorted(pairs.T.tolist()) == [[1, 0], [2, 0], [3, 0]]
