"""Pages, lines and verdicts of a fact checker, by hand and by brute force on a few words."""

import math
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest

from longform.critics.verifiability import checker, read
from longform.critics.verifiability.checker import (
    Bm25Lines,
    Checker,
    PageIndex,
    TitlesAndBm25,
    Verdict,
    frozen,
    verdict,
)
from longform.critics.verifiability.read import (
    Claim,
    Continuation,
    PageSimilarity,
    Readers,
    claims_of,
)
from longform.datasets.fever import FeverClaim
from longform.documents import Document, Section
from longform.errors import ConfigError

LINES = [("X", 0), ("X", 1), ("Y", 0)]


@pytest.mark.parametrize(
    ("rows", "label", "line", "conflict"),
    [
        ([[0.6, 0.1, 0.3], [0.7, 0.1, 0.2], [0.2, 0.2, 0.6]], "supported", 1, False),
        ([[0.2, 0.6, 0.2], [0.3, 0.5, 0.2], [0.2, 0.2, 0.6]], "refuted", 0, False),
        ([[0.5, 0.1, 0.4], [0.1, 0.1, 0.8], [0.1, 0.1, 0.8]], "supported", 0, False),
        ([[0.49, 0.1, 0.4], [0.1, 0.1, 0.8], [0.1, 0.1, 0.8]], "not_enough_info", None, False),
        ([[0.1, 0.5, 0.4], [0.1, 0.1, 0.8], [0.1, 0.1, 0.8]], "refuted", 0, False),
        ([[0.9, 0.1, 0.0], [0.1, 0.5, 0.4], [0.1, 0.1, 0.8]], "not_enough_info", None, True),
        ([[0.9, 0.1, 0.0], [0.1, 0.49, 0.4], [0.1, 0.1, 0.8]], "supported", 0, False),
        ([[0.6, 0.1, 0.3], [0.6, 0.1, 0.3], [0.1, 0.1, 0.8]], "supported", 0, False),
    ],
)  # fmt: skip
def test_a_verdict_is_the_surest_lines_unless_two_conflict(rows, label, line, conflict):
    rows = np.array(rows)
    found = verdict(LINES, rows)
    assert (found.label, found.conflict, found.lines) == (label, conflict, tuple(LINES))
    assert found.evidence == (frozenset() if line is None else {LINES[line]})
    assert (found.support, found.refutation) == (rows[:, 0].max(), rows[:, 1].max())


def test_a_verdict_may_ask_for_more_and_of_no_line_is_none():
    rows = np.array([[0.6, 0.1, 0.3]])
    assert verdict(LINES[:1], rows, 0.6).label == "supported"
    assert verdict(LINES[:1], rows, 0.61).label == "not_enough_info"
    assert verdict([], np.zeros((0, 3))) == Verdict(
        "not_enough_info", frozenset(), 0.0, 0.0, (), False
    )


def test_claims_are_judged_once_and_all_pairs_together():
    asked = []

    class Judge:
        def probabilities(self, pairs):
            asked.append([(pair.claim, pair.title, pair.sentence) for pair in pairs])
            return np.array(
                [[0.9, 0.1, 0.0] if pair.claim == "a" else [0.1, 0.9, 0.0] for pair in pairs]
            )

    pages = {"X": ["x0", "x1"], "Y": ["y0"]}
    lines = {"a": LINES[:2], "b": LINES[2:], "c": []}
    one = Checker(pages, lines.__getitem__, Judge(), {"sure": 0.5})
    found = one.check(["a", "c", "b", "a"])
    assert [each.label for each in found] == [
        "supported",
        "not_enough_info",
        "refuted",
        "supported",
    ]
    assert asked == [[("a", "X", "x0"), ("a", "X", "x1"), ("b", "Y", "y0")]]
    assert found[2].evidence == {("Y", 0)} and found[0] is found[3]
    assert one.check(["b"]) == [found[2]]
    assert one.check(["c"])
    assert one.check([]) == []
    assert len(asked) == 1


