"""Which sentences of a text the synthetic world could have written, by which of its frames, and how far it could have the others."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from longform.core.artefacts import read_json
from longform.core.documents import BadInput, Document, Readout
from longform.core.text.sentences import sentence_texts
from longform.critics.world_grammar.recogniser import recogniser
from longform.critics.world_grammar.score import REFUSED
from longform.datasets.synthetic_world.domains import DOMAINS


def read(*, documents: Sequence[Document], splits: Sequence[str], reader: Path) -> Readout:
    """The frame of each sentence's main clause as a place in ``frame_names``, or ``REFUSED``; its words, and how many are followed.

    Args:
        documents: of the texts.
        splits: which of them.
        reader: the folder of the corpus that they are, or are to look like; its facts name the domain.
    """
    domain = read_json(reader / "facts.json").get("domain")
    if domain not in DOMAINS:
        raise BadInput(
            f"{reader}: domain is {domain!r}, allowed are {sorted(DOMAINS)}, whose grammar is known; name another corpus"
        )
    derive = recogniser(domain).read
    chosen = [document for document in documents if document.split in splits]
    rows = [[derive(text) for text in sentence_texts(document.text)] for document in chosen]
    lengths = np.array([len(row) for row in rows], dtype=np.int64)
    found = [derivation for row in rows for derivation in row]
    names = sorted({derivation.frame for derivation in found if derivation.frame is not None})
    places: dict[str | None, int] = {None: REFUSED} | {name: place for place, name in enumerate(names)}
    arrays: dict[str, np.ndarray] = {"frame_names": np.array(names, dtype=np.str_)}
    columns = {
        "frame": [places[one.frame] for one in found],
        "words": [one.words for one in found],
        "followed": [one.followed for one in found],
    }
    for name, values in columns.items():
        arrays |= {name: np.array(values, dtype=np.int32), f"{name}_lengths": lengths}
    return Readout(tuple(d.id for d in chosen), tuple(d.split for d in chosen), arrays)
