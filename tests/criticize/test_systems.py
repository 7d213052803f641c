"""Several systems beside real text: equal lengths on all sides, ranks, tests of pairs, prompts, plan, report."""

import csv
import io
import json
import math
import re
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure as Canvas
from statsmodels.stats.multitest import multipletests

from longform.cli import main, named_systems
from longform.criticize import criticize_systems, panels, plan_systems, systems_report
from longform.criticize.lengths import cut_to_equal_lengths, equal_lengths, length
from longform.criticize.panels import Options
from longform.criticize.systems import ComparedSides, detectable_difference, judge_systems, prompts
from longform.critics.section_order.rare_titles import RARE, common_titles, with_rare_titles_pooled
from longform.critics.section_order.score import TitledArticle
from longform.datasets.own_texts import Texts, read_texts
from longform.documents import Document, Section
from longform.errors import InputError
from longform.statistics.many_tests import holm
from longform.statistics.random_streams import generator
from tests.refusals import refuses

ROOT = Path(__file__).parents[2]
NOUNS = [
    "river",
    "bridge",
    "market",
    "church",
    "school",
    "station",
    "forest",
    "field",
    "tower",
    "library",
    "garden",
    "museum",
]


def prose(name, sentences, repeated=0):
    """Sentences of random words; so many of them are said again at the end."""
    rng = generator("systems", name)
    lines = []
    for _ in range(sentences):
        first, second, third = rng.choice(NOUNS, 3, replace=False)
        years = rng.integers(1000, 9999, 2)
        lines.append(f"In {years[0]} the {first} met the {second} and the {third} of {years[1]}.")
    return " ".join(lines + lines[:repeated])


def side(name, count, sentences=8, repeated=0):
    return [prose(f"{name}{number}", sentences, repeated) for number in range(count)]


REAL = side("real", 40)


def panel(name):
    return next(
        one for one in panels.panels(Options(None, None, 1, False, False)) if one.name == name
    )


@pytest.mark.parametrize(
    "values", [[0.01, 0.04, 0.03], [0.5, 0.5], [0.001], [0.02, 0.02, 0.9, 0.0]]
)
def test_holms_correction_is_that_of_statsmodels(values):
    assert holm(values) == pytest.approx(multipletests(values, method="holm")[1])


def test_what_could_not_be_tested_corrects_no_other_p_value():
    corrected = holm([math.nan, 0.02, 0.01, math.nan])
    assert corrected[1:3] == pytest.approx([0.02, 0.02])
    assert math.isnan(corrected[0]) and math.isnan(corrected[3])


def test_two_sides_are_cut_as_before_and_a_third_takes_no_longer_text():
    def documents(name, sizes):
        return [
            Document(f"{name}{i}", "test", (Section(None, prose(f"{name}{i}", size)),))
            for i, size in enumerate(sizes)
        ]

    first, second, third = (
        documents("a", [3, 9, 6]),
        documents("b", [5, 5, 5]),
        documents("c", [8, 2, 8]),
    )
    pair = equal_lengths(first, second, "sentences")
    assert [length(one, "sentences") for one in pair.real] == [3, 5, 5]
    assert sorted(length(one, "sentences") for one in pair.generated) == [3, 5, 5]
    sides, cut = cut_to_equal_lengths([first, second, third], "sentences")
    sizes = [sorted(length(one, "sentences") for one in side) for side in sides]
    assert sizes == [[2, 5, 5]] * 3 and cut == [3, 1, 2]


def test_a_system_that_repeats_itself_ranks_last_and_differs():
    found = criticize_systems(
        REAL,
        {"good": side("g", 30), "bad": side("b", 30, 5, repeated=3), "also": side("a", 30)},
        model="none",
        encoder="none",
    )
    critic = next(one for one in found.results if one.panel.name == "repetition")
    assert critic.systems["bad"].rank.low == 3 and critic.systems["good"].rank.high < 3
    assert critic.systems["bad"].corrected_p < 0.05 < critic.systems["good"].corrected_p
    differ = {(pair.first, pair.second) for pair in critic.pairs if pair.corrected_p < 0.05}
    assert differ == {("good", "bad"), ("bad", "also")}
    for pair in critic.pairs:
        assert pair.low <= pair.difference.difference <= pair.high
        assert pair.corrected_p >= pair.difference.p_value


