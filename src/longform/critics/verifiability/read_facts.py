"""Facts that whole synthetic articles state, held against what the sound articles of the same corpus state."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from longform.core.documents import BadInput, Document, Readout
from longform.critics.verifiability.score import CheckedText, checks_to_readout
from longform.datasets.synthetic_world.claims import UNKNOWN, Verifier, read_claim
from longform.datasets.synthetic_world.corruption_corpus import SOUND
from longform.decoding.continuations import prefix_of
from longform.text.sentences import SPLITTERS, sentence_texts


def read(*, documents: Sequence[Document], name: str, domain: str, title_from: str = "definition") -> Readout:
    """A verdict on every sentence of every document: supported, refuted, or not enough information.

    Raises:
        BadInput: no sound document, or none that states a fact of the domain.
    """
    pages = [document for document in documents if document.id.startswith(f"{SOUND}/")]
    verifier = verifier_of(pages, domain, "rules", title_from)
    if not verifier.stated:
        raise BadInput(f"infer {name}: {len(pages)} sound articles state no fact of domain {domain!r}; fix domain")
    units = []
    for document in documents:
        verdicts = [verifier.check(sentence) for sentence in sentence_texts(document.text)]
        labels = tuple("not_enough_info" if v.label == UNKNOWN else v.label for v in verdicts)
        evidence = tuple(frozenset() if v.label == UNKNOWN else v.evidence for v in verdicts)
        units.append(CheckedText(document.id, document.split, labels, evidence))
    return checks_to_readout(units)


def verifier_of(pages: Iterable[Document], domain: str, splitter: str, title_from: str) -> Verifier:
    """What the pages of a corpus state, read back from their texts; of pages with one title the first one counts."""
    stated: dict[tuple[str, str], tuple[str, tuple[str, int]]] = {}
    titles: set[str] = set()
    repeated = 0
    for page in pages:
        title = prefix_of(page, splitter, title_from)[0]
        repeated += title in titles
        if title in titles:
            continue
        titles.add(title)
        for line, sentence in enumerate(SPLITTERS[splitter](" ".join(page.text.split()))):
            for triple in read_claim(sentence, domain):
                if triple.title == title:
                    stated.setdefault((title, triple.relation), (triple.value, (title, line)))
    return Verifier(domain, stated, repeated)
