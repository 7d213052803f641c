"""The data card of the synthetic world, measured and printed: ``python docs/data_cards/print_synthetic_world.py``."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path

from longform.documents import Corpus
from synthetic_world.articles import write
from synthetic_world.corpora import ARTICLE_DOMAINS, DOMAINS, build
from synthetic_world.corruptions import CORRUPTIONS, corrupt

SEED, EXAMPLE = 1, 2  # the wiki page that the corruptions are shown on
EXACT = ("section_latent_ppl", "mention_latent_ppl", "topic_latent_nll", "bridge_variance_estimate", "bridge_score",
         "grid_log_probability", "rater_agreement")  # fmt: skip
INTRODUCTION = (
    Path(__file__)
    .with_name("synthetic_world.md")
    .read_text(encoding="utf-8")
    .split("\n## Measured")[0]
)


def card(documents: int = 1000) -> Iterator[str]:
    """Lines of the card, measured on that many documents of each domain (a tenth as many clusters of summaries)."""
    counts = {name: documents // 10 if name == "summaries" else documents for name in DOMAINS}
    corpora = {
        name: build(name="card", seed=SEED, domain=name, documents=counts[name]) for name in DOMAINS
    }
    yield INTRODUCTION
    yield "## Measured\n"
    yield from _sizes(corpora)
    yield "\n## Closed forms\n"
    yield from _closed_forms(corpora)
    yield "\n## The eleven corruptions\n\nEach struck at severity 1; one edit of one page.\n"
    yield "| corruption | places | before | after |"
    yield "|---|---|---|---|"
    yield from _corruptions()
    yield "\n## How a document of each domain begins\n"
    yield "| domain | first words |"
    yield "|---|---|"
    for name, corpus in corpora.items():
        yield f"| {name} | {_short(corpus.documents[0].text, 240)} |"


def _short(text: str, width: int) -> str:
    return textwrap.shorten(text, width, placeholder=" ...")


def _words(text: str) -> list[str]:
    return re.findall(r"\w[\w,-]*\w|\w", text)


def _sizes(corpora: Mapping[str, Corpus]) -> Iterator[str]:
    yield "| domain | documents | words | words a document, least to most | word types | paragraphs that repeat |"
    yield "|---|---|---|---|---|---|"
    for name, corpus in corpora.items():
        texts = [_words(document.text) for document in corpus.documents]
        lengths, types = (
            [len(words) for words in texts],
            {w.lower() for ws in texts for w in ws if w[0].isalpha()},
        )
        paragraphs = [
            section.text for document in corpus.documents for section in document.sections
        ]
        repeats = len(paragraphs) - len(set(paragraphs)) if name in ARTICLE_DOMAINS else "-"
        spread = f"{min(lengths)} to {max(lengths)}"
        yield f"| {name} | {len(lengths):,} | {sum(lengths):,} | {spread} | {len(types):,} | {repeats} |"


def _closed_forms(corpora: Mapping[str, Corpus]) -> Iterator[str]:
    yield f"| domain | {' | '.join(name.replace('_', ' ') for name in EXACT)} |"
    yield "|---" * (len(EXACT) + 1) + "|"
    for name, corpus in corpora.items():
        if corpus.facts.keys() & set(EXACT):
            cells = [f"{corpus.facts[key]:.4f}" if key in corpus.facts else "-" for key in EXACT]
            yield f"| {name} | {' | '.join(cells)} |"


def _corruptions() -> Iterator[str]:
    page = write(SEED, "wiki", EXAMPLE)
    for name in CORRUPTIONS:
        edits = corrupt(page, domain_name="wiki", corruption=name, severity=1.0, seed=SEED).edits
        edit = edits[len(edits) // 2]
        before, after = (_short(edit[side], 160) for side in ("before", "after"))
        yield f"| {name} | {len(edits)} | {before} | {after} |"


if __name__ == "__main__":
    for line in card():
        print(line)
