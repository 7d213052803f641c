"""Coreference."""
