"""Stages of critics that need models: train on real text, read any text.

An entry of ``<study>.critics`` has ``train`` (what the critic learns, with its settings), ``predictions`` (named ways to read a text) and
``metrics`` (named numbers, each from one reading). Readings are crossed with the corpora and systems of the study here, metrics in
:mod:`longform_lab.scoring`.
"""

import shutil
from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from longform.documents import SPLITS, Predictions, with_cut_texts
from longform.errors import BadInput
from longform.files.artefacts import atomic_write, read_arrays, read_corpus, write_predictions
from longform.processes import first_process, side_by_side
from longform_lab.calls import call, function
from longform_lab.code_names import source_of
from longform_lab.experiment import Experiment, System, chosen_systems
from longform_lab.scratch import resumable

READING = ("code", "as", "of", "corpora", "reader", "splits", "texts", "titles")


def train(experiment: Experiment, study: str, critic: str) -> None:
    """What a critic learns from every corpus that it is trained on -> ``data/critics/<study>/<critic>/<corpus>``."""
    entry = experiment.settings(study, "critics", critic, "train")
    corpora = entry.pop("corpora", experiment.corpora_of(study, critic))
    code, base = (
        source_of(critic, str(entry.pop("code", "train"))),
        entry.pop("base", f"tokenizers/{study}"),
    )
    with atomic_write(experiment.data / "critics" / study / critic) as folder:
        folder.mkdir()
        for corpus in corpora:
            place = f"train {study} {critic} {corpus}"
            real = System(study, corpus)
            start = experiment.data / base.format(corpus=corpus)
            inputs = (experiment.data / real.texts, start)
            with resumable(experiment, place, {**entry, "code": code}, *inputs) as scratch:
                given = {
                    "name": f"{corpus}-{critic}",
                    "seed": experiment.seed,
                    "base": start,
                    "scratch": scratch,
                }
                given["documents"] = experiment.documents(real)
                trained = call(place, function(place, code, "fit"), entry, **given)
                if first_process():
                    (folder / corpus).mkdir()
                    trained.save(folder / corpus)


def read(experiment: Experiment, study: str, critic: str) -> None:
    """Every reading of every text that the critic judges -> ``data/predictions/<study>/<critic>``; a kill costs one text's reading."""
    entry = experiment.settings(study, "critics", critic)
    with (
        atomic_write(experiment.data / "predictions" / study / critic) as folder,
        ExitStack() as finished,
    ):
        for name in entry["predictions"]:
            settings = experiment.settings(study, "critics", critic, "predictions", name)
            systems: list[System] = []
            for corpus in settings.get("corpora", experiment.corpora_of(study, critic)):
                known = [System(study, corpus), *experiment.systems(study, corpus)]
                systems += chosen_systems(settings.get("of", "all"), known)
            inputs = dict.fromkeys(
                place for one in systems for place in _inputs(experiment, critic, settings, one)
            )
            work = {
                **settings,
                "code": source_of(critic, str(settings.get("code", "read")).partition(".")[0]),
            }
            kept = finished.enter_context(
                resumable(experiment, f"read {study} {critic} {name}", work, *inputs)
            )
            files = {
                one: Path(one.corpus, one.folder, f"{settings.get('as', name)}.npz")
                for one in systems
            }
            left = {
                str(file.parent): (one, kept / file)
                for one, file in files.items()
                if not (kept / file).is_file()
            }
            side_by_side(partial(_read, experiment, critic, name, settings), left)
            for file in files.values():
                (folder / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(kept / file, folder / file)


def _inputs(
    experiment: Experiment, critic: str, settings: Mapping[str, Any], system: System
) -> tuple[Path, Path]:
    """The folders of the texts and of what reads them: the trained critic, the corpus, the system itself, or a path below ``data/``.

    Where the reader is the system itself it reads the corpus that it was trained on.
    """
    reader, corpus = (
        str(settings.get("reader", "critic")),
        System(system.study, system.corpus).texts,
    )
    texts = settings.get("texts", corpus if reader == "system" else system.texts)
    read_as = experiment.settings(system.study).get(
        "read_as", {}
    )  # another corpus whose critic reads this one
    trained = f"critics/{system.study}/{critic}/{read_as.get(system.corpus, system.corpus)}"
    named = {"system": system.checkpoint, "corpus": corpus, "critic": trained}
    place = named[reader] if reader in named else reader.format(corpus=system.corpus)
    return experiment.data / str(texts).format(corpus=system.corpus), experiment.data / place


def _read(
    experiment: Experiment,
    critic: str,
    name: str,
    settings: Mapping[str, Any],
    target: tuple[System, Path],
) -> None:
    """One reading of one system's texts, to a file."""
    system, file = target
    place = f"{system.study}.critics.{critic}.predictions.{name}"
    by_system = settings.get("reader") == "system"
    texts, reader = _inputs(experiment, critic, settings, system)
    text = read_corpus(texts)
    splits = (
        settings.get("splits", ["test"]) if by_system or system.model == "data" else ["generated"]
    )
    if not isinstance(splits, list) or not splits or not set(splits) <= set(SPLITS):
        raise BadInput(f"{place}: splits is {splits!r}, allowed is a list out of {list(SPLITS)}")
    truth = reader / "truth.npz"
    code, _, wanted = str(settings.get("code", "read")).partition(".")
    given: dict[str, Any] = {
        "documents": list(text.documents),
        "truth": text.truth,
        "reader": reader,
    }
    given |= {
        "reader_truth": read_arrays(truth) if truth.is_file() else {},
        "seed": experiment.seed,
    }
    given |= {"splits": splits, "titles": bool(settings.get("titles", system.titles))}
    given["name"] = f"{critic} {name} {system.corpus} {system.folder}"
    own = {key: value for key, value in settings.items() if key not in READING}
    reads = function(place, source_of(critic, code), wanted or "read")
    predictions: Predictions = call(place, reads, own, **given)
    if not predictions.unit_ids:
        raise BadInput(
            f"{place}: {system.texts} has no text of splits {splits}; fix splits, or run its stage again"
        )
    if "cut" in text.truth:
        predictions = with_cut_texts(predictions, text.documents, text.truth["cut"].tolist())
    file.parent.mkdir(parents=True, exist_ok=True)
    write_predictions(file, predictions)
    print(f"read {critic} {name}: {system.corpus} {system.folder}", flush=True)
