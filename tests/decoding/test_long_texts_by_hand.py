"""What sampling of long texts is given, writes and says, and how searches open, with stand-ins for networks."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from longform.decoding import beam_search, contexts, long_documents, timing
from longform.decoding.beam_search import Beam
from longform.decoding.exact_sampling import Truncation
from longform.decoding.long_documents import Draft, Sampler, Sampling
from longform.decoding.sampling import PAD, Human
from longform.documents import Corpus, Document, Section
from longform.files.artefacts import read_lines
from longform.statistics.random_streams import derived_seed
from tests.refusals import refuses


@pytest.fixture
def generated(monkeypatch, tmp_path):
    """Articles by stand-ins: a network of 30 positions, and a sampler that fails at each odd index."""
    loaded = SimpleNamespace(float=lambda: SimpleNamespace(eval=lambda: "network"))
    told, records, calls = [], {}, []
    fakes = {
        "load_tokenizer": lambda model: f"tokenizer of {model}",
        "load_model": lambda model, kind: loaded,
        "end_of_writing": lambda *given: told.append(given),
        "try_language_model": lambda *given: told.append(given),
        "STARTS": {"stream": lambda tokenizer: [9, tokenizer]},
        "_calibration_text": lambda *given: given,
        "Sampler": lambda **given: given,
        "finished": lambda scratch: records,
    }
    for name, fake in fakes.items():
        monkeypatch.setattr(long_documents, name, fake)
    monkeypatch.setattr(long_documents.capacity, "window_size", lambda network: 30)

    def predict(sampler, attempts, count):
        calls.append((sampler, attempts, count))
        for index, attempt in attempts:
            sections = None if index % 2 else [[None, f"text {index}"]]
            records[index] = {"index": index, "attempt": attempt, "sections": sections,
                              "cut": index == 2, "tokens": 5 + index}  # fmt: skip

    monkeypatch.setattr(long_documents, "predict", predict)

    def generate(**over):
        given = {"model": "m", "name": "n", "seed": 3, "scratch": tmp_path, "prefixes": "prefixes", "documents": 3,
                 "titles": True, "packing": "stream", "batch": 4, "max_tokens": 50, "context_overlap": None}  # fmt: skip
        return long_documents.generate(**given | over), calls, told

    return generate


def test_malformed_articles_are_drawn_again_until_they_are_given_up(generated, tmp_path):
    corpus, calls, told = generated(redraws=2)
    sampler = {
        "network": "network", "settings": Sampling(50, None, 30, Truncation(0, 1.0)),
        "tokenizer": "tokenizer of m", "text": ("prefixes", "tokenizer of m", True, 30),
        "start": [9, "tokenizer of m"], "titles": True, "names": (3, "n"), "documents": 3,
        "scratch": tmp_path, "rows": 4,
    }  # fmt: skip
    assert calls == [
        (sampler, [(0, 0), (1, 0), (2, 0)], 3),
        (sampler, [(1, 1)], 1),
        (sampler, [(1, 2)], 1),
    ]
    assert told == [("tokenizer of m", "generate n"), ("network", "tokenizer of m", "generate n")]
    texts = [Document(f"n-{i}", "generated", (Section(None, f"text {i}"),)) for i in (0, 2)]
    assert corpus.documents == texts and list(corpus.truth) == ["cut"]
    np.testing.assert_array_equal(corpus.truth["cut"], np.array([False, True]), strict=True)
    facts = {"documents": 2, "failed": 1, "redraws": 2, "cut": 1, "tokens": 12}
    assert isinstance(corpus, Corpus) and corpus.facts == facts
    with_window = {"window": 20, "top_k": 2, "temperature": 0.5, "context_overlap": 7}
    settings = generated(redraws=3, **with_window)[1][-1][0]["settings"]
    assert settings == Sampling(50, 7, 20, Truncation(2, 0.5))


@pytest.mark.parametrize(
    ("over", "window", "overlap", "redraws", "top_k"),
    [
        ({}, (30, 2, 30), (29, 1, 29), (20, 0, 10**9), (0, 0, 10**9)),
        ({"window": 20, "context_overlap": 7, "redraws": 0, "top_k": 2}, (20, 2, 30), (7, 1, 19),
         (0, 0, 10**9), (2, 0, 10**9)),
        ({"window": "x", "context_overlap": 7}, ("x", 2, 30), (7, 1, 29), (20, 0, 10**9), (0, 0, 10**9)),
    ],
)  # fmt: skip
def test_each_whole_number_has_its_range(
    over, window, overlap, redraws, top_k, generated, monkeypatch
):
    def check(ranges, name):
        raise KeyError(ranges, name)

    monkeypatch.setattr(long_documents, "_check_ranges", check)
    with pytest.raises(KeyError) as checked:
        generated(**over)
    ranges = {"documents": (3, 1, 10**9), "batch": (4, 1, 10**9), "redraws": redraws, "window": window,
              "max_tokens": (50, 5, 10**9), "context_overlap": overlap, "top_k": top_k}  # fmt: skip
    assert checked.value.args == (ranges, "n")


@pytest.mark.parametrize(
    ("value", "sound"),
    [(2, True), (5, True), (1, False), (6, False), (2.5, False), (True, False), ("3", False), (None, False)],
)  # fmt: skip
def test_a_number_within_its_range_is_allowed_and_no_other(value, sound):
    lowest = 0 if value is True else 2
    ranges = {"first": (1, 1, 1), "x": (value, lowest, 5)}
    if sound:
        long_documents._check_ranges(ranges, "n")
    else:
        sentence = f"^generate n: x is {value!r}, allowed is {lowest} to 5; fix the entry$"
        refuses(sentence, long_documents._check_ranges, ranges, "n")


@pytest.mark.parametrize("temperature", [0, -1.0, math.inf, "1", None])
def test_a_temperature_is_a_positive_number(temperature, generated):
    refuses("^generate n: temperature is .*allowed is above 0", generated, temperature=temperature)


def test_drafts_are_taken_from_all_processes_the_latest_attempt_of_each(tmp_path):
    for process, rows in enumerate(
        ([(0, 1, "a"), (0, 0, "b"), (1, 0, "c")], [(1, 0, "d"), (2, 3, "e")])
    ):
        lines = [f'{{"index": {i}, "attempt": {a}, "sections": "{s}"}}\n' for i, a, s in rows]  # fmt: skip
        (tmp_path / f"drafts-{process}.jsonl").write_text("".join(lines))
    found = long_documents.finished(tmp_path)
    assert {index: record["sections"] for index, record in found.items()} == {
        0: "a",
        1: "d",
        2: "e",
    }


def test_float32_is_measured_on_the_first_tokens_of_the_corpus(monkeypatch):
    rendered = []
    monkeypatch.setattr(long_documents, "start_ids", lambda tokenizer: [0])
    monkeypatch.setattr(long_documents, "encode", lambda text, tokenizer: [int(c) for c in text])
    monkeypatch.setattr(
        long_documents, "render", lambda text, titles: rendered.append((text.id, titles)) or "12"
    )
    named = Document("a", "train", (Section("T", "x"), Section("U", "y")))
    mixed = Document("b", "train", (Section("T", "x"), Section(None, "y")))
    tokenizer = SimpleNamespace(eos_token_id=7)
    text = long_documents._calibration_text
    assert text([named, mixed, named], tokenizer, True, 5) == [0, 1, 2, 0, 1]
    assert rendered == [("a", True), ("b", False)]
    rendered.clear()
    assert text([named, mixed], tokenizer, False, 3) == [0, 1, 2] and rendered == [("a", False)]
    assert text([named], tokenizer, True, 9) == [0, 1, 2] and text([], tokenizer, True, 9) == [7]


class Words:
    """A tokenizer whose token 0 ends a text."""

    eos_token_id = 0

    def decode(self, ids, skip_special_tokens=False):
        words = [str(i) for i in ids if i or not skip_special_tokens]
        return " ".join(words)


@pytest.fixture
def sampler(monkeypatch, tmp_path):
    """The sampler of process 3 of 4, made at 100 seconds of a clock."""
    clock = [100.0]
    monkeypatch.setattr(long_documents.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(Sampler, "global_rank", 2)
    monkeypatch.setattr(Sampler, "trainer", SimpleNamespace(world_size=4))
    settings = Sampling(5, None, 16)
    made = Sampler("net", settings, Words(), [5, 6], [9], True, (3, "n"), 7, tmp_path, 8)
    return made, clock


def test_finished_drafts_are_lines_of_what_was_written_behind_the_start(
    sampler, monkeypatch, tmp_path
):
    made, _ = sampler
    monkeypatch.setattr(
        long_documents,
        "parse",
        lambda text, titles: [Section("T", text)] if titles and text else None,
    )
    ids = [[9, 1, 2, 0], [9, 1, 1, 1, 1], [9, 1, 1, 1, 0], [9, 0]]
    made._write([Draft(10 + i, i, 0, row) for i, row in enumerate(ids)])
    made._write([Draft(20, 0, 0, [9, 1, 2, 3])])
    rows = [
        (10, 0, False, 3, [["T", "1 2"]]), (11, 1, True, 4, [["T", "1 1 1 1"]]),
        (12, 2, False, 4, [["T", "1 1 1"]]), (13, 3, False, 1, None), (20, 0, False, 3, [["T", "1 2 3"]]),
    ]  # fmt: skip
    names = ("index", "attempt", "cut", "tokens", "sections")
    expected = [dict(zip(names, row, strict=True)) for row in rows]
    assert list(read_lines(tmp_path / "drafts-2.jsonl")) == expected
    assert [path.name for path in tmp_path.iterdir()] == ["drafts-2.jsonl"]


def test_drafts_have_the_key_of_their_attempt_and_float32_is_measured_once(sampler, monkeypatch):
    made, clock = sampler
    measured, calls = [], []
    referee = SimpleNamespace(margin=1e-3, called=4)
    monkeypatch.setattr(
        long_documents, "calibrated", lambda *given: measured.append(given) or referee
    )
    monkeypatch.setattr(long_documents, "sample", lambda *given, **how: calls.append((given, how)))
    made.predict_step([], 0)
    assert measured == calls == []
    clock[0] = 130.0
    made.predict_step([(4, 0), (6, 2)], 0)
    clock[0] = 150.0
    made.predict_step([(4, 1)], 1)
    assert measured == [("net", [5, 6], 16)] and made.started == 130.0
    drafts = [[(4, 0), (6, 2)], [(4, 1)]]
    how = {"tick": made._tick, "rows": 8, "done": made._write}
    for (given, named), expected in zip(calls, drafts, strict=True):
        own = [Draft(i, a, derived_seed(3, "n", i, a), [9]) for i, a in expected]
        assert given == (referee, own, made.settings, 0) and named == how
        assert given[1][0].ids is not made.start


def test_progress_is_said_every_ten_seconds(sampler, monkeypatch, capsys):
    made, clock = sampler
    records = {0: {"sections": []}, 1: {"sections": None}, 2: {"sections": ["x"]}}
    monkeypatch.setattr(long_documents, "finished", lambda scratch: records)
    clock[0] = 120.0
    made._tick(300)  # nothing was measured yet
    made.referee = SimpleNamespace(margin=1e-3, called=4)
    made.reported, clock[0] = 110.5, 120.0
    made._tick(300)
    assert capsys.readouterr().out == "" and made.reported == 110.5
    clock[0] = 120.5
    made._tick(1450)
    assert capsys.readouterr().out == (
        "generate n: 2/7 documents; process 3/4: 2,050 tokens, 100 tokens/s, "
        "margin 1.0e-03, 4 draws in float64\n"
    )
    assert (made.reported, made.num_tokens) == (120.5, 2050)


def test_openings_are_sampled_to_their_ends_limits_or_a_block(monkeypatch):
    """Row 0 draws 0 and then 2, which ends it; row 1 may draw one token; row 2 has none to draw."""
    drawn, asked, added = iter([[0, 3, -1], [2]]), [], []

    def draws(scores, rngs):
        asked.append((scores, rngs))
        return np.array(next(drawn))

    monkeypatch.setattr(beam_search, "draws", draws)
    stream = SimpleNamespace(ids=torch.tensor([[1, 5], [1, 6], [1, 7]]), logits=torch.eye(3))
    stream.extend = added.append
    closed = []

    def closes(before, tokens):
        closed.append((before.tolist(), tokens.tolist()))
        return tokens == 2

    def rules(ids, scores):
        return ids.tolist(), scores.tolist()

    texts = [[], [8], []]
    ends = SimpleNamespace(closes=closes)
    found = beam_search._sampled_openings(stream, rules, texts, [3, 1, 2], ["r", "s", "t"], ends)
    assert found == [True, False, False] and texts == [[0, 2], [8, 3], []]
    assert added == [[[0], [3], ()], [[2], (), ()]]
    assert closed == [([5, 6, 7], [0, 3, 0]), ([5], [2])]
    first = (stream.ids.tolist(), stream.logits.tolist()), ["r", "s", "t"]
    assert asked == [first, (([[1, 5]], [[1.0, 0.0, 0.0]]), ["r"])]


def test_a_search_begins_with_one_live_hypothesis_a_group():
    repeated = []
    stream = SimpleNamespace(
        ids=torch.zeros(2, 3, dtype=torch.int64), logits=torch.zeros(2, 5), repeat=repeated.append
    )
    search = beam_search._Search(stream, Beam(6, 2, 0.3, 0.5, 4), [1], None)
    assert (search.size, search.width, search.finished, repeated) == (3, 3, [[], []], [6])
    dead = -math.inf
    assert search.scores.tolist() == [[[0, dead, dead]] * 2] * 2
    banned, blocking, siblings = search.rules
    assert banned.suppress_tokens.tolist() == [1] and blocking.args == (4, PAD)
    assert siblings.args == (0.5, 6, 3) and siblings.func is beam_search.sibling_ranks
    assert list(beam_search._Search(stream, Beam(6, 2), (), None).rules) == []


def test_the_time_of_four_tokens_a_row_is_taken_for_all_of_them(monkeypatch):
    """A batch of 8 takes 3 seconds for 4 of 20 tokens: 15 a batch, and 20 rows are 2.5 batches.
    The other decoder has 2 rows, which take 3 x 5."""
    clock, asked = iter([0.0, 3.0, 10.0, 13.0]), []
    network = SimpleNamespace(config=SimpleNamespace(vocab_size=9))
    kinds = {"a": "strategy", "b": "other", "people": Human()}
    fakes = {
        "open_language_model": lambda model: (f"tokenizer of {model}", network),
        "end_of_writing": lambda tokenizer, label: (tokenizer, label),
        "trial_row": lambda tokenizer, vocabulary: [vocabulary] * 10,
        "settings_of": lambda settings: kinds[settings["kind"]],
        "generator": lambda *names: names,
        "decode": lambda *given: asked.append(given),
    }
    for name, fake in fakes.items():
        monkeypatch.setattr(timing, name, fake)
    monkeypatch.setattr(timing.time, "monotonic", lambda: next(clock))
    monkeypatch.setattr(timing.capacity, "vocabulary_size", lambda network: 50)
    monkeypatch.setattr(timing.capacity, "window_size", lambda network: 11)
    monkeypatch.setattr(timing.SentenceEnds, "of_tokenizer", lambda *given: given)
    decoders = {name: {"kind": name} for name in kinds}
    seconds = timing.seconds_to_write("m", decoders, {"a": 20, "b": 2, "people": 4}, 20, 8)
    assert seconds == pytest.approx(15 * 2.5 + 15)
    end, ends = ("tokenizer of m", "plan"), ("tokenizer of m", 9)
    for (count, kind), call in zip([(8, "strategy"), (2, "other")], asked, strict=True):
        rngs = [("timing", row) for row in range(count)]
        assert call == (network, [[50] * 7] * count, kind, 4, rngs, end, ends)


class Cache:
    """In place of contexts: row i of what is read or appended has i + 10 times its width as its logits."""

    can_join = True

    def __init__(self):
        self.calls = []
        self.lengths = torch.zeros(0, dtype=torch.int64)

    def append(self, tokens):
        self.calls.append(("append", tokens.tolist()))
        return torch.arange(len(tokens))[:, None]

    def read(self, tokens, keep):
        self.calls.append(("read", tokens.tolist(), keep))
        return torch.arange(len(tokens))[:, None] + 10 * tokens.shape[1]


def draft(index, length):
    return Draft(index, 0, 0, list(range(length)))


def test_drafts_in_the_cache_come_first_and_each_length_is_read_at_once():
    """A window of 4 that goes on from its last 2: of 4 tokens the cache does not serve the next."""
    assert [
        length
        for length in range(1, 12)
        if not long_documents._is_cacheable(length, Sampling(99, 2, 4))
    ] == [4, 7, 10]
    cache = Cache()
    cached, uncached = (
        [draft(0, 3), draft(1, 2)],
        [draft(2, 4), draft(3, 5), draft(4, 4), draft(5, 1)],
    )
    found = long_documents._next_logits(cache, cached, uncached, Sampling(99, 2, 4))
    active, num_cached, logits = found
    assert [one.index for one in active] == [0, 1, 3, 5, 2, 4] and num_cached == 4
    assert logits.tolist() == [[0], [1], [20], [10], [40], [41]]
    reads = [("read", [[3, 4]], True), ("read", [[0]], True), ("read", [[0, 1, 2, 3]] * 2, False)]
    assert cache.calls == [("append", [2, 1]), *reads]
    active, num_cached, logits = long_documents._next_logits(
        Cache(), [], [draft(7, 6)], Sampling(99, None, 4)
    )
    assert ([one.index for one in active], num_cached, logits.tolist()) == ([7], 0, [[30]])


def test_an_uncertain_token_is_decided_from_its_own_context(monkeypatch):
    asked = []

    def certain(logits, words, truncation, margin):
        asked.append((words, truncation, margin))
        return torch.tensor([5, 6, 7]), torch.tensor([True, False, False])

    def decide(context, logits, words, truncation):
        asked.append((context.tolist(), logits.tolist(), words, truncation))
        return 40 + len(context)

    monkeypatch.setattr(long_documents, "exact_sampling", certain)
    monkeypatch.setattr(
        long_documents, "keys", lambda *given: [(given[0][i], given[1][i]) for i in range(3)]
    )
    drafts = [Draft(i, 0, 100 + i, list(range(length))) for i, length in enumerate((2, 3, 6))]
    settings = Sampling(99, None, 4, Truncation(2, 0.5))
    referee = SimpleNamespace(margin=0.25, decide=decide)
    long_documents._draw(referee, drafts, torch.eye(3), settings)
    assert [one.ids[-1] for one in drafts] == [5, 43, 43] and len(drafts[2].ids) == 7
    words = [(100, 2), (101, 3), (102, 6)]
    rule = settings.truncation
    assert asked == [
        (words, rule, 0.25),
        ([0, 1, 2], [0, 1, 0], words[1], rule),
        ([3, 4, 5], [0, 0, 1], words[2], rule),
    ]


@pytest.mark.parametrize(
    ("can_join", "rows", "drawn"),
    [
        # Texts of 1, 3, 2 and 1 new tokens: a free row has the next text at once, or waits for the longest.
        (True, 2, [2, 2, 2, 1]),
        (False, 2, [2, 1, 1, 2, 1]),
        (True, None, [4, 2, 1]),
        (True, 1, [1] * 7),
    ],
)  # fmt: skip
def test_free_rows_have_new_drafts_where_their_lengths_can_join(can_join, rows, drawn, monkeypatch):
    """Token 0 ends a text; the cache serves all lengths but the fourth."""
    lengths, taken, done, ticks = {0: 1, 1: 3, 2: 2, 3: 1}, [], [], []
    own = SimpleNamespace(can_join=can_join, take=lambda rows: taken.append(list(rows)))
    monkeypatch.setattr(long_documents, "Contexts", lambda network: own)

    def following(contexts, cached, uncached, settings):
        return [*cached, *uncached], len(cached) + len(uncached), None

    def draw(referee, active, logits, settings):
        for one in active:
            one.ids.append(0 if len(one.ids) == lengths[one.index] else 9)

    monkeypatch.setattr(long_documents, "_next_logits", following)
    monkeypatch.setattr(long_documents, "_draw", draw)
    drafts = [Draft(i, 0, 0, [5]) for i in range(4)]
    referee = SimpleNamespace(network="net")
    settings = Sampling(9, 2, 16)
    long_documents.sample(referee, drafts, settings, 0, ticks.append, rows, done.append)
    assert ticks == drawn
    assert [one.ids for one in drafts] == [[5, 0], [5, 9, 9, 0], [5, 9, 0], [5, 0]]
    assert sorted(one.index for group in done for one in group) == [0, 1, 2, 3]
    if rows is None:
        assert taken == [[1, 2], [0], []] and [[one.index for one in group] for group in done] == [
            [0, 3],
            [2],
            [1],
        ]
    short = [Draft(1, 0, 0, [5])]
    long_documents.sample(referee, short, Sampling(3, 2, 16), 0)
    assert short[0].ids == [5, 9, 9]  # full


@pytest.mark.parametrize(
    ("lengths", "masks"),
    [
        ([3, 3], {}),
        ([3, 1], {"attention_mask": [[1, 1, 1, 1], [0, 0, 1, 1]], "position_ids": [[3], [1]]}),
    ],
)
def test_a_token_is_read_behind_its_own_row_alone(lengths, masks, monkeypatch):
    given = []

    def network(**named):
        given.append(named)
        return SimpleNamespace(logits=torch.arange(4).view(2, 1, 2))

    network.device = "cpu"
    cache = SimpleNamespace(layers=[], get_seq_length=lambda: 3)
    monkeypatch.setattr(contexts, "growing_cache", lambda network: cache)
    made = contexts.Contexts(network)
    made.cache, made.lengths = cache, torch.tensor(lengths)
    assert made.append(torch.tensor([7, 8])).tolist() == [[0, 1], [2, 3]]
    assert made.lengths.tolist() == [length + 1 for length in lengths]
    read = {
        name: value.tolist() for name, value in given[0].items() if isinstance(value, torch.Tensor)
    }
    assert read == {"input_ids": [[7], [8]], **masks}
    switches = {name: value for name, value in given[0].items() if name not in read}
    assert switches == {"past_key_values": cache, "use_cache": True, "logits_to_keep": 1}
