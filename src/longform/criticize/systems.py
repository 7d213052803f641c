"""Several systems beside real text at once: against it, against each other, and their ranks.

All sets of texts are cut to the same lengths (the shortest text of each rank), so that every two of
them compare. A critic that learns is taught by one half of the real texts and never sees the half
that the systems are compared with; the halving is repeated as in
:func:`longform.criticize.judging.criticize`.
"""

import math
import sys
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

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
from longform.criticize.splits import (
    Halves,
    combined_test,
    halves,
    middle,
    one_row_per_source,
    units_among,
)
from longform.datasets.own_texts import Texts, place_in_source, read_texts
from longform.documents import Document
from longform.errors import BadInput, InputError, counted
from longform.statistics.comparisons import Comparison, compare
from longform.statistics.estimates import Estimate, bootstrap_scores
from longform.statistics.intervals import percentile_interval
from longform.statistics.many_tests import holm
from longform.statistics.random_streams import generator
from longform.statistics.sufficient_statistics import SufficientStatistics

REAL = "real"
POWERED = 2.8  # standard errors: 1.96 of a test at .05 and 0.84 of a power of .8
Scores = NDArray[np.float64]  # (resamples,)
Draws = dict[str, list[Scores]]  # by side, of each halving


@dataclass(frozen=True)
class Rank:
    """A system's place among the systems, 1 for the one that the critic finds best."""

    value: float  # middle of the resamples
    low: float
    high: float


@dataclass(frozen=True)
class SystemResult:
    """One critic's word on one system."""

    estimate: Estimate
    difference: Comparison  # minus real text's score
    corrected_p: float  # of that difference, for all critics and systems (Holm)
    detectable: float  # the smallest difference from real text that a test at .05 sees in 80 of 100
    rank: Rank


@dataclass(frozen=True)
class PairResult:
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
    systems: Mapping[str, SystemResult]
    pairs: tuple[PairResult, ...]
    cut: Mapping[str, int]  # texts of each side that were cut to equal lengths


@dataclass(frozen=True)
class SystemsCriticism:
    """What came out for several systems."""

    results: tuple[CriticOnSystems, ...]
    left_out: Reasons  # of those that do not apply
    failed: Reasons  # of those that began and could not end
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
        # 1. Ids that tell the sides apart.
        sides: dict[str, tuple[Document, ...]] = {}
        every_document: list[Document] = []
        for name, texts in {REAL: real, **systems}.items():
            split = "test" if name == REAL else "generated"
            side = []
            for document in texts.documents:
                side.append(replace(document, id=f"{name}/{document.id}", split=split))
            sides[name] = tuple(side)
            every_document += side
        # 2. Near copies, and equal lengths by each measure.
        source_of_id: dict[str, int] = {}
        for document, source in zip(every_document, sources(every_document), strict=True):
            source_of_id[document.id] = source
        excerpts: dict[Measure, dict[str, tuple[Excerpt, ...]]] = {}
        cut: dict[Measure, dict[str, int]] = {}
        for measure in MEASURES:
            shortened, counts = cut_to_equal_lengths(list(sides.values()), measure)
            excerpts[measure] = dict(zip(sides, shortened, strict=True))
            cut[measure] = dict(zip(sides, counts, strict=True))
        pairs = prompts(systems) if paired else {}
        return cls(sides, source_of_id, excerpts, cut, pairs)

    def documents(self) -> list[Document]:
        """The texts of all sides, whole."""
        return joined(self.sides)


