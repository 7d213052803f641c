"""Long sampling: one document's text is the same in any batch, order, shard, process, and through a kill."""

import hashlib
import json
import signal
import time
from multiprocessing import get_context

import pytest
import torch
from tiny import documents, lm_folder
from transformers import AutoModelForCausalLM, GPT2LMHeadModel

from longform.decoding import long_documents
from longform.decoding.certain_draws import Referee, gumbel, keys
from longform.decoding.long_documents import Draft, Sampling, context_start, generate, sample
from longform.language_models.checkpoints import load_tokenizer
from longform.language_models.tokenizers import STARTS, article_ids, document_rows
from tests.refusals import refuses

DOCUMENTS, TOKENS = 64, 40
PROTOCOLS = [None, 10]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return lm_folder(tmp_path_factory.mktemp("lm"), window=16)


def make(model, scratch, **over):
    scratch.mkdir(parents=True, exist_ok=True)
    settings = {"documents": DOCUMENTS, "batch": DOCUMENTS, "max_tokens": TOKENS, "context_overlap": 10} | over
    given = {"titles": False, "packing": "stream", "name": "tiny", "seed": 3, "prefixes": documents()} | settings
    return generate(model=model, scratch=scratch, **given)


def hashes(corpus):
    return [hashlib.sha256(json.dumps(d.to_record(), sort_keys=True).encode()).hexdigest() for d in corpus.documents]


@pytest.fixture(scope="module")
def whole(model, tmp_path_factory):
    """Hashes of all documents under each protocol, from one batch."""
    return {k: hashes(make(model, tmp_path_factory.mktemp("whole"), context_overlap=k)) for k in PROTOCOLS}


def test_a_text_begins_as_the_texts_of_its_training_began(model, tmp_path, monkeypatch):
    tokenizer, written = load_tokenizer(model), documents()[:2]
    rows = document_rows(written, tokenizer, False, 10**6)
    assert all(row[: len(STARTS["documents"](tokenizer))] == STARTS["documents"](tokenizer) for row in rows)
    first, second = (article_ids(document, tokenizer, False) for document in written)
    start = STARTS["stream"](tokenizer)
    assert (first + second)[len(first) + 1 - len(start) :][: len(start)] == start
    seen = []
    monkeypatch.setattr(long_documents, "sample", lambda referee, drafts, *_: seen.extend(list(d.ids) for d in drafts))
    for packing in STARTS:
        make(model, tmp_path / packing, packing=packing, redraws=0)
    assert [list(ids) for ids in dict.fromkeys(map(tuple, seen))] == [STARTS[packing](tokenizer) for packing in STARTS]
    refuses("packing 'rows', allowed are", make, model, tmp_path / "rows", packing="rows")


@pytest.mark.parametrize("overlap", PROTOCOLS)
@pytest.mark.parametrize("batch", [1, 8])
def test_hashes_are_those_of_one_batch(model, whole, tmp_path, overlap, batch):
    assert len(set(whole[overlap])) == DOCUMENTS
    assert hashes(make(model, tmp_path, context_overlap=overlap, batch=batch)) == whole[overlap]


