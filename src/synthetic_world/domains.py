r"""The domains of articles.

Section chains, topic priors, kinds of pages, mention processes and vocabularies.

Section titles are a Markov chain with begin and end. A document's main idea is
$\eta \sim N(\mu, \Sigma)$ with $\Sigma$ in blocks, the last topic's logit being zero (deng2022
section 5.2). Its sentences' logits follow a Brownian bridge from $\eta$ back to $\eta$ with
variance $\sigma_m^2 (i-1)(T-i)/(T-1)$ per dimension at sentence $i$ of $T$ (sheng2024 equations
1-3, canonical indices); a sentence's one topic is drawn from the softmax of its logits.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from longform.errors import BadInput
from synthetic_world.draws import Draws, table
from synthetic_world.grammar import Frame, Style, compile_frame, compile_style
from synthetic_world.lexicon import Vocabulary, vocabulary
from synthetic_world.mentions import MentionProcess

# Reached with probability below 1e-9 in every domain; a longer chain is cut.
MAX_SECTIONS = 40


@dataclass(frozen=True)
class SectionChain:
    """A sparse first-order chain over section types.

    ``transitions`` is float64, (types + 1, types + 1): row 0 is begin and row 1 + i type i, column
    j type j and the last column the end; a zero is a forbidden transition.
    """

    types: tuple[str, ...]
    transitions: np.ndarray

    def __post_init__(self) -> None:
        sums = self.transitions.sum(axis=1)
        if not np.allclose(sums, 1.0, rtol=0.0, atol=1e-12):
            raise BadInput(f"rows of the section chain sum to {sums}, allowed is 1; fix the table")

    @cached_property
    def _cumulative(self) -> list[list[float]]:
        return np.cumsum(self.transitions, axis=1).tolist()

    def sample(self, draws: Draws) -> list[int]:
        """Draw indices of types from begin to end, both left out; at most ``MAX_SECTIONS``."""
        chain: list[int] = []
        row = 0  # begin; the row of type i is i + 1
        while len(chain) < MAX_SECTIONS:
            row = draws.index(self._cumulative[row]) + 1
            if row > len(self.types):  # the end was drawn
                break
            chain.append(row - 1)
        return chain

    def latent_ppl(self) -> float:
        r"""$\exp(E[-\log P(z)] / E[M + 1])$, the average over a corpus.

        All M + 1 transitions count, begin and end included. Begin and each type are visited
        $e_0 (I - Q)^{-1}$ times in expectation, Q being the transitions but to the end.
        """
        size = len(self.types) + 1
        # Q with a column for begin, to which nothing goes: rows and columns are then alike.
        inner = np.zeros((size, size))
        inner[:, 1:] = self.transitions[:, :-1]
        visits = np.linalg.solve((np.eye(size) - inner).T, np.eye(size)[0])
        logs = np.log(
            self.transitions, out=np.zeros_like(self.transitions), where=self.transitions > 0
        )
        entropy = -(self.transitions * logs).sum(axis=1)
        return math.exp(float(visits @ entropy) / float(visits.sum()))


@dataclass(frozen=True)
class TopicPrior:
    """Logistic-normal prior and bridge of one domain."""

    topics: int  # one more than the free logits
    block: int = 3  # topics of a block share ``correlation``; other pairs are independent
    variance: float = 2.5  # of each logit over documents
    correlation: float = 0.6
    sigma_m2: float = 0.05  # variance of the bridge per sentence step

    @cached_property
    def mean(self) -> np.ndarray:
        """Prior mean of the free logits: float64, (topics - 1,)."""
        return np.linspace(0.5, -0.5, self.topics - 1)

    @cached_property
    def covariance(self) -> np.ndarray:
        """Prior covariance: float64, (topics - 1, topics - 1), in blocks."""
        blocks = np.arange(self.topics - 1) // self.block
        same = blocks[:, None] == blocks[None, :]
        return self.variance * np.where(
            same, self.correlation + (1 - self.correlation) * np.eye(len(blocks)), 0.0
        )

    @cached_property
    def _factor(self) -> np.ndarray:
        return np.linalg.cholesky(self.covariance)

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """One document's main idea: float64, (topics - 1,)."""
        return self.mean + (self._factor * rng.standard_normal(self.topics - 1)).sum(axis=1)

    def path(self, eta: np.ndarray, sentences: int, rng: np.random.Generator) -> np.ndarray:
        """A bridge from ``eta`` to ``eta``: float64, (sentences, topics - 1)."""
        steps = rng.standard_normal((sentences, self.topics - 1)) * math.sqrt(self.sigma_m2)
        steps[0] = 0.0
        walk = np.cumsum(steps, axis=0)
        time = np.arange(sentences)[:, None] / max(sentences - 1, 1)
        return eta + walk - time * walk[-1]

    def weights(self, logits: np.ndarray) -> np.ndarray:
        """Topic proportions: float64, (rows, topics); the last topic's logit is zero."""
        full = np.concatenate([logits, np.zeros((len(logits), 1))], axis=1)
        full = np.exp(full - full.max(axis=1, keepdims=True))
        return full / full.sum(axis=1, keepdims=True)

    def assign(self, logits: np.ndarray, rng: np.random.Generator) -> list[int]:
        """Draw the index of a topic for each row of logits, (rows, topics - 1)."""
        cumulative = np.cumsum(self.weights(logits), axis=1)
        cumulative[:, -1] = 1.0  # which rounding may have missed
        return np.argmax(rng.random((len(logits), 1)) < cumulative, axis=1).tolist()

    def latent_nll(self) -> float:
        r"""Expected $-\log N(\eta; \mu, \Sigma)$ in nats.

        It is $\frac{K-1}{2}(1 + \log 2\pi) + \frac12 \log|\Sigma|$.
        """
        size = self.topics - 1
        log_determinant = float(np.linalg.slogdet(self.covariance)[1])
        return 0.5 * size * (1 + math.log(2 * math.pi)) + 0.5 * log_determinant

    def expected_variance_estimate(self) -> float:
        r"""Expected estimate of $\sigma_m^2$ by sheng2024's printed formula (section 4).

        It is $n \sigma_m^2 / 2$ for n dimensions, since the formula's terms are
        $\lVert s_i - \mu_i \rVert^2 / (2 v_i)$.
        """
        return 0.5 * (self.topics - 1) * self.sigma_m2

    def expected_bridge_score(self, sentences: Sequence[int]) -> float:
        r"""Expected mean BBScore (lower is more coherent) of true paths with these sentence counts.

        With $\hat\sigma^2$ at its expectation the mean of $\beta_i/\hat\sigma^2$ is one; the sum
        inside the absolute value is taken as positive, which holds when the mean of $\log(2\pi v_i
        \hat\sigma^2)$ exceeds minus one.
        """
        sigma = self.expected_variance_estimate()
        means = []
        for count in sentences:
            inner = np.arange(1, count - 1)
            variances = inner * (count - 1 - inner) / (count - 1)
            means.append(1.0 + np.log(2 * np.pi * variances * sigma).mean())
        return float(np.mean(means))


