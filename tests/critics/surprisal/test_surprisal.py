"""The surprisal engine against a plain loop over the network's own logits, for tokenizers and architectures of several kinds."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from surprisal_cases import NETWORKS, TOKENIZERS, network, suite

from longform.critics.surprisal.read import Encoder, condition_bits
from longform.language_models.log_probs import batches, common_prefix, grow, open_reader


def by_hand(model, ids: list[int]) -> np.ndarray:
    """Bits of each token after the first, one forward pass over one text."""
    with torch.no_grad():
        log_probs = model(torch.tensor([ids])).logits[0].log_softmax(-1)
    return np.array([-log_probs[i, token].item() / math.log(2) for i, token in enumerate(ids[1:])])


@pytest.mark.parametrize("kind", NETWORKS)
@pytest.mark.parametrize("tokenizer", TOKENIZERS)
@pytest.mark.parametrize("share", [True, False])
def test_bits_equal_an_unbatched_loop_for_every_architecture_and_tokenizer(kind, tokenizer, share):
    model, tokens = network(kind), TOKENIZERS[tokenizer]
    found = condition_bits([suite()], Encoder(tokens), open_reader(model, 64, share))
    conditions = [c for item in suite().items for c in item.conditions]
    for condition, bits in zip(conditions, found, strict=True):
        text = " ".join(region.content for region in condition.regions if region.content)
        ids = tokens(text, add_special_tokens=False)["input_ids"]
        np.testing.assert_allclose(bits.bits, by_hand(model, [tokens.bos_token_id, *ids]), atol=1e-9)
        lengths = [len(tokens(r.content, add_special_tokens=False)["input_ids"]) > 0 for r in condition.regions]
        assert [len(region) > 0 for region in bits.by_region()] == lengths


def test_region_sums_equal_a_loop_over_prefixes_of_the_text():
    """Byte-level tokens never cross a blank, so a region's bits are a difference of two prefixes' bits."""
    model, tokens = network(), TOKENIZERS["byte-level"]
    found = condition_bits([suite()], Encoder(tokens), open_reader(model))
    conditions = [c for item in suite().items for c in item.conditions]
    for condition, bits in zip(conditions, found, strict=True):
        totals, contents = [0.0], []
        for region in condition.regions:
            contents += [region.content] if region.content else []
            ids = tokens(" ".join(contents), add_special_tokens=False)["input_ids"]
            totals.append(by_hand(model, [tokens.bos_token_id, *ids]).sum() if ids else 0.0)
        np.testing.assert_allclose([region.sum() for region in bits.by_region()], np.diff(totals), atol=1e-9)


def test_batching_and_sharing_change_nothing_beyond_rounding():
    model = network().float()
    encoder = Encoder(TOKENIZERS["byte-level"])
    alone = [condition_bits([suite()], encoder, open_reader(model, 1, False))]
    for budget, share in ((64, False), (4096, False), (64, True), (4096, True)):
        for first, second in zip(
            alone[0], condition_bits([suite()], encoder, open_reader(model, budget, share)), strict=True
        ):
            np.testing.assert_allclose(first.bits, second.bits, atol=1e-4)


def test_the_legacy_convention_counts_zero_bits_for_the_first_token():
    model, tokens = network(), TOKENIZERS["byte-level"]
    found = condition_bits([suite()], Encoder(tokens, "legacy_none"), open_reader(model))[4]
    ids = tokens("the naïve dog ’s ball sat .", add_special_tokens=False)["input_ids"]
    assert found.bits[0] == 0.0
    assert found.regions[0] == 0
    np.testing.assert_allclose(found.bits[1:], by_hand(model, ids), atol=1e-9)


def test_the_image_of_2021_counts_the_begin_in_the_first_and_the_end_in_the_last_region():
    model, tokens = network(), TOKENIZERS["sentencepiece-like"]
    found = condition_bits([suite()], Encoder(tokens, "bos_eos_2021"), open_reader(model))[4]
    ids = tokens("the naïve dog ’s ball sat .", add_special_tokens=False)["input_ids"]
    assert (found.bits[0], found.regions[0], found.regions[-1]) == (0.0, 0, 2)
    np.testing.assert_allclose(
        found.bits[1:], by_hand(model, [tokens.bos_token_id, *ids, tokens.eos_token_id]), atol=1e-9
    )


def test_a_change_of_speaker_is_the_end_token_and_belongs_to_the_region_that_writes_it():
    tokens = TOKENIZERS["byte-level"]
    row = Encoder(tokens, "legacy_none").rows([["the cat ran . [SEP] the dog ran . [SEP]", "the mat ."]])[0]
    pieces = [
        tokens(text, add_special_tokens=False)["input_ids"] for text in ("the cat ran .", "the dog ran .", "the mat .")
    ]
    assert list(row.ids) == [*pieces[0], 0, *pieces[1], 0, *pieces[2]]
    assert row.regions.tolist() == [0] * (len(pieces[0]) + len(pieces[1]) + 2) + [1] * len(pieces[2])


def test_a_plain_model_reads_a_stripped_mark_as_nothing():
    encoder = Encoder(TOKENIZERS["byte-level"], "legacy_none", "strip")
    marked, bare = encoder.rows([["the cat ran . [SEP]", "the mat ."], ["the cat ran .", "the mat ."]])
    assert marked.ids == bare.ids
    assert marked.regions.tolist() == bare.regions.tolist()


def test_a_literal_mark_is_read_as_characters():
    row = Encoder(TOKENIZERS["byte-level"], "legacy_none", "literal").rows([["a [SEP]", "b"]])[0]
    assert 0 not in row.ids
    assert len(row.ids) > 4


rows = st.lists(st.lists(st.integers(1, 3), min_size=1, max_size=12).map(tuple), min_size=1, max_size=12)


@settings(max_examples=200, deadline=None)
@given(rows, st.booleans())
def test_trees_hold_every_row_once_and_the_mask_shows_exactly_its_own_prefix(made, share):
    trees = grow(made, share)
    seen = {}
    for tree in trees:
        ancestors, parents, depths = tree.ancestors(), tree.parents, tree.depths()
        for index, nodes in tree.rows:
            seen[index] = tuple(tree.tokens[node] for node in nodes)
            for place, node in enumerate(nodes):
                assert np.flatnonzero(ancestors[node]).tolist() == nodes[: place + 1].tolist()
                assert depths[node] == place
                assert parents[node] == (nodes[place - 1] if place else -1)
    assert [seen[i] for i in range(len(made))] == made
    if not share:
        assert len(trees) == len(set(made))


def test_sharing_reads_fewer_tokens():
    made = [(1, 2, 3, 4, 5, 6), (1, 2, 3, 4, 9), (1, 2, 3, 4, 5, 6), (7, 8)]
    assert sum(len(tree.tokens) for tree in grow(made, True)) == 6 + 1 + 2
    assert common_prefix(made[0], made[1]) == 4


def test_no_batch_is_wider_than_the_budget_unless_one_row_is():
    made = [tuple(range(n)) for n in (3, 5, 4, 9, 2, 50)]
    planned = list(batches(grow(made, False), 12))
    assert sum(len(batch) for batch in planned) == 6
    assert all(len(batch) * max(len(t.tokens) for t in batch) <= 12 or len(batch) == 1 for batch in planned)
