"""Every entry of the parameters, of every scale too, is taken by the settings of its kind."""

import ast
import importlib
import inspect
import textwrap

import pytest

from longform.decoding.decoders import DECODERS
from longform.decoding.settings import SAMPLERS, Completions, Continuations
from longform.files.artefacts import read_yaml
from longform.language_models.settings import REGISTRY as MODELS
from longform.language_models.settings import TOKENIZERS, Training
from longform.settings import Nothing, field_names, parse, parse_kind
from longform_lab.scale import parameters
from longform_lab.settings.entries import MadeCorpus, ModelPlacement, ReadCorpus
from longform_lab.settings.papers import PAPERS
from longform_lab.settings.registries import DATASETS, FILE_DATASETS
from tests import shape
from tests.shape import ROOT

SCALES = [
    "",
    *sorted(path.parent.name for path in ROOT.glob("experiments/scales/*/overrides.yaml")),
]
ROOMS = {  # a room's name -> its registry, and what an entry says beside its kind's settings
    "corpora": (DATASETS, MadeCorpus),
    "corpora_from_files": (FILE_DATASETS, ReadCorpus),
    "models": (MODELS, ModelPlacement),
    "tokenizer": (TOKENIZERS, Nothing),
    "sampling": (SAMPLERS, Nothing),
    "decoders": (DECODERS, Nothing),
}


def entries(params):
    """The room, place and content of every entry."""
    for room in ("corpora", "corpora_from_files", "models"):
        for name, entry in (params.get(room) or {}).items():
            yield room, f"{room}.{name}", entry
            if room == "models" and "sampling" in entry:
                yield "sampling", f"models.{name}.sampling", entry["sampling"]
    for study, settings in params.items():
        if isinstance(settings, dict) and "tokenizer" in settings:
            yield "tokenizer", f"{study}.tokenizer", settings["tokenizer"]
        if isinstance(settings, dict) and "sampling" in settings and "runs" not in settings:
            yield "sampling", f"{study}.sampling", settings["sampling"]
    for path in ROOT.glob("experiments/massarelli2020/decoders/*.yaml"):
        for name, entry in read_yaml(path).items():
            yield "decoders", f"{path.stem}.{name}", entry


@pytest.mark.parametrize("scale", SCALES)
def test_every_entry_is_taken_by_the_settings_of_its_kind(scale):
    found = list(entries(shape.experiment(scale).params))
    assert len(found) > 10
    for room, place, entry in found:
        parse_kind(*ROOMS[room], entry, place)


@pytest.mark.parametrize("scale", SCALES)
def test_every_part_of_a_study_without_kinds_is_taken_by_its_settings(scale):
    params = shape.experiment(scale).params
    for study, settings in params.items():
        if isinstance(settings, dict) and "training" in settings:
            parse(Training, settings["training"], f"{study}.training")
    for part in ("larger", "smaller"):
        parse(Completions, params["sources"][part], f"sources.{part}")
    for name, run in params["facts"]["runs"].items():
        parse(Continuations, {**params["facts"]["sampling"], **run}, f"facts.runs.{name}")


@pytest.mark.parametrize("scale", SCALES)
def test_every_exhibit_is_taken_by_the_settings_of_its_kind(scale):
    files = parameters(scale, ROOT) if scale else {}
    checked = 0
    for paper, known in PAPERS.items():
        path = f"experiments/{paper}/params.yaml"
        for report in (files.get(path) or read_yaml(ROOT / path))["reports"].values():
            assert report.keys() <= {"scores", "exhibits", "settings"}
            for exhibit in report["exhibits"]:
                settings = {"kind": exhibit, **report.get("settings", {}).get(exhibit, {})}
                parse_kind(known.exhibits, Nothing, settings, f"{paper}.{exhibit}", path)
                checked += 1
    assert checked > 30


@pytest.mark.parametrize("room", ROOMS)
def test_no_setting_of_a_kind_is_called_as_one_of_its_placement(room):
    registry, placement = ROOMS[room]
    taken = {"kind", *field_names(placement)}
    for kind, settings in registry.items():
        assert not taken & set(field_names(settings)), kind


@pytest.mark.parametrize("room", ROOMS)
def test_every_setting_says_what_it_means(room):
    for kind, settings in ROOMS[room][0].items():
        assert settings.__doc__, kind
        for name, field in settings.model_fields.items():
            assert field.description and field.description[0] == field.description[0].upper(), (
                f"{kind}.{name}"
            )
            assert field.description.rstrip()[-1] == ".", f"{kind}.{name}"


def calls(settings):
    """The functions that a class of settings imports and calls, and the keywords of the calls."""
    own = {"build", "load", "train", "fit", "write"} & set(vars(settings))
    source = ast.parse(textwrap.dedent(inspect.getsource(getattr(settings, *own))))
    imported = {}
    for node in ast.walk(source):
        for alias in node.names if isinstance(node, ast.ImportFrom) else ():
            imported[alias.asname or alias.name] = (node.module, alias.name)
    for node in ast.walk(source):
        called = (
            node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
        )
        if called in imported:
            module, name = imported[called]
            function = getattr(importlib.import_module(module), name)
            yield function, {word.arg: ast.unparse(word.value) for word in node.keywords}


@pytest.mark.parametrize("room", sorted(ROOMS.keys() - {"decoders"}))  # parts of strategies
def test_a_setting_has_the_default_of_the_function_that_takes_it(room):
    checked = 0
    for kind, settings in ROOMS[room][0].items():
        for function, keywords in calls(settings):
            parameters = inspect.signature(function).parameters
            for keyword, value in keywords.items():
                field = settings.model_fields.get(value.removeprefix("self."))
                default = parameters[keyword].default
                if field is None or default is inspect.Parameter.empty or field.is_required():
                    continue
                same = field.default == default or list(field.default) == list(default)
                assert same, f"{kind}: {keyword} is {field.default!r} here, {default!r} there"
                checked += 1
    assert checked > 5 or room == "tokenizer"
