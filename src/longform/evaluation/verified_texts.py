"""Questions about checked generations, asked of readings: every decoder's measures, how far the checker can be trusted, the sheet.

massarelli2020. Generations of one page are not independent: pages are resampled.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np

from longform.core.critic import Better, Critic, Sums, SumScored, Tally, clustered, estimate
from longform.core.documents import Readout
from longform.core.resampling import generator, ratio
from longform.core.results import Record
from longform.critics.repetition.score import DistinctGrams, GramProportion
from longform.critics.verifiability.annotation_sheet import AnnotationSheet, sheet_record
from longform.critics.verifiability.checker_accuracy import accuracy_records, corrected_records
from longform.critics.verifiability.score import (
    UNIT_COLUMNS,
    CheckedGeneration,
    SupportedPerGeneration,
    SupportedPerVerified,
    generations_from_readout,
)

Units = Sequence[CheckedGeneration]


@dataclass(frozen=True)
class SentenceMean(SumScored):
    """Mean of one column over sentences; sentences without a value (nan) are counted out."""

    column: str
    better: ClassVar[Better] = "nearer_real"

    def fit(self, real: Units) -> SentenceMean:
        """Nothing is fitted."""
        return self

    def tally(self, units: Units) -> Tally:
        """Columns sum, sentences, excluded (a generation without any value)."""
        rows = [self._row(unit.column(self.column)) for unit in units]
        values = np.array(rows, dtype=np.float64).reshape(len(rows), 3)
        return Tally(tuple(unit.unit_id for unit in units), ("sum", "sentences", "excluded"), values)

    def _row(self, values: np.ndarray) -> tuple[float, float, float]:
        kept = values[~np.isnan(values)]
        return float(kept.sum()), float(len(kept)), float(not len(kept))

    def of_sums(self, sums: Sums) -> Any:
        """Mean over sentences; nan without any."""
        return ratio(sums.total("sum"), sums.total("sentences"))


@dataclass(frozen=True)
class GenerationMean(SumScored):
    """Mean over generations of a number that each has: different sentences, or a column of ``about``."""

    column: str
    better: ClassVar[Better] = "nearer_real"

    def fit(self, real: Units) -> GenerationMean:
        """Nothing is fitted."""
        return self

    def tally(self, units: Units) -> Tally:
        """Columns sum, generations, excluded."""
        found = [self._value(unit) for unit in units]
        rows = [(0.0, 0.0, 1.0) if math.isnan(value) else (value, 1.0, 0.0) for value in found]
        values = np.array(rows, dtype=np.float64).reshape(len(rows), 3)
        return Tally(tuple(unit.unit_id for unit in units), ("sum", "generations", "excluded"), values)

    def _value(self, unit: CheckedGeneration) -> float:
        if self.column == "distinct_sentences":
            return float(len(np.unique(unit.column("same_as"))))
        if self.column == "distinct_supported":
            pairs = zip(unit.checks.labels, unit.checks.evidence, strict=True)
            return float(len({evidence for label, evidence in pairs if label == "supported"}))
        return float(unit.about[UNIT_COLUMNS.index(self.column)])

    def of_sums(self, sums: Sums) -> Any:
        """Mean over generations."""
        return ratio(sums.total("sum"), sums.total("generations"))


MEASURES: Mapping[str, tuple[Critic[Any], str]] = {  # the critic, and the part of a generation that it takes
    "distinct_4grams": (DistinctGrams(), "tokens"),
    "proportion_4grams": (GramProportion(), "tokens"),
    "proportion_4grams_average_of_ratios": (GramProportion("average_of_ratios"), "tokens"),
    "SPG": (SupportedPerGeneration(), "checks"),
    "SPV": (SupportedPerVerified(), "checks"),
    "USPG": (SupportedPerGeneration(unique=True), "checks"),
    "USPV": (SupportedPerVerified(unique=True), "checks"),
    "SPV_pooled": (SupportedPerVerified(pooled=True), "checks"),
    "true_SPG": (SupportedPerGeneration(), "truth"),
    "true_SPV": (SupportedPerVerified(), "truth"),
    "true_USPG": (SupportedPerGeneration(unique=True), "truth"),
    "true_USPV": (SupportedPerVerified(unique=True), "truth"),
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
TABLE_1 = ("distinct_4grams", "proportion_4grams", "SPG", "SPV", "USPG", "USPV")


def decoder_records(
    units: Units,
    *,
    corpus: str,
    measures: Sequence[str] = tuple(MEASURES),
    correlated: Sequence[str] = (),
    decoders: Mapping[str, Mapping[str, Any]] | None = None,
    resamples: int = 500,
) -> list[Record]:
    """A record for each decoder and measure, and for each correlation of Figure 4.

    Args:
        corpus: what the records call the run.
        measures: keys of ``MEASURES``. A measure of exact verdicts, ``true_SPG``, is the record ``SPG`` of variant ``gold``;
            where nothing is planted, there is none.
        correlated: decoders whose sentences are pooled for the correlations; none leaves them out.
        decoders: the settings of each decoder by name, for ``details``.
        resamples: of each interval.
    """
    groups: dict[str, list[CheckedGeneration]] = {}
    for unit in units:
        groups.setdefault(unit.setting, []).append(unit)
    records = []
    for name, own in groups.items():
        settings = {"decoder": dict(decoders[name])} if decoders and name in decoders else {}
        for key in measures:
            if MEASURES[key][1] == "truth" and own[0].truth is None:
                continue
            held = measured(key, own, name, resamples)
            fields = {key: held[key] for key in ("value", "low", "high", "units", "excluded", "signature")}
            gold = key.startswith("true_")
            records.append(
                Record(
                    "verifiability",
                    key.removeprefix("true_"),
                    corpus,
                    name,
                    variant="gold" if gold else "",
                    better=MEASURES[key][0].better,
                    details={"pages": held["pages"], **settings},
                    **fields,
                )
            )
    chosen = [unit for unit in units if unit.setting in correlated]
    for name, held in (correlations(chosen, resamples) if chosen else {}).items():
        trait, side = name.rsplit("-", 1)
        records.append(Record("verifiability", "correlation", corpus, task=trait, variant=side, **held))
    return records


def measured(key: str, units: Units, name: str, resamples: int) -> dict[str, Any]:
    """One measure over the generations of one decoder, resampled by page."""
    critic, part = MEASURES[key]
    tally = critic.tally([getattr(unit, part) for unit in units] if part else list(units))
    by_page = clustered(tally, [unit.page for unit in units])
    record = asdict(estimate(critic, by_page, generator("decoder table", name, key), resamples))
    return record | {"units": len(units) - int(tally.total("excluded")), "pages": len(by_page.unit_ids)}


CORRELATED = ("entities", "linked", "conjunctions", "nats", "tfidf", "words")


def correlations(units: Units, resamples: int) -> dict[str, dict[str, Any]]:
    """Pearson correlations of Figure 4: each measure of a sentence with whether it is supported, and verified.

    Intervals resample pages. A measure without values, or without variance, has nan.
    """
    rows = np.concatenate([_rows(unit) for unit in units])
    names = (*CORRELATED, "prefix_perplexity")
    labels = [label for unit in units for label in unit.checks.labels]
    pages = [unit.page for unit in units for _ in unit.checks.labels]
    places = [np.array([i for i, page in enumerate(pages) if page == one]) for one in dict.fromkeys(pages)]
    sides = {"supported": ("supported",), "verified": ("supported", "refuted")}
    made = {}
    for side, kinds in sides.items():
        hits = np.array([label in kinds for label in labels], dtype=np.float64)
        for column, name in enumerate(names):
            made[f"{name}-{side}"] = _correlation(rows[:, column], hits, places, f"{name}-{side}", resamples)
    return made


def _rows(unit: CheckedGeneration) -> np.ndarray:
    columns = [unit.column(name) for name in CORRELATED]
    prefix = np.full(len(unit.sentences), unit.about[UNIT_COLUMNS.index("prefix_perplexity")])
    return np.stack([*columns, prefix], axis=1)


def _correlation(
    values: np.ndarray, hits: np.ndarray, places: Sequence[np.ndarray], name: str, resamples: int
) -> dict[str, Any]:
    rng = generator("correlation", name)
    draws = []
    for _ in range(resamples):
        chosen = np.concatenate([places[i] for i in rng.integers(0, len(places), len(places))])
        draws.append(pearson(values[chosen], hits[chosen]))
    kept = [draw for draw in draws if not math.isnan(draw)]
    low, high = np.quantile(kept, [0.025, 0.975]).tolist() if kept else (math.nan, math.nan)
    excluded = int(np.isnan(values).sum())
    return {
        "value": pearson(values, hits),
        "low": low,
        "high": high,
        "units": len(values) - excluded,
        "excluded": excluded,
    }


def pearson(values: np.ndarray, hits: np.ndarray) -> float:
    r"""$r = \frac{\sum (x - \bar x)(y - \bar y)}{\sqrt{\sum (x - \bar x)^2 \sum (y - \bar y)^2}}$; rows with nan left out."""
    kept = ~np.isnan(values)
    x, y = values[kept] - values[kept].mean() if kept.any() else values[kept], hits[kept]
    y = y - y.mean() if len(y) else y
    scale = math.sqrt(float(x @ x) * float(y @ y))
    return float(x @ y) / scale if scale > 0 else math.nan


def decoders(*, texts: Readout, correlations: Sequence[str] = (), resamples: int = 500) -> list[Record]:
    """Every measure of every decoder (Tables 1, 3 and 4).

    Args:
        correlations: decoders whose sentences are pooled for Figure 4; none leaves it out.
    """
    return decoder_records(generations_from_readout(texts), corpus="", correlated=correlations, resamples=resamples)


def sheet(*, texts: Readout, prefixes: int) -> list[Record]:
    """The sheet that people fill in (section 6), of the first ``prefixes`` prefixes, with exact repeats by decoder."""
    return [sheet_record(generations_from_readout(texts), corpus="", sheet=AnnotationSheet(prefixes))]


def checker(*, texts: Readout) -> list[Record]:
    """The checker's labels against known ones: accuracy, and precision and recall of each label."""
    return accuracy_records(generations_from_readout(texts), corpus="")


def corrected(*, train: Readout, texts: Readout, variant: str, resamples: int = 500) -> list[Record]:
    """Supported sentences per generation, corrected for the checker's errors on the known labels of ``train``."""
    known, units = generations_from_readout(train), generations_from_readout(texts)
    return corrected_records(units, known, corpus="", variant=variant, resamples=resamples)
