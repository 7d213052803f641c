"""Reports of one's own texts, and how those are read."""

import csv
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from own_texts import split, write

from longform.core.documents import Section
from longform.core.text.sentences import sentence_texts
from longform.criticize import report
from longform.criticize.judging import judge, worst_places
from longform.criticize.panels import Options, panels
from longform.criticize.report import _half, check, marks, page
from longform.criticize.texts import halves, read_texts
from tests.refusals import refuses


def test_the_report_holds_every_number_a_page_per_text_and_marks_in_the_text(tmp_path, broken):
    index = broken.save(tmp_path / "out")
    assert index.is_file() and (tmp_path / "out" / "results.png").is_file()
    with (tmp_path / "out" / "results.csv").open() as file:
        assert len(list(csv.DictReader(file))) == 2 * len(broken.judged)
    assert len(list((tmp_path / "out" / "texts").glob("*.html"))) == 20
    assert "<mark" in next((tmp_path / "out" / "texts").glob("*.html")).read_text()
    document = broken.generated.documents[0]
    found = marks(document, broken.judged)
    assert found and all(0 <= start < end <= len(document.text) for start, end, _, _ in found)


def test_text_is_shown_as_text(tmp_path):
    hostile = "<script>alert(1)</script> & \"quoted\" 'single' \u202e \x07 bell. It ends here."
    write(tmp_path / "one.jsonl", [{"id": "<b>x</b>", "text": hostile}])
    document = read_texts(tmp_path / "one.jsonl").documents[0]
    shown = page(document, [])
    assert "<script>" not in shown and "&lt;script&gt;" in shown
    assert "<b>x" not in shown and "\x07" not in shown


def test_a_report_is_put_over_reports_and_nothing_else(tmp_path, broken):
    mine = tmp_path / "a" / "texts" / "1-mine.html"
    for _ in range(2):
        broken.save(tmp_path / "a")
    mine.write_text("mine")
    for put in (check, broken.save):
        refuses("holds 'texts/1-mine.html', which no report wrote", put, tmp_path / "a")
    assert mine.read_text() == "mine"
    (tmp_path / "in").mkdir()
    refuses("whose texts are read", check, tmp_path / "in" / "out", (tmp_path / "in", tmp_path / "b.jsonl"))
    refuses("no folder can be written there", check, tmp_path / ("x" * 300))
    refuses("which no report wrote", check, Path("/"))
    check(tmp_path / "new" / "below")
    assert not (tmp_path / "new").exists() and not [p for p in tmp_path.iterdir() if p.name.startswith(".")]