SCIENTIFIC = {"pubmed": "medical", "arxiv": "physical"}
DOMAINS = ("wiki", "wikisection", "encyclopedia", *SCIENTIFIC)
PROCESSES = {
    "person": MentionProcess(quiet=0.30, opens_with_person=True),
    "film": MentionProcess(quiet=0.25, opens_with_person=True, newcomer=0.9),
    "city": MentionProcess(quiet=0.85),
    "company": MentionProcess(quiet=0.65),
}


@dataclass(frozen=True)
class Kind:
    """A kind of page: how often and how it mentions persons, and how its first sentence is made."""

    mentions: MentionProcess
    openings: tuple[Frame, ...]


@dataclass(frozen=True)
class Domain:
    """Everything that articles of one domain are drawn from.

    Attributes:
        chain: of sections.
        kind_of: kind of page by the title of its second section.
        kind: of all other pages.
        kinds: of pages, by name.
        styles: by section title, or by ``title/kind`` where they depend on the kind.
        vocabulary: of its topics.
        prior: of its topics.
        fact_share: probability that an eligible sentence of an abstract states a fact.
    """

    chain: SectionChain
    kind_of: Mapping[str, str]
    kind: str
    kinds: Mapping[str, Kind]
    styles: Mapping[str, Style]
    vocabulary: Vocabulary
    prior: TopicPrior
    fact_share: float = 0.4


@cache
def domain(name: str) -> Domain:
    """The domain of that name, built once.

    Scientific domains have one kind of page, the others pages on persons, films, cities and
    companies. In ``encyclopedia`` every section is written like an abstract, so most facts of its
    pages are stated in them.

    Raises:
        BadInput: no such domain of articles.
    """
    if name not in DOMAINS:
        raise BadInput(
            f"domain {name!r} has no articles, allowed are {sorted(DOMAINS)}; choose one of them"
        )
    chain = _section_chain(name)
    return _scientific(name, chain) if name in SCIENTIFIC else _encyclopedic(name, chain)


def _section_chain(name: str) -> SectionChain:
    """The chain of sections of a domain, from its table."""
    rows = table("section_chains")[name]
    types = tuple(title for title in rows if title != "begin")
    columns = {title: number for number, title in enumerate((*types, "end"))}
    matrix = np.zeros((len(types) + 1, len(columns)))
    for number, title in enumerate(("begin", *types)):
        for following, probability in rows[title].items():
            matrix[number, columns[following]] = probability
    return SectionChain(types, matrix)


def _scientific(name: str, chain: SectionChain) -> Domain:
    """A domain of studies, which mention nobody."""
    field = SCIENTIFIC[name]
    frames = table(f"{field}_frames")
    kinds = {"study": Kind(MentionProcess(quiet=1.0), (compile_frame(frames["opening"]),))}
    words = vocabulary(field)
    prior = TopicPrior(len(words.topics), block=2)
    return Domain(chain, {}, "study", kinds, _compiled(frames["sections"]), words, prior)


def _encyclopedic(name: str, chain: SectionChain) -> Domain:
    """A domain of pages on persons, films, cities and companies."""
    # 1. Sections have styles of their own, abstracts one for each kind of page.
    frames = table("encyclopedic_frames")
    styles = _compiled(frames["sections"])
    abstracts = _compiled(frames["abstracts"])
    for kind, style in abstracts.items():
        styles[f"abstract/{kind}"] = style
    # 2. In the encyclopedia all sections are written like abstracts.
    fact_share = 0.4
    kind_of = table("section_chains")["kinds"]["wiki"]
    if name == "encyclopedia":
        fact_share = 0.9
        kind_of = table("section_chains")["kinds"]["encyclopedia"]
        for title, kind in kind_of.items():
            styles[title] = abstracts[kind]
        for kind in kind_of.values():
            styles[f"record/{kind}"] = abstracts[kind]
    # 3. Kinds of pages.
    kinds = {}
    for kind, process in PROCESSES.items():
        kinds[kind] = Kind(process, tuple(map(compile_frame, frames["openings"][kind])))
    words = vocabulary("everyday")
    prior = TopicPrior(len(words.topics))
    return Domain(chain, kind_of, "city", kinds, styles, words, prior, fact_share)


def _compiled(blocks: Mapping[str, str]) -> dict[str, Style]:
    """The styles of named blocks of frames."""
    return {title: compile_style(block) for title, block in blocks.items()}
