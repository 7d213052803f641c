r"""Annotators' judgements of articles of each system (deng2022 section 4, appendix H).

The percentage of articles called coherent, agreement, attention checks. Rows are read as the
annotation pages export them; an annotator who fails the attention checks is set aside, and named.
Systems are compared by a logistic mixed model with annotators and articles as crossed random
effects, $\operatorname{logit} P(y_{ai} = 1) = \beta_{s(i)} + u_a + v_i$ with
$u_a \sim N(0, \sigma_u^2)$, $v_i \sim N(0, \sigma_v^2)$, by mean-field variational Bayes of
statsmodels; a normal prior on $\beta$ keeps it finite where a system gets one answer only.
Mean-field intervals are too narrow: intervals that resample articles belong beside them, and a
p-value taken from them rejects a true null in a third of small studies, so none is given.
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
from longform.errors import InputError
from longform.evaluation.agreement import cohen_kappa, krippendorff_alpha
from longform.statistics.intervals import NORMAL_95, wilson
from longform.statistics.sufficient_statistics import SufficientStatistics
from longform.statistics.sum_scored import SumScored

LEAST_CHECKS = 0.75  # ours: share of attention checks that an annotator has to pass
COHERENT = "coherent"  # deng2022 Figure 15
VERDICTS = (COHERENT, "incoherent")
VERDICT_QUESTION = "coherent"  # the others are ``section_<number>``
VERDICT_NUMBER = 10**6  # it comes after the questions for sections
Row = Mapping[str, Any]  # one answer, as the annotation pages export it


@dataclass(frozen=True)
class Judged:
    """One article with the answers of all annotators.

    Attributes:
        unit_id: id of the article.
        source: the system that wrote it.
        split: its split.
        verdicts: annotator who passed the attention checks -> whether the article is coherent.
        labels: annotator -> the chosen type of each section.
        gold: right section types, then the right verdict, where annotators are simulated.
        dropped: annotators who failed the attention checks.
        simulated: whether the annotators are.
    """

    unit_id: str
    source: str
    split: str
    verdicts: Mapping[str, bool]
    labels: Mapping[str, tuple[str, ...]]
    gold: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    simulated: bool = False


def judged_items(
    rows: Iterable[Row], *, splits: Mapping[str, str], simulated: bool
) -> list[Judged]:
    """Group the answers of the testing phase by article, without the attention checks.

    A blank answer, which a spreadsheet may hold, counts as missing; with one missing label all of
    the annotator's labels of the article are left out.

    Args:
        rows: as exported; of an answer that was changed the last one counts.
        splits: article -> split; test where it has none.
        simulated: whether the annotators are.

    Raises:
        InputError: a verdict that is neither coherent nor incoherent.
    """
    # 1. Attention checks and answers of the testing phase.
    checks = []
    answers = []
    for row in rows:
        if row["phase"] != "testing" or not _is_true(row["last"]):
            continue
        if _is_true(row["check"]):
            checks.append(row)
        else:
            answers.append(row)
    failed = failing(checks)
    # 2. Every item with the answers of those who passed the checks.
    articles = []
    for item, item_rows in grouped(answers, lambda row: row["item"]).items():
        valid_rows = [row for row in item_rows if row["annotator"] not in failed]
        articles.append(
            Judged(
                unit_id=item,
                source=item_rows[0]["source"],
                split=splits.get(item, "test"),
                verdicts=_verdicts(item, valid_rows),
                labels=_labels(valid_rows),
                gold=_gold(item_rows),
                dropped=failed,
                simulated=simulated,
            )
        )
    return articles


def _is_true(value: Any) -> bool:
    """Whether a cell says True, as a value or, in a CSV file, as a word."""
    return str(value) == "True"


def _question_number(row: Row) -> int:
    """The number by which an article's questions are sorted; the verdict comes last."""
    if row["question"] == VERDICT_QUESTION:
        return VERDICT_NUMBER
    return int(row["question"].removeprefix("section_"))


