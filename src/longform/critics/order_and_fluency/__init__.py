"""Own order, fluency and new words of a text, in places among real texts."""
