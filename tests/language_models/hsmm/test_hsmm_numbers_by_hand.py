"""Tables, blocks, M-steps, random starts and gradient steps of the semi-Markov model, number by number."""

from dataclasses import replace
from math import exp, log, nan, sqrt
from types import SimpleNamespace

import numpy as np
import pytest
import semi_markov_cases as cases
import torch

from longform.hsmm import compiled, em, gradient, on_device
from longform.hsmm.compiled import Expectation, Scan, Tables, Workspace, renumbered
from longform.hsmm.em import Compute, Iteration
from longform.hsmm.gradient import Epoch, FactoredTables, GradientSettings
from longform.hsmm.kernels import DEAD
from longform.hsmm.model import NgramTable, SemiMarkovLM, build_ngrams
from longform.statistics.random_streams import derived_seed, generator
from tests.refusals import refuses

LARGE = 2.0**24  # float32 has no 1 more


def same(found, expected, dtype=None):
    """Arrays of equal numbers, and of a type."""
    expected = np.array(expected, dtype=dtype)
    np.testing.assert_array_equal(found, expected, strict=True)


def test_tables_have_the_type_of_the_joint_one_and_stand_row_by_row():
    transitions = np.array([[0.5, 0.25], [0.5, 0.75]]).T
    tables = Tables.of(transitions, np.array([[0.25, 0.5], [0.0, 0.0]], np.float32))
    same(tables.transitions, [[0.5, 0.5], [0.25, 0.75]], np.float32)
    assert tables.transitions.flags.c_contiguous
    assert tables.tops.tolist() == [pytest.approx(log(0.5), rel=1e-7), DEAD]
    assert tables.tops.dtype == np.float64


INDICES = [[[0, -1]], [[1, 2], [3, 4], [5, -1]], [[6, 7], [8, -1]]]


def test_sequences_are_packed_position_by_position_the_longest_first():
    joint = np.full((9, 2), 0.125)
    scan = Scan([np.array(index) for index in INDICES], Tables.of(np.full((2, 2), 0.5), joint))
    assert scan.order.tolist() == [1, 2, 0] and scan.first.tolist() == [0, 3, 6, 8, 9]
    assert scan.ends.tolist() == [8, 7, 5] and scan.sequence.tolist() == [0, 1, 2, 0, 1, 2, 0, 1, 0]
    rows = [[1, 2], [6, 7], [0, -1], [3, 4], [8, -1], [-1, -1], [5, -1], [-1, -1], [-1, -1]]
    same(scan.index, rows, np.int32)
    # Every segment has 1/8: of three tokens ways of 3, 2 and 2 segments, of two 2 and 1.
    ways = [2 * 8**-2 + 8**-3, 8**-1 + 8**-2, 8**-1]
    np.testing.assert_allclose(scan.log_partition, np.log(ways), rtol=1e-14)


def test_a_scan_on_a_device_pads_to_the_longest():
    joint = torch.full((9, 2), 0.125, dtype=torch.float64)
    halves = torch.full((2, 2), 0.5, dtype=torch.float64)
    scan = on_device.Scan([np.array(index) for index in INDICES], halves, joint)
    padded = [[*index, *[[-1, -1]] * (3 - len(index))] for index in INDICES]
    same(scan.index.numpy(), np.swapaxes(padded, 0, 1), np.int64)
    for vectors in (scan.ended, scan.before, scan.begun, scan.after):
        assert vectors.shape == (4, 3, 2) and vectors.dtype == torch.float64
    assert scan.forward_scales.shape == scan.backward_scales.shape == (4, 3)
    ways = [8**-1, 2 * 8**-2 + 8**-3, 8**-1 + 8**-2]
    np.testing.assert_allclose(scan.log_partition, np.log(ways), rtol=1e-14)
    mute = on_device.Scan([np.array([[-1, -1]]), np.array(INDICES[0])], halves, joint)
    assert mute.log_partition.tolist() == [-np.inf, pytest.approx(log(1 / 8))]


