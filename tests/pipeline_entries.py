"""Every call that ``params.yaml`` asks for: the function, its settings, and what the stage gives it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from longform.core.calls import function, source_of
from longform.core.experiment import Experiment
from longform.pipeline.criticism import READING
from longform.pipeline.scoring import KINDS
from longform.pipeline.texts import FROM_FILES, SLOTS

ROOT = Path(__file__).parents[1]
Entry = tuple[str, str, Any, dict[str, Any], set[str]]  # place, code, function, settings, given
TRAIN = {"name", "seed", "base", "scratch", "documents", "titles", "bases"}
WRITE = {"name", "seed", "model", "scratch", "prefixes", "titles", "packing"}
READ = {"documents", "truth", "reader", "reader_truth", "seed", "name", "splits", "titles"}


def entries(experiment: Experiment) -> Iterator[Entry]:
    """Of corpora, models and all studies."""
    params = experiment.params
    for listed, given in (("corpora", set()), (FROM_FILES, {"raw"})):
        for name, entry in params[listed].items():
            module, _, wanted = entry["dataset"].removesuffix(".py").partition(".")
            more = {"name", "seed", "scratch"} | given
            yield _entry(f"{listed}.{name}", f"datasets/{module}", wanted or "build", entry, SLOTS, more)
    for name, entry in params["models"].items():
        if "code" in entry:
            code, _, wanted = entry["code"].partition(".")
            yield _entry(f"models.{name}", code, wanted or "fit", entry, ("code", "sampling"), TRAIN)
        if own := entry.get("sampling"):
            yield _entry(f"models.{name}.sampling", own["code"], "generate", own, ("code",), WRITE)
    for study, settings in params.items():
        if not isinstance(settings, dict):
            continue
        if own := settings.get("tokenizer"):
            yield _entry(f"{study}.tokenizer", "language_models/tokenizers", "fit", own, (), {"documents"})
            given, own = TRAIN | {"shape"}, settings["training"]
            yield _entry(f"{study}.training", "language_models/causal_lm", "fit", own, (), given)
        if "sampling" in settings and "runs" not in settings:
            own = settings["sampling"]
            yield _entry(f"{study}.sampling", "decoding/long_documents", "generate", own, ("code",), WRITE)
        for critic, entry in settings.get("critics", {}).items():
            yield from _of_critic(f"{study}.critics.{critic}", critic, entry)


def _of_critic(place: str, critic: str, entry: dict[str, Any]) -> Iterator[Entry]:
    def within(code: str) -> str:
        return source_of(critic, code)

    if "train" in entry:
        code = within(entry["train"].get("code", "train"))
        yield _entry(f"{place}.train", code, "fit", entry["train"], ("code", "corpora", "base"), TRAIN)
    for name, settings in entry.get("readings", {}).items():
        code, _, wanted = settings.get("code", "read").partition(".")
        yield _entry(f"{place}.readings.{name}", within(code), wanted or "read", settings, READING, READ)
    for kind, (_, own, given) in KINDS.items():
        for name, settings in entry.get("scores", {}).get(kind, {}).items():
            if kind == "evaluations":
                code, _, wanted = settings["evaluate"].partition(".")
            else:
                code, wanted = within(settings.get("code", "score")), settings["critic"]
            yield _entry(f"{place}.scores.{kind}.{name}", code, wanted, settings, own, set(given))


def _entry(place: str, code: str, name: str, settings: dict[str, Any], slots: Any, given: set[str]) -> Entry:
    own = {key: value for key, value in settings.items() if key not in slots}
    return place, code, function(place, code, name), own, given
