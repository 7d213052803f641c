"""Own order and repetition of a text, in quantiles among real texts."""
