"""Every reader of files with a small valid file for it: what the fuzzed readers start from."""

import bz2
import csv
import gzip
import io
import json
from collections import Counter

import numpy as np

from longform.core import artefacts
from longform.core.experiment import Experiment
from longform.core.text import lexicon
from longform.core.text import lexicon as lexicons
from longform.criticize.texts import read_texts
from longform.datasets import coreference, scientific, shuffled_texts, text_files, wikisection
from longform.datasets import coreference as coreference_annotation
from longform.datasets.test_suites import items, native, sources
from longform.datasets.wikipedia import dump
from longform.study.items import load_study

DOCUMENT = {"id": "a", "split": "test", "sections": [{"title": None, "text": "One. Two."}], "edits": []}


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


PAGE = (
    b"<mediawiki><page><title>T</title><ns>0</ns><id>1</id><revision><text>Words.</text></revision></page></mediawiki>"
)
CONLL = b"d\t0\t0\tAnn\t(3)\nd\t0\t1\tran\t_\nd\t0\t2\thome\t_"
SPANS = ["ID", "Text", "Pronoun", "Pronoun-offset", "A", "A-offset", "A-coref", "B", "B-offset", "B-coref", "URL"]
GAP = table("\t", SPANS, ["1", "Ann met Bea. She ran.", "She", "13", "Ann", "0", "TRUE", "Bea", "8", "FALSE", "u"])
STORY = table("\t", ["InputStoryid", *sources.CONTEXT, *sources.ENDINGS, "AnswerRightEnding"],
              ["s1", "A.", "B.", "C.", "D.", "E.", "F.", "1"])  # fmt: skip
REGIONS = [{"region_number": 1, "content": "Words."}]
ITEM = {"item_number": 1, "conditions": [{"condition_name": name, "regions": REGIONS} for name in "ab"]}
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
COHAN = {"article_id": "1", "abstract_text": ["A."], "section_names": ["intro"], "sections": [["One.", "Two."]]}
MARKED = b"[ ABSTRACT ] A city. It is old. [ HISTORY ] It was founded. It grew.\n" * 5
MARKS = [{"begin": 0, "length": 24, "sectionLabel": "h"}]
WIKISECTION = [{"text": "It was founded. It grew.", "abstract": "A.", "annotations": MARKS}] * 5
NO_FILTER = {"min_sections": 1, "min_title_count": 1, "min_tokens": 0}


def named(reader, up=0, **more):
    """A reader that takes a corpus's name and seed, and the file or a folder above it."""
    return lambda path: reader(name="x", seed=1, raw=path if not up else path.parents[up - 1], **more)


COHANS = built(scientific, filters=NO_FILTER), lines(COHAN, COHAN, COHAN, COHAN)
READERS = {
    "artefacts json": ("a.json", artefacts.read_json, json.dumps({"a": [1, "inf"]}).encode()),
    "artefacts documents": ("a.jsonl", artefacts.read_documents, lines(DOCUMENT)),
    "artefacts arrays": ("a.npz", artefacts.read_arrays, arrays(a=np.arange(3))),
    "artefacts readout": ("a.npz", artefacts.read_readout, arrays(unit_ids=["a"], splits=["test"], x=np.arange(1))),
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
    "lexicon": ("l.xml", lexicons.read_lmf, LMF),
    "wordnet": ("w/data.noun", lambda path: lexicon.read_wordnet(path.parent), b"00001740 03 n 01 cat 0 000 | a cat\n"),
    "gap": ("g.tsv", coreference_annotation.read_gap, GAP),
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
