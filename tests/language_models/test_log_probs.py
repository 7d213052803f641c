"""Log-probabilities of rows against one plain forward pass for each row, by architecture; how much is read at once."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM

from longform.language_models import capacity
from longform.language_models.log_probs import LOGITS_BYTES, MOST_TOKENS, open_reader
from tests.refusals import refuses

VOCABULARY = 60
SIZES = {
    "vocab_size": VOCABULARY,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
}
ENDS = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
LLAMA = {
    **SIZES,
    "num_key_value_heads": 1,
    "intermediate_size": 32,
    "head_dim": 8,
    "max_position_embeddings": 64,
}
WINDOWED = {**LLAMA, "sliding_window": 4}
DYNAMIC = {"rope_type": "dynamic", "factor": 4.0, "rope_theta": 10.0}
LONG = {"rope_type": "longrope", "rope_theta": 10.0, "original_max_position_embeddings": 13, "factor": 4.0,
        "short_factor": [1.0] * 4, "long_factor": [1.0, 2.0, 4.0, 8.0]}  # fmt: skip
NETWORKS = {
    "qwen2, window 4": ("qwen2", {**WINDOWED, "use_sliding_window": True, "max_window_layers": 0}),
    "qwen2, one layer of two with window 4": (
        "qwen2",
        {**WINDOWED, "use_sliding_window": True, "max_window_layers": 1},
    ),
    "qwen2, window not used": ("qwen2", {**WINDOWED, "use_sliding_window": False}),
    "mistral, window 4": ("mistral", WINDOWED),
    "gemma2, window 4 and capped logits": ("gemma2", {**WINDOWED, "final_logit_softcapping": 2.0}),
    "gemma3, window 4": ("gemma3_text", WINDOWED),
    "llama, dynamic rotation": (
        "llama",
        {**LLAMA, "max_position_embeddings": 8, "rope_parameters": DYNAMIC},
    ),
    "llama, long rotation": ("llama", {**LLAMA, "rope_parameters": LONG}),
    "bloom, alibi": (
        "bloom",
        {"vocab_size": VOCABULARY, "hidden_size": 16, "n_layer": 2, "n_head": 2},
    ),
    "mpt, alibi": (
        "mpt",
        {"vocab_size": VOCABULARY, "d_model": 16, "n_layers": 2, "n_heads": 2, "max_seq_len": 64},
    ),
    "mamba": (
        "mamba",
        {"vocab_size": VOCABULARY, "hidden_size": 16, "num_hidden_layers": 2, "state_size": 4},
    ),
    "granite, divided logits": ("granite", {**LLAMA, "logits_scaling": 7.0}),
    "cohere, multiplied logits": ("cohere", {**LLAMA, "logit_scale": 0.3}),
    "opt": (
        "opt",
        {**SIZES, "ffn_dim": 32, "max_position_embeddings": 64, "word_embed_proj_dim": 16},
    ),
}


def network(name: str):
    kind, settings = NETWORKS[name]
    torch.manual_seed(0)
    made = (
        AutoModelForCausalLM.from_config(AutoConfig.for_model(kind, **settings, **ENDS))
        .double()
        .eval()
    )
    with torch.no_grad():
        for parameter in made.parameters():
            if parameter.ndim == 2:
                parameter.mul_(8.0)  # far from uniform, so that a wrong context shows
    return made


def family_of_rows() -> list[tuple[int, ...]]:
    """Rows of 2 to 20 tokens, most of which share a long prefix, as the conditions of a suite's items do."""
    rng = np.random.default_rng(5)
    prefix = tuple(rng.integers(3, VOCABULARY, 12).tolist())
    endings = [tuple(rng.integers(3, VOCABULARY, length).tolist()) for length in (1, 2, 4, 8, 8)]
    return [
        *(prefix + ending for ending in endings),
        prefix[:2],
        prefix[:7],
        tuple(rng.integers(3, VOCABULARY, 20).tolist()),
    ]


def plain(made, row: tuple[int, ...]) -> np.ndarray:
    with torch.no_grad():
        log_probs = made(input_ids=torch.tensor([row]), use_cache=False).logits[0].log_softmax(-1)
    return log_probs[range(len(row) - 1), row[1:]].numpy()


@pytest.mark.parametrize("name", NETWORKS)
def test_rows_read_together_equal_rows_read_alone(name):
    made, rows = network(name), family_of_rows()
    read = [open_reader(made, 64, share).read(rows) for share in (True, False)]
    for together in read:
        for row, log_probs in zip(rows, together, strict=True):
            made(
                input_ids=torch.tensor([[3, 4]])
            )  # some keep the rotation of the longest row until a short one comes
            np.testing.assert_allclose(
                log_probs, plain(made, row), atol=1e-6, err_msg=f"{len(row)} tokens"
            )


