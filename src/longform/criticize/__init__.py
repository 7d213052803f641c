"""Anybody's texts under every critic that applies: ``from longform.criticize import criticize``."""

from longform.criticize.judging import Criticism, criticize

__all__ = ["Criticism", "criticize"]
