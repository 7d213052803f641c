"""What is asked of predictions, as parameters name it under ``evaluations``.

``EVALUATIONS`` is the registry; ``METRICS`` that of metrics of people's answers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from longform.critics.metrics import MetricSettings
from longform.settings import Settings, parameter, plain

if TYPE_CHECKING:
    from longform.documents import Predictions
    from longform.results import Record

SOURCES = "The writers that are held against people, by name."
HEADS = "Heads of the encoder; their numbers become seeds of one variant."
RESAMPLES = "Resamples of an interval."


@dataclass(frozen=True)
class EvaluationInputs:
    """What a stage gives an evaluation."""

    train: "Predictions"  # what is learnt from
    texts: "Predictions"  # what is judged
    seed: int
    name: str
    variant: str  # of the entry


class Evaluation(Settings):
    """A function of predictions that gives records."""

    def evaluate(self, inputs: EvaluationInputs) -> "Sequence[Record]":
        """The records."""
        raise NotImplementedError

    @property
    def head_names(self) -> list[str]:
        """The heads of an encoder that it tells apart by variant; none by default."""
        return []


class TitleRatio(Evaluation):
    """Word PPL of a model over that of the same model with titles, paired by document."""

    count_end: bool = parameter("Count the closing end token.", True)

    def evaluate(self, inputs: EvaluationInputs) -> "Sequence[Record]":
        from longform.critics.perplexity.score import ratio

        return ratio(
            train=inputs.train,
            texts=inputs.texts,
            seed=inputs.seed,
            name=inputs.name,
            count_end=self.count_end,
        )


class PathShuffleTasks(Evaluation):
    """Originals against shuffles by sentence paths (sheng2024 Tables 1 to 3, Figures 4 and 9)."""

    judges: list[Literal["bbscore", "three_layer", "linear", "joint"]] = parameter(
        "What judges a path.", ["bbscore"], source="sheng2024 section 4; joint is ours"
    )
    heads: list[str] = parameter(HEADS, [""])
    areas: bool = parameter("Areas under the ROC curve too.", False, source="sheng2024 Figure 4")
    learned: int | None = parameter(
        "Training documents of the classifiers; null takes all.", None, source="ours", ge=1
    )

    @property
    def head_names(self) -> list[str]:
        return self.heads if "heads" in self.model_fields_set else []

    def evaluate(self, inputs: EvaluationInputs) -> "Sequence[Record]":
        from longform.evaluation.sentence_paths import shuffle_tasks

        return shuffle_tasks(
            train=inputs.train,
            texts=inputs.texts,
            judges=self.judges,
            heads=self.heads,
            areas=self.areas,
            learned=self.learned,
        )


class PathVariance(Evaluation):
    """The estimated variance against the best of a sweep on other texts (sheng2024 Figure 9)."""

    def evaluate(self, inputs: EvaluationInputs) -> "Sequence[Record]":
        from longform.evaluation.sentence_paths import best_variance

        return best_variance(train=inputs.train, texts=inputs.texts)


class PathLength(Evaluation):
    """Rank correlation of a path's score with its number of sentences."""

    heads: list[str] = parameter(HEADS, [""])

    @property
    def head_names(self) -> list[str]:
        return self.heads if "heads" in self.model_fields_set else []

    def evaluate(self, inputs: EvaluationInputs) -> "Sequence[Record]":
        from longform.evaluation.sentence_paths import length

        return length(train=inputs.train, texts=inputs.texts, heads=self.heads)


class PathSources(Evaluation):
    """People above machines, by writer and sentence paths (sheng2024 Tables 4 and 5, Figure 5)."""

    sources: list[str] = parameter(SOURCES)

    def evaluate(self, inputs: EvaluationInputs) -> "Sequence[Record]":
        from longform.evaluation.sentence_paths import machines

        return machines(train=inputs.train, texts=inputs.texts, sources=self.sources)


class PathProfiles(Evaluation):
    """Mean course of each writer's paths (sheng2024 Figure 7)."""

    sources: list[str] = parameter(SOURCES)

    def evaluate(self, inputs: EvaluationInputs) -> "Sequence[Record]":
        from longform.evaluation.sentence_paths import profiles

        return profiles(train=inputs.train, texts=inputs.texts, sources=self.sources)


class PathDetection(Evaluation):
    """Distances between the writers' distributions (sheng2024 Figure 6)."""

    sources: list[str] = parameter(SOURCES)

    def evaluate(self, inputs: EvaluationInputs) -> "Sequence[Record]":
        from longform.evaluation.sentence_paths import detection

        return detection(train=inputs.train, texts=inputs.texts, sources=self.sources)


class PathClasses(Evaluation):
    """Three classes of rated coherence (sheng2024 appendix B, Table 6)."""

    only_length: bool = parameter("From length alone.", False, source="ours")

    def evaluate(self, inputs: EvaluationInputs) -> "Sequence[Record]":
        from longform.evaluation.sentence_paths import classes

        return classes(train=inputs.train, texts=inputs.texts, only_length=self.only_length)


class TransitionGrid(Settings):
    """Settings of the grid of role transitions."""

    history: int | None = parameter("Roles that the next one depends on.", None, ge=0)


