"""Verifiability."""
