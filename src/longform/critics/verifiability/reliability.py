r"""How far verdicts can be trusted: people's judgements (massarelli2020, section 6), errors.

A checker that gives label $j$ to a sentence of true label $i$ with probability $C_{ij}$ turns true
shares $\pi$ into observed $q = C^\top \pi$. Taken back by
$\hat\pi = \arg\min_{\pi \ge 0, \sum \pi = 1} \lVert C^\top \pi - q \rVert$ (Rogan and Gladen 1978;
Forman 2008).
"""

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import nnls

from longform.critics.verifiability.checks import (
    LABELS,
    NEI,
    REFUTED,
    SENTENCES,
    SUPPORTED,
    UNIT_COLUMNS,
    CheckedGeneration,
)
from longform.documents import grouped
from longform.errors import ConfigError, InputError
from longform.files.opening import rows as table_rows
from longform.results import Record
from longform.statistics.arithmetic import ratio
from longform.statistics.estimates import estimate
from longform.statistics.intervals import percentile_interval, share_interval
from longform.statistics.random_streams import generator
from longform.statistics.sufficient_statistics import SufficientStatistics, Sums, clustered
from longform.statistics.sum_scored import SumScored

DECODERS = ("top_k", "greedy", "beam", "delayed_beam", "beam_blocked")  # Table 2
PREFIXES = 200  # massarelli2020, section 6
FLAGS = ("repetition", "not_a_claim", "ungrammatical")
FLAG_COLUMNS = {"REP": "repetition", "NAC": "not_a_claim", "UNG": "ungrammatical"}  # Table 2


def sheet_record(
    units: Sequence[CheckedGeneration], prefixes: int = PREFIXES, decoders: Sequence[str] = DECODERS
) -> Record:
    """A record with the sheet on which people judge sentences, and the share of exact repeats.

    People judge the decoders' first continuation of prefixes that are drawn at random, the same
    ones for every decoder, in an order that tells nothing.

    Args:
        units: all generations.
        prefixes: how many are judged.
        decoders: whose continuations are judged.

    Returns:
        The share of exact repeats; ``details`` hold the sheet: ``items``, in which ``evidence`` is
        a place in the list ``evidence``, since many sentences share one. :func:`judges_see` reads
        them.
    """
    # 1. First continuations of the drawn prefixes.
    repeat = UNIT_COLUMNS.index("repeat")
    first = [unit for unit in units if unit.setting in decoders and unit.about[repeat] == 0]
    by_page = grouped(first, lambda unit: unit.page)
    order = generator("annotation sheet").permutation(len(by_page))
    pages = list(by_page)
    chosen_pages = {pages[i] for i in order[:prefixes]}
    # 2. An item for each of their sentences; its key is not for annotators.
    items: list[dict[str, Any]] = []
    for unit in first:
        if unit.page not in chosen_pages:
            continue
        for number, (claim, lines) in enumerate(zip(unit.texts, unit.lines, strict=True)):
            key = {
                "decoder": unit.setting,
                "page": unit.page,
                "generation": unit.unit_id,
                "sentence": number,
            }
            items.append({"claim": claim, "evidence": lines, "key": key})
    # 3. In random order, numbered.
    sheet = []
    order = generator("annotation sheet", "order").permutation(len(items))
    for number, i in enumerate(order):
        sheet.append({"item": f"s{number:05d}", **items[i]})
    # 4. Each evidence once: items have its place in the list.
    numbers: dict[str, int] = {}
    for item in sheet:
        item["evidence"] = numbers.setdefault(item["evidence"], len(numbers))
    evidence = list(numbers)
    # 5. Exact repeats of each decoder, and of all.
    repeats = {}
    by_decoder = grouped(first, lambda unit: unit.setting)
    for decoder in decoders:
        repeats[decoder] = _repeated(by_decoder.get(decoder, []))
    return Record(
        critic="verifiability",
        metric="exact_repeats",
        value=_repeated(units),
        units=len(units),
        better="lower",
        signature="sentences equal to an earlier one of the text",
        details={
            "items": sheet,
            "evidence": evidence,
            "exact_repeats": repeats,
            "prefixes": len(chosen_pages),
        },
    )


