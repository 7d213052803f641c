"""The tables and figures of deng2022 that its ``params.yaml`` can name.

Each has a class of settings; below stands their registry.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

from longform.settings import parameter
from longform_lab.settings.entries import Exhibit, Paper, Sheet

if TYPE_CHECKING:
    from longform.results import Record, Results
    from longform_lab.reporting.pivot import ReportInputs


class Table4(Exhibit):
    """PPL, MAUVE and Latent PPL of data and of every system.

    Where annotators were asked, the share called coherent too, and correlations with it.
    """

    def draw(self, inputs: "ReportInputs") -> Sheet:
        from experiments.deng2022.report.human import table_4

        return table_4(inputs)


class Table18(Exhibit):
    """Organisations of the articles called incoherent, most common first, pooled over systems."""

    def draw(self, inputs: "ReportInputs") -> Sheet:
        from experiments.deng2022.report.human import table_18

        return table_18(inputs)


class Table7(Exhibit):
    """Latent PPL of mentions of persons, for data and models, beside the exact value."""

    def draw(self, inputs: "ReportInputs") -> Sheet:
        from experiments.deng2022.report.mentions import table_7

        return table_7(inputs)


class Table8(Exhibit):
    """Latent PPL of mentions of persons by model size, models with titles, as in Table 8."""

    def draw(self, inputs: "ReportInputs") -> Sheet:
        from experiments.deng2022.report.mentions import table_8

        return table_8(inputs)


class TableResolvers(Exhibit):
    """The same chains under three readers.

    Latent PPL of each text, and agreement with the synthetic truth (ours).
    """

    def draw(self, inputs: "ReportInputs") -> Sheet:
        from experiments.deng2022.report.mentions import table_resolvers

        return table_resolvers(inputs)


class Ngrams(Exhibit):
    """5-grams of one of the lists in a record, with their numbers.

    Tables 6, 15, 16 and 17.
    """

    table: str = parameter("The paper's table, as expected.yaml calls it.")
    listed: str = parameter("Which list of the record: gap, rare, high or low.")
    caption: str = parameter("The table's heading.")
    header: list[str] = parameter("What stands above the columns.")
    keys: list[str] = parameter("What a row shows of a 5-gram.")

    def draw(self, inputs: "ReportInputs") -> Sheet:
        from experiments.deng2022.report.mentions import ngrams

        return ngrams(
            inputs,
            table=self.table,
            kind=self.listed,
            caption=self.caption,
            header=self.header,
            keys=self.keys,
        )


class Table15(Exhibit):
    """A random subset of the improbable 5-grams, with what the critic expected."""

    table: str = parameter("The paper's table, as expected.yaml calls it.")
    listed: str = parameter("Which list of the record: gap, rare, high or low.")
    caption: str = parameter("The table's heading.")
    header: list[str] = parameter("What stands above the columns.")
    keys: list[str] = parameter("What a row shows of a 5-gram.")

    def draw(self, inputs: "ReportInputs") -> Sheet:
        from experiments.deng2022.report.mentions import table_15

        return table_15(
            inputs,
            table=self.table,
            kind=self.listed,
            caption=self.caption,
            header=self.header,
            keys=self.keys,
        )


class Figure5(Exhibit):
    """The beginning of the worst article, above its chain of mentions with log probabilities."""

    def draw(self, inputs: "ReportInputs") -> Sheet:
        from experiments.deng2022.report.mentions import figure_5, models_with_articles
        from longform_lab.reporting.pivot import for_each_system

        return for_each_system(inputs, models_with_articles(inputs), lambda own, _: figure_5(own))


class Figures1013(Exhibit):
    """Four generated articles, mentions coloured by entity, improbable 5-grams circled.

    HTML pages, and a picture of the first.
    """

    def draw(self, inputs: "ReportInputs") -> Sheet:
        from experiments.deng2022.report.mentions import figures_10_13, models_with_articles
        from longform_lab.reporting.pivot import for_each_system

        return for_each_system(
            inputs, models_with_articles(inputs), lambda own, _: figures_10_13(own)
        )


class FigureWrongPronoun(Exhibit):
    """Latent PPL of mentions and of section titles as ever more pronouns get the wrong gender.

    Ours, after section 5.
    """

    def draw(self, inputs: "ReportInputs") -> Sheet:
        from experiments.deng2022.report.mentions import figure_wrong_pronoun

        return figure_wrong_pronoun(inputs)


class GeneratedArticles(Exhibit):
    """The share of derivable sentences of real text and of every system.

    Beside it are the first articles of each model, and real ones.
    """

    corpus: str = parameter("Whose articles are shown.")
    systems: list[str] = parameter("The models that wrote them, a page each.")
    generated: int = parameter("Articles of the model.", 5, ge=1)
    real: int = parameter("Real articles beside them.", 2, ge=0)

    def draw(self, inputs: "ReportInputs") -> Sheet:
        from experiments.deng2022.report.pages import generated_articles

        return generated_articles(
            inputs,
            corpus=self.corpus,
            systems=self.systems,
            generated=self.generated,
            real=self.real,
        )


class Titles(Exhibit):
    """Word PPL and Latent PPL of section titles beside exact and chance values.

    Tables 2, 3 and 5.
    """

    printed: str = parameter("The paper's table, as expected.yaml calls it.")
    caption: str = parameter("The table's heading.")

    def draw(self, inputs: "ReportInputs") -> Sheet:
        from experiments.deng2022.report.sections import titles

        return titles(inputs, printed=self.printed, caption=self.caption)


class FigureSizes(Exhibit):
    """Word PPL and Latent PPL over the size of the network (ours, after Table 5).

    A line for each corpus, with and without titles.
    """

    def draw(self, inputs: "ReportInputs") -> Sheet:
        from experiments.deng2022.report.sections import figure_sizes

        return figure_sizes(inputs)


class Table11(Exhibit):
    """Articles per split, section types, section statistics of the validation split.

    Raises BadInput: a corpus is not there.
    """

    def draw(self, inputs: "ReportInputs") -> Sheet:
        from experiments.deng2022.report.sections import table_11

        return table_11(inputs)


class TitleCalibration(Exhibit):
    """Reliability of the title classifiers on test sections, a panel for each corpus.

    Accuracy and calibration error stand in the CSV.
    """

    def draw(self, inputs: "ReportInputs") -> Sheet:
        from experiments.deng2022.report.sections import title_calibration

        return title_calibration(inputs)


class InferenceError(Exhibit):
    """Latent PPL before and after the classifier's errors are taken out.

    Beside it stand gold titles and ``exact``, what they tend to.
    """

    def draw(self, inputs: "ReportInputs") -> Sheet:
        from experiments.deng2022.report.sections import inference_error

        return inference_error(inputs)


class AppendixA(Exhibit):
    """Appendix A's three terms, and the Latent NLL of a set split in two.

    The parts are the set's own diversity and its distance to the prior.
    """

    def draw(self, inputs: "ReportInputs") -> Sheet:
        from experiments.deng2022.report.sections import appendix_a

        return appendix_a(inputs)


class Table9(Exhibit):
    """Latent NLL of topic logits in nats per document.

    The printed numbers stand beside the posterior's mean, as released code scores.
    """

    def draw(self, inputs: "ReportInputs") -> Sheet:
        from experiments.deng2022.report.topics import table_9

        return table_9(inputs)


class Table14(Exhibit):
    """The documents with the largest T(x), worst first, each with its beginning.

    The paper's table is lost.
    """

    def draw(self, inputs: "ReportInputs") -> Sheet:
        from experiments.deng2022.report.topics import table_14

        return table_14(inputs)


class Covariances(Exhibit):
    """Covariances of topic logits (Figures 6, 8 and 9).

    Those of the data, of a model of it and of a model of another corpus.
    """

    title: str = parameter("The figure's heading.")

    def draw(self, inputs: "ReportInputs") -> Sheet:
        from experiments.deng2022.report.topics import covariances

        return covariances(inputs, title=self.title)


class Table1(Exhibit):
    """Word PPL and Latent PPL of data, transformer and HSMMs, beside the exact values.

    The parse rate is the share that the oracle reads.
    """

    def draw(self, inputs: "ReportInputs") -> Sheet:
        from experiments.deng2022.report.topics import table_1

        return table_1(inputs)


class FigureLatentOverWord(Exhibit):
    """Latent PPL over word PPL of every model (ours, after section 3).

    Hollow points are the paper's, where our language has its size.
    """

    def draw(self, inputs: "ReportInputs") -> Sheet:
        from experiments.deng2022.report.topics import figure_latent_over_word

        return figure_latent_over_word(inputs)


class Table10(Exhibit):
    """The most probable words of each language of the mixture, and their synthetic language."""

    def draw(self, inputs: "ReportInputs") -> Sheet:
        from experiments.deng2022.report.topics import table_10

        return table_10(inputs)


class Figure7(Exhibit):
    """Mixtures of languages of sentences on the simplex, a panel a system, with the dispersion."""

    def draw(self, inputs: "ReportInputs") -> Sheet:
        from experiments.deng2022.report.topics import figure_7

        return figure_7(inputs)


class Table12(Exhibit):
    """The most common improbable transitions of each system, in % of all between its sections."""

    def draw(self, inputs: "ReportInputs") -> Sheet:
        from experiments.deng2022.report.transitions import table_12

        return table_12(inputs)


class Figure4(Exhibit):
    """P(z_m | z_{m-1}) of a model minus that of real text, for the most common titles.

    Improbable transitions are framed.
    """

    def draw(self, inputs: "ReportInputs") -> Sheet:
        from experiments.deng2022.report.transitions import LATENT, figure_4
        from longform_lab.reporting.pivot import for_each_system

        return for_each_system(inputs, inputs.models(LATENT), lambda own, _: figure_4(own))


class ArticlePage(Exhibit):
    """The most improbable article of a kind, its bad transitions marked (Figure 1, Table 13).

    The kind is ``worst`` or ``repeating``.
    """

    caption: str = parameter("The page's heading.")
    choice: Literal["worst", "repeating"] = parameter(
        "The most improbable article, or the most improbable with a repeated section."
    )

    def draw(self, inputs: "ReportInputs") -> Sheet:
        from experiments.deng2022.report.transitions import LATENT, article_page
        from longform_lab.reporting.pivot import for_each_system

        def page(own: "ReportInputs", _: str) -> Sheet:
            return article_page(own, caption=self.caption, kind=self.choice)

        return for_each_system(inputs, inputs.models(LATENT), page)


class HumanStudy(Exhibit):
    """What the annotators answered, one by one and together."""

    def draw(self, inputs: "ReportInputs") -> Sheet:
        from longform_lab.study.tables import human_study

        return human_study(inputs)


EXHIBITS: dict[str, type[Exhibit]] = {
    "human_study": HumanStudy,
    "table_4": Table4,
    "table_18": Table18,
    "table_7": Table7,
    "table_8": Table8,
    "table_resolvers": TableResolvers,
    "ngrams": Ngrams,
    "table_15": Table15,
    "figure_5": Figure5,
    "figures_10_13": Figures1013,
    "figure_wrong_pronoun": FigureWrongPronoun,
    "generated_articles": GeneratedArticles,
    "titles": Titles,
    "figure_sizes": FigureSizes,
    "table_11": Table11,
    "title_calibration": TitleCalibration,
    "inference_error": InferenceError,
    "appendix_a": AppendixA,
    "table_9": Table9,
    "table_14": Table14,
    "covariances": Covariances,
    "table_1": Table1,
    "figure_latent_over_word": FigureLatentOverWord,
    "table_10": Table10,
    "figure_7": Figure7,
    "table_12": Table12,
    "figure_4": Figure4,
    "article_page": ArticlePage,
}


class Deng2022(Paper):
    """What deng2022 shows, and which records follow from others."""

    exhibits = EXHIBITS

    @staticmethod
    def derived(results: "Results") -> "Iterable[Record]":
        from experiments.deng2022.report import derived

        return derived(results)
