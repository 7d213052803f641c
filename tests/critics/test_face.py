"""A critic on plain texts: it learns, scores, compares, points at parts, and is saved and loaded."""

import json
import subprocess
import sys
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas
import pytest

import longform
from longform.cli import main
from longform.critics import EntityGrid, GridRanker
from longform.critics.base import TextCritic
from longform.critics.catalogue import CATALOGUE, CLASSES
from longform.documents import Document, Section, Unit
from longform.errors import ArtefactError, ConfigError, InputError
from longform.examples import machine_articles, real_articles
from longform.files.artefacts import read_arrays, write_arrays
from longform.statistics.signatures import FITTED, READING, signature
from longform.statistics.sufficient_statistics import SufficientStatistics
from tests.refusals import refuses

TEXTS = ["a bb", "ccc dd", "e", "", "ffff"]  # words of 1, 2, 3, 2, 1 and 4 letters: a mean of 13/6


@dataclass(frozen=True)
class Words(Unit):
    lengths: tuple[int, ...]


@dataclass(frozen=True)
class WordLength(
    TextCritic,
    better="higher",
    divided=("letters", "words"),
    parts="words",
    blame=-1,
    needs="a word",
    recorded_as="OldName",
):
    """Mean length of words beyond that of the shortest word of real texts."""

    factor: float = 1.0
    fold: bool = field(default=False, kw_only=True, metadata=READING)
    shortest: np.ndarray = field(default_factory=lambda: np.zeros(1), repr=False, metadata=FITTED)

    def read_texts(self, documents):
        units = []
        for document in documents:
            lengths = tuple(len(word) for word in document.text.split())
            units.append(Words(document.id, document.split, lengths))
        return units

    def spans(self, document, unit, values):
        starts, place = [], 0
        for word in document.text.split():
            place = document.text.index(word, place)
            starts.append((place, place + len(word)))
            place += len(word)
        return starts

    def fit_units(self, real):
        lengths = [length for unit in real for length in unit.lengths]
        return replace(self, shortest=np.array([min(lengths)], dtype=np.float64))

    def part_values(self, units):
        return [self.factor * (np.array(u.lengths, dtype=float) - self.shortest) for u in units]

    def sufficient_statistics(self, units):
        rows = [(v.sum(), len(v), not len(v)) for v in self.part_values(units)]
        return SufficientStatistics.of(units, ("letters", "words", "excluded"), rows)


def refuses_as(kind, sentence, call, *given, **settings):
    with pytest.raises(kind, match=sentence):
        call(*given, **settings)


def named(name, text):
    return Document(name, "test", (Section(None, text),))


def test_a_score_is_of_all_texts_with_a_word_and_counts_the_others():
    found = WordLength().score(TEXTS)
    assert found.value == pytest.approx(13 / 6) and (found.units, found.excluded) == (4, 1)
    assert 1 <= found.low < found.value < found.high <= 4 and found.better == "higher"
    assert found == WordLength().score(TEXTS) != WordLength().score(TEXTS, seed=1)
    alone = WordLength().score(["aa b"])
    assert alone.value == 1.5 and np.isnan(alone.low) and np.isnan(alone.high)


def test_texts_documents_records_files_and_units_score_alike(tmp_path):
    critic, wanted = WordLength(), WordLength().score(TEXTS).value
    units = critic.read_texts([named(str(i), text) for i, text in enumerate(TEXTS)])
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"text": t}) + "\n" for t in TEXTS))
    for texts in (
        tuple(TEXTS),
        (text for text in TEXTS),
        [named(str(i), text) for i, text in enumerate(TEXTS)],
        [{"text": text, "id": f"n{i}"} for i, text in enumerate(TEXTS)],
        [{"sections": [{"title": None, "text": text}]} for text in TEXTS],
        tmp_path / "a.jsonl",
        units,
    ):
        assert critic.score(texts).value == wanted


