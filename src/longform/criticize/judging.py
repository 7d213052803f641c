"""Real against generated texts under every critic that applies: numbers with intervals and tests, and their worst parts."""

import math
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

import numpy as np

from longform.criticize.brought_models import Options, check
from longform.criticize.copies import sources
from longform.criticize.cost import announcement
from longform.criticize.lengths import MEASURES, EqualLengths, Excerpt, equal_lengths
from longform.criticize.panels import Panel, panels
from longform.criticize.report import Blame, Criticism, Judged
from longform.criticize.results_so_far import ResultsSoFar
from longform.criticize.splits import Halves, combined_p, halves, middle, one_row_per_source
from longform.datasets.own_texts import read_texts
from longform.documents import Document
from longform.errors import BadInput
from longform.language_models.named_models import named_model
from longform.statistics.comparisons import Comparison, compare
from longform.statistics.estimates import Estimate, bootstrap_scores
from longform.statistics.intervals import percentile_interval
from longform.statistics.random_streams import generator
from longform.statistics.signatures import signature
from longform.statistics.sufficient_statistics import SufficientStatistics

RESAMPLES = 1000  # a halving
PERMUTATIONS = 2000  # a halving
Reasons = tuple[tuple[str, str], ...]  # (critic, why)
Result = TypeVar("Result")


def criticize(
    real: Path | str | Sequence[str],
    generated: Path | str | Sequence[str],
    *,
    model: Path | str | None = None,
    encoder: Path | str | None = None,
    seed: int = 1234,
    progress: Callable[[Sequence[Panel]], Iterable[Panel]] = iter,
    results: Path | str | None = None,
) -> Criticism:
    """Put generated texts beside real ones: one half of the real texts teaches the critics, the other is what they are compared with.

    The halving is repeated where it costs seconds, and what it leaves open is in intervals and p-values. Texts are compared at
    equal length (:mod:`longform.criticize.lengths`), near copies are no independent texts and are never judged by a critic that
    learnt from their source (:mod:`longform.criticize.copies`). What the work will cost is said on standard error first.

    Args:
        real: a ``.jsonl`` file, a folder of ``.txt`` and ``.md`` files, or a list of texts; two at least.
        generated: likewise, one at least.
        model: a causal language model (:mod:`longform.language_models.named_models`), or "none"; by
            default the optional extra's, where it is installed.
        encoder: folder of a sentence encoder, or "none"; by default the optional extra's.
        seed: of every draw.
        progress: wraps the critics and shows how far it is: a progress bar.
        results: a file to which each critic's result is written as soon as it is there, and from which the results of the same
            texts and settings are taken, so that work that was stopped goes on.

    Raises:
        BadInput: no texts, or fewer than two real ones; a model or an encoder that is named and cannot be read.
    """
    sides = read_texts(real), read_texts(generated)
    documents = [replace(d, id=f"real/{d.id}") for d in sides[0].documents]
    documents += [replace(d, id=f"generated/{d.id}", split="generated") for d in sides[1].documents]
    options = options_of(model, encoder, seed)
    texts = ComparedTexts.of(documents)
    if len(texts.real) < 2:
        raise BadInput(
            f"got {len(texts.real)} real text, two are needed: one to learn from, one to compare with"
        )
    asked = panels(options)
    print(announcement(asked, *sides), file=sys.stderr)
    so_far = ResultsSoFar(Path(results) if results is not None else None, documents, options)

    def judged_or_taken_back(panel: Panel) -> Judged:
        found = so_far.find(panel)
        if found is None:
            found = judge(panel, texts, seed)
            so_far.add(found)
        return found

    judged, left_out, failed = run_critics(progress(asked), judged_or_taken_back)
    return Criticism(tuple(judged), left_out, *sides, copies=texts.copies, failed=failed)


def options_of(model: Path | str | None, encoder: Path | str | None, seed: int) -> Options:
    """What a person chose. Raises ConfigError: a model or an encoder that cannot be read."""
    named = named_model(model) if model is not None and model != "none" else None
    named_encoder = Path(encoder) if encoder not in (None, "none") else None
    options = Options(named, named_encoder, seed, model != "none", encoder != "none")
    check(options)
    return options


def run_critics(
    critics: Iterable[Panel], judge_one: Callable[[Panel], Result]
) -> tuple[list[Result], Reasons, Reasons]:
    """What each critic says; of those that say nothing, why they do not apply, or how they failed.

    Args:
        critics: in their order.
        judge_one: one critic's word. Where it raises BadInput the critic does not apply; whatever
            else it raises, what the other critics give stands, and the traceback is shown whole.

    Returns:
        Results, critics that are left out, and critics that began and could not end.
    """
    results: list[Result] = []
    left_out: list[tuple[str, str]] = []
    failed: list[tuple[str, str]] = []
    for panel in critics:
        try:
            results.append(judge_one(panel))
        except BadInput as error:
            (failed if panel.asked else left_out).append((panel.name, str(error)))
        except Exception as error:
            traceback.print_exception(error)
            first_line = (str(error).strip().splitlines() or [""])[0][:200]
            reason = f"{type(error).__name__}: {first_line} (traceback on standard error)"
            failed.append((panel.name, reason))
    return results, tuple(left_out), tuple(failed)


