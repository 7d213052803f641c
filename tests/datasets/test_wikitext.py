"""Dump to pages to sections: every page once, every damage a counted outcome, nothing quadratic; a page that stalls or dies costs its own tree alone."""

import bz2
import signal
from collections import Counter
from types import SimpleNamespace

import mediawiki
import pytest

from longform.datasets.wikipedia import wikitext
from longform.datasets.wikipedia.dump import Page, PageScanner, parse_page, plan, raw_pages
from tests.refusals import refuses


def read(dump, shard_bytes=1, **settings):
    """Titles in order, and outcomes, of all shards of a plan."""
    shards, outcomes, titles = plan(dump, shard_bytes), Counter(), []
    for shard in shards:
        for raw in raw_pages(dump, shard, **settings):
            page = raw if isinstance(raw, str) else parse_page(raw)
            outcomes[page if isinstance(page, str) else "page"] += 1
            titles += [] if isinstance(page, str) else [page.title]
    return titles, outcomes, shards


@pytest.mark.parametrize("shard_bytes", [1, 3000, 10**9])
def test_every_page_comes_once_and_in_order_whatever_the_plan(tmp_path, shard_bytes):
    titles, outcomes, shards = read(
        mediawiki.write(tmp_path, mediawiki.articles(45), 10), shard_bytes
    )
    assert titles == [f"Town {i}" for i in range(1, 46)]
    assert outcomes == {"page": 45}
    assert (len(shards) > 3) == (shard_bytes == 1)


@pytest.mark.parametrize("cut", [700, 1111, 1500, 3333])
def test_streams_that_cut_pages_anywhere_lose_and_repeat_none(tmp_path, cut):
    xml = (mediawiki.HEADER + "".join(mediawiki.articles(12)) + mediawiki.FOOTER).encode()
    dump = tmp_path / "pbzip2.xml.bz2"
    dump.write_bytes(b"".join(bz2.compress(xml[i : i + cut]) for i in range(0, len(xml), cut)))
    titles, outcomes, shards = read(dump)
    assert (titles, outcomes) == ([f"Town {i}" for i in range(1, 13)], {"page": 12})
    assert len(shards) >= len(xml) // cut


def test_a_truncated_dump_gives_the_pages_before_the_cut_and_says_so(tmp_path):
    dump = mediawiki.write(tmp_path, mediawiki.articles(30), 10)
    whole = dump.read_bytes()
    dump.write_bytes(whole[: int(len(whole) * 0.8)])
    titles, outcomes, _ = read(dump)
    assert titles == [f"Town {i}" for i in range(1, 21)]
    assert outcomes["stream: truncated bz2"] == 1
    xml = (mediawiki.HEADER + "".join(mediawiki.articles(5))).encode()
    assert read(_written(tmp_path, bz2.compress(xml[:-40])))[1] == {"page": 4, "page cut off": 1}


def test_a_corrupt_stream_costs_its_own_pages_only(tmp_path):
    data = mediawiki.multistream(mediawiki.articles(30), 10)
    shards = plan(_written(tmp_path, data), 1)
    middle = (shards[2].streams[0] + shards[2].stop) // 2
    dump = _written(tmp_path, data[:middle] + bytes(20) + data[middle + 20 :])
    titles, outcomes, _ = read(dump)
    assert titles == [f"Town {i}" for i in (*range(1, 11), *range(21, 31))]
    assert outcomes["stream: corrupt bz2"] == 1


def _written(folder, data):
    path = folder / "dump.xml.bz2"
    path.write_bytes(data)
    return path


def test_a_page_over_the_limit_is_set_aside_and_the_buffer_stays_bounded(tmp_path):
    pages = [
        *mediawiki.articles(2),
        mediawiki.page(3, "Big", "x" * 5_000_000),
        *mediawiki.articles(1, first=4),
    ]
    titles, outcomes, _ = read(mediawiki.write(tmp_path, pages, 10), max_page_bytes=2**20)
    assert titles == ["Town 1", "Town 2", "Town 4"]
    assert outcomes == {"page": 3, "page too large": 1}
    scanner = PageScanner(2**20)
    for piece in (b"<page>", *[b"y" * 100_000] * 80):
        list(scanner.feed(piece))
        assert len(scanner.buffer) < 2**20 + 200_000
    xml = b"<page>" + b"x" * 94 + b"</page>"
    assert list(PageScanner(100).feed(xml)) == [xml]
    assert list(PageScanner(99).feed(xml + xml)) == ["page too large"] * 2


