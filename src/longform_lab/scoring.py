"""The stage that scores: every metric of a critic crossed with corpora and systems, and what is asked of any critic, as records.

A critic's entry of ``scores`` has ``metrics``, and under each question (its response to corruptions, the orders that it prefers, how it
goes with people's marks) its scorers: ``{NAME: {critic: FACTORY, reading: ..., train: ..., settings}}``. Another key, ``evaluations``,
names functions of predictions that return records themselves. All of them are checked before anything is read. NumPy alone.
"""

import csv
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from longform.documents import Predictions
from longform.errors import BadInput, did_you_mean
from longform.evaluation.corruption_response import corruption_response, of_failure, of_severity
from longform.evaluation.order_discrimination import order_discrimination
from longform.files.artefacts import (
    atomic_write,
    read_corpus,
    read_json,
    read_predictions,
    write_json,
)
from longform.results import Record, Results, read_results, write_results
from longform.statistics.comparisons import compare
from longform.statistics.estimates import estimate
from longform.statistics.protocols import Describing, Grouping
from longform.statistics.random_streams import generator
from longform.statistics.signatures import signature
from longform.statistics.sufficient_statistics import SufficientStatistics, clustered
from longform.statistics.sum_scored import unit_scores
from longform.text.permutations import ShuffleTask, permuted_documents, written
from longform_lab.calls import arguments, call, function, module
from longform_lab.code_names import source_of
from longform_lab.experiment import Experiment, System, chosen_systems

METRIC = (
    "code", "titles", "system", "critic", "metric", "variant", "predictions", "train", "train_corpus", "of", "corpora", "split",
)  # fmt: skip
QUESTIONS = {  # question -> the corpus of the study that asks it
    "corruption_response": "corruptions",
    "severities": "wrong_pronoun",
    "order_discrimination": "shuffled_wiki",
    "human_ratings": "summaries",
}
OWN = ("code", "critic", "predictions", "train", "train_corpus", "corpus", "tolerance", "tasks")
EVALUATION = ("evaluate", "predictions", "train", "train_corpus", "corpora", "of", "variant")
KINDS = {  # key of scores -> what its entries must have, what of them is the stage's own, and what the stage gives
    "metrics": (("critic",), METRIC, ("real",)),
    **dict.fromkeys(QUESTIONS, (("critic", "predictions"), OWN, ("real",))),
    "evaluations": (
        ("evaluate", "predictions"),
        EVALUATION,
        ("train", "texts", "seed", "name", "variant"),
    ),
}


def score(experiment: Experiment, study: str, critic: str) -> None:
    """Every metric of a critic for every corpus and system -> ``data/scores/<study>/<critic>.json`` and ``data/metrics``."""
    records: list[Record] = []
    for kind, name, place, settings in _asked(experiment, study, critic):
        if kind == "metrics":
            for corpus in settings.get("corpora", experiment.corpora_of(study, critic)):
                records += _measured(
                    experiment, System(study, corpus), critic, name, place, settings
                )
            continue
        answer = _evaluated if kind == "evaluations" else _answer
        found = answer(experiment, study, critic, kind, name, place, settings)
        print(f"score {critic} {kind}: {name}, {len(found)} records", flush=True)
        records += found
    write_results(experiment.data / "scores" / study / f"{critic}.json", records)
    write_json(experiment.data / "metrics" / study / f"{critic}.json", metrics(records))


def _asked(
    experiment: Experiment, study: str, critic: str
) -> list[tuple[str, str, str, dict[str, Any]]]:
    """Kind, name, place and settings of every entry of a critic's ``scores``, checked before any file is read.

    Raises BadInput: a question that is none, or an entry whose function is not there, lacks a setting or does not take one.
    """
    keys, entries = (study, "critics", critic, "scores"), []
    listed = experiment.settings(*keys)
    for kind in listed:
        if kind not in KINDS:
            told = f"{kind!r}{did_you_mean(kind, KINDS)}; allowed are {list(KINDS)}"
            raise BadInput(f"{'.'.join(keys)} has {told}; fix params.yaml")
    for kind, (needed, own, given) in KINDS.items():
        for name in experiment.settings(*keys, kind) if kind in listed else ():
            settings, place = experiment.settings(*keys, kind, name), ".".join((*keys, kind, name))
            if missing := [key for key in needed if key not in settings]:
                raise BadInput(
                    f"{place} lacks {missing}; every entry of {kind} has {list(needed)}; fix params.yaml"
                )
            if kind == "evaluations":
                code, _, wanted = str(settings["evaluate"]).partition(".")
            else:
                code, wanted = (
                    source_of(critic, str(settings.get("code", "score"))),
                    str(settings["critic"]),
                )
            passed = {key: value for key, value in settings.items() if key not in own}
            arguments(place, function(place, code, wanted), passed, dict.fromkeys(given))
            entries.append((kind, name, place, settings))
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


