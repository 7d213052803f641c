"""Several systems beside real text at once: each against it, each against the others, and their ranks.

All sets of texts are cut to the same lengths (the shortest text of each rank), so that every two of them
compare. A critic that learns is taught by one half of the real texts and never sees the half that the
systems are compared with; the halving is repeated as in :func:`longform.criticize.judging.criticize`.
"""

import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from longform.criticize.copies import sources
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
from longform.criticize.lengths import MEASURES, Excerpt, Measure, cut_to_equal_lengths
from longform.criticize.panels import Panel, panels
from longform.criticize.results_so_far import ResultsSoFar
from longform.criticize.splits import Halves, combined_p, halves, middle, one_row_per_source
from longform.datasets.own_texts import Texts, place_in_source, read_texts
from longform.documents import Document
from longform.errors import BadInput, InputError
from longform.statistics.comparisons import Comparison, compare
from longform.statistics.estimates import Estimate, bootstrap_scores
from longform.statistics.intervals import percentile_interval
from longform.statistics.many_tests import holm
from longform.statistics.random_streams import generator
from longform.statistics.sufficient_statistics import SufficientStatistics

REAL = "real"
POWERED = 2.8  # standard errors: 1.96 of a test at .05 and 0.84 of a power of .8
Draws = dict[str, list[np.ndarray]]  # by side, of each halving: float64 (resamples,)


@dataclass(frozen=True)
class Rank:
    """A system's place among the systems, 1 for the one that the critic finds best."""

    value: float  # middle of the resamples
    low: float
    high: float


@dataclass(frozen=True)
class SystemJudged:
    """One critic's word on one system."""

    estimate: Estimate
    difference: Comparison  # minus real text's score
    corrected_p: float  # of that difference, for all critics and systems (Holm)
    detectable: float  # the smallest difference from real text that a test at .05 sees in 80 of 100
    rank: Rank


@dataclass(frozen=True)
class PairJudged:
    """One critic's word on two systems."""

    first: str
    second: str
    difference: Comparison  # first minus second
    low: float  # of the difference, 95 %
    high: float
    corrected_p: float  # for all critics and pairs (Holm)


@dataclass(frozen=True)
class CriticOnSystems:
    """One critic's word on all systems."""

    panel: Panel
    real: Estimate
    systems: Mapping[str, SystemJudged]
    pairs: tuple[PairJudged, ...]
    cut: Mapping[str, int]  # texts of each side that were cut to equal lengths


@dataclass(frozen=True)
class SystemsCriticism:
    """What came out for several systems."""

    judged: tuple[CriticOnSystems, ...]
    left_out: Reasons  # of those that do not apply
    failed: Reasons  # of those that began and could not end
    real: Texts
    systems: Mapping[str, Texts]
    paired: bool


@dataclass(frozen=True)
class ComparedSides:
    """Real text and all systems, at equal lengths by each measure, with the near copies among them."""

    sides: Mapping[str, tuple[Document, ...]]  # the real texts under ``REAL``
    sources: Mapping[str, int]  # of each id, the same number for near copies
    excerpts: Mapping[Measure, Mapping[str, tuple[Excerpt, ...]]]
    cut: Mapping[Measure, Mapping[str, int]]
    pairs: Mapping[str, str]  # of each id of a system, its prompt's name; empty where not paired

    @classmethod
    def of(cls, real: Texts, systems: Mapping[str, Texts], paired: bool) -> "ComparedSides":
        """From texts as they were read.

        Raises:
            InputError: ``paired``, and the systems have different texts.
        """
        sides: dict[str, tuple[Document, ...]] = {}
        for name, texts in {REAL: real, **systems}.items():
            split = "test" if name == REAL else "generated"
            sides[name] = tuple(
                replace(document, id=f"{name}/{document.id}", split=split)
                for document in texts.documents
            )
        documents = [document for side in sides.values() for document in side]
        ids = [document.id for document in documents]
        numbers = dict(zip(ids, sources(documents), strict=True))
        excerpts: dict[Measure, dict[str, tuple[Excerpt, ...]]] = {}
        cut: dict[Measure, dict[str, int]] = {}
        for measure in MEASURES:
            shortened, counts = cut_to_equal_lengths(list(sides.values()), measure)
            excerpts[measure] = dict(zip(sides, shortened, strict=True))
            cut[measure] = dict(zip(sides, counts, strict=True))
        pairs = prompts(systems) if paired else {}
        return cls(sides, numbers, excerpts, cut, pairs)


