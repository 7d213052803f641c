"""Expected counts of both engines against enumeration, EM that never lowers the likelihood, and gradients, which torch-struct judges."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import semi_markov_cases as cases
import torch
from semi_markov_cases import bursts, close, durations, random_case, steep

from longform.documents import Document, Section
from longform.hsmm import compiled, em, gradient, on_device
from longform.hsmm.em import (
    Compute,
    Fit,
    Plan,
    begun_anew,
    compacted,
    expectation,
    fit_em,
    maximise,
)
from longform.hsmm.gradient import TOLERANCE, FactoredTables, GradientSettings, fit_gradient
from longform.hsmm.model import SemiMarkovLM, build_ngrams
from longform.hsmm.train import fit
from tests.refusals import refuses

EXACT = Compute(dtype="float64")
SMALL = {"num_states": 4, "max_duration": 3, "seed": 1}
seeds = pytest.mark.parametrize("seed", range(3))
engines = pytest.mark.parametrize("engine", ["compiled", "cpu"])


def encoded(model, texts):
    return [model.ngrams.encode(text) for text in texts]


def counted(model, texts, engine="compiled", **settings):
    indices = [model.ngrams.index(ids) for ids in encoded(model, texts)]
    sequences = [len(index) for index in indices], indices.__getitem__
    if engine == "compiled":
        return compiled.expectation(model.tables, *sequences, **settings)
    tables = [torch.tensor(table, device=engine) for table in (model.transitions, model.joint)]
    found = on_device.expectation(*tables, *sequences, **settings)
    found.transitions, found.segments = (
        found.transitions.cpu().numpy(),
        found.segments.cpu().numpy(),
    )
    return found


@engines
@seeds
def test_counts_equal_counting_over_enumerated_paths(engine, seed):
    model, texts = random_case(seed)
    segments, transitions = np.zeros_like(model.joint), np.zeros((3, 3))
    rows = {model.ngrams.text(row): row for row in range(model.ngrams.rows)}
    for text in texts:
        weighted = list(cases.paths(model, text))
        total = sum(p for p, _ in weighted)
        for probability, path in weighted:
            before = 0
            for start, duration, state in path:
                segments[rows[tuple(text[start : start + duration])], state] += probability / total
                transitions[before, state] += probability / total
                before = state
    found = counted(model, texts, engine)
    close(found, SimpleNamespace(segments=segments, transitions=transitions), atol=1e-12)
    want = sum(cases.enumerated_log_likelihood(model, text) for text in texts)
    assert found.log_likelihood == pytest.approx(want, rel=1e-12)
    assert (found.tokens, found.lost) == (sum(map(len, texts)), 0)


@engines
def test_counts_depend_neither_on_the_block_size_nor_on_threads(engine):
    model, texts = random_case(3, dtype="float32")
    one, many = (counted(model, texts * 5, engine, rows_per_block=rows) for rows in (1, 10_000))
    assert one.log_likelihood == pytest.approx(many.log_likelihood, rel=1e-6)
    close(one, many, rtol=1e-5, atol=1e-6)
    if engine == "compiled":
        three = counted(model, texts * 5, rows_per_block=1, threads=3)
        assert three.log_likelihood == one.log_likelihood
        close(three, one, rtol=0)


@pytest.mark.parametrize("chunk", [3, 65_536])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_both_engines_agree_on_steep_tables(dtype, chunk, monkeypatch):
    monkeypatch.setattr(on_device, "OCCURRENCES_PER_CHUNK", chunk)
    model, texts = random_case(2, dtype=dtype)
    here, there = counted(steep(model), texts), counted(steep(model), texts, "cpu")
    close(there, here, atol=1e-5 if dtype == "float32" else 1e-10)
    assert there.log_likelihood == pytest.approx(here.log_likelihood, rel=1e-6)


@engines
def test_what_float32_lost_is_scanned_again_in_float64(engine):
    model, texts = random_case(1)
    hard = cases.lost_in_float32(model)
    want = counted(hard, [*texts, ["b"]])
    rough = SemiMarkovLM(
        hard.ngrams, hard.transitions.astype(np.float32), hard.joint.astype(np.float32)
    )
    found = counted(rough, [*texts, ["b"]], engine)
    assert (found.lost, found.tokens) == (want.lost, want.tokens) and want.lost >= 1
    assert found.log_likelihood == pytest.approx(want.log_likelihood, rel=1e-6)
    close(found, want, atol=1e-5)
    for dtype in (
        "float32",
        "float64",
    ):  # a text of probability zero adds no counts and spoils no other
        model, texts = random_case(0, dtype=dtype)
        mute = cases.without_unigrams(model)
        both, alone = counted(mute, [texts[0], ["a"]], engine), counted(mute, [texts[0]], engine)
        assert (both.lost, both.tokens) == (1, len(texts[0]))
        close(both, alone, atol=1e-6)


def test_a_scan_has_four_vectors_a_position_and_resets_the_thread():
    """At C = 800 and T = 375 in float32 that is 4.8 MB a sequence, below the 8 MB that are allowed."""
    model, texts = random_case(0)
    workspace = compiled.Workspace()
    counted(model, texts, workspace=workspace)
    positions = sum(len(text) + 1 for text in texts)
    num_bytes = sum(buffer.nbytes for buffer in workspace.buffers.values())
    assert num_bytes == 4 * positions * model.num_states * model.joint.itemsize
    tiny = np.float32(1e-20)
    with compiled.without_denormals():
        assert tiny * tiny == 0
    assert tiny * tiny > 0


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_cuda_gives_what_the_processor_gives():
    model, texts = random_case(2, dtype="float32")
    here, there = counted(model, texts), counted(model, texts, "cuda")
    close(there, here, atol=1e-5, rtol=1e-5)
    assert there.log_likelihood == pytest.approx(here.log_likelihood, rel=1e-6)


ON_TORCH = Compute(engine="torch")  # on the processor, as it would run on a GPU


@pytest.mark.parametrize("squeeze", [False, True])
def test_the_device_path_counts_what_the_compiled_one_counts(squeeze):
    model, texts = random_case(0, dtype="float32")
    model, texts = cases.without_unigrams(model), [*texts, ["a"]]  # the last one has no path
    here, there = (
        expectation(model, encoded(model, texts), how, squeeze=squeeze)
        for how in (Compute(), ON_TORCH)
    )
    close(there, here, atol=1e-5)
    assert isinstance(there.segments, torch.Tensor) and there.segments.device.type == "cpu"
    assert there.log_likelihood == pytest.approx(here.log_likelihood, rel=1e-6)
    assert (there.tokens, there.lost) == (here.tokens, here.lost) and here.lost >= 1


def test_the_device_path_scans_sound_texts_by_itself(monkeypatch):
    """Where its two directions disagree the compiled scan repeats a text, which would hide a wrong one."""
    model, texts = random_case(0, dtype="float32")

    def again(*_):
        raise AssertionError("scanned again")

    monkeypatch.setattr(compiled, "scan_in_float64", again)
    assert expectation(model, encoded(model, texts), ON_TORCH).lost == 0


@pytest.mark.parametrize("plan", [Plan(4), Plan(3, min_count=0.5), Plan(4, growth=((2, 2),))])
def test_the_device_path_fits_the_model_of_the_compiled_one(plan):
    here, there = (
        fit_em(bursts(0, texts=8), **SMALL, plan=plan, compute=how) for how in (Compute(), ON_TORCH)
    )
    assert [step.lost for step in there.history] == [step.lost for step in here.history]
    np.testing.assert_array_equal(there.model.ngrams.starts, here.model.ngrams.starts)
    np.testing.assert_allclose(there.model.transitions, here.model.transitions, atol=1e-4)
    np.testing.assert_allclose(there.model.joint, here.model.joint, atol=1e-4)
    likelihoods = [[step.log_likelihood for step in fit.history] for fit in (here, there)]
    np.testing.assert_allclose(likelihoods[1], likelihoods[0], rtol=1e-5)


@pytest.mark.parametrize("frozen", [False, True])
def test_the_m_step_of_a_device_is_that_of_the_processor(frozen, monkeypatch):
    monkeypatch.setattr(on_device, "ROWS_PER_SLICE", 3)
    model, texts = random_case(1, dtype="float32")
    expected = expectation(model, encoded(model, texts), Compute())
    expected.segments[:, 1] = 0  # a state without counts keeps its probabilities
    expected.segments[0, 0] = 1e-34
    copied = replace(expected, segments=torch.from_numpy(expected.segments.copy()))
    here, there = (maximise(model, counts, frozen=frozen) for counts in (expected, copied))
    np.testing.assert_allclose(there.joint, here.joint, rtol=1e-6, atol=0)
    np.testing.assert_array_equal(there.joint[:, 1], model.joint[:, 1])
    assert there.joint[0, 0] == 0
    np.testing.assert_array_equal(there.transitions, here.transitions)


def test_gradients_of_the_device_path_are_those_of_the_compiled_one():
    model, texts = random_case(0)
    indices = [model.ngrams.index(ids) for ids in encoded(model, texts)]
    found = []
    for engine in ("compiled", "torch"):
        tables = [
            torch.from_numpy(np.log(table)).requires_grad_(True)
            for table in (model.transitions, model.joint)
        ]
        value = gradient.LogPartition.apply(*tables, indices, None, engine)
        value.backward()
        found.append((float(value.detach()), *(table.grad.numpy() for table in tables)))
    for here, there in zip(*found, strict=True):
        np.testing.assert_allclose(there, here, atol=1e-10)


@seeds
def test_em_never_lowers_the_likelihood(seed):
    fit = fit_em(bursts(seed), **SMALL | {"seed": seed}, plan=Plan(25), compute=EXACT)
    likelihoods = [step.log_likelihood for step in fit.history]
    assert np.all(np.diff(likelihoods) >= -1e-9 * abs(likelihoods[0]))
    assert likelihoods[-1] > likelihoods[0] + 100
    assert not fit.history[1].frozen and fit.history[0].frozen


def test_m_step_normalises_the_counts_and_keeps_what_has_none():
    model, texts = random_case(2)
    found = expectation(model, encoded(model, texts), EXACT)
    found.segments[:, 1], found.transitions[1] = 0, 0
    want, moved = found.segments.copy(), found.transitions.copy()
    better = maximise(model, found, frozen=False)
    for state in (0, 2):
        np.testing.assert_allclose(
            better.joint[:, state], want[:, state] / want[:, state].sum(), atol=1e-12
        )
        np.testing.assert_allclose(
            better.transitions[state], moved[state] / moved[state].sum(), atol=1e-12
        )
    np.testing.assert_array_equal(better.joint[:, 1], model.joint[:, 1])
    np.testing.assert_array_equal(better.transitions[1], model.transitions[1])


def test_pretraining_keeps_transitions_and_durations():
    seen = []
    plan = Plan(3, pretraining=3)
    fit_em(
        bursts(0),
        **SMALL,
        plan=plan,
        compute=EXACT,
        validate=lambda model: seen.append(model) or 0.0,
    )
    first, _, last = seen
    np.testing.assert_array_equal(first.transitions, last.transitions)
    np.testing.assert_allclose(durations(first), durations(last), rtol=1e-12)
    assert np.abs(first.joint - last.joint).max() > 1e-3


def test_em_started_from_the_truth_stays_there():
    texts = bursts(3, texts=300, segments=20)
    ngrams = build_ngrams(texts, max_duration=3)
    joint = (
        np.array(
            [
                ["".join(ngrams.text(row)) in words for words in cases.WORDS]
                for row in range(ngrams.rows)
            ]
        )
        / 3
    )
    truth = SemiMarkovLM(ngrams, np.array([[0.8, 0.2], [0.2, 0.8]]), joint)
    given = {"plan": Plan(6, pretraining=0), "compute": EXACT, "start": truth}
    fit = fit_em(texts, num_states=2, max_duration=3, seed=0, **given)
    np.testing.assert_allclose(fit.model.joint, truth.joint, atol=0.03)
    np.testing.assert_allclose(fit.model.transitions, truth.transitions, atol=0.03)
    gained = (fit.history[-1].log_likelihood - fit.history[0].log_likelihood) / fit.history[
        0
    ].tokens
    assert 0 <= gained < 0.001
    assert fit.history[-1].states_in_use == 2


@pytest.fixture(autouse=True)
def _spelt_in_single_tokens(monkeypatch):
    monkeypatch.setattr(em, "SPELLING", 1)  # these texts have segments of up to three


def thinned(seed):
    """A random model in which a third of the n-grams have no mass."""
    model, texts = random_case(seed)
    joint = model.joint * (np.random.default_rng(seed).random((model.ngrams.rows, 1)) < 0.66)
    return replace(model, joint=joint), texts


@pytest.mark.parametrize("seed", range(6))
def test_unreachable_positions_carry_no_counts_and_massless_rows_go(seed):
    model, texts = thinned(seed)
    whole, short = (
        expectation(model, encoded(model, texts), EXACT, squeeze=squeeze)
        for squeeze in (False, True)
    )
    assert short.log_likelihood == pytest.approx(whole.log_likelihood, rel=1e-12)
    assert (short.tokens, short.lost) == (whole.tokens, whole.lost)
    close(short, whole, atol=1e-12)
    small = compacted(model)
    kept = [
        model.ngrams.text(row)
        for row in range(model.ngrams.rows)
        if model.joint[row].any() or row < 3
    ]
    assert [small.ngrams.text(row) for row in range(small.ngrams.rows)] == kept
    np.testing.assert_array_equal(small.log_likelihood(texts), model.log_likelihood(texts))
    total = model.ngrams.rows + model.ngrams.dropped.sum()
    assert small.ngrams.rows + small.ngrams.dropped.sum() == total


def test_states_begin_anew_with_the_ngrams_that_the_model_knows():
    model, _ = thinned(1)
    more = begun_anew(model, 300, seed=1)
    np.testing.assert_allclose(more.joint.sum(axis=0), 1, rtol=1e-12)
    np.testing.assert_allclose(more.transitions.sum(axis=1), 1, rtol=1e-12)
    shares = model.joint.mean(axis=1) / model.joint.mean(axis=1).sum()
    np.testing.assert_allclose(more.joint.mean(axis=1), shares, atol=0.1)
    np.testing.assert_array_equal(more.joint.any(axis=1), model.joint.any(axis=1))
    assert len(np.unique(more.joint, axis=1).T) == 300


def test_grown_model_is_as_good_as_one_of_plain_em_and_uses_few_ngrams():
    plain, grown = (fit_em(bursts(0, texts=200), **SMALL, compute=EXACT, plan=plan)
                    for plan in (Plan(40), Plan(40, growth=[(2, 5)], min_count=1e-2)))  # fmt: skip
    assert grown.history[-1].log_likelihood > 1.01 * plain.history[-1].log_likelihood
    assert [step.states for step in grown.history[::5]] == [2, 4, 4, 4, 4, 4, 4, 4]
    assert grown.model.ngrams.rows < plain.model.ngrams.rows and not grown.history[-1].lost
    # and it ends when validation stops falling
    values = iter([5.0, 4.0, 3.0, 2.9, 2.8, 1.0])
    plan = Plan(6, growth=[(1, 1)], until=0.1)
    fit = fit_em(
        bursts(0), **SMALL | {"num_states": 2}, plan=plan, validate=lambda model: next(values)
    )
    assert [step.validation_ppl for step in fit.history] == [5.0, 4.0, 3.0, 2.9, 2.8]


@seeds
def test_gradient_equals_finite_differences(seed):
    model, texts = random_case(seed)
    indices = [model.ngrams.index(ids) for ids in encoded(model, texts)]
    logs = [
        torch.from_numpy(np.log(table)).requires_grad_(True)
        for table in (model.transitions, model.joint)
    ]
    partition = gradient.LogPartition.apply
    assert torch.autograd.gradcheck(
        lambda a, w: partition(a, w, indices), logs, rtol=1e-5, atol=1e-6
    )


def test_a_gradient_fit_lowers_perplexity_and_returns_the_best_epoch():
    texts, held_out = bursts(0, texts=64), bursts(1, texts=8)
    ngrams = build_ngrams(texts, max_duration=3)
    settings = GradientSettings(num_states=4, epochs=4, seed=3)
    model, history = fit_gradient(texts, ngrams, settings, validation=held_out)
    assert history[-1].train_ppl < 0.7 * history[0].train_ppl
    nats = -model.log_likelihood(held_out).sum() / sum(map(len, held_out))
    assert np.exp(nats) == pytest.approx(min(epoch.validation_ppl for epoch in history), rel=1e-5)
    start = FactoredTables(ngrams, 4, 3).model(ngrams)
    pretrained, _ = fit_gradient(texts, ngrams, replace(settings, epochs=0))
    np.testing.assert_array_equal(pretrained.transitions, start.transitions)
    assert np.abs(pretrained.joint - start.joint).max() > 1e-3


def test_two_reserved_rows_waste_their_share_of_each_length():
    ngrams = build_ngrams(bursts(0, texts=16), max_duration=3)
    tables = FactoredTables(ngrams, 3, 0)
    with torch.no_grad():
        for table in tables.emissions:
            table.zero_()
        tables.lengths.zero_()
    sizes = np.diff(ngrams.starts)
    np.testing.assert_allclose(
        durations(tables.model(ngrams))[:, 0], sizes / (sizes + 2) / 3, rtol=1e-6
    )


def test_rate_falls_after_nine_windows_without_progress():
    optimiser = torch.optim.Adam([torch.nn.Parameter(torch.zeros(1))], lr=0.3)
    falling, rates = gradient.plateau(optimiser), []
    for _ in range(10 * 9):
        falling.step(1.0)
        rates.append(optimiser.param_groups[0]["lr"])
    assert rates[:10] == [0.3] * 9 + [0.075] and rates[-1] == 3e-4


def test_a_window_is_so_many_updates_over_the_epochs(monkeypatch):
    texts, told = bursts(0, texts=16), []
    monkeypatch.setattr(gradient, "WINDOW", 3)
    monkeypatch.setattr(gradient, "plateau", lambda optimiser: SimpleNamespace(step=told.append))
    settings = GradientSettings(num_states=3, pretraining_epochs=0, epochs=3, batch_size=4)
    _, history = fit_gradient(texts, build_ngrams(texts, max_duration=3), settings)
    seen = np.exp(np.log([epoch.train_ppl for epoch in history]).mean())
    assert len(told) == 4 and np.exp(np.log(told).mean()) == pytest.approx(seen, rel=0.02)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@seeds
def test_torch_struct_gives_our_likelihood_and_gradient(seed, dtype, monkeypatch):
    monkeypatch.setattr(gradient, "TEXTS", 6)
    model, texts = random_case(seed, dtype=dtype)
    facts = gradient.against_torch_struct(model, texts)
    assert facts["tokens"] == sum(map(len, texts)) and facts["states"] == 3
    assert max(facts["nats_apart_per_token"], facts["transitions_apart_per_token"]) < TOLERANCE / 10
    assert facts["nats_ours"] == pytest.approx(model.log_likelihood(texts).sum(), abs=1e-4)


def test_a_sample_of_states_is_compared_where_there_are_many():
    texts = bursts(0)
    model = em.initial_model(build_ngrams(texts, max_duration=3), num_states=20, seed=0)
    facts = gradient.against_torch_struct(model, texts)
    kept = np.unique(np.linspace(0, 19, gradient.STATES).astype(int))
    part = SemiMarkovLM(
        model.ngrams, model.transitions[kept][:, kept], np.ascontiguousarray(model.joint[:, kept])
    )
    assert facts["states"] == len(kept) == 6
    assert facts["nats_ours"] == pytest.approx(part.log_likelihood(texts[:3]).sum(), rel=1e-6)


TEXTS = {"train": bursts(0, texts=6), "validation": bursts(1, texts=2)}
DOCUMENTS = [Document(f"{split}-{i}", split, (Section(None, " ".join(text)),))
             for split, texts in TEXTS.items() for i, text in enumerate(texts)]  # fmt: skip
GIVEN = {"documents": DOCUMENTS, "name": "hsmm", **SMALL, "max_ngrams": 100}


@pytest.mark.parametrize(
    "how", [{"em": {"iterations": 2}}, {"gradient": {"epochs": 1, "pretraining_epochs": 0}}]
)
def test_a_trained_model_keeps_the_comparison_and_a_wrong_scan_is_refused(
    how, tmp_path, monkeypatch
):
    trained = fit(**GIVEN, **how, scratch=tmp_path / "one")
    trained.save(tmp_path / "model")
    facts = SemiMarkovLM.load(tmp_path / "model").facts["torch_struct"]
    assert facts["version"] == "0.5" and 0 <= facts["nats_apart_per_token"] < TOLERANCE
    true = compiled.transition_counts
    monkeypatch.setattr(compiled, "transition_counts", lambda scan: true(scan) * 1.01)
    refuses("torch-struct gives", fit, **GIVEN, **how, scratch=tmp_path / "two")


def test_bad_input_is_refused(tmp_path, monkeypatch):
    model, texts = random_case(0)
    refuses("got 0 sequences", fit_em, [], **SMALL, plan=Plan(1))
    refuses(
        r"\(3, 3\), allowed is \(4, 3\)", fit_em, texts, **SMALL, plan=Plan(1), start=Fit(model)
    )
    refuses("got 0 sequences", fit_gradient, [], model.ngrams, GradientSettings(num_states=2))
    given = {**GIVEN, "scratch": tmp_path}
    refuses("exactly one of em and gradient; the entry has none", fit, **given)
    monkeypatch.setenv("LONGFORM_DEVICE", "warp")
    refuses("LONGFORM_DEVICE is 'warp'", fit, **given, em={"iterations": 1})
    refuses(
        "0 train and 0 validation texts", fit, **{**given, "documents": []}, em={"iterations": 1}
    )


@pytest.mark.parametrize("copies", [2, 5])
def test_an_update_follows_the_mean_per_token_not_the_sum_of_a_batch(copies):
    text = ["a", "b", "a", "c", "a", "b"]
    ngrams = build_ngrams([text], max_duration=2)
    index = ngrams.index(ngrams.encode(text))
    moved = []
    for size in (1, copies):
        tables = FactoredTables(ngrams, 2, seed=4)
        before = [parameter.detach().clone() for parameter in tables.parameters()]
        optimiser = torch.optim.SGD(tables.parameters(), lr=1.0)
        descent = gradient._Descent(tables, optimiser, None, 0, np.zeros(2))
        descent.epoch([[index] * size])
        after = tables.parameters()
        moved.append([(new - old).detach() for old, new in zip(before, after, strict=True)])
    # Copies of one text have its mean and so its gradient; Adam would hide a factor.
    assert max(float(step.abs().max()) for step in moved[0]) > 1e-3
    torch.testing.assert_close(moved[1], moved[0])
