"""The study's server (tokens, refusals, order, what is stored) and its commands: making, sheets, exports, and their analysis."""

import csv
import json
import re
import sqlite3
from contextlib import closing

import httpx
import numpy as np
import pytest
from fastapi.testclient import TestClient
from study_server import HOSTILE, Server, article, small_study

from longform.core.documents import Section
from longform.evaluation.simulated_annotators import Annotator, ChainRule, answer_rows
from longform.study.__main__ import COLUMNS, analyse, exported, main, read_export
from longform.study.app import create_app, stamp
from longform.study.items import Item, load_study, needed, questions, rows_study, sections_study
from longform.study.store import Store
from tests.refusals import refuses


class Visitor:
    """One annotator's browser without scripts."""

    def __init__(self, store, study, label, consents=True):
        self.token, self.study = store.invite_all([label])[label], study
        self.client = TestClient(create_app(study, store), base_url="http://127.0.0.1")
        self.client.get(f"/enter/{self.token}")
        if consents:
            self.post("/consent", {})

    def post(self, path, fields, **headers):
        return self.client.post(path, data={"form": stamp(self.token), **fields}, headers=headers)

    def page(self):
        return self.client.get("/").text

    def item(self):
        return self.study.order(self.token)[int(re.search(r'name="item" value="([^"]+)"', self.page())[1])]

    def place(self, item):
        return self.study.order(self.token).index(item)

    def answer(self, item, action="submit", **changes):
        fields = {name: allowed[0] for name, allowed in questions(item)} | changes
        return self.post("/answer", {"item": self.place(item), "action": action, **fields})


@pytest.fixture
def store(tmp_path):
    with closing(Store(tmp_path / "answers.sqlite")) as made:
        yield made


@pytest.fixture
def visitor(store):
    return Visitor(store, small_study(), "ada")


def test_without_a_known_token_or_consent_nothing_is_shown_or_taken(store):
    client = TestClient(create_app(small_study(), store), base_url="http://127.0.0.1")
    assert client.get("/").status_code == client.get("/enter/nobody").status_code == 403
    for path in ("/answer", "/consent", "/draft"):
        assert client.post(path, data={"form": stamp("nobody"), "item": "x"}).status_code == 403
    assert store.answers() == []
    visitor = Visitor(store, small_study(), "ada", consents=False)
    assert visitor.post("/draft", {"item": 0}).status_code == 403
    assert "I agree" in visitor.page()
    item = visitor.study.items[0]
    assert visitor.answer(item).status_code == 403 and store.answers() == []
    visitor.post("/consent", {})
    assert "Section 1" in visitor.page()


def test_training_comes_in_order_then_testing_until_all_is_done(visitor, store):
    seen = []
    while "You are done" not in visitor.page():
        seen.append(visitor.item())
        assert visitor.answer(seen[-1]).status_code == 200
    assert [item.phase for item in seen] == ["training"] * 2 + ["testing"] * 3
    assert {item.id for item in seen} == {item.id for item in visitor.study.items}
    assert all(one["last"] for one in store.answers()) and len(store.answers()) == 5


def test_verify_shows_gold_finishes_no_item_and_is_not_hidden_by_a_late_draft(visitor, store):
    item = visitor.item()
    assert "Gold:" not in visitor.page()
    page = visitor.answer(item, action="verify", section_0="introduction", section_1="result", section_2="result").text
    assert "Gold: method" in page and page.count('class="right"') == 2
    assert visitor.item() == item and not store.answers()[0]["last"]
    visitor.post("/draft", {"item": visitor.place(item), "section_1": "result"})
    assert "Gold: method" in visitor.page()
    visitor.answer(item)
    assert [one["last"] for one in store.answers()] == [False, True] and visitor.item() != item


def test_no_page_tells_where_a_text_is_from(store):
    training = [article("train", "train", text="T")]
    systems = {"data": [article("real-1", "test", text="R")], "gpt2-large": [article("made-1", "generated", text="G")]}
    visitor = Visitor(store, sections_study(training, systems, name="blind", per_system=1, seed=1), "ada")
    hidden = ("gpt2", "made-1", "real-1", "data", "check/", "testing/")
    while "You are done" not in (page := visitor.page()):
        item = visitor.item()
        if item.phase == "testing":  # no gold there, not even by verifying a training item again
            page += visitor.answer(visitor.study.items[0], action="verify").text
            assert visitor.item() == item and "Gold:" not in page and "Verify" not in page
        assert not [word for word in hidden if word in page]
        visitor.answer(item, action="verify" if item.phase == "testing" else "submit")


