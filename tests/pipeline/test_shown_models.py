"""A model that is added to a study is read, scored and shown everywhere, and marked when it was trained from scratch."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
import yaml

from longform import tables
from longform.documents import Document, Section
from longform.files.artefacts import read_yaml, write_documents
from longform.results import read_results, write_results
from longform_lab import reports
from longform_lab.experiment import Experiment, System, from_scratch, models_of, systems_of
from longform_lab.reporting.printed import Expected
from tests.refusals import refuses
from tests.reporting.papers.exhibits import ROOT

WIDE = {"kind": "network", "model_type": "gpt2", "n_embd": 192, "from_scratch": True}
STUDIES = {  # a study, its model that the new one takes after, and the new one
    "articles": ("gpt2", "gpt2_wide"),
    "suites": ("gpt2", "gpt2_wide"),
    "synthetic": ("transformer", "transformer_big"),
    "languages": ("autoregressive", "autoregressive_big"),
}
NO_MODELS = {  # exhibits of data alone, and of printed numbers
    "title_calibration": "the classifier on real sections",
    "table_11": "corpora",
    "table_10": "the mixture of real text",
    "figure_wrong_pronoun": "damaged real text",
    "human_sheet": "texts of suites",
}
TEXT = "Anna was born in Aldbury. " * 12


@pytest.fixture(scope="module")
def added(tmp_path_factory):
    """The parameters with a model more in each study, under its own name in the lists alone."""
    folder = tmp_path_factory.mktemp("added")
    params = read_yaml(ROOT / "params.yaml")
    for study, (twin, name) in STUDIES.items():
        params["models"][name] = WIDE if twin == "gpt2" else dict(params["models"][twin])
        params[study]["models"].append(name)
    (folder / "params.yaml").write_text(yaml.safe_dump(params, sort_keys=False))
    return Experiment(folder)


def concerned(experiment, of, study, corpus):
    systems = [System(study, corpus), *experiment.systems(study, corpus)]
    return {system.model for system in systems_of(experiment, of, systems)}


@pytest.mark.parametrize("study", STUDIES)
def test_what_is_read_and_scored_of_a_model_is_so_of_one_that_is_added(added, study):
    twin, name = STUDIES[study]
    corpora = added.settings(study)["corpora"]
    checked = 0
    for critic in added.settings(study, "critics").values():
        scores = critic.get("scores", {})
        entries = [
            *critic.get("predictions", {}).values(),
            *scores.get("metrics", {}).values(),
            *scores.get("evaluations", {}).values(),
        ]
        for entry in entries:
            chosen = concerned(added, entry.get("of", "all"), study, corpora[0])
            assert (twin in chosen) == (name in chosen), entry
            checked += 1
    assert checked


def twins(study):
    """The committed records of a study, and those that a model like one of its own would have."""
    twin, name = STUDIES[study]
    for file in sorted((ROOT / "data" / "scores" / study).glob("*.json")):
        records = list(read_results(file))
        like_it = [replace(record, system=name) for record in records if record.system == twin]
        yield file.name, records + like_it


def write_texts(data, records):
    """Texts by the ids that records of articles speak of, and topics for the names of Figure 6."""
    lengths = {}  # of each system, the number of sections of each text; those of the grammar first
    for record in sorted(records, key=lambda record: "refused" not in record.details):
        system = System("articles", record.corpus, record.system, record.titles, record.seed)
        units = lengths.setdefault(system, {})
        for unit in record.details.get("refused", ()):
            units.setdefault(unit, 1)
        for kind in ("worst", "repeating"):
            for entry in record.details.get(kind) or []:
                units[entry["unit"]] = len(entry["titles"])
    for system, units in lengths.items():
        split = "test" if system.model == "data" else "generated"
        documents = []
        for unit, count in units.items():
            documents.append(Document(unit, split, (Section("", TEXT),) * count))
        if documents:
            write_documents(data / system.texts / "documents.jsonl", documents)
    for corpus in ("wiki", "pubmed", "arxiv"):
        folder = data / "critics" / "articles" / "topics" / corpus
        folder.mkdir(parents=True)
        words = [f"word{number}" for number in range(24)]
        (folder / "topics.json").write_text(json.dumps({"vocabulary": words}))
        np.savez(folder / "topics.npz", beta=np.random.default_rng(0).random((12, 24)))


@pytest.fixture(scope="module")
def drawn(added):
    """Every exhibit of the studies' papers, drawn from the records with the added models' beside; no pictures."""
    home = added.home
    articles = []
    for study in STUDIES:
        for file, records in twins(study):
            write_results(home / "data" / "scores" / study / file, records)
            articles += records if study == "articles" else []
    write_texts(added.data, articles)
    for paper in ("deng2022", "beyer2021"):
        (home / "experiments" / paper).mkdir(parents=True)
        for file in ("params.yaml", "expected.yaml"):
            source = (ROOT / "experiments" / paper / file).read_bytes()
            (home / "experiments" / paper / file).write_bytes(source)
    shown = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        patch.setattr(tables, "save_drawing", lambda drawing, path: None)
        for paper in ("deng2022", "beyer2021"):
            place = home / "experiments" / paper / "params.yaml"
            content = read_yaml(place)
            for subject, entry in content["reports"].items():
                for name in NO_MODELS:
                    entry["exhibits"].pop(name, None)
                place.write_text(yaml.safe_dump(content))
                reports.report(added, paper, subject)
                for exhibit in entry["exhibits"]:
                    shown[paper, exhibit] = home / "paper_figures" / paper / exhibit
    return shown


def test_every_exhibit_of_models_names_a_model_that_is_added(drawn):
    assert len(drawn) >= 35
    marked = {
        "table_1": "transformer big",
        "figure_latent_over_word": "transformer big",
        "figure_7": "autoregressive big",
    }
    for (paper, exhibit), folder in drawn.items():
        page = (folder / f"{exhibit}.md").read_text(encoding="utf-8")
        page += (folder / f"{exhibit}.csv").read_text(encoding="utf-8")
        name = "gpt2 wide (from scratch)"
        if paper == "deng2022":
            name = marked.get(exhibit, name)
        assert name in page, f"{paper} {exhibit} does not show the model"


def test_a_sheet_of_one_model_is_drawn_for_each_with_a_folder_of_its_own(drawn):
    folder = drawn["deng2022", "figure_4"]
    first = (folder / "figure_4.md").read_text(encoding="utf-8")
    other = (folder / "gpt2_wide" / "figure_4.md").read_text(encoding="utf-8")
    assert "[gpt2 wide (from scratch)](gpt2_wide/figure_4.md)" in first
    assert "Section transitions of encyclopedia, GPT-2 (LM1)" in first
    assert "Section transitions of encyclopedia, gpt2 wide (from scratch)" in other
    assert "[GPT-2 (LM1)](../figure_4.md)" in other


def test_claims_about_every_system_judge_a_model_that_is_added(drawn):
    page = (drawn["deng2022", "table_2"] / "table_2.md").read_text(encoding="utf-8")
    claim = re.search(r"Sections that a model writes without titles .*; (\d+) holds", page)
    corpora, models = 4, 2
    assert int(claim[1]) == corpora * models


def test_only_models_trained_from_scratch_beside_finetuned_are_marked(added):
    assert from_scratch(added) == {"gpt2_wide"}
    expected = Expected("paper", {}, from_scratch=from_scratch(added))
    assert expected.label("system", "gpt2_wide") == "gpt2 wide (from scratch)"
    assert expected.label("system", "gpt2") == "gpt2"
    named = {"labels": {"system": {"gpt2_wide": "GPT-2, from scratch"}}}
    own = Expected("paper", named, from_scratch={"gpt2_wide"})
    assert own.label("system", "gpt2_wide") == "GPT-2, from scratch"


def test_a_group_of_models_is_all_the_ladder_the_trained_or_a_kind(added):
    assert models_of(added, "suites", "models") == ["untrained", "gpt2", "gpt2_wide"]
    assert models_of(added, "suites", "trained") == ["gpt2", "gpt2_wide"]
    assert models_of(added, "synthetic", "kind.hsmm") == ["hsmm_em", "hsmm_gradient"]
    assert models_of(added, "articles", "sizes") == []
    refuses("no group of models 'modles' \\(near: models\\)", models_of, added, "suites", "modles")
    refuses("no kind of language model 'hsm'", models_of, added, "suites", "kind.hsm")
