"""The data sets that ``corpora_from_files`` can name: a class of settings for each, and a registry.

A class's fields are what an entry of the parameters may say beside ``study`` and ``source``; its
method reads the files. A new data set is a class here and a line of ``REGISTRY``.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from longform.settings import Keys, Number, Settings, Task, parameter, plain

if TYPE_CHECKING:
    from longform.documents import Corpus

SplitCounts = Annotated[
    dict[str, Annotated[int, Field(ge=0)]], Keys("train", "validation", "test")
]  # how many of each split
SplitShares = Annotated[
    dict[str, Annotated[Number, Field(ge=0, le=1)]], Keys("train", "validation", "test")
]  # shares of the whole, which add up to one
SplitFiles = Annotated[dict[str, str], Keys("train", "validation", "test")]
Splitter = Literal["rules", "full_stops", "spacy"]
RegionMetric = Literal["mean", "sum", "median", "range", "max", "min"]
SPLITTER = "How a text is cut into sentences."
SPLITTER_SOURCE = "ours; sheng2024's code cuts at full stops"
SHARES = "Shares of the splits, drawn by seed."
OPENING_SENTENCES = "First sentences of a section, which alone are kept; null keeps all."


class Dataset(Settings):
    """A corpus that is made from the seed alone."""

    def build(self, *, name: str, seed: int, scratch: Path) -> "Corpus":
        """Make the corpus.

        Args:
            name: its key in the parameters.
            seed: of the whole run.
            scratch: a folder for unfinished work.
        """
        raise NotImplementedError


class FileDataset(Settings):
    """A corpus that is read from a file or folder below ``data/``."""

    reads_beside: ClassVar[bool] = False  # whether it takes a second file

    def load(
        self, raw: Path, *, name: str, seed: int, scratch: Path, beside: Path | None
    ) -> "Corpus":
        """Read the corpus.

        Args:
            raw: the file or folder that the entry's ``source`` names.
            name: its key in the parameters.
            seed: of the whole run.
            scratch: a folder for unfinished work.
            beside: a second file, where the entry names one.
        """
        raise NotImplementedError


class TitleFilters(Settings):
    """Which articles of a corpus with section titles are kept (deng2022 section 4)."""

    min_sections: int = parameter(
        "An article has at least so many sections.",
        4,
        unit="sections",
        source="deng2022 section 4: 4 for WIKI, 3 for PUBMED and ARXIV",
        ge=1,
    )
    max_tokens: int = parameter(
        "A section has at most so many tokens.",
        2000,
        unit="tokens",
        source="deng2022 section 4",
        ge=1,
    )
    min_tokens: int = parameter(
        "A section has at least so many tokens.",
        30,
        unit="tokens",
        source="deng2022 section 4",
        ge=0,
    )
    min_title_count: int = parameter(
        "A title stands in at least so many training articles.",
        4000,
        unit="articles",
        source="deng2022 section 4: 4,000 for WIKI, 500 for PUBMED, 200 for ARXIV",
        ge=1,
    )
    removed: list[str] | None = parameter(
        "Normalised titles whose sections are deleted; a list of references and links by default.",
        None,
        source="authors' code",
    )


class DumpExtraction(Settings):
    """What decides the bytes of a shard of a Wikipedia dump, beside the dump itself."""

    shard_bytes: int = parameter("Size of a shard.", 16 * 2**20, unit="bytes", source="ours", ge=1)
    page_seconds: int = parameter(
        "CPU time before the scanner takes over a page.", 20, unit="seconds", source="ours", ge=1
    )
    max_page_bytes: int | None = parameter(
        "A page of more XML is set aside.", None, unit="bytes", source="ours"
    )


class Documents(FileDataset):
    """Documents as they stand, one JSON record a line."""

    def load(
        self, raw: Path, *, name: str, seed: int, scratch: Path, beside: Path | None
    ) -> "Corpus":
        from longform.datasets.text_files import build

        return build(raw=raw)


class ShuffledTexts(FileDataset):
    """Articles of a prepared corpus, those of split test with shuffles of their parts."""

    tasks: list[Task] = parameter(
        "What is shuffled: blocks or windows of sentences and their size, or whole sections.",
        source="sheng2024 section 5.1; whole sections are ours",
    )
    documents: SplitCounts = parameter(
        "The first so many articles of each split.", unit="articles", source="ours"
    )
    shuffles: int = parameter(
        "Shuffles of each article and task; equal ones are kept once.",
        1,
        source="sheng2024 section 5.1: 20",
        ge=1,
    )
    splitter: Splitter = parameter(SPLITTER, "rules", source=SPLITTER_SOURCE)

    def load(
        self, raw: Path, *, name: str, seed: int, scratch: Path, beside: Path | None
    ) -> "Corpus":
        from longform.datasets.shuffled_texts import build

        return build(
            name=name,
            seed=seed,
            raw=raw,
            tasks=self.tasks,
            documents=self.documents,
            shuffles=self.shuffles,
            splitter=self.splitter,
        )


class RatedShuffles(FileDataset):
    """Three classes of coherence by shuffling, in place of rated texts (sheng2024 appendix B)."""

    splitter: Splitter = parameter(SPLITTER, "rules", source=SPLITTER_SOURCE)

    def load(
        self, raw: Path, *, name: str, seed: int, scratch: Path, beside: Path | None
    ) -> "Corpus":
        from longform.datasets.shuffled_texts import rated

        return rated(name=name, seed=seed, raw=raw, splitter=self.splitter)


class CorruptedTexts(FileDataset):
    """Test documents of a prepared corpus under each corruption that needs no truth.

    Each is done at every severity. The second file holds parallel text, from which sentences of
    other languages are taken.
    """

    reads_beside = True
    documents: int = parameter(
        "The first so many test documents.", unit="documents", source="ours", ge=1
    )
    severities: list[Number] = parameter(
        "Shares of the eligible places that are struck.", source="ours"
    )
    splitter: Splitter = parameter(SPLITTER, "rules", source=SPLITTER_SOURCE)

    def load(
        self, raw: Path, *, name: str, seed: int, scratch: Path, beside: Path | None
    ) -> "Corpus":
        from longform.datasets.shuffled_texts import corrupted

        return corrupted(
            name=name,
            seed=seed,
            raw=raw,
            documents=self.documents,
            severities=self.severities,
            splitter=self.splitter,
            beside=beside,
        )


class Wikipedia(FileDataset):
    """Articles of a Wikipedia dump with their sections (deng2022 section 4)."""

    shares: SplitShares = parameter(
        SHARES,
        {"train": 0.8, "validation": 0.1, "test": 0.1},
        source="deng2022 Table 11",
    )
    filters: TitleFilters | None = parameter(
        "Which articles are kept; the paper's for WIKI by default.", None
    )
    subset: Literal["short"] | None = parameter(
        "``short`` keeps articles whose sections are all short: WIKI-SHORT.", None
    )
    short_tokens: int = parameter(
        "The longest section of a short article.",
        500,
        unit="tokens",
        source="deng2022 section 4",
        ge=1,
    )
    tokenizer: str | None = parameter(
        "A ``tokenizer.json`` beside the dump; without one, pieces before merging are counted.",
        None,
    )
    extraction: DumpExtraction | None = parameter("How the dump is cut into shards.", None)
    workers: int = parameter("Processes that read the dump; they change no byte.", 1, ge=1)

    def load(
        self, raw: Path, *, name: str, seed: int, scratch: Path, beside: Path | None
    ) -> "Corpus":
        from longform.datasets.wikipedia.building import build

        return build(
            name=name,
            seed=seed,
            raw=raw,
            scratch=scratch,
            shares=self.shares,
            filters=plain(self.filters),
            subset=self.subset,
            short_tokens=self.short_tokens,
            tokenizer=self.tokenizer,
            extraction=plain(self.extraction),
            workers=self.workers,
        )


class MostVisited(FileDataset):
    """Introductions of the most visited articles of two years (massarelli2020 section 5)."""

    pages: int = parameter(
        "Articles of each split.", 1000, unit="articles", source="massarelli2020 section 5", ge=1
    )
    least: int = parameter(
        "A month's line of fewer views is not counted.", 1000, unit="views", source="ours", ge=0
    )

    def load(
        self, raw: Path, *, name: str, seed: int, scratch: Path, beside: Path | None
    ) -> "Corpus":
        from longform.datasets.wikipedia.building import most_visited

        return most_visited(name=name, raw=raw, pages=self.pages, least=self.least)


class Scientific(FileDataset):
    """Scientific articles in Cohan et al.'s format (deng2022 section 4: PUBMED and ARXIV)."""

    files: str = parameter("A glob of the files in the folder.", "*")
    filters: TitleFilters | None = parameter(
        "Which articles are kept; the paper's for PUBMED by default.", None
    )
    tokenizer: str | None = parameter(
        "A ``tokenizer.json`` beside the data; without one, pieces before merging are counted.",
        None,
    )
    shares: SplitShares = parameter(
        f"{SHARES[:-1]}, where one file holds all articles.",
        {"train": 0.7, "validation": 0.1, "test": 0.2},
        source="Arnold et al. 2019, section 3",
    )

    def load(
        self, raw: Path, *, name: str, seed: int, scratch: Path, beside: Path | None
    ) -> "Corpus":
        from longform.datasets.scientific import build

        return build(
            name=name,
            seed=seed,
            raw=raw,
            files=self.files,
            filters=plain(self.filters),
            tokenizer=self.tokenizer,
            shares=self.shares,
        )


