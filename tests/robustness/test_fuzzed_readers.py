"""Whatever bytes a file holds, its reader answers, or says in one sentence what is wrong: BadInput and nothing else."""

import bz2
import csv
import gzip
import io
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from longform.datasets import coreference, scientific, shuffled_texts, text_files, wikisection
from longform.datasets.own_texts import read_texts
from longform.datasets.test_suites import items, native, sources
from longform.datasets.wikipedia import dump
from longform.documents import Corpus, Document, Predictions, Section
from longform.errors import BadInput
from longform.files import artefacts
from longform.settings import Number, Settings, parameter, parse
from longform.text import lexicon
from longform_lab.experiment import Experiment
from longform_lab.study.items import load_study
from tests.refusals import refuses

DOCUMENT = {
    "id": "a",
    "split": "test",
    "sections": [{"title": None, "text": "One. Two."}],
    "edits": [],
}


def lines(*records):
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def table(delimiter, *rows):
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


def arrays(**named):
    packed = io.BytesIO()
    np.savez(packed, **named)
    return packed.getvalue()


def pages(dump_path):
    """All pages of a dump, parsed; the outcomes are the point of the reader."""
    shards = dump.plan(dump_path, 10)
    found = [page for shard in shards for page in dump.raw_pages(dump_path, shard)]
    return Counter(type(dump.parse_page(p) if isinstance(p, bytes) else p).__name__ for p in found)


def built(module, **more):
    """A reader that is a whole ``build``, with its result written as every prepare stage does."""

    def read(path):
        corpus = module.build(name="x", seed=1, raw=path, **more)
        artefacts.write_corpus(path.parent / "written", corpus)

    return read


PAGE = b"<mediawiki><page><title>T</title><ns>0</ns><id>1</id><revision><text>Words.</text></revision></page></mediawiki>"
CONLL = b"d\t0\t0\tAnn\t(3)\nd\t0\t1\tran\t_\nd\t0\t2\thome\t_"
SPANS = [
    "ID",
    "Text",
    "Pronoun",
    "Pronoun-offset",
    "A",
    "A-offset",
    "A-coref",
    "B",
    "B-offset",
    "B-coref",
    "URL",
]
GAP = table(
    "\t",
    SPANS,
    ["1", "Ann met Bea. She ran.", "She", "13", "Ann", "0", "TRUE", "Bea", "8", "FALSE", "u"],
)
STORY = table("\t", ["InputStoryid", *sources.CONTEXT, *sources.ENDINGS, "AnswerRightEnding"],
              ["s1", "A.", "B.", "C.", "D.", "E.", "F.", "1"])  # fmt: skip
REGIONS = [{"region_number": 1, "content": "Words."}]
ITEM = {
    "item_number": 1,
    "conditions": [{"condition_name": name, "regions": REGIONS} for name in "ab"],
}
SUITE = {"meta": {"name": "s", "metric": "mean"}, "region_meta": {"1": "all"}, "items": [ITEM],
         "predictions": [{"type": "formula", "formula": "(1;%a%) < (1;%b%)"}]}  # fmt: skip
PAIR = {"id": "1", "en": "Yes.", "de": "Ja."}
SCHEMA = {"sentence": "A [MASK] ran.", "candidates": ["cat", "dog"], "correct": 1}
INFERENCE = [{"label": "negative", "sentence1": "a", "sentence2": "b"}]
USE = {"sentence": "He ran since it rained.", "begin": 7, "end": 12, "sense": "causal"}
STUDY = {"name": "n", "title": "t", "consent": "c", "instructions": {"testing": "i"},
         "items": [{"id": "1", "kind": "pair", "phase": "testing", "body": {"left": "l", "right": "r"},
                    "labels": ["left", "right"]}]}  # fmt: skip
RATED = {"id": "x", "model_id": "M1", "decoded": "A text.", "references": ["R."],
         "expert_annotations": [{"coherence": 4}, {"coherence": 2}]}  # fmt: skip
LMF = (
    b'<LexicalResource><Lexicon><LexicalEntry id="e"><Lemma writtenForm="cat" partOfSpeech="n"/><Sense id="s" synset="y">'
    b'<Count>2</Count></Sense></LexicalEntry><Synset id="y" partOfSpeech="n"><Definition>a cat</Definition></Synset>'
    b"</Lexicon></LexicalResource>"
)
COHAN = {
    "article_id": "1",
    "abstract_text": ["A."],
    "section_names": ["intro"],
    "sections": [["One.", "Two."]],
}
MARKED = b"[ ABSTRACT ] A city. It is old. [ HISTORY ] It was founded. It grew.\n" * 5
MARKS = [{"begin": 0, "length": 24, "sectionLabel": "h"}]
WIKISECTION = [{"text": "It was founded. It grew.", "abstract": "A.", "annotations": MARKS}] * 5
NO_FILTER = {"min_sections": 1, "min_title_count": 1, "min_tokens": 0}