@pytest.mark.parametrize(("xml", "outcome"),
                         [(mediawiki.page(1, "A", "#REDIRECT [[B]]"), "redirect"),
                          (mediawiki.page(1, "A", " # redirect [[B]]"), "redirect"),
                          (mediawiki.page(1, "A", "x", redirect=True), "redirect"),
                          (mediawiki.page(1, "A", "x {{disambiguation}}"), "disambiguation"),
                          (mediawiki.page(1, "A", "x {{Disambig|geo}}"), "disambiguation"),
                          (mediawiki.page(1, "A", "x {{human name disambiguation}}"), "disambiguation"),
                          (mediawiki.page(1, "A (disambiguation)", "x"), "disambiguation"),
                          (mediawiki.page(1, "A", "#REDIRECT: [[B]]"), "redirect"),
                          (mediawiki.page(1, "1957", "x"), "year"), (mediawiki.page(1, "AD 79", "x"), "year"),
                          (mediawiki.page(1, "44 BC", "x"), "year"),
                          (mediawiki.page(1, "File:A.jpg", "x", ns=6), "other namespace"),
                          (mediawiki.page(1, "A", "x", model="Scribunto"), "no wikitext"),
                          (mediawiki.page(1, "A", " \n"), "no text"), ("<page><title>A</title>", "malformed XML"),
                          (mediawiki.page(1, "A", "x").encode().replace(b">x<", b">\xff\xfe<"), "invalid UTF-8")])  # fmt: skip
def test_the_papers_exclusions_and_unreadable_pages_have_names(xml, outcome):
    assert parse_page(xml if isinstance(xml, bytes) else xml.encode()) == outcome


def test_what_only_resembles_an_exclusion_is_an_article():
    for title, text in (("1957 in film", "x"), ("2001: A Space Odyssey", "x"), ("A", "x{{disambiguation needed}}"),
                        ("A", "x <!-- {{disambig}} -->"), ("A", "Put <nowiki>{{dab}}</nowiki> there."),
                        ("A", "# Redirects of traffic\n# Bridges"),
                        ("A & <B>", 'a < b & "c"')):  # fmt: skip
        assert parse_page(mediawiki.page(7, title, text).encode()) == Page("7", title, text)


def test_streams_are_found_in_and_across_chunks_of_16_mebibytes(tmp_path):
    places = (0, 2**24 - 5, 2**25 + 3)
    with (tmp_path / "dump").open("wb") as file:
        for place in places:
            file.seek(place)
            file.write(b"BZh91AY&SY")
    shards = plan(tmp_path / "dump", 1)
    assert [shard.streams for shard in shards] == [(place,) for place in places]


def test_a_file_without_a_bz2_stream_is_bad_input(tmp_path):
    for content in (b"", b"<mediawiki>not packed</mediawiki>"):
        refuses("no bz2 stream", plan, _written(tmp_path, content), 1)
    refuses("no such file", plan, tmp_path / "absent.bz2", 1)


PAGE = """{{Infobox town|name={{lang|en|X}}|map={|a|}}}
'''X''' is a [[town|small town]] in [[Y]].<ref name="a">Not [[seen]].</ref> It has 5&nbsp;people.<ref name="a" />

Second paragraph.<!-- hidden
== Not a heading == -->

== History ==
[[File:x.jpg|thumb|A [[caption]] here]]
It ''was'' founded ({{efn|a note}}; {{lang-fr|z}}) in [http://a.b 1900].
=== Later ===
More.

* one
* two

==Geography==
{| class="wikitable"
! a !! b
|-
| 1 || {{nts|2}}
|}
Flat.

[[Category:Towns]]
[[de:X]]
"""
EXPECTED = [("abstract", "X is a small town in Y. It has 5 people.\nSecond paragraph."),
            ("History", "It was founded (French: z) in 1900.\nMore.\none\ntwo"), ("Geography", "Flat.")]  # fmt: skip


