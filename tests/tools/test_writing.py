"""Any model writes with any decoder: greedy text by hand, resumed runs, settings, files."""

import json

import pytest
import torch
from tiny import lm_folder

from longform.cli import main
from longform.decoding import continuations
from longform.decoding.decoders import DECODERS
from longform.language_models.trial import open_language_model
from longform.tools.writing import decoder_settings, generate, plan_writing
from tests.refusals import refuses

PROMPTS = ["the town lies on a river", "many old houses", "its people work in the fields"]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return lm_folder(tmp_path_factory.mktemp("lm"), window=64)


def greedy_text(model, prompt, new_tokens):
    """The likeliest token again and again, by whole passes of the network; the end token is banned."""
    tokenizer, network = open_language_model(model)
    ids = [tokenizer.bos_token_id, *tokenizer(prompt)["input_ids"]]
    start = len(ids)
    for _ in range(new_tokens):
        with torch.no_grad():
            logits = network(torch.tensor([ids])).logits[0, -1]
        logits[tokenizer.eos_token_id] = -torch.inf
        ids.append(int(logits.argmax()))
    return tokenizer.decode(ids[start:])


def test_a_text_is_a_prompt_as_it_is_and_greedy_takes_likeliest_tokens(model):
    writing = generate(model, PROMPTS, "greedy", new_tokens=6)
    assert [text.prompt for text in writing.texts["greedy"]] == PROMPTS
    for text in writing.texts["greedy"]:
        assert text.text == greedy_text(model, text.prompt, 6)
        assert text.tokens == 6 and text.nats_per_token > 0


def test_every_decoder_but_people_continues_a_text(model):
    kinds = [kind for kind in DECODERS if kind != "human"]
    writing = generate(model, PROMPTS[:1], kinds, new_tokens=3, repeats=1)
    assert list(writing.texts) == kinds
    assert all(len(texts) == 1 for texts in writing.texts.values())


def test_a_decoder_is_named_with_its_settings_and_a_name_of_ones_own():
    found = decoder_settings(["delayed_beam", "wide=beam:beams=30,blocking=3", "top_p:p=0.9"])
    assert found == {
        "delayed_beam": {"kind": "delayed_beam"},
        "wide": {"kind": "beam", "beams": 30, "blocking": 3},
        "top_p": {"kind": "top_p", "p": 0.9},
    }
    for written, sentence in (
        ("delaid_beam", "delayed_beam"),
        ("top_k:q=3", "'q'"),
        ("top_k:k", "write it as NAME=NUMBER"),
        ("top_k:k=many", "'many' is no number"),
    ):
        refuses(sentence, decoder_settings, [written])
    refuses(
        "'=greedy': the decoder has no name; write KIND, or NAME=KIND", decoder_settings, "=greedy"
    )
    refuses("two decoders are called 'top_k'", decoder_settings, ["top_k", "top_k:k=3"])


def test_a_stopped_run_goes_on_and_ends_with_the_same_texts(model, tmp_path, monkeypatch):
    def write(folder):
        return generate(
            model, PROMPTS, ["top_k", "greedy"], new_tokens=4, batch=2, out=tmp_path / folder
        )

    whole = write("whole")
    decoded = []
    real_decode = continuations.decode

    def stops(network, prompts, *others):
        if len(decoded) == 3:
            raise KeyboardInterrupt
        decoded.append(len(prompts))
        return real_decode(network, prompts, *others)

    monkeypatch.setattr(continuations, "decode", stops)
    with pytest.raises(KeyboardInterrupt):
        write("stopped")
    done = list(decoded)
    monkeypatch.setattr(
        continuations, "decode", lambda *given: decoded.append(1) or real_decode(*given)
    )
    resumed = write("stopped")
    assert len(decoded) - len(done) == 4  # of seven batches three were done before
    assert resumed.texts == whole.texts
    files = sorted(path.name for path in (tmp_path / "stopped").iterdir())
    assert files == ["greedy.jsonl", "top_k.jsonl", "writing.json"]


def test_unfinished_work_of_other_settings_is_not_taken_up(model, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(
            "longform.tools.writing._save", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt)
        )
        with pytest.raises(KeyboardInterrupt):
            generate(model, PROMPTS, "greedy", new_tokens=4, out=tmp_path)
    (text, *_) = generate(model, PROMPTS, "greedy", new_tokens=6, out=tmp_path).texts["greedy"]
    assert text.tokens == 6


def test_prompts_are_not_overwritten_by_texts(model, tmp_path):
    prompts = tmp_path / "greedy.jsonl"
    prompts.write_text('{"text": "the town"}\n', encoding="utf-8")
    sentence = "greedy.jsonl is read, and would be overwritten; name another place"
    refuses(sentence, generate, model, prompts, "greedy", new_tokens=2, out=tmp_path)
    assert prompts.read_text(encoding="utf-8") == '{"text": "the town"}\n'
    assert generate(model, prompts, "top_k", new_tokens=2, out=tmp_path).folder == tmp_path


def test_articles_are_continued_behind_their_first_sentence_as_people_did(model):
    article = "Riverton is a town. It lies on a river. Its people work."
    writing = generate(
        model, [article], ["human", "greedy"], prompt="first_sentence", new_tokens=20
    )
    (human,) = writing.texts["human"]
    assert human.prompt == "Riverton. Riverton is a town."
    assert human.text == " It lies on a river. Its people work."[: len(human.text)] != ""
    refuses("take --prompt first_sentence", generate, model, [article], "human")


def test_the_command_writes_a_file_of_texts_for_each_decoder(model, tmp_path, capsys):
    lines = [json.dumps({"id": f"p{n}", "text": text}) for n, text in enumerate(PROMPTS)]
    (tmp_path / "prompts.jsonl").write_text("\n".join(lines), encoding="utf-8")
    command = ["generate", str(model), "--prefixes", str(tmp_path / "prompts.jsonl")]
    command += ["--decoder", "greedy", "--decoder", "top_k:k=3", "--new-tokens", "4"]
    command += ["--out", str(tmp_path / "out")]
    assert main(command) == 0
    printed = capsys.readouterr()
    assert "3 prompts; continuations: greedy 3, top_k 9; 48 tokens" in printed.err
    assert "| top_k | 9 | 36 |" in printed.out
    rows = [json.loads(line) for line in (tmp_path / "out" / "top_k.jsonl").open(encoding="utf-8")]
    assert [row["id"] for row in rows[:4]] == ["p0/1", "p0/2", "p0/3", "p1/1"]
    assert main([*command, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["facts"]["new_tokens"] == 4
    assert main([*command, "--plan"]) == 0
    assert capsys.readouterr().out.startswith(f"{model}: 3 prompts")
    assert main(["decoders"]) == 0
    assert "\ndelayed_beam  " in capsys.readouterr().out
    assert main([*command, "--decoder", "beem"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_plan_refuses_more_tokens_than_the_model_reads(model):
    refuses("no prefix of 3 can be used .3 too long for", plan_writing, model, PROMPTS, "greedy",
            new_tokens=100_000)  # fmt: skip


def test_the_plan_counts_and_guesses_a_time(model):
    plan = plan_writing(model, PROMPTS, ["greedy", "top_k"], new_tokens=5, repeats=2)
    assert plan.continuations == {"greedy": 6, "top_k": 6}
    assert plan.seconds > 0 and "60 tokens at most; about" in plan.text()
