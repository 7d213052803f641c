"""Claims judged from intervals, and intervals of what is computed from several numbers."""

import csv
import math
from dataclasses import replace
from types import SimpleNamespace

import pytest

from longform.results import Record, Results
from longform.statistics.intervals import wilson
from longform.statistics.random_streams import generator
from longform_lab.reporting import claims
from longform_lab.reporting.claims import Instrument, judge, read_claim
from longform_lab.reporting.estimates import Estimate, contrast, of_records, over_seeds, slope
from longform_lab.reporting.verdicts import claims_markdown, write_claims
from tests.refusals import refuses
from tests.reporting.papers.exhibits import state

Z = 1.959963984540054


def ppl(
    system, value, titles=None, corpus="wiki", metric="latent_ppl", spread=0.02, units=100, **more
):
    low, high = value * (1 - spread), value * (1 + spread)
    return Record(
        "section_order",
        metric,
        corpus,
        system,
        titles,
        value=value,
        low=low,
        high=high,
        units=units,
        **more,
    )


RESULTS = Results([ppl("data", 2.0), ppl("gpt2", 2.5, True), ppl("gpt2", 3.0, False), ppl("gpt_neo", 3.0, True),
                   ppl("gpt_neo", 2.4, False), ppl("gpt2", 10.0, True, metric="word_ppl"),
                   ppl("gpt2", 10.3, False, metric="word_ppl"), ppl("gpt2", 9.0, True, variant="gold"),
                   ppl("data", 2.0, corpus="pubmed"), ppl("gpt2", 2.5, True, corpus="pubmed", units=19)])  # fmt: skip
TITLES = {"id": "titles_help", "says": "Titles help.", "source": "section 4",
          "where": {"critic": "section_order", "metric": "latent_ppl"}, "for_each": ["corpus", "system"],
          "order": [{"system": "data"}, {"titles": True}, {"titles": False}]}  # fmt: skip


def judged(tmp_path, results=RESULTS, scale="", **changes):
    claim = {key: value for key, value in {**TITLES, **changes}.items() if value is not None}
    return judge("paper", [read_claim("paper", claim)], results, tmp_path, scale)[0]


def rows(found):
    return {(row.fields, row.compared): row.verdict for row in found.rows}


def test_an_order_is_judged_row_by_row_from_the_intervals_of_ratios(tmp_path):
    found = judged(tmp_path)
    assert rows(found) == {
        ("wiki, gpt2", "data < with titles"): "holds",
        ("wiki, gpt2", "with titles < without titles"): "holds",
        ("wiki, gpt_neo", "data < with titles"): "holds",
        ("wiki, gpt_neo", "with titles < without titles"): "contradicted",
        ("pubmed, gpt2", "data < with titles"): "undecided",
        ("pubmed, gpt2", "with titles < without titles"): "not measured here",
    }
    assert found.verdict == "contradicted"
    first = found.rows[0].contrast
    assert found.scale == "ratio" and first.value == pytest.approx(1.25)
    assert first.low == pytest.approx(1.25 * 0.972, abs=2e-3)
    few = found.rows[4]
    assert few.why == "19 units, fewer than 20" and few.contrast.low is None


def test_titles_that_were_not_measured_are_called_by_both_values(tmp_path):
    order = [{"system": "data", "titles": None}, {"system": "gpt2", "titles": [True, False]}]
    found = judged(tmp_path, Results([ppl("data", 2.0)]), for_each=["corpus"], order=order)
    assert [row.compared for row in found.rows] == ["data < gpt2, with titles/without titles"]


def test_a_verdict_on_one_training_says_what_its_interval_covers(tmp_path):
    trained = [ppl("gpt2", 2.5, True, seed=1), ppl("gpt2", 3.0, False, seed=1)]
    once = judged(tmp_path, Results([ppl("data", 2.0), *trained]))
    assert [(row.verdict, row.once) for row in once.rows] == [("holds", True)] * 2
    write_claims(tmp_path / "claims.csv", [once])
    assert (tmp_path / "claims.csv").read_text().count(",one training,\n") == 2
    assert "intervals cover documents alone" in once.sentence()
    again = [ppl("gpt2", 2.501, True, seed=2), ppl("gpt2", 3.001, False, seed=2)]
    twice = judged(tmp_path, Results([ppl("data", 2.0), *trained, *again]))
    assert [(row.verdict, row.once) for row in twice.rows] == [("holds", False)] * 2
    assert "documents alone" not in twice.sentence()


