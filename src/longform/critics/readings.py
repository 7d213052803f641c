"""How texts can be read, as parameters name it under ``predictions``: a class for each way.

``READINGS`` is their registry.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from longform.datasets.settings import Splitter
from longform.settings import Number, Settings, parameter

if TYPE_CHECKING:
    import numpy as np

    from longform.documents import Document, Predictions

FilmFilter = Literal["released", "paper"] | None
FILM_FILTER = (
    "Read articles on films alone, as the authors' code or the paper tells them; null reads all."
)
SINGLETONS = "Keep persons who are mentioned once."
KEEP_TEXT = "Keep the texts beside what was read in them."


@dataclass(frozen=True)
class PredictionInputs:
    """What a stage gives a reader of texts."""

    documents: "list[Document]"
    truth: "Mapping[str, np.ndarray]"  # arrays of the corpus beside its texts, such as gold chains
    reader: Path  # the folder of a trained critic, a model or a corpus
    reader_truth: "Mapping[str, np.ndarray]"  # the same arrays of the reader, where it is a corpus
    splits: list[str]  # of the documents to read
    titles: bool  # whether section titles are part of the texts
    name: str  # of the predictions
    seed: int


class Reading(Settings):
    """A way to read texts: what comes out are predictions, which metrics score."""

    def predict(self, inputs: PredictionInputs) -> "Predictions":
        """Read the texts of ``inputs.splits``; a subclass gives its reader its settings."""
        raise NotImplementedError


class SectionTitles(Reading):
    """The likeliest title of each section, by a trained classifier (deng2022 section 4)."""

    max_length: int = parameter(
        "Tokens of a section that are read.", unit="tokens", source="deng2022 appendix E: 512", ge=1
    )
    batch: int = parameter("Sections side by side.", 16, source="ours", ge=1)

    def predict(self, inputs: PredictionInputs) -> "Predictions":
        from longform.critics.section_order.read import read

        return read(
            documents=inputs.documents,
            reader=inputs.reader,
            name=inputs.name,
            splits=inputs.splits,
            max_length=self.max_length,
            batch=self.batch,
            truth=inputs.truth,
        )


class GoldTitles(Reading):
    """The titles that stand in the texts."""

    def predict(self, inputs: PredictionInputs) -> "Predictions":
        from longform.critics.section_order.read import read_gold

        return read_gold(documents=inputs.documents, splits=inputs.splits)


class Mentions(Reading):
    """Chains of persons by rules (deng2022 section 5)."""

    singletons: bool = parameter(SINGLETONS, False)
    film_filter: FilmFilter = parameter(FILM_FILTER, None, source="deng2022 section 5")
    subject: Number = parameter(
        "How much a subject is preferred over a nearer mention; 0 leaves recency alone.",
        0.6,
        source="ours",
        ge=0,
    )
    keep_text: bool = parameter(KEEP_TEXT, False)

    def predict(self, inputs: PredictionInputs) -> "Predictions":
        from longform.critics.coreference.rules import read

        return read(
            documents=inputs.documents,
            splits=inputs.splits,
            singletons=self.singletons,
            film_filter=self.film_filter,
            subject=self.subject,
            keep_text=self.keep_text,
        )


class NearestMentions(Reading):
    """Chains of persons by the nearest mention."""

    singletons: bool = parameter(SINGLETONS, False)
    film_filter: FilmFilter = parameter(FILM_FILTER, None, source="deng2022 section 5")

    def predict(self, inputs: PredictionInputs) -> "Predictions":
        from longform.critics.coreference.rules import read_nearest

        return read_nearest(
            documents=inputs.documents,
            splits=inputs.splits,
            singletons=self.singletons,
            film_filter=self.film_filter,
        )


class GoldMentions(Reading):
    """The chains of persons that the corpus states."""

    singletons: bool = parameter(SINGLETONS, True)
    film_filter: FilmFilter = parameter(FILM_FILTER, None, source="deng2022 section 5")

    def predict(self, inputs: PredictionInputs) -> "Predictions":
        from longform.critics.coreference.chains import read_gold

        return read_gold(
            documents=inputs.documents,
            truth=inputs.truth,
            splits=inputs.splits,
            singletons=self.singletons,
            film_filter=self.film_filter,
        )


class FcorefMentions(Reading):
    """Chains of persons by F-coref, whose checkpoint is the reader (Otmazgin et al. 2022)."""

    film_filter: FilmFilter = parameter(FILM_FILTER, None, source="deng2022 section 5")

    def predict(self, inputs: PredictionInputs) -> "Predictions":
        from longform.critics.coreference.rules import read_fcoref

        return read_fcoref(
            documents=inputs.documents,
            reader=inputs.reader,
            splits=inputs.splits,
            film_filter=self.film_filter,
        )


class Topics(Reading):
    """Topics of each text, by a trained topic model (deng2022 section 6)."""

    predictions: Literal["proportions", "paths", "completion"] = parameter(
        "The texts' topics, those of their sentences, or the words of each second half.",
        "proportions",
        source="deng2022 section 6; completion: Wallach et al. 2009",
    )
    keep_text: bool = parameter(KEEP_TEXT, False)

    def predict(self, inputs: PredictionInputs) -> "Predictions":
        from longform.critics.topics.read import read

        return read(
            inputs.documents,
            reader=inputs.reader,
            splits=inputs.splits,
            predictions=self.predictions,
            keep_text=self.keep_text,
        )


class TokenLogProbs(Reading):
    """The log-probability of every token under a language model."""

    batch: int = parameter("Texts side by side.", 16, source="ours", ge=1)
    preset: Literal["paper"] | None = parameter(
        "``paper`` reads disjoint blocks of one stream.", None, source="deng2022, authors' code"
    )
    window: int | None = parameter(
        "Tokens that the network sees; null is all of its positions.", None, unit="tokens", ge=1
    )

    def predict(self, inputs: PredictionInputs) -> "Predictions":
        from longform.critics.perplexity.read import read

        return read(
            documents=inputs.documents,
            reader=inputs.reader,
            name=inputs.name,
            titles=inputs.titles,
            splits=inputs.splits,
            batch=self.batch,
            preset=self.preset,
            window=self.window,
        )


class SegmentLogProbs(Reading):
    """The log-likelihood of every text under a hidden semi-Markov model."""

    def predict(self, inputs: PredictionInputs) -> "Predictions":
        from longform.critics.perplexity.read import read_segments

        return read_segments(documents=inputs.documents, reader=inputs.reader, splits=inputs.splits)


class TextFeatures(Reading):
    """One vector for each text, of a language model (Pillutla et al. 2021)."""

    batch: int | None = parameter("Texts side by side; null chooses by memory.", None, ge=1)

    def predict(self, inputs: PredictionInputs) -> "Predictions":
        from longform.critics.mauve.read import read

        return read(
            documents=inputs.documents,
            reader=inputs.reader,
            name=inputs.name,
            splits=inputs.splits,
            batch=self.batch,
        )


class SentencePaths(Reading):
    """A vector for each sentence, by a trained or frozen encoder (sheng2024 section 3)."""

    splitter: Splitter | None = parameter(
        "How a text is cut into sentences; null is as the encoder was trained.", None
    )

    def predict(self, inputs: PredictionInputs) -> "Predictions":
        from longform.critics.bbscore.read import read

        return read(
            documents=inputs.documents,
            truth=inputs.truth,
            reader=inputs.reader,
            name=inputs.name,
            splits=inputs.splits,
            splitter=self.splitter,
        )


class GoldPaths(Reading):
    """The path that the corpus states: what a perfect encoder would see."""

    def predict(self, inputs: PredictionInputs) -> "Predictions":
        from longform.critics.bbscore.read import read_gold

        return read_gold(documents=inputs.documents, truth=inputs.truth, splits=inputs.splits)


class OrderScores(Reading):
    """One number for each text, by a trained ranker."""

    def predict(self, inputs: PredictionInputs) -> "Predictions":
        from longform.critics.neural_ranker.train import read

        return read(
            documents=inputs.documents,
            reader=inputs.reader,
            name=inputs.name,
            splits=inputs.splits,
        )


class Grids(Reading):
    """Entity grids (lapata2005 section 2)."""

    roles: Literal["rules", "truth", "spacy"] = parameter(
        "Who says the roles: rules, the corpus itself, or a parser.",
        source="ours: rules; a parser in lapata2005",
    )
    model: str = parameter("The parser of ``spacy``.", "en_core_web_sm")

    def predict(self, inputs: PredictionInputs) -> "Predictions":
        from longform.text.entity_grids import read

        return read(
            documents=inputs.documents,
            truth=inputs.truth,
            reader=inputs.reader,
            roles=self.roles,
            splits=inputs.splits,
            model=self.model,
        )


class Words(Reading):
    """The words of each text, as numbers."""

    def predict(self, inputs: PredictionInputs) -> "Predictions":
        from longform.critics.repetition.score import read

        return read(documents=inputs.documents, splits=inputs.splits)


class SuiteSurprisals(Reading):
    """Surprisal of every token of every condition of a suite (beyer2021 section 3)."""

    ends: Literal["bos", "legacy_none"] = parameter(
        "What stands before a text: a begin token, or nothing, and the first token counts nothing.",
        "bos",
        source="legacy_none: beyer2021, authors' code",
    )
    separator: str = parameter(
        "What stands for a change of speaker: the end token, nothing, or the sign itself.",
        "eos",
        source="beyer2021 section 3.1",
    )
    budget: int = parameter("Tokens of a batch.", 1024, unit="tokens", source="ours", ge=1)
    share: bool = parameter("Read common prefixes once.", True, source="ours")

    def predict(self, inputs: PredictionInputs) -> "Predictions":
        from longform.critics.surprisal.read import read

        return read(
            documents=inputs.documents,
            truth=inputs.truth,
            reader=inputs.reader,
            name=inputs.name,
            ends=self.ends,
            separator=self.separator,
            budget=self.budget,
            share=self.share,
        )


class LanguageMix(Reading):
    """The mix of languages of each sentence (deng2022 appendix C)."""

    def predict(self, inputs: PredictionInputs) -> "Predictions":
        from longform.critics.code_mixing.read import read

        return read(inputs.documents, reader=inputs.reader, seed=inputs.seed, splits=inputs.splits)


class CheckedGenerations(Reading):
    """Verdicts on the first sentences of each continuation (massarelli2020 section 3)."""

    splitter: Splitter = parameter("How a text is cut into sentences.", "full_stops")

    def predict(self, inputs: PredictionInputs) -> "Predictions":
        from longform.critics.verifiability.read import read

        return read(
            documents=inputs.documents,
            truth=inputs.truth,
            reader=inputs.reader,
            name=inputs.name,
            splitter=self.splitter,
        )


class CheckedClaims(Reading):
    """Verdicts on claims beside their labels."""

    def predict(self, inputs: PredictionInputs) -> "Predictions":
        from longform.critics.verifiability.read import read_claims

        return read_claims(
            documents=inputs.documents,
            reader=inputs.reader,
            name=inputs.name,
            splits=inputs.splits,
        )


READINGS: dict[str, type[Reading]] = {
    "section_titles": SectionTitles,
    "gold_titles": GoldTitles,
    "mentions": Mentions,
    "nearest_mentions": NearestMentions,
    "gold_mentions": GoldMentions,
    "fcoref_mentions": FcorefMentions,
    "topics": Topics,
    "token_log_probs": TokenLogProbs,
    "segment_log_probs": SegmentLogProbs,
    "text_features": TextFeatures,
    "sentence_paths": SentencePaths,
    "gold_paths": GoldPaths,
    "order_scores": OrderScores,
    "grids": Grids,
    "words": Words,
    "suite_surprisals": SuiteSurprisals,
    "language_mix": LanguageMix,
    "checked_generations": CheckedGenerations,
    "checked_claims": CheckedClaims,
}
