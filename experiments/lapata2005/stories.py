"""Every critic against people's ratings of stories, one by one: which one to trust where no systems are compared.

``PYTHONPATH=src python experiments/lapata2005/stories.py hanna STORIES RATINGS`` writes measured/hanna.json,
``PYTHONPATH=src python experiments/lapata2005/stories.py cohesentia FOLDER`` measured/cohesentia.json.

HANNA (Chhun et al. 2022, 2024): STORIES is ``hanna_llm_stories.csv``, in which each prompt's human story stands beside those of models;
RATINGS ``hanna_metric_scores_llm.csv``, whose row ``Human`` lists the three raters' marks (1 to 5) of the same stories in the same order;
other rows' stories are not in STORIES. CoheSentia (Maimon and Tsarfaty 2023): FOLDER holds ``TrainData.json`` and ``TestData.json``, stories that
GPT-3 wrote, each rated (1 to 5) by two people or more after reading it whole, and by one to five after reading it sentence by sentence, where
they also named what is wrong with a sentence. Its readers are numbered anew in each story, so that agreement there is of places, not of persons. Critics are fitted on one half of the stories and judge the other, by seed, so that each story is
judged once; what a fit judged is ranked within its half, because two fits need not share a scale.
"""

from __future__ import annotations

import ast
import os
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from summeval import (
    CONTROLS,
    at_equal_length,
    chain_values,
    combined,
    feature_values,
    grid_values,
    language_model_values,
    within,
)

from longform.datasets.text_files import hanna as build
from longform.documents import Corpus, Document, Section
from longform.errors import InputError
from longform.evaluation.agreement import (
    clustered_interval,
    correlate,
    krippendorff_alpha,
    leave_one_out,
)
from longform.files.artefacts import write_json
from longform.files.opening import field_of, json_file, rows, typed
from longform.language_models.sentence_features import split_sentences
from longform.results import rounded
from longform.statistics.random_streams import generator

RATERS = (1, 2, 3)
CRITERIA = {"CH": "coherence", "EG": "engagement", "CX": "complexity"}
LENGTH = "Text length ¤§"  # of each story, in tokens of theirs
SAME = 0.98  # correlation of lengths from which two lists are of the same stories
REASONS = {
    "cohesion": (1, 2, 3),
    "consistency": (4, 5),
    "relevance": (6, 7),
}  # authors' code; 8 is another reason
AGREED = 20  # stories of a rater's number from which on it counts in the agreement
Stories = tuple[list[Document], dict[str, np.ndarray]]


def hanna(stories: Path, rated: Path) -> Stories:
    """The human stories and marks of each criterion, float64 (stories, raters).

    Raises:
        InputError: no row of human stories, or lists that are not about these stories in this order.
    """
    human_ones = [
        d for d in build(name="hanna", seed=0, raw=stories).documents if d.id.endswith("-human")
    ]
    documents = [
        replace(d, sections=(Section(None, " ".join(s.text for s in d.sections)),))
        for d in human_ones
    ]
    words = np.array([len(document.text.split()) for document in documents])
    needed = ["Model", LENGTH, *(f"Human {k} {key}" for key in CRITERIA for k in RATERS)]
    human = next((row for row in rows(rated, needed) if row["Model"] == "Human"), None)
    if human is None:
        raise InputError(
            f"{rated}: no row Human with its marks; give HANNA's hanna_metric_scores_llm.csv"
        )
    marks = {
        name: [_listed(human, f"Human {k} {key}", rated) for k in RATERS]
        for key, name in CRITERIA.items()
    }
    given = np.array(_listed(human, LENGTH, rated))
    sizes = {len(row) for lists in marks.values() for row in [given, *lists]}
    if sizes != {len(words)}:
        raise InputError(
            f"{rated}: the row Human has not {len(words)} marks of each rater; give files of one release"
        )
    if not (agreement := np.corrcoef(given, words)[0, 1]) >= SAME:
        raise InputError(
            f"{rated}: its lengths correlate with the stories' at {agreement:.3f}; give files of one release"
        )
    return documents, {name: np.array(rows, dtype=np.float64).T for name, rows in marks.items()}


def cohesentia(folder: Path) -> Stories:
    """All stories, and marks (stories, raters), nan where nobody sits: ``coherence`` of the whole, ``coherence, sentence by sentence``, and by
    kind of reason minus the share of its sentences that a rater faults.

    Raises:
        InputError: a file that is missing or is not the one published, or no story.
    """
    documents, found = [], []
    for path in (folder / "TrainData.json", folder / "TestData.json"):
        for key, story in typed(json_file(path), dict, str(path)).items():
            where = f"{path}, story {key!r}"
            whole = field_of(field_of(story, "HolisticData", dict, where), "scores", dict, where)
            parts = field_of(story, "IncrementalData", dict, where)
            sentences, scores = (
                field_of(parts, "sentences", list, where),
                field_of(parts, "scores", dict, where),
            )
            if not sentences:
                raise InputError(f"{where}: no sentence; fetch the file again")
            kinds = {kind: _faults(parts, codes, where) for kind, codes in REASONS.items()}
            given = {"coherence": whole, "coherence, sentence by sentence": scores, **kinds}
            found.append({name: _marks(row, f"{where}, {name}") for name, row in given.items()})
            text = " ".join(field_of(story, "Text", str, where).split())
            documents.append(Document(f"cohesentia-{key}", "test", (Section(None, text),)))
    if not documents:
        raise InputError(
            f"{folder}: no story in TrainData.json and TestData.json; fetch them again"
        )
    marks = {}
    for name in found[0]:
        rows = [row[name] for row in found]
        marks[name] = np.full((len(rows), max(map(len, rows))), np.nan)
        for place, row in enumerate(rows):
            marks[name][place, : len(row)] = row
    return documents, marks