def _measured(
    experiment: Experiment,
    real: System,
    critic: str,
    name: str,
    place: str,
    settings: Mapping[str, Any],
) -> list[Record]:
    """A fitted critic's score of every system with its interval and, beside held-out real text, the test against it."""
    reading, seed = str(settings.get("predictions", "text")), experiment.seed
    trained_on = replace(real, corpus=settings.get("train_corpus", real.corpus))
    named = chosen_systems(
        settings.get("of", "all"), [real, *experiment.systems(real.study, real.corpus)]
    )
    chosen = [system for system in named if settings.get("titles", system.titles) == system.titles]
    learned = experiment.data / trained_on.predictions(critic, str(settings.get("train", reading)))
    if (
        not learned.is_file() and "train" not in settings
    ):  # real text is not read: the metric learns nothing
        learned = experiment.data / chosen[0].predictions(critic, reading)
    train_reading = read_predictions(learned)
    made, units_of = _scorer(place, critic, settings, METRIC, train_reading)
    fitted = made.fit([unit for unit in units_of(train_reading) if unit.split == "train"])
    reference: SufficientStatistics | None = None
    records = []
    for system in chosen:
        file = experiment.data / system.predictions(critic, reading)
        if not file.is_file():
            where = f"{system.corpus} {system.folder}"
            raise BadInput(f"{place}: {critic} has no reading {reading!r} of {where}; fix reading")
        wanted = (settings.get("split", "test"), "generated")
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
            critic, settings.get("metric", name), **system.fields, variant=settings.get("variant", ""),
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
        records.append(replace(record, system=settings.get("system", system.model)))
        print(
            f"score {critic} {name}: {system.corpus} {system.folder} {found.value:.4f}", flush=True
        )
    return records


def _scorer(
    place: str, critic: str, settings: Mapping[str, Any], own: Sequence[str], real: Predictions
) -> tuple[Any, Callable[[Predictions], Sequence[Any]]]:
    """What an entry scores with, and how its module makes units of a reading."""
    source = source_of(critic, str(settings.get("code", "score")))
    passed = {key: value for key, value in settings.items() if key not in own}
    made = call(place, function(place, source, str(settings["critic"])), passed, real=real)
    return made, module(place, source).units_from_predictions


def _reading(experiment: Experiment, system: System, critic: str, name: str) -> Predictions:
    return read_predictions(experiment.data / system.predictions(critic, name))


def _answer(
    experiment: Experiment,
    study: str,
    critic: str,
    question: str,
    name: str,
    place: str,
    settings: Mapping[str, Any],
) -> list[Record]:
    """Records of one scorer that answers a question that is asked of any critic."""
    corpus, read = settings.get("corpus", QUESTIONS[question]), str(settings["predictions"])
    read_as = experiment.settings(study).get("read_as", {})
    trained_on = settings.get("train_corpus", read_as.get(corpus, corpus))
    train = _reading(
        experiment, System(study, trained_on), critic, str(settings.get("train", read))
    )
    texts = _reading(experiment, System(study, corpus), critic, read)
    scorer, units_of = _scorer(place, critic, settings, OWN, train)
    learnt = [unit for unit in units_of(train) if unit.split == "train"]
    units = [unit for unit in units_of(texts) if unit.split == "test"]
    more = {"corpus": corpus, "system": "data"}
    if question == "order_discrimination" and "tasks" in settings:
        tasks = [ShuffleTask(kind, (size,)) for kind, size in settings["tasks"]]
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
            tolerance=float(settings.get("tolerance", 0.0)),
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


def _evaluated(
    experiment: Experiment,
    study: str,
    critic: str,
    _: str,
    name: str,
    place: str,
    settings: dict[str, Any],
) -> list[Record]:
    """Records of a function of predictions, over the corpora and systems that its entry names.

    ``train`` is the reading to learn from: the data's own by default, ``previous`` for that of the system before,
    ``with_titles`` for that of the same model with titles, and then only systems without that have one are evaluated. Where
    a function tells heads of an encoder apart by ``variant``, they become seeds of one variant.
    """
    code, _, wanted = str(settings.pop("evaluate")).partition(".")
    corpora = settings.pop("corpora", experiment.corpora_of(study, critic))
    variant, read, of = (
        settings.pop("variant", ""),
        str(settings.pop("predictions")),
        settings.pop("of", "data"),
    )
    learn, learn_corpus = str(settings.pop("train", read)), settings.pop("train_corpus", None)
    heads = list(settings.get("heads", ()))
    records: list[Record] = []
    for corpus in corpora:
        before: Predictions | None = None
        known = [System(study, corpus), *experiment.systems(study, corpus)]
        for system in chosen_systems(of, known):
            titled = replace(system, titles=True)
            if learn == "with_titles" and (system.titles is not False or titled not in known):
                continue
            texts = _reading(experiment, system, critic, read)
            if learn == "previous":
                train = before or texts
            elif learn == "with_titles":
                train = _reading(experiment, titled, critic, read)
            else:
                train = _reading(experiment, System(study, learn_corpus or corpus), critic, learn)
            given = {
                "train": train,
                "texts": texts,
                "seed": experiment.seed,
                "name": place,
                "variant": variant,
            }
            found: Sequence[Record] = call(place, function(place, code, wanted), settings, **given)
            for (
                one
            ) in found:  # the corpus, system, training seed and variant that the function left open
                head = one.variant != "" and one.variant in heads
                seed = system.seed if one.seed is None and not one.system else one.seed
                own: dict[str, Any] = {
                    "critic": one.critic or critic,
                    "corpus": one.corpus or system.corpus,
                    "system": one.system or system.model,
                    "titles": one.titles if one.system else system.titles,
                    "variant": variant
                    if head
                    else "-".join(filter(None, dict.fromkeys((one.variant, variant)))),
                    "seed": heads.index(one.variant) if head else seed,
                }
                records.append(replace(one, **own))
            before = texts
    return records
