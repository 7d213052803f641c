"""The stage that scores: every metric of a critic crossed with corpora and systems, and what is asked of any critic, as records.

A critic's entry of ``scores`` has ``metrics``, and under each question (its response to corruptions, the orders that it prefers, how it
goes with people's marks) its scorers: ``{NAME: {critic: FACTORY, reading: ..., train: ..., settings}}``. Another key, ``evaluations``,
names functions of predictions that return records themselves. All of them are checked before anything is read. NumPy alone.
"""

import csv
import statistics
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
from longform.files.artefacts import (
    atomic_write,
    read_corpus,
    read_json,
    read_predictions,
    write_json,
)
from longform.results import Record, Results, read_results, write_results
from longform.settings import Settings, parse_kind
from longform.statistics.comparisons import compare
from longform.statistics.estimates import estimate
from longform.statistics.protocols import Describing, Grouping
from longform.statistics.random_streams import generator
from longform.statistics.signatures import signature
from longform.statistics.sufficient_statistics import SufficientStatistics, clustered
from longform.statistics.sum_scored import SumScored, unit_scores
from longform.text.permutations import ShuffleTask, permuted_documents, written
from longform_lab.experiment import Experiment, System, chosen_systems
from longform_lab.settings.critics import EVALUATIONS, METRICS
from longform_lab.settings.entries import (
    EvaluationPlacement,
    MetricPlacement,
    QuestionPlacement,
)

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
    """An entry of a critic's ``scores``: which predictions it is about, and what is done with them."""

    study: str
    critic: str
    kind: str  # one of KINDS
    name: str
    placed: Any  # a Placement, by kind
    settings: Any  # MetricSettings, or an Evaluation

    @property
    def place(self) -> str:
        """Its dotted key in the parameters."""
        return f"{self.study}.critics.{self.critic}.scores.{self.kind}.{self.name}"


def score(experiment: Experiment, study: str, critic: str) -> None:
    """Every metric of a critic for every corpus and system -> ``data/scores/<study>/<critic>.json`` and ``data/metrics``."""
    records: list[Record] = []
    for entry in _entries(experiment, study, critic):
        if entry.kind == METRICS_KEY:
            corpora = entry.placed.corpora
            if corpora is None:
                corpora = experiment.corpora_of(study, critic)
            for corpus in corpora:
                records += _measured(experiment, System(study, corpus), entry)
            continue
        answer = _evaluated if entry.kind == EVALUATIONS_KEY else _answer
        found = answer(experiment, entry)
        print(f"score {critic} {entry.kind}: {entry.name}, {len(found)} records", flush=True)
        records += found
    write_results(experiment.data / "scores" / study / f"{critic}.json", records)
    write_json(experiment.data / "metrics" / study / f"{critic}.json", metrics(records))


def _entries(experiment: Experiment, study: str, critic: str) -> list[Entry]:
    """Every entry of a critic's ``scores``, checked before any file is read.

    Raises:
        ConfigError: a question that is none, or an entry with a wrong setting.
    """
    keys = (study, "critics", critic, "scores")
    listed, entries = experiment.settings(*keys), []
    for kind in listed:
        if kind not in KINDS:
            close = did_you_mean(kind, KINDS)
            raise ConfigError(
                f"{'.'.join(keys)} has {kind!r}{close}; allowed are {list(KINDS)}; fix params.yaml"
            )
    for kind in KINDS:
        for name in experiment.settings(*keys, kind) if kind in listed else ():
            entry, place = experiment.entry(*keys, kind, name), ".".join((*keys, kind, name))
            placed: Placement
            settings: Settings
            if kind == METRICS_KEY:
                placed, settings = parse_kind(METRICS, MetricPlacement, entry, place)
            elif kind == EVALUATIONS_KEY:
                placed, settings = parse_kind(EVALUATIONS, EvaluationPlacement, entry, place)
            else:
                placed, settings = parse_kind(METRICS, QuestionPlacement, entry, place)
            entries.append(Entry(study, critic, kind, name, placed, settings))
    return entries