@pytest.mark.parametrize(
    ("scores", "limit", "best"),
    [
        ([0.0, 2.0, 1.0, 2.0], 2, [1, 3]),
        ([0.0, -1.0], 2, []),
        ([1.0, 2.0, 3.0], 1, [2]),
        ([0.5, 0.5], 5, [0, 1]),
    ],
)
def test_the_best_are_positive_and_the_first_wins_a_tie(scores, limit, best):
    assert checker._best(np.array(scores), limit) == best


PAGES = {
    "Ulm": ("Ulm is a town on a river.", "", "The river is long."),
    "Ulm Minster": ("Ulm Minster is a church in Ulm.", "It is tall."),
    "Quen (town)": ("Quen is a town.", "Quen lies on a long river."),
    "Tall": ("Tall people are tall.",),
    "River": ("A river is long and a town is not.",),
}


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    return frozen(tmp_path_factory.mktemp("pages"), PAGES.items())


def bm25(query, texts):
    """Robertson and Zaragoza 2009 in Lucene's form: k1 and b as the checker has them."""
    documents = [checker.words(text) for text in texts]
    mean = sum(map(len, documents)) / len(documents)
    scores = []
    for document in documents:
        score = 0.0
        for word in query:
            have = sum(word in other for other in documents)
            times = document.count(word)
            idf = math.log(1 + (len(documents) - have + 0.5) / (have + 0.5))
            score += (
                idf
                * times
                / (times + checker.K1 * (1 - checker.B + checker.B * len(document) / mean))
            )
        scores.append(score)
    return scores


@pytest.mark.parametrize("few", [0, 10_000])
@pytest.mark.parametrize("limit", [1, 2, 5])
@pytest.mark.parametrize(
    "claim",
    ["tall church", "the long river of a town", "river river town", "nothing", "ulm is tall"],
)
def test_pages_are_those_of_the_highest_sums_whatever_is_skipped(
    claim, limit, few, pages, monkeypatch
):
    monkeypatch.setattr(checker, "FEW", few)
    texts = [f"{title} {' '.join(lines)}" for title, lines in PAGES.items()]
    query = checker.words(claim)
    scores = bm25(query, texts)
    order = sorted(
        (i for i, score in enumerate(scores) if score > 0), key=lambda i: (-round(scores[i], 5), i)
    )
    assert PageIndex(pages.folder).best(query, limit) == order[:limit]


def test_an_index_written_in_parts_is_the_one_written_at_once(tmp_path, monkeypatch):
    whole = frozen(tmp_path / "whole", PAGES.items())
    monkeypatch.setattr(checker, "PART", 2)
    parts = frozen(tmp_path / "parts", PAGES.items())
    for name in PageIndex.FILES:
        assert (parts.folder / name).read_bytes() == (whole.folder / name).read_bytes()
    assert not list(parts.folder.glob("*.partial"))


@pytest.mark.parametrize(
    ("claim", "limit", "titles"),
    [
        ("Ulm Minster is in Ulm.", 2, ["Ulm Minster", "Ulm"]),
        ("Ulm Minster is tall.", 7, ["Ulm Minster", "Tall", "Ulm"]),
        ("Quen is old.", 1, ["Quen (town)"]),
        ("The river of Quen", 2, ["River", "Quen (town)"]),
        ("Nothing here.", 7, []),
        ("Ulm Minster, Ulm, River", 1, ["Ulm Minster"]),
        ("It is Ulm’s.", 7, ["Ulm"]),
    ],
)
def test_titles_in_a_claim_come_first_and_the_longest_of_them(claim, limit, titles, pages):
    assert TitlesAndBm25(pages, limit).pages_for(claim)[: len(titles)] == titles


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Paris's mayor, the King’s son's", ["paris", "mayor", "the", "king", "son"]),
        ("It's 3,000.5 m; O'Neill, 's", ["it", "3,000.5", "m", "o'neill", "s"]),
        ("Cafe\u0301 and CAF\u00c9", ["caf\u00e9", "and", "caf\u00e9"]),
    ],
)
def test_words_lose_the_possessive_and_have_composed_accents(text, words):
    assert checker.words(text) == words


def test_pages_and_lines_are_seven_and_five_and_a_title_has_twelve_words(pages):
    assert (TitlesAndBm25(pages).limit, Bm25Lines(PAGES).limit, checker.LONGEST_TITLE) == (7, 5, 12)
    none = TitlesAndBm25(pages)
    assert all(
        set(checker._title_words(title)) <= {"a", "tall", "church"}
        for title in none.pages_for("a tall church")
    )


