"""Surprisal by region: alignment of tokens, conventions of encoders, and runs over suites."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedTokenizerFast

from longform.critics.surprisal.read import (
    UNCOUNTED,
    Encoder,
    condition_bits,
    joined,
    read,
    suite_predictions,
    token_regions,
)
from longform.datasets.test_suites.items import Suite, pair, suites_to_corpus
from longform.language_models.log_probs import batches, common_prefix, grow, open_reader
from tests.refusals import refuses

TEXT = "the cat sat on the mat . the naïve dog ’s ball rolled away , however the cat ran ; since then the dog ran too ."
CONTEXT = "the cat sat on the mat . the naïve dog ’s ball rolled away"
END = "<|endoftext|>"
ALPHABET = sorted(pre_tokenizers.ByteLevel.alphabet())


def plain_byte_level(model: models.BPE) -> Tokenizer:
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def byte_level(**ends) -> PreTrainedTokenizerFast:
    tokenizer = plain_byte_level(models.BPE())
    trainer = trainers.BpeTrainer(
        vocab_size=300, special_tokens=[END], initial_alphabet=ALPHABET, show_progress=False
    )
    tokenizer.train_from_iterator([TEXT], trainer)
    ends = ends or {"eos_token": END, "bos_token": END, "pad_token": END}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **ends)


def sentencepiece_like() -> PreTrainedTokenizerFast:
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    marks = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
    special = {"special_tokens": [*marks.values()], "unk_token": "<unk>", "show_progress": False}
    tokenizer.train_from_iterator([TEXT], trainers.UnigramTrainer(vocab_size=80, **special))
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **marks, pad_token="</s>")


TOKENIZERS = {"byte-level": byte_level(), "sentencepiece-like": sentencepiece_like()}
SHAPE = {
    "vocab_size": 320,
    "max_position_embeddings": 128,
    "bos_token_id": 0,
    "eos_token_id": 0,
    "hidden_size": 32,
}
HEADS = {"num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
LOCAL = {
    "num_layers": 2,
    "num_heads": 2,
    "attention_types": [[["global", "local"], 1]],
    "window_size": 4,
}
NETWORKS = {"gpt2": HEADS, "gpt_neox": HEADS, "llama": HEADS, "gpt_neo": LOCAL}


def network(kind: str = "gpt2"):
    torch.manual_seed(0)
    config = AutoConfig.for_model(kind, **SHAPE, **NETWORKS[kind])
    made = AutoModelForCausalLM.from_config(config).double().eval()
    with torch.no_grad():
        for parameter in made.parameters():
            if parameter.ndim == 2:
                parameter.mul_(5.0)  # far from uniform, so that a wrong context shows
    return made


def toy() -> Suite:
    however, since, while_ = (
        [CONTEXT, f", {word}", "the cat ran ."] for word in ("however", "since", "while")
    )
    items = [
        pair(1, {"a": however, "b": since}),
        pair(2, {"a": ["", "the cat", "ran"], "b": ["the dog", "", "ran ; ran ."]}),
        pair(
            3, {"a": ["the naïve dog ’s ball", "sat", "."], "b": ["the naïve dog", "ran", "too ."]}
        ),
        pair(4, {"a": however, "b": while_}),
    ]
    return Suite("toy", "mean", ("(3;%a%) > (3;%b%)",), tuple(items), {"1": "x"})


SUITE = toy()
CONDITIONS = [condition for item in SUITE.items for condition in item.conditions]


def pieces(text: str, ends: list[int]) -> list[str]:
    """The regions of a text, blanks included."""
    return [text[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def unigram_like() -> Tokenizer:
    words = [
        ("<unk>", 0.0),
        ("▁", -1.0),
        *((c, -2.0) for c in "abcdefé ▁日"),
        ("▁a", -1.5),
        ("▁ab", -1.6),
    ]
    words += [(f"<0x{byte:02X}>", -9.0) for byte in range(256)]
    tokenizer = Tokenizer(models.Unigram(list(dict.fromkeys(words)), unk_id=0, byte_fallback=True))
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    return tokenizer


BYTES = plain_byte_level(
    models.BPE(vocab={character: i for i, character in enumerate(ALPHABET)}, merges=[])
)
ALIGNED = {"byte-level": BYTES, "sentencepiece-like": unigram_like()}
characters = st.characters(codec="utf-8", exclude_categories=("Cs", "Cc"))
texts = st.one_of(
    st.text(characters, max_size=40), st.text(st.sampled_from("ab é日\u00a0'’🙂"), max_size=40)
)


@pytest.mark.parametrize("kind", ALIGNED)
@settings(max_examples=100, deadline=None)
@given(texts, st.lists(st.integers(0, 40), max_size=5))
def test_regions_partition_any_text_and_every_token_has_exactly_one(kind, text, cuts):
    ends = [*sorted(min(cut, len(text)) for cut in cuts), len(text)]
    encoded = ALIGNED[kind].encode(text, add_special_tokens=False)
    regions = token_regions(text, ends, [start for start, _ in encoded.offsets])
    assert regions.shape == (len(encoded.ids),)
    assert ((regions >= 0) & (regions < len(ends))).all() or not len(regions)
    assert (np.diff(regions) >= 0).all()
    spans = [0, *ends]
    for region, (start, end) in zip(regions, encoded.offsets, strict=True):
        visible = next((i for i in range(start, end) if not text[i].isspace()), None)
        if visible is not None:
            assert spans[region] <= visible < spans[region + 1]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.text(st.sampled_from("ab é日’🙂\t"), max_size=8), min_size=1, max_size=5))
def test_joined_contents_are_their_words_and_bytes_count_up(contents):
    text, ends = joined(contents)
    assert text == " ".join(" ".join(content.split()) for content in contents if content.split())
    assert [region.split() for region in pieces(text, ends)] == [
        content.split() for content in contents
    ]
    starts = [start for start, _ in BYTES.encode(text).offsets]
    counts = np.bincount(token_regions(text, ends, starts), minlength=len(contents))
    assert counts.tolist() == [len(region.encode()) for region in pieces(text, ends)]


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
    found = condition_bits([SUITE], Encoder(tokens), open_reader(model, 64, share))
    for condition, bits in zip(CONDITIONS, found, strict=True):
        text = " ".join(region.content for region in condition.regions if region.content)
        ids = tokens(text, add_special_tokens=False)["input_ids"]
        np.testing.assert_allclose(
            np.concatenate(bits), by_hand(model, [tokens.bos_token_id, *ids]), atol=1e-9
        )
        lengths = [
            len(tokens(r.content, add_special_tokens=False)["input_ids"]) > 0
            for r in condition.regions
        ]
        assert [len(region) > 0 for region in bits] == lengths


def test_region_sums_equal_a_loop_over_prefixes_of_the_text():
    """Byte-level tokens never cross a blank, so a region's bits are a difference of two prefixes' bits."""
    model, tokens = network(), TOKENIZERS["byte-level"]
    found = condition_bits([SUITE], Encoder(tokens), open_reader(model))
    for condition, bits in zip(CONDITIONS, found, strict=True):
        totals, contents = [0.0], []
        for region in condition.regions:
            contents += [region.content] if region.content else []
            ids = tokens(" ".join(contents), add_special_tokens=False)["input_ids"]
            totals.append(by_hand(model, [tokens.bos_token_id, *ids]).sum() if ids else 0.0)
        np.testing.assert_allclose([region.sum() for region in bits], np.diff(totals), atol=1e-9)


def test_ends_by_the_legacy_convention_and_by_the_image_of_2021():
    model = network()
    for kind, ends in (("byte-level", "legacy_none"), ("sentencepiece-like", "bos_eos_2021")):
        tokens = TOKENIZERS[kind]
        found = condition_bits([SUITE], Encoder(tokens, ends), open_reader(model))[4]
        ids = tokens("the naïve dog ’s ball sat .", add_special_tokens=False)["input_ids"]
        ids = [tokens.bos_token_id, *ids, tokens.eos_token_id] if ends == "bos_eos_2021" else ids
        assert found[0][0] == 0.0 and len(found) == 3 and len(found[2]) > 0
        np.testing.assert_allclose(np.concatenate(found)[1:], by_hand(model, ids), atol=1e-9)


def test_a_change_of_speaker_is_the_end_token_nothing_or_characters():
    tokens = TOKENIZERS["byte-level"]
    [(ids, regions)] = Encoder(tokens, "legacy_none").rows(
        [["the cat ran . [SEP] the dog ran . [SEP]", "the mat ."]]
    )
    said = tokens(["the cat ran .", "the dog ran .", "the mat ."], add_special_tokens=False)[
        "input_ids"
    ]
    assert list(ids) == [*said[0], 0, *said[1], 0, *said[2]]
    assert regions.tolist() == [0] * (len(said[0]) + len(said[1]) + 2) + [1] * len(said[2])
    assert regions.dtype == np.int32
    encoder = Encoder(tokens, "legacy_none", "strip")
    marked, bare = encoder.rows(
        [["the cat ran . [SEP]", "the mat ."], ["the cat ran .", "the mat ."]]
    )
    assert marked[0] == bare[0] and marked[1].tolist() == bare[1].tolist()
    [(literal, _)] = Encoder(tokens, "legacy_none", "literal").rows([["a [SEP]", "b"]])
    assert 0 not in literal and len(literal) > 4


rows = st.lists(
    st.lists(st.integers(1, 3), min_size=1, max_size=12).map(tuple), min_size=1, max_size=12
)


@settings(max_examples=120, deadline=None)
@given(rows, st.booleans())
def test_trees_have_every_row_once_and_the_mask_its_own_prefix(made, share):
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


def test_sharing_reads_fewer_tokens_and_batches_keep_to_the_budget():
    made = [(1, 2, 3, 4, 5, 6), (1, 2, 3, 4, 9), (1, 2, 3, 4, 5, 6), (7, 8)]
    assert sum(len(tree.tokens) for tree in grow(made, True)) == 6 + 1 + 2
    assert common_prefix(made[0], made[1]) == 4
    made = [tuple(range(n)) for n in (3, 5, 4, 9, 2, 50)]
    planned = list(batches(grow(made, False), 12, False))
    assert sum(len(batch) for batch in planned) == 6
    assert all(
        len(batch) * max(len(t.tokens) for t in batch) <= 12 or len(batch) == 1 for batch in planned
    )


def test_a_row_runs_from_files(tmp_path):
    network().float().save_pretrained(tmp_path)
    TOKENIZERS["byte-level"].save_pretrained(tmp_path)
    corpus = suites_to_corpus([SUITE])
    predictions = read(documents=corpus.documents, truth=corpus.truth, reader=tmp_path, name="row")
    encoder = Encoder(TOKENIZERS["byte-level"])
    direct = suite_predictions([SUITE], encoder, open_reader(network().float()))
    assert predictions.unit_ids == ("toy/1", "toy/2", "toy/3", "toy/4")
    np.testing.assert_allclose(
        predictions.arrays["token_bits"], direct.arrays["token_bits"], atol=1e-4
    )
    assert sum(predictions.arrays["region_tokens"]) == len(predictions.arrays["token_bits"])


def test_bad_input_is_named():
    bare = byte_level(pad_token=END)
    assert Encoder(bare, "legacy_none", "strip").rows([["the cat", "ran"]])
    refuses("has no end token", Encoder, bare, "bos_eos_2021")
    refuses("has no end token", Encoder(bare, "legacy_none").rows, [["the cat [SEP]", "ran"]])
    for text, why in (
        ("the cat " * 80, r"\d+ tokens, the model reads 128"),
        ("", "the tokenizer gives no token"),
    ):
        bad = Suite("s", "sum", ("(1;%a%) > (1;%b%)",), (pair(7, {"a": [text], "b": ["the"]}),))
        given = [bad], Encoder(TOKENIZERS["byte-level"], "legacy_none"), open_reader(network())
        refuses(f"suite s, item 7, condition a: {why}", condition_bits, *given)
    refuses("ends is 'cls'", Encoder, TOKENIZERS["byte-level"], "cls")
    refuses("separator is 'tab'", Encoder, TOKENIZERS["byte-level"], separator="tab")


def test_a_begin_token_stands_in_front_else_the_end_token_else_none():
    both = byte_level(bos_token="<|begin|>", eos_token=END, pad_token=END)
    for tokens, begin in (
        (both, both.bos_token_id),
        (byte_level(eos_token=END), 0),
        (byte_level(pad_token=END), None),
    ):
        ((ids, regions),) = Encoder(tokens, "bos", "strip").rows([["the cat", "ran"]])
        words = tuple(tokens("the cat ran", add_special_tokens=False)["input_ids"])
        assert ids == (words if begin is None else (begin, *words))
        assert regions[0] == UNCOUNTED and (regions[1:] >= 0).all()


def test_tokens_equal_minicons_on_the_same_texts(tmp_path):
    scorer = pytest.importorskip("minicons.scorer")
    texts = [TEXT[i:].lstrip() for i in range(0, 100, 9)]
    for kind, tokens in TOKENIZERS.items():
        model = network().float()
        judge = scorer.IncrementalLMScorer(model, "cpu", tokenizer=tokens)
        theirs = judge.token_score(texts, surprisal=True, base_two=True)
        one = Suite(
            "t",
            "sum",
            ("(1;%a%) > 0",),
            tuple(pair(i, {"a": [text]}) for i, text in enumerate(texts)),
        )
        ours = condition_bits([one], Encoder(tokens, "legacy_none", "literal"), open_reader(model))
        for expected, found in zip(theirs, ours, strict=True):
            np.testing.assert_allclose(
                np.concatenate(found), [value for _, value in expected], atol=1e-4, err_msg=kind
            )
