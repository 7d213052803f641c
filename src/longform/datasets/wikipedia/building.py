r"""English Wikipedia as deng2022 section 4 uses it: a dump, filtered articles with normalised titles, a random split.

The chain is ``dump`` (bytes to pages), ``wikitext`` (page to sections) behind ``parser`` (limits), ``shards`` (many
shards, many workers) and :mod:`longform.datasets.titles` (the filters). ``build`` runs it for a corpus row.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from longform.core.documents import BadInput, Corpus
from longform.datasets.splits import split_by_seed
from longform.datasets.titles import Filters, films, filtered_corpus, select, settings, shortened, token_counter
from longform.datasets.wikipedia.shards import Extraction, Shards, extract

SHARES = {"train": 0.8, "validation": 0.1, "test": 0.1}  # deng2022 Table 11: 111.40k, 13.97k and 13.98k articles
SUBSETS = {
    None: lambda selection, _: selection,
    "short": shortened,
    "films": lambda selection, _: films(selection),
}


def build(
    *,
    name: str,
    seed: int,
    raw: Path,
    scratch: Path | None = None,
    shares: Mapping[str, float] = SHARES,
    filters: Mapping[str, Any] | None = None,
    subset: str | None = None,
    short_tokens: int = 500,
    tokenizer: str | None = None,
    extraction: Mapping[str, Any] | None = None,
    scheduler: str | None = None,
    workers: int = 1,
) -> Corpus:
    """Filtered articles of a dump, split by seed.

    Args:
        raw: a dump (``.bz2``), a folder with one dump and perhaps its index, or a folder of finished shards.
        scratch: where shards go, so that a killed run is taken up; a temporary folder if None.
        filters: fields of :class:`longform.datasets.titles.Filters`.
        subset: None, ``short`` (WIKI-SHORT) or ``films``.
        tokenizer: a ``tokenizer.json`` beside the dump; None counts pieces, a lower bound of GPT-2's tokens.
        extraction: fields of :class:`longform.datasets.wikipedia.shards.Extraction`.
        scheduler, workers: as for :func:`longform.datasets.wikipedia.shards.extract`; they change no byte of the result.

    Returns:
        As :func:`longform.datasets.titles.filtered_corpus`; facts hold pages by outcome besides.

    Raises:
        BadInput: nothing to read, a misspelt setting, lost shards, or no article left.
    """
    if subset not in SUBSETS:
        raise BadInput(f"subset is {subset!r}, allowed are {sorted(SUBSETS, key=str)}; fix the entry")
    folder = raw if raw.is_dir() else raw.parent
    count = token_counter(folder / tokenizer if tokenizer else None)
    thresholds, asked = settings(Filters, filters), settings(Extraction, extraction)
    with ExitStack() as stack:
        if not (raw.is_dir() and any(raw.glob("shard-*.json"))):
            dump, index = dump_files(raw)
            place = scratch or Path(stack.enter_context(tempfile.TemporaryDirectory()))
            pages = extract(
                dump, place / "shards", index=index, extraction=asked, scheduler=scheduler, workers=workers
            )["counts"]
            shards = Shards(place / "shards")
        else:
            shards = Shards(raw)
            pages = dict(sorted(shards.counts.items()))
        selection = select(shards, thresholds, count, lambda ids: split_by_seed(ids, shares, seed))
    return filtered_corpus(SUBSETS[subset](selection, short_tokens), count, raw, {"corpus": name, "pages": pages})


def dump_files(raw: Path) -> tuple[Path, Path | None]:
    """The dump and its index: a file is a dump without index; a folder holds one dump and at most one index.

    Raises:
        BadInput: no dump, or more than one.
    """
    if raw.is_file():
        return raw, None
    found = sorted(path for path in raw.glob("*.bz2") if "index" not in path.name)
    if len(found) != 1:
        names = [path.name for path in found]
        raise BadInput(f"{raw}: found dumps {names}, exactly one is needed; name the file, or move the others away")
    return found[0], next(iter(sorted(raw.glob("*index*.txt*"))), None)
