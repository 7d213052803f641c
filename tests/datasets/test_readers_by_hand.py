"""Small files as whole results: ids, numbers, orders and what is left out, by hand."""

import bz2
import hashlib
import json
import sys
from collections import Counter
from concurrent.futures.process import BrokenProcessPool
from types import SimpleNamespace

import numpy as np
import pytest

from longform.datasets import encyclopedia, proposals, shuffled_texts, text_sources, titles
from longform.datasets import wikisection as wiki
from longform.datasets.own_texts import Texts, read_texts
from longform.datasets.test_suites import named_suites, sources
from longform.datasets.titles import Filters, Selection, filtered_corpus, piece_count
from longform.datasets.wikipedia import building, tags, template_text, wikitext
from longform.datasets.wikipedia.arguments import Arguments
from longform.datasets.wikipedia.building import _digest
from longform.datasets.wikipedia.dump import (
    Page,
    PageScanner,
    Shard,
    _count_lines,
    _count_top,
    decoded,
)
from longform.datasets.wikipedia.marks import GONE, Holes
from longform.datasets.wikipedia.templates import without_templates
from longform.datasets.wikipedia.wikitext import GuardedParser
from longform.documents import Document, Section
from tests.refusals import refuses


class Draws:
    """A source of chance whose orders run backwards and whose numbers are given."""

    def __init__(self, *numbers):
        self.numbers = list(numbers)

    def permutation(self, count):
        return np.arange(count)[::-1]

    def integers(self, count):
        return self.numbers.pop(0) % count


LINES = {
    "Ada": ["Ada is old.", "It is 12 km away.", "Ada has 10 or 20 hills."],
    "Bel": ["Bel has 30 or 7 mills.", " ".join(["Bel"] * 80)],
    "Cid": ["Nobody knows it."],
}
SPLIT_OF = {"Ada": "train", "Bel": "validation", "Cid": "train"}


def test_a_statement_is_followed_by_one_under_another_pages_name():
    """Candidates from behind: Bel 0, Ada 2, Ada 0; the other page is the one drawn, unless it is the same."""
    claim = encyclopedia._Claim
    rows = [
        claim("validation", "Bel has 30 or 7 mills.", "supported", "Bel", 0),
        claim("validation", "Cid has 30 or 7 mills.", "not_enough_info", "Cid", 0),
        claim("train", "Ada has 10 or 20 hills.", "supported", "Ada", 2),
        claim("train", "Ada is old.", "supported", "Ada", 0),
        claim("train", "Bel is old.", "not_enough_info", "Bel", 0),
    ]
    for count, expected in ((3, rows), (2, rows[:3]), (0, [])):
        found = list(encyclopedia._statements(LINES, SPLIT_OF, count, Draws(2, 0, 1)))
        assert [claim(f.split, f.text, f.label, f.page, f.line) for f in found] == expected


def test_a_contradiction_takes_the_drawn_number_of_as_many_characters():
    """Numbers of two characters: 10, 20 and 30; the only one of one character has no other."""
    claim = encyclopedia._Claim
    rows = [
        claim("validation", "Bel has 20 or 7 mills.", "refuted", "Bel", 0),
        claim("train", "Ada has 10 or 30 hills.", "refuted", "Ada", 2),
    ]
    found = list(encyclopedia._contradictions(LINES, SPLIT_OF, 9, Draws(0, 1, 1, 1)))
    assert [claim(f.split, f.text, f.label, f.page, f.line) for f in found] == rows
    assert list(encyclopedia._contradictions(LINES, SPLIT_OF, 1, Draws(1))) == []


@pytest.mark.parametrize("words", [50, 51])
def test_a_sentence_of_at_most_fifty_words_can_be_a_claim(words):
    lines = {"Ada": ["Ada" + " x" * (words - 1)]}
    assert len(encyclopedia._lines_that_name_their_page(lines)) == (words <= 50)