def named(reader, up=0, **more):
    """A reader that takes a corpus's name and seed, and the file or a folder above it."""
    return lambda path: reader(
        name="x", seed=1, raw=path if not up else path.parents[up - 1], **more
    )


COHANS = built(scientific, filters=NO_FILTER), lines(COHAN, COHAN, COHAN, COHAN)
READERS = {
    "artefacts json": ("a.json", artefacts.read_json, json.dumps({"a": [1, "inf"]}).encode()),
    "artefacts documents": ("a.jsonl", artefacts.read_documents, lines(DOCUMENT)),
    "artefacts arrays": ("a.npz", artefacts.read_arrays, arrays(a=np.arange(3))),
    "artefacts predictions": ("a.npz", artefacts.read_predictions, arrays(unit_ids=["a"], splits=["test"], x=np.arange(1))),
    "parameters": ("params.yaml", lambda path: Experiment(path.parent).settings("models", "a"),
                   b"seed: 1\nmodels: {a: {n_layer: 2}}\n"),
    "criticize jsonl": ("a.jsonl", read_texts, lines({"id": "a", "text": "Some words."}, DOCUMENT | {"id": "b"})),
    "criticize folder": ("t/a.md", lambda path: read_texts(path.parent), b"# Title\n\nSome words.\n"),
    "study": ("study.json", load_study, json.dumps(STUDY).encode()),
    "wikisection marked": ("w.txt", built(wikisection), MARKED),
    "wikisection json": ("w.json", built(wikisection), json.dumps(WIKISECTION).encode()),
    "cohan json lines": ("a.jsonl", *COHANS),
    "cohan gzip": ("a.jsonl.gz", COHANS[0], gzip.compress(COHANS[1])),
    "wikipedia dump": ("d.xml.bz2", pages, bz2.compress(PAGE)),
    "parallel json lines": ("p.jsonl", named(text_files.parallel), lines(PAIR)),
    "parallel gzip": ("p.jsonl.gz", named(text_files.parallel), gzip.compress(lines(PAIR))),
    "gcdc": ("g/x_test.csv", lambda path: text_files.gcdc(name="x", raw=path.parent),
             table(",", ["text_id", "text", "labelA"], ["1", "Some words.", "2"])),
    "rated summaries": ("r/M1.jsonl", lambda path: text_files.summeval(raw=path.parent), lines(RATED)),
    "rated shuffles": ("c/documents.jsonl", named(shuffled_texts.rated, 1), lines(DOCUMENT)),
    "lexicon": ("l.xml", lexicon.read_lmf, LMF),
    "wordnet": ("w/data.noun", lambda path: lexicon.read_wordnet(path.parent), b"00001740 03 n 01 cat 0 000 | a cat\n"),
    "gap": ("g.tsv", coreference.read_gap, GAP),
    "gap pairs": ("g.tsv", coreference.read_re_mentions, GAP),
    "conll": ("a.conll", coreference.read_conll, CONLL),
    "suite": ("s.json", items.read_suite, json.dumps(SUITE).encode()),
    "schemas": ("s.jsonl", sources.read_schemas, lines(SCHEMA)),
    "stories": ("s.tsv", sources.read_stories, STORY),
    "persona chat": ("p.txt", sources.read_persona_chat, b"1 your persona: i am.\n2 hi .\thello .\t\tx|y\n"),
    "dialogue nli": ("d.jsonl", sources.read_dialogue_nli, json.dumps(INFERENCE).encode()),
    "disco": ("d.tsv", sources.read_disco_annotation, b"1\tsince\tcausal\tHe ran <c>since</c> it rained.\n"),
    "connectives": ("c.jsonl", sources.read_connective_lines, lines(USE)),
    "native texts": ("n/t.txt", named(native.build, 1, sources={"texts": {"en": "t.txt"}}),
                     b"One came. Two came. Three came. Four came.\n"),
}  # fmt: skip
RECORDS = {"artefacts documents": DOCUMENT, "criticize jsonl": DOCUMENT, "study": STUDY, "suite": SUITE,
           "rated summaries": RATED, "rated shuffles": DOCUMENT, "cohan json lines": COHAN,
           "wikisection json": WIKISECTION, "parallel json lines": PAIR, "schemas": SCHEMA, "dialogue nli": INFERENCE,
           "connectives": USE}  # fmt: skip
BUSY = (HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large)
QUICK = settings(
    max_examples=12, deadline=None, derandomize=True, suppress_health_check=BUSY, database=None
)


def prepared(folder, name, content):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    if name.startswith("w/"):
        for other in ("verb", "adj", "adv"):
            (path.parent / f"data.{other}").write_bytes(b"")
    return path


def answers(read, path):
    try:
        read(path)
    except BadInput as error:
        assert str(error)


