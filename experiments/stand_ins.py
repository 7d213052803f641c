"""Stand-ins for what the papers' sizes read, made of the synthetic world.

Tiny networks in the hub's layout and files in the native formats. ``experiments/rehearse.py`` runs
every paper's scale with them. They never stand for the data that they imitate.
"""

from __future__ import annotations

import bz2
import csv
import io
import json
import shutil
import tarfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from synthetic_world import native_corpus
from synthetic_world.articles import Article, write
from synthetic_world.corpora import build
from synthetic_world.corpus import indices
from synthetic_world.domains import domain
from synthetic_world.fever_corpus import fever_claims, fever_pages, make_claims, sentence_claims
from synthetic_world.lexicon import fit as lexicon
from synthetic_world.planted_suites import source_files
from synthetic_world.reports import write_cluster

SEED = 1234
PYTHIA = "pythia"
# Networks of the hub, each with its stand-in: a folder of data/bases, or PYTHIA for a tiny network
# of random weights.
BASES = {
    "openai-community/gpt2": "gpt2",
    "openai-community/gpt2-medium": "gpt2_medium",
    "openai-community/gpt2-large": "gpt2_large",
    "openai-community/gpt2-xl": "gpt2_xl",
    "EleutherAI/gpt-neo-125m": "gpt_neo",
    "microsoft/DialoGPT-medium": "gpt2_medium",
    "EleutherAI/pythia-70m": PYTHIA,
    "EleutherAI/pythia-160m": PYTHIA,
    "EleutherAI/pythia-410m": PYTHIA,
    "EleutherAI/pythia-1b": PYTHIA,
    "EleutherAI/pythia-1.4b": PYTHIA,
    "EleutherAI/pythia-2.8b": PYTHIA,
    "EleutherAI/pythia-6.9b": PYTHIA,
    "EleutherAI/pythia-12b": PYTHIA,
}
BERT = "google-bert/bert-base-cased"
TINY = {
    "hidden_size": 32,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 64,
}
PAGES = 260  # in the Wikipedia dump
ARTICLES = 90  # in Cohan's files of each domain (PubMed, arXiv)
SENTENCES = 240  # aligned sentences of all translations together
LANGUAGES = ("de", "es", "fr")
PREFIXES = 6  # most visited pages of each year, whose introductions are prefixes of completions


def articles(count: int) -> list[str]:
    """Plain texts of the synthetic world's first ``count`` articles, one line each."""
    return [plain_text(write(SEED, "wiki", number)) for number in range(count)]


def plain_text(article: Article) -> str:
    """All sentences of an article in one line."""
    texts = []
    for _, sentences in article.sections:
        texts += [sentence.text for sentence in sentences]
    return " ".join(texts)


def dump() -> bytes:
    """A packed multistream dump of articles on films, as the mention critic reads those alone.

    The synthetic world's ``write_page`` writes on anything: it is replaced while this is made.
    """
    plain = native_corpus.write_page

    def film(seed: int, number: int) -> native_corpus.Page:
        page = plain(seed, number)
        title = page.title.partition(" (")[0]
        opening = f"'''{title}'''"
        wikitext = page.wikitext.replace(opening, f"{opening} is a film, and", 1)
        return replace(page, wikitext=wikitext)

    native_corpus.write_page = film
    try:
        (content,) = native_corpus.dump_files(SEED, PAGES).values()
    finally:
        native_corpus.write_page = plain
    return content


def cohan(form: str) -> Mapping[str, bytes]:
    """Cohan's ``train.txt``, ``val.txt`` and ``test.txt`` of a domain, ``pubmed`` or ``arxiv``."""
    make_files, *_ = native_corpus.FORMS[form]
    return make_files(SEED, ARTICLES)


def translations() -> dict[str, str]:
    """Aligned text files by name, English beside each of three invented languages.

    Line i of ``world<n>.en`` and of ``world<n>.<language>`` are translations of each other.
    """
    corpus = build(name="languages", seed=SEED, domain="parallel", documents={"train": SENTENCES})
    files: dict[str, str] = {}
    for document, number in zip(corpus.documents, corpus.truth["language"].tolist(), strict=True):
        english, other = document.sections  # a document is one sentence and its translation
        for ending, section in (("en", english), (LANGUAGES[number], other)):
            name = f"world{number}.{ending}"
            files[name] = files.get(name, "") + f"{section.text}\n"
    return files


