"""A person's own texts under every critic: a planted failure is found, what does not apply says why; how texts are read and reported."""

import csv
import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tiny import bpe_folder, lm_folder
from transformers import AutoConfig, AutoModelForCausalLM

from longform.cli import main
from longform.criticize import criticize, judging, panels, report
from longform.criticize.judging import ComparedTexts, judge, worst_places
from longform.criticize.panels import Options
from longform.criticize.report import _half_width, check, marks, page
from longform.critics.entity_grid.score import EntityGrid
from longform.critics.perplexity import read as token_predictions
from longform.datasets.own_texts import halves, read_texts
from longform.documents import Document, Section
from longform.errors import BadInput
from longform.statistics.comparisons import compare
from longform.statistics.random_streams import generator
from longform.text.entity_grids import found_grids
from longform.text.nouns import NounRules
from longform.text.sentences import sentence_texts
from synthetic_world.corpora import build
from tests.refusals import refuses


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def by_name(found):
    return {one.panel.name: one for one in found.results}


@pytest.fixture(scope="module", autouse=True)
def bare():
    """No packaged model, whether it is installed or not: it would read for minutes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(panels, "SMOLLM2", {"package": "no_such_package", "file": "model.gguf"})
        yield


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A planted world as a person's own texts: real ones; other true ones; the same with sections in a wrong order."""
    folder, given = (
        tmp_path_factory.mktemp("world"),
        {"seed": 5, "domain": "wiki", "documents": {"test": 60}},
    )
    true = build(name="criticize", **given).documents
    broken = build(name="criticize", corruption="section_order", severity=1.0, **given).documents
    sides = {"real": true[:40], "true": true[40:], "broken": broken[40:]}
    return {
        name: write(folder / f"{name}.jsonl", [d.to_record() for d in side])
        for name, side in sides.items()
    }


@pytest.fixture(scope="module")
def broken(world):
    return criticize(world["real"], world["broken"])


LONG = "The town lies on a river. It has old houses. People work in fields. There are hills. It rains in spring."


def test_a_wrong_order_of_sections_moves_the_section_critic_alone(world, broken):
    assert by_name(broken)["section order"].difference.p_value < 0.01
    assert by_name(broken)["section order"].verdict(broken.level) == "higher than real text"
    assert (
        by_name(criticize(world["real"], world["true"]))["section order"].difference.p_value > 0.01
    )
    judged, left = set(by_name(broken)), {name for name, _ in broken.left_out}
    assert {
        "section order",
        "persons",
        "entity grid",
        "shared nouns",
        "repetition",
        "topics",
        "kept topics",
    } <= judged
    assert {"language model", "order and repetition"} <= left
    assert len(judged) + len(left) == 12
    assert all(why for _, why in broken.left_out)


def test_short_texts_wrong_paths_and_missing_models_end_in_a_sentence(tmp_path, capsys):
    for count, code, said in ((1, 2, "two are needed"), (2, 0, "| repetition |")):
        rows = [
            {"id": f"t{i}", "text": f"Anna met Ben {i} times. She liked the garden."}
            for i in range(count)
        ]
        real, mine = write(tmp_path / "r.jsonl", rows), write(tmp_path / "m.jsonl", rows[:1])
        assert main(["criticize", str(real), str(mine), "--out", str(tmp_path / "out")]) == code
        assert said in "".join(capsys.readouterr())
    (tmp_path / "g").mkdir()
    assert (
        main(["criticize", str(tmp_path / "no"), str(tmp_path / "g"), "--out", str(tmp_path / "o")])
        == 2
    )
    assert "no such file or folder; give a folder" in capsys.readouterr().err
    refuses("no text to read", read_texts, tmp_path / "g")
    why = dict(criticize(["One. Two."] * 2, ["Three. Four."]).left_out)["language model"]
    assert "pip install --no-deps no-such-package and pip install 'longform[real]'" in why


