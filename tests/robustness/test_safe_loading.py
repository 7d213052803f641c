"""Nothing in this repository runs code out of a file that it reads: searched for, and tried."""

import ast
import pickle
from pathlib import Path

import numpy as np
import pytest
import torch

from longform.core.artefacts import read_arrays
from longform.core.documents import BadInput
from longform.language_models.checkpoints import load_model
from tests.refusals import refuses

ROOT = Path(__file__).parents[2]
FOLDERS = ("src", "benchmarks", "experiments", "notebooks")
FORBIDDEN = {
    "pickle.load", "pickle.loads", "pickle.Unpickler", "cPickle.load", "dill.load", "dill.loads", "joblib.load", "cloudpickle.load",
    "cloudpickle.loads", "marshal.load", "marshal.loads", "shelve.open", "pandas.read_pickle", "pd.read_pickle", "yaml.load",
    "yaml.unsafe_load", "yaml.full_load", "yaml.load_all", "eval", "exec", "os.system",
}  # fmt: skip


def dangers(source):
    """(line, why) of every call that could run code from a file."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        name = ast.unparse(node.func)
        given = {word.arg: ast.unparse(word.value) for word in node.keywords}
        if name in FORBIDDEN:
            yield node.lineno, name
        if name == "torch.load" and given.get("weights_only") != "True":
            yield node.lineno, "torch.load without weights_only=True"
        if given.get("allow_pickle", "False") != "False" or given.get("trust_remote_code", "False") != "False":
            yield node.lineno, "pickle or remote code allowed"
        if name.endswith(".extractall") and "filter" not in given:
            yield node.lineno, "extractall without filter"
        if given.get("shell", "False") != "False" and name != "subprocess.Popen":
            yield node.lineno, "a shell"


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_unsafe_loading_stands_anywhere(folder):
    found = []
    for path in sorted((ROOT / folder).rglob("*.py")):
        found += [f"{path.relative_to(ROOT)}:{line}: {why}" for line, why in dangers(path.read_text(encoding="utf-8"))]
    assert not found


@pytest.mark.parametrize(
    "line",
    [
        "pickle.load(f)", "torch.load(f)", "torch.load(f, weights_only=False)", "np.load(f, allow_pickle=True)", "yaml.load(f)",
        "AutoModel.from_pretrained(f, trust_remote_code=True)", "eval(text)", "exec(text)", "joblib.load(f)", "tar.extractall()",
        "np.load(f, allow_pickle=flag)",
    ],
)  # fmt: skip
def test_the_search_finds_each_kind(line):
    assert list(dangers(line))


class Trap:
    """Unpickling it writes a file, so that a test can see whether it was."""

    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return Path.touch, (Path(self.mark),)


def test_a_pickle_in_place_of_arrays_is_refused_and_not_run(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.array([Trap(tmp_path / "ran")], dtype=object))
    refuses("plain arrays", read_arrays, tmp_path / "a.npz")
    assert not (tmp_path / "ran").exists()
    (tmp_path / "a.npz").write_bytes(pickle.dumps(Trap(tmp_path / "ran")))
    with pytest.raises(BadInput):
        read_arrays(tmp_path / "a.npz")
    assert not (tmp_path / "ran").exists()


def test_a_checkpoint_that_is_a_pickle_is_refused_and_not_run(tmp_path):
    from transformers import AutoModelForCausalLM, GPT2Config

    GPT2Config(n_layer=1, n_head=1, n_embd=8, vocab_size=8, n_positions=8).save_pretrained(tmp_path)
    torch.save({"transformer.wte.weight": Trap(tmp_path / "ran")}, tmp_path / "pytorch_model.bin")
    with pytest.raises(BadInput):
        load_model(tmp_path, AutoModelForCausalLM)
    assert not (tmp_path / "ran").exists()
