"""Tests a language model on one short batch before its numbers are trusted.

A folder that opens is not yet a model whose log-probabilities mean anything: networks that read to
both sides open as language models, tokenizers of other networks fit beside them, and
half-precision weights may overflow. The network itself is asked.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, PreTrainedTokenizerBase

from longform.errors import BadInput
from longform.language_models import capacity
from longform.language_models.checkpoints import load_model, load_tokenizer
from longform.language_models.device import placed
from longform.language_models.tokenizers import encode, start_ids

TRIAL_TEXT = "The town lies on a river, and many of its people work in the fields near the hills."
TRIAL_TOKENS = 12
# Largest change before a changed token, as a share of the change after it: a bidirectional network
# is far above, rounding below.
MOVED = 1e-5
# Largest difference of equal rows of a batch, in units in the last place of the largest
# log-probability.
ROUNDING = 32
# Largest difference, as a share of the largest log-probability, of a row read alone and in a longer
# one, which is rounded in another order.
SAME_ALONE = 1e-3
INSTEAD = "name a causal language model such as GPT-2, Pythia or Llama"


def open_language_model(folder: Path) -> tuple[PreTrainedTokenizerBase, Any]:
    """Tokenizer and network of a checkpoint folder, to read with.

    The network is on the chosen device in the chosen precision. They are tried on the processor in
    float32, whose rounding is far below what is looked for.

    Raises:
        BadInput: one of them cannot be opened, or the two cannot be used together as a causal
            language model.
    """
    tokenizer = load_tokenizer(folder)
    network = load_model(folder, AutoModelForCausalLM).float().eval().requires_grad_(False)
    try_language_model(network, tokenizer, str(folder))
    return tokenizer, placed(network, reading=True)


def try_language_model(network: Any, tokenizer: PreTrainedTokenizerBase, name: str) -> None:
    """Refuse a network that cannot be used as a causal language model with its tokenizer.

    Args:
        network: of transformers; it is put in evaluation mode.
        tokenizer: its tokenizer.
        name: begins errors.

    Raises:
        BadInput: the tokenizer has tokens that the network lacks, the network has a single
            position, fails on a short text, gives no numbers, or reads what stands after a token
            before it predicts the token.
    """
    check_vocabulary(network, tokenizer, name)
    network.eval()
    vocabulary = capacity.vocabulary_size(network)
    window = capacity.window_size(network, TRIAL_TOKENS)
    if window < 2:
        raise BadInput(f"{name}: the network reads one token at a time, none before it; {INSTEAD}")
    row = trial_row(tokenizer, vocabulary)[:window]
    # 1. The row as it is, then with one token changed, at every position but the first.
    rows = [list(row) for _ in row]
    for position in range(1, len(row)):
        rows[position][position] = (row[position] + 1) % vocabulary
    log_probs = _log_probs(network, rows, name)
    if not torch.isfinite(log_probs).all():
        raise BadInput(
            f"{name}: the network's log-probabilities of a short text are not finite; its weights "
            "are damaged or not trained: take another checkpoint"
        )
    _check_causality(log_probs, network, name)
    # 2. The first half of the row by itself.
    half = row[: max(1, len(row) // 2)]
    _check_length(log_probs[0], _log_probs(network, [half], name)[0], name)


def trial_row(tokenizer: PreTrainedTokenizerBase, vocabulary: int) -> list[int]:
    """The start and the first tokens of a sentence, as many as are tried.

    Args:
        tokenizer: of a language model.
        vocabulary: tokens that its network knows; others are left out.

    Returns:
        ``TRIAL_TOKENS`` tokens; token 0 fills up where the sentence has fewer.
    """
    row = []
    sentence = [*start_ids(tokenizer), *encode(TRIAL_TEXT, tokenizer)]
    for token in sentence[:TRIAL_TOKENS]:
        if token < vocabulary:
            row.append(token)
    return row + [0] * (TRIAL_TOKENS - len(row))


def check_vocabulary(network: Any, tokenizer: PreTrainedTokenizerBase, name: str) -> None:
    """Refuse a tokenizer with tokens that texts may have and the network does not know.

    Special tokens that were added later (a padding token) may stand outside the network's
    vocabulary, unless texts begin or end with them: no other text has them but one that spells
    them out.

    Args:
        network: of transformers.
        tokenizer: its tokenizer.
        name: begins errors.

    Raises:
        BadInput: there is such a token.
    """
    size = capacity.vocabulary_size(network)
    ends = (tokenizer.bos_token_id, tokenizer.eos_token_id)
    added = set(tokenizer.added_tokens_decoder)
    for token, number in tokenizer.get_vocab().items():
        if number >= size and (number not in added or number in ends):
            raise BadInput(
                f"{name}: the tokenizer has {len(tokenizer)} tokens and the network knows {size} "
                f"({token!r} is not among them); put the tokenizer into the folder that the "
                "network was trained with"
            )


# What a network of transformers raises where a text alone is not enough for it.
UNABLE = (TypeError, ValueError, RuntimeError, IndexError, NotImplementedError)


@torch.inference_mode()
def _log_probs(network: Any, rows: Sequence[Sequence[int]], name: str) -> torch.Tensor:
    """Log-probabilities of next tokens, (rows, tokens, vocabulary). Raises BadInput: it fails."""
    ids = torch.tensor(rows, device=network.device)
    try:
        logits = network(input_ids=ids, use_cache=False).logits
    except UNABLE as error:
        kind = network.config.model_type
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise BadInput(
            f"{name}: a network of kind {kind!r} cannot read a short text ({lines[0][:150]}); "
            f"{INSTEAD}"
        ) from error
    return logits.float().log_softmax(-1)


def _check_causality(log_probs: torch.Tensor, network: Any, name: str) -> None:
    """Check that a changed token changes no log-probability before its position.

    Args:
        log_probs: (rows, tokens, vocabulary); row k differs from row 0 in the token at position k.
        network: which was tried.
        name: begins errors.

    Raises:
        BadInput: it does.
    """
    rounding = ROUNDING * torch.finfo(network.dtype).eps * float(log_probs.abs().max())
    for position in range(1, len(log_probs)):
        changes = (log_probs[position] - log_probs[0]).abs()
        before = float(changes[:position].max())
        after = float(changes[position:].max())
        if before > MOVED * after + rounding:
            kind = network.config.model_type
            raise BadInput(
                f"{name}: a network of kind {kind!r} reads to both sides: changing token "
                f"{position + 1} moves log-probabilities before it by up to {before:.2g} nats; "
                f"{INSTEAD}"
            )


def _check_length(row: torch.Tensor, half: torch.Tensor, name: str) -> None:
    """Raises BadInput: half of a row, read alone, has other log-probs (tokens, vocabulary)."""
    change = float((row[: len(half)] - half).abs().max())
    if change > SAME_ALONE * float(half.abs().max()):
        raise BadInput(
            f"{name}: the log-probabilities of a text's first half move by up to {change:.2g} nats "
            f"when the rest is read with it; {INSTEAD}"
        )
