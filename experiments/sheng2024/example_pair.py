"""Figure 8's counterpart: a text that a person wrote beside a machine's, each with its BBScore.

    PYTHONPATH=src:. python experiments/sheng2024/example_pair.py completions tiny_nucleus \\
        > experiments/sheng2024/measured/figure_8.md

reads what the default run left below ``data`` (another folder: ``--data FOLDER``). The paper does
not say how its pair was chosen (sheng2024 appendix C); its person has the lower score. Here a rule
chooses: of the test documents ranked by how much higher the machine's score is, the middle one. The
variance is estimated on the human texts of the training documents, as in Table 4.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from longform.critics.bbscore.bridge import LatentPath
from longform.critics.bbscore.score import BBScore, units_from_predictions
from longform.documents import Document
from longform.evaluation.human_vs_machine import HUMAN, sides_of
from longform.files.artefacts import read_corpus, read_predictions
from longform.statistics.sum_scored import unit_scores
from longform.text.sentences import sentences

SHOWN = 6  # sentences of each text


@dataclass(frozen=True)
class Pair:
    """BBScores of a document's two texts, lower being more coherent.

    Attributes:
        document: its id.
        human, machine: BBScore of the person's and of the machine's text.
    """

    document: str
    human: float
    machine: float

    @property
    def margin(self) -> float:
        """The machine's score minus the person's; above 0 the person's text is preferred."""
        return self.machine - self.human


def scored_pairs(paths: Sequence[LatentPath], source: str) -> list[Pair]:
    """The test documents with both scores, from the smallest margin to the largest.

    Args:
        paths: sentence paths of all texts, named ``<id>-human`` and ``<id>-<source>``.
        source: name of the machine.
    """
    # 1. The score, fitted as in Table 4.
    training = []
    tested = []
    for document in sides_of(paths):
        if document.split == "train":
            training.append(document.human)
        elif document.split == "test":
            tested.append(document)
    critic = BBScore().fit(training)
    # 2. Both texts of each test document.
    pairs = []
    for document in tested:
        human, machine = unit_scores(critic, [document.human, document.text(source)])
        pair = Pair(document.unit_id, float(human), float(machine))
        if not math.isnan(pair.margin):  # a path that is too short has no score
            pairs.append(pair)
    return sorted(pairs, key=lambda pair: (pair.margin, pair.document))


def middle(pairs: Sequence[Pair]) -> Pair:
    """The pair with as many smaller margins as larger ones; of two such the smaller one."""
    return pairs[(len(pairs) - 1) // 2]


def text_of(document: Document) -> str:
    """A text's first ``SHOWN`` sentences in one paragraph."""
    text = " ".join(section.text for section in document.sections).replace("\n", " ")
    spans = sentences(text)[:SHOWN]
    return text[: spans[-1][1]]


def main() -> None:
    """Print the middle pair of test documents, each text with its score."""
    parser = argparse.ArgumentParser()
    parser.add_argument("corpus")
    parser.add_argument("source")
    parser.add_argument("--data", type=Path, default=Path("data"))
    options = parser.parse_args()
    file = f"predictions/sources/bbscore/{options.corpus}/data/paths.npz"
    paths = units_from_predictions(read_predictions(options.data / file))
    pairs = scored_pairs(paths, options.source)
    shown = middle(pairs)
    preferred = sum(pair.margin > 0 for pair in pairs)
    corpus = read_corpus(options.data / "corpora/sources" / options.corpus)
    texts = {document.id: document for document in corpus.documents}
    print(
        f"**Figure 8. A person's text and one by {options.source}, with their BBScores (lower is "
        f"more coherent): the middle pair of {len(pairs)}, of which {preferred} prefer the "
        "person's**"
    )
    for side, score in ((HUMAN, shown.human), (options.source, shown.machine)):
        print(f"\n*{side}, BBScore {score:.2f}.* {text_of(texts[f'{shown.document}-{side}'])}")


if __name__ == "__main__":
    main()
