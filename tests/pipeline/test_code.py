"""The stage that hashes the code of the others, in a folder of its own."""

import json
import os
import shutil

import pytest
import yaml

from longform_lab import code, stale

PARAMS = {
    "corpora": {"wiki": {"kind": "world_texts"}},
    "models": {"gpt2": {"kind": "network"}, "floor": {"kind": "ngrams"}},
    "articles": {
        "models": ["gpt2"],
        "sampling": {"kind": "long_documents"},
        "critics": {
            "words": {
                "predictions": {"text": {"kind": "words"}},
                "scores": {
                    "metrics": {"share": {"kind": "overlap"}},
                    "evaluations": {"e": {"kind": "grid_sources"}},
                },
            }
        },
    },
}
WORLD = """class WorldTexts:
    def build(self):
        from longform.datasets.pages import build

        return build()


class ShortArticles:
    def build(self):
        return 1


DATASETS: dict[str, type[object]] = {"world_texts": WorldTexts, "short_articles": ShortArticles}
"""
MODELS = """class Training: ...


class Network:
    def train(self):
        from longform.language_models.causal_lm import fit

        return fit()


class Ngrams:
    def train(self):
        from longform.language_models.floor import count

        return count()


REGISTRY: dict[str, type[object]] = {"network": Network, "ngrams": Ngrams}
"""
SAMPLERS = """class LongDocuments:
    def write(self):
        from longform.decoding.long_documents import generate

        return generate()
"""
READINGS = """class Words:
    def predict(self):
        from longform.critics.words.read import read

        return read()
"""
METRICS = """class Overlap:
    def metric(self):
        from longform.critics.words.score import Share

        return Share()
"""
EVALUATIONS = """class GridSources:
    def evaluate(self):
        from longform.evaluation.grids import sources

        return sources()
"""
FILES = {
    "longform_lab/__main__.py": "from longform_lab.stages import main\n\nif __name__ == '__main__':\n    main()\n",
    "longform_lab/texts.py": "def corpus(): ...\ndef language_model(): ...\ndef generate(): ...\n",
    "longform_lab/criticism.py": "def train(): ...\ndef read(): ...\n",
    "longform_lab/scoring.py": "def score(): ...\ndef curve(): ...\n",
    "longform_lab/stages.py": "import os\n\n\ndef main(): ...\n",
    "synthetic_world/settings.py": WORLD,
    "longform/datasets/pages.py": "def build():\n    return 1\n",
    "longform/language_models/settings.py": MODELS,
    "longform/decoding/settings.py": SAMPLERS,
    "longform/language_models/causal_lm.py": "def fit(): ...\n",
    "longform/language_models/floor.py": "def count(): ...\n",
    "longform/decoding/long_documents.py": "def generate(): ...\n",
    "longform/critics/readings.py": READINGS,
    "longform/critics/metrics.py": METRICS,
    "longform/evaluation/settings.py": EVALUATIONS,
    "longform/critics/words/read.py": "LEAST = 5\n\n\ndef read():\n    return LEAST\n",
    "longform/critics/words/score.py": "class Share: ...\n\n\ndef units_from_predictions(): ...\n",
    "longform/evaluation/grids.py": "def sources(): ...\n",
}


@pytest.fixture
def home(tmp_path):
    """A folder with parameters and a package of empty functions, whose first stage has run."""
    for name, text in FILES.items():
        path = tmp_path / "src" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(PARAMS))
    code.write(tmp_path)
    return tmp_path


def recorded(home) -> dict[str, str]:
    return {
        path.relative_to(home / code.FOLDER).as_posix(): path.read_text()
        for path in home.rglob("data/code/**/*.json")
    }


def edit(home, name: str, old: str, new: str) -> None:
    path = home / "src" / name
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    later = (home / "data" / "code" / "curve.json").stat().st_mtime_ns + 10**9
    os.utime(path, ns=(later, later))


def test_a_model_that_is_called_no_keeps_its_name(home):
    (home / "params.yaml").write_text("models: {no: {kind: ngrams}}\n")
    points = code.read_entry_points(home, code.source_tree(home / code.SOURCE))
    assert code.code_file(["language_model", "", "", "no"]) in points


def test_each_kind_of_stage_has_the_functions_that_its_entry_names(home):
    own = {
        "corpus/wiki.json": "longform/datasets/pages.py",
        "language_model/gpt2.json": "longform/language_models/causal_lm.py",
        "language_model/floor.json": "longform/language_models/floor.py",
        "generate/articles/gpt2.json": "longform/decoding/long_documents.py",
        "read/articles/words.json": "longform/critics/words/read.py",
        "score/articles/words.json": "longform/critics/words/score.py",
    }
    files = {name: json.loads(text) for name, text in recorded(home).items()}
    for name, module in own.items():
        assert module in files[name] and "longform_lab/__main__.py" in files[name]
        others = set(own.values()) - {module}
        assert not others & set(files[name])
    assert "longform/evaluation/grids.py" in files["score/articles/words.json"]


def test_a_comment_changes_no_file_and_a_constant_those_of_its_stages(home):
    before = recorded(home)
    edit(home, "longform/critics/words/read.py", "LEAST = 5", "LEAST = 5  # letters")
    code.write(home)
    assert recorded(home) == before
    edit(home, "longform/critics/words/read.py", "LEAST = 5", "LEAST = 6")
    code.write(home)
    after = recorded(home)
    assert {name for name in before if before[name] != after[name]} == {"read/articles/words.json"}


def test_a_stage_that_is_gone_leaves_no_file(home):
    (home / "params.yaml").write_text(yaml.safe_dump({**PARAMS, "corpora": {}}))
    code.write(home)
    assert "corpus/wiki.json" not in recorded(home) and "curve.json" in recorded(home)


def test_an_edit_after_the_first_stage_is_seen_by_the_stages_that_run_it(home):
    words = ["read", "articles", "words"]
    assert code.changed_since_written(words, home) == []
    edit(home, "longform/critics/words/read.py", "LEAST = 5", "LEAST = 5  # letters")
    assert code.changed_since_written(words, home) == []
    edit(home, "longform/critics/words/read.py", "LEAST = 5", "LEAST = 6")
    assert code.changed_since_written(words, home) == ["longform/critics/words/read.py"]
    assert code.changed_since_written(["score", "articles", "words"], home) == []
    shutil.rmtree(home / "data")
    assert code.changed_since_written(words, home) == []  # a stage that is run by hand


def test_the_command_says_where_it_has_to_stand(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["code"])
    assert code.main() == 2
    assert "params.yaml" in capsys.readouterr().err


def test_an_unknown_module_is_refused_by_its_path(monkeypatch, capsys):
    monkeypatch.setattr(stale, "closures", lambda home, tree: {})
    assert stale.main(["text/nowhere.py"]) == 2
    assert "there is no src/longform/text/nowhere.py" in capsys.readouterr().err


def test_a_wrong_setting_is_told_by_the_first_stage(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["code"])
    (tmp_path / "params.yaml").write_text("seed: 1\nmodels: {a: {kind: netwrok}}\n")
    assert code.main() == 2
    told = capsys.readouterr().err
    assert told.startswith("longform: models.a: kind is 'netwrok' (near: network), allowed are [")
    assert not (tmp_path / "data").exists()
