"""Sufficient statistics, intervals, tests and chains."""