@dataclass(frozen=True)
class ComparedTexts:
    """Both sides, at equal lengths by each measure, with the near copies among them."""

    real: tuple[Document, ...]
    generated: tuple[Document, ...]
    sources: Mapping[str, int]  # of each id, the same number for near copies
    equal: Mapping[str, EqualLengths]  # by measure

    @classmethod
    def of(cls, documents: Sequence[Document]) -> "ComparedTexts":
        """From documents of which the generated ones have that split."""
        generated = tuple(document for document in documents if document.split == "generated")
        real = tuple(document for document in documents if document.split != "generated")
        numbers = dict(
            zip([document.id for document in documents], sources(documents), strict=True)
        )
        equal: dict[str, EqualLengths] = {}
        for measure in MEASURES:
            equal[measure] = equal_lengths(real, generated, measure)
        return cls(real, generated, numbers, equal)

    @property
    def copies(self) -> tuple[int, int, int]:
        """Texts that are copies of another real one, of another generated one; and generated ones that are copies of real ones."""
        own = [
            [self.sources[document.id] for document in side] for side in (self.real, self.generated)
        ]
        across = sum(source in set(own[0]) for source in set(own[1]))
        shared = sum(source in set(own[0]) for source in own[1]) if across else 0
        return len(own[0]) - len(set(own[0])), len(own[1]) - len(set(own[1])), shared


@dataclass(frozen=True)
class _Part:
    """What one halving gives: a critic, and what it says of the texts that it did not learn from."""

    fitted: Any
    real: SufficientStatistics
    generated: SufficientStatistics


def judge(
    panel: Panel,
    texts: ComparedTexts,
    seed: int,
    resamples: int = RESAMPLES,
    permutations: int = PERMUTATIONS,
) -> Judged:
    """One critic over all texts, with so many resamples and permutations a halving. Raises BadInput: it does not apply."""
    if panel.absent:
        raise BadInput(panel.absent)
    equal = texts.equal[panel.measure]
    compared = {document.id: document for document in equal.generated}
    parts: list[_Part] = []
    blame: Blame = {}
    error: BadInput | None = None
    read_again = panel.learns == "predictions"
    units = [] if read_again else read_units(panel, equal.documents)
    for number in range(panel.halvings):
        if panel.learns == "nothing":
            half = Halves(frozenset(), frozenset(document.id for document in equal.real))
        else:
            half = halves(texts.real, texts.sources, number)
        try:
            if read_again:
                units = read_units(panel, _labelled(equal, half))
            part, judged = _part(panel, units, half, texts.sources)
        except BadInput as problem:
            error = error or problem
            continue
        parts.append(part)
        own = [unit for unit in judged if unit.unit_id not in blame]
        blame |= _blame(panel, part.fitted, own, compared)
    if not parts:
        raise error or BadInput("no text could be read")
    return _combined(panel, parts, blame, texts, seed, resamples, permutations)


def read_units(panel: Panel, documents: Sequence[Excerpt]) -> list[Any]:
    """The units of texts. Raises BadInput: the critic does not apply, or there is too little to judge."""
    units = panel.read(documents)
    if panel.check is not None:
        panel.check(units)
    return units


def _labelled(equal: EqualLengths, half: Halves) -> list[Excerpt]:
    """The texts with the splits of one halving."""
    real = [
        replace(document, split="train" if document.id in half.train else "test")
        for document in equal.real
    ]
    return [*real, *equal.generated]


def _part(
    panel: Panel, units: Sequence[Any], half: Halves, sources: Mapping[str, int]
) -> tuple[_Part, list[Any]]:
    """One halving: the critic fitted, both sufficient statistics with near copies as one text; and the generated units that it judged.

    Generated copies of a text that taught the critic are left to the halvings in which their source did not.
    """
    taught = {sources[name] for name in half.train}
    train = [unit for unit in units if unit.unit_id in half.train]
    test = [unit for unit in units if unit.unit_id in half.test]
    generated = [
        unit for unit in units if unit.split == "generated" and sources[unit.unit_id] not in taught
    ]
    if not generated:
        raise BadInput(
            "all generated texts are near copies of the real texts that teach the critic"
        )
    fitted = panel.critic if panel.learns == "nothing" else panel.critic.fit(train)
    all_statistics = fitted.sufficient_statistics(test), fitted.sufficient_statistics(generated)
    for name, statistics in zip(("real", "generated"), all_statistics, strict=True):
        if statistics.total("excluded") == len(statistics.unit_ids):
            needs = f"; one needs {panel.needs}" if panel.needs else ""
            raise BadInput(
                f"none of the {len(statistics.unit_ids)} {name} texts could be scored{needs}"
            )
    merged = [one_row_per_source(statistics, sources) for statistics in all_statistics]
    return _Part(fitted, merged[0], merged[1]), generated


