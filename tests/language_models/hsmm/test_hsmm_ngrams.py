"""The n-gram table against counting with dictionaries."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from longform.core.documents import BadInput
from longform.language_models.hsmm import model
from longform.language_models.hsmm.model import build_ngrams


def _texts(seed: int) -> list[list[str]]:
    draw = np.random.default_rng(seed)
    return [["abc"[i] for i in draw.integers(0, 3, length)] for length in (30, 2, 17, 25)]


def _counted(texts: list[list[str]], n: int) -> Counter:
    return Counter(tuple(text[i : i + n]) for text in texts for i in range(len(text) - n + 1))


@pytest.mark.parametrize("chunk", [5, 4_000_000])
@pytest.mark.parametrize("seed", range(3))
def test_most_frequent_ngrams_are_kept_with_ties_in_lexicographic_order(
    seed: int, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model, "WINDOWS_PER_CHUNK", chunk)
    texts = _texts(seed)
    table = build_ngrams(texts, max_duration=4, max_ngrams=12)
    for n in range(1, 5):
        counts = _counted(texts, n)
        best = sorted(counts, key=lambda gram: (-counts[gram], gram))[:10]
        assert [table.text(row) for row in range(table.starts[n - 1], table.starts[n])] == sorted(best)
        assert table.dropped[n - 1] == len(counts) - len(best)


def test_index_points_to_the_window_and_says_minus_one_for_absent_and_overhanging_ones() -> None:
    texts = _texts(7)
    table = build_ngrams(texts, max_duration=4, max_ngrams=12)
    rows = {table.text(row): row for row in range(table.rows)}
    for text in texts:
        index = table.index(table.encode(text))
        for t, n in np.ndindex(index.shape):
            window = tuple(text[t : t + n + 1])
            assert index[t, n] == (rows.get(window, -1) if len(window) == n + 1 else -1)


def test_fifty_three_token_types_fit_keys_of_eleven_tokens() -> None:
    text = ["52"] * 11 + [f"{i:02d}" for i in range(53)]
    table = build_ngrams([text], max_duration=11)
    assert table.ngram(table.rows - 1) == (52,) * 11
    assert table.index(table.encode(text))[0, 10] == table.rows - 1


def test_durations_follow_the_rows_and_missing_lengths_have_none() -> None:
    table = build_ngrams([["a", "b"]], max_duration=4)
    assert table.durations.tolist() == [1, 1, 2]
    assert table.starts.tolist() == [0, 2, 3, 3, 3]


def test_no_sequences_and_keys_beyond_64_bits_are_refused() -> None:
    with pytest.raises(BadInput, match="corpus of 0 sequences"):
        build_ngrams([], max_duration=2)
    with pytest.raises(BadInput, match="exceed a 64-bit key; lower max_duration"):
        build_ngrams([list(map(str, range(1000)))], max_duration=7)
