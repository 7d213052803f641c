"""Metrics: nothing is fitted, or only the real sample is kept; NumPy only."""
