"""Stages of critics that need models: train on real text, read any text.

An entry of ``<study>.critics`` has ``train`` (what the critic learns, with its settings), ``predictions`` (named ways to read a text) and
``metrics`` (named numbers, each from one reading). Readings are crossed with the corpora and systems of the study here, metrics in
:mod:`longform_lab.scoring`.
"""

import shutil
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from longform.critics.readings import PredictionInputs, Reading
from longform.critics.trainings import TrainingInputs
from longform.documents import SPLITS, with_cut_texts
from longform.errors import BadInput, ConfigError
from longform.files.artefacts import atomic_write, read_arrays, read_corpus, write_predictions
from longform.processes import first_process, side_by_side
from longform.settings import parse_kind
from longform_lab.experiment import Experiment, System, chosen_systems
from longform_lab.scratch import resumable
from longform_lab.settings.critics import READINGS, TRAININGS
from longform_lab.settings.entries import ReadingPlacement, TrainingPlacement


def train(experiment: Experiment, study: str, critic: str) -> None:
    """What a critic learns from every corpus that it is trained on -> ``data/critics/<study>/<critic>/<corpus>``."""
    entry = experiment.settings(study, "critics", critic, "train")
    placed, training = parse_kind(
        TRAININGS, TrainingPlacement, entry, f"{study}.critics.{critic}.train"
    )
    corpora = placed.corpora
    if corpora is None:
        corpora = experiment.corpora_of(study, critic)
    base = placed.base or f"tokenizers/{study}"
    with atomic_write(experiment.data / "critics" / study / critic) as folder:
        folder.mkdir()
        for corpus in corpora:
            real = System(study, corpus)
            start = experiment.data / base.format(corpus=corpus)
            read = (experiment.data / real.texts, start)
            place = f"train {study} {critic} {corpus}"
            with resumable(experiment, place, [training], *read) as scratch:
                inputs = TrainingInputs(
                    documents=experiment.documents(real),
                    base=start,
                    name=f"{corpus}-{critic}",
                    seed=experiment.seed,
                    scratch=scratch,
                )
                trained = training.fit(inputs)
                if first_process():
                    (folder / corpus).mkdir()
                    trained.save(folder / corpus)


@dataclass(frozen=True)
class Entry:
    """An entry of ``predictions``: which texts are read, and how."""

    critic: str
    name: str
    place: str
    placed: ReadingPlacement
    reading: Reading


def read(experiment: Experiment, study: str, critic: str) -> None:
    """Every reading of every text that the critic judges -> ``data/predictions/<study>/<critic>``; a kill costs one text's reading."""
    entries = [
        _entry(experiment, study, critic, name)
        for name in experiment.settings(study, "critics", critic, "predictions")
    ]
    with (
        atomic_write(experiment.data / "predictions" / study / critic) as folder,
        ExitStack() as finished,
    ):
        for entry in entries:
            systems: list[System] = []
            corpora = entry.placed.corpora
            if corpora is None:
                corpora = experiment.corpora_of(study, critic)
            for corpus in corpora:
                known = [System(study, corpus), *experiment.systems(study, corpus)]
                systems += chosen_systems(entry.placed.of, known)
            inputs = dict.fromkeys(
                place for system in systems for place in _inputs(experiment, entry, system)
            )
            work = [entry.reading, entry.placed]
            kept = finished.enter_context(
                resumable(experiment, f"read {study} {critic} {entry.name}", work, *inputs)
            )
            stored = f"{entry.placed.stored_as or entry.name}.npz"
            files = {system: Path(system.corpus, system.folder, stored) for system in systems}
            left = {
                str(file.parent): (system, kept / file)
                for system, file in files.items()
                if not (kept / file).is_file()
            }
            side_by_side(partial(_read, experiment, entry), left)
            for file in files.values():
                (folder / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(kept / file, folder / file)


def _entry(experiment: Experiment, study: str, critic: str, name: str) -> Entry:
    keys = (study, "critics", critic, "predictions", name)
    place = ".".join(keys)
    placed, reading = parse_kind(READINGS, ReadingPlacement, experiment.settings(*keys), place)
    if not placed.splits:
        raise ConfigError(
            f"{place}: splits is [], allowed is a list out of {list(SPLITS)}; fix params.yaml"
        )
    return Entry(critic, name, place, placed, reading)


def _inputs(experiment: Experiment, entry: Entry, system: System) -> tuple[Path, Path]:
    """The folders of the texts and of what reads them: the trained critic, the corpus, the system itself, or a path below ``data/``.

    Where the reader is the system itself it reads the corpus that it was trained on.
    """
    reader, corpus = entry.placed.reader, System(system.study, system.corpus).texts
    texts = entry.placed.texts or (corpus if reader == "system" else system.texts)
    # another corpus whose critic reads this one
    read_as = experiment.settings(system.study).get("read_as", {})
    trained = f"critics/{system.study}/{entry.critic}/{read_as.get(system.corpus, system.corpus)}"
    named = {"system": system.checkpoint, "corpus": corpus, "critic": trained}
    place = named[reader] if reader in named else reader.format(corpus=system.corpus)
    return experiment.data / texts.format(corpus=system.corpus), experiment.data / place


def _read(experiment: Experiment, entry: Entry, target: tuple[System, Path]) -> None:
    """One reading of one system's texts, to a file."""
    system, file = target
    texts, reader = _inputs(experiment, entry, system)
    text = read_corpus(texts)
    of_corpus = entry.placed.reader == "system" or system.model == "data"
    splits: list[str] = [*entry.placed.splits] if of_corpus else ["generated"]
    truth = reader / "truth.npz"
    titles = system.titles if entry.placed.titles is None else entry.placed.titles
    inputs = PredictionInputs(
        documents=list(text.documents),
        truth=text.truth,
        reader=reader,
        reader_truth=read_arrays(truth) if truth.is_file() else {},
        splits=splits,
        titles=bool(titles),
        name=f"{entry.critic} {entry.name} {system.corpus} {system.folder}",
        seed=experiment.seed,
    )
    predictions = entry.reading.predict(inputs)
    if not predictions.unit_ids:
        raise BadInput(
            f"{entry.place}: {system.texts} has no text of splits {splits}; fix splits, or run its stage again"
        )
    if "cut" in text.truth:
        predictions = with_cut_texts(predictions, text.documents, text.truth["cut"].tolist())
    file.parent.mkdir(parents=True, exist_ok=True)
    write_predictions(file, predictions)
    print(f"read {entry.critic} {entry.name}: {system.corpus} {system.folder}", flush=True)
