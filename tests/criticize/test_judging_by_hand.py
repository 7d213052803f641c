"""One critic over both sides: what it reads, learns from, counts and blames, by hand on a few numbers."""

import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from longform.criticize import judging
from longform.criticize.judging import ComparedTexts, _Fit, worst_places
from longform.criticize.splits import Halves
from longform.critics import EntityGrid
from longform.critics.saving import checksum
from longform.documents import Document, Section
from longform.errors import BadInput
from longform.statistics.comparisons import Comparison
from longform.statistics.sufficient_statistics import SufficientStatistics
from tests.refusals import refuses


def document(name, split="test", text="One two."):
    return Document(name, split, (Section(None, text),))


class Critic:
    """Counts units and says what taught it."""

    better = "lower"
    blame = 1

    def __init__(self, taught=()):
        self.taught = [unit.unit_id for unit in taught]

    def fit(self, units):
        return Critic(units)

    def sufficient_statistics(self, units):
        rows = [(1.0, float(unit.out), 2.0) for unit in units]
        return SufficientStatistics.of(units, ("value", "excluded", "unknown"), rows)

    def score_of(self, statistics):
        return float(len(statistics.unit_ids))


def panel(**fields):
    given = {
        "name": "grid", "absent": "", "learns": "units", "measure": "words", "critic": Critic(),
        "needs": "", "halvings": 2, "spans": None, "unknown": "", "check": None, "reader": None,
    }  # fmt: skip
    return SimpleNamespace(**given | fields)


def unit(name, out=False):
    split = "generated" if name.startswith("generated") else "test"
    return SimpleNamespace(unit_id=name, split=split, out=out)


NAMES = ["real/a", "real/b", "generated/1", "generated/2"]
SOURCES = {"real/a": 0, "real/b": 1, "generated/1": 0, "generated/2": 2}
COPIES = SimpleNamespace(sources=SOURCES, originals={"generated/1": frozenset({0})})
HALF = Halves(frozenset({"real/a"}), frozenset({"real/b"}))


@pytest.mark.parametrize(
    ("worst", "shown"),
    [
        ([1.0, 5.0, 2.0, 6.0], [(6.0, 3), (5.0, 1)]),
        ([9.0, 8.0, 7.0, 6.0, 0.0, 0.0, 0.0, 0.0], [(9.0, 0), (8.0, 1), (7.0, 2)]),
        ([2.0, 2.0], []),
        ([math.nan, 3.0], []),
        ([math.nan, 3.0, 1.0], [(3.0, 1)]),
        ([3.0, 1.0, 2.0], [(3.0, 0)]),
        ([], []),
    ],
)
def test_the_worst_places_are_the_three_above_the_mean(worst, shown):
    spans = [(place, place + 1) for place in range(len(worst) + 1)]
    found = worst_places(np.array(worst), spans)
    assert found == [(value, (place, place + 1)) for value, place in shown]


def test_parts_of_one_place_add_up_and_cells_do_by_sentence():
    assert worst_places(np.array([1.0, 2.0, 2.5]), [(0, 1), (0, 1), (1, 2)]) == [(3.0, (0, 1))]
    cells = np.array([[1.0, np.nan], [2.0, 3.0]])
    assert judging.by_sentence(cells).tolist() == [1.0, 5.0]
    assert judging.by_sentence(cells[1]).tolist() == [2.0, 3.0]


def test_one_halving_judges_what_did_not_teach_and_no_copies_of_what_did():
    fit, judged = judging._fit(panel(), [unit(name) for name in NAMES], HALF, COPIES)
    assert fit.critic.taught == ["real/a"]
    assert [one.unit_id for one in judged] == ["generated/2"]
    assert fit.real.unit_ids == ("source 1",) and fit.generated.unit_ids == ("source 2",)
    nothing = Halves(frozenset(), frozenset({"real/a", "real/b"}))
    fit, judged = judging._fit(panel(learns="nothing"), [unit(n) for n in NAMES], nothing, COPIES)
    assert fit.critic.taught == [] and len(judged) == 2
    assert fit.real.unit_ids == ("source 0", "source 1")


