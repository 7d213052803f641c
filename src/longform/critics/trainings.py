"""What critics can learn, as parameters name it: a class of settings for each training.

``TRAININGS`` is their registry.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, Protocol

from longform.datasets.settings import Splitter
from longform.language_models.settings import NetworkShape, Schedule
from longform.settings import Keys, Number, Settings, Task, parameter, plain

if TYPE_CHECKING:
    from longform.documents import Document

SPLITTER = "How a text is cut into sentences."


class Saved(Protocol):
    """The result of a training: something that writes itself into a folder."""

    def save(self, folder: Path) -> None:
        """Write its files into the folder."""


@dataclass(frozen=True)
class TrainingInputs:
    """What a stage gives the training of a critic."""

    documents: "Sequence[Document]"
    base: Path  # what the training starts from
    name: str
    seed: int
    scratch: Path  # a folder for checkpoints of unfinished work


class CriticTraining(Settings):
    """What a critic learns from real text."""

    def fit(self, inputs: TrainingInputs) -> Saved:
        """Train the critic on the inputs' documents."""
        raise NotImplementedError


class TitleClassifier(CriticTraining):
    """A classifier of section titles (deng2022 section 4 and appendix E)."""

    max_length: int = parameter(
        "Tokens of a section that are read.", unit="tokens", source="deng2022 appendix E: 512", ge=1
    )
    schedule: Schedule = parameter("How long and how fast.")
    shape: NetworkShape | None = parameter(
        "A network from nothing, beside the tokenizer; without it the base is finetuned.",
        None,
        source="deng2022 section 4: bert-base-cased",
    )

    def fit(self, inputs: TrainingInputs) -> Saved:
        from longform.critics.section_order.read import fit

        return fit(
            documents=inputs.documents,
            base=inputs.base,
            name=inputs.name,
            seed=inputs.seed,
            scratch=inputs.scratch,
            max_length=self.max_length,
            schedule=self.schedule.given(),
            shape=plain(self.shape),
        )


class TopicFit(Settings):
    """How a topic model is fitted and read."""

    em_iterations: int = parameter(
        "Iterations at most.", 1000, source="the original program's settings file", ge=1
    )
    rounds: int = parameter("Rounds of a document at most; negative is no limit.", 20)
    em_tolerance: Number = parameter(
        "Relative rise of the bound at which the fit stops.",
        1e-3,
        source="the original program's settings file",
        ge=0,
    )
    tolerance: Number = parameter(
        "Relative rise of a document's bound at which its rounds stop.", 1e-6, ge=0
    )
    lag: int = parameter("Iterations between checkpoints.", 10, ge=1)
    floats: Literal["float32", "float64"] = parameter("Numbers of the E-step.", "float32")
    threads: int = parameter("Threads; they change no result.", 1, ge=1)


class CorrelatedTopics(CriticTraining):
    """A correlated topic model (deng2022 section 6)."""

    topics: int = parameter("Topics.", source="deng2022 section 6: 100", ge=2)
    min_count: int = parameter(
        "A word stands so often in the training texts.",
        5,
        source="deng2022, its topic settings",
        ge=1,
    )
    max_share: Number = parameter(
        "A word stands in at most this share of the texts.",
        0.5,
        source="deng2022, its topic settings",
        gt=0,
        le=1,
    )
    settings: TopicFit = parameter("How it is fitted.", TopicFit())

    def fit(self, inputs: TrainingInputs) -> Saved:
        from longform.critics.topics.train import fit

        return fit(
            inputs.documents,
            seed=inputs.seed,
            topics=self.topics,
            name=inputs.name,
            min_count=self.min_count,
            max_share=self.max_share,
            settings=self.settings.given(),
            scratch=inputs.scratch,
        )


class PartialSchedule(Settings):
    """What of a schedule a recipe says otherwise."""

    learning_rate: Number | None = parameter("The peak of the rate.", None, ge=0)
    batch: int | None = parameter("Items of one forward pass.", None, ge=1)
    epochs: Number | None = parameter("Passes over the training items.", None, gt=0)
    validations: int | None = parameter("Validations in the whole run.", None, ge=1)


class BridgeRecipe(Settings):
    """What a head of BBScore's encoder minimises, and how."""

    objective: Literal["paper", "likelihood"] = parameter(
        "The paper's contrastive loss, or a likelihood ratio.",
        "paper",
        source="sheng2024 section 3",
    )
    pins: bool = parameter(
        "Hold both ends of a document fixed.", True, source="sheng2024, authors' code"
    )
    optimiser: Literal["sgd", "adamw"] = parameter(
        "The optimiser.", "sgd", source="sheng2024 appendix E; AdamW: authors' code"
    )
    sgd_rate: Number = parameter(
        "Rate of plain descent.", 1e-4, source="sheng2024 appendix E", gt=0
    )
    schedule: PartialSchedule | None = parameter("What it says otherwise of the schedule.", None)


