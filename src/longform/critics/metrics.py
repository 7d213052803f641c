"""The critics' metrics, as parameters name them: a class of settings for each.

``METRICS`` is their registry.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from longform.settings import Number, Settings, parameter

if TYPE_CHECKING:
    from longform.documents import Predictions

DELTAS = "Pseudocounts to choose from by the Latent PPL of validation texts."
DELTAS_SOURCE = "deng2022, authors' code: 0 and 1; 0.1 is ours"
ORDER = "The longest n-gram of mentions."
ORDER_SOURCE = "deng2022 section 5: 5"
GRAM = "Length of an n-gram."


class MetricSettings(Settings):
    """A metric: what scores predictions."""

    def metric(self, real: "Predictions") -> Any:
        """The metric with these settings, not yet fitted.

        Args:
            real: predictions of the texts that it will be fitted on.
        """
        raise NotImplementedError

    def units(self, predictions: "Predictions") -> Sequence[Any]:
        """The predictions as units, which the metric scores: one for each text."""
        raise NotImplementedError


class _OfChains(MetricSettings):
    """What scores chains of states."""

    def units(self, predictions: "Predictions") -> Sequence[Any]:
        from longform.statistics.markov_chain import units_from_predictions

        return units_from_predictions(predictions)


class Bigram(_OfChains):
    """Latent PPL under an add-delta bigram of section titles or states (deng2022 section 4)."""

    delta: Number = parameter("The pseudocount.", 1.0, source="deng2022, authors' code", ge=0)

    def metric(self, real: "Predictions") -> Any:
        from longform.statistics.markov_chain import BigramCritic

        return BigramCritic(delta=self.delta)


class ValidatedBigram(_OfChains):
    """The bigram whose delta is chosen on gold validation chains, as released."""

    deltas: list[Number] = parameter(DELTAS, source=DELTAS_SOURCE)

    def metric(self, real: "Predictions") -> Any:
        from longform.statistics.markov_chain import validated_bigram

        return validated_bigram(real=real, deltas=self.deltas)


class TrueMarkov(_OfChains):
    """Latent PPL under the synthetic language's own transitions (deng2022 section 3)."""

    def metric(self, real: "Predictions") -> Any:
        from longform.statistics.markov_chain import true_markov

        return true_markov(real=real)


class _OfTitles(MetricSettings):
    """What scores section titles with a chosen delta."""

    deltas: list[Number] = parameter(DELTAS, source=DELTAS_SOURCE)

    def units(self, predictions: "Predictions") -> Sequence[Any]:
        from longform.critics.section_order.score import units_from_predictions

        return units_from_predictions(predictions)


class TitlePpl(_OfTitles):
    """Latent PPL of predicted titles under a bigram of gold ones (deng2022 Tables 2, 3 and 5)."""

    def metric(self, real: "Predictions") -> Any:
        from longform.critics.section_order.score import SectionOrder, with_validated_delta

        return with_validated_delta(SectionOrder, real, self.deltas)


class GoldTitlePpl(_OfTitles):
    """The same of the titles that stand in the texts."""

    def metric(self, real: "Predictions") -> Any:
        from longform.critics.section_order.score import GoldTitleCritic, with_validated_delta

        return with_validated_delta(GoldTitleCritic, real, self.deltas)


class RandomTitlePpl(_OfTitles):
    """The same of titles drawn at random: the chance row of a table."""

    def metric(self, real: "Predictions") -> Any:
        from longform.critics.section_order.score import RandomTitleCritic, with_validated_delta

        return with_validated_delta(RandomTitleCritic, real, self.deltas)


class _OfTitleErrors(MetricSettings):
    """What scores section titles with the classifier's errors."""

    def units(self, predictions: "Predictions") -> Sequence[Any]:
        from longform.critics.section_order.classifier_errors import units_from_predictions

        return units_from_predictions(predictions)


class CorrectedTitlePpl(_OfTitleErrors):
    """Latent PPL that gold titles would have, by the classifier's confusion matrix."""

    deltas: list[Number] = parameter(DELTAS, source=DELTAS_SOURCE)

    def metric(self, real: "Predictions") -> Any:
        from longform.critics.section_order.classifier_errors import corrected

        return corrected(real=real, deltas=self.deltas)


