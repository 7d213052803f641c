"""The study's commands: what is analysed, made, exported and refused."""

import csv
import json
import sqlite3

import numpy as np
import pytest
from study_server import article, files, small_study

from longform.documents import Section
from longform_lab.study.__main__ import COLUMNS, analyse, main, read_export
from longform_lab.study.items import load_study, sections_study
from longform_lab.study.store import Store
from synthetic_world.simulated_annotators import Annotator, ChainRule, answer_rows
from tests.refusals import refuses

TYPES = ("one", "two")
RULE = ChainRule(TYPES, np.array([[1, 0, 0], [0, 0.9, 0.1], [0, 0, 1]], dtype=float), 0.05)
PEOPLE = [Annotator("ada", 0.05, 0.05), Annotator("ben", 0.1, 0.1), Annotator("cy", 0.05, 0.1),
          Annotator("lazy", 0.5, 0.5, 1.0)]  # fmt: skip
LONGEST_FIELD = 131_072  # of the csv module, unless a reader has lifted it
CLAIM = {"item_id": "a", "claim": "It rains.", "evidence": "It is dry."}
TWICE = (json.dumps(CLAIM) + "\n").encode() * 2


def rows():
    found = []
    for system, share in (("data", 0.9), ("gpt2-w title", 0.3)):
        chains = {
            f"{system}/{i}": ("one", "two") if i < 60 * share else ("two", "one") for i in range(60)
        }
        found += answer_rows(chains, rule=RULE, annotators=PEOPLE, system=system, seed=2, checks=8)
    return found


def write_csv(path, held):
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(held)
    return path


def test_an_export_is_analysed_and_says_what_was_planted(tmp_path, capsys):
    path = write_csv(tmp_path / "e.csv", rows())
    (tmp_path / "a").mkdir()
    assert main(["analyse", str(path), "--out", str(tmp_path / "a")]) == 0
    said = capsys.readouterr().out
    assert "set aside by the attention checks, with every answer: lazy" in said
    assert "SIMULATED" not in said
    table = analyse(read_export(path))[0]
    at = {(cell.row, cell.column): cell for cell in table.cells}
    for system, planted in (("data", 0.9), ("gpt2-w title", 0.3)):
        share = at[system, "coherent, articles resampled"]
        expected = planted * (1 - 0.25 / 3) + (1 - planted) * 0.25 / 3
        assert share.low < share.value < share.high and share.units == 60
        assert abs(share.value - expected) < 4 * np.sqrt(expected * (1 - expected) / 180)
    effect = at["gpt2-w title minus data", "logit"]
    assert effect.high < 0 and effect.p_value is None
    tested = at["gpt2-w title minus data", "share, articles exchanged"]
    one, other = (
        at[system, "coherent, articles resampled"].value for system in ("gpt2-w title", "data")
    )
    assert tested.value == pytest.approx(one - other) and tested.p_value < 0.001
    written = {
        f"{name}.{kind}" for name in ("human_study", "organisations") for kind in ("csv", "md")
    }
    assert {p.name for p in (tmp_path / "a").iterdir()} == written


def test_other_files_and_an_output_that_is_a_file_are_refused_by_name(tmp_path, capsys):
    claims = [row | {"question": "label", "answer": "refuted"} for row in rows()[:1]]
    write_csv(tmp_path / "claims.csv", claims)
    write_csv(tmp_path / "mark.csv", [row | {"last": "WAHR"} for row in rows()])
    held = {"empty.csv": b"", "other.csv": b"a,b\n1,2\n", "broken.jsonl": b"{\n", "list.jsonl": b"[1]\n",
            "bytes.csv": b"\xff\xfe\x00"}  # fmt: skip
    for name, content in held.items():
        (tmp_path / name).write_bytes(content)
    said = {"claims.csv": "only studies of sections", "mark.csv": "row 1: last is 'WAHR'", "empty.csv": "no row",
            "other.csv": "rows without"}  # fmt: skip
    for name in said.keys() | held.keys():
        assert main(["analyse", str(tmp_path / name)]) == 2
        assert said.get(name, "not an export") in capsys.readouterr().err
    refuses("not an export", read_export, tmp_path / "absent.csv")
    export = str(write_csv(tmp_path / "e.csv", rows()))
    refused(capsys, main(["analyse", export, "--out", export]), "e.csv: cannot be written")


