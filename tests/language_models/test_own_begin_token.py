"""A tokenizer that adds its begin token by itself, as Llama's and Gemma's do."""

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

from longform.documents import Document, Section
from longform.language_models.tokenizers import document_rows, encode

WORDS = ["<unk>", "<s>", "</s>", "a", "b", "c"]


@pytest.fixture
def tokenizer():
    rules = Tokenizer(models.WordLevel(dict(zip(WORDS, range(6), strict=True)), "<unk>"))
    rules.pre_tokenizer = pre_tokenizers.Whitespace()
    rules.post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", 1)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=rules, bos_token="<s>", eos_token="</s>", unk_token="<unk>"
    )


def test_the_begin_token_stands_once_before_a_text(tokenizer):
    assert tokenizer("a b")["input_ids"] == [1, 3, 4]
    assert encode("a b", tokenizer) == [3, 4]
    document = Document("d", "test", (Section(None, "a b c"),))
    assert document_rows([document], tokenizer, False, 100) == [[1, 3, 4, 5, 2]]