def test_two_annotators_do_not_mix_and_have_their_own_orders(store):
    study = small_study()
    rows = [{"item_id": f"p{i}", "left": "a", "right": "b"} for i in range(40)]
    pairs = rows_study(rows, name="pairs", kind="pair")
    ada, ben = (Visitor(store, study, label) for label in ("ada", "ben"))
    first = ada.item()
    ada.answer(first)
    ben.post("/draft", {"item": ben.place(first), "section_0": "result"})
    assert ben.item() == first and ada.item() != first
    assert {one["annotator"] for one in store.answers()} == {"ada"}
    assert pairs.order("ada") != pairs.order("ben") and pairs.order("ada") == pairs.order("ada")
    taken = ben.client.post("/answer", data={"form": stamp(ada.token), "item": ben.place(first)})
    assert taken.status_code == 403  # another annotator's form


def test_bad_posts_and_those_from_other_sites_are_refused_and_incomplete_answers_kept_as_drafts(visitor, store):
    place = {"item": visitor.place(visitor.item())}
    for other in ({"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}):
        assert visitor.post("/answer", place, **other).status_code == 403
    assert visitor.client.get("/", headers={"Host": "evil.example"}).status_code == 400
    assert visitor.post("/answer", {"item": "x" * 2_000_000}).status_code == 403
    for place in ("none", "-1", "5", "²", ""):
        assert visitor.post("/answer", {"item": place}).status_code == 403
    item = visitor.item()
    visitor.post("/answer", {"item": visitor.place(item), **{f"section_{i}": "<b>made up</b>" for i in range(3)}})
    assert store.answers() == []
    page = visitor.post("/answer", {"item": visitor.place(item), "section_0": "method"}).text
    assert store.answers() == [] and '<option value="method" selected>' in page


def test_hostile_text_is_shown_as_text_and_stored_exactly(tmp_path, store):
    study = small_study((HOSTILE, "word " * 20_000))
    study.save(tmp_path / "study.json")
    again = load_study(tmp_path / "study.json")
    assert again == study and again.item("testing/data/d0").body["sections"][0] == HOSTILE
    visitor = Visitor(store, again, "ada")
    pages = {}
    while "You are done" not in (page := visitor.page()):
        item = visitor.item()
        pages[item.id] = page
        visitor.answer(item)
    shown = pages["testing/data/d0"]
    assert "<script>document" not in shown and "&lt;script&gt;" in shown and "\x07" not in shown and "␇" in shown
    assert pages["testing/lm/g0"].count("word ") >= 40_000


def test_pages_carry_a_policy_that_runs_no_script_but_ours(visitor):
    headers = visitor.client.get("/").headers
    assert "script-src 'self'" in headers["content-security-policy"] and headers["x-frame-options"] == "DENY"
    cookie = TestClient(visitor.client.app, base_url="http://127.0.0.1", follow_redirects=False)
    told = cookie.get(f"/enter/{visitor.token}").headers["set-cookie"].lower()
    assert "httponly" in told and "samesite=lax" in told and "secure" not in told
    safe = TestClient(visitor.client.app, base_url="https://127.0.0.1", follow_redirects=False)
    assert "; secure" in safe.get(f"/enter/{visitor.token}").headers["set-cookie"].lower()


def test_an_acknowledged_answer_survives_sigkill(tmp_path):
    server = Server(tmp_path)
    link = server.invite("ada")
    with httpx.Client(base_url=server.url, follow_redirects=True) as client:
        client.get(link)
        token = link.rsplit("/", 1)[1]
        client.post("/consent", data={"form": stamp(token)})
        item = load_study(server.study).items[0]
        fields = {name: allowed[0] for name, allowed in questions(item)}
        assert client.post("/answer", data={"form": stamp(token), "item": 0, **fields}).status_code == 200
    server.kill()
    assert [one["answer"] for one in server.stored()] == [fields]
    server.start()
    with httpx.Client(base_url=server.url, follow_redirects=True) as client:
        assert "2 of 5" in client.get(link).text
    server.kill()


def test_the_export_has_a_row_per_question_with_gold_and_the_last_answer_marked(tmp_path, visitor, store):
    item = visitor.item()
    visitor.answer(item, action="verify")
    visitor.answer(item, section_0="result")
    rows = exported(visitor.study, store)
    assert len(rows) == 6 and [row["last"] for row in rows] == [False] * 3 + [True] * 3
    assert rows[3]["answer"] == "result" and rows[3]["gold"] == "introduction" and rows[3]["annotator"] == "ada"


def test_who_withdraws_is_forgotten_and_the_others_stay(tmp_path, capsys):
    small_study().save(tmp_path / "s.json")
    store = Store(tmp_path / "a.sqlite")
    ada, ben = (Visitor(store, small_study(), label) for label in ("ada", "ben"))
    for one in (ada, ben):
        one.answer(one.item(), section_0="method")
        one.post("/draft", {"item": 1, "section_1": "result"})
    assert main(["withdraw", *files(tmp_path), "ada", "zoe"]) == 2 and "['zoe']" in capsys.readouterr().err
    assert len(store.answers()) == 2
    assert main(["withdraw", *files(tmp_path), "ada"]) == 0 and "ada: 1 answers deleted" in capsys.readouterr().out
    assert {one["annotator"] for one in store.answers()} == {"ben"}
    assert ada.client.get("/").status_code == 403 and ben.client.get("/").status_code == 200
    assert store.drafted(ada.token, ada.study.items[1].id) == {} != store.drafted(ben.token, ben.study.items[1].id)
    held = b"".join(path.read_bytes() for path in tmp_path.glob("a.sqlite*"))
    assert ada.token.encode() not in held and ben.token.encode() in held
    store.close()


def test_bad_studies_are_named_and_power_matches_the_textbook(tmp_path):
    (tmp_path / "s.json").write_text('{"name": "x"}')
    refuses("not a study", load_study, tmp_path / "s.json")
    refuses("row 0", rows_study, [{"item_id": "a", "claim": "b"}], name="x", kind="claim")
    assert questions(Item("a", "claim", "testing", {}, ("x", "y"))) == [("label", ("x", "y"))]
    assert needed(0.6, 0.7) == 356  # the usual worked example: 5 %, two sides, power 0.8, no continuity correction
    refuses("two different shares", needed, 0.5, 0.5)


def test_serving_on_every_address_wants_the_name_that_annotators_use(tmp_path, capsys, monkeypatch):
    import uvicorn

    served = []
    monkeypatch.setattr(uvicorn, "run", lambda app, **_: served.append(app))
    small_study().save(tmp_path / "s.json")
    everywhere = [*files(tmp_path), "--host", "0.0.0.0"]
    assert main(["serve", *everywhere]) == 2
    assert "add --name" in capsys.readouterr().err and not served
    assert main(["serve", *everywhere, "--name", "lab-machine"]) == 0
    with TestClient(served[0], base_url="http://lab-machine:8000") as client:
        assert client.get("/").status_code != 400
        assert client.get("/", headers={"host": "elsewhere"}).status_code == 400


TYPES = ("one", "two")
RULE = ChainRule(TYPES, np.array([[1, 0, 0], [0, 0.9, 0.1], [0, 0, 1]], dtype=float), 0.05)
PEOPLE = [Annotator("ada", 0.05, 0.05), Annotator("ben", 0.1, 0.1), Annotator("cy", 0.05, 0.1),
          Annotator("lazy", 0.5, 0.5, 1.0)]  # fmt: skip


def rows():
    found = []
    for system, share in (("data", 0.9), ("gpt2-w title", 0.3)):
        chains = {f"{system}/{i}": ("one", "two") if i < 60 * share else ("two", "one") for i in range(60)}
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
    assert main(["analyse", str(path), "--out", str(tmp_path / "a")]) == 0
    said = capsys.readouterr().out
    assert "set aside by the attention checks, with every answer: lazy" in said and "SIMULATED" not in said
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
    one, other = (at[system, "coherent, articles resampled"].value for system in ("gpt2-w title", "data"))
    assert tested.value == pytest.approx(one - other) and tested.p_value < 0.001
    written = {f"{name}.{kind}" for name in ("human_study", "organisations") for kind in ("csv", "md")}
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


@pytest.mark.parametrize("word", [str.upper, str.lower])
def test_an_export_saved_by_a_spreadsheet_says_the_same(tmp_path, word):
    marked = [row | {name: word(str(row[name])) for name in ("check", "last")} for row in rows()]
    saved = write_csv(tmp_path / "saved.csv", marked)
    saved.write_bytes(b"\xef\xbb\xbf" + saved.read_bytes())
    both = [analyse(read_export(path)) for path in (saved, write_csv(tmp_path / "e.csv", rows()))]
    assert [t.markdown() for t in both[0]] == [t.markdown() for t in both[1]]


CLAIM = {"item_id": "a", "claim": "It rains.", "evidence": "It is dry."}


def corpus(path, count=6, **changes):
    path.write_text("".join(json.dumps(article(f"d{i}", "train", **changes).to_record()) + "\n" for i in range(count)))
    return path


def make(folder, *more, train=None, system=None, out="s.json"):
    train = train or corpus(folder / "a.jsonl")
    given = ["--train", str(train), "--system", f"data={system or train}", "--out", str(folder / out)]
    return main(["make", "sections", "--name", "x", *given, *more])


def claims(folder, name, held):
    (folder / name).write_bytes(held)
    return main(["make", "claim", "--name", "x", "--sheet", str(folder / name), "--out", str(folder / "s.json")])


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
    shuffled = type(real)("b", "generated", tuple(Section(None, s.text) for s in real.sections[::-1]))
    study = sections_study([real], {"lm": [shuffled, other]}, name="x", per_system=5, seed=1)
    assert [item.id for item in study.items if item.source == "lm"] == ["testing/lm/c"]


def test_a_broken_corpus_is_named_with_its_line_and_an_article_that_comes_twice(tmp_path, capsys):
    whole, broken = corpus(tmp_path / "a.jsonl"), tmp_path / "b.jsonl"
    for line in (b"{\n", b'{"id": "\xe9"}\n', b"[1]\n"):
        broken.write_bytes(whole.read_bytes() + line)
        for sides in ({"train": broken, "system": whole}, {"train": whole, "system": broken}):
            refused(capsys, make(tmp_path, **sides), "b.jsonl:7: ")
    broken.write_text((json.dumps(article("d", "test").to_record()) + "\n") * 2)
    refused(capsys, make(tmp_path, system=broken), "testing/data/d")
    assert not (tmp_path / "s.json").exists()


TWICE = (json.dumps(CLAIM) + "\n").encode() * 2


@pytest.mark.parametrize(("name", "held", "why"),
                         [("latin.csv", "item_id,claim,evidence\na,Ça va,é\n".encode("latin-1"), "latin.csv:2: "),
                          ("latin.jsonl", b'{}\n{"claim": "\xe9"}\n', "latin.jsonl:2: "),
                          ("list.jsonl", b"{}\n[1]\n", "list.jsonl:2: "),
                          ("broken.jsonl", b"{}\n{\n", "broken.jsonl:2: "),
                          ("long.csv", b"item_id,claim,evidence\n" + b"a" * (csv.field_size_limit() + 1),
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
        assert load_study(tmp_path / "s.json").items[0].body == {"claim": "one, two", "evidence": "three"}


@pytest.mark.parametrize(("option", "value", "why"),
                         [*(("--articles", number, "has 6 training articles") for number in ("-3", "0", "7")),
                          ("--per-system", "0", "1 or more"), ("--per-system", "-1", "1 or more"),
                          ("--system", "data=b", "'data' is given twice"), ("--system", "b", "NAME=FOLDER")])  # fmt: skip
def test_numbers_systems_and_outputs_that_cannot_be_are_refused(tmp_path, capsys, option, value, why):
    refused(capsys, make(tmp_path, option, value), why)
    for out in ("a.jsonl/s.json", "."):
        refused(capsys, make(tmp_path, out=out), "cannot be written")
    assert not (tmp_path / "s.json").exists()


def files(folder, answers="a.sqlite"):
    return ["--study", str(folder / "s.json"), "--answers", str(folder / answers)]


def test_an_export_needs_a_database_of_its_own_and_a_kind_of_file_that_it_writes(tmp_path, capsys):
    small_study().save(tmp_path / "s.json")
    Store(tmp_path / "a.sqlite").close()
    with sqlite3.connect(tmp_path / "other.sqlite") as held:
        held.execute("CREATE TABLE holidays (day TEXT)")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    for answers, out, words in (("typo.sqlite", "e.csv", ["typo.sqlite: no such file"]),
                                ("a.sqlite", "e.xlsx", [".jsonl"]), ("a.sqlite", "e", [".jsonl"]),
                                ("other.sqlite", "e.csv", ["holidays", "name another file"])):  # fmt: skip
        refused(capsys, main(["export", *files(tmp_path, answers), "--out", str(tmp_path / out)]), *words)
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
