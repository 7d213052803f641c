"""The parts of an experiment: studies with their corpora, models, systems and critics.

All of it is read from ``params.yaml``. A study is a set of texts that are evaluated together
(``articles``, ``suites`` ...). It lists corpora and language models; every model is trained on
every corpus of the study in the same way, and a *system* is a corpus, a model, whether the model
saw section titles, and which of several trainings it is. Critics read the study's corpora and the
texts that its systems wrote.

Some names stand for several models of a study, so that a model that is added is evaluated without
further changes. In ``of`` of ``params.yaml`` they refer to the critic's study; in the papers' own
``params.yaml`` the study's name and a dot stand before them (``articles.models``):

- ``models``: all that the study trains, its ladder of sizes among them;
- ``sizes``: the ladder alone;
- ``trained``: those of every kind but ``untrained``;
- ``kind.hsmm`` and the like: those of a kind.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from longform.documents import Document
from longform.errors import BadInput, did_you_mean
from longform.files.artefacts import read_documents, read_yaml
from longform.files.yaml_dialect import KIND
from longform.statistics.random_streams import derived_seed

TITLES = {"with": True, "without": False}  # deng2022 section 4: W/ Title and W/O Title


@dataclass(frozen=True)
class System:
    """Who wrote a set of texts.

    Attributes:
        study: an entry of ``params.yaml`` with corpora.
        corpus: the corpus that the model was trained on, or the corpus itself.
        model: an entry of ``models``; ``data`` for the corpus itself.
        titles: whether the model saw section titles; None where the study does not vary that.
        seed: the number of the training, from 1; None where the model is trained once.
    """

    study: str
    corpus: str
    model: str = "data"
    titles: bool | None = None
    seed: int | None = None

    @property
    def folder(self) -> str:
        """The name of its folder below that of its corpus: ``gpt2-with_titles-seed_1``."""
        return "-".join([self.model, *self._parts])

    @property
    def texts(self) -> str:
        """Where its texts lie, below ``data/``."""
        if self.model == "data":
            return f"corpora/{self.study}/{self.corpus}"
        return f"generations/{self._place}"

    @property
    def checkpoint(self) -> str:
        """Where its language model lies, below ``data/``."""
        return f"models/{self._place}"

    @property
    def _place(self) -> str:
        """The path that its texts and its language model share: ``articles/wiki/gpt2/seed_1``."""
        return "/".join([self.study, self.corpus, self.model, *self._parts])

    @property
    def _parts(self) -> list[str]:
        """The parts of its name that tell it from other systems of its model."""
        parts = []
        if self.titles is not None:
            parts.append("with_titles" if self.titles else "without_titles")
        if self.seed is not None:
            parts.append(f"seed_{self.seed}")
        return parts

    def predictions(self, critic: str, name: str) -> str:
        """Where a critic's predictions for its texts lie, below ``data/``."""
        return f"predictions/{self.study}/{critic}/{self.corpus}/{self.folder}/{name}.npz"

    @property
    def fields(self) -> dict[str, Any]:
        """The fields of a record that say whose texts were scored."""
        return {
            "corpus": self.corpus,
            "system": self.model,
            "titles": self.titles,
            "seed": self.seed,
        }


