"""The mixture of languages is fitted from several starts, and the best is kept."""

from longform.critics.code_mixing.read import fit
from longform.documents import Document, Section


def test_five_chains_are_started_and_the_best_is_kept():
    texts = ["uno dos tres", "one two three", "dos tres uno", "two three one", ""]
    documents = [Document(f"d{i}", "train", (Section(None, text),)) for i, text in enumerate(texts)]
    facts = fit(documents, seed=1, languages=2, sweeps=4, burn_in=1, optimise_every=2).facts
    assert len(facts["nats_per_word"]) == 5
    assert (facts["documents"], facts["empty_documents"], facts["sweeps"]) == (4, 1, 4)
