"""Every native file of the world by its relative path, for a stage to write: what real readers are tried on."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict

from longform.datasets.synthetic_world import raw_corpora, raw_suites, raw_wiki
from longform.datasets.synthetic_world.articles import Article, write
from longform.datasets.synthetic_world.claims import make_claims
from longform.datasets.synthetic_world.corpus import indices
from longform.datasets.synthetic_world.dialogues import make_pairs, write_dialogue
from longform.datasets.synthetic_world.domains import domain
from longform.datasets.synthetic_world.lexicon import everyday
from longform.datasets.synthetic_world.parallel import write_translation
from longform.datasets.synthetic_world.ratings import write_cluster
from longform.datasets.synthetic_world.stories import write_story
from longform.datasets.synthetic_world.taxonomy import Taxonomy, to_information_content, to_lmf

SPLIT_NAMES = {"train": "train", "validation": "val", "test": "test"}
CLUSTERS_PER_DOCUMENT = 10  # one cluster of six rated summaries for every ten documents asked for
Files = Iterator[tuple[str, bytes]]


def native_files(*, seed: int, documents: int) -> Files:
    """Path and content of every native file; a path is relative to the folder of raw data.

    Args:
        seed: of the world; document i of a file is document i of ``build`` with the same seed.
        documents: how many pages, records, stories and dialogues.
    """
    yield from wiki_files(seed, documents)
    yield from scientific_files(seed, documents)
    yield from wikisection_files(seed, documents)
    yield from suite_files(seed, documents)
    yield from fever_files(seed, documents)
    yield from lexicon_files()
    yield from parallel_files(seed, documents)


def _lines(rows: Iterable[str]) -> bytes:
    return "".join(f"{row}\n" for row in rows).encode()


def _by_split(seed: int, name: str, documents: int) -> Iterator[tuple[str, list[Article]]]:
    for split, short in SPLIT_NAMES.items():
        numbers = [i for i in indices({split: documents}) if i < documents]
        yield short, [write(seed, name, number) for number in numbers]


def wiki_files(seed: int, documents: int) -> Files:
    """The dump, its index, and the truth of each page."""
    for name, data in raw_wiki.dump_files(seed, documents).items():
        yield f"wiki/{name}", data
    pages = (raw_wiki.write_page(seed, number) for number in range(documents))
    keep = ("page_id", "title", "namespace", "kind", "redirect", "sections")
    rows = ({name: value for name, value in asdict(page).items() if name in keep} for page in pages)
    yield "wiki/truth.jsonl", _lines(json.dumps(row, ensure_ascii=False) for row in rows)


def scientific_files(seed: int, documents: int) -> Files:
    """Cohan et al.'s three files for each of PubMed and arXiv."""
    for name in ("pubmed", "arxiv"):
        for split, articles in _by_split(seed, name, documents):
            yield f"{name}/{split}.txt", _lines(raw_corpora.cohan_lines(articles, name))


def wikisection_files(seed: int, documents: int) -> Files:
    """Plain text, text with markers, and JSON."""
    for split, articles in _by_split(seed, "wikisection", documents):
        yield f"wikisection/wikisection.{split}.txt", _lines(raw_corpora.wikisection_lines(articles, marked=False))
        marked = raw_corpora.wikisection_lines(articles, marked=True)
        yield f"wikisection/wikisection_withSections.{split}.txt", _lines(marked)
        records = raw_corpora.wikisection_records(articles)
        yield f"wikisection/en_city_{split}.json", json.dumps(records, ensure_ascii=False).encode()


def suite_files(seed: int, documents: int) -> Files:
    """The sources of the suites."""
    stories = [write_story(seed, number) for number in range(documents)]
    yield "stories/cloze_test_spring2016.tsv", raw_suites.story_cloze(stories).encode()
    yield "stories/cloze_test_spring2016.csv", raw_suites.story_cloze(stories, ",").encode()
    yield "stories/ROCStories.csv", raw_suites.roc_stories(stories).encode()
    dialogues = [write_dialogue(seed, number) for number in range(documents)]
    yield "personachat/test_both_original.txt", raw_suites.persona_chat(dialogues, seed).encode()
    pairs = [pair for dialogue in dialogues for pair in make_pairs(dialogue, seed)]
    yield "dialogue_nli/dialogue_nli_verified_test.jsonl", raw_suites.dialogue_nli(pairs).encode()
    articles = [write(seed, "wiki", number) for number in range(documents)]
    yield "gap/gap-test.tsv", raw_suites.gap(articles).encode()
    yield "arrau/markables.jsonl", _lines(map(json.dumps, raw_suites.mmax_like(articles)))
    for connective, text in raw_suites.disco_annotation(articles).items():
        yield f"disco/{connective}.txt", text.encode()
    yield "winograd/wsc273.json", json.dumps(raw_suites.winograd(articles, 273, seed)).encode()
    clusters = [write_cluster(seed, number, "test") for number in range(-(-documents // CLUSTERS_PER_DOCUMENT))]
    yield "gcdc/planted_test.csv", raw_suites.gcdc(version for cluster in clusters for version in cluster).encode()


def fever_files(seed: int, documents: int) -> Files:
    """Claims and the wiki pages that they are checked against."""
    articles = [write(seed, "encyclopedia", number) for number in range(documents)]
    claims = make_claims(articles, domain("encyclopedia").vocabulary, seed)
    yield "fever/dev.jsonl", _lines(raw_suites.fever_claims(claims))
    yield "fever/wiki-pages/wiki-001.jsonl", _lines(raw_suites.fever_pages(articles))


def lexicon_files() -> Files:
    """The nouns in WN-LMF and their information content."""
    taxonomy = Taxonomy.of(everyday())
    yield "lexicon/planted.xml", to_lmf(taxonomy).encode()
    yield "lexicon/ic-planted.dat", to_information_content(taxonomy).encode()


def parallel_files(seed: int, documents: int) -> Files:
    """English, target sentence and its language, tab-separated."""
    pairs = [write_translation(seed, number) for number in range(documents)]
    rows = (f"{pair.clause.english()}\t{' '.join(pair.target)} .\t{pair.language}" for pair in pairs)
    yield "parallel/planted.tsv", _lines(rows)
