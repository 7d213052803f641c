"""Experiments of massarelli2020 on fact-checked generations.

Every decoder's measures, the checker's accuracy, and the sheet for annotators. Generations of one
page are not independent: pages are resampled.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from longform.critics.repetition.score import DistinctGrams, GramProportion
from longform.critics.verifiability.checks import (
    UNIT_COLUMNS,
    CheckedGeneration,
    generations_from_predictions,
)
from longform.critics.verifiability.reliability import (
    accuracy_records,
    corrected_records,
    sheet_record,
)
from longform.critics.verifiability.score import SupportedPerGeneration as PerGeneration
from longform.critics.verifiability.score import SupportedPerVerified as PerVerified
from longform.documents import Predictions, grouped
from longform.evaluation.agreement import value_of
from longform.results import Record
from longform.statistics.estimates import estimate
from longform.statistics.protocols import Critic
from longform.statistics.random_streams import generator
from longform.statistics.sufficient_statistics import SufficientStatistics, clustered
from longform.statistics.sum_scored import SumScored

Units = Sequence[CheckedGeneration]
YES_OR_NO = ("linked", "conflict", "named", "cut", "found")  # columns of sentences that are 0 or 1
PERPLEXITY = "prefix_perplexity"


@dataclass(frozen=True)
class _Mean(SumScored, better="reference_matched"):
    """Mean of the values of a column, nan left out.

    Attributes:
        column: name of the column.
    """

    column: str

    def sufficient_statistics(self, units: Units) -> SufficientStatistics:
        """Sum and number of the values of each generation; without any it is excluded."""
        rows = []
        for unit in units:
            values = self.values(unit)
            values = values[~np.isnan(values)]
            rows.append((values.sum(), len(values), not len(values)))
        return SufficientStatistics.of(units, (*self.divided, "excluded"), rows)

    def values(self, unit: CheckedGeneration) -> np.ndarray:
        """The values of one generation, float64, nan for none."""
        raise NotImplementedError


# Class keywords: see SumScored.
@dataclass(frozen=True)
class SentenceMean(_Mean, divided=("sum", "sentences")):
    """Mean of one column over sentences."""

    def is_share(self) -> bool:
        """Whether the column holds yes or no."""
        return self.column in YES_OR_NO

    def values(self, unit: CheckedGeneration) -> np.ndarray:
        """The column, (sentences,)."""
        return unit.column(self.column)


@dataclass(frozen=True)
class GenerationMean(_Mean, divided=("sum", "generations")):
    """Mean over generations of one number of each.

    By ``column``: the number of distinct sentences (``distinct_sentences``) or of distinct
    supporting evidence sets (``distinct_supported``), or a column of ``about``.
    """

    def values(self, unit: CheckedGeneration) -> np.ndarray:
        """The generation's number, (1,)."""
        if self.column == "distinct_sentences":
            different = np.unique(unit.column("same_as"))
            return np.array([float(len(different))])
        if self.column == "distinct_supported":
            supporting = set()
            for label, evidence in zip(unit.checks.labels, unit.checks.evidence, strict=True):
                if label == "supported":
                    supporting.add(evidence)
            return np.array([float(len(supporting))])
        return np.array([_about(unit, self.column)])


def _about(unit: CheckedGeneration, column: str) -> float:
    """One of the ``UNIT_COLUMNS``, numbers of the whole generation."""
    return float(unit.about[UNIT_COLUMNS.index(column)])


# measure -> its critic, and the attribute of a generation that it takes ("": all of it)
MEASURES: Mapping[str, tuple[Critic[Any], str]] = {
    "distinct_4grams": (DistinctGrams(), "tokens"),
    "proportion_4grams": (GramProportion(), "tokens"),
    "proportion_4grams_average_of_ratios": (GramProportion("average_of_ratios"), "tokens"),
    "SPG": (PerGeneration(), "checks"),
    "SPV": (PerVerified(), "checks"),
    "USPG": (PerGeneration(unique=True), "checks"),
    "USPV": (PerVerified(unique=True), "checks"),
    "SPV_pooled": (PerVerified(pooled=True), "checks"),
    "true_SPG": (PerGeneration(), "truth"),
    "true_SPV": (PerVerified(), "truth"),
    "true_USPG": (PerGeneration(unique=True), "truth"),
    "true_USPV": (PerVerified(unique=True), "truth"),
    "distinct_supported": (GenerationMean("distinct_supported"), ""),
    "distinct_sentences": (GenerationMean("distinct_sentences"), ""),
    "entities": (SentenceMean("entities"), ""),
    "tokens": (SentenceMean("words"), ""),
    "conjunctions": (SentenceMean("conjunctions"), ""),
    "link_grammar_percent": (SentenceMean("linked"), ""),
    "tfidf": (GenerationMean("tfidf"), ""),
    "nats_per_token": (SentenceMean("nats"), ""),
    "named": (SentenceMean("named"), ""),
    "pronouns": (SentenceMean("pronouns"), ""),
    "conflicts": (SentenceMean("conflict"), ""),
    PERPLEXITY: (GenerationMean(PERPLEXITY), ""),
}


def decoder_records(
    units: Units, correlated: Sequence[str] = (), resamples: int = 500
) -> list[Record]:
    """A record for each decoder and measure, and for each correlation of Figure 4.

    Args:
        units: generations of all decoders.
        correlated: decoders over whose sentences correlations are taken.
        resamples: of pages for each interval.

    Returns:
        A measure of exact verdicts, ``true_SPG``, is the record ``SPG`` of variant ``gold``; where
        nothing is planted, there is none.
    """
    records = []
    for decoder, generations in grouped(units, lambda unit: unit.setting).items():
        for measure, (_, part) in MEASURES.items():
            if part != "truth" or generations[0].truth is not None:
                records.append(_measure_record(decoder, generations, measure, resamples))
    chosen = [unit for unit in units if unit.setting in correlated]
    if chosen:
        for name, fields in correlations(chosen, resamples).items():
            trait, side = name.rsplit("-", 1)
            records.append(
                Record("verifiability", "correlation", task=trait, variant=side, **fields)
            )
    return records


