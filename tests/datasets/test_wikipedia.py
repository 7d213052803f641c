"""A dump to a corpus: counts as planted, the same bytes from any number of workers and after a killed run, the most visited pages."""

import bz2
import gzip
import json
import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import mediawiki
import pytest

from longform.datasets.wikipedia import building
from longform.datasets.wikipedia.building import (
    Extraction,
    Shards,
    build,
    dump_in,
    extract,
    most_visited,
)
from longform.datasets.wikipedia.dump import most_viewed
from tests.refusals import refuses

SHORT = 250  # between the sections of most articles and those of article 48


def made(raw, **settings):
    return build(
        **{"name": "w", "seed": 1, "raw": raw, "filters": {"min_title_count": 3}, **settings}
    )


@pytest.fixture(scope="module")
def raw(tmp_path_factory):
    folder = tmp_path_factory.mktemp("raw")
    pages = [*mediawiki.articles(40),
             mediawiki.page(41, "Rare", mediawiki.article(41, ("History", "Geography", "Economy", "Necromancy"))),
             mediawiki.page(42, "Stub", mediawiki.article(42, ("History",))),
             mediawiki.page(43, "Short", mediawiki.article(43, words=4)),
             mediawiki.page(44, "Long", mediawiki.article(44, words=2500)), mediawiki.page(45, "1957", "x"),
             mediawiki.page(46, "Hop", "#REDIRECT [[Town 1]]"),
             mediawiki.page(47, "Film", "'''Film''' is a 1990 film. " + mediawiki.article(47)),
             mediawiki.page(48, "Wide", mediawiki.article(48, words=90)),
             mediawiki.page(49, "Bare", "{{Infobox}}\n== History ==\nx")]  # fmt: skip
    mediawiki.write(folder, pages, 12)
    return folder


def test_pages_are_counted_as_planted_and_subsets_say_what_they_left_out(raw, tmp_path):
    corpus = made(raw)
    assert corpus.facts["pages"] == {"abstract missing": 1, "article": 46, "redirect": 1, "year": 1}
    assert corpus.facts["dropped"] == {"infrequent title": 1, "section too long": 1, "section too short": 1,
                                       "too few sections": 1}  # fmt: skip
    assert corpus.facts["kept"] == len(corpus.documents) == 42
    assert corpus.facts["removed_sections"] == {"see also": 46}
    assert [s.title for s in corpus.documents[0].sections] == [
        "abstract",
        "history",
        "geography",
        "economy",
        "culture",
    ]
    # 43 articles are split 34 : 5 : 4 before the rare title, a training article, is dropped
    assert Counter(d.split for d in corpus.documents) == {"train": 33, "validation": 5, "test": 4}
    assert len(corpus.truth["section_tokens"]) == 5 * 42
    assert corpus.truth["section_tokens_lengths"].tolist() == [5] * 42
    short = made(raw, subset="short", short_tokens=SHORT)
    assert {d.id for d in corpus.documents} - {d.id for d in short.documents} == {"48"}
    assert max(short.truth["section_tokens"]) <= SHORT
    dump = raw / "pages-articles-multistream.xml.bz2"
    (raw / "multistream-index.txt.bz2").write_bytes(b"5:1:A")
    assert dump_in(raw) == dump == dump_in(dump)
    refuses("exactly one", dump_in, tmp_path)


def test_a_dump_is_extracted_beside_the_scratch_by_so_many_workers(tmp_path, monkeypatch):
    def reach(*given, **named):
        raise KeyError(given, named)

    monkeypatch.setattr(building, "extract", reach)
    (tmp_path / "a.bz2").touch()
    with pytest.raises(KeyError) as reached:
        made(tmp_path, scratch=Path("s"), extraction={"shard_bytes": 7}, workers=3)
    options = {"extraction": Extraction(shard_bytes=7), "workers": 3}
    assert reached.value.args == ((tmp_path / "a.bz2", Path("s/shards")), options)


