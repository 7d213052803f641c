"""Models are tried before they are trusted: what cannot be used as a causal language model is refused in one sentence."""

import json

import numpy as np
import pytest
import torch
from tiny import bpe_folder, documents, lm_folder
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoTokenizer,
    BartConfig,
    BartForConditionalGeneration,
    GPT2Config,
    GPT2LMHeadModel,
    PreTrainedTokenizerFast,
)

from longform.critics.perplexity import read as token_predictions
from longform.critics.perplexity.score import Perplexity, units_from_predictions
from longform.documents import Document, Section
from longform.errors import BadInput
from longform.language_models import ngram, tokenizers
from longform.language_models.checkpoints import (
    load_config,
    load_model,
    load_reader,
    load_tokenizer,
)
from longform.language_models.log_probs import open_reader
from longform.language_models.sentence_features import open_encoder
from longform.language_models.trial import open_language_model, try_language_model
from tests.refusals import refuses

SMALL = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "vocab_size": 300,
}
BIDIRECTIONAL = (
    "bert",
    "roberta",
    "electra",
    "camembert",
    "megatron-bert",
    "xlm-roberta",
    "data2vec-text",
    "ernie",
)
GROUPED = {
    kind: {"num_key_value_heads": 2, "head_dim": 8} for kind in ("qwen2", "mistral", "gemma2")
}
CAUSAL = ("gpt_neox", "llama", "qwen2", "mistral", "bloom", "mamba", "opt", "gemma2")


def network(kind, **settings):
    torch.manual_seed(0)
    if kind == "bloom":
        settings = {"n_layer": 2, "n_head": 2} | settings
    config = AutoConfig.for_model(
        kind, **{**SMALL, "pad_token_id": 1} | GROUPED.get(kind, {}) | settings
    )
    return AutoModelForCausalLM.from_config(config).eval()


@pytest.fixture(scope="module")
def words(tmp_path_factory):
    return load_tokenizer(bpe_folder(tmp_path_factory.mktemp("bpe")))


@pytest.mark.parametrize("kind", BIDIRECTIONAL)
def test_a_network_that_reads_to_both_sides_is_refused(kind, words):
    said = f"^f: a network of kind '{kind}' reads to both sides.*name a causal language model"
    refuses(said, try_language_model, network(kind), words, "f")


def test_a_network_of_two_positions_reads_and_one_of_one_position_does_not(words):
    two = network("gpt2", n_positions=2, n_embd=16, n_layer=1, n_head=2)
    try_language_model(two, words, "f")
    ids = (0, 5, 9)
    read = open_reader(two, share=False).read([ids[:2], ids[1:]])
    alone = [
        two(torch.tensor([pair])).logits[0, 0].log_softmax(-1)[pair[1]]
        for pair in (ids[:2], ids[1:])
    ]
    assert np.allclose(np.concatenate(read), torch.stack(alone).detach().numpy(), atol=1e-6)
    one = network("gpt2", n_positions=1, n_embd=16, n_layer=1, n_head=2)
    refuses("^f: the network reads one token at a time", try_language_model, one, words, "f")


@pytest.mark.parametrize("open_it", [load_tokenizer, open_language_model, load_config,
                                     lambda folder: load_model(folder, AutoModelForCausalLM)])  # fmt: skip
def test_code_in_a_folder_never_runs_though_somebody_says_yes(open_it, tmp_path, monkeypatch):
    folder = lm_folder(tmp_path / "model")
    config = json.loads((folder / "config.json").read_text())
    code = {
        "AutoConfig": "own.Config",
        "AutoModelForCausalLM": "own.Network",
        "AutoTokenizer": ["own.Words", None],
    }
    (folder / "config.json").write_text(
        json.dumps({**config, "model_type": "own", "auto_map": code})
    )
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    settings = {
        **settings,
        "tokenizer_class": "Words",
        "auto_map": {"AutoTokenizer": ["own.Words", None]},
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    (folder / "own.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()\n")
    monkeypatch.setattr("builtins.input", lambda _: "y")
    with pytest.raises((BadInput, ValueError), match="contains custom code"):
        open_it(folder)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "tokenizer_config.json"])
@pytest.mark.parametrize("content", ["[]", "null\n", ' "x"'])
def test_settings_that_are_no_json_object_are_refused_in_a_sentence(name, content, tmp_path):
    folder = bpe_folder(tmp_path / "model")
    (folder / name).write_text(content)
    refuses(f"model: {name} holds no JSON object; ", load_tokenizer, folder)


def test_a_tokenizer_file_without_its_parts_is_refused(tmp_path):
    folder = bpe_folder(tmp_path / "model")
    (folder / "tokenizer.json").write_text("{}")
    refuses("tokenizer.json lacks 'added_tokens'", load_tokenizer, folder)