def prompts(systems: Mapping[str, Texts]) -> dict[str, str]:
    """The prompt of each text: its id where all systems have the same ids, else its place in the file.

    Raises:
        InputError: the systems have different numbers of texts, so that nothing says which belong together.
    """
    ids = {name: [document.id for document in texts.documents] for name, texts in systems.items()}
    counts = {name: len(own) for name, own in ids.items()}
    if len(set(counts.values())) > 1:
        listed = ", ".join(f"{name} {count}" for name, count in counts.items())
        raise InputError(
            f"paired: the systems have different numbers of texts ({listed}); give one text a prompt to each"
        )
    if len({frozenset(own) for own in ids.values()}) == 1:
        places = ids
    else:
        places = {name: _places_in_source(own) for name, own in ids.items()}
    _check_same_prompts(places)
    named: dict[str, str] = {}
    for name, own in ids.items():
        for document, place in zip(own, places[name], strict=True):
            named[f"{name}/{document}"] = place
    return named


def _places_in_source(ids: Sequence[str]) -> list[str]:
    """Where each text stands in its file, counting those that were set aside if ids say where they were."""
    places = []
    for row, document in enumerate(ids, 1):
        places.append(f"text {place_in_source(document) or row}")
    return places


def _check_same_prompts(places: Mapping[str, Sequence[str]]) -> None:
    """Raises InputError: a system has a text at a place where another has none."""
    everywhere = set.union(*(set(own) for own in places.values()))
    for name, own in places.items():
        missing = sorted(everywhere - set(own))
        if missing:
            raise InputError(
                f"paired: {name} has nothing to compare for {', '.join(missing[:3])}, where another system has a text; "
                "leave these out of all systems, or give the texts ids"
            )


def criticize_systems(
    real: Path | str | Sequence[str],
    systems: Mapping[str, Path | str | Sequence[str]],
    *,
    paired: bool = False,
    model: Path | str | None = None,
    encoder: Path | str | None = None,
    seed: int = 1234,
    progress: Callable[[Sequence[Panel]], Iterable[Panel]] = iter,
    results: Path | str | None = None,
) -> SystemsCriticism:
    """Put the texts of several systems beside real ones, under every critic that applies.

    Args:
        real: as in :func:`longform.criticize.criticize`; two texts at least.
        systems: texts of each system by its name, likewise.
        paired: whether the systems wrote from the same prompts: texts with one id, or else of one
            place, are then compared with each other.
        model, encoder, seed, progress, results: as in :func:`longform.criticize.criticize`.

    Raises:
        InputError: no system, a system without texts, fewer than two real texts, or ``paired`` where
            nothing says which texts belong together.
        ConfigError: a model or an encoder that is named and cannot be read.
    """
    options = options_of(model, encoder, seed)
    real_texts, texts = _read_all(real, systems)
    sides = ComparedSides.of(real_texts, texts, paired)
    critics = panels(options)
    print(announcement(critics, real_texts, *texts.values()), file=sys.stderr)
    documents = [document for side in sides.sides.values() for document in side]
    path = Path(results) if results is not None else None
    so_far = ResultsSoFar(path, documents, options, paired)

    def judged_or_taken_back(panel: Panel) -> CriticOnSystems:
        record = so_far.find_record(panel)
        if record is not None:
            return judged_from(panel, record)
        judged = judge_systems(panel, sides, seed)
        so_far.add_record(panel, record_of(judged))
        return judged

    judged, left_out, failed = run_critics(progress(critics), judged_or_taken_back)
    corrected = with_corrected_p_values(judged)
    return SystemsCriticism(tuple(corrected), left_out, failed, real_texts, texts, paired)


