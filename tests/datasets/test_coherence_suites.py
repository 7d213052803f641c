"""The seven suites from tiny native files: what each reader gives, what each condition reads, which edit made it, what is left out."""

import csv
import json

import pytest
from native_sources import SCHEMA, SOURCES, STORIES, STORY_COLUMNS, build_suites, write_sources

from longform.core.documents import BadInput
from longform.core.text.permutations import restored
from longform.datasets.coreference import ReMention, read_brackets, read_gap, read_re_mentions
from longform.datasets.test_suites.items import suites_from_documents
from longform.datasets.test_suites.native import build
from longform.datasets.test_suites.sources import (
    gap,
    in_sentence_case,
    read_dialogue_nli,
    read_persona_chat,
    read_schemas,
    read_stories,
)
from tests.refusals import refuses


@pytest.fixture
def raw(tmp_path):
    return write_sources(tmp_path)


@pytest.fixture
def suites(raw):
    return build_suites(raw)


def regions(suite, item: int, condition: str) -> list[str]:
    return [region.content for region in suite.items[item].condition(condition).regions]


def test_every_suite_of_the_paper_is_built_and_what_is_left_out_is_counted(suites):
    words = ["although", "as", "however", "since", "though", "yet"]
    connectives = {f"connective_while_{sense}_as_{other}" for sense in ("contrast", "temporal") for other in words}
    others = {"N_all", "N_context", "story_cloze", "D_all", "D_context", "winograd_full", "winograd_partial"}
    assert set(suites) == others | connectives | {"speaker_commitment", "coreference_tiny", "zu_all", "zu_context"}
    assert regions(suites["story_cloze"], 0, "original_ending")[1] == "She slept."
    assert regions(suites["story_cloze"], 0, "distractor_ending")[1] == "She sang."
    assert regions(suites["story_cloze"], 1, "original_ending")[1] == "It won."
    suite = suites["connective_while_contrast_as_yet"]
    assert regions(suite, 0, "manipulated") == ["I like tea ,", "yet", "you like coffee ."]
    assert len(suite.items) == 1 and suite.meta["excluded"] == {"opens its segment": 1}
    found = regions(suites["connective_while_temporal_as_as"], 0, "original")
    assert found == ["A while ago he sang", "while", "we danced ."]
    assert regions(suites["coreference_tiny"], 0, "pronoun") == ["A woman sang .", "Then she bowed ."]
    assert regions(suites["coreference_tiny"], 0, "repetition") == ["A woman sang .", "Then the woman bowed ."]
    suite = suites["speaker_commitment"]
    assert regions(suite, 0, "speaker_change") == ["i am a nurse . [SEP]", "i am a cook ."]
    assert regions(suite, 0, "same_speaker") == ["i am a nurse .", "i am a cook ."]
    assert suite.meta["excluded"] == {"label positive": 1, "label neutral": 1}


def test_order_suites_hold_the_same_units_and_their_edits_restore_them(suites):
    original = [*STORIES[0][1:5], "She slept."]
    assert regions(suites["N_all"], 0, "original") == [" ".join(original[:4]), "She slept."]
    for name in ("N_all", "N_context"):
        edit = suites[name].items[0].edits[0]
        order = [original[i] for i in edit["order"]]
        assert regions(suites[name], 0, "shuffled") == [" ".join(order[:4]), order[4]]
        assert order != original
        assert restored(order, edit) == original
    assert regions(suites["N_context"], 0, "shuffled")[1] == "She slept."
    said = "hello , how are you ? [SEP] i am fine . [SEP] good . [SEP]"
    assert regions(suites["D_all"], 0, "original") == [said, "yes ."]
    assert [item.number for item in suites["D_all"].items] == [1, 3]
    assert suites["D_all"].meta["excluded"] == {"no other order": 1}


