"""Long sampling: a document's text is the same in any batch, order, shard, process, and through a kill, as float64 would decide."""

import copy
import hashlib
import json
from functools import partial

import numpy as np
import pytest
import torch
from scipy import stats
from tiny import documents, lm_folder
from transformers import (
    AutoModelForCausalLM,
    GPT2Config,
    GPT2LMHeadModel,
    GPTNeoConfig,
    GPTNeoForCausalLM,
    GPTNeoXConfig,
    GPTNeoXForCausalLM,
    MistralConfig,
)

from longform.decoding import exact_sampling, long_documents
from longform.decoding.contexts import Contexts
from longform.decoding.exact_sampling import Referee, Truncation, calibrated, gumbel, keys
from longform.decoding.long_documents import Draft, Sampling, context_start, generate, sample
from longform.language_models.checkpoints import load_tokenizer
from longform.language_models.tokenizers import STARTS, article_ids, document_rows
from tests.kills import killed
from tests.refusals import refuses

DOCUMENTS, TOKENS = 32, 40
PROTOCOLS = [None, 10]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return lm_folder(tmp_path_factory.mktemp("lm"), window=16)


def make(model, scratch, **over):
    scratch.mkdir(parents=True, exist_ok=True)
    settings = {
        "documents": DOCUMENTS,
        "batch": DOCUMENTS,
        "max_tokens": TOKENS,
        "context_overlap": 10,
    } | over
    given = {
        "titles": False,
        "packing": "stream",
        "name": "tiny",
        "seed": 3,
        "prefixes": documents(),
    } | settings
    return generate(model=model, scratch=scratch, **given)


def hashes(corpus):
    return [
        hashlib.sha256(json.dumps(d.to_record(), sort_keys=True).encode()).hexdigest()
        for d in corpus.documents
    ]


@pytest.fixture(scope="module")
def whole(model, tmp_path_factory):
    """Hashes of all documents under each protocol, from one batch."""
    return {
        k: hashes(make(model, tmp_path_factory.mktemp("whole"), context_overlap=k))
        for k in PROTOCOLS
    }


def test_a_text_begins_as_the_texts_of_its_training_began(model, tmp_path, monkeypatch):
    tokenizer, written = load_tokenizer(model), documents()[:2]
    rows = document_rows(written, tokenizer, False, 10**6)
    assert all(
        row[: len(STARTS["documents"](tokenizer))] == STARTS["documents"](tokenizer) for row in rows
    )
    first, second = (article_ids(document, tokenizer, False) for document in written)
    start = STARTS["stream"](tokenizer)
    assert (first + second)[len(first) + 1 - len(start) :][: len(start)] == start
    seen = []

    def begin_only(referee, drafts, settings, end, tick, rows, done):
        seen.extend(list(draft.ids) for draft in drafts)
        done(drafts)

    monkeypatch.setattr(long_documents, "sample", begin_only)
    for packing in STARTS:
        make(model, tmp_path / packing, packing=packing, redraws=0)
    assert [list(ids) for ids in dict.fromkeys(map(tuple, seen))] == [
        STARTS[packing](tokenizer) for packing in STARTS
    ]
    refuses("packing 'rows', allowed are", make, model, tmp_path / "rows", packing="rows")


@pytest.mark.parametrize("overlap", PROTOCOLS)
@pytest.mark.parametrize(
    ("batch", "count"), [(1, 6), pytest.param(8, DOCUMENTS, marks=pytest.mark.long)]
)
def test_hashes_are_those_of_one_batch(model, whole, tmp_path, overlap, batch, count):
    assert len(set(whole[overlap])) == DOCUMENTS
    made = make(model, tmp_path, context_overlap=overlap, batch=batch, documents=count)
    assert hashes(made) == whole[overlap][:count]