def test_a_sum_on_a_device_is_divided_by_the_largest_of_its_row():
    """Row 0: 1 x (2, 4) and e^log(3) x (1, 1) x (1, 2) make (5, 10). Row 1 has one part of (1, 0), row 2 none."""
    vectors = torch.tensor([[[1.0, 1], [1, 0], [1, 1]], [[1, 1], [1, 1], [0, 0]]])
    joint = torch.tensor([[2.0, 4], [1, 2], [0.5, 3]])
    scales = torch.tensor([[0.0, 2, 0], [log(3), 0, 1]], dtype=torch.float64)
    rows = torch.tensor([[0, 2, -1], [1, -1, 0]])
    found, scale = on_device._combined(rows, vectors, scales, joint)
    np.testing.assert_allclose(found, [[0.5, 1], [1, 0], [0, 0]], rtol=1e-6)
    np.testing.assert_allclose(scale, [log(10), 2 + log(0.5), -np.inf], rtol=1e-6)
    assert (found.dtype, scale.dtype) == (torch.float32, torch.float64)


def test_exponents_are_dead_where_a_scale_is_or_nothing_explains_a_text():
    left, right = np.array([2.0, DEAD, 1.0, 1.0, DEAD]), np.array([3.0, 1.0, DEAD, 1.0, DEAD])
    explained = np.array([-4.0, -4.0, -4.0, -np.inf, -4.0])
    same(compiled._exponents(left, right, explained), [9.0, DEAD, DEAD, DEAD, DEAD])
    ends = torch.tensor([2.0, -torch.inf, 1.0]), torch.tensor([3.0, 1.0, 1.0])
    found = on_device._exponents(*ends, torch.tensor([-4.0, -4.0, -torch.inf]))
    assert found.tolist() == [9.0, -np.inf, -np.inf]


def test_index_arrays_are_numbered_by_the_rows_that_they_use():
    fresh, rows = renumbered([np.array([[9, -1], [4, 9]]), np.array([[0, 4]])])
    same(rows, [0, 4, 9])
    same(fresh[0], [[2, -1], [1, 2]], np.int32)
    same(fresh[1], [[0, 1]], np.int32)
    assert len(fresh) == 2


def test_a_buffer_is_taken_again_while_it_is_large_enough_and_of_its_type():
    space = Workspace()
    first = space.take("a", (3, 4), np.dtype(np.float32))
    assert first.shape == (3, 4) and first.dtype == np.float32
    base = space.buffers["a"]
    small = space.take("a", (2, 5), np.dtype(np.float32))
    assert small.shape == (2, 5) and np.shares_memory(small, first)
    assert space.take("a", (12,), np.dtype(np.float32)).base is base
    assert not np.shares_memory(space.take("b", (3,), np.dtype(np.float32)), base)
    assert space.take("a", (13,), np.dtype(np.float32)).base is not base
    assert space.take("a", (13,), np.dtype(np.float64)).dtype == np.float64
    assert [len(space.buffers[name]) for name in "ab"] == [13, 3]


def table(*sizes):
    """An n-gram table of two tokens with so many rows of each length."""
    starts = np.concatenate([[0], np.cumsum(sizes)])
    keys = np.arange(starts[-1], dtype=np.uint64)
    return NgramTable(("a", "b"), keys, starts, np.zeros(len(sizes), np.int64))


def test_a_key_of_the_next_length_is_no_row_of_this_one():
    assert table(1, 1).index(table(1, 1).encode(["b"])).tolist() == [[-1, -1]]


@pytest.mark.parametrize("kind", [np.asarray, torch.tensor])
def test_counts_become_shares_by_sums_in_float64(kind):
    """Column 0 has sums that float32 would round, column 1 nothing new, and 1e-31 is no mass."""
    old = np.array([[LARGE, 0.25], [1, 0.5], [2, 0.125]], np.float32)
    model = SemiMarkovLM(table(2, 1), np.array([[0.5, 0.5], [0.25, 0.75]], np.float32), old)
    counts = np.array([[LARGE, 0], [1, 0], [4, 0]], np.float32)
    moved = np.array([[3.0, 1.0], [0.0, 0.0]])
    frozen = em.maximise(model, Expectation(moved, kind(counts.copy())), frozen=True)
    # The first length keeps 2^24 + 1, the second 2.
    same(frozen.joint, [[LARGE, 0.25], [1, 0.5], [2, 0.125]], np.float32)
    assert frozen.transitions is model.transitions and frozen.ngrams is model.ngrams
    counts[:, 0] = [LARGE, 1, 2.0**-80]
    with np.errstate(divide="raise", invalid="raise"):
        free = em.maximise(model, Expectation(moved, kind(counts.copy())), frozen=False)
    # Shares of 2^24 + 1: the next number below 1, 2^-24 - 2^-48, and what is below 1e-30.
    same(free.joint, [[1 - 2.0**-24, 0.25], [2.0**-24 - 2.0**-48, 0.5], [0, 0.125]], np.float32)
    same(free.transitions, [[0.75, 0.25], [0.25, 0.75]], np.float32)


