"""The models at their tasks, on planted text whose roles and raters are known."""

import numpy as np
import pytest

from longform.core.documents import BadInput
from longform.core.text.entity_grids import grids_from_readout, read
from longform.core.text.permutations import ShuffleTask
from longform.critics.entity_grid.score import RoleTransitions
from longform.critics.lexical.score import LatentSemantics, Overlap
from longform.critics.lexical.train import fit
from longform.critics.lexical.wordnet import wordnet
from longform.datasets.synthetic_world.corpora import build
from longform.datasets.synthetic_world.lexicon import VOCABULARIES, to_lmf, vocabulary
from longform.evaluation.order_discrimination import order_discrimination


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    corpus = build(name="reports", seed=7, domain="reports", documents={"train": 300, "test": 80})
    folder = tmp_path_factory.mktemp("net")
    fit(documents=[], world="everyday").save(folder)
    return read(documents=corpus.documents, truth=corpus.truth, reader=folder, roles="truth")


def by_split(readout, split):
    return [unit for unit in grids_from_readout(readout) if unit.split == split]


def test_true_order_is_above_its_shuffles_for_nearly_every_planted_report(reports):
    train, test = by_split(reports, "train"), by_split(reports, "test")
    (found,) = order_discrimination({"grid": RoleTransitions()}, test, [ShuffleTask()], train=train)
    assert found.details["above_mean"] >= 0.95 and found.value > 0.9


def test_transition_probabilities_near_the_planted_ones(reports):
    fitted = RoleTransitions().fit(grids_from_readout(reports))
    kept = np.exp(fitted.log_probs[:4, :4])
    kept /= kept.sum(axis=1, keepdims=True)
    from longform.datasets.synthetic_world.reports import TRANSITIONS

    # columns that are absent throughout were drawn again, so the last row is a little fuller than planted
    np.testing.assert_allclose(kept[:3], TRANSITIONS[:3], atol=0.05)


def test_lexical_models_beat_chance_on_planted_shuffles(reports):
    scorers = {"overlap": Overlap(), "latent_semantics": LatentSemantics()}
    scorers |= {measure: wordnet(real=reports, measure=measure) for measure in ("hirst_st_onge", "resnik")}
    found = order_discrimination(scorers, by_split(reports, "test"), [ShuffleTask()], train=by_split(reports, "train"))
    assert all(record.value > 0.6 for record in found if record.metric == "pairwise_accuracy")


def test_the_planted_word_net_is_the_planted_taxonomy():
    for world in VOCABULARIES:
        assert fit(documents=[], world=world).text == to_lmf(vocabulary(world))


def test_an_unknown_world_is_named():
    with pytest.raises(BadInput, match="allowed are"):
        fit(documents=[], world="moon")
