"""A hidden semi-Markov model with an exact likelihood: fit, log_prob, posterior and sample."""

from longform.hsmm.estimator import HSMM, Posterior, Sample

__all__ = ["HSMM", "Posterior", "Sample"]
