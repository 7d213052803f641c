"""Stages that make texts and the models that write them: corpora, tokenizers, language models, generations."""

from __future__ import annotations

import inspect
import shutil
from pathlib import Path
from typing import Any

from longform.core.artefacts import read_documents, whole, write_corpus
from longform.core.calls import call, function
from longform.core.documents import BadInput
from longform.core.experiment import Experiment, System, near
from longform.core.scratch import Work, first_process, resumable

SLOTS = ("study", "dataset", "source")
FROM_FILES = "corpora_from_files"  # beside "corpora", which are made from the seed


def corpus(experiment: Experiment, name: str) -> None:
    """Raw files or a seeded world -> ``data/corpora/<study>/<name>``."""
    listed = FROM_FILES if name in experiment.params.get(FROM_FILES, {}) else "corpora"
    entry, place = experiment.settings(listed, name), f"{listed}.{name}"
    code = f"datasets/{str(entry.get('dataset')).removesuffix('.py')}"
    build = function(place, code, "build")
    reads, named = "raw" in inspect.signature(build).parameters, "source" in entry
    if not reads == named == (listed == FROM_FILES):
        raise BadInput(
            f"{place} has {'a' if named else 'no'} source and {code} reads {'files' if reads else 'none'}; allowed are a dataset "
            f"that reads files in {FROM_FILES}, with its source below data/, and one made from the seed in corpora; fix params.yaml"
        )
    raw = {"raw": experiment.data / str(entry["source"])} if named else {}
    settings = {key: value for key, value in entry.items() if key not in SLOTS}
    work = Work(experiment, place, {**entry, "code": code})
    with resumable(work, *raw.values()) as scratch:
        made = call(place, build, settings, name=name, seed=experiment.seed, scratch=scratch, **raw)
        count = write_corpus(experiment.data / "corpora" / str(entry["study"]) / name, made)
    print(f"corpus {name}: {count} documents")


def tokenizer(experiment: Experiment, study: str) -> None:
    """All training text of a study -> ``data/tokenizers/<study>``: its models share one vocabulary, as published ones do."""
    settings, place = experiment.settings(study, "tokenizer"), f"{study}.tokenizer"
    names = [System(study, corpus) for corpus in experiment.settings(study)["corpora"]]
    documents = [document for system in names for document in experiment.documents(system)]
    if settings.get("folder"):
        settings["folder"] = experiment.data / str(settings["folder"])
    fit = function(place, "language_models/tokenizers", "fit")
    _save(call(place, fit, settings, documents=documents), experiment.data / "tokenizers" / study)


def language_model(experiment: Experiment, study: str, corpus: str, model: str) -> None:
    """Train a model on a corpus, for each setting of titles and each seed -> ``data/models/<study>/<corpus>/<system>``.

    An entry of ``models`` is a shape, trained as the study says: from the pretrained one of ``training.bases`` where
    the study names them, unless the entry has ``from_scratch: true``; or a published checkpoint (``hub``, ``revision``), finetuned as
    the study says; or another kind of model (``code``) with its own settings.
    """
    entry = experiment.settings("models", model)
    entry.pop("sampling", None)
    for system in experiment.of_model(study, corpus, model):
        place = f"language_model {study} {corpus} {system.folder}"
        code = str(entry.get("code", "language_models/causal_lm"))
        settings = {key: value for key, value in entry.items() if key != "code"}
        if "code" not in entry:
            alone = settings.pop("from_scratch", False)
            published = {key: settings.pop(key) for key in ("hub", "revision") if key in settings}
            settings = {
                **experiment.settings(study, "training"),
                **({"shape": settings} if settings else {}),
                **published,
                **({"bases": None} if alone else {}),
            }
        base = experiment.data / "tokenizers" / study
        work = Work(experiment, place, {**settings, "code": code})
        bases = experiment.data / str(settings.pop("bases")) if settings.get("bases") else None
        with resumable(work, experiment.data / System(study, corpus).texts, *filter(None, (base, bases))) as scratch:
            if "hub" in settings:
                base = _published(scratch / "published", settings)
            given = {
                "name": f"{corpus}-{system.folder}",
                "seed": experiment.training_seed(system),
                "base": base,
                "scratch": scratch,
                "documents": experiment.documents(System(study, corpus)),
                "titles": bool(system.titles),
                "bases": bases,
            }
            trained = call(place, function(place, code, "fit"), settings, **given)
            if first_process(work):
                _save(trained, experiment.data / system.checkpoint)