CITIES = """[ ABSTRACT ] Ada is old. It lies low. [ HISTORY ] Ada grew.
[ ABSTRACT ] Bel is new. It lies high. [ HISTORY ] It grew.
[ ABSTRACT ] Cid is far. It lies low. [ HISTORY ] It fell.
[ ABSTRACT ] Dot is near. It lies low. [ HISTORY ] It rose.
"""


def test_models_read_openings_with_those_to_validate_by_twice(tmp_path):
    (tmp_path / "c.txt").write_text(CITIES)
    shares = {"train": 0.25, "validation": 0.25, "test": 0.5}
    given = {"name": "p", "seed": 1, "raw": tmp_path / "c.txt", "shares": shares}
    pages = encyclopedia.pages(**given).documents
    opening = {"Ada": "Ada. Ada is old. It lies low.", "Bel": "Bel. Bel is new. It lies high.",
               "Cid": "Cid. Cid is far. It lies low.", "Dot": "Dot. Dot is near. It lies low."}  # fmt: skip
    titles_of = {page.id: page.sections[0].title for page in pages}
    held = [page.id for page in pages if page.split == "validation"]
    kept = [page.id for page in pages if page.split != "train"]
    read = encyclopedia.read_openings(**given, sentences=2, splitter="full_stops")
    assert read.facts["splitter"] == "full_stops"
    assert [(d.id, d.split, d.sections) for d in read.documents] == [
        *((i, "train", (Section(None, opening[titles_of[i]]),)) for i in kept),
        *((f"{i}-again", "validation", (Section(None, opening[titles_of[i]]),)) for i in held),
    ]
    assert (len(kept), len(held)) == (3, 1)
    whole = encyclopedia.read_whole(**given)
    built = wiki.build(**given)
    assert [(d.id, d.split, d.sections) for d in whole.documents] == [
        *((d.id, "train", d.sections) for d in built.documents),
        *((f"{d.id}-held-out", "validation", d.sections) for d in built.documents if d.id in held),
    ]


def test_rows_of_tables_without_ids_are_named_by_their_number(tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("text,id\nOne.,\nTwo.,x\nThree.,\n")
    assert [d.id for d in read_texts(table).documents] == ["line-1", "x", "line-3"]


NOT_READ = "is not read although it holds texts; name it sections, or drop it"
BOTH = "text holds the sections and more, or a part of them; give one of the two"
LINES_OF_PEOPLE = [  # a line of a file, and its document's id and sections or why there is none
    ({"text": "One a.", "title": "T"}, ("line-1", [("t", "One a.")])),
    ({"id": 7, "text": "Two."}, ("7", [(None, "Two.")])),
    ({"id": "", "text": "Three."}, ("line-3", [(None, "Three.")])),
    ({"id": True, "text": "x"}, "id is True, allowed is a string or a whole number"),
    ({"id": 1.5, "text": "x"}, "id is 1.5, allowed is a string or a whole number"),
    ({"text": 5}, "text is 5, allowed is a string"),
    ({"text": "x", "title": []}, "title is [], allowed is a string"),
    ({}, "neither 'text' nor 'sections'"),
    ([1], "list, not an object"),
    ({"text": "12-3"}, "no word in it"),
    ({"id": "7", "text": "Again."}, "the id '7' was met before"),
    ({"text": "Lead.", "sections": [{"title": "A", "text": "B c."}, {"title": "E", "text": ""}]},
     ("line-12", [(None, "Lead."), ("a", "B c.")])),
    ({"text": "B c.\nD.", "sections": [{"text": "B c."}, {"text": "D."}]}, ("line-13", [(None, "B c."), (None, "D.")])),
    ({"text": "B c. and", "sections": [{"text": "B c."}]}, BOTH),
    ({"text": "B", "sections": [{"text": "B c."}]}, BOTH),
    ({"text": "a b.", "body": ["lost words"]}, f"body {NOT_READ}"),
    ({"text": "a b.", "meta": [{"x": {"text": "two words"}}], "acts": "lost part"}, f"acts, meta {NOT_READ}"),
    ({"text": "a  b. c", "sentences": ["a b.", "c"], "acts": "word"}, ("line-18", [(None, "a  b. c")])),
    ({"text": "a b.", "meta": {"text": "one", "note": "two words"}}, ("line-19", [(None, "a b.")])),
    ({"text": "cafe\u0301\r\n\n\n\rX\u00ad\u200by\x07z \ufb01\u2028ne\ud800 "}, ("line-20", [(None, "café\n\nXy z fi\nne?")])),
]  # fmt: skip


def test_lines_of_people_are_documents_or_have_a_reason(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line, _ in LINES_OF_PEOPLE) + " \n")
    documents, aside = [], []
    for number, (_, found) in enumerate(LINES_OF_PEOPLE, 1):
        if isinstance(found, str):
            aside.append((f"line {number}", found))
        else:
            sections = tuple(Section(*section) for section in found[1])
            documents.append(Document(found[0], "test", sections))
    assert read_texts(path) == Texts(tuple(documents), (*aside, ("sections", "1 without text")))


