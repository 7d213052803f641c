"""Suites of minimal pairs (beyer2021): items, formulas, builders, native files, exports."""
