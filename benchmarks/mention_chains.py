"""Time and agreement of the 5-gram critics against nltk.lm.

Run from the repository root: ``python benchmarks/mention_chains.py --tokens 5000000 --out FILE``.
Needs nltk (a development extra). Times are CPU seconds.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from longform.critics.coreference import score
from longform.critics.coreference.score import NOBODY, Coreference, ReleasedCoreference, TokenStream
from longform.documents import Chain
from longform.statistics.random_streams import generator

PRONOUNS = ("he", "she", "they", "who")
NLTK_TOKENS, NLTK_QUERIES = 500_000, 300  # that are fitted, and of which nltk scores so many
REPEATS = 3  # of both sides; the fastest counts
DISCOUNT = 0.75
START = ("<bos>",) * 4  # contexts of the first tokens of 5-grams


def tags() -> tuple[str, ...]:
    """Tags of persons, plurals, things and sentence ends, and 46 forms of each pronoun."""
    forms = ["M", "F", "P", "N", "."]
    for word in PRONOUNS:
        forms += [f"{word}{number}" for number in range(46)]
    return tuple(sorted(forms))


FORMS = tags()


def timed(work: Callable[[], Any], repeats: int = 1) -> tuple[Any, float]:
    """The value that ``work`` returns, and its least CPU seconds."""
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        result = work()
        seconds.append(time.process_time() - start)
    return result, min(seconds)


def stream(name: str, tokens: int, people: bool) -> TokenStream:
    """Random documents of about 60 tokens, whose tags are a Markov chain with few likely moves.

    Args:
        name: of the random stream.
        tokens: number of tokens in all documents.
        people: whether tokens also have the number of a person.
    """
    # A chain of tags.
    rng = generator("benchmark", name)
    weights = np.full(len(FORMS), 0.05)
    # Cumulative transition probabilities, (tag, next tag).
    rows = generator("benchmark", "rows").dirichlet(weights, len(FORMS)).cumsum(axis=1)
    forms, draws = np.empty(tokens, dtype=np.int32), rng.random(tokens)
    state = 0
    for i in range(tokens):
        state = min(int(np.searchsorted(rows[state], draws[i])), len(FORMS) - 1)
        forms[i] = state
    # Cut into documents.
    lengths = rng.integers(20, 100, tokens // 60 + 2)
    lengths = lengths[: np.searchsorted(np.cumsum(lengths), tokens) + 1]
    lengths[-1] -= lengths.sum() - tokens
    starts = np.cumsum(lengths) - lengths
    # With persons.
    if people:
        entities = rng.geometric(0.7, tokens).astype(np.int32)
    else:
        entities = np.full(tokens, NOBODY, dtype=np.int32)
    entities[forms == FORMS.index(".")] = NOBODY
    return TokenStream(forms, entities, np.repeat(starts, lengths), lengths)


def chains(tokens: TokenStream) -> list[Chain]:
    """The stream as chains of strings."""
    names = []
    for form, entity in zip(tokens.forms, tokens.entities, strict=True):
        names.append(FORMS[form] if entity == NOBODY else f"{FORMS[form]}:{entity}")
    documents = []
    start = 0
    for number, length in enumerate(tokens.lengths):
        symbols = tuple(names[start : start + length])
        documents.append(Chain(str(number), "train", symbols))
        start += length
    return documents


def ready(critic: Any) -> Any:
    """A fitted critic, whose table is made on first use: that counts as part of the fit."""
    assert len(critic.table)
    return critic


def ours(train: TokenStream, test: TokenStream) -> dict[str, Any]:
    """CPU seconds, speed and perplexity of both 5-gram critics (released, Kneser-Ney) on arrays."""
    results = {}
    for critic in (ReleasedCoreference(forms=FORMS), Coreference(forms=FORMS)):
        fitted, fit_s = timed(partial(_fit_tokens, critic, train))
        scores, score_s = timed(partial(fitted.score_tokens, test))
        results[type(critic).__name__] = {
            "fit_s": fit_s,
            "score_tags_per_s": len(scores) / score_s,
            "latent_ppl": float(np.exp(-scores.mean())),
            "ngrams": sum(len(order.keys) for order in fitted.orders),
        }
    return results


def _fit_tokens(critic: Any, train: TokenStream) -> Any:
    """A critic fitted to arrays."""
    return ready(critic.fit_tokens(train))


def _fit_strings(critic: Any, train: list[Chain]) -> Any:
    """A critic fitted to chains of strings."""
    return ready(critic.fit(train))


def from_strings(train: TokenStream) -> dict[str, float]:
    """Seconds to fit from chains of strings, as the pipeline does."""
    real = chains(train)
    seconds = {}
    for kind in (ReleasedCoreference, Coreference):
        _, seconds[kind.__name__] = timed(partial(_fit_strings, kind(), real))
    return seconds


def nltk_fit(documents: list[Chain]) -> Any:
    """A function that fits nltk.lm's interpolated absolute discounting to all 1- to 5-grams."""
    from nltk.lm import AbsoluteDiscountingInterpolated

    # Its input: all grams, and the vocabulary.
    rows = []
    words: set[str] = set()
    for document in documents:
        rows.append(START + document.symbols)
        words.update(rows[-1])
    grams = []
    for order in range(1, 6):
        for row in rows:
            grams += [row[end - order : end] for end in range(5, len(row) + 1)]
    vocabulary = sorted(words)

    def fit() -> Any:
        model = AbsoluteDiscountingInterpolated(5, discount=DISCOUNT)
        model.fit([grams], vocabulary)
        return model

    return fit