@pytest.mark.long  # four runs over a dump; a killed run ends with the same bytes below
def test_the_corpus_does_not_depend_on_workers_or_shards(raw, tmp_path):
    first = made(raw)
    fine = {"shard_bytes": 1, "page_seconds": 19}
    second, third = (
        made(raw, extraction=fine, workers=2, scratch=tmp_path),
        made(tmp_path / "shards"),
    )
    assert first.documents == second.documents == third.documents
    assert first.facts == second.facts == third.facts


@pytest.mark.parametrize(("settings", "told"),
                         [({"filters": {"min_section": 3}}, "min_sections"),
                          ({"extraction": {"shards": 3}}, "shard_bytes"),
                          ({"extraction": {"page_seconds": 0}}, "fix the entry"),
                          ({"filters": {"min_tokens": 50, "max_tokens": 40}}, "no article can pass"),
                          ({"subset": "cities"}, "'short'"), ({"filters": {"min_sections": 99}}, "loosen"),
                          ({"tokenizer": "absent.json"}, "no such file")])  # fmt: skip
def test_a_bad_setting_says_what_is_allowed(raw, settings, told):
    refuses(told, made, raw, **settings)


SMALL = Extraction(shard_bytes=1)
SOURCE = str(Path(__file__).parents[2] / "src")


def contents(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.glob("shard-*"))}


@pytest.fixture(scope="module")
def dump(tmp_path_factory):
    return mediawiki.write(tmp_path_factory.mktemp("dump"), mediawiki.articles(48), 6)


@pytest.fixture(scope="module")
def unbroken(dump, tmp_path_factory):
    folder = tmp_path_factory.mktemp("unbroken")
    extract(dump, folder, extraction=SMALL)
    return contents(folder)


def test_unfinished_shards_are_no_corpus_and_a_rerun_redoes_them(tmp_path, dump, unbroken):
    refuses("no shard", Shards, tmp_path)
    extract(dump, tmp_path, extraction=SMALL)
    (tmp_path / "shard-00002.jsonl").unlink()
    (tmp_path / "shard-00004.json").unlink()
    refuses("unfinished", Shards, tmp_path)
    (tmp_path / "shard-00006.jsonl").write_bytes(b"half")
    (tmp_path / ".shard-00007.jsonl.99.partial").write_bytes(b"left by a killed run")
    before = {
        name: (tmp_path / name).stat().st_mtime_ns
        for name in ("shard-00001.jsonl", "shard-00005.jsonl")
    }
    done = extract(dump, tmp_path, extraction=SMALL)
    assert done["redone"] == 3
    assert contents(tmp_path) == unbroken
    assert before == {name: (tmp_path / name).stat().st_mtime_ns for name in before}
    assert not list(tmp_path.glob(".*partial"))


@pytest.mark.long  # the keys of shards are those of the test of unfinished ones
def test_other_settings_or_another_dump_redo_what_they_change(tmp_path, dump):
    folder = tmp_path / "shards"
    extract(dump, folder, extraction=Extraction(shard_bytes=6000))
    changed = extract(dump, folder, extraction=Extraction(shard_bytes=6000, page_seconds=19))
    assert changed["redone"] == changed["shards"]
    coarse = extract(dump, folder, extraction=Extraction(shard_bytes=10**9))
    assert (coarse["shards"], len(list(Shards(folder)))) == (1, 48)
    other = mediawiki.write(tmp_path, mediawiki.articles(47), 10)
    assert extract(other, folder, extraction=Extraction(shard_bytes=10**9))["redone"] == 1
    assert len(list(Shards(folder))) == 47


RUN = """
import sys
from pathlib import Path
from longform.datasets.wikipedia.building import Extraction, extract

if __name__ == "__main__":
    extract(Path(sys.argv[1]), Path(sys.argv[2]), extraction=Extraction(shard_bytes=1), workers=2)
"""


