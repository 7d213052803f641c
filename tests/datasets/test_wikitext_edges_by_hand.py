"""Markup at its edges, as MediaWiki shows it: quotes, links, braces, paragraphs, functions and templates unknown."""

from collections import Counter

import pytest

from longform.datasets.wikipedia import wikitext
from longform.datasets.wikipedia.marks import BREAK, GONE, TAGS, Holes
from longform.datasets.wikipedia.templates import (
    TOO_DEEP,
    calculated,
    render,
    split_arguments,
    template_name,
    without_templates,
)

SHOWN = {
    # bold and italic: an apostrophe where both are unbalanced in a line
    "x '''b ''i'' c": "x b i c",
    "''i '''b''' c": "i b c",
    "x '''b ''i c": "x 'b i c",
    "l'''arg ''nt": "l'arg nt",
    "x '''a bb'''cc d'''e ''f": "x a bbcc d'e f",
    "a '''''b'' c": "a b c",
    "'''''both": "both",
    "'''''both l'''b": "both lb",
    "'''''a ''b l'''c'''": "a b lc",
    "a''''b'''": "a'b",
    "''''b": "'b",
    "e<sup>x<sup>2</sup></sup>": "e^(x^2)",
    "x '''y ''''b ''c '''d": "x y ''b c d",
    "to à'''x b'''y'' z '''d": "to àx b'y z d",
    "''''''x": "'x",
    # links
    "[[a|b [[c|d]] e]] f": "b d e f",
    "a[[File:x.jpg|thumb|c [[d]] e]]b": "ab",
    "[[File:x|[[File:y]] z]]b": "b",
    "[[Foo (bar)|]] a": "Foo a",
    "[[Foo, Bar|]] a": "Foo a",
    "[[Help:Foo (x)|]] a": "Foo a",
    "-{zh-hans:a; zh-hant:b}- c": "a c",
    "-{x}- c": "x c",
    "-{x; y}- c": "x c",
    # paragraphs
    "a\nb": "a b",
    "a\n----\nb": "a\nb",
    "a\n---\nb": "a --- b",
    "* a\n* b\nc": "a\nb\nc",
    "a\n b\n c": "a\nb\nc",
    # braces
    "x {{{name}}} y": "x {{{name}}} y",
    "x {{{1|d|e}}} y": "x d y",
    "a\n{|\n| {{small|b}}\n|}\nc": "a\nc",
    "a |} b": "a |} b",
    "{{{{small|x}}}} y": "{x} y",
    "{{small|{{small|a}}}}": "a",
    "a {{small|[[b|c]]|d}}": "a c",
    "2{{frac|1|2}} x": "2 1/2 x",
    # functions
    "{{#if:x|yes}}a": "yesa",
    "{{#ifeq:a|b|same|other}} {{#ifeq:a|a|same|other}}": "other same",
    "{{#switch:z|a|b=1}} {{#switch:z|#default=2|a|b=1}} {{#switch:z|a=1|#default|b=3}} {{#switch:01|1=4}}": "2 3 4",
    "{{#ifeq:01|1|same|other}} {{#ifeq:1e1|10|same|other}} {{#ifeq:x1|x01|same|other}}": "same same other",
    "{{{1|[[Page|text]]}}} {{{1|a|b}}}": "text a",
    "{{ship1|HMS|Hood|51}} {{bible verse|1|Kings|2:3}}": "HMS Hood (51) 1 Kings 2:3",
    "{{subst:lc:ABC}} {{safesubst:#if:x|y|z}}": "abc y",
    "{{#expr:1234567890123+0}} {{#expr:-7 mod 3}} {{#expr:7.9 mod 3}}": "1234567890123 −1 1",
    "{{#expr:(3+4) div 2}} {{#expr:08+1}} {{#expr:1.05+0}} {{#expr:100}}": "3.5 9 1.05 100",
    "{{#switch:q|a=1|b}} {{#switch:b|a=1|b|c=2|d=3}} {{#switch:x|#default=7|a=1}}": "b 2 7",
    "{{#expr:2*(3+4)}} {{#expr:+5}} {{#expr:5-7}} {{#expr:1/3}}": "14 5 −2 0.33333333333333",  # fourteen digits, as MediaWiki
    "{{nowrap:a b}} {{lcfirst:ABC}} {{ucfirst:élan X}}": "a b aBC Élan X",
    "a{{#tag:gallery|x}}b": "ab",
    # templates
    "{{sic|a|b|c}} {{sic|a |b}} {{sic|2=b}}": "ab [sic] a b [sic] b [sic]",
    "{{lang-de-at|A}} {{langx|el-cy|B}} {{langx|sr-latn|C}}": "German: A Greek: B Serbian Latin: C",
    "{{zh|A|labels=no}} {{zh|A}} {{zh|c=B|labels=no|A}}": "A Chinese: A B",
    "{{ill|A|de|text=B|display=C|lt=D}} {{ill|A|de|text=B|display=C}} {{ill|A|de|text=B}} {{ill|A|de}}": "D C B A",
    "{{quote|A|B|author=C|sign=D|cite=E}}": "A\n— C",
    "{{quote|A|B|sign=D|cite=E}}": "A\n— D",
    "{{quote|A|B|cite=E}}": "A\n— E",
    "{{quote|A|B|C}}": "A\n— B, C",
    "{{quote|A|B|C|title=T|source=S}}": "A\n— B, T, S",
    "{{quote|text=A|quote=B|content=D|x|C}}": "A\n— C",
    "{{rquote|left|A|B|C}}": "A\n— B, C",
    "{{cquote|A|x|y|B|C|author=D|source=E}}": "A\n— D, E",
    "{{quote|A|B|sign=D|author=|cite=E}} x": "A\n— D\nx",
    "{{cquote|A|x|y|B|C}}": "A\n— B, C",
    "{{zh|A|l=B|lit=C|tr=D}} {{zh|A|lit=C|tr=D}} {{zh|A|tr=D}}": "Chinese: A; lit. 'B' Chinese: A; lit. 'C' Chinese: A; lit. 'D'",
    "{{columns-list|2|a}} {{col-list|a}} {{col-list|text=b|content=c|a}} {{col-list|text=b|a}}": "a a c b",
    "{{convert|0.5|-|0.62|mi|km|0|order=flip}}": "1–1 kilometres (0.5–0.62 mi)",
    "{{convert|12000|ft|6|in|m|comma=off}}": "12000 feet 6 inches (3657.75 m)",
    "{{script/Hebrew|a|text=b}} {{script/Hebrew|a}}": "b a",
    "x{{citation needed}} y{{sfnp}} z{{infobox}}{{user x}}{{cite x archive}}{{r/a}}{{short description}}": "x y z",
    "{{convert|5|e3km|mi}}": "5 thousand kilometres (3,100 mi)",
    "{{HSwMS|Thor}} {{HMS|Hood||6}} {{ship|HMS|Hood|51|5}}": "HSwMS Thor HMS Hood HMS 51",
    "{{sclass|A|b|3}} {{sclass|A|b|0}} {{section link|A|B|C}} {{tl|a|b|c}}": "A-class b A-class b A § B {{a|b|c}}",
    "{{hlist|a|b}} {{comma separated entries|a|b}}{{ubl|a|b}}c": "a · b a, b\na\nb\nc",
    "{{transl|ar|DIN|x}} {{transl|ar|x}} {{transl|x}} 5{{e|-6}} x{{sup|2}} y{{sub|3}}": "x x x 5×10^−6 x^2 y3",
    "{{official website|http://a.b}} {{official|a|B}} {{official|a|B|name=C}}": "Official website B C",
    "{{sortname|first=A|last=B}} {{sortname|A|B|first=C|last=D}} {{sortname||B}}": "A B C D B",
    "{{bibleref|1 John|2|NIV}} {{bibleverse|1|John|2|NIV}} {{bible verse||John|3}}": "1 John 2 1 John 2 John 3",
    "a {{cite book|title=T|last1=A|last2=B|first2=X|author3=C|last9=D|date=1|year=2}} b": "a A; B, X; C; D (1). T. b",
    "a {{cite book|title=T|last=A|editor=B|contribution=D|chapter=C}} b": 'a A. "C". T. b',
    "a {{cite book|title=T|authors=A|vauthors=B|contribution=D|location=L}} b": 'a A. "D". T. L. b',
    "a {{cite book|title=T|vauthors=B|publisher=P|year=2}} b": "a B (2). T. P. b",
    "a {{citation|title=T|periodical=P|issue=2|year=1}} b {{cite x|title=T|page=3|at=x|nopp=y}} c": 'a "T". P (2). 1. b "T". 3. c',
    "a {{citation|title=T|pages=3–4|editor-last=A|editor-first=B|editor2=C}} b": "a A, B; C, ed. T. pp. 3–4. b",
    "{{#switch:a}}x{{#switch:a|b}}": "xb",
    "{{age in days|2000|2|3|2001}} {{age|2000|2|3|2001}}": "333 0",
    "{{convert|0|km|mi|spell=in}} {{convert|1|km|mi|spell=in}}": "zero kilometres (0 mi) one kilometre (0.62 mi)",
    "{{convert|1|km|mi|order=flip|sigfig=1}}": "0.6 miles (1 km)",
    "a<rp>(</rp>b<rt>c</rt>": "a(bc",
}


