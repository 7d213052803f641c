"""The kinds of language models and tokenizers that parameters can name, and how they are trained.

A new kind is a class here and a line of its registry.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol

from pydantic import ConfigDict, Field

from longform.datasets.settings import Splitter
from longform.errors import ConfigError
from longform.settings import Number, Settings, parameter, plain

if TYPE_CHECKING:
    from longform.documents import Document

HUB = "A model of the hub, ``owner/model``, or a folder of this machine."
REVISION = "The commit of the hub's model."
PACKAGE = "An installed package that carries the model."
FILE = "The GGUF file in the package."


class Saved(Protocol):
    """What a training gives: something that writes itself into a folder."""

    def save(self, folder: Path) -> None:
        """Write the files."""


class Schedule(Settings):
    """How long and how fast a network is trained, by AdamW."""

    learning_rate: Number = parameter("The peak of the rate.", ge=0)
    batch: int = parameter("Items of one forward pass.", unit="items", ge=1)
    epochs: Number = parameter("Passes over the training items.", gt=0)
    accumulate: int = parameter(
        "Forward passes of an update, shared out among all processes.", 1, ge=1
    )
    validations: int = parameter("Validations, and checkpoints, in the whole run.", 4, ge=1)
    warmup: Number = parameter(
        "Share of the updates with a rising rate; then it falls to zero on a line.",
        0.05,
        source="ours",
        ge=0,
        le=1,
    )
    weight_decay: Number = parameter("AdamW's decay.", 0.0, ge=0)
    clip: Number = parameter("The largest norm of a gradient.", 1.0, source="ours", ge=0)
    precision: Literal[
        "auto", "32-true", "bf16-mixed", "16-mixed", "bf16-true", "16-true", "64-true"
    ] = parameter(
        "Numbers of the forward pass; ``auto`` takes bfloat16 where the processor multiplies it.",
        "32-true",
    )
    compile: bool = parameter("Pass the network through torch.compile.", False)
    checkpointing: bool = parameter(
        "Compute activations again in the backward pass instead of keeping them.", False
    )


class NetworkShape(Settings):
    """A network to train from nothing: keywords of its configuration in transformers."""

    model_config = ConfigDict(extra="allow")

    model_type: str = parameter("The architecture, as transformers calls it: ``gpt2``, ``bert``.")


class Training(Settings):
    """How a study trains its networks."""

    bases: str | None = parameter(
        "Folder below ``data/`` of pretrained networks, of which the one of a model's shape is "
        "finetuned; null trains every shape from scratch.",
        None,
    )
    packing: Literal["stream", "documents"] = parameter(
        "Blocks of one stream of all texts, or windows of single texts.",
        source="stream: deng2022, authors' code",
    )
    context: int = parameter(
        "Tokens of a block, at most the network's positions.",
        unit="tokens",
        source="deng2022 appendix E: 1,024",
        ge=2,
    )
    schedule: Schedule = parameter("How long and how fast.")
    validation_documents: int | None = parameter(
        "Documents that choose a checkpoint; null takes all of split validation.",
        None,
        source="ours",
        ge=1,
    )


@dataclass(frozen=True)
class TrainingInputs:
    """What a stage gives the training of a language model."""

    documents: "Sequence[Document]"
    base: Path  # the study's tokenizer, or the checkpoint that :meth:`LanguageModel.start` names
    bases: Path | None  # pretrained networks
    training: Training | None  # of the study
    titles: bool  # whether section titles are part of the text
    name: str
    seed: int
    scratch: Path  # a folder for unfinished work


class LanguageModel(Settings):
    """A kind of language model."""

    def bases(self, training: Training | None) -> str | None:
        """The folder below ``data/`` of pretrained networks from which it starts, if any."""
        return None

    def start(self, tokenizer: Path, pointer_folder: Path) -> Path:
        """The folder from which training starts: here the tokenizer's, as weights are random.

        Kinds that start from a published model write a pointer to it.

        Args:
            tokenizer: folder of the study's tokenizer.
            pointer_folder: folder in which a pointer may be written; then it is returned.
        """
        return tokenizer

    def train(self, inputs: TrainingInputs) -> Saved:
        """Train, or count, or point to what others trained."""
        raise NotImplementedError


def training_of(inputs: TrainingInputs) -> Training:
    """How the study trains. Raises ConfigError: it does not say."""
    if inputs.training is None:
        raise ConfigError(
            f"model {inputs.name}: its study has no 'training', by which it is trained; "
            "add it to params.yaml"
        )
    return inputs.training


class Network(LanguageModel):
    """A network of a shape, trained as its study says.

    The shape's keywords stand beside ``model_type``.
    """

    model_config = ConfigDict(extra="allow")

    model_type: str = parameter("The architecture, as transformers calls it: ``gpt2``, ``llama``.")
    from_scratch: bool = parameter(
        "Train from nothing where the study starts from pretrained networks.", False
    )

    @property
    def shape(self) -> dict[str, Any]:
        """The keywords of its configuration."""
        return {"model_type": self.model_type, **(self.model_extra or {})}

    def bases(self, training: Training | None) -> str | None:
        return None if self.from_scratch or training is None else training.bases

    def train(self, inputs: TrainingInputs) -> Saved:
        from longform.language_models.causal_lm import fit

        training = training_of(inputs)
        return fit(
            documents=inputs.documents,
            base=inputs.base,
            name=inputs.name,
            seed=inputs.seed,
            scratch=inputs.scratch,
            titles=inputs.titles,
            packing=training.packing,
            context=training.context,
            schedule=training.schedule.given(),
            validation_documents=training.validation_documents,
            shape=self.shape,
            bases=inputs.bases,
        )


class Published(LanguageModel):
    """A model that somebody published, as it is: of the hub, or in an installed package."""

    hub: str | None = parameter(HUB, None)
    revision: str | None = parameter(REVISION, None)
    package: str | None = parameter(PACKAGE, None)
    file: str | None = parameter(FILE, None)

    def train(self, inputs: TrainingInputs) -> Saved:
        from longform.language_models.checkpoints import published

        return published(hub=self.hub, revision=self.revision, package=self.package, file=self.file)


class Finetuned(LanguageModel):
    """A published model, finetuned as its study says."""

    hub: str | None = parameter(HUB, None)
    revision: str | None = parameter(REVISION, None)
    package: str | None = parameter(PACKAGE, None)
    file: str | None = parameter(FILE, None)

    def start(self, tokenizer: Path, pointer_folder: Path) -> Path:
        """A folder with a pointer to the published model."""
        from longform.language_models.checkpoints import published

        pointer_folder.mkdir(parents=True, exist_ok=True)
        pointer = published(
            hub=self.hub, revision=self.revision, package=self.package, file=self.file
        )
        pointer.save(pointer_folder)
        return pointer_folder

    def train(self, inputs: TrainingInputs) -> Saved:
        from longform.language_models.causal_lm import fit

        training = training_of(inputs)
        return fit(
            documents=inputs.documents,
            base=inputs.base,
            name=inputs.name,
            seed=inputs.seed,
            scratch=inputs.scratch,
            titles=inputs.titles,
            packing=training.packing,
            context=training.context,
            schedule=training.schedule.given(),
            validation_documents=training.validation_documents,
        )


class OwnTraining(LanguageModel):
    """A network of a shape that is trained from nothing, otherwise than its study's."""

    packing: Literal["stream", "documents"] = parameter(
        "Blocks of one stream of all texts, or windows of single texts."
    )
    context: int = parameter("Tokens of a block.", unit="tokens", ge=2)
    schedule: Schedule = parameter("How long and how fast.")
    shape: NetworkShape = parameter("The network.")

    def train(self, inputs: TrainingInputs) -> Saved:
        from longform.language_models.causal_lm import fit

        return fit(
            documents=inputs.documents,
            base=inputs.base,
            name=inputs.name,
            seed=inputs.seed,
            scratch=inputs.scratch,
            titles=inputs.titles,
            packing=self.packing,
            context=self.context,
            schedule=self.schedule.given(),
            shape=self.shape.given(),
        )


