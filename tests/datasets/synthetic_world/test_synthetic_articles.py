"""The synthetic articles: what they promise about text, truth, independence, their tables and their card."""

import fnmatch
import re
import runpy
import tomllib
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from longform.core.documents import Corpus
from longform.datasets.synthetic_world.corpora import DOMAINS, build
from longform.datasets.synthetic_world.corruptions import CORRUPTIONS
from longform.datasets.synthetic_world.draws import FOLDER
from tests.refusals import refuses


@cache
def corpus(domain: str, documents: int = 300) -> Corpus:
    return build(name="test", seed=11, domain=domain, documents=documents)


ROOT = Path(__file__).parents[3]
ARTICLES = ["wiki", "wikisection", "pubmed", "arxiv"]


@pytest.mark.parametrize("domain", ARTICLES)
def test_documents_have_150_to_1200_words_sentences_4_to_30_and_no_paragraph_of_another(domain):
    paragraphs = [section.text for document in corpus(domain).documents for section in document.sections]
    assert len(set(paragraphs)) == len(paragraphs)
    for document in corpus(domain).documents:
        assert 150 <= len(re.findall(r"\w[\w,-]*|[.,]", document.text)) <= 1200
        for sentence in document.text.replace("\n\n", " ").split(". "):
            assert 4 <= len(sentence.split()) <= 30, sentence


@pytest.mark.parametrize("domain", ARTICLES)
def test_sentence_spans_cut_the_text_into_its_sentences(domain):
    truth, ends = corpus(domain).truth, np.cumsum(corpus(domain).truth["sentence_start_lengths"])
    for document, start, end in zip(corpus(domain).documents, np.concatenate([[0], ends[:-1]]), ends, strict=True):
        rows = zip(truth["sentence_start"][start:end], truth["sentence_end"][start:end], strict=True)
        assert all(re.fullmatch(r"[A-Z0-9].*[^.]\.", document.text[a:b]) for a, b in rows)


def test_an_unknown_domain_or_split_says_what_is_allowed():
    refuses("wikisection", build, name="x", seed=1, domain="nonsense", documents=2)
    refuses("validation", build, name="x", seed=1, domain="wiki", documents={"dev": 2})


def test_the_card_names_every_domain_and_corruption_on_two_screens():
    page = runpy.run_path(str(ROOT / "docs" / "data_cards" / "synthetic_world.py"))
    lines = "\n".join(page["card"](documents=20)).splitlines()
    assert len(lines) <= 100
    assert all(any(line.startswith(f"| {name} | ") for line in lines) for name in DOMAINS)
    assert all(any(line.startswith(f"- **{name}** (") for line in lines) for name in CORRUPTIONS)
    assert lines[0] == "# Data card: the synthetic world"


def test_an_installed_package_holds_every_table():
    given = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    patterns = given["tool"]["setuptools"]["package-data"]["longform.datasets.synthetic_world"]
    files = [f"data/{path.name}" for path in FOLDER.iterdir()]
    assert files and all(any(fnmatch.fnmatch(file, pattern) for pattern in patterns) for file in files)
