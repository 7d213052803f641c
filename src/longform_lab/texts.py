"""Stages that make texts and the models that write them: corpora, tokenizers, language models, generations."""

import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from longform.documents import Corpus
from longform.errors import BadInput, ConfigError, did_you_mean
from longform.files.artefacts import atomic_write, read_documents, write_corpus
from longform.processes import first_process, side_by_side
from longform.settings import KIND, parse_kind
from longform_lab.calls import call, function
from longform_lab.experiment import Experiment, System
from longform_lab.scratch import bring_back, forget_finished, keep_finished, resumable
from longform_lab.settings.corpora import MadeCorpus, ReadCorpus
from longform_lab.settings.registries import DATASETS, FILE_DATASETS

POINTERS: tuple[str, ...] = ("hub", "revision", "package", "file")  # to a published model
FROM_FILES = "corpora_from_files"  # beside "corpora", which are made from the seed


@contextmanager
def _made(
    experiment: Experiment,
    place: str,
    code: str,
    wanted: str,
    settings: Mapping[str, Any],
    *inputs: Path,
    **given: Any,
) -> Iterator[Any]:
    """What a function makes of settings and inputs, its checkpoints kept until the block ends; None but in the first process."""
    with resumable(experiment, place, {**settings, "code": code}, *inputs) as scratch:
        given = {"seed": experiment.seed, "scratch": scratch, **given}
        made = call(place, function(place, code, wanted), settings, **given)
        yield made if first_process() else None


@contextmanager
def _one_of_several(
    experiment: Experiment,
    place: str,
    code: str,
    wanted: str,
    settings: Mapping[str, Any],
    result: Path,
    *inputs: Path,
    **given: Any,
) -> Iterator[Any]:
    """Like :func:`_made` where a stage makes several things: what a killed run of it had finished is brought back.

    Yields what was made, for the block to write to ``result``; None where it was brought back, and but in the first process.
    """
    with resumable(experiment, place, {**settings, "code": code}, *inputs) as scratch:
        if bring_back(scratch, result):
            print(f"{place}: was finished before", flush=True)
            yield None
            return
        given = {"seed": experiment.seed, "scratch": scratch, **given}
        made = call(place, function(place, code, wanted), settings, **given)
        if not first_process():
            yield None
            return
        yield made
        keep_finished(scratch, result)


def corpus(experiment: Experiment, name: str) -> None:
    """Raw files or a seeded world -> ``data/corpora/<study>/<name>``.

    Raises:
        ConfigError: no such entry, or one with a wrong setting.
    """
    if name in experiment.params.get(FROM_FILES, {}):
        _corpus_from_files(experiment, name)
        return
    entry, place = experiment.settings("corpora", name), f"corpora.{name}"
    placed, dataset = parse_kind(DATASETS, MadeCorpus, entry, place)
    with resumable(experiment, place, dataset) as scratch:
        made = dataset.build(name=name, seed=experiment.seed, scratch=scratch)
        _keep_corpus(experiment, placed.study, name, made)


def _corpus_from_files(experiment: Experiment, name: str) -> None:
    entry, place = experiment.settings(FROM_FILES, name), f"{FROM_FILES}.{name}"
    placed, dataset = parse_kind(FILE_DATASETS, ReadCorpus, entry, place)
    if placed.beside and not dataset.reads_beside:
        raise ConfigError(
            f"{place} has 'beside', and {entry[KIND]} reads one file; fix params.yaml"
        )
    raw = experiment.data / placed.source
    beside = experiment.data / placed.beside if placed.beside else None
    inputs = [raw] if beside is None else [raw, beside]
    with resumable(experiment, place, dataset, *inputs) as scratch:
        made = dataset.load(raw, name=name, seed=experiment.seed, scratch=scratch, beside=beside)
        _keep_corpus(experiment, placed.study, name, made)


def _keep_corpus(experiment: Experiment, study: str, name: str, corpus: Corpus) -> None:
    """Write a corpus, in the first process alone."""
    if first_process():
        count = write_corpus(experiment.data / "corpora" / study / name, corpus)
        print(f"corpus {name}: {count} documents")


def tokenizer(experiment: Experiment, study: str) -> None:
    """All training text of a study -> ``data/tokenizers/<study>``: its models share one vocabulary, as published ones do."""
    settings, place = experiment.settings(study, "tokenizer"), f"{study}.tokenizer"
    documents = [
        d
        for name in experiment.settings(study)["corpora"]
        for d in experiment.documents(System(study, name))
    ]
    if settings.get("folder"):
        settings["folder"] = experiment.data / str(settings["folder"])
    fit = function(place, "language_models/tokenizers", "fit")
    _save(call(place, fit, settings, documents=documents), experiment.data / "tokenizers" / study)


