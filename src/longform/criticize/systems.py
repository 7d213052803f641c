"""Several systems beside real text at once: against it, against each other, and their ranks.

All sets of texts are cut to the same lengths (the shortest text of each rank), so that every two of
them compare. A critic that learns is taught by one half of the real texts and never sees the half
that the systems are compared with; the halving is repeated as in
:func:`longform.criticize.judging.criticize`.
"""

import math
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from longform.criticize.copies import near_copies
from longform.criticize.cost import announcement
from longform.criticize.judging import (
    PERMUTATIONS,
    RESAMPLES,
    Reasons,
    estimate_over_halvings,
    options_of,
    read_units,
    run_critics,
)
from longform.criticize.lengths import (
    MEASURES,
    Excerpt,
    Measure,
    cut_to_equal_lengths,
    why_short,
)
from longform.criticize.panels import Panel, panels
from longform.criticize.results_so_far import ResultsSoFar
from longform.criticize.splits import (
    Halves,
    combined_test,
    halves,
    middle,
    one_row_per_source,
    units_among,
)
from longform.datasets.own_texts import Texts, is_named_by_place, place_in_source, read_texts
from longform.documents import Document
from longform.errors import BadInput, InputError, counted
from longform.results import rounded
from longform.statistics.comparisons import Comparison, compare
from longform.statistics.estimates import Estimate, bootstrap_scores
from longform.statistics.intervals import percentile_interval
from longform.statistics.many_tests import holm
from longform.statistics.random_streams import generator
from longform.statistics.sufficient_statistics import SufficientStatistics

REAL = "real"
POWERED = 2.8  # standard errors: 1.96 of a test at .05 and 0.84 of a power of .8
ROUNDING = 1e-12  # share of the largest score within which scores are equal
Scores = NDArray[np.float64]  # (resamples,): a side's score in each bootstrap resample
Draws = dict[str, list[Scores]]  # name of a side -> its bootstrap scores in each halving


@dataclass(frozen=True)
class Rank:
    """A system's place among the systems, 1 for the one that the critic finds best."""

    value: float  # of the score; systems of one score share the mean of their places
    low: float  # 95 % interval over resamples
    high: float


@dataclass(frozen=True)
class SystemResult:
    """One critic's score of one system, compared with its score of real text."""

    estimate: Estimate
    difference: Comparison  # minus real text's score
    corrected_p: float  # p-value of that difference, for all critics and systems (Holm)
    # The smallest difference from real text that a test at .05 sees in 80 of 100; nan: not known.
    detectable: float
    rank: Rank


@dataclass(frozen=True)
class PairResult:
    """The difference between one critic's scores of two systems."""

    first: str
    second: str
    difference: Comparison  # first minus second
    low: float  # 95 % interval of the difference
    high: float
    corrected_p: float  # p-value of the difference, for all critics and pairs (Holm)


@dataclass(frozen=True)
class CriticOnSystems:
    """One critic's scores of real text and of all systems, and its tests between them."""

    panel: Panel
    real: Estimate
    systems: Mapping[str, SystemResult]
    pairs: tuple[PairResult, ...]
    cut: Mapping[str, int]  # texts of each side that were cut to equal lengths


@dataclass(frozen=True)
class SystemsCriticism:
    """The comparison of several systems by all critics."""

    results: tuple[CriticOnSystems, ...]
    left_out: Reasons  # critics that do not apply
    failed: Reasons  # critics that raised an error
    real: Texts
    systems: Mapping[str, Texts]
    paired: bool


Text = TypeVar("Text", bound=Document)


def joined(sides: Mapping[str, Sequence[Text]]) -> list[Text]:
    """The texts of all sides, one side after another."""
    documents: list[Text] = []
    for side in sides.values():
        documents += side
    return documents