class Proposals(FileDataset):
    """Proposals to change a language or a protocol: PEPs, EIPs, Rust RFCs."""

    files: str = parameter("A glob of the files in the folder.", "*")
    filters: TitleFilters | None = parameter(
        "Which documents are kept; the paper's for WIKI by default.", None
    )
    rare: Literal["article", "section"] = parameter(
        "What is left out where a title is infrequent: the article, or the section alone.",
        "article",
        source="deng2022 section 4; the section alone is ours",
    )
    boilerplate: list[str] = parameter(
        "Normalised titles of sections that say the same in every document; they are deleted.",
        ["copyright"],
        source="ours",
    )
    tokenizer: str | None = parameter(
        "A ``tokenizer.json`` in the folder; without one, pieces before merging are counted.", None
    )
    shares: SplitShares = parameter(
        SHARES,
        {"train": 0.7, "validation": 0.1, "test": 0.2},
        source="Arnold et al. 2019, section 3",
    )
    recent: int | None = parameter(
        "Documents of this year and later are all in split test.", None, unit="year", source="ours"
    )
    part: Literal["all", "before", "since"] = parameter(
        "``before`` and ``since`` keep the documents before that year, or from it on.",
        "all",
        source="ours",
    )
    opening_sentences: int | None = parameter(
        OPENING_SENTENCES, None, unit="sentences", source="ours", ge=1
    )

    def load(
        self, raw: Path, *, name: str, seed: int, scratch: Path, beside: Path | None
    ) -> "Corpus":
        from longform.datasets.proposals import build

        return build(
            name=name,
            seed=seed,
            raw=raw,
            files=self.files,
            filters=plain(self.filters),
            rare=self.rare,
            boilerplate=self.boilerplate,
            tokenizer=self.tokenizer,
            shares=self.shares,
            recent=self.recent,
            part=self.part,
            opening_sentences=self.opening_sentences,
        )