def language_model(experiment: Experiment, study: str, corpus: str, model: str) -> None:
    """Train a model on a corpus, for each setting of titles and each seed -> ``data/models/<study>/<corpus>/<system>``.

    An entry of ``models`` is a shape, trained as the study says: from the pretrained one of ``training.bases`` where the study names
    them, unless the entry has ``from_scratch: true``; or a published checkpoint (``hub`` and ``revision``, or ``package`` and
    ``file``), finetuned as the study says; or another kind of model (``code``: a module with ``fit``, or with another function behind
    a dot) with its own settings.
    """
    own, base = experiment.settings("models", model), experiment.data / "tokenizers" / study
    own.pop("sampling", None)
    code, _, wanted = str(own.pop("code", "")).partition(".")
    settings = own
    if not code:
        alone, code = own.pop("from_scratch", False), "language_models/causal_lm"
        if not isinstance(alone, bool):
            raise BadInput(
                f"params.yaml: models.{model}.from_scratch is {alone!r:.60}, allowed are true and false"
            )
        if published := {key: own.pop(key) for key in POINTERS if key in own}:
            base = (
                experiment.home / "scratch" / "published" / model
            )  # a folder that points to the checkpoint
            base.mkdir(parents=True, exist_ok=True)
            call(
                "models", function("models", "language_models/checkpoints", "published"), published
            ).save(base)
        settings = {**experiment.settings(study, "training"), **({"shape": own} if own else {})}
        settings |= {"bases": None} if alone else {}
    bases = experiment.data / str(settings.pop("bases")) if settings.get("bases") else None
    real, wanted = System(study, corpus), wanted or "fit"
    function("models", code, wanted)  # loads its libraries, which a fork then shares

    def train(system: System) -> None:
        given = {
            "name": f"{corpus}-{system.folder}",
            "titles": bool(system.titles),
            "base": base,
            "bases": bases,
        }
        given |= {"documents": experiment.documents(real), "seed": experiment.training_seed(system)}
        place = f"language_model {study} {corpus} {system.folder}"
        read = (experiment.data / real.texts, *filter(None, (base, bases)))
        result = experiment.data / system.checkpoint
        with _one_of_several(
            experiment, place, code, wanted, settings, result, *read, **given
        ) as trained:
            if trained is not None:
                _save(trained, result)

    systems = experiment.of_model(study, corpus, model)
    side_by_side(train, systems)
    if experiment.only is None:
        forget_finished(experiment, [f"language_model {study} {corpus} {name}" for name in systems])


def generate(experiment: Experiment, study: str, corpus: str, model: str) -> None:
    """Texts of every system of a model -> ``data/generations/<study>/<corpus>/<system>``."""
    entry = experiment.settings("models", model)
    alone = "code" in entry and "sampling" in entry
    settings = dict(entry["sampling"]) if alone else experiment.settings(study, "sampling")
    code, real = str(settings.pop("code", "decoding/long_documents")), System(study, corpus)
    function(study, code, "generate")  # loads its libraries, which a fork then shares
    packing = experiment.settings(study).get("training", {}).get("packing")

    def write(system: System) -> None:
        place, checkpoint = (
            f"generate {study} {corpus} {system.folder}",
            experiment.data / system.checkpoint,
        )
        given = {
            "name": f"{corpus}-{system.folder}",
            "titles": bool(system.titles),
            "model": checkpoint,
        }
        given |= {"prefixes": experiment.documents(real), "packing": packing}
        inputs = (checkpoint, experiment.data / real.texts)
        result = experiment.data / system.texts
        with _one_of_several(
            experiment, place, code, "generate", settings, result, *inputs, **given
        ) as made:
            if made is not None:
                print(f"{place}: {write_corpus(result, made)} documents")

    systems = experiment.of_model(study, corpus, model)
    side_by_side(write, systems)
    if experiment.only is None:
        forget_finished(experiment, [f"generate {study} {corpus} {name}" for name in systems])


def _save(model: Any, place: Path) -> None:
    with atomic_write(place) as folder:
        folder.mkdir()
        model.save(folder)


def complete(experiment: Experiment, study: str, corpus: str) -> None:
    """Human articles beside machine completions of their own openings -> ``data/corpora/<study>/<corpus>``.

    The larger model's completions come first, then the smaller one's join them, so that every side of every article is in one
    corpus; the sections that the larger one finished are kept until both have.
    """
    folder = experiment.data / "corpora" / study
    source = experiment.data / System("articles", "wiki").texts
    with ExitStack() as finished:
        for part, target in (("larger", "half"), ("smaller", corpus)):
            settings, place = experiment.settings(study, part), f"complete {study} {part}"
            model = experiment.data / str(settings.pop("model"))
            given = {
                "name": part,
                "model": model,
                "prefixes": read_documents(source / "documents.jsonl"),
            }
            made = _made(
                experiment,
                place,
                "decoding/completions",
                "generate",
                settings,
                model,
                source,
                **given,
            )
            write_corpus(folder / target, finished.enter_context(made))
            source = folder / target
    shutil.rmtree(folder / "half")


def decode(experiment: Experiment, study: str, run: str) -> None:
    """Continuations of encyclopedia prefixes by a set of decoders -> ``data/generations/<study>/<run>``."""
    chosen, place = experiment.settings(study, "runs", run), f"decode {study} {run}"
    settings = {**experiment.settings(study, "sampling"), **chosen}
    lists, named = experiment.decoders(study), str(chosen.get("decoders"))
    if named not in lists:
        told, where = (
            f"{named!r}{did_you_mean(named, lists)}",
            experiment.settings(study).get("decoders"),
        )
        known = f"allowed are {sorted(lists)}, the files of {where}"
        raise BadInput(
            f"{place}: there is no list of decoders {told}; {known}; fix decoders in params.yaml"
        )
    settings["decoders"] = lists[named]
    model = experiment.data / "models" / "decoding" / str(settings.pop("model"))
    prefixes = experiment.data / str(settings.pop("prefixes"))
    given = {"name": run, "model": model, "prefixes": read_documents(prefixes / "documents.jsonl")}
    with _made(
        experiment, place, "decoding/continuations", "generate", settings, model, prefixes, **given
    ) as made:
        count = write_corpus(experiment.data / "generations" / study / run, made)
    print(f"{place}: {count} documents")
