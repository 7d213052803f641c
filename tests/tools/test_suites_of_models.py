"""Any model on suites of minimal pairs: the shares are those of the network's own logits, the floors are known by hand."""

import json
from pathlib import Path

import pytest
import torch
from tiny import lm_folder

from longform.cli import main
from longform.datasets.test_suites.items import Suite, pair
from longform.datasets.test_suites.named_suites import named_suites
from longform.language_models.checkpoints import load_tokenizer
from longform.language_models.trial import open_language_model
from longform.tools.suites import judge_suites, plan_suites, without_context
from tests.refusals import refuses

ROOT = Path(__file__).parents[2]
PAIRS = [
    ("the town lies on a river", "river a on lies town the", "its people work."),
    ("many old houses", "old many houses", "in the fields."),
    ("its people work", "people its work", "the town has hills."),
    ("the old town", "town the old river houses", "near the river."),
]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return lm_folder(tmp_path_factory.mktemp("lm"), window=64)


def write_pairs(path, rows, header="good,bad,context"):
    lines = [header, *(",".join(row) for row in rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def log_probability(model, context, sentence):
    """Of a sentence behind a context, token by token, by one pass of the network."""
    tokenizer, network = open_language_model(model)
    before = tokenizer(context)["input_ids"] if context else []
    own = tokenizer(f" {sentence}" if context else sentence)["input_ids"]
    ids = [tokenizer.bos_token_id, *before, *own]
    with torch.no_grad():
        log_probs = network(torch.tensor([ids])).logits[0].log_softmax(-1)
    places = range(len(ids) - len(own), len(ids))
    return sum(float(log_probs[place - 1, ids[place]]) for place in places)


def test_the_share_of_pairs_is_that_of_the_networks_own_logits(model, tmp_path):
    path = write_pairs(tmp_path / "pairs.csv", PAIRS)
    passed, alone = [], []
    for good, bad, context in PAIRS:
        passed.append(log_probability(model, context, good) > log_probability(model, context, bad))
        # Without context a region still begins where it began: at the begin token.
        alone.append(log_probability(model, "", good) > log_probability(model, "", bad))
    (result,) = judge_suites(model, path).results
    assert result.accuracy == sum(passed) / len(PAIRS)
    assert result.without_context == sum(alone) / len(PAIRS)
    assert (result.items, result.excluded, result.chance) == (len(PAIRS), 0, 0.5)
    assert result.low < result.accuracy < result.high


def test_the_floor_of_token_counts_passes_shorter_texts_and_half_of_ties(model, tmp_path):
    rows = [("town", "town town town"), ("a river", "river river river river")]
    (result,) = judge_suites(model, write_pairs(tmp_path / "a.csv", rows, "good,bad")).results
    assert result.token_count == 1.0
    rows = [("town river", "town river")]
    (result,) = judge_suites(model, write_pairs(tmp_path / "b.csv", rows, "good,bad")).results
    assert (result.token_count, result.accuracy) == (0.5, 0.0)
    path = write_pairs(tmp_path / "c.csv", [("town", "town town town")], "good,bad")
    report = judge_suites(model, path, metric="mean")
    (result,) = report.results
    assert result.token_count == 0.5  # every token costs the same, so that all means are equal
    assert report.signature.startswith("accuracy; metric=mean; ends=bos; separator=eos; seed=")
    plain = judge_suites(model, path).signature
    assert plain.startswith("accuracy; metric=of each suite; ends=bos; separator=eos; seed=")


def test_another_model_is_compared_item_by_item(model, tmp_path):
    path = write_pairs(tmp_path / "pairs.csv", PAIRS * 5)
    other = lm_folder(tmp_path / "other", window=64, seed=5)
    first = judge_suites(model, path, against=other)
    second = judge_suites(other, path, against=model)
    assert first.results[0].p_value == second.results[0].p_value
    untrained = judge_suites(model, path, against="untrained")
    assert untrained.against == "untrained" and first.against == str(other)


def test_a_pair_that_comes_five_times_narrows_no_interval(model, tmp_path):
    (once,) = judge_suites(model, write_pairs(tmp_path / "pairs.csv", PAIRS)).results
    report = judge_suites(model, write_pairs(tmp_path / "pairs.csv", PAIRS * 5))
    (often,) = report.results
    assert (often.items, often.copies) == (4, 16)
    assert (often.accuracy, often.low, often.high) == (once.accuracy, once.low, once.high)
    assert "16 copies of these items not counted again" in report.markdown()


def test_items_that_the_model_cannot_read_whole_are_left_out_and_counted(model, tmp_path):
    long = " ".join(["town"] * 100)
    path = write_pairs(tmp_path / "pairs.csv", [*PAIRS, ("the town", long, "")])
    (result,) = judge_suites(model, path).results
    assert (result.items, result.excluded) == (len(PAIRS), 1)
    header = "good,bad,context,suite"
    rows = [("a", "b", "", "short"), ("a", long, "", "long"), ("c", "d", "", "short")]
    report = judge_suites(model, write_pairs(tmp_path / "two.csv", rows, header))
    assert report.left_out == ("long",) and report.results[0].suite == "short"
    assert "left out, too long for the model: long" in report.markdown()
    path = write_pairs(tmp_path / "none.csv", [("the town", long)], "good,bad")
    refuses("no item of 1 suite fits", judge_suites, model, path)


def test_texts_are_cut_into_pieces_of_five_sentences_whose_order_is_judged(tmp_path):
    text = " ".join(f"The town has {n} houses." for n in range(12))
    (tmp_path / "mine.jsonl").write_text(json.dumps({"text": text}), encoding="utf-8")
    whole, context = named_suites([tmp_path / "mine.jsonl"])
    assert (whole.name, context.name) == ("mine_all", "mine_context")
    # the last two sentences of twelve have no other order of a context
    assert len(whole.items) == 2
    first = whole.items[0].condition("original")
    assert " ".join(region.content for region in first.regions) == " ".join(text.split()[:25])
    last = [item.condition("shuffled").regions[-1].content for item in context.items]
    assert last == ["The town has 4 houses.", "The town has 9 houses."]


def test_records_without_a_text_are_said_and_not_judged(tmp_path, capsys):
    text = " ".join(f"The town has {n} houses." for n in range(5))
    lines = [json.dumps({"text": text}), json.dumps({"text": "1 2 3"})]
    (tmp_path / "mine.jsonl").write_text("\n".join(lines), encoding="utf-8")
    assert len(named_suites([tmp_path / "mine.jsonl"])[0].items) == 1
    assert capsys.readouterr().err == "texts set aside, 1: line 2: no word in it\n"


def test_a_suite_written_as_the_page_shows_is_read(tmp_path):
    page = (ROOT / "docs" / "suites.md").read_text(encoding="utf-8")
    (tmp_path / "agreement.json").write_text(page.split("```json\n")[1].split("```")[0])
    (suite,) = named_suites([tmp_path / "agreement.json"])
    assert (suite.name, suite.predictions) == ("agreement", ("(2;%match%) < (2;%mismatch%)",))
    (item,) = suite.items
    assert [region.content for region in item.condition("mismatch").regions] == [
        "The towns",
        "is old.",
    ]


@pytest.mark.parametrize(
    ("formula", "sentence"),
    [
        ("(2;%match%) <", "prediction 0: got the end"),
        ("(2;%mach%) < (2;%mismatch%)", "a prediction names condition 'mach'"),
        ("(9;%match%) < (2;%mismatch%)", r"names region 9, item 1 has \[1, 2\]; fix one of them"),
    ],
)
def test_a_fault_in_a_suite_is_said_with_its_file(formula, sentence, tmp_path):
    page = (ROOT / "docs" / "suites.md").read_text(encoding="utf-8")
    record = json.loads(page.split("```json\n")[1].split("```")[0])
    record["predictions"][0]["formula"] = formula
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(record), encoding="utf-8")
    refuses(f"mine.json, suite agreement.*{sentence}", named_suites, [path])


def test_sources_of_the_paper_are_named_by_their_kind(tmp_path):
    schema = {"sentence": "The town saw [MASK] sleep.", "candidates": ["the dog", "the cat"]}
    (tmp_path / "wsc.jsonl").write_text(json.dumps({**schema, "correct": 1}), encoding="utf-8")
    suites = named_suites([f"schemas={tmp_path / 'wsc.jsonl'}"])
    assert [suite.name for suite in suites] == ["winograd_full", "winograd_partial"]
    assert {suite.metric for suite in suites} == {"mean"}
    refuses("near: schemas", named_suites, [f"schema={tmp_path / 'wsc.jsonl'}"])


def test_a_suite_whose_judged_region_is_first_has_no_shorter_version():
    def suite(formula, *regions):
        conditions = {"good": regions, "bad": regions}
        return Suite("s", "sum", (formula,), (pair(1, conditions),))

    assert without_context(suite("(1;%bad%) > (1;%good%)", "a", "b")) is None
    assert without_context(suite("(*;%bad%) > (*;%good%)", "a", "b")) is None
    assert without_context(suite("(2;%bad%) > (2;%good%)", "a", "")) is None
    shorter = without_context(suite("(2;%bad%) > (2;%good%)", "a", "b", "c"))
    regions = shorter.items[0].conditions[0].regions
    assert [region.number for region in regions] == [2, 3]


@pytest.mark.parametrize(
    ("rows", "header", "sentence"),
    [
        ([("a", "b")], "right,wrong", "has columns good and bad"),
        ([("a", "")], "good,bad", "good or bad is empty"),
        ([], "good,bad", "no row below the header"),
    ],
)
def test_a_table_that_holds_no_pairs_is_refused_with_its_place(rows, header, sentence, tmp_path):
    refuses(sentence, named_suites, [write_pairs(tmp_path / "pairs.csv", rows, header)])


def test_an_empty_table_of_pairs_needs_a_header_and_rows(tmp_path):
    (tmp_path / "pairs.csv").write_text("", encoding="utf-8")
    sentence = "no line in it; needed is a header and a row for each record"
    refuses(sentence, named_suites, [tmp_path / "pairs.csv"])


@pytest.mark.parametrize("name", ["pairs.csv", "PAIRS.CSV", "pairs.tsv"])
def test_a_table_of_pairs_may_have_the_delimiter_of_a_spreadsheet(name, tmp_path):
    (tmp_path / name).write_text('sentence_good;sentence_bad\r\n"A; b, c.";C b a.\r\n', newline="")
    (suite,) = named_suites([tmp_path / name])
    texts = [condition.regions[-1].content for condition in suite.items[0].conditions]
    assert [text.strip() for text in texts] == ["A; b, c.", "C b a."]


def test_the_result_takes_no_folders_place(model, tmp_path, capsys):
    path = write_pairs(tmp_path / "pairs.csv", PAIRS)
    kept = tmp_path / "folder" / "kept.txt"
    kept.parent.mkdir()
    kept.write_text("mine")
    for out, sentence in (
        (kept.parent, "a folder; name a file"),
        (kept / "x", "cannot be written in"),
    ):
        assert main(["suites", str(model), str(path), "--out", str(out)]) == 2
        assert sentence in capsys.readouterr().err
    assert kept.read_text() == "mine"


def test_two_suites_of_one_name_and_files_of_other_kinds_are_refused(tmp_path):
    path = write_pairs(tmp_path / "pairs.csv", PAIRS)
    refuses("a second suite is called 'pairs'", named_suites, [path, path])
    (tmp_path / "pairs.xml").write_text("<a/>")
    refuses("no suite; name SyntaxGym's", named_suites, [tmp_path / "pairs.xml"])
    refuses("near: mean", named_suites, [path], metric="meen")


def test_the_command_prints_the_reports_table_and_json(model, tmp_path, capsys):
    path = write_pairs(tmp_path / "pairs.csv", PAIRS)
    assert main(["suites", str(model), str(path)]) == 0
    printed = capsys.readouterr()
    report = judge_suites(model, path)
    assert printed.out == report.markdown() + "\n"
    assert "1 suite, 4 items" in printed.err  # the plan comes before the work
    out = tmp_path / "out.json"
    assert main(["suites", str(model), str(path), "--json", "--out", str(out)]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record == report.to_record() == json.loads(out.read_text(encoding="utf-8"))
    assert main(["suites", str(model), str(path), "--plan"]) == 0
    assert plan_suites(model, path).text().split("; about")[0] in capsys.readouterr().out
    assert main(["suites", str(model), "absent.csv"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_network_that_reads_to_both_sides_is_refused_before_the_work(tmp_path):
    from transformers import BertConfig, BertLMHeadModel

    folder = lm_folder(tmp_path / "lm")
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    torch.manual_seed(0)
    network = BertLMHeadModel(BertConfig(vocab_size=300, intermediate_size=16, **sizes))
    network.save_pretrained(folder)
    path = write_pairs(tmp_path / "pairs.csv", PAIRS)
    refuses("reads to both sides", judge_suites, folder, path)
    assert load_tokenizer(folder).eos_token_id is not None
