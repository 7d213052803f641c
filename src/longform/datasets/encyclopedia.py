"""Published articles as the encyclopedia of a fact checker (massarelli2020 sections 3 and 5): pages, claims, and what a model has read.

Articles are WikiSection's (:mod:`longform.datasets.wikisection`); a page is named by the words before its first "is". Claims come with the
sentence that they rest on, each such sentence a page of its own (Symmetric FEVER, Schuster et al. 2019, which nobody can answer by the claim alone).
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from longform.core.documents import BadInput, Corpus, Document, Section
from longform.core.malformed import records
from longform.core.resampling import SHARES, generator, split_by_seed
from longform.core.text.sentences import SPLITTERS
from longform.datasets import wikisection
from longform.datasets.fever import LABELS, plain

LONGEST = 50  # words of a sentence that is checked (massarelli2020 section 3)
SUPPORTED, NEI = LABELS["SUPPORTS"], LABELS["NOT ENOUGH INFO"]
_NAMED = re.compile(r"^(?:The (?:city|town) of )?([^,(]+?) ?(?:[,(]| (?:is|was|are|were) )", re.IGNORECASE)


def pages(*, name: str, seed: int, raw: Path, shares: Mapping[str, float] = SHARES, splitter: str = "rules") -> Corpus:
    """Every article as one section under its page's name; arguments and facts as :func:`wikisection.build`, and articles without a name."""
    corpus = wikisection.build(name=name, seed=seed, raw=raw, shares=shares, splitter=splitter)
    texts = [(document, " ".join(document.text.split())) for document in corpus.documents]
    named = [(document, found[1], text) for document, text in texts if (found := _NAMED.match(text))]
    documents = [replace(document, sections=(Section(title, text),)) for document, title, text in named]
    return Corpus(documents, facts={**corpus.facts, "unnamed": len(texts) - len(named)})


def read_whole(*, name: str, seed: int, raw: Path, shares: Mapping[str, float] = SHARES) -> Corpus:
    """What a model has read that knows the pages: all articles, those of the prefixes too; validation is as without them."""
    corpus = wikisection.build(name=name, seed=seed, raw=raw, shares=shares)
    held = [replace(d, id=f"{d.id}-held-out") for d in corpus.documents if d.split == "validation"]
    return Corpus([*(replace(d, split="train") for d in corpus.documents), *held], facts=corpus.facts)


def claims(
    *, name: str, seed: int, raw: Path, articles: str = "cities.txt", pairs: str = "symmetric.jsonl",
    shares: Mapping[str, float] = SHARES, splitter: str = "rules", statements: int = 0,
) -> Corpus:  # fmt: skip
    """Pages and claims as :mod:`longform.datasets.fever` has them, from two files of a folder.

    Claims that share a sentence, or sentences that share a claim, stay in one split; none is in split test, since a page whose sentence was
    written to contradict another's can be judged beside it, not looked up. So many ``statements`` of the pages, split with them by ``shares``, are
    claims too, which hold, and as many with another page's name in place of their own, for which there is not enough information. Of pages with
    one name the first one stands. Raises BadInput: a file that is not there, or a line without claim, evidence or label.
    """
    encyclopedia = pages(name=name, seed=seed, raw=raw / articles, shares=shares, splitter=splitter)
    rows = list(_pairs(raw / pairs))
    sides = np.array([np.unique(side, return_inverse=True)[1] for side in zip(*(row[:2] for row in rows), strict=True)])
    links = coo_array((np.ones(len(rows)), (sides[0], sides[1] + len(rows))), (2 * len(rows),) * 2)
    group = connected_components(links, directed=False)[1][sides[0]].tolist()
    drawn = split_by_seed([str(one) for one in dict.fromkeys(group)], {"train": 0.9, "validation": 0.1}, seed)
    split = dict(zip(dict.fromkeys(group), drawn, strict=True))
    known = {d.sections[0].title or "": SPLITTERS[splitter](d.text) for d in reversed(encyclopedia.documents)}
    place = {text: f"{Path(pairs).stem}-{i}" for i, text in enumerate(dict.fromkeys(text for _, text, _ in rows))}
    known |= {page: [text] for text, page in place.items()}
    documents = [Document(f"page:{page}", "train", (Section("page", "\n".join(own)),)) for page, own in known.items()]
    told = [(split[o], claim, label, place[text], 0) for o, (claim, text, label) in zip(group, rows, strict=True)]
    about = {d.sections[0].title or "": d.split for d in reversed(encyclopedia.documents)}
    stated = [(p, n) for p in about for n, line in enumerate(known[p]) if p in line and len(line.split()) <= LONGEST]
    rng, names = generator(seed, name, "statements"), list(about)
    for page, line in (stated[i] for i in rng.permutation(len(stated))[:statements]):
        other = names[int(rng.integers(len(names)))]
        told.append((about[page], known[page][line], SUPPORTED, page, line))
        if other != page:
            told.append((about[page], known[page][line].replace(page, other), NEI, other, -1))
    for number, (part, claim, label, page, line) in enumerate(told):
        evidence = [[page, line]] if line >= 0 else []
        found = "\n".join(f"{page}: {known[page][line]}" for _ in evidence)
        record = {"label": label, "evidence": evidence}
        documents.append(
            Document(f"claim:{number}", part, (Section("claim", claim), Section("evidence", found)), (record,))
        )
    counts = Counter(f"{label} in {part}" for part, _, label, _, _ in told)
    return Corpus(documents, facts={"corpus": name, "pages": len(known), "claims": len(told), "labels": counts})


def _pairs(path: Path) -> Iterator[tuple[str, str, str]]:
    """Claim, sentence and label of each line."""
    if not path.is_file():
        raise BadInput(f"{path}: no such file; put Symmetric FEVER's JSON lines there")
    for where, record in records(path):
        texts = [record.get(key) for key in ("claim", "evidence")]
        label = LABELS.get(str(record.get("gold_label")))
        if label is None or not all(isinstance(text, str) and text.strip() for text in texts):
            got = f"gold_label {record.get('gold_label')!r}, fields {sorted(record)}"
            raise BadInput(f"{where}: {got}; allowed are {sorted(LABELS)} beside claim and evidence")
        yield plain(str(texts[0])), plain(str(texts[1])), label
