"""Bbscore."""
