"""The hidden semi-Markov language model of deng2022 section 3: exact likelihood, EM, gradient fit, sampling."""
