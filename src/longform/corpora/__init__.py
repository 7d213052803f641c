"""Raw files become documents with sections, splits and, where known, truth."""
