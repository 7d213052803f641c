"""Any language model on suites of minimal pairs: share of items passed, with intervals and floors.

What is read and counted is what the pipeline's table of beyer2021 counts
(:mod:`longform.critics.surprisal`, :mod:`longform.evaluation.suite_accuracy`). Beside each share
stand the shares of readers that understand nothing of the text, the floors:

- chance: every region's value is drawn at random;
- token count: every token costs the same, ties decided at random;
- without context: the model reads the judged region and what follows alone, ties likewise.
"""

import math
import sys
import time
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from longform.critics.scores import frame
from longform.critics.surprisal.score import ReadItem, SuiteAccuracy, units_from_predictions
from longform.datasets.test_suites.items import Condition, Region, Suite, SuiteItem
from longform.datasets.test_suites.named_suites import SEED, named_suites
from longform.datasets.test_suites.prediction_formulas import (
    METRICS,
    Formula,
    RegionValue,
    evaluate,
    region_values,
)
from longform.errors import InputError, counted
from longform.evaluation.suite_accuracy import pools, suite_accuracy_records
from longform.language_models.named_models import NamedModel, named_model
from longform.results import Record
from longform.statistics.random_streams import generator
from longform.tables import interval, markdown_table, short
from longform.version import __version__

if TYPE_CHECKING:
    import pandas

    from longform.critics.surprisal.read import Encoder
    from longform.language_models.log_probs import LogProbReader

DRAWS = 100  # draws for each item's floors: the mean over 1,000 items is then exact to .002
TIE = 1e-9  # bits: noise that decides between equal values, far below a model's rounding
UNTRAINED = "untrained"
ONE_DECIMAL = 100_000  # parameters from which millions have a first decimal that is not 0
TRIED_TOKENS = 512  # tokens that are read to estimate the time


@dataclass(frozen=True)
class SuiteResult:
    """One suite, or a pool of several.

    Attributes:
        suite: its name.
        items: number of items that were read, copies of others not counted.
        excluded: number of items that are empty or longer than the model's window.
        copies: number of items with the text of another item; in a pool, of one of another suite.
        accuracy: share of items whose predictions hold.
        low, high: Wilson's 95 % interval of the accuracy.
        chance, token_count, without_context: floors: shares of items that pass without
            understanding (see above); nan where a suite has none.
        p_value: of McNemar's exact test against the other model; nan without one, or where both
            answer alike.
    """

    suite: str
    items: int
    excluded: int
    copies: int
    accuracy: float
    low: float
    high: float
    chance: float
    token_count: float
    without_context: float
    p_value: float


@dataclass(frozen=True)
class SuitesReport:
    """One model on several suites.

    Attributes:
        model: its name.
        against: the name of the model that the p-values compare with; empty without one.
        results: a suite each, then pools.
        left_out: suites of which the model can read no item.
        signature: everything that would change the numbers.
    """

    model: str
    against: str
    results: tuple[SuiteResult, ...]
    left_out: tuple[str, ...]
    signature: str

    def to_frame(self) -> "pandas.DataFrame":
        """A row for each suite. Raises ConfigError: pandas is not installed."""
        return frame([asdict(result) for result in self.results])

    def to_record(self) -> dict[str, Any]:
        """Plain data for JSON, with null for nan."""
        rows = []
        for result in self.results:
            row = asdict(result)
            for name, value in row.items():
                if isinstance(value, float) and math.isnan(value):
                    row[name] = None
            rows.append(row)
        return {
            "model": self.model,
            "against": self.against or None,
            "signature": self.signature,
            "left_out": list(self.left_out),
            "suites": rows,
        }

    def markdown(self) -> str:
        """A Markdown table, a row for each suite, with notes on its columns."""
        header = ["suite", "items", "accuracy", "chance", "token count", "without context"]
        if self.against:
            header.append(f"p against {self.against}")
        header.append("")
        # A row for each suite: its accuracy beside the floors, and a remark where one is due.
        rows = []
        for result in self.results:
            row = [result.suite, str(result.items)]
            row.append(interval(result.accuracy, result.low, result.high))
            for floor in (result.chance, result.token_count, result.without_context):
                row.append("" if math.isnan(floor) else short(floor))
            if self.against:
                row.append("" if math.isnan(result.p_value) else f"{result.p_value:.4f}")
            row.append(_remark(result))
            rows.append(row)
        notes = [
            "accuracy: share of items in which the version predicted to be incoherent costs more "
            "bits, with its 95 % interval",
            "chance, token count, without context: what passes without understanding the text",
            f"`{self.signature}`",
        ]
        if self.left_out:
            notes.insert(0, f"left out, too long for the model: {', '.join(self.left_out)}")
        return markdown_table(self.model, header, rows, notes)