def test_a_report_that_is_cut_off_leaves_the_earlier_one_whole(tmp_path, broken, monkeypatch):
    def held():
        return {path: path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()}

    broken.save(tmp_path / "out")
    before = held()
    monkeypatch.setattr(report, "index", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        broken.save(tmp_path / "out")
    assert held() == before
    (tmp_path / ".out.partial" / "texts").mkdir(parents=True)  # a kill leaves what was being written
    monkeypatch.undo()
    broken.save(tmp_path / "out")
    assert not (tmp_path / ".out.partial").exists()


def test_differences_and_the_figure_are_said_and_drawn_as_they_are(broken):
    one = broken.judged[0]
    parts = [replace(one.difference, p_value=p, difference=1.0) for p in (0.2, 0.03, 0.001)]
    seen = [replace(one, difference=part).verdict(0.01) for part in parts]
    assert seen == ["no difference found", "higher than real text, were this the only test", "higher than real text"]
    still = replace(one, real=replace(one.real, low=one.real.value, high=one.real.value))
    assert _half(still) == (one.generated.high - one.generated.low) / 2
    assert _half(replace(still, generated=replace(one.generated, low=1.0, high=1.0))) == 1.0


@pytest.mark.parametrize(("values", "named"),
                         [([2.3, 0.5, 2.3, 2.3], [0, 2, 3]), ([1.0, 1.0], []), ([5.0, 1.0, 1.0, 1.1], [0]),
                          ([1.0, float("nan"), 3.0], [2]), ([], [])])  # fmt: skip
def test_places_above_the_mean_stand_out_even_where_most_are_bad(values, named):
    spans = [(i, i + 1) for i in range(len(values))]
    assert [span[0] for _, span in worst_places(np.array(values), spans)] == named


def test_a_page_shows_its_headings_and_a_repeated_sentence_is_marked_once(world):
    real = list(read_texts(world["real"]).documents)
    text = real[0].sections[0].text
    first = sentence_texts(text)[0]
    said = replace(real[0], sections=(Section("lead <b>", f"{text} {first} The end."), *real[0].sections[1:]))
    texts = [*split(real, "train"), *split(real, "test"), replace(said, split="generated", id="generated/x")]
    again = judge({panel.name: panel for panel in panels(Options())}["repetition"], texts, 1)
    shown = page(replace(said, id="x"), [again])
    assert "<h2>lead &lt;b&gt;</h2>" in shown
    ((_, (start, end)), *others) = again.blame["generated/x"]
    assert said.text[start:end] == first and start > 0
    assert len({span for _, span in again.blame["generated/x"]}) == 1 + len(others)


def test_bad_records_odd_ids_and_titles_are_set_aside_or_numbered(tmp_path):
    lines = [
        '{"id": "a", "text": "A good text."}', "not json", '{"text": 3}', "[1]", '{"id": "a", "text": "Again."}',
        '{"text": "   "}', '{"sections": []}', '{"sections": [{"title": 1, "text": "x"}]}', '{"id": [1], "text": "x"}', "",
    ]  # fmt: skip
    (tmp_path / "t.jsonl").write_bytes("\n".join(lines).encode() + b'\n{"text": "\xff"}\n')
    found = read_texts(tmp_path / "t.jsonl")
    assert [d.id for d in found.documents] == ["a"]
    assert [place for place, _ in found.set_aside] == [f"line {n}" for n in (2, 3, 4, 5, 6, 7, 8, 9, 11)]
    rows = [{"id": "", "text": "A."}, {"id": True, "text": "B."}, {"id": 1.5, "text": "C."},
            {"title": {"a": 1}, "text": "D."}]  # fmt: skip
    found = read_texts(write(tmp_path / "x.jsonl", rows))
    assert [d.id for d in found.documents] == ["line-1"]
    assert [place for place, _ in found.set_aside] == ["line 2", "line 3", "line 4"]


def test_folders_are_read_by_name_and_markdown_headings_begin_sections_but_for_a_title_and_code(tmp_path):
    (tmp_path / "b.txt").write_text("Plain text.\n\nWith a gap.", encoding="utf-8")
    (tmp_path / "a.md").write_text("Before.\n# History #\nThen.\n## Later\nNow.", encoding="utf-8")
    (tmp_path / "c.pdf").write_bytes(b"%PDF")
    (tmp_path / "d.txt").write_bytes(b"\xff\xfe bad")
    found = read_texts(tmp_path)
    assert [d.id for d in found.documents] == ["a.md", "b.txt"]
    shown = [(s.title, s.text) for s in found.documents[0].sections]
    assert shown == [("(lead)", "Before."), ("history", "Then."), ("later", "Now.")]
    assert found.documents[1].text == "Plain text.\nWith a gap."
    assert dict(found.set_aside) == {"c.pdf": "none of .txt, .md, .markdown", "d.txt": "not UTF-8 (byte 0)"}
    (tmp_path / "a.md").write_text("# The town\n\nA lead.\n\n## History\n\nThen.\n```\n# comment\n```\n")
    (tmp_path / "b.md").write_text("# One\nText.\n# Two\nMore.", encoding="utf-8")
    (tmp_path / "c.md").write_text("# a" + " " * 300_000 + "b\nWords.")  # which takes no time
    first, second, _, blanks = read_texts(tmp_path).documents
    assert blanks.text == "Words."
    assert [s.title for s in first.sections] == ["(lead)", "history"] and "# comment" in first.sections[1].text
    assert [s.title for s in second.sections] == ["one", "two"]


def test_a_file_name_that_is_no_text_is_told_and_the_report_written(tmp_path):
    (tmp_path / "a.txt").write_text("Some words.", encoding="utf-8")
    try:
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.pdf")).write_bytes(b"%PDF")
    except OSError:
        pytest.skip("this file system wants names in UTF-8")
    ((place, why),) = read_texts(tmp_path).set_aside
    assert place.encode("utf-8") and why == "none of .txt, .md, .markdown"


def test_halves_depend_on_the_texts_not_on_their_order(tmp_path):
    rows = [{"id": f"t{i}", "text": f"Text number {i} is here."} for i in range(9)]
    one = halves(read_texts(write(tmp_path / "a.jsonl", rows)).documents)
    other = halves(read_texts(write(tmp_path / "b.jsonl", rows[::-1])).documents)
    assert {d.id: d.split for d in one} == {d.id: d.split for d in other}
    assert sorted(d.split for d in one) == ["test"] * 5 + ["train"] * 4


def test_hidden_files_and_links_to_nothing_are_counted_and_a_null_id_is_none(tmp_path):
    (tmp_path / "a.txt").write_text("A text.")
    (tmp_path / ".git").mkdir()
    for name in (".hidden.txt", ".git/config.txt"):
        (tmp_path / name).write_text("Not for reading.")
    (tmp_path / "gone.txt").symlink_to(tmp_path / "nowhere.txt")
    found = read_texts(tmp_path)
    assert [d.id for d in found.documents] == ["a.txt"]
    assert [place for place, _ in found.set_aside] == ["gone.txt", "2 hidden files"]
    rows = [{"id": None, "text": "One."}, {"text": "Two."}, {"id": 3, "text": "Three."}]
    assert [d.id for d in read_texts(write(tmp_path / "x.jsonl", rows)).documents] == ["line-1", "line-2", "3"]