def sized(**values):
    return Results([ppl(system, value, True) for system, value in values.items()])


def compared(reference):
    return Results(
        [
            Record(
                "c",
                "accuracy",
                "wiki",
                value=0.55,
                low=0.5,
                high=0.6,
                units=100,
                reference=reference,
            )
        ]
    )


NEAR, FAR, FALLING = (
    sized(small=2.0, large=1.97),
    sized(small=2.0, large=1.5),
    sized(s=3.0, m=2.8, l=2.9, xl=2.2),
)
WHOLE = Results([r for r in RESULTS if r.system in ("data", "gpt2") and r.corpus == "wiki"])
SHORT = Results([r for r in WHOLE if r.titles is not False])
TWO_OF_THREE = Results([ppl("gpt2", v, True, corpus=c) for c, v in (("x", 3), ("y", 3), ("z", 1))]
                       + [ppl("data", 2.0, corpus=c) for c in "xyz"])  # fmt: skip
ALONE = {"for_each": ["corpus"]}
PAIR = ALONE | {"order": [{"system": "small"}, {"system": "large"}]}
RISING = ALONE | {"order": None, "rising": [{"system": name} for name in ("xl", "l", "m", "s")]}
NEEDING = {"order": [{"system": "data"}, {"titles": True}]}
REFERENCE = ALONE | {"where": {"metric": "accuracy"}, "order": [{"reference": {}}, {"critic": "c"}]}


@pytest.mark.parametrize(
    ("results", "changes", "verdict"),
    [
        (NEAR, PAIR, "undecided"),
        (NEAR, PAIR | {"margin": 0.9}, "holds"),  # it does not get worse by as much
        (FAR, PAIR | {"margin": 0.9}, "contradicted"),
        (WHOLE, ALONE, "holds"),
        (
            WHOLE,
            {"for_each": {"corpus": ["wiki", "pubmed"]}},
            "holds",
        ),  # a corpus without any link says nothing
        (SHORT, ALONE, "not measured here"),  # one link short, the chain is not shown
        (SHORT, ALONE | {"needs": "any"}, "holds"),
        (FALLING, RISING, "holds"),
        (FALLING, RISING | {"rising": RISING["rising"][::-1]}, "contradicted"),
        (Results(FALLING[:3]), RISING, "not measured here"),
        (TWO_OF_THREE, NEEDING | {"needs": "all"}, "contradicted"),
        (TWO_OF_THREE, NEEDING | {"needs": "majority"}, "holds"),
        (TWO_OF_THREE, NEEDING | {"needs": "any"}, "holds"),
        (compared(0.4), REFERENCE, "holds"),
        (compared(0.7), REFERENCE, "contradicted"),
        (compared(None), REFERENCE, "not measured here"),
        (RESULTS, {"not_testable": {"small": "too small"}, "scale": "small"}, "not testable here"),
        (RESULTS, {"not_testable": {"small": "too small"}, "scale": "large"}, "contradicted"),
        (Results([]), {}, "not measured here"),
    ],
)
def test_margins_chains_slopes_and_scales_decide_the_verdict(tmp_path, results, changes, verdict):
    assert judged(tmp_path, results, **changes).verdict == verdict


def test_a_ratio_of_ratios_needs_both_to_be_known(tmp_path):
    named = ("word_ppl", "latent_ppl")
    word, latent = (
        {"called": m, "ratio": [{"metric": m, "titles": t} for t in (False, True)]} for m in named
    )
    found = judged(tmp_path, where={"critic": "section_order"},
                   for_each={"corpus": ["wiki"], "system": ["gpt2", "gpt_neo"]}, order=[word, latent])  # fmt: skip
    assert rows(found) == {
        ("wiki, gpt2", "word_ppl < latent_ppl"): "holds",
        ("wiki, gpt_neo", "word_ppl < latent_ppl"): "not measured here",
    }
    assert found.rows[0].contrast.value == pytest.approx(1.2 / 1.03)


