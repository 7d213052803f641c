"""The code-mixing critic on real parallel text (appendix C): languages found, and how sentences and translators mix them.

    OMP_NUM_THREADS=1 PYTHONPATH=src python experiments/deng2022/measure_languages.py --parallel FOLDER \
        --out experiments/deng2022/measured/languages_pud.json

FOLDER is what ``datasets.text_files.parallel`` reads. Translators are small and trained for a few epochs: they show whether mixing
shows, not how well a thousand sentences can be translated.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from longform.critics.code_mixing import read as language_mixture
from longform.critics.code_mixing.score import (
    CodeMixing,
    LanguageDispersion,
    MixtureReading,
    units_from_predictions,
)
from longform.datasets.text_files import parallel
from longform.decoding import translations
from longform.documents import Corpus, Document
from longform.language_models import translation
from longform.statistics.comparisons import compare
from longform.statistics.estimates import estimate
from longform.statistics.random_streams import generator

SEED = 1234  # authors' code
KINDS = ("autoregressive", "non_autoregressive")
SHAPE = {"layers": 2, "heads": 4, "width": 128, "inner": 256, "positions": 256}  # ours
SUBWORDS = 3000  # ours
SCHEDULE = {"learning_rate": 2.0e-3, "batch": 32, "validations": 1}  # ours


def named(model: language_mixture.LanguageModel, corpus: Corpus) -> tuple[list[str], float]:
    """Language of each component, and the share of test sentences whose largest component is their language's."""
    documents, truth = list(corpus.documents), corpus.truth["language"]
    names = corpus.truth["language_names"].tolist()
    read = language_mixture.read(documents, reader=model, seed=SEED)
    largest = read.arrays["mean_share"].argmax(axis=1)
    train, test = (np.array([d.split == split for d in documents]) for split in ("train", "test"))
    votes = np.array([[np.sum((largest == k) & (truth == i) & train) for i in range(len(names))]
                      for k in range(len(model.alpha))])  # fmt: skip
    component = votes.argmax(axis=1)
    return [names[i] for i in component], float(np.mean(component[largest[test]] == truth[test]))


def scores(
    units: Sequence[MixtureReading], real: Sequence[MixtureReading], prior: CodeMixing
) -> dict[str, Any]:
    """Dispersion, corners and Latent NLL with intervals, each with its test against real sentences."""
    found = {}
    for name, critic in (
        ("dispersion", LanguageDispersion()),
        ("corners", LanguageDispersion(corners=True)),
        ("nll", prior),
    ):
        statistics = critic.sufficient_statistics(units)
        found[name] = asdict(estimate(critic, statistics, generator("languages", name)))
        if units is not real:
            found[name]["comparison"] = asdict(
                compare(
                    critic,
                    statistics,
                    critic.sufficient_statistics(real),
                    generator("languages", name, 2),
                )
            )
    return found


def translated(
    kind: str, documents: Sequence[Document], epochs: float, work: Path
) -> tuple[Corpus, dict[str, Any]]:
    """Train a translator, let it translate the test sentences."""
    begin = time.process_time()
    model = translation.fit(
        documents,
        kind=kind,
        name=f"pud-{kind}",
        seed=SEED,
        scratch=work / kind,
        schedule={**SCHEDULE, "epochs": epochs},
        shape=SHAPE,
        subwords=SUBWORDS,
    )
    trained = time.process_time() - begin
    corpus = translations.generate(model=model, name=f"pud-{kind}", seed=SEED, prefixes=documents)
    return corpus, {
        "training_processor_s": trained,
        **corpus.facts,
        "first": corpus.documents[0].sections[1].text,
    }


def measure(raw: Path, epochs: float, work: Path) -> dict[str, Any]:
    """Everything about one folder of parallel text."""
    corpus = parallel(raw=raw, name="pud", seed=SEED)
    documents = list(corpus.documents)
    begin = time.process_time()
    model = language_mixture.fit(documents, seed=SEED)
    seconds = time.process_time() - begin
    names, accuracy = named(model, corpus)
    read = language_mixture.read(documents, reader=model, seed=SEED, splits=["test"])
    real = units_from_predictions(read)
    prior = CodeMixing(own_prior=False).with_prior(model.alpha)
    found: dict[str, Any] = {
        "pairs": len(documents),
        "dropped": corpus.facts["pairs_without_a_side"],
        "lda": {"processor_s": seconds, "alpha": model.alpha.tolist(), **model.facts},
        "components": names,
        "sentences_of_the_right_component": accuracy,
        "top_words": dict(zip(names, model.top_words(20), strict=True)),
        "data": scores(real, real, prior),
    }
    for kind in KINDS:
        written, facts = translated(kind, documents, epochs, work)
        units = units_from_predictions(
            language_mixture.read(list(written.documents), reader=model, seed=SEED)
        )
        found[kind] = {**facts, **scores(units, real, prior)}
    return found


def main() -> None:
    """Measure and print; with --out, also write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--parallel", type=Path, required=True)
    parser.add_argument("--epochs", type=float, default=8)
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        found: Mapping[str, Any] = {
            "epochs": options.epochs,
            **measure(options.parallel, options.epochs, Path(name)),
        }
    text = json.dumps(found, indent=1, ensure_ascii=False)
    print(text)
    if options.out:
        options.out.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