@dataclass(frozen=True)
class ComparedSides:
    """Real text and all systems at equal lengths by each measure, and near copies among them."""

    sides: Mapping[str, tuple[Document, ...]]  # the real texts under ``REAL``
    sources: Mapping[str, int]  # text id -> source number, which near copies share
    originals: Mapping[
        str, frozenset[int]
    ]  # text id of a system -> sources of real texts it copies
    excerpts: Mapping[Measure, Mapping[str, tuple[Excerpt, ...]]]  # measure -> side -> its texts
    cut: Mapping[Measure, Mapping[str, int]]  # measure -> side -> number of texts that were cut
    pairs: Mapping[str, str]  # text id of a system -> its prompt's name; empty where not paired

    @classmethod
    def of(cls, real: Texts, systems: Mapping[str, Texts], paired: bool) -> "ComparedSides":
        """Label, group and cut the texts of all sides; ids become ``<side>/<id>``.

        Raises:
            InputError: ``paired``, and the systems have different texts.
        """
        # 1. Ids that begin with the name of the side.
        sides: dict[str, tuple[Document, ...]] = {}
        for name, texts in {REAL: real, **systems}.items():
            split = "test" if name == REAL else "generated"
            side = []
            for document in texts.documents:
                side.append(replace(document, id=f"{name}/{document.id}", split=split))
            sides[name] = tuple(side)
        # 2. Near copies, and equal lengths by each measure.
        copies = near_copies(list(sides.values()))
        excerpts: dict[Measure, dict[str, tuple[Excerpt, ...]]] = {}
        cut: dict[Measure, dict[str, int]] = {}
        for measure in MEASURES:
            shortened, counts = cut_to_equal_lengths(list(sides.values()), measure)
            excerpts[measure] = dict(zip(sides, shortened, strict=True))
            cut[measure] = dict(zip(sides, counts, strict=True))
        pairs = prompts(systems) if paired else {}
        return cls(sides, copies.sources, copies.originals, excerpts, cut, pairs)

    def documents(self) -> list[Document]:
        """The texts of all sides, whole."""
        return joined(self.sides)

    def why_short(self, measure: Measure) -> str:
        """Which system's short texts all sides are cut to, in brackets; empty for none."""
        several = len(self.sides) > 2
        advice = "leave {} out, or take longer texts of it" if several else "take longer texts"
        return why_short(self.sides, measure, advice)


def prompts(systems: Mapping[str, Texts]) -> dict[str, str]:
    """Map each text's id, ``<system>/<id>``, to the name of its prompt.

    A prompt is named by the text's id where systems have the same ids, or one of their own in
    common, else by the text's number in its file (``text 3``).

    Raises:
        InputError: the systems have different numbers of texts, so that nothing says which belong
            together, or one lacks a prompt of another.
    """
    # 1. Every system has as many texts.
    ids: dict[str, list[str]] = {}
    counts: set[int] = set()
    distinct_ids: set[frozenset[str]] = set()
    for name, texts in systems.items():
        ids[name] = [document.id for document in texts.documents]
        counts.add(len(ids[name]))
        distinct_ids.add(frozenset(ids[name]))
    if len(counts) > 1:
        sizes = ", ".join(f"{name} {len(of_system)}" for name, of_system in ids.items())
        raise InputError(
            f"paired: the systems have different numbers of texts ({sizes}); "
            "give one text a prompt to each"
        )
    # 2. Texts of one prompt have one id, or else one place in their files.
    prompts_of = ids  # system -> prompt of each of its texts
    if len(distinct_ids) > 1 and not _have_common_ids(ids.values()):
        prompts_of = {name: _places_in_source(of_system) for name, of_system in ids.items()}
    _check_same_prompts(prompts_of)
    prompt_of_text: dict[str, str] = {}
    for name, of_system in ids.items():
        for text_id, prompt in zip(of_system, prompts_of[name], strict=True):
            prompt_of_text[f"{name}/{text_id}"] = prompt
    return prompt_of_text


def _have_common_ids(ids: Iterable[Sequence[str]]) -> bool:
    """Whether an id that is no place stands in two systems; the ids of a system are distinct."""
    counts: Counter[str] = Counter()
    for of_system in ids:
        counts.update(name for name in of_system if not is_named_by_place(name))
    return max(counts.values(), default=0) > 1


def _places_in_source(ids: Sequence[str]) -> list[str]:
    """Name each text by its number in its file: ``text 1``, ``text 2``, ...

    An id made from a line of a file has the line's number; other ids are numbered in order.
    """
    positions = []
    for row, text_id in enumerate(ids, 1):
        positions.append(f"text {place_in_source(text_id) or row}")
    return positions