def prompts(systems: Mapping[str, Texts]) -> dict[str, str]:
    """The prompt of each text, by its id under its system.

    It is the text's own id where all systems have the same ids, else its number in the file.

    Raises:
        InputError: the systems have different numbers of texts, so that nothing says which belong
            together.
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
    prompts_of = ids
    if len(distinct_ids) > 1:
        prompts_of = {name: _places_in_source(of_system) for name, of_system in ids.items()}
    _check_same_prompts(prompts_of)
    prompt_of_text: dict[str, str] = {}
    for name, of_system in ids.items():
        for text_id, prompt in zip(of_system, prompts_of[name], strict=True):
            prompt_of_text[f"{name}/{text_id}"] = prompt
    return prompt_of_text


def _places_in_source(ids: Sequence[str]) -> list[str]:
    """Where each text stands in its file.

    Those that were set aside are counted if ids say where they were.
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
    """Put the texts of several systems beside real ones, under every critic that applies.

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
    """The texts of all sides. Raises InputError: too few of them, or a name that is taken."""
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
    """What one critic will read, for how long, and what it can show.

    Attributes:
        name: of the critic.
        seconds: on one core.
        real: its score of the real texts that do not teach it; nan where that is not known before
            the work.
        detectable: by system, the smallest difference seen at .05 in 80 of 100.
        reason: why it reads nothing, or why the differences are not known.
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
    """What a comparison will cost and what it can show.

    It follows from the real texts, and from the numbers and lengths of the systems' texts. The
    smallest difference is that of a test of one halving, if a system's texts vary as real ones do.
    Critics that are taught how to read, or that read with a network, are not tried before the work.

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
    """How long a critic takes, and which differences it would see.

    Args:
        panel: the critic.
        sides: the texts of all systems, cut as they are compared.
        num_words: of all texts.
        seed: of the draws.

    Returns:
        The plan; with a reason instead of differences where the critic cannot tell before it reads.
    """
    seconds = num_words / panel.pace
    if panel.absent:
        return Plan(panel.name, 0.0, math.nan, {}, panel.absent)
    if panel.learns == "predictions" or panel.spared:
        return Plan(panel.name, seconds, math.nan, {}, "not known before it has read the texts")
    # 1. One halving of the real texts.
    try:
        units = read_units(panel, joined(sides.excerpts[panel.measure]))
        half = _halving(panel, sides, 0)
        critic = _taught(panel, units, half)
        test = units_among(units, half.test)
        statistics = _statistics(panel, critic, REAL, test, sides)
    except BadInput as error:
        return Plan(panel.name, 0.0, math.nan, {}, str(error))
    # 2. The variance of a mean score over a system's texts, if they vary as the real ones do.
    rng = generator(seed, "plan", panel.name)
    variance = _variance(bootstrap_scores(critic, statistics, rng, RESAMPLES))
    num_scored = len(statistics.unit_ids) - int(statistics.total("excluded"))
    detectable = {}
    for name, side in sides.sides.items():
        if name != REAL:
            variance_of_system = variance * num_scored / len(side)
            detectable[name] = POWERED * math.sqrt(variance + variance_of_system)
    return Plan(panel.name, seconds, critic.score_of(statistics), detectable)


def _halving(panel: Panel, sides: ComparedSides, number: int) -> Halves:
    """The halving of that number; nothing is taken from the comparison by what learns nothing."""
    if panel.learns == "nothing":
        real = sides.excerpts[panel.measure][REAL]
        return Halves(frozenset(), frozenset(document.id for document in real))
    return halves(sides.sides[REAL], sides.sources, number)


def _taught(panel: Panel, units: Sequence[Any], half: Halves) -> Any:
    """The critic as one half of the real texts taught it."""
    if panel.learns == "nothing":
        return panel.critic
    return panel.critic.fit(units_among(units, half.train))


def judge_systems(
    panel: Panel,
    sides: ComparedSides,
    seed: int,
    resamples: int = RESAMPLES,
    permutations: int = PERMUTATIONS,
) -> CriticOnSystems:
    """One critic over all sides; p-values are not yet corrected for the number of critics.

    Args:
        panel: the critic.
        sides: the texts of all systems and real ones, cut as they are compared.
        seed: of every draw.
        resamples, permutations: of each halving.

    Raises:
        BadInput: the critic does not apply to the real texts or to one of the systems.
    """
    if panel.absent:
        raise InputError(panel.absent)
    fits = _fits(panel, sides)
    draws = _draws(panel, fits, bool(sides.pairs), seed, resamples)
    ranks = _ranks(panel, draws)
    # 1. Each system against real text.
    systems: dict[str, SystemResult] = {}
    for name in fits[0].sides:
        if name == REAL:
            continue
        difference = _test(panel, fits, name, REAL, seed, permutations)
        systems[name] = SystemResult(
            estimate=_estimate(fits, name, draws[name]),
            difference=difference,
            corrected_p=difference.p_value,
            detectable=detectable_difference(draws[name], draws[REAL]),
            rank=ranks[name],
        )
    # 2. Each pair of systems.
    pairs = []
    for first, second in combinations(systems, 2):
        difference = _test(panel, fits, first, second, seed, permutations)
        gaps = []
        for first_scores, second_scores in zip(draws[first], draws[second], strict=True):
            gaps.append(first_scores - second_scores)
        low, high = percentile_interval(np.concatenate(gaps))
        pairs.append(PairResult(first, second, difference, low, high, difference.p_value))
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
    # Texts are read once, or for each halving where the critic learns how to read.
    reads_again = panel.learns == "predictions"
    units = [] if reads_again else read_units(panel, joined(excerpts))
    fits: list[_Fit] = []
    error: BadInput | None = None
    for number in range(panel.halvings):
        half = _halving(panel, sides, number)
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
    """One halving.

    A system's copies of a text that taught the critic are left to the other halvings.
    """
    taught = {sides.sources[name] for name in half.train}
    critic = _taught(panel, units, half)
    statistics: dict[str, SufficientStatistics] = {}
    for name in sides.sides:
        if name == REAL:
            chosen = units_among(units, half.test)
        else:
            chosen = _judgeable(name, units, taught, sides)
        statistics[name] = _statistics(panel, critic, name, chosen, sides)
    return _Fit(critic, statistics)


def _judgeable(
    name: str, units: Sequence[Any], taught: Container[int], sides: ComparedSides
) -> list[Any]:
    """A system's units but those whose source taught the critic."""
    judgeable = []
    for unit in units:
        of_system = unit.unit_id.startswith(f"{name}/")
        if of_system and sides.sources[unit.unit_id] not in taught:
            judgeable.append(unit)
    return judgeable