def _listed(row: Mapping[str, str], column: str, path: Path) -> list[float]:
    """The numbers of a cell that holds a list."""
    try:
        values = ast.literal_eval(row[column])
    except (ValueError, SyntaxError) as error:
        raise InputError(
            f"{path}, {column}: no list of numbers ({error}); give files of one release"
        ) from error
    return [
        float(typed(value, float, f"{path}, {column}"))
        for value in typed(values, list, f"{path}, {column}")
    ]


def _marks(row: Mapping[str, Any], where: str) -> list[float]:
    """The marks of all raters; NaN stands for none."""
    return [
        value if value != value else float(typed(value, float, where)) for value in row.values()
    ]


def _faults(parts: Mapping[str, Any], codes: Sequence[int], where: str) -> dict[str, float]:
    """Minus the share of sentences that each rater faults for one of these reasons."""
    faulty = dict.fromkeys(parts["scores"], 0)
    for rater, places in field_of(parts, "reasons", dict, where).items():
        for place, named in typed(places, dict, f"{where}, reasons of {rater!r}").items():
            named = typed(named, list, f"{where}, reasons of {rater!r}, sentence {place}")
            if rater in faulty and not set(codes).isdisjoint(named):
                faulty[rater] += 1
    return {rater: -number / len(parts["sentences"]) for rater, number in faulty.items()}


def judged(
    documents: list[Document], test: np.ndarray, language_model: bool
) -> dict[str, np.ndarray]:
    """Values of all critics fitted on the stories outside ``test``, those of the language model, which is not fitted, of all stories."""
    corpus = Corpus(
        [
            replace(d, split="test" if out else "train")
            for d, out in zip(documents, test, strict=True)
        ]
    )
    with tempfile.TemporaryDirectory() as scratch:
        values = (
            grid_values(corpus, None) | feature_values(corpus, Path(scratch)) | chain_values(corpus)
        )
        if language_model:
            values |= language_model_values(
                Corpus([replace(d, split="test") for d in documents]), Path(scratch)
            )
    return values


def against(name: str, columns: Mapping[str, np.ndarray], given: np.ndarray) -> dict[str, Any]:
    """One criterion: the raters' own agreement, every critic's correlation with their mean, and what all critics reach together."""
    people, rows = np.nanmean(given, axis=1), {}
    lengths, alone = (
        np.column_stack([columns[control] for control in CONTROLS]),
        np.arange(len(people)),
    )
    for critic, values in columns.items():
        cell = asdict(correlate("spearman", values, people))
        rng = generator(name, critic)
        cell["low"], cell["high"] = clustered_interval("spearman", values, people, alone, rng, 1000)
        rows[critic] = {"spearman": cell}
        if critic not in CONTROLS:
            rng = generator(name, critic, "equal length")
            rows[critic]["spearman at equal length"] = at_equal_length(
                values, people, lengths, alone, rng
            )
    often = given[:, (~np.isnan(given)).sum(axis=0) >= AGREED]
    agreed = leave_one_out(often.T, generator(name, "raters"))
    raters = {
        "leave_one_out": [agreed.value, agreed.low, agreed.high],
        "alpha": krippendorff_alpha(given.T),
    }
    chosen = {
        "all critics": columns,
        "lengths alone": {control: columns[control] for control in CONTROLS},
    }
    together = {
        kind: combined(given, people, alone, alone, f"{name} {kind}")
        for kind, given in chosen.items()
    }
    return {"raters": raters, "models": rows, "combined, stories held out": together}


def main(name: str, *places: str) -> None:
    """Measure every scorer and write the figures beside this script."""
    start = time.process_time()
    documents, marks = LOADERS[name](*map(Path, places))
    half = generator(name, "halves").permutation(len(documents)) % 2 == 0
    one, other = (
        judged(documents, half, language_model=True),
        judged(documents, ~half, language_model=False),
    )
    values = {
        key: within(np.where(half, found, other[key]), half) if key in other else found
        for key, found in one.items()
    }
    sentences = [len(rows) for rows in split_sentences(documents, "rules")]
    words = [len(document.text.split()) for document in documents]
    values |= dict(zip(CONTROLS, np.array([sentences, words], dtype=np.float64), strict=True))
    used = "STORIES RATINGS" if name == "hanna" else "FOLDER"
    record: dict = {
        "command": f"PYTHONPATH=src python experiments/lapata2005/stories.py {name} {used}"
    }
    record["stories"] = len(documents)
    for criterion, given in marks.items():
        record[criterion] = found = against(f"{name} {criterion}", values, given)
        print(
            f"{criterion}: raters {found['raters']}, together {found['combined, stories held out']}"
        )
        for critic, cells in found["models"].items():
            shown = (
                f"{c['value']:+.3f} [{c['low']:+.3f}, {c['high']:+.3f}]" for c in cells.values()
            )
            print(f"| {critic} | " + " | ".join(shown) + " |")
    record["cpu_seconds"] = round(time.process_time() - start, 1)
    write_json(Path(__file__).parent / "measured" / f"{name}.json", rounded(record))


LOADERS: Mapping[str, Any] = {"hanna": hanna, "cohesentia": cohesentia}

if __name__ == "__main__":
    os.environ.setdefault("WANDB_MODE", "offline")
    if [*sys.argv[1:2], len(sys.argv)] not in (["hanna", 4], ["cohesentia", 3]):
        sys.exit("usage: stories.py hanna STORIES RATINGS, or stories.py cohesentia FOLDER")
    main(*sys.argv[1:])
