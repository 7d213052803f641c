"""The stages ``train`` and ``read`` of critics: train on real text, make predictions for any text.

An entry of ``<study>.critics`` has ``train`` (what the critic learns, with its settings),
``predictions`` (named ways to read a text) and ``metrics`` (named numbers, each from one reading).
Readings are crossed with the corpora and systems of the study here, metrics in
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
from longform_lab.experiment import Experiment, System, systems_of
from longform_lab.scratch import resumable
from longform_lab.settings.critics import READINGS, TRAININGS
from longform_lab.settings.entries import ReadingPlacement, TrainingPlacement


def train(experiment: Experiment, study: str, critic: str) -> None:
    """Train a critic on each of its training corpora.

    Writes ``data/critics/<study>/<critic>/<corpus>``.
    """
    entry = experiment.settings(study, "critics", critic, "train")
    entry_key = f"{study}.critics.{critic}.train"
    placed, training = parse_kind(TRAININGS, TrainingPlacement, entry, entry_key)
    corpora = placed.corpora
    if corpora is None:
        corpora = experiment.corpora_of(study, critic)
    base = placed.base or f"tokenizers/{study}"
    # A folder for each corpus; all of them appear at once, when the last is trained.
    with atomic_write(experiment.data / "critics" / study / critic) as folder:
        folder.mkdir()
        for corpus in corpora:
            real = System(study, corpus)
            start = experiment.data / base.format(corpus=corpus)
            texts = experiment.data / real.texts
            work = f"train {study} {critic} {corpus}"
            with resumable(experiment, work, [training], texts, start) as scratch:
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
    """An entry of a critic's ``predictions``.

    Attributes:
        critic: its name.
        name: of the entry.
        key: its dotted key in the parameters.
        placed: the texts that are read.
        reading: how they are read.
    """

    critic: str
    name: str
    key: str
    placed: ReadingPlacement
    reading: Reading


def read(experiment: Experiment, study: str, critic: str) -> None:
    """Make all predictions of a critic for all texts that it judges.

    Writes ``data/predictions/<study>/<critic>``. After a kill at most the file at work is lost.
    """
    names = experiment.settings(study, "critics", critic, "predictions")
    entries = [_entry(experiment, study, critic, name) for name in names]
    target = experiment.data / "predictions" / study / critic
    # Finished files lie in scratch folders, which stay until the target is there.
    with atomic_write(target) as folder, ExitStack() as scratches:
        for entry in entries:
            files = _files(experiment, study, entry)
            inputs: list[Path] = []
            for system in files:
                inputs += _inputs(experiment, entry, system)
            name = f"read {study} {critic} {entry.name}"
            work = resumable(
                experiment, name, [entry.reading, entry.placed], *dict.fromkeys(inputs)
            )
            scratch = scratches.enter_context(work)
            unread = {}
            for system, file in files.items():
                if not (scratch / file).is_file():
                    unread[str(file.parent)] = (system, scratch / file)
            side_by_side(partial(_read, experiment, entry), unread)
            for file in files.values():
                (folder / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(scratch / file, folder / file)


def _files(experiment: Experiment, study: str, entry: Entry) -> dict[System, Path]:
    """The array file of each system, as a path below the folder of the critic's predictions.

    Args:
        experiment: its corpora and systems.
        study: the study.
        entry: of the critic's predictions. Its ``placed.of`` says whose texts were read, and its
            ``placed.corpora`` of which corpora (None: all that the critic reads).
    """
    corpora = entry.placed.corpora
    if corpora is None:
        corpora = experiment.corpora_of(study, entry.critic)
    stored = f"{entry.placed.stored_as or entry.name}.npz"
    files = {}
    for corpus in corpora:
        # A system without a model stands for the corpus' own texts.
        systems = [System(study, corpus), *experiment.systems(study, corpus)]
        for system in systems_of(experiment, entry.placed.of, systems):
            files[system] = Path(system.corpus, system.folder, stored)
    return files


def _entry(experiment: Experiment, study: str, critic: str, name: str) -> Entry:
    """Read an entry of ``predictions``. Raises ConfigError: a wrong setting, or no splits."""
    keys = (study, "critics", critic, "predictions", name)
    key = ".".join(keys)
    placed, reading = parse_kind(READINGS, ReadingPlacement, experiment.settings(*keys), key)
    if not placed.splits:
        raise ConfigError(
            f"{key}: splits is [], allowed is a list out of {list(SPLITS)}; fix params.yaml"
        )
    return Entry(critic, name, key, placed, reading)


def _inputs(experiment: Experiment, entry: Entry, system: System) -> tuple[Path, Path]:
    """The folder of the texts, and the folder of the model or corpus that reads them.

    The reader is the trained critic, the corpus, the system itself, or a path below ``data/``.
    Where it is the system itself, the texts are the corpus that it was trained on.
    """
    reader = entry.placed.reader
    corpus = System(system.study, system.corpus).texts
    texts = entry.placed.texts or (corpus if reader == "system" else system.texts)
    # another corpus whose critic reads this one
    read_as = experiment.settings(system.study).get("read_as", {})
    trained = f"critics/{system.study}/{entry.critic}/{read_as.get(system.corpus, system.corpus)}"
    named = {"system": system.checkpoint, "corpus": corpus, "critic": trained}
    path = named[reader] if reader in named else reader.format(corpus=system.corpus)
    return experiment.data / texts.format(corpus=system.corpus), experiment.data / path


def _read(experiment: Experiment, entry: Entry, target: tuple[System, Path]) -> None:
    """Make an entry's predictions for one system's texts and write them to a file.

    Args:
        experiment: the parameters, and where the data lie.
        entry: how texts are read.
        target: the system, and the file.

    Raises:
        BadInput: the texts have none of the splits that the entry names.
    """
    system, file = target
    texts, reader = _inputs(experiment, entry, system)
    text = read_corpus(texts)
    # A corpus has splits, generated texts have none.
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
            f"{entry.key}: {system.texts} has no text of splits {splits}; "
            "fix splits, or run its stage again"
        )
    if "cut" in text.truth:
        predictions = with_cut_texts(predictions, text.documents, text.truth["cut"].tolist())
    file.parent.mkdir(parents=True, exist_ok=True)
    write_predictions(file, predictions)
    print(f"read {entry.critic} {entry.name}: {system.corpus} {system.folder}", flush=True)