def _measure_record(decoder: str, generations: Units, measure: str, resamples: int) -> Record:
    """The record of one of ``MEASURES`` of a decoder's generations."""
    critic, part = MEASURES[measure]
    parts = [getattr(unit, part) for unit in generations] if part else generations
    statistics = critic.sufficient_statistics(parts)
    pages = clustered(statistics, [unit.page for unit in generations])
    rng = generator("decoder table", decoder, measure)
    fields = asdict(estimate(critic, pages, rng, resamples))
    # pages were resampled, but generations are counted
    fields["units"] = len(generations) - int(statistics.total("excluded"))
    return Record(
        "verifiability",
        measure.removeprefix("true_"),
        system=decoder,
        variant="gold" if measure.startswith("true_") else "",
        better=critic.better,
        details={"pages": len(pages.unit_ids)},
        **fields,
    )


CORRELATED = ("entities", "linked", "conjunctions", "nats", "tfidf", "words")


def correlations(units: Units, resamples: int) -> dict[str, dict[str, Any]]:
    """Pearson correlations of Figure 4, of each measure of a sentence with its verdict.

    Args:
        units: generations.
        resamples: of pages for each interval.

    Returns:
        ``<measure>-supported`` and ``<measure>-verified`` -> fields of a record; nan where a
        coefficient is undefined.
    """
    # 1. Measures, label and page of each sentence.
    rows = []
    labels: list[str] = []
    pages: list[str] = []
    for unit in units:
        measures = [unit.column(name) for name in CORRELATED]
        measures.append(np.full(len(unit.sentences), _about(unit, PERPLEXITY)))
        rows.append(np.stack(measures, axis=1))
        labels += unit.checks.labels
        pages += [unit.page] * len(unit.checks.labels)
    columns = dict(zip((*CORRELATED, PERPLEXITY), np.concatenate(rows).T, strict=True))
    sentences_of_page = []
    for page in dict.fromkeys(pages):
        sentences_of_page.append(np.flatnonzero(np.array(pages) == page))
    # 2. Each measure with each verdict.
    verdicts = {"supported": ("supported",), "verified": ("supported", "refuted")}
    correlated = {}
    for verdict, verdict_labels in verdicts.items():
        hits = np.isin(labels, verdict_labels).astype(np.float64)
        for measure, values in columns.items():
            name = f"{measure}-{verdict}"
            correlated[name] = _correlation(name, values, hits, sentences_of_page, resamples)
    return correlated


def _correlation(
    name: str,
    values: np.ndarray,
    hits: np.ndarray,
    sentences_of_page: Sequence[np.ndarray],
    resamples: int,
) -> dict[str, Any]:
    """Fields of the record of one correlation, with a percentile interval over pages.

    Args:
        name: names the random stream.
        values: a measure of each sentence, (sentences,), nan for none.
        hits: 1 where a sentence has the verdict, else 0, float64 (sentences,).
        sentences_of_page: indices of each page's sentences.
        resamples: number of resamples of pages.
    """
    rng = generator("correlation", name)
    has_value = ~np.isnan(values)
    num_pages = len(sentences_of_page)
    draws = []
    for _ in range(resamples):
        page_draws = [sentences_of_page[i] for i in rng.integers(0, num_pages, num_pages)]
        sentences = np.concatenate(page_draws)
        valued = sentences[has_value[sentences]]
        draw = value_of("pearson", values[valued], hits[valued])
        if not math.isnan(draw):
            draws.append(draw)
    low = high = math.nan
    if draws:
        low, high = np.quantile(draws, [0.025, 0.975]).tolist()
    return {
        "value": value_of("pearson", values[has_value], hits[has_value]),
        "low": low,
        "high": high,
        "units": int(has_value.sum()),
        "excluded": int((~has_value).sum()),
    }


def decoders(
    *, texts: Predictions, correlations: Sequence[str] = (), resamples: int = 500
) -> list[Record]:
    """Every measure of every decoder (Tables 1, 3 and 4), and the correlations of Figure 4.

    Args:
        texts: checked generations.
        correlations: decoders over whose sentences correlations are taken.
        resamples: of pages for each interval.
    """
    return decoder_records(generations_from_predictions(texts), correlations, resamples)


def sheet(*, texts: Predictions, prefixes: int) -> list[Record]:
    """The record of the sheet for annotators (section 6), with exact repeats by decoder.

    Args:
        texts: checked generations.
        prefixes: number of first prefixes whose generations are on the sheet.
    """
    return [sheet_record(generations_from_predictions(texts), prefixes)]


def checker(*, texts: Predictions) -> list[Record]:
    """The checker's labels against known ones: accuracy, and each label's precision and recall."""
    return accuracy_records(generations_from_predictions(texts))


def corrected(
    *, train: Predictions, texts: Predictions, variant: str, resamples: int = 500
) -> list[Record]:
    """Supported sentences per generation, corrected for the checker's errors.

    Args:
        train: checked generations whose labels are known, from which the errors are learnt.
        texts: checked generations to correct.
        variant: of the records.
        resamples: of pages for each interval.
    """
    generations = generations_from_predictions(texts)
    with_labels = generations_from_predictions(train)
    return corrected_records(generations, with_labels, variant, resamples)