def _check_same_prompts(prompts_of: Mapping[str, Sequence[str]]) -> None:
    """Raises InputError: a system has a text of a prompt for which another has none."""
    every_prompt = set.union(*map(set, prompts_of.values()))
    for name, of_system in prompts_of.items():
        missing = sorted(every_prompt - set(of_system))
        if missing:
            raise InputError(
                f"paired: {name} has no text for {', '.join(missing[:3])}, but another system has; "
                "leave these out of all systems, or give the texts ids"
            )


def criticize_systems(
    real: Path | str | Sequence[str],
    systems: Mapping[str, Path | str | Sequence[str]],
    *,
    paired: bool = False,
    model: Path | str | None = None,
    encoder: Path | str | None = None,
    orders: bool = False,
    seed: int = 1234,
    progress: Callable[[Sequence[Panel]], Iterable[Panel]] = iter,
    results: Path | str | None = None,
) -> SystemsCriticism:
    """Compare texts of several systems with real ones, under every critic that applies.

    Args:
        real: as in :func:`longform.criticize.criticize`; two texts at least.
        systems: texts of each system by its name, likewise.
        paired: whether the systems wrote from the same prompts: texts with one id, or else of one
            place, are then compared with each other.
        model, encoder, orders, seed, progress, results: as in :func:`longform.criticize.criticize`.

    Raises:
        InputError: no system, a system without texts, fewer than two real texts, or ``paired``
            where nothing says which texts belong together.
        ConfigError: a model or an encoder that is named and cannot be read.
    """
    # 1. Texts of all sides, and what a person brings.
    options = options_of(model, encoder, seed, orders)
    real_texts, texts = _read_all(real, systems)
    sides = ComparedSides.of(real_texts, texts, paired)
    critics = panels(options)
    print(announcement(critics, real_texts, *texts.values()), file=sys.stderr)
    # 2. Every critic, unless its result is there from an earlier run.
    path = Path(results) if results is not None else None
    so_far = ResultsSoFar(path, sides.documents(), options, paired)

    def judge_or_take_back(panel: Panel) -> CriticOnSystems:
        """An earlier run's result of this critic, else a new one, which is saved."""
        record = so_far.find_record(panel)
        if record is not None:
            return result_from(panel, record)
        result = judge_systems(panel, sides, seed)
        so_far.add_record(panel, record_of(result))
        return result

    critic_results, left_out, failed = run_critics(progress(critics), judge_or_take_back)
    corrected = with_corrected_p_values(critic_results)
    return SystemsCriticism(tuple(corrected), left_out, failed, real_texts, texts, paired)


def _read_all(
    real: Path | str | Sequence[str], systems: Mapping[str, Path | str | Sequence[str]]
) -> tuple[Texts, dict[str, Texts]]:
    """Read the texts of all sides. Raises InputError: too few of them, or a system named REAL."""
    if not systems:
        raise InputError("no generated texts; give those of at least one system")
    if REAL in systems:
        raise InputError(f"a system is called {REAL!r}, which names the real texts; rename it")
    real_texts = read_texts(real)
    count = len(real_texts.documents)
    if count < 2:
        raise InputError(
            f"got {count} real text, two are needed: one to learn from, one to compare with"
        )
    return real_texts, {name: read_texts(texts) for name, texts in systems.items()}


@dataclass(frozen=True)
class Plan:
    """How long one critic will take, and how small a difference it will detect.

    Attributes:
        name: the critic's name.
        seconds: expected time on one core.
        real: the critic's score of the real texts that it is not fitted to; nan where that is not
            known before the work.
        detectable: system -> the smallest difference from real text that a test at .05 detects
            with a power of .8; nan, not known, where the real texts do not vary.
        reason: why the critic is left out, or why the differences are not known.
    """

    name: str
    seconds: float
    real: float
    detectable: Mapping[str, float]
    reason: str = ""


