"""Real against generated texts under every critic that applies.

Numbers with intervals and tests, and the worst parts of generated texts.
"""

import math
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from longform.criticize.brought_models import Options, check
from longform.criticize.copies import near_copies
from longform.criticize.cost import announcement
from longform.criticize.lengths import (
    MEASURES,
    EqualLengths,
    Excerpt,
    equal_lengths,
    why_short,
)
from longform.criticize.panels import Panel, panels
from longform.criticize.report import Blame, Criticism, CriticResult
from longform.criticize.results_so_far import ResultsSoFar
from longform.criticize.splits import (
    Halves,
    combined_test,
    halves,
    middle,
    one_row_per_source,
    units_among,
)
from longform.critics.saving import checksum, identity
from longform.datasets.own_texts import read_texts
from longform.documents import Document
from longform.errors import BadInput, counted
from longform.language_models.named_models import named_model
from longform.statistics.comparisons import Comparison, compare
from longform.statistics.estimates import Estimate, bootstrap_scores
from longform.statistics.intervals import percentile_interval
from longform.statistics.random_streams import generator
from longform.statistics.sufficient_statistics import SufficientStatistics

RESAMPLES = 1000  # a halving
PERMUTATIONS = 2000  # a halving
Reasons = tuple[tuple[str, str], ...]  # (critic, why)
Scores = NDArray[np.float64]  # (resamples,)
Result = TypeVar("Result")


def criticize(
    real: Path | str | Sequence[str],
    generated: Path | str | Sequence[str],
    *,
    model: Path | str | None = None,
    encoder: Path | str | None = None,
    orders: bool = False,
    seed: int = 1234,
    progress: Callable[[Sequence[Panel]], Iterable[Panel]] = iter,
    results: Path | str | None = None,
) -> Criticism:
    """Compare generated with real texts under every critic that applies.

    One half of the real texts teaches the critics, the other is what generated texts are compared
    with. The halving is repeated where it costs seconds, so that intervals and p-values hold its
    chance too. Texts are compared at equal length (:mod:`longform.criticize.lengths`), near copies
    are no independent texts and are never judged by a critic that learnt from their source
    (:mod:`longform.criticize.copies`). What the work will cost is said on standard error first.

    Args:
        real: a ``.jsonl`` file, a folder of ``.txt`` and ``.md`` files, or a list of texts; two at
            least.
        generated: likewise, one at least.
        model: a causal language model (:mod:`longform.language_models.named_models`), or "none"; by
            default the optional extra's, where it is installed.
        encoder: folder of a sentence encoder, or "none"; by default the optional extra's.
        orders: whether the model reads each text in other orders too, for order and repetition:
            hours where its perplexity takes minutes.
        seed: of every draw.
        progress: wraps the critics and shows how far it is: a progress bar.
        results: a file to which each critic's result is written as soon as it is there, and from
            which the results of the same texts and settings are taken, so that work that was
            stopped goes on.

    Raises:
        BadInput: no texts, or fewer than two real ones; a model or an encoder that is named and
            cannot be read.
    """
    # 1. Texts of both sides under ids that tell the sides apart, and what a person brings.
    sides = read_texts(real), read_texts(generated)
    documents = []
    for document in sides[0].documents:
        documents.append(replace(document, id=f"real/{document.id}"))
    for document in sides[1].documents:
        documents.append(replace(document, id=f"generated/{document.id}", split="generated"))
    options = options_of(model, encoder, seed, orders)
    texts = ComparedTexts.of(documents)
    if len(texts.real) < 2:
        raise BadInput(
            f"got {len(texts.real)} real text, two are needed: "
            "one to learn from, one to compare with"
        )
    # 2. Every critic, unless its result is there from an earlier run.
    critics = panels(options)
    print(announcement(critics, *sides), file=sys.stderr)
    so_far = ResultsSoFar(Path(results) if results is not None else None, documents, options)

    def judge_or_take_back(panel: Panel) -> CriticResult:
        """An earlier run's result of this critic, else a new one, which is saved."""
        result = so_far.find(panel)
        if result is None:
            result = judge(panel, texts, seed)
            so_far.add(result)
        return result

    critic_results, left_out, failed = run_critics(progress(critics), judge_or_take_back)
    return Criticism(tuple(critic_results), left_out, *sides, copies=texts.copies, failed=failed)