def test_lines_are_read_behind_their_title_and_the_best_first():
    lines = Bm25Lines(PAGES, 2)
    rows = [("Ulm", 0), ("Ulm", 2), ("Tall", 0)]
    texts = [f"{title} {PAGES[title][number]}" for title, number in rows]
    scores = bm25(checker.words("the long river"), texts)
    expected = [rows[i] for i in sorted(range(3), key=lambda i: -scores[i]) if scores[i] > 0]
    assert lines.lines_for("the long river", ["Ulm", "Nowhere", "Tall"]) == expected[:2]
    assert lines.lines_for("the long river", ["Nowhere"]) == [] == lines.lines_for("zebra", ["Ulm"])
    assert lines.lines_for("", ["Ulm"]) == []


def test_indices_of_lines_are_kept_until_there_are_a_thousand(monkeypatch):
    monkeypatch.setattr(checker, "CACHED_INDICES", 2)
    lines = Bm25Lines(PAGES)
    first = lines._index_of(("Ulm",))
    assert lines._index_of(("Ulm",)) is first
    assert lines._index_of(("Tall",))
    assert len(lines._indices) == 2
    lines._index_of(("River",))
    assert list(lines._indices) == [("River",)]


def test_only_limits_may_be_set_of_what_finds_lines(pages):
    find = checker.selector(pages, {"retrieval": {"limit": 1}, "selection": {"limit": 1}})
    assert find("Ulm: the river is long") == [("Ulm", 2)]
    for part in ("retrieval", "selection"):
        settings = {"retrieval": {}, "selection": {}} | {part: {"depth": 1}}
        with pytest.raises(ConfigError, match=f"{part} has unexpected keyword .'depth'."):
            checker.selector(pages, settings)


# -- claims --


@pytest.mark.parametrize(
    ("sentence", "resolved", "count"),
    [
        ("He ran.", "Ann ran.", 1), ("His dog ran.", "Ann's dog ran.", 1), ("Her dog ran.", "Ann's dog ran.", 1),
        ("Her.", "Ann.", 1), ("Ran he.", "Ran he.", 0), ("", "", 0), ("It is his.", "Ann is his.", 1),
        ("They saw them.", "Ann saw them.", 1), ("Her dog", "Ann's dog", 1),
    ],
)  # fmt: skip
def test_an_opening_pronoun_is_replaced_by_the_title(sentence, resolved, count):
    assert read.replace_pronoun(sentence, "Ann") == (resolved, count)


@pytest.mark.parametrize(
    ("sentence", "renamed"),
    [
        ("The town is old.", "Ulm is old."), ("the town is old.", "Ulm is old."), ("The Town is old.", None),
        ("A town is old.", None), ("The", None), ("The town", "Ulm"),
    ],
)  # fmt: skip
def test_the_and_a_common_noun_are_replaced_by_the_title(sentence, renamed):
    assert read.replace_determiner(sentence, "Ulm") == renamed


def test_claims_are_the_first_five_sentences_of_at_most_fifty_words():
    long = " ".join(["word"] * 50)
    text = f'He ran.| |The town is old|{long}|{long} more|"Yes."|Sixth.'
    found = claims_of(text, "Ulm", lambda text: text.split("|"))
    assert [one.source for one in found] == [
        "He ran.",
        "The town is old",
        long,
        f"{long} more",
        '"Yes."',
    ]
    assert [one.text for one in found[:2]] == ["Ulm ran.", "Ulm is old"]
    assert [one.verifiable for one in found] == [True, True, True, False, True]
    assert [one.named for one in found] == [False, True, False, False, False]
    assert [one.pronouns for one in found] == [1, 0, 0, 0, 0]
    assert [one.cut for one in found] == [False, True, True, True, False]