@pytest.mark.parametrize("text", SHOWN)
def test_markup_at_its_edges_shows_what_the_reader_sees(text):
    assert wikitext.sections(text) == [("abstract", SHOWN[text])]
    assert wikitext.scanned_sections(text) == [("abstract", SHOWN[text])]


STRUCK = {
    "He came.{{zzz}}{{yyy}} Then.": ("He came. Then.", {}),
    "He {{zzz}} came. Then.": ("Then.", {"zzz": 1}),
    "He came.{{zzz}}x Then.": ("", {"zzz": 1}),
    "{{zzz}}He came.": ("", {"zzz": 1}),
    "* item {{yyy}} {{zzz}}": ("item", {}),
    "* item is {{zzz}}": ("", {"zzz": 1}),
    "{{#expr:1/0}} a": ("", {"#expr:1/0": 1}),
    "{{#expr:a}} b": ("", {"#expr:a": 1}),
    "a {{#tag:math|x}} b. Yes.": ("", {"#tag:math": 1}),
    "x<score>a</score> y. Then z.": ("Then z.", {"<score>": 1}),
    "<math>\\weird{a}</math> is. B.": ("B.", {"<math>": 1}),
}


@pytest.mark.parametrize("text", STRUCK)
def test_what_is_not_known_costs_its_sentence_unless_it_is_a_note(text):
    struck = Counter()
    shown, counts = STRUCK[text]
    assert wikitext.sections(text, struck) == [("abstract", shown)]
    assert struck == counts


