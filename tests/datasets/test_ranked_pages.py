"""Which of the most visited pages are articles of a dump, by hand on a few ranks."""

import hashlib
import json

import pytest

from longform.datasets.wikipedia import building
from longform.datasets.wikipedia.dump import RankedPage
from tests.refusals import refuses

SPLITS = {"test": 2017, "validation": 2018}


def page(number, title, text):
    return {"id": number, "title": title, "sections": [{"title": None, "text": text}]}


RECORDS = [
    page("1", "Ulm", "Ulm is known."),
    page("2", "New Quen", "Quen is known."),
    page("3", "Kings", "The following are the lists of kings."),
    page("4", "List of kings", "Kings."),
    page("5", "Late list", f"{'x' * 288} is a list of"),
    page("6", "Harp", "Harp is known."),
    page("7", "Tarn", "Tarn is known."),
]


@pytest.fixture
def visited(monkeypatch, tmp_path):
    """The corpus of two rankings, each of (id, titles, views)."""
    asked = []

    def corpus(test, validation=(), **settings):
        ranked = {2017: test, 2018: validation or [("6", ("Harp",), 4)]}

        def most_viewed(folder, year, least):
            asked.append((folder, year, least))
            return [RankedPage(*row) for row in ranked[year]], {"lines": year}

        class Shards:
            struck = {"cite": 2}

            def __init__(self, folder):
                asked.append(folder)

            def records(self):
                return iter(RECORDS)

        monkeypatch.setattr(building, "most_viewed", most_viewed)
        monkeypatch.setattr(building, "Shards", Shards)
        asked.clear()
        given = {"name": "n", "raw": tmp_path, "pages": 1}
        return building.most_visited(**given | settings), asked

    return corpus


def chosen(corpus):
    return [(one.id, one.split, one.text) for one in corpus.documents]


def test_years_are_those_of_the_paper_and_pages_and_views_have_defaults(visited, tmp_path):
    assert building.YEARS == SPLITS
    _, asked = visited([("1", ("Ulm",), 9)])
    assert asked == [
        (tmp_path / "views", 2017, 1000),
        (tmp_path / "views", 2018, 1000),
        tmp_path / "pages",
    ]
    assert visited([("1", ("Ulm",), 9)], least=3)[1][0][2] == 3
    refuses("1 of 1000 pages for test", visited, [("1", ("Ulm",), 9)], pages=1000)


def test_a_page_is_found_by_id_and_else_by_any_title(visited):
    by_id, _ = visited([("2", ("Quen", "Old"), 9)])
    assert chosen(by_id)[0] == ("2", "test", "Quen is known.")
    by_title, _ = visited([("", ("Old", "New_Quen"), 9)])
    assert chosen(by_title)[0][0] == "2"
    renamed, _ = visited([("9", ("New_Quen",), 9)])
    assert chosen(renamed)[0][0] == "2"


@pytest.mark.parametrize(
    ("row", "why"),
    [
        (("", ("Special:Search",), 9), "other namespace"),
        (("", ("talk:Ulm",), 9), "other namespace"),
        (("1", ("Main_Page",), 9), "main page"),
        (("", ("X", "Main_Page"), 9), "main page"),
        (("4", ("List_of_kings",), 9), "list"),
        (("", ("deaths_in_May",), 9), "list"),
        (("3", ("Kings",), 9), "list"),
        (("", ("Lost",), 9), "not in the dump"),
    ],
)
def test_what_is_no_article_is_passed_over_and_counted(row, why, visited):
    corpus, _ = visited([row, ("1", ("Ulm",), 8)])
    year = corpus.facts["years"]["2017"]
    assert chosen(corpus)[0][0] == "1" and corpus.truth["rank"].tolist() == [2, 1]
    assert year["passed over"] == {why: 1} and year["last rank"] == 2
    assert year["first not in the dump"] == (["Lost"] if why == "not in the dump" else [])
    assert year["lines"] == 2017 and corpus.truth["views"].tolist() == [8, 4]


def test_a_list_is_one_that_says_so_in_its_first_three_hundred_letters(visited):
    assert chosen(visited([("5", ("Late_list",), 9)])[0])[0][0] == "5"


def test_a_page_is_taken_once_and_ranking_ends_with_the_last_wanted(visited):
    corpus, _ = visited(
        [("1", ("Ulm",), 9), ("2", ("Quen",), 8)], [("1", ("Ulm",), 7), ("2", ("Quen",), 6)]
    )
    assert chosen(corpus) == [("1", "test", "Ulm is known."), ("2", "validation", "Quen is known.")]
    assert corpus.facts["years"]["2018"]["passed over"] == {"chosen before": 1}
    assert corpus.facts["corpus"] == "n" and corpus.facts["struck_sentences"] == {"cite": 2}
    assert corpus.truth["rank"].tolist() == [1, 2]


