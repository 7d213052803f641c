"""Templates by the documentation of each on the English Wikipedia: what the page shows for the parameters."""

import pytest

from longform.datasets.wikipedia import wikitext
from longform.datasets.wikipedia.convert import convert
from longform.datasets.wikipedia.measures import Unit


def seen(text):
    """The introduction as the reader sees it."""
    return wikitext.sections(text)[0][1]


SIGNS = {
    "{{ipaslink|a}} {{ipablink|b}} {{ipalink|s}}": "/a/ [b] s",
    "{{brackets|x}} {{parentheses|y}} {{mset|1, 2}} {{angle|q}}": "[x] (y) {1, 2} ⟨q⟩",
    "{{radic|3}} {{abs|x}}": "√3 |x|",
    "{{gloss|to go}} {{double quotes|so}}": "'to go' \"so\"",
    "5{{e|6}}, 5{{x10^|6}} and {{numero|7}}": "5×10^6, 5×10^6 and No. 7",
    "({{b.|1900}}, {{d.|1950}})": "(b. 1900, d. 1950)",
    "{{ordered list|one|two}}x": "one\ntwo\nx",
    "They are {{plainlist|\n* one\n* two\n}} Then {{flatlist|\n* three\n}}": "They are\none\ntwo\nThen\nthree",
    "{{cslist|a|b|c}}; {{flat list|d|e}}": "a, b, c; d · e",
    "{{columns-list|colwidth=20em|one two}}": "one two",
    "{{col-list|x|one}} {{col-list|x|y|text=two}} {{col-list|text=x|content=three}}": "one two three",
    "{{key press|Ctrl|Alt|C}}": "Ctrl+Alt+C",
    "{{linktext|宋|齊}}": "宋齊",
    "B{{music|flat}} C{{music|sharp}} D{{music|natural}} {{music|doubleflat}} {{music|doublesharp}}": "B♭ C♯ D♮ 𝄫 𝄪",
    "{{slink|Ulm|History}} {{slink|Ulm}}": "Ulm § History Ulm",
    "{{xt|good|x}} {{!xt|bad}} {{tlx|stub|x}}": "good bad {{stub|x}}",
    "{{uc|abc}} {{lc|ABC}} a{{nbsp|2}}b": "ABC abc a b",
    "{{sortname|Ann|Lee}} {{sortname|Plato|}}": "Ann Lee Plato",
    "{{sic|un|known}} {{sic|hide=y|he|come}} {{sic}}": "unknown [sic] hecome [sic]",
    "{{bibleverse|1|John|3:16}}, {{bibleverse||John|3}}, {{bibleref|Mark|4:1}}": "1 John 3:16, John 3, Mark 4:1",
    "{{ill|Foo|de|Bar|lt=shown}} {{url|example.com|here}}": "shown here",
    "{{official website|http://a.b|name=Home}}": "Home",
    "{{US$|1500}} {{£|20000}} {{CHF|5}} {{euro}}": "US$1,500 £20,000 CHF 5 €",
    "{{color|red|words}} {{lang|de|Wort}} {{small|a|b}}": "words Wort a",
}


@pytest.mark.parametrize("text", SIGNS)
def test_templates_of_signs_and_lists_show_their_words(text):
    assert seen(text) == SIGNS[text]


