"""Coreference chains of persons: resolvers, gold chains, and the chain tokens of deng2022 section 5."""