def judges_see(details: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """The rows of the sheet as judges read it.

    Args:
        details: of the record that :func:`sheet_record` makes.

    Returns:
        For each item its id, its sentence, and the evidence followed by the earlier sentences of
        its text.
    """
    sentences: dict[tuple[Any, int], str] = {}
    for item in details["items"]:
        key = item["key"]
        sentences[key["generation"], key["sentence"]] = item["claim"]
    rows = []
    for item in details["items"]:
        key = item["key"]
        text = details["evidence"][item["evidence"]] or "No page was found."
        if key["sentence"]:
            text += " Said before:"
        for earlier in range(key["sentence"]):
            text += f" {sentences[key['generation'], earlier]}"
        rows.append((item["item"], item["claim"], text))
    return rows


def _repeated(units: Sequence[CheckedGeneration]) -> float:
    """The share of sentences that repeat an earlier one of their text word for word."""
    repeats, sentences = 0, 0
    for unit in units:
        numbers = np.arange(len(unit.sentences))
        repeats += int((unit.column("same_as") < numbers).sum())
        sentences += len(unit.sentences)
    return float(ratio(repeats, sentences))


Answers = Sequence[Mapping[str, Any]]
# What the study app offers, one choice an item: a flag alone says nothing of support.
CHOICES = {
    "supported": {"label": SUPPORTED},
    "refuted": {"label": REFUTED},
    "not enough information": {"label": NEI},
    "repetition": {"label": NEI, "repetition": "1"},
    "not a claim": {"label": NEI, "not_a_claim": "1"},
    "ungrammatical": {"label": NEI, "ungrammatical": "1"},
}


def read_answers(path: Path) -> list[dict[str, str]]:
    """Read people's answers from a filled form, or from the study app's export.

    Of the export the last answer to each item counts. A row without an answer is left out.

    Raises InputError: no such file, columns are missing, or a choice that the app does not have.
    """
    if not path.is_file():
        raise InputError(f"{path}: no such file; put the answers there, or leave `answers` out")
    rows = table_rows(path, ("item",))
    columns = set(rows[0]) if rows else set()
    # 1. A filled form has labels.
    if not {"item", "annotator", "answer"} <= columns:
        if rows and "label" not in columns:
            raise InputError(f"{path}: columns ['label'] are missing; it has {sorted(columns)}")
        return [row for row in rows if row["label"].strip()]
    # 2. The app's export has choices.
    answers = []
    for row in rows:
        if row.get("last", "True") != "True":
            continue
        choice = row["answer"]
        if not choice.strip():
            continue
        if choice not in CHOICES:
            raise InputError(
                f"{path}: answer {choice!r} of item {row['item']!r}; allowed are {list(CHOICES)}"
            )
        answers.append({"item": row["item"], "annotator": row["annotator"], **CHOICES[choice]})
    return answers


def judged(items: Sequence[Mapping[str, Any]], answers: Answers) -> dict[str, Any]:
    """Table 2 from people's answers: shares of flags and of support for each decoder.

    Args:
        items: of the sheet.
        answers: each has item, annotator, label (of ``LABELS``) and the flags (1 or 0, empty for
        0).

    Raises InputError: no answer, or one to another item or with another label.
    """
    # 1. The answers to each item.
    keys = {item["item"]: item["key"] for item in items}
    votes: dict[str, list[Mapping[str, Any]]] = {}
    for number, answer in enumerate(answers, 1):
        item, label = str(answer.get("item")), answer.get("label")
        if item not in keys or label not in LABELS:
            raise InputError(
                f"answer {number}: item {item!r}, label {label!r}; allowed are items of the sheet "
                f"and labels {list(LABELS)}; fix it"
            )
        votes.setdefault(item, []).append(answer)
    if not votes:
        raise InputError(
            "the answers hold no line; give item, annotator, label and flags, one judgement a line"
        )
    # 2. The majority's answer to each, by decoder.
    by_decoder = defaultdict(list)
    for item, item_votes in votes.items():
        key = keys[item]
        by_decoder[key["decoder"]].append({**key, **_majority(item_votes)})
    tables = {}
    for decoder, rows in by_decoder.items():
        tables[decoder] = _measures(rows)
    return {
        "decoders": tables,
        "agreement": agreement(votes),
        "sentences": len(votes),
        "unanswered": len(keys) - len(votes),
    }


def _majority(votes: Answers) -> dict[str, Any]:
    """The most frequent label, none at a tie, and the flags that more than half have set."""
    counts = Counter(answer["label"] for answer in votes).most_common()
    tied = len(counts) > 1 and counts[0][1] == counts[1][1]
    majority: dict[str, Any] = {"label": NEI if tied else counts[0][0]}
    for flag in FLAGS:
        times = sum(_is_set(answer.get(flag)) for answer in votes)
        majority[flag] = 2 * times > len(votes)
    return majority


def _is_set(flag: Any) -> bool:
    """Whether a flag of a form is set; an empty or missing one is not."""
    return str(flag or "0").strip().lower() in ("1", "true", "yes")


def _measures(rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """The line of Table 2, in percent, from the judged sentences of a decoder."""
    measures = {}
    # 1. Shares of sentences with each flag.
    for name, flag in FLAG_COLUMNS.items():
        measures[name] = 100 * float(np.mean([row[flag] for row in rows]))
    # 2. Support by text, with repetitions and without.
    texts = grouped(rows, lambda row: row["generation"]).values()
    for prefix, unique in (("", False), ("U", True)):
        recalls, shares = [], []
        for text in texts:
            labels = [row["label"] for row in text if not (unique and row["repetition"])]
            supported = labels.count(SUPPORTED)
            verified = supported + labels.count(REFUTED)
            recalls.append(supported / SENTENCES)
            if verified:
                shares.append(supported / verified)
        measures[f"{prefix}SPG"] = 100 * float(np.mean(recalls))
        measures[f"{prefix}SPV"] = 100 * float(np.mean(shares)) if shares else math.nan
    return measures


def agreement(votes: Mapping[str, Answers]) -> dict[str, Any]:
    """The agreement of annotators.

    Args:
        votes: answers by item.

    Returns:
        Cohen's kappa averaged over pairs of annotators with common items, the number of annotators,
        and the majority's mean share by label, in percent.
    """
    # 1. Kappa of each pair of annotators.
    by_person: dict[str, dict[str, str]] = defaultdict(dict)
    for item, item_votes in votes.items():
        for answer in item_votes:
            by_person[str(answer.get("annotator", ""))][item] = answer["label"]
    kappas = []
    for first, second in combinations(by_person.values(), 2):
        if first.keys() & second.keys():
            kappa = cohen(first, second)
            if not math.isnan(kappa):
                kappas.append(kappa)
    # 2. The majority's share of each item's votes.
    shares: dict[str, list[float]] = {label: [] for label in LABELS}
    for item_votes in votes.values():
        label = _majority(item_votes)["label"]
        times = sum(answer["label"] == label for answer in item_votes)
        shares[label].append(times / len(item_votes))
    return {
        "cohen_kappa": _mean(kappas),
        "annotators": len(by_person),
        "majority_share": {label: 100 * _mean(values) for label, values in shares.items()},
    }


def _mean(values: Sequence[float]) -> float:
    """The mean of numbers; nan where there are none."""
    return float(np.mean(values)) if values else math.nan


def cohen(first: Mapping[str, str], second: Mapping[str, str]) -> float:
    r"""Cohen's $\kappa = (p_o - p_e) / (1 - p_e)$ over the items that both have judged.

    Returns:
        nan where chance alone agrees fully.
    """
    common = sorted(first.keys() & second.keys())
    first_counts: Counter[str] = Counter()
    second_counts: Counter[str] = Counter()
    agreed = 0
    for item in common:
        first_counts[first[item]] += 1
        second_counts[second[item]] += 1
        agreed += first[item] == second[item]
    observed = agreed / len(common)
    products = sum(first_counts[label] * second_counts[label] for label in LABELS)
    expected = products / len(common) ** 2
    if expected >= 1:
        return math.nan
    return (observed - expected) / (1 - expected)


# Weight of the equation that shares sum to one, beside those of the shares: exact to six digits.
SUM_WEIGHT = 1e3
PAIRS = tuple(f"{true} as {label}" for true, label in product(LABELS, LABELS))
MEASURES = (
    "accuracy",
    *(f"{kind} of {label}" for label, kind in product(LABELS, ("precision", "recall"))),
)


# Class keywords: see SumScored.
@dataclass(frozen=True)
class CheckerAccuracy(SumScored, better="higher", share=True):
    """Share of sentences that the checker labels rightly.

    Attributes:
        measure: ``accuracy``, ``precision of <label>``, or ``recall of <label>``.
    """

    measure: str = "accuracy"

    def __post_init__(self) -> None:
        if self.measure not in MEASURES:
            raise ConfigError(
                f"checker accuracy: measure {self.measure!r}; allowed are {sorted(MEASURES)}"
            )

    def sufficient_statistics(self, units: Sequence[CheckedGeneration]) -> SufficientStatistics:
        """A row a unit: its sentences by true and given label.

        Returns:
            A column for each true and given label (``PAIRS``), how often evidence was found and how
            often it was there to find, and ``excluded``.
        """
        columns = (*PAIRS, "evidence_found", "evidence_known", "excluded")
        rows = []
        for unit in units:
            if unit.truth is None or not unit.checks.labels:
                rows.append([0] * (len(columns) - 1) + [1])
                continue
            counts = Counter(zip(unit.truth.labels, unit.checks.labels, strict=True))
            confusions = [counts[pair] for pair in product(LABELS, LABELS)]
            evidence_found = unit.column("found")
            evidence_found = evidence_found[~np.isnan(evidence_found)]
            rows.append([*confusions, evidence_found.sum(), len(evidence_found), 0])
        return SufficientStatistics.of(units, columns, rows)

    def of_sums(self, sums: Sums) -> Any:
        """The measure; nan where no sentence has the label (of precision: was given it)."""
        matrix = confusion_of(sums)
        kind, _, label = self.measure.partition(" of ")
        if not label:
            return ratio(np.trace(matrix), matrix.sum((0, 1)))
        index = LABELS.index(label)
        of_label = matrix[:, index] if kind == "precision" else matrix[index]
        return ratio(matrix[index, index], of_label.sum(0))


def accuracy_records(units: Sequence[CheckedGeneration]) -> list[Record]:
    """Records of the checker's accuracy, and of its precision and recall for each label.

    The record of accuracy has details: the evidence found, the majority's share and the confusion.
    """
    # 1. Confusions, by page.
    statistics = _by_page(CheckerAccuracy().sufficient_statistics(units), units)
    matrix = confusion_of(statistics)
    confusion = {}
    for name, count in zip(PAIRS, matrix.flatten(), strict=True):
        confusion[name] = int(count)
    details = {
        "retrieved": ratio(statistics.total("evidence_found"), statistics.total("evidence_known")),
        "majority": ratio(matrix.sum(1).max(), matrix.sum()),
        "confusion": confusion,
    }
    # 2. A record for each measure.
    records = []
    for measure in MEASURES:
        kind, _, label = measure.partition(" of ")
        rng = generator("checker accuracy", measure)
        result = estimate(CheckerAccuracy(measure), statistics, rng, 500)
        record = Record(
            critic="verifiability",
            metric=f"checker_{kind}",
            **asdict(result),
            task=label,
            better="higher",
            details={} if label else details,
        )
        records.append(record)
    return records


def confusion_of(sums: Sums | SufficientStatistics) -> np.ndarray:
    """Counts (true label, given label), or of each resample (labels, labels, resamples)."""
    totals = np.array([sums.total(name) for name in PAIRS])
    return totals.reshape(len(LABELS), len(LABELS), *totals.shape[1:])


def true_shares(observed: np.ndarray, confusion: np.ndarray) -> np.ndarray:
    """Estimate the shares of true labels from the shares of given ones and the checker's errors.

    Args:
        observed: shares of given labels, (labels,).
        confusion: counts (true label, given label), at least one in every row.

    Returns:
        (labels,), nan where labels are confused alike, so that their shares cannot be known.
    """
    rates = confusion / confusion.sum(1, keepdims=True)
    if np.linalg.matrix_rank(rates) < len(rates):
        return np.full(len(rates), math.nan)
    # Nonnegative least squares; a heavy last equation makes the shares sum to one.
    equations = np.vstack([rates.T, np.full((1, len(observed)), SUM_WEIGHT)])
    shares, _ = nnls(equations, np.append(observed, SUM_WEIGHT))
    return shares / shares.sum()


def missing_labels(confusion: np.ndarray) -> list[str]:
    """The true labels that no sentence has: without their error rates nothing can be corrected.

    Args:
        confusion: counts (true label, given label), of any shape with that order.
    """
    missing = []
    for label, row in zip(LABELS, confusion.reshape(len(LABELS), -1), strict=True):
        if not row.any():
            missing.append(label)
    return missing


def corrected_records(
    units: Sequence[CheckedGeneration],
    known: Sequence[CheckedGeneration],
    variant: str,
    resamples: int = 500,
) -> list[Record]:
    """Records of each decoder's SPG, corrected for the checker's errors, with its interval.

    The corrected share of supported sentences, times sentences per generation, over k. Generations
    (by page) and sentences with a known truth are resampled alike.

    Args:
        units: the generations.
        known: generations with a known truth; error rates are those of the sentences that no person
            wrote.
        variant: of the records.
        resamples: of the interval.

    Returns:
        A record a decoder; ``details`` has SPG as given, true SPG where truth is planted, and the
        labels whose error rates are not known.
    """
    by_models = [unit for unit in known if unit.setting != "human"]
    confusions = _confusions_by_page(by_models)
    records = []
    for decoder, own_units in grouped(units, lambda unit: unit.setting).items():
        counts = _counts_by_page(own_units)  # (pages, labels + 1)
        # 1. The corrected value, and that of resamples of both.
        value = corrected_spg(counts.sum(0), confusions.sum(0))
        rng = generator("corrected", decoder)
        values = []
        for _ in range(resamples):
            resampled = counts[rng.integers(0, len(counts), len(counts))].sum(0)
            rows = rng.integers(0, len(confusions), len(confusions))
            values.append(corrected_spg(resampled, confusions[rows].sum(0)))
        interval = percentile_interval(np.array(values))
        low, high = share_interval(interval, value, len(counts))
        # 2. SPG as given, and by planted truth.
        generations = counts[:, -1].sum()
        details = {
            "given": float(counts[:, 0].sum() / (generations * SENTENCES)),
            "true": _true_spg(own_units),
            "unknown_labels": missing_labels(confusions.sum(0)),
        }
        record = Record(
            critic="verifiability",
            metric="SPG",
            system=decoder,
            variant=variant,
            better="higher",
            signature="CorrectedSupports",
            value=value,
            low=low,
            high=high,
            units=len(own_units),
            details=details,
        )
        records.append(record)
    return records


def _confusions_by_page(units: Sequence[CheckedGeneration]) -> np.ndarray:
    """Counts of sentences by true and given label, a row a page, (pages, PAIRS)."""
    statistics = CheckerAccuracy().sufficient_statistics(units)
    return _by_page(statistics, units).values[:, : len(PAIRS)]


def _counts_by_page(units: Sequence[CheckedGeneration]) -> np.ndarray:
    """Counts of first sentences by given label, and of generations, (pages, labels + 1)."""
    rows = []
    for unit in units:
        labels = unit.checks.labels[:SENTENCES]
        rows.append([*map(labels.count, LABELS), 1])
    statistics = SufficientStatistics.of(units, (*LABELS, "generations"), rows)
    return _by_page(statistics, units).values


def _by_page(
    statistics: SufficientStatistics, units: Sequence[CheckedGeneration]
) -> SufficientStatistics:
    """Statistics summed by page: generations of one page are not independent."""
    return clustered(statistics, [unit.page for unit in units])


def _true_spg(units: Sequence[CheckedGeneration]) -> float | None:
    """SPG by planted truth; None if any generation has no truth."""
    supported = 0
    for unit in units:
        if unit.truth is None:
            return None
        supported += unit.truth.labels[:SENTENCES].count(SUPPORTED)
    return supported / (len(units) * SENTENCES)


def corrected_spg(counts: np.ndarray, known: np.ndarray) -> float:
    """SPG with the checker's errors taken out.

    Args:
        counts: of given labels, then of generations, (labels + 1,).
        known: counts of (true, given) labels, (PAIRS,).

    Returns:
        nan where it cannot be known.
    """
    labels, generations = counts[: len(LABELS)], counts[len(LABELS)]
    if not labels.sum() or not generations or missing_labels(known):
        return math.nan
    shares = true_shares(labels / labels.sum(), known.reshape(len(LABELS), -1))
    return float(shares[0] * labels.sum() / (generations * SENTENCES))