def test_a_claim_that_was_not_run_or_cannot_be_tested_says_why(tmp_path):
    takes = {"for_each": ["corpus", "titles"], "takes": "a second family: the scale large"}
    first = Results([r for r in RESULTS if r.system != "gpt_neo"])
    both = [{"system": "gpt2"}, {"system": "gpt_neo"}]
    lacking = judged(tmp_path, first, order=both, **takes)
    assert rows(lacking) == {("", ""): "not measured here"}
    assert lacking.sentence().endswith(
        "**not measured here**; it takes a second family: the scale large"
    )
    assert not [row.why for row in judged(tmp_path, order=both, **takes).rows if "takes" in row.why]
    everywhere = judged(tmp_path, order=None, not_testable="raters are simulated")
    assert everywhere.verdict == "not testable here"
    assert "raters are simulated" in everywhere.sentence()
    order = [{"system": "data", "titles": None}, {"system": ["gpt2", "gpt_neo"], "titles": True}]
    needed = {"for_each": ["corpus"], "order": order, "with": [{"system": ["gpt_neo"]}]}
    assert (
        judged(tmp_path, **needed).verdict
        != "not measured here"
        == judged(tmp_path, first, **needed).verdict
    )


def test_a_number_is_equivalent_if_its_interval_lies_within_the_margin(tmp_path):
    within = {"margin": 1.05, "why": "ours"}
    form = {
        "order": None,
        "contains": [{"system": "data"}, {"fact": "truth.latent_ppl"}],
        "within": within,
    }
    for value, verdict in ((2.03, "holds"), (2.1, "undecided"), (2.3, "contradicted")):
        state(tmp_path, "wiki", truth={"latent_ppl": value})
        found = judged(
            tmp_path,
            Results([r for r in RESULTS if r.corpus == "wiki"]),
            for_each=["corpus"],
            **form,
        )
        assert rows(found) == {("wiki", "data covers truth.latent_ppl"): verdict}
    assert "equivalent within 1.05: ours" in found.sentence()


def test_ignorance_is_no_equivalence(tmp_path):
    wide = [Record("c", "share", value=0.0, low=-0.47, high=0.45, units=50)]
    form = {"order": None, "contains": [{}, {"value": 0}], "within": {"margin": 0.1, "why": "ours"}}
    claim = {"where": {"metric": "share"}, "for_each": [], **form}
    assert judged(tmp_path, Results(wide), **claim).verdict == "undecided"
    assert (
        judged(tmp_path, Results([replace(wide[0], low=-0.09, high=0.09)]), **claim).verdict
        == "holds"
    )


@pytest.mark.parametrize(
    ("low", "verdict", "borderline"),
    [
        (-0.20, "undecided", ""),
        (-0.08, "undecided", "holds at 90 %"),  # the arm of 0.508 is 0.426 at 90 %
        (0.05, "holds", "undecided at 99 %"),  # the arm of 0.45 is 0.591 at 99 %
        (0.20, "holds", ""),
    ],
)
def test_a_verdict_that_another_level_changes_is_borderline(tmp_path, low, verdict, borderline):
    record = Record("c", "share", value=0.5, low=low, high=1 - low, units=50)
    if low == -0.08:
        record = replace(record, value=0.428, high=0.936)
    claim = {"where": {"metric": "share"}, "for_each": [], "order": [{"value": 0}, {"critic": "c"}]}
    found = judged(tmp_path, Results([record]), **claim)
    assert (found.verdict, found.borderline, found.rows[0].borderline) == (
        verdict,
        borderline,
        borderline,
    )
    assert ("borderline" in found.sentence()) == bool(borderline)
    assert ("Borderline" in claims_markdown([found])) == bool(borderline)


