"""Every entry of the parameters, of every scale too, is taken by the settings of its kind; a wrong one is one sentence."""

import copy
import inspect
import json

import pytest

from longform.decoding.decoders import DECODERS
from longform.errors import ConfigError
from longform.files.artefacts import read_yaml
from longform.settings import Nothing, field_names, parse_kind
from longform_lab.scale_overrides import apply_overrides
from longform_lab.settings.papers import PAPERS
from longform_lab.settings.params import (
    OVERRIDES_SCHEMA,
    ROOMS,
    SCHEMA,
    check,
    overrides_schema,
    schema_text,
)
from tests import shape
from tests.called import calls
from tests.shape import ROOT

SCALES = [
    "",
    *sorted(path.parent.name for path in ROOT.glob("experiments/scales/*/overrides.yaml")),
]


@pytest.mark.parametrize("scale", SCALES)
def test_every_entry_is_taken_by_the_settings_of_its_kind(scale):
    assert check(shape.experiment(scale).params) > 60


WRONG = [  # a key, what stands there, and the sentence about it
    ("articles.trainign", {}, "articles has 'trainign' (near: training"),
    (
        "models.gpt2.kind",
        "netwrok",
        "models.gpt2: kind is 'netwrok' (near: network), allowed are ['finetuned', ",
    ),
    (
        "corpora.wiki.documents.train",
        "many",
        "corpora.wiki.documents: train is 'many', allowed is a whole number; fix params.yaml",
    ),
    (
        "articles.training.schedule.batch",
        0,
        "articles.training.schedule: batch is 0, allowed is a number from 1; fix params.yaml",
    ),
    (
        "articles.critics.section_order.scores.metrics.latent_ppl.delats",
        [1],
        "articles.critics.section_order.scores.metrics.latent_ppl has 'delats' (near: deltas); ",
    ),
    (
        "articles.critics.bbscore.predictions.paths.splits",
        ["tset"],
        "articles.critics.bbscore.predictions.paths.splits: 0 is 'tset', allowed is 'train', ",
    ),
    (
        "models.counts",
        {"kind": "ngrams", "context": 64, "order": 1},
        "models.counts: order is 1, allowed is a number from 2; fix params.yaml",
    ),
    ("seed", -1, "params.yaml: seed is -1, allowed is a whole number from 0"),
    ("facts.runs.test.repeat", 3, "facts.runs.test has 'repeat' (near: repeats); allowed are "),
]


@pytest.mark.parametrize(("key", "value", "sentence"), WRONG, ids=[key for key, *_ in WRONG])
def test_a_wrong_entry_is_one_sentence(key, value, sentence):
    params = copy.deepcopy(dict(shape.experiment().params))
    *above, last = key.split(".")
    inner = params
    for name in above:
        inner = inner[name]
    inner[last] = value
    with pytest.raises(ConfigError) as raised:
        check(params)
    assert str(raised.value).startswith(sentence) and "\n" not in str(raised.value)


def test_a_missing_setting_is_named():
    params = copy.deepcopy(dict(shape.experiment().params))
    del params["corpora"]["wiki"]["domain"]
    with pytest.raises(ConfigError) as raised:
        check(params)
    assert str(raised.value) == "corpora.wiki lacks ['domain']; add them to params.yaml"


def test_a_wrong_override_is_one_sentence_with_its_place():
    own = {"articles.training": {"schedule": {"epcohs": 1}}}
    with pytest.raises(ConfigError) as raised:
        check(
            apply_overrides(shape.experiment().params, own), "experiments/scales/x/overrides.yaml"
        )
    assert str(raised.value).startswith("articles.training.schedule has 'epcohs' (near: epochs); ")
    assert str(raised.value).endswith("fix experiments/scales/x/overrides.yaml")


def test_an_override_of_another_kind_replaces_the_entry():
    params = {"corpora": {"a": {"kind": "world_texts", "domain": "wiki"}}}
    own = {"corpora": {"a": {"kind": "suite_texts", "study": "b"}}}
    assert apply_overrides(params, own)["corpora"]["a"] == {"kind": "suite_texts", "study": "b"}


