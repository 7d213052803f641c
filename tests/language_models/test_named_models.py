"""A model by the name that a person gives: a folder, a GGUF file, a place on the hub, the packaged one."""

import json
import os

import pytest
import torch
from tiny import bpe_folder, lm_folder
from transformers import AutoModelForCausalLM

from experiments.gpu.tiny_gguf import tiny_llama, write_gguf
from longform.cli import main
from longform.language_models import named_models
from longform.language_models.checkpoints import load_model, load_tokenizer, source
from longform.language_models.named_models import SMOLLM2, named_model
from longform.language_models.trial import open_language_model
from longform.terminal import stay_offline_unless_named
from tests.refusals import refuses

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture(scope="module")
def gguf_file(tmp_path_factory):
    """(a GGUF file, the network that was written into it, its tokenizer)."""
    folder = tmp_path_factory.mktemp("gguf")
    tokenizer = load_tokenizer(bpe_folder(folder / "bpe"))
    network = tiny_llama(tokenizer)
    write_gguf(folder / "tiny.gguf", network, tokenizer)
    return folder / "tiny.gguf", network, tokenizer


def test_a_gguf_file_is_read_as_the_network_that_was_written(gguf_file):
    path, network, tokenizer = gguf_file
    with named_model(path).opened_folder() as folder:
        words, found = open_language_model(folder)
    assert not hasattr(found.config, "quantization_config") and not found.training
    ids = torch.tensor([tokenizer("the town lies on a river")["input_ids"]])
    assert words("the town lies on a river")["input_ids"][-3:] == ids[0, -3:].tolist()
    with torch.no_grad():
        assert torch.allclose(found(ids).logits, network(ids).logits, atol=1e-5)


def test_criticize_reads_texts_with_a_gguf_file(gguf_file, tmp_path, capsys):
    for side in ("real", "machine"):
        lines = [json.dumps({"text": f"the town has {n} old houses. {side}."}) for n in range(4)]
        (tmp_path / f"{side}.jsonl").write_text("\n".join(lines), encoding="utf-8")
    places = [str(tmp_path / f"{side}.jsonl") for side in ("real", "machine")]
    command = ["criticize", *places, "--model", str(gguf_file[0]), "--out", str(tmp_path / "out")]
    assert main(command) == 0
    assert "| language model |" in capsys.readouterr().out


def test_a_hub_model_is_named_with_its_commit():
    for name in (f"owner/small-model@{COMMIT}", f"hub:owner/small-model@{COMMIT}"):
        model = named_model(name)
        with model.opened_folder() as folder:
            wanted = {"pretrained_model_name_or_path": "owner/small-model", "revision": COMMIT}
            assert source(folder) == wanted
        assert model.is_on_hub


def test_smollm2_is_the_file_of_its_package():
    assert dict(named_model("smollm2").pointer) == SMOLLM2


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("nowhere", "nowhere: no model folder, file or hub model"),
        ("owner/model", "OWNER/NAME@COMMIT with a commit of 40 digits"),
        ("owner/model@main", "copy one from https://huggingface.co"),
        ("absent.gguf", "absent.gguf: no model folder, file or hub model"),
    ],
)
def test_what_is_no_model_is_said_with_the_forms_that_are(name, sentence):
    refuses(sentence, named_model, name)


def test_a_folder_without_a_configuration_is_no_model(tmp_path):
    refuses("config.json or pointer.json", named_model, tmp_path)


def test_errors_speak_of_the_name_and_not_of_a_folder_behind_it(tmp_path):
    (tmp_path / "broken.gguf").write_bytes(b"GGUF\x03\0\0\0" + b"\0" * 40)
    model = named_model(tmp_path / "broken.gguf")

    def opened():
        with model.opened_folder() as folder:
            open_language_model(folder)

    refuses(rf"^{tmp_path}/broken\.gguf: no tokenizer could be opened", opened)


@pytest.mark.parametrize("size", [10, 200, 4000])
def test_a_gguf_file_that_is_cut_off_is_refused_in_a_sentence(gguf_file, tmp_path, size):
    path = tmp_path / "cut.gguf"
    path.write_bytes(gguf_file[0].read_bytes()[:size])
    with named_model(path).opened_folder() as folder:
        for open_it in (load_tokenizer, lambda folder: load_model(folder, AutoModelForCausalLM)):
            refuses("could be opened .*fetch it again", open_it, folder)


def test_a_gguf_file_with_an_impossible_length_is_refused(gguf_file, tmp_path):
    content = bytearray(gguf_file[0].read_bytes())
    content[24:32] = b"\xff" * 7 + b"\x7f"  # the length of the first key
    path = tmp_path / "long.gguf"
    path.write_bytes(content)
    with named_model(path).opened_folder() as folder:
        refuses("damaged.*fetch it again", load_tokenizer, folder)


def test_a_gguf_file_needs_its_readers_installed(gguf_file, monkeypatch):
    monkeypatch.setattr(named_models, "GGUF_READERS", ("no_such_reader",))
    refuses(r"'no_such_reader' is not installed.*longform\[real\]", named_model, gguf_file[0])


def test_stamps_change_with_the_files_and_with_the_commit(tmp_path):
    folder = lm_folder(tmp_path / "lm")
    before = named_model(folder).stamps()
    assert before == named_model(folder).stamps()
    (folder / "config.json").write_text((folder / "config.json").read_text() + " ")
    assert before != named_model(folder).stamps()
    other = COMMIT.replace("0", "f")
    assert named_model(f"a/b@{COMMIT}").stamps() != named_model(f"a/b@{other}").stamps()


def test_the_network_is_used_only_for_what_is_named_there(monkeypatch):
    for names in (["texts", None], ["real.jsonl", "b=texts"]):
        monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
        stay_offline_unless_named(*names)
        assert os.environ["HF_HUB_OFFLINE"] == "1"
    for names in ([f"a/b@{COMMIT}"], [f"b=hub:o/n@{COMMIT}:t.csv"], [None, "hub:o/n@1:t.csv"]):
        monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
        stay_offline_unless_named(*names)
        assert "HF_HUB_OFFLINE" not in os.environ
