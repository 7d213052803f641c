"""Suites: SyntaxGym's files, the prediction language, the seven of the paper from tiny native files, their exports."""

import copy
import csv
import io
import json
import re
from dataclasses import replace

import pytest
import yaml

from experiments.beyer2021 import report as suite_exports
from longform.datasets.coreference import ReMention, read_brackets, read_gap, read_re_mentions
from longform.datasets.test_suites import items, sources
from longform.datasets.test_suites.harness import harness_task
from longform.datasets.test_suites.native import build
from longform.documents import Document
from longform.text.permutations import restored
from tests.refusals import refuses

FIRST = {"region_number": 1, "content": "The dog", "metric_value": {"sum": 3.0}, "oovs": []}
CONDITIONS = [{"condition_name": name, "regions": [FIRST, {"region_number": 2, "content": f"{name} barked ."}]}
              for name in "ab"]  # fmt: skip
RECORD = {"meta": {"name": "toy", "metric": "sum", "author": "me", "comment": "naïve"},
          "region_meta": {"1": "start", "2": "end"},
          "predictions": [{"type": "formula", "formula": "[(2;%a%) > (2;%b%)] & [(*;%a%) > 0]"}],
          "items": [{"item_number": number, "conditions": copy.deepcopy(CONDITIONS)} for number in (0, 1, 5)]}  # fmt: skip
EDITS = [{"kind": "swap", "order": [1, 0]}]


def changed(**places):
    record = copy.deepcopy(RECORD)
    for path, value in places.items():
        target = record
        *steps, last = [int(step) if step.isdigit() else step for step in path.split("__")]
        for step in steps:
            target = target[step]
        target[last] = value
    return record


def test_suites_survive_files_and_documents_under_their_own_names(tmp_path):
    path = tmp_path / "toy.json"
    path.write_text(json.dumps(RECORD), encoding="utf-8")
    suite = items.read_suite(path)
    bare = items.suite_from_record(
        changed(items__0__conditions__0__regions__0__content="", meta__name="other")
    )
    edited = type(suite)(
        "e", "mean", ("(1;%a%) > (1;%b%)",), (items.pair(3, {"a": ["x"], "b": ["y"]}, EDITS),)
    )
    assert suite.meta == {"author": "me", "comment": "naïve"} and suite.items[2].number == 5
    assert [r.content for r in suite.items[0].condition("b").regions] == ["The dog", "b barked ."]
    plain = [suite, bare, edited]
    corpus = items.suites_to_corpus(plain)
    again = [Document.from_record(json.loads(json.dumps(d.to_record()))) for d in corpus.documents]
    assert items.suites_from_documents(again, corpus.truth) == plain
    assert corpus.facts["items"] == {"toy": 3, "other": 3, "e": 1}
    refuses("names repeat", items.suites_to_corpus, [suite, suite])
    refuses("suite_heads", items.suites_from_documents, [], {})


@pytest.mark.parametrize(
    ("record", "says"),
    [
        ({"meta": {}}, "meta, region_meta, predictions and items"),
        (changed(meta={"name": "x"}), "'metric' is missing"),
        (changed(meta__metric="all"), "metric 'all' is not one of"),
        (changed(predictions__0__type="code"), "allowed is 'formula'"),
        (changed(predictions__0__formula="(7;%a%) > (2;%b%)"), "names region 7, item 0 has [1, 2]"),
        (
            changed(predictions__0__formula="(2;%c%) > (2;%b%)"),
            "names condition 'c', allowed are ['a', 'b']",
        ),
        (
            changed(items__1__conditions=RECORD["items"][1]["conditions"][:1]),
            "item 1: conditions are ['a']",
        ),
        (changed(items__1__item_number=0), "item numbers repeat"),
        (changed(items=[]), "0 items"),
        (changed(items=None), "items: got None, allowed is a list"),
        (changed(items__1=3), "got 3, allowed is an object"),
        (changed(items__1__item_number="one"), "item_number: got 'one', allowed is a whole number"),
        (changed(items__1__conditions__0__regions="x"), "item 1, condition a, regions: got 'x'"),
        (
            changed(items__1__conditions__0__regions__1__region_number=1),
            "region numbers are [1, 1]",
        ),
        (
            changed(predictions__0="(2;%a%) > 0"),
            "prediction: got '(2;%a%) > 0', allowed is an object",
        ),
        (changed(meta=None), "meta: got None"),
    ],
)
def test_a_bad_suite_says_what_is_wrong(record, says):
    refuses(re.escape(says), items.suite_from_record, record, "toy.json")