class WikiSection(FileDataset):
    """Articles of WikiSection (Arnold et al. 2019), cities or diseases."""

    files: SplitFiles | None = parameter(
        "A file for each split; without them the source is one file.", None
    )
    shares: SplitShares = parameter(
        SHARES,
        {"train": 0.7, "validation": 0.1, "test": 0.2},
        source="Arnold et al. 2019, section 3",
    )
    splitter: Splitter = parameter(SPLITTER, "rules", source=SPLITTER_SOURCE)
    short_tokens: int | None = parameter(
        "An article with a longer section is left out, as of WIKI-SHORT; null keeps all.",
        None,
        unit="tokens",
        source="deng2022 section 4: 500 for WIKI-SHORT",
        ge=1,
    )
    opening_sentences: int | None = parameter(
        OPENING_SENTENCES, None, unit="sentences", source="ours", ge=1
    )

    def load(
        self, raw: Path, *, name: str, seed: int, scratch: Path, beside: Path | None
    ) -> "Corpus":
        from longform.datasets.wikisection import build

        return build(
            name=name,
            seed=seed,
            raw=raw,
            files=self.files,
            shares=self.shares,
            splitter=self.splitter,
            short_tokens=self.short_tokens,
            opening_sentences=self.opening_sentences,
        )


class EncyclopediaPages(FileDataset):
    """WikiSection's articles as pages of an encyclopedia, each one section under its name."""

    shares: SplitShares = parameter(
        SHARES,
        {"train": 0.7, "validation": 0.1, "test": 0.2},
        source="Arnold et al. 2019, section 3",
    )
    splitter: Splitter = parameter(SPLITTER, "rules", source=SPLITTER_SOURCE)

    def load(
        self, raw: Path, *, name: str, seed: int, scratch: Path, beside: Path | None
    ) -> "Corpus":
        from longform.datasets.encyclopedia import pages

        return pages(name=name, seed=seed, raw=raw, shares=self.shares, splitter=self.splitter)


