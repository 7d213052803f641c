"""Correlation with people: how any scorer's values go with people's marks of texts, and all of them combined (lapata2005 section 5.2).

Texts of one source (summaries of one article) are one cluster, resampled and exchanged whole. How the paper combined its models
(selection, coefficients, result) is lost; the stepwise procedure here is our choice.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, compress
from typing import Any

import numpy as np

from longform.errors import BadInput
from longform.evaluation import agreement
from longform.evaluation.agreement import clustered_interval, correlate
from longform.results import Record
from longform.statistics.intervals import percentile_interval
from longform.statistics.random_streams import generator

ENTER, REMOVE = 0.05, 0.10  # p-values to enter and to leave; the usual defaults, ours
FITTED_SHARE = 2 / 3  # of the clusters
RESAMPLES = 1000
NAME = "human ratings"
Columns = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class LinearModel:
    """An ordinary least squares fit on the predictors that were kept, in order of entry; weights per standard deviation."""

    names: tuple[str, ...]
    weights: np.ndarray
    p_values: np.ndarray
    intercept: float
    centres: np.ndarray
    scales: np.ndarray

    def predict(self, columns: Mapping[str, np.ndarray]) -> np.ndarray:
        """Predicted response of each item; nan where a kept predictor is."""
        if not self.names:
            return np.full(len(next(iter(columns.values()))), self.intercept)
        table = np.stack(
            [np.asarray(columns[name], dtype=np.float64) for name in self.names], axis=1
        )
        return (table - self.centres) / self.scales @ self.weights + self.intercept


def stepwise(columns: Mapping[str, np.ndarray], response: np.ndarray) -> LinearModel:
    """Forward-backward selection: the predictor with the least p below ``ENTER`` comes in, any above ``REMOVE`` goes out.

    Items with a nan anywhere are left out. A constant predictor never enters.

    Raises BadInput: fewer than four items are complete, or the response is constant.
    """
    table = np.stack([np.asarray(values, dtype=np.float64) for values in columns.values()], axis=1)
    response = np.asarray(response, dtype=np.float64)
    complete = ~np.isnan(table).any(axis=1) & ~np.isnan(response)
    table, response = table[complete], response[complete]
    if len(response) < 4 or np.ptp(response) == 0:
        raise BadInput(
            f"stepwise: {len(response)} complete items, or all of one mark; give 4 or more rated items"
        )
    centres, scales = table.mean(axis=0), table.std(axis=0)
    usable = [j for j in range(table.shape[1]) if scales[j] > 0]
    scaled = (table - centres) / np.where(scales > 0, scales, 1.0)
    kept: list[int] = []
    for _ in range(2 * len(usable) ** 2 + 1):
        outside = [j for j in usable if j not in kept and len(kept) + 3 < len(response)]
        offers = {j: least_squares(scaled[:, [*kept, j]], response)[1][-1] for j in outside}
        best = min(offers, key=offers.__getitem__, default=None)
        if best is None or not offers[best] < ENTER:
            break
        kept.append(best)
        while len(kept) > 1:
            leaving = least_squares(scaled[:, kept], response)[1][1:]
            if leaving.max() <= REMOVE:
                break
            kept.pop(int(leaving.argmax()))
    weights, p_values = least_squares(scaled[:, kept], response)
    names = tuple(list(columns)[j] for j in kept)
    return LinearModel(
        names, weights[1:], p_values[1:], float(weights[0]), centres[kept], scales[kept]
    )


def least_squares(table: np.ndarray, response: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weights, the intercept first, and two-tailed p-values; nan where predictors depend on each other or are too many."""
    from statsmodels.regression.linear_model import OLS  # a second to import

    design = np.column_stack([np.ones(len(response)), table])
    if np.linalg.matrix_rank(design) < design.shape[1] or len(response) <= design.shape[1]:
        return np.linalg.lstsq(design, response, rcond=None)[0], np.full(design.shape[1], math.nan)
    fitted = OLS(response, design).fit()
    return fitted.params, fitted.pvalues


