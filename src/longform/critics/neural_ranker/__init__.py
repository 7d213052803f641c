"""Neural ranker."""
