"""Surprisal."""