def _copies(number: int) -> str:
    """``1 copy``, ``2 copies``."""
    return counted(number, "copy", "copies")


def _remark(result: SuiteResult) -> str:
    """The remark in a suite's row: an interval not above its floors, items left out, copies."""
    floors = np.array([result.chance, result.token_count, result.without_context])
    measured = floors[~np.isnan(floors)]
    highest = max(measured.tolist(), default=math.nan)
    remarks = []
    if result.low <= highest:
        remarks.append("not above its floors")
    if result.excluded:
        remarks.append(f"{counted(result.excluded, 'item')} left out: too long or empty")
    if result.copies:
        remarks.append(f"{_copies(result.copies)} of these items not counted again")
    return "; ".join(remarks)


@dataclass(frozen=True)
class SuitesPlan:
    """What :func:`judge_suites` will read, and how long it will take.

    Attributes:
        model: its name.
        parameters: number of the network's parameters.
        suites, items, tokens: how many will be read; tokens with those of the floors.
        excluded: number of items that are left out, because the model cannot read them whole.
        copies: number of items that are left out, because another one has the same text.
        seconds: an estimate, from the time of a few hundred tokens.
    """

    model: str
    parameters: int
    suites: int
    items: int
    tokens: int
    excluded: int
    copies: int
    seconds: float

    def text(self) -> str:
        """One line."""
        parameters = f"{self.parameters:,}"
        if self.parameters >= ONE_DECIMAL:
            parameters = f"{self.parameters / 1e6:.1f} million"
        left_out = f"{self.excluded} left out: too long or empty"
        if self.copies:
            left_out = f"{left_out}; {_copies(self.copies)} not counted again"
        return (
            f"{self.model}: {parameters} parameters; {counted(self.suites, 'suite')}, "
            f"{counted(self.items, 'item')} ({left_out}), {counted(self.tokens, 'token')} with "
            "those of the floors; "
            f"about {max(1, round(self.seconds))} s"
        )