def options_of(
    model: Path | str | None, encoder: Path | str | None, seed: int, orders: bool
) -> Options:
    """A person's choices, after the model and the encoder were opened once; "none" is no model.

    Raises:
        ConfigError: a model or an encoder that cannot be read.
    """
    options = Options(
        model=named_model(model) if model is not None and model != "none" else None,
        encoder=Path(encoder) if encoder not in (None, "none") else None,
        seed=seed,
        packaged=model != "none",
        packaged_encoder=encoder != "none",
        orders=orders,
    )
    check(options)
    return options


def run_critics(
    critics: Iterable[Panel], judge_one: Callable[[Panel], Result]
) -> tuple[list[Result], Reasons, Reasons]:
    """Run one critic after another; an error of one does not stop the others.

    Args:
        critics: in the order of the report.
        judge_one: returns a critic's result. Where it raises BadInput the critic does not apply,
            or failed if a person named a model for it; any other error is a failure whose
            traceback is printed.

    Returns:
        Results; (critic, reason) of those that do not apply; (critic, reason) of those that failed.
    """
    results: list[Result] = []
    left_out: list[tuple[str, str]] = []
    failed: list[tuple[str, str]] = []
    for panel in critics:
        try:
            results.append(judge_one(panel))
        except BadInput as error:
            reasons = failed if panel.required else left_out
            reasons.append((panel.name, str(error)))
        except Exception as error:
            traceback.print_exception(error)
            first_line = (str(error).strip().splitlines() or [""])[0][:200]
            reason = f"{type(error).__name__}: {first_line} (traceback on standard error)"
            failed.append((panel.name, reason))
    return results, tuple(left_out), tuple(failed)


@dataclass(frozen=True)
class ComparedTexts:
    """Both sides, at equal lengths by each measure, with the near copies among them.

    Attributes:
        real, generated: texts of both sides.
        sources: text id -> source number, which near copies share.
        equal: measure of length -> both sides cut to equal lengths.
        originals: id of a generated text -> source numbers of the real texts that it is a near copy
            of; only those that have any.
    """

    real: tuple[Document, ...]
    generated: tuple[Document, ...]
    sources: Mapping[str, int]
    equal: Mapping[str, EqualLengths]
    originals: Mapping[str, frozenset[int]] = field(default_factory=dict)

    @classmethod
    def of(cls, documents: Sequence[Document]) -> "ComparedTexts":
        """Group documents by side; the split of generated ones is "generated"."""
        real: list[Document] = []
        generated: list[Document] = []
        for document in documents:
            side = generated if document.split == "generated" else real
            side.append(document)
        copies = near_copies([real, generated])
        equal: dict[str, EqualLengths] = {}
        for measure in MEASURES:
            equal[measure] = equal_lengths(real, generated, measure)
        return cls(tuple(real), tuple(generated), copies.sources, equal, copies.originals)

    @property
    def copies(self) -> tuple[int, int, int]:
        """Numbers of near copies.

        Returns:
            Real texts that are copies of another real one, generated texts that are copies of
            another generated one, and generated texts that are copies of real ones.
        """
        real = {self.sources[document.id] for document in self.real}
        generated = {self.sources[document.id] for document in self.generated}
        num_across = sum(document.id in self.originals for document in self.generated)
        return len(self.real) - len(real), len(self.generated) - len(generated), num_across


@dataclass(frozen=True)
class _Fit:
    """A critic that is fitted to one half of the real texts, and its statistics of other texts."""

    critic: Any
    real: SufficientStatistics
    generated: SufficientStatistics


def judge(
    panel: Panel,
    texts: ComparedTexts,
    seed: int,
    resamples: int = RESAMPLES,
    permutations: int = PERMUTATIONS,
) -> CriticResult:
    """Score both sides with one critic, test their difference, and locate the worst places.

    Args:
        panel: the critic.
        texts: of both sides.
        seed: of all random numbers.
        resamples, permutations: numbers of bootstrap resamples and of permutations, in each
            halving.

    Raises:
        BadInput: the critic does not apply.
    """
    if panel.absent:
        raise BadInput(panel.absent)
    equal = texts.equal[panel.measure]
    generated_by_id = {document.id: document for document in equal.generated}
    # 1. Texts are read once, or for each halving where the critic learns how to read.
    reads_again = panel.learns == "predictions"
    units = [] if reads_again else read_units(panel, equal.documents)
    # 2. A halving that fails is left out; the worst places of a text are those of its first one.
    fits: list[_Fit] = []
    blame: Blame = {}
    error: BadInput | None = None
    for number in range(panel.halvings):
        halving = _halving(panel, texts, equal, number)
        try:
            if reads_again:
                units = read_units(panel, _labelled(equal, halving))
            fit, generated = _fit(panel, units, halving, texts)
        except BadInput as problem:
            error = error or problem
            continue
        fits.append(fit)
        unblamed = [unit for unit in generated if unit.unit_id not in blame]
        blame |= _blame(panel, fit.critic, unblamed, generated_by_id)
    if not fits:
        sides = {"real": texts.real, "generated": texts.generated}
        note = why_short(sides, panel.measure, "take longer texts")
        raise BadInput(f"{error or 'no text could be read'}{note}") from error
    return _combined(panel, fits, blame, texts, seed, resamples, permutations)