def _statistics(
    panel: Panel, critic: Any, name: str, units: Sequence[Any], sides: ComparedSides
) -> SufficientStatistics:
    """What a critic counts of one side: a row per text, near copies as one, or a row per prompt."""
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
    return combined_test(tests)


def detectable_difference(system: Sequence[Scores], real: Sequence[Scores]) -> float:
    """The difference that a test of one halving at .05 sees with a power of .8.

    Args:
        system, real: resamples of both scores in each halving, whose spread decides.
    """
    errors = []
    for system_scores, real_scores in zip(system, real, strict=True):
        errors.append(math.sqrt(_variance(system_scores) + _variance(real_scores)))
    return POWERED * middle(errors)


def _variance(draws: Scores) -> float:
    finite = draws[np.isfinite(draws)]
    return float(np.var(finite)) if len(finite) else math.nan


def _ranks(panel: Panel, draws: Draws) -> dict[str, Rank]:
    """Each system's rank in every resample of every halving: their middle and 95 % interval."""
    # 1. How bad each system is in every resample; what is not finite ranks last.
    names = [name for name in draws if name != REAL]
    badness = []
    for name in names:
        of_halvings = []
        for system, real in zip(draws[name], draws[REAL], strict=True):
            of_halvings.append(_badness(panel.critic.better, system, real))
        badness.append(np.concatenate(of_halvings))
    values = np.stack(badness, axis=1)  # float64 (resamples, systems)
    values = np.where(np.isfinite(values), values, np.inf)
    # 2. Ranks; ties share the mean of theirs.
    lower = (values[:, None, :] < values[:, :, None]).sum(axis=2)
    equal = (values[:, None, :] == values[:, :, None]).sum(axis=2)
    ranks = lower + (equal + 1) / 2
    rank_of: dict[str, Rank] = {}
    for name, of_system in zip(names, ranks.T, strict=True):
        rank_of[name] = Rank(float(np.median(of_system)), *percentile_interval(of_system))
    return rank_of


def _badness(better: str, system: Scores, real: Scores) -> Scores:
    """A number that is the lower the better the critic finds a system."""
    if better == "higher":
        return -system
    if better == "lower":
        return system
    return np.abs(system - real)


def with_corrected_p_values(results: Sequence[CriticOnSystems]) -> list[CriticOnSystems]:
    """The same with p-values corrected for their number (Holm).

    Those against real text are one family of tests, those between systems another.
    """
    # 1. All p-values of each family.
    against_real: list[float] = []
    between: list[float] = []
    for critic in results:
        for system in critic.systems.values():
            against_real.append(system.difference.p_value)
        for pair in critic.pairs:
            between.append(pair.difference.p_value)
    # 2. Back to where they came from, in the same order.
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
    """A critic's result as JSON."""
    return {
        "real": asdict(result.real),
        "systems": {name: asdict(system) for name, system in result.systems.items()},
        "pairs": [asdict(pair) for pair in result.pairs],
        "cut": dict(result.cut),
    }


def result_from(panel: Panel, record: Mapping[str, Any]) -> CriticOnSystems:
    """The inverse of :func:`record_of`."""
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
