"""Suites of minimal pairs by the names that a person gives.

- ``suite.json``, or a folder of such files: SyntaxGym's format;
- ``pairs.csv`` (or ``.tsv``): a pair a row, columns ``good`` and ``bad`` (or BLiMP's
  ``sentence_good`` and ``sentence_bad``), perhaps ``context``, which stands before both, and
  ``suite``, which names the pair's suite;
- ``texts.jsonl``, ``texts.txt`` (a text a line) or a folder of texts: the order of five sentences
  against a shuffle of all, and of all but the last (beyer2021 section 4.1), piece after piece;
- ``KIND=PATH``: what beyer2021 made its suites from, in its published form (:data:`SOURCES`).
"""

import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from longform.datasets.own_texts import read_texts, set_aside_note
from longform.datasets.test_suites.items import (
    Suite,
    SuiteItem,
    checked,
    pair,
    read_suite,
    suites_from_documents,
)
from longform.datasets.test_suites.native import SENTENCES, build, orders
from longform.datasets.test_suites.prediction_formulas import METRICS
from longform.datasets.text_sources import DELIMITERS, delimiter_of
from longform.errors import ConfigError, InputError, did_you_mean
from longform.files.artefacts import read_corpus
from longform.files.opening import JSON_LINES, numbered_rows, text_lines
from longform.text.sentences import sentence_texts

SOURCES = {  # kinds of beyer2021's sources: what they are, and who has them
    "stories": "Story Cloze spring 2016 test (form at cs.rochester.edu)",
    "dialogues": "PERSONA-CHAT as ParlAI has it, or Synthetic-Persona-Chat's CSV (both free)",
    "narration": "HANNA's CSV of stories (free)",
    "schemas": "WSC273, as JSON (free)",
    "connectives": "Disco-Annotation (on request), or JSON lines of marked connectives",
    "statements": "DialogueNLI's verified test (free)",
}
PAIR_COLUMNS = (("good", "bad"), ("sentence_good", "sentence_bad"))
CONTEXT, SUITE = "context", "suite"  # columns that a table of pairs may have
PAIR_METRIC = "sum"  # of a table's pairs: whole probabilities, as BLiMP compares them
FEWEST_SENTENCES = 3  # of a piece: the context of two can have no other order
SEED = 1234


def named_suites(
    names: Sequence[str | Path], *, metric: str | None = None, seed: int = SEED
) -> list[Suite]:
    """The suites of all names, in their order.

    Args:
        names: as the module's text says.
        metric: a key of ``METRICS`` in place of each suite's own.
        seed: of shuffles and of which side is written first.

    Raises:
        ConfigError: an unknown kind or metric.
        InputError: a file that is absent or of another form, or two suites with one name.
    """
    if metric is not None and metric not in METRICS:
        raise ConfigError(
            f"metric {metric!r}{did_you_mean(metric, METRICS)}; allowed are {list(METRICS)}"
        )
    suites: dict[str, Suite] = {}
    for name in names:
        for suite in _suites_of(str(name), seed):
            if suite.name in suites:
                raise InputError(
                    f"{name}: a second suite is called {suite.name!r}; rename one of the two"
                )
            suites[suite.name] = suite if metric is None else replace(suite, metric=metric)
    if not suites:
        raise InputError(
            "no suite is named; name one or more: SyntaxGym's .json, a .csv of pairs, texts"
        )
    return list(suites.values())


def _suites_of(name: str, seed: int) -> Iterable[Suite]:
    """The suites of one name, told apart by what stands there."""
    kind, separator, source = name.partition("=")
    path = Path(name)
    if separator and not path.exists():
        return _beyer2021(kind, Path(source), seed)
    # a prepared corpus, SyntaxGym's files, a table, texts
    if path.is_dir() and (path / "truth.npz").is_file():
        corpus = read_corpus(path)
        heads = {key: value for key, value in corpus.truth.items() if key == "suite_heads"}
        return suites_from_documents(corpus.documents, heads)
    if path.is_dir() and list(path.glob("*.json")):
        return map(read_suite, sorted(path.glob("*.json")))
    if path.suffix == ".json":
        return [read_suite(path)]
    if path.suffix.lower() in DELIMITERS:
        return read_pairs(path)
    if path.is_dir() or path.name.endswith((*JSON_LINES, ".txt")):
        return _sentence_orders(path, seed)
    raise InputError(
        f"{name}: no suite; name SyntaxGym's .json or a folder of them, a .csv of pairs, texts in "
        f".jsonl or .txt, or KIND=PATH with a kind of {list(SOURCES)}"
    )


