"""Each kind of saved model, opened in a process that has imported nothing else of ours, says what it said.

One process opens all of them, the n-grams first: what another opener imports must not help them.
"""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from tiny import bpe_folder, classifier_folder, documents, lm_folder

from longform.critics.bbscore.read import TrainedBridge, bridge_head
from longform.critics.code_mixing.read import LanguageModel
from longform.critics.neural_ranker.train import RankerNetwork, TrainedRanker
from longform.critics.topics.model import TopicModel
from longform.critics.verifiability import train
from longform.critics.verifiability.read import open_checker
from longform.language_models import ngram
from longform.language_models.sentence_features import KeptFeatures, open_encoder
from longform.language_models.translation import NETWORKS, Shape, TrainedTranslator, fit_subwords
from synthetic_world.fever_corpus import build
from tests.language_models.hsmm.semi_markov_cases import random_case

ROOT = Path(__file__).parents[2]


def said(kind, model):
    """Numbers that a model gives: this function runs here and, by its source, in the other process."""
    import numpy as np
    import torch

    with torch.no_grad():
        if kind in ("ngram", "transformer", "sections"):
            settings = {"use_cache": False} if kind == "ngram" else {}
            return model(torch.tensor([[3, 4, 5, 6]]), **settings).logits.flatten().tolist()
        if kind == "hsmm":
            return [
                rows.tolist()
                for _, rows in model.draw(4, [np.random.default_rng(i) for i in range(5)])
            ]
        if kind == "translator":
            source = torch.tensor([[4, 5, 2]])
            network = model.network.eval()
            memory = network.encode(source)
            return network.next_scores(memory, source, torch.tensor([[1, 6]])).flatten().tolist()
        if kind == "topics":
            return [
                *model.beta.ravel().tolist(),
                *model.mean,
                *model.precision.ravel(),
                *model.vocabulary,
            ]
        if kind == "languages":
            return [*model.top_words(2), model.alpha.tolist(), model.phi.tolist()]
        if kind == "checker":
            found = model.check(
                ["Ulm was founded in 1456.", "Ulm lies in a wood.", "Nobody lives there."]
            )
            return [
                [verdict.label, *(f"{page} {line}" for page, line in verdict.lines)]
                for verdict in found
            ]
        features = torch.from_numpy(np.linspace(-1, 1, 48, dtype=np.float32).reshape(3, 16))
        encoded = model.frozen.encoder.encode(["The town lies on a river."]).ravel().tolist()
        if kind == "bridge":
            return [*(head(features).flatten().tolist() for head in model.heads.values()), encoded]
        return [model.network.eval()(features[None]).tolist(), encoded]


OPENED = """
import json, sys
from pathlib import Path
from transformers import AutoModelForCausalLM, AutoModelForSequenceClassification
from longform.language_models.checkpoints import load_reader

root, shown = Path(sys.argv[1]), {}
shown["ngram"] = said("ngram", load_reader(root / "ngram", AutoModelForCausalLM))
shown["transformer"] = said("transformer", load_reader(root / "transformer", AutoModelForCausalLM))
shown["sections"] = said("sections", load_reader(root / "sections", AutoModelForSequenceClassification))

from longform.critics.bbscore.read import open_bridge
from longform.critics.code_mixing.read import LanguageModel
from longform.critics.neural_ranker.train import open_ranker
from longform.critics.topics.model import TopicModel
from longform.critics.verifiability.read import open_checker
from longform.hsmm.model import SemiMarkovLM
from longform.language_models.translation import TrainedTranslator

openers = {"hsmm": SemiMarkovLM.load, "translator": TrainedTranslator.load, "topics": TopicModel.load,
           "languages": LanguageModel.load, "bridge": open_bridge, "ranker": open_ranker, "checker": open_checker}
for kind, opener in openers.items():
    shown[kind] = said(kind, opener(root / kind))
print(json.dumps(shown))
"""