@dataclass(frozen=True)
class OpenedReader:
    """A language model whose weights are loaded, ready to read suites.

    Attributes:
        model: its name and where it lies.
        network: the PyTorch model.
        encoder: turns items into token ids.
        reader: computes the log-probabilities of tokens.
    """

    model: NamedModel
    network: Any
    encoder: "Encoder"
    reader: "LogProbReader"

    @classmethod
    def of(
        cls, model: NamedModel, ends: str, separator: str, untrained: bool = False
    ) -> "OpenedReader":
        """Open a model and try it on a short text.

        Args:
            model: which one.
            ends, separator: of :class:`longform.critics.surprisal.read.Encoder`.
            untrained: give the network new random weights.

        Raises BadInput: it cannot be opened, or is no causal language model.
        """
        from longform.critics.surprisal.read import Encoder
        from longform.language_models.log_probs import open_reader
        from longform.language_models.trial import open_language_model

        with model.opened_folder() as folder:
            tokenizer, network = open_language_model(folder)
        name = model.name
        if untrained:
            network = _untrained(network)
            name = f"{UNTRAINED} {name}"
        encoder = Encoder(tokenizer, ends, separator)
        return cls(model, network, encoder, open_reader(network, label=f"suites {name}"))

    def readable(self, suites: Sequence[Suite]) -> tuple[list[Suite], dict[str, int]]:
        """The suites without items that the model cannot read whole.

        Returns:
            The suites that have items left, and by name of every suite how many are left out.

        Raises InputError: nothing is left.
        """
        from longform.language_models import capacity

        window = capacity.positions(self.network)
        readable, excluded = [], {}
        for suite in suites:
            # An item stays where all its conditions have a token to predict and fit the window.
            items = []
            for item in suite.items:
                lengths = self._lengths(item.conditions)
                if min(lengths) > 1 and (window is None or max(lengths) <= window):
                    items.append(item)
            excluded[suite.name] = len(suite.items) - len(items)
            if items:
                readable.append(replace(suite, items=tuple(items)))
        if not readable:
            room = "any number of tokens" if window is None else counted(window, "token")
            raise InputError(
                f"{self.model.name} reads {room}, and no item of "
                f"{counted(len(suites), 'suite')} fits; shorten the texts or take another model"
            )
        return readable, excluded

    def _lengths(self, conditions: Iterable[Condition]) -> list[int]:
        """How many tokens each condition of a test suite has, with begin and end tokens.

        A condition is a version of an item's text, cut into regions, which the encoder joins.
        """
        contents = []
        for condition in conditions:
            contents.append([region.content for region in condition.regions])
        return [len(token_ids) for token_ids, _regions in self.encoder.rows(contents)]

    def tokens(self, suites: Sequence[Suite]) -> int:
        """How many tokens the suites have."""
        from longform.critics.surprisal.read import conditions_of

        return sum(self._lengths(condition for _, _, condition in conditions_of(suites)))

    def read(self, suites: Sequence[Suite]) -> list[ReadItem]:
        """Read every item: the surprisal in bits of each token, by condition and region."""
        from longform.critics.surprisal.read import suite_predictions

        return units_from_predictions(suite_predictions(suites, self.encoder, self.reader))

    def seconds_per_token(self) -> float:
        """Seconds that the model needs for a token, measured on ``TRIED_TOKENS`` tokens."""
        from longform.language_models import capacity
        from longform.language_models.trial import trial_row

        row = trial_row(self.encoder.tokenizer, capacity.vocabulary_size(self.network))
        length = capacity.window_size(self.network, len(row))
        rows = []
        for number in range(TRIED_TOKENS // length):
            # Another first token in each row: the reader reads equal rows only once.
            first = number % capacity.vocabulary_size(self.network)
            rows.append((first, *row[1:length]))
        start = time.monotonic()
        self.reader.read(rows)
        return (time.monotonic() - start) / (len(rows) * length)


def _untrained(network: Any) -> Any:
    """A network of the same architecture, device and dtype with seeded random weights."""
    import torch

    torch.manual_seed(SEED)
    fresh = type(network)(network.config)
    return fresh.to(device=network.device, dtype=network.dtype).eval().requires_grad_(False)


def judge_suites(
    model: str | Path,
    suites: str | Path | Sequence[str | Path | Suite],
    *,
    against: str | Path | None = None,
    metric: str | None = None,
    ends: str = "bos",
    separator: str = "eos",
    seed: int = SEED,
    announce: Callable[[SuitesPlan], Any] = lambda plan: print(plan.text(), file=sys.stderr),
) -> SuitesReport:
    """A model's accuracy on suites of minimal pairs, beside its floors.

    Args:
        model: a name of :mod:`longform.language_models.named_models`.
        suites: names of :mod:`longform.datasets.test_suites.named_suites`, or suites.
        against: a second model for McNemar's test, or ``untrained`` for the first one's network
            with random weights.
        metric: how the bits of a region's tokens become its value; by default what a suite's file
            says, the mean for beyer2021's suites and the sum for a table's pairs.
        ends, separator: of :class:`longform.critics.surprisal.read.Encoder`.
        seed: of shuffles and floors.
        announce: called with the plan before the work.

    Raises:
        BadInput: a model, a suite or a setting that cannot be used.
    """
    prepared = _prepared(model, suites, metric, ends, separator, seed)
    plan, opened, readable, excluded, copies, bare_suites = prepared
    announce(plan)
    # 1. The model reads every item, and again without context for that floor.
    items = opened.read(readable)
    read_without_context = {}
    if bare_suites:
        for item in opened.read(bare_suites):
            read_without_context[item.unit_id] = item
    # 2. The second model reads what both can read.
    critic = SuiteAccuracy()
    other_name = ""
    if against is not None:
        untrained = str(against) == UNTRAINED
        second = opened.model if untrained else named_model(against)
        other_reader = OpenedReader.of(second, ends, separator, untrained)
        shared, _ = other_reader.readable(readable)
        critic = critic.against(other_reader.read(shared))
        other_name = UNTRAINED if untrained else second.name
    # 3. A result for each suite that was read.
    results = _results(
        critic, items, read_without_context, excluded, copies, seed, texts_of(readable)
    )
    left_out = set(excluded)
    left_out.difference_update(suite.name for suite in readable)
    settings = (
        f"metric={metric or 'of each suite'}; ends={ends}; separator={separator}; seed={seed}"
    )
    signature = f"accuracy; {settings}; longform {__version__}"
    return SuitesReport(
        opened.model.name, other_name, tuple(results), tuple(sorted(left_out)), signature
    )


def plan_suites(
    model: str | Path,
    suites: str | Path | Sequence[str | Path | Suite],
    *,
    metric: str | None = None,
    ends: str = "bos",
    separator: str = "eos",
    seed: int = SEED,
) -> SuitesPlan:
    """What :func:`judge_suites` would read, and for how long; arguments as there."""
    return _prepared(model, suites, metric, ends, separator, seed).plan


ItemText = tuple[tuple[str, int, str], ...]  # (condition, region's number, text) of each region


class _Prepared(NamedTuple):
    """A model and the suites that it will read.

    Attributes:
        plan: how much it will read, and how long it takes.
        opened: the model.
        suites: with those of their items that the model can read, without copies.
        excluded: suite's name -> number of items that the model cannot read.
        copies: suite's name -> number of items with the text of an earlier item.
        without_context: the suites without the regions before the judged one, where that is
            possible (see :func:`without_context`).
    """

    plan: SuitesPlan
    opened: OpenedReader
    suites: list[Suite]
    excluded: dict[str, int]
    copies: dict[str, int]
    without_context: list[Suite]


def _prepared(
    model: str | Path,
    suites: str | Path | Sequence[str | Path | Suite],
    metric: str | None,
    ends: str,
    separator: str,
    seed: int,
) -> _Prepared:
    """Open the model and choose what it can read; arguments as of :func:`judge_suites`."""
    # 1. Suites first: a misspelt file should not wait for a network.
    opened_suites, names = list[Suite](), list[str | Path]()
    for suite_or_name in [suites] if isinstance(suites, str | Path) else suites:
        if isinstance(suite_or_name, Suite):
            opened_suites.append(suite_or_name)
        else:
            names.append(suite_or_name)
    if names or not opened_suites:
        opened_suites += named_suites(names, seed=seed)
    if metric is not None:
        if metric not in METRICS:
            raise InputError(f"metric {metric!r}; allowed are {list(METRICS)}")
        opened_suites = [replace(suite, metric=metric) for suite in opened_suites]
    # 2. The model, and what it can read of items that differ.
    opened = OpenedReader.of(named_model(model), ends, separator)
    distinct = [without_copies(suite) for suite in opened_suites]
    copies = {}
    for suite, shorter in zip(opened_suites, distinct, strict=True):
        copies[suite.name] = len(suite.items) - len(shorter.items)
    readable, excluded = opened.readable(distinct)
    bare_suites = []
    for suite in readable:
        shortened = without_context(suite)
        if shortened is not None:
            bare_suites.append(shortened)
    # 3. The plan.
    tokens = opened.tokens([*readable, *bare_suites])
    plan = SuitesPlan(
        model=opened.model.name,
        parameters=sum(part.numel() for part in opened.network.parameters()),
        suites=len(readable),
        items=sum(len(suite.items) for suite in readable),
        tokens=tokens,
        excluded=sum(excluded.values()),
        copies=sum(copies.values()),
        seconds=tokens * opened.seconds_per_token(),
    )
    return _Prepared(plan, opened, readable, excluded, copies, bare_suites)


def without_copies(suite: Suite) -> Suite:
    """The suite without items whose text, in every condition, is that of an earlier item.

    Capitals and blanks make no difference. A model answers such items alike, so that an interval
    over all of them would be too narrow.
    """
    seen = set[ItemText]()
    items = []
    for item in suite.items:
        text = _item_text(item)
        if text not in seen:
            items.append(item)
        seen.add(text)
    return replace(suite, items=tuple(items))


def _item_text(item: SuiteItem) -> ItemText:
    """An item's text, equal for copies: capitals and blanks make no difference."""
    regions = []
    for condition in item.conditions:
        for region in condition.regions:
            text = " ".join(region.content.casefold().split())
            regions.append((condition.name, region.number, text))
    return tuple(regions)


def texts_of(suites: Sequence[Suite]) -> dict[str, Hashable]:
    """Text, metric and predictions of each item, by its id ``suite/number``.

    Two items of which these are equal get equal answers from a model, whatever their suites are.
    """
    texts: dict[str, Hashable] = {}
    for suite in suites:
        for item in suite.items:
            text = _item_text(item), suite.metric, suite.predictions
            texts[f"{suite.name}/{item.number}"] = text
    return texts


def without_context(suite: Suite) -> Suite | None:
    """The suite without the regions before the first judged one.

    Returns:
        None where a prediction is about whole texts, nothing stands before the judged region in any
        item, or a judged region has no text of its own.
    """
    # 1. The first region that a prediction is about; one about a whole text has no number.
    numbers = []
    for formula in suite.formulas():
        for value in region_values(formula):
            if value.region is None:
                return None
            numbers.append(value.region)
    if not numbers:
        return None
    first_judged = min(numbers)
    # 2. Remove the regions before it.
    items = []
    removed = False
    for item in suite.items:
        conditions = []
        for condition in item.conditions:
            before, regions = list[Region](), list[Region]()
            for region in condition.regions:
                (before if region.number < first_judged else regions).append(region)
            removed = removed or _has_text(before)
            if not _has_text(regions):
                return None
            conditions.append(replace(condition, regions=tuple(regions)))
        items.append(replace(item, conditions=tuple(conditions)))
    return replace(suite, items=tuple(items)) if removed else None


def _has_text(regions: Iterable[Region]) -> bool:
    return any(region.content.strip() for region in regions)


def _results(
    critic: SuiteAccuracy,
    items: Sequence[ReadItem],
    read_without_context: Mapping[str, ReadItem],
    excluded: Mapping[str, int],
    copies: Mapping[str, int],
    seed: int,
    item_texts: Mapping[str, Hashable],
) -> list[SuiteResult]:
    """A result for each suite and for each pool of several suites.

    Args:
        critic: counts the items whose predictions hold.
        items: as the model read them.
        read_without_context: items as the model read them without context, by id.
        excluded, copies: how many items of each suite are left out.
        seed: of the floors.
        item_texts: of :func:`texts_of`; a pool counts items of one text once.
    """
    # 1. The floors of each item, by suite.
    floors: dict[str, list[tuple[float, float, float]]] = {}
    for item in items:
        floors_of_suite = floors.setdefault(item.suite, [])
        floors_of_suite.append(item_floors(item, read_without_context.get(item.unit_id), seed))
    # 2. A result for each record; pools have no floors.
    results = []
    records = suite_accuracy_records(critic.describe(items))
    has_copies = len(set(item_texts.values())) < len(item_texts)
    for record in records:
        num_copies = copies.get(str(record.task), 0)
        if record.task not in floors:
            if len(floors) == 1:
                continue  # a pool of one suite is that suite
            if has_copies:
                record, num_copies = _pooled_once(critic, items, item_texts, str(record.task))
        rows = floors.get(str(record.task), [])
        means = np.array(rows).mean(axis=0).tolist() if rows else [math.nan] * 3
        results.append(
            SuiteResult(
                suite=str(record.task),
                items=int(record.details["counts"]["items"]),
                excluded=excluded.get(str(record.task), 0),
                copies=num_copies,
                accuracy=_number(record.value),
                low=_number(record.low),
                high=_number(record.high),
                chance=means[0],
                token_count=means[1],
                without_context=means[2],
                p_value=_number(record.p_value),
            )
        )
    return results


def _pooled_once(
    critic: SuiteAccuracy, items: Sequence[ReadItem], texts: Mapping[str, Hashable], pool: str
) -> tuple[Record, int]:
    """The record of a pool that counts each text once, and how many copies it leaves out.

    Args:
        critic, items: as of :func:`_results`.
        texts: its ``item_texts``.
        pool: its name.
    """
    suites = pools(dict.fromkeys(item.suite for item in items))[pool]
    members = [item for item in items if item.suite in suites]
    first_of: dict[Hashable, ReadItem] = {}
    for item in members:
        first_of.setdefault(texts[item.unit_id], item)
    records = suite_accuracy_records(critic.describe(list(first_of.values())))
    (record,) = [record for record in records if record.task == pool]
    return record, len(members) - len(first_of)


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)