class BridgeEncoder(CriticTraining):
    """BBScore's encoder: a frozen model with trained heads (sheng2024 section 3)."""

    splitter: Splitter = parameter(SPLITTER, source="sheng2024, authors' code: full stops")
    recipes: dict[str, BridgeRecipe] = parameter("Recipes by name; heads are called after them.")
    schedule: Schedule = parameter("How long and how fast.")
    seeds: int = parameter("Heads of each recipe.", 1, source="ours; one in sheng2024", ge=1)
    latent: int = parameter("Numbers of a latent.", 8, source="sheng2024 section 3", ge=1)

    def fit(self, inputs: TrainingInputs) -> Saved:
        from longform.critics.bbscore.train import fit

        return fit(
            documents=inputs.documents,
            base=inputs.base,
            name=inputs.name,
            seed=inputs.seed,
            scratch=inputs.scratch,
            splitter=self.splitter,
            recipes={name: recipe.given() for name, recipe in self.recipes.items()},
            schedule=self.schedule.given(),
            seeds=self.seeds,
            latent=self.latent,
        )


class NeuralRanker(CriticTraining):
    """A ranker of sentence orders (ours, where sheng2024 has Unified Coherence)."""

    splitter: Splitter = parameter(SPLITTER, source="ours")
    tasks: list[Task] = parameter("Shuffles that it learns from.", source="sheng2024 section 5.1")
    schedule: Schedule = parameter("How long and how fast.")
    sentence: int = parameter("Width of a sentence's layer.", 64, source="ours", ge=1)
    pair: int = parameter("Width of a pair's layer.", 32, source="ours", ge=1)

    def fit(self, inputs: TrainingInputs) -> Saved:
        from longform.critics.neural_ranker.train import fit

        return fit(
            documents=inputs.documents,
            base=inputs.base,
            name=inputs.name,
            seed=inputs.seed,
            scratch=inputs.scratch,
            splitter=self.splitter,
            tasks=self.tasks,
            schedule=self.schedule.given(),
            sentence=self.sentence,
            pair=self.pair,
        )


class LanguageMixture(CriticTraining):
    """A topic model of sentences whose topics become languages (deng2022 appendix C)."""

    languages: int = parameter("Languages.", 3, source="deng2022 appendix C", ge=2)
    sweeps: int = parameter("Sweeps of Gibbs sampling.", 1000, source="MALLET 2.0.8", ge=1)
    burn_in: int = parameter(
        "Sweeps before alpha is fitted.", 200, unit="sweeps", source="MALLET 2.0.8", ge=0
    )
    optimise_every: int = parameter(
        "Sweeps between fits of alpha.", 100, unit="sweeps", source="deng2022 appendix C", ge=1
    )
    restarts: int = parameter("Chains, of which the likeliest is kept.", 5, source="ours", ge=1)

    def fit(self, inputs: TrainingInputs) -> Saved:
        from longform.critics.code_mixing.read import fit

        return fit(
            inputs.documents,
            seed=inputs.seed,
            languages=self.languages,
            sweeps=self.sweeps,
            burn_in=self.burn_in,
            optimise_every=self.optimise_every,
            restarts=self.restarts,
        )


Limit = Annotated[dict[str, int], Keys("limit")]


class FactChecker(CriticTraining):
    """A checker of claims over frozen pages (massarelli2020 section 3; Hanselowski et al. 2018)."""

    entailment: Literal["trained", "brought"] = parameter(
        "A network that is trained here, or one that somebody published.", "trained"
    )
    size: int = parameter("Width of the network.", 48, source="ours; BERT in massarelli2020", ge=1)
    min_count: int = parameter("A word stands so often in the claims.", 3, source="ours", ge=1)
    schedule: Schedule | None = parameter("How long and how fast.", None)
    retrieval: Limit | None = parameter(
        "How many pages are found for a claim.", None, source="Hanselowski et al. 2018: 7"
    )
    selection: Limit | None = parameter(
        "How many sentences are evidence.", None, source="Thorne et al. 2018: 5"
    )

    def fit(self, inputs: TrainingInputs) -> Saved:
        from longform.critics.verifiability.train import fit

        return fit(
            documents=inputs.documents,
            base=inputs.base,
            name=inputs.name,
            seed=inputs.seed,
            scratch=inputs.scratch,
            entailment=self.entailment,
            size=self.size,
            min_count=self.min_count,
            schedule=plain(self.schedule),
            retrieval=self.retrieval,
            selection=self.selection,
        )


TRAININGS: dict[str, type[CriticTraining]] = {
    "title_classifier": TitleClassifier,
    "correlated_topics": CorrelatedTopics,
    "bridge_encoder": BridgeEncoder,
    "neural_ranker": NeuralRanker,
    "language_mixture": LanguageMixture,
    "fact_checker": FactChecker,
}
