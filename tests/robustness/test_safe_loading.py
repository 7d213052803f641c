"""Nothing in this repository runs code out of a file that it reads; every requirement is pinned and free of copyleft where the study needs it."""

import ast
import pickle
import re
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml

from longform.files.artefacts import read_arrays
from longform.files.yaml_dialect import YamlReader
from longform.language_models.checkpoints import load_model
from tests.refusals import refuses

ROOT = Path(__file__).parents[2]
FOLDERS = ("src", "benchmarks", "experiments", "notebooks")
FORBIDDEN = {
    "pickle.load", "pickle.loads", "pickle.Unpickler", "cPickle.load", "dill.load", "dill.loads", "joblib.load", "cloudpickle.load",
    "cloudpickle.loads", "marshal.load", "marshal.loads", "shelve.open", "pandas.read_pickle", "pd.read_pickle", "yaml.load",
    "yaml.unsafe_load", "yaml.full_load", "yaml.load_all", "eval", "exec", "os.system",
}  # fmt: skip


SAFE_READER = "YamlReader"  # made of PyYAML's safe loader, as a test of its own shows


def dangers(source):
    """(line, why) of every call that could run code from a file."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        name = ast.unparse(node.func)
        given = {word.arg: ast.unparse(word.value) for word in node.keywords}
        safe = name == "yaml.load" and SAFE_READER in map(ast.unparse, node.args)
        if name in FORBIDDEN and not safe:
            yield node.lineno, name
        if name == "torch.load" and given.get("weights_only") != "True":
            yield node.lineno, "torch.load without weights_only=True"
        if (
            given.get("allow_pickle", "False") != "False"
            or given.get("trust_remote_code", "False") != "False"
        ):
            yield node.lineno, "pickle or remote code allowed"
        if name.endswith(".extractall"):
            yield node.lineno, "extractall, unsafe before Python 3.11.4"
        if given.get("shell", "False") != "False" and name != "subprocess.Popen":
            yield node.lineno, "a shell"


def test_no_unsafe_loading_stands_anywhere_and_the_search_finds_each_kind():
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            assert list(dangers(path.read_text(encoding="utf-8"))) == [], path
    for line in (
        "pickle.load(f)", "torch.load(f)", "torch.load(f, weights_only=False)", "np.load(f, allow_pickle=True)",
        "AutoModel.from_pretrained(f, trust_remote_code=True)", "eval(text)", "exec(text)", "joblib.load(f)",
        "tar.extractall()", "np.load(f, allow_pickle=flag)", "yaml.load(f)",
    ):  # fmt: skip
        assert list(dangers(line)), line


class Trap:
    """Unpickling it writes a file, so that a test can see whether it was."""

    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return Path.touch, (Path(self.mark),)


def test_a_pickle_in_place_of_arrays_or_a_checkpoint_is_never_run(tmp_path):
    from transformers import AutoModelForCausalLM, GPT2Config

    np.savez(tmp_path / "a.npz", x=np.array([Trap(tmp_path / "ran")], dtype=object))
    refuses("plain arrays", read_arrays, tmp_path / "a.npz")
    (tmp_path / "a.npz").write_bytes(pickle.dumps(Trap(tmp_path / "ran")))
    refuses(".", read_arrays, tmp_path / "a.npz")
    GPT2Config(n_layer=1, n_head=1, n_embd=8, vocab_size=8, n_positions=8).save_pretrained(tmp_path)
    torch.save({"transformer.wte.weight": Trap(tmp_path / "ran")}, tmp_path / "pytorch_model.bin")
    refuses(".", load_model, tmp_path, AutoModelForCausalLM)
    assert not (tmp_path / "ran").exists()


def listed(heading):
    page = (ROOT / "docs/dependencies.md").read_text(encoding="utf-8")
    part = page.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    rows = [
        [field.strip() for field in line.split("|")[1:-1]]
        for line in part.splitlines()
        if line.startswith("|")
    ]
    return {row[0]: row[1] for row in rows[2:]}


def test_every_requirement_is_pinned_and_listed_with_its_licence():
    for name, heading in (
        ("requirements.txt", "Runtime"),
        ("requirements-dev.txt", "Development only"),
        ("requirements-site.txt", "Web site only"),
    ):
        text = (ROOT / name).read_text(encoding="utf-8")
        lines = [
            line.split("#")[0].strip() for line in text.splitlines() if line.split("#")[0].strip()
        ]
        assert all(re.fullmatch(r"[A-Za-z0-9_.-]+==[0-9][\w.]*", line) for line in lines), lines
        assert {line.partition("==")[0] for line in lines} == listed(heading).keys()
        assert all(listed(heading).values())


def test_no_copyleft_at_run_time():
    assert not {
        package
        for package, licence in listed("Runtime").items()
        if re.search(r"GPL|MPL|EUPL", licence)
    }
    assert any("GPL" in licence for licence in listed("Development only").values()), (
        "the pattern must match something"
    )
    for path in (ROOT / "src").rglob("*.py"):
        assert not re.search(
            r"^\s*(import|from) (mauve|gensim)\b", path.read_text(encoding="utf-8"), re.M
        ), path


def test_the_reader_of_parameters_builds_plain_values_alone():
    assert issubclass(YamlReader, yaml.SafeLoader | yaml.CSafeLoader)
    with pytest.raises(yaml.YAMLError, match="could not determine a constructor"):
        yaml.load("!!python/object/apply:os.getcwd []", YamlReader)