class EncyclopediaRead(FileDataset):
    """What a model has read that knows the pages: all articles, those of the prefixes too."""

    shares: SplitShares = parameter(
        SHARES,
        {"train": 0.7, "validation": 0.1, "test": 0.2},
        source="Arnold et al. 2019, section 3",
    )

    def load(
        self, raw: Path, *, name: str, seed: int, scratch: Path, beside: Path | None
    ) -> "Corpus":
        from longform.datasets.encyclopedia import read_whole

        return read_whole(name=name, seed=seed, raw=raw, shares=self.shares)


class EncyclopediaOpenings(FileDataset):
    """What a small model has read that knows the pages which it will continue, and nothing else."""

    sentences: int = parameter(
        "Sentences of an article that are read, from the first one on.",
        unit="sentences",
        source="ours",
        ge=1,
    )
    shares: SplitShares = parameter(
        SHARES,
        {"train": 0.7, "validation": 0.1, "test": 0.2},
        source="Arnold et al. 2019, section 3",
    )
    splitter: Splitter = parameter(SPLITTER, "rules", source=SPLITTER_SOURCE)

    def load(
        self, raw: Path, *, name: str, seed: int, scratch: Path, beside: Path | None
    ) -> "Corpus":
        from longform.datasets.encyclopedia import read_openings

        return read_openings(
            name=name,
            seed=seed,
            raw=raw,
            sentences=self.sentences,
            shares=self.shares,
            splitter=self.splitter,
        )


class EncyclopediaClaims(FileDataset):
    """Claims of Symmetric FEVER beside WikiSection's pages, and statements of these pages."""

    articles: str = parameter("The file of pages in the folder.", "cities.txt")
    pairs: str = parameter("The file of claims and sentences in the folder.", "symmetric.jsonl")
    shares: SplitShares = parameter(
        SHARES,
        {"train": 0.7, "validation": 0.1, "test": 0.2},
        source="Arnold et al. 2019, section 3",
    )
    splitter: Splitter = parameter(SPLITTER, "rules", source=SPLITTER_SOURCE)
    statements: int = parameter(
        "Sentences of the pages that become claims, and as many under another page's name.",
        0,
        unit="sentences",
        source="ours",
        ge=0,
    )
    contradictions: int = parameter(
        "Sentences of the pages that become claims with one number changed, which are refuted.",
        0,
        unit="sentences",
        source="ours",
        ge=0,
    )

    def load(
        self, raw: Path, *, name: str, seed: int, scratch: Path, beside: Path | None
    ) -> "Corpus":
        from longform.datasets.encyclopedia import claims

        return claims(
            name=name,
            seed=seed,
            raw=raw,
            articles=self.articles,
            pairs=self.pairs,
            shares=self.shares,
            splitter=self.splitter,
            statements=self.statements,
            contradictions=self.contradictions,
        )


