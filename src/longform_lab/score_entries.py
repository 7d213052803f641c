"""Compute the records of one entry of a critic's ``scores``.

An entry is a metric, a question that any critic can answer (its response to corruptions, preferred
orders, people's ratings), or an evaluation. :mod:`longform_lab.scoring` goes through the entries
and writes their records.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from longform.critics.metrics import MetricSettings
from longform.documents import Predictions
from longform.errors import BadInput, ConfigError, did_you_mean
from longform.evaluation.corruption_response import corruption_response, of_failure, of_severity
from longform.evaluation.order_discrimination import order_discrimination
from longform.evaluation.settings import Evaluation, EvaluationInputs
from longform.files.artefacts import read_predictions
from longform.results import Record
from longform.settings import Settings, parse_kind
from longform.statistics.comparisons import compare
from longform.statistics.estimates import Estimate, estimate
from longform.statistics.protocols import Describing, Grouping
from longform.statistics.random_streams import generator
from longform.statistics.signatures import signature
from longform.statistics.sufficient_statistics import SufficientStatistics, clustered
from longform.statistics.sum_scored import SumScored, unit_scores
from longform.text.permutations import ShuffleTask, permuted_documents, written
from longform_lab.experiment import Experiment, System, systems_of
from longform_lab.settings.critics import EVALUATIONS, METRICS
from longform_lab.settings.entries import EvaluationPlacement, MetricPlacement, QuestionPlacement

QUESTIONS = {  # question -> the corpus of the study that asks it
    "corruption_response": "corruptions",
    "severities": "wrong_pronoun",
    "order_discrimination": "shuffled_wiki",
    "human_ratings": "summaries",
}
METRICS_KEY, EVALUATIONS_KEY = "metrics", "evaluations"
KINDS = (METRICS_KEY, *QUESTIONS, EVALUATIONS_KEY)  # the keys of scores, in the records' order
Placement = MetricPlacement | QuestionPlacement | EvaluationPlacement


@dataclass(frozen=True)
class Entry:
    """An entry of a critic's ``scores``: the predictions that it is about, and what is computed.

    Attributes:
        study, critic, kind, name: its keys in the parameters; ``kind`` is one of ``KINDS``.
        placed: the Placement of its kind: corpora, systems, and names of predictions.
        settings: MetricSettings, or an Evaluation.
    """

    study: str
    critic: str
    kind: str
    name: str
    placed: Any
    settings: Any

    @property
    def place(self) -> str:
        """Its dotted key in the parameters."""
        return f"{self.study}.critics.{self.critic}.scores.{self.kind}.{self.name}"

    def shows(self, metric: str) -> bool:
        """Whether ``data/metrics`` shows a metric: all but those that an evaluation leaves out."""
        if not isinstance(self.placed, EvaluationPlacement) or self.placed.shown is None:
            return True
        return metric in self.placed.shown


def read_entries(experiment: Experiment, study: str, critic: str) -> list[Entry]:
    """Read and check every entry of a critic's ``scores``, before any file is read.

    Raises:
        ConfigError: an unknown kind of entry, or an entry with a wrong setting.
    """
    keys = (study, "critics", critic, "scores")
    scores = experiment.settings(*keys)
    for kind in scores:
        if kind not in KINDS:
            close = did_you_mean(kind, KINDS)
            raise ConfigError(
                f"{'.'.join(keys)} has {kind!r}{close}; allowed are {list(KINDS)}; fix params.yaml"
            )
    entries = []
    for kind in KINDS:
        if kind in scores:
            for name in experiment.settings(*keys, kind):
                entries.append(_read_entry(experiment, study, critic, kind, name))
    return entries


def _read_entry(experiment: Experiment, study: str, critic: str, kind: str, name: str) -> Entry:
    """One entry of a critic's ``scores``. Raises ConfigError: a wrong setting."""
    keys = (study, "critics", critic, "scores", kind, name)
    entry, key = experiment.entry(*keys), ".".join(keys)
    placed: Placement
    settings: Settings
    if kind == METRICS_KEY:
        placed, settings = parse_kind(METRICS, MetricPlacement, entry, key)
    elif kind == EVALUATIONS_KEY:
        placed, settings = parse_kind(EVALUATIONS, EvaluationPlacement, entry, key)
    else:
        placed, settings = parse_kind(METRICS, QuestionPlacement, entry, key)
    return Entry(study, critic, kind, name, placed, settings)


