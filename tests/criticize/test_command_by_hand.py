"""What the command line hands on, prints and returns, with the comparison itself replaced."""

import json
import math
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from longform import cli, criticize, terminal
from longform.criticize import report, systems_report
from longform.criticize.systems import Plan
from longform.errors import BadInput, InputError


@pytest.mark.parametrize(
    ("given", "systems"),
    [
        (["a.jsonl"], {"a": "a.jsonl"}),
        (["in/b.tar.jsonl", "c"], {"b": "in/b.tar.jsonl", "c": "c"}),
        (["one=a.jsonl", "two=a.jsonl"], {"one": "a.jsonl", "two": "a.jsonl"}),
        (["in/b/x.csv:text"], {"x": "in/b/x.csv:text"}),
        (["one=a=b"], {"one": "a=b"}),
        (["a.csv:x", "a.csv:y", "b.csv:x"], {"x": "a.csv:x", "y": "a.csv:y", "b": "b.csv:x"}),
    ],
)
def test_a_system_is_named_by_its_file_or_before_the_sign(given, systems):
    assert terminal.named_systems(given) == systems


def test_a_file_that_is_there_may_have_the_sign_in_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("x=y.jsonl").touch()
    assert terminal.named_systems(["x=y.jsonl"]) == {"x=y": "x=y.jsonl"}


@pytest.mark.parametrize("given", ["=x", "a=", ""])
def test_a_system_without_a_name_or_texts_is_refused(given):
    with pytest.raises(InputError, match=f"'{given}': no name, or no texts; give TEXTS, or NAME=T"):
        terminal.named_systems([given])


@pytest.mark.parametrize("given", [["a", "in/a"], ["a=x", "a=y"]])
def test_two_systems_of_one_name_are_refused(given):
    with pytest.raises(InputError, match=r"two systems are called '.*'; name them: NAME="):
        terminal.named_systems(given)


def test_a_reader_that_ends_early_ends_the_command_without_a_word(monkeypatch, capsys):
    def nobody_reads(arguments):
        raise BrokenPipeError

    discarded = []
    monkeypatch.setattr(cli, "_run", nobody_reads)
    monkeypatch.setattr(cli, "discard_output", lambda: discarded.append(True))
    assert cli.main(["critics"]) == 141 and discarded == [True]
    assert capsys.readouterr() == ("", "")


def test_output_that_nobody_reads_is_discarded(monkeypatch):
    read_end, write_end = os.pipe()
    os.close(read_end)
    with os.fdopen(write_end, "w") as output:
        output.write("unread")
        with pytest.raises(BrokenPipeError):
            output.flush()
        monkeypatch.setattr(terminal.sys, "stdout", output)
        terminal.discard_output()
        output.flush()


class Found:
    """What a comparison gives."""

    def __init__(self, failed=()):
        self.failed = failed

    def save(self, folder):
        folder.mkdir(exist_ok=True)
        (folder / report.RECORD).write_text('{"record": 1}')
        return folder / "index.html"

    def table(self):
        return "| table |"


@pytest.fixture
def comparison(monkeypatch, tmp_path):
    calls, found = [], Found()

    def noted(name, answer):
        def call(*given, **named):
            calls.append((name, given, named))
            if isinstance(answer, BadInput):
                raise answer
            return answer

        return call

    monkeypatch.setattr(criticize, "criticize", noted("one", found))
    monkeypatch.setattr(criticize, "criticize_systems", noted("systems", found))
    monkeypatch.setattr(criticize, "plan_systems", noted("plan", []))
    monkeypatch.setattr(report, "check", lambda out, places: calls.append(("check", out, places)))
    monkeypatch.setattr(systems_report, "save", lambda made, folder: made.save(folder))
    monkeypatch.setattr(systems_report, "markdown", lambda made: "| systems |")
    monkeypatch.setattr(
        systems_report, "plan_markdown", lambda plans, names: f"| plan of {names} |"
    )
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    return SimpleNamespace(calls=calls, found=found, out=tmp_path / "out")


def run(comparison, *more):
    return cli.main(["criticize", "real", *more, "--out", str(comparison.out)])


def test_one_system_is_compared_with_its_settings(comparison, capsys):
    assert run(comparison, "made.jsonl", "--model", "m", "--encoder", "e", "--seed", "7") == 0
    assert os.environ["HF_HUB_OFFLINE"] == "1"
    (_, out, places), (name, given, named) = comparison.calls
    assert (out, places) == (comparison.out, [Path("real"), Path("made.jsonl")])
    assert (name, given) == ("one", (Path("real"), Path("made.jsonl")))
    assert (named["model"], named["encoder"], named["seed"]) == ("m", "e", 7)
    assert named["results"] == comparison.out / report.SO_FAR
    assert named["progress"] is not iter and list(named["progress"]([])) == []
    assert capsys.readouterr().out == f"| table |\nreport: {comparison.out / 'index.html'}\n"


def test_by_default_models_are_chosen_later_and_the_seed_is_1234(comparison):
    run(comparison, "made.jsonl")
    _, _, named = comparison.calls[1]
    assert (named["model"], named["encoder"], named["seed"]) == (None, None, 1234)
    assert named["orders"] is False