def test_order_and_names_of_systems_change_no_score():
    first = {"a": side("a", 20), "b": side("b", 20, 5, repeated=3)}
    second = {"x": first["b"], "y": first["a"]}
    one, other = (
        criticize_systems(REAL, systems, model="none", encoder="none")
        for systems in (first, second)
    )
    for left, right in zip(one.results, other.results, strict=True):
        assert left.systems["a"].estimate.value == pytest.approx(right.systems["y"].estimate.value)
        assert left.systems["b"].difference.difference == pytest.approx(
            right.systems["x"].difference.difference
        )


def test_texts_of_one_prompt_are_compared_with_each_other():
    """Every text of the second system says one sentence more twice: a small difference, always there."""
    rng = np.random.default_rng(0)
    shares = rng.integers(0, 12, 24)  # sentences of 24 that a prompt's texts say again
    first = [prose(f"p{i}", 24 - share, repeated=share) for i, share in enumerate(shares)]
    second = [prose(f"q{i}", 23 - share, repeated=share + 1) for i, share in enumerate(shares)]
    systems = {"first": read_texts(first), "second": read_texts(second)}
    p_values = []
    for paired in (True, False):
        sides = ComparedSides.of(read_texts(side("long", 20, 24)), systems, paired)
        judged = judge_systems(panel("repetition"), sides, 1)
        assert judged.pairs[0].difference.paired == paired
        p_values.append(judged.pairs[0].difference.p_value)
    assert p_values[0] < 0.01 < p_values[1]


def test_prompts_are_ids_where_systems_share_them_else_places():
    def texts(*ids):
        return Texts(tuple(Document(name, "generated", (Section(None, "x"),)) for name in ids))

    shared = prompts({"a": texts("1", "2"), "b": texts("2", "1")})
    assert shared == {"a/1": "1", "a/2": "2", "b/2": "2", "b/1": "1"}
    placed = prompts({"a": texts("1", "2"), "b": texts("x", "y")})
    assert placed["a/2"] == placed["b/y"] != placed["b/x"]
    in_part = {"a": texts("1", "2"), "b": texts("2", "3")}
    refuses("a has no text for 3, but another system has", prompts, in_part)
    refuses(
        r"different numbers of texts \(a 1, b 2\)", prompts, {"a": texts("1"), "b": texts("1", "2")}
    )


def test_prompts_that_one_system_left_blank_do_not_shift_the_others(tmp_path):
    texts = [f"The town {n} is old." for n in range(4)]
    lines = {"a": [texts[0], "", *texts[2:]], "b": [*texts[:2], "", texts[3]]}
    read = {name: read_texts(write(tmp_path / f"{name}.jsonl", own)) for name, own in lines.items()}
    assert [len(side.documents) for side in read.values()] == [3, 3]
    refuses("a has no text for text 2, but another system has; leave", prompts, read)
    named = [{"id": f"b{n}", "text": text} for n, text in enumerate(texts)]
    with_ids = "".join(json.dumps(record) + "\n" for record in named)
    (tmp_path / "ids.jsonl").write_text(with_ids)
    placed = prompts({"a": read_texts(texts), "b": read_texts(tmp_path / "ids.jsonl")})
    assert placed["a/text-2"] == placed["b/b1"] == "text 2"


def test_the_smallest_difference_seen_shrinks_with_the_root_of_the_texts():
    few, many = side("f", 10), side("m", 40)
    plans = {
        plan.name: plan
        for plan in plan_systems(REAL, {"few": few, "many": many}, model="none", encoder="none")
    }
    plan = plans["shared nouns"]
    ratio = plan.detectable["few"] / plan.detectable["many"]
    # 40 real texts are compared: sqrt(1 / 40 + 1 / 10) over sqrt(1 / 40 + 1 / 40)
    assert ratio == pytest.approx(np.sqrt(2.5), rel=1e-9)
    assert plans["section order"].reason and not plans["section order"].detectable


