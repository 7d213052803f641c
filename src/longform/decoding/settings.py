"""What writes texts: samplers of whole texts, completions and continuations.

A new kind is a class here and a line of its registry.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from longform.datasets.settings import SplitCounts, Splitter
from longform.errors import ConfigError
from longform.settings import Number, Settings, parameter

if TYPE_CHECKING:
    from longform.documents import Corpus, Document

BATCH = "Texts that are written side by side."


@dataclass(frozen=True)
class WritingInputs:
    """What a stage gives a sampler."""

    model: Path  # the folder of the language model
    prefixes: "Sequence[Document]"  # the corpus that the model was trained on
    titles: bool  # whether the model writes section titles
    packing: str | None  # how the study packed its training texts
    name: str
    seed: int
    scratch: Path  # a folder for unfinished work


class Sampler(Settings):
    """A way in which a language model writes whole texts."""

    def write(self, inputs: WritingInputs) -> "Corpus":
        """Write a corpus; each subclass hands its own settings to the function that samples it."""
        raise NotImplementedError


class LongDocuments(Sampler):
    """Articles token by token, longer than the network's window (deng2022 section 4)."""

    documents: int = parameter("Texts.", source="deng2022 section 4: 10,000", ge=1)
    batch: int = parameter(BATCH, source="ours", ge=1)
    max_tokens: int = parameter(
        "A text without an end is cut here.",
        unit="tokens",
        source="deng2022 section 4: 20,000",
        ge=1,
    )
    context_overlap: int | None = parameter(
        "Tokens that the next window shares with the last; null slides by one token.",
        unit="tokens",
        source="deng2022, authors' code: null",
        ge=0,
    )
    window: int | None = parameter(
        "Tokens that the network sees; null is all of its positions.",
        None,
        unit="tokens",
        source="deng2022 section 4: 1,024",
        ge=1,
    )
    top_k: int = parameter(
        "Draw among so many likeliest tokens; 0 is among all.",
        0,
        unit="tokens",
        source="deng2022 sections 3 and 4: all",
        ge=0,
    )
    temperature: Number = parameter("Divides the logits.", 1.0, ge=0)
    redraws: int = parameter(
        "A malformed text is drawn again so often at most.", 20, source="ours", ge=0
    )

    def write(self, inputs: WritingInputs) -> "Corpus":
        """Sample articles. Raises ConfigError: the study does not say how it trains."""
        from longform.decoding.long_documents import generate

        if inputs.packing is None:
            raise ConfigError(
                f"sampling {inputs.name}: its study has no 'training', which says how texts begin; "
                "add it to params.yaml"
            )
        return generate(
            model=inputs.model,
            name=inputs.name,
            seed=inputs.seed,
            scratch=inputs.scratch,
            prefixes=inputs.prefixes,
            documents=self.documents,
            titles=inputs.titles,
            packing=inputs.packing,
            batch=self.batch,
            max_tokens=self.max_tokens,
            context_overlap=self.context_overlap,
            window=self.window,
            top_k=self.top_k,
            temperature=self.temperature,
            redraws=self.redraws,
        )


class SegmentSampling(Sampler):
    """Texts of a hidden semi-Markov model, segment by segment (deng2022 section 3)."""

    documents: int = parameter("Texts.", source="deng2022 section 3: 6,400", ge=1)
    segments: int = parameter(
        "Segments of a text.", unit="segments", source="deng2022 section 3: 50", ge=1
    )

    def write(self, inputs: WritingInputs) -> "Corpus":
        from longform.decoding.segment_sampling import generate

        return generate(
            model=inputs.model,
            name=inputs.name,
            seed=inputs.seed,
            documents=self.documents,
            segments=self.segments,
        )


class Translations(Sampler):
    """A translation of every sentence of a split (deng2022 appendix C)."""

    split: Literal["train", "validation", "test"] = parameter(
        "Whose sentences are translated.", "test"
    )
    temperature: Number = parameter(
        "Divides the logits; 0 takes the likeliest words.",
        1.0,
        source="deng2022 section 2: samples of the model itself",
        ge=0,
    )
    batch: int = parameter(BATCH, 64, source="ours", ge=1)

    def write(self, inputs: WritingInputs) -> "Corpus":
        from longform.decoding.translations import generate

        return generate(
            model=inputs.model,
            name=inputs.name,
            seed=inputs.seed,
            prefixes=inputs.prefixes,
            split=self.split,
            temperature=self.temperature,
            batch=self.batch,
        )


