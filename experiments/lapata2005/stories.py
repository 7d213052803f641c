"""Every critic against people's ratings of stories, one by one.

``PYTHONPATH=src:. python experiments/lapata2005/stories.py hanna STORIES RATINGS`` writes
measured/hanna.json.gz, ``... stories.py cohesentia FOLDER`` measured/cohesentia.json.gz.

HANNA (Chhun et al. 2022, 2024): STORIES is ``hanna_llm_stories.csv``, in which each prompt's human
story stands beside those of models; RATINGS ``hanna_metric_scores_llm.csv``, whose row ``Human``
lists the three raters' marks (1 to 5) of the same stories in the same order; other rows' stories
are not in STORIES.

CoheSentia (Maimon and Tsarfaty 2023): FOLDER holds ``TrainData.json`` and ``TestData.json``,
stories that GPT-3 wrote. Each is rated (1 to 5) by two people or more at its end, and sentence by
sentence by one to five, who also named what is wrong with a sentence. Its readers are numbered anew
in each story, so that agreement there is of places, not of persons.

Critics are fitted on one half of the stories and score the other, by seed, so that each story is
scored once; what one fit scored is ranked within its half, because two fits need not share a scale.
"""

from __future__ import annotations

import ast
import os
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from experiments.lapata2005.summeval import (
    CONTROLS,
    at_equal_length,
    chain_values,
    combined,
    feature_values,
    grid_values,
    language_model_values,
    length_values,
    markdown,
    with_interval,
    within,
    write_packed,
)
from longform.datasets.text_files import hanna as build
from longform.documents import Corpus, Document, Section
from longform.errors import InputError
from longform.evaluation.agreement import krippendorff_alpha, leave_one_out
from longform.files.opening import field_of, json_file, rows, typed
from longform.results import rounded
from longform.statistics.random_streams import generator

RATERS = (1, 2, 3)
CRITERIA = {"CH": "coherence", "EG": "engagement", "CX": "complexity"}
LENGTH = "Text length ¤§"  # of each story, in tokens of theirs
SAME = 0.98  # least correlation of their lengths of two lists of the same stories
REASONS = {
    "cohesion": (1, 2, 3),
    "consistency": (4, 5),
    "relevance": (6, 7),
}  # authors' code; 8 is another reason
AGREED = 20  # a rater's number with fewer stories does not count in the agreement
FILES = ("TrainData.json", "TestData.json")  # of CoheSentia
# Documents, and by criterion the marks of each rater, float64 (stories, raters).
Stories = tuple[list[Document], dict[str, np.ndarray]]


def hanna(stories: Path, rated: Path) -> Stories:
    """Read HANNA's human stories, and people's ratings of each.

    Args:
        stories: ``hanna_llm_stories.csv``.
        rated: ``hanna_metric_scores_llm.csv``.

    Returns:
        The stories, each in one untitled section; and by criterion the ratings, 1 to 5, float64
        (stories, raters).

    Raises:
        InputError: no row of human stories, or lists that are not about these stories in this
            order.
    """
    # 1. The stories.
    documents = []
    for document in build(name="hanna", seed=0, raw=stories).documents:
        if document.id.endswith("-human"):
            text = " ".join([section.text for section in document.sections])
            documents.append(replace(document, sections=(Section(None, text),)))
    # 2. Their ratings.
    human = _human_row(rated)
    lengths = _listed(human, LENGTH, rated)
    sizes = {len(lengths)}
    ratings = {}
    for key, criterion in CRITERIA.items():
        by_rater = []
        for rater in RATERS:
            by_rater.append(_listed(human, f"Human {rater} {key}", rated))
            sizes.add(len(by_rater[-1]))
        ratings[criterion] = by_rater
    # 3. Both files are of the same stories: as many, and of nearly the lengths that are listed.
    if sizes != {len(documents)}:
        raise InputError(
            f"{rated}: the row Human has not {len(documents)} marks of each rater; give files of "
            "one release"
        )
    words = [len(document.text.split()) for document in documents]
    agreement = np.corrcoef(lengths, words)[0, 1]
    if not agreement >= SAME:
        raise InputError(
            f"{rated}: its lengths correlate with the stories' at {agreement:.3f}; give files of "
            "one release"
        )
    tables = {}
    for criterion, by_rater in ratings.items():
        tables[criterion] = np.array(by_rater, dtype=np.float64).T
    return documents, tables


