"""How rows are read, counted and averaged, number by number, with stand-ins for networks."""

import hashlib
import math
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from longform.documents import Document, Section
from longform.language_models import (
    capacity,
    checkpoints,
    lightning,
    log_probs,
    ngram,
    sentence_features,
    translation,
)
from longform.language_models.lightning import Learner
from longform.language_models.log_probs import Tree, batches, common_prefix, grow, split_network
from longform.language_models.sentence_features import SentenceEncoder
from longform.language_models.settings import Finetuned, Network
from longform.language_models.translation import NETWORKS, Shape
from tests.refusals import refuses


def test_a_tree_has_parents_depths_ancestors_and_the_nodes_of_each_row():
    (tree,) = grow([(5, 6, 8), (5, 6), (5, 6, 7, 9), (5, 6, 8), (5, 4)], share=True)
    assert tree.tokens == [5, 4, 6, 7, 9, 8]
    assert tree.runs == [(0, -1), (2, 0), (3, 2), (5, 2)]
    rows = [(index, nodes.tolist()) for index, nodes in tree.rows]
    assert rows == [(4, [0, 1]), (1, [0, 2]), (2, [0, 2, 3, 4]), (0, [0, 2, 5]), (3, [0, 2, 5])]
    assert tree.parents.tolist() == [-1, 0, 0, 2, 3, 2]
    assert tree.depths().tolist() == [0, 1, 1, 2, 3, 2]
    ancestors = [[0], [0, 1], [0, 2], [0, 2, 3], [0, 2, 3, 4], [0, 2, 5]]
    found = tree.ancestors()
    assert [np.flatnonzero(row).tolist() for row in found] == ancestors and found.dtype == bool


@pytest.mark.parametrize(
    ("rows", "share", "sizes"),
    [
        ([(1, 2, 3), (1, 2, 3), (1, 2, 4)], False, [3, 3]),
        ([(1, 2, token) for token in range(6)], True, [6, 4]),  # six nodes are twice a row
        ([(1, 2), (1, 3), (1, 4), (1, 5)], True, [4, 2]),  # four are the most of short rows
        ([(1, 2, *range(8)), (1, 2, *range(1, 9))], True, [18]),  # two of ten are a fifth
        ([(1, *range(9)), (1, *range(1, 10))], True, [10, 10]),
        ([(1,), (2,)], True, [1, 1]),
        ([], True, []),
    ],
)
def test_rows_share_a_tree_where_that_pays(rows, share, sizes, monkeypatch):
    monkeypatch.setattr(log_probs, "TREE_NODES", 4)
    assert [len(tree.tokens) for tree in grow(rows, share)] == sizes


@pytest.mark.parametrize(
    ("first", "second", "shared"),
    [((1, 2, 3), (1, 2, 4), 2), ((1, 2), (1, 2, 3), 2), ((1,), (2,), 0), ((), (1,), 0), ((4, 4), (4, 4), 2)],
)  # fmt: skip
def test_a_common_prefix_ends_at_the_first_other_token(first, second, shared):
    assert common_prefix(first, second) == shared


def of_size(size, branches=1):
    return Tree(list(range(size)), [(0, -1)] * branches, [])


@pytest.mark.parametrize(
    ("sizes", "budget", "equal", "expected"),
    [
        ([3, 1, 2], 6, False, [[1, 2], [3]]),
        ([3, 1, 2], 9, False, [[1, 2, 3]]),
        ([3, 1, 2], 8, False, [[1, 2], [3]]),
        ([3, 3, 1], 9, True, [[1], [3, 3]]),
        ([5, 9], 1, False, [[5], [9]]),
        ([], 1, False, []),
    ],
)
def test_a_batch_has_trees_of_like_size_within_the_budget(sizes, budget, equal, expected):
    found = list(batches([of_size(size) for size in sizes], budget, equal))
    assert [[len(tree.tokens) for tree in batch] for batch in found] == expected
    mixed = [of_size(2, 2), *(of_size(size) for size in sizes), of_size(2, 3)]
    found = list(batches(mixed, max(budget, 4), equal))
    assert [len(tree.runs) for tree in found[-1]] == [2, 3]
    assert all(len(tree.runs) == 1 for batch in found[:-1] for tree in batch)