@pytest.mark.parametrize("overlap", [None, pytest.param(10, marks=pytest.mark.long)])
def test_two_processes_write_the_same_documents(model, whole, tmp_path, overlap, two_processes):
    made = make(model, tmp_path, context_overlap=overlap, batch=16)
    lines = [len(p.read_text().splitlines()) for p in sorted(tmp_path.glob("drafts-*.jsonl"))]
    assert hashes(made) == whole[overlap] and lines == [DOCUMENTS // 2, DOCUMENTS // 2]
    few, given = (
        tmp_path / "few",
        {"context_overlap": overlap},
    )  # a process without a document does no harm
    assert hashes(make(model, few, documents=1, **given)) == whole[overlap][:1]
    two_processes.undo()
    assert hashes(make(model, few, documents=5, **given)) == whole[overlap][:5]


@pytest.mark.parametrize("overlap", PROTOCOLS)
def test_a_run_killed_by_sigkill_ends_with_the_same_documents(model, whole, tmp_path, overlap):
    drafts, slow = tmp_path / "drafts-0.jsonl", (long_documents, "append_lines")
    killed(make, model, tmp_path, context_overlap=overlap, batch=8, slow=slow,
           until=lambda: drafts.is_file() and drafts.stat().st_size)  # fmt: skip
    before = drafts.read_bytes()
    assert 0 < before.count(b"\n") < DOCUMENTS
    drafts.write_bytes(before[:-9])  # as if the kill had come in mid-line
    assert hashes(make(model, tmp_path, context_overlap=overlap)) == whole[overlap]
    assert drafts.read_bytes().startswith(before[:-9] + b"\n")  # taken up, not begun again


@pytest.mark.parametrize("on_device", [False, True])
@pytest.mark.parametrize("overlap", PROTOCOLS)
def test_each_text_is_that_of_the_float64_model_read_alone(model, overlap, on_device, monkeypatch):
    """The definition, replayed draw by draw with a plain forward pass over the context of the protocol."""
    how = partial(exact_sampling.exact_sampling, on_device=on_device)
    monkeypatch.setattr(long_documents, "exact_sampling", how)
    network = AutoModelForCausalLM.from_pretrained(model).eval()
    drafts = [Draft(i, 0, 100 + i, [0, 5, 0]) for i in range(3)]
    sample(Referee(network, margin=1e-4), drafts, Sampling(36, overlap, 16), end=-1)
    network = network.double()
    for draft in drafts:
        assert len(draft.ids) == 36
        for place in range(3, 36):
            context = torch.tensor([draft.ids[context_start(place, 16, overlap) : place]])
            with torch.no_grad():
                scores = (
                    network(context).logits[0, -1]
                    + gumbel(keys([draft.key], place), 300, torch.float64)[0]
                )
            assert int(scores.argmax()) == draft.ids[place], place


NETWORKS = {
    "gpt2": GPT2Config(vocab_size=20, n_layer=2, n_embd=16, n_head=2, n_positions=24, bos_token_id=0, eos_token_id=0),
    "gpt_neo": GPTNeoConfig(hidden_size=16, num_layers=2, num_heads=2, max_position_embeddings=24, vocab_size=20,
                            window_size=6, attention_types=[[["global", "local"], 1]]),
    "gpt_neox": GPTNeoXConfig(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
                              vocab_size=20, max_position_embeddings=24),
    "mistral": MistralConfig(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=2, head_dim=8,
                             intermediate_size=32, vocab_size=20, max_position_embeddings=24, sliding_window=6),
}  # fmt: skip


# Each network with one kind of window, and each kind of window with two; the others run in `make check`.
WINDOWS_OF_NETWORKS = []
for number, kind_of_network in enumerate(NETWORKS):
    for window in (None, 9):
        marks = [pytest.mark.long] if (number % 2 == 0) == (window is None) else []
        WINDOWS_OF_NETWORKS.append(pytest.param(kind_of_network, window, marks=marks))


def small(kind):
    torch.manual_seed(1)
    network = AutoModelForCausalLM.from_config(NETWORKS[kind]).eval()
    for parameter in network.parameters():
        parameter.data *= 2  # so that texts and their lengths differ
    return network


@pytest.mark.parametrize("kind, overlap", WINDOWS_OF_NETWORKS)
def test_refilled_rows_write_the_texts_of_one_batch(kind, overlap):
    """And of the float64 model, read alone."""
    network, settings = small(kind), Sampling(40, overlap, 12, Truncation(15, 1.5))
    referee = calibrated(network, list(range(20)), 12)
    written = {}
    for rows in (None, 4, 1):
        drafts = [Draft(i, 0, 50 + i, [0]) for i in range(10)]
        finished, drawn = [], []
        sample(referee, drafts, settings, 0, drawn.append, rows, finished.extend)
        written[rows] = [draft.ids for draft in drafts]
        assert sorted(draft.index for draft in finished) == list(range(10)) and max(drawn) == (
            rows or 10
        )
        assert sum(drawn) == sum(len(draft.ids) - 1 for draft in drafts)
        if kind != "mistral":  # whose window slides by places: there rows wait for the longest text
            assert drawn == sorted(
                drawn, reverse=True
            )  # a free row has the next text at once, while there is one
    assert written[4] == written[1] == written[None]
    lengths = list(map(len, written[1]))
    assert len(set(lengths)) > 3 and max(lengths) > 20  # past the window
    longest = int(np.argmax(lengths))
    exact, ids = copy.deepcopy(network).double(), written[1][longest]
    for place in range(1, len(ids)):
        context = torch.tensor([ids[context_start(place, 12, overlap) : place]])
        with torch.no_grad():
            scores = exact_sampling.truncated(exact(context).logits[0, -1:] / 1.5, 15, 0.0)
        noise = gumbel(keys([50 + longest], place), 20, torch.float64)
        assert int((scores + noise).argmax()) == ids[place]


@torch.no_grad()
@pytest.mark.parametrize("kind", ["gpt2", "gpt_neo", "gpt_neox"])
def test_texts_of_many_lengths_in_one_cache_have_their_own_logits(kind):
    network, texts = small(kind), []
    contexts = Contexts(network)
    assert contexts.can_join
    rng = np.random.default_rng(0)

    def check(logits, among):
        for text, row in zip(among, logits, strict=True):
            torch.testing.assert_close(
                row, network(torch.tensor([text])).logits[0, -1], rtol=1e-4, atol=1e-4
            )

    for size, rows in ((3, 2), (9, 1), (1, 3)):
        new = rng.integers(0, 20, (rows, size))
        check(contexts.read(torch.tensor(new), True), new.tolist())
        texts += new.tolist()
        for _ in range(2):
            tokens = rng.integers(0, 20, len(texts))
            texts = [[*text, int(token)] for text, token in zip(texts, tokens, strict=True)]
            check(contexts.append(torch.tensor(tokens)), texts)
    contexts.take([0, 4, 5])  # the longest one leaves, and its places with it
    texts = [texts[row] for row in (0, 4, 5)]
    assert contexts.lengths.tolist() == [len(text) for text in texts]
    assert contexts.cache.get_seq_length() == max(len(text) for text in texts)
    longer = [[*text, token] for text, token in zip(texts, (1, 2, 3), strict=True)]
    check(contexts.append(torch.tensor([1, 2, 3])), longer)
    contexts.read(torch.tensor([[1, 2]]), False)  # is read and not kept
    assert len(contexts.lengths) == 3


def test_a_window_makes_the_texts_of_a_network_of_so_many_positions(tmp_path):
    long, short = lm_folder(tmp_path / "long", window=32), tmp_path / "short"
    network = AutoModelForCausalLM.from_pretrained(long)
    kept = {
        name: value[:16] if "wpe" in name else value for name, value in network.state_dict().items()
    }
    network.config.n_positions = 16
    cut = GPT2LMHeadModel(network.config)
    cut.load_state_dict(kept)
    cut.save_pretrained(short)
    load_tokenizer(long).save_pretrained(short)
    few = {"documents": 4, "batch": 4}
    assert hashes(make(long, tmp_path / "a", window=16, **few)) == hashes(
        make(short, tmp_path / "b", **few)
    )
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
@pytest.mark.long  # many batches; one certain draw is tested below
def test_errors_that_differ_between_batches_change_no_text(
    model, whole, tmp_path, monkeypatch, overlap
):
    rough(monkeypatch, 1e-2)
    monkeypatch.setattr(
        long_documents, "try_language_model", lambda *_: None
    )  # such errors are far above rounding
    assert (
        hashes(make(model, tmp_path / "refereed", context_overlap=overlap, batch=16))
        == whole[overlap]
    )
    monkeypatch.setattr(
        long_documents, "calibrated", lambda network, *_: Referee(network, margin=0.0)
    )
    monkeypatch.setattr(
        Referee, "decide", lambda self, context, seen, words, rule: int(seen.argmax())
    )
    assert (
        hashes(make(model, tmp_path / "alone", context_overlap=overlap, batch=16)) != whole[overlap]
    )


def test_malformed_titled_articles_are_drawn_again_and_counted(model, tmp_path):
    made = make(model, tmp_path, titles=True, redraws=2, max_tokens=20, documents=6)
    assert made.facts["redraws"] > 0
    assert (
        made.facts["documents"] + made.facts["failed"]
        == 6
        == len(made.documents) + made.facts["failed"]
    )
    assert all(section.title for document in made.documents for section in document.sections)


@pytest.mark.parametrize(("over", "sentence"),
                         [({"documents": 0}, "documents is 0, allowed is 1"), ({"batch": 0}, "batch is 0"),
                          ({"batch": 2.5}, r"batch is 2\.5"),
                          ({"context_overlap": 16}, "context_overlap is 16, allowed is 1 to 15"),
                          ({"temperature": 0}, "temperature is 0"), ({"temperature": float("nan")}, "temperature is nan")])  # fmt: skip
def test_bad_settings_are_one_sentence(model, tmp_path, over, sentence):
    refuses(sentence, make, model, tmp_path, **over)


def test_a_model_is_tried_before_anything_else_is_read(model, tmp_path, monkeypatch):
    names = []
    monkeypatch.setattr(long_documents, "try_language_model", lambda *given: names.append(given[2]))
    refuses("documents is 0", make, model, tmp_path, documents=0)
    assert names == ["generate tiny"]


@pytest.mark.parametrize("on_device", [False, True])
@pytest.mark.parametrize(
    "rule", [Truncation(), Truncation(3), Truncation(0, 0.5), Truncation(5, 2.0), Truncation(99)]
)
def test_no_error_below_the_margin_changes_a_certain_draw(rule, on_device):
    rng = torch.Generator().manual_seed(0)
    exact = torch.randn(600, 12, generator=rng, dtype=torch.float64)
    words, margin = keys(range(600), 3), 0.05
    seen = (
        exact + (torch.rand(600, 12, generator=rng) - 0.5) * margin
    ).float()  # spread of errors below the margin
    tokens, certain = exact_sampling.exact_sampling(seen, words, rule, margin, on_device)
    wanted = torch.zeros_like(
        tokens
    )  # the definition: keep the k best, add noise, take the largest
    for place, (row, word) in enumerate(zip(exact / rule.temperature, words, strict=True)):
        allowed = row >= row.sort(descending=True).values[min(rule.top_k or 12, 12) - 1]
        wanted[place] = torch.where(
            allowed, row + gumbel(word[None], 12, torch.float64)[0], -torch.inf
        ).argmax()
    assert torch.equal(tokens[certain], wanted[certain])
    assert 0.5 < certain.float().mean() < 1
    assert (tokens != wanted).any(), "the errors were too small for the test to show anything"


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    return AutoModelForCausalLM.from_pretrained(lm_folder(tmp_path_factory.mktemp("lm"))).eval()


def test_float64_passes_leave_the_network_as_it_was_even_after_an_error(network):
    before, ids = copy.deepcopy(network.state_dict()), torch.arange(1, 20)
    found = Referee(network).logits(ids, 5)
    after = network.state_dict()
    assert all(
        torch.equal(before[name], after[name]) and after[name].dtype == before[name].dtype
        for name in before
    )
    with torch.no_grad():
        wanted = copy.deepcopy(network).double()(ids[None]).logits[0, -5:]
    assert found.dtype == torch.float64 and torch.allclose(found, wanted, rtol=0, atol=1e-12)
    with pytest.raises(RuntimeError, match="on purpose"), exact_sampling.in_double(network):
        raise RuntimeError("on purpose")
    assert all(p.dtype == torch.float32 for p in network.parameters())


NEO = {
    "hidden_size": 16,
    "num_layers": 2,
    "num_heads": 2,
    "max_position_embeddings": 32,
    "vocab_size": 50,
}
NEOX = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "vocab_size": 50,
}


