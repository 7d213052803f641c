"""Do models pass more items of shuffled dialogue context where the last utterance is an answer?

    PYTHONPATH=src python experiments/beyer2021/answered_contexts.py --home scales/even_dialogues \\
        --out experiments/beyer2021/measured/answered_contexts.json

A model passes an item if the last utterance, or a story's last sentence, costs it more bits after
the shuffled context than after the original. Here models pass fewer dialogues than stories. In half
of the synthetic dialogues the last utterance follows no question; most of those are remarks that go
with any context ("i have to go soon ."), while a story's last sentence takes up what was said
before. If that is the reason, dialogues that end with an answer must not be harder than stories.

``--home`` is the folder of a finished run of a scale, a set of overrides of ``params.yaml``:
``make scale SCALE=even_dialogues`` makes as many dialogues as stories.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from longform.critics.surprisal.score import SuiteAccuracy, units_from_predictions
from longform.files.artefacts import read_documents, read_predictions
from longform.statistics.intervals import wilson

DIALOGUE, STORY = "D_context", "N_context"


def follows_question(data: Path) -> dict[str, bool]:
    """Whether the last utterance of each dialogue follows a question, by the item's id.

    The item's document has the same id, ``D_context/12``.

    Args:
        data: the run's data folder.
    """
    follows = {}
    for document in read_documents(data / "corpora/probes/suites/documents.jsonl"):
        if document.id.startswith(DIALOGUE):
            # The first section is the context in its original order, each utterance followed by the
            # sign for a change of speaker; a question is one that ends in a question mark.
            context = document.sections[0].text.removesuffix("[SEP]")
            follows[document.id] = context.rstrip().endswith("?")
    return follows


def share_passed(outcomes: Sequence[bool]) -> dict[str, float]:
    """The share of items that a model passes, with Wilson's 95 % interval.

    Args:
        outcomes: whether it passes each item.
    """
    low, high = wilson(sum(outcomes), len(outcomes))
    return {
        "items": len(outcomes),
        "passed": round(sum(outcomes) / len(outcomes), 4),
        "low": round(low, 4),
        "high": round(high, 4),
    }


def main() -> None:
    """Write the shares for stories, for dialogues, and for dialogues by their last utterances."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--system", default="gpt2")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    data = arguments.home / "data"
    # 1. Whether the model passes each item, by the groups that it belongs to.
    follows = follows_question(data)
    folder = data / "predictions/suites/surprisal/suite_texts" / arguments.system
    critic = SuiteAccuracy()
    outcomes: dict[str, list[bool]] = {}
    for item in units_from_predictions(read_predictions(folder / "suites.npz")):
        suite, _, _ = item.unit_id.partition("/")
        groups = []
        if suite == STORY:
            groups = ["stories"]
        elif suite == DIALOGUE:
            ends = "answers a question" if follows[item.unit_id] else "follows no question"
            groups = ["dialogues", f"dialogues whose last utterance {ends}"]
        for group in groups:
            outcomes.setdefault(group, []).append(critic.succeeds(item))
    # 2. The share of each group.
    shares = {group: share_passed(passed) for group, passed in outcomes.items()}
    text = json.dumps(shares, indent=1)
    arguments.out.write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