class Body(torch.nn.Module):
    """States of two dims, and a network's logits that are its layer's times a factor."""

    def __init__(self, factor, **config):
        super().__init__()
        self.layer = torch.nn.Linear(2, 3, bias=False, dtype=torch.float64)
        self.layer.weight.data = torch.tensor([[100.0, 20], [7, 900], [-40, 3]]).double()
        self.config = SimpleNamespace(max_position_embeddings=8, vocab_size=3, model_type="x", **config)  # fmt: skip
        self.device, self.factor = "cpu", factor

    def base_model(self, input_ids, use_cache):
        assert use_cache is False
        return (torch.stack([input_ids + 1, 2 - input_ids], dim=-1).double(),)

    def get_output_embeddings(self):
        return self.layer

    get_input_embeddings = get_output_embeddings

    def forward(self, input_ids, use_cache):
        (states,) = self.base_model(input_ids, use_cache)
        return SimpleNamespace(logits=self.layer(states) * self.factor)


@pytest.mark.parametrize(
    ("factor", "config", "head"),
    [
        (1.0, {}, 1.0), (1 + 5e-7, {}, 1.0), (1 + 5e-6, {}, None), (3.0, {"logit_scale": 3.0}, 3.0),
        (0.25, {"logits_scaling": 4.0}, 0.25), (3.0, {}, None), (1.0, {"logit_scale": 3.0}, 1.0),
    ],
)  # fmt: skip
def test_a_head_is_taken_that_gives_the_networks_logits_to_a_millionth(factor, config, head):
    network = Body(factor, **config)
    found = split_network(network)
    if head is None:
        assert found is None
        return
    body, layer = found
    states = body(input_ids=torch.tensor([[0, 2]]), use_cache=False)
    assert states.tolist() == [[[1.0, 2.0], [3.0, 0.0]]]
    torch.testing.assert_close(layer(states), network.layer(states) * head, rtol=1e-12, atol=0)


@pytest.mark.parametrize(("logit", "taken"), [(9e-7, True), (2e-6, False)])
def test_a_head_may_miss_logits_of_zero_by_a_millionth(logit, taken):
    network = Body(0.0)
    network.layer.weight.data.fill_(logit / 3)  # the sum of the two states is 3
    assert (split_network(network) is not None) == taken


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_log_probabilities_have_the_precision_of_the_network(dtype):
    """Uniform over four tokens, read by a head that is applied to two states at a time."""
    network = SimpleNamespace(config=SimpleNamespace(model_type="x", vocab_size=4), device="cpu",
                              get_input_embeddings=lambda: None, dtype=dtype)  # fmt: skip

    def body(input_ids, use_cache):
        return torch.zeros(*input_ids.shape, 2, dtype=dtype)

    def head(states):
        assert len(states) <= 2
        return torch.zeros(len(states), 4, dtype=states.dtype)

    reader = log_probs.LogProbReader(network, body, head, 8, True, "x")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(log_probs, "POSITIONS", 2)
        patch.setattr(log_probs.capacity, "vocabulary_size", lambda network: 4)
        patch.setattr(log_probs.capacity, "turns_by_length", lambda network: True)
        patch.setattr(log_probs.capacity, "sliding_window", lambda network: None)
        found = reader.read([(1,), (0, 1, 2, 3), ()])
        assert reader.read([(0, 3)])[0].tolist() == pytest.approx([-math.log(4)])
    kind = np.float64 if dtype == torch.float64 else np.float32
    assert found[1].tolist() == pytest.approx([-math.log(4)] * 3) and found[1].dtype == kind
    assert [(len(row), row.dtype) for row in (found[0], found[2])] == [(0, np.float32)] * 2


