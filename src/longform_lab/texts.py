"""The stages that make corpora, tokenizers, language models, and texts that these generate."""

import shutil
from contextlib import ExitStack
from pathlib import Path

from longform.decoding.decoders import DECODERS
from longform.decoding.settings import (
    SAMPLERS,
    Completions,
    Continuations,
    Sampler,
    WritingInputs,
)
from longform.documents import Corpus, Document
from longform.errors import ConfigError, did_you_mean
from longform.files.artefacts import atomic_write, read_documents, write_corpus
from longform.language_models.settings import REGISTRY as MODELS
from longform.language_models.settings import TOKENIZERS, Saved, Training, TrainingInputs
from longform.processes import first_process, side_by_side
from longform.settings import KIND, Nothing, Settings, parse, parse_kind
from longform_lab.experiment import Experiment, System
from longform_lab.scratch import bring_back, forget_finished, keep_finished, resumable
from longform_lab.settings.entries import MadeCorpus, ModelPlacement, ReadCorpus
from longform_lab.settings.registries import DATASETS, FILE_DATASETS

FROM_FILES = "corpora_from_files"  # beside "corpora", which are made from the seed


def corpus(experiment: Experiment, name: str) -> None:
    """Make a corpus from published files or a synthetic world.

    Writes ``data/corpora/<study>/<name>``.

    Raises:
        ConfigError: no such entry, or one with a wrong setting.
    """
    if name in experiment.params.get(FROM_FILES, {}):
        _corpus_from_files(experiment, name)
        return
    entry, key = experiment.settings("corpora", name), f"corpora.{name}"
    placed, dataset = parse_kind(DATASETS, MadeCorpus, entry, key)
    with resumable(experiment, key, [dataset]) as scratch:
        corpus = dataset.build(name=name, seed=experiment.seed, scratch=scratch)
        _keep_corpus(experiment, placed.study, name, corpus)


def _corpus_from_files(experiment: Experiment, name: str) -> None:
    """Read a corpus of published files, and write it to its study.

    Raises:
        ConfigError: the entry names a second file (``beside``), but the data set reads only one.
    """
    entry, key = experiment.settings(FROM_FILES, name), f"{FROM_FILES}.{name}"
    placed, dataset = parse_kind(FILE_DATASETS, ReadCorpus, entry, key)
    if placed.beside and not dataset.reads_beside:
        raise ConfigError(f"{key} has 'beside', and {entry[KIND]} reads one file; fix params.yaml")
    raw = experiment.data / placed.source
    beside = experiment.data / placed.beside if placed.beside else None
    inputs = [raw] if beside is None else [raw, beside]
    with resumable(experiment, key, [dataset], *inputs) as scratch:
        corpus = dataset.load(raw, name=name, seed=experiment.seed, scratch=scratch, beside=beside)
        _keep_corpus(experiment, placed.study, name, corpus)


def _keep_corpus(experiment: Experiment, study: str, name: str, corpus: Corpus) -> None:
    """Write a corpus, in the first process alone."""
    if first_process():
        count = write_corpus(experiment.data / "corpora" / study / name, corpus)
        print(f"corpus {name}: {count} documents")


def tokenizer(experiment: Experiment, study: str) -> None:
    """Fit a tokenizer to all training text of a study, whose models share it.

    Writes ``data/tokenizers/<study>``.
    """
    entry, key = experiment.settings(study, "tokenizer"), f"{study}.tokenizer"
    _, settings = parse_kind(TOKENIZERS, Nothing, entry, key)
    documents: list[Document] = []
    for name in experiment.settings(study)["corpora"]:
        documents += experiment.documents(System(study, name))
    fitted = settings.fit(documents, experiment.data)
    _save(fitted, experiment.data / "tokenizers" / study)


def language_model(experiment: Experiment, study: str, corpus: str, model: str) -> None:
    """Train a model on a corpus, for each setting of titles and each seed.

    Writes ``data/models/<study>/<corpus>/<system>``.

    Args:
        experiment: the parameters, and where the data lie.
        study, corpus, model: names in them.
    """
    # 1. The settings of the model and its training, and the folders that the training starts from.
    entry = experiment.settings("models", model)
    _, settings = parse_kind(MODELS, ModelPlacement, entry, f"models.{model}")
    training = _training(experiment, study)
    published = experiment.home / "scratch" / "published" / model
    base = settings.start(experiment.data / "tokenizers" / study, published)
    bases_folder = settings.bases(training)
    bases = experiment.data / bases_folder if bases_folder else None
    real = System(study, corpus)
    inputs_of_work = [experiment.data / real.texts]
    inputs_of_work += [folder for folder in (base, bases) if folder is not None]
    settings_of_work = [settings] if training is None else [settings, training]

    # 2. Its systems, several at a time where the machine has room.
    def train(system: System) -> None:
        """Train one system, unless an earlier run finished it."""
        name = f"language_model {study} {corpus} {system.folder}"
        result = experiment.data / system.checkpoint
        with resumable(experiment, name, settings_of_work, *inputs_of_work) as scratch:
            if _was_finished(name, scratch, result):
                return
            inputs = TrainingInputs(
                documents=experiment.documents(real),
                base=base,
                bases=bases,
                training=training,
                titles=bool(system.titles),
                name=f"{corpus}-{system.folder}",
                seed=experiment.training_seed(system),
                scratch=scratch,
            )
            trained = settings.train(inputs)
            if first_process():
                _save(trained, result)
                keep_finished(scratch, result)

    systems = experiment.of_model(study, corpus, model)
    side_by_side(train, systems)
    if experiment.only is None:
        forget_finished(experiment, [f"language_model {study} {corpus} {name}" for name in systems])


