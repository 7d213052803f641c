"""One sample per critic and metric for the conformance test: (critic, real units, units that are worse)."""

from samples import chains, grids, mixtures, titles, verifiability

SAMPLES = chains.SAMPLES | grids.SAMPLES | mixtures.SAMPLES | titles.SAMPLES | verifiability.SAMPLES