class TitleAccuracy(_OfTitleErrors):
    """Share of sections whose predicted title is the gold one (deng2022 appendix E)."""

    def metric(self, real: "Predictions") -> Any:
        from longform.critics.section_order.classifier_errors import TitleAccuracy

        return TitleAccuracy()


class CalibrationError(_OfTitleErrors):
    """Expected calibration error of the predicted titles (Naeini et al. 2015)."""

    bins: int = parameter("Bins of the confidence.", 15, source="Guo et al. 2017, section 2", ge=1)

    def metric(self, real: "Predictions") -> Any:
        from longform.critics.section_order.classifier_errors import CalibrationError

        return CalibrationError(bins=self.bins)


class _OfTitlePosteriors(MetricSettings):
    """What scores the whole posterior of the titles (deng2022 section 2 and appendix A)."""

    deltas: list[Number] = parameter(DELTAS, source=DELTAS_SOURCE)

    def units(self, predictions: "Predictions") -> Sequence[Any]:
        from longform.critics.section_order.posterior import units_from_predictions

        return units_from_predictions(predictions)


class ExpectedTitlePpl(_OfTitlePosteriors):
    """Latent PPL as an expectation over titles: the definition."""

    def metric(self, real: "Predictions") -> Any:
        from longform.critics.section_order.posterior import ExpectedTitleCritic
        from longform.critics.section_order.score import with_validated_delta

        return with_validated_delta(ExpectedTitleCritic, real, self.deltas)


class TitleLikelihoodTerm(_OfTitlePosteriors):
    """Appendix A's term of the likelihood."""

    def metric(self, real: "Predictions") -> Any:
        from longform.critics.section_order.posterior import LikelihoodTerm
        from longform.critics.section_order.score import with_validated_delta

        return with_validated_delta(LikelihoodTerm, real, self.deltas)


class TitleEntropyTerm(_OfTitlePosteriors):
    """Appendix A's term of the entropy."""

    def metric(self, real: "Predictions") -> Any:
        from longform.critics.section_order.posterior import EntropyTerm
        from longform.critics.section_order.score import with_validated_delta

        return with_validated_delta(EntropyTerm, real, self.deltas)


class TitleChainEntropy(_OfTitlePosteriors):
    """Diversity of a set's own chain of titles."""

    def metric(self, real: "Predictions") -> Any:
        from longform.critics.section_order.posterior import ChainEntropy
        from longform.critics.section_order.score import with_validated_delta

        return with_validated_delta(ChainEntropy, real, self.deltas)


class _OfMentions(MetricSettings):
    """What scores chains of mentions of persons (deng2022 section 5)."""

    order: int = parameter(ORDER, source=ORDER_SOURCE, ge=2)

    def units(self, predictions: "Predictions") -> Sequence[Any]:
        from longform.critics.coreference.score import units_from_predictions

        return units_from_predictions(predictions)


class MentionPpl(_OfMentions):
    """Latent PPL of mentions under the authors' n-grams."""

    def metric(self, real: "Predictions") -> Any:
        from longform.critics.coreference.score import ReleasedCoreference

        return ReleasedCoreference(order=self.order)


class KneserNeyMentionPpl(_OfMentions):
    """The same under interpolated modified Kneser-Ney n-grams."""

    def metric(self, real: "Predictions") -> Any:
        from longform.critics.coreference.score import Coreference

        return Coreference(order=self.order)


class RandomMentionPpl(_OfMentions):
    """Latent PPL of mentions drawn at random: the chance row of a table."""

    def metric(self, real: "Predictions") -> Any:
        from longform.critics.coreference.score import RandomMentionCritic

        return RandomMentionCritic(order=self.order)


class RandomKneserNeyMentionPpl(_OfMentions):
    """The same chance row under Kneser-Ney n-grams."""

    def metric(self, real: "Predictions") -> Any:
        from longform.critics.coreference.score import RandomKneserNeyCritic

        return RandomKneserNeyCritic(order=self.order)


