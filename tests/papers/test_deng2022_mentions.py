"""Sheets of blamed mentions, doses, sizes and resolvers: what the numbers of the score records become."""

from __future__ import annotations

import csv

import pytest
from samples.chains import pronoun_chains

from longform.critics.coreference.attribution import ChainInText, ngram_attribution
from longform.documents import BadInput, Chain, chains_to_readout
from longform.evaluation.rows import mention_doses
from longform.reporting.deng2022_coreference import table_8, table_resolvers
from longform.reporting.deng2022_mentions import (
    figure_5,
    figure_wrong_pronoun,
    figures_10_13,
    table_6,
    table_15,
    table_16,
    table_17,
)

EXPECTED = {
    "table_06": {"rows": [{"z": [".", "M:0", "he:0", ".", "M:0"]}, {"z": ["", "", "", ".", "M:0"]}]},
    "table_15": {"rows": [{"z": [".", "F:0", "she:0", ".", "he:0"]}]},
    "table_16": {"rows": []},
    "table_17": {"rows": []},
    "table_08": {"wiki_films": {"latent_ppl": {"data": 6.26, "gpt2_s": 7.22, "gpt2_m": 7.64, "gpt2_l": 7.27,
                                               "gpt2_xl": 7.62}}},
}  # fmt: skip


def in_text(chain: Chain) -> ChainInText:
    """Every symbol as a word of its own text."""
    words = [symbol.partition(":")[0] for symbol in chain.symbols]
    starts = [sum(len(word) + 1 for word in words[:i]) for i in range(len(words))]
    spans = tuple((a, a + len(w)) if w != "." else (a, a) for a, w in zip(starts, words, strict=True))
    return ChainInText(chain.unit_id, "generated", chain.symbols, True, spans, " ".join(words))


@pytest.fixture(scope="module")
def blamed():
    train = [Chain(c.unit_id, "train", c.symbols) for c in pronoun_chains("real", 60)]
    critic = ngram_attribution(real=chains_to_readout([*train, *pronoun_chains("held", 40)]), threshold=-3.0).fit(train)
    wrong = [in_text(chain) for chain in pronoun_chains("wrong", 40, 0.3)]
    return {"w-gpt2-w_title-mentions_blamed": {"details": critic.describe(wrong)}}


def test_every_table_lists_the_records_rows_and_counts_what_the_paper_prints_too(blamed):
    details = blamed["w-gpt2-w_title-mentions_blamed"]["details"]
    for draw, key in ((table_6, "gap"), (table_15, "rare"), (table_16, "high"), (table_17, "low")):
        sheet = draw(scores=blamed, expected=EXPECTED)
        assert len(sheet.rows) == len(details[key]) > 0 and all(len(r) == len(sheet.header) for r in sheet.rows)
    windows = {tuple(row["window"]) for row in details["gap"]}
    shared = len(windows & {(".", "MALE:0", "he:0", ".", "MALE:0"), ("", "", "", ".", "MALE:0")})
    assert f"of the paper's 2 5-grams, {shared} are among these" in table_6(scores=blamed, expected=EXPECTED).notes


def test_a_listing_is_saved_whole_and_its_bars_are_not_column_ends(blamed, tmp_path):
    sheet = table_15(scores=blamed, expected=EXPECTED)
    sheet.save(tmp_path, "t")
    with (tmp_path / "t.csv").open(newline="", encoding="utf-8") as file:
        assert [len(row) for row in csv.reader(file)] == [len(sheet.header)] * (len(sheet.rows) + 1)
    assert "| gpt2 w_title |" in (tmp_path / "t.md").read_text(encoding="utf-8")


def test_pages_are_numbered_from_ten_and_list_what_is_circled(blamed, tmp_path):
    pages = figures_10_13(scores=blamed)
    pages.save(tmp_path, "pages")
    names = sorted(path.name for path in tmp_path.iterdir())
    assert [f"figure_{n}.{kind}" for n in range(10, 14) for kind in ("html", "pdf", "png")] == names[:-2]
    page = (tmp_path / "figure_10.html").read_text(encoding="utf-8")
    circled = [row for row in pages.listing.rows if row[0] == 10]
    assert page.count('class="bad"') + page.count('class="stop"') == len(circled) > 0


