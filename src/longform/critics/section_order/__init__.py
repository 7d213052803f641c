"""Section order."""