def _human_row(rated: Path) -> Mapping[str, str]:
    """The row of the human stories. Raises InputError: there is none."""
    needed = ["Model", LENGTH]
    for key in CRITERIA:
        needed += [f"Human {rater} {key}" for rater in RATERS]
    for row in rows(rated, needed):
        if row["Model"] == "Human":
            return row
    raise InputError(
        f"{rated}: no row Human with its marks; give HANNA's hanna_metric_scores_llm.csv"
    )


def cohesentia(folder: Path) -> Stories:
    """Read CoheSentia's stories, and by criterion the marks of each, float64 (stories, raters).

    NaN stands behind a story's last rater. Criteria are ``coherence`` of the whole, ``coherence,
    sentence by sentence`` (both 1 to 5), and by kind of reason minus the share of a story's
    sentences that a rater faults.

    Raises:
        InputError: a file that is missing or is not the one published, or no story.
    """
    documents = []
    by_criterion: dict[str, list[list[float]]] = {}
    for name in FILES:
        path = folder / name
        for key, story in typed(json_file(path), dict, str(path)).items():
            where = f"{path}, story {key!r}"
            for criterion, by_rater in _ratings(story, where).items():
                marks = _marks(by_rater, f"{where}, {criterion}")
                by_criterion.setdefault(criterion, []).append(marks)
            text = " ".join(field_of(story, "Text", str, where).split())
            documents.append(Document(f"cohesentia-{key}", "test", (Section(None, text),)))
    if not documents:
        raise InputError(f"{folder}: no story in {' and '.join(FILES)}; fetch them again")
    return documents, {name: _padded(lines) for name, lines in by_criterion.items()}


def _ratings(story: Any, where: str) -> dict[str, Mapping[str, Any]]:
    """The marks of a story of CoheSentia, by criterion and then by rater.

    Raises:
        InputError: a field of another form, or no sentence.
    """
    holistic = field_of(story, "HolisticData", dict, where)
    whole_story = field_of(holistic, "scores", dict, where)
    parts = field_of(story, "IncrementalData", dict, where)
    sentences = field_of(parts, "sentences", list, where)
    scores = field_of(parts, "scores", dict, where)
    if not sentences:
        raise InputError(f"{where}: no sentence; fetch the file again")
    ratings = {"coherence": whole_story, "coherence, sentence by sentence": scores}
    for kind, codes in REASONS.items():
        ratings[kind] = _faults(parts, codes, where)
    return ratings


def _padded(lines: Sequence[Sequence[float]]) -> np.ndarray:
    """Marks of each story as an array, float64 (stories, raters), NaN behind its last rater."""
    table = np.full((len(lines), max(map(len, lines))), np.nan)
    for marks, line in zip(table, lines, strict=True):
        marks[: len(line)] = line
    return table


def _listed(row: Mapping[str, str], column: str, path: Path) -> list[float]:
    """The numbers of a CSV cell that holds a list as Python prints it."""
    where = f"{path}, {column}"
    try:
        values = ast.literal_eval(row[column])
    except (ValueError, SyntaxError) as error:
        raise InputError(
            f"{where}: no list of numbers ({error}); give files of one release"
        ) from error
    return [float(typed(value, float, where)) for value in typed(values, list, where)]


def _marks(row: Mapping[str, Any], where: str) -> list[float]:
    """The marks of all raters of a story; NaN stays NaN, for a rater without a mark."""
    marks = []
    for value in row.values():
        is_missing = value != value  # NaN is unequal to itself
        marks.append(value if is_missing else float(typed(value, float, where)))
    return marks


def _faults(parts: Mapping[str, Any], codes: Sequence[int], where: str) -> dict[str, float]:
    """Minus the share of sentences that each rater faults for a reason with one of these codes."""
    num_faulted = dict.fromkeys(parts["scores"], 0)
    for rater, by_sentence in field_of(parts, "reasons", dict, where).items():
        reasons_of = f"{where}, reasons of {rater!r}"
        for number, reasons in typed(by_sentence, dict, reasons_of).items():
            typed(reasons, list, f"{reasons_of}, sentence {number}")
            if rater in num_faulted and not set(codes).isdisjoint(reasons):
                num_faulted[rater] += 1
    num_sentences = len(parts["sentences"])
    return {rater: -number / num_sentences for rater, number in num_faulted.items()}


