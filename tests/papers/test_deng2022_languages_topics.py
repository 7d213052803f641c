"""Table 10, Figure 7, Table 14 and the covariance figures: orders, colours and verdicts from small records."""

from __future__ import annotations

import numpy as np
import pytest

from longform.datasets.synthetic_world.languages import LANGUAGES, translate_word
from longform.documents import BadInput
from longform.reporting.deng2022_languages import figure_7, table_10
from longform.reporting.deng2022_topics import figure_6, figure_8, table_14

EXPECTED = {"figures": {"fig_06": {"latent_nll": {"test": 124.7, "lm1": 123.3, "lm1_trained_on_pubmed": 140.1}}}}


def record(value, **more):
    return {
        "value": value,
        "low": value - 0.1,
        "high": value + 0.1,
        "units": 9,
        "excluded": 0,
        "signature": "s",
        **more,
    }


def test_components_are_named_by_the_planted_language_of_their_words():
    words = [[translate_word(name, word) for word in ("dog", "cat", "boat")] + ["."] for name in LANGUAGES]
    sheet = table_10(scores={"p-data-languages": record(-1.0, details={"top_words": words})})
    assert [row[:2] for row in sheet.rows] == [[name, "3 of 4"] for name in LANGUAGES]
    assert "each component is another planted language: holds" in sheet.notes
    twice = table_10(scores={"p-data-languages": record(-1.0, details={"top_words": [words[0], words[0], words[1]]})})
    assert "each component is another planted language: differs" in twice.notes


def mixes(dispersion, corners):
    points = np.random.default_rng(1).dirichlet(np.ones(3), 20).tolist()
    return {
        "dispersion": record(dispersion, details={"points": points}),
        "corners": record(corners),
        "languages": record(-3.0),
    }


def language_scores(at_once):
    systems = {"data": mixes(0.1, 0.9), "autoregressive": mixes(0.2, 0.8), "non_autoregressive": mixes(at_once, 0.1)}
    return {f"p-{system}-{kind}": found for system, rows in systems.items() for kind, found in rows.items()}


def test_figure_7_judges_the_dispersion_and_draws_a_panel_per_system(tmp_path):
    sheet = figure_7(scores=language_scores(0.9))
    assert sheet.caption.count("ordering holds") == 3
    sheet.save(tmp_path, "figure_7")
    assert (tmp_path / "figure_7.pdf").stat().st_size > 1000
    assert len((tmp_path / "figure_7.csv").read_text().splitlines()) == 10
    assert figure_7(scores=language_scores(0.15)).caption.count("differs") == 1


def covariance(scale):
    return {"covariance_of_means": (np.diag([1.0, 2.0, 3.0]) * scale).tolist(), "outliers": [["a", 9.0], ["b", 8.0]]}


def topic_scores(off, distance):
    values = {"data": (30.0, 1.0), "gpt2-wo_title": (31.0, 1.1), "offdomain": (off, distance)}
    return {f"w-{system}-topics": record(value, details=covariance(scale)) for system, (value, scale) in values.items()}


def test_covariance_figures_give_distances_and_judge_the_model_against_another_corpus():
    sheet = figure_6(scores=topic_scores(40.0, 3.0), expected=EXPECTED)
    assert sheet.caption.count("ordering holds") == 2
    assert [c.printed for c in sheet.cells[:3]] == [124.7, 123.3, 140.1]
    far = next(c for c in sheet.cells if c.row == "offdomain" and c.column.startswith("Frobenius"))
    assert far.value == pytest.approx(2 * np.sqrt(14.0))
    worse = figure_8(scores=topic_scores(30.5, 1.01))
    assert worse.caption.count("differs") == 2 and all(c.printed is None for c in worse.cells)


def test_covariance_panels_are_drawn_in_one_order_and_clamped():
    from matplotlib.figure import Figure

    canvas = Figure()
    figure_8(scores=topic_scores(40.0, 9.0)).draw(canvas)
    panels = [axes.images[0].get_array() for axes in canvas.axes[:3]]
    assert panels[2].max() == 5.0
    assert np.argsort(np.diag(panels[0])).tolist() == np.argsort(np.diag(panels[1])).tolist()


def test_sheets_without_their_rows_are_refused():
    with pytest.raises(BadInput, match="list no words"):
        table_10(scores={"p-data-languages": record(1.0)})
    with pytest.raises(BadInput, match="data-corners"):
        figure_7(scores={"p-data-dispersion": record(1.0)})
    with pytest.raises(BadInput, match="none of data"):
        figure_8(scores={"w-gpt2-wo_title-topics": record(1.0, details=covariance(1.0))})


def test_outliers_come_with_the_beginning_of_their_text():
    scores = {
        "w-gpt2-wo_title-topics": record(7.0, details={**covariance(1.0), "outlier_texts": ["one\ntwo", "three"]})
    }
    rows = table_14(scores=scores).rows
    assert [row[1:] for row in rows] == [["a", 9.0, "one two"], ["b", 8.0, "three"]]
    assert "worst 9.00 nats, mean of all 7.00" in table_14(scores=scores).notes[0]