def item_floors(
    item: ReadItem, bare_item: ReadItem | None, seed: int
) -> tuple[float, float, float]:
    """An item's three floors: the share of draws in which its predictions hold.

    Args:
        item: as the model read it.
        bare_item: as the model read it without context; None where it did not.
        seed: of the draws.

    Returns:
        chance, token count, without context (nan where the item was not read so).
    """
    rng = generator(seed, "floors", item.unit_id)
    accuracy = SuiteAccuracy()

    # A reader gives a value to each region; noise of deviation 1 or TIE bits is added to it.
    def constant(region: RegionValue) -> float:
        return 0.0

    def token_count(region: RegionValue) -> float:
        bits = item.bits(region.condition, region.region)
        return METRICS[item.metric](np.ones(len(bits))) if len(bits) else 0.0

    def read_alone(region: RegionValue) -> float:
        assert bare_item is not None
        return accuracy.value(bare_item, region)

    chance = _passed(item.formulas, constant, 1.0, rng)
    by_length = _passed(item.formulas, token_count, TIE, rng)
    without_context_share = (
        math.nan if bare_item is None else _passed(item.formulas, read_alone, TIE, rng)
    )
    return chance, by_length, without_context_share


def _passed(
    formulas: Sequence[Formula],
    value: Callable[[RegionValue], float],
    spread: float,
    rng: np.random.Generator,
) -> float:
    """Share of draws in which all formulas hold of values with noise.

    Args:
        formulas: an item's predictions.
        value: of a region.
        spread: standard deviation of the normal noise that is added to each value.
        rng: draws the noise.
    """
    values: dict[RegionValue, float] = {}
    for formula in formulas:
        for region in region_values(formula):
            values[region] = value(region)
    # Each draw has its mirror image, so that exactly half pass a comparison of equals.
    noise = rng.normal(0.0, spread, (DRAWS // 2, len(values)))
    noise = np.concatenate([noise, -noise])
    columns = {region: column for column, region in enumerate(values)}
    passed = 0
    for row in noise:
        noisy = partial(_noisy, values, columns, row)
        passed += all(evaluate(formula, noisy) for formula in formulas)
    return passed / DRAWS


def _noisy(
    values: Mapping[RegionValue, float],
    columns: Mapping[RegionValue, int],
    noise: np.ndarray,
    region: RegionValue,
) -> float:
    """A region's value plus its noise; ``columns`` says where that stands in the draw's row."""
    return values[region] + float(noise[columns[region]])