def _read_all(
    real: Path | str | Sequence[str], systems: Mapping[str, Path | str | Sequence[str]]
) -> tuple[Texts, dict[str, Texts]]:
    """The texts of all sides. Raises InputError: too few of them, or a name that is taken."""
    if not systems:
        raise InputError("no system: give texts of one at least")
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
    """What one critic will read, for how long, and what it can show."""

    name: str
    seconds: float  # on one core
    real: float  # its score of the real texts that do not teach it; nan where that is not known before the work
    detectable: Mapping[str, float]  # by system: smallest difference seen at .05 in 80 of 100
    reason: str = ""  # why it reads nothing, or why the differences are not known


def plan_systems(
    real: Path | str | Sequence[str],
    systems: Mapping[str, Path | str | Sequence[str]],
    *,
    model: Path | str | None = None,
    encoder: Path | str | None = None,
    seed: int = 1234,
) -> list[Plan]:
    """What a comparison will cost and what it can show, from the real texts and the systems' numbers and lengths.

    The smallest difference is that of a test of one halving, if a system's texts vary as real ones do.
    Critics that are taught how to read, or that read with a network, are not tried before the work.

    Raises:
        InputError: as :func:`criticize_systems`.
    """
    options = options_of(model, encoder, seed)
    real_texts, texts = _read_all(real, systems)
    sides = ComparedSides.of(real_texts, texts, paired=False)
    words = 0
    for side in sides.sides.values():
        words += sum(len(document.text.split()) for document in side)
    return [_plan(panel, sides, words, seed) for panel in panels(options)]


def _plan(panel: Panel, sides: ComparedSides, words: int, seed: int) -> Plan:
    seconds = words / panel.pace
    if panel.absent:
        return Plan(panel.name, 0.0, math.nan, {}, panel.absent)
    if panel.learns == "predictions" or panel.spared:
        return Plan(panel.name, seconds, math.nan, {}, "not known before it has read the texts")
    try:
        excerpts = sides.excerpts[panel.measure]
        units = read_units(panel, [document for side in excerpts.values() for document in side])
        half = halves(sides.sides[REAL], sides.sources)
        if panel.learns == "nothing":
            half = Halves(frozenset(), frozenset(document.id for document in excerpts[REAL]))
        train = [unit for unit in units if unit.unit_id in half.train]
        critic = panel.critic if panel.learns == "nothing" else panel.critic.fit(train)
        test = [unit for unit in units if unit.unit_id in half.test]
        statistics = _statistics(panel, critic, REAL, test, sides)
    except BadInput as error:
        return Plan(panel.name, 0.0, math.nan, {}, str(error))
    rng = generator(seed, "plan", panel.name)
    variance = _variance(bootstrap_scores(critic, statistics, rng, RESAMPLES))
    scored = len(statistics.unit_ids) - int(statistics.total("excluded"))
    detectable = {}
    for name, side in sides.sides.items():
        if name != REAL:
            of_system = variance * scored / len(side)
            detectable[name] = POWERED * math.sqrt(variance + of_system)
    return Plan(panel.name, seconds, critic.score_of(statistics), detectable)


def judge_systems(
    panel: Panel,
    sides: ComparedSides,
    seed: int,
    resamples: int = RESAMPLES,
    permutations: int = PERMUTATIONS,
) -> CriticOnSystems:
    """One critic over all sides; p-values are not yet corrected for the number of critics.

    Raises:
        BadInput: the critic does not apply to the real texts or to one of the systems.
    """
    if panel.absent:
        raise InputError(panel.absent)
    fits = _fits(panel, sides)
    draws = _draws(panel, fits, bool(sides.pairs), seed, resamples)
    ranks = _ranks(panel, draws)
    systems: dict[str, SystemJudged] = {}
    for name in fits[0].sides:
        if name == REAL:
            continue
        difference = _test(panel, fits, name, REAL, seed, permutations)
        systems[name] = SystemJudged(
            estimate=_estimate(fits, name, draws[name]),
            difference=difference,
            corrected_p=difference.p_value,
            detectable=detectable_difference(draws[name], draws[REAL]),
            rank=ranks[name],
        )
    pairs = []
    for first, second in combinations(systems, 2):
        difference = _test(panel, fits, first, second, seed, permutations)
        gaps = [one - other for one, other in zip(draws[first], draws[second], strict=True)]
        low, high = percentile_interval(np.concatenate(gaps))
        pairs.append(PairJudged(first, second, difference, low, high, difference.p_value))
    real = _estimate(fits, REAL, draws[REAL])
    return CriticOnSystems(panel, real, systems, tuple(pairs), sides.cut[panel.measure])


