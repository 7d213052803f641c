"""Reading and writing files: artefacts, one opener for texts, scratch folders of resumable work."""