class Fever(FileDataset):
    """Claims and Wikipedia's pages in FEVER's format (Thorne et al. 2018)."""

    shares: SplitShares = parameter(
        "Shares of the splits, drawn by seed for each page.",
        {"train": 0.8, "validation": 0.1, "test": 0.1},
        source="ours",
    )
    with_pages: bool = parameter(
        "Whether the pages are documents; without, a checker reads them from the folder.", True
    )

    def load(
        self, raw: Path, *, name: str, seed: int, scratch: Path, beside: Path | None
    ) -> "Corpus":
        from longform.datasets.fever import build

        return build(
            name=name,
            seed=seed,
            raw=raw,
            scratch=scratch,
            shares=self.shares,
            with_pages=self.with_pages,
        )


class Hanna(FileDataset):
    """HANNA's stories by people and by language models (Chhun et al. 2024)."""

    shares: SplitShares = parameter(
        f"{SHARES[:-1]} for each prompt.",
        {"train": 0.7, "validation": 0.1, "test": 0.2},
        source="Arnold et al. 2019, section 3",
    )

    def load(
        self, raw: Path, *, name: str, seed: int, scratch: Path, beside: Path | None
    ) -> "Corpus":
        from longform.datasets.text_files import hanna

        return hanna(name=name, seed=seed, raw=raw, shares=self.shares)


class ParallelTexts(FileDataset):
    """Sentences beside their translations (deng2022 appendix C)."""

    language: str = parameter(
        "The language that is translated.", "en", source="deng2022 appendix C"
    )
    targets: list[str] = parameter(
        "The languages that it is translated into.",
        ["de", "es", "fr"],
        source="deng2022 appendix C",
    )

    def load(
        self, raw: Path, *, name: str, seed: int, scratch: Path, beside: Path | None
    ) -> "Corpus":
        from longform.datasets.text_files import parallel

        return parallel(raw=raw, name=name, seed=seed, source=self.language, targets=self.targets)


class Gcdc(FileDataset):
    """Texts rated for coherence in three classes (GCDC; Lai and Tetreault 2018)."""

    validation: Number = parameter(
        "The share of the training texts that becomes validation.", 0.1, source="ours", gt=0, lt=1
    )

    def load(
        self, raw: Path, *, name: str, seed: int, scratch: Path, beside: Path | None
    ) -> "Corpus":
        from longform.datasets.text_files import gcdc

        return gcdc(name=name, raw=raw, validation=self.validation)


class Cohesentia(FileDataset):
    """Stories of GPT-3 in three classes of coherence (CoheSentia, Maimon and Tsarfaty 2023)."""

    shares: SplitShares = parameter(
        SHARES, {"train": 0.5, "validation": 0.05, "test": 0.45}, source="ours"
    )

    def load(
        self, raw: Path, *, name: str, seed: int, scratch: Path, beside: Path | None
    ) -> "Corpus":
        from longform.datasets.rated_texts import story_classes

        return story_classes(name=name, seed=seed, raw=raw, shares=self.shares)


class SummEval(FileDataset):
    """Summaries by systems and people, rated by experts (SummEval; Fabbri et al. 2021)."""

    dimension: Literal["coherence", "consistency", "fluency", "relevance"] = parameter(
        "Which of the experts' ratings are kept.", "coherence", source="lapata2005 section 4"
    )

    def load(
        self, raw: Path, *, name: str, seed: int, scratch: Path, beside: Path | None
    ) -> "Corpus":
        from longform.datasets.text_files import summeval

        return summeval(raw=raw, dimension=self.dimension)