@dataclass(frozen=True)
class _Fit:
    """A critic as one halving of the real texts taught it, and what it says of each side."""

    critic: Any
    sides: Mapping[str, SufficientStatistics]


def _fits(panel: Panel, sides: ComparedSides) -> list[_Fit]:
    """The critic on every halving that it can be taught by. Raises BadInput: there is none."""
    excerpts = sides.excerpts[panel.measure]
    documents = [document for side in excerpts.values() for document in side]
    reads_again = panel.learns == "predictions"
    units = [] if reads_again else read_units(panel, documents)
    fits: list[_Fit] = []
    error: BadInput | None = None
    for number in range(panel.halvings):
        if panel.learns == "nothing":
            half = Halves(frozenset(), frozenset(document.id for document in excerpts[REAL]))
        else:
            half = halves(sides.sides[REAL], sides.sources, number)
        try:
            if reads_again:
                units = read_units(panel, _with_splits(excerpts, half))
            fits.append(_fit(panel, units, half, sides))
        except BadInput as problem:
            error = error or problem
    if not fits:
        raise error or InputError("no text could be read")
    return fits


def _with_splits(excerpts: Mapping[str, Sequence[Excerpt]], half: Halves) -> list[Excerpt]:
    """All texts, the real ones in the splits of one halving."""
    documents: list[Excerpt] = []
    for name, side in excerpts.items():
        for document in side:
            if name == REAL:
                split = "train" if document.id in half.train else "test"
                document = replace(document, split=split)
            documents.append(document)
    return documents


def _fit(panel: Panel, units: Sequence[Any], half: Halves, sides: ComparedSides) -> _Fit:
    """One halving. A system's copies of a text that taught the critic are left to the other halvings."""
    taught = {sides.sources[name] for name in half.train}
    train = [unit for unit in units if unit.unit_id in half.train]
    critic = panel.critic if panel.learns == "nothing" else panel.critic.fit(train)
    statistics: dict[str, SufficientStatistics] = {}
    for name in sides.sides:
        if name == REAL:
            chosen = [unit for unit in units if unit.unit_id in half.test]
        else:
            of_system = [unit for unit in units if unit.unit_id.startswith(f"{name}/")]
            chosen = [unit for unit in of_system if sides.sources[unit.unit_id] not in taught]
        statistics[name] = _statistics(panel, critic, name, chosen, sides)
    return _Fit(critic, statistics)


def _statistics(
    panel: Panel, critic: Any, name: str, units: Sequence[Any], sides: ComparedSides
) -> SufficientStatistics:
    """What a critic counts of one side: a row per text, near copies as one, or a row per prompt."""
    if not units:
        raise InputError(f"all texts of {name} are near copies of real texts that teach the critic")
    statistics = critic.sufficient_statistics(units)
    if statistics.total("excluded") == len(units):
        needs = f"; one needs {panel.needs}" if panel.needs else ""
        raise InputError(f"none of the {len(units)} texts of {name} could be scored{needs}")
    if name == REAL or not sides.pairs:
        return one_row_per_source(statistics, sides.sources)
    prompt_names = tuple(sides.pairs[unit] for unit in statistics.unit_ids)
    order = np.argsort(np.array(prompt_names), kind="stable")
    return replace(statistics, unit_ids=prompt_names).take(order)


def _draws(panel: Panel, fits: Sequence[_Fit], paired: bool, seed: int, resamples: int) -> Draws:
    """Bootstrap scores of every side; paired systems are resampled by prompt, all alike."""
    draws: Draws = {name: [] for name in fits[0].sides}
    for number, fit in enumerate(fits):
        for name, statistics in fit.sides.items():
            side = "prompts" if paired and name != REAL else name
            rng = generator(seed, "systems", panel.name, number, side)
            draws[name].append(bootstrap_scores(fit.critic, statistics, rng, resamples))
    return draws


def _estimate(fits: Sequence[_Fit], name: str, draws: Sequence[np.ndarray]) -> Estimate:
    return estimate_over_halvings([(fit.critic, fit.sides[name]) for fit in fits], draws)


