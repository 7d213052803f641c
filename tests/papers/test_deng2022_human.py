"""Tables 4 and 18 and the study's own: cells, claims as printed and as measured, counts most common first."""

import numpy as np
import pytest

from longform.documents import BadInput
from longform.evaluation.human_study import CoherentShare, judged_items
from longform.evaluation.simulated_annotators import Annotator, ChainRule, answer_rows
from longform.reporting.deng2022_human import by_system, human_study, table_4, table_18

EXPECTED = {
    "table_04": {
        "pubmed": {
            "ppl": {"lm2": {"wo_title": 11.09, "w_title": 10.96}, "lm1": {"wo_title": 11.50, "w_title": 11.38}, "data": None},
            "mauve": {"lm2": {"wo_title": 0.75, "w_title": 0.85}, "lm1": {"wo_title": 0.91, "w_title": 0.90}, "data": 0.96},
            "latent_ppl": {"lm2": {"wo_title": 7.92, "w_title": 4.17}, "lm1": {"wo_title": 3.76, "w_title": 2.68}, "data": 2.58},
            "human": {"lm2": {"wo_title": 0.50, "w_title": 0.66}, "lm1": {"wo_title": 0.71, "w_title": 0.88}, "data": 0.87},
        }
    },
    "table_18": {"rows": [["b", "a"], ["b"], ["a", None]]},
}  # fmt: skip
RULE = ChainRule(("a", "b"), np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1.0]]), 0.5)
PEOPLE = [{"name": f"p{i}", "confusion": 0.0, "flips": 0.1} for i in range(3)]


def human(system, coherent, articles=20):
    chains = {f"{system}/{i}": ("a", "b") if i < coherent else ("b", "a") for i in range(articles)}
    people = [Annotator(**one) for one in PEOPLE]
    units = judged_items(
        answer_rows(chains, rule=RULE, annotators=people, system=system, seed=1), splits={}, simulated=True
    )
    critic = CoherentShare()
    value = critic.score(critic.tally(units))
    return record(value, **critic.describe(units))


def record(value, **details):
    made = {"value": value, "low": value - 0.01, "high": value + 0.01, "units": 20, "excluded": 0, "signature": "C()"}
    return made | {"details": details}


def rows(**latent):
    found = {}
    for place, (system, value) in enumerate(latent.items()):
        name = f"world-{system.replace('__', '-')}"
        found[f"{name}-latent"] = record(value)
        found[f"{name}-human"] = human(system, 18 - 6 * place)
        found[f"{name}-word"] = record(10.0 + (place == 1))
    return found


SCORES = rows(data=2.0, gpt2__w_title=3.0, gpt2__wo_title=4.0)


def test_table_4_says_that_annotators_are_simulated_and_judges_both_claims():
    table = table_4(scores=SCORES, expected=EXPECTED, data=None)
    told = " ".join(table.notes)
    assert "SIMULATED" in table.caption and "no person took part" in table.caption
    assert "as printed: Latent PPL goes with Human more closely than PPL does: ordering holds" in told
    assert "as printed: Latent PPL goes with Human more closely than MAUVE does: ordering holds" in told
    assert "here: Latent PPL goes with Human more closely than PPL does: ordering holds" in told
    assert "here: Latent PPL goes with Human more closely than MAUVE does: not runnable here" in told
    assert "gpt2: Human W/O Title < W/ Title" in told and "gpt2: Latent PPL W/ Title < W/O Title" in told
    cells = {(cell.row, cell.column): cell for cell in table.cells}
    assert cells["gpt2-w_title", "Human"].printed == 0.88 and cells["data", "Latent PPL"].printed == 2.58
    assert cells["r with Human, over systems", "Latent PPL"].value < -0.9


def test_table_18_counts_judgements_most_common_first():
    scores = {name: made for name, made in SCORES.items() if name.endswith("human")}
    table = table_18(scores=scores, expected=EXPECTED, data=None, most=1)
    first = table.cells[0]
    assert (first.row, first.column) == ("b → a", "judgements")
    assert first.value == sum(cell.value for cell in table.cells[1:])
    assert "1 of 2 occur here too" in " ".join(table.notes)


def test_the_study_sets_what_was_planted_beside_what_came_out():
    scores = {name: made for name, made in SCORES.items() if name.endswith("human")}
    table = human_study(scores=scores, expected=EXPECTED, data=None, annotators=PEOPLE)
    cells = {(cell.row, cell.column): cell.value for cell in table.cells}
    assert cells["data", "planted share"] == 0.9
    assert cells["data", "expected share"] == pytest.approx(0.9 * 0.9 + 0.1 * 0.1)
    assert "planted ranking is recovered: gpt2-wo_title < gpt2-w_title < data: ordering holds" in " ".join(table.notes)


def test_rows_of_two_corpora_or_of_no_column_are_refused():
    with pytest.raises(BadInput, match="one corpus"):
        by_system({"a-data-human": {}, "b-data-human": {}})
    with pytest.raises(BadInput, match="kind 'gold'"):
        by_system({"a-data-gold": {}})
