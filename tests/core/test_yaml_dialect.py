"""Parameters are read as DVC reads and writes them, by YAML 1.2."""

import io
import math

import pytest
import yaml
from ruamel.yaml import YAML  # what DVC reads and writes its files with

from longform.files.artefacts import read_yaml
from longform.files.yaml_dialect import yaml_text
from longform.language_models.schedule import Schedule

WORDS = {
    "1e-05": 1e-05, "2E3": 2000.0, "-1.5e3": -1500.0, ".5": 0.5, "5.": 5.0, "1_000": 1000, "010": 10, "0o17": 15, "0x1F": 31,
    "-7": -7, ".inf": math.inf, "true": True, "FALSE": False, "~": None, "null": None, "no": "no", "Yes": "Yes", "on": "on",
    "off": "off", "12:30": "12:30", "1e": "1e", "e5": "e5", "1.2.3": "1.2.3", "-": [None], "2e-3 x": "2e-3 x", "'1e-05'": "1e-05",
}  # fmt: skip
TEXTS = [
    "1e-05",
    "2E3",
    "010",
    "0x1F",
    "no",
    "on",
    "12:30",
    "true",
    "~",
    "",
    "1_000",
    ".inf",
    "2021-01-01",
    "plain",
]


@pytest.mark.parametrize("word", WORDS)
def test_a_plain_word_is_what_yaml_1_2_says(tmp_path, word):
    (tmp_path / "p.yaml").write_text(f"a: {word}\n" if word != "-" else f"a:\n{word}\n")
    value = read_yaml(tmp_path / "p.yaml")["a"]
    assert value == WORDS[word]
    assert type(value) is type(WORDS[word])


def test_a_setting_that_dvc_writes_reaches_a_training_as_a_number(tmp_path):
    settings = {
        "learning_rate": 1e-05,
        "batch": 8,
        "epochs": 2,
        "warmup": 5e-07,
        "weight_decay": 1e-06,
    }
    with (tmp_path / "params.yaml").open("w") as file:
        YAML().dump({"schedule": settings, "language": "no"}, file)
    params = read_yaml(tmp_path / "params.yaml")
    assert params["language"] == "no"
    schedule = Schedule.from_settings(params["schedule"])
    assert (schedule.learning_rate, schedule.warmup, schedule.weight_decay) == (1e-05, 5e-07, 1e-06)


@pytest.mark.parametrize("read", [YAML(typ="safe").load, yaml.safe_load], ids=["1.2", "1.1"])
def test_a_text_that_looks_like_a_number_is_written_as_text(read):
    assert read(io.StringIO(yaml_text({"texts": TEXTS, "rate": 1e-05}))) == {
        "texts": TEXTS,
        "rate": 1e-05,
    }
