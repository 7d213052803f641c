"""How much the order of sections varies in corpora of proposals: chains, and their Latent PPL beside that of their own shuffles.

    PYTHONPATH=src python experiments/deng2022/section_chains.py --peps FOLDER --eips FOLDER --rfcs FOLDER \
        --out experiments/deng2022/measured/section_chains.json

A chain is a document's headings of the highest level, normalised, with those that stand in at least ``--documents`` documents;
documents with four or more of them count. Boilerplate ("Copyright") and the sections that deng2022 deletes (references, notes ...)
are kept, or left out. The bigram critic (section 4, delta 0.1) learns from 70 % of the documents, drawn by seed.
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
LEAST_SECTIONS = 4
SEED = 1234


def titles(folder: Path, files: str) -> dict[str, tuple[str, ...]]:
    """The normalised headings of each document, in reading order."""
    found = {}
    for path in sorted(folder.glob(files)):
        sections = READERS[path.suffix](read_text(path))
        found[path.stem] = tuple(normalise(title) for title, _ in sections)
    return found


def chains(
    headings: dict[str, tuple[str, ...]], left_out: Sequence[str], least: int
) -> list[Chain]:
    """Chains of frequent titles, of documents with enough of them, split by seed."""
    documents = Counter(title for own in headings.values() for title in set(own))
    frequent = {title for title, count in documents.items() if title and count >= least} - set(
        left_out
    )
    kept = {}
    for unit, own in headings.items():
        chain = tuple(title for title in own if title in frequent)
        if len(chain) >= LEAST_SECTIONS:
            kept[unit] = chain
    splits = split_by_seed(list(kept), SHARES, SEED)
    return [Chain(unit, split, kept[unit]) for unit, split in zip(kept, splits, strict=True)]


def shuffled(units: Sequence[Chain], draws: int) -> list[Chain]:
    """Each chain in other orders of its own symbols."""
    made = []
    for unit in units:
        rng = generator(SEED, "section chains", unit.unit_id)
        for draw in range(draws):
            symbols = tuple(rng.permutation(unit.symbols).tolist())
            made.append(Chain(f"{unit.unit_id}-{draw}", unit.split, symbols))
    return made


def measured(units: Sequence[Chain], draws: int) -> dict[str, Any]:
    """Counts of a corpus, and the Latent PPL of its test documents and of their shuffles, with 95 % intervals over documents."""
    critic = BigramCritic(delta=0.1).fit_units([unit for unit in units if unit.split == "train"])
    test = [unit for unit in units if unit.split == "test"]
    record: dict[str, Any] = {
        "documents": len(units),
        "titles": len({symbol for unit in units for symbol in unit.symbols}),
        "chains": len({unit.symbols for unit in units}),
    }
    for name, judged in (("latent_ppl", test), ("latent_ppl_shuffled", shuffled(test, draws))):
        statistics = critic.sufficient_statistics(judged)
        found = estimate(critic, statistics, generator(SEED, "section chains", name))
        record[name] = [round(number, 3) for number in (found.value, found.low, found.high)]
    return record


def main() -> None:
    """Command line."""
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
    chosen = vars(parser.parse_args())
    records: dict[str, Any] = {}
    for corpus, files in FILES.items():
        if chosen[corpus] is None:
            continue
        headings = titles(chosen[corpus], files)
        records[corpus] = {"files": len(headings)}
        for name, left_out in LEFT_OUT.items():
            units = chains(headings, left_out, chosen["documents"])
            records[corpus][f"without {name}"] = measured(units, chosen["draws"])
            print(corpus, f"without {name}", records[corpus][f"without {name}"], flush=True)
    if chosen["out"] is not None:
        chosen["out"].write_text(json.dumps(records, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
