"""Every reader moves its network to the device that the machine's setting names, which no row holds."""

import pytest
import torch
from tiny import classifier_folder, documents, lm_folder

from longform.core.documents import Document, Section
from longform.critics.mauve import read as text_features
from longform.critics.perplexity import read as token_readout
from longform.critics.section_order import read as section_titles
from longform.decoding import completions, continuations
from longform.language_models.checkpoints import chosen_device
from longform.language_models.sentence_features import open_encoder
from tests.refusals import refuses

TOLD = [Document("a", "test", (Section("Town", "The town lies on a river. Its people work in fields. It is old."),))]
READERS = {
    "titles": lambda f: section_titles.read(documents=documents(), reader=f, name="t", splits=["test"], max_length=9),
    "tokens": lambda f: token_readout.read(documents=documents(), reader=f, name="t", titles=True, splits=["test"]),
    "features": lambda f: text_features.read(documents=documents(), reader=f, name="t", splits=["test"]),
    "sentences": lambda f: open_encoder(f).encode(["the town lies on a river."]),
    "continuations": lambda f: continuations.generate(
        model=f, name="c", seed=1, prefixes=TOLD, decoders={"one": {"kind": "greedy"}}, new_tokens=2,
        title_from="first_section",
    ),
    "completions": lambda f: completions.generate(model=f, name="c", seed=1, prefixes=TOLD, sources={"one": "greedy"}),
}  # fmt: skip


@pytest.mark.parametrize("kind", READERS)
def test_readers_move_to_the_device_of_the_setting(tmp_path, monkeypatch, kind):
    """A stand-in records where networks are told to go and leaves them on the CPU, since no GPU is asked for here."""
    folder = classifier_folder(tmp_path) if kind == "titles" else lm_folder(tmp_path, window=64)
    moved = []
    monkeypatch.setenv("LONGFORM_DEVICE", "cuda:3")
    monkeypatch.setattr(torch.nn.Module, "to", lambda self, *where, **_: (moved.append(where), self)[1])
    READERS[kind](folder)
    assert (torch.device("cuda:3"),) in moved


def test_the_setting_names_a_device_of_torch(monkeypatch):
    monkeypatch.setenv("LONGFORM_DEVICE", "gpu")
    refuses("LONGFORM_DEVICE is 'gpu'", chosen_device)