def test_a_claim_is_judged_by_the_instruments_and_systems_that_it_names(tmp_path):
    stand_in = [{"where": {"critic": "section_order"}, "claims": False, "why": "another reader"}]
    orderings = [{**stand_in[0], "claims": True}]
    claim = {**TITLES, "for_each": ["corpus"]}
    for instruments, verdict in (
        (stand_in, "not testable here"),
        (orderings, "holds"),
        ([], "holds"),
    ):
        parsed = [Instrument.model_validate(one) for one in instruments]
        found = judge("paper", [read_claim("paper", claim)], WHOLE, tmp_path, "", parsed)[0]
        assert found.verdict == verdict
        assert (found.rows[0].why == "another reader") == (instruments is stand_in)
    both = {**ALONE, "order": [{"system": "data"}, {"system": ["gpt2", "gpt2_xl"], "titles": True}]}
    both["with"] = [{"system": "gpt2"}, {"system": ["gpt2_large", "gpt2_xl"]}]
    # one size is not every size
    assert judged(tmp_path, WHOLE, **both).verdict == "not measured here"
    two = Results([*WHOLE, ppl("gpt2_xl", 2.6, True)])
    assert judged(tmp_path, two, **both).verdict == "holds"


def test_a_group_stands_for_each_of_its_records_and_a_constant_for_chance(tmp_path):
    values = {"a": 0.7, "b": 0.4, "c": 0.9}
    shares = Results(Record("s", "accuracy", system=n, value=v, low=v - 0.05, high=v + 0.05, units=90)
                     for n, v in values.items())  # fmt: skip
    where, order = (
        {"critic": "s", "metric": "accuracy"},
        [{"value": 0.5}, {"system": ["a", "b"]}, {"system": "c"}],
    )
    found = judged(tmp_path, shares, where=where, for_each=[], order=order)
    assert [(row.compared, row.verdict) for row in found.rows] == [
        ("0.5 < a", "holds"), ("0.5 < b", "contradicted"), ("a < c", "holds"), ("b < c", "holds"),
    ]  # fmt: skip
    assert found.scale == "difference"
    signed = judged(
        tmp_path, shares, where=where, for_each=["system"], order=None, differ=[{}, {"value": 0.5}]
    )
    assert {row.verdict for row in signed.rows} == {"holds"}


@pytest.mark.parametrize(
    ("form", "value", "alone", "among"),
    [
        ("order", 1.93, "contradicted", "undecided"),
        ("order", 1.88, "contradicted", "contradicted"),
        (
            "contains",
            1.84,
            "contradicted",
            "undecided",
        ),  # within 1.05: log(1.84 / 2) + 0.0283 < -log(1.05)
        ("contains", 1.80, "contradicted", "contradicted"),
    ],
)
def test_one_row_of_many_refutes_a_claim_only_beyond_chance(tmp_path, value, alone, among, form):
    corpora = "abcdefghij"
    claimed = {
        "order": None,
        form: [{"system": "data"}, {"titles": True}][:: 1 if form == "order" else -1],
    }
    claimed |= {"within": {"margin": 1.05, "why": "ours"}} if form == "contains" else {}
    for many, verdict in ((corpora[:1], alone), (corpora, among)):
        values = [value, *[3.0 if form == "order" else 2.0] * (len(many) - 1)]
        results = [
            ppl("gpt2", v, True, corpus=c, seed=1) for c, v in zip(many, values, strict=True)
        ]
        results += [ppl("data", 2.0, corpus=c) for c in many]
        found = judged(tmp_path, Results(results), for_each=["corpus"], **claimed)
        assert found.rows[0].verdict == found.verdict == verdict
        assert {row.verdict for row in found.rows[1:]} <= {"holds"}
        assert found.rows[0].why == (
            "contradicted alone, not among 10 comparisons" if verdict == "undecided" else ""
        )
        assert all(row.once for row in found.rows)


