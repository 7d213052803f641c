"""All entries of a parameter file with their registries, a check of them, and their JSON Schema.

``python -m longform_lab.settings.params`` writes ``params.schema.json``, by which editors complete
and check ``params.yaml``; ``--check`` says what is wrong in it, in the papers' own ``params.yaml``,
and in what ``dvc.yaml`` says of their reports.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from longform.decoding.settings import SAMPLERS, Completions, Continuations
from longform.errors import ConfigError
from longform.language_models.settings import REGISTRY as MODELS
from longform.language_models.settings import TOKENIZERS, Training
from longform.settings import PARAMS, Nothing, Settings, parameter, parse, parse_kind
from longform_lab.settings.critics import EVALUATIONS, METRICS, READINGS, TRAININGS
from longform_lab.settings.entries import (
    EvaluationPlacement,
    MadeCorpus,
    MetricPlacement,
    ModelPlacement,
    QuestionPlacement,
    ReadCorpus,
    ReadingPlacement,
    TrainingPlacement,
)
from longform_lab.settings.registries import DATASETS, FILE_DATASETS
from longform_lab.settings.reports import EXPERIMENTS, check_reports, read_reports

DVC_YAML = Path("dvc.yaml")
SCHEMA = Path("params.schema.json")
OVERRIDES_SCHEMA = Path("overrides.schema.json")
QUESTIONS = ("corruption_response", "severities", "order_discrimination", "human_ratings")


@dataclass(frozen=True)
class Room:
    """What may stand at some places of the file.

    Attributes:
        registry: settings by kind.
        placement: what an entry says beside its kind's settings.
    """

    registry: Mapping[str, type[Settings]]
    placement: type[Settings]


ROOMS = {
    "corpora": Room(DATASETS, MadeCorpus),
    "corpora_from_files": Room(FILE_DATASETS, ReadCorpus),
    "models": Room(MODELS, ModelPlacement),
    "tokenizer": Room(TOKENIZERS, Nothing),
    "sampling": Room(SAMPLERS, Nothing),
    "train": Room(TRAININGS, TrainingPlacement),
    "predictions": Room(READINGS, ReadingPlacement),
    "metrics": Room(METRICS, MetricPlacement),
    "questions": Room(METRICS, QuestionPlacement),
    "evaluations": Room(EVALUATIONS, EvaluationPlacement),
}


class Sizes(Settings):
    """A ladder of sizes beside the study's models."""

    corpora: list[str] = parameter("Corpora that they are trained on.", [])
    models: list[str] = parameter("Models of several sizes.", [])


class CriticInputs(Settings):
    """What the stage that reads depends on, for DVC."""

    reader: str = parameter("A folder below ``data/`` that holds what reads.")
    texts: str = parameter("A folder below ``data/`` that holds the texts.")


class Scores(Settings):
    """What is scored: metrics of texts, questions that are asked of any critic, and evaluations."""

    metrics: dict[str, Any] = parameter("Metrics by name.", {})
    corruption_response: dict[str, Any] = parameter("Responses to corruptions.", {})
    severities: dict[str, Any] = parameter("Responses to one corruption by severity.", {})
    order_discrimination: dict[str, Any] = parameter("Orders that are preferred.", {})
    human_ratings: dict[str, Any] = parameter("What goes with people's ratings.", {})
    evaluations: dict[str, Any] = parameter("Functions of predictions.", {})


class Critic(Settings):
    """A critic of a study: what it learns, what it reads, and what is scored."""

    inputs: CriticInputs | None = parameter("What its reading depends on.", None)
    corpora: list[str] = parameter("Corpora whose texts it judges.")
    train: dict[str, Any] | None = parameter("What it learns from real text.", None)
    predictions: dict[str, Any] = parameter("Ways to read a text, by name.", {})
    scores: Scores = parameter("What is scored.", Scores())


class Study(Settings):
    """A set of texts that are asked about together."""

    corpora: list[str] = parameter("Its corpora.", [])
    models: list[str] = parameter("The models that are trained on each corpus.", [])
    sizes: Sizes | None = parameter("Further models on some corpora.", None)
    titles: list[Literal["with", "without"]] | None = parameter(
        "Whether models see section titles.", None, source="deng2022 section 4"
    )
    seeds: int | None = parameter("Trainings of each system; null is one.", None, ge=1)
    once: list[str] = parameter("Corpora and models that are trained once all the same.", [])
    tokenizer: dict[str, Any] | None = parameter("What cuts its texts into tokens.", None)
    training: Training | None = parameter("How its networks are trained.", None)
    sampling: dict[str, Any] | None = parameter("What writes its models' texts.", None)
    read_as: dict[str, str] = parameter("Another corpus whose trained critics read a corpus.", {})
    trained_critics: list[str] = parameter("Critics that learn from text alone.", [])
    critics_on_models: list[str] = parameter("Critics that learn with a language model.", [])
    untrained_critics: list[str] = parameter("Critics that learn nothing.", [])
    critics: dict[str, Critic] = parameter("Its critics.", {})
    larger: Completions | None = parameter("Completions by the larger model.", None)
    smaller: Completions | None = parameter("Completions by the smaller model.", None)
    decoders: str | None = parameter("A folder with lists of decoders, a file each.", None)
    runs: dict[str, dict[str, Any]] | None = parameter(
        "Continuations: what each says otherwise than ``sampling``.", None
    )


