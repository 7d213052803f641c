"""Texts are compared at equal length, copies are no independent texts, halvings are repeated, and results outlive a stop."""

import json

import numpy as np
import pytest

from longform.cli import main
from longform.criticize import copies, criticize, judging, panels
from longform.criticize.copies import sources
from longform.criticize.cost import announcement
from longform.criticize.judging import ComparedTexts, judge
from longform.criticize.lengths import equal_lengths, length
from longform.criticize.panels import Options
from longform.criticize.splits import combined_p, halves, one_row_per_source
from longform.critics.entity_grid.blocks import BlockedEntityGrid, in_blocks
from longform.critics.entity_grid.score import EntityGrid
from longform.datasets.own_texts import Texts
from longform.documents import Document, Section
from longform.statistics.random_streams import generator
from longform.statistics.sufficient_statistics import SufficientStatistics
from longform.statistics.sum_scored import SumScored
from longform.text.entity_grids import Grid
from longform.text.sentences import sentence_texts
from tests.refusals import refuses

NOUNS = [
    "river",
    "bridge",
    "market",
    "church",
    "school",
    "station",
    "forest",
    "field",
    "tower",
    "library",
    "garden",
    "museum",
    "harbour",
    "castle",
    "road",
]
VERBS = ["saw", "crossed", "built", "left", "found", "passed", "painted", "sold", "kept", "reached"]


def prose(rng, count):
    """Sentences that nobody else wrote."""
    made = []
    for _ in range(count):
        first, second, third = rng.choice(NOUNS, 3, replace=False)
        years = rng.integers(1000, 9999, 3)
        made.append(
            f"In {years[0]} the {first} {rng.choice(VERBS)} the {second} and {years[1]} {third}s for {years[2]}."
        )
    return made


def document(name, sentences, split="test", titles=None):
    """One section a title, the sentences shared among them; without titles one section."""
    groups = np.array_split(sentences, len(titles)) if titles else [sentences]
    sections = [
        Section(title, " ".join(group))
        for title, group in zip(titles or [None], groups, strict=True)
    ]
    return Document(name, split, tuple(sections))


def texts(name, count, size=8, split="test"):
    rng = generator("like with like", name)
    return [document(f"{name}{i}", prose(rng, size), split) for i in range(count)]


@pytest.fixture(autouse=True)
def bare(monkeypatch):
    monkeypatch.setattr(panels, "SMOLLM2", {"package": "no_such_package", "file": "model.gguf"})


def panel(name):
    return {one.name: one for one in panels.panels(Options())}[name]


def test_each_text_is_cut_to_the_length_of_its_rank_on_the_other_side():
    rng = generator("ranks")
    real = [document(f"r{n}", prose(rng, n)) for n in (9, 2, 6)]
    made = [document(f"g{n}", prose(rng, n)) for n in (3, 4, 20)]
    equal = equal_lengths(real, made, "sentences")
    sides = [{d.id: length(d, "sentences") for d in side} for side in (equal.real, equal.generated)]
    assert sides == [{"r9": 9, "r2": 2, "r6": 4}, {"g3": 2, "g4": 4, "g20": 9}]
    assert equal.cut == (1, 2) and not any(excerpt.ends for excerpt in equal.documents)
    for before, after in zip([*real, *made], equal.documents, strict=True):
        assert before.text.startswith(
            after.text
        )  # so that places in the one are places in the other
    words = equal_lengths(real, made, "words")
    assert sorted(length(d, "words") for d in words.real) == sorted(
        length(d, "words") for d in words.generated
    )


def test_texts_of_equal_lengths_stay_whole_in_any_order():
    real, made = texts("a", 5), texts("b", 10)
    equal = equal_lengths(real, made[::-1], "sentences")
    assert [d.text for d in equal.documents] == [d.text for d in [*real, *made[::-1]]]
    assert all(excerpt.ends for excerpt in equal.documents) and equal.cut == (0, 0)


def test_a_text_that_was_cut_has_no_last_section_to_judge():
    """Every real text has the chain a b c; the generated ones stop after a b, as the real ones do once they are cut."""
    rng = generator("chains")
    real = [document(f"r{i}", prose(rng, 6), titles=["a", "b", "c"]) for i in range(12)]
    made = [document(f"g{i}", prose(rng, 4), "generated", titles=["a", "b"]) for i in range(12)]
    found = judge(panel("section order"), ComparedTexts.of([*real, *made]), 1)
    assert found.cut == (12, 0) and found.difference.p_value == 1.0
    assert found.real.value == found.generated.value
    turned = [document(f"g{i}", prose(rng, 4), "generated", titles=["b", "a"]) for i in range(12)]
    assert (
        judge(panel("section order"), ComparedTexts.of([*real, *turned]), 1).difference.p_value
        < 0.01
    )


