"""Fitted n-gram critics in the ARPA back-off format, for other readers (KenLM, SRILM)."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from longform.core.documents import BadInput
from longform.core.markov_chain import END
from longform.critics.coreference.score import KneserNeyCritic, MentionCritic

BEGIN_NAME, END_NAME, UNKNOWN_NAME = "<s>", "</s>", "<unk>"
NEVER = -99.0  # ARPA's log10 of zero, for symbols that are only ever a context


def arpa_lines(critic: MentionCritic | KneserNeyCritic) -> Iterator[str]:
    """The model as ARPA lines without line ends: log10 probability, tab, symbols, tab, log10 back-off weight.

    A context that is no n-gram itself (the renumbering of entities makes such contexts) is listed with the
    probability the model gives its last symbol, so that every listed n-gram has its context listed.

    Raises:
        BadInput: the critic is not fitted, or a symbol holds white space.
    """
    if not critic.orders:
        raise BadInput("ARPA export: the critic has no counts yet; call fit(real chains) and export what it returns")
    spaced = [form for form in critic.forms if len(form.split()) != 1]
    if spaced:
        raise BadInput(f"ARPA export: forms {spaced} hold white space or nothing; rename them, ARPA splits on spaces")
    listed = _listed_keys(critic)
    special = _special_unigrams(critic)
    yield "\\data\\"
    yield from (f"ngram {n}={len(keys) + (len(special) if n == 1 else 0)}" for n, keys in enumerate(listed, start=1))
    for n, keys in enumerate(listed, start=1):
        yield from ("", f"\\{n}-grams:")
        yield from special if n == 1 else []
        yield from _section(critic, n, keys)
    yield from ("", "\\end\\")


def _listed_keys(critic: MentionCritic | KneserNeyCritic) -> list[np.ndarray]:
    """Keys to list per order: n-grams, contexts, and the contexts of all that is listed above."""
    bits = critic.packing.bits
    above = critic.orders[-1].keys
    listed = [above]
    for n in range(critic.order - 1, 0, -1):
        contexts = critic.orders[n].context_keys
        keys = np.unique(np.concatenate([critic.orders[n - 1].keys, contexts, above >> bits]))
        above = keys[keys >> (bits * (n - 1)) > 0]
        listed.append(above)
    listed[-1] = listed[-1][listed[-1] != critic.packing.begin]
    return listed[::-1]


def _special_unigrams(critic: MentionCritic | KneserNeyCritic) -> list[str]:
    weights = _weights(critic, 1)
    begin = f"{NEVER:g}\t{BEGIN_NAME}\t{weights.get(critic.packing.begin, 0.0):.10g}"
    end = [] if END in critic.forms else [f"{NEVER:g}\t{END_NAME}"]
    return [f"{critic.log_unknown / math.log(10):.10g}\t{UNKNOWN_NAME}", begin, *end]


def _weights(critic: MentionCritic | KneserNeyCritic, n: int) -> dict[int, float]:
    if n >= critic.order:
        return {}
    above = critic.orders[n]
    return dict(zip(above.context_keys.tolist(), (above.log_weights / math.log(10)).tolist(), strict=True))


def _section(critic: MentionCritic | KneserNeyCritic, n: int, keys: np.ndarray) -> Iterator[str]:
    log_probs = critic.score_windows(keys) / math.log(10)
    log_probs[keys & critic.packing.mask(1) == critic.packing.begin] = NEVER
    weights = _weights(critic, n)
    for key, log_prob in zip(keys.tolist(), log_probs.tolist(), strict=True):
        names = critic.packing.names(key, critic.forms, BEGIN_NAME, UNKNOWN_NAME)
        words = " ".join(END_NAME if name == END else name for name in names)
        yield f"{log_prob:.10g}\t{words}" + (f"\t{weights.get(key, 0.0):.10g}" if n < critic.order else "")
