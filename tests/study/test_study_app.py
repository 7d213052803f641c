"""The study's server (tokens, refusals, order, what is stored) and who withdraws."""

import re
from contextlib import closing

import httpx
import pytest
from fastapi.testclient import TestClient
from study_server import HOSTILE, Server, article, files, small_study

from longform_lab.study.__main__ import exported, main
from longform_lab.study.app import create_app, stamp
from longform_lab.study.items import Item, load_study, needed, questions, rows_study, sections_study
from longform_lab.study.store import Store
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
        return self.study.order(self.token)[
            int(re.search(r'name="item" value="([^"]+)"', self.page())[1])
        ]

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
    assert "I agree" in visitor.page() and f'value="{stamp(visitor.token)}"' in visitor.page()
    assert len(stamp(visitor.token)) == 32  # 128 bits
    item = visitor.study.items[0]
    assert visitor.answer(item).status_code == 403 and store.answers() == []
    visitor.post("/consent", {})
    assert "Section 1" in visitor.page()


def test_an_item_of_thousands_of_digits_is_refused_like_any_other(visitor, store):
    for place in ("9" * 5000, "0" * 5000, "-1", "٣" * 400, "1.0", ""):
        assert visitor.post("/answer", {"item": place}).status_code == 403
        assert visitor.post("/draft", {"item": place}).status_code == 403
    assert store.answers() == []


def test_a_length_of_thousands_of_digits_is_refused_like_any_other(visitor, store):
    for length in ("9" * 5000, "\xb2", "-1", "1.0", ""):
        header = {"content-length": length.encode("latin-1")}
        assert visitor.post("/answer", {"item": "0"}, **header).status_code == 403
    assert store.answers() == []


def test_testing_items_are_taken_after_training_alone(visitor, store):
    testing = next(item for item in visitor.study.order(visitor.token) if item.phase == "testing")
    assert visitor.answer(testing).status_code == 403
    assert visitor.post("/draft", {"item": visitor.place(testing)}).status_code == 403
    assert store.answers() == [] and store.drafted(visitor.token, testing.id) == {}
    while visitor.item().phase == "training":
        visitor.answer(visitor.item())
    assert visitor.answer(testing).status_code == 200
    assert [one["item"] for one in store.answers()][-1] == testing.id


def test_another_persons_link_changes_who_answers_only_when_told(visitor, store):
    other = store.invite_all(["ben"])["ben"]
    page = visitor.client.get(f"/enter/{other}").text
    assert "in use by somebody" in page and visitor.client.cookies["study"] == visitor.token
    visitor.client.get(re.search(r'href="(/enter/[^"]+)"', page)[1])
    assert visitor.client.cookies["study"] == other
    assert "in use" not in visitor.client.get(f"/enter/{other}").text


def test_a_full_disk_is_said_to_who_answers_and_who_serves(visitor, store, capfd):
    (pages,) = store._database.execute("PRAGMA page_count").fetchone()
    store._database.execute(f"PRAGMA max_page_count = {pages}")  # SQLite's own error of a full disk
    first = visitor.study.order(visitor.token)[0]
    statuses = []
    while 507 not in statuses and len(statuses) < 300:
        statuses.append(
            visitor.answer(first, section_0=("result", "method")[len(statuses) % 2]).status_code
        )
    assert statuses[-1] == 507
    kept = len(store.answers())
    assert "could not be kept" in visitor.answer(first).text and len(store.answers()) == kept
    assert "longform: an answer was not kept (database or disk is full)" in capfd.readouterr().err
    store._database.execute(f"PRAGMA max_page_count = {pages + 100}")
    assert visitor.answer(first).status_code == 200 and len(store.answers()) == kept + 1


def test_training_comes_in_order_then_testing_until_all_is_done(visitor, store):
    seen = []
    while "You are done" not in visitor.page():
        assert f"</progress> {len(seen) + 1} of 5</p>" in visitor.page()
        seen.append(visitor.item())
        assert visitor.answer(seen[-1]).status_code == 200
    assert [item.phase for item in seen] == ["training"] * 2 + ["testing"] * 3
    assert {item.id for item in seen} == {item.id for item in visitor.study.items}
    assert all(one["last"] for one in store.answers()) and len(store.answers()) == 5


def test_a_post_sent_twice_is_stored_once_and_a_changed_mind_is_kept(visitor, store):
    item = visitor.item()
    for _ in range(2):  # a double click
        assert visitor.answer(item, action="verify").status_code == 200
    assert len(store.answers()) == 1
    for _ in range(2):
        assert visitor.answer(item).status_code == 200
    assert [one["last"] for one in store.answers()] == [False, True]
    for section in ("result", "method", "result", "result"):
        visitor.answer(item, section_0=section)
    assert [one["last"] for one in store.answers()] == [False] * 4 + [True]


def test_verify_shows_gold_and_finishes_no_item(visitor, store):
    item = visitor.item()
    assert "Gold:" not in visitor.page()
    page = visitor.answer(
        item, action="verify", section_0="introduction", section_1="result", section_2="result"
    ).text
    assert "Gold: method" in page and page.count('class="right"') == 2
    assert visitor.item() == item and not store.answers()[0]["last"]
    kept = visitor.post("/draft", {"item": visitor.place(item), "section_1": "result"})
    assert (kept.status_code, kept.json()) == (200, {"kept": True})
    assert "Gold: method" in visitor.page()
    visitor.answer(item)
    assert [one["last"] for one in store.answers()] == [False, True] and visitor.item() != item