@pytest.mark.parametrize("name", ["repetition", "shared nouns", "entity grid", "topics"])
def test_shorter_beginnings_of_the_same_kind_of_text_are_no_other_texts(name):
    """Repeated phrases and shared nouns grow with length: later sentences take up earlier ones."""
    rng = generator("growing")
    rows = []
    for _ in range(80):
        made = prose(rng, 8)
        rows.append(made + [f"{' '.join(line.split()[:9])} again." for line in made])
    real = [document(f"r{i}", row) for i, row in enumerate(rows[:40])]
    short = [document(f"g{i}", row[:8], "generated") for i, row in enumerate(rows[40:])]
    found = judge(panel(name), ComparedTexts.of([*real, *short]), 1)
    assert found.difference.p_value > 0.05
    if name == "repetition":  # a third of the words of whole texts
        assert found.real.value < 0.01


def test_a_grid_in_blocks_is_scored_as_its_blocks_are_one_by_one():
    rng = generator("blocks")
    grids = []
    for i, rows in enumerate((3, 9, 12, 8)):
        cells = rng.choice([0, 1, 2, 3, 3, 3, 3], (rows, 6)).astype(np.uint8)
        grids.append(Grid(f"g{i}", "test", tuple("abcdef"), cells))
    grids[3].cells[:4] = 3  # a block without nouns
    units = [in_blocks(grid) for grid in grids]
    fitted = BlockedEntityGrid().fit(units)
    pieces = []
    for grid in grids:
        for first in range(0, len(grid.cells) - 3, 4):
            cells = grid.cells[first : first + 4]
            used = (cells != 3).any(axis=0)
            pieces.append(
                Grid(
                    f"{grid.unit_id}@{first}",
                    "test",
                    tuple(np.array(grid.entities)[used]),
                    cells[:, used],
                )
            )
    alone = EntityGrid().fit(pieces)
    statistics, parts = fitted.sufficient_statistics(units), fitted.part_values(units)
    assert statistics.column("excluded").tolist() == [1, 0, 0, 0]
    for row, grid in enumerate(grids):
        own = alone.part_values(
            [piece for piece in pieces if piece.unit_id.startswith(grid.unit_id)]
        )
        assert statistics.values[row, 0] == pytest.approx(sum(cells.sum() for cells in own))
        assert statistics.values[row, 1] == sum(cells.size for cells in own)
        sums = [cells.sum(axis=1) if cells.size else np.full(4, np.nan) for cells in own]
        np.testing.assert_allclose(parts[row], np.concatenate([np.zeros(0), *sums]))


def test_critics_are_left_out_where_no_halving_has_what_they_need():
    """A check that failed at the first halving was not asked again at the others."""
    real, made = texts("nobody", 20, size=3), texts("nobody here", 20, size=3, split="generated")
    compared = ComparedTexts.of([*real, *made])
    refuses(
        "^0 of 20 real texts mention a person twice; at least 8 are needed$",
        judge,
        panel("persons"),
        compared,
        1,
    )
    refuses(
        "^none of the 10 real texts that teach it has 4 sentences with nouns$",
        judge,
        panel("entity grid"),
        compared,
        1,
    )


def test_copies_are_recognised_shuffled_or_edited_and_others_are_not():
    own = texts("own", 12, size=10)
    rng = generator("shuffle")
    shuffled, edited, half = [], [], []
    for one in own:
        lines = sentence_texts(one.text)
        shuffled.append(document(f"s{one.id}", list(rng.permutation(lines))))
        edited.append(document(f"e{one.id}", [line.replace("the", "a", 1) for line in lines]))
        half.append(document(f"h{one.id}", [*lines[:6], *prose(rng, 4)]))
    for versions in (own, shuffled, edited, half):
        numbers = sources([*own, *versions])
        assert numbers[:12] == numbers[12:] and len(set(numbers)) == 12
    assert len(set(sources([*own, *texts("others", 12, size=10)]))) == 24
    quarter = [document(f"q{d.id}", [*sentence_texts(d.text)[:2], *prose(rng, 8)]) for d in own]
    assert len(set(sources([*own, *quarter]))) == 24


def test_copies_are_found_among_a_sample_of_many_words(monkeypatch):
    own = texts("own", 6, size=40)
    edited = [
        document(f"e{d.id}", [s.replace("the", "a", 1) for s in sentence_texts(d.text)])
        for d in own
    ]
    monkeypatch.setattr(copies, "MOST", 3000)  # of 7,000
    numbers = sources([*own, *edited])
    assert numbers[:6] == numbers[6:] and len(set(numbers)) == 6


def test_time_for_copies_grows_with_texts_and_not_with_pairs():
    phrase = "This page was last changed by somebody on a day that nobody knows."
    many = [document(str(i), [*prose(generator("many", i), 2), phrase]) for i in range(300)]
    paired = []
    alike = copies._alike

    def counted(features, weights):
        found = alike(features, weights)
        paired.append(found.shape[1])
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(copies, "_alike", counted)
        assert len(set(sources(many))) == 300  # a phrase that all share makes no copies
    assert sum(paired) == 0


