"""Scorers against marks: turned so that higher is better, tested in pairs, and about the right texts."""

import json

import numpy as np
import pytest

from longform.documents import BadInput
from longform.reporting.meta_evaluation import meta_evaluation

NAMES = [f"t{i}" for i in range(40)]
QUALITY = np.arange(40.0) % 8
DRAW = np.random.default_rng(3)


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "corpora" / "rated"
    folder.mkdir(parents=True)
    lines = [json.dumps({"id": name, "split": "test", "sections": [{"title": None, "text": "x"}]}) for name in NAMES]
    (folder / "documents.jsonl").write_text("\n".join(lines) + "\n")
    marks = QUALITY[:, None] + DRAW.normal(0, 0.3, (40, 3))
    np.savez(folder / "truth.npz", marks=marks, cluster=np.arange(40) // 4)
    return tmp_path


def panel(names=NAMES, **models):
    own = {model: {"values": list(values), "better": better} for model, (values, better) in models.items()}
    return {"details": {"shared": {"unit_ids": names}, "models": own}}


def test_values_are_turned_missing_ones_counted_and_the_better_scorer_found(data):
    noisy = [None, *(QUALITY + DRAW.normal(0, 4, 40)).tolist()[1:]]
    scores = {"row": panel(ppl=((-QUALITY).tolist(), "lower"), noisy=(noisy, "higher"))}
    table = meta_evaluation(scores=scores, expected={}, data=data, corpus="rated")
    cells = {(cell.row, cell.column): cell for cell in table.cells}
    assert cells["ppl", "Pearson"].value > 0.95
    assert (cells["noisy", "Pearson"].units, cells["noisy", "Pearson"].excluded) == (39, 1)
    assert cells["ppl", "better than noisy, p"].value < 0.05
    assert "ppl over noisy" in table.notes[1] and "SIMULATED" in table.notes[0]


def test_rows_about_other_texts_are_refused(data):
    with pytest.raises(BadInput, match="other texts"):
        meta_evaluation(scores={"row": panel(["z"], m=([1.0], "higher"))}, expected={}, data=data, corpus="rated")