def _test(
    panel: Panel, fits: Sequence[_Fit], first: str, second: str, seed: int, permutations: int
) -> Comparison:
    """Whether two sides score alike: the tests of all halvings as one."""
    tests = []
    for number, fit in enumerate(fits):
        rng = generator(seed, "systems", panel.name, number, first, second)
        sides = fit.sides[first], fit.sides[second]
        tests.append(compare(fit.critic, *sides, rng, permutations, matched=True))
    difference = middle([test.difference for test in tests])
    p_value = combined_p([test.p_value for test in tests])
    return Comparison(difference, p_value, all(test.paired for test in tests), permutations)


def detectable_difference(system: Sequence[np.ndarray], real: Sequence[np.ndarray]) -> float:
    """The difference that a test of one halving at .05 sees with a power of .8, from the spread of resamples."""
    errors = []
    for own, reference in zip(system, real, strict=True):
        errors.append(math.sqrt(_variance(own) + _variance(reference)))
    return POWERED * middle(errors)


def _variance(draws: np.ndarray) -> float:
    finite = draws[np.isfinite(draws)]
    return float(np.var(finite)) if len(finite) else math.nan


def _ranks(panel: Panel, draws: Draws) -> dict[str, Rank]:
    """Each system's rank in every resample of every halving: their middle and 95 % interval."""
    names = [name for name in draws if name != REAL]
    badness = []
    for name in names:
        of_halvings = []
        for own, reference in zip(draws[name], draws[REAL], strict=True):
            of_halvings.append(_badness(panel.critic.better, own, reference))
        badness.append(np.concatenate(of_halvings))
    values = np.stack(badness, axis=1)  # float64 (resamples, systems)
    values = np.where(np.isfinite(values), values, np.inf)
    # ties share the mean of their ranks
    lower = (values[:, None, :] < values[:, :, None]).sum(axis=2)
    equal = (values[:, None, :] == values[:, :, None]).sum(axis=2)
    ranks = lower + (equal + 1) / 2
    return {
        name: Rank(float(np.median(column)), *percentile_interval(column))
        for name, column in zip(names, ranks.T, strict=True)
    }


def _badness(better: str, system: np.ndarray, real: np.ndarray) -> np.ndarray:
    """A number that is the lower the better the critic finds a system, float64 (resamples,)."""
    if better == "higher":
        return -system
    if better == "lower":
        return system
    return np.abs(system - real)


def with_corrected_p_values(judged: Sequence[CriticOnSystems]) -> list[CriticOnSystems]:
    """The same with p-values corrected for their number: against real text, and between systems (Holm)."""
    against_real = [one.difference.p_value for critic in judged for one in critic.systems.values()]
    between = [pair.difference.p_value for critic in judged for pair in critic.pairs]
    of_systems = iter(holm(against_real))
    of_pairs = iter(holm(between))
    corrected = []
    for critic in judged:
        systems = {
            name: replace(one, corrected_p=next(of_systems)) for name, one in critic.systems.items()
        }
        pairs = tuple(replace(pair, corrected_p=next(of_pairs)) for pair in critic.pairs)
        corrected.append(replace(critic, systems=systems, pairs=pairs))
    return corrected


def record_of(judged: CriticOnSystems) -> dict[str, Any]:
    """A critic's result as JSON."""
    return {
        "real": asdict(judged.real),
        "systems": {name: asdict(one) for name, one in judged.systems.items()},
        "pairs": [asdict(pair) for pair in judged.pairs],
        "cut": dict(judged.cut),
    }


def judged_from(panel: Panel, record: Mapping[str, Any]) -> CriticOnSystems:
    """The inverse of :func:`record_of`."""
    systems = {}
    for name, one in record["systems"].items():
        parts = {
            "estimate": Estimate(**one["estimate"]),
            "difference": Comparison(**one["difference"]),
            "rank": Rank(**one["rank"]),
        }
        systems[name] = SystemJudged(**{**one, **parts})
    pairs = []
    for pair in record["pairs"]:
        pairs.append(PairJudged(**{**pair, "difference": Comparison(**pair["difference"])}))
    return CriticOnSystems(
        panel, Estimate(**record["real"]), systems, tuple(pairs), dict(record["cut"])
    )