def generate(experiment: Experiment, study: str, corpus: str, model: str) -> None:
    """Let every system of a model write its texts.

    Writes ``data/generations/<study>/<corpus>/<system>``.

    Args:
        experiment: the parameters, and where the data lie.
        study, corpus, model: names in them.
    """
    sampler = _sampler(experiment, study, model)
    training = _training(experiment, study)
    real = System(study, corpus)

    # Systems of a model, several at a time where the machine has room.
    def write(system: System) -> None:
        """Let one system write its texts, unless an earlier run finished them."""
        name = f"generate {study} {corpus} {system.folder}"
        checkpoint = experiment.data / system.checkpoint
        result = experiment.data / system.texts
        real_texts = experiment.data / real.texts
        with resumable(experiment, name, [sampler], checkpoint, real_texts) as scratch:
            if _was_finished(name, scratch, result):
                return
            inputs = WritingInputs(
                model=checkpoint,
                prefixes=experiment.documents(real),
                titles=bool(system.titles),
                packing=None if training is None else training.packing,
                name=f"{corpus}-{system.folder}",
                seed=experiment.seed,
                scratch=scratch,
            )
            texts = sampler.write(inputs)
            if first_process():
                print(f"{name}: {write_corpus(result, texts)} documents")
                keep_finished(scratch, result)

    systems = experiment.of_model(study, corpus, model)
    side_by_side(write, systems)
    if experiment.only is None:
        forget_finished(experiment, [f"generate {study} {corpus} {name}" for name in systems])


def _was_finished(name: str, scratch: Path, result: Path) -> bool:
    """Restore a result that a killed run of the stage had finished; return whether there was one.

    Args:
        name: the stage's work, for the printed line.
        scratch: the folder in which the killed run kept it.
        result: where it belongs.
    """
    if not bring_back(scratch, result):
        return False
    print(f"{name}: was finished before", flush=True)
    return True


def _training(experiment: Experiment, study: str) -> Training | None:
    """The settings by which a study trains its networks; None where it has none."""
    if "training" not in experiment.settings(study):
        return None
    return parse(Training, experiment.entry(study, "training"), f"{study}.training")


def _sampler(experiment: Experiment, study: str, model: str) -> Sampler:
    """The sampler that writes a model's texts: the model's own, or else the study's."""
    entry = experiment.settings("models", model)
    if "sampling" in entry:
        sampling, key = entry["sampling"], f"models.{model}.sampling"
    else:
        sampling, key = experiment.settings(study, "sampling"), f"{study}.sampling"
    _, sampler = parse_kind(SAMPLERS, Nothing, sampling, key)
    return sampler


def _save(model: Saved, target: Path) -> None:
    """Save a model or tokenizer to a folder, which appears at once."""
    with atomic_write(target) as folder:
        folder.mkdir()
        model.save(folder)


def complete(experiment: Experiment, study: str, corpus: str) -> None:
    """Make a corpus of human articles and machine completions of their openings.

    The smaller model adds its completions to the corpus with those of the larger one, so that all
    versions of an article are in one corpus. Finished sections stay in scratch folders until both
    models are done. Writes ``data/corpora/<study>/<corpus>``.
    """
    folder = experiment.data / "corpora" / study
    source = experiment.data / System("articles", "wiki").texts
    with ExitStack() as scratches:
        for part, target in (("larger", "half"), ("smaller", corpus)):
            settings = parse(Completions, experiment.entry(study, part), f"{study}.{part}")
            model = experiment.data / settings.model
            work = resumable(experiment, f"complete {study} {part}", [settings], model, source)
            scratch = scratches.enter_context(work)
            completions = settings.complete(
                model,
                read_documents(source / "documents.jsonl"),
                name=part,
                seed=experiment.seed,
                scratch=scratch,
            )
            write_corpus(folder / target, completions)
            source = folder / target
    shutil.rmtree(folder / "half")


def decode(experiment: Experiment, study: str, run: str) -> None:
    """Continue encyclopedia prefixes with each decoder of a run.

    Writes ``data/generations/<study>/<run>``.

    Raises:
        ConfigError: the run names a list of decoders that is not there, or has a wrong setting.
    """
    # 1. The run's settings, and those of its decoders.
    key = f"{study}.runs.{run}"
    merged = {**experiment.settings(study, "sampling"), **experiment.settings(study, "runs", run)}
    settings = parse(Continuations, merged, key)
    lists = experiment.decoders(study)
    if settings.decoders not in lists:
        close = did_you_mean(settings.decoders, lists)
        folder = experiment.settings(study).get("decoders")
        raise ConfigError(
            f"{key}: there is no list of decoders {settings.decoders!r}{close}; allowed are "
            f"{sorted(lists)}, the files of {folder}; fix decoders in params.yaml"
        )
    decoders = lists[settings.decoders]
    work: list[Settings] = [settings]
    for decoder, entry in decoders.items():
        where = f"{settings.decoders}.{decoder}"
        _, parsed = parse_kind(DECODERS, Nothing, entry, where, "the list of decoders")
        work.append(parsed)

    # 2. The texts.
    model = experiment.data / "models" / "decoding" / settings.model
    prefixes = experiment.data / settings.prefixes
    name = f"decode {study} {run}"
    with resumable(experiment, name, work, model, prefixes) as scratch:
        continuations = settings.decode(
            model,
            read_documents(prefixes / "documents.jsonl"),
            decoders,
            name=run,
            seed=experiment.seed,
            scratch=scratch,
        )
        count = write_corpus(experiment.data / "generations" / study / run, continuations)
    print(f"{name}: {count} documents")
