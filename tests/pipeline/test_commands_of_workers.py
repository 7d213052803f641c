"""How a worker runs the commands of a stage, and which of them wait for a process that has the libraries."""

import os

import pytest

from longform_lab import workers
from longform_lab.workers import NOT_PLAIN, STAGE, run_commands


@pytest.fixture(autouse=True)
def cold(monkeypatch):
    """No process with libraries is started."""
    monkeypatch.setattr(workers, "_run_warm", lambda *given: None)


def test_commands_run_in_the_folder_until_one_fails(tmp_path):
    log = tmp_path / "logs" / "stage.log"
    commands = ["pwd", "echo $COLOUR; exit 3", "echo never"]
    done = run_commands(commands, str(tmp_path), {"COLOUR": "blue"}, str(log))
    assert done.status == 3 and done.last_lines == (os.path.realpath(tmp_path), "blue")
    assert done.seconds > 0 and log.read_text().splitlines() == list(done.last_lines)


def test_a_finished_stage_keeps_its_last_five_lines(tmp_path):
    (tmp_path / "log").write_text("of an earlier run")
    done = run_commands(["printf '%s\\n' 1 2 3 4 5 6 7"], str(tmp_path), {}, str(tmp_path / "log"))
    assert (done.status, done.last_lines) == (0, ("3", "4", "5", "6", "7"))


def test_a_stage_has_one_thread_unless_its_variables_say_more(tmp_path, monkeypatch):
    for name in workers.THREADS:
        monkeypatch.delenv(name, raising=False)
    command = "echo $OMP_NUM_THREADS $MKL_NUM_THREADS $OPENBLAS_NUM_THREADS"
    for given, said in (({}, "1 1 1"), ({"OMP_NUM_THREADS": "4"}, "4 1 1")):
        assert run_commands([command], str(tmp_path), given, str(tmp_path / "log")).last_lines == (
            said,
        )


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        (
            "PYTHONPATH=src python -m longform_lab train articles wiki gpt2",
            "train articles wiki gpt2",
        ),
        ("PYTHONPATH=src python -m longform_lab read topics_wiki", "read topics_wiki"),
        ("PYTHONPATH=src python -m longform_lab score articles", "score articles"),
        ("PYTHONPATH=src python -m longform_lab ledger", "ledger"),
        ("PYTHONPATH=src python -m longform_lab.code", None),
        ("PYTHONPATH=src python -m longform_lab train a; rm b", None),
        ("python -m longform_lab train a", None),
    ],
)
def test_stages_are_told_from_other_commands(command, arguments):
    stage = STAGE.fullmatch(command)
    assert (stage and stage[1]) == arguments


@pytest.mark.parametrize("sign", list(";&|<>()$`\\*?\n"))
def test_a_command_with_a_sign_of_the_shell_needs_one_that_stays(sign):
    assert NOT_PLAIN.search(f"echo a{sign}b") and not NOT_PLAIN.search("python -m a.b c_d=1 'e f'")
