"""Wikitext as a reader of the page sees it; each expected text was written from the page that MediaWiki shows for the wikitext."""

from collections import Counter
from fractions import Fraction

import pytest

from longform.datasets.wikipedia import wikitext
from longform.datasets.wikipedia.convert import convert
from longform.datasets.wikipedia.formulas import tex_text
from longform.datasets.wikipedia.template_values import GAUGES


def seen(text):
    """The introduction, by tree and by scanner alike."""
    read = wikitext.sections(text)
    assert wikitext.scanned_sections(text) == read
    return read[0][1]


TAGS = {
    "10<sup>6</sup> people": "10^6 people",
    "5 × 10<sup>−3</sup> m<sup>2</sup>": "5 × 10^−3 m^2",
    "the 19<sup>th</sup> century, <sup>238</sup>U": "the 19th century, 238U",
    "''x''<sup>''n''+1</sup> and ''a''<sub>''i''</sub>": "x^(n+1) and a_i",
    "H<sub>2</sub>O and 101<sub>2</sub>": "H2O and 101_2",
    "Ca<sup>2+</sup>": "Ca^2+",
    "Foo<sup>TM</sup>, Bar<sup>®</sup>, M<sup>lle</sup> and x<sup>n</sup>": "FooTM, Bar®, Mlle and x^n",
    "a<sup></sup> b<sub> </sub> (c)<sub>i</sub> (d)<sub>2</sub>": "a b (c)_i (d)2",
    "votes.<br>She": "votes.\nShe",
    "votes.<br />She": "votes.\nShe",
    "votes.<p>She</p>": "votes.\nShe",
    "votes.<h3>She</h3>": "votes.\nShe",
    "votes.<td>She</td>": "votes.\nShe",
    "<nowiki>{{stub}}</nowiki> is ''used''": "{{stub}} is used",
    "<nowiki>'''a''' [[b]] &lt;</nowiki>": "'''a''' [[b]] <",
    "a<nowiki/>b": "ab",
    "<code>f(a[i])</code> and <tt>x</tt>": "f(a[i]) and x",
    'Use <syntaxhighlight lang="c" inline>a{b}</syntaxhighlight> here': "Use a{b} here",
    "if a < b and c > d <b>x</b> <nothing>": "if a < b and c > d x <nothing>",
    "text.\n<source>a{b}</source>\nmore": "text.\nmore",
    "* <source>a{b}</source>\nmore": "more",
    "one\n<pre>a\n [[b]] &lt; c</pre>\ntwo": "one\na\n[[b]] < c\ntwo",
    "one <q>two</q>": 'one "two"',
    "<poem>one\ntwo</poem>": "one\ntwo",
    "a <span style='display:none'>hidden</span>b": "a b",
    "<math>\\frac{a}{b}=x^{2}</math> holds": "a/b=x^2 holds",
    "<math>x \\text{&amp;} y</math> is read": "x &amp; y is read",
    "<chem>SO4^{2-}</chem> and <ce>H2O</ce>": "SO4^2- and H2O",
    "a<!-- b -->c <ref>d</ref>e <ref name=x/>f": "ac e f",
    'x <ref>y</ref name="z"> w</ref>v': "x v",
}


@pytest.mark.parametrize("text", TAGS)
def test_tags_show_what_the_reader_sees(text):
    assert seen(text) == TAGS[text]


# HTML elements that a browser sets apart from the words before and behind them, and MediaWiki's poem
BLOCKS = """
blockquote caption center dd div dl dt h1 h2 h3 h4 h5 h6 hr li ol p poem table tbody td tfoot th thead
tr ul
"""


def test_an_element_that_stands_apart_parts_the_words_around_it():
    for name in BLOCKS.split():
        assert seen(f"votes.<{name}>She</{name}>won") == "votes.\nShe\nwon", name


