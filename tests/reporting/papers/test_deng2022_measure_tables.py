"""Tables 4, 7 and 8 of deng2022, and where marks stand in its pictures of articles."""

import matplotlib.figure
import pytest

from experiments.deng2022.report.human import correlation_records
from experiments.deng2022.report.pages import (
    LINE_CHARACTERS,
    Mark,
    chain,
    drawn_article,
    entity_colours,
    mention_page,
    wrap,
)
from longform.results import Results
from tests.reporting.papers.exhibits import at, draw, printed, state
from tests.reporting.papers.test_deng2022_exhibits import near, study, titled

SYSTEMS = ["data", "gpt2", "gpt2_medium", "gpt_neo"]
EXPECTED = printed(
    "deng2022",
    table_4={"corpus": "pubmed", "system": SYSTEMS},
    table_7={"corpus": "wiki", "system": ["data", "random_mentions", *SYSTEMS[1:]]},
    table_8={"corpus": "wiki", "system": SYSTEMS[:3], "titles": [True, None]},
)
MAUVE = {"mauve": 0.91, "per_seed": [0.9, 0.92], "spread": 0.01, "smoothed": 0.88, "buckets": 12}


def of_models(people):
    """PPL, MAUVE and Latent PPL of real text and three models, with the share of people if asked."""
    numbers = {"data": (None, 0.96, 2.58, 0.87), "gpt2": (11.0, 0.9, 2.68, 0.8),
               "gpt2_medium": (12.0, 0.8, 4.0, 0.7), "gpt_neo": (13.0, 0.75, 5.0, 0.3)}  # fmt: skip
    records = []
    for system, (word, mauve, latent, share) in numbers.items():
        place = {"corpus": "pubmed", "system": system, "titles": None if system == "data" else True}
        records.append(near(mauve, critic="mauve", metric="mauve", details=MAUVE, **place))
        records.append(near(latent, critic="section_order", metric="latent_ppl", **place))
        if word is not None:
            records.append(near(word, critic="perplexity", metric="word_ppl", **place))
        if people:
            records.append(study(system, place["titles"], share))
    return records


def test_table_4_says_nobody_was_asked_only_where_nobody_answered(tmp_path):
    silent = draw(EXPECTED, "table_4", Results(of_models(people=False)), tmp_path)
    assert silent.notes[0] == "Human: nobody was asked"
    assert silent.caption.startswith("Table 4. PPL, MAUVE and Latent PPL,")
    asked = draw(EXPECTED, "table_4", Results(of_models(people=True)), tmp_path)
    assert not any("nobody was asked" in note for note in asked.notes)
    assert "Human (SIMULATED annotators" in asked.caption
    found = at(asked)
    human = found["medical, GPT-2 (LM1), with titles", "Human"]
    assert (human.value, human.printed) == (0.8, 0.88)
    assert found["medical, data", "MAUVE"].printed == 0.96
    assert found["medical, GPT-2 (LM1), with titles", "Latent PPL"].printed == 2.68
    as_published = (
        "medical, data: MAUVE as published, both sides clustered anew: 0.910, sd over 2 seeds 0.010"
    )
    assert any(note.startswith(as_published) for note in asked.notes)


def test_people_are_called_annotators_where_nobody_was_simulated(tmp_path):
    records = of_models(people=True)
    for record in records:
        if record.critic == "human_study":
            record.details["simulated"] = False
    table = draw(EXPECTED, "table_4", Results(records), tmp_path)
    assert table.caption == "Table 4. PPL, MAUVE, Latent PPL and Human (annotators), 95 % intervals"


def test_measures_correlate_with_people_in_the_direction_of_good():
    found = {record.task: record for record in correlation_records(Results(of_models(people=True)))}
    # of (11, .8), (12, .7), (13, .3): covariance -.25, variances 1 and .07
    assert found["PPL"].value == pytest.approx(0.25 / 0.07**0.5)
    assert found["PPL"].units == 3 and found["MAUVE"].units == 4
    assert found["MAUVE"].value > 0 and found["Latent PPL"].value > 0
    two = [record for record in of_models(people=True) if record.system in SYSTEMS[:2]]
    assert list(correlation_records(Results(two))) == []


def mentions(system, titles, value, variant="", **more):
    place = {"critic": "coreference", "metric": "latent_ppl", "corpus": "wiki", "system": system}
    return near(value, **place, titles=titles, variant=variant, **more)


def test_table_7_puts_mentions_beside_the_exact_and_printed_values(tmp_path):
    state(tmp_path, "wiki", mention_latent_ppl=5.5)
    compared = {"difference": 0.9, "p_value": 0.0123}
    records = [
        mentions("data", None, 6.3), mentions("gpt2", True, 7.2, **compared),
        mentions("gpt2", True, 7.0, "kneser_ney"), mentions("random_mentions", None, 90.0),
        titled("gpt2", True, 4.0),
    ]  # fmt: skip
    table = draw(EXPECTED, "table_7", Results(records), tmp_path)
    found = at(table)
    model = "encyclopedia, GPT-2 (LM1), with titles"
    assert found["encyclopedia, exact", "Latent PPL, gold chains"].value == 5.5
    assert (found[model, "Latent PPL"].value, found[model, "Latent PPL"].printed) == (7.2, 7.22)
    assert found[model, "Latent PPL, Kneser-Ney"].value == 7.0
    assert found["encyclopedia, data", "Latent PPL"].printed == 6.26
    assert f"{model}: minus real text's own score +0.90, p = 0.0123" in table.notes
    assert "persons of all articles, films alone in the paper" in table.notes
    assert any("1e-20" in note for note in table.notes)
    assert next(column for _, column in found) == "Latent PPL, gold chains"