def test_the_smallest_difference_is_seen_in_four_of_five_comparisons():
    """Means of normal draws: resamples give the difference, and fresh draws that differ by it are told apart."""
    rng = np.random.default_rng(1)
    size, spread = 50, 2.0
    error = spread / np.sqrt(size)
    resamples = [rng.normal(0, error, 20_000)], [rng.normal(0, error, 20_000)]
    smallest = detectable_difference(*resamples)
    gaps = rng.normal(0, error, 4000) - rng.normal(smallest, error, 4000)
    seen = np.mean(np.abs(gaps) > 1.96 * error * np.sqrt(2))
    assert 0.77 < seen < 0.83


def article(name, *titles):
    return TitledArticle(name, "test", titles, gold=titles)


def test_rare_titles_of_real_texts_count_as_one():
    real = [article(f"r{i}", "history", "economy" if i % 2 else f"own {i}") for i in range(8)]
    common = common_titles(real)
    assert common == {"history", "economy"}
    pooled = with_rare_titles_pooled([*real, replace(article("g", "never met"), cut=True)], common)
    assert pooled[0].symbols == ("history", RARE) and pooled[1].symbols == ("history", "economy")
    assert pooled[-1].symbols == pooled[-1].gold == (RARE,) and pooled[-1].cut


def write(path, texts):
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    return str(path)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("systems")
    return {
        "real": write(folder / "real.jsonl", REAL[:12]),
        "a": write(folder / "a.jsonl", side("a", 6)),
        "b": write(folder / "b.jsonl", side("b", 6, 5, repeated=3)),
    }