class Untrained(LanguageModel):
    """A network that has read nothing: the floor of every trained one."""

    context: int = parameter("Its positions.", unit="tokens", ge=2)
    shape: NetworkShape = parameter("The network.")

    def train(self, inputs: TrainingInputs) -> Saved:
        from longform.language_models.causal_lm import untrained

        return untrained(
            base=inputs.base, seed=inputs.seed, context=self.context, shape=self.shape.given()
        )


class Ngrams(LanguageModel):
    """Counts of n-grams of tokens, which know no grammar and no person."""

    context: int = parameter("Positions that its readers may use.", unit="tokens", ge=2)
    order: int = parameter("The longest n-gram.", unit="tokens", source="ours", ge=2)

    def train(self, inputs: TrainingInputs) -> Saved:
        from longform.language_models.ngram import fit

        return fit(
            documents=inputs.documents,
            base=inputs.base,
            titles=inputs.titles,
            context=self.context,
            order=self.order,
        )


class SentenceEncoder(LanguageModel):
    """A frozen encoder with the features of every sentence of the corpus."""

    splitter: Splitter = parameter("How a text is cut into sentences.")
    package: str | None = parameter(
        "An installed package that carries the encoder; else it lies at the study's tokenizer.",
        None,
    )

    def train(self, inputs: TrainingInputs) -> Saved:
        from longform.language_models.sentence_features import fit

        return fit(
            documents=inputs.documents,
            base=inputs.base,
            name=inputs.name,
            splitter=self.splitter,
            package=self.package,
        )


