"""Facts that whole planted articles state, held against what the sound articles of the same corpus state."""

from __future__ import annotations

from collections.abc import Sequence

from longform.critics.verifiability.read_planted import verifier_of
from longform.critics.verifiability.verdicts import CheckedText, checks_to_readout
from longform.datasets.synthetic_world.claims import UNKNOWN
from longform.datasets.synthetic_world.corruption_corpus import SOUND
from longform.documents import BadInput, Document, Readout
from longform.text.sentences import sentence_texts


def read(*, documents: Sequence[Document], name: str, domain: str, title_from: str = "definition") -> Readout:
    """A verdict on every sentence of every document: supported, refuted, or not enough information.

    Raises:
        BadInput: no sound document, or none that states a fact of the domain.
    """
    pages = [document for document in documents if document.id.startswith(f"{SOUND}/")]
    verifier = verifier_of(pages, domain, "rules", title_from)
    if not verifier.stated:
        raise BadInput(f"infer {name}: {len(pages)} sound articles state no fact of domain {domain!r}; mend domain")
    units = []
    for document in documents:
        verdicts = [verifier.check(sentence) for sentence in sentence_texts(document.text)]
        labels = tuple("not_enough_info" if v.label == UNKNOWN else v.label for v in verdicts)
        evidence = tuple(frozenset() if v.label == UNKNOWN else v.evidence for v in verdicts)
        units.append(CheckedText(document.id, document.split, labels, evidence))
    return checks_to_readout(units)
