"""Combining coherence models: stepwise multiple linear regression on some texts, judged on the others.

lapata2005 section 5.2 combines its models by multiple linear regression fitted on one part of the test summaries and
evaluated on the rest; its selection procedure, coefficients and result are lost. The procedure here is our choice.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from longform.core.documents import BadInput
from longform.evaluation.agreement import Correlation, clustered_interval, correlate

ENTER, REMOVE = 0.05, 0.10  # p-values to enter and to leave; the usual defaults, ours


@dataclass(frozen=True)
class LinearModel:
    """An ordinary least squares fit on standardised predictors.

    Attributes:
        names: predictors kept, in order of entry.
        weights, p_values: float64 (kept,), per standard deviation of the predictor.
        intercept: mean of the response.
        centres, scales: float64 (kept,), the standardisation.
    """

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
        table = np.stack([np.asarray(columns[name], dtype=np.float64) for name in self.names], axis=1)
        return (table - self.centres) / self.scales @ self.weights + self.intercept


def stepwise(
    columns: Mapping[str, np.ndarray], response: np.ndarray, enter: float = ENTER, remove: float = REMOVE
) -> LinearModel:
    """Forward-backward selection: the predictor with the least p below ``enter`` comes in, any above ``remove`` goes out.

    Items with a nan anywhere are left out. A constant predictor never enters.

    Raises:
        BadInput: no item is complete, ``remove`` is below ``enter`` (which need not end), or the response is constant.
    """
    if not 0 < enter <= remove:
        raise BadInput(f"stepwise: enter {enter}, remove {remove}; allowed is 0 < enter <= remove, or steps may cycle")
    table = np.stack([np.asarray(values, dtype=np.float64) for values in columns.values()], axis=1)
    response = np.asarray(response, dtype=np.float64)
    complete = ~np.isnan(table).any(axis=1) & ~np.isnan(response)
    table, response = table[complete], response[complete]
    if len(response) < 4 or np.ptp(response) == 0:
        raise BadInput(
            f"stepwise: {len(response)} complete items, response constant or too few; give 4 or more rated items"
        )
    centres, scales = table.mean(axis=0), table.std(axis=0)
    usable = [j for j in range(table.shape[1]) if scales[j] > 0]
    scaled = (table - centres) / np.where(scales > 0, scales, 1.0)
    kept = _select(scaled, response, usable, enter, remove)
    weights, p_values = least_squares(scaled[:, kept], response)
    names = tuple(list(columns)[j] for j in kept)
    return LinearModel(names, weights[1:], p_values[1:], float(weights[0]), centres[kept], scales[kept])


def _select(table: np.ndarray, response: np.ndarray, usable: list[int], enter: float, remove: float) -> list[int]:
    kept: list[int] = []
    for _ in range(2 * len(usable) ** 2 + 1):
        outside = [j for j in usable if j not in kept and len(kept) + 3 < len(response)]
        offers = {j: least_squares(table[:, [*kept, j]], response)[1][-1] for j in outside}
        best = min(offers, key=offers.__getitem__, default=None)
        if best is None or not offers[best] < enter:
            return kept
        kept.append(best)
        while len(kept) > 1:
            p_values = least_squares(table[:, kept], response)[1][1:]
            if p_values.max() <= remove:
                break
            kept.pop(int(p_values.argmax()))
    return kept


def least_squares(table: np.ndarray, response: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weights and two-tailed p-values of an ordinary least squares fit by statsmodels; the intercept comes first.

    p-values are nan where predictors depend on each other, or leave no degree of freedom.
    """
    from statsmodels.regression.linear_model import OLS  # a second to import

    design = np.column_stack([np.ones(len(response)), table])
    if np.linalg.matrix_rank(design) < design.shape[1] or len(response) <= design.shape[1]:
        return np.linalg.lstsq(design, response, rcond=None)[0], np.full(design.shape[1], math.nan)
    fitted = OLS(response, design).fit()
    return fitted.params, fitted.pvalues


@dataclass(frozen=True)
class HeldOutFit:
    """A combined model and its correlation with ratings that it did not see, beside the best single predictor's.

    Attributes:
        held_out, interval: of the combined model; the interval resamples clusters.
        best: the predictor with the highest absolute correlation on the fitted part.
        best_held_out, best_interval: of that predictor alone, signed as it is.
        fitted_items: items of the fitted part.
    """

    model: LinearModel
    held_out: Correlation
    interval: tuple[float, float]
    best: str
    best_held_out: Correlation
    best_interval: tuple[float, float]
    fitted_items: int


def combine(
    columns: Mapping[str, np.ndarray],
    response: np.ndarray,
    clusters: Sequence,
    rng: np.random.Generator,
    share: float = 2 / 3,
    resamples: int = 1000,
) -> HeldOutFit:
    """Fit on ``share`` of the clusters (summaries of one source stay together), correlate on the rest.

    Raises:
        BadInput: fewer than two clusters.
    """
    names = list(dict.fromkeys(clusters))
    if len(names) < 2:
        raise BadInput(f"combined model: {len(names)} clusters, at least two are needed to hold one out")
    cut = min(max(1, round(share * len(names))), len(names) - 1)
    chosen = {names[i] for i in rng.permutation(len(names))[:cut]}
    inside = np.array([cluster in chosen for cluster in clusters])
    response = np.asarray(response)
    fitted = {name: np.asarray(values)[inside] for name, values in columns.items()}
    others = {name: np.asarray(values)[~inside] for name, values in columns.items()}
    model = stepwise(fitted, response[inside])
    left = [cluster for cluster, used in zip(clusters, inside.tolist(), strict=True) if not used]

    def judged(values: np.ndarray) -> tuple[Correlation, tuple[float, float]]:
        interval = clustered_interval("pearson", values, response[~inside], left, rng, resamples)
        return correlate("pearson", values, response[~inside]), interval

    single = {name: abs(correlate("pearson", values, response[inside]).value) for name, values in fitted.items()}
    best = max(single, key=lambda name: -1.0 if math.isnan(single[name]) else single[name])
    return HeldOutFit(model, *judged(model.predict(others)), best, *judged(others[best]), int(inside.sum()))