def test_a_side_that_is_all_copies_or_unscored_is_refused():
    units = [unit(name) for name in NAMES]
    copies = "all generated texts are near copies of the real texts that the critic learns from"
    refuses(copies, judging._fit, panel(), units[:3], HALF, COPIES)
    units[1] = unit("real/b", out=True)
    sentence = "1 real text: none could be scored; one needs two titles"
    refuses(sentence, judging._fit, panel(needs="two titles"), units, HALF, COPIES)
    units = [*map(unit, NAMES[:3]), unit("generated/2", out=True)]
    refuses("1 generated text: none could be scored$", judging._fit, panel(), units, HALF, COPIES)


@pytest.fixture
def texts():
    real, generated = (
        [document("real/a"), document("real/b")],
        [document("generated/2", "generated")],
    )
    equal = SimpleNamespace(
        real=real, generated=generated, documents=[*real, *generated], cut=(1, 0)
    )
    return SimpleNamespace(
        real=(document("r"),), generated=(document("g"),), sources=SOURCES, equal={"words": equal}
    )


@pytest.fixture
def judged(monkeypatch, texts):
    """Judges with stand-ins for the halving, the reading and what is said of all halvings."""
    asked = []

    def halves(real, sources, number=0):
        asked.append(("halves", real, number))
        return Halves(frozenset({f"real/{'ab'[number % 2]}"}), frozenset())

    def part(panel, units, half, sources):
        asked.append(("part", units, sorted(half.train), sorted(half.test)))
        if half.train == {panel.fails}:
            raise BadInput(f"no {panel.fails}")
        return SimpleNamespace(critic=sorted(half.train)), [
            unit("generated/2"),
            unit("generated/1"),
        ]

    def blame(panel, fitted, own, compared):
        asked.append(("blame", fitted, [one.unit_id for one in own], sorted(compared)))
        return {"generated/2": fitted}

    def read(panel, documents):
        return [(one.id, one.split) for one in documents]

    monkeypatch.setattr(judging, "halves", halves)
    monkeypatch.setattr(judging, "_fit", part)
    monkeypatch.setattr(judging, "_blame", blame)
    monkeypatch.setattr(judging, "read_units", read)
    monkeypatch.setattr(
        judging, "_combined", lambda panel, parts, blame, *rest: (parts, blame, rest)
    )

    def judge(**fields):
        asked.clear()
        return judging.judge(panel(**{"fails": None} | fields), texts, 7, 11, 13), asked

    return judge


def test_a_critic_that_learns_is_taught_by_each_halving(judged, texts):
    (parts, blame, rest), asked = judged()
    assert [fit.critic for fit in parts] == [["real/a"], ["real/b"]]
    assert blame == {"generated/2": ["real/b"]} and rest == (texts, 7, 11, 13)
    units = [("real/a", "test"), ("real/b", "test"), ("generated/2", "generated")]
    assert asked == [
        ("halves", texts.real, 0), ("part", units, ["real/a"], []),
        ("blame", ["real/a"], ["generated/2", "generated/1"], ["generated/2"]),
        ("halves", texts.real, 1), ("part", units, ["real/b"], []),
        ("blame", ["real/b"], ["generated/1"], ["generated/2"]),
    ]  # fmt: skip


def test_a_critic_that_learns_nothing_is_compared_on_all_real_texts(judged):
    _, asked = judged(learns="nothing", halvings=1)
    assert asked[0][2:] == ([], ["real/a", "real/b"]) and asked[0][0] == "part"


def test_a_critic_that_learns_to_read_reads_again_for_each_halving(judged):
    _, asked = judged(learns="predictions")
    read = [entry[1] for entry in asked if entry[0] == "part"]
    generated = ("generated/2", "generated")
    assert read == [
        [("real/a", "train"), ("real/b", "test"), generated],
        [("real/a", "test"), ("real/b", "train"), generated],
    ]


