"""Anybody's texts under every critic that applies: ``from longform.criticize import criticize``."""

from longform.criticize.judging import criticize
from longform.criticize.report import Criticism

__all__ = ["Criticism", "criticize"]
