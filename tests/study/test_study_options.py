"""What each verb of the study takes for granted, and what it demands."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from longform_lab.study import __main__ as study
from longform_lab.study import app, items
from tests.refusals import refuses

STUDY = ["--study", "s", "--answers", "a"]
FILES = {"study": Path("s"), "answers": Path("a")}
OPTIONS = {
    ("make", "pair", "--name", "n", "--out", "o"): (
        study._make,
        {
            "kind": "pair", "name": "n", "out": Path("o"), "train": None, "articles": None,
            "system": [], "per_system": 20, "sheet": None, "seed": 1234,
        },
    ),
    ("make", "claim", "--name", "n", "--out", "o", "--train", "t", "--articles", "3", "--system", "b=c",
     "--system", "d=e", "--per-system", "4", "--sheet", "f", "--seed", "5"): (
        study._make,
        {
            "kind": "claim", "name": "n", "out": Path("o"), "train": Path("t"), "articles": 3,
            "system": ["b=c", "d=e"], "per_system": 4, "sheet": Path("f"), "seed": 5,
        },
    ),
    ("invite", "ada", "ben", *STUDY): (
        study._invite, {"labels": ["ada", "ben"], "host": "127.0.0.1:8000", **FILES},
    ),
    ("serve", *STUDY): (study._serve, {"host": "127.0.0.1", "port": 8000, "name": [], **FILES}),
    ("serve", "--name", "b", "--name", "c", "--port", "1", *STUDY): (
        study._serve, {"host": "127.0.0.1", "port": 1, "name": ["b", "c"], **FILES},
    ),
    ("export", "--out", "o", *STUDY): (study._export, {"out": Path("o"), **FILES}),
    ("withdraw", "ada", *STUDY): (study._withdraw, {"labels": ["ada"], **FILES}),
    ("analyse", "e"): (study._analyse, {"export": Path("e"), "out": None}),
}  # fmt: skip


@pytest.mark.parametrize("words", OPTIONS, ids=" ".join)
def test_a_verb_has_its_options_and_their_defaults(words):
    options = vars(study._parser().parse_args(words))
    assert (options.pop("run"), options) == OPTIONS[words]


@pytest.mark.parametrize(
    "words",
    [
        ["make", "essay", "--name", "n", "--out", "o"],
        ["make", "pair", "--out", "o"],
        ["make", "pair", "--name", "n"],
        ["invite", *STUDY],
        ["withdraw", *STUDY],
        ["serve", *STUDY[:2]],
        ["serve", *STUDY[2:]],
        ["export", *STUDY],
        ["power", "0.5"],
        [],
    ],
    ids=" ".join,
)
def test_a_verb_without_what_it_needs_ends_with_status_2(words, capsys):
    with pytest.raises(SystemExit) as ended:
        study._parser().parse_args(words)
    assert ended.value.code == 2


@pytest.mark.parametrize(
    ("words", "hosts", "open_to_others"),
    [
        ([], ("127.0.0.1",), False), (["--host", "localhost"], ("localhost",), False), (["--host", "::1"], ("::1",), False),
        (["--host", "10.0.0.7", "--port", "1"], ("10.0.0.7",), True),
        (["--host", "0.0.0.0", "--name", "a", "--name", "b"], ("0.0.0.0", "a", "b"), True),
    ],
)  # fmt: skip
def test_pages_are_served_where_the_options_say(words, hosts, open_to_others, monkeypatch, capsys):
    ran = []
    run = SimpleNamespace(run=lambda app, **named: ran.append((app, named)))
    monkeypatch.setitem(sys.modules, "uvicorn", run)
    monkeypatch.setattr(app, "create_app", lambda *given: given)
    monkeypatch.setattr(study, "load_study", lambda path: ("study", path))
    monkeypatch.setattr(study, "Store", lambda path: ("store", path))
    options = study._parser().parse_args(["serve", *words, *STUDY])
    options.run(options)
    made = (("study", Path("s")), ("store", Path("a")), ("127.0.0.1", "localhost", "[::1]", *hosts))
    named = {"host": hosts[0], "port": 1 if "--port" in words else 8000, "log_level": "warning"}
    assert ran == [(made, named)]
    said = f"study: serving on {hosts[0]}, which other machines may reach\n"
    assert capsys.readouterr().err == (said if open_to_others else "")


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_every_address_of_a_machine_is_no_name_of_its_pages(host):
    options = study._parser().parse_args(["serve", "--host", host, *STUDY])
    refuses(f"--host {host} is no address that pages have; add --name", options.run, options)


def test_what_is_written_may_lie_in_new_folders_and_replaces_itself(tmp_path):
    path = tmp_path / "new" / "one" / "file.txt"
    for text in ("first \u6751\r\n", "second\n"):
        items.write(path, text)
        assert path.read_bytes() == text.encode("utf-8")
    refuses("half a surrogate pair", items.write, path, "\ud800")
    assert path.read_bytes() == b"second\n"
    refuses("cannot be written .* name another --out", items.write, path / "below", "text")