def _verdicts(item: str, rows: Sequence[Row]) -> dict[str, bool]:
    """Whether each annotator called an item coherent; a blank answer is no verdict.

    Raises InputError: an unknown verdict.
    """
    verdicts = {}
    for row in rows:
        if row["question"] != VERDICT_QUESTION:
            continue
        if not row["answer"].strip():
            continue
        if row["answer"] not in VERDICTS:
            raise InputError(
                f"item {item!r}: verdict {row['answer']!r}; "
                f"allowed are {', '.join(VERDICTS)}; fix it"
            )
        verdicts[row["annotator"]] = row["answer"] == COHERENT
    return verdicts


def _labels(rows: Sequence[Row]) -> dict[str, tuple[str, ...]]:
    """The section types that each annotator chose, in the order of the sections.

    An annotator who left one blank has none.
    """
    labels = {}
    answers = [row for row in rows if row["question"] != VERDICT_QUESTION]
    for annotator, annotator_rows in grouped(answers, lambda row: row["annotator"]).items():
        chosen = _in_order(annotator_rows, "answer")
        if all(label.strip() for label in chosen):
            labels[annotator] = chosen
    return labels


def _gold(rows: Sequence[Row]) -> tuple[str, ...]:
    """The right section types and verdict, where rows have them: annotators are simulated."""
    return _in_order([row for row in rows if row["gold"]], "gold")


def _in_order(rows: Sequence[Row], column: str) -> tuple[str, ...]:
    """The values of a column in the order of the questions; a question's last row counts."""
    by_question = {}
    for row in rows:
        by_question[_question_number(row)] = row[column]
    return tuple(by_question[number] for number in sorted(by_question))


def failing(checks: Sequence[Row]) -> tuple[str, ...]:
    """Annotators who failed the attention checks, sorted.

    They answered fewer than ``LEAST_CHECKS`` of the checks' questions as they were asked to.
    """
    failed = []
    for annotator, rows in grouped(checks, lambda row: row["annotator"]).items():
        passed = 0
        for row in rows:
            passed += row["answer"] == row["gold"]
        if passed < LEAST_CHECKS * len(rows):
            failed.append(annotator)
    return tuple(sorted(failed))


def units_from_predictions(predictions: Predictions) -> list[Judged]:
    """The judged articles of simulated annotators.

    Whether an annotator passed is decided over the attention checks of all systems.
    """
    names = ("annotator", "question", "answer", "gold")
    rows = []
    for item, _, source, check, *columns in predictions.rows("source", "check", *names):
        for values in zip(*(column.tolist() for column in columns), strict=True):
            row = {
                "item": item,
                "source": str(source),
                "phase": "testing",
                "last": True,
                "check": bool(check),
            }
            rows.append(row | dict(zip(names, values, strict=True)))
    splits = dict(zip(predictions.unit_ids, predictions.splits, strict=True))
    simulated = _is_true(predictions.arrays["simulated_names"][0])
    return judged_items(rows, splits=splits, simulated=simulated)