def similarity(text, title, pages):
    """The formula, word by word and pair by pair."""
    grams = {
        name: Counter(read.text_measures.grams(" ".join(lines))) for name, lines in pages.items()
    }
    total = 0.0
    for gram, times in Counter(read.text_measures.grams(text)).items():
        have = sum(gram in own for own in grams.values())
        idf = max(0.0, math.log((len(pages) - have + 0.5) / (have + 0.5)))
        total += math.log(1 + times) * idf * math.log(1 + grams[title][gram]) * idf
    return total


def test_similarity_is_its_formula_and_zero_without_a_page():
    text = "Ulm Minster is tall and Ulm Minster is old"
    measure = PageSimilarity(PAGES, frozenset(read.text_measures.grams(text)))
    for title in PAGES:
        assert measure.score(text, title) == pytest.approx(similarity(text, title, PAGES))
    assert measure.score(text, "Nowhere") == 0.0 and measure.score(text, "Ulm Minster") > 1


class Judge:
    """Supports what is true."""

    pages = {"X": ["x0", "x1"]}

    def __init__(self):
        self.asked = []

    def check(self, claims):
        self.asked.append(list(claims))
        made = []
        for claim in claims:
            label = "supported" if "true" in claim else "refuted"
            made.append(
                Verdict(label, frozenset([("X", 1)]), 0.75, 0.25, (("X", 1), ("X", 0)), False)
            )
        return made


def claim(text, source=None, verifiable=True, cut=False):
    return Claim(text, source or text, verifiable, False, 1, cut)


def continuation(*claims, setting="beam", prefix_tokens=2):
    truth = {
        "setting": setting, "page": "p", "repeat": 3, "prefix_nats": -4.0, "prefix_tokens": prefix_tokens,
        "token_nats": np.array([-1.0, -2.0]), "token_marks": np.array([1, 1]), "token": np.array([1, 2]),
        "reference": np.array([9]),
    }  # fmt: skip
    return Continuation(Document("d", "generated", ()), "X", "all the text", list(claims), truth)


@pytest.fixture
def readers(monkeypatch):
    given = []

    def mean_nats(sources, nats, marks):
        given.append((list(sources), nats, marks))
        return [-1.5] * len(sources)

    monkeypatch.setattr(read.text_measures, "mean_nats", mean_nats)
    similarity = SimpleNamespace(
        score=lambda text, title: float(len(text)) if title == "X" else -1.0
    )
    exact = lambda text: ("supported", frozenset([("X", 0 if "0" in text else 5)]))  # noqa: E731
    return Readers(Judge(), exact, similarity, lambda sentence: 1.0), given


def test_a_generation_is_read_sentence_by_sentence(readers):
    """Two equal sentences, and one that cannot be verified, of which nothing is known."""
    reader, given = readers
    claims = [
        claim("true 0", "It is."),
        claim("false", "Ann and Bob."),
        claim("long", "It is.", verifiable=False, cut=True),
    ]
    unit = reader.read(continuation(*claims))
    assert reader.checker.asked == [["true 0"], ["false"]]
    assert unit.checks.labels == ("supported", "refuted", "not_enough_info")
    assert unit.truth.labels == ("supported", "supported", "not_enough_info")
    assert unit.checks.evidence[0] == {("X", 1)} and unit.checks.evidence[2] == frozenset()
    assert unit.texts == ("true 0", "false", "long") and unit.lines == (
        "X: x1 X: x0",
        "X: x1 X: x0",
        "",
    )
    columns = {
        name: unit.column(name).tolist()
        for name in ("words", "same_as", "cut", "pronouns", "tfidf", "support", "linked")
    }
    assert columns == {
        "words": [2, 3, 2], "same_as": [0, 1, 0], "cut": [0, 0, 1], "pronouns": [1, 1, 1], "tfidf": [6, 12, 6],
        "support": [0.75, 0.75, 0], "linked": [1, 1, 1],
    }  # fmt: skip
    found = unit.column("found")
    assert found[:2].tolist() == [1.0, 0.0] and math.isnan(found[2])
    assert unit.column("nats").tolist() == [-1.5] * 3 and given == [
        (["It is.", "Ann and Bob.", "It is."], [-1.0, -2.0], [1, 1])
    ]
    assert unit.about.tolist() == [pytest.approx(math.exp(2.0)), 12.0, 3.0]
    assert (unit.setting, unit.page) == ("beam", "p")


