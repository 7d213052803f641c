"""Whole records, tables and files of checked generations, worked out by hand."""

import math
from dataclasses import asdict, replace

import numpy as np

from longform.critics.verifiability import checks, reliability
from longform.critics.verifiability.checker import Checker, PageIndex
from longform.datasets.fever import PageFile
from longform.evaluation import verified_texts
from longform.results import Record
from longform.statistics.estimates import Estimate
from longform.statistics.random_streams import generator
from longform.text.rendering import TokenText

S, R, N = checks.LABELS
NAN = math.nan


def text_of(name, labels):
    evidence = [
        frozenset({("p", i)}) if label != N else frozenset() for i, label in enumerate(labels)
    ]
    return checks.CheckedText(name, "test", tuple(labels), tuple(evidence))


def generation(name, labels, truth=None, *, setting="beam", page="p", about=(1, 2, 0), **columns):
    table = np.zeros((len(labels), len(checks.SENTENCE_COLUMNS)))
    table[:, checks.SENTENCE_COLUMNS.index("same_as")] = range(len(labels))
    for column, values in columns.items():
        table[:, checks.SENTENCE_COLUMNS.index(column)] = values
    tokens = TokenText(name, "test", np.array([1, 2]), np.array([3]))
    known = None if truth is None else text_of(name, truth)
    texts = tuple(f"{name}{i}" for i in range(len(labels)))
    lines = tuple("" if label == N else f"line {i}" for i, label in enumerate(labels))
    return checks.CheckedGeneration(
        name, "test", setting, page, text_of(name, labels), known, tokens, table,
        np.array(about, dtype=float), texts, lines,
    )  # fmt: skip


UNITS = [
    generation("a", [S, S, R, N, S], [S, R, R, N, N], found=[1, 0, NAN, 1, NAN], nats=[1, 2, 3, 4, 5]),
    generation("b", []),
    generation("c", [N, R], [S, N], page="q", found=[NAN, 1], same_as=[0, 0], nats=[7, 9]),
]  # fmt: skip


def plain(unit):
    """A generation as lists, dtypes and nan told."""
    return repr([
        replace(unit, tokens=None, sentences=None, about=None),
        *((array.tolist(), array.dtype) for array in (
            unit.tokens.tokens, unit.tokens.reference, unit.sentences, unit.about
        )),
        (unit.tokens.unit_id, unit.tokens.split),
    ])  # fmt: skip


def test_generations_come_back_whole_from_predictions():
    known = [UNITS[0], UNITS[2]]
    for units in (known, UNITS, []):
        packed = checks.generations_to_predictions(units)
        truths = units == known or not units
        assert ("true_label" in packed.arrays) == truths
        found = checks.generations_from_predictions(packed)
        wanted = units if truths else [replace(unit, truth=None) for unit in units]
        assert list(map(plain, found)) == list(map(plain, wanted))
    kinds = {name: (array.shape, array.dtype.char) for name, array in packed.arrays.items()}
    assert kinds == {
        **{f"{known}label": ((0,), "b") for known in ("", "true_")},
        **{f"{known}evidence": ((0,), "U") for known in ("", "true_")},
        **{f"{known}label_names": ((3,), "U") for known in ("", "true_")},
        "token": ((0,), "l"), "reference": ((0,), "l"), "setting": ((0,), "U"), "page": ((0,), "U"),
        "sentence": ((0, 14), "d"), "claim": ((0,), "U"), "line": ((0,), "U"), "about": ((0, 3), "d"),
        **{f"{name}_lengths": ((0,), "l") for name in (
            "label", "evidence", "true_label", "true_evidence", "token", "reference", "sentence",
            "claim", "line",
        )},
    }  # fmt: skip


def test_a_row_counts_labels_by_truth_and_the_evidence_that_was_found():
    statistics = reliability.CheckerAccuracy().sufficient_statistics(UNITS)
    assert statistics.unit_ids == ("a", "b", "c")
    assert statistics.columns == (
        *(f"{true} as {given}" for true in (S, R, N) for given in (S, R, N)),
        "evidence_found", "evidence_known", "excluded",
    )  # fmt: skip
    assert statistics.values.tolist() == [
        [1, 0, 0, 1, 1, 0, 1, 0, 1, 2, 3, 0],
        [0] * 11 + [1],
        [0, 0, 1, 0, 0, 0, 0, 1, 0, 1, 1, 0],
    ]
    untold = [generation("d", [S]), replace(UNITS[0], checks=text_of("a", []))]
    statistics = reliability.CheckerAccuracy().sufficient_statistics(untold)
    assert statistics.values.tolist() == [[0] * 11 + [1]] * 2


