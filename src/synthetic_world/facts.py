"""Exact verdicts on sentences about the synthetic world.

What its pages state is read back from their texts.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from longform.critics.verifiability import checks
from longform.critics.verifiability import read as generations
from longform.critics.verifiability.checks import NEI, CheckedText
from longform.critics.verifiability.read import Label
from longform.decoding.continuations import prefix_of
from longform.documents import Document, Predictions
from longform.errors import BadInput
from longform.text.sentences import SPLITTERS, sentence_texts
from synthetic_world.corruptions import SOUND
from synthetic_world.fever_corpus import UNKNOWN, Verifier, read_claim


def read_generations(
    *,
    documents: Sequence[Document],
    truth: Mapping[str, np.ndarray],
    reader: Path,
    name: str,
    domain: str,
    **settings: Any,
) -> Predictions:
    """A trained checker's verdicts on generations with the exact ones beside them.

    See :func:`longform.critics.verifiability.read.read`.

    Args:
        documents, truth, reader, name, settings: of that function.
        domain: the planted domain of the checker's pages.
    """

    def exact(pages: Mapping[str, Sequence[str]]) -> Callable[[str], Label]:
        return judge(verifier_of_lines(pages, domain))

    return generations.read(
        documents=documents, truth=truth, reader=reader, name=name, exact=exact, **settings
    )


def judge(verifier: Verifier) -> Callable[[str], Label]:
    """A function that labels a sentence as fact checkers do, with the evidence of the label.

    The label is not enough information, without evidence, where the verifier knows nothing.
    """

    def label(sentence: str) -> Label:
        verdict = verifier.check(sentence)
        if verdict is None or verdict.label == UNKNOWN:
            return NEI, frozenset()
        return verdict.label, verdict.evidence

    return label


def read(
    *, documents: Sequence[Document], name: str, domain: str, title_from: str = "definition"
) -> Predictions:
    """A verdict on each sentence of each document: supported, refuted, or not enough known.

    The evidence is what the sound ones among the documents state: articles before they were
    damaged, whose ids begin with ``sound@0/``. They are judged too.

    Args:
        documents: sound articles, and the same damaged.
        name: of the predictions, in errors.
        domain: the planted domain whose facts are checked.
        title_from: what an article's title is taken from, a key of
            :data:`longform.decoding.continuations.TITLES`.

    Raises:
        BadInput: the sound articles state no fact of the domain.
    """
    sound = [document for document in documents if document.id.startswith(f"{SOUND}/")]
    verifier = verifier_of(sound, domain, "rules", title_from)
    if not verifier.stated:
        raise BadInput(
            f"infer {name}: {len(sound)} sound articles state no fact of domain {domain!r}; "
            "fix domain"
        )
    label = judge(verifier)
    units = []
    for document in documents:
        rows = [label(sentence) for sentence in sentence_texts(document.text)]
        units.append(CheckedText.of(document.id, document.split, rows))
    return checks.checks_to_predictions(units)


def verifier_of(pages: Iterable[Document], domain: str, splitter: str, title_from: str) -> Verifier:
    """What the pages of a corpus state, read back from their texts.

    Args:
        pages: articles; of those with the same title the first one counts.
        domain: the planted domain of their facts.
        splitter: how texts are cut into sentences, a key of ``SPLITTERS``.
        title_from: what a page's title is taken from, a key of
            :data:`longform.decoding.continuations.TITLES`.
    """
    lines: dict[str, Sequence[str]] = {}
    for page in pages:
        sentences = []
        for sentence in SPLITTERS[splitter](page.text):
            sentences.append(" ".join(sentence.split()))
        title, _, _ = prefix_of(page, splitter, title_from)  # first sentence and rest aside
        lines.setdefault(title, sentences)
    return verifier_of_lines(lines, domain)


def verifier_of_lines(pages: Mapping[str, Sequence[str]], domain: str) -> Verifier:
    """What frozen pages state, by the rules that their sentences were made with.

    The first statement counts.
    """
    stated: dict[tuple[str, str], tuple[str, tuple[str, int]]] = {}
    for title, lines in pages.items():
        for number, line in enumerate(lines):
            for triple in read_claim(line, domain):
                if triple.title == title:
                    stated.setdefault((title, triple.relation), (triple.value, (title, number)))
    return Verifier(domain, stated)