@pytest.mark.parametrize("overlap", PROTOCOLS)
def test_two_processes_write_the_same_documents(model, whole, tmp_path, overlap, two_processes):
    made = make(model, tmp_path, context_overlap=overlap, batch=16)
    lines = [len(p.read_text().splitlines()) for p in sorted(tmp_path.glob("drafts-*.jsonl"))]
    assert hashes(made) == whole[overlap] and lines == [DOCUMENTS // 2, DOCUMENTS // 2]


def test_fewer_documents_are_the_first_and_a_process_without_one_does_no_harm(model, whole, tmp_path, two_processes):
    assert hashes(make(model, tmp_path, documents=1)) == whole[10][:1]
    two_processes.undo()
    assert hashes(make(model, tmp_path, documents=5)) == whole[10][:5]


def make_slowly(*arguments, **over):
    append = long_documents.append_lines

    def slow(*rest):
        append(*rest)
        time.sleep(0.5)

    long_documents.append_lines = slow
    make(*arguments, **over)


@pytest.mark.parametrize("overlap", PROTOCOLS)
def test_a_run_killed_by_sigkill_ends_with_the_same_documents(model, whole, tmp_path, overlap):
    forked, slowly = get_context("fork"), {"context_overlap": overlap, "batch": 8}  # no second import of torch
    run = forked.Process(target=make_slowly, args=(model, tmp_path), kwargs=slowly)
    run.start()
    deadline = time.monotonic() + 120
    drafts = tmp_path / "drafts-0.jsonl"
    while not (drafts.is_file() and drafts.stat().st_size) and run.is_alive() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert run.is_alive(), "the run ended before it could be killed"
    run.kill()
    run.join()
    assert run.exitcode == -signal.SIGKILL
    before = (tmp_path / "drafts-0.jsonl").read_bytes()
    assert 0 < before.count(b"\n") < DOCUMENTS
    (tmp_path / "drafts-0.jsonl").write_bytes(before[:-9])  # as if the kill had come in mid-line
    assert hashes(make(model, tmp_path, context_overlap=overlap)) == whole[overlap]
    assert (tmp_path / "drafts-0.jsonl").read_bytes().startswith(before[:-9] + b"\n")  # taken up, not begun again


@pytest.mark.parametrize("overlap", PROTOCOLS)
def test_each_text_is_that_of_the_float64_model_read_alone(model, overlap):
    """The definition, replayed draw by draw with a plain forward pass over the context of the protocol."""
    network = AutoModelForCausalLM.from_pretrained(model).eval()
    drafts = [Draft(i, 0, 100 + i, [0, 5, 0]) for i in range(3)]
    sample(Referee(network, margin=1e-4), drafts, Sampling(50, overlap, 16), end=-1)
    network = network.double()
    for draft in drafts:
        assert len(draft.ids) == 50
        for place in range(3, 50):
            context = torch.tensor([draft.ids[context_start(place, 16, overlap) : place]])
            with torch.no_grad():
                scores = network(context).logits[0, -1] + gumbel(keys([draft.key], place), 300, torch.float64)[0]
            assert int(scores.argmax()) == draft.ids[place], place


def test_a_window_makes_the_texts_of_a_network_of_so_many_positions(tmp_path):
    long, short = lm_folder(tmp_path / "long", window=32), tmp_path / "short"
    network = AutoModelForCausalLM.from_pretrained(long)
    kept = {name: value[:16] if "wpe" in name else value for name, value in network.state_dict().items()}
    network.config.n_positions = 16
    cut = GPT2LMHeadModel(network.config)
    cut.load_state_dict(kept)
    cut.save_pretrained(short)
    load_tokenizer(long).save_pretrained(short)
    few = {"documents": 4, "batch": 4}
    assert hashes(make(long, tmp_path / "a", window=16, **few)) == hashes(make(short, tmp_path / "b", **few))
    assert hashes(make(long, tmp_path / "c", **few)) != hashes(make(short, tmp_path / "d", **few))
    refuses("window is 33, allowed is 2 to 32", make, long, tmp_path / "e", window=33)


def rough(monkeypatch, size):
    """Let every float32 pass err by a number that depends on the shape of its batch, as a GEMM's rounding does."""
    plain = GPT2LMHeadModel.forward

    def forward(self, input_ids, **rest):
        output = plain(self, input_ids=input_ids, **rest)
        if output.logits.dtype == torch.float32:
            errors = torch.Generator().manual_seed(1000 * len(input_ids) + input_ids.shape[1])
            output.logits = output.logits + size * torch.rand(output.logits.shape, generator=errors)
        return output

    monkeypatch.setattr(GPT2LMHeadModel, "forward", forward)


@pytest.mark.parametrize("overlap", PROTOCOLS)
def test_errors_that_differ_from_batch_to_batch_change_no_text(model, whole, tmp_path, monkeypatch, overlap):
    rough(monkeypatch, 1e-2)
    assert hashes(make(model, tmp_path, context_overlap=overlap, batch=16)) == whole[overlap]


def test_without_the_referee_such_errors_change_texts(model, whole, tmp_path, monkeypatch):
    rough(monkeypatch, 1e-2)
    monkeypatch.setattr(long_documents, "calibrated", lambda network, *_: Referee(network, margin=0.0))
    monkeypatch.setattr(Referee, "decide", lambda self, context, seen, words, rule: int(seen.argmax()))
    assert hashes(make(model, tmp_path, batch=16)) != whole[10]


def test_malformed_titled_articles_are_drawn_again_and_counted(model, tmp_path):
    made = make(model, tmp_path, titles=True, redraws=2, max_tokens=20, documents=6)
    assert made.facts["redraws"] > 0
    assert made.facts["documents"] + made.facts["failed"] == 6 == len(made.documents) + made.facts["failed"]
    assert all(section.title for document in made.documents for section in document.sections)


@pytest.mark.parametrize(("over", "sentence"),
                         [({"documents": 0}, "documents is 0, allowed is 1"), ({"batch": 0}, "batch is 0"),
                          ({"batch": 2.5}, r"batch is 2\.5"),
                          ({"context_overlap": 16}, "context_overlap is 16, allowed is 1 to 15"),
                          ({"temperature": 0}, "temperature is 0"), ({"temperature": float("nan")}, "temperature is nan")])  # fmt: skip
def test_bad_settings_are_one_sentence(model, tmp_path, over, sentence):
    refuses(sentence, make, model, tmp_path, **over)
