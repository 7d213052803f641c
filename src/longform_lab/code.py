"""The first stage: which code each stage runs, as hashes in ``data/code/``.

``python -m longform_lab.code`` writes the files, in about two seconds; the other stages depend on
their file alone. A comment, a docstring, or code that a stage does not run leaves its file as it
was, so DVC finds the stage up to date.
"""

import argparse
import gc
import json
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from longform.decoding.decoders import DECODERS
from longform.decoding.settings import SAMPLERS, Completions, Continuations
from longform.errors import ConfigError
from longform.files.yaml_dialect import YamlReader
from longform.language_models.settings import REGISTRY as MODELS
from longform.language_models.settings import TOKENIZERS, Training
from longform.settings import KIND, Settings
from longform_lab.settings.critics import EVALUATIONS, METRICS, READINGS, TRAININGS
from longform_lab.settings.papers import PAPERS
from longform_lab.settings.params import check
from longform_lab.settings.registries import DATASETS, FILE_DATASETS
from longform_lab.settings.reports import check_reports, read_reports
from longform_lab.source_code import EVERYTHING, Request, SourceTree

# No import here may bring NumPy along, which would triple the time of this stage.
DVC_YAML = Path("dvc.yaml")
FOLDER = Path("data/code")
SOURCE = Path("src")
PIPELINE = "longform_lab"
APART = (  # modules that no stage's hashes include
    # These decide when a stage runs, not what it makes.
    f"{PIPELINE}.code",
    f"{PIPELINE}.source_code",
    # Through these a user's own texts reach a critic; stages never call them.
    "longform.critics.saving",
    "longform.critics.scores",
    "longform.critics.coreference.own_texts",
    "longform.critics.mauve.own_texts",
    "longform.critics.section_order.own_texts",
    "longform.critics.topics.own_texts",
    "longform.datasets.own_texts",
)


def code_file(words: Sequence[str]) -> str:
    """The file below ``data/code`` with the hashes of the code that a stage's command runs.

    ``read articles topics`` has ``read/articles/topics.json``. Commands that run the same code
    share a file, so names that make no difference are left out.

    Args:
        words: the stage and its names, as on the command line.
    """
    stage, *names = words
    if stage == "language_model":
        names = names[2:]  # the same for any study and corpus
    elif stage == "generate":
        names = [*names[:1], *names[2:]]  # the same for any corpus
    elif stage not in ("corpus", "train", "read", "score", "report"):
        names = []
    return "/".join([stage, *names]) + ".json"


def entry_points(
    params: Mapping[str, Any], reports: Mapping[str, Any], tree: SourceTree
) -> dict[str, list[Request]]:
    """The functions and classes from which each stage's code is reached.

    These are the stage's own function and the classes that its settings name in ``params.yaml``,
    which no import in the code leads to. An entry with an error adds the classes that it names
    rightly; the error is reported when its stage runs.

    Args:
        params: ``params.yaml``.
        reports: for each paper the ``reports`` of ``experiments/<paper>/params.yaml``.
        tree: the package's source files.

    Returns:
        For each file of :func:`code_file` its requests: (module, name in it).
    """
    points: dict[str, list[Request]] = {}

    def add(module: str, words: Sequence[str], requests: Sequence[Request]) -> None:
        """Add requests to those of the command ``words``, whose stage is in ``module``."""
        start = [(f"{PIPELINE}.__main__", EVERYTHING), (f"{PIPELINE}.{module}", words[0])]
        points.setdefault(code_file(words), [*start]).extend(requests)

    # 1. Texts, and the models that write them.
    for name, registry in (("corpora", DATASETS), ("corpora_from_files", FILE_DATASETS)):
        for corpus, entry in _mappings(params.get(name)):
            add("texts", ["corpus", corpus], list(_of_kind(registry, entry)))
    add("texts", ["complete"], [_request(Completions)])
    add("texts", ["decode"], [_request(Continuations), *map(_request, DECODERS.values())])
    for model, entry in _mappings(params.get("models")):
        requests = [_request(Training), *_of_kind(MODELS, entry)]
        add("texts", ["language_model", "", "", model], requests)
    # 2. What each study has: a tokenizer, samplers and critics.
    for study, settings in _mappings(params):
        if isinstance(settings.get("tokenizer"), dict):
            add("texts", ["tokenizer"], list(_of_kind(TOKENIZERS, settings["tokenizer"])))
        for model in _models(settings):
            sampling = _sampling(params, settings, model)
            add("texts", ["generate", study, "", model], list(_of_kind(SAMPLERS, sampling)))
        for critic, entry in _mappings(settings.get("critics")):
            if isinstance(entry.get("train"), dict):
                requests = list(_of_kind(TRAININGS, entry["train"]))
                add("criticism", ["train", study, critic], requests)
            add("criticism", ["read", study, critic], list(_of_predictions(entry)))
            add("scoring", ["score", study, critic], list(_of_scores(entry)))
    add("scoring", ["curve"], [])
    add("scoring", ["ratings"], [])
    # 3. Reports.
    for name, subjects in reports.items():
        paper = PAPERS.get(name)
        of_paper = [(paper.__module__, paper.__name__)] if paper is not None else []
        add("reports", ["ledger"], of_paper)
        for subject, entry in _mappings(subjects):
            exhibits = list(_of_report(paper.exhibits, entry)) if paper is not None else []
            add("reports", ["report", name, subject], [*of_paper, *exhibits])
    return points


def _of_kind(registry: Mapping[str, type[Settings]], entry: Mapping[str, Any]) -> Iterator[Request]:
    """Yield the request of the class that an entry's kind names; nothing for an unknown kind."""
    settings = registry.get(str(entry.get(KIND)))
    if settings is not None:
        yield _request(settings)