def test_a_persons_first_sentence_is_the_prefix_which_no_model_wrote(readers):
    reader, given = readers
    plain = Readers(reader.checker, None, reader.similarity, reader.links)
    unit = plain.read(
        continuation(
            claim("true", "First."), claim("true", "Second."), setting="human", prefix_tokens=0
        )
    )
    assert unit.truth is None and math.isnan(unit.column("nats")[0]) and given[0][0] == ["Second."]
    assert math.isnan(unit.about[0]) and np.isnan(unit.column("found")).all()
    plain.read(continuation(setting="human"))
    assert given[1][0] == []


def test_a_known_claim_is_a_generation_of_one_sentence():
    one = FeverClaim("7", "Ulm is old.", "refuted", (("X", 0), ("X", 1)))
    given = Verdict("supported", frozenset([("X", 1)]), 0.75, 0.25, (("X", 1), ("X", 0)), False)
    unit = read._checked_claim(one, "test", given)
    assert (unit.unit_id, unit.setting, unit.page, unit.split) == (
        "claim:7",
        "claims",
        "claim:7",
        "test",
    )
    assert unit.checks.labels == ("supported",) and unit.truth.labels == ("refuted",)
    assert unit.column("found").tolist() == [1.0] and unit.column("words").tolist() == [3.0]
    assert unit.truth.evidence == (frozenset(one.evidence),) and np.isnan(unit.about).all()
    part = Verdict("supported", frozenset([("X", 1)]), 0.75, 0.25, (("X", 1),), False)
    assert read._checked_claim(one, "test", part).column("found").tolist() == [0.0]
    nothing = FeverClaim("7", "Ulm.", "not_enough_info", ())
    assert math.isnan(read._checked_claim(nothing, "test", part).column("found")[0])


def test_texts_are_claims_about_their_first_title():
    judge = Judge()
    documents = [
        Document("a", "test", (Section("Ulm", "It is true. It is not."),)),
        Document("b", "test", (Section(None, " ".join(["word"] * 51) + "."),)),
    ]
    first, second = read.text_verdicts(documents, judge, "full_stops")
    assert [one.text for one, _ in first] == ["Ulm is true.", "Ulm is not."]
    assert [each.label for _, each in first] == ["supported", "refuted"]
    assert [each for _, each in second] == [Verdict()] and judge.asked[0] == [
        "Ulm is true.",
        "Ulm is not.",
    ]


def test_claims_of_some_splits_are_read(monkeypatch):
    claims = [
        (SimpleNamespace(split=split), FeverClaim(split, f"{split} true", "supported", ()))
        for split in ("train", "test")
    ]
    monkeypatch.setattr(read, "known_claims", lambda documents: claims)
    monkeypatch.setattr(read, "open_checker", lambda reader: Judge())
    monkeypatch.setattr(
        read, "generations_to_predictions", lambda units: [unit.unit_id for unit in units]
    )
    assert read.read_claims(documents=[], reader="r", name="n") == ["claim:test"]
    assert read.read_claims(documents=[], reader="r", name="n", splits=["train", "test"]) == [
        "claim:train",
        "claim:test",
    ]
    with pytest.raises(read.InputError, match=r"infer n: no claims in splits \['validation'\]"):
        read.read_claims(documents=[], reader="r", name="n", splits=["validation"])


@pytest.mark.parametrize(
    ("setting", "text", "expected"),
    [
        ("beam", " It is.", "It is."),
        ("human", "It is.", "First. It is."),
        ("human", "\nIt is.", "First.\n\nIt is."),
    ],
)
def test_peoples_text_begins_with_the_sentence_that_models_were_given(setting, text, expected):
    document = Document(
        "d",
        "generated",
        (Section("Ulm", "First."), Section("continuation", text), Section("reference", "x")),
    )
    made = read._continuation(document, {"setting": setting}, "n", "full_stops")
    assert made.text.strip() == expected
    assert made.title == "Ulm"
    assert made.by_human is (setting == "human")
    with pytest.raises(read.InputError, match="document 'd' has no continuation"):
        read._continuation(
            Document("d", "generated", document.sections[::2]),
            {"setting": setting},
            "n",
            "full_stops",
        )
