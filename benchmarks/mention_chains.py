"""Time and agreement of the 5-gram critics against nltk.lm.

Run from the repository root:  python benchmarks/mention_chains.py --tokens 5000000 --out benchmarks/measured/mention_chains.json
Needs nltk (a development extra). Times are CPU seconds.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from longform.critics.coreference import score
from longform.critics.coreference.score import NOBODY, Coreference, ReleasedCoreference, TokenStream
from longform.documents import Chain
from longform.statistics.random_streams import generator

FORMS = tuple(
    sorted(
        [
            "M",
            "F",
            "P",
            "N",
            ".",
            *(f"{p}{i}" for p in ("he", "she", "they", "who") for i in range(46)),
        ]
    )
)
NLTK_TOKENS, NLTK_QUERIES, REPEATS = 500_000, 300, 3  # of both sides, the least counts


def timed(work: Callable[[], Any], repeats: int = 1) -> tuple[Any, float]:
    """What ``work`` returns, and the least CPU seconds of this process: other work on the machine does not count."""
    found = []
    for _ in range(repeats):
        start = time.process_time()
        made = work()
        found.append(time.process_time() - start)
    return made, min(found)


def stream(name: str, tokens: int, people: bool) -> TokenStream:
    """Sticky tags of documents of about 60 tokens; each tag depends on the one before; people come back."""
    rng = generator("benchmark", name)
    rows = (
        generator("benchmark", "rows")
        .dirichlet(np.full(len(FORMS), 0.05), len(FORMS))
        .cumsum(axis=1)
    )
    forms, draws = np.empty(tokens, dtype=np.int32), rng.random(tokens)
    state = 0
    for i in range(tokens):
        state = min(int(np.searchsorted(rows[state], draws[i])), len(FORMS) - 1)
        forms[i] = state
    lengths = rng.integers(20, 100, tokens // 60 + 2)
    lengths = lengths[: np.searchsorted(np.cumsum(lengths), tokens) + 1]
    lengths[-1] -= lengths.sum() - tokens
    ends = np.cumsum(lengths)
    entities = (
        rng.geometric(0.7, tokens).astype(np.int32)
        if people
        else np.full(tokens, NOBODY, dtype=np.int32)
    )
    entities[forms == FORMS.index(".")] = NOBODY
    return TokenStream(forms, entities, np.repeat(ends - lengths, lengths), lengths)


def chains(tokens: TokenStream) -> list[Chain]:
    """The stream as chains of strings."""
    names = [
        FORMS[f] if e == NOBODY else f"{FORMS[f]}:{e}"
        for f, e in zip(tokens.forms, tokens.entities, strict=True)
    ]
    ends = np.cumsum(tokens.lengths)
    return [
        Chain(str(i), "train", tuple(names[b - n : b]))
        for i, (b, n) in enumerate(zip(ends, tokens.lengths, strict=True))
    ]


def ready(critic: Any) -> Any:
    """A fitted critic whose table is made: it belongs to the fit."""
    assert len(critic.table)
    return critic


def ours(train: TokenStream, test: TokenStream) -> dict[str, Any]:
    """Fit and score both critics from arrays, the released one with people, Kneser-Ney on the same stream."""
    found = {}
    for critic in (ReleasedCoreference(forms=FORMS), Coreference(forms=FORMS)):
        fitted, fit_s = timed(lambda c=critic: ready(c.fit_tokens(train)))
        scores, score_s = timed(lambda f=fitted: f.score_tokens(test))
        found[type(critic).__name__] = {
            "fit_s": fit_s,
            "score_tags_per_s": len(scores) / score_s,
            "latent_ppl": float(np.exp(-scores.mean())),
            "ngrams": sum(len(o.keys) for o in fitted.orders),
        }
    return found


def from_strings(train: TokenStream) -> dict[str, float]:
    """Seconds to fit from chains of strings, as the pipeline does."""
    real = chains(train)
    return {
        c.__name__: timed(lambda c=c: ready(c().fit(real)))[1]
        for c in (ReleasedCoreference, Coreference)
    }


def against_nltk(train: TokenStream, test: TokenStream) -> dict[str, float]:
    """nltk.lm's interpolated absolute discounting and ours with its single discount, on the same part of the stream."""
    from nltk.lm import AbsoluteDiscountingInterpolated

    real, queries = chains(train), chains(test)
    rows = [("<bos>",) * 4 + unit.symbols for unit in real]
    grams = [row[i - n : i] for n in range(1, 6) for row in rows for i in range(5, len(row) + 1)]
    words = sorted({symbol for row in rows for symbol in row})

    def nltk_fit() -> Any:
        model = AbsoluteDiscountingInterpolated(5, discount=0.75)
        model.fit([grams], words)
        return model

    score.absolute_discount = lambda counts: 0.75  # nltk has one discount for all orders
    model, fit_s = timed(nltk_fit, REPEATS)
    query_rows = [("<bos>",) * 4 + unit.symbols for unit in queries]
    windows = [row[i - 4 : i + 1] for row in query_rows for i in range(4, len(row))][:NLTK_QUERIES]
    theirs, score_s = timed(lambda: [np.log(model.score(w[-1], w[:-1])) for w in windows], REPEATS)
    fitted, our_fit_from_strings_s = timed(lambda: ready(ReleasedCoreference().fit(real)), REPEATS)
    mine = np.concatenate(fitted.part_values(queries))[: len(windows)]
    _, our_score_s = timed(lambda: fitted.score_tokens(test), REPEATS)
    _, our_fit_s = timed(lambda: ready(ReleasedCoreference(forms=FORMS).fit_tokens(train)), REPEATS)
    tokens, their_rate, our_rate = (
        len(train.forms),
        len(windows) / score_s,
        len(test.forms) / our_score_s,
    )
    return {
        "tokens": float(tokens),
        "fit_ratio": fit_s / our_fit_s,
        "score_ratio": our_rate / their_rate,
        "fit_and_score_ratio": (fit_s + tokens / their_rate) / (our_fit_s + tokens / our_rate),
        "nltk_fit_s": fit_s,
        "our_fit_s_from_strings": our_fit_from_strings_s,
        "our_fit_s": our_fit_s,
        "nltk_tags_per_s": their_rate,
        "our_tags_per_s": our_rate,
        "ppl_nltk": float(np.exp(-np.mean(theirs))),
        "ppl_ours": float(np.exp(-mine.mean())),
    }


def main() -> None:
    """Measure and print; with --out, also write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", type=int, default=5_000_000)
    parser.add_argument("--test", type=int, default=1_000_000)
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    warm = stream("warm", 2000, True)
    ours(
        warm, warm
    )  # compiles the kernels, as every process after the first finds them compiled on disk
    people, plain = (stream("train", options.tokens, p) for p in (True, False))
    people_test, plain_test = (stream("test", options.test, p) for p in (True, False))
    found = {
        "tokens": options.tokens,
        "with_people": ours(people, people_test),
        "tags_only": ours(plain, plain_test),
    }
    found["fit_s_from_strings"] = from_strings(people)
    cut = stream("train", NLTK_TOKENS, False)
    found["nltk"] = against_nltk(cut, plain_test)
    text = json.dumps(found, indent=1)
    print(text)
    if options.out:
        options.out.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