def test_winograd_sides_are_shuffled_by_seed(raw):
    (raw / "schemas.jsonl").write_text("\n".join(json.dumps(SCHEMA | {"id": i}) for i in range(200)), encoding="utf-8")
    corpus = build(name="row", seed=1, raw=raw, sources={"schemas": "schemas.jsonl"})
    suite = suites_from_documents(corpus.documents, corpus.truth)[0]
    first = sum(item.conditions[0].name == "target" for item in suite.items)
    assert 65 < first < 135
    assert corpus.documents == build(name="row", seed=1, raw=raw, sources={"schemas": "schemas.jsonl"}).documents


@pytest.mark.parametrize(("settings", "put_in"), [({}, "yet"), ({"match_case": True}, "Yet")])
def test_a_replacement_may_take_the_case_of_its_place(raw, settings, put_in):
    (raw / "uses.tsv").write_text("u\thowever\tcontrast\tIt rained . However , we walked .", encoding="utf-8")
    corpus = build(name="row", seed=1, raw=raw, sources={"connectives": "uses.tsv"}, **settings)
    suite = next(s for s in suites_from_documents(corpus.documents, corpus.truth) if s.name.endswith("_as_yet"))
    assert regions(suite, 0, "original") == ["It rained .", "However", ", we walked ."]
    assert regions(suite, 0, "manipulated") == ["It rained .", put_in, ", we walked ."]
    assert suite.items[0].edits[0]["new"] == put_in


