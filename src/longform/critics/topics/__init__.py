"""The correlated topic model of deng2022 section 6: variational EM as Blei and Lafferty run it."""
