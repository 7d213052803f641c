"""Count how often the interval of the corrected Latent PPL covers its exact value.

    OMP_NUM_THREADS=1 PYTHONPATH=src python experiments/deng2022/correction_coverage.py \\
        --seeds 12 --out experiments/deng2022/measured/correction_coverage.json

There are many planted worlds (domain, seed) with a reader trained in each. A bag-of-words reader
(multinomial naive Bayes, in place of the encoder, which would take minutes a world) learns titles
on train, its confusion matrix is counted on validation, and the interval on test is compared with
the exact Latent PPL of the planted chain under the fitted critic. To give the correction something
to do, the reader sees only the first ``--words`` words of a section. Worlds that are in the output
already are not measured again.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import MultinomialNB

from longform.critics.section_order.classifier_errors import corrected
from longform.critics.section_order.score import (
    GoldTitleCritic,
    SectionOrder,
    TitledArticle,
    units_from_predictions,
)
from longform.documents import Chain, Corpus, Predictions, chains_to_predictions
from longform.statistics.estimates import estimate
from longform.statistics.random_streams import generator
from synthetic_world import corpora as planted

DOMAINS = ("wiki", "pubmed", "arxiv")
DOCUMENTS = {"train": 300, "validation": 150, "test": 200}  # as the default run's planted_pubmed


def predictions(corpus: Corpus, words: int) -> Predictions:
    """Predictions of the section critic, with naive Bayes in place of its encoder.

    Args:
        corpus: a planted world.
        words: number of a section's first words that the reader sees.
    """
    # 1. The beginnings of all sections, and the reader that is trained on some of them.
    texts, titles, in_train = [], [], []
    for document in corpus.documents:
        for section in document.sections:
            texts.append(" ".join(section.text.split()[:words]))
            titles.append(str(section.title))
            in_train.append(document.split == "train")
    gold = np.array(titles)
    training = np.flatnonzero(in_train)
    counter = CountVectorizer()
    counts = counter.fit_transform([texts[number] for number in training])
    reader = MultinomialNB().fit(counts, gold[training].tolist())
    # 2. The titles that it predicts, and natural-log probabilities of all, (sections, titles).
    log_posterior = reader.predict_log_proba(counter.transform(texts))
    predicted = reader.classes_[log_posterior.argmax(axis=1)].tolist()
    chains = []
    lengths = []
    start = 0
    for document in corpus.documents:
        stop = start + len(document.sections)
        chains.append(Chain(document.id, document.split, tuple(predicted[start:stop])))
        lengths.append(stop - start)
        start = stop
    # 3. In the form of the section critic's predictions.
    names, numbers = np.unique(gold, return_inverse=True)
    base = chains_to_predictions(chains)
    arrays = {
        "gold": numbers,
        "gold_lengths": np.array(lengths),
        "gold_names": names,
        "title_names": np.array(reader.classes_.tolist()),
        "log_posterior": log_posterior,
        "log_posterior_lengths": np.array(lengths),
        "confidence": np.exp(log_posterior.max(axis=1)),
        "confidence_lengths": np.array(lengths),
        "section_transitions": corpus.truth["section_transitions"],
        "section_symbol_names": corpus.truth["section_symbol_names"],
    }
    return Predictions(base.unit_ids, base.splits, {**base.arrays, **arrays})


def world(domain: str, seed: int, words: int) -> dict[str, Any]:
    """Latent PPLs of one world's test documents, beside the exact value.

    With predicted and with gold titles, and corrected for the reader's errors, with its interval.
    """
    # 1. The critic with the correction.
    corpus = planted.build(name="coverage", seed=seed, domain=domain, documents=DOCUMENTS)
    real = predictions(corpus, words)
    units = units_from_predictions(real)
    train = [unit for unit in units if unit.split == "train"]
    test = [unit for unit in units if unit.split == "test"]
    critic = corrected(real=real, deltas=[0.1, 1]).fit(train)
    statistics = critic.sufficient_statistics(test)
    rng = generator("coverage", domain, seed)
    latent_ppl = estimate(critic, statistics, rng, resamples=500)
    # 2. Critics of predicted and of gold titles, as smooth as that one.
    predicted = SectionOrder(delta=critic.delta).fit(train)
    gold = GoldTitleCritic(delta=critic.delta).fit(train)
    return {
        "domain": domain,
        "seed": seed,
        "words": words,
        "error": errors(test),
        "predicted": predicted.score_of(predicted.sufficient_statistics(test)),
        "gold": gold.score_of(gold.sufficient_statistics(test)),
        "corrected": latent_ppl.value,
        "low": latent_ppl.low,
        "high": latent_ppl.high,
        "exact": critic.exact_latent_ppl(),
    }


def errors(units: Sequence[TitledArticle]) -> float:
    """Share of sections whose predicted title is wrong."""
    wrong = []
    for unit in units:
        for predicted, gold in zip(unit.symbols, unit.gold, strict=True):
            wrong.append(predicted != gold)
    return float(np.mean(wrong))


def summary(rows: Sequence[dict[str, Any]]) -> dict[str, object]:
    """By domain, numbers of worlds and of covered ones, and mean ratios to the exact value."""
    by_domain: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_domain.setdefault(str(row["domain"]), []).append(row)
    return {domain: _of_worlds(worlds) for domain, worlds in by_domain.items()}


def _of_worlds(worlds: Sequence[dict[str, Any]]) -> dict[str, object]:
    """The summary of the worlds of one domain."""
    column = {}
    for name in ("error", "exact", "predicted", "corrected", "gold", "low", "high"):
        column[name] = np.array([row[name] for row in worlds])
    exact = column["exact"]
    covered = (column["low"] <= exact) & (exact <= column["high"])
    summary: dict[str, object] = {"worlds": len(worlds), "covered": int(covered.sum())}
    summary["mean_error"] = float(np.mean(column["error"]))
    for name in ("predicted", "corrected", "gold"):
        summary[f"{name}_over_exact"] = float(np.mean(column[name] / exact))
    widths = (column["high"] - column["low"]) / exact
    summary["mean_width_over_exact"] = float(np.mean(widths))
    return summary


def main() -> None:
    """Run the worlds that the output lacks, and write it after each."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=12, help="worlds of each domain")
    parser.add_argument(
        "--words", type=int, default=25, help="words of a section that the reader sees"
    )
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    # Worlds that are there already, then the others.
    rows = []
    if options.out.is_file():
        rows = json.loads(options.out.read_text(encoding="utf-8"))["worlds"]
    done = {(row["domain"], row["seed"], row["words"]) for row in rows}
    for seed in range(options.seeds):
        for domain in DOMAINS:
            if (domain, seed, options.words) not in done:
                rows.append(world(domain, seed, options.words))
                text = json.dumps({"summary": summary(rows), "worlds": rows}, indent=1)
                options.out.write_text(text + "\n", encoding="utf-8")
                print(rows[-1], flush=True)


if __name__ == "__main__":
    main()
