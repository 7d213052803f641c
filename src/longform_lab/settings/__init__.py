"""What ``params.yaml`` may say: the registries of every room, and where an entry's texts and files lie."""
