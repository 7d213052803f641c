"""What a network can read: how many tokens, which ones, and how far back, asked of the network itself.

Configurations name these things in their own ways (``max_position_embeddings``, ``n_positions``, ``max_seq_len``, or not at
all), and those of networks for text and pictures keep them in a part of their own.
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
UNLIMITED = 2048  # ours: tokens of a window where the architecture sets no limit (alibi, recurrent networks)


def text_config(network: Any) -> Any:
    """The configuration of the part that reads text."""
    config = network.config
    return config.get_text_config(decoder=True) if hasattr(config, "get_text_config") else config


def positions(network: Any) -> int | None:
    """The most tokens that the network can read at once; None where its architecture sets no limit.

    RoBERTa and its kin number positions from behind their padding token, so that as many rows of their table stay unused.
    """
    config = text_config(network)
    named = (getattr(config, name, None) for name in POSITION_NAMES)
    limit = next((value for value in named if isinstance(value, int) and value > 0), None)
    for name, module in network.named_modules():
        is_table = isinstance(module, nn.Embedding) and name.endswith("position_embeddings")
        if is_table and module.padding_idx is not None:
            usable = module.num_embeddings - module.padding_idx - 1
            limit = usable if limit is None else min(limit, usable)
    return limit


def window_size(network: Any, at_most: int | None = None) -> int:
    """Tokens that are read at once: all positions of the network, or ``at_most``."""
    limit = positions(network) or UNLIMITED
    return limit if at_most is None else min(limit, at_most)


def vocabulary_size(network: Any) -> int:
    """How many tokens the network knows: the rows of its input embeddings, or what its configuration says."""
    try:
        return int(network.get_input_embeddings().weight.shape[0])
    except NotImplementedError:  # n-grams have none
        return int(text_config(network).vocab_size)


def sliding_window(network: Any) -> int | None:
    """How many tokens back a layer sees at least (itself included), or None where every layer sees all before it."""
    config = text_config(network)
    window = getattr(config, "sliding_window", None)
    layers = getattr(config, "layer_types", None)
    if not window or (layers is not None and "sliding_attention" not in layers):
        return None
    return int(window)


def turns_by_length(network: Any) -> bool:
    """Whether rotary positions depend on the longest row of the batch (dynamic NTK, LongRoPE), and with them every row."""
    rotations = getattr(text_config(network), "rope_parameters", None) or {}
    kinds = [rotations, *(part for part in rotations.values() if isinstance(part, dict))]
    return any(kind.get("rope_type") in ("dynamic", "longrope") for kind in kinds)