def _beyer2021(kind: str, path: Path, seed: int) -> list[Suite]:
    """The suites that beyer2021 makes from one published source."""
    if kind not in SOURCES:
        raise ConfigError(
            f"suites: kind {kind!r}{did_you_mean(kind, SOURCES)}; allowed are {list(SOURCES)}"
        )
    corpus = build(name="suites", seed=seed, raw=path.parent, sources={kind: path.name})
    heads = {"suite_heads": corpus.truth["suite_heads"]}
    return suites_from_documents(corpus.documents, heads)


def _sentence_orders(path: Path, seed: int) -> Iterable[Suite]:
    """Two suites of sentence orders, named by the file.

    What is left of a text is a shorter piece.
    """
    # 1. The texts, and which records of the file hold none.
    if path.suffix == ".txt":
        texts = [(f"line-{number}", line) for number, line in enumerate(text_lines(path), 1)]
    else:
        source = read_texts(path)
        texts = [(document.id, document.text) for document in source.documents]
        if source.set_aside:
            print(set_aside_note("texts", source.set_aside), file=sys.stderr)
    # 2. Pieces of some sentences each, and the suites of their order.
    pieces = []
    for text_id, text in texts:
        sentences = [" ".join(sentence.split()) for sentence in sentence_texts(text)]
        for start in range(0, len(sentences), SENTENCES):
            piece = sentences[start : start + SENTENCES]
            if len(piece) >= FEWEST_SENTENCES:
                pieces.append((f"{text_id}-{start // SENTENCES + 1}", piece))
    if not pieces:
        raise InputError(
            f"{path}: no text of {FEWEST_SENTENCES} sentences or more, whose order could be judged"
        )
    for suite in orders(path.name.split(".")[0], pieces, seed):
        if suite.items:
            yield checked(suite)


def read_pairs(path: Path) -> list[Suite]:
    """A suite for each name in the column ``suite``, or one that is called as the file is.

    Raises:
        InputError: absent, without the two columns, or a row in which one of them is empty.
    """
    # 1. The columns of both sides.
    delimiter = delimiter_of(path, [good for good, _ in PAIR_COLUMNS])
    rows = list(numbered_rows(path, (), delimiter))
    if not rows:
        raise InputError(f"{path}: no row below the header; give a row for each pair")
    columns = list(rows[0][1])
    sides = next((names for names in PAIR_COLUMNS if set(names) <= set(columns)), None)
    if sides is None:
        raise InputError(
            f"{path}: columns are {columns}; a table of pairs has columns good and bad (or "
            "sentence_good and sentence_bad) and a row for each pair"
        )
    good, bad = sides
    # 2. The items of each suite, and whether any of them has a context.
    items_of: dict[str, list[SuiteItem]] = {}
    with_context = set[str]()
    for where, row in rows:
        if not row[good].strip() or not row[bad].strip():
            raise InputError(f"{where}: {good} or {bad} is empty; fill in both, or drop the row")
        name = _suite_name(row.get(SUITE) or path.name.split(".")[0])
        context = row.get(CONTEXT, "").strip()
        if context:
            with_context.add(name)
        items = items_of.setdefault(name, [])
        conditions = {"good": (context, row[good]), "bad": (context, row[bad])}
        items.append(pair(len(items) + 1, conditions, [{"kind": "pair", "source": where}]))
    # 3. The suites: what follows a context is judged given it.
    suites = []
    for name, items in items_of.items():
        region = "2" if name in with_context else "*"
        formula = f"({region};%bad%) > ({region};%good%)"
        regions = {"1": CONTEXT, "2": "sentence"}
        suites.append(checked(Suite(name, PAIR_METRIC, (formula,), tuple(items), regions)))
    return suites


def _suite_name(text: str) -> str:
    """A name without blanks and slashes, which separate suite and item."""
    return "_".join(text.split()).replace("/", "_")