# Class keywords: see SumScored.
@dataclass(frozen=True)
class CoherentShare(SumScored, better="higher", share=True, divided=("coherent", "judgements")):
    """Share of judgements that call the article coherent (Table 4, column Human).

    The interval resamples articles.
    """

    def sufficient_statistics(self, units: Sequence[Judged]) -> SufficientStatistics:
        """(coherent judgements, judgements, excluded) of each article; excluded without any."""
        rows = []
        for unit in units:
            judgements = len(unit.verdicts)
            rows.append((sum(unit.verdicts.values()), judgements, not judgements))
        return SufficientStatistics.of(units, ("coherent", "judgements", "excluded"), rows)

    def describe(self, units: Sequence[Judged]) -> dict[str, Any]:
        """Everything that the study's tables need, ready for JSON.

        Returns:
            ``wilson``, the interval of the share as if judgements were independent;
            ``majority``, the share of articles that most call coherent, ties left out;
            ``agreement`` from :func:`agreement`, ``known`` from :func:`error_rates` and
            ``incoherent`` from :func:`organisations`; ``annotators`` and ``dropped`` ones; and the
            ``answers`` (annotators, articles) about ``unit_ids``, None where there is none.
        """
        # 1. Shares of judgements and of articles.
        statistics = self.sufficient_statistics(units)
        coherent = int(statistics.total("coherent"))
        judgements = int(statistics.total("judgements"))
        names, ratings = rating_matrix(units)
        is_judged = ~np.isnan(ratings).all(axis=0)
        # The share of each article's annotators who call it coherent.
        votes = np.array([np.nanmean(column) for column in ratings.T[is_judged]])
        decided = votes[votes != 0.5]
        majority = float((decided > 0.5).mean()) if len(decided) else None
        # 2. Each annotator's answers.
        answers = []
        for row in ratings.tolist():
            answers.append([None if math.isnan(value) else int(value) for value in row])
        dropped: set[str] = set()
        for unit in units:
            dropped.update(unit.dropped)
        return {
            "simulated": any(unit.simulated for unit in units),
            "wilson": list(wilson(coherent, judgements)),
            "judgements": judgements,
            "majority": majority,
            "agreement": agreement(names, ratings),
            "dropped": sorted(dropped),
            "known": error_rates(units),
            "incoherent": organisations(units),
            "annotators": names,
            "unit_ids": [unit.unit_id for unit in units],
            "answers": answers,
        }


def rating_matrix(units: Sequence[Judged]) -> tuple[list[str], np.ndarray]:
    """The verdicts as a matrix.

    Returns:
        Names of annotators, sorted, and float64 (annotators, articles): 1 coherent, 0 not, nan
        unseen.
    """
    annotators: set[str] = set()
    for unit in units:
        annotators.update(unit.verdicts)
    names = sorted(annotators)
    ratings = np.full((len(names), len(units)), math.nan)
    for row, name in enumerate(names):
        for column, unit in enumerate(units):
            if name in unit.verdicts:
                ratings[row, column] = unit.verdicts[name]
    return names, ratings


def agreement(names: Sequence[str], ratings: np.ndarray) -> dict[str, Any]:
    """Agreement of annotators with each other.

    Args:
        names, ratings: as :func:`rating_matrix` returns them.

    Returns:
        Krippendorff's nominal ``alpha``, and Cohen's ``kappa`` by pair of names; None where
        undefined (one value only, nothing shared).
    """
    if len(names) < 2 or not ((~np.isnan(ratings)).sum(axis=0) >= 2).any():
        return {"alpha": None, "kappa": {}}
    kappas = {}
    for first, second in combinations(range(len(names)), 2):
        shared = ~np.isnan(ratings[first]) & ~np.isnan(ratings[second])
        kappa = math.nan
        if shared.any():
            kappa = cohen_kappa(ratings[first][shared], ratings[second][shared])
        kappas[f"{names[first]} {names[second]}"] = _none_for_nan(kappa)
    alpha = krippendorff_alpha(ratings, "nominal")
    return {"alpha": _none_for_nan(alpha), "kappa": kappas}


def _none_for_nan(value: float) -> float | None:
    """A number for JSON, which has no nan."""
    return None if math.isnan(value) else value


def error_rates(units: Sequence[Judged]) -> dict[str, Any]:
    """Error rates of simulated annotators, whose right answers are known.

    Returns:
        The true share ``coherent``, and ``rates`` of each annotator: the share of wrong section
        types (``confusion``), of wrong verdicts (``flips``), and the numbers of ``sections`` and
        ``articles``; empty where no right answers are known.
    """
    # 1. The articles whose right answers are known, and who answered any of them.
    with_gold = []
    annotators: set[str] = set()
    for unit in units:
        if unit.gold:
            with_gold.append(unit)
            annotators.update(_complete(unit))
    if not with_gold:
        return {}
    # 2. Each annotator's errors, over the articles of which they answered all questions.
    rates = {}
    for name in sorted(annotators):
        articles = 0
        flips = 0
        sections = 0
        wrong_sections = 0
        for unit in with_gold:
            if name not in _complete(unit):
                continue
            articles += 1
            flips += unit.verdicts[name] != (unit.gold[-1] == COHERENT)
            for label, gold in zip(unit.labels[name], unit.gold[:-1], strict=True):
                sections += 1
                wrong_sections += label != gold
        rates[name] = {
            "confusion": wrong_sections / sections,
            "flips": flips / articles,
            "sections": sections,
            "articles": articles,
        }
    coherent = sum(unit.gold[-1] == COHERENT for unit in with_gold)
    return {"coherent": coherent / len(with_gold), "rates": rates}


