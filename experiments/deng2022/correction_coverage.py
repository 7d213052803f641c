"""How often the corrected Latent PPL of planted real text covers its exact value: many worlds, a reader trained in each.

    OMP_NUM_THREADS=1 PYTHONPATH=src python experiments/deng2022/correction_coverage.py --seeds 12 \
        --out experiments/deng2022/measured/correction_coverage.json

In every world (domain, seed) a bag-of-words reader (multinomial naive Bayes, in place of the encoder, which would take
minutes a world) learns titles on train, its confusion matrix is counted on validation, and the interval on test is held
against the exact Latent PPL of the planted chain under the fitted critic. To give the correction something to do, the
reader sees only the first ``--words`` words of a section. Finished worlds are kept in the output and not drawn again.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

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
    """What the title reader would write, with naive Bayes for the encoder."""
    sections = [
        (d.split, " ".join(s.text.split()[:words]), str(s.title))
        for d in corpus.documents
        for s in d.sections
    ]
    train = [(text, title) for split, text, title in sections if split == "train"]
    counter = CountVectorizer()
    reader = MultinomialNB().fit(
        counter.fit_transform([text for text, _ in train]), [title for _, title in train]
    )
    log_posterior = reader.predict_log_proba(counter.transform([text for _, text, _ in sections]))
    predicted = reader.classes_[log_posterior.argmax(axis=1)].tolist()
    lengths = np.array([len(d.sections) for d in corpus.documents])
    ends = np.cumsum(lengths)
    chains = [
        Chain(d.id, d.split, tuple(predicted[end - n : end]))
        for d, n, end in zip(corpus.documents, lengths.tolist(), ends.tolist(), strict=True)
    ]
    base, names = chains_to_predictions(chains), sorted({title for *_, title in sections})
    arrays = {
        "gold": np.array([names.index(title) for *_, title in sections]), "gold_lengths": lengths,
        "gold_names": np.array(names), "title_names": np.array(reader.classes_.tolist()),
        "log_posterior": log_posterior, "log_posterior_lengths": lengths,
        "confidence": np.exp(log_posterior.max(axis=1)), "confidence_lengths": lengths,
        "section_transitions": corpus.truth["section_transitions"],
        "section_symbol_names": corpus.truth["section_symbol_names"],
    }  # fmt: skip
    return Predictions(base.unit_ids, base.splits, {**base.arrays, **arrays})


def world(domain: str, seed: int, words: int) -> dict[str, float]:
    """Predicted, corrected and gold Latent PPL of one world's test documents, beside the exact value."""
    made = predictions(
        planted.build(name="coverage", seed=seed, domain=domain, documents=DOCUMENTS), words
    )
    units = units_from_predictions(made)
    by_split = {split: [unit for unit in units if unit.split == split] for split in DOCUMENTS}
    critic = corrected(real=made, deltas=[0.1, 1]).fit(by_split["train"])
    found = estimate(
        critic,
        critic.sufficient_statistics(by_split["test"]),
        generator("coverage", domain, seed),
        resamples=500,
    )
    plain, gold = (
        kind(delta=critic.delta).fit(by_split["train"]) for kind in (SectionOrder, GoldTitleCritic)
    )
    return {
        "domain": domain, "seed": seed, "words": words, "error": errors(by_split["test"]),
        "predicted": plain.score_of(plain.sufficient_statistics(by_split["test"])), "gold": gold.score_of(gold.sufficient_statistics(by_split["test"])),
        "corrected": found.value, "low": found.low, "high": found.high, "exact": critic.exact_latent_ppl(),
    }  # fmt: skip


def errors(units: list[TitledArticle]) -> float:
    """Share of misread sections."""
    return float(
        np.mean([p != g for unit in units for p, g in zip(unit.symbols, unit.gold, strict=True)])
    )


def summary(rows: list[dict[str, float]]) -> dict[str, object]:
    """Worlds, worlds covered, and mean relative distance to the exact value before and after the correction."""
    out: dict[str, object] = {}
    for domain in dict.fromkeys(row["domain"] for row in rows):
        mine = [row for row in rows if row["domain"] == domain]
        out[str(domain)] = {
            "worlds": len(mine),
            "covered": sum(row["low"] <= row["exact"] <= row["high"] for row in mine),
            "mean_error": float(np.mean([row["error"] for row in mine])),
            "predicted_over_exact": float(
                np.mean([row["predicted"] / row["exact"] for row in mine])
            ),
            "corrected_over_exact": float(
                np.mean([row["corrected"] / row["exact"] for row in mine])
            ),
            "gold_over_exact": float(np.mean([row["gold"] / row["exact"] for row in mine])),
            "mean_width_over_exact": float(
                np.mean([(row["high"] - row["low"]) / row["exact"] for row in mine])
            ),
        }
    return out


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
    rows = (
        json.loads(options.out.read_text(encoding="utf-8"))["worlds"]
        if options.out.is_file()
        else []
    )
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
