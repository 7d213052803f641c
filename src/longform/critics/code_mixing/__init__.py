"""Code mixing."""