@pytest.mark.parametrize("kind", [np.asarray, torch.tensor])
def test_rare_ngrams_are_those_below_the_least_count_summed_in_float64(kind):
    segments = kind(np.array([[LARGE, 1], [LARGE, 0], [0.5, 0.5], [1, 1]], np.float32))
    em.drop_rare(segments, LARGE + 1)
    assert np.asarray(segments).tolist() == [[LARGE, 1], [0, 0], [0, 0], [0, 0]]
    segments = kind(np.array([[1.0, 2.0], [1.0, 1.5]], np.float32))
    em.drop_rare(segments, 3.0)
    assert np.asarray(segments).tolist() == [[1, 2], [0, 0]]


def xavier(rng, rows, columns, bound):
    return np.exp(rng.uniform(-sqrt(bound), sqrt(bound), (rows, columns)))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_random_start_shares_each_length_among_its_ngrams(dtype):
    """Lengths 1 and 3 have n-grams, length 2 none."""
    model = em.initial_model(table(3, 0, 2), num_states=2, seed=4, dtype=dtype)
    rng = generator("semi-Markov start", 4, 2)
    transitions = xavier(rng, 2, 2, 6 / 4)
    durations = xavier(rng, 3, 2, 6 / 5)
    durations[1] = 0
    durations /= durations.sum(axis=0)
    joint = []
    for rows, mass in ((3, durations[0]), (2, durations[2])):
        shares = rng.standard_gamma(0.1, (rows, 2), dtype=dtype) + 1e-4
        joint += (mass * shares / shares.sum(axis=0)).tolist()
    near = {"rtol": 1e-12 if dtype == "float64" else 1e-6}
    np.testing.assert_allclose(model.joint, joint, **near)
    np.testing.assert_allclose(
        model.transitions, transitions / transitions.sum(axis=1, keepdims=True), **near
    )
    assert model.joint.dtype == model.transitions.dtype == dtype
    plain = em.initial_model(table(3), num_states=1, seed=4)
    assert plain.joint.dtype == np.float32


def test_more_states_begin_with_uneven_shares_of_what_the_ngrams_had():
    old = np.array([[0.5, 0.25], [0.25, 0.5], [0.25, 0.25]])
    model = SemiMarkovLM(table(3), np.full((2, 2), 0.5), old, {"kept": 1})
    more = em.begun_anew(model, 4, seed=9)
    rng = generator("semi-Markov growth", 9, 4)
    joint = (rng.standard_gamma(0.1, (3, 4)) + 1e-4) * [[0.375], [0.375], [0.25]]
    transitions = xavier(rng, 4, 4, 6 / 8)
    np.testing.assert_allclose(more.joint, joint / joint.sum(axis=0), rtol=1e-12)
    np.testing.assert_allclose(
        more.transitions, transitions / transitions.sum(axis=1, keepdims=True), rtol=1e-12
    )
    assert more.ngrams is model.ngrams and more.facts == {"kept": 1}
    half = replace(model, joint=old.astype(np.float32), transitions=np.eye(2, dtype=np.float32))
    half = em.begun_anew(half, 3, seed=9)
    assert half.joint.dtype == half.transitions.dtype == np.float32


def test_an_iteration_without_segments_has_one_effective_state():
    expected = Expectation(np.zeros((2, 2)), np.zeros((5, 2)), -3.0, 4, 1)
    made = em.iteration_of(7, expected, False)
    assert made == Iteration(7, -3.0, 4, 1, 0, 1.0, False, 2, 5)


