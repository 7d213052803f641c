"""Tokens to regions: a partition of the text under any tokenizer, any Unicode and any cut."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers

from longform.critics.surprisal.read import RegionText, joined, token_regions


def byte_level() -> Tokenizer:
    tokenizer = Tokenizer(
        models.BPE(vocab={c: i for i, c in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}, merges=[])
    )
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def sentencepiece_like() -> Tokenizer:
    pieces = [("<unk>", 0.0), ("▁", -1.0), *((c, -2.0) for c in "abcdefé ▁日"), ("▁a", -1.5), ("▁ab", -1.6)]
    pieces += [(f"<0x{byte:02X}>", -9.0) for byte in range(256)]
    tokenizer = Tokenizer(models.Unigram(list(dict.fromkeys(pieces)), unk_id=0, byte_fallback=True))
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    return tokenizer


TOKENIZERS = {"byte-level": byte_level(), "sentencepiece-like": sentencepiece_like()}
characters = st.characters(codec="utf-8", exclude_categories=("Cs", "Cc"))
texts = st.one_of(st.text(characters, max_size=40), st.text(st.sampled_from("ab é日\u00a0'’🙂"), max_size=40))


@pytest.mark.parametrize("kind", TOKENIZERS)
@settings(max_examples=150, deadline=None)
@given(texts, st.lists(st.integers(0, 40), max_size=5))
def test_regions_partition_any_text_and_every_token_has_exactly_one(kind, text, cuts):
    ends = (*tuple(sorted(min(cut, len(text)) for cut in cuts)), len(text))
    source = RegionText(text, ends)
    assert "".join(source.regions()) == text
    encoded = TOKENIZERS[kind].encode(text, add_special_tokens=False)
    regions = token_regions(source, [start for start, _ in encoded.offsets])
    assert regions.shape == (len(encoded.ids),)
    assert ((regions >= 0) & (regions < len(ends))).all() or not len(regions)
    assert (np.diff(regions) >= 0).all()
    spans = np.cumsum([0, *map(len, source.regions())])
    for region, (start, end) in zip(regions, encoded.offsets, strict=True):
        visible = next((i for i in range(start, end) if not text[i].isspace()), None)
        if visible is not None:
            assert spans[region] <= visible < spans[region + 1]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.text(st.sampled_from("ab é日’🙂\t"), max_size=8), min_size=1, max_size=5))
def test_joined_contents_are_their_words_and_bytes_count_up(contents):
    source = joined(contents)
    assert source.text == " ".join(" ".join(content.split()) for content in contents if content.split())
    assert [region.split() for region in source.regions()] == [content.split() for content in contents]
    encoded = TOKENIZERS["byte-level"].encode(source.text)
    counts = np.bincount(token_regions(source, [start for start, _ in encoded.offsets]), minlength=len(contents))
    assert counts.tolist() == [len(region.encode()) for region in source.regions()]


def test_the_blank_before_a_region_belongs_to_it_and_empty_regions_own_nothing():
    source = joined(["", "how are", "", "you ?", ""])
    assert source.regions() == ["", "how are", "", " you ?", ""]
    assert token_regions(source, [0, 3, 4, 7, 8, 11]).tolist() == [1, 1, 1, 3, 3, 3]


def test_trailing_blanks_go_with_the_last_region_that_has_text():
    source = RegionText("ab  ", (1, 4, 4))
    assert token_regions(source, [0, 1, 2, 3, 4]).tolist() == [0, 1, 1, 1, 1]