class MentionAttribution(MetricSettings):
    """Which n-grams of mentions make the gap to real text (deng2022 Tables 6 and 15 to 17)."""

    order: int = parameter(ORDER, 5, source=ORDER_SOURCE, ge=2)
    threshold: Number = parameter(
        "Log-probability below which an n-gram is improbable.",
        -7.0,
        unit="nats",
        source="deng2022 Table 15",
        le=0,
    )

    def metric(self, real: "Predictions") -> Any:
        from longform.critics.coreference.attribution import ngram_attribution

        return ngram_attribution(real=real, order=self.order, threshold=self.threshold)

    def units(self, predictions: "Predictions") -> Sequence[Any]:
        from longform.critics.coreference.attribution import units_from_predictions

        return units_from_predictions(predictions)


class ChainAgreement(MetricSettings):
    """CoNLL score of a resolver against gold chains (Pradhan et al. 2012)."""

    def metric(self, real: "Predictions") -> Any:
        from longform.critics.coreference.agreement import against_gold

        return against_gold(real=real)

    def units(self, predictions: "Predictions") -> Sequence[Any]:
        from longform.critics.coreference.agreement import units_from_predictions

        return units_from_predictions(predictions)


class _OfTopics(MetricSettings):
    """What scores topics of texts (deng2022 section 6)."""

    full_expectation: bool = parameter(
        "The definition's expectation in place of the posterior's mean.",
        False,
        source="deng2022 section 6: true; authors' code: false",
    )

    def units(self, predictions: "Predictions") -> Sequence[Any]:
        from longform.critics.topics.score import units_from_predictions

        return units_from_predictions(predictions)


class TopicNll(_OfTopics):
    """Latent NLL of topic logits under a Gaussian fitted on real texts."""

    def metric(self, real: "Predictions") -> Any:
        from longform.critics.topics.score import Topics

        return Topics(full_expectation=self.full_expectation)


class RandomTopicNll(_OfTopics):
    """The same of topics drawn at random: the chance row of a table."""

    def metric(self, real: "Predictions") -> Any:
        from longform.critics.topics.score import RandomTopicCritic

        return RandomTopicCritic(full_expectation=self.full_expectation)


class ReleasedTopicNll(_OfTopics):
    """The same under the topic model's own Gaussian, as released."""

    def metric(self, real: "Predictions") -> Any:
        from longform.critics.topics.score import released

        return released(real=real, full_expectation=self.full_expectation)


class WordPpl(MetricSettings):
    """Perplexity a token of the body."""

    count_end: bool = parameter(
        "Count the closing end token.", True, source="deng2022's transformer; its HSMM has none"
    )

    def metric(self, real: "Predictions") -> Any:
        from longform.critics.perplexity.score import Perplexity

        return Perplexity(count_end=self.count_end)

    def units(self, predictions: "Predictions") -> Sequence[Any]:
        from longform.critics.perplexity.score import units_from_predictions

        return units_from_predictions(predictions)


class Mauve(MetricSettings):
    """MAUVE with clusters of the real texts (Pillutla et al. 2021)."""

    buckets: int = parameter("Clusters; 0 is a tenth of the texts.", 0, ge=0)

    def metric(self, real: "Predictions") -> Any:
        from longform.critics.mauve.score import Mauve

        return Mauve(buckets=self.buckets)

    def units(self, predictions: "Predictions") -> Sequence[Any]:
        from longform.critics.mauve.score import units_from_predictions

        return units_from_predictions(predictions)


class _OfPaths(MetricSettings):
    """What scores paths of sentences (sheng2024 section 3)."""

    def units(self, predictions: "Predictions") -> Sequence[Any]:
        from longform.critics.bbscore.score import units_from_predictions

        return units_from_predictions(predictions)


class Bridge(_OfPaths):
    """BBScore: how far a path strays from a Brownian bridge."""

    def metric(self, real: "Predictions") -> Any:
        from longform.critics.bbscore.score import BBScore

        return BBScore()