@pytest.mark.parametrize("word", [str.upper, pytest.param(str.lower, marks=pytest.mark.long)])
def test_an_export_saved_by_a_spreadsheet_says_the_same(tmp_path, word):
    marked = [row | {name: word(str(row[name])) for name in ("check", "last")} for row in rows()]
    saved = write_csv(tmp_path / "saved.csv", marked)
    saved.write_bytes(b"\xef\xbb\xbf" + saved.read_bytes())
    both = [analyse(read_export(path)) for path in (saved, write_csv(tmp_path / "e.csv", rows()))]
    assert [t.markdown() for t in both[0]] == [t.markdown() for t in both[1]]


def corpus(path, count=6, **changes):
    path.write_text(
        "".join(
            json.dumps(article(f"d{i}", "train", **changes).to_record()) + "\n"
            for i in range(count)
        )
    )
    return path


def make(folder, *more, train=None, system=None, out="s.json"):
    train = train or corpus(folder / "a.jsonl")
    given = [
        "--train",
        str(train),
        "--system",
        f"data={system or train}",
        "--out",
        str(folder / out),
    ]
    return main(["make", "sections", "--name", "x", *given, *more])


def claims(folder, name, held):
    (folder / name).write_bytes(held)
    return main(
        [
            "make",
            "claim",
            "--name",
            "x",
            "--sheet",
            str(folder / name),
            "--out",
            str(folder / "s.json"),
        ]
    )


def refused(capsys, code, *words):
    said = capsys.readouterr().err
    assert code == 2 and said.startswith("study: ") and said.count("\n") == 1
    assert all(word in said for word in words), said


def test_no_training_article_is_tested_under_any_name_or_order(tmp_path):
    assert make(tmp_path, "--articles", "4") == 0
    bodies = {phase: [] for phase in ("training", "testing")}
    for item in load_study(tmp_path / "s.json").items:
        if not item.check:
            bodies[item.phase].append(item.body["sections"])
    assert len(bodies["training"]) == 4 and len(bodies["testing"]) == 2
    assert not [texts for texts in bodies["testing"] if texts in bodies["training"]]
    real, other = article("a", "train"), article("c", "test")
    shuffled = type(real)(
        "b", "generated", tuple(Section(None, s.text) for s in real.sections[::-1])
    )
    study = sections_study([real], {"lm": [shuffled, other]}, name="x", per_system=5, seed=1)
    assert [item.id for item in study.items if item.source == "lm"] == ["testing/lm/c"]


def test_a_broken_corpus_is_named_with_its_line_and_a_repeated_article(tmp_path, capsys):
    whole, broken = corpus(tmp_path / "a.jsonl"), tmp_path / "b.jsonl"
    for line in (b"{\n", b'{"id": "\xe9"}\n', b"[1]\n"):
        broken.write_bytes(whole.read_bytes() + line)
        for sides in ({"train": broken, "system": whole}, {"train": whole, "system": broken}):
            refused(capsys, make(tmp_path, **sides), "b.jsonl:7: ")
    broken.write_text((json.dumps(article("d", "test").to_record()) + "\n") * 2)
    refused(capsys, make(tmp_path, system=broken), "the id 'd'")
    assert not (tmp_path / "s.json").exists()


@pytest.mark.parametrize(("name", "held", "why"),
                         [("latin.csv", "item_id,claim,evidence\na,Ça va,é\n".encode("latin-1"), "latin.csv:2: "),
                          ("latin.jsonl", b'{}\n{"claim": "\xe9"}\n', "latin.jsonl:2: "),
                          ("list.jsonl", b"{}\n[1]\n", "list.jsonl:2: "),
                          ("broken.jsonl", b"{}\n{\n", "broken.jsonl:2: "),
                          ("long.csv", b"item_id,claim,evidence\n" + b"a" * (LONGEST_FIELD + 1),
                           "long.csv:2: "),
                          ("e.jsonl", b"", "no item"), ("e.csv", b"", "no item"), ("twice.jsonl", TWICE, "'a'"),
                          ("half.jsonl", json.dumps(CLAIM | {"claim": "\ud800"}).encode(), "surrogate")])  # fmt: skip
