"""What entries say beside their kind's settings: which texts they concern, and where things lie."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

from longform.settings import Number, Settings, Task, parameter

if TYPE_CHECKING:
    from longform.results import Record, Results
    from longform_lab.reporting.pivot import ReportInputs

STUDY = "The study that the corpus belongs to: its folder below ``data/corpora``."


class MadeCorpus(Settings):
    """An entry of ``corpora``, made from the seed."""

    study: str = parameter(STUDY)


class ReadCorpus(Settings):
    """An entry of ``corpora_from_files``, read from a file or folder."""

    study: str = parameter(STUDY)
    source: str = parameter("The file or folder below ``data/`` that is read.")
    beside: str | None = parameter(
        "One more file below ``data/``; a scale that names one adds it to the stage's deps in "
        "dvc.yaml.",
        None,
    )


class ModelPlacement(Settings):
    """What an entry of ``models`` says beside its kind's settings."""

    sampling: dict[str, Any] | None = parameter(
        "What writes the model's texts, in place of its study's ``sampling``.", None
    )


OF = (
    "Whose texts: ``data``, ``models``, ``all``, ``trained`` models, those of a kind "
    "(``kind.hsmm``), or names of models."
)
CORPORA = "The corpora whose texts are concerned; null is all that the critic judges."
PREDICTIONS = "The predictions that are scored, by name."
TRAIN = "The predictions of training texts that it learns from; null is those that are scored."
TRAIN_CORPUS = "The corpus that it learns from; null is the one that is scored."


class TrainingPlacement(Settings):
    """What ``train`` of a critic says beside its kind's settings."""

    corpora: list[str] | None = parameter(
        "The corpora that it learns from, one after another.", None
    )
    base: str | None = parameter(
        "What it starts from, below ``data/``; {corpus} stands for the corpus. By default the "
        "study's tokenizer.",
        None,
    )


class ReadingPlacement(Settings):
    """What an entry of ``predictions`` says beside its kind's settings."""

    stored_as: str | None = parameter("The name under which metrics find it.", None, alias="as")
    of: str | list[str] = parameter(OF, "all")
    corpora: list[str] | None = parameter(CORPORA, None)
    reader: str = parameter(
        "What reads: ``critic`` (trained), ``system`` (each model its own corpus), ``corpus`` (its "
        "own truth), or a folder below ``data/``.",
        "critic",
    )
    splits: list[Literal["train", "validation", "test", "generated"]] = parameter(
        "Which splits of a corpus; generated texts are read whatever it says.", ["test"]
    )
    texts: str | None = parameter(
        "A folder of texts below ``data/`` in place of the system's own; {corpus} stands for the "
        "corpus.",
        None,
    )
    titles: bool | None = parameter(
        "Whether section titles are part of the texts; null is as the system has it.", None
    )


class MetricPlacement(Settings):
    """What an entry of ``metrics`` says beside its kind's settings."""

    predictions: str = parameter(PREDICTIONS)
    train: str | None = parameter(TRAIN, None)
    train_corpus: str | None = parameter(TRAIN_CORPUS, None)
    of: str | list[str] = parameter(OF, "all")
    corpora: list[str] | None = parameter(CORPORA, None)
    split: Literal["train", "validation", "test"] = parameter("Which split of a corpus.", "test")
    titles: bool | None = parameter("Systems with or without titles alone.", None)
    system: str | None = parameter("What the records call the system.", None)
    metric: str | None = parameter(
        "What the records call the metric; null is the entry's name.", None
    )
    variant: str = parameter("What tells it from others of one name.", "")


class QuestionPlacement(Settings):
    """What an entry of a question that is asked of any critic says beside its kind's settings."""

    predictions: str = parameter(PREDICTIONS)
    train: str | None = parameter(TRAIN, None)
    train_corpus: str | None = parameter(TRAIN_CORPUS, None)
    corpus: str | None = parameter("The corpus that asks; null is the question's own.", None)
    tolerance: Number = parameter("Scores so near each other are a tie.", 0.0, source="ours", ge=0)
    tasks: list[Task] | None = parameter(
        "Shuffles that are drawn here; null takes those that the corpus holds.",
        None,
        source="sheng2024 section 5.1",
    )


class EvaluationPlacement(Settings):
    """What an entry of ``evaluations`` says beside its kind's settings."""

    predictions: str = parameter(PREDICTIONS)
    train: str | None = parameter(
        "The predictions to learn from; ``previous`` is those of the system before, "
        "``with_titles`` those of the same model with titles.",
        None,
    )
    train_corpus: str | None = parameter(TRAIN_CORPUS, None)
    corpora: list[str] | None = parameter(CORPORA, None)
    of: str | list[str] = parameter(OF, "data")
    variant: str = parameter("What tells it from others of one name.", "")
    shown: list[str] | None = parameter(
        "The metrics whose values ``data/metrics`` shows; null is all of them.", None
    )


class Sheet(Protocol):
    """A drawn exhibit: a table, a figure, or files of another kind."""

    def save(self, folder: Path, name: str) -> None:
        """Write its files."""


class Exhibit(Settings):
    """A kind of table or figure, with what an entry may say of it."""

    def draw(self, inputs: "ReportInputs") -> Sheet:
        """Draw it.

        Args:
            inputs: the records, what the paper printed, and the data folder.
        """
        raise NotImplementedError


class Paper:
    """A paper: its exhibits, and the records that follow from others."""

    exhibits: ClassVar[dict[str, type[Exhibit]]] = {}

    @staticmethod
    def derived(results: "Results") -> "Iterable[Record]":
        """Records that follow from those of the critics; none by default."""
        return ()
