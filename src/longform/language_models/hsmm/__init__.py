"""The hidden semi-Markov language model of deng2022 section 3: exact likelihood, EM, gradient fit, sampling."""

from longform.language_models.hsmm.train import fit

__all__ = ["fit"]