def _published(folder: Path, settings: dict[str, Any]) -> Path:
    """A folder that points to a published checkpoint; takes its name and revision out of the settings."""
    folder.mkdir(parents=True, exist_ok=True)
    fit = function("models", "language_models/hub", "fit")
    call("models", fit, {key: settings.pop(key) for key in ("hub", "revision") if key in settings}).save(folder)
    return folder


def generate(experiment: Experiment, study: str, corpus: str, model: str) -> None:
    """Texts of every system of a model -> ``data/generations/<study>/<corpus>/<system>``."""
    entry = experiment.settings("models", model)
    settings = (
        dict(entry["sampling"]) if "code" in entry and "sampling" in entry else experiment.settings(study, "sampling")
    )
    for system in experiment.of_model(study, corpus, model):
        place = f"generate {study} {corpus} {system.folder}"
        checkpoint, real = experiment.data / system.checkpoint, experiment.data / System(study, corpus).texts
        chosen = dict(settings)
        code = str(chosen.pop("code", "decoding/long_documents"))
        work = Work(experiment, place, {**chosen, "code": code})
        with resumable(work, checkpoint, real) as scratch:
            given = {
                "name": f"{corpus}-{system.folder}",
                "seed": experiment.seed,
                "model": checkpoint,
                "scratch": scratch,
                "prefixes": experiment.documents(System(study, corpus)),
                "titles": bool(system.titles),
            }
            made = call(place, function(place, code, "generate"), chosen, **given)
            if first_process(work):
                count = write_corpus(experiment.data / system.texts, made)
                print(f"{place}: {count} documents")


def _save(model: Any, place: Path) -> None:
    with whole(place) as folder:
        folder.mkdir()
        model.save(folder)


def complete(experiment: Experiment, study: str) -> None:
    """Human articles beside machine completions of their own openings -> ``data/corpora/<study>/completions``.

    The larger model's completions come first, then the smaller one's join them, so that every side of every article is in one
    corpus.
    """
    folder = experiment.data / "corpora" / study
    source = experiment.data / System("articles", "wiki").texts
    for part, target in (("larger", "half"), ("smaller", "completions")):
        settings, place = experiment.settings(study, part), f"complete {study} {part}"
        model = experiment.data / str(settings.pop("model"))
        code = "decoding/completions"
        with resumable(Work(experiment, place, {**settings, "code": code}), model, source) as scratch:
            given = {"name": part, "seed": experiment.seed, "model": model, "scratch": scratch}
            documents = list(read_documents(source / "documents.jsonl"))
            made = call(place, function(place, code, "generate"), settings, prefixes=documents, **given)
            write_corpus(folder / target, made)
        source = folder / target
    shutil.rmtree(folder / "half")


def decode(experiment: Experiment, study: str, run: str) -> None:
    """Continuations of encyclopedia prefixes by a set of decoders -> ``data/generations/<study>/<run>``."""
    chosen, place = experiment.settings(study, "runs", run), f"decode {study} {run}"
    settings = {**experiment.settings(study, "sampling"), **chosen}
    lists, named = experiment.decoders(study), str(chosen.get("decoders"))
    if named not in lists:
        raise BadInput(
            f"{place}: there is no list of decoders {named!r}{near(named, lists)}; allowed are {sorted(lists)}, the files of "
            f"{experiment.settings(study).get('decoders')}; fix decoders in params.yaml"
        )
    settings["decoders"] = lists[named]
    model = experiment.data / "models" / "decoding" / str(settings.pop("model"))
    prefixes = experiment.data / str(settings.pop("prefixes"))
    code = "decoding/continuations"
    with resumable(Work(experiment, place, {**settings, "code": code}), model, prefixes) as scratch:
        given = {"name": run, "seed": experiment.seed, "model": model, "scratch": scratch}
        documents = list(read_documents(prefixes / "documents.jsonl"))
        made = call(place, function(place, code, "generate"), settings, prefixes=documents, **given)
        count = write_corpus(experiment.data / "generations" / study / run, made)
    print(f"{place}: {count} documents")