@pytest.mark.parametrize(("squeeze", "lost"), [(False, 2), (True, 3)])
def test_the_compiled_scan_gets_lengths_tokens_and_threads(squeeze, lost, monkeypatch):
    """Squeezed, "aba" keeps its ends alone where only the whole of it has mass, and "b" has no path."""
    ngrams = build_ngrams([list("aba"), ["b"]], max_duration=3)
    joint = np.zeros((ngrams.rows, 1))
    joint[-1] = 1.0  # aba
    model = SemiMarkovLM(ngrams, np.ones((1, 1)), joint)
    calls = []

    def scanned(tables, lengths, index_of, **given):
        indices = [index_of(i).tolist() for i in range(len(lengths))]
        calls.append((tables.joint is joint, lengths, indices, given))
        return Expectation("pairs", "segments", -1.0, 3, 2, 9)

    monkeypatch.setattr(compiled, "expectation", scanned)
    encoded = [ngrams.encode(text) for text in (list("aba"), ["b"])]
    given = {"begun": "sums", "on_block": "called"}
    found = em.expectation(model, encoded, Compute(threads=5), squeeze=squeeze, **given)
    assert found == Expectation("pairs", "segments", -1.0, 3, lost, 9)
    whole = [[[0, 2, 4], [1, 3, -1], [0, -1, -1]], [[1, -1, -1]]]
    tokens, lengths, indices = ([3], [1], [[[4, -1, -1]]]) if squeeze else ([3, 1], [3, 1], whole)
    assert calls == [(True, lengths, indices, {"tokens": tokens, "threads": 5, **given})]


def test_defaults_of_the_gradient_fit_are_the_papers():
    assert GradientSettings() == GradientSettings(800, 1, 0.1, 10, 0.3, 8, 1234)


def test_the_rate_is_quartered_by_the_plan_of_the_released_code():
    optimiser = torch.optim.Adam([torch.nn.Parameter(torch.zeros(1))], lr=0.3)
    state = gradient.plateau(optimiser).state_dict()
    expected = {"factor": 0.25, "patience": 8, "threshold": 0, "min_lrs": [3e-4], "eps": 0}
    assert {name: state[name] for name in expected} == expected
    assert (state["mode"], state["cooldown"], state["best"]) == ("min", 0, np.inf)


def test_gradient_tables_start_from_one_named_stream_in_order():
    tables = FactoredTables(table(2, 0), 3, seed=6)
    rng = torch.Generator().manual_seed(derived_seed("semi-Markov gradient start", 6))
    named = dict(tables.named_parameters())
    shapes = {
        "transitions": (3, 3),
        "lengths": (3, 2),
        "emissions.0": (4, 3),
        "emissions.1": (2, 3),
    }
    assert {name: tuple(values.shape) for name, values in named.items()} == shapes
    for name, shape in shapes.items():
        bound = sqrt(6 / sum(shape))
        drawn = torch.empty(shape).uniform_(-bound, bound, generator=rng)
        torch.testing.assert_close(named[name].detach(), drawn, rtol=1e-6, atol=0)
    assert tables.empty.tolist() == [False, True]


@pytest.mark.parametrize(("frozen", "names", "rate"), [(True, 2, 0.2), (False, 4, 0.7)])
def test_a_descent_begins_with_the_tables_that_are_free(frozen, names, rate):
    tables = FactoredTables(table(2, 1), 3, seed=0)
    settings = GradientSettings(pretraining_rate=0.2, rate=0.7)
    made = gradient._Descent.begin(tables, settings, frozen)
    (group,) = made.optimiser.param_groups
    free = list(tables.emissions) if frozen else list(tables.parameters())
    assert len(free) == names and all(map(lambda *pair: pair[0] is pair[1], group["params"], free))
    assert type(made.optimiser) is torch.optim.Adam and made.rate == group["lr"] == rate
    assert made.tables is tables and made.schedule.optimizer is made.optimiser
    assert (made.updates, made.window.tolist()) == (0, [0.0, 0.0])


def test_an_epoch_sums_nats_and_tokens_and_steps_the_rate_each_window(monkeypatch):
    """Losses of 6, 2 and 5 nats over 3, 1 and 2 tokens; two updates a window."""
    monkeypatch.setattr(gradient, "WINDOW", 2)
    nats, seen, told = iter([6.0, 2.0, 5.0]), [], []
    tables = FactoredTables(table(2), 2, seed=0)

    def apply(log_transitions, log_joint, batch, workspace):
        seen.append((len(batch), type(workspace)))
        return log_joint.sum() * 0 + log_transitions[0, 0] * 0 - next(nats)

    monkeypatch.setattr(gradient, "LogPartition", SimpleNamespace(apply=apply))
    optimiser = torch.optim.SGD(tables.parameters(), lr=1.0)
    made = gradient._Descent(tables, optimiser, SimpleNamespace(step=told.append), 0, np.zeros(2))
    batches = [[np.zeros((2, 1)), np.zeros((1, 1))], [np.zeros((1, 1))], [np.zeros((2, 1))]]
    assert made.epoch(batches) == pytest.approx(exp(13 / 6))
    assert told == [pytest.approx(exp(8 / 4))]
    assert (made.updates, made.window.tolist()) == (3, [5.0, 2.0])
    assert seen == [(2, Workspace), (1, Workspace), (1, Workspace)]


