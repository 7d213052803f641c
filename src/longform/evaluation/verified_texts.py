"""Questions about checked generations, asked of readings: every decoder's measures, how far the checker can be trusted, the sheet.

massarelli2020. Generations of one page are not independent: pages are resampled.
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


@dataclass(frozen=True)
class _Mean(SumScored, better="reference_matched"):
    """Mean of a column over what has a value; what has none (nan) is counted out."""

    column: str

    def sufficient_statistics(self, units: Units) -> SufficientStatistics:
        rows = []
        for unit in units:
            values = self.values(unit)
            kept = values[~np.isnan(values)]
            rows.append((kept.sum(), len(kept), not len(kept)))
        return SufficientStatistics.of(units, (*self.divided, "excluded"), rows)

    def values(self, unit: CheckedGeneration) -> np.ndarray:
        raise NotImplementedError


@dataclass(frozen=True)
class SentenceMean(_Mean, divided=("sum", "sentences")):
    """Mean of one column over sentences."""

    def is_share(self) -> bool:
        return self.column in YES_OR_NO

    def values(self, unit: CheckedGeneration) -> np.ndarray:
        return unit.column(self.column)


@dataclass(frozen=True)
class GenerationMean(_Mean, divided=("sum", "generations")):
    """Mean over generations of a number that each has: different sentences, or a column of ``about``."""

    def values(self, unit: CheckedGeneration) -> np.ndarray:
        if self.column == "distinct_sentences":
            return np.array([float(len(np.unique(unit.column("same_as"))))])
        if self.column == "distinct_supported":
            pairs = zip(unit.checks.labels, unit.checks.evidence, strict=True)
            return np.array(
                [float(len({evidence for label, evidence in pairs if label == "supported"}))]
            )
        return np.array([float(unit.about[UNIT_COLUMNS.index(self.column)])])


MEASURES: Mapping[
    str, tuple[Critic[Any], str]
] = {  # the critic, and the part of a generation that it takes
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
    "prefix_perplexity": (GenerationMean("prefix_perplexity"), ""),
}


def decoder_records(
    units: Units, correlated: Sequence[str] = (), resamples: int = 500
) -> list[Record]:
    """A record for each decoder and measure, and for each correlation of Figure 4, over the sentences of ``correlated`` decoders.

    A measure of exact verdicts, ``true_SPG``, is the record ``SPG`` of variant ``gold``; where nothing is planted, there is none.
    """
    records = []
    for name, own in grouped(units, lambda unit: unit.setting).items():
        for key, (critic, part) in MEASURES.items():
            if part == "truth" and own[0].truth is None:
                continue
            statistics = critic.sufficient_statistics(
                [getattr(unit, part) for unit in own] if part else own
            )
            pages = clustered(statistics, [unit.page for unit in own])
            held = estimate(critic, pages, generator("decoder table", name, key), resamples)
            fields = {
                **asdict(held),
                "units": len(own) - int(statistics.total("excluded")),
                "better": critic.better,
            }
            fields |= {
                "details": {"pages": len(pages.unit_ids)},
                "variant": "gold" if key.startswith("true_") else "",
            }
            records.append(
                Record("verifiability", key.removeprefix("true_"), system=name, **fields)
            )
    chosen = [unit for unit in units if unit.setting in correlated]
    for name, found in (correlations(chosen, resamples) if chosen else {}).items():
        trait, side = name.rsplit("-", 1)
        records.append(Record("verifiability", "correlation", task=trait, variant=side, **found))
    return records


CORRELATED = ("entities", "linked", "conjunctions", "nats", "tfidf", "words")


def correlations(units: Units, resamples: int) -> dict[str, dict[str, Any]]:
    """Pearson correlations of Figure 4, nan where undefined: each measure of a sentence with whether it is supported, and verified."""
    rows = []
    for unit in units:
        prefix = np.full(len(unit.sentences), unit.about[UNIT_COLUMNS.index("prefix_perplexity")])
        rows.append(np.stack([*(unit.column(name) for name in CORRELATED), prefix], axis=1))
    columns = dict(zip((*CORRELATED, "prefix_perplexity"), np.concatenate(rows).T, strict=True))
    labels = np.array([label for unit in units for label in unit.checks.labels])
    pages = np.array([unit.page for unit in units for _ in unit.checks.labels])
    places = [np.flatnonzero(pages == page) for page in dict.fromkeys(pages.tolist())]
    made = {}
    for side, kinds in {"supported": ("supported",), "verified": ("supported", "refuted")}.items():
        hits = np.isin(labels, kinds).astype(np.float64)
        for key, values in columns.items():
            rng, known, draws = generator("correlation", f"{key}-{side}"), ~np.isnan(values), []
            for _ in range(resamples):
                chosen = np.concatenate(
                    [places[i] for i in rng.integers(0, len(places), len(places))]
                )
                chosen = chosen[known[chosen]]
                draws.append(value_of("pearson", values[chosen], hits[chosen]))
            kept = [draw for draw in draws if not math.isnan(draw)]
            low, high = np.quantile(kept, [0.025, 0.975]).tolist() if kept else (math.nan, math.nan)
            found = {
                "value": value_of("pearson", values[known], hits[known]),
                "low": low,
                "high": high,
            }
            made[f"{key}-{side}"] = {
                **found,
                "units": int(known.sum()),
                "excluded": int((~known).sum()),
            }
    return made


def decoders(
    *, texts: Predictions, correlations: Sequence[str] = (), resamples: int = 500
) -> list[Record]:
    """Every measure of every decoder (Tables 1, 3 and 4), and the correlations of Figure 4 over some decoders' sentences."""
    return decoder_records(generations_from_predictions(texts), correlations, resamples)


def sheet(*, texts: Predictions, prefixes: int) -> list[Record]:
    """The sheet that people fill in (section 6), of the first ``prefixes`` prefixes, with exact repeats by decoder."""
    return [sheet_record(generations_from_predictions(texts), prefixes)]


def checker(*, texts: Predictions) -> list[Record]:
    """The checker's labels against known ones: accuracy, and precision and recall of each label."""
    return accuracy_records(generations_from_predictions(texts))


def corrected(
    *, train: Predictions, texts: Predictions, variant: str, resamples: int = 500
) -> list[Record]:
    """Supported sentences per generation, corrected for the checker's errors on the known labels of ``train``."""
    return corrected_records(
        generations_from_predictions(texts), generations_from_predictions(train), variant, resamples
    )