class EmPlan(Settings):
    """Passes of expectation maximisation."""

    iterations: int = parameter("Iterations at most.", source="ours", ge=1)
    pretraining: int = parameter(
        "Iterations over n-grams before texts.", 1, source="deng2022 appendix D", ge=0
    )
    growth: list[Annotated[tuple[int, int], Field(strict=False)]] = parameter(
        "States and iterations of smaller models that are fitted first.", [], source="ours"
    )
    min_count: Number = parameter(
        "Expected counts below this are dropped.", 0.0, source="ours", ge=0
    )
    until: Number = parameter(
        "Stop where an iteration gains less, in nats a token.", 0.0, source="ours", ge=0
    )
    restarts: int = parameter("Fits, of which the likeliest is kept.", 1, source="ours", ge=1)


class GradientPlan(Settings):
    """The paper's fit by Adam (deng2022 appendix D)."""

    pretraining_epochs: int = parameter(
        "Passes over n-grams before texts.", 1, source="deng2022 appendix D", ge=0
    )
    pretraining_rate: Number = parameter(
        "Adam's rate over n-grams.", 0.1, source="deng2022 appendix D", gt=0
    )
    epochs: int = parameter("Passes over the texts.", 10, source="deng2022 appendix D", ge=1)
    rate: Number = parameter("Adam's rate over the texts.", 0.3, source="deng2022 appendix D", gt=0)
    batch_size: int = parameter("Texts of an update.", 8, source="deng2022 appendix D", ge=1)


class Hsmm(LanguageModel):
    """A hidden semi-Markov model of texts (deng2022 appendix D)."""

    num_states: int = parameter("States.", source="deng2022 appendix D: 800", ge=1)
    max_duration: int = parameter(
        "The longest subsequence of a state.", unit="symbols", source="deng2022 appendix D", ge=1
    )
    max_ngrams: int = parameter(
        "Subsequences that states can write.", source="deng2022 appendix D: 250,000", ge=1
    )
    em: EmPlan | None = parameter("Fit by expectation maximisation; this or ``gradient``.", None)
    gradient: GradientPlan | None = parameter("Fit by Adam; this or ``em``.", None)
    threads: int = parameter("Threads of the fit.", 1, ge=1)

    def train(self, inputs: TrainingInputs) -> Saved:
        from longform.hsmm.train import fit

        return fit(
            documents=inputs.documents,
            name=inputs.name,
            seed=inputs.seed,
            scratch=inputs.scratch,
            num_states=self.num_states,
            max_duration=self.max_duration,
            max_ngrams=self.max_ngrams,
            em=plain(self.em),
            gradient=plain(self.gradient),
            threads=self.threads,
        )