class JointBridge(_OfPaths):
    """The joint density of a bridge with covariance (ours)."""

    ridge: Number = parameter("Added to the covariance's diagonal.", 1e-6, source="ours", ge=0)

    def metric(self, real: "Predictions") -> Any:
        from longform.critics.bbscore.score import JointBridge

        return JointBridge(ridge=self.ridge)


class GivenOrderScore(MetricSettings):
    """The numbers that a trained ranker gave."""

    def metric(self, real: "Predictions") -> Any:
        from longform.critics.neural_ranker.score import NeuralRanker

        return NeuralRanker()

    def units(self, predictions: "Predictions") -> Sequence[Any]:
        from longform.critics.neural_ranker.score import units_from_predictions

        return units_from_predictions(predictions)


class _OfGrids(MetricSettings):
    """What scores entity grids (lapata2005 section 2)."""

    def units(self, predictions: "Predictions") -> Sequence[Any]:
        from longform.critics.entity_grid.score import units_from_predictions

        return units_from_predictions(predictions)


class GridTransitions(_OfGrids):
    """Log-probability of roles by n-grams of roles."""

    history: int = parameter(
        "Roles that the next one depends on.",
        1,
        source="lapata2005 section 2: tuned on development texts, its value lost",
        ge=0,
    )

    def metric(self, real: "Predictions") -> Any:
        from longform.critics.entity_grid.score import EntityGrid

        return EntityGrid(history=self.history)


class GridRanking(_OfGrids):
    """A ranking machine over shares of role transitions (Barzilay and Lapata 2008, section 4)."""

    lengths: list[int] = parameter(
        "Lengths of the transitions.", [2, 3], source="Barzilay and Lapata 2008"
    )
    salience: int = parameter(
        "Mentions from which an entity is salient.", 2, source="Barzilay and Lapata 2008", ge=1
    )

    def metric(self, real: "Predictions") -> Any:
        from longform.critics.entity_grid.score import ranking

        return ranking(lengths=self.lengths, salience=self.salience)


class _OfLexicalGrids(MetricSettings):
    """What scores the nouns of neighbouring sentences (lapata2005 section 3.2)."""

    def units(self, predictions: "Predictions") -> Sequence[Any]:
        from longform.critics.lexical.score import units_from_predictions

        return units_from_predictions(predictions)


class Overlap(_OfLexicalGrids):
    """Nouns that neighbouring sentences share."""

    def metric(self, real: "Predictions") -> Any:
        from longform.critics.lexical.score import SharedNouns

        return SharedNouns()


class LatentSemantics(_OfLexicalGrids):
    """Cosine of neighbouring sentences in a space of latent semantics (Foltz et al. 1998)."""

    dims: int = parameter(
        "Dimensions of the space.", 100, source="lost in lapata2005; 100 in its siblings", ge=1
    )

    def metric(self, real: "Predictions") -> Any:
        from longform.critics.lexical.score import LatentSemanticAnalysis

        return LatentSemanticAnalysis(dims=self.dims)


class WordnetSimilarity(MetricSettings):
    """Likeness of the nouns of neighbouring sentences in a word net (lapata2005 section 3.2)."""

    measure: Literal["hirst_st_onge", "lesk", "resnik", "lin", "jiang_conrath"] = parameter(
        "How like two nouns are.", source="lapata2005 section 3.2"
    )
    extended: bool | None = parameter(
        "Of lesk: phrases of related senses too; null is so.",
        None,
        source="Banerjee and Pedersen 2003",
    )

    def metric(self, real: "Predictions") -> Any:
        from longform.critics.lexical.wordnet import wordnet

        if self.extended is None:
            return wordnet(real=real, measure=self.measure)
        return wordnet(real=real, measure=self.measure, extended=self.extended)

    def units(self, predictions: "Predictions") -> Sequence[Any]:
        from longform.critics.lexical.wordnet import units_from_predictions

        return units_from_predictions(predictions)


class _OfWords(MetricSettings):
    """What scores the words of a text."""

    n: int = parameter(GRAM, 4, unit="words", source="massarelli2020 section 5: 4", ge=1)

    def units(self, predictions: "Predictions") -> Sequence[Any]:
        from longform.critics.repetition.score import units_from_predictions

        return units_from_predictions(predictions)


