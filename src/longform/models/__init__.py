"""Documents become checkpoints."""
