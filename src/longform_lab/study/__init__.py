"""The human study: items, a store that forgets nothing it has acknowledged, and a local web page (deng2022 appendix H)."""
