"""Compares anybody's generated with real texts: ``from longform.criticize import criticize``."""

from longform.criticize.judging import criticize
from longform.criticize.report import Criticism
from longform.criticize.systems import SystemsCriticism, criticize_systems, plan_systems

__all__ = ["Criticism", "SystemsCriticism", "criticize", "criticize_systems", "plan_systems"]