def rating_records(
    columns: Columns,
    marks: np.ndarray,
    clusters: Sequence,
    systems: Sequence = (),
    told: Any = None,
    name: str = NAME,
) -> list[Record]:
    """Records of scorers' values, already there, against people's marks.

    Args:
        columns, marks: float64 (texts,) by scorer, and (texts, raters), nan where there is none.
        clusters, systems: the source of each text, and who wrote it; no systems where they are unknown.
        told: direction and signature by scorer; higher is better where there is none.

    Returns:
        ``pearson`` and ``spearman`` over texts (``task`` text) and over systems' means (``task`` system); ``intercorrelation``
        of two scorers; ``pearson_difference`` of two scorers (``critic`` minus ``variant``), absolute correlations turned as
        each scorer says; ``rater_agreement``, leave one out.
    """
    told, seen = told or {}, (~np.isnan(marks)).sum(axis=1)
    people = np.divide(
        np.nansum(marks, axis=1), seen, out=np.full(len(marks), np.nan), where=seen > 0
    )
    records = []
    for key, values in columns.items():
        better, label = told.get(key, ("higher", ""))
        for kind in agreement.KINDS:
            found = correlate(kind, values, people)
            low, high = clustered_interval(
                kind, values, people, clusters, generator(name, key, kind), RESAMPLES
            )
            records.append(
                _record(
                    key,
                    kind,
                    found,
                    task="text",
                    low=low,
                    high=high,
                    better=better,
                    signature=label,
                )
            )
            if len(set(systems)) > 2:
                kept = ~np.isnan(values + people)
                places = np.unique(np.asarray(systems)[kept], return_inverse=True)[1]
                means = [
                    np.bincount(places, side[kept]) / np.bincount(places)
                    for side in (values, people)
                ]
                found = correlate(kind, *means)
                records.append(
                    _record(key, kind, found, task="system", better=better, signature=label)
                )
    for one, other in combinations(columns, 2):
        pair, rng = (columns[one], columns[other]), generator(name, one, other, "intercorrelation")
        low, high = clustered_interval("pearson", *pair, clusters, rng, RESAMPLES)
        records.append(
            _record(
                other,
                "intercorrelation",
                correlate("pearson", *pair),
                variant=one,
                low=low,
                high=high,
            )
        )
        turned = {
            key: columns[key] * (1 if told.get(key, ("higher",))[0] == "higher" else -1)
            for key in (one, other)
        }
        records.append(_difference(one, other, turned, people, clusters, name))
    if marks.shape[1] > 1:
        agreed = agreement.leave_one_out(marks.T, generator(name, "agreement"), resamples=RESAMPLES)
        fields: dict[str, Any] = {
            "value": agreed.value,
            "low": agreed.low,
            "high": agreed.high,
            "units": agreed.raters,
        }
        records.append(
            Record("raters", "rater_agreement", **fields, excluded=agreed.excluded, better="higher")
        )
    return records


def _record(critic: str, metric: str, found: agreement.Correlation, **fields: Any) -> Record:
    shown = {name: getattr(found, name) for name in ("value", "low", "high", "excluded", "p_value")}
    return Record(critic, metric, **{**shown, "units": found.items, **fields})


def _difference(
    one: str, other: str, turned: Columns, people: np.ndarray, clusters: Sequence, name: str
) -> Record:
    """First minus second over the texts that both score; the interval resamples clusters."""
    kept = ~np.isnan(turned[one] + turned[other] + people)
    sides, rated = (turned[one][kept], turned[other][kept]), people[kept]
    names, places = np.unique(np.asarray(clusters)[kept], return_inverse=True)
    gaps = [correlate("pearson", side, rated).value for side in sides]
    draws = [np.zeros(0)]
    if len(names):
        rng = generator(name, one, other, "difference")
        for counts in agreement.clustered_counts(places, len(names), rng, RESAMPLES):
            draws.append(
                np.subtract(
                    *(agreement.weighted_values("pearson", side, rated, counts) for side in sides)
                )
            )
    low, high = percentile_interval(np.concatenate(draws))
    rng = generator(name, one, other, "permutation")
    p_value = agreement.compare_correlations(*sides, rated, places.tolist(), rng)
    counted: dict[str, Any] = {
        "units": int(kept.sum()),
        "excluded": int((~kept).sum()),
        "paired": True,
    }
    value = gaps[0] - gaps[1]
    return Record(
        one,
        "pearson_difference",
        variant=other,
        value=value,
        low=low,
        high=high,
        p_value=p_value,
        **counted,
    )


def combined_scorers(
    columns: Columns, people: np.ndarray, clusters: Sequence, name: str = NAME
) -> list[Record]:
    """The scorers combined by stepwise regression on two thirds of the clusters, judged on the others (lapata2005 section 5.2).

    ``held_out_correlation`` of ``combined`` and of the best single scorer of the fitted part, and a ``weight`` per standard
    deviation of every scorer that was kept. Intervals resample clusters.

    Raises BadInput: fewer than two clusters.
    """
    names, rng = list(dict.fromkeys(clusters)), generator(name, "regression")
    if len(names) < 2:
        raise BadInput(
            f"combined model: {len(names)} clusters, at least two are needed to hold one out"
        )
    cut = min(max(1, round(FITTED_SHARE * len(names))), len(names) - 1)
    chosen = {names[i] for i in rng.permutation(len(names))[:cut]}
    inside = np.array([cluster in chosen for cluster in clusters])
    fitted, others = (
        {key: np.asarray(v)[part] for key, v in columns.items()} for part in (inside, ~inside)
    )
    model, items = stepwise(fitted, people[inside]), int(inside.sum())
    single = {
        key: abs(correlate("pearson", values, people[inside]).value)
        for key, values in fitted.items()
    }
    best = max(single, key=lambda key: -1.0 if math.isnan(single[key]) else single[key])
    left, records = list(compress(clusters, ~inside)), []
    for critic, values in (("combined", model.predict(others)), (best, others[best])):
        low, high = clustered_interval("pearson", values, people[~inside], left, rng, RESAMPLES)
        held = correlate("pearson", values, people[~inside])
        records.append(
            _record(
                critic,
                "held_out_correlation",
                held,
                low=low,
                high=high,
                details={"fitted_on": items},
            )
        )
    weights = zip(model.names, model.weights, model.p_values, strict=True)
    return records + [
        Record(n, "weight", value=float(w), p_value=float(p), units=items) for n, w, p in weights
    ]
