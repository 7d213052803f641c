"""Claims of generated texts checked against a planted encyclopedia by the rules that its sentences were made with.

The checker reads every fact that a page states, with the line that states it, and every fact that a claim states. It
is exact on the planted language and silent elsewhere (not enough information), so it stands where a trained checker
would stand, and shows what that one could reach at most. No page is fetched: the encyclopedia is the reader's folder.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from longform.critics.verifiability.claims import Claim, claims_of, opening_pronouns
from longform.critics.verifiability.verdicts import CheckedText, checks_to_readout
from longform.datasets.synthetic_world.claims import UNKNOWN, Verifier, read_claim
from longform.decoding.prefixes import CONTINUATION, prefix_of
from longform.documents import BadInput, Document, Readout
from longform.text.sentences import SPLITTERS


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


def check(verifier: Verifier, claims: Sequence[Claim]) -> tuple[tuple[str, frozenset[tuple[str, int]]], ...]:
    """Label and evidence of each claim; sentences that are too long are not looked at."""
    nothing = ("not_enough_info", frozenset[tuple[str, int]]())
    verdicts = [verifier.check(claim.text) if claim.verifiable else None for claim in claims]
    return tuple(nothing if v is None or v.label == UNKNOWN else (v.label, v.evidence) for v in verdicts)


def read(
    *,
    documents: Sequence[Document],
    reader: Path,
    name: str,
    domain: str,
    splitter: str = "full_stops",
    title_from: str = "definition",
    pronouns: bool = True,
) -> Readout:
    """Verdicts on the first five sentences of every continuation.

    Args:
        reader: folder of the planted corpus.
        domain: of that corpus.
        title_from: where its pages' titles stand, a key of ``prefixes.TITLES``.
        pronouns: replace an opening pronoun by the page's title.

    Raises:
        BadInput: a document has no continuation, or the pages state no fact of the domain.
    """
    with (reader / "documents.jsonl").open(encoding="utf-8") as lines:
        pages = [Document.from_record(json.loads(line), str(reader)) for line in lines]
    verifier = verifier_of(pages, domain, splitter, title_from)
    if not verifier.stated:
        raise BadInput(f"infer {name}: {len(pages)} pages state no fact of domain {domain!r}; mend domain or reader")
    units = []
    for document in documents:
        texts = {section.title: section.text for section in document.sections[1:]}
        if CONTINUATION not in texts:
            raise BadInput(f"infer {name}: document {document.id!r} has no continuation; texts come from decoding.py")
        title, resolve = document.sections[0].title or "", opening_pronouns if pronouns else None
        text = " ".join(texts[CONTINUATION].split())
        verdicts = check(verifier, claims_of(text, title, SPLITTERS[splitter], resolve=resolve))
        labels, evidence = zip(*verdicts, strict=True) if verdicts else ((), ())
        units.append(CheckedText(document.id, document.split, tuple(labels), tuple(evidence)))
    return checks_to_readout(units)