def test_fitting_changes_a_copy_and_the_checksum_alone():
    critic = WordLength()
    fitted = critic.fit(["ccc dd"])
    assert critic.score(TEXTS).value == pytest.approx(13 / 6)
    assert fitted.score(TEXTS).value == pytest.approx(13 / 6 - 2)
    (settings, learnt, version), (same, other, _) = (
        one.identity.split("|") for one in (fitted, critic.fit(["ccc"]))
    )
    assert settings == same == "WordLength(factor=1.0,fold=False)" and learnt != other
    assert version == f"longform:{longform.__version__}"
    assert signature(fitted) == "OldName(factor=1.0)"  # as committed records have it


def test_a_difference_of_plain_texts_is_unpaired_unless_said_so():
    worse = [text[:-1] for text in ("aa", "bbb", "cccc", "ddddd", "eeeeee", "fffffff")]
    better = [text + "x" for text in worse]
    found = WordLength().compare(better, worse)
    assert not found.paired and found.difference == pytest.approx(1) and found.low < 0 < found.high
    assert (found.first.value, found.second.value) == pytest.approx((4.5, 3.5))
    pairs = WordLength().compare(better, worse, paired=True, permutations=20_000)
    assert pairs.paired and (pairs.low, pairs.high) == pytest.approx((1, 1))
    assert pairs.p_value == pytest.approx(2 / 64, abs=0.01)  # all six signs alike
    sides = [[named(f"d{i}", text) for i, text in enumerate(side)] for side in (better, worse)]
    assert WordLength().compare(*sides).paired
    assert not WordLength().compare(*sides, paired=False).paired
    refuses("6 and 2 texts are no pairs", WordLength().compare, better, worse[:2], paired=True)


def test_texts_without_ids_of_their_own_are_no_pairs_in_any_form(tmp_path):
    """A column, records, a generator or a file number their texts; equal numbers mean nothing."""
    better = ["aaa", "bbbb", "ccccc", "dddddd"]
    worse = [text[:-1] for text in better]
    for form in (pandas.Series, np.array, iter, records, partial(jsonl, tmp_path)):
        found = WordLength().compare(form(better), form(worse))
        assert not found.paired and found.difference == pytest.approx(1), form
    assert WordLength().compare(records(better), records(worse), paired=True).paired
    named_records = [
        [record | {"id": record["text"][0]} for record in records(side)] for side in (better, worse)
    ]
    assert WordLength().compare(*named_records).paired


def records(texts):
    return [{"text": text} for text in texts]


def jsonl(folder, texts):
    path = folder / f"{texts[0]}.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records(texts)))
    return path


def test_parts_have_their_place_their_words_and_what_they_add():
    found = WordLength().attribute("ccc  a dd")
    assert [(p.text, p.start, p.end, p.value) for p in found.parts] == [
        ("ccc", 0, 3, 3.0),
        ("a", 5, 6, 1.0),
        ("dd", 7, 9, 2.0),
    ]
    assert found.value == 2 and [part.text for part in found.worst(2)] == ["a", "dd"]
    assert list(found.to_frame()["text"]) == ["ccc", "a", "dd"]


@pytest.mark.parametrize(
    "name",
    [
        "code_mixing",
        "entity_grid",
        "entity_grid_in_blocks",
        "grid_ranker",
        "language_dispersion",
        "repetition",
        "section_order",
        "shared_nouns",
    ],
)
def test_a_text_that_cannot_be_scored_has_no_value_and_no_part(name):
    critic = longform.load(name).fit(real_articles()[:3])
    attribution = critic.attribute("So it was.")
    assert np.isnan(attribution.value) and attribution.parts == ()


def test_answers_are_data_frames_of_one_row():
    row = WordLength().compare(TEXTS, ["a"]).to_frame()
    assert len(row) == 1 and row["second"][0] == 1.0 and row["first"][0] == pytest.approx(13 / 6)
    assert WordLength().score(TEXTS).to_frame()["units"][0] == 4