@pytest.mark.parametrize(("changes", "message"),
                         [({"order": None}, "give one of"), ({"rising": [{}]}, "give one of"),
                          ({"titles": True}, "has 'titles'"),
                          ({"needs": "most"}, "needs is 'most', allowed is 'all', 'majority' or 'any'"),
                          ({"order": [{"size": 3}, {}]}, "order.0 has 'size'"),
                          ({"order": [{"sytem": "a"}, {}]}, r"has 'sytem' \(near: system"),
                          ({"where": {"titles": "yes"}}, "where: titles is 'yes', allowed is true or false"),
                          ({"for_each": ["corpsu"]}, r"got 'corpsu' \(near: corpus\)"),
                          ({"for_each": {"corpus": "wiki"}}, "corpus is 'wiki', allowed is a list of its values"),
                          ({"order": [{"value": 1, "system": "a"}, {}]}, "beside each other"),
                          ({"order": [{"ratio": [{}]}, {}]}, "ratio'? of 1 numbers, allowed are two"),
                          ({"for_each": [], "order": [{"absolute": {}}, {"value": 1}], "scale": "difference"},
                           "name the fields in which they differ"),
                          ({"order": None, "for_each": [], "differ": [{}, {"value": 1}]},
                           "name the fields in which they differ"),
                          ({"order": None, "contains": [{}, {"value": 1}]}, "contains needs within"),
                          ({"within": {"margin": 1.1, "why": "ours"}}, "no other form has it"),
                          ({"order": [{}]}, "order of 1 number; two are compared"),
                          ({"order": None, "differ": [{}, {}, {}]}, "differ of 3 numbers"),
                          ({"margin": math.nan}, "margin is nan"), ({"margin": 0}, "margin 0 of ratios"),
                          ({"order": [{"value": math.inf}, {}]}, "value is inf"),
                          ({"order": None, "contains": [{}, {"value": 1}], "within": {"margin": 0.1, "why": "x"}},
                           "a factor is above 1"),
                          ({"order": None, "contains": [{}, {"value": 1}], "within": {"margin": 1.1}}, r"within lacks \['why'\]"),
                          ({"order": None, "contains": [{}, {"value": 1}], "within": {"margin": math.nan, "why": "x"}}, "margin is nan"),
                          ({"order": [{"minus": [{}, {}]}, {"value": 1}]}, "minus of scale difference")])  # fmt: skip
def test_a_claim_that_is_written_wrongly_is_refused_with_the_reason(tmp_path, changes, message):
    refuses(message, judged, tmp_path, **changes)


def test_the_file_has_a_line_for_a_claim_and_its_rows_beneath(tmp_path):
    found = judged(tmp_path)
    write_claims(tmp_path / "claims.csv", [found])
    with (tmp_path / "claims.csv").open() as file:
        lines = list(csv.DictReader(file))
    assert lines[0]["row"] == "" and lines[0]["verdict"] == "contradicted" and len(lines) == 7
    assert float(lines[1]["difference"]) == pytest.approx(1.25) and lines[1]["row"] == "wiki, gpt2"
    assert "| paper | 1 |  | 1 |" in claims_markdown([found])


def normal(values):
    """Mean with its normal interval."""
    half = Z * values.std(ddof=1) / math.sqrt(len(values))
    return Estimate(
        float(values.mean()), float(values.mean() - half), float(values.mean() + half), len(values)
    )


def test_a_difference_of_two_shares_is_newcombes():
    """Newcombe (1998), Table II, case (a), method 10."""
    a, b = (Estimate(k / n, *wilson(k, n), units=n) for k, n in ((56, 70), (48, 80)))
    found = contrast((1, -1), (a, b))
    assert (found.low, found.high) == (
        pytest.approx(0.0524, abs=5e-5),
        pytest.approx(0.3339, abs=5e-5),
    )
    assert found.units == 70


def covered(truth, draw, trials=800):
    """Share of drawn intervals that contain the truth."""
    found = [draw(generator("coverage", trial)) for trial in range(trials)]
    return sum(one.low <= truth <= one.high for one in found) / trials


def test_intervals_of_log_ratios_and_slopes_cover_the_truth():
    def draw(rng):
        first, second = (normal(rng.gamma(4.0, scale, 200)) for scale in (0.3, 0.4))
        return contrast((1, -1), (first.exp().log(), second.exp().log()))

    assert 0.93 <= covered(4 * 0.3 - 4 * 0.4, draw) <= 0.97

    def draw(rng):
        return slope([normal(rng.normal(0.5 * place, 1 + place, 80)) for place in range(4)])

    assert 0.93 <= covered(0.5, draw) <= 0.97


