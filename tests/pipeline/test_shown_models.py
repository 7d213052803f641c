"""The models of a study in the tables of claims about every system: a ladder of sizes is among them."""

from longform.files.artefacts import read_yaml
from longform_lab.reports import _with_models
from tests.reporting.papers.exhibits import ROOT


class Study:
    """An experiment of one study, ``articles``, with a model that was added the cheap way, under ``sizes``."""

    def settings(self, study):
        assert study == "articles"
        return {"models": ["gpt2"], "sizes": {"corpora": ["wiki"], "models": ["gpt2_wide"]}}


def test_a_model_under_sizes_is_among_the_models_of_its_study():
    shown = _with_models(Study(), {"corpus": "wiki", "system": ["data", "articles.models"]})
    assert shown == {"corpus": "wiki", "system": ["data", "gpt2", "gpt2_wide"]}
    assert _with_models(Study(), {"system": ["articles.sizes"]})["system"] == ["gpt2_wide"]
    assert _with_models(Study(), {"system": "gpt2"}) == {"system": "gpt2"}


def test_tables_of_claims_about_every_system_show_every_system():
    reports = read_yaml(ROOT / "experiments/deng2022/params.yaml")["reports"]
    exhibits = {
        name: choice or {}
        for entry in reports.values()
        for name, choice in entry["exhibits"].items()
    }
    claims = read_yaml(ROOT / "experiments/deng2022/expected.yaml")["claims"]
    every = [
        claim
        for claim in claims
        if "system" in claim.get("for_each", ()) and claim.get("exhibit") in exhibits
    ]
    assert {claim["exhibit"] for claim in every} >= {"table_2", "table_12"}
    for claim in every:
        restricted = exhibits[claim["exhibit"]].get("system", [])
        shown = _with_models(Study(), {"system": restricted})["system"]
        assert not restricted or "gpt2_wide" in shown, claim["id"]