def test_accuracy_is_recorded_by_page_with_what_was_found(monkeypatch):
    asked = []

    def estimate(critic, statistics, rng, resamples):
        asked.append((critic, statistics.unit_ids, rng.bit_generator.state, resamples))
        return Estimate(critic.score_of(statistics), 0.25, 0.5, 7, 8, "s")

    monkeypatch.setattr(reliability, "estimate", estimate)
    found = reliability.accuracy_records(UNITS)
    details = {
        "retrieved": 3 / 4, "majority": 3 / 7,
        "confusion": dict(zip(reliability.PAIRS, [1, 0, 1, 1, 1, 0, 1, 1, 1], strict=True)),
    }  # fmt: skip
    values = {
        ("accuracy", ""): 3 / 7,
        ("precision", S): 1 / 3, ("recall", S): 1 / 2, ("precision", R): 1 / 2,
        ("recall", R): 1 / 2, ("precision", N): 1 / 2, ("recall", N): 1 / 3,
    }  # fmt: skip
    assert found == [
        Record(
            "verifiability", f"checker_{kind}", task=label, value=value, low=0.25, high=0.5, units=7,
            excluded=8, better="higher", signature="s", details={} if label else details,
        )
        for (kind, label), value in values.items()
    ]  # fmt: skip
    measures = [f"{kind} of {label}" if label else kind for kind, label in values]
    assert asked == [
        (reliability.CheckerAccuracy(measure), ("p", "q"),
         generator("checker accuracy", measure).bit_generator.state, 500)
        for measure in measures
    ]  # fmt: skip


def test_the_sheet_has_every_sentence_of_the_drawn_prefixes():
    rows = [("a", "beam", "p"), ("c", "beam", "q"), ("f", "beam", "r"), ("b", "greedy", "p"),
            ("h", "greedy", "q"), ("k", "greedy", "r")]  # fmt: skip
    units = [
        generation(name, [S, N], setting=decoder, page=page, same_as=[0, int(name != "a")])
        for name, decoder, page in rows
    ]
    others = [generation("d", [S], about=(1, 2, 1)), generation("e", [S], setting="sampled")]
    record = reliability.sheet_record(units + others, 2, ("greedy", "beam", "top_k"))
    pages = ["pqr"[i] for i in generator("annotation sheet").permutation(3)[:2]]
    keys = [
        (decoder, page, name, i) for name, decoder, page in rows if page in pages for i in (0, 1)
    ]
    order = generator("annotation sheet", "order").permutation(8)
    evidence = ["line 0", ""] if keys[order[0]][3] == 0 else ["", "line 0"]
    names = ("decoder", "page", "generation", "sentence")
    items = [
        {"item": f"s0000{number}", "claim": f"{keys[i][2]}{keys[i][3]}", "key": dict(zip(names, keys[i], strict=True)),
         "evidence": evidence.index(["line 0", ""][keys[i][3]])}
        for number, i in enumerate(order)
    ]  # fmt: skip
    repeats = {"greedy": 0.0, "beam": 1 / 6, "top_k": NAN}
    assert repr(record.details["exact_repeats"]) == repr(repeats)
    details = {
        "items": items,
        "evidence": evidence,
        "exact_repeats": record.details["exact_repeats"],
        "prefixes": 2,
    }
    assert asdict(record) == asdict(Record(
        "verifiability", "exact_repeats", value=1 / 14, units=8, better="lower",
        signature="sentences equal to an earlier one of the text", details=details,
    ))  # fmt: skip