def _request(settings: type[Settings]) -> Request:
    """The module and the name of a class of settings."""
    return settings.__module__, settings.__name__


def _mappings(entries: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the name and value of each entry that is a mapping; nothing if ``entries`` is none."""
    for name, entry in entries.items() if isinstance(entries, dict) else ():
        if isinstance(entry, dict):
            yield str(name), entry


def _models(settings: Mapping[str, Any]) -> list[str]:
    """The names of a study's language models, those of its ladder of sizes included.

    Args:
        settings: an entry of ``params.yaml``; one that is no study has no models.
    """
    models: list[str] = []
    for source in (settings, settings.get("sizes")):
        names = source.get("models") if isinstance(source, Mapping) else None
        if isinstance(names, list):
            models += map(str, names)
    return models


def _sampling(
    params: Mapping[str, Any], settings: Mapping[str, Any], model: str
) -> Mapping[str, Any]:
    """The settings of the sampler that writes a model's texts: the model's own, else the study's.

    Args:
        params: ``params.yaml``.
        settings: the study's.
        model: its name.
    """
    entry = dict(_mappings(params.get("models"))).get(model, {})
    sampling = entry.get("sampling", settings.get("sampling"))
    return sampling if isinstance(sampling, dict) else {}


def _of_predictions(entry: Mapping[str, Any]) -> Iterator[Request]:
    """Yield the classes of the ``predictions`` that a critic's entry lists."""
    for _, settings in _mappings(entry.get("predictions")):
        yield from _of_kind(READINGS, settings)


def _of_scores(entry: Mapping[str, Any]) -> Iterator[Request]:
    """Yield the classes of the metrics and evaluations that a critic's entry lists."""
    for kind, entries in _mappings(entry.get("scores")):
        registry: Mapping[str, type[Settings]] = METRICS
        if kind == "evaluations":
            registry = EVALUATIONS
        for _, settings in _mappings(entries):
            yield from _of_kind(registry, settings)


def _of_report(
    exhibits: Mapping[str, type[Settings]], entry: Mapping[str, Any]
) -> Iterator[Request]:
    """Yield the classes of the tables and figures that a report's entry lists."""
    settings = dict(_mappings(entry.get("settings")))
    for exhibit in entry.get("exhibits") or ():
        yield from _of_kind(exhibits, {KIND: exhibit, **settings.get(exhibit, {})})


def read_entry_points(home: Path, tree: SourceTree) -> dict[str, list[Request]]:
    """The :func:`entry_points` of a folder's ``params.yaml`` and reports.

    Args:
        home: the folder of ``params.yaml`` and ``experiments``.
        tree: the package's source files.

    Raises OSError or yaml.YAMLError: ``params.yaml`` is not there or is no YAML.
    """
    return entry_points(_read_yaml(home / "params.yaml"), read_reports(home), tree)


def _read_yaml(path: Path) -> Any:
    return yaml.load(path.read_text(encoding="utf-8"), YamlReader)


def source_tree(folder: Path = SOURCE) -> SourceTree:
    """The package's source files; what stages call by name comes from :func:`entry_points`."""
    return SourceTree(folder, dispatching=PIPELINE, apart=APART)


def write(home: Path) -> int:
    """Write the files of all stages' hashes below ``data/code``, after removing those there.

    Returns:
        The number of files.
    """
    tree = source_tree(home / SOURCE)
    points = read_entry_points(home, tree)
    shutil.rmtree(home / FOLDER, ignore_errors=True)
    for name, starts in points.items():
        path = home / FOLDER / name
        path.parent.mkdir(parents=True, exist_ok=True)
        hashes = tree.hashes(tree.closure(starts))
        path.write_text(json.dumps(hashes, indent=1) + "\n", encoding="utf-8")
    return len(points)


def changed_since_written(words: Sequence[str], home: Path = Path()) -> list[str]:
    """The source files of a stage whose hashes differ from those in ``data/code``.

    If there are any, DVC would record for the stage a code that it did not run.

    Args:
        words: the stage's command.
        home: the folder of ``params.yaml`` and ``data``.

    Returns:
        Their paths below ``src``, sorted; none where ``data/code`` has no file of the stage.
    """
    path = home / FOLDER / code_file(words)
    if not path.is_file():
        return []
    before: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))
    # Hashes are computed only where a file is missing or newer than those in data/code.
    time = path.stat().st_mtime_ns
    files = [home / "params.yaml", *(home / SOURCE / name for name in before)]
    if all(file.is_file() and file.stat().st_mtime_ns <= time for file in files):
        return []
    tree = source_tree(home / SOURCE)
    starts = read_entry_points(home, tree).get(code_file(words), [])
    now = tree.hashes(tree.closure(starts))
    return sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))


def main() -> int:
    """Command line, of no arguments."""
    argparse.ArgumentParser(prog="python -m longform_lab.code", description=__doc__).parse_args()
    # The collector looks at every node of every syntax tree, again and again; none is garbage.
    gc.disable()
    try:
        check(_read_yaml(Path("params.yaml")))
        if DVC_YAML.is_file():
            check_reports(read_reports(), _read_yaml(DVC_YAML))
        count = write(Path())
    except ConfigError as error:  # before any stage runs, whichever it concerns
        print(f"longform: {error}", file=sys.stderr)
        return 2
    except (OSError, yaml.YAMLError, SyntaxError) as error:
        advice = f"{FOLDER} is made in the folder of params.yaml and src"
        print(f"longform: {error}; {advice}", file=sys.stderr)
        return 2
    print(f"{FOLDER}: the code of {count} kinds of stages")
    return 0


if __name__ == "__main__":
    sys.exit(main())
