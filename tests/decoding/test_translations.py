"""Writing translations: the distribution that is sampled, company that does not matter, limits and control tokens."""

import numpy as np
import pytest
import torch

from longform.core.documents import Document, Section
from longform.core.resampling import generator
from longform.decoding.translations import generate, pick
from longform.language_models.translation import BEGIN, NETWORKS, PAD, UNKNOWN, Shape, TrainedTranslator, fit_subwords
from tests.refusals import refuses

TEXTS = ["one two three", "two", "three one one two", "one"]


def pairs() -> list[Document]:
    return [Document(f"p{i}", "test", (Section("source", t), Section("target", t))) for i, t in enumerate(TEXTS)]


def translator(kind) -> TrainedTranslator:
    subwords = fit_subwords(TEXTS, 30)
    torch.manual_seed(3)
    shape = Shape(layers=1, heads=2, width=16, inner=16, dropout=0.1, positions=12)
    return TrainedTranslator(kind, NETWORKS[kind](shape, subwords.get_vocab_size()), subwords)


@pytest.mark.parametrize("kind", NETWORKS)
def test_every_pair_gets_one_translation_beside_its_source_whatever_its_company(kind):
    model = translator(kind)
    given = {"model": model, "name": "g", "seed": 1, "prefixes": pairs()}
    together, small, other = (generate(**given | over) for over in ({}, {"batch": 1}, {"seed": 2}))
    assert [d.id for d in together.documents] == ["g-p0", "g-p1", "g-p2", "g-p3"]
    assert {d.split for d in together.documents} == {"generated"} and together.facts["documents"] == 4
    assert [d.sections[0].text for d in together.documents] == TEXTS
    assert set(" ".join(d.sections[1].text for d in together.documents)) <= set("onetwhr ")
    alone = generate(**given | {"prefixes": pairs()[2:3]})
    assert [d.sections for d in together.documents] == [d.sections for d in small.documents]
    assert together.documents[2].sections == alone.documents[0].sections
    assert [d.sections for d in other.documents] != [d.sections for d in together.documents]


def test_sampling_follows_the_softmax_and_never_writes_control_tokens():
    logits = torch.tensor([[9.0, 9.0, 0.0, 9.0, np.log(3.0), 0.0]])
    uniforms = generator("pick").random(4000)
    drawn = pick(logits.expand(4000, -1), uniforms, 1.0)
    assert not set(drawn.tolist()) & {PAD, BEGIN, UNKNOWN}
    np.testing.assert_allclose(np.bincount(drawn, minlength=6)[[2, 4, 5]] / 4000, [0.2, 0.6, 0.2], atol=0.03)
    assert pick(logits, np.array([0.99]), 0.0).tolist() == [4]
    assert (pick(logits.expand(4000, -1), uniforms, 0.25) == 4).mean() > 0.95


def test_an_unending_translation_is_cut_and_counted_and_bad_input_refused_by_name():
    model = translator("autoregressive")
    with torch.no_grad():
        model.network.embedding.weight[2] = 0  # the end's logit is zero
        model.network.decoder.layers[0].norm3.bias.copy_(40 * model.network.embedding.weight[5])
    given = {"model": model, "name": "g", "seed": 1, "prefixes": pairs()}
    assert generate(**given, temperature=0.0).facts["cut"] == 4
    refuses("no pair of split 'validation'", generate, **given, split="validation")
    refuses("temperature is -1", generate, **given, temperature=-1)
    refuses("temperature is nan", generate, **given, temperature=float("nan"))
