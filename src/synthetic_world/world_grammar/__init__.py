"""Which sentences the synthetic world could have written."""