DATES = {
    "{{start date|1999}}; {{start date|1999|12}}; {{start date|1999|12|31|df=yes}}": (
        "1999; December 1999; 31 December 1999"
    ),
    "{{start date|1999|May|3}} {{start date|c. 1500}}": "May 3, 1999 c. 1500",
    "{{age|1960|5|10|2000|5|9}} {{age|1960|5|10|2000|5|10}} {{age|1960|5|10|2000|6|1}}": "39 40 40",
    "{{age in days|2000|1|1|2000|3|1}} {{age in days|2000|1|1|2010|1|1}}": "60 3,653",
    "{{ayd|1990|5|10|2000|5|11}}": "10 years, 1 day",
    "{{ayd|1990|5|10|1991|5|10}}": "1 year, 0 days",
    "{{ayd|1990|5|10|1991|5|9}}": "0 years, 364 days",
    "{{ayd|2000|2|29|2001|3|1}}, {{ayd|2000|2|29|2001|3|3}}": "1 year, 0 days, 1 year, 2 days",
    "{{circa|1450|1460}} {{as of|2009|alt=in|post=!}} {{as of|2009|bare=y|post=,}}": (
        "c. 1450 – c. 1460 in! 2009,"
    ),
    "{{reign|1200}} {{reign||1210}} {{reign|1200|1210|1220}}": "r. 1200 r. r. 1200–1210",
    "{{age|2000|1|1|x}}": "",
    "{{death date and age|1990|5|1|1950|4|1|df=y}}": "1 May 1990 (aged 40)",
    "{{death date and age|1990|5|1}}": "May 1, 1990",
    "{{oldstyledate|2 May|1700|22 April}}": "2 May [O.S. 22 April] 1700",
    "{{oldstyledate|2 May|1700}}{{oldstyledate||1700|22 April}}": "",
    "{{as of|2009|5|12}}": "As of 12 May 2009",
    "{{as of|2009|5|12|df=US}}": "As of May 12, 2009",
    "{{as of|2009|since=y}}, {{as of|2009|since=y|lc=y}}": "Since 2009, since 2009",
    "{{as of|2009|pre=early|post=.}}": "As of early 2009.",
    "{{as of|2009|bare=yes}}": "2009",
    "{{reign|1200|1210}} {{floruit|1200|1210}} {{reign}}": "r. 1200–1210 fl. 1200–1210 r.",
    "{{circa}} {{circa|900}}": "c. c. 900",
    "{{start date|1999|Foo|3}}": "",
    "{{start date|1999|13|3}}": "",
    "{{start date|1999|12|x}}": "",
}


@pytest.mark.parametrize("text", DATES)
def test_templates_of_dates_and_ages_show_the_calendar(text):
    assert seen(text) == DATES[text]


NUMBERS = {
    "{{frac|5}} {{frac|2|3}} {{frac|7|2|3}} {{sfrac|x+1}}": "1/5 2/3 7 2/3 1/(x+1)",
    "{{val|1234567|fmt=commas}} {{val|-5}}": "1,234,567 −5",
    "{{val|5|3|1}}": "5 +3−1",
    "{{val|1.5|(2)|e=3}} {{val|1.5|0.2|e=-3}}": "1.5(2)×10^3 (1.5±0.2)×10^−3",
    "{{val|20|u=%}} {{val|20|u=°}} {{val|9.8|u=m|up=s2}}": "20% 20° 9.8 m/s^2",
    "{{val|5|u=kg.m.s-1}} {{val|5|ul=km|end=!}}": "5 kg⋅m⋅s^−1 5 km!",
    "{{val|p=~|5|s=x|u=m}}": "~5x m",
    "{{gaps|lhs=a|1|2|rhs=b}}": "a1 2b",
    "{{num|12345}} {{nts|-1234.5|6}} {{formatnum:123}}": "12,345 -1,234.5 123",
    "{{chem|H|2|O}} {{chem|SO|4|2-}} {{chem2|Fe(3+)}}": "H2O SO4^2− Fe^3+",
    "{{nuclide|hydrogen|2}} {{simplenuclide|cesium|137}} {{nuclide|U|235}}": "2H 137Cs 235U",
    "x{{su|p=2|b=i}} x{{su|p=2}}": "x^2_i x^2",
    "{{coord|31.5|-37.25}}": "31.5°N 37.25°W",
    "{{coord|-31.5|37.25|type:city}}": "31.5°S 37.25°E",
    "{{coord|31|50|10|S|37|17|20|E|region:DE}}": "31°50′10″S 37°17′20″E",
    "{{coord|31|S|37|E|display=inline,title}}": "31°S 37°E",
    "{{coord|0.5|0}} {{coord|display=title|1.5|2}}a {{coord|31|37}}": "0.5°N 0°E a 31°37′",
    "{{val|5|+3|-1|u=m}} {{chem|OH|-}} {{nuclide|aluminum|27}}": "5 +3−1 m OH^− 27Al",
    "{{frac|1|2|3|4}}": "",
    "{{convert|5|km|abbr=on}} {{cvt|5|km|mi}}": "5 km (3.1 mi) 5 km (3.1 mi)",
    "{{val|1|u=[a.b]}} {{val|2|u=m.<b>s</b>}} {{val|3|u=m.s-1}}": "1 [a.b] 2 m.s 3 m⋅s^−1",
}