def at_work(pid):
    """Whether a process is there and no zombie, which waits to be counted by its parent."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def test_a_killed_run_goes_on_and_ends_with_the_bytes_of_an_unbroken_one(tmp_path, dump, unbroken):
    script, folder = tmp_path / "run.py", tmp_path / "shards"
    script.write_text(RUN)
    environment = {**os.environ, "PYTHONPATH": SOURCE}
    run = subprocess.Popen([sys.executable, script, dump, folder], env=environment)
    deadline = time.monotonic() + 60
    while len(list(folder.glob("shard-*.json"))) < 2 and time.monotonic() < deadline:
        assert run.poll() is None, "the run ended before it could be killed; make the dump larger"
        time.sleep(0.01)
    tasks = Path(f"/proc/{run.pid}/task/{run.pid}/children")
    workers = tasks.read_text().split() if tasks.is_file() else []
    run.kill()  # the process that was started alone: its workers go with it and write no more
    run.wait()
    while any(map(at_work, workers)):
        assert time.monotonic() < deadline, "a worker outlives its run"
        time.sleep(0.05)
    assert 2 <= len(list(folder.glob("shard-*.json"))) < len(unbroken) / 2
    done = extract(dump, folder, extraction=SMALL)
    assert done["redone"] <= done["shards"] - 2
    assert contents(folder) == unbroken
    assert json.loads((folder / "shard-00003.json").read_text())["counts"]["article"] == 6


VISITED = [
    "Ulm",
    "Norvtex",
    "Quen",
    "Harp",
    "Avengers: Infinity War",
    "Main Page",
    "List of films",
    "Prizes",
]
IDS = {title.replace(" ", "_"): str(number) for number, title in enumerate(VISITED, 1)}
TEXT = {"Prizes": "The following is a list of prizes."}
FIRST = {
    "Main_Page": 90,
    "Special:Search": 80,
    "Prizes": 70,
    "List_of_films": 60,
    "Lost": 50,
    "Ulm": 20,
}
SECOND = {"Ulm": 40, "Quen": 1, "Avengers:_Infinity_War": 14, "Norvtex": 13, "Harp": 12}


def line(title, views, *, number=None, access="desktop", wiki="en.wikipedia"):
    return f"{wiki} {title} {number or IDS.get(title, 'null')} {access} {views} A{views}"


def write_months(folder, year, lines):
    """The same lines in every month of a year."""
    (folder / "views").mkdir(parents=True, exist_ok=True)
    for month in range(1, 13):
        packed = bz2.compress("".join(f"{one}\n" for one in lines).encode())
        (folder / "views" / f"pageviews-{year}{month:02}-user.bz2").write_bytes(packed)


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shards")
    texts = {
        title: f"'''{title}''' is known. It is old.\n\n== More ==\nMore." for title in VISITED
    } | TEXT
    pages = [mediawiki.page(number, *row) for number, row in enumerate(texts.items(), 1)]
    pages.append(mediawiki.page(20, "Old Quen", "#REDIRECT [[Quen]]", redirect=True))
    extract(mediawiki.write(folder, pages), folder / "pages")
    return folder / "pages"


@pytest.fixture
def visited(tmp_path, shards):
    (tmp_path / "pages").symlink_to(shards)
    first = [
        *(line(*row) for row in FIRST.items()),
        line("Ulm", 20, access="mobile-web"),
        line("Norvtex", 30),
    ]
    write_months(tmp_path, 2017, [*first, line("Harp", 9)])
    second = [*(line(*row) for row in SECOND.items()), line("Old_name_of_Quen", 15, number="3")]
    write_months(tmp_path, 2018, [*second, line("Harp", 1000, wiki="de.wikipedia")])
    return tmp_path


def ranked(raw, split=None, **settings):
    """The corpus, or the titles of one split."""
    corpus = most_visited(
        **{"name": "encyclopedia", "raw": raw, "pages": 2, "least": 1, **settings}
    )
    return (
        corpus
        if split is None
        else [d.sections[0].title for d in corpus.documents if d.split == split]
    )


def test_a_year_of_views_is_summed_and_what_is_no_article_is_counted(visited):
    corpus = ranked(visited)
    assert ranked(visited, "test") == ["Ulm", "Norvtex"]
    # Ulm is in the test; Quen has two titles
    assert ranked(visited, "validation") == ["Quen", "Avengers: Infinity War"]
    assert corpus.documents[0].text == "Ulm is known. It is old." and corpus.documents[0].id == "1"
    assert corpus.truth["views"].tolist() == [12 * 40, 12 * 30, 12 * 16, 12 * 14]
    assert corpus.truth["rank"].tolist() == [6, 7, 2, 3]
    first, _ = most_viewed(visited / "views", 2017, 1)
    ids = [page.id for page in first]
    assert ids == ["6", "", "8", "7", "", "1", "2", "4"]  # Special:Search and Lost have none
    years = corpus.facts["years"]
    assert years["2017"]["passed over"] == {
        "list": 2,
        "main page": 1,
        "not in the dump": 1,
        "other namespace": 1,
    }
    assert years["2017"]["first not in the dump"] == ["Lost"] and years["2018"]["passed over"] == {
        "chosen before": 1
    }
    assert years["2017"]["lines"] == 12 * 9 and years["2018"]["last rank"] == 3


def test_lines_of_few_views_and_malformed_ones_are_counted(visited):
    broken = [
        line("Ulm", 40),
        "en.wikipedia Norvtex",
        "en.wikipedia Norvtex 2 desktop many A1",
        line("Harp", 9),
    ]
    write_months(
        visited, 2017, [*broken, "en.wikipedia Norvtex desktop 30 A30"]
    )  # an old line has no id
    assert ranked(visited, "test", least=10) == ["Ulm", "Norvtex"]
    counts = ranked(visited, least=10).facts["years"]["2017"]
    assert (counts["malformed lines"], counts["lines of few views"]) == (24, 12)


def test_months_may_be_unpacked_or_gzip_or_answers_of_the_call_top(visited):
    packed = ranked(visited)
    for number, path in enumerate(sorted((visited / "views").glob("pageviews-2018*"))):
        content = bz2.decompress(path.read_bytes())
        path.unlink()
        if number % 2:
            path.with_suffix("").write_bytes(content)
        else:
            path.with_suffix(".gz").write_bytes(gzip.compress(content))
    again = ranked(visited)
    assert again.documents == packed.documents and again.facts == packed.facts
    for path in (visited / "views").glob("pageviews-2018*"):
        path.unlink()
    rows = [
        {"article": title, "views": views}
        for title, views in (("Main_Page", 9), ("Harp", 8), ("Quen", 7))
    ]
    answer = json.dumps(
        {"items": [{"project": "en.wikipedia", "access": "all-access", "articles": rows}]}
    )
    for month in range(1, 13):
        (visited / "views" / f"pageviews-2018{month:02}.json").write_text(answer)
    assert ranked(visited, "validation") == ["Harp", "Quen"]


def test_missing_or_double_months_and_cut_files_are_one_sentence(visited):
    refuses(
        r"2 of 3 pages for validation .*take a dump of about that year", ranked, visited, pages=3
    )
    refuses(r"0 of 2 pages for test .*'lines of few views': 108", ranked, visited, least=100)
    month, answer = (visited / "views" / f"pageviews-201804{end}" for end in ("-user.bz2", ".json"))
    answer.write_text('{"items": [{"articles": [{"article": "Ulm"}]}]}')
    refuses("months of 2018: .*needed is one file for each", ranked, visited)
    packed = month.read_bytes()
    month.unlink()
    refuses(r"pageviews-201804\.json, article 1: .*'views' is missing", ranked, visited)
    answer.unlink()
    refuses("months of 2018", ranked, visited)
    month.write_bytes(packed[:-10])
    refuses(r"201804-user\.bz2: cut off", ranked, visited)
    month.write_bytes(b"x")
    refuses("page views", ranked, visited)


def test_a_long_read_of_a_dump_says_how_far_it_is_every_ten_seconds(monkeypatch, capsys):
    clock = iter([0.0, 10.0, 11.0, 11.5, 15.0, 30.0, 30.5, 50.0])  # the last is after the end
    monkeypatch.setattr(building, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    building._report(Path("folder/dump.bz2"), 5, iter([None] * 5))
    said = capsys.readouterr().out.splitlines()
    assert said == ["dump.bz2: 2 of 5 shards read", "dump.bz2: 4 of 5 shards read"]
