"""Table 5's counterpart: texts of four decoders, with the checker's verdict on every sentence.

    PYTHONPATH=src:. python experiments/massarelli2020/examples.py \\
        > experiments/massarelli2020/measured/table_5.md

reads what the default run left below ``data`` (another folder: ``--data FOLDER``). The paper shows
two prefixes, one picked for how beam search repeats itself and a random one (massarelli2020
section 8.2). Here a rule picks both. The first is the prefix under which beam search writes the
fewest different sentences among those that are checked; of equal ones, the page that comes first by
id. The second is drawn from all others. Of a decoder that draws, the first of its texts is shown.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from longform.critics.verifiability.checks import (
    CheckedGeneration,
    Evidence,
    generations_from_predictions,
)
from longform.datasets.fever import PageFile
from longform.documents import Document
from longform.files.artefacts import read_corpus, read_predictions
from longform.statistics.random_streams import generator
from longform.tables import markdown_table

# the strategies of Table 5, in its order
DECODERS = {
    "top_k": "top-k sampling",
    "beam": "beam search",
    "delayed_beam": "delayed beam search",
    "beam_blocked": "beam search, repeats blocked",
}
MOST_REPEATED = "beam"  # the decoder whose repetition picks the first prefix
VERDICTS = {
    "supported": "supported",
    "refuted": "**refuted**",
    "not_enough_info": "not enough information",
}
HEADER = ("decoder", "sentence, as it was checked", "verdict", "evidence")
Pages = Mapping[str, Sequence[str]]  # lines by title


@dataclass(frozen=True)
class Example:
    """One prefix with a text of each decoder.

    Attributes:
        why: the rule that chose the prefix.
        prefix: the page's title and its first sentence.
        texts: checked text of each decoder.
    """

    why: str
    prefix: str
    texts: Mapping[str, CheckedGeneration]


def texts_by_page(
    generations: Sequence[CheckedGeneration],
) -> dict[str, dict[str, CheckedGeneration]]:
    """The first text of each decoder of ``DECODERS``, by page (in the order of ids) and decoder."""
    pages: dict[str, dict[str, CheckedGeneration]] = {}
    for text in sorted(generations, key=lambda generation: generation.unit_id):
        if text.setting in DECODERS:
            pages.setdefault(text.page, {}).setdefault(text.setting, text)
    return pages


def num_different(text: CheckedGeneration) -> int:
    """Number of different sentences among the checked ones."""
    return len(set(text.column("same_as").tolist()))


def chosen_pages(pages: Mapping[str, Mapping[str, CheckedGeneration]]) -> dict[str, str]:
    """The two pages that are shown, with the rule that picked each.

    Args:
        pages: texts by page and decoder, pages in the order of their ids; at least two.
    """
    most_repetitive = min(pages, key=lambda page: num_different(pages[page][MOST_REPEATED]))
    others = [page for page in pages if page != most_repetitive]
    random_page = others[generator("table 5", "drawn prefix").integers(len(others))]
    return {
        most_repetitive: "where beam search repeats itself most",
        random_page: "drawn at random from the others",
    }


def examples(
    generations: Sequence[CheckedGeneration], documents: Mapping[str, Document]
) -> list[Example]:
    """The two prefixes, each with its texts.

    Args:
        generations: of one run, with the checker's verdicts.
        documents: the same texts as they were written, by id; a first section is the prefix.
    """
    pages = texts_by_page(generations)
    chosen = []
    for page, why in chosen_pages(pages).items():
        texts = pages[page]
        prefix = documents[texts[MOST_REPEATED].unit_id].sections[0]
        chosen.append(Example(why, f"{prefix.title}. {prefix.text}", texts))
    return chosen


def evidence_text(evidence: Evidence, pages: Pages) -> str:
    """The lines that a verdict rests on, each with its page and its number from one."""
    lines = []
    for title, number in sorted(evidence):
        lines.append(f"{title}, line {number + 1}: {pages[title][number]}")
    return " ".join(lines)


def verdict_text(text: CheckedGeneration, number: int) -> str:
    """The checker's verdict on sentence ``number``, from 0, and the true one where it differs."""
    verdict = text.checks.labels[number]
    if text.truth is None or text.truth.labels[number] == verdict:
        return VERDICTS[verdict]
    return f"{VERDICTS[verdict]} (exact: {VERDICTS[text.truth.labels[number]]})"


def table(example: Example, pages: Pages) -> str:
    """The prefix in Markdown, and a row for each sentence of each decoder."""
    rows = []
    for decoder, name in DECODERS.items():
        text = example.texts[decoder]
        first_seen: dict[str, int] = {}
        for number, sentence in enumerate(text.texts):
            first = first_seen.setdefault(sentence, number)
            verdict = verdict_text(text, number)
            if first < number:
                cells = [f"*its sentence {first + 1} again*", verdict, ""]
            else:
                cells = [sentence, verdict, evidence_text(text.checks.evidence[number], pages)]
            rows.append([name if number == 0 else "", *cells])
    return markdown_table(f"{example.prefix} ({example.why})", HEADER, rows, [])


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, default=Path("data"))
    data = parser.parse_args().data
    run = "facts/verifiability/test/data/checks.npz"
    generations = generations_from_predictions(read_predictions(data / "predictions" / run))
    corpus = read_corpus(data / "generations/facts/test")
    documents = {document.id: document for document in corpus.documents}
    pages = PageFile(data / "critics/facts/verifiability/claims")
    print("**Table 5. Texts by decoder; each sentence with the fact checker's verdict**")
    for example in examples(generations, documents):
        print()
        print(table(example, pages), end="")


if __name__ == "__main__":
    main()
