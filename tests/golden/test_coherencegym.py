"""Region sums that CoherenceGym's repository plots (AnneBeyer/coherencegym, commit 225940e): their definitions, and their values.

The values are of the real GPT-2 small: those tests need the network for the weights, and in ``WSC273`` the path of a copy
of the schemas; run them with ``pytest -m network``.
"""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from longform.critics.surprisal.read import Encoder, suite_predictions
from longform.critics.surprisal.score import ReadItem, SuiteAccuracy, units_from_predictions
from longform.datasets.test_suites.native import winograd
from longform.datasets.test_suites.prediction_formulas import parse
from longform.datasets.test_suites.sources import read_schemas
from longform.language_models.log_probs import open_reader
from longform.statistics.random_streams import generator

PLOTTED = {  # sums of bits, mean over 273 items, GPT2-small; the full suite keeps the source's capital articles
    "full": {"(*;%target%)": 113.331, "(*;%distractor%)": 113.849},
    "partial": {"(3;%target%)": 23.126, "(3;%distractor%)": 23.574},
}


@pytest.mark.network
@pytest.mark.parametrize("kind", PLOTTED)
def test_gpt2_small_gives_the_plotted_sums_of_bits(kind):
    if "WSC273" not in os.environ:
        pytest.skip("set WSC273 to a copy of the schemas")
    from transformers import AutoModelForCausalLM, AutoTokenizer

    network = AutoModelForCausalLM.from_pretrained("openai-community/gpt2", use_safetensors=True)
    encoder = Encoder(
        AutoTokenizer.from_pretrained("openai-community/gpt2"), "legacy_none", "strip"
    )
    suite = winograd(
        "w", read_schemas(Path(os.environ["WSC273"])), kind, 0, lower=kind == "partial"
    )
    suite = replace(suite, metric="sum")
    units = units_from_predictions(suite_predictions([suite], encoder, open_reader(network)))
    found = SuiteAccuracy().describe(units)["w"]["formula_bits"]
    for place, bits in PLOTTED[kind].items():
        assert found[place]["all"][0] == pytest.approx(bits, rel=0.01)


def test_a_description_of_ours_is_made_by_the_same_definitions():
    rng, formula = generator("golden", "plots"), parse("(2;%manipulation%) > (2;%orig%)")
    items = []
    for number in range(25):
        regions = {
            (name, 2): rng.gamma(2.0, 3.0, int(rng.integers(5, 60)))
            for name in ("orig", "manipulation")
        }
        items.append(ReadItem(f"s/{number}", "test", "s", "mean", (formula,), regions))
    found = SuiteAccuracy().describe(items)["s"]
    share = found["counts"]["correct"] / found["counts"]["items"]
    assert 0 < share < 1
    for name in ("orig", "manipulation"):
        groups = found["formula_bits"][f"(2;%{name}%)"]
        # mean and population deviation of all items follow from those of the two groups
        true, false = np.array(groups["true"]), np.array(groups["false"])
        mean = share * true[0] + (1 - share) * false[0]
        square = share * (true**2).sum() + (1 - share) * (false**2).sum()
        assert (mean, np.sqrt(square - mean**2)) == pytest.approx(groups["all"], rel=1e-12)
        sums = [
            item.regions[name, 2].sum() for item in items
        ]  # of bits, although the suite decides by means
        assert groups["all"] == pytest.approx([np.mean(sums), np.std(sums)])