NO_STUDIES = ("seed", "scale", "models", "corpora", "corpora_from_files")


def check(params: Mapping[str, Any], file: str = PARAMS) -> int:
    """Check every entry of a parameter file; returns their number.

    Args:
        params: the file's content.
        file: its name, for errors.

    Raises:
        ConfigError: the first wrong entry: its place, what it says, what is allowed, and the
            nearest name.
    """
    seed = params.get("seed")
    if type(seed) is not int or seed < 0:
        raise ConfigError(f"{file}: seed is {seed!r:.60}, allowed is a whole number from 0")
    # 1. Studies; each of their runs says what is other than in ``sampling``.
    for study, entry in params.items():
        if study in NO_STUDIES:
            continue
        parse(Study, entry, study, file)
        for run, changes in (entry.get("runs") or {}).items():
            merged = {**(entry.get("sampling") or {}), **changes}
            parse(Continuations, merged, f"{study}.runs.{run}", file)
    # 2. Entries that have a kind.
    count = 0
    for room, position, entry in entries(params):
        parse_kind(ROOMS[room].registry, ROOMS[room].placement, entry, position, file)
        count += 1
    return count


def entries(params: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """The room, place and content of every entry that has a ``kind``."""
    # 1. Those that belong to no study.
    for room in ("corpora", "corpora_from_files", "models"):
        for name, entry in (params.get(room) or {}).items():
            yield room, f"{room}.{name}", entry
            if room == "models" and isinstance(entry, Mapping) and "sampling" in entry:
                yield "sampling", f"models.{name}.sampling", entry["sampling"]
    # 2. Those of each study.
    for study, settings in params.items():
        if study in NO_STUDIES or not isinstance(settings, Mapping):
            continue
        if settings.get("tokenizer") is not None:
            yield "tokenizer", f"{study}.tokenizer", settings["tokenizer"]
        if settings.get("sampling") is not None and "runs" not in settings:
            yield "sampling", f"{study}.sampling", settings["sampling"]
        for critic, entry in (settings.get("critics") or {}).items():
            yield from _of_critic(f"{study}.critics.{critic}", entry)


def _of_critic(position: str, entry: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """The entries of one critic that have a ``kind``.

    A key without a value (``predictions:``) is passed over.

    Args:
        position: of the critic in the file, ``articles.critics.topics``.
        entry: its settings.

    Yields:
        The name in ``ROOMS``, whose registry has the kind; the entry's position; its content. They
        are its training, its predictions, and its scores: those in ``QUESTIONS`` share one room,
        ``metrics`` and ``evaluations`` are rooms by these names.
    """
    if entry.get("train") is not None:
        yield "train", f"{position}.train", entry["train"]
    for name, reading in (entry.get("predictions") or {}).items():
        yield "predictions", f"{position}.predictions.{name}", reading
    for question, scores in (entry.get("scores") or {}).items():
        room = "questions" if question in QUESTIONS else question
        for name, scored in (scores or {}).items():
            yield room, f"{position}.scores.{question}.{name}", scored


def schema() -> dict[str, Any]:
    """The JSON Schema of a parameter file."""
    # 1. The entries of each room, by kind.
    definitions: dict[str, Any] = {}
    for name, room in ROOMS.items():
        kinds = []
        for kind, settings in room.registry.items():
            definitions[f"{name}.{kind}"] = _entry_schema(kind, settings, room, definitions)
            kinds.append({"$ref": f"#/$defs/{name}.{kind}"})
        properties: dict[str, Any] = {"kind": {"enum": sorted(room.registry)}}
        properties |= _references(room.placement, definitions)
        definitions[name] = {"properties": properties, "required": ["kind"], "oneOf": kinds}
    # 2. Studies and critics, which hold such entries.
    study = _defined(Study, definitions)
    study["properties"]["tokenizer"] = {"$ref": "#/$defs/tokenizer"}
    study["if"] = {"required": ["runs"]}
    study["else"] = {"properties": {"sampling": {"$ref": "#/$defs/sampling"}}}
    critic = definitions["Critic"]
    critic["properties"]["train"] = {"$ref": "#/$defs/train"}
    critic["properties"]["predictions"] = _by_name("predictions")
    for key, scored in definitions["Scores"]["properties"].items():
        scored |= _by_name("questions" if key in QUESTIONS else key)
    definitions["ModelPlacement"]["properties"]["sampling"] = {"$ref": "#/$defs/sampling"}
    # 3. The file.
    seed = {"type": "integer", "minimum": 0, "description": "Every draw is named after it."}
    scale = {"type": "string", "description": "The name by which claims know the scale."}
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "params.yaml",
        "type": "object",
        "properties": {
            "seed": seed,
            "scale": scale,
            "models": _by_name("models"),
            "corpora": _by_name("corpora"),
            "corpora_from_files": _by_name("corpora_from_files"),
        },
        "required": ["seed"],
        "additionalProperties": {"$ref": "#/$defs/Study"},
        "$defs": definitions,
    }


def overrides_schema() -> dict[str, Any]:
    """The JSON Schema of a scale's overrides.

    An entry that names its kind must be complete, others may say a part.
    """
    names = {"type": "array", "items": {"type": "string"}}
    properties: dict[str, Any] = {
        "targets": {**names, "description": "The stages that the scale is about."},
        "extends": {"type": "string", "description": "A scale whose overrides come first."},
        "without": {"type": "object", "additionalProperties": names},
        "files": {"type": "object", "description": "Overrides of other YAML files, by path."},
        "articles": {"type": "integer", "minimum": 0},
        "pictures": {**names, "description": "The exhibits whose pictures are kept with results."},
        "claims": {"type": "string", "description": "The name by which claims know the scale."},
    }
    for room in ("models", "corpora", "corpora_from_files"):
        entry = _complete_if_it_has_a_kind(room)
        properties[room] = {"type": "object", "additionalProperties": entry}
    patterns = {}
    for room in ("tokenizer", "sampling"):
        patterns[rf"^\w+\.{room}$"] = _complete_if_it_has_a_kind(room)
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "overrides.yaml",
        "type": "object",
        "properties": properties,
        "patternProperties": patterns,
    }


