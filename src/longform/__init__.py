"""longform: does long generated text hang together? Five papers' critics over one set of generations."""

__version__ = "0.1.0"
