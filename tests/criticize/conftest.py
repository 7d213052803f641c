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
    folder = tmp_path_factory.mktemp("world")
    made = {
        corruption: build(
            name="criticize", seed=5, domain="wiki", documents={"test": 60}, corruption=corruption, severity=severity
        )
        for corruption, severity in (("", 0.0), ("section_order", 1.0))
    }
    true, broken = (list(one.documents) for one in made.values())
    return {
        "real": write(folder / "real.jsonl", records(true[:40])),
        "true": write(folder / "true.jsonl", records(true[40:])),
        "broken": write(folder / "broken.jsonl", records(broken[40:])),
    }


@pytest.fixture(scope="module")
def broken(world):
    return criticize(world["real"], world["broken"])
