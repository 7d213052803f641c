"""Critics: fitted on real units, NumPy only."""
