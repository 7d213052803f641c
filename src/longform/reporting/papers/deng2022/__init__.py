"""Tables and figures of "Model Criticism for Long-Form Text Generation" (Deng, Kuleshov, Rush 2022), numbered as printed."""

from longform.reporting.papers.deng2022.derived import derived

__all__ = ["derived"]