def plan_systems(
    real: Path | str | Sequence[str],
    systems: Mapping[str, Path | str | Sequence[str]],
    *,
    model: Path | str | None = None,
    encoder: Path | str | None = None,
    orders: bool = False,
    seed: int = 1234,
) -> list[Plan]:
    """Estimate, for each critic, the time and the smallest detectable difference of a comparison.

    The smallest difference is that of a test of one halving, if a system's texts vary as real ones
    do. Critics that are fitted before they can read, or that read with a network, only get a time.

    Args:
        real, systems, model, encoder, orders, seed: as in :func:`criticize_systems`.

    Raises:
        InputError: as :func:`criticize_systems`.
    """
    options = options_of(model, encoder, seed, orders)
    real_texts, texts = _read_all(real, systems)
    sides = ComparedSides.of(real_texts, texts, paired=False)
    num_words = sum(len(document.text.split()) for document in sides.documents())
    plans = []
    for panel in panels(options):
        plans.append(_plan(panel, sides, num_words, seed))
    return plans


def _plan(panel: Panel, sides: ComparedSides, num_words: int, seed: int) -> Plan:
    """Estimate the time of one critic and the smallest differences that it detects.

    ``num_words`` counts those of all texts. The plan has a reason instead of differences where
    these are not known before the work.
    """
    seconds = num_words / panel.pace
    if panel.absent:
        return Plan(panel.name, 0.0, math.nan, {}, panel.absent)
    if panel.learns == "predictions" or panel.spared:
        return Plan(panel.name, seconds, math.nan, {}, "not known before it has read the texts")
    # 1. One halving of the real texts.
    try:
        units = read_units(panel, joined(sides.excerpts[panel.measure]))
        halving = _halving(panel, sides, number=0)
        critic = _fitted(panel, units, halving)
        test = units_among(units, halving.test)
        statistics = _statistics(panel, critic, REAL, test, sides)
    except BadInput as error:
        reason = f"{error}{sides.why_short(panel.measure)}"
        return Plan(panel.name, 0.0, math.nan, {}, reason)
    # 2. The variance of a mean score over a system's texts, if they vary as the real ones do.
    rng = generator(seed, "plan", panel.name)
    variance = _variance(bootstrap_scores(critic, statistics, rng, RESAMPLES))
    # The variance of a mean falls with the number of texts.
    num_scored = len(statistics.unit_ids) - int(statistics.total("excluded"))
    detectable = {}
    for name, side in sides.sides.items():
        if name != REAL:
            variance_of_system = variance * num_scored / len(side)
            # Texts that do not vary say nothing of how others will: 0 would promise too much.
            detectable[name] = POWERED * math.sqrt(variance + variance_of_system) or math.nan
    return Plan(panel.name, seconds, critic.score_of(statistics), detectable)


def _halving(panel: Panel, sides: ComparedSides, number: int) -> Halves:
    """One of the halvings of the real texts; a critic that learns nothing compares all of them."""
    if panel.learns == "nothing":
        real = sides.excerpts[panel.measure][REAL]
        return Halves(frozenset(), frozenset(document.id for document in real))
    return halves(sides.sides[REAL], sides.sources, number)


def _fitted(panel: Panel, units: Sequence[Any], halving: Halves) -> Any:
    """The critic, fitted to one half of the real texts unless it learns nothing."""
    if panel.learns == "nothing":
        return panel.critic
    return panel.critic.fit(units_among(units, halving.train))


def judge_systems(
    panel: Panel,
    sides: ComparedSides,
    seed: int,
    resamples: int = RESAMPLES,
    permutations: int = PERMUTATIONS,
) -> CriticOnSystems:
    """Score all sides with one critic, and test systems against real text and each other.

    ``corrected_p`` still holds the uncorrected p-values: :func:`with_corrected_p_values` corrects
    those of all critics together.

    Args:
        panel: the critic.
        sides: the texts of all systems and real ones, cut as they are compared.
        seed: of all random numbers.
        resamples, permutations: numbers of bootstrap resamples and of permutations, in each
            halving.

    Raises:
        BadInput: the critic does not apply to the real texts or to one of the systems.
    """
    if panel.absent:
        raise InputError(panel.absent)
    try:
        fits = _fits(panel, sides)
    except BadInput as error:
        raise InputError(f"{error}{sides.why_short(panel.measure)}") from error
    draws = _draws(panel, fits, bool(sides.pairs), seed, resamples)
    estimates = {name: _estimate(fits, name, draws[name]) for name in fits[0].sides}
    ranks = _ranks(panel.critic.better, draws, estimates)
    # 1. Each system against real text.
    systems: dict[str, SystemResult] = {}
    for name in fits[0].sides:
        if name == REAL:
            continue
        difference = _test(panel, fits, name, REAL, seed, permutations)
        systems[name] = SystemResult(
            estimate=estimates[name],
            difference=difference,
            corrected_p=difference.p_value,
            detectable=detectable_difference(draws[name], draws[REAL]),
            rank=ranks[name],
        )
    # 2. Each pair of systems.
    pairs = []
    for first, second in combinations(systems, 2):
        difference = _test_of_pair(panel, fits, first, second, seed, permutations)
        gaps = []
        for first_scores, second_scores in zip(draws[first], draws[second], strict=True):
            gaps.append(first_scores - second_scores)
        low, high = percentile_interval(np.concatenate(gaps))
        pairs.append(PairResult(first, second, difference, low, high, difference.p_value))
    return CriticOnSystems(panel, estimates[REAL], systems, tuple(pairs), sides.cut[panel.measure])