def test_figure_5_has_a_number_for_every_symbol_of_the_worst_article(blamed):
    article = blamed["w-gpt2-w_title-mentions_blamed"]["details"]["articles"][0]
    assert [c.value for c in figure_5(scores=blamed).cells] == [m["log_probability"] for m in article["marks"]]


def test_records_without_blame_or_text_are_refused():
    with pytest.raises(BadInput, match="lists no 5-grams"):
        table_6(scores={"w-a-b": {"details": {}}}, expected=EXPECTED)
    with pytest.raises(BadInput, match="keep_text"):
        figure_5(scores={"w-a-b": {"details": {"gap": [], "articles": []}}})


def test_the_dose_figure_holds_the_claim_only_where_each_critic_does_its_part():
    moving = [Chain(f"{i}@{d}", "test", c.symbols) for d in ("0", "0.5")
              for i, c in enumerate(pronoun_chains("dose", 25, float(d)))]  # fmt: skip
    still = [Chain(f"{i}@{d}", "test", c.symbols) for d in ("0", "0.5") for i, c in enumerate(pronoun_chains("x", 25))]
    critic = mention_doses().fit(pronoun_chains("real", 60))
    rows = {"moved": {"details": critic.describe(moving)}, "still": {"details": critic.describe(still)}}
    named = {"w-data-wrong_pronoun_mentions": rows["moved"], "w-data-wrong_pronoun_titles": rows["still"]}
    assert all("ordering holds" in note for note in figure_wrong_pronoun(scores=named).notes)
    swapped = dict(zip(named, reversed(list(named.values())), strict=True))
    assert all("differs" in note for note in figure_wrong_pronoun(scores=swapped).notes)
    assert len(figure_wrong_pronoun(scores=named).cells) == 4


def record(value, **more):
    return {
        "value": value,
        "low": value - 0.1,
        "high": value + 0.1,
        "units": 9,
        "excluded": 0,
        "signature": "s",
        **more,
    }


def test_table_8_stands_sizes_beside_the_papers_in_order():
    sizes = ["gpt2_s", "gpt2_m", "gpt2", "gpt2_xl"]
    scores = {"w-data-mentions_read": record(4.0)}
    scores |= {f"w-{size}-w_title-mentions_read": record(7.0 - i) for i, size in enumerate(sizes)}
    sheet = table_8(scores=scores, expected=EXPECTED, sizes=sizes)
    assert [(c.row, c.printed) for c in sheet.cells] == [
        ("data", 6.26),
        *zip(sizes, (7.22, 7.64, 7.27, 7.62), strict=True),
    ]
    assert any("largest size is not the one nearest" in n and "differs (nearest: gpt2_xl)" in n for n in sheet.notes)
    assert any(n.startswith("data < gpt2_xl (Table 8): differs") for n in sheet.notes)
    with pytest.raises(BadInput, match="want data and 4 sizes"):
        table_8(scores=scores, expected=EXPECTED, sizes=sizes[:3])


def test_the_resolver_table_has_a_row_per_reader_and_judges_table_7_under_each():
    found = {
        key: {"recall": 1.0, "precision": 1.0, "f1": f1} for key, f1 in (("muc", 0.9), ("b3", 0.8), ("ceafe", 0.7))
    }
    scores = {"w-data-agreement_read": record(0.8, details=found), "w-data-mentions_gold_repeated": record(3.0)}
    scores |= {"w-data-mentions_read": record(4.0), "w-gpt2-w_title-mentions_read": record(9.0)}
    scores |= {"w-data-mentions_nearest": record(4.0), "w-gpt2-w_title-mentions_nearest": record(3.0)}
    sheet = table_resolvers(scores=scores)
    at = {(c.row, c.column): c.value for c in sheet.cells}
    assert at["rules", "MUC F1"] == 0.9 and at["gold", "Latent PPL, data"] == 3.0
    assert any(n.startswith("rules: data < gpt2-w_title") and "ordering holds" in n for n in sheet.notes)
    assert any(n.startswith("nearest mention: data < gpt2-w_title") and "differs" in n for n in sheet.notes)
