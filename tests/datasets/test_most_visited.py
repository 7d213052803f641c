"""The most visited pages of two years: Wikimedia's page views ranked, and the pages found in a dump's shards."""

import bz2
import gzip
import json

import mediawiki
import pytest

from longform.datasets.wikipedia.building import extract, most_visited
from tests.refusals import refuses

PAGES = ["Ulm", "Norvtex", "Quen", "Harp", "Avengers: Infinity War", "Main Page", "List of films", "Prizes"]
IDS = {title.replace(" ", "_"): str(number) for number, title in enumerate(PAGES, 1)}
TEXT = {"Prizes": "The following is a list of prizes."}


def line(title, views, *, number=None, access="desktop", wiki="en.wikipedia"):
    return f"{wiki} {title} {number or IDS.get(title, 'null')} {access} {views} A{views}"


def write_months(folder, year, lines, *, content=None):
    """The same lines in every month of a year."""
    (folder / "views").mkdir(parents=True, exist_ok=True)
    for month in range(1, 13):
        packed = bz2.compress("".join(f"{one}\n" for one in lines).encode()) if content is None else content
        (folder / "views" / f"pageviews-{year}{month:02}-user.bz2").write_bytes(packed)


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shards")
    texts = (TEXT.get(title, f"'''{title}''' is known. It is old.\n\n== More ==\nMore.") for title in PAGES)
    pages = [
        mediawiki.page(number, title, text) for number, (title, text) in enumerate(zip(PAGES, texts, strict=True), 1)
    ]
    pages.append(mediawiki.page(20, "Old Quen", "#REDIRECT [[Quen]]", redirect=True))
    extract(mediawiki.write(folder, pages), folder / "pages")
    return folder / "pages"


@pytest.fixture
def raw(tmp_path, shards):
    (tmp_path / "pages").symlink_to(shards)
    first = [
        line("Main_Page", 90),
        line("Special:Search", 80),
        line("Prizes", 70),
        line("List_of_films", 60),
        line("Lost", 50),
    ]
    first += [line("Ulm", 20), line("Ulm", 20, access="mobile-web"), line("Norvtex", 30), line("Harp", 9)]
    second = [
        line("Ulm", 40),
        line("Old_name_of_Quen", 15, number="3"),
        line("Quen", 1),
        line("Avengers:_Infinity_War", 14),
    ]
    second += [line("Norvtex", 13), line("Harp", 12), line("Harp", 1000, wiki="de.wikipedia")]
    write_months(tmp_path, 2017, first)
    write_months(tmp_path, 2018, second)
    return tmp_path


def titles(corpus, split):
    return [document.sections[0].title for document in corpus.documents if document.split == split]


def test_a_year_is_summed_over_months_and_kinds_of_access_and_what_is_no_article_is_passed_over_and_counted(raw):
    corpus = most_visited(name="encyclopedia", raw=raw, pages=2, least=1)
    assert titles(corpus, "test") == ["Ulm", "Norvtex"]
    assert titles(corpus, "validation") == [
        "Quen",
        "Avengers: Infinity War",
    ]  # Ulm is in the test; Quen under two titles
    assert corpus.documents[0].text == "Ulm is known. It is old." and corpus.documents[0].id == "1"
    assert corpus.truth["views"].tolist() == [12 * 40, 12 * 30, 12 * 16, 12 * 14]
    assert corpus.truth["rank"].tolist() == [6, 7, 2, 3]
    years = corpus.facts["years"]
    assert years["2017"]["passed over"] == {"list": 2, "main page": 1, "not in the dump": 1, "other namespace": 1}
    assert years["2017"]["first not in the dump"] == ["Lost"] and years["2018"]["passed over"] == {"chosen before": 1}
    assert years["2017"]["lines"] == 12 * 9 and years["2018"]["last rank"] == 3


def test_lines_of_few_views_are_left_out_and_counted_and_so_are_malformed_ones(raw):
    broken = [line("Ulm", 40), "en.wikipedia Norvtex", "en.wikipedia Norvtex 2 desktop many A1", line("Harp", 9)]
    write_months(raw, 2017, [*broken, "en.wikipedia Norvtex desktop 30 A30"])  # an old line has no id
    corpus = most_visited(name="encyclopedia", raw=raw, pages=2, least=10)
    assert titles(corpus, "test") == ["Ulm", "Norvtex"]
    assert (
        corpus.facts["years"]["2017"]["malformed lines"] == 24
        and corpus.facts["years"]["2017"]["lines of few views"] == 12
    )


def test_months_may_be_unpacked_or_gzip_or_answers_of_the_call_top(raw):
    bz2_made = most_visited(name="encyclopedia", raw=raw, pages=2, least=1)
    for number, path in enumerate(sorted((raw / "views").glob("pageviews-2018*"))):
        content = bz2.decompress(path.read_bytes())
        path.unlink()
        if number % 2:
            path.with_suffix("").write_bytes(content)
        else:
            path.with_suffix(".gz").write_bytes(gzip.compress(content))
    again = most_visited(name="encyclopedia", raw=raw, pages=2, least=1)
    assert again.documents == bz2_made.documents and again.facts == bz2_made.facts
    for path in (raw / "views").glob("pageviews-2018*"):
        path.unlink()
    rows = [
        {"article": "Main_Page", "views": 9, "rank": 1},
        {"article": "Harp", "views": 8, "rank": 2},
        {"article": "Quen", "views": 7, "rank": 3},
    ]
    for month in range(1, 13):
        answer = {"items": [{"project": "en.wikipedia", "access": "all-access", "year": "2018", "articles": rows}]}
        (raw / "views" / f"pageviews-2018{month:02}.json").write_text(json.dumps(answer))
    assert titles(most_visited(name="encyclopedia", raw=raw, pages=2, least=1), "validation") == ["Harp", "Quen"]


def test_a_missing_or_double_month_a_file_cut_off_and_too_few_pages_are_one_sentence(raw):
    def made(**settings):
        return most_visited(name="encyclopedia", raw=raw, **{"pages": 2, "least": 1, **settings})

    refuses(r"2 of 3 pages for validation .*take a dump of about that year", made, pages=3)
    refuses(r"0 of 2 pages for test .*'lines of few views': 108", made, least=100)
    views, month = raw / "views", raw / "views" / "pageviews-201804-user.bz2"
    (views / "pageviews-201804.json").write_text('{"items": [{"articles": [{"article": "Ulm"}]}]}')
    refuses("months of 2018: .*needed is one file for each", made)
    whole = month.read_bytes()
    month.unlink()
    refuses(r"pageviews-201804\.json: not the answer of Wikimedia's REST call .*KeyError", made)
    (views / "pageviews-201804.json").unlink()
    refuses("months of 2018", made)
    month.write_bytes(whole[:-10])
    refuses(r"pageviews-201804-user\.bz2: not Wikimedia's page views.*EOFError", made)
    month.write_bytes(b"no bz2 at all")
    refuses("not Wikimedia's page views", made)
    month.write_bytes(whole)
    assert len(made().documents) == 4
