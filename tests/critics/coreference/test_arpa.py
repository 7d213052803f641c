"""ARPA export: an independent reader of the format gives the critic's own probabilities; KenLM and nltk where installed."""

from __future__ import annotations

import math

import numpy as np
import pytest

from longform.core.documents import BadInput, Chain
from longform.core.resampling import generator
from longform.critics.coreference.score import KneserNeyCritic, MentionCritic, arpa_lines


def stream(name: str, count: int, entities: bool = False) -> list[Chain]:
    rng = generator("test", "arpa", name)
    words = np.array(["he:1", "M:2", "F:3", ".", "her:3"]) if entities else np.array(list("abcdefgh"))
    weights = rng.dirichlet(np.ones(len(words)))
    rows = (words[rng.choice(len(words), rng.integers(1, 15), p=weights)] for _ in range(count))
    return [Chain(f"{name}{i}", "test", tuple(row.tolist())) for i, row in enumerate(rows)]


def read_arpa(lines: list[str]) -> dict[tuple[str, ...], tuple[float, float]]:
    entries = {}
    for line in lines:
        parts = line.split("\t")
        if len(parts) > 1:
            entries[tuple(parts[1].split())] = float(parts[0]), float(parts[2]) if len(parts) > 2 else 0.0
    return entries


def back_off(entries: dict[tuple[str, ...], tuple[float, float]], gram: tuple[str, ...]) -> float:
    if gram in entries:
        return entries[gram][0]
    if len(gram) == 1:
        return entries[("<unk>",)][0]
    return entries.get(gram[:-1], (0.0, 0.0))[1] + back_off(entries, gram[1:])


@pytest.mark.parametrize(
    "critic", [MentionCritic(order=4), KneserNeyCritic(order=4), KneserNeyCritic(order=3, end=True)]
)
def test_a_plain_back_off_reader_recovers_every_probability(critic):
    fitted = critic.fit(stream("fit", 40))
    entries = read_arpa(list(arpa_lines(fitted)))
    for unit in stream("score", 10):
        padding = fitted.packing.padding
        row = ("<s>",) * padding + unit.symbols + (("</s>",) if fitted.end else ())
        grams = [row[max(0, i - fitted.order + 1) : i + 1] for i in range(padding, len(row))]
        expected = [back_off(entries, gram) * math.log(10) for gram in grams]
        np.testing.assert_allclose(fitted.attribute([unit])[0], expected, atol=1e-8)


@pytest.mark.parametrize("critic", [MentionCritic(), KneserNeyCritic(end=True)])
def test_header_counts_match_and_every_context_is_listed(critic):
    lines = list(arpa_lines(critic.fit(stream("counts", 30, entities=True))))
    entries = read_arpa(lines)
    announced = {int(x[6:].split("=")[0]): int(x.split("=")[1]) for x in lines if x.startswith("ngram ")}
    assert announced == {n: sum(len(gram) == n for gram in entries) for n in range(1, 6)}
    assert all(gram[:-1] in entries for gram in entries if len(gram) > 1)
    assert lines[0] == "\\data\\" and lines[-1] == "\\end\\"


def test_export_refuses_an_unfitted_critic_and_a_form_with_a_space():
    with pytest.raises(BadInput, match="no counts"):
        list(arpa_lines(MentionCritic()))
    with pytest.raises(BadInput, match="white space"):
        list(arpa_lines(MentionCritic().fit([Chain("u", "test", ("the man:1",))])))


@pytest.mark.parametrize("critic", [MentionCritic(), KneserNeyCritic(end=True), KneserNeyCritic()])
def test_kenlm_reads_the_export_and_gives_the_same_perplexity(critic, tmp_path):
    kenlm = pytest.importorskip("kenlm")
    fitted = critic.fit(stream("kenlm", 300))
    path = tmp_path / "model.arpa"
    path.write_text("\n".join(arpa_lines(fitted)) + "\n", encoding="utf-8")
    model, test = kenlm.Model(str(path)), stream("kenlm test", 50)
    pad = ["<s>"] * (fitted.packing.padding - 1)
    log10 = 0.0
    for unit in test:
        row = " ".join([*pad, *unit.symbols])
        log10 += sum(s[0] for s in list(model.full_scores(row, bos=True, eos=fitted.end))[len(pad) :])
    tally = fitted.tally(test)
    assert 10 ** (-log10 / tally.total("transitions")) == pytest.approx(fitted.score(tally), rel=1e-6)


def test_nltk_absolute_discounting_gives_the_same_perplexity_under_one_discount():
    lm = pytest.importorskip("nltk.lm")
    real, order, discount = stream("nltk", 120), 4, 0.6
    model = lm.AbsoluteDiscountingInterpolated(order, discount=discount)
    rows = [("<bos>",) * (order - 1) + unit.symbols for unit in real]
    grams = [[row[i - n : i] for row in rows for i in range(order, len(row) + 1)] for n in range(1, order + 1)]
    model.fit([[gram for level in grams for gram in level]], vocabulary_text=sorted({s for row in rows for s in row}))
    fitted = MentionCritic(order=order, discounts=(discount,) * (order - 1)).fit(real)
    test = stream("nltk", 40)
    logprob = 0.0
    for unit in test:
        row = ("<bos>",) * (order - 1) + unit.symbols
        logprob += sum(math.log(model.score(row[i], row[i - order + 1 : i])) for i in range(order - 1, len(row)))
    tally = fitted.tally(test)
    assert tally.total("logprob") == pytest.approx(logprob, rel=1e-12)
