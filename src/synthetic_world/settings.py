"""What parameters can name of the synthetic world.

One class of settings for each corpus, and their registry.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from longform.datasets.settings import (
    Dataset,
    RegionMetric,
    SplitCounts,
    SplitShares,
    TitleFilters,
)
from longform.settings import Keys, Number, Settings, parameter, plain

if TYPE_CHECKING:
    from longform.documents import Corpus

ArticleDomain = Literal["wiki", "wikisection", "encyclopedia", "pubmed", "arxiv"]
Domain = Literal[
    "wiki", "wikisection", "encyclopedia", "pubmed", "arxiv", "parallel", "reports", "summaries"
]
ARTICLES = "Articles of each split."


class HsmmTemperatures(Settings):
    """How peaked the language's distributions are: a temperature divides normal logits."""

    transition: Number = parameter(
        "Of the transitions between states.", source="deng2022 appendix D: 0.5", gt=0
    )
    emission: Number = parameter(
        "Of the subsequences that a state writes.", source="deng2022 appendix D: 0.3", gt=0
    )


class HsmmLanguage(Dataset):
    """Texts of a hidden semi-Markov model of known probabilities (deng2022 section 3)."""

    documents: SplitCounts = parameter(
        "Texts of each split.", source="authors' code: 51,200 / 6,400 / 6,400"
    )
    num_states: int = parameter("States.", source="deng2022 appendix D: 256", ge=2)
    subsequences: int = parameter(
        "Different subsequences of symbols.", source="deng2022 appendix D: 10,000", ge=1
    )
    min_length: int = parameter(
        "The shortest subsequence.", unit="symbols", source="deng2022 appendix D: 4", ge=1
    )
    max_length: int = parameter(
        "The longest subsequence.", unit="symbols", source="deng2022 appendix D: 11", ge=1
    )
    steps: int = parameter(
        "States that a text goes through.", source="deng2022 appendix D: M = 50", ge=1
    )
    temperatures: HsmmTemperatures = parameter("How peaked the distributions are.")

    def build(self, *, name: str, seed: int, scratch: Path) -> "Corpus":
        from synthetic_world.hsmm_language import build

        return build(
            name=name,
            seed=seed,
            documents=self.documents,
            num_states=self.num_states,
            subsequences=self.subsequences,
            min_length=self.min_length,
            max_length=self.max_length,
            steps=self.steps,
            temperatures=self.temperatures.given(),
        )


class WorldTexts(Dataset):
    """Texts of one domain of the synthetic world, sound or with one corruption."""

    domain: Domain = parameter("Kind of text.")
    documents: SplitCounts = parameter("Documents of each split.", source="ours")
    corruption: str = parameter("A corruption of every article, by name; none by default.", "")
    severity: Number = parameter(
        "Share of the eligible places that are struck.", 0.0, source="ours", ge=0, le=1
    )

    def build(self, *, name: str, seed: int, scratch: Path) -> "Corpus":
        from synthetic_world.corpora import build

        return build(
            name=name,
            seed=seed,
            domain=self.domain,
            documents=self.documents,
            corruption=self.corruption,
            severity=self.severity,
        )


class ShortArticles(Dataset):
    """Articles of short sections: what WIKI-SHORT is to WIKI (deng2022 section 4, Table 3)."""

    domain: ArticleDomain = parameter("Kind of article.")
    documents: SplitCounts = parameter(ARTICLES, source="ours")
    short_tokens: int = parameter(
        "The longest section.", unit="tokens", source="deng2022 section 4: 500", ge=1
    )
    drawn: int = parameter(
        "Articles that are drawn for each that is kept at most.", 10, source="ours", ge=1
    )

    def build(self, *, name: str, seed: int, scratch: Path) -> "Corpus":
        from synthetic_world.corpora import short_articles

        return short_articles(
            name=name,
            seed=seed,
            domain=self.domain,
            documents=self.documents,
            short_tokens=self.short_tokens,
            drawn=self.drawn,
        )


class CorruptedArticles(Dataset):
    """Every article under each corruption, or under one, at every severity."""

    domain: ArticleDomain = parameter("Kind of article.")
    documents: SplitCounts = parameter(ARTICLES, source="ours")
    severities: list[Number] = parameter(
        "Shares of the eligible places that are struck, each above 0; where ``corruption`` is "
        "given, 0 must be listed too (the sound articles).",
        source="ours",
    )
    corruption: str | None = parameter("The only corruption, by name; null takes all.", None)

    def build(self, *, name: str, seed: int, scratch: Path) -> "Corpus":
        from synthetic_world.corpora import corrupted

        return corrupted(
            name=name,
            seed=seed,
            domain=self.domain,
            documents=self.documents,
            severities=self.severities,
            corruption=self.corruption,
        )


class SuiteTexts(Dataset):
    """What a model reads before the suites: stories, dialogues, articles and translations."""

    counts: Annotated[
        dict[str, SplitCounts], Keys("stories", "dialogues", "articles", "translations")
    ] = parameter("Texts of each kind and split.", source="ours")

    def build(self, *, name: str, seed: int, scratch: Path) -> "Corpus":
        from synthetic_world.corpora import mixture

        return mixture(name=name, seed=seed, counts=self.counts)