@dataclass(frozen=True)
class _Fit:
    """A critic that is fitted to one half of the real texts, and its statistics of each side."""

    critic: Any
    sides: Mapping[str, SufficientStatistics]  # by the side's name


def _fits(panel: Panel, sides: ComparedSides) -> list[_Fit]:
    """Fit the critic to each halving of the real texts, leaving out those that raise BadInput.

    Raises:
        BadInput: every halving raised it; the first one's error.
    """
    excerpts = sides.excerpts[panel.measure]
    # Texts are read once, or for each halving where the critic learns how to read.
    reads_again = panel.learns == "predictions"
    units = [] if reads_again else read_units(panel, joined(excerpts))
    fits: list[_Fit] = []
    error: BadInput | None = None
    for number in range(panel.halvings):
        halving = _halving(panel, sides, number)
        try:
            if reads_again:
                units = read_units(panel, _with_splits(excerpts, halving))
            fits.append(_fit(panel, units, halving, sides))
        except BadInput as problem:
            error = error or problem
    if not fits:
        raise error or InputError("no text could be read")
    return fits


def _with_splits(excerpts: Mapping[str, Sequence[Excerpt]], halving: Halves) -> list[Excerpt]:
    """All texts, the real ones labelled with the split, train or test, of one halving."""
    documents: list[Excerpt] = []
    for name, side in excerpts.items():
        for document in side:
            if name == REAL:
                split = "train" if document.id in halving.train else "test"
                document = replace(document, split=split)
            documents.append(document)
    return documents


def _fit(panel: Panel, units: Sequence[Any], halving: Halves, sides: ComparedSides) -> _Fit:
    """Fit the critic to one half of the real texts, and take its statistics of each side.

    A system's near copies of texts that the critic is fitted to are left out, and compared in a
    halving that does not fit to those. Texts are near copies if they share most words or sentences
    (:mod:`~longform.criticize.copies`).

    Args:
        panel: the critic.
        units: what its reader made of the texts of all sides.
        halving: ids of the real texts to fit to, and of those to compare.
        sides: the names of all sides, and the source number of each text.
    """
    training_sources = {sides.sources[text_id] for text_id in halving.train}
    critic = _fitted(panel, units, halving)
    statistics: dict[str, SufficientStatistics] = {}
    for name in sides.sides:
        if name == REAL:
            compared_units = units_among(units, halving.test)
        else:
            compared_units = _units_of_system(name, units, training_sources, sides)
        statistics[name] = _statistics(panel, critic, name, compared_units, sides)
    return _Fit(critic, statistics)


def _units_of_system(
    name: str, units: Sequence[Any], training_sources: Set[int], sides: ComparedSides
) -> list[Any]:
    """A system's units, without near copies of the texts that the critic was fitted to.

    Args:
        name: the system's name, with which the ids of its units begin.
        units: of all sides.
        training_sources: source numbers of the texts that the critic was fitted to.
        sides: has the source numbers of the real texts that each text copies.
    """
    units_of_system = []
    for unit in units:
        is_of_system = unit.unit_id.startswith(f"{name}/")
        originals = sides.originals.get(unit.unit_id, frozenset())
        if is_of_system and originals.isdisjoint(training_sources):
            units_of_system.append(unit)
    return units_of_system


