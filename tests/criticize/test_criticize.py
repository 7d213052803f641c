"""A person's own texts: what can be read is judged, what cannot is named, a planted failure is found, text stays text."""

import csv
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from longform.cli import main
from longform.corpora.planted import build
from longform.corpora.segmentation import sentence_texts
from longform.criticize import criticize
from longform.criticize.judging import judge
from longform.criticize.options import Options
from longform.criticize.pages import _half, marks, page
from longform.criticize.panels import panels
from longform.criticize.texts import halves, read_texts
from longform.units import BadInput, Section


def records(documents):
    return [{"id": d.id, "sections": [{"title": s.title, "text": s.text} for s in d.sections]} for d in documents]


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Real texts; other true texts; the same with sections in a wrong order."""
    folder = tmp_path_factory.mktemp("world")
    made = {
        failure: build(name="criticize", seed=5, domain="wiki", documents={"test": 60}, failure=failure, dose=dose)
        for failure, dose in (("", 0.0), ("section_order", 1.0))
    }
    true, broken = (list(one.documents) for one in made.values())
    return {
        "real": write(folder / "real.jsonl", records(true[:40])),
        "true": write(folder / "true.jsonl", records(true[40:])),
        "broken": write(folder / "broken.jsonl", records(broken[40:])),
    }


def by_name(found):
    return {one.panel.name: one for one in found.judged}


@pytest.fixture(scope="module")
def broken(world):
    return criticize(world["real"], world["broken"])


def test_a_wrong_order_of_sections_moves_the_section_critic_and_true_text_does_not(world, broken):
    assert by_name(broken)["section order"].difference.p_value < 0.01
    assert by_name(broken)["section order"].verdict == "higher than real text"
    assert by_name(criticize(world["real"], world["true"]))["section order"].difference.p_value > 0.01


def test_every_critic_either_judges_or_says_why_not(broken):
    judged, left = set(by_name(broken)), {name for name, _ in broken.left_out}
    assert {"section order", "persons", "entity grid", "shared nouns", "repetition", "topics", "kept topics"} <= judged
    assert "language model" in left and len(judged) + len(left) == 10
    assert all(why for _, why in broken.left_out)


def test_the_report_holds_every_number_and_a_page_per_text(tmp_path, broken):
    index = broken.save(tmp_path / "out")
    assert index.is_file() and (tmp_path / "out" / "critics.png").is_file()
    with (tmp_path / "out" / "results.csv").open() as file:
        assert len(list(csv.DictReader(file))) == 2 * len(broken.judged)
    assert len(list((tmp_path / "out" / "texts").glob("*.html"))) == 20
    assert "<mark" in next((tmp_path / "out" / "texts").glob("*.html")).read_text()


def test_marks_lie_in_the_text_and_the_worst_transition_is_marked(broken):
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


def test_bad_records_are_set_aside_with_their_place(tmp_path):
    lines = [
        '{"id": "a", "text": "A good text."}', "not json", '{"text": 3}', "[1]", '{"id": "a", "text": "Again."}',
        '{"text": "   "}', '{"sections": []}', '{"sections": [{"title": 1, "text": "x"}]}', '{"id": [1], "text": "x"}', "",
    ]  # fmt: skip
    (tmp_path / "t.jsonl").write_bytes("\n".join(lines).encode() + b'\n{"text": "\xff"}\n')
    found = read_texts(tmp_path / "t.jsonl")
    assert [d.id for d in found.documents] == ["a"]
    assert [place for place, _ in found.set_aside] == [f"line {n}" for n in (2, 3, 4, 5, 6, 7, 8, 9, 11)]


def test_folders_are_read_by_name_and_markdown_headings_begin_sections(tmp_path):
    (tmp_path / "b.txt").write_text("Plain text.\n\nWith a gap.", encoding="utf-8")
    (tmp_path / "a.md").write_text("Before.\n# History #\nThen.\n## Later\nNow.", encoding="utf-8")
    (tmp_path / "c.pdf").write_bytes(b"%PDF")
    (tmp_path / "d.txt").write_bytes(b"\xff\xfe bad")
    found = read_texts(tmp_path)
    assert [d.id for d in found.documents] == ["a.md", "b.txt"]
    assert [(s.title, s.text) for s in found.documents[0].sections] == [
        ("(lead)", "Before."),
        ("history", "Then."),
        ("later", "Now."),
    ]
    assert found.documents[1].text == "Plain text.\nWith a gap."
    assert dict(found.set_aside) == {"c.pdf": "neither .txt nor .md", "d.txt": "not UTF-8 (byte 0)"}


def test_titles_without_text_are_counted(tmp_path):
    (tmp_path / "a.md").write_text("Before.\n## History\n## Geography\nFlat.", encoding="utf-8")
    given = {
        "sections": [
            {"title": "History", "text": " "},
            {"title": "Climate", "text": "Wet."},
            {"title": None, "text": ""},
        ]
    }
    found, (other,) = read_texts(tmp_path), read_texts(write(tmp_path / "b.jsonl", [given])).documents
    assert [s.title for s in found.documents[0].sections] == ["(lead)", "geography"]
    assert dict(found.set_aside) == {"sections": "1 without text"}
    assert [s.title for s in other.sections] == ["climate"]


def test_a_file_name_that_is_no_text_is_told_and_the_report_written(tmp_path):
    (tmp_path / "a.txt").write_text("Some words.", encoding="utf-8")
    try:
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.pdf")).write_bytes(b"%PDF")
    except OSError:
        pytest.skip("this file system wants names in UTF-8")
    ((place, why),) = read_texts(tmp_path).set_aside
    assert place.encode("utf-8") and why == "neither .txt nor .md"


def test_a_heading_of_many_blanks_takes_no_time(tmp_path):
    (tmp_path / "a.md").write_text("# a" + " " * 300_000 + "b\nWords.", encoding="utf-8")
    assert read_texts(tmp_path).documents[0].text == "Words."


def test_halves_depend_on_the_texts_not_on_their_order(tmp_path):
    rows = [{"id": f"t{i}", "text": f"Text number {i} is here."} for i in range(9)]
    one = halves(read_texts(write(tmp_path / "a.jsonl", rows)).documents)
    other = halves(read_texts(write(tmp_path / "b.jsonl", rows[::-1])).documents)
    assert {d.id: d.split for d in one} == {d.id: d.split for d in other}
    assert sorted(d.split for d in one) == ["test"] * 5 + ["train"] * 4


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_few_short_texts_end_in_a_sentence_or_a_report(tmp_path, capsys, count):
    rows = [{"id": f"t{i}", "text": f"Anna met Ben {i} times. She liked the garden."} for i in range(count)]
    real, mine = write(tmp_path / "r.jsonl", rows), write(tmp_path / "g.jsonl", rows[:1])
    code = main(["criticize", str(real), str(mine), "--out", str(tmp_path / "out")])
    told = capsys.readouterr()
    assert (code, "at least two" in told.err) == (2, True) if count == 1 else code == 0 and "| repetition |" in told.out


def test_a_wrong_path_is_one_sentence(tmp_path, capsys):
    assert main(["criticize", str(tmp_path / "no"), str(tmp_path), "--out", str(tmp_path / "o")]) == 2
    assert "give one of these" in capsys.readouterr().err
    with pytest.raises(BadInput, match="no text to read"):
        read_texts(tmp_path)


def test_a_markdown_title_is_no_section_and_code_holds_no_headings(tmp_path):
    (tmp_path / "a.md").write_text(
        "# The town\n\nA lead.\n\n## History\n\nThen.\n```\n# comment\n```\n", encoding="utf-8"
    )
    (tmp_path / "b.md").write_text("# One\nText.\n# Two\nMore.", encoding="utf-8")
    first, second = read_texts(tmp_path).documents
    assert [s.title for s in first.sections] == ["(lead)", "history"] and "# comment" in first.sections[1].text
    assert [s.title for s in second.sections] == ["one", "two"]


def test_titles_that_real_text_never_has_are_counted_and_told(tmp_path, world):
    rows = [json.loads(line) for line in world["true"].read_text().splitlines()]
    for row in rows:
        row["sections"][0]["title"] = "prehistory"
    found = criticize(world["real"], write(tmp_path / "g.jsonl", rows))
    assert by_name(found)["section order"].unknown[1] >= len(rows)
    assert "not scored are transitions to or from a title" in found.table()


def test_sides_that_share_texts_are_told_and_tests_are_counted(world):
    table = criticize(world["real"], world["real"]).table()
    assert "40 generated texts stand among the real ones word for word" in table and "Bonferroni" in table


def test_a_generated_side_without_titles_says_so(tmp_path, world):
    rows = [{"text": json.loads(line)["sections"][0]["text"]} for line in world["true"].read_text().splitlines()]
    left = dict(criticize(world["real"], write(tmp_path / "g.jsonl", rows)).left_out)
    assert left["section order"] == "no generated text has two or more sections, all with titles"


def test_a_second_report_keeps_no_page_of_the_first(tmp_path, broken, world):
    broken.save(tmp_path)
    rows = [json.loads(line) for line in world["true"].read_text().splitlines()][:3]
    criticize(world["real"], write(tmp_path / "g.jsonl", rows)).save(tmp_path)
    assert len(list((tmp_path / "texts").glob("*.html"))) == 3


@pytest.mark.parametrize("option", ["--model", "--encoder"])
def test_a_named_model_that_is_none_ends_before_any_work(tmp_path, world, capsys, option):
    out = ["--out", str(tmp_path / "o")]
    assert main(["criticize", str(world["real"]), str(world["true"]), *out, option, str(tmp_path / "missing")]) == 2
    said = capsys.readouterr().err
    assert "no model folder" in said and "done in" not in said


def test_an_impossible_report_folder_ends_before_any_work(tmp_path, world, capsys):
    (tmp_path / "file").write_text("")
    out = ["--out", str(tmp_path / "file" / "below")]
    assert main(["criticize", str(world["real"]), str(world["true"]), *out]) == 2
    assert "no folder can be made there" in capsys.readouterr().err


def test_the_figure_stays_readable_where_real_texts_do_not_differ(broken):
    one = broken.judged[0]
    still = replace(one, real=replace(one.real, low=one.real.value, high=one.real.value))
    assert _half(still) == (one.generated.high - one.generated.low) / 2
    assert _half(replace(still, generated=replace(one.generated, low=1.0, high=1.0))) == 1.0


def test_texts_may_be_given_as_lists_and_what_is_no_text_is_set_aside(world):
    texts = [d.text for d in read_texts(world["real"]).documents]
    found = criticize(texts[:20], [*texts[20:], None, ""])
    assert len(found.real.documents) == len(found.generated.documents) == 20
    assert found.generated.set_aside == (("text-21", "NoneType, not a text"), ("text-22", "no word in it"))
    with pytest.raises(BadInput, match="no text to read"):
        criticize(texts, [])


def test_hidden_files_and_links_to_nothing_are_counted_and_a_null_id_is_none(tmp_path):
    (tmp_path / "a.txt").write_text("A text.")
    (tmp_path / ".git").mkdir()
    for name in (".hidden.txt", ".git/config.txt"):
        (tmp_path / name).write_text("Not for reading.")
    (tmp_path / "gone.txt").symlink_to(tmp_path / "nowhere.txt")
    found = read_texts(tmp_path)
    assert [d.id for d in found.documents] == ["a.txt"]
    places = [place for place, _ in found.set_aside]
    assert places == ["gone.txt", "2 hidden files"]
    rows = [{"id": None, "text": "One."}, {"text": "Two."}, {"id": 3, "text": "Three."}]
    assert [d.id for d in read_texts(write(tmp_path / "x.jsonl", rows)).documents] == ["line-1", "line-2", "3"]


def test_a_page_shows_its_headings_and_a_repeated_sentence_is_marked_once(world):
    real = list(read_texts(world["real"]).documents)
    text = real[0].sections[0].text
    first = sentence_texts(text)[0]
    said = replace(real[0], sections=(Section("lead <b>", f"{text} {first} The end."), *real[0].sections[1:]))
    texts = [*_split(real, "train"), *_split(real, "test"), replace(said, split="generated", id="generated/x")]
    again = judge(dict(panels(Options()))["repetition"](), texts, 1)
    shown = page(replace(said, id="x"), [again])
    assert "<h2>lead &lt;b&gt;</h2>" in shown
    ((_, (start, end)), *others) = again.blame["generated/x"]
    assert said.text[start:end] == first and start > 0
    assert len({span for _, span in again.blame["generated/x"]}) == 1 + len(others)


def _split(documents, split):
    return [replace(d, split=split, id=f"{split}/{d.id}") for d in documents]


def test_words_that_leave_the_topics_of_the_first_half_are_marked(tmp_path, world):
    sea, farm, mine = (
        "The harbour sent ships and sailors.",
        "The barn held cows and ploughs.",
        "The shaft gave coal and ore.",
    )
    real = [" ".join([one] * 8 + [f"Number {i} ended."]) for i in range(20) for one in (sea, farm, mine)]
    swapped = [" ".join([sea] * 4 + [farm] * 4) for _ in range(10)]
    found = by_name(criticize(real, [f"{text} {i}." for i, text in enumerate(swapped)]))["kept topics"]
    assert found.verdict == "higher than real text" and found.difference.p_value < 0.01
    text = f"{swapped[0]} 0."
    marked = {text[a:b] for _, (a, b) in found.blame["generated/text-1"]}
    assert marked and marked <= set(farm.replace(".", "").split()) | {"ploughs."}
