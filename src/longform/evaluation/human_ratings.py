"""Correlation of scorers' values with people's ratings of texts.

Each scorer by itself, and all of them combined (lapata2005 section 5.2). Texts of one source
(summaries of one article) are one cluster, resampled and exchanged whole. How the paper combined
its models (selection, coefficients, result) is lost; the stepwise procedure here is our choice.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, compress
from typing import Any

import numpy as np

from longform.errors import InputError, counted
from longform.evaluation import agreement
from longform.evaluation.agreement import Correlation, clustered_interval, correlate
from longform.results import Record
from longform.statistics.intervals import percentile_interval
from longform.statistics.random_streams import generator

ENTER, REMOVE = 0.05, 0.10  # p-values to enter and to leave; the usual defaults, ours
FITTED_SHARE = 2 / 3  # of the clusters
RESAMPLES = 1000
FEWEST_ITEMS = 4  # complete items below which nothing is regressed
NAME = "human ratings"
Columns = Mapping[str, np.ndarray]
Direction = tuple[str, str]  # which values are better ("higher", ...), the scorer's signature
UNKNOWN: Direction = ("higher", "")  # where a scorer says neither


@dataclass(frozen=True)
class LinearModel:
    """An ordinary least squares fit on the predictors that were selected, in order of entry.

    Attributes:
        names: of the predictors.
        weights: weight of each per standard deviation, (predictors,).
        p_values: two-tailed p-value of each, (predictors,).
        intercept: the mean response.
        centres, scales: mean and standard deviation of each predictor, (predictors,).
    """

    names: tuple[str, ...]
    weights: np.ndarray
    p_values: np.ndarray
    intercept: float
    centres: np.ndarray
    scales: np.ndarray

    def predict(self, columns: Columns) -> np.ndarray:
        """Predicted response of each item; nan where a selected predictor is."""
        if not self.names:
            items = len(next(iter(columns.values())))
            return np.full(items, self.intercept)
        table = _table(columns, self.names)
        return (table - self.centres) / self.scales @ self.weights + self.intercept


def _table(columns: Columns, names: Sequence[str]) -> np.ndarray:
    """Some columns side by side, float64 (items, names)."""
    return np.stack([np.asarray(columns[name], dtype=np.float64) for name in names], axis=1)


def stepwise(columns: Columns, response: np.ndarray) -> LinearModel:
    """Fit a linear model by forward-backward selection of predictors.

    The predictor with the least p below ``ENTER`` enters, and any above ``REMOVE`` leaves.

    Args:
        columns: predictors by name, (items,); a constant one never enters.
        response: (items,); items with a nan or an infinity anywhere are left out.

    Raises:
        InputError: fewer than four items are complete, or the response is constant.
    """
    names = list(columns)
    table = _table(columns, names)
    response = np.asarray(response, dtype=np.float64)
    complete = np.isfinite(table).all(axis=1) & np.isfinite(response)
    table = table[complete]
    response = response[complete]
    if len(response) < FEWEST_ITEMS or np.ptp(response) == 0:
        raise InputError(
            f"stepwise: {counted(len(response), 'complete item')}, or all of one rating; "
            "give 4 or more rated items"
        )
    # 1. Predictors in standard deviations.
    centres = table.mean(axis=0)
    scales = table.std(axis=0)
    usable = np.flatnonzero(scales > 0).tolist()
    scaled = (table - centres) / np.where(scales > 0, scales, 1.0)
    # 2. One enters, and others may leave, until none enters; the bound ends endless cycles.
    selected: list[int] = []
    for _ in range(2 * len(usable) ** 2 + 1):
        candidate = _best_candidate(scaled, response, usable, selected)
        if candidate is None:
            break
        selected.append(candidate)
        while len(selected) > 1:
            p_values = least_squares(scaled[:, selected], response)[1][1:]
            if p_values.max() <= REMOVE:
                break
            selected.pop(int(p_values.argmax()))
    # 3. The fit on those that stayed.
    weights, p_values = least_squares(scaled[:, selected], response)
    return LinearModel(
        names=tuple(names[column] for column in selected),
        weights=weights[1:],
        p_values=p_values[1:],
        intercept=float(weights[0]),
        centres=centres[selected],
        scales=scales[selected],
    )


def _best_candidate(
    scaled: np.ndarray, response: np.ndarray, usable: Sequence[int], selected: Sequence[int]
) -> int | None:
    """The unselected predictor of least p beside the selected ones; None if none is significant.

    Args:
        scaled: predictors, (items, predictors).
        response: (items,).
        usable: columns of the predictors that vary.
        selected: columns of the selected ones.
    """
    # No more than weights that the items can determine, with the intercept and the new one.
    if len(selected) + 3 >= len(response):
        return None
    p_values = {}
    for column in usable:
        if column not in selected:
            _, p_of_fit = least_squares(scaled[:, [*selected, column]], response)
            p_values[column] = p_of_fit[-1]
    best = min(p_values, key=p_values.__getitem__, default=None)
    if best is None or not p_values[best] < ENTER:
        return None
    return best


def least_squares(table: np.ndarray, response: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """An ordinary least squares fit with an intercept.

    Args:
        table: predictors, (items, predictors).
        response: (items,).

    Returns:
        Weights, the intercept first, and their two-tailed p-values, which are nan where predictors
        depend on each other or are too many.
    """
    from statsmodels.regression.linear_model import OLS  # a second to import

    design = np.column_stack([np.ones(len(response)), table])
    weights = design.shape[1]
    if np.linalg.matrix_rank(design) < weights or len(response) <= weights:
        solution = np.linalg.lstsq(design, response, rcond=None)[0]
        return solution, np.full(weights, math.nan)
    fitted = OLS(response, design).fit()
    return fitted.params, fitted.pvalues


def rating_records(
    columns: Columns,
    ratings: np.ndarray,
    clusters: Sequence,
    systems: Sequence = (),
    directions: Mapping[str, Direction] | None = None,
    name: str = NAME,
) -> list[Record]:
    """Correlate scorers' values with people's ratings.

    Args:
        columns: scorer -> its values, float64 (texts,), nan where there is none.
        ratings: people's ratings, float64 (texts, raters), nan where there is none.
        clusters: the source of each text.
        systems: who wrote each text; none where they are unknown.
        directions: scorer -> which values are better, and its signature; by default higher ones.
        name: names the random streams.

    Returns:
        ``pearson`` and ``spearman`` over texts (``task`` text) and over systems' means (``task``
        system); ``intercorrelation`` of two scorers; ``pearson_difference`` of two scorers
        (``critic`` minus ``variant``), the sign changed of scorers of which lower is better;
        ``rater_agreement``, leave one out.
    """
    directions = directions or {}
    people = _mean_ratings(ratings)
    records = []
    # 1. Each scorer by itself.
    for scorer, values in columns.items():
        better, signature = directions.get(scorer, UNKNOWN)
        for kind in agreement.KINDS:
            rng = generator(name, scorer, kind)
            low, high = clustered_interval(kind, values, people, clusters, rng, RESAMPLES)
            fields = {"better": better, "signature": signature}
            over_texts = correlate(kind, values, people)
            records.append(
                _record(scorer, kind, over_texts, task="text", low=low, high=high, **fields)
            )
            if len(set(systems)) > 2:
                over_systems = correlate(kind, *_means_by_system(systems, values, people))
                records.append(_record(scorer, kind, over_systems, task="system", **fields))
    # 2. Two scorers with each other, and the difference of their correlations with people.
    for first, second in combinations(columns, 2):
        records.append(_intercorrelation(first, second, columns, clusters, name))
        signed = {}  # higher is better
        for scorer in (first, second):
            better, _ = directions.get(scorer, UNKNOWN)
            signed[scorer] = columns[scorer] * (1 if better == "higher" else -1)
        records.append(_difference(first, second, signed, people, clusters, name))
    # 3. People with each other.
    if ratings.shape[1] > 1:
        rng = generator(name, "agreement")
        raters = agreement.leave_one_out(ratings.T, rng, resamples=RESAMPLES)
        records.append(
            Record(
                "raters",
                "rater_agreement",
                value=raters.value,
                low=raters.low,
                high=raters.high,
                units=raters.raters,
                excluded=raters.excluded,
                better="higher",
            )
        )
    return records


def _mean_ratings(ratings: np.ndarray) -> np.ndarray:
    """Mean over raters, (texts,); nan where nobody rated a text."""
    raters = (~np.isnan(ratings)).sum(axis=1)
    unrated = np.full(len(ratings), np.nan)
    return np.divide(np.nansum(ratings, axis=1), raters, out=unrated, where=raters > 0)


def _means_by_system(
    systems: Sequence, values: np.ndarray, people: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Mean value and mean rating of each system, (systems,), over texts that have both."""
    is_complete = ~np.isnan(values + people)
    _, system_of_text = np.unique(np.asarray(systems)[is_complete], return_inverse=True)
    texts = np.bincount(system_of_text)
    value_sums = np.bincount(system_of_text, values[is_complete])
    rating_sums = np.bincount(system_of_text, people[is_complete])
    return value_sums / texts, rating_sums / texts