def test_a_decoder_has_a_record_of_each_measure_and_correlation(monkeypatch):
    asked = []

    def estimate(critic, statistics, rng, resamples):
        asked.append((statistics.unit_ids, rng.bit_generator.state, resamples))
        return Estimate(critic.score_of(statistics), 0.25, 0.5, 99, 8, "s")

    measures = {
        "SPG": verified_texts.MEASURES["SPG"], "true_SPV": verified_texts.MEASURES["true_SPV"],
        "nats_per_token": verified_texts.MEASURES["nats_per_token"],
    }  # fmt: skip
    monkeypatch.setattr(verified_texts, "estimate", estimate)
    monkeypatch.setattr(verified_texts, "MEASURES", measures)

    def correlations(chosen, resamples):
        asked.append(([unit.unit_id for unit in chosen], resamples))
        return {"a-b-supported": {"value": 0.5, "units": 3}, "nats-verified": {"low": 0.25}}

    monkeypatch.setattr(verified_texts, "correlations", correlations)
    units = [UNITS[0], replace(UNITS[2], page="p"), replace(UNITS[1], setting="top_k")]
    found = verified_texts.decoder_records(units, ["beam"])
    about = {"critic": "verifiability", "low": 0.25, "high": 0.5, "excluded": 8, "signature": "s",
             "details": {"pages": 1}}  # fmt: skip
    rows = [
        Record(metric="SPG", system="beam", value=3 / 10, units=2, better="higher", **about),
        Record(metric="SPV", system="beam", variant="gold", value=3 / 4, units=2, better="higher", **about),
        Record(metric="nats_per_token", system="beam", value=31 / 7, units=2, better="reference_matched", **about),
        Record(metric="SPG", system="top_k", value=0.0, units=1, better="higher", **about),
        Record(metric="nats_per_token", system="top_k", value=NAN, units=0, better="reference_matched", **about),
    ]  # fmt: skip
    rows[1] = replace(rows[1], value=(1 / 3 + 1) / 2)
    rows += [
        Record("verifiability", "correlation", task="a-b", variant="supported", value=0.5, units=3),
        Record("verifiability", "correlation", task="nats", variant="verified", low=0.25),
    ]
    assert repr(found) == repr(rows)
    names = [("beam", "SPG"), ("beam", "true_SPV"), ("beam", "nats_per_token"), ("top_k", "SPG"), ("top_k", "nats_per_token")]  # fmt: skip
    assert asked == [
        *((("p",), generator("decoder table", *name).bit_generator.state, 500) for name in names),
        (["a", "c"], 500),
    ]
    assert verified_texts.decoder_records(units, ["human"])[-1].metric == "nats_per_token"


def test_questions_of_checked_texts_hand_on_what_they_are_asked(monkeypatch):
    monkeypatch.setattr(verified_texts, "generations_from_predictions", lambda texts: f"<{texts}>")
    for name in ("decoder_records", "sheet_record", "accuracy_records", "corrected_records"):
        monkeypatch.setattr(verified_texts, name, lambda *given, name=name: (name, *given))
    assert verified_texts.decoders(texts="t") == ("decoder_records", "<t>", (), 500)
    asked = verified_texts.decoders(texts="t", correlations=["beam"], resamples=7)
    assert asked == ("decoder_records", "<t>", ["beam"], 7)
    assert verified_texts.sheet(texts="t", prefixes=3) == [("sheet_record", "<t>", 3)]
    assert verified_texts.checker(texts="t") == ("accuracy_records", "<t>")
    for given in ((), (9,)):
        named = {"resamples": given[0]} if given else {}
        asked = verified_texts.corrected(train="k", texts="t", variant="v", **named)
        assert asked == ("corrected_records", "<t>", "<k>", "v", *(given or (500,)))


def test_a_saved_checker_is_its_pages_its_model_and_its_settings(tmp_path):
    class Model:
        def save(self, folder):
            (folder / "model").write_text("m")
            return {"size": 2, "mode": "é"}

    pages, folder = tmp_path / "pages", tmp_path / "saved"
    pages.mkdir()
    folder.mkdir()
    for name in (*PageFile.FILES, *PageIndex.FILES):
        (pages / name).write_text(f"of {name}")
    source = type("Pages", (), {"folder": pages})()
    settings = {"sure": 0.5, "retrieval": {"limit": 3}}
    Checker(source, None, Model(), settings).save(folder)
    made = {path.name: path.read_text() for path in folder.iterdir()}
    assert made.pop("checker.json") == (
        '{\n "mode": "\\u00e9",\n "retrieval": {\n  "limit": 3\n },\n "size": 2,\n "sure": 0.5\n}\n'
    )
    assert made.pop("model") == "m"
    assert made == {name: f"of {name}" for name in (*PageFile.FILES, *PageIndex.FILES)}
