"""Pages on critics and raters have the numbers of the records, and beside each what limits it."""

import csv
import gzip
import json
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
RATED = ROOT / "experiments" / "lapata2005"
PERPLEXITY = "PPL, SmolLM2 (a perplexity)"
OWN_ORDER = "own order less shuffled, SmolLM2"


def measured(name):
    with gzip.open(RATED / "measured" / f"{name}.json.gz", "rt", encoding="utf-8") as file:
        return json.load(file)


def interval(value, low, high):
    return f"{float(value):.2f} [{float(low):.2f}, {float(high):.2f}]"


def passage(page, number):
    """The first list item, table row or paragraph of a page with a number."""
    text = (ROOT / page).read_text(encoding="utf-8")
    pieces = re.split(r"\n(?=- |\d+\. |\||\n)", text)
    return next(piece for piece in pieces if number in piece)


def test_perplexity_on_stories_stands_beside_perplexity_on_summaries():
    stories = measured("cohesentia")["coherence"]["models"][PERPLEXITY]["spearman"]
    summaries = measured("summeval_without_wordnet")["models"][PERPLEXITY]["spearman, summaries"]
    for page in ("README.md", "docs/which_critic.md"):
        assert f"{summaries['value']:.2f}" in passage(page, f"{stories['value']:.2f}"), page


def test_the_best_critic_of_systems_stands_beside_itself_on_another_set():
    best = measured("summeval_without_wordnet")["models"][OWN_ORDER]["spearman, systems"]
    with (RATED / "rated_sets.csv").open(encoding="utf-8", newline="") as file:
        rows = {(row["set"], row["critic"]): row for row in csv.DictReader(file)}
    other = rows["DialSummEval", "own order"]
    limit = interval(other["systems r"], other["systems low"], other["systems high"])
    for page in ("docs/results/judges.md", "docs/which_critic.md"):
        text = passage(page, interval(best["value"], best["low"], best["high"]))
        assert limit in text and "DialSummEval" in text and "best of 13" in text, page


def test_a_table_of_shuffled_cities_says_that_they_share_a_chain():
    mark = "<!-- real_paths:sheng2024/table_2"
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    texts = [page.read_text(encoding="utf-8") for page in pages]
    introductions = [text.split(mark)[0] for text in texts if mark in text]
    assert introductions
    for introduction in introductions:
        assert "share one chain of sections" in introduction