def suites() -> Mapping[str, str]:
    """Files in the native formats of beyer2021's test suites, by their names in the world."""
    return source_files(SEED, {"stories": 20, "dialogues": 12, "articles": 0})


def archive(name: str, content: str) -> bytes:
    """A ``.tar.gz`` archive with one file."""
    packed, data = io.BytesIO(), content.encode()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        member = tarfile.TarInfo(name)
        member.size = len(data)
        tar.addfile(member, io.BytesIO(data))
    return packed.getvalue()


# Senses of each connective in beyer2021's Table 4, by the labels of Disco-Annotation.
CONNECTIVES = {
    "although": ("concession", "contrast"),
    "as": ("causal", "comparison", "concession", "PREPOSITION", "temporal"),
    "however": ("concession", "contrast"),
    "since": ("causal", "temporal-causal", "temporal"),
    "though": ("concession", "contrast"),
    "while": ("concession", "contrast", "temporal-causal", "temporal-contrast", "temporal"),
    "yet": ("ADV", "concession", "contrast"),
}


def connectives() -> str:
    """Disco-Annotation's table, tab-separated: id, connective, sense, segment; three a sense."""
    lines = []
    number = 0
    for word, senses in CONNECTIVES.items():
        for sense in senses:
            for copy in range(3):
                text = f"The boat left early , <c>{word}</c> the {copy}. crew stayed at home ."
                lines.append(f"u{number}-{copy}\t{word}\t{sense}\t{text}\n")
            number += 1
    return "".join(lines)


def schemas() -> str:
    """Winograd schemas in the JSON lines of WSC273."""
    rows = []
    for number in range(12):
        because = f"[MASK] feared the {number} crowd."
        row = {
            "sentence": f"The city refused the men a permit because {because}",
            "mask": "[MASK]",
            "candidates": ["The city", "The men"],
            "id": number,
            "correct": number % 2,
        }
        rows.append(row)
    return _lines(rows)


@dataclass
class Annotated:
    """Words, sentences and mentions of a document in MMAX2, each a list of XML elements.

    Words are numbered from 1; sentences and mentions are spans of words, both ends included.
    """

    words: list[str]
    sentences: list[str]
    mentions: list[str]

    def add_sentence(self, text: str) -> int:
        """Add a sentence whose words stand between blanks. Returns the first word's number."""
        first = len(self.words) + 1
        for word in text.split():
            self.words.append(f'<word id="word_{len(self.words) + 1}">{word}</word>')
        span = f"word_{first}..word_{len(self.words)}"
        self.sentences.append(f'<markable id="m{len(self.sentences)}" span="{span}"/>')
        return first

    def add_mention(self, first: int, last: int, chain: int) -> None:
        """Add a mention from its first to its last word's number, in a coreference chain."""
        name, span = f"c{len(self.mentions)}", f"word_{first}..word_{last}"
        self.mentions.append(f'<markable id="{name}" span="{span}" coref_set="set_{chain}"/>')


def arrau(genre: str) -> dict[str, str]:
    """The MMAX2 files of one ARRAU document, by path.

    Each chain is a noun phrase and a pronoun one sentence later.
    """
    document = Annotated(words=[], sentences=[], mentions=[])
    for chain in range(8):
        first = document.add_sentence(f"A woman with {chain} bags sang .")
        document.add_mention(first, first + 1, chain)
        first = document.add_sentence("Then she bowed to us .")
        document.add_mention(first + 1, first + 1, chain)
    name = f"{genre.lower()}1"
    sentences, mentions = "".join(document.sentences), "".join(document.mentions)
    return {
        f"{genre}/Basedata/{name}_words.xml": f"<words>{''.join(document.words)}</words>",
        f"{genre}/Markables/{name}_sentence_level.xml": f"<markables>{sentences}</markables>",
        f"{genre}/Markables/{name}_coref_level.xml": f"<markables>{mentions}</markables>",
    }


def arrau_of_all_genres() -> dict[str, str]:
    """The files of one ARRAU document of each genre, by path."""
    files: dict[str, str] = {}
    for genre in ("WSJ", "VPC", "Dialogue", "Fiction"):
        files |= arrau(genre)
    return files


