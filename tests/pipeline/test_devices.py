"""Which stages of the default run hold a GPU, by what they compute on it."""

from pathlib import Path

import pytest
import yaml

from longform_lab import devices
from longform_lab.devices import uses_gpu
from longform_lab.experiment import Experiment

ROOT = Path(__file__).parents[2]
OURS = "PYTHONPATH=src python -m longform_lab "
NETWORKS = [
    "language_model articles wiki gpt2",
    "language_model languages languages autoregressive",
    "language_model synthetic synthetic hsmm_em",  # its E-step runs where LONGFORM_DEVICE says
    "generate articles wiki gpt2",
    "generate languages languages autoregressive",
    "complete sources gpt2",
    "decode facts test",
    "train articles section_order",
    "train articles bbscore",
    "read articles mauve",
    "read articles section_order",
    "read suites surprisal",
]
PROCESSOR = [
    "corpus wiki",
    "tokenizer articles",
    "generate synthetic synthetic hsmm_em",  # segments drawn in NumPy
    "train articles topics",  # EM of the topic model
    "read articles topics",
    "read articles coreference",  # rules
    "read synthetic synthetic_states",  # Gibbs and exact posteriors of the known chain
    "train languages code_mixing",
    "read articles world_grammar",
    "read articles entity_grid",
    "score articles bbscore",
    "report deng2022 topics",
]


@pytest.fixture(scope="module")
def default() -> Experiment:
    return Experiment(ROOT)


def test_stages_of_networks_hold_a_gpu_and_those_of_counts_do_not(default):
    held = [words for words in NETWORKS + PROCESSOR if uses_gpu(OURS + words, default)]
    assert held == NETWORKS


def test_other_commands_and_wrong_entries_hold_no_gpu(default):
    assert not uses_gpu("sh train.sh", default)
    assert not uses_gpu(OURS + "train articles nobody", default)
    assert not uses_gpu(OURS + "train", default)
    assert not uses_gpu(OURS + "language_model articles wiki", default)


def test_a_reading_that_loads_a_network_alone_makes_its_stage_hold_one(tmp_path, monkeypatch):
    package = tmp_path / "longform"
    (package / "critics").mkdir(parents=True)
    (package / "language_models").mkdir()
    (package / "language_models" / "device.py").write_text("def placed():\n    pass\n")
    (package / "critics" / "chain.py").write_text(
        "def read():\n    from longform.language_models.device import placed\n\n\ndef count():\n    pass\n"
    )
    bodies = {"Topics": "read", "Words": "count"}
    classes = [
        f"class {name}:\n    def predict(self):\n        from longform.critics.chain import {function}\n"
        for name, function in bodies.items()
    ]
    (package / "critics" / "readings.py").write_text("\n\n".join(classes))
    monkeypatch.setattr(devices, "SOURCE", tmp_path)

    def held(*kinds):
        readings = {f"reading {number}": {"kind": kind} for number, kind in enumerate(kinds)}
        params = {"study": {"critics": {"own": {"predictions": readings}}}}
        (tmp_path / "params.yaml").write_text(yaml.safe_dump(params))
        return uses_gpu(OURS + "read study own", Experiment(tmp_path))

    assert held("topics") and held("words", "topics")
    assert not held("words")
