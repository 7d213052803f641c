"""One sample per critic and metric for the conformance test: (critic, real units, units that are worse)."""

from samples import bridges, chains, decoding, derived, grids, mixtures, titles, verifiability

SAMPLES = chains.SAMPLES | bridges.SAMPLES | grids.SAMPLES | mixtures.SAMPLES | verifiability.SAMPLES
SAMPLES |= titles.SAMPLES
SAMPLES |= decoding.SAMPLES | derived.SAMPLES
