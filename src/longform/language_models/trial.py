"""A language model is tried on one short batch before its numbers are trusted.

A folder that opens is not yet a model whose log-probabilities mean anything: networks that read to both sides open as language
models, tokenizers of other networks fit beside them, and half-precision weights may overflow. The network itself is asked.
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
MOVED = 1e-5  # of the change at the changed token's own place: a bidirectional network is far above, rounding below
ROUNDING = 32  # units in the last place of the largest log-probability, by which equal rows of a batch differ at most
SAME_ALONE = (
    1e-3  # of the largest log-probability: rows of another shape are rounded in another order
)
INSTEAD = "name a causal language model such as GPT-2, Pythia or Llama"


def open_language_model(folder: Path) -> tuple[PreTrainedTokenizerBase, Any]:
    """Tokenizer and network of a checkpoint folder, to read with, on the chosen device in the chosen precision.

    They are tried on the processor in float32, whose rounding is far below what is looked for.

    Raises BadInput: one of them cannot be opened, or the two cannot be used together as a causal language model.
    """
    tokenizer = load_tokenizer(folder)
    network = load_model(folder, AutoModelForCausalLM).float().eval().requires_grad_(False)
    try_language_model(network, tokenizer, str(folder))
    return tokenizer, placed(network, reading=True)


def try_language_model(network: Any, tokenizer: PreTrainedTokenizerBase, name: str) -> None:
    """Raises BadInput, one sentence that begins with ``name``: the tokenizer has tokens that the network lacks, the network
    fails on a short text, gives no numbers, or reads what stands after a token before it predicts the token."""
    check_vocabulary(network, tokenizer, name)
    network.eval()
    vocabulary = capacity.vocabulary_size(network)
    row = trial_row(tokenizer, vocabulary)[: capacity.window_size(network, TRIAL_TOKENS)]
    # the row as it is, then the row with one token changed, at every place but the first
    rows = [list(row) for _ in row]
    for place in range(1, len(row)):
        rows[place][place] = (row[place] + 1) % vocabulary
    log_probs = _log_probs(network, rows, name)
    if not torch.isfinite(log_probs).all():
        raise BadInput(
            f"{name}: the network's log-probabilities of a short text are not finite; its weights are damaged or not "
            "trained: take another checkpoint"
        )
    _check_causality(log_probs, network, name)
    _check_length(log_probs[0], _log_probs(network, [row[: max(1, len(row) // 2)]], name)[0], name)


def trial_row(tokenizer: PreTrainedTokenizerBase, vocabulary: int) -> list[int]:
    """The start and the first tokens of a sentence, as many as are tried; token 0 fills up where the sentence has fewer."""
    ids = [*start_ids(tokenizer), *encode(TRIAL_TEXT, tokenizer)][:TRIAL_TOKENS]
    known = [token for token in ids if token < vocabulary]
    return known + [0] * (TRIAL_TOKENS - len(known))


def check_vocabulary(network: Any, tokenizer: PreTrainedTokenizerBase, name: str) -> None:
    """Raises BadInput: a token that texts may have, or with which they begin and end, stands outside the network's vocabulary.

    Special tokens that were added later (a padding token) may: no text has them but one that spells them out.
    """
    known = capacity.vocabulary_size(network)
    ends = {tokenizer.bos_token_id, tokenizer.eos_token_id} - {None}
    added = set(tokenizer.added_tokens_decoder) - ends
    outside = {token: number for token, number in tokenizer.get_vocab().items() if number >= known}
    wrong = [token for token, number in outside.items() if number not in added]
    if wrong:
        raise BadInput(
            f"{name}: the tokenizer has {len(tokenizer)} tokens and the network knows {known} ({wrong[0]!r} is not among "
            "them); put the tokenizer into the folder that the network was trained with"
        )


@torch.inference_mode()
def _log_probs(network: Any, rows: Sequence[Sequence[int]], name: str) -> torch.Tensor:
    """Log-probabilities of every next token, float32 (rows, tokens, vocabulary)."""
    ids = torch.tensor(rows, device=network.device)
    try:
        logits = network(input_ids=ids, use_cache=False).logits
    except (
        TypeError,
        ValueError,
        RuntimeError,
        IndexError,
        NotImplementedError,
    ) as error:  # of the library's own network
        kind = network.config.model_type
        why = (str(error).strip().splitlines() or [type(error).__name__])[0][:150]
        raise BadInput(
            f"{name}: a network of kind {kind!r} cannot read a short text ({why}); {INSTEAD}"
        ) from error
    return logits.float().log_softmax(-1)


def _check_causality(log_probs: torch.Tensor, network: Any, name: str) -> None:
    """Row k has another token at place k than row 0; what is predicted before place k must be the same."""
    rounding = ROUNDING * torch.finfo(network.dtype).eps * float(log_probs.abs().max())
    for place in range(1, len(log_probs)):
        moved = (log_probs[place] - log_probs[0]).abs()
        before, after = float(moved[:place].max()), float(moved[place:].max())
        if before > MOVED * after + rounding:
            raise BadInput(
                f"{name}: a network of kind {network.config.model_type!r} reads to both sides: changing token {place + 1} "
                f"moves log-probabilities before it by up to {before:.2g} nats; {INSTEAD}"
            )


def _check_length(whole: torch.Tensor, half: torch.Tensor, name: str) -> None:
    """The first half of a row, read by itself, must have the log-probabilities that it has in the whole row."""
    moved = float((whole[: len(half)] - half).abs().max())
    if moved > SAME_ALONE * float(half.abs().max()):
        raise BadInput(
            f"{name}: the log-probabilities of a text's first half move by up to {moved:.2g} nats when the rest is read "
            f"with it; {INSTEAD}"
        )
