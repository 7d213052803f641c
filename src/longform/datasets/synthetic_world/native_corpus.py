"""The planted world through the readers of real data: written in a raw format, read back as the real files would be.

At the default scale nothing can be downloaded; this runs the dump reader, Cohan et al.'s format and WikiSection with
every filter, on text whose truth is known. Planted text never stands for the corpora that it imitates.
"""

from __future__ import annotations

import inspect
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from longform.datasets import scientific, wikisection
from longform.datasets.synthetic_world import raw_corpora, raw_wiki
from longform.datasets.synthetic_world.articles import write
from longform.datasets.wikipedia import building as wikipedia
from longform.documents import BadInput, Corpus


def build(
    *, name: str, seed: int, raw: Path, form: str, documents: int, reader: Mapping[str, Any] | None = None
) -> Corpus:
    """Write ``documents`` planted pages or articles in a raw form, and read them with that form's own reader.

    Args:
        raw: unused; the raw files are made from the seed.
        form: one of ``FORMS``.
        reader: settings of the reader's ``build`` (:mod:`wikipedia`, :mod:`scientific`, :mod:`wikisection`).

    Raises:
        BadInput: an unknown form, or what the reader raises.
    """
    if form not in FORMS:
        raise BadInput(f"form is {form!r}, allowed are {sorted(FORMS)}; mend the row")
    files, read = FORMS[form]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for file, content in files(seed, documents).items():
            (folder / file).write_bytes(content)
        unknown = sorted(set(reader or {}) - set(inspect.signature(read).parameters))
        if unknown:
            raise BadInput(f"the reader of {form} has no setting {unknown}; mend the row's reader")
        corpus = read(name=name, seed=seed, raw=_target(folder), **(reader or {}))
    return Corpus(corpus.documents, corpus.truth, {**corpus.facts, "planted": True, "form": form})


def _target(folder: Path) -> Path:
    """The only file of the folder, or the folder itself where there are several."""
    files = list(folder.iterdir())
    return files[0] if len(files) == 1 else folder


def _cohan(domain: str) -> Callable[[int, int], Mapping[str, bytes]]:
    """Files of the three splits, every tenth article to validation and to test."""

    def files(seed: int, documents: int) -> Mapping[str, bytes]:
        lines = list(raw_corpora.cohan_lines((write(seed, domain, i) for i in range(documents)), domain))
        parts = {"train.txt": [n for n in range(documents) if n % 10 < 8]}
        parts |= {f"{split}.txt": list(range(place, documents, 10)) for split, place in (("val", 8), ("test", 9))}
        return {file: _joined(lines[number] for number in numbers) for file, numbers in parts.items()}

    return files


def _cities(seed: int, documents: int) -> Mapping[str, bytes]:
    articles = (write(seed, "wikisection", index) for index in range(documents))
    return {"wikisection_withSections.txt": _joined(raw_corpora.wikisection_lines(articles, marked=True))}


def _joined(lines: Iterable[str]) -> bytes:
    return "".join(line + "\n" for line in lines).encode()


FORMS: Mapping[str, tuple[Callable[[int, int], Mapping[str, bytes]], Callable[..., Corpus]]] = {
    "wiki": (raw_wiki.dump_files, wikipedia.build),
    "pubmed": (_cohan("pubmed"), scientific.build),
    "arxiv": (_cohan("arxiv"), scientific.build),
    "wikisection": (_cities, wikisection.build),
}