class RepeatedGrams(_OfWords):
    """Share of n-grams that were met before in the same text."""

    def metric(self, real: "Predictions") -> Any:
        from longform.critics.repetition.score import Repetition

        return Repetition(n=self.n)


class DistinctGrams(_OfWords):
    """Different n-grams of a text (massarelli2020 section 5)."""

    def metric(self, real: "Predictions") -> Any:
        from longform.critics.repetition.score import DistinctGrams

        return DistinctGrams(n=self.n)


class _OfLanguageMixes(MetricSettings):
    """What scores mixes of languages (deng2022 appendix C)."""

    def units(self, predictions: "Predictions") -> Sequence[Any]:
        from longform.critics.code_mixing.score import units_from_predictions

        return units_from_predictions(predictions)


class LanguageDispersion(_OfLanguageMixes):
    """Chance that two words of a sentence differ in language."""

    corners: bool = parameter("The share of sentences of one language instead.", False)

    def metric(self, real: "Predictions") -> Any:
        from longform.critics.code_mixing.score import LanguageDispersion

        return LanguageDispersion(corners=self.corners)


class ReleasedLanguageNll(_OfLanguageMixes):
    """Latent NLL under the mixture's own prior, as released."""

    def metric(self, real: "Predictions") -> Any:
        from longform.critics.code_mixing.score import released

        return released(real=real)


class SupportedPerVerified(MetricSettings):
    """The supported share of what is verified (massarelli2020 section 4)."""

    unique: bool = parameter("Count equal sentences once.", False)
    pooled: bool = parameter("Over all texts at once in place of the mean of texts.", False)
    sentences: int = parameter(
        "Sentences of a text that are judged.", 5, source="massarelli2020 section 5", ge=1
    )

    def metric(self, real: "Predictions") -> Any:
        from longform.critics.verifiability.score import SupportedPerVerified

        return SupportedPerVerified(
            unique=self.unique, pooled=self.pooled, sentences=self.sentences
        )

    def units(self, predictions: "Predictions") -> Sequence[Any]:
        from longform.critics.verifiability.score import units_from_predictions

        return units_from_predictions(predictions)


METRICS: dict[str, type[MetricSettings]] = {
    "bigram": Bigram,
    "validated_bigram": ValidatedBigram,
    "true_markov": TrueMarkov,
    "title_ppl": TitlePpl,
    "gold_title_ppl": GoldTitlePpl,
    "random_title_ppl": RandomTitlePpl,
    "corrected_title_ppl": CorrectedTitlePpl,
    "title_accuracy": TitleAccuracy,
    "calibration_error": CalibrationError,
    "expected_title_ppl": ExpectedTitlePpl,
    "title_likelihood_term": TitleLikelihoodTerm,
    "title_entropy_term": TitleEntropyTerm,
    "title_chain_entropy": TitleChainEntropy,
    "mention_ppl": MentionPpl,
    "kneser_ney_mention_ppl": KneserNeyMentionPpl,
    "random_mention_ppl": RandomMentionPpl,
    "random_kneser_ney_mention_ppl": RandomKneserNeyMentionPpl,
    "mention_attribution": MentionAttribution,
    "chain_agreement": ChainAgreement,
    "topic_nll": TopicNll,
    "random_topic_nll": RandomTopicNll,
    "released_topic_nll": ReleasedTopicNll,
    "word_ppl": WordPpl,
    "mauve": Mauve,
    "bridge": Bridge,
    "joint_bridge": JointBridge,
    "given_order_score": GivenOrderScore,
    "grid_transitions": GridTransitions,
    "grid_ranking": GridRanking,
    "overlap": Overlap,
    "latent_semantics": LatentSemantics,
    "wordnet": WordnetSimilarity,
    "repeated_grams": RepeatedGrams,
    "distinct_grams": DistinctGrams,
    "language_dispersion": LanguageDispersion,
    "released_language_nll": ReleasedLanguageNll,
    "supported_per_verified": SupportedPerVerified,
}