def ratings(experiment: Experiment, study: str, corpus: str) -> None:
    """Every critic against people's marks at once: correlations, which goes with people better, and combined.

    From the values of single texts that critics wrote beside their scores -> ``data/scores/human_ratings/<corpus>.json``.

    Raises BadInput: no critic of the study scored the rated texts, or the corpus has no marks.
    """
    # here, since it brings scipy.stats along, whose import takes longer than the scoring of some critics
    from longform.evaluation.human_ratings import combined_scorers, rating_records

    found = read_results(experiment.data / "scores" / study).where(
        metric="text_values", corpus=corpus
    )
    text, name = read_corpus(experiment.data / System(study, corpus).texts), f"{study} {corpus}"
    if not found or "marks" not in text.truth:
        raise BadInput(
            f"ratings {name}: {len(found)} critics, marks of the corpus: {'marks' in text.truth}"
        )
    columns = {}
    for record in found:
        values = dict(zip(record.details["unit_ids"], record.details["values"], strict=True))
        column = [values.get(document.id) for document in text.documents]
        columns[record.task] = np.array([np.nan if value is None else value for value in column])
    marks = np.asarray(text.truth["marks"], dtype=np.float64)
    unknown = np.full(len(text.documents), "")
    sources, systems = (
        np.asarray(text.truth.get(key, unknown)).astype(str).tolist()
        for key in ("cluster", "system")
    )
    told: dict[str, tuple[str, str]] = {
        record.task: (record.better, record.signature) for record in found
    }
    records = rating_records(columns, marks, sources, systems, told, name=name)
    records += combined_scorers(columns, np.nanmean(marks, axis=1), sources, name=name)
    place = experiment.data / "scores" / "human_ratings" / f"{corpus}.json"
    write_results(place, [replace(record, corpus=corpus) for record in records])
    print(f"ratings {name}: {len(columns)} scorers, {len(records)} records")


def curve(experiment: Experiment, study: str) -> None:
    """Word PPL and Latent PPL of every system -> ``data/plots/systems.csv``, which ``dvc plots`` draws, one system a line."""
    folder = experiment.data / "metrics" / study
    words, latents = read_json(folder / "perplexity.json"), read_json(folder / "section_order.json")
    rows = [
        (
            corpus,
            system,
            metrics["word_ppl"],
            latents.get(corpus, {}).get(system, {}).get("latent_ppl"),
        )
        for corpus, systems in words.items()
        for system, metrics in systems.items()
    ]
    with (
        atomic_write(experiment.data / "plots" / "systems.csv") as path,
        path.open("w", encoding="utf-8", newline="") as file,
    ):
        csv.writer(file, lineterminator="\n").writerows(
            [("corpus", "system", "word_ppl", "latent_ppl"), *rows]
        )


def metrics(records: Sequence[Record]) -> dict[str, Any]:
    """Values alone, nested corpus -> system -> metric, as ``dvc metrics show`` and ``dvc exp show`` print them; means over seeds."""
    found: dict[str, Any] = {}
    groups = Results(r for r in records if not r.task).groups(
        "corpus", "system", "titles", "metric", "variant"
    )
    for (corpus, name, titles, metric, variant), group in groups.items():
        chosen = [r for r in group if r.seed is None] or list(group)
        values = [r.value for r in chosen if r.value is not None]
        if len(values) == len(chosen):
            own = found.setdefault(corpus, {}).setdefault(
                System("", corpus, name, titles).folder, {}
            )
            own[metric + (f"_{variant}" if variant else "")] = statistics.fmean(values)
    return found