def test_the_margin_exceeds_the_noise_of_batches_and_grows_if_too_small(network):
    neo = GPTNeoForCausalLM(
        GPTNeoConfig(**NEO, attention_types=[[["global", "local"], 1]], window_size=8)
    )
    for other in (neo, GPTNeoXForCausalLM(GPTNeoXConfig(**NEOX, max_position_embeddings=32))):
        referee = calibrated(other.eval(), list(range(40)), 32)
        assert 0 < referee.margin < 1e-3 and all(
            p.dtype == torch.float32 for p in other.parameters()
        )
    referee = calibrated(network, list(range(1, 33)), 32)
    ids = torch.randint(0, 300, (50, 20), generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        batch = network(ids).logits[:, -1].double()
    worst = max(
        exact_sampling.spread(row - referee.logits(context)[0])
        for row, context in zip(batch, ids, strict=True)
    )
    assert 0 < worst < referee.margin
    referee, ids = Referee(network, margin=1e-9), torch.arange(5)
    off = referee.logits(ids)[0].float()
    off[3] += 0.25
    referee.decide(ids, off, keys([1], 5)[0], Truncation())
    assert referee.largest > 0.24 and referee.margin > 0.9
    broken = copy.deepcopy(network)
    broken.transformer.h[0].mlp.c_fc.weight.data[0, 0] = torch.nan
    refuses(
        "not all numbers.*name another checkpoint, or train it again.* if it is your own",
        calibrated,
        broken,
        [1, 2, 3],
        32,
    )


@pytest.mark.parametrize(("window", "overlap"), [(8, None), (8, 3), (8, 7), (8, 1), (5, 4)])
def test_contexts_are_those_of_the_protocol_played_by_hand(window, overlap):
    start = 0
    for length in range(1, 60):
        if overlap is None:
            start = max(0, length - window + 1)
        elif length - start > window:
            start = length - overlap
        assert context_start(length, window, overlap) == start


def test_noise_is_standard_gumbel_and_uncorrelated_in_either_precision():
    sample = gumbel(keys(range(40), 7), 5000, torch.float64).flatten().numpy()
    assert stats.kstest(sample, "gumbel_r").pvalue > 1e-3
    assert abs(sample.mean() - np.euler_gamma) < 0.02 and abs(sample.var() - np.pi**2 / 6) < 0.05
    sample = gumbel(keys(range(64), 1), 50_000).flatten()
    expected = float(len(sample) * -np.expm1(-np.exp(-10.0)))  # P(g > 10), about 145 of 3.2 million
    assert abs(int((sample > 10).sum()) - expected) < 5 * expected**0.5
    assert torch.isfinite(sample).all()
    together = gumbel(keys([11, 12, 13], 4), 100, torch.float64)
    for row, key in enumerate([11, 12, 13]):
        assert torch.equal(gumbel(keys([key], 4), 100, torch.float64)[0], together[row])
    single, double = gumbel(keys(range(8), 2), 4000), gumbel(keys(range(8), 2), 4000, torch.float64)
    # a few float32 roundings of numbers up to 22
    assert float((single - double).abs().max()) < 4e-6
    one = gumbel(keys(range(30), 5), 3000, torch.float64)
    later = gumbel(keys(range(30), 6), 3000, torch.float64)
    tokens, drafts, positions = (one[:, 1:], one[:, :-1]), (one[1:], one[:-1]), (one, later)
    for name, (left, right) in {"token": tokens, "draft": drafts, "position": positions}.items():
        correlation = np.corrcoef(left.flatten(), right.flatten())[0, 1]
        assert abs(correlation) < 5 / left.numel() ** 0.5, name


def test_a_corpus_says_which_documents_were_cut(model, tmp_path):
    corpus = make(model, tmp_path, max_tokens=6)
    cut = corpus.truth["cut"]
    assert len(cut) == len(corpus.documents) and cut.sum() == corpus.facts["cut"] > 0