@pytest.mark.parametrize("what", READERS)
def test_the_unharmed_file_is_read(what, tmp_path):
    name, read, content = READERS[what]
    read(prepared(tmp_path, name, content))


def mutated(content):
    """Cut, overwritten, doubled and spliced versions of a valid file, and its JSON values exchanged for others."""
    places = st.integers(0, len(content))
    odd = [b"", b"\x00", b"\xff\xfe", b"null", b"[]", b"-1", b"1e999", b'"\\ud800"', b"9" * 5000, b"[" * 3000,
           b"\t\t", b"\n"]  # fmt: skip
    pieces = st.sampled_from(odd)
    splice = st.builds(
        lambda a, b, new: content[: min(a, b)] + new + content[max(a, b) :], places, places, pieces
    )
    values = [
        text
        for text in (b'"a"', b"[", b"{", b":", b"1", b"0", b'"', b"\t", b",", b"<")
        if text in content
    ]
    swap = st.builds(
        lambda old, new: content.replace(old, new, 1), st.sampled_from(values or [b"a"]), pieces
    )
    return splice | swap


@pytest.mark.parametrize("what", READERS)
@QUICK
@given(noise=st.binary(max_size=200), data=st.data())
def test_random_bytes_and_a_damaged_file_are_read_or_refused_in_words(what, noise, data, tmp_path):
    name, read, content = READERS[what]
    answers(read, prepared(tmp_path, name, noise))
    if name.endswith((".gz", ".bz2")) and data.draw(st.booleans()):
        inner, pack = (
            (gzip.decompress, gzip.compress)
            if name.endswith(".gz")
            else (bz2.decompress, bz2.compress)
        )
        answers(read, prepared(tmp_path, name, pack(data.draw(mutated(inner(content))))))
    else:
        answers(read, prepared(tmp_path, name, data.draw(mutated(content))))


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)


def exchanged(record):
    """The record with one value, at any depth, exchanged for any JSON value or taken out."""
    places = list(_places(record))
    return st.builds(
        lambda place, value, out: _with(record, place, value, out),
        st.sampled_from(places),
        JSON_VALUES,
        st.booleans(),
    )


def _places(value, path=()):
    yield path
    inner = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, held in inner:
        yield from _places(held, (*path, key))


def _with(record, path, value, out):
    if not path:
        return value
    copy = json.loads(json.dumps(record))
    holder = copy
    for key in path[:-1]:
        holder = holder[key]
    if out and isinstance(holder, dict):
        del holder[path[-1]]
    else:
        holder[path[-1]] = value
    return copy


@pytest.mark.parametrize("what", RECORDS)
@settings(QUICK, max_examples=30)
@given(data=st.data())
def test_a_record_with_one_wrong_value_is_read_or_refused_in_words(what, data, tmp_path):
    name, read, _ = READERS[what]
    answers(read, prepared(tmp_path, name, lines(data.draw(exchanged(RECORDS[what])))))


class Smoothing(Settings):
    smoothing: Number = parameter("How smooth.")


@QUICK
@given(params=exchanged({"seed": 1, "articles": {"critics": {"a": {"smoothing": 0.5}}}}))
def test_parameters_with_one_wrong_value_are_read_or_refused_in_words(params, tmp_path):
    def asked(path):
        experiment = Experiment(path.parent)
        settings = experiment.settings("articles", "critics", "a")
        return experiment.seed, parse(Smoothing, settings, "articles.critics.a")

    answers(asked, prepared(tmp_path, "params.yaml", yaml.safe_dump(params).encode()))


@settings(QUICK, max_examples=40)
@given(record=exchanged(DOCUMENT))
def test_a_document_is_made_or_refused_and_can_be_written_again(record):
    try:
        document = Document.from_record(record)
    except BadInput:
        return
    assert Document.from_record(document.to_record()) == document


def test_half_a_surrogate_pair_and_ids_that_are_no_list_are_refused(tmp_path):
    document = Document("a", "test", (Section(None, "\ud800"),))
    refuses("surrogate", artefacts.write_corpus, tmp_path / "c", Corpus([document]))
    artefacts.write_arrays(
        tmp_path / "r.npz", {"unit_ids": np.array("a"), "splits": np.array("test")}
    )
    refuses("each a unit", artefacts.read_predictions, tmp_path / "r.npz")
    artefacts.write_predictions(tmp_path / "r.npz", Predictions(("a",), ("test",), {}))
    assert artefacts.read_predictions(Path(tmp_path / "r.npz")).unit_ids == ("a",)


@pytest.mark.parametrize("depth", [101, 200_000])
def test_deeply_nested_parameters_are_refused_without_a_stack_overflow(depth, tmp_path):
    path = prepared(tmp_path, "params.yaml", b"seed: 1\nscore: " + b"[" * depth)
    refuses("nested deeper than 100 levels", Experiment(path.parent).entry, "score", "a")