def test_no_page_tells_where_a_text_is_from(store):
    training = [article("train", "train", text="T")]
    systems = {
        "data": [article("real-1", "test", text="R")],
        "gpt2-large": [article("made-1", "generated", text="G")],
    }
    visitor = Visitor(
        store, sections_study(training, systems, name="blind", per_system=1, seed=1), "ada"
    )
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


def test_foreign_posts_are_refused_and_incomplete_answers_are_drafts(visitor, store):
    place = {"item": visitor.place(visitor.item())}
    for other in (
        {"Origin": "http://evil.example"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ):
        assert visitor.post("/answer", place, **other).status_code == 403
    for own in ("http://127.0.0.1", "127.0.0.1"):
        assert visitor.post("/draft", place, Origin=own).status_code == 200
    assert visitor.client.get("/", headers={"Host": "evil.example"}).status_code == 400
    assert visitor.post("/answer", {"item": "x" * 2_000_000}).status_code == 403
    for place in ("none", "-1", "5", "²", ""):
        assert visitor.post("/answer", {"item": place}).status_code == 403
    item = visitor.item()
    visitor.post(
        "/answer",
        {"item": visitor.place(item), **{f"section_{i}": "<b>made up</b>" for i in range(3)}},
    )
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
    assert "<script>document" not in shown
    assert "&lt;script&gt;" in shown
    assert "\x07" not in shown
    assert "␇" in shown
    assert pages["testing/lm/g0"].count("word ") >= 40_000


def test_pages_carry_a_policy_that_runs_no_script_but_ours(visitor):
    headers = visitor.client.get("/").headers
    assert "script-src 'self'" in headers["content-security-policy"]
    assert headers["x-frame-options"] == "DENY"
    cookie = TestClient(visitor.client.app, base_url="http://127.0.0.1", follow_redirects=False)
    told = cookie.get(f"/enter/{visitor.token}").headers["set-cookie"].lower()
    assert "httponly" in told and "samesite=lax" in told and "secure" not in told
    safe = TestClient(visitor.client.app, base_url="https://127.0.0.1", follow_redirects=False)
    assert "; secure" in safe.get(f"/enter/{visitor.token}").headers["set-cookie"].lower()


@pytest.mark.long  # it starts a server and kills it; test_items_and_store_by_hand.py has what is on disk by then
def test_an_acknowledged_answer_survives_sigkill(tmp_path):
    server = Server(tmp_path)
    link = server.invite("ada")
    with httpx.Client(base_url=server.url, follow_redirects=True) as client:
        client.get(link)
        token = link.rsplit("/", 1)[1]
        client.post("/consent", data={"form": stamp(token)})
        item = load_study(server.study).items[0]
        fields = {name: allowed[0] for name, allowed in questions(item)}
        assert (
            client.post("/answer", data={"form": stamp(token), "item": 0, **fields}).status_code
            == 200
        )
    server.kill()
    assert [one["answer"] for one in server.stored()] == [fields]
    server.start()
    with httpx.Client(base_url=server.url, follow_redirects=True) as client:
        assert "2 of 5" in client.get(link).text
    server.kill()


def test_the_export_has_a_row_a_question_and_the_last_answer_marked(tmp_path, visitor, store):
    item = visitor.item()
    visitor.answer(item, action="verify")
    visitor.answer(item, section_0="result")
    rows = exported(visitor.study, store)
    assert len(rows) == 6 and [row["last"] for row in rows] == [False] * 3 + [True] * 3
    assert rows[3]["answer"] == "result"
    assert rows[3]["gold"] == "introduction"
    assert rows[3]["annotator"] == "ada"


def test_who_withdraws_is_forgotten_and_the_others_stay(tmp_path, capsys):
    small_study().save(tmp_path / "s.json")
    store = Store(tmp_path / "a.sqlite")
    ada, ben = (Visitor(store, small_study(), label) for label in ("ada", "ben"))
    for one in (ada, ben):
        one.answer(one.item(), section_0="method")
        one.post("/draft", {"item": 1, "section_1": "result"})
    assert main(["withdraw", *files(tmp_path), "ada", "zoe"]) == 2
    assert "['zoe']" in capsys.readouterr().err
    assert len(store.answers()) == 2
    assert main(["withdraw", *files(tmp_path), "ada"]) == 0
    assert "ada: 1 answers deleted" in capsys.readouterr().out
    assert {one["annotator"] for one in store.answers()} == {"ben"}
    assert ada.client.get("/").status_code == 403 and ben.client.get("/").status_code == 200
    assert (
        store.drafted(ada.token, ada.study.items[1].id)
        == {}
        != store.drafted(ben.token, ben.study.items[1].id)
    )
    held = b"".join(path.read_bytes() for path in tmp_path.glob("a.sqlite*"))
    assert ada.token.encode() not in held and ben.token.encode() in held
    store.close()


def test_bad_studies_are_named_and_power_matches_the_textbook(tmp_path):
    (tmp_path / "s.json").write_text('{"name": "x"}')
    refuses("not a study", load_study, tmp_path / "s.json")
    refuses("row 0", rows_study, [{"item_id": "a", "claim": "b"}], name="x", kind="claim")
    assert questions(Item("a", "claim", "testing", {}, ("x", "y"))) == [("label", ("x", "y"))]
    # the usual worked example: 5 %, two sides, power 0.8, no continuity correction
    assert needed(0.6, 0.7) == 356
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