def test_the_command_shows_tables_writes_a_report_and_takes_results_back(
    files, tmp_path, capsys, monkeypatch
):
    out = tmp_path / "out"
    command = ["criticize", files["real"], files["a"], f"second={files['b']}", "--out", str(out)]
    command += ["--model", "none", "--encoder", "none"]
    assert main(command) == 0
    shown = capsys.readouterr().out
    assert "| critic | real text | a | second | smallest detectable difference |" in shown
    assert "Ranks among the systems" in shown
    record = json.loads((out / "results.json").read_text())
    assert record["systems"] == ["a", "second"]
    rows = list(csv.DictReader(io.StringIO((out / "pairs.csv").read_text())))
    assert {row["first"] for row in rows} == {"a"} and len(rows) == len(record["critics"])
    page = (out / "index.html").read_text()
    assert "results.png" in page and "second" in page and (out / "results.png").is_file()

    def tried_again(*_):
        raise InputError("tried again")

    monkeypatch.setattr("longform.criticize.systems.judge_systems", tried_again)
    assert main([*command, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["critics"] == record["critics"] != []


def test_the_plan_reads_and_writes_nothing_else(files, tmp_path, capsys):
    out = tmp_path / "out"
    command = ["criticize", files["real"], files["a"], files["b"], "--plan", "--out", str(out)]
    assert main([*command, "--model", "none", "--encoder", "none"]) == 0
    shown = capsys.readouterr().out
    assert "| critic | time on one core | real text | a | b |" in shown and not out.exists()


def test_systems_with_one_name_and_no_texts_are_refused(files):
    refuses("two systems are called 'a'", named_systems, [files["a"], files["a"]])
    assert list(named_systems([files["a"], f"c={files['a']}"])) == ["a", "c"]
    refuses("no generated texts; give those of at least one system", criticize_systems, REAL, {})
    refuses("names the real texts", criticize_systems, REAL, {"real": REAL})


def test_texts_come_from_columns_and_standard_input(tmp_path, monkeypatch):
    table = tmp_path / "stories.csv"
    table.write_text('id,story,note\n7,"One day, a ""cat"" sat.\nIt slept.",x\n8,Two.,y\n')
    documents = read_texts(f"{table}:story").documents
    assert [one.id for one in documents] == ["7", "8"]
    assert documents[0].text == 'One day, a "cat" sat.\nIt slept.'
    named = r"its columns are \['id', 'story', 'note'\]; name one: stories.csv:COLUMN"
    refuses(f"has no column 'text', {named}", read_texts, str(table))
    refuses(rf"has no column 'stry' \(near: story\), {named}", read_texts, f"{table}:stry")
    lines = io.TextIOWrapper(io.BytesIO(b'{"text": "From a pipe."}\n[1]\n'))
    monkeypatch.setattr(sys, "stdin", lines)
    texts = read_texts("-")
    assert [one.text for one in texts.documents] == ["From a pipe."]
    assert texts.set_aside == (("line 2", "list, not an object"),)


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_a_csv_file_may_have_the_delimiter_of_a_spreadsheet(delimiter, tmp_path):
    table = tmp_path / "stories.csv"
    rows = [["id", "text"], ["7", '"One, two; three|four.\tIt slept."'], ["8", "Two, and one."]]
    lines = "\r\n".join(delimiter.join(row) for row in rows)
    table.write_text(f"\ufeff\r\n{lines}\r\n", newline="")
    documents = read_texts(table).documents
    assert [one.id for one in documents] == ["7", "8"]
    assert documents[1].text == "Two, and one."


@pytest.mark.parametrize(("content", "sentence"), [("", "no line in it"), ('"a\nb', "fix its quotes"),
                                                   ("a\rtext\rb", "no row of a table")])  # fmt: skip
def test_a_table_without_a_readable_header_is_refused(content, sentence, tmp_path):
    table = tmp_path / "stories.csv"
    table.write_text(content, newline="")
    refuses(sentence, read_texts, table)


def test_a_hubs_data_set_needs_a_full_commit_and_is_read_from_its_cache(tmp_path, monkeypatch):
    refuses("with a commit of 40 digits", read_texts, "hub:owner/stories@main:train.jsonl")
    asked = []

    def download(name, path, *, repo_type, revision):
        asked.append((name, path, repo_type, revision))
        return write(tmp_path / "train.jsonl", ["A story."])

    monkeypatch.setattr("huggingface_hub.hf_hub_download", download)
    commit = "0123456789" * 4
    texts = read_texts(f"hub:owner/stories@{commit}:data/train.jsonl")
    assert [one.text for one in texts.documents] == ["A story."]
    assert asked == [("owner/stories", "data/train.jsonl", "dataset", commit)]


def test_a_report_marks_what_differs_and_escapes_names():
    found = criticize_systems(
        REAL, {"<b>": side("b", 30, 5, repeated=3)}, model="none", encoder="none"
    )
    assert " *" in systems_report.markdown(found)
    assert "&lt;b&gt;" in systems_report._page(found) and "<b>" not in systems_report._page(found)


def test_a_name_with_an_underscore_before_it_is_in_the_legend():
    found = criticize_systems(
        REAL, {"_base": side("b", 30, 5), "Ba$$in": side("c", 30, 5)}, model="none", encoder="none"
    )
    canvas = Canvas()
    systems_report._drawing(found)(canvas)
    assert [text.get_text() for text in canvas.legends[0].get_texts()] == ["_base", "Ba$$in"]


def test_examples_are_written_as_files_that_the_command_reads(tmp_path, capsys):
    folder = tmp_path / "new" / "texts"
    assert main(["examples", str(folder)]) == 0
    shown = capsys.readouterr().out.split()
    assert [len(read_texts(place).documents) for place in shown] == [20, 20]
    (tmp_path / "file").write_text("x")
    assert main(["examples", str(tmp_path / "file")]) == 2
    assert "cannot be written" in capsys.readouterr().err


def test_the_page_shows_what_its_snippet_prints(capsys):
    page = (ROOT / "docs/judge_your_texts.md").read_text(encoding="utf-8")
    snippet = re.search(r"```python\n(.*?)```", page, re.S)[1]
    exec(snippet, {})
    shown = capsys.readouterr().out
    assert "| critic | real text | first | second | smallest detectable difference |" in shown
