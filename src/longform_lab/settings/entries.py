"""What entries say beside their kind's own settings: which texts they concern, and where things lie."""

from typing import Any

from longform.settings import Settings, parameter

STUDY = "The study that the corpus belongs to: its folder below ``data/corpora``."


class MadeCorpus(Settings):
    """An entry of ``corpora``, made from the seed."""

    study: str = parameter(STUDY)


class ReadCorpus(Settings):
    """An entry of ``corpora_from_files``, read from a file or folder."""

    study: str = parameter(STUDY)
    source: str = parameter("The file or folder below ``data/`` that is read.")
    beside: str | None = parameter(
        "One more file below ``data/``; a scale that names one adds it to the stage's deps in dvc.yaml.",
        None,
    )


class ModelPlacement(Settings):
    """What an entry of ``models`` says beside its kind's settings."""

    sampling: dict[str, Any] | None = parameter(
        "What writes the model's texts, in place of its study's ``sampling``.", None
    )
