"""A planted world as a person's own texts, and one comparison of it that many tests look at."""

import pytest
from own_texts import records, write

from longform.criticize import criticize, panels
from longform.datasets.synthetic_world.corpora import build


@pytest.fixture(scope="session", autouse=True)
def bare():
    """No packaged model, whether it is installed or not: it would read for minutes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(panels, "SMOLLM2", {"package": "no_such_package", "file": "model.gguf"})
        yield


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Real texts; other true texts; the same with sections in a wrong order."""
    folder, given = tmp_path_factory.mktemp("world"), {"seed": 5, "domain": "wiki", "documents": {"test": 60}}
    true = build(name="criticize", **given).documents
    broken = build(name="criticize", corruption="section_order", severity=1.0, **given).documents
    sides = {"real": true[:40], "true": true[40:], "broken": broken[40:]}
    return {name: write(folder / f"{name}.jsonl", records(side)) for name, side in sides.items()}


@pytest.fixture(scope="module")
def broken(world):
    return criticize(world["real"], world["broken"])