def test_eight_ranked_pages_are_looked_at_for_each_that_is_wanted(visited):
    lost = [("", (f"Lost_{number}",), 9) for number in range(8)]
    refuses("2017: 0 of 1 pages for test", visited, [*lost, ("1", ("Ulm",), 8)])
    assert chosen(visited([*lost[:7], ("1", ("Ulm",), 8)])[0])[0][0] == "1"


def test_the_first_twenty_pages_that_the_dump_lacks_are_named(visited):
    lost = [("", (f"Lost_{number}",), 9) for number in range(21)]
    found = [("1", ("Ulm",), 8), ("2", ("Q",), 8), ("5", ("L",), 8)]
    later = [("4", ("Kings_of_all",), 4), ("6", ("Harp",), 4), ("7", ("Tarn",), 3)]
    corpus, _ = visited([*lost, *found], later, pages=3)
    year = corpus.facts["years"]["2017"]
    assert year["first not in the dump"] == [f"Lost_{number}" for number in range(20)]
    assert year["passed over"] == {"not in the dump": 21} and year["last rank"] == 24
    refuses("2 of 3 pages for validation", visited, [*lost, *found], later[1:], pages=3)


@pytest.mark.parametrize("change", ["", "key", "source", "sha256", "file", "record"])
def test_a_shard_is_done_where_its_record_agrees(change, tmp_path):
    """The record names the task, the dump's bytes from 2 to 6, and those of the shard's file."""
    (tmp_path / "dump").write_bytes(b"01234567")
    shard = building.Shard(0, (2, 4), 6)
    task = building.Task(
        tmp_path / "dump", tmp_path / "shard-00000.jsonl", shard, building.Extraction(), "k"
    )
    task.file.write_text("{}\n")
    digests = {"source": hashlib.sha256(b"2345"), "sha256": hashlib.sha256(b"{}\n")}
    record = {"key": "k", **{name: digest.hexdigest() for name, digest in digests.items()}}
    if change in record:
        record[change] = "other"
    if change == "file":
        task.file.unlink()
    if change != "record":
        task.record.write_text(json.dumps(record))
    assert task.record.name == "shard-00000.json" and task.done is (change == "")


def test_an_extraction_does_what_is_missing_and_counts_the_whole_dump(
    monkeypatch, tmp_path, capsys
):
    shards = [building.Shard(number, (number,), number + 1) for number in range(2)]
    asked, read = [], []
    monkeypatch.setattr(building, "plan", lambda dump, size: asked.append(size) or shards)
    monkeypatch.setattr(building.Task, "source", "source")

    def extract_shard(task):
        read.append(task.shard.number)
        task.file.write_text("")
        sha = hashlib.sha256(b"").hexdigest()
        counts = {"article": 2, "year": 1 + task.shard.number}
        record = {
            "key": task.key,
            "source": "source",
            "sha256": sha,
            "counts": counts,
            "wikitext_bytes": 750_000,
        }
        task.record.write_text(json.dumps(record))

    monkeypatch.setattr(building, "extract_shard", extract_shard)
    folder = tmp_path / "shards"
    found = building.extract(tmp_path / "dump", folder)
    assert found == {
        "shards": 2,
        "redone": 2,
        "counts": {"article": 4, "year": 3},
        "wikitext_mb": 1.5,
    }
    assert asked == [16 * 2**20] and read == [0, 1]
    extraction = '{"max_page_bytes": 4194304, "page_seconds": 20, "shard_bytes": 16777216}'
    stamp = f"3|{extraction}|Shard(number=0, streams=(0,), stop=1)".encode()
    key = hashlib.blake2b(stamp, digest_size=16).hexdigest()
    assert json.loads((folder / "shard-00000.json").read_text())["key"] == key
    for stray in ("shard-00002.jsonl", ".shard-00001.jsonl.partial", "mine"):
        (folder / stray).write_text("")
    (folder / "shard-00001.json").unlink()
    assert building.extract(tmp_path / "dump", folder)["redone"] == 1 and read == [0, 1, 1]
    assert sorted(path.name for path in folder.iterdir() if not path.name.startswith("shard-")) == [
        "mine"
    ]
    assert len(list(folder.iterdir())) == 5
    other = building.Extraction(page_seconds=1)
    assert building.extract(tmp_path / "dump", folder, extraction=other)["redone"] == 2
    refuses("every number must be at least 1", building.Extraction, page_seconds=0)
