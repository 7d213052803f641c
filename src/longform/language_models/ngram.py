r"""N-grams of a tokenizer's tokens as a transformers network.

They are the floor of every trained network, and show what a shuffled suite still gives away.
Interpolated Kneser-Ney (Chen and Goodman 1998, section 4.1.6; Kneser and Ney 1995): with $h'$ the
context $h$ without its first token,

$p(w | h) = \max(c(hw) - D, 0) / c(h \cdot) + D N(h \cdot) / c(h \cdot) \; p(w | h')$,

where $c$ counts occurrences at the highest order and distinct tokens in front below it (occurrences
where an n-gram opens a text, which has nothing in front), $N(h \cdot)$ is the number of distinct
tokens after $h$, $D = n_1 / (n_1 + 2 n_2)$ by order, and the last $p$ is uniform.
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

DISCOUNT = 0.5  # D of an order in which no n-gram has count 1, or none count 2


class NgramConfig(PreTrainedConfig):
    """Vocabulary, and the number of n-grams of orders 2 up."""

    model_type = "ngram"
    num_hidden_layers = 0  # no state, which what writes texts would keep

    def __init__(
        self, vocab_size: int = 2, sizes: Sequence[int] = (), context: int = 1024, **kwargs: Any
    ) -> None:
        self.vocab_size = vocab_size
        self.sizes = list(sizes)
        self.max_position_embeddings = context
        super().__init__(**kwargs)


class NgramLanguageModel(PreTrainedModel):
    r"""Log probabilities as logits.

    An n-gram's key is its tokens in base ``vocab_size``, the first one highest. For each order n
    from 2 up there are buffers, (n-grams,) in the order of their keys:

    - ``keys_n``: int64, ascending;
    - ``shares_n``: $\max(c(hw) - D, 0) / c(h)$;
    - ``weights_n``: $D N(h) / c(h)$, the same for all n-grams of $h$.
    """

    config_class = NgramConfig

    def __init__(self, config: NgramConfig) -> None:
        super().__init__(config)
        probabilities = torch.zeros(config.vocab_size)
        self.unigrams = torch.nn.Parameter(probabilities, requires_grad=False)
        for order, size in enumerate(config.sizes, start=2):
            self.register_buffer(f"keys_{order}", torch.zeros(size, dtype=torch.int64))
            self.register_buffer(f"shares_{order}", torch.zeros(size))
            self.register_buffer(f"weights_{order}", torch.zeros(size))
        self.post_init()

    def forward(
        self, input_ids: torch.Tensor, use_cache: bool | None = None, **_: Any
    ) -> CausalLMOutput:
        """Read texts from their first token on.

        Args:
            input_ids: (batch, tokens).
            use_cache: must be False.

        Returns:
            Logits after each token, float32 (batch, tokens, vocabulary).

        Raises:
            BadInput: a cache is asked for.
        """
        if use_cache is not False:
            raise BadInput(
                "n-grams keep no cache: they read texts and write none; "
                "take the model out of this study"
            )
        batch, width = input_ids.shape
        vocabulary = self.config.vocab_size
        # 1. Every position has the unigrams' probabilities, (positions, vocabulary).
        probabilities = self.unigrams.repeat(batch * width, 1)
        positions = torch.arange(batch * width, device=input_ids.device).view(batch, width)
        contexts = input_ids.clone()  # keys of the tokens up to each position
        for order in range(2, min(len(self.config.sizes), width) + 2):
            keys = getattr(self, f"keys_{order}")
            # 2. The n-grams of each context stand together: those with keys from context x
            #    vocabulary on.
            first = torch.searchsorted(keys, contexts * vocabulary)
            stop = torch.searchsorted(keys, (contexts + 1) * vocabulary)
            is_known = (stop > first).flatten()
            rows = positions.flatten()[is_known]
            first = first.flatten()[is_known]
            counts = stop.flatten()[is_known] - first
            # 3. Where there are some, the order below keeps its weight ...
            probabilities[rows] *= getattr(self, f"weights_{order}")[first, None]
            # ... and each n-gram adds its share.
            ngrams = torch.arange(int(counts.sum()), device=rows.device)
            ngrams += torch.repeat_interleave(first - counts.cumsum(0) + counts, counts)
            tokens = keys[ngrams] % vocabulary
            row_of_ngram = torch.repeat_interleave(rows, counts)
            probabilities[row_of_ngram, tokens] += getattr(self, f"shares_{order}")[ngrams]
            # 4. The next order's contexts are longer by a token in front.
            positions = positions[:, 1:]
            contexts = contexts[:, :-1] * vocabulary + input_ids[:, order - 1 :]
        return CausalLMOutput(logits=probabilities.log().view(batch, width, vocabulary))


AutoConfig.register("ngram", NgramConfig)
AutoModelForCausalLM.register(NgramConfig, NgramLanguageModel)


def fit(
    *, documents: Sequence[Document], base: Path, titles: bool, context: int, order: int
) -> SavedModel:
    """Count the documents of split train, each whole.

    Args:
        documents: the study's documents.
        base: folder of the tokenizer.
        titles: whether section titles are part of the text.
        context: number of positions that the model claims, by which readers window texts; 2 or
            more.
        order: length of the longest n-gram; 2 or more.

    Raises:
        BadInput: no training documents, a context below two, or an order whose n-grams do not fit
            into 63 bits.
    """
    # 1. Limits of the counts.
    tokenizer = load_tokenizer(base)
    vocabulary = max(tokenizer.get_vocab().values()) + 1
    max_order = max(n for n in range(1, 64) if vocabulary**n < 2**63)
    if not 2 <= order <= max_order:
        raise BadInput(
            f"ngram: order {order}; allowed is 2 to {max_order} with {vocabulary} tokens; "
            "fix the entry"
        )
    if context < 2:
        raise BadInput(f"ngram: context {context}; allowed is 2 tokens or more; fix the entry")
    # 2. Counts of the training documents.
    training_documents = [document for document in documents if document.split == "train"]
    rows = document_rows(training_documents, tokenizer, titles, 10**9)
    if not rows:
        raise BadInput("ngram: no document of split train; fix the corpus")
    tables = _count(rows, vocabulary, order)
    # 3. The network that keeps them.
    sizes = [len(tables[f"keys_{n}"]) for n in range(2, order + 1)]
    config = NgramConfig(
        vocabulary,
        sizes,
        context,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
    )
    network = NgramLanguageModel(config)
    state = network.state_dict()
    for name, values in tables.items():
        state[name] = torch.from_numpy(values).to(state[name].dtype)
    network.load_state_dict(state)
    return SavedModel(network, tokenizer)


def _count(rows: Sequence[Sequence[int]], vocabulary: int, order: int) -> dict[str, np.ndarray]:
    """Count n-grams; name of a buffer of :class:`NgramLanguageModel` -> float64 or int64 array.

    Args:
        rows: token ids of each document.
        vocabulary: number of token types.
        order: length of the longest n-gram.
    """
    tokens = np.concatenate([np.array(row, dtype=np.int64) for row in rows])
    index_in_row = np.concatenate([np.arange(len(row)) for row in rows])
    # 1. Keys of the n-grams that end at each token, by order n; wrong for the first n - 1 tokens
    # of a row, which are left out below.
    keys_by_order = {1: tokens}
    for n in range(2, order + 1):
        keys_by_order[n] = np.roll(keys_by_order[n - 1], 1) * vocabulary + tokens
    # 2. At the highest order n-grams are counted as they occur.
    occurring = keys_by_order[order][index_in_row >= order - 1]
    ngrams, counts = np.unique(occurring, return_counts=True)
    tables: dict[str, np.ndarray] = {}
    for n in range(order, 1, -1):
        tables[f"keys_{n}"] = ngrams
        contexts = ngrams // vocabulary
        tables[f"shares_{n}"], tables[f"weights_{n}"] = _discounted(contexts, counts)
        # 3. Below it by the distinct tokens in front, and once for each row that they open.
        shorter = ngrams % vocabulary ** (n - 1)
        if n > 2:
            opening = keys_by_order[n - 1][index_in_row == n - 2]
            shorter = np.concatenate([shorter, opening])
        ngrams, counts = np.unique(shorter, return_counts=True)
    # 4. Unigrams share their discount among all tokens.
    shares, weights = _discounted(np.zeros_like(ngrams), counts)
    tables["unigrams"] = np.full(vocabulary, weights[0] / vocabulary)
    tables["unigrams"][ngrams] += shares
    return tables


def _discounted(contexts: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Shares and weights of the n-grams of one order.

    Args:
        contexts: key of each n-gram's context, (n-grams,).
        counts: count of each n-gram, (n-grams,).

    Returns:
        What discounting leaves of each n-gram's probability, and the weight of the order below
        after its context, float64 (n-grams,) each.
    """
    num_once = (counts == 1).sum()
    num_twice = (counts == 2).sum()
    discount = num_once / (num_once + 2 * num_twice) if num_once and num_twice else DISCOUNT
    _, context_of, num_followers = np.unique(contexts, return_inverse=True, return_counts=True)
    totals = np.bincount(context_of, counts)[context_of]
    return (counts - discount) / totals, discount * num_followers[context_of] / totals