@pytest.mark.parametrize("text", NUMBERS)
def test_templates_of_numbers_show_them_as_they_are_set(text):
    assert seen(text) == NUMBERS[text]


@pytest.mark.parametrize(
    "millimetres", [600, 610, 750, 760, 762, 914, 1000, 1067, 1435, 1520, 1524, 1600, 1668, 1676]
)
def test_a_track_gauge_has_its_width_in_feet_and_inches(millimetres):
    shown = seen(f"{{{{track gauge|{millimetres}mm}}}}")
    metric, _, imperial = shown.removesuffix(")").partition(" mm (")
    words = imperial.split()
    feet = float(words[0])
    inches = sum(eval(word) for word in words[2:-1])  # "8 1/2" is 8 and a half
    assert metric == f"{millimetres:,}"
    assert 25.4 * (12 * feet + inches) == pytest.approx(millimetres, abs=0.85)


SHIPS = {
    "{{HMS|Ajax|22}} {{HMS|Ajax}}": "HMS Ajax (22) HMS Ajax",
    "{{HMS|Ajax|22|1}} {{HMS|Ajax|22|2}} {{HMS|Ajax|22|3}}": "22 Ajax Ajax (22)",
    "{{HMS|Ajax|22|5}} {{HMS|Ajax|22|6}}": "HMS 22 HMS Ajax",
    "{{ship|French ship|Foudre|1895}} {{ship||Foudre||2}}": "French ship Foudre (1895) Foudre",
    "{{MV|Doulos}} {{HNoMS|Thor}}": "MV Doulos HNoMS Thor",
    "the {{sclass|Nimitz|aircraft carrier}}s": "the Nimitz-class aircraft carriers",
}


@pytest.mark.parametrize("text", SHIPS)
def test_ships_have_prefix_name_and_number_as_the_format_says(text):
    assert seen(text) == SHIPS[text]


SPEECH = {
    "{{zh|t=A|s=B|hp=C}}": "simplified Chinese: B; traditional Chinese: A; pinyin: C",
    "{{zh|c=A|p=B|labels=no}} {{zh|A}}": "A; B Chinese: A",
    "{{zh|c=A|w=B|j=C|cy=D|poj=E|tp=F|l=big}}": (
        "Chinese: A; Tongyong Pinyin: F; Wade–Giles: B; Jyutping: C; Cantonese Yale: D; "
        "Pe̍h-ōe-jī: E; lit. 'big'"
    ),
    "{{lang-zh|c=A}} {{langx|zh|c=A}}": "Chinese: A Chinese: A",
    "{{lang-el|A|translit=B|lit=C}}": "Greek: A, romanized: B, lit. 'C'",
    "{{lang-el|A|x|y|r=B|t=C}}; {{lang-el|A|r=x|tr=B|t=y|translation=C}}; "
    "{{lang-el|A|tr=x|translit=B|translation=y|lit=C}}": "; ".join(
        ["Greek: A, romanized: B, lit. 'C'"] * 3
    ),
    "{{langx|el|A|B|C|label=none}}": "A, romanized: B, lit. 'C'",
    "{{lang-de|A|text=B}} {{lang-de|text=C}}": "German: B German: C",
    "{{lang-de|A|p=B}} {{lang-de|A|label=Swiss}}": "German: A, IPA: [B] Swiss: A",
    "{{nihongo|Tiger|虎|tora|a cat}}": "Tiger (虎, tora, a cat)",
    "{{nihongo3|Tiger|虎|tora}}": "tora (虎, Tiger)",
    "{{nihongo|Tiger|虎|lead=yes}} {{nihongo|Tiger}}": "Tiger (Japanese: 虎) Tiger",
    "{{nihongo|Tiger|虎|extra=x}} {{nihongo||虎}}": "Tiger (虎, x) 虎",
    "{{korean|hangul=한|mr=Han}}": "Korean: 한; MR: Han",
    "{{IPAc-en|uk|ə|ˈ|d|oʊ|_|b}} {{IPAc-en|lang|a|us.ogg}}": "UK: /əˈdoʊ b/ English: /a/",
    "{{IPAc-en|us|pron|a|-|b|,|c}}": "US: pronounced /ab, c/",
    "{{IPA-de|a}} {{IPA-de|a|local}} {{IPA-de|a|pron}}": "German pronunciation: [a] locally [a] pronounced [a]",
    "{{IPA-de|a|also}} {{IPA-de|a|Berlin:}}": "also [a] Berlin: [a]",
    "{{IPA|de|a|Bavarian}}": "Bavarian [a]",
    "{{IPA-all|a}} {{IPA-all|a|local}} {{IPA|de|a}} {{IPA|de|a|pron}}": (
        "[a] locally [a] German: [a] pronounced [a]"
    ),
    "{{respell|sal|AH|_|da}} {{respell|a|,|b}}": "sal-AH da a, b",
}