MARKUP = {
    "; Ratio 3:4": "Ratio 3:4",
    "; Term : meaning\n: more": "Term : meaning\nmore",
    "call f() now": "call f() now",
    "empty ({{citation needed}}) pair ({{efn|x}}; {{lang|fr|mot}})": "empty pair (mot)",
    "[[:Category:Towns|the towns]] and [[:Category:Towns]]": "the towns and Category:Towns",
    "[[Category:Towns]][[de:Stadt]][[File:a.jpg|thumb|x [[y]]]] z": "z",
    "[[Media:a.ogg|listen]]": "listen",
    "many [[town]]s, [[Foo (bar)|]] and [[a|b]]c": "many towns, Foo and bc",
    "[http://x.y label] and http://x.y/a_b?c=d": "label and http://x.y/a_b?c=d",
    "[[w:Rob|R[obert] F[ills&#93;]], [[a|b [c] d]] and [x]": "R[obert] F[ills], b [c] d and [x]",
    "see [http://a.b''Name''] or [//a.b/it's<b>Bold</b>] at [http://a.b\"q\"]": 'see Name or Bold at "q"',
    "see [http://x.y l[1] m] and [http://a.b Nasty [[Link]]]": "see l[1 m] and Nasty Link",
    "first\n|x| is the absolute value": "first |x| is the absolute value",
    "|x| is the absolute value": "|x| is the absolute value",
    "''[[The Herald]]'''s editor": "The Herald's editor",
    "l''''amour''' and '''''both'''''": "l'amour and both",
    "''A Proposal'''s satire and '''bold'''": "A Proposal's satire and bold",
    "it's and ''a'' '''b'''": "it's and a b",
    "A &lt;b&gt; &amp;lt; &#8211; &#x2013; &eacute; AT&T &copy": "A <b> &lt; – – é AT&T &copy",
    "soft&shy;hyphen and 5&nbsp;km": "softhyphen and 5 km",
    "__NOTOC__ the method __init__": "the method __init__",
    "-{zh-hans:one;zh-hant:two}- -{three}-": "one three",
    "one\ntwo\n\nthree\n* four\n# five\n: six": "one two\nthree\nfour\nfive\nsix",
    "said {{citation needed}}, and then [[File:x.png|20px]] it": "said, and then it",
}


@pytest.mark.parametrize("text", MARKUP)
def test_markup_shows_what_the_reader_sees(text):
    assert seen(text) == MARKUP[text]