@pytest.fixture
def descended(monkeypatch):
    """A gradient fit whose epochs are stand-ins; gives the lengths of the batches that they got."""
    begun, epochs = [], []

    def begin(tables, settings, frozen):
        begun.append(frozen)
        return SimpleNamespace(epoch=epoch, rate=0.5 / len(begun))

    def epoch(batches):
        epochs.append([[len(index) for index in batch] for batch in batches])
        return 2.0 * len(epochs)

    def fit(validation, nats=()):
        models = iter([SimpleNamespace(number=n, log_likelihood=lambda texts, rows_per_block, n=n: np.array([nats[n - 1], -1.0]))
                       for n in range(4)])  # fmt: skip
        monkeypatch.setattr(FactoredTables, "model", lambda tables, ngrams: next(models))
        monkeypatch.setattr(gradient._Descent, "begin", begin)
        texts = [list("aba"), ["a"], list("ab"), list("ababa"), list("abab")]
        settings = GradientSettings(2, pretraining_epochs=1, epochs=2, batch_size=2, seed=7)
        given = {"validation": validation, "label": "n"}
        best, history = gradient.fit_gradient(
            texts, build_ngrams(texts, max_duration=2), settings, **given
        )
        return best.number, history, begun, epochs

    return fit


def test_a_gradient_fit_draws_batches_of_like_lengths_and_keeps_the_best(descended, capsys):
    """Three held-out tokens: perplexities exp(2), exp(1) and exp(1), of which the first is kept."""
    best, history, begun, epochs = descended([["a", "b"], ["a"]], (-5.0, -2.0, -2.0))
    assert best == 2 and begun == [True, False]
    batches = [[1, 2], [3, 4], [5]]
    orders = [generator("semi-Markov batches", 7, number).permutation(3) for number in range(3)]
    assert epochs == [[batches[i] for i in order] for order in orders]
    values = [(0, 2.0, exp(2), 0.5), (1, 4.0, exp(1), 0.25), (2, 6.0, exp(1), 0.25)]
    for epoch, row in zip(history, values, strict=True):
        assert epoch == Epoch(row[0], row[1], pytest.approx(row[2]), row[3])
    assert capsys.readouterr().out.splitlines()[:2] == [
        "n: epoch 0, ppl 2.0000 train, 7.3891 validation, rate 0.5",
        "n: epoch 1, ppl 4.0000 train, 2.7183 validation, rate 0.25",
    ]


def test_without_validation_texts_a_gradient_fit_keeps_its_last_epoch(descended):
    best, history, _, _ = descended([])
    assert best == 3
    assert [epoch.validation_ppl for epoch in history] == pytest.approx([nan] * 3, nan_ok=True)


def test_the_comparison_with_torch_struct_is_recorded_in_few_digits(monkeypatch):
    """Three states of three lengths: 7 x 9^3 products are two tokens of each of three texts."""
    model, texts = cases.random_case(0)  # of 7, 1 and 4 tokens
    monkeypatch.setattr(gradient, "PRODUCTS", 7.0 * 9**3)
    monkeypatch.setattr(gradient, "find_spec", lambda name: name == "torch_struct")
    monkeypatch.setattr(gradient, "version", lambda name: f"{name} 9")
    ones = torch.ones(3, 3, dtype=torch.float64)
    more = ones.clone()
    more[0, 1] += 1e-6

    def compare(theirs):
        values = iter([(-12.34567849, more), (theirs, ones)])
        monkeypatch.setattr(gradient, "_value_and_gradient", lambda leaf, function: next(values))
        return gradient.against_torch_struct(model, texts)

    assert compare(-12.34567862) == {
        "nats_ours": -12.345678, "nats_torch_struct": -12.345679, "nats_apart_per_token": 2.6e-08,
        "allowed_per_token": 1e-6, "transitions_apart_per_token": 2e-07, "tokens": 5, "texts": 3,
        "states": 3, "version": "torch-struct 9",
    }  # fmt: skip
    refuses("12.345678 nats over 5 tokens, torch-struct gives -12.3457", compare, -12.3457)