def test_n_grams_are_counted_by_hand_past_a_row_without_tokens():
    """Tokens 0 1 0: two pairs of count 1 each, so that a discount of a half is taken."""
    tables = ngram._count([[0, 1, 0], []], 2, 2)
    expected = {
        "keys_2": np.array([1, 2]), "shares_2": np.array([0.5, 0.5]), "weights_2": np.array([0.5, 0.5]),
        "unigrams": np.array([0.5, 0.5]),
    }  # fmt: skip
    assert tables.keys() == expected.keys()
    for name, values in expected.items():
        np.testing.assert_array_equal(tables[name], values, strict=True)
    # The pair that opens a row counts too: 1 0 beside 0 1.
    assert ngram._count([[1, 0, 1]], 2, 3)["keys_2"].tolist() == [1, 2]
    # Counts 1, 1 and 2: the discount is 2 / (2 + 2 x 1); after 0 stand 3 pairs of 2 kinds.
    shares, weights = ngram._discounted(np.array([0, 0, 1]), np.array([1, 2, 1]))
    assert shares.tolist() == [0.5 / 3, 1.5 / 3, 0.5] and weights.tolist() == [1 / 3, 1 / 3, 0.5]


def test_an_ngram_network_has_nothing_to_train():
    network = ngram.NgramLanguageModel(ngram.NgramConfig(3, [2, 1]))
    (unigrams,) = network.parameters()
    assert unigrams.shape == (3,) and not unigrams.requires_grad
    shapes = {name: (tuple(held.shape), held.dtype) for name, held in network.named_buffers()}
    real, whole = torch.float32, torch.int64
    assert shapes == {"keys_2": ((2,), whole), "shares_2": ((2,), real), "weights_2": ((2,), real),
                      "keys_3": ((1,), whole), "shares_3": ((1,), real), "weights_3": ((1,), real)}  # fmt: skip


def test_a_sentences_features_are_the_mean_over_its_own_tokens():
    """States are the token and how many tokens are seen."""
    seen = []

    class Network(torch.nn.Linear):
        def forward(self, *, input_ids, attention_mask):
            seen.append((input_ids.tolist(), attention_mask.tolist()))
            many = attention_mask.sum(1, keepdim=True).expand(input_ids.shape)
            return SimpleNamespace(last_hidden_state=torch.stack([input_ids, many], dim=2).double())

    found = SentenceEncoder(None, Network(1, 1))._means([[1, 2], [7]])
    np.testing.assert_array_equal(found, np.array([[1.5, 2], [7, 1]], np.float32), strict=True)
    assert seen == [([[1, 2], [7, 0]], [[1, 1], [1, 0]])]


def test_a_finetuning_starts_from_a_pointer_in_a_folder_old_or_new(tmp_path, monkeypatch):
    saved = []

    def published(**named):
        return SimpleNamespace(save=lambda folder: saved.append((named, folder, folder.is_dir())))

    monkeypatch.setattr(checkpoints, "published", published)
    settings = Finetuned(hub="a/b", revision="c")
    folder = tmp_path / "new" / "pointer"
    for _ in range(2):
        assert settings.start(tmp_path, folder) == folder
    named = {"hub": "a/b", "revision": "c", "package": None, "file": None}
    assert saved == [(named, folder, True)] * 2


