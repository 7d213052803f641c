"""The figure of word PPL and Latent PPL with and without titles, by corpus."""

import importlib

import pytest

from longform.results import Record, Results
from longform.tables import Cell

script = importlib.import_module("experiments.deng2022.titles_by_corpus")
LATENT = {"critic": "section_order", "metric": "latent_ppl", "corpus": "c", "units": 40}
WORDS = {"critic": "perplexity", "metric": "word_ppl", "corpus": "c", "units": 40}


def record(value, **fields):
    return Record(**fields, value=value, low=value / 2, high=value * 2)


@pytest.fixture
def results():
    seeds = []
    for seed, value in ((1, 2.0), (2, 8.0)):
        seeds.append(record(value, **LATENT, system="s", titles=True, seed=seed))
        seeds.append(record(8 * value, **LATENT, system="s", titles=False, seed=seed))
        seeds.append(record(value, **WORDS, system="s", titles=False, seed=seed))
        seeds.append(record(99.0, **LATENT, system="s", titles=True, variant="written", seed=seed))
        seeds.append(record(99.0, **LATENT, system="other", titles=True, seed=seed))
    real = record(1.5, **LATENT, system="data")
    chance = record(50.0, **LATENT, system="random_titles")
    return Results([*seeds, real, chance])


def test_a_corpus_has_the_mean_over_its_trainings(results):
    row = script.Corpus("C", "scale", "c", "s")
    cells = list(script._measured(row, results))
    values = {cell.column: cell.value for cell in cells}
    assert values == pytest.approx({
        "word PPL, without titles": 4.0,  # the geometric mean
        "Latent PPL, real text": 1.5,
        "Latent PPL, with titles": 4.0,
        "Latent PPL, without titles": 32.0,
        "Latent PPL, titles at random": 50.0,
    })  # fmt: skip
    assert {cell.row for cell in cells} == {"C"}
    with_titles = next(cell for cell in cells if cell.column == "Latent PPL, with titles")
    assert with_titles.low < 2.0 and with_titles.high > 8.0 and with_titles.p_value is None


def test_the_paper_s_numbers_are_those_of_table_2():
    table = {
        "ppl": {"wiki": {"lm1": {"w_title": 15.0, "wo_title": 16.0}}},
        "latent_ppl": {"wiki": {"data": 4.8, "lm1": {"w_title": 4.7, "wo_title": 5.5}}},
    }
    cells = list(script._printed(script.Corpus("W", "", "wiki", "lm1"), table))
    assert [(cell.column, cell.value) for cell in cells] == [
        ("word PPL, with titles", 15.0),
        ("word PPL, without titles", 16.0),
        ("Latent PPL, real text", 4.8),
        ("Latent PPL, with titles", 4.7),
        ("Latent PPL, without titles", 5.5),
    ]
    assert {cell.low for cell in cells} == {None}


def test_every_number_is_drawn_in_its_panel_at_its_corpus():
    from matplotlib.figure import Figure

    canvas = Figure()
    first, last = script.CORPORA[0].label, script.CORPORA[-1].label
    numbers = [
        Cell(first, "word PPL, with titles", 15.0, 14.0, 16.0),
        Cell(last, "Latent PPL, titles at random", 300.0),
    ]
    script._draw(canvas, numbers)
    drawn = []
    for axes in canvas.axes:
        for container in axes.containers:
            (points, _, _) = container
            for x, y in zip(points.get_xdata(), points.get_ydata(), strict=True):
                drawn.append((axes.get_xlabel(), container.get_label(), float(x), int(y)))
    assert drawn == [
        ("word PPL", "with titles", 15.0, 0),
        ("Latent PPL", "titles at random", 300.0, -7),
    ]
