"""Measure how much the order of sections varies in corpora of proposals.

    PYTHONPATH=src python experiments/deng2022/section_chains.py --peps FOLDER --eips FOLDER \\
        --rfcs FOLDER --out experiments/deng2022/measured/section_chains.json

Chains, and their Latent PPL beside that of their own shuffles. A chain is a document's headings of
the highest level, normalised, with those that stand in at least ``--documents`` documents;
documents with four or more of them count. Boilerplate ("Copyright") and the sections that deng2022
deletes (references, notes ...) are in, or left out. The bigram critic (section 4, delta 0.1) learns
from 70 % of the documents, drawn by seed.
"""

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from longform.datasets.proposals import BOILERPLATE, READERS
from longform.datasets.titles import REMOVED, normalise
from longform.documents import Chain
from longform.files.opening import read_text
from longform.statistics.estimates import estimate
from longform.statistics.markov_chain import BigramCritic
from longform.statistics.random_streams import generator
from longform.statistics.splits import split_by_seed

FILES = {"peps": "pep-[0-9]*.rst", "eips": "eip-*.md", "rfcs": "[0-9]*.md"}
LEFT_OUT = {
    "nothing": (),
    "boilerplate": BOILERPLATE,
    "boilerplate and references": (*BOILERPLATE, *REMOVED),
}
SHARES = {"train": 0.7, "test": 0.3}
MIN_SECTIONS = 4
SEED = 1234


def titles(folder: Path, files: str) -> dict[str, tuple[str, ...]]:
    """The normalised headings of each document of a folder, in reading order, by its name."""
    headings = {}
    for path in sorted(folder.glob(files)):
        sections = READERS[path.suffix](read_text(path))
        headings[path.stem] = tuple([normalise(title) for title, _ in sections])
    return headings


def chains(
    headings: dict[str, tuple[str, ...]], left_out: Sequence[str], min_documents: int
) -> list[Chain]:
    """Chains of frequent titles, of documents with enough of them, split by seed.

    Args:
        headings: normalised headings of each document.
        left_out: titles that do not count.
        min_documents: least number of documents with a frequent title.
    """
    # 1. The frequent titles.
    counts: Counter[str] = Counter()
    for titles_of_document in headings.values():
        counts.update(set(titles_of_document))
    frequent = set()
    for title, count in counts.items():
        if title and count >= min_documents and title not in left_out:
            frequent.add(title)
    # 2. The documents with enough of them.
    symbols_of: dict[str, tuple[str, ...]] = {}
    for unit, titles_of_document in headings.items():
        symbols = tuple([title for title in titles_of_document if title in frequent])
        if len(symbols) >= MIN_SECTIONS:
            symbols_of[unit] = symbols
    splits = split_by_seed(list(symbols_of), SHARES, SEED)
    return list(map(Chain, symbols_of, splits, symbols_of.values()))


def shuffled(units: Sequence[Chain], draws: int) -> list[Chain]:
    """Each chain in ``draws`` random orders of its symbols."""
    chains_in_other_orders = []
    for unit in units:
        rng = generator(SEED, "section chains", unit.unit_id)
        for draw in range(draws):
            symbols = tuple(rng.permutation(unit.symbols).tolist())
            chain = Chain(f"{unit.unit_id}-{draw}", unit.split, symbols)
            chains_in_other_orders.append(chain)
    return chains_in_other_orders


def measured(units: Sequence[Chain], draws: int) -> dict[str, Any]:
    """Counts of a corpus, and the Latent PPL of its test documents and of their shuffles.

    Intervals are of 95 %, over documents.

    Args:
        units: the chains.
        draws: number of shuffles of each.

    Returns:
        ``documents``, ``titles`` and ``chains``: numbers of different ones; ``latent_ppl`` and
        ``latent_ppl_shuffled``: [value, low, high].
    """
    # 1. The critic, and counts of the corpus.
    train = [unit for unit in units if unit.split == "train"]
    test = [unit for unit in units if unit.split == "test"]
    critic = BigramCritic(delta=0.1).fit_units(train)
    titles: set[str] = set()
    orders = set()
    for unit in units:
        titles.update(unit.symbols)
        orders.add(unit.symbols)
    record: dict[str, Any] = {"documents": len(units)}
    record |= {"titles": len(titles), "chains": len(orders)}
    # 2. Its numbers on the test documents.
    for name, texts in (("latent_ppl", test), ("latent_ppl_shuffled", shuffled(test, draws))):
        statistics = critic.sufficient_statistics(texts)
        latent_ppl = estimate(critic, statistics, generator(SEED, "section chains", name))
        numbers = (latent_ppl.value, latent_ppl.low, latent_ppl.high)
        record[name] = [round(number, 3) for number in numbers]
    return record


def main() -> None:
    """Measure each corpus with all titles and without some; write the record with ``--out``."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    for corpus in FILES:
        parser.add_argument(f"--{corpus}", type=Path, help="folder of the files")
    parser.add_argument(
        "--documents", type=int, default=20, help="in which a title stands at least"
    )
    parser.add_argument("--draws", type=int, default=10, help="shuffles of a document")
    parser.add_argument("--out", type=Path)
    arguments = vars(parser.parse_args())
    # Each corpus with all titles, and without some.
    records: dict[str, Any] = {}
    for corpus, files in FILES.items():
        if arguments[corpus] is None:
            continue
        headings = titles(arguments[corpus], files)
        records[corpus] = {"files": len(headings)}
        for name, left_out in LEFT_OUT.items():
            units = chains(headings, left_out, arguments["documents"])
            record = measured(units, arguments["draws"])
            records[corpus][f"without {name}"] = record
            print(corpus, f"without {name}", record, flush=True)
    if arguments["out"] is not None:
        arguments["out"].write_text(json.dumps(records, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
