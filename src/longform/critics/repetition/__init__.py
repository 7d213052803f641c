"""Repetition."""