@pytest.mark.parametrize("text", SPEECH)
def test_templates_of_speech_name_the_language_and_the_sounds(text):
    assert seen(text) == SPEECH[text]


SOURCES = {
    "See {{cite journal|last=Roe|first=Ann|title=Ants|journal=Bugs|volume=3|issue=2|pages=5–9|date=1990}}.": (
        'See Roe, Ann (1990). "Ants". Bugs 3 (2). pp. 5–9.'
    ),
    "See {{cite book|title=Ants|edition=2nd|location=Ulm|publisher=Bee|page=7|year=1990}}.": (
        "See Ants (2nd ed.). Ulm: Bee. p. 7. 1990."
    ),
    "See {{cite book|title=Ants|pages=3, 7}} and {{cite book|title=Ants|pages=3 & 7}}.": (
        "See Ants. pp. 3, 7. and Ants. pp. 3 & 7."
    ),
    "See {{cite book|title=Ants|pages=7}} and {{cite book|title=Ants|page=3-1}}.": (
        "See Ants. p. 7. and Ants. p. 3-1."
    ),
    "See {{cite book|title=Ants|at=sec. 5}} and {{cite book|title=Ants|pages=cover|nopp=y}}.": (
        "See Ants. sec. 5. and Ants. cover."
    ),
    "See {{cite book|last1=Roe|first1=A.|last2=Poe|title=Ants|chapter=Bees|year=1990}}.": (
        'See Roe, A.; Poe (1990). "Bees". Ants.'
    ),
    "See {{citation|editor-last=Roe|editor-first=Ann|title=Ants|year=1990}}.": (
        "See Roe, Ann, ed. (1990). Ants."
    ),
    "See {{cite web|author=Ann Roe|title=Ants|website=Bugs}}.": 'See Ann Roe. "Ants". Bugs.',
}


@pytest.mark.parametrize("text", SOURCES)
def test_a_source_inside_a_sentence_is_shown_as_its_style_says(text):
    assert seen(text).replace("..", ".") == SOURCES[text]


QUOTES = {
    "Said:{{quote|text=Go.|author=Ann|title=Songs|source=page 1}}": "Said:\nGo.\n— Ann, Songs, page 1",
    "Said:{{cquote|Go.|20px|20px|Ann|page 1}}": "Said:\nGo.\n— Ann, page 1",
    "Said:{{rquote|left|Go.|Ann|Songs}}": "Said:\nGo.\n— Ann, Songs",
    "Said:{{poemquote|one\ntwo|Ann}}": "Said:\none\ntwo\n— Ann",
    "Said:{{blockquote|Go.}}And": "Said:\nGo.\nAnd",
    "Said:{{poem|one\ntwo}}": "Said:\none\ntwo",
    "{{centered|Go.}}{{bq|Stop.}}\n{{block indent|Wait.}}": "Go.\nStop.\nWait.",
}


@pytest.mark.parametrize("text", QUOTES)
def test_a_quotation_is_a_paragraph_and_who_said_it_another(text):
    assert seen(text) == QUOTES[text]