def _halving(panel: Panel, texts: ComparedTexts, equal: EqualLengths, number: int) -> Halves:
    """One of the halvings of the real texts; a critic that learns nothing compares all of them."""
    if panel.learns == "nothing":
        return Halves(frozenset(), frozenset(document.id for document in equal.real))
    return halves(texts.real, texts.sources, number)


def read_units(panel: Panel, documents: Sequence[Excerpt]) -> list[Any]:
    """Read texts as the units that a critic scores.

    Raises:
        BadInput: the critic does not apply, or there is too little to judge.
    """
    units = panel.reader(documents)
    if panel.check is not None:
        panel.check(units)
    return units


def _labelled(equal: EqualLengths, halving: Halves) -> list[Excerpt]:
    """All texts, the real ones labelled with the split, train or test, of one halving."""
    real = []
    for document in equal.real:
        split = "train" if document.id in halving.train else "test"
        real.append(replace(document, split=split))
    return [*real, *equal.generated]


def _fit(
    panel: Panel, units: Sequence[Any], halving: Halves, texts: ComparedTexts
) -> tuple[_Fit, list[Any]]:
    """Fit the critic to one half of the real texts and take its statistics of both sides.

    Generated near copies of a text that the critic is fitted to are left out, and compared in a
    halving that does not fit to it.

    Args:
        panel: the critic.
        units: what its reader made of all texts.
        halving: ids of the real texts to fit to, and of those to compare.
        texts: of both sides, with the near copies among them.

    Returns:
        The fitted critic with the sufficient statistics of both sides, near copies as one text; and
        the generated units that it judged.

    Raises:
        BadInput: no generated text is left, or none of a side could be scored.
    """
    # 1. The units to fit to, and those to compare.
    training_sources = {texts.sources[text_id] for text_id in halving.train}
    train = units_among(units, halving.train)
    test = units_among(units, halving.test)
    generated = []
    for unit in units:
        originals = texts.originals.get(unit.unit_id, frozenset())
        if unit.split == "generated" and originals.isdisjoint(training_sources):
            generated.append(unit)
    if not generated:
        raise BadInput(
            "all generated texts are near copies of the real texts that the critic learns from"
        )
    critic = panel.critic if panel.learns == "nothing" else panel.critic.fit(train)
    # 2. The statistics of each side.
    real_statistics = _statistics(panel, critic, "real", test)
    generated_statistics = _statistics(panel, critic, "generated", generated)
    fit = _Fit(
        critic,
        real=one_row_per_source(real_statistics, texts.sources),
        generated=one_row_per_source(generated_statistics, texts.sources),
    )
    return fit, generated


def _statistics(panel: Panel, critic: Any, side: str, units: Sequence[Any]) -> SufficientStatistics:
    """Sufficient statistics of one side. Raises BadInput: none of its texts could be scored."""
    statistics = critic.sufficient_statistics(units)
    num_texts = len(statistics.unit_ids)
    if statistics.total("excluded") == num_texts:
        needs = f"; one needs {panel.needs}" if panel.needs else ""
        raise BadInput(f"{counted(num_texts, f'{side} text')}: none could be scored{needs}")
    return statistics


def _combined(
    panel: Panel,
    fits: Sequence[_Fit],
    blame: Blame,
    texts: ComparedTexts,
    seed: int,
    resamples: int,
    permutations: int,
) -> CriticResult:
    """Combine the halvings: mean scores, intervals over all resamples, one p-value.

    Arguments are those of :func:`judge`, the fit of each halving, and the worst places.
    """
    # 1. Resamples and a test of each halving, from random streams of their own.
    sides: dict[str, list[tuple[Any, SufficientStatistics]]] = {"real": [], "generated": []}
    draws: dict[str, list[Scores]] = {"real": [], "generated": []}
    tests: list[Comparison] = []
    for number, fit in enumerate(fits):
        stream = [panel.name] if number == 0 else [panel.name, number]
        for side, statistics in (("real", fit.real), ("generated", fit.generated)):
            rng = generator(seed, "criticize", *stream, side)
            sides[side].append((fit.critic, statistics))
            draws[side].append(bootstrap_scores(fit.critic, statistics, rng, resamples))
        rng = generator(seed, "criticize", *stream, "difference")
        tests.append(compare(fit.critic, fit.generated, fit.real, rng, permutations, matched=True))
    # 2. One result; parts that are not scored are counted in the first halving.
    unknown = (0, 0)
    if panel.unknown:
        real, generated = fits[0].real, fits[0].generated
        unknown = int(real.total("unknown")), int(generated.total("unknown"))
    equal = texts.equal[panel.measure]
    return CriticResult(
        panel=panel,
        real=estimate_over_halvings(sides["real"], draws["real"]),
        generated=estimate_over_halvings(sides["generated"], draws["generated"]),
        difference=combined_test(tests),
        blame=blame,
        unknown=unknown,
        p_values=tuple(test.p_value for test in tests),
        cut=equal.cut,
        words=_median_lengths(equal),
    )