def records_of(experiment: Experiment, entry: Entry) -> list[Record]:
    """Compute the records of an entry, and print progress."""
    if entry.kind == METRICS_KEY:
        records = []
        for corpus in _corpora(experiment, entry):
            records += measure(experiment, System(entry.study, corpus), entry)
        return records
    if entry.kind == EVALUATIONS_KEY:
        records = evaluate(experiment, entry)
    else:
        records = answer(experiment, entry)
    count = f"{len(records)} records"
    print(f"score {entry.critic} {entry.kind}: {entry.name}, {count}", flush=True)
    return records


def _corpora(experiment: Experiment, entry: Entry) -> Sequence[str]:
    """The corpora that an entry names, or else those of its critic."""
    if entry.placed.corpora is not None:
        return entry.placed.corpora
    return experiment.corpora_of(entry.study, entry.critic)


def _predictions(experiment: Experiment, system: System, critic: str, name: str) -> Predictions:
    """Read a critic's predictions of that name for a system's texts."""
    return read_predictions(experiment.data / system.predictions(critic, name))


# -- metrics --


def measure(experiment: Experiment, real: System, entry: Entry) -> list[Record]:
    """Fit a metric and score every system of a corpus, each with its 95 % interval.

    If held-out real text is among the systems, each system after it is also tested against it.

    Args:
        experiment: the parameters, and where predictions lie.
        real: the corpus itself.
        entry: an entry of ``metrics``.

    Raises:
        BadInput: a system has no predictions of the name that the entry gives.
    """
    # 1. The systems of the entry, and the metric, fitted.
    placed: MetricPlacement = entry.placed
    systems = []
    present = [real, *experiment.systems(real.study, real.corpus)]
    for system in systems_of(experiment, placed.of, present):
        if placed.titles in (None, system.titles):
            systems.append(system)
    fitted = _fit(experiment, real, systems[0], entry)
    reference: SufficientStatistics | None = None  # those of real text, once they are computed
    records = []
    for system in systems:
        # 2. The number of a system, with its interval.
        units = _units_to_score(experiment, system, entry)
        statistics = fitted.sufficient_statistics(units)
        if isinstance(fitted, Grouping):
            # Units of a group depend on each other, so whole groups are resampled.
            statistics = clustered(statistics, fitted.groups(units))
        stream = (experiment.seed, f"{entry.place} {system.texts}")
        estimated = estimate(fitted, statistics, generator(*stream, "bootstrap"))
        record = _metric_record(entry, system, fitted, units, statistics, estimated)
        # 3. Its test against real text.
        if system.model == "data":
            reference = statistics
        elif reference is not None:
            test = compare(fitted, statistics, reference, generator(*stream, "permutation"))
            record = replace(
                record,
                reference=fitted.score_of(reference),
                p_value=test.p_value,
                paired=test.paired,
            )
        records.append(record)
        measured = f"{entry.name}: {system.corpus} {system.folder} {estimated.value:.4f}"
        print(f"score {entry.critic} {measured}", flush=True)
    return records


def _fit(experiment: Experiment, real: System, first: System, entry: Entry) -> Any:
    """The entry's metric, fitted to training texts.

    Args:
        experiment: the parameters, and where predictions lie.
        real: the corpus; the entry may name another for training.
        first: the first system that is scored.
        entry: an entry of ``metrics``.
    """
    placed: MetricPlacement = entry.placed
    trained_on = replace(real, corpus=placed.train_corpus or real.corpus)
    name = placed.train or placed.predictions
    file = experiment.data / trained_on.predictions(entry.critic, name)
    if not file.is_file() and placed.train is None:
        # A critic whose metric learns nothing has no predictions for real text; the metric is then
        # made from those of a system.
        file = experiment.data / first.predictions(entry.critic, placed.predictions)
    predictions = read_predictions(file)
    settings: MetricSettings = entry.settings
    metric = settings.metric(predictions)
    train = _of_split(settings.units(predictions), "train")
    if isinstance(metric, SumScored):
        return metric.fit_units(train)
    return metric.fit(train)


def _of_split(units: Sequence[Any], *splits: str) -> list[Any]:
    """The units of these splits."""
    return [unit for unit in units if unit.split in splits]


def _units_to_score(experiment: Experiment, system: System, entry: Entry) -> list[Any]:
    """The units of a system's texts that a metric scores: of one split, or generated.

    Raises:
        BadInput: the system has no predictions of the name that the entry gives.
    """
    placed: MetricPlacement = entry.placed
    file = experiment.data / system.predictions(entry.critic, placed.predictions)
    if not file.is_file():
        where = f"{system.corpus} {system.folder}"
        raise BadInput(
            f"{entry.place}: {entry.critic} has no predictions {placed.predictions!r} of {where}; "
            "fix predictions"
        )
    units = entry.settings.units(read_predictions(file))
    return _of_split(units, placed.split, "generated")