def test_a_tree_is_read_only_within_the_sliding_window():
    windowed, whole = network("qwen2, window 4"), network("qwen2, window not used")
    assert [open_reader(windowed).reads_trees(length) for length in (4, 5)] == [True, False]
    assert open_reader(whole).reads_trees(50)
    assert not open_reader(network("llama, dynamic rotation")).reads_trees(2)


@pytest.mark.parametrize(
    "name",
    ["gemma2, window 4 and capped logits", "granite, divided logits", "cohere, multiplied logits"],
)
def test_logits_that_are_capped_or_scaled_are_still_computed_in_blocks(name):
    made = network(name)
    states = torch.randn(2, 3, 16, dtype=torch.float64)
    assert open_reader(made).head(states).shape == (2, 3, VOCABULARY)


def test_a_network_whose_cache_fails_is_opened_and_read_without_it():
    made = network("granite, divided logits")

    def without_cache(_, args, given):
        # as xLSTM and RecurrentGemma do where a row is shorter than what they keep
        if given.get("use_cache") is not False:
            raise ValueError("this network keeps no states")

    expected = plain(made, (3, 4, 5))
    made.base_model.register_forward_pre_hook(without_cache, with_kwargs=True)
    np.testing.assert_allclose(open_reader(made).read([(3, 4, 5)])[0], expected, atol=1e-6)


class Fake(torch.nn.Module):
    """Uniform over its vocabulary; it counts the tokens of the batches that it is given."""

    def __init__(self, vocabulary: int, positions: int) -> None:
        super().__init__()
        self.embedding = torch.nn.Embedding(vocabulary, 1)
        self.config = SimpleNamespace(
            model_type="fake", max_position_embeddings=positions, vocab_size=vocabulary
        )
        self.device, self.dtype, self.largest = torch.device("cpu"), torch.float32, 0

    @property
    def base_model(self):
        return self

    def get_input_embeddings(self):
        return self.embedding

    def get_output_embeddings(self):
        return None

    def forward(self, input_ids, use_cache):
        self.largest = max(self.largest, input_ids.numel())
        return SimpleNamespace(
            logits=torch.zeros(1).expand(*input_ids.shape, self.config.vocab_size)
        )


@pytest.mark.parametrize(
    ("vocabulary", "most"), [(10, MOST_TOKENS), (100_000, LOGITS_BYTES // 400_000)]
)
def test_a_batch_grows_with_neither_the_models_window_nor_its_vocabulary(vocabulary, most):
    made = Fake(vocabulary, positions=1_000_000)
    rows = [tuple(map(int, f"{number:08}")) for number in range(most // 4)]
    open_reader(made, budget=16 * 1_000_000).read(rows)
    assert most // 2 < made.largest <= most


def test_rows_without_a_token_to_predict_unknown_tokens_and_nan_are_told():
    made = Fake(10, 64)
    assert [len(row) for row in open_reader(made).read([(), (1,), (1, 2, 3)])] == [0, 0, 2]
    assert open_reader(made).read([()])[0].shape == (0,)
    refuses("token 10, the network knows tokens 0 to 9", open_reader(made).read, [(1, 10)])
    broken = network("mistral, window 4")
    with torch.no_grad():
        broken.get_input_embeddings().weight[7] = torch.nan
    assert np.isfinite(open_reader(broken).read([(3, 4, 5)])[0]).all()
    refuses("no numbers", open_reader(broken).read, [(3, 7, 5)])


def test_positions_are_read_off_architectures_that_name_them_in_other_ways():
    small = {
        "vocab_size": VOCABULARY,
        "hidden_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
    }
    roberta = AutoConfig.for_model(
        "roberta",
        **small,
        max_position_embeddings=34,
        is_decoder=True,
        **ENDS | {"pad_token_id": 1},
    )
    made = AutoModelForCausalLM.from_config(roberta).eval()
    assert capacity.positions(made) == 32
    made(input_ids=torch.full((1, 32), 5))
    with pytest.raises((IndexError, RuntimeError)):
        made(input_ids=torch.full((1, 33), 5))
    assert capacity.positions(network("bloom, alibi")) is None
    assert capacity.window_size(network("bloom, alibi")) == capacity.UNLIMITED
    assert capacity.positions(network("mpt, alibi")) == 64 == capacity.window_size(network("opt"))
    assert capacity.window_size(network("opt"), at_most=9) == 9
