"""Each sentence of a generation is held against the page of its own title."""

from longform.critics.verifiability import read as reading
from tests.critics.verifiability.test_read_generations import folder, units

__all__ = ["folder"]  # the fixture


def test_a_sentences_similarity_is_that_with_the_page_of_the_title(folder, monkeypatch):
    def length_on_the_page(self, text, title):
        return float(len(text)) if title == "Inghaven" else -1.0

    monkeypatch.setattr(reading.PageSimilarity, "score", length_on_the_page)
    sentences = ["The harpists slept.", "Ulm was founded in 1900."]
    (unit,) = units(folder, " ".join(sentences))
    assert unit.column("tfidf").tolist() == [len(sentence) for sentence in sentences]