class Experiment:
    """The parameters of a run.

    Args:
        home: the folder of ``params.yaml``, ``data/`` and ``paper_figures/``.
        only: the folder of the one system of a model that is trained and sampled now, such as
            ``gpt2-with_titles-seed_1``; None for all.
    """

    def __init__(self, home: Path = Path(), only: str | None = None) -> None:
        self.home = home
        self.only = only

    @cached_property
    def params(self) -> Mapping[str, Any]:
        """``params.yaml`` as written. Raises BadInput: no such file, or not a mapping."""
        path = self.home / "params.yaml"
        if not path.is_file():
            raise BadInput(
                f"{path}: no such file; --home must name a folder with params.yaml and data/"
            )
        params = read_yaml(path)
        if not isinstance(params, dict):
            raise BadInput(f"{path}: not a mapping of settings; fix the file")
        return params

    @property
    def data(self) -> Path:
        """The data folder."""
        return self.home / "data"

    @property
    def seed(self) -> int:
        """The seed of the whole run. Raises BadInput: it is no whole number from 0."""
        seed = self.params.get("seed")
        if type(seed) is not int or seed < 0:
            raise BadInput(f"params.yaml: seed is {seed!r:.60}, allowed is a whole number from 0")
        return seed

    def entry(self, *keys: str) -> Any:
        """The value of nested keys, ``entry("models", "gpt2")``.

        Raises:
            BadInput: there is none; close names are offered.
        """
        value: Any = self.params
        for depth, key in enumerate(keys):
            names = value if isinstance(value, Mapping) else ()
            if key not in names:
                path = ".".join(keys[: depth + 1])
                raise BadInput(f"params.yaml has no {path}{did_you_mean(key, names)}")
            value = value[key]
        return value

    def settings(self, *keys: str) -> dict[str, Any]:
        """A mapping of settings. Raises BadInput: there is none, or it is no mapping."""
        value = self.entry(*keys)
        if not isinstance(value, Mapping):
            raise BadInput(
                f"params.yaml: {'.'.join(keys)} is {value!r:.60}, allowed is a mapping of settings"
            )
        return dict(value)

    def models(self, study: str, corpus: str) -> list[str]:
        """The language models of a corpus: the study's, and those of its ladder of sizes.

        Both list ``models``, and under ``corpora`` what corpora all of these are trained on.

        Raises:
            BadInput: the study's own ``corpora``, ``models``, ``titles`` or ``once`` is no list.
        """
        settings = self.settings(study)
        for name in ("corpora", "models", "titles", "once"):
            if not isinstance(settings.get(name) or [], list):
                value = f"{settings[name]!r:.60}"
                raise BadInput(
                    f"params.yaml: {study}.{name} is {value}, allowed is a list of names"
                )
        ladder = settings.get("sizes") or {}
        models: list[str] = []
        for source in (settings, ladder):
            if corpus in (source.get("corpora") or ()):
                models += source.get("models") or ()
        return models

    def systems(self, study: str, corpus: str) -> list[System]:
        """Every system of a corpus: each model, with and without section titles, by seed.

        ``params.yaml`` has the study's models, its ``titles`` (whether the models see them in
        training) and its number of ``seeds``. A corpus or model of the list ``once`` has seed 1
        alone. In a study without seeds every model is trained once, by the run's own seed: None.

        Returns:
            Systems in the order of the lists, seeds innermost.

        Raises:
            BadInput: a list of the study (:meth:`models` checks them), its number of seeds or a
                name in ``titles`` is wrong.
        """
        models = self.models(study, corpus)
        settings = self.settings(study)
        with_titles = self._with_titles(study)
        once = settings.get("once") or ()
        seeds = settings.get("seeds")
        if seeds is not None and (type(seeds) is not int or seeds < 1):
            raise BadInput(
                f"params.yaml: {study}.seeds is {seeds!r:.60}, "
                "allowed is a whole number from 1, or none"
            )
        # Each model with and without titles, once for each training seed.
        systems = []
        for model in models:
            trainings: list[int | None] = [None]
            if seeds is not None:
                single = corpus in once or model in once
                trainings = [1] if single else list(range(1, seeds + 1))
            for titles in with_titles:
                for training in trainings:
                    systems.append(System(study, corpus, model, titles, training))
        return systems

    def _with_titles(self, study: str) -> list[bool | None]:
        """The values of :attr:`System.titles` in a study; [None] where it has no ``titles``."""
        names = self.settings(study).get("titles")
        if names is None:
            return [None]
        for name in names:
            if name not in TITLES:
                raise BadInput(
                    f"params.yaml: {study}.titles has {name!r:.60}, allowed are {list(TITLES)}"
                )
        return [TITLES[name] for name in names]

    def training_seed(self, system: System) -> int:
        """The seed of a system's training: the run's own seed where the model is trained once."""
        if system.seed is None:
            return self.seed
        return derived_seed(self.seed, "training", system.seed)

    def of_model(self, study: str, corpus: str, model: str) -> dict[str, System]:
        """The systems of one model by their folders, or the one that ``only`` names.

        Raises:
            BadInput: the study does not train that model on that corpus, or it has no system of
                that name.
        """
        systems = {}
        for system in self.systems(study, corpus):
            if system.model == model:
                systems[system.folder] = system
        if not systems:
            close = did_you_mean(model, self.models(study, corpus))
            raise BadInput(f"params.yaml: {study} trains no model {model!r} on {corpus!r}{close}")
        if self.only is None:
            return systems
        if self.only not in systems:
            close = did_you_mean(self.only, systems)
            raise BadInput(
                f"{model} on {corpus} has no system {self.only!r}{close}; "
                f"allowed are {list(systems)}"
            )
        return {self.only: systems[self.only]}

    def corpora_of(self, study: str, critic: str) -> list[str]:
        """The corpora that a critic judges."""
        return list(self.entry(study, "critics", critic, "corpora"))

    def decoders(self, study: str) -> dict[str, dict[str, Any]]:
        """Settings of decoders, by the names of the YAML files in the study's folder ``decoders``.

        Empty where the parameters have no such study, or it names no folder.
        """
        folder = self.settings(study).get("decoders") if study in self.params else None
        if not folder:
            return {}
        files = sorted((self.home / folder).glob("*.yaml"))
        return {path.stem: read_yaml(path) for path in files}

    def documents(self, system: System) -> list[Document]:
        """The documents that a system wrote, or those of a corpus.

        Raises:
            BadInput: there is no file yet, or a line of it is no document.
        """
        return read_documents(self.data / system.texts / "documents.jsonl")