def values_of_critics(documents: list[Document], test: np.ndarray) -> dict[str, np.ndarray]:
    """Scores of all stories by each critic, float64 (stories,), fitted on those outside ``test``.

    ``test`` is bool (stories,).
    """
    split = []
    for document, is_test in zip(documents, test, strict=True):
        split.append(replace(document, split="test" if is_test else "train"))
    corpus = Corpus(split)
    with tempfile.TemporaryDirectory() as scratch:
        values = grid_values(corpus, None)
        values |= feature_values(corpus, Path(scratch))
        values |= chain_values(corpus)
    return values


def values_of_language_model(documents: list[Document]) -> dict[str, np.ndarray]:
    """Scores of all stories by the language model, float64 (stories,) by name."""
    corpus = Corpus([replace(document, split="test") for document in documents])
    with tempfile.TemporaryDirectory() as scratch:
        return language_model_values(corpus, Path(scratch))


def against(name: str, columns: Mapping[str, np.ndarray], marks: np.ndarray) -> dict[str, Any]:
    """Compare critics with people's marks on one criterion.

    Args:
        name: of the set and the criterion; seeds the draws.
        columns: scores by critic, float64 (stories,).
        marks: float64 (stories, raters).

    Returns:
        The ``raters``' own agreement; of ``models`` each critic's correlations with the mean mark;
        and those of all critics combined.
    """
    people = np.nanmean(marks, axis=1)
    stories = np.arange(len(people))  # each is resampled alone
    controls = {control: columns[control] for control in CONTROLS}
    lengths = np.column_stack(list(controls.values()))
    # 1. Critic by critic.
    models = {}
    for critic, values in columns.items():
        rng = generator(name, critic)
        correlation = with_interval("spearman", values, people=people, clusters=stories, rng=rng)
        models[critic] = {"spearman": correlation}
        if critic not in CONTROLS:
            rng = generator(name, critic, "equal length")
            equal = at_equal_length(values, people, lengths, stories, rng)
            models[critic]["spearman at equal length"] = equal
    # 2. The agreement of raters with enough stories.
    num_stories = (~np.isnan(marks)).sum(axis=0)
    frequent = marks[:, num_stories >= AGREED]
    agreement = leave_one_out(frequent.T, generator(name, "raters"))
    raters = {
        "leave_one_out": [agreement.value, agreement.low, agreement.high],
        "alpha": krippendorff_alpha(marks.T),
    }
    # 3. All critics together.
    together = {}
    for kind, critics in {"all critics": columns, "lengths alone": controls}.items():
        together[kind] = combined(
            critics, people, clusters=stories, groups=stories, name=f"{name} {kind}"
        )
    return {"raters": raters, "models": models, "combined, stories held out": together}


def main(name: str, *paths: str) -> None:
    """Measure every scorer and write the figures beside this script."""
    start = time.process_time()
    # 1. Each half under critics that were fitted on the other.
    documents, marks = LOADERS[name](*map(Path, paths))
    half = generator(name, "halves").permutation(len(documents)) % 2 == 0
    first = values_of_critics(documents, half)
    second = values_of_critics(documents, ~half)
    values = {}
    for critic, column in first.items():
        values[critic] = within(np.where(half, column, second[critic]), half)
    values |= values_of_language_model(documents)
    values |= length_values(documents)
    # 2. Beside people's marks, criterion by criterion.
    files = "STORIES RATINGS" if name == "hanna" else "FOLDER"
    command = f"PYTHONPATH=src python experiments/lapata2005/stories.py {name} {files}"
    record: dict[str, Any] = {"command": command, "stories": len(documents)}
    for criterion, of_criterion in marks.items():
        row = against(f"{name} {criterion}", values, of_criterion)
        record[criterion] = row
        together = row["combined, stories held out"]
        print(f"{criterion}: raters {row['raters']}, together {together}")
        for critic, cells in row["models"].items():
            print(markdown(critic, cells))
    record["cpu_seconds"] = round(time.process_time() - start, 1)
    write_packed(Path(__file__).parent / "measured" / f"{name}.json.gz", rounded(record))


LOADERS: Mapping[str, Any] = {"hanna": hanna, "cohesentia": cohesentia}

if __name__ == "__main__":
    os.environ.setdefault("WANDB_MODE", "offline")
    if [*sys.argv[1:2], len(sys.argv)] not in (["hanna", 4], ["cohesentia", 3]):
        sys.exit("usage: stories.py hanna STORIES RATINGS, or stories.py cohesentia FOLDER")
    main(*sys.argv[1:])