def test_a_folder_is_read_file_by_file_without_what_is_hidden(tmp_path):
    for name in (".git/x.txt", "b/.y", "b/c.TXT", "a.md", "d.pdf"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("## Head\n\nWords here.")
    (tmp_path / "e.txt").write_bytes(b"a\xff")
    (tmp_path / "f.txt").symlink_to(tmp_path / "none")
    found = read_texts(tmp_path)
    assert [(d.id, [(s.title, s.text) for s in d.sections]) for d in found.documents] == [
        ("a.md", [("head", "Words here.")]),
        ("b/c.TXT", [(None, "## Head\n\nWords here.")]),
    ]
    assert found.set_aside == (
        ("d.pdf", "none of .txt, .md, .markdown"),
        ("e.txt", "line 1: not UTF-8 (invalid start byte) at byte 1; save it as UTF-8"),
        ("f.txt", "no file (a link to nothing, or a device)"),
        ("2 hidden files", "a name begins with a dot"),
    )


def test_tables_of_columns_are_read_by_batches_of_text_and_id(tmp_path, monkeypatch):
    asked, path = [], tmp_path / "t.parquet"
    rows = [[{"text": "a", "id": None}, {"text": "b", "id": 7}], [{"text": "c", "id": ""}]]

    class File:
        schema_arrow = SimpleNamespace(names=["text", "other", "id"])

        def __init__(self, given):
            asked.append(given)

        def iter_batches(self, columns):
            asked.append(columns)
            return [SimpleNamespace(to_pylist=lambda batch=batch: batch) for batch in rows]

    parquet = SimpleNamespace(ParquetFile=File)
    arrow = SimpleNamespace(parquet=parquet, ArrowException=KeyError)
    monkeypatch.setattr(text_sources.extras, "check", lambda *names: asked.append(names))
    monkeypatch.setitem(sys.modules, "pyarrow", arrow)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", parquet)
    assert list(text_sources.table_rows(path, None)) == [
        ("row 1", {"text": "a"}),
        ("row 2", {"text": "b", "id": "7"}),
        ("row 3", {"text": "c"}),
    ]
    assert asked == [("parquet", "pyarrow"), path, ["id", "text"]]
    refuses(
        r"t\.parquet: has no column 'x', its columns are", list, text_sources.table_rows(path, "x")
    )


def test_titles_are_counted_in_training_documents_alone():
    given = {"a": ["Why", "How"], "b": ["why", "Copyright", None], "c": ["How", "Why"]}
    documents = []
    for name, heads in given.items():
        sections = tuple(Section(head, "x") for head in heads)
        documents.append(Document(name, "test" if name == "c" else "train", sections))
    filters = Filters(min_title_count=2, removed=("copyright",))
    shortened, removed = proposals.without_rare_sections(documents, filters)
    kept = [[section.title for section in document.sections] for document in shortened]
    assert (kept, removed) == ([["Why"], ["why", "Copyright"], ["Why"]], 3)


@pytest.mark.parametrize(("count", "unit"), [(piece_count, titles.LOWER_BOUND), (len, "tokens")])
def test_a_filtered_corpus_says_what_it_counted(count, unit, tmp_path):
    document = Document("a", "train", (Section("x", "y z"), Section("w", "v")))
    selection = Selection([document], [[2, 1]], Counter(), Counter())
    corpus = filtered_corpus(selection, count, tmp_path, {"corpus": "p"})
    assert corpus.facts["token_unit"] == unit and corpus.facts["kept"] == 1
    assert corpus.truth["section_tokens"].tolist() == [2, 1]
    assert corpus.truth["section_tokens"].dtype == np.int64
    assert corpus.documents == [document]


def test_ratings_are_planted_by_streams_of_their_own(monkeypatch, tmp_path):
    """Classes 3, 2 and 1: untouched, blocks of five and single sentences in reverse."""
    sentences = [f"{letter}." for letter in "abcdefg"]
    texts = [
        Document(name, "test", (Section("t", " ".join(sentences)),), ({"edit": "e"},))
        for name in "pqr"
    ]
    drawn = {"p": 2, "q": 1, "r": 0}
    opened = []

    def stream(*names):
        opened.append(names)
        return Draws(drawn[names[-1]])

    monkeypatch.setattr(shuffled_texts, "_prepared", lambda raw, splitter: texts)
    monkeypatch.setattr(shuffled_texts, "generator", stream)
    corpus = shuffled_texts.rated(name="n", seed=5, raw=tmp_path, splitter="full_stops")
    drawn = [
        (one, name)
        for one, name in zip("pqqrr", ("rating", *("rating", "shuffle") * 2), strict=True)
    ]
    assert opened == [(5, "n", name, one) for one, name in drawn]
    orders = {"p": "a. b. c. d. e. f. g.", "q": "f. g. a. b. c. d. e.", "r": "g. f. e. d. c. b. a."}
    blocks = {"p": (3, 0), "q": (2, 5), "r": (1, 1)}
    for document in corpus.documents:
        rating, block = blocks[document.id]
        edits = ({"edit": "e"}, {"edit": "rated shuffle", "rating": rating, "block": block})
        expected = (Section(None, orders[document.id]),)
        assert document == Document(document.id, "test", expected, edits)
    assert corpus.truth["rating"].tolist() == [3, 2, 1] and corpus.truth["rating"].dtype == np.int64
    assert corpus.facts == {"corpus": "n", "ratings": {"1": 1, "2": 1, "3": 1}}


def test_a_claim_shows_the_line_that_decides_it_unless_none_does():
    hills = "Ada: Ada has 10 or 20 hills.", [["Ada", 2]]
    for label, (shown, evidence) in (
        ("supported", hills),
        ("refuted", hills),
        ("not_enough_info", ("", [])),
    ):
        claim = encyclopedia._Claim("test", "c", label, "Ada", 2)
        sections = (Section("claim", "c"), Section("evidence", shown))
        record = {"label": label, "evidence": evidence}
        document = encyclopedia._claim_document(5, claim, LINES)
        assert document == Document("claim:5", "test", sections, (record,))


def test_a_folder_holds_suites_or_texts_and_lines_are_texts_too(tmp_path, monkeypatch):
    taken = []
    monkeypatch.setattr(named_suites, "read_suite", lambda path: path.name)
    monkeypatch.setattr(named_suites, "orders", lambda *given: taken.append(given) or [])
    (tmp_path / "a.txt").write_text(
        "One. Two. Three.\nOne. Two.\n" + "It ran. " * 8, encoding="utf-8"
    )
    for place in (tmp_path / "a.txt", tmp_path):
        assert list(named_suites._suites_of(str(place), 7)) == []
    ran = ["It ran."]
    assert taken[0] == ("a", [("line-1-1", ["One.", "Two.", "Three."]), ("line-3-1", ran * 5), ("line-3-2", ran * 3)], 7)  # fmt: skip
    assert len(taken) == 2
    (tmp_path / "c.json").touch(), (tmp_path / "b.json").touch()
    assert list(named_suites._suites_of(str(tmp_path), 7)) == ["b.json", "c.json"]
    assert list(named_suites._suites_of(str(tmp_path / "c.json"), 7)) == ["c.json"]


def test_items_of_files_are_numbered_from_one(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text("good,bad,suite,context\na,b,s,\nc,d,t,e\nf,g,s,\n")
    suites = named_suites.read_pairs(path)
    assert [(s.name, [item.number for item in s.items], s.predictions) for s in suites] == [
        ("s", [1, 2], ("(*;%bad%) > (*;%good%)",)),
        ("t", [1], ("(2;%bad%) > (2;%good%)",)),
    ]
    assert {one.metric for one in named_suites.named_suites([path], metric="mean")} == {"mean"}
    chat = tmp_path / "c.txt"
    chat.write_text("1 a\tb\n2 c\td\n1 e\\nf\tg\n")
    turns = [("1", ["a", "b", "c", "d"]), ("2", ["e f", "g"])]
    assert sources.read_persona_chat(chat, False) == turns
    assert sources.read_persona_chat(chat, True) == turns[:1]
    chat.write_text("1 a\tb\n2 nothing\n")
    refuses(r"c\.txt:2: got", sources.read_persona_chat, chat)
    uses = tmp_path / "u.jsonl"
    use = {"sentence": "But so.", "begin": 4, "end": 6, "sense": "Contingency.Cause.Reason"}
    lines = [use, use | {"id": 7, "prev_sentence": "No."}]
    uses.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert sources.read_connective_lines(uses) == [
        sources.ConnectiveUse("1", "But so.", 4, 6, "causal"),
        sources.ConnectiveUse("7", "No. But so.", 8, 10, "causal"),
    ]


def article(text, *sections, **more):
    names = ("sectionLabel", "begin", "length")
    return {
        "text": text,
        "annotations": [dict(zip(names, row, strict=True)) for row in sections],
    } | more


@pytest.mark.parametrize(
    ("record", "expected", "outside"),
    [
        ([], "malformed record", 0),
        ({"text": ""}, "malformed record", 0),
        (article(1), "malformed record", 0),
        (article("", abstract=1), "malformed record", 0),
        (article("a", ("x", 0, True)), "malformed record", 0),
        (article("a", ("x", True, 1)), "malformed record", 0),
        (article("a", (3, 0, 1)), "malformed record", 0),
        (article("a", ("x", 0, 2)), "section outside the text", 0),
        (article("a", ("x", -1, 1)), "section outside the text", 0),
        (article("ab", ("x", 1, -1)), "section outside the text", 0),
        (article("abc", ("x", 1, 2), ("y", 0, 2)), "sections overlap", 0),
        (article("Xbc", ("c. Old ", 1, 2)), [("old", "bc")], 1),
        (article("abZ", ("x", 0, 2), abstract=" "), [("x", "ab")], 1),
        (article("a-b", ("x", 0, 1), ("y", 2, 1)), [("x", "a"), ("y", "b")], 0),
        (article("I bc", ("x", 2, 2), abstract="I"), [("abstract", "I"), ("x", "bc")], 0),
        (article("ab", ("abstract", 0, 2), abstract="c"), [("abstract", "ab")], 0),
        (article("ab", abstract="c"), [], 0),
    ],
)
def test_an_annotated_article_has_its_sections_or_a_reason(record, expected, outside):
    counts = Counter()
    assert wiki._json_article(record, counts) == expected
    assert counts.total() == counts["text outside the sections"] == outside


def test_pages_are_found_wherever_a_piece_of_the_dump_ends():
    xml = b"ab<page>x</page> c<page>yz</page><pa<page>larger than that</page>"
    for cut in range(len(xml) + 1):
        scanner = PageScanner(16)
        found = [*scanner.feed(xml[:cut]), *scanner.feed(xml[cut:])]
        assert found == [b"<page>x</page>", b"<page>yz</page>", "page too large"]
    for piece, kept in ((b"x" * 99 + b"<page>", b"<page>"), (b"x" * 99 + b"<pag", b"x<pag")):
        assert list(scanner.feed(piece)) == [] and scanner.buffer == kept
        scanner = PageScanner(16)
    for length in range(7):  # a part of the tag may be that of a page
        scanner = PageScanner(16)
        assert list(scanner.feed(b"abcde" + b"<page>"[:length])) == []
        assert scanner.open is (length > 0)


@pytest.mark.parametrize(
    ("digits", "outcome"), [("9" * 18, "lines"), ("9" * 19, "malformed lines"), ("1", "lines of few views")]
)  # fmt: skip
def test_views_of_at_most_eighteen_digits_are_counted(digits, outcome, tmp_path):
    path = tmp_path / "v"
    path.write_text(f"en.wikipedia A 5 desktop {digits} A1\n")
    views, ids, counts = Counter(), {}, Counter()
    _count_lines(path, 2, views, ids, counts)
    assert counts == {outcome: 1}
    top = [{"articles": [{"article": "A", "views": 3}, {"article": "B", "views": 4}]}]
    path.write_text(json.dumps({"items": top}))
    _count_top(path, added := Counter(A=1), lines := Counter())
    assert (added, lines) == ({"A": 4, "B": 4}, {"lines": 2})
    assert (views, ids) == (({"A": 10**18 - 1}, {"A": "5"}) if outcome == "lines" else ({}, {}))


def test_a_part_of_a_file_has_the_digest_of_its_bytes(tmp_path):
    (tmp_path / "f").write_bytes(b"abcdef")
    for start, stop, part in ((0, None, b"abcdef"), (2, 3, b"c"), (1, 4, b"bcd"), (6, None, b"")):
        assert _digest(tmp_path / "f", start, stop) == hashlib.sha256(part).hexdigest()


def test_streams_are_given_in_pieces_of_a_mebibyte(tmp_path):
    packed = bz2.compress(bytes(5 << 19))
    (tmp_path / "f").write_bytes(b"x" + packed + packed[:20])
    with (tmp_path / "f").open("rb") as file:
        whole = [len(piece) for piece in decoded(file, 1, 1 + len(packed))]
        assert [size for size in whole if size] == [1 << 20, 1 << 20, 1 << 19]
        assert list(decoded(file, 1 + len(packed), 21 + len(packed)))[-1] == "stream: truncated bz2"


def test_the_names_that_strike_most_sentences_come_first(tmp_path, monkeypatch):
    monkeypatch.setattr(building, "NAMES", 2)
    for number, struck in enumerate(({"a": 1, "c": 5, "d": 3}, {"b": 3, "a": 1})):
        (tmp_path / f"shard-{number}.jsonl").touch()
        (tmp_path / f"shard-{number}.json").write_text(json.dumps({"struck": struck}))
    first = {"c": 5, "b": 3, "other names": 5}
    assert list(building.Shards(tmp_path).struck.items()) == list(first.items())


def test_brackets_and_tags_without_their_other_end_stay():
    assert tags.without_extension_tags("a</ref>b", Holes()) == "a</ref>b"
    for text in ("a {| b", "{| b", "a\n|}\nb"):
        assert without_templates(text, Holes()) == text
    media = wikitext.without_media("a[[File:x]][[File:y|[[z]]]]b [[c")
    assert media == f"a{GONE}{GONE}b [[c"
    assert without_templates("a |} b", Holes()) == "a |} b"


@pytest.mark.parametrize(
    ("parts", "shown"), [(["p=a", "b=i+1"], "^a_(i+1)"), (["p=a"], "^a"), ([], None)]
)
def test_an_exponent_over_an_index_is_written_behind_each_other(parts, shown):
    assert template_text._script_pair(Arguments("su", parts)) == shown


def test_a_citation_takes_the_first_of_its_names_for_the_work():
    keys = ["journal", "work", "newspaper", "magazine", "website", "encyclopedia", "periodical"]
    for start, key in enumerate(keys):
        arguments = Arguments("cite x", ["title=T", *(f"{one}={one}" for one in keys[start:])])
        assert f'"T". {key}.' in template_text._citation(arguments)


def test_a_page_that_cannot_be_parsed_is_scanned(monkeypatch):
    answers = {"parse": (None, "time-out"), "scan": (([("t", "x")], []), "parsed")}
    asked = []
    monkeypatch.setattr(
        GuardedParser, "_ask", lambda self, mode, text: asked.append((mode, text)) or answers[mode]
    )
    parser = GuardedParser()
    assert parser.read("p") == ([("t", "x")], "time-out: scanned")
    answers["scan"] = (None, "why")
    assert parser.read("p") == (None, "unreadable")
    answers["parse"] = (([("a", "b")], []), "parsed")
    assert parser.read("p") == ([("a", "b")], "parsed")
    assert asked == [("parse", "p"), ("scan", "p")] * 2 + [("parse", "p")]


def test_the_child_limits_its_memory_and_each_pages_seconds(monkeypatch):
    requests = iter([["parse", "a"], ["scan", "b"]])
    sent, limits = [], []

    class Pipe:
        def __init__(self, number):
            assert number == 4

        def recv_bytes(self):
            for request in requests:
                return json.dumps(request).encode()
            raise EOFError

        def send_bytes(self, answer):
            sent.append(json.loads(answer))

    def sections(text, strip):
        if text == "b":
            raise MemoryError
        return [[text, strip.__name__]], []

    used = SimpleNamespace(ru_utime=1.25, ru_stime=1.5)
    monkeypatch.setattr(wikitext, "Connection", Pipe)
    monkeypatch.setattr(wikitext, "marked_sections", sections)
    monkeypatch.setattr(wikitext.resource, "getrusage", lambda who: used)
    monkeypatch.setattr(wikitext.resource, "getrlimit", lambda kind: (0, 99))
    monkeypatch.setattr(wikitext.resource, "setrlimit", lambda *given: limits.append(given))
    wikitext.serve(4, 20, 7)
    assert sent == [[[[["a", "_by_tree"]], []], "parsed"], [None, "out of memory"]]
    cpu = (wikitext.resource.RLIMIT_CPU, (23, 99))
    assert limits == [(wikitext.resource.RLIMIT_AS, (7, 7)), cpu, cpu]


def test_shards_are_read_again_only_where_dump_or_file_has_changed(monkeypatch, tmp_path, capsys):
    dump, folder, pools = tmp_path / "d", tmp_path / "new" / "f", []
    shards = [Shard(number, (2 * number,), 2 * number + 2) for number in range(3)]

    def read(task):
        if dump.read_bytes() == b"broken":
            raise BrokenProcessPool("why")
        task.file.write_text("x")
        digest = hashlib.sha256(b"x").hexdigest()
        record = {"key": task.key, "source": task.source, "sha256": digest}
        task.record.write_text(
            json.dumps(record | {"counts": {"b": 1, "a": 2}, "wikitext_bytes": 500_000})
        )

    class Pool:
        map = staticmethod(map)

        def __init__(self, count, context, initializer):
            pools.append((count, context.get_start_method(), initializer))

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

    monkeypatch.setattr(building, "plan", lambda dump, size: shards)
    monkeypatch.setattr(building, "extract_shard", read)
    monkeypatch.setattr(building, "ProcessPoolExecutor", Pool)
    monkeypatch.setattr(building, "REPORT_EVERY", -1.0)
    dump.write_bytes(b"abcdef")
    whole = {"shards": 3, "counts": {"a": 6, "b": 3}, "wikitext_mb": 1.5}
    assert building.extract(dump, folder, workers=5) == whole | {"redone": 3}
    assert pools == [(3, "spawn", building.die_with_parent)]
    assert capsys.readouterr().out == "d: 1 of 3 shards read\nd: 2 of 3 shards read\n"
    (folder / "shard-00001.jsonl").write_text("y")
    (folder / "shard-00009.jsonl").touch()
    dump.write_bytes(b"abcdeX")
    assert building.extract(dump, folder) == whole | {"redone": 2}
    assert building.extract(dump, folder, workers=2) == whole | {"redone": 0}
    assert len(pools) == 1 and len(list(folder.iterdir())) == 6
    dump.write_bytes(b"broken")
    refuses(
        r"d: a worker died \(why\); run again, finished shards are kept",
        building.extract,
        dump,
        folder,
        workers=2,
    )


def test_a_shard_is_its_articles_its_counts_and_its_digest(monkeypatch, tmp_path):
    """Of four pages one is no article, one cannot be read and one has no abstract."""
    texts = {b"r": "redirect", b"u": Page("1", "U", "uu"), b"e": Page("2", "E", "ee"), b"a": Page("3", "Ä", "a\ud800")}  # fmt: skip
    read = {
        "uu": (None, "unreadable"),
        "ee": ([("abstract", ""), ("more", "x")], "parsed"),
        "a\ud800": ([("abstract", "é\ud800")], "time-out: scanned"),
    }

    class Parser:
        struck = Counter({"b": 2, "a": 1})

        def __init__(self, seconds):
            assert seconds == 9

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def read(self, text):
            return read[text]

    def pages(dump, shard, most):
        assert (dump, shard, most) == ("dump", "shard", 8)
        return ["page cut off", b"r", b"u", b"e", b"a"]

    monkeypatch.setattr(building, "raw_pages", pages)
    monkeypatch.setattr(building, "parse_page", texts.get)
    monkeypatch.setattr(building, "GuardedParser", Parser)
    file, record = tmp_path / "s.jsonl", tmp_path / "s.json"
    settings = SimpleNamespace(page_seconds=9, max_page_bytes=8)
    building.extract_shard(
        SimpleNamespace(
            file=file,
            record=record,
            dump="dump",
            shard="shard",
            extraction=settings,
            key="k",
            source="s",
        )
    )
    line = '{"id": "3", "sections": [{"text": "é?", "title": "abstract"}], "title": "Ä"}\n'
    assert file.read_text("utf-8") == line
    assert json.loads(record.read_text()) == {
        "key": "k",
        "source": "s",
        "sha256": hashlib.sha256(line.encode()).hexdigest(),
        "counts": {
            "page cut off": 1,
            "redirect": 1,
            "unreadable": 1,
            "abstract missing": 1,
            "article, time-out: scanned": 1,
        },
        "struck": {"a": 1, "b": 2},
        "wikitext_bytes": 2 + 2 + 4,
    }


def test_a_parser_that_does_not_answer_in_time_is_ended_as_stalled(monkeypatch):
    waited, ended = [], []
    pipe = SimpleNamespace(
        send_bytes=lambda sent: None, poll=lambda seconds: waited.append(seconds)
    )
    parser = GuardedParser(page_seconds=3, wall_factor=5, _child="child", _pipe=pipe)
    monkeypatch.setattr(GuardedParser, "_end", lambda self, **named: ended.append(named) or "why")
    assert parser._ask("parse", "text") == (None, "why")
    assert (waited, ended) == ([15], [{"stalled": True}])
