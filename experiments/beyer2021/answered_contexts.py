"""A shuffled context in dialogue: how much of the share passed is decided by whether the last utterance answers a question?

    PYTHONPATH=src python experiments/beyer2021/answered_contexts.py --home scales/even_dialogues --out experiments/beyer2021/measured/answered_contexts.json

In half of the synthetic dialogues the last utterance follows no question; most of those are remarks that go with any context ("i have to go
soon ."), while a synthetic story's last sentence takes up what was told. If that is why narration is the easier one here, dialogues that end
with an answer must not be harder than stories.
Reads a finished run of the scale.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from longform.critics.surprisal.score import SuiteAccuracy, units_from_predictions
from longform.files.artefacts import read_documents, read_predictions
from longform.statistics.intervals import wilson

DIALOGUE, STORY = "D_context", "N_context"


def main() -> None:
    """Items and share passed with Wilson's 95 % interval: stories, dialogues, and dialogues by their last two utterances."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--system", default="gpt2")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    data = given.home / "data"
    answers = {
        document.id: document.sections[0].text.removesuffix("[SEP]").rstrip().endswith("?")
        for document in read_documents(data / "corpora" / "probes" / "suites" / "documents.jsonl")
        if document.id.startswith(DIALOGUE)
    }
    predictions = read_predictions(
        data / "predictions" / "suites" / "surprisal" / "suite_texts" / given.system / "suites.npz"
    )
    critic, passed = SuiteAccuracy(), {}
    for item in units_from_predictions(predictions):
        kind = item.unit_id.split("/")[0]
        if kind in (DIALOGUE, STORY):
            held = critic.succeeds(item)
            passed.setdefault("stories" if kind == STORY else "dialogues", []).append(held)
            if kind == DIALOGUE:
                ends = "answers a question" if answers[item.unit_id] else "follows no question"
                passed.setdefault(f"dialogues whose last utterance {ends}", []).append(held)
    found = {}
    for name, rows in passed.items():
        low, high = wilson(sum(rows), len(rows))
        found[name] = {
            "items": len(rows),
            "passed": sum(rows) / len(rows),
            "low": low,
            "high": high,
        }
        found[name] = {key: round(value, 4) for key, value in found[name].items()}
    given.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