def test_halvings_that_fail_are_left_out_and_the_first_reason_is_given(judged):
    (parts, *_), _ = judged(fails="real/a")
    assert [fit.critic for fit in parts] == [["real/b"]]
    refuses("^no real/a$", judged, fails="real/a", halvings=1)
    refuses("no text could be read", judged, halvings=0)
    refuses("^no model$", judged, absent="no model")


def test_scores_and_tests_of_halvings_are_put_together(monkeypatch, texts):
    """Two halvings: the mean difference, and twice the smaller p-value (Rüschendorf 1982)."""
    streams, compared = [], []
    tests = iter([Comparison(1.0, 0.01, True, 13), Comparison(3.0, 0.2, False, 13)])

    def compare(fitted, generated, real, rng, permutations, matched):
        compared.append((fitted, generated.unit_ids, real.unit_ids, permutations, matched))
        return next(tests)

    monkeypatch.setattr(judging, "generator", lambda *names: streams.append(names))
    monkeypatch.setattr(
        judging,
        "bootstrap_scores",
        lambda fitted, statistics, rng, count: np.full(count, float(count)),
    )
    monkeypatch.setattr(judging, "compare", compare)
    monkeypatch.setattr(
        judging,
        "estimate_over_halvings",
        lambda sides, draws: ([one[1].unit_ids for one in sides], [len(one) for one in draws]),
    )
    real, generated = (
        Critic().sufficient_statistics([unit(n) for n in names]) for names in (NAMES[:2], NAMES[2:])
    )
    parts = [_Fit("first", real, generated), _Fit("second", real, generated)]
    one = judging._combined(panel(unknown="odd"), parts, {"b": []}, texts, 7, 11, 13)
    assert streams == [
        (7, "criticize", "grid", "real"), (7, "criticize", "grid", "generated"),
        (7, "criticize", "grid", "difference"), (7, "criticize", "grid", 1, "real"),
        (7, "criticize", "grid", 1, "generated"), (7, "criticize", "grid", 1, "difference"),
    ]  # fmt: skip
    assert compared == [
        (name, tuple(NAMES[2:]), tuple(NAMES[:2]), 13, True) for name in ("first", "second")
    ]
    assert one.real == ([tuple(NAMES[:2])] * 2, [11, 11])
    assert one.generated == ([tuple(NAMES[2:])] * 2, [11, 11])
    assert one.difference == Comparison(2.0, pytest.approx(0.02), False, 13)
    assert (one.p_values, one.unknown, one.cut, one.blame) == (
        (0.01, 0.2),
        (4, 4),
        (1, 0),
        {"b": []},
    )
    assert one.words == (2.0, 2.0)


def test_median_lengths_are_words_of_each_side():
    real = [document("a", text="One two three."), document("b", text="One.")]
    equal = SimpleNamespace(real=real, generated=[document("c", text="One two three four.")])
    assert judging._median_lengths(equal) == (2.0, 4.0)


def test_an_estimate_counts_a_text_as_scored_if_any_halving_scored_it(monkeypatch):
    """Scores 2 and 3: a mean of 2.5 over all draws; "b" is scored in the second halving alone."""
    monkeypatch.setattr(judging, "identity_over_halvings", lambda critics: critics[0].name)

    def side(name, *units):
        critic = SimpleNamespace(
            name=name, score_of=lambda statistics: float(len(statistics.unit_ids))
        )
        return critic, Critic().sufficient_statistics([unit(one, out) for one, out in units])

    sides = [
        side("first", ("a", False), ("b", True)),
        side("second", ("b", False), ("c", True), ("a", False)),
    ]
    one = judging.estimate_over_halvings(sides, [np.array([1.0] * 50), np.array([4.0] * 50)])
    assert (one.value, one.low, one.high, one.units, one.excluded) == (2.5, 1.0, 4.0, 2, 1)
    assert one.signature == "first"