def test_the_schema_is_that_of_the_settings_and_the_first_line_names_it():
    assert (ROOT / SCHEMA).read_text(encoding="utf-8") == schema_text(), (
        "run python -m longform_lab.settings.params"
    )
    first = (ROOT / "params.yaml").read_text(encoding="utf-8").partition("\n")[0]
    assert first == f"# yaml-language-server: $schema={SCHEMA}"


@pytest.mark.parametrize("scale", SCALES[1:])
def test_the_first_line_of_a_scale_names_the_schema_of_overrides(scale):
    text = (ROOT / f"experiments/scales/{scale}/overrides.yaml").read_text(encoding="utf-8")
    assert text.startswith(f"# yaml-language-server: $schema=../../../{OVERRIDES_SCHEMA}\n")
    written = json.loads((ROOT / OVERRIDES_SCHEMA).read_text(encoding="utf-8"))
    assert written == overrides_schema()


def test_the_schema_completes_an_entry_of_each_kind():
    definitions = json.loads(schema_text())["$defs"]
    for name, room in ROOMS.items():
        for kind, settings in room.registry.items():
            entry = definitions[f"{name}.{kind}"]
            assert entry["properties"]["kind"] == {"const": kind}
            own = {*field_names(settings), *field_names(room.placement), "kind"}
            assert entry["properties"].keys() == own
            for key, field in entry["properties"].items():
                if field is True:  # of the placement: the room says what it may be, for all kinds
                    field = definitions[name]["properties"][key]
                if key != "kind":
                    *_, part, _, last = field["$ref"].split("/")
                    assert last == key and key in definitions[part]["properties"]


def test_every_decoder_is_taken_by_the_settings_of_its_kind():
    for path in ROOT.glob("experiments/massarelli2020/decoders/*.yaml"):
        for name, entry in read_yaml(path).items():
            parse_kind(DECODERS, Nothing, entry, f"{path.stem}.{name}")


@pytest.mark.parametrize("scale", SCALES)
def test_every_exhibit_is_taken_by_the_settings_of_its_kind(scale):
    files = shape.files_of_scale(scale) if scale else {}
    checked = 0
    for paper, known in PAPERS.items():
        path = f"experiments/{paper}/params.yaml"
        for report in (files.get(path) or shape.yaml_copy(ROOT / path))["reports"].values():
            assert report.keys() <= {"scores", "exhibits", "settings"}
            for exhibit in report["exhibits"]:
                settings = {"kind": exhibit, **report.get("settings", {}).get(exhibit, {})}
                parse_kind(known.exhibits, Nothing, settings, f"{paper}.{exhibit}", path)
                checked += 1
    assert checked > 30


@pytest.mark.parametrize("room", ROOMS)
def test_no_setting_of_a_kind_is_called_as_one_of_its_placement(room):
    registry, placement = ROOMS[room].registry, ROOMS[room].placement
    taken = {"kind", *field_names(placement)}
    for kind, settings in registry.items():
        assert not taken & set(field_names(settings)), kind


@pytest.mark.parametrize("room", ROOMS)
def test_every_setting_says_what_it_means(room):
    for kind, settings in ROOMS[room].registry.items():
        assert settings.__doc__, kind
        for name, field in settings.model_fields.items():
            assert field.description and field.description[0] == field.description[0].upper(), (
                f"{kind}.{name}"
            )
            assert field.description.rstrip()[-1] == ".", f"{kind}.{name}"


@pytest.mark.parametrize("room", ROOMS)
def test_a_setting_has_the_default_of_the_function_that_takes_it(room):
    checked = 0
    for kind, settings in ROOMS[room].registry.items():
        for function, keywords in calls(settings):
            parameters = inspect.signature(function).parameters
            for keyword, value in keywords.items():
                field = settings.model_fields.get(value.removeprefix("self."))
                taken = parameters.get(keyword)  # None where the function takes any
                default = inspect.Parameter.empty if taken is None else taken.default
                if field is None or default is inspect.Parameter.empty or field.is_required():
                    continue
                same = field.default == default or list(field.default) == list(default)
                assert same, f"{kind}: {keyword} is {field.default!r} here, {default!r} there"
                checked += 1
    assert checked > 3 or room in ("tokenizer", "train")