class RankingGrid(Settings):
    """Settings of the ranking grid."""

    lengths: list[int] | None = parameter("Lengths of the transitions.", None)
    salience: int | None = parameter("Mentions from which an entity is salient.", None, ge=1)


class GridModels(Settings):
    """Which models of grids judge, with their settings."""

    transitions: TransitionGrid | None = parameter("N-grams of roles.", None)
    ranking: RankingGrid | None = parameter("A ranking machine.", None)

    def named(self) -> dict[str, dict[str, Any]]:
        """Their settings by name."""
        models = {"transitions": plain(self.transitions), "ranking": plain(self.ranking)}
        return {name: settings for name, settings in models.items() if settings is not None}


class GridShuffleTasks(Evaluation):
    """Originals against shuffles by entity grids (sheng2024 Tables 2 and 3)."""

    models: GridModels = parameter("Which models judge.")

    def evaluate(self, inputs: EvaluationInputs) -> "Sequence[Record]":
        from longform.evaluation.grids import shuffle_tasks

        return shuffle_tasks(train=inputs.train, texts=inputs.texts, models=self.models.named())


class GridSources(Evaluation):
    """People above machines, writer by writer, by entity grids (sheng2024 Table 4)."""

    models: GridModels = parameter("Which models judge.")
    sources: list[str] = parameter(SOURCES)

    def evaluate(self, inputs: EvaluationInputs) -> "Sequence[Record]":
        """How often each model prefers a human text to a source's, as records of accuracy and AUC.

        Both continue the same document; sources are the machines that wrote the other texts.
        """
        from longform.evaluation.grids import machines

        return machines(
            train=inputs.train,
            texts=inputs.texts,
            models=self.models.named(),
            sources=self.sources,
        )


class SuiteAccuracy(Evaluation):
    """Accuracy on suites of minimal pairs, against the model before (beyer2021 Tables 1 to 5)."""

    def evaluate(self, inputs: EvaluationInputs) -> "Sequence[Record]":
        from longform.evaluation.suite_accuracy import model_accuracy

        return model_accuracy(train=inputs.train, texts=inputs.texts)


class DecoderMeasures(Evaluation):
    """Every measure of every decoder (massarelli2020 Tables 1, 3 and 4, Figure 4)."""

    correlations: list[str] = parameter(
        "Decoders whose sentences are correlated.", [], source="massarelli2020 Figure 4"
    )
    resamples: int = parameter(RESAMPLES, 500, source="ours", ge=1)

    def evaluate(self, inputs: EvaluationInputs) -> "Sequence[Record]":
        from longform.evaluation.verified_texts import decoders

        return decoders(
            texts=inputs.texts, correlations=self.correlations, resamples=self.resamples
        )


class AnnotationSheet(Evaluation):
    """The sheet that people fill in (massarelli2020 section 6)."""

    prefixes: int = parameter("Prefixes of it.", source="massarelli2020 section 6: 200", ge=1)

    def evaluate(self, inputs: EvaluationInputs) -> "Sequence[Record]":
        from longform.evaluation.verified_texts import sheet

        return sheet(texts=inputs.texts, prefixes=self.prefixes)


class CheckerAccuracy(Evaluation):
    """A fact checker's labels against known ones."""

    def evaluate(self, inputs: EvaluationInputs) -> "Sequence[Record]":
        from longform.evaluation.verified_texts import checker

        return checker(texts=inputs.texts)


class CorrectedSupport(Evaluation):
    """Supported sentences, corrected for the checker's errors."""

    resamples: int = parameter(RESAMPLES, 500, source="ours", ge=1)

    def evaluate(self, inputs: EvaluationInputs) -> "Sequence[Record]":
        from longform.evaluation.verified_texts import corrected

        return corrected(
            train=inputs.train,
            texts=inputs.texts,
            variant=inputs.variant,
            resamples=self.resamples,
        )


EVALUATIONS: dict[str, type[Evaluation]] = {
    "title_ratio": TitleRatio,
    "path_shuffle_tasks": PathShuffleTasks,
    "path_length": PathLength,
    "path_sources": PathSources,
    "path_profiles": PathProfiles,
    "path_detection": PathDetection,
    "path_classes": PathClasses,
    "path_variance": PathVariance,
    "grid_shuffle_tasks": GridShuffleTasks,
    "grid_sources": GridSources,
    "suite_accuracy": SuiteAccuracy,
    "decoder_measures": DecoderMeasures,
    "annotation_sheet": AnnotationSheet,
    "checker_accuracy": CheckerAccuracy,
    "corrected_support": CorrectedSupport,
}


class CoherentShare(MetricSettings):
    """Share of people's judgements that call a text coherent (deng2022 Table 4)."""

    def metric(self, real: "Predictions") -> Any:
        from longform.evaluation.human_study import CoherentShare

        return CoherentShare()

    def units(self, predictions: "Predictions") -> Sequence[Any]:
        from longform.evaluation.human_study import units_from_predictions

        return units_from_predictions(predictions)


METRICS: dict[str, type[MetricSettings]] = {"coherent_share": CoherentShare}
