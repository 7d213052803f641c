"""The table of a study, cell by cell, on two systems, one judged by people and one by simulated annotators."""

from types import SimpleNamespace

import pytest

from longform.errors import InputError
from longform.evaluation.human_study import SIGNATURE, Effect
from longform.results import Record, Results
from longform.tables import Cell
from longform_lab.study import __main__ as commands
from longform_lab.study import tables


def record(system, annotators, answers, **more):
    details = {
        "wilson": [0.3, 0.9], "judgements": 40, "majority": 0.7, "dropped": ["zoe", "ann"],
        "agreement": {"alpha": 0.6, "kappa": {"ada-ben": 0.2, "ada-cy": None, "ben-cy": 0.5}},
        "annotators": annotators, "unit_ids": ["u", "v"], "answers": answers, "simulated": False,
    } | more  # fmt: skip
    return Record(
        "human_study", "coherent_share", system=system, value=0.65, low=0.5, high=0.8, units=30,
        excluded=2, signature="S", details=details,
    )  # fmt: skip


PEOPLE = record("m", ["ada", "ben"], [[1, None], [0, 1]], dropped=[])
KNOWN = {"coherent": 0.8, "rates": {"ada": {"flips": 0.1}, "ben": {"flips": 0.2}}}
MADE = record(
    "n", ["ada", "cy", "ben"], [[1, 1], [None, None], [0, 0]],
    simulated=True, known=KNOWN, agreement={"alpha": 0.4, "kappa": {"ada-ben": None}},
)  # fmt: skip
OF_PEOPLE = [
    Cell("M", "coherent, articles resampled", 0.65, 0.5, 0.8, 30, 2, signature="S"),
    Cell("M", "coherent, Wilson", 0.65, 0.3, 0.9, 40, signature="Wilson 1927"),
    Cell("M", "coherent by majority", 0.7, units=30),
    Cell("M", "alpha", 0.6, units=30, signature="Krippendorff, nominal"),
    Cell("M", "mean kappa", pytest.approx(0.35), units=2, signature="Cohen, pairs"),
]
OF_MADE = [
    Cell("N", "coherent, articles resampled", 0.65, 0.5, 0.8, 30, 2, signature="S"),
    Cell("N", "coherent, Wilson", 0.65, 0.3, 0.9, 40, signature="Wilson 1927"),
    Cell("N", "coherent by majority", 0.7, units=30),
    Cell("N", "alpha", 0.4, units=30, signature="Krippendorff, nominal"),
    Cell("N", "share by the rule", 0.8, signature="the rule"),
    # 0.8 (1 - 0.15) + 0.2 x 0.15 with a mean of both rates of 0.15
    Cell("N", "expected share", pytest.approx(0.71), signature="closed form"),
    Cell("N", "expected alpha", (0.8, [0.1, 0.2]), signature="closed form, many articles"),
]


@pytest.fixture
def fits(monkeypatch):
    """What mixed effects are fitted to; each fit has one effect and one spread."""
    asked = []

    def fitted(*judgements):
        asked.append(judgements)
        return [Effect("m", 1.0, 0.5, 1.5)], [Effect("annotators", 2.0, 1.0, 3.0)]

    monkeypatch.setattr(tables, "mixed_effects", fitted)
    monkeypatch.setattr(tables, "expected_alpha", lambda truth, rates: (truth, rates))
    return asked


def given(*records):
    return SimpleNamespace(
        select=lambda fields: Results(records).where(**fields),
        labels=lambda record, *fields: record.system.upper(),
        notes=["a note"],
    )


def test_a_table_has_shares_agreement_expectations_and_effects(fits):
    table = tables.human_study(given(PEOPLE, MADE, Record("human_study", "other")))
    num_answers = 3 + 4
    assert table.cells == [
        *OF_PEOPLE,
        *OF_MADE,
        Cell("m", "logit", 1.0, 0.5, 1.5, num_answers, signature=SIGNATURE),
        Cell("sd of annotators", "logit", 2.0, 1.0, 3.0, num_answers, signature=SIGNATURE),
    ]
    assert table.notes == [
        f"mixed effects: {SIGNATURE}",
        "set aside by the attention checks, with every answer: ann, zoe",
        "a note",
    ]
    assert table.caption.endswith(f"({tables.SIMULATED})")
    ((values, systems, names, articles),) = fits
    assert values == [1, 0, 1, 1, 1, 0, 0]
    assert systems == ["M", "M", "M", "N", "N", "N", "N"]
    assert names == ["ada", "ben", "ben", "ada", "ada", "ben", "ben"]
    assert articles == ["M/u", "M/u", "M/v", "N/u", "N/v", "N/u", "N/v"]


def test_a_fit_that_fails_is_a_note_and_nobody_may_be_set_aside(fits, monkeypatch):
    def failing(*judgements):
        raise InputError("too few")

    monkeypatch.setattr(tables, "mixed_effects", failing)
    table = tables.human_study(given(PEOPLE))
    assert table.cells == OF_PEOPLE and table.caption.endswith("(annotators)")
    assert table.notes[:2] == [
        "mixed effects: not fitted (too few)",
        "set aside by the attention checks, with every answer: nobody",
    ]


def test_chains_called_incoherent_are_counted_by_system(monkeypatch):
    chains = {"data": [], "lm": [(("a", "b"), 3), (("b",), 1)]}
    monkeypatch.setattr(commands, "organisations", chains.get)
    table = commands._organisations({name: name for name in chains})
    assert table.cells == [
        Cell("a → b", "lm", 3, signature="judgements"), Cell("b", "lm", 1, signature="judgements"),
    ]  # fmt: skip
    assert table.notes == []
    assert commands._organisations({"data": "data"}).notes == [
        "nobody called an article incoherent"
    ]