class PretrainingTexts(Dataset):
    """What a pretrained network has read: texts of each kind, sections in no order."""

    documents: dict[str, SplitCounts] = parameter(
        "Texts of each domain of articles or kind of story, and split.", source="ours"
    )

    def build(self, *, name: str, seed: int, scratch: Path) -> "Corpus":
        from synthetic_world.corpora import pretraining

        return pretraining(name=name, seed=seed, documents=self.documents)


class ToldFacts(Dataset):
    """What a model may have read about the encyclopedia's pages (massarelli2020 section 5)."""

    form: Literal["wiki", "books", "web", "news"] = parameter(
        "``wiki``: the page as it stands; ``books``: stories; ``news``: news; ``web``: news and "
        "stories in turn.",
        source="massarelli2020 section 5: Wikipedia, Toronto Books, OpenWebText, CCNews",
    )
    pages: SplitCounts = parameter("Pages of each split that are told about.", source="ours")
    tellings: int = parameter("Texts about a page.", unit="texts", source="ours", ge=1)
    fillers: int = parameter(
        "Sentences of a text that state no fact.", 4, unit="sentences", source="ours", ge=0
    )
    validation: int = parameter(
        "Pages that are told about once more, for validation.",
        20,
        unit="pages",
        source="ours",
        ge=1,
    )

    def build(self, *, name: str, seed: int, scratch: Path) -> "Corpus":
        from synthetic_world.corpora import readings

        return readings(
            name=name,
            seed=seed,
            form=self.form,
            pages=self.pages,
            tellings=self.tellings,
            fillers=self.fillers,
            validation=self.validation,
        )


class NativeReader(Settings):
    """What the reader of a native form may be told."""

    filters: TitleFilters | None = parameter("Which articles are kept.", None)
    subset: Literal["short"] | None = parameter("``short`` keeps articles of short sections.", None)
    short_tokens: int = parameter(
        "The longest section of a short article.",
        500,
        unit="tokens",
        source="deng2022 section 4",
        ge=1,
    )


class NativeFiles(Dataset):
    """The world's articles in a published corpus's native files, read by its own reader."""

    form: Literal["wiki", "pubmed", "arxiv"] = parameter("Which published corpus.")
    documents: int = parameter("Pages that are written.", unit="pages", source="ours", ge=1)
    reader: NativeReader | None = parameter("Settings of the reader.", None)

    def build(self, *, name: str, seed: int, scratch: Path) -> "Corpus":
        from synthetic_world.native_corpus import build

        return build(
            name=name,
            seed=seed,
            form=self.form,
            documents=self.documents,
            reader=plain(self.reader),
        )


class PlantedSuites(Dataset):
    """Every kind of suite of beyer2021, from the world's own stories, dialogues and articles."""

    counts: Annotated[dict[str, int], Keys("stories", "dialogues", "articles")] = parameter(
        "Stories, dialogues and articles.", source="beyer2021 Table 1: 1,871 and 967"
    )
    metric: RegionMetric = parameter(
        "How the surprisals of a region's tokens become its value.",
        "mean",
        source="beyer2021 equation 2",
    )
    least: int = parameter(
        "Senses of a connective with fewer uses are left out.", 1, unit="uses", source="ours", ge=1
    )
    match_case: bool = parameter(
        "A connective's replacement takes over its capital.", False, source="ours"
    )

    def build(self, *, name: str, seed: int, scratch: Path) -> "Corpus":
        from synthetic_world.planted_suites import build

        return build(
            name=name,
            seed=seed,
            counts=self.counts,
            metric=self.metric,
            least=self.least,
            match_case=self.match_case,
        )


class PlantedClaims(Dataset):
    """Pages of the encyclopedia with claims, in FEVER's format (massarelli2020 section 3)."""

    pages: SplitCounts = parameter(
        "Pages taken from each split of the encyclopedia; ``shares`` alone decides the splits of "
        "their claims.",
        source="ours",
    )
    shares: SplitShares = parameter(
        "Shares of the splits of claims, drawn by seed for each page: its claims share a split.",
        {"train": 0.8, "validation": 0.1, "test": 0.1},
        source="ours",
    )

    def build(self, *, name: str, seed: int, scratch: Path) -> "Corpus":
        from synthetic_world.fever_corpus import build

        return build(name=name, seed=seed, pages=self.pages, shares=self.shares)


DATASETS: dict[str, type[Dataset]] = {
    "hsmm_language": HsmmLanguage,
    "world_texts": WorldTexts,
    "short_articles": ShortArticles,
    "corrupted_articles": CorruptedArticles,
    "suite_texts": SuiteTexts,
    "pretraining_texts": PretrainingTexts,
    "told_facts": ToldFacts,
    "native_files": NativeFiles,
    "planted_suites": PlantedSuites,
    "planted_claims": PlantedClaims,
}
