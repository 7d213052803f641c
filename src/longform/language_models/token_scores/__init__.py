"""Log-probabilities of tokens: rows, shared prefixes, alignment of tokens to characters."""