def test_table_7_counts_what_the_film_filter_set_aside(tmp_path):
    records = [mentions("data", None, 6.3), mentions("gpt2", True, 7.2)]
    records[1] = near(
        7.2, critic="coreference", metric="latent_ppl", corpus="wiki", system="gpt2", titles=True
    )
    object.__setattr__(records[1], "excluded", 13)
    table = draw(EXPECTED, "table_7", Results(records), tmp_path)
    assert "up to 13 articles set aside by the film filter" in table.notes
    assert not any("1e-20" in note for note in table.notes)


def test_table_8_has_a_row_for_each_size_with_its_printed_number(tmp_path):
    records = [mentions("data", None, 6.3), mentions("gpt2", True, 7.2), mentions("gpt2_medium", True, 7.5),
               mentions("gpt2", False, 9.9)]  # fmt: skip
    found = at(draw(EXPECTED, "table_8", Results(records), tmp_path))
    shown = {row: (cell.value, cell.printed) for (row, _), cell in found.items()}
    assert list(shown.values()) == [(6.3, 6.26), (7.2, 7.22), (7.5, 7.64)]


ARTICLE = (
    "Ann Reed met Bob.\n"
    + "He saw her dog near the old mill beside the river and then he went on walking for hours until dusk. She left."
)
REED, BOB, HE, SHE = (ARTICLE.index(word) for word in ("Ann", "Bob", "He ", "She"))
PLACED = [
    Mark(0, 0, ".", -0.1, False), Mark(REED, REED + 8, "Ann:0", -1.0, False),
    Mark(BOB, BOB + 3, "Bob:1", -9.0, True, "he:1", -1.5), Mark(HE, HE + 2, "He:1", -1.0, False),
    Mark(SHE, SHE + 3, "She:0", -8.0, True, "he:1", -1.0),
]  # fmt: skip


def test_marks_of_an_articles_picture_stand_on_their_words():
    draw_article, _ = drawn_article("Figure 10", ARTICLE, PLACED)
    draw_article(canvas := matplotlib.figure.Figure())
    axes = canvas.axes[0]
    lines = wrap(ARTICLE, LINE_CHARACTERS)
    assert [ARTICLE[start:end].split()[0] for start, end in lines] == ["Ann", "He", "until"]
    colours = entity_colours(PLACED)
    shown = {}
    for text in axes.texts:
        shown.setdefault(
            text.get_text(), (text.get_position(), text.get_color(), text.get_weight())
        )
    assert shown["Reed"] == ((4, 0), colours["0"], "bold")
    assert shown["Bob"] == ((13, 0), colours["1"], "bold")
    assert shown["He"] == ((0, 1), colours["1"], "bold")
    assert shown["dog"] == ((11, 1), "#222222", "normal")
    assert shown["She"] == ((12, 2), colours["0"], "bold")
    circles = [patch.get_bbox().bounds for patch in axes.patches]
    assert circles == [pytest.approx((13, -0.55, 3, 0.8)), pytest.approx((12, 1.45, 3, 0.8))]


def test_the_chain_of_a_text_is_drawn_in_rows_of_nine_below_it():
    marks = [Mark(place, place + 1, f"he:{place}", -place / 10, place == 13) for place in range(40)]
    draw_chain, (width, height) = chain("x" * 100, marks)
    draw_chain(canvas := matplotlib.figure.Figure())
    texts = {text.get_text(): text for text in canvas.axes[0].texts}
    assert texts["x" * 36].get_position() == (-0.4, 0.0)  # up to the first symbol that is not shown
    assert texts["[he]0"].get_position() == (0, pytest.approx(0.9))
    assert texts["[he]13"].get_position() == (4, pytest.approx(2.0))
    assert texts["[he]35"].get_position() == (8, pytest.approx(4.2))
    assert "[he]36" not in texts
    assert texts["-1.3"].get_position() == (4, pytest.approx(2.45))
    assert texts["-1.3"].get_color() == "#dd0000" and texts["-1.2"].get_color() == "#666666"
    assert (width, height) == (7.6, pytest.approx(0.4 + 0.2 + 4 * 0.55))


def test_entities_are_coloured_by_how_often_they_are_mentioned():
    marks = [Mark(0, 1, f"he:{entity}", -1.0, False) for entity in (3, 5, 5, 7, 3, 5)]
    assert entity_colours(marks) == {"": "#555555", "5": "#0072B2", "3": "#D55E00", "7": "#009E73"}
    many = entity_colours([Mark(0, 1, f"he:{entity}", -1.0, False) for entity in range(9)])
    assert many["7"] == "#1B5E20" and many["8"] == "#555555"


def test_a_page_marks_words_away_from_the_beginning_and_skips_marks_inside():
    text = "So the old man saw him."
    marks = [
        Mark(3, 14, "MALE:0", -1.0, False),
        Mark(7, 10, "old:1", -1.0, False),
        Mark(19, 22, "him:0", -9.0, True),
    ]
    page = mention_page("t", text, marks)
    colour = entity_colours(marks)["0"]
    assert (
        f'So <mark style="color:{colour}">the old man<sub>M0</sub></mark> saw <span class="bad"'
        in page
    )
    assert "him<sub>0</sub></mark></span>.</p>" in page


def test_lines_break_at_spaces_and_line_breaks_or_inside_a_long_word():
    text = "ab cd\nefghijk lm"
    assert [text[a:b] for a, b in wrap(text, 5)] == ["ab cd", "efghi", "jk lm"]
    assert wrap("", 5) == []