FUNCTIONS = {
    "{{#if: |yes|no}} {{#if:x|yes}} {{#ifeq:a|a|same}} {{#ifeq:a|b|same}}.": "no yes same.",
    "{{#switch:z|a=1|#default=2|b=3}} {{#switch:z|a=1|2}} {{#switch:a|a|b=1|c=2}}": "2 2 1",
    "{{#expr:7*6}} {{#expr:-(1+2)}} {{#expr:7 mod 4}} {{#expr:1/4}} {{#expr:6 div 3}}": "42 −3 3 0.25 2",
    "{{lcfirst:ABC}} {{ucfirst:abc}} {{uc:abc}} {{lc:ABC}}": "aBC Abc ABC abc",
    "{{DEFAULTSORT:x}}a{{#tag:ref|note}}b": "ab",
    "{{formatnum:1234567}} {{formatnum:1,234,567|R}}": "1,234,567 1234567",
}


@pytest.mark.parametrize("text", FUNCTIONS)
def test_parser_functions_show_what_mediawiki_computes(text):
    assert seen(text) == FUNCTIONS[text]


CONVERSIONS = {
    # disp=
    "5|mi|km|disp=or": "5 miles or 8.0 kilometres",
    "5|mi|km|disp=comma|abbr=on": "5 mi, 8.0 km",
    "5|mi|km|disp=slash|abbr=on": "5 mi/8.0 km",
    "5|mi|km|disp=sqbr": "5 miles [8.0 km]",
    "5|mi|km|disp=number": "8.0",
    "5|mi|km|disp=output only": "8.0 km",
    "5|mi|km|disp=flip": "8.0 kilometres (5 mi)",
    # words
    "1|mi|km|abbr=off": "1 mile (1.6 kilometres)",
    "5|mi|km|abbr=in": "5 mi (8.0 kilometres)",
    "5|mi|km|sp=us|abbr=off": "5 miles (8.0 kilometers)",
    "-5|kilometers|mi|abbr=off": "−5 kilometres (−3.1 miles)",
    "1/2|to|2/2|in|mm": "1/2 to 2/2 inches (13 to 25 mm)",
    "800|C|F": "800 °C (1,470 °F)",
    "1000|K|C": "1,000 K (730 °C)",
    "5|mi|km|spell=In": "Five miles (8.0 km)",
    "42|mi|km|spell=in": "forty-two miles (68 km)",
    "20|mi|km|spell=in": "twenty miles (32 km)",
    "10|mi|km|adj=pre|long": "10 long miles (16 km)",
    "10|to|20|mi|km|adj=on": "10-to-20-mile (16 to 32 km)",
    "10|sqmi|km2|adj=on": "10-square-mile (26 km^2)",
    "10|mi|km|adj=pre": "10 miles (16 km)",
    "500|to|1000|m|km|abbr=off": "500 to 1,000 metres (0.50 to 1.00 kilometres)",
    "1000|m|km|abbr=off": "1,000 metres (1.0 kilometre)",
    "2000|m|km|abbr=off|sp=us": "2,000 meters (2.0 kilometers)",
    "500|to|1000|m|km|disp=or": "500 to 1,000 metres or 0.50 to 1.00 kilometres",
    "1|to|2|mi|km|round=each": "1 to 2 miles (1.6 to 3.2 km)",
    "12345|ft|m|sigfig=2": "12,345 feet (3,800 m)",
    "6|by|4|ft|m|abbr=on": "6 ft × 4 ft (1.8 m × 1.2 m)",
    # numbers
    "12345|ft|m|comma=off": "12345 feet (3763 m)",
    "1234|ft|m|0": "1,234 feet (376 m)",
    "1234|ft|m|-2": "1,234 feet (400 m)",
    "5.0|km|mi": "5.0 kilometres (3.1 mi)",
    "5.00|km|mi": "5.00 kilometres (3.11 mi)",
    "100|km|mi|round=5": "100 kilometres (60 mi)",
    "100|km|mi|round=25": "100 kilometres (50 mi)",
    "123|km|mi|round=10": "123 kilometres (80 mi)",
    "223|km|mi|round=50": "223 kilometres (150 mi)",
    "5|km|mi|round=0.5": "5 kilometres (3.0 mi)",
    "5|mi|km|disp=unheard": None,
    "-|km": None,
    ".|km": None,
    "-.5|km|mi": "−0.5 kilometres (−0.31 mi)",
    "5.|km|mi": "5. kilometres (3.1 mi)",
    "1/0|km": None,
    "1,234.5|km|mi": "1,234.5 kilometres (767.1 mi)",
    "100|km|mi|sigfig=1": "100 kilometres (60 mi)",
    "2 1/2|in|cm": "2+1/2 inches (6.4 cm)",
    "½|mi|km": "1/2 mile (0.80 km)",
    "1e3|m|km": "1×10^3 metres (1.0 km)",
    "0|C|F": "0 °C (32 °F)",
    # a temperature has its name where abbreviations are off, else its symbol
    "5|C|F|abbr=off": "5 degrees Celsius (41 degrees Fahrenheit)",
    "5|C|F|abbr=none": "5 degrees Celsius (41 degrees Fahrenheit)",
    "5|C|F|abbr=in": "5 °C (41 degrees Fahrenheit)",
    "5|C|F|abbr=out": "5 degrees Celsius (41 °F)",
    "5|C|F|disp=or": "5 °C or 41 °F",
    "1|to|5|C|F|abbr=off": "1 to 5 degrees Celsius (34 to 41 degrees Fahrenheit)",
    "5|C|F|order=flip": "41 °F (5 °C)",
    "5|C|F|order=flip|abbr=off": "41 degrees Fahrenheit (5 degrees Celsius)",
    "5|mi|km|order=flip|abbr=off": "8.0 kilometres (5 miles)",
    "100|F|C": "100 °F (38 °C)",
    # ranges
    "5|and|10|km|mi": "5 and 10 kilometres (3.1 and 6.2 mi)",
    "5|x|10|m|ft": "5 by 10 metres (16 ft × 33 ft)",
    "5|+/-|1|km|mi|1": "5 ± 1 kilometres (3.1 ± 0.6 mi)",
    "5–10|km|mi": "5–10 kilometres (3.1–6.2 mi)",
    "5|to|10|km|mi|abbr=on": "5 to 10 km (3.1 to 6.2 mi)",
    # two units
    "6|ft|1|in|cm": "6 feet 1 inch (185 cm)",
    "6|ft|2|in|m|abbr=on": "6 ft 2 in (1.88 m)",
    "6|ft|2|in|m|adj=on": "6-foot-2-inch (1.88 m)",
    "10|lb|4|oz|kg": "10 pounds 4 ounces (4.6 kg)",
    "185|cm|ftin|abbr=on": "185 cm (6 ft 1 in)",
    "70|kg|stlb|abbr=on": "70 kg (11 st 0 lb)",
    "183|cm|ftin|abbr=on": "183 cm (6 ft 0 in)",
    "25|cm|ftin|abbr=on": "25 cm (10 in)",
    # a whole number in feet or pounds
    "324|m|ft": "324 metres (1,063 ft)",
    "1200|m|ft": "1,200 metres (3,900 ft)",
    "324.5|m|ft": "324.5 metres (1,065 ft)",
    "71|kg|lb": "71 kilograms (157 lb)",
    "324|m|yd": "324 metres (354 yd)",
    # the first output before the brackets
    "5|mi|km|order=flip|adj=on": "8.0-kilometre (5 mi)",
    "5|to|10|km|mi|order=flip": "3.1 to 6.2 miles (5 to 10 km)",
    "5|by|6|ft|m|order=flip": "1.5 metres × 1.8 metres (5 × 6 ft)",
    "5|km|mi nmi|order=flip": "3.1 miles (5 km; 2.7 nmi)",
    "6|ft|2|in|cm|order=flip": "188 centimetres (6 feet 2 inches)",
    "185|cm|ftin|order=flip": "6 ft 1 in (185 cm)",
    "5|mi|km|order=flip|abbr=on": "8.0 km (5 mi)",
    "5|mi|km|order=flip|cvt=1|abbr=off": "8.0 km (5 mi)",
    # several outputs, and codes that are of another kind or of none
    "5|km|mi+nmi": "5 kilometres (3.1 mi; 2.7 nmi)",
    "5|km|mi nmi|disp=number": "3.1",
    "5|km|kg": None,
    "5|km|mi kg": None,
    "5|km|zzz": None,
    "5|to|zzz|km": None,
    "5|ft|6|lb|m": None,
    "5": None,
    # rounding
    "44|km|mi|round=5": "44 kilometres (25 mi)",
    "4|km|mi|round=0.5": "4 kilometres (2.5 mi)",
    "100|km|mi|0|round=5": "100 kilometres (62 mi)",
    "1|m|m|sigfig=2": "1 metre (1.0 m)",
    "0|m|km|sigfig=2": "0 metres (0.0 km)",
    "1|to|2.5|km|mi": "1 to 2.5 kilometres (0.62 to 1.55 mi)",
    "1|to|2.5|km|mi|round=each": "1 to 2.5 kilometres (0.62 to 1.6 mi)",
    "184|cm|ftin|abbr=on": "184 cm (6 ft 0 in)",
    "2000|m|ftin": "2,000 metres (6,561 ft 8 in)",
    "2|x|3|m|ftin": "2 by 3 metres (6 ft 7 in × 9 ft 10 in)",
    "9999|km|mi|comma=off": "9999 kilometres (6213 mi)",
    "1000|m|ft|comma=off|abbr=on": "1000 m (3300 ft)",
    "1000|,|2000|m|ft|comma=off": "1000, 2000 metres (3300, 6600 ft)",
    "5000|mi|km|comma=off|order=flip": "8000 kilometres (5000 mi)",
    "20000|m|ftin|comma=off": "20000 metres (65616 ft 10 in)",
    "12345|ft|m|comma=5": "12,345 feet (3763 m)",
    "1234|-|123456|ft|m|comma=5": "1234–123,456 feet (376–37,629 m)",
    "20000|m|ftin|comma=5": "20,000 metres (65,616 ft 10 in)",
    "5|mi|km|abbr=values": "5 (8.0)",
    "5|mi|km|abbr=values|order=flip": "8.0 (5)",
    "5|by|6|ft|m|abbr=values": "5 by 6 (1.5 × 1.8)",
    # names, symbols and multiples
    "5|e6km|e6mi|abbr=on": "5×10^6 km (3.1×10^6 mi)",
    "5|e6km|e6mi|abbr=off": "5 million kilometres (3.1 million miles)",
    "5|/sqmi|/km2": "5 per square mile (1.9/km^2)",
    "5|/sqmi|/km2|abbr=on": "5/sq mi (1.9/km^2)",
    "5|mi|km|adj=mid|-long": "5-mile-long (8.0 km)",
    "5|to|7|ft|m|adj=mid|-long": "5-to-7-foot-long (1.5 to 2.1 m)",
    "5|mi|adj=pre|C": "5 C miles (8.0 km)",
    "5|mi|km|adj=mid": "5-mile (8.0 km)",
    "5|mi|km|sing=on": "5-mile (8.0 km)",
    "5|mi|km|cvt=1": "5 mi (8.0 km)",
    "5|mi|km|cvt=1|abbr=off": "5 miles (8.0 km)",
    "-1|C|F|abbr=off": "−1 degree Celsius (30 degrees Fahrenheit)",
    "0|to|1|mi|km|abbr=off": "0 to 1 miles (0.0 to 1.6 kilometres)",
    "5|by|6|ft|m|abbr=off": "5 by 6 feet (1.5 metres × 1.8 metres)",
    "5|km|mi|disp=or|abbr=on": "5 km or 3.1 mi",
    "5|to|10|mi|km|spell=in": None,
    "2.5|mi|km|spell=in": None,
    "100|mi|km|spell=in": None,
    "1|mi|km|spell=On": "One mile (1.6 km)",
    "11|st|4|lb": "11 stone 4 pounds (158 lb; 72 kg)",
    "5|ft|6|in": "5 feet 6 inches (1.68 m)",
    "5|ft|6.5|in|cm": "5 feet 6.5 inches (168.9 cm)",
    "6|ft|2|in|m|adj=on|abbr=on": "6 ft 2 in (1.88 m)",
}


@pytest.mark.parametrize("given", CONVERSIONS)
def test_options_of_a_conversion_are_heeded(given):
    parts = [part.partition("=") for part in given.split("|")]
    positional = [name for name, equals, _ in parts if not equals]
    named = {name: value for name, equals, value in parts if equals}
    assert convert(positional, named) == CONVERSIONS[given]


def test_zero_kelvins_are_read_on_each_scale_of_temperature():
    for code, zero in (
        ("C", -273.15),
        ("°C", -273.15),
        ("F", -459.67),
        ("°F", -459.67),
        ("K", 0.0),
    ):
        assert Unit(code, "", "", "", "", 1.0, "").offset == zero
