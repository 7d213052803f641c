"""Exhibits are found by their form and written by name; a paper without a module is refused."""

import pytest

from longform.documents import BadInput
from longform.reporting.printed import Expected
from longform.reporting.report import claims_and_ledger, complete, exhibits_of, write_exhibit
from longform.results import Record, Results

SYNTHETIC = [
    Record(critic, metric, "synthetic", system, value=v, low=v * 0.98, high=v * 1.02, units=u, excluded=100 - u)
    for critic, metric, system, v, u in (
        ("synthetic_states", "latent_ppl", "data", 7.0, 100),
        ("synthetic_states", "latent_ppl", "hsmm_em", 7.3, 90),
        ("synthetic_states", "latent_ppl", "transformer", 15.0, 40),
        ("perplexity", "word_ppl", "transformer", 2.0, 100),
    )
]
CONTENT = {
    "table_01": {"latent_ppl": {"data": 7.1}},
    "records": {"table_01": [{"printed": "latent_ppl.{system}", "where": {"metric": "latent_ppl", "corpus": "synthetic"}}]},
    "exhibits": {"table_1": {"corpus": "synthetic"}, "table_18": {"most": 1}},
    "claims": [
        {
            "id": "near", "says": "HSMMs are nearer.", "exhibit": "table_1", "where": {"metric": "latent_ppl"},
            "order": [{"system": "hsmm*"}, {"system": "transformer"}],
        }
    ],
}  # fmt: skip


def test_a_table_is_written_with_derived_numbers_printed_ones_and_claims(tmp_path):
    expected = Expected("deng2022", CONTENT)
    results = complete("deng2022", Results(SYNTHETIC))
    write_exhibit("table_1", results, expected, tmp_path, tmp_path)
    text = (tmp_path / "table_1" / "table_1.md").read_text()
    assert "| data |  | 7.00 [6.86, 7.14] (paper 7.10) | 1.00 [0.96, 1.00] |" in text
    assert "HSMMs are nearer. **holds**" in text
    judged, ledger = claims_and_ledger(results, expected, tmp_path)
    assert [one.verdict for one in judged] == ["holds"] and [line.verdict for line in ledger] == ["within interval"]


def test_what_is_no_exhibit_and_no_paper_is_refused(tmp_path):
    assert {"table_1", "figures_10_13", "human_study"} <= exhibits_of("deng2022").keys()
    assert not {"derived", "select"} & exhibits_of("deng2022").keys()
    with pytest.raises(BadInput, match="has no exhibit 'derived'"):
        write_exhibit("derived", Results([]), Expected("deng2022", {}), tmp_path, tmp_path)
    with pytest.raises(BadInput, match="no reports for"):
        exhibits_of("nobody1999")