class RatedStories(FileDataset):
    """Stories of language models, rated (Xie, Cohn and Lau 2023)."""

    dimension: Literal["coherence", "fluency", "interestingness", "logicality", "relatedness"] = (
        parameter("Which of the ratings is kept.", "coherence", source="ours")
    )

    def load(
        self, raw: Path, *, name: str, seed: int, scratch: Path, beside: Path | None
    ) -> "Corpus":
        from longform.datasets.rated_texts import rated_stories

        return rated_stories(raw=raw, dimension=self.dimension)


class DialogueSummaries(FileDataset):
    """Summaries of dialogues, rated (DialSummEval, Gao and Wan 2022)."""

    dimension: Literal["coherence", "consistency", "fluency", "relevance"] = parameter(
        "Which of the ratings is kept.", "coherence", source="ours"
    )

    def load(
        self, raw: Path, *, name: str, seed: int, scratch: Path, beside: Path | None
    ) -> "Corpus":
        from longform.datasets.rated_texts import dialogue_summaries

        return dialogue_summaries(raw=raw, dimension=self.dimension)


SourceFiles = Annotated[
    dict[str, str | dict[str, str]],
    Keys(
        "stories",
        "dialogues",
        "schemas",
        "connectives",
        "statements",
        "narration",
        "re_mentions",
        "texts",
        "suites",
    ),
]


class NativeSuites(FileDataset):
    """Suites of minimal pairs from the files that beyer2021 names, and SyntaxGym's own."""

    sources: SourceFiles = parameter(
        "Path below the folder by kind; ``re_mentions`` by genre and ``texts`` by language.",
        source="beyer2021 section 4",
    )
    metric: RegionMetric = parameter(
        "How the surprisals of a region's tokens become its value.",
        "mean",
        source="beyer2021 equation 2",
    )
    drop_last: bool = parameter(
        "Leave the last dialogue out, as the paper's count of 967 has it.",
        False,
        source="beyer2021 Table 1",
    )
    lower: bool = parameter("Write the pronoun of a schema without a capital.", True, source="ours")
    least: int = parameter(
        "Senses of a connective with fewer uses are left out.", 1, unit="uses", source="ours", ge=1
    )
    match_case: bool = parameter(
        "A connective's replacement takes over its capital.", False, source="ours"
    )
    most: int | None = parameter(
        "So many dialogues, stories or uses of a sense at most, drawn by seed; null takes all.",
        None,
        source="ours",
        ge=1,
    )
    replaced: list[str] | None = parameter(
        "Connectives that are replaced by others; null takes every one of the paper's.",
        None,
        source="beyer2021 Table 4",
    )

    def load(
        self, raw: Path, *, name: str, seed: int, scratch: Path, beside: Path | None
    ) -> "Corpus":
        from longform.datasets.test_suites.native import build

        return build(
            name=name,
            seed=seed,
            raw=raw,
            sources=self.sources,
            metric=self.metric,
            drop_last=self.drop_last,
            lower=self.lower,
            least=self.least,
            match_case=self.match_case,
            most=self.most,
            replaced=self.replaced,
        )


REGISTRY: dict[str, type[FileDataset]] = {
    "documents": Documents,
    "shuffled_texts": ShuffledTexts,
    "rated_shuffles": RatedShuffles,
    "corrupted_texts": CorruptedTexts,
    "wikipedia": Wikipedia,
    "most_visited": MostVisited,
    "scientific": Scientific,
    "proposals": Proposals,
    "wikisection": WikiSection,
    "encyclopedia_pages": EncyclopediaPages,
    "encyclopedia_read": EncyclopediaRead,
    "encyclopedia_openings": EncyclopediaOpenings,
    "encyclopedia_claims": EncyclopediaClaims,
    "fever": Fever,
    "hanna": Hanna,
    "parallel_texts": ParallelTexts,
    "gcdc": Gcdc,
    "cohesentia": Cohesentia,
    "summeval": SummEval,
    "rated_stories": RatedStories,
    "dialogue_summaries": DialogueSummaries,
    "native_suites": NativeSuites,
}
