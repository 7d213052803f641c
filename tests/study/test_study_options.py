"""What each verb of the study takes for granted, and what it demands."""

from pathlib import Path

import pytest

from longform_lab.study import __main__ as study

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
