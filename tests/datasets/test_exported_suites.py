"""Suites as other programs and judges get them: harness tasks, judgement sheets, a study's file and native JSON."""

import csv
import io
import json
from dataclasses import replace

import pytest
import yaml
from native_sources import STORIES, build_suites, write_sources

from longform.datasets.test_suites.items import pair
from longform.reporting.papers import beyer2021 as suite_exports
from tests.refusals import refuses


@pytest.fixture
def suites(tmp_path):
    return build_suites(write_sources(tmp_path))


def test_a_harness_task_asks_the_suites_question(suites):
    cloze = suite_exports.harness_task(suites["story_cloze"])
    line = json.loads(cloze["story_cloze.jsonl"].splitlines()[0])
    assert line["choices"][line["target"]] == "She slept."
    assert line["context"].endswith("She left.")
    connective = suite_exports.harness_task(suites["connective_while_contrast_as_yet"])
    line = json.loads(connective["connective_while_contrast_as_yet.jsonl"])
    assert line["continuation"] == "you like coffee ."
    assert line["choices"][line["target"]] == "I like tea , while"
    task = yaml.safe_load(connective["connective_while_contrast_as_yet.yaml"])
    wanted = {"doc_to_text": "{{target}}", "doc_to_target": "{{continuation}}", "output_type": "multiple_choice"}
    assert wanted.items() <= task.items() and task["target_delimiter"] == " "
    order = suite_exports.harness_task(suites["N_all"])
    assert yaml.safe_load(order["N_all.yaml"])["target_delimiter"] == ""  # nothing stands before a whole text
    whole = json.loads(order["N_all.jsonl"].splitlines()[0])
    assert whole["context"] == ""
    assert whole["choices"][whole["target"]] == " ".join([*STORIES[0][1:5], "She slept."])


def test_a_studys_file_says_which_side_is_coherent_and_what_spoilt_the_other(suites):
    names = ["story_cloze", "N_all", "speaker_commitment"]
    files = suite_exports.judgement_sheet([suites[name] for name in names], 2, 5)
    lines = [json.loads(line) for line in files["study.jsonl"].splitlines()]
    study, sheet = (list(csv.DictReader(io.StringIO(files[name]))) for name in ("study.csv", "sheet.csv"))
    assert lines == study and files == suite_exports.judgement_sheet([suites[name] for name in names], 2, 5)
    wanted = [[line[field] for field in ("item_id", "left", "right")] for line in lines]
    assert [list(row.values()) for row in sheet] == [[*row, "", ""] for row in wanted]  # no key
    key = {row["item"]: row["coherent"] for row in csv.DictReader(io.StringIO(files["key.csv"]))}
    for line in lines:
        assert set(line) == {"item_id", "left", "right", "gold_side", "suite", "condition"}
        assert key[line["item_id"]] == line["gold_side"]
        item = next(i for i in suites[line["suite"]].items if f"{line['suite']}/{i.number}" == line["item_id"])
        spoilt = " ".join(r.content for r in item.condition(line["condition"]).regions)
        other = {"left": "right", "right": "left"}[line["gold_side"]]
        shown = line[other].replace("\n– ", " [SEP] ").removeprefix("– ")
        assert shown == spoilt
        assert "[SEP]" not in line["left"] + line["right"]


def test_what_cannot_be_asked_or_judged_is_left_out(suites):
    suite = suites["story_cloze"]
    same = pair(9, {"original_ending": ["a", "b"], "distractor_ending": ["a", "b"]})
    with_one = replace(suite, items=(*suite.items, same))
    assert "story_cloze/9" not in suite_exports.judgement_sheet([with_one], 99, 1)["key.csv"]
    refuses("read alike", suite_exports.judgement_sheet, [replace(suite, items=(same,))], 99, 1)
    odd = replace(suites["N_all"], predictions=("(2;%shuffled%) > 3",))
    refuses("contrast no region in two conditions", suite_exports.harness_task, odd)
