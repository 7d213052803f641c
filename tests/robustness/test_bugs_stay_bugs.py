"""A bug inside a reader keeps its own error, whichever function it strikes: nobody is told to fetch a sound file again."""

import ast
import gc
import sys
from pathlib import Path

import pytest

from tests.robustness.test_fuzzed_readers import READERS, prepared

ROOT = Path(__file__).parents[2]
SOURCES = str(ROOT / "src")
ERRORS = (AttributeError, TypeError, MemoryError)
OURS = {
    "AttributeError",
    "TypeError",
    "MemoryError",
    "Exception",
    "BaseException",
    "NameError",
    "AssertionError",
}
# what stands between us and other people's code: networks of transformers, processes, W&B, settings of params.yaml;
# criticize/judging.py shows the traceback whole and lets the other critics finish
BOUNDARIES = {
    "longform/criticize/judging.py", "longform/critics/verifiability/checker.py", "longform/datasets/wikipedia/wikitext.py", "longform/files/artefacts.py",
    "longform/language_models/checkpoints.py", "longform/language_models/lightning.py", "longform/language_models/sentence_features.py", "longform/language_models/trial.py",
    "longform_lab/workers.py", "longform_lab/study/store.py", "longform_lab/tracking.py",
}  # fmt: skip
READING = (
    "longform/datasets",
    "synthetic_world",
    "longform/text/markdown.py",
    "longform/text/lexicon.py",
    "longform_lab/study/items.py",
)
OPENS = {"open", "read_text", "read_bytes", "splitlines", "readlines", "fdopen"}
PARSES = {"csv", "json.load", "json.loads", "gzip", "lzma", "ElementTree.parse"}
# their own files, written by themselves, and the byte ranges of a dump
OWN_FILES = {
    "longform/datasets/fever.py",
    "longform/datasets/wikipedia",
    "synthetic_world",
    "longform/datasets/test_suites/items.py",
}


def called(read, path, target=None, error=None):
    """Code of ours that a reader calls, until the target is called, which raises the error."""
    seen = []

    def trace(frame, event, _):
        if (
            event == "call"
            and frame.f_code.co_filename.startswith(SOURCES)
            and frame.f_code not in seen
        ):
            seen.append(frame.f_code)
            if frame.f_code is target:
                raise error

    before = sys.gettrace()
    gc.disable()  # to close a generator that an earlier error left behind is a call too, and nobody hears what it raises
    sys.settrace(trace)
    try:
        read(path)
    finally:
        sys.settrace(before)
        gc.enable()
    return seen


@pytest.mark.parametrize("what", READERS)
def test_an_error_of_ours_in_any_function_of_a_reader_comes_out_unchanged(what, tmp_path):
    name, read, content = READERS[what]
    read(prepared(tmp_path, name, content))  # imports that readers do at their first call
    functions = called(read, prepared(tmp_path, name, content))
    assert functions
    struck = 0
    for place, target in enumerate(functions):
        error = ERRORS[place % 3]("a bug of ours")
        try:
            seen = called(read, prepared(tmp_path, name, content), target, error)
        except type(error) as raised:
            assert raised is error, target
            struck += 1
        else:
            assert target not in seen, f"{target} was struck and nobody noticed"
    assert struck >= 0.9 * len(functions)  # the rest is called once in a process


def named(node):
    """Names in an except clause."""
    return (
        {part.id for part in ast.walk(node.type) if isinstance(part, ast.Name)}
        if node.type
        else {"BaseException"}
    )


def places(root, below=("",), words=("",)):
    """Syntax trees by file, of those files that hold one of the words: to parse all of them takes seconds."""
    for path in sorted(root.rglob("*.py")):
        short, text = path.relative_to(root).as_posix(), path.read_text(encoding="utf-8")
        if short.startswith(below) and any(word in text for word in words):
            yield short, ast.parse(text)


def test_no_except_clause_names_errors_of_our_own_but_at_boundaries():
    found = {short for short, tree in places(Path(SOURCES), words=("except:", *OURS)) for node in ast.walk(tree)
             if isinstance(node, ast.ExceptHandler) and named(node) & OURS}  # fmt: skip
    assert found <= BOUNDARIES and len(found) > 5


def opens(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            spelt = ast.unparse(node.func)
            by_method = "." in spelt and spelt.rpartition(".")[2] in OPENS
            if (
                by_method
                or spelt == "open"
                or any(spelt == part or spelt.startswith(f"{part}.") for part in PARSES)
            ):
                yield spelt


def test_readers_open_files_by_the_one_way_in_alone():
    found = {short: list(opens(tree)) for short, tree in places(Path(SOURCES), READING)}
    assert {short.split("/")[0] for short in found} == {
        "longform",
        "longform_lab",
        "synthetic_world",
    }
    assert {
        short for short, calls in found.items() if calls and not short.startswith(tuple(OWN_FILES))
    } == set()
    assert list(opens(ast.parse("a.open()\ncsv.reader(b)\nc.splitlines()\njson.loads(d)"))) == [
        "a.open", "csv.reader", "c.splitlines", "json.loads",
    ]  # fmt: skip
