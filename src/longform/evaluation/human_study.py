r"""What annotators said of each system: percentage coherent, agreement, attention checks (deng2022 section 4, appendix H).

Reads rows as the annotation pages export them; an annotator who fails the attention checks is set aside, and named. Systems
are compared by a logistic mixed model with annotators and articles as crossed random effects,
$\operatorname{logit} P(y_{ai} = 1) = \beta_{s(i)} + u_a + v_i$ with $u_a \sim N(0, \sigma_u^2)$, $v_i \sim N(0, \sigma_v^2)$,
by mean-field variational Bayes of statsmodels; a normal prior on $\beta$ keeps it finite where a system gets one answer only.
Mean-field intervals are too narrow: intervals that resample articles belong beside them, and a p-value taken from them
rejects a true null in a third of small studies, so none is given.
"""

import math
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from longform.documents import Predictions, grouped
from longform.errors import BadInput
from longform.evaluation.agreement import cohen_kappa, krippendorff_alpha
from longform.statistics.intervals import NORMAL_95, wilson
from longform.statistics.sufficient_statistics import SufficientStatistics
from longform.statistics.sum_scored import SumScored

LEAST_CHECKS = 0.75  # ours: share of attention checks that an annotator has to pass
COHERENT, _ = VERDICTS = ("coherent", "incoherent")  # deng2022 Figure 15


@dataclass(frozen=True)
class Judged:
    """One article with everybody's answers."""

    unit_id: str
    source: str  # the system that wrote it
    split: str
    verdicts: Mapping[str, bool]  # coherent or not, by annotators who are kept
    labels: Mapping[str, tuple[str, ...]]  # the section types that they chose
    gold: tuple[str, ...] = ()  # section types and verdict that simulated annotators err from
    dropped: tuple[str, ...] = ()  # annotators who failed the attention checks
    simulated: bool = False


def judged_items(
    rows: Iterable[Mapping[str, Any]], *, splits: Mapping[str, str], simulated: bool
) -> list[Judged]:
    """Items of the testing phase from exported rows, in order of appearance; earlier answers and checks left out.

    A blank answer, which a spreadsheet may hold, is none: a verdict is missing, and so are all of an annotator's
    labels of an article where one is.

    Raises BadInput: a verdict that is neither coherent nor incoherent.
    """
    kept = [
        row for row in rows if row["phase"] == "testing" and str(row["last"]) == "True"
    ]  # a CSV file holds words
    checks, answers = (
        [row for row in kept if (str(row["check"]) == "True") == asked] for asked in (True, False)
    )
    failed, judged = failing(checks), []
    for item, held in grouped(answers, lambda row: row["item"]).items():
        labels: dict[str, dict[int, str]] = {}
        verdicts: dict[str, bool] = {}
        gold: dict[int, str] = {}
        for row in held:
            verdict = row["question"] == "coherent"
            place = (
                10**6 if verdict else int(row["question"].removeprefix("section_"))
            )  # the verdict comes last
            if row["gold"]:
                gold[place] = row["gold"]
            if row["annotator"] in failed:
                continue
            if not verdict:
                labels.setdefault(row["annotator"], {})[place] = row["answer"]
            elif row["answer"] in VERDICTS:
                verdicts[row["annotator"]] = row["answer"] == COHERENT
            elif row["answer"].strip():
                raise BadInput(
                    f"item {item!r}: verdict {row['answer']!r}; allowed are {', '.join(VERDICTS)}; fix it"
                )
        chains = {
            name: tuple(own[i] for i in sorted(own))
            for name, own in labels.items()
            if all(label.strip() for label in own.values())
        }
        truth = tuple(gold[i] for i in sorted(gold))
        split = splits.get(item, "test")
        judged.append(
            Judged(item, held[0]["source"], split, verdicts, chains, truth, failed, simulated)
        )
    return judged