STORY_COLUMNS = ["InputStoryid", *(f"InputSentence{i}" for i in range(1, 5)), "RandomFifthSentenceQuiz1",
                 "RandomFifthSentenceQuiz2", "AnswerRightEnding"]  # fmt: skip
STORIES = [
    [
        "s1",
        "Ann woke up.",
        "She ate.",
        '"Hi", she said.',
        "She left.",
        "She sang.",
        "She slept.",
        "2",
    ],
    ["s2", "A dog ran.", "It fell.", "It rose.", "It ran.", "It won.", "It flew.", "1"],
]
DIALOGUES = [
    "1 your persona: i like cats.", "2 partner's persona: i like dogs.",
    "3 hello , how are you ?\ti am fine .\t\tno|i am fine .", "4 good .\tyes .\t\tx|yes .",
    "1 hi .\thi .\t\ta|hi .", "2 hi .\thi .\t\ta|hi .", "1 one\ttwo\t\tc", "2 three\tfour\t\tc",
]  # fmt: skip
STATEMENTS = [{"id": label, "label": label, "sentence1": "i am a nurse .", "sentence2": said} for label, said in
              (("negative", "i am a cook ."), ("positive", "i nurse ."), ("neutral", "it rains ."))]  # fmt: skip
SCHEMA = {"id": 0, "sentence": "The city refused the men a permit because [MASK]  feared violence.", "mask": "[MASK]",
          "candidates": ["The city", "The men"], "correct": 0}  # fmt: skip
USES = [
    "u1\twhile\tcontrast\tI like tea , while you like coffee .",
    "u2\twhile\tcontrast\tWhile I slept , you worked .",
    "u3\twhile\ttemporal\tA while ago he sang <c>while</c> we danced .",
]


@pytest.fixture
def raw(tmp_path):
    conll = ["#begin document (d); part 0"]
    for words, marks in (("A woman sang .", "(1 1) - -"), ("Then she bowed .", "- (1) - -")):
        pairs = zip(words.split(), marks.split(), strict=True)
        conll += [*(f"d\t0\t{i}\t{word}\t_\t{mark}" for i, (word, mark) in enumerate(pairs)), ""]
    files = {
        "stories.tsv": "\n".join("\t".join(row) for row in [STORY_COLUMNS, *STORIES]),
        "dialogues.txt": "\n".join(DIALOGUES),
        "statements.jsonl": json.dumps(STATEMENTS),
        "schemas.jsonl": json.dumps(SCHEMA),
        "uses.tsv": "\n".join(USES),
        "d.conll": "\n".join([*conll, "#end document"]),
        "zu.txt": "Ka lo. Mi ta. Su re. Do pi.\nKa lo.",
    }
    for name, content in files.items():
        (tmp_path / name).write_text(content + "\n", encoding="utf-8")
    return tmp_path


SOURCES = {"stories": "stories.tsv", "dialogues": "dialogues.txt", "schemas": "schemas.jsonl",
           "statements": "statements.jsonl", "connectives": "uses.tsv", "re_mentions": {"tiny": "d.conll"},
           "texts": {"zu": "zu.txt"}}  # fmt: skip


def built(raw, chosen=SOURCES, **settings):
    corpus = build(name="row", seed=1, raw=raw, sources=chosen, **settings)
    return {
        suite.name: suite for suite in items.suites_from_documents(corpus.documents, corpus.truth)
    }


@pytest.fixture
def suites(raw):
    return built(raw)


def regions(suite, item: int, condition: str) -> list[str]:
    return [region.content for region in suite.items[item].condition(condition).regions]


