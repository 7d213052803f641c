"""N-grams are counted to the end of a document, however long it is."""

from itertools import pairwise

from tiny import bpe_folder, documents

from longform.documents import Document, Section
from longform.language_models import ngram
from longform.language_models.tokenizers import document_rows


def test_n_grams_of_a_long_document_are_counted_to_its_end(tmp_path):
    texts = [section.text for document in documents(40) for section in document.sections]
    folder = bpe_folder(tmp_path)
    long = Document("long", "train", (Section(None, " ".join(texts)),))
    model = ngram.fit(documents=[long], base=folder, titles=False, context=64, order=2)
    (row,) = document_rows([long], model.tokenizer, False, 10**6)
    assert len(row) > 1000
    assert model.network.config.sizes == [len(set(pairwise(row)))]