def test_copies_count_as_one_text():
    statistics = SufficientStatistics(("a", "b", "c", "d"), ("value", "units", "excluded"),
                  np.array([[2, 1, 0], [4, 1, 0], [0, 0, 1], [9, 1, 0]], dtype=float))  # fmt: skip
    merged = one_row_per_source(statistics, {"a": 0, "b": 0, "c": 0, "d": 5})
    assert merged.values.tolist() == [[3, 1, 0], [9, 1, 0]]
    assert one_row_per_source(statistics.take(np.array([2])), {"c": 0}).values.tolist() == [
        [0, 0, 1]
    ]


def test_eight_copies_of_eight_texts_are_eight_texts():
    """Counted as 64, their p-value was below 0.05 in 5 of 15 trials."""
    alarms = 0
    for trial in range(15):
        rng = generator("eight", trial)
        made = [document(f"g{i}", prose(rng, 6), "generated") for i in range(8)]
        copied = [Document(f"{d.id}-{k}", "generated", d.sections) for d in made for k in range(8)]
        real = [document(f"r{i}", prose(rng, 6)) for i in range(24)]
        found = judge(panel("shared nouns"), ComparedTexts.of([*real, *copied]), trial)
        assert found.generated.units == 8
        alarms += found.difference.p_value < 0.05
    assert alarms <= 3  # 5 % of 15 is under 1; more than 3 has probability below 0.006


def test_critics_that_learnt_from_a_text_do_not_judge_its_shuffles():
    seen = []

    class Recording(SumScored, better="higher", divided=("value", "units")):
        def fit(self, real):
            seen.append({unit.unit_id for unit in real})
            return self

        def sufficient_statistics(self, units):
            seen[-1] |= {unit.unit_id for unit in units}
            return SufficientStatistics.of(
                units, ("value", "units", "excluded"), [(1.0, 1, 0)] * len(units)
            )

    real = texts("real", 12)
    made = []
    for one in real:
        lines = generator("turn", one.id).permutation(sentence_texts(one.text))
        made.append(document(f"made {one.id}", list(lines), "generated"))
    recorded = panels.Panel("recorded", "?", list, Recording())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(judging, "identity_over_halvings", lambda _: "recorded")
        judge(recorded, ComparedTexts.of([*real, *made]), 1)
    assert len(seen) == panels.SPLITS
    for half in seen:  # the train half, the other half and the copies of that one
        others = {name for name in half if f"made {name}" in half}
        assert len(others) == 6 and len(half) == 18


def test_shuffled_real_texts_differ_in_order_and_not_in_topics():
    real = texts("real", 40, size=10)
    made = []
    for one in real:
        lines = generator("turn", one.id).permutation(sentence_texts(one.text))
        made.append(document(f"g{one.id}", list(lines), "generated"))
    found = judge(panel("topics"), ComparedTexts.of([*real, *made]), 1)
    assert found.difference.p_value > 0.2


def test_halvings_differ_and_keep_copies_together():
    own = texts("own", 20)
    copied = [Document(f"copy {d.id}", "test", d.sections) for d in own[:5]]
    numbers = {d.id: i for i, d in enumerate(own)} | {
        f"copy {d.id}": i for i, d in enumerate(own[:5])
    }
    found = [halves([*own, *copied], numbers, number) for number in range(5)]
    assert len({half.train for half in found}) == 5
    for half in found:
        assert not half.train & half.test and len(half.train | half.test) == 25
        assert 9 <= len(half.train) <= 12
        assert all((d.id in half.train) == (f"copy {d.id}" in half.train) for d in own[:5])
    refuses("near copies of one", halves, own[:3], dict.fromkeys([d.id for d in own], 0))


def test_the_p_value_of_several_halvings_is_valid_when_dependent():
    assert combined_p([0.04]) == 0.04
    assert combined_p([0.9, 0.01, 0.03, 0.2, 0.02]) == pytest.approx(0.03 * 5 / 3)
    assert combined_p([0.9] * 5) == 1.0
    rng = generator("dependent")
    for weight in (0.0, 0.5, 1.0):  # from independent to equal tests
        shared = rng.random((4000, 1))
        mixed = np.where(rng.random((4000, 5)) < weight, shared, rng.random((4000, 5)))
        assert np.mean([combined_p(row) <= 0.05 for row in mixed]) <= 0.06