@pytest.mark.parametrize("read", [wikitext.sections, wikitext.scanned_sections])
def test_tree_and_scanner_give_the_same_plain_sections(read):
    assert read(PAGE) == EXPECTED


@pytest.mark.parametrize("read", [wikitext.sections, wikitext.scanned_sections])
def test_the_shorter_side_of_a_heading_is_its_level(read):
    # MediaWiki's rule: the signs that are left over stand in the title
    text = "Lead.\n= One ==\nA.\n=== Two ==\nB.\n== Three ===<!-- x -->\nC.\n=== Four ====\nD.\n=====\nE."
    assert [title for title, _ in read(text)] == ["abstract", "One =", "= Two", "Three ="]
    assert read(text)[-1][1].startswith("C.\nD.") and "Four" not in read(text)[-1][1]


def test_headings_of_level_one_and_after_unclosed_markup_begin_a_section():
    text = "Intro ''never closed {{oops and <i>more.\n== One ==\nText one.\n== Two ==\nText two."
    assert [title for title, _ in wikitext.sections(text)] == ["abstract", "One", "Two"]
    assert wikitext.sections("A.\n=Top=\nB.\n=== Sub ===\nC.") == [
        ("abstract", "A."),
        ("Top", "B.\nC."),
    ]


@pytest.mark.parametrize(
    "unit",
    [
        "{{",
        "[[a|",
        "[[File:a|",
        "<ref>",
        "''a'''",
        "{|\n|",
        "== a\n",
        "<!--",
        "}}",
        "]]",
        "<b ",
        "<nowiki>",
        "<math>",
        "<sup>",
        "{{{",
        "-{",
    ],
)
@pytest.mark.timeout(120)  # a scan that is quadratic takes many minutes
def test_the_scanner_is_linear_in_markup_that_never_closes(unit):
    assert len(wikitext.seen_part(unit * 40_000)) <= len(unit) * 40_000


GOOD = "Zürich \U0001f600 東京.\n== Ω ==\nx"  # survives the pipe
SECTIONS = [("abstract", "Zürich \U0001f600 東京."), ("Ω", "x")]


@pytest.mark.long  # it waits until the parser is given up; a killed one is tested below
def test_a_page_that_stalls_the_parser_is_scanned_and_the_next_one_parsed():
    with wikitext.GuardedParser(page_seconds=1) as parser:
        stalled, outcome = parser.read("Intro. " + "[[a|" * 25_000 + "\n== One ==\nText.")
        assert outcome == "time-out: scanned"
        assert [title for title, _ in stalled] == ["abstract", "One"]
        assert parser.read(GOOD) == (SECTIONS, "parsed")
    with wikitext.GuardedParser(page_seconds=30, memory=70 * 2**20) as parser:
        found, outcome = parser.read("[[a]] &amp; " * 80_000)
    assert outcome != "parsed"
    assert found is None or found[0][0] == "abstract"


def test_a_parser_has_its_factor_of_the_seconds_of_a_page_to_answer():
    sent, answer = [], b'[[[["abstract", "a"]], ["b"]], "parsed"]'
    pipe = SimpleNamespace(
        send_bytes=sent.append, poll=lambda limit: limit == 6, recv_bytes=lambda: answer
    )
    parser = wikitext.GuardedParser(page_seconds=2, wall_factor=3, _child="running", _pipe=pipe)
    assert parser._ask("scan", "x") == (([("abstract", "a")], ["b"]), "parsed")
    assert sent == [b'["scan", "x"]']


def test_a_parser_that_is_killed_or_sleeps_costs_its_own_page_alone():
    with wikitext.GuardedParser(page_seconds=5) as parser:
        assert parser.read(GOOD)[1] == "parsed"
        parser._child.send_signal(signal.SIGKILL)
        parser._child.wait()
        assert parser.read(GOOD) == (SECTIONS, "parser died: scanned")
        assert parser.read(GOOD) == (SECTIONS, "parsed")
    with wikitext.GuardedParser(page_seconds=1, wall_factor=4) as parser:
        parser.read(GOOD)
        parser._child.send_signal(signal.SIGSTOP)
        assert parser.read(GOOD) == (SECTIONS, "time-out: scanned")