def _statistics(
    panel: Panel, critic: Any, name: str, units: Sequence[Any], sides: ComparedSides
) -> SufficientStatistics:
    """A critic's sufficient statistics of the side of that name, as rows that are independent.

    Returns:
        One row for each text, near copies together; of paired systems one row for each prompt, in
        the order of the prompts' names, so that rows of two systems belong together.

    Raises:
        InputError: there are no units, or none could be scored.
    """
    if not units:
        raise InputError(
            f"all texts of {name} are near copies of real texts that critics learn from"
        )
    statistics = critic.sufficient_statistics(units)
    if statistics.total("excluded") == len(units):
        needs = f"; one needs {panel.needs}" if panel.needs else ""
        raise InputError(f"{counted(len(units), 'text')} of {name}: none could be scored{needs}")
    if name == REAL or not sides.pairs:
        return one_row_per_source(statistics, sides.sources)
    prompt_names = tuple(sides.pairs[unit] for unit in statistics.unit_ids)
    order = np.argsort(np.array(prompt_names), kind="stable")
    return replace(statistics, unit_ids=prompt_names).take(order)


def _draws(panel: Panel, fits: Sequence[_Fit], paired: bool, seed: int, resamples: int) -> Draws:
    """Bootstrap scores of every side in every halving."""
    draws: Draws = {name: [] for name in fits[0].sides}
    for number, fit in enumerate(fits):
        for name, statistics in fit.sides.items():
            # Paired systems share a random stream, so that all resample the same prompts.
            stream = "prompts" if paired and name != REAL else name
            rng = generator(seed, "systems", panel.name, number, stream)
            draws[name].append(bootstrap_scores(fit.critic, statistics, rng, resamples))
    return draws


def _estimate(fits: Sequence[_Fit], name: str, draws: Sequence[Scores]) -> Estimate:
    """The score of the side of that name over all halvings, with its interval."""
    return estimate_over_halvings([(fit.critic, fit.sides[name]) for fit in fits], draws)


def _test(
    panel: Panel, fits: Sequence[_Fit], first: str, second: str, seed: int, permutations: int
) -> Comparison:
    """Test the difference of two sides' scores, first minus second, over all halvings."""
    tests = []
    for number, fit in enumerate(fits):
        rng = generator(seed, "systems", panel.name, number, first, second)
        sides = fit.sides[first], fit.sides[second]
        tests.append(compare(fit.critic, *sides, rng, permutations, matched=True))
    return combined_test(tests)


def _test_of_pair(
    panel: Panel, fits: Sequence[_Fit], first: str, second: str, seed: int, permutations: int
) -> Comparison:
    """As :func:`_test`, with a p-value that does not depend on which system comes first."""
    if first <= second:
        return _test(panel, fits, first, second, seed, permutations)
    opposite = _test(panel, fits, second, first, seed, permutations)
    return replace(opposite, difference=-opposite.difference)


def detectable_difference(system: Sequence[Scores], real: Sequence[Scores]) -> float:
    """The smallest difference of scores that a test at .05 detects with a power of .8.

    It is ``POWERED`` standard errors of the difference in one halving, the mean over halvings; nan,
    not known, where neither side varies.

    Args:
        system, real: bootstrap scores of both sides in each halving.
    """
    standard_errors = []
    for system_scores, real_scores in zip(system, real, strict=True):
        standard_errors.append(math.sqrt(_variance(system_scores) + _variance(real_scores)))
    return POWERED * middle(standard_errors) or math.nan


def _variance(draws: Scores) -> float:
    """Variance of the finite bootstrap scores, 0 if they differ by rounding; nan if none is."""
    finite = draws[np.isfinite(draws)]
    if not len(finite):
        return math.nan
    rounding = ROUNDING * float(np.max(np.abs(finite)))
    return float(np.var(finite)) if np.ptp(finite) > rounding else 0.0


