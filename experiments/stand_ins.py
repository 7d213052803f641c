"""Stand-ins for what the papers' sizes read: tiny networks in the hub's layout and files in the native formats, made of the synthetic world.

``experiments/rehearse.py`` runs every paper's scale with them. They never stand for the data that they imitate.
"""

from __future__ import annotations

import bz2
import csv
import io
import json
import shutil
import tarfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from xml.sax.saxutils import escape

from synthetic_world import native_corpus
from synthetic_world.articles import write
from synthetic_world.corpora import build
from synthetic_world.corpus import indices
from synthetic_world.domains import domain
from synthetic_world.fever_corpus import fever_claims, fever_pages, make_claims, sentence_claims
from synthetic_world.lexicon import fit as lexicon
from synthetic_world.planted_suites import source_files
from synthetic_world.reports import write_cluster

SEED = 1234
BASES = {  # whose stand-in a network of data/bases is, or a tiny one of random weights
    "openai-community/gpt2": "gpt2",
    "openai-community/gpt2-medium": "gpt2_medium",
    "openai-community/gpt2-large": "gpt2_large",
    "openai-community/gpt2-xl": "gpt2_xl",
    "EleutherAI/gpt-neo-125m": "gpt_neo",
    "microsoft/DialoGPT-medium": "gpt2_medium",
    **dict.fromkeys(
        (
            f"EleutherAI/pythia-{n}"
            for n in ("70m", "160m", "410m", "1b", "1.4b", "2.8b", "6.9b", "12b")
        ),
        "pythia",
    ),
}
BERT = "google-bert/bert-base-cased"
PAGES, ARTICLES, SENTENCES, PREFIXES = (
    260,
    90,
    240,
    6,
)  # of the dump, of Cohan's files a domain, of translations, of each year


def articles(count: int) -> list[str]:
    """Plain texts of the world's articles, one line each."""
    made = (write(SEED, "wiki", number) for number in range(count))
    return [
        " ".join(s.text for _, sentences in article.sections for s in sentences) for article in made
    ]


def dump() -> bytes:
    """A multistream dump whose articles are all on films, as the mention critic reads those alone."""
    plain = native_corpus.write_page

    def film(seed: int, number: int) -> native_corpus.Page:
        page = plain(seed, number)
        title = page.title.partition(" (")[0]
        return replace(
            page,
            wikitext=page.wikitext.replace(f"'''{title}'''", f"'''{title}''' is a film, and", 1),
        )

    native_corpus.write_page = film
    try:
        (content,) = native_corpus.dump_files(SEED, PAGES).values()
    finally:
        native_corpus.write_page = plain
    return content


def cohan(form: str) -> Mapping[str, bytes]:
    """``train.txt``, ``val.txt`` and ``test.txt``."""
    return native_corpus.FORMS[form][0](SEED, ARTICLES)


def translations() -> dict[str, str]:
    """Aligned files, English beside one of three invented languages."""
    made, sides = (
        build(name="languages", seed=SEED, domain="parallel", documents={"train": SENTENCES}),
        {},
    )
    for document, number in zip(made.documents, made.truth["language"].tolist(), strict=True):
        for section, ending in zip(
            document.sections, ("en", ("de", "es", "fr")[number]), strict=True
        ):
            sides.setdefault(f"world{number}.{ending}", []).append(section.text)
    return {name: "\n".join(lines) + "\n" for name, lines in sides.items()}


def suites() -> Mapping[str, str]:
    """Native files of beyer2021's suites, by the names that the planted suites give them."""
    return source_files(SEED, {"stories": 20, "dialogues": 12, "articles": 0})


def archive(name: str, content: str) -> bytes:
    """One file packed."""
    packed, data = io.BytesIO(), content.encode()
    with tarfile.open(fileobj=packed, mode="w:gz") as held:
        member = tarfile.TarInfo(name)
        member.size = len(data)
        held.addfile(member, io.BytesIO(data))
    return packed.getvalue()


CONNECTIVES = {  # senses of beyer2021's Table 4
    "although": ("concession", "contrast"),
    "as": ("causal", "comparison", "concession", "PREPOSITION", "temporal"),
    "however": ("concession", "contrast"),
    "since": ("causal", "temporal-causal", "temporal"),
    "though": ("concession", "contrast"),
    "while": ("concession", "contrast", "temporal-causal", "temporal-contrast", "temporal"),
    "yet": ("ADV", "concession", "contrast"),
}


def connectives() -> str:
    """Disco-Annotation: id, connective, sense, segment."""
    uses = [(word, sense) for word, senses in CONNECTIVES.items() for sense in senses]
    return "".join(
        f"u{number}-{place}\t{word}\t{sense}\tThe boat left early , <c>{word}</c> the {place}. crew stayed at home .\n"
        for number, (word, sense) in enumerate(uses)
        for place in range(3)
    )