def models(root):
    """One small model of each kind, saved below a folder."""
    torch.manual_seed(0)
    made = {}
    folder = bpe_folder(root / "ngram")
    fitted = ngram.fit(documents=documents(), base=folder, titles=False, context=64, order=3)
    fitted.save(folder)
    made["ngram"] = fitted.network.eval()
    made["hsmm"], _ = random_case(3)
    subwords = fit_subwords(["one two three", "two four"], 30)
    shape = Shape(layers=1, heads=2, width=16, inner=16, dropout=0.1, positions=12)
    network = NETWORKS["autoregressive"](shape, subwords.get_vocab_size())
    made["translator"] = TrainedTranslator("autoregressive", network.eval(), subwords)
    draw = np.random.default_rng(1)
    covariance = np.diag([2.0, 0.5])
    beta = draw.dirichlet(np.ones(4), 3)
    gaussian = {
        "mean": np.array([0.3, -1.0]),
        "covariance": covariance,
        "precision": np.linalg.inv(covariance),
    }
    made["topics"] = TopicModel(("a", "b", "c", "d"), beta, **gaussian)
    made["languages"] = LanguageModel(
        ("x", "y", "z"), draw.dirichlet(np.ones(3), 2), np.array([0.2, 0.8])
    )
    encoder = lm_folder(root / "transformer")
    frozen = KeptFeatures(encoder, open_encoder(encoder))
    heads = {name: bridge_head(16, 12, 4).eval() for name in ("head_1", "head_2")}
    made["bridge"] = TrainedBridge(heads, frozen, "rules")
    made["ranker"] = TrainedRanker(RankerNetwork(16, 6, 5), frozen, "rules")
    for kind in ("hsmm", "translator", "topics", "languages", "bridge", "ranker"):
        (root / kind).mkdir(exist_ok=True)
        made[kind].save(root / kind)
    pages = {"train": 20}
    settings = {"base": root, "name": "checker", "seed": 1, "scratch": root / "scratch", "size": 8}
    schedule = {"learning_rate": 6e-3, "batch": 32, "epochs": 1, "validations": 1}
    claims = build(name="claims", seed=1, pages=pages).documents
    checker = train.fit(documents=claims, schedule=schedule, **settings)
    (root / "checker").mkdir()
    checker.save(root / "checker")
    made["checker"] = open_checker(root / "checker")
    return made


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    """(what the models say here, what they say in a fresh process), by kind."""
    import inspect

    from transformers import AutoModelForCausalLM, AutoModelForSequenceClassification

    from longform.language_models.checkpoints import load_reader

    root = tmp_path_factory.mktemp("models")
    here = {kind: said(kind, model) for kind, model in models(root).items()}
    here["transformer"] = said(
        "transformer", load_reader(root / "transformer", AutoModelForCausalLM)
    )
    sections = load_reader(classifier_folder(root / "sections"), AutoModelForSequenceClassification)
    here["sections"] = said("sections", sections)
    program = inspect.getsource(said) + OPENED
    command = [sys.executable, "-c", program, str(root)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return here, json.loads(run.stdout.splitlines()[-1])


KINDS = (
    "ngram",
    "transformer",
    "sections",
    "hsmm",
    "translator",
    "topics",
    "languages",
    "bridge",
    "ranker",
    "checker",
)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.long  # a new process that imports torch and transformers; each kind is saved and opened in its own tests
def test_a_saved_model_says_the_same_in_a_fresh_process(opened, kind):
    here, fresh = opened
    plain = json.loads(json.dumps(here[kind], default=float))
    assert _flat(fresh[kind]) == pytest.approx(_flat(plain), abs=1e-5) and len(_flat(plain)) > 2


def _flat(values):
    """Numbers of nested lists in one list; words stay as they are, compared by equality."""
    if not isinstance(values, list):
        return [values if isinstance(values, int | float) else sum(map(ord, values))]
    return [one for value in values for one in _flat(value)]
