r"""N-grams of a tokenizer's tokens as a transformers network: the floor of every trained one, and what a shuffled suite still gives away.

Interpolated Kneser-Ney (Chen and Goodman 1998, section 4.1.6; Kneser and Ney 1995): with $h'$ the context $h$ without its first token,

$p(w | h) = \max(c(hw) - D, 0) / c(h \cdot) + D N(h \cdot) / c(h \cdot) \; p(w | h')$,

where $c$ counts occurrences at the highest order and distinct tokens in front below it (occurrences where an n-gram opens a text, which has
nothing in front), $N(h \cdot)$ is the number of distinct tokens after $h$, $D = n_1 / (n_1 + 2 n_2)$ by order, and the last $p$ is uniform.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedConfig, PreTrainedModel
from transformers.modeling_outputs import CausalLMOutput

from longform.documents import Document
from longform.errors import BadInput
from longform.language_models.checkpoints import SavedModel, load_tokenizer
from longform.language_models.tokenizers import document_rows

DISCOUNT = 0.5  # of an order in which no n-gram was counted once, or none twice


class NgramConfig(PreTrainedConfig):
    """Vocabulary, and the number of n-grams of orders 2 up."""

    model_type = "ngram"
    num_hidden_layers = 0  # no state, which what writes texts would keep

    def __init__(
        self, vocab_size: int = 2, sizes: Sequence[int] = (), context: int = 1024, **kwargs: Any
    ) -> None:
        self.vocab_size, self.sizes, self.max_position_embeddings = vocab_size, list(sizes), context
        super().__init__(**kwargs)


class NgramLanguageModel(PreTrainedModel):
    """Log probabilities as logits. An n-gram's key is its tokens in base ``vocab_size``, the first one highest, keys in ascending order."""

    config_class = NgramConfig

    def __init__(self, config: NgramConfig) -> None:
        super().__init__(config)
        self.unigrams = torch.nn.Parameter(
            torch.zeros(config.vocab_size), requires_grad=False
        )  # probabilities
        for order, size in enumerate(config.sizes, start=2):
            self.register_buffer(f"keys_{order}", torch.zeros(size, dtype=torch.int64))
            self.register_buffer(f"shares_{order}", torch.zeros(size))  # max(c(hw) - D, 0) / c(h)
            self.register_buffer(
                f"weights_{order}", torch.zeros(size)
            )  # D N(h) / c(h), the same for all n-grams of h
        self.post_init()

    def forward(
        self, input_ids: torch.Tensor, use_cache: bool | None = None, **_: Any
    ) -> CausalLMOutput:
        """Logits float32 (batch, tokens, vocabulary) after each of ``input_ids`` (batch, tokens), which are one text from its first token."""
        if use_cache is not False:
            raise BadInput(
                "n-grams keep no cache: they read texts and write none; take the model out of this study"
            )
        (batch, width), vocabulary = input_ids.shape, self.config.vocab_size
        found = self.unigrams.repeat(batch * width, 1)
        places = torch.arange(batch * width, device=input_ids.device).view(batch, width)
        contexts = input_ids.clone()
        for order in range(2, min(len(self.config.sizes), width) + 2):
            keys, shares, weights = (
                getattr(self, f"{kind}_{order}") for kind in ("keys", "shares", "weights")
            )
            first, stop = (
                torch.searchsorted(keys, (contexts + more) * vocabulary) for more in (0, 1)
            )
            rows, first, counts = (
                x.flatten()[(stop > first).flatten()] for x in (places, first, stop - first)
            )
            found[rows] *= weights[first, None]
            grams = torch.arange(int(counts.sum()), device=rows.device)
            grams += torch.repeat_interleave(first - counts.cumsum(0) + counts, counts)
            found[torch.repeat_interleave(rows, counts), keys[grams] % vocabulary] += shares[grams]
            places, contexts = (
                places[:, 1:],
                contexts[:, :-1] * vocabulary + input_ids[:, order - 1 :],
            )
        return CausalLMOutput(logits=found.log().view(batch, width, vocabulary))


AutoConfig.register("ngram", NgramConfig)
AutoModelForCausalLM.register(NgramConfig, NgramLanguageModel)


def fit(
    *, documents: Sequence[Document], base: Path, titles: bool, context: int, order: int
) -> SavedModel:
    """Count the documents of split train, each whole; ``context`` is what a reader of the model takes for its positions.

    Raises BadInput: no training documents, a context below two, or an order whose n-grams do not fit into 63 bits.
    """
    tokenizer = load_tokenizer(base)
    size = max(tokenizer.get_vocab().values()) + 1
    if not 2 <= order <= (most := max(n for n in range(1, 64) if size**n < 2**63)):
        raise BadInput(
            f"ngram: order {order}; allowed is 2 to {most} with {size} tokens; fix the entry"
        )
    if context < 2:
        raise BadInput(f"ngram: context {context}; allowed is 2 tokens or more; fix the entry")
    rows = document_rows([d for d in documents if d.split == "train"], tokenizer, titles, 10**9)
    if not rows:
        raise BadInput("ngram: no document of split train; fix the corpus")
    tokens = np.concatenate([np.array(row, dtype=np.int64) for row in rows])
    within = np.concatenate([np.arange(len(row)) for row in rows])
    keys = [
        tokens
    ]  # of the n-gram that ends at each token, by order; of no n-gram where the text has just begun
    for _ in range(order - 1):
        keys.append(np.roll(keys[-1], 1) * size + tokens)
    grams, counts = np.unique(keys[-1][within >= order - 1], return_counts=True)
    held: dict[str, np.ndarray] = {}
    for n in range(order, 1, -1):
        held |= dict(
            zip(
                (f"keys_{n}", f"shares_{n}", f"weights_{n}"),
                (grams, *_discounted(grams // size, counts)),
                strict=True,
            )
        )
        opening = keys[n - 2][within == n - 2] if n > 2 else grams[:0]
        grams, counts = np.unique(
            np.concatenate([grams % size ** (n - 1), opening]), return_counts=True
        )
    shares, weights = _discounted(np.zeros_like(grams), counts)
    held["unigrams"] = np.full(size, weights[0] / size)
    held["unigrams"][grams] += shares
    ends = {"bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id}
    network = NgramLanguageModel(
        NgramConfig(size, [len(held[f"keys_{n}"]) for n in range(2, order + 1)], context, **ends)
    )
    network.load_state_dict(
        {
            name: torch.from_numpy(values).to(network.state_dict()[name].dtype)
            for name, values in held.items()
        }
    )
    return SavedModel(network, tokenizer)


def _discounted(contexts: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of each n-gram what discounting leaves of its probability, and the weight of the order below after its context."""
    once, twice = (counts == 1).sum(), (counts == 2).sum()
    discount = once / (once + 2 * twice) if once and twice else DISCOUNT
    _, context, after = np.unique(contexts, return_inverse=True, return_counts=True)
    totals = np.bincount(context, counts)[context]
    return (counts - discount) / totals, discount * after[context] / totals