def _record(critic: str, metric: str, correlation: Correlation, **fields: Any) -> Record:
    """The record of a correlation; ``fields`` override those of the correlation."""
    own_fields: dict[str, Any] = {
        "value": correlation.value,
        "low": correlation.low,
        "high": correlation.high,
        "excluded": correlation.excluded,
        "p_value": correlation.p_value,
        "units": correlation.items,
    }
    return Record(critic, metric, **{**own_fields, **fields})


def _intercorrelation(
    first: str, second: str, columns: Columns, clusters: Sequence, name: str
) -> Record:
    """The record of the Pearson correlation of two scorers' values."""
    rng = generator(name, first, second, "intercorrelation")
    x = columns[first]
    y = columns[second]
    low, high = clustered_interval("pearson", x, y, clusters, rng, RESAMPLES)
    correlation = correlate("pearson", x, y)
    return _record(second, "intercorrelation", correlation, variant=first, low=low, high=high)


def _difference(
    first: str, second: str, signed: Columns, people: np.ndarray, clusters: Sequence, name: str
) -> Record:
    """The record of the difference of two scorers' Pearson correlations with people.

    It is first minus second over the texts that both score; the interval resamples clusters.

    Args:
        first, second: the scorers.
        signed: scorer -> its values, of which higher is better, (texts,).
        people: mean rating of each text, (texts,).
        clusters: the source of each text.
        name: names the random streams.
    """
    is_complete = ~np.isnan(signed[first] + signed[second] + people)
    x = signed[first][is_complete]
    y = signed[second][is_complete]
    rated = people[is_complete]
    names, cluster_of_text = np.unique(np.asarray(clusters)[is_complete], return_inverse=True)
    value = correlate("pearson", x, rated).value - correlate("pearson", y, rated).value
    # 1. The interval.
    draws = [np.zeros(0)]
    if len(names):
        rng = generator(name, first, second, "difference")
        for counts in agreement.clustered_counts(cluster_of_text, len(names), rng, RESAMPLES):
            of_first = agreement.weighted_values("pearson", x, rated, counts)
            of_second = agreement.weighted_values("pearson", y, rated, counts)
            draws.append(of_first - of_second)
    low, high = percentile_interval(np.concatenate(draws))
    # 2. The test.
    rng = generator(name, first, second, "permutation")
    p_value = agreement.compare_correlations(x, y, rated, cluster_of_text.tolist(), rng)
    return Record(
        first,
        "pearson_difference",
        variant=second,
        value=value,
        low=low,
        high=high,
        p_value=p_value,
        units=int(is_complete.sum()),
        excluded=int((~is_complete).sum()),
        paired=True,
    )