def _ranks(better: str, draws: Draws, estimates: Mapping[str, Estimate]) -> dict[str, Rank]:
    """Rank of each system by its score, with a 95 % interval over the resamples of all halvings.

    Systems of one score share the mean of their places: two of three that come second have 2.5.

    Args:
        better: "higher", "lower", or else the score nearer to real text's is better.
        draws: bootstrap scores of every side in every halving.
        estimates: the score of every side.
    """
    # 1. The ranks of the scores, to twelve digits: sums of the same numbers may differ in the last.
    names = [name for name in draws if name != REAL]
    scores = np.array([rounded(estimates[name].value) for name in names])
    real_score = np.array(rounded(estimates[REAL].value))
    ranks_of_scores = _ranks_of_rows(_badness(better, scores, real_score)[None])[0]
    # 2. How bad each system is in every resample, and the ranks there.
    badness = []
    for name in names:
        of_halvings = []
        for system, real in zip(draws[name], draws[REAL], strict=True):
            of_halvings.append(_badness(better, system, real))
        badness.append(np.concatenate(of_halvings))
    ranks_of_resamples = _ranks_of_rows(np.stack(badness, axis=1))
    rank_of: dict[str, Rank] = {}
    for name, rank, resampled in zip(names, ranks_of_scores, ranks_of_resamples.T, strict=True):
        rank_of[name] = Rank(float(rank), *percentile_interval(resampled))
    return rank_of


def _ranks_of_rows(badness: Scores) -> Scores:
    """Ranks from 1 in each row, lower is better; ties share the mean of their places.

    What is not finite ranks last.

    Args:
        badness: float64 (rows, systems); so are the ranks.
    """
    values = np.where(np.isfinite(badness), badness, np.inf)
    num_better = (values[:, None, :] < values[:, :, None]).sum(axis=2)
    # A system counts itself among its equals.
    num_equal = (values[:, None, :] == values[:, :, None]).sum(axis=2)
    return num_better + (num_equal + 1) / 2


def _badness(better: str, system: Scores, real: Scores) -> Scores:
    """Turn scores of a system into numbers of which lower is better, whatever the critic prefers.

    Args:
        better: "higher", "lower", or else the score nearer to real text's is better.
        system, real: bootstrap scores of the system and of real text.
    """
    if better == "higher":
        return -system
    if better == "lower":
        return system
    return np.abs(system - real)


def with_corrected_p_values(results: Sequence[CriticOnSystems]) -> list[CriticOnSystems]:
    """Copies of all critics' results, their ``corrected_p`` corrected for the number of tests.

    By Holm's method. Tests against real text are one family, tests between systems another.
    """
    # 1. All p-values of each family.
    against_real: list[float] = []
    between: list[float] = []
    for critic in results:
        for system in critic.systems.values():
            against_real.append(system.difference.p_value)
        for pair in critic.pairs:
            between.append(pair.difference.p_value)
    # 2. Each corrected p-value goes back to its test: both loops run in the same order.
    of_systems = iter(holm(against_real))
    of_pairs = iter(holm(between))
    corrected = []
    for critic in results:
        systems = {}
        for name, system in critic.systems.items():
            systems[name] = replace(system, corrected_p=next(of_systems))
        pairs = []
        for pair in critic.pairs:
            pairs.append(replace(pair, corrected_p=next(of_pairs)))
        corrected.append(replace(critic, systems=systems, pairs=tuple(pairs)))
    return corrected


def record_of(result: CriticOnSystems) -> dict[str, Any]:
    """A critic's result as plain data for JSON, without the critic; see :func:`result_from`."""
    return {
        "real": asdict(result.real),
        "systems": {name: asdict(system) for name, system in result.systems.items()},
        "pairs": [asdict(pair) for pair in result.pairs],
        "cut": dict(result.cut),
    }


def result_from(panel: Panel, record: Mapping[str, Any]) -> CriticOnSystems:
    """A critic's result from the record that :func:`record_of` made of it."""
    systems = {}
    for name, system in record["systems"].items():
        parts = {
            "estimate": Estimate(**system["estimate"]),
            "difference": Comparison(**system["difference"]),
            "rank": Rank(**system["rank"]),
        }
        systems[name] = SystemResult(**{**system, **parts})
    pairs = []
    for pair in record["pairs"]:
        difference = Comparison(**pair["difference"])
        pairs.append(PairResult(**{**pair, "difference": difference}))
    return CriticOnSystems(
        panel, Estimate(**record["real"]), systems, tuple(pairs), dict(record["cut"])
    )
