"""What a verification shows, counts, takes up and says, with a stand-in for the checker."""

import errno
import hashlib
import math
import os
import re
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from longform import commands
from longform.cli import main
from longform.critics.scores import Score
from longform.critics.verifiability import checker as checking
from longform.datasets.own_texts import Texts
from longform.documents import Document, Section
from longform.errors import InputError
from longform.files.artefacts import read_lines
from longform.language_models.named_models import NamedModel
from longform.tools import verifying
from longform.tools.unfinished import unfinished_folder
from longform.tools.verifying import SentenceVerdict, Verification, VerificationPlan
from tests.refusals import refuses

NAN = math.nan


def verdict(system, label):
    return SentenceVerdict(system, "t", "It is.", "X is.", label, "", 0.5, 0.25)


def score(value, low=0.25, high=0.75, units=3, excluded=1):
    return Score(value, low, high, units, excluded, "higher", "sig")


def verification(folder=None):
    named = ["SPG", "SPV", "USPG", "USPV"]
    first = dict(zip(named, [score(0.5), score(NAN), score(0.5, NAN, NAN), score(1)], strict=True))
    labels = [("a", "supported"), ("a", "refuted"), ("a", "supported"), ("b", "not_enough_info")]
    return Verification(
        {"a": first, "b": dict.fromkeys(named, score(0.25, 0.0, 0.5))},
        tuple(verdict(*one) for one in labels),
        {"pages": 1234, "judge": "j", "set_aside": {}},
        folder,
    )


CALLS = {
    "suites m a --against o": ("suites.judge_suites", {"against": "o"}),
    "generate m --prefixes p --seed 7 --out o": ("writing.generate", {"seed": 7, "out": Path("o")}),
    "verify a --pages w --judge j --out o": ("verifying.verify", {"judge": "j", "out": Path("o")}),
    "verify a --pages w --judge j --plan": ("verifying.plan_verification", {"judge": "j"}),
    "export harness f a --seed 7": ("exporting.export_harness", {"seed": 7}),
}


@pytest.mark.parametrize("command", CALLS)
def test_a_command_hands_its_options_to_the_tool_by_name(command, monkeypatch):
    tool, options = CALLS[command]
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    monkeypatch.delenv("HF_HUB_OFFLINE")

    def reach(*given, **named):
        raise KeyError(named)

    monkeypatch.setattr(f"longform.tools.{tool}", reach)
    with pytest.raises(KeyError) as reached:
        main(command.split())
    assert options.items() <= reached.value.args[0].items()
    assert ("HF_HUB_OFFLINE" in os.environ) is (not command.startswith("export"))


def test_a_command_is_run_with_ctrl_c_heard_and_asks_for_its_extra(monkeypatch, capsys):
    asked = []
    monkeypatch.setattr(commands.extras, "check", lambda *names: asked.append(names))
    monkeypatch.setattr("longform.tools.writing.decoder_listing", lambda: "all")
    interrupt = SimpleNamespace(ends_at_once=True, heard=False)
    assert commands.run(SimpleNamespace(command="decoders"), interrupt) == 0
    assert (asked, capsys.readouterr().out) == ([("models", "pydantic")], "all\n")
    assert interrupt.ends_at_once is False

    def stop(options):
        raise SystemExit(5)

    monkeypatch.setitem(commands.COMMANDS, "verify", stop)
    with pytest.raises(SystemExit):
        commands.run(SimpleNamespace(command="verify"), interrupt)
    interrupt.heard = True
    assert commands.run(SimpleNamespace(command="verify"), interrupt) == 130
    assert commands.STOPPED_SENTENCES["verify"] in capsys.readouterr().err