def test_every_suite_of_the_paper_is_built_and_what_is_left_out_is_counted(suites):
    words = ["although", "as", "however", "since", "though", "yet"]
    connectives = {
        f"connective_while_{sense}_as_{other}"
        for sense in ("contrast", "temporal")
        for other in words
    }
    others = {
        "N_all",
        "N_context",
        "story_cloze",
        "D_all",
        "D_context",
        "winograd_full",
        "winograd_partial",
    }
    assert set(suites) == others | connectives | {
        "speaker_commitment",
        "coreference_tiny",
        "zu_all",
        "zu_context",
    }
    told = 'Ann woke up. She ate. "Hi", she said. She left.'
    for name, condition, *wanted in (
        ("story_cloze", "original_ending", told, "She slept."),
        ("story_cloze", "distractor_ending", told, "She sang."),
        (
            "connective_while_contrast_as_yet",
            "manipulated",
            "I like tea ,",
            "yet",
            "you like coffee .",
        ),
        (
            "connective_while_temporal_as_as",
            "original",
            "A while ago he sang",
            "while",
            "we danced .",
        ),
        ("coreference_tiny", "pronoun", "A woman sang .", "Then she bowed ."),
        ("coreference_tiny", "repetition", "A woman sang .", "Then the woman bowed ."),
        ("speaker_commitment", "speaker_change", "i am a nurse . [SEP]", "i am a cook ."),
        ("speaker_commitment", "same_speaker", "i am a nurse .", "i am a cook ."),
    ):
        assert regions(suites[name], 0, condition) == wanted
    assert regions(suites["story_cloze"], 1, "original_ending")[1] == "It won."
    assert len(suites["connective_while_contrast_as_yet"].items) == 1
    assert suites["connective_while_contrast_as_yet"].meta["excluded"] == {"opens its segment": 1}
    of_speakers = suites["speaker_commitment"].items
    assert [item.number for item in of_speakers] == [*range(1, len(of_speakers) + 1)]
    assert suites["speaker_commitment"].meta["excluded"] == {
        "label positive": 1,
        "label neutral": 1,
    }


def test_order_suites_hold_the_same_units_and_their_edits_restore_them(suites):
    original = [*STORIES[0][1:5], "She slept."]
    assert regions(suites["N_all"], 0, "original") == [" ".join(original[:4]), "She slept."]
    for name in ("N_all", "N_context"):
        edit = suites[name].items[0].edits[0]
        order = [original[i] for i in edit["order"]]
        assert regions(suites[name], 0, "shuffled") == [" ".join(order[:4]), order[4]]
        assert order != original == restored(order, edit)
    assert regions(suites["N_context"], 0, "shuffled")[1] == "She slept."
    said = "hello , how are you ? [SEP] i am fine . [SEP] good . [SEP]"
    assert regions(suites["D_all"], 0, "original") == [said, "yes ."]
    assert [item.number for item in suites["D_all"].items] == [1, 3]
    assert suites["D_all"].meta["excluded"] == {"no other order": 1}


def test_winograd_sides_are_shuffled_by_seed(raw):
    (raw / "schemas.jsonl").write_text(
        "\n".join(json.dumps(SCHEMA | {"id": i}) for i in range(200)), encoding="utf-8"
    )
    suites = built(raw, {"schemas": "schemas.jsonl"})
    assert (
        65
        < sum(item.conditions[0].name == "target" for item in suites["winograd_full"].items)
        < 135
    )
    assert suites == built(raw, {"schemas": "schemas.jsonl"})


@pytest.mark.parametrize(("settings", "put_in"), [({}, "yet"), ({"match_case": True}, "Yet")])
def test_a_replacement_may_take_the_case_of_its_place(raw, settings, put_in):
    (raw / "uses.tsv").write_text(
        "u\thowever\tcontrast\tIt rained . However , we walked .", encoding="utf-8"
    )
    suite = built(raw, {"connectives": "uses.tsv"}, **settings)[
        "connective_however_contrast_as_yet"
    ]
    for condition, word in (("original", "However"), ("manipulated", put_in)):
        assert regions(suite, 0, condition) == ["It rained .", word, ", we walked ."]
    assert suite.items[0].edits[0]["new"] == put_in