def chosen_systems(of: str | Sequence[str], systems: Sequence[System]) -> Iterator[System]:
    """Yield those systems that ``of`` names, in their order.

    Args:
        of: one or several of ``all``, ``models`` (all but the data), ``data``, and model names.
        systems: of one corpus.

    Raises:
        BadInput: there is no system of a name.
    """
    names = [of] if isinstance(of, str) else list(of)
    allowed = {system.model for system in systems} | {"all", "models"}
    for name in names:
        if name not in allowed:
            close = did_you_mean(name, allowed)
            raise BadInput(
                f"params.yaml names the system {name!r}{close}; allowed are {sorted(allowed)}"
            )
    for system in systems:
        is_model = system.model != "data"
        if "all" in names or system.model in names or ("models" in names and is_model):
            yield system


# -- groups of models --

MODELS, SIZES, TRAINED = "models", "sizes", "trained"
OF_A_KIND = "kind."
PUBLISHED = ("finetuned", "published")  # kinds that begin with published weights


def models_of(experiment: Experiment, study: str, group: str) -> list[str]:
    """The models of a study that a group's name stands for, in the order of the lists.

    Args:
        experiment: the parameters.
        study: an entry of ``params.yaml`` with models.
        group: ``models``, ``sizes``, ``trained`` or ``kind.`` and a kind.

    Raises:
        BadInput: there is no such group, or no such study.
    """
    settings = experiment.settings(study)
    ladder = (settings.get("sizes") or {}).get("models") or []
    if group == SIZES:
        return list(ladder)
    models = list(dict.fromkeys([*(settings.get("models") or []), *ladder]))
    if group == MODELS:
        return models
    if group == TRAINED:
        return [name for name in models if _entry(experiment, name).get(KIND) != "untrained"]
    if group.startswith(OF_A_KIND):
        kind = group.removeprefix(OF_A_KIND)
        _check_kind(kind)
        return [name for name in models if _entry(experiment, name).get(KIND) == kind]
    allowed = [MODELS, SIZES, TRAINED, f"{OF_A_KIND}network"]
    raise BadInput(
        f"{study}.{group}: there is no group of models {group!r}{did_you_mean(group, allowed)}; "
        f"allowed are {allowed} or another kind of language model"
    )


def _entry(experiment: Experiment, name: str) -> Mapping[str, Any]:
    """The settings of a language model."""
    return experiment.settings("models", name)


def _check_kind(kind: str) -> None:
    """Raises BadInput: there is no such kind of language model."""
    from longform.language_models.settings import REGISTRY

    if kind not in REGISTRY:
        raise BadInput(
            f"there is no kind of language model {kind!r}{did_you_mean(kind, REGISTRY)}; "
            f"allowed are {sorted(REGISTRY)}"
        )


def with_groups(experiment: Experiment, names: Sequence[Any]) -> list[Any]:
    """Names of systems, with ``STUDY.models`` and other groups replaced by the names of models.

    Each name is returned once, in the order of its first occurrence.
    """
    systems: list[Any] = []
    for name in names:
        study, dot, group = str(name).partition(".")
        systems += models_of(experiment, study, group) if dot else [name]
    return list(dict.fromkeys(systems))


def systems_of(
    experiment: Experiment, of: str | Sequence[str], systems: Sequence[System]
) -> Iterator[System]:
    """The systems that an entry of ``params.yaml`` concerns.

    Args:
        experiment: the parameters.
        of: ``all``, ``models``, ``data``, names of models, and groups of a kind.
        systems: those of one corpus; the first is the corpus itself.

    Raises:
        BadInput: there is no system or kind of a name.
    """
    names: list[str] = []
    present = {system.model for system in systems}
    for name in [of] if isinstance(of, str) else of:
        if name == TRAINED or name.startswith(OF_A_KIND):
            models = models_of(experiment, systems[0].study, name)
            names += [model for model in models if model in present]
        else:
            names.append(name)
    return chosen_systems(names, systems)


def from_scratch(experiment: Experiment) -> frozenset[str]:
    """The models that some study trains from scratch beside others that it finetunes.

    Tables and figures mark them, since they lack the others' pretraining. Where a study trains
    every model from scratch no mark is needed.
    """
    marked: set[str] = set()
    for settings in experiment.params.values():
        if not isinstance(settings, Mapping) or not isinstance(settings.get("models"), list):
            continue
        # The study's models and those of its ladder of sizes.
        ladder = (settings.get("sizes") or {}).get("models") or []
        bases = (settings.get("training") or {}).get("bases")
        scratch, finetuned = set(), set()
        for name in [*settings["models"], *ladder]:
            entry = _entry(experiment, name)
            kind = entry.get(KIND)
            if kind in PUBLISHED or (
                kind == "network" and bases and not entry.get("from_scratch", False)
            ):
                finetuned.add(name)
            elif kind in ("network", "own_training"):
                scratch.add(name)
        if finetuned:
            marked |= scratch
    return frozenset(marked)