def _median_lengths(equal: EqualLengths) -> tuple[float, float]:
    """Median words of the real and the generated texts as they are compared."""
    return _median_words(equal.real), _median_words(equal.generated)


def _median_words(documents: Sequence[Document]) -> float:
    """Median number of words, between blanks, of the documents."""
    return float(median(len(document.text.split()) for document in documents))


def estimate_over_halvings(
    sides: Sequence[tuple[Any, SufficientStatistics]], draws: Sequence[Scores]
) -> Estimate:
    """The mean score of one side over halvings, with an interval over the resamples of all.

    So the interval holds the chance of the halving too. A text counts as scored where any halving
    scored it.

    Args:
        sides: for each halving, the fitted critic and its statistics of the side.
        draws: bootstrap scores of each halving.
    """
    low, high = percentile_interval(np.concatenate(draws))
    scored: set[str] = set()
    unscored: set[str] = set()
    scores = []
    for critic, statistics in sides:
        scores.append(critic.score_of(statistics))
        for name, excluded in zip(statistics.unit_ids, statistics.excluded(), strict=True):
            (unscored if excluded else scored).add(name)
    return Estimate(
        value=middle(scores),
        low=low,
        high=high,
        units=len(scored),
        excluded=len(unscored - scored),
        signature=identity_over_halvings([critic for critic, _ in sides]),
    )


def identity_over_halvings(critics: Sequence[Any]) -> str:
    """The identity of a critic that is fitted to several halvings (:func:`.saving.identity`).

    Its checksum is that of all fits; of one fit, the identity that the critic has itself.
    """
    of_first = identity(critics[0])
    if len(critics) == 1:
        return of_first
    return of_first.replace(checksum(critics[0]), checksum(tuple(critics)))


def _blame(panel: Panel, critic: Any, units: Sequence[Any], texts: Mapping[str, Document]) -> Blame:
    """The worst places of generated texts by id; none of a text that is not scored.

    Empty for a critic whose parts are no places in a text.
    """
    if panel.spans is None or not hasattr(critic, "part_values") or not units:
        return {}
    excluded = critic.sufficient_statistics(units).column("excluded") > 0
    blame: Blame = {}
    for unit, parts, is_excluded in zip(units, critic.part_values(units), excluded, strict=True):
        values = by_sentence(parts)
        spans = panel.spans(texts[unit.unit_id], unit, values)
        # critic.blame is the sign that makes higher values worse.
        blame[unit.unit_id] = [] if is_excluded else worst_places(critic.blame * values, spans)
    return blame


def by_sentence(parts: np.ndarray) -> NDArray[np.float64]:
    """The values of a text's parts, those of a grid added up by sentence.

    Args:
        parts: float64 (parts,), or (sentences, entities).
    """
    return parts if parts.ndim == 1 else np.nansum(parts, axis=1)


def worst_places(
    values: NDArray[np.float64], spans: Sequence[tuple[int, int]]
) -> list[tuple[float, tuple[int, int]]]:
    """The at most three worst places of a text, worst first.

    Values of parts with the same span add up; only places above the mean of all count, so none
    where all are equal.

    Args:
        values: badness of each part, nan where it is not scored; float64 (parts,).
        spans: (start, end) of each part in characters; there may be fewer of them.

    Returns:
        (value, span) of each place.
    """
    totals: dict[tuple[int, int], float] = {}
    for value, span in zip(values.tolist(), spans, strict=False):
        if not math.isnan(value):
            totals[span] = totals.get(span, 0.0) + value
    if not totals or np.ptp(list(totals.values())) == 0:
        return []
    mean = float(np.mean(list(totals.values())))
    order = sorted(totals, key=lambda span: -totals[span])
    return [(totals[span], span) for span in order if totals[span] > mean][:3]