def combined_scorers(
    columns: Columns, people: np.ndarray, clusters: Sequence, name: str = NAME
) -> list[Record]:
    """Combine the scorers by stepwise regression (lapata2005 section 5.2).

    The regression is fitted on two thirds of the clusters and tested on the others.

    Args:
        columns: scorer -> its values, float64 (texts,).
        people: mean rating of each text, (texts,).
        clusters: the source of each text.
        name: names the random stream.

    Returns:
        ``held_out_correlation`` of ``combined`` and of the scorer that was best on the fitted part,
        with intervals that resample clusters, and a ``weight`` per standard deviation of every
        scorer that was selected.

    Raises:
        InputError: fewer than two clusters, or too few texts to fit.
    """
    # 1. Which clusters are fitted.
    names = list(dict.fromkeys(clusters))
    if len(names) < 2:
        raise InputError(
            f"combined model: {counted(len(names), 'cluster')}, at least two are needed to hold "
            "one out"
        )
    rng = generator(name, "regression")
    cut = round(FITTED_SHARE * len(names))
    fitted_names = {names[i] for i in rng.permutation(len(names))[:cut]}
    is_fitted = np.array([cluster in fitted_names for cluster in clusters])
    fitted_columns = {}
    other_columns = {}
    for scorer, values in columns.items():
        fitted_columns[scorer] = np.asarray(values)[is_fitted]
        other_columns[scorer] = np.asarray(values)[~is_fitted]
    # 2. The regression, and the best single scorer.
    fitted_people = people[is_fitted]
    model = stepwise(fitted_columns, fitted_people)
    best = _best_scorer(fitted_columns, fitted_people)
    # 3. Both on the other clusters.
    items = int(is_fitted.sum())
    other_people = people[~is_fitted]
    other_clusters = list(compress(clusters, ~is_fitted))
    tested = (("combined", model.predict(other_columns)), (best, other_columns[best]))
    records = []
    for critic, values in tested:
        low, high = clustered_interval(
            "pearson", values, other_people, other_clusters, rng, RESAMPLES
        )
        records.append(
            _record(
                critic,
                "held_out_correlation",
                correlate("pearson", values, other_people),
                low=low,
                high=high,
                details={"fitted_on": items},
            )
        )
    # 4. The weight of each selected scorer.
    for scorer, weight, p_value in zip(model.names, model.weights, model.p_values, strict=True):
        records.append(
            Record(scorer, "weight", value=float(weight), p_value=float(p_value), units=items)
        )
    return records


def _best_scorer(columns: Columns, people: np.ndarray) -> str:
    """The scorer of the largest absolute correlation; one without any comes last."""
    sizes = {}
    for scorer, values in columns.items():
        size = abs(correlate("pearson", values, people).value)
        sizes[scorer] = -1.0 if math.isnan(size) else size
    return max(sizes, key=sizes.__getitem__)