def gcdc() -> dict[str, str]:
    """GCDC's CSV files of four domains, by path; coherence (``labelA``) is 1, 2 or 3 in turn."""
    texts = articles(45)
    files = {}
    for source in ("enron", "clinton", "yahoo", "yelp"):
        for split, numbers in (("train", range(30)), ("test", range(30, 45))):
            file = io.StringIO()
            table = csv.writer(file)
            table.writerow(["text_id", "text", "labelA"])
            for number in numbers:
                table.writerow([number, texts[number], 1 + number % 3])
            files[f"{source}/{source}_{split}.csv"] = file.getvalue()
    return files


def encyclopedia(documents: Mapping[str, int]) -> list[Article]:
    """Pages of the world's encyclopedia; of pages with equal titles the last one alone.

    Args:
        documents: number of pages of each split.
    """
    by_title = {}
    for number in indices(documents):
        article = write(SEED, "encyclopedia", number)
        by_title[article.title] = article
    return list(by_title.values())


def introductions() -> list[tuple[int, str, str]]:
    """(id, title, text) of the pages that are most visited, the most visited one first.

    These are the encyclopedia's test pages, then its validation pages; ids begin at 1.
    """
    pages = encyclopedia({"test": PREFIXES, "validation": PREFIXES})
    return [(number, page.title, plain_text(page)) for number, page in enumerate(pages, 1)]


def encyclopedia_dump() -> bytes:
    """A packed dump of the most visited pages, each of which is its introduction alone."""
    pages = []
    for number, title, text in introductions():
        revision = f"<model>wikitext</model><text>{escape(text)}</text>"
        pages.append(
            f"<page><title>{escape(title)}</title><ns>0</ns><id>{number}</id>"
            f"<revision>{revision}</revision></page>\n"
        )
    return bz2.compress(f"<mediawiki>{''.join(pages)}</mediawiki>".encode())


def page_views() -> dict[str, bytes]:
    """Wikimedia's packed files of monthly page views for two years, by name; all months are alike.

    In the second year the first year's pages are thus still the most visited.
    """
    # Title, id and views: three pages that are no articles, then the introductions.
    rows = [
        ("Main_Page", "15580374", 900),
        ("Special:Search", "null", 800),
        ("List_of_films", "77", 700),
    ]
    for number, title, _ in introductions():
        rows.append((title.replace(" ", "_"), str(number), 600 - number))
    # Each as <wiki> <title> <id> <access> <views> <views by hour>, the same in every month.
    lines = []
    for wiki in ("de.wikipedia", "en.wikipedia"):
        for title, number, views in rows:
            for access in ("desktop", "mobile-web"):
                lines.append(f"{wiki} {title} {number} {access} {views} A{views}\n")
    packed = bz2.compress("".join(lines).encode())
    files = {}
    for year in (2017, 2018):
        for month in range(1, 13):
            files[f"pageviews-{year}{month:02}-user.bz2"] = packed
    return files


def fever() -> dict[str, str]:
    """FEVER's files of claims and pages, by path; the most visited pages are among the pages."""
    pages = encyclopedia({"train": 60, "validation": PREFIXES, "test": PREFIXES})
    vocabulary = domain("encyclopedia").vocabulary
    claims = [*make_claims(pages, vocabulary, SEED), *sentence_claims(pages, SEED)]
    return {
        "train.jsonl": _lines(fever_claims(claims)),
        "wiki-pages/wiki-001.jsonl": _lines(fever_pages(pages)),
    }


def summaries() -> dict[str, str]:
    """SummEval's annotation files, one a system, by name.

    Of each cluster the sound report is the reference, and each damaged one a system's summary.
    """
    files: dict[str, str] = {}
    for cluster in range(12):
        sound, *damaged = write_cluster(SEED, cluster)
        for number, report in enumerate(damaged):
            row = {
                "id": f"a{cluster}",
                "model_id": f"M{number}",
                "decoded": report.document.text,
                "references": [sound.document.text],
                "expert_annotations": [{"coherence": mark} for mark in report.marks.tolist()[:3]],
            }
            name = f"M{number}_annotations.jsonl"
            files[name] = files.get(name, "") + _lines([row])
    return files


