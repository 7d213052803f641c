"""The stage that scores: every metric of a critic crossed with corpora and systems, and what is asked of any critic, as records.

A critic's entry of ``scores`` has ``metrics``, and under each question (its response to corruptions, the orders that it prefers, how it
goes with people's marks) its scorers: ``{NAME: {critic: FACTORY, reading: ..., train: ..., settings}}``. Another key, ``evaluations``,
names functions of readings that return records themselves. All of them are checked before anything is read. NumPy alone.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from longform.core.artefacts import read_readout, write_json
from longform.core.calls import arguments, call, function, module, source_of
from longform.core.critic import (
    Critic,
    Describing,
    Grouping,
    Tally,
    clustered,
    compare,
    estimate,
    signature,
    unit_scores,
)
from longform.core.documents import BadInput, Readout
from longform.core.experiment import Experiment, System, chosen_systems, near
from longform.core.resampling import generator
from longform.core.results import Record, Results, with_fields, write_results
from longform.evaluation.corruption_response import corruption_response, of_failure, of_severity
from longform.evaluation.order_discrimination import TIE, order_discrimination
from longform.text.permutations import ShuffleTask, permuted_documents, written

METRIC = (
    "code",
    "titles",
    "system",
    "critic",
    "metric",
    "variant",
    "reading",
    "train",
    "train_corpus",
    "of",
    "corpora",
    "split",
)
QUESTIONS = {  # question -> the corpus of the study that asks it
    "corruption_response": "corruptions",
    "severities": "wrong_pronoun",
    "order_discrimination": "shuffled_wiki",
    "human_ratings": "summaries",
}
OWN = ("code", "critic", "reading", "train", "train_corpus", "corpus", "tolerance", "tasks")
EVALUATION = ("evaluate", "reading", "train", "train_corpus", "corpora", "of", "variant")
KINDS = {  # key of scores -> what its entries must have, what of them is the stage's own, and what the stage gives
    "metrics": (("critic",), METRIC, ("real",)),
    **dict.fromkeys(QUESTIONS, (("critic", "reading"), OWN, ("real",))),
    "evaluations": (("evaluate", "reading"), EVALUATION, ("train", "texts", "seed", "name", "variant")),
}


def score(experiment: Experiment, study: str, critic: str) -> None:
    """Every metric of a critic for every corpus and system -> ``data/scores/<study>/<critic>.json`` and ``data/metrics``."""
    check(experiment, study, critic)
    records: list[Record] = []
    for name in experiment.settings(study, "critics", critic, "scores").get("metrics", {}):
        settings = experiment.settings(study, "critics", critic, "scores", "metrics", name)
        for corpus in settings.get("corpora", experiment.corpora_of(study, critic)):
            records += _measured(experiment, study, critic, name, settings, corpus)
    records += answers(experiment, study, critic)
    write_results(experiment.data / "scores" / study / f"{critic}.json", records)
    write_json(experiment.data / "metrics" / study / f"{critic}.json", metrics(records))


def check(experiment: Experiment, study: str, critic: str) -> None:
    """Every entry of a critic's ``scores``, before any file is read.

    Raises:
        BadInput: a question that is none, or an entry whose function is not there, lacks a setting or does not take one.
    """
    keys = (study, "critics", critic, "scores")
    for kind in experiment.settings(*keys):
        if kind not in KINDS:
            allowed = list(KINDS)
            raise BadInput(
                f"{'.'.join(keys)} has {kind!r}{near(kind, allowed)}; allowed are {allowed}; fix params.yaml"
            )
        needed, own, given = KINDS[kind]
        for name in experiment.settings(*keys, kind):
            settings = experiment.settings(*keys, kind, name)
            place = ".".join((*keys, kind, name))
            missing = [key for key in needed if key not in settings]
            if missing:
                raise BadInput(
                    f"{place} lacks {missing}; add to params.yaml what every entry of {kind} has: {list(needed)}"
                )
            if kind == "evaluations":
                code, _, wanted = str(settings["evaluate"]).partition(".")
            else:
                code, wanted = source_of(critic, str(settings.get("code", "score"))), str(settings["critic"])
            passed = {key: value for key, value in settings.items() if key not in own}
            arguments(place, function(place, code, wanted), passed, dict.fromkeys(given))


def metrics(records: Sequence[Record]) -> dict[str, Any]:
    """Values alone, nested corpus -> system -> metric, as ``dvc metrics show`` and ``dvc exp show`` print them; means over seeds."""
    found: dict[str, Any] = {}
    for (corpus, name, titles, metric, variant), group in (
        Results(r for r in records if not r.task).groups("corpus", "system", "titles", "metric", "variant").items()
    ):
        chosen = [r for r in group if r.seed is None] or list(group)
        values = [r.value for r in chosen if r.value is not None]
        if len(values) == len(chosen):
            label = metric + (f"_{variant}" if variant else "")
            own = found.setdefault(corpus, {}).setdefault(System("", corpus, name, titles).folder, {})
            own[label] = statistics.fmean(values)
    return found


def _measured(
    experiment: Experiment, study: str, critic: str, name: str, settings: Mapping[str, Any], corpus: str
) -> list[Record]:
    place = f"{study}.critics.{critic}.scores.metrics.{name}"
    reading = str(settings.get("reading", "text"))
    code = str(settings.get("code", "score"))
    source = source_of(critic, code)
    trained_on = System(study, settings.get("train_corpus", corpus))
    systems = [System(study, corpus), *experiment.systems(study, corpus)]
    chosen = [
        s for s in chosen_systems(settings.get("of", "all"), systems) if settings.get("titles", s.titles) == s.titles
    ]
    learned = experiment.data / trained_on.reading(critic, str(settings.get("train", reading)))
    if not learned.is_file() and "train" not in settings:  # real text is not read: the metric learns nothing
        learned = experiment.data / chosen[0].reading(critic, reading)
    train_reading = read_readout(learned)
    own = {key: value for key, value in settings.items() if key not in METRIC}
    made = call(place, function(place, source, str(settings["critic"])), own, real=train_reading)
    units_of = module(place, source).units_from_readout
    fitted = made.fit([unit for unit in units_of(train_reading) if unit.split == "train"])
    split = settings.get("split", "test")
    reference: Sequence[Any] | None = None
    records = []
    for system in chosen:
        file = experiment.data / system.reading(critic, reading)
        if not file.is_file():
            raise BadInput(
                f"{place}: {critic} has no reading {reading!r} of {system.corpus} {system.folder}; fix reading"
            )
        units = [unit for unit in units_of(read_readout(file)) if unit.split in (split, "generated")]
        if system.model == "data":
            reference = units
        record = judged(
            fitted, units, None if system.model == "data" else reference, experiment.seed, f"{place} {system.texts}"
        )
        label = {"critic": critic, "metric": settings.get("metric", name), "variant": settings.get("variant", "")}
        fields = {**system.fields, **({"system": settings["system"]} if "system" in settings else {})}
        records.append(Record(**label, **fields, **record))
        print(f"score {critic} {name}: {system.corpus} {system.folder} {record['value']:.4f}", flush=True)
    return records


def judged(
    critic: Critic[Any], units: Sequence[Any], reference: Sequence[Any] | None, seed: int, name: str
) -> dict[str, Any]:
    """The fields of a record: the score with its interval and, beside a reference, the test against it.

    Args:
        critic: fitted.
        units: what is scored.
        reference: real text of the held-out split, or None where ``units`` is it.
        name: what draws are named after.
    """
    tally = _tallied(critic, units)
    found = estimate(critic, tally, generator(seed, name, "bootstrap"))
    scored = len(units) - found.excluded if len(tally.unit_ids) != len(units) else found.units
    details: dict[str, Any] = {"totals": {column: tally.total(column) for column in tally.columns}}
    if isinstance(critic, Describing):
        details |= critic.describe(units)
    record = {
        "value": found.value, "low": found.low, "high": found.high, "units": scored, "excluded": found.excluded,
        "better": critic.better, "signature": found.signature, "details": details,
    }  # fmt: skip
    if reference is not None:
        real = _tallied(critic, reference)
        test = compare(critic, tally, real, generator(seed, name, "permutation"))
        record |= {
            "reference": critic.score(real), "difference": test.difference, "p_value": test.p_value, "paired": test.paired,
        }  # fmt: skip
    return record


def _tallied(critic: Critic[Any], units: Sequence[Any]) -> Tally:
    """A row per unit, or per group of units where the critic says which belong together: groups are what is resampled."""
    tally = critic.tally(units)
    return clustered(tally, critic.groups(units)) if isinstance(critic, Grouping) else tally


def answers(experiment: Experiment, study: str, critic: str) -> list[Record]:
    """Records of every question that a critic's entry answers."""
    entry = experiment.settings(study, "critics", critic, "scores")
    records: list[Record] = []
    for question, corpus in QUESTIONS.items():
        for name in entry.get(question, {}):
            settings = experiment.settings(study, "critics", critic, "scores", question, name)
            asked = _answer(experiment, study, critic, question, name, settings, settings.get("corpus", corpus))
            records += asked
            print(f"score {critic} {question}: {name}, {len(asked)} records", flush=True)
    for name in entry.get("evaluations", {}):
        records += _evaluated(experiment, study, critic, name)
    return records