def _complete(unit: Judged) -> set[str]:
    """The annotators who labelled an article and gave a verdict of it."""
    return unit.labels.keys() & unit.verdicts.keys()


def organisations(units: Sequence[Judged]) -> list[list[Any]]:
    """Sequences of section types of articles that were called incoherent (Table 18).

    Returns:
        [section types as labelled, number of judgements of incoherence] of each sequence, the most
        frequent first.
    """
    counts: Counter[tuple[str, ...]] = Counter()
    for unit in units:
        for name, coherent in unit.verdicts.items():
            if not coherent:
                counts[unit.labels.get(name, ())] += 1
    organised: list[list[Any]] = []
    for labels, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        organised.append([list(labels), count])
    return organised


def expected_share(coherent: float, flips: Sequence[float]) -> float:
    """Mean share called coherent by annotators with these error rates: $p (1 - f) + (1 - p) f$.

    Args:
        coherent: true share p.
        flips: share f of verdicts that each annotator gets wrong.
    """
    shares = [coherent * (1 - f) + (1 - coherent) * f for f in flips]
    return float(np.mean(shares)) if shares else math.nan


def expected_alpha(coherent: float, flips: Sequence[float]) -> float:
    r"""Nominal alpha of independent annotators over many articles, $1 - D_o / D_e$.

    $D_o$ is the mean over pairs of $f_i (1 - f_j) + f_j (1 - f_i)$, and $D_e = 2 q (1 - q)$ for the
    share $q$ called coherent. Arguments as for :func:`expected_share`; nan where all get one
    verdict, or of fewer than two annotators.
    """
    share = expected_share(coherent, flips)
    if not 0 < share < 1 or len(flips) < 2:
        return math.nan
    disagreements = [a * (1 - b) + b * (1 - a) for a, b in combinations(flips, 2)]
    observed = float(np.mean(disagreements))
    return 1 - observed / (2 * share * (1 - share))


PRIOR_SPREAD = 2.0  # statsmodels' default for a fixed effect, on the logit scale
VARIANCE_SPREAD = 1.0  # statsmodels' default for the logarithm of a standard deviation
START = 0.6  # ours: every posterior spread at the start, so that no seed is needed
STEPS = 2000  # ours: of the optimiser
EFFECT_DIGITS = 6  # where the search for the optimum stops differs between processors beyond them
SIGNATURE = "BinomialBayesMixedGLM.fit_vb (statsmodels), logit; mean-field intervals, too narrow"


@dataclass(frozen=True)
class Effect:
    """A fixed effect (logit scale) or a random effect's standard deviation.

    Attributes:
        name: of the system or of what varies.
        value: posterior mean.
        low, high: its 95 % interval.
    """

    name: str
    value: float
    low: float
    high: float