SAMPLERS: dict[str, type[Sampler]] = {
    "long_documents": LongDocuments,
    "segments": SegmentSampling,
    "translations": Translations,
}


class Completions(Settings):
    """Machine completions of the openings of human sections (sheng2024 section 5.2)."""

    model: str = parameter("The folder of the language model below ``data/``.")
    sources: dict[str, Literal["greedy", "ancestral", "nucleus", "top_k"]] = parameter(
        "The decoder of each source, by the name that it gets.",
        source="ours; decoding is not stated in sheng2024",
    )
    prompt_sentences: int = parameter(
        "Human sentences at the start of each section.",
        2,
        unit="sentences",
        source='sheng2024 section 5.2: "the first few sentences"',
        ge=1,
    )
    splitter: Splitter = parameter("How a text is cut into sentences.", "full_stops")
    documents: SplitCounts | None = parameter(
        "Articles of each split; null takes all.", None, source="sheng2024: 2,165 and 658"
    )
    batch: int = parameter(BATCH, 128, source="ours", ge=1)

    def complete(
        self,
        model: Path,
        prefixes: "Sequence[Document]",
        *,
        name: str,
        seed: int,
        scratch: Path,
    ) -> "Corpus":
        """Complete every section of the articles.

        Args:
            model: the folder of the language model.
            prefixes: the human articles, or all sides of articles that another model completed.
            name: which of the two parts it is.
            seed: seed of the whole run.
            scratch: a folder for unfinished work.
        """
        from longform.decoding.completions import generate

        return generate(
            model=model,
            name=name,
            seed=seed,
            prefixes=prefixes,
            sources=self.sources,
            prompt_sentences=self.prompt_sentences,
            splitter=self.splitter,
            documents=self.documents,
            batch=self.batch,
            scratch=scratch,
        )


class Continuations(Settings):
    """Continuations of first sentences of encyclopedia pages (massarelli2020 section 5)."""

    model: str = parameter("The folder of the language model below ``data/models/decoding``.")
    prefixes: str = parameter("The folder of the corpus below ``data/``.")
    decoders: str = parameter("A list of decoders, by the name of its file.")
    new_tokens: int = parameter(
        "Tokens of a continuation.", 256, unit="tokens", source="massarelli2020 section 5", ge=1
    )
    repeats: int | None = parameter(
        "Continuations of a prefix by a decoder that draws; null is three.",
        None,
        source="massarelli2020 section 5: 3",
        ge=1,
    )
    split: Literal["train", "validation", "test"] | None = parameter(
        "Whose pages are continued; null takes all.", "test"
    )
    documents: int | None = parameter("Pages; null takes all.", None, unit="pages", ge=1)
    batch: int = parameter(BATCH, 16, source="ours", ge=1)
    splitter: Splitter = parameter("How a text is cut into sentences.", "full_stops")
    title_from: Literal["definition", "first_section"] = parameter(
        "Where a page's title stands.", "definition"
    )

    def decode(
        self,
        model: Path,
        prefixes: "Sequence[Document]",
        decoders: Mapping[str, Mapping[str, Any]],
        *,
        name: str,
        seed: int,
        scratch: Path,
    ) -> "Corpus":
        """Continue every page by every decoder.

        Args:
            model: the folder of the language model.
            prefixes: the pages.
            decoders: of the named list, each a mapping with a ``kind`` of
                :data:`longform.decoding.decoders.DECODERS`.
            name: name of the run.
            seed: seed of the whole run.
            scratch: a folder for unfinished work.
        """
        from longform.decoding.continuations import generate

        return generate(
            model=model,
            prefixes=prefixes,
            name=name,
            seed=seed,
            scratch=scratch,
            decoders=decoders,
            new_tokens=self.new_tokens,
            repeats=self.repeats,
            split=self.split,
            documents=self.documents,
            batch=self.batch,
            splitter=self.splitter,
            title_from=self.title_from,
        )
