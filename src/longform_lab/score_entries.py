"""Records of one entry of a critic's ``scores``: a metric, a question asked of any critic, or an
evaluation.

:mod:`longform_lab.scoring` goes through the entries and writes what they give.
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
    """An entry of a critic's ``scores``: which predictions it is about, and what is done with them.

    Attributes:
        study, critic, kind, name: where it stands in the parameters; ``kind`` is one of ``KINDS``.
        placed: a Placement, by kind.
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
        """Whether ``data/metrics`` shows the values of a metric; an evaluation may list its few."""
        if not isinstance(self.placed, EvaluationPlacement) or self.placed.shown is None:
            return True
        return metric in self.placed.shown


def read_entries(experiment: Experiment, study: str, critic: str) -> list[Entry]:
    """Every entry of a critic's ``scores``, checked before any file is read.

    Raises:
        ConfigError: a question that is none, or an entry with a wrong setting.
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
    """The records of an entry; progress is printed."""
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
    """The corpora that an entry names, else those of its critic."""
    if entry.placed.corpora is not None:
        return entry.placed.corpora
    return experiment.corpora_of(entry.study, entry.critic)


def _predictions(experiment: Experiment, system: System, critic: str, name: str) -> Predictions:
    return read_predictions(experiment.data / system.predictions(critic, name))


# -- metrics --


def measure(experiment: Experiment, real: System, entry: Entry) -> list[Record]:
    """A fitted metric of every system of a corpus, each with its interval.

    Where held-out real text is among the systems, those after it have the test against it beside.

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
            # The critic says which units belong together: groups are what is resampled.
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
    """The metric, fitted to the training texts of a corpus (by default of the corpus itself)."""
    placed: MetricPlacement = entry.placed
    trained_on = replace(real, corpus=placed.train_corpus or real.corpus)
    name = placed.train or placed.predictions
    file = experiment.data / trained_on.predictions(entry.critic, name)
    if not file.is_file() and placed.train is None:
        # Nobody reads real text for this critic, since its metric learns nothing.
        file = experiment.data / first.predictions(entry.critic, placed.predictions)
    predictions = read_predictions(file)
    settings: MetricSettings = entry.settings
    metric = settings.metric(predictions)
    train = _of_split(settings.units(predictions), "train")
    if isinstance(metric, SumScored):
        return metric.fit_units(train)
    return metric.fit(train)


def _of_split(units: Sequence[Any], *splits: str) -> list[Any]:
    return [unit for unit in units if unit.split in splits]


def _units_to_score(experiment: Experiment, system: System, entry: Entry) -> list[Any]:
    """The units of a system's texts that a metric is about."""
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
    """The record of a metric's value for a system."""
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
    else:  # groups were resampled; what is reported is how many units they hold
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
    """What a question needs: a metric, what it learns from, and the texts that it is about.

    Attributes:
        metric: as its settings make it, not yet fitted.
        train: the training units, empty where the metric learns nothing.
        texts: all units of the texts.
    """

    metric: Any
    train: list[Any]
    texts: list[Any]

    @property
    def test(self) -> list[Any]:
        """The units that are not for training."""
        return _of_split(self.texts, "test")

    def fitted(self, train: list[Any]) -> Any:
        """The metric after it has learnt; as it is where there is nothing to learn from."""
        return self.metric.fit(train) if train else self.metric


def answer(experiment: Experiment, entry: Entry) -> list[Record]:
    """Records of one scorer that answers a question that is asked of any critic.

    Args:
        experiment: has the predictions.
        entry: its kind is the question: preferred orders, people's ratings, or corruptions.
    """
    # 1. The texts that are asked about, and those that the metric learns from. Where the entry
    # names none they are the question's corpus, and the one that ``read_as`` gives for it.
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
    """How often the metric prefers the order in which texts were written."""
    placed: QuestionPlacement = entry.placed
    if placed.tasks is not None:
        # Texts are shuffled here.
        tasks = [ShuffleTask(kind, (size,)) for kind, size in placed.tasks]
        scorers = {entry.name.removesuffix(f"_{corpus}"): inputs.metric}
        return order_discrimination(scorers, inputs.test, tasks, train=inputs.train)
    # The corpus has permutations of its documents, perhaps of those for training too: then the
    # metric learns to tell them apart, else it learns from the documents as they were written.
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
    """The metric's value of each rated text, for the stage that compares critics with people."""
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
    """Records of a function of predictions, over the corpora and systems that its entry names.

    ``train`` names the predictions to learn from: the data's own by default; ``previous`` for those
    of the system before; ``with_titles`` for those of the same model with titles, and then only
    systems without titles that have such a twin are evaluated.
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
    """A record with the corpus, system, training seed and variant that its function left open.

    Where a function tells heads of an encoder apart by variant, they become seeds of one variant.
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
