"""Wikitext to sections: what is seen stays, headings are never lost, nothing is quadratic, and a page that stalls or dies costs its own tree alone."""

import signal

import pytest

from longform.datasets.wikipedia.wikitext import (
    GuardedParser,
    scanned_sections,
    sections,
    seen_part,
    without_brackets,
    without_quotes,
)

PAGE = """{{Infobox town|name={{lang|en|X}}|map={|a|}}}
'''X''' is a [[town|small town]] in [[Y]].<ref name="a">Not [[seen]].</ref> It has 5&nbsp;people.<ref name="a" />

Second paragraph.<!-- hidden
== Not a heading == -->

== History ==
[[File:x.jpg|thumb|A [[caption]] here]]
It ''was'' founded (; {{lang-fr|z}}) in [http://a.b 1900].
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
            ("History", "It was founded in 1900.\nMore.\none\ntwo"), ("Geography", "Flat.")]  # fmt: skip


@pytest.mark.parametrize("read", [sections, scanned_sections])
def test_tree_and_scanner_give_the_same_plain_sections(read):
    assert [(title, text.replace("\xa0", " ")) for title, text in read(PAGE)] == EXPECTED


@pytest.mark.parametrize(("text", "expected"),
                         [("a{{b}}c", "ac"), ("a{{b|{{c}}|{{{d|e}}}}}f", "af"), ("a{{b}}c}}d", "ac}}d"),
                          ("a{{b", "a{{b"), ("a{{b {{c}} d", "a{{b  d"), ("{|\n|x\n|}y", "y"),
                          ("{|\n{{a|\n|}}\n|}y", "y"), ("{|\n| {{a}}\n{|\n|}\n|}\ny", "\ny"), ("{{a|\n|}}b", "b")])  # fmt: skip
def test_brackets_are_matched_by_kind_and_unclosed_ones_stay(text, expected):
    assert without_brackets(text) == expected


@pytest.mark.parametrize(("text", "expected"),
                         [("''a'' '''b''' '''''c'''''", "a b c"),
                          ("''A Proposal'''s satire and '''bold'''", "A Proposal's satire and bold"),
                          ("l''''amour'''", "l'amour"), ("named '''''' or ''''.", "named  or ."), ("it's", "it's")])  # fmt: skip
def test_quotes_of_bold_and_italic_go_and_apostrophes_stay(text, expected):
    assert without_quotes(text) == expected


def test_headings_of_level_one_and_after_unclosed_markup_begin_a_section():
    text = "Intro ''never closed {{oops and <i>more.\n== One ==\nText one.\n== Two ==\nText two."
    assert [title for title, _ in sections(text)] == ["abstract", "One", "Two"]
    assert sections("A.\n=Top=\nB.\n=== Sub ===\nC.") == [("abstract", "A."), ("Top", "B.\nC.")]


@pytest.mark.parametrize(
    "unit", ["{{", "[[a|", "[[File:a|", "<ref>", "''a'''", "{|\n|", "== a\n", "<!--", "}}", "]]", "<b "]
)
@pytest.mark.timeout(120)  # a scan that is quadratic takes many minutes
def test_the_scanner_is_linear_in_markup_that_never_closes(unit):
    assert len(seen_part(unit * 40_000)) <= len(unit) * 40_000


GOOD = "Zürich \U0001f600 東京.\n== Ω ==\nx"  # survives the pipe
SECTIONS = [("abstract", "Zürich \U0001f600 東京."), ("Ω", "x")]


def test_a_page_that_stalls_the_tree_or_needs_too_much_memory_is_scanned_and_the_next_page_parsed():
    with GuardedParser(page_seconds=1) as parser:
        stalled, outcome = parser.read("Intro. " + "[[a|" * 25_000 + "\n== One ==\nText.")
        assert outcome == "time-out: scanned"
        assert [title for title, _ in stalled] == ["abstract", "One"]
        assert parser.read(GOOD) == (SECTIONS, "parsed")
    with GuardedParser(page_seconds=30, memory=70 * 2**20) as parser:
        found, outcome = parser.read("[[a]] <b>b</b> " * 40_000)
    assert outcome != "parsed"
    assert found is None or found[0][0] == "abstract"


def test_a_parser_that_is_killed_or_sleeps_costs_its_own_page_alone():
    with GuardedParser(page_seconds=5) as parser:
        assert parser.read(GOOD)[1] == "parsed"
        parser._child.send_signal(signal.SIGKILL)
        parser._child.wait()
        assert parser.read(GOOD) == (SECTIONS, "parser died: scanned")
        assert parser.read(GOOD) == (SECTIONS, "parsed")
    with GuardedParser(page_seconds=1, wall_factor=8) as parser:
        parser.read(GOOD)
        parser._child.send_signal(signal.SIGSTOP)
        assert parser.read(GOOD) == (SECTIONS, "time-out: scanned")