def test_an_identity_covers_the_fits_of_all_halvings():
    first, second = (EntityGrid().fit([text]) for text in ("The dog ran.", "A cat sat. A cat ran."))
    assert judging.identity_over_halvings([first]) == first.identity
    names = set()
    for fits in ([first, second], [second, first], [first, first]):
        named = judging.identity_over_halvings(fits)
        head, _, tail = named.rpartition(checksum(tuple(fits)))
        own_head, _, own_tail = fits[0].identity.rpartition(checksum(fits[0]))
        assert (head, tail) == (own_head, own_tail)
        names.add(named)
    assert len(names) == 3


def test_blame_is_the_worst_parts_in_the_critics_direction():
    class Blaming(Critic):
        blame = -1

        def part_values(self, units):
            return [np.array([1.0, -4.0, 2.0]) for _ in units]

    places = panel(spans=lambda document, unit, rows: [(i, i + len(document)) for i in range(3)])
    units = [unit("generated/1"), unit("generated/2", out=True)]
    compared = {"generated/1": "ab", "generated/2": "c"}
    assert judging._blame(places, Blaming(), units, compared) == {
        "generated/1": [(4.0, (1, 3))],
        "generated/2": [],
    }
    assert judging._blame(places, Blaming(), [], compared) == {}
    assert judging._blame(places, Critic(), units, compared) == {}
    assert judging._blame(panel(), Blaming(), units, compared) == {}


def test_copies_are_counted_on_each_side_and_across():
    sources = {"r1": 0, "r2": 0, "r3": 1, "g1": 0, "g2": 0, "g3": 2, "g4": 2, "g5": 2}
    sides = [tuple(document(name) for name in sources if name[0] == side) for side in "rg"]
    originals = {"g1": frozenset({0}), "g2": frozenset({0, 1})}
    assert ComparedTexts(*sides, sources, {}, originals).copies == (1, 3, 2)
    assert ComparedTexts(sides[0], sides[1][2:], sources, {}, originals).copies == (1, 2, 0)


def test_critics_end_with_a_word_a_reason_or_a_failure(capsys):
    def judge_one(one):
        if one.name == "bug":
            raise ValueError("first line\nsecond")
        if one.name == "long":
            raise OSError("a" * 199 + "bc")
        if one.name == "empty":
            raise RuntimeError
        if one.name != "a":
            raise BadInput(f"no {one.name}")
        return "word"

    names = [
        ("a", False),
        ("b", False),
        ("c", True),
        ("bug", False),
        ("empty", False),
        ("long", False),
    ]
    critics = [SimpleNamespace(name=name, required=required) for name, required in names]
    results, left_out, failed = judging.run_critics(critics, judge_one)
    assert (results, left_out) == (["word"], (("b", "no b"),))
    assert failed == (
        ("c", "no c"),
        ("bug", "ValueError: first line (traceback on standard error)"),
        ("empty", "RuntimeError:  (traceback on standard error)"),
        ("long", f"OSError: {'a' * 199}b (traceback on standard error)"),
    )
    assert "ValueError: first line\nsecond" in capsys.readouterr().err


def test_what_was_read_is_checked_where_a_critic_has_a_check():
    checked = []
    one = panel(reader=lambda documents: documents[1:], check=checked.append)
    assert judging.read_units(one, "abc") == "bc" and checked == ["bc"]
    assert judging.read_units(panel(reader=lambda documents: documents), "abc") == "abc"


@pytest.mark.parametrize(
    ("model", "encoder", "orders", "expected"),
    [
        (None, None, False, (None, None, 5, True, True, False)),
        ("none", "none", False, (None, None, 5, False, False, False)),
        ("gpt2", "enc", True, ("named gpt2", Path("enc"), 5, True, True, True)),
    ],
)
def test_a_model_may_be_named_or_left_out(model, encoder, orders, expected, monkeypatch):
    checked = []
    monkeypatch.setattr(judging, "named_model", lambda name: f"named {name}")
    monkeypatch.setattr(judging, "check", checked.append)
    assert judging.options_of(model, encoder, 5, orders) == judging.Options(*expected)
    assert len(checked) == 1