def failing(checks: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Annotators who answered fewer than ``LEAST_CHECKS`` of the attention checks' questions as told, sorted."""
    rows = grouped(checks, lambda row: row["annotator"])
    marks = {name: [row["answer"] == row["gold"] for row in own] for name, own in rows.items()}
    return tuple(sorted(name for name, own in marks.items() if sum(own) < LEAST_CHECKS * len(own)))


def units_from_predictions(predictions: Predictions) -> list[Judged]:
    """Judged articles of ``inference.simulated_annotators``; the checks of all systems decide who is kept."""
    names = ("annotator", "question", "answer", "gold")
    rows = []
    for item, _, source, check, *texts in predictions.rows("source", "check", *names):
        fixed = {
            "item": item,
            "source": str(source),
            "phase": "testing",
            "last": True,
            "check": bool(check),
        }
        told = zip(*(column.tolist() for column in texts), strict=True)
        rows += [{**fixed, **dict(zip(names, row, strict=True))} for row in told]
    simulated = str(predictions.arrays["simulated_names"][0]) == "True"
    return judged_items(
        rows,
        splits=dict(zip(predictions.unit_ids, predictions.splits, strict=True)),
        simulated=simulated,
    )


@dataclass(frozen=True)
class CoherentShare(SumScored, better="higher", share=True, divided=("coherent", "judgements")):
    """Share of judgements that call the article coherent (Table 4, column Human); the interval resamples articles."""

    def sufficient_statistics(self, units: Sequence[Judged]) -> SufficientStatistics:
        rows = [(sum(u.verdicts.values()), len(u.verdicts), not u.verdicts) for u in units]
        return SufficientStatistics.of(units, ("coherent", "judgements", "excluded"), rows)

    def describe(self, units: Sequence[Judged]) -> dict[str, Any]:
        """Everything that the study's tables need: Wilson interval, agreement, each annotator, organisations, answers."""
        statistics = self.sufficient_statistics(units)
        counts = int(statistics.total("coherent")), int(statistics.total("judgements"))
        names, ratings = rating_matrix(units)
        votes = np.array([np.nanmean(column) for column in ratings.T if not np.isnan(column).all()])
        decided = votes[votes != 0.5]
        return {
            "simulated": any(unit.simulated for unit in units),
            "wilson": list(wilson(*counts)),
            "judgements": counts[1],
            "majority": float((decided > 0.5).mean()) if len(decided) else None,  # ties left out
            "agreement": agreement(names, ratings),
            "dropped": sorted({name for unit in units for name in unit.dropped}),
            "known": known(units),
            "incoherent": organisations(units),
            "annotators": names,
            "unit_ids": [unit.unit_id for unit in units],
            "answers": [
                [None if math.isnan(v) else int(v) for v in row] for row in ratings.tolist()
            ],
        }


def rating_matrix(units: Sequence[Judged]) -> tuple[list[str], np.ndarray]:
    """Annotators, and float64 (annotators, articles): 1 coherent, 0 not, nan unseen."""
    names = sorted({name for unit in units for name in unit.verdicts})
    return names, np.array(
        [[float(u.verdicts.get(n, math.nan)) for u in units] for n in names]
    ).reshape(-1, len(units))


def agreement(names: Sequence[str], ratings: np.ndarray) -> dict[str, Any]:
    """Krippendorff's nominal alpha and every pair's kappa; None where undefined (one value only, nothing shared)."""
    if len(names) < 2 or not ((~np.isnan(ratings)).sum(axis=0) >= 2).any():
        return {"alpha": None, "kappa": {}}
    pairs = {}
    for (i, first), (j, second) in combinations(enumerate(names), 2):
        both = ~np.isnan(ratings[i]) & ~np.isnan(ratings[j])
        value = cohen_kappa(ratings[i][both], ratings[j][both]) if both.any() else math.nan
        pairs[f"{first} {second}"] = None if math.isnan(value) else value
    alpha = krippendorff_alpha(ratings, "nominal")
    return {"alpha": None if math.isnan(alpha) else alpha, "kappa": pairs}


def known(units: Sequence[Judged]) -> dict[str, Any]:
    """How simulated annotators did against what they err from: true share coherent, each one's measured error rates."""
    told = [unit for unit in units if unit.gold]
    if not told:
        return {}
    rates = {}
    for name in sorted({name for unit in told for name in unit.labels}):
        own = [unit for unit in told if name in unit.labels]
        wrong = [
            a != b for unit in own for a, b in zip(unit.labels[name], unit.gold[:-1], strict=True)
        ]
        flips = sum(unit.verdicts[name] != (unit.gold[-1] == COHERENT) for unit in own)
        shares = {"confusion": sum(wrong) / len(wrong), "flips": flips / len(own)}
        rates[name] = {**shares, "sections": len(wrong), "articles": len(own)}
    return {"coherent": sum(unit.gold[-1] == COHERENT for unit in told) / len(told), "rates": rates}


def organisations(units: Sequence[Judged]) -> list[list[Any]]:
    """[section types as labelled, judgements] of articles called incoherent, most common first (Table 18)."""
    said = (
        (unit, name) for unit in units for name, coherent in unit.verdicts.items() if not coherent
    )
    found = Counter(unit.labels.get(name, ()) for unit, name in said)
    return [
        [list(chain), count]
        for chain, count in sorted(found.items(), key=lambda held: (-held[1], held[0]))
    ]


def expected_share(coherent: float, flips: Sequence[float]) -> float:
    """Mean share called coherent by annotators with these error rates: $p (1 - f) + (1 - p) f$."""
    return float(np.mean([coherent * (1 - f) + (1 - coherent) * f for f in flips]))


def expected_alpha(coherent: float, flips: Sequence[float]) -> float:
    r"""Nominal alpha of independent annotators over many articles, $1 - D_o / D_e$.

    $D_o$ is the mean over pairs of $f_i (1 - f_j) + f_j (1 - f_i)$, and $D_e = 2 q (1 - q)$ for the share $q$ called coherent.
    """
    share = expected_share(coherent, flips)
    apart = float(np.mean([a * (1 - b) + b * (1 - a) for a, b in combinations(flips, 2)]))
    return 1 - apart / (2 * share * (1 - share)) if 0 < share < 1 else math.nan


PRIOR_SPREAD = 2.0  # statsmodels' default for a fixed effect, on the logit scale
VARIANCE_SPREAD = 1.0  # statsmodels' default for the logarithm of a standard deviation
START = 0.6  # ours: every posterior spread at the start, so that no seed is needed
STEPS = 2000  # ours: of the optimiser
SIGNATURE = "BinomialBayesMixedGLM.fit_vb (statsmodels), logit; mean-field intervals, too narrow"


@dataclass(frozen=True)
class Effect:
    """A fixed effect (logit scale) or a random effect's standard deviation, with its 95 % interval."""

    name: str
    value: float
    low: float
    high: float


def mixed_effects(
    verdicts: Sequence[int], systems: Sequence[str], annotators: Sequence[str], items: Sequence[str]
) -> tuple[list[Effect], list[Effect]]:
    """Fixed effects (the first system, then the others' differences from it) and standard deviations of judgements, one entry each.

    Raises BadInput: lengths differ, fewer than two systems or annotators, one verdict only, or the fit did not converge.
    """
    from statsmodels.genmod.bayes_mixed_glm import BinomialBayesMixedGLM

    names = list(dict.fromkeys(systems))
    if len({len(verdicts), len(systems), len(annotators), len(items)}) > 1:
        raise BadInput(
            "mixed effects: verdicts, systems, annotators and items differ in length; give one of each"
        )
    if len(names) < 2 or len(set(annotators)) < 2 or set(verdicts) != {0, 1}:
        got = f"systems {names}, annotators {sorted(set(annotators))}, verdicts {sorted(set(verdicts))}"
        allowed = "two systems and two annotators or more, and verdicts 0 and 1, both of them there"
        raise BadInput(f"mixed effects: {got}; allowed are {allowed}")
    fixed = np.array(
        [[1.0, *(system == name for name in names[1:])] for system in systems], dtype=np.float64
    )
    blocks = []
    for levels in (annotators, items):
        known, places = np.unique(np.asarray(levels, dtype=np.str_), return_inverse=True)
        blocks.append(np.eye(len(known))[places])
    ident = np.repeat([0, 1], [block.shape[1] for block in blocks])
    observed = np.asarray(verdicts, dtype=np.float64)
    model = BinomialBayesMixedGLM(
        observed, fixed, np.hstack(blocks), ident, vcp_p=VARIANCE_SPREAD, fe_p=PRIOR_SPREAD
    )
    start = np.full(len(names) + 2 + len(ident), START)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what they say is in ``optim_retvals``, and raised below
        found = model.fit_vb(
            sd=start, fit_method="L-BFGS-B", minim_opts={"maxiter": STEPS, "maxfun": 2 * STEPS}
        )
    ended, spreads = found.optim_retvals, np.concatenate([found.fe_sd, found.vcp_sd, found.vc_sd])
    if not ended.success or not np.isfinite(found.params).all() or not np.isfinite(spreads).all():
        told = f"did not converge in {ended.nit} steps of {STEPS} allowed ({ended.message})"
        advice = "look for a system or annotator with one answer only, or gather more judgements"
        raise BadInput(f"mixed effects of {len(verdicts)} judgements {told}; {advice}")
    labels = [
        names[0],
        *(f"{name} minus {names[0]}" for name in names[1:]),
        "annotators",
        "articles",
    ]
    # six digits: where the search for the optimum stops differs between processors beyond them
    rows = [
        (float(f"{mean:.6g}"), float(f"{sd:.6g}"))
        for mean, sd in zip(found.params, spreads, strict=True)
    ]
    ends = [(mean, mean - NORMAL_95 * sd, mean + NORMAL_95 * sd) for mean, sd in rows]
    effects = [Effect(name, *end) for name, end in zip(labels, ends, strict=False)]
    logs = effects[len(names) :]
    spread = [
        Effect(one.name, *(float(np.exp(x)) for x in (one.value, one.low, one.high)))
        for one in logs
    ]
    return effects[: len(names)], spread