def _combined(
    panel: Panel,
    parts: Sequence[_Part],
    blame: Blame,
    texts: ComparedTexts,
    seed: int,
    resamples: int,
    permutations: int,
) -> Judged:
    """All halvings as one: mean scores, intervals over all their resamples, and the p-value that they have together."""
    draws: dict[str, list[np.ndarray]] = {"real": [], "generated": []}
    tests = []
    for number, part in enumerate(parts):
        names = [panel.name] if number == 0 else [panel.name, number]
        for side, statistics in (("real", part.real), ("generated", part.generated)):
            rng = generator(seed, "criticize", *names, side)
            draws[side].append(bootstrap_scores(part.fitted, statistics, rng, resamples))
        rng = generator(seed, "criticize", *names, "difference")
        tests.append(
            compare(part.fitted, part.generated, part.real, rng, permutations, matched=True)
        )
    p_values = tuple(test.p_value for test in tests)
    difference = middle([test.difference for test in tests])
    paired = all(test.paired for test in tests)
    unknown = parts[0].real.total("unknown"), parts[0].generated.total("unknown")
    return Judged(
        panel,
        estimate_over_halvings([(part.fitted, part.real) for part in parts], draws["real"]),
        estimate_over_halvings(
            [(part.fitted, part.generated) for part in parts], draws["generated"]
        ),
        Comparison(difference, combined_p(p_values), paired, permutations),
        blame,
        (int(unknown[0]), int(unknown[1])) if panel.unknown else (0, 0),
        p_values,
        texts.equal[panel.measure].cut,
        _median_lengths(texts.equal[panel.measure]),
    )


def _median_lengths(equal: EqualLengths) -> tuple[float, float]:
    """Median words of the real and the generated texts as they are compared."""
    sides = [
        [len(document.text.split()) for document in side] for side in (equal.real, equal.generated)
    ]
    return float(median(sides[0])), float(median(sides[1]))


def estimate_over_halvings(
    sides: Sequence[tuple[Any, SufficientStatistics]], draws: Sequence[np.ndarray]
) -> Estimate:
    """Mean score over halvings, and the interval of the resamples of all: it holds what the halving leaves open."""
    low, high = percentile_interval(np.concatenate(draws))
    scored: set[str] = set()
    unscored: set[str] = set()
    for _, statistics in sides:
        for name, excluded in zip(statistics.unit_ids, statistics.excluded(), strict=True):
            (unscored if excluded else scored).add(name)
    value = middle([critic.score_of(statistics) for critic, statistics in sides])
    return Estimate(value, low, high, len(scored), len(unscored - scored), signature(sides[0][0]))


def _blame(panel: Panel, fitted: Any, units: Sequence[Any], texts: Mapping[str, Document]) -> Blame:
    """The worst places of generated texts."""
    if panel.places is None or not hasattr(fitted, "part_values") or not units:
        return {}
    excluded = fitted.sufficient_statistics(units).column("excluded") > 0
    blame: Blame = {}
    for unit, parts, out in zip(units, fitted.part_values(units), excluded, strict=True):
        rows = by_sentence(parts)
        spans = panel.places(texts[unit.unit_id], unit, rows)
        blame[unit.unit_id] = [] if out else worst_places(fitted.blame * rows, spans)
    return blame


def by_sentence(parts: np.ndarray) -> np.ndarray:
    """Parts in one dimension: cells (sentences, entities) are added up by sentence."""
    return parts if parts.ndim == 1 else np.nansum(parts, axis=1)


def worst_places(
    values: np.ndarray, spans: Sequence[tuple[int, int]]
) -> list[tuple[float, tuple[int, int]]]:
    """The three places that speak most against a text, worst first: above the mean of all; parts of one place add up."""
    totals: dict[tuple[int, int], float] = {}
    for value, span in zip(values.tolist(), spans, strict=False):
        if not math.isnan(value):
            totals[span] = totals.get(span, 0.0) + value
    if not totals or np.ptp(list(totals.values())) == 0:
        return []
    mean = float(np.mean(list(totals.values())))
    order = sorted(totals, key=lambda span: -totals[span])
    return [(totals[span], span) for span in order if totals[span] > mean][:3]