def test_pages_are_needed_and_the_extra_is_asked_for_first(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(verifying.extras, "check", lambda *names: asked.append(names))
    monkeypatch.setattr(verifying, "_opened_judge", lambda named, stack: None)
    judge = SimpleNamespace(name="judge", stamps=lambda: ["stamp"])
    monkeypatch.setattr(verifying, "named_model", lambda name: judge)
    monkeypatch.setattr(verifying, "_pages_of", lambda source: iter(()))
    refuses("no page in it; give", verifying._opened(tmp_path, "j").__enter__)
    assert asked == [("models", *verifying.NETWORKS, "bm25s")]
    refuses("no model to compare sentences with", verifying._opened(tmp_path, None).__enter__)
    # A checker of pages of one's own: its fingerprint is the judge's and that of the pages' file.
    monkeypatch.setattr(verifying, "_pages_of", lambda source: iter([("A", ["It is."])]))
    monkeypatch.setattr(verifying, "_opened_judge", lambda named, stack: "entailment")
    monkeypatch.setattr(checking, "selector", lambda pages, settings: ("selector", len(pages)))
    monkeypatch.setattr(checking, "Checker", lambda pages, *given: given)
    row = b'{"title": "A", "lines": ["It is."]}\n'
    with verifying._opened(tmp_path, "j") as (checker, name, stamps):
        settings = {"retrieval": {}, "selection": {}, "sure": 0.5}
        assert (checker, name) == ((("selector", 1), "entailment", settings), "judge")
    assert stamps == [["stamp"], hashlib.blake2b(row, digest_size=16).hexdigest()]
    # One that was trained has all of it.
    (tmp_path / "checker.json").write_text("{}")
    monkeypatch.setattr("longform.critics.verifiability.read.open_checker", lambda source: source)
    with verifying._opened(tmp_path, None) as opened:
        assert opened == (tmp_path, f"checker {tmp_path}", NamedModel("", tmp_path, {}).stamps())
    refuses("has its own judge; leave --judge out", verifying._opened(tmp_path, "j").__enter__)


@pytest.mark.parametrize(
    ("pointer", "architectures", "value", "told"),
    [
        ({}, ["BertForSequenceClassification"], 0.5, None),
        ({}, None, 0.5, None),
        ({}, ["GPT2LMHeadModel"], 0.5, "m: a causal language model"),
        ({"gguf": "x"}, [], 0.5, "m: a causal language model"),
        ({"package": "x"}, [], 0.5, "m: a causal language model"),
        ({}, [], NAN, "m: its probabilities of a short text are no numbers"),
    ],
)
def test_a_judge_is_no_causal_model_and_gives_numbers(
    pointer, architectures, value, told, monkeypatch
):
    config = SimpleNamespace(architectures=architectures)
    judge = SimpleNamespace(probabilities=lambda pairs: np.array([0.0, value * len(pairs)]))
    monkeypatch.setattr("longform.language_models.checkpoints.load_config", lambda folder: config)
    monkeypatch.setattr(
        "longform.critics.verifiability.train.brought_entailment", {"f": judge}.__getitem__
    )
    model = SimpleNamespace(name="m", pointer=pointer, opened_folder=lambda: nullcontext("f"))
    with ExitStack() as stack:
        if told:
            refuses(told, verifying._opened_judge, model, stack)
        else:
            assert verifying._opened_judge(model, stack) is judge


def test_results_go_into_no_file(tmp_path, capsys):
    (tmp_path / "file").write_text("mine")
    sentence = "is no folder to write in; name another folder"
    for place in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(InputError, match=sentence):
            unfinished_folder(place, "run")
        assert main(["export", "evaluate", str(place)]) == 2
        assert sentence in capsys.readouterr().err
    assert (tmp_path / "file").read_text() == "mine"


def test_results_go_into_no_folder_whose_name_is_too_long(tmp_path, monkeypatch):
    long = tmp_path / ("x" * 300)
    sentence = "no folder can be made there (File name too long); name another folder"
    refuses(re.escape(sentence), unfinished_folder, long, "run")
    refuses("File name too long; name another place", commands._check_file, long, [])

    def mkdir(folder, **options):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(Path, "mkdir", mkdir)
    refuses(r"\(Read-only file system\); name another", unfinished_folder, tmp_path / "x", "run")


@pytest.mark.parametrize("name", ["a.csv", "stories=a.csv", "./a.csv", "sub/../a.csv"])
def test_what_is_read_is_not_overwritten(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    sentence = "a.csv is read, and would be overwritten; name another place"
    commands._check_file(Path("a.csv"), [name])  # nothing lies there yet
    (tmp_path / "a.csv").write_text("mine", encoding="utf-8")
    refuses(sentence, commands._check_file, Path("a.csv"), ["b.csv", name])
    commands._check_file(Path("new/deep/b.csv"), [name])
    assert (tmp_path / "new" / "deep").is_dir()


def test_texts_that_are_checked_are_not_overwritten_by_verdicts(tmp_path):
    texts = tmp_path / verifying.VERDICTS
    texts.write_text('{"text": "It rained."}\n', encoding="utf-8")
    sentence = "verdicts.jsonl is read, and would be overwritten"
    for given in (texts, {"a": str(texts)}):
        refuses(sentence, verifying.verify, given, tmp_path / "pages", out=tmp_path)


def test_sentences_are_counted_by_system_and_label():
    assert verification().counts("a") == {"supported": 2, "refuted": 1, "not_enough_info": 0}
    assert verification().counts("b") == {"supported": 0, "refuted": 0, "not_enough_info": 1}


def test_a_table_has_blanks_for_what_is_no_number():
    lines = verification().markdown().split("\n")
    assert lines[2].startswith(
        "| system | texts | supported | refuted | not enough information | SPG"
    )
    assert lines[4] == "| a | 4 | 2 | 1 | 0 | 0.50 [0.25, 0.75] |  | 0.50 | 1 [0.25, 0.75] |"
    assert lines[8] == "- 1,234 pages; judge: j" and lines[9] == ""
    aside = replace(
        verification(), facts={**verification().facts, "set_aside": {"b": [("l", "r")]}}
    )
    assert "- texts of b set aside, 1: l: r\n" in aside.markdown()
    below = verification(Path("out")).markdown().split("\n")
    assert below[9] == "- each sentence with its evidence: out/verdicts.jsonl"


def test_a_record_has_none_where_there_is_no_number():
    record = verification().to_record()
    assert record["facts"] == {"pages": 1234, "judge": "j", "set_aside": {}}
    first = record["systems"]["a"]
    assert first["sentences"] == {"supported": 2, "refuted": 1, "not_enough_info": 0}
    assert (first["SPG"]["value"], first["SPV"]["value"], first["USPG"]["low"]) == (0.5, None, None)
    assert (first["SPG"]["units"], first["SPG"]["better"]) == (3, "higher")


@pytest.mark.parametrize(("seconds", "said"), [(0.3, "about 1 s"), (7.6, "about 8 s")])
def test_a_plan_is_one_line(seconds, said):
    plan = VerificationPlan("j", 12345, {"a": 2, "b": 3}, 20, seconds)
    assert plan.text() == (
        f"j: texts: a 2, b 3; 20 first sentences against 12,345 pages; at most {said}"
    )


def document(name, *texts):
    return Document(name, "generated", tuple(Section(None, text) for text in texts or ("A.",)))


def test_systems_are_named_or_called_texts(monkeypatch):
    monkeypatch.setattr(verifying, "read_texts", lambda path: Texts((path,), (("line 1", "no"),)))
    monkeypatch.setattr(verifying, "documents_from", lambda texts, what: [what, *texts])
    assert verifying._systems("file") == {"texts": Texts(("file",), (("line 1", "no"),))}
    systems = verifying._systems({"a": Path("x"), "b": ["t"]})
    assert systems["b"] == Texts(("verify", "t"))
    assert verifying._documents(systems) == {"a": (Path("x"),), "b": ("verify", "t")}


def test_a_plan_guesses_five_lines_a_sentence_from_a_few_pairs(monkeypatch):
    """Eight times two pairs in four seconds: a quarter of a second each."""
    from longform.critics.verifiability.checker import LINES

    seconds, pairs = iter([10.0, 14.0]), []
    monkeypatch.setattr(verifying.time, "monotonic", lambda: next(seconds))
    checker = SimpleNamespace(
        pages="abc", entailment=SimpleNamespace(probabilities=lambda given: pairs.extend(given))
    )
    texts = {"a": [document("x", "It is a town. It is old."), document("y")], "b": [document("z")]}
    plan = verifying._plan(texts, checker, "j")
    assert len(pairs) == 16 and (pairs[0].title, pairs[0].claim) == (
        "Riverton",
        "Riverton is a town.",
    )
    assert pairs[1].claim == "Riverton is a mountain." and pairs[1].sentence.startswith(
        "Riverton is a t"
    )
    assert (plan.judge, plan.pages, plan.texts) == ("j", 3, {"a": 2, "b": 1})
    assert plan.sentences == 4 and plan.seconds == 0.25 * 4 * LINES


def test_texts_that_are_done_are_taken_and_others_judged_eight_at_a_time(
    monkeypatch, tmp_path, capsys
):
    parts = []

    def rows_of(part, checker):
        parts.append([one.id for one in part])
        return [[f"row {one.id}"] for one in part]

    seconds = iter([0.0, 10.0, 10.5, 11.0])
    monkeypatch.setattr(verifying.time, "monotonic", lambda: next(seconds))
    monkeypatch.setattr(verifying, "_rows_of", rows_of)
    texts = [document(str(number)) for number in range(10)]
    done = {("a", "1"): ["old"], ("b", "2"): ["of another system"]}
    found = verifying._checked("a", texts, "checker", done, tmp_path / "v")
    assert found == [["row 0"], ["old"], *([f"row {number}"] for number in range(2, 10))]
    assert parts == [["0", *map(str, range(2, 9))], ["9"]]
    lines = list(read_lines(tmp_path / "v"))
    assert len(lines) == 9 and lines[0] == {"system": "a", "id": "0", "sentences": ["row 0"]}
    assert capsys.readouterr().out == "verify a: 10/10 texts\n"
    seconds = iter([0.0, 0.0])
    assert verifying._checked("a", texts[:1], "checker", {}, None) == [["row 0"]]


def test_a_verdict_is_shown_with_its_lines_in_order(monkeypatch):
    claim = SimpleNamespace(source="It is.", text="X is.")
    verdict = SimpleNamespace(
        evidence={("Y", 1), ("X", 2), ("X", 0)},
        label="supported",
        support=0.123456789,
        refutation=0.5,
    )
    monkeypatch.setattr(
        "longform.critics.verifiability.read.text_verdicts",
        lambda documents, checker, splitter: [[(claim, verdict)], []],
    )
    checker = SimpleNamespace(pages={"X": ["x0", "x1", "x2"], "Y": ["y0", "y1"]})
    documents = [Document(name, "test", (Section(None, "It is."),)) for name in "ab"]
    (first,), empty = verifying._rows_of(documents, checker)
    assert empty == [] and first["lines"] == [["X", 0], ["X", 2], ["Y", 1]]
    assert first["shown"] == {
        "sentence": "It is.", "claim": "X is.", "label": "supported",
        "evidence": "X: x0 X: x2 Y: y1", "support": 0.123457, "refutation": 0.5,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("judged", "shown"), [((("Y", 1), ("X", 0)), "Y: y1"), ((), "")], ids=["matched", "unmatched"]
)
def test_a_sentence_of_too_little_information_shows_its_best_line(monkeypatch, judged, shown):
    claim = SimpleNamespace(source="It is.", text="X is.")
    verdict = SimpleNamespace(
        evidence=(), lines=judged, label="not_enough_info", support=0.25, refutation=0.5
    )
    monkeypatch.setattr(
        "longform.critics.verifiability.read.text_verdicts", lambda *given: [[(claim, verdict)]]
    )
    checker = SimpleNamespace(pages={"X": ["x0"], "Y": ["y0", "y1"]})
    document = Document("a", "test", (Section(None, "It is."),))
    ((row,),) = verifying._rows_of([document], checker)
    assert (row["shown"]["evidence"], row["lines"]) == (shown, [])


@pytest.mark.parametrize(
    ("title", "text", "expected"),
    [
        ("anna berg", "Here Anna Berg sang.", "Anna Berg"),
        ("anna", "Annas sang to ANNA.", "ANNA"),
        ("anna", "She sang.", "Anna"),  # in the last section
        ("bert", "He sang.", "bert"),
        (None, "She sang.", None),
    ],
)
def test_a_title_is_written_as_in_its_text(title, text, expected):
    last = Section("end", "Anna berg.")
    titled = verifying._titled_as_written(Document("a", "test", (Section(title, text), last)))
    assert titled.sections == (Section(expected, text), last)


def test_a_text_is_measured_by_labels_and_lines(monkeypatch):
    given = []
    monkeypatch.setattr(verifying.CheckedText, "of", lambda *fields: given.append(fields))
    rows = [{"shown": {"label": "refuted"}, "lines": [["X", 1], ["Y", 0]]}]
    verifying._unit(document("a"), rows)
    assert given == [("a", "generated", [("refuted", frozenset({("X", 1), ("Y", 0)}))])]


def test_a_repeated_verdict_counts_once_where_measures_are_unique():
    labels = ("supported", "supported", "refuted")
    rows = [{"shown": {"label": label}, "lines": [["X", 1]]} for label in labels]
    found = verifying._scores([verifying._unit(document("a"), rows)])
    assert [round(30 * one.value) for one in found.values()] == [12, 20, 6, 15]


def test_a_measure_of_nothing_is_no_number_and_counts_all_texts_out(monkeypatch):
    def refuse(units):
        raise InputError("nothing")

    measures = {
        "A": SimpleNamespace(score=lambda units: ("scored", units)),
        "B": SimpleNamespace(score=refuse, better="higher", identity="sig"),
    }
    monkeypatch.setattr(verifying, "MEASURES", measures)
    found = verifying._scores(["u", "v"])
    assert found["A"] == ("scored", ["u", "v"])
    nothing = found["B"]
    assert all(math.isnan(value) for value in (nothing.value, nothing.low, nothing.high))
    assert (nothing.units, nothing.excluded) == (0, 2)
    assert (nothing.better, nothing.signature) == ("higher", "sig")


def test_pages_are_named_by_their_title_or_file(monkeypatch, tmp_path, capsys):
    texts = [
        Document("folder/Ulm.txt", "real", (Section(None, "It  is. \n It was."),)),
        Document("b", "real", (Section("Quen", "Yes."),)),
    ]
    sources = iter([Texts(tuple(texts)), Texts(tuple(texts), (("c.pdf", "no text"),))])
    monkeypatch.setattr(verifying, "read_texts", lambda source: next(sources))
    pages = [("Ulm", ["It is.", "It was."]), ("Quen", ["Yes."])]
    assert list(verifying._pages_of(tmp_path)) == pages and capsys.readouterr().err == ""
    assert list(verifying._pages_of(tmp_path)) == pages
    assert capsys.readouterr().err == "pages set aside, 1: c.pdf: no text\n"


@pytest.mark.parametrize("out", [True, False])
def test_all_systems_are_checked_and_what_was_stopped_is_taken_up(out, monkeypatch, tmp_path):
    from contextlib import contextmanager

    @contextmanager
    def opened(pages, judge):
        yield SimpleNamespace(pages="abc"), f"{judge} on {pages}", ["stamp"]

    row = {"shown": {
        "sentence": "s", "claim": "c", "label": "refuted", "evidence": "", "support": 0.0, "refutation": 1.0,
    }, "lines": []}  # fmt: skip
    so_far, saved, checked, told = tmp_path / "so_far", [], [], []
    verifying.append_lines(so_far, [{"system": "a", "id": "x", "sentences": [row]}])

    def check(system, documents, checker, done, path):
        checked.append((system, sorted(done), path))
        return [[row, row] for _ in documents]

    monkeypatch.setattr(verifying, "_systems", lambda texts: texts)
    monkeypatch.setattr(verifying, "_opened", opened)
    monkeypatch.setattr(verifying, "_plan", lambda systems, checker, name: name)
    monkeypatch.setattr(verifying, "_verdicts_so_far", lambda folder, systems, stamps: so_far)
    monkeypatch.setattr(verifying, "_checked", check)
    monkeypatch.setattr(verifying, "_scores", len)
    monkeypatch.setattr(verifying, "_save", lambda verification, folder: saved.append(folder))
    first = Texts((document("x"), document("y")), (("line 3", "no word in it"),))
    systems = {"a": first, "b": Texts((document("z"),))}
    folder = tmp_path / "out" if out else None
    found = verifying.verify(systems, "p", judge="j", out=folder, announce=told.append)
    done = ([("a", "x")], so_far) if out else ([], None)
    assert checked == [("a", *done), ("b", *done)] and told == ["j on p"]
    assert saved == ([folder] if out else []) and found.folder == folder
    assert found.scores == {"a": 2, "b": 1} and len(found.verdicts) == 6
    assert [(one.system, one.text) for one in found.verdicts[1::2]] == [
        ("a", "x"),
        ("a", "y"),
        ("b", "z"),
    ]
    assert (found.facts["pages"], found.facts["judge"]) == (3, "j on p")
    assert found.facts["set_aside"] == {"a": [("line 3", "no word in it")]}
    plan = verifying.plan_verification(systems, "p", judge="j")
    assert plan == "j on p"


def test_pages_are_named_by_title_or_file_and_those_of_one_title_are_one(tmp_path, capsys):
    (tmp_path / "b").mkdir()
    (tmp_path / "Dr._No_(film).txt").write_text("Dr. No is a film. It is old.")
    (tmp_path / "b" / "Dr. No (film).txt").write_text("It has a sequel.")
    one_page = ["Dr. No is a film.", "It is old.", "It has a sequel."]
    assert list(verifying._pages_of(tmp_path)) == [("Dr. No (film)", one_page)]
    rows = tmp_path / "pages.jsonl"
    rows.write_text('{"text": "A town."}\n{"id": "St. Louis", "text": "A city."}\n')
    assert list(verifying._pages_of(rows)) == [("St. Louis", ["A city."])]
    assert "1 page without a title, by which" in capsys.readouterr().err
    rows.write_text('{"text": "A town."}\n')
    refuses("1 page without a title", list, verifying._pages_of(rows))


def test_a_verification_of_no_system_is_refused():
    refuses("no texts; give those of at least one system", verifying.verify, {}, "p", judge="j")
