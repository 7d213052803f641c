"""Twenty real and twenty machine-written articles, for examples and tests.

Both are of the synthetic world (its short encyclopedia articles): the first twenty of under 1,400
characters in the test split, and the first twenty of two or more sections and under 1,600
characters that a small GPT-2, trained on the train split, wrote in the default study.
"""

import gzip
from importlib.resources import files
from pathlib import Path

from longform.datasets.own_texts import read_texts
from longform.documents import Document


def real_articles() -> list[Document]:
    """Twenty articles of the synthetic world."""
    return _articles("real.jsonl.gz")


def machine_articles() -> list[Document]:
    """Twenty articles that a language model wrote after it had read such articles."""
    return _articles("machine.jsonl.gz")


def _articles(name: str) -> list[Document]:
    return list(read_texts(Path(str(files(__name__) / name))).documents)


FILES = ("real.jsonl", "machine.jsonl")


def write_examples(folder: Path) -> None:
    """Write both sets as JSON lines, :data:`FILES` in a folder.

    The folder is made where it is not there.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        packed = files(__name__).joinpath(f"{name}.gz").read_bytes()
        (folder / name).write_bytes(gzip.decompress(packed))
