"""Region sums that CoherenceGym's repository plots (AnneBeyer/coherencegym, commit 225940e) from the real GPT-2 small.

Needs the network for the weights, and in ``WSC273`` the path of a copy of the schemas; run with ``pytest -m network``.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from longform.corpora.suites.schemas import read_schemas
from longform.corpora.suites.builders import winograd
from longform.inference.token_scores.log_probs import open_reader
from longform.inference.surprisal import suite_readout
from longform.inference.token_scores.rows import Encoder
from longform.metrics.suite_accuracy import SuiteAccuracy, units_from_readout

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
    encoder = Encoder(AutoTokenizer.from_pretrained("openai-community/gpt2"), "legacy_none", "strip")
    suite = winograd("w", read_schemas(Path(os.environ["WSC273"])), kind, 0, lower=kind == "partial", metric="sum")
    units = units_from_readout(suite_readout([suite], encoder, open_reader(network)))
    found = SuiteAccuracy().describe(units)["w"]["formula_bits"]
    for place, bits in PLOTTED[kind].items():
        assert found[place]["all"][0] == pytest.approx(bits, rel=0.01)