def test_a_length_far_from_the_sources_counts_as_the_last_of_its_side():
    """Sources of 200 and 1 tokens, targets of 1 and 400: offsets -199 and 399 from the middle."""
    labels = torch.full((2, 400), translation.IGNORED)
    labels[0, :1], labels[1] = 5, 6
    source = torch.zeros(2, 200, dtype=torch.int64)
    source[0], source[1, 0] = 4, 4
    votes = torch.zeros(2, 256)
    votes[0, 0], votes[1, 255] = math.log(255), math.log(85)  # a half and a quarter
    asked = []

    def place_scores(memory, source, sizes):
        asked.append((memory, sizes.tolist()))
        return torch.zeros(2, 400, 7)

    model = SimpleNamespace(encode=lambda source: "memory", place_scores=place_scores,
                            length_scores=lambda memory, source: votes)  # fmt: skip
    loss = translation.ParallelTranslator.loss(model, {"source": source, "labels": labels})
    assert float(loss) == pytest.approx(math.log(7) + 0.1 * (math.log(2) + math.log(4)) / 2)
    assert asked == [("memory", [1, 400])]


@pytest.mark.parametrize("kind", NETWORKS)
@torch.no_grad()
def test_a_padded_source_is_encoded_without_tensors_that_are_nested(kind):
    torch.manual_seed(0)
    model = NETWORKS[kind](Shape(1, 2, 8, 8, 0.0, 9), 9).eval()
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # torch warns of them as of a prototype
        states = model.encode(torch.tensor([[5, 6, 2], [4, 2, 0]]))
    alone = model.encode(torch.tensor([[4, 2]]))
    torch.testing.assert_close(states[1:, :2], alone, rtol=1e-5, atol=1e-5)
    assert states[1, 2].abs().sum() > 0  # nested ones would leave zeros


@pytest.fixture
def encoder(monkeypatch):
    """An encoder of 3 positions, whose features are a sentence's first token and length."""
    monkeypatch.setattr(
        sentence_features.capacity, "window_size", lambda network, most: min(most, 3)
    )
    read = []

    def means(self, rows):
        read.append(rows)
        return np.array([[row[0], len(row)] for row in rows], np.float32)

    monkeypatch.setattr(SentenceEncoder, "_means", means)
    network = SimpleNamespace(config=SimpleNamespace(hidden_size=2))
    tokenizer = lambda text, verbose: {"input_ids": [int(word) for word in text.split()]}  # noqa: E731
    return SentenceEncoder(tokenizer, network, batch_tokens=6), read


def test_each_sentence_is_read_once_cut_to_the_window_in_batches(encoder):
    made, read = encoder
    found = made.encode(["1 2 3 4", "5 6 7", "8", "8", "9 9"])
    expected = np.array([[1, 3], [5, 3], [8, 1], [8, 1], [9, 2]], np.float32)
    np.testing.assert_array_equal(found, expected, strict=True)
    assert read == [[[8], [9, 9]], [[1, 2, 3], [5, 6, 7]]] and made.truncated == 1
    np.testing.assert_array_equal(made.encode(["8", "5 6 7"]), [[8, 1], [5, 3]])
    assert len(read) == 2 and sorted(made.features) == sorted(
        hashlib.blake2b(text.encode(), digest_size=12).hexdigest()
        for text in ("1 2 3 4", "5 6 7", "8", "9 9")
    )
    nothing = made.encode([])
    assert nothing.shape == (0, 2) and nothing.dtype == np.float32


def test_progress_in_sentences_is_said_after_ten_seconds(encoder, monkeypatch, capsys):
    made, _ = encoder
    made.batch_tokens = 1
    seconds = iter([0.0, 10.0, 10.5, 11.0, 21.0])
    monkeypatch.setattr(sentence_features.time, "monotonic", lambda: next(seconds))
    made.encode(["1", "2", "3"], "train e")
    assert capsys.readouterr().out == "train e: 1/3 sentences read\n"