def test_several_systems_or_paired_ones_are_compared_together(comparison, capsys):
    options = ["--model", "m", "--encoder", "e", "--orders", "--seed", "7"]
    assert run(comparison, "a", "b=c", *options) == 0
    name, given, named = comparison.calls[-1]
    assert (name, given) == ("systems", (Path("real"), {"a": "a", "b": "c"}))
    wanted = {"paired": False, "model": "m", "encoder": "e", "orders": True, "seed": 7}
    wanted["results"] = comparison.out / report.SO_FAR
    assert {key: named[key] for key in wanted} == wanted
    assert named["progress"] is not iter and list(named["progress"]([])) == []
    assert capsys.readouterr().out.startswith("| systems |\nreport: ")
    run(comparison, "a", "--paired")
    name, _, named = comparison.calls[-1]
    assert name == "systems" and named["paired"] is True


@pytest.mark.parametrize("systems", [["a"], ["a", "b"]])
def test_a_critic_that_failed_is_told_by_the_exit_status(comparison, systems):
    comparison.found.failed = [("critic", "why")]
    assert run(comparison, *systems) == 1


@pytest.mark.parametrize("systems", [["a"], ["a", "b"]])
def test_everything_may_be_printed_as_json(comparison, systems, capsys):
    assert run(comparison, *systems, "--json") == 0
    assert json.loads(capsys.readouterr().out) == {"record": 1}


def test_a_plan_ends_before_any_comparison(comparison, capsys):
    assert run(comparison, "a", "b", "--plan", "--model", "m", "--seed", "7") == 0
    name, given, named = comparison.calls[-1]
    assert (name, given) == ("plan", (Path("real"), {"a": "a", "b": "b"}))
    assert named == {"model": "m", "encoder": None, "orders": False, "seed": 7}
    assert capsys.readouterr().out == "| plan of ['a', 'b'] |\n"
    run(comparison, "a", "--plan", "--json")
    assert json.loads(capsys.readouterr().out) == [] and len(comparison.calls) == 4


def test_a_difference_that_is_not_known_is_null_in_json(comparison, capsys, monkeypatch):
    plan = Plan("repetition", 2.0, 0.0, {"a": math.nan})
    monkeypatch.setattr(criticize, "plan_systems", lambda *given, **named: [plan])
    run(comparison, "a", "--plan", "--json")
    expected = (
        '[{"detectable":{"a":null},"name":"repetition","real":0.0,"reason":"","seconds":2.0}]\n'
    )
    assert capsys.readouterr().out == expected


def test_bad_input_is_one_sentence_and_status_2(comparison, capsys, monkeypatch):
    def refused(*given, **named):
        raise BadInput("no text")

    monkeypatch.setattr(criticize, "criticize", refused)
    assert run(comparison, "a") == 2
    assert capsys.readouterr().err == "longform: no text\n"


def test_an_exit_that_no_ctrl_c_caused_stays_that_exit(comparison, monkeypatch):
    monkeypatch.setattr(criticize, "criticize", lambda *given, **named: sys.exit(5))
    with pytest.raises(SystemExit, match=r"^5$"):
        run(comparison, "a")


def test_examples_say_where_they_are_and_a_place_that_cannot_be_is_named(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert cli.main(["examples", str(tmp_path / "file" / "in")]) == 2
    assert "cannot be written" in capsys.readouterr().err
    assert cli.main(["examples", str(tmp_path / "new")]) == 0
    shown = capsys.readouterr().out.split()
    assert shown and all(Path(one).is_file() for one in shown)


def test_progress_minds_an_interrupt_between_critics():
    class Heard:
        def __init__(self):
            self.checks = 0

        def check(self):
            self.checks += 1
            if self.checks == 3:
                raise KeyboardInterrupt

    heard, seen = Heard(), []
    panels = [SimpleNamespace(name=name, absent="") for name in "abc"]
    with pytest.raises(KeyboardInterrupt):
        for panel in cli._interruptible_progress(heard)(panels):
            seen.append(panel.name)
    assert seen == ["a", "b"]
    quiet = SimpleNamespace(check=lambda: seen.append("checked"))
    assert [panel.name for panel in cli._interruptible_progress(quiet)(panels[:1])] == ["a"]
    assert seen[2:] == ["checked", "checked"]


def test_an_interrupt_ends_at_once_or_when_it_is_asked(monkeypatch):
    ended = []
    own = SimpleNamespace(_exit=ended.append, write=lambda place, text: ended.append((place, text)))
    monkeypatch.setattr(terminal, "os", own)
    with terminal.Interrupt() as interrupt:
        interrupt.check()
        interrupt.ends_at_once = False
        with pytest.raises(KeyboardInterrupt):
            interrupt.hear()
        with pytest.raises(KeyboardInterrupt):
            interrupt.check()
        assert ended == []
        interrupt.ends_at_once = True
        with pytest.raises(KeyboardInterrupt):
            interrupt.hear()
    assert ended == [(2, b"longform: stopped before any critic ran\n"), terminal.STOPPED]


def test_the_version_is_printed(capsys):
    from longform import __version__

    with pytest.raises(SystemExit) as ended:
        cli.main(["--version"])
    assert ended.value.code == 0 and capsys.readouterr().out == f"{__version__}\n"
