"""Mauve."""