def single_files() -> dict[str, str | bytes]:
    """Contents of the data sets that are a single file each, by file name."""
    planted = suites()
    chats = archive("personachat/test_both_original.txt", planted["personachat.txt"])
    return {
        "enwiki-20211201-pages-articles-multistream.xml.bz2": dump(),
        "enwiki-20190101-pages-articles-multistream.xml.bz2": encyclopedia_dump(),
        "cloze_test_test__spring2016-cloze_test_ALL_test.tsv": planted["cloze_test.tsv"],
        "personachat.tgz": chats,
        "wsc273.jsonl": schemas(),
        "disco_annotation.tsv": connectives(),
        "wikisection.train.txt": "\n".join(articles(60)) + "\n",
        "wikisection.test.txt": "\n".join(articles(84)[60:]) + "\n",
    }


def _lines(rows: Iterable[object]) -> str:
    """JSON lines."""
    return "".join(json.dumps(row) + "\n" for row in rows)


# Data sets by their folder in the folder of real files, each with what makes its files by path.
FOLDERS: Mapping[str, Callable[[], Mapping[str, str | bytes]]] = {
    "pubmed-dataset": lambda: cohan("pubmed"),
    "arxiv-dataset": lambda: cohan("arxiv"),
    "multi_target": translations,
    "arrau": arrau_of_all_genres,
    "dialogue_nli": lambda: {"dialogue_nli_verified_test.jsonl": suites()["dialogue_nli.jsonl"]},
    "gcdc": gcdc,
    "fever": fever,
    "page_views": page_views,
    "rated_summaries": summaries,
    ".": single_files,
}


def offer(folder: Path, bases: Path) -> None:
    """Write every file that the papers' scales list below ``folder``, where they look for it."""
    for name, make_files in FOLDERS.items():
        for file, content in make_files().items():
            path = folder / name / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
    (folder / "wordnet").mkdir(exist_ok=True)
    lexicon(world="everyday").save(folder / "wordnet")
    shutil.copy(bases / "tokenizer" / "tokenizer.json", folder / "gpt2_tokenizer.json")


def publish(folder: Path, bases: Path) -> dict[str, str]:
    """Write a stand-in of the same architecture for each network of the hub, with its tokenizer.

    Returns:
        Each network's folder, below ``folder``, by its name on the hub.
    """
    from transformers import AutoModelForCausalLM

    from longform.language_models.checkpoints import load_model, load_tokenizer

    tokenizer = load_tokenizer(bases / "tokenizer")
    for hub, base in BASES.items():
        if base == PYTHIA:
            network = tiny_pythia(tokenizer)
        else:
            network = load_model(bases / base, AutoModelForCausalLM).float()
        network.save_pretrained(folder / hub)
        tokenizer.save_pretrained(folder / hub)
    network, word_pieces = tiny_bert()
    network.save_pretrained(folder / BERT)
    word_pieces.save_pretrained(folder / BERT)
    return {hub: str(folder / hub) for hub in (*BASES, BERT)}


def tiny_pythia(tokenizer: Any) -> Any:
    """A GPT-NeoX network with random weights and the tokenizer's vocabulary."""
    from transformers import GPTNeoXConfig, GPTNeoXForCausalLM

    config = GPTNeoXConfig(
        vocab_size=len(tokenizer),
        max_position_embeddings=512,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        **TINY,
    )
    return GPTNeoXForCausalLM(config)


def tiny_bert() -> tuple[Any, Any]:
    """A masked BERT with random weights, and a tokenizer of word pieces trained on articles."""
    from tokenizers import BertWordPieceTokenizer
    from transformers import BertConfig, BertForMaskedLM, PreTrainedTokenizerFast

    pieces = BertWordPieceTokenizer(lowercase=False)
    pieces.train_from_iterator(articles(60), vocab_size=1000, show_progress=False)
    specials = {
        f"{name}_token": f"[{name.upper()}]" for name in ("pad", "cls", "sep", "unk", "mask")
    }
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=pieces._tokenizer, **specials)
    return BertForMaskedLM(BertConfig(vocab_size=len(tokenizer), **TINY)), tokenizer
