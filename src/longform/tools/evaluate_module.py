"""Critics of long text as a module of Hugging Face's `evaluate`; `longform` has to be installed.

critics = evaluate.load("FOLDER", "entity_grid")
critics.compute(predictions=texts, real=real_texts, held_out=other_real_texts)
"""

import datasets
import evaluate

import longform

DESCRIPTION = (
    "A critic of longform: does long generated text hang together? The configuration is the "
    "critic's name, as `longform critics` lists them."
)
INPUTS = """
Args:
    predictions: generated texts.
    real: real texts, which teach a critic that learns.
    held_out: real texts that the critic has not seen; the predictions are tested against them.
    settings: of the critic, a mapping.
Returns:
    score, low, high (a 95 % interval over texts), units, excluded, better, signature; with held_out
    also real_score, difference, difference_low, difference_high and p_value (a permutation test).
"""
DEFAULT = "entity_grid"


@evaluate.utils.file_utils.add_start_docstrings(DESCRIPTION, INPUTS)
class LongformCritic(evaluate.Metric):
    """One critic; what it computes is what :meth:`longform.critics.base.TextCritic.score` gives."""

    def _info(self):
        features = datasets.Features({"predictions": datasets.Value("string")})
        return evaluate.MetricInfo(
            description=DESCRIPTION, citation="", inputs_description=INPUTS, features=features
        )

    def _compute(self, predictions, real=None, held_out=None, settings=None):
        """See ``INPUTS``."""
        name = DEFAULT if self.config_name == "default" else self.config_name
        critic = longform.load(name, **(settings or {}))
        if real is not None:
            critic = critic.fit(list(real))
        score = critic.score(predictions)
        result = {
            "score": score.value,
            "low": score.low,
            "high": score.high,
            "units": score.units,
            "excluded": score.excluded,
            "better": score.better,
            "signature": score.signature,
        }
        if held_out is not None:
            compared = critic.compare(predictions, list(held_out))
            result["real_score"] = compared.second.value
            result["difference"] = compared.difference
            result["difference_low"] = compared.low
            result["difference_high"] = compared.high
            result["p_value"] = compared.p_value
        return result