@pytest.mark.parametrize(("between", "seeds"), [(0.0, 3), (0.1, 3), (0.5, 2), (0.5, 3), (0.1, 8)])
def test_the_mean_over_seeds_covers_the_truth_on_shared_documents(between, seeds):
    def draw(rng):
        documents = rng.normal(0, 1, 100)
        return over_seeds([normal(2 + rng.normal(0, between) + documents) for _ in range(seeds)])

    assert 0.93 <= covered(2.0, draw) <= 0.99


def test_records_of_seeds_are_one_number_and_few_units_have_no_interval():
    few = Estimate(1.0, 0.9, 1.1, 19)
    assert few.low is None and not few.known
    assert contrast((1, -1), (few, Estimate(0.5, 0.5, 0.5))) == Estimate(0.5, units=19)
    assert over_seeds([few, Estimate(2.0, 1.9, 2.1, 50)]).high is None
    records = [
        Record("c", "m", seed=v, value=v, low=v - 0.1, high=v + 0.1, units=30) for v in (1, 3)
    ]
    found = of_records(records)
    assert found.value == 2.0 and found.low < 1.0
    assert of_records(records, log=True).value == pytest.approx(math.log(3) / 2)
    assert of_records([*records, Record("c", "m", seed=2)]) is None
    assert of_records([]) is None and of_records([Record("c", "m", value=math.nan)]) is None
    assert Estimate(-2.0, -3.0, -1.0).absolute() == Estimate(2.0, 1.0, 3.0)
    assert Estimate(-1.0, -3.0, 1.0).absolute() == Estimate(1.0, 0.0, 3.0)
    seeds = [
        Record("c", "m", seed=k, value=float(k), low=k - 1.0, high=k + 1.0, units=50)
        for k in (1, 2)
    ]
    mean = Record("c", "m", value=1.4, low=1.2, high=1.6, units=50)
    assert of_records([mean, *seeds]) == Estimate(1.4, 1.2, 1.6, 50)
    assert of_records(seeds).value == 1.5
    refuses("two records of c m are the same", of_records, [mean, mean])


@pytest.mark.parametrize("called", ["", "theirs"])
def test_references_and_absolute_values_have_the_names_of_a_claim(tmp_path, called):
    name = {"called": called} if called else {}
    parts = [{"reference": {}} | name, {"absolute": {"critic": "c"}} | name, {"critic": "c"}]
    changes = REFERENCE | {"scale": "difference", "order": parts}
    (first, second) = judged(tmp_path, compared(0.5), **changes).rows
    labels = [called or "reference", called or "|c|", "c"]
    assert first.compared == f"{labels[0]} < {labels[1]}"
    assert second.compared == f"{labels[1]} < {labels[2]}"


@pytest.mark.parametrize(("operation", "sign"), [("ratio", "/"), ("minus", "-")])
def test_a_difference_of_numbers_is_called_by_its_sign(operation, sign):
    class Sides(claims._Comparison):
        def __init__(self):
            object.__setattr__(self, "scale", "ratio" if operation == "ratio" else "difference")

        def _numbers(self, quantity):
            return [quantity]

    first, second = (
        claims._Number(label, Estimate(value, value, value), once)
        for label, value, once in (("a", 3.0, False), ("b", 1.0, True))
    )
    quantity = SimpleNamespace(operation=operation, ratio=None, minus=None, called=None)
    setattr(quantity, operation, [first, second])
    expected = claims._Number(f"a {sign} b", Estimate(2.0, 2.0, 2.0), True)
    assert Sides()._difference(quantity) == [expected]
    quantity.called = "named"
    assert Sides()._difference(quantity) == [replace(expected, label="named")]


def test_groups_of_records_differ_in_fields_of_two_values():
    same = dict.fromkeys(claims.IDENTITY, "x")
    groups = [tuple({**same, "metric": metric}.values()) for metric in "ab"]
    assert claims._differing(dict.fromkeys(groups)) == ["metric"]
    assert claims._differing({groups[0]: None}) == []
