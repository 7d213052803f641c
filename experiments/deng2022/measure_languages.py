"""The code-mixing critic on real parallel text (appendix C).

    OMP_NUM_THREADS=1 PYTHONPATH=src python experiments/deng2022/measure_languages.py \\
        --parallel FOLDER --out experiments/deng2022/measured/languages_pud.json

Which languages the mixture has, and how sentences and translators mix them. FOLDER is what
``datasets.text_files.parallel`` reads. Translators are small and trained for a few epochs: they
show whether mixing shows, not how well a thousand sentences can be translated.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Sequence
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


def languages_of_components(
    model: language_mixture.LanguageModel, corpus: Corpus
) -> tuple[list[str], float]:
    """Name the language of each component of a mixture by its training sentences.

    Returns:
        The language of each component, and the share of test sentences whose largest component has
        their language.
    """
    # 1. The largest component of each sentence.
    documents = list(corpus.documents)
    predictions = language_mixture.read(documents, reader=model, seed=SEED)
    largest = predictions.arrays["mean_share"].argmax(axis=1)
    # 2. The language of most training sentences of each component.
    truth = corpus.truth["language"]
    names = corpus.truth["language_names"].tolist()
    split = np.array([document.split for document in documents])
    in_train, in_test = split == "train", split == "test"
    votes = np.zeros((len(model.alpha), len(names)), dtype=np.int64)
    np.add.at(votes, (largest[in_train], truth[in_train]), 1)
    language_of = votes.argmax(axis=1)
    # 3. Whether it is that of the test sentences.
    right = language_of[largest[in_test]] == truth[in_test]
    return [names[number] for number in language_of], float(np.mean(right))


def scores(
    units: Sequence[MixtureReading], real: Sequence[MixtureReading], prior: CodeMixing
) -> dict[str, Any]:
    """Dispersion, corners and Latent NLL of sentences, with intervals and tests.

    Args:
        units: readings of the sentences.
        real: readings of real ones, against which others are tested.
        prior: the critic of the Latent NLL.
    """
    critics = {
        "dispersion": LanguageDispersion(),
        "corners": LanguageDispersion(corners=True),
        "nll": prior,
    }
    rows = {}
    for name, critic in critics.items():
        statistics = critic.sufficient_statistics(units)
        rows[name] = asdict(estimate(critic, statistics, generator("languages", name)))
        if units is not real:
            of_real = critic.sufficient_statistics(real)
            rng = generator("languages", name, 2)
            rows[name]["comparison"] = asdict(compare(critic, statistics, of_real, rng))
    return rows


def translated(
    kind: str, documents: Sequence[Document], epochs: float, work: Path
) -> tuple[Corpus, dict[str, Any]]:
    """Train a translator and translate the test sentences; returns them, and facts of the run."""
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
    facts = {"training_processor_s": trained, **corpus.facts}
    facts["first"] = corpus.documents[0].sections[1].text
    return corpus, facts


def measure(raw: Path, epochs: float, work: Path) -> dict[str, Any]:
    """Measure one folder of parallel text.

    Args:
        raw: the folder.
        epochs: passes over the texts in the translators' training.
        work: folder for the translators' files.
    """
    # 1. The mixture of languages, and real sentences under it.
    corpus = parallel(raw=raw, name="pud", seed=SEED)
    documents = list(corpus.documents)
    begin = time.process_time()
    model = language_mixture.fit(documents, seed=SEED)
    seconds = time.process_time() - begin
    names, accuracy = languages_of_components(model, corpus)
    predictions = language_mixture.read(documents, reader=model, seed=SEED, splits=["test"])
    real = units_from_predictions(predictions)
    prior = CodeMixing(own_prior=False).with_prior(model.alpha)
    report: dict[str, Any] = {
        "pairs": len(documents),
        "dropped": corpus.facts["pairs_without_a_side"],
        "lda": {"processor_s": seconds, "alpha": model.alpha.tolist(), **model.facts},
        "components": names,
        "sentences_of_the_right_component": accuracy,
        "top_words": dict(zip(names, model.top_words(20), strict=True)),
        "data": scores(real, real, prior),
    }
    # 2. Translators.
    for kind in KINDS:
        translation_of_test, facts = translated(kind, documents, epochs, work)
        sentences = list(translation_of_test.documents)
        predictions = language_mixture.read(sentences, reader=model, seed=SEED)
        units = units_from_predictions(predictions)
        report[kind] = {**facts, **scores(units, real, prior)}
    return report


def main() -> None:
    """Measure and print; with --out, also write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--parallel", type=Path, required=True)
    parser.add_argument("--epochs", type=float, default=8)
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    report: dict[str, Any] = {"epochs": options.epochs}
    with tempfile.TemporaryDirectory() as scratch:
        report |= measure(options.parallel, options.epochs, Path(scratch))
    text = json.dumps(report, indent=1, ensure_ascii=False)
    print(text)
    if options.out:
        options.out.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