def test_foreign_titles_shared_texts_and_lacking_parts_are_named(tmp_path, world):
    rows = [json.loads(line) for line in world["true"].read_text().splitlines()]
    for row in rows:
        row["sections"][0]["title"] = "prehistory"
    found = criticize(world["real"], write(tmp_path / "g.jsonl", rows))
    order = by_name(found)["section order"]
    # it is one of the rare titles of half of the real texts, with which no text of theirs begins
    assert order.generated.value > 1.5 * order.real.value and order.difference.p_value < 0.05
    assert "not scored are transitions to or from a title" in found.table()
    table = criticize(world["real"], world["real"]).table()
    assert "40 generated texts are near copies of real ones, 40 word for word" in table
    assert "Bonferroni" in table
    found = criticize(
        [f"One {i} two three four five." for i in range(4)], ["Six seven eight nine ten.", "Short."]
    )
    assert "(one text), 1 left out" in found.table()
    assert (
        "repetition: left out are texts without four words with blanks between them"
        in found.table()
    )


def test_an_installed_model_is_used_unless_none_is_asked_for(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(
        panels, "SMOLLM2", {"hub": str(lm_folder(tmp_path, window=1024)), "revision": "0" * 40}
    )
    rows = [f"Anna met Ben {i} times. She liked the garden." for i in range(4)]
    assert "language model" in by_name(criticize(rows, rows[:2]))
    assert "language model under 1 s (--model none leaves it out)" in capsys.readouterr().err
    left = dict(criticize(rows, rows[:2], model="none", encoder="none").left_out)
    assert left["language model"] == "--model none leaves it out"
    assert "language" not in capsys.readouterr().err
    assert left["sentence path (BBScore)"] == "--encoder none leaves it out"


@pytest.mark.parametrize(
    ("option", "place", "why"),
    [("--model", "missing", "no model folder"), ("--encoder", "missing", "no model folder"),
     ("--out", "file/below", "is a file; name a folder")],
)  # fmt: skip
def test_what_cannot_be_used_ends_before_any_work(tmp_path, world, capsys, option, place, why):
    (tmp_path / "file").write_text("")
    out = ["--out", str(tmp_path / "o"), option, str(tmp_path / place)]
    assert main(["criticize", str(world["real"]), str(world["true"]), *out]) == 2
    said = capsys.readouterr().err
    assert why in said and "done in" not in said


def test_a_tokenizer_file_that_holds_no_tokenizer_is_one_sentence(tmp_path, world):
    (tmp_path / "config.json").write_text("{}")
    for held in ("{}", "[]", "{"):
        (tmp_path / "tokenizer.json").write_text(held)
        for option in ("model", "encoder"):
            said = f"^--{option} .*tokenizer.json .*; fetch the folder again$"
            refuses(said, criticize, world["real"], world["true"], **{option: tmp_path})


def test_a_real_text_may_have_the_id_that_a_generated_one_is_given(tmp_path):
    for side, mark in (("real", "generated/"), ("made", "")):
        lines = [{"id": f"{mark}{i}", "text": f"Anna {side} {i}. She left."} for i in range(6)]
        (tmp_path / f"{side}.jsonl").write_text("\n".join(map(json.dumps, lines)))
    made = criticize(*map(tmp_path.joinpath, ("real.jsonl", "made.jsonl")), model="none")
    assert dict(made.left_out)["persons"].startswith("6 of 6")


def test_texts_may_be_given_as_lists_and_what_is_no_text_is_set_aside(world):
    for given in (
        "A text.\nIn two lines.",
        "Many words. " * 200,
        None,
        3,
    ):  # neither a name nor a list
        refuses("list of texts", criticize, world["real"], given)
    texts = [d.text for d in read_texts(world["real"]).documents]
    found = criticize(texts[:20], [*texts[20:], None, ""])
    assert len(found.real.documents) == len(found.generated.documents) == 20
    assert found.generated.set_aside == (
        ("text-21", "NoneType, not a text"),
        ("text-22", "no word in it"),
    )
    refuses("no text to read", criticize, texts, [])


WORLDS = {
    "sea": [
        "harbour",
        "ship",
        "sailor",
        "wave",
        "anchor",
        "tide",
        "gull",
        "pier",
        "mast",
        "rope",
        "crew",
        "storm",
    ],
    "farm": [
        "barn",
        "cow",
        "plough",
        "field",
        "wheat",
        "fence",
        "goat",
        "hay",
        "orchard",
        "well",
        "tractor",
        "seed",
    ],
    "mine": [
        "shaft",
        "coal",
        "ore",
        "lamp",
        "tunnel",
        "pit",
        "miner",
        "pick",
        "cart",
        "seam",
        "drill",
        "dust",
    ],
}


def told(world, sentences, rng):
    """Sentences of a world, of five nouns each."""
    return " ".join("The {} and the {} had a {}, a {} and a {}.".format(*rng.choice(WORLDS[world], 5, replace=False))
                    for _ in range(sentences))  # fmt: skip


def test_words_that_leave_the_topics_of_the_first_half_are_marked():
    rng = generator("worlds")
    real = [told(world, 8, rng) for _ in range(20) for world in WORLDS]
    swapped = [f"{told('sea', 4, rng)} {told('farm', 4, rng)}" for _ in range(10)]
    found = by_name(criticize(real, swapped))["kept topics"]
    assert found.verdict() == "higher than real text" and found.difference.p_value < 0.01
    marked = {swapped[0][a:b].strip(",.") for _, (a, b) in found.blame["generated/text-1"]}
    assert marked and marked <= set(WORLDS["farm"])


def test_real_texts_cut_in_half_are_no_worse_under_the_entity_grid(world):
    """Read whole, a cell's log-probability follows the number of sentences and half a real article is worse than real."""
    texts = read_texts(world["real"]).documents + read_texts(world["true"]).documents
    parts = [[sentence_texts(section.text) for section in d.sections] for d in texts[40:]]
    real, cut = (
        [d.text for d in texts[:40]],
        [" ".join(s for p in d for s in p[: (len(p) + 1) // 2]) for d in parts],
    )
    found = by_name(criticize(real, cut))["entity grid"]
    assert found.difference.p_value > 0.05 and found.real.excluded == 0
    documents = [
        Document(f"{i}", "test", (Section(None, text),)) for i, text in enumerate([*real, *cut])
    ]
    whole = found_grids(documents, NounRules(None).mentions)
    critic = EntityGrid().fit(whole[:20])
    assert (
        compare(
            critic,
            critic.sufficient_statistics(whole[40:]),
            critic.sufficient_statistics(whole[20:40]),
            generator("cut"),
        ).p_value
        < 0.01
    )


@pytest.mark.long  # it trains a head; test_panels_by_hand.py has the panel
def test_a_sentence_path_is_read_by_a_head_trained_on_the_real_texts(world, tmp_path):
    found = by_name(
        criticize(world["real"], world["broken"], encoder=lm_folder(tmp_path / "encoder"))
    )
    bbscore, density = found["sentence path (BBScore)"], found["sentence path (joint density)"]
    # 1 on the texts that the head was trained on, more on others
    assert 0.5 < density.real.value < 2
    units = density.panel.reader(
        [Document(f"d{i}", "train", (Section(None, LONG),)) for i in range(12)]
    )
    assert units[0].latents.shape[1] == 8  # the head's width, not the encoder's
    assert bbscore.real.value != density.real.value


def test_the_report_has_every_number_and_marks_and_escapes_texts(tmp_path, broken):
    index = broken.save(tmp_path / "out")
    assert index.is_file() and (tmp_path / "out" / "results.png").is_file()
    with (tmp_path / "out" / "results.csv").open() as file:
        assert len(list(csv.DictReader(file))) == 2 * len(broken.results)
    assert len(list((tmp_path / "out" / "texts").glob("*.html"))) == 20
    assert "<mark" in next((tmp_path / "out" / "texts").glob("*.html")).read_text()
    document = broken.generated.documents[0]
    found = marks(document, broken.results)
    assert found and all(0 <= start < end <= len(document.text) for start, end, _, _ in found)
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
    refuses(
        "whose texts are read",
        check,
        tmp_path / "in" / "out",
        (tmp_path / "in", tmp_path / "b.jsonl"),
    )
    refuses("no folder can be written there", check, tmp_path / ("x" * 300))
    refuses("which no report wrote", check, Path("/"))
    check(tmp_path / "new" / "below")
    assert not (tmp_path / "new").exists() and not [
        p for p in tmp_path.iterdir() if p.name.startswith(".")
    ]


def test_a_report_that_is_cut_off_leaves_the_earlier_one_whole(tmp_path, broken, monkeypatch):
    def held():
        return {path: path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()}

    broken.save(tmp_path / "out")
    before = held()
    monkeypatch.setattr(report, "index", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        broken.save(tmp_path / "out")
    assert held() == before
    (tmp_path / ".out.partial" / "texts").mkdir(
        parents=True
    )  # a kill leaves what was being written
    monkeypatch.undo()
    broken.save(tmp_path / "out")
    assert not (tmp_path / ".out.partial").exists()


def test_differences_and_the_figure_are_said_and_drawn_as_they_are(broken):
    one = broken.results[0]
    parts = [replace(one.difference, p_value=p, difference=1.0) for p in (0.2, 0.03, 0.001)]
    seen = [replace(one, difference=part).verdict(0.01) for part in parts]
    assert seen == [
        "no difference found",
        "higher than real text, were this the only test",
        "higher than real text",
    ]
    still = replace(one, real=replace(one.real, low=one.real.value, high=one.real.value))
    assert _half_width(still) == (one.generated.high - one.generated.low) / 2
    assert _half_width(replace(still, generated=replace(one.generated, low=1.0, high=1.0))) == 1.0


def test_a_page_shows_its_headings_and_a_repeated_sentence_is_marked_once(world):
    real = list(read_texts(world["real"]).documents)
    text = real[0].sections[0].text
    first = sentence_texts(text)[0]
    said = replace(
        real[0], sections=(Section("lead <b>", f"{text} {first} The end."), *real[0].sections[1:])
    )
    texts = [*real[1:], replace(said, split="generated", id="generated/x")]
    again = judge(
        {one.name: one for one in panels.panels(Options())}["repetition"],
        ComparedTexts.of(texts),
        1,
    )
    shown = page(replace(said, id="x"), [again])
    assert "<h2>lead &lt;b&gt;</h2>" in shown
    ((_, (start, end)), *others) = again.blame["generated/x"]
    assert said.text[start:end] == first and start > 0
    assert len({span for _, span in again.blame["generated/x"]}) == 1 + len(others)
    for values, named in (([2.3, 0.5, 2.3, 2.3], [0, 2, 3]), ([1.0, 1.0], []), ([5.0, 1.0, 1.0, 1.1], [0]),
                          ([1.0, float("nan"), 3.0], [2]), ([], [])):  # fmt: skip
        spans = [
            (i, i + 1) for i in range(len(values))
        ]  # what is above the mean stands out, even where most is bad
        assert [span[0] for _, span in worst_places(np.array(values), spans)] == named


def test_bad_records_odd_ids_and_titles_are_set_aside_or_numbered(tmp_path):
    lines = [
        '{"id": "a", "text": "A good text."}', "not json", '{"text": 3}', "[1]", '{"id": "a", "text": "Again."}',
        '{"text": "   "}', '{"sections": []}', '{"sections": [{"title": 1, "text": "x"}]}', '{"id": [1], "text": "x"}', "",
    ]  # fmt: skip
    (tmp_path / "t.jsonl").write_bytes("\n".join(lines).encode() + b'\n{"text": "\xff"}\n')
    found = read_texts(tmp_path / "t.jsonl")
    assert [d.id for d in found.documents] == ["a"]
    assert [place for place, _ in found.set_aside] == [
        f"line {n}" for n in (2, 3, 4, 5, 6, 7, 8, 9, 11)
    ]
    rows = [{"id": "", "text": "A."}, {"id": True, "text": "B."}, {"id": 1.5, "text": "C."},
            {"title": {"a": 1}, "text": "D."}]  # fmt: skip
    found = read_texts(write(tmp_path / "x.jsonl", rows))
    assert [d.id for d in found.documents] == ["line-1"]
    assert [place for place, _ in found.set_aside] == ["line 2", "line 3", "line 4"]
    rows = [{"id": None, "text": "One."}, {"text": "Two."}, {"id": 3, "text": "Three."}]
    assert [d.id for d in read_texts(write(tmp_path / "x.jsonl", rows)).documents] == [
        "line-1",
        "line-2",
        "3",
    ]


def test_folders_are_read_by_name_and_markdown_headings_begin_sections(tmp_path):
    (tmp_path / "b.txt").write_text("Plain text.\n\nWith a gap.", encoding="utf-8")
    (tmp_path / "a.md").write_text("Before.\n# History #\nThen.\n## Later\nNow.", encoding="utf-8")
    (tmp_path / "c.pdf").write_bytes(b"%PDF")
    (tmp_path / "d.txt").write_bytes(b"bad \xff")
    found = read_texts(tmp_path)
    assert [d.id for d in found.documents] == ["a.md", "b.txt"]
    shown = [(s.title, s.text) for s in found.documents[0].sections]
    assert shown == [("(lead)", "Before."), ("history", "Then."), ("later", "Now.")]
    assert found.documents[1].text == "Plain text.\n\nWith a gap."
    assert dict(found.set_aside) == {
        "c.pdf": "none of .txt, .md, .markdown",
        "d.txt": "line 1: not UTF-8 (invalid start byte) at byte 4; save it as UTF-8",
    }
    (tmp_path / "a.md").write_text(
        "# The town\n\nA lead.\n\n## History\n\nThen.\n```\n# comment\n```\n"
    )
    (tmp_path / "b.md").write_text("# One\nText.\n# Two\nMore.", encoding="utf-8")
    (tmp_path / "c.md").write_text("# a" + " " * 300_000 + "b\nWords.")  # which takes no time
    first, second, _, blanks = read_texts(tmp_path).documents
    assert blanks.text == "Words."
    assert [s.title for s in first.sections] == [
        "(lead)",
        "history",
    ] and "# comment" in first.sections[1].text
    assert [s.title for s in second.sections] == ["one", "two"]


def test_a_file_name_that_is_no_text_is_told_and_the_report_written(tmp_path):
    (tmp_path / "a.txt").write_text("Some words.", encoding="utf-8")
    try:
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.pdf")).write_bytes(b"%PDF")
    except OSError:
        pytest.skip("this file system wants names in UTF-8")
    ((place, why),) = read_texts(tmp_path).set_aside
    assert place.encode("utf-8") and why == "none of .txt, .md, .markdown"


def test_halves_depend_on_texts_not_order_and_unreadable_files_are_counted(tmp_path):
    rows = [{"id": f"t{i}", "text": f"Text number {i} is here."} for i in range(9)]
    one, other = (
        halves(read_texts(write(tmp_path / "a.jsonl", order)).documents)
        for order in (rows, rows[::-1])
    )
    assert {d.id: d.split for d in one} == {d.id: d.split for d in other}
    assert sorted(d.split for d in one) == ["test"] * 5 + ["train"] * 4
    folder = tmp_path / "texts"
    (folder / ".git").mkdir(parents=True)
    for name in ("a.txt", ".hidden.txt", ".git/config.txt"):
        (folder / name).write_text("A text.")
    (folder / "gone.txt").symlink_to(tmp_path / "nowhere.txt")
    found = read_texts(folder)
    assert [d.id for d in found.documents] == ["a.txt"]
    assert [place for place, _ in found.set_aside] == ["gone.txt", "2 hidden files"]


def test_a_model_that_reads_to_both_sides_is_refused_at_once(tmp_path, world, monkeypatch):
    bpe_folder(tmp_path)
    sizes = {
        "hidden_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 16,
    }
    config = AutoConfig.for_model("electra", vocab_size=300, **sizes)
    AutoModelForCausalLM.from_config(config).save_pretrained(tmp_path)
    monkeypatch.setattr(judging, "judge", lambda *_: pytest.fail("a critic ran"))
    said = "^--model .*a network of kind 'electra' reads to both sides"
    refuses(said, criticize, world["real"], world["true"], model=tmp_path)


@pytest.mark.parametrize(
    "error", [RuntimeError("out of memory"), KeyError("a bug"), BadInput("no such token")]
)
def test_a_critic_that_fails_is_one_row_and_the_others_stand(tmp_path, monkeypatch, capsys, error):
    def broken(*_, **__):
        raise error

    monkeypatch.setattr(token_predictions, "read", broken)
    texts = [f"Anna met Ben {i} times. She liked the garden near the old town." for i in range(4)]
    found = criticize(texts, texts[:2], model=lm_folder(tmp_path / "lm", window=256))
    assert dict(found.failed).keys() == {"language model"} and "repetition" in by_name(found)
    assert "| language model | | | | failed, see below |" in found.table()
    assert "failed: language model: " in found.table()
    assert str(error.args[0]) in dict(found.failed)["language model"]
    shown = capsys.readouterr().err
    assert ("Traceback" in shown) == (not isinstance(error, BadInput))
    record = found.save(tmp_path / "out").parent / "results.json"
    assert [name for name, _ in json.loads(record.read_text())["failed"]] == ["language model"]


def test_a_mapping_of_texts_is_refused_where_its_keys_would_be_read():
    refuses(
        "got dict; give a .jsonl file, a folder, or a list of texts",
        read_texts,
        {"a": "A text.", "b": "Another."},
    )