def test_a_broken_sheet_is_named_with_its_line(tmp_path, capsys, name, held, why):
    refused(capsys, claims(tmp_path, name, held), why)
    assert not (tmp_path / "s.json").exists()


def test_a_sheet_may_have_a_byte_order_mark_and_line_separators(tmp_path):
    held = json.dumps(CLAIM | {"claim": "one\u2028two"}, ensure_ascii=False) + "\n"
    assert claims(tmp_path, "s.jsonl", held.encode("utf-8-sig")) == 0
    assert load_study(tmp_path / "s.json").items[0].body["claim"] == "one\u2028two"
    for mark in ";\t":  # a table may be cut by them
        held = f"item_id{mark}claim{mark}evidence\na{mark}one, two{mark}three\n"
        assert claims(tmp_path, "s.csv", held.encode("utf-8-sig")) == 0
        assert load_study(tmp_path / "s.json").items[0].body == {
            "claim": "one, two",
            "evidence": "three",
        }


@pytest.mark.parametrize(("option", "value", "why"),
                         [*(("--articles", number, "has 6 training articles") for number in ("-3", "0", "7")),
                          ("--per-system", "0", "1 or more"), ("--per-system", "-1", "1 or more"),
                          ("--system", "data=b", "'data' is given twice"), ("--system", "b", "NAME=FOLDER")])  # fmt: skip
def test_numbers_systems_and_outputs_that_cannot_be_are_refused(
    tmp_path, capsys, option, value, why
):
    refused(capsys, make(tmp_path, option, value), why)
    for out in ("a.jsonl/s.json", "."):
        refused(capsys, make(tmp_path, out=out), "cannot be written")
    assert not (tmp_path / "s.json").exists()


def test_an_export_needs_a_database_and_a_known_kind_of_file(tmp_path, capsys):
    small_study().save(tmp_path / "s.json")
    Store(tmp_path / "a.sqlite").close()
    with sqlite3.connect(tmp_path / "other.sqlite") as held:
        held.execute("CREATE TABLE holidays (day TEXT)")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    for answers, out, words in (("typo.sqlite", "e.csv", ["typo.sqlite: no such file"]),
                                ("a.sqlite", "e.xlsx", [".jsonl"]), ("a.sqlite", "e", [".jsonl"]),
                                ("other.sqlite", "e.csv", ["holidays", "name another file"])):  # fmt: skip
        refused(
            capsys,
            main(["export", *files(tmp_path, answers), "--out", str(tmp_path / out)]),
            *words,
        )
    refused(capsys, main(["invite", *files(tmp_path, "other.sqlite"), "ada"]), "holidays")
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_the_command_line_makes_invites_all_or_none_and_exports(tmp_path, capsys):
    assert make(tmp_path, "--articles", "2") == 0
    given = files(tmp_path)
    assert main(["invite", *given, "ada", "ben"]) == 0
    assert capsys.readouterr().out.count("http://127.0.0.1:8000/enter/") == 2
    for labels in (["ada"], ["cyd", "ada"], ["cyd", "cyd"]):
        assert main(["invite", *given, *labels]) == 2 and capsys.readouterr().out == ""
    assert main(["invite", *given, "--host", "https://study.example/", "cyd"]) == 0
    assert "cyd: https://study.example/enter/" in capsys.readouterr().out
    assert main(["export", *given, "--out", str(tmp_path / "e.csv")]) == 0
    assert (tmp_path / "e.csv").read_text().startswith("annotator,item,source")
    (tmp_path / "junk.sqlite").write_bytes(b"junk" * 1000)
    assert main(["invite", *files(tmp_path, "junk.sqlite"), "z"]) == 2
    assert main(["serve", *files(tmp_path / "none")]) == 2