def _measured(experiment: Experiment, real: System, entry: Entry) -> list[Record]:
    """A fitted critic's score of every system with its interval and, beside held-out real text, the test against it."""
    placed: MetricPlacement = entry.placed
    scorer: MetricSettings = entry.settings
    critic, name, place, seed = entry.critic, entry.name, entry.place, experiment.seed
    trained_on = replace(real, corpus=placed.train_corpus or real.corpus)
    named = chosen_systems(placed.of, [real, *experiment.systems(real.study, real.corpus)])
    chosen = [system for system in named if placed.titles in (None, system.titles)]
    learned = experiment.data / trained_on.predictions(critic, placed.train or placed.predictions)
    if not learned.is_file() and placed.train is None:
        # real text is not read: the metric learns nothing
        learned = experiment.data / chosen[0].predictions(critic, placed.predictions)
    train_predictions = read_predictions(learned)
    made, units_of = scorer.metric(train_predictions), scorer.units
    learnt = [unit for unit in units_of(train_predictions) if unit.split == "train"]
    # A critic of ours that learns nothing from real text takes no units at all.
    fitted: Any = made.fit_units(learnt) if isinstance(made, SumScored) else made.fit(learnt)
    reference: SufficientStatistics | None = None
    records = []
    for system in chosen:
        file = experiment.data / system.predictions(critic, placed.predictions)
        if not file.is_file():
            where = f"{system.corpus} {system.folder}"
            raise BadInput(
                f"{place}: {critic} has no predictions {placed.predictions!r} of {where}; "
                "fix predictions"
            )
        wanted = (placed.split, "generated")
        units = [unit for unit in units_of(read_predictions(file)) if unit.split in wanted]
        statistics, draw = fitted.sufficient_statistics(units), (seed, f"{place} {system.texts}")
        if isinstance(
            fitted, Grouping
        ):  # the critic says which units belong together: groups are what is resampled
            statistics = clustered(statistics, fitted.groups(units))
        found = estimate(fitted, statistics, generator(*draw, "bootstrap"))
        details: dict[str, Any] = {
            "totals": {column: statistics.total(column) for column in statistics.columns}
        }
        if cut := sum(getattr(unit, "cut", False) for unit in units):  # texts without an end
            details["cut"] = cut
        if isinstance(fitted, Describing):
            details |= fitted.describe(units)
        record = Record(
            critic, placed.metric or name, **system.fields, variant=placed.variant,
            value=found.value, low=found.low, high=found.high, excluded=found.excluded, better=fitted.better,
            units=len(units) - found.excluded if len(statistics.unit_ids) != len(units) else found.units,
            signature=found.signature, details=details,
        )  # fmt: skip
        if system.model == "data":
            reference = statistics
        elif reference is not None:
            test = compare(fitted, statistics, reference, generator(*draw, "permutation"))
            tested: dict[str, Any] = {"p_value": test.p_value, "paired": test.paired}
            record = replace(record, reference=fitted.score_of(reference), **tested)
        records.append(replace(record, system=placed.system or system.model))
        print(
            f"score {critic} {name}: {system.corpus} {system.folder} {found.value:.4f}", flush=True
        )
    return records


def _predictions(experiment: Experiment, system: System, critic: str, name: str) -> Predictions:
    return read_predictions(experiment.data / system.predictions(critic, name))