def test_of_many_uses_of_a_connective_those_that_the_seed_draws_are_read(raw):
    uses = [f"u{i}\tyet\tcontrast\tIt rained {i} days , yet we walked ." for i in range(9)]
    (raw / "uses.tsv").write_text("\n".join(uses), encoding="utf-8")
    kept = [
        [item.edits[0]["source"] for item in suite.items]
        for suite in built(raw, {"connectives": "uses.tsv"}, most=4).values()
    ]
    assert len(set(kept[0])) == 4 and kept[0] != ["u0", "u1", "u2", "u3"] and kept == kept[:1] * 6
    treebank = {
        "prev_sentence": "It rained.",
        "sentence": "I left since I could.",
        "begin": 7,
        "end": 12,
        "sense": "Contingency.Cause.Reason",
    }
    (raw / "lines.jsonl").write_text(json.dumps(treebank), encoding="utf-8")
    suite = built(raw, {"connectives": "lines.jsonl"})["connective_since_causal_as_yet"]
    assert regions(suite, 0, "manipulated") == ["It rained. I left", "yet", "I could."]


def test_dialogues_stories_and_statements_are_parsed_with_their_options(raw):
    assert sources.read_dialogue_nli(raw / "statements.jsonl")[0][::3] == ("negative",) * 2
    assert [
        len(sources.read_persona_chat(raw / "dialogues.txt", drop_last=last))
        for last in (False, True)
    ] == [3, 2]
    with (raw / "stories.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([STORY_COLUMNS, *STORIES])
    assert sources.read_stories(raw / "stories.csv") == sources.read_stories(raw / "stories.tsv")


def test_generated_dialogues_and_pieces_of_stories_are_ordered_texts_too(raw):
    turns, story = (
        ["Hi!", "You: so?", "Yes."],
        " ".join(f"The {number}th came." for number in range(6)),
    )
    tables = {"chat.csv": [["Best Generated Conversation"], ["\n".join(f"User {1 + i % 2}: {t}" for i, t in enumerate(turns))], [""]],
              "told.csv": [["Human"], [story], [story], [f"{story} It ended.\n\n{story}"], ["Short."]]}  # fmt: skip
    for name, rows in tables.items():
        with (raw / name).open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows(rows)
    assert sources.read_generated_dialogues(raw / "chat.csv") == [("1", turns)]
    pieces = sources.read_narration(raw / "told.csv", 5)
    assert [name for name, _ in pieces] == ["1-1", "2-1", "2-2"] and pieces[2][1][1] == "It ended."
    made = built(raw, {"dialogues": "chat.csv", "narration": "told.csv"}, most=2)
    assert {name: len(suite.items) for name, suite in made.items()} == {
        "D_all": 1,
        "D_context": 1,
        "N_all": 2,
        "N_context": 2,
    }
    refuses("lacks .'Human'.", built, raw, {"narration": "chat.csv"})


def test_substituted_schemas_are_cut_where_they_differ_in_the_same_case(tmp_path):
    records = [{"question_id": "q", "correctness": right, "substitution": f"It fell because The {noun} was heavy."}
               for noun, right in (("big ball", False), ("box", True))]  # fmt: skip
    path = tmp_path / "wsc273.json"
    path.write_text(json.dumps(records), encoding="utf-8")
    schema = sources.read_schemas(path)[0]
    assert (schema.before, schema.after) == ("It fell because The", "was heavy.")
    assert (schema.candidates, schema.right) == (("big ball", "box"), 1)
    refuses("have no candidate each", sources.gap, ["a", "b", "d"], ["a", "b", "c", "d"])
    for candidate, before, expected in (("The city", "because", "the city"), ("the city", "", "The city"),
                                        ("the city", "It fell.", "The city"), ("Ann", "because", "Ann"),
                                        ("the city", 'It fell. "', "The city"), ("the city", "It fell. (", "The city"),
                                        ("The city", "the men (", "the city")):  # fmt: skip
        assert sources.in_sentence_case(candidate, before) == expected


def test_her_owns_only_what_can_be_owned():
    for text, owned in (("saw her dog", True), ("saw her .", False), ("gave her the dog", False)):
        assert (
            ReMention("s", "x", text, text.index("her"), text.index("her") + 3, "Ann").possessive
            is owned
        )


HEADER = "ID\tText\tPronoun\tPronoun-offset\tA\tA-offset\tA-coref\tB\tB-offset\tB-coref\tURL\n"


def test_gap_rows_become_spans_and_labels_and_pairs_need_a_name_before(tmp_path):
    text = "Ann met Sue. Then she left. It rained."
    rows = [f"d{i}\t{text}\t{word}\t{text.index(word)}\tAnn\t0\t{mark}\tSue\t8\tFALSE\tu\n"
            for i, (word, mark) in enumerate((("she", "TRUE"), ("It", "TRUE"), ("she", "FALSE")))]  # fmt: skip
    path = tmp_path / "gap.tsv"
    path.write_text(HEADER + "".join(rows), encoding="utf-8")
    assert read_re_mentions(path) == [
        ReMention("d0", "Ann met Sue.", "Then she left.", 5, 8, "Ann")
    ]
    path.write_text(
        HEADER + 'd-1\tAnn met "Bea. She left.\tShe\t14\tAnn\t0\tFALSE\tBea\t9\tTRUE\thttp://x\n'
    )
    (item,) = read_gap(path)
    assert item.text[slice(*item.pronoun)] == "She" and item.labels == (False, True)
    assert [item.text[slice(*span)] for span in item.names] == ["Ann", "Bea"]
    path.write_text(
        HEADER + "d-1\tAnn ran.\tShe\t1\tAnn\t0\tTRUE\tAnn\t0\tTRUE\tx\n", encoding="utf-8"
    )
    refuses("gap.tsv:2", read_gap, path)  # its offsets miss its words
    path.write_text(HEADER)
    refuses("no item below the header", read_gap, path)
    text = '"Ann" ran. We run.They left.'
    path.write_text(f"{HEADER}d\t{text}\tThey\t18\tAnn\t1\tTRUE\tWe\t11\tFALSE\tx\n")
    assert read_re_mentions(path) == []


def test_arrau_markables_become_re_mentions(tmp_path):
    words = ["A", "man", "slept", ".", "He", "snored", "."]
    places = "".join(f'<word id="word_{i}">{w}</word>' for i, w in enumerate(words, 1))
    marks = {
        "words": f"<words>{places}</words>",
        "sentence_level": '<markables><markable id="m1" span="word_1..word_4"/><markable id="m2" span="word_5..word_7"/></markables>',
        "coref_level": '<markables><markable id="m3" span="word_1..word_2" coref_set="set_1"/>'
        '<markable id="m4" span="word_5" coref_set="set_1"/><markable id="m5" span="word_3" coref_set="empty"/></markables>',
    }
    for name, content in marks.items():
        (tmp_path / f"doc_{name}.xml").write_text(content, encoding="utf-8")
    assert read_re_mentions(tmp_path) == [
        ReMention("doc:1:set_1", "A man slept .", "He snored .", 0, 2, "A man")
    ]
    (tmp_path / "doc_coref_level.xml").unlink()
    refuses(r"doc_coref_level\.xml", read_re_mentions, tmp_path)


@pytest.mark.parametrize(("name", "content", "says"),
                         [("stories.tsv", "\t".join(STORY_COLUMNS) + "\n" + "\t".join([*STORIES[0][:-1], "3"]),
                           "AnswerRightEnding is '3'"),
                          ("stories.tsv", "a\tb\n1\t2\n", "lacks ['InputStoryid'"),
                          ("dialogues.txt", "2 hello\thi\n", "a line is its number"),
                          ("dialogues.txt", "1 hello\n", "a turn has an utterance"),
                          ("statements.jsonl", '{"label": "negative"}\n{"label": "negative"}\n', "not JSON"),
                          ("statements.jsonl", '[{"label": "maybe", "sentence1": "a", "sentence2": "b"}]',
                           "and one of"),
                          ("schemas.jsonl", '{"sentence": "no gap", "candidates": ["a", "b"], "correct": 0}',
                           "needs one [MASK] and two candidates"),
                          ("uses.tsv", "u\twhile\tcontrast\tno such word", "'while' is not in the segment"),
                          ("uses.tsv", "u\twhile\tcontrast", "allowed are four"),
                          ("d.conll", "d\t0\t0\tshe\t_\t1)\n", "which is not open")])  # fmt: skip
def test_a_bad_source_says_where_and_what(raw, name, content, says):
    (raw / name).write_text(content, encoding="utf-8")
    refuses(re.escape(says), built, raw)
    refuses("allowed are", built, raw, {"poems": "x"})
    refuses("No such file", built, raw, {"statements": "absent.jsonl"})


def brackets(rows):
    words = ["" if not word else f"x\t0\t0\t{word}\t_\t{mark}" for word, mark in rows]
    return read_brackets(["#begin document (x); part 0", *words], "x")


def test_brackets_nest_and_those_that_do_not_fit_are_refused():
    rows = [
        ("The", "(1"),
        ("son", ""),
        ("of", ""),
        ("Ann", "(2)|1)"),
        ("", ""),
        ("He", "(1)"),
        ("ran", ""),
    ]
    texts, found = brackets(rows)
    assert texts == [["The", "son", "of", "Ann"], ["He", "ran"]]
    spans = {(m.first, m.last, m.chain) for m in found}
    assert spans == {((0, 0), (0, 3), "1"), ((0, 3), (0, 3), "2"), ((1, 0), (1, 0), "1")}
    for mark in ("1)", "(1))"):
        refuses("x:2", brackets, [("Ann", mark)])


def test_a_harness_task_asks_the_suites_question(suites):
    def asked(name):
        """The first line of a suite's task, its right choice, and the task."""
        made = harness_task(suites[name])
        line = json.loads(made[f"{name}.jsonl"].splitlines()[0])
        return line, line["choices"][line["target"]], yaml.safe_load(made[f"{name}.yaml"])

    line, right, _ = asked("story_cloze")
    assert (right, line["context"][-9:]) == ("She slept.", "She left.")
    line, right, task = asked("connective_while_contrast_as_yet")
    assert right == "I like tea , while" and line["continuation"] == "you like coffee ."
    wanted = {
        "doc_to_text": "{{target}}",
        "doc_to_target": "{{continuation}}",
        "output_type": "multiple_choice",
    }
    assert wanted.items() <= task.items() and task["target_delimiter"] == " "
    line, right, task = asked("N_all")
    assert right == " ".join([*STORIES[0][1:5], "She slept."])
    assert line["context"] == "" == task["target_delimiter"]  # nothing stands before a whole text


def test_a_studys_file_names_the_coherent_side_and_the_others_fault(suites):
    chosen = [suites[name] for name in ("story_cloze", "N_all", "speaker_commitment")]
    files = suite_exports.judgement_sheet(chosen, 2, 5)
    lines = [json.loads(line) for line in files["study.jsonl"].splitlines()]
    study, sheet = (
        list(csv.DictReader(io.StringIO(files[name]))) for name in ("study.csv", "sheet.csv")
    )
    assert lines == study and files == suite_exports.judgement_sheet(chosen, 2, 5)
    wanted = [[line[field] for field in ("item_id", "left", "right")] for line in lines]
    assert [list(row.values()) for row in sheet] == [[*row, "", ""] for row in wanted]  # no key
    key = {row["item"]: row["coherent"] for row in csv.DictReader(io.StringIO(files["key.csv"]))}
    for line in lines:
        assert set(line) == {"item_id", "left", "right", "gold_side", "suite", "condition"}
        assert key[line["item_id"]] == line["gold_side"]
        item = next(
            i
            for i in suites[line["suite"]].items
            if f"{line['suite']}/{i.number}" == line["item_id"]
        )
        spoilt = " ".join(r.content for r in item.condition(line["condition"]).regions)
        other = {"left": "right", "right": "left"}[line["gold_side"]]
        assert line[other].replace("\n– ", " [SEP] ").removeprefix("– ") == spoilt
        assert "[SEP]" not in line["left"] + line["right"]


def test_what_cannot_be_asked_or_judged_is_left_out(suites):
    suite = suites["story_cloze"]
    same = items.pair(9, {"original_ending": ["a", "b"], "distractor_ending": ["a", "b"]})
    with_one = replace(suite, items=(*suite.items, same))
    assert "story_cloze/9" not in suite_exports.judgement_sheet([with_one], 99, 1)["key.csv"]
    refuses("read alike", suite_exports.judgement_sheet, [replace(suite, items=(same,))], 99, 1)
    odd = replace(suites["N_all"], predictions=("(2;%shuffled%) > 3",))
    refuses("contrast no region in two conditions", harness_task, odd)