def _metric_record(
    entry: Entry,
    system: System,
    fitted: Any,
    units: Sequence[Any],
    statistics: SufficientStatistics,
    estimated: Estimate,
) -> Record:
    """The record of a metric's value for a system.

    Args:
        entry: of ``metrics``.
        system: the system.
        fitted: the metric.
        units: the texts that were scored.
        statistics: their sufficient statistics, by unit or by group of units.
        estimated: the value with its interval.
    """
    placed: MetricPlacement = entry.placed
    totals = {column: statistics.total(column) for column in statistics.columns}
    details: dict[str, Any] = {"totals": totals}
    cut = sum(getattr(unit, "cut", False) for unit in units)  # texts without an end
    if cut:
        details["cut"] = cut
    if isinstance(fitted, Describing):
        details |= fitted.describe(units)
    if len(statistics.unit_ids) == len(units):
        scored = estimated.units
    else:  # groups were resampled; the number of units in them is reported
        scored = len(units) - estimated.excluded
    fields = system.fields | {"system": placed.system or system.model}
    return Record(
        entry.critic,
        placed.metric or entry.name,
        **fields,
        variant=placed.variant,
        value=estimated.value,
        low=estimated.low,
        high=estimated.high,
        units=scored,
        excluded=estimated.excluded,
        better=fitted.better,
        signature=estimated.signature,
        details=details,
    )


# -- questions asked of any critic --


@dataclass(frozen=True)
class _QuestionInputs:
    """The inputs of a question: a metric, its training units, and the texts that are judged.

    Attributes:
        metric: not yet fitted.
        train: the training units, empty where the metric learns nothing.
        texts: the units of the texts, of all splits.
    """

    metric: Any
    train: list[Any]
    texts: list[Any]

    @property
    def test(self) -> list[Any]:
        """The texts' units of the test split."""
        return _of_split(self.texts, "test")

    def fitted(self, train: list[Any]) -> Any:
        """The metric fitted to training units; unchanged if there are none."""
        return self.metric.fit(train) if train else self.metric


def answer(experiment: Experiment, entry: Entry) -> list[Record]:
    """Compute the records of one scorer's answer to a question that any critic can be asked.

    Args:
        experiment: the parameters, and where predictions lie.
        entry: its kind is a key of ``QUESTIONS``.
    """
    # 1. The texts that are judged and the training texts. By default the former are the question's
    # corpus, and the latter the corpus that ``read_as`` gives for it.
    placed: QuestionPlacement = entry.placed
    settings: MetricSettings = entry.settings
    corpus = placed.corpus or QUESTIONS[entry.kind]
    read_as = experiment.settings(entry.study).get("read_as", {})
    train_corpus = placed.train_corpus or read_as.get(corpus, corpus)
    train_name = placed.train or placed.predictions
    train = _predictions(experiment, System(entry.study, train_corpus), entry.critic, train_name)
    texts = _predictions(experiment, System(entry.study, corpus), entry.critic, placed.predictions)
    inputs = _QuestionInputs(
        metric=settings.metric(train),
        train=_of_split(settings.units(train), "train"),
        texts=list(settings.units(texts)),
    )
    # 2. The question.
    fields: dict[str, Any] = {"corpus": corpus, "system": "data"}
    if entry.kind == "order_discrimination":
        records = _orders_preferred(entry, inputs, corpus, train_corpus)
    elif entry.kind == "human_ratings":
        records = [_values_of_texts(entry, inputs)]
    else:
        records = corruption_response(
            inputs.fitted(inputs.train),
            inputs.test,
            case=of_severity if entry.kind == "severities" else of_failure,
            names=(experiment.seed, entry.place),
            name=entry.name,
        )
        if entry.kind == "severities":
            fields |= {"critic": entry.critic, "task": corpus}
    return [replace(record, **fields) for record in records]