TEMPLATES = {
    "1900{{ndash}}1910, {{mdash}}, a{{snd}}b{{spaced ndash}}c": "1900–1910, —, a – b – c",
    "2.5{{nbsp}}million": "2.5 million",
    "''Eagle''{{'s}} and ''Columbia''{{'}}s": "Eagle's and Columbia's",
    "co{{shy}}operate": "cooperate",
    "an area of {{convert|5|km2|sqmi}}, is": "an area of 5 square kilometres (1.9 sq mi), is",
    "{{cvt|100|mi|km}} away": "100 mi (160 km) away",
    "{{lang|fr|mot}} {{lang-de|Wort}} {{langx|es|casa|lit=house}}": "mot German: Wort Spanish: casa, lit. 'house'",
    "{{lang-ru|слово|slovo}}": "Russian: слово, romanized: slovo",
    "{{transl|ar|ALA|alif}} {{transliteration|ru|slovo}}": "alif slovo",
    "{{nihongo|Sumo|相撲|sumō}} and {{nihongo||虎|Tora}}": "Sumo (相撲, sumō) and Tora (虎)",
    "{{IPA-de|ˈaʁ|lang}} {{IPAc-en|ˈ|m|æ|n}} {{IPA|/a/}}": "German: [ˈaʁ] /ˈmæn/ /a/",
    "{{respell|MAN|ti-kəs}} {{angbr|a}}": "MAN-ti-kəs ⟨a⟩",
    "{{as of|2009}}, {{as of|2009|5|12|lc=y}}, {{as of|2010|alt=in 2010}}": "As of 2009, as of 12 May 2009, in 2010",
    "{{circa|1450}} {{c.|1450|1500}} {{floruit|1200}}": "c. 1450 c. 1450 – c. 1500 fl. 1200",
    "{{formatnum:12345.6}} {{formatnum:1,234|R}}": "12,345.6 1234",
    "{{val|0.99985|u=A}} {{val|6.02|e=23|u=mol-1}}": "0.99985 A 6.02×10^23 mol^−1",
    "{{val|1.5|0.2|u=m}} 3.3{{e|-20}} {{gaps|1|234}}": "1.5±0.2 m 3.3×10^−20 1 234",
    "{{abbrlink|UK|United Kingdom}} {{hover title|seen on hover|seen}}": "UK seen",
    "{{nowrap|1=''E'' = mc<sup>2</sup>}} {{abbr|USA|United States}}": "E = mc^2 USA",
    "{{frac|1|2}} 1{{sfrac|1|4}} {{frac|3|1|2}} {{sfrac|a + b|c}}": "1/2 1 1/4 3 1/2 (a + b)/c",
    "{{math|''x'' > {{sqrt|2}}}} {{mvar|n}} {{pi}}": "x > √2 n π",
    "{{small|a}} {{em|b}} {{nobold|c}} {{vanchor|d}} 10{{sup|2}} x{{sub|i}}": "a b c d 10^2 x_i",
    "{{chem|Ge|9|2-}} {{chem2|H2O}} {{simplenuclide|potassium|40}}": "Ge9^2− H2O 40K",
    "{{birth date|1900|1|2}} {{birth date and age|1950|1|2|df=y}}": "January 2, 1900 2 January 1950",
    "aged {{age|1960|1|2|2000|1|1}}": "aged 39",
    "{{death date and age|1990|5|1|1950|6|1}}": "May 1, 1990 (aged 39)",
    "{{HMHS|Britannic}}, {{CCGS|Amundsen}} and {{SV|Tenacious}}": "HMHS Britannic, CCGS Amundsen and SV Tenacious",
    "{{URL|http://www.foo.com/}} {{official website|http://a.b}}": "foo.com Official website",
    "{{flag|Iran}} {{flagicon|US}} won": "Iran won",
    "{{USS|Hornet|CV-12|6}} {{HMS|Ajax|22}}": "USS Hornet HMS Ajax (22)",
    "{{USS|Hornet||3}} and {{USS|Hornet|CV-12|3}}": "Hornet and Hornet (CV-12)",
    "{{sic|teh}} {{sic|hide=y|foo}} {{okina}}a": "teh [sic] foo ʻa",
    "{{quote|We are here.|Bob|Book}}after": "We are here.\n— Bob, Book\nafter",
    "{{coord|31|50|N|37|17|W}}{{coord|1|2|display=title}}": "31°50′N 37°17′W",
    "{{coord|5.5|N}} and {{coord|5.5|-6.25}}": "5.5°N and 5.5°N 6.25°W",
    "{{hlist|a|b}} and {{ill|Foo|de|Bar}}": "a · b and Foo",
    "{{ubl|one|two}}": "one\ntwo",
    "{{RailGauge|1435mm}} and {{track gauge|1435|disp=1}}": "1,435 mm (4 ft 8 1/2 in) and 1,435 mm",
    "{{#if:x|yes|no}} {{#ifeq:a|b|c|d}} {{#switch:b|a=1|b=2}} {{#expr:2012-1950}}": "yes d 2 62",
    "{{lc:ABC}} {{ucfirst:abc}} {{{1|default}}}": "abc Abc default",
    "{{Template:Nowrap | a b }} {{ NOWRAP|c}}": "a b c",
    "{{small|with {{lang|fr|[[mot|mots]]}} in}}": "with mots in",
    "a {{!}} b {{=}} {{tl|stub}}": "a | b = {{stub}}",
    "As in {{cite book|last=Roe|title=Ants|year=1990}}, ants": "As in Roe (1990). Ants., ants",
    "* {{cite book|last=Roe|title=Ants}}\nx": "x",
    "Han ({{korean|hangul=한|hanja=韓|rr=Han}}) rose": "Han (Korean: 한; Hanja: 韓; RR: Han) rose",
    "Han ({{korean|한}}) rose": "Han (Korean: 한) rose",
}


