"""A text that ran into the limit of length is known as such from its corpus to its reading, and long ones are taught to their end."""

import numpy as np
from tiny import documents, lm_folder

from longform.critics.readings import GoldTitles
from longform.documents import Corpus, Document, Section, chains_from_predictions
from longform.files.artefacts import read_predictions, write_corpus
from longform.language_models import causal_lm
from longform.language_models.tokenizers import Window
from longform_lab.criticism import Entry, _read
from longform_lab.experiment import System
from longform_lab.settings.entries import ReadingPlacement


class Study:
    """An experiment without settings of its own."""

    def __init__(self, data):
        self.data, self.seed = data, 1

    def settings(self, *keys):
        return {}


def test_a_reading_says_which_generated_texts_were_cut(tmp_path):
    system = System("articles", "wiki", "gpt2", True)
    texts = [Document(f"g-{i}", "generated", (Section("history", "a"),)) for i in range(3)]
    corpus = Corpus(texts, truth={"cut": np.array([False, True, False])})
    write_corpus(tmp_path / system.texts, corpus)
    file = tmp_path / "predictions" / "gold.npz"
    entry = Entry("section_order", "gold", "gold", ReadingPlacement(of="all"), GoldTitles())
    _read(Study(tmp_path), entry, (system, file))
    assert [chain.cut for chain in chains_from_predictions(read_predictions(file))] == [
        False,
        True,
        False,
    ]


def test_training_on_documents_teaches_the_ends_of_long_ones(tmp_path, monkeypatch):
    given = []
    monkeypatch.setattr(
        causal_lm,
        "fit_learner",
        lambda kind, network, items, *_, **__: given.append(items) or _Told(),
    )
    model = lm_folder(tmp_path / "lm", window=16)
    sizes = {"packing": "documents", "context": 16, "schedule": {}, "titles": False}
    trained = causal_lm.fit(
        documents=documents(), base=model, name="t", seed=0, scratch=tmp_path, **sizes
    )
    rows = given[0]["train"]
    end = trained.tokenizer.eos_token_id
    ids = [row.ids if isinstance(row, Window) else row for row in rows]
    wanted = sum(document.split == "train" for document in documents())
    assert sum(row[-1] == end for row in ids) == wanted < len(rows)


class _Told:
    """What fitting tells: no curve."""

    COLUMNS, rows = (), ()