def _reading(experiment: Experiment, system: System, critic: str, name: str) -> Readout:
    return read_readout(experiment.data / system.reading(critic, name))


def _answer(
    experiment: Experiment, study: str, critic: str, question: str, name: str, settings: Mapping[str, Any], corpus: str
) -> list[Record]:
    place = f"{study}.critics.{critic}.scores.{question}.{name}"
    read_as = experiment.settings(study).get("read_as", {})
    trained_on = settings.get("train_corpus", read_as.get(corpus, corpus))
    read = str(settings["reading"])
    train = _reading(experiment, System(study, trained_on), critic, str(settings.get("train", read)))
    texts = _reading(experiment, System(study, corpus), critic, read)
    code = str(settings.get("code", "score"))
    source = source_of(critic, code)
    own = {key: value for key, value in settings.items() if key not in OWN}
    scorer = call(place, function(place, source, str(settings["critic"])), own, real=train)
    units_of = module(place, source).units_from_readout
    learnt = [unit for unit in units_of(train) if unit.split == "train"]
    units = [unit for unit in units_of(texts) if unit.split == "test"]
    names = (experiment.seed, place)
    if question == "order_discrimination" and "tasks" in settings:
        tasks = [ShuffleTask(kind, (size,)) for kind, size in settings["tasks"]]
        records = order_discrimination({name.removesuffix(f"_{corpus}"): scorer}, units, tasks, train=learnt)
    elif question == "order_discrimination":
        permuted = trained_on == corpus and any(written(unit.unit_id)[0] != unit.unit_id for unit in learnt)
        fitted = scorer if permuted or not learnt else scorer.fit(learnt)
        records = order_discrimination(
            {name: fitted}, permuted_documents(units), train=permuted_documents(learnt) if permuted else (),
            tolerance=float(settings.get("tolerance", TIE)),
        )  # fmt: skip
    elif question == "human_ratings":
        originals = [unit for unit in learnt if written(unit.unit_id)[0] == unit.unit_id]
        records = [_values(scorer.fit(originals) if originals else scorer, units_of(texts), critic, name)]
    else:
        case = of_failure if question == "corruption_response" else of_severity
        fitted = scorer.fit(learnt) if learnt else scorer
        records = corruption_response(fitted, units, case=case, names=names, name=name)
    if question == "severities":
        records = with_fields(records, critic=critic, task=corpus)
    return with_fields(records, corpus=corpus, system="data")