def _answer(experiment: Experiment, entry: Entry) -> list[Record]:
    """Records of one scorer that answers a question that is asked of any critic."""
    placed: QuestionPlacement = entry.placed
    metric: MetricSettings = entry.settings
    question, name, place, critic = entry.kind, entry.name, entry.place, entry.critic
    corpus = placed.corpus or QUESTIONS[question]
    read_as = experiment.settings(entry.study).get("read_as", {})
    trained_on = placed.train_corpus or read_as.get(corpus, corpus)
    learned = placed.train or placed.predictions
    train = _predictions(experiment, System(entry.study, trained_on), critic, learned)
    texts = _predictions(experiment, System(entry.study, corpus), critic, placed.predictions)
    scorer, units_of = metric.metric(train), metric.units
    learnt = [unit for unit in units_of(train) if unit.split == "train"]
    units = [unit for unit in units_of(texts) if unit.split == "test"]
    more: dict[str, Any] = {"corpus": corpus, "system": "data"}
    if question == "order_discrimination" and placed.tasks is not None:
        tasks = [ShuffleTask(kind, (size,)) for kind, size in placed.tasks]
        records = order_discrimination(
            {name.removesuffix(f"_{corpus}"): scorer}, units, tasks, train=learnt
        )
    elif question == "order_discrimination":
        permuted = trained_on == corpus and any(
            written(unit.unit_id)[0] != unit.unit_id for unit in learnt
        )
        fitted = scorer if permuted or not learnt else scorer.fit(learnt)
        records = order_discrimination(
            {name: fitted}, permuted_documents(units), train=permuted_documents(learnt) if permuted else (),
            tolerance=float(placed.tolerance),
        )  # fmt: skip
    elif (
        question == "human_ratings"
    ):  # values of texts, for the stage that holds all critics against people's marks
        originals = [unit for unit in learnt if written(unit.unit_id)[0] == unit.unit_id]
        fitted, units = scorer.fit(originals) if originals else scorer, list(units_of(texts))
        shown = [
            float(value) if np.isfinite(value) else None for value in unit_scores(fitted, units)
        ]
        lost = sum(value is None for value in shown)
        records = [Record(
            critic, "text_values", task=name, better=fitted.better, signature=signature(fitted), units=len(shown) - lost,
            excluded=lost, details={"unit_ids": [unit.unit_id for unit in units], "values": shown},
        )]  # fmt: skip
    else:
        case = of_failure if question == "corruption_response" else of_severity
        fitted = scorer.fit(learnt) if learnt else scorer
        records = corruption_response(
            fitted, units, case=case, names=(experiment.seed, place), name=name
        )
        more |= {"critic": critic, "task": corpus} if question == "severities" else {}
    return [replace(record, **more) for record in records]


def _evaluated(experiment: Experiment, entry: Entry) -> list[Record]:
    """Records of a function of predictions, over the corpora and systems that its entry names.

    ``train`` are the predictions to learn from: the data's own by default, ``previous`` for those of the system before,
    ``with_titles`` for those of the same model with titles, and then only systems without that have one are evaluated.
    """
    placed: EvaluationPlacement = entry.placed
    evaluation: Evaluation = entry.settings
    study, critic, read = entry.study, entry.critic, placed.predictions
    corpora = placed.corpora
    if corpora is None:
        corpora = experiment.corpora_of(study, critic)
    learn = placed.train or read
    records: list[Record] = []
    for corpus in corpora:
        before: Predictions | None = None
        known = [System(study, corpus), *experiment.systems(study, corpus)]
        for system in chosen_systems(placed.of, known):
            titled = replace(system, titles=True)
            if learn == "with_titles" and (system.titles is not False or titled not in known):
                continue
            texts = _predictions(experiment, system, critic, read)
            if learn == "previous":
                train = before or texts
            elif learn == "with_titles":
                train = _predictions(experiment, titled, critic, read)
            else:
                learn_corpus = System(study, placed.train_corpus or corpus)
                train = _predictions(experiment, learn_corpus, critic, learn)
            inputs = EvaluationInputs(
                train=train,
                texts=texts,
                seed=experiment.seed,
                name=entry.place,
                variant=placed.variant,
            )
            for record in evaluation.evaluate(inputs):
                records.append(_completed(record, system, entry))
            before = texts
    return records


def _completed(record: Record, system: System, entry: Entry) -> Record:
    """A record with the corpus, system, training seed and variant that its function left open.

    Where a function tells heads of an encoder apart by variant, they become seeds of one variant.
    """
    variant, heads = entry.placed.variant, entry.settings.head_names
    is_head = record.variant != "" and record.variant in heads
    seed = system.seed if record.seed is None and not record.system else record.seed
    both = "-".join(filter(None, dict.fromkeys((record.variant, variant))))
    return replace(
        record,
        critic=record.critic or entry.critic,
        corpus=record.corpus or system.corpus,
        system=record.system or system.model,
        titles=record.titles if record.system else system.titles,
        variant=variant if is_head else both,
        seed=heads.index(record.variant) if is_head else seed,
    )
