"""The whole of a parameter file: every entry with the registry of its place, a check of all, and their JSON Schema.

``python -m longform_lab.settings.params`` writes ``params.schema.json``, by which editors complete and
check ``params.yaml``; ``--check`` says what is wrong in it, in the papers' own ``params.yaml``, and in
what ``dvc.yaml`` says of their reports.
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
    """What may stand at some places of the file."""

    registry: Mapping[str, type[Settings]]  # by kind
    placement: type[Settings]  # what an entry says beside its kind's settings


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
    """What is scored: metrics of every text, questions that are asked of any critic, and evaluations."""

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


OWN = ("seed", "scale", "models", "corpora", "corpora_from_files")  # keys that are no studies


def check(params: Mapping[str, Any], file: str = PARAMS) -> int:
    """Check every entry of a parameter file; returns their number.

    Args:
        params: the file's content.
        file: its name, for errors.

    Raises:
        ConfigError: the first wrong entry: its place, what it says, what is allowed, the nearest name.
    """
    seed = params.get("seed")
    if type(seed) is not int or seed < 0:
        raise ConfigError(f"{file}: seed is {seed!r:.60}, allowed is a whole number from 0")
    for study, entry in params.items():
        if study not in OWN:
            parse(Study, entry, study, file)
            for run, own in (entry.get("runs") or {}).items():
                merged = {**(entry.get("sampling") or {}), **own}
                parse(Continuations, merged, f"{study}.runs.{run}", file)
    count = 0
    for room, place, entry in entries(params):
        parse_kind(ROOMS[room].registry, ROOMS[room].placement, entry, place, file)
        count += 1
    return count


def entries(params: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """The room, place and content of every entry that has a ``kind``."""
    for room in ("corpora", "corpora_from_files", "models"):
        for name, entry in (params.get(room) or {}).items():
            yield room, f"{room}.{name}", entry
            if room == "models" and isinstance(entry, Mapping) and "sampling" in entry:
                yield "sampling", f"models.{name}.sampling", entry["sampling"]
    for study, settings in params.items():
        if study in OWN or not isinstance(settings, Mapping):
            continue
        if settings.get("tokenizer") is not None:
            yield "tokenizer", f"{study}.tokenizer", settings["tokenizer"]
        if settings.get("sampling") is not None and "runs" not in settings:
            yield "sampling", f"{study}.sampling", settings["sampling"]
        for critic, entry in (settings.get("critics") or {}).items():
            yield from _of_critic(f"{study}.critics.{critic}", entry)


def _of_critic(place: str, entry: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    if entry.get("train") is not None:
        yield "train", f"{place}.train", entry["train"]
    for name, reading in (entry.get("predictions") or {}).items():
        yield "predictions", f"{place}.predictions.{name}", reading
    for question, listed in (entry.get("scores") or {}).items():
        room = "questions" if question in QUESTIONS else question
        for name, scored in (listed or {}).items():
            yield room, f"{place}.scores.{question}.{name}", scored


def schema() -> dict[str, Any]:
    """The JSON Schema of a parameter file."""
    definitions: dict[str, Any] = {}
    for name, room in ROOMS.items():
        kinds = []
        for kind, settings in room.registry.items():
            definitions[f"{name}.{kind}"] = _entry_schema(kind, settings, room, definitions)
            kinds.append({"$ref": f"#/$defs/{name}.{kind}"})
        allowed = {"properties": {"kind": {"enum": sorted(room.registry)}}, "required": ["kind"]}
        definitions[name] = {**allowed, "oneOf": kinds}
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
    """The JSON Schema of a scale's overrides: an entry that names its kind is whole, others may say a part."""

    def whole_where_it_names_its_kind(room: str) -> dict[str, Any]:
        whole = {"$ref": f"{SCHEMA}#/$defs/{room}"}
        return {"type": "object", "if": {"required": ["kind"]}, "then": whole}

    names = {"type": "array", "items": {"type": "string"}}
    properties: dict[str, Any] = {
        "targets": {**names, "description": "The stages that the scale is about."},
        "extends": {"type": "string", "description": "A scale whose overrides come first."},
        "without": {"type": "object", "additionalProperties": names},
        "files": {"type": "object", "description": "Overrides of other YAML files, by path."},
        "articles": {"type": "integer", "minimum": 0},
        "claims": {"type": "string", "description": "The name by which claims know the scale."},
    }
    for room in ("models", "corpora", "corpora_from_files"):
        entry = whole_where_it_names_its_kind(room)
        properties[room] = {"type": "object", "additionalProperties": entry}
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "overrides.yaml",
        "type": "object",
        "properties": properties,
        "patternProperties": {
            rf"^\w+\.{room}$": whole_where_it_names_its_kind(room)
            for room in ("tokenizer", "sampling")
        },
    }


def schema_text() -> str:
    """The schema as its file has it: a line for each definition."""
    whole = schema()
    definitions = whole.pop("$defs")
    lines = [f"{json.dumps(name)}: {_compact(own)}" for name, own in definitions.items()]
    head = _compact(whole).removesuffix("}")
    return head + ',\n"$defs": {\n' + ",\n".join(lines) + "\n}}\n"


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _by_name(room: str) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": {"$ref": f"#/$defs/{room}"}}


def _entry_schema(
    kind: str, settings: type[Settings], room: Room, definitions: dict[str, Any]
) -> dict[str, Any]:
    """The schema of an entry of one kind: its own settings beside those of its placement, each said once."""
    properties: dict[str, Any] = {"kind": {"const": kind}}
    required = ["kind"]
    extra: Any = False
    for part in (room.placement, settings):
        own = _defined(part, definitions)
        for name in own.get("properties", {}):
            properties[name] = {"$ref": f"#/$defs/{part.__name__}/properties/{name}"}
        required += own.get("required", [])
        extra = extra or own.get("additionalProperties", False)
    return {
        "description": (settings.__doc__ or "").strip(),
        "properties": properties,
        "required": required,
        "additionalProperties": extra,
    }


def _defined(settings: type[Settings], definitions: dict[str, Any]) -> dict[str, Any]:
    """The schema of a class of settings, which joins the definitions under its name."""
    own = settings.model_json_schema()
    inner = {**own.pop("$defs", {}), settings.__name__: own}
    for name, definition in inner.items():
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


def main(arguments: list[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m longform_lab.settings.params")
    parser.add_argument("--check", action="store_true", help="check params.yaml instead")
    chosen = parser.parse_args(arguments)
    if not chosen.check:
        try:
            text = schema_text()
        except ConfigError as error:
            print(f"longform: {error}", file=sys.stderr)
            return 2
        SCHEMA.write_text(text, encoding="utf-8")
        OVERRIDES_SCHEMA.write_text(_compact(overrides_schema()) + "\n", encoding="utf-8")
        print(SCHEMA, OVERRIDES_SCHEMA)
        return 0
    from longform.files.artefacts import read_yaml  # which loads NumPy

    try:
        count = check(read_yaml(Path(PARAMS)))
        pipeline = read_yaml(DVC_YAML) if DVC_YAML.is_file() else {}
        exhibits = check_reports(read_reports(), pipeline)
    except ConfigError as error:
        print(f"longform: {error}", file=sys.stderr)
        return 2
    print(f"{PARAMS}: {count} entries; {EXPERIMENTS}: {exhibits} tables and figures")
    return 0


if __name__ == "__main__":
    sys.exit(main())