def _values(scorer: Any, units: Sequence[Any], critic: str, name: str) -> Record:
    """A critic's value of every text, for the stage that holds all critics against people's marks."""
    values = unit_scores(scorer, units)
    shown = [float(value) if np.isfinite(value) else None for value in values]
    details = {"unit_ids": [unit.unit_id for unit in units], "values": shown}
    lost = sum(value is None for value in shown)
    counts: dict[str, Any] = {"units": len(shown) - lost, "excluded": lost}
    signed = signature(scorer)
    return Record(critic, "text_values", task=name, better=scorer.better, signature=signed, details=details, **counts)


def _evaluated(experiment: Experiment, study: str, critic: str, name: str) -> list[Record]:
    """Records of a function of readings, over the corpora and systems that its entry names.

    ``train`` is the reading to learn from: the data's own by default, ``previous`` for that of the system before. Where a
    function tells heads of an encoder apart by ``variant``, they become seeds of one variant.
    """
    settings = experiment.settings(study, "critics", critic, "scores", "evaluations", name)
    place = f"{study}.critics.{critic}.scores.evaluations.{name}"
    code, _, wanted = str(settings.pop("evaluate")).partition(".")
    corpora = settings.pop("corpora", experiment.corpora_of(study, critic))
    variant, read, of = settings.pop("variant", ""), str(settings.pop("reading")), settings.pop("of", "data")
    learn, learn_corpus = str(settings.pop("train", read)), settings.pop("train_corpus", None)
    records: list[Record] = []
    for corpus in corpora:
        before: Readout | None = None
        for system in chosen_systems(of, [System(study, corpus), *experiment.systems(study, corpus)]):
            texts = _reading(experiment, system, critic, read)
            if learn == "previous":
                train = before or texts
            else:
                train = _reading(experiment, System(study, learn_corpus or corpus), critic, learn)
            given = {"train": train, "texts": texts, "seed": experiment.seed, "name": place, "variant": variant}
            found: Sequence[Record] = call(place, function(place, code, wanted), settings, **given)
            found = [replace(record, critic=record.critic or critic) for record in found]
            records += [_labelled(record, system, variant, settings.get("heads", ())) for record in found]
            before = texts
    print(f"score {critic} {name}: {len(records)} records", flush=True)
    return records


def _labelled(record: Record, system: System, variant: str, heads: Sequence[str]) -> Record:
    """A record with the corpus, system and variant that its function left open."""
    single = record.variant in heads and record.variant != ""
    seed = list(heads).index(record.variant) if single else record.seed
    fields: dict[str, Any] = {"corpus": record.corpus or system.corpus, "system": record.system or system.model}
    own = variant if single or not record.variant else record.variant
    return replace(record, **fields, titles=record.titles if record.system else system.titles, variant=own, seed=seed)
