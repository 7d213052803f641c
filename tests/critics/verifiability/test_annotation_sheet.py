"""The sheet that people fill in, and Table 2 from made-up answers, by hand."""

import math

import numpy as np
import pytest
from test_decoder_tables import generation

from longform.core.documents import BadInput
from longform.critics.verifiability.reliability import agreement, cohen, judged, sheet_record
from longform.critics.verifiability.score import LABELS

S, R, N = LABELS


def unit(name, decoder, texts, page="p", repeat=0):
    made = generation(name, [N] * len(texts), setting=decoder, page=page, same_as=[texts.index(t) for t in texts])
    about = np.array([1.0, 1.0, float(repeat)])
    return type(made)(
        **{**made.__dict__, "about": about, "texts": tuple(texts), "lines": tuple(f"P: {t}" for t in texts)}
    )


UNITS = [
    unit("a", "beam", ["one", "two", "one"]),
    unit("b", "top_k", ["one", "three", "four"]),
    unit("b2", "top_k", ["five"], repeat=1),
    unit("c", "human", ["six"]),
]


def test_the_sheet_hides_who_wrote_a_sentence_and_holds_each_once():
    record = sheet_record(UNITS)
    made = record.details
    assert len(made["items"]) == 6 and made["prefixes"] == 1  # the first generation of two decoders of the table
    assert sorted(i["key"]["decoder"] for i in made["items"]) == ["beam"] * 3 + ["top_k"] * 3
    third = next(i for i in made["items"] if i["key"]["generation"] == "b" and i["key"]["sentence"] == 2)
    assert (third["claim"], third["before"], third["evidence"]) == ("four", "one three", "P: four")
    assert made["exact_repeats"]["beam"] == pytest.approx(1 / 3) and made["exact_repeats"]["top_k"] == 0
    assert len({i["item"] for i in made["items"]}) == 6
    assert sheet_record(UNITS, 0, ("beam",)).details["items"] == []
    assert (record.value, record.units) == (pytest.approx(1 / 8), 4)


def items(*sentences):
    return [
        {"item": f"s{i}", "key": {"decoder": d, "page": "p", "generation": g, "sentence": 0}}
        for i, (d, g) in enumerate(sentences)
    ]


def answer(item, annotator, label, **flags):
    return {"item": item, "annotator": annotator, "label": label, **flags}


def test_the_table_is_the_majority_by_hand():
    sheet = items(("beam", "g"), ("beam", "g"), ("beam", "h"), ("top_k", "k"))
    answers = [answer("s0", p, label) for p, label in (("x", S), ("y", S), ("z", R))]  # supported
    answers += [answer("s1", p, S, repetition=1) for p in "xyz"]  # supported, a repeat
    answers += [
        answer("s2", "x", R),
        answer("s2", "y", R, ungrammatical="yes"),
        answer("s2", "z", R, ungrammatical="0"),
    ]
    answers += [answer("s3", "x", S), answer("s3", "y", N)]  # a tie is not enough information
    made = judged(sheet, answers)
    beam = made["decoders"]["beam"]
    assert beam["REP"] == pytest.approx(100 / 3) and beam["UNG"] == 0 == beam["NAC"]
    assert (beam["SPG"], beam["USPG"]) == pytest.approx((100 * (2 / 5 + 0) / 2, 100 * (1 / 5 + 0) / 2))
    assert (beam["SPV"], beam["USPV"]) == pytest.approx((50, 50))
    assert made["decoders"]["top_k"]["SPG"] == 0 and math.isnan(made["decoders"]["top_k"]["SPV"])
    assert made["unanswered"] == 0 and made["sentences"] == 4
    assert made["agreement"]["majority_share"][S] == pytest.approx(100 * (2 / 3 + 1) / 2)


def test_kappa_is_scikit_learns():
    from sklearn.metrics import cohen_kappa_score

    first = {"1": S, "2": S, "3": R, "4": N, "5": N}
    second = {"1": S, "2": R, "3": R, "4": N, "6": S}
    common = sorted(first.keys() & second.keys())
    wanted = cohen_kappa_score([first[i] for i in common], [second[i] for i in common])
    assert cohen(first, second) == pytest.approx(wanted)
    assert math.isnan(cohen({"1": S}, {"1": S}))
    votes = {i: [answer(i, "x", first[i]), answer(i, "y", second[i])] for i in common}
    assert agreement(votes)["cohen_kappa"] == pytest.approx(wanted) and agreement(votes)["annotators"] == 2


@pytest.mark.parametrize("wrong", [answer("s9", "x", S), answer("s0", "x", "true"), {}])
def test_answers_to_nothing_are_named(wrong):
    with pytest.raises(BadInput, match="answer 1"):
        judged(items(("beam", "g")), [wrong])
    with pytest.raises(BadInput, match="no line"):
        judged(items(("beam", "g")), [])
