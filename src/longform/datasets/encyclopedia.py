"""Published articles as the encyclopedia of a fact checker (massarelli2020 sections 3 and 5): pages, claims, and what a model has read.

Articles are WikiSection's (:mod:`longform.datasets.wikisection`); a page is named by the words before its first "is". Claims come with the
sentence that they rest on, each such sentence a page of its own (Symmetric FEVER, Schuster et al. 2019, which nobody can answer by the claim alone).
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from longform.datasets import wikisection
from longform.datasets.fever import LABELS, MOST_TOKENS, plain
from longform.documents import Corpus, Document, Section
from longform.errors import InputError
from longform.files.opening import records
from longform.statistics.random_streams import generator
from longform.statistics.splits import SHARES, split_by_seed
from longform.text.paragraphs import single_spaced
from longform.text.sentences import SPLITTERS

Told = tuple[str, str, str, str, int]  # split, claim, label, page and line
SUPPORTED, NEI = LABELS["SUPPORTS"], LABELS["NOT ENOUGH INFO"]
_NAMED = re.compile(
    r"^(?:The (?:city|town) of )?([^,(]+?) ?(?:[,(]| (?:is|was|are|were) )", re.IGNORECASE
)


def pages(
    *,
    name: str,
    seed: int,
    raw: Path,
    shares: Mapping[str, float] = SHARES,
    splitter: str = "rules",
) -> Corpus:
    """Every article as one section under its page's name; arguments and facts as :func:`wikisection.build`, and articles without a name."""
    corpus = wikisection.build(name=name, seed=seed, raw=raw, shares=shares, splitter=splitter)
    texts = [(document, single_spaced(document.text)) for document in corpus.documents]
    named = [
        (document, found[1], text) for document, text in texts if (found := _NAMED.match(text))
    ]
    documents = [
        replace(document, sections=(Section(title, text),)) for document, title, text in named
    ]
    return Corpus(documents, facts={**corpus.facts, "unnamed": len(texts) - len(named)})


def read_whole(*, name: str, seed: int, raw: Path, shares: Mapping[str, float] = SHARES) -> Corpus:
    """What a model has read that knows the pages: all articles, those of the prefixes too; validation is as without them."""
    corpus = wikisection.build(name=name, seed=seed, raw=raw, shares=shares)
    held = [replace(d, id=f"{d.id}-held-out") for d in corpus.documents if d.split == "validation"]
    return Corpus(
        [*(replace(d, split="train") for d in corpus.documents), *held], facts=corpus.facts
    )


def claims(
    *, name: str, seed: int, raw: Path, articles: str = "cities.txt", pairs: str = "symmetric.jsonl",
    shares: Mapping[str, float] = SHARES, splitter: str = "rules", statements: int = 0,
) -> Corpus:  # fmt: skip
    """Pages and claims as :mod:`longform.datasets.fever` has them, from two files of a folder.

    Claims that share a sentence, or sentences that share a claim, stay in one split; none is in split test, since a page whose sentence was
    written to contradict another's can be judged beside it, not looked up. So many ``statements`` of the pages, split with them by ``shares``, are
    claims too, which hold, and as many with another page's name in place of their own, for which there is not enough information. Of pages with
    one name the first one stands. Raises InputError: a file that is not there, or a line without claim, evidence or label.
    """
    encyclopedia = pages(
        name=name, seed=seed, raw=raw / articles, shares=shares, splitter=splitter
    ).documents
    first = {document.sections[0].title or "": document for document in reversed(encyclopedia)}
    known = {page: SPLITTERS[splitter](document.text) for page, document in first.items()}
    rows, split_of = (
        list(_pairs(raw / pairs)),
        {page: document.split for page, document in first.items()},
    )
    place = {
        text: f"{Path(pairs).stem}-{i}"
        for i, text in enumerate(dict.fromkeys(text for _, text, _ in rows))
    }
    told = [
        (part, c, label, place[text], 0)
        for part, (c, text, label) in zip(_splits(rows, seed), rows, strict=True)
    ]
    told += _statements(known, split_of, statements, generator(seed, name, "statements"))
    known |= {page: [text] for text, page in place.items()}
    documents = [
        Document(f"page:{page}", "train", (Section("page", "\n".join(own)),))
        for page, own in known.items()
    ]
    for number, (part, claim, label, page, line) in enumerate(told):
        evidence = [] if label == NEI else [[page, line]]
        found = "\n".join(f"{page}: {known[page][line]}" for _ in evidence)
        sections, record = (
            (Section("claim", claim), Section("evidence", found)),
            {"label": label, "evidence": evidence},
        )
        documents.append(Document(f"claim:{number}", part, sections, (record,)))
    facts: dict[str, Any] = {"corpus": name, "pages": len(known), "claims": len(told)}
    facts["articles_whose_name_was_taken"] = len(encyclopedia) - len(first)
    facts["labels"] = Counter(f"{label} in {part}" for part, _, label, _, _ in told)
    return Corpus(documents, facts=facts)


def _splits(rows: Sequence[tuple[str, str, str]], seed: int) -> list[str]:
    """Train or validation for each pair, one split for all that are tied by a claim or a sentence."""
    sides = np.array(
        [
            np.unique(side, return_inverse=True)[1]
            for side in zip(*(row[:2] for row in rows), strict=True)
        ]
    )
    links = coo_array((np.ones(len(rows)), (sides[0], sides[1] + len(rows))), (2 * len(rows),) * 2)
    group = connected_components(links, directed=False)[1][sides[0]].tolist()
    drawn = split_by_seed(
        [str(one) for one in dict.fromkeys(group)], {"train": 0.9, "validation": 0.1}, seed
    )
    split = dict(zip(dict.fromkeys(group), drawn, strict=True))
    return [split[one] for one in group]


def _statements(
    known: Mapping[str, Sequence[str]], split_of: Mapping[str, str], count: int, rng: Any
) -> Iterator[Told]:
    """Sentences that name their page, and each with the name of a page drawn at random in place of it."""
    named = [(p, n) for p, lines in known.items() for n, line in enumerate(lines) if p in line]
    short, names = (
        [(p, n) for p, n in named if len(known[p][n].split()) <= MOST_TOKENS],
        list(known),
    )
    for page, line in (short[i] for i in rng.permutation(len(short))[:count]):
        other = names[int(rng.integers(len(names)))]
        yield split_of[page], known[page][line], SUPPORTED, page, line
        if other != page:
            yield split_of[page], known[page][line].replace(page, other), NEI, other, 0


def _pairs(path: Path) -> Iterator[tuple[str, str, str]]:
    """Claim, sentence and label of each line."""
    if not path.is_file():
        raise InputError(f"{path}: no such file; put Symmetric FEVER's JSON lines there")
    for where, record in records(path):
        texts = [record.get(key) for key in ("claim", "evidence")]
        label = LABELS.get(str(record.get("gold_label")))
        if label is None or not all(isinstance(text, str) and text.strip() for text in texts):
            got = f"gold_label {record.get('gold_label')!r}, fields {sorted(record)}"
            raise InputError(
                f"{where}: {got}; allowed are {sorted(LABELS)} beside claim and evidence"
            )
        yield plain(str(texts[0])), plain(str(texts[1])), label
