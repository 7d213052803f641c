"""The stage that scores: every metric of a critic crossed with corpora and systems, as records. NumPy alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from longform.core.artefacts import read_readout, write_json
from longform.core.calls import call, function, module, source_of
from longform.core.critic import Critic, Describing, Grouping, Tally, clustered, compare, estimate
from longform.core.documents import BadInput
from longform.core.experiment import Experiment, System, chosen_systems
from longform.core.resampling import generator
from longform.core.results import Record, write_results
from longform.pipeline.evaluations import answers

METRIC = (
    "code",
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
    "evaluate",
)


def score(experiment: Experiment, study: str, critic: str) -> None:
    """Every metric of a critic for every corpus and system -> ``data/scores/<study>/<critic>.json`` and ``data/metrics``."""
    records: list[Record] = []
    for name in experiment.settings(study, "critics", critic, "scores").get("metrics", {}):
        settings = experiment.settings(study, "critics", critic, "scores", "metrics", name)
        for corpus in settings.get("corpora", experiment.corpora_of(study, critic)):
            records += _measured(experiment, study, critic, name, settings, corpus)
    records += answers(experiment, study, critic)
    write_results(experiment.data / "scores" / study / f"{critic}.json", records)
    write_json(experiment.data / "metrics" / study / f"{critic}.json", metrics(records))


def metrics(records: Sequence[Record]) -> dict[str, Any]:
    """Values alone, nested corpus -> system -> metric, as ``dvc metrics show`` and ``dvc exp show`` print them."""
    found: dict[str, Any] = {}
    for record in records:
        if record.task or record.value is None:
            continue
        system = System("", record.corpus, record.system, record.titles).folder
        label = record.metric + (f"_{record.variant}" if record.variant else "")
        found.setdefault(record.corpus, {}).setdefault(system, {})[label] = record.value
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
    chosen = list(chosen_systems(settings.get("of", "all"), systems))
    learned = experiment.data / trained_on.reading(critic, str(settings.get("train", reading)))
    if not learned.is_file() and "train" not in settings:  # real text is not read: the metric learns nothing
        learned = experiment.data / chosen[0].reading(critic, reading)
    train_reading = read_readout(learned)
    own = {key: value for key, value in settings.items() if key not in METRIC}
    made = call(place, function(place, source, str(settings.get("critic"))), own, real=train_reading)
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
