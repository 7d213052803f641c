"""What a network can read, found from the network itself: how many tokens, which, how far back.

Configurations name these things in their own ways (``max_position_embeddings``, ``n_positions``,
``max_seq_len``, or not at all), and those of networks for text and pictures keep them in a part of
their own.
"""

from typing import Any

from torch import nn

POSITION_NAMES = (
    "max_position_embeddings",
    "n_positions",
    "n_ctx",
    "max_seq_len",
    "max_sequence_length",
)
# Ours: tokens of a window where the architecture sets no limit (alibi, recurrent networks).
UNLIMITED = 2048
ROTATIONS_BY_LENGTH = ("dynamic", "longrope")


def text_config(network: Any) -> Any:
    """The configuration of the part that reads text."""
    config = network.config
    if hasattr(config, "get_text_config"):
        return config.get_text_config(decoder=True)
    return config


def positions(network: Any) -> int | None:
    """The most tokens that the network can read at once.

    RoBERTa and its kin number positions from behind their padding token, so that as many rows of
    their table stay unused.

    Returns:
        Tokens; None where the architecture sets no limit.
    """
    limits = []
    configured = _configured_positions(text_config(network))
    if configured is not None:
        limits.append(configured)
    for name, module in network.named_modules():
        is_table = isinstance(module, nn.Embedding) and name.endswith("position_embeddings")
        if is_table and module.padding_idx is not None:
            limits.append(module.num_embeddings - module.padding_idx - 1)
    return min(limits, default=None)


def _configured_positions(config: Any) -> int | None:
    """Positions that a configuration names, in tokens; None where it names none."""
    for name in POSITION_NAMES:
        value = getattr(config, name, None)
        if isinstance(value, int) and value > 0:
            return value
    return None


def window_size(network: Any, at_most: int | None = None) -> int:
    """Tokens that are read at once: all positions of the network, or ``at_most``."""
    limit = positions(network) or UNLIMITED
    return limit if at_most is None else min(limit, at_most)


def vocabulary_size(network: Any) -> int:
    """Tokens that the network knows: rows of its input embeddings, else what is configured."""
    try:
        return int(network.get_input_embeddings().weight.shape[0])
    except NotImplementedError:  # n-grams have none
        return int(text_config(network).vocab_size)


def sliding_window(network: Any) -> int | None:
    """The smallest attention window of the network's layers, in tokens, the token's own included.

    Returns:
        None where every layer attends to all tokens before.
    """
    config = text_config(network)
    window = getattr(config, "sliding_window", None)
    if not window:
        return None
    layer_types = getattr(config, "layer_types", None)
    if layer_types is not None and "sliding_attention" not in layer_types:
        return None
    return int(window)


def turns_by_length(network: Any) -> bool:
    """Whether angles of rotary positions depend on the batch's longest row (dynamic NTK, LongRoPE).

    Then what the network says of a row changes with the rows beside it.
    """
    # One set of rotary parameters, or one for each type of layer.
    rotations = getattr(text_config(network), "rope_parameters", None) or {}
    parts = [rotations]
    for value in rotations.values():
        if isinstance(value, dict):
            parts.append(value)
    return any(part.get("rope_type") in ROTATIONS_BY_LENGTH for part in parts)