@pytest.mark.parametrize("kind", ["roberta", "bert"])
def test_the_same_network_as_a_decoder_is_taken(kind, words):
    try_language_model(network(kind, is_decoder=True), words, "f")


@pytest.mark.parametrize("kind", CAUSAL)
def test_causal_networks_are_taken(kind, words):
    try_language_model(network(kind), words, "f")


class PrefixNetwork(GPT2LMHeadModel):
    """Reads its first ``prefix`` tokens to both sides, and what follows from left to right."""

    def __init__(self, config, prefix):
        super().__init__(config)
        self.prefix = prefix

    def forward(self, input_ids, **given):
        size = input_ids.shape[1]
        seen = torch.ones(size, size, dtype=torch.bool).tril()
        prefix = self.prefix(size)
        seen[:prefix, :prefix] = True
        mask = torch.zeros(size, size).masked_fill(~seen, torch.finfo(torch.float32).min)
        return super().forward(
            input_ids, attention_mask=mask.expand(len(input_ids), 1, size, size), **given
        )


@pytest.mark.parametrize("prefix", [lambda size: 3, lambda size: size // 2])
def test_a_prefix_that_is_read_to_both_sides_is_refused(prefix, words):
    torch.manual_seed(0)
    config = GPT2Config(vocab_size=300, n_embd=16, n_layer=2, n_head=2)
    refuses("reads to both sides", try_language_model, PrefixNetwork(config, prefix), words, "f")
    try_language_model(PrefixNetwork(config, lambda size: 0), words, "f")


def test_a_network_that_depends_on_the_length_of_the_row_is_refused(words):
    class ByLength(GPT2LMHeadModel):
        def forward(self, input_ids, **given):
            read = super().forward(input_ids, **given)
            read.logits = read.logits * input_ids.shape[1]
            return read

    made = ByLength(
        GPT2Config(vocab_size=300, n_embd=16, n_layer=2, n_head=2, initializer_range=0.5)
    )
    refuses("first half move by", try_language_model, made, words, "f")


def test_weights_that_give_no_numbers_are_refused(words):
    made = network("llama")
    with torch.no_grad():
        made.lm_head.weight[5] = torch.inf
    refuses(
        "f: the network's log-probabilities of a short text are not finite",
        try_language_model,
        made,
        words,
        "f",
    )


def test_a_network_that_needs_more_than_text_is_refused(words):
    class Seeing(GPT2LMHeadModel):
        def forward(self, input_ids, pixel_values, **given):
            return super().forward(input_ids, **given)

    made = Seeing(GPT2Config(vocab_size=300, n_embd=16, n_layer=1, n_head=2))
    refuses("cannot read a short text .*pixel_values", try_language_model, made, words, "f")


def test_a_tokenizer_larger_than_the_network_is_refused_but_for_padding(words):
    small, exact = network("llama", vocab_size=290), network("llama")
    refuses(
        "tokenizer has 300 tokens and the network knows 290", try_language_model, small, words, "f"
    )
    padded = PreTrainedTokenizerFast(
        tokenizer_object=words.backend_tokenizer, eos_token="<|endoftext|>"
    )
    padded.add_special_tokens({"pad_token": "[PAD]"})
    assert padded.pad_token_id == 300
    try_language_model(exact, padded, "f")
    padded.add_special_tokens({"bos_token": "[BEGIN]"})
    refuses("'\\[BEGIN\\]' is not among them", try_language_model, exact, padded, "f")


def test_an_encoder_decoder_is_refused_before_its_weights_are_read(tmp_path):
    sizes = {"d_model": 16, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2}
    sizes |= {"decoder_attention_heads": 2, "encoder_ffn_dim": 16, "decoder_ffn_dim": 16}
    BartForConditionalGeneration(BartConfig(vocab_size=300, **sizes)).save_pretrained(
        bpe_folder(tmp_path)
    )
    refuses(
        r"an encoder-decoder \(bart\) reads one text to write another",
        open_language_model,
        tmp_path,
    )


def test_half_precision_files_are_read_in_float32(tmp_path):
    lm_folder(tmp_path)
    load_model(tmp_path, AutoModelForCausalLM).half().save_pretrained(tmp_path)
    assert json.loads((tmp_path / "config.json").read_text())["dtype"] == "float16"
    assert load_reader(tmp_path, AutoModelForCausalLM).dtype == torch.float32


def test_a_counted_model_is_taken_though_it_has_no_cache_and_no_embeddings(tmp_path):
    made = ngram.fit(
        documents=documents(), base=bpe_folder(tmp_path / "b"), titles=False, context=32, order=3
    )
    made.save(tmp_path)
    _, opened = open_language_model(tmp_path)
    assert opened.config.model_type == "ngram"


def test_unused_heads_are_no_fault_and_missing_or_foreign_layers_are(tmp_path):
    bpe_folder(tmp_path)
    torch.manual_seed(0)
    config = AutoConfig.for_model("bert", **SMALL)
    AutoModelForMaskedLM.from_config(config).save_pretrained(
        tmp_path
    )  # a head, and no pooling layer
    assert open_encoder(tmp_path).encode(["The town lies on a river."]).shape == (1, 16)
    torch.manual_seed(0)
    AutoModel.from_config(
        AutoConfig.for_model("bert", **{**SMALL, "num_hidden_layers": 3})
    ).save_pretrained(tmp_path)
    config.save_pretrained(tmp_path)
    refuses(
        r"weights do not fit config.json \(first: encoder.layer.2.*make or fetch it again",
        open_encoder,
        tmp_path,
    )
    torch.manual_seed(0)
    AutoModel.from_config(
        AutoConfig.for_model("bert", **{**SMALL, "num_hidden_layers": 1})
    ).save_pretrained(tmp_path)
    config.save_pretrained(tmp_path)
    refuses(r"weights do not fit config.json \(first: encoder.layer.1", open_encoder, tmp_path)


BEGIN, END = "<begin>", "<end>"


def word_level(folder, **ends):
    """A network and a tokenizer of whole words that has the given begin and end tokens."""
    vocabulary = {word: i for i, word in enumerate([BEGIN, END, "<unk>", *"abcdefg"])}
    words = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    PreTrainedTokenizerFast(tokenizer_object=words, unk_token="<unk>", **ends).save_pretrained(
        folder
    )
    torch.manual_seed(0)
    config = GPT2Config(
        vocab_size=10, n_embd=16, n_layer=2, n_head=2, n_positions=16, initializer_range=0.5
    )
    GPT2LMHeadModel(config).save_pretrained(folder)
    return folder


CASES = {
    "both": ({"bos_token": BEGIN, "eos_token": END}, [0], [1]),
    "an end token alone": ({"eos_token": END}, [1], [1]),
    "a begin token alone": ({"bos_token": BEGIN}, [0], []),
    "neither": ({}, [], []),
}


@pytest.mark.parametrize("case", CASES)
def test_a_text_stands_between_begin_and_end_tokens(tmp_path, case):
    ends, before, behind = CASES[case]
    folder = word_level(tmp_path, **ends)
    text = Document("d", "test", (Section(None, "c a f e"),))
    found = token_predictions.read(
        documents=[text], reader=folder, name="t", titles=False, splits=["test"]
    )
    row = [*before, 5, 3, 8, 7, *behind]  # of the vocabulary above
    with torch.no_grad():
        plain = (
            AutoModelForCausalLM.from_pretrained(folder)(torch.tensor([row]))
            .logits[0]
            .log_softmax(-1)
            .numpy()
        )
    expected = plain[range(len(row) - 1), row[1:]]
    np.testing.assert_allclose(found.arrays["token_logprob"], expected, atol=1e-5)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    assert tokenizers.start_ids(tokenizer) == before and tokenizers.end_ids(tokenizer) == behind
    assert tokenizers.STARTS["documents"](tokenizer) == before
    assert tokenizers.article_ids(text, tokenizer, False)[: len(row)] == row
    (bare,) = Perplexity(count_end=False).part_values(units_from_predictions(found))
    assert len(bare) == len(before) + 3  # the end is left out, where there is one


def test_a_text_of_one_token_has_no_score_where_nothing_stands_before_it(tmp_path):
    texts = [
        Document(f"d{i}", "test", (Section(None, text),)) for i, text in enumerate(("a", "a b"))
    ]
    given = {"documents": texts, "name": "t", "titles": False, "splits": ["test"]}
    units = units_from_predictions(
        token_predictions.read(reader=word_level(tmp_path / "none"), **given)
    )
    assert Perplexity().sufficient_statistics(units).column("excluded").tolist() == [1, 0]
    ended = word_level(tmp_path / "end", eos_token=END)
    units = units_from_predictions(token_predictions.read(reader=ended, **given))
    assert units[0].ended is True
    assert Perplexity().sufficient_statistics(units).column("excluded").tolist() == [0, 0]


def test_what_writes_texts_refuses_a_tokenizer_without_an_end(tmp_path):
    tokenizer = load_tokenizer(word_level(tmp_path))
    refuses(
        "generate x: the tokenizer has no end token",
        tokenizers.end_of_writing,
        tokenizer,
        "generate x",
    )