def mixed_effects(
    verdicts: Sequence[int], systems: Sequence[str], annotators: Sequence[str], items: Sequence[str]
) -> tuple[list[Effect], list[Effect]]:
    """Fit the logistic mixed model of this module's docstring to judgements.

    Args:
        verdicts: verdict of each judgement, 1 coherent, 0 not.
        systems, annotators, items: its system, annotator and article.

    Returns:
        Fixed effects (the first system, then the others' differences from it), and standard
        deviations of annotators and of articles.

    Raises:
        InputError: lengths differ, fewer than two systems or annotators, one verdict only, or the
            fit did not converge.
    """
    from statsmodels.genmod.bayes_mixed_glm import BinomialBayesMixedGLM

    _check_judgements(verdicts, systems, annotators, items)
    names = list(dict.fromkeys(systems))
    # 1. The design: an intercept and the other systems, then annotators and articles.
    fixed = np.zeros((len(systems), len(names)))
    fixed[:, 0] = 1.0
    for row, system in enumerate(systems):
        if system != names[0]:
            fixed[row, names.index(system)] = 1.0
    random = [_indicators(annotators), _indicators(items)]
    # For each random column the variance that it shares: 0 of annotators, 1 of articles.
    ident = np.repeat([0, 1], [block.shape[1] for block in random])
    # 2. The fit.
    model = BinomialBayesMixedGLM(
        np.asarray(verdicts, dtype=np.float64),
        fixed,
        np.hstack(random),
        ident,
        vcp_p=VARIANCE_SPREAD,
        fe_p=PRIOR_SPREAD,
    )
    start = np.full(len(names) + 2 + len(ident), START)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what they say is in ``optim_retvals``, and raised below
        fit = model.fit_vb(
            sd=start, fit_method="L-BFGS-B", minim_opts={"maxiter": STEPS, "maxfun": 2 * STEPS}
        )
    spreads = np.concatenate([fit.fe_sd, fit.vcp_sd, fit.vc_sd])
    search = fit.optim_retvals
    is_finite = np.isfinite(fit.params).all() and np.isfinite(spreads).all()
    if not search.success or not is_finite:
        raise InputError(
            f"mixed effects of {len(verdicts)} judgements did not converge in {search.nit} steps "
            f"of {STEPS} allowed ({search.message}); look for a system or annotator with one "
            "answer only, or gather more judgements"
        )
    # 3. Effects, and standard deviations, which the model has as logarithms.
    labels = [names[0]]
    for name in names[1:]:
        labels.append(f"{name} minus {names[0]}")
    labels += ["annotators", "articles"]
    effects = []  # without the effects of single annotators and articles, which follow
    for label, mean, spread in zip(labels, fit.params, spreads, strict=False):
        effects.append(_effect(label, mean, spread))
    deviations = []
    for log_deviation in effects[len(names) :]:
        logs = [log_deviation.value, log_deviation.low, log_deviation.high]
        deviations.append(Effect(log_deviation.name, *np.exp(logs).tolist()))
    return effects[: len(names)], deviations


def _check_judgements(
    verdicts: Sequence[int], systems: Sequence[str], annotators: Sequence[str], items: Sequence[str]
) -> None:
    """Raise InputError where judgements do not suffice for a mixed model."""
    if len({len(verdicts), len(systems), len(annotators), len(items)}) > 1:
        raise InputError(
            "mixed effects: verdicts, systems, annotators and items differ in length; "
            "give one of each"
        )
    names = list(dict.fromkeys(systems))
    if len(names) < 2 or len(set(annotators)) < 2 or set(verdicts) != {0, 1}:
        raise InputError(
            f"mixed effects: systems {names}, annotators {sorted(set(annotators))}, "
            f"verdicts {sorted(set(verdicts))}; allowed are two systems and two annotators or "
            "more, and verdicts 0 and 1, both of them there"
        )


def _indicators(levels: Sequence[str]) -> np.ndarray:
    """1 in the column of each entry's level, levels sorted, float64 (entries, levels)."""
    names, columns = np.unique(np.asarray(levels, dtype=np.str_), return_inverse=True)
    return np.eye(len(names))[columns]


def _effect(name: str, mean: float, spread: float) -> Effect:
    """An effect from its posterior, rounded to ``EFFECT_DIGITS`` significant digits."""
    value = float(f"{mean:.{EFFECT_DIGITS}g}")
    reach = NORMAL_95 * float(f"{spread:.{EFFECT_DIGITS}g}")
    return Effect(name, value, value - reach, value + reach)
