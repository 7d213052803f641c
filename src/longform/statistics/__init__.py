"""Sufficient statistics, intervals, tests, resampling and random streams; one question a module."""