@pytest.mark.parametrize("text", TEMPLATES)
def test_templates_show_what_the_reader_sees(text):
    assert seen(text) == TEMPLATES[text]


CONVERSIONS = {  # as the documentation of Template:Convert prints them
    "5|mi|km": "5 miles (8.0 km)",
    "1|mi|km": "1 mile (1.6 km)",
    "100|mi": "100 miles (160 km)",
    "10|to|1000|ft|m": "10 to 1,000 feet (3.0 to 304.8 m)",
    "1.7|-|1.9|kg|lb": "1.7–1.9 kilograms (3.7–4.2 lb)",
    "60-70|kg|lb": "60–70 kilograms (130–150 lb)",
    "10|by|5|m|ft": "10 by 5 metres (33 ft × 16 ft)",
    "5|ft|9|in|m": "5 feet 9 inches (1.75 m)",
    "1.75|m|ftin|abbr=on": "1.75 m (5 ft 9 in)",
    "12|st|7|lb": "12 stone 7 pounds (175 lb; 79 kg)",
    "10|mi|km|adj=on": "10-mile (16 km)",
    "10|mi|km|adj=mid|-long": "10-mile-long (16 km)",
    "5|mi|km|0|sing=on": "5-mile (8 km)",
    "37|C|F": "37 °C (99 °F)",
    "-40|C|F": "−40 °C (−40 °F)",
    "1200|m|ft|sp=us": "1,200 meters (3,900 ft)",
    "1|m|ft|0": "1 metre (3 ft)",
    "5|mi|km|sigfig=3": "5 miles (8.05 km)",
    "20|km|mi|order=flip": "12 miles (20 km)",
    "13|mi|km|abbr=off": "13 miles (21 kilometres)",
    "1/2|in|mm": "1/2 inch (13 mm)",
    "50|nmi|km mi": "50 nautical miles (93 km; 58 mi)",
    "300|/sqmi|/km2": "300 per square mile (120/km^2)",
    "5|e6acre|e6ha": "5 million acres (2.0×10^6 ha)",
    "24|km|nmi|abbr=on": "24 km (13 nmi)",
    "5|mi|km|spell=in": "five miles (8.0 km)",
    "5|km|kg": None,
    "5|parrots": None,
    "many|km": None,
}


@pytest.mark.parametrize("given", CONVERSIONS)
def test_measurements_are_converted_as_the_template_does(given):
    parts = [part.partition("=") for part in given.split("|")]
    positional = [name for name, equals, _ in parts if not equals]
    named = {name: value for name, equals, value in parts if equals}
    assert convert(positional, named) == CONVERSIONS[given]


FORMULAS = {
    r"e^{i\pi}+1=0": "e^(iπ)+1=0",
    r"\frac{1}{\sqrt{2\pi}}\int f(t)\,{\rm d}t": "1/(√(2π))∫ f(t) dt",
    r"{a \over b+1}": "a/(b+1)",
    r"x_1,\ldots,x_n \in \mathbb{R}": "x_1,…,x_n ∈ R",
    r"\lim_{x \to 0} \text{if } x": "lim_(x → 0) if x",
    r"\sin(\alpha) + \sin x": "sin(α) + sin x",
    r"\{a\}": "{a}",
    r"\begin{matrix}a\end{matrix}": None,
    r"\unknown{x}": None,
}


@pytest.mark.parametrize("tex", FORMULAS)
def test_formulas_become_a_line_of_text_or_are_refused(tex):
    assert tex_text(tex) == FORMULAS[tex]