def test_an_unknown_template_is_a_hole_of_sixty_characters_or_a_box():
    holes = Holes()
    render("x" * 60, holes)
    render("y" * 61, holes)
    assert render("zzz\n|a", holes) == BREAK
    assert render("DEFAULTSORTKEY:Lee", holes) == GONE
    assert holes.names == [*TAGS, "x" * 60, "y" * 60]


def test_bars_inside_a_closed_link_part_no_arguments():
    assert split_arguments("a|[[b|[[c|d]]|e]]|f") == ["a", "[[b|[[c|d]]|e]]", "f"]
    assert split_arguments("a|[[b|c") == ["a", "[[b", "c"]
    assert split_arguments("a]]|b") == ["a]]", "b"]


def test_a_name_of_a_template_is_compared_without_marks_and_case():
    assert template_name(f" Infobox_{GONE} Person\n") == "infobox person"


def test_a_sum_is_calculated_up_to_200_characters():
    assert calculated("1" + "+1" * 99 + " ") == 100
    assert calculated("1" + "+1" * 100) is None
    assert calculated("2**3") is None
    assert calculated("...") is None
    assert calculated("7 div 2") == 3.5


@pytest.mark.parametrize(("depth", "words"), [(40, 40), (41, 0), (81, 40), (82, 0), (2_000, 32)])
def test_every_forty_first_nested_template_is_a_hole(depth, words):
    holes = Holes()
    rendered = without_templates("{{small|word " * depth + "x" + "}}" * depth, holes)
    innermost = "x" if depth == 40 else holes.mark(TOO_DEEP)
    assert rendered == "word " * words + innermost


def test_templates_beside_one_another_add_nothing_to_their_height():
    holes = Holes()
    deep = "{{{1|" * 40 + "x" + "}}}" * 40
    assert without_templates(f"{deep} {{{{small|y}}}} {deep}", holes) == "x y x"
    assert without_templates(f"{{{{small|{deep}}}}} z", holes) == f"{holes.mark(TOO_DEEP)} z"