def test_what_is_no_list_of_texts_is_refused_in_a_sentence():
    critic = WordLength()
    for texts, sentence in (
        ("one text", "got one text, 'one text'; give a list of texts"),
        ([], "got no texts; give at least one"),
        (["", " "], "2 texts without a word in any"),
        ([3], "text 1: int, not a text"),
        (3, "got int; give a list of texts"),
        (named("a", "b"), "got Document; give a list of texts"),
        ({"text": "a"}, "got dict; give a list of texts"),
        (pandas.DataFrame({"id": [1], "text": ["a b"]}), "frame.NAME. with one of 'id', 'text'"),
        ({"a b", "c"}, "got a set, whose order changes from run to run"),
        ([{"words": "a"}], "text 1: neither 'text' nor 'sections'"),
    ):
        for method in (critic.fit, critic.score):
            refuses_as(InputError, f"WordLength: .*{sentence}", method, texts)
    refuses_as(InputError, "give one text at a time", critic.attribute, TEXTS)
    grid = EntityGrid().fit(real_articles())
    sentence = "1 text, none could be scored; a text needs a sentence with a noun"
    refuses_as(InputError, sentence, grid.score, ["And so it goes."])
    refuses_as(InputError, "not fitted yet", EntityGrid().score, TEXTS)


def test_a_saved_critic_scores_as_before_and_damage_is_noticed(tmp_path):
    critic, file = EntityGrid(history=2).fit(real_articles()), tmp_path / "grid.npz"
    critic.save(file)
    for loaded in (EntityGrid.load(file), longform.load(file), longform.load(str(file))):
        assert loaded.identity == critic.identity and loaded.history == 2
        assert loaded.score(machine_articles()) == critic.score(machine_articles())
    refuses_as(InputError, "holds a EntityGrid, not a GridRanker", GridRanker.load, file)
    arrays = read_arrays(file)
    numbers = next(name for name in arrays if name.startswith("array_"))
    write_arrays(file, {**arrays, numbers: arrays[numbers] * 1.001})
    refuses_as(ArtefactError, "its checksum is .*, not", longform.load, file)
    write_arrays(file, {"values": np.zeros(3)})
    refuses_as(ArtefactError, "holds no critic", longform.load, file)


def test_a_saved_critic_may_name_classes_of_this_package_alone(tmp_path):
    file = tmp_path / "bad.npz"
    for name in ("os:system", "longform.cli:main", "longform.nowhere:Critic", "subprocess:Popen"):
        record = {"critic": {"class": name, "fields": {}}, "checksum": "", "version": "0"}
        write_arrays(file, {"critic": np.frombuffer(json.dumps(record).encode(), dtype=np.uint8)})
        refuses_as(ArtefactError, "a saved critic names", longform.load, file)


def test_critics_are_loaded_by_name_and_misspelt_names_are_told_apart():
    assert longform.load("entity_grid", history=2).identity == EntityGrid(history=2).identity
    refuses_as(ConfigError, r"entity_grit.*near: entity_grid", longform.load, "entity_grit")
    refuses_as(ConfigError, "no setting 'histori'.*near: history",
            longform.load, "entity_grid", histori=2)  # fmt: skip
    for name, entry in CATALOGUE.items():
        kind = entry.load_class()
        assert issubclass(kind, TextCritic) and kind.needs and CLASSES[kind.__name__] is entry, name
        assert getattr(longform.critics, kind.__name__) is kind
        assert entry.source.split()[0] in {p.name for p in Path("experiments").iterdir()} | {"ours"}
    assert sorted(CLASSES) == sorted(longform.critics.__all__)
    assert dir(longform.critics) == sorted(longform.critics.__all__)


def test_the_command_line_lists_every_critic(capsys):
    assert main(["critics"]) == 0
    printed = capsys.readouterr().out
    for name, entry in CATALOGUE.items():
        assert f"{name}  ({entry.class_name}" in printed and entry.asks in printed
    assert printed.count("    needs  ") == printed.count("    costs  ") == len(CATALOGUE)


def test_a_critic_is_imported_without_torch_sklearn_pandas_and_scipy():
    program = (
        "import sys; from longform.critics import EntityGrid; "
        "print([n for n in ('torch', 'sklearn', 'pandas', 'scipy', 'numba') if n in sys.modules])"
    )
    out = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert out.stdout.strip() == "[]"
