"""Exhibits of deng2022 on the synthetic language and on mixed languages, from small hand-made records."""

import json
from dataclasses import replace
from pathlib import Path

import matplotlib.figure
import pytest

from longform.core.documents import BadInput
from longform.core.results import Record, Results
from longform.reporting.papers import complete
from longform.reporting.printed import read_expected
from tests.reporting.papers.exhibits import draw
from tests.reporting.papers.test_deng2022_exhibits import by, verdict

EXPECTED = read_expected(Path(__file__).parents[3] / "experiments" / "deng2022")


def near(value, **more):
    return Record(value=value, low=value * 0.95, high=value * 1.05, units=80, excluded=0, **more)


def test_languages_on_the_simplex_and_the_words_of_each(tmp_path):
    mix = {"critic": "code_mixing", "corpus": "languages"}
    points = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.2, 0.3, 0.5]]
    results = Results([
        near(v, metric="dispersion", system=s, details={"points": points}, **mix) for s, v in (("non_autoregressive", 0.5), ("data", 0.01))
    ] + [near(-3.0, metric="languages", system="data", details={"top_words": [["x1", "."], ["y1", "."]]}, **mix)])  # fmt: skip
    figure = draw(EXPECTED, "figure_7", results, tmp_path)
    assert [c.row for c in figure.cells] == ["data", "data", "non-autoregressive"]
    figure.save(tmp_path, "figure_7")
    assert len(draw(EXPECTED, "table_10", results, tmp_path).rows) == 2


SYNTHETIC = [
    Record(critic, metric, "synthetic", system, value=v, low=v * 0.98, high=v * 1.02, units=u, excluded=100 - u)
    for critic, metric, system, v, u in (
        ("synthetic_states", "latent_ppl", "data", 7.0, 100),
        ("synthetic_states", "latent_ppl", "hsmm_em", 7.3, 90),
        ("synthetic_states", "latent_ppl", "transformer", 15.0, 40),
        ("perplexity", "word_ppl", "transformer", 2.0, 100),
        ("perplexity", "word_ppl", "hsmm_em", 1.95, 100),
    )
]


def test_latent_over_word_has_a_point_for_each_system_with_both(tmp_path):
    figure = draw(EXPECTED, "figure_latent_over_word", complete("deng2022", Results(SYNTHETIC)), tmp_path)
    figure.save(tmp_path, "figure_latent_over_word")
    assert {c.row for c in figure.cells} == {"data", "transformer", "HSMM, EM"}
    points = matplotlib.figure.Figure()
    figure.draw(points)
    assert {text.get_text() for text in points.axes[0].texts} == {"transformer", "HSMM, EM"}


def test_a_fit_by_em_stands_beside_the_printed_hsmm_where_no_gradient_fit_was_made(tmp_path):
    line = {line.number: line for line in EXPECTED.ledger(Results(SYNTHETIC), tmp_path) if line.table == "table_01"}
    assert (line["latent_ppl.hsmm"].ours, line["word_ppl.hsmm"].ours) == (7.3, 1.95)
    both = [*SYNTHETIC, replace(SYNTHETIC[1], system="hsmm_gradient", value=7.5)]
    line = {line.number: line for line in EXPECTED.ledger(Results(both), tmp_path) if line.table == "table_01"}
    assert line["latent_ppl.hsmm"].ours == 7.5


def test_table_1_holds_printed_numbers_against_ours_at_the_papers_size_alone(tmp_path):
    folder = tmp_path / "corpora" / "synthetic" / "synthetic"
    folder.mkdir(parents=True)
    results = complete("deng2022", Results(SYNTHETIC))
    for states, wanted in ((24, "not comparable at this size"), (256, "differs")):
        facts = {"latent_ppl": 7.05, "num_states": states, "steps": 50, "parameters": 2625536}
        (folder / "facts.json").write_text(json.dumps(facts))
        table = draw(EXPECTED, "table_1", results, tmp_path)
        cell = by(table)["transformer", "Latent PPL"]
        assert (cell.printed, cell.verdict) == (64.8, wanted)
    assert by(table)["exact", "Latent PPL"].value == 7.05 and by(table)["transformer", "survival"].value == 0.4
    assert table.markdown().splitlines()[2] == "|  | word PPL | Latent PPL | survival |"
    for claim in ("hsmm_nearer_than_transformer", "word_ppl_hides_the_gap", "oracle_recovers_the_language"):
        assert verdict(claim, SYNTHETIC, tmp_path) == "holds"


def test_a_paper_without_a_module_is_refused():
    with pytest.raises(BadInput, match="no reports for"):
        complete("nobody1999", Results([]))
