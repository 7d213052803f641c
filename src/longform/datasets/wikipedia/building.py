r"""English Wikipedia as deng2022 section 4 uses it: a dump, filtered articles with normalised titles, a random split.

The chain is ``wikipedia_dump`` (bytes to pages), ``wikitext`` (page to sections) behind ``wikipedia_parser`` (limits),
``wikipedia_shards`` (many shards, many workers), ``wikipedia_articles`` (their files) and ``titles`` (the filters). ``build`` runs it for a corpus row.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from longform.datasets.splits import split_by_seed
from longform.datasets.titles import Filters, facts, films, select, shortened, token_counter
from longform.datasets.wikipedia.articles import Shards
from longform.datasets.wikipedia.shards import Extraction, extract
from longform.documents import BadInput, Corpus

SHARES = {"train": 0.8, "validation": 0.1, "test": 0.1}  # deng2022 Table 11: 111.40k, 13.97k and 13.98k articles


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
        ``truth["section_tokens"]`` is int64, flat over documents, with ``section_tokens_lengths``; facts hold pages
        by outcome, articles by reason of dropping, and the row of Table 11.

    Raises:
        BadInput: nothing to read, a misspelt setting, lost shards, or no article left.
    """
    if subset not in SUBSETS:
        raise BadInput(f"subset is {subset!r}, allowed are {sorted(SUBSETS, key=str)}; fix the row")
    folder = raw if raw.is_dir() else raw.parent
    count = token_counter(folder / tokenizer if tokenizer else None)
    with _shards(raw, scratch, settings(Extraction, extraction), scheduler, workers) as (shards, pages):
        selection = select(shards, settings(Filters, filters), count, lambda ids: split_by_seed(ids, shares, seed))
    selection = SUBSETS[subset](selection, short_tokens)
    if not selection.documents:
        raise BadInput(f"{raw}: no article passed the filters ({dict(selection.dropped)}); loosen the row's filters")
    lengths = {
        "section_tokens": np.concatenate(selection.lengths),
        "section_tokens_lengths": np.array([len(row) for row in selection.lengths], dtype=np.int64),
    }
    return Corpus(selection.documents, lengths, {"corpus": name, "pages": pages, **facts(selection, count)})


SUBSETS = {
    None: lambda selection, _: selection,
    "short": shortened,
    "films": lambda selection, _: films(selection),
}


def settings(kind: type, given: Mapping[str, Any] | None) -> Any:
    """A dataclass of settings from a row's mapping.

    Raises:
        BadInput: a key that the dataclass does not have.
    """
    unknown = sorted(set(given or {}) - set(kind.__dataclass_fields__))
    if unknown:
        raise BadInput(
            f"{kind.__name__} has no {unknown}, allowed are {sorted(kind.__dataclass_fields__)}; fix the row"
        )
    return kind(**(given or {}))


@contextmanager
def _shards(
    raw: Path, scratch: Path | None, extraction: Extraction, scheduler: str | None, workers: int
) -> Iterator[tuple[Shards, Mapping[str, int]]]:
    """The shards of ``raw`` and its pages by outcome; extracted first unless ``raw`` is a folder of shards."""
    if raw.is_dir() and any(raw.glob("shard-*.json")):
        shards = Shards(raw)
        yield shards, dict(sorted(shards.counts.items()))
        return
    dump, index = dump_files(raw)
    with nullcontext(scratch) if scratch else tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "shards"
        done = extract(dump, folder, index=index, extraction=extraction, scheduler=scheduler, workers=workers)
        yield Shards(folder), done["counts"]


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
    index = sorted(path for path in raw.glob("*index*.txt*"))
    return found[0], index[0] if index else None