def test_the_interval_holds_what_halvings_disagree_about():
    """A critic that gives every text the smallest number that it learnt: within a halving texts do not differ at all."""

    class Least(SumScored, better="higher", divided=("value", "units")):
        least = 0

        def fit(self, real):
            fitted = Least()
            fitted.least = min(len(unit.id) for unit in real)
            return fitted

        def sufficient_statistics(self, units):
            return SufficientStatistics.of(
                units, ("value", "units", "excluded"), [(self.least, 1, 0)] * len(units)
            )

    real = [Document("x" * (i + 3), "test", d.sections) for i, d in enumerate(texts("real", 12))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(judging, "identity_over_halvings", lambda _: "least")
        found = judge(
            panels.Panel("least", "?", list, Least()),
            ComparedTexts.of([*real, *texts("g", 6, split="generated")]),
            1,
        )
    expected = sorted(
        min(len(name) for name in halves(real, {d.id: i for i, d in enumerate(real)}, number).train)
        for number in range(5)
    )
    assert expected[0] < expected[-1]
    assert (found.real.low, found.real.high) == (expected[0], expected[-1])
    assert found.real.value == pytest.approx(np.mean(expected))


def test_lengths_copies_and_languages_are_said():
    real, made = texts("real", 10, size=8), texts("made", 10, size=4)
    copied = [Document(f"c{d.id}", "test", d.sections) for d in made[:3]]
    table = criticize(
        [d.text for d in real], [d.text for d in [*made, *copied]], model="none"
    ).table()
    assert "median length: real 8 sentences (96 words), generated 4 (48)" in table
    assert (
        "compared at equal numbers of words" in table and "10 real and 0 generated texts" in table
    )
    assert (
        "3 generated texts are near copies of other generated ones" in table
        and "English" not in table
    )
    german = [
        "Die Stadt liegt an einem Fluss und hat viele alte Häuser. Im Sommer kommen Menschen aus dem ganzen Land hierher, um "
        f"zu wandern und zu baden. Das Rathaus von {year} ist das älteste Gebäude, das noch steht, und wird gern besucht."
        for year in range(1500, 1510)
    ]
    table = criticize([d.text for d in real], german, model="none").table()
    assert "100% of the generated texts do not look like English" in table
    assert "the sides are in different languages" in table


def test_the_cost_is_said_critic_by_critic_before_any_work(monkeypatch):
    monkeypatch.setattr(panels, "PACES", {"persons": 10.0, "repetition": 1000.0})
    fast = {one.name: one for one in panels.panels(Options())}
    asked = [fast["persons"], fast["repetition"], fast["language model"]]
    sides = [
        Texts(tuple(texts(name, 10, size=size))) for name, size in (("a", 8), ("b", 4))
    ]  # 12 words a sentence
    assert announcement(asked, *sides) == (
        "10 real and 10 generated texts, 960 and 480 words; up to 2 critics, about 2 min on one core: persons 2 min; repetition 1 s"
    )


def test_texts_that_no_critic_can_judge_are_said_to_be_so(capsys):
    table = criticize(
        ["Yes.", "No.", "Well."], ["Maybe.", "Hm."], model="none", encoder="none"
    ).table()
    assert "no critic could judge these texts: nothing is said of a difference" in table
    assert (
        "2 generated texts, 3 and 2 words; up to 8 critics, under 1 s on one core: "
        in capsys.readouterr().err
    )


def test_a_comparison_that_was_stopped_goes_on(tmp_path, monkeypatch, capsys):
    for name in ("real", "made"):
        rows = [json.dumps({"id": d.id, "text": d.text}) for d in texts(name, 8)]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(rows))
    command = [
        "criticize",
        str(tmp_path / "real.jsonl"),
        str(tmp_path / "made.jsonl"),
        "--out",
        str(tmp_path / "out"),
    ]
    seen, stops, judged = [], ["topics"], judging.judge

    def stopped(one, *rest):
        seen.append(one.name)
        if one.name in stops:
            stops.remove(one.name)
            raise KeyboardInterrupt
        return judged(one, *rest)

    monkeypatch.setattr(judging, "judge", stopped)
    assert main(command) == 130
    said = capsys.readouterr().err
    assert (
        said.startswith("8 real and 8 generated texts, 768 and 768 words; up to 8 critics")
        and "goes on from" in said
    )
    kept = [
        json.loads(line)["critic"]
        for line in (tmp_path / "out" / "results.jsonl").read_text().splitlines()
    ]
    assert "repetition" in kept and "topics" not in kept
    seen.clear()
    assert main(command) == 0
    assert (
        "topics" not in kept
        and not set(kept) & set(seen)
        and "repetition" in capsys.readouterr().out
    )
    seen.clear()
    assert main([*command, "--seed", "2"]) == 0
    assert set(kept) <= set(seen)  # nothing of other settings is taken
    fresh = (tmp_path / "out" / "results.md").read_text()
    assert main([*command[:-1], str(tmp_path / "other"), "--seed", "2"]) == 0
    assert (tmp_path / "other" / "results.md").read_text() == fresh