def test_an_encoder_is_kept_with_its_own_files_and_sorted_features(encoder, tmp_path):
    made, _ = encoder
    made.encode(["2 3 4 5", "1"])
    old, new = tmp_path / "old", tmp_path / "new"
    for folder in (old, new):
        folder.mkdir()
    kept = ["LICENSE", "config.json", "vocab.txt", "w.safetensors"]
    for name in (*kept, "sentence_features.json", "w.bin"):
        (old / name).write_text(f"of {name}")
    sentence_features.KeptFeatures(old, made).save(new)
    own = ["features.npz", "sentence_features.json"]
    assert sorted(path.name for path in new.iterdir()) == sorted([*kept, *own])
    assert [(new / name).read_text() for name in kept] == [f"of {name}" for name in kept]
    assert (new / own[1]).read_text() == '{"sentences": 2, "truncated": 1}\n'
    with np.load(new / own[0]) as file:
        assert file["keys"].tolist() == sorted(made.features)
        features = np.array([made.features[key] for key in sorted(made.features)])
        np.testing.assert_array_equal(file["features"], features, strict=True)


def test_an_encoder_of_a_package_has_the_pinned_weights(tmp_path, monkeypatch):
    (tmp_path / "model.safetensors").write_bytes(b"abc")
    (tmp_path / "carried_encoder.py").write_text(f"get_model_path = lambda: {str(tmp_path)!r}\n")
    monkeypatch.syspath_prepend(tmp_path)
    digest = hashlib.sha256(b"abc").hexdigest()
    pinned = sentence_features.packaged_folder
    refuses(f"model.safetensors has SHA-256 {digest}, pinned is 53aa", pinned, "carried_encoder")
    monkeypatch.setattr(sentence_features, "MINILM_SHA256", digest)
    assert pinned("carried_encoder") == tmp_path


def test_sentences_are_split_section_by_section_without_blank_ones():
    texts = [Document("a", "train", (Section(None, " One.  Two. "), Section("T", "Three"))),
             Document("b", "train", (Section(None, " "),))]  # fmt: skip
    split = sentence_features.split_sentences
    assert split(texts, "full_stops") == [["One.", "Two.", "Three"], []]
    refuses("^splitter 'x'; allowed are", split, texts, "x")


@pytest.mark.parametrize(("learner", "world"), [(True, 2), (False, 1)])
def test_a_validation_is_divided_where_its_parts_can_be_added_up(learner, world):
    module = Learner.__new__(Learner) if learner else SimpleNamespace()
    if learner:
        torch.nn.Module.__init__(module)
    schedule = SimpleNamespace(batch=3, launch=SimpleNamespace(world=2))
    made = lightning._validation_batches(module, 10, schedule)
    assert (made.items, made.batch, made.world, made.batches) == (10, 3, world, 4)
    assert not learner or module.validation is made


@pytest.mark.parametrize(
    ("settings", "window", "turns", "positions"),
    [
        ({}, None, False, None),
        ({"sliding_window": 0, "n_positions": 7}, None, False, 7),
        ({"sliding_window": 4, "max_position_embeddings": 0}, 4, False, None),
        ({"sliding_window": 4, "layer_types": ["full_attention"]}, None, False, None),
        ({"sliding_window": 4, "layer_types": ["full_attention", "sliding_attention"]}, 4, False, None),
        ({"rope_parameters": {"rope_type": "default"}}, None, False, None),
        ({"rope_parameters": {"rope_type": "dynamic"}}, None, True, None),
        ({"rope_parameters": {"a": {"rope_type": "default"}, "b": {"rope_type": "longrope"}}}, None, True, None),
    ],
)  # fmt: skip
def test_what_a_network_reads_is_in_its_configuration(settings, window, turns, positions):
    network = SimpleNamespace(config=SimpleNamespace(**settings), named_modules=lambda: [])
    assert capacity.sliding_window(network) == window
    assert capacity.turns_by_length(network) is turns
    assert capacity.positions(network) == positions
    assert capacity.window_size(network) == (positions or 2048)
    assert [capacity.window_size(network, most) for most in (3, 9000)] == [3, positions or 2048]


def test_a_network_from_scratch_or_without_training_has_no_bases():
    training = SimpleNamespace(bases="b")
    for scratch, given, bases in (
        (True, training, None),
        (False, None, None),
        (False, training, "b"),
    ):
        assert Network(model_type="gpt2", from_scratch=scratch).bases(given) == bases
