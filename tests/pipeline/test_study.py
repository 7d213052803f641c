"""A whole study of the real parameters at a small size, stage by stage: from nothing to a table; the same bytes twice; bad settings are one sentence."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from longform.evaluation.settings import Evaluation
from longform.files.artefacts import read_yaml
from longform.results import Record, read_results
from longform_lab import criticism, score_entries
from longform_lab.experiment import Experiment
from longform_lab.scale_overrides import apply_overrides
from longform_lab.settings.entries import EvaluationPlacement
from longform_lab.stages import main
from tests.refusals import refuses

STAGES = (
    "corpus synthetic", "tokenizer synthetic", "language_model synthetic synthetic tiny",
    "generate synthetic synthetic tiny", "read synthetic synthetic_states", "score synthetic synthetic_states",
    "read synthetic perplexity", "score synthetic perplexity",
)  # fmt: skip
ROOT = Path(__file__).parents[2]
PARAMS = apply_overrides(
    read_yaml(ROOT / "params.yaml"),
    {
        "without": {
            "synthetic.critics.synthetic_states.predictions": ["strict"],
            "synthetic.critics.synthetic_states.scores.metrics": ["latent_ppl_strict"],
            "synthetic.critics.perplexity.predictions": ["truth", "transformer", "hsmm"],
        },
        "corpora.synthetic.documents": {"train": 40, "validation": 10, "test": 24},
        "corpora.synthetic": {
            "num_states": 4,
            "subsequences": 20,
            "min_length": 2,
            "max_length": 3,
            "steps": 5,
        },
        "models": {
            "tiny": {
                "kind": "network",
                "model_type": "gpt2",
                "n_layer": 1,
                "n_head": 2,
                "n_embd": 16,
            }
        },
        "synthetic.models": ["tiny"],
        "synthetic.training.context": 64,
        "synthetic.training.schedule": {
            "learning_rate": 0.01,
            "batch": 8,
            "epochs": 1,
            "validations": 1,
        },
        "synthetic.sampling": {"documents": 24, "batch": 24, "max_tokens": 64},
        "synthetic.critics.perplexity.predictions": {
            "log_probs": {"kind": "token_log_probs", "of": "models", "reader": "system"}
        },
        "synthetic.critics.perplexity.scores.metrics": {"word_ppl": {"of": "models"}},
    },
)
FACTS = {"decoders": "lists", "sampling": {"prefixes": "corpora/synthetic/synthetic"},
         "runs": {"sweep": {"model": "news/tiny", "decoders": "grids"}}}  # fmt: skip


def home(folder: Path, **changed) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "params.yaml").write_text(json.dumps({**PARAMS, **changed}))  # JSON is YAML, too
    return folder


def run(folder: Path, *stages: str) -> list[int]:
    return [main([*stage.split(), "--home", str(folder)]) for stage in stages]


def files(folder: Path, pattern: str) -> dict[Path, bytes]:
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob(pattern)}


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = home(tmp_path_factory.mktemp("study"))
    assert run(folder, *STAGES) == [0] * len(STAGES)
    return folder


def test_records_say_what_they_are_numbers_of(study):
    states = read_results(study / "data/scores/synthetic/synthetic_states.json")
    named = [
        ("synthetic_states", "latent_ppl", "synthetic", system, None) for system in ("data", "tiny")
    ]
    assert [(r.critic, r.metric, r.corpus, r.system, r.titles) for r in states] == named
    assert states[0].low <= states[0].value <= states[0].high and states[0].units == 24
    assert states[1].reference == pytest.approx(states[0].value) and states[1].p_value is not None
    words = read_results(study / "data/scores/synthetic/perplexity.json")
    assert [(r.system, r.metric) for r in words] == [("tiny", "word_ppl")] and words[0].value > 1


@pytest.mark.long  # the stages once more
def test_the_same_parameters_give_the_same_bytes(study, tmp_path):
    again = home(tmp_path / "again")
    run(again, *STAGES)
    for place in ("corpora", "generations", "scores"):
        assert files(study / "data" / place, "*.*") == files(again / "data" / place, "*.*") != {}


def test_a_killed_reading_goes_on_with_the_text_that_it_was_at(study, tmp_path, monkeypatch):
    folder = tmp_path / "killed"
    shutil.copytree(study, folder)
    place = folder / "data/predictions/synthetic/synthetic_states"
    whole = files(place, "*.npz")
    shutil.rmtree(folder / "data/predictions")
    asked, read_one = [], criticism._read

    def dies_at_the_second(*given):
        asked.append(given[-1][0].model)
        if len(asked) == 2:
            raise KeyboardInterrupt
        return read_one(*given)

    monkeypatch.setattr(criticism, "_read", dies_at_the_second)
    with pytest.raises(KeyboardInterrupt):
        criticism.read(Experiment(folder), "synthetic", "synthetic_states")
    assert len(whole) == 2 and not place.exists()
    criticism.read(Experiment(folder), "synthetic", "synthetic_states")
    assert asked == ["data", "tiny", "tiny"]
    assert files(place, "*.npz") == whole
    assert not list((folder / "scratch").rglob("*.npz"))


# there is no reading of the states: an entry is checked before any file is read
SCORE = ["score synthetic synthetic_states"]


def scored(scores: dict) -> dict:
    """The study, asking something else of its critic of states."""
    good = {"latent_ppl": {"kind": "true_markov", "predictions": "states"}}
    critic = {
        **PARAMS["synthetic"]["critics"]["synthetic_states"],
        "scores": {"metrics": good, **scores},
    }
    return {"synthetic": {**PARAMS["synthetic"], "critics": {"synthetic_states": critic}}}


@pytest.mark.parametrize(
    "stages, changed, sentence",
    [
        (["corpus mine"], {}, "params.yaml has no corpora.mine"),
        (["corpus synthetic"], {"seed": "x"}, "seed is 'x'"),
        (["corpus"], {}, "corpus takes NAME"),
        (["corpus synthetic"], {"corpora": {"synthetic": {**PARAMS["corpora"]["synthetic"], "num_sates": 3}}}, "near: num_states"),
        (["corpus synthetic"], {"corpora": {"synthetic": {**PARAMS["corpora"]["synthetic"], "steps": "many"}}}, "corpora.synthetic: steps is 'many', allowed is a whole number; fix params.yaml"),
        (["corpus synthetic"], {"corpora": {"synthetic": {**PARAMS["corpora"]["synthetic"], "num_states": 1}}}, "corpora.synthetic: num_states is 1, allowed is a number from 2; fix params.yaml"),
        (["corpus synthetic"], {"corpora": {"synthetic": {**PARAMS["corpora"]["synthetic"], "documents": {"trian": 8}}}}, "corpora.synthetic.documents: got 'trian' (near: train), allowed are ['train', 'validation', 'test']; fix params.yaml"),
        (["corpus synthetic"], {"corpora": {"synthetic": {**PARAMS["corpora"]["synthetic"], "temperatures": {"transition": 0.5}}}}, "corpora.synthetic.temperatures lacks ['emission']; add them to params.yaml"),
        (["corpus synthetic"], {"corpora": {"synthetic": {**PARAMS["corpora"]["synthetic"], "kind": "hsmm_langauge"}}}, "corpora.synthetic: kind is 'hsmm_langauge' (near: hsmm_language), allowed are ["),
        (["corpus synthetic"], {"corpora": {"synthetic": {**PARAMS["corpora"]["synthetic"], "source": "raw/x"}}}, "corpora.synthetic has 'source'"),
        (["corpus files"], {"corpora_from_files": {"files": {"study": "synthetic", "kind": "documents"}}}, "corpora_from_files.files lacks ['source']; add them to params.yaml"),
        (["corpus synthetic"], {"corpora": {"synthetic": {**PARAMS["corpora"]["synthetic"], "beside": "raw/x"}}}, "corpora.synthetic has 'beside'"),
        (["corpus files"], {"corpora_from_files": {"files": {"study": "synthetic", "kind": "rated_shuffles", "source": "raw", "beside": "raw/x"}}}, "corpora_from_files.files has 'beside'"),
        (["corpus files"], {"corpora": {"files": {"study": "synthetic", "kind": "documents", "source": "raw/x"}}}, "corpora.files: kind is 'documents', allowed are ["),
        (["language_model synthetic synthetic large"], {}, "params.yaml has no models.large"),
        (["read synthetic perplexity"], {}, "documents.jsonl"),
        (SCORE, scored({"metric": {}}), "synthetic.critics.synthetic_states.scores has 'metric' (near: metrics); allowed are ['metrics', 'corruption_response'"),
        (SCORE, scored({"metrics": {"ppl": {"predictions": "states"}}}), "scores.metrics.ppl lacks 'kind'; allowed are ['bigram', "),
        (SCORE, scored({"corruption_response": {"ppl": {"kind": "true_markov"}}}), "scores.corruption_response.ppl lacks ['predictions']; add them"),
        (SCORE, scored({"evaluations": {"sides": {"predictions": "states"}}}), "scores.evaluations.sides lacks 'kind'; allowed are ['annotation_sheet', "),
        (SCORE, scored({"metrics": {"ppl": 5}}), "scores.metrics.ppl is 5, allowed is a mapping"),
        (SCORE, scored({"metrics": {"ppl": {"kind": "true_markof", "predictions": "states"}}}), "scores.metrics.ppl: kind is 'true_markof' (near: true_markov)"),
        (SCORE, scored({"severities": {"ppl": {"kind": "bigram", "predictions": "states", "delt": 1}}}), "severities.ppl has 'delt' (near: delta)"),
        (SCORE, scored({"severities": {"ppl": {"kind": "bigram", "predictions": "states", "delta": "x"}}}), "severities.ppl: delta is 'x', allowed is a number"),
        (SCORE, scored({"evaluations": {"sides": {"kind": "path_sources", "predictions": "states"}}}), "scores.evaluations.sides lacks ['sources']"),
        (["decode facts sweep"], {"facts": FACTS}, "no list of decoders 'grids' (near: grid); allowed are ['grid'], the files of lists"),
    ],
)  # fmt: skip
def test_bad_settings_are_one_sentence(tmp_path, capsys, stages, changed, sentence):
    folder = home(tmp_path / "bad", **changed)
    (folder / "lists").mkdir()
    (folder / "lists" / "grid.yaml").write_text("greedy: {kind: greedy}\n")
    assert run(folder, *stages)[-1] == 2
    said = capsys.readouterr().err
    assert sentence in said and len(said.splitlines()) == 1
    assert not list((folder / "data").glob("*/synthetic/*"))


def test_a_parameter_file_that_is_missing_or_no_mapping_is_explained(tmp_path, capsys):
    assert run(tmp_path, "corpus synthetic") == [2] and "no such file" in capsys.readouterr().err
    (tmp_path / "params.yaml").write_text("- a\n")
    assert run(tmp_path, "corpus synthetic") == [2] and "not a mapping" in capsys.readouterr().err


def of(articles):
    """An experiment of one study."""
    made = Experiment(Path())
    made.__dict__["params"] = {"seed": 1, "articles": articles}
    return made


def test_lists_are_crossed_and_each_system_is_trained_as_often_as_it_says():
    sizes = {"corpora": ["wiki"], "models": ["b"]}
    articles = {
        "corpora": ["wiki", "arxiv"],
        "models": ["a"],
        "titles": ["with", "without"],
        "sizes": sizes,
    }
    crossed = of(articles)
    folders = [system.folder for system in crossed.systems("articles", "wiki")]
    assert folders == ["a-with_titles", "a-without_titles", "b-with_titles", "b-without_titles"]
    assert crossed.models("articles", "arxiv") == ["a"]
    articles |= {"titles": ["with"], "seeds": 2, "sizes": {"corpora": [], "models": []}}
    systems = crossed.systems("articles", "wiki")
    assert [system.folder for system in systems] == ["a-with_titles-seed_1", "a-with_titles-seed_2"]
    assert [system.checkpoint for system in systems] == [
        f"models/articles/wiki/a/with_titles/seed_{n}" for n in (1, 2)
    ]
    assert len({crossed.seed, *(crossed.training_seed(system) for system in systems)}) == 3
    articles |= {"models": ["a", "b"], "once": ["b"]}
    assert [(s.model, s.seed) for s in crossed.systems("articles", "wiki")] == [
        ("a", 1),
        ("a", 2),
        ("b", 1),
    ]
    articles["once"] = ["wiki"]
    assert [(s.model, s.seed) for s in crossed.systems("articles", "wiki")] == [("a", 1), ("b", 1)]
    for changed, sentence in (
        ({"seeds": 0}, r"articles\.seeds is 0"),
        ({"titles": ["wth"]}, r"articles\.titles has 'wth', allowed are \['with', 'without'\]"),
        ({"models": "gpt2"}, r"articles\.models is 'gpt2', allowed is a list of names"),
        ({"once": "gpt2"}, r"articles\.once is 'gpt2', allowed is a list of names"),
    ):
        refuses(sentence, of(articles | changed).systems, "articles", "wiki")


def test_a_ratio_over_titles_needs_a_model_that_has_both_settings(monkeypatch):
    monkeypatch.setattr(score_entries, "_predictions", lambda _, system, *__: [system.folder])

    class Joined(Evaluation):
        """Names what it is given."""

        def evaluate(self, inputs):
            return [Record("", " ".join([*inputs.texts, *inputs.train]))]

    placed = EvaluationPlacement(predictions="log_probs", of="models", train="with_titles")
    entry = score_entries.Entry("articles", "perplexity", "evaluations", "titles", placed, Joined())
    for titles, found in (
        (["without"], []),
        (["with", "without"], ["a-without_titles a-with_titles"]),
    ):
        critics = {"perplexity": {"corpora": ["wiki"]}}
        study = of({"corpora": ["wiki"], "models": ["a"], "titles": titles, "critics": critics})
        records = score_entries.evaluate(study, entry)
        assert [record.metric for record in records] == found


APART = """
import sys
from pathlib import Path
from longform_lab.stages import main
stages = [[*stage.split(), "--home", sys.argv[1]] for stage in sys.argv[2:]]
assert [main(stage) for stage in stages] == [0, 0]
Path(sys.argv[1], "data/models/synthetic/synthetic/tiny/seed_2/config.json").write_text("{")
sys.exit(main(stages[0]))
"""


@pytest.mark.long  # three runs of the stages; that as many run at once as may, and what stops them, is in test_processes.py
def test_systems_made_at_once_have_the_bytes_of_one_after_the_other(
    study, tmp_path, monkeypatch, capsys
):
    shutil.copytree(study, tmp_path / "two")
    folder, made = home(tmp_path / "two", synthetic={**PARAMS["synthetic"], "seeds": 2}), []
    data = folder / "data"  # beside it the stopped run leaves what it had finished
    models = data / "models" / "synthetic" / "synthetic" / "tiny"
    shutil.copytree(models / "seed_1", models / "seed_2")
    assert run(folder, *STAGES[3:5]) == [0, 0]
    made.append({**files(data, "documents.jsonl"), **files(data, "*.npz")})
    for kind in ("generations", "predictions/synthetic/synthetic_states"):
        shutil.rmtree(folder / "data" / kind)
    monkeypatch.setenv("LONGFORM_SYSTEMS", "2")
    stopped = subprocess.run(
        [sys.executable, "-c", APART, folder, *STAGES[3:5]], capture_output=True, text=True
    )
    assert stopped.returncode == 2
    assert "longform: tiny-seed_2 (exit status 1) stopped" in stopped.stderr
    assert "Traceback" not in stopped.stderr and stopped.stderr.count("longform: ") == 2
    made.append({**files(data, "documents.jsonl"), **files(data, "*.npz")})
    assert made[0] == made[1] and sum("seed_2" in "/".join(path.parts) for path in made[0]) > 1
    monkeypatch.setenv("LONGFORM_DEVICES", "2")
    assert run(folder, STAGES[3]) == [2]
    assert "LONGFORM_DEVICES or LONGFORM_NODES is set too" in capsys.readouterr().err
    monkeypatch.setenv("LONGFORM_SYSTEMS", "0")
    assert run(folder, STAGES[3]) == [2] and "LONGFORM_SYSTEMS is '0'" in capsys.readouterr().err