def windows_of(documents: list[Chain]) -> list[tuple[str, ...]]:
    """Each token with the four before it, as 5-grams."""
    windows = []
    for document in documents:
        row = START + document.symbols
        windows += [row[end - 4 : end + 1] for end in range(4, len(row))]
    return windows


def against_nltk(train: TokenStream, test: TokenStream) -> dict[str, float]:
    """Ratios (ours over nltk's in speed), seconds and perplexities of nltk.lm and of ours.

    Both do interpolated absolute discounting with nltk's single discount, on the same stream.
    """
    real, queries = chains(train), chains(test)
    score.absolute_discount = lambda counts: DISCOUNT  # nltk has one for all orders

    # nltk: fit, and score some tokens.
    model, fit_s = timed(nltk_fit(real), REPEATS)
    windows = windows_of(queries)[:NLTK_QUERIES]

    def nltk_score() -> list[float]:
        return [np.log(model.score(window[-1], window[:-1])) for window in windows]

    theirs, score_s = timed(nltk_score, REPEATS)

    # Ours: fit from strings and from arrays, and score all tokens.
    fit_from_strings = partial(_fit_strings, ReleasedCoreference(), real)
    fitted, our_fit_from_strings_s = timed(fit_from_strings, REPEATS)
    scores = np.concatenate(fitted.part_values(queries))[: len(windows)]
    _, our_score_s = timed(partial(fitted.score_tokens, test), REPEATS)
    fit = partial(_fit_tokens, ReleasedCoreference(forms=FORMS), train)
    _, our_fit_s = timed(fit, REPEATS)

    tokens = len(train.forms)
    their_rate, our_rate = len(windows) / score_s, len(test.forms) / our_score_s
    their_seconds, our_seconds = fit_s + tokens / their_rate, our_fit_s + tokens / our_rate
    return {
        "tokens": float(tokens),
        "fit_ratio": fit_s / our_fit_s,
        "score_ratio": our_rate / their_rate,
        "fit_and_score_ratio": their_seconds / our_seconds,
        "nltk_fit_s": fit_s,
        "our_fit_s_from_strings": our_fit_from_strings_s,
        "our_fit_s": our_fit_s,
        "nltk_tags_per_s": their_rate,
        "our_tags_per_s": our_rate,
        "ppl_nltk": float(np.exp(-np.mean(theirs))),
        "ppl_ours": float(np.exp(-scores.mean())),
    }


def main() -> None:
    """Measure and print; with --out, also write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", type=int, default=5_000_000)
    parser.add_argument("--test", type=int, default=1_000_000)
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    # Compile the kernels; every process after the first finds them compiled on disk.
    warm = stream("warm", 2000, people=True)
    ours(warm, warm)
    # Both sides.
    people = stream("train", options.tokens, people=True)
    plain_test = stream("test", options.test, people=False)
    results = {
        "tokens": options.tokens,
        "with_people": ours(people, stream("test", options.test, people=True)),
        "tags_only": ours(stream("train", options.tokens, people=False), plain_test),
        "fit_s_from_strings": from_strings(people),
        "nltk": against_nltk(stream("train", NLTK_TOKENS, people=False), plain_test),
    }
    text = json.dumps(results, indent=1)
    print(text)
    if options.out:
        options.out.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