HOLES = {
    "It has {{strange|5}} parts. It is old.": ("It is old.", {"strange": 1}),
    "It is old.{{strange note}} It is big.": ("It is old. It is big.", {}),
    "It is ({{Strange_one|x}}) big.": ("", {"strange one": 1}),
    "It is {{age|1960|1|2}} years old.": ("", {"age": 1}),
    "Where <math>\\begin{array}a\\end{array}</math> is. Good.": ("Good.", {"<math>": 1}),
    "{{convert|many|km}} of {{strange}} it.": ("", {"convert": 1}),
    "It is {{convert|5|to}} far. Good.": ("Good.", {"convert": 1}),
    "{{Strange box}}\nText.": ("Text.", {}),
    "{{Strange box\n|a=b}}Text.": ("Text.", {}),
    "{{Strange}}'''Ulm''' is a town.": ("Ulm is a town.", {}),
    "* ''Ants'' {{strange id|5}}\n* made of {{strange}}": ("Ants", {"strange": 1}),
    "{{small|a {{strange}} b}} c": ("", {"strange": 1}),
    "{{Infobox|a={{strange}}}}\n{|\n|{{strange}}\n|}\nx": ("x", {}),
}


@pytest.mark.parametrize("text", HOLES)
def test_a_sentence_with_a_hole_is_struck_and_counted(text):
    struck = Counter()
    assert (wikitext.sections(text, struck)[0][1], struck) == HOLES[text]


def test_titles_are_read_like_the_text():
    text = "x\n== {{anchor|y}} ''The'' [[town|Town]]{{nbsp}}1 <!-- c --> ==\nz\n== H<sub>2</sub>O<ref>n</ref> ==\nw"
    assert wikitext.sections(text) == [("abstract", "x"), ("The Town 1", "z"), ("H2O", "w")]


def test_a_table_or_template_that_never_ends_costs_its_own_lines():
    assert seen("{{Infobox\n|a=b\n|c={{d|\n'''X''' is it.\n\nY {{oops z.") == "X is it.\nY oops z."
    assert seen("{|\n! a\n| b\n\nText.\n\n|x| y") == "Text.\n|x| y"


def test_private_characters_of_a_page_are_no_marks_of_the_reader():
    assert seen("a \uf100 b \uf080 c \uf07b") == "a \ufffd b \ufffd c \ufffd"


def test_the_guarded_parser_counts_what_it_strikes():
    with wikitext.GuardedParser(page_seconds=5) as parser:
        sections, outcome = parser.read("It has {{strange|5}} parts. It is old.")
        parser.read("And {{strange|6}} more.")
    assert (sections, outcome) == ([("abstract", "It is old.")], "parsed")
    assert parser.struck == {"strange": 2}


@pytest.mark.parametrize(
    "template",
    [
        "{{age|²|1|1|2000|1|1}}",
        "{{convert|1e400|km|mi}}",
        "{{convert|5|km|mi|999}}",
        "{{formatnum:" + "9" * 5000 + "}}",
        "{{track gauge|" + "9" * 5000 + "mm}}",
    ],
)
def test_numbers_that_no_page_shows_cost_their_sentence_alone(template):
    struck = Counter()
    text = wikitext.sections(f"It is {template} old. It stands.", struck)[0][1]
    assert text == "It stands." and struck.total() == 1


def test_half_a_character_is_shown_as_one_that_is_not_known():
    assert wikitext.sections("It is &#xD800; old.")[0][1] == "It is \ufffd old."


def test_a_gauge_in_feet_is_the_one_in_millimetres():
    for millimetres, named in GAUGES.items():
        feet, _, *inches = named.removesuffix(" in").split()
        length = 304.8 * int(feet) + 25.4 * float(sum(map(Fraction, inches)))
        rounding = 0.71 if millimetres == 750 else 0.42
        assert length == pytest.approx(millimetres, rel=0, abs=rounding)
