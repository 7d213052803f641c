"""A checkpoint and prefixes become generated documents."""
