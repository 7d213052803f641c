"""What parameters can name of the synthetic world under ``critics``.

What it knows of its texts, and its grammar.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from longform.critics.metrics import MetricSettings
from longform.critics.readings import PredictionInputs, Reading
from longform.critics.trainings import CriticTraining, Saved, TrainingInputs
from longform.settings import Number, Settings, parameter

if TYPE_CHECKING:
    from longform.documents import Predictions


class WorldNouns(CriticTraining):
    """The nouns of one vocabulary as a word net; nothing is learnt."""

    world: str = parameter("The vocabulary.")

    def fit(self, inputs: TrainingInputs) -> Saved:
        from synthetic_world.lexicon import fit

        return fit(world=self.world)


TRAININGS: dict[str, type[CriticTraining]] = {"world_nouns": WorldNouns}


class PlantedTopics(Reading):
    """Topics of each text, by the corpus's own topics."""

    predictions: Literal["proportions", "paths", "completion"] = parameter(
        "The texts' topics, those of their sentences, or the words of each second half.",
        "proportions",
    )
    keep_text: bool = parameter("Keep the texts beside what was read in them.", False)

    def predict(self, inputs: PredictionInputs) -> "Predictions":
        from synthetic_world.planted_topics import read

        return read(
            inputs.documents,
            reader_truth=inputs.reader_truth,
            splits=inputs.splits,
            predictions=self.predictions,
            keep_text=self.keep_text,
        )


class ExactLogProbs(Reading):
    """Exact log-probabilities of the synthetic language (deng2022 section 3)."""

    def predict(self, inputs: PredictionInputs) -> "Predictions":
        from synthetic_world.exact_log_probs import read

        return read(
            documents=inputs.documents,
            truth=inputs.truth,
            reader_truth=inputs.reader_truth,
            splits=inputs.splits,
        )


class PlantedStates(Reading):
    """States of the synthetic language's texts by its exact posterior (deng2022 section 3)."""

    rule: Literal["released", "strict"] = parameter(
        "Which texts are accepted.", source="authors' code: released; development code: strict"
    )
    max_chunks: int = parameter("Segments that a text may have.", 100, source="ours", ge=1)

    def predict(self, inputs: PredictionInputs) -> "Predictions":
        from synthetic_world.synthetic_states.read import read

        return read(
            documents=inputs.documents,
            reader_truth=inputs.reader_truth,
            rule=self.rule,
            splits=inputs.splits,
            max_chunks=self.max_chunks,
        )


class WorldSentences(Reading):
    """Which sentences the world's grammar can write."""

    def predict(self, inputs: PredictionInputs) -> "Predictions":
        from synthetic_world.world_grammar.recogniser import read

        return read(documents=inputs.documents, splits=inputs.splits, reader=inputs.reader)


class Annotator(Settings):
    """A simulated annotator of known accuracy."""

    name: str = parameter("What it is called.")
    confusion: Number = parameter("How often it mistakes a section's type.", ge=0, le=1)
    flips: Number = parameter("How often it answers the contrary.", ge=0, le=1)
    careless: Number | None = parameter(
        "How often it fails an attention check; null is never.", None, ge=0, le=1
    )


class SimulatedAnnotators(Reading):
    """Answers of simulated people to whether an article is coherent (deng2022 appendix H)."""

    domain: str = parameter("The domain whose chain of section types is the rule.")
    systems: list[str] = parameter("Systems whose articles are asked about.")
    per_system: int = parameter(
        "Articles of each system.", source="deng2022 appendix H: 71 to 128 judgements", ge=1
    )
    checks: int = parameter("Attention checks.", source="ours", ge=0)
    least: Number = parameter(
        "A less probable transition makes an article incoherent.", source="ours", ge=0, le=1
    )
    max_length: int = parameter("Tokens of a section that are read.", unit="tokens", ge=1)
    annotators: list[Annotator] = parameter("The annotators.", source="ours")

    def predict(self, inputs: PredictionInputs) -> "Predictions":
        from synthetic_world.simulated_annotators import read

        return read(
            documents=inputs.documents,
            reader=inputs.reader,
            name=inputs.name,
            seed=inputs.seed,
            splits=inputs.splits,
            domain=self.domain,
            systems=self.systems,
            per_system=self.per_system,
            annotators=[annotator.given() for annotator in self.annotators],
            checks=self.checks,
            least=self.least,
            max_length=self.max_length,
            truth=inputs.truth,
        )


class PlantedFacts(Reading):
    """Exact verdicts on every sentence of texts of the world."""

    domain: str = parameter("The domain of the pages.")
    title_from: Literal["definition", "first_section"] = parameter(
        "Where a page's title stands.", "definition"
    )

    def predict(self, inputs: PredictionInputs) -> "Predictions":
        from synthetic_world.facts import read

        return read(
            documents=inputs.documents,
            name=inputs.name,
            domain=self.domain,
            title_from=self.title_from,
        )


class PlantedGenerations(Reading):
    """A trained checker's verdicts on continuations, with the exact ones beside them."""

    domain: str = parameter("The domain of the checker's pages.")
    splitter: Literal["rules", "full_stops", "spacy"] = parameter(
        "How a text is cut into sentences.", "full_stops"
    )

    def predict(self, inputs: PredictionInputs) -> "Predictions":
        from synthetic_world.facts import read_generations

        return read_generations(
            documents=inputs.documents,
            truth=inputs.truth,
            reader=inputs.reader,
            name=inputs.name,
            domain=self.domain,
            splitter=self.splitter,
        )


READINGS: dict[str, type[Reading]] = {
    "planted_topics": PlantedTopics,
    "exact_log_probs": ExactLogProbs,
    "planted_states": PlantedStates,
    "world_sentences": WorldSentences,
    "simulated_annotators": SimulatedAnnotators,
    "planted_facts": PlantedFacts,
    "planted_generations": PlantedGenerations,
}


class _OfWorldSentences(MetricSettings):
    """What scores sentences of the world's grammar."""

    def units(self, predictions: "Predictions") -> Sequence[Any]:
        from synthetic_world.world_grammar.score import units_from_predictions

        return units_from_predictions(predictions)


class DerivableShare(_OfWorldSentences):
    """Share of sentences that the grammar can write."""

    def metric(self, real: "Predictions") -> Any:
        from synthetic_world.world_grammar.score import DerivableShare

        return DerivableShare()


class FollowedShare(_OfWorldSentences):
    """Share of words that the grammar follows from the start of their sentence."""

    def metric(self, real: "Predictions") -> Any:
        from synthetic_world.world_grammar.score import FollowedShare

        return FollowedShare()


METRICS: dict[str, type[MetricSettings]] = {
    "derivable_share": DerivableShare,
    "followed_share": FollowedShare,
}