def test_dialogues_may_drop_the_last_and_stories_may_be_comma_separated(raw):
    assert [len(read_persona_chat(raw / "dialogues.txt", drop_last=last)) for last in (False, True)] == [3, 2]
    with (raw / "stories.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([STORY_COLUMNS, *STORIES])
    assert read_stories(raw / "stories.csv") == read_stories(raw / "stories.tsv")


def test_substituted_schemas_are_cut_where_they_differ(tmp_path):
    records = [{"question_id": "q", "correctness": right, "substitution": f"It fell because The {noun} was heavy."}
               for noun, right in (("big ball", False), ("box", True))]  # fmt: skip
    path = tmp_path / "wsc273.json"
    path.write_text(json.dumps(records), encoding="utf-8")
    schema = read_schemas(path)[0]
    cut = (schema.before, schema.candidates, schema.after, schema.right)
    assert cut == ("It fell because The", ("big ball", "box"), "was heavy.", 1)
    refuses("have no candidate each", gap, ["a", "b", "d"], ["a", "b", "c", "d"])


@pytest.mark.parametrize(("candidate", "before", "expected"),
                         [("The city", "because", "the city"), ("the city", "", "The city"),
                          ("the city", "It fell.", "The city"), ("Ann", "because", "Ann")])  # fmt: skip
def test_candidates_take_the_case_of_their_place(candidate, before, expected):
    assert in_sentence_case(candidate, before) == expected


@pytest.mark.parametrize(
    ("text", "owned"), [("he saw her dog", True), ("he saw her .", False), ("he gave her the dog", False)]
)
def test_her_owns_only_what_can_be_owned(text, owned):
    assert ReMention("s", "x", text, text.index("her"), text.index("her") + 3, "Ann").possessive is owned


def test_gap_pairs_need_the_name_in_the_sentence_before(tmp_path):
    text = "Ann met Sue. Then she left. It rained."
    rows = [f"d{i}\t{text}\t{word}\t{text.index(word)}\tAnn\t0\t{mark}\tSue\t8\tFALSE\tu\n"
            for i, (word, mark) in enumerate((("she", "TRUE"), ("It", "TRUE"), ("she", "FALSE")))]  # fmt: skip
    path = tmp_path / "gap.tsv"
    path.write_text(HEADER + "".join(rows), encoding="utf-8")
    assert read_re_mentions(path) == [ReMention("d0", "Ann met Sue.", "Then she left.", 5, 8, "Ann")]


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
    assert read_re_mentions(tmp_path) == [ReMention("doc:1:set_1", "A man slept .", "He snored .", 0, 2, "A man")]
    (tmp_path / "doc_coref_level.xml").unlink()
    refuses(r"doc_coref_level\.xml", read_re_mentions, tmp_path)


@pytest.mark.parametrize(("name", "content", "says"),
                         [("stories.tsv", "\t".join(STORY_COLUMNS) + "\n" + "\t".join([*STORIES[0][:-1], "3"]),
                           "AnswerRightEnding is '3'"),
                          ("stories.tsv", "a\tb\n1\t2\n", "a story lacks"),
                          ("dialogues.txt", "2 hello\thi\n", "a line is its number"),
                          ("dialogues.txt", "1 hello\n", "a turn has an utterance"),
                          ("statements.jsonl", '{"label": "negative"}\n{"label": "negative"}\n', "not one JSON array"),
                          ("statements.jsonl", '[{"label": "maybe", "sentence1": "a", "sentence2": "b"}]',
                           "and one of"),
                          ("schemas.jsonl", '{"sentence": "no gap", "candidates": ["a", "b"], "correct": 0}',
                           "one mask"),
                          ("uses.tsv", "u\twhile\tcontrast\tno such word", "'while' is not in the segment"),
                          ("uses.tsv", "u\twhile\tcontrast", "allowed are four"),
                          ("d.conll", "d\t0\t0\tshe\t_\t1)\n", "which is not open")])  # fmt: skip
def test_a_bad_source_says_where_and_what(raw, name, content, says):
    (raw / name).write_text(content, encoding="utf-8")
    with pytest.raises(BadInput) as error:
        build(name="row", seed=1, raw=raw, sources=SOURCES)
    assert says in str(error.value)


def test_an_unknown_source_and_a_missing_file_are_refused(raw):
    refuses("allowed are", build, name="row", seed=1, raw=raw, sources={"poems": "x"})
    refuses("No such file", build, name="row", seed=1, raw=raw, sources={"statements": "absent.jsonl"})
    assert read_dialogue_nli(raw / "statements.jsonl")[0][3] == "negative"


HEADER = "ID\tText\tPronoun\tPronoun-offset\tA\tA-offset\tA-coref\tB\tB-offset\tB-coref\tURL\n"


def test_gap_rows_become_spans_and_labels_and_one_that_misses_its_words_is_refused(tmp_path):
    path = tmp_path / "gap.tsv"
    path.write_text(HEADER + 'd-1\tAnn met "Bea. She left.\tShe\t14\tAnn\t0\tFALSE\tBea\t9\tTRUE\thttp://x\n')
    (item,) = read_gap(path)
    assert item.text[slice(*item.pronoun)] == "She" and item.labels == (False, True)
    assert [item.text[slice(*span)] for span in item.names] == ["Ann", "Bea"]
    path.write_text(HEADER + "d-1\tAnn ran.\tShe\t1\tAnn\t0\tTRUE\tAnn\t0\tTRUE\tx\n", encoding="utf-8")
    refuses("line 2", read_gap, path)


def brackets(rows):
    lines = ["#begin document (x); part 0"]
    return read_brackets(lines + ["" if not word else f"x\t0\t0\t{word}\t_\t{mark}" for word, mark in rows], "x")


def test_brackets_nest_and_point_at_their_words():
    rows = [("The", "(1"), ("son", ""), ("of", ""), ("Ann", "(2)|1)"), ("", ""), ("He", "(1)"), ("ran", "")]
    texts, found = brackets(rows)
    assert texts == [["The", "son", "of", "Ann"], ["He", "ran"]]
    spans = {(m.first, m.last, m.chain) for m in found}
    assert spans == {((0, 0), (0, 3), "1"), ((0, 3), (0, 3), "2"), ((1, 0), (1, 0), "1")}


@pytest.mark.parametrize("rows", [[("Ann", "1)")], [("Ann", "(1))")]])
def test_brackets_that_do_not_fit_are_refused(rows):
    refuses("x:2", brackets, rows)