def _orders_preferred(
    entry: Entry, inputs: _QuestionInputs, corpus: str, train_corpus: str
) -> list[Record]:
    """Records of how often the metric prefers texts in the order in which they were written.

    Args:
        entry: of ``order_discrimination``.
        inputs: the metric, its training units and the texts.
        corpus: of the texts.
        train_corpus: of the training units.
    """
    placed: QuestionPlacement = entry.placed
    if placed.tasks is not None:
        # Texts are shuffled here.
        tasks = [ShuffleTask(kind, (size,)) for kind, size in placed.tasks]
        scorers = {entry.name.removesuffix(f"_{corpus}"): inputs.metric}
        return order_discrimination(scorers, inputs.test, tasks, train=inputs.train)
    # The corpus holds permutations of its documents. If there are some of training documents too,
    # the metric learns to tell original from permutation; otherwise it learns from originals.
    learns_permutations = train_corpus == corpus and any(
        written(unit.unit_id)[0] != unit.unit_id for unit in inputs.train
    )
    if learns_permutations:
        scorer, train = inputs.metric, permuted_documents(inputs.train)
    else:
        scorer, train = inputs.fitted(inputs.train), []
    return order_discrimination(
        {entry.name: scorer},
        permuted_documents(inputs.test),
        train=train,
        tolerance=float(placed.tolerance),
    )


def _values_of_texts(entry: Entry, inputs: _QuestionInputs) -> Record:
    """A record with the metric's score of each rated text, for the stage ``ratings``.

    A score that is not finite is None.
    """
    originals = [unit for unit in inputs.train if written(unit.unit_id)[0] == unit.unit_id]
    fitted = inputs.fitted(originals)
    values = []
    for value in unit_scores(fitted, inputs.texts):
        values.append(float(value) if np.isfinite(value) else None)
    excluded = values.count(None)
    unit_ids = [unit.unit_id for unit in inputs.texts]
    return Record(
        entry.critic,
        "text_values",
        task=entry.name,
        better=fitted.better,
        signature=signature(fitted),
        units=len(values) - excluded,
        excluded=excluded,
        details={"unit_ids": unit_ids, "values": values},
    )


# -- evaluations --


def evaluate(experiment: Experiment, entry: Entry) -> list[Record]:
    """Compute the records of an evaluation, over the corpora and systems that its entry names.

    The entry's ``train`` names the predictions that the evaluation learns from: by default those of
    the corpus; ``previous`` for those of the system before; ``with_titles`` for those of the same
    model with titles, and then only systems without titles that have such a twin are evaluated.

    Args:
        experiment: the parameters, and where predictions lie.
        entry: an entry of ``evaluations``.
    """
    placed: EvaluationPlacement = entry.placed
    evaluation: Evaluation = entry.settings
    train_name = placed.train or placed.predictions
    records: list[Record] = []
    for corpus in _corpora(experiment, entry):
        data = System(entry.study, corpus)
        train_corpus = System(entry.study, placed.train_corpus or corpus)
        systems = [data, *experiment.systems(entry.study, corpus)]
        previous: Predictions | None = None
        for system in systems_of(experiment, placed.of, systems):
            # 1. With twins to learn from, only systems without titles that have one are evaluated.
            titled = replace(system, titles=True)
            if train_name == "with_titles" and (
                system.titles is not False or titled not in systems
            ):
                continue
            # 2. What is learnt from.
            texts = _predictions(experiment, system, entry.critic, placed.predictions)
            if train_name == "previous":
                train = previous or texts
            elif train_name == "with_titles":
                train = _predictions(experiment, titled, entry.critic, placed.predictions)
            else:
                train = _predictions(experiment, train_corpus, entry.critic, train_name)
            # 3. The records.
            inputs = EvaluationInputs(
                train=train,
                texts=texts,
                seed=experiment.seed,
                name=entry.place,
                variant=placed.variant,
            )
            for record in evaluation.evaluate(inputs):
                records.append(_completed(record, system, entry))
            previous = texts
    return records


def _completed(record: Record, system: System, entry: Entry) -> Record:
    """Fill in the critic, corpus, system, seed and variant that an evaluation left out of a record.

    An evaluation may name the heads of an encoder by variant: they become seeds of one variant.
    """
    variant, heads = entry.placed.variant, entry.settings.head_names
    if record.variant != "" and record.variant in heads:
        new_variant, seed = variant, heads.index(record.variant)
    else:
        parts = dict.fromkeys((record.variant, variant))  # each once, in this order
        new_variant = "-".join(part for part in parts if part)
        of_the_system = record.seed is None and not record.system
        seed = system.seed if of_the_system else record.seed
    return replace(
        record,
        critic=record.critic or entry.critic,
        corpus=record.corpus or system.corpus,
        system=record.system or system.model,
        titles=record.titles if record.system else system.titles,
        variant=new_variant,
        seed=seed,
    )
