"""Sentences as offsets: cases with one right answer, and identities over any text."""

import importlib.util
import itertools
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longform.documents import SECTION_BREAK
from longform.text.sentences import SPLITTERS, sentence_texts, sentences
from tests.refusals import refuses

CASES = {  # "|" marks the place between two sentences, where the text itself has one space
    "plain": "The town is small.|It has a church!|Does it have a school?",
    "titles": "Dr. Smith met Mrs. Jones at St. Mary's.|They spoke.",
    "initials": "J. R. R. Tolkien wrote it.|George W. Bush read it.|He liked it.",
    "acronym inside": "The U.S. Census Bureau counted them.|There were 324.",
    "acronym at the end": "He moved to the U.S.|The move was hard.",
    "times": "It opens at 9 a.m. on Monday.|It closes at 5 p.m.|The rest is quiet.",
    "honorifics": (
        "At 5 a.m. Mr. Smith went to the bank.|He left the bank at 6 P.M.|Mr. Smith then went home.|"
        "He worked for Acme Inc.|Mrs. Jones did not.|He came to the U.S.|Dr. Bell stayed.|"
        "In the U.S. Mr. Smith was known.|He met Bo Bell Jr.|Ms. Bell came too.|Sr. Dr. Ray left."
    ),
    "decimals": "It covers 3.5 square miles.|Of it 0.2% is water.|Version 2.0.1 came later.",
    "year": "He was born in 1902.|He died in 1950.",
    "list number": "1. The first item.|2. The second item.",
    "abbreviated number": "See Fig. 3 and pp. 12 of vol. 2.|No. 5 is missing.",
    "month": "It began on Jan. 5 and ended.|Nobody came.",
    "ellipsis": "He waited... and waited.|Then he left…|Nobody saw it.",
    "speech": 'He said, "Come here!" and left.|"Why?" she asked.|"Go."|They went.',
    "curly speech": "“Come here.”|She came.|“Why?” she asked.",
    "bracket": "(It rained.)|We left.|It was late (about 10 p.m.).|We slept.",
    "latin": "Several parks, e.g. Hyde Park, are old.|Others, i.e. Green Park, are not.",
    "company": "Acme Inc. was founded in 1900.|Later came Acme Ltd.|The end came.",
    "romance": "Élodie vit à Paris.|Ça va?|Él vive aquí.|¿Por qué?|Ñandú es un ave.",
    "german speech": (
        "Er fragte: „Wirklich?“|Sie ging.|»Wie froh bin ich, dass ich Dich habe.«|Das schrieb er.|"
        "‚Nein!‘|›Nein.‹|„Halt!“ Mary said.|»Halt!« Mary said."
    ),
    "german": "Die Stadt liegt am Rhein.|Öfter regnet es.|Über 3,5 Millionen leben dort.",
    "cyrillic": "Он жил в Москве.|Она уехала.|Почему?",
    "greek": "Ζει στην Αθήνα.|Είναι μεγάλη.",
    "several marks": "What?!|Nobody knew.|Really??|Yes.",
    "website": "It is at www.example.org now.|See it.",
    "reference mark": "It grew fast.[12]|It shrank later.[3][4]|Then it stopped.",
    "tokenised": "the patients were treated .|we found that p < 0.05 .|no effect was seen .",
    "tokenised speech": "`` What ? '' said he .|`` Go . ''|She went .",
    "tokenised straight speech": '" Go . "|She went .',
    "lower case": "we treated them.|they recovered.|what next?",
    "degrees": "She holds a Ph.D. from Yale.|He holds an M.A.|She teaches.",
    "regnal": "He was crowned as Napoleon I.|He ruled.",
    "spaced dots": "He waited . . . and waited .|Then he left .",
    "years of life": "The map (c. 1450) shows it.|Ann (b. 1900) and Bo (d. 1950) drew it from c. 1480 on.|It is old.",
    "ranks": "Brig. Gen. John Smith led them.|Lt. Col. Ann Bell did not.",
    "court cases": "In White v. Crook the court ruled.|The law fell.",
    "authors": "Smith et al. (2010) agree with Bell et al., who came first.|So do Wu et al.|The rest does not.",
    "comma after": "Some trees, e.g., elms, are old (cf. ), and so is the U.S., which has them.|They grow.",
    "nothing after": "He scored 3!), and left.|See Figs. , and below.|It is true (is it?).|We left.",
    "references": "It grew [12].|It shrank.[3,4]|It fell. [5] [6]|Then it rose. [citation needed]|It stopped.",
    "reference first": "It was shown before.|[12] showed it again.",
    "superscripts": "It grew.3|Then it shrank.4,5|It fell.¹²|It stopped.",
    "speech by name": '"Stop!" Mary said.|"Why?" Uncle Sam asked.|"Who?" I cried.|"Now!"|He said nothing.',
    "sections": "2.1. The town|1.2.3 is small.".replace("|", " "),
    "caption": "Figure 1. The town from above.|It is small.",
    "items": "Do this: 1. Go home.|2. Stay there.|b. Rest.|P.S. We left.",
    "bracket goes on": "He wrote Who Goes There? (1938) and more.|It says so.|(See page 3.)|He left.",
    "lower case after a stop": "It closed.|they left at 5 approx. then.|the mgmt. of it was bad.",
    "lower case throughout": "is it so?|yes it is!|We know.",
    "units": "It took 4 h.|Eight came.|He is 5 ft. 3 in. tall.|It is 151 m.|Then comes the hill.",
    "letters": "They took vitamin C.|Patients left.|It fell to group B.|Later it rose.|George W. Bush read it.",
    "letters of names": "He took Vitamin C.|Patients left.|Class A.|Ann B. Smith chose Plan B.|Others fell.",
    "letters after other nouns": "He left World War I.|Germany lost.|War hero I. Petrov and Generation X.|Others wear size S.|Fit.",
    "lettered caption": "Table A. Patients by town.|See Appendix B.|Towns grew.|J. Smith drew it.",
    "states": "PORTLAND, Ore. -- Two men left Boston, Mass. on foot.|They had no mass.|Nobody knew.",
    "dates": "We met on Wed. 6/14 and Sat. Sept. 23.|He sat.|The sun.|It rained.",
    "emoticons": "Thanks a lot. :)|We left. ;-) :D|Then it rained.",
    "emoji": "Hello. 😊|How are you? 👍🏽👍🏽|I am here. ❤️|🇩🇪 won.|Great!",
    "emoji first": "✅ Fast.|✅ Small.|✅ Free.",
    "emoji and small letters": "Done. 🎉|Then it rained. 😂|yes.",
    "kings": "Henry VIII. was one.|Louis XIV. and Benedikt XVI. ist auch.|He likes CIVIL.|it is so.",
    "list without stops": "i. One thing\nii. Another\niii. The last of them.|That was all.",
    "items below": "So: 1. Go\n2. Stay\n3. Sit.|4. Rest.|He is\n12.|We left.",
    "tokenised bracket": "( It rained . )|We left .|He ( I think . ) slept .|(No. 5 ) is here .",
    "names with marks": "Yahoo! Finance fell.|He likes Yahoo!|The end.",
    "interrobang": "What‽|No?!|Never!!",
    "dollars": "It cost U.S. $5 or so.|We paid.",
    "accents": "Élodie a mangé.3|Été comme hiver.|« Non ! » Élodie said.|Il (à Paris) part.",
    "cyrillic lower case": "Он жил в городе.|она уехала.|Почему?",
    "rarer titles": (
        "Mx. Poe met the Rt. Hon. Ann Bell.|Msgr. Ray and Sens. Lee and Bo met.|They told 'em.|It fell on BP.|Bell and RT.|Ray left.|"
        "Asst. Prof. Lee and Cllr. Ray stayed.|Wm. Hall and Geo. Bell wrote Chas. Ray.|They did."
    ),
    "bracket with a title": (
        "Capt. (later Col.) Hall met Dr. (Mrs.) Bell.|The firm (Acme Inc.) Hall founded grew.|"
        "The United States (U.S.) Congress met.|He works (at Acme Inc.)|She does not.|"
        "He left (it rained.)|We stayed.|He lives there (in Sacramento, CA.)|Hall does not."
    ),
    "roman numbers": "See vol. II, ch. IV of it.|Bk. III, pt. XII is short.|He said no.|I left.",
    "spanish": "¿Qué pasa?|¡Nada!|¿Sí?",
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_sentences_end_where_a_reader_ends_them(case):
    assert sentence_texts(case.replace("|", " ")) == case.split("|")


def test_blank_lines_and_full_width_stops_end_sentences():
    assert sentence_texts("「本当？」と聞いた。はい。") == ["「本当？」と聞いた。", "はい。"]
    assert sentence_texts("他说：“走！”，然后走了。") == ["他说：“走！”，然后走了。"]
    assert sentence_texts("他走了。“你好。”她说。") == ["他走了。", "“你好。”", "她说。"]
    text = "A heading without a stop" + SECTION_BREAK + "The text\nis wrapped. It\ngoes on."
    assert sentence_texts(text) == [
        "A heading without a stop",
        "The text\nis wrapped.",
        "It\ngoes on.",
    ]
    assert sentence_texts("東京は大きい。人が多い！本当？はい。") == ["東京は大きい。", "人が多い！", "本当？", "はい。"]  # fmt: skip
    assert sentence_texts("यह शहर है। यह बड़ा है।") == ["यह शहर है।", "यह बड़ा है।"]
    assert sentence_texts("هل هذا صحيح؟ نعم.") == ["هل هذا صحيح؟", "نعم."]


@given(st.text(alphabet="abAB .!?…\n,;:)]\"'(1“”", max_size=60))
@settings(max_examples=300, deadline=None)
def test_no_sentence_begins_with_a_comma_or_spans_a_blank_line(text):
    for paragraph in re.split(r"\n\s*?\n", text):
        starts = [a for a, _ in sentences(paragraph)]
        assert not [a for a in starts[1:] if paragraph[a] in ",;:)]"]
    assert not [piece for piece in sentence_texts(text) if "\n\n" in piece]


@given(st.text(alphabet="abcABC .!?…\n\t\"'()0123é。“”[]", max_size=80))
@settings(max_examples=300, deadline=None)
def test_offsets_are_ordered_trimmed_and_cover_every_visible_character(text):
    spans = sentences(text)
    assert all(a < b for a, b in spans)
    assert all(first[1] <= second[0] for first, second in itertools.pairwise(spans))
    assert all(text[a:b] == text[a:b].strip() for a, b in spans)
    covered = {i for a, b in spans for i in range(a, b)}
    assert {i for i, c in enumerate(text) if not c.isspace()} <= covered


@pytest.mark.parametrize("text",
                         ["The town of St. Ives is small. It has 3.5 parks. " * 500, ". " * 50000,
                          '"' * 100000 + ". A", "." * 100000 + "x", ('. "' + " " * 50) * 500,
                          " " * 12500 + ("Mr. X " * 2500), "X " + "x. " * 25000, ".A" * 25000, "ab.Ab " * 12500,
                          "? (a" * 12500, "!\" A" * 12500, ". :) [1]" * 12500, 'x "A! B! C! D" ' * 1250, "x (a. b! " * 2500],
                         ids=["usual", "stops", "quotes", "dots", "openers", "one long sentence", "letters", "glued",
                              "no spaces", "brackets", "speech", "references", "titles", "open brackets"])  # fmt: skip
@pytest.mark.timeout(60)  # a scan that is quadratic takes many minutes
def test_hostile_text_is_scanned_in_linear_time(text):
    spans = sentences(text)
    assert all(first[1] <= second[0] for first, second in itertools.pairwise(spans))


def test_a_missing_space_is_seen_between_words_and_not_inside_names():
    text = "La ville a fermé.Élodie est partie. It closed...They left. See www.Foo.com, e.g.Foo and Sean.Cooper@x.com."
    assert sentence_texts(text) == ["La ville a fermé.", "Élodie est partie.", "It closed...", "They left.",
                                    "See www.Foo.com, e.g.Foo and Sean.Cooper@x.com."]  # fmt: skip


def test_full_stops_cut_before_blanks_alone_and_spacy_where_installed():
    cuts = {"One. Two.": ["One.", "Two."], "A.\n": ["A."], "": [],
            "The U.S. Census. Next! Same? Yes.": ["The U.S.", "Census.", "Next! Same? Yes."],
            "At an elevation of . Then. Tail": ["At an elevation of .", "Then.", "Tail"]}  # fmt: skip
    assert {text: SPLITTERS["full_stops"](text) for text in cuts} == cuts
    text = "James Joseph Whitey Bulger Jr. (September 3, 1929 - October 30, 2018) was an Irish-American mob boss. He fled."
    # the printed prefix is cut in its middle by full stops, not by rules
    assert [len(SPLITTERS[name](text)) for name in ("full_stops", "rules")] == [3, 2]
    if importlib.util.find_spec("spacy") and importlib.util.find_spec("en_core_web_sm"):
        assert SPLITTERS["spacy"]("It rained. We left.") == ["It rained.", "We left."]
    else:
        refuses("en_core_web_sm is not installed", SPLITTERS["spacy"], "It rained. We left.")
