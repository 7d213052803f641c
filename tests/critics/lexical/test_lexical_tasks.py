"""The models at their tasks, on planted text whose roles and raters are known."""

import numpy as np
import pytest

from longform.critics.lexical.train import fit
from longform.datasets.synthetic_world import build
from longform.datasets.synthetic_world.lexicon import VOCABULARIES, vocabulary
from longform.datasets.synthetic_world.taxonomy import to_lmf
from longform.documents import BadInput
from longform.evaluation import grid_tasks, lexical_tasks
from longform.evaluation.agreement import leave_one_out
from longform.resampling import generator
from longform.text.entity_grids import read


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    corpus = build(name="reports", seed=7, domain="reports", documents={"train": 300, "test": 80})
    folder = tmp_path_factory.mktemp("net")
    fit(documents=[], world="everyday").save(folder)
    return read(documents=corpus.documents, truth=corpus.truth, reader=folder, roles="truth")


@pytest.fixture(scope="module")
def summaries():
    return build(name="summaries", seed=7, domain="summaries", documents={"test": 40})


def test_true_order_is_above_its_shuffles_for_nearly_every_planted_report(reports):
    units = grid_tasks.units_from_readout(reports)
    critic = grid_tasks.discrimination(model="transitions").fit([u for u in units if u.split == "train"])
    test = [u for u in units if u.split == "test"]
    assert critic.describe(test)["tasks"]["block_1"]["above_mean"] >= 0.95
    assert critic.score(critic.tally(test)) > 0.9


def test_transition_probabilities_near_the_planted_ones(reports):
    units = grid_tasks.units_from_readout(reports)
    fitted = grid_tasks.scorer("transitions", count_end=True).fit(units)
    kept = np.exp(fitted.log_probs[:4, :4])
    kept /= kept.sum(axis=1, keepdims=True)
    from longform.datasets.synthetic_world.reports import TRANSITIONS

    # columns that are absent throughout were drawn again, so the last row is a little fuller than planted
    np.testing.assert_allclose(kept[:3], TRANSITIONS[:3], atol=0.05)


@pytest.mark.parametrize("model", ["overlap", "latent_semantics", "hirst_st_onge", "resnik"])
def test_lexical_models_beat_chance_on_planted_shuffles(reports, model):
    units = lexical_tasks.units_from_readout(reports)
    critic = lexical_tasks.discrimination(real=reports, model=model).fit([u for u in units if u.split == "train"])
    assert critic.score(critic.tally([u for u in units if u.split == "test"])) > 0.6


def test_simulated_raters_agree_as_planted(summaries):
    found = leave_one_out(summaries.truth["raw_marks"].T, generator("raters"), resamples=200)
    assert found.low < summaries.facts["rater_agreement"] < found.high


def test_marks_reach_the_rating_task(summaries, tmp_path):
    fit(documents=[], world="everyday").save(tmp_path)
    readout = read(documents=summaries.documents, truth=summaries.truth, reader=tmp_path, roles="rules")
    units = lexical_tasks.units_from_readout(readout)
    critic = lexical_tasks.ratings(real=readout, model="overlap").fit(units)
    assert len(critic.describe(units)["clusters"]) == len(summaries.documents)
    assert -1 < critic.score(critic.tally(units)) < 1
    grid = grid_tasks.ratings(model="ranking", settings={"lengths": [2]}).fit(grid_tasks.units_from_readout(readout))
    assert -1 < grid.score(grid.tally(units)) < 1


def test_several_models_share_a_row_and_rated_texts_can_be_shuffled_too(summaries, tmp_path):
    fit(documents=[], world="everyday").save(tmp_path)
    documents = summaries.documents[:24]
    truth = {name: values[:24] for name, values in summaries.truth.items() if name in ("marks", "cluster")}
    readout = read(documents=documents, truth=truth, reader=tmp_path, roles="rules")
    models = {"overlap": {}, "lesk_plain": {"model": "lesk", "extended": False}, "lesk": None}
    units = lexical_tasks.units_from_readout(readout)
    for made in (
        lexical_tasks.discriminations(real=readout, models=models, tasks=[["block", 1], ["window", 1]]),
        lexical_tasks.all_ratings(real=readout, models=models),
    ):
        told = made.fit(units).describe(units)
        assert list(told["models"]) == list(models)
    assert "marks" in told["shared"] and "values" in told["models"]["lesk"]
    models = {"transitions": {"history": 1}, "ranking": {"lengths": [2]}}
    units = grid_tasks.units_from_readout(readout)
    rated = grid_tasks.all_ratings(models=models).fit(units).describe(units)
    tasks = grid_tasks.discriminations(models=models, tasks=[["block", 2]]).fit(units).describe(units)
    assert list(rated["models"]) == list(models) and "block_2" in tasks["models"]["ranking"]["tasks"]


def test_the_planted_word_net_is_the_planted_taxonomy():
    for world in VOCABULARIES:
        assert fit(documents=[], world=world).text == to_lmf(vocabulary(world))


def test_unknown_models_are_named(reports):
    with pytest.raises(BadInput, match="allowed are"):
        grid_tasks.scorer("markov")
    with pytest.raises(BadInput, match="allowed are"):
        lexical_tasks.scorer("bert", reports)
    with pytest.raises(BadInput, match="allowed are"):
        fit(documents=[], world="moon")