class TranslatorShape(Settings):
    """The size of a translator (deng2022 appendix C)."""

    layers: int = parameter("Layers of encoder and decoder.", 2, source="fairseq: 6", ge=1)
    heads: int = parameter("Heads of attention.", 4, source="fairseq: 8", ge=1)
    width: int = parameter("Width of a layer.", 128, source="fairseq: 512", ge=1)
    inner: int = parameter("Inner width of a layer.", 512, source="fairseq: 2,048", ge=1)
    dropout: Number = parameter("Share that is dropped.", 0.1, source="fairseq", ge=0, lt=1)
    positions: int = parameter("The longest sentence.", 256, unit="tokens", ge=2)


class Translator(LanguageModel):
    """A translator that writes word by word or all words at once (deng2022 appendix C)."""

    network: Literal["autoregressive", "non_autoregressive"] = parameter(
        "Word by word, or all words at once.", source="deng2022 appendix C"
    )
    schedule: Schedule = parameter("How long and how fast.")
    shape: TranslatorShape | None = parameter("Its size; small by default.", None)
    subwords: int = parameter(
        "Size of the joint vocabulary at most.",
        4000,
        source="deng2022 appendix C: 40,000",
        ge=1,
    )

    def train(self, inputs: TrainingInputs) -> Saved:
        from longform.language_models.translation import fit

        return fit(
            inputs.documents,
            kind=self.network,
            name=inputs.name,
            seed=inputs.seed,
            scratch=inputs.scratch,
            schedule=self.schedule.given(),
            shape=plain(self.shape),
            subwords=self.subwords,
        )


REGISTRY: dict[str, type[LanguageModel]] = {
    "network": Network,
    "published": Published,
    "finetuned": Finetuned,
    "own_training": OwnTraining,
    "untrained": Untrained,
    "ngrams": Ngrams,
    "sentence_encoder": SentenceEncoder,
    "hsmm": Hsmm,
    "translator": Translator,
}


class Tokenizer(Settings):
    """What cuts the texts of a study into tokens."""

    def fit(self, documents: "Sequence[Document]", data: Path) -> Saved:
        """Learn or open the tokenizer.

        Args:
            documents: all texts of the study; split train is learnt from.
            data: the data folder.
        """
        raise NotImplementedError


class BytePairs(Tokenizer):
    """Byte pairs, learnt from the training texts, as GPT-2's are."""

    vocab_size: int = parameter("Tokens at most.", source="GPT-2: 50,257", ge=1)

    def fit(self, documents: "Sequence[Document]", data: Path) -> Saved:
        from longform.language_models.tokenizers import fit

        return fit(documents=documents, kind="byte_pair", vocab_size=self.vocab_size)


class Whitespace(Tokenizer):
    """Every word between blanks of the training texts."""

    def fit(self, documents: "Sequence[Document]", data: Path) -> Saved:
        from longform.language_models.tokenizers import fit

        return fit(documents=documents, kind="whitespace")


class TokenizerFolder(Tokenizer):
    """A tokenizer that lies in a folder."""

    folder: str = parameter("The folder below ``data/``.")

    def fit(self, documents: "Sequence[Document]", data: Path) -> Saved:
        from longform.language_models.tokenizers import fit

        return fit(documents=documents, folder=data / self.folder)


class TokenizerPackage(Tokenizer):
    """The tokenizer of a model in an installed package."""

    package: str = parameter(PACKAGE)
    file: str | None = parameter(FILE, None)

    def fit(self, documents: "Sequence[Document]", data: Path) -> Saved:
        from longform.language_models.tokenizers import fit

        return fit(documents=documents, package=self.package, file=self.file)


TOKENIZERS: dict[str, type[Tokenizer]] = {
    "byte_pair": BytePairs,
    "whitespace": Whitespace,
    "folder": TokenizerFolder,
    "package": TokenizerPackage,
}