def schemas() -> str:
    """WSC273 as JSON lines."""
    row = {
        "sentence": "The city refused the men a permit because [MASK] feared the {} crowd.",
        "mask": "[MASK]",
    }
    row |= {"candidates": ["The city", "The men"]}
    return "".join(
        json.dumps({**row, "id": n, "sentence": row["sentence"].format(n), "correct": n % 2}) + "\n"
        for n in range(12)
    )


def arrau(genre: str) -> dict[str, str]:
    """One document of ARRAU in MMAX2: chains of a noun phrase and a pronoun in the next sentence."""
    sentences = [
        text.split()
        for n in range(8)
        for text in (f"A woman with {n} bags sang .", "Then she bowed to us .")
    ]
    ends = [sum(len(s) for s in sentences[: i + 1]) for i in range(len(sentences))]
    words = [word for sentence in sentences for word in sentence]
    spans = [(end - len(s) + 1, end) for s, end in zip(sentences, ends, strict=True)]
    mentions = [
        (a + (i % 2), a + (i % 2) + (0 if i % 2 else 1), i // 2) for i, (a, _) in enumerate(spans)
    ]
    level = [f'<markable id="m{i}" span="word_{a}..word_{b}"/>' for i, (a, b) in enumerate(spans)]
    coref = [
        f'<markable id="c{i}" span="word_{a}..word_{b}" coref_set="set_{s}"/>'
        for i, (a, b, s) in enumerate(mentions)
    ]
    listed = [f'<word id="word_{i}">{word}</word>' for i, word in enumerate(words, 1)]
    name = f"{genre.lower()}1"
    return {
        f"{genre}/Basedata/{name}_words.xml": f"<words>{''.join(listed)}</words>",
        f"{genre}/Markables/{name}_sentence_level.xml": f"<markables>{''.join(level)}</markables>",
        f"{genre}/Markables/{name}_coref_level.xml": f"<markables>{''.join(coref)}</markables>",
    }


def gcdc() -> dict[str, str]:
    """GCDC's CSV files of four domains."""
    files = {}
    for source in ("enron", "clinton", "yahoo", "yelp"):
        for split, numbers in (("train", range(30)), ("test", range(30, 45))):
            held = io.StringIO()
            table = csv.writer(held)
            table.writerow(["text_id", "text", "labelA"])
            table.writerows(
                [n, text, 1 + n % 3] for n, text in enumerate(articles(45)) if n in numbers
            )
            files[f"{source}/{source}_{split}.csv"] = held.getvalue()
    return files


def introductions() -> list[tuple[int, str, str]]:
    """Id, title and text of the pages that are most visited: those of the test split, then those of the validation split."""
    counts = {"test": PREFIXES, "validation": PREFIXES}
    made = (write(SEED, "encyclopedia", n) for n in indices(counts))
    texts = (
        (a.title, " ".join(s.text for _, sentences in a.sections for s in sentences)) for a in made
    )
    return [(number, title, text) for number, (title, text) in enumerate(dict(texts).items(), 1)]


def encyclopedia_dump() -> bytes:
    """A dump of those pages, the text of each as its introduction."""
    pages = "".join(
        f"<page><title>{escape(title)}</title><ns>0</ns><id>{number}</id><revision><model>wikitext</model>"
        f"<text>{escape(text)}</text></revision></page>\n"
        for number, title, text in introductions()
    )
    return bz2.compress(f"<mediawiki>{pages}</mediawiki>".encode())


def page_views() -> dict[str, bytes]:
    """Wikimedia's lines of views for two years: in the second the first year's pages are still the most visited."""
    rows = [
        ("Main_Page", "15580374", 900),
        ("Special:Search", "null", 800),
        ("List_of_films", "77", 700),
    ]
    rows += [
        (title.replace(" ", "_"), str(number), 600 - number) for number, title, _ in introductions()
    ]
    lines = "".join(
        f"{wiki} {title} {number} {access} {views} A{views}\n"
        for wiki in ("de.wikipedia", "en.wikipedia")
        for title, number, views in rows
        for access in ("desktop", "mobile-web")
    )
    months = (f"{year}{month:02}" for year in (2017, 2018) for month in range(1, 13))
    return {f"pageviews-{month}-user.bz2": bz2.compress(lines.encode()) for month in months}


def fever() -> dict[str, str]:
    """Claims and pages in FEVER's format."""
    numbers = {
        "train": 60,
        "validation": PREFIXES,
        "test": PREFIXES,
    }  # the prefixes' own pages among them
    pages = list(
        {
            page.title: page for page in (write(SEED, "encyclopedia", n) for n in indices(numbers))
        }.values()
    )
    claims = [
        *make_claims(pages, domain("encyclopedia").vocabulary, SEED),
        *sentence_claims(pages, SEED),
    ]
    return {
        "train.jsonl": _lines(fever_claims(claims)),
        "wiki-pages/wiki-001.jsonl": _lines(fever_pages(pages)),
    }


def summaries() -> dict[str, str]:
    """SummEval's annotations, one file a system; the references are the sound versions."""
    files: dict[str, list[dict[str, object]]] = {}
    for cluster in range(12):
        sound, *rated = write_cluster(SEED, cluster)
        for number, one in enumerate(rated):
            marks = [{"coherence": mark} for mark in one.marks.tolist()[:3]]
            text = {"decoded": one.document.text, "references": [sound.document.text]}
            row = {
                "id": f"a{cluster}",
                "model_id": f"M{number}",
                **text,
                "expert_annotations": marks,
            }
            files.setdefault(f"M{number}_annotations.jsonl", []).append(row)
    return {name: _lines(rows) for name, rows in files.items()}


def _lines(rows: Iterable[object]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


FOLDERS: Mapping[str, Callable[[], Mapping[str, str | bytes]]] = {
    "pubmed-dataset": lambda: cohan("pubmed"),
    "arxiv-dataset": lambda: cohan("arxiv"),
    "multi_target": translations,
    "arrau": lambda: {
        k: v for genre in ("WSJ", "VPC", "Dialogue", "Fiction") for k, v in arrau(genre).items()
    },
    "dialogue_nli": lambda: {"dialogue_nli_verified_test.jsonl": suites()["dialogue_nli.jsonl"]},
    "gcdc": gcdc,
    "fever": fever,
    "page_views": page_views,
    "rated_summaries": summaries,
    ".": lambda: {
        "enwiki-20211201-pages-articles-multistream.xml.bz2": dump(),
        "enwiki-20190101-pages-articles-multistream.xml.bz2": encyclopedia_dump(),
        "cloze_test_test__spring2016-cloze_test_ALL_test.tsv": suites()["cloze_test.tsv"],
        "personachat.tgz": archive(
            "personachat/test_both_original.txt", suites()["personachat.txt"]
        ),
        "wsc273.jsonl": schemas(),
        "disco_annotation.tsv": connectives(),
        "wikisection.train.txt": "\n".join(articles(60)) + "\n",
        "wikisection.test.txt": "\n".join(articles(84)[60:]) + "\n",
    },
}


def offer(folder: Path, bases: Path) -> None:
    """Every file that the papers' scales list, under the name by which they are searched for."""
    for place, made in FOLDERS.items():
        for name, content in made().items():
            file = folder / place / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content if isinstance(content, bytes) else content.encode())
    (folder / "wordnet").mkdir(exist_ok=True)
    lexicon(world="everyday").save(folder / "wordnet")
    shutil.copy(bases / "tokenizer" / "tokenizer.json", folder / "gpt2_tokenizer.json")


def publish(folder: Path, bases: Path) -> dict[str, str]:
    """Tiny networks of the same architectures in the hub's layout, with weights as safetensors; their folders by hub name."""
    from tokenizers import BertWordPieceTokenizer
    from transformers import (
        AutoModelForCausalLM,
        BertConfig,
        BertForMaskedLM,
        GPTNeoXConfig,
        GPTNeoXForCausalLM,
        PreTrainedTokenizerFast,
    )

    from longform.language_models.checkpoints import load_model, load_tokenizer

    sizes = {
        "hidden_size": 32,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 64,
    }
    own = load_tokenizer(bases / "tokenizer")
    for hub, base in BASES.items():
        if base == "pythia":
            network = GPTNeoXForCausalLM(
                GPTNeoXConfig(
                    vocab_size=len(own),
                    max_position_embeddings=512,
                    bos_token_id=own.bos_token_id,
                    eos_token_id=own.eos_token_id,
                    **sizes,
                )
            )
        else:
            network = load_model(bases / base, AutoModelForCausalLM).float()
        network.save_pretrained(folder / hub)
        own.save_pretrained(folder / hub)
    pieces = BertWordPieceTokenizer(lowercase=False)
    pieces.train_from_iterator(articles(60), vocab_size=1000, show_progress=False)
    named = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "cls", "sep", "unk", "mask")}
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=pieces._tokenizer, **named)
    BertForMaskedLM(BertConfig(vocab_size=len(tokenizer), **sizes)).save_pretrained(folder / BERT)
    tokenizer.save_pretrained(folder / BERT)
    return {hub: str(folder / hub) for hub in (*BASES, BERT)}