def _complete_if_it_has_a_kind(room: str) -> dict[str, Any]:
    complete = {"$ref": f"{SCHEMA}#/$defs/{room}"}
    return {"type": "object", "if": {"required": ["kind"]}, "then": complete}


def schema_text() -> str:
    """The schema as its file has it: a line for each definition."""
    content = schema()
    lines = []
    for name, definition in content.pop("$defs").items():
        lines.append(f"{json.dumps(name)}: {_compact(definition)}")
    head = _compact(content).removesuffix("}")
    return head + ',\n"$defs": {\n' + ",\n".join(lines) + "\n}}\n"


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _by_name(room: str) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": {"$ref": f"#/$defs/{room}"}}


def _entry_schema(
    kind: str, settings: type[Settings], room: Room, definitions: dict[str, Any]
) -> dict[str, Any]:
    """The schema of an entry of one kind: its own settings beside the names of its placement.

    What the placement's settings may be is said once, by the room that holds all kinds.
    """
    of_placement = _defined(room.placement, definitions)
    of_settings = _defined(settings, definitions)
    properties: dict[str, Any] = {"kind": {"const": kind}}
    properties |= dict.fromkeys(of_placement.get("properties", {}), True)
    properties |= _references(settings, definitions)
    required = [*of_placement.get("required", []), *of_settings.get("required", [])]
    allows_others = of_placement.get("additionalProperties", False)
    allows_others = allows_others or of_settings.get("additionalProperties", False)
    return {
        "description": (settings.__doc__ or "").strip(),
        "properties": properties,
        "required": ["kind", *required],
        "additionalProperties": allows_others,
    }


def _references(settings: type[Settings], definitions: dict[str, Any]) -> dict[str, Any]:
    """A reference to the schema of each field of a class of settings, by the field's name."""
    names = _defined(settings, definitions).get("properties", {})
    return {name: {"$ref": f"#/$defs/{settings.__name__}/properties/{name}"} for name in names}


def _defined(settings: type[Settings], definitions: dict[str, Any]) -> dict[str, Any]:
    """The schema of a class of settings, which joins the definitions under its name."""
    outer = settings.model_json_schema()
    named = {**outer.pop("$defs", {}), settings.__name__: outer}
    for name, definition in named.items():
        _drop_titles(definition)
        if definitions.setdefault(name, definition) != definition:
            raise ConfigError(
                f"two classes of settings are called {name}, the second in {settings.__module__}; "
                "rename one of them"
            )
    return definitions[settings.__name__]


def _drop_titles(definition: dict[str, Any]) -> None:
    """Take pydantic's titles away, which say a name in capitals."""
    definition.pop("title", None)
    for field in definition.get("properties", {}).values():
        field.pop("title", None)


def _write_schemas() -> None:
    SCHEMA.write_text(schema_text(), encoding="utf-8")
    OVERRIDES_SCHEMA.write_text(_compact(overrides_schema()) + "\n", encoding="utf-8")
    print(SCHEMA, OVERRIDES_SCHEMA)


def _check_files() -> None:
    from longform.files.artefacts import read_yaml  # which loads NumPy

    count = check(read_yaml(Path(PARAMS)))
    pipeline = read_yaml(DVC_YAML) if DVC_YAML.is_file() else {}
    exhibits = check_reports(read_reports(), pipeline)
    print(f"{PARAMS}: {count} entries; {EXPERIMENTS}: {exhibits} tables and figures")


def main(arguments: list[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m longform_lab.settings.params")
    parser.add_argument("--check", action="store_true", help="check params.yaml instead")
    chosen = parser.parse_args(arguments)
    try:
        if chosen.check:
            _check_files()
        else:
            _write_schemas()
    except ConfigError as error:
        print(f"longform: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
